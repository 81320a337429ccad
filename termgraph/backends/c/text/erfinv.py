"""C text of inverse error functions and scaled erfc, which become vector code inside loops that use them. Pure text.

`scripts/fit_erfinv.py` derives the coefficients, `scripts/ulps.py` compares with mpmath. Beside a logarithm and a root
they are polynomials: all are computed, one is chosen.
"""

from __future__ import annotations

from collections.abc import Sequence

from termgraph.backends.c.text.bessel import horner
from termgraph.backends.c.text.float32 import HIGH, LOW
from termgraph.backends.c.text.gammas import SPLIT

# What each polynomial is of, from where to where, and its degree; all of t, -1 <= t <= 1. With w = -log(1 - x^2):
# near: erfinv(x) / x of w; tail, far: erfinv(x) of sqrt(w); end: erfinv(x) / sqrt(w) of log(w).
# scaled: (1 + 2 x) erfcx(x) of (x - 3.75) / (x + 3.75). Those for float32 end where its numbers do.
PIECES = {
    "near": (0, 6.25, 24),
    "tail": (2.5, 4, 17),
    "far": (4, 6.25, 17),
    "end": (3.625, 6.625, 18),
    "scaled": (-1, 1, 24),
    "near_single": (0, 6.25, 12),
    "tail_single": (2.5, 4, 8),
    "scaled_single": (-1, 1, 16),
    "log_single": (0.5**0.5, 2**0.5, 11),
}
COEFFICIENTS: dict[str, tuple[float, ...]] = {
    "near": (
        1.6536545626831027,
        0.7504943200799635,
        -0.05892256710377784,
        -0.022604447453449802,
        0.017808361818295655,
        -0.00413731437741443,
        -0.0012716922684373015,
        0.0012324855686812834,
        -0.0002643936684366174,
        -0.0001168888399309713,
        9.33673917780479e-05,
        -1.5027710420277575e-05,
        -1.1257319182677936e-05,
        7.1300572630824496e-06,
        -6.83718721812117e-07,
        -1.059321402540731e-06,
        5.394320648707009e-07,
        -1.0185147576818285e-08,
        -9.867713140174249e-08,
        3.915473114023045e-08,
        4.792369996100387e-09,
        -8.562787796742932e-09,
        1.5401738716654886e-09,
        7.689312733742569e-10,
        -2.7032254091069344e-10,
    ),
    "tail": (
        3.083845723103243,
        0.7541289264339747,
        0.0026170930345520674,
        -0.0010318612832504724,
        0.0002708519991350937,
        -5.26856171736595e-05,
        4.297311577985128e-06,
        2.2792058608204698e-06,
        -1.3823253763498867e-06,
        3.816050979664255e-07,
        -2.6207390672925354e-08,
        -2.6164354127046835e-08,
        1.265435016393366e-08,
        -2.286691473287008e-09,
        -3.837596358839881e-10,
        3.381368111568601e-10,
        -5.4670726307138374e-11,
        -7.0838246869671344e-12,
    ),
    "far": (
        4.976191390006553,
        1.1365383105974094,
        -0.0002690718568612428,
        -0.0002562001090178206,
        0.00010361625373705177,
        -2.9883487015331856e-05,
        7.577243575717166e-06,
        -1.7878665452506535e-06,
        4.0133940938930486e-07,
        -8.636853456320143e-08,
        1.7683697596461984e-08,
        -3.2677494393445644e-09,
        4.062158279761031e-10,
        5.858495271725948e-11,
        -7.355150524826495e-11,
        5.1213205474640105e-11,
        -3.015231905695306e-11,
        8.101422936944048e-12,
    ),
    "end": (
        0.9927268585880821,
        0.008690798327477873,
        -0.004857400108046537,
        0.0016007049670051015,
        -0.0002911277830764545,
        -4.568745121104776e-06,
        2.357027178681856e-05,
        -9.517010140348351e-06,
        2.44011065954047e-06,
        -4.339207132184133e-07,
        3.796259230430157e-08,
        8.500802111604316e-09,
        -5.399136856405883e-09,
        1.6518788522504488e-09,
        -3.479010567941664e-10,
        4.508687695638679e-11,
        3.5175274610122167e-12,
        -5.5272919315096415e-12,
        1.5628542922439224e-12,
    ),
    "scaled": (
        1.2375126308378275,
        -0.14024059858554697,
        0.003585415485463775,
        0.08227673849014516,
        -0.10880393014171785,
        0.09230432116037876,
        -0.058693398590212366,
        0.028362277418940665,
        -0.009746579552504244,
        0.0017556258530017257,
        0.0002937136342850081,
        -0.0002901540809795271,
        5.1649211390702855e-05,
        2.2384240314224437e-05,
        -1.1444412439171722e-05,
        -9.735619015182663e-07,
        1.752057970166318e-06,
        -5.721597255990987e-08,
        -2.591069687796658e-07,
        2.3261913276696566e-08,
        3.8965452548985966e-08,
        -3.743568033634583e-09,
        -5.28428697963142e-09,
        3.110310719839165e-10,
        4.434959070009628e-10,
    ),
    "near_single": (
        1.6536545626831027,
        0.7504943076479739,
        -0.05892256867466323,
        -0.022604096452118517,
        0.017808404971782328,
        -0.004140180720663968,
        -0.001272020629382619,
        0.001242690309156122,
        -0.00026338021033992225,
        -0.00013508115498416358,
        9.204976639988137e-05,
        1.5787972260420077e-06,
        -1.0903443438510941e-05,
    ),
    "tail_single": (
        3.0838457231032423,
        0.7541289153096506,
        0.0026170930086593614,
        -0.0010317118972671627,
        0.00027085193633445904,
        -5.323368574890076e-05,
        4.301527033587237e-06,
        3.0413846316389462e-06,
        -1.4004896307385567e-06,
    ),
    "scaled_single": (
        1.2375126308378275,
        -0.14024059858768265,
        0.003585415521929792,
        0.08227673858989491,
        -0.10880393189758943,
        0.092304319858493,
        -0.05869337381998894,
        0.02836228455237003,
        -0.00974673732610103,
        0.0017556078844614806,
        0.00029425092340958905,
        -0.00029013884841145633,
        5.0597038817391044e-05,
        2.240578686622266e-05,
        -1.023941194177756e-05,
        -1.0356884912594671e-06,
        9.716832594870286e-07,
    ),
    "log_single": (
        0.058891517931307015,
        0.333333333301501,
        -0.055555562969969996,
        0.012345681301191475,
        -0.0030863338467932724,
        0.000823018749935439,
        -0.0002289850194445285,
        6.543257295024517e-05,
        -1.8373852103846052e-05,
        5.435797517319144e-06,
        -2.2621289270233945e-06,
        6.885216256561789e-07,
    ),
}

