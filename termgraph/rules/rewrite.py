"""The driver: innermost, iterative, memoised on the interned terms. Work = nodes of the graph + sizes of right sides.

Each term carries `_st` (the stamp of the rule set that brought it to normal form, or a mark of this run) and `_nf`
(the normal form; None if it is its own). Only terms that are their own normal form keep the stamp after a run, so no
term ever refers to a newer one once the run is over. May import terms, `trace`, `ruleset` for types only.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from termgraph.rules import clients
from termgraph.rules.trace import Trace
from termgraph.terms.errors import RewriteError
from termgraph.terms.term import Term, mk, mk1, mk2
from termgraph.terms.traverse import children_first

COMPILE_LOCK = threading.RLock()  # one rewriting at a time: the memo lives on terms that all threads share
FIRST_BUDGET = 1000
BUDGET_PER_NODE = 30
_ALL_TIMED = 2000


class LoopError(RewriteError):
    """Rewriting that does not end; `rules` names the culprits."""

    def __init__(self, message: str, rules: list[str]) -> None:
        super().__init__(message)
        self.rules = rules


class RuleFailure(RewriteError):
    """A rule that raised while it was tried; `rule` is its name."""

    def __init__(self, message: str, rule: str) -> None:
        super().__init__(message)
        self.rule = rule


class _Frame:
    """A pending rewrite on the stack: `t` (whose operands normalised to give `u`) became `r` by rule number `rid`."""

    __slots__ = ("_nf", "_st", "args", "r", "rid", "t", "u")

    def __init__(self, t: Any, u: Any, r: Any, rid: int) -> None:
        self.t, self.u, self.r, self.rid, self.args = t, u, r, rid, (r,)
        self._st = self._nf = None


@contextmanager
def paused_gc() -> Iterator[None]:
    """The cycle collector off: terms form no cycles, and walking them again and again would double the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def normalize(roots: Sequence[Any], rs: Any, budget: int | None = None) -> tuple[list[Any], Trace]:
    """Normal forms of the roots under a compiled rule set, and the trace of what was done."""
    with COMPILE_LOCK, paused_gc():
        run = _Run(roots, rs, budget)
        try:
            return run.go()
        finally:
            run.clean()


