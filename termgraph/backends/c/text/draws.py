"""C text of draws by rejection: what `terms/ops/draws.py` computes, step by step the same. Pure text.

`tg_apart` keeps a product from becoming one instruction with the sum it goes into: that rounds once, NumPy twice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from termgraph.backends.c.text.random_bits import PLACES
from termgraph.terms.ops import draws
from termgraph.terms.ops.random import MOST_POISSON

_INLINE = "static inline __attribute__((always_inline)) "
_COLD = "static __attribute__((noinline, cold)) "


def _table(name: str, kind: str, values: Sequence[float | int]) -> str:
    texts = [v.hex() if isinstance(v, float) else str(v) for v in values]
    lines = [", ".join(texts[k : k + 6]) for k in range(0, len(texts), 6)]
    return f"static const {kind} {name}[{len(texts)}] = {{\n    " + ",\n    ".join(lines) + "};"


_APART = (
    _INLINE
    + """double tg_apart(double x)
{
#if defined(__x86_64__) && defined(__GNUC__)
    __asm__("" : "+x"(x));
#elif defined(__aarch64__) && defined(__GNUC__)
    __asm__("" : "+w"(x));
#else
    volatile double y = x;
    x = y;
#endif
    return x;
}"""
)
# Random bits of one element: those that were made before, then blocks of its own.
_WORDS = """typedef struct {
    uint64_t key, step, index, other;
    int half, left;
    const uint64_t *ready;
} tg_words;"""
_NEXT = (
    _INLINE
    + """uint64_t tg_next_bits(tg_words *w)
{
    if (w->left) {
        const uint64_t bits = *w->ready;
        w->ready += PLACES, w->left--;
        return bits;
    }
    if (w->half) {
        w->half = 0;
        return w->other;
    }
    const uint64_t first = tg_philox(w->key, w->step, w->index, 0);
    w->other = tg_philox(w->key, w->step, w->index, 1);
    w->key += %#xu;
    w->half = 1;
    return first;
}""".replace("%#xu", f"{draws.FURTHER:#x}u").replace("PLACES", str(PLACES))
)
_UNIT = (
    _INLINE
    + """double tg_next_unit(tg_words *w)
{
    return ((double)(int64_t)(tg_next_bits(w) >> 12) + 0.5) * 0x1p-52;
}"""
)
_EDGE = (
    _COLD
    + """int tg_normal_edge(tg_words *w, int layer, double *x)
{
    const double tail = TAIL;
    if (layer) {
        const double step = tg_normal_density[layer + 1] - tg_normal_density[layer];
        const double reached = tg_normal_density[layer] + tg_apart(tg_next_unit(w) * step);
        return reached < exp(-0.5 * *x * *x);
    }
    for (;;) {
        const double beyond = -log(tg_next_unit(w)) / tail;
        if (-2.0 * log(tg_next_unit(w)) > beyond * beyond) {
            *x = copysign(tail + beyond, *x);
            return 1;
        }
    }
}""".replace("TAIL", draws._TAIL.hex())
)
_NORMAL = (
    _INLINE
    + """double tg_next_normal(tg_words *w)
{
    for (;;) {
        const uint64_t bits = tg_next_bits(w);
        const int layer = (int)(bits & 255);
        const int64_t steps = (int64_t)bits >> 11;
        double x = (double)steps * tg_normal_width[layer];
        if ((steps < 0 ? -steps : steps) < tg_normal_inside[layer]) return tg_apart(x);
        if (tg_normal_edge(w, layer, &x)) return x;
    }
}"""
)


def _drawn(kind: str, name: str, parameters: str, body: str) -> dict[str, str]:
    """A draw of an element, as such and with some of its bits made before."""
    given = re.sub(r"\bdouble ", "", parameters)
    place = f"uint64_t key, uint64_t step, uint64_t index, {parameters}"
    own, made = (
        "{key, step, index, 0, 0, 0, 0}",
        f"{{key + left / 2 * {draws.FURTHER:#x}u, step, index, 0, 0, left, ready}}",
    )
    return {
        f"tg_{name}_draw_of": f"{_INLINE}{kind} tg_{name}_draw_of(tg_words *w, {parameters})\n{{\n{body}}}",
        f"tg_{name}_draw": f"""static {kind} tg_{name}_draw({place})
{{
    tg_words w = {own};
    return tg_{name}_draw_of(&w, {given});
}}""",
        f"tg_{name}_draw_ahead": f"""{_INLINE}{kind} tg_{name}_draw_ahead(const uint64_t *ready, int left, {place})
{{
    tg_words w = {made};
    return tg_{name}_draw_of(&w, {given});
}}""",
    }


_RAISED = (
    _INLINE
    + """double tg_raised_gamma(tg_words *w, double shape)
{
    const double d = (shape < 1 ? shape + 1.0 : shape) - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
    for (;;) {
        const double x = tg_next_normal(w), u = tg_next_unit(w), t = 1.0 + tg_apart(c * x), square = x * x;
        const double v = t * t * t;
        if (t > 0 && (u < 1.0 - 0.0331 * square * square || log(u) < 0.5 * square + d * (1.0 - v + log(v))))
            return tg_apart(d * v);
    }
}"""
)
_GAMMA = _drawn(
    "double",
    "gamma",
    "double shape",
    """    if (!(shape > 0 && shape < __builtin_inf())) return shape == 0 || shape > 0 ? shape : __builtin_nan("");
    const double drawn = tg_raised_gamma(w, shape);
    return shape < 1 ? drawn * pow(tg_next_unit(w), 1.0 / shape) : drawn;
