"""The rule database: which rules exist, which a query selects, which fired and why one did not.

from termgraph import db
rs = db.query("+fast_run", "-inplace", "&stabilize")

Names are imported when they are first used: a gradient from its image needs few of the modules behind them.
"""

from termgraph._lazy import names_later as _names_later

_LATER = {
    "termgraph.db.database": "PASSES GraphPass all_rules load makes query register_pass rewrite rewrites rules",
    "termgraph.db.discovering": "discover",
    "termgraph.db.explain": "Explanation find_rule why why_not",
    "termgraph.db.loading": "ERRORS",
    "termgraph.db.queries": "TRUSTED Query",
    "termgraph.db.saturating": "saturate",
}  # fmt: skip
__getattr__, __all__ = _names_later(__name__, _LATER)


def __dir__() -> list[str]:
    return __all__
