"""New arrays: zeros, full, eye, arange, linspace, and triangles and diagonals of matrices."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from termgraph.tensor.lengths import as_length, as_lengths, length, length_operands, lengths
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import DTypeLike, ShapeLike, TensorLike
from termgraph.tensor.origins import unset
from termgraph.tensor.reductions import to_dtype
from termgraph.tensor.shaping import dimshuffle, expand_dims, moveaxis, ravel, specify_shape
from termgraph.tensor.variable import TensorVariable, is_plain_number
from termgraph.tensor.wrap import as_tensor, pad_rank
from termgraph.terms.dtypes import kind_of, promote
from termgraph.terms.errors import ShapeError
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops import shaping as ops
from termgraph.terms.ops.shapes import normal_axis
from termgraph.terms.types import dtype_name


def _dtype_or_floatx(dtype: DTypeLike) -> str:
    return dtype_name("floatX" if dtype is None else dtype)


def no_device(device: Any) -> None:
    """What variables say of their device, None, is taken back by functions; devices are chosen when compiling."""
    if device is not None and device != "cpu":
        raise ValueError(f"device must be None (or 'cpu'), got {device!r}: a function's `mode` says where it runs")


# ---------------------------------------------------------------------- filled arrays
@on_terms
def alloc(value: Any, *shape: Any) -> TensorVariable:
    """The value broadcast to a shape: `alloc(0.0, n, m)` or `alloc(0.0, (n, m))`."""
    sequence = len(shape) == 1 and (
        isinstance(shape[0], (list, tuple, np.ndarray)) or getattr(shape[0], "ndim", 0) == 1
    )
    return _filled(as_tensor(value), as_lengths(shape[0] if sequence else shape))


def _filled(value: TensorVariable, shape: list) -> TensorVariable:
    return ops.alloc(value, *length_operands(shape)) if shape or value.ndim else value


@on_terms
def full(shape: ShapeLike, fill_value: TensorLike, dtype: DTypeLike = None, *, device: None = None) -> TensorVariable:
    """An array of a shape, filled with a value."""
    no_device(device)
    return _filled(as_tensor(fill_value, dtype=dtype), as_lengths(shape))


@on_terms
def zeros(shape: ShapeLike, dtype: DTypeLike = None, *, device: None = None) -> TensorVariable:
    """An array of zeros, of dtype `config.floatX` by default.

    `device`, here and in others, is what a variable's `.device` gives in code for the array API: None.

    >>> import termgraph.tensor as T
    >>> T.zeros((2, 3), dtype="int8").type
    TensorType(int8, (2, 3))
    """
    return full(shape, 0, _dtype_or_floatx(dtype), device=device)


@on_terms
def ones(shape: ShapeLike, dtype: DTypeLike = None, *, device: None = None) -> TensorVariable:
    """An array of ones, of dtype `config.floatX` by default."""
    return full(shape, 1, _dtype_or_floatx(dtype), device=device)


@on_terms
def empty(shape: ShapeLike, dtype: DTypeLike = None, *, device: None = None) -> TensorVariable:
    """An array whose elements do not matter. What is computed from it takes zeros; as a result of a function in C it
    has whatever its memory holds."""
    return unset(zeros(shape, dtype, device=device))


@on_terms
def full_like(
    x: TensorLike, fill_value: TensorLike, dtype: DTypeLike = None, *, shape: ShapeLike = None, device: None = None
) -> TensorVariable:
    """An array of the shape of `x`, filled with a value, of its dtype; `dtype` and `shape` give it others."""
    no_device(device)
    x = as_tensor(x)
    shape = lengths(x) if shape is None else as_lengths(shape)
    return _filled(as_tensor(fill_value, dtype=x.type.dtype if dtype is None else dtype), shape)


@on_terms
def zeros_like(
    x: TensorLike, dtype: DTypeLike = None, *, shape: ShapeLike = None, device: None = None
) -> TensorVariable:
    """Zeros of the shape and dtype of `x`."""
    return full_like(x, 0, dtype, shape=shape, device=device)


@on_terms
def ones_like(
    x: TensorLike, dtype: DTypeLike = None, *, shape: ShapeLike = None, device: None = None
) -> TensorVariable:
    """Ones of the shape and dtype of `x`."""
    return full_like(x, 1, dtype, shape=shape, device=device)


@on_terms
def empty_like(
    x: TensorLike, dtype: DTypeLike = None, *, shape: ShapeLike = None, device: None = None
) -> TensorVariable:
    """An array of the shape and dtype of `x` whose elements do not matter, as those of `empty`."""
    return unset(zeros_like(x, dtype, shape=shape, device=device))


# ---------------------------------------------------------------------- ranges
@on_terms
def arange(
    start: TensorLike,
    stop: TensorLike | None = None,
    step: TensorLike = 1,
    dtype: DTypeLike = None,
    *,
    device: None = None,
) -> TensorVariable:
    """start, start + step, ... up to but not including stop; `arange(n)` starts at 0.

    >>> import termgraph.tensor as T
    >>> T.arange(2, 10, 3).type
    TensorType(int64, (3,))
    """
    no_device(device)
    if stop is None:
        start, stop = 0, start
    parts = (start, stop, step)
    if dtype is None:
        dtype = promote(*[_weak(p) for p in parts])
        dtype = dtype.name if dtype.kind != "b" else "int64"
    return ops.arange(*[as_tensor(p) for p in parts], dtype=dtype_name(dtype))


def _weak(value: object) -> Any:
    """What a bound of a range counts for in the dtype of the result."""
    if is_plain_number(value):
        return np.asarray(value).dtype
    return as_tensor(value).type.np_dtype


@overload
def linspace(
    start: TensorLike,
    stop: TensorLike,
    num: int | None = 50,
    endpoint: bool = True,
    dtype: DTypeLike = None,
    axis: int = 0,
    *,
    retstep: Literal[False] = False,
    device: None = None,
) -> TensorVariable: ...
@overload
def linspace(
    start: TensorLike,
    stop: TensorLike,
    num: int | None = 50,
    endpoint: bool = True,
    dtype: DTypeLike = None,
    axis: int = 0,
    *,
    retstep: Literal[True],
    device: None = None,
) -> list[TensorVariable]: ...
@on_terms
def linspace(
    start: TensorLike,
    stop: TensorLike,
    num: int | None = 50,
    endpoint: bool = True,
    dtype: DTypeLike = None,
    axis: int = 0,
    *,
    retstep: bool = False,
    device: None = None,
) -> Any:
    """`num` evenly spaced numbers from start to stop (without stop if `endpoint` is False), along a new axis.

    With `retstep` a list of them and of the distance of neighbours, which is NaN where there are none.
    """
    no_device(device)
    bounds = [v if is_plain_number(v) else as_tensor(v).type.np_dtype for v in (start, stop)]  # numbers are weak
    working = promote(*bounds, 1.0).name
    start, stop, num = as_tensor(start), as_tensor(stop), as_length(num, "num")
    start, stop = to_dtype(start, working), to_dtype(stop, working)
    rank = max(start.ndim, stop.ndim)
    if isinstance(num, int) and num < 0:
        raise ValueError(f"linspace: num, the number of points, must not be negative, got {num}")
    points = arange(num) if isinstance(num, int) else specify_shape(arange(num), (num,))  # refuses a negative number
    i = dimshuffle(points, 0, *["x"] * rank)
    steps = num - 1 if endpoint else num
    step = _step(start, stop, steps)
    made = ew.add(ew.mul(step, to_dtype(i, _real_dtype(working))), start)
    if endpoint:
        made = ew.switch(ew.logical_and(ew.eq(i, steps), ew.gt(i, 0)), stop, made)  # exactly stop, not up to rounding
    if dtype is not None and kind_of(dtype_name(dtype)) in "iu":
        made = ew.floor(made)
    made = made if dtype is None else to_dtype(made, dtype_name(dtype))
    made = made if rank == 0 else moveaxis(made, 0, normal_axis(axis, rank + 1))
    if not retstep:
        return made
    return [made, ew.switch(ew.gt(steps, 0), step, np.asarray(np.nan, working))]


def _real_dtype(dtype: str) -> str:
    return np.empty(0, dtype).real.dtype.name


def _step(start: TensorVariable, stop: TensorVariable, steps: int) -> TensorVariable:
    """The distance of neighbours; one point (or none) needs no division by zero."""
    safe = (
        max(steps, 1) if isinstance(steps, int) else ew.cast(ew.maximum(steps, 1), dtype=_real_dtype(start.type.dtype))
    )
    return ew.true_div(ew.sub(stop, start), safe)


@on_terms
def logspace(
    start: TensorLike,
    stop: TensorLike,
    num: int | None = 50,
    endpoint: bool = True,
    base: TensorLike = 10.0,
    dtype: DTypeLike = None,
    axis: int = 0,
) -> TensorVariable:
    """Numbers evenly spaced on a log scale, from base**start to base**stop; several bases lie beside the new axis."""
    if not is_plain_number(base):
        start, stop, base = as_tensor(start), as_tensor(stop), as_tensor(base)
        if base.ndim:
            rank = max(v.ndim for v in (start, stop, base))
            start, stop, base = [pad_rank(v, rank) for v in (start, stop, base)]
            base = expand_dims(base, normal_axis(axis, rank + 1))
    powers = ew.pow_(base, linspace(start, stop, num, endpoint, axis=axis))
    return powers if dtype is None else to_dtype(powers, dtype_name(dtype))


@on_terms
def geomspace(
    start: TensorLike,
    stop: TensorLike,
    num: int | None = 50,
    endpoint: bool = True,
    dtype: DTypeLike = None,
    axis: int = 0,
) -> TensorVariable:
    """Numbers from start to stop with a constant ratio of neighbours: real ones of one sign, or complex ones; not zero.

    Complex numbers lie on a spiral around 0.
    """
    start, stop = as_tensor(start), as_tensor(stop)
    wanted = None if dtype is None else dtype_name(dtype)
    spiral = wanted is not None and kind_of(wanted) == "c"
    working = promote(start.type.np_dtype, stop.type.np_dtype, float(0), *[np.dtype(wanted)] * spiral)
    start, stop, num = to_dtype(start, working.name), to_dtype(stop, working.name), as_length(num, "num")
    sign = ew.sign(start)  # 1 / sign is sign for real numbers
    turn = ew.true_div if working.kind == "c" else ew.mul
    made = logspace(ew.log10(turn(start, sign)), ew.log10(turn(stop, sign)), num, endpoint)
    i = dimshuffle(arange(num), 0, *["x"] * (made.ndim - 1))
    made = ew.switch(ew.eq(i, 0), start, ew.mul(made, sign))
    if endpoint:
        made = ew.switch(ew.logical_and(ew.eq(i, num - 1), ew.gt(i, 0)), stop, made)
    if wanted is not None:
        made = to_dtype(made, wanted)
    return made if made.ndim == 1 else moveaxis(made, 0, normal_axis(axis, made.ndim))


@on_terms
def meshgrid(*xs: TensorLike, indexing: str = "xy", sparse: bool = False, copy: bool = True) -> list:
    """Coordinate arrays of a grid, from vectors of coordinates. `copy` makes no difference: nothing changes them."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}")
    vectors = [as_tensor(x) for x in xs]
    vectors = [expand_dims(v, 0) if v.ndim == 0 else v for v in vectors]
    for i, v in enumerate(vectors):
        if v.ndim != 1:
            raise TypeError(f"meshgrid: argument {i} must be a vector, got {v.type}")
    n = len(vectors)
    place = list(range(n))
    if indexing == "xy" and n > 1:
        place[:2] = [1, 0]
    laid = [dimshuffle(v, *[0 if d == place[i] else "x" for d in range(n)]) for i, v in enumerate(vectors)]
    if sparse:
        return laid
    shape = [length(vectors[place.index(d)], 0) for d in range(n)]
    return [_filled(v, shape) for v in laid]


