"""Rows of elements by index, read and written, and of sorting, searching and counting."""

import numpy as np

import termgraph.tensor as T

from ..draw import INTEGERS
from ..table import one, row
from .reductions import REAL, moved

ORDERED = REAL  # what has an order; NumPy orders complex numbers too


# ---------------------------------------------------------------------- elements by index
def _subtensor_index(c):
    """A basic index: integers, slices, None and Ellipsis, for every rank."""
    index: list = []
    for _ in range(c.structure.randint(0, c.rank)):
        start, stop = c.pick(None, 0, 1, -1, -9, 9), c.pick(None, 0, 2, -1, 9, -9)
        index.append(c.pick(0, -1, slice(None), slice(start, stop), slice(start, stop, c.pick(2, -1, -2)), slice(None, None, -1)))
    if c.flip(0.3):
        index.insert(c.structure.randint(0, len(index)), None)
    if c.flip(0.3):
        index.insert(c.structure.randint(0, len(index)), Ellipsis)
    return tuple(index)


def _basic(c):
    index = _subtensor_index(c)
    c.at_least(1, not any(isinstance(k, int) for k in index)).x()
    return {"index": index}


def _read(x, index):
    return x[index]


row("x[basic]", _read, _read, _basic)


def _advanced_drawn(c):
    if not c.rank:
        c.x()
        return {}
    shape = c.shape()
    c.x()
    count = c.structure.randint(1, c.rank)
    first = c.structure.randint(0, c.rank - count)
    batch = (c.n("picked"),)
    for k in range(count):
        c.index(shape[first + k], batch)
    return {"first": first}


def _pick_at(x, *index, first=0):
    return x[(*[slice(None)] * first, *index)] if index else x[()]


row("x[arrays]", _pick_at, _pick_at, _advanced_drawn, ranks=(1, 2, 3, 4))


def _masked(c):
    x = c.x()
    c.given(c.values.random(x.shape[: c.structure.randint(1, c.rank)]) < 0.5)
    return {}


row("x[mask]", lambda x, m: x[m], lambda x, m: x[m], _masked, ranks=(1, 2, 3))


def _write(c):
    index = _subtensor_index(c)
    c.mild().at_least(1, not any(isinstance(k, int) for k in index))
    x = c.x()
    part = x[index]
    whole = c.flip()
    c.x(dtype=c.dtype, shape=part.shape if whole else ())
    return {"index": index}


def _set(x, y, index):
    x = np.array(x)
    x[index] = y
    return x


def _inc(x, y, index):
    x = np.array(x)
    x[index] += y
    return x


BASIC_WRITES = {"ranks": (0, 1, 2, 3, 4)}
row("set_subtensor", lambda x, y, index: T.set_subtensor(x[index], y), _set, _write, **BASIC_WRITES)
row("inc_subtensor", lambda x, y, index: T.inc_subtensor(x[index], y), _inc, _write, **BASIC_WRITES)
row(".set", lambda x, y, index: x[index].set(y), _set, _write, **BASIC_WRITES)
row(".inc", lambda x, y, index: x[index].inc(y), _inc, _write, **BASIC_WRITES)


def _write_arrays(c):
    shape = c.shape()
    c.mild().x()
    rows = c.index(shape[0], (c.n("picked"),))
    c.x(shape=(*rows.shape, *shape[1:]))
    return {}


def _add_at(x, i, y):
    x = np.array(x)
    np.add.at(x, i, y)
    return x


def _set_at(x, i, y):
    """The last one wins."""
    x = np.array(x)
    for k, v in zip(i, y):
        x[k] = v
    return x


row("inc_subtensor (arrays)", lambda x, i, y: T.inc_subtensor(x[i], y), _add_at, _write_arrays, ranks=(1, 2, 3), scaled=True,
    loose=10)  # fmt: skip
row("set_subtensor (arrays)", lambda x, i, y: T.set_subtensor(x[i], y), _set_at, _write_arrays, ranks=(1, 2, 3))


def _write_mask(c):
    x = c.x()
    c.given(c.values.random(x.shape) < 0.5)
    return {}


row("set_subtensor (mask)", lambda x, m: T.set_subtensor(x[m], T.as_tensor(0, dtype="bool")), lambda x, m: np.where(m, np.zeros_like(x), x),
    _write_mask, ranks=(1, 2, 3))  # fmt: skip


def _take(c):
    axis = None if c.flip(0.3) else c.axis()
    x = c.x()
    length = x.size if axis is None else x.shape[axis]
    mode = c.pick("raise", "wrap", "clip")
    if mode == "raise":
        c.index(length, (c.n("a"), c.n("b")) if c.flip() else (c.n("a"),))
    else:
        n = (c.n("a"),) if length else (0,)
        c.given(c.values.integers(-9, 9, n))
    return {"axis": axis, "mode": mode}


moved("take", _take, ranks=(1, 2, 3, 4))


