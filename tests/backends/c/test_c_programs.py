"""Generated programs compute what NumPy computes."""

from pathlib import Path

import numpy as np
import pytest

from termgraph.backends.c.build.compilers import find_compiler
from termgraph.backends.c.build.program_library import build_library
from termgraph.backends.c.generate import generate
from termgraph.backends.c.run.bind import compile_terms
from termgraph.terms.dtypes import kind_of, numpy_dtype
from termgraph.terms.errors import ShapeError
from termgraph.terms.evaluate import evaluate
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops import indexing as ix
from termgraph.terms.ops import linalg as la
from termgraph.terms.ops import reduce as red
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.term import Arg, Const, mk
from termgraph.terms.types import TensorType

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")


def arg(i, ndim, dtype="float64", shape=None):
    return Arg(i, TensorType.of(dtype, shape or (None,) * ndim))


def check(args, outs, *values, rtol=1e-12, atol=1e-13):
    f = compile_terms(args, outs)
    got = f(*values)
    want = evaluate(outs, dict(zip(args, values)))
    for g, w in zip(got, want):
        w = np.asarray(w)
        assert g.dtype == w.dtype and g.shape == w.shape
        np.testing.assert_allclose(g, w, rtol=rtol, atol=atol)
    return f


def test_elementwise_in_one_loop():
    x, y = arg(0, 1), arg(1, 1)
    out = ew.add(ew.tanh(ew.add(ew.mul(x, 2.0), 1.0)), ew.log1p(ew.abs_(y)))
    rng = np.random.default_rng(0)
    check([x, y], [out], rng.standard_normal(1001), rng.standard_normal(1001))


def test_hidden_length_one_is_an_error_that_names_the_numbers():
    x, y = arg(0, 1), arg(1, 1)
    f = compile_terms([x, y], [ew.add(x, y)])
    with pytest.raises(ShapeError, match=r"operand 1 has length 1 in dimension 0 where the others have 3"):
        f(np.ones(3), np.ones(1))


def test_row_chain_and_column_sum():
    x = arg(0, 2)
    outs = [
        mk(red.softmax.bind(axis=(1,)), (x,)),
        mk(red.sum_.bind(axis=(0,), dtype="float64"), (x,)),
        mk(red.sum_.bind(axis=(0, 1), dtype="float64"), (x,)),
        mk(red.logsumexp.bind(axis=(1,)), (x,)),
    ]
    a = np.random.default_rng(1).standard_normal((57, 300))
    f = check([x], outs, a)
    for view in (a.T, a[::2, ::-3], a[:0], a[:, :0]):
        for g, w in zip(f(view), evaluate(outs, {x: view})):
            np.testing.assert_allclose(g, w, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_running_sums_beside_sums_of_the_same_rows(dtype):
    x = arg(0, 2, dtype)

    def total(t, *axis):
        return mk(red.sum_.bind(axis=axis, dtype=dtype), (t,))

    outs = [mk(red.cumsum.bind(axis=k), (x,)) for k in (0, 1)] + [total(x, 0), total(x, 1)]
    outs += [mk(red.cumsum.bind(axis=0), (total(x, k),)) for k in (0, 1)]
    a = (np.random.default_rng(2).standard_normal((37, 300)) * 5).astype(dtype)
    rtol = 1e-4 if dtype == "float32" else 1e-11
    check([x], outs, a, rtol=rtol, atol=rtol)


def test_a_sum_beside_what_is_added_at_computed_places():
    x, k = arg(0, 1), arg(1, 1, "int64")
    places = mk(ix.scatter_add.bind(index=("a",)), (Const(np.zeros(9)), x, k))
    rng = np.random.default_rng(3)
    outs = [places, mk(red.sum_.bind(axis=(0,), dtype="float64"), (x,))]
    check([x, k], outs, rng.standard_normal(1000), rng.integers(0, 9, 1000), rtol=1e-11)
    rows = mk(ix.scatter_add.bind(index=("a", "a")), (Const(np.zeros((1000, 9))), x, Const(np.arange(1000)), k))
    check([x, k], [rows, outs[1]], rng.standard_normal(1000), rng.integers(0, 9, 1000), rtol=1e-11)


FUNCTIONS = [
    op
    for op in vars(ew).values()
    if isinstance(op, ew.ElementwiseOp) and op.name not in ("cast", "pow", "left_shift", "right_shift")
]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.25, np.inf, -np.inf, np.nan, 1e300, -1e-300, 7.0, 100.0, -100.0]


