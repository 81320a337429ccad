"""Reductions, scans along an axis, and the stable log-sum-exp family.

A reduction drops its axes (keepdims is a dimshuffle after it). `axis` is a sorted tuple of distinct axes, `dtype`
(sum and prod) is the dtype of both accumulation and result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from termgraph.terms import facts
from termgraph.terms.dtypes import highest, kind_of, lowest
from termgraph.terms.op import Infer, Meaning, Op, define
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.shapes import as_first, as_kept, with_axes
from termgraph.terms.types import Axes, Shape, TensorType, Type, dtype_name


# ---------------------------------------------------------------------- typing
def _checked(name: str, x: Type, axis: Axes) -> TensorType:
    """The operand's type, once `axis` is known to name its dimensions in order."""
    if not isinstance(axis, tuple) or any(not isinstance(a, int) for a in axis):
        raise TypeError(f"{name}: axis must be a tuple of integers, got {axis!r}")
    if any(a >= b for a, b in zip(axis, axis[1:], strict=False)):
        raise ValueError(f"{name}: axis must be sorted without repetition, got {axis}")
    return with_axes(name, x, *axis)


def _left(tensor: TensorType, axis: Axes) -> Shape:
    return tuple([n for d, n in enumerate(tensor.shape) if d not in axis])


def default_sum_dtype(dtype: str) -> str:
    """NumPy's dtype for sums and products: integers at least as wide as int64, anything else unchanged."""
    kind = kind_of(dtype)
    return {"b": "int64", "i": "int64", "u": "uint64"}.get(kind, dtype)


def _floating(tensor: TensorType) -> str:
    return "float64" if tensor.kind in "biu" else tensor.dtype


def _infer_accumulating(name: str) -> Infer:
    def infer(x: Type, *, axis: Axes, dtype: str) -> TensorType:
        tensor = _checked(name, x, axis)
        if tensor.kind == "c" and kind_of(dtype) != "c":
            raise TypeError(
                f"{name} of {tensor.dtype} in dtype {dtype} would drop imaginary parts; use T.real(x) first"
            )
        return TensorType.of(dtype_name(dtype), _left(tensor, axis))

    return infer


def _infer_same(name: str) -> Infer:
    def infer(x: Type, *, axis: Axes) -> TensorType:
        tensor = _checked(name, x, axis)
        return TensorType.of(tensor.dtype, _left(tensor, axis))

    return infer


def _infer_bool(name: str) -> Infer:
    def infer(x: Type, *, axis: Axes) -> TensorType:
        return TensorType.of("bool", _left(_checked(name, x, axis), axis))

    return infer


def _infer_position(name: str) -> Infer:
    def infer(x: Type, *, axis: Axes) -> TensorType:
        tensor = _checked(name, x, axis)
        if len(axis) not in (1, tensor.ndim):
            raise ValueError(
                f"{name}: axis must be one dimension, or all of them (the index in the flattened array); got {axis} "
                f"for an array with {tensor.ndim} dimensions"
            )
        return TensorType.of("int64", _left(tensor, axis))

    return infer


def _infer_along(name: str) -> Infer:
    def infer(x: Type, *, axis: int) -> TensorType:
        return _checked(name, x, (axis,))

    return infer


def _infer_extreme_along(name: str) -> Infer:
    def infer(x: Type, *, axis: int) -> TensorType:
        tensor = _checked(name, x, (axis,))
        if tensor.kind not in "iuf":
            raise TypeError(f"{name} is defined for real numbers only, got {tensor.dtype}")
        return tensor

    return infer


def _infer_logsumexp(x: Type, *, axis: Axes) -> TensorType:
    tensor = _checked("logsumexp", x, axis)
    return TensorType.of(_floating(tensor), _left(tensor, axis))


def _infer_softmax(name: str) -> Infer:
    def infer(x: Type, *, axis: Axes) -> TensorType:
        tensor = _checked(name, x, axis)
        if tensor.kind == "c":
            raise TypeError(f"{name} is defined for real numbers only, got {tensor.dtype}")
        return TensorType.of(_floating(tensor), tensor.shape)

    return infer


