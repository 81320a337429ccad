"""`tg.accurate` and the mode ACCURATE: forms that lose fewer bits, branches by range, and the reports of both."""

import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.accuracy.exact import Unsure, exact, value_at
from termgraph.accuracy.forms import steps
from termgraph.accuracy.points import drawn, from_ordinal, lost, ordinal
from termgraph.accuracy.series import series
from termgraph.terms.evaluate import evaluate
from termgraph.terms.op import CONST
from termgraph.terms.traverse import subterms

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from accurate_corpus import corpus
from accurate_forms import BETTER, WORSE, measure

sys.path.pop(0)
CORPUS = corpus()


def ops_of(expr):
    return [t.op.name for t in subterms([expr.term]) if t.args]


# ---------------------------------------------------------------------- exact values and lost bits
def test_neighbours_are_one_apart_in_order():
    x = np.array([-np.inf, -1.0, -5e-324, -0.0, 0.0, 5e-324, 1.0, np.inf])
    places = ordinal(x)
    assert (np.diff(places) >= 0).all() and places[3] == places[4] == 0 and places[5] == 1
    assert ordinal(np.nextafter(x, np.inf))[1] - places[1] == 1
    assert (from_ordinal(places, "float64") == x).all()
    small = np.float32([-1.5, 0.25])
    assert (from_ordinal(ordinal(small), "float32") == small).all()


def test_bits_lost_are_counted_in_units_of_the_last_place():
    truth = np.array([1.0, 1.0, 1.0, 0.0, np.nan])
    found = np.array([1.0, 1.0 + 2**-52, np.nan, -0.0, np.nan])
    assert lost(found, truth).tolist() == [0.0, 1.0, 64.0, 0.0, 0.0]


@pytest.mark.parametrize("low, high", [(0, 1), (-1, 1), (1e-300, 1e-290), (5, 5), (-1e308, 1e308), (0, np.inf)])
def test_points_lie_in_their_range(low, high):
    x = drawn(low, high, 500, "float64", np.random.default_rng(1))
    assert (x >= low).all() and (x <= high).all() and np.isfinite(x).all()


@pytest.mark.parametrize("value, expected", [(1e-140, 5e-281), (1e-30, 5e-61), (1.0, 0.718281828459045)])
def test_two_precisions_that_agree_are_not_enough(value, expected):
    """exp(x) - 1 - x is x**2 / 2: with a few hundred bits it is -x, whichever the number of these."""
    x = T.dvector("x")
    expr = tg.db.rewrite(T.exp(x) - 1 - x, "+fast_run", "&canonicalize", assume=[]).term
    found = exact(expr, {x.term: np.array([value])})[0]
    assert found == pytest.approx(expected, rel=1e-14, abs=0)
    with pytest.raises(Unsure):
        value_at(expr, {x.term: 1e-30}, 140)


def test_a_value_that_is_none_is_nan():
    x = T.dscalar("x")
    assert np.isnan(exact(T.sqrt(x).term, {x.term: np.array([-1.0])})[0])
    assert np.isnan(exact((1 / x).term, {x.term: np.array([0.0])})[0])


# ---------------------------------------------------------------------- forms
def test_series_are_found_whatever_the_spelling():
    x = T.dvector("x")
    expr = tg.db.rewrite((1 - T.cos(x)) / x**2, "+fast_run", "&canonicalize", assume=[])
    found = list(series(expr.term, x.term))
    values = evaluate(found[1:3], {x.term: [1e-3]})
    assert values[0][0] == pytest.approx(0.5 - 1e-6 / 24, rel=1e-12)
    assert not list(series(T.log(x).term, x.term))


def test_every_rule_for_accuracy_is_tried_and_holds_somewhere():
    names = {r.name for r in steps().rules}
    forms = [r for r in tg.db.all_rules() if "accurate" in r.tags]
    assert len(forms) > 60 and {r.name for r in forms} <= names
    assert not [r for r in tg.db.query("+fast_run") if "accurate" in r.tags]


def test_a_difference_of_roots_needs_no_branch():
    x = T.dvector("x")
    new, report = tg.accurate(T.sqrt(x + 1) - T.sqrt(x), ranges={x: (0, 1e300)}, report=True)
    assert "switch" not in ops_of(new)
    assert report.before > 10 and report.after < 0.5 and report.parts[0].regions[0].where == "everywhere"
    assert "conjugates.roots" in report.parts[0].rules


def test_two_forms_where_two_are_needed():
    x = T.dvector("x")
    new, report = tg.accurate(T.exp(x) - 1 - x, ranges={x: (-700, 700)}, report=True)
    assert ops_of(new).count("switch") == 1 and len(report.parts[0].regions) == 2
    value = new.eval({x: [1e-9, -1e-5, 1.0, 100.0]})
    exactly = [5.000000001666667e-19, 4.9999833333749997e-11, 0.7182818284590453, np.expm1(100.0) - 100]
    np.testing.assert_allclose(value, exactly, rtol=1e-15)


