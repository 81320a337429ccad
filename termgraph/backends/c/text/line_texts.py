"""The C text of convolutions and correlations of two vectors: sums of products that stay in registers."""

LINES = {
    "tg_convolve": """
#ifndef TG_CONV
#if defined(__GNUC__) && !defined(__clang__) /* a multiply-add is one instruction from here on */
#define TG_CONV __attribute__((noinline, optimize("O2", "tree-vectorize", "fp-contract=fast")))
#else
#define TG_CONV __attribute__((noinline))
#endif
#endif
#ifndef TG_LINE_EACH /* sums that stay in registers */
#ifdef __AVX512F__
#define TG_LINE_BYTES 64
#define TG_LINE_EACH(f) f(0) f(1) f(2) f(3)
#else
#ifdef __AVX__
#define TG_LINE_BYTES 32
#else
#define TG_LINE_BYTES 16
#endif
#define TG_LINE_EACH(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7)
#endif
#define TG_LINE_COUNT(u) +1
#define TG_LINE_SUM(u) tg_line a##u = {0};
#define TG_LINE_ADD(u) a##u += w * *(const tg_line *)(from + u * LANES);
#define TG_LINE_OUT(u) out[u] += a##u;
#define TG_LINE_MEET(u) a##u += *(const tg_line *)(from + u * LANES) * *(const tg_line *)(w + u * LANES);
#define TG_LINE_TOTAL(u) sum += a##u;
#endif
typedef $T tg_line_$N __attribute__((vector_size(TG_LINE_BYTES), aligned(sizeof($T)), may_alias));
enum { TG_LINE_$N = (0 TG_LINE_EACH(TG_LINE_COUNT)) * TG_LINE_BYTES / sizeof($T) }; /* places at once */
typedef struct {
    const $T *x, *w;
    $T *out, *room;
    int64_t n, step, k, first, end; /* places from the first to the end are wanted */
} tg_lines_$N;

/* Place i is the sum of x[i - s] * w[s] for those s where there is an x; many products are added up in parts. Only what
   is near an end of x, or does not lie along memory, is copied. */
static TG_CONV void tg_convolve_part_$N(void *context, int64_t begin, int64_t end, int64_t part)
{
    enum { WIDE = TG_LINE_$N, LANES = TG_LINE_BYTES / sizeof($T), PART = 256 };
    typedef tg_line_$N tg_line;
    const tg_lines_$N *const z = context;
    $T *const room = z->room + part * (z->k - 1 + WIDE);
    for (int64_t b = begin; b < end; b++) {
        const int64_t place = z->first + b * WIDE, here = z->end - place < WIDE ? z->end - place : WIDE;
        const $T *x = z->x + place;
        if (place < z->k - 1 || place + WIDE > z->n || z->step != 1) {
            int64_t low = place - (z->k - 1), high = place + WIDE < z->n ? place + WIDE : z->n, i = 0;
            for (; low < 0; low++) room[i++] = 0;
            for (; low < high; low++) room[i++] = z->x[low * z->step];
            for (; i < z->k - 1 + WIDE; i++) room[i] = 0;
            x = room + z->k - 1;
        }
        tg_line out[WIDE / LANES] = {{0}};
        const int64_t stop = place + WIDE < z->k ? place + WIDE : z->k; /* beyond it there are zeros only */
        for (int64_t s = place < z->n ? 0 : place - z->n + 1; s < stop;) {
            const int64_t last = stop - s < PART ? stop : s + PART;
            TG_LINE_EACH(TG_LINE_SUM)
            for (const $T *from = x - s; s < last; s++, from--) {
                const tg_line w = z->w[s] - (tg_line){0};
                TG_LINE_EACH(TG_LINE_ADD)
            }
            TG_LINE_EACH(TG_LINE_OUT)
        }
        if (here == WIDE) __builtin_memcpy(z->out + b * WIDE, out, sizeof out);
        else __builtin_memcpy(z->out + b * WIDE, out, here * sizeof($T));
    }
}

/* Those of all n + k - 1 places that are from the first to before the end. Nonzero: no memory. */
static int tg_lines_of_$N(const $T *x, int64_t n, int64_t x_step, const $T *w, int64_t k, int64_t w_step, $T *out,
                          int64_t first, int64_t end)
{
    const int64_t blocks = (end - first + TG_LINE_$N - 1) / TG_LINE_$N, grain = 50000 / (k * 8) + 1;
    const int64_t parts = tg_rt->parts(blocks, grain), room = k - 1 + TG_LINE_$N;
    $T *const taps = malloc((parts * room + k) * sizeof *taps);
    if (!taps) return 1;
    for (int64_t i = 0; i < k; i++) taps[i] = w[i * w_step];
    tg_lines_$N z = {x, taps, out, taps + k, n, x_step, k, first, end};
    tg_rt->parallel_for(tg_convolve_part_$N, &z, blocks, grain);
    free(taps);
    return 0;
}

/* Two vectors at all places where they overlap, one of them turned; the longer one is read along its vectors. */
static int tg_convolve_$N(const $T *x, int64_t n, int64_t x_step, const $T *w, int64_t k, int64_t w_step, $T *out)
{
    return k > n ? tg_lines_of_$N(w, k, w_step, x, n, x_step, out, 0, n + k - 1)
                 : tg_lines_of_$N(x, n, x_step, w, k, w_step, out, 0, n + k - 1);
}

/* Few places inside a long vector: sums along memory, not of many places at once. Nonzero: no memory. */
static TG_CONV int tg_correlate_few_$N(const $T *x, int64_t n, int64_t x_step, const $T *w, int64_t k, int64_t w_step,
                                       $T *out)
{
    enum { WIDE = TG_LINE_$N, LANES = TG_LINE_BYTES / sizeof($T), PART = 64 * WIDE };
    typedef tg_line_$N tg_line;
    $T *const room = malloc((n + PART) * sizeof *room), *const taps = room + n;
    if (!room) return 1;
    if (x_step != 1) {
        for (int64_t i = 0; i < n; i++) room[i] = x[i * x_step];
        x = room;
    }
    for (int64_t j = 0; j < n - k + 1; j++) out[j] = 0;
    for (int64_t s = 0; s < k; s += PART) {
        const int64_t here = k - s < PART ? k - s : PART, whole = here / WIDE * WIDE;
        for (int64_t i = 0; i < here; i++) taps[i] = w[(s + i) * w_step];
        for (int64_t j = 0; j < n - k + 1; j++) {
            const $T *from = x + s + j, *w = taps;
            $T rest = 0;
            tg_line sum = {0};
            TG_LINE_EACH(TG_LINE_SUM)
            for (; w < taps + whole; from += WIDE, w += WIDE) {
                TG_LINE_EACH(TG_LINE_MEET)
            }
            for (int64_t i = 0; i < here - whole; i++) rest += from[i] * w[i];
            TG_LINE_EACH(TG_LINE_TOTAL)
            for (int l = 0; l < (int)LANES; l++) rest += sum[l];
            out[j] += rest;
        }
    }
    free(room);
    return 0;
}

/* A vector moved along a longer one, to all places inside it. Nonzero: no memory. */
static int tg_correlate_$N(const $T *x, int64_t n, int64_t x_step, const $T *w, int64_t k, int64_t w_step, $T *out)
{
    if (n - k + 1 <= TG_LINE_$N / 4) return tg_correlate_few_$N(x, n, x_step, w, k, w_step, out);
    return tg_lines_of_$N(x, n, x_step, w + (k - 1) * w_step, k, -w_step, out, k - 1, n);
}
"""
}
