"""C text of places of sorted whole numbers by buckets: first bits say which one, each is sorted by vectors.

A bucket's words have half the bits of others: what follows the first bits of a number, and its place. Pure text.
"""

from __future__ import annotations

TEXT = """
#if TG_VECTOR_SORT
TG_APART int tg_sort_keys_32(uint32_t *given, uint32_t *more, int64_t n);

/* How many of each half of n keys have which first bits, then where they begin. Two halves at once, as equal ones wait
   for each other. Zero: most of those at the beginning have the same, or with `even` many of all. */
static int tg_buckets_$N(const uint64_t *keys, int64_t n, uint64_t least, int all, int64_t parts, int even,
                         uint32_t (*begin)[2])
{
    enum { LOOK = 500 }; /* how many of the first half are looked at before all are counted */
    const int64_t half = n / 2;
    uint32_t total = 0;
    for (int64_t k = 0; k < parts; k++) begin[k][0] = begin[k][1] = 0;
    for (int64_t i = 0; i < half; i++) {
        begin[(keys[i] - least) >> all][0]++, begin[(keys[i + half] - least) >> all][1]++;
        for (int64_t k = 0; i == LOOK - 1 && n > 4 * LOOK && k < parts; k++)
            if (begin[k][0] > LOOK * 3 / 4) return 0;
    }
    if (n & 1) begin[(keys[n - 1] - least) >> all][1]++;
    for (int64_t k = 0; k < parts; k++) {
        const uint32_t first = begin[k][0], second = begin[k][1];
        if (even && first + second > n / 4) return 0;
        begin[k][0] = total, begin[k][1] = total + first;
        total += first + second;
    }
    return 1;
}

/* As tg_argsort, with room for 2 n and sixteen words. Zero: not done, as too many have the same first bits. */
static int tg_argsort_by_buckets_$N(int kind, const $T *x, int64_t n, int64_t step, uint64_t *out, uint32_t *words)
{
#ifdef __AVX512F__
    enum { BUCKET = 200, MOST = 11 }; /* what is sorted in registers, with room for some more than on average */
#else
    enum { BUCKET = 100, MOST = 11 };
#endif
    uint64_t least, most;
    uint32_t begin[1 << MOST][2];
    int bits = 1, digit = 1, width = 0;
    tg_keys_made_$N(x, n, step, kind, out, &least, &most);
    while (n > (int64_t)1 << bits) bits++;
    while (digit < MOST && n >> digit > BUCKET) digit++;
    while (width < 64 && (most - least) >> width) width++;
    const int room = 32 - bits + digit, even = n > 5000 && width > 8 && width <= 22; /* else two digits do */
    const int shift = width > room ? width - room : 0, all = width > digit ? width - digit : 0;
    const int64_t parts = (int64_t)((most - least) >> all) + 1, half = n / 2;
    const uint32_t place = ((uint32_t)1 << bits) - 1;
    if (!tg_buckets_$N(out, n, least, all, parts, even, begin)) return 0;
    for (int64_t i = 0; i < half; i++) {
        const uint64_t u = out[i] - least, v = out[i + half] - least;
        words[begin[u >> all][0]++] = (uint32_t)(u >> shift) << bits | (uint32_t)i;
        words[begin[v >> all][1]++] = (uint32_t)(v >> shift) << bits | (uint32_t)(i + half);
    }
    if (n & 1) {
        const uint64_t v = out[n - 1] - least;
        words[begin[v >> all][1]++] = (uint32_t)(v >> shift) << bits | (uint32_t)(n - 1);
    }
    for (int64_t k = 0, first = 0; k < parts; first = begin[k++][1])
        if (begin[k][1] - first > 1 && !tg_sort_keys_32(words + first, words + n, begin[k][1] - first)) return 0;
    for (int64_t i = 0; i < n; i++) out[i] = words[i] & place;
    for (int64_t i = 1, end; shift && i < n; i = end) { /* those whose words differ in places only, by all bits */
        int alike = 0;
        end = i + 64 < n ? i + 64 : n;
        for (int64_t j = i; j < end; j++) alike |= (words[j] ^ words[j - 1]) <= place;
        for (int64_t j = i; alike && j < end; j++) {
            if ((words[j] ^ words[j - 1]) > place) continue;
            const uint64_t from = out[j], key = tg_sort_key_$N(x[from * step], kind);
            int64_t k = j;
            for (; k && tg_sort_key_$N(x[out[k - 1] * step], kind) > key; k--) out[k] = out[k - 1];
            out[k] = from;
            if (j - k > 100) return 0;
        }
    }
    return 1;
}
#else
#define tg_argsort_by_buckets_$N(kind, x, n, step, out, words) 0
#endif
"""
