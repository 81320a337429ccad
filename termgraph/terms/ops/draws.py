"""Draws by rejection as element-wise ops: gamma, Poisson and binomial numbers, each a function of (key, step, index).

An element reads as many words of random bits as it needs: word n is half n % 2 of the Philox block whose key is n // 2
odd steps further. Gamma: Marsaglia and Tsang with a ziggurat for the normal numbers; Poisson: Hörmann's PTRS; binomial:
his BTRS; both search from 0 where the mean is small. The C text (`backends/c/text/draws.py`) does the same steps in the
same order: products that are added to stand apart there, and rare logarithms are those of the C library here too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from termgraph.terms.op import Meaning, Op
from termgraph.terms.ops.dtype_rules import LoopDtypes, OperandDtype
from termgraph.terms.ops.elementwise import elementwise
from termgraph.terms.ops.random import BINOMIAL_REFUSES, MOST_POISSON, POISSON_REFUSES, philox_words
from termgraph.terms.spelling import Spelling

FURTHER = 0xD1342543DE82EF95  # added to the key for each further block
SEARCHED = 10.0  # means below are searched for from 0
LAYERS = 256
_TAIL, _AREA = 3.6541528853610088, 0.00492867323399  # where the ziggurat's lowest layer ends; the area of each layer


def ziggurat() -> tuple[list[float], list[int], list[float]]:
    """Of each layer: its width over 2**52, below which of 2**52 steps it lies inside, and the density at its width."""
    density = [math.exp(-0.5 * _TAIL * _TAIL)]
    widths = [_AREA / density[0], _TAIL]
    while len(widths) < LAYERS:
        at = min(density[-1] + _AREA / widths[-1], 1.0)
        density.append(at)
        widths.append(math.sqrt(-2.0 * math.log(at)))
    widths.append(0.0)
    density = [0.0, *density, 1.0]  # that of the lowest layer is not read: its end is the tail
    inside = [int(widths[i + 1] / widths[i] * 2.0**52) for i in range(LAYERS)]
    return [w * 2.0**-52 for w in widths[:LAYERS]], inside, density


WIDTH, INSIDE, DENSITY = ziggurat()
# log(k!), and the same less the logarithm of Stirling's sqrt(2 pi) (k + 1)^(k + 1/2) exp(-k - 1)
LOG_FACTORIAL = [math.lgamma(k + 1) for k in range(10)]
STIRLING = [v + k + 1 - (k + 0.5) * math.log(k + 1) - 0.5 * math.log(2 * math.pi) for k, v in enumerate(LOG_FACTORIAL)]


class _Words:
    """The words of random bits of some elements; each has read a number of its own."""

    def __init__(self, key: Any, step: np.ndarray, index: np.ndarray) -> None:
        self.key, self.step, self.index = key, step, index
        self.read = np.zeros(key.shape, np.uint64)

    def bits(self, at: np.ndarray) -> np.ndarray:
        """The next word of the elements at these places."""
        n = self.read[at]
        self.read[at] = n + np.uint64(1)
        key = self.key[at] + (n >> np.uint64(1)) * np.uint64(FURTHER)
        c0, c1, c2, c3 = philox_words(key, self.step[at], self.index[at])
        half = np.uint64(32)
        result: np.ndarray = np.where(n & np.uint64(1), c2 | (c3 << half), c0 | (c1 << half))
        return result

    def unit(self, at: np.ndarray) -> np.ndarray:
        """Numbers in (0, 1)."""
        return ((self.bits(at) >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52

    def normal(self, at: np.ndarray) -> np.ndarray:
        """Normal numbers."""
        out, left = np.empty(len(at)), np.arange(len(at))
        width, inside, density = np.array(WIDTH), np.array(INSIDE), np.array(DENSITY)
        while len(left):
            bits = self.bits(at[left])
            layer = (bits & np.uint64(255)).astype(np.int64)
            steps = bits.view(np.int64) >> 11
            x = steps * width[layer]
            fine = np.abs(steps) < inside[layer]
            for k in np.flatnonzero(~fine):
                x[k], fine[k] = self._edge(at[left[k : k + 1]], layer[k], x[k], density)
            out[left] = x
            left = left[~fine]
        return out

    def _edge(self, at: np.ndarray, layer: int, x: float, density: np.ndarray) -> tuple[float, bool]:
        """A number in the tail, or whether one beside the inner part of its layer lies below the curve."""
        if layer:
            reached = density[layer] + self.unit(at)[0] * (density[layer + 1] - density[layer])
            return x, bool(reached < math.exp(-0.5 * x * x))
        while True:
            beyond = -math.log(self.unit(at)[0]) / _TAIL
            if -2.0 * math.log(self.unit(at)[0]) > beyond * beyond:
                return math.copysign(_TAIL + beyond, x), True


def _flat(*values: np.ndarray) -> tuple[tuple[int, ...], list[np.ndarray]]:
    """The common shape, and the operands as vectors: numbers of random bits, then parameters."""
    arrays = np.broadcast_arrays(*values)
    kinds = [np.uint64] * 3 + [np.float64] * (len(arrays) - 3)
    return arrays[0].shape, [np.array(a, dtype=d).ravel() for a, d in zip(arrays, kinds)]


def _gamma(key: np.ndarray, step: np.ndarray, index: np.ndarray, shape: np.ndarray) -> np.ndarray:
    lengths, (key, step, index, shape) = _flat(key, step, index, shape)
    with np.errstate(all="ignore"):
        return _gammas(_Words(key, step, index), shape).reshape(lengths)


def _gammas(words: _Words, shape: np.ndarray) -> np.ndarray:
    out = np.where(shape == 0, 0.0, np.where(shape == np.inf, np.inf, np.nan))
    fine = np.flatnonzero((shape > 0) & (shape < np.inf))
    out[fine] = _raised_gammas(words, shape, fine)[fine]
    small = fine[shape[fine] < 1]
    out[small] *= _by_one(math.pow, words.unit(small), 1.0 / shape[small])
    return out


def _by_one(function: Callable[..., Any], *values: np.ndarray) -> np.ndarray:
    """A function of the C library, whose digits the native code has too; vectors of NumPy's may have others."""
    return np.array([function(*v) for v in zip(*[v.tolist() for v in values])], np.float64)


