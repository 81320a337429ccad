"""theano.tensor.blas: products with a factor and an addend, which termgraph makes of plain graphs itself."""

from __future__ import annotations

from typing import Any

import termgraph.tensor as T
from termgraph.tensor.likes import Operand, TensorLike
from termgraph.tensor.variable import TensorVariable


def gemm(z: Operand, alpha: Operand, x: Operand, y: Operand, beta: Operand) -> Any:
    """beta * z + alpha * dot(x, y)."""
    return beta * T.as_tensor(z) + alpha * T.dot(x, y)


gemv = gemm_inplace = gemm_no_inplace = gemv_inplace = gemv_no_inplace = gemm


def ger(A: Operand, alpha: Operand, x: Operand, y: Operand) -> Any:
    """A + alpha * outer(x, y)."""
    return T.as_tensor(A) + alpha * T.outer(x, y)


ger_destructive = ger


def _dot22(x: object, y: TensorLike) -> Any:
    """dot(x, y) of two matrices."""
    return T.dot(x, y)


def _dot22scalar(x: object, y: TensorVariable, a: TensorVariable) -> Any:
    """a * dot(x, y)."""
    return a * T.dot(x, y)


def ldflags(*_: object, **__: object) -> list:
    """No options: BLAS comes with termgraph."""
    return []
