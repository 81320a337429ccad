"""Functions of one number as C has them, at numbers of every exponent and at the ends of those ranges."""

import warnings

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.op import OPS

LINKER = "c"
PYTHON = tg.Mode(linker="py")
ONE = sorted(
    n for n, op in OPS.items() if op.kind == "elementwise" and op.arity == 1 and not op.params and hasattr(T, n)
)


# Where SciPy, which the virtual machine asks, is wrong: near poles and zeros, and at the smallest of all numbers.
SCIPY = {
    "digamma": lambda x: (x < -0.5) & (np.abs(x - np.rint(x)) < 1e-5),
    "gammaln": lambda x: (np.abs(x) < 5e-309) | (np.abs(x - 1.5) < 0.5 + 1e-8),
    "erfcinv": lambda x: x < 1e-323,
}


def every_exponent(dtype):
    """Powers of two, multiples of 1/2, their neighbours, two numbers between powers; zeros, infinities and NaN."""
    bits, mantissa = (np.uint32, 23) if dtype == "float32" else (np.uint64, 52)
    top = np.iinfo(bits).max >> (mantissa + 1)
    powers = np.arange(top + 1, dtype=bits) << bits(mantissa)
    between = [powers + bits(k) for k in (1, (1 << mantissa) // 5, (1 << mantissa) // 5 * 3, (1 << mantissa) - 1)]
    found = np.concatenate([powers, *between])[: -4 if dtype == "float32" else None].view(dtype)
    halves = np.arange(0.5, 20, 0.5, dtype)
    beside = [np.nextafter(halves, halves + side) for side in (-1, 1)]
    found = np.concatenate([found[~np.isnan(found)], halves, *[b.astype(dtype) for b in beside]])
    return np.concatenate([found, -found, np.array([np.nan], dtype)])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ONE)
def test_at_numbers_of_every_exponent(name, dtype):
    x = T.vector("x", dtype=dtype)
    try:
        y = getattr(T, name)(x)
    except TypeError:
        pytest.skip("is not defined for real numbers")
    given = every_exponent(dtype)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        got, want = tg.function([x], y)(given), tg.function([x], y, mode=PYTHON)(given)
    if got.dtype.kind not in "fc":
        np.testing.assert_array_equal(got, want)
        return
    exact = 1e-5 if got.dtype == np.float32 else 1e-11
    with np.errstate(all="ignore"):
        tiny = float(np.finfo(dtype).tiny) * 4
        close = np.isclose(got, want, exact, tiny, equal_nan=True)
        close |= SCIPY[name](given) if name in SCIPY and dtype == "float64" else False
    assert close.all(), [(given[i], got[i], want[i]) for i in np.flatnonzero(~close)[:6]]
