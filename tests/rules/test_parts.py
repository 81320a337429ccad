"""Parts of rules that follow from others, written where they stand."""

import kanren
import pytest
from unification import var

import termgraph.tensor as T
from termgraph.rules import Float, RuleSet, param, positive, rule, ruleset, seg, this
from termgraph.rules.goals import IN_PLACE
from termgraph.rules.parts import (
    after,
    each,
    kept,
    length,
    lengths,
    merged,
    minus,
    transposed,
    undone,
    unmoved,
    zeros_like,
)
from termgraph.terms.errors import RuleError
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.elementwise import cast, exp, log, sqr
from termgraph.terms.ops.reduce import sum_
from termgraph.terms.ops.shaping import diagonal, join, reshape
from termgraph.terms.term import mk

a3, f2 = T.dtensor3("a3"), T.fmatrix("f2")
q = var()


@ruleset()
def placed(x: Float, y, o: param, a: param, b: param, d: param, xs: seg):
    yield rule("same", cast(x, dtype=x.dtype), x)
    yield rule("still", dimshuffle(x, order=unmoved(x)), x)
    yield rule("twice", dimshuffle(dimshuffle(x, order=a), order=b), dimshuffle(x, order=after(b, a)))
    yield rule(
        "put_back",
        dimshuffle(sum_(exp(x), axis=a, dtype=d), order=kept(x, a)),
        dimshuffle(sum_(x, axis=a, dtype=d), order=kept(x, a)),
    )
    yield rule("sums", sum_(sum_(x, axis=a, dtype=d), axis=b, dtype=d), sum_(x, axis=merged(x, a, b), dtype=this.dtype))
    yield rule("other", diagonal(sqr(x), offset=a), diagonal(x, offset=minus(a)))
    yield rule("flat", log(log(x)), reshape(zeros_like(x), *lengths(x)))
    yield rule("long", log(exp(x)), x, positive(length(x, 0)))
    yield rule("copies", join(*xs, y, axis=a), join(*each(xs, y), y, axis=a))


rs = RuleSet(placed)


@pytest.mark.parametrize(
    ("before", "becomes"),
    [
        (T.cast(f2, "float32").term, f2),
        (dimshuffle.bind(order=(0, 1))(f2.term), f2),
        (dimshuffle.bind(order=(1, "x", 0))(dimshuffle.bind(order=(1, 0))(f2.term)), f2.dimshuffle(0, "x", 1)),
        (T.exp(a3).sum(axis=1, keepdims=True), a3.sum(axis=1, keepdims=True)),
        (T.exp(a3).sum(axis=(0, 2), keepdims=True), a3.sum(axis=(0, 2), keepdims=True)),
        (a3.sum(axis=1).sum(axis=1), a3.sum(axis=(1, 2))),
        (T.diagonal(T.sqr(f2), 1), T.diagonal(f2, -1)),
        (T.log(T.log(f2)), T.zeros_like(f2).reshape(f2.shape)),
    ],
)
def test_parts_are_computed_on_the_right_and_compared_on_the_left(before, becomes):
    before = RuleSet(placed).rewrite(getattr(before, "term", before))
    wanted = getattr(becomes, "term", becomes)
    assert before is wanted or before.type is wanted.type and repr(before) == repr(wanted)


@pytest.mark.parametrize("kept_otherwise", [T.cast(f2, "float64"), T.exp(a3).sum(axis=1).dimshuffle(0, 1, "x")])
def test_other_parts_are_left_alone(kept_otherwise):
    assert rs.rewrite(kept_otherwise) is kept_otherwise


def test_a_segment_of_one_thing():
    x, y = f2.term, T.fmatrix("y").term
    made = rs.rewrite(mk(join.bind(axis=0), (x, x, y)))
    assert made is mk(join.bind(axis=0), (y, y, y))


def test_facts_may_be_asked_about_parts():
    assert placed["long"].conditions() == ["x: Float", "positive(length(x, 0))"]
    three = T.tensor("three", dtype="float64", shape=(3,))
    assert rs.rewrite(T.log(T.exp(three))) is three and rs.rewrite(T.log(T.exp(a3))) is not a3


def test_relations_know_parts():
    before = T.exp(a3).sum(axis=1, keepdims=True).term
    assert kanren.run(0, q, placed["put_back"].relation(before, q)) == (a3.sum(axis=1, keepdims=True).term,)
    total = a3.sum(axis=1).sum(axis=1).term
    assert kanren.run(0, q, placed["sums"].relation(total, q)) == (a3.sum(axis=(1, 2)).term,)


def test_they_are_printed_where_they_stand():
    assert repr(placed["same"]) == "placed.same: cast(x, dtype=x.dtype) -> x  if x: Float"
    assert placed["sums"].after == "sum(x, axis=merged(x, a, b), dtype=this.dtype)"
    assert placed["copies"].after == "join(*each(*xs, y), y, axis=a)"
    assert not placed["sums"].conditions()[1:]


def test_one_text_has_one_meaning():
    @ruleset()
    def first(x, xs: seg):
        yield rule("one", exp(x), dimshuffle(x, order=unmoved(x)))

    known = [v for v in IN_PLACE if str(v.token) == "unmoved(x)"]
    assert len(known) == 1


def test_what_a_part_is_made_of_must_be_known():
    with pytest.raises(RuleError, match=r"unmoved\(y\)|no usable mode"):

        @ruleset()
        def unknown(x, y):
            yield rule("no", exp(x), dimshuffle(x, order=unmoved(y)))


def test_transposes_and_orders_that_undo():
    @ruleset()
    def moved(x, o: param):
        yield rule("flipped", exp(x), exp(transposed(x)))
        yield rule("back", dimshuffle(sqr(x), order=o), dimshuffle(x, order=undone(x, o)))

    got = RuleSet([moved["back"]]).rewrite(dimshuffle.bind(order=(2, 0, 1))(sqr(a3.term)))
    assert got.op.params["order"] == (1, 2, 0)
    square = T.tensor("s", dtype="float64", shape=(3, 3)).term
    answers = kanren.run(1, q, moved["flipped"].relation(exp(square), q))
    assert answers == (exp(dimshuffle.bind(order=(1, 0))(square)),)
