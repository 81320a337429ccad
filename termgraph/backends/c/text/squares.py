"""C text of squares of elements that are turned in registers, rows becoming columns: $T is unsigned, of $N bits.

A square has as many rows as a vector has lanes; without vectors there are none (TG_TURNS_$N is 0). Pure text.
"""

from __future__ import annotations

from termgraph.backends.c.text.vector_sort import corners, turns, wrapped

LANES = (16, 8, 4)
_SQUARE = """
#if $N < 32 || $N > 64 || !defined(__AVX2__) || defined(__clang__)
#define TG_TURNS_$N 0
#elif defined(__AVX512F__)
#define TG_TURNS_$N (512 / $N)
#else
#define TG_TURNS_$N (256 / $N)
#endif
#if TG_TURNS_$N
typedef $T tg_side_$N __attribute__((vector_size(TG_TURNS_$N * $N / 8), aligned($N / 8), may_alias));
/* A square of elements that lie side by side in their rows becomes its transpose. */
static __attribute__((noinline)) void tg_turned_$N(const $T *x, int64_t apart, $T *out, int64_t out_apart)
{
#define T(p, q, bit) { const tg_side_$N v = x##p, w = x##q; \\
    x##p = __builtin_shuffle(v, w, (tg_side_$N)TG_LOW(bit)); \\
    x##q = __builtin_shuffle(v, w, (tg_side_$N)TG_HIGH(bit)); }
$SIDES
#undef T
#undef TG_LOW
#undef TG_HIGH
}
#endif
"""


def _turned(lanes: int) -> str:
    rows, places = range(lanes), corners(lanes)
    lines = [
        f"#define TG_LOW(bit) {places['$LOW']}",
        f"#define TG_HIGH(bit) {places['$HIGH']}",
        f"    tg_side_$N {', '.join(f'x{r} = *(const tg_side_$N *)(x + {r} * apart)' for r in rows)};",
        *wrapped(turns(lanes, lanes)),
        *[f"    *(tg_side_$N *)(out + {r} * out_apart) = x{r};" for r in rows],
    ]
    return "\n".join(lines)


_SIDES = "\n".join(f"#{'el' * (k > 0)}if TG_TURNS_$N == {n}\n{_turned(n)}" for k, n in enumerate(LANES))
TEXT = _SQUARE.replace("$SIDES", f"{_SIDES}\n#endif")
