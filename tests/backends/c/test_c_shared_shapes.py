"""Kernels of one shape are printed once, and kernels that differ are never taken for one another."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends import same_loops
from termgraph.backends.c.text.kernels import KernelWriter
from termgraph.backends.same_loops import shape_of
from termgraph.lower.lengths.index import Var, poly
from termgraph.lower.loops.like_before import Alike, note_alike
from termgraph.lower.loops.tree import Accumulate, Kernel, Let, Loop, Reduce, Write
from termgraph.lower.memory.plan import changed
from termgraph.lower.push.kernel import Buf, Scalars
from termgraph.terms.ops.elementwise import add, mul

LINKER = "c"


def residual_mlp(layers):
    x = h = T.tensor("x", dtype="float32", shape=(16, 8))
    weights = [tg.shared(np.full((8, 8), 0.01 * k, "float32")) for k in range(1, layers + 1)]
    for w in weights:
        y = h @ w
        h = h + T.maximum(y / T.sqrt((y * y).mean(axis=0) + 1e-5), 0)
    return tg.function([x], [(h * h).mean(), *tg.grad((h * h).mean(), weights)])


def test_the_text_of_equal_layers_is_made_once(monkeypatch):
    printed = [0]
    real = KernelWriter.kernel
    monkeypatch.setattr(KernelWriter, "kernel", lambda *a: printed.__setitem__(0, printed[0] + 1) or real(*a))
    counts = []
    for layers in (6, 14):
        printed[0] = 0
        residual_mlp(layers)
        counts.append(printed[0])
    assert 0 < counts[0] == counts[1], counts


def test_copies_of_a_loop_have_its_shape_and_are_not_looked_at(monkeypatch):
    looked, wrong, real = [], [], same_loops.Shapes.of
    monkeypatch.setattr(same_loops, "shape_of", lambda *a: looked.append(a) or shape_of(*a))

    def checked(self, *given):
        found = real(self, *given)
        wrong.extend([given] if found != shape_of(*given) else [])
        return found

    monkeypatch.setattr(same_loops.Shapes, "of", checked)
    monkeypatch.setattr(tg.config.cache, "programs", False)
    counts = []
    for layers in (6, 14):
        looked.clear()
        residual_mlp(layers)
        counts.append(len(looked))
    assert 0 < counts[0] == counts[1] and not wrong, counts


def test_a_loop_that_was_changed_is_looked_at_again():
    first, second = kernel(), kernel(number=7)
    shapes = same_loops.Shapes()
    for k in (first, second):
        note_alike(k, Alike(first, list(shape_of(k, (), {}).bufs)))
        assert shapes.of(k, (), {}) == shape_of(k, (), {})
    second.node.body.insert(0, second.node.body[0])
    changed(second)
    assert shapes.of(second, (), {}) == shape_of(second, (), {}) != shapes.of(first, (), {})
    same = shapes.of(first, set(shape_of(first, (), {}).bufs[:1]), {})
    assert same.key != shapes.of(first, (), {}).key  # one that may be another array


def kernel(dtype="float32", kinds=("input", "temp"), op=add, offset=0, extent=16, final=False, twice=False, number=0):
    """out[i] = in[i + offset] + in[i + offset] or in[i] (or another operation), over a range."""
    s, i = Scalars(), Var(0, poly(extent))
    given = Buf(f"a{number}", dtype, (poly(64),), kinds[0])
    other = given if twice else Buf(f"b{number}", dtype, (poly(64),), kinds[0])
    out = Buf(f"c{number}", dtype, (poly(64),), kinds[1])
    a, b = s.load(given, poly(i) + offset), s.load(other, poly(i))
    value = s.make(op, (a, b))
    return Kernel(Loop(i, [Let(a), Let(b), Let(value), Write(out, poly(i), value)]), final=final)


def total(kind="sum", lanes=16):
    s, i = Scalars(), Var(0, poly(16))
    a = s.load(Buf("a", "float32", (poly(16),), "input"), poly(i))
    fold = s.fold(kind, i, a)
    return Kernel(Reduce(i, [fold], [Let(a), Accumulate(fold)], lanes))


DIFFERENT = [
    kernel(), kernel("float64"), kernel(op=mul), kernel(offset=1), kernel(extent=17), kernel(final=True),
    kernel(twice=True), total(), total("max"), total(lanes=0),
]  # fmt: skip


def test_kernels_that_differ_have_shapes_that_differ():
    keys = [shape_of(k, (), {}).key for k in DIFFERENT]
    assert len(set(keys)) == len(DIFFERENT)


def test_names_of_buffers_are_not_part_of_a_shape():
    first, second = shape_of(kernel(), (), {}), shape_of(kernel(number=7), (), {})
    assert first.key == second.key
    assert [b.name for b in first.bufs] == ["a0", "b0", "c0"] and [b.name for b in second.bufs] == ["a7", "b7", "c7"]


def test_whether_an_array_was_given_or_made_is_not_part_of_a_shape():
    assert shape_of(kernel(), (), {}).key == shape_of(kernel(kinds=("temp", "temp")), (), {}).key


def test_the_first_layer_is_the_kernel_of_those_that_read_what_a_layer_made():
    x = h = T.tensor("x", dtype="float32", shape=(8, 16))
    weights = [np.full((16, 16), 0.01 * k, "float32") for k in range(1, 4)]
    for w in weights:
        h = T.tanh(h) @ w
    f = tg.function([x], h)
    assert f.source("c").count("tg_own_tanh(array") == 1
    value = want = np.linspace(-1, 1, 128, dtype="float32").reshape(8, 16)
    for w in weights:
        want = np.tanh(want) @ w
    np.testing.assert_allclose(f(value), want, rtol=1e-4)


def test_arrays_that_may_be_one_are_told_apart():
    k = kernel()
    assert shape_of(k, (), {}).key != shape_of(k, [k.node.body[-1].buf], {}).key


def test_a_kernel_that_reads_a_value_from_outside_has_no_shape():
    k = kernel()
    value = k.node.body[2].term
    assert shape_of(k, (), {value: "g0"}) is None
    del k.node.body[0]
    assert shape_of(k, (), {}) is None


@pytest.mark.parametrize("dtypes", [("float32", "float64"), ("float64", "float32")])
def test_equal_layers_of_two_dtypes_keep_their_own_text(dtypes):
    """Each half of a program repeats one kernel often; the halves differ in dtype only."""
    outputs, inputs, expected = [], [], []
    for dtype in dtypes:
        x = h = T.vector(f"x_{dtype}", dtype=dtype)
        value = np.linspace(-1, 1, 8).astype(dtype)
        inputs.append((x, value))
        for _ in range(30):
            h = T.tanh(h * np.asarray(1.5, dtype)) - h.sum() * np.asarray(0.1, dtype)
        outputs.append(h)
        for _ in range(30):
            value = np.tanh(value * np.dtype(dtype).type(1.5)) - value.sum() * np.dtype(dtype).type(0.1)
        expected.append(value)
    f = tg.function([x for x, _ in inputs], outputs)
    for got, want, dtype in zip(f(*[v for _, v in inputs]), expected, dtypes):
        assert got.dtype == dtype
        np.testing.assert_allclose(got, want, rtol=1e-3 if dtype == "float32" else 1e-9)


def test_loads_of_one_dtype_have_one_signature_and_folds_of_one_body_their_own_types():
    """Operations on two loads are typed once; where the largest element is, is a whole number, what it is, is not."""
    s, i = Scalars(), Var(0, poly(16))
    loads = [s.load(Buf(name, "float32", (poly(16),), "input"), poly(i)) for name in "ab"]
    assert loads[0].sig is loads[1].sig
    assert s.load(Buf("d", "float64", (poly(16),), "input"), poly(i)).sig is not loads[0].sig
    assert [s.fold(kind, i, loads[0]).type.dtype for kind in ("argmax", "sum", "max")] == [
        "int64",
        "float32",
        "float32",
    ]
    assert loads[0].op._h != loads[1].op._h
