"""Shared variables: values that live between calls and belong to no single function.

`shared(value)` makes one; functions read it without being given it, and `updates=` change it after a call.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from termgraph._arguments import meant
from termgraph.tensor.trace import placed, user_site
from termgraph.tensor.variable import TensorVariable, Variable, meet_guests
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import in_whole_elements, kind_of
from termgraph.terms.errors import TypeMismatch
from termgraph.terms.ops.transfer import device_number
from termgraph.terms.term import Input
from termgraph.terms.types import TensorType, Type, describe_value, fits, from_others

if TYPE_CHECKING:
    import numpy.typing as npt

    from termgraph.tensor.likes import TensorLike


def on_host(value: Any) -> Any:
    """The value, copied to the host if it is an array on a GPU."""
    return value.to_host() if hasattr(value, "to_host") else value


class Container:
    """A place for one value of one type: the memory of a shared variable, or of an input with a default.

    `storage` is a list of one element, the value. `lock` is held by a call from before it reads the value of a
    variable it updates until it has written the new one.
    """

    __slots__ = ("__weakref__", "allow_downcast", "lock", "name", "readonly", "storage", "strict", "target", "type")

    def __init__(
        self,
        type: Type,
        value: object = None,
        name: str | None = None,
        strict: bool = False,
        allow_downcast: bool | None = None,
        readonly: bool = False,
    ) -> None:
        self.type, self.name, self.readonly = type, name, readonly
        self.strict, self.allow_downcast = strict, allow_downcast
        self.target = "cuda"  # the device on which functions for a GPU keep the value
        self.storage: list[Any] = [None]
        self.lock = threading.RLock()
        if value is not None:
            self.storage[0] = self.filtered(value)

    def filtered(self, value: Any) -> Any:
        """The value as this container would hold it, or a TypeError naming the container."""
        try:
            return in_whole_elements(self.type.filter(value, strict=self.strict, allow_downcast=self.allow_downcast))
        except (TypeError, ValueError) as err:
            text = str(err).replace("allow_input_downcast=True", "allow_downcast=True where it is made")  # no call's
            raise TypeMismatch(f"{self.name or 'an unnamed value'}: {text}") from None

    @property
    def value(self) -> Any:
        """The value itself (not a copy, unless it is on a GPU)."""
        return on_host(self.storage[0])

    @value.setter
    def value(self, value: TensorLike) -> None:
        if self.readonly:
            raise AttributeError(f"the value of {self.name} is read-only")
        new = self.filtered(value)
        with self.lock:
            self.storage[0] = new

    data = value

    def __repr__(self) -> str:
        return f"<{self.storage[0]!r}>"

    def __getstate__(self) -> tuple:
        return (self.type, self.storage[0], self.name, self.strict, self.allow_downcast, self.readonly, self.target)

    def __setstate__(self, state: tuple) -> None:
        self.type, value, self.name, self.strict, self.allow_downcast, self.readonly, self.target = state
        self.storage, self.lock = [value], threading.RLock()


class SharedVariable(Variable):
    """A shared variable of any type: a variable with memory. Those of arrays are TensorSharedVariables too."""

    __slots__ = ("_default_update", "container")
    container: Container
    _default_update: Any

    def get_value(self, borrow: bool = False, return_internal_type: bool = False) -> np.ndarray:
        """The present value: a copy, unless `borrow` (then changing it in place changes the variable).

        A value on the GPU is copied to the host; with `return_internal_type` it is given as it is, as a DeviceArray.
        """
        with self.container.lock:
            value = self.container.storage[0]
        if not isinstance(value, np.ndarray) and not return_internal_type:
            there, value = value, on_host(value)
            borrow = borrow or value is not there
        return value if borrow else _copied(value)

    def set_value(self, new_value: Any, borrow: bool = False) -> None:
        """Give a new value of the same type. It is copied unless `borrow`.

        Its shape may differ. Functions were compiled for the shape before: the next call of each compiles it once more.
        """
        filtered = self.container.filtered(new_value)
        if not borrow and (_may_alias(filtered, new_value) or not _in_rows(filtered)):
            filtered = _copied(filtered)
        with self.container.lock:
            self.container.storage[0] = filtered

    def __new__(cls, *_: object, **__: object) -> Any:
        raise TypeError("make a shared variable with shared(value)")

    def clone(self, name: str | None = None) -> Any:
        """Another variable on the same memory."""
        return on_container(self.container, name or self.name, self.site)

    def __deepcopy__(self, memo: dict) -> Any:
        return clone_shared(self, memo)

    def __reduce__(self) -> tuple:
        # The default update is set afterwards: it is an expression of this very variable.
        return (_unpickle, (self.container, self.name), (None, {"_default_update": self._default_update}))

    @property
    def value(self) -> Any:
        """The value itself, as `get_value(borrow=True)`; what is assigned is copied, as by `set_value`."""
        return self.get_value(borrow=True)

    @value.setter
    def value(self, value: Any) -> None:
        self.set_value(value)

    @property
    def default_update(self) -> Any:
        """An expression that becomes the new value after every call of a function that uses this variable."""
        return self._default_update

    @default_update.setter
    def default_update(self, expression: Any) -> None:
        if expression is not None:
            expression = checked_update(self, expression)
        self._default_update = expression

    @default_update.deleter
    def default_update(self) -> None:
        self._default_update = None


class TensorSharedVariable(SharedVariable, TensorVariable):
    """A shared array. Other libraries read its value by DLPack: `torch.from_dlpack(w)`."""

    __slots__ = ()

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        """A copy of the present value, which later updates do not change; with `copy=False` the memory itself."""
        value = self.get_value(borrow=True, return_internal_type=True)
        if copy is not False:
            value = value.copy()
        return value.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Where the present value is."""
        return self.get_value(borrow=True, return_internal_type=True).__dlpack_device__()


