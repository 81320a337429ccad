"""Types that only Theano has, and its ways of comparing their values."""

from __future__ import annotations

from typing import Any

import numpy as np

import termgraph.tensor as T
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.variable import Constant
from termgraph.terms import types


def values_eq_approx(
    a: TensorLike,
    b: TensorLike,
    allow_remove_inf: bool = False,
    allow_remove_nan: bool = False,
    rtol: Any = None,
    atol: Any = None,
) -> bool:
    """Whether two arrays are equal up to rounding; infinities and NaN may be left out of the first."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    there = np.ones(a.shape, bool)
    if a.dtype.kind in "fc":
        there &= ~(np.isinf(a) & allow_remove_inf) & ~(np.isnan(a) & allow_remove_nan)
    return types.TensorType(a.dtype, (None,) * there[there].ndim).values_eq_approx(a[there], b[there], rtol, atol)


def values_eq_approx_remove_inf(a: TensorLike, b: TensorLike) -> bool:
    """values_eq_approx without infinities."""
    return values_eq_approx(a, b, True)


def values_eq_approx_remove_nan(a: TensorLike, b: TensorLike) -> bool:
    """values_eq_approx without NaN."""
    return values_eq_approx(a, b, False, True)


def values_eq_approx_remove_inf_nan(a: TensorLike, b: TensorLike) -> bool:
    """values_eq_approx without infinities and NaN."""
    return values_eq_approx(a, b, True, True)


def values_eq_approx_always_true(a: TensorLike, b: TensorLike) -> bool:
    """True."""
    return True


class NoneTypeT(types.Type):
    """The type of None."""

    def filter(self, value: Any, strict: bool = False, allow_downcast: Any = None) -> None:
        if value is not None:
            raise TypeError(f"expected None, got {value!r:.60}")

    def __repr__(self) -> str:
        return "NoneTypeT"


class SliceType(types.Type):
    """The type of slices."""

    def filter(self, value: Any, strict: bool = False, allow_downcast: Any = None) -> slice:
        if not isinstance(value, slice):
            raise TypeError(f"expected a slice, got {value!r:.60}")
        return value

    def __repr__(self) -> str:
        return "slice"


none_type_t, slicetype, SliceConstant = NoneTypeT(), SliceType(), Constant
NoneConst = Constant(none_type_t, None, name="NoneConst")


def as_int_none_variable(x: TensorLike) -> Any:
    """A whole number as a variable, None as the constant that stands for it."""
    return NoneConst if x is None else T.as_tensor(x, ndim=0)


def equal_slices(s1: slice, s2: slice) -> bool:
    """Whether two slices are the same."""
    return (s1.start, s1.stop, s1.step) == (s2.start, s2.stop, s2.step)
