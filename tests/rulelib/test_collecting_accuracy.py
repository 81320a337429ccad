"""Collecting factors and terms loses nothing: against exact arithmetic, the default mode is as accurate as no rules.

Products, quotients and sums of differences of random numbers of all magnitudes, each input once or more.
"""

import random
from fractions import Fraction

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T

NAMES = "abcdef"
INPUTS = {name: T.dscalar(name) for name in NAMES}


def tree(rng, parts, signs):
    """The parts joined by random signs, in a random order of evaluation."""
    parts = list(parts)
    while len(parts) > 1:
        first, second = parts.pop(rng.randrange(len(parts))), parts.pop(rng.randrange(len(parts)))
        parts.append((rng.choice(signs), first, second))
    return parts[0]


def product(rng):
    """A product of quotients, each input once."""
    return tree(rng, rng.sample(NAMES, rng.randint(3, 6)), "**/")


def differences(rng):
    """A sum of differences, each of numbers that are close to each other."""
    return tree(rng, [("-", *rng.sample(pair, 2)) for pair in rng.sample(["ab", "cd", "ef"], rng.randint(2, 3))], "++-")


def built(t, leaf):
    if isinstance(t, str):
        return leaf[t]
    sign, a, b = t[0], built(t[1], leaf), built(t[2], leaf)
    return a * b if sign == "*" else a / b if sign == "/" else a - b if sign == "-" else a + b


def bits_lost(value, exact):
    """How many of 53 bits of a result are wrong: at most 64."""
    if not np.isfinite(value):
        return 64.0
    if exact == 0:
        return 0.0 if value == 0 else 64.0
    error = abs((Fraction(float(value)) - exact) / exact)
    return 0.0 if error == 0 else float(min(64.0, max(0.0, np.log2(float(min(error, Fraction(10)))) + 53)))


def numbers(rng, close):
    """Values for the inputs: of all magnitudes; or close to each other, so that differences are small."""
    if not close:
        return {n: rng.choice((-1, 1)) * rng.uniform(1, 9.9) * 10.0 ** rng.randint(-300, 300) for n in NAMES}
    scale = 10.0 ** rng.randint(0, 12)
    first = {n: rng.uniform(1, 2) * 10.0 ** rng.choice((0, 6, 12)) for n in NAMES[::2]}
    return {n: first[n] if n in first else first[m] * (1 + rng.uniform(-1, 1) / scale) for n, m in zip(NAMES, "aaccee")}


def worsened(t, rng, samples=8):
    """The most bits that the default rules lose, on samples that binary floating point has room for."""
    expression = built(t, INPUTS)
    used = list(INPUTS.values())
    plain = tg.function(used, expression, mode=tg.Mode("py", optimizer="None"), on_unused_input="ignore")
    # x / y / z becomes x / (y * z), which may overflow: known, and taken on trust by that rule
    ruled = tg.function(used, expression, mode=tg.Mode("py").excluding("algebra.div_div"), on_unused_input="ignore")
    lost = [0.0]
    for _ in range(samples):
        given = numbers(rng, "+" in str(t) or "-" in str(t))
        exact = built(t, {n: Fraction(x) for n, x in given.items()})
        if exact and Fraction(2) ** -1000 < abs(exact) < Fraction(2) ** 1000:
            before, after = (bits_lost(f(*given.values()), exact) for f in (plain, ruled))
            lost.append(after - before)
    return max(lost)


def check(seed, count):
    rng = random.Random(seed)
    for k in range(count):
        t = product(rng) if k % 2 else differences(rng)
        assert worsened(t, rng) <= 0.5, (t, tg.rewrite(built(t, INPUTS)))


def test_nothing_is_lost():
    check(20, 60)


@pytest.mark.slow
def test_nothing_is_lost_in_many():
    check(21, 500)


x, y, t = T.dscalars("x", "y", "t")
NAMED = {
    "a quotient first": ((x / y) * t, (1e300, 1e290, 1e20), 1e30),
    "a factor twice": ((x * y) * y, (1e-300, 1e200, 1.0), 1e100),
    "a small function over its argument": (x * (T.sin(y) / y), (1e-200, 1e-200, 1.0), 1e-200),
    "a product first": (x * (y * t), (1e300, 1e200, 1e-300), 1e200),
    "a quotient of a quotient": (x / (y / t), (1e200, 1e200, 1e200), 1e200),
    "sums of differences": (
        (T.sqrt(x + 1) - T.sqrt(x)) + (T.sqrt(y + 1) - T.sqrt(y)), (1e4, 1e14, 1.0), 0.004999875006249609 + 5e-8,
    ),
    "a difference taken away": (x - (y - t), (1e-9, 1e6, 1e6), 1e-9),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("mode", ["FAST_RUN", "STRICT", tg.Mode("py")])
def test_magnitudes_stay_in_order(name, mode):
    expression, given, exact = NAMED[name]
    found = tg.function([x, y, t], expression, mode=mode, on_unused_input="ignore")(*given)
    plain = tg.function([x, y, t], expression, mode=tg.Mode("py", optimizer="None"), on_unused_input="ignore")(*given)
    assert abs(found - plain) <= 1e-15 * abs(plain), (found, plain)
    assert abs(found - exact) <= 1e-5 * abs(exact)


def test_it_still_simplifies():
    x, y, t = T.dvectors("x", "y", "t")
    same = [
        ((x / y) * (y * t), x * t), ((x - y) + (y - t), x - t), (x * y / x, y), (x + y - x, y),
        (2 * (x / y) * 3, 6 * (x / y)), ((x * y) * (t / y), x * t), (x - (x - y), y), (-x * -y, x * y),
    ]  # fmt: skip
    for before, after in same:
        assert tg.rewrite(before).term is tg.rewrite(after).term, (before, tg.rewrite(before))
