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
    from termgraph.backends.c.build import compilers
    from termgraph.rules.compiled import RuleSet

    count = {"rewrites": 0, "compiles": 0}

    def counted(what, do):
        def call(*args, **kwargs):
            count[what] += 1
            return do(*args, **kwargs)
        return call

    RuleSet.rewrite_terms = counted("rewrites", RuleSet.rewrite_terms)
    from termgraph.backends.c.build import library
    library.start_compiler = counted("compiles", library.start_compiler)
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


@pytest.mark.parametrize("payload", [Evil(), [1, {"f": Evil()}]])
def test_f77_a_file_runs_nothing(payload, tmp_path):
    path = tmp_path / "evil.tg"
    path.write_bytes(MARK + pickle.dumps(payload))
    with pytest.raises(SavedFunctionError, match=r"names \w+\.system, which is not part of a graph"):
        tg.load(path)
    inner = pickle.dumps(payload)  # inside the side table of a stored graph
    import struct

    from termgraph.terms.serial import MAGIC, loads_flat

    class Hidden:
        def __reduce__(self):
            return (loads_flat, (MAGIC + struct.pack("<qq", len(inner), 0) + inner, 0))

    path.write_bytes(MARK + pickle.dumps(Hidden()))
    with pytest.raises(SavedFunctionError, match="system, which is not part of a graph"):
        tg.load(path)
    path.write_bytes(b"something else")
    with pytest.raises(SavedFunctionError, match="not a file of tg.save"):
        tg.load(path)


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
