"""C text of Dawson's, Spence's, exponential, sine and cosine integrals, as vector code inside loops. Pure text.

`scripts/fit_integrals.py` derives the coefficients (polynomials at Chebyshev's points, from mpmath's values),
`scripts/ulps.py` compares with mpmath. There are no branches: all polynomials are computed, one is chosen.
"""

from __future__ import annotations

from collections.abc import Mapping

from termgraph.backends.c.text.bessel import horner

DAWSN_MIDDLE = 20  # c
EXPI_MIDDLES = (20, 2)  # of numbers above and below 0
WAVES_MIDDLE = 4  # c, from which the sine and cosine integrals are waves
EXPI_ZERO = (0.3725074107813666, 1.3140183414386028e-17)  # and what the number lacks
# What each polynomial is of, from where to where, and its degree; its operand is the place between, -1 to 1.
# spence: (spence(exp(-s)) - s + s^2 / 4) / s^3 of s^2.
# expi_entire: (expi(x) - log|x| - Euler's constant) / x of x, in its powers; zero: expi(x) over the distance from the
# zero; near, far, below: x exp(-x) expi(x) of (|x| - c) / (|x| + c).
# sinint_near: sinint(x) / x of x^2; cosint_near: (cosint(x) - log(x) - Euler's constant) / x^2 of x^2; waves_f: x f(x),
# waves_g: x^2 g(x), both of (x - c) / (x + c), with sinint(x) = pi / 2 - f cos(x) - g sin(x) and
# cosint(x) = f sin(x) - g cos(x).
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
    "expi_entire": (-0.7, 6, 21),
    "expi_zero": (0.3, 0.5, 18),
    "expi_near": (-0.54, 0, 23),
    "expi_far": (0, 1, 28),
    "expi_below": (-0.4815, 1, 32),
    "expi_entire_single": (-0.7, 6, 14),
    "expi_zero_single": (0.3, 0.5, 7),
    "expi_near_single": (-0.54, 0, 12),
    "expi_far_single": (0, 1, 11),
    "expi_below_single": (-0.4815, 1, 16),
    "sinint_near": (0, 16, 11),
    "cosint_near": (0, 16, 11),
    "waves_f": (0, 1, 22),
    "waves_g": (0, 1, 24),
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
        0.027661937697418985, -0.00011502018291071268, 8.132657642928329e-07, -6.5751741263951524e-09,
        5.647794328664271e-11
    ),
    "expi_entire": (
        1.0, 0.25000000000000006, 0.05555555555555548, 0.010416666666666078, 0.0016666666666678128,
        0.0002314814814838047, 2.834467119540252e-05, 3.1001984129693485e-06, 3.061924476885105e-07,
        2.7557306462296168e-08, 2.2774649116925053e-09, 1.7398343700415955e-10, 1.2341283258087256e-11,
        8.267503508399577e-13, 4.784554261309099e-14, 3.939904272176156e-15, -4.712435254191114e-17,
        4.349991791357061e-17, -3.68812442423648e-18, 3.5857109509346196e-19, -1.6703134365894336e-20,
        5.123155635249705e-22
    ),
    "expi_zero": (
        3.8106712243865037, -0.29502306835601727, 0.055672957634362315, -0.010320961661103686,
        0.0020722372847676324, -0.00043240496688882487, 9.277842252383333e-05, -2.031566303935188e-05,
        4.5182267428461825e-06, -1.0172733228453122e-06, 2.3132574491085922e-07, -5.303253450410282e-08,
        1.2243139918190566e-08, -2.849801783555526e-09, 6.651876969900077e-10, -1.498581876735982e-10,
        3.525194661801479e-11, -1.1368358631929977e-11, 2.6968786881776432e-12
    ),
    "expi_near": (
        1.1088818179568374, -0.0831932119350292, 0.04851590684511256, -0.02807325011096314,
        0.013267306143775292, -0.0032462792484977444, -0.0013662440609835658, 0.0019477993841123767,
        -0.0010310005479005836, 0.00027184102634597026, 2.2610528950337716e-07, -2.6918342269632164e-05,
        8.912328318335969e-06, -9.068895690775521e-07, -9.630741622403034e-08, -1.5771535093143354e-08,
        2.3684031105344117e-08, -5.104320567127667e-09, 6.766265900537676e-10, -3.31638712749842e-10,
        1.0297059487980667e-10, -2.383943792377791e-11, 2.06201847736451e-11, -7.1141991644798564e-12
    ),
    "expi_far": (
        1.0172520236887972, -0.023825863518712666, 0.009100747160615286, -0.0035078288009613256,
        0.0013659810595220308, -0.00053815316546241, 0.00021485951298581265, -8.71120253317549e-05,
        3.595516226369391e-05, -1.515443048473188e-05, 6.547832733164152e-06, -2.9157094913775502e-06,
        1.345719180858437e-06, -6.436053467119982e-07, 3.2773884789408605e-07, -1.9958121698957957e-07,
        1.2335688140815694e-07, -3.6851307585757454e-08, 2.5847201259855366e-08, -1.0432402610672122e-07,
        8.300918048695588e-08, 6.117604415970419e-08, -9.927198247932728e-08, 5.106999111442722e-09,
        3.832399087464168e-08, -8.672187910276022e-09, -6.792769874769166e-09, 1.605004981176532e-09,
        4.490337094276161e-10
    ),
    "expi_below": (
        0.8039134021697586, 0.2179586344678903, -0.03442155011538962, 0.015635698457220144,
        -0.00488687975215284, 0.0023724504808078656, -0.0009131445083359885, 0.0004634852945739004,
        -0.0001970017721769152, 0.00010333838419605426, -4.64408650651961e-05, 2.501803247488195e-05,
        -1.1623961638593981e-05, 6.407377712697408e-06, -3.038211550370429e-06, 1.7253687352207497e-06,
        -8.143667354253672e-07, 4.3473850439160764e-07, -2.4075579611256686e-07, 2.1938783457105223e-07,
        -3.17115219065581e-08, -1.0025496860545351e-07, -6.940807279013418e-08, 1.7631668823454505e-07,
        5.4292153343172176e-08, -1.347467578684023e-07, -5.003929166183477e-08, 7.947754634477736e-08,
        2.604760090623335e-08, -2.6934047928942403e-08, -8.777961076426794e-09, 4.6458310235963136e-09,
        1.2419344192532283e-09
    ),
    "expi_entire_single": (
        0.9999999998703155, 0.2500000004515132, 0.055555558906913806, 0.010416660660182516,
        0.0016666566404616742, 0.0002315054547667546, 2.833883525422904e-05, 3.079124833634506e-06,
        3.3210622662758666e-07, 1.2590451900593258e-08, 7.482419873092793e-09, -9.824578325178658e-10,
        1.7571569034684724e-10, -1.2928531442669926e-11, 6.14535940789041e-13
    ),
    "expi_zero_single": (
        3.810671185192409, -0.2950230595145892, 0.0556742098315863, -0.010321244124449796, 0.002066030564177614,
        -0.0004310051088417467, 0.00010249331784843989, -2.2505885985835467e-05
    ),
    "expi_near_single": (
        1.1088818179568374, -0.08319320877631528, 0.048515906888184905, -0.028073338444293952,
        0.013267304852798938, -0.0032455747746879043, -0.0013662320377948172, 0.0019453977112056083,
        -0.0010310525551666535, 0.0002758037112910453, 3.456807857749105e-07, -3.00265283382321e-05,
        8.76215808808325e-06
    ),
    "expi_far_single": (
        1.0172520220747687, -0.02382586269702518, 0.009100862952789841, -0.0035078877601901087,
        0.0013646552786248805, -0.0005374774926566094, 0.00022029921654619138, -8.988841823284205e-05,
        2.6225403872220305e-05, -1.0182341067159622e-05, 1.3885795213564255e-05, -6.653083571255339e-06
    ),
    "expi_below_single": (
        0.8039134021697586, 0.21795863397413792, -0.03442154988752691, 0.015635722012039263,
        -0.004886890624879814, 0.0023721256095999947, -0.0009129944709942059, 0.000465475352084911,
        -0.00019792167481165552, 9.697134980465766e-05, -4.3493662970357925e-05, 3.629350053524937e-05,
        -1.6854213483712206e-05, -4.440296590023177e-06, 2.0118371345745913e-06, 6.6289512910619655e-06,
        -3.119947766381634e-06
    ),
    "sinint_near": (
        0.6488924209268717, -0.26998630593421985, 0.06995436230262994, -0.010180919854579487,
        0.000926043940588566, -5.729510043974968e-05, 2.5629029804241508e-06, -8.669329639961172e-08,
        2.294707477811892e-09, -4.8820437667097195e-11, 8.535034658954568e-13, -1.2464842157021246e-14
    ),
    "cosint_near": (
        -0.18000156259038463, 0.05804136708251917, -0.010676245460890443, 0.0011887255711437834,
        -8.738341186863486e-05, 4.53577766536249e-06, -1.7478633681168736e-07, 5.194180626906409e-09,
        -1.2261802782435413e-10, 2.354497123155836e-12, -3.7508546524136495e-14, 5.032174867359171e-16
    ),
    "waves_f": (
        0.9870883480756537, 0.03219502084583977, -0.027010568288985796, 0.009188683212642592,
        -0.0016104927409418498, 0.00021115801794873378, -8.055981629903721e-05, 1.8451707417629046e-05,
        -1.3101456531431097e-06, 1.5869995586180318e-06, -2.1250213003224414e-07, -2.7897801005622733e-08,
        -6.831515746281555e-08, -1.246156019161881e-08, -2.1941095254223773e-09, 2.3513488747413106e-09,
        1.6339350355322456e-09, 1.4634648262882903e-09, 6.152378444650532e-10, -2.7574087628089615e-10,
        -3.0167219296616373e-10, -1.2172939441171264e-11, 2.9176428840118586e-11
    ),
    "waves_g": (
        0.962942082441274, 0.08880838370223795, -0.066646918594991, 0.014297902109979676,
        0.0012681916208256607, -0.0005089205059871446, -0.00015516323218068783, -2.9946150608243946e-05,
        1.5027739451333087e-05, 7.70184798985774e-06, 2.5247048035660403e-06, -9.718964843115243e-08,
        -4.2948870820653653e-07, -2.7700508962029545e-07, -9.305628972609324e-08, -4.217595682771919e-09,
        1.719629324746382e-08, 8.37137245577523e-09, 4.6225814881624565e-09, 7.263563088246126e-09,
        2.5256357507182044e-09, -3.367218684715827e-09, -2.0760095450721997e-09, 3.917507634203514e-10,
        3.465681378178353e-10
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
    "spence_single": 9.26e-19,
    "expi_entire": 1.1e-18,
    "expi_zero": -2.03e-16,
    "expi_near": -7.23e-17,
    "expi_far": 5.43e-18,
    "expi_below": 1.79e-17,
    "expi_entire_single": 2.28e-17,
    "expi_zero_single": 1.67e-16,
    "expi_near_single": -7.2e-17,
    "expi_far_single": 8.53e-17,
    "expi_below_single": 1.79e-17,
    "sinint_near": 5.28e-18,
    "cosint_near": 1.32e-18,
    "waves_f": -2.42e-17,
    "waves_g": -1.07e-17,
}  # what their first coefficients lack


