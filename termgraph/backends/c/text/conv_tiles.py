"""C text of the tiles of convolutions: sums that stay in registers while products of vectors are added to them.

A tile is as many rows (filters, or taps) as there is room for, times one to three vectors. Pure text.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

VECTORS = (("#ifdef __AVX512F__", 64, 8), ("#elif defined(__AVX__)", 32, 4), ("#else", 16, 4))  # bytes of one, rows
WIDTH = 3  # vectors of a tile


def tiles(size: int, kinds: list[str]) -> str:
    """The tiles for each kind of processor, for numbers of so many bytes."""
    out = [TYPES.strip()]
    for test, width, rows in VECTORS:
        out.append(test)
        out.append(f"#define TG_CONV_ROWS_$N {rows}\n#define TG_CONV_LANES_$N {width // size}")
    out += ["#endif", LANES.strip()]
    for test, rows in (("#if TG_CONV_ROWS_$N == 8", 8), ("#else", 4)):
        out += [test, *[MAKES[kind](rows, w) for kind in kinds for w in range(1, WIDTH + 1)]]
        out += [_direct_tile(rows)] if "strided" in kinds else []
    out.append("#endif")
    for kind in kinds:
        names = ", ".join(f"tg_conv_{kind}_$N_{w}" for w in range(1, WIDTH + 1))
        out.append(f"static tg_conv_{kind}_tile_$N *const tg_conv_{kind}s_$N[] = {{{names}}};")
    if "taps" in kinds:
        out.append(_transposed(size))
    return "\n".join([*out, WIDE.strip()])


def _names(rows: int, w: int) -> list[tuple[int, int]]:
    return [(r, v) for r in range(rows) for v in range(w)]


def _loads(w: int) -> str:
    lanes = "TG_CONV_LANES_$N"
    loads = ", ".join(f"b{v} = *(const tg_lanes_$N *)(b + {lanes} * {v})" for v in range(w))
    return f"tg_lanes_$N {loads}; {_held(w)}"


def _held(w: int) -> str:
    return " ".join(f"TG_HELD(b{v});" for v in range(w))


def _at(r: int, v: int) -> str:
    return f"TG_AT_$N({r}, {v})"


def _tile(rows: int, w: int, strided: bool = False) -> str:
    """c[rows][w vectors] (+)= a[k][rows] * b[k][w vectors]; strided: the numbers of a row are read where they lie."""
    sums = _names(rows, w)
    name, given = ("strided", "const $T *x, const int64_t *at, int64_t s") if strided else ("forward", "const $T *a")
    lines = [
        f"static TG_CONV void tg_conv_{name}_$N_{w}(int64_t k, {given}, const $T *b, $T *c, int64_t ldc, int add)",
        "{",
        "    tg_lanes_$N " + ", ".join(f"c{r}_{v} = {{0}}" for r, v in sums) + ";",
        "    " + " ".join(f"__builtin_prefetch(&{_at(r, v)});" for r, v in sums),
        f"    for (int64_t i = 0; i < k; i++, {'' if strided else f'a += {rows}, '}b += {w} * TG_CONV_LANES_$N) {{",
        *["        const $T *const a = x + at[i];"] * strided,
        f"        {_loads(w)}",
        *[f"        {step}" for step in _steps(rows, w, " * s" if strided else "")],
        "    }",
        *_stored(sums),
        "}",
    ]
    return "\n".join(lines)


def _steps(rows: int, w: int, apart: str = "") -> list[str]:
    return [" ".join(f"c{r}_{v} += a[{r}{apart}] * b{v};" for v in range(w)) for r in range(rows)]


def _stored(sums: list[tuple[int, int]]) -> list[str]:
    """The end of a tile: its sums are added to what is there, or put there."""
    adds = [f"        c{r}_{v} += {_at(r, v)};" for r, v in sums]
    return ["    if (add) {", *adds, "    }", *[f"    {_at(r, v)} = c{r}_{v};" for r, v in sums]]


def _direct_tile(rows: int) -> str:
    """c[rows][three vectors] (+)= a[k][rows] * the vectors at x[v] + off[k]; nothing of the image is packed."""
    sums, w = _names(rows, WIDTH), range(WIDTH)
    loads = ", ".join(f"b{v} = *(const tg_lanes_$N *)(x{v} + off[i])" for v in w)
    lines = [
        "static TG_CONV void tg_conv_direct_$N(int64_t k, const $T *a, const $T *const *x, const int64_t *off, $T *c, "
        "int64_t ldc, int add)",
        "{",
        "    tg_lanes_$N " + ", ".join(f"c{r}_{v} = {{0}}" for r, v in sums) + ";",
        "    const $T " + ", ".join(f"*x{v} = x[{v}]" for v in w) + ";",
        f"    for (int64_t i = 0; i < k; i++, a += {rows}) {{",
        f"        tg_lanes_$N {loads}; {_held(WIDTH)}",
        *[f"        {step}" for step in _steps(rows, WIDTH)],
        "    }",
        *_stored(sums),
        "}",
    ]
    return "\n".join(lines)


def _tap_tile(rows: int, w: int) -> str:
    """c[taps][w vectors] += x[tap][row, place] * b[place][w vectors]; nothing of the image is packed."""
    sums = _names(rows, w)
    steps = [" ".join(f"c{r}_{v} += x{r}[i] * b{v};" for v in range(w)) for r in range(rows)]
    lines = [
        f"static TG_CONV void tg_conv_taps_$N_{w}(int64_t rows, int64_t n, const $T *x, const int64_t *off, "
        "int64_t step, const $T *b, $T *c, int64_t ldc)",
        "{",
        "    tg_lanes_$N " + ", ".join(f"c{r}_{v} = {{0}}" for r, v in sums) + ";",
        "    const $T " + ", ".join(f"*x{r} = x + off[{r}]" for r in range(rows)) + ";",
        "    for (int64_t y = 0; y < rows; y++) {",
        f"        for (int64_t i = 0; i < n; i++, b += {w} * TG_CONV_LANES_$N) {{",
        f"            {_loads(w)}",
        *[f"            {step}" for step in steps],
        "        }",
        "        " + " ".join(f"x{r} += step;" for r in range(rows)),
        "    }",
        *[f"    {_at(r, v)} += c{r}_{v};" for r, v in sums],
        "}",
    ]
    return "\n".join(lines)


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
typedef void tg_conv_taps_tile_$N(int64_t, int64_t, const $T *, const int64_t *, int64_t, const $T *, $T *, int64_t);
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
#define TG_AT_$N(r, v) (*(tg_lanes_$N *)(c + (r) * ldc + TG_CONV_LANES_$N * (v)))
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
MAKES: dict[str, Callable[..., str]] = {
    "forward": _tile,
    "strided": functools.partial(_tile, strided=True),
    "taps": _tap_tile,
}
__all__ = ["tiles"]
