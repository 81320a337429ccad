"""The text of library calls: matrix products through the BLAS table, with flags read off strides."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from termgraph._lazy import pattern
from termgraph.backends.c.apart import section
from termgraph.backends.c.text.dialect import CTYPE, filled
from termgraph.backends.cstyle import Printer
from termgraph.lower.lengths.index import ONE, ZERO, Poly, poly
from termgraph.lower.loops.tree import Call

if TYPE_CHECKING:
    from termgraph.lower.push.kernel import Buf

# Products of so few rows, or sums of so few outer products, with so large a matrix, need no library: thin_products.py.
FEW, LARGE = 16, 1 << 15
TOO_LONG = 4  # the code by which a product reports lengths that BLAS cannot count: m, n, k
MOST = 2**31 - 1
# Rows, and terms of each sum, from which the product of a matrix and its transpose is half computed, half copied.
SYMMETRIC, DEEP = 80, 32
SIDE = 64  # the longest side of a small matrix: small_products.py
# A large product is dealt out to threads in blocks of rows. A row of the result has the same bits in a block as in the
# whole where blocks begin at multiples of ROWS and are too large for a library's kernels for small matrices: those of
# OpenBLAS for AVX, AVX2 and AVX-512 take 2, 4, 8, 12 or 24 rows at a time and add up in one order. In blocks of columns
# they differ. A block has at least BLOCK multiply-adds, in units of real numbers of 64 bits.
ROWS, BLOCK, TALL = 24, 1 << 21, 192  # TALL: rows of a block from which a thread gets several
# The same of a matrix by a vector: numbers of the matrix, in the same units, and rows.
FEWER_ROWS, PIECE, LONG = 16, 1 << 17, 512
NUMBER = pattern(r"(?<=, )(?:\d{1,9}|TG_PLAIN|TG_TRANS)(?=[,)])")  # among the arguments of a call
LETTER = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


def write_call(writer: Any, n: Call, p: Printer) -> None:
    """The statements of a call; a batch becomes a kernel of its own, so that it can run on several threads."""
    batch = n.options["batch"]
    if not batch:
        if not n.final:
            p.add("if (TG_POLL(st)) return (int)(st->code = TG_INTERRUPT);")
        _one(n, p, p.ref(n.options["alpha"]) if "alpha" in n.options else None, "st")
        p.add("if (st->code) return (int)st->code;")
        return
    name = f"kernel{writer.count}"
    writer.count += 1
    inner = Printer(writer.d, [], p.outside)
    (var, _), *rest = batch
    heads = [inner.for_head(var, "begin", "end"), *[inner.for_head(v) for v, _ in rest]]
    _nested(heads, n, inner)
    writer.function(name, inner, "int64_t begin, int64_t end")
    writer.each(name, var.extent, _product([*n.sizes, *[v.extent for v, _ in rest]]), p, share=8)


def write_inside(n: Call, p: Printer) -> None:
    """A call inside a loop over the first dimension of its batch."""
    _nested([p.for_head(v) for v, _ in n.options["batch"][n.options["around"] :]], n, p)


def _nested(heads: list[str], n: Call, p: Printer) -> None:
    if not heads:
        _one(n, p, None, "c->st")
        return
    with p.block(heads[0]):
        _nested(heads[1:], n, p)


def _product(xs: Any) -> Poly:
    out = ONE
    for x in xs:
        out = out * x
    return out


def _one(n: Call, p: Printer, alpha: str | None, st: str) -> None:
    """One call of the library."""
    letter = LETTER[n.options["dtype"]]
    one, zero = "1", "1" if n.options["beta"] else "0"
    place = sum((step * poly(v) for v, step in n.options["batch"]), ZERO)
    out = pointer(p, n.buf, place)
    scale = f"{alpha or one}, {zero}"
    (a, a_at, a_step), (b, b_at, b_step) = n.operands
    if n.name == "gemm":
        m, k, cols = p.poly(n.sizes[0]), p.poly(n.sizes[2]), p.poly(n.sizes[1])
        ta, lda = flags(p, a_step)
        tb, ldb = flags(p, b_step)
        first, second = f"{pointer(p, a, a_at)}, {lda}", f"{pointer(p, b, b_at)}, {ldb}"
        if _may_be_small(n):
            p.add(f"tg_gemm_small_{letter}({st}, {ta}, {tb}, {m}, {cols}, {k}, {first}, {second}, {out});")
        elif _may_be_thin(n, ta == "TG_PLAIN", tb == "TG_PLAIN"):
            p.add(f"tg_thin_{letter}({st}, {ta}, {tb}, {m}, {cols}, {k}, {zero}, {first}, {second}, {out});")
        else:
            p.add(f"tg_gemm_{letter}({st}, {ta}, {tb}, {m}, {cols}, {k}, {scale}, {first}, {second}, {out}, {cols});")
        return
    rows, columns = p.poly(n.sizes[0]), p.poly(n.sizes[1])
    ta, lda = flags(p, a_step)
    p.add(
        f"tg_gemv_{letter}({st}, {ta}, {rows}, {columns}, {scale}, {pointer(p, a, a_at)}, {lda}, "
        f"{pointer(p, b, b_at)}, {p.poly(b_step[0])}, {out});"
    )


def lengths_checked(products: Iterable[Call], p: Printer) -> list[str]:
    """Lines of the plan that refuse products whose lengths BLAS cannot count."""
    lines: dict[str, None] = {}
    for n in products:
        steps = [step for _, _, steps in n.operands for step in steps]
        long = [x for x in dict.fromkeys([*n.sizes, *steps]) if x.const is None or x.const > MOST]
        if long:
            m, *rest = [p.poly(x) for x in n.sizes]
            numbers = ", ".join([m, *["1"][len(rest) - 1 :], *rest])
            too_long = " || ".join(f"{p.poly(x)} > {MOST}" for x in long)
            lines[f"    if ({too_long}) return tg_fail(st, {TOO_LONG}, 0, {numbers}, 0);"] = None
    return list(lines)


def numbers_apart(lines: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """The lines of a product that reads its numbers from a table, and these: products are alike but for them."""
    found: list[str] = []

    def read(m: re.Match) -> str:
        found.append(m[0])
        return f"numbers[{len(found) - 1}]"

    return [NUMBER.sub(read, line) if "tg_gemm_" in line else line for line in lines], tuple(found)


def _may_be_thin(n: Call, plain: bool, second: bool) -> bool:
    """Whether the product may have few rows, or be a sum of few outer products, as far as its lengths are known."""
    if n.options["dtype"] not in ("float32", "float64") or "alpha" in n.options or n.options["batch"]:
        return False
    m, columns, k = (size.const for size in n.sizes)
    given = k is None or m is None or columns is None or max(m, k) * columns >= LARGE
    return given and ((plain and (m is None or m <= FEW)) or (second and (k is None or k <= FEW)))


def _may_be_small(n: Call) -> bool:
    """Whether a batch may be one of small products, as far as its lengths are known: small_products.py."""
    known = [size.const for size in n.sizes if size.const is not None]
    real = n.options["dtype"] in ("float32", "float64") and "alpha" not in n.options
    return bool(real and n.options["batch"] and not n.options["beta"] and max(known, default=0) <= SIDE)


def pointer(p: Printer, buf: Buf, offset: Poly) -> str:
    p.bufs[buf] = None
    return buf.name if offset is ZERO else f"{buf.name} + {p.poly(offset)}"


def flags(p: Printer, steps: tuple[Poly, ...]) -> tuple[str, str]:
    """Transposition flag and leading dimension from the strides of rows and columns."""
    row, column = steps
    return ("TG_PLAIN", p.poly(row)) if column is ONE else ("TG_TRANS", p.poly(column))


def helpers(source: str) -> str:
    """The wrappers around BLAS that a source uses: they take empty matrices, and deal out large ones."""
    return "\n".join(
        section("", filled(template, {**NUMBERS, **_of(letter)}).replace("@", letter).replace("$T", CTYPE[dtype]))
        for name, template in TEXTS.items()
        for dtype, letter in LETTER.items()
        if f"tg_{name}_{letter}(" in source
    )


def _of(letter: str) -> dict[str, str]:
    """What texts say of a dtype: how it passes numbers, what a multiply-add costs, whether rows of sums may be cut."""
    cost = {"s": "0.5", "d": "1", "c": "2", "z": "4"}[letter]
    return {"$SUMS": "0" if letter == "s" else "1", "$COST": cost, "$S": "&" if letter in "cz" else ""}


NUMBERS = {
    "$TOO_LONG": str(TOO_LONG),
    "$SYMMETRIC": str(SYMMETRIC),
    "$DEEP": str(DEEP),
    "$ROWS": str(ROWS),
    "$BLOCK": str(BLOCK),
    "$TALL": str(TALL),
    "$FEWER": str(FEWER_ROWS),
    "$PIECE": str(PIECE),
    "$LONG": str(LONG),
}


TEXTS = {
    "gemm": """
