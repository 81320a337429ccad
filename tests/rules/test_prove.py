"""The prover finds false, type-changing, raising and undeclared rules, and says exactly where they go wrong."""

import importlib
import random

import numpy as np
import pytest
from unification import Var

import termgraph.tensor as T
from termgraph.rules import (
    Float,
    Inexact,
    Integer,
    Matrix,
    RuleSet,
    finite,
    goal,
    head,
    nonnegative,
    nonzero,
    param,
    positive,
    prove,
    rule,
    ruleset,
    seg,
)
from termgraph.rules.checking import draw as proving_draw
from termgraph.rules.checking import examples as proving_examples
from termgraph.rules.checking import indexing_samplers
from termgraph.rules.checking import prover as proving
from termgraph.rules.checking.examples import examples
from termgraph.rules.checking.other_machine import evaluate_there
from termgraph.terms.errors import RuleError
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.elementwise import cast, exp, floor, isnan, log, log1p, neg, sin, sqrt
from termgraph.terms.ops.indexing import subtensor
from termgraph.terms.ops.shaping import join
from termgraph.terms.traverse import children_first


def verdict(table):
    (only,) = prove(table)
    return only


def test_a_false_identity_is_caught_with_values_and_place():
    @ruleset()
    def wrong(x: Inexact):
        yield rule("root", sqrt(x**2), x)

    report = prove(wrong)
    assert not report.ok
    v = report["wrong.root"]
    assert v.kind == "WRONG"
    text = str(report)
    assert f"at {__file__}:" in text and "sqrt(pow(" in text and "where " in text and "is    " in text


