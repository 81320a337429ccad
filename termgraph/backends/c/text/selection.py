"""C text of selection: where the first k of n elements in order lie, without sorting the others."""

TEXT = """
#ifndef TG_TOP
#define TG_TOP __attribute__((noinline, optimize("O2", "tree-vectorize")))
#endif

/* An element's key, by which the first one wanted is the smallest, and its place. */
typedef struct { $T key; int64_t place; } tg_top_$N;

static inline int tg_top_before_$N(tg_top_$N a, tg_top_$N b)
{
    return a.key < b.key || (a.key == b.key && a.place < b.place);
}

/* Bring the first k of n items to the front, in any order: pivots are drawn, so that no order of elements is bad. */
TG_TOP static void tg_top_select_$N(tg_top_$N *items, int64_t n, int64_t k)
{
    uint64_t random = 0x9E3779B97F4A7C15u;
    for (int64_t low = 0, high = n - 1; low < high;) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        const tg_top_$N pivot = items[low + (int64_t)(random % (uint64_t)(high - low + 1))];
        int64_t i = low, j = high;
        while (i <= j) {
            while (tg_top_before_$N(items[i], pivot)) i++;
            while (tg_top_before_$N(pivot, items[j])) j--;
            if (i > j) break;
            const tg_top_$N item = items[i];
            items[i++] = items[j];
            items[j--] = item;
        }
        if (k <= j) high = j;
        else if (k >= i) low = i;
        else return;
    }
}

/* Sort k items, with room for as many behind them: runs that grow are merged. Returns where they are at the end. */
TG_TOP static tg_top_$N *tg_top_merge_$N(tg_top_$N *items, int64_t k)
{
    tg_top_$N *other = items + k;
    for (int64_t run = 1; run < k; run *= 2) {
        for (int64_t begin = 0; begin < k; begin += 2 * run) {
            const int64_t middle = begin + run < k ? begin + run : k, end = middle + run < k ? middle + run : k;
            int64_t i = begin, j = middle;
            for (int64_t at = begin; at < end; at++)
                other[at] = j == end || (i < middle && tg_top_before_$N(items[i], items[j])) ? items[i++] : items[j++];
        }
        tg_top_$N *swapped = items;
        items = other;
        other = swapped;
    }
    return items;
}

/* Whether one of some elements comes before a key. */
enum { TG_TOP_BLOCK_$N = 16 };
TG_TOP static int tg_top_some_$N(const $T *x, int kind, $T last)
{
    const $T flip = kind & 4 ? ($T)-1 : 0;
    int some = 0;
    kind &= 3;
    if (kind == 2) for (int i = 0; i < TG_TOP_BLOCK_$N; i++) some |= ($T)(tg_sort_key_$N(x[i], 2) ^ flip) < last;
    else for (int i = 0; i < TG_TOP_BLOCK_$N; i++) some |= ($T)(tg_sort_key_$N(x[i], kind) ^ flip) < last;
    return some;
}

/* The first k of n elements in order. Candidates are those that come before the last of the k best so far: a few are
   kept in order, many in a list that is cut to k when it is full. */
TG_TOP static int tg_top_few_of_$N(int kind, const $T *x, int64_t *out, int64_t n, int64_t k, int64_t step,
                                   int64_t out_step)
{
    enum { FEW = 24, MORE = 1024 };
    const int64_t room = k <= FEW ? k : 2 * k + MORE;
    tg_top_$N few[FEW], *items = k <= FEW ? few : malloc(room * sizeof *items);
    if (!items) return 1;
    $T last = ($T)-1;
    int64_t count = 0;
    for (int64_t i = 0; i < n;) {
        if (count >= k && step == 1)
            while (i + TG_TOP_BLOCK_$N <= n && !tg_top_some_$N(x + i, kind, last)) i += TG_TOP_BLOCK_$N;
        const int64_t end = i + TG_TOP_BLOCK_$N < n ? i + TG_TOP_BLOCK_$N : n;
        for (; i < end; i++) {
            const tg_top_$N item = {tg_sort_key_$N(x[i * step], kind), i};
            if (count >= k && item.key >= last) continue;
            if (k <= FEW) {
                int64_t at = count < k ? count++ : k - 1;
                for (; at > 0 && item.key < items[at - 1].key; at--) items[at] = items[at - 1];
                items[at] = item;
                last = items[count - 1].key;
                continue;
            }
            items[count++] = item;
            if (count < room && count != k) continue;
            if (count > k) tg_top_select_$N(items, count, k - 1);
            count = k;
            last = items[0].key;
            for (int64_t j = 1; j < k; j++) last = items[j].key > last ? items[j].key : last;
        }
    }
    if (count > k) tg_top_select_$N(items, count, k - 1);
    const tg_top_$N *found = k <= FEW ? items : tg_top_merge_$N(items, k);
    for (int64_t j = 0; j < k; j++) out[j * out_step] = found[j].place;
    if (items != few) free(items);
    return 0;
}

/* The first k of a short row: it is dealt to 32 hands, and what comes after the first elements of k hands is not among
   them. All steps are vector loops or have no branch. 0 if too many are left (equal ones, or others in a bad order). */
TG_TOP static int tg_top_dealt_$N(int kind, const $T *x, int64_t *out, int64_t n, int64_t k, int64_t out_step)
{
    enum { HANDS = 32, ROOM = 64, LENGTH = 4096 };
    $T keys[LENGTH], hands[HANDS], ranks[ROOM + HANDS] = {0}, left[ROOM + HANDS], bound = 0;
    int64_t places[ROOM + HANDS];
    const $T flip = kind & 4 ? ($T)-1 : 0;
    int count = 0;
    kind &= 3;
    if (kind == 2) for (int64_t i = 0; i < n; i++) keys[i] = ($T)(tg_sort_key_$N(x[i], 2) ^ flip);
    else for (int64_t i = 0; i < n; i++) keys[i] = ($T)(tg_sort_key_$N(x[i], kind) ^ flip);
    for (int j = 0; j < HANDS; j++) hands[j] = keys[j];
    for (int64_t i = HANDS; i + HANDS <= n; i += HANDS)
        for (int j = 0; j < HANDS; j++) hands[j] = keys[i + j] < hands[j] ? keys[i + j] : hands[j];
    for (int i = 0; i < HANDS; i++)
        for (int j = 0; j < HANDS; j++) ranks[j] += hands[i] < hands[j];
    for (int j = 0; j < HANDS; j++) {
        const $T hand = ranks[j] < ($T)k ? hands[j] : 0;
        bound = hand > bound ? hand : bound;
        ranks[j] = 0;
    }
    for (int64_t i = 0; i < n;) {
        const int64_t end = i + HANDS < n ? i + HANDS : n;
        for (; i < end; i++) {
            places[count] = i, left[count] = keys[i];
            count += keys[i] <= bound;
        }
        if (count > ROOM) return 0;
    }
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) ranks[j] += (left[i] < left[j]) | ((left[i] == left[j]) & (($T)i < ($T)j));
    for (int j = 0; j < count; j++)
        if (ranks[j] < ($T)k) out[(int64_t)ranks[j] * out_step] = places[j];
    return 1;
}

/* Where the k smallest of n elements of $N bits lie, the smallest first, or with 4 in `kind` the largest; of equal ones
   the first comes first. Nonzero: no memory. Of short rows those left by dealing are put in order, few of many elements
   are selected, else all are sorted, which takes 3 ns for an element of a short row and 13 of a long one (Zen 5). */
TG_APART int tg_argtopk_$N(void *sorter, int kind, const $T *x, int64_t *out, int64_t n, int64_t k, int64_t step,
                         int64_t out_step)
{
    enum { FEW = 24, SHORT = 1500, LONG = 100000 };
    const int64_t most = n >= LONG ? n / 32 : k <= FEW ? n / 60 : n / 200;
    uint64_t *order = NULL, *other = NULL;
    int done = 0;
    if (step == 1 && n >= 256 && n <= 4096 && n <= 256 * k && k <= 16 && ((kind & 3) == 2 || n >= 32 * k))
        if (tg_top_dealt_$N(kind, x, out, n, k, out_step)) return 0;
    if (k > most) order = malloc(n * sizeof *order);
    if (order) {
        if ((n >= SHORT || TG_VECTOR_SORT) && !(n >> 32)) other = malloc((n + 8) * sizeof *other);
        done = other && tg_argsort_by_words_$N(sorter, kind, 33, x, n, step, order, other);
        if (!done) done = tg_argsort_by_words_$N(sorter, kind, 64, x, n, step, order, other);
        for (int64_t j = 0; done && j < k; j++) out[j * out_step] = order[j];
    }
    free(order);
    free(other);
    return !done && tg_top_few_of_$N(kind, x, out, n, k, step, out_step);
}
"""
