"""Reductions with NumPy's names and results: sum, mean, var, max, argmax, cumsum, logsumexp, ...

An op drops its axes; `keepdims` puts dimensions of length 1 back with a dimshuffle.
"""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np

from termgraph.tensor.counted import beginning, counted, spread_mask, within
from termgraph.tensor.elemwise import isclose
from termgraph.tensor.lengths import length, product
from termgraph.tensor.lifting import on_terms, pattern_form
from termgraph.tensor.likes import AxisLike, DTypeLike, TensorLike
from termgraph.tensor.shaping import on_axis
from termgraph.tensor.variable import TensorVariable, is_plain_number
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import HALVES, highest, kind_of, lowest, working_name
from termgraph.terms.op import Op
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops import reduce as ops
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.gradmarks import zero_grad
from termgraph.terms.ops.shapes import normal_axes, normal_axis
from termgraph.terms.types import dtype_name

NOT_SAID: Any = type("NotSaid", (), {"__repr__": lambda self: "None"})()  # the axis of a call that names none


# ---------------------------------------------------------------------- axes and dtypes
def axes_of(axis: AxisLike, ndim: int) -> tuple[int, ...]:
    """Sorted axes from None, an integer, a sequence, or a constant variable."""
    return normal_axes(_known_axes(axis), ndim)


def axes_in_order(name: str, axes: AxisLike, ndim: int, twice: bool = False) -> list[int]:
    """Axes in the order in which they are given to the function `name`, each of them once or, if it may be, `twice`."""
    known = _known_axes(axes)
    if known is None:
        return list(range(ndim))
    given = known if isinstance(known, (tuple, list, range)) else (known,)
    places = [normal_axis(d, ndim, f"{name}: axes: axis") for d in given]
    if not twice and len(set(places)) != len(places):
        raise ValueError(f"{name}: axes {known} name a dimension twice (array with {ndim} dimensions)")
    return places


def _known_axes(axis: AxisLike) -> Any:
    data = getattr(axis, "data", None)
    if isinstance(data, np.ndarray):
        axis = data  # a constant variable
    elif hasattr(axis, "term"):
        raise TypeError(f"axis must be known while building the graph, got the symbolic variable {axis}")
    if isinstance(axis, np.ndarray):
        axis = axis.tolist()
    return axis


def keep_dimensions(reduced: Any, axes: tuple[int, ...], ndim: int) -> TensorVariable:
    """The reduced array with dimensions of length 1 where `axes` were."""
    left = iter(range(ndim))
    return dimshuffle(reduced, order=tuple(["x" if d in axes else next(left) for d in range(ndim)]))


def _reduce(op: Op, x: TensorLike, axis: AxisLike, keepdims: bool, **params: Any) -> TensorVariable:
    x = as_tensor(x)
    axes = axes_of(axis, x.ndim)
    out = op(x, axis=axes, **params)
    return keep_dimensions(out, axes, x.ndim) if keepdims and axes else out


def to_dtype(x: Any, dtype: str) -> Any:
    """`x` cast, unless it has the dtype already."""
    return x if x.dtype == dtype else ew.cast(x, dtype=dtype)


def wide(x: Any) -> Any:
    """Floats of 16 bits as float32: their squares overflow from 256 on, and they hold no place of a long image."""
    return to_dtype(x, working_name(x.type.dtype))


def _pattern(op: Op) -> Callable[..., Any]:
    def build(x: TensorLike, axis: AxisLike = None, **params: Any) -> Any:
        for name, value in {**op.defaults, **params, "axis": axis}.items():
            if value is None or (name != "axis" and name not in params):
                raise TypeError(f"T.{op.name} of a pattern needs {name}=: a value, or a `param` of the rule")
        return op(x, axis=(axis,) if isinstance(axis, int) else axis, **params)

    return build


_BEGIN: dict[Op, Op] = {ops.sum_: ew.add, ops.prod: ew.mul, ops.max_: ew.maximum, ops.min_: ew.minimum}
_OF_NOTHING = {ops.max_: (ops.max_or_lowest, lowest), ops.min_: (ops.min_or_highest, highest)}


