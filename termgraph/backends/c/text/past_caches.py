"""Long results past the caches: which kernels write them block by block (run/past.c), and the C text that asks for it.

Which results are long is known in the call. May import lowering.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from termgraph._records import NamedTuple
from termgraph.backends.c.text.ranges import GRAIN
from termgraph.lower.lengths.index import Poly, poly
from termgraph.lower.loops.tree import Kernel, Let, Loop, Write
from termgraph.lower.memory.plan import loads
from termgraph.lower.push.kernel import Buf
from termgraph.terms.dtypes import numpy_dtype

CACHED = 3 << 23  # bytes of results from which it is asked how large the last cache is
MOST = 4  # results of one kernel
# Of cost, for each result: what computes for longer does not wait for memory (`sqrt` takes 1.1, `exp` 1.3 of its time),
# nor does what only writes (ones take 1.15).
CHEAP = 7

TEXT = f"""
/* As tg_each, where results that are longer than the caches are written past them. Behind their count an array: of each
   its buffer, the bytes of an element, the first element. */
#define tg_each_past(at, kernel, n, cost, count, ...) \\
    ((n) < {CACHED // 64} ? tg_each(at, kernel, n, cost) : ({{ /* at most 64 bytes an iteration */ \\
        tg_context *const tg_of = at; \\
        tg_rt->each_past(&(const tg_past){{tg_of, sizeof *tg_of, __builtin_offsetof(tg_context, buf), \\
                                          kernel, n, cost, {GRAIN}, count, __VA_ARGS__}}); \\
        (int)tg_of->st->code; \\
    }}))
"""


class Result(NamedTuple):
    """A result that a kernel writes one element after the other, beginning with the `first`."""

    buf: Buf
    first: Poly

    @property
    def itemsize(self) -> int:
        return int(numpy_dtype(self.buf.dtype).itemsize)


def results(n: Kernel, cost: Poly, aliased: Collection[Buf]) -> list[Result]:
    """The results that may go past the caches: written once each, in order, and read by no one in this kernel."""
    loop = n.node
    if n.final or n.piecewise or not isinstance(loop, Loop) or not loop.simd or not _waits_for_memory(n, cost):
        return []
    written = [m for m in loop.body if isinstance(m, Write)]
    once = [w for w in written if sum(v.buf is w.buf for v in written) == 1 and w.mode == "set"]
    kept = {b for b, _ in loads(n)} | set(aliased)
    found = [Result(w.buf, w.offset - poly(loop.var)) for w in once if w.buf not in kept]
    found = [r for r in found if r.buf.kind in ("output", "temp") and not r.first.fv]
    length, bytes_each = loop.var.extent.const, sum(r.itemsize for r in found)
    short = length is not None and length * bytes_each < CACHED
    return [] if short or len(found) > MOST else found


def _waits_for_memory(n: Kernel, cost: Poly) -> bool:
    """Whether each iteration reads something and computes little."""
    body = n.node.body
    plain = all(isinstance(m, (Let, Write)) for m in body) and any(offset.fv for _, offset in loads(n))
    return plain and cost.const is not None and cost.const <= CHEAP * sum(isinstance(m, Write) for m in body)


def call(
    kernel: str, n: str, cost: str, found: Sequence[Result], slots: Mapping[Buf, int], text: Callable[[Poly], str]
) -> str:
    """The statement that runs a kernel over n iterations."""
    places = ", ".join(f"{slots[r.buf]}, {r.itemsize}, {text(r.first)}" for r in found)
    given = f"{kernel}, {n}, {cost}, {len(found)}, (const int64_t[]){{{places}}}"
    return f"if (tg_each_past(c, {given})) return (int)st->code;"
