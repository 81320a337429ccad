"""Types: what a value may be. Interned, so that "same type" is the Python test `is`.

`TensorType(dtype, shape)` describes n-dimensional arrays; an unknown length is `None`. `TupleType` is the type of an
operation with several results. Users may subclass `Type` for other data.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from termgraph.config import config
from termgraph.terms.dtypes import DTYPES, can_cast, finfo, kind_of, name_of, numpy_dtype
from termgraph.terms.errors import TypeMismatch
from termgraph.terms.hashing import stable_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

Shape: TypeAlias = "tuple[int | None, ...]"
Axes: TypeAlias = "tuple[int, ...]"
_ABBREVIATIONS = {"float": "float64", "int": "int64", "complex": "complex128"}
_NAMES = ("scalar", "vector", "matrix")
_WITHOUT_DTYPE = (list, tuple, int, float, np.generic)  # values that are looked at themselves


def _no_factory(type_: Type, name: str | None) -> Any:
    raise RuntimeError("variables need the tensor language: import termgraph.tensor first")


# Set by the tensor layer: terms know nothing of the user's handle, yet `irow("x")` must make one.
variable_factory = _no_factory


def set_variable_factory(factory: Callable[..., Any]) -> None:
    """Called once by the tensor layer: how `some_type(name)` makes the user's variable."""
    global variable_factory
    variable_factory = factory


def dtype_name(dtype: npt.DTypeLike | None) -> str:
    """The canonical name of a NumPy dtype, or a TypeError that lists what is supported."""
    if dtype == "floatX":
        return str(config.floatX)
    try:
        name = name_of(numpy_dtype(_ABBREVIATIONS.get(dtype, dtype) if isinstance(dtype, str) else dtype))
    except TypeError:
        name = str(dtype)
    if name not in DTYPES:
        hint = (
            ". Several lengths or axes are written as one tuple" if isinstance(dtype, int) and dtype is not True else ""
        )
        raise TypeError(f"unsupported dtype {dtype!r}; supported: {', '.join(DTYPES)}{hint}")
    return name


