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
TALLEST = 6  # rows of a tile: each takes two registers for its sums, of sixteen


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
    given = f"{p.poly(n.sizes[1])}, {p.poly(n.sizes[2])}, {add}, {left}, {p.poly(lda)}, {right}, {ldb}, {out}"
    p.add(f"tg_kept_{n.sizes[0].const}(st, {kept}, {tb}, {given});")
    p.add("if (st->code) return (int)st->code;")


def tiles(rows: int) -> list[int]:
    """Rows of each tile: as few tiles as there can be, of nearly one height."""
    count = -(-rows // TALLEST)
    return [rows * (i + 1) // count - rows * i // count for i in range(count)]


def helpers(rows: set[int]) -> str:
    """The functions for products of these numbers of rows."""
    if not rows:
        return ""
    heights = sorted({height for m in rows for height in tiles(m)})
    parts = [BEGIN.strip(), *[TILE.strip().replace("@", str(height)) for height in heights], "#endif"]
    return "\n".join([*parts, *[_product(m) for m in sorted(rows)]]) + "\n"


def _product(m: int) -> str:
    lines, at = [], 0
    for height in tiles(m):
        lines.append(f"            tg_tile_{height}(a + {at} * lda, lda, strip, k, add, c + {at} * n + j, n, width);")
        at += height
    return PRODUCT.strip().replace("@", str(m)).replace("TILES", "\n".join(lines).strip())


BEGIN = """
/* A matrix in strips of sixteen columns, each row after row; the last strip is filled up with zeros. */
typedef struct { float *at; } tg_kept;
void *aligned_alloc(size_t, size_t);
void free(void *);
static void tg_drop(tg_kept *kept) { free(kept->at); }
#if defined(__AVX2__) && defined(__FMA__) && !defined(__AVX512F__)
#define TG_STRIPS
#ifdef __clang__
#define TG_AS_WRITTEN
#else /* the scheduler that loops of float32 functions are compiled with needs more registers than there are */
#define TG_AS_WRITTEN __attribute__((optimize("no-schedule-insns")))
#endif
typedef float tg_eight __attribute__((vector_size(32), aligned(4), may_alias));
static __attribute__((noinline)) int
tg_keep(tg_kept *kept, const float *b, int64_t row, int64_t column, int64_t k, int64_t n)
{
    float *to = kept->at = aligned_alloc(64, 64 * (k * ((n + 15) / 16) + 1));
    if (!to) return 0;
    for (int64_t j = 0; j < n; j += 16)
        for (int64_t p = 0; p < k; p++, to += 16)
            for (int64_t u = 0; u < 16; u++) to[u] = j + u < n ? b[p * row + (j + u) * column] : 0;
    return 1;
}
"""
TILE = """
static __attribute__((noinline)) TG_AS_WRITTEN void
tg_tile_@(const float *a, int64_t lda, const float *b, int64_t k, int add, float *c, int64_t ldc, int64_t width)
{
    tg_eight x[@], y[@];
    float room[@][16] = {{0}}, *const at = width < 16 ? room[0] : c;
    const int64_t step = width < 16 ? 16 : ldc;
    if (width < 16 && add) for (int r = 0; r < @; r++) __builtin_memcpy(room[r], c + r * ldc, sizeof(float) * width);
    #pragma GCC unroll 8
    for (int r = 0; r < @; r++) x[r] = y[r] = (tg_eight){0};
    #pragma GCC unroll 8
    for (int r = 0; r < @; r++) if (add) x[r] = *(tg_eight *)(at + r * step), y[r] = *(tg_eight *)(at + r * step + 8);
    for (int64_t p = 0; p < k; p++, b += 16) {
        __builtin_prefetch(b + 16 * k, 0, 2); /* the next strip, for factors beyond the cache */
        const tg_eight left = *(const tg_eight *)b, right = *(const tg_eight *)(b + 8);
        #pragma GCC unroll 8
        for (int r = 0; r < @; r++) {
            const float s = a[r * lda + p];
            const tg_eight all = {s, s, s, s, s, s, s, s};
            x[r] = __builtin_ia32_vfmaddps256(all, left, x[r]);
            y[r] = __builtin_ia32_vfmaddps256(all, right, y[r]);
        }
    }
    #pragma GCC unroll 8
    for (int r = 0; r < @; r++) *(tg_eight *)(at + r * step) = x[r], *(tg_eight *)(at + r * step + 8) = y[r];
    if (width < 16) for (int r = 0; r < @; r++) __builtin_memcpy(c + r * ldc, room[r], sizeof(float) * width);
}
"""
PRODUCT = """
static __attribute__((noinline)) void
tg_kept_@(tg_status *st, tg_kept *kept, int tb, int64_t n, int64_t k, int add, const float *a, int64_t lda,
          const float *b, int64_t ldb, float *c)
{
#ifdef TG_STRIPS
    const int plain = tb == TG_PLAIN;
    if (kept->at || tg_keep(kept, b, plain ? ldb : 1, plain ? 1 : ldb, k, n)) {
        const float *strip = kept->at;
        for (int64_t j = 0; j < n; j += 16, strip += 16 * k) {
            const int64_t width = n - j < 16 ? n - j : 16;
            TILES
        }
        return;
    }
#endif
    tg_gemm_s(st, TG_PLAIN, tb, @, n, k, 1, add, a, lda, b, ldb, c, n);
}
"""
__all__ = ["helpers", "kept_products", "tiles", "write_kept"]
