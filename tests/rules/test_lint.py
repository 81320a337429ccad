"""The checker names loops, dead rules, duplicates and pairs whose order matters; unification has its occurs check."""

import json

from unification import Var

from termgraph.db import checking
from termgraph.rules import Float, RuleSet, head, lint, nonzero, param, rule, ruleset, seg
from termgraph.rules.checking.linter import lint as lint_together
from termgraph.rules.checking.overlaps import Around
from termgraph.rules.checking.termination import find_order
from termgraph.rules.checking.unifying import apply, occurs, unify
from termgraph.rules.defined import forget
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.elementwise import add, cos, exp, log, log1p, mul, neg, sin, tan
from termgraph.terms.ops.shaping import join
from termgraph.terms.term import mk

x, y, z = Var("x"), Var("y"), Var("z")


def test_loops_are_errors_that_name_their_rules():
    @ruleset()
    def games(x):
        yield rule("ping", sin(x), cos(x))
        yield rule("pong", cos(x), sin(x))

    report = lint(games)
    assert not report.ok
    (loop,) = report.of("loop")
    assert loop.rule in ("games.ping, games.pong", "games.pong, games.ping")
    assert __file__ in loop.where and "returns to" in str(report)


def test_growth_is_an_error():
    @ruleset()
    def growing(x):
        yield rule("grow", tan(x), tan(exp(x)))

    assert not lint(growing).ok


def test_a_good_set_is_ok():
    @ruleset()
    def good(x, y, f: head, xs: seg):
        yield rule("neg", neg(neg(x)), x)
        yield rule("mul_one", x * 1, x)
        yield rule("log1p", log(1 + x), log1p(x))

    report = lint(good)
    assert report.ok and not report.of("not oriented")
    assert repr(report).startswith("<lint report: 3 rules, 0 errors")


def test_shadowed_rules_never_fire():
    @ruleset()
    def pair(x, y: Float):
        yield rule("general", exp(log(x)), x)
        yield rule("special", exp(log(y)), y * 1)

    (dead,) = lint(pair).of("never fires")
    assert dead.rule == "pair.special" and "pair.general" in dead.text


def test_duplicates_up_to_names():
    @ruleset()
    def twins(x, y, a, b):
        yield rule("one", (x * y) / y, x, nonzero(y))
        yield rule("two", (a * b) / b, a, nonzero(b))
        yield rule("other", (a * b) / b, a)

    (twin,) = lint(twins).of("duplicate")
    assert twin.rule == "twins.two" and "twins.one" in twin.text


def test_critical_pairs_come_with_a_term_and_both_results():
    @ruleset()
    def order(x):
        yield rule("inside", neg(sin(x)), cos(x))
        yield rule("around", exp(neg(x)), tan(x))

    report = lint(order)
    (pair,) = report.of("inner first")
    assert "exp(neg(sin(" in pair.text and "tan(sin(" in pair.text and "exp(cos(" in pair.text
    assert report.ok and pair in report.notes  # rewriting starts inside: exp(cos(x)) it is


def test_rules_for_one_root_depend_on_their_order():
    @ruleset()
    def order(x, y):
        yield rule("special", exp(cos(x) + y), tan(x))
        yield rule("general", exp(x + y), sin(x) * sin(y))

    report = lint(order)
    (pair,) = report.of("does not join")
    assert "order.general" in pair.text and "order.special" in pair.text and "leads to" in pair.text
    assert report.ok and pair in report.warnings  # a warning: order-dependent rules are not wrong


def test_stages_around_the_one_checked_may_join_a_pair():
    @ruleset()
    def order(x):
        yield rule("one", exp(sin(x)), cos(neg(x)))
        yield rule("other", exp(sin(x)), cos(x))

    @ruleset()
    def later(x):
        yield rule("even", cos(neg(x)), cos(x))

    @ruleset()
    def earlier(x):
        yield rule("gone", sin(x), tan(x))

    rules = RuleSet(order)
    assert lint(rules).of("does not join")
    assert not lint_together(rules, around=Around([], [rules, RuleSet(later)])).of("does not join")
    assert not lint_together(rules, around=Around([RuleSet(earlier)], [rules])).pairs  # such terms do not arrive


