"""The rule database: which rules exist, which a query selects, which fired and why one did not.

from termgraph import db
rs = db.query("+fast_run", "-inplace", "&stabilize")
"""

from importlib import import_module as _import_module
from typing import Any as _Any

from termgraph.db.database import (
    PASSES,
    GraphPass,
    all_rules,
    load,
    makes,
    query,
    register_pass,
    rewrite,
    rewrites,
    rules,
)
from termgraph.db.explain import Explanation, find_rule, why, why_not
from termgraph.db.loading import ERRORS
from termgraph.db.query import TRUSTED, Query
from termgraph.db.saturating import saturate


def __getattr__(name: str) -> _Any:
    if name == "discover":  # it needs the prover, which compiling does not
        return _import_module("termgraph.db.discovering").discover
    raise AttributeError(f"module 'termgraph.db' has no attribute {name!r}")


__all__ = [
    "ERRORS", "PASSES", "TRUSTED", "Explanation", "GraphPass", "Query", "all_rules", "discover", "find_rule", "load",
    "makes", "query", "register_pass", "rewrite", "rewrites", "rules", "saturate", "why", "why_not",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
