"""The text that checks indices from data and reports failures. Pure text."""

from __future__ import annotations

from termgraph.terms.term import AnyTerm

BAD_INDEX = 3  # that an index from data is out of bounds
FAILED = 6  # the code by which a routine reports that there is no result; the text of the site says why


def bad(name: str, length: str) -> str:
    """Whether one of the indices seen was out of range."""
    return f"{name}_low < -({length}) || {name}_high >= {length}"


def failure(t: AnyTerm, name: str, length: str, st: str = "st") -> str:
    """Report the index that was out of range."""
    worst = f"{name}_high >= {length} ? {name}_high : {name}_low"
    return f"tg_fail({st}, {BAD_INDEX}, {t.op.params['site']}, {worst}, {length}, 0, 0)"