# ---------------------------------------------------------------------- matrices
@on_terms
def eye(
    n: TensorLike,
    m: int | None = None,
    k: int | None = 0,
    dtype: DTypeLike = None,
    *,
    M: Any = None,
    device: None = None,
) -> TensorVariable:
    """An n by m matrix (square by default) with ones on the k-th diagonal. `M` is NumPy's word for `m`."""
    no_device(device)
    m = m if M is None else M
    n = as_length(n, "n")
    m = n if m is None else as_length(m, "m")
    return ops.eye(*length_operands([n, m]), as_tensor(k), dtype=_dtype_or_floatx(dtype))


@on_terms
def identity(n: TensorLike, dtype: DTypeLike = None) -> TensorVariable:
    """The n by n identity matrix."""
    return eye(n, dtype=dtype)


@on_terms
def identity_like(x: TensorLike, dtype: DTypeLike = None) -> TensorVariable:
    """A matrix of the shape and dtype of `x` with ones on the diagonal."""
    x = as_tensor(x)
    return eye(length(x, 0), length(x, 1), dtype=x.type.dtype if dtype is None else dtype)


def _lower(n: TensorLike, m: int, k: TensorVariable | int) -> TensorVariable:
    """Which elements of an n by m matrix are on or below the k-th diagonal."""
    return ew.ge(ew.add(dimshuffle(arange(n), 0, "x"), k), dimshuffle(arange(m), "x", 0))


