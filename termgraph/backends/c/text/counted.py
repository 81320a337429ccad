"""C text of routines that count: what a plan reads of all elements of an argument, places of a mask, what it keeps.

Templates (see `routine_texts`) and the calls of their functions. Nothing is written beyond the room that the plan has
counted, also where somebody else changes an argument during the call.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from termgraph.backends.c.text.dialect import SHORT
from termgraph.lower.loops.tree import Place

_EACH = """if (by == 1) for (int64_t i = 0; i < n; i++) {{ const $T v = x[i]; {step} }}
        else for (int64_t i = 0; i < n; i++) {{ const $T v = x[i * by]; {step} }}"""
_TRUE = """for (int64_t b = 0; b < n; b += 32768) {
            const int64_t end = n - b < 32768 ? n : b + 32768;
            const uint8_t *const bytes = (const uint8_t *)x;
            uint16_t some = 0; /* vectors hold four times as many as of 64 bits */
            if (by == 1) for (int64_t i = b; i < end; i++) some += bytes[i] != 0;
            else for (int64_t i = b; i < end; i++) some += bytes[i * by] != 0;
            found += some;
        }"""


def _of_all(name: str, what: str, start: str, row: str) -> str:
    """What is added up over all elements of an argument, which may lie in any way: row by row."""
    return f"""
/* {what} */
static int64_t tg_{name}_$N(const $T *x, const int64_t *lengths, int ndim)
{{
    int64_t at[64] = {{0}}, found = {start};
    const int64_t *steps = lengths + ndim, n = lengths[ndim - 1], by = steps[ndim - 1];
    for (int d = 0; d < ndim; d++) if (lengths[d] == 0) return found;
    for (;;) {{
        {row}
        int d = ndim - 2;
        for (; d >= 0; d--) {{
            x += steps[d];
            if (++at[d] < lengths[d]) break;
            x -= at[d] * steps[d];
            at[d] = 0;
        }}
        if (d < 0) return found;
    }}
}}
"""


def _in_row(head: str, what: str, element: Callable[[str], str], names: str = "", plain: str = "1") -> str:
    """What is kept of a row: each element is written, and the next one over it where the mask is not true.

    Vectors of 64 bytes put what is kept of them together, where elements lie one after the other (`plain`), and 64
    elements that are all kept are copied: where most are, that is most of the work.
    """
    vectors = "\n".join([_compressed(bits, element, plain) for bits in (64, 32, 16, 8)])
    return f"""
