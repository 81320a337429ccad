"""Rows of windows and phases, and of elements put into arrays and taken out of them. References are NumPy's functions."""

import numpy as np

import termgraph.tensor as T

from ..table import row
from .reductions import moved

POINTS = {"ranks": (0,), "dtypes": ("int8", "int32", "int64"), "special": False, "smooth": False, "scaled": True}


def _points(c):
    c.x(0, 9, integral=True)


for name in ("hanning", "hamming", "blackman", "bartlett"):
    row(name, getattr(T, name), getattr(np, name), _points, **POINTS)
row("kaiser", lambda M: T.kaiser(M, 8.6), lambda M: np.kaiser(M, 8.6), _points, **POINTS)


def _phases(c):
    c.at_least(1).x(-20, 20, special=False)
    return {"axis": c.axis(), "period": c.pick(4, 5) if c.dtype.startswith("int") else c.pick(2.5, 2 * np.pi)}


def _unwrapped(p, axis, period):
    found = np.unwrap(p.astype("float64") if p.dtype.kind == "f" else p, axis=axis, period=period)
    return found.astype(p.dtype)


row("unwrap", T.unwrap, _unwrapped, _phases, ranks=(1, 2, 3), dtypes=("int32", "int64", "float32", "float64"), special=False, scaled=True,
    loose=40, smooth=False)  # fmt: skip


# ---------------------------------------------------------------------- put in and taken out
def _places(c):
    """Places that two elements have: lengths are drawn by themselves."""
    c.at_least(2, may_be_empty=False).x()
    several = c.pick([0, 1], [-1], [1, 1], [])
    return {"obj": c.pick(0, 1, -2, several, slice(None, None, 2), slice(1, None)), "axis": c.pick(None, c.axis())}


moved("delete", _places, ranks=(1, 2, 3), special=False)


def _insertions(c):
    found = _places(c)
    c.x(shape=(), dtype=c.dtype, special=False)
    return {**found, "obj": c.pick(0, 2, -1, [0, 2], [1, 0, 1])}


moved("insert", _insertions, lambda x, v, obj, axis: np.insert(x, obj, v, axis), lambda x, v, obj, axis: T.insert(x, obj, v, axis),
      ranks=(1, 2, 3), special=False)  # fmt: skip


# ---------------------------------------------------------------------- partly in order
def _kth(c):
    c.at_least(2, may_be_empty=False).x()
    return {"kth": c.pick(0, 1, -1), "axis": c.axis()}


ORDERED = {"ranks": (1, 2, 3), "signs": False}
moved("partition", _kth, lambda x, kth, axis: np.take(np.partition(x, kth, axis), kth, axis),
      lambda x, kth, axis: T.take(T.partition(x, kth, axis), kth, axis), **ORDERED)  # fmt: skip
moved("argpartition", _kth, lambda x, kth, axis: np.take(np.partition(x, kth, axis), kth, axis),
      lambda x, kth, axis: T.take(T.take_along_axis(x, T.argpartition(x, kth, axis), axis), kth, axis), **ORDERED)  # fmt: skip
