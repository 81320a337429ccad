"""Vector versions of `exp`, `expm1`, `log` and `pow` for vectors of 64 bytes. Pure text.

gcc calls them in vector loops in the place of libmvec's, whose names they have: they take half of its time and are
closer to the right numbers. `scripts/fit_float64.py` derives their tables and measures both. Largest errors in units
of the last place, libmvec's in brackets: exp 0.55 (3.1), expm1 2.0 (2.1), log 0.77 (1.6), pow 0.7 (1.0).
"""

from __future__ import annotations

from termgraph._lazy import pattern
from termgraph.backends.c.build import compilers
from termgraph.backends.c.text import avx512_single, float32

# 2^(j/16), and what it lacks. The index of an element is in the last bits of 16 x / ln2, rounded to a whole number.
TWO = """
    0x1p+0, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0, 0x1.2387a6e756238p+0, 0x1.306fe0a31b715p+0,
    0x1.3dea64c123422p+0, 0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0, 0x1.6a09e667f3bcdp+0, 0x1.7a11473eb0187p+0,
    0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f09p+0, 0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0, 0x1.d5818dcfba487p+0,
    0x1.ea4afa2a490dap+0"""
TWO_LOW = """
    0x0p+0, 0x1.8a62e4adc610bp-54, -0x1.19041b9d78a76p-55, 0x1.9b07eb6c70573p-54, 0x1.6f46ad23182e4p-55,
    0x1.ada0911f09ebcp-55, 0x1.d4397afec42e2p-56, 0x1.6324c054647adp-54, -0x1.bdd3413b26456p-54,
    -0x1.41577ee04992fp-55, 0x1.6e9f156864b27p-54, 0x1.c7c46b071f2bep-56, 0x1.7a1cd345dcc81p-54,
    0x1.11065895048ddp-55, 0x1.2ed02d75b3707p-55, -0x1.e9c23179c2893p-54"""
# e^r = 1 + r + r^2 * (c0 + c1*r + ...), |r| <= ln2 / 32
EXP = """
    0x1.0000000000004p-1, 0x1.555555555555ap-3, 0x1.555555547f1adp-5, 0x1.111111107bf61p-7, 0x1.6c1841c11317bp-10,
    0x1.a01ba094f40ccp-13"""
# Of a number in [3/4, 3/2) the first four bits after the point are the index of its inverse, near enough; minus the
# inverse's logarithm, of which the first part is a multiple of 2^-42, and so exact with any multiple of ln2's.
INVERSE = """
    0x1p+0, 0x1.d4p-1, 0x1.bbp-1, 0x1.a4p-1, 0x1.9p-1, 0x1.7dp-1, 0x1.6cp-1, 0x1.5dp-1, 0x1.4e8p+0, 0x1.418p+0,
    0x1.35p+0, 0x1.2ap+0, 0x1.1f8p+0, 0x1.158p+0, 0x1.0c8p+0, 0x1p+0"""
INVERSE_HIGH = """
    0x0p+0, 0x1.700d30aeacp-4, 0x1.28753bc11ap-3, 0x1.95a5adcf7p-3, 0x1.f991c6cb3cp-3, 0x1.2e9e2bce12p-2,
    0x1.5d5bddf596p-2, 0x1.8873658328p-2, -0x1.11e0e2dadap-2, -0x1.d293581b6cp-3, -0x1.815c0a1436p-3,
    -0x1.371fc201e8p-3, -0x1.db5270187cp-4, -0x1.4a50d3aa1cp-4, -0x1.868a83084p-5, 0x0p+0"""
INVERSE_LOW = """
    0x0p+0, 0x1.c1e8da99ded32p-49, 0x1.7494e359302e6p-44, 0x1.7f22858a0ff6fp-47, -0x1.90d04cd7cc834p-44,
    0x1.4300c128d1dc2p-45, -0x1.a0b2a08a465dcp-47, -0x1.988e21f7fc497p-45, 0x1.a47f88fcce5bap-45,
    0x1.83270128aaa5fp-44, 0x1.02a52f9201ce8p-44, -0x1.ee8779b2d8abcp-44, -0x1.9277856ae181fp-44,
    0x1.f7fe1308973e2p-45, 0x1.2623a134ac693p-46, 0x0p+0"""
