"""Systems of equations whose matrix has a structure: bands, solved in their storage, and Toeplitz's. Text only."""

from __future__ import annotations

from typing import Any

from termgraph.backends.c.text.dialect import SHORT


def banded(x: Any) -> None:
    """The call that solves by LU with partial pivoting."""
    params = x.n.term.op.params
    given = [str(params["lower"]), str(params["upper"]), str(int(params["trans"] == "T"))]
    _call(x, "tg_solve_banded", given, "0")


def hermitian(x: Any) -> None:
    """The call that solves by Cholesky's factors, without their roots."""
    _call(x, "tg_solveh_banded", [x.size("bands"), str(int(x.n.term.op.params["lower"]))], "failed")


def toeplitz(x: Any) -> None:
    """The call that solves by Levinson's recursion."""
    _call(x, "tg_solve_toeplitz", [], "0", "line")


def _call(x: Any, name: str, given: list[str], told: str, side: str = "side") -> None:
    (out,) = x.n.results
    places = [text for a in x.n.reads for text in (x.pointer(a), *map(x.p.poly, a.core))]
    with x.p.block(""):
        call = ", ".join([*given, x.size(side), x.size("n"), *places, x.pointer(out)])
        x.p.add(f"const int64_t failed = {name}_{SHORT[out.buf.dtype]}({call});")
        if x.n.spec.fails:
            x.p.add(f"if (failed > 0) {x.fail(0, told)}")
        else:
            each, nan = x.p.poly(x.n.sizes[side] * x.n.sizes["n"]), '__builtin_nan("")'
            x.p.add(f"if (failed > 0) for (int64_t k = 0; k < {each}; k++) ({x.pointer(out)})[k] = {nan};")
        x.p.add(f"if (failed < 0) {x.no_memory()}")


# Products of complex numbers as in Fortran, without the search for infinities.
_OPTIMIZE = 'optimize("O2", "tree-vectorize", "fp-contract=fast", "cx-fortran-rules")'
_COLUMNS = "for (int64_t c = 0; c < columns; c++)"

