"""Modules made from the table of names, when they are first imported; `install()` gives them Theano's own name.

A name is looked up in the table when it is first read, so that importing the package costs next to nothing.
Imports nothing of termgraph but the table.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from termgraph.theano.names import MODULES, REFUSALS, SOURCES

if TYPE_CHECKING:
    pass

ROOT = "termgraph.theano"


class Name:
    """One entry of the table: `module` has the object under the name `there`, or nobody has it because of `refused`."""

    __slots__ = ("module", "refused", "there")

    def __init__(self, module: str, there: str, refused: str = "") -> None:
        self.module, self.there, self.refused = module, there, refused

    def load(self) -> Any:
        """The object itself. A source without a name is the module."""
        import_module(f"{ROOT}.views")
        found = import_module(self.module)
        for part in self.there.split(".") if self.there else ():
            found = getattr(found, part)
        return found


@cache
def names_of(module: str) -> Mapping[str, Name]:
    """The names of one of Theano's modules (`tensor.nnet`), the whole being the empty text."""
    found: dict[str, Name] = {}
    for line in MODULES[module].strip().splitlines():
        source, _, rest = line.partition(":")
        source = source.strip()
        for word in rest.split():
            name, _, there = word.partition("=")
            if word == "*" and not source.startswith("!"):  # all that a file of this package offers
                listed = import_module(_module_of(source)).__all__
                found.update({k: Name(_module_of(source), k) for k in listed if k not in found})
                continue
            if source == "as":  # all of another of Theano's modules
                found.update({k: v for k, v in names_of(name).items() if k not in found})
            elif source.startswith("!"):
                found[name] = Name("", "", REFUSALS[source[1:]])
            else:
                found[name] = Name(_module_of(source), "" if there == "." else there or name)
    return found


def entry_of(module: str, name: str) -> Name | None:
    """The entry of a name; a module of which everything else is refused has one under `*`."""
    listed = names_of(module)
    found = listed.get(name)
    if found is None and not name.startswith("_") and f"{module}.{name}" not in MODULES:
        found = listed.get("*")
    return found


def _module_of(source: str) -> str:
    """The module that a source means: a short name of the table, or a file of this package."""
    return SOURCES.get(source, f"{ROOT}.{source}")


class RefusedName(AttributeError):
    """A name of Theano's that termgraph does not have, with the reason and what to write instead."""


class TheanoModule(ModuleType):
    """A module whose names come from the table."""

    def __getattr__(self, name: str) -> Any:
        own = _path(self.__name__)
        entry = entry_of(own, name)
        if entry is not None and not entry.refused:
            found = entry.load()
            ModuleType.__setattr__(self, name, found)
            return found
        if entry is not None:
            raise RefusedName(_refusal(own, name, entry), name=name)
        if name == "__all__":
            return [n for n, e in names_of(own).items() if not e.refused and not n.startswith("_")]
        inner = f"{own}.{name}".lstrip(".")
        if inner in MODULES:
            return import_module(f"{ROOT}.{inner}")
        shown = f"theano.{own}".rstrip(".")
        raise AttributeError(f"module {shown!r} has no attribute {name!r}", name=name, obj=self)

    def __setattr__(self, name: str, value: object) -> None:
        # Importing a submodule sets it on its parent, also where the parent has a function of that name.
        if isinstance(value, TheanoModule) and name in names_of(_path(self.__name__)):
            return
        ModuleType.__setattr__(self, name, value)

    def __dir__(self) -> list[str]:
        own = _path(self.__name__)
        inner = [m.rpartition(".")[2] for m in MODULES if m and m.rpartition(".")[0] == own]
        return sorted({*self.__dict__, *names_of(own), *inner})


def _refusal(own: str, name: str, entry: Name) -> str:
    return f"theano.{own}.{name}: ".replace("..", ".") + entry.refused


def _path(module: str) -> str:
    """`tensor.nnet` for `termgraph.theano.tensor.nnet`."""
    return module.removeprefix(ROOT).removeprefix(".")


def adopt(module: ModuleType) -> None:
    """Make the package itself the outermost of Theano's modules."""
    if not any(isinstance(finder, TableFinder) for finder in sys.meta_path):
        sys.meta_path.append(TableFinder())


class TableFinder(MetaPathFinder):
    """Finds `termgraph.theano.tensor.nnet`, and `theano.tensor.nnet` after `install()`."""

    installed: tuple[str, ...] = ()

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        own = _own_path(fullname, self.installed)
        if own is None:
            return None
        if own in MODULES:
            return ModuleSpec(fullname, _Maker(), is_package=True)
        outer, _, name = own.rpartition(".")
        entry = entry_of(outer, name) if outer in MODULES else None
        if entry is not None and entry.refused:  # asked for by `from module import name`
            raise ImportError(_refusal(outer, name, entry), name=fullname)
        return None


def _own_path(fullname: str, installed: Sequence[str]) -> str | None:
    if fullname.startswith(f"{ROOT}."):
        return _path(fullname)
    first, _, rest = fullname.partition(".")
    return rest if first in installed else None


class _Maker(Loader):
    """Makes a module of the table, once for all names it goes by."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        own = _own_path(spec.name, TableFinder.installed)
        name = f"{ROOT}.{own}" if own else ROOT
        if spec.name != name:
            return import_module(name)
        module = TheanoModule(name, f"Theano's module `theano.{own}`, on termgraph.")
        module.__path__ = []
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing runs: names are looked up when they are read."""
        spec = module.__spec__
        if spec is not None and not spec.name.startswith(ROOT):  # the import system has put the alias's spec here
            module.__spec__ = ModuleSpec(module.__name__, spec.loader, is_package=True)


def install(*names: str) -> None:
    """Answer plain `import theano` in this process with termgraph, for libraries that cannot be edited.

    Call it before anything imports Theano. Other names may be given: `install("theano", "aesara")`.

    >>> import termgraph.theano
    >>> termgraph.theano.install()
    >>> import theano.tensor as T
    >>> T.nnet.relu(T.dscalar("x")).eval({"x": -2.0})
    array(0.)
    """
    for name in names or ("theano",):
        there = sys.modules.get(name)
        if there is not None and there is not sys.modules[ROOT]:
            raise ImportError(
                f"another module {name!r} is imported already; call termgraph.theano.install() before it is"
            )
        TableFinder.installed = tuple(dict.fromkeys((*TableFinder.installed, name)))
        sys.modules[name] = sys.modules[ROOT]


def modules() -> Iterator[str]:
    """The paths of all modules, the whole being the empty text."""
    yield from MODULES
