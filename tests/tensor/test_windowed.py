"""Folds of windows: each window by itself in NumPy, in every direction that arguments may take."""

import functools
import itertools

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

LINKERS = ["py", pytest.param("c", marks=pytest.mark.skipif(find_compiler() is None, reason="no C compiler"))]
FUNCTIONS = {
    "max": (T.maximum, np.maximum, -np.inf), "min": (T.minimum, np.minimum, np.inf), "sum": (T.add, np.add, 0.0),
    "product": (lambda a, b: b * a, np.multiply, 1.0), "further max": (np.maximum, np.maximum, 0.25),
    "more": (T.add, np.add, 0.5), "logaddexp": (T.logaddexp, np.logaddexp, -np.inf),
    "last": (lambda a, b: b + 0 * a, lambda a, b: b + 0 * a, 7.0),
}  # fmt: skip


def folded(x, first, f, sizes, steps, padding, base, apart):
    """What jax.lax.reduce_window says it is, one window at a time."""
    first = np.asarray(first, x.dtype)
    wide = np.full([max((n - 1) * b + 1, 0) for n, b in zip(x.shape, base)], first, x.dtype)
    wide[tuple(slice(None, None, b) for b in base)] = x
    reach = [(k - 1) * a + 1 for k, a in zip(sizes, apart)]
    if isinstance(padding, str):
        more = [max((-(-n // s) - 1) * s + r - n, 0) for n, s, r in zip(wide.shape, steps, reach)]
        early = {"VALID": [0] * x.ndim, "SAME": [m // 2 for m in more], "SAME_LOWER": [m - m // 2 for m in more]}[
            padding
        ]
        padding = [(e, 0 if padding == "VALID" else m - e) for e, m in zip(early, more)]
    wide = np.pad(wide, padding, constant_values=first)
    counts = [max((n - r) // s + 1, 0) for n, r, s in zip(wide.shape, reach, steps)]
    out = np.empty(counts, x.dtype)
    for at in np.ndindex(*counts):
        places = itertools.product(*[[i * s + j * a for j in range(k)] for i, s, k, a in zip(at, steps, sizes, apart)])
        out[at] = functools.reduce(f, [wide[p] for p in places], first)
    return out


def one_by_one(*given, linker, name="max", dtype="float64", shape=(7, 9), rng=None, known=False):
    ours, numpys, first = FUNCTIONS[name]
    value = (rng.normal(size=shape) * 3).astype(dtype)
    x = T.tensor("x", dtype=dtype, shape=shape if known else (None,) * len(shape))
    sizes, steps, padding, base, apart = given
    made = T.nnet.reduce_window(x, first, ours, sizes, steps, padding, base, apart)
    found = tg.function([x], made, mode=tg.Mode(linker=linker))(value)
    wanted = folded(value, first, numpys, sizes, steps, padding, base or (1,) * len(shape), apart or (1,) * len(shape))
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    near = 1e-5 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(found, wanted, rtol=near, atol=near)


WAYS = [
    ((3, 3), (2, 2), "VALID", None, None),
    ((2, 3), (1, 2), "SAME", None, None),
    ((3, 2), (2, 3), "SAME_LOWER", None, None),
    ((3, 3), (1, 1), ((1, 1), (1, 1)), None, None),
    ((1, 4), (3, 1), ((0, 0), (3, 0)), None, None),
    ((2, 2), (2, 1), ((0, 2), (1, 0)), (2, 3), None),
    ((3, 2), (1, 2), "SAME", None, (2, 3)),
    ((1, 1), (2, 3), "VALID", None, None),
    ((8, 2), (1, 1), "VALID", None, None),
    ((7, 9), (1, 1), "VALID", None, None),
]


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_each_window_is_folded(way, name, linker, rng):
    one_by_one(*way, linker=linker, name=name, rng=rng, known=True)
    one_by_one(*way, linker=linker, name=name, rng=rng)


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("name", ["max", "min", "sum"])
@pytest.mark.parametrize("padding", ["VALID", "SAME", ((1, 1), (1, 1))], ids=str)
@pytest.mark.parametrize(("sizes", "steps"), [((3, 2), (1, 2)), ((4, 1), (2, 2)), ((7, 7), (1, 3))])
def test_axes_that_turn_out_shorter_than_a_window_have_none(sizes, steps, padding, name, linker, rng):
    """With gradients of gradients, in steps of a loop too: with known lengths they are the same."""
    ours, numpys, first = FUNCTIONS[name]

    def made(x, t, in_steps):
        fold = lambda v: T.nnet.reduce_window(v, first, ours, sizes, steps, padding)  # noqa: E731
        slope = tg.grad(T.sqr(fold(x)).sum(), x)
        rows = [tg.scan(lambda v: fold(v[None] + x), x)[0]] if in_steps else []
        return fold(x), slope, tg.grad((slope * t).sum(), x), *rows

    mode, open_ = tg.Mode(linker=linker), [T.dmatrix("x"), T.dmatrix("t")]
    f = tg.function(open_, made(*open_, True), mode=mode)
    for shape in ((1, 1), (2, 5), (5, 1), (6, 7)):
        value, cotangent = rng.normal(size=(2, *shape))
        known = [T.tensor(n, dtype="float64", shape=shape) for n in "xt"]
        wanted = tg.function(known, made(*known, False), on_unused_input="ignore")(value, cotangent)
        *found, rows = f(value, cotangent)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
        steady = folded(value + value[0], first, numpys, sizes, steps, padding, (1, 1), (1, 1))
        assert found[0].shape == steady.shape and rows.shape == (shape[0], *steady.shape)
        np.testing.assert_allclose(rows[0], steady)
    assert f(np.zeros((0, 0)), np.zeros((0, 0)))[1].shape == (0, 0)


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("name", ["max", "sum", "last"])
@pytest.mark.parametrize("k", [16, 17, 24, 31])
def test_long_windows_are_folded_in_their_order(k, name, linker, rng):
    one_by_one((k,), (1,), "VALID", None, None, linker=linker, name=name, shape=(70,), rng=rng)
    one_by_one((k,), (3,), "SAME", None, (2,), linker=linker, name=name, shape=(70,), rng=rng)


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint8", "complex128"])
def test_dtypes_and_axes_of_windows(dtype, linker, rng):
    value = (rng.normal(size=(4, 5, 2, 6)) * 9).astype(dtype)
    x = T.tensor("x", dtype=dtype, shape=(None,) * 4)
    for name, first in (("sum", 0), ("max", 0), ("min", 100)):
        if dtype[0] == "c" and name != "sum":
            continue
        ours, numpys, _ = FUNCTIONS[name]
        for sizes, steps in (((2, 1, 2, 3), (2, 1, 1, 2)), ((2, 2, 2, 2), (1, 2, 1, 1))):
            made = T.nnet.reduce_window(x, first, ours, sizes, steps, "SAME")
            found = tg.function([x], made, mode=tg.Mode(linker=linker))(value)
            wanted = folded(value, first, numpys, sizes, steps, "SAME", (1,) * 4, (1,) * 4)
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=0.2 if dtype == "float16" else 1e-4)
    truths = T.tensor("t", dtype="bool", shape=(None,))
    f = tg.function([truths], T.nnet.reduce_window(truths, False, T.logical_or, 2), mode=tg.Mode(linker=linker))
    assert f([False, True, False, False]).tolist() == [True, True, False]


@pytest.mark.parametrize("name", ["max", "sum", "product", "logaddexp", "more"])
def test_gradients_of_windows(name, rng):
    ours, _, first = FUNCTIONS[name]
    tg.verify_grad(
        lambda x: T.nnet.reduce_window(x, first, ours, (3, 2), (2, 1), "SAME"), [rng.normal(size=(5, 4))], rng=rng
    )
    x = T.dtensor3("x")
    each = tg.vmap(lambda v: T.nnet.reduce_window(v, first, ours, (2, 2)))(x)
    value = rng.normal(size=(3, 4, 5))
    for k, found in enumerate(tg.function([x], each)(value)):
        np.testing.assert_allclose(found, tg.function([x], T.nnet.reduce_window(x[k], first, ours, 2))(value))


def test_wrong_windows_are_named():
    x = T.dmatrix("x")
    window = functools.partial(T.nnet.reduce_window, x, 0.0)
    with pytest.raises(ValueError, match=r"window_dimensions must have a number for each of 2 axes, got \(3,\)"):
        window(T.add, (3,))
    with pytest.raises(ValueError, match=r"window_strides must be positive whole numbers, got 0"):
        window(T.add, 3, 0)
    with pytest.raises(ValueError, match="padding must be VALID, SAME, SAME_LOWER or pairs, got 'FULL'"):
        window(T.add, 3, 1, "FULL")
    with pytest.raises(ValueError, match="a pair .* not negative for each of 2 axes"):
        window(T.add, 3, 1, [(0, 0)])
    with pytest.raises(TypeError, match="must give a number of the array's dtype, float64, .* gave TensorType.bool"):
        window(T.gt, 3)
    with pytest.raises(TypeError, match="init_value must be a number"):
        T.nnet.reduce_window(x, [0.0], T.add, 3)
