"""C text of Owen's T, as vector code inside loops. Pure text.

`scripts/fit_owens_t.py` derives the coefficients, `scripts/ulps.py` compares with mpmath. Up to a = 1 it is
exp(-h^2 / 2) / (2 pi) times the integral of exp(-(h x)^2 / 2) / (1 + x^2) from 0 to a. With 1 / (1 + x^2) as a
polynomial c of x^2 that is a exp(-b) times the sum of c_k a^(2k) m_k of b = (h a)^2 / 2, where m_k, the integral of
x^(2k) exp(b - b x^2) from 0 to 1, follows from the next one: (2k + 1) m_k = 1 + 2 b m_(k+1). All terms are positive, so
it loses nothing. Where h a is large it is half the chance that X > h. Beyond a = 1, h and h a change places.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from termgraph.backends.c.text.bessel import horner

# The last k; the largest b, beyond which the integral ends at infinity as well; the degree of m_k of that k.
ORDERS = {"double": (21, 36, 32), "float": (12, 20, 16)}
# 1 / (1 + x), 0 <= x <= 1, in powers of x
INVERSE: dict[str, tuple[float, ...]] = {
    "double": (
        1.0, -0.9999999999999721, 0.9999999999954888, -0.9999999997085555, 0.9999999899733163, -0.9999997874803432,
        0.9999969709871713, -0.9999692393620948, 0.99976818508029, -0.9986643576507731, 0.9939818055024016,
        -0.9784138399182051, 0.9374633217510798, -0.8517822375860176, 0.7089804306442473, -0.5198911414523859,
        0.3224148273366919, -0.161899320675807, 0.06253257845716394, -0.01730162894085416, 0.0030364833241718456,
        -0.00025304027701432045
    ),
    "float": (
        0.9999999997767136, -0.9999999243059269, 0.9999956979418707, -0.9999027179326351, 0.9988400892556554,
        -0.991614214252194, 0.9600831233279985, -0.8679153190880424, 0.6835797106081302, -0.4305700519102116,
        0.19620321016898168, -0.05619185016772745, 0.007492246689030327
    ),
}  # fmt: skip
# the last m_k times 2k + 1, of its place, from -1 to 1
MOMENT: dict[str, tuple[float, ...]] = {
    "double": (
        3.7533367018376715, 8.363321543568054, 14.962556843510672, 22.748575048323243, 30.365071342307008,
        36.34726315951681, 39.60325788260982, 39.71711245218445, 36.978620182207464, 32.18376540652244,
        26.33180901350652, 20.348035837413438, 14.910508537578876, 10.396267339589619, 6.917879698814803,
        4.404759356009146, 2.6897437732644662, 1.5782525977214223, 0.8918730912725386, 0.486709495777729,
        0.25610564419572956, 0.12927538397816332, 0.06390498785646206, 0.03201468352598787, 0.014710487284029808,
        0.00527380395858846, 0.0024196668931325094, 0.001935396136884798, 0.0007554914717157685,
        -9.439106709639826e-05, -2.3406530752829415e-05, 9.808313845736175e-05, 3.525821718909865e-05
    ),
    "float": (
        3.0164690401315584, 4.95882655564225, 6.404396953330173, 6.922869200578465, 6.492117809500151,
        5.40536064600697, 4.062570270360385, 2.7928823775318925, 1.7673025126578092, 1.0274434760452273,
        0.5672695671477682, 0.31631308421401433, 0.1514481772303066, 0.044868184567346994, 0.021505083703153835,
        0.023407277306992547, 0.008891424440009291
    ),
}  # fmt: skip


def products(k: int) -> float:
    """1 * 3 * ... * (2k - 1): m_k is kept over that, which makes each step of the recurrence one fma."""
    return 1.0 if k == 0 else (2 * k - 1) * products(k - 1)


_TEXT = """{t} tg_owens_t_{n}({t} h, {t} a)
{{
    const double p = fabs((double)h), q = fabs((double)a), x = p < 100 ? p : 100, r = q < 0x1p1000 ? q : 0x1p1000;
    const double product = x * r, y = product < 100 ? product : 100, square = x * x, other = y * y;
    const _Bool turned = r > 1;
    const double slope = turned ? 1 / r : r, exponential = exp(-0.5 * square), another = exp(-0.5 * other);
{exact}
    const double b = 0.5 * (turned ? square : other), w = 2 * (b < {most} ? b : {most});
    const double place = tg_own_fma_f64(w, {by!r}, -1), z = slope * slope, m{last} = {moment};
    const double s{last} = {first!r} * m{last};
{steps}
    const double inner = (turned ? right_y : right_x) * ((turned ? exponential : another) * s0);
    const double by_x = 0.5 * right_x * tg_erfcx_right_{n}({root!r} * x);
    const double by_y = 0.5 * right_y * tg_erfcx_right_{n}({root!r} * y);
    const double part = b < {most} ? {over!r} * inner * slope : 0.5 * (turned ? by_y : by_x);
    const double found = turned ? 0.5 * by_x + (by_y * (0.5 - by_x) - part) : part;
    return (h == h) & (a == a) ? ({t})(a < 0 ? -found : found) : ({t})__builtin_nan("");
}}"""
# Of squares and of the product what they have lost; the integral has the exponential of the same b as its moments.
_EXACT = """\
    const double lost = product < 100 ? tg_own_fma_f64(x, r, -product) : 0;
    const double x_low = tg_own_fma_f64(x, x, -square), y_low = tg_own_fma_f64(y, y, -other) + 2 * y * lost;
    const double right_x = tg_own_fma_f64(-0.5 * x_low, exponential, exponential);
    const double right_y = tg_own_fma_f64(-0.5 * y_low, another, another);"""
_EXACT_SINGLE = "    const double right_x = exponential, right_y = another; /* squares and the product are exact */"


def _steps(last: int, inverse: Sequence[float]) -> str:
    """From the last m_k to the first, each with the sum from there on."""
    lines = []
    for k in reversed(range(last)):
        m = f"tg_own_fma_f64(w, m{k + 1}, {1 / products(k + 1)!r})"
        lines += [f"m{k} = {m}", f"s{k} = tg_own_fma_f64(s{k + 1}, z, {inverse[k] * products(k)!r} * m{k})"]
    return "\n".join(f"    const double {line};" for line in lines)


def functions(inline: str) -> dict[str, str]:
    """The helpers by name, for both widths."""
    out = {}
    for t, n in (("double", "f64"), ("float", "f32")):
        last, most, _ = ORDERS[t]
        moment = [c / products(last + 1) for c in MOMENT[t]]
        out[f"tg_owens_t_{n}"] = inline + _TEXT.format(
            t=t, n=n, most=most, last=last, by=1 / most, moment=horner(moment, "place"), root=0.5**0.5,
            first=INVERSE[t][last] * products(last), steps=_steps(last, INVERSE[t]), over=0.5 / math.pi,
            exact=_EXACT if n == "f64" else _EXACT_SINGLE,
        )  # fmt: skip
    return out
