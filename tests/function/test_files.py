"""Files of functions: what another process gets, and what a file cannot make it do (FEATURES 77)."""

import json
import os
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.function.files import MARK
from termgraph.function.saving import SavedFunctionError

v = T.dvector("v")
needs_c = pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")


def run(code, *args, **environment):
    """Run a program in a process of its own; the JSON of its last line."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, args)],
        capture_output=True, text=True, env={**os.environ, **environment}, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


MAKE = """
    import sys, json
    import numpy as np
    import termgraph as tg, termgraph.tensor as T

    v, n = T.dvector("v"), T.lscalar("n")
    w = tg.shared(np.arange(3.0), "w")
    loss = T.log(1 + T.exp(v * w)).sum()
    f = tg.function([v], [loss, tg.grad(loss, v)], updates=[(w, w + 1)], mode=tg.Mode(linker=sys.argv[2]))
    tg.save(f, sys.argv[1])
    print(json.dumps([np.asarray(r).tolist() for _ in range(2) for r in f([0.5, -1.0, 2.0])]))
"""
LOAD = """
    import sys, json
    import numpy as np
    import termgraph as tg
    from termgraph.rules.compiled import RuleSet

    count = {"rewrites": 0, "compiles": 0}

    def counted(what, do):
        def call(*args, **kwargs):
            count[what] += 1
            return do(*args, **kwargs)
        return call

    RuleSet.rewrite_terms = counted("rewrites", RuleSet.rewrite_terms)
    from termgraph.backends.c.build import compiling
    compiling.start_compiler = counted("compiles", compiling.start_compiler)
    f = tg.load(sys.argv[1])
    results = [np.asarray(r).tolist() for _ in range(2) for r in f([0.5, -1.0, 2.0])]
    print(json.dumps([results, count]))
