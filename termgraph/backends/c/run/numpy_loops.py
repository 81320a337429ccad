"""The compiled loops of NumPy and SciPy as function pointers: generated code calls them without Python in between.

A name `module__function__types` in C text (`TG_NATIVE_linalg__solve__dd_d`) stands for a place in the table `tg_native`
of that program, which is filled when the program is loaded. Each loop has two places: the function, and the data that
it is given. What cannot be had here is not `available`; the op then runs by its NumPy meaning. May touch: NumPy, SciPy.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from termgraph._lazy import lazy, pattern

blas, lapack = lazy("termgraph.backends.c.run.blas"), lazy("termgraph.terms.lapack")

_NAME = pattern(r"\bTG_NATIVE_(\w+)")
_MODULES = {
    "linalg": "numpy.linalg._umath_linalg",
    "fft": "numpy.fft._pocketfft_umath",
    "special": "scipy.special",
    "ufuncs": "scipy.special._ufuncs",
}
_QUICKSORT, _STABLE = 0, 2


class NativesError(RuntimeError):
    """A program calls a function that NumPy or SciPy do not have here."""


# ---------------------------------------------------------------------- the table of a program
def names_in(source: str) -> list[str]:
    """The functions that a C text calls."""
    return sorted(set(_NAME.findall(source))) if "TG_NATIVE_" in source else []


def header(source: str) -> str:
    """The declaration of the table, for the functions that a text calls."""
    names = names_in(source)
    if not names:
        return ""
    places = ", ".join(f"TG_NATIVE_{name} = {2 * k}" for k, name in enumerate(names))
    return "\n".join(
        [
            "/* Functions of NumPy and SciPy, each with the data it wants: filled when the library is loaded. */",
            f"enum {{ {places} }};",
            f"TG_EXPORT void *tg_native[{2 * len(names)}];",
        ]
    )


def fill(handle: ctypes.CDLL, source: str) -> None:
    """Put the addresses into the table of a loaded library."""
    names = names_in(source)
    if not names:
        return
    table = (ctypes.c_void_p * (2 * len(names))).in_dll(handle, "tg_native")
    for k, name in enumerate(names):
        found = find(name)
        if found is None:
            raise NativesError(f"{name.replace('__', '.')} is not a compiled loop of NumPy {np.__version__} here")
        table[2 * k + 1], table[2 * k] = found[1], found[0]


def available(names: Iterable[str]) -> bool:
    """Whether all these functions are there."""
    return all(find(name) is not None for name in names)


@functools.cache
def find(name: str) -> tuple[int, int] | None:
    """The address of a function and its data, or None."""
    module, rest = name.split("__", 1)
    function, types = rest.rsplit("__", 1)
    if module == "lapack":
        return _of_lapack(function)
    if module == "sort":
        return _sorter(function, types.rstrip("_"))
    if sys.implementation.name != "cpython":
        return None
    try:
        ufunc = getattr(importlib.import_module(_MODULES[module]), function, None)
    except ImportError:
        return None
    return _loop_of(ufunc, types.replace("_", "->")) if isinstance(ufunc, np.ufunc) else None


def _of_lapack(name: str) -> tuple[int, int] | None:
    """A function of LAPACK, and whether it counts in 64 bits: NumPy's own library, that of BLAS where it has none."""
    library = lapack.numpys()
    if library is not None:
        return ctypes.cast(library.function(name), ctypes.c_void_p).value or 0, int(library.wide)
    try:
        other = blas.load()
        return other.address(f"{name}_"), int(other.wide)
    except (blas.BlasError, AttributeError):
        return None


# ---------------------------------------------------------------------- loops of universal functions
class _Ufunc(ctypes.Structure):
    """What stands in a ufunc object behind the head that all Python objects have (numpy/ufuncobject.h)."""

    _fields_ = [
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
        ("reserved", ctypes.c_int),
        ("name", ctypes.c_char_p),
    ]


def _loop_of(ufunc: np.ufunc, types: str) -> tuple[int, int] | None:
    """The loop for these types. What is read is compared with what Python says: another layout is refused."""
    if types not in ufunc.types:
        return None
    found = _Ufunc.from_address(id(ufunc) + object.__basicsize__)
    if (found.nin, found.nout, found.nargs, found.ntypes) != (ufunc.nin, ufunc.nout, ufunc.nargs, ufunc.ntypes):
        return None
    if not found.functions or found.name is None or found.name.decode() != ufunc.__name__:
        return None
    k = ufunc.types.index(types)
    function, data = found.functions[k], found.data[k] if found.data else None
    return (function, data or 0) if function else None


# ---------------------------------------------------------------------- sorting
_ARRAY_FUNCTIONS = 365  # the place of PyDataType_GetArrFuncs in NumPy's table of functions, the same in all of NumPy 2
_SORT, _ARGSORT = 33, 36  # of the functions in PyArray_ArrFuncs, the first that sorts and the first that argsorts


def _sorter(function: str, dtype: str) -> tuple[int, int] | None:
    """NumPy's sort, or its stable argsort, of contiguous numbers of a dtype; tried before it is trusted."""
    if sys.implementation.name != "cpython" or np.__version__.split(".")[0] != "2":
        return None
    functions = _array_functions(dtype)
    kind = _QUICKSORT if function == "sort" else _STABLE
    address = functions[(_SORT if function == "sort" else _ARGSORT) + kind] if functions else None
    return (address, 0) if address and _sorts(function, dtype, address) else None


def _array_functions(dtype: str) -> Any:
    api = importlib.import_module("numpy._core._multiarray_umath")._ARRAY_API
    kind = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    pointer = kind(("PyCapsule_GetPointer", ctypes.pythonapi))
    table = ctypes.cast(pointer(api, None), ctypes.POINTER(ctypes.c_void_p))
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(table[_ARRAY_FUNCTIONS] or 0)
    return ctypes.cast(get(np.dtype(dtype)), ctypes.POINTER(ctypes.c_void_p))


def _sorts(function: str, dtype: str, address: int) -> bool:
    values, order = np.array([1, 0, 1, 0, 1]).astype(dtype), np.arange(5)
    if function == "sort":
        ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_void_p])(address)(
            values.ctypes.data, 5, None
        )
        return values.tolist() == [0, 0, 1, 1, 1]
    run = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_void_p)(address)
    run(values.ctypes.data, order.ctypes.data, 5, None)
    return order.tolist() == [1, 3, 0, 2, 4]
