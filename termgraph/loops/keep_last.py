"""Reading only the last steps of a result:
then no more than those are kept, and memory does not grow with the steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from termgraph.loops.loop_term import LoopView, loops_of
from termgraph.loops.merge import substitute_all
from termgraph.terms.moved import rebuild_moved
from termgraph.terms.ops.basic import nth
from termgraph.terms.ops.elementwise import maximum, minimum, sub
from termgraph.terms.ops.indexing import subtensor
from termgraph.terms.ops.loop import loop, projections
from termgraph.terms.ops.shaping import static_scalar
from termgraph.terms.term import AnyTerm, Arg, Const, Term, mk
from termgraph.terms.traverse import children_first, client_map, substitute

MOST_KEPT = 64  # more rows than that are not a few last ones
_after = subtensor.bind(index=(("s", "?", None, None),))


# ---------------------------------------------------------------------- the last one
def last_step(roots: Sequence[Any]) -> tuple[list[Any], int]:
    """Read the final carry where only the last row of a result is read: memory no longer grows with the steps."""
    count = 0
    done: dict[tuple, Any] = {}

    def visit(t: AnyTerm, args: tuple) -> Any:
        nonlocal count
        new = t if all(x is y for x, y in zip(args, t.args)) else mk(t.op, args)
        row = _stacked(new)
        if row is None or _from_end(new, row) != -1:
            return new
        if row not in done:
            done[row] = _final_value(row.args[0], row.op.params["i"])
        final = done[row]
        if final is None:
            return new
        count += 1
        rest = new.op.params["index"][1:]
        return mk(subtensor.bind(index=rest), (final, *new.args[1:])) if rest else final

    return rebuild_moved(roots, visit), count


def _stacked(t: AnyTerm) -> Any:
    """The stacked result of a loop that a term indexes first, or None."""
    if t.op.family is not subtensor or not t.op.params["index"] or t.args[0].op.family is not nth:
        return None
    row = t.args[0]
    op = row.args[0].op
    return row if op.family is loop and op.n_carry <= row.op.params["i"] < op.n_carry + op.n_ys else None


def _from_end(t: AnyTerm, row: AnyTerm) -> int | None:
    """The row that is read, counted from the end as -1, -2, ..., if it is one that is known."""
    first, rows = t.op.params["index"][0], row.type.shape[0]
    if not isinstance(first, int):
        return None
    return first if first < 0 else first - rows if rows is not None and first < rows else None


def _final_value(t: AnyTerm, i: int) -> Any:
    """The last row of result `i` from the final carries and the constants, or None."""
    view = LoopView(t)
    finals = projections(t)
    reached = {c[2]: finals[j] for j, c in enumerate(view.carries)}
    y = view.ys[i - t.op.n_carry]
    if y in reached:
        return reached[y]
    after = {new: view.leaf(new.type) for new in reached if new.args}
    (outside,) = substitute([y], after)
    place = {**view.consts, **{leaf: reached[new] for new, leaf in after.items()}}
    if all(leaf in place for leaf in children_first([outside]) if leaf.__class__ is Arg):
        return view.moved(substitute([outside], place)[0], y)
    return None


# ---------------------------------------------------------------------- the last few
def last_steps(roots: Sequence[Any]) -> tuple[list[Any], int]:
    """A loop of whose results only the last few rows are read is made in two: the second one keeps its results."""
    count = 0
    for t in loops_of(roots):
        reads = _reads(roots, t)
        most = max([-first for _, first in reads], default=0)
        if not reads or t.op.params["until"] or most > MOST_KEPT or _at_most(t.args[0], 4 * most):
            continue
        roots = _in_two(roots, t, most, reads)
        count += 1
    return list(roots), count


def _at_most(n: AnyTerm, most: int) -> bool:
    """Whether a loop surely makes few steps."""
    steps = static_scalar(n)
    if steps is None and n.op is minimum:
        return any(_at_most(a, most) for a in n.args)
    return steps is not None and steps <= most


def _reads(roots: Sequence[Any], t: AnyTerm) -> list[tuple[Any, int]]:
    """All reads of a loop's stacked results with the first row they read, if all of them read last rows; else []."""
    clients = client_map(roots)
    found = []
    for result in [r for r in clients if r.op.family is nth and r.args[0] is t]:
        if result.op.params["i"] < t.op.n_carry:
            continue
        if result in roots:
            return []
        for reader, _ in clients[result]:
            first = _first_row(reader, result)
            if first is None:
                return []
            found.append((reader, first))
    return found


def _first_row(t: AnyTerm, row: AnyTerm) -> int | None:
    """The first of the last rows that a term reads, counted from the end, or None if it reads others as well."""
    if t.__class__ is not Term or _stacked(t) is not row or len(t.args) != 1:
        return None
    first = t.op.params["index"][0]
    if isinstance(first, tuple):
        _, start, stop, step = first
        forward = step in (None, 1) and isinstance(start, int) and start < 0
        return start if forward and (stop is None or (isinstance(stop, int) and stop < 0)) else None
    return _from_end(t, row)


def _in_two(roots: Sequence[Any], t: AnyTerm, most: int, reads: list[tuple[Any, int]]) -> list[Any]:
    """The graph with the loop's first steps made by a loop that stacks nothing."""
    view = LoopView(t)
    dtype = view.n.type.np_dtype.type
    early = mk(maximum, (mk(sub, (view.n, Const(dtype(most)))), Const(dtype(0))))
    ys, view.ys, steps = view.ys, [], view.n
    view.n = early
    finals = view.results()
    late = LoopView(t)
    late.n = mk(minimum, (steps, Const(dtype(most))))
    late.ys = ys
    for carry, final in zip(late.carries, finals):
        carry[1] = final
    late.xs = {leaf: mk(_after, (x, early)) for leaf, x in late.xs.items()}
    new = dict(zip(projections(t), late.results()))
    new.update({r: _renumbered(r, new[r.args[0]]) for r, _ in reads})
    return substitute_all(roots, new)


def _renumbered(t: AnyTerm, row: Any) -> Any:
    first, *rest = t.op.params["index"]
    if isinstance(first, int):
        first = _from_end(t, t.args[0])
    return mk(subtensor.bind(index=(first, *rest)), (row, *t.args[1:]))