class Type:
    """A set of constraints on a value. Subclass it for data that is not an array.

    A subclass defines `filter(value, strict, allow_downcast)`, which returns a conforming value or raises TypeError,
    and may define `values_eq` and `values_eq_approx`. Two instances are one type if they compare equal.
    """

    __slots__ = ("__weakref__",)
    ndim: int | None = None
    dtype: str | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__dict__.get("__hash__", 0) is None:  # Python takes it from classes that define `__eq__` alone
            cls.__hash__ = _hash_by_class  # type: ignore[assignment]

    def filter(self, value: object, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Return `value` in the form this type promises, or raise TypeError."""
        raise NotImplementedError(f"{type(self).__name__} must define filter(value, strict, allow_downcast)")

    def is_valid_value(self, value: list[Any] | np.ndarray, strict: bool = True) -> bool:
        """Whether `filter` accepts the value."""
        try:
            self.filter(value, strict=strict)
        except (TypeError, ValueError):
            return False
        return True

    def values_eq(self, a: Any, b: Any) -> bool:
        """Exact equality of two values of this type."""
        return bool(a == b)

    def values_eq_approx(self, a: np.ndarray, b: np.ndarray, **_: Any) -> bool:
        """Equality up to rounding."""
        return self.values_eq(a, b)

    def accepts(self, other: Type) -> bool:
        """Whether every value of type `other` is also a value of this type."""
        return self is other or self == other

    def make_variable(self, name: str | None = None) -> Any:
        """A fresh variable of this type."""
        return variable_factory(self, name)

    __call__ = make_variable

    @property
    def _h(self) -> int:
        return stable_hash(type(self).__qualname__, repr(self))

    def __repr__(self) -> str:
        fields = ", ".join(f"{k}={v!r}" for k, v in sorted(getattr(self, "__dict__", {}).items()))
        return f"{type(self).__name__}({fields})"

    def __eq__(self, other: object) -> bool:
        return self is other or (
            type(self) is type(other) and getattr(self, "__dict__", None) == getattr(other, "__dict__", None)
        )

    def __hash__(self) -> int:
        return hash((type(self), repr(self)))


def _hash_by_class(type_: Type) -> int:
    """A hash that goes with whatever equality a user's class defines."""
    return hash(type(type_))


def _length(n: int | None) -> int | None:
    if n is None:
        return None
    if isinstance(n, (bool, float)) or not hasattr(n, "__index__"):
        raise TypeError(f"a static length is a non-negative integer or None, not {n!r}")
    n = int(n)
    if n < 0:
        raise ValueError(f"a static length cannot be negative: {n}")
    return n


class TensorType(Type):
    """N-dimensional array of one dtype. `shape` holds a length or `None` (unknown) per dimension.

    `broadcastable=(True, False)` is another way to say `shape=(1, None)`. Equal types are the same object.
    """

    __slots__ = ("_hash", "_text", "dtype", "kind", "ndim", "np_dtype", "shape")
    _table: dict[tuple[str, tuple[int | None, ...]], TensorType] = {}
    dtype: str
    ndim: int
    shape: tuple[int | None, ...]
    np_dtype: np.dtype
    kind: str  # b, i, u, f or c, as NumPy calls them; f for bfloat16 too
    _hash: int
    _text: str | None

    def __new__(
        cls, dtype: npt.DTypeLike | None = "float64", shape: Shape | None = None, broadcastable: Any = None
    ) -> TensorType:
        if broadcastable is not None:
            if shape is not None:
                raise TypeError("TensorType takes shape= or broadcastable=, not both")
            shape = tuple(1 if b else None for b in broadcastable)
        elif shape is None or not hasattr(shape, "__iter__"):
            raise TypeError("TensorType needs shape= (lengths or None) or broadcastable= (one bool per dimension)")
        elif all(isinstance(b, (bool, np.bool_)) for b in shape) and len(shape):
            shape = tuple(1 if b else None for b in shape)  # the seeds' positional broadcastable
        return cls.of(dtype_name(dtype), tuple(map(_length, shape)))

    @classmethod
    def of(cls, dtype: str, shape: tuple[int | None, ...]) -> TensorType:
        """The type of canonical parts, without checks: what inference uses."""
        key = (dtype, shape)
        found = cls._table.get(key)
        if found is None:
            found = object.__new__(cls)
            found.dtype, found.shape = key
            found.ndim = len(shape)
            found.np_dtype = numpy_dtype(dtype)
            found.kind = kind_of(found.np_dtype)
            found._hash = stable_hash(*key)
            found._text = None
            found = cls._table.setdefault(key, found)
        return found

    @property
    def _h(self) -> int:
        return self._hash

    @property
    def broadcastable(self) -> tuple[bool, ...]:
        """Per dimension, whether its length is known to be one."""
        return tuple(n == 1 for n in self.shape)

    def clone(
        self, dtype: npt.DTypeLike | None = None, shape: Shape | None = None, broadcastable: Any = None
    ) -> TensorType:
        """The same type with some fields changed."""
        if broadcastable is None and shape is None:
            shape = self.shape
        return TensorType(self.dtype if dtype is None else dtype, shape, broadcastable)

    def accepts(self, other: Type) -> bool:
        """Whether every value of type `other` is a value of this type (its lengths at least as precise)."""
        if self is other:
            return True
        return (
            isinstance(other, TensorType)
            and self.dtype == other.dtype
            and self.ndim == other.ndim
            and all(a is None or a == b for a, b in zip(self.shape, other.shape, strict=True))
        )

    def filter(self, value: object, strict: bool = False, allow_downcast: bool | None = None) -> np.ndarray:
        """Return `value` as an array of this type; raise TypeError saying what was expected and given."""
        array = self._to_dtype(value, strict, allow_downcast)
        if array.ndim != self.ndim:
            raise TypeMismatch(f"expected {self.ndim} dimensions ({self}), got {array.ndim} (shape {array.shape})")
        for axis, (want, got) in enumerate(zip(self.shape, array.shape, strict=True)):
            if want is not None and want != got:
                raise TypeMismatch(f"expected length {want} in dimension {axis} ({self}), got shape {array.shape}")
        return array

    def _to_dtype(self, value: object, strict: bool, allow_downcast: bool | None) -> np.ndarray:
        if isinstance(value, np.ndarray) and value.dtype == self.np_dtype:
            value = plain_array(value)
            if value.dtype is self.np_dtype:
                return value
            # The same numbers under another name (`<f8` of ctypes): compiled code asks for the dtype itself.
            return value.view(self.np_dtype) if value.dtype.isnative else value.astype(self.np_dtype)
        if strict:
            raise TypeMismatch(f"expected a NumPy array of dtype {self.dtype} (strict), got {describe_value(value)}")
        array = self._as_array(value)
        if array.dtype == self.np_dtype or array.size == 0:
            return array.astype(self.np_dtype, copy=False).view(self.np_dtype)
        if can_cast(array.dtype, self.np_dtype, "safe") or allow_downcast:
            return self._cast(array)
        if self._number_fits(value, array, allow_downcast):
            return self._cast(array)
        raise TypeMismatch(
            f"cannot store {describe_value(value)} in {self} without losing precision; "
            f"convert it (numpy.asarray(value, dtype={self.dtype!r})) or pass allow_input_downcast=True"
        )

    def _as_array(self, value: object) -> np.ndarray:
        if getattr(value, "term", None) is not None or getattr(value, "lvars", None) is not None:
            raise TypeMismatch("expected an array or number, got a symbolic variable; give it a value, or use givens=")
        try:
            array = from_others(value)
        except ValueError as err:
            raise TypeMismatch(f"expected an array for {self}, got a ragged sequence ({err})") from None
        if kind_of(array.dtype) not in "biufc":
            much = ", which is too large for whole numbers of 64 bits" if isinstance(value, int) else ""
            raise TypeMismatch(f"expected an array of numbers for {self}, got {describe_value(value)}{much}")
        return array

    def _cast(self, array: np.ndarray) -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # complex -> real and overflow are what the caller allowed
            return array.astype(self.np_dtype)

    def _number_fits(self, value: object, array: np.ndarray, allow_downcast: bool | None) -> bool:
        """Whether a number or list may be taken where an array of that dtype would be refused.

        Of an array the dtype decides. A list has none, and whether a number loses anything is seen at once. Whole
        numbers of Python become floats in any case, and its floats are rounded unless that is forbidden.
        """
        if isinstance(value, np.ndarray):
            return False
        kind, have = self.kind, kind_of(array.dtype)
        if kind in "fc" and allow_downcast is not False and not isinstance(value, np.generic):
            if have in "biu" or (have == "f" and (array.ndim == 0 or self.ndim == 0)):
                return True
        if have == "c" or not (have in "biu" or isinstance(value, _WITHOUT_DTYPE)):
            return False
        cast = self._cast(array)
        return bool(((cast == array) | ((array != array) & (cast != cast))).all())

    def values_eq(self, a: Any, b: Any) -> bool:
        """Same shape, dtype and elements; NaN equals NaN."""
        a, b = np.asarray(a), np.asarray(b)
        nan = kind_of(a.dtype) in "fc"
        return a.shape == b.shape and a.dtype == b.dtype and bool(np.array_equal(a, b, equal_nan=nan))

    def values_eq_approx(
        self, a: np.ndarray, b: np.ndarray, rtol: float | None = None, atol: float | None = None, **_: Any
    ) -> bool:
        """Same shape and elements up to the rounding of this dtype."""
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape:
            return False
        if self.kind not in "fc":
            return bool(np.array_equal(a, b))
        eps = float(finfo(self.np_dtype).eps)
        return bool(np.allclose(a, b, rtol=rtol or 1e3 * eps, atol=atol or 1e2 * eps, equal_nan=True))

    def __repr__(self) -> str:
        if self._text is None:
            self._text = f"TensorType({self.dtype}, {shape_text(self.shape)})"
        return self._text

    def __reduce__(self) -> tuple[Any, ...]:
        return (TensorType, (self.dtype, self.shape))

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__


def shape_text(shape: tuple[int | None, ...]) -> str:
    """`(1, ?)`: a static shape with `?` for unknown lengths."""
    inner = ", ".join("?" if n is None else str(n) for n in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def from_others(value: object) -> np.ndarray:
    """What NumPy makes an array of: numbers, lists, others' arrays (`__array__`, else DLPack). Nothing is copied."""
    by_dlpack = hasattr(value, "__dlpack__") and not hasattr(value, "__array__")
    refusals = (BufferError, RuntimeError, TypeError) if by_dlpack else (BufferError, RuntimeError)
    if isinstance(value, (list, tuple)) and value and not isinstance(value[0], (int, float)):
        _refuse_masks(value)
    try:
        return np.from_dlpack(value) if by_dlpack else plain_array(np.asanyarray(value))  # type: ignore[arg-type]
    except refusals as err:
        advice = "; copy it to the memory of the CPU first" if by_dlpack else ""
        raise TypeMismatch(f"the array of {type(value).__module__} cannot be read ({err}){advice}") from None


def _refuse_masks(items: list[Any] | tuple[Any, ...]) -> None:
    """Masked arrays in lists, also in lists of lists: NumPy would drop their masks."""
    for item in items:
        if isinstance(item, np.ma.MaskedArray):
            plain_array(item)
        elif isinstance(item, (list, tuple)) and item and not isinstance(item[0], (int, float)):
            _refuse_masks(item)


def plain_array(value: np.ndarray) -> np.ndarray:
    """The array without what a subclass makes of it (`*` of np.matrix, say); masked elements are refused."""
    if type(value) is np.ndarray:
        return value
    if np.ma.is_masked(value):
        raise TypeMismatch(
            "the array is masked, and operations here do not leave out its hidden elements: give them a value with "
            "array.filled(0), and pass array.mask as an array of its own where it matters"
        )
    return np.asarray(value)


def short_name(type_: Type) -> str:
    """The seeds' short name of a type: `TensorType(float64, vector)`."""
    if not isinstance(type_, TensorType):
        return repr(type_)
    names: dict[tuple[Any, ...], str] = {(1, None): "row", (None, 1): "col"}
    name = names.get(type_.shape)
    if name is None:
        if all(n is None for n in type_.shape):
            name = _NAMES[type_.ndim] if type_.ndim < 3 else f"{type_.ndim}D"
        else:
            name = str(type_.broadcastable)
    return f"TensorType({type_.dtype}, {name})"


def describe_value(value: object) -> str:
    """What a value is, in a few words for an error message."""
    if isinstance(value, np.ndarray):
        return f"an array of dtype {value.dtype} and shape {value.shape}"
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 40 else text[:37] + '...'}"


class TupleType(Type):
    """The type of a term with several results; `nth(i, t)` projects one."""

    __slots__ = ("_hash", "types")
    _table: dict[tuple[Type, ...], TupleType] = {}
    types: tuple[Type, ...]
    _hash: int

    def __new__(cls, types: Sequence[Type]) -> TupleType:
        key = tuple(types)
        found = cls._table.get(key)
        if found is None:
            found = object.__new__(cls)
            found.types = key
            found._hash = stable_hash("tuple", *[t._h for t in key])
            found = cls._table.setdefault(key, found)
        return found

    @property
    def _h(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"TupleType({', '.join(map(repr, self.types))})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (TupleType, (self.types,))

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__


def fits(want: Type, got: Type) -> bool:
    """Whether a value of type `got` may be given where `want` is declared; unknown lengths are compared at run time."""
    if isinstance(want, TensorType) and isinstance(got, TensorType):
        lengths_fit = all(a is None or b is None or a == b for a, b in zip(want.shape, got.shape))
        return want.dtype == got.dtype and want.ndim == got.ndim and lengths_fit
    return want.accepts(got)
