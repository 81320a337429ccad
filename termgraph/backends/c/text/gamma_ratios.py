"""C text of quotients and products of gamma functions, as vector code inside loops. Pure text.

By Stirling's formula for the numbers themselves or, where these are below 6, for those 6 farther on: the exponent is
a sum of two numbers, and so is what it is made of, since an exponent of 700 has ten bits less than a number has. Where
one number is large beside the other the formula has the logarithm of their quotient, near 1. Left of 0 by reflection;
a gamma function that is infinite there leaves a zero as a factor. `scripts/ulps.py` compares with mpmath.
"""

from __future__ import annotations

from termgraph.backends.c.text.gammas import of

_SUM = """double tg_ratio_sum(double a, double b, double *low) /* a + b, and what the sum has lost */
{
    const double sum = a + b, part = sum - a;
    *low = (a - (sum - part)) + (b - part);
    return sum;
}"""
_UP = """double tg_ratio_up(double x, double *low) /* x, or x + 6 below 6; its low part grows by what is lost */
{
    const double up = x < 6 ? x + 6 : x;
    *low += x < 6 ? x - (up - 6) : 0;
    return up;
}"""
# gamma(x) is gamma(x + 6) over x (x + 1) ... (x + 5), of which the first and the last, and so on, make three factors.
_STEPS = """double tg_ratio_steps(double x, double *low)
{
    double last_low, y_low, four_low, six_low;
    const double last = tg_ratio_sum(5, x, &last_low), y = tg_ratio_times(x, 0, last, last_low, &y_low);
    const double four = tg_ratio_sum(4, y, &four_low), six = tg_ratio_sum(6, y, &six_low);
    double both_low, all_low;
    const double both = tg_ratio_times(y, y_low, four, four_low + y_low, &both_low);
    const double all = tg_ratio_times(both, both_low, six, six_low + y_low, &all_low);
    *low = x < 6 ? all_low : 0;
    return x < 6 ? all : 1;
}"""
_TIMES = """double tg_ratio_times(double a, double a_low, double b, double b_low, double *low)
{
    const double product = a * b;
    *low = tg_own_fma_f64(a, b, -product) + (a * b_low + a_low * b);
    return product;
}"""
_OVER = """double tg_ratio_over(double a, double a_low, double b, double b_low)
{
    const double inverse = 1 / b, quotient = a * inverse;
    const double lost = tg_own_fma_f64(-quotient, b, a) + (a_low - quotient * b_low);
    const double right = tg_own_fma_f64(lost, inverse, quotient);
    return fabs(inverse) + fabs(quotient) < __builtin_inf() ? right : quotient;
}"""
_STIRLING = f"""double tg_ratio_lacks(double v) /* of Stirling's formula at 1 / v */
{{
    return v * {of("gammaln_far", "v * v")};
}}"""
_SINE = f"""double tg_ratio_sine(double d, double whole) /* sin(pi (whole + d)) / pi */
{{
    const double sine = d * {of("sine", "d * d")}, half = 0.5 * whole;
    return half == rint(half) ? sine : -sine;
}}"""
# Where the exponent is large its half is taken, and the exponential is a factor twice: it alone may be no number.
_POWER = """double tg_ratio_exp(double high, double low, double *again)
{
    const double all = high + low, rest = low - (all - high), least = all > -1400 ? all : -1400;
    const double part = fabs(all) > 690 ? 0.5 : 1, e = exp(part * (least < 1400 ? least : 1400));
    const double right = tg_own_fma_f64(e, part * rest, e);
    *again = fabs(all) > 690 ? right : 1;
    return right;
}"""

