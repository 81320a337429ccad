"""C text of Dawson's and Spence's integrals, as vector code inside loops. Pure text.

`scripts/fit_integrals.py` derives the coefficients (polynomials at Chebyshev's points, from mpmath's values),
`scripts/ulps.py` compares with mpmath. There are no branches: all polynomials are computed, one is chosen.
"""

from __future__ import annotations

from termgraph.backends.c.text.bessel import horner

DAWSN_MIDDLE = 20  # c
# What each polynomial is of, from where to where, and its degree; its operand is the place between, -1 to 1.
# spence: (spence(exp(-s)) - s + s^2 / 4) / s^3 of s^2.
# dawsn_near: dawsn(x) / x of x^2; middle, far: x dawsn(x) of (x^2 - c) / (x^2 + c). Those for float32 are shorter.
PIECES = {
    "dawsn_near": (0, 2, 15),
    "dawsn_middle": (-0.82, 0, 23),
    "dawsn_far": (0, 1, 25),
    "dawsn_near_single": (0, 2, 8),
    "dawsn_middle_single": (-0.82, 0, 12),
    "dawsn_far_single": (0, 1, 10),
    "spence": (0, 0.84, 9),
    "spence_single": (0, 0.84, 4),
}
COEFFICIENTS: dict[str, tuple[float, ...]] = {
    "dawsn_near": (
        0.5380795069127684, -0.3071192603691526, 0.1148593220050566, -0.03162945554951513, 0.006868306991940051,
        -0.0012292465812313697, 0.00018696596434654498, -2.471402162131567e-05, 2.8879024192727614e-06,
        -3.0233905042402e-07, 2.8665782405886075e-08, -2.4833826946461403e-09, 1.9801656347389774e-10,
        -1.4628497970655775e-11, 1.0223823319281807e-12, -6.570743895374241e-14
    ),
    "dawsn_middle": (
        0.538363937693745, -0.05113584194083865, 0.052673516050361864, -0.045457261093566875,
        0.02380305082394145, 0.004381519926575472, -0.0229811055236435, 0.024219892271333653,
        -0.014674497356333418, 0.0052333783856350225, -0.0007186390013216212, -0.00021918473291604752,
        9.431205830755862e-05, 6.138747683704828e-06, -7.675891845906926e-06, -3.5648055101686497e-07,
        5.902690265177874e-07, 6.189014982640492e-08, -4.1121825865711125e-08, -9.500821621618716e-09,
        2.0834118429498128e-09, 1.0190768593915127e-09, -4.107565537405942e-11, -6.145171298787115e-11
    ),
    "dawsn_far": (
        0.5042754477394515, -0.00585218732982294, 0.0021621555356214407, -0.0008044348606712744,
        0.0003016746888336742, -0.00011416200651012895, 4.3654932045612936e-05, -1.6896652239038924e-05,
        6.633151149549556e-06, -2.6479697956744963e-06, 1.0786100345857067e-06, -4.501788558438897e-07,
        1.9285013483068147e-07, -8.551572519122488e-08, 4.192509477839451e-08, -2.238265603326406e-08,
        8.194784182659565e-09, -1.9635843666819686e-09, 7.168168789490197e-09, -9.639735109181624e-09,
        1.5659310786612467e-09, 4.654025762432576e-09, -2.631040956745014e-09, -3.064611995770037e-10,
        5.063193514687975e-10, -8.449742313312929e-11
    ),
    "dawsn_near_single": (
        0.538079507, -0.30711925, 0.114859321, -0.0316295998, 0.00686832063, -0.00122872805, 0.000186916927,
        -2.54027286e-05, 2.9530731e-06
    ),
    "dawsn_middle_single": (
        0.538363938, -0.0511358588, 0.0526735351, -0.0454567896, 0.0238025158, 0.00437773507, -0.0229767953,
        0.0242329561, -0.0146894687, 0.00521132416, -0.000693078703, -0.000201029739, 7.28055517e-05
    ),
    "dawsn_far_single": (
        0.504275448, -0.00585219643, 0.00216215972, -0.000804254819, 0.000301592066, -0.00011514193,
        4.41036355e-05, -1.478079e-05, 5.66888063e-06, -4.51920664e-06, 1.92170967e-06
    ),
    "spence": (
        0.027661937697418985, -0.00011502018306785033, 8.132657657265132e-07, -6.574545589143141e-09,
        5.647220869070479e-11, -5.027871837203719e-13, 4.587275229794422e-15, -4.261430303208994e-17,
        4.015205398164514e-19, -3.824663882829865e-21
    ),
    "spence_single": (
        0.0276619377, -0.000115020183, 8.13265764e-07, -6.57517413e-09, 5.64779433e-11
    ),
}  # fmt: skip
LOW = {
    "dawsn_near": 1.74e-17,
    "dawsn_middle": 1.68e-17,
    "dawsn_far": 1.75e-18,
    "dawsn_near_single": 6.71e-09,
    "dawsn_middle_single": 4.13e-09,
    "dawsn_far_single": 6.57e-09,
    "spence": 9.26e-19,
    "spence_single": -5.23e-10,
}  # what their first coefficients lack


