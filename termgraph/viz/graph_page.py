"""`d3viz`: the page of a graph, to move about in, open boxes in place and search; one file without libraries."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from termgraph.viz.graph_data import graph_data
from termgraph.viz.measured import stages_table
from termgraph.viz.page import Page, page, written
from termgraph.viz.scene import Scenes, scenes_of

if TYPE_CHECKING:
    pass

MOST_ON_PAGE = 100_000
SCRIPTS = ("graph_layout", "graph_drawing", "graph")
HEAT = " The redder an operation, the more of the time its kernel took (operations of one kernel have one colour)."
_KEY = (
    ("input", "input"), ("shared", "shared variable"), ("constant", "constant"), ("op", "operation"),
    ("kernel", "kernel"), ("branch", "branch"), ("output", "output"),
    ("apply", "application"), ("variable", "variable"), ("operator", "op"), ("type", "type"),
)  # fmt: skip
_STROKES = (("view", "read where it lies (a view)"), ("destroyed", "written over"))


def d3viz(obj: object, outfile: str | Path = "graph.html") -> Page:
    """Write an HTML page with the graph of a variable, a list of variables or a compiled function.

    Drag the background to move, turn the wheel to zoom, drag a box to place it. Point at a box to see its dtype and
    shape, the line of your program it comes from, the rules that made it and the time it took. A box with a plus has a
    graph inside: a kernel of a compiled function, a branch of `ifelse`, a loop, an `OpFromGraph`. A click opens it in
    place, another on its head closes it. The field finds boxes by operation, name, dtype, line or rule. A double-click
    changes a label. The operations of a function that was compiled with `profile=True` and called have the colour of
    the time they took. Under the graph of a compiled function is the table of its stages, `f.stages`. Works offline.

    >>> import pathlib, tempfile, termgraph as tg, termgraph.tensor as T
    >>> x = T.dvector("x")
    >>> path = tg.viz.d3viz(tg.function([x], T.exp(x).sum()), pathlib.Path(tempfile.mkdtemp()) / "graph.html")
    >>> "<canvas" in path.read_text(encoding="utf-8")
    True
    """
    return written(outfile, graph_page(scenes_of(obj, MOST_ON_PAGE), obj))


def graph_page(scenes: Scenes, obj: object) -> str:
    """The page of scenes that were made of an object."""
    title = scenes[0].title
    buttons = "".join(
        f'<button id="{name}" title="{about}">{text}</button>'
        for name, text, about in (
            ("next", "next", "the next box that was found (n, Enter)"), ("fit", "fit", "all of it (0)"),
            ("open", "open all", "show the graphs inside boxes (o)"), ("close", "close all", "hide them (c)"),
        )
    )  # fmt: skip
    body = (
        f'<header><h1>{escape(title)}</h1><input id="search" type="search" aria-label="find" '
        f'placeholder="find an operation, a name, a dtype, a rule ( / )"><span id="count" class="note" role="status">'
        f'</span>{buttons}<span class="note">{_size(scenes)}</span></header>\n'
        f'<div id="room"><canvas id="graph" tabindex="0" role="img" aria-label="{escape(_size(scenes), quote=True)}">'
        f'</canvas><div id="facts" aria-live="polite"></div></div>\n<div id="tip" role="tooltip" hidden></div>\n'
        f'<footer><div class="note">{_key(scenes)}</div>{_stages(obj)}</footer>'
    )
    return page(title, body, "graph", SCRIPTS, graph_data(scenes))


def _size(scenes: Scenes) -> str:
    inside = sum(len(s.nodes) for s in scenes[1:])
    return f"{len(scenes[0].nodes)} boxes" + (f", {inside} more inside them" if inside else "")


def _key(scenes: Scenes) -> str:
    kinds = {n.kind for scene in scenes for n in scene.nodes}
    roles = {e.role for scene in scenes for e in scene.edges}
    parts = [f'<i style="background:var(--{kind})"></i>{text}' for kind, text in _KEY if kind in kinds]
    parts += [f'<i class="stroke" style="color:var(--{r})"></i>{text}' for r, text in _STROKES if r in roles]
    shown = "".join(f'<span class="key">{part}</span>' for part in parts)
    return shown + (HEAT if any(s.timed for s in scenes) else "")


def _stages(obj: object) -> str:
    table = stages_table(obj)
    return f"<details><summary>how it was compiled</summary>{table}</details>" if table else ""
