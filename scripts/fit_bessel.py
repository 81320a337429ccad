"""The coefficients of the Bessel functions in generated C: `python scripts/fit_bessel.py` prints them.

A polynomial that is not what `bessel.py` has is marked. `scripts/ulps.py --only i0,i1,j0,j1` says how far they are off.
"""

from functools import partial

import mpmath

from termgraph.backends.c.text import bessel

mp = mpmath.mp.clone()
mp.prec = 140


def chebyshev(f, degree):
    """The polynomial in t, -1 <= t <= 1, that agrees with f at the Chebyshev points."""
    n = degree + 1
    nodes = [mp.cos(mp.pi * (2 * k + 1) / (2 * n)) for k in range(n)]
    values = [f(t) for t in nodes]
    series = [
        (2 if j else 1) * mp.fsum(v * mp.cos(j * mp.pi * (2 * k + 1) / (2 * n)) for k, v in enumerate(values)) / n
        for j in range(n)
    ]
    before, here, out = [mp.mpf(1)], [mp.mpf(0), mp.mpf(1)], [mp.mpf(0)] * n
    for j, c in enumerate(series):
        current = before if j == 0 else here
        for i, v in enumerate(current):
            out[i] += c * v
        if j:
            following = [mp.mpf(0), *[2 * v for v in here]]
            for i, v in enumerate(before):
                following[i] -= v
            before, here = here, following
    return out


def moved(polynomial, middle, half):
    """A polynomial in t = (y - middle) / half as one in y."""
    out = [mp.mpf(0)]
    for c in reversed(polynomial):
        following = [mp.mpf(0), *[v / half for v in out]]
        for i, v in enumerate(out):
            following[i] -= v * middle / half
        following[0] += c
        out = following
    return out[: len(polynomial)]


def growing(order, y):
    """I(x) of x^2 / 4 = y, over its first term."""
    return mp.besseli(order, 2 * mp.sqrt(y)) / mp.sqrt(y) ** order if y else mp.mpf(1)


def falling(order, u):
    """I(x) * sqrt(x) * exp(-x) of 8 / x = u."""
    return mp.sqrt(8 / u) * mp.exp(-8 / u) * mp.besseli(order, 8 / u) if u else 1 / mp.sqrt(2 * mp.pi)


def zeros(order):
    """The squares of the first two zeros of J."""
    return [mp.besseljzero(order, k) ** 2 for k in (1, 2)]


def between(order, y):
    """J(x) of x^2 = y without its first two zeros, and for order 1 without x."""
    first = mp.besselj(order, mp.sqrt(y)) / mp.sqrt(y) ** order if y else mp.mpf(1) / (1 + order)
    return first / ((y - zeros(order)[0]) * (y - zeros(order)[1]))


def fits():
    """All polynomials by name, as `bessel.py` has them, and how many digits it has."""
    half = mp.mpf(1) / 2
    for order in (0, 1):
        for name, degree, digits in (("", 16, 17), ("F", 11, 9)):
            yield f"I{order}_SMALL{name}", of(partial(growing, order), degree, 8, 8), digits
        for name, degree, digits in (("", 23, 17), ("F", 7, 9)):
            yield f"I{order}_LARGE{name}", of(partial(falling, order), degree, half, half, True), digits
        yield f"J{order}_SMALL", of(lambda w, n=order: between(n, 64 - w), 15, 32, 32), 17


def of(f, degree, middle, half, centred=False):
    """The coefficients of f within `half` of `middle`, in its operand; if centred, in (operand - middle) / half."""
    found = chebyshev(lambda t: f(half * t + middle), degree)
    return found if centred else moved(found, middle, half)


def main():
    for order in (0, 1):
        for k, square in enumerate(zeros(order)):
            print(f"J{order} zero {k}: {float(square)!r} and {float(square - mp.mpf(float(square)))!r}")
    for name, found, digits in fits():
        print(f"{name} = ({', '.join(mp.nstr(c, digits) for c in found)})")
        kept = getattr(bessel, name)
        if any(abs(float(c) - d) > 1e-8 * abs(d) for c, d in zip(found, kept)):
            print(f"    not what bessel.py has: {kept}")


if __name__ == "__main__":
    main()
