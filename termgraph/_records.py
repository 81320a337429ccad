"""Classes of named fields: dataclasses and named tuples that are made in a twentieth of the time.

`dataclass` compiles the text of up to six functions for each class, half a millisecond to a whole one, and the first
compilation of a process makes a hundred classes. Here all but `__init__` is the same for every class; that, and what
`dataclasses.fields` tells, is made when it is worth it. Named tuples likewise, of which each took 0.14 ms.
"""

from __future__ import annotations

import dataclasses
from collections import _tuplegetter  # type: ignore[attr-defined]
from collections.abc import Sequence
from dataclasses import MISSING, Field, fields
from functools import partial
from operator import attrgetter
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any

_FEW = 8  # objects of a class that are made without text of its own: it takes as long as a hundred of them

if TYPE_CHECKING:
    from dataclasses import dataclass as record
    from dataclasses import replace
    from typing import NamedTuple
else:

    class _TupleType(type):
        """Reads the fields of a named tuple off its annotations."""

        def __new__(cls, name: str, bases: tuple, own: dict) -> Any:
            if any(getattr(base, "_fields", ()) for base in bases):  # an ordinary class that is based on one of these
                return super().__new__(cls, name, bases, own)
            names = tuple(own.get("__annotations__", ()))
            defaults = {field: own.pop(field) for field in names if field in own}
            if tuple(defaults) != names[len(names) - len(defaults) :]:
                raise TypeError(f"{name}: fields without a default come first")
            own.setdefault("__slots__", ())
            if names:
                own |= {field: _tuplegetter(i, f"Alias for field number {i}") for i, field in enumerate(names)}
                own |= {"_fields": names, "_field_defaults": defaults, "__match_args__": names, "_made": 0}
            return super().__new__(cls, name, bases, own)

    class NamedTuple(tuple, metaclass=_TupleType):
        """As `typing.NamedTuple`: what it compiles for each class comes with the ninth object of it.

        >>> class Point(NamedTuple):
        ...     x: int
        ...     y: int = 2
        >>> Point(1), Point(1).y
        (Point(x=1, y=2), 2)
        """

        _fields = ()

        def __new__(cls, *args: Any, **named: Any) -> Any:
            cls._made += 1
            unusual = named or len(args) != len(cls._fields)
            if cls._made > _FEW or (unusual and not _is_complete(cls, args, named)):
                owner = next(c for c in cls.__mro__ if "_fields" in vars(c))
                made = _tuple_maker(owner)  # which also says what is missing
                if cls._made > _FEW:
                    owner.__new__ = staticmethod(made)
                return made(cls, *args, **named)
            if unusual:
                given = {**cls._field_defaults, **dict(zip(cls._fields, args)), **named}
                args = [given[name] for name in cls._fields]
            return tuple.__new__(cls, args)

        @classmethod
        def _make(cls, values: Any) -> Any:
            made = tuple.__new__(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
            return made

        def _replace(self, /, **named: Any) -> Any:
            if not named.keys() <= set(self._fields):
                raise ValueError(f"Got unexpected field names: {[n for n in named if n not in self._fields]!r}")
            return tuple.__new__(type(self), map(named.get, self._fields, self))

        def _asdict(self) -> dict[str, Any]:
            return dict(zip(self._fields, self))

        def __repr__(self) -> str:
            shown = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self))
            return f"{type(self).__name__}({shown})"

        def __getnewargs__(self) -> tuple:
            return tuple(self)

    def record(cls: type | None = None, /, *, frozen: bool = False, eq: bool = True) -> Any:
        """As `dataclasses.dataclass`: `field`, `fields`, `replace` and `asdict` work.

        >>> @record(frozen=True)
        ... class Point:
        ...     x: int
        ...     y: int = 2
        >>> Point(1)
        Point(x=1, y=2)
        """
        if cls is None:
            return lambda cls: record(cls, frozen=frozen, eq=eq)
        every, own = _stated(cls), cls.__dict__
        methods = {"__repr__": _shown, "__init__": _LaterInit(cls, every, frozen)}
        if eq:
            methods |= _compared([f.name for f in every if f.compare], frozen)
        if frozen:
            methods |= {"__setattr__": _refused, "__delattr__": _refused}
        for name, method in methods.items():
            if own.get(name) is None:  # what the class says itself stays; Python says `__hash__ = None` beside `__eq__`
                setattr(cls, name, method)
        cls.__match_args__ = tuple([f.name for f in every if f.init])
        cls.__dataclass_fields__ = _LaterFields(cls, every)
        cls.__record__ = every
        return cls

    def replace(obj: Any, /, **changes: Any) -> Any:
        """As `dataclasses.replace`, which begins with what `dataclasses.fields` tells.

        >>> @record(frozen=True)
        ... class Point:
        ...     x: int
        ...     y: int = 2
        >>> replace(Point(1), x=3)
        Point(x=3, y=2)
        """
        for f in obj.__record__:
            if f.init:
                changes.setdefault(f.name, getattr(obj, f.name))
            elif f.name in changes:
                raise ValueError(f"field {f.name} is declared with init=False, it cannot be replaced")
        return type(obj)(**changes)


def values_of(obj: Any) -> dict[str, Any]:
    """The fields of a record that its `__init__` takes, by name."""
    return {f.name: getattr(obj, f.name) for f in obj.__record__ if f.init}


class _Stated(NamedTuple):
    """A field as it stands in its class."""

    name: str
    annotation: Any
    default: Any
    default_factory: Any
    init: bool
    compare: bool
    given: Any  # what `dataclasses.field` gave for it, or the default

    @property
    def is_needed(self) -> bool:
        """Whether there is nothing to fill it with."""
        return self.default is MISSING and self.default_factory is MISSING