DTYPES = ["float64", "float32", "int64", "int8", "uint8", "bool", "complex128", "float16", "bfloat16"]
ROUNDING = {"bfloat16": 2e-2, "float16": 2e-3, "float32": 2e-5, "complex64": 2e-5}


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_elementwise_op_agrees_with_numpy(dtype):
    """One program per dtype holds all ops that C can express; the others must say so."""
    from termgraph.backends.c.generate import generate
    from termgraph.backends.c.text.dialect import NotInC

    kind = kind_of(dtype)
    with np.errstate(all="ignore"):
        if kind == "f":
            values = np.array(SPECIAL, numpy_dtype(dtype))
        elif kind == "c":
            values = np.array([1 + 2j, -0.5 + 0.25j, 3.0, -2j, 0.1 - 0.7j], dtype)
        elif kind == "b":
            values = np.array([True, False])
        else:
            info = np.iinfo(dtype)
            values = np.array(
                [0, 1, 2, 3, 7, info.min, info.max, info.max - 1, max(info.min, -1), max(info.min, -5)], dtype
            )
    a, b = (v.ravel() for v in np.meshgrid(values, values))
    x, y = arg(0, 1, dtype), arg(1, 1, dtype)
    outs, names = [], []
    for op in FUNCTIONS:
        arity = op.arity or 2
        if dtype == "bool" and op.name == "conj":
            continue  # NumPy makes int8 of it
        try:
            t = mk(op, (x, y, x)[:arity])
            generate([x, y], [t])
        except TypeError:
            continue  # NumPy has no such loop
        except NotInC:
            continue
        outs.append(t)
        names.append(op.name)
    assert len(outs) > 10
    got = compile_terms([x, y], outs)(a, b)
    with np.errstate(all="ignore"):
        want = evaluate(outs, {x: a, y: b})
    wrong = []
    for name, g, w in zip(names, got, want):
        assert g.dtype == w.dtype, name
        tol = ROUNDING.get(w.dtype.name, 1e-13) if kind_of(w.dtype) in "fc" else 0
        with np.errstate(all="ignore"):
            same = np.isclose(g, w, rtol=tol, atol=tol, equal_nan=kind_of(w.dtype) in "fc")
        if kind_of(w.dtype) == "f":
            if not (dtype == "float16" and name in ("maximum", "minimum", "fmax", "fmin")):  # NumPy's own halves differ
                same &= (np.signbit(g) == np.signbit(w)) | (w != 0)  # the sign of a zero counts
        if not same.all():
            k = np.flatnonzero(~same)[0]
            wrong.append(f"{name}({a[k]}, {b[k]}): {g[k]}, NumPy {w[k]}")
    assert not wrong, "\n".join(wrong)


def test_shifts_and_powers_of_integers():
    x, y = arg(0, 1, "int32"), arg(1, 1, "int32")
    a = np.array([1, -1, 5, -(2**31), 7, 3], "int32")
    b = np.array([1, 3, 31, 40, -1, 0], "int32")
    check([x, y], [ew.left_shift(x, y), ew.right_shift(x, y), ew.pow_(x, Const(np.int32(3)))], a, b)


