"""Fourier transforms agree with NumPy in values, dtypes and lengths."""

import numpy as np
import pytest
from helpers import arrays, check, quick
from hypothesis import given
from hypothesis import strategies as st

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


@pytest.mark.parametrize("name", ["fftn", "ifftn", "fft2", "ifft2", "rfftn", "irfftn"])
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


def test_bad_arguments():
    with pytest.raises(TypeError, match="rfft takes real numbers"):
        F.rfft(T.zvector())
    with pytest.raises(ValueError, match="norm must be one of"):
        F.fft(T.dvector(), norm="other")
    with pytest.raises(ValueError, match="must be positive"):
        F.fft(T.dvector(), n=0)
    with pytest.raises(TypeError, match="known while building"):
        F.fft(T.dvector(), n=T.lscalar())
