"""C text of convolutions with filters of 3x3 and 5x5 by Winograd's algorithm: 16, 49 products for 4 places.

Filters and windows of one element more are brought to points, where a convolution is a product of (filters, channels)
by (channels, windows); a window gives 2x2 places. Five taps are three and two: both are brought to the points of
F(2, 3), the two to three of these, so that their products add up before anything is brought back, as if there were more
channels. Some windows at a time are brought there, multiplied and brought back, so that what lies between stays in
the cache, for as many filters as stay in a larger one. Transforms only add, subtract and halve. Pure text.
"""

from __future__ import annotations

from termgraph.backends.c.text.dialect import filled

POINTS = 4  # along a dimension
_TO_PLACES = ("{0} + {1} + {2}", "{1} - {2} - {3}")
# Along a dimension: a point, what is read there of a window, and of the filter.
_THREE = (
    (0, "{0} - {2}", "{0}"),
    (1, "{1} + {2}", "({0} + {1} + {2}) * half"),
    (2, "{2} - {1}", "({0} - {1} + {2}) * half"),
    (3, "{1} - {3}", "{2}"),
)
_TWO_MORE = ((0, "{3} - {4}", "{3}"), (1, "{4}", "{3} + {4}"), (3, "{4} - {5}", "{4}"))
CHANNELS = {3: 512, 5: 32}  # at a time where all sums are kept: windows at their points stay in a second-level cache
SLOTS = {3: _THREE, 5: (*_THREE, *_TWO_MORE)}  # by the length of the filter


def slots(k: int) -> list[list[tuple[int, int]]]:
    """For each point those pairs of transforms, of rows and of columns, whose products add up there."""
    at: list[list[tuple[int, int]]] = [[] for _ in range(POINTS * POINTS)]
    for a, row in enumerate(SLOTS[k]):
        for b, column in enumerate(SLOTS[k]):
            at[POINTS * row[0] + column[0]].append((a, b))
    return at


def _both(forms: list[str], given: str, n: int) -> list[str]:
    """Statements that apply a transform along rows and then along columns; the results are p0_0, p0_1, ..."""
    lines = []
    for u in range(n):
        column = [f"{given}{v}_{u}" for v in range(n)]
        lines.append(
            "const TYPE " + ", ".join(f"s{a}_{u} = {text.format(*column)}" for a, text in enumerate(forms)) + ";"
        )
    for a in range(len(forms)):
        row = [f"s{a}_{u}" for u in range(n)]
        lines.append("const TYPE " + ", ".join(f"p{a}_{b} = {text.format(*row)}" for b, text in enumerate(forms)) + ";")
    return lines


def _lines(depth: int, lines: list[str], kind: str) -> str:
    return ("\n" + " " * depth).join(lines).replace("TYPE", kind)


def text(k: int) -> str:
    """The functions for filters of k x k, of numbers $T with the short name $N."""
    points, n = slots(k), k + 1
    load_filter = [f"const TYPE g{v}_{u} = *(const TYPE *)g[{k * v + u}];" for v in range(k) for u in range(k)]
    load_image = [
        f"const TYPE d{v}_{u} = *(const TYPE *)(from + off[{n * v + u}]);" for v in range(n) for u in range(n)
    ]
    load_points = [f"const TYPE m{p // 4}_{p % 4} = *(const TYPE *)(sums + {p} * apart);" for p in range(len(points))]
    pairs = [(p, s, a, b) for p, listed in enumerate(points) for s, (a, b) in enumerate(listed)]
    store_filter = [f"*(TYPE *)(at[{p}] + {s} * part + i * ROWS) = p{a}_{b};" for p, s, a, b in pairs]
    store_image = [f"*(TYPE *)(to + {i} * step + {p} * gap) = p{a}_{b};" for i, (p, _, a, b) in enumerate(pairs)]
    image, filters = [slot[1] for slot in SLOTS[k]], [slot[2] for slot in SLOTS[k]]
    counts = [len(listed) for listed in points]
    pieces = {
        "$FILTERS": _lines(16, [*load_filter, *_both(filters, "g", k), *store_filter], "tg_rows_$N"),
        "$IMAGE": _lines(20, [*load_image, *_both(image, "d", n), *store_image], "tg_lanes_$N"),
        "$PLACES": _lines(16, [*load_points, *_both(list(_TO_PLACES), "m", POINTS)], "tg_lanes_$N"),
        "$COUNTS": ", ".join(map(str, counts)),
        "$BEFORE": ", ".join(str(sum(counts[:p])) for p in range(len(counts))),
        "$ALL": str(len(pairs)),
        "$CHANNELS": str(CHANNELS[k]),
        "$TAPS": str(k * k),
        "$WINDOW": str(n * n),
        "$SIDE": str(n),
        "$K": str(k),
    }
    return filled(WINOGRAD, pieces)


