"""C text of squares of elements that are turned in registers, rows becoming columns: $T is unsigned, of $N bits.

A square has as many rows as a vector has lanes; without vectors there are none (TG_TURNS_$N is 0). Pure text.
"""

from __future__ import annotations

from collections.abc import Callable

from termgraph.backends.c.text.vector_sort import corners, turns, wrapped

LANES = (16, 8, 4)
_EXCHANGE = """#define T(p, q, bit) { const $ROW v = x##p, w = x##q; \\
    x##p = __builtin_shuffle(v, w, ($PLACES)TG_LOW(bit)); \\
    x##q = __builtin_shuffle(v, w, ($PLACES)TG_HIGH(bit)); }
"""


def body(size: str, row: str, places: str, steps: Callable[[int, list[str]], list[str]]) -> str:
    """What a function does with rows `x0`, `x1` ... of a square: `steps` of so many rows, and of what turns them.

    `size` is a macro that says how many, `row` their type, and `places` that of whole numbers as wide.
    """
    lines = [_EXCHANGE.replace("$ROW", row).replace("$PLACES", places).rstrip()]
    for k, lanes in enumerate(LANES):
        moved = corners(lanes)
        lines += [
            f"#{'el' * (k > 0)}if {size} == {lanes}",
            f"#define TG_LOW(bit) {moved['$LOW']}",
            f"#define TG_HIGH(bit) {moved['$HIGH']}",
            f"    {row} {', '.join(f'x{r} = *(const {row} *)(x + {r} * apart)' for r in range(lanes))};",
            *steps(lanes, wrapped(turns(lanes, lanes))),
            *[f"    *({row} *)(out + {r} * out_apart) = x{r};" for r in range(lanes)],
        ]
    return "\n".join([*lines, "#endif", "#undef T", "#undef TG_LOW", "#undef TG_HIGH"])


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
$BODY
}
#endif
"""
TEXT = _SQUARE.replace("$BODY", body("TG_TURNS_$N", "tg_side_$N", "tg_side_$N", lambda lanes, turned: turned))