@on_terms
def tri(n: TensorLike, m: Any = None, k: int = 0, dtype: DTypeLike = None, *, M: Any = None) -> TensorVariable:
    """An n by m matrix with ones on and below the k-th diagonal. `M` is NumPy's word for `m`."""
    m = m if M is None else M
    n = as_length(n, "n")
    return to_dtype(_lower(n, n if m is None else as_length(m, "m"), k), _dtype_or_floatx(dtype))


@on_terms
def tril(x: TensorLike, k: int = 0) -> TensorVariable:
    """The elements on and below the k-th diagonal of the last two dimensions; zero elsewhere."""
    x = _matrices(x, "tril")
    return ew.switch(_lower(length(x, -2), length(x, -1), k), x, np.zeros((), x.type.np_dtype))


@on_terms
def triu(x: TensorLike, k: int | None = 0) -> TensorVariable:
    """The elements on and above the k-th diagonal of the last two dimensions; zero elsewhere."""
    x = _matrices(x, "triu")
    return ew.switch(_lower(length(x, -2), length(x, -1), ew.sub(k, 1)), np.zeros((), x.type.np_dtype), x)


def _matrices(x: TensorLike, name: str) -> TensorVariable:
    x = as_tensor(x)
    if x.ndim == 0:
        raise ValueError(f"{name} needs at least one dimension, got {x.type}")
    return _filled(x, [length(x, 0)] * 2) if x.ndim == 1 else x  # NumPy takes a vector as equal rows


