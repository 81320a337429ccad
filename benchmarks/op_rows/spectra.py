"""Rows of convolutions, filters and spectra with scipy.signal's names."""

from .table import op

V = {"family": "vector", "grad": True, "torch": None}


def signal(names: str, operands: str, text: str, jax: bool = False, **more) -> None:
    """Functions of T.signal; NAME in a text is the function's, and `jax` says whether JAX has it."""
    more = {"torch": None, **more}
    for name in names.split():
        ours, theirs = text.replace("NAME", f"T.signal.{name}"), text.replace("NAME", f"scipy.signal.{name}")
        said = {"numpy": theirs, "jax": f"jax.{theirs}" if jax else None}
        op(f"signal.{name}", operands, ours, **said | more)


C = "F.conv2d(x[None, None], y.flip(0, 1)[None, None], padding=2)[0, 0]"
signal("convolve correlate", "x:f[n] y:f[k]", "NAME(x, y, 'same')", jax=True, **V)
signal("fftconvolve", "x:f[n] y:f[m]", "NAME(x, y)", jax=True, **V)
signal("oaconvolve", "x:f[n] y:f[m]", "NAME(x, y)", **V)
signal("convolve2d", "x:f[n,m] y:f[5,5]", "NAME(x, y, 'same')", jax=True, torch=C, grad=True, sizes=("small", "middle"))
signal("correlate2d", "x:f[n,m] y:f[5,5]", "NAME(x, y, 'same')", jax=True, torch=C.replace(".flip(0, 1)", ""), grad=True,
       sizes=("small", "middle"))  # fmt: skip
signal("lfilter", "y:f[n]", "NAME([0.5, 0.25], [1.0, -0.5, 0.125], y)", **V | {"dtypes": ("float64",)})
signal(
    "filtfilt",
    "y:f[n]",
    "NAME([0.5, 0.25], [1.0, -0.5, 0.125], y, padlen=9)",
    **V | {"dtypes": ("float64",), "sizes": ("middle", "large")},
)
SOS = "[[0.5, 0.25, 0.125, 1.0, -0.5, 0.0], [1.0, 0.5, 0.0, 1.0, 0.25, 0.125]]"
signal("sosfilt", "y:f[n]", f"NAME({SOS}, y)", **V | {"dtypes": ("float64",)})
signal(
    "sosfiltfilt", "y:f[n]", f"NAME({SOS}, y, padlen=9)", **V | {"dtypes": ("float64",), "sizes": ("middle", "large")}
)
signal("stft", "y:f[n]", "NAME(y, nperseg=8)[2]", jax=True, **V | {"grad": False})
signal("istft", "y:f[n]", "NAME(y[None] + 0j * y[:5, None], nperseg=8)[1]", jax=True, **V | {"grad": False})
signal("welch", "y:f[n]", "NAME(y, nperseg=8)[1]", jax=True, **V)
signal("spectrogram", "y:f[n]", "NAME(y, nperseg=8)[2]", **V)
signal("csd coherence", "x:f[n] y:f[n]", "NAME(x, y, nperseg=4)[1]", **V | {"grad": False, "unchecked": True})
signal("periodogram", "y:f[64]", "NAME(y)[1]", **V)
signal("detrend", "y:f[n]", "NAME(y)", jax=True, **V)
signal("hilbert", "y:f[n]", "NAME(y)", **V | {"grad": False})
signal("resample", "y:f[n]", "NAME(y, 50_000)", **V | {"sizes": ("middle", "large")})
signal("resample_poly", "y:f[n]", "NAME(y, 3, 2)", **V)
op("signal.resample_poly (half)", "y:f[n]", "T.signal.resample_poly(y, 1, 2)",
   numpy="scipy.signal.resample_poly(y, 1, 2)", jax=None, **V)  # fmt: skip
signal("upfirdn", "x:f[61] y:f[n]", "NAME(x, y, 2, 3)", **V)
signal("savgol_filter", "y:f[n]", "NAME(y, 7, 3)", **V)
signal("savgol_coeffs", "", "NAME(7, 3)", **V | {"grad": False, "sizes": ("small",), "dtypes": ("float64",)})
signal("medfilt", "y:f[n]", "NAME(y, 5)", **V)
signal("medfilt2d", "x:f[n,m]", "NAME(x, 3)", grad=True, sizes=("small", "middle"))
