"""C text of partitions: rows with elements where sorting puts them, and on both sides what belongs there, as it lay.

Of equal elements the first comes first, as in a stable sort, so that every backend gives the same answer.
"""

from __future__ import annotations

from termgraph.backends.c.text.order_statistics import OF_ROW

# What rows say of an element at a place: its value, which is looked for where the row before had it (NumPy's sort of
# 300 elements takes twice as long as all of this), and where it lies.
_PIVOTS = """
#ifndef TG_PIVOT_$N
#define TG_PIVOT_$N
/* The range in which the row before had its elements around the place, if one is `known`, and what is left of the trust
   in it. */
typedef __typeof__(__builtin_choose_expr(sizeof($T) == 8, (int64_t)0, (int32_t)0)) tg_count_$N; /* as wide */
typedef struct { $T low, high; int known, trust; } tg_range_$N;

static inline $T tg_end_$N(int most) /* the least or the most that there is */
{
    const double infinite = __builtin_inf();
    const uint64_t sign = (uint64_t)1 << (8 * sizeof($T) - 1);
    if (($T)0.5 != 0) return ($T)(most ? infinite : -infinite);
    if (($T)-1 > 0) return most ? ($T)-1 : ($T)0;
    return ($T)(most ? sign - 1 : sign);
}

/* The value at place k of a row in order, if it is in the range with few others: zero if not. */
TG_NEAR static int tg_value_within_$N(const $T *x, int64_t n, int64_t k, $T low, $T high, $T *value, $T *kept)
{
    int64_t before;
    const int64_t count = tg_kept_between_$N(x, n, low, high, kept, &before);
    if (k < before || k >= before + count || count > 256 + n / 16) return 0;
    int some = 0, more = 0; /* whether one is known that is too small, or too large */
    for (int64_t i = 0;; i++) {
        const $T v = kept[i];
        if ((some && v <= low) || (more && v >= high)) continue;
        tg_count_$N less = 0, most = 0;
        for (int64_t j = 0; j < count; j++) less += kept[j] < v;
        for (int64_t j = 0; j < count; j++) most += kept[j] <= v;
        if (k >= before + most) low = v, some = 1;
        else if (k < before + less) high = v, more = 1;
        else {
            *value = v;
            return 1;
        }
    }
}

/* The value at place k of a row in order. `room` holds the row twice. */
TG_NEAR static $T tg_value_of_row_$N(void *native, const $T *x, int64_t n, int64_t k, tg_range_$N *range, $T *room)
{
    enum { TRUST = 8 };
    $T found[3];
    if (range->known && range->trust > 0) {
        if (tg_value_within_$N(x, n, k, range->low, range->high, found, room)) {
            range->trust += range->trust < TRUST;
            return *found;
        }
        range->trust -= TRUST / 2;
    }
    else range->trust++; /* it is tried again after some rows */
    int64_t off = 2; /* three standard deviations of how many elements of such a row are below some number */
    while ((double)off * (double)off * (double)n < 9.0 * (double)k * (double)(n - k)) off++;
    const int64_t places[3] = {k < off ? 0 : k - off, k, k + off < n ? k + off : n - 1};
    tg_places_of_row_$N(native, x, n, 1, places, 1, 3, found, 1, room);
    range->known = 1;
    range->low = k < off ? tg_end_$N(0) : found[0];
    range->high = k + off < n ? found[2] : tg_end_$N(1);
    return found[1];
}

/* Where in a row the element lies that a stable sort puts at place k; its value is known. */
TG_NEAR static int64_t tg_pivot_$N(const $T *x, int64_t n, int64_t k, $T v)
{
    enum { BLOCK = 64 };
    int64_t before = 0, i = 0;
    if (v == v) for (int64_t j = 0; j < n; j++) before += x[j] < v;
    else for (int64_t j = 0; j < n; j++) before += x[j] == x[j];
    for (int64_t equal = k - before;; i += BLOCK) { /* so many equal ones lie before it */
        const int64_t end = i + BLOCK < n ? i + BLOCK : n;
        int here = 0;
        if (v == v) for (int64_t j = i; j < end; j++) here += x[j] == v;
        else for (int64_t j = i; j < end; j++) here += x[j] != x[j];
        if (here <= equal && end < n) {
            equal -= here;
            continue;
        }
        while ((v == v ? x[i] != v : x[i] == x[i]) || equal-- > 0) i++;
        return i;
    }
}
#endif
"""
# What is moved is of type $S, and $M is the function: elements or their places, for which $KEYS makes the elements.
_CUTS = """
/* A row's elements, or what belongs to them, to one of two places: what is below v, or at most v, and the rest. */
static inline __attribute__((always_inline)) void tg_deal_$M_$N(const $T *x, const $S *given, int64_t n, $T v, int with,
                                                                $S **fronts, $S **backs)
{
    $S *front = *fronts, *back = *backs;
    int64_t i = 0;
#if TG_PACKS
    enum { LANES = 32 / sizeof($S), ALL = (1u << (LANES & 31)) - 1 };
    const tg_some_$N values = (tg_element_$N)v - (tg_some_$N){0};
    for (; TG_PACKED($S) && i + TG_SOME_$N <= n; i += TG_SOME_$N) {
        const tg_some_$N keys = *(const tg_some_$N *)(x + i);
        const uint32_t bits = with ? tg_bits_$N(keys <= values) : tg_bits_$N(keys < values);
        for (int g = 0; g < TG_SOME_$N; g += LANES) {
            const uint32_t some = bits >> g & ALL;
            const int count = __builtin_popcount(some);
            TG_PACK(front, given + i + g, some);
            TG_PACK(back, given + i + g, ~some);
            front += count, back += LANES - count;
        }
    }
#endif
    for (; i < n; i++) {
        const int here = with ? x[i] <= v : x[i] < v;
        *front = *back = given[i];
        front += here, back += !here;
    }
    *fronts = front, *backs = back;
}

/* A row's elements, or what belongs to them, with what is before element k of the sorted row in front of it. There is
   `room` for a row and two vectors. */
TG_NEAR static void tg_cut_$M_$N(const $T *x, const $S *given, int64_t n, int64_t k, $T v, $S *out, $S *room)
{
    const int64_t pivot = tg_pivot_$N(x, n, k, v), next = pivot + 1;
    $S *const high = room + k + 64 / sizeof *room, *front = room, *back = high;
    if (v == v) { /* equal ones in front of the pivot come before it */
        tg_deal_$M_$N(x, given, pivot, v, 1, &front, &back);
        tg_deal_$M_$N(x + next, given + next, n - next, v, 0, &front, &back);
    }
    else for (int64_t i = 0; i < n; i++) { /* NaN come last */
        const int here = (i < pivot) | (x[i] == x[i]);
        *front = *back = given[i];
        front += here, back += !here & (i != pivot);
    }
    __builtin_memcpy(out, room, k * sizeof *out);
    out[k] = given[pivot];
    __builtin_memcpy(out + k + 1, high, (n - k - 1) * sizeof *out);
}

/* The same at several places in order, with their values, of a part of the row that begins at `begin`: at the middle
   one, then on both sides of it. `moved`: `given` is no longer as the row lay. */
static void tg_cuts_$M_$N(const $T *row, $S *given, int moved, int64_t begin, int64_t n, const int64_t *places,
                          const $T *values, int64_t count, $S *out, $T *room, $S *parts)
{
    for (; count; moved = 1) {
        const int64_t half = count / 2, k = places[half] - begin;
        $KEYS
        tg_cut_$M_$N(keys, given, n, k, values[half], out, parts);
        if (count == 1) return;
        __builtin_memcpy(given, out, n * sizeof *given);
        tg_cuts_$M_$N(row, given, 1, begin, k, places, values, half, out, room, parts);
        given += k + 1, out += k + 1, begin += k + 1, n -= k + 1;
        places += half + 1, values += half + 1, count -= half + 1;
    }
}

/* Rows with their elements at k places where sorting puts them. 1: no memory, 2: a place is out of bounds, which is
   left in `wrong`. */
TG_APART int tg_$M_$N(void *native, const $T *x, int64_t rows, int64_t n, int64_t apart, int64_t step,
                      const int64_t *places, int64_t places_apart, int64_t place_step, int64_t k, $S *out,
                      int64_t out_apart, int64_t out_step, int64_t *wrong)
{
    enum { SHORT = 64 };
    for (int64_t b = 0; b < (places_apart ? rows : rows > 0); b++)
        for (int64_t j = 0; j < k; j++)
            if ((uint64_t)(*wrong = places[b * places_apart + j * place_step]) >= (uint64_t)n) return 2;
    if (rows < 1 || n < 1) return 0;
    $T *const room = malloc((n <= SHORT ? SHORT + 5 : 5) * n * sizeof *room), *const row = room + 2 * n;
    $T *const values = row + n, *const sorted = n <= SHORT ? values + n : NULL; /* short rows are sorted */
    $S *const given = malloc(3 * n * sizeof *given + 128), *const line = given + n;
    int64_t *const at = malloc((k + 1) * sizeof *at), count = 0;
    uint8_t *const marked = calloc(n, 1);
    const int failed = !room || !given || !at || !marked;
    tg_range_$N range = {0};
    for (int64_t b = 0; !failed && b < rows; b++, x += apart, out += out_apart, places += places_apart) {
        const int64_t some = rows - b < SHORT ? rows - b : SHORT, of = b % SHORT;
        if (sorted && !of && !tg_sort_network_$N(x, sorted, some, n, apart, step, n, 1))
            for (int64_t u = 0; u < some; u++) {
                for (int64_t i = 0; i < n; i++) sorted[u * n + i] = x[u * apart + i * step];
                ((int (*)(void *, int64_t, void *))native)(sorted + u * n, n, NULL);
            }
        if (b == 0 || places_apart) { /* the places in order, each once */
            for (int64_t j = 0; k > 1 && j < k; j++) marked[places[j * place_step]] = 1;
            for (int64_t i = count = 0; k > 1 && i < n; i++)
                if (marked[i]) at[count++] = i, marked[i] = 0;
            if (k == 1) at[count++] = *places;
            range.trust = places_apart ? 0 : 4;
        }
        for (int64_t i = 0; step != 1 && i < n; i++) row[i] = x[i * step];
        const $T *const from = step == 1 ? x : row;
        if (sorted) for (int64_t i = 0; i < count; i++) values[i] = sorted[of * n + at[i]];
        else if (count == 1) *values = tg_value_of_row_$N(native, from, n, *at, &range, room);
        else tg_places_of_row_$N(native, from, n, 1, at, 1, count, values, 1, room);
        $S *const to = out_step == 1 ? out : line, *moved = given;
        $GIVEN
        if (!count) __builtin_memcpy(to, moved, n * sizeof *to);
        tg_cuts_$M_$N(from, moved, 0, 0, n, at, values, count, to, room, given + 2 * n);
        for (int64_t i = 0; to == line && i < n; i++) out[i * out_step] = line[i];
    }
    free(room), free(given), free(at), free(marked);
    return failed;
}
"""


def _of(moved: str, name: str, keys: str, given: str) -> str:
    text = _CUTS.replace("$KEYS", keys).replace("$GIVEN", given)
    return OF_ROW + _PIVOTS + text.replace("$S", moved).replace("$M", name)


VALUES = _of(
    "$T",
    "partition",
    "const $T *const keys = given;\n        (void)row, (void)moved, (void)room;",
    "if (count > 1) __builtin_memcpy(given, from, n * sizeof *given);\n"
    "        else moved = ($T *)from; /* only read */",
)
PLACES = _of(
    "int64_t",
    "argpartition",
    "const $T *const keys = moved ? room : row;\n"
    "        for (int64_t i = 0; moved && i < n; i++) room[i] = row[given[i]];",
    "for (int64_t i = 0; (b == 0 || places_apart || count > 1) && i < n; i++) given[i] = i;",
)
