"""Pictures of graphs that stand still: `to_svg` gives SVG, `to_dot` Graphviz text, `pydotprint` writes files."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from termgraph.viz.graph_data import width_of
from termgraph.viz.graph_page import graph_page
from termgraph.viz.node_positions import GAP_Y, routed
from termgraph.viz.scene import Edge, Node, Scene, Scenes, scenes_of
from termgraph.viz.structure import structure_of

if TYPE_CHECKING:
    pass

FILLS = {
    "input": "#d5e8f7", "shared": "#d8f0d2", "constant": "#eeeeee", "op": "#fff6dd", "output": "#f3dcef",
    "kernel": "#ffe3b8", "branch": "#e6e0f8",
    "apply": "#b9d4f5", "variable": "#f7b9b9", "operator": "#c3e8b9", "type": "#dcc3f2",
}  # fmt: skip
COLD, HOT = (255, 246, 221), (226, 60, 48)
STROKES = {"": "#888888", "view": "#2b5fd9", "destroyed": "#d92b2b"}
HEIGHT, MARGIN = 26.0, 20.0
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
STYLES = ("graph", "structure")


def pydotprint(
    obj: object,
    outfile: str | Path = "graph.svg",
    var_with_name_simple: bool = False,
    style: str = "graph",
    say: bool = True,
) -> Path:
    """Write a picture of a graph; the ending of the file says which kind: .svg, .html, .dot, or what Graphviz makes.

    For other endings the program `dot` of Graphviz must be installed; .png and .pdf are drawn by Chromium or Chrome
    where it is not. Inputs are shown with their types; `var_with_name_simple=True` shows the names alone.
    `style="structure"` draws the parts that a graph is made of: variables (red), applications (blue), ops (green) and
    types (purple).
    """
    if style not in STYLES:
        raise ValueError(f"style is 'graph' or 'structure', got {style!r}")
    path = Path(outfile)
    kind = path.suffix[1:]
    scenes = Scenes([structure_of(obj)]) if style == "structure" else scenes_of(obj)
    if not var_with_name_simple and style == "graph":
        _add_types(scenes)
    if kind == "html":
        path.write_text(graph_page(scenes, obj), encoding="utf-8")
    elif kind in ("svg", "dot"):
        path.write_text(_svg(scenes[0], 0) if kind == "svg" else _dot(scenes[0]), encoding="utf-8")
    elif shutil.which("dot") or not _by_browser(_svg(scenes[0], 0), kind, path):
        _by_graphviz(_dot(scenes[0]), kind, path)
    if say:
        sys.stdout.write(f"The output file is available at {path}\n")
    return path


def _add_types(scenes: list[Scene]) -> None:
    """Write the types of inputs beside their names."""
    for node in [n for scene in scenes for n in scene.nodes if n.kind in ("input", "shared")]:
        types = [value for what, value in node.facts if what == "type"]
        if types and types[0] not in node.label:
            node.label = f"{node.label}: {types[0]}"


def _by_graphviz(text: str, kind: str, path: Path) -> None:
    program = shutil.which("dot")
    if program is None or not kind:
        raise ValueError(
            f"cannot write {path}: pictures end in .svg, .html or .dot; .png and .pdf need Chromium or Chrome, others "
            "need the program `dot` of Graphviz (https://graphviz.org), which was not found"
        )
    subprocess.run([program, f"-T{kind}", "-o", str(path)], input=text.encode(), check=True)


def _by_browser(svg: str, kind: str, path: Path) -> bool:
    """Whether a browser without a window could draw an SVG picture as .png or .pdf."""
    program = next((p for p in map(shutil.which, BROWSERS) if p), None)
    if program is None or kind not in ("png", "pdf"):
        return False
    width, height = (round(float(n)) for n in re.search(r'viewBox="\S+ \S+ (\S+) (\S+)"', svg).groups())  # type: ignore[union-attr]
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "picture.html"
        style = f"@page {{ size: {width}px {height}px; margin: 0 }} body {{ margin: 0 }} svg {{ display: block }}"
        page.write_text(f"<!DOCTYPE html><meta charset='utf-8'><style>{style}</style>{svg}", encoding="utf-8")
        made = Path(folder) / f"picture.{kind}"
        what = f"--screenshot={made}" if kind == "png" else f"--print-to-pdf={made}"
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer", "--hide-scrollbars",
                   f"--user-data-dir={folder}/user", f"--window-size={width},{height}"]  # fmt: skip
        subprocess.run([program, *options, what, page.as_uri()], capture_output=True, timeout=120, check=False)
        if not made.exists():
            return False
        path.write_bytes(made.read_bytes())
    return True


def to_svg(obj: object) -> str:
    """The graph as an SVG picture."""
    return scene_to_svg(scenes_of(obj)[0])


def scene_to_svg(scene: Scene) -> str:
    """One graph as an SVG picture."""
    return _svg(scene, 0)


def to_dot(obj: object) -> str:
    """The graph in Graphviz' language."""
    return _dot(scenes_of(obj)[0])


