"""Q and R of matrices by LAPACK's geqrf and orgqr, which the loops of NumPy call for double numbers only. Text only."""

from __future__ import annotations

from typing import Any

from termgraph.backends.c.text.dialect import SHORT


def factors(x: Any) -> None:
    """The call that makes both factors of a matrix."""
    (a,), (q, r) = x.n.reads, x.n.results
    given = [
        *x.natives, x.pointer(a), *map(x.p.poly, a.core), x.size("m"), x.size("n"), x.pointer(q),
        x.size("p") if x.n.spec.outs[0] == ("m", "p") else x.size("m"), x.pointer(r),
    ]  # fmt: skip
    x.p.add(f"if (tg_qr_{SHORT[a.buf.dtype]}({', '.join(given)})) {x.no_memory()}")


TEXTS = {
    "tg_qr": """
/* Q of `width` columns and R of as many rows. Nonzero: no memory. LAPACK's numbers have 32 or 64 bits. */
static int tg_qr_$N(int geqrf, int orgqr, const $T *x, int64_t row, int64_t column, int64_t m, int64_t n, $T *q,
                    int64_t width, $T *r)
{
    typedef void (*with_room)(const void *, const void *, void *, const void *, void *, void *, const void *, void *);
    typedef void (*of_three)(const void *, const void *, const void *, void *, const void *, void *, void *,
                             const void *, void *);
    const with_room factor = (with_room)tg_native[geqrf];
    const of_three form = (of_three)tg_native[orgqr];
    const int wide = tg_native[geqrf + 1] != NULL;
    const int64_t least = m < n ? m : n, most = n > width ? n : width;
    int64_t sizes[] = {m, n, width, least, -1}, info = 0; /* and as numbers of 32 bits, where LAPACK has those */
    for (int k = 0; k < 5 && !wide; k++) {
        const int32_t narrow = (int32_t)sizes[k];
        __builtin_memcpy(sizes + k, &narrow, sizeof narrow);
    }
    if (m == 0 || most == 0) return 0;
    $T *const columns = malloc((m * most + least) * sizeof *columns), *const tau = columns + m * most;
    if (!columns) return 1;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++) columns[j * m + i] = x[i * row + j * column];
    $T first = 0, second = 0;
    if (least) factor(sizes, sizes + 1, columns, sizes, tau, &first, sizes + 4, &info);
    form(sizes, sizes + 2, sizes + 3, columns, sizes, tau, &second, sizes + 4, &info);
    const int64_t wanted[] = {(int64_t)__real__ first, (int64_t)__real__ second};
    $T *const room = malloc(((wanted[0] > wanted[1] ? wanted[0] : wanted[1]) + 1) * sizeof *room);
    if (room) {
        int64_t lengths[] = {wanted[0], wanted[1]};
        for (int k = 0; k < 2 && !wide; k++) {
            const int32_t narrow = (int32_t)wanted[k];
            __builtin_memcpy(lengths + k, &narrow, sizeof narrow);
        }
        if (m < 512) tg_rt->take_cores(1);
        if (least) factor(sizes, sizes + 1, columns, sizes, tau, room, lengths, &info);
        for (int64_t i = 0; i < width; i++)
            for (int64_t j = 0; j < n; j++) r[i * n + j] = i <= j ? columns[j * m + i] : 0;
        form(sizes, sizes + 2, sizes + 3, columns, sizes, tau, room, lengths + 1, &info);
        if (m < 512) tg_rt->give_cores(1);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < width; j++) q[i * width + j] = columns[j * m + i];
    }
    free(columns);
    free(room);
    return !room;
}
""",
}  # fmt: skip
