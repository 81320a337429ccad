"""A rule whose sides are of different kinds of numbers is refused when it is defined (FEATURES 45)."""

import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.rules import Bool, Float, Integer, rule, ruleset
from termgraph.rules.pattern import this
from termgraph.rules.stdgoals import dtype_of
from termgraph.terms.errors import RuleError
from termgraph.terms.ops.elementwise import abs_, cast, exp, isnan, lt, real, round_, sin, sqrt, switch, tan
from termgraph.terms.ops.reduce import any_, argmax, max_

WRONG = {
    "truth_for_float": lambda x, y, p, i: (tan(x), isnan(x)),
    "truth_for_product": lambda x, y, p, i: (x * y, x < y),
    "float_for_truth": lambda x, y, p, i: (isnan(x), tan(x)),
    "integer_for_float": lambda x, y, p, i: (tan(x), argmax(x, axis=(0,))),
    "float_for_integer": lambda x, y, p, i: (i + i, sqrt(i)),
    "truth_for_integer": lambda x, y, p, i: (i * i, any_(i, axis=(0,))),
    "literal_truth_for_float": lambda x, y, p, i: (tan(x) + exp(x), True),
    "literal_float_for_truth": lambda x, y, p, i: (lt(x, x), 0.5),
    "literal_float_for_integer": lambda x, y, p, i: (i - i, 0.5),
    "branches": lambda x, y, p, i: (switch(p, tan(x), x), switch(p, isnan(x), p)),
}
RIGHT = {
    "same": lambda x, y, p, i: (tan(x), sin(x) / tan(x)),
    "for_some": lambda x, y, p, i: ((x * y) / y, x),
    "whole_number": lambda x, y, p, i: (tan(x), 0),
    "zero_for_truth": lambda x, y, p, i: (lt(x, x), 0),
    "truths": lambda x, y, p, i: (max_(p, axis=(0,)), any_(p, axis=(0,))),
    "rounded": lambda x, y, p, i: (round_(i), i),
    "real_part": lambda x, y, p, i: (real(x), x),
    "magnitude": lambda x, y, p, i: (abs_(exp(x)), exp(x)),
}


def define(make):
    @ruleset()
    def kinds(x, y: Float, p: Bool, i: Integer):
        yield rule("one", *make(x, y, p, i))

    return kinds


@pytest.mark.parametrize("name", WRONG)
def test_f45_sides_of_different_kinds_are_refused(name):
    with pytest.raises(RuleError, match=r"rule 'kinds\.one' at .*test_same_kind\.py:\d+: the left side .* gives"):
        define(WRONG[name])


@pytest.mark.parametrize("name", RIGHT)
def test_f45_sides_of_the_same_kind_are_taken(name):
    assert len(list(define(RIGHT[name]))) == 1


def test_f45_a_cast_that_is_meant_is_written():
    @ruleset()
    def kinds(x, d):
        yield rule("written", tan(x), cast(isnan(x), dtype=d), dtype_of(this, d))

    assert len(list(kinds)) == 1


def test_f45_the_message_says_what_to_do():
    with pytest.raises(RuleError, match=r"gives floating-point numbers, .*truth values; .*write the cast"):
        define(WRONG["truth_for_float"])
    x = T.dvector("x")
    assert tg.function([x], T.tan(x))([0.0, 1.0])[1] > 1.5
