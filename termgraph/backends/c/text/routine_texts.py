"""C text of the functions around routines, as templates: $T is the C type, $N its short name, $L BLAS's letter for it.

Pure text.
"""

from __future__ import annotations

from termgraph.backends.c.text import (
    counted,
    line_texts,
    lu_calls,
    qr_calls,
    resampling_calls,
    running_folds,
    sort_texts,
    sparse_sums,
    sparse_texts,
    structured_calls,
)  # fmt: skip
from termgraph.backends.c.text.least_squares import LEAST_SQUARES


def _searched(side: str, what: str, before: str) -> str:
    """Binary searches; `before` is C that says whether the element `at` comes before the place of `v`.

    Searches of one table take the same steps whatever they find, so many go side by side, without a branch.
    """
    return f"""
/* {what} */
static void tg_searchsorted_{side}_$N(const $T *x, int64_t n, int64_t step, const $T *values, int64_t apart,
                                      int64_t *out, int64_t out_apart, int64_t count)
{{
    enum {{ MANY = 32 }};
    for (; count >= MANY; count -= MANY, values += MANY * apart, out += MANY * out_apart) {{
        $T value[MANY];
        int64_t low[MANY];
        for (int u = 0; u < MANY; u++) value[u] = values[u * apart], low[u] = 0;
        for (int64_t left = n, half; left > 0; left -= half) {{
            half = left > 1 ? left >> 1 : 1;
            for (int u = 0; u < MANY; u++) {{
                const $T at = x[(low[u] + half - 1) * step], v = value[u];
                low[u] += {before} ? half : 0;
            }}
        }}
        for (int u = 0; u < MANY; u++) out[u * out_apart] = low[u];
    }}
    for (; count > 0; count--, values += apart, out += out_apart) {{
        const $T v = *values;
        int64_t low = 0;
        for (int64_t left = n, half; left > 0; left -= half) {{
            half = left > 1 ? left >> 1 : 1;
            const $T at = x[(low + half - 1) * step];
            low = {before} ? low + half : low;
        }}
        *out = low;
    }}
}}
"""


