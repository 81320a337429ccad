"""C text of the Bessel functions of orders 0 and 1. Pure text.

`scripts/fit_bessel.py` derives the coefficients, `scripts/ulps.py` compares with mpmath: I is off by 0.9 units of the
last place on average and 5 at most, J by 0.9 and 4 up to 8; beyond, it is SciPy's. Loops of the modified functions
become vector code, as these have no branch.
"""

from __future__ import annotations

from collections.abc import Sequence

# I(x) over its first term, of x^2 / 4 <= 16; I(x) * sqrt(x) * exp(-x) of 16 / x - 1, from 8 on; F: single precision.
# J(x) of 64 - x^2 without its first two zeros, up to 8.
I0_SMALL = (1.0, 0.99999999999999999, 0.25000000000000009, 0.027777777777777566, 0.0017361111111113759,
    6.9444444444243985e-5, 1.9290123457790405e-6, 3.9367598856735815e-8, 6.1511874131776673e-10,
    7.5940568466991734e-12, 7.5940799502794688e-14, 6.275862820937522e-16, 4.3600362269175776e-18,
    2.5698743857514957e-20, 1.3509582796947699e-22, 4.9406702825425715e-25, 3.6454386812677433e-27)  # fmt: skip
I0_SMALLF = (1.0, 1.0, 0.249999986, 0.0277777938, 0.00173610151, 6.94478354e-5, 1.92825485e-6, 3.94785716e-8,
    6.04336138e-10, 8.27921966e-12, 4.88715526e-14, 1.21159909e-15)  # fmt: skip
I0_LARGE = (0.40217650944500809, 0.0033605519836678912, 0.00013621607438951464, 1.114303378845176e-5,
    1.4838476780922645e-6, 2.9735992084667733e-7, 8.872014585661555e-8, 3.9325123211378244e-8,
    2.1567806761156731e-8, 7.5593640986654369e-9, -6.8564845459624424e-9, -1.3427511481900906e-8,
    -5.0175940345046713e-9, 7.6002544864335085e-9, 6.5222648620322706e-9, -3.5862834111582307e-9,
    -4.5305710768621193e-9, 1.6084886155781771e-9, 2.1636812784138757e-9, -6.3279099219970271e-10,
    -6.4945911144011185e-10, 1.7698085539456535e-10, 9.1147601575142527e-11, -2.4421972688131831e-11)  # fmt: skip
I0_LARGEF = (0.402176509, 0.00336055203, 0.000136217408, 1.11415422e-5, 1.47547564e-6, 3.03833091e-7,
    1.09102329e-7, 3.36358022e-8)  # fmt: skip
J0_SMALL = (8.7938734708429972e-5, 1.1646260988991306e-5, 3.8928880863774942e-7, 6.2620157171423411e-9,
    6.0575145730164889e-11, 3.9544819844880169e-13, 1.8706696529135305e-15, 6.7313688437020096e-18,
    1.9088660047693706e-20, 4.3827036385207933e-23, 8.3226229508287756e-26, 1.3302535393667413e-28,
    1.811074014191689e-31, 2.1747470090915573e-34, 1.9507709258705072e-37, 3.0066685776766236e-40)  # fmt: skip
I1_SMALL = (1.0, 0.5, 0.083333333333333338, 0.0069444444444444329, 0.00034722222222223662,
    1.1574074074063174e-5, 2.7557319224529846e-7, 4.9209498595403066e-9, 6.8346526323095322e-11,
    7.5940575677112648e-13, 6.9037011929579361e-15, 5.2299488194453198e-17, 3.3535043207335215e-19,
    1.8371568656912372e-21, 8.9638066090012038e-24, 3.1590697545594774e-26, 2.0903513298308397e-28)  # fmt: skip
I1_SMALLF = (1.0, 0.5, 0.0833333323, 0.00694444563, 0.000347221512, 1.15743251e-5, 2.75517079e-7,
    4.92917704e-9, 6.75461974e-11, 8.10353278e-13, 4.88467545e-15, 9.61404308e-17)  # fmt: skip
I1_LARGE = (0.38939845902587232, -0.0097495771932357643, -0.00021923576383137776, -1.5038547198221759e-5,
    -1.8349102493990177e-6, -3.4838563464253133e-7, -1.0001075046243961e-7, -4.3128498031006731e-8,
    -2.3394122958362557e-8, -8.4321689729324167e-9, 6.84757829926934e-9, 1.4051746928735543e-8,
    5.5720183980930357e-9, -7.6872513087659921e-9, -6.9444186339873876e-9, 3.501765193290176e-9,
    4.7637800780202541e-9, -1.5218214060680733e-9, -2.2624401109204447e-9, 5.8706646184714864e-10,
    6.7727478454462001e-10, -1.6283264322621244e-10, -9.4918903929920484e-11, 2.2421768596847443e-11)  # fmt: skip
I1_LARGEF = (0.389398459, -0.00974957724, -0.000219237385, -1.50370471e-5, -1.82500694e-6, -3.54819542e-7,
    -1.23184197e-7, -3.78560248e-8)  # fmt: skip
J1_SMALL = (4.0232757124382826e-5, 2.3266977186249896e-6, 5.1893759133215384e-8, 6.3620935522495571e-10,
    5.0083104352968616e-12, 2.767191509499048e-14, 1.1373503905807885e-16, 3.6235292883144377e-19,
    9.228132158478231e-22, 1.9241127518263198e-24, 3.3481230007910051e-27, 4.939892745170225e-30,
    6.2501820006968788e-33, 6.9848478952941495e-36, 5.9874272028342506e-39, 8.3693173444567369e-42)  # fmt: skip
