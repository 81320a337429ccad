"""`timeline`: what rewriting did to a graph, step by step, as a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

from termgraph.viz.infix import pp
from termgraph.viz.page import FILTER_SCRIPT, page

MOST_STEPS = 2000


def timeline(traced: Any, outfile: str | Path = "rewrites.html") -> Path:
    """Write an HTML page with the rewrites of a compiled function (or of a trace), in order, and counts by rule.

    Each line has the stage, the rule with its file and line, and the expression before and after. A field filters them.
    """
    records = list(getattr(traced, "trace", traced))
    title = f"{len(records)} rewrites"
    body = (
        f"{_counts(records)}\n<input placeholder='filter: a rule, a stage, part of an expression'>\n{_steps(records)}"
    )
    path = Path(outfile)
    path.write_text(page(title, body, FILTER_SCRIPT), encoding="utf-8")
    return path


def _counts(records: Iterable[Any]) -> str:
    found = Counter(r.rule for r in records).most_common(20)
    most = max((n for _, n in found), default=1)
    rows = []
    for rule, n in found:
        bar = f"<span class='bar' style='width:{160 * n / most:.0f}px'></span>"
        rows.append(f"<tr><td>{escape(rule)}</td><td>{n}</td><td>{bar}</td></tr>")
    return "<table><tr><th>rule</th><th>times</th><th></th></tr>" + "\n".join(rows) + "</table>"


def _steps(records: list[Any]) -> str:
    rows = [_step(k, r) for k, r in enumerate(records[:MOST_STEPS], 1)]
    if len(records) > MOST_STEPS:
        rows.append(f"<tr><td colspan='5'>and {len(records) - MOST_STEPS} more</td></tr>")
    head = "<tr><th></th><th>stage</th><th>rule</th><th>before</th><th>after</th></tr>"
    return f"<table>{head}\n" + "\n".join(rows) + "</table>"


def _step(k: int, r: Any) -> str:
    rule = f"<td title='{escape(str(r.where))}'>{escape(r.rule)}</td>"
    terms = f"<td class='term'>{_text(r.before)}</td><td class='term'>{_text(r.after)}</td>"
    return f"<tr class='step'><td>{k}</td><td>{escape(r.stage)}</td>{rule}{terms}</tr>"


def _text(term: Any) -> str:
    text = pp(term)
    return escape(text if len(text) <= 160 else text[:157] + "...")


__all__ = ["timeline"]