# log(1 + r) = r + r^2 * (c0 + c1*r + ...), -1/31 <= r <= 1/16
LOG = """
    -0x1.fffffffffffffp-2, 0x1.5555555555573p-2, -0x1.0000000001d2p-2, 0x1.9999999969f66p-3, -0x1.5555552a58372p-3,
    0x1.24924891d01dbp-3, -0x1.0000bb97dd765p-3, 0x1.c73209b7f97bp-4, -0x1.97ca88ed1118ap-4, 0x1.41ab2c2aecf8ap-4"""
# The same for `pow`, of numbers in [45/64, 45/32): 1 stands in the middle of what shares its inverse, so that r is half
# as far from 0. log(1 + r) = r - r^2/2 + r^3 * (c0 + c1*r + ...), |r| <= 1/32
MIDDLE = """
    0x1.64p+0, 0x1.55p+0, 0x1.48p+0, 0x1.3bp+0, 0x1.2fp+0, 0x1.25p+0, 0x1.1ap+0, 0x1.11p+0, 0x1.08p+0, 0x1p+0,
    0x1.e2p-1, 0x1.c8p-1, 0x1.bp-1, 0x1.9ap-1, 0x1.86p-1, 0x1.74p-1"""
MIDDLE_HIGH = """
    -0x1.51aad872ep-2, -0x1.2596010df7p-2, -0x1.fb9186d5e4p-3, -0x1.a8becfc882p-3, -0x1.59338d9982p-3,
    -0x1.1478584674p-3, -0x1.8c345d6318p-4, -0x1.075983599p-4, -0x1.f829b0e78p-6, 0x0p+0, 0x1.eea31c0068p-5,
    0x1.da72763844p-4, 0x1.5bf406b544p-3, 0x1.c6ffbc6fp-3, 0x1.16b5ccbadp-2, 0x1.4718dc271cp-2"""
MIDDLE_LOW = """
    0x1.f4bd8db0a7cc1p-44, -0x1.8e7bc224ea3e3p-44, 0x1.d572aab993c87p-47, -0x1.e3185cf21b9cfp-44,
    -0x1.0ba68b7555d4ap-48, -0x1.563451027c75p-46, -0x1.b20f5acb42a66p-44, 0x1.b8ecfe4b59987p-44,
    -0x1.980267c7e09e4p-45, 0x0p+0, 0x1.c3dd83606d891p-44, 0x1.a89401fa71733p-46, -0x1.27023eb68981cp-46,
    0x1.ee138d3a69d43p-44, -0x1.23299042d74bfp-44, 0x1.06c18fb4c14c5p-44"""
CUBE = """
    0x1.5555555555555p-2, -0x1.ffffffffffed9p-3, 0x1.9999999999568p-3, -0x1.55555557ac34fp-3, 0x1.249249293bf8ep-3,
    -0x1.ffffcda1aa5f5p-4, 0x1.c71c2a997b365p-4, -0x1.9a76b95c91f5cp-4, 0x1.7552afb54c4dp-4"""


def _table(name: str, numbers: str) -> str:
    return f"static const double {name}[{numbers.count(',') + 1}] __attribute__((aligned(64))) = {{{numbers}}};"


