"""Signals filtered between a higher rate and a lower one: many results side by side. Text only."""

from __future__ import annotations

from typing import Any

from termgraph.backends.c.text.dialect import SHORT


def upfirdn(x: Any) -> None:
    """The call for one signal."""
    (a, b), (out,) = x.n.reads, x.n.results
    params = x.n.term.op.params
    given = [f"{x.pointer(v)}, {x.size(n)}, {x.p.poly(v.core[0])}" for v, n in ((a, "n"), (b, "k"))]
    rates = f"{params['up']}, {params['down']}, {x.size('places')}"
    x.p.add(f"if (tg_upfirdn_{SHORT[out.buf.dtype]}({', '.join(given)}, {rates}, {x.pointer(out)})) {x.no_memory()}")


TEXTS = {
    "tg_upfirdn": """
/* Results come in rounds of `up`, both rates being freed of what divides them: each result of a round takes another
   part of the filter (`taps`: every up-th number), and the next round is `down` samples further. So samples are put in
   rows, `down` apart in each, and one result of many rounds is a sum of vectors; `begins` says for each number of the
   filter where in the rows its samples begin. Nonzero: no memory. */
static TG_CONV int tg_upfirdn_$N(const $T *x, int64_t n, int64_t x_step, const $T *h, int64_t k, int64_t h_step,
                                 int64_t up, int64_t down, int64_t places, $T *results)
{
    enum { WIDE = TG_LINE_$N, LANES = TG_LINE_BYTES / sizeof($T) };
    typedef tg_line_$N tg_line;
    int64_t both = up;
    for (int64_t a = down; a;) {
        const int64_t rest = both % a;
        both = a, a = rest;
    }
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
        if (low >= 0 && low + width * apart <= n && apart == 1 && x_step == 1) {
            __builtin_memcpy(rows, x + low, width * sizeof($T));
        } else if (low >= 0 && low + width * apart <= n) {
            const $T *from = x + low * x_step;
            for (int64_t a = 0; a < width; a++)
                for (int64_t r = 0; r < apart; r++, from += x_step) rows[r * width + a] = *from;
        } else {
            for (int64_t a = 0, i = low; a < width; a++)
                for (int64_t r = 0; r < apart; r++, i++) rows[r * width + a] = i >= 0 && i < n ? x[i * x_step] : 0;
        }
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
}