# B(p, q) of p >= q > 0, with P and Q what is at least 6 and C = P + D for p + q, is sqrt(2 pi / Q) exp(E) with
# E = D log(Q / C) - (P - 1/2) log(C / P), times (Q / e)^(Q - D), where Q - D is 0, 6 or 12.
# Of a <= 0, c = a + b: 1 / (sin(pi a) / pi b B(1 - a, c)) where c > 0, sin(pi c) / sin(pi a) B(b, 1 - c) where b > 0.
_BETA = """double tg_beta_f64(double a, double b)
{
    const double most = a > b ? a : b, least = a > b ? b : a;
    double c_low, least_low, most_low, beyond_low;
    const double c = tg_ratio_sum(a, b, &c_low), from_least = tg_ratio_sum(1, -least, &least_low);
    const double from_most = tg_ratio_sum(1, -most, &most_low), beyond = tg_ratio_sum(1, -c, &beyond_low);
    const _Bool right = least > 0, over = !right & (c > 0), under = !right & (most <= 0), turned = over | under;
    const _Bool between = !right & !over & !under;
    const double s = right | between ? most : over ? from_least : from_most;
    const double s_low = right | between ? 0 : over ? least_low : most_low;
    const double t = right ? least : over ? c : under ? from_least : beyond;
    const double t_low = right ? 0 : over ? c_low : under ? least_low : beyond_low - c_low;
    const _Bool ordered = s >= t;
    const double p = ordered ? s : t, given = ordered ? t : s, q = given < 0x1p900 ? given : 0x1p900;
    double p_low = ordered ? s_low : t_low, q_low = ordered ? t_low : s_low, by_low, small_low;
    const double sum = p + q, P = tg_ratio_up(p, &p_low), Q = tg_ratio_up(q, &q_low);
    const double lift = (p < 6 ? 6 : 0) + (q < 6 ? 6 : 0) - (sum < 6 ? 6 : 0), D = Q - lift;
    const double C = P + D, C_low = D - (C - P), v = 1 / P, w = 1 / Q, x = 1 / C;
    const double d = D * v, by = 1 + d, small = Q * x;
    const double by_high = tg_log_parts_f64(by, 0, &by_low), small_high = tg_log_parts_f64(small, 0, &small_low);
    by_low += (1 - by + d + tg_own_fma_f64(-d, P, D) * v) * (P * x);
    small_low += (tg_own_fma_f64(-small, C, Q) - small * C_low) * x * (C * w);
    const double A = P - 0.5, first = A * by_high, second = D * small_high;
    double low, lost;
    const double difference = tg_ratio_sum(second, -first, &low), high = tg_ratio_sum(difference, -lift, &lost);
    low += lost + tg_own_fma_f64(D, small_high, -second) + D * small_low;
    low -= tg_own_fma_f64(A, by_high, -first) + A * by_low;
    low += tg_ratio_lacks(v) + tg_ratio_lacks(w) - tg_ratio_lacks(x) + small_high * q_low - by_high * p_low;
    double again;
    const double e = tg_ratio_exp(turned ? -high : high, turned ? -low : low, &again);
    double q2_low, q4_low, q6_low, q12_low, top_low, bottom_low, sum_low, p_steps_low, q_steps_low, scaled_low;
    const double q2 = tg_ratio_times(Q, 0, Q, 0, &q2_low), q4 = tg_ratio_times(q2, q2_low, q2, q2_low, &q4_low);
    const double q6 = tg_ratio_times(q4, q4_low, q2, q2_low, &q6_low);
    const double q12 = tg_ratio_times(q6, q6_low, q6, q6_low, &q12_low);
    double raised = lift > 0 ? q6 : 1, raised_low = lift > 0 ? q6_low : 0;
    raised = lift > 6 ? q12 : raised, raised_low = lift > 6 ? q12_low : raised_low;
    const double near = p < 0x1p-400 ? 0x1p1020 : 1, root = sqrt(6.283185307179586 * w); /* both may be next to 0 */
    const double sum_steps = near * tg_ratio_steps(sum, &sum_low);
    const double most_top = tg_ratio_times(raised, raised_low, sum_steps, near * sum_low, &top_low);
    const double top = tg_ratio_times(most_top, top_low, root, 0, &top_low);
    const double p_steps = near * tg_ratio_steps(p, &p_steps_low), q_steps = tg_ratio_steps(q, &q_steps_low);
    const double bottom = tg_ratio_times(p_steps, near * p_steps_low, q_steps, q_steps_low, &bottom_low);
    const double scaled = tg_ratio_times(turned ? bottom : top, turned ? bottom_low : top_low, e, 0, &scaled_low);
    const double positive = tg_ratio_over(scaled, scaled_low, turned ? top : bottom, turned ? top_low : bottom_low);
    const double whole = rint(least), other = rint(most), both = rint(c);
    const double at = least - whole, at_most = most - other, at_c = c - both + c_low;
    const _Bool poles = (at == 0) & (at_c == 0);
    const double sine = tg_ratio_sine(poles ? 0.25 : at, whole), sine_c = tg_ratio_sine(poles ? 0.25 : at_c, both);
    const double sine_most = tg_ratio_sine(at_most, other);
    const double above = right | over ? 1 : sine_c, left = under ? sine_most * beyond : over ? most : 1;
    const double below = right ? 1 : sine * left;
    const double found = above * positive / below * again;
    const _Bool whole_least = (least == whole) & (least <= 0), whole_most = (most == other) & (most <= 0);
    const _Bool pole = whole_least & (!poles | !between | (least < -0x1p31)), odd = 0.5 * b != rint(0.5 * b);
    const double sign = whole_least & whole_most & odd & (least > -0x1p31) ? -1 : 1; /* as SciPy */
    const double end = least > 0 ? 0 : copysign(__builtin_inf(), sine);
    double out = given > 0x1p900 ? 0 : found; /* one choice a line: gcc makes vectors of no more in one */
    out = (most == __builtin_inf()) & (least > -__builtin_inf()) ? end : out;
    out = (at_c == 0) & (c <= 0) & (sine != 0) & !poles ? copysign(0, below) : out; /* as gamma(c) is infinite */
    out = (a != a) | (b != b) ? __builtin_nan("") : out;
    return pole | whole_most ? copysign(__builtin_inf(), sign) : out;
}"""
# gamma(z + m) / gamma(z), by (gamma(p) / gamma(q))^(+-1) or, where 0 lies between, (gamma(p) gamma(q))^(+-1) of
# p >= q > 0. With P and Q what is at least 6 and D = P - Q the exponent is (Q - 1/2) log(P / Q) + D (log(P) - 1) or
# (Q - 1/2) log(P Q) + D (log(P) - 1) - 2 Q. Whole numbers are exact as far as these digits reach.
_POCH = """double tg_poch_f64(double given, double m)
{
    const _Bool down = (m < 0) & (m == rint(m)) & (fabs(given) < 0x1p-200); /* as from 0: 1 / ((z-1) ... (z+m)) */
    const double z = down ? 0 : given;
    double x_low, u_low, v_low, log_low, p_log_low, D_low, P_low, low, lost;
    const double x = tg_ratio_sum(z, m, &x_low);
    const double from_x = tg_ratio_sum(1, -x, &u_low), from_z = tg_ratio_sum(1, -z, &v_low);
    const _Bool x_left = x <= 0, z_left = z <= 0, apart = x_left != z_left;
    const double u = x_left ? from_x : x, v = z_left ? from_z : z;
    u_low = x_left ? u_low - x_low : x_low, v_low = z_left ? v_low : 0;
    const _Bool ordered = (apart & (u >= v)) | (!apart & ((m >= 0) ^ x_left)); /* also where x is z, rounded */
    const double p = ordered ? u : v, q = ordered ? v : u;
    double p_low = ordered ? u_low : v_low, q_low = ordered ? v_low : u_low;
    const double Q = tg_ratio_up(q, &q_low), far = tg_ratio_up(p, &p_low), step = (p < 6 ? 6 : 0) - (q < 6 ? 6 : 0);
    const double D = tg_ratio_sum(apart ? far : fabs(m), apart ? -Q : step, &D_low), P = tg_ratio_sum(Q, D, &P_low);
    const double w = 1 / Q, y = 1 / P, d = D * w, by = 1 + d;
    const double by_low = (d > 1 ? d - by + 1 : 1 - by + d) + tg_own_fma_f64(-d, Q, D) * w;
    const double product = P * Q, of = apart ? product : by;
    const double high = tg_log_parts_f64(of, 0, &log_low), p_high = tg_log_parts_f64(P, 0, &p_log_low);
    log_low += apart ? (tg_own_fma_f64(P, Q, -product) + P_low * Q) * (w * y) : by_low * (Q * y);
    p_log_low += P_low * y;
    const double A = Q - 0.5, less = p_high - 1, less_low = p_high - less - 1 + p_log_low;
    const double first = A * high, second = D * less, sum = tg_ratio_sum(first, second, &low);
    const double exponent = tg_ratio_sum(sum, apart ? -2 * Q : 0, &lost);
    low += lost + tg_own_fma_f64(A, high, -first) + A * log_low + tg_own_fma_f64(D, less, -second) + D * less_low;
    const double lacks = tg_ratio_lacks(w);
    low += tg_ratio_lacks(y) + (apart ? lacks : -lacks);
    low += (apart ? D_low + p_low : D_low) * (p_high - 0.5 * y) + (apart ? high - p_high : high) * q_low;
    const _Bool turned = x_left & apart | !apart & !(x_left ^ ordered);
    double again;
    const double e = tg_ratio_exp(turned ? -exponent : exponent, turned ? -low : low, &again);
    double p_steps_low, q_steps_low, both_low, scaled_low;
    const double p_steps = tg_ratio_steps(p, &p_steps_low), q_steps = tg_ratio_steps(q, &q_steps_low);
    const double both = tg_ratio_times(p_steps, p_steps_low, q_steps, q_steps_low, &both_low);
    const double top = apart ? 6.283185307179586 : q_steps, top_low = apart ? 2.4492935982947064e-16 : q_steps_low;
    const double bottom = apart ? both : p_steps, bottom_low = apart ? both_low : p_steps_low;
    const double scaled = tg_ratio_times(turned ? bottom : top, turned ? bottom_low : top_low, e, 0, &scaled_low);
    const double positive = tg_ratio_over(scaled, scaled_low, turned ? top : bottom, turned ? top_low : bottom_low);
    const double x_whole = rint(x), z_whole = rint(z), whole_m = rint(m), half_m = 0.5 * whole_m;
    const _Bool steps = x_left & z_left & (m == whole_m); /* both may be poles: the quotient of the sines is a sign */
    const double sign = half_m == rint(half_m) ? 1 : -1;
    const double x_sine = steps ? 1 : tg_ratio_sine(x - x_whole + x_low, x_whole);
    const double z_sine = steps ? sign : tg_ratio_sine(z - z_whole, z_whole);
    const double above = z_left ? z_sine : 1, below = x_left ? x_sine : 1, found = above * positive / below * again;
    const _Bool rounded = (z == z_whole) & (m == whole_m) & (m >= 0) & (fabs(found) < 0x1p48);
    const _Bool x_pole = (x == x_whole) & x_left & (x > -1e13), z_pole = (z == z_whole) & z_left & (z > -1e13);
    const double most = m > 0 ? copysign(__builtin_inf(), above) : __builtin_nan("");
    const double power = copysign(m > 0 ? __builtin_inf() : 0, z > 0 ? 1 : sign);
    double out = rounded ? rint(found) : found; /* one choice a line: gcc makes vectors of no more in one */
    out = fabs(z) == __builtin_inf() ? power : out;
    out = fabs(m) > 0x1p900 ? most : out;
    out = x_pole & !z_pole & (x_low == 0) ? __builtin_inf() : out;
    out = (z != z) | (m != m) ? __builtin_nan("") : out;
    out = z_pole & !x_pole ? 0 : out;
    return m == 0 ? 1 : out;
}"""


def functions(inline: str) -> dict[str, str]:
    """The helpers by name, for both widths."""
    texts = {"ratio_sum": _SUM, "ratio_times": _TIMES, "ratio_over": _OVER, "ratio_exp": _POWER, "ratio_sine": _SINE}
    texts |= {"ratio_up": _UP, "ratio_steps": _STEPS, "ratio_lacks": _STIRLING, "beta_f64": _BETA, "poch_f64": _POCH}
    out = {f"tg_{name}": inline + text for name, text in texts.items()}
    for name in ("beta", "poch"):
        single = f"float tg_{name}_f32(float a, float b) {{ return (float)tg_{name}_f64(a, b); }}"
        out[f"tg_{name}_f32"] = inline + single
    return out
