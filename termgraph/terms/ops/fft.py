"""Discrete Fourier transforms along one axis, by NumPy's meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from termgraph.terms.dtypes import FLOATS, numpy_dtype, promote
from termgraph.terms.op import Infer, Op, define
from termgraph.terms.ops.shapes import with_axes
from termgraph.terms.types import TensorType, Type

NORMS = ("backward", "ortho", "forward")


def _result_dtype(dtype: str, real: bool) -> str:
    """Floats keep their precision (complex numbers have at least single), anything else becomes double."""
    part = dtype if dtype in FLOATS else "float32" if dtype == "complex64" else "float64"
    return part if real else promote(numpy_dtype(part), np.complex64).name


def _infer(name: str, length: Callable[..., Any], real: bool) -> Infer:
    def infer(x: Type, *, n: int | None, axis: int, norm: str) -> TensorType:
        t = with_axes(name, x, axis)
        if norm not in NORMS:
            raise ValueError(f"{name}: norm must be one of {', '.join(NORMS)}, got {norm!r}")
        if n is not None and n < 1:
            raise ValueError(f"{name}: the number of points must be positive, got {n}")
        if name == "rfft" and t.kind == "c":
            raise TypeError(f"rfft takes real numbers, got dtype {t.dtype}; use fft")
        shape = (*t.shape[:axis], length(t.shape[axis], n), *t.shape[axis + 1 :])
        return TensorType.of(_result_dtype(t.dtype, real), shape)

    return infer


def _same(m: int | None, n: int | None) -> int | None:
    return m if n is None else n


def _half(m: int | None, n: int | None) -> int | None:
    points = _same(m, n)
    return None if points is None else points // 2 + 1


def _whole(m: int | None, n: int | None) -> int | None:
    return n if n is not None or m is None else 2 * (m - 1)


def _transform(name: str, length: Callable[..., Any], real: bool, doc: str) -> Op:
    def meaning(x: np.ndarray, *, n: int | None, axis: int, norm: str) -> np.ndarray:
        x = np.asarray(x)
        function = getattr(np.fft, name)  # looked up here: NumPy imports its transforms when they are first used
        result: np.ndarray = function(x, n=n, axis=axis, norm=norm).astype(
            _result_dtype(x.dtype.name, real), copy=False
        )
        return result

    return define(
        name,
        infer=_infer(name, length, real),
        meaning=meaning,
        kind="fft",
        params={"n": None, "axis": 0, "norm": "backward"},
        doc=doc,
    )


fft = _transform("fft", _same, False, "The discrete Fourier transform along an axis.")
ifft = _transform("ifft", _same, False, "The inverse of fft.")
rfft = _transform("rfft", _half, False, "The non-negative frequencies of the transform of real numbers.")
irfft = _transform("irfft", _whole, True, "The inverse of rfft: n real numbers.")
