"""C text of log(1 - exp(x)) for negative x as vector code inside loops: one exponential, one logarithm. Pure text.

1 - e^x is what a polynomial says near 0, and a subtraction elsewhere, of which the logarithm is told what it lost.
"""

from __future__ import annotations

from termgraph.backends.c.text import avx512
from termgraph.backends.c.text.bessel import horner
from termgraph.backends.c.text.float32 import WIDE
from termgraph.backends.c.text.gammas import COEFFICIENTS

# From u = 1 - e, rounded, log(1 - e) is log(u) + (1 - u - e) / u, of which 2 - u is as good as 1 / u. That step is
# multiplied, not chosen: gcc would move the exponential into a branch. The sign is that of -exp(x), far away too.
_TEXT = """{t} tg_log1mexp_{n}({t} x)
{{
    const _Bool near = x > {edge};
    const {t} r = near ? x : 0, t = r - {middle}, q = t * t, rest = tg_own_fma{f}(t, {odd}, {even});
    const {t} small = -tg_own_fma{f}(r * r, rest, r), e = {exp}(x), u = near ? small : 1 - e;
    const {t} lost = u - 1 + e, whether = near ? 0 : 1;
    $LOG
}}"""
# As log1p has it; libmvec's logarithm is off by 3 units near 0.7. What was lost is taken off where u - 1 is exact.
_SINGLE = """const _Bool tiny = u < 0x1p-125f; /* below, 4 / u is no finite number */
    const float whole = tiny ? u * 0x1p24f : u, less = tiny ? 16.635532f : 0; /* 24 log(2) */
    const uint32_t k = (0x3fb504f2u - tg_own_bits(whole)) & 0xff800000u;
    const float s = tg_own_of_bits(0x40800000u + k), g = tg_own_fma(whole, s, -4) - whether * lost * s;
    const float y = -fabsf(tg_own_log_sum(g, (float)(int32_t)k) - less);
    const float beyond = x == 0 ? -__builtin_inff() : __builtin_nanf("");
    return x < 0 ? y : beyond;"""
# libmvec's logarithm of float64 takes twice as long as the parts of one that the gamma function has.
_OWN = """const _Bool tiny = u < 0x1p-1022;
    double low, less = tiny ? 37.429947750237048 : 0; /* 54 log(2) */
    const double high = tg_log_parts_f64(tiny ? u * 0x1p54 : u, less, &low);
    const double y = -fabs(high + (low - whether * lost * (2 - u)));
    const double beyond = x == 0 ? -__builtin_inf() : __builtin_nan("");
    return x < 0 ? y : beyond;"""
# Vectors of 64 bytes: e^x = 2^k * (s + s*p) as `expm1` has it, so that 1 - e^x = 2^k * ((2^-k - s) - s*p) is had in two
# parts wherever x is, and its logarithm is told what the second one adds. Below -40 it is -e^x. Other vectors are the
# first lanes of such ones.
_EIGHT = """typedef double tg_log1mexp_two __attribute__((vector_size(16)));
typedef double tg_log1mexp_four __attribute__((vector_size(32)));
__attribute__((simd("notinbranch"), const)) double tg_log1mexp_f64(double x);
TG_EIGHT_VARIANT tg_eight _ZGVeN8v_tg_log1mexp_f64(tg_eight x)
{
    tg_eight n;
    tg_eight_bits j;
    const tg_eight p = tg_eight_expm1_small(TG_EIGHT_CLOSER(tg_eight_reduced(x, &n, &j), TG_EIGHT_ALL(1.0)));
    const tg_eight s = TG_EIGHT_PICK(tg_eight_two, j), low = TG_EIGHT_PICK(tg_eight_two_low, j), k = TG_EIGHT_FLOOR(n);
    const tg_eight one = TG_EIGHT_SCALE(TG_EIGHT_ALL(1.0), -k), a = one - s;
    const tg_eight rest = TG_EIGHT_FMA(-s, p, ((one - a) - s) - low), u = a + rest, lost = (a - u) + rest;
    const tg_eight big = __builtin_ia32_maxpd512_mask(u, TG_EIGHT_ALL(0x1p-500), u, (unsigned char)-1, 4);
    const tg_eight by = __builtin_ia32_rcp14pd512_mask(big, big, (unsigned char)-1);
    const tg_eight y = TG_EIGHT_FMA(lost, by, _ZGVeN8v_log(TG_EIGHT_SCALE(u, k)));
    const tg_eight e = -TG_EIGHT_SCALE(s + TG_EIGHT_FMA(s, p, low), n);
    const unsigned char far = __builtin_ia32_cmppd512_mask(x, TG_EIGHT_ALL(-40.0), 1, (unsigned char)-1, 4);
    return TG_EIGHT_MEND(__builtin_ia32_blendmpd_512_mask(y, e, far), x, 0x30373422);
}
TG_EIGHT_VARIANT tg_log1mexp_four _ZGVdN4v_tg_log1mexp_f64(tg_log1mexp_four x)
{
    const tg_eight y = _ZGVeN8v_tg_log1mexp_f64((tg_eight){x[0], x[1], x[2], x[3]});
    return (tg_log1mexp_four){y[0], y[1], y[2], y[3]};
}
TG_EIGHT_VARIANT tg_log1mexp_four _ZGVcN4v_tg_log1mexp_f64(tg_log1mexp_four x) { return _ZGVdN4v_tg_log1mexp_f64(x); }
TG_EIGHT_VARIANT tg_log1mexp_two _ZGVbN2v_tg_log1mexp_f64(tg_log1mexp_two x)
{
    const tg_eight y = _ZGVeN8v_tg_log1mexp_f64((tg_eight){x[0], x[1]});
    return (tg_log1mexp_two){y[0], y[1]};
}
TG_EIGHT_VARIANT double tg_log1mexp_one(double x) __asm__("tg_log1mexp_f64"); /* gcc is not to make variants of it */
TG_EIGHT_VARIANT double tg_log1mexp_one(double x) { return _ZGVeN8v_tg_log1mexp_f64(TG_EIGHT_ALL(x))[0]; }"""
EDGE = "-0.6931471805599453"


def functions(inline: str) -> dict[str, str]:
    """The helpers by name, for both widths."""
    wide = COEFFICIENTS["exponential_below"]
    even, odd = horner(wide[::2], "q"), horner(wide[1::2], "q")
    double = _TEXT.replace("$LOG", _OWN).format(
        t="double", n="f64", exp="exp", f="_f64", edge=EDGE, even=even, odd=odd, middle="-0.3466"
    )
    few = [float(c[:-1]) for c in WIDE]
    even, odd = horner(few[::2], "q", True), horner(few[1::2], "q", True)
    narrow = _TEXT.replace("$LOG", _SINGLE).format(
        t="float", n="f32", exp="tg_own_exp", f="", edge=f"{EDGE}f", even=even, odd=odd, middle="0"
    )
    return {"tg_log1mexp_f64": inline + double, "tg_log1mexp_f32": inline + narrow}


def by_eight(text: str) -> str:
    """The text of float64 for gcc, which calls the version for vectors of 64 bytes where the processor has them."""
    known = "double log(double); /* tg_eight */"
    return f"{known}\n#ifdef TG_EIGHT\n{_EIGHT}\n#else\n{text}\n#endif" if avx512.variant("log") else text
