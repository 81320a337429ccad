"""C text of linear algebra for many small matrices: one in each lane of vectors. Pure text.

Each function takes what NumPy's loop of the same name takes, and leaves to that loop single and large matrices, and
those that have no result or one that is out of range. A matrix gets the same bits wherever it stands.
"""

from __future__ import annotations

from termgraph.backends.c.text.dialect import filled

LARGE = 32  # rows up to which this takes less time than BLAS: for that many, a third
ROOM = 2048  # numbers of a matrix and of what stands right of it: a vector for each should stay in a second-level cache

HEAD = """
#ifdef __AVX512F__
enum { TG_MANY = 8 };
#elif defined(__AVX__)
enum { TG_MANY = 4 };
#else
enum { TG_MANY = 2 };
#endif
typedef double tg_many __attribute__((vector_size(8 * TG_MANY)));
typedef int64_t tg_many_bits __attribute__((vector_size(8 * TG_MANY)));
#define TG_MANY_ABS(x) ((tg_many)((tg_many_bits)(x) & __INT64_MAX__))
#define TG_MANY_PICK(m, x, y) ((tg_many)(((m) & (tg_many_bits)(x)) | (~(m) & (tg_many_bits)(y))))

/* Elements of some matrices into lanes, or back; lanes without a matrix get the first one's. Steps are in bytes. What
   the next ones will read and write is fetched meanwhile: the processor does not foresee it, their rows being short. */
static void tg_many_load(const char *from, int64_t lanes, int64_t apart, int64_t rows, int64_t row, int64_t columns,
                         int64_t column, tg_many *to, int64_t width)
{
    const char *at[TG_MANY];
    for (int64_t l = 0; l < TG_MANY; l++) at[l] = from + (l < lanes ? l : 0) * apart;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            const int64_t place = i * row + j * column;
            tg_many x;
            if (j % 8 == 0) for (int l = 0; l < TG_MANY; l++) __builtin_prefetch(at[l] + place + TG_MANY * apart);
            for (int l = 0; l < TG_MANY; l++) x[l] = *(const double *)(at[l] + place);
            to[i * width + j] = x;
        }
}
static void tg_many_store(char *to, int64_t lanes, int64_t apart, int64_t rows, int64_t row, int64_t columns,
                          int64_t column, const tg_many *from, int64_t width)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            const double *x = (const double *)(from + i * width + j);
            char *const at = to + i * row + j * column;
            if (j % 8 == 0) for (int l = 0; l < TG_MANY; l++) __builtin_prefetch(at + (TG_MANY + l) * apart, 1);
            for (int64_t l = 0; l < lanes; l++) *(double *)(at + l * apart) = x[l];
        }
}

/* Gauss's elimination by rows, of which each step takes the one with the largest first element; what stands right of
   the square is changed along. Returns where all pivots are numbers other than 0. */
static tg_many_bits tg_many_eliminate(tg_many *restrict a, int64_t n, int64_t width, tg_many *sign)
{
    tg_many_bits good = (tg_many_bits){0} - 1;
    *sign = (tg_many){0} + 1.0;
    for (int64_t k = 0; k < n; k++) {
        tg_many *restrict top = a + k * width;
        tg_many best = TG_MANY_ABS(top[k]);
        tg_many_bits at = (tg_many_bits){0} + k;
        for (int64_t i = k + 1; i < n; i++) {
            const tg_many x = TG_MANY_ABS(a[i * width + k]);
            const tg_many_bits more = x > best;
            best = TG_MANY_PICK(more, x, best);
            at = (more & i) | (~more & at);
        }
        good &= (best > 0) & (best < __builtin_inf());
        uint64_t rows = 0;
        for (int l = 0; l < TG_MANY; l++) rows |= 1ull << at[l];
        for (rows &= ~(1ull << k); rows; rows &= rows - 1) {
            tg_many *restrict other = a + __builtin_ctzll(rows) * width;
            const tg_many_bits here = at == (int64_t)__builtin_ctzll(rows);
            *sign = TG_MANY_PICK(here, -*sign, *sign);
            for (int64_t j = k; j < width; j++) {
                const tg_many_bits change = ((tg_many_bits)top[j] ^ (tg_many_bits)other[j]) & here;
                top[j] = (tg_many)((tg_many_bits)top[j] ^ change);
                other[j] = (tg_many)((tg_many_bits)other[j] ^ change);
            }
        }
        for (int64_t i = k + 1; i < n; i++) {
            tg_many *restrict row = a + i * width;
            const tg_many f = row[k] / top[k];
            for (int64_t j = k + 1; j < width; j++) row[j] -= f * top[j];
        }
    }
    return good;
}
"""
# `$READ` fills the lanes, `$COMPUTE` says in `good` which of them have results, `$WRITE` writes these.
DRIVER = """
static __attribute__((noinline)) int
tg_many_$NAME(int native, char **args, const int64_t *lengths, const int64_t *steps)
{
    enum { PLACES = $PLACES };
    const int64_t count = lengths[0], n = lengths[1], m = $M, width = n + m;
    if (count < 2 || n > $LARGE || n * width > $ROOM) return tg_call_loop(native, args, lengths, steps);
    const int64_t *const core = steps + PLACES;
    int failed = 0;
    tg_many *const a = __builtin_alloca_with_align((n * width + 1) * sizeof(tg_many), 8 * sizeof(tg_many));
    for (int64_t first = 0; first < count; first += TG_MANY) {
        const int64_t lanes = count - first < TG_MANY ? count - first : TG_MANY;
        char *at[PLACES];
        for (int p = 0; p < PLACES; p++) at[p] = args[p] + first * steps[p];
        $READ
        $COMPUTE
        $WRITE
        for (int64_t l = 0; l < lanes; l++) {
            if (good[l]) continue;
            char *one[PLACES];
            int64_t single[] = {1, n, m};
            for (int p = 0; p < PLACES; p++) one[p] = at[p] + l * steps[p];
            failed |= tg_call_loop(native, one, single, steps);
        }
    }
    return failed;
}
"""
SQUARE = "tg_many_load(at[0], lanes, steps[0], n, core[0], n, core[1], a, width);"
ELIMINATE = """tg_many sign;
        tg_many_bits good = tg_many_eliminate(a, n, width, &sign);"""
