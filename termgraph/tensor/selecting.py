"""Selecting elements by position or by condition: take, nonzero, choose, compress, ...

All of them become `gather`, `scatter_set` or `switch`; an index out of range raises when the gather runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np

from termgraph.tensor.creation import zeros_like
from termgraph.tensor.elemwise import cast
from termgraph.tensor.indexing import getitem, set_subtensor
from termgraph.tensor.joining import stack
from termgraph.tensor.lengths import length, lengths
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.shaping import broadcast_to, dimshuffle, on_axis, ravel
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor, constant
from termgraph.terms.errors import ShapeError
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops import indexing as ops
from termgraph.terms.ops import shaping as shape_ops

MODES = ("raise", "clip", "wrap")


def _indices(value: object, what: str) -> Any:
    v = as_tensor(value)
    if isinstance(v, TensorVariable) and v.type.kind == "f" and 0 in v.type.shape and not hasattr(value, "term"):
        v = constant(np.zeros(v.type.shape, np.int64))  # an empty list
    if not isinstance(v, TensorVariable) or v.type.kind not in "iu":
        raise TypeError(
            f"{what} must be integers, got {v} of type {v.type}; use T.cast({what}, 'int64') if that is meant"
        )
    return v


def within(indices: Any, n: TensorLike, mode: str) -> Any:
    """Indices brought into 0..n-1 as `mode` says: unchanged ("raise"), clipped ("clip") or taken modulo n ("wrap")."""
    if mode not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, got {mode!r}")
    if mode == "raise":
        return indices
    n = as_tensor(n)
    if indices.type.dtype != "int64":
        indices = ew.cast(indices, dtype="int64")
    return ew.mod(indices, n) if mode == "wrap" else ew.clip(indices, 0, n - 1)


@on_terms
def take(a: Any, indices: TensorLike, axis: int | None = None, mode: str = "raise") -> TensorVariable:
    """Elements at integer positions along an axis, or of the flattened array.

    `mode` says what an index out of range does: raise an error (negative ones count from the end), clip to the ends,
    or wrap around.

    >>> import termgraph.tensor as T
    >>> T.take(T.dmatrix("x"), [0, 0, 1], axis=1).type
    TensorType(float64, (?, 3))
    """
    (a, axis), indices = on_axis(a, axis), _indices(indices, "indices")
    return a[(slice(None),) * axis + (within(indices, length(a, axis), mode),)]


def _along(a: TensorLike, indices: TensorLike, axis: int | None, name: str) -> tuple:
    """The array and a full index for `take_along_axis` and `put_along_axis`."""
    (a, axis), indices = on_axis(a, axis), _indices(indices, "indices")
    if a.ndim != indices.ndim:
        raise ShapeError(
            f"{name}: array and indices must have the same rank, got {a.ndim} and {indices.ndim} dimensions"
        )
    key = [indices if d == axis else _grid(a, d) for d in range(a.ndim)]
    return a, tuple(key)


def _grid(a: TensorVariable, d: int) -> TensorVariable:
    """0, 1, 2, ... along dimension `d`."""
    n = as_tensor(length(a, d))
    positions = shape_ops.arange(as_tensor(0), n, as_tensor(1), dtype="int64")
    return dimshuffle(positions, *[0 if k == d else "x" for k in range(a.ndim)])


@on_terms
def take_along_axis(arr: TensorLike, indices: TensorLike, axis: int | None = -1) -> TensorVariable:
    """For each place, the element of the same row at the given position: `argsort` and `argmax` give such indices.

    >>> import termgraph.tensor as T
    >>> x = T.dmatrix("x")
    >>> T.take_along_axis(x, T.argsort(x, axis=1), axis=1).type
    TensorType(float64, (?, ?))
    """
    a, key = _along(arr, indices, axis, "take_along_axis")
    return a[key]


@on_terms
def put_along_axis(arr: TensorLike, indices: TensorLike, values: TensorLike, axis: int | None) -> TensorVariable:
    """The array with `values` at the places that `take_along_axis` would read. The original is not changed."""
    arr = as_tensor(arr)
    a, key = _along(arr, indices, axis, "put_along_axis")
    changed = set_subtensor(a[key], values)
    return changed.reshape([length(arr, d) for d in range(arr.ndim)]) if axis is None else changed


@on_terms
def inverse_permutation(perm: TensorLike) -> TensorVariable:
    """Where each of 0, 1, 2, ... stands in a permutation of them, along the last axis: `x[perm][inverse]` is x.

    >>> import termgraph.tensor as T
    >>> T.inverse_permutation([2, 0, 1]).eval()
    array([1, 2, 0])
    """
    perm = _indices(perm, "perm")
    if perm.ndim == 0:
        raise ShapeError("inverse_permutation: perm must have a dimension, got a number")
    return put_along_axis(zeros_like(perm), perm, _grid(perm, perm.ndim - 1), -1)


# ---------------------------------------------------------------------- by condition
def _truth(a: TensorLike) -> TensorVariable:
    """Where an array is not zero: of numbers NumPy's search takes ten times as long as of truth values."""
    a = as_tensor(a)
    return a if a.type.dtype == "bool" else ew.neq(a, 0)


