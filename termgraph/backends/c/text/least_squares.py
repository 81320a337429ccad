"""C text of least squares by Householder's reflections, for matrices that are clearly of full rank. Pure text.

NumPy's routine takes singular values apart, which it needs for the rank. Where the product of the norms of R and its
inverse is small, all of them are above its bound, and the solution is that of R x = Q^T b.
"""

from __future__ import annotations

LARGE = 1 << 17  # numbers of the matrix and the right sides, up to which LAPACK's blocks gain nothing

LEAST_SQUARES = """
/* Some rows less v w, and the products of the column behind c with what they are then added to `next`: once through
   memory for each column. Vectors begin on lines; columns up to c are read by nobody afterwards. */
typedef double tg_least_f64 __attribute__((vector_size(64), may_alias));

static __attribute__((noinline)) void
tg_least_reflect_f64(double *rows, int64_t c, int64_t m, int64_t lines, const tg_least_f64 *restrict w,
                     tg_least_f64 *restrict next)
{
    const double by = ((const double *)w)[c + 1];
    int64_t i = c + 1;
    for (; i + 4 <= m; i += 4) {
        tg_least_f64 *restrict const p = (tg_least_f64 *)(rows + i * lines * 8);
        tg_least_f64 *restrict const q = p + lines, *restrict const r = q + lines, *restrict const s = r + lines;
        const double *const a = (double *)p + c, *const b = (double *)q + c, *const d = (double *)r + c;
        const double *const e = (double *)s + c, v0 = a[0], v1 = b[0], v2 = d[0], v3 = e[0];
        const double u0 = a[1] - v0 * by, u1 = b[1] - v1 * by, u2 = d[1] - v2 * by, u3 = e[1] - v3 * by;
        $EACH {
            const tg_least_f64 x = w[j];
            const tg_least_f64 p1 = p[j] - v0 * x, q1 = q[j] - v1 * x, r1 = r[j] - v2 * x, s1 = s[j] - v3 * x;
            next[j] += u0 * p1 + u1 * q1 + u2 * r1 + u3 * s1;
            p[j] = p1, q[j] = q1, r[j] = r1, s[j] = s1;
        }
    }
    for (; i < m; i++) {
        tg_least_f64 *restrict const p = (tg_least_f64 *)(rows + i * lines * 8);
        const double *const a = (double *)p + c, v = a[0], u = a[1] - v * by;
        $EACH {
            p[j] -= v * w[j];
            next[j] += u * p[j];
        }
    }
}

/* Returns 0, with x not to be used, where NumPy's routine has to say what the solution is. */
static __attribute__((noinline)) int
tg_least_squares_f64(const double *a, int64_t a_row, int64_t a_column, const double *b, int64_t b_row, int64_t b_column,
                     int64_t m, int64_t n, int64_t k, double rcond, double *x)
{
    const int64_t width = (n + k + 7) / 8 * 8;
    if (m < n || n == 0 || k == 0 || m * (n + k) > $LARGE) return 0;
    double *const room = malloc(((m + 2) * width + n * n + 8) * sizeof(double));
    double *const rows = (double *)((uintptr_t)room + 63 & ~(uintptr_t)63);
    double *const sums[] = {rows + m * width, rows + (m + 1) * width}, *const inverse = rows + (m + 2) * width;
    double norm = 0, inverse_norm = 0;
    int good = room != 0;
    if (good) for (int64_t j = 0; j < 2 * width; j++) sums[0][j] = 0;
    for (int64_t i = 0; good && i < m; i++) {
        double *const row = rows + i * width;
        for (int64_t j = 0; j < n; j++) row[j] = a[i * a_row + j * a_column];
        for (int64_t j = 0; j < k; j++) {
            const double v = row[n + j] = b[i * b_row + j * b_column];
            good &= v > -0x1p400 && v < 0x1p400; /* LAPACK scales what would overflow, and says what NaNs do */
        }
        for (int64_t j = n + k; j < width; j++) row[j] = 0;
        for (int64_t j = 0; j < width; j++) sums[0][j] += row[0] * row[j];
    }
    for (int64_t c = 0; good && c < n; c++) { /* rows c and below less v times v^T of them, times a factor */
        double *const top = rows + c * width, *const w = sums[c & 1], *const next = sums[~c & 1];
        const double square = w[c], least = 0x1p-400, most = 0x1p400;
        if (!(square > least && square < most)) { good = 0; break; }
        const double length = top[c] > 0 ? -sqrt(square) : sqrt(square), first = top[c] - length;
        const double by = -1 / (length * first);
        for (int64_t j = c + 1; j < width; j++) {
            w[j] = (w[j] - length * top[j]) * by; /* w was the products of columns: v is column c less `length` */
            top[j] -= first * w[j];
            next[j] = 0;
        }
        top[c] = length;
        tg_least_reflect_f64(rows, c, m, width / 8, (const tg_least_f64 *)w, (tg_least_f64 *)next);
    }
    for (int64_t i = n - 1; good && i >= 0; i--) { /* rows of the inverse of R, and of the solution */
        const double *const row = rows + i * width, by = 1 / row[i];
        double *const to = inverse + i * n, *const out = x + i * k;
        for (int64_t j = i; j < n; j++) to[j] = j == i ? 1 : 0;
        for (int64_t j = 0; j < k; j++) out[j] = row[n + j];
        for (int64_t l = i + 1; l < n; l++) {
            const double v = row[l], *const below = inverse + l * n, *const after = x + l * k;
            for (int64_t j = l; j < n; j++) to[j] -= v * below[j];
            for (int64_t j = 0; j < k; j++) out[j] -= v * after[j];
        }
        for (int64_t j = i; j < n; j++) to[j] *= by, inverse_norm += to[j] * to[j], norm += row[j] * row[j];
        for (int64_t j = 0; j < k; j++) out[j] *= by;
    }
    const double limit = rcond < 0 ? __DBL_EPSILON__ * m : rcond, within = norm * inverse_norm;
    free(room);
    return good && within < 0x1p40 && within * limit * limit < 0.5;
}
""".replace("$LARGE", str(LARGE)).replace("$EACH", "for (int64_t j = (c + 1) / 8; j < lines; j++)")
