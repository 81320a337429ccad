"""C text of log(1 - exp(x)) for negative x as vector code inside loops: one exponential, one logarithm. Pure text.

1 - e^x is what a polynomial says near 0, and a subtraction elsewhere, of which the logarithm is told what it lost.
"""

from __future__ import annotations

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
