"""Where the rule library is: the one place that knows how it was installed.

In a wheel the rule files are the folder termgraph/rulelib; in a checkout (plain or installed with `pip install -e`)
they are the folder rules/ beside the package. Imports `_lazy` only.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
import time
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

from termgraph._lazy import lazy

if TYPE_CHECKING:
    from pathlib import Path

pathlib = lazy("pathlib")

PACKAGE = "termgraph.rulelib"
ENTRY_POINTS = "termgraph.rules"  # the group of entry points by which a package offers rules
IMPORTED = time.time_ns()  # about when this process began to read termgraph
_HERE = os.path.dirname(os.path.realpath(__file__))
COMPANIONS: list[str] = []  # modules of upper rooms that add to the rule database: imported together with the library


def where() -> str:
    """The folder that holds the rule files.

    >>> os.path.basename(where()) in ("rulelib", "rules")
    True
    """
    candidates = (os.path.join(_HERE, "rulelib"), os.path.join(os.path.dirname(_HERE), "rules"))
    for candidate in candidates:
        if os.path.isfile(os.path.join(candidate, "__init__.py")):
            return candidate
    looked_in = " or ".join(candidates)
    raise FileNotFoundError(f"the rule library is missing: no __init__.py in {looked_in}; reinstall termgraph")


def folder() -> Path:
    """The same as a path of `pathlib`, which programs that look at no rule file do not import."""
    return pathlib.Path(where())


def files() -> list[Path]:
    """The rule files, sorted by name so that every process loads them in the same order."""
    return sorted(path for path in folder().rglob("*.py") if path.name != "__init__.py")


def module_name(path: Path) -> str:
    """The importable name of a rule file: `rules/algebra.py` is `termgraph.rulelib.algebra`."""
    inside = path.resolve().relative_to(folder()).with_suffix("")
    return ".".join((PACKAGE, *inside.parts))


def package() -> ModuleType:
    """The rule library as a package, so that `import termgraph.rulelib.algebra` works however termgraph is installed.

    The package is built from `folder()` and not searched for: with two copies of termgraph on one machine (an
    installed one and a checkout), a search could answer with the rules of the other copy.
    """
    if PACKAGE in sys.modules:
        return sys.modules[PACKAGE]
    spec = _spec()
    assert spec is not None and spec.loader is not None, "a path that ends in .py always has a loader"
    module = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = module
    spec.loader.exec_module(module)
    sys.modules["termgraph"].rulelib = module  # type: ignore[attr-defined]
    return module


def _spec() -> ModuleSpec | None:
    place = where()
    return importlib.util.spec_from_file_location(
        PACKAGE, os.path.join(place, "__init__.py"), submodule_search_locations=[place]
    )


class _Finder:
    """What `import termgraph.rulelib` asks last: in a checkout no folder has that name."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        return _spec() if name == PACKAGE else None


sys.meta_path.append(_Finder)


def plugins() -> tuple[str, ...]:
    """The installed packages that offer rules (or, packed in one file, may do so): names of their folders or files.

    Looked up in the files themselves: `importlib.metadata`, which parses everything, would take 20 ms.
    """
    return _plugins(tuple(sys.path))


@functools.lru_cache(maxsize=4)
def _plugins(path: tuple[str, ...]) -> tuple[str, ...]:
    found: list[str] = []
    for place in dict.fromkeys(path):
        try:
            names = os.listdir(place or ".")
        except OSError:  # entries of sys.path need not exist
            continue
        for name in sorted([n for n in names if n.endswith((".dist-info", ".egg-info", ".egg", ".whl"))]):
            if name.endswith((".egg", ".whl")) or _offers_rules(os.path.join(place, name)):
                found.append(name)
    return tuple(found)


def _offers_rules(package: str) -> bool:
    described = os.path.join(package, "entry_points.txt")
    if not os.access(described, os.R_OK):  # as most: an error would take three times as long
        return False
    try:
        text = os.open(described, os.O_RDONLY)  # `open` asks for what kind of file it is, four times
    except OSError:  # it offers nothing
        return False
    try:
        return f"[{ENTRY_POINTS}]".encode() in os.read(text, os.fstat(text).st_size)
    except OSError:
        return False
    finally:
        os.close(text)