# ---------------------------------------------------------------------- meanings
def _accumulate(ufunc: np.ufunc) -> Callable[..., Any]:
    def meaning(x: np.ndarray, *, axis: Axes, dtype: str) -> Any:
        with np.errstate(all="ignore"):
            return ufunc.reduce(np.asarray(x), axis=axis, dtype=dtype)

    return meaning


def _fold(ufunc: np.ufunc) -> Callable[..., Any]:
    def meaning(x: np.ndarray, *, axis: Axes) -> Any:
        with np.errstate(all="ignore"):
            return ufunc.reduce(np.asarray(x), axis=axis)

    return meaning


def _extreme(ufunc: np.ufunc, bound: Callable[[np.dtype], Any]) -> Callable[..., Any]:
    def meaning(x: np.ndarray, *, axis: Axes) -> Any:
        x = np.asarray(x)
        with np.errstate(all="ignore"):
            return ufunc.reduce(x, axis=axis, initial=np.asarray(bound(x.dtype), x.dtype)[()])

    return meaning


def _decide(ufunc: np.ufunc) -> Callable[..., Any]:
    def meaning(x: np.ndarray, *, axis: Axes) -> Any:
        return ufunc.reduce(np.asarray(x) != 0, axis=axis)  # NaN != 0 holds: NaN is true, as in NumPy

    return meaning


def _position(function: Callable[..., Any]) -> Callable[..., Any]:
    def meaning(x: np.ndarray, *, axis: Axes) -> Any:
        x = np.asarray(x)
        found = function(x) if len(axis) == x.ndim else function(x, axis=axis[0])
        return np.asarray(found, dtype="int64")

    return meaning


def _running(ufunc: np.ufunc) -> Callable[..., Any]:
    def meaning(x: np.ndarray, *, axis: int) -> Any:
        x = np.asarray(x)
        with np.errstate(all="ignore"):
            return ufunc.accumulate(x, axis=axis, dtype=x.dtype)

    return meaning


def _wide(x: np.ndarray) -> tuple[np.ndarray, np.dtype]:
    """The operand in a dtype to compute in (half precision is widened), and the dtype of the result."""
    x = np.asarray(x)
    out = np.dtype("float64") if kind_of(x.dtype) in "biu" else x.dtype
    return x.astype(np.promote_types(out, np.float32), copy=False), out


def _largest(x: np.ndarray, axis: Axes) -> np.ndarray:
    """The largest (real part) along the axes, 0 of nothing. Dimensions are kept."""
    if any(x.shape[a] == 0 for a in axis):
        return np.zeros([1 if d in axis else n for d, n in enumerate(x.shape)], x.real.dtype)
    return np.maximum.reduce(x.real, axis=axis, keepdims=True)


def _finite_largest(x: np.ndarray, axis: Axes) -> np.ndarray:
    """The largest where subtracting it is safe, else 0: a sum of exponentials may be 0 or infinite, not NaN."""
    largest = _largest(x, axis)
    return np.where(np.isfinite(largest), largest, 0).astype(x.real.dtype, copy=False)


def _logsumexp(x: np.ndarray, *, axis: Axes) -> np.ndarray:
    x, out = _wide(x)
    with np.errstate(all="ignore"):
        shift = _finite_largest(x, axis)
        total = np.add.reduce(np.exp(x - shift), axis=axis, keepdims=True)
        result: np.ndarray = np.squeeze(np.log(total) + shift, axis=axis).astype(out, copy=False)
        return result


def _softmax(x: np.ndarray, *, axis: Axes) -> np.ndarray:
    x, out = _wide(x)
    with np.errstate(all="ignore"):
        powers = np.exp(x - _largest(x, axis))
        result: np.ndarray = (powers / np.add.reduce(powers, axis=axis, keepdims=True)).astype(out, copy=False)
        return result


