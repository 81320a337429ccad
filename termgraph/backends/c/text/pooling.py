"""C text of pooling and its gradients: a function for each size and stride of windows along rows.

Rows of the image are folded first, whole vectors at a time, then the folded row along itself. Gradients gather: an
element adds up what the windows it lies in give to it, so that each is written once. Lengths are those of three
dimensions; missing ones are 1. Pure text; may import lower.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from termgraph.backends.c.text.dialect import CTYPE, SHORT
from termgraph.terms.ops.pooling import lowest

DEEP = " " * 16
MOST_TAPS = 16  # of a window along a row that are written out
LONG = {short: dtype for dtype, short in SHORT.items() if dtype not in ("float16", "bfloat16")}


def call(x: Any) -> str:
    """The call for one plane of a routine's statement."""
    n, p = x.n, x.p
    params = n.term.op.params
    kind = (
        params["kind"]
        if n.spec.text == "pool"
        else {"pool_max_grad": "max_grad", "pool_sum_grad": "sum_grad"}[n.spec.text]
    )
    name = f"tg_pool_{kind}_{SHORT[n.results[0].buf.dtype]}_{params['size'][-1]}_{params['stride'][-1]}"
    arrays = [a for a in n.reads if a.core] + n.results
    given = [x.pointer(a) for a in arrays]
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
    text = GRADIENT if kind.endswith("grad") else FORWARD
    dtype = LONG[short]
    body = {
        "$LEAST": _least(dtype) if kind == "max" else "0",
        "$PAIR": _pair(kind, "row[j]", "from[j]", dtype),
        "$ALONG": _along(kind, short, k, s),
        "$SHARES": _shares(kind == "max_grad", k, s),
        "$ARRAYS": "const $T *x, const $T *y, const $T *g, $T *out" if kind == "max_grad" else "const $T *g, $T *out",
        "$STEPS": "const int64_t *xs, const int64_t *ys, const int64_t *gs, const int64_t *os" if kind == "max_grad"
        else "const int64_t *gs, const int64_t *os",
    }  # fmt: skip
    lines = text.strip().split("\n")
    keep = [line for line in lines if kind == "max_grad" or not line.endswith("/*max*/")]
    out = "\n".join(line.removesuffix("/*max*/").rstrip() for line in keep)
    for name, piece in body.items():
        out = out.replace(name, piece)
    name = f"tg_pool_{kind}_{short}_{k}_{s}"
    return (
        out.replace("$MOVE", "tg_move_row")
        .replace("$NAME", name)
        .replace("$K", str(k))
        .replace("$S", str(s))
        .replace("$T", CTYPE[dtype])
    )


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
    if kind == "max_grad" or kind == "sum_grad":
        return ""
    if k <= MOST_TAPS:
        most = at[0] if k == 1 else f"tg_maximum{k if k > 2 else ''}_{short}({', '.join(at)})"
        value = most if kind == "max" else " + ".join(at)
        return f"for (int64_t j = 0; j < ow; j++) to[j] = {value};"
    step = _pair(kind, "to[j]", f"row[j * {s} + c]", dtype)
    places = "for (int64_t j = 0; j < ow; j++)"
    more = f'for (int64_t c = 1; c < {k}; c++) {{\n{DEEP}_Pragma("GCC ivdep")\n{DEEP}{places} {step};\n            }}'
    return f"{places} to[j] = row[j * {s}];\n            {more}"


