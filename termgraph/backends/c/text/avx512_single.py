"""Vector versions of float32 functions for vectors of 64 bytes, where libmvec's take longer: `erfc`, `pow`, `log`.

Pure text. `avx512.py` has those of float64 and says how gcc finds them; `scripts/fit_float64.py` derives the tables.
libmvec's `log` leaves its vectors for what is zero, negative, subnormal, infinite or no number (16 times as long).
Largest error in units of the last place, libmvec's in brackets: erfc 1.27 (1.61), mean 0.253 (0.272); pow 0.62 (0.63),
where results are not near the ends of float32 0.53; log 1.05 (3.94), mean 0.250 (0.259).
"""

from __future__ import annotations

from termgraph.backends.c.text import float32

# erfc(a) = e^(-a^2) * erfcx(a), and erfcx(c + t) = first + t * (one + two*t + ...). The piece's index is in the bits of
# a + 1, of which each power of two has eight pieces: the first is for 2 <= a + 1 < 2.25, the last eight are for a < 1,
# and those from a = 11 on are not used. A centre c is chosen so that erfcx(c) is nearly a float32.
SCALED_ERFC = {
    "centre": """
    0x1.1ffef8p+0, 0x1.60004p+0, 0x1.9ffdd6p+0, 0x1.dfffbp+0, 0x1.0ffebcp+1, 0x1.2ffdd2p+1, 0x1.4ffdd4p+1,
    0x1.6ffdfap+1, 0x1.9ffdcap+1, 0x1.e00254p+1, 0x1.100154p+2, 0x1.300218p+2, 0x1.50007ep+2, 0x1.70013ep+2,
    0x1.90021cp+2, 0x1.b0017ep+2, 0x1.dffe8cp+2, 0x1.100238p+3, 0x1.300182p+3, 0x1.50010ep+3, 0, 0, 0, 0,
    0x1.00004cp-4, 0x1.7fff0ap-3, 0x1.3ffe7ep-2, 0x1.c00112p-2, 0x1.200012p-1, 0x1.600184p-1, 0x1.a0014p-1,
    0x1.e0022ep-1""",
    "first": """
    0x1.9532dcp-2, 0x1.5f88c6p-2, 0x1.35853ap-2, 0x1.13e59ap-2, 0x1.f0ff2p-3, 0x1.c39b5p-3, 0x1.9d799ap-3,
    0x1.7d0c44p-3, 0x1.54a94cp-3, 0x1.2a2996p-3, 0x1.08e4f2p-3, 0x1.dc5d14p-4, 0x1.b0965ep-4, 0x1.8c12b8p-4,
    0x1.6d2dap-4, 0x1.52b6e8p-4, 0x1.317518p-4, 0x1.0e0554p-4, 0x1.e3d93cp-5, 0x1.b63348p-5, 0, 0, 0, 0,
    0x1.ddcd2cp-1, 0x1.a36beep-1, 0x1.73c20cp-1, 0x1.4c62c2p-1, 0x1.2b84e8p-1, 0x1.0fcdb4p-1, 0x1.f07166p-2,
    0x1.c7f6ccp-2""",
    "one": """
    -0x1.e78d52p-3, -0x1.797a08p-3, -0x1.2b1426p-3, -0x1.e365fcp-4, -0x1.8d7268p-4, -0x1.4bb29cp-4, -0x1.18769p-4,
    -0x1.dfc4b4p-5, -0x1.82abfcp-5, -0x1.2aa3aap-5, -0x1.da3504p-6, -0x1.810f9cp-6, -0x1.3e9738p-6,
    -0x1.0bc2b2p-6, -0x1.c8277p-7, -0x1.891246p-7, -0x1.40463ap-7, -0x1.f574a8p-8, -0x1.930c9ep-8, -0x1.4ae6bp-8,
    0, 0, 0, 0, -0x1.03009ap+0, -0x1.a472d6p-1, -0x1.5962bap-1, -0x1.1ee3cep-1, -0x1.e18aap-2, -0x1.97fceep-2,
    -0x1.5cbb22p-2, -0x1.2c8334p-2""",
    "two": """
    0x1.05e86ap-3, 0x1.70127cp-4, 0x1.0a185p-4, 0x1.8a6f5ap-5, 0x1.2ade0ap-5, 0x1.cdd036p-6, 0x1.6b02e6p-6,
    0x1.21c62ap-6, 0x1.a7f2e8p-7, 0x1.22ec28p-7, 0x1.9ef138p-8, 0x1.317612p-8, 0x1.cde8c6p-9, 0x1.65317cp-9,
    0x1.199df4p-9, 0x1.c395c2p-10, 0x1.4d0a0ap-10, 0x1.ce96ap-11, 0x1.4df814p-11, 0x1.f19254p-12, 0, 0, 0, 0,
    0x1.bd6cf2p-1, 0x1.549686p-1, 0x1.07d3a8p-1, 0x1.9dbd82p-2, 0x1.482bbap-2, 0x1.071c46p-2, 0x1.aa30fap-3,
    0x1.5c74f6p-3""",
    "three": """
    -0x1.01365ap-4, -0x1.4bcd6p-5, -0x1.ba0798p-6, -0x1.2ef9c6p-6, -0x1.aa2a2p-7, -0x1.32af5ep-7, -0x1.c29708p-8,
    -0x1.51359p-8, -0x1.c253ap-9, -0x1.142fd8p-9, -0x1.636cfep-10, -0x1.dc0f12p-11, -0x1.49d2c8p-11,
    -0x1.d65d0ep-12, -0x1.57d9dp-12, -0x1.00e18ep-12, -0x1.5787b6p-13, -0x1.a801bep-14, -0x1.134aap-14,
    -0x1.747cc2p-15, 0, 0, 0, 0, -0x1.46c70ap-1, -0x1.db73d4p-2, -0x1.5e96b8p-2, -0x1.05d83p-2, -0x1.8bed56p-3,
    -0x1.2ecb96p-3, -0x1.d43c9ep-4, -0x1.6dc986p-4""",
    "four": """
    0x1.d6b416p-6, 0x1.18d802p-6, 0x1.5b1acp-7, 0x1.babe56p-8, 0x1.228576p-8, 0x1.8753bep-9, 0x1.0dbfb2p-9,
    0x1.7bedfp-10, 0x1.d312dap-11, 0x1.012d1ep-11, 0x1.2b75bp-12, 0x1.6dd08p-13, 0x1.d177aap-14, 0x1.328926p-14,
    0x1.a01d42p-15, 0x1.21e956p-15, 0x1.618988p-16, 0x1.83ec76p-17, 0x1.c5299ep-18, 0x1.167f36p-18, 0, 0, 0, 0,
    0x1.a9be54p-2, 0x1.287f76p-2, 0x1.a2b78ap-3, 0x1.2ba08ap-3, 0x1.b23466p-4, 0x1.3e7566p-4, 0x1.d86e0cp-5,
    0x1.627d6ep-5""",
    "five": """
    -0x1.91b286p-7, -0x1.bea112p-8, -0x1.01ae24p-8, -0x1.339b3ap-9, -0x1.7a7f8ep-10, -0x1.df434ap-11,
    -0x1.3736dep-11, -0x1.9df2c4p-12, -0x1.d3f356p-13, -0x1.d185bap-14, -0x1.ecb846p-15, -0x1.137f9ap-15,
    -0x1.42cf52p-16, -0x1.89a14cp-17, -0x1.f11afcp-18, -0x1.437f6cp-18, -0x1.666b9ap-19, -0x1.5ecb0ap-20,
    -0x1.717006p-21, -0x1.9d27eap-22, 0, 0, 0, 0, -0x1.f5b524p-3, -0x1.501132p-3, -0x1.c88692p-4, -0x1.3a7182p-4,
    -0x1.b68a9ep-5, -0x1.35c268p-5, -0x1.ba8074p-6, -0x1.404272p-6""",
}
# For `pow`, of numbers in [1, 2), by their first five bits: inverses, the last of which is 1/2, so that exponent and
# table cancel just below 1; minus log2 of these, of which the first part is a multiple of 2^-16, and so exact with any
# exponent; and powers of two by 32nds. log(1 + r) = r - r^2/2 + r^3 * (c0 + c1*r + ...), -1/61 <= r <= 1/32, and
# 2^s = 1 + s * (c0 + c1*s + ...), |s| <= 1/64. The logarithm's base is changed by LOG2_E in two parts.
POWER = {
    "power_inverse": """
    0x1p+0, 0x1.eap-1, 0x1.dap-1, 0x1.cep-1, 0x1.cp-1, 0x1.b4p-1, 0x1.aap-1, 0x1.9ep-1, 0x1.94p-1, 0x1.8ap-1,
    0x1.82p-1, 0x1.78p-1, 0x1.7p-1, 0x1.68p-1, 0x1.6p-1, 0x1.58p-1, 0x1.52p-1, 0x1.4ap-1, 0x1.44p-1, 0x1.3ep-1,
    0x1.38p-1, 0x1.32p-1, 0x1.2cp-1, 0x1.28p-1, 0x1.22p-1, 0x1.1cp-1, 0x1.18p-1, 0x1.14p-1, 0x1.0ep-1, 0x1.0ap-1,
    0x1.06p-1, 0x1p-1""",
    "power_log2": """
    0x0p+0, 0x1.038p-4, 0x1.c7bp-4, 0x1.2fap-3, 0x1.8a88p-3, 0x1.dacp-3, 0x1.0fa8p-2, 0x1.39ep-2, 0x1.5dfcp-2,
    0x1.8304p-2, 0x1.a154p-2, 0x1.c818p-2, 0x1.e7ep-2, 0x1.042cp-1, 0x1.14c6p-1, 0x1.25cp-1, 0x1.32cp-1,
    0x1.4472p-1, 0x1.52p-1, 0x1.5fcep-1, 0x1.6dep-1, 0x1.7c38p-1, 0x1.8ad8p-1, 0x1.94c2p-1, 0x1.a3e2p-1,
    0x1.b354p-1, 0x1.bdcep-1, 0x1.c87p-1, 0x1.d8acp-1, 0x1.e3b2p-1, 0x1.eee4p-1, 0x1p+0""",
    "power_log2_low": """
    0x0p+0, 0x1.fbef2ap-18, 0x1.4a2dc4p-18, -0x1.cd2a4p-19, 0x1.80abfcp-19, 0x1.169f22p-18, 0x1.20112cp-20,
    -0x1.71eaa6p-18, 0x1.cf1eeap-18, 0x1.b21824p-19, -0x1.0ebd68p-18, 0x1.dc2d46p-18, -0x1.40358ep-19,
    -0x1.5a32c2p-20, -0x1.3e032ep-18, 0x1.408c78p-18, -0x1.1c8f12p-21, -0x1.2ba7fp-18, -0x1.a39fbep-18,
    -0x1.8ec6c2p-20, -0x1.eac382p-20, -0x1.5b7606p-19, 0x1.1b3cdap-19, 0x1.0e9258p-18, 0x1.e95888p-18,
    0x1.61d876p-19, 0x1.3b992cp-18, -0x1.0902b6p-18, -0x1.7ee94p-19, 0x1.51bd56p-23, -0x1.a3aa26p-18, 0x0p+0""",
    "power_two": """
    0x1p+0, 0x1.059b0ep+0, 0x1.0b5586p+0, 0x1.11301ep+0, 0x1.172b84p+0, 0x1.1d4874p+0, 0x1.2387a6p+0, 0x1.29e9ep+0,
    0x1.306fep+0, 0x1.371a74p+0, 0x1.3dea64p+0, 0x1.44e086p+0, 0x1.4bfdaep+0, 0x1.5342b6p+0, 0x1.5ab07ep+0,
    0x1.6247ecp+0, 0x1.6a09e6p+0, 0x1.71f75ep+0, 0x1.7a1148p+0, 0x1.82589ap+0, 0x1.8ace54p+0, 0x1.93737cp+0,
    0x1.9c4918p+0, 0x1.a5503cp+0, 0x1.ae89fap+0, 0x1.b7f77p+0, 0x1.c199bep+0, 0x1.cb720ep+0, 0x1.d5818ep+0,
    0x1.dfc974p+0, 0x1.ea4afap+0, 0x1.f50766p+0""",
    "power_two_low": """
    0x0p+0, -0x1.9d4f52p-25, 0x1.9f3122p-25, -0x1.fdb496p-25, -0x1.c15742p-27, -0x1.d2e8cap-25, 0x1.ceac48p-25,
    -0x1.5c0424p-25, 0x1.4636e2p-25, -0x1.18aac6p-25, 0x1.824684p-25, 0x1.8624b4p-30, -0x1.593abcp-25,
    -0x1.2c561p-25, -0x1.5bd5ecp-27, -0x1.f8b55p-25, 0x1.9fcef4p-26, 0x1.1d8beep-25, -0x1.829fdp-25,
    -0x1.accc7cp-26, 0x1.15506ep-27, -0x1.e64744p-25, 0x1.51f848p-27, -0x1.b83b54p-25, -0x1.a94b14p-26,
    -0x1.a09438p-25, -0x1.3d56b2p-27, -0x1.8837ccp-27, -0x1.822dbcp-27, -0x1.908c94p-25, 0x1.52486cp-27,
    -0x1.246ebp-26""",
}
POWER_CUBE = """
    0x1.555556p-2, -0x1.000078p-2, 0x1.998cc2p-3, -0x1.47a168p-3"""