"""


@pytest.mark.parametrize("linker", ["py", pytest.param("auto", marks=needs_c)])
def test_f77_another_process_rewrites_and_compiles_nothing(linker, tmp_path):
    flags = {"TERMGRAPH_FLAGS": f"cache.dir={tmp_path / 'cache'}"}
    expected = run(MAKE, tmp_path / "f.tg", linker, **flags)
    results, count = run(LOAD, tmp_path / "f.tg", **flags)
    assert results == expected and count == {"rewrites": 0, "compiles": 0}
    flags["TERMGRAPH_FLAGS"] += ",reoptimize_unpickled_function=True"
    results, count = run(LOAD, tmp_path / "f.tg", **flags)
    assert results == expected and count["rewrites"] > 0 and count["compiles"] == 0


def test_f77_several_things_in_one_file(tmp_path):
    w = tg.shared(np.ones(2), "w")
    rng = T.random.RandomStream(3)
    h, _ = tg.scan(lambda a, total: a + total, sequences=v, outputs_info=T.constant(0.0))
    f = tg.function([v], [h, (w * v).sum(), rng.normal(size=2), tg.Assert("no")(v, v > 0)], updates=[(w, w + v)])
    tg.save({"f": f, "w": w, "graph": (v, T.exp(v) + w)}, tmp_path / "all.tg")
    found = tg.load(tmp_path / "all.tg")
    for a, b in zip(f([1.0, 2.0]), found["f"]([1.0, 2.0])):
        assert np.array_equal(a, b)
    assert np.array_equal(found["w"].get_value(), w.get_value())
    v2, y2 = found["graph"]
    assert np.array_equal(tg.function([v2], y2)([0.0, 0.0]), 1 + w.get_value())


class Evil:
    def __reduce__(self):
        return (os.system, ("echo no",))


@pytest.mark.parametrize("head", [b"termgraph file 1\n", MARK, b""])
def test_f77_a_pickle_is_not_read(head, tmp_path):
    path = tmp_path / "evil.tg"
    path.write_bytes(head + pickle.dumps(Evil()))
    expected = {b"": "not a file of tg.save", MARK: "is damaged"}.get(head, "earlier version.*save it with tg.save")
    with pytest.raises(SavedFunctionError, match=expected):
        tg.load(path)


def test_everything_a_file_can_hold(tmp_path):
    """Values, types, containers, sparse matrices, streams, modes: what comes back is what went in."""
    from scipy import sparse

    here = [
        1,
        2.5,
        -0.0,
        float("inf"),
        1e-320,
        3 + 4j,
        "ä",
        b"\0x",
        True,
        None,
        1 << 200,
        slice(1, None, -2),
        {1, 2},
        {},
    ]
    arrays = [
        np.zeros((0, 3), "int8"), np.array(True), np.arange(6.0).reshape(2, 3).T, np.arange(4, dtype=">f4"),
        np.float16(1.5), np.array([1 + 2j], "complex64"), np.array([np.nan, -0.0])[::-1],
    ]  # fmt: skip
    m = sparse.csr_matrix(np.eye(3))
    s, rng = tg.shared(m, "s"), T.random.RandomStream(5)
    draws = rng.uniform(size=3)
    x = T.fmatrix("x")
    x.tag.note = "here"
    tg.save([here, arrays, m, s, rng, draws, (x, T.linalg.qr(x)), tg.Mode("py").excluding("inplace")], tmp_path / "a")
    here2, arrays2, m2, s2, rng2, draws2, (x2, two), mode = tg.load(tmp_path / "a")
    assert repr(here) == repr(here2) and mode == tg.Mode("py").excluding("inplace")
    for a, b in zip(arrays, arrays2, strict=True):
        assert type(a) is type(b) and a.shape == b.shape and np.array_equal(a, b, equal_nan=True)
        assert b.dtype == a.dtype.newbyteorder("=")
    assert (m2 != m).nnz == 0 and (s2.get_value() != m).nnz == 0 and s2.type is s.type
    assert np.array_equal(tg.function([], draws)(), tg.function([], draws2)())
    assert np.array_equal(tg.function([], rng.normal(size=2))(), tg.function([], rng2.normal(size=2))())
    assert x2.name == "x" and x2.tag.note == "here" and two[0].owner is two[1].owner
    assert np.allclose(tg.function([x2], two[0] @ two[1])(np.eye(2, dtype="f4")), np.eye(2))


def test_graphs_of_any_depth(tmp_path):
    y = v
    for i in range(5_000):
        y = y + v if i % 2 else y * 1.5
    tg.save((tg.function([v], y), v, y), tmp_path / "deep")
    f, v2, y2 = tg.load(tmp_path / "deep")
    assert f([1.0]) == tg.function([v2], y2)([1.0])


def test_what_cannot_be_saved_says_why(tmp_path):
    class Bare(Twice):
        def __init__(self, k):
            self.k = k

    again = [1]
    again.append(again)
    for thing, why in [
        (object(), "builtins.object cannot be saved"),
        (np.array(["a"]), "dtype <U1 cannot be saved"),
        (again, "holds itself"),
        (Bare(3)(v), "must make an equal op"),
        (tg.function([v], v, mode=tg.Mode("py").clone(observers=(print,))), "mode with observers"),
        (tg.shared(object(), "o"), "builtins.object cannot be saved"),
    ]:
        with pytest.raises(SavedFunctionError, match=why):
            tg.save(thing, tmp_path / "no")
        assert os.listdir(tmp_path) == []


class Twice(tg.Op):
    __props__ = ()

    def make_node(self, a):
        return tg.Apply(self, [a], [a.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] * 2


@tg.as_op(itypes=[T.dvector], otypes=[T.dscalar])
def middle(a):
    return np.asarray(np.median(a))


def test_f77_ops_of_the_user_are_asked_for(tmp_path):
    tg.save(tg.function([v], [Twice()(v), middle(v)]), tmp_path / "f.tg")
    with pytest.raises(SavedFunctionError, match=r"pass allow=\[(Twice|middle|rebuild)\] to load"):
        tg.load(tmp_path / "f.tg")
    f = tg.load(tmp_path / "f.tg", allow=[Twice, middle])
    assert f([1.0, 2.0, 5.0])[1] == 2.0


IN_MAIN = """
    import sys, json, pickle
    import numpy as np, cloudpickle
    import termgraph as tg, termgraph.tensor as T

    shift = 10.0

    @tg.as_op(itypes=[T.dvector], otypes=[T.dvector])
    def moved(a):
        return a + shift

    v = T.dvector("v")
    f = tg.function([v], moved(v) * 2, mode=tg.Mode(linker="py"))
    again = pickle.loads(cloudpickle.dumps((f, moved)))
    assert again[1] is moved  # where the program itself reads it, it is the same op
    open(sys.argv[1], "wb").write(cloudpickle.dumps(f))
    print(json.dumps(f([1.0]).tolist()))
"""
ELSEWHERE = """
    import sys, json, pickle
    print(json.dumps(pickle.load(open(sys.argv[1], "rb"))([1.0]).tolist()))
"""


def test_f77_cloudpickle_of_a_function_wrapped_in_main(tmp_path):
    pytest.importorskip("cloudpickle")
    assert run(IN_MAIN, tmp_path / "f.pkl") == run(ELSEWHERE, tmp_path / "f.pkl") == [22.0]


def test_f77_multiprocessing_with_spawned_processes(tmp_path):
    script = tmp_path / "pool.py"
    script.write_text(
        textwrap.dedent("""
        import json, multiprocessing
        import numpy as np
        import termgraph as tg, termgraph.tensor as T

        @tg.as_op(itypes=[T.dvector], otypes=[T.dscalar])
        def middle(a):
            return np.asarray(np.median(a))

        if __name__ == "__main__":
            v = T.dvector("v")
            f = tg.function([v], middle(v) * 2, mode=tg.Mode(linker="py"))
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(json.dumps([float(r) for r in pool.map(f, [np.ones(3), np.arange(3.0)])]))
    """)
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [2.0, 2.0]
