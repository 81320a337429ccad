"""Classes of named fields: dataclasses that are made in a fifth of the time. Uses the standard library only.

`dataclass` compiles the text of up to six functions for each class, half a millisecond to a whole one, and the first
compilation of a process makes fifty classes. Here `__init__` alone is text; all else is the same for every class.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as record
else:

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
        made = dataclass(cls, init=False, repr=False, eq=False)
        every, own = fields(made), cls.__dict__
        methods = {"__repr__": _shown, "__init__": _initializer(cls, every, frozen)}
        if eq:
            methods |= _compared([f.name for f in every if f.compare], frozen)
        if frozen:
            methods |= {"__setattr__": _refused, "__delattr__": _refused}
        for name, method in methods.items():
            if own.get(name) is None:  # what the class says itself stays; Python says `__hash__ = None` beside `__eq__`
                setattr(made, name, method)
        return made


def _initializer(cls: type, every: Sequence[dataclasses.Field], frozen: bool) -> Any:
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


__all__ = ["record"]
