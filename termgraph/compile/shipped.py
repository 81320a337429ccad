"""What besides a graph decides how it is compiled: the files of termgraph, the rules in use, the flags.

Programs in the cache are kept under these, so that none outlives a change. Only looks at files and at what is loaded:
asking loads neither the rule library nor the generator of code.
"""

from __future__ import annotations

import sys
from operator import attrgetter
from typing import Any

from termgraph import _rulelib
from termgraph._flags import FLAGS
from termgraph.config import config
from termgraph.terms import facts

# Flags that change neither which code is made of a graph in a given mode nor how a finished program is called. Not
# `cflags`: they may forbid vectors, and texts and ways of convolutions are chosen for vectors of some length.
_NO_MATTER = {
    *("allow_gc", "cache.dir", "cache.size_limit", "cache.programs", "cc", "compute_test_value", "debug"),
    *(
        "dprint.limit",
        "linker",
        "mode",
        "on_compile_error",
        "on_unused_input",
        "python_parts",
        "optimizer",
        "optimizer_excluding",
        "optimizer_including",
    ),
    *("print.style", "profile", "progress", "reoptimize_unpickled_function", "threads", "traceback.limit"),
}
_FLAGS = {flag.name: flag.default for flag in FLAGS if flag.name not in _NO_MATTER}
_values = attrgetter(*_FLAGS)


def flags_text() -> str:
    """The flags that matter and do not have their default."""
    changed = [(name, value) for (name, default), value in zip(_FLAGS.items(), _values(config)) if value != default]
    return " ".join([f"{name}={value!r}" for name, value in changed])


def changed_rules() -> str | None:
    """What makes the rules in use others than those that termgraph ships with, or None."""
    if config.rules.path:
        return "TERMGRAPH_RULES names further rules"
    if facts.changed():
        return "facts about ops were added in this process"
    offered = _rulelib.plugins() if config.plugins else ()
    return _defined_here() or (f"{offered[0]} may add rules" if offered else None)


def _defined_here() -> str | None:
    defined = sys.modules.get("termgraph.rules.defined")
    if defined is not None and defined.changes() != 0:
        return "rules were added or removed in this process"
    database = sys.modules.get("termgraph.db.database")
    passes: Any = database.PASSES.values() if database is not None else ()
    if any(not p.run.__module__.startswith("termgraph.loops.") for p in passes):
        return "graph passes were added in this process"
    return None
