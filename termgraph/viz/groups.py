"""Parts of a graph that a picture shows as one box until it is opened: kernels of compiled code, branches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from termgraph._records import record
from termgraph.backends.c.text.timers import TimedPart
from termgraph.function.compiled import Function, MachineFunction
from termgraph.function.native import in_graph, ordered
from termgraph.tensor.bipartite import ancestors
from termgraph.tensor.variable import Apply, Constant, Variable
from termgraph.terms.op import Op, index_text
from termgraph.terms.ops.control import ifelse
from termgraph.terms.ops.indexing import subtensor
from termgraph.terms.traverse import parts_first, users_first

NAMED = 3  # operations in the label of a group; the others are counted


@record(eq=False)
class Group:
    """Some applications as one box: what it gives, what it takes, and the text of what runs it."""

    kind: str
    label: str
    title: str
    outputs: list[Variable]
    inputs: list[Variable]


def op_label(op: Op) -> str:
    """The name of an op, and of the part that is read where that is plain."""
    if getattr(op, "family", None) is subtensor:
        return short(f"[{index_text(op.params['index'])}]")
    return op.name


def short(text: str, most: int = 24) -> str:
    """A label that is not too wide; what it stands for is told in full when the box is chosen."""
    return text if len(text) <= most else text[: most - 3] + "..."


# ---------------------------------------------------------------------- kernels
def kernels_of(f: Any, roots: Sequence[Variable]) -> dict[Any, Group]:
    """The kernels of a compiled function, by the terms that they store. One of a single operation is not listed.

    A value that two kernels compute each for itself is in both.
    """
    work = getattr(getattr(f, "maker", None), "work", None)
    if work is None:
        return {}
    parts = _machine_parts(f) if isinstance(f, MachineFunction) else _native_parts(f)
    variable = {v.term: v for v in ancestors(roots)}
    stored = {t for _, terms in parts for t in terms}
    found: dict[Any, Group] = {}
    for title, terms in parts:
        outputs = [variable[t] for t in terms if t in variable and variable[t].owner is not None and t not in found]
        inside, inputs = _between(outputs, lambda v: v.term in stored)
        if len(inside) > 1:
            group = Group("kernel", _label(inside), title, outputs, inputs)
            found |= {v.term: group for v in outputs}
    return found


def _native_parts(f: Any) -> list[tuple[str, list[Any]]]:
    """(text, terms) of each loop and library call of a function that is one C program."""
    if not f.maker.work.in_c:
        return []
    plan = f.stage("memory")
    plan = plan[-1] if isinstance(plan, list) else plan
    lowered = plan.lowered
    parts = []
    for n in plan.scheduled.nodes:
        part = TimedPart.of(n)
        terms = [lowered.outputs[int(b.name[3:])] if b.kind == "output" else lowered.statements.stored.get(b)
                 for b in part.bufs]  # fmt: skip
        known = [lowered.origin.get(t, t) for t in terms if t is not None]
        title = "" if ": ->" in part.expression else part.expression  # a name of nothing but a copy says nothing
        parts.append((title, in_graph(f.maker, ordered(f.maker), known)))
    return parts


def _machine_parts(f: Function) -> list[tuple[str, Sequence[Any]]]:
    """(text, terms) of each instruction of a virtual machine; compiled code may have several operations."""
    return [(i.op.name, i.terms) for i in f.vm.program.instructions]


def _between(
    outputs: Iterable[Variable], stops: Callable[[Variable], bool]
) -> tuple[dict[Apply, None], list[Variable]]:
    """The applications from outputs back to where it stops, and what they take from there. Constants stay inside."""
    own = {v.term for v in outputs}

    def is_inside(v: Variable) -> bool:
        return v.owner is not None and (v.term in own or not stops(v))

    inside = users_first(_owners(outputs), lambda node: _owners(filter(is_inside, node.inputs)))
    edge = {v.term: v for node in inside for v in node.inputs if not is_inside(v) and not isinstance(v, Constant)}
    return dict.fromkeys(inside), list(edge.values())


def _label(inside: Iterable[Apply]) -> str:
    names = list(dict.fromkeys(op_label(node.op) for node in inside))[::-1]
    more = len(names) - NAMED
    return " ".join(names[:NAMED]) + (f" +{more}" if more > 0 else "")


# ---------------------------------------------------------------------- branches
Chain = tuple[tuple[Apply, int], ...]  # the branches that something is in, the outermost first


def branches(outputs: Sequence[Variable], stops: Any = ()) -> dict[Any, Group]:
    """What only one branch of a choice needs, by the terms that the choice takes from it."""
    order = _children_first(outputs, stops)
    if not any(_is_choice(node) for node in order):
        return {}
    chain: dict[Apply, Chain] = {v.owner: () for v in outputs if v.owner is not None}
    for node in reversed(order):  # users first
        for i, v in enumerate(node.inputs):
            if v.owner is None or v.term in stops:
                continue
            side = _side(node, i)
            given = chain[node] if side is None else (*chain[node], (node, side))
            known = chain.get(v.owner)
            chain[v.owner] = given if known is None else _common(known, given)
    found: dict[Any, Group] = {}
    for node in order:
        for side in (0, 1) if _is_choice(node) else ():
            _add_branch(found, node, side, chain, stops)
    return found


def _add_branch(found: dict[Any, Group], node: Apply, side: int, chain: dict[Apply, Chain], stops: Any) -> None:
    here = (*chain[node], (node, side))

    def within(v: Variable) -> bool:
        return v.owner is not None and v.term not in stops and chain[v.owner][: len(here)] == here

    values = [v for i, v in enumerate(node.inputs) if _side(node, i) == side]
    outputs = list({v.term: v for v in values if within(v)}.values())
    inside, inputs = _between(outputs, lambda v: not within(v))
    if len(inside) > 1:
        word = ("then", "else")[side]
        group = Group("branch", f"{word}: {_label(inside)}", "", outputs, inputs)
        found.update({v.term: group for v in outputs})


def _is_choice(node: Apply) -> bool:
    return getattr(node.op, "family", None) is ifelse


def _side(node: Apply, i: int) -> int | None:
    """Whether operand i is computed only if the condition holds (0), only if not (1), or always."""
    if not _is_choice(node) or i == 0:
        return None
    params: Any = node.op.params
    return int(i > params["n"])


def _common(a: Chain, b: Chain) -> Chain:
    same = 0
    while same < min(len(a), len(b)) and a[same] == b[same]:
        same += 1
    return a[:same]


def _children_first(outputs: Sequence[Variable], stops: Any) -> list[Apply]:
    return parts_first(_owners(outputs), lambda node: _owners(v for v in node.inputs if v.term not in stops))


def _owners(variables: Iterable[Variable]) -> list[Apply]:
    return [v.owner for v in variables if v.owner is not None]
