"""Values that are stored for the sake of a later loop: the loop that computes them does not read them back.

The mean of a row is stored if a sum over columns needs it, the slope of a loss if a matrix product does. A loop over
the same variable that needs it as well, and could run at the same time, computes it itself: within one loop it is
computed once, and the two loops become one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from termgraph.lower.lengths.index import Var
from termgraph.lower.lengths.index import values as index_values
from termgraph.lower.loops.phases import phases
from termgraph.lower.push.kernel import FOLD, LOAD, PICK, Buf, Scalars, indices, operands_first, scalars
from termgraph.lower.storage.policy import Store

if TYPE_CHECKING:
    from termgraph.lower.loops.plan import Planner, Scope


def computed_where_needed(planner: Planner, statements: Sequence[Any], top: Scope) -> list[Any]:
    """The statements, with loads of stored values replaced by the values where that joins two loops."""
    out = list(statements)
    times_written = Counter(b for x in statements for b in _written(x))  # a scatter writes to what a first store filled
    for k in range(len(out)):
        near = [w for w in out if _one_for_each(w) and times_written[w.buf] == 1 and _reads_in_step(planner, out[k], w)]
        for together in ([near] if near else []) + ([[w] for w in near] if len(near) > 1 else []):
            x = out[k]
            for w in together:
                x = replace(x, value=_with_value(planner.s, x.value, w))
            trial = [*out[:k], x, *out[k + 1 :]]
            if _run_together(planner, trial, x, together, top):
                out = trial
                break
    return out


def _one_for_each(x: Any) -> bool:
    """A value for each step of one loop, in storage of its own."""
    plain = isinstance(x, Store) and x.mode == "set" and not x.ordered
    return plain and len(x.vars) == 1 and x.buf.kind == "temp" and not index_values(x.offset)


def _written(x: Any) -> Sequence[Buf]:
    """The storage that a statement writes to."""
    return getattr(x, "bufs", None) or [b for b in (getattr(x, "buf", None),) if b is not None]


def _reads_in_step(planner: Planner, x: Any, w: Store) -> bool:
    """Whether x reads w, and only the element of the step that it is at."""
    if not isinstance(x, Store) or x is w or x.ordered or w.buf not in planner.needs(x):
        return False
    if any(_buf(t) is w.buf for v in index_values(x.offset) for t in scalars([v])):
        return False
    for t in scalars([x.value]):
        if _buf(t) is w.buf and t.op.params["offset"] is not w.offset:
            return False
        if any(_buf(u) is w.buf for p in indices(t) for v in index_values(p) for u in scalars([v])):
            return False
    return True


def _buf(t: Any) -> Any:
    return t.op.params["buf"] if t.op.family is LOAD else None


def _with_value(s: Scalars, root: Any, w: Store) -> Any:
    """The term with the value of w in place of loads of it."""
    new: dict[Any, Any] = {}
    for t in operands_first([root]):
        if _buf(t) is w.buf:
            new[t] = w.value
        elif not t.args or all(new[a] is a for a in t.args):
            new[t] = t
        else:
            new[t] = _remade(s, t, tuple([new[a] for a in t.args]))
    return new[root]


def _remade(s: Scalars, t: Any, args: tuple) -> Any:
    if t.op.family is FOLD:
        return s.fold(t.op.params["kind"], t.op.params["var"], args[0])
    return s.pick(*args) if t.op.family is PICK else s.make(t.op, args)


def _run_together(planner: Planner, statements: list[Any], x: Store, ws: Sequence[Store], top: Scope) -> bool:
    """Whether every loop that now computes what some w stores is the loop that stores it, and as deep a nest."""
    folds = planner.placeable(statements, top)
    phase = phases(planner.predecessors(folds, statements, top))
    outer = set(folds)
    for y, value in [*((f, f.args[0]) for f in folds), (x, x.value)]:
        stop = lambda t, y=y: t in outer and t is not y  # noqa: E731
        below = set(scalars([value], stop))
        for w in ws:
            if w.value not in below:
                continue
            same = phase[y] == phase[w] and _var(y) is w.vars[0]
            if not same or _nests(planner.s, y, value) != _nests(planner.s, w, w.value):
                return False
    return True


def _var(y: Any) -> Var | None:
    if isinstance(y, Store):
        return y.vars[0] if y.vars else None
    return y.op.params["var"]


def _nests(s: Scalars, y: Any, value: Any) -> bool:
    """Whether a loop contains loops: what can be a vector loop should stay one."""
    if isinstance(y, Store) and len(y.vars) > 1:
        return True
    return any(not isinstance(f, Buf) and f is not y and _var(y) in s.free(f) for f in s.needs(value))
