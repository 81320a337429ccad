"""A number in a rule is the number that users write beside an array, before any other rule has run."""

import kanren
import numpy as np
import pytest

import termgraph.tensor as T
from termgraph import db
from termgraph.rules import Float, RuleSet, rule, ruleset
from termgraph.rules.relational import relational
from termgraph.terms.ops.elementwise import cbrt, log, log1p, maximum, switch

THREES = {
    "int": lambda x: 3,
    "float": lambda x: 3.0,
    "numpy number": lambda x: np.float32(3),
    "array without dimensions": lambda x: np.array(3, x.dtype),
    "array of threes": lambda x: np.full((1,) * x.ndim, 3, x.dtype),
    "constant": lambda x: T.constant(3),
    "constant, spread by hand": lambda x: T.constant(3).dimshuffle(*["x"] * x.ndim),
}
q = kanren.var()


def mine():
    @ruleset()
    def of_mine(x: Float):
        yield rule("cubed_root", cbrt(x) ** 3, x)
        yield rule("log1p", log(1 + x), log1p(x))
        yield rule("not_below", switch(x > 3, x, 3), maximum(x, 3))

    return RuleSet(of_mine)


@pytest.mark.parametrize("ndim", [0, 1, 2, 4])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("three", THREES)
def test_both_engines_relations_and_queries_see_it(three, dtype, ndim):
    rules = mine()
    x = T.tensor("x", dtype=dtype, shape=(None,) * ndim)
    if three == "array of threes" and ndim == 0:
        pytest.skip("is an array without dimensions")
    e = T.cbrt(x) ** THREES[three](x)
    for engine in (rules, relational(rules)):
        changed = engine.rewrite(e)
        assert changed.type == e.type and changed.term in (x.term, T.cast(x, e.dtype).term)
    assert kanren.run(0, q, rules.relation(e, q)) == (changed.term,)
    assert db.why_not(rules["of_mine.cubed_root"], e).applies
    assert rules.rewrite(T.cbrt(x) ** 4).term.op.name == "pow"


def test_in_every_place_of_an_expression():
    v, m, rules = T.dvector("v"), T.dmatrix("m"), mine()
    assert rules.rewrite(T.log(1 + v)).term is log1p(v.term)
    assert rules.rewrite(T.log(v + 1.0) * m).term is (T.log1p(v) * m).term
    assert rules.rewrite(T.where(m > 3, m, 3.0)).term is T.maximum(m, 3.0).term
    assert kanren.run(0, q, rules.relation(T.log(1 + v), q)) == (log1p(v.term),)


def test_the_rank_is_that_of_the_operands():
    """Two numbers that are spread by hand have their rank from nowhere else."""
    three = T.constant(3.0).dimshuffle("x")
    assert (three * three).ndim == 1 and (three * 2).ndim == 1 and T.eq(three, 2).ndim == 1
    x = T.drow("x")
    assert (x * T.constant([[3.0]])).type == x.type and (x.dimshuffle(1, 0) * three).ndim == 2
