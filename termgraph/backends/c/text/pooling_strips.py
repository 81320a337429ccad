"""C text of the gradients of pooling with vectors of 64 bytes, whose lanes masks choose: strips, small planes.

A strip is as many columns as a vector has lanes. It goes down a plane, and the rows of windows over an element stay in
registers, so that nothing is stored but the result (maxima: `pooling_columns`; in the order of memory `pooling_apart`,
`pooling_pairs`). Where as many rows as windows move by are one vector, that goes down a plane instead. Where all
windows of a plane are one vector, each vector of elements picks its own windows from it. Pure text.
"""

from __future__ import annotations

from termgraph.backends.c.text import pooling_apart, pooling_columns, pooling_pairs
from termgraph.backends.c.text.dialect import filled

SIDE = 3  # windows over an element in each direction, up to which their maxima and cotangents fit the registers
STRIDES = (1, 2, 4)  # which divide the lanes: windows lie alike over all strips
NEEDED = (
    "loadu$P512_mask storeu$P512_mask cmp$P512_mask add$P512_mask mova$P512_mask permvar$F512_mask "
    + pooling_columns.NEEDED
)


def fits(k: int, s: int) -> bool:
    """Whether there is a text for windows of k that move by s."""
    return s in STRIDES and (k - 1) // s + 1 <= SIDE


def functions(compared: bool, size: int, k: int, s: int) -> str:
    """The text for numbers of so many bytes; `$NAME`, `$N`, `$T` and `$I` are left open."""
    side = (k - 1) // s + 1
    texts = [pooling_columns.strips(size, k, s)] if compared else [STRIPS.strip()]
    small = [*[ROWS.strip()] * (side > 1), SMALL.strip()] if compared and s > 1 else []
    small += [pooling_apart.function(s)] if compared and pooling_apart.fits(k, s) else []
    small += [pooling_pairs.function()] if compared and pooling_pairs.fits(k, s) else []
    out = "\n".join([MASKED.strip(), *texts, *small, "#endif", "#endif"])
    lines = [f"to{c}[e] = (e + p[2] % $S) / $S + SIDE - 1 - {c};" for c in range(side)]
    pieces = {
        "$LANES": f"    for (int64_t e = 0; e < LANES; e++) {{ {' '.join(lines)} }}\n" if s > 1 else "",
        "$TO": f"    tg_pool_index_$N {', '.join(f'to{c}' for c in range(side))};\n" if s > 1 else "",
        "$IN": ", ".join(f"in{c} = at[{c + 2}]" for c in range(side)),
        "$SUMS": ", ".join(f"g{t} = {{0}}" for t in range(side)),
        "$LATER": " ".join(f"g{t} = g{t - 1};" for t in range(side - 1, 0, -1)),
        "$READ": _read(side, s),
        "$EACH_ROW": "\n".join(_row(k, s, v, side) for v in range(s)),
        "$ZERO": ", ".join(f"{row} = {{0}}" for t in range(side) for row in _kept(side, t)),
        "$DOWN": " ".join(
            f"{old} = {new};" for t in range(side - 1, 0, -1) for old, new in zip(_kept(side, t), _kept(side, t - 1))
        ),
        "$NONE": " = ".join(row for row in _kept(side, 0) if row[0] == "g"),
        "$COLUMNS": " ".join(_column(c) for c in range(side)),
        "$LINES": " ".join(f"over{t} |= (unsigned)(v + {t} * $S < $K) << e;" for t in range(side)),
        "$MASKS": ", ".join(f"{a}{c} = 0" for a in ("in", "over") for c in range(side)),
        "$PICKED": _picked(side),
        "$SHARES": _shares(k, s, side),
        "$SLOTS": "\n".join(_slot(q) for q in range(side * side)),
        "$BUILTINS": " \\\n    && ".join(f"__has_builtin(__builtin_ia32_{name})" for name in NEEDED.split()),
    }
    letters = {4: ("ps", "sf", "int"), 8: ("pd", "df", "long long")}[size]
    return filled(out, pieces | dict(zip(("$P", "$F", "$L"), letters)))


def _kept(side: int, t: int) -> list[str]:
    """Of the t-th row of windows before: maxima and cotangents by columns."""
    return [f"{a}{t}{c}" for a in "yg" for c in range(side)]