# The same in float32, of numbers that are sums of two: near of w - 3.125 with what its first two coefficients lack, and
# (log(1 + f) - f + f^2 / 2) / f^3.
NEAR_FLOAT = (
    1.6536545753479004, 0.24015818536281586, -0.006033671088516712, -0.0007406910299323499, 0.00018673465820029378,
    -1.3892141396354418e-05, -1.3658217312695342e-06, 4.269851388016832e-07, -2.8958959674696416e-08,
    -4.752745752512055e-09, 1.0363881974839728e-09, 5.688216390964396e-12, -1.2570814181267487e-11,
)  # fmt: skip
NEAR_FLOAT_LOW = (-1.2664798099137897e-08, -6.915464201284749e-09)
LOG_FLOAT = (
    0.3333333134651184, -0.25000306963920593, 0.20001044869422913, -0.166412815451622, 0.14214496314525604,
    -0.12998183071613312, 0.12622319161891937, -0.0790274366736412,
)  # fmt: skip
SCALED_LOW = 1.0546160249725448e-16
NEAR_LOW = -2.3602490514133155e-17  # what their first coefficients lack


def _of(name: str, at: str) -> str:
    """The text of a polynomial; `at` is what it is of before it is brought to -1 ... 1."""
    low, high, _ = PIECES[name]
    middle, half = (low + high) / 2, (high - low) / 2
    return f"const double {name}_t = ({at} - {middle!r}) * {1 / half!r};\n    " + (
        f"const double {name} = {horner(COEFFICIENTS[name], name + '_t')};"
    )


