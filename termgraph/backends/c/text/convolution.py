"""C text of convolutions and of their filters' gradients: products of panels that are packed from the image.

Images get zeros around them and their columns sorted by their place modulo the stride, once: every tap then reads along
memory. A panel holds some taps of as many places as a tile is wide, counted through all images; it is used for all
filters before the next one is packed, so the windows of an image never lie in memory as a whole. Filters are packed in
chunks of taps that fill half of a second-level cache. Gradients of filters need no panels: taps are single numbers,
read where they lie, and what they are multiplied with is the cotangent, places by filters. Pure text.
"""

from __future__ import annotations

import re
from typing import Any

from termgraph.backends.c.text.dialect import CTYPE, SHORT

TILES = (("#ifdef __AVX512F__", 64, 8), ("#elif defined(__AVX__)", 32, 4), ("#else", 16, 4))  # bytes of a vector, rows
WIDTH = 3  # vectors of a tile


def call(x: Any) -> str:
    """The call of a routine's statement."""
    n, p = x.n, x.p
    params, forward = n.term.op.params, n.spec.text == "conv_panels"
    spatial = len(params["stride"])
    (first, second), (out,) = [a for a in n.reads if a.core], n.results

    def steps(a: Any) -> str:
        texts = [p.poly(step) for step in a.core]
        return f"(const int64_t[5]){{{', '.join([*texts[:2], *['0'] * (3 - spatial), *texts[2:]])}}}"

    def three(texts: list[str], missing: str) -> str:
        return ", ".join([*[missing] * (3 - spatial), *texts])

    sizes = {k: x.size(k) for k in n.sizes}
    image, taps, places = (three([sizes[f"{k}{d}"] for d in range(spatial)], "1") for k in ("n", "k", "o"))
    before = [str(a) for a, _ in params["border"]]
    shape = (
        f"{sizes['batch']}, {sizes['channels']}, {sizes['filters']}, {params['groups']}, {{{image}}}, {{{taps}}}, "
        f"{{{places}}}, {{{three([str(s) for s in params['stride']], '1')}}}, {{{three(before, '0')}}}, "
        f"{{{three([str(e) for e in params['dilation']], '1')}}}"
    )
    name = f"tg_conv_{'forward' if forward else 'taps'}_{SHORT[out.buf.dtype]}"
    given = [x.pointer(first), steps(first), x.pointer(second), steps(second), x.pointer(out)]
    return f"{name}((tg_conv_shape){{{shape}}}, {', '.join(given)})"


def functions(source: str) -> str:
    """The functions of this kind that a source calls."""
    found = sorted(set(re.findall(r"\btg_conv_(forward|taps)_(f32|f64)\(", source)))
    types = sorted({short for _, short in found})
    parts = [SHAPE.strip()] if found else []
    for short in types:
        kinds = [kind for kind, s in found if s == short]
        text = "\n".join([_tiles(short, kinds), PADDED.strip(), *[TEXTS[kind].strip() for kind in kinds]])
        parts.append(
            text.replace("$T", CTYPE[{"f32": "float32", "f64": "float64"}[short]])
            .replace("$N", short)
            .replace("$I", "int32_t" if short == "f32" else "int64_t")
        )
    return "\n".join(parts)


