"""C text of order statistics: the elements that sorting a row would put at some places, found without sorting it."""

from __future__ import annotations

from termgraph.backends.c.text.vector_sort import packing

# A sample tells between which two numbers a place lies: one pass over the row counts what is below these and keeps what
# is between, a few hundredths of it, and so on with what is kept (Floyd and Rivest).
_WORDS, _WORD = packing(64, "tg_packed_words")
_SINGLES, _SINGLE = packing(32, "tg_packed_singles")
# Vectors of 32 bytes whose elements are packed.
PACKS = f"""
#ifndef TG_PACKS
#if defined(__AVX2__) && !defined(__clang__) /* which has not all of the builtins */
#define TG_PACKS 1
{_WORDS}
{_SINGLES}
#define TG_PACKED(T) (sizeof(T) == 8 || sizeof(T) == 4) /* whether elements can be packed */
/* The elements of a vector at `from` whose bits are set, to `to`, and others behind them. */
#define TG_PACK(to, from, some) do {{ \\
    const tg_halves given_ = *(const tg_halves *)(from); \\
    *(tg_halves *)(to) = __builtin_ia32_permvarsi256( \\
        given_, sizeof *(from) == 8 ? {_WORD.replace("@", "(some) & 15")} : {_SINGLE.replace("@", "(some) & 255")}); \\
}} while (0)
#else
#define TG_PACKS 0
#endif
#endif
#if TG_PACKS && !defined(TG_BITS_$N)
#define TG_BITS_$N
/* Vectors of truth values are not allowed. */
typedef __typeof__(__builtin_choose_expr(__builtin_types_compatible_p($T, _Bool), (uint8_t)0, ($T)0)) tg_element_$N;
typedef tg_element_$N tg_some_$N __attribute__((vector_size(32), aligned(sizeof($T)), may_alias));
enum {{ TG_SOME_$N = 32 / sizeof($T) }};
/* Which elements of a vector of truth values are not zero, as bits. */
static inline __attribute__((always_inline)) uint32_t tg_bits_$N(__typeof__((tg_some_$N){{0}} < (tg_some_$N){{0}}) m)
{{
    typedef double doubles __attribute__((vector_size(32)));
    typedef float floats __attribute__((vector_size(32)));
    typedef char bytes __attribute__((vector_size(32)));
    if (sizeof($T) == 8) return (uint32_t)__builtin_ia32_movmskpd256((doubles)m);
    if (sizeof($T) == 4) return (uint32_t)__builtin_ia32_movmskps256((floats)m);
    if (sizeof($T) == 1) return (uint32_t)__builtin_ia32_pmovmskb256((bytes)m);
    uint32_t bits = 0;
    for (int u = 0; u < TG_SOME_$N; u++) bits |= (uint32_t)(m[u] != 0) << u;
    return bits;
}}
#endif
"""
OF_ROW = (
    PACKS
    + """
#ifndef TG_PLACES_OF_ROW_$N
#define TG_PLACES_OF_ROW_$N
#ifndef TG_NEAR
#define TG_NEAR __attribute__((noinline, optimize("O2", "tree-vectorize")))
#endif

/* The elements from `low` to `high`, and how many are below; `kept` may be the row itself. */
TG_NEAR static int64_t tg_kept_between_$N(const $T *x, int64_t n, $T low, $T high, $T *kept, int64_t *below)
{
    int64_t count = 0, less = 0, i = 0;
#if TG_PACKS
    const tg_some_$N lows = (tg_element_$N)low - (tg_some_$N){0};
    const tg_some_$N highs = (tg_element_$N)high - (tg_some_$N){0};
    for (; TG_PACKED($T) && i + TG_SOME_$N <= n; i += TG_SOME_$N) {
        const tg_some_$N v = *(const tg_some_$N *)(x + i);
        const uint32_t under = tg_bits_$N(v < lows), some = tg_bits_$N(v <= highs) & ~under;
        TG_PACK(kept + count, x + i, some);
        less += __builtin_popcount(under);
        count += __builtin_popcount(some);
    }
#endif
    for (; i < n; i++) {
        const $T v = x[i];
        less += v < low;
        kept[count] = v;
        count += (v >= low) & (v <= high);
    }
    *below = less;
    return count;
}

/* Sorted elements of a row without NaN around place k, in `kept`: how many, and at which place the first one is. */
TG_NEAR static int64_t tg_near_place_$N(void *native, const $T *row, int64_t whole, $T least, $T most, int64_t k,
                                        $T *kept, int64_t *first)
{
    enum { FEW = 256, SAMPLE = 2048 };
    int (*const sort)(void *, int64_t, void *) = (int (*)(void *, int64_t, void *))native;
    $T sample[SAMPLE];
    const $T *x = row;
    int64_t n = whole, place = k;
    uint64_t random = 0x9E3779B97F4A7C15u;
    int equal = 0; /* whether only elements that are equal to one are kept, since most others were kept before */
    *first = 0;
    while (n > FEW) {
        const int64_t s = n < 8 * SAMPLE ? n / 16 + 16 : SAMPLE, apart = n / s;
        for (int64_t i = 0; i < s; i++) { /* one of each s-th part of the row: no order of elements is bad */
            random = random * 6364136223846793005u + 1442695040888963407u;
            sample[i] = x[i * apart + i * (n % s) / s + (int64_t)((random >> 33) % (uint64_t)apart)];
        }
        sort(sample, s, NULL);
        int64_t at = (int64_t)((double)place / (double)n * (double)s), around = 1;
        while (4 * around * around < 9 * s) around++; /* three standard deviations of the middle one */
        $T low = at < around ? least : sample[at - around], high = at + around >= s ? most : sample[at + around];
        if (equal) low = high = sample[at];
        int64_t below;
        const int64_t count = tg_kept_between_$N(x, n, low, high, kept, &below);
        if (place < below || place >= below + count) {
            if (x == kept) x = row, n = whole, *first = 0; /* the others are gone */
            break;
        }
        *first += below;
        place -= below;
        x = kept;
        if (low == high) return count;
        const int slow = count > n / 2;
        n = count;
        if (slow && (equal || n < 8 * SAMPLE)) break;
        equal = slow;
    }
    if (x != kept) __builtin_memcpy(kept, x, n * sizeof *x);
    sort(kept, n, NULL);
    return n;
}

/* The elements at k places of one sorted row of bytes, by how often each of the 256 is there: two counts in turn, as
   one waits for its last change where equal elements follow each other. */
TG_NEAR static void tg_places_of_bytes_$N(const $T *x, int64_t n, int64_t step, const int64_t *places,
                                          int64_t place_step, int64_t k, $T *out, int64_t out_step)
{
    const uint8_t *bytes = (const uint8_t *)x, sign = ($T)-1 < 1 ? 128 : 0;
    int64_t count[2][256] = {{0}}, i = 0;
    for (; i + 2 <= n; i += 2) count[0][bytes[i * step] ^ sign]++, count[1][bytes[(i + 1) * step] ^ sign]++;
    if (i < n) count[0][bytes[i * step] ^ sign]++;
    int64_t upto = 0;
    for (int v = 0; v < 256; v++) count[0][v] = upto += count[0][v] + count[1][v];
    for (int64_t j = 0; j < k; j++) {
        int found = 0; /* how many bytes up to which there are no more elements than come before the place */
        for (int half = 128; half; half /= 2) found += count[0][found + half - 1] <= places[j * place_step] ? half : 0;
        out[j * out_step] = ($T)(found ^ sign);
    }
}

/* The elements at k places of one sorted row. `room` holds it twice. */
TG_NEAR static void tg_places_of_row_$N(void *native, const $T *x, int64_t n, int64_t step, const int64_t *places,
                                        int64_t place_step, int64_t k, $T *out, int64_t out_step, $T *room)
{
    enum { FEW = 256, MANY = 16, COUNTED = 32 };
    $T *row = room, *kept = room + n;
    int64_t numbers = 0, first = 0, count = 0;
    if (sizeof($T) == 1 && n > COUNTED) {
        tg_places_of_bytes_$N(x, n, step, places, place_step, k, out, out_step);
        return;
    }
    if (n <= FEW || k > MANY) {
        for (int64_t i = 0; i < n; i++) row[i] = x[i * step];
        ((int (*)(void *, int64_t, void *))native)(row, n, NULL);
        for (int64_t j = 0; j < k; j++) out[j * out_step] = row[places[j * place_step]];
        return;
    }
    if (step == 1) for (int64_t i = 0; i < n; i++) numbers += x[i] == x[i];
    if (numbers == n) row = ($T *)x; /* which is only read */
    else for (int64_t i = numbers = 0; i < n; i++) {
        const $T v = x[i * step];
        row[numbers] = v;
        numbers += v == v;
    }
    $T least = row[0], most = row[0], none = row[0]; /* of no number none is asked for */
    for (int64_t i = 0; i < numbers; i++) least = row[i] < least ? row[i] : least;
    for (int64_t i = 0; i < numbers; i++) most = row[i] > most ? row[i] : most;
    for (int64_t i = 0; numbers < n && i < n; i++) none = x[i * step] == x[i * step] ? none : x[i * step];
    for (int64_t j = 0; j < k; j++) {
        const int64_t place = places[j * place_step];
        $T found = none;
        if (place == numbers - 1) found = most;
        else if (place < numbers) {
            if (place < first || place >= first + count)
                count = tg_near_place_$N(native, row, numbers, least, most, place, kept, &first);
            found = kept[place - first];
        }
        out[j * out_step] = found;
    }
}
#endif
"""
)
TEXT = (
    OF_ROW
    + """
/* The elements at k places of each of `rows` sorted rows. 1: no memory, 2: a place is out of bounds, which is left in
   `wrong`. */
TG_APART int tg_order_statistics_$N(void *native, const $T *x, int64_t rows, int64_t n, int64_t apart, int64_t step,
                                  const int64_t *places, int64_t places_apart, int64_t place_step, int64_t k, $T *out,
                                  int64_t out_apart, int64_t out_step, int64_t *wrong)
{
    enum { SHORT = 64, TOGETHER = 64 };
    for (int64_t b = 0; b < (places_apart ? rows : rows > 0); b++)
        for (int64_t j = 0; j < k; j++)
            if ((uint64_t)(*wrong = places[b * places_apart + j * place_step]) >= (uint64_t)n) return 2;
    if (k < 1 || rows < 1) return 0;
    const int64_t together = n <= SHORT ? TOGETHER : 1;
    $T *room = malloc(2 * n * together * sizeof *room);
    if (!room) return 1;
    for (int64_t b = 0; b < rows; b += together) {
        const int64_t some = rows - b < together ? rows - b : together;
        const int sorted = together > 1 && tg_sort_network_$N(x + b * apart, room, some, n, apart, step, n, 1);
        for (int64_t u = b; u < b + some; u++) {
            const int64_t *of_row = places + u * places_apart;
            $T *to = out + u * out_apart;
            if (!sorted)
                tg_places_of_row_$N(native, x + u * apart, n, step, of_row, place_step, k, to, out_step, room);
            else for (int64_t j = 0; j < k; j++) to[j * out_step] = room[(u - b) * n + of_row[j * place_step]];
        }
    }
    free(room);
    return 0;
}
"""
)
