"""C text of the gradient of maxima of windows that lie beside each other, with vectors of 64 bytes and masks.

An element is in one window, so nothing is kept from row to row, and images are read in the order of memory: a vector of
windows is spread over as many vectors as windows are long, for all of their rows. Pure text.
"""

from __future__ import annotations

from termgraph.backends.c.text.dialect import filled


def fits(k: int, s: int) -> bool:
    """Whether there is a text for windows of k that move by s."""
    return k == s == 2


def function(s: int) -> str:
    """The functions; `$NAME`, `$N`, `$T` and `$S` are left open."""
    each = range(s)
    same = "TG_POOL_SAME_$N(TG_POOL_LOAD_$N(x + at, o{0}), y{0}, o{0})"
    store = "at = {1} * w + {0} * LANES, TG_POOL_STORE_$N(out + at, TG_POOL_ONLY_$N(g{0}, {2}), o{0});"
    rows = [
        f"if (rows > {v} && o{c}) {store.format(c, v, same.format(c))}"  # of the last vectors some may be empty
        for v in each
        for c in each
    ]
    pieces = {
        "$INDEX": ", ".join(f"to{c}" for c in each),
        "$OVER": ", ".join(f"over{c} = left > {c} * LANES ? TG_POOL_LEFT_$N(left - {c} * LANES) : 0" for c in each),
        "$GIVEN": ", ".join(f"tg_pool_index_$N to{c}, uint16_t o{c}" for c in each),
        "$ALL": ", ".join(f"to{c}, -1" for c in each),
        "$CUT": ", ".join(f"to{c}, over{c}" for c in each),
        "$LANE": " ".join(f"to{c}[e] = ({c} * LANES + e) / $S;" for c in each),
        "$SPREAD": ", ".join(f"{a}{c} = __builtin_shuffle({a}q, to{c})" for c in each for a in "yg"),
        "$STORES": "\n".join(" " * 4 + line for line in rows).lstrip(),
    }
    return filled(APART.strip(), pieces)


APART = """
/* A vector of windows, of which the first `rows` rows are there, and the elements under it. */
static inline __attribute__((always_inline)) void
$NAME_under(const $T *x, const $T *y, const $T *g, $T *out, int64_t w, int64_t rows, uint16_t read, $GIVEN)
{
    enum { LANES = TG_POOL_LANES_$N };
    const tg_pool_lanes_$N yq = TG_POOL_LOAD_$N(y, read), gq = TG_POOL_LOAD_$N(g, read), $SPREAD;
    int64_t at;
    $STORES
}

/* Planes without gaps whose windows lie beside each other, in the order of memory. */
static __attribute__((noinline)) int /* in a larger function addresses have no registers */
$NAME_apart(int64_t count, const $T *x, const $T *y, const $T *g, $T *out, const int64_t *n, const int64_t *m)
{
    enum { LANES = TG_POOL_LANES_$N };
    const int64_t h = n[1], w = n[2], ow = m[2], whole = w / ($S * LANES) * LANES, left = w - whole * $S;
    const uint16_t $OVER, read = TG_POOL_LEFT_$N(ow - whole);
    tg_pool_index_$N $INDEX;
    for (int64_t e = 0; e < LANES; e++) { $LANE }
    for (; count > 0; count--)
        for (int64_t r = 0, rows; r < h; r += rows, x += rows * w, out += rows * w) {
            rows = h - r < $S ? h - r : $S;
            if (r >= m[1] * $S) { /* in no window */
                for (int64_t j = 0; j < rows * w; j++) out[j] = 0;
                continue;
            }
            int64_t a = 0;
            for (; a < whole; a += LANES) $NAME_under(x + a * $S, y + a, g + a, out + a * $S, w, rows, -1, $ALL);
            if (left > 0) $NAME_under(x + a * $S, y + a, g + a, out + a * $S, w, rows, read, $CUT);
            y += ow, g += ow;
        }
    return 0;
}
"""
TRY = """\
        if (w > LANES && p[1] == 0 && p[2] == 0 && n[1] < (m[1] + 1) * $S && w < (ow + 1) * $S)
            return $NAME_apart(count, x, y, g, out, n, m);
"""