""",
)
_BETA = _drawn(
    "double",
    "beta",
    "double a, double b",
    """    if (!(a > 0 && b > 0 && a < __builtin_inf() && b < __builtin_inf())) return __builtin_nan("");
    const double x = tg_raised_gamma(w, a), y = tg_raised_gamma(w, b);
    if (a >= 1 && b >= 1) return x / (x + y);
    double off = log(y), other = log(x); /* both numbers may be too small */
    if (a < 1) other += tg_apart(log(tg_next_unit(w)) / a);
    if (b < 1) off += tg_apart(log(tg_next_unit(w)) / b);
    off -= other;
    return off < 700 ? 1.0 / (1.0 + exp(off)) : 0.0;
""",
)
_LOG_POISSON = (
    _COLD
    + """double tg_log_poisson(double k, double mean)
{
    if (k < 10) return k * log(mean) - mean - tg_log_factorial[(int)k];
    const double off = k - mean, r = 1.0 / (k * k);
    return k * log1p(-off / k) + off - 0.5 * log(6.283185307179586 * k) -
           (1.0 / 12 - (1.0 / 360 - r / 1260) * r) / k;
}"""
)
_POISSON = _drawn(
    "int64_t",
    "poisson",
    "double mean",
    """    if (!(mean >= 0 && mean < MOST)) return 0; /* an error is on its way */
    if (mean < SEARCHED) {
        const double u = tg_next_unit(w);
        double share = exp(-mean), below = share;
        int k = 0;
        while (k < 200 && u > below) share *= mean / ++k, below += share;
        return k;
    }
    const double b = 0.931 + tg_apart(2.53 * sqrt(mean)), a = -0.059 + tg_apart(0.02483 * b);
    for (;;) {
        const double u = tg_next_unit(w) - 0.5, v = tg_next_unit(w), edge = 0.5 - fabs(u);
        const double k = floor(tg_apart((2.0 * a / edge + b) * u) + mean + 0.43);
        if (edge >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2.0)) return (int64_t)k;
        if (k < 0 || (edge < 0.013 && v > edge)) continue;
        const double scale = 1.1239 + 1.1328 / (b - 3.4);
        if (log(v * scale / (a / (edge * edge) + b)) <= tg_log_poisson(k, mean)) return (int64_t)k;
    }
