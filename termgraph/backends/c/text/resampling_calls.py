"""Signals filtered between a higher rate and a lower one: many results side by side. Text only."""

from __future__ import annotations

import math
from typing import Any

from termgraph.backends.c.text.dialect import SHORT


def upfirdn(x: Any) -> None:
    """The call for one signal."""
    _call(x, "tg_upfirdn", [*_vectors(x, "n", "k"), _rates(x), x.size("places")])


def slope(x: Any) -> None:
    """The call for the gradient of a filter by one signal, and the cotangent of its results."""
    _call(x, "tg_upfirdn_slope", [*_vectors(x, "n", "places"), x.size("k"), _rates(x)])


def _vectors(x: Any, *lengths: str) -> list[str]:
    return [f"{x.pointer(v)}, {x.size(n)}, {x.p.poly(v.core[0])}" for v, n in zip(x.n.reads, lengths)]


def _rates(x: Any) -> str:
    """Both, and what divides them."""
    up, down = (x.n.term.op.params[rate] for rate in ("up", "down"))
    return f"{up}, {down}, {math.gcd(up, down)}"


def _call(x: Any, name: str, given: list[str]) -> None:
    (out,) = x.n.results
    x.p.add(f"if ({name}_{SHORT[out.buf.dtype]}({', '.join(given)}, {x.pointer(out)})) {x.no_memory()}")


