"""The parts that a graph is made of, as a picture: variables, applications, ops and types."""

from __future__ import annotations

from typing import Any

from termgraph.tensor.display_names import constant_text, short_repr, type_name
from termgraph.tensor.graph import ancestors
from termgraph.tensor.variable import Apply, Constant, Variable
from termgraph.viz.scene import MOST_NODES, Edge, Node, Scene
from termgraph.viz.tree import graph_outputs


def structure_of(obj: object) -> Scene:
    """Each application with its op above it, between the variables it takes and makes, which have their types above."""
    scene = Scene("structure")
    number: dict[Any, int] = {}
    for v in ancestors(graph_outputs(obj)[0]):
        node = v.owner
        if node is not None and node not in number:
            _apply(scene, number, node)
        if v in number:
            continue
        _add(scene, number, v, Node(_label(v), "variable", [("type", type_name(v.type))]))
        if node is not None:
            scene.edges.append(Edge(number[node], number[v]))
        scene.edges.append(Edge(_shared(scene, number, v.type, type_name(v.type), "type"), number[v]))
    return _in_drawing_order(scene)


def _apply(scene: Scene, number: dict[Any, int], node: Apply) -> None:
    _add(scene, number, node, Node("Apply", "apply"))
    scene.edges.append(Edge(_shared(scene, number, node.op, node.op.name, "operator"), number[node]))
    scene.edges += [Edge(number[v], number[node]) for v in node.inputs]


def _shared(scene: Scene, number: dict[Any, int], key: object, label: str, kind: str) -> int:
    """One box for an op or a type, however often it is used."""
    if key not in number:
        _add(scene, number, key, Node(label, kind))
    return number[key]


def _add(scene: Scene, number: dict[Any, int], key: object, node: Node) -> None:
    if len(scene.nodes) >= MOST_NODES:
        raise ValueError(f"the graph has more than {MOST_NODES} parts, which no picture makes clear; use tg.dprint")
    number[key] = len(scene.nodes)
    scene.nodes.append(node)


def _label(v: Variable) -> str:
    return constant_text(v).partition("{")[2][:-1] if isinstance(v, Constant) else short_repr(v)


def _in_drawing_order(scene: Scene) -> Scene:
    """Ops and types first, since edges lead from lower to higher numbers."""
    first = [k for k, n in enumerate(scene.nodes) if n.kind in ("operator", "type")]
    order = first + [k for k in range(len(scene.nodes)) if k not in set(first)]
    place = {old: new for new, old in enumerate(order)}
    scene.nodes = [scene.nodes[k] for k in order]
    scene.edges = [e._replace(start=place[e.start], end=place[e.end]) for e in scene.edges]
    return scene