def _dot(scene: Scene) -> str:
    lines = ["digraph {", '  node [shape=box, style="rounded,filled", fontname=monospace];']
    lines += [
        f"  n{k} [label={json.dumps(n.label)}, fillcolor={json.dumps(_fill(n))}{_shape(n)}];"
        for k, n in _numbered(scene)
    ]
    lines += [f"  n{a} -> n{b} [color={json.dumps(STROKES[role])}];" for a, b, role, *_ in scene.edges]
    return "\n".join([*lines, "}", ""])


def _shape(node: Node) -> str:
    return ", shape=ellipse" if node.kind == "operator" else ""


def _fill(node: Node) -> str:
    """The colour of a box: by what it is, or by the time it took."""
    if node.heat is None:
        return FILLS[node.kind]
    return "#" + "".join(f"{round(a + (b - a) * node.heat):02x}" for a, b in zip(COLD, HOT))


def _numbered(scene: Scene) -> list[tuple[int, Node]]:
    return list(enumerate(scene.nodes))


def _svg(scene: Scene, number: int) -> str:
    widths = [width_of(n) for n in scene.nodes]
    places, bends = routed(widths, [(a, b) for a, b, *_ in scene.edges])
    passed = [x for points in bends for x, _ in points]
    left = min([*passed, *(x - w / 2 for (x, _), w in zip(places, widths))], default=0.0) - MARGIN
    right = max([*passed, *(x + w / 2 for (x, _), w in zip(places, widths))], default=0.0) + MARGIN
    bottom = max((y for _, y in places), default=0.0) + HEIGHT / 2 + MARGIN
    box = f"{left:.0f} {-HEIGHT / 2 - MARGIN:.0f} {right - left:.0f} {bottom + HEIGHT / 2 + MARGIN:.0f}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" width="{right - left:.0f}" font-family="monospace" '
        f'font-size="12">',
        f"<title>{escape(scene.title)}</title>",
        _arrows(number),
    ]
    parts += [_edge(edge, places, via, number) for edge, via in zip(scene.edges, bends)]
    parts += [_box(k, node, widths[k], *places[k]) for k, node in _numbered(scene)]
    return "\n".join([*parts, "</svg>"])


def _arrows(number: int) -> str:
    heads = "".join(
        f'<marker id="arrow{number}{role}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{color}"/></marker>'
        for role, color in STROKES.items()
    )
    return f"<defs>{heads}</defs>"


def _edge(edge: Edge, places: list[tuple[float, float]], via: list[tuple[float, float]], number: int) -> str:
    a, b, role, *_ = edge
    passes = " ".join(f"{x:.1f},{y:.1f}" for x, y in via)
    return (
        f'<path class="edge {role}" data-from="{a}" data-to="{b}" data-via="{passes}" fill="none" '
        f'stroke="{STROKES[role]}" marker-end="url(#arrow{number}{role})" d="{_path(places[a], via, places[b])}"/>'
    )


def _path(start: tuple[float, float], via: list[tuple[float, float]], end: tuple[float, float]) -> str:
    """From the lower side of a box to the upper side of another, straight down where it passes other boxes."""
    half, bend = HEIGHT / 2, GAP_Y / 2
    x, y = start[0], start[1] + half
    text = f"M{x:.1f},{y:.1f}"
    for to_x, to_y in [*via, end]:
        top = to_y - half
        text += f" C{x:.1f},{y + bend:.1f} {to_x:.1f},{top - bend:.1f} {to_x:.1f},{top:.1f}"
        x, y = to_x, to_y + half
        text += f" V{y:.1f}" if (to_x, to_y) != end else ""
    return text


def _box(k: int, node: Node, width: float, x: float, y: float) -> str:
    about = "\n".join(f"{what}: {value}" for what, value in node.facts)
    inner = "" if node.inner is None else f' data-inner="{node.inner}"'
    dashes = "" if node.inner is None else ' stroke-dasharray="4 2"'
    return (
        f'<g class="node {node.kind}" data-node="{k}"{inner} transform="translate({x:.1f},{y:.1f})">'
        f"<title>{escape(about)}</title>"
        f'<rect x="{-width / 2:.1f}" y="{-HEIGHT / 2:.1f}" width="{width:.1f}" height="{HEIGHT}" '
        f'rx="{13 if node.kind == "operator" else 5}" fill="{_fill(node)}" stroke="#555555"{dashes}/>'
        f'<text text-anchor="middle" y="4">{escape(node.label)}</text></g>'
    )
