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
                    const int64_t lines = step == q->out[2] ? 1 : count, n = count / lines * q->out[2];
                    for (int64_t r = begin; r < end; r++) /* rows without gaps are one */
                        tg_conv_tapss_$N[width / LANES - 1](lines, n, at, z->off + r * ROWS, step, turned,
                                                            sums + (r - begin) * ROWS * width, width);
                }
        for (int64_t u = 0; u < width && j + u < f; u++)
            for (int64_t i = begin * ROWS; i < end * ROWS && i < z->taps; i++)
                z->y[(z->group * f + j + u) * z->taps + i] = sums[(i - begin * ROWS) * width + u];
    }
    free(sums);
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
__all__ = ["TAPS"]
