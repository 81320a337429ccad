"""C text of least squares by Householder's reflections, for matrices that are clearly of full rank. Pure text.

NumPy's routine takes singular values apart, which it needs for the rank. Where the product of the norms of R and its
inverse is small, all of them are above its bound, and the solution is that of R x = Q^T b.
"""

from __future__ import annotations

LARGE = 1 << 17  # numbers of the matrix and the right sides, up to which LAPACK's blocks gain nothing

LEAST_SQUARES = """
/* Returns 0, with x not to be used, where NumPy's routine has to say what the solution is. */
static __attribute__((noinline)) int
tg_least_squares_f64(const double *a, int64_t a_row, int64_t a_column, const double *b, int64_t b_row, int64_t b_column,
                     int64_t m, int64_t n, int64_t k, double rcond, double *x)
{
    const int64_t width = n + k;
    if (m < n || n == 0 || k == 0 || m * width > $LARGE) return 0;
    double *const rows = malloc((m * width + width + n * n) * sizeof(double)), *const w = rows + m * width;
    double *const inverse = w + width, norm = 0, inverse_norm = 0;
    int good = rows != 0;
    for (int64_t i = 0; good && i < m; i++) {
        for (int64_t j = 0; j < n; j++) rows[i * width + j] = a[i * a_row + j * a_column];
        for (int64_t j = 0; j < k; j++) {
            const double v = rows[i * width + n + j] = b[i * b_row + j * b_column];
            good &= v > -0x1p400 && v < 0x1p400; /* LAPACK scales what would overflow, and says what NaNs do */
        }
    }
    for (int64_t c = 0; good && c < n; c++) { /* rows c and below less v times v^T of them, times a factor */
        double *const top = rows + c * width, least = 0x1p-400, most = 0x1p400;
        double square = 0;
        for (int64_t i = c; i < m; i++) square += rows[i * width + c] * rows[i * width + c];
        if (!(square > least && square < most)) { good = 0; break; }
        const double length = top[c] > 0 ? -sqrt(square) : sqrt(square), first = top[c] - length;
        const double by = -1 / (length * first);
        for (int64_t j = c + 1; j < width; j++) w[j] = first * top[j];
        for (int64_t i = c + 1; i < m; i++) {
            const double *const row = rows + i * width, v = row[c];
            for (int64_t j = c + 1; j < width; j++) w[j] += v * row[j];
        }
        for (int64_t j = c + 1; j < width; j++) w[j] *= by;
        for (int64_t j = c + 1; j < width; j++) top[j] -= first * w[j];
        for (int64_t i = c + 1; i < m; i++) {
            double *const row = rows + i * width, v = row[c];
            for (int64_t j = c + 1; j < width; j++) row[j] -= v * w[j];
        }
        top[c] = length;
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
    free(rows);
    return good && within < 0x1p40 && within * limit * limit < 0.5;
}
""".replace("$LARGE", str(LARGE))