def _stated(cls: type) -> tuple[_Stated, ...]:
    """The fields of a class, those of its bases first; defaults stay on the class as they do in dataclasses."""
    found = {f.name: f for base in reversed(cls.__mro__[1:]) for f in vars(base).get("__record__", ())}
    for name, annotation in cls.__dict__.get("__annotations__", {}).items():
        if "ClassVar" in str(annotation):
            continue
        given = cls.__dict__.get(name, MISSING)
        if isinstance(given, MemberDescriptorType):  # of `__slots__`
            given = MISSING
        if isinstance(given, Field):
            rest = given.default, given.default_factory, given.init, bool(given.compare), given
            if given.default is MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, given.default)
        else:
            rest = given, MISSING, True, True, given
        found[name] = _Stated(name, annotation, *rest)
    return tuple(found.values())


class _LaterFields:
    """Stands for `__dataclass_fields__` until somebody asks for it."""

    def __init__(self, cls: Any, every: Sequence[_Stated]) -> None:
        self.cls, self.every = cls, every

    def __get__(self, obj: Any, owner: Any) -> Any:
        given = [(f.name, f.annotation, *(() if f.given is MISSING else (f.given,))) for f in self.every]
        said = {"__doc__": self.cls.__name__}  # else it parses the text of a signature, for which it imports a parser
        same: Any = dataclasses.make_dataclass(
            self.cls.__name__, given, namespace=said, init=False, repr=False, eq=False
        )
        self.cls.__dataclass_fields__ = same.__dataclass_fields__
        return same.__dataclass_fields__


class _LaterInit:
    """Stands for the `__init__` of a class until some objects of it were made: most classes have few.

    Whatever is not as usual, such as a missing argument, is left to the text.
    """

    def __init__(self, cls: Any, every: Sequence[_Stated], frozen: bool) -> None:
        self.cls, self.every, self.frozen, self.calls = cls, every, frozen, 0
        self.names = [f.name for f in every if f.init]

    def __get__(self, obj: Any, owner: Any) -> Any:
        self.calls += 1
        if obj is None or self.calls > _FEW:
            made = self.cls.__init__ = _initializer(self.cls, self.every, self.frozen)
            return made if obj is None else made.__get__(obj, owner)
        return partial(self.fill, obj)

    def fill(self, obj: Any, /, *args: Any, **named: Any) -> None:
        """Give an object its fields."""
        given = dict(zip(self.names, args)) | named
        usual = len(given) == len(args) + len(named) and given.keys() <= set(self.names)
        if not usual or any(f.name not in given for f in self.every if f.init and f.is_needed):
            _initializer(self.cls, self.every, self.frozen)(obj, *args, **named)
            return
        values = obj.__dict__
        for f in self.every:
            if f.name in given:
                values[f.name] = given[f.name]
            elif f.default_factory is not MISSING:
                values[f.name] = f.default_factory()
            elif f.default is not MISSING:
                values[f.name] = f.default
        if hasattr(obj, "__post_init__"):
            obj.__post_init__()


def _initializer(cls: type, every: Sequence[_Stated], frozen: bool) -> Any:
    """The `__init__` of a class: text, as only that is as fast as one written by hand."""
    names: dict[str, Any] = {"MISSING": MISSING, "put": object.__setattr__}
    heads, lines = ["self"], ["pass"]
    for f in every:
        value = f.name
        if f.default_factory is not MISSING:
            names[f"make_{f.name}"] = f.default_factory
            made = f"make_{f.name}()"
            value = f"{made} if {f.name} is MISSING else {f.name}" if f.init else made
        elif f.default is not MISSING:
            names[f"default_{f.name}"] = f.default
        elif not f.init:
            continue
        if f.init:
            later = "=MISSING" if f.default_factory is not MISSING else f"=default_{f.name}"
            heads.append(f.name if f.default is MISSING and f.default_factory is MISSING else f.name + later)
        elif f.default is not MISSING:
            value = f"default_{f.name}"
        lines.append(f"put(self, {f.name!r}, {value})" if frozen else f"self.{f.name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    exec(f"def __init__({', '.join(heads)}):\n " + "\n ".join(lines), names)
    method = names["__init__"]
    method.__qualname__, method.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    return method


def _compared(names: list[str], frozen: bool) -> dict[str, Any]:
    """Equality by the values of fields; a hash of these where they stay as they are."""
    values = attrgetter(*names) if names else lambda self: ()

    def __eq__(self: Any, other: Any) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(values(self))

    return {"__eq__": __eq__, "__hash__": __hash__ if frozen else None}


@recursive_repr()
def _shown(self: Any) -> str:
    shown = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
    return f"{self.__class__.__qualname__}({shown})"


def _refused(self: Any, name: str, value: Any = None) -> None:
    raise dataclasses.FrozenInstanceError(f"{type(self).__name__} stays as it is: {name!r} cannot be changed")


def _is_complete(cls: Any, args: tuple, named: dict[str, Any]) -> bool:
    """Whether a tuple can be made of these values: each for a field, none twice, and none is missing."""
    if len(args) > len(cls._fields):
        return False
    first, rest = cls._fields[: len(args)], set(cls._fields[len(args) :])
    return named.keys() <= rest and rest <= named.keys() | cls._field_defaults.keys() and not named.keys() & set(first)


def _tuple_maker(cls: Any) -> Any:
    """The `__new__` of a named tuple, as text: only that takes keywords as fast as one written by hand."""
    names, defaults = cls._fields, cls._field_defaults
    made = eval(f"lambda cls, {', '.join(names)}: make(cls, ({', '.join(names)},))", {"make": tuple.__new__})
    made.__defaults__ = tuple(defaults.values())
    made.__name__, made.__qualname__, made.__module__ = "__new__", f"{cls.__qualname__}.__new__", cls.__module__
    return made
