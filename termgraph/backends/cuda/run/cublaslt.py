"""Products that finish their elements themselves, by cuBLASLt through the bindings of nvmath-python.

What the library is asked, and the algorithm it chooses, is kept per shape, alignment and epilogue. May touch: the
package nvmath-python and the library.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

EPILOGUES = {(True, ""): 4, (False, "relu"): 2, (True, "relu"): 6, (False, "gelu"): 32, (True, "gelu"): 36}
TRANS_A, TRANS_B, EPILOGUE, BIAS_POINTER = 3, 4, 7, 8  # attributes of an operation
MAX_WORKSPACE, ALIGNMENT_A = 1, 5  # attributes of a preference; those of B, C and D follow
ALIGNED = 256
Operand = tuple[int, int, int, int]  # rows and columns as the library sees them, leading dimension, address


class CublasLt:
    """A handle, with what has been asked before."""

    def __init__(self, lt: Any, workspace: int, room: int, stream: int) -> None:
        self.lt, self.workspace, self.room, self.stream = lt, workspace, room, stream
        self.handle = lt.create()
        self.plans: dict[tuple, Plan | None] = {}
        self.calls = 0

    def matmul(
        self, types: tuple[int, int, Any], right: Operand, left: Operand, out: Operand, trans: tuple[int, int],
        epilogue: tuple[int, str],
    ) -> bool:  # fmt: skip
        """Queue out = act(right left + bias) in columns; `epilogue` is (the address of the bias or 0, act).

        False if the library has no algorithm for it.
        """
        bias, act = epilogue
        operands = (right, left, out)
        key = (
            types[0],
            trans,
            bool(bias),
            act,
            *[(*x[:3], _alignment(x[3])) for x in operands],
            _alignment(bias),
            types[1],
        )
        if key not in self.plans:
            self.plans[key] = self.planned(key, types, operands, bias)
        plan = self.plans[key]
        if plan is None:
            return False
        if bias:
            _set(self.lt.matmul_desc_set_attribute, plan.what, BIAS_POINTER, ctypes.c_int64(bias))
        one, zero = types[2](1), types[2](0)
        a, b, c = plan.layouts
        self.lt.matmul(
            self.handle, plan.what, ctypes.addressof(one), right[3], a, left[3], b, ctypes.addressof(zero), out[3], c,
            out[3], c, plan.found.ctypes.data, self.workspace, self.room, self.stream,
        )  # fmt: skip
        self.calls += 1
        return True

    def planned(self, key: tuple, types: tuple[int, int, Any], operands: tuple, bias: int) -> Plan | None:
        """The algorithm for an operation; None if there is none."""
        lt, (kind, compute, number) = self.lt, types
        what = lt.matmul_desc_create(compute, 1 if number is ctypes.c_double else 0)
        for attribute, value in ((TRANS_A, key[1][0]), (TRANS_B, key[1][1]), (EPILOGUE, EPILOGUES[key[2], key[3]])):
            _set(lt.matmul_desc_set_attribute, what, attribute, ctypes.c_int32(value))
        if bias:
            _set(lt.matmul_desc_set_attribute, what, BIAS_POINTER, ctypes.c_int64(bias))
        layouts = [lt.matrix_layout_create(kind, *x[:3]) for x in operands]
        prefer = lt.matmul_preference_create()
        _set(lt.matmul_preference_set_attribute, prefer, MAX_WORKSPACE, ctypes.c_uint64(self.room))
        for k, x in enumerate((*operands, operands[2])):
            _set(lt.matmul_preference_set_attribute, prefer, ALIGNMENT_A + k, ctypes.c_uint32(_alignment(x[3])))
        found = np.zeros(1, lt.matmul_heuristic_result_dtype)
        count = ctypes.c_int32(0)
        try:
            lt.matmul_algo_get_heuristic(
                self.handle, what, layouts[0], layouts[1], layouts[2], layouts[2], prefer, 1, found.ctypes.data,
                ctypes.addressof(count),
            )  # fmt: skip
        except lt.cuBLASLtError:  # not supported
            return None
        finally:
            lt.matmul_preference_destroy(prefer)
        return Plan(what, layouts, found) if count.value else None


class Plan:
    """An operation, the layouts of its operands, and the algorithm."""

    def __init__(self, what: int, layouts: list[int], found: np.ndarray) -> None:
        self.what, self.layouts, self.found = what, layouts, found


def _set(function: Any, what: int, attribute: int, value: Any) -> None:
    function(what, attribute, ctypes.addressof(value), ctypes.sizeof(value))


def _alignment(address: int) -> int:
    """The largest power of two, up to 256, that an address is a multiple of."""
    return min(ALIGNED, address & -address) if address else ALIGNED
