"""The coefficients of the gamma function and its kin in generated C: `python scripts/fit_gamma.py` prints them.

A polynomial that is not what `gammas.py` has is marked. `scripts/ulps.py --only gamma,gammaln,digamma` compares.
"""

import mpmath
from fit_bessel import chebyshev

from termgraph.backends.c.text import gammas

mp = mpmath.mp.clone()
mp.prec = 200
ROOT = mp.findroot(mp.digamma, 1.46)
LEAST = mp.mpf(2) ** -80


def over(function, zero):
    """What is left of a function when a simple zero is divided out."""

    def rest(x):
        apart = x - zero if abs(x - zero) > LEAST else LEAST
        return function(zero + apart) / apart

    return rest


def bernoulli(first, w):
    """A series of Bernoulli numbers in w, of which the first terms are as good as the sum, w being small."""
    return mp.fsum(mp.bernoulli(2 * k) * first(k) * w ** (k - 1) for k in range(1, 20))


def of_inverse_square(function, first):
    """A function of x as one of w = 1 / x^2."""
    return lambda w: function(1 / mp.sqrt(w)) if w > mp.mpf(2) ** -12 else bernoulli(first, w)


def stirling(x):
    return x * (mp.loggamma(x) - (x - mp.mpf(0.5)) * mp.log(x) + x - mp.log(2 * mp.pi) / 2)


def reduced_sine(s):
    return mp.sincpi(mp.sqrt(s))


def reduced_cotangent(s):
    r = mp.sqrt(max(s, LEAST))
    return (1 / r - mp.pi * mp.cot(mp.pi * r)) / r


def reduced_logarithm(u):
    u = u if abs(u) > mp.mpf(2) ** -60 else mp.mpf(2) ** -60
    return (u - mp.log1p(u)) / u**2


def reduced_exponential(u):
    u = u if abs(u) > mp.mpf(2) ** -60 else mp.mpf(2) ** -60
    return (mp.expm1(u) - u) / u**2


def logarithm_of_square(z):
    s = mp.sqrt(max(z, LEAST))
    return (2 * mp.atanh(s) - 2 * s) / s**3


VALUES = {
    "gammaln_at_1": over(mp.loggamma, 1),
    "gammaln_at_2": over(mp.loggamma, 2),
    "gammaln_far": of_inverse_square(stirling, lambda k: mp.mpf(1) / (2 * k * (2 * k - 1))),
    "digamma_near": over(mp.digamma, ROOT),
    "digamma_next": lambda x: mp.digamma(x + 1),
    "digamma_far": of_inverse_square(
        lambda x: (mp.log(x) - 1 / (2 * x) - mp.digamma(x)) * x**2, lambda k: mp.mpf(1) / (2 * k)
    ),
    "trigamma_near": lambda x: mp.psi(1, x),
    "trigamma_next": lambda x: mp.psi(1, x + 1),
    "trigamma_far": of_inverse_square(lambda x: (mp.psi(1, x) - 1 / x - 1 / (2 * x * x)) * x**3, lambda k: mp.mpf(1)),
    "inverse": over(lambda x: mp.rgamma(x) - 1, 2),
    "sine": reduced_sine,
    "cotangent": reduced_cotangent,
    "logarithm": logarithm_of_square,
    "log1p": reduced_logarithm,
    "exponential": reduced_exponential,
    "exponential_below": reduced_exponential,
}


def main() -> None:
    print(f"ROOT = ({float(ROOT)!r}, {float(ROOT - mp.mpf(float(ROOT)))!r})")
    for name, (low, high, degree) in gammas.PIECES.items():
        middle, half = (mp.mpf(high) + mp.mpf(low)) / 2, (mp.mpf(high) - mp.mpf(low)) / 2

        def value(t, name=name, middle=middle, half=half):
            return VALUES[name](middle + half * t)

        found = chebyshev(value, degree)
        tried = [mp.mpf(k) / 50 - 1 for k in range(101)]
        most = max(abs(value(t)) for t in tried)
        worst = max(abs(mp.polyval(found[::-1], t) - value(t)) for t in tried) / most
        numbers = tuple(float(c / half**k) for k, c in enumerate(found))
        told = "" if numbers == gammas.COEFFICIENTS.get(name) else "    # not what gammas.py has"
        print(f'    "{name}": {numbers},{told}    # error {mp.nstr(worst, 2)}', flush=True)


if __name__ == "__main__":
    main()
