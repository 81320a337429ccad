"""Positions on grids: `mgrid`, `ogrid`, numbers of elements as positions and back, places in a matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar, overload

import numpy as np

from termgraph.tensor.checks import Assert
from termgraph.tensor.creation import arange, linspace, ones, tri, zeros
from termgraph.tensor.elemwise import cast
from termgraph.tensor.joining import stack
from termgraph.tensor.lengths import as_lengths, length, lengths, product
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import DTypeLike, ShapeLike, TensorLike
from termgraph.tensor.selecting import nonzero
from termgraph.tensor.shaping import broadcast_arrays, dimshuffle, specify_shape
from termgraph.tensor.variable import TensorVariable, Variable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.assume import required

R = TypeVar("R")


class Grid:
    """What `mgrid` and `ogrid` are: indexed with slices, it gives positions along each of them.

    As in NumPy, a step that is an imaginary number is a number of points, both ends among them.

    >>> from termgraph.tensor import mgrid, ogrid
    >>> mgrid[0:2, 0:3].type
    TensorType(int64, (2, 2, 3))
    >>> [v.type for v in ogrid[0:2, 0:3]]
    [TensorType(int64, (2, 1)), TensorType(int64, (1, 3))]
    """

    def __init__(self, name: str, sparse: bool) -> None:
        self.name, self.sparse = name, sparse

    def __getitem__(self, index: TensorLike) -> Any:
        if isinstance(index, slice):
            return self._line(index)
        if not isinstance(index, tuple) or not index:
            raise TypeError(f"{self.name} is indexed with slices, such as {self.name}[0:3, 0:4], got {index!r}")
        return _grid([self._line(part) for part in index], self.sparse)

    def _line(self, part: object) -> Any:
        if not isinstance(part, slice) or part.stop is None:
            raise TypeError(f"{self.name}: expected slices with an end, such as 0:3, got {part!r}")
        start = 0 if part.start is None else part.start
        if isinstance(part.step, complex):
            return linspace(start, part.stop, int(abs(part.step)))
        return arange(start, part.stop, 1 if part.step is None else part.step)

    def __repr__(self) -> str:
        return self.name


@overload
def indices(dimensions: ShapeLike, dtype: DTypeLike = "int64", sparse: Literal[False] = False) -> TensorVariable: ...
@overload
def indices(dimensions: ShapeLike, dtype: DTypeLike = "int64", *, sparse: Literal[True]) -> list[TensorVariable]: ...
@on_terms
def indices(dimensions: ShapeLike, dtype: DTypeLike = "int64", sparse: bool = False) -> Any:
    """The index of each element along each dimension of an array of these lengths, one array after the other.

    With `sparse` a list of arrays that broadcast together.

    >>> import termgraph.tensor as T
    >>> T.indices((2, 3)).type
    TensorType(int64, (2, 2, 3))
    """
    lines = [specify_shape(arange(n, dtype=dtype), (n,)) for n in as_lengths(dimensions, "dimensions")]  # none negative
    return _grid(lines, sparse) if lines or sparse else zeros((0,), dtype)


def _grid(lines: list, sparse: bool) -> Any:
    """Vectors along a dimension each, in one array, or in a list of arrays that broadcast together."""
    n = len(lines)
    spread = [dimshuffle(line, *["x"] * i, 0, *["x"] * (n - 1 - i)) for i, line in enumerate(lines)]
    return spread if sparse else stack(broadcast_arrays(*spread))


mgrid, ogrid = Grid("mgrid", sparse=False), Grid("ogrid", sparse=True)


def _order(name: str, order: str) -> int:
    """The direction in which to go through the dimensions, the fastest first."""
    if order not in ("C", "F"):
        raise ValueError(f"{name}: order must be 'C' or 'F', got {order!r}")
    return -1 if order == "C" else 1


def _whole(name: str, what: str, value: Any) -> TensorVariable:
    x = as_tensor(value)
    if x.type.kind not in "iu":
        raise TypeError(f"{name}: {what} must be integers, got {x} of type {x.type}")
    return ew.cast(x, dtype="int64")


@on_terms
def unravel_index(indices: TensorLike, shape: ShapeLike, order: str = "C") -> list:
    """Numbers of elements as positions in an array of a shape: one array for each dimension.

    >>> import termgraph.tensor as T
    >>> [v.eval().tolist() for v in T.unravel_index([5, 2], (2, 3))]
    [[1, 0], [2, 2]]
    """
    step, lengths = _order("unravel_index", order), as_lengths(shape)
    rest = _whole("unravel_index", "indices", indices)
    size = product(lengths)
    told = f"unravel_index: an index is not within an array of shape {_text(shape)}"
    rest = required(rest, ew.bitwise_and(ew.ge(rest, 0), ew.lt(rest, size)), message=told)
    found = []
    for n in lengths[::step][:-1]:  # one division for each: the slowest dimension has what is left
        whole = ew.floor_div(rest, n)
        found.append(ew.sub(rest, ew.mul(whole, n)))
        rest = whole
    return [*found, rest][::step] if lengths else []


@on_terms
def ravel_multi_index(multi_index: Any, dims: ShapeLike, mode: str = "raise", order: str = "C") -> TensorVariable:
    """Positions in an array of a shape as numbers of elements; `mode` says what becomes of positions outside.

    'raise' refuses them, 'wrap' counts on from the other end, 'clip' takes the nearest; one, or one for each dimension.

    >>> import termgraph.tensor as T
    >>> T.ravel_multi_index(([1, 0], [2, 2]), (2, 3)).eval()
    array([5, 2])
    """
    step, lengths = _order("ravel_multi_index", order), as_lengths(dims)
    places = list(multi_index) if isinstance(multi_index, Sequence) else [multi_index[i] for i in range(len(lengths))]
    modes = [mode] * len(lengths) if isinstance(mode, str) else list(mode)
    if len(places) != len(lengths) or len(modes) != len(lengths):
        raise ValueError(
            f"ravel_multi_index: {len(places)} positions and {len(modes)} modes for {len(lengths)} lengths"
        )
    total: Any = 0
    for p, n, m in list(zip(places, lengths, modes))[:: 1 if step == -1 else -1]:
        total = ew.add(ew.mul(total, n), _inside(_whole("ravel_multi_index", "positions", p), n, m))
    return total


def _inside(p: TensorVariable, n: TensorLike, mode: str) -> TensorVariable:
    if mode == "wrap":
        return ew.mod(p, n)
    if mode == "clip":
        return ew.clip(p, 0, ew.sub(n, 1) if not isinstance(n, int) else n - 1)
    if mode != "raise":
        raise ValueError(f"ravel_multi_index: mode must be raise, wrap or clip, got {mode!r}")
    within = ew.bitwise_and(ew.ge(p, 0), ew.lt(p, n))
    return required(p, within, message="ravel_multi_index: a position is outside the array")


# ---------------------------------------------------------------------- places in a matrix
@on_terms
def tril_indices(n: int | Variable, k: int = 0, m: int | Variable | None = None) -> tuple:
    """The rows and columns of what lies on and below the k-th diagonal of a matrix with n rows and m columns, or n.

    Constants where the numbers are known.

    >>> import termgraph.tensor as T
    >>> T.dmatrix("x")[T.tril_indices(3)].type
    TensorType(float64, (6,))
    """
    return _triangle(np.tril_indices, lambda rows, columns: tri(rows, columns, k), n, k, m)


@on_terms
def triu_indices(n: int | Variable, k: int = 0, m: int | Variable | None = None) -> tuple:
    """The rows and columns of what lies on and above the k-th diagonal of a matrix with n rows and m columns, or n.

    >>> import termgraph.tensor as T
    >>> [v.eval().tolist() for v in T.triu_indices(2)]
    [[0, 0, 1], [0, 1, 1]]
    """
    return _triangle(np.triu_indices, lambda rows, columns: ew.eq(tri(rows, columns, k - 1), 0), n, k, m)


def _triangle(known: Callable, mask: Callable, n: int | Variable, k: int, m: int | Variable | None) -> tuple:
    m = n if m is None else m
    if all(isinstance(v, (int, np.integer)) for v in (n, k, m)):
        return tuple(as_tensor(v) for v in known(n, k, m))
    return nonzero(mask(n, m))


@on_terms
def tril_indices_from(arr: TensorLike, k: int = 0) -> tuple:
    """The rows and columns of what lies on and below the k-th diagonal of a matrix.

    >>> import termgraph.tensor as T
    >>> [v.eval().tolist() for v in T.tril_indices_from(T.zeros((2, 3)))]
    [[0, 1, 1], [0, 0, 1]]
    """
    rows, columns = _sides(arr, "tril_indices_from")
    return tril_indices(rows, k, columns)


@on_terms
def triu_indices_from(arr: TensorLike, k: int = 0) -> tuple:
    """The rows and columns of what lies on and above the k-th diagonal of a matrix.

    >>> import termgraph.tensor as T
    >>> [v.eval().tolist() for v in T.triu_indices_from(T.zeros((2, 3)), 1)]
    [[0, 0, 1], [1, 2, 2]]
    """
    rows, columns = _sides(arr, "triu_indices_from")
    return triu_indices(rows, k, columns)


def _sides(arr: TensorLike, who: str) -> list:
    x = as_tensor(arr)
    if x.ndim != 2:
        raise ValueError(f"{who} takes a matrix, {x} has {x.ndim} dimensions")
    return lengths(x)


@on_terms
def diag_indices(n: TensorLike, ndim: int = 2) -> tuple:
    """The places of the main diagonal of an array with `ndim` dimensions of length n.

    >>> import termgraph.tensor as T
    >>> [v.eval().tolist() for v in T.diag_indices(3)]
    [[0, 1, 2], [0, 1, 2]]
    """
    return (arange(n),) * ndim


@on_terms
def diag_indices_from(arr: TensorLike) -> tuple:
    """The places of the main diagonal of an array with dimensions of one length.

    >>> import termgraph.tensor as T
    >>> [v.eval().tolist() for v in T.diag_indices_from(T.zeros((2, 2)))]
    [[0, 1], [0, 1]]
    """
    x = as_tensor(arr)
    known = {n for n in x.type.shape if n is not None}
    if x.ndim < 2 or len(known) > 1:
        raise ValueError(f"diag_indices_from takes at least two dimensions of one length, got {x.type}")
    n: Any = lengths(x)[0]
    for other in [length(x, d) for d in range(1, x.ndim)] if None in x.type.shape else []:
        n = Assert("diag_indices_from: the dimensions must have one length")(as_tensor(n), ew.eq(n, other))
    return diag_indices(n, x.ndim)


def mask_indices(n: int | Variable, mask_func: Callable, k: int = 0) -> tuple:
    """The rows and columns of what `mask_func(x, k)` leaves of a square matrix of ones.

    >>> import termgraph.tensor as T
    >>> [v.eval().tolist() for v in T.mask_indices(2, T.triu)]
    [[0, 0, 1], [0, 1, 1]]
    """
    return nonzero(mask_func(ones((n, n), "int64"), k))


@on_terms
def ix_(*args: TensorLike) -> tuple:
    """Vectors of places as an index for all their combinations; truth values are the places where they are true.

    >>> import termgraph.tensor as T
    >>> T.constant([[1, 2, 3], [4, 5, 6]])[T.ix_([0, 1], [0, 2])].eval()
    array([[1, 3],
           [4, 6]])
    """
    places = []
    for i, a in enumerate(args):
        v = as_tensor(a)
        if v.ndim != 1:
            raise ValueError(f"ix_ takes vectors, argument {i} has {v.ndim} dimensions")
        v = cast(v, "int64") if v.type.shape == (0,) else v  # NumPy's too: an empty list is one of places
        v = nonzero(v)[0] if v.type.dtype == "bool" else v
        places.append(dimshuffle(v, *["x"] * i, 0, *["x"] * (len(args) - 1 - i)))
    return tuple(places)


def fromfunction(
    function: Callable[..., R], shape: ShapeLike, *, dtype: DTypeLike = "float64", like: None = None, **kwargs: Any
) -> R:
    """What a function makes of the places of an array of a shape: an array for each dimension is its argument.

    >>> import termgraph.tensor as T
    >>> T.fromfunction(lambda i, j: i + 2 * j, (2, 2), dtype="int64").eval()
    array([[0, 2],
           [1, 3]])
    """
    found = indices(shape, dtype)
    return function(*[found[i] for i in range(len(as_lengths(shape)))], **kwargs)


def _text(shape: ShapeLike) -> str:
    return str(tuple(shape)) if isinstance(shape, (list, tuple)) else "that is given"


__all__ = [
    "diag_indices", "diag_indices_from", "fromfunction", "indices", "ix_", "mask_indices", "mgrid", "ogrid",
    "ravel_multi_index", "tril_indices", "tril_indices_from", "triu_indices", "triu_indices_from", "unravel_index",
]  # fmt: skip