typedef struct {
    int ta, tb;
    int64_t m, n, k, lda, ldb, ldc, blocks;
    $T alpha, beta;
    const $T *a, *b;
    $T *c;
} tg_product_@;

/* Some blocks of rows of a product. The last one has the rows that are left over, too. */
static void tg_gemm_rows_@(void *context, int64_t begin, int64_t end, int64_t part)
{
    const tg_product_@ *const z = context;
    const int64_t units = z->m / $ROWS, first = units * begin / z->blocks * $ROWS;
    const int64_t rows = (end < z->blocks ? units * end / z->blocks * $ROWS : z->m) - first;
    TG_BLAS->@gemm(TG_ROWS, z->ta, z->tb, rows, z->n, z->k, $Sz->alpha, z->a + first * (z->ta == TG_PLAIN ? z->lda : 1),
                   z->lda, z->b, z->ldb, $Sz->beta, z->c + first * z->ldc, z->ldc);
}

/* Blocks of a product: one while no other thread is free; otherwise as many for each thread, as few if rows are few:
   each block copies the second factor into panels. */
static int64_t tg_gemm_blocks_@(int64_t m, int64_t n, int64_t k)
{
    const double most = (double)m * n * k * $COST / $BLOCK;
    const int64_t units = m / $ROWS;
    if (most < 2 || units < 2 || n < 2) return 1;
    const int64_t threads = tg_rt->idle(), tall = m / $TALL;
    if (threads == 1) return 1;
    int64_t blocks = tall < threads ? threads : tall < 4 * threads ? tall / threads * threads : 4 * threads;
    if (blocks > most) blocks = most > threads ? (int64_t)(most / threads) * threads : (int64_t)most;
    return blocks < units ? blocks : units;
}

