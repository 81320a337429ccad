"""C text of log(1 - exp(x)) for negative x as vector code inside loops: one exponential, one logarithm. Pure text.

1 - e^x is what a polynomial says near 0, and a subtraction elsewhere, of which the logarithm is told what it lost.
"""

from __future__ import annotations

from termgraph.backends.c.text.bessel import horner
from termgraph.backends.c.text.float32 import WIDE
from termgraph.backends.c.text.gammas import COEFFICIENTS

# From u = 1 - e, rounded, log(1 - e) is log(u) + (1 - u - e) / u, of which 2 - u is as good as 1 / u. The last step is
# multiplied, not chosen: gcc would move the exponential into a branch. The sign is that of -exp(x), far away too.
_TEXT = """{t} tg_log1mexp_{n}({t} x)
{{
    const _Bool near = x > {edge};
    const {t} r = near ? x : 0, t = r - {middle}, q = t * t, rest = tg_own_fma{f}(t, {odd}, {even});
    const {t} small = -tg_own_fma{f}(r * r, rest, r), e = exp{s}(x), u = near ? small : 1 - e;
    const {t} lost = (u - 1 + e) * (2 - u), whether = near ? 0 : 1;
    $LOG
}}"""
_LIBRARY = "return -fabsf(logf(u) - whether * lost);"
# libmvec's logarithm of float64 takes twice as long as the parts of one that the gamma function has.
_OWN = """const _Bool tiny = u < 0x1p-1022;
    double low, less = tiny ? 37.429947750237048 : 0; /* 54 log(2) */
    const double high = tg_log_parts_f64(tiny ? u * 0x1p54 : u, less, &low);
    const double y = -fabs(high + (low - whether * lost)), beyond = x == 0 ? -__builtin_inf() : __builtin_nan("");
    return x < 0 ? y : beyond;"""
EDGE = "-0.6931471805599453"


def functions(inline: str) -> dict[str, str]:
    """The helpers by name, for both widths."""
    wide = COEFFICIENTS["exponential_below"]
    even, odd = horner(wide[::2], "q"), horner(wide[1::2], "q")
    double = _TEXT.replace("$LOG", _OWN).format(
        t="double", n="f64", s="", f="_f64", edge=EDGE, even=even, odd=odd, middle="-0.3466"
    )
    few = [float(c[:-1]) for c in WIDE]
    even, odd = horner(few[::2], "q", True), horner(few[1::2], "q", True)
    narrow = _TEXT.replace("$LOG", _LIBRARY).format(
        t="float", n="f32", s="f", f="", edge=f"{EDGE}f", even=even, odd=odd, middle="0"
    )
    return {"tg_log1mexp_f64": inline + double, "tg_log1mexp_f32": inline + narrow}


__all__ = ["functions"]
