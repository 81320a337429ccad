"""The prover: every rule is tried on random terms of its own left side, and both sides are evaluated by NumPy.

    report = tg.rules.prove(rs);  report.ok;  print(report);  report["algebra.mul_div"]

What differs is classed (zero sign, rounding, special values, WRONG) and compared with what the rule `assumes`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np

from termgraph.rules.checking.accuracy import no_less_accurate
from termgraph.rules.checking.compare import (
    EXACT,
    ORDER,
    REPAIRED,
    ROUNDING,
    WRONG,
    ZERO_SIGN,
    Change,
    Outcome,
    compare,
    failing,
)
from termgraph.rules.checking.draw import Retry
from termgraph.rules.checking.examples import Example, Examples, RuleRaised
from termgraph.rules.checking.other_machine import evaluate_there, has_such
from termgraph.rules.checking.values import fact_holds, specials_for
from termgraph.rules.checking.verdict import ACCURATE, DERIVATIVE, REFUSED, UNTESTED, Verdict
from termgraph.rules.definition import Rule
from termgraph.rules.facts import TermFact, no_overflow
from termgraph.rules.forms import Instance
from termgraph.rules.words import ASSUMPTIONS
from termgraph.terms.dtypes import finfo, kind_of
from termgraph.terms.errors import GraphError
from termgraph.terms.evaluate import apply_meaning, evaluate
from termgraph.terms.leaves import Input
from termgraph.terms.op import INPUT
from termgraph.terms.term import AnyTerm, is_term
from termgraph.terms.traverse import children_first, free_inputs
from termgraph.terms.types import TensorType

# What each example is tried on. Far integers have a round without specials: beside these, differences may be overflow.
_PLAIN, _SPECIAL, _FAR = "plain", "special", "far"
_ROUNDS = (_PLAIN, _SPECIAL, _SPECIAL, _SPECIAL)


def prove_rule(rule: Rule, samples: int = 24, seed: int = 0) -> Verdict:
    """The verdict on one rule."""
    verdict = Verdict(rule)
    if _is_derivative(rule):
        verdict.kind = DERIVATIVE
        return verdict
    _Trials(rule, verdict, seed).run(samples)
    return verdict


def _is_derivative(rule: Rule) -> bool:
    """Whether the rule is about terms that have no value of their own."""
    return "grad" in rule.tags or getattr(getattr(rule.lhs, "op", None), "name", "") == "pullback"


# ---------------------------------------------------------------------- trials
# Of 0.0 and -0.0 each is the larger on some processor, NumPy's vectors decide.
_EXTREMES = frozenset(("maximum", "minimum", "max", "min", "max_or_lowest", "min_or_highest"))


def _picks_a_zero(t: AnyTerm) -> bool:
    """Whether the sign of a zero may be another one on another processor."""
    return any(s.op.family.name in _EXTREMES for s in children_first([t]))


class _Trials:
    """Evaluates examples of one rule and collects the verdict."""

    def __init__(self, rule: Rule, verdict: Verdict, seed: int) -> None:
        self.rule, self.verdict = rule, verdict
        self.maker, self.seed = Examples(rule, seed), seed
        self.turn = 0
        self.beyond = False  # whether something differs in a way that better accuracy cannot explain
        self.shortest = 0  # the length of the example that the verdict shows
        self.signs: list[str] = []  # zeros of other signs, which better accuracy does not explain but need not forbid

    def run(self, samples: int) -> None:
        """As many examples as asked, spread over the rule's instances."""
        instances = self.rule.instances()
        main = [i for i in instances if i.main]
        turns = [*main, *[i for i in instances if not i.main]]
        per_instance = max(3, samples // max(1, len(main)))
        try:
            self._all(turns, per_instance)
            if not self.verdict.trials and self.verdict.kind != WRONG:
                self._hard(main, samples)
            self._where_dtypes_meet(main, samples)
        except RuleRaised as err:
            self._raised(err)
            return
        self._conclude()

    def _all(self, turns: list[Instance], per_instance: int) -> None:
        for instance in turns:
            n = per_instance if instance.main else 2
            misses = 0
            for _ in range(n):
                found = self.maker.draw(instance)
                misses += not found
                if misses > 2 or self.verdict.kind == WRONG:
                    break
                for example in found:
                    self._judge(example)

    def _where_dtypes_meet(self, instances: list[Instance], samples: int) -> None:
        """Half as many examples again whose operands are narrow, or of different dtypes."""
        if self.verdict.trials and self.verdict.kind != WRONG:
            refused = self.maker.refused
            self.maker = Examples(self.rule, self.seed, meeting=True)
            self._all(instances, max(1, samples // (2 * len(instances))))
            self.maker.refused += refused

    def _hard(self, instances: list[Instance], samples: int) -> None:
        for i in range(max(2, samples // 4)):
            found = self.maker.search(instances[i % len(instances)]) if instances else []
            for example in found:
                self._judge(example)
            if not found:
                return

    def _conclude(self) -> None:
        self.verdict.refused = self.maker.refused
        if self.verdict.kind == UNTESTED and self.maker.refused:
            self.verdict.kind = REFUSED
        if self.verdict.undeclared and not self.beyond and self.verdict.kind != WRONG and no_less_accurate(self.rule):
            self.verdict.kind = ACCURATE
            self.verdict.undeclared = self.signs

    def _raised(self, err: RuleRaised) -> None:
        self.verdict.kind = WRONG
        lines = (f"    {err.before!r:.300}", f"      makes the rule raise {err}", *_leaves_text(err.before))
        self.verdict.counterexamples = ["\n".join(lines)]

    def _judge(self, example: Example) -> None:
        v = self.verdict
        length = len(repr(example.before))
        if v.example is None or length < self.shortest:
            v.example, self.shortest = example, length
        dtype = max((leaf.type.np_dtype for leaf in example.draw.slots), key=lambda d: d.kind == "f", default=None)
        for kind in (*_ROUNDS, *([_FAR] if _all_whole(example) else [])):
            specials = specials_for(dtype, self.turn) if kind == _SPECIAL and dtype is not None else []
            self.turn += kind == _SPECIAL
            kinds = frozenset(s.kind for s in specials) - {"ordinary"}
            try:
                given = example.draw.values(specials, far=kind == _FAR)
            except Retry:
                continue
            outcome, shown = self._outcome(example, given, kinds)
            if outcome is None:
                continue
            v.trials += 1
            v.counts[outcome.kind] += 1
            self._note(example, outcome, shown)
            if v.kind == WRONG:
                return

    def _note(self, example: Example, outcome: Outcome, shown: Shown) -> None:
        v = self.verdict
        if v.kind in (UNTESTED, REFUSED) or ORDER.index(outcome.kind) > ORDER.index(v.kind):
            v.kind = outcome.kind
        if outcome.kind == EXACT:
            return
        if outcome.kind == WRONG:
            v.counterexamples = [shown()]
        elif not outcome.excuses & self.rule.assumes:
            v.needs.add(outcome.excuses)
            self.beyond |= outcome.kind not in (ROUNDING, ZERO_SIGN) and REPAIRED not in outcome.excuses
            another = len(v.undeclared) < 3 and not any(outcome.note in u for u in v.undeclared)
            sign = outcome.kind == ZERO_SIGN and not self.signs and not _picks_a_zero(example.before)
            if not (another or sign):
                return
            remedies = " or ".join(f"assumes=[{e!r}]" for e in sorted(outcome.excuses) if e in ASSUMPTIONS)
            advice = f"if that is meant, declare {remedies}; if not, add a goal that rules it out"
            text = f"  differs ({outcome.kind}: {outcome.note}); {advice}\n{shown()}"
            if another:
                v.undeclared.append(text)
            if sign:
                self.signs = [text]

    def _outcome(self, example: Example, given: dict[Any, Any], kinds: frozenset[str]) -> tuple[Outcome | None, Shown]:
        given = {k: x for k, x in given.items() if k.op is INPUT}
        order = list(children_first([example.before]))
        try:
            with np.errstate(all="ignore"):
                lefts = evaluate(order, given)
                values = dict(zip(order, lefts, strict=True))
                if not all(_holds(f, t, given, values) for f, t in example.facts):
                    return None, str
        except Exception as err:  # ops may raise anything, user-made ones included
            if type(err) is GraphError:
                text = f"    {example.before!r:.300}\n      {err}"
                return Outcome(WRONG, note="an op breaks its promise"), lambda: text
            return None, str  # the left side itself fails on these values: the rule promises nothing
        outcome, shown = self._beside(lefts, evaluate, example, given, kinds)
        if outcome.kind != EXACT or not (has_such(order) or has_such(list(children_first([example.after])))):
            return outcome, shown
        try:
            with np.errstate(all="ignore"):
                lefts = evaluate_there(order, given)
                values = dict(zip(order, lefts, strict=True))
                if not all(_holds(f, t, given, values, evaluate_there) for f, t in example.facts):
                    return outcome, shown
        except Exception:  # the smallest number, moved down, is 0: a matrix may be singular there that is not so here
            return outcome, shown
        return self._beside(lefts, evaluate_there, example, given, kinds)

    def _beside(
        self,
        lefts: list[Any],
        machine: Callable[..., list[Any]],
        example: Example,
        given: dict[Any, Any],
        kinds: frozenset[str],
    ) -> tuple[Outcome, Shown]:
        """What the right side gives on a machine beside the values that the left side has there."""
        left = lefts[-1]
        change = partial(_moved, example.before, given, left)
        try:
            with np.errstate(all="ignore"):
                rights = machine(list(children_first([example.after])), given)
        except Exception as err:
            outcome = failing(f"the right side fails: {type(err).__name__}: {err}", lefts, kinds, change)
            return outcome, partial(self._shown, example, given, left, outcome.note)
        if _met_undefined(lefts[:-1]):
            kinds |= {"undefined on the way"}
        if "accurate" in self.rule.tags:  # forms that are better at some operands and worse at others
            change = partial(_either_moved, change, partial(_moved, example.after, given, rights[-1], pole=1e300))
        swallows = partial(_made_nan_by_nan, example.before, given, left)
        outcome = compare(left, rights[-1], [*lefts, *rights], kinds, change, swallows)
        if outcome.kind == EXACT:
            return outcome, str
        return outcome, partial(self._shown, example, given, left, rights[-1], outcome)

    def _shown(
        self, example: Example, given: dict[Any, Any], left: np.ndarray, right: Any, outcome: Outcome | None = None
    ) -> str:
        lines = [f"    {example.before!r:.300}", f"      is    {_text(left, outcome)}"]
        lines += [f"    {example.after!r:.300}", f"      is    {_text(right, outcome)}"]
        values = [f"{k!r}: {k.type} = {_text(x, None)}" for k, x in given.items() if _occurs(k, example.before)]
        lines += [f"      where {v}" for v in values]
        if outcome is not None and outcome.note:
            lines.append(f"      ({outcome.note})")
        return "\n".join(lines)


Machine = Callable[..., "list[Any]"]
Shown = Callable[[], str]  # of an example, whose text few verdicts need


def _holds(fact: TermFact, t: Any, given: dict[Any, Any], values: dict[Any, Any], machine: Machine = evaluate) -> bool:
    """Whether a fact holds of the values: of whole numbers, by computing them again without limits. `values` are those
    of the terms on the left side.
    """
    value = _value(t, given, values, machine)
    if fact is not no_overflow:
        return fact_holds(fact.name, fact, value)
    unlimited = _UNLIMITED.get(t.op.family.name)
    if unlimited is None or value.dtype.kind not in "iu":
        return False
    exact = reduce(unlimited, [_value(a, given, values, machine).astype(object) for a in t.args])
    return bool(np.all(exact == value.astype(object)))


_UNLIMITED: dict[str, Callable[..., Any]] = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}


def _leaves_text(t: AnyTerm) -> list[str]:
    return [f"      where {leaf!r}: {leaf.type}" for leaf in free_inputs([t])]


def _value(t: Any, given: dict[Any, Any], values: dict[Any, Any], machine: Machine) -> np.ndarray:
    if not is_term(t):
        return np.asarray(t)
    if t in values:
        return np.asarray(values[t])
    return np.asarray(machine(list(children_first([t])), given)[-1])


def _met_undefined(values: list[Any]) -> bool:
    """Whether functions made NaN or infinities of the numbers given: outside their domains, or at their poles."""
    return any(not np.isfinite(v).all() for v in values if isinstance(v, np.ndarray) and kind_of(v.dtype) in "fc")


def _occurs(leaf: Input, term: AnyTerm) -> bool:
    return any(t is leaf for t in children_first([term]))


def _moved(before: AnyTerm, given: dict[Any, Any], left: np.ndarray, pole: float = 0.0) -> np.ndarray | None:
    """How far the left side moves when every number met on the way moves by some roundings.

    `pole` is what a move to or from an infinity counts as: nothing, or the farthest of all.
    """
    rng = np.random.default_rng(0)
    total = np.zeros(np.shape(left))
    order = [t for t in children_first([before]) if t not in given]
    for _ in range(5):
        try:
            with np.errstate(all="ignore"):
                values = {k: _jittered(x, rng) for k, x in given.items()}
                for t in order:
                    made = apply_meaning(t, [values[a] for a in t.args]) if t.args else t.value
                    values[t] = _jittered(made, rng)
                gap = np.abs(_signed(values[before]) - _signed(left)).astype(np.float64)
        except Exception:  # outside the domain by now: nothing can be said
            return None
        total = np.maximum(total, np.nan_to_num(gap, posinf=pole))
    return total


def _either_moved(first: Change, second: Change) -> np.ndarray | None:
    a, b = first(), second()
    return None if a is None or b is None or a.shape != b.shape else np.maximum(a, b)


def _made_nan_by_nan(before: AnyTerm, given: dict[Any, Any], left: np.ndarray) -> np.ndarray | None:
    """Where the left side is NaN only because numbers given are: not by an infinity beside them that cancels."""
    if not isinstance(left, np.ndarray):
        return None
    try:
        with np.errstate(all="ignore"):
            found = np.asarray(evaluate([before], {k: _without_nan(x) for k, x in given.items()})[0])
    except Exception:  # outside the domain by now: nothing can be said
        return None
    return np.isnan(left) & ~np.isnan(found) if found.shape == left.shape else None


def _without_nan(x: Any) -> Any:
    holds_nan = isinstance(x, np.ndarray) and kind_of(x.dtype) in "fc" and np.isnan(x).any()
    return np.where(np.isnan(x), 1, x).astype(x.dtype) if holds_nan else x


def _signed(x: object) -> np.ndarray:
    """Numbers that can be subtracted: truth values and unsigned integers as integers."""
    x = np.asarray(x)
    return x.astype(np.int64) if kind_of(x.dtype) in "bu" else x


def _jittered(x: object, rng: np.random.Generator) -> Any:
    if not isinstance(x, np.ndarray) or kind_of(x.dtype) not in "fc":
        return x
    eps = finfo(x.dtype).eps
    return np.asarray(x * (1 + 4 * eps * rng.uniform(-1, 1, x.shape))).astype(x.dtype)


def _text(value: np.ndarray, outcome: Outcome | None) -> str:
    if not isinstance(value, np.ndarray):
        return str(value)[:200]
    if outcome is not None and value.ndim and outcome.place < value.size:
        return f"{value.flat[outcome.place]!r} at {list(map(int, np.unravel_index(outcome.place, value.shape)))}"
    shown = np.array2string(value, threshold=8, edgeitems=2, precision=17).replace("\n", "")
    return f"{shown[:160]}"


def _all_whole(example: Example) -> bool:
    """Whether both sides are made of integers and truth values only: exponentials of large integers overflow."""
    terms = children_first([example.before, example.after])
    return all(isinstance(t.type, TensorType) and t.type.kind in "biu" for t in terms)
