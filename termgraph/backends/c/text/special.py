"""C text of the special functions that libm lacks: inverse error functions, scaled erfc, digamma. Pure text.

Those that are written out are computed in double, to about 1e-14 of the value. The constants are Taylor and Bernoulli
numbers, worked out with mpmath; each function says how it gets from them to full precision.
"""

from __future__ import annotations

# Coefficients of (x - root)^k, k = 1, 2, ..., of digamma at its positive root.
_AT_ROOT = (
    "0.9676722454476212, -0.4427631689835921, 0.258499760955651, -0.16394270544240652, 0.10782405069126237, "
    "-0.07219956125645471, 0.04880428816414311, -0.03316112647484736, 0.022597648232218104, -0.01542476590494896, "
    "0.010538791616612175, -0.007204534386356869, 0.004926781395729853, -0.003369801655439328, 0.002305126326734928, "
    "-0.0015769367714301972, 0.0010788252019162967, -0.0007380709389960052, 0.000504953265834602, "
    "-0.0003454680251063077, 0.00023635601564027053, -0.00016170622091974803, 0.0001106337276874741, "
    "-7.569179582195066e-05"
)
_DIGAMMA = f"""static double tg_digamma_f64(double x)
{{
    static const double at_root[] = {{{_AT_ROOT}}};
    const double pi = 3.14159265358979323846;
    double below = 0;
    if (x != x || x == __builtin_inf()) return x;
    if (x == 0) return copysign(__builtin_inf(), -x);
    if (x < 0) {{ /* psi(x) = psi(1 - x) - pi / tan(pi x), of which only the fraction of x matters */
        double r = x - rint(x);
        if (r == 0) return __builtin_nan("");
        below = fabs(r) == 0.5 ? 0 : -pi / tan(pi * r);
        x = 1 - x;
    }}
    if (fabs(x - 1.4616321449683622) < 0.3) {{ /* near the root other ways lose all digits */
        double h = (x - 1.4616321449683622) - 9.549995429965697e-17, sum = 0;
        for (int k = 23; k >= 0; k--) sum = (sum + at_root[k]) * h;
        return below + sum;
    }}
    for (; x < 12; x++) below -= 1 / x;
    double w = 1 / (x * x);
    double tail = w * (1. / 12 - w * (1. / 120 - w * (1. / 252 - w * (1. / 240 - w * (1. / 132 - w * (691. / 32760 -
                  w * (1. / 12)))))));
    return below + (log(x) - 0.5 / x - tail);
}}"""
# Halley's steps from the first terms of a series; each triples the number of right digits.
_ERFINV = """static double tg_erfinv_f64(double x)
{
    const double slope = 1.1283791670955125739; /* 2 / sqrt(pi) */
    double a = fabs(x), y, q = 1 - a;
    if (!(a < 1)) return a == 1 ? copysign(__builtin_inf(), x) : __builtin_nan("");
    if (a <= 0.5) {
        double s = x * x;
        y = x * (0.88622692545275801 + s * (0.23201366653465449 + s * (0.12755617530559796 + s * 0.08655212924154752)));
        for (int k = 0; k < 2; k++) {
            double wrong = erf(y) - x;
            y -= wrong / (slope * exp(-y * y) + y * wrong);
        }
        return y + 0.0; /* as SciPy, which has no -0 here */
    }
    return copysign(tg_erfc_inverse_f64(q), x);
}"""
_ERFC_INVERSE = """static double tg_erfc_inverse_f64(double q)
{
    const double slope = 1.1283791670955125739;
    if (q < 1e-290) { /* erfc is too small to be compared: log(erfc) is, by its first terms */
        double goal = -log(q * 1.7724538509055160273), y = sqrt(goal);
        for (int k = 0; k < 8; k++) {
            double s = 1 / (2 * y * y);
            y = sqrt(goal - log(y) + log1p(-s * (1 - 3 * s * (1 - 5 * s * (1 - 7 * s)))));
        }
        return y;
    }
    double y = sqrt(-log(q * (2 - q))); /* right to a tenth or so */
    for (int k = 0; k < 5; k++) {
        double wrong = erfc(y) - q, step = wrong / (slope * exp(-y * y) - y * wrong);
        y += step;
        if (fabs(step) < 1e-7 * y) break;
    }
    return y;
}"""
_ERFCINV = """static double tg_erfcinv_f64(double q)
{
    if (!(q > 0 && q < 2)) return q == 0 ? __builtin_inf() : q == 2 ? -__builtin_inf() : __builtin_nan("");
    if (q < 0.5) return tg_erfc_inverse_f64(q);
    return q > 1.5 ? -tg_erfc_inverse_f64(2 - q) : -tg_erfinv_f64(q - 1);
}"""
_ERFCX = """static double tg_erfcx_f64(double x)
{
    if (x < 10) {
        if (x < -26.7) return __builtin_inf();
        double high = (double)(float)x, low = x - high; /* x^2 without the error of squaring */
        double scale = exp(high * high) * exp((x + high) * low);
        return scale * erfc(x);
    }
    if (x > 1e150) return 0.56418958354775628695 / x;
    double s = 0.5 / (x * x), sum = 1;
    for (int k = 12; k > 0; k--) sum = 1 - (2 * k - 1) * s * sum;
    return 0.56418958354775628695 / x * sum;
}"""

