"""Modules that are imported when they are first used: heavy packages of others, rooms that a quick start never enters.

`lazy("scipy.special")` stands at the top of a module where an import would; the layer tests read it as one. Regular
expressions are compiled when they are first used likewise: that takes 0.2 ms each, and most programs need few of them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any, cast


class _Later(ModuleType):
    """Stands for a module; what is asked of it is asked of the module, which is imported by the first question."""

    def __getattr__(self, name: str) -> Any:
        state = self.__dict__
        found = state.get("_module")
        if found is None:
            found = state["_module"] = import_module(state["__name__"])
        return getattr(found, name)


def lazy(name: str) -> ModuleType:
    """The module of that name, imported when something in it is first used.

    >>> fractions = lazy("fractions")
    >>> fractions.Fraction(1, 2) + 1
    Fraction(3, 2)
    """
    return _Later(name)


def names_later(package: str, modules: dict[str, str]) -> tuple[Callable[[str], Any], list[str]]:
    """The `__getattr__` and `__all__` of a package whose names are imported when they are first asked for: `modules`
    has the names by the module that each is in. Checkers of types read a stub, which scripts/make_stubs.py writes.
    """
    home = {name: module for module, names in modules.items() for name in names.split()}

    def found(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package])
        value = getattr(import_module(home[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return found, sorted(home)


class _Pattern:
    """Stands for a compiled expression; keeps the methods that were asked for."""

    def __init__(self, text: str, flags: int) -> None:
        self._given = text, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(*self._given), name)
        setattr(self, name, found)
        return found


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """The regular expression, compiled when one of its methods is first used.

    >>> pattern("[0-9]+").findall("12 and 3")
    ['12', '3']
    """
    return cast("re.Pattern[str]", _Pattern(text, flags))
