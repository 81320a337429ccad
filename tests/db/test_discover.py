"""Rules found by machine: identities that were left out are found again, are true, general, and no more than needed."""

import sys

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph import cli, db
from termgraph.rules import defined
from termgraph.rules.discovery.algebra import Arithmetic
from termgraph.rules.discovery.generalise import chosen_assumptions, oriented
from termgraph.rules.discovery.known import Known
from termgraph.rules.discovery.points import (
    DIFFERENT,
    EQUAL,
    INSIDE,
    OUTSIDE,
    Points,
    agreement,
    key_of,
    same_everywhere,
)
from termgraph.rules.discovery.vocabulary import vocabulary, words
from termgraph.rules.words import ASSUMPTIONS
from termgraph.terms import facts
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.linalg import dot


@pytest.fixture(scope="module")
def hyperbolic():
    return db.discover("exp sinh cosh + - neg", 5, variables=1, numbers=(1,), without=["hyperbolic"])


def said(found):
    return {f"{r.before} -> {r.after}" for r in found}


def test_what_was_left_out_is_found_again(hyperbolic):
    assert {"cosh(x) + sinh(x) -> exp(x)", "cosh(x) - sinh(x) -> exp(-x)"} <= said(hyperbolic)


def test_nothing_is_found_that_the_library_knows():
    assert not len(db.discover("exp sinh cosh +", 5, variables=1, numbers=()))


def test_what_is_found_is_proved(hyperbolic):
    assert tg.rules.prove(hyperbolic.rules, samples=8, seed=5).ok


def test_found_rules_do_not_follow_from_each_other(hyperbolic):
    rules = hyperbolic.rules
    v = T.vector("v").term
    for r in rules:
        others = tg.rules.RuleSet([o for o in rules if o is not r], db.TRUSTED)
        ground = ew.add(ew.cosh(v), ew.sinh(v))
        if r.before == "cosh(x) + sinh(x)":
            assert others.rewrite_terms([ground])[0] == [ground]


def test_the_text_is_a_rule_file_that_says_the_same(hyperbolic, tmp_path):
    path = tmp_path / "found_again.py"
    path.write_text(hyperbolic.text("found_again"), encoding="utf-8")
    names = db.load(path)
    try:
        assert sorted(db.find_rule(n).before for n in names) == sorted(r.before for r in hyperbolic)
        assert sorted(db.find_rule(n).assumes for n in names) == sorted(r.assumes for r in hyperbolic)
    finally:
        defined.forget(names)


def test_facts_become_goals_only_where_they_are_needed():
    found = db.discover("abs max min", 4, facts="nonnegative", variables=2, numbers=(0,), without=["bounds"])
    conditions = {r.before: r.conditions() for r in found}
    assert conditions["maximum(0.0, x)"] == ["nonnegative(x)"]
    assert tg.rules.prove(found.rules, samples=8).ok


def test_truth_values_and_choices():
    found = db.discover("where not", 5, variables=2, numbers=(), without=["switch", "choices"])
    assert any("switch(logical_not(" in r.before for r in found)


def test_matrices():
    found = db.discover("dot T", 5, variables=2, numbers=(), without=["dots"])
    assert any(r.before.count("dimshuffle") == 2 and r.after.count("dimshuffle") == 1 for r in found)


def test_whole_numbers_that_do_not_wrap_around():
    found = db.discover(
        "// % *", 5, facts="no_overflow nonzero", dtype="int64", numbers=(), variables=2,
        without=["quotients", "remainders"],
    )  # fmt: skip
    conditions = {r.before: r.conditions() for r in found}
    assert {"nonzero(x)", "no_overflow(x * y)"} <= set(conditions["x * y // x"])
    assert tg.rules.prove(found.rules, samples=8).ok


def test_what_holds_of_all_operators_of_a_class_is_one_rule_about_them(tmp_path):
    """Without the rules that say so nothing knows that `abs(-x)` is `abs(x)`: declared is only that `abs` is even."""
    topics = ["algebra", "negation"]
    found = db.discover("abs sign neg", 3, variables=1, numbers=(), without=topics)
    conditions = {f"{r.before} -> {r.after}": r.conditions() for r in found}
    assert "even(f)" in conditions["f(-x) -> f(x)"] and "projection(f)" in conditions["f(f(x)) -> f(x)"]
    assert any("odd(f)" in goals for goals in conditions.values())
    assert not [said for said in conditions if "abs" in said or "sign" in said]  # these would say less
    assert tg.rules.prove(found.rules, samples=8).ok
    path = tmp_path / "about_classes.py"
    path.write_text(found.text("about_classes"), encoding="utf-8")
    names = db.load(path)
    try:
        assert sorted(map(str, (db.find_rule(n).goals for n in names))) == sorted(str(r.goals) for r in found)
    finally:
        defined.forget(names)


