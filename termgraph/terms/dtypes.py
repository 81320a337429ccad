"""Dtypes: which there are, their kinds and how they mix. The one place that knows of a dtype NumPy lacks.

`bfloat16` comes from the package ml_dtypes, imported when it is first asked for; NumPy calls its kind "V" and promotes
it by rules of its own, so ask here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

DTYPES = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bfloat16",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)
HALVES = ("float16", "bfloat16")  # stored in 16 bits, computed in float32
# With AVX-512 NumPy 2 leaves floats of 16 bits in disorder where zeros have both signs, but for its stable sort.
SORTED_STABLY = ("float16",)
FLOATS = (*HALVES, "float32", "float64")
COMPLEX = ("complex64", "complex128")
BFLOAT16_TYPESTR = "<V2"  # what ml_dtypes, and others after it, write in `__cuda_array_interface__`
INSTALL = "the dtype bfloat16 needs the package ml_dtypes: pip install 'termgraph[bfloat16]'"
loaded: list[np.dtype] = []  # bfloat16, once something has asked for it


def numpy_dtype(dtype: Any) -> np.dtype:
    """The NumPy dtype of a name (or of anything else that NumPy takes for one).

    >>> numpy_dtype("float32"), numpy_dtype("bfloat16")
    (dtype('float32'), dtype(bfloat16))
    """
    if not loaded and isinstance(dtype, str) and dtype == "bfloat16":
        try:
            import ml_dtypes
        except ImportError:
            raise ImportError(INSTALL) from None
        loaded.append(np.dtype(ml_dtypes.bfloat16))
    found: np.dtype = np.dtype(dtype)
    if not loaded and found.kind == "V" and found.name == "bfloat16":
        loaded.append(found)
    return found


@functools.cache
def name_of(dtype: np.dtype) -> str:
    """The name of a NumPy dtype, which NumPy puts together each time (6 us)."""
    return dtype.name


def is_bfloat16(dtype: np.dtype) -> bool:
    """Whether a NumPy dtype is that of ml_dtypes."""
    return dtype.kind == "V" and dtype.name == "bfloat16"


def dtype_text(dtype: np.dtype) -> str:
    """A dtype as `numpy_dtype` reads it back, its byte order included."""
    return dtype.name if is_bfloat16(dtype) else dtype.str


def in_whole_elements(value: object) -> Any:
    """An array as it is if its elements lie at multiples of their size, else a copy: fields of records, odd offsets.

    >>> record = np.zeros(3, [("a", "f8"), ("b", "f4")])
    >>> record["a"].strides, in_whole_elements(record["a"]).strides
    ((12,), (8,))
    """
    if value.__class__ is not np.ndarray:
        return value
    size = value.itemsize
    for s in value.strides:
        if s % size:
            return value.copy()
    return value if value.flags.aligned else value.copy()


def kind_of(dtype: np.dtype | str) -> str:
    """`b`, `i`, `u`, `f` or `c`: what a dtype holds."""
    found = dtype if isinstance(dtype, np.dtype) else numpy_dtype(dtype)
    return "f" if found.kind == "V" and found.name == "bfloat16" else found.kind


def working_dtype(dtype: np.dtype | str) -> np.dtype:
    """The dtype to compute in: float32 for floats of 16 bits, else the dtype itself."""
    found = numpy_dtype(dtype)
    return np.dtype("float32") if found.name in HALVES else found


def working_name(dtype: str) -> str:
    """The same of names: what NumPy calls a dtype it works out each time."""
    return "float32" if dtype in HALVES else dtype


def promote(*operands: Any) -> np.dtype:
    """`np.result_type` of dtypes and Python numbers: bfloat16 gives way to other floats, not to whole numbers.

    >>> print(promote(numpy_dtype("bfloat16"), np.dtype("int64"), 1.0))
    bfloat16
    >>> print(promote(numpy_dtype("bfloat16"), np.dtype("float16")))
    float32
    """
    brain = next((d for d in operands if isinstance(d, np.dtype) and is_bfloat16(d)), None)
    if brain is None:
        return np.result_type(*operands)
    others = [d for d in operands if _outranks(d)]
    return np.result_type(np.float32, *others) if others else brain


def _outranks(operand: Any) -> bool:
    """Whether bfloat16 gives way to this operand."""
    if isinstance(operand, (np.dtype, str)) or isinstance(operand, type) and issubclass(operand, np.generic):
        found = numpy_dtype(operand)
        return found.kind in "fc" and not is_bfloat16(found)
    return isinstance(operand, complex)


def can_cast(have: Any, want: Any, casting: Any = "safe") -> bool:
    """`np.can_cast` for dtypes that may be bfloat16, which holds what 8 binary digits can."""
    have, want = numpy_dtype(have), numpy_dtype(want)
    if have == want:
        return True
    if not is_bfloat16(have) and not is_bfloat16(want):
        return bool(np.can_cast(have, want, casting))
    if casting != "safe":
        have, want = (np.dtype("float16") if is_bfloat16(d) else d for d in (have, want))
        return bool(np.can_cast(have, want, casting))
    return bool(np.can_cast(np.float32, want)) if is_bfloat16(have) else have.itemsize == 1


def finfo(dtype: np.dtype | str) -> Any:
    """`np.finfo` of a dtype, which may be bfloat16: eps, max, min, tiny, nmant."""
    found = numpy_dtype(dtype)
    if is_bfloat16(found):
        import ml_dtypes

        of_bfloat16: Callable[[np.dtype], Any] = ml_dtypes.finfo
        return of_bfloat16(found)
    return np.finfo(found)


def real_part(dtype: str) -> str:
    """The dtype of the parts of complex numbers; others stay as they are."""
    return {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)


def lowest(dtype: np.dtype) -> Any:
    """What every number of a dtype is at least."""
    return _bound(dtype, "min", False, -np.inf)


def highest(dtype: np.dtype) -> Any:
    """What every number of a dtype is at most."""
    return _bound(dtype, "max", True, np.inf)


def _bound(dtype: np.dtype, name: str, truth: bool, infinity: float) -> Any:
    kind = kind_of(dtype)
    if kind in "iu":
        return getattr(np.iinfo(dtype), name)
    return truth if kind == "b" else complex(infinity, infinity) if kind == "c" else infinity