def _raised_gammas(words: _Words, shape: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Gamma numbers of the elements `left`, with shapes below 1 raised by 1."""
    out = np.zeros(shape.shape)
    d = np.where(shape < 1, shape + 1.0, shape) - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    while len(left):
        x = words.normal(left)
        u = words.unit(left)
        t = 1.0 + c[left] * x
        v = t * t * t
        square = x * x
        fine = (t > 0) & (u < 1.0 - 0.0331 * square * square)
        close = (t > 0) & ~fine
        fine[close] = np.log(u[close]) < 0.5 * square[close] + d[left][close] * (1.0 - v[close] + np.log(v[close]))
        out[left[fine]] = (d[left] * v)[fine]
        left = left[~fine]
    return out


def _beta(key: np.ndarray, step: np.ndarray, index: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The share of one gamma number in two; by their logarithms where both may be too small for a number."""
    lengths, (key, step, index, a, b) = _flat(key, step, index, a, b)
    words, out = _Words(key, step, index), np.full(key.shape, np.nan)
    fine = np.flatnonzero((a > 0) & (b > 0) & (a < np.inf) & (b < np.inf))
    with np.errstate(all="ignore"):
        x = _raised_gammas(words, a, fine)
        y = _raised_gammas(words, b, fine)
        out[fine] = (x / (x + y))[fine]
    small = fine[(a[fine] < 1) | (b[fine] < 1)]
    logs = [_by_one(math.log, x[small]), _by_one(math.log, y[small])]
    for log, shape in zip(logs, (a[small], b[small])):
        below = np.flatnonzero(shape < 1)
        log[below] += _by_one(math.log, words.unit(small[below])) / shape[below]
    off = logs[1] - logs[0]
    near = np.flatnonzero(off < 700)
    out[small] = 0.0
    out[small[near]] = 1.0 / (1.0 + _by_one(math.exp, off[near]))
    return out.reshape(lengths)


def _poisson(key: np.ndarray, step: np.ndarray, index: np.ndarray, mean: np.ndarray) -> np.ndarray:
    if not ((mean >= 0) & (mean < MOST_POISSON)).all():
        raise ValueError(POISSON_REFUSES)
    lengths, (key, step, index, mean) = _flat(key, step, index, mean)
    words, out = _Words(key, step, index), np.zeros(key.shape)
    at = np.flatnonzero(mean < SEARCHED)
    u, share, k = words.unit(at), np.exp(-mean[at]), 0
    below = share.copy()
    while k < 200 and (u > below).any():
        k += 1
        out[at[u > below]] = k
        share = share * (mean[at] / k)
        below = below + share
    left = np.flatnonzero(mean >= SEARCHED)
    while len(left):
        m = mean[left]
        b = 0.931 + 2.53 * np.sqrt(m)
        a = -0.059 + 0.02483 * b
        u, v = words.unit(left) - 0.5, words.unit(left)
        edge = 0.5 - np.abs(u)
        k = np.floor((2.0 * a / edge + b) * u + m + 0.43)
        fine = (edge >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2.0))
        close = ~fine & (k >= 0) & ~((edge < 0.013) & (v > edge))
        scale = 1.1239 + 1.1328 / (b - 3.4)
        share = np.log(v * scale / (a / (edge * edge) + b))
        fine[close] = share[close] <= _log_poisson(k[close], m[close])
        out[left[fine]] = k[fine]
        left = left[~fine]
    return out.astype(np.int64).reshape(lengths)