# y = a * near, rounded once: near = c0 + t * (c1 + ...) as a sum of two numbers.
_NEAR = f"""double tg_erfinv_near_f64(double w, double a)
{{
    const double c0 = {COEFFICIENTS["near"][0]!r}, t = (w - 3.125) * 0.32;
    const double rest = {horner(COEFFICIENTS["near"][1:], "t")};
    const double high = tg_own_fma_f64(t, rest, c0), low = tg_own_fma_f64(t, rest, c0 - high) + {NEAR_LOW!r};
    return tg_own_fma_f64(a, high, a * low);
}}"""
# Of the operands of each function few are near its ends: what these need is computed for vectors that hold one.
_ERFINV = f"""$INLINE double tg_erfinv_f64_first(double x, double *more)
{{
    const double a = fabs(x), w = -log((1 - a) * (1 + a)), y = tg_erfinv_near_f64(w, a);
    *more = w < {PIECES["near"][1]!r} ? -1 : w;
    return x == 0 ? 0.0 : copysign(y, x); /* as SciPy, which has no -0 here */
}}
$INLINE double tg_erfinv_f64_more(double x, double w)
{{
    const double s = sqrt(w);
    {_of("tail", "s")}
    {_of("far", "s")}
    const double y = s < {PIECES["tail"][1]!r} ? tail : far;
    return copysign(fabs(x) == 1 ? __builtin_inf() : y, x);
}}
tg_whole(double, double, tg_erfinv_f64)"""
_ERFCINV_MORE = f"""double tg_erfcinv_f64_more(double q, double w)
{{
    const double small = q < 1 ? q : 2 - q, s = sqrt(w);
    {_of("tail", "s")}
    {_of("far", "s")}
    {_of("end", "log(w)")}
    const double y = s < {PIECES["tail"][1]!r} ? tail : s < {PIECES["far"][1]!r} ? far : s * end;
    const double beyond = small == 0 ? __builtin_inf() : __builtin_nan("");
    return copysign(small > 0 ? y : beyond, 1 - q);
}}"""
_ERFCINV = f"""$INLINE double tg_erfcinv_f64_first(double q, double *more)
{{
    const double x = 1 - q, small = q < 1 ? q : 2 - q, p = small * (2 - small), shift = p < 0x1p-1022 ? 0x1p54 : 1;
    double low;
    const double high = tg_log_parts_f64(p * shift, p < 0x1p-1022 ? 37.429947750237048 : 0, &low); /* 54 log(2) */
    const double w = -(high + low), y = tg_erfinv_near_f64(w, fabs(x)), whether = p > 0 ? -1 : 1;
    *more = w < {PIECES["near"][1]!r} ? whether : w;
    return x == 0 ? -0.0 : copysign(y, x); /* -0 as SciPy */
}}
tg_whole(double, double, tg_erfcinv_f64) /* and tg_erfcinv_f64_more */"""
# In double, to 0.51 units of float32, of which the last below 1 has s < 4.
_LOG_SINGLE = f"""double tg_erfinv_log_f64(double x) /* to 33 bits beside 1; x > 0 is normal */
{{
{SPLIT}
    {_of("log_single", "m")}
    return tg_own_fma_f64(k - (0x1p52 + 1023), 0.6931471805599453, log_single);
}}"""


