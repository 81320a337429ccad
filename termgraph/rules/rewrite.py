"""The driver: innermost, iterative, memoised on the interned terms. Work = nodes of the graph + sizes of right sides.

Each term carries `_st` (the stamp of the rule set that brought it to normal form, or a mark of this run) and `_nf` (the
normal form; None if it is its own). Only terms that are their own normal form keep the stamp after a run, so no term
ever refers to a newer one once the run is over.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from time import perf_counter
from typing import Any

from termgraph._collector import paused_gc
from termgraph._lazy import lazy
from termgraph.rules.clients import USES
from termgraph.rules.memo import Memo
from termgraph.rules.trace import Trace
from termgraph.terms.errors import RewriteError, ShapeError
from termgraph.terms.term import AnyTerm, Term, mk, mk1, mk2
from termgraph.terms.traverse import children_first

tree = lazy("termgraph.rules.tree")
COMPILE_LOCK = threading.RLock()  # one rewriting at a time: the memo lives on terms that all threads share
FIRST_BUDGET = 1000
BUDGET_PER_NODE = 30
_CHAIN = 100  # results that wait for their own normal form, one in the other: what does not end has ever more of them
_UNCOUNTED = 100_000  # rewritings before nodes are counted all the same: that takes an eighth of a rewriting's time
_ALL_TIMED = 100  # a clock read twice for each match would be a fiftieth of the time


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

    __slots__ = ("_st", "r", "rid", "t", "u")
    args = ()

    def __init__(self, t: Any, u: AnyTerm, r: Any, rid: int) -> None:
        self.t, self.u, self.r, self.rid = t, u, r, rid
        self._st = None


class _End:
    """What lies below the roots on the stack: a walk that is there has seen all, and need not ask at each node."""

    __slots__ = ("_st",)
    args = ()

    def __init__(self) -> None:
        self._st = None


_END = _End()


def normalize(roots: Sequence[Any], rs: Any, budget: int | None = None, memo: Memo | None = None) -> Any:
    """Normal forms of the roots under a compiled rule set, and the trace of what was done."""
    later = memo.enter(rs) if memo is not None else None
    if later is None:
        memo = None
    elif memo is not None and memo.unchanged(rs, list(roots)):
        return list(roots), Trace(roots, rs.named)
    with COMPILE_LOCK, paused_gc():
        run = _Run(roots, rs, budget, memo, *(later or ((), ())))
        try:
            found = run.go()
        except (ShapeError, IndexError) as error:  # seen only now that more lengths are known
            error.term = _before(roots, error)  # type: ignore[union-attr]
            raise
        finally:
            run.clean()
    if memo is not None:
        memo.leave(rs, found[0])
    return found


def _before(roots: Sequence[Any], error: ShapeError | IndexError) -> Any:
    """The term of the graph whose operands' normal forms do not fit, or None if a rule has made it."""
    op, args = getattr(error, "application", (None, ()))
    found = (t for t in children_first(roots) if t.op is op and len(t.args) == len(args))
    return next((t for t in found if all(a is b or a._nf is b for a, b in zip(t.args, args))), None)


def _introduce(roots: Sequence[Any], sets: tuple[Any, ...]) -> None:
    """Tell rule sets that are new which operators there are, at once; later they meet others one by one."""
    for rs in sets:
        if rs.is_new:
            rs.meet_all(roots)


