"""C text of the tiles of convolutions: sums that stay in registers while products of vectors are added to them.

A tile is as many rows (filters, or taps) as there is room for, times one to three vectors. Pure text.
"""

from __future__ import annotations

TILES = (("#ifdef __AVX512F__", 64, 8), ("#elif defined(__AVX__)", 32, 4), ("#else", 16, 4))  # bytes of a vector, rows
WIDTH = 3  # vectors of a tile


def tiles(size: int, kinds: list[str]) -> str:
    """The tiles for each kind of processor, for numbers of so many bytes."""
    out = []
    for test, width, rows in TILES:
        out.append(test)
        out.append(f"#define TG_CONV_ROWS_$N {rows}\n#define TG_CONV_LANES_$N {width // size}")
        out.append(f"typedef $T tg_lanes_$N __attribute__((vector_size({width}), aligned({size}), may_alias));")
        for kind in kinds:
            make = _tile if kind == "forward" else _tap_tile
            out += [make(rows, w) for w in range(1, WIDTH + 1)]
            names = ", ".join(f"tg_conv_{kind}_$N_{w}" for w in range(1, WIDTH + 1))
            if kind == "taps":
                out.append(_transposed(width // size))
            out.append(f"static tg_conv_{kind}_tile_$N *const tg_conv_{kind}s_$N[] = {{{names}}};")
    return "\n".join([TYPES.strip(), *out, "#endif", WIDE.strip()])


def _names(rows: int, w: int) -> list[tuple[int, int]]:
    return [(r, v) for r in range(rows) for v in range(w)]


def _loads(w: int) -> str:
    lanes = "TG_CONV_LANES_$N"
    return "const tg_lanes_$N " + ", ".join(f"b{v} = *(const tg_lanes_$N *)(b + {lanes} * {v})" for v in range(w)) + ";"


def _at(r: int, v: int) -> str:
    return f"*(tg_lanes_$N *)(c + {r} * ldc + TG_CONV_LANES_$N * {v})"


def _tile(rows: int, w: int) -> str:
    """c[rows][w vectors] (+)= a[k][rows] * b[k][w vectors]"""
    sums = _names(rows, w)
    steps = [" ".join(f"c{r}_{v} += a[{r}] * b{v};" for v in range(w)) for r in range(rows)]
    lines = [
        f"static TG_CONV void tg_conv_forward_$N_{w}(int64_t k, const $T *a, const $T *b, $T *c, int64_t ldc, int add)",
        "{",
        "    tg_lanes_$N " + ", ".join(f"c{r}_{v} = {{0}}" for r, v in sums) + ";",
        "    " + " ".join(f"__builtin_prefetch(&{_at(r, v)});" for r, v in sums),
        f"    for (int64_t i = 0; i < k; i++, a += {rows}, b += {w} * TG_CONV_LANES_$N) {{",
        f"        {_loads(w)}",
        *[f"        {step}" for step in steps],
        "    }",
        "    if (add) {",
        *[f"        c{r}_{v} += {_at(r, v)};" for r, v in sums],
        "    }",
        *[f"    {_at(r, v)} = c{r}_{v};" for r, v in sums],
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
        "    tg_lanes_$N " + ", ".join(f"c{r}_{v} = {_at(r, v)}" for r, v in sums) + ";",
        "    const $T " + ", ".join(f"*x{r} = x + off[{r}]" for r in range(rows)) + ";",
        "    for (int64_t y = 0; y < rows; y++) {",
        f"        for (int64_t i = 0; i < n; i++, b += {w} * TG_CONV_LANES_$N) {{",
        f"            {_loads(w)}",
        *[f"            {step}" for step in steps],
        "        }",
        "        " + " ".join(f"x{r} += step;" for r in range(rows)),
        "    }",
        *[f"    {_at(r, v)} = c{r}_{v};" for r, v in sums],
        "}",
    ]
    return "\n".join(lines)


def _transposed(lanes: int) -> str:
    """Rows of a square of numbers as columns: halves of vectors change places, then quarters, and so on."""
    names, steps, half = [f"x{i}" for i in range(lanes)], [], 1
    while half < lanes:
        low = ", ".join(str(j if j // half % 2 == 0 else lanes + j - half) for j in range(lanes))
        high = ", ".join(str(j + half if j // half % 2 == 0 else lanes + j) for j in range(lanes))
        for i in [i for i in range(lanes) if i // half % 2 == 0]:
            a, b = names[i], names[i + half]
            steps.append(f"t = __builtin_shuffle({a}, {b}, (places){{{low}}});")
            steps.append(f"{b} = __builtin_shuffle({a}, {b}, (places){{{high}}}); {a} = t;")
        half *= 2
    loads = ", ".join(f"{x} = *(const tg_lanes_$N *)(from + {i} * step)" for i, x in enumerate(names))
    vectors = [
        f"    typedef $I places __attribute__((vector_size(sizeof(tg_lanes_$N))));\n    tg_lanes_$N {loads}, t;",
        *[f"    {step}" for step in steps],
        *[f"    *(tg_lanes_$N *)(to + {i} * ld) = {x};" for i, x in enumerate(names)],
    ]
    plain = (
        f"    for (int i = 0; i < {lanes}; i++) for (int j = 0; j < {lanes}; j++) to[i * ld + j] = from[j * step + i];"
    )
    head = "static inline void tg_conv_transposed_$N(const $T *from, int64_t step, $T *to, int64_t ld)\n{"
    gcc = "#if defined(__GNUC__) && !defined(__clang__)"
    return "\n".join([head, gcc, *vectors, "#else", plain, "#endif", "}"])


TYPES = """
typedef void tg_conv_forward_tile_$N(int64_t, const $T *, const $T *, $T *, int64_t, int);
typedef void tg_conv_taps_tile_$N(int64_t, int64_t, const $T *, const int64_t *, int64_t, const $T *, $T *, int64_t);
"""
WIDE = """
/* Vectors of the next panel: three, or two twice where one would be left. */
static inline int64_t tg_conv_wide_$N(int64_t left)
{
    const int64_t v = (left + TG_CONV_LANES_$N - 1) / TG_CONV_LANES_$N;
    return v == 4 ? 2 : v > 3 ? 3 : v;
}
"""
__all__ = ["tiles"]
