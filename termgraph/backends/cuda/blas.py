"""Products of matrices by cuBLAS, through the bindings of nvmath-python. Without them own kernels do the work.

May touch: the package nvmath-python and the library of cuBLAS, imported when the first product runs.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

import numpy as np

WORKSPACE = 32 << 20  # a workspace of its own: without one cuBLAS cannot be recorded into graphs
LIMIT = 2**31


class Cublas:
    """A handle on the stream of a device."""

    def __init__(self, device: Any, cublas: Any) -> None:
        self.cublas, self.device = cublas, device
        self.handle = cublas.create()
        cublas.set_stream(self.handle, device.driver.stream)
        self.workspace = device.allocate(WORKSPACE, "the workspace of cuBLAS")
        cublas.set_workspace(self.handle, self.workspace, WORKSPACE)
        self.calls = 0

    @classmethod
    def open(cls, device: Any) -> Cublas | None:
        """cuBLAS for a device, or None where the package or the library is not installed."""
        try:
            from nvmath.bindings import cublas

            return cls(device, cublas)
        except (
            ImportError,
            RuntimeError,
            OSError,
        ):  # the bindings name a missing library by RuntimeErrors of their own
            return None

    def gemm(self, p: Mapping[str, Any], at: Mapping[Any, int]) -> bool:
        """Queue a product; False if its strides, sizes or factor are not for cuBLAS.

        Row-major c = a b is column-major c' = b' a', so the operands change places.
        """
        (m, n, k), depth = p["sizes"] if p["name"] == "gemm" else (0, 0, 0), p["depth"]
        if p["name"] != "gemm" or isinstance(p["alpha"], tuple) or max(m, n, k) >= LIMIT or k == 0:
            return False
        left, right = _flags(p["a"][2], m, k), _flags(p["b"][2], k, n)
        if left is None or right is None:
            return False
        single = p["dtype"] == "float32"
        number, item = (ctypes.c_float, 4) if single else (ctypes.c_double, 8)
        alpha = number(1.0 if p["alpha"] is None else float(np.asarray(p["alpha"].value)))
        beta = number(p["beta"])
        a, b, c = (at[buf] + offset * item for buf, offset in (p["a"][:2], p["b"][:2], p["c"][:2]))
        call = self.cublas.sgemm_strided_batched if single else self.cublas.dgemm_strided_batched
        call(
            self.handle, right[0], left[0], n, m, k, ctypes.addressof(alpha), b, right[1], p["b"][3], a, left[1],
            p["a"][3], ctypes.addressof(beta), c, n, p["c"][2], depth,
        )  # fmt: skip
        self.calls += 1
        return True


def _flags(steps: list[int], rows: int, columns: int) -> tuple[int, int] | None:
    """(transposed, leading dimension) of a row-major matrix; None if elements lie side by side in neither direction."""
    row, column = steps
    for transposed, unit, lead, length, count in ((0, column, row, columns, rows), (1, row, column, rows, columns)):
        if unit == 1 or length == 1:
            lead = max(lead, length) if count == 1 else lead  # a single one: how far the next is does not matter
            if length <= lead < LIMIT:
                return transposed, lead
    return None