TG_APART __attribute__((noinline)) void
tg_gemm_@(tg_status *st, int ta, int tb, int64_t m, int64_t n, int64_t k, $T alpha, $T beta, const $T *a, int64_t lda,
          const $T *b, int64_t ldb, $T *c, int64_t ldc)
{
    const int64_t most = 0x7fffffff;
    if (m > most || n > most || k > most || lda > most || ldb > most || ldc > most) {
        tg_fail(st, $TOO_LONG, 0, m, n, k, 0);
        return;
    }
    if (k == 0 && beta == 0) for (int64_t i = 0; i < m * n; i++) c[i] = 0;
    if (m == 0 || n == 0 || k == 0) return;
    if (lda < (ta == TG_PLAIN ? k : m)) lda = ta == TG_PLAIN ? k : m; /* a single row or column */
    if (ldb < (tb == TG_PLAIN ? n : k)) ldb = tb == TG_PLAIN ? n : k;
    if (a == b && lda == ldb && ta != tb && m == n && m >= $SYMMETRIC && k >= $DEEP && beta == 0) {
        TG_BLAS->@syrk(TG_ROWS, TG_UPPER, ta, m, k, $Salpha, a, lda, $Sbeta, c, ldc);
        for (int64_t rows = 0; rows < m; rows += 16) /* the other half, some lines of the cache at a time */
            for (int64_t columns = 0; columns <= rows; columns += 16)
                for (int64_t i = rows; i < rows + 16 && i < m; i++)
                    for (int64_t j = columns; j < columns + 16 && j < i; j++) c[i * ldc + j] = c[j * ldc + i];
        return;
    }
    tg_product_@ z = {ta, tb, m, n, k, lda, ldb, ldc, tg_gemm_blocks_@(m, n, k), alpha, beta, a, b, c};
    if (z.blocks > 1) tg_rt->parallel_for(tg_gemm_rows_@, &z, z.blocks, 1);
    else TG_BLAS->@gemm(TG_ROWS, ta, tb, m, n, k, $Salpha, a, lda, b, ldb, $Sbeta, c, ldc);
}
""",
    "gemv": """
