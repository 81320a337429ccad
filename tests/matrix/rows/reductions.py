"""Rows of reductions. References are NumPy's and SciPy's functions."""

import numpy as np
import scipy.special as sps

import termgraph.tensor as T

from ..draw import FLOATING, INTEGERS
from ..table import params, row

REAL = ("bool", *INTEGERS, *FLOATING)


def moved(name, draw, numpys=None, ours=None, **more):
    """A function that moves elements: results are the same to the last bit."""
    row(name, ours or getattr(T, name), numpys or getattr(np, name), draw, **more)


def reduced(c):
    c.mild().x()
    return {"axis": c.axes(), "keepdims": c.flip()}


DIFFERS = {"var": ("finite",), "std": ("finite", "std at zero")}


def along(c):
    """One axis, or none."""
    c.mild().x()
    return {"axis": None if not c.rank or c.flip(0.3) else c.axis()}


def kept_along(c):
    return {**along(c), "keepdims": c.flip(0.3)}


for name in ["sum", "mean", "var", "std"]:
    row(name, getattr(T, name), getattr(np, name), reduced, scaled=True, loose=20, differs=DIFFERS.get(name, ()))
row("prod", T.prod, np.prod, reduced, scaled=True, loose=40, differs=("half products", "order of factors"))
for name in ["max", "min", "any", "all", "ptp", "count_nonzero"]:
    row(name, getattr(T, name), getattr(np, name), reduced, signs=False, differs=("finite",) * (name == "ptp"))
def masked(c):
    made = reduced(c)
    c.partner(dtype="bool")
    return made


def under_mask(name, **more):
    def ours(x, m, axis, keepdims):
        return getattr(T, name)(x, axis=axis, keepdims=keepdims, where=m, **more)

    def numpys(x, m, axis, keepdims):
        return getattr(np, name)(x, axis=axis, keepdims=keepdims, where=m, **more)

    return ours, numpys


for name in ["sum", "mean", "var", "std"]:
    row(f"{name} (where)", *under_mask(name), masked, scaled=True, loose=20, differs=DIFFERS.get(name, ()))
row("prod (where)", *under_mask("prod", initial=1), masked, scaled=True, loose=40, differs=("half products", "order of factors"))
for name, more in {"max": {"initial": 1}, "min": {"initial": 1}, "any": {}, "all": {}}.items():
    row(f"{name} (where)", *under_mask(name, **more), masked, signs=False)
for name in ["argmax", "argmin"]:
    row(name, getattr(T, name), getattr(np, name), kept_along)
row("max_and_argmax", T.max_and_argmax,
    lambda x, axis, keepdims: [np.max(x, axis=axis, keepdims=keepdims), np.argmax(x, axis=axis, keepdims=keepdims)],
    kept_along, signs=False)  # fmt: skip
for name in ["cumsum", "cumprod"]:
    row(name, getattr(T, name), getattr(np, name), along, scaled=True, loose=40, differs=("half products",) * (name == "cumprod"))
for name, ufunc in {"cummax": np.maximum, "cummin": np.minimum}.items():
    def _extreme(x, axis, reverse, ufunc=ufunc):
        x, axis = (x, axis) if axis is not None else (x.ravel(), 0)
        found = ufunc.accumulate(np.flip(x, axis) if reverse else x, axis)
        return np.flip(found, axis) if reverse else found


    row(name, getattr(T, name), _extreme, params(along, reverse=lambda c: c.flip()), dtypes=REAL, signs=False)


def _logcumsumexp(x, axis, reverse):
    x = x if axis is not None else x.ravel()
    axis = 0 if axis is None else axis
    wide = np.flip(x, axis) if reverse else x
    found = np.logaddexp.accumulate(wide.astype("float64"), axis)
    return (np.flip(found, axis) if reverse else found).astype(x.dtype if x.dtype.kind == "f" else "float64")


row("logcumsumexp", T.logcumsumexp, _logcumsumexp, params(along, reverse=lambda c: c.flip()), dtypes=REAL, scaled=True, loose=40)
row("sum (dtype)", lambda x, axis, dtype: T.sum(x, axis=axis, dtype=dtype),
    lambda x, axis, dtype: np.sum(x, axis=axis, dtype=dtype),
    params(along, dtype=lambda c: "complex128" if c.dtype[0] == "c" else c.pick("float64", "complex128")), scaled=True, loose=20, special=False)  # fmt: skip
row("var (ddof)", lambda x, axis: T.var(x, axis=axis, ddof=1), lambda x, axis: np.var(x, axis=axis, ddof=1), along,
    scaled=True, loose=20, differs=("finite", "std at zero"))  # fmt: skip


def _observed(c):
    c.mild().at_least(2).x(special=False)
    return {"rowvar": c.flip(), "ddof": c.pick(None, 0)}


row("cov", T.cov, np.cov, _observed, ranks=(1, 2), dtypes=("float32", "float64"), scaled=True, loose=40, special=False)


def _softmaxed(c):
    c.mild().x()
    return {"axis": None if not c.rank or c.flip(0.3) else c.axis()}


row("logsumexp", T.logsumexp, lambda x, axis, keepdims: _in_floats(_numpys_logsumexp, x, axis=axis, keepdims=keepdims), reduced, dtypes=REAL, scaled=True, loose=10)  # fmt: skip


def _numpys_logsumexp(x, axis, keepdims):
    return sps.logsumexp(x, axis=axis, keepdims=keepdims) if x.ndim else x


def _in_floats(function, x, **params):
    """SciPy's function in the precision that ours has: floats keep theirs, integers become float64."""
    wide = np.asarray(x).astype(np.float64)
    return np.asarray(function(wide, **params)).astype(x.dtype if x.dtype.kind == "f" else np.float64)


for name in ["softmax", "log_softmax"]:
    row(name, getattr(T, name), lambda x, axis, f=getattr(sps, name): _in_floats(f, x, axis=axis), _softmaxed,
        dtypes=REAL, scaled=True, loose=10)  # fmt: skip


def _median(c):
    c.mild().x()
    return {"axis": None if not c.rank or c.flip(0.3) else c.axis(), "keepdims": c.flip(0.3)}


row("median", T.median, np.median, _median, scaled=True, loose=4)


def _average(c):
    c.mild().x()
    axis = None if not c.rank or c.flip(0.3) else c.axis()
    c.given(c.numbers("float64", c.shape(), 0.5, 2))
    return {"axis": axis}


row("average", lambda x, w, axis: T.average(x, axis=axis, weights=w), lambda x, w, axis: np.average(x, axis=axis, weights=w),
    _average, scaled=True, loose=20)  # fmt: skip
