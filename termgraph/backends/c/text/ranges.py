"""Running a kernel over its range: the C functions that do, and what is known of it beforehand.

Long ranges are dealt out to threads. May import the prelude and lowering.
"""

from __future__ import annotations

from collections.abc import Sequence

from termgraph._lazy import pattern
from termgraph.backends.c.text.prelude import VECTOR, VECTOR_2, VECTOR_HELPERS
from termgraph.backends.c.text.shared_kernels import Range
from termgraph.lower.lengths.index import Poly
from termgraph.lower.loops.tree import Kernel
from termgraph.lower.schedule.cost import per_iteration

PARTS = 64  # a large reduction has at most that many partial results, whatever the number of threads
GRAIN = 150000  # the work that is worth a thread, in thirds of a nanosecond


def is_one_piece(n: int, cost: int) -> bool:
    """Whether n iterations of this cost are never dealt out to several threads: what `tg_each` asks."""
    return n <= 1 or n <= 2 * GRAIN // (cost + 1)


def has_one_part(extent: Poly, cost: Poly) -> bool:
    """Whether a fold is known to be so short that it has one partial result: what `tg_parts` says."""
    n, each = extent.const, cost.const
    return n is not None and each is not None and n // (GRAIN // (each + 1) + 1) <= 1


def gains_by_vectors(lines: Sequence[str]) -> bool:
    """Whether a quick program should still be vectorised here: plain loops over calls that a vector makes far cheaper.

    Folds over lanes are left out: they take the compiler as long as all the rest.
    """
    return any(VECTOR_CALL.search(line) for line in lines) and not any("_lane" in line for line in lines)


def runs_whole(n: Kernel) -> bool:
    """Whether a kernel always runs over its whole range, which is a number."""
    ranged = None if n.piecewise else known_range(n, per_iteration(n.node))
    return ranged is not None and not ranged.grain


def known_range(n: Kernel, cost: Poly) -> Range | None:
    """The range of a kernel that `KernelWriter.call` runs, if it is a number and so is its cost."""
    extent = n.node.var.extent.const
    if extent is None or cost.const is None:
        return None
    alone = not n.parallel or is_one_piece(extent, cost.const)
    return Range(extent, 0 if alone else GRAIN // (cost.const + 1) + 1, n.parallel and not n.final)


# Calls with a vector version, those in helpers of the prelude included.
VECTOR_CALL = pattern(
    rf"\b(?:{'|'.join(sorted(VECTOR | VECTOR_2))})f?\(|\btg_own_|\b(?:{'|'.join(sorted(VECTOR_HELPERS))})_"
)
VECTORISE = """
#if defined(__GNUC__) && !defined(__clang__)
#define TG_VECTORISE __attribute__((optimize("O1", "tree-vectorize")))
#else
#define TG_VECTORISE
#endif
"""
SERVICES = f"""
/* Run a kernel over 0..n-1; on several threads if it is long. A unit of cost is about a third of a nanosecond. */
static inline int tg_each(tg_context *c, tg_body kernel, int64_t n, int64_t cost)
{{
    enum {{ GRAIN = {GRAIN} }};
    if (n <= 0) return 0;
    if (n > 1 && n > 2 * GRAIN / (cost + 1)) tg_rt->parallel_for(kernel, c, n, GRAIN / (cost + 1) + 1);
    else kernel(c, 0, n, 0);
    return (int)c->st->code;
}}
static inline int tg_all(tg_context *c, tg_body kernel, int64_t n)
{{
    if (n > 0) kernel(c, 0, n, 0);
    return (int)c->st->code;
}}

/* A failure inside a loop: note the step, that of a loop further out in the next place. */
static inline int tg_in_step(tg_status *st, int64_t t)
{{
    if (st->code == 3 || st->code == 6) st->v[st->v[2] ? 3 : 2] = t + 1;
    return (int)st->code;
}}
"""
PARTS_TEXT = f"""
/* How many partial results a fold over n elements has: a matter of n only, so that results do not depend on threads. */
static inline int64_t tg_parts(int64_t n, int64_t cost)
{{
    int64_t parts = n / ({GRAIN} / (cost + 1) + 1);
    return parts < 1 ? 1 : parts > {PARTS} ? {PARTS} : parts;
}}
"""
