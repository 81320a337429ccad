"""What test_warm.py runs twice in processes of its own, with one cache: prints what a user sees of some functions."""

import json
import sys
import warnings

import numpy as np

import termgraph as tg
import termgraph.tensor as T

x, y = T.dvectors("x", "y")
m = T.dmatrix("m")
i = T.lscalar("i")
w = tg.shared(np.arange(3.0), "w")
SIXTY = np.linspace(0, 1, 60)


def functions():
    """Some functions of every kind, each with arguments it takes and, perhaps, some that it refuses."""
    yield "stable", tg.function([x], T.log(1 + T.exp(x))), ([0.0, 1.0],), None
    yield (
        "lengths",
        tg.function([x, y], [x * y + 1, x - y], name="lengths"),
        ([1.0, 2.0], [3.0, 4.0]),
        ([1.0, 2.0], [3.0] * 3),
    )
    yield "index", tg.function([x, i], x[i] * 2), ([1.0, 2.0], 1), ([1.0, 2.0], 7)
    yield "update", tg.function([x], w.sum() * x, updates=[(w, w * 0.5 + x)]), ([1.0, 2.0, 3.0],), ([1.0],)
    yield "constants", tg.function([x], x * SIXTY + np.float64(2.0)), (SIXTY,), None
    yield "product", tg.function([m], {"a": T.dot(m, m.T), "b": T.nnet.softmax(m)}), (np.eye(2),), None
    yield "default", tg.function([x, tg.In(y, value=np.ones(2))], x / y), ([1.0, 2.0],), None
    sums, _ = tg.scan(lambda a, total: total + a, sequences=x, outputs_info=T.constant(0.0))
    yield "parts", tg.function([x, i], [T.exp(T.unique(T.tanh(x) * 2) + 1).sum(), x[i]]), ([3.0, 1.0], 1), ([3.0], 7)
    count = T.sum(x > 0)
    yield "values", tg.function([x, i], [T.arange(i + count) * 2, x[:count]]), ([3.0, 1.0], 1), ([3.0], -7)
    yield "inverse", tg.function([m], T.linalg.expm(m * 2) + SIXTY[:2]), (np.eye(2),), (np.ones((2, 3)),)
    yield "scan", tg.function([x], sums), ([1.0, 2.0],), None


def refusal(f, arguments):
    """The message of the exception that these arguments bring about."""
    try:
        return str(f(*arguments))
    except (IndexError, ValueError, np.linalg.LinAlgError) as error:
        return f"{type(error).__name__}: {error}"


def shown(f, good):
    """What a function does and what is known of it without looking into it."""
    work = f.maker.work
    seen = {"kept": "warm" if work.warm else "cold", "reason": work.not_kept, "native": work.not_native}
    result = f(*good)
    results = result.values() if isinstance(result, dict) else result if isinstance(result, list) else [result]
    seen["results"] = [np.asarray(r).tolist() for r in results]
    seen["rules"], seen["source"] = dict(sorted(f.profile.rules.items())), f.source("c")
    seen["quiet"] = "termgraph.rules" not in sys.modules
    return seen


def looked_into(f, bad):
    """What has to be worked out again for a program that was in the cache."""
    nodes = [str(node.op) for node in f.maker.fgraph.toposort()]
    seen = {"error": bad and refusal(f, bad), "trace": list(map(str, f.trace)), "nodes": nodes}
    return seen | {"python": f.source("py"), "copied": repr(f.copy(delete_updates=True))}


if __name__ == "__main__":
    warnings.simplefilter("error")
    made = list(functions())
    seen = {name: shown(f, good) for name, f, good, _ in made}
    for name, f, _, bad in made:
        seen[name] |= looked_into(f, bad)
    print(json.dumps(seen))
