"""C text of Kummer's confluent hypergeometric function. `terms/ops/confluent.py` says how it goes. Pure text."""

from __future__ import annotations

from termgraph.terms.ops.confluent import CANCELLED, FAR, LARGEST, TERMS

_TWO = """
typedef struct { double high, low; } tg_two; /* a number and what it lacks */
static inline tg_two tg_two_near(double a, double b)
{
    const double total = a + b;
    return (tg_two){total, b - (total - a)};
}
static inline tg_two tg_two_sum(double a, double b)
{
    const double total = a + b, other = total - a;
    return (tg_two){total, (a - (total - other)) + (b - other)};
}
static inline tg_two tg_two_plus(tg_two a, tg_two b)
{
    const tg_two total = tg_two_sum(a.high, b.high);
    return tg_two_near(total.high, total.low + (a.low + b.low));
}
static inline tg_two tg_two_times(tg_two a, tg_two b)
{
    const double made = a.high * b.high, lacks = __builtin_fma(a.high, b.high, -made);
    return tg_two_near(made, lacks + (a.high * b.low + a.low * b.high));
}
static inline tg_two tg_two_over(tg_two a, tg_two b)
{
    const double first = a.high / b.high;
    tg_two rest = tg_two_plus(a, tg_two_times((tg_two){-first, 0}, b));
    const double second = rest.high / b.high;
    rest = tg_two_plus(rest, tg_two_times((tg_two){-second, 0}, b));
    const tg_two total = tg_two_near(first, second);
    return tg_two_near(total.high, total.low + rest.high / b.high);
}
static inline int tg_hyp1f1_ends(int k, double a, double b, double z, double term, double total)
{
    const double ratio = fabs((a + k) / (b + k));
    return term == 0 || (fabs(term) <= 1e-17 * fabs(total) && fabs(z) * (ratio > 1 ? ratio : 1) < 0.5 * (k + 1) &&
                         a + k > 0 && b + k > 0);
}
"""
_ROOM = f"""{_TWO}
static double tg_hyp1f1_plain_f64(double a, double b, double z)
{{
    double term = 1, total = 1, size = 1;
    if (fabs(z) <= {FAR})
        for (int k = 0; k < {TERMS}; k++) {{
            term *= (a + k) * z / ((b + k) * (k + 1));
            total += term;
            size += fabs(term);
            if (tg_hyp1f1_ends(k, a, b, z, term, total))
                return size <= 2 * fabs(total) && size < __builtin_inf() ? total : __builtin_nan("");
        }}
    return __builtin_nan("");
}}
static double tg_hyp1f1_in_two_f64(tg_two a, double b, double z)
{{
    tg_two term = {{1, 0}}, total = {{1, 0}};
    double size = 1;
    if (fabs(z) <= {FAR})
        for (int k = 0; k < {TERMS}; k++) {{
            const tg_two above = tg_two_times(tg_two_times(term, tg_two_plus(a, (tg_two){{k, 0}})), (tg_two){{z, 0}});
            const tg_two below = tg_two_times(tg_two_sum(b, k), (tg_two){{k + 1, 0}});
            term = tg_two_over(above, below);
            total = tg_two_plus(total, term);
            size += fabs(term.high);
            if (tg_hyp1f1_ends(k, a.high, b, z, term.high, total.high) && fabs(term.high) <= 1e-33 * size)
                return size <= {CANCELLED} * fabs(total.high) && size < __builtin_inf() ? total.high
                                                                                       : __builtin_nan("");
        }}
    return __builtin_nan("");
}}
static double tg_hyp1f1_series_f64(double a, double b, double z)
{{
    double found = tg_hyp1f1_plain_f64(a, b, z);
    if (found == found) return found;
    const tg_two same = {{a, 0}}, other = tg_two_sum(b, -a);
    const double scale = exp(z);
    const int turns = b > 0 || b != floor(b), scaled = turns && scale > 1e-290 && scale < 1e290;
    if (z < 0 && turns && other.low == 0) found = scale * tg_hyp1f1_plain_f64(other.high, b, -z);
    if (found == found) return found;
    for (int way = 0; way < 2; way++) {{
        if ((z < 0) == way) found = tg_hyp1f1_in_two_f64(same, b, z);
        else if (scaled) found = scale * tg_hyp1f1_in_two_f64(other, b, -z);
        if (found == found) return found;
    }}
    return found;
}}"""
HYP1F1 = f"""{_ROOM}
static double tg_hyp1f1_f64(double a, double b, double z)
{{
    if (!(fabs(a) <= {LARGEST} && fabs(b) <= {LARGEST} && fabs(z) <= {LARGEST})) return __builtin_nan("");
    const double found = tg_hyp1f1_series_f64(a, b, z);
    return found == found ? found : tg_scipy(TG_NATIVE_special__hyp1f1__ddd_d, a, b, z, 3);
}}"""
HYP1F1_SINGLE = """static float tg_hyp1f1_f32(float a, float b, float z)
{
    return (float)tg_hyp1f1_f64(a, b, z);
}"""
