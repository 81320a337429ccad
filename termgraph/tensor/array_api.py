"""Names of the array API's standard: dtypes and what is asked of them, and second names for functions of the language.

Code that is written for any library asks a variable for its `__array_namespace__`, which is `termgraph.tensor`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from termgraph.tensor.creation import full, no_device
from termgraph.tensor.elemwise import cast
from termgraph.tensor.joining import concatenate
from termgraph.tensor.lengths import lengths
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import DTypeLike, TensorLike
from termgraph.tensor.protocols import ABOVE
from termgraph.tensor.reductions import cumprod, cumsum
from termgraph.tensor.shaping import expand_dims, ravel, transpose
from termgraph.tensor.variable import TensorVariable, is_plain_number
from termgraph.tensor.wrap import as_tensor
from termgraph.terms import dtypes
from termgraph.terms.dtypes import DTYPES, kind_of, promote
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.shapes import normal_axis
from termgraph.terms.types import dtype_name

KINDS = {
    "bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu", "real floating": "f",
    "complex floating": "c", "numeric": "iufc",
}  # fmt: skip


# ---------------------------------------------------------------------- dtypes
def _dtype_of(value: Any) -> Any:
    """The NumPy dtype of a variable, an array or a dtype; plain numbers stay what they are, which is weak."""
    if is_plain_number(value):
        return value
    if isinstance(value, TensorVariable):
        return value.type.np_dtype
    return np.asarray(value).dtype if isinstance(value, (list, np.ndarray, np.generic)) else _dtype(value)


def _dtype(dtype: DTypeLike) -> np.dtype:
    return dtypes.numpy_dtype(dtype_name(dtype))


def result_type(*arrays_and_dtypes: Any) -> str:
    """The dtype that arrays, dtypes and numbers have in common.

    >>> import termgraph.tensor as T
    >>> T.result_type(T.fvector("x"), "int8", 1.5)
    'float32'
    """
    return promote(*[_dtype_of(v) for v in arrays_and_dtypes]).name


def can_cast(from_: Any, to: DTypeLike, casting: str = "safe") -> bool:
    """Whether a dtype, or that of an array, can be made another one; `casting` says at what loss, as in NumPy.

    >>> import termgraph.tensor as T
    >>> T.can_cast(T.fvector("x"), "float64"), T.can_cast("int64", "int8")
    (True, False)
    """
    return dtypes.can_cast(_dtype_of(from_), _dtype(to), casting)


def isdtype(dtype: DTypeLike, kind: Any) -> bool:
    """Whether a dtype is of a kind: "bool", "integral", "real floating", "numeric", ..., a dtype, or a tuple of these.

    >>> import termgraph.tensor as T
    >>> T.isdtype(T.fvector("x").dtype, "real floating"), T.isdtype("int8", ("bool", "float32"))
    (True, False)
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str) and kind in KINDS:
        return kind_of(_dtype(dtype)) in KINDS[kind]
    try:
        return dtype_name(dtype) == dtype_name(kind)
    except TypeError:
        raise ValueError(f"isdtype: kind must be a dtype or one of {', '.join(KINDS)}, got {kind!r}") from None


def finfo(dtype: Any) -> np.finfo[Any]:
    """`np.finfo` of a dtype, or of an array's: eps, max, min, tiny, bits.

    >>> import termgraph.tensor as T
    >>> T.finfo("float32").eps
    np.float32(1.1920929e-07)
    """
    found: np.finfo[Any] = dtypes.finfo(_dtype_of(dtype))
    return found


def iinfo(dtype: Any) -> np.iinfo[Any]:
    """`np.iinfo` of a dtype of whole numbers, or of an array's: max, min, bits.

    >>> import termgraph.tensor as T
    >>> T.iinfo("int8").max
    127
    """
    return np.iinfo(_dtype_of(dtype))


class NamespaceInfo:
    """What the standard's code may ask of a library: dtypes, devices, and what it can do."""

    def capabilities(self) -> dict[str, Any]:
        """What is possible: masks as indices and lengths that depend on values; dimensions are not limited here."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}

    def default_device(self) -> None:
        """None, the device of every variable."""

    def devices(self) -> list[None]:
        """All devices: None."""
        return [None]

    def default_dtypes(self, *, device: None = None) -> dict[str, str]:
        """Dtypes of what is made of Python's numbers, by kind; real ones by functions such as `T.zeros`."""
        no_device(device)
        kinds = {"real floating": "float64", "complex floating": "complex128", "integral": "int64"}
        return {**kinds, "indexing": "int64"}

    def dtypes(self, *, device: None = None, kind: Any = None) -> dict[str, str]:
        """The standard's dtypes, all or those of a kind (or of several)."""
        no_device(device)
        standard = [name for name in DTYPES if name not in ("float16", "bfloat16")]
        return {name: name for name in standard if kind is None or isdtype(name, kind)}


def namespace_info() -> NamespaceInfo:
    """What the array API's code asks as `T.__array_namespace_info__()`.

    >>> import termgraph.tensor as T
    >>> list(T.__array_namespace_info__().dtypes(kind="complex floating"))
    ['complex64', 'complex128']
    """
    return NamespaceInfo()


