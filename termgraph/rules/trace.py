"""Trace: what a rewriting did, always recorded: rule, place, before, after; counts and seconds per rule; provenance."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any

from termgraph.terms.term import AnyTerm
from termgraph.terms.traverse import children_first

_number: Any = itemgetter(0)  # of the rule, in a step


class Record:
    """One rewrite: `rule` (its name), `where` (file:line of the rule), `before`, `after`, `stage`."""

    __slots__ = ("after", "before", "rule", "stage", "where")

    def __init__(self, rule: str, where: str, before: AnyTerm, after: Any, stage: str = "") -> None:
        self.rule, self.where, self.before, self.after, self.stage = rule, where, before, after, stage

    def __repr__(self) -> str:
        return f"{self.rule}: {self.before!r:.80} -> {self.after!r:.80}"


class Trace:
    """The records of one rewriting, in order. `moved` holds terms rebuilt only because an operand changed."""

    def __init__(self, roots: Sequence[Any], rules: Sequence[Any], stage: str = "") -> None:
        self.roots, self.rules, self.stage = list(roots), rules, stage
        self.steps: list[tuple[int, Any, Any]] = []  # (rule number, before, after)
        self.moved: list[Any] = []  # old, new, old, new, ...
        self.rule_seconds: dict[int, float] = defaultdict(float)  # by rule number; few of all rules fire in one graph
        self.visited = 0
        self.body: Any = None  # the op whose body was rewritten, if it is not the graph itself
        self._origins: dict[Any, Any] | None = None
        self._replaced: dict[Any, Any] | None = None
        self._known: set[Any] | None = None

    def __iter__(self) -> Iterator[Record]:
        for i, before, after in self.steps:
            r = self.rules[i]
            yield Record(r.name, r.where, before, after, self.stage)

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, i: Any) -> Any:
        return list(self)[i]

    @property
    def counts(self) -> Counter[str]:
        """How often each rule fired."""
        found: Counter[str] = Counter()
        for i, times in Counter(map(_number, self.steps)).items():
            found[self.rules[i].name] += times
        return found

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds spent in each rule that fired (matching, goals, building), estimated from every sixteenth node."""
        return {self.rules[i].name: s for i, s in sorted(self.rule_seconds.items()) if s}

    def origins(self) -> dict[Any, Any]:
        """For each term that rewriting made, the term it replaced."""
        if self._origins is None:
            self._origins = _origins(self.roots, self._moved_first())
        return self._origins

    def replaced(self) -> dict[Any, Any]:
        """For each term that took another's place as a whole (and so has the same value), that other term."""
        if self._replaced is None:
            self._replaced = {}
            for before, after in self._pairs():
                if after is not before:
                    self._replaced.setdefault(after, before)
        return self._replaced

    def _pairs(self) -> Iterator[tuple[Any, Any]]:
        yield from ((before, after) for _, before, after in self.steps)
        yield from zip(self.moved[::2], self.moved[1::2], strict=True)

    def _moved_first(self) -> Iterator[tuple[Any, Any]]:
        """What was only rebuilt comes from its old self, also where a rule put it in place of what stood around it."""
        yield from zip(self.moved[::2], self.moved[1::2], strict=True)
        yield from ((before, after) for _, before, after in self.steps)

    def origin(self, term: AnyTerm) -> Any:
        """The term of the original graph that `term` comes from; None if it is not known to come from one."""
        origins = self.origins()
        seen: set[int] = set()
        while term in origins and id(term) not in seen:
            seen.add(id(term))
            term = origins[term]
        return term if term in self._originals() else None

    def _originals(self) -> set[Any]:
        if self._known is None:
            self._known = set(children_first(self.roots))
        return self._known

    def __repr__(self) -> str:
        return f"<trace: {len(self.steps)} rewrites, {self.visited} nodes visited>"


class Traces(list[Any]):
    """The traces of several stages, one after the other, as far as provenance goes."""

    def origin(self, term: AnyTerm) -> Any:
        """As `Trace.origin`, back through all stages."""
        for trace in reversed(self):
            term = trace.origin(term)
            if term is None:
                return None
        return term


def _origins(roots: Sequence[Any], pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Every term under a replacement that was not there before comes from what was replaced."""
    originals = set(children_first(roots))
    origins: dict[Any, Any] = {}
    pairs = list(pairs)
    replaced = {before for before, _ in pairs}
    for before, after in pairs:
        if after not in origins and after is not before:
            origins[after] = before
    for before, after in pairs:  # only then the inside: what replaced something else comes from that
        stack = list(after.args)
        while stack:
            t = stack.pop()
            if t in originals or t in origins or not t.args:
                continue
            if t not in replaced:
                stack.extend(t.args)
            elif _comes_from(origins, before, t):
                continue
            origins[t] = before
    return origins


def _comes_from(origins: dict[Any, Any], term: Any, other: Any) -> bool:
    """Whether the chain of origins of a term goes through another one."""
    for _ in range(len(origins) + 1):
        if term is other:
            return True
        if term not in origins:
            return False
        term = origins[term]
    return True
