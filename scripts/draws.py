"""Whether draws in C have the law that they should, for every distribution over parameters, and NumPy's bits.

python scripts/draws.py             all distributions, 100,000 numbers each
python scripts/draws.py --only t    some of them

For each: the p-value of a Kolmogorov-Smirnov test (jumps of discrete laws are spread evenly), how many numbers lie in
the outermost thousandth and ten-thousandth of each side, in standard deviations from what there should be, and whether
the virtual machine draws the same bits. Of many p-values some are small: 1 in 1000 is below 0.001.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

import termgraph as tg
import termgraph.tensor as T

SHARES = (1e-3, 1e-4)
# distribution: parameters, and SciPy's law of them
LAWS: dict[str, tuple[list[tuple], Callable[..., Any]]] = {
    "uniform": ([(0.0, 1.0), (-2.0, 3.0), (1e9, 1e9 + 1)], lambda a, b: stats.uniform(a, b - a)),
    "normal": ([(0.0, 1.0), (5.0, 0.01), (-1.0, 1e6)], stats.norm),
    "truncated_normal": ([(0.0, 1.0), (1.0, 2.0)], lambda m, s: stats.truncnorm(-2, 2, m, s)),
    "exponential": ([(1.0,), (1e-3,), (1e6,)], lambda s: stats.expon(scale=s)),
    "lognormal": ([(0.0, 1.0), (0.5, 0.1), (-3.0, 2.0)], lambda m, s: stats.lognorm(s, scale=np.exp(m))),
    "laplace": ([(0.0, 1.0), (1.0, 2.0)], stats.laplace),
    "logistic": ([(0.0, 1.0), (1.0, 2.0)], stats.logistic),
    "gumbel": ([(0.0, 1.0), (1.0, 2.0)], stats.gumbel_r),
    "cauchy": ([(0.0, 1.0), (1.0, 2.0)], stats.cauchy),
    "weibull": ([(0.7, 1.0), (1.5, 2.0), (8.0, 1.0)], lambda k, s: stats.weibull_min(k, scale=s)),
    "triangular": ([(-1.0, 0.0, 3.0), (0.0, 0.9, 1.0)], lambda a, c, b: stats.triang((c - a) / (b - a), a, b - a)),
    "gamma": ([(0.1, 1.0), (0.9, 2.0), (1.0, 1.0), (2.5, 3.0), (400.0, 1.0)], lambda a, s: stats.gamma(a, scale=s)),
    "chisquare": ([(1,), (3,), (50,)], stats.chi2),
    "standard_t": ([(1,), (4,), (100,)], stats.t),
    "beta": ([(0.5, 0.5), (0.5, 2.0), (1.0, 1.0), (3.0, 3.0), (200.0, 10.0)], stats.beta),
    "poisson": ([(0.5,), (4.0,), (9.99,), (10.0,), (300.0,), (1e6,)], stats.poisson),
    "binomial": ([(1, 0.3), (10, 0.3), (40, 0.5), (1000, 0.02), (1000, 0.7)], stats.binom),
    "negative_binomial": ([(3, 0.4), (1, 0.9), (50, 0.2)], stats.nbinom),
    "geometric": ([(0.3,), (0.9,), (0.01,)], stats.geom),
    "bernoulli": ([(0.2,), (0.5,), (0.999,)], stats.bernoulli),
    "integers": ([(0, 6), (-5, 100), (0, 10**6)], stats.randint),
}


def drawn(name: str, params: tuple, n: int, linker: str) -> np.ndarray:
    made = getattr(T.random.RandomStream(seed=11), name)(*params, size=n)
    return tg.function([], made, mode=tg.Mode(linker=linker))()


def spread(values: np.ndarray, law: Any) -> np.ndarray:
    """The share of the law below each number: even between 0 and 1 if the numbers have it."""
    if values.dtype.kind == "f":
        return law.cdf(values)
    below, at = law.cdf(values - 1), law.cdf(values)
    return below + np.random.default_rng(3).random(values.shape) * (at - below)


def off(count: int, share: float, n: int) -> float:
    """How far a count is from what there should be, in standard deviations."""
    return (count - share * n) / np.sqrt(share * (1 - share) * n)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(LAWS))
    parser.add_argument("--numbers", type=int, default=100_000)
    asked = parser.parse_args()
    small, tests = 0, 0
    print(f"{'':42} {'KS p':>8} {'tails, in deviations':>28}   same bits")
    for name in asked.only:
        for params in LAWS[name][0]:
            law = LAWS[name][1](*params)
            values = drawn(name, params, asked.numbers, "c")
            u = spread(values, law)
            p = float(stats.kstest(u, "uniform").pvalue)
            tails = [off(int(side.sum()), s, len(u)) for s in SHARES for side in (u < s, u > 1 - s)]
            same = values[:2000] == drawn(name, params, asked.numbers, "py")[:2000]
            small += (p < 1e-3) + sum(abs(t) > 4 for t in tails)
            tests += 1 + len(tails)
            told = "all" if same.all() else f"{same.mean():.1%}"
            title = f"{name}({', '.join(map(str, params))})"
            print(f"{title:42} {p:8.4f} {' '.join([f'{t:6.1f}' for t in tails])}   {told}", flush=True)
    print(f"# {tests} tests, {small} with a p-value below 0.001 or more than 4 deviations")
    return int(small > 0.002 * tests + 2)


if __name__ == "__main__":
    raise SystemExit(main())