SHARED = """
typedef $T tg_rows_$N __attribute__((vector_size(TG_CONV_ROWS_$N * sizeof($T)), aligned(sizeof($T)), may_alias));

/* Two rows of numbers as one: a0 b0 a1 b1 ... */
static inline void tg_conv_laced_$N(tg_lanes_$N a, tg_lanes_$N b, $T *to)
{
    enum { LANES = TG_CONV_LANES_$N };
#if defined(__GNUC__) && !defined(__clang__)
    typedef $I places __attribute__((vector_size(sizeof(tg_lanes_$N))));
    places low, high;
    for (int i = 0; i < LANES; i++) low[i] = i / 2 + i % 2 * LANES, high[i] = low[i] + LANES / 2;
    *(tg_lanes_$N *)to = __builtin_shuffle(a, b, low);
    *(tg_lanes_$N *)(to + LANES) = __builtin_shuffle(a, b, high);
#else
    for (int i = 0; i < LANES; i++) to[2 * i] = a[i], to[2 * i + 1] = b[i];
#endif
}
"""
WINOGRAD = """
/* How many products add up at a point, and how many are before them. */
static const int64_t tg_conv_counts$K_$N[16] = {$COUNTS}, tg_conv_before$K_$N[16] = {$BEFORE};

/* Some panels of the filters in work, at the points: [point][filters / rows][chunk][product][channel][rows]. */
static TG_CONV void tg_conv_points$K_$N(void *context, int64_t begin, int64_t end, int64_t part)
{
    enum { ROWS = TG_CONV_ROWS_$N, SOME = 16 };
    tg_conv_$N *const z = context;
    const int64_t c = z->q.c, f = z->q.f, *const ws = z->ws, first = z->rows;
    const $T half = ($T)0.5;
    $T *at[16], all[SOME][$TAPS][ROWS]; /* of some channels, so that what is read as vectors was stored a while ago */
    for (int64_t r = begin; r < end; r++)
        for (int64_t b = 0; b < c; b += SOME) {
            const int64_t begun = b / z->chunk * z->chunk, part = (c - begun < z->chunk ? c - begun : z->chunk) * ROWS;
            for (int64_t p = 0; p < 16; p++)
                at[p] = z->packed + 272 * p + tg_conv_before$K_$N[p] * z->group
                        + ((r * c + begun) * tg_conv_counts$K_$N[p] + b - begun) * ROWS;
            const int64_t n = c - b < SOME ? c - b : SOME;
            for (int64_t u = 0; u < ROWS; u++) {
                const $T *from = z->w + (first + r * ROWS + u < f ? first + r * ROWS + u : 0) * ws[0] + b * ws[1];
                for (int64_t i = 0; i < n; i++, from += ws[1])
                    for (int64_t t = 0; t < $TAPS; t++) all[i][t][u] = from[t / $K * ws[3] + t % $K * ws[4]];
            }
            for (int64_t i = 0; i < n; i++) {
                $T(*const g)[ROWS] = all[i];
                $FILTERS
            }
        }
}

/* Some blocks of windows, counted through all images, for the filters that are worked on. */
static TG_CONV void tg_conv_windows$K_$N(void *context, int64_t begin, int64_t end, int64_t thread)
{
    enum { ROWS = TG_CONV_ROWS_$N, LANES = TG_CONV_LANES_$N, WIDE = 3 * LANES, SOME = 64, CHUNK = 128 };
    tg_conv_$N *const z = context;
    const tg_conv_shape *const q = &z->q;
    const int64_t c = q->c, f = z->block, th = q->out[1], tw = q->out[2], all = q->n * z->places, image = c * z->plane;
    const int64_t oh = z->places_of[1], ow = z->places_of[2], fr = (f + ROWS - 1) / ROWS * ROWS;
    const int64_t apart = SOME * WIDE + LANES, size = $ALL * z->chunk * WIDE + 17 * LANES;
    $T *const v = calloc(size + 16 * apart + 2 * LANES, sizeof *v), *const m = v + size;
    $T last[$ALL * LANES];
    if (!v) { z->failed = 1; return; }
    for (int64_t block = begin; block < end; block++) {
        const int64_t j0 = block * WIDE, count = all - j0 < WIDE ? all - j0 : WIDE;
        const int64_t width = (count + LANES - 1) / LANES * LANES;
        tg_conv_forward_tile_$N *const tile = tg_conv_forwards_$N[width / LANES - 1];
        for (int64_t c0 = 0; c0 < c; c0 += z->chunk) { /* all channels, or all filters: their sums are kept then */
            const int64_t some = c - c0 < z->chunk ? c - c0 : z->chunk, each = some * width;
            for (int64_t i = 0; i < some; i++)
                for (int64_t at = 0, run; at < count; at += run) {
                    const int64_t *const off = z->off + $WINDOW * (c0 + i), o = (j0 + at) % z->places;
                    const $T *const source = z->images + (j0 + at) / z->places * image + tg_conv_place_$N(z, o, &run);
                    if (run > count - at) run = count - at;
                    for (int64_t d = 0; d < run; d += LANES) { /* the next run writes over the rest */
                        const $T *const from = source + d;
                        const int over = i + 1 == some && at + d + LANES > width; /* what follows is written */
                        $T *const to = over ? last : v + i * width + at + d;
                        const int64_t step = over ? LANES : each, gap = over ? 0 : LANES;
                        $IMAGE
                        for (int64_t p = 0, k = 0; over && p < 16; p++)
                            for (int64_t u = 0; u < tg_conv_counts$K_$N[p]; u++, k++)
                                for (int64_t e = 0; at + d + e < width; e++)
                                    v[k * each + p * LANES + i * width + at + d + e] = last[k * LANES + e];
                    }
                }
            for (int64_t f0 = 0; f0 < fr; f0 += SOME) {
                const int64_t end_ = fr - f0 < SOME ? fr : f0 + SOME;
                for (int64_t p = 0; p < 16; p++) {
                    const int64_t before = tg_conv_before$K_$N[p], several = tg_conv_counts$K_$N[p], n = some * several;
                    const $T *const filters = z->packed + 272 * p + before * z->group + c0 * several * ROWS;
                    const $T *const b = v + before * each + p * LANES;
                    for (int64_t r = f0; r < end_; r += ROWS)
                        for (int64_t i = 0; i < n; i += CHUNK) /* sums of few numbers, added up: less error */
                            tile(n - i < CHUNK ? n - i : CHUNK, filters + r * several * c + i * ROWS, b + i * width,
                                 m + p * apart + (r - f0) * width, width, c0 + i > 0);
                }
                if (c0 + some < c) continue;
                for (int64_t e = f0; e < end_ && e < f; e++)
                    for (int64_t at = 0, run; at < count; at += run) {
                        const int64_t o = (j0 + at) % z->places, ty = o / tw, tx = o % tw;
                        const int64_t plane = (j0 + at) / z->places * q->f + z->rows + e;
                        $T *const first = z->y + (plane * oh + 2 * ty) * ow + 2 * tx;
                        run = tw - tx < count - at ? tw - tx : count - at;
                        for (int64_t d = 0; d < run; d += LANES) {
                            const $T *const sums = m + (e - f0) * width + at + d;
                            $T *const to = first + 2 * d;
                            const int64_t windows = run - d < LANES ? run - d : LANES;
                            const int64_t n = ow - 2 * (tx + d) < 2 * windows ? ow - 2 * (tx + d) : 2 * windows;
                            $PLACES
                            if (n == 2 * LANES) {
                                tg_conv_laced_$N(p0_0, p0_1, to);
                                if (2 * ty + 1 < oh) tg_conv_laced_$N(p1_0, p1_1, to + ow);
                            } else {
                                $T row[2 * LANES];
                                tg_conv_laced_$N(p0_0, p0_1, row);
                                __builtin_memcpy(to, row, n * sizeof *to);
                                if (2 * ty + 1 >= oh) continue;
                                tg_conv_laced_$N(p1_0, p1_1, row);
                                __builtin_memcpy(to + ow, row, n * sizeof *to);
                            }
                        }
                    }
            }
        }
        if (z->left) tg_conv_places_there_$N(z, j0, j0 + count);
    }
    free(v);
}

/* The convolution; images are taken apart as if filters had one element more and moved by 2. Nonzero: no memory. */
TG_APART TG_CONV int
tg_conv_winograd$K_$N(tg_conv_shape shape, const $T *x, const int64_t *xs, const $T *w, const int64_t *ws, $T *y,
                    tg_conv_after after)
{
    enum { ROWS = TG_CONV_ROWS_$N, WIDE = 3 * TG_CONV_LANES_$N };
    tg_conv_$N here = {shape, x, w, .xs = xs, .ws = ws, .y = y, .after = after}, *const z = &here;
    const int64_t size = shape.n * shape.f * shape.out[1] * shape.out[2];
    tg_conv_before_$N(z);
    if (size && shape.c == 0) __builtin_memset(y, 0, size * sizeof *y);
    if (size == 0 || shape.c == 0) return tg_conv_after_$N(z, shape.n, 0);
    for (int d = 1; d < 3; d++) {
        z->places_of[d] = shape.out[d];
        z->q.out[d] = (shape.out[d] + 1) / 2, z->q.k[d] = $SIDE, z->q.s[d] = 2;
    }
    int failed = tg_conv_begin_$N(z);
    const int64_t blocks = (shape.n * z->places + WIDE - 1) / WIDE;
    int64_t some = (8 << 20) / ($ALL * (int64_t)sizeof *y) / shape.c / ROWS * ROWS; /* filters in a large cache */
    const int64_t most = shape.f > 64 ? shape.c : $CHANNELS, parts = (shape.c + most - 1) / most; /* of one product */
    z->chunk = parts == 1 ? shape.c : ((shape.c + parts - 1) / parts + 15) / 16 * 16;
    some = some < 64 ? 64 : some > shape.f ? (shape.f + ROWS - 1) / ROWS * ROWS : some;
    z->group = some * shape.c; /* and 272 numbers between points, which do not lie a power of two apart */
    z->packed = failed ? 0 : malloc(($ALL * z->group + 16 * 272) * sizeof *y);
    failed |= !z->packed;
    tg_conv_count_$N(z, z->places * ((shape.f + some - 1) / some));
    for (z->rows = 0; z->rows < shape.f && !failed; z->rows += some) {
        z->block = shape.f - z->rows < some ? shape.f - z->rows : some;
        tg_rt->parallel_for(tg_conv_points$K_$N, z, (z->block + ROWS - 1) / ROWS, 20000 / (shape.c * ROWS) + 1);
        const int64_t grain = 150000 / (shape.c * z->block * WIDE + 1) + 1;
        tg_rt->parallel_for(tg_conv_windows$K_$N, z, blocks, grain > (blocks + 7) / 8 ? grain : (blocks + 7) / 8);
        failed |= z->failed;
    }
    free(z->packed), free(z->room), free(z->off);
    return tg_conv_after_$N(z, shape.n, failed);
}
"""
