"""The search: terms by size, groups of equal values, and out of each pair that nothing joins a proved rule.

    found = discover(["exp log + *"], 5, Known(stages));  print(found);  print(found.text())

The idea is that of theory exploration with equality saturation, as in Ruler and Enumo.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np

from termgraph.rules.definition import Rule
from termgraph.rules.discovery.algebra import Arithmetic, only_arithmetic
from termgraph.rules.discovery.generalise import Finding, Generaliser, oriented
from termgraph.rules.discovery.known import Known, cost_of_term
from termgraph.rules.discovery.operators import about_operators
from termgraph.rules.discovery.points import (
    DIFFERENT,
    EQUAL,
    Points,
    Values,
    agreement,
    key_of,
    mostly_finite,
    same_everywhere,
)
from termgraph.rules.discovery.report import Discovery
from termgraph.rules.discovery.vocabulary import Vocabulary, Word, input_of, vocabulary
from termgraph.terms.op import CONST, Op
from termgraph.terms.ops.elementwise import neg
from termgraph.terms.term import AnyTerm, Const, mk
from termgraph.terms.traverse import children_first

_NEST = 2  # functions such as exp inside each other
_SHAPES = ("source", "length")
_CORPUS = 4000  # terms that rules found are counted on


def discover(
    ops: Sequence[str], size: int, known: Known, *, facts: Sequence[str] = (), dtype: str = "float64",
    numbers: Sequence[float] = (0, 1, 2), variables: int = 3, seconds: float = 60.0, corpus: Sequence[Any] = (),
    both_ways: Sequence[Rule] = (), report: Callable[[str], None] = lambda line: None,
) -> Discovery:  # fmt: skip
    """Rules between terms of up to `size` operations and inputs that `known` does not join.

    `facts` hold for all inputs (`positive`), `both_ways` are rules that saturation may use in both directions before
    a rule counts as new, `seconds` of the processor bound the search; `report` is told how it goes.
    """
    words = vocabulary(ops, dtype, facts, numbers, variables)
    return _Search(words, size, known, seconds, report, list(corpus), both_ways).run()


class _Entry:
    """A term whose values no smaller term has."""

    __slots__ = ("least", "nest", "term", "values")

    def __init__(self, term: Any, values: Values, nest: int) -> None:
        self.term, self.values, self.nest = term, values, nest
        self.least = nest  # of all terms of these values


class _Search:
    def __init__(
        self, words: Vocabulary, size: int, known: Known, seconds: float, report: Callable[[str], None],
        corpus: list[Any], both_ways: Sequence[Rule],
    ) -> None:  # fmt: skip
        self.words, self.size, self.known, self.report = words, size, known, report
        self.corpus, self.both_ways = corpus, both_ways
        self.points = Points(words)
        self.generaliser = Generaliser(words)
        self.arithmetic = None if only_arithmetic(words) else Arithmetic(signs=self._sign_is_known)
        self.levels: list[list[_Entry]] = [[], []]
        self.classes: dict[tuple[Any, ...], list[_Entry]] = {}
        self.seen: set[Any] = set()
        self.order = {t: i for i, t in enumerate(words.leaves)}
        self.met: list[Any] = []
        self.pairs: list[tuple[Any, Any]] = []
        self.out = Discovery(words, size)
        self.seconds = seconds
        self.began = time.process_time()
        self.until = self.began + seconds

    @property
    def late(self) -> bool:
        """Whether the time is up."""
        return time.process_time() > self.until

    def run(self) -> Discovery:
        """All sizes in turn, then only what is needed of the rules, the most used first."""
        for t in self.words.first_terms():
            self._take(t, self.points.leaf(t), 0, self.levels[1])
        for size in range(2, self.size + 1):
            before = len(self.pairs)
            for pairs in self._level(size):
                self.pairs += pairs
                self._settle(pairs)
            self.report(
                f"size {size}: {self.out.terms} terms, {len(self.pairs) - before} pairs to join, "
                f"{len(self.out.findings)} rules, {time.process_time() - self.began:.0f} s"
            )
            if self.late:
                self.out.stopped = f"stopped after {self.until - self.began:g} s, within size {size}"
                break
        self._minimise()
        self.report(f"{self.out.derivable} rules follow from others, {time.process_time() - self.began:.0f} s")
        self._rank()
        self.out.candidates = len(self.pairs)
        self.out.seconds = time.process_time() - self.began
        return self.out

    # ------------------------------------------------------------------ terms
    def _level(self, size: int) -> Iterator[list[tuple[Any, Any]]]:
        """All terms of a size; pairs of terms of equal values that nothing joins, whenever half of the time left is
        over: the other half is for the rules that they become."""
        level: list[_Entry] = []
        self.levels.append(level)
        made = self._made(size)
        while not self.late:
            now = time.process_time()
            pairs, all_made = self._pairs(made, level, now + max((self.until - now) / 2, self.seconds / 50))
            yield pairs
            if all_made:
                return

    def _pairs(
        self, made: Iterator[tuple[Any, tuple[_Entry, ...]]], level: list[_Entry], until: float
    ) -> tuple[list[tuple[Any, Any]], bool]:
        """Pairs among the terms that are made until then, and whether these are all there are."""
        pairs: list[tuple[Any, Any]] = []
        for n, (term, operands) in enumerate(made):
            pair = self._pair(term, operands, level)
            if pair is not None:
                pairs.append(pair)
            if n % 64 == 63 and time.process_time() > until:
                return pairs, False
        return pairs, True

    def _pair(self, term: AnyTerm, operands: tuple[_Entry, ...], level: list[_Entry]) -> tuple[Any, Any] | None:
        """A new term and the one that it is equal to, if nothing joins them; others join a size's terms."""
        values = self.points.of(term, tuple([e.values for e in operands]))
        if values is None or not mostly_finite(values):
            return None
        self.out.terms += 1
        nest = max(e.nest for e in operands) + _steep(term)
        number = same_everywhere(values, [e.values for e in operands])
        equal = self._take(term, values, nest, level) if number is None else self._number(term, number)
        if equal is None or not self._in_order(term):
            return None
        self.met.append(term)
        joined = self.known.joins(term, equal) or self._mere_arithmetic(term, equal)
        return None if joined else (term, equal)

    def _mere_arithmetic(self, term: AnyTerm, equal: AnyTerm) -> bool:
        """Whether two terms, or their forms, are equal whatever the functions in them are."""
        if self.arithmetic is None:
            return False
        forms = self.known.form(term), self.known.form(equal)
        found = self.arithmetic.joins(term, equal) or self.arithmetic.joins(*forms)
        self.out.arithmetic += found
        return found

    def _sign_is_known(self, op: Op) -> bool:
        """Whether the rules in use take a sign out of an odd or even function."""
        x = input_of(self.words.leaves[0])
        plain, turned = mk(op, (x,)), mk(op, (mk(neg, (x,)),))
        return self.known.joins(turned, plain) or self.known.joins(turned, mk(neg, (plain,)))

    def _number(self, term: AnyTerm, number: float) -> Any:
        """The number that a term always is; numbers that are not in the vocabulary are no right sides."""
        known = [n for n in self.words.numbers if n.value == number and n.type.dtype == term.type.dtype]
        truth = number if term.type.dtype == "bool" else None
        return Const(np.asarray(bool(truth))) if truth is not None else known[0] if known else None

    def _made(self, size: int) -> Iterator[tuple[Any, tuple[_Entry, ...]]]:
        for word in self.words.words:
            for operands in self._operands(word, size - 1):
                if all(e.term.op is CONST for e in operands):
                    continue
                if not word.plain and max(e.nest for e in operands) >= _NEST:
                    continue
                for term in word.make(tuple([e.term for e in operands])):
                    if term not in self.seen and (size < self.size or self._in_order(term)):
                        self.seen.add(term)
                        yield term, operands

    def _operands(self, word: Word, total: int) -> Iterator[tuple[_Entry, ...]]:
        for sizes in _splits(total, word.arity):
            if word.commutative and sizes[0] < sizes[1]:
                continue
            if word.commutative and sizes[0] == sizes[1]:
                yield from combinations_with_replacement(self.levels[sizes[0]], 2)
            else:
                yield from product(*[self.levels[s] for s in sizes])

    def _in_order(self, term: AnyTerm) -> bool:
        """Whether inputs come in their order: other terms differ from such a one in their names only."""
        last = -1
        for t in _leaves_in_order(term):
            place = self.order.get(t)
            if place is None or place <= last:
                continue
            if place > last + 1 and not self._other_sort(last + 1, place):
                return False
            last = place
        return True

    def _other_sort(self, first: int, last: int) -> bool:
        types = {t.type for t in self.words.leaves[first:last]}
        return self.words.leaves[last].type not in types

    def _take(self, term: AnyTerm, values: Values, nest: int, level: list[_Entry]) -> Any:
        """Put a term among those of equal values; the one it is equal to, if any is, perhaps where both are numbers."""
        group = self.classes.setdefault(key_of(term, values.core), [])
        alike = None
        for other in group:
            how = agreement(values, other.values)
            if how == EQUAL:
                if nest < other.least:  # functions may be put on this spelling that are not put on the first one
                    other.least = nest
                    level.append(_Entry(term, values, nest))
                return other.term
            if how != DIFFERENT and alike is None:
                alike = other.term
        entry = _Entry(term, values, nest)
        group.append(entry)
        level.append(entry)
        return alike

    # ------------------------------------------------------------------ rules
    def _settle(self, pairs: list[tuple[Any, Any]]) -> None:
        """Rules for pairs, until all are joined or the time is up. Those of most inputs come first, of which others are
        cases, and of these the simplest."""
        for term, equal in sorted(pairs, key=_simplicity):
            if self.late:
                return
            if self.known.joins(term, equal) or self._mere_arithmetic(term, equal):
                continue
            some = False
            for found in self._rules_for(term, equal):
                some = True
                if self._useful(found, term, equal):
                    self.generaliser.keep(found)
                    self.out.findings.append(found)
                    break
            self.out.refused += not some

    def _rules_for(self, term: AnyTerm, equal: AnyTerm) -> Iterable[Finding]:
        """Rules that make the two terms one, the most general first."""
        sides = oriented(self.known.form(term), self.known.form(equal), self.words.names)
        if sides is not None and any(t.args and t.op.kind in _SHAPES for t in children_first([sides[0]])):
            return []  # what is left of a constant term
        if sides is None:
            self.out.both_ways.append((term, equal))
            return []
        return self.generaliser.findings(*sides)

    def _useful(self, found: Finding, term: AnyTerm, equal: AnyTerm) -> bool:
        """Whether the rule, used from now on, joins what it was made for."""
        self.known.add(found.rule)
        if self.known.joins(term, equal):
            return True
        self.known.remove(found.rule)
        return False

    def _minimise(self) -> None:
        """Leave out rules that the others make needless, the longest first, for half as long as the search at most;
        then see that no pair is lost."""
        self.until = time.process_time() + self.seconds / 2
        left_out: list[Finding] = []
        for n, found in enumerate(sorted(self.out.findings, key=lambda f: -_length(f.rule))):
            if self.late:
                left_over = f"{len(self.out.findings) - n} rules were not compared with the others"
                self.out.stopped = "; ".join(filter(None, (self.out.stopped, left_over)))
                break
            self.known.remove(found.rule)
            if self._follows(found.rule):
                left_out.append(found)
            else:
                self.known.add(found.rule)
        # What followed from a rule that was left out later on may be too far from what is left.
        for found in reversed(left_out):
            if not self._follows(found.rule):
                self.known.add(found.rule)
                left_out.remove(found)
        self.out.findings = [f for f in self.out.findings if f not in left_out]
        self.out.derivable = len(left_out)
        self._settle([pair for pair in self.pairs if not self._joined_anyhow(*pair)])

    def _joined_anyhow(self, a: AnyTerm, b: AnyTerm) -> bool:
        """Whether two terms are equal by the rules in use, read in both directions."""
        return self.known.joins(a, b) or self.known.saturates(a, b, self.both_ways)

    def _follows(self, rule: Rule) -> bool:
        """Whether the rules in use say the same, for each operator that it is about."""
        back = {v: t for t, v in self.generaliser.names.items()}
        sides = (
            [(i.lhs, i.rhs) for i in rule.instances() if i.main] if about_operators(rule) else [(rule.lhs, rule.rhs)]
        )
        return all(self._joined_anyhow(*[self.generaliser.ground(s, back) for s in pair]) for pair in sides)

    def _rank(self) -> None:
        """How often each rule fires on the corpus; without one, on the terms that were enumerated."""
        if self.known.added is None:
            return
        before = self.known.added.counts.copy()
        for t in self.corpus or self.met[:_CORPUS]:
            self.known.form(t)
        counts = self.known.added.counts - before
        self.out.uses = {f.rule.name: counts[f.rule.name] for f in self.out.findings}
        self.out.findings.sort(key=lambda f: -self.out.uses[f.rule.name])


def _splits(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    if parts == 1:
        if total >= 1:
            yield (total,)
        return
    for first in range(1, total - parts + 2):
        for rest in _splits(total - first, parts - 1):
            yield (first, *rest)


def _steep(term: AnyTerm) -> int:
    """1 for functions such as exp, of which few are nested."""
    plain = ("add", "sub", "mul", "true_div", "neg", "sqr", "floor_div", "mod", "switch")
    return int(term.op.kind == "elementwise" and len(term.args) == 1 and term.op.name not in plain)


def _leaves_in_order(t: AnyTerm) -> Iterator[Any]:
    stack = [t]
    while stack:
        s = stack.pop()
        if s.args and s.op.name != "assume":
            stack.extend(reversed(s.args))
        else:
            yield s


def _simplicity(pair: tuple[Any, Any]) -> tuple[Any, ...]:
    inputs = sum(1 for t in children_first(list(pair)) if not t.args and t.op is not CONST)
    return -inputs, sum(cost_of_term(t)[1] + cost_of_term(t)[2] for t in pair), repr(pair)


def _length(rule: Rule) -> int:
    return len(rule.before) + len(rule.after)
