"""C text of convolutions that multiply no zeros: filters lie along vectors, channels of an image beside each other.

The rows of a tile are places, of whatever images, whose windows have the same part inside of the image; other taps are
left out. Nothing is packed but the image, once, and the filters, some channels at a time, when they are needed.
"""

from __future__ import annotations

ACROSS = """
/* Places that are multiplied together: taps from low to high, and where each begins in the image. */
typedef struct {
    int64_t low[2], high[2], from[TG_CONV_ROWS_$N], rows;
} tg_places_$N;
typedef struct tg_across_$N {
    tg_conv_$N *z;
    $T *image; /* [image][block][row][column][channel]: blocks of `some` channels */
    int64_t *at; /* where what lies at a place along memory goes, in the filters of a block */
    int64_t *row; /* of each place of the result, among those of all tiles */
    tg_places_$N *places;
    int64_t some, blocks, image_size, count, parts; /* of tiles, and in how many parts they are */
    int along, back; /* taps of a channel lie along memory, from the last to the first */
} tg_across_$N;

/* Some rows of images of a group, the channels of an element beside each other: squares of numbers are turned. */
static TG_CONV void tg_conv_beside_$N(void *context, int64_t begin, int64_t end, int64_t part)
{
    enum { LANES = TG_CONV_LANES_$N };
    const tg_across_$N *const a = context;
    const tg_conv_shape *const q = &a->z->q;
    const int64_t c = q->c / q->groups, *const xs = a->z->xs, along = xs[4] == 1, dense = along && xs[3] == q->in[2];
    const int64_t some = a->some, square = along && some % LANES == 0, block = q->in[1] * q->in[2] * some;
    for (int64_t i = begin, rows; i < end; i += rows) {
        const int64_t y = i % q->in[1];
        rows = !dense ? 1 : q->in[1] - y < end - i ? q->in[1] - y : end - i;
        const $T *const image = a->z->x + i / q->in[1] * xs[0] + a->z->group * c * xs[1] + y * xs[3];
        $T *const there = a->image + i / q->in[1] * a->image_size + y * q->in[2] * some;
        const int64_t n = rows * q->in[2];
        for (int64_t d = 0; d < a->blocks * some; d++) {
            const $T *const from = image + d * xs[1];
            $T *const to = there + d / some * block + d % some;
            int64_t x = 0;
            if (square && d % LANES == 0 && d + LANES <= c) {
                for (; x + LANES <= n; x += LANES) tg_conv_transposed_$N(from + x, xs[1], to + x * some, some);
                for (; x < n; x++)
                    for (int64_t e = 0; e < LANES; e++) to[x * some + e] = from[e * xs[1] + x * xs[4]];
                d += LANES - 1;
            } else
                for (; x < n; x++) to[x * some] = d < c ? from[x * xs[4]] : 0;
        }
    }
}

/* Some filters of a group, the channels of a block, as vectors of filters: [row of taps][column][channel][filter].
   Squares of numbers are turned where the taps of a channel, or of all channels, lie along memory. */
static TG_CONV void tg_conv_filters_beside_$N(const tg_across_$N *a, int64_t first, int64_t width, int64_t block,
                                              $T *to)
{
    enum { LANES = TG_CONV_LANES_$N, AHEAD = 12 * LANES };
    const tg_conv_$N *const z = a->z;
    const int64_t *const ws = z->ws, *const k = z->q.k, c = z->q.c / z->q.groups, f = z->q.f / z->q.groups;
    const int64_t taps = k[1] * k[2], size = (f - 1) * ws[0] + (c - 1) * ws[1] + taps, back = a->back ? taps - 1 : 0;
    const int64_t channels = c - block * a->some < a->some ? c - block * a->some : a->some;
    const int whole = a->along && ws[1] == taps && channels * taps >= LANES;
    const int64_t line = whole ? channels * taps : taps;
    const $T *const filters = z->w + z->group * z->apart;
    $T square[LANES * LANES];
    if (channels < a->some) __builtin_memset(to, 0, a->some * taps * width * sizeof *to);
    for (int64_t d = 0; d < channels; d += whole ? channels : 1)
        for (int64_t i = 0; i < line; i += LANES) {
            if (whole && i + LANES > line) i = line - LANES;
            const int64_t n = line - i < LANES ? line - i : LANES, *const at = a->at + d * taps + i;
            for (int64_t v = 0; v < width; v += LANES) {
                const int64_t begin = (first + v) * ws[0] + (block * a->some + d) * ws[1] + i;
                $T *const there = to + v;
                if (a->along && begin + (LANES - 1) * ws[0] + LANES <= size) { /* what is no filter is not laid down */
                    const $T *const w = filters + begin - back;
                    for (int64_t u = 0; u < LANES; u++) { /* filters may meet in one set of a first-level cache */
                        if (whole) __builtin_prefetch(w + u * ws[0] + AHEAD, 0, 2);
                        else __builtin_prefetch(w + u * ws[0] + ws[1]);
                    }
                    tg_conv_transposed_$N(w, ws[0], square, LANES);
                    for (int64_t t = 0; t < n; t++)
                        *(tg_lanes_$N *)(there + at[t] * width) = *(tg_lanes_$N *)(square + t * LANES);
                } else
                    for (int64_t t = 0; t < n; t++) {
                        const int64_t lies = (i + t) % taps, tap = a->back ? back - lies : lies;
                        const int64_t channel = block * a->some + d + (i + t) / taps, rest = f - first - v;
                        const $T *const w = filters + channel * ws[1] + tap / k[2] * ws[3] + tap % k[2] * ws[4];
                        for (int64_t u = 0; u < LANES; u++)
                            there[at[t] * width + u] = u < rest ? w[(first + v + u) * ws[0]] : 0;
                    }
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
            const int64_t wide = x1 - x0, all = (y1 - y0) * wide * q->n;
            for (int64_t i = 0, r = 0; i < all; i++, r++) {
                const int64_t x = x0 + i % wide, m = i / wide % q->n, y = y0 + i / wide / q->n;
                const int64_t top = y * q->s[1] - q->before[1];
                if (i == 0 || r == to->rows) {
                    r = 0, to++;
                    for (int d = 0; d < 2; d++) to->low[d] = low[d], to->high[d] = high[d];
                    for (to->rows = TG_CONV_ROWS_$N; to->rows > 2 && all - i <= to->rows - 2;) to->rows /= 2;
                }
                for (int64_t u = r; u < to->rows; u++) /* what is left over is computed for the last one */
                    to->from[u] = m * a->image_size + (top * q->in[2] + x * q->s[2] - q->before[2]) * a->some;
                a->row[m * a->z->places + y * q->out[2] + x] = (to - a->places) * TG_CONV_ROWS_$N + r;
            }
        }
    }
    a->count = to + 1 - a->places;
}

/* The sums of some rows of tiles, for some filters, go to their places: squares of numbers are turned. */
static TG_CONV void tg_conv_lay_down_$N(const tg_across_$N *a, int64_t first, int64_t width, int64_t begin, int64_t end,
                                        const $T *sums)
{
    enum { LANES = TG_CONV_LANES_$N };
    const tg_conv_$N *const z = a->z;
    const tg_conv_shape *const q = &z->q;
    const int64_t f = q->f / q->groups;
    $T square[LANES * LANES];
    for (int64_t m = 0; m < q->n; m++)
        for (int64_t o = 0; o < z->places; o += LANES) {
            if (o + LANES > z->places && o) o = z->places - LANES; /* some are there already */
            const int64_t n = z->places - o < LANES ? z->places - o : LANES, *const row = a->row + m * z->places + o;
            int64_t there = 0;
            for (int64_t t = 0; t < n; t++) there += row[t] >= begin && row[t] < end;
            for (int64_t v = 0; v < width && there; v += LANES) {
                $T *const to = z->y + (m * q->f + z->group * f + first + v) * z->places + o;
                const $T *const from = sums + v - begin * width;
                const int64_t filters = f - first - v < LANES ? f - first - v : LANES;
                if (there == LANES && filters == LANES) {
                    for (int64_t t = 0; t < LANES; t++)
                        *(tg_lanes_$N *)(square + t * LANES) = *(const tg_lanes_$N *)(from + row[t] * width);
                    tg_conv_transposed_$N(square, LANES, to, z->places);
                } else
                    for (int64_t t = 0; t < n; t++)
                        for (int64_t u = 0; u < filters && row[t] >= begin && row[t] < end; u++)
                            to[u * z->places + t] = from[row[t] * width + u];
            }
        }
}

/* Some filters of a group for some tiles of places, counted by filters; sums are added up from block to block.
   Filters are laid out when they are needed, so that they are in a cache then. */
static TG_CONV void tg_conv_across_$N(void *context, int64_t begin, int64_t end, int64_t part)
{
    enum { ROWS = TG_CONV_ROWS_$N, LANES = TG_CONV_LANES_$N, WIDE = 3 * LANES, TERMS = 200 };
    const tg_across_$N *const a = context;
    tg_conv_$N *const z = a->z;
    const tg_conv_shape *const q = &z->q;
    const int64_t f = q->f / q->groups, *const k = q->k, each = a->some * k[1] * k[2] * WIDE; /* numbers of a block */
    const int64_t row = q->e[1] * q->in[2] * a->some, block = q->in[1] * q->in[2] * a->some;
    const int64_t most = (a->count + a->parts - 1) / a->parts * ROWS * WIDE;
    $T *const sums = malloc((most + each) * sizeof *sums), *const filters = sums + most;
    const int64_t terms = tg_conv_terms(z->taps, 96);
    const int64_t some = TERMS / (k[2] * a->some), few = some < 1 ? 1 : some > k[1] ? k[1] : some; /* rows of taps */
    int64_t j = 0, width = tg_conv_wide_$N(f) * LANES, first = 0; /* the job with which filters begin */
    if (!sums) { z->failed = 1; return; }
    for (int64_t job = begin; job < end; job++) {
        for (; job >= first + a->parts; first += a->parts) j += width, width = tg_conv_wide_$N(f - j) * LANES;
        const tg_places_$N *const begun = a->places + (job - first) * a->count / a->parts;
        const tg_places_$N *const last = a->places + (job - first + 1) * a->count / a->parts;
        __builtin_memset(sums, 0, (last - begun) * ROWS * width * sizeof *sums);
        for (int64_t b = 0; b < a->blocks; b++) {
            tg_conv_filters_beside_$N(a, j, width, b, filters);
            for (int64_t v = 0; v < k[1]; v += few)
                for (const tg_places_$N *g = begun; g < last; g++) {
                    const int64_t low = v > g->low[0] ? v : g->low[0], to = v + few;
                    const int64_t high = to < g->high[0] ? to : g->high[0];
                    const int64_t n = (g->high[1] - g->low[1]) * a->some;
                    if (low >= high || !n) continue;
                    const tg_conv_run run = {1, high - low, n, n, .row = row, .b_row = (k[2] * a->some - n) * width,
                                             .terms = terms};
                    const $T *const x = a->image + b * block + low * row + g->low[1] * a->some;
                    const $T *const w = filters + (low * k[2] + g->low[1]) * a->some * width;
                    tg_conv_fews_$N[g->rows / 4][width / LANES - 1](&run, x, g->from, w,
                                                                    sums + (g - begun) * ROWS * width, width);
                }
        }
        tg_conv_lay_down_$N(a, j, width, (begun - a->places) * ROWS, (last - a->places) * ROWS, sums);
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

/* Whether each filter reads one channel, and few filters the same: their rows are moved and multiplied by the taps. */
static inline int tg_conv_one_channel_$N(const tg_conv_shape *q)
{
    enum { FEW = 3 };
    return q->c == q->groups && (q->groups > 1 || q->f <= FEW);
}

/* Few pages and many products, of rows of taps that fill a first cache at most, each a line or two. */
static inline int tg_conv_many_taps_$N(const tg_conv_shape *q, int64_t taps)
{
    return taps >= 200 && taps >= 16 * (q->c / q->groups) && taps <= 768 * q->k[2];
}

/* How many elements of an image are read along a dimension, with zeros around. */
static inline int64_t tg_conv_read_$N(const tg_conv_shape *q, int d)
{
    return (q->out[d] - 1) * q->s[d] + (q->k[d] - 1) * q->e[d] + 1;
}

/* Few filters, for which packing a vector of places, as long as 16 products, takes too much: it is read where it lies,
   if an image stays in half of a second-level cache. Single taps are not copied for that. */
static inline int tg_conv_few_filters_$N(const tg_conv_shape *q, int64_t taps)
{
    enum { FEW = 32, TAPS = 48, CACHE = 524288 / sizeof($T) };
    const int64_t c = q->c / q->groups, size = tg_conv_read_$N(q, 0) * tg_conv_read_$N(q, 1) * tg_conv_read_$N(q, 2);
    return q->f / q->groups <= FEW && taps >= TAPS && taps > 2 * c && c * size <= CACHE;
}

/* What a tap of a channel costs as panels, for all filters, in products. Packing a place costs 7 or 16 of them, a
   filter, where vectors are long, what 120 places cost; reading it where it lies, a tenth of the products. Places fill
   whole vectors. Where images are read as they lie, a row of zeros and elements costs what 300 products do. */
static inline double tg_conv_panels_cost_$N(const tg_conv_$N *z)
{
    enum { ROWS = TG_CONV_ROWS_$N, LANES = TG_CONV_LANES_$N, LONG = sizeof(tg_lanes_$N) == 64 };
    enum { PLACE = LONG ? 7 : 16, PACKED = LONG ? 120 : 60 };
    const int64_t f = z->q.f / z->q.groups, high = (f + ROWS - 1) / ROWS * ROWS;
    if (tg_conv_few_filters_$N(&z->q, z->taps)) {
        const double places = 1.35 * (high + 1) * z->q.out[1] * (z->q.out[2] + (z->q.k[2] - 1) * z->q.e[2] / z->q.s[2]);
        return z->q.n * (places + 300.0 * (z->q.c / z->q.groups) * tg_conv_read_$N(&z->q, 1) / z->taps);
    }
    if (z->q.groups == 1 && tg_conv_one_channel_$N(&z->q)) return 2.0 * f * z->q.n * z->places;
    const double panels = (z->q.n * z->places + LANES - 1) / LANES * LANES * (high + PLACE);
    return tg_conv_lying_$N(z) ? 1.1 * panels : panels + PACKED * high;
}

/* The convolution this way, where what is left out and not packed outweighs that filters are laid out anew: measured,
   a tile takes 1.08 of a panel's time, laying out a filter that of 12 places, or of 20 where vectors are short, an
   element of the image that of 70 products. Sums are put down after each block of channels, whose taps must not be few.
   `other`: the cost of another way. Negative: not this way; 1: no memory. */
static TG_CONV int tg_conv_try_across_$N(tg_conv_$N *z, double other)
{
    enum { ROWS = TG_CONV_ROWS_$N, LANES = TG_CONV_LANES_$N, SHORT = 120, SOME = 200, PART = 512 };
    const tg_conv_shape *const q = &z->q;
    const int64_t c = q->c / q->groups, f = q->f / q->groups, taps = q->k[1] * q->k[2];
    if (q->k[0] > 1 || q->out[0] > 1 || q->before[0] || (q->k[2] > 1 && q->e[2] > 1) || c * taps < SHORT) return -1;
    const int64_t wide = (f + LANES - 1) / LANES * LANES, wholes = (wide / LANES + 2) / 3;
    const double inside = (double)tg_conv_taps_inside_$N(q, 1) * tg_conv_taps_inside_$N(q, 2);
    const double laid_out = (sizeof(tg_lanes_$N) < 64 ? 20 : 12) * wide + q->n * z->places * 70.0 / taps;
    if (inside > 0.95 * z->places * taps || 1.08 * inside * q->n / taps * wide + laid_out > other) return -1;
    tg_across_$N here = {z, .some = taps < SOME ? SOME / taps : 1}, *const a = &here;
    if (a->some > LANES) a->some -= a->some % LANES;
    a->blocks = (c + a->some - 1) / a->some;
    a->some = (c + a->blocks - 1) / a->blocks;
    a->image_size = q->in[1] * q->in[2] * a->blocks * a->some + 3 * LANES; /* lines do not meet in a set of a cache */
    const int64_t kinds = (2 * q->k[1] + 1) * (2 * q->k[2] + 1);
    a->places = malloc((q->n * z->places / ROWS + 3 * kinds) * sizeof *a->places);
    a->row = malloc(q->n * z->places * sizeof *a->row);
    if (!a->places || !a->row) return free(a->places), free(a->row), 1;
    tg_conv_kinds_$N(a);
    double rows = 0;
    for (int64_t i = 0; i < a->count; i++) {
        const tg_places_$N *const g = a->places + i;
        rows += (g->high[0] - g->low[0]) * (g->high[1] - g->low[1]) * g->rows;
    }
    if (1.08 * rows / taps * wide + laid_out > other) return free(a->places), free(a->row), -1;
    const int64_t jobs = tg_rt->parts(1 << 20, 1) / wholes; /* for all threads */
    const int64_t parts = (q->n * z->places + PART - 1) / PART; /* whose sums stay in a cache */
    a->parts = parts > jobs ? parts : jobs < a->count ? jobs : a->count;
    const int back = q->k[2] > 1 ? z->ws[4] == -1 : z->ws[3] == -1, step = back ? -1 : 1;
    a->along = z->ws[0] > 0 && (q->k[2] == 1 || z->ws[4] == step) && (q->k[1] == 1 || z->ws[3] == step * q->k[2]);
    a->back = back && a->along;
    a->image = malloc(q->n * a->image_size * sizeof *a->image);
    a->at = malloc(a->some * taps * sizeof *a->at);
    int failed = !a->image || !a->at;
    for (int64_t i = 0; i < a->some * taps && !failed; i++)
        a->at[i] = (a->back ? taps - 1 - i % taps : i % taps) * a->some + i / taps;
    for (z->group = 0; z->group < q->groups && !failed; z->group++) {
        tg_rt->parallel_for(tg_conv_beside_$N, a, q->n * q->in[1], 50000 / (q->in[2] * c + 1) + 1);
        const int64_t work = z->taps * f / wholes * q->n * z->places / a->parts / 16;
        tg_rt->parallel_for(tg_conv_across_$N, a, wholes * a->parts, 150000 / (work + 1) + 1);
        failed = z->failed;
    }
    free(a->image), free(a->at), free(a->row), free(a->places);
    return failed;
}
"""
