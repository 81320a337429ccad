"""Rows of NumPy's lesser functions: places in matrices, elements written over others, histograms of pairs, polynomials."""

import numpy as np

import termgraph.tensor as T

from ..draw import FLOATING, INTEGERS
from ..table import row
from .statistics import PLAIN, WIDE

REAL = ("bool", *INTEGERS, *FLOATING)
SAME = {"special": False, "smooth": False}


def written(name):
    """One of NumPy's functions that change their argument, made one that gives the changed copy."""

    def run(a, *args, **params):
        a = np.array(a)  # a copy, of a number too
        getattr(np, name)(a, *args, **params)
        return a

    return run


# ---------------------------------------------------------------------- elements in the place of others
def _new_shape(c):
    c.x(special=False)
    return {"new_shape": c.pick(0, 5, (2, 3), (3, 0), ())}


row("resize", T.resize, np.resize, _new_shape, dtypes=REAL)


def _few(c):
    """An array, a mask of its shape, and values of its dtype, fewer or more than there are places."""
    c.x(special=False)
    c.given(c.values.random(c.shape()) < 0.5)
    c.given(c.numbers(c.dtype, (c.structure.randint(1, 4),), special=False))


row("place", T.place, written("place"), _few, dtypes=REAL)
row("putmask", T.putmask, written("putmask"), _few, dtypes=REAL)


def _places(c):
    """Places, none twice, some counted from the end, or any of them where `mode` brings them inside."""
    x = c.at_least(1, False).x(special=False)
    mode = c.pick("raise", "wrap", "clip")
    n = min(c.structure.randint(0, 3), x.size)
    if mode == "raise":
        c.given(c.values.permutation(x.size)[:n] - x.size * c.structure.randint(0, 1))
    else:
        c.given(c.values.integers(-9, 9, min(n, 1)))
    c.given(c.numbers(c.dtype, (c.structure.randint(1, 2),), special=False))
    return {"mode": mode}


row("put", T.put, written("put"), _places, dtypes=REAL)


# ---------------------------------------------------------------------- places in a matrix
def _numbers(c):
    return {"n": c.structure.randint(0, 4), "k": c.structure.randint(-2, 2), "m": c.pick(None, 0, 2, 5)}


def _matrix(c):
    c.x(special=False)
    return {"k": c.structure.randint(-2, 2)}


for name in ("tril_indices", "triu_indices"):
    ours, theirs = getattr(T, name), getattr(np, name)
    row(name, ours, lambda n, k, m, f=theirs: list(f(n, k, m)), _numbers, ranks=(2,), dtypes=("int64",), **SAME)
    ours, theirs = getattr(T, f"{name}_from"), getattr(np, f"{name}_from")
    row(f"{name}_from", ours, lambda x, k, f=theirs: list(f(x, k)), _matrix, ranks=(2,), dtypes=("float64", "int8"), **SAME)


def _cube(c):
    n = c.n("side")
    c.x(shape=(n,) * c.rank, special=False)


row("diag_indices", T.diag_indices, lambda n, ndim: list(np.diag_indices(n, ndim)),
    lambda c: {"n": c.structure.randint(0, 4), "ndim": c.structure.randint(1, 3)}, ranks=(2,), dtypes=("int64",), **SAME)  # fmt: skip
row("diag_indices_from", T.diag_indices_from, lambda x: list(np.diag_indices_from(x)), _cube, ranks=(2, 3), dtypes=("float64",), **SAME)


def _several(c):
    for name in range(c.structure.randint(1, 3)):
        n = c.n(name)
        c.given(c.values.random(n) < 0.5 if c.flip() else c.values.integers(0, 5, n))


row("ix_", T.ix_, lambda *vs: list(np.ix_(*vs)), _several, ranks=(1,), dtypes=("int64",), **SAME)


# ---------------------------------------------------------------------- numbers
def _pair(c):
    c.x(special=False)
    c.given(c.values.integers(1, 5, c.shape()).astype(c.dtype))


row("divmod", T.divmod, np.divmod, _pair, dtypes=("int8", "int32", "int64", "uint8", *WIDE), special=False, smooth=False)
row("sort_complex", T.sort_complex, np.sort_complex, lambda c: c.at_least(1, False).x(special=False), ranks=(1, 2),
    dtypes=("int8", "uint16", "int64", *WIDE, "complex64", "complex128"), **SAME)  # fmt: skip
row("apply_over_axes", lambda x: T.apply_over_axes(T.max, x, [0, -1]), lambda x: np.apply_over_axes(np.max, x, [0, -1]),
    lambda c: c.at_least(1, False).x(special=False), ranks=(2, 3), dtypes=REAL)  # fmt: skip


# ---------------------------------------------------------------------- histograms and polynomials
def _points(c):
    n = c.n("points") + 1
    for _ in range(2):
        c.given(c.values.normal(size=n).astype(c.dtype))
    return {"bins": c.pick(3, [2, 4], [-2.0, -0.5, 0.25, 2.0], [3, [-1.0, 0.0, 2.0]]), "density": False}


def _edges_as_arrays(bins):
    return [np.asarray(b) if isinstance(b, list) else b for b in bins] if isinstance(bins, list) else bins


HISTOGRAMS = {"ranks": (1,), "dtypes": ("float64",), "smooth": False, **PLAIN}
row("histogram2d", T.histogram2d, lambda x, y, bins, density: list(np.histogram2d(x, y, _edges_as_arrays(bins), density=density)),
    _points, **HISTOGRAMS)  # fmt: skip
row("histogramdd", lambda x, y, **how: T.histogramdd([x, y], 3)[0], lambda x, y, **how: np.histogramdd([x, y], 3)[0], _points, **HISTOGRAMS)


def _roots(c):
    c.given(c.values.integers(-3, 4, c.n("n")).astype(c.dtype))


def _fraction(c):
    c.given(c.values.integers(1, 4, c.n("n") + 1).astype(c.dtype))
    c.given(c.values.integers(1, 4, c.n("k") + 1).astype(c.dtype))


def _divided(u, v):
    """NumPy's quotient, and the remainder with all coefficients: it leaves zeros in front out."""
    quotient, rest = np.polydiv(u, v)
    return [quotient, np.concatenate([np.zeros(max(min(len(v) - 1, len(u)), 1) - len(rest)), rest])]


def _coefficients(roots):
    """NumPy's, as a vector also where there are no roots: for these it gives the number 1."""
    return np.atleast_1d(np.poly(roots))


row("poly", T.poly, _coefficients, _roots, ranks=(1,), dtypes=("float64", "int64"), smooth=False, **PLAIN)
row("polydiv", T.polydiv, _divided, _fraction, ranks=(1,), dtypes=("float64", "int64"), smooth=False, **PLAIN)
