"""Index polynomials: one normal form, floor division, proofs about bounds."""

import gc
import itertools
import random
import weakref

import pytest

from termgraph.lower.lengths.index import (
    ONE,
    ZERO,
    Apply,
    Sym,
    Value,
    Var,
    divide,
    evaluate,
    has_division,
    less,
    maximum,
    minimum,
    nonneg,
    poly,
    product,
    substitute,
    unravelled,
    wrapped,
)
from termgraph.lower.memory.operand_places import steps_of
from termgraph.lower.push.kernel import Buf, Scalars

n, m = poly(Sym("n")), poly(Sym("m"))


def test_equal_polynomials_are_one_object():
    i = poly(Var(0, n))
    assert (i + 1) * 2 is 2 * i + 2
    assert i - i is ZERO
    assert n * m is m * n
    assert poly(1) is ONE


def test_quotient_and_remainder_by_a_sum_are_joined_again():
    """As they are where a row's length follows from an argument's: n + 1 times the quotient is not one term."""
    i = Var(0, (n + 1) * (m + 1))
    for q in (n + 1, 2 * n, 2 * n + 3 * m + 1, n * m + 2):
        whole, rest = divide(i, q)
        assert whole * q + rest is poly(i)
        assert 3 * n * whole * q + m + 3 * n * rest is 3 * n * poly(i) + m
        assert whole * (q + 1) + rest is not poly(i)


def test_loop_variables_with_different_lengths_differ():
    assert Var(0, n * m) is not Var(0, n)
    assert poly(Var(0, n)) * m is not poly(Var(0, n * m))


def test_a_flat_index_taken_apart_and_put_together_is_itself():
    i = poly(Var(0, n * m))
    row, column = divide(i, m)
    assert has_division(row) and has_division(column)
    assert row * m + column is i


@pytest.mark.parametrize(
    "shape", [(8, 3, 3), (2, 4, 8), (2, 3, 4, 5), (8, 8, 3, 3), (3, 1, 2, 2, 7), (n, 3, 3), (4, n, m)]
)
def test_so_is_one_of_many_dimensions(shape):
    """Loops over arrays of more than two dimensions are one loop, however their lengths divide each other."""
    lengths = tuple(map(poly, shape))
    i = poly(Var(0, product(lengths)))
    index, place = unravelled(lengths, i), ZERO
    for at, length in zip(index, lengths):
        place = place * length + at
    assert place is i


def test_division_is_exact_when_the_remainder_is_proven():
    i, j = poly(Var(0, n)), poly(Var(1, m))
    assert divide(i * m + j, m) == (i, j)


def test_what_was_divided_is_divided_once():
    def over(p, k):
        return divide(p, k)[0]

    p = n - 1
    assert over(over(over(p, 2), 2), 8) is over(p, 32)
    assert over(over(p, 2) + 1, 2) is not over(p, 4)  # something was added in between
    assert over(over(p, -2), 2) is not over(p, -4) and over(over(p, 2), -2) is not over(p, -4)
    for number in range(-9, 40):
        assert evaluate(over(over(p, 3), 5), {"n": number}) == (number - 1) // 3 // 5


def test_what_is_remembered_of_divisions_keeps_no_terms_alive():
    t = Scalars().load(Buf("numbers", "int64", (n,), "input"), poly(Var(0, n)))
    held, p = weakref.ref(t), poly(Value(t, frozenset((Var(0, n),)), n)) * 8
    divide(p + 4, 8)
    divide(p + 1, 3)
    steps_of(p + poly(Var(0, n)), (Var(0, n), Var(1, p)))
    steps_of(poly(Var(0, n)), (Var(0, n), Var(1, p)))
    del p, t
    gc.collect()
    assert held() is None


def test_a_dividend_that_may_become_negative_is_not_split():
    i = poly(Var(0, n))
    quotient, rest = divide(2 * m - 1 - i, m)
    for number in range(5):
        env = {"n": 5, "m": 2, Var(0, n): number}
        assert evaluate(quotient, env) == (3 - number) // 2
        assert evaluate(rest, env) == (3 - number) % 2


def test_clamped_lengths_are_positive_inside_their_loops():
    i = poly(Var(0, maximum(0, n - 1)))
    assert less(i + 1, n)
    assert not less(i + 2, n)


def test_a_stride_may_be_negative():
    assert not nonneg(poly(Sym("s", natural=False)))
    assert nonneg(n)