typedef struct {
    int ta;
    int64_t m, k, lda, step, blocks;
    $T alpha, beta;
    const $T *a, *x;
    $T *y;
} tg_by_vector_@;

/* Some blocks of rows of a matrix by a vector. */
static void tg_gemv_rows_@(void *context, int64_t begin, int64_t end, int64_t part)
{
    const tg_by_vector_@ *const z = context;
    const int64_t units = z->m / $FEWER, first = units * begin / z->blocks * $FEWER;
    const int64_t rows = (end < z->blocks ? units * end / z->blocks * $FEWER : z->m) - first;
    const int plain = z->ta == TG_PLAIN;
    TG_BLAS->@gemv(TG_ROWS, plain ? TG_PLAIN : TG_TRANS, plain ? rows : z->k, plain ? z->k : rows, $Sz->alpha,
                   z->a + first * (plain ? z->lda : 1), z->lda, z->x, z->step, $Sz->beta, z->y + first, 1);
}

/* Blocks of it. Of a transposed matrix, which is read by pieces of its rows then, few long ones; one of floats of 32
   bits is added up in an order that depends on its length, as are very short sums. */
static int64_t tg_gemv_blocks_@(int ta, int64_t m, int64_t k)
{
    const double most = (double)m * k * $COST / $PIECE;
    const int64_t units = ta == TG_PLAIN ? m / $FEWER : $SUMS * m / $LONG;
    if (most < 2 || units < 2 || k < $FEWER) return 1;
    const int64_t threads = tg_rt->idle(), wanted = ta == TG_PLAIN ? 4 * threads : threads;
    if (threads == 1) return 1;
    const int64_t blocks = most < wanted ? (int64_t)most : wanted;
    return blocks < units ? blocks : units;
}

TG_APART __attribute__((noinline)) void
tg_gemv_@(tg_status *st, int ta, int64_t m, int64_t k, $T alpha, $T beta, const $T *a, int64_t lda, const $T *x,
          int64_t step, $T *y)
{
    const int64_t most = 0x7fffffff;
    if (m > most || k > most || lda > most || step > most) {
        tg_fail(st, $TOO_LONG, 0, m, 1, k, 0);
        return;
    }
    if (k == 0 && beta == 0) for (int64_t i = 0; i < m; i++) y[i] = 0;
    if (m == 0 || k == 0) return;
    if (lda < (ta == TG_PLAIN ? k : m)) lda = ta == TG_PLAIN ? k : m;
    tg_by_vector_@ z = {ta, m, k, lda, step, tg_gemv_blocks_@(ta, m, k), alpha, beta, a, x, y};
    if (z.blocks > 1) tg_rt->parallel_for(tg_gemv_rows_@, &z, z.blocks, 1);
    else if (ta == TG_PLAIN) TG_BLAS->@gemv(TG_ROWS, TG_PLAIN, m, k, $Salpha, a, lda, x, step, $Sbeta, y, 1);
    else TG_BLAS->@gemv(TG_ROWS, TG_TRANS, k, m, $Salpha, a, lda, x, step, $Sbeta, y, 1);
}
""",
}