# Hidden and weak: objects that are linked together may both hold them. `TG_EIGHT_CLOSER` is the nearer to 0 of two
# numbers, with the sign of the first; what is no number is 1 then.
_EIGHT = """#ifdef __has_builtin
#if !defined(__clang__) && $BUILTINS
#define TG_EIGHT
typedef double tg_eight __attribute__((vector_size(64)));
typedef long long tg_eight_bits __attribute__((vector_size(64)));
typedef float tg_sixteen_floats __attribute__((vector_size(64)));
typedef int tg_sixteen_bits __attribute__((vector_size(64)));
#define TG_EIGHT_INLINE static inline __attribute__((always_inline))
#define TG_EIGHT_VARIANT __attribute__((weak, visibility("hidden")))
#define TG_EIGHT_ALL(c) ((tg_eight){0} + (c))
#define TG_EIGHT_FMA(a, b, c) __builtin_ia32_vfmaddpd512_mask(a, b, c, (unsigned char)-1, 4)
#define TG_EIGHT_LINE(x, c, k) TG_EIGHT_FMA(x, TG_EIGHT_ALL(c[k + 1]), TG_EIGHT_ALL(c[k])) /* of a polynomial */
#define TG_EIGHT_PICK(table, j) \\
    __builtin_ia32_vpermt2varpd512_mask(j, *(const tg_eight *)table, *(const tg_eight *)(table + 8), (unsigned char)-1)
#define TG_EIGHT_SCALE(a, n) __builtin_ia32_scalefpd512_mask(a, n, a, (unsigned char)-1, 4) /* by 2^n, n rounded down */
#define TG_EIGHT_FLOOR(a) __builtin_ia32_rndscalepd_mask(a, 1, a, (unsigned char)-1, 4)
#define TG_EIGHT_CLOSER(a, b) __builtin_ia32_rangepd512_mask(a, b, 2, a, (unsigned char)-1, 4)
#define TG_EIGHT_EXPONENT(a) __builtin_ia32_getexppd512_mask(a, a, (unsigned char)-1, 4)
#define TG_EIGHT_MANTISSA(a) __builtin_ia32_getmantpd512_mask(a, 3, a, (unsigned char)-1, 4) /* in [3/4, 3/2) */
#define TG_EIGHT_KINDS(a, kinds) __builtin_ia32_fpclasspd512_mask(a, kinds, (unsigned char)-1)
#define TG_EIGHT_MEND(a, x, how) \\
    __builtin_ia32_fixupimmpd512_mask(a, x, (tg_eight_bits){0} + (how), 0, (unsigned char)-1, 4)
#endif
#endif"""
# x - n ln2, of which 16 n is a whole number
_REDUCED = """TG_EIGHT_INLINE tg_eight tg_eight_reduced(tg_eight x, tg_eight *n, tg_eight_bits *j)
{
    const tg_eight shift = TG_EIGHT_ALL(0x1.8p52 / 16), t = TG_EIGHT_FMA(x, TG_EIGHT_ALL(0x1.71547652b82fep+0), shift);
    *n = t - shift, *j = (tg_eight_bits)t;
    const tg_eight r = TG_EIGHT_FMA(*n, TG_EIGHT_ALL(-0x1.62e42fefa39efp-1), x);
    return TG_EIGHT_FMA(*n, TG_EIGHT_ALL(-0x1.abc9e3b39803fp-56), r);
}"""
_EXPM1_SMALL = """TG_EIGHT_INLINE tg_eight tg_eight_expm1_small(tg_eight r)
{
    const double *c = tg_eight_exp;
    const tg_eight z = r * r, a = TG_EIGHT_LINE(r, c, 0);
    const tg_eight b = TG_EIGHT_LINE(r, c, 2);
    const tg_eight d = TG_EIGHT_LINE(r, c, 4);
    return TG_EIGHT_FMA(TG_EIGHT_FMA(TG_EIGHT_FMA(d, z, b), z, a), z, r);
}"""
# Far out the rest is anything: held to 1, it does no harm, as 2^n is 0 or infinite.
_EXP = """TG_EIGHT_VARIANT tg_eight _ZGVeN8v_exp(tg_eight x)
{
    tg_eight n;
    tg_eight_bits j;
    const tg_eight r = TG_EIGHT_CLOSER(tg_eight_reduced(x, &n, &j), TG_EIGHT_ALL(1.0));
    const tg_eight p = tg_eight_expm1_small(r), s = TG_EIGHT_PICK(tg_eight_two, j);
    return TG_EIGHT_SCALE(s + TG_EIGHT_FMA(s, p, TG_EIGHT_PICK(tg_eight_two_low, j)), n);
}"""
# e^x - 1 = 2^k * ((s - 2^-k) + s * p): below -40 it is -1, and above 1000 infinite. What is no number stays, and zeros.
# 2^-k does not get so small that the processor takes 100 cycles for it; n is k and some sixteenths.
_EXPM1 = """TG_EIGHT_VARIANT tg_eight _ZGVeN8v_expm1(tg_eight x)
{
    tg_eight n;
    tg_eight_bits j;
    const tg_eight below = __builtin_ia32_minpd512_mask(TG_EIGHT_ALL(1000.0), x, x, (unsigned char)-1, 4);
    const tg_eight inside = __builtin_ia32_maxpd512_mask(TG_EIGHT_ALL(-40.0), below, x, (unsigned char)-1, 4);
    const tg_eight p = tg_eight_expm1_small(tg_eight_reduced(inside, &n, &j)), s = TG_EIGHT_PICK(tg_eight_two, j);
    const tg_eight k = TG_EIGHT_CLOSER(0.9375 - n, TG_EIGHT_ALL(100.0)), one = TG_EIGHT_SCALE(TG_EIGHT_ALL(1.0), k);
    const tg_eight a = s - one;
    const tg_eight rest = TG_EIGHT_FMA(s, p, TG_EIGHT_PICK(tg_eight_two_low, j)) + ((s - a) - one);
    return TG_EIGHT_MEND(TG_EIGHT_SCALE(a + rest, n), x, 0x122);
}"""
# Zeros give -infinity, negative numbers NaN, infinity and NaN stay.
_LOG = """TG_EIGHT_VARIANT tg_eight _ZGVeN8v_log(tg_eight x)
{
    const double *c = tg_eight_log;
    const tg_eight m = TG_EIGHT_MANTISSA(x), k = TG_EIGHT_EXPONENT(x) - TG_EIGHT_EXPONENT(m);
    const tg_eight_bits j = (tg_eight_bits)m >> 48;
    const tg_eight r = TG_EIGHT_FMA(m, TG_EIGHT_PICK(tg_eight_inverse, j), TG_EIGHT_ALL(-1.0)), z = r * r, z2 = z * z;
    const tg_eight high = TG_EIGHT_FMA(k, TG_EIGHT_ALL($HIGH), TG_EIGHT_PICK(tg_eight_inverse_high, j));
    const tg_eight low = TG_EIGHT_FMA(k, TG_EIGHT_ALL($LOW), TG_EIGHT_PICK(tg_eight_inverse_low, j));
    const tg_eight a = TG_EIGHT_LINE(r, c, 0);
    const tg_eight b = TG_EIGHT_LINE(r, c, 2);
    const tg_eight d = TG_EIGHT_LINE(r, c, 4);
    const tg_eight e = TG_EIGHT_LINE(r, c, 6);
    const tg_eight f = TG_EIGHT_LINE(r, c, 8);
    const tg_eight q = TG_EIGHT_FMA(TG_EIGHT_FMA(TG_EIGHT_FMA(f, z, e), z2, TG_EIGHT_FMA(d, z, b)), z, a);
    const tg_eight w = high + r;
    return TG_EIGHT_MEND(w + TG_EIGHT_FMA(z, q, ((high - w) + r) + low), x, 0x03530422);
}"""
# e^(y * (high + low)), the logarithm in two parts. Bases that are no positive normal number, and exponents that are not
# finite, are left to libm, one by one.
_POW = (
    avx512_single.pow_one_by_one("double", "pow", "tg_eight", "tg_eight", 8)
    + """
TG_EIGHT_VARIANT tg_eight _ZGVeN8vv_pow(tg_eight x, tg_eight y)
{
    const double *c = tg_eight_cube;
    const tg_eight_bits bits = (tg_eight_bits)x & 0x7fffffffffffffff, from = bits - 0x3fe6800000000000; /* 45/64 */
    tg_eight_bits j = from >> 48;
    const tg_eight m = (tg_eight)(bits - (from >> 52 << 52)), k = __builtin_convertvector(from >> 52, tg_eight);
    const tg_eight inverse = TG_EIGHT_PICK(tg_eight_middle, j), p = m * inverse, r = p - 1;
    const tg_eight lost = TG_EIGHT_FMA(m, inverse, -p), z = r * r, half = z * -0.5; /* log(1 + r + lost) */
    const tg_eight top = TG_EIGHT_FMA(k, TG_EIGHT_ALL($HIGH), TG_EIGHT_PICK(tg_eight_middle_high, j));
    const tg_eight end = TG_EIGHT_FMA(k, TG_EIGHT_ALL($LOW), TG_EIGHT_PICK(tg_eight_middle_low, j));
    const tg_eight a = TG_EIGHT_LINE(r, c, 0);
    const tg_eight b = TG_EIGHT_LINE(r, c, 2);
    const tg_eight d = TG_EIGHT_LINE(r, c, 4);
    const tg_eight e = TG_EIGHT_LINE(r, c, 6);
    const tg_eight f = TG_EIGHT_FMA(z, TG_EIGHT_ALL(c[8]), e);
    const tg_eight q = TG_EIGHT_FMA(TG_EIGHT_FMA(TG_EIGHT_FMA(f, z, d), z, b), z, a);
    const tg_eight u = top + r, v = u + half;
    const tg_eight w = end + TG_EIGHT_FMA(z - r, lost, lost), square = TG_EIGHT_FMA(r, r, -z);
    const tg_eight small = (((top - u) + r) + ((u - v) + half)) + TG_EIGHT_FMA(square, TG_EIGHT_ALL(-0.5), w);
    const tg_eight rest = TG_EIGHT_FMA(r * z, q, small);
    const tg_eight high = v + rest, low = (v - high) + rest, g = y * high;
    const tg_eight gone = TG_EIGHT_FMA(y, low, TG_EIGHT_FMA(y, high, -g));
    tg_eight n;
    const tg_eight s = tg_eight_expm1_small(TG_EIGHT_CLOSER(tg_eight_reduced(g, &n, &j) + gone, TG_EIGHT_ALL(1.0)));
    const tg_eight two = TG_EIGHT_PICK(tg_eight_two, j);
    const tg_eight out = TG_EIGHT_SCALE(two + TG_EIGHT_FMA(two, s, TG_EIGHT_PICK(tg_eight_two_low, j)), n);
    const int rare = TG_EIGHT_KINDS(x, 0xff) | TG_EIGHT_KINDS(y, 0x99);
    return __builtin_expect(rare, 0) ? tg_eight_pow_rest(x, y, out, rare) : out;
}"""
)
HIGH, LOW = "0x1.62e42fefa38p-1", "0x1.ef35793c7673p-45"  # ln2; the first is a multiple of 2^-42
_BUILTIN = pattern(r"__builtin_ia32_\w+")  # gcc knows them where the processor does, and may name them anew
NEEDED = {"avx512f", "avx512dq"}
VARIANTS = {"exp": _EXP, "expm1": _EXPM1, "log": _LOG, "pow": _POW, **avx512_single.VARIANTS}
WORDS = {"$HIGH": HIGH, "$LOW": LOW} | avx512_single.WORDS
WORDS |= {f"$EXP{k}": number for k, number in enumerate(float32.EXP)}


