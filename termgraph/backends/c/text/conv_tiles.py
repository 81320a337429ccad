"""C text of the tiles of convolutions: sums that stay in registers while products of vectors are added to them.

A tile is as many rows (filters, or taps) as there is room for, times one to three vectors. Pure text.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from termgraph._records import NamedTuple

VECTORS = (("#ifdef __AVX512F__", 64, 8), ("#elif defined(__AVX__)", 32, 4), ("#else", 16, 4))  # bytes of one, rows
WIDTH = 3  # vectors of a tile
FEW = (2, 4)  # rows of smaller tiles


def tiles(size: int, kinds: list[str]) -> str:
    """The tiles for each kind of processor, for numbers of so many bytes."""
    out = [TYPES.strip()]
    for test, width, rows in VECTORS:
        each = " ".join(f"OF(M, {r})" for r in range(rows))
        out += [test, f"#define TG_CONV_ROWS_$N {rows}\n#define TG_CONV_LANES_$N {width // size}"]
        out.append(f"#define TG_ROWS_$N(OF, M) {each}")
    out.append("#endif")
    for few in FEW:
        out.append(f"#define TG_ROWS{few}_$N(OF, M) {' '.join(f'OF(M, {r})' for r in range(few))}")
    out.append(LANES.strip())
    out += [TAP_TILE.strip().replace("$THREE", _loads(WIDTH))] if "taps" in kinds else []
    for kind in kinds:
        out += [TILES[kind](w) for w in range(1, WIDTH + 1)]
        names = ", ".join(f"tg_conv_{kind}_$N_{w}" for w in range(1, WIDTH + 1))
        out.append(f"static tg_conv_{kind}_tile_$N *const tg_conv_{kind}s_$N[] = {{{names}}};")
    out += [_tile("direct", WIDTH), _tile("direct", WIDTH, "4"), *_few_rows()] if "strided" in kinds else []
    if "taps" in kinds:
        out.append(_transposed(size))
    return "\n".join([*out, WIDE.strip()])


class Form(NamedTuple):
    """How the numbers of the rows and the vectors of a tile are given, and what a step does with them."""

    given: str
    along: str  # what moves from step to step, but for the vectors
    before: str
    load: str
    step: str


PACKED = "b{v} = *(const tg_lanes_$N *)(b + TG_CONV_LANES_$N * {v})"
FORMS = {
    "forward": Form("const $T *a, const $T *b", "a += TG_CONV_ROWS_$N, ", "", PACKED, "TG_STEP"),
    # the numbers of a row are read where they lie
    "strided": Form(
        "const $T *x, const int64_t *at, int64_t s, const $T *b", "", "const $T *const a = x + at[i]; ", PACKED,
        "TG_FAR",
    ),
    # vectors are read at x[v] + off[k]; nothing of the image is packed
    "direct": Form(
        "const $T *a, const $T *const *x, const int64_t *off", "a += TG_CONV_ROWS_$N, ", "",
        "b{v} = *(const tg_lanes_$N *)(x[{v}] + off[i])", "TG_STEP",
    ),
}  # fmt: skip


def _loads(w: int, load: str = PACKED) -> str:
    held = " ".join(f"TG_HELD(b{v});" for v in range(w))
    return f"tg_lanes_$N {', '.join(load.format(v=v) for v in range(w))}; {held}"


def _tile(kind: str, w: int, rows: str = "") -> str:
    """c[rows][w vectors] (+)= a[k][rows] * b[k][w vectors]; of the numbers in `a` as many as there are `rows`."""
    form, name = FORMS[kind], f"tg_conv_{kind}_$N{rows}" + (f"_{w}" if kind in TILES else "")

    def _all(w: int, what: str) -> str:
        """A statement for all sums of a tile."""
        return f"TG_ROWS{rows}_$N(TG_OF{w}, {what})"

    vectors = f", b += {w} * TG_CONV_LANES_$N" if "*b" in form.given else ""
    lines = [
        f"static TG_CONV void {name}(int64_t k, {form.given}, $T *c, int64_t ldc, int add)",
        "{",
        f"    {_all(w, 'TG_ZERO_$N')} {_all(w, 'TG_ASKED_$N')}",
        f"    for (int64_t i = 0; i < k; {form.along}i++{vectors}) {{",
        f"        {form.before}{_loads(w, form.load)}",
        f"        {_all(w, form.step)}",
        "    }",
        f"    if (add) {{ {_all(w, 'TG_ADDED_$N')} }}",
        f"    {_all(w, 'TG_PUT_$N')}",
        "}",
    ]
    return "\n".join(lines)


def _few_rows() -> list[str]:
    """Tiles of taps of two, four and all rows."""
    few = [_tap_tile(w, str(rows)) for rows in FEW for w in range(1, WIDTH + 1)]
    each = [f"{{{', '.join(f'tg_conv_taps_$N{rows}_{w}' for w in range(1, WIDTH + 1))}}}" for rows in (*FEW, "")]
    return [*few, f"static tg_conv_taps_tile_$N *const tg_conv_fews_$N[][{WIDTH}] = {{{', '.join(each)}}};"]


def _tap_tile(w: int, rows: str = "") -> str:
    """A single vector leaves registers for the sums of three places at a time."""
    sums, several = (w, "TG_NOTHING, TG_NOTHING") if w > 1 else (WIDTH, "TG_THREE_$N, TG_TOGETHER")
    of = f"TG_OF{w}, TG_OF{sums}, {several}"
    return f"TG_TAP_TILE_$N(tg_conv_taps_$N{rows}_{w}, TG_ROWS{rows}_$N, {of}, {w}, {_loads(w)})"


def _transposed(size: int) -> str:
    """Rows of a square of numbers as columns, for each length of vectors: pairs change places, then pairs of pairs."""
    out = ["#if defined(__GNUC__) && !defined(__clang__)", *SWAPPED.strip().split("\n")]
    for test, width, _ in VECTORS:
        out += [test, _swaps(width // size)]
    plain = (
        "    for (int i = 0; i < TG_CONV_LANES_$N; i++)\n"
        "        for (int j = 0; j < TG_CONV_LANES_$N; j++) to[i * ld + j] = from[j * step + i];\n}"
    )
    return "\n".join([*out, "#endif", "}", "#else", TRANSPOSED.strip(), plain, "#endif"])


def _swaps(lanes: int) -> str:
    names, lines, half = [f"x{i}" for i in range(lanes)], [], 1
    lines.append("    tg_lanes_$N " + ", ".join(f"{x} = TG_FROM_$N({i})" for i, x in enumerate(names)) + ", t;")
    while half < lanes:
        low = ", ".join(str(j if j // half % 2 == 0 else lanes + j - half) for j in range(lanes))
        high = ", ".join(str(j + half if j // half % 2 == 0 else lanes + j) for j in range(lanes))
        lines.append(f"    const tg_lane_numbers_$N low{half} = {{{low}}}, high{half} = {{{high}}};")
        swaps = [f"TG_SWAP_$N({half}, x{i}, x{i + half});" for i in range(lanes) if i // half % 2 == 0]
        lines += [f"    {' '.join(swaps[k : k + 4])}" for k in range(0, len(swaps), 4)]
        half *= 2
    return "\n".join([*lines, *[f"    *(tg_lanes_$N *)(to + {i} * ld) = {x};" for i, x in enumerate(names)]])


TYPES = """
typedef void tg_conv_forward_tile_$N(int64_t, const $T *, const $T *, $T *, int64_t, int);
typedef void tg_conv_strided_tile_$N(int64_t, const $T *, const int64_t *, int64_t, const $T *, $T *, int64_t, int);
typedef void tg_conv_taps_tile_$N(const tg_conv_run *, const $T *, const int64_t *, const $T *, $T *, int64_t);
"""
LANES = """
typedef $T tg_lanes_$N __attribute__((vector_size(TG_CONV_LANES_$N * sizeof($T)), aligned(sizeof($T)), may_alias));
#ifndef TG_HELD /* a vector that stays in its register: gcc would read it again from memory for each row */
#if defined(__x86_64__) && defined(__AVX__)
#define TG_HELD(b) __asm__("" : "+v"(b))
#else
#define TG_HELD(b) (void)0
#endif
#endif
#ifndef TG_OF /* the vectors of a row of a tile, and what is done with each */
#define TG_OF(M, r) M(r)
#define TG_OF1(M, r) M(r, 0)
#define TG_OF2(M, r) M(r, 0) M(r, 1)
#define TG_OF3(M, r) M(r, 0) M(r, 1) M(r, 2)
#define TG_STEP(r, v) c##r##_##v += a[r] * b##v;
#define TG_FAR(r, v) c##r##_##v += a[r * s] * b##v;
#define TG_TAPPED(r, v) c##r##_##v += x##r[i] * b##v;
#define TG_NEXT(r) x##r += move;
#define TG_AHEAD(r) __builtin_prefetch(tap + ahead + (r) * step);
#define TG_PICKED(r) row[r] = tap[(r) * step];
#endif
#define TG_AT_$N(r, v) (*(tg_lanes_$N *)(c + (r) * ldc + TG_CONV_LANES_$N * (v)))
#define TG_ZERO_$N(r, v) tg_lanes_$N c##r##_##v = {0};
#define TG_ASKED_$N(r, v) __builtin_prefetch(&TG_AT_$N(r, v));
#define TG_ADDED_$N(r, v) c##r##_##v += TG_AT_$N(r, v);
#define TG_AGAIN_$N(r, v) c##r##_##v = (tg_lanes_$N){0};
#define TG_PUT_$N(r, v) TG_AT_$N(r, v) = c##r##_##v;
#define TG_TAP_$N(r) const $T *x##r = x + off[r];
"""
TAP_TILE = r"""
/* c[taps][vectors] += x[tap][image, row, place] * b[place][vectors]; nothing of the image is packed. Sums of about
   `terms` places go to memory, where they are added up: fewer digits are lost. */
