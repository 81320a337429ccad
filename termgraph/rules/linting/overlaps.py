"""Critical pairs: where two rules both apply, does it matter which one goes first?

Left sides are unified at every position; the unifier is filled in with random typed terms that pass both rules'
guards and goals; both results are rewritten to the end and compared.
May import the rule objects and the prover's tools.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

from unification import Var

from termgraph.rules.compiled import RuleSet
from termgraph.rules.definition import Rule, is_nary
from termgraph.rules.kinds import Guard, SegVar
from termgraph.rules.linting.unifying import apply, renamed, unify
from termgraph.rules.pattern import Captured
from termgraph.rules.proving.draw import Draw, Retry
from termgraph.rules.relation import results
from termgraph.rules.rewrite import LoopError, RuleFailure
from termgraph.rules.stage import Instance
from termgraph.terms.errors import GraphError
from termgraph.terms.op import Op
from termgraph.terms.term import Term, mk

_TRIES, _PER_PAIR = 4, 2
Path = tuple[int, ...]


class Pair(NamedTuple):
    """A term that two rules take to different ends."""

    first: Rule
    second: Rule
    term: Any
    one: Any
    other: Any
    loop: str = ""

    def text(self) -> str:
        """The pair and its counterexample."""
        head = f"{self.first.name} / {self.second.name}: {self.term!r:.160}"
        if self.loop:
            return f"{head}\n    {self.loop}"
        ends = ((self.first, self.one), (self.second, self.other))
        return "\n".join([head, *[f"    {r.name} leads to  {t!r:.160}" for r, t in ends]])


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
    by_family: dict[Any, list[Instance]] = {}
    for i in instances:
        by_family.setdefault(_family(i.lhs.op), []).append(i)
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


def _positions(p: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if p.__class__ is Term and p.lvars:
        yield path, p
        if not any(a.__class__ is SegVar for a in p.args):
            for i, a in enumerate(p.args):
                yield from _positions(a, (*path, i))


def _overlaps_at(first: Instance, left: Any, second: Instance, path: Path, sub: Any) -> Iterator[Overlap]:
    names: dict[Any, Any] = {}
    right = renamed(second.lhs, "'", names)
    guards = {**first.rule.guards, **{names[v]: g for v, g in second.rule.guards.items() if v in names}}
    for s in itertools.islice(unify(sub, right, {}), _PER_PAIR):
        yield Overlap(first, second, apply(left, s), path, _merged(guards, s))
    if not path and is_nary(left.op) and is_nary(right.op):
        yield from _sharing(first, left, second, right, guards)


def _sharing(first: Instance, left: Any, second: Instance, right: Any, guards: dict) -> Iterator[Overlap]:
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


def _merged(guards: dict, s: dict) -> dict:
    out: dict[Any, Guard] = {}
    for v, g in guards.items():
        w = v
        while isinstance(w, Var) and w in s:
            w = s[w]
        if isinstance(w, Var):
            out[w] = out[w] & g if w in out and out[w] is not g else g
    return out


# ---------------------------------------------------------------------- trying them
def examine(overlap: Overlap, rs: RuleSet, rng: random.Random) -> Pair | bool:
    """A pair that does not join; True if it joins; False if no term was found on which both rules apply."""
    for attempt in range(_TRIES):
        try:
            t = Draw(rng, overlap.guards, {}, fancy=0.0 if attempt < 3 else 0.2).make(overlap.pattern)
            one, other = _both(overlap, t, rs)
        except (Retry, IndexError):
            continue
        if one is None or other is None:
            continue
        if one is other:
            return True
        rules = overlap.first.rule, overlap.second.rule
        try:
            (a, b), _ = rs.rewrite_terms([one, other], strict=True, budget=4000)
        except (LoopError, RuleFailure) as err:
            return Pair(*rules, t, one, other, f"{err}".splitlines()[0])
        return True if a is b else Pair(*rules, t, a, b)
    return False


def _both(overlap: Overlap, t: Any, rs: RuleSet) -> tuple[Any, Any]:
    sub = t
    for i in overlap.path:
        sub = sub.args[i]
    one = next(results(overlap.first.rule, t, rs.assume), None)
    if one is None:
        return None, None
    inner = next(results(overlap.second.rule, sub, rs.assume), None)
    return one, inner if inner is None else _replaced(t, overlap.path, inner)


def _replaced(t: Any, path: Path, new: Any) -> Any:
    if not path:
        return new
    i = path[0]
    try:
        return mk(t.op, (*t.args[:i], _replaced(t.args[i], path[1:], new), *t.args[i + 1 :]))
    except (TypeError, ValueError, GraphError):
        return None


__all__ = ["Overlap", "Pair", "examine", "overlaps"]