def _place(name: str, at: str, single: bool = False) -> str:
    """The text of the place of a number in a polynomial's range, between -1 and 1."""
    low, high, _ = PIECES[name]
    s, fma = ("f", "tg_own_fma") if single else ("", "tg_own_fma_f64")
    return f"{fma}({at}, {2 / (high - low)!r}{s}, {-(high + low) / (high - low)!r}{s})"


def _of(name: str, at: str, single: bool) -> str:
    """The text of a polynomial but for its last step: its place, and what is multiplied by that for the first one."""
    t = "float" if single else "double"
    rest = horner(COEFFICIENTS[name][1:], f"{name}_t", single)
    return f"const {t} {name}_t = {_place(name, at, single)};\n    const {t} {name} = {rest};"


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
    const {t} a = fabs{s}(x), u = a * a, w = u + {DAWSN_MIDDLE}, over = 1 / (a * (a > {most} ? 1 : w)), v = w * over;
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
    const double m = {place};
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
    return _SPENCE.format(
        t="float" if single else "double", n="f32" if single else "f64", place=_place(name, "z"),
        of=horner(COEFFICIENTS[name], "m"), logarithms=_LOGARITHMS_SINGLE if single else _LOGARITHMS,
    )  # fmt: skip


# Near 0 a sum with a logarithm; farther out e^x times a polynomial, over |x| by a corrected division, and where e^x
# alone may be no number of full precision its root is a factor twice; near the zero its distance times a polynomial.
_EXPONENTIAL = """{t} tg_{name}_{n}({t} given)
{{
    const double x = given, a = fabs(x), b = a > 800 ? 800 : a, c = {c}, w = b + c, over = 1 / (b * w), v = w * over;
    {logarithm}
    const double sum = tg_own_fma_f64({at}, {entire}, high + 0.5772156649015329) + (low - 4.942915152430645e-18);
    const double t = (b - c) * b * over, {places};
    const double product = tg_own_fma_f64(place, rest, c0), left = tg_own_fma_f64(place, rest, c0 - product){lost};
    const double rough = product * v, quotient = tg_own_fma_f64(tg_own_fma_f64(-b, rough, product) + left, v, rough);
    {exponential}
    {result}
}}"""
_LOGARITHM = """double low;
    const double few = a < 0x1p-1022 ? 37.429947750237048 : 0; /* 54 log(2) */
    const double high = tg_log_parts_f64(a < 0x1p-1022 ? a * 0x1p54 : a, few, &low);"""
