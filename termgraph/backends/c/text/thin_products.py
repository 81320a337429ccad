"""C text of matrix products of which one length is short: a few rows by a matrix, or a sum of few outer products.

Libraries copy the matrix into panels first, which takes longer than the product where each number of it is used for a
few rows only. Here it is read once, along memory. Compiled once for all programs. Pure text.
"""

from __future__ import annotations

from termgraph.backends.c.apart import ENTRY, section
from termgraph.backends.c.text.dialect import CTYPE, filled
from termgraph.backends.c.text.library_calls import FEW, LARGE, LETTER, TEXTS

TAPS = (8, 4, 2, 1)  # rows of the matrix that are added to the result at a time
SQUARE = 4  # rows of each factor whose scalar products are computed at a time


def helpers(source: str) -> str:
    """The functions for the dtypes of which a source has such products."""
    found = [dtype for dtype in ("float32", "float64") if f"tg_thin_{LETTER[dtype]}(" in source]
    return "".join(section(_of(dtype, GEMM), _of(dtype, _functions())) for dtype in found)


def _functions() -> str:
    steps = [_step(taps) for taps in TAPS]
    return "\n".join([HEAD.strip(), TYPES.strip(), *steps, ALONG.strip(), _scalar_products(), PRODUCT.strip()])


def _of(dtype: str, text: str) -> str:
    short = text.replace("FEW", str(FEW)).replace("LARGE", str(LARGE))
    return short.replace("$T", CTYPE[dtype]).replace("@", LETTER[dtype])


def _step(taps: int) -> str:
    """The function that adds the products of so many rows of the matrix to rows of the result."""
    loads = ", ".join(f"b{u} = *(const tg_wide_@ *)(b + {u} * ldb + j)" for u in range(taps))
    more = " ".join(f"sum += from[{u}] * b{u};" for u in range(1, taps))
    return STEP.strip().replace("$TAPS", str(taps)).replace("$LOADS", loads).replace("$MORE", more)


def _scalar_products() -> str:
    """The function of a square of scalar products, whose sums stay in registers."""
    names = [(r, j) for r in range(SQUARE) for j in range(SQUARE)]
    each = range(SQUARE)
    loads = ", ".join([f"x{r} = *(const tg_wide_@ *)(a{r} + p)" for r in each])
    adds = "\n        ".join(
        f"y = *(const tg_wide_@ *)(b{j} + p); " + " ".join(f"s{r}_{j} += x{r} * y;" for r in each) for j in each
    )
    pieces = {
        "$POINTERS": ", ".join([*[f"*a{r} = at[{r}]" for r in each], *[f"*b{j} = at[{SQUARE + j}]" for j in each]]),
        "$SUMS": ", ".join(f"s{r}_{j} = {{0}}" for r, j in names),
        "$LOADS": loads,
        "$ADDS": adds,
        "$STORES": " ".join(f"sums[{SQUARE * r + j}] = s{r}_{j};" for r, j in names),
    }
    return filled(SCALAR_PRODUCTS.strip(), pieces).replace("SQUARE", str(SQUARE))


