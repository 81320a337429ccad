"""Typed patterns: what a part of a left side is stands in the pattern; it is printed, proved, asked both ways."""

import kanren
import numpy as np
import pytest
from unification import var

import termgraph.tensor as T
from termgraph.rules import (
    Float,
    Integer,
    RuleSet,
    finite,
    head,
    no_overflow,
    nonzero,
    of_integers,
    positive,
    rule,
    ruleset,
    same_type,
    seg,
    this,
)
from termgraph.rules.checking.prover import prove_rule
from termgraph.terms.errors import RuleError
from termgraph.terms.ops.elementwise import exp, log

x, y, i = T.dvector("x"), T.dvector("y"), T.lvector("i")


@ruleset()
def typed_patterns(u: Float, v, j: Integer, k: Integer, w):
    yield rule("log_of_power", log(u[positive, finite] ** v), v * log(u))
    yield rule("own_factor", ((j * k[nonzero])[no_overflow] // k)[of_integers], j)
    yield rule("add_neg", v + (-w[this.dtype]), v - w)


def test_kinds_are_the_goals_that_they_name():
    power, factor, minus = typed_patterns
    assert str(power) == "typed_patterns.log_of_power: log(u ** v) -> v * log(u)  if u: Float & positive & finite"
    assert factor.conditions() == ["j: Integer", "k: Integer & nonzero", "this: of_integers", "j * k: no_overflow"]
    assert minus.conditions() == ["w: this.dtype"]
    assert [repr(g) for g in factor.goals] == ["of_integers(this)", "nonzero(k)", "no_overflow(j * k)"]
    assert [repr(g) for g in minus.goals] == ["same_dtype(w, this)"]


def test_a_rule_fires_where_its_parts_are_of_these_kinds():
    rules = RuleSet(typed_patterns, assume=())
    safe = T.assume(x, positive=True, finite=True)
    assert rules.rewrite(T.log(safe**y)).term is (y * T.log(safe)).term
    assert rules.rewrite(T.log(x**y)).term is T.log(x**y).term
    assert rules.rewrite(y + -x).term is (y - x).term
    narrow = T.fvector("f")
    assert rules.rewrite(y + -narrow).term is (y + -narrow).term


def test_a_typed_rule_runs_backwards():
    q = var()
    found = kanren.run(0, q, typed_patterns["add_neg"].relation(q, (x - y).term))
    assert found == ((x + -y).term,)


def test_the_prover_draws_operands_of_these_kinds():
    for r in typed_patterns:
        assert prove_rule(r, samples=6, seed=1).counterexamples == []


@pytest.mark.parametrize(
    "wrong, why",
    [
        (lambda u, xs, f: log(u[3]), "no kind"),
        (lambda u, xs, f: log(u[Float]), "where the metavariable is declared"),
        (lambda u, xs, f: log(xs[positive]), "no operand"),
        (lambda u, xs, f: f[positive](u), "no operand"),
        (lambda u, xs, f: log(u[exp]), "there are x.dtype, this.dtype, at_most_one"),
    ],
)
def test_what_is_no_kind_is_refused(wrong, why):
    with pytest.raises(RuleError, match=why):

        @ruleset()
        def refused(u, xs: seg, f: head):
            yield rule("wrong", wrong(u, xs, f), u)


def test_kinds_stand_on_the_left():
    with pytest.raises(RuleError, match="kinds stand on the left side"):

        @ruleset()
        def right(u):
            yield rule("wrong", log(u), u[positive])

    with pytest.raises(RuleError, match="kinds stand on the left side"):

        @ruleset()
        def beside(u, v):
            yield rule("wrong", log(u) + v, u, same_type(u[positive], v))


def test_values_are_as_they_were():
    value = np.array([0.5, 2.0])
    safe = T.assume(x, positive=True, finite=True)
    f = RuleSet(typed_patterns).rewrite(T.log(safe**y))
    assert np.allclose(f.eval({x: value, y: value}), value * np.log(value))
