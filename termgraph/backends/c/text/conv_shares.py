"""C text of convolutions whose filters lie tap after tap along memory, as in images' gradients: shares are added up.

An element of the image has a share in the places around it, one for each tap: all shares are one product of matrices,
for which filters are only copied. Those of some filters stay in a cache until vectors of a row add them up. Pure text.
"""

from __future__ import annotations

SHARES = """
/* Elements of some images at a time, a set, in panels: [set][panel][channel][element]. */
typedef struct {
    tg_conv_$N *z;
    $T *elements;
    int64_t images, sets, some, taps, wide, pitch, blocks; /* wide: of a set; some: filters; blocks: vectors of a row */
    int back;                                              /* taps lie from the last to the first */
} tg_shares_$N;

/* Some channels of all sets. */
static TG_CONV void tg_conv_elements_$N(void *context, int64_t begin, int64_t end, int64_t part)
{
    enum { LANES = TG_CONV_LANES_$N };
    const tg_shares_$N *const a = context;
    const tg_conv_shape *const q = &a->z->q;
    const int64_t c = q->c / q->groups, size = q->in[1] * q->in[2], *const xs = a->z->xs;
    const int64_t row = xs[3] == xs[4] * q->in[2] ? size : q->in[2]; /* elements that are equally far apart */
    for (int64_t m = 0; m < q->n; m += a->images) {
        const int64_t all = (q->n - m < a->images ? q->n - m : a->images) * size;
        $T *const set = a->elements + m / a->images * a->wide * c;
        for (int64_t j = 0, width; j < all; j += width) {
            width = tg_conv_wide_$N(all - j) * LANES;
            for (int64_t d = begin; d < end; d++) {
                const $T *const from = a->z->x + (a->z->group * c + d) * xs[1];
                $T *const to = set + j * c + d * width;
                int64_t i = 0;
                for (int64_t run; i < width && j + i < all; i += run) {
                    const int64_t e = (j + i) % size, x = e % row;
                    const $T *const image = from + (m + (j + i) / size) * xs[0];
                    const $T *const at = image + e / q->in[2] * xs[3] + e % q->in[2] * xs[4];
                    run = row - x < width - i ? row - x : width - i;
                    if (xs[4] == 1) __builtin_memcpy(to + i, at, run * sizeof *to);
                    else for (int64_t u = 0; u < run; u++) to[i + u] = at[u * xs[4]];
                }
                for (; i < width; i++) to[i] = 0;
            }
        }
    }
}

/* The first tap along a dimension that lies over an element, for a place of the result. */
static inline int64_t tg_conv_first_$N(const tg_conv_shape *q, int d, int64_t place)
{
    if (q->s[d] == 1) return 0;
    const int32_t s = q->s[d], after = (int32_t)(q->before[d] - place) % s; /* there taps are beside each other */
    return after < 0 ? after + s : after;
}

/* Some filters of a group in panels of rows, each a line further: [filter and tap / rows][channel][rows]. */
static TG_CONV void tg_conv_copied_$N(const tg_shares_$N *a, int64_t first, int64_t count, $T *to, int64_t apart)
{
    enum { ROWS = TG_CONV_ROWS_$N, AHEAD = 4 };
    const tg_conv_$N *const z = a->z;
    const int64_t c = z->q.c / z->q.groups, step = z->ws[1];
    const $T *from = z->w + z->group * z->apart + first * a->taps - (a->back ? a->taps - 1 : 0);
    for (int64_t d = 0; d < c; d++, from += step, to += ROWS) {
        int64_t r = 0;
        for (; r + ROWS <= count; r += ROWS) {
            __builtin_prefetch(from + r + AHEAD * step);
            __builtin_memcpy(to + r / ROWS * apart, from + r, ROWS * sizeof *to);
        }
        for (int64_t u = 0; r < count && u < ROWS; u++) to[r / ROWS * apart + u] = r + u < count ? from[r + u] : 0;
    }
}

/* Rows of the result for some filters, each place the sum of its shares; lanes beside the image are masked. Elements
   may be one or two apart in the result: then a vector is every second place of a row. */
static TG_CONV void tg_conv_summed_$N(const tg_shares_$N *a, int64_t first, int64_t count, int64_t m, int64_t images,
                                      const $T *shares, const $I *masks, $T *line)
{
    enum { LANES = TG_CONV_LANES_$N };
    typedef $I lanes __attribute__((vector_size(sizeof(tg_lanes_$N)), aligned(sizeof($T)), may_alias));
    const tg_conv_shape *const q = &a->z->q;
    const int64_t *const k = q->k, *const e = q->e, *const s = q->s, size = q->in[1] * q->in[2], width = q->out[2];
    const int64_t far = a->back ? -a->pitch : a->pitch, step = s[2] * far + e[2], wide = a->blocks * LANES;
    shares += a->back ? (a->taps - 1) * a->pitch : 0;
    for (int64_t j = 0; j < count; j++, shares += a->taps * a->pitch)
        for (int64_t i = 0; i < images; i++) {
            $T *const to = a->z->y + ((m + i) * q->f + a->z->group * (q->f / q->groups) + first + j) * a->z->places;
            for (int64_t y = 0; y < q->out[1]; y++) {
                const int64_t v0 = tg_conv_first_$N(q, 1, y), row0 = (y - q->before[1] + v0 * e[1]) / s[1];
                for (int64_t p = 0; p < s[2]; p++) {
                    const int64_t u0 = tg_conv_first_$N(q, 2, p), x0 = (p - q->before[2] + u0 * e[2]) / s[2];
                    const $T *const there = shares + i * size + u0 * far + x0;
                    for (int64_t b = 0; b < a->blocks; b++) {
                        tg_lanes_$N sum = {0};
                        for (int64_t v = v0, row = row0; v < k[1]; v += s[1], row += e[1]) {
                            if (row < 0 || row >= q->in[1]) continue;
                            const $T *from = there + v * k[2] * far + row * q->in[2] + b * LANES;
                            const $I *mask = masks + (b * k[2] + u0) * LANES;
                            for (int64_t u = u0; u < k[2]; u += s[2], from += step, mask += s[2] * LANES)
                                sum += (tg_lanes_$N)(*(const lanes *)from & *(const lanes *)mask);
                        }
                        const int64_t at = y * width + b * LANES; /* the next row writes over the rest */
                        const int64_t left = a->z->places - at;
                        if (s[2] > 1) *(tg_lanes_$N *)(line + p * wide + b * LANES) = sum;
                        else if (left >= LANES) *(tg_lanes_$N *)(to + at) = sum;
                        else __builtin_memcpy(to + at, &sum, left * sizeof *to);
                    }
                }
                $T *restrict const row = to + y * width;
                const $T *restrict const one = line;
                if (s[2] == 2) /* which compilers make vectors of */
                    for (int64_t x = 0; x < width / 2; x++) row[2 * x] = one[x], row[2 * x + 1] = one[wide + x];
                if (s[2] == 2 && width % 2) row[width - 1] = one[width / 2];
            }
        }
}

/* Some filters for some sets, counted set by set. */
static TG_CONV void tg_conv_shared_$N(void *context, int64_t begin, int64_t end, int64_t part)
{
    enum { ROWS = TG_CONV_ROWS_$N, LANES = TG_CONV_LANES_$N, SOME = 160 };
    const tg_shares_$N *const a = context;
    tg_conv_$N *const z = a->z;
    const tg_conv_shape *const q = &z->q;
    const int64_t c = q->c / q->groups, f = q->f / q->groups, size = q->in[1] * q->in[2];
    const int64_t most = (a->some * a->taps + ROWS - 1) / ROWS, apart = c * ROWS + LANES, reach = q->k[2] * q->e[2];
    const int64_t before = q->before[2] < 0 ? -q->before[2] : q->before[2], line = a->blocks * LANES;
    const int64_t around = before + reach + line + LANES, room = most * ROWS * a->pitch + 2 * around;
    $T *const packed = malloc((most * apart + room + q->s[2] * line) * sizeof *packed);
    $T *const shares = packed + most * apart + around;
    $I *const masks = malloc(a->blocks * q->k[2] * LANES * sizeof *masks);
    if (!packed || !masks) z->failed = 1;
    else {
        for (int64_t i = 0; i < a->blocks * q->k[2] * LANES; i++) {
            const int64_t s = q->s[2], from = i / LANES % q->k[2] * q->e[2] - q->before[2];
            const int64_t at = from >= 0 ? (from + s - 1) / s : -(-from / s); /* of the first place it lies over */
            const int64_t x = i / LANES / q->k[2] * LANES + i % LANES + at;
            masks[i] = x >= 0 && x < q->in[2] ? -1 : 0;
        }
        for (int64_t job = begin; job < end; job++) {
            const int64_t first = job / a->sets * a->some, m = job % a->sets * a->images;
            const int64_t count = f - first < a->some ? f - first : a->some, numbers = count * a->taps;
            const int64_t images = q->n - m < a->images ? q->n - m : a->images, all = images * size;
            const $T *const set = a->elements + job % a->sets * a->wide * c;
            if (job == begin || job % a->sets == 0) tg_conv_copied_$N(a, first, numbers, packed, apart);
            for (int64_t j = 0, width; j < all; j += width) {
                width = tg_conv_wide_$N(all - j) * LANES;
                tg_conv_forward_tile_$N *const tile = tg_conv_forwards_$N[width / LANES - 1];
                for (int64_t i = 0; i < c; i += SOME) /* sums of few numbers, added up: fewer digits are lost */
                    for (int64_t r = 0; r < numbers; r += ROWS)
                        tile(c - i < SOME ? c - i : SOME, packed + r / ROWS * apart + i * ROWS,
                             set + j * c + i * width, shares + r * a->pitch + j, a->pitch, i > 0);
            }
            tg_conv_summed_$N(a, first, count, m, images, shares, masks, packed + most * apart + room);
        }
    }
    free(packed), free(masks);
}

/* How this way would go about a convolution, and what a tap of a channel costs for all filters, in products: measured,
   a tile takes 1.05 of a panel's time, adding up a vector of shares that of three products, or of nine where elements
   are `moved` apart, copying a filter that of 12 places. Negative: it is not for this convolution. */
static TG_CONV double tg_conv_shares_cost_$N(tg_conv_$N *z, tg_shares_$N *a, int moved)
{
    enum { LANES = TG_CONV_LANES_$N, FEWEST = 32, SOME = 16, SET = 256 << 10, LARGEST = 400 << 10 };
    const tg_conv_shape *const q = &z->q;
    const int64_t *const ws = z->ws, *const k = q->k, c = q->c / q->groups, f = q->f / q->groups;
    const int64_t size = q->in[1] * q->in[2], taps = k[1] * k[2];
    const int back = k[1] > 1 ? ws[3] < 0 : ws[4] < 0, one = back ? -1 : 1;
    if (k[0] > 1 || q->out[0] > 1 || q->before[0]) return -1;
    for (int d = 1; d < 3; d++)
        if (q->s[d] > 1 && (!moved || q->s[d] > 2 || q->e[d] > 1)) return -1;
    if (taps == 1 || !size || c < FEWEST) return -1;
    if (ws[0] != taps || (k[2] > 1 && ws[4] != one) || (k[1] > 1 && ws[3] != one * k[2])) return -1;
    *a = (tg_shares_$N){z, .taps = taps, .back = back, .some = SOME};
    if (a->some > f) a->some = f;
    while (moved && a->some > 8 && a->some * taps * size * (int64_t)sizeof *z->y > LARGEST) a->some /= 2;
    const int64_t image = a->some * taps * size * (int64_t)sizeof *z->y;
    if (image > LARGEST) return -1;
    a->images = image < SET ? SET / image : 1;
    if (a->images > q->n) a->images = q->n;
    a->sets = (q->n + a->images - 1) / a->images;
    a->images = (q->n + a->sets - 1) / a->sets;
    a->wide = a->pitch = (a->images * size + LANES - 1) / LANES * LANES;
    if (a->pitch * sizeof *z->y % 1024 == 0) a->pitch += LANES; /* rows do not meet in one set of a cache */
    a->blocks = ((q->out[2] + q->s[2] - 1) / q->s[2] + LANES - 1) / LANES;
    const double vectors = q->n * ((q->out[1] + q->s[1] - 1) / q->s[1]) * a->blocks; /* of a tap */
    return 1.05 * f * (a->sets * a->wide + 12 + (moved ? 9.0 : 3.0) * vectors * LANES / c);
}

/* The convolution this way. Nonzero: no memory. */
static TG_CONV int tg_conv_by_shares_$N(tg_shares_$N *a)
{
    tg_conv_$N *const z = a->z;
    const tg_conv_shape *const q = &z->q;
    const int64_t c = q->c / q->groups, f = q->f / q->groups, jobs = (f + a->some - 1) / a->some * a->sets;
    a->elements = malloc(a->sets * a->wide * c * sizeof *a->elements);
    int failed = !a->elements;
    for (z->group = 0; z->group < q->groups && !failed; z->group++) {
        tg_rt->parallel_for(tg_conv_elements_$N, a, c, 50000 / (q->n * q->in[1] * q->in[2] + 1) + 1);
        tg_rt->parallel_for(tg_conv_shared_$N, a, jobs, 150000 / (a->some * a->taps * a->wide * c / 16 + 1) + 1);
        failed = z->failed;
    }
    free(a->elements);
    return failed;
}
"""