# The shared variables of types with operators of their own; filled by the packages that have these types.
SHARED_HANDLES: dict[type, type] = {}


def is_shared(v: object) -> bool:
    """Whether the variable is a shared variable."""
    return isinstance(v, SharedVariable)


class Generic(Type):
    """Any Python object, unchecked: the type of shared variables that hold no array."""

    __slots__ = ()

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Every value is accepted as it is."""
        return value

    def __repr__(self) -> str:
        return "Generic()"


# ---------------------------------------------------------------------- making them
CONSTRUCTORS: list[Callable] = []


def shared_constructor(function: Callable) -> Callable:
    """Register a maker of shared variables for some kind of value; the latest registered is asked first.

    It takes `(value, name, strict, allow_downcast, borrow, **more)` and raises TypeError for values not its own.
    """
    CONSTRUCTORS.append(function)
    return function


@overload
def shared(
    value: npt.ArrayLike,
    name: str | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    borrow: bool = False,
    **more: Any,
) -> TensorSharedVariable: ...
@overload
def shared(
    value: object,
    name: str | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    borrow: bool = False,
    **more: Any,
) -> Any: ...  # memory of another type, by constructors that users register: no checker knows which
def shared(
    value: Any,
    name: str | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    borrow: bool = False,
    **more: Any,
) -> Variable:
    """A variable with memory. Functions use it without listing it among their inputs.

    The type is that of the value; lengths may change later unless `shape=` (lengths or None) fixes them. Where there
    are several GPUs, `target="cuda:1"` keeps an array on the second: what is computed from it is computed there.

    >>> import termgraph as tg
    >>> total = tg.shared(0.0, name="total")
    >>> total.set_value(3)
    >>> float(total.get_value())
    3.0
    """
    if isinstance(value, Variable):
        raise TypeError(f"shared() takes a value, got the symbolic variable {value}; use its value, or .clone()")
    if name is not None and not isinstance(name, str):
        raise TypeError(f"shared(): name must be a string, got {name!r}")
    refusals: list[str] = []
    wrong: TypeError | None = None  # of a kind of memory that would have taken the value
    for make in reversed(CONSTRUCTORS):
        try:
            return make(value, name=name, strict=strict, allow_downcast=allow_downcast, borrow=borrow, **more)
        except TypeMismatch:
            raise  # a value of this kind, but one that cannot be held: no other kind of memory is meant
        except TypeError as err:
            if more and (misnamed := meant(make, err, more, "shared")) is not err:
                wrong = misnamed
            misnamed = None  # else it holds its traceback, that this frame, and that the value until all is collected
            refusals.append(f"{make.__name__}: {err}")
    if wrong is not None:
        try:
            raise wrong
        finally:
            wrong = None
    raise TypeError(f"no shared variable can hold {describe_value(value)}\n  " + "\n  ".join(refusals))


def shared_of_type(
    type_: Type, value: Any, name: str | None, strict: bool = False, allow_downcast: bool | None = None
) -> Any:
    """A shared variable of a given type: what constructors end with."""
    return on_container(Container(type_, value, name, strict, allow_downcast), name, user_site())


def on_container(container: Container, name: str | None, site: tuple) -> Any:
    """A shared variable on memory that exists."""
    meet_guests()
    other = SHARED_HANDLES.get(type(container.type), SharedVariable)
    cls = TensorSharedVariable if isinstance(container.type, TensorType) else other
    v: Any = object.__new__(cls)
    v.term, v.name, v.site = Input(name, container.type), name, site
    v._owner = v._tag = v.index = v._default_update = None
    v.container = container
    v.term.shared = v
    return v


def clone_shared(v: Any, memo: dict) -> Any:
    """A shared variable with memory of its own, the same one for all copies made with one memo."""
    new = memo.get(id(v))
    if new is None:
        c = v.container
        container = Container(c.type, _copied(c.storage[0]), c.name, c.strict, c.allow_downcast, c.readonly)
        container.target = c.target
        new = memo[id(v)] = on_container(container, v.name, v.site)
        # an expression of this very variable, so the copy has to be known by then
        new._default_update = copy.deepcopy(v._default_update, memo)
    return new


def _unpickle(container: Container, name: str | None) -> TensorSharedVariable:
    return on_container(container, name, ())


@shared_constructor
def generic_constructor(
    value: Any, name: str | None, strict: bool, allow_downcast: bool | None, borrow: bool, **more: Any
) -> Any:
    """Shared memory for any object that is not a number or an array."""
    if more:
        raise TypeError(f"unexpected arguments {sorted(more)}")
    if isinstance(value, (np.ndarray, np.generic, bool, int, float, complex, list, tuple)):
        raise TypeError("numbers and arrays have a tensor type")
    return shared_of_type(Generic(), value if borrow else _copied(value), name, strict, allow_downcast)


@shared_constructor
def tensor_constructor(
    value: Any,
    name: str | None,
    strict: bool,
    allow_downcast: bool | None,
    borrow: bool,
    shape: Any = None,
    broadcastable: Any = None,
    dtype: str | None = None,
    target: str = "cuda",
) -> TensorSharedVariable:
    """Shared memory for an array, a number, or a list of numbers."""
    others = hasattr(value, "__dlpack__") or hasattr(value, "__array__")  # pandas, xarray, PyTorch, ...
    if not others and not isinstance(value, (bool, int, float, complex, list, tuple)):
        raise TypeError("not an array, a number or a list of numbers")
    array = np.asarray(from_others(value), dtype=dtype)
    if kind_of(array.dtype) not in "biufc":
        raise TypeError(f"not numbers (dtype {array.dtype})")
    if shape is None and broadcastable is None:
        shape = (None,) * array.ndim
    if not borrow and (others or not array.flags.c_contiguous):
        array = array.copy()  # in row-major order, in which compiled functions read it as it is
    made = shared_of_type(TensorType(array.dtype, shape, broadcastable), array, name, strict, allow_downcast)
    device_number(target)  # refuses what is no target
    made.container.target = target
    return made


def _copied(value: np.ndarray) -> np.ndarray:
    if isinstance(value, np.ndarray):
        return value.copy()
    return copy.deepcopy(value)


def _in_rows(value: np.ndarray) -> bool:
    """Whether compiled functions read it as it is."""
    return not isinstance(value, np.ndarray) or value.flags.c_contiguous


def _may_alias(held: np.ndarray, given: int | np.ndarray) -> bool:
    if isinstance(held, np.ndarray):
        return isinstance(given, np.ndarray) and np.may_share_memory(held, given)
    return held is given


# ---------------------------------------------------------------------- updates
def checked_update(target: Any, expression: Any) -> Any:
    """The expression as a variable that fits the shared variable's type; else TypeError with both types."""
    new = expression if isinstance(expression, Variable) else None
    if new is None:
        if not isinstance(target.type, TensorType):
            raise TypeError(f"the update of {label(target)} must be a symbolic variable, got {expression!r:.60}")
        new = as_tensor(_of_dtype(expression, target.type.dtype))
    if new.waits and (new.dtype, (None,) * new.ndim) == (target.dtype, getattr(target.type, "shape", None)):
        return new  # whatever is known of its lengths
    if fits(target.type, new.type):
        return new
    text = f"the update of {label(target)} must have its type {target.type}, but the new value has type {new.type}"
    raise TypeMismatch(placed(new.site, text + _advice(target.type, new.type)))