def test_ranges_say_what_matters():
    x = T.dscalar("x")
    small = tg.accurate(T.exp(x) - 1 - x, ranges={x: (-1e-3, 1e-3)})
    large = tg.accurate(T.exp(x) - 1 - x, ranges={x: (50, 100)})
    assert "switch" not in ops_of(small) + ops_of(large) and "exp" not in "".join(ops_of(small))
    assert tg.accurate(T.log(x), ranges={"x": (1, 2)}) is not None


def test_what_users_assume_is_a_range():
    x = T.assume(T.dscalar("x"), positive=True)
    _, report = tg.accurate(T.sqrt(x + 1) - T.sqrt(x), report=True)
    assert (report.parts[0].axes["x"] > 0).all()


def test_reductions_and_other_shapes_stay():
    m, s = T.dmatrix("m"), T.dscalar("s")
    expr = [(T.sqrt(m + s) - T.sqrt(m)).sum(axis=0), T.dot(m, m), s + 1]
    new = tg.accurate(expr)
    assert [v.type for v in new] == [v.type for v in expr]
    given = {m: np.full((2, 2), 1e16), s: 1.0}
    assert new[0].eval(given).tolist() == [1e-8, 1e-8] and new[1] is expr[1]


def test_single_precision_and_integers():
    x, i = T.fvector("x"), T.lvector("i")
    new = tg.accurate(T.sqrt(x + 1) - T.sqrt(x), ranges={x: (0, 1e30)})
    assert new.dtype == "float32" and new.eval({x: np.float32([1e20])})[0] == np.float32(5e-11)
    same = i * 2 - i
    assert tg.accurate(same).type == same.type


def test_a_good_expression_is_left_alone():
    x = T.dscalar("x")
    expr = T.sin(x) * 2.0
    new, report = tg.accurate(expr, report=True)
    assert ops_of(new) == ops_of(tg.rewrite(expr)) and "left as it is" in repr(report)
    nothing, report = tg.accurate(T.dot(T.dmatrix(), T.dmatrix()), report=True)
    assert not report.parts and "nothing" in repr(report)


@pytest.mark.parametrize("error, ranges, message", [
    (ValueError, {"y": (0, 1)}, "no input of the expression; its inputs are x"),
    (ValueError, {"x": (2, 1)}, "no number between"),
    (ValueError, {"x": (np.nan, 1)}, "no number between"),
    (TypeError, {"x": 3}, "expected .lowest, highest."),
])  # fmt: skip
def test_wrong_ranges_are_named(error, ranges, message):
    x = T.dscalar("x")
    with pytest.raises(error, match=message):
        tg.accurate(T.exp(x) - 1, ranges=ranges)


def test_the_same_form_every_time():
    x, y = T.dscalars("x", "y")
    expr = T.cos(x + y) - T.cos(x)
    assert tg.accurate(expr).term is tg.accurate(expr).term


# ---------------------------------------------------------------------- the report
def test_the_picture_is_well_formed_and_shows_every_point(tmp_path):
    x = T.dvector("x")
    _, report = tg.accurate(x - T.sin(x), ranges={x: (-1, 1)}, report=True)
    report.save(tmp_path / "bits.svg")
    root = ET.fromstring((tmp_path / "bits.svg").read_text())
    circles = [e for e in root.iter() if e.tag.endswith("circle")]
    assert len(circles) == 2 * len(report.parts[0].lost_before)
    assert "abs(x) <" in repr(report) and report._repr_svg_() == report.svg()


# ---------------------------------------------------------------------- the mode
def test_the_mode_compiles_what_accurate_finds():
    x, m = T.dvector("x"), T.dmatrix("m")
    outputs = [T.exp(x) - 1 - x, (T.sqrt(m + 1) - T.sqrt(m)).sum(axis=0)]
    f = tg.function([x, m], outputs, mode="ACCURATE")
    found = f([1e-9, 1.0], [[1e20, 1.0], [3.0, 1e30]])
    np.testing.assert_allclose(found[0], [5.000000001666667e-19, np.e - 2], rtol=4e-16)
    np.testing.assert_allclose(found[1], [0.26794919243112270647 + 5e-11, 0.41421356237309504880 + 5e-16], rtol=1e-15)
    assert any("conjugates.roots" in r.rule for r in f.trace)
    assert "accurate" in [row.stage for row in f.stages]
    plain = tg.function([x, m], outputs)
    assert "accurate" not in [row.stage for row in plain.stages]


def test_the_mode_says_what_it_is():
    mode = tg.get_mode("ACCURATE")
    assert mode.strict and mode.accurate and "accurate=True" in repr(mode)
    assert mode != tg.get_mode("STRICT") and mode == tg.get_mode("accurate")