def _of(name: str, at: str, single: bool) -> str:
    """The text of a polynomial but for its last step: its place, and what is multiplied by that for the first one."""
    low, high, _ = PIECES[name]
    middle, half = (low + high) / 2, (high - low) / 2
    t, s, fma = ("float", "f", "tg_own_fma") if single else ("double", "", "tg_own_fma_f64")
    place = f"const {t} {name}_t = {fma}({at}, {1 / half!r}{s}, {-middle / half!r}{s});"
    return f"{place}\n    const {t} {name} = {horner(COEFFICIENTS[name][1:], f'{name}_t', single)};"


def _dawsn(single: bool) -> str:
    """Polynomials end in a sum of two numbers, and the square is one. Beyond its first piece one division is for 1 / x
    and 1 / (x^2 + c), and the quotient is corrected. Far out all but 1 / (2 x) is less than a rounding.
    """
    t, n, s, fma = ("float", "f32", "f", "tg_own_fma") if single else ("double", "f64", "", "tg_own_fma_f64")
    near, middle, far = names = [f"dawsn_{where}{'_single' * single}" for where in ("near", "middle", "far")]
    first, lost = ([f"{of[name]!r}{s}" for name in names] for of in ({k: v[0] for k, v in COEFFICIENTS.items()}, LOW))
    most, edge = ("0x1p14f" if single else "0x1p30"), PIECES["dawsn_near"][1]

    def chosen(*ways: str) -> str:
        return f"u < {edge} ? {ways[0]} : beyond ? {ways[2]} : {ways[1]}"

    return f"""{t} tg_dawsn_{n}({t} x)
{{
    const {t} a = fabs{s}(x), u = a * a, w = u + {DAWSN_MIDDLE}, over = 1 / (a > {most} ? a : a * w), v = w * over;
    const {t} t = (u - {DAWSN_MIDDLE}) * a * over;
    const _Bool beyond = t > 0;
    {_of(near, "u", single)}
    {_of(middle, "t", single)}
    {_of(far, "t", single)}
    const {t} m = {chosen(*[f"{name}_t" for name in names])};
    const {t} rest = {chosen(*names)};
    const {t} c0 = {chosen(*first)};
    const {t} more = {chosen(*lost)};
    const {t} high = {fma}(m, rest, c0), low = {fma}(m, rest, c0 - high) + more;
    const {t} lost = {fma}(a, a, -u) * {2 / edge!r}{s}, small = {fma}(a, high, a * {fma}(lost, rest, low));
    const {t} quotient = high * v, large = {fma}({fma}(-a, quotient, high) + low, v, quotient);
    return copysign{s}(u < {edge} ? small : a > {most} ? over * 0.5{s} : large, x);
}}"""


# With s = -log(x) it is s - s^2 / 4 + ..., from x = 0.4 to 2.5. Below, by y = x, and above, by y = 1 / x and with
# another sign, what pi^2 / 6 - log(y) log(1 - y) leaves of that for s = -log(1 - y), of which 1 - y has lost `left`.
_SPENCE = """{t} tg_spence_{n}({t} given)
{{
    const double x = given, inverse = 1 / x, y = x < 0.5 ? x : inverse, u = 1 - y;
    const _Bool within = (x >= 0.4) & (x <= 2.5);
    {logarithms}
    const double s = within ? 0 - (high + low) : inside, z = s * s, a = fabs(high + low);
    {bent}
    const double rest = z * tg_own_fma_f64(s, {of}, -0.25);
    const double near = 0 - high + (rest - low);
    const double below = 1.6449340668482264 - (tg_own_fma_f64(a, s, s + rest) - 3.0406093391386195e-17);
    const double above = x > 1 ? -tg_own_fma_f64(0.5 * a, a, below) : below;
    const double found = within ? near : above;
    return ({t})((x >= 0) & (x < __builtin_inf()) ? found : __builtin_nan("")); /* also at infinity, as SciPy */
}}"""
_LOGARITHMS = """double low, u_low;
    const double few = x < 0x1p-1022 ? 37.429947750237048 : 0; /* 54 log(2) */
    const double high = tg_log_parts_f64(x < 0x1p-1022 ? x * 0x1p54 : x, few, &low);
    const double u_high = tg_log_parts_f64(u, 0, &u_low), left = y - (1 - u);
    const double inside = left * (1 + y + y * y) - u_low - u_high;"""
_LOGARITHMS_SINGLE = """double low;
    const double high = tg_log_parts_f64(x, 0, &low), inside = -tg_erfinv_log_f64(u);"""


def _spence(single: bool) -> str:
    name = f"spence{'_single' * single}"
    low, high, _ = PIECES[name]
    middle = (low + high) / 2
    bent = f"const double m = tg_own_fma_f64(z, {1 / middle!r}, -1);"
    return _SPENCE.format(
        t="float" if single else "double", n="f32" if single else "f64", bent=bent,
        of=horner(COEFFICIENTS[name], "m"), logarithms=_LOGARITHMS_SINGLE if single else _LOGARITHMS,
    )  # fmt: skip


def functions(inline: str) -> dict[str, str]:
    """The helpers by name, for both widths."""
    out = {f"tg_{of.__name__[1:]}_{n}": of(n == "f32") for of in (_dawsn, _spence) for n in ("f64", "f32")}
    return {name: inline + text for name, text in out.items()}
