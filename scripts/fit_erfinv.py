"""The coefficients of erfinv, erfcinv and erfcx in generated C: `python scripts/fit_erfinv.py` prints them.

A polynomial that is not what `erfinv.py` has is marked. `scripts/ulps.py --only erfinv,erfcinv,erfcx` compares.
"""

import mpmath
import numpy as np
from fit_bessel import chebyshev, moved

from termgraph.backends.c.text import erfinv

mp = mpmath.mp.clone()
mp.prec = 200


def inverse(w):
    """The y with erf(y)^2 = 1 - exp(-w)."""
    q = mp.exp(-w) / (1 + mp.sqrt(1 - mp.exp(-w)))  # erfc(y)
    y = mp.sqrt(w)
    for _ in range(100):
        goal = mp.log(mp.erfc(y) / q)  # erfc falls so fast that its logarithm is what Newton's steps are made for
        step = goal * mp.erfc(y) * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
        y += step
        if abs(step) < mp.mpf(2) ** -170 * y:
            return y
    raise ArithmeticError(f"no inverse at {w}")


def over_x(w):
    """y over x where erf(y) = x."""
    return inverse(w) / mp.sqrt(1 - mp.exp(-w)) if w > mp.mpf(2) ** -90 else mp.sqrt(mp.pi) / 2


def scaled(t):
    """(1 + 2 x) erfcx(x) of t = (x - 3.75) / (x + 3.75)."""
    if t > 1 - mp.mpf(2) ** -90:
        return 2 / mp.sqrt(mp.pi)
    x = mp.mpf(3.75) * (1 + t) / (1 - t)
    if x < 60:
        return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)
    s = 1 / (2 * x * x)
    term = total = mp.mpf(1)
    for k in range(1, 80):
        term *= -(2 * k - 1) * s
        total += term
    return (1 + 2 * x) * total / (x * mp.sqrt(mp.pi))


VALUES = {
    "near": over_x,
    "tail": lambda s: inverse(s * s),
    "far": lambda s: inverse(s * s),
    "end": lambda u: inverse(mp.exp(u)) / mp.exp(u / 2),
    "scaled": scaled,
    "near_single": over_x,
    "tail_single": lambda s: inverse(s * s),
    "scaled_single": scaled,
    "log_single": mp.log,
}


def main() -> None:
    for name, (low, high, degree) in erfinv.PIECES.items():
        middle, half = (mp.mpf(high) + mp.mpf(low)) / 2, (mp.mpf(high) - mp.mpf(low)) / 2

        def value(t, name=name, middle=middle, half=half):
            return VALUES[name](middle + half * t)

        found = chebyshev(value, degree)
        tried = [mp.mpf(k) / 50 - 1 for k in range(101)]
        worst = max(abs(mp.polyval(found[::-1], t) / value(t) - 1) for t in tried)
        numbers = tuple(float(c) for c in found)
        if name in ("near", "scaled"):
            print(f"{name.upper()}_LOW = {float(found[0] - numbers[0])!r}")
        told = "" if numbers == erfinv.COEFFICIENTS.get(name) else "    # not what erfinv.py has"
        print(f'    "{name}": {numbers},{told}    # error {mp.nstr(worst, 2)}', flush=True)
    near = [c / mp.mpf(3.125) ** k for k, c in enumerate(chebyshev(lambda t: over_x(mp.mpf(3.125) * (1 + t)), 12))]
    print_floats("NEAR_FLOAT", near)
    print_floats("NEAR_FLOAT_LOW", [c - single(c) for c in near[:2]])
    low, high = mp.sqrt(mp.mpf(0.5)) - 1, mp.sqrt(mp.mpf(2)) - 1
    middle, half = (low + high) / 2, (high - low) / 2
    print_floats("LOG_FLOAT", moved(chebyshev(lambda t: log_rest(middle + half * t), 7), middle, half))


def log_rest(f):
    """What is left of log(1 + f) beside f - f^2 / 2, over f^3."""
    return (mp.log1p(f) - f + f * f / 2) / f**3 if abs(f) > mp.mpf(2) ** -60 else mp.mpf(1) / 3


def single(c):
    return float(np.float32(float(c)))


def print_floats(name, coefficients):
    numbers = tuple([single(c) for c in coefficients])
    print(f"{name} = {numbers}{'' if numbers == getattr(erfinv, name) else '    # not what erfinv.py has'}")


if __name__ == "__main__":
    main()