# ---------------------------------------------------------------------- arrays
def asarray(
    a: TensorLike,
    dtype: DTypeLike = None,
    order: str | None = None,
    *,
    device: None = None,
    copy: bool | None = None,
    like: Any = None,
) -> TensorVariable:
    """A variable for what may stand for an array, in a dtype if one is given.

    `order`, `copy` and `like` make no difference: nothing changes a value, and how it lies in memory is not said.

    >>> import termgraph.tensor as T
    >>> T.asarray([1, 2], "float32").type
    TensorType(float32, (2,))
    """
    no_device(device)
    a = as_tensor(a)
    return a if dtype is None else cast(a, dtype)


def astype(x: TensorLike, dtype: DTypeLike, *, copy: bool = True, device: None = None) -> TensorVariable:
    """The array converted to another dtype.

    >>> import termgraph.tensor as T
    >>> T.astype([1.5, 2.5], "int8").eval()
    array([1, 2], dtype=int8)
    """
    no_device(device)
    return cast(x, dtype)


def array(
    object: TensorLike,
    dtype: DTypeLike = None,
    *,
    copy: bool | None = True,
    order: str = "K",
    subok: bool = False,
    ndmin: int = 0,
    like: Any = None,
) -> TensorVariable:
    """A variable for what may stand for an array, in a dtype if one is given, with at least `ndmin` dimensions.

    >>> import termgraph.tensor as T
    >>> T.array([1, 2], "float32", ndmin=2).type
    TensorType(float32, (1, 2))
    """
    a = asarray(object, dtype)
    return expand_dims(a, tuple(range(ndmin - a.ndim))) if ndmin > a.ndim else a


def promote_types(type1: DTypeLike, type2: DTypeLike) -> str:
    """The dtype that two dtypes have in common.

    >>> import termgraph.tensor as T
    >>> T.promote_types("int32", "float32")
    'float64'
    """
    return result_type(_dtype(type1), _dtype(type2))


@on_terms
def cumulative_sum(
    x: TensorLike, axis: int | None = None, dtype: DTypeLike = None, *, include_initial: bool = False
) -> TensorVariable:
    """Running sums along an axis, which only a vector may leave out; with `include_initial` a 0 comes first.

    >>> import termgraph.tensor as T
    >>> T.cumulative_sum([1, 2, 3], include_initial=True).eval()
    array([0, 1, 3, 6])
    """
    return _running(cumsum, 0, x, axis, dtype, include_initial)


@on_terms
def cumulative_prod(
    x: TensorLike, axis: int | None = None, dtype: DTypeLike = None, *, include_initial: bool = False
) -> TensorVariable:
    """Running products along an axis, which only a vector may leave out; with `include_initial` a 1 comes first.

    >>> import termgraph.tensor as T
    >>> T.cumulative_prod([1, 2, 3], include_initial=True).eval()
    array([1, 1, 2, 6])
    """
    return _running(cumprod, 1, x, axis, dtype, include_initial)


def _running(
    run: Any, first: int, x: TensorLike, axis: int | None, dtype: DTypeLike, include_initial: bool
) -> TensorVariable:
    x = as_tensor(x)
    x = x if x.ndim else ravel(x)
    if axis is None:
        if x.ndim > 1:
            raise ValueError(f"cumulative_{'prod' if first else 'sum'}: of {x.ndim} dimensions `axis` must name one")
        axis = 0
    axis = normal_axis(axis, x.ndim)
    found: TensorVariable = run(x, axis, dtype)
    if not include_initial:
        return found
    shape = lengths(x)
    shape[axis] = 1
    return concatenate([full(shape, first, found.dtype), found], axis)


# Two names for one function: the standard's, and that of NumPy's older versions.
concat, permute_dims = concatenate, transpose
bitwise_left_shift, bitwise_right_shift = ew.left_shift, ew.right_shift

EXPORTS = tuple(name for name in DTYPES if name != "bool")  # T.float32 is "float32", which every dtype= takes
globals().update({name: name for name in EXPORTS})
ABOVE |= {"__array_namespace_info__": lambda: namespace_info, "__array_api_version__": lambda: "2024.12"}
ABOVE["bool"] = lambda: "bool"  # T.bool, which `from termgraph.tensor import *` does not put in the place of Python's


def _device(self: TensorVariable) -> None:
    """None: where a value is computed is said when compiling. Functions that take `device=` take None."""


def _to_device(self: TensorVariable, device: None, *, stream: Any = None) -> TensorVariable:
    """The variable itself, if the device is that of every variable, None."""
    no_device(device)
    return self


METHODS = {"device": property(_device), "to_device": _to_device}
__all__ = [
    "array", "asarray", "astype", "bitwise_left_shift", "bitwise_right_shift", "can_cast", "concat", "cumulative_prod",
    "cumulative_sum", "finfo", "iinfo", "isdtype", "permute_dims", "promote_types", "result_type",
]  # fmt: skip
