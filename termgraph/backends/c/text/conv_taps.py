"""C text of the gradients of filters: taps are single numbers of the image, read where they lie. Pure text.

They are multiplied with the cotangent, places by filters, a tile of taps and filters at a time.
"""

from __future__ import annotations

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

/* The places of a dimension at which a tap reads an element of the image. */
static inline void tg_conv_reached_$N(const tg_conv_shape *q, int d, int64_t tap, int64_t *first, int64_t *last)
{
    const int64_t at = tap * q->e[d] - q->before[d], s = q->s[d], left = q->in[d] - at;
    *first = at < 0 ? (s - 1 - at) / s : 0;
    *last = left > 0 ? (left + s - 1) / s : 0;
    *last = *last > q->out[d] ? q->out[d] : *last;
}

/* Some tiles of taps, for all filters of a group: their sums stay in registers over blocks of rows, or of images.
   Rows of a tile are taps that follow each other, or one tap of several channels at the places where it is inside. */
static TG_CONV void tg_conv_tap_rows_$N(void *context, int64_t begin, int64_t end, int64_t part)
{
    enum { ROWS = TG_CONV_ROWS_$N, LANES = TG_CONV_LANES_$N, FEW = 200, FEW_TAPS = 16 };
    tg_conv_$N *const z = context;
    const tg_conv_shape *const q = &z->q;
    const int64_t f = q->f / q->groups, c = q->c / q->groups, k2 = q->k[2], *const xs = z->xs;
    const int64_t image = z->inside ? xs[0] : q->c * z->plane, line = z->inside ? xs[3] : z->pw;
    const int64_t step = (z->inside ? q->s[1] : q->s[1] / z->phases) * line;
    const $T *const xp = z->images + z->group * c * (z->inside ? xs[1] : z->plane);
    const int64_t apart = z->inside ? q->k[1] * k2 : 1, first = begin * ROWS * apart; /* taps from row to row */
    const int64_t last = end * ROWS * apart < z->taps ? end * ROWS * apart : z->taps;
    const int64_t all = q->n * z->places; /* adding up parts takes time where there are many taps */
    const int64_t terms = tg_conv_equal(all, tg_conv_terms(all, z->taps <= FEW_TAPS ? 48 : all > 320 ? 160 : 96));
    $T *const sums = malloc((end - begin) * ROWS * apart * 3 * LANES * sizeof *sums);
    if (!sums) { z->failed = 1; return; }
    for (int64_t j = 0, width; j < f; j += width) {
        width = tg_conv_wide_$N(f - j) * LANES;
        const int64_t of_cache = (192 << 10) / (int64_t)sizeof(*sums) / width; /* places whose panel stays there */
        const int64_t block = of_cache < q->out[2] ? 1 : of_cache / q->out[2];
        int64_t images = (z->inside ? of_cache : FEW) / z->places; /* long lines gain more from the first cache */
        if (images < 1 || q->out[0] > 1) images = 1;
        __builtin_memset(sums, 0, (end - begin) * ROWS * apart * width * sizeof *sums);
        for (int64_t m = 0; m < q->n; m += images)
            for (int64_t d = 0; d < q->out[0]; d++)
                for (int64_t y = 0; y < q->out[1]; y += block)
                    for (int64_t i = begin * apart; i < end * apart; i++) {
                        const int64_t r = i / apart, tap = i % apart;
                        int64_t y0 = y, y1 = q->out[1] - y < block ? q->out[1] : y + block, x0 = 0, x1 = q->out[2];
                        const $T *at = xp + m * image + d * q->s[0] * q->s[2] * z->phases * z->ph * z->pw;
                        if (z->inside) {
                            int64_t from, to;
                            tg_conv_reached_$N(q, 1, tap / k2, &from, &to);
                            tg_conv_reached_$N(q, 2, tap % k2, &x0, &x1);
                            y0 = from > y0 ? from : y0, y1 = to < y1 ? to : y1;
                            if (y0 >= y1 || x0 >= x1) continue;
                            at += (tap / k2 * q->e[1] - q->before[1]) * line + tap % k2 * q->e[2] - q->before[2];
                        }
                        const int64_t n = x1 - x0, rows = y1 - y0, whole = n == q->out[2];
                        const $T *const panel = z->packed + m * z->places * z->rows + j * z->places;
                        tg_conv_run run = {.images = q->n - m < images ? q->n - m : images, .rows = rows, .n = n,
                                           .last = n, .terms = terms};
                        run.row = step, run.image = image - rows * step;
                        run.b_row = (q->out[2] - n) * width;
                        run.b_image = z->places * z->rows - rows * q->out[2] * width;
                        if (whole && step == n) { /* rows without gaps are one: its parts are rows */
                            run.n = tg_conv_equal(rows * n, terms);
                            run.rows = (rows * n + run.n - 1) / run.n;
                            run.last = rows * n - (run.rows - 1) * run.n;
                            run.row = run.n, run.image = image - run.rows * run.n;
                        }
                        tg_conv_tapss_$N[width / LANES - 1](
                            &run, at + y0 * step + x0, z->off + r * ROWS,
                            panel + ((d * q->out[1] + y0) * q->out[2] + x0) * width,
                            sums + ((r - begin) * ROWS * apart + tap) * width, apart * width);
                    }
        for (int64_t u = 0; u < width && j + u < f; u += LANES) {
            const int64_t filters = f - j - u < LANES ? f - j - u : LANES;
            const $T *const from = sums + u;
            $T *const to = z->y + (z->group * f + j + u) * z->taps + first;
            int64_t i = 0;
            if (filters == LANES)
                for (; i + LANES <= last - first; i += LANES)
                    tg_conv_transposed_$N(from + i * width, width, to + i, z->taps);
            for (; i < last - first; i++)
                for (int64_t v = 0; v < filters; v++) to[v * z->taps + i] = from[i * width + v];
        }
    }
    free(sums);
}