_DEFINED = """
#ifndef TG_BANDS
#define TG_BANDS
#define TG_SIZE_OF(v) (__builtin_fabs(__real__ (v)) + __builtin_fabs(__imag__ (v))) /* as LAPACK compares */
#define TG_CONJUGATE(v) \\
    _Generic((v), float _Complex: __builtin_conjf(v), double _Complex: __builtin_conj(v), default: (v))
#endif
"""
_BACK = """
#ifndef TG_BAND_BACK_$N
#define TG_BAND_BACK_$N
/* A row's right side less those of the rows below it, `by` times; sums of one column do not wait for each other. */
static inline $WARM void
tg_band_back_$N($T *here, const $T *restrict top, int64_t many, $T by, int64_t columns)
{
    if (columns == 1) {
        $T sum[4] = {0};
        int64_t k = 1;
        for (; k + 4 <= many; k += 4)
            for (int u = 0; u < 4; u++) sum[u] += top[k + u] * here[k + u];
        for (; k < many; k++) sum[0] += top[k] * here[k];
        *here = (*here - ((sum[0] + sum[1]) + (sum[2] + sum[3]))) * by;
        return;
    }
    for (int64_t k = 1; k < many; k++) {
        const $T f = top[k], *const right = here + k * columns;
        $COLUMNS here[c] -= f * right[c];
    }
    $COLUMNS here[c] *= by;
}
#endif
"""
_BANDED = """
/* Three diagonals. `room` has three numbers for each row: the inverse of the pivot, and what stands right of it. */
static $HOT int64_t
tg_tridiagonal_$N(int64_t n, int64_t columns, const $T *a, int64_t row, int64_t column, $T *room, $T *restrict x)
{
    $T first = a[0], second = n > 1 ? a[column] : 0;
    for (int64_t i = 0; i < n; i++) {
        $T *const top = room + 3 * i, *const here = x + i * columns, *const next = here + columns;
        if (i == n - 1) {
            if (first == 0) return n;
            top[0] = 1 / first, top[1] = top[2] = 0;
            break;
        }
        const $T *const at = a + (i + 1) * (row + column);
        const $T left = at[-column], middle = at[0], right = i + 2 < n ? at[column] : 0;
        if (TG_SIZE_OF(left) > TG_SIZE_OF(first)) { /* the next row is the pivot's */
            const $T by = 1 / left, f = first * by;
            top[0] = by, top[1] = middle, top[2] = right;
            first = second - f * middle, second = -f * right;
            $COLUMNS {
                const $T v = next[c];
                next[c] = here[c] - f * v;
                here[c] = v;
            }
        } else {
            if (first == 0) return i + 1;
            const $T by = 1 / first, f = left * by;
            top[0] = by, top[1] = second, top[2] = 0;
            first = middle - f * second, second = right;
            $COLUMNS next[c] -= f * here[c];
        }
    }
    if (columns == 1) {
        $T one = 0, two = 0;
        for (int64_t i = n - 1; i >= 0; i--) {
            const $T *const top = room + 3 * i, v = (x[i] - top[2] * two - top[1] * one) * top[0];
            two = one, one = v;
            x[i] = v;
        }
        return 0;
    }
    for (int64_t i = n - 1; i >= 0; i--) {
        const $T *const top = room + 3 * i;
        $T *const here = x + i * columns, *const one = here + (i + 1 < n) * columns;
        $T *const two = one + (i + 2 < n) * columns;
        $COLUMNS here[c] = (here[c] - top[1] * one[c] - top[2] * two[c]) * top[0];
    }
    return 0;
}
enum { TG_STEPS_$N = 4 }; /* whose multiples of their pivots' rows are taken off a row together, where rows are long */
/* A row less its pivots' rows, moved by the steps, one or all: `by` times each. What was there is left behind it. */
static inline $WARM void
tg_band_less_$N($T *to, const $T *restrict top, $T f, int64_t many)
{
    for (int64_t i = 0; i < many; i++) to[i] = to[i + 1] - f * top[i + 1];
}
static inline $WARM void
tg_band_less_all_$N($T *to, const $T *restrict one, const $T *restrict two, const $T *restrict three,
                    const $T *restrict four, const $T *by, int64_t many)
{
    const $T a = by[0], b = by[1], c = by[2], d = by[3];
    for (int64_t i = 0; i < many; i++)
        to[i] = to[i + TG_STEPS_$N] - a * one[i] - b * two[i] - c * three[i] - d * four[i];
}
/* Some steps of Gauss's elimination in their own columns: rows change places, and hold by how much each step takes off
   what is right of these columns. Returns which pivot is 0, counted from one, or 0. */
static inline $INLINE int64_t
tg_band_steps_$N(int64_t first, int64_t steps, int64_t end, int64_t columns, $T **order, $T *restrict x)
{
    for (int64_t p = 0; p < steps; p++) {
        const int64_t j = first + p;
        int64_t best = j;
        for (int64_t i = j + 1; i < end; i++)
            if (TG_SIZE_OF(order[i][p]) > TG_SIZE_OF(order[best][p])) best = i;
        $T *const top = order[best], *const here = x + j * columns, *const there = x + best * columns;
        if (top[p] == 0) return j + 1;
        if (best != j) {
            order[best] = order[j];
            order[j] = top;
            $COLUMNS {
                const $T v = here[c];
                here[c] = there[c];
                there[c] = v;
            }
        }
        const $T by = 1 / top[p];
        for (int64_t i = j + 1; i < end; i++) {
            $T *const to = order[i];
            const $T f = to[p] *= by;
            for (int64_t c = p + 1; c < steps; c++) to[c] -= f * top[c];
        }
    }
    return 0;
}
/* Gauss's elimination by rows, some steps at a time: each row has numbers from the column of the first of these on, and
   takes the right sides along. `rows` is room for n rows of `width` and the steps, `order` says where each lies. */
static inline $INLINE int64_t
tg_bands_by_$N(const int64_t most, int64_t lower, int64_t upper, int64_t n, int64_t columns, const $T *a, int64_t row,
               int64_t column, $T *rows, $T **order, $T *restrict x)
{
    const int64_t width = lower + upper + 1, all = width + most - 1;
    for (int64_t i = 0; i < n; i++) order[i] = rows + i * all;
    for (int64_t j = 0, loaded = 0; j < n; j += most) {
        const int64_t steps = n - j < most ? n - j : most, last = j + steps - 1;
        const int64_t end = last + lower < n ? last + lower + 1 : n;
        for (; loaded < end; loaded++) {
            const int64_t many = (loaded + upper < n ? loaded + upper + 1 : n) - j;
            const int64_t left = loaded - lower > j ? loaded - lower - j : 0;
            const $T *const from = a + loaded * row + j * column;
            $T *const to = order[loaded];
            for (int64_t c = 0; c < left; c++) to[c] = 0;
            for (int64_t c = left; c < many; c++) to[c] = from[c * column];
            for (int64_t c = many; c < all; c++) to[c] = 0;
        }
        const int64_t failed = tg_band_steps_$N(j, steps, end, columns, order, x);
        if (failed) return failed;
        for (int64_t p = 1; p < steps; p++)
            for (int64_t q = 0; q < p; q++) {
                $T *const to = order[j + p], *const right = x + (j + p) * columns;
                const $T *const top = order[j + q], *const here = x + (j + q) * columns, f = to[q];
                for (int64_t c = steps; c < all; c++) to[c] -= f * top[c];
                $COLUMNS right[c] -= f * here[c];
            }
        for (int64_t i = j + steps; i < end; i++) { /* so all steps are there */
            $T *const to = order[i], *const right = x + i * columns, by[TG_STEPS_$N];
            for (int64_t p = 0; p < most; p++) by[p] = to[p];
            if (most == 1) tg_band_less_$N(to, order[j], by[0], all - 1);
            else tg_band_less_all_$N(to, order[j] + most, order[j + 1] + most, order[j + 2] + most,
                                     order[j + 3] + most, by, all - most);
            for (int64_t c = all - most; c < all; c++) to[c] = 0;
            for (int64_t p = 0; p < most; p++) {
                const $T f = by[p], *const here = x + (j + p) * columns;
                $COLUMNS right[c] -= f * here[c];
            }
        }
        for (int64_t p = 0; p < steps; p++) order[j + p] += p; /* where the pivot is */
    }
    for (int64_t j = n - 1; j >= 0; j--) {
        const $T *const top = order[j];
        tg_band_back_$N(x + j * columns, top, j + width < n ? width : n - j, 1 / top[0], columns);
    }
    return 0;
}
static $HOT int64_t
tg_bands_$N(int64_t lower, int64_t upper, int64_t n, int64_t columns, const $T *a, int64_t row, int64_t column,
            $T *rows, $T **order, $T *restrict x)
{
    enum { MANY = 10 };
    return lower + upper < 2 * MANY ? tg_bands_by_$N(1, lower, upper, n, columns, a, row, column, rows, order, x)
                        : tg_bands_by_$N(TG_STEPS_$N, lower, upper, n, columns, a, row, column, rows, order, x);
}
/* Returns which pivot is 0, counted from one, and -1 without memory. `a` has a row of n numbers for each diagonal. */
static int64_t
tg_solve_banded_$N(int64_t lower, int64_t upper, int turned, int64_t n, int64_t columns, const $T *a, int64_t row,
                   int64_t column, const $T *b, int64_t b_row, int64_t b_column, $T *out)
{
    const int64_t width = lower + upper + 1;
    if (n == 0 || columns == 0) return 0;
    $T **const order = malloc(n * (width + TG_STEPS_$N - 1) * sizeof($T) + n * sizeof($T *));
    if (!order) return -1;
    $T *const room = ($T *)(order + n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < columns; c++) out[i * columns + c] = b[i * b_row + c * b_column];
    const int64_t down = turned ? column - row : row, across = turned ? row : column - row;
    const $T *const main = a + upper * row;
    const int64_t failed = width == 3 && lower == 1
        ? tg_tridiagonal_$N(n, columns, main, down, across, room, out)
        : tg_bands_$N(turned ? upper : lower, turned ? lower : upper, n, columns, main, down, across, room, order, out);
    free(order);
    return failed;
}
"""