def _by_powers(coefficients: Sequence[float], at: str) -> str:
    """The text of a polynomial in float32 of `at`, whose powers 2, 4 ... have names: pairs, and pairs of these."""
    if len(coefficients) == 1:
        return f"{coefficients[0]!r}f"
    half = 1 << ((len(coefficients) - 1).bit_length() - 1)
    low, high = (_by_powers(part, at) for part in (coefficients[:half], coefficients[half:]))
    return f"tg_own_fma({high}, {at}{half if half > 1 else ''}, {low})"


# With fused multiply-adds in float32, to 0.60 units: 1 - x^2 is h + low, u + rest is 3.125 - w, near is the sum of two.
# Where |x| is not below 1 the bits of h say so, read with their sign: u is far below -3.125.
_NEAR_FLOAT = f"""float tg_erfinv_near_f32(float x, float *few)
{{
    const float square = x * x, h = 1 - square, low = (1 - h) - square - tg_own_fma(x, x, -square);
    const uint32_t half = 0x3f3504f3u, bits = tg_own_bits(h) + (0x3f800000u - half); /* sqrt(1/2) */
    const float k = (float)((int32_t)bits >> 23), f = tg_own_of_bits((bits & 0x7fffffu) + half) - 1, g = -0.5f * f;
    const float first = tg_own_fma(k, {HIGH}, {3.125 - 127 * float(HIGH[:-1])!r}f), second = first + f;
    const float third = tg_own_fma(g, f, second), lost = (first - second + f) + tg_own_fma(g, f, second - third);
    const float less = tg_own_fma(k, {LOW}, low / h - 127 * {LOW}), f2 = f * f, f4 = f2 * f2;
    const float left = tg_own_fma(f * f2, {_by_powers(LOG_FLOAT, "f")}, lost + less);
    const float u = third + left, rest = third - u + left, u2 = u * u, u4 = u2 * u2, u8 = u4 * u4;
    const float end = {_by_powers([c * (-1) ** k for k, c in enumerate(NEAR_FLOAT[2:])], "u")};
    const float c0 = {NEAR_FLOAT[0]!r}f, c1 = {-NEAR_FLOAT[1]!r}f, slope = tg_own_fma(u, end, c1);
    const float slope_low = tg_own_fma(u, end, c1 - slope) + {-NEAR_FLOAT_LOW[1]!r}f, y = tg_own_fma(u, slope, c0);
    const float y_low = tg_own_fma(u, slope_low, tg_own_fma(rest, slope, {NEAR_FLOAT_LOW[0]!r}f));
    *few = u > {(PIECES["near_single"][0] - PIECES["near_single"][1]) / 2!r}f ? -1 : 1;
    return tg_own_fma(x, y, x * (tg_own_fma(u, slope, c0 - y) + y_low));
}}"""
_ERFINV_SINGLE = f"""$INLINE float tg_erfinv_f32_first(float x, float *more)
{{
#if defined(__FMA__) || defined(__FP_FAST_FMAF) || defined(__ARM_FEATURE_FMA)
    return tg_erfinv_near_f32(x, more) + 0.0f; /* as SciPy, which has no -0 here */
#else
    const double d = x, p = (1 - d) * (1 + d), w = -tg_erfinv_log_f64(p), whether = p > 0 ? -1 : 1;
    {_of("near_single", "w")}
    *more = w < {PIECES["near_single"][1]!r} ? whether : 1;
    return (float)(d * near_single) + 0.0f;
#endif
}}
$INLINE float tg_erfinv_f32_more(float x, float more)
{{
    const double d = fabs((double)x), s = sqrt(-tg_erfinv_log_f64((1 - d) * (1 + d)));
    {_of("tail_single", "s")}
    const float a = fabsf(x), beyond = a == 1 ? __builtin_inff() : __builtin_nanf("");
    return copysignf(a < 1 ? (float)tail_single : beyond, x);
}}
tg_whole(float, float, tg_erfinv_f32)"""
_ERFCINV_SINGLE = f"""$INLINE float tg_erfcinv_f32_first(float q, double *more)
{{
    const double x = 1 - (double)q, p = q * (2 - (double)q), w = -tg_erfinv_log_f64(p), whether = p > 0 ? -1 : 1;
    {_of("near_single", "w")}
    *more = w < {PIECES["near_single"][1]!r} ? whether : w;
    return x == 0 ? -0.0f : (float)(x * near_single); /* -0 as SciPy */
}}
$INLINE float tg_erfcinv_f32_more(float q, double w)
{{
    return (float)tg_erfcinv_f64_more(q, w);
}}
tg_whole(float, double, tg_erfcinv_f32)"""


