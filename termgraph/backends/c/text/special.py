"""C text of the special functions that libm lacks: digamma and its derivatives. Pure text.

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
# Two terms of the sum over 1 / (x + k)^2 at a time, and from 9 on the series of the rest.
_TRIGAMMA = """static double tg_trigamma_f64(double x) /* x > 0 */
{
    double sum = 0;
    if (x < 1e-9) return 1 / x * (1 / x) + 1.6449340668482264;
    for (; x < 9; x += 2) {
        const double y = x + 1, both = x * y;
        sum += (x * x + y * y) / (both * both);
    }
    const double r = 1 / x, s = r * r;
    return sum + r * (1 + r / 2 + s * (1. / 6 - s * (1. / 30 - s * (1. / 42 - s * (1. / 30 - s * (5. / 66 - s *
                      (691. / 2730 - s * (7. / 6 - s * (3617. / 510 - s * (43867. / 798))))))))));
}"""
_POLYGAMMA = """static double tg_polygamma_f64(double n, double x)
{
    if (n == 1 && x > 0) return tg_trigamma_f64(x);
    if (n == 0) return tg_scipy(TG_NATIVE_special__psi__d_d, x, 0, 0, 1);
    return pow(-1, n + 1) * tg_scipy(TG_NATIVE_special__gamma__d_d, n + 1, 0, 0, 1) *
           tg_scipy(TG_NATIVE_ufuncs___zeta__dd_d, n + 1, x, 0, 2);
}"""
_POLYGAMMA_F32 = """static float tg_polygamma_f32(float n, float x)
{
    if (n == 1 && x > 0) return (float)tg_trigamma_f64(x);
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
    "trigamma": _TRIGAMMA,
}


def special_functions() -> dict[str, str]:
    """The helpers by name, for both widths."""
    out = {f"tg_{name}_f64": text for name, text in _DOUBLE.items()}
    out |= {f"tg_{name}": text for name, text in _SCIPY.items()}
    out["tg_digamma_f32"] = "static float tg_digamma_f32(float x) { return (float)tg_digamma_f64(x); }"
    return out