def _log_poisson(k: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """The logarithm of the probability of k; means from 10 on, any size of both."""
    few = np.array(LOG_FACTORIAL)[np.minimum(k, 9).astype(np.int64)]
    n = np.maximum(k, 10.0)
    off, r = n - mean, 1.0 / (n * n)
    much = n * np.log1p(-off / n) + off - 0.5 * np.log(6.283185307179586 * n)
    much = much - (1.0 / 12 - (1.0 / 360 - r / 1260) * r) / n
    result: np.ndarray = np.where(k < 10, k * np.log(mean) - mean - few, much)
    return result


def _binomial(key: np.ndarray, step: np.ndarray, index: np.ndarray, n: np.ndarray, p: np.ndarray) -> np.ndarray:
    if not ((n >= 0) & (n < MOST_POISSON) & (p >= 0) & (p <= 1)).all():
        raise ValueError(BINOMIAL_REFUSES)
    lengths, (key, step, index, n, p) = _flat(key, step, index, n, p)
    words, out = _Words(key, step, index), np.zeros(key.shape)
    s = np.minimum(p, 1.0 - p)  # the rarer of the two outcomes is counted
    at = np.flatnonzero(n * s < SEARCHED)
    u, odds, k = words.unit(at), s[at] / (1.0 - s[at]), 0
    share = np.exp(n[at] * np.log1p(-s[at]))
    below = share.copy()
    while k < 200 and ((u > below) & (k < n[at])).any():
        k += 1
        out[at[(u > below) & (k <= n[at])]] = k
        share = share * (odds * (n[at] - k + 1.0) / k)
        below = below + share
    left = np.flatnonzero(n * s >= SEARCHED)
    while len(left):
        trials, q = n[left], s[left]
        spread = np.sqrt(trials * q * (1.0 - q))
        b = 1.15 + 2.53 * spread
        a = -0.0873 + 0.0248 * b + 0.01 * q
        u, v = words.unit(left) - 0.5, words.unit(left)
        edge = 0.5 - np.abs(u)
        k = np.floor((2.0 * a / edge + b) * u + (trials * q + 0.5))
        fine = (edge >= 0.07) & (v <= 0.92 - 4.2 / b)
        close = ~fine & (k >= 0) & (k <= trials)
        share = np.log(v * ((2.83 + 5.1 / b) * spread) / (a / (edge * edge) + b))
        fine[close] = share[close] <= _log_binomial(k[close], trials[close], q[close])
        out[left[fine]] = k[fine]
        left = left[~fine]
    return np.where(p > 0.5, n - out, out).astype(np.int64).reshape(lengths)


def _log_binomial(k: np.ndarray, n: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The logarithm of the probability of k over that of the most probable number."""
    m, r = np.floor((n + 1.0) * p), p / (1.0 - p)
    rest = n - m + 1.0
    out = (m + 0.5) * np.log((m + 1.0) / (r * rest)) + _stirling(m) + _stirling(n - m)
    out = out + (n + 1.0) * np.log(rest / (n - k + 1.0)) + (k + 0.5) * np.log(r * (n - k + 1.0) / (k + 1.0))
    result: np.ndarray = out - _stirling(k) - _stirling(n - k)
    return result


def _stirling(k: np.ndarray) -> np.ndarray:
    r = 1.0 / ((k + 1.0) * (k + 1.0))
    far = (1.0 / 12 - (1.0 / 360 - r / 1260) * r) / (k + 1.0)
    return np.where(k < 10, np.array(STIRLING)[np.minimum(k, 9).astype(np.int64)], far)


def _rule(result: str) -> Callable[..., Any]:
    def rule(*dtypes: OperandDtype) -> LoopDtypes:
        if any(d != np.uint64 for d in dtypes[:3]):
            raise TypeError("random bits are made of uint64 numbers; cast the operands")
        return (*[np.dtype("uint64")] * 3, *[np.dtype("float64")] * (len(dtypes) - 3), np.dtype(result))

    return rule


def _draw(name: str, params: int, meaning: Meaning, result: str, doc: str) -> Op:
    places = ", ".join(f"{{{k}}}" for k in range(3 + params))
    text = Spelling(biuf=f"tg_{name}({places})")
    return elementwise(name, 3 + params, meaning, _rule(result), text, cost=150, doc=doc)


gamma_draw = _draw("gamma_draw", 1, _gamma, "float64", "A draw of Gamma(shape, 1), given key, step, index and shape.")
beta_draw = _draw("beta_draw", 2, _beta, "float64", "A draw of Beta(a, b), given key, step, index, a and b.")
poisson_draw = _draw("poisson_draw", 1, _poisson, "int64", "A Poisson draw, given key, step, index and mean.")
binomial_draw = _draw("binomial_draw", 2, _binomial, "int64", "A binomial draw, given key, step, index, n and p.")
