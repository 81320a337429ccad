"""C text of sums, products and extremes of all elements up to each: $T is the C type, $N its short name. Pure text.

As each waits for the last, rows go side by side: as squares of elements that are turned in registers, where compilers
have vectors. A step is one operation for a vector of rows then, also where it meets subnormal numbers, which are slow.
"""

from __future__ import annotations

from termgraph.backends.c.apart import section
from termgraph.backends.c.text.dialect import filled
from termgraph.backends.c.text.squares import body

_HEAD = """
#ifndef TG_SQUARE_OF /* how many rows and columns a square has: as many as a vector has lanes; 0 without vectors */
#if defined(__AVX512F__) && !defined(__clang__)
#define TG_SQUARE_OF(bytes) (64 / (bytes))
#elif defined(__AVX2__) && !defined(__clang__)
#define TG_SQUARE_OF(bytes) (32 / (bytes))
#else
#define TG_SQUARE_OF(bytes) 0
#endif
#define TG_SQUARE_f32 TG_SQUARE_OF(4)
#define TG_PLACE_f32 int32_t
#define TG_SQUARE_i32 TG_SQUARE_OF(4)
#define TG_PLACE_i32 int32_t
#define TG_SQUARE_u32 TG_SQUARE_OF(4)
#define TG_PLACE_u32 int32_t
#define TG_SQUARE_f64 TG_SQUARE_OF(8)
#define TG_PLACE_f64 int64_t
#define TG_SQUARE_i64 TG_SQUARE_OF(8)
#define TG_PLACE_i64 int64_t
#define TG_SQUARE_u64 TG_SQUARE_OF(8)
#define TG_PLACE_u64 int64_t
#endif
"""
_SQUARE = """
#if TG_SQUARE_$N
typedef $T tg_lane_$M_$N __attribute__((may_alias));
typedef tg_lane_$M_$N tg_row_$M_$N __attribute__((vector_size(sizeof($T) * TG_SQUARE_$N), aligned(sizeof($T))));
typedef TG_PLACE_$N tg_places_$M_$N __attribute__((vector_size(sizeof($T) * TG_SQUARE_$N)));
/* A square of elements that lie side by side in their rows: `total` has the folds of what stands before, by row. */
static __attribute__((noinline)) tg_row_$M_$N tg_$M_square_$N(const $T *x, int64_t apart, $T *out, int64_t out_apart,
                                                              tg_row_$M_$N total)
{
$BODY
    return total;
}
#endif"""
_ROWS = """
#if TG_SQUARE_$N
    enum { SIDE = TG_SQUARE_$N };
    for (; !alone && step == 1 && out_step == 1 && count >= SIDE && n >= SIDE; count -= SIDE) {
        tg_row_$M_$N total = $NEUTRAL;
        int64_t i = 0;
        for (; i + SIDE <= n; i += SIDE) total = tg_$M_square_$N(x + i, apart, out + i, out_apart, total);
        for (; i < n; i++)
            for (int u = 0; u < SIDE; u++) {
                const $T a = total[u], b = x[u * apart + i];
                out[u * out_apart + i] = total[u] = a $SIGN b;
            }
        x += SIDE * apart, out += SIDE * out_apart;
    }
#endif"""
_RUNNING = """$SQUARE
$STORED void tg_$M_$N(const $T *x, int64_t apart, int64_t step, $T *out, int64_t out_apart, int64_t out_step,
                     int64_t n, int64_t count)
{
    enum { ROWS = 4 };
    const int alone = $ALONE; /* one row keeps up with memory, and four are four streams of it */$MANY
    for (; !alone && count >= ROWS && n > 0; count -= ROWS, x += ROWS * apart, out += ROWS * out_apart) {
        $T total[ROWS];
        #pragma GCC unroll 8
        for (int u = 0; u < ROWS; u++) out[u * out_apart] = total[u] = x[u * apart];
        for (int64_t i = 1; i < n; i++) {
            #pragma GCC unroll 8
            for (int u = 0; u < ROWS; u++) {
                const $T a = total[u], b = x[u * apart + i * step];
                out[u * out_apart + i * out_step] = total[u] = $JOINED;
            }
        }
    }
    for (; count > 0 && n > 0; count--, x += apart, out += out_apart) {
        $T a = *out = *x;
        for (int64_t i = 1; i < n; i++) {
            const $T b = x[i * step];
            out[i * out_step] = a = $JOINED;
        }
    }
}
"""


def _folded(lanes: int, turned: list[str], sign: str) -> list[str]:
    """The steps of a square with so many rows: turned, folded row by row, turned back."""
    rows = [f"    x{r} = x{r - 1} {sign} x{r};" for r in range(1, lanes)]
    return [*turned, f"    x0 = total {sign} x0;", *rows, f"    total = x{lanes - 1};", *turned]


def _running(name: str, joined: str, neutral: str = "") -> str:
    """Folds of all elements up to each, in this order; with what leaves an element as it is they go in squares."""
    alone = "($T)0.5 == 0 && step == 1 && n * count * (int64_t)sizeof($T) > 1 << 20" if name == "cumsum" else "0"
    text = _RUNNING.replace("$JOINED", joined).replace("$ALONE", alone)
    if not neutral:
        return filled(text, {"$SQUARE": "", "$MANY": "", "$STORED": "static", "$M": name})
    sign = joined[2]
    steps = body("TG_SQUARE_$N", "tg_row_$M_$N", "tg_places_$M_$N", lambda lanes, turned: _folded(lanes, turned, sign))
    square = _HEAD + _SQUARE.replace("$BODY", steps)
    pieces = {"$SQUARE": square, "$MANY": _ROWS, "$STORED": "TG_APART", "$NEUTRAL": neutral, "$SIGN": sign, "$M": name}
    return section("", filled(text, pieces))  # apart: gcc takes a tenth of a second


TEXTS = {
    "tg_cumsum": _running("cumsum", "a + b", "-(tg_row_$M_$N){0}"),  # of floats it keeps the sign of a zero
    "tg_cumprod": _running("cumprod", "a * b", "(tg_row_$M_$N){0} + 1"),
    "tg_cummax": _running("cummax", "b > a || b != b ? b : a"),
    "tg_cummin": _running("cummin", "b < a || b != b ? b : a"),
}