_ROWS = """
#ifndef TG_IN_ROWS_$N
#define TG_IN_ROWS_$N
/* Elements of a vector from `low` on in rows, which go on `apart` elements further; zeros beyond both ends. */
static inline void tg_in_rows_$N(const $T *x, int64_t n, int64_t step, int64_t low, int64_t apart, int64_t width,
                                 $T *rows)
{
    const $T *from = x + low * step;
    if (low < 0 || low + width * apart > n) {
        for (int64_t a = 0, i = low; a < width; a++)
            for (int64_t r = 0; r < apart; r++, i++) rows[r * width + a] = i >= 0 && i < n ? x[i * step] : 0;
    }
    else if (apart == 1 && step == 1) __builtin_memcpy(rows, from, width * sizeof *rows);
    else if (apart == 2 && step == 1)
        for (int64_t a = 0; a < width; a++) rows[a] = from[2 * a], rows[width + a] = from[2 * a + 1];
    else
        for (int64_t a = 0; a < width; a++)
            for (int64_t r = 0; r < apart; r++, from += step) rows[r * width + a] = *from;
}
#endif
"""
TEXTS = {
    "tg_upfirdn": _ROWS
    + """
/* Results come in rounds of `up`, both rates being freed of what divides them: each result of a round takes another
   part of the filter (`taps`: every up-th number), and the next round is `down` samples further. So samples are put in
   rows, `down` apart in each, and one result of many rounds is a sum of vectors; `begins` says for each number of the
   filter where in the rows its samples begin. Nonzero: no memory. */
static TG_CONV int tg_upfirdn_$N(const $T *x, int64_t n, int64_t x_step, const $T *h, int64_t k, int64_t h_step,
                                 int64_t up, int64_t down, int64_t both, int64_t places, $T *results)
{
    enum { WIDE = TG_LINE_$N, LANES = TG_LINE_BYTES / sizeof($T) };
    typedef tg_line_$N tg_line;
    const int64_t round = up / both, apart = down / both, count = (k + up - 1) / up;
    const int64_t before = (count - 1 + apart - 1) / apart, rounds = (places + round - 1) / round;
    int64_t many = 4096 / apart / WIDE * WIDE;
    many = many < WIDE ? WIDE : many > 16 * WIDE ? 16 * WIDE : many;
    if (many > (rounds + WIDE - 1) / WIDE * WIDE) many = (rounds + WIDE - 1) / WIDE * WIDE;
    const int64_t width = before + many;
    char *const room = malloc(round * count * (sizeof($T) + sizeof(int64_t)) + apart * width * sizeof($T) + 1);
    if (!room) return 1;
    int64_t *const begins = (int64_t *)room;
    $T *const taps = ($T *)(begins + round * count), *const rows = taps + round * count;
    for (int64_t p = 0; p < round; p++) {
        const int64_t at = p * down;
        for (int64_t j = 0; j < count; j++) {
            const int64_t tap = at % up + j * up, sample = at / up - j + before * apart;
            taps[p * count + j] = tap < k ? h[tap * h_step] : 0;
            begins[p * count + j] = sample % apart * width + sample / apart;
        }
    }
    for (int64_t first = 0; first < rounds; first += many) {
        const int64_t low = (first - before) * apart, here = rounds - first < many ? rounds - first : many;
        tg_in_rows_$N(x, n, x_step, low, apart, width, rows);
        for (int64_t p = 0; p < round; p++) {
            const $T *const weights = taps + p * count;
            const int64_t *const begin = begins + p * count;
            for (int64_t q = 0; q < here; q += WIDE) {
                tg_line out[WIDE / LANES] = {{0}};
                TG_LINE_EACH(TG_LINE_SUM)
                for (int64_t j = 0; j < count; j++) {
                    const tg_line w = weights[j] - (tg_line){0};
                    const $T *const from = rows + begin[j] + q;
                    TG_LINE_EACH(TG_LINE_ADD)
                }
                TG_LINE_EACH(TG_LINE_OUT)
                const int64_t place = (first + q) * round + p, left = (places - place + round - 1) / round;
                $T *const to = results + place;
                const $T *const sum = (const $T *)out;
                for (int64_t u = 0; u < (left < WIDE ? left : WIDE); u++) to[u * round] = sum[u];
            }
        }
    }
    free(room);
    return 0;
}
""",
    "tg_upfirdn_slope": _ROWS
    + """
/* The gradient of the filter. Its number m * down - s * up meets sample s in result m, and then samples `apart` from it
   in results a round further. So both are put in rows, and each number is the sum of products of two of these; some
   numbers that meet the same samples are made together. Nonzero: no memory. */
static TG_CONV int tg_upfirdn_slope_$N(const $T *x, int64_t n, int64_t x_step, const $T *g, int64_t places,
                                       int64_t g_step, int64_t k, int64_t up, int64_t down, int64_t both,
                                       $T *slope)
{
    enum { LANES = TG_LINE_BYTES / sizeof($T), TOGETHER = 8 };
    typedef tg_line_$N tg_line;
    const int64_t round = up / both, apart = down / both, rounds = (n + apart - 1) / apart;
    const int64_t later = (k - 1 + (apart - 1) * up) / down / round;
    int64_t many = 4096 / (round + apart) / LANES * LANES;
    many = many < 8 * LANES ? 8 * LANES : many;
    if (many > (rounds + LANES - 1) / LANES * LANES) many = (rounds + LANES - 1) / LANES * LANES;
    const int64_t width = many + later;
    $T *const samples = malloc((apart * many + round * width + 1) * sizeof *samples);
    $T *const results = samples + apart * many;
    if (!samples) return 1;
    for (int64_t j = 0; j < k; j++) slope[j] = 0;
    for (int64_t first = 0; first < rounds; first += many) {
        tg_in_rows_$N(x, n, x_step, first * apart, apart, many, samples);
        tg_in_rows_$N(g, places, g_step, first * round, round, width, results);
        for (int64_t s = 0; s < apart; s++) {
            const int64_t end = k ? (k - 1 + s * up) / down + 1 : 0;
            const int64_t there = (n - s + apart - 1) / apart - first, have = there < many ? there : many;
            const int64_t whole = have / LANES * LANES; /* zeros beyond would make NaN of infinite results */
            for (int64_t m = (s * up + down - 1) / down; m < end; m += TOGETHER) {
                const int64_t some = end - m < TOGETHER ? end - m : TOGETHER;
                const $T *from[TOGETHER];
                tg_line sum[TOGETHER] = {{0}};
                for (int64_t u = 0; u < TOGETHER; u++) {
                    const int64_t result = u < some ? m + u : m;
                    from[u] = results + result % round * width + result / round;
                }
                for (int64_t t = 0; t < whole; t += LANES) {
                    const tg_line w = *(const tg_line *)(samples + s * many + t);
                    #pragma GCC unroll 8
                    for (int u = 0; u < TOGETHER; u++) sum[u] += w * *(const tg_line *)(from[u] + t);
                }
                for (int64_t u = 0; u < some; u++) {
                    $T total = 0;
                    for (int l = 0; l < (int)LANES; l++) total += sum[u][l];
                    for (int64_t t = whole; t < have; t++) total += samples[s * many + t] * from[u][t];
                    slope[(m + u) * down - s * up] += total;
                }
            }
        }
    }
    free(samples);
    return 0;
}
""",
}
