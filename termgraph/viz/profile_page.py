"""`profile`: where the time of a function went, compiling and running, as a page of nested bars."""

from __future__ import annotations

from collections import Counter
from html import escape
from pathlib import Path
from typing import Any

from termgraph.function.compiled import Function
from termgraph.viz.page import Page, page, written

_BODY = """<header><h1>{title}</h1><input id="search" type="search" placeholder="mark parts ( / )" aria-label="mark">
<button id="order">slowest first</button><button id="out" title="Escape">all of it</button>
<span id="count" class="note" role="status"></span></header>
<div id="flame" tabindex="0" role="tree" aria-label="nested bars"></div>
<div id="about" class="note" aria-live="polite">point at a bar; a click shows it alone</div>
<div id="room"><table id="slowest"></table></div>"""


def profile(f: Function, outfile: str | Path = "profile.html") -> Page:
    """Write an HTML page with the time that a compiled function took, as bars inside bars.

    Compiling is divided into stages and these into rules; running, of a function that was compiled with `profile=True`
    and called, into kernels, library calls and instructions, and loops into what their steps do. Bars stand in the
    order of the program or the slowest first; a click shows one alone, a field marks parts by name. Works offline; in a
    notebook the result shows itself.

    >>> import numpy as np, pathlib, tempfile, termgraph as tg, termgraph.tensor as T
    >>> x = T.dvector("x")
    >>> f = tg.function([x], T.exp(x).sum(), profile=True, name="total")
    >>> float(f(np.zeros(3)))
    3.0
    >>> "total" in tg.viz.profile(f, pathlib.Path(tempfile.mkdtemp()) / "profile.html").read_text(encoding="utf-8")
    True
    """
    parts = [_compiling(f)]
    known = f.profile
    if known.running and known.calls:
        about = f"{known.calls} calls, most memory of results and intermediate values at once {known.peak_bytes} bytes"
        parts.append(_bar("running", known.seconds, about, _instructions(known)))
    note = (
        "" if len(parts) > 1 else "compile with profile=True and call the function to see where running takes its time"
    )
    title = f"time of {f.name or 'a function'}"
    body = _BODY.format(title=escape(title))
    return written(outfile, page(title, body, "profile", ("profile",), {"parts": parts, "note": note}))


def _bar(name: str, seconds: float, about: str = "", parts: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {"name": name, "seconds": seconds, "about": about, "parts": parts or []}


def _compiling(f: Function) -> dict[str, Any]:
    """The stages in the order they ran, each with the rules that took time in it."""
    by_stage: dict[str, Counter[str]] = {}
    for trace in f.maker.work.rewritten.traces if not f.maker.work.warm else ():
        by_stage.setdefault(trace.stage, Counter()).update(trace.seconds)
    bars = []
    for row in f.stages:
        rules = [_bar(rule, s, "rule") for rule, s in by_stage.pop(row.stage, Counter()).items()]
        sizes = [
            f"{n} {what}" for n, what in zip((row.nodes, row.kernels, row.bytes), ("nodes", "kernels", "bytes")) if n
        ]
        runs = [f"{row.runs} runs"] if row.runs > 1 else []
        bars.append(_bar(row.stage, row.seconds, ", ".join(["stage", *runs, *sizes]), rules))
    return _bar("compiling", sum(b["seconds"] for b in bars), "", bars)


def _instructions(known: Any) -> list[dict[str, Any]]:
    """What a program does in the order it does it; loops with what is in their steps."""
    rows = sorted(known.rows(), key=lambda r: r["instruction"])
    return [
        _bar(
            r["expression"],
            r["seconds"],
            f"{r['op']}, {r['calls']} times, {r['bytes']} bytes",
            _instructions(known.loops[r["instruction"]]) if r["instruction"] in known.loops else [],
        )
        for r in rows
    ]
