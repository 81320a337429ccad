"""Normal forms of sums and products: what they look like, what they cost, that they mean the same."""

import warnings

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph import db
from termgraph.rules.collecting import WIDEST, _Sum
from termgraph.rules.collecting_products import _Product
from termgraph.terms.evaluate import evaluate
from termgraph.terms.ops.elementwise import add, exp, mul, neg, sin, sub, true_div
from termgraph.terms.term import Const
from termgraph.terms.traverse import children_first, count_nodes

a, b, c, d = (T.dmatrix(n).term for n in "abcd")


COLLECT = db.query("+collect +algebra.fold")


@pytest.fixture
def rs():
    return COLLECT


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (add(add(a, b), c), add(a, b, c)),
        (add(a, add(b, c)), add(a, add(b, c))),  # b and c may nearly cancel: they are not added to a first
        (add(add(a, b), add(c, d)), add(a, b, add(c, d))),
        (add(a, add(b, a)), add(mul(Const(2.0), a), b)),
        (sub(add(a, b), a), b),
        (add(a, a, b), add(mul(Const(2.0), a), b)),
        (add(add(a, Const(1.0)), Const(2.0)), add(a, Const(3.0))),
        (sub(a, Const(1.0)), add(a, Const(-1.0))),
        (sub(neg(a), b), neg(add(a, b))),
        (neg(sub(a, b)), sub(b, a)),
        (add(a, neg(b)), sub(a, b)),
        (sub(mul(Const(2.0), a), a), a),
        (mul(mul(a, b), c), mul(a, b, c)),
        (true_div(mul(a, b), a), b),
        (mul(true_div(a, b), mul(b, c)), mul(a, c)),
        (mul(Const(2.0), mul(Const(3.0), a)), mul(Const(6.0), a)),
        (mul(neg(a), b), neg(mul(a, b))),
        (true_div(true_div(a, b), true_div(a, c)), true_div(c, b)),
        (true_div(mul(Const(2.0), a), Const(4.0)), mul(Const(0.5), a)),
    ],
    ids=repr,
)
def test_forms(rs, before, after):
    assert rs.rewrite(before) is after
    assert rs.rewrite(after) is after


@pytest.mark.parametrize(
    "same",
    [
        add(a, b),
        sub(a, b),
        mul(a, a),
        mul(a, Const(2.0)),
        sub(Const(1.0), a),
        neg(a),
        mul(a, mul(b, c)),
        mul(true_div(a, b), c),
        true_div(a, true_div(b, c)),
        add(sub(a, b), c),
    ],
    ids=repr,
)
def test_what_is_normal_stays_as_it_is(rs, same):
    assert rs.rewrite(same) is same


def test_an_inner_sum_that_others_use_stays_whole(rs):
    inner = add(a, b)
    assert rs.rewrite([add(inner, c), sin(inner)])[0] is add(inner, c)
    assert rs.rewrite(add(inner, c)) is add(a, b, c)


def test_narrow_integers_are_not_added_up_in_a_wider_type(rs):
    i, j = T.bmatrix("i").term, T.lmatrix("j").term
    assert rs.rewrite(add(add(i, i), j)) is add(mul(Const(np.int8(2)), i), j)


def test_long_chains_cost_linear_work(rs):
    t = a
    leaves = [T.dmatrix(f"x{i}").term for i in range(50)]
    for i in range(20_000):
        t = add(t, leaves[i % 50]) if i % 97 else exp(t)
    new, trace = rs.rewrite_traced(t)
    assert trace.visited < 10 * count_nodes([t])
    assert max(len(n.args) for n in children_first([new])) <= 40


@pytest.mark.parametrize("op", [add, sub, mul, true_div])
def test_a_long_chain_is_opened_no_deeper_than_it_is_wide(op):
    """Of 3,000 operands that nobody has collected yet, the goal alone looks at few."""
    leaves = [T.dmatrix(f"x{i}").term for i in range(50)]
    t = a
    for i in range(3_000):
        t = op(t, exp(leaves[i % 50]))
    whole = (_Sum if op in (add, sub) else _Product)(t)
    whole.result()
    assert 1 < len(whole.opened) <= WIDEST


