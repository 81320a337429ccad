"""The coefficients of Owen's T in generated C: `python scripts/fit_owens_t.py` prints them.

A polynomial that is not what `owens_t.py` has is marked. `scripts/ulps.py --only owens_t` compares.
"""

import mpmath
from fit_bessel import chebyshev, moved

from termgraph.backends.c.text import owens_t

mp = mpmath.mp.clone()
mp.prec = 200


def show(name, t, found, had, error):
    """A line of a table."""
    numbers = tuple(float(c) for c in found)
    told = "" if numbers == had.get(t) else "    # not what owens_t.py has"
    print(f'{name} "{t}": {numbers},{told}    # error {mp.nstr(error, 2)}', flush=True)


def main() -> None:
    half = mp.mpf(1) / 2
    tried = [mp.mpf(k) / 50 - 1 for k in range(101)]
    for t, (last, most, degree) in owens_t.ORDERS.items():
        found = chebyshev(lambda v: 1 / (1 + half + half * v), last)
        error = max(abs(mp.polyval(found[::-1], v) * (1 + half + half * v) - 1) for v in tried)
        show("INVERSE", t, moved(found, half, half), owens_t.INVERSE, error)
        middle = mp.mpf(most) / 2

        def moment(v, last=last, middle=middle):
            return mp.hyp1f1(1, last + mp.mpf(3) / 2, middle + middle * v)

        found = chebyshev(moment, degree)
        error = max(abs(mp.polyval(found[::-1], v) - moment(v)) for v in tried) / moment(1)
        show("MOMENT", t, found, owens_t.MOMENT, error)


if __name__ == "__main__":
    main()