# The product of the pivots is the determinant where no part of it is too large or small.
DETERMINANT = (
    ELIMINATE
    + """
        tg_many size = (tg_many){0} + 1.0;
        for (int64_t k = 0; k < n; k++) {
            const tg_many x = a[k * width + k], y = size * TG_MANY_ABS(x);
            sign = TG_MANY_PICK(x < 0, -sign, sign);
            good &= (y > 1e-290) & (y < 1e290);
            size = y;
        }"""
)
BACK = """
        for (int64_t k = n - 1; k >= 0; k--) {
            tg_many *restrict x = a + k * width + n;
            for (int64_t j = 0; j < m; j++) x[j] /= a[k * width + k];
            for (int64_t i = 0; i < k; i++) {
                tg_many *restrict y = a + i * width + n;
                const tg_many f = a[i * width + k];
                for (int64_t j = 0; j < m; j++) y[j] -= f * x[j];
            }
        }"""
CHOLESKY = """tg_many_bits good = (tg_many_bits){0} - 1;
        for (int64_t k = 0; k < n; k++) {
            const tg_many square = a[k * n + k];
            tg_many root;
            good &= (square > 0) & (square < __builtin_inf());
            for (int l = 0; l < TG_MANY; l++) root[l] = sqrt(square[l]);
            a[k * n + k] = root;
            for (int64_t i = k + 1; i < n; i++) a[i * n + k] /= root;
            for (int64_t i = k + 1; i < n; i++) {
                const tg_many f = a[i * n + k];
                for (int64_t j = k + 1; j <= i; j++) a[i * n + j] -= f * a[j * n + k];
            }
            for (int64_t j = k + 1; j < n; j++) a[k * n + j] = (tg_many){0};
        }"""
LANES = "for (int64_t l = 0; l < lanes; l++) "
# name of the function: how many operands and results, columns beside the square, and the three pieces
KINDS = {
    "det": (2, "0", SQUARE, DETERMINANT, LANES + "*(double *)(at[1] + l * steps[1]) = size[l] * sign[l];"),
    "slogdet": (3, "0", SQUARE, DETERMINANT, LANES + """{
            *(double *)(at[1] + l * steps[1]) = sign[l];
            *(double *)(at[2] + l * steps[2]) = log(size[l]);
        }"""),
    "inv": (2, "n", SQUARE + """
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) a[i * width + n + j] = (tg_many){0} + (i == j ? 1.0 : 0.0);""",
            ELIMINATE + BACK, "tg_many_store(at[1], lanes, steps[1], n, core[2], n, core[3], a + n, width);"),
    "solve": (3, "lengths[2]", SQUARE + """
        tg_many_load(at[1], lanes, steps[1], n, core[2], m, core[3], a + n, width);""",
              ELIMINATE + BACK, "tg_many_store(at[2], lanes, steps[2], n, core[4], m, core[5], a + n, width);"),
    "cholesky_lo": (2, "0", SQUARE, CHOLESKY, "tg_many_store(at[1], lanes, steps[1], n, core[2], n, core[3], a, n);"),
    "cholesky_up": (2, "0", "tg_many_load(at[0], lanes, steps[0], n, core[1], n, core[0], a, n);", CHOLESKY,
                    "tg_many_store(at[1], lanes, steps[1], n, core[3], n, core[2], a, n);"),
}  # fmt: skip


def function(loop: str) -> str | None:
    """The function that does what one of NumPy's loops does (`linalg__inv__d_d`), if there is one."""
    _, name, letters = loop.split("__") if loop.count("__") == 2 else ("", "", "")
    return f"tg_many_{name}" if name in KINDS and set(letters) <= {"d", "_"} else None


def functions(source: str) -> str:
    """The functions that a source calls."""
    out = []
    for name, (places, columns, read, compute, write) in KINDS.items():
        if f"tg_many_{name}(" in source:
            pieces = {"NAME": name, "PLACES": places, "M": columns, "READ": read, "COMPUTE": compute, "WRITE": write}
            pieces |= {"LARGE": LARGE, "ROOM": ROOM}
            out.append(filled(DRIVER, {f"${word}": str(piece) for word, piece in pieces.items()}).strip())
    return "\n".join([HEAD.strip(), *out]) if out else ""
