"""Matrices factored by LAPACK's getrf, and systems solved by such factors: what gesv does in one call. Text only."""

from __future__ import annotations

from typing import Any

from termgraph.backends.c.text.dialect import SHORT


def columns(x: Any) -> None:
    """The call that factors a matrix."""
    (a,), (out, pivots) = x.n.reads, x.n.results
    given = [
        x.natives[0], x.pointer(a), *map(x.p.poly, a.core), x.size("m"), x.pointer(out), x.pointer(pivots),
    ]  # fmt: skip
    x.p.add(f"if (tg_lu_columns_{SHORT[out.buf.dtype]}({', '.join(given)})) {x.no_memory()}")


def solve(x: Any) -> None:
    """The call that solves by factors; NaN where the matrix was singular and that was asked for."""
    (a, pivots, b), (out,) = x.n.reads, x.n.results
    trans = {"N": "'N'", "T": "'T'", "C": "'C'"}[x.n.term.op.params["trans"]]
    given = [
        x.natives[0], trans, x.size("m"), x.size("n"), x.pointer(a), *map(x.p.poly, a.core), x.pointer(pivots),
        *map(x.p.poly, pivots.core), x.pointer(b), *map(x.p.poly, b.core), x.pointer(out),
    ]  # fmt: skip
    with x.p.block(""):
        x.p.add(f"const int failed = tg_lu_solve_{SHORT[out.buf.dtype]}({', '.join(given)});")
        if x.n.spec.fails:
            x.p.add(f"if (failed > 0) {x.fail(0)}")
        else:
            each, nan = x.p.poly(x.n.sizes["m"] * x.n.sizes["n"]), '__builtin_nan("")'
            x.p.add(f"if (failed > 0) for (int64_t k = 0; k < {each}; k++) ({x.pointer(out)})[k] = {nan};")
        x.p.add(f"if (failed < 0) {x.no_memory()}")


TEXTS = {
    "tg_lu_columns": """
/* L and U, column after column, and the pivots, which count from one. Returns -1 without memory. LAPACK's numbers have
   32 or 64 bits. By gesv with a right side of zeros: from a length on that is not getrf's it has several threads, which
   add in another order. */
static int tg_lu_columns_$N(int native, const $T *a, int64_t row, int64_t column, int64_t n, $T *out, int64_t *pivots)
{
    int64_t size = n, one = 1, info = 0;
    const int32_t narrow = (int32_t)n, narrow_one = 1;
    int32_t *const swaps = (int32_t *)pivots;
    if (n == 0) return 0;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) out[j * n + i] = a[i * row + j * column];
    $T *const zeros = calloc(n, sizeof($T));
    if (!zeros) return -1;
    if (n < 512) tg_rt->take_cores(1);
    void (*const gesv)(const void *, const void *, void *, const void *, void *, void *, const void *, void *) =
        tg_native[native];
    if (tg_native[native + 1]) gesv(&size, &one, out, &size, pivots, zeros, &size, &info);
    else gesv(&narrow, &narrow_one, out, &narrow, swaps, zeros, &narrow, &info);
    if (n < 512) tg_rt->give_cores(1);
    free(zeros);
    if (!tg_native[native + 1])
        for (int64_t i = n - 1; i >= 0; i--) {
            int32_t swap;
            __builtin_memcpy(&swap, (char *)pivots + 4 * i, 4);
            pivots[i] = swap;
        }
    return 0;
}
""",
    "tg_lu_solve": """
/* Columns solved by factors as tg_lu_columns leaves them. Returns 1 if the matrix was singular, -1 without memory. One
   column of complex numbers is solved twice: getrs has a way for one that gesv does not take. */
static int tg_lu_solve_$N(int native, char trans, int64_t n, int64_t columns, const $T *a, int64_t row, int64_t column,
                          const int64_t *pivots, int64_t step, const $T *b, int64_t b_row, int64_t b_column, $T *out)
{
    const int wide = tg_native[native + 1] != NULL, dense = row == n && column == 1;
    const int64_t width = columns == 1 && sizeof($T) > sizeof(double) ? 2 : columns;
    int64_t size = n, many = width, info = 0;
    const int32_t narrow = (int32_t)n, narrow_many = (int32_t)width;
    if (n == 0 || columns == 0) return 0;
    for (int64_t i = 0; i < n; i++) if (a[i * (row + column)] == 0) return 1;
    const int64_t copied = dense ? 0 : n * n, right = width == 1 ? 0 : n * width;
    char *const room = malloc((copied + right) * sizeof($T) + (wide && step == 1 ? 0 : n * sizeof(int64_t)) + 1);
    if (!room) return -1;
    $T *const x = width == 1 ? out : ($T *)room + copied;
    const $T *factors = a;
    const void *swaps = pivots;
    if (!dense) {
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) (($T *)room)[i * n + j] = a[i * row + j * column];
        factors = ($T *)room;
    }
    if (!wide || step != 1) {
        swaps = ($T *)room + copied + right;
        for (int64_t i = 0; i < n; i++)
            if (wide) ((int64_t *)swaps)[i] = pivots[i * step];
            else ((int32_t *)swaps)[i] = (int32_t)pivots[i * step];
    }
    for (int64_t j = 0; j < width; j++)
        for (int64_t i = 0; i < n; i++) x[j * n + i] = b[i * b_row + (j < columns ? j : 0) * b_column];
    if (n < 512) tg_rt->take_cores(1);
    void (*const getrs)(const char *, const void *, const void *, const void *, const void *, const void *, void *,
                        const void *, void *, size_t) = tg_native[native];
    if (wide) getrs(&trans, &size, &many, factors, &size, swaps, x, &size, &info, 1);
    else getrs(&trans, &narrow, &narrow_many, factors, &narrow, swaps, x, &narrow, &info, 1);
    if (n < 512) tg_rt->give_cores(1);
    if (width > 1)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < columns; j++) out[i * columns + j] = x[j * n + i];
    free(room);
    return 0;
}
""",
}  # fmt: skip