_LOGARITHM_SINGLE = "const double low = 0, high = tg_erfinv_log_f64(a);"


def _exponential(name: str, single: bool) -> str:
    """expi, or exp1, which is -expi(-x) above 0 and has no other piece."""
    both, n = name == "expi", "f32" if single else "f64"
    of = {k.removesuffix("_single"): v for k, v in COEFFICIENTS.items() if single == k.endswith("_single")}
    rest = {k: horner(v[1:], k.removeprefix("expi_")) for k, v in of.items()}
    near, far, below = "expi_near", "expi_far", "expi_below"
    lost = {k: LOW[k] for k in (near, far, below)}

    def chosen(ways: Mapping[str, object]) -> str:
        return f"x < 0 ? {ways[below]} : t < 0 ? {ways[near]} : {ways[far]}" if both else f"{ways[below]}"

    used = (near, far, below) if both else (below,)
    places = ", ".join([f"{k.removeprefix('expi_')} = {_place(k, 't')}" for k in used])
    places += f", place = {chosen({k: k.removeprefix('expi_') for k in lost})}"
    places += f";\n    const double rest = {chosen(rest)}, c0 = {chosen({k: of[k][0] for k in lost})}"
    sign = "(x < 0 ? -b : b)" if both else "-b"
    root = f"const double root = b > 700 ? 0.5 : 1, e = exp({sign} * root), large = quotient * e * (b > 700 ? e : 1);"
    cast, f = ("(float)", "f") if single else ("", "")
    if both:
        result = f"""const double zero = {_place("expi_zero", "x")};
    const double small = (x - {EXPI_ZERO[0]!r} - {EXPI_ZERO[1]!r}) * {horner(of["expi_zero"], "zero")};
    const double beyond = x < 0 ? -large : large, close = (x > 0.3) & (x < 0.5) ? small : sum;
    const double found = (x < -0.7) | (x > 6) ? beyond : close;
    return x == 0 ? -__builtin_inf{f}() : {cast}(x != x ? x : found);"""
    else:
        result = f"""const double found = x > 0.7 ? large : -sum, end = x == 0 ? __builtin_inf() : __builtin_nan("");
    return {cast}(x > 0 ? found : end);"""
    return _EXPONENTIAL.format(
        t="float" if single else "double", n=n, name=name, at="x" if both else "-x", places=places, result=result,
        c=f"x < 0 ? {EXPI_MIDDLES[1]} : {EXPI_MIDDLES[0]}" if both else f"{EXPI_MIDDLES[1]}",
        logarithm=_LOGARITHM_SINGLE if single else _LOGARITHM, entire=horner(of["expi_entire"], "x" if both else "-x"),
        lost="" if single else f" + ({chosen(lost)})",
        exponential=f"const double large = quotient * exp({sign});" if single else root,
    )  # fmt: skip


