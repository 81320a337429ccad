"""Products of float32 inside loops whose right factor stays the same: it is packed once, in the first step.

BLAS packs it anew in every call, which is a fifth of the time where the left factor has few rows. Only for a number of
rows that is known, and for processors whose widest vectors hold eight numbers. May import lower and this package.
"""

from __future__ import annotations

from termgraph.backends.c import libcalls
from termgraph.backends.c.cores import blas_thread_count
from termgraph.backends.cstyle import Printer
from termgraph.lower.index import ONE, ZERO
from termgraph.lower.tree import Call, Repeat

FEWEST, MOST = 2, 64  # rows for which this is faster than BLAS


def kept_products(n: Repeat) -> list[Call]:
    """The products of a step whose right factor is the same in all steps."""
    constant = {leaf for leaf, _, _, step in n.leaves if step is ZERO}
    alone = blas_thread_count() == 1  # BLAS may use several threads, these functions do not
    calls = [x for x in n.body if isinstance(x, Call)]
    return [x for x in calls if alone and _fits(x) and x.operands[1][0] in constant]


def _fits(n: Call) -> bool:
    if n.name != "gemm" or n.options["dtype"] != "float32":
        return False
    rows, column = n.sizes[0].const, n.operands[0][2][1]
    plain = not n.options["batch"] and "alpha" not in n.options and column is ONE
    return plain and rows is not None and FEWEST <= rows <= MOST


def write_kept(kept: str, n: Call, p: Printer) -> None:
    """The call of one product; `kept` is the place of its packed factor."""
    (a, a_at, (lda, _)), (b, b_at, b_step) = n.operands
    p.add("if (TG_POLL(st)) return (int)(st->code = TG_INTERRUPT);")
    (tb, ldb), add = libcalls.flags(p, b_step), int(bool(n.options["beta"]))
    left, right, out = libcalls.pointer(p, a, a_at), libcalls.pointer(p, b, b_at), libcalls.pointer(p, n.buf, ZERO)
    m, columns, k = (p.poly(size) for size in n.sizes)
    given = f"{tb}, {m}, {columns}, {k}, {add}, {left}, {p.poly(lda)}, {right}, {ldb}, {out}"
    p.add(f"tg_kept_product(st, {kept}, 1, 0, {given});")
    p.add("if (st->code) return (int)st->code;")


__all__ = ["kept_products", "write_kept"]
