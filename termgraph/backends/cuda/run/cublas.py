"""Products of matrices by cuBLAS, through the bindings of nvmath-python. Without them own kernels do the work.

May touch: the package nvmath-python and the library of cuBLAS, imported when the first product runs.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

import numpy as np

from termgraph.backends.cuda.run.cublaslt import CublasLt
from termgraph.backends.cuda.run.device_array import DeviceArray

WORKSPACE = 32 << 20  # a workspace of its own: without one cuBLAS cannot be recorded into graphs
LIMIT = 2**31
DEFAULT_ALGORITHM = -1
SINGLE, DOUBLE = 68, 70  # cublasComputeType_t: in which precision products are added up
# dtype -> (cudaDataType_t, compute type, the type of factors, numbers per factor)
TYPES: dict[str, tuple[int, int, Any, int]] = {
    "float16": (2, SINGLE, ctypes.c_float, 1),
    "bfloat16": (14, SINGLE, ctypes.c_float, 1),
    "float32": (0, SINGLE, ctypes.c_float, 1),
    "float64": (1, DOUBLE, ctypes.c_double, 1),
    "complex64": (4, SINGLE, ctypes.c_float, 2),
    "complex128": (5, DOUBLE, ctypes.c_double, 2),
}
ROUNDED = {"tf32": 77, "bfloat16": 75, "float16": 74}  # compute types for operands of float32 that may be rounded


def types_of(dtype: str, precision: str) -> tuple[int, int, Any, int]:
    """The types of a product; `precision` is the value of the flag cuda.products."""
    kind, compute, number, parts = TYPES[dtype]
    return kind, ROUNDED.get(precision, compute) if dtype == "float32" else compute, number, parts


class Cublas:
    """A handle on the stream of a device."""

    def __init__(self, device: Any, cublas: Any) -> None:
        self.cublas, self.device = cublas, device
        self.handle = cublas.create()
        cublas.set_stream(self.handle, device.driver.stream)
        self.workspace = device.allocate(WORKSPACE, "the workspace of cuBLAS")
        cublas.set_workspace(self.handle, self.workspace, WORKSPACE)
        self.calls = 0
        self.numbers: dict[tuple[Any, float], DeviceArray] = {}
        self._lt: Any = False  # not asked for yet

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

    def matmul(self, p: Mapping[str, Any], at: Mapping[Any, int], precision: str) -> bool:
        """Queue a product that finishes its elements itself; False if it does not, or the library cannot."""
        if not (p["bias"] or p["act"]) or min(p["sizes"]) == 0 or max(p["sizes"]) >= LIMIT:
            return False
        if p["dtype"] == "float64":  # cuBLASLt takes twice the time of the product, a kernel for the rest next to none
            return False
        (m, n, k), lt = p["sizes"], self.lt()
        left, right = _flags(p["a"][2], m, k), _flags(p["b"][2], k, n)
        if left is None or right is None or lt is None or not self.knows(p["dtype"]):
            return False
        item, bias = np.dtype(p["dtype"]).itemsize, p["bias"]
        place = lambda x: at[x[0]] + x[1] * item  # noqa: E731
        first, second = ((n, k) if right[0] == 0 else (k, n)), ((k, m) if left[0] == 0 else (m, k))
        return lt.matmul(
            types_of(p["dtype"], precision)[:3], (*first, right[1], place(p["b"])), (*second, left[1], place(p["a"])),
            (n, m, n, place(p["c"])), (right[0], left[0]), (0 if bias is None else place(bias), p["act"]),
        )  # fmt: skip

    def knows(self, dtype: str) -> bool:
        """Whether the library multiplies the dtype here: bfloat16 from compute capability 8.0 on."""
        arch = self.device.driver.arch  # "sm_75"
        return dtype != "bfloat16" or not arch.startswith("sm_") or int(arch[3:]) >= 80

    def lt(self) -> CublasLt | None:
        """cuBLASLt, or None where the library is not installed."""
        if self._lt is False:
            try:
                from nvmath.bindings import cublasLt

                self._lt = CublasLt(cublasLt, self.workspace, WORKSPACE, self.device.driver.stream)
            except (ImportError, RuntimeError, OSError):
                self._lt = None
        return self._lt

    def gemm(self, p: Mapping[str, Any], at: Mapping[Any, int], precision: str) -> bool:
        """Queue a product; False if its strides or sizes are not for cuBLAS.

        Row-major c = a b is column-major c' = b' a', so the operands change places.
        """
        (m, n, k), depth = p["sizes"] if p["name"] == "gemm" else (0, 0, 0), p["depth"]
        if p["name"] != "gemm" or max(m, n, k) >= LIMIT or k == 0:
            return False
        left, right = _flags(p["a"][2], m, k), _flags(p["b"][2], k, n)
        if left is None or right is None or not self.knows(p["dtype"]):
            return False
        kind, compute, number, parts = types_of(p["dtype"], precision)
        factors = (number * (2 * parts))()  # alpha, then beta; complex ones with their imaginary parts
        factors[parts] = p["beta"]
        computed = isinstance(p["alpha"], tuple)  # by an earlier kernel
        if computed:
            alpha, beta = at["scalars"] + p["alpha"][1], self.on_device(number, p["beta"])
        else:
            factors[0] = p["alpha"]
            alpha = ctypes.addressof(factors)
            beta = alpha + parts * ctypes.sizeof(number)
        item = np.dtype(p["dtype"]).itemsize
        a, b, c = (at[buf] + offset * item for buf, offset in (p["a"][:2], p["b"][:2], p["c"][:2]))
        self.cublas.set_pointer_mode(self.handle, int(computed))  # where both factors are
        self.cublas.gemm_strided_batched_ex(
            self.handle, right[0], left[0], n, m, k, alpha, b, kind, right[1], p["b"][3], a, kind, left[1], p["a"][3],
            beta, c, kind, n, p["c"][2], depth, compute, DEFAULT_ALGORITHM,
        )  # fmt: skip
        self.calls += 1
        return True

    def on_device(self, number: Any, value: float) -> int:
        """The address of a number on the device."""
        if (number, value) not in self.numbers:
            host = np.array([value], dtype=number)
            self.numbers[number, value] = DeviceArray.of(host, "a factor of products", self.device)
        return self.numbers[number, value].address


def _flags(steps: list[int], rows: int, columns: int) -> tuple[int, int] | None:
    """(transposed, leading dimension) of a row-major matrix; None if elements lie side by side in neither direction."""
    row, column = steps
    for transposed, unit, lead, length, count in ((0, column, row, columns, rows), (1, row, column, rows, columns)):
        if unit == 1 or length == 1:
            lead = max(lead, length) if count == 1 else lead  # a single one: how far the next is does not matter
            if length <= lead < LIMIT:
                return transposed, lead
    return None
