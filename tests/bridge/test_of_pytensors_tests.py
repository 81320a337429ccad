"""What PyTensor's own tests ask of the bridge, and was not there or gave other numbers."""

import warnings

import numpy as np
import pytest

pytensor = pytest.importorskip("pytensor", reason="PyTensor is not installed")
pt = pytest.importorskip("pytensor.tensor")

from bridgecases import compared  # noqa: E402

import termgraph.pytensor as bridge  # noqa: E402

A = np.random.default_rng(1).normal(size=(3, 4))
B, P, I = A.T.copy(), np.abs(A) + 0.1, np.array([2, 0, 2])


# ---------------------------------------------------------------------- lengths that are -1, bounds that cross
LEFT_OVER = {
    "flatten": lambda x, n: x.flatten(2),
    "numbers": lambda x, n: x.reshape((x.shape[0], -1)),
    "products": lambda x, n: x.reshape((-1, x.shape[1] * x.shape[2])),
    "joined": lambda x, n: x.reshape(pt.concatenate([x.shape[:2], np.array([-1, 2])]), ndim=4),
    "cast": lambda x, n: x.reshape(pt.cast(pt.stack([x.shape[2], -1]), "int32")),
    "vector": lambda x, n: x.reshape(n, ndim=2),
}


@pytest.mark.parametrize("tag", ["minimum_compile", "fast_run"])
@pytest.mark.parametrize("name", LEFT_OVER)
def test_a_length_may_be_what_is_left(name, tag):
    x, n = pt.dtensor3("x"), pt.lvector("n")
    wanted = [LEFT_OVER[name](x, n), pt.grad((LEFT_OVER[name](x, n) ** 2).sum(), x)]
    mode = pytensor.compile.mode.Mode(bridge.TermgraphLinker(strict=True), tag)
    f = pytensor.function([x, n], wanted, mode=mode, on_unused_input="ignore")
    for shape, asked in (((2, 3, 4), [-1, 8]), ((4, 1, 6), [3, -1]), ((2, 3, 4), [4, 6])):
        values = np.arange(24.0).reshape(shape)
        reshaped, slope = f(values, asked)
        g = pytensor.function([x, n], wanted[0], mode="FAST_COMPILE", on_unused_input="ignore")
        np.testing.assert_array_equal(reshaped, g(values, asked))
        np.testing.assert_array_equal(slope, 2 * values)


@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_the_lower_bound_wins_where_bounds_cross(dtype):
    values = [np.array([-3, 0, 1, 3], dtype), np.array(1, dtype), np.array(-1, dtype)]
    compared(lambda x, low, high: [pt.clip(x, low, high), pt.clip(x, high, low)], values)
    compared(lambda x: [pt.clip(x, 1, -1), pt.clip(x, -1, 1)], values[:1])


def test_a_product_over_no_axes_keeps_its_zeros():
    from pytensor.tensor.math import ProdWithoutZeros

    compared(lambda x: [ProdWithoutZeros(axis=())(x), ProdWithoutZeros(axis=(0,))(x)], [np.array([[2.0, 0], [0, 3]])])


def test_a_slice_that_is_an_argument_is_read_by_pytensor():
    from pytensor.tensor.type_other import SliceType

    x, part = pt.dmatrix("x"), SliceType()()
    try:
        x[part]
    except TypeError:
        pytest.skip("PyTensor 3 takes no slices as arguments")
    for wanted in (x[part], pt.set_subtensor(x[part], 0.0)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            f = pytensor.function([x, part], wanted * 2, mode="TERMGRAPH")
        g = pytensor.function([x, part], wanted * 2, mode="FAST_COMPILE")
        for given in (slice(1, 3), slice(None, None, -1)):
            np.testing.assert_array_equal(f(A, given), g(A, given))


def test_unique_places_and_diagonals():
    from pytensor.tensor.extra_ops import fill_diagonal_offset

    repeated = np.array([[3, 1, 3], [2, 1, 1]])
    compared(lambda x: pt.unique(x, True, True, True), [repeated])
    compared(lambda x: [pt.unique(x), pt.unique(x, axis=1)], [repeated * 1.0])
    compared(lambda i, j: pt.ravel_multi_index((i, j), (3, 4)), [I, I])
    compared(lambda i, n: pt.ravel_multi_index((i, i), n, mode="clip", order="F"), [2 * I, np.array([3, 4])])
    compared(lambda n: pt.bartlett(n), [np.array(5)])
    for offset in (-2, 0, 1):
        compared(lambda x, k=offset: fill_diagonal_offset(x, 0.5, k), [A])
        compared(lambda x, v, k=offset: fill_diagonal_offset(x, v, k), [B, np.array(2.0)])
    compared(lambda r, a: pt.complex_from_polar(r, a), [P, A])


def test_nothing_times_a_logarithm():
    xlogx = pytest.importorskip("pytensor.tensor.xlogx")
    values = [np.array([0.0, 0.5, 2.0]), np.array([3.0, 0.25, 1.0])]
    compared(lambda x, y: [xlogx.xlogx(x + y), xlogx.xlogy0(y, x + 1)], values)
    x, y = pt.dvectors("x", "y")
    f = pytensor.function([x, y], [xlogx.xlogx(x), xlogx.xlogy0(x, y)], mode="TERMGRAPH")
    for made in f(*values):
        assert made[0] == 0.0 and np.isfinite(made).all()