_HERMITIAN = """
/* Of a row of `width` numbers, from the main diagonal on, as many as are left: to less f times those of top. */
static inline $WARM void tg_band_less_rest_$N($T *restrict to, const $T *restrict top, $T f, int64_t many)
{
    for (int64_t c = 0; c < many; c++) to[c] -= f * top[c];
}
static inline $WARM void
tg_band_less_four_$N($T *restrict to, const $T *restrict one, const $T *restrict two, const $T *restrict three,
                     const $T *restrict four, const $T *by, int64_t many)
{
    const $T a = by[0], b = by[1], c = by[2], d = by[3];
    for (int64_t i = 0; i < many; i++) to[i] -= a * one[i] + b * two[i] + c * three[i] + d * four[i];
}
/* Rows lie `apart`; with more steps than one at a time there are as many zeros and one less behind each. */
static inline $INLINE int64_t
tg_hermitian_bands_by_$N(const int64_t most, int64_t width, int64_t apart, int64_t n, int64_t columns,
                         $T *restrict rows, $T *restrict x)
{
    for (int64_t j = 0; j < n; j += most) {
        const int64_t next = j + most < n ? j + most : n, end = next - 1 + width < n ? next - 1 + width : n;
        $T by[4] = {0};
        for (int64_t p = j; p < next; p++) {
            const $T *const top = rows + p * apart, *const here = x + p * columns;
            if (__real__ top[0] <= 0) return p + 1;
            by[p - j] = 1 / __real__ top[0];
            const int64_t last = most == 1 ? end : next;
            for (int64_t i = p + 1; i < last && i < p + width; i++) {
                const $T f = TG_CONJUGATE(top[i - p]) * by[p - j];
                $T *const right = x + i * columns;
                tg_band_less_rest_$N(rows + i * apart, top + (i - p), f, width - (i - p));
                $COLUMNS right[c] -= f * here[c];
            }
        }
        for (int64_t i = next; most > 1 && i < end; i++) { /* so all steps are there */
            const $T *const top = rows + j * apart + (i - j);
            $T f[4], *const right = x + i * columns;
            for (int64_t p = 0; p < most; p++) f[p] = TG_CONJUGATE(top[p * (apart - 1)]) * by[p];
            tg_band_less_four_$N(rows + i * apart, top, top + (apart - 1), top + 2 * (apart - 1),
                                 top + 3 * (apart - 1), f, width - 1 - (i - next));
            for (int64_t p = 0; p < most; p++) {
                const $T *const here = x + (j + p) * columns;
                $COLUMNS right[c] -= f[p] * here[c];
            }
        }
    }
    for (int64_t j = n - 1; j >= 0; j--) {
        const $T *const top = rows + j * apart;
        tg_band_back_$N(x + j * columns, top, j + width < n ? width : n - j, 1 / __real__ top[0], columns);
    }
    return 0;
}
static $HOT int64_t
tg_hermitian_bands_$N(int64_t width, int64_t apart, int64_t n, int64_t columns, $T *restrict rows, $T *restrict x)
{
    return apart == width ? tg_hermitian_bands_by_$N(1, width, width, n, columns, rows, x)
                          : tg_hermitian_bands_by_$N(4, width, apart, n, columns, rows, x);
}
static $HOT int64_t
tg_hermitian_pair_$N(int64_t n, int64_t columns, $T *restrict rows, $T *restrict x) /* of two diagonals */
{
    for (int64_t j = 0; j < n; j++) {
        const $T pivot = __real__ rows[2 * j], beside = rows[2 * j + 1];
        if (__real__ pivot <= 0) return j + 1;
        const $T by = rows[2 * j] = 1 / pivot;
        if (j == n - 1) break;
        const $T f = TG_CONJUGATE(beside) * by;
        $T *const here = x + j * columns, *const next = here + columns;
        rows[2 * j + 2] -= f * beside;
        $COLUMNS next[c] -= f * here[c];
    }
    for (int64_t j = n - 1; j >= 0; j--) {
        const $T by = rows[2 * j], beside = j == n - 1 ? 0 : rows[2 * j + 1];
        $T *const here = x + j * columns, *const next = here + (j < n - 1) * columns;
        $COLUMNS here[c] = (here[c] - beside * next[c]) * by;
    }
    return 0;
}
/* Returns which leading minor is not positive, counted from one, and -1 without memory. */
static $HOT int64_t
tg_solveh_banded_$N(int64_t width, int lower, int64_t n, int64_t columns, const $T *a, int64_t row, int64_t column,
                    const $T *b, int64_t b_row, int64_t b_column, $T *restrict out)
{
    enum { MANY = 12 };
    if (n == 0 || columns == 0) return 0;
    const int64_t apart = width < MANY ? width : width + 3;
    $T *restrict const room = malloc(n * apart * sizeof($T));
    if (!room) return -1;
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < columns; c++) out[i * columns + c] = b[i * b_row + c * b_column];
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = width; c < apart; c++) room[i * apart + c] = 0;
    for (int64_t k = 0; k < width; k++) {
        const $T *const band = lower ? a + k * row : a + (width - 1 - k) * row + k * column;
        $T *const to = room + k;
        if (lower) for (int64_t j = 0; j < n - k; j++) to[j * apart] = TG_CONJUGATE(band[j * column]);
        else for (int64_t j = 0; j < n - k; j++) to[j * apart] = band[j * column];
        for (int64_t j = n > k ? n - k : 0; j < n; j++) to[j * apart] = 0;
    }
    const int64_t failed = width == 2 ? tg_hermitian_pair_$N(n, columns, room, out)
                                      : tg_hermitian_bands_$N(width, apart, n, columns, room, out);
    free(room);
    return failed;
}
"""