def test_false_identities_of_integers_are_caught_though_they_hold_for_small_ones():
    @ruleset()
    def wrong(x: Integer, y: Integer, z: Integer):
        yield rule("remainders", x % (y % (z // y)), x % (x // (y * y)), positive(x), positive(y), positive(z))
        yield rule("far_divisor", x // (y + 12), x * 0, positive(x), positive(y))
        yield rule("twice_divided", (x // 8) // 4, x // 64, positive(x))

    assert [v.kind for v in prove(wrong)] == ["WRONG"] * 3


def test_a_swap_is_caught():
    @ruleset()
    def wrong(x, y):
        yield rule("swap", x - y, y - x)

    assert verdict(wrong).kind == "WRONG"


def test_exact_is_what_holds_on_every_machine():
    """NumPy's exp and sinh are other code on each processor: that they agree here, or nearly always, says little."""
    ews = importlib.import_module("termgraph.terms.ops.elementwise")

    @ruleset()
    def doubtful(x: Float):
        yield rule("sides", exp(x) - exp(-x), 2 * ews.sinh(x))
        yield rule("of_two", ews.exp2(x), exp(x * 0.6931471805599453))
        yield rule("of_ten", ews.log10(x), log(x) * 0.4342944819032518)

    @ruleset()
    def certain(x: Float):
        yield rule("odd", sin(-x), -sin(x))
        yield rule("even", ews.cosh(-x), ews.cosh(x))
        yield rule("twice", exp(x) + exp(x), 2 * exp(x))
        yield rule("one", ews.pow_(x, 1.0), x)

    assert all(frozenset(["reassoc"]) in v.needs for v in prove(doubtful))
    report = prove(certain)
    assert report.ok and {v.kind for v in report} <= {"exact", "special values"}, str(report)


def test_a_function_of_the_other_machine_is_a_last_place_off_and_keeps_its_symmetry():
    x = T.dvector("x")
    terms = [T.sin(x).term, T.sin(-x).term, T.exp(x).term]
    order = list(children_first(terms))
    given = {x.term: np.linspace(-3, 3, 1000)}
    values = dict(zip(order, evaluate_there(order, given), strict=True))
    here = np.sin(given[x.term])
    there = values[terms[0]]
    off = np.abs(there - here) / np.spacing(np.abs(here))
    assert off.max() <= 1 and 0.4 < (off > 0).mean() < 0.9
    np.testing.assert_array_equal(values[terms[1]], -there)
    exact = evaluate_there(order, {x.term: np.array([0.0, np.inf, np.nan])})
    np.testing.assert_array_equal(dict(zip(order, exact))[terms[2]], [1.0, np.inf, np.nan])


def test_a_matrix_that_is_singular_on_the_other_machine_alone_proves_nothing():
    a, b = T.dmatrix("a"), T.dmatrix("b")
    before = T.linalg.solve_triangular(T.exp(a), b, lower=True).term
    smallest = np.nextafter(0, 1)
    logs = np.linspace(-745.1, -744.5, 50)  # exp is the smallest number
    there = evaluate_there([a.term, T.exp(a).term], {a.term: logs[None]})[-1][0]
    assert set(there) == {0, smallest, 2 * smallest} and set(np.exp(logs)) == {smallest}
    given = {a.term: np.array([[logs[there == 0][0]]]), b.term: np.zeros((1, 1))}

    @ruleset()
    def never(x):
        yield rule("used", x * 1, x)

    def outcome(left, right):
        trials = proving._Trials(never.rules[0], proving.Verdict(never.rules[0]), 0)
        return trials._outcome(proving.Example(None, None, left, right, []), given, frozenset())

    assert outcome(before, before)[0].kind == "exact"
    found, shown = outcome(
        (T.exp(a) * 1).term, (T.exp(a) + 0 * T.linalg.solve_triangular(T.exp(a), b, lower=True)).term
    )
    assert found.kind == "WRONG" and "the right side fails: LinAlgError" in shown()


def test_true_rules_are_exact():
    @ruleset()
    def right(x, y, xs: seg, a: param):
        yield rule("mul_one", x * 1, x)
        yield rule("neg", neg(-x), x)
        yield rule("join_one", join(x, axis=a), x)

    report = prove(right)
    assert report.ok, str(report)
    assert {v.kind for v in report} == {"exact"}
    assert all(v.trials > 20 for v in report)


def test_rounding_must_be_declared():
    @ruleset()
    def sums(x, y: Float, z: Float):
        yield rule("silent", (x / y) / z, x / (y * z))

    v = verdict(sums)
    assert not v.ok and "assumes=['reassoc']" in v.details()

    @ruleset(overwrite=True, name="sums")
    def declared(x, y: Float, z: Float):
        yield rule("silent", (x / y) / z, x / (y * z), assumes=["reassoc", "finite", "nonzero"])

    assert verdict(declared).ok


def test_special_values_must_be_declared_or_ruled_out():
    @ruleset()
    def zeros(x: Float):
        yield rule("silent", x - x, 0)
        yield rule("with_goal", sin(x) - sin(x), 0, finite(sin(x)))
        yield rule("declared", exp(x) - exp(x), 0, assumes=["finite"])

    silent, with_goal, declared = prove(zeros)
    assert silent.kind == "special values" and not silent.ok
    assert "assumes=['finite']" in silent.details()
    assert with_goal.ok and declared.ok


def test_goals_make_a_rule_true():
    @ruleset()
    def roots(x: Float):
        yield rule("bare", sqrt(x * x), x)
        yield rule("with_goal", sqrt(x * x), x, nonnegative(x), assumes=["finite", "reassoc"])
        yield rule("log_of_square", log(x * x), 2 * log(x), positive(x), assumes=["finite", "reassoc"])

    bare, with_goal, log_of_square = prove(roots)
    assert bare.kind == "WRONG"
    assert with_goal.ok, with_goal.details()
    assert log_of_square.ok, log_of_square.details()


def test_a_stabilized_form_needs_no_declaration_but_for_the_sign_of_a_zero():
    @ruleset()
    def logs(x: Float):
        yield rule("log1p", log(1 + x), log1p(x), assumes=["plus_zero"])
        yield rule("signed", log(1 + x), log1p(x))
        yield rule("kept", log(1 + x), log1p(x) + 0)

    declared, signed, kept = prove(logs)
    assert declared.ok and kept.ok and {declared.kind, signed.kind, kept.kind} == {"more accurate"}
    assert not signed.ok and "plus_zero" in "".join(signed.undeclared)


def test_a_less_accurate_form_does():
    @ruleset()
    def logs(x: Float):
        yield rule("undo", log1p(x), log(1 + x))

    assert not verdict(logs).ok


def test_what_changes_the_kind_of_number_is_refused_where_it_is_defined():
    with pytest.raises(RuleError, match="truth values"):

        @ruleset()
        def kinds(x: Float):
            yield rule("dtype", isnan(x), x)


def test_a_rule_that_never_applies_is_untested():
    @goal("i")
    def never(x):
        return False

    @ruleset()
    def idle(x):
        yield rule("never", sin(x), x, never(x))

    v = verdict(idle)
    assert v.kind == "untested" and not v.ok and "no term was found" in v.details()


def test_a_goal_that_raises_is_reported():
    @goal("i")
    def broken(x):
        raise KeyError("oops")

    @ruleset()
    def breaking(x):
        yield rule("sine", sin(x), x, broken(x))

    v = verdict(breaking)
    assert v.kind == "WRONG" and "KeyError" in v.details() and "sin(" in v.details()


def test_a_right_side_that_fails_at_run_time_is_wrong():
    @goal("io")
    def too_far(x):
        return (x.type.shape[0] or 0,) if x.type.ndim else None

    @ruleset()
    def reads(x, i: param, j: param):
        yield rule("next", subtensor(x, index=(0,)), subtensor(x, index=(("s", 1, 2, None),)))

    assert verdict(reads).kind in ("WRONG", "refused")


def test_parameters_heads_and_segs_are_drawn():
    @goal("iio")
    def composed(a, b):
        return tuple(p if p == "x" else a[p] for p in b)

    @ruleset()
    def shapes(x, f: head, xs: seg, ys: seg, a: param, b: param, c: param):
        yield rule("twice", dimshuffle(dimshuffle(x, order=a), order=b), dimshuffle(x, order=c), composed(a, b, c))
        yield rule("flat", join(join(*xs, axis=a), *ys, axis=a), join(*xs, *ys, axis=a))

    for v in prove(shapes):
        assert v.kind == "exact" and v.trials > 20, v.details()


def test_a_wrong_parameter_is_found():
    @ruleset()
    def shapes(x: Matrix, y, a: param):
        yield rule("axis", join(x, y, axis=a), join(y, x, axis=a))
        yield rule("drop", dimshuffle(x, order=(1, 0)), x)

    axis, drop = prove(shapes)
    assert axis.kind == "WRONG" and drop.kind == "WRONG"


def test_integers_are_tried():
    @ruleset()
    def whole(x, y):
        yield rule("div", (x * y) / y, x, nonzero(y), finite(y), assumes=["reassoc", "finite"])
        yield rule("floor", floor(x), x)
        yield rule("cast", cast(x, dtype="int8"), x)

    div, floored, _ = prove(whole)
    assert not div.ok and "overflow" in div.details()
    assert floored.kind == "WRONG"


def test_the_same_seed_gives_the_same_report():
    @ruleset()
    def some(x: Float, y: Float):
        yield rule("a", sqrt(x * x), x)
        yield rule("b", x * y / y, x)

    assert str(prove(some, seed=3)) == str(prove(some, seed=3))


def test_examples_are_terms_the_rule_applies_to():
    @ruleset()
    def some(x, y):
        yield rule("neg", -(x - y), y - x)

    found = examples(some["neg"], 4)
    assert len(found) == 4
    rs = RuleSet(some)
    for e in found:
        assert rs.rewrite(e.before) is rs.rewrite(e.after)
        assert e.before.type is e.after.type


@pytest.mark.parametrize("width", [60, 100, 160])
def test_the_table_fits_the_screen(width):
    @ruleset()
    def some(x, y):
        yield rule("a_rule_with_quite_a_long_name", -(x - y), y - x, assumes=["signed_zero"])

    table = prove(some).table(width)
    assert max(map(len, table.splitlines())) <= max(width, 60) + 40
    assert "signed_zero" in table


def test_records_are_plain_data():
    import json

    @ruleset()
    def some(x: Float):
        yield rule("a", sqrt(x * x), x)

    record = json.loads(json.dumps([v.record() for v in prove(some)]))[0]
    assert record["rule"] == "some.a" and record["verdict"] == "WRONG" and record["counterexamples"]
    assert np.isfinite(record["trials"])


def test_rules_are_tried_on_floats_of_16_bits_too(monkeypatch):
    """Not by default; nothing is wrong with them there."""
    pytest.importorskip("ml_dtypes")
    monkeypatch.setattr(proving_examples, "_DTYPE_TURNS", ("bfloat16", "float16"))
    monkeypatch.setattr(proving_draw, "DTYPES", ("bfloat16", "float16"))

    @ruleset()
    def mine(x: Float, y: Float):
        yield rule("twice", x + x, x * 2)
        yield rule("flipped", -(x - y), y - x, assumes=["signed_zero"])
        yield rule("wrong", x - y, y - x)

    twice, flipped, wrong = prove(mine, samples=12).verdicts
    assert twice.kind == "exact" and flipped.ok and not wrong.ok
    assert "float16" in wrong.details()


# ---------------------------------------------------------------------- samplers
def test_a_mistake_of_a_sampler_is_not_taken_for_an_operand_that_does_not_fit(monkeypatch):
    def mistaken(d, h, args, want):
        raise TypeError("no such thing")

    monkeypatch.setattr(proving_draw, "sampler_of", lambda family: mistaken)

    @ruleset()
    def table(x: Float):
        yield rule("same", sin(x), sin(x + 0))

    with pytest.raises(TypeError, match="no such thing"):
        verdict(table)


def test_parts_of_indices_that_are_numbers_and_arrays():
    assert indexing_samplers._part((3, 4), ("?", "a")) == (1,)
    assert indexing_samplers._part((3, 4), (("slice", "?", None, None), "?")) == (3,)


def test_wanted_lengths_are_never_left_open():
    made = proving_draw.Draw(random.Random(0), {}, {}, 0.0).make(Var("x"), proving_draw.Want((None, 2), "float64"))
    assert made.type.shape == (3, 2)