def test_a_class_of_which_one_operator_differs_gets_no_rule():
    facts.even.add(ew.exp)  # it is not
    try:
        found = db.discover("abs neg", 3, variables=1, numbers=(), without=["algebra", "negation"])
    finally:
        facts.even.remove(ew.exp)
    assert "abs(-x) -> abs(x)" in said(found) and "f(-x) -> f(x)" not in said(found)


def test_what_arithmetic_alone_says_is_no_news_of_a_function():
    found = db.discover("sin cos tan sqr + - * /", 5, variables=1, numbers=(1,), without=["trigonometry"])
    assert {"1.0 - sqr(cos(x)) -> sqr(sin(x))", "sin(x) / cos(x) -> tan(x)"} <= said(found)
    assert found.arithmetic > 10 and "(1.0 + x) * x -> sqr(x) + x" not in said(found)
    x, y = T.dvectors("x", "y")
    same = Arithmetic()
    assert same.joins(((x + 1) * x).term, (x * x + x).term) and not same.joins((x + y).term, (x * y).term)
    assert same.joins(T.sin(x - y).term, (-T.sin(y - x)).term) and same.joins(T.cos(x - y).term, T.cos(y - x).term)
    assert not same.joins(T.exp(x - y).term, T.exp(y - x).term)
    assert not same.joins((T.sin(x) ** 2 + T.cos(x) ** 2).term, (x / x).term)


def test_reductions_of_truth_values_are_tried_on_enough_of_them():
    found = db.discover("any all max_ min_ not", 4, dtype="bool", variables=1, without=["reductions"])
    assert {r.before.partition("(")[0] for r in found} == {"any", "all", "max", "min"}
    assert all(r.after not in ("True", "False") for r in found)


def test_some_and_all_of_numbers_are_tried_on_rows_with_zeros():
    found = said(db.discover("any all !=", 4, variables=1, numbers=(0,), without=["reductions"]))
    assert {f"{r}(neq(0.0, x), axis=a) -> {r}(x, axis=a)" for r in ("any", "all")} <= found


def test_truth_values_are_compared_with_each_other():
    found = db.discover("== not", 3, dtype="bool", variables=1, without=["comparisons"])
    assert any("eq" in said_of and said_of.endswith("-> x") for said_of in said(found)), said(found)


def test_differences_of_large_operands_are_numbers_too():
    found = db.discover("cosh sinh sqr -", 7, variables=1, numbers=(1,), without=["hyperbolic", "trigonometry"])
    assert any(r.after == "1.0" for r in found)


def test_time_is_bounded_and_said():
    found = db.discover("exp log sin cos + - * /", 9, seconds=1.0)
    assert "stopped after 1 s" in found.summary and found.seconds < 60


def test_misspelt_operators_are_named():
    with pytest.raises(LookupError, match="did you mean sinh"):
        words(["sinhh"])
    with pytest.raises(LookupError, match="neither element-wise"):
        words(["reshape"])


def test_rules_are_ranked_by_a_corpus():
    x = T.vector("x")
    corpus = [T.cosh(x) - T.sinh(x), T.exp(T.cosh(x) - T.sinh(x))]
    found = db.discover("exp sinh cosh + - neg", 5, variables=1, numbers=(), without=["hyperbolic"], corpus=corpus)
    assert found.rules[0].before == "cosh(x) - sinh(x)" and found.uses[found.rules[0].name] == 2


def test_what_is_equally_cheap_is_spelled_in_one_way():
    found = db.discover("sqrt /", 4, variables=1, numbers=(1,), without=["roots"])
    assert {"1.0 / sqrt(x) -> sqrt(1.0 / x)", "sqrt(x) / x -> sqrt(1.0 / x)"} <= said(found)


def test_comparisons_with_itself_are_no_truths_for_nan():
    found = db.discover("<= >= ==", 3, variables=1, numbers=(), without=["comparisons"])
    assert "eq(x, x) -> x <= x" in said(found) and all(r.after != "True" for r in found)


def test_rules_speak_of_as_many_inputs_as_they_can():
    found = db.discover("exp log log1p + - /", 5, variables=1, numbers=(1,), without=["logs", "exponentials"])
    assert {"exp(log1p(x)) -> 1.0 + x", "log(exp(x) / y) -> x - log(y)"} <= said(found)


def test_functions_are_put_on_each_spelling_that_is_simple_enough():
    found = db.discover(
        "exp log sigmoid softplus neg -", 5, variables=1, numbers=(), without=["logs", "sigmoids", "softplus"]
    )
    known = Known([tg.rules.RuleSet(found.rules, db.TRUSTED)])
    x = T.vector("x")
    assert known.joins(T.exp(x - T.softplus(x)).term, T.sigmoid(x).term), said(found)