""".replace("SEARCHED", draws.SEARCHED.hex()).replace("MOST", repr(MOST_POISSON)),
)
_STIRLING_REST = (
    _INLINE
    + """double tg_stirling(double k)
{
    if (k < 10) return tg_stirling_rest[(int)k];
    const double r = 1.0 / ((k + 1.0) * (k + 1.0));
    return (1.0 / 12 - (1.0 / 360 - r / 1260) * r) / (k + 1.0);
}"""
)
_LOG_BINOMIAL = (
    _COLD
    + """double tg_log_binomial(double k, double n, double p)
{
    const double m = floor((n + 1.0) * p), r = p / (1.0 - p), rest = n - m + 1.0;
    return (m + 0.5) * log((m + 1.0) / (r * rest)) + tg_stirling(m) + tg_stirling(n - m) +
           (n + 1.0) * log(rest / (n - k + 1.0)) + (k + 0.5) * log(r * (n - k + 1.0) / (k + 1.0)) -
           tg_stirling(k) - tg_stirling(n - k);
}"""
)
_BINOMIAL = _drawn(
    "int64_t",
    "binomial",
    "double n, double p",
    """    const double s = p < 1.0 - p ? p : 1.0 - p; /* the rarer of the two outcomes is counted */
    double k = 0;
    if (!(n >= 0 && n < MOST && s >= 0)) return 0; /* an error is on its way */
    if (n * s < SEARCHED) {
        const double u = tg_next_unit(w), odds = s / (1.0 - s);
        double share = exp(n * log1p(-s)), below = share;
        while (k < 200 && k < n && u > below) {
            k++;
            share *= odds * (n - k + 1.0) / k, below += share;
        }
        return (int64_t)(p > 0.5 ? n - k : k);
    }
    const double spread = sqrt(n * s * (1.0 - s)), b = 1.15 + tg_apart(2.53 * spread);
    const double a = -0.0873 + tg_apart(0.0248 * b) + tg_apart(0.01 * s), centre = tg_apart(n * s) + 0.5;
    for (;;) {
        const double u = tg_next_unit(w) - 0.5, v = tg_next_unit(w), edge = 0.5 - fabs(u);
        k = floor(tg_apart((2.0 * a / edge + b) * u) + centre);
        if (edge >= 0.07 && v <= 0.92 - 4.2 / b) break;
        if (k < 0 || k > n) continue;
        if (log(v * ((2.83 + 5.1 / b) * spread) / (a / (edge * edge) + b)) <= tg_log_binomial(k, n, s)) break;
    }
    return (int64_t)(p > 0.5 ? n - k : k);
""".replace("SEARCHED", draws.SEARCHED.hex()).replace("MOST", repr(MOST_POISSON)),
)


def functions(_: str) -> dict[str, str]:
    """The helpers by name."""
    return {
        "tg_apart": _APART,
        "tg_words": _WORDS,
        "tg_next_bits": _NEXT,
        "tg_next_unit": _UNIT,
        "tg_normal_width": _table("tg_normal_width", "double", draws.WIDTH),
        "tg_normal_inside": _table("tg_normal_inside", "int64_t", draws.INSIDE),
        "tg_normal_density": _table("tg_normal_density", "double", draws.DENSITY),
        "tg_normal_edge": _EDGE,
        "tg_next_normal": _NORMAL,
        "tg_raised_gamma": _RAISED,
        **_GAMMA,
        **_BETA,
        "tg_log_factorial": _table("tg_log_factorial", "double", draws.LOG_FACTORIAL),
        "tg_stirling_rest": _table("tg_stirling_rest", "double", draws.STIRLING),
        "tg_stirling": _STIRLING_REST,
        "tg_log_poisson": _LOG_POISSON,
        "tg_log_binomial": _LOG_BINOMIAL,
        **_POISSON,
        **_BINOMIAL,
    }