def _along_axis(c):
    axis = c.axis()
    shape = list(c.shape())
    c.x()
    n = shape[axis]
    shape[axis] = c.n("picked") if n else 0
    if c.flip(0.2):
        axis = None
        n = int(np.prod(c.shape()))
        shape = [c.n("picked") if n else 0]
    c.given(c.values.integers(-n, max(n, 1), shape))
    return {"axis": axis}


moved("take_along_axis", _along_axis, ranks=(1, 2, 3, 4))


def _put_along_axis(c):
    axis = c.axis()
    x = c.x()
    where = np.argsort(c.values.random(x.shape), axis=axis)[tuple(slice(0, 1) if k == axis % c.rank else slice(None) for k in range(c.rank))]
    c.given(where)
    c.x(shape=where.shape, special=False)
    return {"axis": axis}


def _put(x, i, v, axis):
    x = np.array(x)
    np.put_along_axis(x, i, v, axis)
    return x


moved("put_along_axis", _put_along_axis, _put, ranks=(1, 2, 3))
moved("nonzero", one, lambda x: list(np.nonzero(x)), lambda x: list(T.nonzero(x)), ranks=(1, 2, 3, 4), smooth=False)
moved("flatnonzero", one, smooth=False, ranks=(1, 2, 3, 4))
moved("argwhere", one, smooth=False, ranks=(1, 2, 3, 4))
moved("nonzero_values", one, lambda x: x[np.nonzero(x)], ranks=(1, 2, 3, 4), smooth=False)


def _compress(c):
    axis = None if c.flip(0.3) else c.axis()
    n = int(np.prod(c.shape())) if axis is None else c.shape()[axis]
    c.given(c.values.random(n) < 0.5)
    c.x()
    return {"axis": axis}


moved("compress", _compress, ranks=(1, 2, 3))
moved("extract", lambda c: [c.given(c.values.random(c.shape()) < 0.5), c.x()], ranks=(1, 2, 3))


def _choose(c):
    c.given(c.values.integers(0, 3, c.shape()))
    for _ in range(3):
        c.partner(dtype=c.dtype)
    return {"mode": c.pick("raise", "wrap", "clip")}


moved("choose", _choose, lambda a, *xs, mode: np.choose(a, xs, mode=mode), lambda a, *xs, mode: T.choose(a, xs, mode=mode))


# ---------------------------------------------------------------------- order
def _sorted(c):
    c.x()
    return {"axis": None if not c.rank or c.flip(0.2) else c.axis()}


moved("sort", _sorted, signs=False, ranks=(1, 2, 3, 4))
moved("argsort", _sorted, lambda x, axis: np.argsort(x, axis=axis, kind="stable"), ranks=(1, 2, 3, 4), smooth=False)


def _top(c):
    c.at_least(3, False).x()
    return {"kth": c.pick(1, 2, 3, -1, -2), "axis": c.axis()}


def _numpys_top(x, kth, axis):
    """In the order of topk: the largest descending; for a negative k the smallest ascending."""
    ascending = np.sort(x, axis=axis)
    n = x.shape[axis]
    if kth > 0:
        return np.flip(np.take(ascending, range(n - kth, n), axis=axis), axis)
    return np.take(ascending, range(-kth), axis=axis)


moved("topk", _top, lambda x, kth, axis: np.sort(_numpys_top(x, kth, axis), axis=axis),
      lambda x, kth, axis: T.sort(T.topk(x, kth, axis), axis), ranks=(1, 2, 3), dtypes=ORDERED, special=False, signs=False)  # fmt: skip
moved("argtopk", _top, lambda x, kth, axis: np.sort(_numpys_top(x, kth, axis), axis=axis),
      lambda x, kth, axis: T.sort(T.take_along_axis(x, T.argtopk(x, kth, axis), axis), axis), ranks=(1, 2, 3),
      dtypes=ORDERED, special=False, signs=False)  # fmt: skip
moved("topk_and_argtopk", _top, lambda x, kth, axis: np.sort(_numpys_top(x, kth, axis), axis=axis),
      lambda x, kth, axis: T.sort(T.topk_and_argtopk(x, kth, axis)[0], axis), ranks=(1, 2, 3), dtypes=ORDERED, special=False, signs=False)  # fmt: skip


def _search(c):
    n = c.n("edges")
    edges = np.sort(c.numbers(c.dtype, (n,)))
    c.given(edges)
    c.partner(dtype=c.dtype)
    return {"side": c.pick("left", "right")}


moved("searchsorted", _search, smooth=False)


def _digitize(c):
    c.x()
    n = c.n("edges")
    bins = np.sort(c.numbers(c.dtype, (n,)))
    c.given(bins if c.flip() else bins)
    return {"right": c.flip()}


moved("digitize", _digitize, smooth=False, dtypes=REAL[1:])


def _interp(c):
    c.x(special=False)
    n = max(c.n("edges"), 1)
    c.given(np.sort(c.values.uniform(-3, 3, n)))
    c.given(c.values.uniform(-3, 3, n))
    return {}


