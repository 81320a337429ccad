"""The values between stages, above those of lowering: graphs as they are captured, rewritten and placed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any

from termgraph._records import record
from termgraph.compile.capture import Captured
from termgraph.compile.options import Options
from termgraph.terms.moved import moved_from
from termgraph.terms.ops.basic import nth
from termgraph.terms.ops.loop import places_of
from termgraph.terms.term import AnyTerm, mk
from termgraph.terms.text import one_line
from termgraph.terms.traverse import children_first
from termgraph.terms.types import TupleType
from termgraph.vm.program import Program

MOST_MOVES = 64  # changes of one loop that are followed back, at most


@record
class Memory:
    """What the rewriting stages of one graph remember: no part of their results."""

    bodies: dict[Any, Any] = field(default_factory=dict)  # ops with a body -> the same with the body rewritten
    seen: Any = None  # terms that no stage can change (`rules.memo.Memo`)


@record(frozen=True)
class Rewritten:
    """A graph after some rewriting, with the records of what was done: one trace per stage, those of bodies too."""

    captured: Captured
    options: Options
    roots: tuple[Any, ...]
    traces: tuple[Any, ...] = ()
    body: Any = None  # the op whose body this is, if it is one
    memory: Memory = field(default_factory=Memory, compare=False, repr=False)

    def __str__(self) -> str:
        return "\n".join(f"out{k} = {one_line(t)}" for k, t in enumerate(self.roots))

    def sizes(self) -> dict[str, int]:
        """How many terms it has."""
        return {"nodes": len(children_first(self.roots))}

    # ------------------------------------------------------------------ back to the user's lines
    def lookup(self, term: AnyTerm) -> tuple[str | None, tuple]:
        """(name, site) of the user's variable that a term came from, also through rewriting."""
        name, site = self.captured.lookup(term)
        if name is None:
            name = self.captured.lookup(self._back(term, "replaced"))[0]
        return (name, site) if site else (name, self._site(term))

    def _site(self, term: AnyTerm) -> tuple:
        """The line that a rewritten term came from; of what was taken out of a loop, the line in the step function."""
        for _ in range(MOST_MOVES):
            term = self.origin(term)
            several = isinstance(term.type, TupleType)
            candidates = [mk(nth.bind(i=i), (term,)) for i in range(len(term.type.types))] if several else [term]
            sites = [self.captured.lookup(t)[1] for t in (*candidates, *map(self.origin, candidates))]
            if any(sites):
                return next(filter(None, sites))
            op, term = moved_from(term) or (None, None)
            if term is None:
                break
            if op is not None:
                return places_of(op).get(term, (None, ()))[1]
        return ()

    def origin(self, term: AnyTerm) -> AnyTerm:
        """The term, as it was before rewriting, that a term of the rewritten graph came from."""
        return self._back(term, "origins")

    def _back(self, term: AnyTerm, links: str) -> AnyTerm:
        for trace in reversed([t for t in self.traces if t.body is self.body]):
            table: dict = getattr(trace, links, dict)()
            for _ in range(len(table)):  # a chain of replacements; never longer than there are any
                if term not in table:
                    break
                term = table[term]
        return term

    @property
    def trace(self) -> list[Any]:
        """All records of rewriting the graph, in order; those of bodies are in terms of their own arguments."""
        return [record for trace in self.traces if trace.body is self.body for record in trace]

    def rule_counts(self) -> dict[str, int]:
        """How often each rule was applied."""
        return _sums((rule, n) for trace in self.traces for rule, n in trace.counts.items())

    def rule_seconds(self) -> dict[str, float]:
        """Seconds spent in each rule that was applied."""
        return _sums((rule, s) for trace in self.traces for rule, s in trace.seconds.items())


def _sums(pairs: Iterator[tuple[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, n in pairs:
        out[key] = out.get(key, 0) + n
    return out


@record(frozen=True)
class Placed:
    """The graph without calls, and the program of one instruction per operation that computes it."""

    args: tuple[Any, ...]
    roots: tuple[Any, ...]
    program: Program

    @classmethod
    def of(cls, args: Sequence[Any], roots: Sequence[Any]) -> Placed:
        """The plain program of a graph."""
        return cls(tuple(args), tuple(roots), Program.from_terms(args, roots))

    def __str__(self) -> str:
        return str(self.program)

    def sizes(self) -> dict[str, int]:
        """How many operations it has."""
        return {"nodes": len(self.program.instructions)}


class Several(list[Any]):
    """What a stage made of each part of a program; prints them one below the other."""

    def __str__(self) -> str:
        return "\n".join(f"# part {k}\n{value}" for k, value in enumerate(self))

    __repr__ = __str__
