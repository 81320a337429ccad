"""C text of convolutions and pooling in plain loops, which need no memory and so cannot fail.

A program that has begun to write new values over old ones calls them where a routine finds no room. Pure text.
"""

from __future__ import annotations

import re

import numpy as np

from termgraph._lazy import pattern
from termgraph.backends.c.text.dialect import CTYPE, SHORT, filled
from termgraph.terms.dtypes import lowest

DTYPES = {short: dtype for dtype, short in SHORT.items() if dtype not in ("float16", "bfloat16")}
CALLED = pattern(r"\btg_(conv|pool)_surely_(\w+?)_([a-z]\d+)(_\d+_\d+)?\(")
GIVEN = pattern(r"(\w+)(?=,|\Z)")
ARRAYS = {"max": "xy", "sum": "xy", "max_grad": "xygo", "sum_grad": "go"}  # image `x` or `o`, windows `y` or `g`


def surely(call: str) -> str:
    """The call of a convolution or of pooling that does it in plain loops if there is no memory."""
    return call.replace("_", "#", 1).replace("_", "_surely_", 1).replace("#", "_", 1)


def functions(source: str) -> str:
    """The functions of this kind that a source calls."""
    found = sorted(set(CALLED.findall(source)))
    parts: dict[str, str] = {}
    for kind, which, short, sizes in found:
        of = "forward" if which.startswith("winograd") else which  # what computes the same
        if kind == "conv":
            parts[f"products {short}"] = _typed(PRODUCTS, short)
        text = _typed(CONVOLUTIONS[of] if kind == "conv" else _pooling(of, DTYPES[short]), short)
        parts[f"{kind} {of} {short}"] = text
        parameters = text[text.index("(", text.index(f"tg_{kind}_plain")) + 1 : text.index(")\n{")]
        names = {"$CALLED": f"tg_{kind}_{which}_{short}{sizes}", "$PLAIN": f"tg_{kind}_plain_{of}_{short}"}
        names |= {"$NAME": f"tg_{kind}_surely_{which}_{short}{sizes}", "$PARAMETERS": " ".join(parameters.split())}
        names["$GIVEN"] = ", ".join(GIVEN.findall(names["$PARAMETERS"]))
        parts[names["$NAME"]] = filled(SURELY, names).strip()
    return "\n".join([SPARING.strip(), *parts.values()]) if parts else ""


def _typed(text: str, short: str) -> str:
    return text.strip().replace("$T", CTYPE[DTYPES[short]]).replace("$N", short)


def least(dtype: str) -> str:
    """The constant below or equal to all numbers."""
    if dtype[0] == "f":
        return "-__builtin_inff()" if dtype == "float32" else "-__builtin_inf()"
    return "(-9223372036854775807 - 1)" if dtype == "int64" else f"{lowest(np.dtype(dtype))}"


def _pooling(kind: str, dtype: str) -> str:
    names, result = ARRAYS[kind], ARRAYS[kind][-1]
    nan = " || X != X" if dtype[0] == "f" else ""
    body = {
        "max": f"if (X > Y{nan}) Y = X;", "sum": "Y += X;", "max_grad": "if (X == Y) O += G;", "sum_grad": "O += G;",
    }[kind]  # fmt: skip
    over = "m" if result == "y" else "n"
    pieces = {
        "$ARRAYS": ", ".join(f"{'' if a == result else 'const '}$T *{a}" for a in names),
        "$STEPS": ", ".join(f"const int64_t *{a}s" for a in names),
        "$FIRST": least(dtype) if kind == "max" else "0", "$OVER": over, "$R": result, "$WHICH": kind,
        "$NEXT": ", ".join(f"{a} += next[{k}]" for k, a in enumerate(names)),
        "$IMAGES": "\n".join(_element(a, "i") for a in names if a in "xo"),
        "$WINDOWS": "\n".join(_element(a, "j") for a in names if a in "yg"),
        "$BODY": re.sub(r"\b([XYGO])\b", lambda m: f"*{m[1].lower()}_at", body),
    }  # fmt: skip
    return filled(POOLING, pieces)


def _element(a: str, at: str) -> str:
    """Where the element of an array is that the three numbers `at` name."""
    kept = "" if a in "oy" else "const "
    place = " + ".join(f"{at}[{d}] * {a}s[{d}]" for d in range(3))
    return f"{' ' * 16}{kept}$T *const {a}_at = {a} + {place};"


