"""What a picture of a graph shows: nodes with labels and facts, edges with what they do to their array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from termgraph.tensor.bipartite import variables_of
from termgraph.tensor.display_names import constant_text, type_name
from termgraph.tensor.trace import where
from termgraph.tensor.variable import Apply, Constant, Variable
from termgraph.terms.op import index_text
from termgraph.terms.ops.call import call
from termgraph.terms.ops.indexing import subtensor
from termgraph.terms.ops.loop import loop
from termgraph.terms.term import Arg
from termgraph.viz.loops import inner_graph
from termgraph.viz.measured import Measured, measured
from termgraph.viz.tree import graph_outputs

MOST_NODES = 2000
VIEWS = frozenset(("dimshuffle", "subtensor", "reshape", "specify_shape", "unbroadcast", "diagonal"))


@dataclass
class Node:
    """A box: `kind` is input, constant, shared, op or output; `facts` are shown when it is chosen."""

    label: str
    kind: str
    facts: list[tuple[str, str]] = field(default_factory=list)
    inner: int | None = None  # the number of the scene that shows its body
    heat: float | None = None  # from 0 to 1: its share of the time, where the slowest has 1


@dataclass
class Scene:
    """One graph: a title, boxes, and edges (from, to, role), where role is "", "view" or "destroyed"."""

    title: str
    nodes: list[Node] = field(default_factory=list)
    edges: list[tuple[int, int, str]] = field(default_factory=list)

    @property
    def timed(self) -> bool:
        """Whether boxes have the colour of the time they took."""
        return any(n.heat is not None for n in self.nodes)


def scenes_of(obj: Any, most: int = MOST_NODES) -> list[Scene]:
    """The graph of any printable object, and after it the graphs inside its loops and folded graphs.

    A graph of more than `most` nodes is a ValueError.
    """
    roots, order = graph_outputs(obj)
    kind = "compiled function" if order is not None else "graph"
    scenes = [Scene(getattr(obj, "name", None) or kind)]
    waiting: list[tuple[int, Sequence[Variable], Sequence[str], Measured]]
    waiting = [(0, roots, _output_names(obj, len(roots)), measured(obj))]
    while waiting:
        number, outputs, names, known = waiting.pop(0)
        for node, body, op in _fill(scenes[number], outputs, names, known, most):
            node.inner = len(scenes)
            scenes.append(Scene(f"inside {node.label}"))
            waiting.append((node.inner, *body, known.inside.get(op) or Measured()))
    return scenes


def _output_names(obj: Any, n: int) -> list[str]:
    """Names of results that have none of their own: of updates."""
    maker = getattr(obj, "maker", None)
    updated = [i.name or "a shared variable" for i in getattr(maker, "inputs", ()) if i.update is not None]
    return [""] * (n - len(updated)) + [f"new {name}" for name in updated] if len(updated) <= n else [""] * n


def _fill(
    scene: Scene, outputs: Sequence[Variable], names: Sequence[str], known: Measured, most: int
) -> list[tuple[Node, tuple, Any]]:
    """Add the boxes and edges of one graph; returns the boxes that have a body, with its outputs and their names, and
    their ops."""
    number: dict[Any, int] = {}
    bodies: list[tuple[Node, tuple, Any]] = []
    for part in _in_order(outputs):
        if len(scene.nodes) >= most:
            raise ValueError(f"the graph has more than {most} nodes, which no picture makes clear; use tg.dprint")
        node = _op_node(part, known) if isinstance(part, Apply) else _leaf_node(part, known)
        number[part] = len(scene.nodes)
        scene.nodes.append(node)
        if isinstance(part, Apply):
            scene.edges += [(number[v.owner or v], number[part], _role(part, i)) for i, v in enumerate(part.inputs)]
            _mark_overwritten(scene, number, part, known)
            body = _body(part)
            if body is not None:
                bodies.append((node, body, part.op))
    for k, v in enumerate(outputs):
        label = names[k] or v.name or ("output" if len(outputs) == 1 else f"output {k}")
        scene.edges.append((number[v.owner or v], len(scene.nodes), ""))
        scene.nodes.append(Node(label, "output", _facts(v)))
    return bodies


def _mark_overwritten(scene: Scene, number: dict[Any, int], part: Apply, known: Measured) -> None:
    """The memory plan writes the new value of a shared variable over the old one: an edge in red says so."""
    made = {v.term for v in part.outputs}
    for new, old in known.overwritten:
        source = next((n for v, n in number.items() if getattr(v, "term", None) is old), None)
        if new not in made or source is None:
            continue
        edge = (source, number[part])
        scene.edges = [e for e in scene.edges if e[:2] != edge] + [(*edge, "destroyed")]
        scene.nodes[number[part]].facts.append(("memory", f"written over {scene.nodes[source].label}"))


def _in_order(outputs: Sequence[Variable]) -> list[Any]:
    """Leaves and applications, each after what it needs."""
    order: list[Any] = []
    state: dict[Any, bool] = {}
    stack: list[Any] = [v.owner or v for v in reversed(outputs)]
    while stack:
        part = stack[-1]
        needs = [v.owner or v for v in part.inputs] if isinstance(part, Apply) else []
        if part not in state:
            state[part] = False
            stack.extend(n for n in reversed(needs) if n not in state)
            continue
        stack.pop()
        if not state[part]:
            state[part] = True
            order.append(part)
    return order


def _leaf_node(v: Variable, known: Measured) -> Node:
    if isinstance(v, Constant):
        return Node(_short(constant_text(v).partition("{")[2][:-1]), "constant", _facts(v))
    kind = "shared" if hasattr(v, "get_value") or v.term in known.shared else "input"
    return Node(v.name or repr(v), kind, _facts(v))


def _op_node(node: Apply, known: Measured) -> Node:
    facts = [("op", str(node.op))]
    for v in node.outputs:
        facts += _facts(v)
    made = Node(_op_label(node.op), "op", facts)
    term = node.outputs[0].term
    if term in known.share:
        slowest = max(known.share.values()) or 1.0
        made.heat = known.share[term] / slowest
        facts.append(
            ("time", f"{known.seconds[term] * 1e3:.3f} ms, {100 * known.share[term]:.1f} %: {known.part[term]}")
        )
    return made


def _op_label(op: Any) -> str:
    """The name of an op, and of the part that is read where that is plain."""
    if getattr(op, "family", None) is subtensor:
        return _short(f"[{index_text(op.params['index'])}]")
    return op.name


def _facts(v: Variable) -> list[tuple[str, str]]:
    found = [("type", type_name(v.type))]
    if v.name:
        found.append(("name", v.name))
    if v.site:
        found.append(("line", where(v.site)))
    return found


def _role(node: Apply, i: int) -> str:
    """Whether an op reads operand i where it lies ("view") or writes over it ("destroyed")."""
    if any(i in places for places in (getattr(node.op, "destroy_map", None) or {}).values()):
        return "destroyed"
    if any(i in places for places in (getattr(node.op, "view_map", None) or {}).values()):
        return "view"
    family = getattr(node.op, "family", None)
    return "view" if i == 0 and getattr(family, "name", "") in VIEWS else ""


def _body(node: Apply) -> tuple[list[Variable], list[str]] | None:
    """The outputs of the graph inside a loop or a folded graph, and their names."""
    family: Any = getattr(node.op, "family", None)
    if family is loop:
        labelled = inner_graph(node)[1]
        return [v for _, v in labelled], [label for label, _ in labelled]
    if family is call:
        params: Any = node.op.params
        takes = [Arg(i, t) for i, t in enumerate(params["takes"])]
        names = {a: v.name or f"operand {i}" for i, (a, v) in enumerate(zip(takes, node.inputs))}
        return variables_of(params["body"], names=names), [""] * len(params["body"])
    return None


def _short(text: str, most: int = 24) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


__all__ = ["Node", "Scene", "scenes_of"]