def _read(side: int, s: int) -> str:
    """The sum of cotangents along a row of windows, at the places of the elements they lie over."""
    if s == 1:
        return f"g0 = {' + '.join(f'TG_POOL_LOAD_$N(g + q - {c}, in{c})' for c in range(side))};"
    picked = [f"TG_POOL_PICK_$N(gq, to{c}, in{c})" for c in range(side)]
    return f"const tg_pool_lanes_$N gq = TG_POOL_LOAD_$N(g + q, at[1]); g0 = {' + '.join(picked)};"


def _row(k: int, s: int, v: int, side: int) -> str:
    """The row of elements that is number v over a row of windows; of these the upper one first, as everywhere."""
    rows = [f"g{t}" for t in reversed(range(side)) if v + t * s < k]
    text = f"{' ' * 20}sum = {' + '.join(rows) or '(tg_pool_lanes_$N){0}'};"
    return ROW.strip("\n").replace("$SUM", text).replace("$V", str(v))


def _column(c: int) -> str:
    """Where an element's window that is c before the last one is, and whether it is there."""
    there = f"r / $S >= {c} && r / $S - {c} < ow && r < (r / $S - {c}) * $S + $K"
    return f"to{c}[e] = (r / $S - {c}) & (LANES - 1); in{c} |= (unsigned)({there}) << e;"


def _picked(side: int) -> str:
    """A row of windows at the places of the elements of several rows."""
    return " ".join(
        f"y0{c} = __builtin_shuffle(yq, to{c}), g0{c} = TG_POOL_PICK_$N(gq, to{c}, in{c});" for c in range(side)
    )


def _shares(k: int, s: int, side: int) -> str:
    """What rows of elements get from the rows of windows over them."""
    over = [(t, f"{t}{c}") for t in range(side) for c in range(side)]
    same = [f"TG_POOL_SAME_$N(v, y{a}, over{t})" for t, a in over]
    lines = [f"sum = TG_POOL_ADD_$N(sum, g{a}, {is_most});" for (_, a), is_most in zip(over, same)]
    lines[0] = f"tg_pool_lanes_$N sum = TG_POOL_ONLY_$N(g00, {same[0]});"
    return "\n".join(" " * 12 + line for line in lines)


def _slot(q: int) -> str:
    """What a vector of elements gets from one of the windows over each."""
    picked = f"z = i * SLOTS + {q}, same = TG_POOL_SAME_$N(v, __builtin_shuffle(yq, to[z]), in[z])"
    value = "__builtin_shuffle(gq, to[z])"
    value = f"TG_POOL_ADD_$N(sum, {value}, same)" if q else f"TG_POOL_ONLY_$N({value}, same)"
    return f"            {picked};\n            sum = {value};"


