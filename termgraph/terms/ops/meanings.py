"""What element-wise ops compute where NumPy has no function for it: meanings for the table in `elementwise`."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from termgraph._lazy import lazy
from termgraph.terms.dtypes import kind_of, loaded, numpy_dtype, promote
from termgraph.terms.ops.dtype_rules import DtypeRule, common_dtype, complex_rule, nary_loop, special_rule

special = lazy("scipy.special")


def fold(function: Callable[..., Any], rule: DtypeRule, *values: np.ndarray) -> Any:
    if len(values) == 2:
        return function(*values)
    # In the common dtype from the first step on, so that the order of operands does not decide what overflows.
    loop = nary_loop(rule, tuple([np.asarray(v).dtype for v in values]))
    return functools.reduce(function, [np.asarray(v).astype(loop[0], copy=False) for v in values])


def in_dtype(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compute a function NumPy lacks in the dtype of `special_rule`, half precision by way of single."""

    @functools.wraps(function)
    def meaning(*values: np.ndarray) -> Any:
        loop = special_rule(*[np.asarray(v).dtype for v in values])
        wide = [np.asarray(v, dtype=np.promote_types(d, np.float32)) for v, d in zip(values, loop, strict=False)]
        return np.asarray(function(*wide)).astype(loop[-1], copy=False)

    return meaning


def of_scipy(name: str) -> Callable[..., Any]:
    """A SciPy special function, imported when first used."""

    def meaning(*values: np.ndarray) -> Any:
        return getattr(special, name)(*values)

    meaning.__name__ = name
    return in_dtype(meaning)


def sigmoid(x: np.ndarray) -> np.ndarray:
    result: np.ndarray = special.expit(x)
    return result


def log1mexp(x: np.ndarray) -> np.ndarray:
    result: np.ndarray = np.where(x > -0.6931471805599453, np.log(-np.expm1(x)), np.log1p(-np.exp(x)))
    return result


def switch(cond: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if loaded:  # NumPy does not know what becomes of bfloat16 beside some other dtypes
        common = common_dtype((np.asarray(a).dtype, np.asarray(b).dtype))
        a, b = (np.asarray(v).astype(common, copy=False) for v in (a, b))
    return np.where(np.asarray(cond) != 0, a, b)


def clip(x: np.ndarray, low: np.ndarray, high: np.ndarray) -> Any:
    common = common_dtype(tuple([np.asarray(v).dtype for v in (x, low, high)]))
    return np.minimum(np.maximum(x, low, dtype=common), high, dtype=common)


def cast(x: np.ndarray, *, dtype: str) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # complex to real drops the imaginary part, as asked
        return np.asarray(x).astype(numpy_dtype(dtype))


def exponent(x: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(x), np.frexp(x)[1], np.int32(0))  # what C says of others is not laid down


def mantissa(x: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.frexp(x)[0]
    return found


def complex_of(re: np.ndarray, im: np.ndarray) -> np.ndarray:
    out = np.empty(
        np.broadcast_shapes(np.shape(re), np.shape(im)), complex_rule(np.asarray(re).dtype, np.asarray(im).dtype)[-1]
    )
    out.real, out.imag = re, im
    return out


def round(x: np.ndarray) -> np.ndarray:
    x = np.asarray(x)
    return np.rint(x) if kind_of(x.dtype) in "bfc" else x


def exact_if_integer(function: Callable[..., Any]) -> Callable[..., Any]:
    def meaning(x: np.ndarray) -> Any:
        x = np.asarray(x)
        return function(x) if kind_of(x.dtype) == "f" else x

    return meaning


def fma(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """`a * b + c` in the dtype of all three: a product of integers does not wrap around before a float is added."""
    d = promote(*[np.asarray(x).dtype for x in (a, b, c)])
    made: np.ndarray = np.asarray(a).astype(d, copy=False) * np.asarray(b).astype(d, copy=False) + c
    return made


def real(x: np.ndarray) -> np.ndarray:
    return np.asarray(x).real.copy()


def imag(x: np.ndarray) -> np.ndarray:
    return np.asarray(x).imag.copy()