# ---------------------------------------------------------------------- sums and products
def _accumulated(
    op: Op,
    x: TensorLike,
    axis: AxisLike,
    dtype: DTypeLike,
    keepdims: bool,
    acc_dtype: DTypeLike,
    initial: TensorLike | None,
    where: TensorLike | None,
) -> TensorVariable:
    x = counted(as_tensor(x), where, 0 if op is ops.sum_ else 1, op.name)
    default = ops.default_sum_dtype(x.dtype)
    wanted = default if dtype is None else dtype_name(dtype)
    working = wanted if acc_dtype is None else dtype_name(acc_dtype)
    total = _reduce(op, x, axis, keepdims, dtype=working)
    return to_dtype(total if initial is None else _BEGIN[op](total, beginning(initial, total, op.name)), wanted)


@on_terms
@pattern_form(_pattern(ops.sum_))
def sum(
    x: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike = None,
    keepdims: bool = False,
    acc_dtype: DTypeLike = None,
    *,
    initial: TensorLike | None = None,
    where: TensorLike | None = None,
) -> TensorVariable:
    """The sum of elements along axes (all of them by default).

    `acc_dtype` accumulates in another dtype than that of the result: `T.sum(x, acc_dtype="float64")` of a float32
    array is a more exact float32. `where` is a mask of the elements that count, of the shape of `x` or broadcast to
    it; `initial` is a number to begin with. Both work as in NumPy, here and in the other reductions.

    >>> import termgraph.tensor as T
    >>> T.sum(T.fmatrix("x"), axis=0).type
    TensorType(float32, (?,))
    """
    return _accumulated(ops.sum_, x, axis, dtype, keepdims, acc_dtype, initial, where)


@on_terms
@pattern_form(_pattern(ops.prod))
def prod(
    x: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike = None,
    keepdims: bool = False,
    acc_dtype: DTypeLike = None,
    *,
    initial: TensorLike | None = None,
    where: TensorLike | None = None,
) -> TensorVariable:
    """The product of elements along axes."""
    return _accumulated(ops.prod, x, axis, dtype, keepdims, acc_dtype, initial, where)


@on_terms
def mean(
    x: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike = None,
    keepdims: bool = False,
    acc_dtype: DTypeLike = None,
    *,
    where: TensorLike | None = None,
) -> TensorVariable:
    """The mean of elements along axes. Integers are averaged in float64, floats of 16 bits by way of float32."""
    x = as_tensor(x)
    wanted = _mean_dtype(x.type.dtype) if dtype is None else dtype_name(dtype)
    if acc_dtype is not None:
        working = dtype_name(acc_dtype)
    else:
        working = "float32" if dtype is None and wanted in HALVES else wanted
    n = _count(x, axis, keepdims, where)
    found = _divided(sum(x, axis, working, keepdims, where=where), n)
    return to_dtype(found if where is None else unless_none(found, n), wanted)


def _mean_dtype(dtype: str) -> str:
    return "float64" if kind_of(dtype) in "biu" else dtype


def count(x: Any, axis: AxisLike) -> Any:
    """How many elements a reduction along `axis` takes together: a number if known, else a variable."""
    return product([length(x, a) for a in axes_of(axis, x.ndim)])


def _count(x: TensorVariable, axis: AxisLike, keepdims: bool, where: TensorLike | None) -> Any:
    """How many of the elements are counted: a number if known."""
    return count(x, axis) if where is None else sum(spread_mask(x, where, "mean"), axis, "int64", keepdims)


def _divided(total: TensorVariable, n: TensorLike) -> TensorVariable:
    """`total / n` where counting must not widen the dtype."""
    if isinstance(n, (int, float)) or total.type.kind in "biu":
        return ew.true_div(total, n)
    return ew.true_div(total, to_dtype(n, np.empty(0, total.type.dtype).real.dtype.name))


