"""C text of pooling and its gradients: a function for each size and stride of windows along rows.

Rows of the image are folded first, whole vectors at a time, then the folded row along itself. Gradients are in
`pooling_gradients`. Lengths are those of three dimensions; missing ones are 1. Pure text; may import lower.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from termgraph.backends.c.build.compilers import vector_bytes
from termgraph.backends.c.text.dialect import CTYPE, SHORT, filled
from termgraph.backends.c.text.plain_routines import least
from termgraph.backends.c.text.pooling_gradients import gradient, lanes

DEEP = " " * 16
MOST_TAPS = 16  # of a window along a row that are written out
ROWS = 3  # of a window, which are folded at once
LONG = {short: dtype for dtype, short in SHORT.items() if dtype not in ("float16", "bfloat16")}


def call(x: Any) -> str:
    """The call for the planes of a row of a routine's batch, or for one."""
    n, p = x.n, x.p
    params = n.term.op.params
    kind = (
        params["kind"]
        if n.spec.text == "pool"
        else {"pool_max_grad": "max_grad", "pool_sum_grad": "sum_grad"}[n.spec.text]
    )
    name = f"tg_pool_{kind}_{SHORT[n.results[0].buf.dtype]}_{params['size'][-1]}_{params['stride'][-1]}"
    arrays = [a for a in n.reads if a.core] + n.results
    given = [x.count, f"(const int64_t[{len(arrays)}]){{{', '.join(map(x.apart, arrays))}}}", *map(x.pointer, arrays)]
    for a in arrays:
        given.append(_three([p.poly(step) for step in a.core], "0"))
    for lengths in (("d", "h", "w"), ("od", "oh", "ow")):
        given.append(_three([x.size(name) for name in lengths if name in n.sizes], "1"))
    given += [
        _three([str(v) for v in params[which]], "0" if which == "pad" else "1") for which in ("size", "stride", "pad")
    ]
    return f"{name}({', '.join(given)})"


def _three(texts: list[str], missing: str) -> str:
    return f"(const int64_t[3]){{{', '.join([*[missing] * (3 - len(texts)), *texts])}}}"


def functions(source: str) -> str:
    """The functions of this kind that a source calls."""
    found = dict.fromkeys(
        re.findall(r"\btg_pool_(?:surely_)?(max|sum|max_grad|sum_grad)_([a-z]\d+)_(\d+)_(\d+)\(", source)
    )
    texts = [_function(kind, short, int(k), int(s)) for kind, short, k, s in found]
    return "\n".join([MOVE.strip(), *texts]) if texts else ""


def _function(kind: str, short: str, k: int, s: int) -> str:
    dtype = LONG[short]
    size = np.dtype(dtype).itemsize
    if kind.endswith("grad"):
        out = gradient(kind == "max_grad", size, k, s, dtype[0] == "f" and vector_bytes() == 64)
    else:
        out = "\n".join([lanes(size), _more(kind, dtype), _forward(kind, dtype, k, s)])
    named = {
        "$NAME": f"tg_pool_{kind}_{short}_{k}_{s}",
        "$N": short,
        "$K": str(k),
        "$S": str(s),
        "$I": f"int{8 * size}_t",
    }
    return filled(out, {**named, "$T": CTYPE[dtype]})


def _more(kind: str, dtype: str) -> str:
    """Vectors of two rows folded to one; of two numbers NaN is the larger one."""
    body = "return a + b;"
    if kind == "max":
        nan = " | (tg_pool_numbers_$N)(b != b)" if dtype[0] == "f" else ""
        body = f"const tg_pool_numbers_$N take = (tg_pool_numbers_$N)(b > a){nan};\n    {TAKEN}"
    name = f"TG_POOL_{kind.upper()}_$N"
    head = f"static inline tg_pool_lanes_$N tg_pool_{kind}_$N(tg_pool_lanes_$N a, tg_pool_lanes_$N b)"
    return f"#ifndef {name}\n#define {name}\n{head}\n{{\n    {body}\n}}\n#endif"


def _forward(kind: str, dtype: str, k: int, s: int) -> str:
    def fold(texts: list[str]) -> str:
        return functools.reduce(lambda a, b: f"tg_pool_{kind}_$N({a}, {b})", texts)

    rows = [f"TG_POOL_AT_$N(rows[{t}] + j)" for t in range(ROWS)]
    cases = [f"                case {n}: EACH_VECTOR AT_ROW = {fold(rows[:n])}; break;" for n in range(1, ROWS + 1)]
    along = _along(kind, dtype, k, s, fold)
    out = (
        FORWARD.strip()
        .replace("$CASES", "\n".join(cases))
        .replace("$FOLD", fold(["AT_ROW", "TG_POOL_AT_$N(rows[t] + j)"]))
    )
    out = out.replace("$LEAST", least(dtype) if kind == "max" else "0").replace("$ALONG", along)
    out = out.replace("EACH_VECTOR", "for (int64_t j = 0; j < wide; j += LANES)")
    return out.replace("AT_ROW", "TG_POOL_AT_$N(row + j)")


def _along(kind: str, dtype: str, k: int, s: int, fold: Callable[[list[str]], str]) -> str:
    """The windows along a row: each written out, or tap after tap."""
    first = [f"TG_POOL_AT_$N(line + j * {s} + {c})" for c in range(min(k, MOST_TAPS))]
    if s == 1 and k <= MOST_TAPS:
        return f"for (int64_t j = 0; j < ow; j += LANES) TG_POOL_AT_$N(to + j) = {fold(first)};"
    plain = _tap_after_tap(kind, dtype, k, s)
    if s != 2 or k > MOST_TAPS:
        return plain
    pairs = [f"__builtin_shuffle({a}, TG_POOL_AT_$N(line + j * 2 + {c} + LANES), even)" for c, a in enumerate(first)]
    whole = f"for (int64_t j = 0; j < ow; j += LANES) TG_POOL_AT_$N(to + j) = {fold(pairs)};"
    return f"\n#if defined(__GNUC__) && !defined(__clang__)\n{DEEP}{whole}\n#else\n{DEEP}{plain}\n#endif"


