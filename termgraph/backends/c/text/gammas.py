"""C text of the gamma function, its logarithm and the derivatives of that, as vector code inside loops. Pure text.

`scripts/fit_gamma.py` derives the coefficients, `scripts/ulps.py` compares with mpmath. There are no branches: what
holds on each range is computed and one is chosen, which costs less than to read coefficients by range. So also left of
zero, by reflection: of sin(pi x) only the distance r from x to the next whole number matters.
"""

from __future__ import annotations

import math

from termgraph.backends.c.text.bessel import horner

# What each polynomial is of, from where to where, and its degree; its operand is the distance from the middle.
# at_1, at_2: gammaln(x) / (x - 1), gammaln(x) / (x - 2); gammaln_far: what Stirling's formula lacks times x, of 1/x^2.
# near: digamma without its zero, trigamma; next: digamma(x + 1), trigamma(x + 1), which are smoother than those of x;
# far: log(x) - 1 / (2 x) - digamma(x) times x^2, trigamma(x) - 1 / x - 1 / (2 x^2) times x^3, of 1 / x^2.
# inverse: (1 / gamma(x) - 1) / (x - 2); sine: sin(pi r) / (pi r) of r^2; cotangent: (1 / r - pi cot(pi r)) / r of r^2.
# logarithm: (2 atanh(s) - 2 s) / s^3 of s^2; log1p: (u - log1p(u)) / u^2; exponential(_below): (e^u - 1 - u) / u^2.
PIECES = {
    "gammaln_at_1": (0.75, 1.5, 20),
    "gammaln_at_2": (1.5, 2.5, 17),
    "gammaln_far": (0, 5.5**-2, 8),
    "digamma_near": (1, 2, 21),
    "digamma_next": (2, 4.5, 19),
    "digamma_far": (0, 4.5**-2, 9),
    "trigamma_near": (1, 2, 23),
    "trigamma_next": (2, 5.5, 24),
    "trigamma_far": (0, 5.5**-2, 9),
    "inverse": (1, 2.5, 15),
    "sine": (0, 0.25, 8),
    "cotangent": (0, 0.25, 14),
    "logarithm": (0, 0.0295, 7),
    "log1p": (-1 / 12, 1 / 12, 11),
    "exponential": (-0.3466, 0.3466, 10),
    "exponential_below": (-0.6932, 0, 10),
}
ROOT = (1.4616321449683622, 9.549995429965697e-17)  # of digamma, and what the number lacks
COEFFICIENTS: dict[str, tuple[float, ...]] = {
    "gammaln_at_1": (
        -0.48018547300831665, 0.7335424776996939, -0.3158060416454167, 0.18866417564930277, -0.12817371733751493,
        0.09302766774748719, -0.07022575725787633, 0.05439836830466354, -0.04291278430215281, 0.034315669453522296,
        -0.027733319932866547, 0.022607796828520293, -0.018558424226654466, 0.015295358153790527,
        -0.012694555619629323, 0.010858153110519972, -0.009091250442002657, 0.006082523447166723,
        -0.005110876646401692, 0.009222478052835367, -0.007827903758187479
    ),
    "gammaln_at_2": (
        0.42278433509846713, 0.3224670334241132, -0.06735230105319563, 0.02058080842778338, -0.007385551028935545,
        0.002890510330865901, -0.0011927539009983087, 0.0005096695196526673, -0.00022315497746292723,
        9.945761692157133e-05, -4.4923727564247656e-05, 2.050601970174762e-05, -9.45628851510172e-06,
        4.3828545383846665e-06, -1.9743106888421067e-06, 9.242852225162277e-07, -5.811277768921246e-07,
        2.7475390051909663e-07
    ),
    "gammaln_far": (
        0.08328763385333848, -0.00275201472194811, 0.0007654345885248093, -0.0005443117318702585,
        0.0007056432539871357, -0.0014158580535845045, 0.003985306747610836, -0.01497008073948256, 0.06974269295565853
    ),
    "digamma_near": (
        0.951055876031833, -0.4236274212814605, 0.2405424842407742, -0.14840492305390884, 0.09498872445494122,
        -0.061922133273064534, 0.04076083381242074, -0.02697579675613825, 0.0179072524394512, -0.011908218001568644,
        0.007926944646403797, -0.005279964873257405, 0.003519006401502276, -0.002345267632540769,
        0.0015566317474486838, -0.0010376374098418604, 0.0007233266279287554, -0.0004821990530566789,
        0.0002272331660987376, -0.00015148586836773365, 0.00025968482126430747, -0.00017312261802727394
    ),
    "digamma_next": (
        1.3246832187604867, 0.26512373409656215, -0.03494784088863115, 0.006108954293311265, -0.0011950669434234076,
        0.0002481236211063911, -5.3406408831398826e-05, 1.1769939484550102e-05, -2.636523333299861e-06,
        5.975174022881385e-07, -1.3658285012017125e-07, 3.142032714456625e-08, -7.258025404544424e-09,
        1.6840855977922355e-09, -3.966912397920501e-10, 9.252903661528865e-11, -1.9011427882528405e-11,
        4.44629974177256e-12, -1.8269849908046387e-12, 4.2856115603380617e-13
    ),
    "digamma_far": (
        0.083129931231173, -0.008144570003114547, 0.0036845432770451674, -0.0035265167731426727, 0.005558184011911179,
        -0.012669201826901321, 0.03848330634106427, -0.14738608692873173, 0.7216473718429489, -3.989948279181466
    ),
    "trigamma_near": (
        0.9348022005446793, -0.82879664423432, 0.7045455170012301, -0.5790416377778788, 0.4630645250992974,
        -0.36214936502368467, 0.2780808134929046, -0.21030987313635566, 0.15705319559990144, -0.11604072202106154,
        0.08496893411907179, -0.0617404572989626, 0.04456455631327344, -0.03198496291673483, 0.022861728277273355,
        -0.016255026466779662, 0.011388650813380011, -0.008040318942244863, 0.006178903477731779,
        -0.004331508544530822, 0.001649724591052466, -0.0011593980593327233, 0.0029146795300520247,
        -0.0020225715556743875
    ),
    "trigamma_next": (
        0.23422874157914197, -0.054620412589973306, 0.012682260002326876, -0.0029323987044065397,
        0.0006752991554202715, -0.00015491074946656156, 3.540353245740484e-05, -8.062322223026209e-06,
        1.829748992863695e-06, -4.139135448560801e-07, 9.334330434197209e-08, -2.098863460065395e-08,
        4.706169569276527e-09, -1.0521872132212153e-09, 2.347158475288742e-10, -5.242253380700227e-11,
        1.1639566122582412e-11, -2.488941599543001e-12, 5.506538108831852e-13, -1.5046009975360714e-13,
        3.309166414668937e-14, -1.3417923123097073e-15, 3.0222514119991633e-16, -7.713357542994524e-16,
        1.684759894716446e-16
    ),
    "trigamma_far": (
        0.16612206220703338, -0.032572280467125736, 0.02227053409129639, -0.028926164126150438, 0.05872385308267743,
        -0.1678125613182547, 0.6305513026143346, -2.9692265218741634, 17.527523849562773, -118.54045021671462
    ),
    "inverse": (
        -0.3522610085240692, -0.3319793238404891, 0.20159616883979373, -0.0016989796687469248, -0.028189252644702976,
        0.008620933561378824, 0.00010218488961385564, -0.0006847710944495333, 0.00017394997390241483,
        -5.780295195246095e-06, -7.088325807606321e-06, 1.9113511870302654e-06, -1.596067000712082e-07,
        -3.12168692914258e-08, 1.1524329264551688e-08, -1.3952718960702176e-09
    ),
    "sine": (
        0.8067004676006325, -1.4507385090976772, 0.7426165691940172, -0.17803873655337693, 0.024715862600358067,
        -0.0022370209345064056, 0.00014243445459402295, -6.727070224605601e-06, 2.4502943624559793e-07
    ),
    "cotangent": (
        3.5967216268328333, 2.7859613128269487, 3.0233634462667363, 3.421142952888655, 3.901655357177168,
        4.4569694480052995, 5.093152320874342, 5.820608221643367, 6.652088818292798, 7.602678153556511,
        8.68877271373545, 9.90489736532413, 11.319882548832785, 14.009136369963166, 16.010441555350102
    ),
    "logarithm": (
        0.6726295492173621, 0.4085759839249955, 0.29578999337485895, 0.23329296304849367, 0.19361302469820388,
        0.1662031549200776, 0.1461998989149408, 0.13089629160674623
    ),
    "log1p": (
        0.5, -0.3333333333333333, 0.2500000000000413, -0.20000000000003856, 0.16666666659731108, -0.14285714279240133,
        0.1250000425735742, -0.11111115085207492, 0.09998819711394222, -0.0908980734812552, 0.08483854225859938,
        -0.07832807380584438
    ),
    "exponential": (
        0.5, 0.1666666666666667, 0.041666666666666644, 0.008333333333326136, 0.0013888888888894967,
        0.00019841269874815834, 2.4801587304198264e-05, 2.7557255406285044e-06, 2.7557291416349653e-07,
        2.5105214474751413e-08, 2.0909306543460807e-09
    ),
    "exponential_below": (
        0.4469109278279482, 0.14056890721599352, 0.03392524099984935, 0.006626798724702951, 0.0010859788384849417,
        0.00015318786615971721, 1.8960923854879782e-05, 2.090252031629283e-06, 2.0768508519219335e-07,
        1.881911978410796e-08, 1.560710194890119e-09
    ),
}  # fmt: skip


