"""C text of special functions that are SciPy's own loops, called with one element, and of Lambert's.

Pure text.
"""

from __future__ import annotations

import math

from termgraph.backends.c.text.bessel import horner
from termgraph.backends.c.text.confluent import HYP1F1, HYP1F1_SINGLE
from termgraph.terms.ops.special import ABOVE, CALLED, NEAREST, PIECES, TO_ROOT

# So the digits are those of SciPy.
_CALL = """static double tg_scipy(int native, double a, double b, double c, int count)
{
    double out;
    char *args[] = {(char *)&a, (char *)&b, (char *)&c, (char *)&out};
    const int64_t one = 1, steps[4] = {0};
    args[count] = (char *)&out;
    ((tg_loop)tg_native[native])(args, &one, steps, tg_native[native + 1]);
    return out;
}"""
_CALL_4 = """static double tg_scipy_4(int native, double a, double b, double c, double d)
{
    double out;
    char *args[] = {(char *)&a, (char *)&b, (char *)&c, (char *)&d, (char *)&out};
    const int64_t one = 1, steps[5] = {0};
    ((tg_loop)tg_native[native])(args, &one, steps, tg_native[native + 1]);
    return out;
}"""
# Beyond the first derivative; float32 as SciPy, where either factor may overflow.
_POLYGAMMA_FAR = """static double tg_polygamma_far_f64(double n, double x)
{
    return pow(-1, n + 1) * tg_scipy(TG_NATIVE_special__gamma__d_d, n + 1, 0, 0, 1) *
           tg_scipy(TG_NATIVE_ufuncs___zeta__dd_d, n + 1, x, 0, 2);
}"""
_POLYGAMMA_FAR_F32 = """static float tg_polygamma_far_f32(float n, float x)
{
    return (float)pow(-1, n + 1) * (float)tg_scipy(TG_NATIVE_special__gamma__d_d, n + 1, 0, 0, 1) *
           (float)tg_scipy(TG_NATIVE_ufuncs___zeta__dd_d, n + 1, x, 0, 2);
}"""
# Its meaning says how. Of the three forms each number takes one.
_LAMBERTW = f"""static double tg_lambertw_f64(double x, double k)
{{
    const _Bool lower = k == -1;
    if (!(lower || k == 0) || !(x >= {NEAREST}) || (lower && x > 0)) return __builtin_nan("");
    if (x == 0 || x > 0x1.fffffffffffffp1023) return lower ? -__builtin_inf() : x;
    if (x < {PIECES[0]}) {{
        const double above = x == {NEAREST} ? 0 : {math.e} * ((x - {NEAREST}) - {ABOVE});
        const double p = sqrt(2 * above) * (lower ? -1 : 1);
        double u = p * ({horner(TO_ROOT[::-1], "p")});
        for (int i = 0; i < 3; i++) {{
            const double e = exp(u), f = u * e - expm1(u) - above, slope = u * e;
            if (f != 0) u -= f / (slope - f * (u + 1) * e / (2 * slope));
        }}
        return u - 1;
    }}
    if (lower || x > {PIECES[1]}) {{
        const double far = log(fabs(x)), more = log(fabs(far));
        double v = far - more + more / far + more * (more - 2) / (2 * far * far);
        for (int i = 0; i < 3; i++) {{
            const double f = v - far + log(fabs(v)), slope = 1 + 1 / v;
            v -= f / (slope + f / (2 * v * v * slope));
        }}
        return v;
    }}
    const double small = log1p(x);
    double w = small * (1 - log1p(small) / (2 + small));
    for (int i = 0; i < 3; i++) {{
        const double e = exp(w), f = w * e - x, slope = e * (w + 1);
        w -= f / (slope - f * (w + 2) / (2 * (w + 1)));
    }}
    return w;
}}"""
_LAMBERTW_SINGLE = f"""static float tg_lambertw_f32(float x, float k)
{{
    return (float)tg_lambertw_f64(x == (float){NEAREST} ? {NEAREST} : x, k);
}}"""
# Where SciPy has the loop under a name of its own.
_NATIVES = {"zeta": "ufuncs___zeta"}
# What is done with operands first: their meanings in `terms/ops/special.py` say why.
_FIRST = {"hyp2f1": "if (a != a || b != b || c != c || d != d) return a + b + c + d;\n    "}


def _called(name: str, count: int) -> dict[str, str]:
    """The text of a function that is a call of SciPy's loop, for both widths."""
    native = f"TG_NATIVE_{_NATIVES.get(name, f'special__{name}')}__{'d' * count}_d"
    args = ", ".join(["a", "b", "c"][:count] + ["0"] * (3 - count))
    takes, given = ", ".join(f"double {x}" for x in "abcd"[:count]), ", ".join("abcd"[:count])
    call = f"tg_scipy({native}, {args}, {count})" if count < 4 else f"tg_scipy_4({native}, {given})"
    first = _FIRST.get(name, "")
    wide = f"static double tg_{name}_f64({takes})\n{{\n    {first}return {call};\n}}"
    return {f"{name}_f64": wide, **_narrow(name, takes, given)}


def _narrow(name: str, takes: str, given: str) -> dict[str, str]:
    """Single precision, by way of double."""
    takes = takes.replace("double", "float")
    return {f"{name}_f32": f"static float tg_{name}_f32({takes}) {{ return (float)tg_{name}_f64({given}); }}"}


_SCIPY = {
    **{key: text for name, count in CALLED.items() for key, text in _called(name, count).items()},
    "scipy": _CALL,
    "scipy_4": _CALL_4,
    "polygamma_far_f64": _POLYGAMMA_FAR,
    "polygamma_far_f32": _POLYGAMMA_FAR_F32,
    "lambertw_f64": _LAMBERTW,
    "lambertw_f32": _LAMBERTW_SINGLE,
    "hyp1f1_f64": HYP1F1,
    "hyp1f1_f32": HYP1F1_SINGLE,
}


def functions(_: str) -> dict[str, str]:
    """The helpers by name, for both widths."""
    return {f"tg_{name}": text for name, text in _SCIPY.items()}