def test_a_product_of_one_factor_thousands_of_times(rs):
    t = a
    for _ in range(3_000):
        t = mul(t, a)
    new, trace = db.query("+canonicalize").rewrite_traced(t)
    assert trace.visited < 10 * count_nodes([t])
    at = {a: np.full((2, 2), 1.001)}
    np.testing.assert_allclose(evaluate([new], at)[0], 1.001**3001, rtol=1e-10)


def test_values_are_kept(rs):
    from termgraph.terms.evaluate import evaluate

    rng = np.random.default_rng(1)
    values = {x: rng.uniform(0.5, 2.0, (3, 3)) for x in (a, b, c, d)}
    for seed in range(60):
        t = random_term(np.random.default_rng(seed), 12)
        new = rs.rewrite(t)
        assert new.type is t.type
        before, after = evaluate([t, new], values)
        np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-9)


def random_term(rng, n):
    pool = [a, b, c, d, Const(2.0), Const(-1.0), Const(0.5)]
    for _ in range(n):
        op = [add, sub, mul, neg, true_div][rng.integers(5)]
        picks = [pool[i] for i in rng.integers(0, len(pool), 2)]
        if op is true_div:
            picks[1] = [a, b, c, d, Const(4.0)][rng.integers(5)]
        pool.append(op(*picks[: 1 if op is neg else 2]))
    return add(*pool[-2:], a)


def test_complex_differences_come_to_rest():
    rs = db.query("+fast_run", "&canonicalize")
    z = T.zmatrix("z").term
    one = Const(np.asarray(1 + 0j))
    for t in (sub(one, mul(z, z)), sub(z, one), add(neg(z), one), sub(neg(z), mul(Const(np.asarray(2j)), z))):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert rs.rewrite(rs.rewrite(t)) is rs.rewrite(t)


# ---------------------------------------------------------------------- whole numbers, nothing taken on trust
STRICT = db.query("+collect", "+algebra.fold", assume=())
i, j, k = (T.tensor(n, dtype="int8", shape=(None,)).term for n in "ijk")


def small(n):
    return Const(np.int8(n))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (add(i, add(j, k)), add(i, j, k)),
        (sub(add(i, j), i), j),
        (add(i, i, j), add(mul(small(2), i), j)),
        (mul(i, mul(small(3), mul(small(5), j))), mul(small(15), i, j)),
        (add(mul(small(100), i), mul(small(100), i)), neg(mul(small(56), i))),
        (neg(sub(i, j)), sub(j, i)),
    ],
)
def test_whole_numbers_are_collected_in_strict_mode_too(before, after):
    new = STRICT.rewrite_terms([before])[0][0]
    assert new is after
    rng = np.random.default_rng(0)
    given = {v: rng.integers(-128, 128, 50).astype("int8") for v in (i, j, k)}
    was, now = evaluate([before, new], given)
    assert np.array_equal(was, now) and was.dtype == now.dtype


def test_floating_point_is_not_collected_in_strict_mode():
    roots = [add(a, add(b, c)), sub(add(a, b), a), mul(a, mul(b, c))]
    assert STRICT.rewrite_terms(roots)[0] == roots


def test_a_quotient_of_scalars_is_not_a_division_of_each_element():
    x, s, n = (v.term for v in (T.dvector("x"), *T.dscalars("s", "n")))
    once = true_div(s, Const(7.0))
    for kept in (mul(once, x), mul(x, once, x), mul(x, true_div(s, n))):
        assert COLLECT.rewrite(kept) is kept
    assert COLLECT.rewrite(mul(Const(7.0), mul(once, x))) is mul(s, x)  # what cancels or folds is opened
    assert COLLECT.rewrite(mul(mul(once, x), Const(14.0))) is mul(Const(2.0), s, x)
    assert COLLECT.rewrite(true_div(mul(once, x), s)) is true_div(x, Const(7.0))


@pytest.mark.parametrize("n", [1, 2, 5, 1000])
def test_evenly_spaced_numbers_have_the_bits_of_numpy(n):
    low, high = T.dscalars("low", "high")
    f = tg.function([low, high], T.linspace(low, high, n))
    for bounds in ((0.1, 0.7), (-3.0, 1e10), (2.0, 2.0)):
        np.testing.assert_array_equal(f(*bounds), np.linspace(*bounds, n))
