"""Elementary functions of float32 in C, which become vector code inside the loops that use them. Pure text.

Each is a few multiply-adds without a branch: a reduction to a small interval, a polynomial, and selections at the end
for what lies beyond overflow, zero and NaN. `scripts/fit_float32.py` derives the coefficients and tries every float32.
Largest error in units of the last place, with and without fused multiply-add: exp 1.6, expm1 1.6, log1p 1.6, tanh 2,
sigmoid 2.4, softplus 2.6.
"""

from __future__ import annotations

from collections.abc import Sequence

from termgraph._lazy import pattern

# e^r = 1 + r + r^2 * (c0 + c1*r + ...), |r| <= ln2 / 2 and |r| <= ln2
EXP = ("0.49999994f", "0.16666517f", "0.041668106f", "0.008369131f", "0.0013836438f")
WIDE = ("0.50000036f", "0.16666616f", "0.041661166f", "0.00833593f", "0.001410621f", "0.00019637488f")
# log(1 + g/4) = g/4 + g^2 * (c0 + c1*g + ...), sqrt(1/2) - 1 <= g/4 <= sqrt(2) - 1
LOG = ("-0.03125f", "0.005208333f", "-0.0009765946f", "0.00019532481f", "-4.0584302e-05f", "8.667555e-06f",
       "-2.0079906e-06f", "4.870395e-07f", "-7.2896576e-08f")  # fmt: skip
# ln2 = HIGH + LOW; HIGH has so few digits that small multiples of it are exact
HIGH, LOW = "0.693115234375f", "3.1946185e-5f"

_FMA = """float tg_own_fma(float a, float b, float c)
{
#if defined(__FMA__) || defined(__FP_FAST_FMAF) || defined(__ARM_FEATURE_FMA)
    return __builtin_fmaf(a, b, c); /* -O1 does not join the two by itself */
#else
    return a * b + c;
#endif
}"""
_BITS = """uint32_t tg_own_bits(float x)
{
    uint32_t bits;
    __builtin_memcpy(&bits, &x, 4);
    return bits;
}"""
_OF_BITS = """float tg_own_of_bits(uint32_t bits)
{
    float x;
    __builtin_memcpy(&x, &bits, 4);
    return x;
}"""
# Adding 1.5 * 2^23 rounds to an integer n and leaves it, and what is added besides, in the last bits.
_TWO_TO = """float tg_own_two_to(float t) /* 2^n of t = 1.5 * 2^23 + 127 + n */
{
    return tg_own_of_bits(tg_own_bits(t) << 23);
}"""
_EXPM1_SMALL = f"""float tg_own_expm1_small(float r) /* |r| <= ln2 / 2 */
{{
    const float z = r * r, a = tg_own_fma(r, {EXP[1]}, {EXP[0]}), b = tg_own_fma(r, {EXP[3]}, {EXP[2]});
    return tg_own_fma(tg_own_fma(tg_own_fma(z, {EXP[4]}, b), z, a), z, r);
}}"""
# 2^n twice: so neither the largest results nor those below the normal numbers need a case of their own.
_EXP_INSIDE = f"""float tg_own_exp_inside(float x) /* -104 <= x <= 176, or NaN: x = 2*n*ln2 + r */
{{
    const float shift = 0x1.8p23f + 127, t = tg_own_fma(x, 0.72134752f, shift), n = t - shift;
    const float r = tg_own_fma(n, -2 * {LOW}, tg_own_fma(n, -2 * {HIGH}, x)), z = r * r;
    const float a = tg_own_fma(r, {WIDE[1]}, {WIDE[0]}), b = tg_own_fma(r, {WIDE[3]}, {WIDE[2]});
    const float c = tg_own_fma(r, {WIDE[5]}, {WIDE[4]}), s = tg_own_two_to(t);
    return (1 + tg_own_fma(tg_own_fma(tg_own_fma(c, z, b), z, a), z, r)) * s * s;
}}"""
_EXP = """float tg_own_exp(float x)
{
    float y = tg_own_exp_inside(x);
    y = x < -104 ? 0 : y;
    return x > 88.8f ? __builtin_inff() : y;
}"""
_EXPM1 = f"""float tg_own_expm1(float x) /* with half of 2^n, which does not overflow */
{{
    const float shift = 0x1.8p23f + 126, t = tg_own_fma(x, 1.442695f, shift), n = t - shift;
    const float r = tg_own_fma(n, -{LOW}, tg_own_fma(n, -{HIGH}, x)), s = tg_own_two_to(t);
    float y = 2 * tg_own_fma(tg_own_expm1_small(r), s, s - 0.5f);
    y = x < -18 ? -1 : y;
    y = x > 88.8f ? __builtin_inff() : y;
    return x == 0 ? x : y;
}}"""
_TANH = f"""float tg_own_tanh(float x) /* -m / (2 + m) of m = expm1(-2 * |x|) = s * (1 + p) - 1 */
{{
    const float a = -2 * fabsf(x), shift = 0x1.8p23f + 127, t = tg_own_fma(a, 1.442695f, shift), n = t - shift;
    const float r = tg_own_fma(n, -{LOW}, tg_own_fma(n, -{HIGH}, a)), s = tg_own_two_to(t), p = tg_own_expm1_small(r);
    const float y = tg_own_fma(-p, s, 1 - s) / tg_own_fma(p, s, 1 + s);
    return copysignf(a < -20 ? 1 : y, x);
}}"""
_SIGMOID = f"""float tg_own_sigmoid(float x) /* by e = exp(-|x|) */
{{
    const float a = -fabsf(x), shift = 0x1.8p23f + 151, t = tg_own_fma(a, 1.442695f, shift), n = t - shift;
    const float r = tg_own_fma(n, -{LOW}, tg_own_fma(n, -{HIGH}, a));
    const float p = (1 + tg_own_expm1_small(r)) * tg_own_two_to(t) * 0x1p-24f, e = a < -104 ? 0 : p;
    return (x < 0 ? e : 1) / (1 + e);
}}"""
_LOG_SMALL = f"""float tg_own_log_small(float g, float z) /* (log(1 + g/4) - g/4) / g^2, z = g^2 */
{{
    const float a = tg_own_fma(g, {LOG[1]}, {LOG[0]}), b = tg_own_fma(g, {LOG[3]}, {LOG[2]});
    const float c = tg_own_fma(g, {LOG[5]}, {LOG[4]}), d = tg_own_fma(g, {LOG[7]}, {LOG[6]});
    return tg_own_fma(tg_own_fma(tg_own_fma(tg_own_fma(z, {LOG[8]}, d), z, c), z, b), z, a);
}}"""
# The exponent comes with the other sign, e = -k * 2^23: its products with -ln2 are -0 if it is 0, and so -0 stays -0.
_LOG_SUM = f"""float tg_own_log_sum(float g, float e) /* log((1 + g/4) * 2^k) */
{{
    const float z = g * g, y = tg_own_fma(z, tg_own_log_small(g, z), e * (0x1p-23f * -{LOW}));
    return tg_own_fma(e, 0x1p-23f * -{HIGH}, tg_own_fma(g, 0.25f, y));
}}"""
_LOG1P = """float tg_own_log1p(float x) /* 1 + x = (1 + g/4) * 2^k, s = 4 * 2^-k, of which x * s and 4 - s are exact */
{
    const uint32_t e = (0x3fb504f2u - tg_own_bits(1 + x)) & 0xff800000u;
    const float s = tg_own_of_bits(0x40800000u + e), rest = 4 - s;
    float y = tg_own_log_sum(tg_own_fma(x, s, -rest), (float)(int32_t)e);
    y = x == __builtin_inff() ? x : y;
    y = x == -1 ? -__builtin_inff() : y;
    return x < -1 ? __builtin_nanf("") : y;
}"""