def _log_softmax(x: np.ndarray, *, axis: Axes) -> np.ndarray:
    x, out = _wide(x)
    with np.errstate(all="ignore"):
        shifted = x - _finite_largest(x, axis)
        total = np.add.reduce(np.exp(shifted), axis=axis, keepdims=True)
        result: np.ndarray = (shifted - np.log(total)).astype(out, copy=False)
        return result


# ---------------------------------------------------------------------- the table
def _reduction(
    name: str, infer: Callable[[str], Infer], meaning: Meaning, doc: str, range_from: str = "", **params: Any
) -> Op:
    return define(
        name,
        infer=infer(name),
        meaning=meaning,
        kind="reduce",
        params={"axis": (), **params},
        length_from=as_kept,
        range_from=range_from,
        doc=doc,
    )


sum_ = _reduction(
    "sum",
    _infer_accumulating,
    _accumulate(np.add),
    "The sum along axes; 0 of nothing.",
    range_from="itself",
    dtype="float64",
)
prod = _reduction(
    "prod", _infer_accumulating, _accumulate(np.multiply), "The product along axes; 1 of nothing.", dtype="float64"
)
max_ = _reduction(
    "max", _infer_same, _fold(np.maximum), "The largest element along axes; NaN if there is one.", range_from="any"
)
min_ = _reduction(
    "min", _infer_same, _fold(np.minimum), "The smallest element along axes; NaN if there is one.", range_from="any"
)
# As `max` and `min`, but of no elements they are the number that changes nothing instead of an error.
max_or_lowest = _reduction(
    "max_or_lowest", _infer_same, _extreme(np.maximum, lowest), "The largest along axes; of nothing the least there is."
)
min_or_highest = _reduction(
    "min_or_highest",
    _infer_same,
    _extreme(np.minimum, highest),
    "The smallest along axes; of nothing the most there is.",
)
any_ = _reduction("any", _infer_bool, _decide(np.logical_or), "Whether some element along axes is not zero.")
all_ = _reduction("all", _infer_bool, _decide(np.logical_and), "Whether every element along axes is not zero.")
argmax = _reduction(
    "argmax", _infer_position, _position(np.argmax), "Where the first largest element is.", range_from="itself"
)
argmin = _reduction(
    "argmin", _infer_position, _position(np.argmin), "Where the first smallest element is.", range_from="itself"
)
logsumexp = define(
    "logsumexp",
    infer=_infer_logsumexp,
    meaning=_logsumexp,
    kind="reduce",
    length_from=as_kept,
    params={"axis": ()},
    doc="log(sum(exp(x))) along axes, without overflow.",
)


def _along(name: str, infer: Callable[[str], Infer], meaning: Meaning, default: int | tuple[Any, ...], doc: str) -> Op:
    return define(
        name,
        infer=infer(name),
        meaning=meaning,
        kind="cumulative",
        params={"axis": default},
        length_from=as_first,
        doc=doc,
    )


cumsum = _along("cumsum", _infer_along, _running(np.add), 0, "Running sums along an axis, in the operand's dtype.")
cumprod = _along("cumprod", _infer_along, _running(np.multiply), 0, "Running products along an axis.")
cummax = _along("cummax", _infer_extreme_along, _running(np.maximum), 0, "The largest so far; all NaN after a NaN.")
cummin = _along("cummin", _infer_extreme_along, _running(np.minimum), 0, "The least so far; all NaN after a NaN.")
softmax = _along("softmax", _infer_softmax, _softmax, (), "exp(x) scaled to sum to 1 along axes, without overflow.")
log_softmax = _along("log_softmax", _infer_softmax, _log_softmax, (), "log(softmax(x)), without overflow.")


for _op, _binary in (
    (sum_, ew.add), (prod, ew.mul), (max_, ew.maximum), (min_, ew.minimum), (any_, ew.logical_or),
    (all_, ew.logical_and),
):  # fmt: skip
    facts.reduction.add(_op, _binary)
for _one, _other in ((max_, min_), (max_or_lowest, min_or_highest), (any_, all_), (argmax, argmin)):
    facts.dual.add(_one, _other)
    facts.dual.add(_other, _one)