def of(name: str, at: str, centred: bool = False) -> str:
    """The text of a polynomial of `at`; `centred` if that is already the distance from the middle."""
    low, high, _ = PIECES[name]
    middle = (low + high) / 2
    return horner(COEFFICIENTS[name], at if centred or middle == 0 else f"({at} - {middle!r})")


# x = m 2^k with m near 1; k is too large by 2^52 + 1023 yet.
SPLIT = """\
    const uint64_t half = 0x3fe6a09e667f3bcdu, fraction = 0xfffffffffffffu; /* sqrt(1/2), and the bits below 2^52 */
    uint64_t bits, top;
    double m, k;
    __builtin_memcpy(&bits, &x, 8);
    bits += 0x3ff0000000000000u - half, top = bits >> 52 | 0x4330000000000000u, bits = (bits & fraction) + half;
    __builtin_memcpy(&m, &bits, 8);
    __builtin_memcpy(&k, &top, 8); /* a whole number as the last bits of 2^52: no instruction converts it */"""
# log(m) = 2 atanh(f / (2 + f)) of f = m - 1, so that nothing is lost where f is small.
_LOG = f"""double tg_log_parts_f64(double x, double less, double *low) /* log(x) - less as a sum; x > 0 is normal */
{{
{SPLIT}
    k -= 0x1p52 + 1023;
    const double f = m - 1, s = f / (2 + f), z = s * s, half_square = 0.5 * f * f;
    const double rest = z * {of("logarithm", "z")};
    const double base = k * 0x1.62e42fefa3800p-1 - less, high = base + f;
    *low = (base - high + f) + (s * (half_square + rest) - half_square + k * 0x1.ef35793c76730p-45);
    return high;
}}"""
# Between 2.5 and 5.5 gamma(a) = p gamma(r), 1.5 <= r < 2.5. Stirling's formula as (a - 1/2) (log(a) - 1) + ..., the
# product being a sum of two numbers.
_GAMMALN = f"""double tg_gammaln_f64(double x)
{{
    const double a = x < 0 ? 1 - x : x, two = a >= 3.5 ? a - 2 : a, down = two >= 2.5 ? two - 1 : two;
    const double p = (a >= 3.5 ? (a - 1) * (a - 2) : 1) * (two >= 2.5 ? down : 1), r = a < 0.75 ? a + 1 : down;
    const double z = a < 0.75 ? a : r - 1;
    const double one = z * {of("gammaln_at_1", "(z - 0.125)", True)};
    const double other = (r - 2) * {of("gammaln_at_2", "(r - 2)", True)};
    const double near = r < 1.5 ? one : other, beyond = a < 5.5 ? p : a, of = a < 0.75 ? a : beyond;
    const double sign = a < 0.75 ? -1 : 1;
    double low, less = a >= 5.5 ? 1 : 0, far;
    less = of < 0x1p-1022 ? 37.429947750237048 : less; /* 54 log(2) */
    const double log_of = tg_log_parts_f64(of < 0x1p-1022 ? of * 0x1p54 : of, less, &low);
    const double small = tg_own_fma_f64(sign, log_of, tg_own_fma_f64(sign, low, near));
    const double v = 1 / a, shifted = a - 0.5, product = shifted * log_of;
    const double most = 0.91893853320467274178 - 0.5 + v * {of("gammaln_far", "v * v")};
    far = product + (most + tg_own_fma_f64(shifted, low, tg_own_fma_f64(shifted, log_of, -product)));
    far = a > 0x1p60 ? shifted * (log_of + low) : far;
    const double right = a >= 5.5 ? far : small;
    const double d = fabs(x - rint(x)), q = d * {of("sine", "d * d")};
    double q_low;
    less = q < 0x1p-1022 ? 37.429947750237048 : 0;
    const double q_high = tg_log_parts_f64(q < 0x1p-1022 ? q * 0x1p54 : q, less, &q_low);
    double y = x < 0 ? -(right + q_high + q_low) : right;
    y = x <= 0 && d == 0 ? __builtin_inf() : y;
    return x == -__builtin_inf() ? x : y;
}}"""
# psi(x) = psi(1 - x) - pi cot(pi r) left of 0, psi(1 + x) - 1 / x up to 1. One division is for 1 / a and 1 / part.
_DIGAMMA = f"""double tg_digamma_f64(double x)
{{
    const double a = x < 0 ? 1 - x : x, r = x - rint(x), b = a < 1 ? a + 1 : a;
    const double from_zero = a < 1 ? a : 1, part = x < 0 ? r : from_zero, whole = a < 1 ? 1 : a;
    const double quotient = 1 / (whole * part), v = quotient * part, pole = quotient * whole, w = v * v;
    const double near = (b - {ROOT[0]!r} - {ROOT[1]!r}) * {of("digamma_near", "b")};
    const double next = {of("digamma_next", "a")} - v;
    double low;
    const double high = tg_log_parts_f64(a, 0, &low);
    const double far = high + (low - 0.5 * v - w * {of("digamma_far", "w")});
    const double cotangent = pole - r * {of("cotangent", "r * r")}, close = a < 2 ? near : next;
    const double right = a >= 4.5 ? far : close, lost = a < 1 ? pole : 0; /* at -1, -2, ... v is NaN */
    const double y = right - (x < 0 ? cotangent : lost);
    return x == __builtin_inf() ? x : y;
}}"""
# The same with the squares of what digamma has: psi'(x) = (pi / sin(pi r))^2 - psi'(1 - x) left of 0.
_TRIGAMMA = f"""double tg_trigamma_f64(double x)
{{
    const double a = x < 0 ? 1 - x : x, r = x - rint(x), b = a < 1 ? a + 1 : a;
    const double sine = r * {of("sine", "r * r")};
    const double from_zero = a < 1 ? a : 1, part = x < 0 ? sine : from_zero, whole = a < 1 ? 1 : a;
    const double quotient = 1 / (whole * part), v = quotient * part, pole = quotient * whole, w = v * v;
    const double near = {of("trigamma_near", "b")};
    const double next = {of("trigamma_next", "a")} + w;
    const double far = v + w * (0.5 + v * {of("trigamma_far", "w")});
    const double close = a < 2 ? near : next, right = a >= 5.5 ? far : close, square = pole * pole;
    const double added = a < 1 ? square : 0, left = square - right, y = x < 0 ? left : right + added;
    const double pole_or_y = part == 0 ? __builtin_inf() : y, end = x < 0 ? __builtin_inf() : 0; /* as SciPy */
    return fabs(x) == __builtin_inf() ? end : pole_or_y;
}}"""
# From 5.5 on gamma(n + f) = gamma(n) e^y of the nearest whole number n, for which there is a table: so results at whole
# numbers are the nearest there are, and y is small. Left of 0 numerator and denominator change places.
_GAMMA = f"""double tg_gamma_f64(double x)
{{
    const double a = fabs(x), two = a >= 3.5 ? a - 2 : a, down = two >= 2.5 ? two - 1 : two, r = a < 1.5 ? a + 1 : down;
    const double p = (a >= 3.5 ? (a - 1) * (a - 2) : 1) * (two >= 2.5 ? down : 1);
    const double inverse = tg_own_fma_f64(r - 2, {of("inverse", "r")}, 1);
    const double least = a >= 6 ? a : 6, n = rint(a > 171 ? 171 : least), f = a - n;
    const double v = 1 / (n * a), u = f * a * v, w = n * v;
    const int at = 3 * (int)n - 18;
    const double curved = u * u * {of("log1p", "u")}, series = w * {of("gammaln_far", "w * w")};
    const double y = f * tg_gamma_table[at + 1] +
                     (tg_own_fma_f64(f - 0.5, u, -(a - 0.5) * curved) + (series - tg_gamma_table[at + 2]));
    const double shift = 0x1.8p52 + 1023, t = tg_own_fma_f64(y, 1.4426950408889634, shift), k = t - shift;
    const double e = tg_own_fma_f64(-k, 0x1.ef35793c76730p-45, tg_own_fma_f64(-k, 0x1.62e42fefa3800p-1, y));
    const double grown = tg_own_fma_f64(e * e, {of("exponential", "e")}, e), whole = tg_gamma_table[at];
    uint64_t bits;
    double scale; /* 2^k */
    __builtin_memcpy(&bits, &t, 8);
    bits <<= 52;
    __builtin_memcpy(&scale, &bits, 8);
    double far = tg_own_fma_f64(whole, grown, whole) * scale;
    far = a > 171.63 ? __builtin_inf() : far;
    const double m = rint(a), d = a - m, sine = d * {of("sine", "d * d")}, half = 0.5 * m;
    const double by = inverse * (a < 1.5 ? a : 1), times = a < 1.5 ? 1 : a;
    const double right = a >= 5.5 ? far : p, right_by = a >= 5.5 ? 1 : by;
    const double left = a >= 5.5 ? 0x1p-60 : inverse, left_by = sine * (a >= 5.5 ? 0x1p-60 * a : times) * right;
    double out = (x < 0 ? left : right) / (x < 0 ? left_by : right_by);
    out = x < 0 && half == rint(half) ? -out : out;
    out = x < 0 && d == 0 ? __builtin_inf() - __builtin_inf() : out;
    return x == 0 ? copysign(__builtin_inf(), x) : out;
}}"""
# The place in the table as a number of 64 bits, so that a loop of eight steps is a vector: beside an `int` gcc wants
# sixteen. In long loops the gather of such places takes longer.
_INT_PLACE = "    const int at = 3 * (int)n - 18;\n"
_LONG_PLACE = """    const double last_bits = n + 0x1p52;
    int64_t at;
    __builtin_memcpy(&at, &last_bits, 8);
    at = (at & 255) - 6, at = at + at + at;
"""
# Of which order is known when compiling, in most programs: then there is no branch either.
_POLYGAMMA = """{t} tg_polygamma_f{bits}({t} n, {t} x)
{{
    if (n == 1) return ({t})tg_trigamma_f64(x);
    if (n == 0) return ({t})tg_digamma_f64(x);
    return tg_polygamma_far_f{bits}(n, x);
}}"""