_ACOSH = """float tg_own_acosh(float x) /* log1p(t + sqrt(t) sqrt(t + 2)) of t = x - 1, far away log(2 t) */
{
    const float t = x - 1, r = tg_own_fma(sqrtf(t), sqrtf(t + 2), t);
    return tg_own_log1p(t > 0x1p60f ? t : r) + (t > 0x1p60f ? 0.6931472f : 0);
}"""
_SOFTPLUS = """float tg_own_softplus(float x)
{
    return tg_maximum_f32(x, 0) + tg_own_log1p(tg_own_exp(-fabsf(x)));
}"""
_LOGADDEXP = """float tg_own_logaddexp(float a, float b)
{
    const float more = tg_own_log1p(tg_own_exp(-fabsf(a - b)));
    return a == b ? a + 0.6931472f : tg_maximum_f32(a, b) + more;
}"""
FUNCTIONS = {
    "fma": _FMA, "bits": _BITS, "of_bits": _OF_BITS, "two_to": _TWO_TO, "expm1_small": _EXPM1_SMALL,
    "exp_inside": _EXP_INSIDE, "exp": _EXP, "expm1": _EXPM1, "tanh": _TANH, "sigmoid": _SIGMOID,
    "log_small": _LOG_SMALL, "log_sum": _LOG_SUM, "log1p": _LOG1P, "softplus": _SOFTPLUS, "acosh": _ACOSH,
    "logaddexp": _LOGADDEXP,
}  # fmt: skip
# A loop with many of them gains nothing over calls of the library, and each takes the compiler a few milliseconds.
MANY, MANY_IN_ALL = 12, 64
OWN = ("exp", "expm1", "log1p", "tanh", "acosh", "sigmoid", "softplus", "logaddexp")  # as the op table calls them
_CALL = pattern(r"\b(?:(exp|expm1|log1p|tanh|acosh)f|tg_(sigmoid|softplus|logaddexp)_f32)\(")


def functions(inline: str) -> dict[str, str]:
    """The functions by name, each declared as `inline` says."""
    return {f"tg_own_{name}": inline + text for name, text in FUNCTIONS.items()}


def calls(lines: Sequence[str]) -> int:
    """How many calls there are for which there is a function here."""
    return sum(len(_CALL.findall(line)) for line in lines)


def with_own(lines: Sequence[str]) -> list[str]:
    """The same statements with these functions."""
    return [_CALL.sub(lambda m: f"tg_own_{m[1] or m[2]}(", line) for line in lines]