def _shares(compared: bool, k: int, s: int) -> str:
    """What the windows of one row of places give to the elements of a row, by their place modulo the stride."""
    share = "(row[{t}] == ya[q - {i}] ? ga[q - {i}] : 0)" if compared else "ga[q - {i}]"
    if k <= MOST_TAPS:
        each = []
        inner = "\n" + DEEP + "    "
        for e in range(min(s, k)):
            terms = [share.format(t=f"q * {s} + {e}", i=i) for i in range((k - 1 - e) // s + 1)]
            each.append(f"sums[q * {s} + {e}] += {' + '.join(terms)};")
        lines = inner.join(each)
        return f'_Pragma("GCC ivdep")\n{DEEP}for (int64_t q = 0; q < turns; q++) {{{inner}{lines}\n{DEEP}}}'
    term = share.format(t=f"q * {s} + c % {s}", i=f"c / {s}")
    turns = f"for (int64_t q = 0; q < turns; q++) sums[q * {s} + c % {s}] += {term};"
    return f"for (int64_t c = 0; c < {k}; c++)\n{DEEP}    {turns}"


MOVE = """
/* n elements, `by` and `step` apart. */
#define tg_move_row(to, by, from, step, n)                                              \\
    do {                                                                                \\
        if ((by) == 1 && (step) == 1) __builtin_memcpy(to, from, (n) * sizeof *(to));   \\
        else for (int64_t j = 0; j < (n); j++) (to)[j * (by)] = (from)[j * (step)];     \\
    } while (0)
"""
FORWARD = """
/* Windows of one plane: the rows of a window are folded to one, which has room around it, then that along itself. */
static int $NAME(const $T *x, $T *out, const int64_t *xs, const int64_t *os, const int64_t *n, const int64_t *m,
                 const int64_t *k, const int64_t *s, const int64_t *p)
{
    const int64_t w = n[2], ow = m[2], need = (ow - 1) * $S + $K, room = (need > w + p[2] ? need : w + p[2]) + 1;
    if (ow <= 0) return 0;
    $T *line = malloc((room + ow + w) * sizeof *line), *to = line + room, *const apart = to + ow;
    if (!line) return 1;
    for (int64_t j = 0; j < room; j++) line[j] = $LEAST;
    for (int64_t a = 0; a < m[0]; a++)
        for (int64_t b = 0; b < m[1]; b++) {
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
GRADIENT = """
/* What the windows of one plane give back to its elements. */
static int $NAME($ARRAYS, $STEPS, const int64_t *n, const int64_t *m, const int64_t *k, const int64_t *s,
                 const int64_t *p)
{
    enum { AROUND = ($K - 1) / $S };
    const int64_t w = n[2], ow = m[2], turns = (w + p[2] + $S - 1) / $S, rows = m[0] * m[1];
    const int64_t wide = AROUND + (turns > ow ? turns : ow);
    if (w <= 0) return 0;
    $T *const sums = malloc((2 * turns * $S + 2 * rows * wide + 1) * sizeof *sums), *const row = sums + turns * $S;
    $T *const gw = row + turns * $S, *const yw = gw + rows * wide;
    if (!sums) return 1;
    __builtin_memset(row, 0, (turns * $S + 2 * rows * wide) * sizeof *row);
    for (int64_t i = 0; i < rows; i++) {
        $MOVE(gw + i * wide + AROUND, 1, g + i / m[1] * gs[0] + i % m[1] * gs[1], gs[2], ow);
        $MOVE(yw + i * wide + AROUND, 1, y + i / m[1] * ys[0] + i % m[1] * ys[1], ys[2], ow); /*max*/
    }
    for (int64_t z = 0; z < n[0]; z++)
        for (int64_t r = 0; r < n[1]; r++) {
            __builtin_memset(sums, 0, turns * $S * sizeof *sums);
            $MOVE(row + p[2], 1, x + z * xs[0] + r * xs[1], xs[2], w); /*max*/
            for (int64_t u = (z + p[0]) % s[0]; u < k[0]; u += s[0])
                for (int64_t v = (r + p[1]) % s[1]; v < k[1]; v += s[1]) {
                    const int64_t a = (z + p[0] - u) / s[0], b = (r + p[1] - v) / s[1];
                    if (z + p[0] < u || a >= m[0] || r + p[1] < v || b >= m[1]) continue;
                    const $T *restrict ga = gw + (a * m[1] + b) * wide + AROUND;
                    const $T *restrict ya = yw + (a * m[1] + b) * wide + AROUND; /*max*/
                    $SHARES
                }
            $MOVE(out + z * os[0] + r * os[1], os[2], sums + p[2], 1, w);
        }
    free(sums);
    return 0;
}
"""
__all__ = ["call", "functions"]
