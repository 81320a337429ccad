"""How far elementary and special functions are off, in units of the last place: compiled, and NumPy's and SciPy's.

python scripts/ulps.py                  all functions, float64 and float32
python scripts/ulps.py --only exp,i0    some of them
python scripts/ulps.py --points 2000    more points (a function of mpmath takes up to a millisecond a point)

Points are drawn from the ranges beside each name, half of them evenly and half by their exponents. Results that are not
finite or below the normal numbers are left out.
"""

import argparse

import mpmath
import numpy as np

import termgraph as tg
import termgraph.tensor as T

mp = mpmath.mp.clone()
mp.prec = 160
# name: the exact value, least and largest operand
FUNCTIONS = {
    "exp": (mp.exp, -80, 80), "exp2": (lambda x: mp.mpf(2) ** x, -100, 100), "expm1": (mp.expm1, -20, 80),
    "log": (mp.log, 1e-30, 1e30), "log2": (lambda x: mp.log(x, 2), 1e-30, 1e30), "log10": (mp.log10, 1e-30, 1e30),
    "log1p": (mp.log1p, -0.99, 1e30), "sqrt": (mp.sqrt, 0, 1e30),
    "cbrt": (lambda x: mp.sign(x) * mp.cbrt(abs(x)), -1e9, 1e9),
    "sin": (mp.sin, -100, 100), "cos": (mp.cos, -100, 100), "tan": (mp.tan, -100, 100),
    "arcsin": (mp.asin, -1, 1), "arccos": (mp.acos, -1, 1), "arctan": (mp.atan, -1e3, 1e3),
    "sinh": (mp.sinh, -80, 80), "cosh": (mp.cosh, -80, 80), "tanh": (mp.tanh, -20, 20),
    "arcsinh": (mp.asinh, -1e9, 1e9), "arccosh": (mp.acosh, 1, 1e9), "arctanh": (mp.atanh, -1, 1),
    "sigmoid": (lambda x: 1 / (1 + mp.exp(-x)), -80, 80), "softplus": (lambda x: mp.log1p(mp.exp(x)), -80, 80),
    "erf": (mp.erf, -5, 5), "erfc": (mp.erfc, -5, 9), "gamma": (mp.gamma, 1e-3, 170),
    "gammaln": (mp.loggamma, 1e-3, 1e6), "digamma": (mp.digamma, 1e-3, 1e6),
    "erfinv": (mp.erfinv, -1, 1), "erfcinv": (lambda q: erfcinv(q), 1e-300, 2),
    "erfcx": (lambda x: mp.exp(x * x) * mp.erfc(x), -20, 100),
    "i0": (lambda x: mp.besseli(0, x), -80, 80), "i1": (lambda x: mp.besseli(1, x), -80, 80),
    "j0": (lambda x: mp.besselj(0, x), -8, 8), "j1": (lambda x: mp.besselj(1, x), -8, 8),
    "dawsn": (lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), -20, 20),
    "spence": (lambda x: mp.polylog(2, 1 - x).real, 0, 100),
    "expi": (mp.ei, -100, 100), "exp1": (mp.e1, 0, 80), "sinint": (mp.si, -100, 100), "cosint": (mp.ci, 0, 100),
}  # fmt: skip

# The same for two operands: the exact value, the range of each.
OF_TWO = {
    "owens_t": (lambda h, a: owens_t(h, a), (-12, 12), (-5, 5)),
    "beta": (lambda a, b: mp.gammaprod([a, b], [a + b]), (-60, 400), (-60, 60)),
    "poch": (lambda z, m: mp.gammaprod([z + m], [z]), (-60, 300), (-60, 60)),
}


def owens_t(h: mpmath.mpf, a: mpmath.mpf) -> mpmath.mpf:
    """By the integral, and beyond a = 1 by that of h a and 1 / a; the nodes end where nothing is left."""
    if a < 0:
        return -owens_t(h, -a)
    h, (of_h, of_ha) = abs(h), [mp.erfc(abs(v) / mp.sqrt(2)) / 2 for v in (h, h * a)]
    if a > 1:
        return of_h / 2 + of_ha * (mp.mpf(1) / 2 - of_h) - owens_t(h * a, 1 / a)
    end = min(a, 14 / h) if h else a
    nodes = [end * k / 6 for k in range(7)]
    integral = mp.quad(lambda x: mp.exp(-((h * x) ** 2) / 2) / (1 + x * x), nodes)
    return mp.exp(-h * h / 2) * integral / (2 * mp.pi)


def erfcinv(q: mpmath.mpf) -> mpmath.mpf:
    """By Newton's steps: what mpmath has is the inverse of erf, and 1 - q loses the digits of small q."""
    if q > 1:
        return -erfcinv(2 - q)
    y = mp.mpf(0) if q > 0.5 else mp.sqrt(-mp.log(q))
    for _ in range(200):
        step = (mp.erfc(y) - q) * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
        y += step
        if abs(step) < mp.mpf(2) ** -120 * abs(y):
            break
    return y


def points(low: float, high: float, count: int, dtype: str) -> np.ndarray:
    """Numbers of a range, evenly and by their exponents."""
    rng = np.random.default_rng(0)
    small = high * 2.0 ** rng.uniform(-30, 0, count - count // 2)
    signs = rng.choice([-1, 1], len(small)) if low < 0 else 1
    x = np.concatenate([rng.uniform(low, high, count // 2), small * signs]).astype(dtype)
    return x[(x > low) & (x < high)]


def off(got: np.ndarray, exact: list) -> tuple[float, float]:
    """The largest and the mean error in units of the last place."""
    info = np.finfo(got.dtype)
    found = []
    for a, b in zip(got, exact):
        near = got.dtype.type(float(b)) if abs(b) < float(info.max) else np.inf
        if np.isfinite(near) and abs(near) >= info.smallest_normal:
            found.append(abs(float((mp.mpf(float(a)) - b) / mp.mpf(float(np.spacing(abs(near)))))))
    return (max(found), sum(found) / len(found)) if found else (0.0, 0.0)


def row(name: str, count: int, dtype: str) -> str:
    """A line of the table."""
    meaning, *ranges = OF_TWO[name] if name in OF_TWO else (FUNCTIONS[name][0], FUNCTIONS[name][1:])
    drawn = [points(*limits, count, dtype) for limits in ranges]
    rng = np.random.default_rng(1)
    given = [x[: min(map(len, drawn))] for x in [drawn[0], *[rng.permutation(x) for x in drawn[1:]]]]
    exact = [meaning(*[mp.mpf(float(v)) for v in values]) for values in zip(*given)]
    operands = [T.tensor(letter, dtype=dtype, shape=(None,)) for letter in "xy"[: len(given)]]
    y = getattr(T, name)(*operands)
    sides = [tg.function(operands, y, mode=tg.Mode(linker=linker))(*given) for linker in ("c", "py")]
    cells = [f"{largest:10.2f} {mean:6.2f}" for largest, mean in (off(side, exact) for side in sides)]
    return f"{name:9} {dtype:8}" + "   ".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=400)
    parser.add_argument("--only", type=lambda text: text.split(","), default=[*FUNCTIONS, *OF_TWO])
    asked = parser.parse_args()
    print(f"{'':17} {'compiled: largest, mean':>20}   {'NumPy, SciPy':>17}")
    for dtype in ("float64", "float32"):
        for name in asked.only:
            print(row(name, asked.points, dtype), flush=True)


if __name__ == "__main__":
    main()
