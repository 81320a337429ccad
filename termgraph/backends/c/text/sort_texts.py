"""C text of sorts around those of NumPy's and those by vectors, compiled once for all programs: $T is the C type.

$N is its bits. `native` and `sorter` are functions of NumPy's that sort a row. Pure text.
"""

from __future__ import annotations

from termgraph.backends.c.apart import section
from termgraph.backends.c.text import bucket_sort, order_statistics, partition, selection, sorting_networks, squares
from termgraph.backends.c.text.prelude import PAIR
from termgraph.backends.c.text.vector_sort import HEAD

MEMORY = """
void *malloc(size_t);
void *calloc(size_t, size_t);
void *aligned_alloc(size_t, size_t);
void free(void *);
"""
_LINES = """
#if TG_SORTS_NUMBERS_$N
TG_APART int tg_sort_numbers_$N(void *given, int kind, int64_t n);
#endif
#if $N == 16
/* Sort n floats of 16 bits by their keys (see tg_sort_key), which NumPy's function sorts as unsigned numbers. Zeros of
   both signs are equal, and so are all NaN: they keep their order, as in a stable sort. Nonzero: no memory. */
static int tg_sort_halves(int (*sort)(void *, int64_t, void *), uint16_t *a, int64_t n)
{
    int64_t zeros = 0, nans = 0;
    for (int64_t i = 0; i < n; i++) zeros += (uint16_t)(a[i] << 1) == 0;
    for (int64_t i = 0; i < n; i++) nans += (a[i] & 0x7fff) > 0x7c00;
    uint16_t *kept = zeros + nans ? malloc((zeros + nans + 1) * sizeof *kept) : NULL;
    if (zeros + nans) {
        if (!kept) return 1;
        for (int64_t i = 0, k = 0, j = zeros; i < n; i++) {
            if ((uint16_t)(a[i] << 1) == 0) kept[k++] = a[i];
            if ((a[i] & 0x7fff) > 0x7c00) kept[j++] = a[i];
        }
    }
    for (int64_t i = 0; i < n; i++) {
        const uint16_t u = a[i], key = u ^ (uint16_t)(u >> 15 ? 0xffff : 0x8000);
        a[i] = (u & 0x7fff) > 0x7c00 ? 0xffff : u == 0x8000 ? 0x8000 : key;
    }
    sort(a, n, NULL);
    int64_t first = 0;
    for (int64_t end = zeros ? n : 0; first < end;) {
        const int64_t middle = first + (end - first) / 2;
        if (a[middle] < 0x8000) first = middle + 1;
        else end = middle;
    }
    for (int64_t i = 0; i < n; i++) a[i] ^= a[i] >> 15 ? 0x8000 : 0xffff;
    for (int64_t i = 0; i < zeros; i++) a[first + i] = kept[i];
    for (int64_t i = 0; i < nans; i++) a[n - nans + i] = kept[zeros + i];
    free(kept);
    return 0;
}
#endif

/* Sort n elements of $N bits into `out`, as keys (see tg_sort_key) or by NumPy's function. Nonzero: no memory. */
TG_APART int tg_sort_$N(void *native, int kind, const void *source, void *target, int64_t n, int64_t step,
                        int64_t out_step)
{
    const $T *x = source;
    $T *out = target, *row = out_step == 1 ? out : malloc(n * sizeof *row + 1);
    if (!row) return 1;
    int (*const sort)(void *, int64_t, void *) = (int (*)(void *, int64_t, void *))native;
    int failed = 0;
    if (step == 1 && row != x) __builtin_memcpy(row, x, n * sizeof *row);
    for (int64_t i = 0; step != 1 && i < n; i++) row[i] = x[i * step];
#if $N == 16
    if (kind == 2) failed = tg_sort_halves(sort, row, n);
    else
#elif TG_SORTS_NUMBERS_$N
    if (!tg_sort_numbers_$N(row, kind, n))
#endif
        sort(row, n, NULL);
    if (row == out) return failed;
    for (int64_t i = 0; i < n; i++) out[i * out_step] = row[i];
    free(row);
    return failed;
}

$SQUARE
/* Rows of `lines` elements become columns, or the other way round. */
static inline void tg_lines_turned_$N(const $T *x, int64_t step, int64_t apart, $T *out, int64_t out_step,
                                      int64_t out_apart, int64_t lines, int64_t n)
{
    int64_t first = 0;
#if TG_TURNS_$N
    enum { SIDE = TG_TURNS_$N };
    if (lines % SIDE == 0)
        for (; first + SIDE <= n; first += SIDE)
            for (int64_t u = 0; u < lines; u += SIDE)
                tg_turned_$N(x + first * step + u * apart, apart == 1 ? step : apart,
                             out + first * out_step + u * out_apart, apart == 1 ? out_apart : out_step);
#endif
    for (int64_t i = first; i < n; i++)
        for (int64_t u = 0; u < lines; u++) out[i * out_step + u * out_apart] = x[i * step + u * apart];
}

/* Sort `count` lines that lie side by side, some of them at a time, which are copied together. Zero: not done. */
TG_APART int tg_sort_across_$N(void *native, int kind, const void *source, void *target, int64_t count, int64_t n,
                               int64_t apart, int64_t step, int64_t out_apart, int64_t out_step)
{
    enum { LINES = 64 / sizeof($T) };
    const int64_t room = n + LINES; /* of long rows each element of a line is in another page: more lines at once */
    const int64_t most = n < 2000 && step * (int64_t)sizeof($T) > 4000 ? 4 * LINES : LINES;
    const $T *x = source;
    $T *out = target, *rows = NULL;
    if (apart == 1 && out_apart == 1 && count >= LINES) rows = malloc(room * most * sizeof *rows);
    if (!rows) return 0;
    for (int64_t first = 0; first < count; first += most, x += most, out += most) {
        const int64_t lines = count - first < most ? count - first : most;
        tg_lines_turned_$N(x, step, 1, rows, 1, room, lines, n);
        for (int64_t u = 0; u < lines; u++) tg_sort_$N(native, kind, rows + u * room, rows + u * room, n, 1, 1);
        tg_lines_turned_$N(rows, 1, room, out, out_step, 1, lines, n);
    }
    free(rows);
    return 1;
}
"""
_KEY = """
#ifndef TG_SORT_KEY_$N
#define TG_SORT_KEY_$N
/* Numbers of $N bits as unsigned ones in the same order: `kind` is 0 of those without signs, 1 with signs, 2 of floats,
   of which both zeros are equal, and all NaN, which come last; with 4 more the order is the other one. */
static inline uint64_t tg_sort_key_$N($T u, int kind)
{
    enum { MANTISSA = $N == 64 ? 52 : $N == 32 ? 23 : $N == 16 ? 10 : 0 };
    const $T sign = ($T)1 << ($N - 1), infinite = (($T)(sign - 1) >> MANTISSA) << MANTISSA;
    const $T flip = kind & 4 ? ($T)-1 : 0;
    if ((kind & 3) == 0) return ($T)(u ^ flip);
    if ((kind & 3) == 1) return ($T)(u ^ sign ^ flip);
    const $T size = u & ~sign, below = -(u >> ($N - 1)); /* all bits of a negative one, whose size is taken off */
    return ($T)(size > infinite ? ($T)-1 : sign + (($T)(size ^ below) - below)) ^ flip;
}
#endif
"""
_BY_WORDS = """
TG_APART int tg_argsort_by_words_$N(void *sorter, int kind, int room, const $T *x, int64_t n, int64_t step,
                                    uint64_t *out, uint64_t *other);
"""
_STABLE = """
/* Where n elements of $N bits come from when sorted; equal ones keep their order. Nonzero: no memory. */
TG_APART int tg_argsort_stable_$N(void *native, const void *source, int64_t *out, int64_t n, int64_t step,
                                  int64_t out_step)
{
    const $T *x = source;
    $T *row = step == 1 ? ($T *)x : malloc(n * sizeof *row + 1);
    int64_t *order = out_step == 1 ? out : malloc(n * sizeof *order + 1);
    const int failed = !row || !order;
    if (!failed) {
        if (row != x) for (int64_t i = 0; i < n; i++) row[i] = x[i * step];
        for (int64_t i = 0; i < n; i++) order[i] = i;
        ((int (*)(void *, int64_t *, int64_t, void *))native)(row, order, n, NULL);
        if (order != out) for (int64_t i = 0; i < n; i++) out[i * out_step] = order[i];
    }
    if (row != x) free(row);
    if (order != out) free(order);
    return failed;
}
"""
_PLACES = """
#if TG_VECTOR_SORT
TG_APART int tg_sort_keys_64(uint64_t *given, uint64_t *more, int64_t n);
#endif
TG_APART int tg_argsort_stable_$N(void *native, const void *source, int64_t *out, int64_t n, int64_t step,
                                  int64_t out_step);

/* Keys of n elements, in words, and the least and the largest of them. */
static inline __attribute__((always_inline)) void tg_keys_found_$N(
    const $T *x, int64_t n, int64_t step, int kind, uint64_t *words, uint64_t *least, uint64_t *most)
{
    uint64_t low = (uint64_t)-1, high = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t key = words[i] = tg_sort_key_$N(x[i * step], kind);
        low = key < low ? key : low;
        high = key > high ? key : high;
    }
    *least = low, *most = high;
}
static void tg_keys_made_$N(const $T *x, int64_t n, int64_t step, int kind, uint64_t *words, uint64_t *least,
                            uint64_t *most)
{
    if (step == 1 && kind == 0) tg_keys_found_$N(x, n, 1, 0, words, least, most); /* vectors of their own */
    else if (step == 1 && kind == 1) tg_keys_found_$N(x, n, 1, 1, words, least, most);
    else if (step == 1 && kind == 2) tg_keys_found_$N(x, n, 1, 2, words, least, most);
    else tg_keys_found_$N(x, n, step, kind, words, least, most);
}
$BUCKETS
/* Keys become words of their first bits and places, sorted by digits, with room for a copy: where they are at the end.
   Two digits are counted at once. */
static uint64_t *tg_radix_words_$N(uint64_t *words, uint64_t *other, int64_t n, uint64_t least, int shift, int bits,
                                   int width)
{
    enum { DIGIT = 11, ALL = (1 << DIGIT) - 1 };
    uint32_t count[2][ALL + 1] = {{0}};
    for (int64_t i = 0; i < n; i++) {
        const uint64_t key = (words[i] - least) >> shift;
        words[i] = key << bits | (uint64_t)i;
        count[0][key & ALL]++, count[1][key >> DIGIT & ALL]++;
    }
    for (int low = bits, p = 0; low < bits + width; low += DIGIT, p++) {
        uint32_t *const place = count[p & 1], total = 0;
        if (p > 1) {
            for (int k = 0; k <= ALL; k++) place[k] = 0;
            for (int64_t i = 0; i < n; i++) place[words[i] >> low & ALL]++;
        }
        for (int k = 0; k <= ALL; k++) {
            const uint32_t here = place[k];
            place[k] = total;
            total += here;
        }
        for (int64_t i = 0; i < n; i++) {
            const uint64_t word = words[i];
            other[place[word >> low & ALL]++] = word;
        }
        uint64_t *swapped = words;
        words = other;
        other = swapped;
    }
    return words;
}

/* As tg_argsort, by sorting words that hold the first bits of an element and its place: by digits if there is an
   `other` place for them and no sort by vectors, else by NumPy's sort. Returns 0 if too many elements differ only in
   bits without room. */
TG_APART int tg_argsort_by_words_$N(void *sorter, int kind, int room, const $T *x, int64_t n, int64_t step,
                                    uint64_t *out, uint64_t *other)
{
    uint64_t least, most, *words = out;
    int bits = 1, shift = 0, width = 0;
    const int by_vectors = other && TG_SORTS_BY_VECTORS(n, kind & 3);
    while (bits < 63 && n > (int64_t)1 << bits) bits++;
    room = room < 64 - bits && !by_vectors ? room : 64 - bits;
    tg_keys_made_$N(x, n, step, kind, words, &least, &most);
    while (width < 64 && (most - least) >> width) width++;
    if (width > room) shift = width - room, width = room;
    const int by_digits = other && !by_vectors && (width <= 33 || !TG_VECTOR_SORT); /* three, else NumPy's is faster */
    if (by_digits) words = tg_radix_words_$N(words, other, n, least, shift, bits, width);
    else {
        for (int64_t i = 0; i < n; i++) words[i] = (words[i] - least) >> shift << bits | (uint64_t)i;
        int done = 0;
#if TG_VECTOR_SORT
        done = by_vectors && tg_sort_keys_64(words, other, n);
#endif
        if (!done) ((int (*)(void *, int64_t, void *))sorter)(words, n, NULL);
    }
    const uint64_t place = ((uint64_t)1 << bits) - 1;
    if (shift)
        for (int64_t i = 1, first = 0; i < n; i++) { /* elements that began with the same bits, by all of them */
            if ((words[i] ^ words[i - 1]) > place) {
                first = i;
                continue;
            }
            const uint64_t word = words[i], key = tg_sort_key_$N(x[(word & place) * step], kind);
            int64_t k = i;
            for (; k > first && tg_sort_key_$N(x[(words[k - 1] & place) * step], kind) > key; k--)
                words[k] = words[k - 1];
            words[k] = word;
            if (i - k > 100) return 0;
        }
    for (int64_t i = 0; i < n; i++) out[i] = words[i] & place;
    return 1;
}

/* The same where too many differ only in bits without room: by their last bits first, then by the others. */
static void tg_argsort_by_halves_$N(void *sorter, int kind, const $T *x, int64_t n, int64_t step, uint64_t *out,
                                    uint64_t *other)
{
    int (*const sort)(void *, int64_t, void *) = (int (*)(void *, int64_t, void *))sorter;
    uint64_t least, most;
    int bits = 1;
    while (n > (int64_t)1 << bits) bits++;
    const uint64_t place = ((uint64_t)1 << bits) - 1;
    tg_keys_made_$N(x, n, step, kind, out, &least, &most);
    for (int64_t i = 0; i < n; i++) out[i] = (out[i] - least) << bits | (uint64_t)i;
    sort(out, n, NULL);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t key = tg_sort_key_$N(x[(int64_t)(out[i] & place) * step], kind) - least;
        other[i] = key >> (64 - bits) << bits | (uint64_t)i;
    }
    sort(other, n, NULL);
    for (int64_t i = 0; i < n; i++) other[i] = out[other[i] & place] & place;
    for (int64_t i = 0; i < n; i++) out[i] = other[i];
}

/* The same by words where they have room for what elements differ in. */
TG_APART int tg_argsort_$N(void *stable, void *sorter, int kind, const void *source, int64_t *out, int64_t n,
                           int64_t step, int64_t out_step)
{
    int64_t *order = out_step == 1 ? out : malloc(n * sizeof *order + 1);
    if (!order) return 1;
    enum { FEW = 1500, MANY = 1 << 17 };
    const int first = kind != 2 && n < MANY ? 22 : 33; /* two digits or three, enough unless elements are much alike */
    uint64_t *other = (n < FEW && !TG_VECTOR_SORT) || n >> 32 ? NULL : malloc((n + 8) * sizeof *other);
    int done = other && n >= FEW && first == 22 &&
               tg_argsort_by_buckets_$N(kind, source, n, step, (uint64_t *)order, (uint32_t *)other);
    if (!done) done = other && tg_argsort_by_words_$N(sorter, kind, first, source, n, step, (uint64_t *)order, other);
    if (!done) done = tg_argsort_by_words_$N(sorter, kind, 64, source, n, step, (uint64_t *)order, other);
    if (!done && other) tg_argsort_by_halves_$N(sorter, kind, source, n, step, (uint64_t *)order, other), done = 1;
    free(other);
    if (order != out) {
        for (int64_t i = 0; done && i < n; i++) out[i * out_step] = order[i];
        free(order);
    }
    return done ? 0 : tg_argsort_stable_$N(stable, source, out, n, step, out_step);
}
"""
_NETWORK = """
TG_APART int tg_sort_network_$N(const $T *x, $T *out, int64_t count, int64_t n, int64_t apart, int64_t step,
                                int64_t out_apart, int64_t out_step);
"""
# Who calls what of another text.
USERS: dict[str, tuple[str, ...]] = {
    "tg_argsort": ("tg_argtopk",),
    "tg_argsort_stable": ("tg_argsort", "tg_argtopk"),
    "tg_sort_network": ("tg_order_statistics", "tg_partition", "tg_argpartition"),
}
TEXTS = {
    "tg_sort": section(HEAD + PAIR, MEMORY + _LINES.replace("$SQUARE", squares.TEXT)),
    "tg_sort_network": section("", sorting_networks.TEXT),
    "tg_order_statistics": section("", MEMORY + _NETWORK + order_statistics.TEXT),
    "tg_partition": section("", MEMORY + _NETWORK + partition.VALUES),
    "tg_argpartition": section("", MEMORY + _NETWORK + partition.PLACES),
    "tg_argsort_stable": section(PAIR, MEMORY + _STABLE),
    "tg_argsort": section(HEAD, MEMORY + _KEY + _PLACES.replace("$BUCKETS", bucket_sort.TEXT)),
    "tg_argtopk": section(HEAD, MEMORY + _KEY + _BY_WORDS + selection.TEXT),
}
