"""Copies and pickles of functions (FEATURES 35, 77, 78)."""

import copy
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.compile import road
from termgraph.function.saving import VERSION, SavedFunctionError, restored, state_of

x = T.dscalar("x")
v = T.dvector("v")


@pytest.fixture
def compilations(monkeypatch):
    """Counts runs of the rewriting stages."""
    count = []

    def counted(stage):
        return stage._replace(where=lambda value: count.append(stage.name) or stage.function(value))

    monkeypatch.setattr(road, "REWRITING", tuple(map(counted, road.REWRITING)))
    return count


def test_f78_copy_swaps_shared_variables(compilations):
    w, other = tg.shared(1.0, "w"), tg.shared(10.0, "other")
    f = tg.function([x], w + x, updates=[(w, w + x)])
    before = len(compilations)
    g = f.copy(swap={w: other}, name="g")
    assert len(compilations) == before
    assert g(1) == 11 and other.get_value() == 11 and w.get_value() == 1
    assert f(1) == 2 and w.get_value() == 2 and other.get_value() == 11
    assert g.get_shared() == [other] and g.name == "g" and f.get_shared() == [w]
    h = f.copy()
    h(1)
    assert w.get_value() == 3


def test_f78_delete_updates():
    w = tg.shared(np.zeros(2), "w")
    f = tg.function([v], w.sum() + v.sum(), updates=[(w, w + v)])
    g = f.copy(delete_updates=True)
    assert g([1.0, 1.0]) == 2 and w.get_value()[0] == 0
    assert len(g.vm.program.instructions) < len(f.maker.work.program.instructions)
    assert f([1.0, 1.0]) == 2 and w.get_value()[0] == 1
    assert g.copy()([0.0, 0.0]) == 2


def test_f78_share_memory():
    f = tg.function([v], T.exp(v) * 2, mode=tg.Mode(linker="py", allow_gc=False))
    g = f.copy(share_memory=True)
    g([0.0])
    assert f.vm.storage is g.vm.storage and f.vm.storage
    assert f.copy().vm.storage == []


def test_f78_refused_swaps():
    w, n, other = tg.shared(1.0, "w"), tg.shared(1, "n"), tg.shared(1.0, "other")
    f = tg.function([x], w + x)
    with pytest.raises(ValueError, match="does not use shared variable 'other'"):
        f.copy(swap={other: w})
    with pytest.raises(TypeError, match="has type"):
        f.copy(swap={w: n})
    with pytest.raises(TypeError, match="shared variables"):
        f.copy(swap={w: x})
    g = tg.function([x], w + other + x)
    with pytest.raises(ValueError, match="two of the function's"):
        g.copy(swap={w: other})


def test_f78_state_of_updated_inputs_is_copied():
    f = tg.function([tg.In(x, value=0.0, update=x + 1)], x)
    f(), f()
    g = f.copy()
    assert g() == 2 and f() == 2 and g() == 3


def test_f78_profile_of_a_copy():
    f = tg.function([v], v + 1)
    g = f.copy(profile=True)
    g([1.0])
    assert g.profile.calls == 1 and f.profile.calls == 0


def test_deepcopy_copies_shared_values():
    w = tg.shared(np.zeros(2), "w")
    f = tg.function([], w.sum(), updates=[(w, w + 1)])
    g, w2 = copy.deepcopy((f, w))
    g()
    assert w2.get_value()[0] == 1 and w.get_value()[0] == 0
    assert copy.copy(f).get_shared() == [w]


def test_deepcopy_of_expressions_follows_their_shared_variables():
    w = tg.shared(np.arange(3.0), "w")
    y = T.exp(w * 2) + v
    values, vectors = T.linalg.eigh(T.outer(w, w))
    kept = T.exp(v)
    model = copy.deepcopy({"y": y, "w": w, "values": values, "vectors": vectors, "kept": kept, "v": v})
    model["w"].set_value(np.zeros(3))
    assert model["y"].eval({v: np.zeros(3)}).tolist() == [1, 1, 1] and w.get_value().tolist() == [0, 1, 2]
    assert model["values"].owner is model["vectors"].owner and model["values"].eval().tolist() == [0, 0, 0]
    assert model["kept"] is kept and model["v"] is v  # no state, nothing to copy


def test_deepcopy_keeps_default_updates():
    n = tg.shared(0, "n")
    n.default_update = n + 1
    stream = T.random.RandomStream(seed=5)
    draw = stream.normal(size=2)
    n2, stream2, draw2 = copy.deepcopy((n, stream, draw))
    count, drawn = tg.function([], n2), tg.function([], draw2)
    assert [int(count()) for _ in range(3)] == [0, 1, 2] and n.get_value() == 0
    first, second = drawn(), drawn()
    assert (first != second).all() and (tg.function([], draw)() == first).all()
    stream2.seed(5)
    assert (drawn() == first).all()


