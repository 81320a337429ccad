"""C text of the gradients of pooling: a function for each size and stride of windows along rows.

A row of windows is spread to the length of a row of the image once, as maxima and cotangents; each row of the image
compares itself with the rows of windows over it, whole vectors at a time. The last vector of a row goes on into the
next row, which is written after it. Where windows move by one and there are as many as elements, a small plane is one
row; so it is where all windows of a plane are two vectors, from which elements pick their own. Lengths are those of
three dimensions; missing ones are 1. Pure text.
"""

from __future__ import annotations

from termgraph.backends.c.text import pooling_strips
from termgraph.backends.c.text.dialect import filled

FEW = 3  # strides that a window reaches over, rows of windows over an element, elements of a window: written out
VECTORS = (("#ifdef __AVX512F__", 64), ("#elif defined(__AVX__)", 32), ("#else", 16))  # bytes of one
PLANE = 8192  # numbers in the lines of a plane that is taken as one: they stay in a second-level cache


def gradient(compared: bool, size: int, k: int, s: int, masked: bool = False) -> str:
    """The text for numbers of so many bytes; `$NAME`, `$N`, `$T` and `$I`, an integer as long, are left open.

    `masked` says that these are floats and vectors have 64 bytes, of which masks choose lanes.
    """
    whole, partial = max(k // s, 1), k > s and k % s  # strides of a window, and whether a part of one is left
    shifts = whole + bool(partial)
    pieces = {
        "$ARRAYS": ", ".join(f"const $T *{a}" for a in ("xyg" if compared else "g")) + ", $T *out",
        "$STEPS": ", ".join(f"const int64_t *{a}s" for a in ("xygo" if compared else "go")),
        "$OWN": _own_lines(compared, shifts),
        "$EACH": str(2 + bool(partial) if compared else 1),
        "$SPREAD": _spread(compared, k, s),
        "$SUMMED": "" if compared or shifts == 1 else SUMMED.strip(),
        "$CASES": "\n".join(_case(compared, n, whole, shifts, s) for n in range(1, FEW + 1) if shifts <= FEW),
        "$ANY": ANY_COMPARED if compared else "sum += TG_POOL_AT_$N(lines[t] + j);",
        "$LEFT": LEFT if partial else "",
        "$WHOLE": str(whole), "$FROM": "from" if compared else "0", "$G": "2" if compared else "0",
    }  # fmt: skip
    if masked and pooling_strips.fits(k, s):
        pieces |= {"$PLANES": pooling_strips.functions(compared, size, k, s)}
        pieces |= {"$TRY": pooling_strips.attempt(compared, size, k, s)}
    elif compared and s == 1 and k % 2 == 1 and 1 < k <= FEW:
        pieces |= {"$PLANES": PLANES.strip(), "$ROW": _plane(k), "$TRY": TRY.strip()}
    elif compared and (k - 1) // s + 1 <= FEW:
        pieces |= {"$PLANES": f"{GATHERED_PLANES.strip()}\n{SPREAD_PLANES.strip()}"}
        pieces |= {"$TRY": f"{TRY_GATHERED.strip()}\n    {TRY_SPREAD.strip()}", "$SLOTS": _gathered((k - 1) // s + 1)}
        least = "__AVX512F__" if k > s else "__AVX2__"  # for which it takes several instructions
        pieces |= {"$PICKS": f"defined(__GNUC__) && !defined(__clang__) && defined({least})"}
    else:
        pieces |= {"$PLANES": "", "$TRY": ""}
    lines = [line for line in GRADIENT.strip().split("\n") if compared or not line.endswith("/*max*/")]
    out = "\n".join([lanes(size), *[line.removesuffix("/*max*/").rstrip() for line in lines]])
    first = {name: pieces.pop(name) for name in ("$TRY", "$PLANES")}
    return filled(out, {**first, **pieces, "$K": str(k), "$S": str(s), "$MOST": str(PLANE)})


def lanes(size: int) -> str:
    """The vectors of each kind of processor, and which elements of one stand twice in two others."""
    out = []
    for test, width in VECTORS:
        n = width // size
        halves = [", ".join(str(start + e // 2) for e in range(n)) for start in (0, n // 2)]
        out += [test, f"#define TG_POOL_LANES_$N {n}"]
        out += [f"#define TG_POOL_{which}_$N {{{text}}}" for which, text in zip(("LOW", "HIGH"), halves)]
    return "\n".join(["#ifndef TG_POOL_LANES_$N", *out, "#endif", LANES.strip(), "#endif"])


def _own_lines(compared: bool, shifts: int) -> str:
    """Where a row of windows is spread to: lines of its own, or those from which a line of sums is made."""
    if compared:
        return "$T *const Y = line + AROUND + p[2], *const G = Y + length, *const L = G + length; (void)L;"
    if shifts == 1:
        return "$T *const G = line + AROUND + p[2];"
    return "$T *const G = spread + AROUND + p[2], *const L = G + length; (void)L;"


def _spread(compared: bool, k: int, s: int) -> str:
    """Each number of a row once for every element of a stride that the window has; zeros for the others."""
    end, last = min(k, s), k % s if k > s else 0
    to = [("Y", "y", s)] if compared else []
    to += [("G", "g", end), *([("L", "g", last)] if last else [])]
    plain = " ".join(f"{a}[q * $S + e - p[2]] = {_first(f'{v}a[q]', n, s)};" for a, v, n in to)
    plain = f"for (int64_t q = 0; q < ow; q++)\n    for (int64_t e = 0; e < $S; e++) {{ {plain} }}"
    if s > 2:
        return plain
    text = ["for (int64_t q = 0; q < ow; q += LANES) {"]
    text += ["    const tg_pool_lanes_$N yq = TG_POOL_AT_$N(ya + q);"] if compared else []
    text += ["    tg_pool_lanes_$N gq = TG_POOL_AT_$N(ga + q);"]
    text += ["    if (q + LANES > ow) gq = TG_POOL_KEPT_$N(gq, tail);"]
    if s == 1:
        return "\n".join([*text, *[f"    TG_POOL_AT_$N({a} + q - p[2]) = {v}q;" for a, v, _ in to], "}"])
    for a, v, n in to:
        for half, which in enumerate(("low", "high")):
            value = f"__builtin_shuffle({v}q, {which})"
            value = f"TG_POOL_KEPT_$N({value}, even)" if n == 1 else value
            text.append(f"    TG_POOL_AT_$N({a} + 2 * q{' + LANES' if half else ''} - p[2]) = {value};")
    return "\n".join(["#if defined(__GNUC__) && !defined(__clang__)", *text, "}", "#else", plain, "#endif"])


def _first(value: str, n: int, s: int) -> str:
    return value if n == s else f"e < {n} ? {value} : 0"


def _case(compared: bool, n: int, whole: int, shifts: int, s: int) -> str:
    """A row of the image from n rows of windows."""
    terms = []
    for t in range(n):
        at = [f"l{t} + j - {c * s}" if c else f"l{t} + j" for c in range(shifts)]
        given = [f"{2 if c == whole else 1} * length" for c in range(shifts)]
        if compared:
            terms += [f"TG_POOL_HIT_$N(v, {a}, {a} + {b})" for a, b in zip(at, given)]
        else:
            terms.append(f"TG_POOL_AT_$N(l{t} + j)")
    names = ", ".join(f"*const l{t} = lines[{t}]" for t in range(n))
    v = "const tg_pool_lanes_$N v = TG_POOL_AT_$N(from + j); " if compared else ""
    total = "\n                + ".join(terms)
    return (
        f"    case {n}: {{\n        const $T {names};\n        for (int64_t j = 0; j < w; j += LANES) {{\n"
        f"            {v}TG_POOL_AT_$N(to + j) = {total};\n        }}\n        break;\n    }}"
    )


def _plane(k: int) -> str:
    """A vector of a plane that is one row: for each column of the window all of its rows."""
    terms, around = [], (k - 1) // 2
    for c in range(k):
        each = []
        for v in range(k):
            at = f"i + ({around - v}) * w + ({around - c})"
            each.append(f"TG_POOL_HIT_$N(v, Y + {at}, G + {at})")
        total = "\n                + ".join(each)
        terms.append(total if c == around else f"TG_POOL_KEPT_$N({total}, *(tg_pool_numbers_$N *)(masks[{c}] + i))")
    return "\n            + ".join(terms)


def _gathered(side: int) -> str:
    """The shares of one vector of elements from all windows that each may lie in."""
    terms = [
        f"(at = which[i * SLOTS + {q}], TG_POOL_KEPT_$N(__builtin_shuffle(g0, g1, at), "
        f"(tg_pool_numbers_$N)(v == __builtin_shuffle(y0, y1, at)) & kept[i * SLOTS + {q}]))"
        for q in range(side * side)
    ]
    return "\n                + ".join(terms)


LANES = """
typedef $T tg_pool_lanes_$N __attribute__((vector_size(TG_POOL_LANES_$N * sizeof($T)), aligned(sizeof($T)), may_alias));
typedef $I tg_pool_numbers_$N __attribute__((vector_size(sizeof(tg_pool_lanes_$N)), aligned(sizeof($T)), may_alias));
#define TG_POOL_AT_$N(at) (*(tg_pool_lanes_$N *)(at))
#define TG_POOL_KEPT_$N(x, mask) ((tg_pool_lanes_$N)((tg_pool_numbers_$N)(x) & (mask)))
#define TG_POOL_HIT_$N(v, y, g) TG_POOL_KEPT_$N(TG_POOL_AT_$N(g), (tg_pool_numbers_$N)((v) == TG_POOL_AT_$N(y)))

/* The end of arrays of n elements that lie one after the other without gaps; else their begin. */
static inline const $T *tg_pool_end_$N(const $T *x, const int64_t *n, const int64_t *steps, int64_t count, int64_t next)
{
    const int64_t row = n[2], plane = n[1] * row, all = n[0] * plane;
    const int dense = (row == 1 || steps[2] == 1) && (n[1] == 1 || steps[1] == row) && (n[0] == 1 || steps[0] == plane);
    return dense && (count == 1 || next == all) ? x + count * all : x;
}
"""
ANY_COMPARED = """const $T *const Y = lines[t] + j, *const G = Y + length, *const L = G + length; (void)L;
                for (int64_t c = 0; c < $WHOLE; c++) sum += TG_POOL_HIT_$N(v, Y - c * $S, G - c * $S);$LEFT"""
LEFT = """
                sum += TG_POOL_HIT_$N(v, Y - $WHOLE * $S, L - $WHOLE * $S);"""
SUMMED = """
        for (int64_t j = 0; j < w; j += LANES) {
            tg_pool_lanes_$N sum = TG_POOL_AT_$N(G + j);
            for (int64_t c = 1; c < $WHOLE; c++) sum += TG_POOL_AT_$N(G + j - c * $S);
            if ($K > $WHOLE * $S) sum += TG_POOL_AT_$N(L + j - $WHOLE * $S);
            TG_POOL_AT_$N(line + AROUND + p[2] + j) = sum;
        }
"""
PLANES = """
/* Planes of as many windows as elements, each as one row. What a row's ends would take from its neighbours is masked;
   the vectors at the end of a plane go on into the next, so that the last plane is not for this. */
static int
$NAME_planes(int64_t count, const $T *x, const $T *y, const $T *g, $T *out, int64_t h, int64_t w)
{
    enum { LANES = TG_POOL_LANES_$N };
    const int64_t size = h * w, around = ($K / 2 + 1) * (w + 1) + LANES, each = size + LANES + 2 * around;
    $T *const room = calloc((2 + $K) * each, sizeof *room), *const Y = room + around, *const G = Y + each;
    if (!room) return 1;
    $I *masks[$K];
    for (int64_t c = 0; c < $K; c++) {
        masks[c] = ($I *)(room + (c + 2) * each);
        for (int64_t i = 0; i < size; i++) masks[c][i] = -(i % w + $K / 2 >= c && i % w + $K / 2 - c < w);
    }
    tg_pool_numbers_$N tail;
    for (int64_t e = 0; e < LANES; e++) tail[e] = -(size % LANES == 0 || e < size % LANES);
    for (int64_t at = 0; at < count; at++, x += size, y += size, g += size, out += size) {
        for (int64_t i = 0; i < size; i += LANES) TG_POOL_AT_$N(Y + i) = TG_POOL_AT_$N(y + i);
        for (int64_t i = 0; i < size; i += LANES) TG_POOL_AT_$N(G + i) = TG_POOL_AT_$N(g + i);
        $T *const last = G + (size - 1) / LANES * LANES;
        TG_POOL_AT_$N(last) = TG_POOL_KEPT_$N(TG_POOL_AT_$N(last), tail);
        for (int64_t i = 0; i < size; i += LANES) {
            const tg_pool_lanes_$N v = TG_POOL_AT_$N(x + i);
            TG_POOL_AT_$N(out + i) = $ROW;
        }
    }
    free(room);
    return 0;
}
"""
SPREAD_PLANES = """
/* Planes of which all rows of windows, spread to the length of a row, fit the first cache: which of them are over a row
   of the image is known before the first plane. The vectors at the end of a plane go on into the next, so that the last
   plane is not for this. */
static int
$NAME_planes(int64_t count, const $T *x, const $T *y, const $T *g, $T *out, const int64_t *n, const int64_t *m,
             const int64_t *p, int64_t length)
{
    enum { LANES = TG_POOL_LANES_$N, AROUND = ($K - 1) / $S * $S, EACH = $EACH, TALL = ($K - 1) / $S + 1 };
    const int64_t h = n[1], w = n[2], oh = m[1], ow = m[2], each = EACH * length;
    $T *const room = calloc(oh * each, sizeof *room);
    const $T **const lines = malloc(h * TALL * sizeof *lines);
    int64_t *const over = calloc(h, sizeof *over);
    if (!room || !lines || !over) return free(room), free(lines), free(over), 1;
    for (int64_t r = 0; r < h; r++)
        for (int64_t b = 0; b < oh; b++)
            if (b * $S - p[1] <= r && r < b * $S - p[1] + $K)
                lines[r * TALL + over[r]++] = room + b * each + AROUND + p[2];
    tg_pool_numbers_$N tail, even;
    for (int64_t e = 0; e < LANES; e++) tail[e] = -(ow % LANES == 0 || e < ow % LANES), even[e] = -(e % 2 == 0);
    const tg_pool_numbers_$N low = TG_POOL_LOW_$N, high = TG_POOL_HIGH_$N;
    (void)even, (void)low, (void)high;
    for (int64_t at = 0; at < count; at++) {
        for (int64_t b = 0; b < oh; b++, y += ow, g += ow) {
            $T *const line = room + b * each;
            const $T *const ya = y, *const ga = g;
            $OWN
            $SPREAD
        }
        for (int64_t r = 0; r < h; r++, x += w, out += w) $NAME_row(out, x, lines + r * TALL, over[r], w, length);
    }
    free(room);
    free(lines);
    free(over);
    return 0;
}
"""
GATHERED_PLANES = """
#if $PICKS /* numbers of two vectors in any order, at once */
/* Small planes, each as one row: all windows of a plane are two vectors, from which each element picks those that it
   lies in, by places that are known before the first plane. The last planes are not for this. */
static int
$NAME_small(int64_t count, const $T *x, const $T *y, const $T *g, $T *out, const int64_t *n, const int64_t *m,
            const int64_t *p)
{
    enum { LANES = TG_POOL_LANES_$N, SIDE = ($K - 1) / $S + 1, SLOTS = SIDE * SIDE };
    const int64_t w = n[2], size = n[1] * w, windows = m[1] * m[2], vectors = (size + LANES - 1) / LANES;
    tg_pool_numbers_$N *const which = malloc(2 * vectors * SLOTS * sizeof *which);
    tg_pool_numbers_$N *const kept = which + vectors * SLOTS;
    if (!which) return 1;
    for (int64_t i = 0; i < vectors * SLOTS; i++)
        for (int64_t e = 0; e < LANES; e++) {
            const int64_t j = i / SLOTS * LANES + e, r = j / w + p[1], c = j % w + p[2];
            const int64_t b = r / $S - SIDE + 1 + i % SLOTS / SIDE, a = c / $S - i % SIDE;
            const int in = b >= 0 && b < m[1] && r < b * $S + $K && a >= 0 && a < m[2] && c < a * $S + $K;
            which[i][e] = in ? b * m[2] + a : 0, kept[i][e] = -in;
        }
    for (int64_t at = 0; at < count; at++, x += size, y += windows, g += windows, out += size) {
        const tg_pool_lanes_$N y0 = TG_POOL_AT_$N(y), y1 = TG_POOL_AT_$N(y + LANES);
        const tg_pool_lanes_$N g0 = TG_POOL_AT_$N(g), g1 = TG_POOL_AT_$N(g + LANES);
        for (int64_t i = 0; i < vectors; i++) {
            const tg_pool_lanes_$N v = TG_POOL_AT_$N(x + i * LANES);
            tg_pool_numbers_$N at;
            TG_POOL_AT_$N(out + i * LANES) = $SLOTS;
        }
    }
    free(which);
    return 0;
}
#endif
"""
TRY_GATHERED = """
#if $PICKS
    if (x_end > x && y_end > y && g_end > g && out_end > out && k[0] == 1 && n[0] == 1 && k[1] == $K && s[1] == $S
        && n[1] * w >= LANES && m[1] * ow <= 2 * LANES && count > 8 + 2 * LANES) {
        const int64_t done = count - 2 * LANES;
        if ($NAME_small(done, x, y, g, out, n, m, p)) return 1;
        x += done * n[1] * w, y += done * m[1] * ow, g += done * m[1] * ow, out += done * n[1] * w, count = 2 * LANES;
    }
#endif
"""
TRY_SPREAD = """
    if (x_end > x && y_end > y && g_end > g && out_end > out && count > 8 && k[0] == 1 && n[0] == 1
        && k[1] == $K && s[1] == $S && w >= LANES / 2 && EACH * length * m[1] <= $MOST) {
        const int64_t done = count - 1;
        if ($NAME_planes(done, x, y, g, out, n, m, p, length)) return 1;
        x += done * n[1] * w, y += done * m[1] * ow, g += done * m[1] * ow, out += done * n[1] * w, count = 1;
    }
"""
TRY = """
    if (x_end > x && y_end > y && g_end > g && out_end > out && count > 8 && k[0] == 1 && n[0] == 1
        && k[1] == $K && s[1] == 1 && m[1] == n[1] && ow == w && p[1] == $K / 2
        && n[1] * w >= LANES && n[1] * w <= $MOST) {
        const int64_t size = n[1] * w, done = count - 1;
        if ($NAME_planes(done, x, y, g, out, n[1], w)) return 1;
        x += done * size, y += done * size, g += done * size, out += done * size, count = 1;
    }
"""
GRADIENT = """
/* A row of the image from the rows of windows over it. */
static inline __attribute__((always_inline)) void
$NAME_row($T *to, const $T *from, const $T **lines, int64_t count, int64_t w, int64_t length)
{
    enum { LANES = TG_POOL_LANES_$N };
    switch (count) {
$CASES
    default:
        for (int64_t j = 0; j < w; j += LANES) {
            const tg_pool_lanes_$N v = TG_POOL_AT_$N(from + j); /*max*/
            tg_pool_lanes_$N sum = {0};
            for (int64_t t = 0; t < count; t++) {
                $ANY
            }
            TG_POOL_AT_$N(to + j) = sum;
        }
    }
}

$PLANES
/* What the windows of planes give back to their elements. `next` are the steps from plane to plane of all arrays. */
static int
$NAME(int64_t count, const int64_t *next, $ARRAYS, $STEPS,
      const int64_t *n, const int64_t *m, const int64_t *k, const int64_t *s, const int64_t *p)
{
    enum { LANES = TG_POOL_LANES_$N, AROUND = ($K - 1) / $S * $S, EACH = $EACH };
    const int64_t w = n[2], wide = (w + LANES - 1) / LANES * LANES;
    const int64_t ow = m[2], owide = (ow + LANES - 1) / LANES * LANES;
    const int64_t length = AROUND + p[2] + (owide * $S > wide ? owide * $S : wide) + LANES;
    if (count * n[0] * n[1] * w <= 0) return 0;
    /* Where arrays without gaps end: up to there a vector may go on behind a row. */
    const $T *const x_end = tg_pool_end_$N(x, n, xs, count, next[0]); /*max*/
    const $T *const y_end = tg_pool_end_$N(y, m, ys, count, next[1]); /*max*/
    const $T *const g_end = tg_pool_end_$N(g, m, gs, count, next[$G]);
    const $T *const out_end = tg_pool_end_$N(out, n, os, count, next[$G + 1]);
    $TRY
    const int64_t deep = (k[0] - 1) / s[0] + 1, tall = (k[1] - 1) / s[1] + 1, rows = n[0] == 1 ? tall : deep * m[1];
    int64_t ring = 1, each = EACH * length;
    while (ring < rows) ring *= 2;
    const $T **const lines = malloc(deep * tall * sizeof *lines);
    $T *const room = calloc(ring * each + 2 * (length + wide + owide), sizeof *room);
    $T *const spread = room + ring * each; (void)spread;
    $T *const apart = spread + 2 * length, *const sums = apart + wide, *const windows = sums + wide;
    if (!lines || !room) return free(lines), free(room), 1;
    tg_pool_numbers_$N tail, even;
    for (int64_t e = 0; e < LANES; e++) tail[e] = -(ow % LANES == 0 || e < ow % LANES), even[e] = -(e % 2 == 0);
    const tg_pool_numbers_$N low = TG_POOL_LOW_$N, high = TG_POOL_HIGH_$N;
    for (int64_t at = 0; at < count; at++) {
        int64_t made = 0, ma = 0, mb = 0;
        for (int64_t z = 0; z < n[0]; z++) {
            const int64_t a0 = z + p[0] < k[0] ? 0 : (z + p[0] - k[0]) / s[0] + 1, a1 = (z + p[0]) / s[0];
            int64_t b0 = 0, b1 = -1;
            for (int64_t r = 0; r < n[1]; r++) {
                int64_t over = 0;
                while (b1 + 1 < m[1] && (b1 + 1) * s[1] - p[1] <= r) b1++;
                while (b0 * s[1] - p[1] + k[1] <= r) b0++;
                for (int64_t a = a0; a <= a1 && a < m[0]; a++)
                    for (int64_t b = b0; b <= b1; b++) {
                        const int64_t i = a * m[1] + b;
                        lines[over++] = room + (i & (ring - 1)) * each + AROUND + p[2];
                        for (; made <= i; made++) {
                            $T *const line = room + (made & (ring - 1)) * each;
                            const $T *ga = g + ma * gs[0] + mb * gs[1];
                            const $T *ya = y + ma * ys[0] + mb * ys[1]; /*max*/
                            $OWN
                            if (gs[2] != 1 || ga + owide > g_end) {
                                tg_move_row(windows, 1, ga, gs[2], ow);
                                ga = windows;
                            }
                            if (ys[2] != 1 || ya + owide > y_end) { /*max*/
                                tg_move_row(windows + owide, 1, ya, ys[2], ow); /*max*/
                                ya = windows + owide; /*max*/
                            } /*max*/
                            $SPREAD
                            $SUMMED
                            if (++mb == m[1]) mb = 0, ma++;
                        }
                    }
                $T *const row = out + z * os[0] + r * os[1];
                $T *const to = os[2] == 1 && row + wide <= out_end ? row : sums;
                const $T *from = x + z * xs[0] + r * xs[1]; /*max*/
                if (xs[2] != 1 || from + wide > x_end) { /*max*/
                    tg_move_row(apart, 1, from, xs[2], w); /*max*/
                    from = apart; /*max*/
                } /*max*/
                $NAME_row(to, $FROM, lines, over, w, length);
                if (to != row) tg_move_row(row, os[2], to, 1, w);
            }
        }
        x += next[0], y += next[1]; /*max*/
        g += next[$G], out += next[$G + 1];
    }
    free(lines);
    free(room);
    return 0;
}
"""
