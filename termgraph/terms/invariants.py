"""What of a graph does not change when some leaves do: the part of a loop's body that belongs outside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from termgraph.terms.op import CONST
from termgraph.terms.ops.basic import nth
from termgraph.terms.traverse import children_first


def outer_terms(roots: Sequence[Any], leaves: Iterable[Any]) -> list[Any]:
    """The largest terms under the roots that do not depend on the leaves: the loop's constants, in order of use."""
    order = children_first(roots)
    eager = _eager(order, roots)
    inside = set(leaves)
    for t in order:
        if t in inside or t.op is CONST or not t.args:
            continue
        if any(a in inside for a in t.args) or (t.op.family is not nth and (t.op.kind == "effect" or t not in eager)):
            inside.add(t)
    cuts: dict[Any, None] = {}
    for t in order:
        if t in inside:
            cuts.update(dict.fromkeys(a for a in t.args if a not in inside and a.op is not CONST))
    cuts.update(dict.fromkeys(r for r in roots if r not in inside and r.op is not CONST))
    return list(cuts)


def _eager(order: Sequence[Any], roots: Sequence[Any]) -> set[Any]:
    """The terms that are computed in every step: not only under a branch that may not be taken."""
    eager = set(roots)
    for t in reversed(order):
        if t in eager:
            eager.update(t.args[:1] if getattr(t.op, "lazy", False) else t.args)
    return eager