@overload
def nonzero(a: TensorLike, return_matrix: Literal[False] = False) -> tuple[TensorVariable, ...]: ...
@overload
def nonzero(a: TensorLike, return_matrix: Literal[True]) -> TensorVariable: ...
@on_terms
def nonzero(a: TensorLike, return_matrix: bool = False) -> Any:
    """Where the array is not zero: one index vector per dimension (with `return_matrix`, as rows of one matrix).

    >>> import termgraph.tensor as T
    >>> rows, cols = T.nonzero(T.dmatrix("x"))
    >>> rows.type
    TensorType(int64, (?,))
    """
    found = tuple(ops.nonzero(_truth(a)))
    return stack(list(found)) if return_matrix else found


@overload
def where(condition: TensorLike) -> tuple[TensorVariable, ...]: ...
@overload
def where(condition: TensorLike, a: TensorLike, b: TensorLike) -> TensorVariable: ...
def where(condition: Any, a: TensorLike | None = None, b: TensorLike | None = None) -> Any:
    """Elements of `a` where the condition holds, else of `b`. Both are computed; see `ifelse` for the lazy choice.

    With the condition alone: the positions where it holds, as `nonzero` gives them.
    """
    if (a is None) != (b is None):
        raise TypeError("where takes a condition, or a condition and two arrays to choose from")
    if a is None:
        return nonzero(condition)
    return ew.switch(condition, a, b)


@on_terms
def flatnonzero(a: TensorLike) -> TensorVariable:
    """Where the flattened array is not zero."""
    return ops.nonzero(ravel(_truth(a)))[0]


@on_terms
def nonzero_values(a: TensorLike) -> TensorVariable:
    """The elements that are not zero, as a vector."""
    a = as_tensor(a)
    return a[_truth(a)]


@on_terms
def argwhere(a: TensorLike) -> TensorVariable:
    """Where the array is not zero: one row of indices per element."""
    return stack(list(nonzero(a)), axis=1)


@on_terms
def compress(condition: TensorLike, a: TensorLike, axis: int | None = None) -> TensorVariable:
    """The slices along an axis (or elements of the flattened array) for which the vector `condition` is true.

    The condition may be shorter than the axis; what lies beyond it is left out.
    """
    condition = as_tensor(condition)
    if condition.ndim != 1:
        raise TypeError(f"compress: condition must be a vector, got {condition.ndim} dimensions")
    return take(a, ops.nonzero(_truth(condition))[0], axis)


@on_terms
def extract(condition: TensorLike, a: TensorLike) -> TensorVariable:
    """The elements for which the condition is true, as a vector."""
    return take(a, flatnonzero(condition))


