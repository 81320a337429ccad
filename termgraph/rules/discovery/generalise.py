"""From two equal terms to a finished rule: metavariables, direction, guards, goals, and what has to be assumed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from unification import Var

from termgraph.rules.checking.compare import WRONG
from termgraph.rules.checking.prover import prove_rule
from termgraph.rules.checking.verdict import ACCURATE, Verdict
from termgraph.rules.definition import Rule, finish
from termgraph.rules.discovery.known import cost_of_term
from termgraph.rules.discovery.operators import classes, exchanged, preorder
from termgraph.rules.discovery.vocabulary import NO_OVERFLOW, Vocabulary, input_of
from termgraph.rules.discovery.widening import Widening
from termgraph.rules.facts import FACTS
from termgraph.rules.goals import GoalCall
from termgraph.rules.kinds import Bool, Float, Guard, Inexact, Integer, Kind, Matrix, Real, Vector, head, param
from termgraph.rules.pattern import Pattern
from termgraph.rules.words import ASSUMPTIONS
from termgraph.terms.dtypes import kind_of
from termgraph.terms.errors import RuleError
from termgraph.terms.op import CONST, Op
from termgraph.terms.term import Const, Lit, Term, mk
from termgraph.terms.traverse import children_first

if TYPE_CHECKING:
    from termgraph.rules.kinds import PatternTerm
    from termgraph.terms.term import AnyTerm

_PREFERRED = ("plus_zero", "reassoc", "signed_zero", "domain", "finite", "nonzero", "overflow")
_WEAKER = {"positive": ("nonzero", "nonnegative"), "negative": ("nonzero", "nonpositive")}
_FEW, _MANY = 6, 24  # terms that the prover tries
_ROUNDS = (_FEW, _FEW, _MANY, _MANY)
_ROUNDING = frozenset(("domain", "plus_zero", "reassoc"))  # what is assumed of most rules about functions
_OF_CLASSES = frozenset(("plus_zero", "reassoc", "signed_zero"))  # what some operators of a class may need, others not
_HEAD = Var("f")
TOPIC = "found"


class Finding(NamedTuple):
    """A proved rule."""

    rule: Rule
    verdict: Verdict


def oriented(a: PatternTerm, b: PatternTerm, first: Sequence[str] = ()) -> tuple[Any, Any] | None:
    """The dearer term and the cheaper one; None where neither is cheaper, or the cheaper one has other inputs.

    Where the cost is the same, the form that reads its inputs less often is the better one (`1 / sqrt(x)` for
    `sqrt(x) / x`), then the one that makes do with operators that are named earlier, then the one whose outer operators
    are (as a Knuth-Bendix order decides, so that rules made of such pairs come to an end).
    """

    def cost(t: AnyTerm) -> tuple[Any, ...]:
        return (*cost_of_term(t), _reads(t), _places(t, first))

    def spelling(t: AnyTerm) -> tuple[Any, ...]:
        return (*cost(t), _heads(t, first))

    before, after = sorted((a, b), key=spelling, reverse=True)
    if spelling(before) == spelling(after) or not before.args or before.op is CONST:
        return None
    if cost(before) == cost(after):
        return (before, after) if Counter(_leaves(after)) == Counter(_leaves(before)) else None
    return (before, after) if _inputs(after) <= _inputs(before) else None


def _reads(t: AnyTerm) -> int:
    """How often inputs occur in a term."""
    return len(_leaves(t))


def _leaves(t: Any) -> list[Any]:
    """The inputs of a term, each as often as it occurs."""
    if not t.args:
        return [] if t.op is CONST else [t]
    return [leaf for a in t.args for leaf in _leaves(a)]


def _places(t: AnyTerm, names: Sequence[str]) -> list[int]:
    """Where a term's operators stand in a list, the last first."""
    places = {name: i for i, name in enumerate(names)}
    return sorted([places.get(s.op.name, -1) for s in children_first([t]) if s.args], reverse=True)


def _heads(t: AnyTerm, names: Sequence[str]) -> list[int]:
    """Where a term's operators stand in a list, those outside before those inside, from left to right."""
    places = {name: i for i, name in enumerate(names)}
    return [places.get(s.op.name, -1) for s in preorder(t) if s.args]


