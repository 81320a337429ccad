"""C text of convolutions that multiply no zeros: filters lie along vectors, channels of an image beside each other.

The rows of a tile are places, of whatever images, whose windows have the same part inside of the image; other taps are
left out. Nothing is packed but the image, once, and the filters. Pure text.
"""

from __future__ import annotations

ACROSS = """
/* Places that are multiplied together: taps from low to high, where each begins in the image and in the result. */
typedef struct {
    int64_t low[2], high[2], from[TG_CONV_ROWS_$N], to[TG_CONV_ROWS_$N];
    int32_t count;
} tg_places_$N;
typedef struct tg_across_$N {
    tg_conv_$N *z;
    $T *image, *filters;
    tg_places_$N *places;
    int64_t count, apart; /* how far two images are: not so that their lines meet in one set of a cache */
} tg_across_$N;

/* Some rows of images of a group, the channels of an element beside each other: squares of numbers are turned. */
static TG_CONV void tg_conv_beside_$N(void *context, int64_t begin, int64_t end, int64_t part)
{
    enum { LANES = TG_CONV_LANES_$N };
    const tg_across_$N *const a = context;
    const tg_conv_shape *const q = &a->z->q;
    const int64_t c = q->c / q->groups, *const xs = a->z->xs, along = xs[4] == 1, dense = along && xs[3] == q->in[2];
    for (int64_t i = begin, rows; i < end; i += rows) {
        const int64_t y = i % q->in[1];
        rows = !dense ? 1 : q->in[1] - y < end - i ? q->in[1] - y : end - i;
        const $T *const image = a->z->x + i / q->in[1] * xs[0] + a->z->group * c * xs[1] + y * xs[3];
        $T *const to = a->image + i / q->in[1] * a->apart + y * q->in[2] * c;
        for (int64_t d = 0; d < c; d += LANES) {
            const int64_t some = c - d < LANES ? c - d : LANES, n = rows * q->in[2];
            const $T *const from = image + d * xs[1];
            int64_t x = 0;
            for (; along && some == LANES && x + LANES <= n; x += LANES)
                tg_conv_transposed_$N(from + x, xs[1], to + x * c + d, c);
            for (; x < n; x++)
                for (int64_t e = 0; e < some; e++) to[x * c + d + e] = from[e * xs[1] + x * xs[4]];
        }
    }
}

/* Taps of some filters, which lie along memory, as vectors of filters: squares of numbers are turned. */
static inline void tg_conv_turned_$N(const $T *w, int64_t step, int64_t taps, int back, $T *to, int64_t apart)
{
    enum { LANES = TG_CONV_LANES_$N };
    $T square[LANES * LANES];
    for (int64_t i = 0; i < taps; i += LANES) {
        tg_conv_transposed_$N(w + i, step, square, LANES);
        for (int64_t t = 0; t < LANES && i + t < taps; t++)
            *(tg_lanes_$N *)(to + (back ? taps - 1 - i - t : i + t) * apart) = *(tg_lanes_$N *)(square + t * LANES);
    }
}

/* Some channels of the filters of a group: [some vectors of filters][row of taps][column][channel][filter]. */
static TG_CONV void tg_conv_filters_beside_$N(void *context, int64_t begin, int64_t end, int64_t part)
{
    enum { LANES = TG_CONV_LANES_$N };
    const tg_across_$N *const a = context;
    const tg_conv_$N *const z = a->z;
    const int64_t *const ws = z->ws, *const k = z->q.k, c = z->q.c / z->q.groups, f = z->q.f / z->q.groups;
    const int64_t taps = k[1] * k[2], read = (taps + LANES - 1) / LANES * LANES, back = ws[4] == -1;
    const int along = (ws[4] == 1 || back) && ws[3] == ws[4] * k[2];
    const int64_t size = (f - 1) * ws[0] + (c - 1) * ws[1] + taps; /* of a group, if filters lie along memory */
    for (int64_t j = 0, width; j < f; j += width) {
        width = tg_conv_wide_$N(f - j) * LANES;
        for (int64_t d = begin; d < end; d++)
            for (int64_t v = 0; v < width; v += LANES) {
                const int64_t first = (j + v) * ws[0] + d * ws[1], there = f - j - v < LANES ? f - j - v : LANES;
                const $T *const w = z->w + z->group * z->apart + first;
                $T *const to = a->filters + j * z->taps + d * width + v;
                if (along && there == LANES && first + (LANES - 1) * ws[0] + read <= size)
                    tg_conv_turned_$N(w - (back ? taps - 1 : 0), ws[0], taps, back, to, c * width);
                else
                    for (int64_t i = 0; i < taps; i++)
                        for (int64_t u = 0; u < LANES; u++)
                            to[i * c * width + u] = u < there ? w[u * ws[0] + i / k[2] * ws[3] + i % k[2] * ws[4]] : 0;
            }
    }
}

/* Which taps of a window that begins at `at` are in the image. */
static inline void tg_conv_inside_$N(const tg_conv_shape *q, int d, int64_t at, int64_t *low, int64_t *high)
{
    const int64_t e = q->e[d], first = at < 0 ? (e - 1 - at) / e : 0, last = (q->in[d] - at + e - 1) / e;
    *low = first < q->k[d] ? first : q->k[d];
    *high = last > q->k[d] ? q->k[d] : last > *low ? last : *low;
}

/* The places by what of their windows is inside: rows and columns from one change to the next are one kind. */
static TG_CONV void tg_conv_kinds_$N(tg_across_$N *a)
{
    const tg_conv_shape *const q = &a->z->q;
    const int64_t c = q->c / q->groups;
    tg_places_$N *to = a->places - 1;
    for (int64_t y0 = 0, y1; y0 < q->out[1]; y0 = y1) {
        int64_t low[2], high[2], l, h;
        tg_conv_inside_$N(q, 1, y0 * q->s[1] - q->before[1], low, high);
        for (y1 = y0 + 1; y1 < q->out[1]; y1++) {
            tg_conv_inside_$N(q, 1, y1 * q->s[1] - q->before[1], &l, &h);
            if (l != low[0] || h != high[0]) break;
        }
        for (int64_t x0 = 0, x1; x0 < q->out[2]; x0 = x1) {
            tg_conv_inside_$N(q, 2, x0 * q->s[2] - q->before[2], low + 1, high + 1);
            for (x1 = x0 + 1; x1 < q->out[2]; x1++) {
                tg_conv_inside_$N(q, 2, x1 * q->s[2] - q->before[2], &l, &h);
                if (l != low[1] || h != high[1]) break;
            }
            int64_t r = TG_CONV_ROWS_$N;
            for (int64_t i = 0; i < (y1 - y0) * (x1 - x0) * q->n; i++, r++) {
                const int64_t wide = x1 - x0, x = x0 + i % wide, m = i / wide % q->n, y = y0 + i / wide / q->n;
                const int64_t top = y * q->s[1] - q->before[1];
                if (r == TG_CONV_ROWS_$N) {
                    r = 0, to++;
                    for (int d = 0; d < 2; d++) to->low[d] = low[d], to->high[d] = high[d];
                }
                for (int64_t u = r; u < TG_CONV_ROWS_$N; u++) /* what is left over is computed for the last one */
                    to->from[u] = m * a->apart + (top * q->in[2] + x * q->s[2] - q->before[2]) * c;
                to->to[r] = m * q->f * a->z->places + y * q->out[2] + x;
                to->count = r + 1;
            }
        }
    }
    a->count = to + 1 - a->places;
}

/* Some tiles of places, for all filters of a group; their sums are added up from some taps to the next. */
static TG_CONV void tg_conv_across_$N(void *context, int64_t begin, int64_t end, int64_t part)
{
    enum { ROWS = TG_CONV_ROWS_$N, LANES = TG_CONV_LANES_$N, SOME = 160, BLOCK = (96 << 10) / 64 / ROWS / 3 };
    const tg_across_$N *const a = context;
    tg_conv_$N *const z = a->z;
    const tg_conv_shape *const q = &z->q;
    const int64_t f = q->f / q->groups, c = q->c / q->groups, line = c * q->k[2];
    const int64_t parts = (line + SOME - 1) / SOME, chunk = (line + parts - 1) / parts; /* in sums of few digits stay */
    $T *const sums = malloc(BLOCK * ROWS * 3 * LANES * sizeof *sums);
    if (!sums) { z->failed = 1; return; }
    for (int64_t some = begin; some < end; some += BLOCK)
        for (int64_t j = 0, width; j < f; j += width) {
            const int64_t last = some + BLOCK < end ? some + BLOCK : end;
            width = tg_conv_wide_$N(f - j) * LANES;
            __builtin_memset(sums, 0, (last - some) * ROWS * width * sizeof *sums);
            for (int64_t p = 0; p < z->taps; p += line - p % line < chunk ? line - p % line : chunk) {
                const int64_t row = p / line, first = p % line;
                const $T *const x = a->image + row * q->e[1] * q->in[2] * c;
                const $T *const w = a->filters + j * z->taps + row * line * width;
                for (int64_t i = some; i < last; i++) {
                    const tg_places_$N *const g = a->places + i;
                    int64_t from = g->low[1] * c, to = g->high[1] * c;
                    from = from > first ? from : first;
                    to = to < first + chunk ? to : first + chunk;
                    if (from >= to || row < g->low[0] || row >= g->high[0]) continue;
                    const tg_conv_run run = {.images = 1, .rows = 1, .n = to - from};
                    tg_conv_tapss_$N[width / LANES - 1](&run, x + from, g->from, w + from * width,
                                                        sums + (i - some) * ROWS * width, width);
                }
            }
            for (int64_t i = some; i < last; i++)
                for (int64_t u = 0; u < width && j + u < f; u++) {
                    const tg_places_$N *const g = a->places + i;
                    const $T *const from = sums + (i - some) * ROWS * width + u;
                    $T *const to = z->y + (z->group * f + j + u) * z->places;
                    if (g->count == ROWS)
                        for (int64_t r = 0; r < ROWS; r++) to[g->to[r]] = from[r * width];
                    else
                        for (int64_t r = 0; r < g->count; r++) to[g->to[r]] = from[r * width];
                }
        }
    free(sums);
}

/* Whether filters are read where they lie: for few panels they are not packed. */
static inline int tg_conv_lying_$N(const tg_conv_$N *z)
{
    enum { FEW = 40 };
    const tg_conv_shape *const q = &z->q;
    return (q->c > q->groups || q->groups == 1) && q->f / q->groups % TG_CONV_ROWS_$N == 0 && z->ws[0] > z->ws[1]
           && q->n * z->places <= FEW * 3 * TG_CONV_LANES_$N;
}

/* How many taps of all windows along a dimension are inside. */
static inline int64_t tg_conv_taps_inside_$N(const tg_conv_shape *q, int d)
{
    int64_t sum = 0, low, high;
    for (int64_t i = 0; i < q->out[d]; i++) {
        tg_conv_inside_$N(q, d, i * q->s[d] - q->before[d], &low, &high);
        sum += high - low;
    }
    return sum;
}

/* What a tap of a channel costs as panels, for all filters, in products: packing a place costs that of 16 filters, and
   packing a filter, where vectors are long, that of 120 places; reading it where it lies, a tenth of the products. */
static inline double tg_conv_panels_cost_$N(const tg_conv_$N *z)
{
    enum { ROWS = TG_CONV_ROWS_$N, PACKED = sizeof(tg_lanes_$N) < 64 ? 60 : 120 };
    const int64_t f = z->q.f / z->q.groups, high = (f + ROWS - 1) / ROWS * ROWS;
    const double panels = (double)z->q.n * z->places * (high + 16);
    return tg_conv_lying_$N(z) ? 1.1 * panels : panels + PACKED * high;
}

/* The convolution this way, where what is left out and not packed outweighs that filters are laid out anew: measured,
   a tile takes 1.15 of a panel's time, laying out a filter that of 60 places. Sums are put down after each line of
   taps, so lines must not be short. `other`: the cost of another way. Negative: not this way; 1: no memory. */
static TG_CONV int tg_conv_try_across_$N(tg_conv_$N *z, double other)
{
    enum { ROWS = TG_CONV_ROWS_$N, LANES = TG_CONV_LANES_$N, SHORT = 120, FAR = 12 << 20 };
    const tg_conv_shape *const q = &z->q;
    const int64_t c = q->c / q->groups, f = q->f / q->groups, taps = q->k[1] * q->k[2];
    if (z->taps * f * (int64_t)sizeof *z->y > FAR) return -1; /* filters would be written to main memory */
    if (q->k[0] > 1 || q->out[0] > 1 || q->before[0] || (q->k[2] > 1 && q->e[2] > 1) || c * q->k[2] < SHORT) return -1;
    if (tg_conv_taps_inside_$N(q, 1) * tg_conv_taps_inside_$N(q, 2) > 0.95 * z->places * taps) return -1;
    const int64_t kinds = (2 * q->k[1] + 1) * (2 * q->k[2] + 1);
    tg_across_$N here = {z, .apart = q->in[1] * q->in[2] * c + 3 * LANES}, *const a = &here;
    a->places = malloc((q->n * z->places / ROWS + kinds + 1) * sizeof *a->places);
    if (!a->places) return 1;
    tg_conv_kinds_$N(a);
    double rows = 0;
    for (int64_t i = 0; i < a->count; i++)
        rows += (a->places[i].high[0] - a->places[i].low[0]) * (a->places[i].high[1] - a->places[i].low[1]) * ROWS;
    const int64_t wide = (f + LANES - 1) / LANES * LANES;
    if ((1.15 * rows / taps + 60) * wide > other) return free(a->places), -1;
    a->image = malloc(q->n * a->apart * sizeof *a->image);
    a->filters = malloc((f + 3 * LANES) * z->taps * sizeof *a->filters);
    int failed = !a->image || !a->filters;
    for (z->group = 0; z->group < q->groups && !failed; z->group++) {
        tg_rt->parallel_for(tg_conv_beside_$N, a, q->n * q->in[1], 50000 / (q->in[2] * c + 1) + 1);
        tg_rt->parallel_for(tg_conv_filters_beside_$N, a, c, 50000 / (f * taps + 1) + 1);
        tg_rt->parallel_for(tg_conv_across_$N, a, a->count, 150000 / (z->taps * f * ROWS / 16 + 1) + 1);
        failed = z->failed;
    }
    free(a->image), free(a->filters), free(a->places);
    return failed;
}
"""