row("interp", T.interp, np.interp, _interp, dtypes=REAL, scaled=True, loose=100, special=False)


def _bincount(c):
    c.given(c.values.integers(0, 5, c.n(0)).astype(c.dtype))
    return {"minlength": c.pick(0, 3, 8)}


moved("bincount", _bincount, dtypes=("int8", "int32", "int64", "uint8"), ranks=(1,), special=False, smooth=False)


def _weighted(c):
    n = c.n(0)
    c.given(c.values.integers(0, 5, n))
    c.x(shape=(n,), special=False)
    return {}


row("bincount (weights)", lambda i, w: T.bincount(i, w), lambda i, w: np.bincount(i, w), _weighted, ranks=(1,), dtypes=("float32", "float64"),
    scaled=True, loose=10, special=False, smooth=False, differs=("empty counts",))  # fmt: skip


def _in_segments(c):
    """Rows, and numbers of segments for them, some of which are none."""
    x = c.x(special=False)
    c.given(c.values.integers(-1, 6, x.shape[0]))
    return {"num_segments": c.pick(1, 4)}


def _folded(ufunc, start):
    def run(x, ids, num_segments):
        out = np.full((num_segments, *x.shape[1:]), start(x.dtype), x.dtype)
        kept = (ids >= 0) & (ids < num_segments)
        ufunc.at(out, ids[kept], x[kept])
        return out

    return run


def _end(sign):
    """The least number of a dtype, or the largest."""

    def of(dtype):
        if dtype.kind == "b":
            return sign > 0
        info = np.iinfo(dtype) if dtype.kind in "iu" else None
        return sign * np.inf if info is None else info.max if sign > 0 else info.min

    return of


for name, ufunc, start in (("sum", np.add, lambda _: 0), ("prod", np.multiply, lambda _: 1), ("max", np.maximum, _end(-1)),
                           ("min", np.minimum, _end(1))):  # fmt: skip
    row(f"segment_{name}", getattr(T, f"segment_{name}"), _folded(ufunc, start), _in_segments, ranks=(1, 2, 3), loose=20, signs=False,
        scaled=name == "sum", smooth=False, dtypes=("bool", *INTEGERS, "float16", "float32", "float64", *(("complex64", "complex128") if name in ("sum", "prod") else ())))  # fmt: skip


def _unique(c):
    c.x()
    return {"return_index": c.flip(), "return_inverse": c.flip(), "return_counts": c.flip()}


moved("unique", _unique, signs=False, ranks=(1, 2, 3), smooth=False)
for _name in ("unique_counts", "unique_all"):
    moved(_name, one, signs=False, ranks=(1, 2, 3), smooth=False)
# which of several NaN is which depends on the sort: NumPy takes another one where it is asked for no places
moved("unique_inverse", one, signs=False, ranks=(1, 2, 3), smooth=False, special=False)
# NumPy's own has stopped sorting
moved("unique_values", one, lambda x: np.unique(x, equal_nan=False), signs=False, ranks=(1, 2, 3), smooth=False)


def _labels(c):
    c.given(c.values.integers(0, 4, c.shape()).astype(c.dtype))
    return {"dtype": c.pick(None, "float32", "int8", "bool")}


def _one_hot(y, dtype):
    return np.eye(4, dtype=dtype or "float64")[y]


for name in ["one_hot", "to_one_hot"]:
    moved(name, _labels, _one_hot, lambda y, dtype, f=getattr(T, name): f(y, 4, dtype), dtypes=INTEGERS, ranks=(0, 1, 2),
          special=False, smooth=False)  # fmt: skip


def _diff(c):
    c.mild().at_least(2).x()
    return {"n": c.pick(1, 1, 2), "axis": c.axis()}


row("diff", T.diff, np.diff, _diff, ranks=(1, 2, 3, 4), scaled=True, loose=4)
SIZE = (3, 4)


def _within(c):
    c.x(0, 11, integral=True)
    return {"order": c.pick("C", "F")}


row("unravel_index", lambda i, order: T.unravel_index(i, SIZE, order), lambda i, order: list(np.unravel_index(i, SIZE, order)),
    _within, dtypes=("int8", "int32", "int64", "uint8"), special=False, smooth=False)  # fmt: skip


def _positions(c):
    c.x(0, 2, integral=True)
    c.x(0, 3, integral=True, shape=c.operands[0].value.shape)
    return {"order": c.pick("C", "F")}


row("ravel_multi_index", lambda i, j, order: T.ravel_multi_index((i, j), SIZE, order=order),
    lambda i, j, order: np.ravel_multi_index((i, j), SIZE, order=order), _positions, dtypes=("int8", "int32", "int64"), special=False,
    smooth=False)  # fmt: skip
row("ediff1d", T.ediff1d, np.ediff1d, lambda c: c.mild().x(), ranks=(1, 2, 3), scaled=True, loose=4)
