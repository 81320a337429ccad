"""Rows of names that NumPy's users miss first: arrays compared as a whole, joined, trimmed, and floats about floats."""

import numpy as np

import termgraph.tensor as T

from ..draw import INTEGERS
from ..table import row
from .reductions import moved

FLOATS = ("float32", "float64")


def one(c):
    c.x()


def _alike(c):
    """An array beside one that is often the same, or shorter."""
    x = c.x()
    if c.flip(0.3) and x.ndim:
        x = x[:-1]
    c.given(np.array(x) if c.values.random() < 0.6 else np.zeros_like(x))


def _appended(c):
    c.x()
    c.x()
    return {"axis": c.axis() if c.rank and c.flip() else None}


def _trimmed(c):
    c.at_least(1, may_be_empty=False).x(0, 1, integral=True)
    return {"trim": c.pick("f", "b", "fb"), "axis": c.pick(None, c.axis())}


for name in ("array_equal", "array_equiv"):
    row(name, getattr(T, name), lambda x, y, f=getattr(np, name): np.asarray(f(x, y)), _alike, smooth=False)
for name in ("isreal", "iscomplex"):
    row(name, getattr(T, name), getattr(np, name), one, smooth=False)
for name in ("isrealobj", "iscomplexobj"):
    row(name, lambda x, f=getattr(T, name): T.eq(x, x) | f(x), lambda x, f=getattr(np, name): np.equal(x, x) | f(x), one,
        smooth=False)  # fmt: skip
moved("append", _appended)
moved("diagflat", lambda c: {**(one(c) or {}), "k": c.structure.randint(-2, 2)})
moved("trim_zeros", _trimmed, ranks=(1, 2), special=False, smooth=False)
moved("indices", lambda c: {"dimensions": (2, 3)[: c.rank], "sparse": False, **(one(c) or {})},
      lambda x, **how: np.indices(**how) + np.zeros((), "int8"),
      lambda x, **how: T.indices(**how) + T.zeros((), "int8"), ranks=(1, 2), special=False, smooth=False)  # fmt: skip
row("fabs", T.fabs, np.fabs, one, dtypes=("bool", *INTEGERS, *FLOATS))
row("spacing", T.spacing, np.spacing, one, dtypes=("int32", "uint64", *FLOATS), smooth=False)


def _powers(c):
    c.x(0.5, 3)
    c.partner(-2, 2, dtype="float64")


row("float_power", T.float_power, np.float_power, _powers, dtypes=("int32", "uint8", *FLOATS), special=False, scaled=True)


def _equations(c):
    spread = c.values.uniform(-1, 1, (2, 3, 6)).astype(c.dtype)
    c.given(spread + np.eye(6, dtype=c.dtype).reshape(2, 3, 6) * 4)
    c.given(c.values.uniform(-1, 1, (2, 3)).astype(c.dtype))


row("linalg.tensorsolve", T.linalg.tensorsolve, np.linalg.tensorsolve, _equations, ranks=(3,), dtypes=FLOATS, special=False,
    scaled=True, loose=100)  # fmt: skip
row("x[True]", lambda x, key: x[key], lambda x, key: x[key], lambda c: {**(one(c) or {}), "key": c.pick(True, False, (None, True), (..., False))})