@pytest.mark.parametrize("seed", range(20))
def test_arithmetic_agrees_with_integers(seed):
    rnd = random.Random(seed)
    i, j = Var(0, n), Var(1, m)
    pool = [poly(i), poly(j), n, m, poly(rnd.randint(-3, 3))]
    env_of = []
    for _ in range(5):
        a, b = rnd.randint(1, 6), rnd.randint(1, 6)
        env_of.append({"n": a, "m": b, i: rnd.randrange(a), j: rnd.randrange(b)})
    known = {p: [evaluate(p, e) for e in env_of] for p in pool}
    for _ in range(25):
        a, b = rnd.choice(list(known)), rnd.choice(list(known))
        kind = rnd.randrange(7)
        x, y = known[a], known[b]
        if kind < 3:
            p = (a + b, a - b, a * b)[kind]
            want = [(u + v, u - v, u * v)[kind] for u, v in zip(x, y)]
        elif kind < 5:
            d = rnd.choice([n, m, poly(3), poly(2)])
            w = known.get(d) or [evaluate(d, e) for e in env_of]
            p = divide(a, d)[kind - 3]
            want = [(u // v, u % v)[kind - 3] for u, v in zip(x, w)]
        else:
            p = (maximum, minimum)[kind - 5](a, b)
            want = [(max, min)[kind - 5](u, v) for u, v in zip(x, y)]
        assert [evaluate(p, e) for e in env_of] == want
        known[p] = want


def test_substitution_reaches_inside_opaque_atoms():
    p = poly(Apply("floordiv", n, poly(3))) + n
    assert substitute(p, {Sym("n"): poly(7)}).const == 9


def test_positions_from_the_end():
    assert wrapped(-1, n) is n - 1
    assert wrapped(2, n).const == 2


def test_a_length_cut_in_two_is_whole_again():
    assert maximum(0, n - 1) + minimum(1, n) is n
    assert (maximum(0, n - 3) + minimum(3, n)) * m is n * m


def test_a_remainder_by_a_length_is_at_most_the_length():
    """What rolls by less than a length: positions need no clamping, also where the length is 0."""
    at = n - divide(poly(-1), maximum(1, n))[1]
    assert nonneg(at) and nonneg(n - at) and minimum(maximum(0, wrapped(at, n)), n) is at
    assert not nonneg(n - maximum(2, n)) and not nonneg(n - 1 - divide(poly(5), maximum(1, n))[1])


def _random_length(rng, depth=2):
    """A length made of two others, and of quotients by what is no zero."""
    kind = rng.randrange(7 if depth else 3)
    if kind < 3:
        return (poly(rng.randrange(6)), n, m)[kind]
    a, b = _random_length(rng, depth - 1), _random_length(rng, depth - 1)
    return (a * b, maximum(rng.randrange(3), a), divide(a, maximum(1, b))[0], a + b)[kind - 3]


def _random_term(rng, vars):
    a, b, i = _random_length(rng, 1), maximum(1, _random_length(rng, 1)), poly(rng.choice(vars))
    below = divide(a - rng.randrange(1, 5), b)[0]  # of lengths; perhaps no natural number
    cut = maximum(0, a - rng.randrange(3))
    whole = divide(a, b)[0] * b, divide(b, maximum(1, a))[0] * a
    return rng.choice([i, a, cut, i * a, *whole, *divide(i + a, b), below * i])


@pytest.mark.parametrize("first", range(0, 1000, 100))
def test_what_is_proven_never_to_be_negative_is_not(first):
    proved = 0
    for seed in range(first, first + 100):
        rng = random.Random(seed)
        vars = [Var(k, _random_length(rng)) for k in range(2)]
        p = sum([_random_term(rng, vars) * rng.choice([1, 1, -1, -1, 2]) for _ in range(rng.randrange(1, 5))], ZERO)
        if rng.random() < 0.5:
            i = rng.choice(vars)
            p = i.extent - poly(i) - 1 + (p if rng.random() < 0.3 else ZERO)
        if not nonneg(p):
            continue
        proved += 1
        for lengths in itertools.product(range(6), repeat=2):
            env = dict(zip("nm", lengths, strict=True))
            ranges = [range(evaluate(v.extent, env)) if v in p.fv else range(1) for v in vars]
            for at in itertools.product(*[{*r[:5], *r[-2:]} for r in ranges]):
                assert evaluate(p, {**env, **dict(zip(vars, at, strict=True))}) >= 0, (seed, p, env, at)
    assert proved > 20


def test_whole_multiples_are_at_most_what_is_divided():
    whole = divide(poly(1000), maximum(1, n * m))[0]
    assert nonneg(1000 - whole * n * m) and less(poly(Var(0, whole * n * m)), whole * n * m)
    assert not nonneg(1000 - whole * (n * m + 1))
    assert not nonneg(divide(n - 3, 2)[0] * poly(Var(0, m)))  # which is largest, not least, at the first place


def test_a_maximum_is_no_less_than_either_operand():
    i, j, m_less = poly(Var(0, n)), poly(Var(1, m)), maximum(0, m - 1)
    assert less(j - i + n - 1, n + m_less) and nonneg(maximum(n, m) - i - 1) and nonneg(maximum(n, m) - j - 1)
    assert not less(j - i + n - 1, n + m_less - 1) and not nonneg(maximum(n, m) - i - j - 1)
    assert not nonneg(m_less * n - n * m + n + i - 1)


def test_squares_of_maxima_count():
    larger = maximum(n, m)
    assert nonneg(n + m - larger) and not nonneg(n + m - larger - larger * larger)
    cut = maximum(0, n - 1)
    inside = poly(Var(0, cut))  # so there is an element, and cut is n - 1
    assert less(inside, n - 1) and not nonneg(n + inside - cut - cut * cut)