GEMM = f"TG_APART {ENTRY.findall(TEXTS['gemm'])[0]};"  # which stands in an object of its own, too
HEAD = """
#ifdef __AVX512F__
#define TG_WIDE 64
#elif defined(__AVX__)
#define TG_WIDE 32
#else
#define TG_WIDE 16
#endif
#if defined(__GNUC__) && !defined(__clang__)
#define TG_THIN __attribute__((noinline, optimize("O2", "fp-contract=fast")))
#else
#define TG_THIN __attribute__((noinline))
#endif
"""
TYPES = """
typedef $T tg_wide_@ __attribute__((vector_size(TG_WIDE), aligned(sizeof($T)), may_alias));

/* A product: element (r, p) of the first factor is a[r * row + p * tap], b is read by rows of n or of k numbers. */
typedef struct {
    const $T *a, *b;
    $T *c;
    int64_t m, n, k, row, tap, ldb;
    int add;
} tg_thin_product_@;
"""
STEP = """
static TG_THIN void
tg_thin_step_@_$TAPS(const $T *a, int64_t rows, const $T *b, int64_t ldb, int64_t columns, $T *c, int64_t ldc, int add)
{
    for (int64_t j = 0; j < columns; j += TG_WIDE / sizeof($T)) {
        const tg_wide_@ $LOADS;
        const $T *from = a;
        $T *to = c + j;
        for (int64_t r = 0; r < rows; r++, from += $TAPS, to += ldc) {
            tg_wide_@ sum = from[0] * b0;
            $MORE
            if (add) sum += *(tg_wide_@ *)to;
            *(tg_wide_@ *)to = sum;
        }
    }
}
"""
ALONG = """
/* All rows of some columns; of a multiple of whole vectors. */
static TG_THIN void tg_thin_columns_@(const tg_thin_product_@ *z, int64_t j, int64_t columns, $T *c, int64_t ldc)
{
    $T a[8 * FEW];
    for (int64_t r = 0; r < z->m; r += FEW)
        for (int64_t p = 0, taps; p < z->k; p += taps) {
            const int64_t left = z->k - p, rows = z->m - r < FEW ? z->m - r : FEW;
            const $T *const first = z->a + r * z->row + p * z->tap, *const b = z->b + p * z->ldb + j;
            const int add = z->add || p > 0;
            taps = left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
            for (int64_t i = 0; i < rows; i++)
                for (int64_t u = 0; u < taps; u++) a[i * taps + u] = first[i * z->row + u * z->tap];
            if (taps == 8) tg_thin_step_@_8(a, rows, b, z->ldb, columns, c + r * ldc, ldc, add);
            else if (taps == 4) tg_thin_step_@_4(a, rows, b, z->ldb, columns, c + r * ldc, ldc, add);
            else if (taps == 2) tg_thin_step_@_2(a, rows, b, z->ldb, columns, c + r * ldc, ldc, add);
            else tg_thin_step_@_1(a, rows, b, z->ldb, columns, c + r * ldc, ldc, add);
        }
}

/* Some blocks of columns. What is left of a vector at the end is computed beside the result. */
static TG_THIN void tg_thin_along_@(void *context, int64_t begin, int64_t end, int64_t part)
{
    enum { LANES = TG_WIDE / sizeof($T), BLOCK = 4096 / sizeof($T) };
    tg_thin_product_@ z = *(const tg_thin_product_@ *)context;
    for (int64_t j = begin * BLOCK; j < end * BLOCK && j < z.n; j += BLOCK) {
        const int64_t columns = z.n - j < BLOCK ? z.n - j : BLOCK, whole = columns / LANES * LANES;
        tg_thin_columns_@(&z, j, whole, z.c + j, z.n);
        if (whole == columns) continue;
        for (int64_t r = 0, rows; r < z.m; r += rows) {
            $T room[FEW * LANES];
            tg_thin_product_@ some = z;
            some.m = rows = z.m - r < FEW ? z.m - r : FEW, some.a = z.a + r * z.row;
            for (int64_t i = 0; z.add && i < rows; i++)
                __builtin_memcpy(room + i * LANES, z.c + (r + i) * z.n + z.n - LANES, sizeof($T) * LANES);
            tg_thin_columns_@(&some, z.n - LANES, LANES, room, LANES);
            for (int64_t i = 0; i < rows; i++)
                __builtin_memcpy(z.c + (r + i) * z.n + j + whole, room + i * LANES + LANES - (columns - whole),
                                 sizeof($T) * (columns - whole));
        }
    }
}
"""
SCALAR_PRODUCTS = """
/* The scalar products of SQUARE rows of one factor with as many of the other. */
static TG_THIN void tg_thin_square_@(const $T *const *at, int64_t k, tg_wide_@ *sums)
{
    enum { LANES = TG_WIDE / sizeof($T) };
    const $T $POINTERS;
    tg_wide_@ $SUMS, y;
    for (int64_t p = 0; p + LANES <= k; p += LANES) {
        const tg_wide_@ $LOADS;
        $ADDS
    }
    $STORES
}

/* Some rows of the second factor, which lies transposed. */
static TG_THIN void tg_thin_across_@(void *context, int64_t begin, int64_t end, int64_t part)
{
    enum { LANES = TG_WIDE / sizeof($T) };
    const tg_thin_product_@ *const z = context;
    for (int64_t j = begin * SQUARE; j < end * SQUARE && j < z->n; j += SQUARE)
        for (int64_t r = 0; r < z->m; r += SQUARE) {
            const $T *at[2 * SQUARE];
            tg_wide_@ sums[SQUARE * SQUARE];
            for (int64_t i = 0; i < SQUARE; i++) {
                at[i] = z->a + (r + i < z->m ? r + i : r) * z->row;
                at[SQUARE + i] = z->b + (j + i < z->n ? j + i : j) * z->ldb;
            }
            tg_thin_square_@(at, z->k, sums);
            for (int64_t i = 0; i < SQUARE * SQUARE; i++) {
                const int64_t u = i / SQUARE, v = i % SQUARE;
                $T sum = 0, *const to = z->c + (r + u) * z->n + j + v;
                if (r + u >= z->m || j + v >= z->n) continue;
                for (int64_t p = z->k / LANES * LANES; p < z->k; p++) sum += at[u][p] * at[SQUARE + v][p];
                for (int64_t half = LANES / 2; half > 0; half /= 2)
                    for (int64_t l = 0; l < half; l++) sums[i][l] += sums[i][l + half];
                *to = (z->add ? *to : 0) + sums[i][0] + sum;
            }
        }
}
"""
PRODUCT = """
/* A product of which one length is short and what is read or written by it is large; others are BLAS's. */
TG_APART __attribute__((noinline)) void
tg_thin_@(tg_status *st, int ta, int tb, int64_t m, int64_t n, int64_t k, int add, const $T *a, int64_t lda,
          const $T *b, int64_t ldb, $T *c)
{
    enum { LANES = TG_WIDE / sizeof($T), BLOCK = 4096 / sizeof($T), LONG = 512 };
    const int along = tb == TG_PLAIN && ((m <= FEW && k * n >= LARGE) || (k <= FEW && m * n >= LARGE));
    const int across = tb != TG_PLAIN && ta == TG_PLAIN && m <= FEW && k >= LONG && k * n >= LARGE;
    if (m < 1 || k < 1 || n < LANES || !(along || across)) {
        tg_gemm_@(st, ta, tb, m, n, k, 1, add, a, lda, b, ldb, c, n);
        return;
    }
    tg_thin_product_@ z = {a, b, c, m, n, k, ta == TG_PLAIN ? lda : 1, ta == TG_PLAIN ? 1 : lda, ldb, add};
    const int64_t unit = along ? BLOCK : SQUARE;
    tg_rt->parallel_for(along ? tg_thin_along_@ : tg_thin_across_@, &z, (n + unit - 1) / unit,
                        500000 / (m * k * unit + 1) + 1);
}
""".replace("SQUARE", str(SQUARE))
