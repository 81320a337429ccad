"""Cosine and sine transforms agree with SciPy in values, dtypes and lengths, with gradients."""

import itertools

import numpy as np
import pytest
import scipy.fft
from helpers import arrays, check, quick
from hypothesis import given
from hypothesis import strategies as st

import termgraph as tg
import termgraph.tensor as T

LINKER = "auto"
F = T.fft
NAMES = ("dct", "idct", "dst", "idst")
NORMS = (None, "backward", "ortho", "forward")
REALS = ("bool", "int8", "int64", "float32", "float64")


def _of_parts(name, a, type, n, axis, norm, orthogonalize):
    """SciPy's of real and imaginary parts: of complex numbers it forgets `orthogonalize`."""

    def of(x):
        return getattr(scipy.fft, name)(x, type, n, axis, norm, orthogonalize=orthogonalize)

    return (of(a.real) + of(a.imag) * 1j).astype(a.dtype) if a.dtype.kind == "c" else of(a)


@given(
    data=st.data(),
    name=st.sampled_from(NAMES),
    type=st.sampled_from([1, 2, 3, 4]),
    norm=st.sampled_from(NORMS),
    orthogonalize=st.sampled_from([None, True, False]),
)
@quick(80)
def test_along_one_axis(data, name, type, norm, orthogonalize):
    x = data.draw(arrays((*REALS, "complex64", "complex128"), min_dims=1, min_side=2, finite=True))
    x = (x % 7).astype(x.dtype) if x.dtype.kind in "iu" else x
    axis, n = data.draw(st.integers(-x.ndim, x.ndim - 1)), data.draw(st.one_of(st.none(), st.integers(2, 7)))
    check(
        lambda a: getattr(F, name)(a, type, n, axis, norm, orthogonalize=orthogonalize),
        lambda a: _of_parts(name, a, type, n, axis, norm, orthogonalize),
        x,
        rtol=1e-5,
        what=f"{name} {type} {n} {axis} {norm} {orthogonalize}",
    )


@pytest.mark.parametrize("linker", ["auto", "py"])
@pytest.mark.parametrize("type", [1, 2, 3, 4])
def test_every_number_of_points(type, linker, rng):
    """Lengths that are known and that are not; even ones, odd ones, primes, and one element."""
    x = T.dmatrix("x")
    outs = [getattr(F, name)(x, type, norm=norm) for name in NAMES for norm in (None, "ortho")]
    f = tg.function([x], outs, mode=tg.Mode(linker=linker))
    for n in (2, 3, 4, 5, 6, 7, 16, 31) if type == 1 else (1, 2, 3, 4, 5, 6, 7, 16, 31):
        values = rng.normal(size=(2, n))
        want = [getattr(scipy.fft, name)(values, type, norm=norm) for name in NAMES for norm in (None, "ortho")]
        for got, wanted in zip(f(values), want, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-13 * n)
        for name in NAMES:
            np.testing.assert_allclose(
                getattr(F, name)(values, type).eval(), getattr(scipy.fft, name)(values, type), rtol=0, atol=1e-13 * n
            )


def test_half_precision_is_single():
    x = np.array([1.0, 2.0, 4.0], "float16")
    got = F.dct(x).eval()
    assert got.dtype == "float32"
    np.testing.assert_allclose(got, scipy.fft.dct(x), rtol=1e-6)