class _Run:
    """One run of the driver."""

    def __init__(self, roots: Sequence[Any], rs: Any, budget: int | None) -> None:
        self.roots, self.rs, self.budget = list(roots), rs, budget
        self.stamp = rs.stamp if not rs.counts_clients else object()
        self.stack: list[Any] = list(roots)
        self.trace = Trace(self.roots, rs.rules)
        clients.COUNTS.clear()
        if rs.counts_clients:
            clients.COUNTS.update(count_clients(roots, rs.counted_heads))

    def go(self) -> tuple[list[Any], Trace]:
        """The loop. Written out in one piece because it runs once per node."""
        rs, stamp, stack, trace = self.rs, self.stamp, self.stack, self.trace
        pop, push, clock = stack.pop, stack.append, perf_counter
        waiting_args, pending = object(), object()
        self.marks = (waiting_args, pending)
        matchers, find = rs.matchers.get, rs.find_matcher
        moved, steps, seconds = trace.moved, trace.steps, trace.rule_seconds
        limit = self.budget or FIRST_BUDGET
        uses = clients.COUNTS
        visited = fired = 0
        while stack:
            t = stack[-1]
            st = t._st
            if st is stamp:
                pop()
                continue
            if st is not waiting_args:
                if st is pending:
                    self._loop(t)
                n = len(stack)
                for a in t.args:
                    if a._st is not stamp:
                        push(a)
                if len(stack) != n:
                    t._st = waiting_args
                    continue
            pop()
            if t.__class__ is not Term:
                if t.__class__ is _Frame:
                    r, u, t = t.r, t.u, t.t
                    nf = r._nf or r
                    u._st = t._st = stamp
                    u._nf = t._nf = nf
                    if uses:
                        uses[id(nf)] = uses.get(id(nf), 0) + uses.get(id(t), 0)
                else:
                    visited += 1
                    t._st, t._nf = stamp, None
                continue
            visited += 1
            u = t
            args = t.args
            for a in args:
                if a._nf is not None:
                    if len(args) == 2:
                        a, b = args
                        u = mk2(t.op, a._nf or a, b._nf or b)
                    elif len(args) == 1:
                        u = mk1(t.op, a._nf)
                    else:
                        u = mk(t.op, tuple([b._nf or b for b in args]))
                    moved.append(t)
                    moved.append(u)
                    if uses:
                        uses[id(u)] = uses.get(id(u), 0) + uses.get(id(t), 0)
                    break
            if u is not t:
                st = u._st
                if st is stamp:
                    t._st, t._nf = stamp, u._nf or u
                    continue
                if st is pending:
                    self._loop(u)
            m = matchers(u.op)
            if m is None:
                m = find(u.op)
            if m is False:
                u._st, u._nf = stamp, None
                if u is not t:
                    t._st, t._nf = stamp, u
                continue
            sampled = visited < _ALL_TIMED or not visited & 15  # timing every node would cost as much as matching it
            if sampled:
                before = clock()
            try:
                res = m(u)
            except Exception as err:
                self._failed(u, err)
            if res is None:
                u._st, u._nf = stamp, None
                if u is not t:
                    t._st, t._nf = stamp, u
                continue
            r, rid = res
            if sampled:
                seconds[rid] += (clock() - before) * (1 if visited < _ALL_TIMED else 16)
            steps.append((rid, u, r))
            fired += 1
            if r._st is stamp:
                t._st = u._st = stamp
                t._nf = u._nf = r._nf or r
                continue
            if fired > limit:
                limit = self._budget(limit)
            t._st = u._st = pending
            push(_Frame(t, u, r, rid))
            push(r)
        trace.visited = visited
        return [r._nf or r for r in self.roots], trace

    def clean(self) -> None:
        """Take the marks of this run off again. Terms that are their own normal form stay stamped."""
        clients.COUNTS.clear()
        for x in self.stack:  # not empty only after an error
            x._st = None
            if x.__class__ is _Frame:
                x.t._st = x.u._st = None
        for t in self.trace.moved:
            if t._nf is not None:
                t._st = t._nf = None
        for _, u, _ in self.trace.steps:
            if u._nf is not None:
                u._st = u._nf = None

    # ------------------------------------------------------------------ what may go wrong
    def _pending(self) -> list[_Frame]:
        return [f for f in self.stack if f.__class__ is _Frame]

    def _loop(self, t: Any) -> None:
        frames = self._pending()
        starts = [i for i, f in enumerate(frames) if f.t is t or f.u is t]
        names = [self.rs.rules[f.rid].name for f in frames[starts[-1] if starts else 0 :]]
        path = " -> ".join(names[:12]) + (" -> ..." if len(names) > 12 else "")
        raise LoopError(
            f"rewriting does not terminate: {path} returns to {t!r:.120}\n{self._places(names)}",
            list(dict.fromkeys(names)),
        )

    def _budget(self, limit: int) -> int:
        """Called when more rewrites happened than allowed: a graph of N nodes gets 1000 + 30 N."""
        if self.budget is None and limit == FIRST_BUDGET:
            return FIRST_BUDGET + BUDGET_PER_NODE * len(children_first(self.roots))
        from collections import Counter

        chain = [self.rs.rules[f.rid].name for f in self._pending()][-200:]
        counts = Counter(chain) or Counter(self.rs.rules[i].name for i, _, _ in self.trace.steps)
        names = [n for n, _ in counts.most_common(4)]
        shown = ", ".join(f"{n} x{k}" for n, k in counts.most_common(4))
        raise LoopError(
            f"rewriting does not end: {len(self.trace.steps)} rewrites, more than the budget for this graph; "
            f"rules in the growing chain: {shown}\n{self._places(names)}",
            names,
        )

    def _places(self, names: list[str]) -> str:
        where = {r.name: r.where for r in self.rs.rules}
        return "\n".join(f"  {n} at {where[n]}" for n in dict.fromkeys(names))

    def _failed(self, u: Any, err: Exception) -> None:
        r = self.rs.rules[self.rs.context.rule]
        raise RuleFailure(
            f"rule {r.name} at {r.where} raised {type(err).__name__}: {err}; on {u!r:.120}", r.name
        ) from err


def count_clients(roots: Sequence[Any], heads: frozenset | None) -> dict[int, int]:
    """How many places use each node (with one of these heads; None: any), by id; roots count as one place each."""
    counts: dict[int, int] = {}
    for r in roots:
        counts[id(r)] = counts.get(id(r), 0) + 1
    seen = object()  # the mark goes where the memo would be: this run starts a new memo anyway
    stack = list(roots)
    while stack:
        t = stack.pop()
        if t._st is seen:
            continue
        t._st = seen
        for a in t.args:
            if heads is None or a.op in heads:
                counts[id(a)] = counts.get(id(a), 0) + 1
            if a._st is not seen and a.args:
                stack.append(a)
    return counts
