"""Does rewriting end? One weight per operator under which every rule makes terms lighter, or the rules without one.

A Knuth-Bendix order found by perceptron updates. Not finding one is no proof of a loop: those rules rely on the growth
budget alone, and are listed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from unification import Var

from termgraph.rules.definition import Rule
from termgraph.rules.forms import Instance
from termgraph.rules.pattern import HeadWith
from termgraph.terms.op import Op
from termgraph.terms.term import AnyTerm, Term

if TYPE_CHECKING:
    from termgraph.rules.kinds import PatternTerm

_LEAF = "leaf"
_ROUNDS = 300


class Order(NamedTuple):
    """Weights of operators, and the rules that no weights were found for."""

    weights: dict[Any, int]
    unoriented: list[str]  # instances that do not get lighter
    duplicating: list[str]  # instances whose right side repeats what the left side has fewer times


def _count(p: PatternTerm) -> tuple[Counter[Any], Counter[Any]]:
    """Operators and leaves, and metavariables, of a pattern."""
    ops: Counter[Any] = Counter()
    names: Counter[Any] = Counter()
    stack = [p]
    while stack:
        q = stack.pop()
        if isinstance(q, Var):
            names[q] += 1
        elif q.__class__ is Term:
            head = q.op
            if isinstance(head, HeadWith):
                head = head.var
            if isinstance(head, Var):
                names[head] += 1
            else:
                ops[head.family.name if isinstance(head, Op) or hasattr(head, "family") else str(head)] += 1
            stack.extend(q.args)
        else:
            ops[_LEAF] += 1
    return ops, names


def find_order(rules: list[Rule]) -> Order:
    """Look for weights that orient every rule."""
    duplicating: list[str] = []
    todo: list[tuple[Instance, dict[Any, int]]] = []
    for i in [i for r in rules for i in r.instances() if i.main]:
        left, left_names = _count(i.lhs)
        right, right_names = _count(i.rhs)
        computed = {v for g in i.goals for v in g.variables()} - set(left_names)
        over = [v for v in right_names if v not in computed and right_names[v] > left_names[v]]
        if over:
            duplicating.append(i.label)
            continue
        gain: dict[Any, int] = defaultdict(int)
        for o, n in left.items():
            gain[o] += n
        for o, n in right.items():
            gain[o] -= n
        gain[_LEAF] += sum(left_names.values()) - sum(right_names.values())
        todo.append((i, {o: n for o, n in gain.items() if n}))
    weights = _perceptron(todo)
    heavy = [i.label for i, gain in todo if _value(gain, weights) <= 0]
    return Order(weights, heavy, duplicating)


def _perceptron(todo: list[tuple[Instance, dict[Any, int]]]) -> dict[Any, int]:
    weights: dict[Any, int] = defaultdict(lambda: 1)
    best: tuple[int, dict[Any, int]] = (len(todo) + 1, {})
    for _ in range(_ROUNDS):
        wrong = 0
        for _, gain in todo:
            if _value(gain, weights) <= 0:
                wrong += 1
                for o, n in gain.items():
                    weights[o] = max(1, weights[o] + n)
        if wrong < best[0]:
            best = wrong, dict(weights)
        if not wrong:
            break
    return defaultdict(lambda: 1, best[1])


def _value(gain: dict[Any, int], weights: dict[Any, int]) -> int:
    return sum(n * weights[o] for o, n in gain.items())


def weight_of(t: AnyTerm, weights: dict[Any, int]) -> int:
    """The weight of a term."""
    ops, names = _count(t)
    return sum(n * weights[o] for o, n in ops.items()) + sum(names.values()) * weights[_LEAF]
