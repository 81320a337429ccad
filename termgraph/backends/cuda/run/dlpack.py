"""DLPack: a capsule that describes an array on the device, made for other libraries and read from them.

Written with ctypes, so that it does not depend on the driver. May touch: nothing else.
"""

from __future__ import annotations

import ctypes
from typing import Any

from termgraph.terms.dtypes import BFLOAT16_TYPESTR, is_bfloat16

CUDA = 2
CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
BFLOAT = 4
NAME = b"dltensor"


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]
_Destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_api = ctypes.pythonapi
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, _Destructor]
_api.PyCapsule_IsValid.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
_held: dict[int, Any] = {}  # what keeps the memory of each exported array alive, by the address of its description


@_Deleter
def _delete(managed: Any) -> None:
    _held.pop(ctypes.addressof(managed.contents), None)


@_Destructor
def _destroy(capsule: int) -> None:
    # A capsule that nobody took is still named "dltensor"; whoever takes one renames it and calls the deleter.
    if _api.PyCapsule_IsValid(capsule, NAME):
        _held.pop(_api.PyCapsule_GetPointer(capsule, NAME), None)


def imported(value: Any) -> dict[str, Any]:
    """Where an array that offers DLPack lies, in the words of `__cuda_array_interface__`; "owner" keeps it alive."""
    taken = value.__dlpack__(stream=1)  # the other library lets the default stream wait for its work
    managed = ctypes.cast(_api.PyCapsule_GetPointer(id(taken), NAME), ctypes.POINTER(_Managed)).contents
    t = managed.tensor
    kind = {code: letter for letter, code in CODES.items()}.get(t.code)
    brain = t.code == BFLOAT and t.bits == 16
    if (kind is None and not brain) or t.lanes != 1 or t.bits % 8:
        raise TypeError(f"an array of DLPack type {t.code} with {t.bits} bits is nothing that NumPy has a dtype for")
    item = t.bits // 8
    strides = tuple(t.strides[d] * item for d in range(t.ndim)) if t.strides else None
    return {
        "shape": tuple(t.shape[d] for d in range(t.ndim)),
        "typestr": BFLOAT16_TYPESTR if brain else f"|b{item}" if kind == "b" else f"<{kind}{item}",
        "data": ((t.data or 0) + t.byte_offset, False),
        "strides": strides,
        "stream": 1,
        "device": int(t.device_id),
        "owner": taken,  # never renamed: the library that made it releases the array with the capsule
    }


def capsule(array: Any) -> Any:
    """The capsule of an array with `address`, `shape`, `steps` and `dtype`."""
    sizes = (ctypes.c_int64 * max(1, array.ndim))(*array.shape)
    steps = (ctypes.c_int64 * max(1, array.ndim))(*array.steps)
    managed = _Managed()
    t = managed.tensor
    t.data, t.device_type, t.device_id, t.ndim = array.address, CUDA, array.device.number, array.ndim
    code = BFLOAT if is_bfloat16(array.dtype) else CODES[array.dtype.kind]
    t.code, t.bits, t.lanes = code, 8 * array.dtype.itemsize, 1
    t.shape, t.strides, t.byte_offset = sizes, steps, 0
    managed.deleter = _delete
    address = ctypes.addressof(managed)
    _held[address] = (array, managed, sizes, steps)
    return _api.PyCapsule_New(address, NAME, _destroy)