# The quotient is corrected by what it and its parts lack. Below 0 it is 2 exp(x^2) - erfcx(-x), x^2 being a sum of two.
_ERFCX_RIGHT = f"""double tg_erfcx_right_f64(double a) /* a >= 0 */
{{
    const double t = (a - 3.75) / (a + 3.75), c0 = {COEFFICIENTS["scaled"][0]!r};
    const double rest = {horner(COEFFICIENTS["scaled"][1:], "t")};
    const double p = tg_own_fma_f64(t, rest, c0), p_low = tg_own_fma_f64(t, rest, c0 - p) + {SCALED_LOW!r};
    const double d = 1 + 2 * a, d_low = a < 0.5 ? 1 - d + 2 * a : 2 * a - d + 1, inverse = 1 / d, q = p * inverse;
    return tg_own_fma_f64(tg_own_fma_f64(-q, d, p) + (p_low - q * d_low), inverse, q);
}}"""
_ERFCX = """double tg_erfcx_f64(double x)
{
    const double right = tg_erfcx_right_f64(fabs(x)), below = x < 0 ? x : 0, s = below * below, e = exp(s);
    const double left = 2 * tg_own_fma_f64(e, tg_own_fma_f64(below, below, -s), e) - right;
    const double far = x > 1e150 ? 0.56418958354775628695 / x : right;
    return x < -26.7 ? __builtin_inf() : x < 0 ? left : far;
}"""
# One division for both quotients; the square is exact in double.
_ERFCX_RIGHT_SINGLE = f"""double tg_erfcx_right_f32(double a) /* to 33 bits; a >= 0 */
{{
    const double d = 1 + 2 * a, u = a + 3.75, inverse = 1 / (d * u);
    {_of("scaled_single", "(a - 3.75) * d * inverse")}
    return scaled_single * u * inverse;
}}"""
_ERFCX_SINGLE = """$INLINE float tg_erfcx_f32_first(float x, double *more)
{
    const double right = tg_erfcx_right_f32(fabs((double)x));
    *more = x < 0 ? right : -1;
    return x == __builtin_inff() ? 0 : (float)right;
}
$INLINE float tg_erfcx_f32_more(float x, double right)
{
    return x < -9.5f ? __builtin_inff() : (float)(2 * exp((double)x * x) - right);
}
tg_whole(float, double, tg_erfcx_f32)"""


def functions(inline: str) -> dict[str, str]:
    """The helpers by name, for both widths."""
    whole = {
        "erfinv_f64": _ERFINV,
        "erfcinv_f64": _ERFCINV,
        "erfinv_f32": _ERFINV_SINGLE,
        "erfcinv_f32": _ERFCINV_SINGLE,
        "erfcx_f32": _ERFCX_SINGLE,
    }
    parts = {
        "erfinv_near_f64": _NEAR,
        "erfinv_log_f64": _LOG_SINGLE,
        "erfinv_near_f32": _NEAR_FLOAT,
        "erfcinv_f64_more": _ERFCINV_MORE,
        "erfcx_f64": _ERFCX,
        "erfcx_right_f64": _ERFCX_RIGHT,
        "erfcx_right_f32": _ERFCX_RIGHT_SINGLE,
    }
    out = {f"tg_{name}": text.replace("$INLINE ", inline) for name, text in whole.items()}
    return out | {f"tg_{name}": inline + text for name, text in parts.items()}