MASKED = """
#if defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__) && defined(__has_builtin)
#if $BUILTINS
#define TG_POOL_STRIPS_$N /* lanes are chosen by masks */
#ifndef TG_POOL_LOAD_$N
typedef $L tg_pool_index_$N __attribute__((vector_size(64), aligned(sizeof($T))));
#define TG_POOL_LOAD_$N(at, k) ((tg_pool_lanes_$N)__builtin_ia32_loadu$P512_mask(at, (tg_pool_lanes_$N){0}, k))
#define TG_POOL_LEFT_$N(n) ((1u << ((n) < TG_POOL_LANES_$N ? (n) : TG_POOL_LANES_$N)) - 1)
#define TG_POOL_STORE_$N(at, x, k) __builtin_ia32_storeu$P512_mask(at, x, k)
#define TG_POOL_SAME_$N(x, y, k) __builtin_ia32_cmp$P512_mask(x, y, 0, k, 4)
#define TG_POOL_ADD_$N(x, y, k) ((tg_pool_lanes_$N)__builtin_ia32_add$P512_mask(x, y, x, k, 4))
#define TG_POOL_MORE_$N(x, y) ((tg_pool_lanes_$N)__builtin_ia32_max$P512_mask(x, y, x, -1, 4))
#define TG_POOL_ONLY_$N(x, k) ((tg_pool_lanes_$N)__builtin_ia32_mova$P512_mask(x, (tg_pool_lanes_$N){0}, k))
#define TG_POOL_PICK_$N(x, at, k) ((tg_pool_lanes_$N)__builtin_ia32_permvar$F512_mask(x, at, (tg_pool_lanes_$N){0}, k))
#endif
"""
STRIPS = """
/* Planes without gaps in strips of columns, each from its first row to its last. What a row's last vector writes behind
   it is written again, but in strips beside others and in the last plane, where it is masked. */
static int
$NAME_strips(int64_t count, const $T *g, $T *out, const int64_t *n, const int64_t *m, const int64_t *p)
{
    enum { LANES = TG_POOL_LANES_$N, SIDE = ($K - 1) / $S + 1, EACH = SIDE + 2 };
    const int64_t h = n[1], w = n[2], oh = m[1], ow = m[2], tall = (h + p[1] + $S - 1) / $S;
    /* Of a strip: its columns, the windows that are read, the columns that the window c before the last lies over. */
    uint16_t *const masks = calloc((w + LANES - 1) / LANES * EACH, sizeof *masks);
    if (!masks) return 1;
    for (int64_t j = 0; j < w; j++) {
        uint16_t *const at = masks + j / LANES * EACH;
        const int64_t e = j % LANES, r = j + p[2];
        at[0] |= 1u << e;
        for (int64_t c = 0; c < SIDE; c++) {
            const int64_t a = r / $S - c, first = (j - e + p[2]) / $S - (SIDE - 1);
            if (a >= 0 && a < ow && r < a * $S + $K) at[2 + c] |= 1u << e, at[1] |= 1u << (a - first) % LANES;
        }
    }
$TO$LANES    for (; count > 0; count--, out += h * w, g += oh * ow)
        for (int64_t j = 0; j < w; j += LANES) {
            const uint16_t *const at = masks + j / LANES * EACH;
            const int cut = w - j >= LANES ? 0 : count == 1 || j > 0; /* whether the result is masked */
            const uint16_t over = at[0], $IN;
            int64_t i = j, q = $S == 1 ? j + p[2] : (j + p[2]) / $S - (SIDE - 1);
            tg_pool_lanes_$N sum, $SUMS;
            for (int64_t b = 0; b < tall; b++) {
                $LATER
                if (b < oh) {
                    $READ
                    q += ow;
                } else g0 = (tg_pool_lanes_$N){0};
$EACH_ROW
            }
        }
    free(masks);
    return 0;
}
"""
ROW = """
                if (b * $S + $V >= p[1] && b * $S + $V - p[1] < h) {
$SUM
                    if (cut) TG_POOL_STORE_$N(out + i, sum, over);
                    else TG_POOL_AT_$N(out + i) = sum;
                    i += w;
                }
"""
ROWS = """
/* Narrow planes without gaps, padded by whole strides: the rows that a row of windows begins with are one vector. What
   it writes behind them is written again, but at the end of all planes, where it is masked. */
static __attribute__((noinline)) int /* in a larger function addresses have no registers */
$NAME_rows(int64_t count, const $T *x, const $T *y, const $T *g, $T *out, const int64_t *n, const int64_t *m,
           const int64_t *p)
{
    enum { LANES = TG_POOL_LANES_$N };
    const int64_t w = n[2], size = n[1] * w, oh = m[1], ow = m[2];
    const int64_t above = p[1] / $S, tall = (n[1] + $S - 1) / $S + above;
    const unsigned read = (1u << ow) - 1;
    unsigned $MASKS; /* elements whose windows there are; rows over which the window t rows before lies */
    $TO    for (int64_t e = 0; e < LANES; e++) {
        const int64_t v = e / w, r = e % w + p[2];
        $COLUMNS
        $LINES
    }
    for (; count > 0; count--, x += size, y += oh * ow, g += oh * ow, out += size) {
        const int last = count * size < size + LANES; /* a vector may end behind the end of all planes */
        tg_pool_lanes_$N $ZERO;
        for (int64_t b = 0, i = -above * $S * w; b < tall; b++, i += $S * w) {
            $DOWN
            if (b < oh) {
                const tg_pool_lanes_$N yq = TG_POOL_LOAD_$N(y + b * ow, read), gq = TG_POOL_LOAD_$N(g + b * ow, read);
                $PICKED
            } else $NONE = (tg_pool_lanes_$N){0};
            if (i < 0) continue;
            const unsigned here = last ? TG_POOL_LEFT_$N(count * size - i) : 0;
            const tg_pool_lanes_$N v = last ? TG_POOL_LOAD_$N(x + i, here) : TG_POOL_AT_$N(x + i);
$SHARES
            if (last) TG_POOL_STORE_$N(out + i, sum, here);
            else TG_POOL_AT_$N(out + i) = sum;
        }
    }
    return 0;
}
"""
SMALL = """
/* Small planes without gaps, each as one row: all windows are one vector, from which elements pick theirs. */
static int
$NAME_small(int64_t count, const $T *x, const $T *y, const $T *g, $T *out, const int64_t *n, const int64_t *m,
            const int64_t *p)
{
    enum { LANES = TG_POOL_LANES_$N, SIDE = ($K - 1) / $S + 1, SLOTS = SIDE * SIDE };
    const int64_t w = n[2], size = n[1] * w, windows = m[1] * m[2], vectors = (size + LANES - 1) / LANES;
    char *const room = calloc(vectors * SLOTS + 1, sizeof(tg_pool_index_$N) + sizeof(uint16_t));
    if (!room) return 1;
    tg_pool_index_$N *const to = (void *)(room + (-(uintptr_t)room & 63)); /* no vector in two lines of the cache */
    uint16_t *const in = (uint16_t *)(to + vectors * SLOTS);
    for (int64_t j = 0; j < size * SLOTS; j++) {
        const int64_t q = j % SLOTS, e = j / SLOTS, r = e / w + p[1], c = e % w + p[2];
        const int64_t b = r / $S - q / SIDE, a = c / $S - q % SIDE, z = e / LANES * SLOTS + q;
        if (b >= 0 && b < m[1] && r < b * $S + $K && a >= 0 && a < m[2] && c < a * $S + $K)
            to[z][e % LANES] = b * m[2] + a, in[z] |= 1u << e % LANES;
    }
    const int64_t few = (LANES + size - 1) / size; /* planes of which a vector may end behind them all */
    const unsigned each = (1u << windows) - 1;
    for (; count > 0; count--, x += size, y += windows, g += windows, out += size) {
        const unsigned tail = TG_POOL_LEFT_$N(count * size - (vectors - 1) * LANES);
        const tg_pool_lanes_$N yq = TG_POOL_LOAD_$N(y, each), gq = TG_POOL_LOAD_$N(g, each);
        for (int64_t i = 0; i < vectors; i++) {
            const int cut = count <= few && (i + 1 == vectors || few > 1);
            const tg_pool_lanes_$N v = cut ? TG_POOL_LOAD_$N(x + i * LANES, tail) : TG_POOL_AT_$N(x + i * LANES);
            tg_pool_lanes_$N sum;
            int64_t z;
            unsigned same;
$SLOTS
            if (cut) TG_POOL_STORE_$N(out + i * LANES, sum, tail);
            else TG_POOL_AT_$N(out + i * LANES) = sum;
        }
    }
    free(room);
    return 0;
}
"""
TRY = """
#ifdef TG_POOL_STRIPS_$N
    if ($DENSE && k[0] == 1 && n[0] == 1 && k[1] == $K && s[1] == $S) {
$SMALL$APART        if (n[1] * w >= LANES) return $NAME_strips(count, $GIVEN, n, m, p);
    }
#endif
"""
TRY_ROWS = """\
        /* Operations for a plane: places and comparisons of each row of windows, or of each vector of elements. */
        const int64_t rows = (n[1] + p[1] + $S - 1) / $S * (2 * $SIDE + $SIDE * $SIDE);
        const int64_t vectors = m[1] * ow <= LANES ? (n[1] * w + LANES - 1) / LANES * 3 * $SIDE * $SIDE : rows + 1;
        if ($S * w <= LANES && ow <= LANES && p[1] % $S == 0 && rows < vectors)
            return $NAME_rows(count, x, y, g, out, n, m, p);
"""
TRY_SMALL = """\
        if (m[1] * ow <= LANES && n[1] * w <= 8 * LANES) return $NAME_small(count, x, y, g, out, n, m, p);
"""


def attempt(compared: bool, size: int, k: int, s: int) -> str:
    """The text that calls them where the arrays are made so."""
    given = ["x", "y", "g", "out"] if compared else ["g", "out"]
    small = TRY_ROWS * (k > s) + TRY_SMALL if compared and s > 1 else ""
    apart = pooling_apart.TRY if compared and pooling_apart.fits(k, s) else ""
    apart += pooling_columns.TRY_BESIDE if compared and pooling_columns.beside(size, k, s) else ""
    apart += pooling_pairs.attempt(size) if compared and pooling_pairs.fits(k, s) else ""
    text = TRY.strip().replace("$SMALL", small).replace("$APART", apart).replace("$GIVEN", ", ".join(given))
    text = text.replace("$SIDE", str((k - 1) // s + 1))
    return text.replace("$DENSE", " && ".join(f"{a}_end > {a}" for a in given))
