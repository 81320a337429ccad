"""Functions in one arm of a choice between elements: loops compute both arms for all elements.

Vectors of the library's functions take ten times as long where one of their elements is beyond what the function is for
(`where(x > 0, log(x), 0)`), so elements for which the choice falls on the other arm get another argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from termgraph.terms.ops import meanings
from termgraph.terms.ops.dtype_rules import switch_rule
from termgraph.terms.ops.elementwise import ElementwiseOp, arccosh, infer_elementwise, logical_not, pow_, switch
from termgraph.terms.spelling import Spelling
from termgraph.terms.term import AnyTerm, Const, mk
from termgraph.terms.traverse import children_first, client_map, rebuild

DTYPES = ("float64", "float32")
# A choice whose other arm is the harmless number. No op of the language: nothing but loops has it.
taken = ElementwiseOp(
    "taken", arity=3, infer=infer_elementwise, meaning=meanings.switch, kind="elementwise", dtype_rule=switch_rule,
    c=Spelling(b="tg_taken({0:truth}, {1}, {2})"), cuda=Spelling(b="({0:truth} ? {1} : {2})"), cost=2, exact=True,
)  # fmt: skip


def with_taken_arguments(roots: Sequence[Any], origin: dict[Any, Any]) -> list[Any]:
    """The graph with other arguments where an arm is not taken; `origin` learns which term each new one comes from."""
    if not any(t.args and t.op is switch for t in children_first(roots)):
        return list(roots)
    found = _functions_in_arms(roots)
    if not found:
        return list(roots)
    new_of: dict[Any, Any] = {}

    def change(t: AnyTerm, args: tuple[AnyTerm, ...]) -> AnyTerm:
        new = t if all(a is b for a, b in zip(args, t.args)) else mk(t.op, args)
        if t in found:
            chosen, arm = found[t]
            condition = new_of.get(chosen.args[0], chosen.args[0])
            condition = condition if arm == 1 else mk(logical_not, (condition,))
            other = Const(np.asarray(1.5 if t.op is arccosh else 0.5, args[0].type.dtype))
            new = mk(t.op, (mk(taken, (condition, args[0], other)), *args[1:]))
            origin.update({part: t for part in (new, new.args[0], condition) if part.args and part not in origin})
        elif new is not t:
            origin.setdefault(new, t)
        new_of[t] = new
        return new

    return rebuild(roots, change)


def _functions_in_arms(roots: Sequence[Any]) -> dict[Any, tuple[Any, int]]:
    """For each function that one arm needs and nothing else, the innermost such choice and the place of the arm."""
    clients = client_map(roots)
    found: dict[Any, tuple[Any, int]] = {}
    for t in children_first(roots):
        if not t.args or t.op is not switch:
            continue
        for arm in (1, 2):
            for f in _only_in(t, arm, clients):
                if _is_slow(f) and f not in found and _covers(f.args[0], t.args[0]):
                    found[f] = t, arm
    return found


def _only_in(t: AnyTerm, arm: int, clients: dict[Any, list[tuple[Any, int]]]) -> list[Any]:
    """What stands between elements in an arm of a choice, and is used nowhere else."""
    inside: dict[Any, None] = {}
    stack = [t.args[arm]]
    while stack:
        a = stack.pop()
        if a in inside or not a.args or a.op.kind != "elementwise":
            continue
        if all((user is t and place == arm) or user in inside for user, place in clients[a]):
            inside[a] = None
            stack.extend(a.args)
    return list(inside)


def _is_slow(f: AnyTerm) -> bool:
    """Whether vectors of a function have elements that take longer than others."""
    unary = f.op.vector and len(f.args) == 1
    known = f.args[0].__class__ is Const
    return (unary or f.op is pow_) and not known and {f.type.dtype, f.args[0].type.dtype} <= set(DTYPES)


def _covers(x: AnyTerm, condition: AnyTerm) -> bool:
    """Whether a condition says no more elements than x has."""
    shapes = zip(condition.type.shape, x.type.shape)
    return condition.type.ndim == x.type.ndim and all(c == 1 or n != 1 for c, n in shapes)
