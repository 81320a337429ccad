"""Pictures of graphs: `d3viz` writes a page to move about in, `to_svg` gives the picture alone, `to_dot` Graphviz text.

Everything is in the one file that is written: no libraries, no network. May import tensor and terms.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from html import escape
from pathlib import Path
from typing import Any

from termgraph.viz.layout import GAP_Y, layered
from termgraph.viz.page import GRAPH_SCRIPT, page
from termgraph.viz.scene import Node, Scene, scenes_of

FILLS = {"input": "#d5e8f7", "shared": "#d8f0d2", "constant": "#eeeeee", "op": "#fff6dd", "output": "#f3dcef"}
STROKES = {"": "#888888", "view": "#2b5fd9", "destroyed": "#d92b2b"}
HEIGHT, MARGIN, PER_CHARACTER = 26.0, 20.0, 7.2
LEGEND = (
    "blue edge: read where it lies (a view); red edge: written over. Dashed box: has a graph inside, click to see it."
)


def d3viz(obj: Any, outfile: str | Path = "graph.html") -> Path:
    """Write an HTML page with the graph of a variable, a list of variables or a compiled function.

    Drag the background to move, turn the wheel to zoom, drag a box to place it, click it for dtype, shape and the line
    of your program it comes from, double-click to change its label. Loops and folded graphs open below. Works offline.
    """
    scenes = scenes_of(obj)
    body = "\n".join(_section(k, scene) for k, scene in enumerate(scenes))
    path = Path(outfile)
    path.write_text(page(scenes[0].title, f'<p class="note">{LEGEND}</p>\n{body}', GRAPH_SCRIPT), encoding="utf-8")
    return path


def pydotprint(obj: Any, outfile: str | Path = "graph.svg") -> Path:
    """Write a picture of a graph; the ending of the file says which kind: .svg, .html, .dot, or what Graphviz makes.

    For other endings, such as .png and .pdf, the program `dot` of Graphviz must be installed.
    """
    path = Path(outfile)
    kind = path.suffix[1:]
    if kind == "html":
        d3viz(obj, path)
    elif kind in ("svg", "dot"):
        path.write_text((to_svg if kind == "svg" else to_dot)(obj), encoding="utf-8")
    else:
        _by_graphviz(to_dot(obj), kind, path)
    sys.stdout.write(f"The output file is available at {path}\n")
    return path


def _by_graphviz(text: str, kind: str, path: Path) -> None:
    program = shutil.which("dot")
    if program is None or not kind:
        raise RuntimeError(
            f"cannot write {path}: pictures end in .svg, .html or .dot, and others need the program `dot` of Graphviz "
            "(https://graphviz.org), which was not found"
        )
    subprocess.run([program, f"-T{kind}", "-o", str(path)], input=text.encode(), check=True)


def to_svg(obj: Any) -> str:
    """The graph as an SVG picture."""
    return _svg(scenes_of(obj)[0], 0)


def to_dot(obj: Any) -> str:
    """The graph in Graphviz' language."""
    scene = scenes_of(obj)[0]
    lines = ["digraph {", '  node [shape=box, style="rounded,filled", fontname=monospace];']
    lines += [
        f"  n{k} [label={json.dumps(n.label)}, fillcolor={json.dumps(FILLS[n.kind])}];" for k, n in _numbered(scene)
    ]
    lines += [f"  n{a} -> n{b} [color={json.dumps(STROKES[role])}];" for a, b, role in scene.edges]
    return "\n".join([*lines, "}", ""])


def _numbered(scene: Scene) -> list[tuple[int, Node]]:
    return list(enumerate(scene.nodes))


def _section(number: int, scene: Scene) -> str:
    heading = f"<h2>{escape(scene.title)}</h2>" if number else ""
    facts = json.dumps([node.facts for node in scene.nodes]).replace("<", "\\u003c")
    return (
        f'<section id="graph{number}">{heading}\n{_svg(scene, number)}\n'
        f'<pre class="facts">click a box</pre>\n<script type="application/json">{facts}</script></section>'
    )


def _svg(scene: Scene, number: int) -> str:
    widths = [max(40.0, PER_CHARACTER * len(n.label) + 18) for n in scene.nodes]
    places = layered(widths, [(a, b) for a, b, _ in scene.edges])
    left = min((x - w / 2 for (x, _), w in zip(places, widths)), default=0.0) - MARGIN
    right = max((x + w / 2 for (x, _), w in zip(places, widths)), default=0.0) + MARGIN
    bottom = max((y for _, y in places), default=0.0) + HEIGHT / 2 + MARGIN
    box = f"{left:.0f} {-HEIGHT / 2 - MARGIN:.0f} {right - left:.0f} {bottom + HEIGHT / 2 + MARGIN:.0f}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" width="{right - left:.0f}" font-family="monospace" '
        f'font-size="12">',
        f"<title>{escape(scene.title)}</title>",
        _arrows(number),
    ]
    parts += [_edge(a, b, role, places, number) for a, b, role in scene.edges]
    parts += [_box(k, node, widths[k], *places[k]) for k, node in _numbered(scene)]
    return "\n".join([*parts, "</svg>"])


def _arrows(number: int) -> str:
    heads = "".join(
        f'<marker id="arrow{number}{role}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{color}"/></marker>'
        for role, color in STROKES.items()
    )
    return f"<defs>{heads}</defs>"


def _edge(a: int, b: int, role: str, places: list[tuple[float, float]], number: int) -> str:
    (xa, ya), (xb, yb) = places[a], places[b]
    ya, yb = ya + HEIGHT / 2, yb - HEIGHT / 2
    bend = GAP_Y / 2
    return (
        f'<path class="edge {role}" data-from="{a}" data-to="{b}" fill="none" stroke="{STROKES[role]}" '
        f'marker-end="url(#arrow{number}{role})" '
        f'd="M{xa:.1f},{ya:.1f} C{xa:.1f},{ya + bend:.1f} {xb:.1f},{yb - bend:.1f} {xb:.1f},{yb:.1f}"/>'
    )


def _box(k: int, node: Node, width: float, x: float, y: float) -> str:
    about = "\n".join(f"{what}: {value}" for what, value in node.facts)
    inner = "" if node.inner is None else f' data-inner="{node.inner}"'
    dashes = "" if node.inner is None else ' stroke-dasharray="4 2"'
    return (
        f'<g class="node {node.kind}" data-node="{k}"{inner} transform="translate({x:.1f},{y:.1f})">'
        f"<title>{escape(about)}</title>"
        f'<rect x="{-width / 2:.1f}" y="{-HEIGHT / 2:.1f}" width="{width:.1f}" height="{HEIGHT}" rx="5" '
        f'fill="{FILLS[node.kind]}" stroke="#555555"{dashes}/>'
        f'<text text-anchor="middle" y="4">{escape(node.label)}</text></g>'
    )


__all__ = ["d3viz", "pydotprint", "to_dot", "to_svg"]
