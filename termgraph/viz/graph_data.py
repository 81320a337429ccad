"""What the script of a graph's page is given: places, labels, edges and facts, in lists of numbers and one of texts."""

from __future__ import annotations

from typing import Any
from unicodedata import east_asian_width

from termgraph.viz.history import short_place
from termgraph.viz.node_positions import GAP_Y, routed
from termgraph.viz.scene import Node, Scene, Scenes

PER_CHARACTER = 7.2
KINDS = ("input", "shared", "constant", "op", "kernel", "branch", "output", "apply", "variable", "operator", "type")
ROLES = ("", "view", "destroyed")


class Texts:
    """Every text once; the rest of the data has their numbers."""

    def __init__(self) -> None:
        self.number: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self.number.setdefault(text, len(self.number))


def width_of(node: Node) -> float:
    """How wide a box is: room for its label, and for the sign that it can be opened."""
    columns = sum(2 if east_asian_width(c) in "WF" else 1 for c in node.label)
    return max(40.0, PER_CHARACTER * columns + 18 + 14 * (node.inner is not None))


def graph_data(scenes: Scenes) -> dict[str, Any]:
    """The scenes as plain data; `texts` are what numbers stand for, `rules` [name, place, stage, the one before]."""
    texts = Texts()
    data = [_scene(scene, texts, number > 0) for number, scene in enumerate(scenes)]
    rules = [[texts(r.rule), texts(short_place(r.where)), texts(r.stage), r.before] for r in scenes.rules.records]
    return {"scenes": data, "rules": rules, "kinds": KINDS, "roles": ROLES, "texts": list(texts.number)}


def _scene(scene: Scene, texts: Texts, inside: bool) -> dict[str, Any]:
    top, bottom = (set(scene.inlets.values()), scene.outlets) if inside else ((), ())
    widths = [width_of(n) for n in scene.nodes]
    places, bends = routed(widths, [(e.start, e.end) for e in scene.edges], top, bottom)
    edges: list[int] = []
    for e, via in zip(scene.edges, bends):
        edges += [e.start, e.end, ROLES.index(e.role), e.result, e.operand, len(via), *(round(x) for x, _ in via)]
    return {
        "title": texts(scene.title),
        "label": [texts(n.label) for n in scene.nodes],
        "kind": [KINDS.index(n.kind) for n in scene.nodes],
        "x": [round(x) for x, _ in places],
        "row": [round(y / GAP_Y) for _, y in places],
        "width": [round(w) for w in widths],
        "facts": [[texts(part) for fact in n.facts for part in fact] for n in scene.nodes],
        "rule": [n.rule for n in scene.nodes],
        "heat": {k: round(n.heat, 3) for k, n in enumerate(scene.nodes) if n.heat is not None},
        "inner": {k: n.inner for k, n in enumerate(scene.nodes) if n.inner is not None},
        "inlets": scene.inlets,
        "outlets": scene.outlets,
        "edges": edges,
    }
