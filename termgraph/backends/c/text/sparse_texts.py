"""C text for sparse matrices: products with arrays, and what becomes of patterns. `$T` is a type, `$N` its short name.

A pattern is `indices` and `indptr`, with the distances between their elements, and the number of elements.
"""

from __future__ import annotations

from termgraph.backends.c.text.dialect import filled
from termgraph.terms.ops.sparse import SPARE

_SPARSE = """
/* A sparse matrix times the columns of x. Returns 1 if an element lies outside of it, with its index in *bad. */
static int tg_$F_dot_$N(const $T *data, int64_t d, const int32_t *indices, int64_t s, const int32_t *indptr, int64_t p,
                       int64_t entries, int64_t rows, int64_t columns, int64_t width, const $T *x, int64_t x_row,
                       int64_t x_column, $T *out, int64_t *bad)
{
    const int64_t majors = $MAJORS, minors = $MINORS;
    int64_t k = majors > 0 ? indptr[0] : 0;
    if (k < 0) return *bad = k, 1;
    $CLEAR
    for (int64_t i = 0; i < majors; i++) {
        const int64_t end = indptr[(i + 1) * p];
        if (end < k || end > entries) return *bad = end, 1;
        $BEGIN
        for (; k < end; k++) {
            const int64_t j = indices[k * s];
            const $T v = data[k * d];
            if ((uint64_t)j >= (uint64_t)minors) return *bad = j, 1;
            $ONE
        }
        $END
    }
    return 0;
}
"""
_ADD_ROW = """if (x_column == 1)
                for (int64_t c = 0; c < width; c++) $TO[c] += v * $FROM[c];
            else
                for (int64_t c = 0; c < width; c++) $TO[c] += v * $FROM[c * x_column];"""


def _sparse(by_rows: bool, vector: bool) -> str:
    """A product by rows, or by columns of the matrix; of a vector, or of a matrix."""
    clear = "for (int64_t c = 0; c < rows * width; c++) out[c] = 0;"
    if vector:
        begin = "$T total = 0;" if by_rows else "const $T here = x[i * x_row];"
        one, end = ("total += v * x[j * x_row];", "out[i] = total;") if by_rows else ("out[j] += v * here;", "")
    else:
        to, source = ("out + i * width", "x + j * x_row") if by_rows else ("out + j * width", "x + i * x_row")
        one = f"$T *restrict to = {to};\n            const $T *from = {source};\n            " + _ADD_ROW
        one, begin, end = one.replace("$TO", "to").replace("$FROM", "from"), "", ""
    pieces = {
        "$F": ("csr" if by_rows else "csc") + ("v" if vector else ""), "$MAJORS": "rows" if by_rows else "columns",
        "$MINORS": "columns" if by_rows else "rows", "$CLEAR": "" if by_rows and vector else clear,
        "$BEGIN": begin, "$ONE": one, "$END": end,
    }  # fmt: skip
    return filled(_SPARSE, pieces)


def _switched(ed: str, given: str, moved: str, move: str) -> str:
    """A pattern in the other format, after the places of its elements or, `ed`, after these themselves."""
    return f"""
/* The pattern in the other format. Returns 1 if an element lies outside, 2 if indptr does not count the elements. */
static int tg_csm_switch{ed}_$N({given}const int32_t *indices, int64_t s, const int32_t *indptr, int64_t p,
                                int64_t pointers, int64_t entries, int64_t minors, {moved}int32_t *out, int32_t *ends,
                                int64_t *bad)
{{
    if (pointers < 1 || indptr[0] != 0 || indptr[(pointers - 1) * p] != entries) return 2;
    for (int64_t i = 1; i < pointers; i++) if (indptr[i * p] < indptr[(i - 1) * p]) return 2;
    for (int64_t j = 0; j <= minors; j++) ends[j] = 0;
    for (int64_t k = 0; k < entries; k++) {{
        const int64_t j = indices[k * s];
        if ((uint64_t)j >= (uint64_t)minors) return *bad = j, 1;
        ends[j + 1]++;
    }}
    for (int64_t j = 0; j < minors; j++) ends[j + 1] += ends[j];
    for (int64_t i = 0; i + 1 < pointers; i++)
        for (int64_t k = indptr[i * p]; k < indptr[(i + 1) * p]; k++) {{
            const int64_t at = ends[indices[k * s]]++;
            {move};
            out[at] = i;
        }}
    for (int64_t j = minors; j > 0; j--) ends[j] = ends[j - 1];
    ends[0] = 0;
    return 0;
}}
"""