# Up to x = 4 power series, farther out a sine and a cosine times what falls as 1 / x and 1 / x^2.
_WAVES = """const double x = given, a = fabs(x), b = a > 0x1p60 ? 0x1p60 : a, over = 1 / a, t = (b - {c}) / (b + {c});
    const double u = b * b, {place_near}, {place_f}, {place_g}, s = sin(a), o = cos(a);
    const double f = over * {f}, g = over * over * {g};"""
_SININT = """{t} tg_sinint_{n}({t} given)
{{
    {waves}
    const double near = a * {near}, far = 1.5707963267948966 - (f * o + g * s - 6.123233995736766e-17);
    const double found = a < {c} ? near : a > 0x1p60 ? 1.5707963267948966 : far;
    return ({t})(x != x ? x : a == 0 ? 0 : copysign(found, x)); /* also of -0.0, as SciPy */
}}"""
_COSINT = """{t} tg_cosint_{n}({t} given)
{{
    {waves}
    double low;
    const double few = a < 0x1p-1022 ? 37.429947750237048 : 0; /* 54 log(2) */
    const double high = tg_log_parts_f64(a < 0x1p-1022 ? a * 0x1p54 : a, few, &low), c = 0.5772156649015329;
    const double sum = high + c, lost = high > c || high < -c ? c - (sum - high) : high - (sum - c);
    const double near = tg_own_fma_f64(u, {near}, sum) + (lost + low - 4.942915152430645e-18);
    const double found = a < {c} ? near : f * s - g * o, end = x > 0 ? 0 : __builtin_nan("");
    return ({t})(a == 0 ? -__builtin_inf() : a == __builtin_inf() ? end : found);
}}"""