# Who calls what.
USERS: dict[str, tuple[str, ...]] = dict(sort_texts.USERS)
USERS["tg_csm_switch"] = ("tg_csm_sorted",)
USERS["tg_csm_rises"] = ("tg_csm_joined",)
USERS["tg_convolve"] = ("tg_correlate", "tg_upfirdn", "tg_upfirdn_slope")
TEXTS = {
    **sparse_texts.TEXTS,
    **sparse_sums.TEXTS,
    **line_texts.LINES,
    **resampling_calls.TEXTS,
    **counted.TEXTS,
    **sort_texts.TEXTS,
    **running_folds.TEXTS,
    "tg_call_loop": """
#include <fenv.h>

/* Run a loop of NumPy's. Those of linear algebra raise the flag of invalid operations if there is no result. Threads of
   one decomposition wait for each other hundreds of times, for milliseconds each where a core has other work: a short
   one (lengths[1] is that of its rows) has one thread. */
static int tg_call_loop(int native, char **args, const int64_t *lengths, const int64_t *steps)
{
    const int is_short = lengths[1] < 512;
    if (is_short) tg_rt->take_cores(1);
    feclearexcept(FE_INVALID);
    ((tg_loop)tg_native[native])(args, lengths, steps, tg_native[native + 1]);
    const int failed = fetestexcept(FE_INVALID) != 0;
    if (is_short) tg_rt->give_cores(1);
    return failed;
}
""",
    "tg_finite": """
/* Whether all elements of some matrices are finite. */
static int tg_finite_$N(const $T *x, int64_t count, int64_t m, int64_t n, int64_t step, int64_t row, int64_t column)
{
    for (int64_t b = 0; b < count; b++)
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                const $T v = x[b * step + i * row + j * column];
                if (v - v != 0) return 0;
            }
    return 1;
}
""",
    "tg_searchsorted_left": _searched(
        "left",
        "How many elements come before a value; NaN is larger than all numbers.",
        "((at < v) | ((v != v) & (at == at)))",
    ),
    "tg_searchsorted_right": _searched(
        "right", "How many elements come before a value or are equal to it.", "!((v < at) | ((at != at) & (v == v)))"
    ),
    "tg_isin": """
/* Which of n values are among m others. Few are compared with each; whole numbers of a small range have a table of
   bytes; for the rest there is a table of which at most a quarter is taken, and free places hold the first of the
   others, so that it is found wherever it is looked for. Zeros are equal, NaN is
   equal to nothing. Nonzero: no memory. */
static inline uint64_t tg_isin_key_$N($T v)
{
    uint64_t bits = 0;
    if (($T)0.5 == 0) return (uint64_t)v;
    if (v != 0) __builtin_memcpy(&bits, &v, sizeof v);
    return bits;
}

static int tg_isin_$N(const $T *x, int64_t n, int64_t step, const $T *among, int64_t m, int64_t apart, uint8_t *out,
                      int64_t out_step)
{
    enum { FEW = 8, WIDE = 6, BITS = 2 };
    int64_t first = 0;
    while (first < m && among[first * apart] != among[first * apart]) first++;
    if (m - first <= FEW) {
        for (int64_t i = 0; i < n; i++) out[i * out_step] = 0;
        for (int64_t j = first; j < m; j++) {
            const $T one = among[j * apart];
            if (step == 1 && out_step == 1) for (int64_t i = 0; i < n; i++) out[i] |= x[i] == one;
            else for (int64_t i = 0; i < n; i++) out[i * out_step] |= x[i * step] == one;
        }
        return 0;
    }
    $T low = among[first * apart], high = low;
    for (int64_t j = first; j < m; j++) {
        const $T v = among[j * apart];
        low = v < low ? v : low, high = v > high ? v : high;
    }
    const uint64_t range = ($T)0.5 == 0 ? tg_isin_key_$N(high) - tg_isin_key_$N(low) : (uint64_t)-1;
    if (range / WIDE < (uint64_t)(n + m)) {
        uint8_t *is = calloc(range + 2, 1);
        if (!is) return 1;
        for (int64_t j = 0; j < m; j++) is[tg_isin_key_$N(among[j * apart]) - tg_isin_key_$N(low)] = 1;
        for (int64_t i = 0; i < n; i++) {
            const uint64_t at = tg_isin_key_$N(x[i * step]) - tg_isin_key_$N(low);
            out[i * out_step] = is[at <= range ? at : range + 1];
        }
        free(is);
        return 0;
    }
    int bits = 4;
    while (bits < 60 && (int64_t)1 << bits < m << BITS) bits++;
    const uint64_t most = ((uint64_t)1 << bits) - 1, none = tg_isin_key_$N(among[first * apart]);
    uint64_t *slots = malloc((most + 1) * sizeof *slots);
    if (!slots) return 1;
    for (uint64_t k = 0; k <= most; k++) slots[k] = none;
    for (int64_t j = first; j < m; j++) {
        const $T v = among[j * apart];
        if (v != v) continue;
        const uint64_t key = tg_isin_key_$N(v);
        uint64_t at = key ^ key >> 32;
        for (at = at * 0x9e3779b97f4a7c15u >> (64 - bits); slots[at] != none && slots[at] != key;) at = (at + 1) & most;
        slots[at] = key;
    }
    for (int64_t i = 0; i < n; i++) {
        const $T v = x[i * step];
        const uint64_t key = tg_isin_key_$N(v);
        uint64_t at = key ^ key >> 32;
        for (at = at * 0x9e3779b97f4a7c15u >> (64 - bits); slots[at] != none && slots[at] != key;) at = (at + 1) & most;
        out[i * out_step] = slots[at] == key;
    }
    free(slots);
    return 0;
}
""",
    "tg_trsm": """
/* Solve a triangular system for the columns of b. Returns 0, k + 1 if element k of the diagonal is 0, -1: no memory. */
static int64_t tg_trsm_$N(int triangle, int trans, int diagonal, int64_t n, int64_t columns, const $T *a, int64_t row,
                          int64_t column, const $T *b, int64_t b_row, int64_t b_column, $T *out)
{
    const int64_t most = 0x7fffffff;
    const $T one = 1, *matrix = a;
    int64_t lead = row;
    $T *copy = NULL;
    if (n == 0 || columns == 0) return 0;
    if (diagonal == TG_NONUNIT)
        for (int64_t i = 0; i < n; i++) if (a[i * (row + column)] == 0) return i + 1;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < columns; j++) out[i * columns + j] = b[i * b_row + j * b_column];
    if (n * n * columns <= 256 && trans != TG_CONJ) { /* a call of BLAS takes longer */
        const int64_t down = trans == TG_PLAIN ? row : column, across = trans == TG_PLAIN ? column : row;
        const int forward = (triangle == TG_LOWER) == (trans == TG_PLAIN);
        for (int64_t k = 0; k < n; k++) {
            const int64_t i = forward ? k : n - 1 - k, begin = forward ? 0 : i + 1, end = forward ? i : n;
            for (int64_t c = 0; c < columns; c++) {
                $T rest = out[i * columns + c];
                for (int64_t j = begin; j < end; j++) rest -= a[i * down + j * across] * out[j * columns + c];
                out[i * columns + c] = diagonal == TG_NONUNIT ? rest / a[i * (row + column)] : rest;
            }
        }
        return 0;
    }
    if (row == 1 && column >= n && trans != TG_CONJ) { /* the transposed matrix lies in rows */
        lead = column;
        triangle = triangle == TG_UPPER ? TG_LOWER : TG_UPPER;
        trans = trans == TG_PLAIN ? TG_TRANS : TG_PLAIN;
    } else if (column != 1 || row < n || row > most) {
        copy = malloc(n * n * sizeof *copy);
        if (!copy) return -1;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) copy[i * n + j] = a[i * row + j * column];
        matrix = copy;
        lead = n;
    }
    TG_BLAS->$Ltrsm(TG_ROWS, TG_LEFT, triangle, trans, diagonal, n, columns, $Aone, matrix, lead, out, columns);
    free(copy);
    return 0;
}
""",
    **lu_calls.TEXTS,
    **structured_calls.TEXTS,
    **qr_calls.TEXTS,
    "tg_least_squares": LEAST_SQUARES,
    "tg_lstsq": """
/* Least squares by NumPy's loop, which wants at least one right side. Returns 1 without a result, -1 without memory. */
static int tg_lstsq_$N(int native, const $T *a, int64_t a_row, int64_t a_column, const $T *b, int64_t b_row,
                       int64_t b_column, int64_t m, int64_t n, int64_t k, double rcond, $T *x, int64_t *rank, double *s)
{
    const int64_t size = sizeof($T), columns = k ? k : 1, most = m > n ? m : n;
    double limit = rcond < 0 ? __DBL_EPSILON__ * most : rcond;
    $T *none = calloc(m + n + 1, size);
    double *residuals = malloc((columns + 1) * size);
    int found = 0, failed = -1;
    if (none && residuals) {
        char *args[] = {(char *)a, (char *)(k ? b : none), (char *)&limit, (char *)(k ? x : none + m),
                        (char *)residuals, (char *)&found, (char *)s};
        const int64_t lengths[] = {1, m, n, columns, m < n ? m : n};
        const int64_t steps[] = {0, 0, 0, 0, 0, 0, 0, a_row * size, a_column * size, (k ? b_row : 1) * size,
                                 (k ? b_column : 1) * size, columns * size, size, sizeof(double), sizeof(double)};
        failed = tg_call_loop(native, args, lengths, steps);
        if (m == 0) for (int64_t i = 0; i < n * k; i++) x[i] = 0;
        *rank = found;
    }
    free(none);
    free(residuals);
    return failed;
}
""",
}
