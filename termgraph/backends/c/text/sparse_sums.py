"""C text of sums and products of two sparse matrices: pattern and elements in one pass. Pure text.

Where to go next in two rows depends on the comparison before, and a branch would be foreseen half of the time: without
branches two pairs of rows are joined side by side, one waiting while the other computes.
"""

from __future__ import annotations

from termgraph.terms.ops.sparse import SPARE

_RISES = """
/* Whether indptr counts the elements, and those of each row are inside and in order, each once or maybe more often. */
static int tg_csm_rises_$N(int once, const int32_t *indices, const int32_t *ends, int64_t p, int64_t entries,
                           int64_t pointers, int64_t minors)
{
    uint32_t outside = 0, falls = 0, between = 0; /* there are fewer than 2**31 elements */
    if (pointers < 1 || ends[0] != 0 || ends[(pointers - 1) * p] != entries || minors > __INT32_MAX__) return 0;
    if (entries > 0) outside = (uint32_t)indices[0] >= (uint32_t)minors;
    for (int64_t k = 1; k < entries; k++) {
        const int32_t here = indices[k], before = indices[k - 1];
        outside |= (uint32_t)here >= (uint32_t)minors;
        falls += once ? here <= before : here < before;
    }
    for (int64_t i = 1; i < pointers; i++) {
        const int64_t begin = ends[(i - 1) * p], end = ends[i * p];
        if (begin > end || end > entries) return 0;
        if (begin > 0 && begin < end) between += (int64_t)indices[begin] - once < indices[begin - 1];
    }
    return !outside && falls == between;
}
"""
_JOINED = """
/* An element, or 0. */
static inline $T tg_csm_if_$N(int64_t whether, $T x)
{
    uint64_t words[2];
    uint32_t word;
    if (sizeof(x) < 4) return whether ? x : 0;
    if (sizeof(x) == 4) {
        __builtin_memcpy(&word, &x, 4);
        word &= (uint32_t)-whether;
        __builtin_memcpy(&x, &word, 4);
        return x;
    }
    __builtin_memcpy(words, &x, sizeof(x));
    words[0] &= -whether;
    if (sizeof(x) == 16) words[1] &= -whether;
    __builtin_memcpy(&x, words, sizeof(x));
    return x;
}

#define TG_JOIN(a, b, n) { \\
    const int32_t x = one[a], y = two[b]; \\
    const int64_t first = x <= y, second = y <= x; \\
    out[n] = first ? x : y; \\
    if (both) values[n] = u[a] * v[b], n += first & second; \\
    else values[n++] = tg_csm_if_$N(first, u[a]) + tg_csm_if_$N(second, v[b]); \\
    a += first, b += second; \\
}
#define TG_JOIN_REST(a, a_end, b, b_end, n) { \\
    while (a < a_end && b < b_end) TG_JOIN(a, b, n) \\
    if (!both) { \\
        for (; a < a_end; a++, n++) out[n] = one[a], values[n] = u[a]; \\
        for (; b < b_end; b++, n++) out[n] = two[b], values[n] = v[b]; \\
    } \\
}
/* Row after row, for sums or, with `both`, for products. What the second of two rows gives begins where the first ends
   at the latest, and is moved to where it did. */
static inline __attribute__((always_inline)) void
tg_csm_join_$N(const int both, const $T *u, const int32_t *one, const int32_t *one_ends, int64_t p, const $T *v,
               const int32_t *two, const int32_t *two_ends, int64_t q, int64_t pointers, $T *values, int32_t *out,
               int32_t *ends)
{
    int64_t n = 0, i = 1;
    ends[0] = 0;
    for (; i + 1 < pointers; i += 2) {
        int64_t a = one_ends[(i - 1) * p], b = two_ends[(i - 1) * q], c = one_ends[i * p], d = two_ends[i * q];
        const int64_t a_end = c, b_end = d, c_end = one_ends[(i + 1) * p], d_end = two_ends[(i + 1) * q];
        const int64_t few = a_end - a < b_end - b ? a_end - a : b_end - b;
        const int64_t begin = n + (both ? few : a_end - a + b_end - b);
        int64_t m = begin;
        while (a < a_end && b < b_end && c < c_end && d < d_end) {
            TG_JOIN(a, b, n)
            TG_JOIN(c, d, m)
        }
        TG_JOIN_REST(a, a_end, b, b_end, n)
        TG_JOIN_REST(c, c_end, d, d_end, m)
        ends[i] = n;
        if (n == begin) n = m;
        else for (int64_t k = begin; k < m; k++, n++) out[n] = out[k], values[n] = values[k];
        ends[i + 1] = n;
    }
    if (i < pointers) {
        int64_t a = one_ends[(i - 1) * p], b = two_ends[(i - 1) * q];
        const int64_t a_end = one_ends[i * p], b_end = two_ends[i * q];
        TG_JOIN_REST(a, a_end, b, b_end, n)
        ends[i] = n;
    }
}
#undef TG_JOIN
#undef TG_JOIN_REST

/* Returns 1, with nothing done, if elements are not in order or not once, or anything is wrong. */
static int tg_csm_joined_$N(int both, const $T *u, int64_t du, const $T *v, int64_t dv, const int32_t *one, int64_t s,
                            const int32_t *one_ends, int64_t p, int64_t entries, const int32_t *two, int64_t t,
                            const int32_t *two_ends, int64_t q, int64_t more, int64_t pointers, int64_t minors,
                            int64_t room, $T *values, int32_t *out, int32_t *ends)
{
    if ((entries > 1 && (s != 1 || du != 1)) || (more > 1 && (t != 1 || dv != 1))) return 1;
    if (!tg_csm_rises_$N(1, one, one_ends, p, entries, pointers, minors)) return 1;
    if (!tg_csm_rises_$N(1, two, two_ends, q, more, pointers, minors)) return 1;
    if (!both && !more) { /* one matrix, which is what it should be */
        __builtin_memcpy(values, u, entries * sizeof($T));
        __builtin_memcpy(out, one, entries * sizeof(int32_t));
        for (int64_t i = 0; i < pointers; i++) ends[i] = one_ends[i * p];
        return 0;
    }
    if (both) tg_csm_join_$N(1, u, one, one_ends, p, v, two, two_ends, q, pointers, values, out, ends);
    else tg_csm_join_$N(0, u, one, one_ends, p, v, two, two_ends, q, pointers, values, out, ends);
    __builtin_memset(values + ends[pointers - 1], 0, (room - ends[pointers - 1]) * sizeof($T));
    __builtin_memset(out + ends[pointers - 1], 0, (room - ends[pointers - 1]) * sizeof(int32_t));
    return 0;
}
"""
_SUMMED = """
/* Elements added up where they come to lie, n places of `room`; for a product those of each matrix apart, from $SPARE
   on. Returns 3 if there is no memory. */
static int tg_csm_summed_$N(int both, const $T *u, int64_t du, int64_t entries, const $T *v, int64_t dv, int64_t more,
                            const int32_t *places, int64_t n, int64_t room, $T *values)
{
    $T *one = values, *two = values;
    if (both) {
        one = __builtin_malloc(2 * (n + $SPARE) * sizeof($T));
        if (!one) return 3;
        two = one + n + $SPARE;
    }
    for (int64_t k = 0; k < (both ? n + $SPARE : room); k++) one[k] = two[k] = 0;
    for (int64_t k = 0; k < entries; k++) one[places[k]] += u[k * du];
    for (int64_t k = 0; k < more; k++) two[places[entries + k]] += v[k * dv];
    if (!both) return 0;
    for (int64_t k = 0; k < room; k++) values[k] = k < n ? one[k + $SPARE] * two[k + $SPARE] : 0;
    __builtin_free(one);
    return 0;
}
"""
_MULTIPLIED = """
/* Row after row of the first matrix: its elements times the rows of the second that they name are added up in one row
   of numbers, of which bits say which are not 0, and further bits which words of these. Returns 1 if an element lies
   outside, 2 if indptr does not count the elements or the room does not fit, 3 if there is no memory. */
static int tg_csm_multiplied_$N(const $T *u, int64_t du, const int32_t *one, int64_t s, const int32_t *one_ends,
                                int64_t p, int64_t entries, int64_t pointers, const $T *v, int64_t dv,
                                const int32_t *two, int64_t t, const int32_t *two_ends, int64_t q, int64_t more,
                                int64_t inner, int64_t minors, int64_t room, $T *values, int32_t *out, int32_t *ends,
                                int64_t *bad)
{
    const int64_t n_words = minors / 64 + 1, n_above = minors / 4096 + 1;
    int64_t n = 0, met = 0, failed = 0;
    if (pointers < 1 || inner < 1 || one_ends[0] != 0 || two_ends[0] != 0) return 2;
    if (one_ends[(pointers - 1) * p] != entries || two_ends[(inner - 1) * q] != more) return 2;
    for (int64_t i = 1; i < pointers; i++) if (one_ends[i * p] < one_ends[(i - 1) * p]) return 2;
    for (int64_t i = 1; i < inner; i++) if (two_ends[i * q] < two_ends[(i - 1) * q]) return 2;
    for (int64_t k = 0; k < more; k++) if ((uint64_t)two[k * t] >= (uint64_t)minors) return *bad = two[k * t], 1;
    for (int64_t k = 0; k < entries; k++) {
        const int64_t j = one[k * s];
        if ((uint64_t)j >= (uint64_t)(inner - 1)) return *bad = j, 1;
        met += two_ends[(j + 1) * q] - two_ends[j * q];
    }
    if (met != room) return 2;
    uint64_t *const words = __builtin_calloc(n_words + n_above, 8), *const above = words + n_words;
    $T *const row = __builtin_calloc(minors + 1, sizeof($T));
    ends[0] = 0;
    if (!words || !row) failed = 3;
    for (int64_t i = 1; !failed && i < pointers; i++) {
        for (int64_t k = one_ends[(i - 1) * p]; k < one_ends[i * p]; k++) {
            const $T x = u[k * du];
            const int64_t j = one[k * s], end = two_ends[(j + 1) * q];
            for (int64_t m = two_ends[j * q]; m < end; m++) {
                const uint32_t c = two[m * t];
                row[c] += x * v[m * dv];
                words[c >> 6] |= 1ull << (c & 63);
                above[c >> 12] |= 1ull << (c >> 6 & 63);
            }
        }
        for (int64_t a = 0; a < n_above; a++) {
            for (uint64_t high = above[a]; high; high &= high - 1) {
                const int64_t w = a * 64 + __builtin_ctzll(high);
                for (uint64_t low = words[w]; low; low &= low - 1) {
                    const int64_t c = w * 64 + __builtin_ctzll(low);
                    out[n] = c, values[n++] = row[c], row[c] = 0;
                }
                words[w] = 0;
            }
            above[a] = 0;
        }
        ends[i] = n;
    }
    __builtin_free(words);
    __builtin_free(row);
    if (failed) return failed;
    __builtin_memset(values + n, 0, (room - n) * sizeof($T));
    __builtin_memset(out + n, 0, (room - n) * sizeof(int32_t));
    return 0;
}
"""
TEXTS = {"tg_csm_rises": _RISES, "tg_csm_joined": _JOINED, "tg_csm_summed": _SUMMED.replace("$SPARE", str(SPARE)),
         "tg_csm_multiplied": _MULTIPLIED}  # fmt: skip