J0_ZEROS = (
    (5.783185962946784, 4.123247343506204e-16),
    (30.471262343662087, -2.366534485750659e-16),
)  # squares, and what they lack
J1_ZEROS = (
    (14.681970642123893, -9.858177825793294e-17),
    (49.2184563216946, 5.086354069436341e-16),
)  # squares, and what they lack

_FMA = """double tg_own_fma_f64(double a, double b, double c)
{
#if defined(__FMA__) || defined(__FP_FAST_FMA) || defined(__ARM_FEATURE_FMA)
    return __builtin_fma(a, b, c);
#else
    return a * b + c;
#endif
}"""


LONG = 8  # coefficients from which a polynomial is two, of even and of odd powers


def horner(coefficients: Sequence[float], at: str, single: bool = False) -> str:
    """The text of a polynomial, its first coefficient being that of the power 0.

    Each step waits four cycles for the one before, and a processor sees little of what follows: long ones are several
    chains. The last step stays one by itself, as it is the one that rounds.
    """
    few = len(coefficients) <= LONG
    return _step((_plain if few else _chains)(coefficients[1:], at, single), at, coefficients[0], single)


def _step(sum_of_others: str, at: str, first: float, single: bool) -> str:
    return f"{'tg_own_fma' if single else 'tg_own_fma_f64'}({sum_of_others}, {at}, {first!r}{'f' * single})"


def _plain(coefficients: Sequence[float], at: str, single: bool) -> str:
    out = f"{coefficients[-1]!r}{'f' * single}"
    for c in reversed(coefficients[:-1]):
        out = _step(out, at, c, single)
    return out


def _chains(coefficients: Sequence[float], at: str, single: bool) -> str:
    if len(coefficients) < LONG:
        return _plain(coefficients, at, single)
    even, odd = (_chains(coefficients[k::2], f"({at} * {at})", single) for k in (0, 1))
    return f"{'tg_own_fma' if single else 'tg_own_fma_f64'}({odd}, {at}, {even})"


def _modified(order: int, single: bool, scaled: bool = False) -> str:
    """I(x), or exp(-|x|) I(x): both ways are computed, one is chosen. e^(x/2) is multiplied twice, so that it does not
    overflow early.
    """
    t, s, most = ("float", "f", "170") if single else ("double", "", "1400")
    small, large = ((I0_SMALL, I0_LARGE), (I1_SMALL, I1_LARGE))[order] if not single else (
        (I0_SMALLF, I0_LARGEF), (I1_SMALLF, I1_LARGEF))[order]  # fmt: skip
    e = "expf(b * 0.5f)" if single else "exp(b * 0.5)"
    first = f"y * ({horner(small, 'y', single)})".removeprefix("y * ") if order == 0 else (
        f"b * 0.5{s} * ({horner(small, 'y', single)})")  # fmt: skip
    sign = "x < 0 ? -out : out" if order else "out"  # at -0.0 it is 0.0, as SciPy has it
    if scaled:
        return f"""{t} tg_i{order}e_f{32 if single else 64}({t} x)
{{
    const {t} a = fabs{s}(x), near = a < 8 ? a : 8, far = a > 8 ? a : 8;
    const {t} y = near * near * 0.25{s}, t = 16 / far - 1;
    const {t} large = {horner(large, "t", single)} / sqrt{s}(far);
    const {t} small = {first.replace("b *", "near *")} * exp{s}(-near);
    const {t} out = a <= 8 ? small : a == a ? large : a;
    return {sign};
}}"""
    return f"""{t} tg_i{order}_f{32 if single else 64}({t} x)
{{
    const {t} a = fabs{s}(x), b = a > {most} ? {most} : a, near = a < 8 ? a : 8, far = a > 8 ? b : 8;
    const {t} y = near * near * 0.25{s}, t = 16 / far - 1;
    const {t} e = {e};
    const {t} large = {horner(large, "t", single)} * e / sqrt{s}(far) * e;
    const {t} small = {first.replace("b *", "near *")};
    const {t} out = a <= 8 ? small : large + (a - a); /* NaN at infinity, as SciPy has it */
    return {sign};
}}"""


def _oscillating(order: int) -> str:
    """J(x) up to 8. Beyond, where errors of all formulas are those of the operand, the digits are SciPy's."""
    small, zeros = ((J0_SMALL, J0_ZEROS), (J1_SMALL, J1_ZEROS))[order]
    factors = " * ".join(f"(tg_own_fma_f64(x, x, {-high!r}) - {low!r})" for high, low in zeros)
    return f"""double tg_j{order}_f64(double x)
{{
    const double y = tg_own_fma_f64(-x, x, 64);
    return fabs(x) <= 8 ? {"x * " if order else ""}{factors} * {horner(small, "y")} : tg_j{order}_far_f64(x);
}}"""


def functions(inline: str) -> dict[str, str]:
    """The helpers by name."""
    out = {"tg_own_fma_f64": inline + _FMA}
    for order in (0, 1):
        out[f"tg_i{order}_f64"] = inline + _modified(order, False)
        out[f"tg_i{order}_f32"] = inline + _modified(order, True)
        out[f"tg_i{order}e_f64"] = inline + _modified(order, False, scaled=True)
        out[f"tg_i{order}e_f32"] = inline + _modified(order, True, scaled=True)
        call = f"return tg_scipy(TG_NATIVE_special__j{order}__d_d, x, 0, 0, 1);"
        out[f"tg_j{order}_far_f64"] = f"static double tg_j{order}_far_f64(double x) {{ {call} }}"
        out[f"tg_j{order}_f64"] = inline + _oscillating(order)
        out[f"tg_j{order}_f32"] = f"static float tg_j{order}_f32(float x) {{ return (float)tg_j{order}_f64(x); }}"
    return out
