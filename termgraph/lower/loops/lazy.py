"""Which terms are surely needed, where some are only needed if a choice falls on them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from termgraph.terms.op import ARG, CONST
from termgraph.terms.ops.basic import nth
from termgraph.terms.ops.control import ifelse
from termgraph.terms.ops.indexing import subtensor
from termgraph.terms.term import AnyTerm
from termgraph.terms.traverse import children_first, parts_first, region
from termgraph.terms.types import TensorType

FEW = 30  # a choice between so many numbers at most is made without storing anything


def is_lazy(t: AnyTerm) -> bool:
    """Whether a term is a choice of which only one side may be computed, and that is worth a jump around it."""
    return t.op.family is ifelse and not _between_numbers(t)


def _between_numbers(t: AnyTerm) -> bool:
    """Whether both sides of a choice are a few operations on numbers."""
    stack, seen = list(t.args[1:]), set()
    while stack:
        a = stack.pop()
        if a in seen or a.op is CONST or a.op is ARG:
            continue
        seen.add(a)
        if not isinstance(a.type, TensorType) or a.type.ndim or len(seen) > FEW:
            return False
        if a.op.family is subtensor and a.args[0].op is ARG:
            if not _surely_there(a):
                return False
            continue
        if a.op.kind != "elementwise" and not (a.op.family is ifelse and a.op.params["n"] == 1):
            return False
        stack += a.args
    return bool(t.op.params["n"] == 1)


def _surely_there(t: AnyTerm) -> bool:
    """Whether the fixed indices of an element are within lengths that are known."""
    pairs = zip(t.op.params["index"], t.args[0].type.shape)
    return all(not isinstance(k, int) or (n is not None and -n <= k < n) for k, n in pairs)


def surely_needed(roots: Iterable[Any], leaves: Collection[Any] = ()) -> list[Any]:
    """The terms that the roots need whichever way choices fall, operands first; nothing below `leaves`.

    What a side of a choice takes of several results that are made anyway is among them: taking it costs nothing.
    """
    roots = list(roots)
    found = _operands_first(roots, leaves, {})
    several = {t for t in found if not isinstance(t.type, TensorType)}
    choices = [t for t in found if t.args and t not in leaves and is_lazy(t)] if several else []
    return _operands_first(roots, leaves, {t: _taken(t, several) for t in choices}) if choices else found


def _operands_first(roots: Sequence[Any], leaves: Collection[Any], more: Mapping[Any, Sequence[Any]]) -> list[Any]:
    return parts_first(roots, lambda t: (*operands_of(t, leaves), *more.get(t, ())))


def _taken(choice: AnyTerm, several: Collection[Any]) -> list[Any]:
    """What the sides of a choice read of terms with several results."""
    return [t for t in children_first(choice.args[1:]) if t.args and t.op.family is nth and t.args[0] in several]


def operands_of(t: AnyTerm, leaves: Collection[Any] = ()) -> Sequence[Any]:
    """The operands that a term surely needs."""
    if t in leaves:
        return ()
    if t.op.family is not ifelse:
        return t.args
    return t.args[:1] if is_lazy(t) else (t.args[0], *_sure_parts(t.args[1:]))


def _sure_parts(sides: Sequence[AnyTerm]) -> Sequence[AnyTerm]:
    """The sides of a choice between numbers, or what they read where an element of it may not be there."""
    below = children_first(sides)
    if any(a.op.family is subtensor and a.args[1:] for a in below):
        return [a for a in below if a.op is ARG]
    return sides


def edge_of(roots: Iterable[Any], known: Collection[Any]) -> list[Any]:
    """The known terms and the arguments that the roots are computed from."""
    _, edge = region(roots, lambda t: t not in known and t.op is not ARG)
    return [t for t in edge if t.op is not CONST]
