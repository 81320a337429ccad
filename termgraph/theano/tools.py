"""theano.gof: types that are not arrays, and small tools."""

from __future__ import annotations

import hashlib
import traceback
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from termgraph.tensor.likes import TensorLike
from termgraph.tensor.sharedvar import Generic
from termgraph.tensor.variable import Constant, Variable
from termgraph.terms.types import Type
from termgraph.theano.walking import general_toposort

generic = Generic()


class MethodNotDefined(Exception):
    """A method that an op need not have is not there."""


# ---------------------------------------------------------------------- types
class NullType(Type):
    """The type of a gradient that does not exist."""

    def __init__(self, why_null: str = "(no explanation given)") -> None:
        self.why_null = why_null

    def filter(self, value: object, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        raise ValueError("a gradient that does not exist has no value")


null_type = NullType()


class CDataType(Type):
    """A pointer to something of C."""

    def __init__(self, ctype: str, freefunc: str | None = None, **_: object) -> None:
        self.ctype = ctype

    def filter(self, value: object, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        return value


CDataTypeConstant = Constant


class EnumType(Type):
    """A type of named numbers: `EnumType(A=1, B=2)`, read as attributes."""

    def __init__(self, **names: Any) -> None:
        self.__dict__.update({k: v for k, v in names.items() if k not in ("ctype", "cname")})

    def filter(self, value: object, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        return getattr(self, value) if isinstance(value, str) else value


def EnumList(*names: str | Sequence[str], **_: object) -> EnumType:
    """Names numbered from 0."""
    return EnumType(**{(n if isinstance(n, str) else n[0]): i for i, n in enumerate(names)})


CEnumType = EnumList


class Params(dict):
    """A dictionary whose entries are attributes too."""

    def __init__(self, params_type: Any, **values: Any) -> None:
        super().__init__(values)
        self.__dict__.update(values)


class ParamsType(Type):
    """A type of several named values."""

    def __init__(self, **types: Any) -> None:
        self.types = tuple(sorted(types.items()))

    def filter(self, value: object, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        if not isinstance(value, Params):
            raise TypeError(f"expected Params, got {value!r:.60}")
        return value

    def get_params(self, *objects: Any, **values: Any) -> Params:
        """The values of these names, from objects that have them as attributes."""
        found = {k: getattr(o, k) for k, _ in self.types for o in objects if hasattr(o, k)}
        return Params(self, **{**found, **values})


# ---------------------------------------------------------------------- small tools
class object2:
    """Theano's base class of things with tags."""


MetaObject = type(object2)


class scratchpad:
    """A place for attributes."""

    def __init__(self, other: object = None) -> None:
        self.update(other) if other is not None else None

    def clear(self) -> None:
        """Forget everything."""
        self.__dict__.clear()

    def update(self, other: Any) -> None:
        """Take the attributes of another."""
        self.__dict__.update(getattr(other, "__dict__", other))

    def info(self) -> None:
        """Print the attributes."""
        print("<theano.gof.utils.scratchpad instance at %i>" % id(self))  # noqa: T201, UP031
        for k, v in self.__dict__.items():
            print(f"  {k}: {v}")  # noqa: T201


class D:
    """A dictionary read by attributes."""

    def __init__(self, **d: Any) -> None:
        self.__dict__.update(d)


class CallCache:
    """Remembers results of calls by function, arguments and key."""

    def __init__(self, filename: str | None = None) -> None:
        self.cache: dict[Any, Any] = {}

    def call(self, fn: Callable, args: tuple = (), key: TensorLike | None = None) -> Any:
        """The result of the call, computed once."""
        if key not in self.cache:
            self.cache[key] = fn(*args)
        return self.cache[key]


class Keyword:
    """A named mark."""

    def __init__(self, name: str, nonzero: bool = True) -> None:
        self.name, self.nonzero = name, nonzero

    def __bool__(self) -> bool:
        return self.nonzero

    def __repr__(self) -> str:
        return f"<{self.name}>"


ABORT, RETRY, FAILURE = Keyword("ABORT", False), Keyword("RETRY", False), Keyword("FAILURE", False)
ANY_TYPE, FALL_THROUGH, undef = Keyword("ANY_TYPE"), Keyword("FALL_THROUGH"), Keyword("undef")
simple_types = (int, float, str, bool, type(None), Keyword)


def comm_guard(type1: type | tuple[type, ...], type2: type | tuple[type, ...]) -> Callable:
    """A decorator that runs the function for arguments of two types in either order."""

    def wrap(f: Callable) -> Callable:
        def call(a: TensorLike, b: TensorLike, *rest: Any) -> Any:
            return f(a, b, *rest) if isinstance(a, type1) and isinstance(b, type2) else f(b, a, *rest)

        return call

    return wrap


def type_guard(type1: type | tuple[type, ...]) -> Callable:
    """A decorator that runs the function for a first argument of a type."""

    def wrap(f: Callable) -> Callable:
        return lambda a, *rest: f(a, *rest) if isinstance(a, type1) else FALL_THROUGH

    return wrap


def uniq(seq: Iterable[Any]) -> list:
    """The items, each once, in order."""
    return list(dict.fromkeys(seq))


def difference(seq1: Iterable[Any], seq2: Iterable[Any]) -> list:
    """What only the first holds."""
    other = list(seq2)
    return [v for v in seq1 if v not in other]


def unique(x: Sequence[Any]) -> bool:
    """Whether no item is there twice."""
    return len(set(x)) == len(x)


def hist(coll: Iterable[Any]) -> dict:
    """How often each item is there."""
    found: dict[Any, int] = {}
    for item in coll:
        found[item] = found.get(item, 0) + 1
    return found


def remove(predicate: Callable, coll: Iterable[Any]) -> list:
    """The items that do not satisfy a predicate."""
    return [v for v in coll if not predicate(v)]


def flatten(a: TensorLike) -> list:
    """Nested lists as one."""
    return [v for item in a for v in flatten(item)] if isinstance(a, (tuple, list, set)) else [a]


def to_return_values(values: Sequence[Any]) -> Any:
    """One value by itself, several as a list."""
    return values[0] if len(values) == 1 else values


def from_return_values(values: TensorLike) -> list:
    """A list of one value, or the list."""
    return values if isinstance(values, (list, tuple)) else [values]  # type: ignore[return-value]


def toposort(prereqs_d: dict) -> list:
    """The keys, each after those it needs."""
    return general_toposort(prereqs_d, lambda k: prereqs_d.get(k, ()))


def memoize(f: Callable) -> Callable:
    """The function with its results remembered."""
    cache: dict[Any, Any] = {}

    def call(*args: object, **kwargs: Any) -> Any:
        key = (args, tuple(sorted(kwargs.items())))
        if key not in cache:
            cache[key] = f(*args, **kwargs)
        return cache[key]

    return call


def deprecated(filename: str, msg: str = "") -> Callable:
    """A decorator that warns at the first call."""

    def wrap(f: Callable) -> Callable:
        def call(*args: object, **kwargs: Any) -> Any:
            warnings.warn(f"{filename}.{f.__name__} is deprecated. {msg}", DeprecationWarning, stacklevel=2)
            return f(*args, **kwargs)

        return call

    return wrap


def hashtype(self: Any) -> int:
    """A hash of an object's class."""
    return hash(type(self).__name__) ^ hash(type(self).__module__)


def hash_from_file(file_path: str) -> str:
    """A hash of a file's content."""
    with open(file_path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def simple_extract_stack(f: Any = None, limit: int | None = None, skips: Any = ()) -> list:
    """The lines of the program that led here."""
    return list(traceback.extract_stack(f, limit))


def add_tag_trace(thing: object, user_line: Any = None) -> Any:
    """The variable itself: every variable knows the line it comes from."""
    return thing


def get_variable_trace_string(v: Variable) -> str:
    """The lines of the program that made a variable."""
    return "".join(
        f'  File "{file}", line {line}, in {function}\n    {text}\n' for file, line, function, text in v.frames
    )