@pytest.mark.parametrize("name", ["dctn", "idctn", "dstn", "idstn"])
def test_along_several_axes(name, rng):
    x = rng.normal(size=(3, 4, 6))
    ours, theirs = getattr(F, name), getattr(scipy.fft, name)
    check(ours, theirs, x)
    check(lambda a: ours(a, 3, axes=(0, 1), norm="ortho"), lambda a: theirs(a, 3, axes=(0, 1), norm="ortho"), x)
    check(lambda a: ours(a, 4, s=(5, 4), axes=(1, 2)), lambda a: theirs(a, 4, s=(5, 4), axes=(1, 2)), x)
    check(lambda a: ours(a, 1, s=(2, -1)), lambda a: theirs(a, 1, s=(2, 6)), x)
    for how in ({"s": 4}, {"axes": 1}, {"s": [2], "axes": 0}, {"s": np.array([2, 4]), "axes": (0, 1)}, {"s": -1},
                {"s": (4, 2), "axes": (-1, 0)}, {"axes": ()}):  # fmt: skip
        check(lambda a, how=how: ours(a, **how), lambda a, how=how: theirs(a, **how), x)
    n = T.lscalar("n")
    np.testing.assert_allclose(tg.function([n], ours(x, s=n))(4), theirs(x, s=4), atol=1e-12)
    bad = [
        (ValueError, "axes \\(0, -3\\) name a dimension twice", {"axes": (0, -3)}),
        (ValueError, "axes: axis 3 is out of range", {"axes": 3}),
        (ValueError, "s must be one size for each of 1 axes, got \\(1, 2\\)", {"s": (1, 2), "axes": 0}),
        (ValueError, "4 axes are to be transformed, .* has 3", {"s": (1, 2, 3, 4)}),
        (ValueError, "s must be at least 1, or -1 for all points there are, got \\(3, 0\\)", {"s": (3, 0)}),
        (TypeError, "s must be an integer, got 2.5", {"s": 2.5}),
    ]
    for kind, told, how in bad:
        with pytest.raises(kind, match=f"^{name}: {told}"):
            ours(x, **how)


@pytest.mark.parametrize("name", NAMES)
def test_number_of_points_that_is_computed(name, rng):
    values, n, x = rng.normal(size=(5, 3)), T.lscalar("n"), T.dmatrix("x")
    f = tg.function([x, n], [getattr(F, name)(x, type, n, axis) for type in (1, 2, 3, 4) for axis in (0, 1)])
    for points in (2, 3, 4, 5, 8):
        for got, (type, axis) in zip(f(values, points), itertools.product((1, 2, 3, 4), (0, 1)), strict=True):
            np.testing.assert_allclose(got, getattr(scipy.fft, name)(values, type, points, axis), atol=1e-12)


@pytest.mark.parametrize("type", [1, 2, 3, 4])
@pytest.mark.parametrize("name", NAMES)
def test_gradients(name, type, rng):
    for shape in (4, 3), (5, 2):
        tg.verify_grad(lambda x: getattr(F, name)(x, type, axis=0, norm="ortho"), [rng.normal(size=shape)], rng=rng)
    x = T.dmatrix("x")
    weights = rng.normal(size=(5, 3))
    slope = tg.function([x], tg.grad((getattr(F, name)(x, type, axis=0) * weights).sum(), x))(weights)
    matrix = getattr(scipy.fft, name)(np.eye(5), type, axis=0)
    np.testing.assert_allclose(slope, matrix.T @ weights, atol=1e-12)


def test_what_is_not_a_number_is_everywhere():
    x = np.array([[1.0, np.nan, 2.0], [1.0, 2.0, 3.0]])
    for name, type in itertools.product(NAMES, (2, 3, 4)):
        got = getattr(F, name)(x, type).eval()
        assert np.isnan(got[0]).all() and np.isfinite(got[1]).all()


def test_bad_arguments():
    x = T.dvector("x")
    with pytest.raises(ValueError, match="dct: type must be 1, 2, 3 or 4, got 5"):
        F.dct(x, 5)
    with pytest.raises(ValueError, match="dst: norm must be one of backward, ortho, forward, got 'other'"):
        F.dst(x, norm="other")
    with pytest.raises(ValueError, match="idct needs an array with at least one dimension"):
        F.idct(T.dscalar("x"))
    with pytest.raises(ValueError, match="number of points must be positive, got 0"):
        F.dct(x, n=0)
    for points in (2.0, True, T.dscalar("n"), T.lvector("n")):
        with pytest.raises(TypeError, match="number of points n must be an integer"):
            F.dct(x, n=points)
    with pytest.raises(ValueError, match="dct: there must be 2 or more elements along axis 0, .* has 1"):
        F.dct(T.tensor("x", shape=(1,)), 1)
    f = tg.function([x], F.dct(x, 1))
    with pytest.raises(ValueError, match="dct: there must be 2 or more elements along axis 0"):
        f([1.0])
    with pytest.raises(ValueError, match="dst: there must be 1 or more elements along axis 0"):
        tg.function([x], F.dst(x))([])
