"""What a picture of a graph shows: nodes with labels and facts, edges with what they do to their array."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple

from termgraph._records import record
from termgraph.tensor.display_names import constant_text, short_repr, type_name
from termgraph.tensor.trace import where
from termgraph.tensor.variable import Apply, Constant, TensorVariable, Variable
from termgraph.terms.traverse import parts_first
from termgraph.viz.groups import Group, branches, kernels_of, op_label, short
from termgraph.viz.history import MadeBy, RuleHistory
from termgraph.viz.loops import body_of
from termgraph.viz.measured import Measured, measured
from termgraph.viz.tree import graph_outputs

if TYPE_CHECKING:
    from termgraph.function.compiled import Function

MOST_NODES = 2000
VIEWS = frozenset(("dimshuffle", "subtensor", "reshape", "specify_shape", "unbroadcast", "diagonal"))


@record
class Node:
    """A box: `kind` is input, constant, shared, op, kernel, branch or output; `facts` are shown when it is chosen."""

    label: str
    kind: str
    facts: list[tuple[str, str]] = field(default_factory=list)
    inner: int | None = None  # the number of the scene that shows its body
    heat: float | None = None  # from 0 to 1: its share of the time, where the slowest has 1
    rule: int = -1  # the number of the record of the rule that made it, in `Scenes.rules`


class Edge(NamedTuple):
    """From box to box, as which result and operand; `role` is "", "view" or "destroyed"."""

    start: int
    end: int
    role: str = ""
    result: int = 0
    operand: int = -1


@record
class Scene:
    """One graph: a title, boxes and edges. Of the graph inside a box, `inlets` are the boxes that stand for operands
    outside (operand -> box), `outlets` those that stand for results."""

    title: str
    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    inlets: dict[int, int] = field(default_factory=dict)
    outlets: list[int] = field(default_factory=list)

    @property
    def timed(self) -> bool:
        """Whether boxes have the colour of the time they took."""
        return any(n.heat is not None for n in self.nodes)


class Scenes(list[Scene]):
    """The graph of an object, and after it the graphs inside its boxes. `rules` is the history of what rules made."""

    def __init__(self, scenes: Iterable[Scene], obj: object = None) -> None:
        super().__init__(scenes)
        self.rules = RuleHistory(obj)


class _Task(NamedTuple):
    """A scene to be filled: the outputs with their names, what it stops at (term -> operand), and what is known."""

    scene: Scene
    outputs: Sequence[Variable]
    names: Sequence[str]
    stops: dict[Any, int]
    known: Measured
    made: MadeBy
    groups: dict[Any, Group] | None = None  # of a compiled function: its kernels


def scenes_of(obj: Any, most: int = MOST_NODES) -> Scenes:
    """The graph of any printable object, and after it the graphs inside its kernels, branches, loops and folded graphs.

    A graph of more than `most` nodes is a ValueError.
    """
    roots, order = graph_outputs(obj)
    kind = "compiled function" if order is not None else "graph"
    scenes = Scenes([Scene(getattr(obj, "name", None) or kind)], obj)
    kernels = kernels_of(obj, roots) or None
    names = _output_names(obj, len(roots))
    waiting = deque([_Task(scenes[0], roots, names, {}, measured(obj), scenes.rules.made, kernels)])
    while waiting:
        task = waiting.popleft()
        for node, piece in _fill(task, most):
            node.inner = len(scenes)
            inside = Scene(f"inside {node.label}")
            scenes.append(inside)
            waiting.append(_inside(inside, piece, task, scenes.rules))
    return scenes


def _output_names(obj: Function | TensorVariable, n: int) -> list[str]:
    """Names of results that have none of their own: of updates."""
    maker = getattr(obj, "maker", None)
    updated = [i.name or "a shared variable" for i in getattr(maker, "inputs", ()) if i.update is not None]
    return [""] * (n - len(updated)) + [f"new {name}" for name in updated] if len(updated) <= n else [""] * n


def _inside(scene: Scene, piece: Any, task: _Task, rules: RuleHistory) -> _Task:
    """How the inside of a box is drawn."""
    if isinstance(piece, Group):
        stops = {v.term: k for k, v in enumerate(piece.inputs)}
        names = [short_repr(v) for v in piece.outputs]
        return _Task(scene, piece.outputs, names, stops, task.known, task.made)
    body = body_of(piece)
    assert body is not None  # or it would not be drawn as a box with something inside
    outputs, names, stops = body
    return _Task(scene, outputs, names, stops, task.known.inside.get(piece.op) or Measured(), rules.made_inside)


def _fill(task: _Task, most: int) -> list[tuple[Node, Any]]:
    """Add the boxes and edges of one graph; returns the boxes with something inside, and what they stand for."""
    scene, known = task.scene, task.known
    groups = branches(task.outputs, task.stops) if task.groups is None else task.groups
    number: dict[Any, int] = {}
    bodies: list[tuple[Node, Any]] = []

    def piece_of(v: Variable) -> Any:
        return v if v.term in task.stops else groups.get(v.term) or v.owner or v

    for part in _in_order(task.outputs, piece_of):
        if len(scene.nodes) >= most:
            raise ValueError(f"the graph has more than {most} nodes, which no picture makes clear; use tg.dprint")
        number[part] = len(scene.nodes)
        node = _node(part, known, task.made)
        scene.nodes.append(node)
        if isinstance(part, Variable):
            if part.term in task.stops:
                scene.inlets[task.stops[part.term]] = number[part]
            continue
        scene.edges += [_edge(v, piece_of(v), number, part, i) for i, v in enumerate(part.inputs)]
        _mark_overwritten(scene, number, part, known)
        if isinstance(part, Group) or body_of(part) is not None:
            bodies.append((node, part))
    for k, v in enumerate(task.outputs):
        label = task.names[k] or v.name or ("output" if len(task.outputs) == 1 else f"output {k}")
        source = piece_of(v)
        scene.edges.append(Edge(number[source], len(scene.nodes), "", _result(v, source)))
        scene.outlets.append(len(scene.nodes))
        scene.nodes.append(Node(label, "output", _facts(v)))
    return bodies


def _edge(v: Variable, source: Apply, number: dict[Any, int], part: Apply, i: int) -> Edge:
    role = _role(part, i) if isinstance(part, Apply) else ""
    return Edge(number[source], number[part], role, _result(v, source), i)


def _result(v: Variable, source: Apply) -> int:
    """Which of the results of a box a variable is."""
    if isinstance(source, Group):
        return next((k for k, made in enumerate(source.outputs) if made.term is v.term), 0)
    return v.index or 0 if isinstance(source, Apply) else 0


def _mark_overwritten(scene: Scene, number: dict[Any, int], part: Apply, known: Measured) -> None:
    """The memory plan writes the new value of a shared variable over the old one: an edge in red says so."""
    made = {v.term for v in part.outputs}
    for new, old in known.overwritten:
        source = next((n for v, n in number.items() if getattr(v, "term", None) is old), None)
        if new not in made or source is None:
            continue
        edge = (source, number[part])
        found = [e for e in scene.edges if e[:2] == edge] or [Edge(*edge)]
        scene.edges = [e for e in scene.edges if e[:2] != edge] + [found[0]._replace(role="destroyed")]
        scene.nodes[number[part]].facts.append(("memory", f"written over {scene.nodes[source].label}"))


def _in_order(outputs: Sequence[Variable], piece_of: Callable[[Variable], Any]) -> list[Any]:
    """Leaves, applications and groups, each after what it needs."""
    needs = lambda part: () if isinstance(part, Variable) else map(piece_of, part.inputs)  # noqa: E731
    return parts_first(map(piece_of, outputs), needs)


def _node(part: Apply, known: Measured, made: MadeBy) -> Node:
    if isinstance(part, Variable):
        return _leaf_node(part, known)
    node = _group_node(part) if isinstance(part, Group) else _op_node(part)
    term = part.outputs[0].term
    node.rule = made.rule_of(term)
    if term in known.share:
        slowest = max(known.share.values()) or 1.0
        node.heat = known.share[term] / slowest
        took = f"{known.seconds[term] * 1e3:.3f} ms, {100 * known.share[term]:.1f} %: {known.part[term]}"
        node.facts.append(("time", took))
    return node


def _group_node(group: Group) -> Node:
    facts = [("runs", group.title)] if group.title else []
    for v in group.outputs:
        facts += _facts(v)
    return Node(group.label, group.kind, facts)


def _leaf_node(v: Variable, known: Measured) -> Node:
    if isinstance(v, Constant):
        return Node(short(constant_text(v).partition("{")[2][:-1]), "constant", _facts(v))
    kind = "shared" if hasattr(v, "get_value") or v.term in known.shared else "input"
    return Node(short_repr(v) if v.owner is not None else v.name or repr(v), kind, _facts(v))


def _op_node(node: Apply) -> Node:
    facts = [("op", str(node.op))]
    for v in node.outputs:
        facts += _facts(v)
    return Node(op_label(node.op), "op", facts)


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
