"""C text of convolutions with filters of 3x3 by Winograd's algorithm F(2x2, 3x3): 16 products for 4 places, not 36.

Filters and windows of 4x4 elements are brought to 16 points, where a convolution is a product of (filters, channels)
by (channels, windows); a window gives 2x2 places. Some windows at a time are brought there, multiplied and brought
back, so that what lies between stays in the cache, for as many filters as stay in a larger one. Transforms only add,
subtract and halve. Pure text.
"""

from __future__ import annotations

POINTS = 4  # along a dimension
_FROM_IMAGE = ("{0} - {2}", "{1} + {2}", "{2} - {1}", "{1} - {3}")
_FROM_FILTER = ("{0}", "({0} + {1} + {2}) * half", "({0} - {1} + {2}) * half", "{2}")
_TO_PLACES = ("{0} + {1} + {2}", "{1} - {2} - {3}")


def _both(form: tuple[str, ...], given: str, n: int) -> tuple[list[str], str]:
    """Statements that apply a transform along rows and then along columns, and the names of the results."""
    lines = []
    for u in range(n):
        column = [f"{given}{v}_{u}" for v in range(n)]
        lines.append(
            "const TYPE " + ", ".join(f"s{a}_{u} = {text.format(*column)}" for a, text in enumerate(form)) + ";"
        )
    for a in range(len(form)):
        row = [f"s{a}_{u}" for u in range(n)]
        lines.append("const TYPE " + ", ".join(f"p{a}_{b} = {text.format(*row)}" for b, text in enumerate(form)) + ";")
    return lines, "p"


def _lines(depth: int, lines: list[str], kind: str) -> str:
    return ("\n" + " " * depth).join(lines).replace("TYPE", kind)


def text() -> str:
    """The functions, for numbers $T with the short name $N."""
    square = [(a, b) for a in range(POINTS) for b in range(POINTS)]
    load_filter = [
        f"const tg_rows_$N g{v}_{u} = *(const tg_rows_$N *)g[{3 * v + u}];" for v in range(3) for u in range(3)
    ]
    store_filter = [f"*(tg_rows_$N *)(to + {4 * a + b} * apart) = p{a}_{b};" for a, b in square]
    load_image = [f"const tg_lanes_$N d{v}_{u} = *(const tg_lanes_$N *)(from + off[{4 * v + u}]);" for v, u in square]
    store_image = [f"*(tg_lanes_$N *)(to + {4 * a + b} * slice) = p{a}_{b};" for a, b in square]
    load_points = [
        f"const tg_lanes_$N m{v}_{u} = *(const tg_lanes_$N *)(sums + {4 * v + u} * apart);" for v, u in square
    ]
    pieces = {
        "$FILTERS": _lines(16, [*load_filter, *_both(_FROM_FILTER, "g", 3)[0], *store_filter], "tg_rows_$N"),
        "$IMAGE": _lines(20, [*load_image, *_both(_FROM_IMAGE, "d", 4)[0], *store_image], "tg_lanes_$N"),
        "$PLACES": _lines(16, [*load_points, *_both(_TO_PLACES, "m", 4)[0]], "tg_lanes_$N"),
    }
    out = WINOGRAD
    for name, piece in pieces.items():
        out = out.replace(name, piece)
    return out