def unless_none(found: TensorVariable, n: TensorLike) -> TensorVariable:
    """NaN where a mask counts no element: rules of the default mode take the quotient 0 / 0 for 0."""
    return ew.switch(ew.eq(n, 0), np.asarray(np.nan, found.type.np_dtype), found)


@on_terms
def var(
    x: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: TensorLike | None = None,
    mean: TensorLike | None = None,
    correction: float | None = None,
) -> TensorVariable:
    """The variance along axes: the mean of |x - mean|^2, with n - `ddof` in the denominator.

    `mean` is the mean where that is known already, with the reduced axes kept; `correction` is the array API's `ddof`.
    """
    x, ddof = as_tensor(x), degrees(ddof, correction, "var")
    working = _mean_dtype(x.type.dtype) if dtype is None else dtype_name(dtype)
    if mean is None:
        total = sum(x, axis, working, keepdims=True, where=where)
        centre = _divided(total, _count(x, axis, True, where))
    else:
        centre = centre_of(mean, x, "var")
    deviation = counted(ew.sub(to_dtype(x, working), centre), where, 0, "var")
    n = _count(x, axis, keepdims, where)
    if deviation.type.kind == "c":
        squares = ew.add(ew.sqr(ew.real(deviation)), ew.sqr(ew.imag(deviation)))
    else:
        squares = ew.sqr(deviation)
    freedom = max_of(n - ddof, 0) if isinstance(n, int) else ew.maximum(n - ddof, 0)
    found = _divided(sum(squares, axis, None, keepdims), freedom)
    return found if where is None else unless_none(found, n)


def degrees(ddof: float, correction: float | None, who: str) -> float:
    """What is taken off the number of elements, by either of its names."""
    if correction is not None and ddof:
        raise ValueError(f"{who}: ddof={ddof} and correction={correction} mean the same; give one of them")
    return ddof if correction is None else correction


def centre_of(mean: TensorLike, x: TensorVariable, who: str) -> Any:
    """A mean that is given, which must not widen `x`."""
    return mean if is_plain_number(mean) else within(as_tensor(mean), x, who, "the mean")


def max_of(a: float, b: float) -> float:
    """The larger of two plain numbers (`max` is the reduction here)."""
    return a if a > b else b


@on_terms
def std(
    x: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: TensorLike | None = None,
    mean: TensorLike | None = None,
    correction: float | None = None,
) -> TensorVariable:
    """The standard deviation along axes: the square root of `var`."""
    return ew.sqrt(var(x, axis, dtype, ddof, keepdims, where=where, mean=mean, correction=correction))