def functions(inline: str) -> dict[str, str]:
    """The types, tables and helpers by name; they say themselves how they are written in."""
    tables = {
        "two": TWO, "two_low": TWO_LOW, "exp": EXP, "log": LOG, "inverse": INVERSE, "inverse_high": INVERSE_HIGH,
        "inverse_low": INVERSE_LOW, "middle": MIDDLE, "middle_high": MIDDLE_HIGH, "middle_low": MIDDLE_LOW,
        "cube": CUBE,
    }  # fmt: skip
    texts = {f"tg_eight_{name}": _table(f"tg_eight_{name}", numbers) for name, numbers in tables.items()}
    texts |= {"tg_eight_reduced": _REDUCED, "tg_eight_expm1_small": _EXPM1_SMALL} | avx512_single.functions()
    used = sorted(set(_BUILTIN.findall("".join([_EIGHT, *texts.values(), *VARIANTS.values()]))))
    known = " \\\n    && ".join([f"__has_builtin({name})" for name in used])
    guarded = {name: f"#ifdef TG_EIGHT /* by tg_eight */\n{text}\n#endif" for name, text in texts.items()}
    return {"tg_eight": _EIGHT.replace("$BUILTINS", known)} | guarded


def variant(name: str) -> str:
    """The version of a function that libmvec has, if there is one here for this processor's vectors; else nothing."""
    if name not in VARIANTS or not compilers.processor_flags() >= NEEDED:
        return ""
    text = VARIANTS[name]
    for word, number in WORDS.items():
        text = text.replace(word, number)
    return f"\n#ifdef TG_EIGHT\n{text}\n#endif"