def _lacks(n: int) -> float:
    """What Stirling's formula lacks at n."""
    low, high, _ = PIECES["gammaln_far"]
    at, total = 1 / n**2 - (low + high) / 2, 0.0
    for c in reversed(COEFFICIENTS["gammaln_far"]):
        total = total * at + c
    return total / n


def _table() -> str:
    """gamma(n), log(n) and what Stirling's formula lacks at n, for n = 6, 7, ... 171."""
    rows = [f"{float(math.factorial(n - 1))!r}, {math.log(n)!r}, {_lacks(n)!r}" for n in range(6, 172)]
    return f"static const double tg_gamma_table[] = {{{', '.join(rows)}}};"


def functions(inline: str) -> dict[str, str]:
    """The helpers by name, for both widths."""
    texts = {"log_parts": _LOG, "gammaln": _GAMMALN, "digamma": _DIGAMMA, "trigamma": _TRIGAMMA, "gamma": _GAMMA}
    out = {f"tg_{name}_f64": inline + text for name, text in texts.items()}
    out["tg_gamma_table"] = _table()
    lanes = _GAMMA.replace("tg_gamma_f64", "tg_gamma_lanes_f64").replace(_INT_PLACE, _LONG_PLACE)
    out["tg_gamma_lanes_f64"] = inline + lanes
    for t, bits in (("double", 64), ("float", 32)):
        out[f"tg_polygamma_f{bits}"] = inline + _POLYGAMMA.format(t=t, bits=bits)
    for name in ("gammaln", "digamma", "gamma"):
        out[f"tg_{name}_f32"] = f"{inline}float tg_{name}_f32(float x) {{ return (float)tg_{name}_f64(x); }}"
    return out