/* {what}, from out[have] on: how many there are then, at most `room`. */
{head}
{{
    enum {{ BLOCK = 8, RUN = 64 }};
    {names}int64_t i = 0;
#if defined(__AVX512BW__) && !defined(__clang__)
    typedef char bytes __attribute__((vector_size(64), aligned(1), may_alias));
{vectors}
#endif
    for (; i + BLOCK <= n && have + BLOCK <= room; i += BLOCK) {{
        if (step == 1 && i % RUN == 0 && i + RUN <= n && have + RUN <= room) {{
            uint64_t some, all = -1;
            for (int u = 0; u < RUN; u += BLOCK) __builtin_memcpy(&some, mask + i + u, BLOCK), all &= some;
            if (all == 0x0101010101010101u) {{
                for (int u = 0; u < RUN; u++) out[have + u] = {element("i + u")};
                i += RUN - BLOCK, have += RUN;
                continue;
            }}
        }}
        if (step == 1) {{
            uint64_t some;
            __builtin_memcpy(&some, mask + i, BLOCK);
            if (!some) continue;
        }}
        for (int u = 0; u < BLOCK; u++) out[have] = {element("i + u")}, have += mask[(i + u) * step] != 0;
    }}
    for (; i < n && have < room; i++) if (mask[i * step]) out[have++] = {element("i")};
    return have;
}}
"""


# By the bits of an element: the integer, and the letters of the instruction that puts elements together.
_INTEGERS = {64: ("long long", "di"), 32: ("int", "si"), 16: ("short", "hi"), 8: ("char", "qi")}


def _compressed(bits: int, element: Callable[[str], str], plain: str) -> str:
    """Blocks of 64 bytes of the mask, whose elements have so many bits; those of a byte are one vector."""
    lanes, (integer, kind) = 512 // bits, _INTEGERS[bits]
    if bits < 32 and element("u") == "u":
        return ""  # places have 64 bits
    found = "*(const lanes *)(x + i + u)"
    if element("u") == "u":
        found = f"(lanes){{{', '.join(map(str, range(lanes)))}}} + ({integer})(i + u)"
    text = f"""    if (step == 1 && sizeof *out == {bits // 8} && {plain}) {{
        typedef {integer} lanes __attribute__((vector_size(64), aligned({bits // 8}), may_alias));
        for (; i + 64 <= n && have + 64 <= room; i += 64) {{
            const bytes m = *(const bytes *)(mask + i);
            uint64_t some = (uint64_t)__builtin_ia32_ptestmb512(m, m, -1);
            if (!~some) {{
                for (int u = 0; u < 64; u += {lanes}) *(lanes *)(out + have + u) = {found};
                have += 64;
                continue;
            }}
            for (int u = 0; some; u += {lanes}, some {">>= " + str(lanes) if lanes < 64 else "= 0"}) {{
                const uint{lanes}_t these = (uint{lanes}_t)some;
                const lanes v = {found};
                *(lanes *)(out + have) = __builtin_ia32_compress{kind}512_mask(v, v, these);
                have += __builtin_popcount{"ll" if lanes == 64 else ""}(these);
            }}
        }}
    }}"""
    return text if bits > 16 else f"#ifdef __AVX512VBMI2__\n{text}\n#endif"


TEXTS = {
    "tg_count": _of_all("count", "How many elements are true.", "0", _TRUE),
    "tg_most": _of_all(
        "most",
        "The largest element but 2**63 - 1, to which nothing can be added, or -1.",
        "-1",
        _EACH.format(
            step="const int64_t w = (int64_t)v - ((int64_t)v == 9223372036854775807l); found = w > found ? w : found;"
        ),
    ),
    "tg_sum": _of_all(
        "sum",
        "The sum of all elements.",
        "0",
        _EACH.format(step="found = (int64_t)((uint64_t)found + (uint64_t)v);"),
    ),
    "tg_places_in_row": _in_row(
        "static int64_t tg_places_in_row_$N(const uint8_t *mask, int64_t step, int64_t n, $T *out, int64_t have,\n"
        "                                   int64_t room)",
        "The places in a row where a mask is true",
        lambda place: place,
    ),
    "tg_kept_in_row": _in_row(
        "static int64_t tg_kept_in_row_$N(const uint8_t *mask, int64_t step, const void *row, int64_t by, int64_t n,\n"
        "                                 void *kept, int64_t have, int64_t room)",
        "The elements of $N bits of a row where a mask is true",
        lambda place: f"x[({place}) * by]",
        "const $T *x = row;\n    $T *out = kept;\n    ",
        "by == 1",
    ),
    "tg_bincount": """
/* How often each number below `bins` occurs, or the sum of its weights if there are any. Nonzero: a number is
   negative, the least of them is at the first of its places; or what is said of the numbers is wrong, and there is the
   first that is too large. */
static int tg_bincount_$N(const $T *x, int64_t by, int64_t n, const double *weights, int64_t apart, int64_t bins,
                          int64_t *counts, double *sums, int64_t *least, int64_t *at)
{
    int64_t i = 0;
    if (weights) {
        for (int64_t k = 0; k < bins; k++) sums[k] = 0;
        for (; i < n && (uint64_t)x[i * by] < (uint64_t)bins; i++) sums[x[i * by]] += weights[i * apart];
    } else {
        for (int64_t k = 0; k < bins; k++) counts[k] = 0;
        for (; i < n && (uint64_t)x[i * by] < (uint64_t)bins; i++) counts[x[i * by]]++;
    }
    if (i == n) return 0;
    *least = x[*at = 0];
    const int64_t first = i;
    for (i = 1; i < n; i++) if (x[i * by] < *least) *least = x[i * by], *at = i;
    if (*least >= 0) *least = x[(*at = first) * by];
    return 1;
}
""",
}


# ---------------------------------------------------------------------- calls
def _rows_of_mask(x: Any, together: bool = False) -> tuple[list[str], str, list[str], str]:
    """Loops over the rows of a mask: their heads, the address of a row, the indices that say which, and a row's length.

    `together`: all rows are one.
    """
    mask, sizes = x.n.reads[0], [x.n.sizes[name] for name in x.n.spec.ins[0]]
    rows = [] if together else [f"row{k}" for k in range(len(sizes) - 1)]
    heads = [f"for (int64_t {r} = 0; {r} < {n}; {r}++)" for r, n in zip(rows, map(x.p.poly, sizes))]
    return heads, _row(x, mask, rows), rows, x.p.poly(prod(sizes[0 if together else -1 :]))


def _follow_each_other(x: Any, a: Place) -> bool:
    """Whether each row begins where the one before ends."""
    lengths = [x.n.sizes[name] for name in x.n.spec.ins[0]]
    return all(step is inner * n for step, inner, n in zip(a.core, a.core[1:], lengths[1:]))


def _row(x: Any, a: Place, rows: list[str]) -> str:
    """The address of a row."""
    return " + ".join([x.pointer(a), *[f"{r} * ({x.p.poly(step)})" for r, step in zip(rows, a.core)]])


def places(x: Any) -> None:
    """The places of a mask, row by row; those that a changed mask no longer has are 0."""
    heads, mask, rows, n = _rows_of_mask(x)
    outs, found = [x.pointer(a) for a in x.n.results], x.size("found")
    step = x.p.poly(x.n.reads[0].core[-1])
    with x.p.block(""):
        x.p.add("int64_t have = 0;")
        with x.p.block(" ".join(heads)):
            x.p.add("const int64_t first = have;" if rows else "")
            row = f"(const uint8_t *)({mask}), {step}, {n}, {outs[-1]}"
            x.p.add(f"have = tg_places_in_row_i64({row}, have, {found});")
            if rows:
                each = " ".join([f"({out})[k] = {r};" for out, r in zip(outs, rows)])
                x.p.add(f"for (int64_t k = first; k < have; k++) {{ {each} }}")
        each = " ".join([f"({out})[have] = 0;" for out in outs])
        x.p.add(f"for (; have < {found}; have++) {{ {each} }}")


def kept(x: Any) -> None:
    """What a mask keeps of an array, row by row."""
    heads, mask, rows, n = _rows_of_mask(x, all(_follow_each_other(x, a) for a in x.n.reads))
    (_, a), (out,) = x.n.reads, x.n.results
    step, found = x.p.poly(x.n.reads[0].core[-1]), x.size("found")
    size = 8 * np.dtype(out.buf.dtype).itemsize
    kind = SHORT[out.buf.dtype] if size == 128 else size
    whole = "" if x.n.term.op.params["same"] else x.size("whole")
    with x.p.block(""):
        x.p.add("int64_t have = 0;")
        with x.p.block(" ".join(heads)):
            if whole:
                x.p.add(f"const int64_t n = {n} < {whole} ? {n} : {whole};")
            row = f"(const uint8_t *)({mask}), {step}, {_row(x, a, rows)}, {x.p.poly(a.core[-1])}"
            given = f"{row}, {'n' if whole else n}, {x.pointer(out)}, have, {found}"
            x.p.add(f"have = tg_kept_in_row_{kind}({given});")
        if whole:
            beyond = f"for (int64_t k = {whole}; k < {n}; k++)"
            with x.p.block(f"{beyond} if (((const uint8_t *)({mask}))[k * ({step})])"):
                x.p.add(x.bad_index("k", whole))
        first = f"(uint8_t *){x.pointer(out)}" if out.buf.dtype == "bool" else x.pointer(out)
        x.p.add(f"for (; have < {found}; have++) ({first})[have] = 0;")


def bincount(x: Any) -> None:
    (values, _, *weights), (out,) = x.n.reads, x.n.results
    numbers, *added = [[x.pointer(a), x.p.poly(a.core[0])] for a in (values, *weights)]
    given = [*numbers, x.size("d0"), *(added[0] if added else ("NULL", "0")), x.size("bins")]
    given += ["NULL", x.pointer(out)] if weights else [x.pointer(out), "NULL"]
    with x.p.block(""):
        x.p.add("int64_t least = 0, at = 0;")
        call = f"tg_bincount_{SHORT[values.buf.dtype]}({', '.join(given)}, &least, &at)"
        x.p.add(f"if ({call}) {x.bad_index('least', 'at')}")
