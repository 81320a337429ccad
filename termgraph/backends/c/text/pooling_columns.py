"""C text of the gradient of maxima in strips of columns, with vectors of 64 bytes, whose lanes masks choose.

An element is largest in a window if it is in its column of the window, and that column's maximum is the window's. So a
row of windows is compared with the maxima of columns once, which gives a sum of cotangents for each column; elements
compare themselves with these maxima: fewer comparisons than elements have windows, and less to be kept in registers.
Pure text.
"""

from __future__ import annotations

from typing import NamedTuple

from termgraph.backends.c.text.dialect import filled

NEEDED = "max$P512_mask"  # the builtin beside those of `pooling_strips`


class Shape(NamedTuple):
    """Windows of k rows that move by s, `side` of them over an element in each direction.

    `one`: a row of windows is read once and permuted; if windows move by one, `side - 1` lanes do not get all.
    `two`: each half of a vector is a plane of its own.
    """

    k: int
    s: int
    side: int
    one: bool
    two: bool = False


def beside(size: int, k: int, s: int) -> bool:
    """Whether there is a text for two planes in a vector."""
    return size == 4 and k == 3 and s == 1


def strips(size: int, k: int, s: int) -> str:
    """The function for numbers of so many bytes; `$NAME`, `$N` and `$T` are left open."""
    shape = Shape(k, s, (k - 1) // s + 1, s > 1 or size == 4)
    out = _filled(STRIPS, shape)
    return f"{out}\n{_filled(BESIDE, shape._replace(two=True))}" if beside(size, k, s) else out


def _filled(template: str, shape: Shape) -> str:
    k, s, _, _, _ = shape
    picks = _picks(shape)
    kept = [f"{a}{t} = {b}" for t in range(shape.side) for a, b in (("m", "least"), ("h", "none"))]
    given = [f"in{c} = at->in[{c}]" for c in range(shape.side)]
    pieces = {
        "$OWN": f"LANES - {shape.side - 1}" if s == 1 and shape.one else "LANES",
        "$TALL": str(max(k, s)),
        "$IN": ", ".join(given),
        "$PICKS": "".join(f" const tg_pool_index_$N to{c} = at->to[{c}];" for c in picks),
        "$KEPT": ", ".join([*kept, *[f"r{v} = least" for v in range(k)]]),
        "$FIRST": "".join(f"\n            {_row_of_image(shape, f'r{s + v}', v, True)}" for v in range(k - s)),
        "$WHOLE": _body(shape, False),
        "$EDGE": _body(shape, True),
    }
    out = filled(template.strip().replace("$DOWN", DOWN.strip()), pieces)
    return out.replace("$NEXT", "b++, r += $S, from += $S * w, to += $S * w")


def _picks(shape: Shape) -> list[int]:
    """Of which columns of windows lanes are permuted: the last one's stand right if they move by one."""
    if shape.two:
        return [0, 2]  # as many windows as elements: the one in the middle stands right
    if not shape.one:
        return []
    return list(range(shape.side if shape.s > 1 else shape.side - 1))


def _load(shape: Shape, at: str, mask: str, plane: str) -> str:
    return f"TG_POOL_BOTH_$N({at}, {mask}, {plane})" if shape.two else f"TG_POOL_LOAD_$N({at}, {mask})"


def _row_of_image(shape: Shape, to: str, v: int, edge: bool) -> str:
    """The v-th row of elements from the first one of a row of windows on, of which those outside are never largest."""
    read = _load(shape, f"from + {v} * w", "over", "h * w")
    return f"{to} = r + {v} >= 0 && r + {v} < h ? {read} : least;" if edge else f"{to} = {read};"


def _read(shape: Shape) -> str:
    """A row of windows at the places of the elements they lie over: maxima and cotangents."""
    arrays, each = ("y", "g"), range(shape.side)
    if not shape.one:
        there = "TG_POOL_LOAD_$N({0} + q + {2}, in{1})"
        reads = [f"{a}{c} = {there.format(a, c, shape.side - 1 - c)}" for c in each for a in arrays]
        return f"const tg_pool_lanes_$N {', '.join(reads)};"
    whole = [f"{a}q = {_load(shape, f'{a} + q', 'read', 'oh * ow')}" for a in arrays]
    picked = [f"{a}{c} = {_picked(shape, a, c)}" for c in each for a in arrays]
    return f"const tg_pool_lanes_$N {', '.join([*whole, *picked])};"


def _picked(shape: Shape, a: str, c: int) -> str:
    """The windows that are c before the last one over each element; no cotangent where there is none."""
    if shape.s == 1:
        return f"{a}q" if c not in _picks(shape) else f"__builtin_shuffle({a}q, to{c})"
    return f"__builtin_shuffle(yq, to{c})" if a == "y" else f"TG_POOL_PICK_$N(gq, to{c}, in{c})"


def _shares(shape: Shape) -> list[str]:
    """The maxima of columns of a row of windows, and what columns get: all of it if one window lies over an element."""
    if shape.side == 1:
        return [_read(shape), "m0 = y0, h0 = g0, q += ow;"]
    most = "r0"
    for v in range(1, shape.k):
        most = f"TG_POOL_MORE_$N({most}, r{v})"
    lines = [_read(shape), f"m0 = {most}, q += ow;", "h0 = TG_POOL_ONLY_$N(g0, TG_POOL_SAME_$N(m0, y0, -1));"]
    return lines + [f"h0 = TG_POOL_ADD_$N(h0, g{c}, TG_POOL_SAME_$N(m0, y{c}, -1));" for c in range(1, shape.side)]


def _result(shape: Shape, v: int, edge: bool) -> list[str]:
    """The v-th row of elements: from the rows of windows over it, the last one first."""
    over = [t for t in range(shape.side) if v + t * shape.s < shape.k]
    same = [f"TG_POOL_SAME_$N(r{v}, m{t}, -1)" for t in over]
    sums = [f"sum = TG_POOL_ONLY_$N(h0, {same[0]});"] if over else ["sum = none;"]
    sums += [f"sum = TG_POOL_ADD_$N(sum, h{t}, {at});" for t, at in zip(over[1:], same[1:])]
    sums += [f"TG_POOL_STORE_$N(to + {v} * w, sum, over);"]
    sums += [f"TG_POOL_STORE_$N(to + {v} * w + h * w - TG_POOL_LANES_$N / 2, sum, over2);"] * shape.two
    if not edge:
        return sums
    return [f"if (r + {v} >= 0 && r + {v} < h) {{", *[f"    {line}" for line in sums], "}"]


def _body(shape: Shape, edge: bool) -> str:
    """One row of windows; at an edge rows of the image or the windows may be missing."""
    k, s, side = shape.k, shape.s, shape.side
    lines = [f"r{v} = r{v + s};" for v in range(k - s)]
    lines += [_row_of_image(shape, f"r{v}", v, edge) for v in range(max(k - s, 0), k)]
    lines += [f"m{t} = m{t - 1}, h{t} = h{t - 1};" for t in range(side - 1, 0, -1)]
    shares = _shares(shape)
    lines += ["if (b < oh) {", *[f"    {line}" for line in shares], "} else h0 = none;"] if edge else shares
    for v in range(s):
        lines += _result(shape, v, edge)
    return "\n".join(" " * 20 + line for line in lines).lstrip()


STRIPS = """
/* Planes without gaps in strips of columns, each from its first row to its last; no lane but its own is touched. */
static __attribute__((noinline)) int /* in a larger function addresses have no registers */
$NAME_strips(int64_t count, const $T *x, const $T *y, const $T *g, $T *out, const int64_t *n, const int64_t *m,
             const int64_t *p)
{
    enum { LANES = TG_POOL_LANES_$N, SIDE = ($K - 1) / $S + 1, OWN = $OWN };
    /* Of a strip: which window each lane picks, the first column and window, the lanes that are its own, the windows
       that are read, the lanes that the window c before the last lies over. */
    typedef struct { tg_pool_index_$N to[SIDE]; int64_t j, q; uint16_t over, read, in[SIDE]; } strip;
    const int64_t h = n[1], w = n[2], oh = m[1], ow = m[2], tall = (h + p[1] + $S - 1) / $S;
    const int64_t inside = h + p[1] < $TALL ? 0 : (h + p[1] - $TALL) / $S + 1, end = inside < oh ? inside : oh;
    strip *const strips = calloc((w + OWN - 1) / OWN, sizeof *strips), *const after = strips + (w + OWN - 1) / OWN;
    if (!strips) return 1;
    for (strip *at = strips; at < after; at++) {
        at->j = (at - strips) * OWN, at->q = (at->j + p[2]) / $S - (SIDE - 1);
        for (int64_t c = 0; c < SIDE; c++)
            for (int64_t e = 0; e < LANES; e++) {
                const int64_t r = at->j + e + p[2], a = r / $S - c;
                at->to[c][e] = a - at->q;
                if (e >= OWN || at->j + e >= w) continue;
                at->over |= 1u << e;
                if (a >= 0 && a < ow && r < a * $S + $K) at->in[c] |= 1u << e, at->read |= 1u << (a - at->q);
            }
    }
    const tg_pool_lanes_$N none = {0}, least = none - ($T)__builtin_inf();
    for (; count > 0; count--, x += h * w, y += oh * ow, g += oh * ow, out += h * w)
        for (const strip *at = strips; at < after; at++) {
            const uint16_t over = at->over, read = at->read, $IN;$PICKS
            $DOWN
        }
    free(strips);
    return 0;
}
"""
DOWN = """
            int64_t b = 0, r = -p[1], q = at->q;
            const $T *from = x + r * w + at->j;
            $T *to = out + r * w + at->j;
            tg_pool_lanes_$N sum, $KEPT;$FIRST
            while (b < tall) {
                if (r >= 0) for (; b < end; $NEXT) {
                    $WHOLE
                }
                if (b < tall) {
                    $EDGE
                    $NEXT;
                }
            }
"""
BESIDE = """
#define TG_POOL_BOTH_$N(at, k, plane) \\
    ((tg_pool_lanes_$N)__builtin_ia32_loadu$P512_mask(at + plane - TG_POOL_LANES_$N / 2, TG_POOL_LOAD_$N(at, k), k##2))
/* Planes without gaps of as many windows as elements, two of them beside each other in a vector. */
static __attribute__((noinline)) int
$NAME_beside(int64_t count, const $T *x, const $T *y, const $T *g, $T *out, const int64_t *n, const int64_t *m,
             const int64_t *p)
{
    enum { LANES = TG_POOL_LANES_$N, HALF = LANES / 2, SIDE = ($K - 1) / $S + 1 };
    const struct { int64_t j, q; } start = {0}, *const at = &start;
    const int64_t h = n[1], w = n[2], oh = m[1], ow = m[2], tall = (h + p[1] + $S - 1) / $S;
    const int64_t inside = h + p[1] < $TALL ? 0 : (h + p[1] - $TALL) / $S + 1, end = inside < oh ? inside : oh;
    const uint16_t over = (1u << w) - 1, read = over;
    tg_pool_index_$N to0, to2;
    for (int64_t e = 0; e < LANES; e++) { /* windows that are missing have no cotangent in the last lane of a half */
        const int64_t column = e % HALF, first = e - column;
        to0[e] = first + (column + 1 < w ? column + 1 : HALF - 1);
        to2[e] = first + (column > 0 ? column - 1 : HALF - 1);
    }
    const tg_pool_lanes_$N none = {0}, least = none - ($T)__builtin_inf();
    for (; count > 0; count -= 2, x += 2 * h * w, y += 2 * oh * ow, g += 2 * oh * ow, out += 2 * h * w) {
        const uint16_t over2 = count > 1 ? over << HALF : 0, read2 = over2;
        {
            $DOWN
        }
    }
    return 0;
}
"""
TRY_BESIDE = """\
        if (w < LANES / 2 && ow == w && p[2] == 1 && n[1] * w >= LANES)
            return $NAME_beside(count, x, y, g, out, n, m, p);
"""
