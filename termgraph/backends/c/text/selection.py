"""C text of selection: where the first k of n elements in order lie, without sorting the others."""

TEXT = """
#ifndef TG_TOP
#define TG_TOP __attribute__((noinline, optimize("O2", "tree-vectorize")))
#endif
#if TG_VECTOR_SORT && defined(__AVX512F__)
#define TG_TOP_PACKS 1
#else
#define TG_TOP_PACKS 0
#endif
enum { TG_TOP_FEW_$N = 24, TG_TOP_SAMPLE_$N = 2048 };

/* Keys of n elements, by which the first one wanted is the smallest; they may lie where these do. */
static inline __attribute__((always_inline)) void tg_top_keys_$N(int kind, const $T *x, $T *keys, int64_t n)
{
    const $T flip = kind & 4 ? ($T)-1 : 0, turn = ($T)tg_sort_key_$N(0, kind & 3) ^ flip;
    if ((kind & 3) == 2) for (int64_t i = 0; i < n; i++) keys[i] = ($T)(tg_sort_key_$N(x[i], 2) ^ flip);
    else for (int64_t i = 0; i < n; i++) keys[i] = x[i] ^ turn;
}

/* The first k of n elements: the best so far stand in order, and blocks in which none comes before the last of these
   are passed over. */
TG_TOP static void tg_top_few_$N(int kind, const $T *x, int64_t *out, int64_t n, int64_t k, int64_t out_step)
{
    enum { BLOCK = 16 };
    struct { $T key; int64_t place; } best[TG_TOP_FEW_$N];
    int64_t count = 0;
    for (int64_t begin = 0; begin < n; begin += BLOCK) {
        const int64_t some = n - begin < BLOCK ? n - begin : BLOCK;
        $T keys[BLOCK] = {0};
        if (some == BLOCK) tg_top_keys_$N(kind, x + begin, keys, BLOCK);
        else tg_top_keys_$N(kind, x + begin, keys, some);
        if (count == k) {
            int any = 0;
            for (int i = 0; i < BLOCK; i++) any |= keys[i] < best[k - 1].key;
            if (!any) continue;
        }
        for (int64_t i = 0; i < some; i++) {
            if (count == k && keys[i] >= best[k - 1].key) continue;
            int64_t at = count < k ? count++ : k - 1;
            for (; at > 0 && keys[i] < best[at - 1].key; at--) best[at] = best[at - 1];
            best[at].key = keys[i], best[at].place = begin + i;
        }
    }
    for (int64_t j = 0; j < k; j++) out[j * out_step] = best[j].place;
}

/* Where elements lie whose keys are at most `bound`, in order: how many. There is room for a vector more. */
TG_TOP static int64_t tg_top_upto_$N(int kind, const $T *x, int64_t n, $T bound, uint64_t *places)
{
    enum { BLOCK = 512 };
    $T keys[BLOCK];
    int64_t count = 0;
    for (int64_t begin = 0; begin < n; begin += BLOCK) {
        const int64_t some = n - begin < BLOCK ? n - begin : BLOCK;
        int64_t i = 0;
        tg_top_keys_$N(kind, x + begin, keys, some);
#if TG_TOP_PACKS
        typedef long long words __attribute__((vector_size(64)));
        typedef long long loose __attribute__((vector_size(64), aligned(8), may_alias));
        uint64_t widened[BLOCK];
        const loose *wide = (const loose *)(sizeof($T) < 8 ? (const void *)widened : keys);
        for (int64_t j = 0; sizeof($T) < 8 && j < some; j++) widened[j] = keys[j];
        const words bounds = (long long)bound - (words){0};
        words at = (long long)begin + (words){0, 1, 2, 3, 4, 5, 6, 7};
        for (; i + 8 <= some; i += 8, at += 8) {
            const uint8_t here = (uint8_t)__builtin_ia32_ucmpq512_mask((words)wide[i / 8], bounds, 2, -1);
            *(loose *)(places + count) = __builtin_ia32_compressdi512_mask(at, at, here);
            count += __builtin_popcount(here);
        }
#endif
        for (; i < some; i++) {
            places[count] = (uint64_t)(begin + i);
            count += keys[i] <= bound;
        }
    }
    return count;
}

/* The keys of a sample in order, how many these are, and which of them is expected behind k of n elements, with few in
   between: `around` is three standard deviations of how many come before it. */
TG_TOP static int64_t tg_top_sample_$N(void *sorter, int kind, const $T *x, int64_t n, int64_t k, uint64_t *sample,
                                       int64_t *size, int64_t *around)
{
    $T drawn[TG_TOP_SAMPLE_$N];
    const int64_t s = *size = n < 16 * (TG_TOP_SAMPLE_$N - 16) ? n / 16 + 16 : TG_TOP_SAMPLE_$N, within = n / s;
    const double share = (double)k / (double)n, apart = (double)n / (double)s;
    *around = 1;
    while ((double)(*around * *around) < 9.0 * (double)s * share * (1 - share)) ++*around;
    const int64_t at = (int64_t)(share * (double)s) + *around;
    if (8 * at >= (TG_TOP_PACKS ? 7 : 5) * s) return s; /* nearly all, which are sorted sooner */
    uint64_t random = 0x9E3779B97F4A7C15u;
    for (int64_t i = 0; i < s; i++) { /* one of each s-th part of the row: no order of elements is bad */
        random = random * 6364136223846793005u + 1442695040888963407u;
        drawn[i] = x[(int64_t)((double)i * apart) + (int64_t)((random >> 33) * (uint64_t)within >> 31)];
    }
    tg_top_keys_$N(kind, drawn, drawn, s);
    for (int64_t i = 0; i < s; i++) sample[i] = drawn[i];
    ((int (*)(void *, int64_t, void *))sorter)(sample, s, NULL);
    return at;
}

/* Which of n keys is the first one, the second one and so on: by words, or by merging runs that grow, if too many begin
   with the same bits. Both places have room for all. */
TG_TOP static const uint64_t *tg_top_order_$N(void *sorter, const $T *keys, int64_t n, uint64_t *order, uint64_t *other)
{
    enum { SHORT = 1500 };
    const int digits = (n >= SHORT || TG_VECTOR_SORT) && !(n >> 32);
    if (digits && tg_argsort_by_words_$N(sorter, 0, 33, keys, n, 1, order, other)) return order;
    if (tg_argsort_by_words_$N(sorter, 0, 64, keys, n, 1, order, NULL)) return order;
    for (int64_t i = 0; i < n; i++) order[i] = (uint64_t)i;
    for (int64_t run = 1; run < n; run *= 2) {
        for (int64_t begin = 0; begin < n; begin += 2 * run) {
            const int64_t middle = begin + run < n ? begin + run : n, end = middle + run < n ? middle + run : n;
            int64_t i = begin, j = middle;
            for (int64_t at = begin; at < end; at++)
                other[at] = j == end || (i < middle && keys[order[i]] <= keys[order[j]]) ? order[i++] : order[j++];
        }
        uint64_t *swapped = order;
        order = other;
        other = swapped;
    }
    return order;
}

/* What rows say of the next one: a key up to which they had a few elements more than are wanted, if one is known, and
   what is left of the trust in it. */
typedef struct { $T bound; int known, trust; } tg_top_alike_$N;

/* Where elements lie of which the first k are to be found, and a bound of their keys that holds few more: that of the
   row before, or of a sample. How many there are; all elements if these are no fewer. */
TG_TOP static int64_t tg_top_candidates_$N(void *sorter, int kind, const $T *x, int64_t n, int64_t k, int64_t more,
                                           tg_top_alike_$N *alike, uint64_t *places)
{
    enum { TRUST = 8, SHORT = 100 };
    uint64_t sample[TG_TOP_SAMPLE_$N];
    int64_t count = 0, s, around;
    if (n < SHORT) return n;
    if (alike->known && alike->trust > 0) {
        count = tg_top_upto_$N(kind, x, n, alike->bound, places);
        if (count >= k && count <= k + 3 * more) {
            alike->trust += alike->trust < TRUST;
            return count;
        }
        alike->trust -= TRUST / 2;
    }
    else alike->trust++; /* it is tried again after some rows */
    int64_t at = tg_top_sample_$N(sorter, kind, x, n, k, sample, &s, &around);
    for (count = 0; count < k; at += around) {
        if (at >= s) return n;
        alike->bound = ($T)sample[at];
        count = tg_top_upto_$N(kind, x, n, alike->bound, places);
    }
    return count;
}

/* Where the first k elements of a row lie. A few of many are looked for, more are sorted with some others that are not
   behind a bound; there is room for four words of each element. */
TG_TOP static void tg_top_of_row_$N(void *sorter, int kind, const $T *x, int64_t *out, int64_t n, int64_t k,
                                    int64_t out_step, tg_top_alike_$N *alike, uint64_t *places)
{
    if (k <= TG_TOP_FEW_$N && n >= 600 * k) {
        tg_top_few_$N(kind, x, out, n, k, out_step);
        return;
    }
    uint64_t *const order = places + n + 8, *const other = order + n + 8;
    $T *const keys = ($T *)(other + n + 8);
    int64_t more = 1, some = 0; /* three standard deviations of how many of two rows differ */
    while ((double)(more * more) * (double)n < 18.0 * (double)k * (double)(n - k)) more++;
    const int64_t count = tg_top_candidates_$N(sorter, kind, x, n, k, more, alike, places);
    if (count < n) {
        const $T bound = alike->bound;
        int64_t equal = k; /* so many of those that are equal to the bound are wanted */
        for (int64_t j = 0; j < count; j++) keys[j] = x[places[j]];
        tg_top_keys_$N(kind, keys, keys, count);
        for (int64_t j = 0; j < count; j++) equal -= keys[j] < bound;
        for (int64_t j = 0; j < count; j++) {
            const int wanted = keys[j] < bound || equal > 0;
            equal -= keys[j] == bound;
            keys[some] = keys[j], places[some] = places[j];
            some += wanted;
        }
    }
    else tg_top_keys_$N(kind, x, keys, some = n);
    const uint64_t *const found = tg_top_order_$N(sorter, keys, some, order, other);
    for (int64_t j = 0; j < k; j++) out[j * out_step] = (int64_t)(count < n ? places[found[j]] : found[j]);
    alike->known = count < n;
    if (k + more < some) alike->bound = keys[found[k + more]];
}

/* Where the k smallest of n elements of $N bits lie, the smallest first, or with 4 in `kind` the largest; of equal ones
   the first comes first. Lines that lie side by side are copied together. Nonzero: no memory. */
TG_APART int tg_argtopk_$N(void *sorter, int kind, const $T *x, int64_t *out, int64_t lines, int64_t n, int64_t k,
                           int64_t apart, int64_t step, int64_t out_apart, int64_t out_step)
{
    enum { SIDE = 64 / sizeof($T) };
    const int64_t together = step == 1 ? 0 : apart == 1 && lines > 1 ? SIDE : 1;
    const int64_t copy = n + SIDE; /* a power of two would be bad for the cache */
    const int few = k <= TG_TOP_FEW_$N && n >= 600 * k; /* which need no room */
    uint64_t *const room = malloc((few ? 1 : 4 * (size_t)n + 64) * sizeof *room);
    $T *const copies = malloc((size_t)(copy * together + 1) * sizeof *copies);
    const int failed = !room || !copies;
    tg_top_alike_$N alike = {.trust = 4};
    for (int64_t line = 0; !failed && line < lines; line++) {
        const int64_t within = together ? line % together : 0;
        const int64_t some = lines - line < together ? lines - line : together;
        const $T *from = x + line * apart;
        for (int64_t i = 0; some && !within && i < n; i++)
            for (int64_t u = 0; u < some; u++) copies[u * copy + i] = from[i * step + u * apart];
        tg_top_of_row_$N(sorter, kind, together ? copies + within * copy : from, out + line * out_apart, n, k, out_step,
                         &alike, room);
    }
    free(room), free(copies);
    return failed;
}
"""
