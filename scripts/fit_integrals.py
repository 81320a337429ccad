"""The coefficients of integrals in generated C: `python scripts/fit_integrals.py` prints them.

A polynomial that is not what `integrals.py` has is marked.
`scripts/ulps.py --only dawsn,spence,expi,exp1,sinint,cosint` compares.
"""

import mpmath
import numpy as np
from fit_bessel import chebyshev, moved

from termgraph.backends.c.text import integrals

mp = mpmath.mp.clone()
mp.prec = 200


def dawsn(x):
    """Dawson's integral, by what it is near and by its asymptotic series."""
    if x < 15:
        return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)
    s = 1 / (2 * x * x)
    term = total = mp.mpf(1)
    for k in range(1, 80):
        term *= (2 * k - 1) * s
        total += term
    return total / (2 * x)


def over_x(u):
    """dawsn(x) / x of u = x^2."""
    return dawsn(mp.sqrt(u)) / mp.sqrt(u) if u else mp.mpf(1)


def times_x(t):
    """x dawsn(x) of t = (x^2 - c) / (x^2 + c)."""
    if 1 - t < mp.mpf(2) ** -90:
        return mp.mpf(1) / 2
    x = mp.sqrt(integrals.DAWSN_MIDDLE * (1 + t) / (1 - t))
    return x * dawsn(x)


def bent(z):
    """What Spence's integral of exp(-s) lacks from s - s^2 / 4, over s^3, of z = s^2: its Bernoulli numbers."""
    return mp.fsum(mp.bernoulli(2 * k) / mp.factorial(2 * k + 1) * z ** (k - 1) for k in range(1, 60))


def entire(x):
    """(expi(x) - log(|x|) - Euler's constant) / x."""
    return mp.nsum(lambda k: x ** int(k) / (k + 1) / mp.factorial(k + 1), [0, 90]) if x else mp.mpf(1)


def scaled(sign, c, t):
    """x exp(-x) expi(x) of t = (|x| - c) / (|x| + c) for the numbers of a sign."""
    if 1 - t < mp.mpf(2) ** -90:
        return mp.mpf(1)
    x = sign * c * (1 + t) / (1 - t)
    if abs(x) < 150:
        return x * mp.exp(-x) * mp.ei(x)
    term = total = mp.mpf(1)
    for k in range(1, 80):
        term *= k / x
        total += term
    return total


def growing(t):
    return scaled(1, integrals.EXPI_MIDDLES[0], t)


def falling(t):
    return scaled(-1, integrals.EXPI_MIDDLES[1], t)


def wave(power, t):
    """x f(x), or x^2 g(x), of t = (x - c) / (x + c)."""
    if 1 - t < mp.mpf(2) ** -90:
        return mp.mpf(1)
    x = integrals.WAVES_MIDDLE * (1 + t) / (1 - t)
    if x > 120:
        return mp.fsum((-1) ** k * mp.factorial(2 * k + power - 1) / x ** (2 * k) for k in range(60))
    of_cosine, of_sine = mp.ci(x), mp.pi / 2 - mp.si(x)
    f, g = [of_cosine * a + of_sine * b for a, b in ((mp.sin(x), mp.cos(x)), (-mp.cos(x), mp.sin(x)))]
    return x * f if power == 1 else x * x * g


ZERO = mp.findroot(mp.ei, 0.3725)


VALUES = {"dawsn_near": over_x, "dawsn_middle": times_x, "dawsn_far": times_x, "spence": bent}
VALUES |= {"expi_entire": entire, "expi_zero": lambda x: mp.ei(x) / (x - ZERO) if abs(x - ZERO) > 1e-40 else 1 / x}
VALUES |= {"expi_near": growing, "expi_far": growing, "expi_below": falling}
VALUES |= {"sinint_near": lambda u: mp.si(mp.sqrt(u)) / mp.sqrt(u) if u else mp.mpf(1)}
VALUES |= {"cosint_near": lambda u: (mp.ci(mp.sqrt(u)) - mp.log(u) / 2 - mp.euler) / u if u else mp.mpf(-1) / 4}
VALUES |= {"waves_f": lambda t: wave(1, t), "waves_g": lambda t: wave(2, t)}


def main() -> None:
    print(f"zero of expi: {float(ZERO)!r} and {float(ZERO - mp.mpf(float(ZERO)))!r}")
    for name, (low, high, degree) in integrals.PIECES.items():
        middle, half = (mp.mpf(high) + mp.mpf(low)) / 2, (mp.mpf(high) - mp.mpf(low)) / 2
        of = VALUES[name.removesuffix("_single")]

        def value(t, of=of, middle=middle, half=half):
            return of(middle + half * t)

        found = chebyshev(value, degree)
        powers = name.startswith("expi_entire")  # all its coefficients are positive in powers of x itself
        found = moved(found, middle, half) if powers else found
        tried = [mp.mpf(k) / 50 - 1 for k in range(101)]
        worst = max(abs(mp.polyval(found[::-1], middle + half * t if powers else t) / value(t) - 1) for t in tried)
        single = name.startswith("dawsn") and name.endswith("_single")  # which is computed in float32
        numbers = tuple(float(mp.nstr(c, 9)) if single else float(c) for c in found)
        told = "" if numbers == integrals.COEFFICIENTS.get(name) else "    # not what integrals.py has"
        first = np.float32(numbers[0]) if single else numbers[0]
        print(f'    "{name}": {numbers},{told}    # error {mp.nstr(worst, 2)}')
        print(f'    "{name}": {float(found[0] - mp.mpf(float(first))):.3g}, # which the first lacks', flush=True)


if __name__ == "__main__":
    main()