def _inputs(t: AnyTerm) -> set[Any]:
    return {s for s in children_first([t]) if not s.args and s.op is not CONST}


class Generaliser:
    """Makes rules about the inputs of a vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.widening = Widening(vocabulary)
        self.names = {t: Var(input_of(t).name) for t in self.widening.leaves}
        self.plain = {input_of(t): v for t, v in self.names.items()}  # rules may take an input out of what is assumed
        self.used: set[str] = set()
        self.tried: dict[tuple[Any, Any], Finding | None] = {}

    def findings(self, before: AnyTerm, after: AnyTerm) -> Iterator[Finding]:
        """Rules that take one term to the other and that the prover accepts, the most general first."""
        for open_axis in (True, False) if _has_axis(before) else (False,):
            some = False
            for found in self._widest_first(before, after, open_axis):
                some = True
                yield from self._of_classes(found)
                yield found
            if some:
                return

    def _widest_first(self, before: AnyTerm, after: AnyTerm, open_axis: bool) -> Iterator[Finding]:
        """The most general rule for which no more is assumed, then the one about the very terms."""
        wider = self.widening.of(before, after)
        for pair in reversed(wider):
            sides = oriented(pair[0], pair[1], self.vocabulary.names)
            found = None if sides is None else self._finding(*sides, open_axis)
            if found is None:
                continue
            if not found.rule.assumes <= _ROUNDING:
                narrow = self._finding(before, after, open_axis)
                if narrow is None or not _needs_no_more(narrow, found):
                    continue
            yield found
            break
        found = self._finding(before, after, open_axis)
        if found is not None:
            yield found

    def _of_classes(self, found: Finding) -> Iterator[Finding]:
        """The rule for all operators that share a property with one of its functions, if it holds of each of them."""
        sides = found.rule.lhs, found.rule.rhs
        for op, relation in classes(sides[0]):
            if not any(self._same_values(*sides, op, other) for (other,) in relation.rows() if other is not op):
                continue  # the prover would find that out, too, but takes longer
            left, right = (exchanged(s, op, _HEAD) for s in sides)
            goals = (*found.rule.goals, GoalCall(relation, (Pattern(_HEAD),)))
            for kinds in self._kinds(open_axis=False, wraps=False):
                made = self._trusting(left, right, {**kinds, _HEAD: head}, goals)
                if made is not None and made.rule.assumes <= found.rule.assumes | _OF_CLASSES:
                    yield made
                    break

    def _same_values(self, left: PatternTerm, right: PatternTerm, op: Op, other: Op) -> bool:
        """Whether two equal terms are so with another operator, as far as a few numbers tell."""
        inputs = {v: t for t, v in self.plain.items()}
        try:
            one, two = (self.ground(exchanged(s, op, other), inputs) for s in (left, right))
            return self.widening.agree(one, two, {})
        except (TypeError, ValueError):  # it is not for operands of this dtype
            return False

    def _finding(self, before: AnyTerm, after: AnyTerm, open_axis: bool) -> Finding | None:
        left, right = (self._pattern(t, open_axis) for t in (before, after))
        if (left, right) not in self.tried:
            self.tried[left, right] = self._proved(left, right, open_axis)
        return self.tried[left, right]

    def _pattern(self, t: Any, open_axis: bool) -> Any:
        if t in self.names:
            return self.names[t]
        if t.op is CONST:
            return Lit(t.value.item()) if t.value.ndim == 0 else t
        if not t.args:
            return self.plain[t]
        op, params = t.op, {}
        if t.op.kind == "reduce":
            params = {k: Var("d") for k in ("dtype",) if k in op.params}
            params |= {"axis": Var("a")} if open_axis else {}
        return mk(op.bind(**params) if params else op, tuple([self._pattern(a, open_axis) for a in t.args]))

    # ------------------------------------------------------------------ guards and goals
    def _proved(self, left: PatternTerm, right: PatternTerm, open_axis: bool) -> Finding | None:
        last = None
        wraps = NO_OVERFLOW in self.vocabulary.facts and any(map(_may_wrap, (*preorder(left), *preorder(right))))
        for kinds in self._kinds(open_axis, wraps):
            found = self._with_facts(left, right, kinds)
            if found is not None and "overflow" not in found.rule.assumes:
                return found
            last = last or found
        return last

    def _kinds(self, open_axis: bool, wraps: bool) -> Iterator[dict[Var, Kind]]:
        """What the metavariables are restricted to: nothing at first, unless the rule asks whether whole numbers wrap
        around, then more and more."""
        dtype = self.vocabulary.leaves[0].type.np_dtype
        ladder: dict[str, Sequence[Guard | None]] = {
            "f": (None, Inexact, Real, Float), "i": (None, Integer), "b": (None, Bool),
        }  # fmt: skip
        ranked = not self.vocabulary.elementwise and not open_axis
        for guard in ladder.get(kind_of(dtype), (None,))[wraps:]:
            kinds: dict[Var, Kind] = {Var("a"): param, Var("d"): param}
            for leaf, v in self.names.items():
                own = Bool if kind_of(leaf.type.np_dtype) == "b" and kind_of(dtype) != "b" else guard
                rank = {1: Vector, 2: Matrix}.get(leaf.type.ndim) if ranked else None
                both = rank & own if rank is not None and own is not None else rank or own
                if both is not None:
                    kinds[v] = both
            yield kinds

    def _with_facts(self, left: PatternTerm, right: PatternTerm, kinds: dict[Var, Kind]) -> Finding | None:
        """With the facts that the inputs have, each of them left out or weakened where the rule holds without."""
        goals: dict[Any, list[str]] = {
            v: [f for f in self.vocabulary.facts if f != NO_OVERFLOW] for v in self.names.values() if v in _free(left)
        }
        if NO_OVERFLOW in self.vocabulary.facts:
            goals |= {s: [NO_OVERFLOW] for s in dict.fromkeys([*preorder(left), *preorder(right)]) if _may_wrap(s)}
        if not self.vocabulary.facts:
            return self._assuming(left, right, kinds, goals)
        found = self._assuming(left, right, kinds, goals, (_FEW, _FEW))
        if found is None:
            return None
        fewer = self._weaker(found, goals, lambda asked: self._assuming(left, right, kinds, asked, (_FEW,)))
        last = self._assuming(left, right, kinds, fewer)
        if _needs_no_more(found, last):
            return last
        found = self._assuming(left, right, kinds, goals)  # few samples have let something pass
        if found is None:
            return None
        fewer = self._weaker(found, goals, lambda asked: self._assuming(left, right, kinds, asked))
        return self._assuming(left, right, kinds, fewer) or found

    def _weaker(
        self, found: Finding, goals: dict[Any, list[str]], proved: Callable[[dict[Any, list[str]]], Finding | None]
    ) -> dict[Any, list[str]]:
        """The goals without those that the rule does not need, one after the other."""
        asked = dict(goals)
        for v in goals:
            for fewer in _weakened(goals[v]):
                less = {**asked, v: fewer}
                if self._agrees(found.rule, less) and _needs_no_more(found, proved(less)):
                    asked = less
                    break
        return asked

    def _agrees(self, rule: Rule, goals: dict[Any, list[str]]) -> bool:
        """Whether both sides have equal values with these facts, as far as a few numbers tell: proofs take longer."""
        inputs = {v: t for t, v in self.plain.items()}
        facts = {inputs[v]: names for v, names in goals.items() if v in inputs}
        return self.widening.agree(self.ground(rule.lhs, inputs), self.ground(rule.rhs, inputs), facts)

    def _assuming(
        self,
        left: PatternTerm,
        right: PatternTerm,
        kinds: dict[Any, Any],
        goals: dict[Any, list[str]],
        rounds: Sequence[int] = _ROUNDS,
    ) -> Finding | None:
        """With the assumptions that the prover asks for, if there are such."""
        calls = tuple([GoalCall(FACTS[name], (Pattern(v),)) for v, names in goals.items() for name in names])
        return self._trusting(left, right, kinds, calls, rounds)

    def _trusting(
        self,
        left: PatternTerm,
        right: PatternTerm,
        kinds: dict[Any, Any],
        calls: tuple[GoalCall, ...],
        rounds: Sequence[int] = _ROUNDS,
    ) -> Finding | None:
        """The rule with these goals: what holds for few samples is tried with the most, the last of the `rounds`."""
        assumes: frozenset[str] = frozenset()
        waiting = list(rounds)
        while waiting:
            samples = waiting.pop(0)
            rule = self._rule(left, right, kinds, calls, assumes)
            if rule is None:
                return None
            verdict = prove_rule(rule, samples)
            if verdict.kind == WRONG:
                return None
            more = chosen_assumptions(_excused_by_trust(verdict), assumes) if verdict.undeclared else assumes
            if more is None or not (verdict.ok or verdict.undeclared):
                return None
            if verdict.ok and samples == rounds[-1]:
                return Finding(rule, verdict)
            if verdict.ok:
                waiting = [n for n in waiting if n == rounds[-1]]
            assumes = more
        return None

    def _rule(
        self,
        left: PatternTerm,
        right: PatternTerm,
        kinds: dict[Any, Any],
        goals: tuple[GoalCall, ...],
        assumes: Iterable[str],
    ) -> Rule | None:
        made = Rule(self._name(left), left, right, goals, assumes, "found by machine", "")
        try:
            return finish(made, TOPIC, (), kinds, (TOPIC, len(self.used)))
        except RuleError:
            return None

    def _name(self, left: PatternTerm) -> str:
        names = [str(_HEAD.token) if s.op is _HEAD else s.op.name for s in preorder(left)]
        short = base = "_".join([n.removeprefix("true_").removeprefix("logical_") for n in names[:4]])
        number = 2
        while short in self.used:
            short, number = f"{base}_{number}", number + 1
        return short

    def ground(self, pattern: PatternTerm, inputs: dict[Var, Any]) -> Any:
        """A pattern about inputs again; parameters that were left open are those of float64 and the first axis."""
        if isinstance(pattern, Var):
            return inputs[pattern]
        if pattern.__class__ is Lit:
            return Const(np.asarray(pattern.value, self.vocabulary.leaves[0].type.dtype))
        if pattern.__class__ is not Term:
            return pattern
        op = pattern.op
        if op.lvars:
            chosen = {"axis": (0,), "dtype": self.vocabulary.leaves[0].type.dtype}
            op = op.family.bind(**{k: chosen[k] if isinstance(v, Var) else v for k, v in op.params.items()})
        return mk(op, tuple([self.ground(a, inputs) for a in pattern.args]))

    def keep(self, found: Finding) -> None:
        """The rule is used: no other gets its name."""
        self.used.add(found.rule.name.partition(".")[2])


def chosen_assumptions(needs: Iterable[frozenset[str]], given: frozenset[str]) -> frozenset[str] | None:
    """A small choice of assumptions, one at least for each need; None where nothing would excuse a difference."""
    chosen = set(given)
    for need in sorted(needs, key=lambda n: (len(n), sorted(n))):
        possible = [a for a in _PREFERRED if a in need & ASSUMPTIONS.keys()]
        if not possible:
            return None
        if not chosen & need:
            chosen.add(possible[0])
    return frozenset(chosen)


def _excused_by_trust(verdict: Verdict) -> set[frozenset[str]]:
    """What has to be assumed: of a form that is more exact only what it does to the sign of a zero."""
    return {n for n in verdict.needs if verdict.kind != ACCURATE or "signed_zero" in n}


def _needs_no_more(found: Finding, less: Finding | None) -> bool:
    """Whether a rule with fewer goals was proved under the same assumptions."""
    trusted = found.rule.assumes | {"domain", "plus_zero"} | ({"reassoc"} if found.verdict.kind == ACCURATE else set())
    return less is not None and less.rule.assumes <= trusted


def _weakened(facts: list[str]) -> Iterator[list[str]]:
    yield []
    for fact in facts:
        for weaker in _WEAKER.get(fact, ()):
            yield [weaker]


def _may_wrap(pattern: PatternTerm) -> bool:
    """Whether whole numbers are computed that may be too large for their dtype."""
    return bool(pattern.args) and pattern.op.name in ("add", "sub", "mul")


def _has_axis(t: AnyTerm) -> bool:
    return any(s.args and s.op.kind == "reduce" for s in children_first([t]))


def _free(pattern: PatternTerm) -> frozenset[Any]:
    return frozenset((pattern,)) if isinstance(pattern, Var) else getattr(pattern, "lvars", frozenset())
