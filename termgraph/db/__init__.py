"""The rule database: which rules exist, which a query selects, which fired and why one did not.

from termgraph import db
rs = db.query("+fast_run", "-inplace", "&stabilize")

Names are imported when they are first used: a gradient from its image needs few of the modules behind them.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from termgraph._lazy import names_later as _names_later

if _TYPE_CHECKING:
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
    from termgraph.db.queries import TRUSTED, Query
    from termgraph.db.saturating import saturate

__getattr__ = _names_later(__name__, {
    "termgraph.db.database": "PASSES GraphPass all_rules load makes query register_pass rewrite rewrites rules",
    "termgraph.db.discovering": "discover",
    "termgraph.db.explain": "Explanation find_rule why why_not",
    "termgraph.db.loading": "ERRORS",
    "termgraph.db.queries": "TRUSTED Query",
    "termgraph.db.saturating": "saturate",
})  # fmt: skip


__all__ = [
    "ERRORS", "PASSES", "TRUSTED", "Explanation", "GraphPass", "Query", "all_rules", "discover", "find_rule", "load",
    "makes", "query", "register_pass", "rewrite", "rewrites", "rules", "saturate", "why", "why_not",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
