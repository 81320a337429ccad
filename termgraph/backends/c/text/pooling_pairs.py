"""C text of the gradient of maxima of 3x3 windows that move by one, two rows of windows at a time along memory.

Vectors of 64 bytes. What is kept of the two rows before, the maxima of columns and what columns get (as in
`pooling_columns`), lies in a line of the first cache. Planes are read and written in the order of memory. Pure text.
"""

from __future__ import annotations

from termgraph.backends.c.text.dialect import filled

FEWEST = {4: 4, 8: 3}  # vectors of a row, by the size of numbers: shorter rows take no longer in strips


def fits(k: int, s: int) -> bool:
    """Whether there is a text for windows of k that move by s."""
    return k == 3 and s == 1


def function() -> str:
    """The function; `$NAME`, `$N` and `$T` are left open."""
    rows = ((0, "a", "M0 H0 M1 H1 ma ha"), (1, "b", "M1 H1 ma ha mb hb"))
    pieces = {
        "$NEXT": ", ".join(f"{a}n{v} = TG_POOL_LOAD_$N({a}{v} + i + LANES, after)" for v, _, _ in rows for a in "yg"),
        "$COLUMNS": "\n".join(_columns(v, name) for v, name, _ in rows),
        "$RESULTS": "\n".join(_result(v, kept.split()) for v, _, kept in rows),
        "$ALONG": " ".join(f"{a}p{v} = {a}c{v}, {a}c{v} = {a}n{v};" for v, _, _ in rows for a in "yg"),
        "$FIRST": ", ".join(f"{a}c{v} = TG_POOL_LOAD_$N({a}{v}, first)" for v, _, _ in rows for a in "yg"),
        "$NONE": ", ".join(f"{a}p{v} = none" for v, _, _ in rows for a in "yg"),
    }
    return filled(PAIRS.strip(), pieces)


def attempt(size: int) -> str:
    """The text that calls it where rows are long."""
    return TRY.replace("$FEWEST", str(FEWEST[size]))


def _columns(v: int, name: str) -> str:
    """What columns get from a row of windows: from the one above an element, and from those beside it."""
    lines = [f"tg_pool_lanes_$N h{name} = TG_POOL_ONLY_$N(gc{v}, TG_POOL_SAME_$N(m{name}, yc{v}, -1));"]
    for one, other, which in (("p", "c", "left"), ("c", "n", "right")):
        y, g = (f"__builtin_shuffle({a}{one}{v}, {a}{other}{v}, {which})" for a in "yg")
        lines.append(f"h{name} = TG_POOL_ADD_$N(h{name}, {g}, TG_POOL_SAME_$N(m{name}, {y}, -1));")
    return "\n".join(" " * 16 + line for line in lines).lstrip()


def _result(v: int, kept: list[str]) -> str:
    """A row of elements from the three rows of windows over it."""
    pairs = list(zip(kept[::2], kept[1::2]))
    same = [f"TG_POOL_SAME_$N(x{v}, {m}, -1)" for m, _ in pairs]
    lines = [f"sum = TG_POOL_ONLY_$N({pairs[0][1]}, {same[0]});"]
    lines += [f"sum = TG_POOL_ADD_$N(sum, {h}, {at});" for (_, h), at in zip(pairs[1:], same[1:])]
    lines += [f"TG_POOL_STORE_$N(to{v} + i, sum, over);"]
    return "\n".join(" " * 16 + line for line in lines).lstrip()


PAIRS = """
/* Planes without gaps of as many windows as elements: each pair of rows of windows gives two rows of elements. */
static __attribute__((noinline)) int /* in a larger function addresses have no registers */
$NAME_pairs(int64_t count, const $T *x, const $T *y, const $T *g, $T *out, const int64_t *n)
{
    enum { LANES = TG_POOL_LANES_$N };
    const int64_t h = n[1], w = n[2], wide = (w + LANES - 1) / LANES * LANES;
    $T *const room = calloc(7 * wide, sizeof *room), *const least = room + wide, *const beside = least + wide;
    $T *const kept = beside + wide; /* maxima of columns and what these get, of the two rows of windows before */
    if (!room) return 1;
    tg_pool_index_$N left, right;
    for (int64_t e = 0; e < LANES; e++) left[e] = LANES - 1 + e, right[e] = 1 + e;
    for (int64_t j = 0; j < wide; j++) least[j] = -($T)__builtin_inf();
    const uint16_t first = TG_POOL_LEFT_$N(w), last = TG_POOL_LEFT_$N(w - wide + LANES);
    const tg_pool_lanes_$N none = {0};
    for (; count > 0; count--, x += h * w, y += h * w, g += h * w, out += h * w)
        for (int64_t b = 0; b <= h; b += 2) { /* outside, windows have no cotangent, and elements are least */
            const $T *const in = x + b * w, *const in0 = b > 0 ? in - w : least, *const in1 = b < h ? in : least;
            const $T *const in2 = b + 1 < h ? in + w : least, *const in3 = b + 2 < h ? in + 2 * w : least;
            const $T *const y0 = b < h ? y + b * w : room, *const y1 = b + 1 < h ? y + (b + 1) * w : room;
            const $T *const g0 = b < h ? g + b * w : room, *const g1 = b + 1 < h ? g + (b + 1) * w : room;
            $T *const to0 = b > 0 ? out + (b - 1) * w : beside, *const to1 = b < h ? out + b * w : beside;
            if (b == 0)
                for (int64_t j = 0; j < 4 * wide; j++) kept[j] = 0;
            tg_pool_lanes_$N $NONE, $FIRST, sum;
            for (int64_t i = 0; i < wide; i += LANES) {
                const uint16_t over = i + LANES < wide ? -1 : last;
                const uint16_t after = i + 2 * LANES < wide ? -1 : i + LANES < wide ? last : 0;
                const tg_pool_lanes_$N x0 = TG_POOL_LOAD_$N(in0 + i, over), x1 = TG_POOL_LOAD_$N(in1 + i, over);
                const tg_pool_lanes_$N x2 = TG_POOL_LOAD_$N(in2 + i, over), x3 = TG_POOL_LOAD_$N(in3 + i, over);
                const tg_pool_lanes_$N both = TG_POOL_MORE_$N(x1, x2);
                const tg_pool_lanes_$N ma = TG_POOL_MORE_$N(both, x0), mb = TG_POOL_MORE_$N(both, x3);
                const tg_pool_lanes_$N $NEXT;
                $T *const line = kept + 4 * i;
                const tg_pool_lanes_$N M0 = TG_POOL_AT_$N(line), H0 = TG_POOL_AT_$N(line + LANES);
                const tg_pool_lanes_$N M1 = TG_POOL_AT_$N(line + 2 * LANES), H1 = TG_POOL_AT_$N(line + 3 * LANES);
                $COLUMNS
                TG_POOL_AT_$N(line) = ma, TG_POOL_AT_$N(line + LANES) = ha;
                TG_POOL_AT_$N(line + 2 * LANES) = mb, TG_POOL_AT_$N(line + 3 * LANES) = hb;
                $RESULTS
                $ALONG
            }
        }
    free(room);
    return 0;
}
"""
TRY = """\
        if (w > ($FEWEST - 1) * LANES && ow == w && m[1] == n[1] && p[1] == 1 && p[2] == 1)
            return $NAME_pairs(count, x, y, g, out, n);
"""
