"""Timing the parts of a C program: which there are, what they write, and the C text that notes how long each took.

`st->timers` holds calls, nanoseconds of all calls, the most bytes held at once; then per part nanoseconds, bytes and
how often it ran. Parts inside a loop are those of its steps.
"""

from __future__ import annotations

import numpy as np

from termgraph._records import NamedTuple
from termgraph.lower.lengths.index import Poly, poly, product
from termgraph.lower.loops.tree import Call, Compound, Let, Node, Reduce, Repeat, Routine, Sweep, Write, walk
from termgraph.lower.push.kernel import LOAD, Buf

TEXT = """
static inline void tg_took(tg_status *st, int part, int64_t *since, int64_t bytes)
{
    if (!st->timers) return;
    const int64_t now = tg_rt->clock_ns();
    __atomic_fetch_add(&st->timers[3 + 3 * part], now - *since, __ATOMIC_RELAXED);
    __atomic_fetch_add(&st->timers[5 + 3 * part], 1, __ATOMIC_RELAXED);
    st->timers[4 + 3 * part] = bytes;
    *since = now;
}
static inline void tg_ended(tg_status *st, int64_t started, int64_t bytes)
{
    if (!st->timers) return;
    __atomic_fetch_add(&st->timers[0], 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&st->timers[1], tg_rt->clock_ns() - started, __ATOMIC_RELAXED);
    if (bytes > st->timers[2]) st->timers[2] = bytes;
}
"""
# Of a loop whose steps are a few numbers, all steps are timed at once.
STEPS = """
static inline void tg_made_steps(tg_status *st, int part, int64_t since, int64_t steps)
{
    if (!st->timers) return;
    __atomic_fetch_add(&st->timers[3 + 3 * part], tg_rt->clock_ns() - since, __ATOMIC_RELAXED);
    __atomic_fetch_add(&st->timers[5 + 3 * part], steps, __ATOMIC_RELAXED);
}
"""
SINCE = "    int64_t since = st->timers ? tg_rt->clock_ns() : 0;\n    (void)since;"
BEGIN = "    const int64_t started = st->timers ? tg_rt->clock_ns() : 0;\n    int64_t since = started;"


class TimedPart(NamedTuple):
    """What is timed on its own: a fused loop, a library call, a loop of the user's."""

    op: str
    expression: str
    bufs: tuple[Buf, ...] = ()  # what it writes for others
    inside: int = -1  # the number of the loop in whose steps it runs
    title: str = ""  # of a loop

    @classmethod
    def of(cls, n: Node, inside: int = -1) -> TimedPart:
        """The part that a node at the top of a program, or of a step of loop number `inside`, makes."""
        part = cls._of(n)._replace(inside=inside, title=n.title if isinstance(n, Repeat) else "")
        return part if inside < 0 else part._replace(bufs=())  # what steps write is not in the graph

    @classmethod
    def of_steps(cls, n: Repeat, inside: int) -> TimedPart:
        """What the steps of a loop do that works on numbers only."""
        return cls("step", f"step: {' '.join(_ops(n))}", (), inside)

    @classmethod
    def _of(cls, n: Node) -> TimedPart:
        bufs = tuple(sorted(written_by(n), key=lambda b: b.name))
        written = ", ".join(b.name for b in bufs) or "numbers"
        if isinstance(n, Call):
            return cls(n.name, f"{n.name} -> {written}", bufs)
        if isinstance(n, Routine):
            then = f", then {' '.join(_ops(n))}" if n.then else ""
            return cls(n.term.op.family.name, f"{n.term.op.family.name}{then} -> {written}", bufs)
        kind = "loop" if isinstance(n, Compound) else "kernel"
        return cls(kind, f"{kind}: {' '.join(_ops(n))} -> {written}", bufs)


def _ops(n: Node) -> list[str]:
    """The operations inside, each once."""
    found: dict[str, None] = {}
    for m in walk([n]):
        if isinstance(m, Let) and m.term.args and m.term.op is not LOAD:
            found[m.term.op.family.name] = None
        if isinstance(m, (Reduce, Sweep)):
            found.update({f.op.params["kind"]: None for f in m.folds})
    return list(found)


def written_by(n: Node) -> set[Buf]:
    """The arrays that others may read of what a node writes."""
    if isinstance(n, Compound):
        return set(n.bufs).union(*[written_by(k) for k in n.then]) if isinstance(n, Routine) else set(n.bufs)
    bufs = {m.buf for m in walk([n]) if isinstance(m, (Write, Call))}
    return {b for b in bufs if b.kind not in ("tile", "row")}


def bytes_written(n: Node) -> Poly:
    """The size of what a node writes for others to read."""
    total = poly(0)
    for b in sorted(written_by(n), key=lambda b: b.name):
        total = total + product(b.shape) * np.dtype(b.dtype).itemsize
    return total