@on_terms
def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> TensorVariable:
    """The diagonal of two dimensions, as the last dimension of the result."""
    x = as_tensor(x)
    if x.ndim < 2:
        raise ValueError(f"diagonal needs at least two dimensions, got {x.type}")
    a, b = normal_axis(axis1, x.ndim, "axis1"), normal_axis(axis2, x.ndim, "axis2")
    if a == b:
        raise ValueError(f"diagonal: axis1 and axis2 must differ, got {axis1} and {axis2}")
    return ops.diagonal(dimshuffle(x, *[d for d in range(x.ndim) if d not in (a, b)], a, b), offset=int(offset))


@on_terms
def diag(x: TensorLike, k: int = 0) -> TensorVariable:
    """The k-th diagonal of a matrix, or the matrix that has a vector on its k-th diagonal."""
    x = as_tensor(x)
    if x.ndim not in (1, 2):
        raise ValueError(f"diag needs a vector or a matrix, got {x.type}")
    return ops.alloc_diag(x, offset=int(k)) if x.ndim == 1 else diagonal(x, k)


@on_terms
def diagflat(v: TensorLike, k: int = 0) -> TensorVariable:
    """The matrix that has the elements of an array on its k-th diagonal."""
    return diag(ravel(v), k)


@on_terms
def fill_diagonal(x: TensorLike, value: TensorLike, wrap: bool = False) -> TensorVariable:
    """The matrix with its main diagonal replaced by a number; beyond matrices, elements whose indices are all equal.

    With `wrap` the diagonal of a tall matrix begins again below its end, one row left free.
    """
    x = as_tensor(x)
    if x.ndim < 2:
        raise ValueError(f"fill_diagonal needs at least two dimensions, got {x.type}")
    known = {n for n in x.type.shape if n is not None}
    if x.ndim > 2 and len(known) > 1:
        raise ShapeError(f"fill_diagonal: beyond matrices all dimensions must be equally long, got {x.type}")
    if wrap and x.ndim == 2:
        rows, columns = arange(length(x, 0)), length(x, 1)
        places = dimshuffle(rows, 0, "x") * columns + arange(columns)
        return ew.switch(ew.eq(places % (columns + 1), 0), as_tensor(value, dtype=x.type.dtype), x)
    where = eye(length(x, 0), length(x, 1), dtype="bool")
    for d in range(2, x.ndim):
        index = dimshuffle(arange(length(x, d)), *["x"] * d, 0)
        where = ew.logical_and(dimshuffle(where, *range(d), "x"), ew.eq(_first_index(x, d + 1), index))
    return ew.switch(where, as_tensor(value, dtype=x.type.dtype), x)


def _first_index(x: object, ndim: int) -> Any:
    """The index in the first of so many dimensions."""
    return dimshuffle(arange(length(x, 0)), 0, *["x"] * (ndim - 1))


extract_diag = diagonal

__all__ = [
    "alloc", "arange", "diag", "diagflat", "diagonal", "empty", "empty_like", "extract_diag", "eye", "fill_diagonal",
    "full", "full_like", "geomspace", "identity", "identity_like", "linspace", "logspace", "meshgrid", "ones",
    "ones_like", "tri", "tril", "triu", "zeros", "zeros_like",
]  # fmt: skip

METHODS = {
    "diagonal": diagonal,
    "zeros_like": zeros_like,
    "ones_like": ones_like,
    "fill": lambda self, value: full_like(self, value),
}