_TOEPLITZ = """
#ifndef TG_LEVINSON
#define TG_LEVINSON
#define TG_LEVINSON_LANES_f64 8
#define TG_LEVINSON_LANES_c128 1
typedef double tg_levinson_f64 __attribute__((vector_size(64), aligned(8), may_alias));
typedef double _Complex tg_levinson_c128;
#endif
enum { TG_LEVINSON_$N = TG_LEVINSON_LANES_$N };
static inline $WARM $T tg_levinson_sum_$N(const tg_levinson_$N *v)
{
    $T total = 0;
    for (int l = 0; l < TG_LEVINSON_$N; l++) total += ((const $T *)v)[l];
    return total;
}
/* One step: f and g are solutions of m equations for the first and the last unit vector, g lying one place later. They
   become those of m + 1; `ends` are the products of both with what the next row and column add. */
static $HOT void
tg_levinson_step_$N(int64_t m, $T *restrict f, $T *restrict g, const $T *restrict below, const $T *restrict right,
                    $T by, const $T *restrict ends, $T *restrict next)
{
    typedef tg_levinson_$N wide;
    enum { LANES = TG_LEVINSON_$N };
    const $T of_f = ends[0] * by, of_g = ends[1] * by;
    wide first = {0}, last = {0};
    int64_t i = 0;
    for (; i + LANES <= m + 1; i += LANES) {
        wide *const at = (wide *)(f + i), *const beside = (wide *)(g + i);
        const wide a = *at, h = *beside, new_f = by * a - of_f * h, new_g = by * h - of_g * a;
        *at = new_f, *beside = new_g;
        first += *(const wide *)(below + i) * new_f;
        last += *(const wide *)(right + i) * new_g;
    }
    $T one = tg_levinson_sum_$N(&first), two = tg_levinson_sum_$N(&last);
    for (; i <= m; i++) {
        const $T a = f[i], h = g[i];
        f[i] = by * a - of_f * h, g[i] = by * h - of_g * a;
        one += below[i] * f[i], two += right[i] * g[i];
    }
    next[0] = one, next[1] = two;
}
/* A solution of m equations becomes one of m + 1; returns its product with what the next row adds. */
static $HOT $T
tg_levinson_more_$N(int64_t m, $T *restrict x, const $T *restrict g, const $T *restrict below, $T by)
{
    typedef tg_levinson_$N wide;
    enum { LANES = TG_LEVINSON_$N };
    wide sum = {0};
    int64_t i = 0;
    for (; i + LANES <= m + 1; i += LANES) {
        wide *const at = (wide *)(x + i);
        const wide new = *at + by * *(const wide *)(g + i);
        *at = new;
        sum += *(const wide *)(below + i) * new;
    }
    $T total = tg_levinson_sum_$N(&sum);
    for (; i <= m; i++) x[i] += by * g[i], total += below[i] * x[i];
    return total;
}
/* Returns which leading minor is 0, counted from one, and -1 without memory. */
static int64_t
tg_solve_toeplitz_$N(int64_t n, int64_t columns, const $T *c, int64_t c_step, const $T *r, int64_t r_step, const $T *b,
                     int64_t b_row, int64_t b_column, $T *out)
{
    if (n == 0 || columns == 0) return 0;
    if (c[0] == 0) return 1;
    $T *const room = malloc((5 * n + columns * (n + 1)) * sizeof($T));
    if (!room) return -1;
    $T *const turned = room, *const right = room + n, *const f = right + n, *g = f + 2 * n - 1, *const x = f + 2 * n;
    $T *const less = x + columns * n; /* what a row has of the solution so far */
    for (int64_t i = 0; i < n; i++) {
        turned[i] = c[(n - 1 - i) * c_step]; /* the last is c[0] */
        right[i] = i + 1 < n ? r[(i + 1) * r_step] : 0;
    }
    f[0] = g[0] = 1 / c[0];
    $T ends[2] = {0, 0}, next[2];
    int64_t failed = 0;
    if (n > 1) ends[0] = turned[n - 2] * f[0], ends[1] = right[0] * g[0];
    for (int64_t k = 0; k < columns; k++) {
        x[k * n] = b[k * b_column] * f[0];
        less[k] = n > 1 ? turned[n - 2] * x[k * n] : 0;
    }
    for (int64_t m = 1; m < n; m++) {
        const $T left = 1 - ends[0] * ends[1];
        if (left == 0) { failed = m + 1; break; }
        const $T *const below = m + 1 < n ? turned + n - 2 - m : turned; /* after the last step nothing is asked for */
        f[m] = 0;
        *--g = 0;
        tg_levinson_step_$N(m, f, g, below, right, 1 / left, ends, next);
        for (int64_t k = 0; k < columns; k++) {
            x[k * n + m] = 0;
            less[k] = tg_levinson_more_$N(m, x + k * n, g, below, b[m * b_row + k * b_column] - less[k]);
        }
        ends[0] = next[0], ends[1] = next[1];
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < columns; k++) out[i * columns + k] = x[k * n + i];
    free(room);
    return failed;
}
"""


def _filled(text: str) -> str:
    text = text.replace("$HOT", f"__attribute__((noinline, {_OPTIMIZE}))").replace("$COLUMNS", _COLUMNS)
    text = text.replace("$INLINE", f"__attribute__((always_inline, {_OPTIMIZE}))")
    return text.replace("$WARM", f"__attribute__(({_OPTIMIZE}))")


TEXTS = {
    "tg_solve_banded": _filled(_DEFINED + _BACK + _BANDED),
    "tg_solveh_banded": _filled(_DEFINED + _BACK + _HERMITIAN),
    "tg_solve_toeplitz": _filled(_TOEPLITZ),
}  # fmt: skip
