"""Reductions that leave out what is not a number, with NumPy's names: nansum, nanmean, nanmax, nanargmax, nanvar.

All are composed of other functions: NaN becomes the number that changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from termgraph.tensor.counted import beginning, counted
from termgraph.tensor.creation import ones_like
from termgraph.tensor.elemwise import cast
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import AxisLike, DTypeLike, TensorLike
from termgraph.tensor.reductions import all as all_over
from termgraph.tensor.reductions import argmax, argmin, centre_of, cumprod, cumsum, degrees, unless_none
from termgraph.tensor.reductions import max as max_over
from termgraph.tensor.reductions import min as min_over
from termgraph.tensor.reductions import prod as prod_over
from termgraph.tensor.reductions import sum as sum_over
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import kind_of, real_part
from termgraph.terms.op import Op
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.types import dtype_name

# What has no NaN, by its name here: of two numbers, and what any number takes the place of.
_EXTREMES: dict[Callable, tuple[str, Op, float]] = {
    max_over: ("nanmax", ew.fmax, -np.inf),
    min_over: ("nanmin", ew.fmin, np.inf),
}


@on_terms
def nansum(
    a: TensorLike,
    axis: AxisLike = None,
    keepdims: bool = False,
    *,
    dtype: DTypeLike = None,
    initial: TensorLike | None = None,
    where: TensorLike | None = None,
) -> TensorVariable:
    """The sum of what is not NaN; 0 where everything is. `where` and `initial` are those of `sum`.

    >>> import termgraph.tensor as T
    >>> T.nansum([1.0, T.nan, 2.0]).eval()
    array(3.)
    """
    return sum_over(_filled(as_tensor(a), 0), axis, dtype, keepdims, initial=initial, where=where)


@on_terms
def nanmean(
    a: TensorLike,
    axis: AxisLike = None,
    keepdims: bool = False,
    *,
    dtype: DTypeLike = None,
    where: TensorLike | None = None,
) -> TensorVariable:
    """The mean of what is not NaN; NaN where everything is.

    >>> import termgraph.tensor as T
    >>> T.nanmean([1.0, T.nan, 2.0]).eval()
    array(1.5)
    """
    a = as_tensor(a)
    _refuse_whole(a, dtype, "nanmean")
    if dtype is None and not has_nan(a):
        dtype = "float64"
    total = nansum(a, axis, keepdims, dtype=dtype, where=where)
    n = cast(count_numbers(a, axis, keepdims, where), real_part(total.dtype))
    return ew.true_div(total, n) if where is None else unless_none(ew.true_div(total, n), n)


@on_terms
def nanprod(
    a: TensorLike,
    axis: AxisLike = None,
    keepdims: bool = False,
    *,
    dtype: DTypeLike = None,
    initial: TensorLike | None = None,
    where: TensorLike | None = None,
) -> TensorVariable:
    """The product of what is not NaN; 1 where everything is.

    >>> import termgraph.tensor as T
    >>> T.nanprod([3.0, T.nan, 2.0]).eval()
    array(6.)
    """
    return prod_over(_filled(as_tensor(a), 1), axis, dtype, keepdims, initial=initial, where=where)


@on_terms
def nancumsum(a: TensorLike, axis: int | None = None, dtype: DTypeLike = None) -> TensorVariable:
    """Running sums in which NaN counts as 0, along an axis or of the flattened array.

    >>> import termgraph.tensor as T
    >>> T.nancumsum([1.0, T.nan, 2.0]).eval()
    array([1., 1., 3.])
    """
    return cumsum(_filled(as_tensor(a), 0), axis, dtype)


@on_terms
def nancumprod(a: TensorLike, axis: int | None = None, dtype: DTypeLike = None) -> TensorVariable:
    """Running products in which NaN counts as 1, along an axis or of the flattened array.

    >>> import termgraph.tensor as T
    >>> T.nancumprod([3.0, T.nan, 2.0]).eval()
    array([3., 3., 6.])
    """
    return cumprod(_filled(as_tensor(a), 1), axis, dtype)


@on_terms
def nanmax(
    a: TensorLike,
    axis: AxisLike = None,
    keepdims: bool = False,
    *,
    initial: TensorLike | None = None,
    where: TensorLike | None = None,
) -> TensorVariable:
    """The largest of what is not NaN; NaN where everything is, unless there is a number to begin with.

    >>> import termgraph.tensor as T
    >>> T.nanmax([1.0, T.nan, 2.0]).eval()
    array(2.)
    """
    return _extreme(max_over, as_tensor(a), axis, keepdims, initial, where)


@on_terms
def nanmin(
    a: TensorLike,
    axis: AxisLike = None,
    keepdims: bool = False,
    *,
    initial: TensorLike | None = None,
    where: TensorLike | None = None,
) -> TensorVariable:
    """The smallest of what is not NaN; NaN where everything is, unless there is a number to begin with.

    >>> import termgraph.tensor as T
    >>> T.nanmin([1.0, T.nan, 2.0]).eval()
    array(1.)
    """
    return _extreme(min_over, as_tensor(a), axis, keepdims, initial, where)


def _extreme(
    find: Callable,
    a: TensorVariable,
    axis: AxisLike,
    keepdims: bool,
    initial: TensorLike | None,
    where: TensorLike | None,
) -> TensorVariable:
    if not has_nan(a):
        return find(a, axis, keepdims=keepdims, initial=initial, where=where)
    _refuse_complex(a, "nanmax and nanmin")
    name, of_two, least = _EXTREMES[find]
    begin = None if initial is None else least  # then there may be no elements
    if where is not None and initial is None:
        raise ValueError(f"{name}: `where` may leave nothing, so it needs `initial`, a number to begin with")
    found = find(_filled(a, least), axis, keepdims=keepdims, initial=begin, where=where)
    missing = all_over(ew.isnan(a), axis, keepdims=keepdims, where=where)
    found = ew.switch(missing, np.asarray(np.nan, a.dtype), found)
    return found if initial is None else of_two(found, beginning(initial, found, name))


@on_terms
def nanargmax(a: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> TensorVariable:
    """The index of the first largest number along one axis, or in the flattened array; -1 where everything is NaN.

    (NumPy raises an error there, which a compiled function cannot do for a row.)

    >>> import termgraph.tensor as T
    >>> T.nanargmax([1.0, T.nan, 2.0]).eval()
    array(2)
    """
    return _place(argmax, as_tensor(a), -np.inf, axis, keepdims)


@on_terms
def nanargmin(a: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> TensorVariable:
    """The index of the first smallest number along one axis, or in the flattened array; -1 where everything is NaN.

    >>> import termgraph.tensor as T
    >>> T.nanargmin([3.0, T.nan, 2.0]).eval()
    array(2)
    """
    return _place(argmin, as_tensor(a), np.inf, axis, keepdims)


def _place(find: Callable, a: TensorVariable, least: float, axis: AxisLike, keepdims: bool) -> TensorVariable:
    if not has_nan(a):
        return find(a, axis, keepdims=keepdims)
    _refuse_complex(a, "nanargmax and nanargmin")
    found = find(_filled(a, least), axis, keepdims=keepdims)
    return ew.switch(all_over(ew.isnan(a), axis, keepdims=keepdims), np.int64(-1), found)


def _refuse_complex(a: TensorVariable, who: str) -> None:
    if a.type.kind == "c":
        raise TypeError(f"{who} take real numbers, got {a} of type {a.type}")


def _refuse_whole(a: TensorVariable, dtype: DTypeLike, who: str) -> None:
    if dtype is not None and has_nan(a) and kind_of(dtype_name(dtype)) not in "fc":
        raise TypeError(f"{who}: dtype {dtype_name(dtype)} has no NaN, which {a.type} may have; cast the result")


@on_terms
def nanvar(
    a: TensorLike,
    axis: AxisLike = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    dtype: DTypeLike = None,
    where: TensorLike | None = None,
    mean: TensorLike | None = None,
    correction: float | None = None,
) -> TensorVariable:
    """The variance of what is not NaN; NaN where no more than `ddof` numbers are. The rest is as in `var`.

    >>> import termgraph.tensor as T
    >>> T.nanvar([1.0, T.nan, 3.0]).eval()
    array(1.)
    """
    a, ddof = as_tensor(a), degrees(ddof, correction, "nanvar")
    _refuse_whole(a, dtype, "nanvar")
    if dtype is not None or not has_nan(a):
        a = cast(a, "float64" if dtype is None else dtype)
    centre = nanmean(a, axis, keepdims=True, where=where) if mean is None else centre_of(mean, a, "nanvar")
    squares = counted(ew.sqr(ew.abs_(a - centre)), where, 0, "nanvar")  # infinities make NaN here, which counts
    total = sum_over(ew.switch(ew.isnan(a), np.zeros((), squares.dtype), squares), axis, keepdims=keepdims)
    left = cast(count_numbers(a, axis, keepdims, where), total.dtype) - np.asarray(ddof, total.dtype)
    return ew.true_div(total, ew.switch(ew.gt(left, 0), left, np.asarray(np.nan, total.dtype)))


@on_terms
def nanstd(
    a: TensorLike,
    axis: AxisLike = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    dtype: DTypeLike = None,
    where: TensorLike | None = None,
    mean: TensorLike | None = None,
    correction: float | None = None,
) -> TensorVariable:
    """The standard deviation of what is not NaN: the root of `nanvar`.

    >>> import termgraph.tensor as T
    >>> T.nanstd([1.0, T.nan, 3.0]).eval()
    array(1.)
    """
    return ew.sqrt(nanvar(a, axis, ddof, keepdims, dtype=dtype, where=where, mean=mean, correction=correction))


def has_nan(a: TensorVariable) -> bool:
    return a.type.kind in "fc"


def _filled(a: TensorVariable, number: float) -> TensorVariable:
    """With a number in the place of each NaN."""
    return ew.switch(ew.isnan(a), np.asarray(number, a.dtype), a) if has_nan(a) else a


def count_numbers(a: TensorVariable, axis: AxisLike, keepdims: bool, where: TensorLike | None = None) -> TensorVariable:
    """How many elements are not NaN."""
    there = ew.logical_not(ew.isnan(a)) if has_nan(a) else ones_like(a, dtype="bool")
    return sum_over(there, axis, "int64", keepdims, where=where)


__all__ = [
    "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum",
    "nanvar",
]  # fmt: skip