def _of_waves(name: str, single: bool) -> str:
    of = {k: horner(COEFFICIENTS[k], f"{k}_t") for k in ("waves_f", "waves_g", f"{name}_near")}
    places = {f"place_{k}": f"{k}_t = {_place(k, 't')}" for k in ("waves_f", "waves_g")}
    waves = _WAVES.format(
        c=WAVES_MIDDLE, place_near=f"{name}_near_t = {_place(f'{name}_near', 'u')}", place_f=places["place_waves_f"],
        place_g=places["place_waves_g"], f=of["waves_f"], g=of["waves_g"],
    )  # fmt: skip
    text, near = _SININT if name == "sinint" else _COSINT, of[f"{name}_near"]
    t, n = ("float", "f32") if single else ("double", "f64")
    return text.format(t=t, n=n, waves=waves, near=near, c=WAVES_MIDDLE)


def functions(inline: str) -> dict[str, str]:
    """The helpers by name, for both widths."""
    out = {f"tg_{of.__name__[1:]}_{n}": of(n == "f32") for of in (_dawsn, _spence) for n in ("f64", "f32")}
    out |= {f"tg_{name}_{n}": _exponential(name, n == "f32") for name in ("expi", "exp1") for n in ("f64", "f32")}
    out |= {f"tg_{name}_{n}": _of_waves(name, n == "f32") for name in ("sinint", "cosint") for n in ("f64", "f32")}
    return {name: inline + text for name, text in out.items()}