def everything():
    w = tg.shared(np.arange(3.0), "w")
    scale = tg.shared(2.0, "scale")
    n = T.lscalar("n")
    outputs = {
        "total": tg.ifelse(n > 0, (w * v).sum(), scale * 1),
        "folded": tg.OpFromGraph([v], [v * v], name="sq")(v),
        "late": w[-1] + scale,
    }
    inputs = [v, tg.In(n, value=1), tg.In(x, value=0.0, update=x + 1)]
    f = tg.function(inputs, outputs, updates=[(w, w + x)], name="all")
    return f, w


def test_f77_pickled_function(compilations):
    f, w = everything()
    f([1.0, 1.0, 1.0])
    before = len(compilations)
    g, w2 = pickle.loads(pickle.dumps((f, w)))
    new = compilations[before:]
    assert new == []
    for k in range(3):
        a, b = f([1.0, 2.0, 3.0]), g([1.0, 2.0, 3.0])
        assert list(a) == list(b)
        assert all(np.array_equal(a[key], b[key]) for key in a), k
    assert np.array_equal(w.get_value(), w2.get_value())
    assert g.get_shared()[1 if g.get_shared()[0] is not w2 else 0] is w2
    assert g.name == "all" and repr(g) == repr(f)
    assert str(g.maker.fgraph.toposort()) == str(f.maker.fgraph.toposort())
    assert [i.name for i in g.maker.inputs] == [i.name for i in f.maker.inputs]
    h = pickle.loads(pickle.dumps(g))
    assert h([1.0, 2.0, 3.0])["late"] == g([1.0, 2.0, 3.0])["late"]


def test_f77_errors_after_loading_still_cite_the_line():
    y = v + T.dvector("z")
    f = pickle.loads(pickle.dumps(tg.function([v, y.owner.inputs[1]], y)))
    with pytest.raises(ValueError) as info:
        f([1.0], [1.0, 2.0])
    assert "test_saving.py" in str(info.value).splitlines()[0]
    with pytest.raises(TypeError, match="argument 'z'"):
        f([1.0], 1.0)


def test_f77_flag_rewrites_again(compilations):
    f = tg.function([x], x + 1)
    data = pickle.dumps(f)
    before = len(compilations)
    with tg.config.change_flags(reoptimize_unpickled_function=True):
        g = pickle.loads(data)
    assert "canonicalize" in compilations[before:] and g(1) == 2


def test_f77_trust_input_survives():
    f = tg.function([v], v + 1)
    f.trust_input = True
    assert pickle.loads(pickle.dumps(f)).trust_input


def test_f77_other_versions_are_refused():
    state = state_of(tg.function([x], x + 1))
    assert state["version"] == VERSION
    for wrong in ({**state, "version": 99}, [1, 2]):
        with pytest.raises(SavedFunctionError, match="reads format 1"):
            restored(wrong)


def test_f77_missing_backend_degrades_with_a_message(monkeypatch):
    f = tg.function([x], x + 1)
    state = state_of(f)
    monkeypatch.setattr("termgraph.backends.cuda.run.device.why_not", lambda: "there is no GPU")
    state["mode"] = f.maker.mode.clone(linker="cuda")
    with pytest.warns(UserWarning, match="'cuda', which is not available"):
        g = restored(state)
    assert g(1) == 2


def test_f77_another_process(tmp_path):
    f, _ = everything()
    path = tmp_path / "f.pkl"
    path.write_bytes(pickle.dumps(f))
    code = f"""
    import pickle, numpy as np
    f = pickle.load(open({str(path)!r}, "rb"))
    assert "canonicalize" not in f.profile.stages
    print(float(f([1.0, 2.0, 3.0])["total"]))
    """
    out = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert float(out.stdout) == float(f([1.0, 2.0, 3.0])["total"])


def test_f77_cloudpickle_of_a_local_op():
    cloudpickle = pytest.importorskip("cloudpickle")

    class Local(tg.Op):
        __props__ = ("k",)
        itypes, otypes = [T.dvector], [T.dvector]

        def __init__(self, k):
            self.k = k

        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = inputs[0] * self.k

    f = tg.function([v], Local(3)(v))
    assert np.array_equal(pickle.loads(cloudpickle.dumps(f))([1.0]), [3.0])


def test_deep_graph():
    y = v
    for _ in range(20_000):
        y = y + v
    f = tg.function([v], y)
    assert pickle.loads(pickle.dumps(f))([1.0]) == f([1.0])


def test_graph_with_shared_variables():
    w = tg.shared(np.ones(2), "w")
    y = (w * v).sum()
    y2, w2, v2 = pickle.loads(pickle.dumps((y, w, v)))
    w2.set_value([5.0, 5.0])
    assert tg.function([v2], y2)([1.0, 1.0]) == 10 and w.get_value()[0] == 1


def _square(n):
    return float(_F(n))


_F = tg.function([x], x * x)


def test_f77_multiprocessing():
    import multiprocessing

    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(_square, [1.0, 2.0, 3.0]) == [1.0, 4.0, 9.0]
        assert pool.map(_F, [2.0]) == [4.0]
