"""`db.saturate`: the cheapest of all forms, equal in value and type to what was given."""

import functools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import termgraph as tg
import termgraph.tensor as T
from termgraph import db
from termgraph.rules.eclasses import Classes
from termgraph.rules.price import price
from termgraph.rules.saturation import both_ways, reversed_rule, saturate
from termgraph.terms.evaluate import evaluate
from termgraph.terms.traverse import children_first


def matrices(sizes):
    return [T.tensor(f"m{i}", dtype="float64", shape=s) for i, s in enumerate(zip(sizes, sizes[1:]))]


def multiplications(term):
    found = [t for t in children_first([term]) if t.op.name == "dot"]
    return sum(t.type.shape[0] * t.type.shape[1] * t.args[0].type.shape[1] for t in found)


def fewest(sizes):
    @functools.cache
    def best(i, j):
        if j == i + 1:
            return 0
        return min(best(i, k) + best(k, j) + sizes[i] * sizes[k] * sizes[j] for k in range(i + 1, j))

    return best(0, len(sizes) - 1)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 60), min_size=4, max_size=7))
def test_chains_of_products_take_the_fewest_multiplications(sizes):
    sizes = [n + 1 for n in sizes]  # products with rows and columns of one are something else
    found = db.saturate(functools.reduce(T.dot, matrices(sizes)))
    assert multiplications(found.term) == fewest(tuple(sizes))


x, y, z, w = T.dvectors("x", "y", "z", "w")
FORMS = {
    "factored twice": (x * y + x * z + w * y + w * z, "mul(add(y, z), add(w, x))"),
    "one logarithm": (T.log(T.exp(x) + 1) + T.sin(z) + T.log(T.exp(y) + 1), None),
    "one exponential": (T.exp(x) * T.exp(y) * T.exp(z), "exp(add(x, y, z))"),
    "one fraction": (x / w + y / w + z / w, "true_div(add(x, y, z), w)"),
    "signs unknown": (T.log(x) + T.log(y), "add(log(x), log(y))"),
}


@pytest.mark.parametrize("case", FORMS)
def test_forms(case):
    before, text = FORMS[case]
    after, report = db.saturate(before, report=True)
    assert after.type is before.type and report.cost <= report.before
    if text is not None:
        assert repr(after.term) == text
    else:
        assert sum(t.op.name == "log" for t in children_first([after.term])) == 1
    values = {v: np.random.default_rng(1).uniform(0.5, 2, 5) for v in (x, y, z, w)}
    np.testing.assert_allclose(evaluate([after], values)[0], evaluate([before], values)[0], rtol=1e-12)


@st.composite
def sums_of_products(draw, depth=3):
    leaf = st.sampled_from([x, y, z, w, T.constant(2.0)])
    if depth == 0:
        return draw(leaf)
    op = draw(st.sampled_from([T.add, T.sub, T.mul, T.true_div, T.exp, T.log, T.sqrt, "leaf"]))
    if op == "leaf":
        return draw(leaf)
    args = [draw(sums_of_products(depth - 1)) for _ in range(1 if op in (T.exp, T.log, T.sqrt) else 2)]
    return op(T.exp(0.1 * args[0])) if op in (T.log, T.sqrt) else op(*args)


@settings(max_examples=60, deadline=None)
@given(sums_of_products())
def test_values_stay(expression):
    found = db.saturate(expression, rounds=4, limit=300)
    assert found.type is expression.type
    values = {v: np.random.default_rng(2).uniform(0.5, 1.5, 3) for v in (x, y, z, w)}
    old, new = evaluate([expression], values)[0], evaluate([found], values)[0]
    if np.isfinite(old).all() and (abs(old) < 1e12).all():
        np.testing.assert_allclose(new, old, rtol=1e-7, atol=1e-9)


def test_several_results_and_what_they_share():
    shared = T.exp(x) * T.exp(y)
    first, second = db.saturate([shared + z, T.exp(x) + 0 * w])
    assert first.type is z.type
    values = {v: np.ones(3) for v in (x, y, z, w)}
    np.testing.assert_allclose(evaluate([first], values)[0], math.exp(2) + 1)
    np.testing.assert_allclose(evaluate([second], values)[0], math.e)


def test_a_form_that_shares_less_is_not_taken():
    a, b = x * y, x * z
    graph = [a + b, T.sin(a), T.sin(b)]  # x * (y + z) would be one more product
    assert [v.term for v in db.saturate(graph)] == [v.term for v in tg.rewrite(graph, "+fast_run", "&canonicalize")]


def test_rules_of_a_query_and_a_cost_of_ones_own():
    e = T.log(T.exp(x) * (T.exp(y) + 1))
    assert "rearrange.log_of_product" not in db.saturate(e, "+factoring", report=True)[1].used
    longest = db.saturate(T.exp(x + y), cost=lambda t: 1.0 if t.op.name in ("exp", "mul") else 50.0)
    assert repr(longest.term) == "mul(exp(x), exp(y))"


def test_limits():
    e = functools.reduce(T.mul, [T.exp(T.dvector()) for _ in range(12)])
    _, report = db.saturate(e, limit=60, report=True)
    assert report.stopped == "limit" and report.size < 1000
    assert db.saturate(e, rounds=0, report=True)[1].stopped == "rounds"


def test_rules_turn_round():
    rules = {r.name: r for r in db.query("+saturate")}
    back = reversed_rule(rules["rearrange.chain"])
    assert back.before == rules["rearrange.chain"].after and back.after == rules["rearrange.chain"].before
    assert len(both_ways(list(rules.values()))) == 2 * len(rules)
    assert reversed_rule(db.query("+algebra")["algebra.sub_self"]) is None  # what was x?


def test_equal_operands_make_equal_nodes():
    classes = Classes(price)
    f = [classes.add(T.exp(T.sin(v)).term) for v in (x, y)]
    assert classes.find(f[0]) != classes.find(f[1])
    classes.join(classes.add(x.term), y.term)
    classes.settle()
    assert classes.find(f[0]) == classes.find(f[1])


def test_in_function():
    a, b, c = matrices([40, 40, 40, 2])
    mode = tg.get_mode().including("saturate")
    f = tg.function([a, b, c], T.dot(T.dot(a, b), c) + T.dot(T.dot(b, a), c), mode=mode)
    rng = np.random.default_rng(0)
    va, vb, vc = rng.normal(size=(40, 40)), rng.normal(size=(40, 40)), rng.normal(size=(40, 2))
    np.testing.assert_allclose(f(va, vb, vc), va @ vb @ vc + vb @ va @ vc)
    e = T.log(abs(x) + 2) + w + T.log(abs(y) + 3)
    g = tg.function([x, y, w], e, mode=mode)
    assert any(record.stage == "saturate" for record in g.trace)
    v = rng.normal(size=3)
    np.testing.assert_allclose(g(v, v, v), np.log((abs(v) + 2) * (abs(v) + 3)) + v)
    assert not any(r.stage == "saturate" for r in tg.function([x, y, w], e).trace)


def test_nothing_to_do():
    assert db.saturate(x).term is x.term
    found = saturate([x.term], [], price)
    assert found.stopped == "saturated" and found.terms == [x.term] and "saturated" in repr(found)
