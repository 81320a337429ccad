"""The table of `ops.py`: what a row says, how rows are counted, and the page with bars."""

from __future__ import annotations

import html
import statistics
from typing import Any

PEERS = ("numpy", "jax", "torch")
BEHIND, FAR = 1.15, 1.5  # shares of the best peer's time from which a row counts as lost


def judged(row: dict[str, Any]) -> dict[str, Any]:
    """A row with its best peer, our ratio to it, and the distance to the limit."""
    times = {name: t for name, t in row["times"].items() if name not in row["wrong"]}
    rivals = {name: times[name] for name in PEERS if name in times}
    best = min(rivals, key=rivals.__getitem__) if rivals else None
    ours = times.get("termgraph")
    ratio = ours / rivals[best] if ours is not None and best is not None else None
    far = ours / row["limit"] if ours is not None and row.get("limit") else None
    return row | {"best": best, "ratio": ratio, "distance": far}


def line(row: dict[str, Any]) -> str:
    """One row as text: the case, microseconds, our ratio."""
    parts = [f"{row['case']:62}"[:76]]
    for name in (*PEERS, "termgraph"):
        text = f"{row['times'][name] * 1e6:.4g}" if name in row["times"] else "-"
        parts.append(f"{text + ('!' if name in row['wrong'] else ''):>10}")
    parts.append(
        f"{row['ratio']:6.2f} of {row['best']}"
        if row["ratio"] is not None
        else f"   {row['errors'].get('termgraph', 'no peer')[:50]}"
    )
    if row["distance"] is not None and row["size"] != "small":
        parts.append(f"{row['distance']:7.1f} x {'limit' if row.get('counted', True) else 'bytes'}")
    return "  ".join(parts)


def summary(rows: list[dict[str, Any]]) -> list[str]:
    """How many rows there are, and how many are lost."""
    ratios = [row["ratio"] for row in rows if row["ratio"] is not None]
    if not ratios:
        return [f"# {len(rows)} rows, none with a peer"]
    lost = [sum(r > bar for r in ratios) / len(ratios) for bar in (BEHIND, FAR)]
    shares = f"above {BEHIND} of the best: {lost[0]:.1%}, above {FAR}: {lost[1]:.1%}"
    median = f"median ratio {statistics.median(ratios):.2f}"
    out = [f"# {len(rows)} rows, {len(ratios)} with a peer; {shares}; {median}"]
    for size in ("small", "middle", "large"):
        some = [r["ratio"] for r in rows if r["size"] == size and r["ratio"] is not None]
        if some:
            out.append(
                f"#   {size}: {len(some)} rows, median {statistics.median(some):.2f}, "
                f"above {BEHIND}: {sum(r > BEHIND for r in some)}{distances(rows, size)}"
            )
    wrong = [row["case"] for row in rows if "termgraph" in row["wrong"]]
    out += [f"! results differ: {', '.join(wrong)}"] if wrong else []
    failed = [row["case"] for row in rows if "termgraph" in row["errors"]]
    return out + ([f"! not run: {', '.join(failed)}"] if failed else [])


def distances(rows: list[dict[str, Any]], size: str) -> str:
    """The median distance to the limit, of rows that have one and, for comparison, of all."""
    far = [r for r in rows if r["size"] == size and r["distance"] is not None]
    near = [r["distance"] for r in far if r.get("counted", True)]
    if not near or size == "small":
        return ""
    all_rows = statistics.median(r["distance"] for r in far)
    return f", median distance to the limit {statistics.median(near):.2f} of {len(near)} rows (of all {all_rows:.2f})"


def table(rows: list[dict[str, Any]], worst: int) -> str:
    """The worst rows and the counts, as text."""
    ranked = sorted((row for row in rows if row["ratio"] is not None), key=lambda row: -row["ratio"])
    head = "  ".join([f"{'us':62}", *(f"{name:>10}" for name in (*PEERS, "termgraph")), "ours against the best"])
    return "\n".join([head, *[line(row) for row in ranked[:worst]], *summary(rows)])


STYLE = """body{font:14px system-ui;margin:2em;max-width:75em}
table{border-collapse:collapse;width:100%} td,th{padding:2px 8px;text-align:right;border-bottom:1px solid #eee}
td:first-child,th:first-child{text-align:left} td.bars{width:30%} i{color:#888}
.bar{height:9px;background:#4a9;min-width:1px} .lost .bar{background:#d55}"""


def page(document: dict[str, Any]) -> str:
    """The table as a page: a bar for each row, as long as our time over the best peer's."""
    rows = sorted((r for r in document["rows"] if r["ratio"] is not None), key=lambda row: -row["ratio"])
    top = "".join(f"<p>{html.escape(text.lstrip('# '))}</p>" for text in summary(document["rows"]))
    cells = "".join(_cells(row) for row in rows)
    names = "".join(f"<th>{name}</th>" for name in (*PEERS, "termgraph"))
    return (
        f"<!doctype html><meta charset='utf-8'><title>Every function beside its best peer</title><style>{STYLE}</style>"
        f"<h1>Every function beside its best peer</h1>"
        f"<p>{html.escape(document['machine'])}, {document['threads']} thread(s); microseconds, CPU time. "
        f"A bar is our time over the best peer's; red is behind by more than {BEHIND - 1:.0%}.</p>{top}"
        f"<table><tr><th>row</th>{names}<th>ratio</th><th>to the limit</th><th></th></tr>{cells}</table>\n"
    )


def _cells(row: dict[str, Any]) -> str:
    times = "".join(
        f"<td>{row['times'][n] * 1e6:.4g}</td>" if n in row["times"] else "<td><i>-</i></td>"
        for n in (*PEERS, "termgraph")
    )
    distance = f"{row['distance']:.1f}" if row["distance"] is not None and row["size"] != "small" else ""
    lost = " class='lost'" if row["ratio"] > BEHIND else ""
    width = min(100.0, 30 * row["ratio"])
    return (
        f"<tr{lost}><td>{html.escape(row['case'])}</td>{times}<td>{row['ratio']:.2f}</td><td>{distance}</td>"
        f"<td class='bars'><div class='bar' style='width:{width:.0f}%'></div></td></tr>\n"
    )