def test_bodies_of_loops_are_looked_at():
    x = T.dvector("x")
    out, _ = tg.scan(lambda v: T.sqrt(v + 1) - T.sqrt(v), sequences=[x])
    f = tg.function([x], out, mode="ACCURATE")
    np.testing.assert_allclose(f([1e16, 1e30]), [5e-9, 5e-16], rtol=1e-15)


def test_a_form_that_is_a_number_has_the_shape_of_the_expression():
    """Operands are looked at as numbers, so that what is left of an expression does not ask for their length."""
    k, v, m = T.dscalar("k"), T.dvector("v"), T.dmatrix("m")
    expression = T.exp(-k) * 0.0 + -k * 0.0
    assert float(tg.function([k], tg.accurate(expression), on_unused_input="ignore")(0.7)) == 0.0
    assert np.array_equal(tg.accurate(T.exp(v) * T.exp(-v)).eval({v: [3.0, 600.0]}), [1.0, 1.0])
    zeros = ((m + v) - m) - v
    assert tg.accurate(zeros).type == zeros.type
    found = tg.function([m, v], zeros, mode="ACCURATE")(np.ones((2, 3)), [1e20, 3.0, 1e-20])
    assert np.array_equal(found, np.zeros((2, 3)))


def test_roots_of_products_do_not_overflow_where_factors_are_known_to_be_positive():
    x, y = T.dvectors("x", "y")
    new = tg.accurate(T.sqrt(x * y), ranges={x: (0, 1e300), y: (0, 1e300)})
    assert np.allclose(new.eval({x: [1e200, 1e-200], y: [1e200, 1e-200]}), [1e200, 1e-200], rtol=1e-15)
    assert np.array_equal(tg.accurate(T.sqrt(x * y)).eval({x: [-2.0, -2.0], y: [-2.0, 2.0]}), [2.0, np.nan], True)


@pytest.mark.parametrize("text", ["sqrt(x**2 + y**2) - x", "sqrt(x**2 + y**2) - y", "exp(x)*exp(-x)"])
def test_what_cancels_on_the_way_does_not_forbid_a_form(text):
    """One of the steps is `(x - x) * (x + x)`, which is 0 for every element of an array of unknown length."""
    line = measure(next(e for e in CORPUS if e.text == text))
    assert line.written > 10 and line.accurate < 1


def test_without_mpmath_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpmath", None)
    x = T.dscalar("x")
    with pytest.raises(ImportError, match=r"pip install 'termgraph\[accuracy\]'"):
        tg.accurate(T.exp(x) - 1)


# ---------------------------------------------------------------------- the corpus
def test_the_corpus_is_large_and_of_many_topics():
    assert len(CORPUS) >= 200 and len({e.topic for e in CORPUS}) >= 8
    assert len({e.text + str(sorted(map(str, e.ranges.values()))) for e in CORPUS}) == len(CORPUS)
    assert all(not [t for t in subterms([e.expr.term]) if not t.args and t.op is not CONST and t.name not in "xyz"]
               for e in CORPUS)  # fmt: skip


@pytest.mark.parametrize("number", range(0, len(CORPUS), 17))
def test_expressions_of_the_corpus_lose_no_more_bits(number):
    line = measure(CORPUS[number])
    assert line.accurate <= line.written + WORSE and line.default <= line.written + WORSE
    assert line.accurate <= max(line.written - BETTER, BETTER)


@pytest.mark.slow
@pytest.mark.parametrize("entry", CORPUS, ids=[e.text for e in CORPUS])
def test_no_expression_of_the_corpus_gets_worse(entry):
    line = measure(entry)
    assert max(line.accurate, line.default, line.strict) <= line.written + WORSE


def test_constant_arrays_of_equal_numbers_keep_their_lengths():
    """They were taken for numbers, and their part could not be computed at points."""
    x, y, c = T.dvector("x"), T.dvector("y"), T.bscalar("c")
    chosen = np.zeros(3) + tg.ifelse(c, x, x * 2) * y
    spread = T.sqrt(np.ones((1, 3)) + x[0]) - 1
    f = tg.function([x, y, c], [chosen, spread, T.log(np.ones(3) + y[0])], mode="ACCURATE")
    first, second, third = f(np.array([1e-9, 2.0, 3.0]), np.array([1.0, 2.0, 3.0]), 1)
    np.testing.assert_allclose(first, [1e-9, 4.0, 9.0])
    assert second.shape == (1, 3) and third.shape == (3,)
    np.testing.assert_allclose(
        tg.accurate(np.zeros(3) + (x[0] + 1.0) * y[1]).eval({x: [1.0], y: [1.0, 2.0]}), [4.0] * 3
    )
