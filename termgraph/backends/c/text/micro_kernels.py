"""The C text of products of few rows by a packed factor: tiles of up to 4 rows and 3 vectors, sums in registers.

The innermost loop is assembly: compilers keep twelve sums, three columns and a number in sixteen registers by luck
only. Twelve sums hide that a multiply-add takes four cycles; three loads of the factor serve four rows. Pure text; may
import this package.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from termgraph.backends.c.text.dialect import CTYPE
from termgraph.backends.c.text.library_calls import LETTER

FEWEST, MOST = 2, 128  # rows for which this is faster than BLAS
TALLEST, WIDEST = 4, 3  # rows of a tile, and its columns in vectors of 32 bytes
UNROLLED = 4  # rows of the factor for each turn of a tile's loop


def tiles(rows: int) -> list[int]:
    """Rows of each tile: as few tiles as there can be, of nearly one height."""
    count = -(-rows // TALLEST)
    return [rows * (i + 1) // count - rows * i // count for i in range(count)]


def helpers(products: set[tuple[str, int | None]]) -> str:
    """The functions for products of these dtypes and numbers of rows, which may be unknown."""
    dtypes = sorted({dtype for dtype, _ in products})
    rows = {dtype: {m for d, m in products if d == dtype} for dtype in dtypes}
    return "\n".join([BEGIN.strip(), *[_functions(d, rows[d]) for d in dtypes]]) + "\n" if products else ""


def _functions(dtype: str, rows: set[int | None]) -> str:
    """All functions of one dtype."""
    size = np.dtype(dtype).itemsize
    heights = {height for m in rows for height in (range(1, TALLEST + 1) if m is None else tiles(m))}
    shapes = [(height, width) for height in sorted(heights) for width in range(1, WIDEST + 1)]
    text = [PACKING.strip(), *[_tile(*shape, size) for shape in shapes], _table(heights), PRODUCT.strip()]
    out = "\n".join(text).replace("$T", CTYPE[dtype]).replace("$S", str(size)).replace("@", LETTER[dtype])
    return out.replace("LANES", str(32 // size)).replace("FEWEST", str(FEWEST)).replace("MOST", str(MOST))


def _table(heights: set[int]) -> str:
    rows = [
        ", ".join(f"tg_tile_@_{height}_{width}" for width in range(1, WIDEST + 1)) if height in heights else "0"
        for height in range(1, TALLEST + 1)
    ]
    body = ", ".join(f"{{{row}}}" for row in rows)
    return f"static tg_tile_@ *const tg_tiles_@[{TALLEST}][{WIDEST}] = {{{body}}};"


# ---------------------------------------------------------------------- one tile
def _tile(height: int, width: int, size: int) -> str:
    """The function of one shape of tile, of numbers of this size."""
    lines = "\n".join(f'        "{line}\\n"' for line in _instructions(height, width, size))
    saved = ", ".join(f'"xmm{i}"' for i in range(16))
    return TILE.strip().replace("NAME", f"tg_tile_@_{height}_{width}").replace("LINES", lines).replace("SAVED", saved)


def _instructions(height: int, width: int, size: int) -> Iterator[str]:
    sums = [(f"%%ymm{r * width + w}", _at("c", r, 32 * w)) for r in range(height) for w in range(width)]
    yield from ["testl %k[add], %k[add]", "jz 1f"]
    yield from [f"vmovups {place}, {x}" for x, place in sums]
    yield from ["jmp 2f", "1:", *[f"vxorps {x}, {x}, {x}" for x, _ in sums]]
    yield from ["2:", f"subq ${UNROLLED}, %[k]", "jl 4f", ".p2align 5", "3:"]
    for u in range(UNROLLED):
        yield from _row(height, width, size, u)
    yield from [f"addq ${size * UNROLLED}, %[a]", f"addq ${32 * width * UNROLLED}, %[b]"]
    yield from [f"subq ${UNROLLED}, %[k]", "jge 3b", "4:", f"addq ${UNROLLED}, %[k]", "jz 6f", "5:"]
    yield from _row(height, width, size, 0)
    yield from [f"addq ${size}, %[a]", f"addq ${32 * width}, %[b]", "decq %[k]", "jnz 5b", "6:"]
    yield from [f"vmovups {x}, {place}" for x, place in sums]


def _row(height: int, width: int, size: int, u: int) -> Iterator[str]:
    """What one row of the factor adds to all sums; the strip after this one is asked for meanwhile."""
    begin, end, kind = 32 * width * u, 32 * width * (u + 1), "s" if size == 4 else "d"
    yield from [f"prefetcht1 {at}(%[b],%[next])" for at in range(begin, end) if at % 64 == 0]
    yield from [f"vmovups {begin + 32 * w}(%[b]), %%ymm{12 + w}" for w in range(width)]
    for r in range(height):
        yield f"vbroadcasts{kind} {_at('a', r, size * u)}, %%ymm15"
        yield from [f"vfmadd231p{kind} %%ymm{12 + w}, %%ymm15, %%ymm{r * width + w}" for w in range(width)]


def _at(array: str, row: int, offset: int) -> str:
    """An element of a row of `a` or `c`: the distance of two rows is in a register, that of three in another."""
    return f"{offset}(%[{array}]" + ["", f",%[{array}1]", f",%[{array}1],2", f",%[{array}3]"][row] + ")"


TILE = """
static __attribute__((noinline)) void
NAME(const $T *a, int64_t lda, const $T *b, int64_t k, int64_t next, int add, $T *c, int64_t ldc)
{
    __asm__ volatile(
LINES
        : [a] "+r"(a), [b] "+r"(b), [k] "+r"(k)
        : [a1] "r"($S * lda), [a3] "r"(3 * $S * lda), [next] "r"(next), [add] "r"(add), [c] "r"(c), [c1] "r"($S * ldc),
          [c3] "r"(3 * $S * ldc)
        : SAVED, "cc", "memory");
}
"""

# ---------------------------------------------------------------------- the product
BEGIN = """
/* A matrix in strips of up to three vectors, each row after row; the last strip is filled up with zeros. */
typedef struct { void *at; } tg_kept;
void *aligned_alloc(size_t, size_t);
void free(void *);
static void tg_drop(tg_kept *kept) { free(kept->at); }
#if defined(__x86_64__) && defined(__AVX2__) && defined(__FMA__) && !defined(__AVX512F__)
#define TG_STRIPS
#endif
"""
PACKING = """
#ifdef TG_STRIPS
typedef void tg_tile_@(const $T *, int64_t, const $T *, int64_t, int64_t, int, $T *, int64_t);

