"""A choice of which only one side is computed: two trees of their own, which write the same buffers.

What both sides, or anything else, surely needs is stored before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from termgraph.lower.lengths.checks import NotLowerable, When, when_chosen
from termgraph.lower.loops.lazy import edge_of
from termgraph.lower.loops.plan import Planner
from termgraph.lower.loops.tree import Choice, Node
from termgraph.lower.memory.plan import share_room
from termgraph.lower.push.driver import Index, Push, Steps, pushes
from termgraph.lower.push.kernel import Buf
from termgraph.lower.storage.policy import Statements, Storage, cut_rule
from termgraph.terms.op import ARG
from termgraph.terms.ops.basic import nth
from termgraph.terms.term import AnyTerm
from termgraph.terms.types import TensorType


# ---------------------------------------------------------------------- between numbers
@pushes("ifelse")
def _picked(p: Push, t: AnyTerm, i: Index) -> Steps:
    condition = p.scalars.cast((yield t.args[0], ()), "bool")
    return p.scalars.pick(condition, (yield t.args[1], i), (yield t.args[2], i))


# ---------------------------------------------------------------------- between anything
@cut_rule("ifelse")
def _chosen(s: Storage, t: AnyTerm, buf: Buf) -> None:
    choose(s, t)


def choose(s: Storage, t: AnyTerm) -> None:
    """The statement that makes all values of a choice."""
    n = t.op.params["n"]
    results = {0: s.push.bufs[t]} if n == 1 else _projections(s, t)
    known = {*s.order, *s.given}
    sides = [{t.args[1 + half * n + i]: b for i, b in results.items()} for half in (0, 1)]
    if any(len(side) < len(results) for side in sides):
        raise NotLowerable(t, "two of its values are the same")
    leaves = _leaves(s, t, [a for side in sides for a in side], known)
    number = s.order.index(t)
    trees = [_tree(s, side, leaves, f"{s.prefix}C{number}{'ab'[k]}_") for k, side in enumerate(sides)]
    condition = s.scalars.cast(s.push.at(t.args[0], ()), "bool")
    made = set(results.values())
    rooms = [
        room for nodes, storage in trees for room in share_room(nodes, [b for b in storage.temps if b not in made])
    ]
    consts = {c: b for _, storage in trees for c, b in storage.consts.items()}
    then, orelse = (nodes for nodes, _ in trees)
    reads = tuple(leaves.values())
    when = _when(s, t, [storage.temps for _, storage in trees], made)
    s.add(Choice(condition, then, orelse, reads, tuple(results.values()), rooms, consts, when))


def _when(s: Storage, t: AnyTerm, temps: Sequence[Iterable[Buf]], made: set[Buf]) -> dict[Buf, When]:
    """On which condition there are temporaries of either side, where a call knows it before it makes room for them."""
    found = [when_chosen(s.lengths.as_poly, t, side) for side in (0, 1)]
    return {b: when for when, bufs in zip(found, temps) if when for b in bufs if b not in made}


def _projections(s: Storage, t: AnyTerm) -> dict[int, Buf]:
    return {r.op.params["i"]: s.push.bufs[r] for r in s.order if r.args and r.op.family is nth and r.args[0] is t}


def _leaves(s: Storage, t: AnyTerm, roots: Sequence[Any], known: set[Any]) -> dict[Any, Buf]:
    """What the sides read of the rest of the program; it has to be stored."""
    out = {}
    for a in edge_of(roots, known):
        if not isinstance(a.type, TensorType):
            raise NotLowerable(t, "it reads one of several results")
        if a.op is ARG or a in s.given:
            s.inputs.setdefault(a, s.leaf(a))
        if a not in s.inputs:
            s.keep(a)
        out[a] = s.inputs[a] if a in s.inputs else s.push.bufs[a]
    return out


def _tree(s: Storage, targets: dict[Any, Buf], leaves: dict[Any, Buf], prefix: str) -> tuple[list[Node], Statements]:
    """One side, lowered; the same for all rounds in which the same is stored outside."""
    key = (prefix, *targets, *targets.values(), *leaves, *leaves.values())
    found: tuple[list[Node], Statements] | None = s.bodies.get(key)
    if found is None:
        storage = Storage(
            list(targets), s.lengths, None, s.reciprocal, leaves, prefix, targets, s.fuse,
            whole_vectors=s.whole_vectors,
        )  # fmt: skip
        statements = storage.run()
        found = s.bodies[key] = Planner(statements.scalars).plan(statements.stores), statements
    return found
