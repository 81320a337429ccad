"""C text of pooling and its gradients: a function for each size and stride of windows along rows.

Rows of the image are folded first, whole vectors at a time, then the folded row along itself. Gradients spread a row of
windows to the length of a row of the image once; each row of the image that these windows read then takes its share
from there, along memory. Lengths are those of three dimensions; missing ones are 1. Pure text; may import lower.
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
        "$ARRAYS": "const $T *x, const $T *y, const $T *g, $T *out" if kind == "max_grad" else "const $T *g, $T *out",
        "$STEPS": "const int64_t *xs, const int64_t *ys, const int64_t *gs, const int64_t *os" if kind == "max_grad"
        else "const int64_t *gs, const int64_t *os",
    }  # fmt: skip
    if kind.endswith("grad"):
        body.update(_gradient(kind == "max_grad", k, s))
    lines = text.strip().split("\n")
    keep = [line for line in lines if kind == "max_grad" or not line.endswith("/*max*/")]
    out = "\n".join(line.removesuffix("/*max*/").rstrip() for line in keep)
    for name, piece in body.items():
        out = out.replace(name, piece)
    name = f"tg_pool_{kind}_{short}_{k}_{s}"
    return (
        out.replace("$MOVE", "tg_move_row")
        .replace("$KEPT", f"{name}_kept")
        .replace("$NAME", name)
        .replace("$BITS", f"int{8 * np.dtype(dtype).itemsize}_t")
        .replace("$K", str(k))
        .replace("$S", str(s))
        .replace("$T", CTYPE[dtype])
    )


def _gradient(compared: bool, k: int, s: int) -> dict[str, str]:
    """The pieces of a gradient's text. What sums give does not depend on the row of the window: it is added up once."""
    terms, more = _shares(compared, k, s)
    end = k - (k - 1) // s * s  # how far the last stride of a window goes
    needed = {"G": "ga", "Y": "ya"} if compared else {"G": "ga"}
    spread = [f"$NAME_spread({to} - p[2], {a}, {a[0]}s[2], ow, $S);" for to, a in needed.items() if k >= s or to == "Y"]
    spread += [f"$NAME_spread(L - p[2], ga, gs[2], ow, {end});"] if k % s else []
    pieces = {
        "$SPREAD": f"\n{DEEP[8:]}".join(spread), "$DIRECT": _spread(s).replace("$FROM", "from[q]"),
        "$APART": _spread(s).replace("$FROM", "from[q * step]"), "$EACH": terms, "$MORE": more,
    }  # fmt: skip
    if compared:
        return {**pieces, "$ONCE": ""}
    once = f"$T *const to = apart; for (int64_t j = 0; j < w; j++) to[j] = {terms};"
    return {**pieces, "$ONCE": f"{{ {once} {more} }}", "$EACH": "apart[j]", "$MORE": ""}


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


def _spread(s: int) -> str:
    """Each number of a row once for every element of a stride."""
    if s > MOST_TAPS:
        return f"for (int64_t e = 0; e < {s}; e++) to[q * {s} + e] = e < end ? $FROM : 0;"
    return " ".join([f"to[q * {s} + {e}] = {e} < end ? $FROM : 0;" for e in range(s)])


def _shares(compared: bool, k: int, s: int) -> tuple[str, str]:
    """What an element gets from a row of windows: the text of all terms, and a loop for those that are too many."""
    shifts = (k - 1) // s + 1

    def term(at: str, last: bool) -> str:
        given = f"{'L' if last and k % s else 'G'}[j{at}]"
        return f"$KEPT(from[j] == Y[j{at}], {given})" if compared else given

    few = range(shifts) if shifts <= MOST_TAPS else (0, shifts - 1)
    texts = [term(f" - {i * s}" if i else "", i == shifts - 1) for i in few]
    if shifts <= MOST_TAPS:
        return " + ".join(texts), ""
    more = f"for (int64_t j = 0; j < w; j++) to[j] += {term(f' - c * {s}', False)};"
    return " + ".join(texts), f"for (int64_t c = 1; c < {shifts - 1}; c++) {more}"


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
/* Whether one of m windows lies over an element, which is t behind the begin of the first. */
static inline int $NAME_over(int64_t t, int64_t k, int64_t s, int64_t m)
{
    return m > 0 && t < (m - 1) * s + k && (s <= k || t % s < k);
}

/* The number or zero, without a branch. */
static inline $T $NAME_kept(int yes, $T number)
{
    union { $T number; $BITS bits; } u = {number};
    u.bits &= -($BITS)yes;
    return u.number;
}

/* Each of n numbers for the first `end` elements of a stride; zeros for the others. */
static inline __attribute__((always_inline)) void
$NAME_spread($T *restrict to, const $T *restrict from, int64_t step, int64_t n, int end)
{
    if (step == 1) for (int64_t q = 0; q < n; q++) { $DIRECT }
    else for (int64_t q = 0; q < n; q++) { $APART }
}

/* What the windows of one plane give back to its elements: rows of them, spread to the length of rows of the plane. */
static int $NAME($ARRAYS, $STEPS, const int64_t *n, const int64_t *m, const int64_t *k, const int64_t *s,
                 const int64_t *p)
{
    enum { AROUND = ($K - 1) / $S * $S };
    const int64_t w = n[2], ow = m[2], length = AROUND + (ow * $S > w + p[2] ? ow * $S : w + p[2]);
    if (w <= 0) return 0;
    $T *const line = calloc(3 * length + 2 * w, sizeof *line), *const G = line + AROUND + p[2];
    $T *const L = G + length, *const Y = L + length, *const apart = line + 3 * length, *const sums = apart + w;
    if (!line) return 1;
    for (int64_t z = 0; z < n[0]; z++)
        for (int64_t r = 0; r < n[1]; r++) {
            if ($NAME_over(z + p[0], k[0], s[0], m[0]) && $NAME_over(r + p[1], k[1], s[1], m[1])) continue;
            for (int64_t j = 0; j < w; j++) out[z * os[0] + r * os[1] + j * os[2]] = 0;
        }
    for (int64_t i = 0; i < m[0] * m[1]; i++) {
        const int64_t a = i / m[1], b = i % m[1];
        const $T *const ga = g + a * gs[0] + b * gs[1];
        const $T *const ya = y + a * ys[0] + b * ys[1]; /*max*/
        $SPREAD
        $ONCE
        for (int64_t u = 0; u < k[0]; u++)
            for (int64_t v = 0; v < k[1]; v++) {
                const int64_t z = a * s[0] - p[0] + u, r = b * s[1] - p[1] + v;
                if (z < 0 || z >= n[0] || r < 0 || r >= n[1]) continue;
                const int first = (!a || u + s[0] >= k[0]) && (!b || v + s[1] >= k[1]);
                $T *const row = out + z * os[0] + r * os[1], *const to = os[2] == 1 ? row : sums;
                const $T *from = x + z * xs[0] + r * xs[1]; /*max*/
                if (xs[2] != 1) { /*max*/
                    $MOVE(apart, 1, from, xs[2], w); /*max*/
                    from = apart; /*max*/
                } /*max*/
                if (!first && to != row) $MOVE(to, 1, row, os[2], w);
                if (first) {
                    _Pragma("GCC ivdep")
                    for (int64_t j = 0; j < w; j++) to[j] = $EACH;
                } else {
                    _Pragma("GCC ivdep")
                    for (int64_t j = 0; j < w; j++) to[j] += $EACH;
                }
                $MORE
                if (to != row) $MOVE(row, os[2], to, 1, w);
            }
    }
    free(line);
    return 0;
}
"""
__all__ = ["call", "functions"]
