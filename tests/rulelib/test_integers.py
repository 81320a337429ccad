"""Index arithmetic: ranges, what they prove, one example per rule, and values at the limits of every dtype."""

import itertools

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph import db
from termgraph.rules import no_overflow
from termgraph.rules.intervals import LONGEST, range_of
from termgraph.rules.linear import divisor_of, not_above
from termgraph.terms.evaluate import evaluate
from tests.rulelib.support import becomes, stays

x, n, v = T.lscalar("x"), T.lscalar("n"), T.lvector("v")
i = T.assume(T.lscalar("i"), between=(0, 100))
j = T.assume(T.lscalar("j"), between=(0, 4))
k = T.assume(T.lscalar("k"), between=(0, n))
m = T.assume(T.lscalar("m"), between=(1, 1000))
AT = {"i": 37, "j": 3, "k": 4, "n": 5, "m": 18, "x": -40}
b = T.bscalar("b")

RULES = [
    ("quotients.left_shift", x << 3, x * 8),
    ("quotients.right_shift", x >> 3, x // 8),
    ("quotients.mask", x & 7, x % 8),
    ("quotients.small", j // 4, 0),
    ("quotients.of_product", (i * m) // m, i),
    ("quotients.of_multiple", (i * 8) // 4, i * 2),
    ("quotients.times_divisor", T.assume(x, multiple_of=4) // 4 * 4, T.assume(x, multiple_of=4)),
    ("quotients.split", (i * m + j) // m, i + j // m),
    ("quotients.split_multiple", (i * 8 + m) // 4, i * 2 + m // 4),
    ("quotients.offset", (m + 8) // 4, m // 4 + 2),
    ("quotients.drop", (i * 4 + j) // 12, i // 3),
    ("quotients.common", (i * m) // (j * m), i // j),
    ("quotients.common_number", (i * 4) // 12, i // 3),
    ("quotients.twice", (x // 3) // 5, x // 15),
    ("quotients.of_rest_less", (m - m % j) // j, m // j),
    ("remainders.small", j % 4, j),
    ("remainders.of_multiple", (i * 4 + j * 8) % 4, 0),
    ("remainders.of_product", (i * m) % m, 0),
    ("remainders.of_multiples", (i * 8) % 4, 0),
    ("remainders.split", (i * m + j) % m, j % m),
    ("remainders.split_multiple", (i * 8 + m) % 4, m % 4),
    ("remainders.plus_multiple", (T.assume(m, multiple_of=6) + i) % 3, i % 3),
    ("remainders.offset", (i + 13) % 5, (i + 3) % 5),
    ("remainders.common", (i * m) % (j * m), i % j * m),
    ("remainders.common_number", (i * 4) % 12, i % 3 * 4),
    ("remainders.twice", (x % 12) % 4, x % 4),
    ("remainders.of_sum", (i % j + m) % j, (i + m) % j),
    ("remainders.of_factor", (i % j * m) % j, (i * m) % j),
    ("remainders.recompose", x // m * m + x % m, x),
    ("remainders.less_multiple", x - x // m * m, x % m),
    ("order.min", T.minimum(k, n - 1), k),
    ("order.max", T.maximum(i, j - 4), i),
    ("order.clip", T.clip(i, 0, 99), i),
    ("order.lt_true", i < 100, True),
    ("order.lt_false", i < j - 4, False),
    ("order.gt_true", i > j - 4, True),
    ("order.gt_false", k > n - 1, False),
    ("order.le_true", k + 1 <= n, True),
    ("order.le_false", i <= -1, False),
    ("order.ge_true", i >= -1, True),
    ("order.ge_false", i >= j + 100, False),
    ("order.eq_false", T.eq(i, 100), False),
    ("order.neq_true", T.neq(k, n), True),
    ("order.same_term", i + m < j + m, i < j),
    ("order.own_term", T.eq(i + j, j), T.eq(i, 0)),
    ("order.own_term_right", j < i + j, i > 0),
    ("order.same_factor", i * m <= j * m, i <= j),
    ("order.same_offset", T.maximum(i + m, j + m), T.maximum(i, j) + m),
    ("order.offset", i + 3 < 10, i < 7),
    ("order.factor_down", i * 3 <= 10, i <= 3),
    ("order.factor_up", i * 3 < 10, i < 4),
    ("order.factor_eq", T.eq(i * 3, 9), T.eq(i, 3)),
    ("order.never_eq", T.eq(i * 3, 10), False),
    ("order.always_neq", T.neq(i * 3, 10), True),
    ("order.quotient_down", i // 8 <= 5, i <= 47),
    ("order.quotient_up", i // 8 < 5, i < 40),
]


@pytest.mark.parametrize(("name", "before", "after"), RULES, ids=[r[0] for r in RULES])
def test_each_rule_fires_and_keeps_the_value(name, before, after):
    becomes(before, after, by=name, **{leaf: np.asarray(value) for leaf, value in AT.items()})


def test_the_range_is_dropped_once_all_is_asked():
    assert db.rewrite(i + x, "+canonicalize", "+specialize").term is (i.term.args[0] + x).term


@pytest.mark.parametrize("expr", [
    (x * 4 + j) // 4,  # x * 4 may wrap around
    (i * n) // n,  # so may i * n, and n may be 0
    T.minimum(k, n - 2),
    x + 1 > x,
    T.minimum(x, x + 1),
    x + 3 < 10,
    T.assume(b, between=(0, 100)) * 2 < 127,  # in eight bits
    (x + 13) % 5,
    T.eq(x * 3, 10),  # three is odd: some x wraps around to 10
])  # fmt: skip
def test_what_may_wrap_around_is_left_alone(expr):
    quotients = [
        r.name for r in db.query("+canonicalize") if r.name.startswith(("quotients.", "remainders.", "order."))
    ]
    stays(expr, *quotients)


def test_unsafe_takes_on_trust_that_nothing_wraps_around():
    f = tg.function([x, n], (x * 4 + n) // 4, mode="UNSAFE")
    assert "quotients.split" in [r.rule for r in f.trace]
    assert f(5, 7) == 6


# ---------------------------------------------------------------------- ranges
b = T.assume(T.scalar("b", dtype="uint8"), between=(3, 10))
RANGES = [
    (i, (0, 99)),
    (i * 4 + j, (0, 399)),
    ((i * 4 + j) // 7, (0, 57)),
    (i - 50, (-50, 49)),
    (abs(i - 50), (0, 50)),
    (-i, (-99, 0)),
    (i % 7, (0, 6)),
    (j % 7, (0, 3)),
    (i % -7, (-6, 0)),
    ((j + 8) % 8, (0, 3)),
    (T.maximum(i, 20), (20, 99)),
    (T.clip(x, -3, 5), (-3, 5)),
    (T.switch(x > 0, i, j - 9), (-9, 99)),
    (i & 12, (0, 12)),
    (j | 8, (0, 15)),
    (~i, (-100, -1)),
    (i << 2, (0, 396)),
    (i >> 2, (0, 24)),
    (T.sign(i), (0, 1)),
    (T.cast(i, "int8"), (0, 99)),
    (T.cast(i + 256, "uint8"), (0, 99)),
    (T.cast(i + 200, "uint8"), (0, 255)),
    (b + 253, (0, 6)),
    (b + 250, (0, 255)),
    (T.arange(2, 10, 3), (2, 9)),
    (T.arange(10, 2, -3), (3, 10)),
    (v.shape[0], (0, LONGEST)),
    (T.zeros((3, 5)).shape[1], (5, 5)),
    (T.sum(T.assume(T.tensor("w", dtype="int64", shape=(3,)), between=(0, 5))), (0, 12)),
    (T.constant(np.array([3, -1, 7])), (-1, 7)),
    (x, (-(2**63), 2**63 - 1)),
    (x + 1, (-(2**63), 2**63 - 1)),
    (T.assume(x, positive=True) // n, (-(2**63) + 1, 2**63 - 1)),
]


@pytest.mark.parametrize(("expr", "expected"), RANGES, ids=[str(e.term) for e, _ in RANGES])
def test_ranges(expr, expected):
    assert range_of(expr.term) == expected


OPERATORS = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "//": lambda a, b: a // b,
    "%": lambda a, b: a % b, "fmod": T.fmod, "maximum": T.maximum, "minimum": T.minimum, "&": lambda a, b: a & b,
    "|": lambda a, b: a | b, "^": lambda a, b: a ^ b, "<<": lambda a, b: a << b, ">>": lambda a, b: a >> b,
    "abs": lambda a, b: abs(a), "neg": lambda a, b: -a, "sqr": lambda a, b: T.sqr(a), "~": lambda a, b: ~a,
    "sign": lambda a, b: T.sign(a), "int16": lambda a, b: T.cast(a, "int16"), "uint8": lambda a, b: T.cast(a, "uint8"),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("name", OPERATORS)
def test_no_value_leaves_its_range_and_nothing_called_exact_wraps(name, dtype):
    info = np.iinfo(dtype)
    ends = sorted(
        {info.min, info.min + 1, -7, -1, 0, 1, 2, 5, info.max - 1, info.max} & set(range(info.min, info.max + 1))
    )
    a, c = T.scalar("a", dtype=dtype), T.scalar("c", dtype=dtype)
    rng = np.random.default_rng(0)
    for _ in range(60):
        (p, q), (r, s) = sorted(rng.choice(ends, 2)), sorted(rng.choice(ends, 2))
        if name in ("<<", ">>"):
            r, s = max(0, min(r, 9)), max(0, min(s, 7))
            r, s = min(r, s), max(r, s)
        made = OPERATORS[name](
            T.assume(a, between=(int(p), int(q) + 1)), T.assume(c, between=(int(r), int(s) + 1))
        ).term
        xs = np.array(
            sorted({p, q, (int(p) + int(q)) // 2, min(p + 1, q), *[z for z in (-1, 0, 1) if p <= z <= q]}), dtype
        )
        ys = np.array(sorted({r, s, (int(r) + int(s)) // 2, *[z for z in (-1, 0, 1) if r <= z <= s]}), dtype)
        low, high = range_of(made)
        for one, two in itertools.product(xs, ys):
            with np.errstate(all="ignore"):
                value = int(evaluate([made], {a.term: np.asarray(one), c.term: np.asarray(two)})[0])
            assert low <= value <= high, f"{made} of {one} and {two} is {value}, not within {low} and {high}"
            if name in "+-*" and no_overflow(made) is True:
                assert value == OPERATORS[name](int(one), int(two))


def test_facts_of_integers_follow_from_ranges():
    assert db.rewrite(abs(i * 4 + j), "+canonicalize").term is db.rewrite(i * 4 + j, "+canonicalize").term
    assert db.rewrite(T.maximum(i - 99, 0), "+canonicalize").term.scalar == 0


def test_differences_of_unsigned_numbers_keep_their_range():
    assert db.rewrite(b - 3 < 7, "+canonicalize").term.scalar is True
    assert db.rewrite(T.maximum(b - 3, 6), "+canonicalize").term.scalar == 6
    below_zero = db.rewrite(T.minimum(b - 4, 5), "+canonicalize").term  # 3 - 4 is 255
    assert evaluate([below_zero], {b.term.args[0]: np.asarray(3, "uint8")})[0] == 5


def test_which_is_smaller():
    a, rows = T.arange(v.shape[0]), T.dmatrix("rows")
    for low, high, by in ((k, n, 1), (k, n - 1, 0), (a, v.shape[0], 1), (i * 4 + j, i * 4 + 3, 0), (x % m, m, 1),
                          (T.minimum(x, i), i, 0), (m // 4 * 4, m, 0), (i, T.maximum(x, i), 0),
                          (T.argmin(rows, axis=1), rows.shape[1], 1),
                          (T.argmax(T.exp(rows) * 2, axis=0), rows.shape[0] - 1, 0)):  # fmt: skip
        assert not_above(low.term, high.term, by), f"{low.term} + {by} <= {high.term}"
        assert not not_above(high.term, low.term, by + 1)
    assert not not_above((x + 1).term, (x + 2).term)  # x + 2 may be the least number there is
    assert not not_above(x.term, T.dscalar("f").term)


def test_a_cast_that_wraps_bounds_nothing():
    a, b = T.vector("a", dtype="int8"), T.vector("b", dtype="int64")
    low = T.assume(a, between=(0, 127))
    wrapped = T.cast(T.maximum(T.cast(low, "int64"), b), "int8")  # 300 becomes 44, which is less than 100
    f = tg.function([a, b], T.minimum(low, wrapped), mode=tg.Mode(linker="py"))
    assert f(np.array([100], "int8"), np.array([300])) == [44]
    kept = T.cast(T.maximum(T.cast(low, "int64"), T.minimum(b, 100)), "int8")
    assert not_above(low.term, kept.term) and not not_above(low.term, wrapped.term)


def test_nested_bounds_are_compared_by_what_they_have_in_common():
    x, y, z = (T.vector(name, dtype="int64") for name in "xyz")
    some = T.maximum(x, 3)
    assert not_above(some.term, T.maximum(T.maximum(y, some), z).term)
    assert not_above(T.minimum(y, T.minimum(some, z)).term, some.term)
    assert not not_above(some.term, T.maximum(T.minimum(y, some), z).term)
    assert not not_above(some.term, T.maximum(T.maximum(y, some), z).term, 1)


def test_what_divides():
    assert divisor_of((i * 4 + j * 8 + 12).term) == 4
    assert divisor_of((T.assume(m, multiple_of=6) * 2).term) == 12
    assert divisor_of((x * 4).term) == 1  # may wrap around: what is left need not be a multiple of other numbers than 4


# ---------------------------------------------------------------------- what users say
def test_functions_compute_with_what_is_said():
    a, size = T.lvector("a"), T.lscalar("size")
    at = T.assume(a, between=(0, size))
    f = tg.function([a, size], [T.minimum(at, size - 1), at % size, T.switch(at < size, at, -1)])
    for got in f(np.array([0, 3, 4]), 5):
        np.testing.assert_array_equal(got, [0, 3, 4])
    assert {"order.min", "remainders.small", "order.lt_true"} <= {r.rule for r in f.trace}
    y = T.dvector("y")
    slope = T.grad(T.sum(y[T.assume(a, between=(0, 9))] ** 2), y)
    np.testing.assert_array_equal(tg.function([y, a], slope)(np.ones(3), np.array([2])), [0, 0, 2])


@pytest.mark.parametrize("mode", ["FAST_COMPILE", "STRICT", "FAST_RUN", "None"])
def test_ranges_change_no_value_in_any_mode(mode):
    a = T.tensor("a", dtype="int32", shape=(None,))
    f = tg.function([a], (T.assume(a, between=(-5, 6)) * 4 + 3) // 4 % 3, mode=None if mode == "None" else mode)
    given = np.arange(-5, 6, dtype="int32")
    np.testing.assert_array_equal(f(given), (given * 4 + 3) // 4 % 3)


@pytest.mark.parametrize(("said", "error", "words"), [
    ({"between": (3, 3)}, ValueError, r"no number is at least 3 and below 3"),
    ({"between": 3}, TypeError, r"give a pair \(low, high\)"),
    ({"between": (0, 2.5)}, TypeError, "whole numbers without dimensions"),
    ({"between": (0, v)}, TypeError, "whole numbers without dimensions"),
    ({"multiple_of": 0}, ValueError, "from 1 on"),
    ({"between_": (0, 3)}, TypeError, "knows no fact 'between_'"),
])  # fmt: skip
def test_what_cannot_be_assumed_is_refused(said, error, words):
    with pytest.raises(error, match=words):
        T.assume(x, **said)


def test_of_floats_a_range_is_refused():
    with pytest.raises(TypeError, match=r"about whole numbers.*ranges="):
        T.assume(T.dscalar("y"), between=(0, 1))