def test_division_by_zero_of_integers_is_zero_as_in_numpy():
    x, y = arg(0, 1, "int64"), arg(1, 1, "int64")
    a = np.array([7, -7, 0, np.iinfo("int64").min, 5])
    b = np.array([0, 2, 0, -1, -3])
    check([x, y], [ew.floor_div(x, y), ew.mod(x, y)], a, b)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "uint8", "bool", "complex64", "float16", "bfloat16"])
@pytest.mark.parametrize("axis", [(0,), (1,), (0, 1), (0, 2), (2,), (1, 2)])
def test_reductions(dtype, axis):
    from termgraph.backends.c.generate import generate
    from termgraph.backends.c.text.dialect import NotInC

    rng = np.random.default_rng(2)
    a = (rng.standard_normal((7, 5, 9)) * 3).astype(numpy_dtype(dtype))
    x = arg(0, 3, dtype)
    acc = red.default_sum_dtype(dtype)
    outs = []
    for op in (
        red.sum_.bind(axis=axis, dtype=acc), red.prod.bind(axis=axis, dtype=acc), red.max_.bind(axis=axis),
        red.min_.bind(axis=axis), red.any_.bind(axis=axis), red.all_.bind(axis=axis),
    ):  # fmt: skip
        outs.append(mk(op, (x,)))
    if len(axis) == 1:
        outs += [mk(red.argmax.bind(axis=axis), (x,)), mk(red.argmin.bind(axis=axis), (x,))]
    if dtype == "complex64":
        with pytest.raises(NotInC):
            generate([x], [outs[2]])
        outs = outs[:2] + outs[4:6]
    tol = {"bfloat16": 4e-2, "float16": 4e-2, "float32": 1e-4, "complex64": 1e-4}.get(dtype, 1e-12)
    check([x], outs, a, rtol=tol, atol=tol)


def test_nan_wins_in_max_and_argmax():
    x = arg(0, 2)
    a = np.random.default_rng(3).standard_normal((6, 200))
    a[2, 150] = a[2, 170] = np.nan
    check([x], [mk(o.bind(axis=(1,)), (x,)) for o in (red.max_, red.min_, red.argmax, red.argmin)], a)
    check([x], [mk(o.bind(axis=(0, 1)), (x,)) for o in (red.max_, red.argmax)], a)


def test_largest_of_nothing_is_an_error():
    x = arg(0, 2)
    f = compile_terms([x], [mk(red.max_.bind(axis=(1,)), (x,))])
    with pytest.raises(ShapeError, match="the largest or smallest of no elements"):
        f(np.ones((3, 0)))


def test_a_mean_subtracted_needs_two_loops():
    x = arg(0, 2)
    mean = ew.true_div(mk(red.sum_.bind(axis=(0,), dtype="float64"), (x,)), 50.0)
    out = ew.sub(x, mk(dimshuffle.bind(order=("x", 0)), (mean,)))
    check([x], [out], np.random.default_rng(4).standard_normal((50, 40)))


def test_equal_outputs_and_inputs_as_outputs():
    x = arg(0, 1)
    y = ew.exp(x)
    check([x], [y, x, y], np.arange(5.0))


# ---------------------------------------------------------------------- shared variables
def bound(args, outs, updates, cells, values):
    from termgraph.backends.c.generate import generate
    from termgraph.backends.c.run.bind import compile_program
    from termgraph.backends.c.run.glue import cell

    code = generate(args, outs, updates, cells)
    stores = [cell(v) for v in values]
    return code, compile_program(code, cells=stores), stores


def test_an_elementwise_update_is_written_in_place():
    g, w = arg(0, 1), arg(1, 1)
    code, f, (store,) = bound([g], [], [(0, ew.sub(w, ew.mul(0.5, g)))], [w], [np.ones(1000)])
    assert code.signature.updates[0].mode == "overwrite"
    place = store.value.ctypes.data
    for _ in range(3):
        f(np.ones(1000))
    assert store.value.ctypes.data == place and (store.value == -0.5).all()