def checked_updates(updates: Any, where: str) -> dict[Any, Any]:
    """Updates as a dictionary from shared variables to variables of their types, from pairs or a mapping."""
    found: dict[Any, Any] = {}
    for pair in list(updates.items() if isinstance(updates, Mapping) else updates):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(f"{where}: expected pairs (shared variable, new value), got {pair!r:.80}")
        target, new = pair
        if not is_shared(target):
            raise TypeError(f"{where}: only shared variables can be updated, got {target!r:.60}; make it with shared()")
        if target in found:
            raise ValueError(f"{where}: {label(target)} is updated twice")
        found[target] = checked_update(target, new)
    return found


def _of_dtype(value: float, dtype: str) -> Any:
    """Plain numbers and lists take the dtype of what they replace, if they fit."""
    array = np.asarray(value)
    return array.astype(dtype) if kind_of(array.dtype) in "biuf" and kind_of(dtype) in "fc" else value


def _advice(old: Type, new: Type) -> str:
    if not isinstance(old, TensorType) or not isinstance(new, TensorType):
        return ""
    if old.ndim != new.ndim:
        return f"; reduce or reshape it to {old.ndim} dimension{'s' * (old.ndim != 1)}"
    if old.dtype != new.dtype:
        return f"; convert it: T.cast(new_value, {old.dtype!r})"
    return "; the lengths differ"


def label(v: Any) -> str:
    """A variable named for an error message."""
    kind = "shared variable" if is_shared(v) else "variable"
    return f"{kind} {v.name!r}" if v.name else f"the unnamed {kind} of type {v.type}"


__all__ = ["SharedVariable", "TensorSharedVariable", "shared"]