#define TG_NOTHING(...)
#define TG_TURNED(r, v) c##r##_##v += x##r[i + v] * b##v;
#define TG_TOGETHER(r) c##r##_0 += c##r##_1 + c##r##_2;
#define TG_THREE_$N(ROWS) \
    for (; i + 2 < n; i += 3, b += 3 * TG_CONV_LANES_$N) { $THREE ROWS(TG_OF3, TG_TURNED) }
#define TG_TAP_TILE_$N(NAME, ROWS, OF, SUMS, THREE, TOGETHER, VECTORS, ...) \
static TG_CONV void NAME(const tg_conv_run *q, const $T *x, const int64_t *off, const $T *b, $T *c, int64_t ldc) \
{ \
    ROWS(SUMS, TG_ZERO_$N) ROWS(OF, TG_ASKED_$N) ROWS(TG_OF, TG_TAP_$N) \
    int64_t n = q->n, done = 0; \
    for (int64_t m = 0, move; m < q->images; m++, b += q->b_image) { \
        for (int64_t y = 0; y < q->rows; y++, b += q->b_row) { \
            n = y + 1 < q->rows ? q->n : q->last; \
            if (done && done + n / 2 > q->terms) { \
                ROWS(TG_OF, TOGETHER) ROWS(OF, TG_ADDED_$N) ROWS(OF, TG_PUT_$N) ROWS(SUMS, TG_AGAIN_$N) \
                done = 0; \
            } \
            done += n; \
            int64_t i = 0; \
            THREE(ROWS) \
            for (; i < n; i++, b += VECTORS * TG_CONV_LANES_$N) { __VA_ARGS__ ROWS(OF, TG_TAPPED) } \
            move = q->row; \
            ROWS(TG_OF, TG_NEXT) \
        } \
        move = q->image; \
        ROWS(TG_OF, TG_NEXT) \
    } \
    ROWS(TG_OF, TOGETHER) ROWS(OF, TG_ADDED_$N) ROWS(OF, TG_PUT_$N) \
}
"""
TRANSPOSED = """
static inline void tg_conv_transposed_$N(const $T *from, int64_t step, $T *to, int64_t ld)
{
"""
SWAPPED = (
    """
typedef $I tg_lane_numbers_$N __attribute__((vector_size(sizeof(tg_lanes_$N))));
#define TG_FROM_$N(i) (*(const tg_lanes_$N *)(from + (i) * step))
#define TG_SWAP_$N(half, a, b) \\
    t = __builtin_shuffle(a, b, low##half), b = __builtin_shuffle(a, b, high##half), a = t
"""
    + TRANSPOSED
)
WIDE = """
/* Vectors of the next panel: three, or two twice where one would be left. */
static inline int64_t tg_conv_wide_$N(int64_t left)
{
    const int64_t v = (left + TG_CONV_LANES_$N - 1) / TG_CONV_LANES_$N;
    return v == 4 ? 2 : v > 3 ? 3 : v;
}
"""
TILES: dict[str, Callable[[int], str]] = {
    "forward": functools.partial(_tile, "forward"),
    "strided": functools.partial(_tile, "strided"),
    "taps": _tap_tile,
}
