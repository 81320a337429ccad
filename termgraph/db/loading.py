"""Finding and loading rule files: the library, `TERMGRAPH_RULES`, entry points, `db.load(path)`.

A file with a mistake is reported with file and line; what is good in it, and all other files, still load.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import sys
import warnings
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from os import PathLike
from pathlib import Path
from typing import Any

from termgraph import _rulelib
from termgraph._lazy import lazy
from termgraph._logs import Log
from termgraph.config import config
from termgraph.rules import authoring, defined
from termgraph.rules.defined import DEFINED, changes, count_as_library
from termgraph.rules.definition import Rule
from termgraph.terms.errors import RuleError, RuleWarning

log = Log("rules")
traceback = lazy("traceback")
metadata = lazy("importlib.metadata")

ERRORS: list[RuleError] = []  # everything refused so far
LOADED: dict[str, list[str]] = {}  # file -> names of the rules it defined
LIBRARY: dict[str, Rule] = {}  # the rules that came with termgraph


def load_library() -> None:
    """Load the rule library, the files of the flag rules.path and installed plug-ins."""
    load_files()
    load_companions()
    for entry in config.rules.path:
        path = Path(entry)
        files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        for file in files:
            load(file)
    if not (config.plugins and _rulelib.plugins()):
        return
    for point in sorted(metadata.entry_points(group=_rulelib.ENTRY_POINTS), key=lambda p: (p.name, p.value)):
        _guarded(f"entry point {point.name} = {point.value}", point.load)


def load_files(*beginnings: str) -> None:
    """Load the files of the library, or those whose names begin like one of these."""
    before, folder = changes(), _rulelib.where()
    _rulelib.package()
    for path in _rulelib.files():
        if path.name.startswith(beginnings or ("",)):
            _guarded(str(path), functools.partial(importlib.import_module, _rulelib.module_name(path)))
    count_as_library(before)
    LIBRARY.update({name: r for name, r in DEFINED.items() if r.where.startswith(folder)})


def load_companions() -> None:
    """Import what adds graph passes to the database."""
    for name in _rulelib.COMPANIONS:
        importlib.import_module(name)


class _AsItIsNow(SourceFileLoader):
    """Reads a rule file anew each time: Python's cache of bytecode misses a change within one second."""

    def path_stats(self, path: str | PathLike) -> Any:
        raise OSError("no bytecode is read or written")


def load(path: str | PathLike) -> list[str]:
    """Load one rule file; the names of its rules. Loading a file again replaces its rules."""
    path = Path(path).expanduser()
    where = str(path.resolve())
    if not path.is_file():
        _report(where, RuleError(f"rule file {path} does not exist"))
        return []
    if where in LOADED:
        defined.forget(LOADED[where])
    name = f"termgraph_rules_{path.stem}_{abs(hash(where)):x}"
    spec = importlib.util.spec_from_file_location(name, where, loader=_AsItIsNow(name, where))
    assert spec is not None and spec.loader is not None, "a path that ends in .py always has a loader"
    module = importlib.util.module_from_spec(spec)
    before = set(DEFINED)

    def run() -> None:
        sys.modules[name] = module
        spec.loader.exec_module(module)  # type: ignore[union-attr]

    _guarded(where, run)
    LOADED[where] = sorted(set(DEFINED) - before)
    log.info("%s: %d rules", where, len(LOADED[where]))
    return LOADED[where]


def _guarded(where: str, run: Callable[[], Any]) -> None:
    with authoring.collecting_errors() as refused:
        try:
            run()
        except RuleError as err:
            refused.append(err)
        except Exception as err:  # a rule file is a program: anything may go wrong in it, and is reported
            refused.append(RuleError(f"rule file {_place(where, err)}: {type(err).__name__}: {err}"))
        except SystemExit as err:
            refused.append(RuleError(f"rule file {where} called exit({err.code!r})"))
    for error in refused:
        _report(where, error)


def _place(where: str, err: Exception) -> str:
    if isinstance(err, SyntaxError):
        return f"{err.filename}:{err.lineno}"
    lines = [f.lineno for f in traceback.extract_tb(err.__traceback__) if os.path.abspath(f.filename) == where]
    return f"{where}:{lines[-1]}" if lines else where


def _report(where: str, error: RuleError) -> None:
    ERRORS.append(error)
    warnings.warn(RuleWarning(f"{error} (left out; everything else is loaded)"), stacklevel=4)