# ---------------------------------------------------------------------- parts
def valued(vocabulary_, *terms):
    points = Points(vocabulary_)

    def worth(t):
        return points.of(t, tuple(map(worth, t.args))) if t.args else points.leaf(t)

    return [worth(t) for t in terms]


def test_agreement_looks_at_where_functions_are_defined():
    some = vocabulary(["exp"])
    x, y, _ = some.leaves
    root_of_square, absolute, squared_root = ew.sqrt(ew.sqr(x)), ew.abs_(x), ew.sqr(ew.sqrt(x))
    a, b, c, d, e = valued(some, root_of_square, absolute, squared_root, x, y)
    assert agreement(a, b) == EQUAL and agreement(a, d) == DIFFERENT and agreement(d, e) == DIFFERENT
    assert agreement(c, d) == INSIDE and agreement(d, c) == OUTSIDE
    (always_one,) = valued(some, ew.add(ew.sqr(ew.sin(x)), ew.sqr(ew.cos(x))))
    assert same_everywhere(always_one) == 1 and same_everywhere(d) is None


def test_orientation_is_from_dear_to_cheap_and_makes_up_no_inputs():
    x, y, _ = vocabulary(["exp"]).leaves
    assert oriented(ew.exp(ew.log(x)), x) == (ew.exp(ew.log(x)), x)
    assert oriented(x, ew.exp(ew.log(x))) == (ew.exp(ew.log(x)), x)
    assert oriented(ew.mul(x, ew.exp(x)), ew.sin(y)) is None
    assert oriented(ew.add(x, y), ew.add(y, x)) is None
    twice, once = ew.true_div(ew.sqrt(x), x), ew.true_div(1, ew.sqrt(x))
    assert oriented(once, twice) == (twice, once)
    choices = ew.minimum(x, y), ew.maximum(x, y)
    assert oriented(*choices) is None and oriented(*choices, ["maximum", "minimum"]) == choices


def test_a_small_choice_of_assumptions():
    needs = {frozenset(("finite", "reassoc")), frozenset(("finite",)), frozenset(("nonzero", "finite"))}
    assert chosen_assumptions(needs, frozenset()) == {"finite"}
    assert chosen_assumptions({frozenset(("repaired",))}, frozenset()) is None
    assert chosen_assumptions({frozenset(("reassoc", "signed_zero"))}, frozenset()) == {"reassoc"}
    assert set(ASSUMPTIONS) >= {"finite"}


def test_saturation_joins_what_rules_read_backwards_join():
    from termgraph.rules.price import price
    from termgraph.rules.saturation import joined

    a, b, c = (T.matrix(n).term for n in "abc")
    rules = list(db.query("+saturate").rules)
    left, right = dot(dot(a, b), c), dot(a, dot(b, c))
    assert joined(left, right, rules, price, db.TRUSTED, 3, 200)
    assert not joined(left, dot(a, dot(c, b)), rules, price, db.TRUSTED, 3, 200)


def test_the_command_prints_a_rule_file(capsys):
    words = ["--ops", "exp sinh cosh +", "--size", "5", "--variables", "1", "--numbers", "", "--without", "hyperbolic"]
    assert cli.main(["rules", "discover", *words]) == 0
    out, err = capsys.readouterr()
    assert 'yield rule("add_cosh_sinh", cosh(x) + sinh(x), exp(x))' in out and "size 5" in err
    compile(out, "found.py", "exec")


def test_the_command_reads_a_corpus(capsys, tmp_path):
    path = tmp_path / "some.py"
    path.write_text("import termgraph.tensor as T\nx = T.vector('x')\nes = [T.sinh(x) + T.cosh(x)]\n")
    words = ["--ops", "exp sinh cosh +", "--size", "5", "--variables", "1", "--numbers", "", "--without", "hyperbolic"]
    assert cli.main(["rules", "discover", *words, "--corpus", str(path), "--table"]) == 0
    assert "cosh(x) + sinh(x) -> exp(x)" in capsys.readouterr().out
    path.write_text("n = 3\n")
    assert cli.main(["rules", "discover", *words, "--corpus", str(path)]) != 0


def test_asked_for_where_rules_are():
    assert tg.rules.discover is db.discover and "termgraph.db.discovering" in sys.modules


def test_keys_do_not_tell_one_nan_from_another():
    x = T.vector("x").term
    assert key_of(x, (np.array([1.0, np.nan]),)) == key_of(x, (np.array([1.0, -np.nan]),))


def test_whole_numbers_are_large_enough_to_tell_remainders_apart():
    words_ = vocabulary(["// %"], "int64", ("positive",), (), 2)
    x, y = words_.leaves
    left, right = valued(words_, ew.mod(ew.mul(x, y), ew.mod(x, y)), ew.mod(ew.sqr(x), ew.mod(x, y)))
    assert agreement(left, right) == DIFFERENT
