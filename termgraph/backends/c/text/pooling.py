"""C text of pooling and its gradients: a function for each size and stride of windows along rows.

Rows of the image are folded first, whole vectors at a time, then the folded row along itself. Gradients are in
`pooling_gradients`. Lengths are those of three dimensions; missing ones are 1. Pure text; may import lower.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from termgraph.backends.c.text.dialect import CTYPE, SHORT
from termgraph.backends.c.text.pooling_gradients import gradient
from termgraph.terms.ops.pooling import lowest

DEEP = " " * 16
MOST_TAPS = 16  # of a window along a row that are written out
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
    found = dict.fromkeys(re.findall(r"\btg_pool_(max|sum|max_grad|sum_grad)_([a-z]\d+)_(\d+)_(\d+)\(", source))
    texts = [_function(kind, short, int(k), int(s)) for kind, short, k, s in found]
    return "\n".join([MOVE.strip(), *texts]) if texts else ""


def _function(kind: str, short: str, k: int, s: int) -> str:
    dtype = LONG[short]
    if kind.endswith("grad"):
        out = gradient(kind == "max_grad", np.dtype(dtype).itemsize, k, s)
    else:
        out = FORWARD.strip().replace("$LEAST", _least(dtype) if kind == "max" else "0")
        out = out.replace("$PAIR", _pair(kind, "row[j]", "from[j]", dtype)).replace("$ALONG", _along(kind, short, k, s))
    bits = f"int{8 * np.dtype(dtype).itemsize}_t"
    named = {"$NAME": f"tg_pool_{kind}_{short}_{k}_{s}", "$N": short, "$K": str(k), "$S": str(s), "$I": bits}
    for name, text in {**named, "$T": CTYPE[dtype]}.items():
        out = out.replace(name, text)
    return out


def _least(dtype: str) -> str:
    least = lowest(np.dtype(dtype))
    if dtype[0] == "f":
        return "-__builtin_inff()" if dtype == "float32" else "-__builtin_inf()"
    return "(-9223372036854775807 - 1)" if dtype == "int64" else f"{least}"


def _pair(kind: str, a: str, b: str, dtype: str) -> str:
    if kind == "sum":
        return f"{a} += {b}"
    nan = f" | ({b} != {b})" if dtype[0] == "f" else ""
    return f"{a} = ({b} > {a}){nan} ? {b} : {a}"


def _along(kind: str, short: str, k: int, s: int) -> str:
    """The windows along a row: each written out, or tap after tap for all places."""
    at = [f"row[j * {s} + {c}]" for c in range(min(k, MOST_TAPS))]
    dtype = LONG[short]
    if k <= MOST_TAPS:
        most = at[0] if k == 1 else f"tg_maximum{k if k > 2 else ''}_{short}({', '.join(at)})"
        value = most if kind == "max" else " + ".join(at)
        return f"for (int64_t j = 0; j < ow; j++) to[j] = {value};"
    step = _pair(kind, "to[j]", f"row[j * {s} + c]", dtype)
    places = "for (int64_t j = 0; j < ow; j++)"
    more = f'for (int64_t c = 1; c < {k}; c++) {{\n{DEEP}_Pragma("GCC ivdep")\n{DEEP}{places} {step};\n            }}'
    return f"{places} to[j] = row[j * {s}];\n            {more}"


MOVE = """
/* n elements, `by` and `step` apart. */
#define tg_move_row(to, by, from, step, n)                                              \\
    do {                                                                                \\
        if ((by) == 1 && (step) == 1) __builtin_memcpy(to, from, (n) * sizeof *(to));   \\
        else for (int64_t j = 0; j < (n); j++) (to)[j * (by)] = (from)[j * (step)];     \\
    } while (0)
"""
FORWARD = """
/* Windows of planes: the rows of a window are folded to one, which has room around it, then that along itself. */
static int $NAME(int64_t count, const int64_t *next, const $T *x, $T *out, const int64_t *xs, const int64_t *os,
                 const int64_t *n, const int64_t *m, const int64_t *k, const int64_t *s, const int64_t *p)
{
    const int64_t w = n[2], ow = m[2], need = (ow - 1) * $S + $K, room = (need > w + p[2] ? need : w + p[2]) + 1;
    if (ow <= 0) return 0;
    $T *line = malloc((room + ow + w) * sizeof *line), *to = line + room, *const apart = to + ow;
    if (!line) return 1;
    for (int64_t j = 0; j < room; j++) line[j] = $LEAST;
    for (int64_t at = 0; at < count; at++, x += next[0], out += next[1])
        for (int64_t i = 0; i < m[0] * m[1]; i++) {
            const int64_t a = i / m[1], b = i % m[1];
            int first = 1;
            for (int64_t u = 0; u < k[0]; u++)
                for (int64_t v = 0; v < k[1]; v++) {
                    const int64_t z = a * s[0] - p[0] + u, r = b * s[1] - p[1] + v;
                    if (z < 0 || z >= n[0] || r < 0 || r >= n[1]) continue;
                    const $T *from = x + z * xs[0] + r * xs[1];
                    $T *restrict row = line + p[2];
                    if (xs[2] != 1) {
                        for (int64_t j = 0; j < w; j++) apart[j] = from[j * xs[2]];
                        from = apart;
                    }
                    if (first) __builtin_memcpy(row, from, w * sizeof *row);
                    else {
                        _Pragma("GCC ivdep")
                        for (int64_t j = 0; j < w; j++) $PAIR;
                    }
                    first = 0;
                }
            if (first) for (int64_t j = 0; j < w; j++) line[p[2] + j] = $LEAST;
            const $T *row = line;
            $T *const place = out + a * os[0] + b * os[1];
            if (os[2] == 1) to = place;
            _Pragma("GCC ivdep")
            $ALONG
            if (to != place) for (int64_t j = 0; j < ow; j++) place[j * os[2]] = to[j];
        }
    free(line);
    return 0;
}
"""
__all__ = ["call", "functions"]
