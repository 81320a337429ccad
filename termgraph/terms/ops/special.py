"""Special functions, most of which C computes by SciPy's own loops, one element at a time: rows of the op table.

The digits of these are SciPy's. Others that C has formulas of its own for are in `elementwise.py`.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from termgraph.terms.op import Op
from termgraph.terms.ops import confluent, meanings
from termgraph.terms.ops.dtype_rules import special_rule
from termgraph.terms.ops.elementwise import elementwise

CALLED: dict[str, int] = {}  # operands of what is nothing but such a call


def _called(name: str, arity: int, doc: str, cost: int = 500) -> Op:
    CALLED[name] = arity
    return elementwise(name, arity, meanings.of_scipy(name), special_rule, f"tg_{name}", cost=cost, doc=doc)


def _in_vectors(name: str, doc: str, cost: int, arity: int = 1) -> Op:
    """A function that C has vector code for."""
    meaning = meanings.of_scipy(name)
    return elementwise(name, arity, meaning, special_rule, f"tg_{name}", cost=cost, vector=True, doc=doc)


def _of_pair(place: int) -> Any:
    """One of SciPy's two integrals."""

    def meaning(x: np.ndarray) -> Any:
        return meanings.special.sici(x)[place]

    return meanings.in_dtype(meaning)


@meanings.in_dtype
def _hyp2f1(*operands: np.ndarray) -> Any:
    """SciPy's loop crashes where an operand is NaN."""
    none = functools.reduce(np.logical_or, [np.isnan(v) for v in operands])
    found = meanings.special.hyp2f1(*[np.where(none, v.dtype.type(0.5), v) for v in operands])
    return np.where(none, np.nan, found)


# Bessel functions
jv = _called("jv", 2, "The Bessel function of the first kind, given its order and x.")
iv = _called("iv", 2, "The modified Bessel function of the first kind, given its order and x.")
ive = _called("ive", 2, "iv(v, x) * exp(-|x|) without overflow.")
kv = _called("kv", 2, "The modified Bessel function of the second kind, given its order and x; NaN below 0.")
kve = _called("kve", 2, "kv(v, x) * exp(x) without underflow.")

# gamma, beta and their kin
beta = _in_vectors("beta", "gamma(a) * gamma(b) / gamma(a + b).", 150, arity=2)
poch = _in_vectors("poch", "gamma(z + m) / gamma(z): z * (z + 1) * ... * (z + m - 1) for whole m.", 150, arity=2)
binom = _called("binom", 2, "How many ways there are to choose k of n, for any real numbers.", 200)
zeta = _called("zeta", 2, "The zeta function of Hurwitz, the sum of (q + k)**-x from k = 0 on, for x > 1.")
betainc = _called(
    "betainc", 3, "The incomplete beta function of a, b and x, divided by beta(a, b): it rises from 0 to 1.", 800
)  # fmt: skip
gammaincinv = _called("gammaincinv", 2, "The x with gammainc(a, x) = y.", 1000)
gammainccinv = _called("gammainccinv", 2, "The x with gammaincc(a, x) = y.", 1000)
betaincinv = _called("betaincinv", 3, "The x with betainc(a, b, x) = y.", 2000)

# integrals
exp1 = _in_vectors("exp1", "The integral of exp(-t) / t from x to infinity; NaN below 0.", 100)
expi = _in_vectors("expi", "The principal value of the integral of exp(t) / t from -infinity to x.", 100)
expn = _called("expn", 2, "The integral of exp(-x * t) / t**n from 1 to infinity, for whole n.", 300)
spence = _in_vectors("spence", "The integral of log(t) / (1 - t) from 1 to x: the dilogarithm of 1 - x.", 60)
dawsn = _in_vectors("dawsn", "exp(-x**2) times the integral of exp(t**2) from 0 to x.", 60)
owens_t = _in_vectors(
    "owens_t", "Owen's T: the chance that X > h and 0 < Y < a * X, of standard normal X and Y.", 200, arity=2
)
sinint = elementwise(
    "sinint", 1, _of_pair(0), special_rule, "tg_sinint", cost=100, vector=True,
    doc="The integral of sin(t) / t from 0 to x.",
)  # fmt: skip
cosint = elementwise(
    "cosint", 1, _of_pair(1), special_rule, "tg_cosint", cost=100, vector=True,
    doc="Euler's constant plus log(x) plus the integral of (cos(t) - 1) / t from 0 to x.",
)  # fmt: skip

# real branches of Lambert's function, in C as here: SciPy's loses all digits near -1/e
NEAREST = -0.36787944117144233  # to -1/e
ABOVE = 1.2428753672788363e-17  # how far -1/e is from there
PIECES = (-0.3, 3.0)  # where the three forms meet
TO_ROOT = (769 / 17280, -43 / 540, 11 / 72, -1 / 3, 1.0)  # W + 1 as powers of sqrt(2 * (e * x + 1))


@meanings.in_dtype
def _lambertw(x: np.ndarray, k: np.ndarray) -> Any:
    """Halley's steps: for W + 1 near -1/e, for W where it is small, and by logarithms."""
    at_root = x == x.dtype.type(NEAREST)
    x, lower = np.asarray(x, "float64"), k == -1
    above = np.where(at_root, 0, np.e * ((x - NEAREST) - ABOVE))
    p = np.sqrt(2 * above) * np.where(lower, -1, 1)
    u = p * functools.reduce(lambda total, c: total * p + c, TO_ROOT)
    small, far = np.log1p(x), np.log(np.abs(x))
    w = small * (1 - np.log1p(small) / (2 + small))
    more = np.log(np.abs(far))
    v = far - more + more / far + more * (more - 2) / (2 * far * far)
    for _ in range(3):
        e = np.exp(u)
        f, slope = u * e - np.expm1(u) - above, u * e
        u = u - np.where(f == 0, 0, f / (slope - f * (u + 1) * e / (2 * slope)))
        e = np.exp(w)
        f, slope = w * e - x, e * (w + 1)
        w = w - f / (slope - f * (w + 2) / (2 * (w + 1)))
        f, slope = v - far + np.log(np.abs(v)), 1 + 1 / v
        v = v - f / (slope + f / (2 * v * v * slope))
    found = np.where(x < PIECES[0], u - 1, np.where(lower | (x > PIECES[1]), v, w))
    found = np.where(lower, np.where(x == 0, -np.inf, np.where(x < 0, found, np.nan)), np.where(x == np.inf, x, found))
    return np.where(lower | (k == 0), found, np.nan)


lambertw = elementwise(
    "lambertw", 2, _lambertw, special_rule, "tg_lambertw", cost=200,
    doc="The w with w * exp(w) = x, from -1 on with k = 0, up to -1 with k = -1; NaN where it is not real.",
)  # fmt: skip

hyp1f1 = elementwise(
    "hyp1f1", 3, meanings.in_dtype(confluent.hyp1f1), special_rule, "tg_hyp1f1", cost=2000,
    doc="Kummer's confluent hypergeometric function 1F1(a; b; x); NaN where an operand is larger than a million.",
)  # fmt: skip
CALLED["hyp2f1"] = 4
hyp2f1 = elementwise(
    "hyp2f1", 4, _hyp2f1, special_rule, "tg_hyp2f1", cost=2000,
    doc="Gauss's hypergeometric function 2F1(a, b; c; x).",
)  # fmt: skip