@on_terms
def choose(a: TensorLike, choices: Sequence[Any] | Any, mode: str = "raise") -> TensorVariable:
    """For each place, the element of the array of `choices` that `a` names.

    >>> import termgraph.tensor as T
    >>> T.choose(T.lvector("i"), [T.dvector("x"), 0.0]).type
    TensorType(float64, (?,))
    """
    index = _indices(a, "a")
    if isinstance(choices, TensorVariable):
        if not choices.ndim or choices.type.shape[0] is None:
            raise TypeError(f"choose: the number of choices must be known; {choices} has type {choices.type}")
        choices = [getitem(choices, i) for i in range(choices.type.shape[0])]
    if not choices:
        raise ValueError("choose needs at least one choice")
    index = within(index, len(choices), mode)
    if mode == "raise":
        index = _checked_choice(index, len(choices))
    if len(choices) == 1:  # the index still gives the shape, and is still checked
        return ew.switch(ew.ge(index, 0), choices[0], choices[0])
    chosen = as_tensor(choices[-1])
    for i in range(len(choices) - 2, -1, -1):
        chosen = ew.switch(ew.eq(index, i), choices[i], chosen)
    return chosen


def _checked_choice(index: TensorVariable, n: int) -> TensorVariable:
    """The same indices, read from a table so that one out of range raises; negative ones do not count from the end."""
    return getitem(constant(np.arange(n)), ew.switch(ew.lt(index, 0), n, index))


METHODS = {
    "take": take,
    "nonzero": nonzero,
    "choose": choose,
    "compress": lambda self, condition, axis=None: compress(condition, self, axis),
}


@on_terms
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> TensorVariable:
    """Elements of the first of `choicelist` whose condition holds, and of `default` where none does.

    >>> import termgraph.tensor as T
    >>> x = T.constant([-2.0, 0.5, 7.0])
    >>> T.select([x < 0, x < 1], [0.0, x], 1.0).eval()
    array([0. , 0.5, 1. ])
    """
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError(
            f"select needs a choice for each condition, got {len(condlist)} conditions and {len(choicelist)} choices"
        )
    found = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        condition = as_tensor(condition)
        if condition.type.dtype != "bool":
            raise TypeError(f"select: conditions are bool, got {condition.type.dtype}; write x != 0 if that is meant")
        found = ew.switch(condition, choice, found)
    return found


@on_terms
def piecewise(x: TensorLike, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> TensorVariable:
    """Functions or numbers, each where its condition holds; the last one that holds counts, as for numpy.piecewise.

    One more function than conditions is for where none holds, else that is 0. The result has the dtype of `x`.
    Functions see all of x, so that a gradient is NaN where that of a function not chosen is infinite.

    >>> import termgraph.tensor as T
    >>> x = T.constant([-2.0, 0.5, 7.0])
    >>> T.piecewise(x, [x < 0, x > 1], [0.0, lambda x: x * 2, 1.0]).eval()
    array([ 0.,  1., 14.])
    """
    x = as_tensor(x)
    several = isinstance(condlist, (list, tuple)) and not all(isinstance(c, (bool, np.bool_)) for c in condlist)
    several = (
        several
        or (isinstance(condlist, (list, tuple)) and x.ndim == 0)
        or (isinstance(condlist, np.ndarray) and condlist.ndim > x.ndim)
    )
    conditions = list(condlist) if several else [condlist]
    if len(funclist) - len(conditions) not in (0, 1):
        raise ValueError(
            f"piecewise needs a function for each condition, and one more at most: got {len(conditions)} conditions "
            f"and {len(funclist)} functions"
        )
    values = [cast(f(x, *args, **kw) if callable(f) else f, x.type.dtype) for f in funclist]
    found = values[len(conditions)] if len(values) > len(conditions) else zeros_like(x)
    for condition, value in zip(conditions, values, strict=False):
        found = ew.switch(ew.neq(condition, 0), value, found)
    return broadcast_to(found, lengths(x))


__all__ = [
    "argwhere", "choose", "compress", "extract", "flatnonzero", "inverse_permutation", "nonzero", "nonzero_values",
    "piecewise", "put_along_axis", "select", "take", "take_along_axis", "where",
]  # fmt: skip
