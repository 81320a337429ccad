"""What besides a graph decides how it is compiled: the files of termgraph, the rules in use, the flags.

Programs in the cache are kept under these, so that none outlives a change. Only looks at files and at what is loaded:
asking loads neither the rule library nor the generator of code. May import config, terms and `_rulelib`.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator
from hashlib import blake2b
from operator import attrgetter
from typing import Any

import numpy as np

from termgraph import _rulelib
from termgraph._flags import FLAGS
from termgraph.config import config
from termgraph.terms import facts

# Flags that change neither which code is made of a graph in a given mode nor how a finished program is called.
_NO_MATTER = {
    *("allow_gc", "cache.dir", "cache.size_limit", "cache.programs", "cc", "cflags", "compute_test_value", "debug"),
    *(
        "dprint.limit",
        "linker",
        "mode",
        "on_compile_error",
        "on_unused_input",
        "optimizer",
        "optimizer_excluding",
        "optimizer_including",
    ),
    *("print.style", "profile", "reoptimize_unpickled_function", "threads", "traceback.limit"),
}
_FLAGS = {flag.name: flag.default for flag in FLAGS if flag.name not in _NO_MATTER}
_values = attrgetter(*_FLAGS)
_FACTS = facts.added()  # those of the op table: this module is imported before a user can add any


def flags_text() -> str:
    """The flags that matter and do not have their default."""
    changed = [(name, value) for (name, default), value in zip(_FLAGS.items(), _values(config)) if value != default]
    return " ".join([f"{name}={value!r}" for name, value in changed])


@functools.cache
def files_digest() -> str:
    """A digest of all files that termgraph consists of, by size and time of change: no file is read."""
    places = {os.path.dirname(os.path.abspath(_rulelib.__file__)), str(_rulelib.folder())}
    found = sorted(line for place in places for line in _listed(place, ""))
    return blake2b("\n".join(found).encode(), digest_size=20).hexdigest()


def _listed(folder: str, inside: str) -> Iterator[str]:
    for item in os.scandir(folder):
        if item.is_dir():
            if item.name != "__pycache__":
                yield from _listed(item.path, f"{inside}{item.name}/")
        elif item.name.endswith((".py", ".c", ".h")):
            status = item.stat()
            yield f"{inside}{item.name} {status.st_size} {status.st_mtime_ns}"


@functools.cache
def versions() -> str:
    """Python and NumPy: constants are folded by NumPy's functions."""
    return f"Python {sys.version.split()[0]}, NumPy {np.__version__}"


def changed_rules() -> str | None:
    """What makes the rules in use others than those that termgraph ships with, or None."""
    if os.environ.get("TERMGRAPH_RULES"):
        return "TERMGRAPH_RULES names further rules"
    if facts.added() != _FACTS:
        return "facts about ops were added in this process"
    offered = _rulelib.plugins()
    return _defined_here() or (f"{offered[0]} may add rules" if offered else None)


def _defined_here() -> str | None:
    defined, loading = (sys.modules.get(f"termgraph.{m}") for m in ("rules.authoring", "db.loading"))
    if defined is not None and defined.generation() != (loading.library_size if loading is not None else 0):
        return "rules were added or removed in this process"
    database = sys.modules.get("termgraph.db.database")
    passes: Any = database.PASSES.values() if database is not None else ()
    if any(not p.run.__module__.startswith("termgraph.loops.") for p in passes):
        return "graph passes were added in this process"
    return None


__all__ = ["changed_rules", "files_digest", "flags_text", "versions"]