def test_joining_pairs_are_not_reported():
    @ruleset()
    def fine(x):
        yield rule("neg", neg(neg(x)), x)
        yield rule("even", cos(neg(x)), cos(x))

    report = lint(fine)
    assert report.pairs and not report.of("does not join")


def test_completions_are_suggested():
    @ruleset()
    def order(x):
        yield rule("inside", neg(sin(x)), sin(sin(x)))
        yield rule("around", exp(neg(x)), x)

    assert lint(order).suggestions


def test_sums_that_share_an_operand_overlap():
    @ruleset()
    def sums(x):
        yield rule("a", sin(x) + cos(x), tan(x))
        yield rule("b", cos(x) + exp(x), log(x))

    assert lint(sums).of("does not join")


def test_what_has_no_order_is_named():
    @ruleset()
    def spread(x, y, z):
        yield rule("distribute", x * (y + z), x * y + x * z)

    (found,) = lint(spread).of("not oriented")
    assert found.rule == "spread.distribute" and "repeats" in found.text


def test_weights_are_found():
    @ruleset()
    def chain(x):
        yield rule("a", sin(x), cos(cos(x)))
        yield rule("b", exp(x), sin(sin(x)))

    order = find_order(list(chain))
    assert not order.unoriented and order.weights["exp"] > order.weights["sin"] > order.weights["cos"]


def test_records_are_plain_data():
    @ruleset()
    def games(x):
        yield rule("ping", sin(x), cos(x))
        yield rule("pong", cos(x), sin(x))

    record = json.loads(json.dumps(lint(RuleSet(games)).record()))
    assert record["ok"] is False and record["findings"][0]["kind"] == "loop"


# ---------------------------------------------------------------------- unification
def t(op, *args):
    return mk(op, args)


def unifier(a, b):
    return next(iter(unify(a, b, {})), None)


def test_occurs_check():
    assert unifier(t(sin, x), t(sin, t(neg, x))) is None
    assert unifier(t(mul, x, y), t(mul, y, t(sin, x))) is None or not occurs(x, t(sin, x), {x: x})
    assert occurs(x, t(sin, y), {y: t(neg, x)})


def test_unifiers_are_most_general():
    s = unifier(t(exp, t(neg, x)), t(exp, y))
    assert apply(y, s) is t(neg, x) and x not in s


def test_sums_unify_in_any_order():
    s = unifier(mk(add, (t(sin, x), t(cos, y))), mk(add, (t(cos, z), t(sin, t(sin, z)))))
    assert s is not None
    assert apply(mk(add, (t(sin, x), t(cos, y))), s) is mk(add, (t(sin, t(sin, z)), t(cos, z)))


def test_parameters_and_segments_unify():
    @ruleset()
    def shapes(x, y, xs: seg, ys: seg, a: param, b: param, c: param):
        yield rule("p", dimshuffle(dimshuffle(x, order=(1, 0)), order=a), x)
        yield rule("q", join(*xs, x, axis=b), x)
        yield rule("r", dimshuffle(y, order=c), y)

    p, q, r = [item.lhs for item in shapes]
    s = unifier(p.args[0], r)
    assert s is not None and (1, 0) in s.values()
    assert len(next(iter(unify(q, mk(q.op, (x, y, z)), {})))) >= 2


def test_a_copy_in_another_stage_is_seen():
    """Each stage is checked by itself, so a rule that stands twice under two tags was in no report."""

    @ruleset("canonicalize", name="copy_here")
    def first(x):
        yield rule("twice", sin(sin(x)), cos(x))

    @ruleset("specialize", name="copy_there")
    def second(y):
        yield rule("again", sin(sin(y)), cos(y))

    try:
        report = checking.lint([*first, *second])
        assert [f.rule for f in report.of("duplicate")] == ["copy_there.again"] and "another stage" in str(report)
        assert not checking.lint([*first]).of("duplicate")
    finally:
        forget(["copy_here.twice", "copy_there.again"])