# ---------------------------------------------------------------------- tiles
def _tiles(short: str, kinds: list[str]) -> str:
    """The tiles for each kind of processor."""
    size, out = {"f32": 4, "f64": 8}[short], []
    for test, width, rows in TILES:
        out.append(test)
        out.append(f"#define TG_CONV_ROWS_$N {rows}\n#define TG_CONV_LANES_$N {width // size}")
        out.append(f"typedef $T tg_lanes_$N __attribute__((vector_size({width}), aligned({size}), may_alias));")
        for kind in kinds:
            make = _tile if kind == "forward" else _tap_tile
            out += [make(rows, w) for w in range(1, WIDTH + 1)]
            names = ", ".join(f"tg_conv_{kind}_$N_{w}" for w in range(1, WIDTH + 1))
            if kind == "taps":
                out.append(_transposed(width // size))
            out.append(f"static tg_conv_{kind}_tile_$N *const tg_conv_{kind}s_$N[] = {{{names}}};")
    return "\n".join([TYPES.strip(), *out, "#endif", WIDE.strip()])


def _names(rows: int, w: int) -> list[tuple[int, int]]:
    return [(r, v) for r in range(rows) for v in range(w)]


def _loads(w: int) -> str:
    lanes = "TG_CONV_LANES_$N"
    return "const tg_lanes_$N " + ", ".join(f"b{v} = *(const tg_lanes_$N *)(b + {lanes} * {v})" for v in range(w)) + ";"


def _at(r: int, v: int) -> str:
    return f"*(tg_lanes_$N *)(c + {r} * ldc + TG_CONV_LANES_$N * {v})"


def _tile(rows: int, w: int) -> str:
    """c[rows][w vectors] (+)= a[k][rows] * b[k][w vectors]"""
    sums = _names(rows, w)
    steps = [" ".join(f"c{r}_{v} += a[{r}] * b{v};" for v in range(w)) for r in range(rows)]
    lines = [
        f"static TG_CONV void tg_conv_forward_$N_{w}(int64_t k, const $T *a, const $T *b, $T *c, int64_t ldc, int add)",
        "{",
        "    tg_lanes_$N " + ", ".join(f"c{r}_{v} = {{0}}" for r, v in sums) + ";",
        "    " + " ".join(f"__builtin_prefetch(&{_at(r, v)});" for r, v in sums),
        f"    for (int64_t i = 0; i < k; i++, a += {rows}, b += {w} * TG_CONV_LANES_$N) {{",
        f"        {_loads(w)}",
        *[f"        {step}" for step in steps],
        "    }",
        "    if (add) {",
        *[f"        c{r}_{v} += {_at(r, v)};" for r, v in sums],
        "    }",
        *[f"    {_at(r, v)} = c{r}_{v};" for r, v in sums],
        "}",
    ]
    return "\n".join(lines)


def _tap_tile(rows: int, w: int) -> str:
    """c[taps][w vectors] += x[tap][row, place] * b[place][w vectors]; nothing of the image is packed."""
    sums = _names(rows, w)
    steps = [" ".join(f"c{r}_{v} += x{r}[i] * b{v};" for v in range(w)) for r in range(rows)]
    lines = [
        f"static TG_CONV void tg_conv_taps_$N_{w}(int64_t rows, int64_t n, const $T *x, const int64_t *off, "
        "int64_t step, const $T *b, $T *c, int64_t ldc)",
        "{",
        "    tg_lanes_$N " + ", ".join(f"c{r}_{v} = {_at(r, v)}" for r, v in sums) + ";",
        "    const $T " + ", ".join(f"*x{r} = x + off[{r}]" for r in range(rows)) + ";",
        "    for (int64_t y = 0; y < rows; y++) {",
        f"        for (int64_t i = 0; i < n; i++, b += {w} * TG_CONV_LANES_$N) {{",
        f"            {_loads(w)}",
        *[f"            {step}" for step in steps],
        "        }",
        "        " + " ".join(f"x{r} += step;" for r in range(rows)),
        "    }",
        *[f"    {_at(r, v)} = c{r}_{v};" for r, v in sums],
        "}",
    ]
    return "\n".join(lines)


def _transposed(lanes: int) -> str:
    """Rows of a square of numbers as columns: halves of vectors change places, then quarters, and so on."""
    names, steps, half = [f"x{i}" for i in range(lanes)], [], 1
    while half < lanes:
        low = ", ".join(str(j if j // half % 2 == 0 else lanes + j - half) for j in range(lanes))
        high = ", ".join(str(j + half if j // half % 2 == 0 else lanes + j) for j in range(lanes))
        for i in [i for i in range(lanes) if i // half % 2 == 0]:
            a, b = names[i], names[i + half]
            steps.append(f"t = __builtin_shuffle({a}, {b}, (places){{{low}}});")
            steps.append(f"{b} = __builtin_shuffle({a}, {b}, (places){{{high}}}); {a} = t;")
        half *= 2
    loads = ", ".join(f"{x} = *(const tg_lanes_$N *)(from + {i} * step)" for i, x in enumerate(names))
    vectors = [
        f"    typedef $I places __attribute__((vector_size(sizeof(tg_lanes_$N))));\n    tg_lanes_$N {loads}, t;",
        *[f"    {step}" for step in steps],
        *[f"    *(tg_lanes_$N *)(to + {i} * ld) = {x};" for i, x in enumerate(names)],
    ]
    plain = (
        f"    for (int i = 0; i < {lanes}; i++) for (int j = 0; j < {lanes}; j++) to[i * ld + j] = from[j * step + i];"
    )
    head = "static inline void tg_conv_transposed_$N(const $T *from, int64_t step, $T *to, int64_t ld)\n{"
    gcc = "#if defined(__GNUC__) && !defined(__clang__)"
    return "\n".join([head, gcc, *vectors, "#else", plain, "#endif", "}"])


SHAPE = """
/* Lengths of a convolution: channels and filters of all groups; three spatial dimensions, of which some may be 1. */
typedef struct {
    int64_t n, c, f, groups, in[3], k[3], out[3], s[3], before[3], e[3];
} tg_conv_shape;
#if defined(__GNUC__) && !defined(__clang__) /* a multiply-add is one instruction from here on */
#define TG_CONV __attribute__((noinline, optimize("O2", "tree-vectorize")))
#else
#define TG_CONV __attribute__((noinline))
#endif
"""
TYPES = """
typedef void tg_conv_forward_tile_$N(int64_t, const $T *, const $T *, $T *, int64_t, int);
typedef void tg_conv_taps_tile_$N(int64_t, int64_t, const $T *, const int64_t *, int64_t, const $T *, $T *, int64_t);
"""
WIDE = """
/* Vectors of the next panel: three, or two twice where one would be left. */
static inline int64_t tg_conv_wide_$N(int64_t left)
{
    const int64_t v = (left + TG_CONV_LANES_$N - 1) / TG_CONV_LANES_$N;
    return v == 4 ? 2 : v > 3 ? 3 : v;
}
"""
PADDED = """
/* A convolution that is being computed. Images are rows of `pw` columns of one phase, `ph` rows, `s[2]` phases. */
typedef struct {
    tg_conv_shape q;
    const $T *x, *w, *g;
    const int64_t *xs, *ws, *gs;
    $T *room, *y, *packed;
    const $T *images;
    int64_t *off;
    int64_t pd, ph, pw, plane, places, taps, chunk, rows, block, group;
    int failed;
} tg_conv_$N;

/* Zeros around planes, and their columns sorted by their place modulo the stride. */
static TG_CONV void tg_conv_pad_$N(void *context, int64_t begin, int64_t end, int64_t part)
{
    tg_conv_$N *const z = context;
    const tg_conv_shape *const q = &z->q;
    const int64_t s = q->s[2];
    for (int64_t m = begin; m < end; m++)
        for (int64_t d = 0; d < z->pd; d++)
            for (int64_t e = 0; e < s; e++)
                for (int64_t r = 0; r < z->ph; r++) {
                    $T *const row = z->room + m * z->plane + ((d * s + e) * z->ph + r) * z->pw;
                    const int64_t id = d - q->before[0], ir = r - q->before[1], shift = e - q->before[2];
                    int64_t first = shift >= 0 ? 0 : (-shift + s - 1) / s, last = (q->in[2] - shift + s - 1) / s;
                    if (id < 0 || id >= q->in[0] || ir < 0 || ir >= q->in[1] || last <= first) first = last = 0;
                    if (last > z->pw) last = z->pw;
                    if (first > z->pw) first = last = z->pw;
                    const $T *from = z->x + m / q->c * z->xs[0] + m % q->c * z->xs[1] + id * z->xs[2] + ir * z->xs[3];
                    for (int64_t j = 0; j < first; j++) row[j] = 0;
                    if (s == 1 && z->xs[4] == 1) {
                        const int64_t size = (last - first) * sizeof *row;
                        if (size > 0) __builtin_memcpy(row + first, from + first + shift, size);
                    } else
                        for (int64_t j = first; j < last; j++) row[j] = from[(j * s + shift) * z->xs[4]];
                    for (int64_t j = last; j < z->pw; j++) row[j] = 0;
                }
}

/* How the images lie, where each tap of a group is in them, and the images with zeros around. Nonzero: no memory. */
static int tg_conv_begin_$N(tg_conv_$N *z)
{
    const tg_conv_shape *const q = &z->q;
    const int64_t s = q->s[2], c = q->c / q->groups;
    z->pd = (q->out[0] - 1) * q->s[0] + (q->k[0] - 1) * q->e[0] + 1;
    z->ph = (q->out[1] - 1) * q->s[1] + (q->k[1] - 1) * q->e[1] + 1;
    z->pw = q->out[2] + (q->k[2] - 1) * q->e[2] / s;
    z->plane = z->pd * s * z->ph * z->pw;
    z->places = q->out[0] * q->out[1] * q->out[2];
    z->taps = c * q->k[0] * q->k[1] * q->k[2];
    z->off = malloc((z->taps + 8) * sizeof *z->off);
    int64_t dense = 1, lies = s == 1 && z->pd == q->in[0] && z->ph == q->in[1] && z->pw == q->in[2];
    for (int d = 4; d >= 0; d--) {
        const int64_t length = d == 0 ? q->n : d == 1 ? q->c : q->in[d - 2];
        lies &= length == 1 || z->xs[d] == dense;
        dense *= length;
    }
    lies &= !q->before[0] && !q->before[1] && !q->before[2] && z->places % TG_CONV_LANES_$N == 0;
    if (!z->off) return 1;
    for (int64_t i = 0; i < z->taps + 8; i++) {
        const int64_t t = i < z->taps ? i : z->taps - 1, k2 = q->k[2], k1 = q->k[1], k0 = q->k[0];
        const int64_t u = t % k2 * q->e[2], v = t / k2 % k1 * q->e[1], d = t / k2 / k1 % k0 * q->e[0];
        z->off[i] = t / k2 / k1 / k0 * z->plane + ((d * s + u % s) * z->ph + v) * z->pw + u / s;
    }
    z->images = z->x;
    if (lies) return 0;
    z->room = malloc((q->n * q->c * z->plane + 4 * TG_CONV_LANES_$N) * sizeof *z->room);
    if (!z->room) return 1;
    z->images = z->room;
    for (int u = 0; u < 4 * TG_CONV_LANES_$N; u++) z->room[q->n * q->c * z->plane + u] = 0;
    tg_rt->parallel_for(tg_conv_pad_$N, z, q->n * q->c, 50000 / (z->plane + 1) + 1);
    return 0;
}

/* Where a place of the result is read from, and how many places after it lie along memory. */
static inline int64_t tg_conv_place_$N(const tg_conv_$N *z, int64_t o, int64_t *run)
{
    const tg_conv_shape *const q = &z->q;
    const int64_t column = o % q->out[2], row = o / q->out[2] % q->out[1], depth = o / q->out[2] / q->out[1];
    *run = z->plane == z->places ? z->places - o : q->out[2] - column;
    return (depth * q->s[0] * q->s[2] * z->ph + row * q->s[1]) * z->pw + column;
}
"""
FORWARD = """
/* Some places: runs of them that lie along memory begin `at` a column, are read `from` there, and have a length. */
typedef struct {
    int64_t begin, width, count, parts;
    int64_t at[3 * TG_CONV_LANES_$N], from[3 * TG_CONV_LANES_$N], length[3 * TG_CONV_LANES_$N];
} tg_panel_$N;

/* The filters of a group in panels of rows: [chunk of taps][filters / rows][tap][rows]. */
static TG_CONV void tg_conv_filters_$N(const tg_conv_$N *z, const $T *w, int64_t f, int64_t c)
{
    enum { ROWS = TG_CONV_ROWS_$N };
    const tg_conv_shape *const q = &z->q;
    const int64_t *const ws = z->ws, k2 = q->k[2], k1 = q->k[1], k0 = q->k[0];
    $T *to = z->packed;
    int64_t *const at = malloc((z->taps + 1) * sizeof *at); /* distances of taps */
    for (int64_t t = 0; at && t < z->taps; t++)
        at[t] = t / k2 / k1 / k0 * ws[1] + t / k2 / k1 % k0 * ws[2] + t / k2 % k1 * ws[3] + t % k2 * ws[4];
    for (int64_t b = 0; at && b < z->taps; b += z->chunk) {
        const int64_t n = z->taps - b < z->chunk ? z->taps - b : z->chunk;
        const int64_t span = ws[0] < ws[1] ? 32 : n; /* taps for which all filters are packed: reading along memory */
        for (int64_t from = 0; from < n; from += span)
            for (int64_t r = 0; r < f; r += ROWS) {
                const int64_t rows = f - r < ROWS ? f - r : ROWS, end = from + span < n ? from + span : n;
                const $T *const first = w + r * ws[0];
                $T *const here = to + r * n;
                if (rows == ROWS)
                    for (int64_t i = from; i < end; i++)
                        for (int64_t u = 0; u < ROWS; u++) here[i * ROWS + u] = first[u * ws[0] + at[b + i]];
                else
                    for (int64_t i = from * ROWS; i < end * ROWS; i++) here[i] = 0;
                for (int64_t u = 0; u < rows && rows < ROWS; u++)
                    for (int64_t i = from; i < end; i++) here[i * ROWS + u] = first[u * ws[0] + at[b + i]];
            }
        to += (f + ROWS - 1) / ROWS * ROWS * n;
    }
    free(at);
}

/* Some blocks of places, for all filters of a group. */
static TG_CONV void tg_conv_blocks_$N(void *context, int64_t begin, int64_t end, int64_t part)
{
    enum { ROWS = TG_CONV_ROWS_$N, LANES = TG_CONV_LANES_$N, WIDE = 3 * LANES };
    tg_conv_$N *const z = context;
    const tg_conv_shape *const q = &z->q;
    const int64_t f = q->f / q->groups, fr = (f + ROWS - 1) / ROWS * ROWS;
    const int64_t all = q->n * z->places, image = q->c * z->plane;
    const int64_t per_panel = z->chunk * WIDE + LANES;
    const $T *const xp = z->images + z->group * (q->c / q->groups) * z->plane;
    tg_panel_$N *const panels = malloc(z->block * sizeof *panels);
    $T *const b = malloc((z->block * per_panel + ROWS * WIDE + 2 * LANES) * sizeof *b);
    $T *const t = b + z->block * per_panel + LANES; /* the sums of a tile that does not lie in the result as it is */
    if (!panels || !b) z->failed = 1;
    else
    for (int64_t p0 = 0; p0 < z->taps; p0 += z->chunk) {
        const int64_t n = z->taps - p0 < z->chunk ? z->taps - p0 : z->chunk;
        for (int64_t block = begin; block < end; block++) {
            int64_t j0 = block * z->block * WIDE, count = 0;
            for (; count < z->block && j0 < all; count++) {
                tg_panel_$N *const a = panels + count;
                a->begin = j0, a->width = tg_conv_wide_$N(all - j0) * LANES, a->parts = 0;
                if (count + 1 == z->block && a->width < WIDE && all - j0 > a->width) a->width = WIDE;
                a->count = all - j0 < a->width ? all - j0 : a->width;
                for (int64_t i = 0, run; i < a->count; i += run) {
                    a->at[a->parts] = i;
                    a->from[a->parts] = (j0 + i) / z->places * image + tg_conv_place_$N(z, (j0 + i) % z->places, &run);
                    if (run > a->count - i) run = a->count - i;
                    a->length[a->parts++] = run;
                }
                j0 += a->width;
            }
            for (int64_t i = 0; i < n; i++) {
                const $T *const source = xp + z->off[p0 + i];
                for (int64_t e = 0; e < count; e++) {
                    const tg_panel_$N *const a = panels + e;
                    $T *const row = b + e * per_panel + i * a->width;
                    for (int64_t u = 0; u < a->parts; u++)
                        for (int64_t d = 0; d < a->length[u]; d += LANES) /* the next run writes over the rest */
                            *(tg_lanes_$N *)(row + a->at[u] + d) = *(const tg_lanes_$N *)(source + a->from[u] + d);
                }
            }
            for (int64_t e = 0; e < count; e++) {
                const tg_panel_$N *const a = panels + e;
                const int64_t m = a->begin / z->places, o = a->begin % z->places, width = a->width;
                tg_conv_forward_tile_$N *const tile = tg_conv_forwards_$N[width / LANES - 1];
                const int inside = a->count == width && o + width <= z->places;
                for (int64_t r = 0; r < f; r += ROWS) {
                    const $T *const filters = z->packed + p0 * fr + r * n;
                    $T *const to = z->y + (m * q->f + z->group * f + r) * z->places + o;
                    if (inside && r + ROWS <= f) {
                        tile(n, filters, b + e * per_panel, to, z->places, p0 > 0);
                        continue;
                    }
                    tile(n, filters, b + e * per_panel, t, width, 0);
                    for (int64_t u = 0; u < ROWS && r + u < f; u++)
                        for (int64_t i = 0, im = m, at = o, run; i < a->count; i += run, im++, at = 0) {
                            $T *restrict one = z->y + (im * q->f + z->group * f + r + u) * z->places + at;
                            const $T *restrict sums = t + u * width + i;
                            run = z->places - at < a->count - i ? z->places - at : a->count - i;
                            if (p0) for (int64_t d = 0; d < run; d++) one[d] += sums[d];
                            else for (int64_t d = 0; d < run; d++) one[d] = sums[d];
                        }
                }
            }
        }
    }
    free(panels), free(b);
}

/* Some planes of the result where each filter reads one channel: rows of it, moved and multiplied by the taps. */
static TG_CONV void tg_conv_channels_$N(void *context, int64_t begin, int64_t end, int64_t part)
{
    enum { LANES = TG_CONV_LANES_$N };
    tg_conv_$N *const z = context;
    const tg_conv_shape *const q = &z->q;
    for (int64_t i = begin; i < end; i++) {
        const int64_t filter = i % q->f;
        const $T *const source = z->images + (i / q->f * q->c + filter / (q->f / q->groups)) * z->plane;
        const $T *const w = z->packed + filter * z->taps;
        for (int64_t o = 0, run; o < z->places; o += run) {
            const $T *const from = source + tg_conv_place_$N(z, o, &run);
            $T *const to = z->y + i * z->places + o;
            for (int64_t j = 0; j < run; j += LANES) {
                tg_lanes_$N sum = {0};
                for (int64_t t = 0; t < z->taps; t++) sum += w[t] * *(const tg_lanes_$N *)(from + z->off[t] + j);
                if (j + LANES <= run) *(tg_lanes_$N *)(to + j) = sum;
                else __builtin_memcpy(to + j, &sum, (run - j) * sizeof *to);
            }
        }
    }
}

/* The convolution. Nonzero: no memory. */
static TG_CONV int
tg_conv_forward_$N(tg_conv_shape shape, const $T *x, const int64_t *xs, const $T *w, const int64_t *ws, $T *y)
{
    enum { ROWS = TG_CONV_ROWS_$N, WIDE = 3 * TG_CONV_LANES_$N };
    tg_conv_$N here = {shape, x, w, .xs = xs, .ws = ws, .y = y}, *const z = &here;
    const int64_t f = shape.f / shape.groups, c = shape.c / shape.groups, fr = (f + ROWS - 1) / ROWS * ROWS;
    const int64_t size = shape.n * shape.f * shape.out[0] * shape.out[1] * shape.out[2];
    if (size == 0) return 0;
    if (c == 0) return __builtin_memset(y, 0, size * sizeof *y), 0;
    int failed = tg_conv_begin_$N(z);
    int64_t most = 524288 / (int64_t)sizeof(*y) / f; /* half of a second-level cache */
    most = most > 1536 / (int64_t)sizeof(*y) ? 1536 / (int64_t)sizeof(*y) : most < 96 ? 96 : most;
    const int64_t parts = (z->taps + most - 1) / most;
    z->chunk = (z->taps + parts - 1) / parts;
    z->block = 300000 / (int64_t)sizeof(*y) / (z->chunk * WIDE);
    z->block = z->block < 1 ? 1 : z->block > 32 ? 32 : z->block;
    z->packed = failed ? 0 : malloc((fr > shape.f ? fr : shape.f) * z->taps * sizeof *y + 64);
    failed |= !z->packed;
    const int64_t blocks = (shape.n * z->places + z->block * WIDE - 1) / (z->block * WIDE);
    const int64_t work = z->block * WIDE * z->taps * f / 16 + 1; /* of one block */
    if (c == 1 && shape.groups > 1 && !failed) {
        for (int64_t i = 0; i < shape.f * z->taps; i++) {
            const int64_t t = i % z->taps, *const k = shape.k;
            const int64_t at = t / k[2] / k[1] * ws[2] + t / k[2] % k[1] * ws[3] + t % k[2] * ws[4];
            z->packed[i] = w[i / z->taps * ws[0] + at];
        }
        tg_rt->parallel_for(tg_conv_channels_$N, z, shape.n * shape.f, 150000 / (z->places * z->taps / 8 + 1) + 1);
    } else
    for (z->group = 0; z->group < shape.groups && !failed; z->group++) {
        tg_conv_filters_$N(z, w + z->group * f * ws[0], f, c);
        const int64_t grain = 150000 / work + 1;
        tg_rt->parallel_for(tg_conv_blocks_$N, z, blocks, grain > (blocks + 7) / 8 ? grain : (blocks + 7) / 8);
        failed |= z->failed;
    }
    free(z->packed), free(z->room), free(z->off);
    return failed;
}
"""
TAPS = """
/* The cotangents of some images, places by filters, in panels of as many filters as a tile is wide. */
static TG_CONV void tg_conv_turn_$N(void *context, int64_t begin, int64_t end, int64_t part)
{
    enum { LANES = TG_CONV_LANES_$N };
    tg_conv_$N *const z = context;
    const tg_conv_shape *const q = &z->q;
    const int64_t f = q->f / q->groups, *const gs = z->gs, o1 = q->out[1], o2 = q->out[2];
    const int dense = gs[4] == 1 && (o1 == 1 || gs[3] == o2) && (q->out[0] == 1 || gs[2] == o1 * o2);
    for (int64_t m = begin; m < end; m++)
        for (int64_t j = 0, width; j < f; j += width) {
            width = tg_conv_wide_$N(f - j) * LANES;
            $T *const to = z->packed + m * z->places * z->rows + j * z->places;
            const $T *const from = z->g + m * gs[0] + (z->group * f + j) * gs[1];
            for (int64_t u = 0; u < width; u += LANES) {
                const int64_t filters = f - j - u < LANES ? f - j - u : LANES;
                for (int64_t o = 0, run; o < z->places; o += run) { /* what lies along memory: all places, or a row */
                    const $T *const source = from + u * gs[1] + o / o2 / o1 * gs[2] + o / o2 % o1 * gs[3];
                    int64_t i = 0;
                    run = dense ? z->places : o2;
                    if (filters == LANES && gs[4] == 1)
                        for (; i + LANES <= run; i += LANES)
                            tg_conv_transposed_$N(source + i, gs[1], to + (o + i) * width + u, width);
                    for (; i < run; i++)
                        for (int64_t v = 0; v < LANES; v++)
                            to[(o + i) * width + u + v] = v < filters ? source[v * gs[1] + i * gs[4]] : 0;
                }
            }
        }
}

/* Some tiles of taps, for all filters of a group: their sums stay in registers over blocks of rows. */
static TG_CONV void tg_conv_tap_rows_$N(void *context, int64_t begin, int64_t end, int64_t part)
{
    enum { ROWS = TG_CONV_ROWS_$N, LANES = TG_CONV_LANES_$N };
    tg_conv_$N *const z = context;
    const tg_conv_shape *const q = &z->q;
    const int64_t f = q->f / q->groups, image = q->c * z->plane, step = q->s[1] * z->pw;
    const $T *const xp = z->images + z->group * (q->c / q->groups) * z->plane;
    $T *const sums = malloc((end - begin) * ROWS * 3 * LANES * sizeof *sums);
    if (!sums) { z->failed = 1; return; }
    for (int64_t j = 0, width; j < f; j += width) {
        width = tg_conv_wide_$N(f - j) * LANES;
        int64_t block = (192 << 10) / (int64_t)sizeof(*sums) / (width * q->out[2]); /* rows that stay in the cache */
        if (block < 1) block = 1;
        __builtin_memset(sums, 0, (end - begin) * ROWS * width * sizeof *sums);
        for (int64_t m = 0; m < q->n; m++)
            for (int64_t d = 0; d < q->out[0]; d++)
                for (int64_t y = 0; y < q->out[1]; y += block) {
                    const int64_t count = q->out[1] - y < block ? q->out[1] - y : block;
                    const $T *const at = xp + m * image + d * q->s[0] * q->s[2] * z->ph * z->pw + y * step;
                    const $T *const panel = z->packed + m * z->places * z->rows + j * z->places;
                    const $T *const turned = panel + (d * q->out[1] + y) * q->out[2] * width;
                    for (int64_t r = begin; r < end; r++)
                        tg_conv_tapss_$N[width / LANES - 1](count, q->out[2], at, z->off + r * ROWS, step, turned,
                                                            sums + (r - begin) * ROWS * width, width);
                }
        for (int64_t u = 0; u < width && j + u < f; u++)
            for (int64_t i = begin * ROWS; i < end * ROWS && i < z->taps; i++)
                z->y[(z->group * f + j + u) * z->taps + i] = sums[(i - begin * ROWS) * width + u];
    }
    free(sums);
}

/* The gradient of the filters. Nonzero: no memory. */
static TG_CONV int
tg_conv_taps_$N(tg_conv_shape shape, const $T *x, const int64_t *xs, const $T *g, const int64_t *gs, $T *y)
{
    enum { ROWS = TG_CONV_ROWS_$N, LANES = TG_CONV_LANES_$N };
    tg_conv_$N here = {shape, x, .g = g, .xs = xs, .gs = gs, .y = y}, *const z = &here;
    const int64_t f = shape.f / shape.groups, c = shape.c / shape.groups;
    const int64_t size = shape.f * c * shape.k[0] * shape.k[1] * shape.k[2];
    if (size == 0) return 0;
    if (shape.n * shape.out[0] * shape.out[1] * shape.out[2] == 0) return __builtin_memset(y, 0, size * sizeof *y), 0;
    int failed = tg_conv_begin_$N(z);
    for (int64_t j = 0; j < f; j += tg_conv_wide_$N(f - j) * LANES) z->rows = j + tg_conv_wide_$N(f - j) * LANES;
    z->packed = failed ? 0 : malloc((shape.n * z->places * z->rows + LANES) * sizeof *y);
    failed |= !z->packed;
    const int64_t tiles = (z->taps + ROWS - 1) / ROWS, work = shape.n * z->places * f * ROWS / 16 + 1; /* of one tile */
    for (z->group = 0; z->group < shape.groups && !failed; z->group++) {
        tg_rt->parallel_for(tg_conv_turn_$N, z, shape.n, 150000 / (z->places * f + 1) + 1);
        const int64_t grain = 150000 / work + 1;
        tg_rt->parallel_for(tg_conv_tap_rows_$N, z, tiles, grain > (tiles + 7) / 8 ? grain : (tiles + 7) / 8);
        failed |= z->failed;
    }
    free(z->packed), free(z->room), free(z->off);
    return failed;
}
"""
TEXTS = {"forward": FORWARD, "taps": TAPS}
__all__ = ["call", "functions"]