def test_a_product_is_added_into_the_variable():
    x, d, w = arg(0, 2), arg(1, 2), arg(2, 2)
    step = ew.sub(w, ew.mul(Const(0.1), mk(la.dot, (mk(dimshuffle.bind(order=(1, 0)), (x,)), d))))
    rng = np.random.default_rng(0)
    a, b, c = rng.standard_normal((4, 7)), rng.standard_normal((4, 3)), rng.standard_normal((7, 3))
    out = mk(red.sum_.bind(axis=(0, 1), dtype="float64"), (w,))
    code, f, (store,) = bound([x, d], [out], [(0, step)], [w], [c.copy()])
    assert code.signature.updates[0].mode == "accumulate" and "kernel1" not in code.source
    place = store.value.ctypes.data
    (total,) = f(a, b)
    np.testing.assert_allclose(total, c.sum())
    np.testing.assert_allclose(store.value, c - 0.1 * a.T @ b)
    assert store.value.ctypes.data == place


def test_an_update_that_reads_other_elements_gets_storage_of_its_own():
    w = arg(0, 1)
    reverse = mk(ix.subtensor.bind(index=(("s", None, None, -1),)), (w,))
    code, f, (store,) = bound([], [], [(0, ew.add(w, reverse))], [w], [np.arange(5.0)])
    assert code.signature.updates[0].mode == "fresh"
    f()
    np.testing.assert_array_equal(store.value, np.full(5, 4.0))


def test_temporaries_that_do_not_meet_share_room():
    from termgraph.backends.c.generate import generate

    x = arg(0, 2)
    t = x
    for _ in range(6):
        t = ew.tanh(mk(la.dot, (t, x)))
    code = generate([x], [t])
    assert len(code.lowered.statements.temps) >= 6 and code.signature.workspaces == 1 + 2
    a = np.random.default_rng(0).standard_normal((9, 9))
    check([x], [t], a, rtol=1e-9, atol=1e-9)


def test_updates_that_read_each_other_do_not_see_new_values():
    a, b = arg(0, 1), arg(1, 1)
    updates = [(0, ew.mul(b, 2.0)), (1, ew.add(a, b))]
    code, f, stores = bound([], [ew.sub(a, b)], updates, [a, b], [np.arange(3.0), np.ones(3)])
    for _ in range(3):
        x, y = (s.value.copy() for s in stores)
        (out,) = f()
        np.testing.assert_array_equal(out, x - y)
        np.testing.assert_array_equal(stores[0].value, 2 * y)
        np.testing.assert_array_equal(stores[1].value, x + y)


def test_a_failure_leaves_shared_variables_as_they_were():
    i, w = arg(0, 1, "int64"), arg(1, 1)
    picked = mk(ix.gather.bind(index=("a",)), (w, i))
    code, f, (store,) = bound([i], [picked], [(0, ew.mul(w, 2.0))], [w], [np.arange(4.0)])
    assert code.signature.updates[0].mode == "overwrite"
    with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 with size 4"):
        f(np.array([0, 9]))
    np.testing.assert_array_equal(store.value, np.arange(4.0))
    f(np.array([0, 1]))
    np.testing.assert_array_equal(store.value, 2 * np.arange(4.0))


def test_sine_and_cosine_of_one_value_stay_two_vector_calls():
    """gcc joins them to one call of sincos, which has no vector version, unless told not to."""
    for dtype in ("float64", "float32"):
        x = arg(0, 1, dtype)
        program = generate([x], [ew.add(ew.sin(x), ew.cos(x))])
        built = build_library(program.source, "f", flags=program.flags, libraries=program.libraries)
        assert b"sincos" not in Path(built.path).read_bytes()
        values = np.linspace(-9, 9, 37).astype(dtype)
        want = np.sin(values) + np.cos(values)
        np.testing.assert_allclose(compile_terms([x], [ew.add(ew.sin(x), ew.cos(x))])(values)[0], want, rtol=2e-6)
