"""What terms are built on, `etuples.ExpressionTuple` and `unification.Var`, imported without what only versions need.

While they are imported these packages ask for their own versions and compare them. The standard library reads mail
headers for that, and `packaging` compiles a regular expression: together a quarter of `import termgraph`. But an
installer names a folder by the version.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any


class _StandIn(ModuleType):
    """Stands for a module and answers one question; at any other the module itself takes its place again."""

    def __init__(self, name: str, question: str, answer: Callable[[str], Any]) -> None:
        super().__init__(name)
        self.__dict__[question] = lambda asked: answer(asked) or getattr(self._real(), question)(asked)

    def _real(self) -> Any:
        self._leave()
        return importlib.import_module(self.__name__)

    def _leave(self) -> None:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        package, _, name = self.__name__.rpartition(".")
        if getattr(sys.modules.get(package), name, None) is self:
            delattr(sys.modules[package], name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # the machinery of imports looks for these
            raise AttributeError(name)
        return getattr(self._real(), name)


def installed_version(name: str) -> str | None:
    """The version of a distribution by the folder that its installer made; None where no single folder says so.

    >>> installed_version("logical-unification") is None or installed_version("logical-unification") >= "0.4.6"
    True
    """
    start = re.sub("[-_.]+", "_", name).lower() + "-"
    for place in sys.path:
        try:
            files = os.listdir(place or ".")
        except OSError:  # entries of sys.path need not exist
            continue
        found = [f for f in files if f.endswith(("-info", ".egg")) and f.lower().startswith(start)]
        if found:
            told = len(found) == 1 and found[0].endswith(".dist-info")
            return found[0][len(start) : -len(".dist-info")] if told else None
    return None


def _release(version: str) -> tuple[int, ...] | None:
    """A version that is numbers alone, to compare."""
    parts = version.split(".")
    return tuple(map(int, parts)) if all(p.isascii() and p.isdigit() for p in parts) else None


@contextmanager
def _quick_versions() -> Iterator[None]:
    found = _StandIn("importlib.metadata", "version", installed_version)
    compared = _StandIn("packaging.version", "parse", _release)
    stand_ins = [s for s in (found, compared) if s.__name__ not in sys.modules]
    for s in stand_ins:
        sys.modules[s.__name__] = s
    importlib.__dict__.setdefault("metadata", found)
    try:
        yield
    finally:
        for s in stand_ins:
            s._leave()


with _quick_versions():
    import etuples.core
    import unification

ExpressionTuple = etuples.core.ExpressionTuple
Var = unification.Var
