"""C text of convolutions as products of panels that are packed from the image. Pure text.

A panel holds some taps of as many places as a tile is wide, counted through all images; it is used for all filters
before the next one is packed. Filters are packed in chunks of taps that fill half of a second-level cache, each used
for all places before the next one; for few places they are read where they lie. The sums of tiles that lie in several
images are kept from chunk to chunk.
"""

from __future__ import annotations

FORWARD = """
/* Some places, a vector at a time: it is read `from` there and goes to columns `at`; the next writes over its rest. */
typedef struct {
    int64_t begin, width, count, vectors;
    int32_t at[3 * TG_CONV_LANES_$N];
    int64_t from[3 * TG_CONV_LANES_$N];
} tg_panel_$N;

/* A chunk of the filters of a group in panels of rows: [filters / rows][tap][rows]. */
static TG_CONV void tg_conv_filters_$N(void *context, int64_t begin, int64_t end, int64_t part)
{
    enum { ROWS = TG_CONV_ROWS_$N };
    const tg_conv_$N *const z = context;
    const int64_t f = z->q.f / z->q.groups, *const ws = z->ws, *const at = z->at + z->first;
    const int64_t n = z->taps - z->first < z->chunk ? z->taps - z->first : z->chunk;
    const int64_t span = ws[0] < ws[1] ? 32 : n; /* taps for which all filters are packed: reading along memory */
    for (int64_t from = 0; from < n; from += span)
        for (int64_t r = begin * ROWS; r < end * ROWS; r += ROWS) {
            const int64_t rows = f - r < ROWS ? f - r : ROWS, to = from + span < n ? from + span : n;
            const $T *const first = z->w + z->group * z->apart + r * ws[0];
            $T *const here = z->packed + r * n;
            if (rows == ROWS && ws[0] == 1)
                for (int64_t i = from; i < to; i++)
                    __builtin_memcpy(here + i * ROWS, first + at[i], ROWS * sizeof *here);
            else if (rows == ROWS)
                for (int64_t i = from; i < to; i++) {
                    const int64_t step = ws[0], ahead = 2 * ROWS * step;
                    const $T *const tap = first + at[i];
                    $T *const row = here + i * ROWS;
                    if (span < n) { TG_ROWS_$N(TG_OF, TG_AHEAD) }
                    TG_ROWS_$N(TG_OF, TG_PICKED)
                }
            else
                for (int64_t i = from * ROWS; i < to * ROWS; i++) here[i] = 0;
            for (int64_t u = 0; u < rows && rows < ROWS; u++)
                for (int64_t i = from; i < to; i++) here[i * ROWS + u] = first[u * ws[0] + at[i]];
        }
}

/* Some blocks of places, for all filters of a group and the taps of a chunk. */
static TG_CONV void tg_conv_blocks_$N(void *context, int64_t begin, int64_t end, int64_t part)
{
    enum { ROWS = TG_CONV_ROWS_$N, LANES = TG_CONV_LANES_$N, WIDE = 3 * LANES };
    tg_conv_$N *const z = context;
    const tg_conv_shape *const q = &z->q;
    const int64_t f = q->f / q->groups, fr = (f + ROWS - 1) / ROWS * ROWS, p0 = z->first;
    const int64_t n = z->taps - p0 < z->chunk ? z->taps - p0 : z->chunk;
    const int64_t terms = tg_conv_equal(n, tg_conv_terms(z->taps, 96)), all = q->n * z->places, image = q->c * z->plane;
    const int64_t per_panel = n * WIDE + LANES;
    const $T *const xp = z->images + z->group * (q->c / q->groups) * z->plane, *const last = z->end - LANES;
    const $T *const w = z->w + z->group * z->apart;
    tg_panel_$N *const panels = malloc(z->block * sizeof *panels);
    $T *const b = malloc((z->block * per_panel + ROWS * WIDE + 2 * LANES) * sizeof *b);
    $T *const t = b + z->block * per_panel + LANES; /* the sums of a tile that does not lie in the result as it is */
    if (!panels || !b) z->failed = 1;
    else
    for (int64_t block = begin; block < end; block++) {
        int64_t j0 = block * z->block * WIDE, count = 0;
        for (; count < z->block && j0 < all; count++) {
            tg_panel_$N *const a = panels + count;
            a->begin = j0, a->width = tg_conv_wide_$N(all - j0) * LANES, a->vectors = 0;
            if (count + 1 == z->block && a->width < WIDE && all - j0 > a->width) a->width = WIDE;
            a->count = all - j0 < a->width ? all - j0 : a->width;
            for (int64_t i = 0, run; i < a->count; i += run) {
                const int64_t from = tg_conv_place_$N(z, (j0 + i) % z->places, &run);
                if (run > a->count - i) run = a->count - i;
                for (int64_t d = 0; d < run; d += LANES) {
                    a->at[a->vectors] = i + d;
                    a->from[a->vectors++] = (j0 + i) / z->places * image + from + d;
                }
            }
            j0 += a->width;
        }
        for (int64_t i = 0; i < n; i++) {
            const $T *const source = xp + z->off[p0 + i];
            for (int64_t e = 0; e < count; e++) {
                const tg_panel_$N *const a = panels + e;
                $T *const row = b + e * per_panel + i * a->width;
                const int64_t vectors = a->vectors;
                for (int64_t u = 0; u < vectors; u++) {
                    const $T *const from = source + a->from[u];
                    if (from <= last) *(tg_lanes_$N *)(row + a->at[u]) = *(const tg_lanes_$N *)from;
                    else __builtin_memcpy(row + a->at[u], from, (last + LANES - from) * sizeof *row);
                }
            }
        }
        for (int64_t e = 0; e < count; e++) {
            const tg_panel_$N *const a = panels + e;
            const int64_t m = a->begin / z->places, o = a->begin % z->places, width = a->width;
            tg_conv_forward_tile_$N *const tile = tg_conv_forwards_$N[width / LANES - 1];
            const int inside = a->count == width && o + width <= z->places;
            $T *const sums = z->sums ? z->sums + (block * z->block + e) * fr * WIDE : 0;
            for (int64_t r = 0; r < f; r += ROWS) {
                const int direct = inside && r + ROWS <= f;
                $T *const y = z->y + (m * q->f + z->group * f + r) * z->places + o;
                $T *const to = direct ? y : sums ? sums + r * width : t;
                const int64_t ldc = direct ? z->places : width;
                const int more = p0 > 0 && to != t;
                for (int64_t i = 0; i < n; i += terms) {
                    const int64_t some = n - i < terms ? n - i : terms;
                    const $T *const panel = b + e * per_panel + i * width;
                    if (z->strided)
                        tg_conv_strideds_$N[width / LANES - 1](some, w + r * z->ws[0], z->at + p0 + i, z->ws[0],
                                                               panel, to, ldc, i > 0 || more);
                    else tile(some, z->packed + r * n + i * ROWS, panel, to, ldc, i > 0 || more);
                }
                if (direct || (sums && p0 + n < z->taps)) continue;
                for (int64_t u = 0; u < ROWS && r + u < f; u++)
                    for (int64_t i = 0, im = m, at = o, run; i < a->count; i += run, im++, at = 0) {
                        $T *restrict one = z->y + (im * q->f + z->group * f + r + u) * z->places + at;
                        const $T *restrict from = to + u * width + i;
                        run = z->places - at < a->count - i ? z->places - at : a->count - i;
                        if (p0 && !sums) for (int64_t d = 0; d < run; d++) one[d] += from[d];
                        else for (int64_t d = 0; d < run; d++) one[d] = from[d];
                    }
            }
        }
        if (z->left && p0 + n == z->taps) /* for the last time */
            tg_conv_places_there_$N(z, panels->begin, panels[count - 1].begin + panels[count - 1].count);
    }
    free(panels), free(b);
}

/* A vector of places, some of which may be between rows: those from `lane` on are `count` places from `place` on. */
typedef struct tg_vector_$N {
    int64_t from, pieces;
    struct { int32_t lane, count; int64_t place; } piece[TG_CONV_LANES_$N];
} tg_vector_$N;

/* The places of an image as few vectors that lie along memory; how many there are. */
static TG_CONV int64_t tg_conv_vectors_$N(const tg_conv_$N *z, tg_vector_$N *all)
{
    int64_t n = 0, run;
    for (int64_t o = 0; o < z->places; n++) {
        const int64_t from = tg_conv_place_$N(z, o, &run);
        int64_t pieces = 0, lane = 0;
        while (lane >= 0 && lane < TG_CONV_LANES_$N && o < z->places) {
            const int64_t left = TG_CONV_LANES_$N - lane, count = run < left ? run : left;
            if (all) all[n].piece[pieces].lane = lane, all[n].piece[pieces].count = count;
            if (all) all[n].piece[pieces].place = o;
            pieces++, o += count;
            if (o < z->places) lane = tg_conv_place_$N(z, o, &run) - from;
        }
        if (all) all[n].from = from, all[n].pieces = pieces;
    }
    return n;
}

/* Less than a vector: by halves, and halves of these. */
static inline void tg_conv_put_some_$N($T *to, const $T *from, int64_t count)
{
#pragma GCC unroll 4
    for (int half = TG_CONV_LANES_$N / 2; half; half /= 2)
        if (count & half) {
            __builtin_memcpy(to, from, half * sizeof *to);
            to += half, from += half;
        }
}

/* Some tiles of places, for all filters of a group: vectors are read from the image where they lie. Those of the next
   tile are asked for ahead, since processors do not see that many streams. A vector that is broken is put down whole
   where the places behind it are written later by the same tile. */
static TG_CONV void tg_conv_unpacked_$N(void *context, int64_t begin, int64_t end, int64_t part)
{
    enum { ROWS = TG_CONV_ROWS_$N, LANES = TG_CONV_LANES_$N, WIDE = 3 * LANES };
    tg_conv_$N *const z = context;
    const tg_conv_shape *const q = &z->q;
    const int64_t f = q->f / q->groups, image = q->c * z->plane, last = q->n * z->rows - 1;
    const $T *const xp = z->images + z->group * (q->c / q->groups) * z->plane;
    const tg_vector_$N *const vectors = z->vectors;
    const int64_t terms = tg_conv_equal(z->taps, tg_conv_terms(z->taps, 96));
    $T t[(ROWS + 1) * WIDE];
    for (int64_t i = begin; i < end; i++) {
        const $T *x[3];
        int64_t until[3]; /* up to there the tile has places of the image of a vector */
        for (int64_t v = 2; v >= 0; v--) {
            const int64_t at = 3 * i + v < last ? 3 * i + v : last;
            const tg_vector_$N *const a = vectors + at % z->rows;
            x[v] = xp + at / z->rows * image + a->from;
            until[v] = a->piece[a->pieces - 1].place + a->piece[a->pieces - 1].count;
            if (v < 2 && until[v + 1] > until[v]) until[v] = until[v + 1];
        }
        if (i + 1 < end)
            for (int64_t p = 0; p < z->taps; p++)
                for (int v = 0; v < 3; v++) __builtin_prefetch(x[v] + z->off[p] + WIDE);
        for (int64_t r = 0; r < f; r += ROWS) {
            for (int64_t p = 0; p < z->taps; p += terms)
                (f - r <= 4 ? tg_conv_direct_$N4 : tg_conv_direct_$N)(
                    z->taps - p < terms ? z->taps - p : terms, z->packed + r * z->taps + p * ROWS, x, z->off + p, t,
                    WIDE, p > 0);
            for (int64_t v = 0; v < 3 && 3 * i + v <= last; v++) {
                const int64_t m = (3 * i + v) / z->rows;
                const tg_vector_$N *const a = vectors + (3 * i + v) % z->rows;
                for (int64_t u = 0; u < ROWS && r + u < f; u++)
                    for (int64_t e = 0; e < a->pieces; e++) {
                        const int64_t plane = m * q->f + z->group * f + r + u, count = a->piece[e].count;
                        const $T *const from = t + u * WIDE + v * LANES + a->piece[e].lane;
                        $T *const to = z->y + plane * z->places + a->piece[e].place;
                        if (count == LANES || a->piece[e].place + LANES <= until[v])
                            *(tg_lanes_$N *)to = *(const tg_lanes_$N *)from;
                        else tg_conv_put_some_$N(to, from, count);
                    }
            }
        }
        for (int64_t v = 3 * i; z->left && v < 3 * i + 3 && v <= last; v++) tg_conv_there_$N(z, v / z->rows, 1);
    }
}

/* Some planes of the result where each filter reads one channel: rows of it, moved and multiplied by the taps. Many
   taps are added up in parts: fewer digits are lost. */
static TG_CONV void tg_conv_channels_$N(void *context, int64_t begin, int64_t end, int64_t part)
{
    enum { LANES = TG_CONV_LANES_$N };
    tg_conv_$N *const z = context;
    const tg_conv_shape *const q = &z->q;
    const int64_t terms = tg_conv_equal(z->taps, tg_conv_terms(z->taps, 96));
    for (int64_t i = begin; i < end; i++) {
        const int64_t filter = i % q->f;
        const $T *const source = z->images + (i / q->f * q->c + filter / (q->f / q->groups)) * z->plane;
        const $T *const w = z->packed + filter * z->taps;
        for (int64_t o = 0, run; o < z->places; o += run) {
            const $T *const from = source + tg_conv_place_$N(z, o, &run);
            $T *const to = z->y + i * z->places + o;
            for (int64_t j = 0; j < run; j += LANES) {
                tg_lanes_$N sum = {0};
                for (int64_t t = 0; t < terms; t++) sum += w[t] * *(const tg_lanes_$N *)(from + z->off[t] + j);
                for (int64_t t = terms, to; t < z->taps; t = to) {
                    tg_lanes_$N some = {0};
                    to = t + terms < z->taps ? t + terms : z->taps;
                    for (int64_t u = t; u < to; u++) some += w[u] * *(const tg_lanes_$N *)(from + z->off[u] + j);
                    sum += some;
                }
                if (j + LANES <= run) *(tg_lanes_$N *)(to + j) = sum;
                else __builtin_memcpy(to + j, &sum, (run - j) * sizeof *to);
            }
        }
        if (z->left) tg_conv_there_$N(z, i / q->f, 1);
    }
}

/* The products for all places of a convolution that has begun. Nonzero: no memory. */
static TG_CONV int tg_conv_products_$N(tg_conv_$N *z)
{
    enum { ROWS = TG_CONV_ROWS_$N, WIDE = 3 * TG_CONV_LANES_$N };
    const tg_conv_shape *const q = &z->q;
    const int64_t f = q->f / q->groups, c = q->c / q->groups, fr = (f + ROWS - 1) / ROWS * ROWS, *const ws = z->ws;
    int64_t most = 524288 / (int64_t)sizeof *z->y / f; /* half of a second-level cache */
    most = most > 1536 / (int64_t)sizeof *z->y ? 1536 / (int64_t)sizeof *z->y : most < 96 ? 96 : most;
    const int64_t parts = (z->taps + most - 1) / most;
    z->chunk = (z->taps + parts - 1) / parts;
    const int many = tg_conv_many_taps_$N(q, z->taps) || tg_conv_few_filters_$N(q, z->taps);
    const int large = (z->room || !z->bounded) && many;
    const int64_t vectors = large ? tg_conv_vectors_$N(z, 0) : 0;
    const int channels = tg_conv_one_channel_$N(q);
    const int direct = !channels && vectors && vectors * TG_CONV_LANES_$N * fr < z->places * (fr + 16);
    if (direct) z->chunk = z->taps;
    z->block = 300000 / (int64_t)sizeof *z->y / (z->chunk * WIDE);
    z->block = z->block < 1 ? 1 : z->block > 32 ? 32 : z->block;
    z->strided = !direct && tg_conv_lying_$N(z);
    z->packed = malloc((channels ? q->f * z->taps : z->strided ? 0 : fr * z->chunk) * sizeof *z->y + 64);
    z->at = malloc((z->taps + 1) * sizeof *z->at);
    const int64_t blocks = (q->n * z->places + z->block * WIDE - 1) / (z->block * WIDE);
    const int64_t work = z->block * WIDE * z->chunk * f / 16 + 1; /* of one block */
    const int kept = !direct && z->chunk < z->taps && z->places < 4 * WIDE;
    z->sums = kept ? malloc(blocks * z->block * fr * WIDE * sizeof *z->sums) : 0;
    if (!z->packed || !z->at || (kept && !z->sums)) return free(z->packed), free(z->at), free(z->sums), 1;
    for (int64_t t = 0, *const k = q->k; t < z->taps; t++)
        z->at[t] = t / k[2] / k[1] / k[0] * ws[1] + t / k[2] / k[1] % k[0] * ws[2] + t / k[2] % k[1] * ws[3]
                   + t % k[2] * ws[4];
    if (channels) {
        for (int64_t i = 0; i < q->f * z->taps; i++) {
            const int64_t t = i % z->taps, filter = i / z->taps, *const k = q->k;
            const int64_t at = t / k[2] / k[1] * ws[2] + t / k[2] % k[1] * ws[3] + t % k[2] * ws[4];
            z->packed[i] = z->w[filter / f * z->apart + filter % f * ws[0] + at];
        }
        tg_conv_count_$N(z, q->f);
        tg_rt->parallel_for(tg_conv_channels_$N, z, q->n * q->f, 150000 / (z->places * z->taps / 8 + 1) + 1);
    } else if (direct) {
        z->vectors = malloc(vectors * sizeof *z->vectors);
        if (!z->vectors) z->failed = 1;
        else tg_conv_vectors_$N(z, z->vectors);
        z->rows = vectors;
        tg_conv_count_$N(z, q->groups * vectors);
        for (z->group = 0; z->group < q->groups && !z->failed; z->group++) {
            const int64_t tiles = (q->n * vectors + 2) / 3;
            tg_rt->parallel_for(tg_conv_filters_$N, z, fr / ROWS, 100000 / (z->taps * ROWS) + 1);
            tg_rt->parallel_for(tg_conv_unpacked_$N, z, tiles, 150000 / (WIDE * z->taps * f / 16 + 1) + 1);
        }
        free(z->vectors);
    } else {
        tg_conv_count_$N(z, q->groups * z->places);
        const int64_t least = 150000 / work + 1, grain = least > (blocks + 7) / 8 ? least : (blocks + 7) / 8;
        for (z->group = 0; z->group < q->groups && !z->failed; z->group++)
            for (z->first = 0; z->first < z->taps && !z->failed; z->first += z->chunk) {
                if (!z->strided) /* the chunk stays in the second-level cache until it is used */
                    tg_rt->parallel_for(tg_conv_filters_$N, z, fr / ROWS, 100000 / (z->chunk * ROWS) + 1);
                tg_rt->parallel_for(tg_conv_blocks_$N, z, blocks, grain);
            }
        z->first = 0;
    }
    free(z->packed), free(z->at), free(z->sums);
    return z->failed;
}

/* The convolution. Nonzero: no memory. */
TG_APART TG_CONV int
tg_conv_forward_$N(tg_conv_shape shape, const $T *x, const int64_t *xs, const $T *w, const int64_t *ws, $T *y,
                   tg_conv_after after)
{
    int64_t steps[5];
    tg_conv_single_$N(&shape, &xs, steps);
    tg_conv_$N here = {shape, x, w, .xs = xs, .ws = ws, .y = y, .after = after}, *const z = &here;
    const int64_t size = shape.n * shape.f * shape.out[0] * shape.out[1] * shape.out[2];
    tg_conv_before_$N(z);
    if (size && shape.c == 0) __builtin_memset(y, 0, size * sizeof *y);
    if (size == 0 || shape.c == 0) return tg_conv_after_$N(z, shape.n, 0);
    z->apart = shape.f / shape.groups * ws[0];
    z->places = shape.out[1] * shape.out[2], z->taps = shape.c / shape.groups * shape.k[1] * shape.k[2];
    const int64_t taps = z->taps * shape.k[0];
    const int few = tg_conv_few_filters_$N(&z->q, taps)
                    || (shape.f / shape.groups <= 4 && tg_conv_many_taps_$N(&z->q, taps));
    z->bounded = !few && !tg_conv_one_channel_$N(&z->q);
    tg_shares_$N shares;
    const double panels = tg_conv_panels_cost_$N(z), other = tg_conv_shares_cost_$N(z, &shares, 0);
    const int shared = other >= 0 && other < panels;
    const int across = tg_conv_try_across_$N(z, shared ? other : panels);
    if (across >= 0) return tg_conv_after_$N(z, shape.n, across);
    if (shared) return tg_conv_after_$N(z, shape.n, tg_conv_by_shares_$N(&shares));
    const int failed = tg_conv_begin_$N(z) || tg_conv_products_$N(z);
    free(z->room), free(z->off);
    return tg_conv_after_$N(z, shape.n, failed);
}
"""