# Functions that SciPy has: its own compiled loops are called with one element, so the digits are those of SciPy.
_CALL = """static double tg_scipy(int native, double a, double b, double c, int count)
{
    double out;
    char *args[] = {(char *)&a, (char *)&b, (char *)&c, (char *)&out};
    const int64_t one = 1, steps[4] = {0};
    args[count] = (char *)&out;
    ((tg_loop)tg_native[native])(args, &one, steps, tg_native[native + 1]);
    return out;
}"""
_POLYGAMMA = """static double tg_polygamma_f64(double n, double x)
{
    if (n == 0) return tg_scipy(TG_NATIVE_special__psi__d_d, x, 0, 0, 1);
    return pow(-1, n + 1) * tg_scipy(TG_NATIVE_special__gamma__d_d, n + 1, 0, 0, 1) *
           tg_scipy(TG_NATIVE_ufuncs___zeta__dd_d, n + 1, x, 0, 2);
}"""
_POLYGAMMA_F32 = """static float tg_polygamma_f32(float n, float x)
{
    if (n == 0) return (float)tg_polygamma_f64(n, x);
    return (float)pow(-1, n + 1) * (float)tg_scipy(TG_NATIVE_special__gamma__d_d, n + 1, 0, 0, 1) *
           (float)tg_scipy(TG_NATIVE_ufuncs___zeta__dd_d, n + 1, x, 0, 2); /* as SciPy: either may overflow */
}"""
# Functions of two or three numbers that need nothing but the call; each is computed in double.
_CALLED = {"jv": 2, "iv": 2, "gammainc": 2, "gammaincc": 2, "betainc": 3}


def _called(name: str, count: int) -> dict[str, str]:
    """The text of a function that is a call of SciPy's loop, for both widths."""
    native, args = (
        f"TG_NATIVE_special__{name}__{'d' * count}_d",
        ", ".join(["a", "b", "c"][:count] + ["0"] * (3 - count)),
    )
    takes, given = ", ".join(f"double {x}" for x in "abc"[:count]), ", ".join("abc"[:count])
    wide = f"static double tg_{name}_f64({takes})\n{{\n    return tg_scipy({native}, {args}, {count});\n}}"
    narrow = (
        f"static float tg_{name}_f32({takes.replace('double', 'float')}) {{ return (float)tg_{name}_f64({given}); }}"
    )
    return {f"{name}_f64": wide, f"{name}_f32": narrow}


_SCIPY = {
    **{key: text for name, count in _CALLED.items() for key, text in _called(name, count).items()},
    "scipy": _CALL,
    "polygamma_f64": _POLYGAMMA,
    "polygamma_f32": _POLYGAMMA_F32,
}
_DOUBLE = {
    "digamma": _DIGAMMA,
    "erfinv": _ERFINV,
    "erfcinv": _ERFCINV,
    "erfcx": _ERFCX,
    "erfc_inverse": _ERFC_INVERSE,
}


def special_functions() -> dict[str, str]:
    """The helpers by name, for both widths."""
    out = {f"tg_{name}_f64": text for name, text in _DOUBLE.items()}
    out |= {f"tg_{name}": text for name, text in _SCIPY.items()}
    for name in ("digamma", "erfinv", "erfcinv", "erfcx"):
        out[f"tg_{name}_f32"] = f"static float tg_{name}_f32(float x) {{ return (float)tg_{name}_f64(x); }}"
    return out