POWER_EXP2 = """
    0x1.62e43p-1, 0x1.ebfcf4p-3, 0x1.c68bd6p-5"""
# log(1 + r) = r + r^2 * (c0 + c1*r + ...), -1/4 <= r <= 1/2
LOGARITHM = """
    -0x1p-1, 0x1.5555a4p-2, -0x1.fffd98p-3, 0x1.99643cp-3, -0x1.555c04p-3, 0x1.29a198p-3, -0x1.0a5c6ap-3,
    0x1.927afp-4, -0x1.449b9ap-5"""
LOG2_E, LOG2_E_LOW = "0x1.715476p+0", "0x1.4ae0cp-26"
_SIXTEEN = """#define TG_SIXTEEN_ALL(c) ((tg_sixteen_floats){0} + (c))
#define TG_SIXTEEN_FMA(a, b, c) __builtin_ia32_vfmaddps512_mask(a, b, c, (unsigned short)-1, 4)
#define TG_SIXTEEN_PICK(table, j) \\
    __builtin_ia32_vpermt2varps512_mask(j, *(const tg_sixteen_floats *)table, \\
                                        *(const tg_sixteen_floats *)(table + 16), (unsigned short)-1)
#define TG_SIXTEEN_EXPONENT(a) __builtin_ia32_getexpps512_mask(a, a, (unsigned short)-1, 4)
#define TG_SIXTEEN_MANTISSA(a) __builtin_ia32_getmantps512_mask(a, 3, a, (unsigned short)-1, 4) /* in [3/4, 3/2) */
#define TG_SIXTEEN_MEND(a, x, how) \\
    __builtin_ia32_fixupimmps512_mask(a, x, (tg_sixteen_bits){0} + (how), 0, (unsigned short)-1, 4)
#define TG_SIXTEEN_CLOSER(a, b) __builtin_ia32_rangeps512_mask(a, b, 2, a, (unsigned short)-1, 4)"""
# -a^2 = h - lost = n ln2 + r + low, e^r = 1 + r + p. What is small is added up first, so that little is rounded twice.
# Below 0 it is 2 - erfc(a). Beyond 10.1 it is 0, NaN stays.
_ERFC = """/* tg_sixteen */
TG_EIGHT_VARIANT tg_sixteen_floats _ZGVeN16v_erfcf(tg_sixteen_floats x)
{
    const tg_sixteen_bits bits = (tg_sixteen_bits)x & 0x7fffffff;
    const tg_sixteen_floats a = __builtin_ia32_minps512_mask(
        TG_SIXTEEN_ALL(10.5f), (tg_sixteen_floats)bits, x, (unsigned short)-1, 4);
    const tg_sixteen_bits j = (tg_sixteen_bits)(a + 1) >> 20;
    const tg_sixteen_floats h = -(a * a), lost = TG_SIXTEEN_FMA(a, a, h), shift = TG_SIXTEEN_ALL(0x1.8p23f);
    const tg_sixteen_floats n = TG_SIXTEEN_FMA(h, TG_SIXTEEN_ALL(0x1.715476p+0f), shift) - shift;
    const tg_sixteen_floats r = TG_SIXTEEN_FMA(n, TG_SIXTEEN_ALL(-0x1.62e43p-1f), h); /* exact */
    const tg_sixteen_floats low = TG_SIXTEEN_FMA(n, TG_SIXTEEN_ALL(0x1.05c61p-29f), -lost), z = r * r;
    const tg_sixteen_floats p0 = TG_SIXTEEN_FMA(r, TG_SIXTEEN_ALL($EXP1), TG_SIXTEEN_ALL($EXP0));
    const tg_sixteen_floats p1 = TG_SIXTEEN_FMA(r, TG_SIXTEEN_ALL($EXP3), TG_SIXTEEN_ALL($EXP2));
    const tg_sixteen_floats p = TG_SIXTEEN_FMA(TG_SIXTEEN_FMA(z, TG_SIXTEEN_ALL($EXP4), p1), z, p0) * z;
    const tg_sixteen_floats t = a - TG_SIXTEEN_PICK(tg_sixteen_erfc_centre, j), t2 = t * t;
    const tg_sixteen_floats first = TG_SIXTEEN_PICK(tg_sixteen_erfc_first, j);
    const tg_sixteen_floats q0 = TG_SIXTEEN_FMA(
        t, TG_SIXTEEN_PICK(tg_sixteen_erfc_two, j), TG_SIXTEEN_PICK(tg_sixteen_erfc_one, j));
    const tg_sixteen_floats q1 = TG_SIXTEEN_FMA(
        t, TG_SIXTEEN_PICK(tg_sixteen_erfc_four, j), TG_SIXTEEN_PICK(tg_sixteen_erfc_three, j));
    const tg_sixteen_floats q2 = TG_SIXTEEN_FMA(t2, TG_SIXTEEN_PICK(tg_sixteen_erfc_five, j), q1);
    const tg_sixteen_floats rest = TG_SIXTEEN_FMA(q2, t2, q0) * t, all = first + rest;
    const tg_sixteen_floats less = TG_SIXTEEN_FMA(all, TG_SIXTEEN_FMA(low, r + p, low), rest);
    const tg_sixteen_floats e = first + TG_SIXTEEN_FMA(r, all, TG_SIXTEEN_FMA(p, all, less));
    const tg_sixteen_floats y = __builtin_ia32_scalefps512_mask(e, n, e, (unsigned short)-1, 4);
    return __builtin_ia32_blendmps_512_mask(y, 2 - y, __builtin_ia32_cvtd2mask512((tg_sixteen_bits)x));
}"""


