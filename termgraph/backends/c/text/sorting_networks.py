"""C text of sorting networks: lines of few elements are sorted side by side, a vector of lines at a time."""

from __future__ import annotations

# NumPy's function is called for one line at a time: 176 ns for 9 elements, of which a network needs 4 on Zen 3.
TEXT = """
static inline __attribute__((always_inline)) int tg_sort_lines_$N(const $T *x, $T *out, int64_t count, int64_t n,
                                                                  int64_t apart, int64_t step, int64_t out_apart,
                                                                  int64_t out_step)
{
    enum { MOST = 64, LANES = 64 / sizeof($T), EXCHANGES = 543 };
    uint8_t low[EXCHANGES], high[EXCHANGES];
    $T rows[MOST][LANES];
    int64_t exchanges = 0;
    /* The longer lines are, the more NumPy's function makes of one; where it would have to be copied, less. */
    if (n < 2 || n > (apart == 1 ? MOST : sizeof($T) < 8 ? 32 : 24) || count < 4) return 0;
    for (int64_t p = 1; p < n; p *= 2)
        for (int64_t k = p; k > 0; k /= 2)
            for (int64_t first = k % p; first + k < n; first += 2 * k)
                for (int64_t i = first; i < first + k && i + k < n; i++)
                    if (i / (2 * p) == (i + k) / (2 * p)) low[exchanges] = i, high[exchanges++] = i + k;
    for (; count > 0; count -= LANES, x += LANES * apart, out += LANES * out_apart) {
        const int64_t lines = count < LANES ? count : LANES;
        if (lines < LANES) __builtin_memset(rows, 0, sizeof rows);
        for (int64_t k = 0; k < n; k++)
            if (apart == 1 && lines == LANES) __builtin_memcpy(rows[k], x + k * step, sizeof rows[k]);
            else for (int64_t u = 0; u < lines; u++) rows[k][u] = x[k * step + u * apart];
        for (int64_t e = 0; e < exchanges; e++) {
            $T *restrict const a = rows[low[e]], *restrict const b = rows[high[e]];
            #pragma GCC ivdep
            for (int u = 0; u < LANES; u++) {
                const $T v = a[u], w = b[u];
                const int swap = (w < v) | (v != v);
                a[u] = swap ? w : v;
                b[u] = swap ? v : w;
            }
        }
        for (int64_t k = 0; k < n; k++)
            if (out_apart == 1 && lines == LANES) __builtin_memcpy(out + k * out_step, rows[k], sizeof rows[k]);
            else for (int64_t u = 0; u < lines; u++) out[k * out_step + u * out_apart] = rows[k][u];
    }
    return 1;
}

/* Sort `count` lines of n elements that are `step` apart, if they are short: by Batcher's network of exchanges, which
   is the same for all lines. NaN comes last. Zero: not done. */
TG_APART int tg_sort_network_$N(const $T *x, $T *out, int64_t count, int64_t n, int64_t apart, int64_t step,
                                int64_t out_apart, int64_t out_step)
{
    if (step == 1 && out_step == 1) return tg_sort_lines_$N(x, out, count, n, apart, 1, out_apart, 1);
    return tg_sort_lines_$N(x, out, count, n, apart, step, out_apart, out_step);
}
"""