WINOGRAD = """
typedef $T tg_rows_$N __attribute__((vector_size(TG_CONV_ROWS_$N * sizeof($T)), aligned(sizeof($T)), may_alias));

/* Some panels of the filters that are worked on, at the points: [point][filters / rows][channel][rows]. */
static TG_CONV void tg_conv_points_$N(void *context, int64_t begin, int64_t end, int64_t part)
{
    enum { ROWS = TG_CONV_ROWS_$N, SOME = 16 };
    tg_conv_$N *const z = context;
    const int64_t c = z->q.c, f = z->q.f, *const ws = z->ws, apart = z->group, first = z->rows;
    const $T half = ($T)0.5;
    $T all[SOME][9][ROWS]; /* of some channels, so that what is read as vectors was stored a while ago */
    for (int64_t r = begin; r < end; r++)
        for (int64_t b = 0; b < c; b += SOME) {
            const int64_t n = c - b < SOME ? c - b : SOME;
            for (int64_t u = 0; u < ROWS; u++) {
                const $T *from = z->w + (first + r * ROWS + u < f ? first + r * ROWS + u : 0) * ws[0] + b * ws[1];
                for (int64_t i = 0; i < n; i++, from += ws[1])
                    for (int64_t t = 0; t < 9; t++) all[i][t][u] = from[t / 3 * ws[3] + t % 3 * ws[4]];
            }
            for (int64_t i = 0; i < n; i++) {
                $T(*const g)[ROWS] = all[i], *const to = z->packed + (r * c + b + i) * ROWS;
                $FILTERS
            }
        }
}

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

/* Some blocks of windows, counted through all images, for the filters that are worked on. */
static TG_CONV void tg_conv_windows_$N(void *context, int64_t begin, int64_t end, int64_t thread)
{
    enum { ROWS = TG_CONV_ROWS_$N, LANES = TG_CONV_LANES_$N, WIDE = 3 * LANES, SOME = 64, CHUNK = 128 };
    tg_conv_$N *const z = context;
    const tg_conv_shape *const q = &z->q;
    const int64_t c = q->c, f = z->block, th = q->out[1], tw = q->out[2], all = q->n * z->places, image = c * z->plane;
    const int64_t oh = z->places_of[1], ow = z->places_of[2], fr = (f + ROWS - 1) / ROWS * ROWS;
    const int64_t slice = c * WIDE + LANES, apart = SOME * WIDE + LANES;
    $T *const v = calloc(16 * (slice + apart) + 2 * LANES, sizeof *v), *const m = v + 16 * slice;
    if (!v) { z->failed = 1; return; }
    for (int64_t block = begin; block < end; block++) {
        const int64_t j0 = block * WIDE, count = all - j0 < WIDE ? all - j0 : WIDE;
        const int64_t width = (count + LANES - 1) / LANES * LANES;
        tg_conv_forward_tile_$N *const tile = tg_conv_forwards_$N[width / LANES - 1];
        for (int64_t i = 0; i < c; i++)
            for (int64_t at = 0, run; at < count; at += run) {
                const int64_t *const off = z->off + 16 * i, o = (j0 + at) % z->places;
                const $T *const source = z->images + (j0 + at) / z->places * image + tg_conv_place_$N(z, o, &run);
                if (run > count - at) run = count - at;
                for (int64_t d = 0; d < run; d += LANES) { /* the next run writes over the rest */
                    const $T *const from = source + d;
                    $T *const to = v + i * width + at + d;
                    $IMAGE
                }
            }
        for (int64_t f0 = 0; f0 < fr; f0 += SOME) {
            const int64_t end_ = fr - f0 < SOME ? fr : f0 + SOME;
            for (int64_t p = 0; p < 16; p++)
                for (int64_t r = f0; r < end_; r += ROWS)
                    for (int64_t i = 0; i < c; i += CHUNK) /* sums of few numbers, added up: fewer digits are lost */
                        tile(c - i < CHUNK ? c - i : CHUNK, z->packed + p * z->group + r * c + i * ROWS,
                             v + p * slice + i * width, m + p * apart + (r - f0) * width, width, i > 0);
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
    free(v);
}

/* The convolution; images are taken apart as if filters were of 4x4 elements and moved by 2. Nonzero: no memory. */
TG_APART TG_CONV int
tg_conv_winograd_$N(tg_conv_shape shape, const $T *x, const int64_t *xs, const $T *w, const int64_t *ws, $T *y)
{
    enum { ROWS = TG_CONV_ROWS_$N, WIDE = 3 * TG_CONV_LANES_$N };
    tg_conv_$N here = {shape, x, w, .xs = xs, .ws = ws, .y = y}, *const z = &here;
    const int64_t size = shape.n * shape.f * shape.out[1] * shape.out[2];
    if (size == 0) return 0;
    if (shape.c == 0) return __builtin_memset(y, 0, size * sizeof *y), 0;
    for (int d = 1; d < 3; d++) {
        z->places_of[d] = shape.out[d];
        z->q.out[d] = (shape.out[d] + 1) / 2, z->q.k[d] = 4, z->q.s[d] = 2;
    }
    int failed = tg_conv_begin_$N(z);
    const int64_t blocks = (shape.n * z->places + WIDE - 1) / WIDE;
    int64_t some = (8 << 20) / (16 * (int64_t)sizeof *y) / shape.c / ROWS * ROWS; /* filters in a large cache */
    some = some < 64 ? 64 : some > shape.f ? (shape.f + ROWS - 1) / ROWS * ROWS : some;
    z->group = some * shape.c + 272; /* numbers of a point, which do not lie a power of two apart */
    z->packed = failed ? 0 : malloc(16 * z->group * sizeof *y);
    failed |= !z->packed;
    for (z->rows = 0; z->rows < shape.f && !failed; z->rows += some) {
        z->block = shape.f - z->rows < some ? shape.f - z->rows : some;
        tg_rt->parallel_for(tg_conv_points_$N, z, (z->block + ROWS - 1) / ROWS, 20000 / (shape.c * ROWS) + 1);
        const int64_t grain = 150000 / (shape.c * z->block * WIDE + 1) + 1;
        tg_rt->parallel_for(tg_conv_windows_$N, z, blocks, grain > (blocks + 7) / 8 ? grain : (blocks + 7) / 8);
        failed |= z->failed;
    }
    free(z->packed), free(z->room), free(z->off);
    return failed;
}
"""
__all__ = ["text"]
