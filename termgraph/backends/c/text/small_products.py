"""C text of products of small matrices, of which a batch has many: a call of a library takes longer than the product.

Columns of the result stay in registers, four rows at a time. Compiled once for all programs. Pure text.
"""

from __future__ import annotations

from termgraph.backends.c.apart import section
from termgraph.backends.c.text.dialect import CTYPE, filled
from termgraph.backends.c.text.library_calls import LETTER, SIDE
from termgraph.backends.c.text.thin_products import GEMM, HEAD

WIDTHS = (64, 32, 16)  # bytes of a vector: the widest that the columns fill
ROWS = 4
# Products of numbers: with more a library is as fast. A second factor that lies transposed is copied first.
SMALL, TURNED, ROOM = 1024, 4096, 1024
COLUMNS = """
#if TG_WIDE >= $W
typedef $T tg_some_@_$W __attribute__((vector_size($W), aligned(sizeof($T)), may_alias));

static TG_THIN void tg_small_@_$W(const $T *a, int64_t row, int64_t tap, const $T *b, int64_t ldb, int64_t m, int64_t k,
                                  $T *c, int64_t ldc)
{
    int64_t r = 0;
    for (; r + ROWS <= m; r += ROWS, a += ROWS * row, c += ROWS * ldc) {
        tg_some_@_$W $SUMS;
        for (int64_t p = 0; p < k; p++) {
            const tg_some_@_$W y = *(const tg_some_@_$W *)(b + p * ldb);
            const $T *const x = a + p * tap;
            $ADDS
        }
        $STORES
    }
    for (; r < m; r++, a += row, c += ldc) {
        tg_some_@_$W sum = {0};
        for (int64_t p = 0; p < k; p++) sum += a[p * tap] * *(const tg_some_@_$W *)(b + p * ldb);
        *(tg_some_@_$W *)c = sum;
    }
}
#endif
"""
PRODUCT = """
static TG_THIN void tg_small_product_@(int ta, int tb, int64_t m, int64_t n, int64_t k, const $T *a, int64_t lda,
                                       const $T *b, int64_t ldb, $T *c)
{
    const int64_t row = ta == TG_PLAIN ? lda : 1, tap = ta == TG_PLAIN ? 1 : lda;
    $T turned[ROOM];
    if (tb != TG_PLAIN) {
        for (int64_t j = 0; j < n; j++)
            for (int64_t p = 0; p < k; p++) turned[p * n + j] = b[j * ldb + p];
        b = turned, ldb = n;
    }
    int64_t j = 0;
$EACH
    for (; j < n; j++)
        for (int64_t r = 0; r < m; r++) {
            $T sum = 0;
            for (int64_t p = 0; p < k; p++) sum += a[r * row + p * tap] * b[p * ldb + j];
            c[r * n + j] = sum;
        }
}

/* A product of two small matrices; of larger ones it is BLAS's. */
TG_APART __attribute__((noinline)) void
tg_gemm_small_@(tg_status *st, int ta, int tb, int64_t m, int64_t n, int64_t k, const $T *a, int64_t lda, const $T *b,
                int64_t ldb, $T *c)
{
    const int sides = m > 0 && k > 0 && m <= SIDE && n <= SIDE && k <= SIDE;
    const int64_t most = tb == TG_PLAIN ? SMALL : TURNED;
    if (sides && m * n * k <= most && n * k <= ROOM) tg_small_product_@(ta, tb, m, n, k, a, lda, b, ldb, c);
    else tg_gemm_@(st, ta, tb, m, n, k, 1, 0, a, lda, b, ldb, c, n);
}
"""
EACH = """#if TG_WIDE >= $W
    for (; j + $W / (int64_t)sizeof($T) <= n; j += $W / sizeof($T))
        tg_small_@_$W(a, row, tap, b + j, ldb, m, k, c + j, n);
#endif"""


def helpers(source: str) -> str:
    """The functions for the dtypes of which a source has such products."""
    found = [dtype for dtype in ("float32", "float64") if f"tg_gemm_small_{LETTER[dtype]}(" in source]
    return "".join(section(_of(dtype, GEMM), _of(dtype, _functions())) for dtype in found)


def _of(dtype: str, text: str) -> str:
    return text.replace("$T", CTYPE[dtype]).replace("@", LETTER[dtype])


def _functions() -> str:
    each = range(ROWS)
    vector = "*({} tg_some_@_$W *)(c + {} * ldc)"
    pieces = {
        "$SUMS": ", ".join(f"s{r} = {{0}}" for r in each),
        "$ADDS": " ".join(f"s{r} += x[{r} * row] * y;" for r in each),
        "$STORES": " ".join(f"{vector.format('', r)} = s{r};" for r in each),
        "ROWS": str(ROWS),
        "SMALL": str(SMALL),
        "TURNED": str(TURNED),
        "SIDE": str(SIDE),
        "ROOM": str(ROOM),
    }
    columns, product = [filled(part, pieces).strip() for part in (COLUMNS, PRODUCT)]
    product = product.replace("$EACH", "\n".join(EACH.replace("$W", str(w)) for w in WIDTHS))
    return "\n".join([HEAD.strip(), *[columns.replace("$W", str(w)) for w in WIDTHS], product])
