"""Optional parts of patterns: `Float | 1` may be left out of products, `Float | 0` of sums."""

import pytest

import termgraph.tensor as T
from termgraph.rules import Float, Integer, Matrix, RuleSet, dual, head, nonzero, rule, ruleset
from termgraph.terms.errors import RuleError
from termgraph.terms.ops.elementwise import add, cos, cosh, exp, log, logical_and, maximum, minimum, sin, sub

X, Y, Z, W = (T.dvector(n) for n in "xyzw")


def forms(table, name):
    """The forms of a rule, as they are written."""
    return [repr(i).partition(": ")[2][:-1] for i in table[name].instances() if i.main]


def test_one_line_stands_for_the_forms_with_and_without_its_parts():
    @ruleset()
    def some(x: Float, u: Float | 1, v: Float | 1, w: Float | 0):
        yield rule("factors", log(u * exp(x) / v), log(u / v) + x)
        yield rule("summand", exp(x + w) * exp(x), exp(2 * x) * exp(w))
        yield rule("less", sin(x - w), cos(x) - w)

    assert forms(some, "factors") == [
        "log(exp(x)) -> log(1) + x",
        "log(exp(x) / v) -> log(1 / v) + x",
        "log(u * exp(x)) -> log(u) + x",
        "log(u * exp(x) / v) -> log(u / v) + x",
    ]
    assert forms(some, "less") == ["sin(x) -> cos(x)", "sin(x - w) -> cos(x) - w"]
    assert [i.label for i in some["less"].instances() if i.main] == ["some.less[w = 0]", "some.less"]


def test_all_forms_fire():
    @ruleset()
    def undone(x: Float, y: Float, u: Float | 1, v: Float | 1, w: Float | 0, a: head[add, sub]):
        yield rule("sum", cosh(y) * a(u * (x / (cosh(y) * v)), w), a(u * x / v, cosh(y) * w))

    rs = RuleSet(undone)
    c = T.cosh(Y)
    for before, after in (
        (c * (X / c + W), X + c * W),
        (c * (X / c - W), X - c * W),
        (c * (Z * (X / c) + W), Z * X + c * W),
        (c * (X / (c * Z) - W), X / Z - c * W),
        (c * (Y * (X / (c * Z)) - W), Y * X / Z - c * W),
        (c * (X / Z + W), c * (X / Z + W)),
    ):
        assert rs.rewrite(before).term is after.term


def test_products_with_a_summand_that_is_not_there_vanish():
    @ruleset()
    def some(x: Float, y: Float, t: Float | 0, a: head[add, sub]):
        yield rule("apart", y * a(log(x), t), a(y + log(x), y * t))

    assert forms(some, "apart") == ["y * log(x) -> y + log(x)", "y * (log(x) + t) -> y + log(x) + y * t",
                                    "y * (log(x) - t) -> y + log(x) - y * t"]  # fmt: skip


def test_dual_operators_share_a_line():
    @ruleset()
    def some(x: Float, y: Float, m: head[maximum, minimum], o: head):
        yield rule("absorbs", m(x, o(x, y)), x, dual(m, o))

    assert forms(some, "absorbs") == ["maximum(x, minimum(x, y)) -> x", "minimum(x, maximum(x, y)) -> x"]
    assert dual.holds(maximum, minimum) and not dual.holds(maximum, logical_and)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(TypeError, match=r"a factor may be left out as `Float \| 1`, a summand as `\| 0`; not as 2"):
        Float | 2
    with pytest.raises(TypeError, match=r"come last: write \(Float \| Integer\) \| 1"):
        (Float | 1) | Integer
    assert ((Float | 1) & Matrix).left_out == (Matrix & (Float | 1)).left_out == 1
    assert repr((Float & Matrix) | 1) == "Float & Matrix | 1" and (Integer | 0).left_out == 0

    with pytest.raises(RuleError, match=r"asking.about.*nonzero\(u\) asks about u, which may be left out"):

        @ruleset()
        def asking(x: Float, u: Float | 1):
            yield rule("about", log(u * x), x, nonzero(u))

    with pytest.raises(RuleError, match=r"counting.everything.*x \+ u says nothing without one of its parts"):

        @ruleset()
        def counting(x: Float, u: Float | 1):
            yield rule("everything", exp(x + u), x)
