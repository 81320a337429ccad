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


def repeated(rng):
    """Products and quotients with inputs that may cancel, or become powers."""
    return tree(rng, rng.choices(NAMES, k=rng.randint(3, 7)), rng.choice(("**/", "*//")))


def differences(rng):
    """A sum of differences, each of numbers that are close to each other."""
    pairs = (
        rng.sample(["ab", "cd", "ef"], rng.randint(2, 3))
        if rng.random() < 0.5
        else rng.choices(["ab", "cd", "ef"], k=4)
    )
    return tree(rng, [("-", *rng.sample(pair, 2)) for pair in pairs], "++-")


def of_differences(rng):
    """A product of quotients of differences and inputs."""
    parts = [
        rng.choice(NAMES) if rng.random() < 0.5 else ("-", *rng.sample(rng.choice(["ab", "cd", "ef"]), 2))
        for _ in range(4)
    ]
    return tree(rng, parts, "**/")


def sums(rng):
    """Sums of numbers of either sign, of which some nearly cancel."""
    pairs = rng.sample(["ab", "cd", "ef"], rng.randint(2, 3))
    return tree(rng, [n for pair in pairs for n in (pair if rng.random() < 0.7 else pair[:1])], "+++-")


def of_sums(rng):
    """A product or quotient of such sums."""
    return (rng.choice("*/"), sums(rng), sums(rng))


KINDS = (product, repeated, differences, of_differences, sums, of_sums)


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
    return (
        0.0 if error < Fraction(2) ** -60 else float(min(64.0, max(0.0, np.log2(float(min(error, Fraction(10)))) + 53)))
    )


def numbers(rng, close, widely):
    """Values for the inputs: of all magnitudes; or pairs close to each other, so that differences are small."""
    if not close:
        return {n: rng.choice((-1, 1)) * rng.uniform(1, 9.9) * 10.0 ** rng.randint(-300, 300) for n in NAMES}
    scale = 10.0 ** rng.randint(0, 12)
    first = {
        n: rng.uniform(1, 2) * 10.0 ** (rng.randint(-300, 300) if widely else rng.choice((0, 6, 12)))
        for n in NAMES[::2]
    }
    near = {n: first[n] if n in first else first[m] * (1 + rng.uniform(-1, 1) / scale) for n, m in zip(NAMES, "aaccee")}
    return {n: x * rng.choice((-1, 1)) for n, x in near.items()} if rng.random() < 0.5 else near


def worsened(t, rng, samples=30):
    """How many more bits the default rules lose than no rules, on samples whose results floating point has room for: on
    the average, and at most.
    """
    expression = built(t, INPUTS)
    used = list(INPUTS.values())
    plain = tg.function(used, expression, mode=tg.Mode("py", optimizer="None"), on_unused_input="ignore")
    ruled = tg.function(used, expression, mode=tg.Mode("py"), on_unused_input="ignore")
    lost = []
    for k in range(samples):
        given = numbers(rng, k % 3 > 0, k % 3 > 1)
        try:
            exact = built(t, {n: Fraction(x) for n, x in given.items()})
        except ZeroDivisionError:
            continue
        if exact and Fraction(2) ** -1000 < abs(exact) < Fraction(2) ** 1000:
            before, after = (bits_lost(f(*given.values()), exact) for f in (plain, ruled))
            if before < 8:  # else it has lost its digits already
                lost.append(after - before)
    return (sum(lost) / len(lost), max(lost)) if lost else (0.0, 0.0)


def check(seed, count):
    """On the average nobody loses half a bit; a single result has at most the roundings of a product's few steps."""
    rng = random.Random(seed)
    for k in range(count):
        t = KINDS[k % len(KINDS)](rng)
        average, most = worsened(t, rng)
        assert average <= 0.5 and most <= 2, (average, most, t, tg.rewrite(built(t, INPUTS)))


def test_nothing_is_lost():
    check(20, 120)


@pytest.mark.slow
def test_nothing_is_lost_in_many():
    check(21, 2000)


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
    "a sum that cancels": (x + (y + t), (1e-9, 1e6, -1e6), 1e-9),
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


WRITTEN = {
    "a quotient twice": (x / y / t, (1e300, 1e200, 1e200), 1e-100),
    "what cancels leaves others": ((x * y) * (t * t) / x, (1e-200, 1e200, 1e-100), 1.0),
    "factors below the line": (x / ((y / x) * y * t), (1e-200, 1e-200, 1e200), 1e-200),
    "a square behind others": (x * t * y * y, (1e-300, 1e200, 1.0), 1e100),
    "constants that overflow": (x * 1e300 * 1e300, (1e-300, 1.0, 1.0), 1e300),
    "constants that vanish": (x / 1e300 / 1e300, (1e300, 1.0, 1.0), 1e-300),
    "constants that lose digits": (x * 1e-160 * 1e-160 * y, (1e200, 1e150, 1.0), 1e30),
    "small constants apart": ((x * 1e-160) * (y * 1e-160), (1e200, 1e150, 1.0), 1e30),
    "small constants before others": ((x * 1e-150) * ((y * t) * 1e-150), (1e180, 1e200, 1e-70), 1e10),
    "large constants apart": ((x * 1e120) * (y * 1e120), (1e-250, 1e-220, 1.0), 1e-230),
    "a small divisor": ((x / 1e-150) * (y / 1e-150), (1e-180, 1e-150, 1.0), 1e-30),
    "the same inputs, of other numbers": (x / y / (x * t * x * t * y), (1e-10, 1e10, 1e10), 1e10 ** -4 * 1e10),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_written_in_range_stays_in_range(name):
    expression, given, exact = WRITTEN[name]
    found = tg.function([x, y, t], expression, mode=tg.Mode("py"), on_unused_input="ignore")(*given)
    assert abs(found - exact) <= 1e-13 * abs(exact), (found, tg.rewrite(expression))


def test_it_still_simplifies():
    x, y, t = T.dvectors("x", "y", "t")
    same = [
        ((x / y) * (y * t), x * t), ((x - y) + (y - t), x - t), (x * y / x, y), (x + y - x, y),
        (2 * (x / y) * 3, 6 * (x / y)), (x * y * t / x, y * t), (x / y / x, 1 / y), (1 / y / t, 1 / (y * t)),
        ((x / y) * (1 / t) * y, x / t), (x * T.exp(y) / (t * T.exp(y)), x / t),
        ((x * y) * (t / y), x * t), (x - (x - y), y), (-x * -y, x * y),
    ]  # fmt: skip
    for before, after in same:
        assert tg.rewrite(before).term is tg.rewrite(after).term, (before, tg.rewrite(before))


def test_infinite_complex_constants_have_one_infinite_part():
    """-1 times inf+0j would have two, one of them NaN."""
    z, given = T.zvector("z"), np.array([1 + 2j, -3.5j])
    formulas = [
        lambda z: z - np.inf,
        lambda z: 2 * z - np.inf + 1,
        lambda z: -(np.inf + z),
        lambda z: (z - np.inf) - z * 3,
    ]
    found = tg.function([z], [f(z) for f in formulas], mode=tg.Mode("py"))(given)
    for got, f in zip(found, formulas):
        np.testing.assert_array_equal(got, f(given))