/* Whether images are read where they lie, each tap at the places where it is inside: if many taps are outside of them,
   and channels fill the rows of tiles. */
static TG_CONV int tg_conv_tries_inside_$N(tg_conv_$N *z)
{
    enum { ROWS = TG_CONV_ROWS_$N };
    const tg_conv_shape *const q = &z->q;
    const int64_t c = q->c / q->groups, taps = q->k[1] * q->k[2], blocks = (c + ROWS - 1) / ROWS;
    if (q->k[0] > 1 || q->out[0] > 1 || q->in[0] > 1 || q->before[0] || q->s[2] > 1 || z->xs[4] != 1) return 0;
    int64_t inside = 0, from[2], to[2];
    for (int64_t t = 0; t < taps; t++) {
        tg_conv_reached_$N(q, 1, t / q->k[2], from, to);
        tg_conv_reached_$N(q, 2, t % q->k[2], from + 1, to + 1);
        if (to[0] > from[0] && to[1] > from[1]) inside += (to[0] - from[0]) * (to[1] - from[1]);
    }
    z->places = q->out[1] * q->out[2], z->taps = c * taps;
    if (inside * blocks * ROWS > 0.95 * z->places * z->taps) return 0;
    z->off = malloc(blocks * ROWS * sizeof *z->off);
    for (int64_t i = 0; z->off && i < blocks * ROWS; i++) z->off[i] = (i < c ? i : c - 1) * z->xs[1];
    z->images = z->x;
    return 1;
}

/* The gradient of the filters. Nonzero: no memory. */
TG_APART TG_CONV int
tg_conv_taps_$N(tg_conv_shape shape, const $T *x, const int64_t *xs, const $T *g, const int64_t *gs, $T *y)
{
    enum { ROWS = TG_CONV_ROWS_$N, LANES = TG_CONV_LANES_$N };
    int64_t steps[5];
    tg_conv_single_$N(&shape, &xs, steps);
    tg_conv_$N here = {shape, x, .g = g, .xs = xs, .gs = gs, .y = y}, *const z = &here;
    const int64_t f = shape.f / shape.groups, c = shape.c / shape.groups;
    const int64_t size = shape.f * c * shape.k[0] * shape.k[1] * shape.k[2];
    if (size == 0) return 0;
    if (shape.n * shape.out[0] * shape.out[1] * shape.out[2] == 0) return __builtin_memset(y, 0, size * sizeof *y), 0;
    z->bounded = 1;
    z->inside = tg_conv_tries_inside_$N(z);
    int failed = z->inside ? !z->off : tg_conv_begin_$N(z);
    for (int64_t j = 0; j < f; j += tg_conv_wide_$N(f - j) * LANES) z->rows = j + tg_conv_wide_$N(f - j) * LANES;
    z->packed = failed ? 0 : malloc((shape.n * z->places * z->rows + LANES) * sizeof *y);
    failed |= !z->packed;
    const int64_t each = ROWS * (z->inside ? shape.k[1] * shape.k[2] : 1); /* taps of some tiles */
    const int64_t tiles = (z->taps + each - 1) / each;
    const int64_t work = shape.n * z->places * f * each / 16 + 1; /* of one of them */
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
