"""C text of the gradients of images where filters move by more than one. Pure text.

Elements at one place modulo the stride get their shares from the same taps: they are a convolution that moves by one,
with these taps turned and channels exchanged with filters. All of them read the cotangent with the same zeros around;
their results are laid between each other row by row. Where that costs less, shares are added up (`conv_shares`).
"""

from __future__ import annotations

SPREAD = """
/* The images' gradient: what was computed for each place modulo the strides, one after the other. */
typedef struct {
    int64_t image[3], taps[3], s[3], shift[3], count[3], size; /* shift: the place of the first element */
    const $T *parts, *zeros;
    $T *y;
    const tg_conv_$N *whole;
} tg_conv_parts_$N;

/* A row of an image: rows of the parts between each other, two at a time. Where no tap reads, there are zeros. */
static inline void tg_conv_lay_row_$N(const tg_conv_parts_$N *z, $T *restrict to, int64_t part, int64_t row, int read)
{
    const int64_t step = z->s[2], whole = z->image[2] / step, rest = z->image[2] - whole * step;
    for (int64_t e = 0; e < step; e += 2) {
        const $T *from[2];
        for (int64_t b = 0; b < 2; b++) {
            const int64_t after = e + b + z->shift[2], at = after < step ? after : after - step;
            from[b] = read && at < z->taps[2] ? z->parts + (part + at) * z->size + row : z->zeros;
        }
        const $T *const restrict one = from[0], *const restrict two = from[1];
        const int64_t count = whole + (e < rest), pairs = e + 1 < step ? whole + (e + 1 < rest) : 0;
        if (step == 2)
            for (int64_t j = 0; j < pairs; j++) to[2 * j] = one[j], to[2 * j + 1] = two[j];
        else
            for (int64_t j = 0; j < pairs; j++) to[e + j * step] = one[j], to[e + j * step + 1] = two[j];
        for (int64_t j = pairs; j < count; j++) to[e + j * step] = one[j];
    }
}

/* Some planes of the images. */
static TG_CONV void tg_conv_lay_$N(void *context, int64_t begin, int64_t end, int64_t part)
{
    const tg_conv_parts_$N *const z = context;
    const int64_t *const n = z->image, *const s = z->s, *const shift = z->shift;
    $T *to = z->y + begin * n[0] * n[1] * n[2];
    for (int64_t plane = begin; plane < end; plane++) {
        for (int64_t d = 0; d < n[0]; d++) {
            const int64_t u = d + shift[0], pu = u % s[0], ru = u / s[0] - (pu < shift[0]);
            const int64_t rows = (plane * z->count[0] + ru) * z->count[1];
            for (int64_t r = 0, v = shift[1], turn = 0; r < n[1]; r++, to += n[2]) { /* v: modulo the stride */
                const int64_t row = (rows + turn - (v < shift[1])) * z->count[2];
                tg_conv_lay_row_$N(z, to, (pu * s[1] + v) * s[2], row, pu < z->taps[0] && v < z->taps[1]);
                if (++v == s[1]) v = 0, turn++;
            }
        }
        if (z->whole->left) tg_conv_there_$N(z->whole, plane / z->whole->q.c, 1);
    }
}

/* What a tap of a channel costs in one of the parts, in products: measured, packing a place costs 16 and packing a
   filter what 60 places cost. */
static inline double tg_conv_parts_cost_$N(const tg_conv_$N *z, int64_t places)
{
    enum { ROWS = TG_CONV_ROWS_$N, LANES = TG_CONV_LANES_$N };
    const int64_t high = (z->q.f / z->q.groups + ROWS - 1) / ROWS * ROWS;
    return (z->q.n * places + LANES - 1) / LANES * LANES * (high + 16.0) + 60.0 * high;
}

/* The same as shares of the cotangent in the places around, if that costs less than parts. Negative: it does not. */
static TG_CONV int tg_conv_spread_shares_$N(const tg_conv_$N *parts, int64_t places, const tg_conv_$N *whole, $T *y)
{
    const tg_conv_shape *const shape = &whole->q;
    int64_t steps[5];
    tg_conv_$N here = *parts, *const z = &here;
    for (int d = 0; d < 5; d++) steps[d] = z->ws[d];
    z->ws = steps, z->w = whole->w, z->y = y;
    for (int d = 0; d < 3; d++) {
        const int64_t last = shape->k[d] - 1;
        z->q.k[d] = shape->k[d], z->q.s[d] = shape->s[d], z->q.out[d] = shape->in[d];
        z->q.before[d] = last * shape->e[d] - shape->before[d];
        z->w += last * whole->ws[2 + d], steps[2 + d] = -whole->ws[2 + d];
    }
    z->places = shape->in[1] * shape->in[2];
    tg_shares_$N shares;
    const double cost = tg_conv_shares_cost_$N(z, &shares, 1);
    return cost >= 0 && cost < tg_conv_parts_cost_$N(parts, places) ? tg_conv_by_shares_$N(&shares) : -1;
}

/* The gradient of the images of a convolution of this shape. Nonzero: no memory. */
TG_APART TG_CONV int
tg_conv_spread_$N(tg_conv_shape shape, const $T *w, const int64_t *ws, const $T *g, const int64_t *gs, $T *y,
                  tg_conv_after after)
{
    const int64_t size = shape.n * shape.c * shape.in[0] * shape.in[1] * shape.in[2], each = shape.f / shape.groups;
    tg_conv_$N whole = {shape, .after = after};
    tg_conv_before_$N(&whole);
    if (size && shape.f == 0) __builtin_memset(y, 0, size * sizeof *y);
    if (size == 0 || shape.f == 0) return tg_conv_after_$N(&whole, shape.n, 0);
    const int64_t steps[5] = {ws[1], ws[0], -ws[2] * shape.s[0], -ws[3] * shape.s[1], -ws[4] * shape.s[2]};
    tg_conv_$N here = {shape, g, .xs = gs, .ws = steps, .apart = each * ws[0]}, *const z = &here;
    tg_conv_parts_$N all = {.y = y};
    int64_t most[3], count = 1;
    z->q.c = shape.f, z->q.f = shape.c;
    for (int d = 0; d < 3; d++) {
        const int64_t s = shape.s[d], before = shape.before[d];
        most[d] = (shape.k[d] + s - 1) / s;
        all.image[d] = shape.in[d], all.taps[d] = shape.k[d], all.s[d] = s, all.shift[d] = before % s;
        z->q.in[d] = shape.out[d], z->q.k[d] = most[d], z->q.s[d] = 1;
        all.count[d] = (shape.in[d] + s - 1) / s;
        z->q.out[d] = all.count[d] + (before % s > 0); /* from the first place to the last */
        z->q.before[d] = (most[d] - 1) * shape.e[d] - before / s;
        count *= s;
    }
    z->bounded = !tg_conv_one_channel_$N(&z->q);
    whole.w = w, whole.ws = ws;
    const int shared = tg_conv_spread_shares_$N(z, all.count[0] * all.count[1] * all.count[2], &whole, y);
    if (shared >= 0) return tg_conv_after_$N(&whole, shape.n, shared);
    int failed = tg_conv_begin_$N(z);
    for (int d = 0; d < 3; d++) z->q.out[d] = all.count[d];
    z->places = all.count[0] * all.count[1] * all.count[2];
    all.size = shape.n * shape.c * z->places;
    $T *const parts = failed ? 0 : malloc((count * all.size + all.count[2] + 2) * sizeof *parts);
    failed |= !parts;
    for (int64_t p = 0; p < count && !failed; p++) {
        const int64_t first[3] = {p / shape.s[2] / shape.s[1], p / shape.s[2] % shape.s[1], p % shape.s[2]};
        int64_t at = 0, late[3]; /* places before the first element of the image are left out */
        z->taps = each;
        for (int d = 0; d < 3; d++) {
            late[d] = first[d] < all.shift[d];
            z->q.k[d] = first[d] < shape.k[d] ? (shape.k[d] - first[d] + shape.s[d] - 1) / shape.s[d] : 0;
            z->taps *= z->q.k[d];
            at += (first[d] + shape.s[d] * (z->q.k[d] - 1)) * ws[2 + d];
        }
        if (!z->taps) continue;
        for (int64_t i = 0; i < z->taps + 8; i++) { /* windows of fewer taps begin later */
            const int64_t t = i < z->taps ? i : z->taps - 1, *const k = z->q.k, *const e = shape.e;
            const int64_t u = (t % k[2] + most[2] - k[2]) * e[2] + late[2];
            const int64_t v = (t / k[2] % k[1] + most[1] - k[1]) * e[1] + late[1];
            const int64_t d = (t / k[2] / k[1] % k[0] + most[0] - k[0]) * e[0] + late[0];
            z->off[i] = t / k[2] / k[1] / k[0] * z->plane + (d * z->ph + v) * z->pw + u;
        }
        z->w = w + at, z->y = parts + p * all.size;
        failed = tg_conv_products_$N(z);
    }
    if (!failed) {
        $T *const zeros = parts + count * all.size;
        for (int64_t j = 0; j < all.count[2] + 2; j++) zeros[j] = 0;
        all.parts = parts, all.zeros = zeros, all.whole = &whole;
        tg_conv_count_$N(&whole, shape.c);
        tg_rt->parallel_for(tg_conv_lay_$N, &all, shape.n * shape.c, 100000 / (size / (shape.n * shape.c)) + 1);
    }
    free(parts), free(z->room), free(z->off);
    return tg_conv_after_$N(&whole, shape.n, failed);
}
"""
