"""Fourier transforms agree with NumPy in values, dtypes and lengths."""

import numpy as np
import pytest
from helpers import arrays, check, quick
from hypothesis import given
from hypothesis import strategies as st

import termgraph as tg
import termgraph.tensor as T

F = T.fft
REALS = ("bool", "int8", "int64", "float16", "float32", "float64")


@given(
    data=st.data(),
    name=st.sampled_from(["fft", "ifft", "rfft", "irfft"]),
    norm=st.sampled_from([None, "ortho", "forward"]),
)
@quick(80)
def test_along_one_axis(data, name, norm):
    x = data.draw(
        arrays(REALS if name == "rfft" else (*REALS, "complex64", "complex128"), min_dims=1, min_side=2, finite=True)
    )
    x = (x % 7).astype(x.dtype) if x.dtype.kind in "iu" else x
    axis, n = data.draw(st.integers(-x.ndim, x.ndim - 1)), data.draw(st.one_of(st.none(), st.integers(1, 6)))
    check(
        lambda a: getattr(F, name)(a, n, axis, norm),
        lambda a: getattr(np.fft, name)(a, n, axis, norm),
        x,
        rtol=2e-2 if x.dtype == np.float16 else 1e-5,
        what=f"{name} {n} {axis} {norm}",
    )


@pytest.mark.parametrize("name", ["fftn", "ifftn", "fft2", "ifft2", "rfftn", "irfftn", "rfft2", "irfft2"])
def test_along_several_axes(name):
    x = np.random.default_rng(0).normal(size=(3, 4, 6))
    ours, numpys = getattr(F, name), getattr(np.fft, name)
    check(ours, numpys, x)
    check(lambda a: ours(a, axes=(0, 1), norm="ortho"), lambda a: numpys(a, axes=(0, 1), norm="ortho"), x)
    check(lambda a: ours(a, s=(5, 4), axes=(1, 2)), lambda a: numpys(a, s=(5, 4), axes=(1, 2)), x)


def test_shifts_and_frequencies():
    for n in (4, 5):
        x = np.arange(n * 3.0).reshape(n, 3)
        for ours, numpys in ((F.fftshift, np.fft.fftshift), (F.ifftshift, np.fft.ifftshift)):
            check(ours, numpys, x)
            check(lambda a, f=ours: f(a, 1), lambda a, f=numpys: f(a, 1), x)
        np.testing.assert_array_equal(F.fftfreq(n, 0.5).data, np.fft.fftfreq(n, 0.5))
        np.testing.assert_array_equal(F.rfftfreq(n).data, np.fft.rfftfreq(n))


@pytest.mark.parametrize("n", [F.TABLE - 1, F.TABLE, F.TABLE + 1, F.TABLE + 2, 10_007])
def test_many_frequencies_are_computed_with_the_bits_of_numpy(n):
    for distance in (1.0, 0.1, 3):
        whole, half = tg.function([], [F.fftfreq(n, distance), F.rfftfreq(n, distance)])()
        np.testing.assert_array_equal(whole, np.fft.fftfreq(n, distance))
        np.testing.assert_array_equal(half, np.fft.rfftfreq(n, distance))
    assert F.rfftfreq(F.TABLE).owner is None and F.rfftfreq(F.TABLE + 1).owner is not None


def test_bad_arguments():
    with pytest.raises(TypeError, match="rfft takes real numbers"):
        F.rfft(T.zvector())
    with pytest.raises(ValueError, match="norm must be one of"):
        F.fft(T.dvector(), norm="other")
    with pytest.raises(ValueError, match="must be positive"):
        F.fft(T.dvector(), n=0)
    for points in (2.0, True, T.dscalar("n"), T.lvector("n")):
        with pytest.raises(TypeError, match="number of points n must be an integer"):
            F.fft(T.dvector(), n=points)
    for name in ("fftn", "ifftn", "fft2", "ifft2", "rfftn", "irfftn", "rfft2", "irfft2"):
        with pytest.raises(ValueError, match=f"^{name}: s must be one size for each of 2 axes, got 5"):
            getattr(F, name)(T.dmatrix(), 5, axes=(0, 1))
    with pytest.raises(ValueError, match="fft2: 2 axes are to be transformed, .* has 1"):
        F.fft2(T.dvector())


ONE_AXIS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("name", ONE_AXIS)
def test_number_of_points_that_is_computed(name, norm):
    """`n=x.shape[0] + h.shape[0] - 1` is how convolutions are written; n cuts, fills, is even or odd."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5, 3)) + (0 if name in ("rfft", "ihfft") else 1j * rng.normal(size=(5, 3)))
    n = T.lscalar("n")
    a = T.tensor("a", dtype=x.dtype, shape=(None, None))
    f = tg.function([a, n], [getattr(F, name)(a, n, 0, norm), getattr(F, name)(a, n, norm=norm)])
    for points in (1, 2, 3, 4, 5, 8, 9):
        for got, axis in zip(f(x, points), (0, 1)):
            want = getattr(np.fft, name)(x, points, axis, norm)
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, atol=1e-12)


def test_hermitian_transforms_as_numpys():
    x = np.random.default_rng(0).normal(size=(3, 4)) + 1j
    check(F.hfft, np.fft.hfft, x)
    check(lambda a: F.hfft(a, 5, 0, "forward"), lambda a: np.fft.hfft(a, 5, 0, "forward"), x)
    check(F.ihfft, np.fft.ihfft, x.real)
    with pytest.raises(ValueError, match="norm must be one of"):
        F.hfft(T.zvector(), norm="other")


def test_convolution_of_lengths_that_are_known_late_has_a_gradient():
    x, h = T.dvector("x"), T.dvector("h")
    n = x.shape[0] + h.shape[0] - 1
    y = F.irfft(F.rfft(x, n) * F.rfft(h, n), n)
    f = tg.function([x, h], [y, tg.grad((y**2).sum(), h)])
    a, b = np.arange(1.0, 6.0), np.array([2.0, -1.0])
    got, slope = f(a, b)
    np.testing.assert_allclose(got, np.convolve(a, b), atol=1e-12)
    np.testing.assert_allclose(slope, np.correlate(2 * np.convolve(a, b), a, "valid"), atol=1e-11)


def test_frequencies_of_a_number_that_is_computed():
    n = T.lscalar("n")
    f = tg.function([n], [F.fftfreq(n, 0.5), F.rfftfreq(n, d=2.0)])
    for points in (1, 2, 4, 5):
        whole, half = f(points)
        np.testing.assert_array_equal(whole, np.fft.fftfreq(points, 0.5))
        np.testing.assert_array_equal(half, np.fft.rfftfreq(points, 2.0))
