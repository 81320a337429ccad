"""Running a kernel over its range: the C functions that do, and what is known of it beforehand.

Long ranges are dealt out to threads. May import the prelude and lowering.
"""

from __future__ import annotations

from collections.abc import Sequence

from termgraph._lazy import pattern
from termgraph.backends.c.text.prelude import VECTOR, VECTOR_2, VECTOR_HELPERS
from termgraph.backends.c.text.shared_kernels import Range
from termgraph.lower.lengths.index import ZERO, Poly
from termgraph.lower.loops.tree import Accumulate, Call, Columns, Kernel, Let, Loop, Node, Reduce, Write, walk
from termgraph.lower.schedule.cost import per_iteration

PARTS = 64  # a large reduction has at most that many partial results, whatever the number of threads
GRAIN = 150000  # the work that is worth a thread, in thirds of a nanosecond
TOGETHER = 16  # columns that are dealt out to threads together: whole vectors, of float32 on any processor
FEW_UNITS = 300  # of cost, each a third of a nanosecond: a thousand such iterations last a tenth of a millisecond
UNASKED = 1024  # light steps after which it may be asked to stop
MANY_SHARES = 16  # of columns: fewer are dealt out one by one


def is_one_piece(n: int, cost: int) -> bool:
    """Whether n iterations of this cost are never dealt out to several threads: what `tg_each` asks."""
    return n <= 1 or n <= 2 * GRAIN // (cost + 1)


def has_one_part(extent: Poly, cost: Poly) -> bool:
    """Whether a fold is known to be so short that it has one partial result."""
    return known_parts(extent, cost) == 1


def known_parts(extent: Poly, cost: Poly) -> int | None:
    """How many partial results a fold has, where that is known: what `tg_parts` says."""
    n, each = extent.const, cost.const
    return None if n is None or each is None else max(1, min(PARTS, n // (GRAIN // (each + 1) + 1)))


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
    extent, each = dealt_out(n, cost)
    if extent.const is None or each.const is None:
        return None
    alone = not n.parallel or is_one_piece(extent.const, each.const)
    return Range(extent.const, 0 if alone else GRAIN // (each.const + 1) + 1, n.parallel and not n.final)


def dealt_out(n: Kernel, cost: Poly) -> tuple[Poly, Poly]:
    """The range of which threads get parts, and what an iteration of it costs."""
    together = columns_together(n, cost)
    return (n.node.var.extent, cost) if together == 1 else (n.node.var.extent.const // together + ZERO, cost * together)


def columns_together(n: Kernel, cost: Poly) -> int:
    """How many columns are dealt out together: the compiler then writes nothing for what whole vectors leave over."""
    extent = n.node.var.extent.const
    if not isinstance(n.node, Columns) or not n.parallel or n.piecewise or extent is None or cost.const is None:
        return 1
    many = extent >= MANY_SHARES * TOGETHER and not is_one_piece(extent, cost.const)
    return TOGETHER if many and not extent % TOGETHER else 1


def polling(loop: Node, final: bool = False) -> dict[str, str]:
    """Long loops ask now and then whether to stop, more often where each iteration is a loop itself. Short ones of
    known length do not: asking takes as long as some of them, and the C compiler a tenth of its time.
    """
    if final or not isinstance(loop, (Loop, Reduce)) or getattr(loop, "simd", False) or getattr(loop, "lanes", 0):
        return {}
    if has_one_part(loop.var.extent, per_iteration(loop)):
        return {}
    inside = list(walk(loop.body))
    if isinstance(loop, Reduce) and all(isinstance(n, (Let, Accumulate, Write)) for n in inside):
        return {"between": "if (TG_STOP(c->st)) break;"}
    if any(isinstance(n, Call) for n in inside):
        return {"first": "if (TG_STOP(c->st)) break;"}
    cost = per_iteration(loop).const
    long = any(isinstance(n, (Loop, Reduce, Columns)) for n in inside) and (cost is None or cost > FEW_UNITS)
    if not long and not isinstance(loop, Reduce):
        return {"between": "if (TG_STOP(c->st)) break;"}
    return {"first": f"if (!(i{loop.var.level} & {15 if long else 1023}) && TG_STOP(c->st)) break;"}


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
WHOLE_VECTORS = """
/* For loops over columns: gcc has to be told what a number is a multiple of by a pass that all else does without. */
#if defined(__GNUC__) && !defined(__clang__)
#define TG_WHOLE_VECTORS __attribute__((optimize("tree-bit-ccp")))
#else
#define TG_WHOLE_VECTORS
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


def services(functions: Sequence[str], partials: bool, quick: bool) -> str:
    """The C functions that run kernels over their ranges, and the marks that these functions use."""
    texts = [SERVICES, *([PARTS_TEXT] if partials else []), *([VECTORISE] if quick else [])]
    if any("TG_WHOLE_VECTORS" in f for f in functions):
        texts.append(WHOLE_VECTORS)
    return "\n\n".join([text.strip() for text in texts])