@on_terms
def count_nonzero(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> TensorVariable:
    """How many elements along axes are not zero."""
    return sum(ew.neq(as_tensor(x), 0), axis, "int64", keepdims)


# ---------------------------------------------------------------------- extremes
@on_terms
@pattern_form(_pattern(ops.max_))
def max(
    x: TensorLike,
    axis: AxisLike = None,
    keepdims: bool = False,
    *,
    initial: TensorLike | None = None,
    where: TensorLike | None = None,
) -> TensorVariable:
    """The largest element along axes; NaN if there is one.

    An empty array has none: that is an error at run time, unless there is an `initial` number that counts as well.
    `where`, a mask of the elements that count, needs one, as in NumPy.

    >>> import termgraph.tensor as T
    >>> T.max([[1.0, 5.0], [2.0, 7.0]], axis=1, initial=0.0, where=[True, False]).eval()
    array([1., 2.])
    """
    return _extreme(ops.max_, x, axis, keepdims, initial, where)


@on_terms
@pattern_form(_pattern(ops.min_))
def min(
    x: TensorLike,
    axis: AxisLike = None,
    keepdims: bool = False,
    *,
    initial: TensorLike | None = None,
    where: TensorLike | None = None,
) -> TensorVariable:
    """The smallest element along axes; NaN if there is one. `initial` and `where` are as those of `max`."""
    return _extreme(ops.min_, x, axis, keepdims, initial, where)


def _extreme(
    op: Op, x: TensorLike, axis: AxisLike, keepdims: bool, initial: TensorLike | None, where: TensorLike | None
) -> TensorVariable:
    x, (or_bound, bound) = as_tensor(x), _OF_NOTHING[op]
    if initial is None:
        if where is not None and where is not True:
            raise ValueError(f"{op.name}: there may be no elements where the mask is true; give initial=, a number")
        return _reduce(op, x, axis, keepdims)
    x = counted(x, where, bound(x.type.np_dtype), op.name)
    lengths = [x.type.shape[a] for a in axes_of(axis, x.ndim)]
    found = _reduce(op if builtins.all(lengths) else or_bound, x, axis, keepdims)
    if found.type.dtype == "bool" and is_plain_number(initial):
        initial = bool(initial)  # as NumPy does
    return _BEGIN[op](found, beginning(initial, found, op.name))


@on_terms
def ptp(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> TensorVariable:
    """Peak to peak: the largest element minus the smallest."""
    return ew.sub(max(x, axis, keepdims), min(x, axis, keepdims))


@on_terms
@pattern_form(_pattern(ops.argmax))
def argmax(x: Any, axis: AxisLike = None, keepdims: bool = False) -> TensorVariable:
    """The index of the first largest element along one axis, or in the flattened array."""
    return _reduce(ops.argmax, x, axis, keepdims)


@on_terms
@pattern_form(_pattern(ops.argmin))
def argmin(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> TensorVariable:
    """The index of the first smallest element along one axis, or in the flattened array."""
    return _reduce(ops.argmin, x, axis, keepdims)


@on_terms
def max_and_argmax(x: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> list:
    """[max, argmax] along an axis."""
    return [max(x, axis, keepdims), argmax(x, axis, keepdims)]


@on_terms
@pattern_form(_pattern(ops.any_))
def any(
    x: TensorLike, axis: AxisLike = None, keepdims: bool = False, *, where: TensorLike | None = None
) -> TensorVariable:
    """Whether some element along axes is not zero (NaN is not zero)."""
    return _reduce(ops.any_, counted(as_tensor(x), where, 0, "any"), axis, keepdims)


@on_terms
@pattern_form(_pattern(ops.all_))
def all(
    x: TensorLike, axis: AxisLike = None, keepdims: bool = False, *, where: TensorLike | None = None
) -> TensorVariable:
    """Whether every element along axes is not zero."""
    return _reduce(ops.all_, counted(as_tensor(x), where, 1, "all"), axis, keepdims)


# ---------------------------------------------------------------------- along an axis
@on_terms
def allclose(a: TensorLike, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> TensorVariable:
    """Whether all elements differ by no more than `atol + rtol * abs(b)`: one truth value.

    >>> import termgraph.tensor as T
    >>> T.allclose([1.0, 2.0], [1.0, 2.0 + 1e-9]).eval()
    array(True)
    """
    return all(isclose(a, b, rtol, atol, equal_nan))


def _cumulative(op: Op, x: TensorLike, axis: AxisLike, dtype: DTypeLike) -> TensorVariable:
    x, axis = on_axis(x, axis)
    wanted = ops.default_sum_dtype(x.type.dtype) if dtype is None else dtype_name(dtype)
    return op(to_dtype(x, wanted), axis=axis)


@on_terms
def cumsum(x: TensorLike, axis: AxisLike = None, dtype: DTypeLike = None) -> TensorVariable:
    """Running sums along an axis, or of the flattened array."""
    return _cumulative(ops.cumsum, x, axis, dtype)


@on_terms
def cumprod(x: TensorLike, axis: AxisLike = None, dtype: DTypeLike = None) -> TensorVariable:
    """Running products along an axis, or of the flattened array."""
    return _cumulative(ops.cumprod, x, axis, dtype)


@overload
def logsumexp(
    x: Any,
    axis: AxisLike = None,
    keepdims: bool = False,
    *,
    b: TensorLike | None = None,
    return_sign: Literal[False] = False,
) -> TensorVariable: ...
@overload
def logsumexp(
    x: Any, axis: AxisLike = None, keepdims: bool = False, *, b: TensorLike | None = None, return_sign: Literal[True]
) -> tuple[TensorVariable, TensorVariable]: ...
@on_terms
@pattern_form(_pattern(ops.logsumexp))
def logsumexp(
    x: Any, axis: AxisLike = None, keepdims: bool = False, *, b: TensorLike | None = None, return_sign: bool = False
) -> Any:
    """log(sum(exp(x))) along axes, computed without overflow; with factors, log(sum(b exp(x))).

    The logarithm of a negative sum is NaN; with `return_sign` the pair of that of its size and its sign.

    >>> import termgraph.tensor as T
    >>> T.logsumexp([[1000.0, 1000.0]], axis=1, b=[3.0, -1.0]).eval().round(3)
    array([1000.693])
    """
    if b is None and not return_sign:
        return _reduce(ops.logsumexp, x, axis, keepdims)
    return _of_factors(as_tensor(x), 1 if b is None else b, axis, keepdims, return_sign)


def _of_factors(x: Any, b: Any, axis: AxisLike, keepdims: bool, return_sign: bool) -> Any:
    x = to_dtype(x, "float64") if x.type.kind in "biu" else x
    x = ew.switch(ew.neq(b, 0), x, np.asarray(-np.inf, x.type.np_dtype))  # a factor of 0 leaves infinities out
    top = max(ew.real(x), axis, True)
    top = zero_grad(ew.switch(ew.isfinite(top), top, 0))  # the result does not depend on it
    total = sum(ew.mul(b, ew.exp(ew.sub(x, top))), axis, keepdims=True)
    found = [ew.add(ew.log(ew.abs_(total) if return_sign else total), top), ew.sign(total)][: 1 + return_sign]
    if not keepdims:
        axes = axes_of(axis, x.ndim)
        found = [dimshuffle(v, order=tuple([d for d in range(x.ndim) if d not in axes])) for v in found]
    return tuple(found) if return_sign else found[0]


@on_terms
@pattern_form(_pattern(ops.softmax))
def softmax(x: TensorLike, axis: AxisLike = NOT_SAID) -> TensorVariable:
    """exp(x) divided by its sum along axes, computed without overflow.

    As in SciPy, all elements are added up where no axis is given; for matrices that is seldom meant, and warns.

    >>> import termgraph.tensor as T
    >>> T.softmax([[0.0, 0.0], [5.0, 5.0]], axis=1).eval()
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    return _reduce(ops.softmax, x, _said(axis, x, "softmax"), False)


@on_terms
@pattern_form(_pattern(ops.log_softmax))
def log_softmax(x: TensorLike, axis: AxisLike = NOT_SAID) -> TensorVariable:
    """log(softmax(x)), computed without overflow."""
    return _reduce(ops.log_softmax, x, _said(axis, x, "log_softmax"), False)


def _said(axis: AxisLike, x: TensorLike, name: str) -> Any:
    """The axis that was given; None, with a warning for matrices, if there was none."""
    if axis is not NOT_SAID:
        return axis
    if as_tensor(x).ndim > 1:
        warnings.warn(
            f"{name} of an array of {as_tensor(x).ndim} dimensions without axis= runs over all elements at once; write "
            f"axis=-1 for each row by itself (as T.nnet.{name} does), or axis=None if all of them are meant",
            stacklevel=4,
        )
    return None


amax, amin = max, min
__all__ = [
    "all", "allclose", "amax", "amin", "any", "argmax", "argmin", "count_nonzero", "cumprod", "cumsum",
    "log_softmax", "logsumexp", "max", "max_and_argmax", "mean", "min", "prod", "ptp", "softmax", "std",
    "sum", "var",
]  # fmt: skip

METHODS = {
    "sum": sum, "prod": prod, "mean": mean, "var": var, "std": std, "max": max, "min": min, "argmax": argmax,
    "argmin": argmin, "any": any, "all": all, "cumsum": cumsum, "cumprod": cumprod, "ptp": ptp,
}  # fmt: skip