class _Run:
    """One run of the driver."""

    def __init__(
        self,
        roots: Sequence[Any],
        rs: Any,
        budget: int | None,
        memo: Memo | None,
        soon: tuple[Any, ...],
        last: tuple[Any, ...],
    ) -> None:
        self.roots, self.rs, self.budget = list(roots), rs, budget
        depends = rs.counts_clients or rs.merges_commuted  # on the graph: what another one left behind does not count
        self.stamp = object() if depends else rs.stamp
        self.settled = self.stamp if memo is None else memo.settled
        self.half = self.stamp if memo is None or memo.at_last else memo.half
        _introduce(self.roots, (rs, *soon, *last))
        self.verdicts = rs.verdicts(soon, last)
        self.stack: list[Any] = [_END, *self.roots[::-1]]
        self.firsts = {} if memo is None else memo.firsts
        self.trace = Trace(self.roots, rs.named)
        USES.start(self.roots, (self.stamp, self.settled))

    def go(self) -> tuple[list[Any], Trace]:
        """The loop. Written out in one piece because it runs once per node.

        `mark` is the stamp that `u` gets if no rule matches: `settled` needs settled operands, and no rule of the other
        stages (see `Memo`). Terms are compared with None and never asked for their truth, which would be their length.
        """
        stamp, settled, half, stack, trace = self.stamp, self.settled, self.half, self.stack, self.trace
        pop, push, clock = stack.pop, stack.append, perf_counter
        waiting, pending = object(), object()
        verdicts, judge = self.verdicts, self.verdicts.judge
        key = verdicts.key
        moved, steps, seconds = trace.moved, trace.steps, trace.rule_seconds
        limit = self.budget or FIRST_BUDGET
        uses, first_met = USES, self.firsts.setdefault
        visited = matched = fired = 0
        t = pop()
        while True:
            st = t._st
            args = t.args
            n = len(args)
            if st is not waiting:
                if st is stamp or st is settled or st is half:
                    t = pop()
                    continue
                if st is pending:
                    push(t)
                    self._loop(t)
                if n == 2:
                    a, b = args
                    st = b._st
                    if st is not settled and st is not stamp and st is not half:
                        t._st = waiting
                        push(t)
                        st = a._st
                        if st is not settled and st is not stamp and st is not half:
                            push(b)
                            t = a  # the first operand comes first
                        else:
                            t = b
                        continue
                    st = a._st
                    if st is not settled and st is not stamp and st is not half:
                        t._st = waiting
                        push(t)
                        t = a
                        continue
                elif n == 1:
                    a = args[0]
                    st = a._st
                    if st is not settled and st is not stamp and st is not half:
                        t._st = waiting
                        push(t)
                        t = a
                        continue
                elif n:
                    for a in args[::-1]:
                        st = a._st
                        if st is not settled and st is not stamp and st is not half:
                            if t._st is not waiting:
                                t._st = waiting
                                push(t)
                            push(a)
                    if t._st is waiting:
                        t = pop()
                        continue
            u = t
            if n == 2:
                a, b = args
                x, y = a._nf, b._nf
                if x is not None or y is not None:
                    if x is not None:
                        a = x
                    if y is not None:
                        b = y
                    u = mk2(t.op, a, b)
                x, y = a._st, b._st
                mark = x if x is y else stamp if x is stamp or y is stamp else half
            elif n == 1:
                a = args[0]
                x = a._nf
                if x is not None:
                    a = x
                    u = mk1(t.op, a)
                mark = a._st
            elif t.__class__ is _Frame:  # the replacement is in normal form: so are the terms it replaced
                r, a, b = t.r, t.t, t.u
                if r._nf is not None:
                    r = r._nf
                a._st = b._st = stamp
                a._nf = b._nf = r
                counts = uses.counts
                if counts is not None:
                    counts[r] = counts.get(r, 0) + counts.get(a, 0)
                t = pop()
                continue
            elif t is _END:
                break
            elif t.__class__ is not Term:
                visited += 1
                t._st = settled
                t = pop()
                continue
            else:
                mark = settled
                for a in args:
                    if a._nf is not None:
                        args = tuple([a if a._nf is None else a._nf for a in args])
                        u = mk(t.op, args)
                        break
                for a in args:
                    st = a._st
                    if st is stamp:
                        mark = stamp
                        break
                    if st is half:
                        mark = half
            visited += 1
            if u is not t:
                moved.append(t)
                moved.append(u)
                counts = uses.counts
                if counts is not None:
                    counts[u] = counts.get(u, 0) + counts.get(t, 0)
                st = u._st
                if st is not None:  # it is not new
                    if st is stamp or st is settled or st is half:
                        t._st, t._nf = stamp, u if u._nf is None else u._nf
                        t = pop()
                        continue
                    if st is pending:
                        self._loop(u)
            sig = u.sig
            if sig.judge is key:
                verdict = sig.verdict
            else:
                verdict = judge(u)
                key = verdicts.key  # another one, if that has woken rules
            res = None
            commuted = verdict is True
            if verdict and not commuted:
                match, soon, last, commuted = verdict
                if match:
                    matched += 1
                    sampled = matched < _ALL_TIMED or not matched & 15  # timing all would cost as much as matching
                    if sampled:
                        before = clock()
                    try:
                        res = match(u)
                    except Exception as err:
                        self._failed(u, err)
                if res is None and mark is not stamp:
                    if soon and _some_match(soon, u):
                        mark = stamp
                    elif last and mark is settled and _some_match(last, u):
                        mark = half
            if res is None:
                if commuted:
                    swapped = u
                    if n != 2:
                        swapped = first_met((u.op, *sorted(map(id, args))), u)
                    elif a is not b and (ref := u.op.sigs.terms.get((b, a))) is not None:
                        swapped = ref()
                    if swapped is not u and self._replaces(swapped, u):
                        t._st = stamp
                        t._nf = swapped
                        t = pop()
                        continue
                u._st = mark
                if u is not t:
                    t._st, t._nf = stamp, u
                t = pop()
                continue
            r, rid = res
            if sampled:
                seconds[rid] += (clock() - before) * (1 if matched < _ALL_TIMED else 16)
            steps.append((rid, u, r))
            fired += 1
            st = r._st
            if st is stamp or st is settled or st is half:
                t._st = u._st = stamp
                t._nf = u._nf = r if r._nf is None else r._nf
                t = pop()
                continue
            if fired > limit:
                limit = self._budget(limit)
            t._st = u._st = pending
            push(_Frame(t, u, r, rid))
            t = r
        trace.visited = visited
        return [r if r._nf is None else r._nf for r in self.roots], trace

    def _replaces(self, swapped: AnyTerm, u: AnyTerm) -> bool:
        """Put the term with the same operands in another order in the place of `u`, if it is in normal form."""
        if swapped is None or swapped._st not in (self.stamp, self.settled, self.half):
            return False
        if swapped._nf is not None or swapped.op is not u.op or swapped.type is not u.type:
            return False
        self.trace.moved += [u, swapped]
        u._st, u._nf = self.stamp, swapped
        return True

    def clean(self) -> None:
        """Take the marks of this run off again. Terms that are their own normal form stay stamped."""
        USES.stop()
        for x in self.stack:  # not empty only after an error
            x._st = None
            if x.__class__ is _Frame:
                x.t._st = x.u._st = None
        for t in self.trace.moved[::2]:
            t._st = t._nf = None
        for _, u, _ in self.trace.steps:
            if u._nf is not None:
                u._st = u._nf = None

    # ------------------------------------------------------------------ what may go wrong
    def _pending(self) -> list[_Frame]:
        return [f for f in self.stack if f.__class__ is _Frame]

    def _loop(self, t: AnyTerm) -> None:
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
        frames = self._pending()
        if self.budget is None and limit in (FIRST_BUDGET, _UNCOUNTED):
            few = limit == FIRST_BUDGET and len(frames) < _CHAIN
            return _UNCOUNTED if few else FIRST_BUDGET + BUDGET_PER_NODE * USES.size()
        chain = [self.rs.rules[f.rid].name for f in frames][-200:]
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

    def _failed(self, u: AnyTerm, err: Exception) -> None:
        number = tree.rule_that_raised(err)
        r = self.rs.rules[self.rs.context.rule if number is None else number]
        raise RuleFailure(
            f"rule {r.name} at {r.where} raised {type(err).__name__}: {err}; on {u!r:.120}", r.name
        ) from err


def _some_match(matchers: tuple[Any, ...], t: AnyTerm) -> bool:
    """Whether a rule of another stage would match; one that fails will say so when its stage comes."""
    try:
        return any(match(t) is not None for match in matchers)
    except Exception:
        return True