def pow_one_by_one(number: str, function: str, name: str, vector: str, lanes: int) -> str:
    """The texts that leave some powers of a vector to libm."""
    one = f'{number} {name}_pow_one({number} x, {number} y) __asm__("{function}");'
    return f"""{one} /* of which gcc is not to make vectors */
__attribute__((noinline, cold))
static {vector} {name}_pow_rest({vector} x, {vector} y, {vector} out, int which)
{{
    for (int l = 0; l < {lanes}; l++)
        if (which >> l & 1) out[l] = {name}_pow_one(x[l], y[l]);
    return out;
}}"""


# The logarithm in two parts, of which the second is small, though not always less than what the first one's rounding
# leaves: y times both says to which 32nd an exponent is rounded. Beyond 2^33 y says no more, and its product with a
# logarithm would be infinite. Far out the rest is anything: held to 1, it does no harm, as 2^n is 0 or infinite. Bases
# that are zero, negative or no number, exponents that are not finite, and results below the normal ones, which were
# rounded before, are left to libm, one by one.
_POW = (
    "/* tg_sixteen */\n"
    + pow_one_by_one("float", "powf", "tg_sixteen", "tg_sixteen_floats", 16)
    + """
TG_EIGHT_VARIANT tg_sixteen_floats _ZGVeN16vv_powf(tg_sixteen_floats x, tg_sixteen_floats given)
{
    const tg_sixteen_floats y = TG_SIXTEEN_CLOSER(given, TG_SIXTEEN_ALL(0x1p33f));
    const tg_sixteen_floats m = __builtin_ia32_getmantps512_mask(x, 0, x, (unsigned short)-1, 4); /* in [1, 2) */
    const tg_sixteen_floats k = __builtin_ia32_getexpps512_mask(x, x, (unsigned short)-1, 4);
    const tg_sixteen_bits j = (tg_sixteen_bits)m >> 18;
    const tg_sixteen_floats inverse = TG_SIXTEEN_PICK(tg_sixteen_power_inverse, j), near = m * inverse, r = near - 1;
    const tg_sixteen_floats lost = TG_SIXTEEN_FMA(m, inverse, -near); /* log(1 + r + lost) */
    const tg_sixteen_floats half = r * TG_SIXTEEN_ALL(-0.5f), v = TG_SIXTEEN_FMA(r, half, r), z = r * r;
    const tg_sixteen_floats q0 = TG_SIXTEEN_FMA(r, TG_SIXTEEN_ALL($CUBE1), TG_SIXTEEN_ALL($CUBE0));
    const tg_sixteen_floats q1 = TG_SIXTEEN_FMA(r, TG_SIXTEEN_ALL($CUBE3), TG_SIXTEEN_ALL($CUBE2));
    const tg_sixteen_floats less = TG_SIXTEEN_FMA(r, half, r - v) + TG_SIXTEEN_FMA(lost, -r, lost);
    const tg_sixteen_floats low = TG_SIXTEEN_FMA(z * r, TG_SIXTEEN_FMA(q1, z, q0), less);
    const tg_sixteen_floats e = TG_SIXTEEN_ALL($LOG2_E), p = v * e;
    const tg_sixteen_floats rest = TG_SIXTEEN_FMA(v, TG_SIXTEEN_ALL($LOG2_E_LOW), TG_SIXTEEN_FMA(v, e, -p));
    const tg_sixteen_floats top = k + TG_SIXTEEN_PICK(tg_sixteen_power_log2, j), high = top + p;
    const tg_sixteen_floats end = TG_SIXTEEN_FMA(low, e, rest) + TG_SIXTEEN_PICK(tg_sixteen_power_log2_low, j);
    const tg_sixteen_floats g = y * high, shift = TG_SIXTEEN_ALL(0x1.8p23f / 32);
    const tg_sixteen_floats gone = TG_SIXTEEN_FMA(y, ((top - high) + p) + end, TG_SIXTEEN_FMA(y, high, -g));
    const tg_sixteen_floats t = TG_SIXTEEN_CLOSER(g + gone, TG_SIXTEEN_ALL(512.0f)) + shift, n = t - shift;
    const tg_sixteen_floats s = TG_SIXTEEN_CLOSER((g - n) + gone, TG_SIXTEEN_ALL(1.0f));
    const tg_sixteen_floats f = TG_SIXTEEN_FMA(s, TG_SIXTEEN_ALL($TWO2), TG_SIXTEEN_ALL($TWO1));
    const tg_sixteen_floats exp2 = TG_SIXTEEN_FMA(f, s, TG_SIXTEEN_ALL($TWO0)) * s;
    const tg_sixteen_floats two = TG_SIXTEEN_PICK(tg_sixteen_power_two, (tg_sixteen_bits)t);
    const tg_sixteen_floats small = TG_SIXTEEN_PICK(tg_sixteen_power_two_low, (tg_sixteen_bits)t);
    const tg_sixteen_floats power = two + TG_SIXTEEN_FMA(two, exp2, small);
    const tg_sixteen_floats out = __builtin_ia32_scalefps512_mask(power, n, power, (unsigned short)-1, 4);
    const int bases = __builtin_ia32_fpclassps512_mask(x, 0xdf, -1);
    const int kinds = bases | __builtin_ia32_fpclassps512_mask(given, 0x99, -1);
    const int rare = (kinds | __builtin_ia32_fpclassps512_mask(out, 0x20, -1)) & 0xffff;
    return __builtin_expect(rare, 0) ? tg_sixteen_pow_rest(x, given, out, rare) : out;
}"""
)
# Zeros give -infinity, negative numbers NaN, infinity and NaN stay. What is small is added up first.
_LOG = """/* tg_sixteen */
TG_EIGHT_VARIANT tg_sixteen_floats _ZGVeN16v_logf(tg_sixteen_floats x)
{
    const tg_sixteen_floats m = TG_SIXTEEN_MANTISSA(x), k = TG_SIXTEEN_EXPONENT(x) - TG_SIXTEEN_EXPONENT(m);
    const tg_sixteen_floats r = m - 1, z = r * r;
    const tg_sixteen_floats a = TG_SIXTEEN_FMA(r, TG_SIXTEEN_ALL($LOG1), TG_SIXTEEN_ALL($LOG0));
    const tg_sixteen_floats b = TG_SIXTEEN_FMA(r, TG_SIXTEEN_ALL($LOG3), TG_SIXTEEN_ALL($LOG2));
    const tg_sixteen_floats d = TG_SIXTEEN_FMA(r, TG_SIXTEEN_ALL($LOG5), TG_SIXTEEN_ALL($LOG4));
    const tg_sixteen_floats e = TG_SIXTEEN_FMA(r, TG_SIXTEEN_ALL($LOG7), TG_SIXTEEN_ALL($LOG6));
    const tg_sixteen_floats f = TG_SIXTEEN_FMA(TG_SIXTEEN_FMA(z, TG_SIXTEEN_ALL($LOG8), e), z, d);
    const tg_sixteen_floats q = TG_SIXTEEN_FMA(TG_SIXTEEN_FMA(f, z, b), z, a);
    const tg_sixteen_floats y = r + TG_SIXTEEN_FMA(z, q, k * TG_SIXTEEN_ALL($LN2_LOW));
    return TG_SIXTEEN_MEND(TG_SIXTEEN_FMA(k, TG_SIXTEEN_ALL($LN2), y), x, 0x03530422);
}"""
VARIANTS = {"erfcf": _ERFC, "powf": _POW, "logf": _LOG}
WORDS = {f"$CUBE{k}": f"{c}f" for k, c in enumerate(POWER_CUBE.replace(",", " ").split())}
WORDS |= {f"$TWO{k}": f"{c}f" for k, c in enumerate(POWER_EXP2.replace(",", " ").split())}
WORDS |= {"$LOG2_E_LOW": f"{LOG2_E_LOW}f", "$LOG2_E": f"{LOG2_E}f"}
WORDS |= {f"$LOG{k}": f"{c}f" for k, c in enumerate(LOGARITHM.replace(",", " ").split())}
WORDS |= {"$LN2_LOW": float32.LOW, "$LN2": float32.HIGH}


def _table(name: str, numbers: str) -> str:
    words = ", ".join(f"{n}f" if "p" in n else n for n in numbers.replace(",", " ").split())
    return f"static const float {name}[{numbers.count(',') + 1}] __attribute__((aligned(64))) = {{{words}}};"


def functions() -> dict[str, str]:
    """The types, tables and helpers by name; they stand behind those of `avx512.py`."""
    tables = {f"tg_sixteen_erfc_{name}": numbers for name, numbers in SCALED_ERFC.items()}
    tables |= {f"tg_sixteen_{name}": numbers for name, numbers in POWER.items()}
    return {"tg_sixteen": _SIXTEEN} | {name: _table(name, numbers) for name, numbers in tables.items()}
