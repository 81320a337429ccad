"""Random bits as element-wise ops: Philox 4x32-10, a function of key, step and index with no state of its own.

The same numbers come out on every backend, whatever the order of computing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from termgraph._lazy import lazy
from termgraph.terms.op import define
from termgraph.terms.ops.dtype_rules import LoopDtypes, OperandDtype
from termgraph.terms.ops.elementwise import elementwise
from termgraph.terms.ops.shapes import require_tensor
from termgraph.terms.spelling import Spelling
from termgraph.terms.types import TensorType, Type

special = lazy("scipy.special")

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = 0x9E3779B9, 0xBB67AE85


def philox_words(key: np.ndarray, step: np.ndarray, index: np.ndarray) -> tuple[Any, Any, Any, Any]:
    """The four 32-bit words (in uint64 arrays) of the block for a 64-bit key, step and index.

    The counter is (low and high half of index, low and high half of step), as in Random123's philox4x32.
    """
    key, step, index = np.broadcast_arrays(*[np.asarray(v, dtype=np.uint64) for v in (key, step, index)])
    k0, k1 = key & _LOW, key >> _HALF
    c0, c1, c2, c3 = index & _LOW, index >> _HALF, step & _LOW, step >> _HALF
    for _ in range(10):
        first, second = _M0 * c0, _M1 * c2
        c0, c1, c2, c3 = (second >> _HALF) ^ c1 ^ k0, second & _LOW, (first >> _HALF) ^ c3 ^ k1, first & _LOW
        k0, k1 = (k0 + np.uint64(_W0)) & _LOW, (k1 + np.uint64(_W1)) & _LOW
    return c0, c1, c2, c3


def _first(key: np.ndarray, step: np.ndarray, index: np.ndarray) -> np.ndarray:
    c0, c1, _, _ = philox_words(key, step, index)
    result: np.ndarray = c0 | (c1 << _HALF)
    return result


def _second(key: np.ndarray, step: np.ndarray, index: np.ndarray) -> np.ndarray:
    _, _, c2, c3 = philox_words(key, step, index)
    result: np.ndarray = c2 | (c3 << _HALF)
    return result


def _scaled(bits: np.ndarray, width: np.ndarray) -> np.ndarray:
    b0, b1, w0, w1 = bits & _LOW, bits >> _HALF, width & _LOW, width >> _HALF
    low, middle, other = b0 * w0, b0 * w1, b1 * w0
    carry = ((low >> _HALF) + (middle & _LOW) + (other & _LOW)) >> _HALF
    result: np.ndarray = b1 * w1 + (middle >> _HALF) + (other >> _HALF) + carry
    return result


def _bits_rule(*dtypes: OperandDtype) -> LoopDtypes:
    if any(d != np.uint64 for d in dtypes):
        raise TypeError("random bits are made of uint64 numbers; cast the operands")
    return (np.dtype("uint64"),) * (len(dtypes) + 1)


def _least(cdf: Any, guess: np.ndarray, u: np.ndarray, high: np.ndarray) -> Any:
    """The least whole number k from 0 to `high` with cdf(k) >= u. Guesses are checked; bisection corrects the rest."""
    found = np.clip(np.where(np.isnan(guess), 0.0, np.ceil(guess)), 0, high)
    if _all_least(cdf, found, u):
        return found
    below, found = np.full(np.shape(found), -1.0), high + 0.0  # cdf(below) < u <= cdf(found)
    for _ in range(64):
        middle = np.floor((below + found) / 2)
        reached = cdf(np.maximum(middle, 0)) >= u
        below, found = np.where(reached, below, middle), np.where(reached, np.maximum(middle, 0), found)
        if (found - below <= 1).all():
            break
    return found


def _all_least(cdf: Any, k: Any, u: np.ndarray) -> bool:
    return bool(((cdf(k) >= u) & ((k == 0) | (cdf(np.maximum(k - 1, 0)) < u))).all())


MOST_POISSON = 9e18
POISSON_REFUSES = "poisson: the mean must be at least 0 and below 9e18"
BINOMIAL_REFUSES = "binomial: n must be at least 0 and below 9e18, and p between 0 and 1"


def _binomial(u: Any, n: Any, p: Any) -> Any:
    if not ((n >= 0) & (p >= 0) & (p <= 1)).all():
        raise ValueError(BINOMIAL_REFUSES)
    u, n, p = np.broadcast_arrays(u, np.asarray(n, dtype=np.float64), p)
    found = _least(lambda k: _binomial_cdf(k, n, p), special.bdtrik(u, n, p), u, n)
    return found.astype(np.int64)


def _binomial_cdf(k: np.ndarray, n: np.ndarray, p: np.ndarray) -> Any:
    return np.where(k >= n, 1.0, special.betaincc(k + 1, np.maximum(n - k, 1), p))


def _multinomial(u: Any, n: Any, p: Any) -> Any:
    """One outcome after the other: a binomial share of the trials that are left."""
    p = np.broadcast_to(p, u.shape)
    if not (p >= 0).all():
        raise ValueError("multinomial: the probabilities pvals must not be negative")
    ahead = np.cumsum(p[..., ::-1], axis=-1)[..., ::-1]
    left = np.array(np.broadcast_to(n, u.shape[:-1]), dtype=np.int64)
    out = np.empty(u.shape, np.int64)
    for j in range(u.shape[-1] - 1):
        share = np.divide(p[..., j], ahead[..., j], out=np.zeros(u.shape[:-1]), where=ahead[..., j] > 0)
        out[..., j] = _binomial(u[..., j], left, np.minimum(share, 1.0))
        left = left - out[..., j]
    out[..., -1:] = left[..., None]
    return out


def _infer_multinomial(u: Type, n: Type, p: Type) -> TensorType:
    return TensorType.of("int64", require_tensor(u, "operand 0 of multinomial_counts").shape)


_BITS = "tg_philox({{0}}, {{1}}, {{2}}, {which})"
philox_first = elementwise(
    "philox_first", 3, _first, _bits_rule, Spelling(biu=_BITS.format(which=0)),
    doc="64 random bits for (key, step, index).",
)  # fmt: skip
philox_second = elementwise(
    "philox_second", 3, _second, _bits_rule, Spelling(biu=_BITS.format(which=1)),
    doc="64 further random bits, independent of philox_first's.",
)  # fmt: skip
scale_bits = elementwise(
    "scale_bits", 2, _scaled, _bits_rule, Spelling(biu="tg_scale_bits"),
    cuda=Spelling(biu="((uint64_t)__umul64hi({0}, {1}))"),
    doc="64 random bits to an integer below a width: floor(bits * width / 2**64).",
)  # fmt: skip
multinomial_counts = define(
    "multinomial_counts",
    infer=_infer_multinomial,
    meaning=_multinomial,
    kind="other",
    doc="How often each outcome occurs in n trials, from uniform numbers of the shape of the counts.",
)