SURELY = """
static void $NAME($PARAMETERS)
{
    if ($CALLED($GIVEN)) $PLAIN($GIVEN);
}
"""
SPARING = """
#ifndef TG_SPARING
#if defined(__GNUC__) && !defined(__clang__) /* rarely called: small text */
#define TG_SPARING static __attribute__((noinline, cold, unused, optimize("Os")))
#else
#define TG_SPARING static __attribute__((noinline, cold, unused))
#endif
#endif
"""
PRODUCTS = """
/* All products of a convolution, each added where it belongs: to the result, or to one of the gradients. */
TG_SPARING void tg_conv_products_plain_$N(const tg_conv_shape *q, $T *to, const $T *a, const $T *b,
                                          const int64_t *ts, const int64_t *as, const int64_t *bs, int64_t size,
                                          const int *which)
{
    const int64_t c = q->c / q->groups, f = q->f / q->groups, taps = c * q->k[0] * q->k[1] * q->k[2];
    const int64_t places = q->out[0] * q->out[1] * q->out[2];
    for (int64_t i = 0; i < size; i++) to[i] = 0;
    for (int64_t j = 0; j < q->n * q->f * places; j++)
        for (int64_t t = 0; t < taps; t++) {
            const int64_t filter = j / places % q->f, each = t / q->k[2] / q->k[1] / q->k[0];
            const int64_t o[3] = {j / q->out[2] / q->out[1] % q->out[0], j / q->out[2] % q->out[1], j % q->out[2]};
            const int64_t k[3] = {t / q->k[2] / q->k[1] % q->k[0], t / q->k[2] % q->k[1], t % q->k[2]};
            /* elements of images, filters and results */
            const int64_t image = j / places / q->f;
            int64_t at[3][5] = {{image, filter / f * c + each}, {filter, each}, {image, filter}};
            int inside = 1;
            for (int d = 0; d < 3; d++) {
                at[0][d + 2] = o[d] * q->s[d] - q->before[d] + k[d] * q->e[d], at[1][d + 2] = k[d], at[2][d + 2] = o[d];
                inside &= at[0][d + 2] >= 0 && at[0][d + 2] < q->in[d];
            }
            int64_t x = 0, y = 0, z = 0;
            for (int d = 0; d < 5; d++)
                x += at[which[0]][d] * ts[d], y += at[which[1]][d] * as[d], z += at[which[2]][d] * bs[d];
            if (inside) to[x] += a[y] * b[z];
        }
}
"""
IMAGES = """
TG_SPARING void tg_conv_plain_$WAY_$N(tg_conv_shape q, const $T *a, const int64_t *as, const $T *b,
                                         const int64_t *bs, $T *y, tg_conv_after after)
{
    const int64_t size = q.$LENGTHS[0] * q.$LENGTHS[1] * q.$LENGTHS[2];
    const int64_t ys[5] = {q.$CHANNELS * size, size, q.$LENGTHS[1] * q.$LENGTHS[2], q.$LENGTHS[2], 1};
    tg_conv_products_plain_$N(&q, y, a, b, ys, as, bs, q.n * q.$CHANNELS * size, (const int[3]){$OPERANDS});
    if (after.kernel) *after.at = after.row, after.kernel(after.context, 0, q.n * after.items, 0);
}
"""


def _images(way: str, lengths: str, channels: str, operands: str) -> str:
    """A result that lies image by image: of images and filters, or of filters and cotangents."""
    pieces = {"$WAY": way, "$LENGTHS": lengths, "$CHANNELS": channels, "$OPERANDS": operands}
    return filled(IMAGES, pieces)


CONVOLUTIONS = {
    "forward": _images("forward", "out", "f", "2, 0, 1"),
    "spread": _images("spread", "in", "c", "0, 1, 2"),
    "taps": """
TG_SPARING void tg_conv_plain_taps_$N(tg_conv_shape q, const $T *x, const int64_t *xs, const $T *g,
                                      const int64_t *gs, $T *y)
{
    const int64_t size = q.k[0] * q.k[1] * q.k[2], c = q.c / q.groups;
    const int64_t ys[5] = {c * size, size, q.k[1] * q.k[2], q.k[2], 1};
    tg_conv_products_plain_$N(&q, y, x, g, ys, xs, gs, q.f * c * size, (const int[3]){1, 0, 2});
}
""",
}
POOLING = """
TG_SPARING void tg_pool_plain_$WHICH_$N(int64_t count, const int64_t *next, $ARRAYS, $STEPS, const int64_t *n,
                                      const int64_t *m, const int64_t *k, const int64_t *s, const int64_t *p)
{
    for (int64_t plane = 0; plane < count; plane++, $NEXT) {
        for (int64_t e = 0, *const l = (int64_t[3]){$OVER[0], $OVER[1], $OVER[2]}; e < l[0] * l[1] * l[2]; e++)
            $R[e / l[2] / l[1] * $Rs[0] + e / l[2] % l[1] * $Rs[1] + e % l[2] * $Rs[2]] = $FIRST;
        for (int64_t e = 0; e < m[0] * m[1] * m[2]; e++)
            for (int64_t t = 0; t < k[0] * k[1] * k[2]; t++) {
                const int64_t j[3] = {e / m[2] / m[1], e / m[2] % m[1], e % m[2]};
                const int64_t u[3] = {t / k[2] / k[1], t / k[2] % k[1], t % k[2]};
                int64_t i[3], inside = 1;
                for (int d = 0; d < 3; d++) {
                    i[d] = j[d] * s[d] - p[d] + u[d];
                    inside &= i[d] >= 0 && i[d] < n[d];
                }
                if (!inside) continue;
$IMAGES
$WINDOWS
                $BODY
            }
    }
}
"""