def _tap_after_tap(kind: str, dtype: str, k: int, s: int) -> str:
    at = [f"line[j * {s} + {c}]" for c in range(min(k, MOST_TAPS))]
    if k <= MOST_TAPS:
        short = SHORT[dtype]
        most = at[0] if k == 1 else f"tg_maximum{k if k > 2 else ''}_{short}({', '.join(at)})"
        value = most if kind == "max" else " + ".join(at)
        return f'_Pragma("GCC ivdep")\n                for (int64_t j = 0; j < ow; j++) to[j] = {value};'
    a, b = "to[j]", f"line[j * {s} + c]"
    nan = f" | ({b} != {b})" if dtype[0] == "f" else ""
    step = f"{a} += {b}" if kind == "sum" else f"{a} = ({b} > {a}){nan} ? {b} : {a}"
    places = "for (int64_t j = 0; j < ow; j++)"
    more = f'for (int64_t c = 1; c < {k}; c++) {{\n{DEEP}    _Pragma("GCC ivdep")\n{DEEP}    {places} {step};\n{DEEP}}}'
    return f"{places} to[j] = line[j * {s}];\n{DEEP}{more}"


TAKEN = "return (tg_pool_lanes_$N)(((tg_pool_numbers_$N)b & take) | ((tg_pool_numbers_$N)a & ~take));"
MOVE = """
/* n elements, `by` and `step` apart. */
#define tg_move_row(to, by, from, step, n)                                              \\
    do {                                                                                \\
        if ((by) == 1 && (step) == 1) __builtin_memcpy(to, from, (n) * sizeof *(to));   \\
        else for (int64_t j = 0; j < (n); j++) (to)[j * (by)] = (from)[j * (step)];     \\
    } while (0)
"""
FORWARD = """
/* Windows of planes: the rows of a window are folded to one, which has room around it, then that along itself, a few
   rows at a time, so that what is read as other vectors was written a while ago. Vectors at the end of a row go on
   behind it: what they write there is written again. */
static int $NAME(int64_t count, const int64_t *next, const $T *x, $T *out, const int64_t *xs, const int64_t *os,
                 const int64_t *n, const int64_t *m, const int64_t *k, const int64_t *s, const int64_t *p)
{
    enum { LANES = TG_POOL_LANES_$N, SOME = 8 };
    const int64_t w = n[2], wide = (w + LANES - 1) / LANES * LANES;
    const int64_t ow = m[2], owide = (ow + LANES - 1) / LANES * LANES, tall = k[0] * k[1];
    const int64_t room = (owide * $S > wide + p[2] ? owide * $S : wide + p[2]) + $K + 2 * LANES;
    if (ow <= 0 || count <= 0) return 0;
    const $T *const x_end = tg_pool_end_$N(x, n, xs, count, next[0]), **const rows = malloc(tall * sizeof *rows);
    const $T *const out_end = tg_pool_end_$N(out, m, os, count, next[1]);
    $T *const lines = malloc((SOME * room + owide + tall * wide) * sizeof *lines);
    if (!lines || !rows) return free(lines), free(rows), 1;
    $T *const apart = lines + SOME * room + owide;
    const tg_pool_lanes_$N least = (tg_pool_lanes_$N){0} + $LEAST;
    tg_pool_numbers_$N even;
    for (int64_t e = 0; e < LANES; e++) even[e] = 2 * e;
    for (int64_t j = 0; j < SOME * room; j++) lines[j] = $LEAST;
    for (int64_t at = 0; at < count; at++, x += next[0], out += next[1])
        for (int64_t begin = 0, end; begin < m[0] * m[1]; begin = end) {
            end = begin + SOME < m[0] * m[1] ? begin + SOME : m[0] * m[1];
            for (int64_t i = begin; i < end; i++) {
                const int64_t a = i / m[1], b = i % m[1];
                $T *const row = lines + (i - begin) * room + p[2];
                int64_t over = 0;
                for (int64_t u = 0; u < k[0]; u++)
                    for (int64_t v = 0; v < k[1]; v++) {
                        const int64_t z = a * s[0] - p[0] + u, r = b * s[1] - p[1] + v;
                        if (z < 0 || z >= n[0] || r < 0 || r >= n[1]) continue;
                        const $T *from = x + z * xs[0] + r * xs[1];
                        if (xs[2] != 1 || from + wide > x_end) {
                            $T *const copy = apart + over * wide;
                            tg_move_row(copy, 1, from, xs[2], w);
                            from = copy;
                        }
                        rows[over++] = from;
                    }
                switch (over) {
$CASES
                case 0: EACH_VECTOR AT_ROW = least; break;
                default:
                    EACH_VECTOR AT_ROW = TG_POOL_AT_$N(rows[0] + j);
                    for (int64_t t = 1; t < over; t++) EACH_VECTOR AT_ROW = $FOLD;
                }
                if (wide > w) TG_POOL_AT_$N(row + w) = least;
            }
            for (int64_t i = begin; i < end; i++) {
                const $T *const line = lines + (i - begin) * room;
                $T *const place = out + i / m[1] * os[0] + i % m[1] * os[1];
                $T *const to = os[2] == 1 && place + owide <= out_end ? place : lines + SOME * room;
                $ALONG
                if (to != place) tg_move_row(place, os[2], to, 1, ow);
            }
        }
    free(lines), free(rows);
    return 0;
}
"""