/* The width of the next strip, in vectors: three, or two twice where one would be left. */
static inline int64_t tg_width_@(int64_t columns)
{
    const int64_t vectors = (columns + LANES - 1) / LANES;
    return vectors == 1 ? 1 : vectors == 2 || vectors == 4 ? 2 : 3;
}
static __attribute__((noinline)) int
tg_keep_@(tg_kept *kept, const $T *b, int64_t row, int64_t column, int64_t k, int64_t n)
{
    $T *to = kept->at = aligned_alloc(64, 64 * (k * ((n + LANES - 1) / LANES) / 2 + 1));
    if (!to) return 0;
    for (int64_t j = 0, width; j < n; j += width, to += width * k) {
        width = LANES * tg_width_@(n - j);
        const int64_t columns = n - j < width ? n - j : width;
        if (columns < width) __builtin_memset(to, 0, sizeof($T) * width * k);
        if (column != 1)
            for (int64_t u = 0; u < columns; u++)
                for (int64_t p = 0; p < k; p++) to[p * width + u] = b[p * row + (j + u) * column];
        else if (columns == 3 * LANES)
            for (int64_t p = 0; p < k; p++) __builtin_memcpy(to + p * width, b + p * row + j, 96);
        else
            for (int64_t p = 0; p < k; p++)
                for (int64_t u = 0; u < columns; u++) to[p * width + u] = b[p * row + j + u];
    }
    return 1;
}
/* A tile of which only some columns belong to the result. */
static __attribute__((noinline)) void
tg_edge_@(tg_tile_@ *tile, int64_t rows, const $T *a, int64_t lda, const $T *b, int64_t k, int add, $T *c,
          int64_t ldc, int64_t columns)
{
    enum { WIDE = 3 * LANES };
    $T room[4 * WIDE];
    for (int64_t r = 0; add && r < rows; r++)
        for (int64_t u = 0; u < WIDE; u++) room[WIDE * r + u] = u < columns ? c[r * ldc + u] : 0;
    tile(a, lda, b, k, 0, add, room, WIDE);
    for (int64_t r = 0; r < rows; r++) __builtin_memcpy(c + r * ldc, room + WIDE * r, sizeof($T) * columns);
}
"""
PRODUCT = """
#endif
/* The products of as many steps as are asked for; `next` is how far on the left factor of the next step is. */
static __attribute__((noinline)) void
tg_kept_product_@(tg_status *st, tg_kept *kept, int64_t steps, int64_t next, int tb, int64_t m, int64_t n, int64_t k,
                  int add, const $T *a, int64_t lda, const $T *b, int64_t ldb, $T *c)
{
#ifdef TG_STRIPS
    const int64_t count = (m + 3) / 4, row = tb == TG_PLAIN ? ldb : 1, column = tb == TG_PLAIN ? 1 : ldb;
    if (m >= FEWEST && m <= MOST && (kept->at || tg_keep_@(kept, b, row, column, k, n))) {
        const $T *strip = kept->at;
        for (int64_t j = 0, width; j < n; j += width, strip += width * k) {
            width = LANES * tg_width_@(n - j);
            int64_t far = $S * width * k;
            for (int64_t t = 0; t < steps; t++)
                for (int64_t i = 0; i < count; i++, far = 0) {
                    const int64_t begin = m * i / count, rows = m * (i + 1) / count - begin;
                    tg_tile_@ *const tile = tg_tiles_@[rows - 1][width / LANES - 1];
                    const $T *const left = a + t * next + begin * lda;
                    $T *const out = c + (t * m + begin) * n + j;
                    if (n - j < width) tg_edge_@(tile, rows, left, lda, strip, k, add, out, n, n - j);
                    else tile(left, lda, strip, k, far, add, out, n);
                }
        }
        return;
    }
#endif
    if (next == m * lda) m *= steps, steps = 1;
    for (int64_t t = 0; t < steps; t++)
        tg_gemm_@(st, TG_PLAIN, tb, m, n, k, 1, add, a + t * next, lda, b, ldb, c + t * m * n, n);
}
"""
