"""Modules that are imported when they are first used: heavy packages of others, rooms that a quick start never enters.

`lazy("scipy.special")` stands at the top of a module where an import would; the layer tests read it as one.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any


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


__all__ = ["lazy"]
