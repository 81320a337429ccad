"""Products of floats inside loops whose right factor stays the same: it is packed once, in the first step.

BLAS packs it anew in every call, which is a fifth of the time where the left factor has few rows. Only for processors
whose widest vectors have 32 bytes. Where the left factors are there before the loop, the products of a few steps are
made at once.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from termgraph.backends.c.build.compilers import processor_flags
from termgraph.backends.c.run.cores import blas_thread_count
from termgraph.backends.c.text import library_calls
from termgraph.backends.c.text.dialect import CTYPE
from termgraph.backends.c.text.micro_kernels import FEWEST, MOST
from termgraph.backends.cstyle import Printer
from termgraph.lower.lengths.index import ONE, ZERO, product
from termgraph.lower.loops.tree import Ahead, Call, Repeat
from termgraph.lower.push.kernel import Buf

FLOATS = ("float32", "float64")


def kept_products(n: Repeat) -> list[Call]:
    """The products of a step whose right factor is the same in all steps."""
    constant = {leaf for leaf, _, _, step in n.leaves if step is ZERO}
    calls = [x for x in n.body if isinstance(x, Call)]
    return [x for x in calls if _fits(x) and x.operands[1][0] in constant]


def worth_ahead(n: Call) -> bool:
    """Whether a product that could be made before a loop is better made in it, for a few steps at once."""
    return _has_tiles() and _fits(n)


def _has_tiles() -> bool:
    """Whether this processor has the instructions; with wider vectors BLAS is faster for all rows at once."""
    return {"avx2", "fma"} <= processor_flags() and "avx512f" not in processor_flags()


def _fits(n: Call) -> bool:
    if blas_thread_count() > 1:  # BLAS may use several threads, these functions do not
        return False
    if n.name != "gemm" or n.options["dtype"] not in FLOATS:
        return False
    rows, column = n.sizes[0].const, n.operands[0][2][1]
    plain = not n.options["batch"] and "alpha" not in n.options and column is ONE
    return plain and (rows is None or FEWEST <= rows <= MOST)


def write_kept(kept: str, n: Call, p: Printer) -> None:
    """The call of one product; `kept` is the place of its packed factor."""
    (a, a_at, (lda, _)), (b, b_at, b_step) = n.operands
    p.add("if (TG_POLL(st)) return (int)(st->code = TG_INTERRUPT);")
    (tb, ldb), add = library_calls.flags(p, b_step), int(bool(n.options["beta"]))
    left, right, out = (
        library_calls.pointer(p, a, a_at),
        library_calls.pointer(p, b, b_at),
        library_calls.pointer(p, n.buf, ZERO),
    )
    m, columns, k = (p.poly(size) for size in n.sizes)
    given = f"{tb}, {m}, {columns}, {k}, {add}, {left}, {p.poly(lda)}, {right}, {ldb}, {out}"
    p.add(f"tg_kept_product_{library_calls.LETTER[n.options['dtype']]}(st, {kept}, 1, 0, {given});")
    p.add("if (st->code) return (int)st->code;")


def write_ahead(kept: str, slots: Mapping[Buf, int], x: Ahead, p: Printer) -> None:
    """In step t of `steps`: the products of the next steps, if there are none left, and the place of this one's."""
    (a, a_at, (lda, _)), (b, b_at, b_step) = x.product.operands
    tb, ldb = library_calls.flags(p, b_step)
    m, columns, k = (p.poly(size) for size in x.product.sizes)
    step, rows = p.poly(x.step), f"c->buf[{slots[x.buf]}]"
    dtype = x.product.options["dtype"]
    of, letter, size = CTYPE[dtype], library_calls.LETTER[dtype], np.dtype(dtype).itemsize
    left = f"(const {of} *)c->buf[{slots[a]}] + {p.poly(a_at)} + t * ({step})"
    right = f"(const {of} *)c->buf[{slots[b]}] + {p.poly(b_at)}"
    given = f"{tb}, {m}, {columns}, {k}, 0, {left}, {p.poly(lda)}, {right}, {ldb}, ({of} *){rows}"
    with p.block(f"if (t % {x.steps} == 0)"):
        p.add(f"const int64_t now = steps - t < {x.steps} ? steps - t : {x.steps};")
        p.add("if (TG_POLL(st)) return (int)(st->code = TG_INTERRUPT);")
        p.add(f"tg_kept_product_{letter}(st, {kept}, now, {step}, {given});")
        p.add("if (st->code) return (int)st->code;")
    p.add(f"c->buf[{slots[x.leaf]}] = {rows} + t % {x.steps} * ({p.poly(product(x.leaf.shape) * size)});")