TEXTS = {
    **{f"tg_{name}_dot": _sparse(name[:3] == "csr", len(name) > 3) for name in ("csr", "csc", "csrv", "cscv")},
    "tg_majors": """
/* The row of each element. Returns 1 if indptr does not count them. */
static int tg_majors_$N(const $T *indptr, int64_t p, int64_t pointers, int64_t entries, $T *out)
{
    int64_t k = 0;
    if (pointers > 0 && indptr[0] != 0) return 1;
    for (int64_t i = 0; i + 1 < pointers; i++) {
        const int64_t end = indptr[(i + 1) * p];
        if (end > entries) return 1;
        for (; k < end; k++) out[k] = i;
    }
    return k != entries;
}
""",
    "tg_csm_switch": _switched("", "", "$T *order, ", "order[at] = k"),
    "tg_csm_switched": _switched("ed", "const $T *data, int64_t d, ", "$T *values, ", "values[at] = data[k * d]"),
    "tg_csm_sorted": """
/* The places of elements such that those of each row are in order, and their indices then. Fails as the switch does,
   and returns 3 if there is no memory. */
static int tg_csm_sorted_$N(const $T *indices, int64_t s, const $T *indptr, int64_t p, int64_t pointers,
                            int64_t entries, int64_t minors, $T *order, $T *out, int64_t *bad)
{
    int ordered = 1;
    if (pointers < 1 || indptr[0] != 0 || indptr[(pointers - 1) * p] != entries) return 2;
    for (int64_t i = 1; i < pointers; i++) if (indptr[i * p] < indptr[(i - 1) * p]) return 2;
    for (int64_t i = 1; ordered && i < pointers; i++) {
        int64_t before = 0;
        for (int64_t k = indptr[(i - 1) * p]; k < indptr[i * p]; k++) {
            const int64_t j = indices[k * s];
            if ((uint64_t)j >= (uint64_t)minors) return *bad = j, 1;
            ordered &= j >= before;
            before = j;
        }
    }
    if (ordered) {
        for (int64_t k = 0; k < entries; k++) order[k] = k, out[k] = indices[k * s];
        return 0;
    }
    $T *room = __builtin_malloc((3 * entries + minors + pointers + 1) * sizeof($T));
    if (!room) return 3;
    $T *once = room, *majors = once + entries, *twice = majors + entries, *ends = twice + entries;
    int failed = tg_csm_switch_$N(indices, s, indptr, p, pointers, entries, minors, once, majors, ends, bad);
    $T *rows = ends + minors + 1;
    if (!failed)
        failed = tg_csm_switch_$N(majors, 1, ends, 1, minors + 1, entries, pointers - 1, twice, out, rows, bad);
    for (int64_t k = 0; !failed && k < entries; k++) order[k] = once[twice[k]];
    __builtin_free(room);
    return failed;
}
""",
    "tg_csm_moved": """
static void tg_csm_moved_$N(const $T *data, int64_t d, const int32_t *order, int64_t entries, $T *out)
{
    for (int64_t k = 0; k < entries; k++) out[k] = data[order[k] * d];
}
""",
    "tg_csm_kept": """
/* The elements that stay, and their indptr; zeros follow. Returns 1 if indptr does not count the elements. */
static int tg_csm_kept_$N(const uint8_t *mask, int64_t m, const $T *data, int64_t d, const int32_t *indices, int64_t s,
                          const int32_t *indptr, int64_t p, int64_t pointers, int64_t entries, $T *values,
                          int32_t *out, int32_t *ends)
{
    enum { SOME = 256 }; /* elements of whole rows that are copied at once where all of them stay */
    int64_t n = 0, k = 0;
    if (pointers < 1 || indptr[0] != 0 || indptr[(pointers - 1) * p] != entries) return 1;
    ends[0] = 0;
    for (int64_t i = 1; i < pointers;) {
        int64_t rows = i, end = k;
        for (int64_t last; rows < pointers && end - k < SOME; rows++, end = last) {
            last = indptr[rows * p];
            if (last < end || last > entries) return 1;
        }
        const int dense = m == 1 && d == 1 && s == 1;
        const uint8_t *const gone = dense ? __builtin_memchr(mask + k, 0, end - k) : mask;
        if (!gone) {
            __builtin_memcpy(values + n, data + k, (end - k) * sizeof($T));
            __builtin_memcpy(out + n, indices + k, (end - k) * sizeof(int32_t));
            for (; i < rows; i++) ends[i] = indptr[i * p] - (k - n);
            n += end - k;
            k = end;
            continue;
        }
        if (dense && gone == mask + k) { /* maybe none of them stays */
            uint8_t any = 0;
            for (int64_t u = k; u < end; u++) any |= mask[u];
            if (!any) {
                for (; i < rows; i++) ends[i] = n;
                k = end;
                continue;
            }
        }
        for (; i < rows; i++) {
            for (const int64_t last = indptr[i * p]; k < last && k < entries; k++) {
                values[n] = data[k * d];
                out[n] = indices[k * s];
                n += mask[k * m] != 0;
            }
            ends[i] = n;
        }
    }
    __builtin_memset(values + n, 0, (entries - n) * sizeof($T));
    __builtin_memset(out + n, 0, (entries - n) * sizeof(int32_t));
    return 0;
}
""",
    "tg_csm_beside": """
/* Row after row of two matrices. Returns 1 if indptr does not count the elements of one. */
static int tg_csm_beside_$N(const $T *one, int64_t d, const int32_t *at, int64_t s, const int32_t *ends, int64_t p,
                            const $T *two, int64_t e, const int32_t *at_two, int64_t t, const int32_t *ends_two,
                            int64_t q, int64_t pointers, int64_t entries, int64_t more, int64_t width, $T *out,
                            int32_t *places)
{
    if (pointers < 1 || ends[0] != 0 || ends_two[0] != 0) return 1;
    if (ends[(pointers - 1) * p] != entries || ends_two[(pointers - 1) * q] != more) return 1;
    for (int64_t i = 1, k = 0, l = 0, n = 0; i < pointers; i++) {
        const int64_t end = ends[i * p], last = ends_two[i * q];
        if (end < k || end > entries || last < l || last > more) return 1;
        for (; k < end; k++, n++) out[n] = one[k * d], places[n] = at[k * s];
        for (; l < last; l++, n++) out[n] = two[l * e], places[n] = at_two[l * t] + (int32_t)width;
    }
    return 0;
}
""",
    "tg_csm_dense": """
/* All elements, by rows or, if those of the matrix are the columns, across; of some rows while their zeros are in
   the cache.
   Returns 1 if one lies outside, 2 if indptr does not count them. */
static int tg_csm_dense_$N(int across, const $T *data, int64_t d, const int32_t *indices, int64_t s,
                           const int32_t *indptr, int64_t p, int64_t entries, int64_t majors, int64_t minors, $T *out,
                           int64_t *bad)
{
    const int64_t step = across ? majors : 1, some = 1 + 16384 / ((minors + 1) * (int64_t)sizeof($T));
    int64_t k = 0, zeros = 0;
    if (indptr[0] != 0 || indptr[majors * p] != entries) return 2;
    if (across) __builtin_memset(out, 0, majors * minors * sizeof($T));
    for (int64_t i = 0; i < majors; i++) {
        const int64_t end = indptr[(i + 1) * p];
        $T *const row = out + i * (across ? 1 : minors);
        if (end < k || end > entries) return 2;
        if (!across && i == zeros) {
            zeros = i + some < majors ? i + some : majors;
            __builtin_memset(row, 0, (zeros - i) * minors * sizeof($T));
        }
        for (; k < end; k++) {
            const int64_t j = indices[k * s];
            if ((uint64_t)j >= (uint64_t)minors) return *bad = j, 1;
            row[j * step] += data[k * d];
        }
    }
    return 0;
}
""",
    "tg_csm_diagonal": """
/* The first n elements of the diagonal. Returns 1 if indptr does not count the elements. */
static int tg_csm_diagonal_$N(const $T *data, int64_t d, const int32_t *indices, int64_t s, const int32_t *indptr,
                              int64_t p, int64_t pointers, int64_t entries, int64_t n, $T *out)
{
    typedef int32_t some __attribute__((vector_size(32)));
    enum { SOME = 8 };
    int64_t k = 0;
    if (pointers <= n || indptr[0] != 0 || indptr[(pointers - 1) * p] != entries) return 1;
    for (int64_t i = 0; i < n; i++) {
        const int64_t end = indptr[(i + 1) * p];
        $T sum = 0;
        if (end < k || end > entries) return 1;
        if (s == 1 && end - k >= SOME) { /* most rows have no such element: the last vector begins earlier */
            some found = {0}, at;
            for (int64_t u = k; u < end; u += SOME) {
                __builtin_memcpy(&at, indices + (u + SOME < end ? u : end - SOME), sizeof at);
                found |= at == (int32_t)i;
            }
            uint64_t words[4];
            __builtin_memcpy(words, &found, sizeof words);
            if (!(words[0] | words[1] | words[2] | words[3])) k = end;
        }
        for (; k < end; k++)
            if (indices[k * s] == i) sum += data[k * d];
        out[i] = sum;
    }
    return 0;
}
""",
    "tg_csm_merged": """
/* Which indices of a row there are, as bits of words; and which words are not 0, as bits above them. */
typedef struct { uint64_t *words, *above; } tg_bits_$N;

static void tg_bits_set_$N(tg_bits_$N b, uint64_t j)
{
    b.words[j >> 6] |= 1ull << (j & 63);
    b.above[j >> 12] |= 1ull << (j >> 6 & 63);
}

/* Whether the elements of a row are in order, each once. Those that lie outside set *bad. */
static int tg_csm_ordered_$N(const $T *indices, int64_t s, int64_t k, int64_t end, int64_t minors, int64_t *bad)
{
    int ordered = 1;
    int64_t before = -1;
    for (; k < end; k++) {
        const int64_t j = indices[k * s];
        if ((uint64_t)j >= (uint64_t)minors) *bad = j == -1 ? -2 : j;
        ordered &= j > before;
        before = j;
    }
    return ordered;
}

/* Where the elements of two matrices are in the pattern that both make together: of a sum or, with `both`, of a
   product, whose places count from $SPARE. Returns 1 if an element lies outside, 2 if indptr does not count the
   elements, 3 if there is no memory. */
static int tg_csm_merged_$N(int both, const $T *one, int64_t s, const $T *one_ends, int64_t p, int64_t entries,
                            const $T *two, int64_t t, const $T *two_ends, int64_t q, int64_t more, int64_t pointers,
                            int64_t minors, int64_t room, $T *at, $T *at_two, $T *out, $T *ends, int64_t *bad)
{
    const int64_t n_words = minors / 64 + 1, n_above = minors / 4096 + 1;
    int64_t n = 0, a = 0, b = 0;
    $T *where = 0;
    tg_bits_$N bits = {0, 0}, others = {0, 0};
    int failed = 0;
    if (pointers < 1 || one_ends[0] != 0 || two_ends[0] != 0) return 2;
    if (one_ends[(pointers - 1) * p] != entries || two_ends[(pointers - 1) * q] != more) return 2;
    for (int64_t i = 1; i < pointers; i++)
        if (one_ends[i * p] < one_ends[(i - 1) * p] || two_ends[i * q] < two_ends[(i - 1) * q]) return 2;
    ends[0] = 0;
    for (int64_t i = 1; i < pointers; i++) {
        const int64_t a_end = one_ends[i * p], b_end = two_ends[i * q];
        int64_t wrong = -1;
        int ordered = tg_csm_ordered_$N(one, s, a, a_end, minors, &wrong);
        ordered &= tg_csm_ordered_$N(two, t, b, b_end, minors, &wrong);
        if (wrong != -1) { *bad = wrong == -2 ? -1 : wrong; failed = 1; break; }
        if (ordered && both) {
            while (a < a_end && b < b_end) {
                const int64_t x = one[a * s], y = two[b * t];
                const int same = x == y;
                out[n] = x;
                n += same;
                at[a] = same ? n + $SPARE - 1 : a % $SPARE;
                at_two[b] = same ? n + $SPARE - 1 : b % $SPARE;
                a += x <= y;
                b += y <= x;
            }
            for (; a < a_end; a++) at[a] = a % $SPARE;
            for (; b < b_end; b++) at_two[b] = b % $SPARE;
        } else if (ordered) {
            while (a < a_end && b < b_end) {
                const int64_t x = one[a * s], y = two[b * t];
                at[a] = n;
                at_two[b] = n;
                out[n++] = x < y ? x : y;
                a += x <= y;
                b += y <= x;
            }
            for (; a < a_end; a++) out[n] = one[a * s], at[a] = n++;
            for (; b < b_end; b++) out[n] = two[b * t], at_two[b] = n++;
        } else {  /* set a bit for each element, and number the bits in order */
            if (!where) {
                where = __builtin_malloc(minors * sizeof($T));
                bits.words = __builtin_calloc(2 * (n_words + n_above), 8);
                if (!where || !bits.words) { failed = 3; break; }
                bits.above = bits.words + n_words;
                others.words = bits.above + n_above;
                others.above = others.words + n_words;
            }
            if (!both && b == b_end && n_words <= 2 * (a_end - a) + 4) {  /* one matrix, rows that are not too sparse */
                for (int64_t k = a; k < a_end; k++) bits.words[one[k * s] >> 6] |= 1ull << (one[k * s] & 63);
                for (int64_t w = 0; w < n_words; w++) {
                    where[w] = n;
                    for (uint64_t low = bits.words[w]; low; low &= low - 1) out[n++] = w * 64 + __builtin_ctzll(low);
                }
                for (; a < a_end; a++) {
                    const int64_t j = one[a * s];
                    at[a] = where[j >> 6] + __builtin_popcountll(bits.words[j >> 6] & ((1ull << (j & 63)) - 1));
                }
                for (int64_t w = 0; w < n_words; w++) bits.words[w] = 0;
                ends[i] = n;
                continue;
            }
            for (int64_t k = a; k < a_end; k++) tg_bits_set_$N(bits, one[k * s]), where[one[k * s]] = 0;
            for (int64_t k = b; k < b_end; k++) tg_bits_set_$N(both ? others : bits, two[k * t]), where[two[k * t]] = 0;
            for (int64_t u = 0; u < n_above; u++) {
                for (uint64_t high = bits.above[u]; high; high &= high - 1) {
                    const int64_t w = u * 64 + __builtin_ctzll(high);
                    uint64_t low = both ? bits.words[w] & others.words[w] : bits.words[w];
                    for (bits.words[w] = 0; low; low &= low - 1) {
                        const int64_t j = w * 64 + __builtin_ctzll(low);
                        out[n] = j;
                        where[j] = both ? n + $SPARE : n;
                        n++;
                    }
                }
                for (uint64_t high = others.above[u]; high; high &= high - 1)
                    others.words[u * 64 + __builtin_ctzll(high)] = 0;
                bits.above[u] = others.above[u] = 0;
            }
            for (; a < a_end; a++) at[a] = both && !where[one[a * s]] ? a % $SPARE : where[one[a * s]];
            for (; b < b_end; b++) at_two[b] = both && !where[two[b * t]] ? b % $SPARE : where[two[b * t]];
        }
        ends[i] = n;
    }
    __builtin_free(where);
    __builtin_free(bits.words);
    for (; !failed && n < room; n++) out[n] = 0;
    return failed;
}
""".replace("$SPARE", str(SPARE)),
}
