"""Critical pairs: where two rules both apply, does it matter which one goes first?

Left sides are unified at every position; the unifier is filled in with random typed terms that pass both rules' guards
and goals; both results are rewritten to the end and compared.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from unification import Var

from termgraph.rules.checking.draw import Draw, Retry
from termgraph.rules.checking.unifying import apply, renamed, unify
from termgraph.rules.compiled import RuleSet
from termgraph.rules.definition import Rule
from termgraph.rules.forms import Instance, Stated, is_nary
from termgraph.rules.kinds import Guard, PatternTerm, SegVar
from termgraph.rules.pattern import Captured
from termgraph.rules.relation import results
from termgraph.rules.rewrite import LoopError, RuleFailure
from termgraph.terms.errors import GraphError, ShapeError
from termgraph.terms.hashing import stable_text
from termgraph.terms.op import CONST, Op
from termgraph.terms.term import AnyTerm, Term, mk
from termgraph.terms.traverse import grouped

_TRIES, _PER_PAIR = 4, 2
Path = tuple[int, ...]


class Pair(NamedTuple):
    """A term that two rules take to different ends."""

    first: Stated
    second: Stated
    term: Any
    one: Any
    other: Any
    path: Path = ()  # where in the term the second rule applies
    loop: str = ""

    def text(self) -> str:
        """The pair and its counterexample."""
        head = f"{self.first.name} / {self.second.name}: {self.term!r:.160}"
        if self.loop:
            return f"{head}\n    {self.loop}"
        ends = ((self.first, self.one), (self.second, self.other))
        return "\n".join([head, *[f"    {r.name} leads to  {t!r:.160}" for r, t in ends]])


class Around(NamedTuple):
    """Rule sets that come before the one being checked, and those that finish the terms it makes."""

    before: Sequence[RuleSet]
    after: Sequence[RuleSet]


class Overlap(NamedTuple):
    """A pattern whose root is the first left side and which holds the second one at a path."""

    first: Instance
    second: Instance
    pattern: Any
    path: Path
    guards: dict[Any, Any]


def overlaps(rules: list[Rule]) -> Iterator[Overlap]:
    """All overlaps of all left sides, each pair of rules and each position once."""
    instances = [i for r in rules for i in r.instances() if i.main]
    by_family = grouped((_family(i.lhs.op), i) for i in instances)
    order = {id(i): n for n, i in enumerate(instances)}
    for first in instances:
        seen: dict[Any, Any] = {}
        left = renamed(first.lhs, "", seen)
        for path, sub in _positions(left):
            family = _family(sub.op)
            if family is None and path:
                continue  # any operator at all, below the root: overlaps with everything and says nothing
            for second in by_family.get(family, []):
                if not path and order[id(first)] >= order[id(second)]:
                    continue
                yield from _overlaps_at(first, left, second, path, sub)


def _family(op: Any) -> Any:
    return op.family if isinstance(op, (Op, Captured)) else None


def _positions(p: PatternTerm, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if p.__class__ is Term and p.lvars:
        yield path, p
        if not any(a.__class__ is SegVar for a in p.args):
            for i, a in enumerate(p.args):
                yield from _positions(a, (*path, i))


def _overlaps_at(
    first: Instance, left: PatternTerm, second: Instance, path: Path, sub: PatternTerm
) -> Iterator[Overlap]:
    names: dict[Any, Any] = {}
    right = renamed(second.lhs, "'", names)
    guards = {**first.rule.guards, **{names[v]: g for v, g in second.rule.guards.items() if v in names}}
    for s in itertools.islice(unify(sub, right, {}), _PER_PAIR):
        yield Overlap(first, second, apply(left, s), path, _merged(guards, s))
    if not path and is_nary(left.op) and is_nary(right.op):
        yield from _sharing(first, left, second, right, guards)


def _sharing(
    first: Instance, left: PatternTerm, second: Instance, right: PatternTerm, guards: dict[Any, Any]
) -> Iterator[Overlap]:
    """Two sums that share one operand: `a + b + c` where both rules want `b`."""
    if any(a.__class__ is SegVar for a in (*left.args, *right.args)):
        return
    for a in left.args:
        for j, b in enumerate(right.args):
            if isinstance(a, Var) or isinstance(b, Var):
                continue
            for s in unify(a, b, {}):
                both = mk(left.op, (*left.args, *right.args[:j], *right.args[j + 1 :]))
                yield Overlap(first, second, apply(both, s), (), _merged(guards, s))
                return


def _merged(guards: dict[Any, Any], s: dict[Any, Any]) -> dict[Any, Any]:
    out: dict[Any, Guard] = {}
    for v, g in guards.items():
        w = v
        while isinstance(w, Var) and w in s:
            w = s[w]
        if isinstance(w, Var):
            out[w] = out[w] & g if w in out and out[w] is not g else g
    return out


# ---------------------------------------------------------------------- trying them
def examine(overlap: Overlap, rs: RuleSet, rng: random.Random, around: Around | None = None) -> Pair | bool:
    """A pair that does not join; True if it joins; False if no term was found on which both rules apply.

    `around` has the rule sets that have seen a term before these rules do, and those that finish what these leave.
    """
    before, after = around or Around((), (rs,))
    for attempt in range(_TRIES):
        try:
            t = Draw(rng, overlap.guards, {}, fancy=0.0 if attempt < 3 else 0.2).make(overlap.pattern)
            one, other = _both(overlap, t, rs)
            arrives = one is not None and other is not None and _arrives(t, before)
        except (Retry, IndexError, ShapeError):
            continue  # also where lengths do not fit, which the types of what was drawn do not tell
        if not arrives:
            continue
        if one is other:
            return True
        rules = overlap.first.rule, overlap.second.rule
        try:
            a, b = one, other
            for finishing in after:
                (a, b), _ = finishing.rewrite_terms([a, b], strict=True, budget=4000)
        except ShapeError:
            continue
        except (LoopError, RuleFailure) as err:
            return Pair(*rules, t, one, other, overlap.path, f"{err}".splitlines()[0])
        return True if same_value(a, b) else Pair(*rules, t, a, b, overlap.path)
    return False


def _arrives(t: AnyTerm, before: Sequence[RuleSet]) -> bool:
    """Whether earlier stages leave the term as it is."""
    try:
        return all(rs.rewrite_terms([t], strict=True, budget=4000)[0][0] is t for rs in before)
    except (LoopError, RuleFailure):
        return False


def same_value(a: Any, b: Any) -> bool:
    """The same term, up to the rounding of constants that rules computed."""
    waiting = [(a, b)]
    while waiting:
        a, b = waiting.pop()
        if a is b:
            continue
        if a.op is CONST and b.op is CONST:
            if a.type is not b.type or not np.allclose(a.value, b.value, rtol=1e-4, equal_nan=True):
                return False
        elif a.op is not b.op or len(a.args) != len(b.args) or not a.args:
            return False
        else:
            waiting.extend(zip(_in_order(a), _in_order(b), strict=True))
    return True


def _in_order(t: AnyTerm) -> Sequence[Any]:
    """Operands, those of sums and products in an order that does not depend on how they were written."""
    return sorted(t.args, key=stable_text) if getattr(t.op, "commutative", False) else t.args


def _both(overlap: Overlap, t: AnyTerm, rs: RuleSet) -> tuple[Any, Any]:
    sub = t
    for i in overlap.path:
        sub = sub.args[i]
    one = next(results(overlap.first.rule, t, rs.assume), None)
    if one is None:
        return None, None
    inner = next(results(overlap.second.rule, sub, rs.assume), None)
    return one, inner if inner is None else _replaced(t, overlap.path, inner)


def _replaced(t: AnyTerm, path: Path, new: AnyTerm) -> Any:
    if not path:
        return new
    i = path[0]
    try:
        return mk(t.op, (*t.args[:i], _replaced(t.args[i], path[1:], new), *t.args[i + 1 :]))
    except (TypeError, ValueError, GraphError):
        return None
