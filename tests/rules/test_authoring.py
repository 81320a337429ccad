"""How rules are written, and which are refused when they are defined."""

import pytest

import termgraph.tensor as T
from termgraph.rules import (
    Float,
    Matrix,
    NonConst,
    RuleSet,
    distributes,
    evaluate,
    goal,
    head,
    inverse,
    literals,
    nonzero,
    param,
    rule,
    ruleset,
    seg,
    this,
)
from termgraph.terms.errors import RuleError
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.elementwise import add, cast, eq, exp, log, log1p, mul, neg, sqr, sub, true_div

x, y, z = (T.dmatrix(n).term for n in "xyz")


def test_the_look_of_the_design():
    @ruleset("canonicalize")
    def sample(x, y, z, k, f: head, g: head, m: head, a: head, xs: seg):
        yield rule("mul_one", x * 1, x)
        yield rule("mul_div", (x * y) / y, x, nonzero(y))
        yield rule("inverse", f(g(x)), x, inverse(f, g))
        yield rule("factor", a(m(x, y), m(x, z)), m(x, a(y, z)), distributes(m, a), assumes=["reassoc"])
        yield rule("fold", f(*xs), k, literals(xs), evaluate(f, xs, k))

    r = sample["mul_div"]
    assert r.name == "sample.mul_div" and r.assumes == frozenset()
    assert r.tags == {"canonicalize", "fast_run", "fast_compile"}
    assert repr(r) == "sample.mul_div: x * y / y -> x  if nonzero(y)"
    assert r.where.startswith(__file__)
    rs = RuleSet(sample, assume={"nonzero"})
    assert rs.rewrite(mul(x, 1.0)) is x
    assert rs.rewrite(true_div(mul(x, y), y)) is x
    assert RuleSet(sample).rewrite(true_div(mul(x, y), y)) is true_div(mul(x, y), y)
    assert rs.rewrite(log(exp(x))) is x
    assert rs.rewrite(add(mul(x, y), mul(z, x))) is mul(x, add(y, z))
    assert rs.rewrite(add(T.constant(2.0).term, 3.0)).scalar == 5.0


def test_operands_of_sums_match_in_any_order_with_a_rest():
    @ruleset("stabilize")
    def some(x, y):
        yield rule("log1p", log(1 + x), log1p(x))
        yield rule("exps", exp(x) * exp(y), exp(x + y))

    rs = RuleSet(some)
    assert rs.rewrite(log(add(x, 1.0))) is log1p(x)
    assert rs.rewrite(log(add(x, 1.0, y))) is log1p(add(x, y))
    assert rs.rewrite(mul(exp(x), z, exp(y))) is mul(exp(add(x, y)), z)
    assert rs.rewrite(mul(exp(x), exp(y), exp(z))) is exp(add(add(x, y), z))


def test_commutative_pairs_match_both_ways():
    @ruleset()
    def pairs(x, y):
        yield rule("eq_neg", eq(exp(x), neg(y)), eq(x, y))

    rs = RuleSet(pairs)
    assert rs.rewrite(eq(neg(y), exp(x))) is eq(x, y)
    assert rs.rewrite(eq(exp(x), neg(y))) is eq(x, y)


def test_guards_restrict_metavariables():
    @ruleset()
    def guarded(x: Float & Matrix, y: NonConst):
        yield rule("square", x * x, sqr(x))
        yield rule("neg", neg(-y), y)

    rs = RuleSet(guarded)
    v, i = T.dvector("v").term, T.imatrix("i").term
    assert rs.rewrite(mul(x, x)) is sqr(x)
    assert rs.rewrite(mul(v, v)) is mul(v, v)
    assert rs.rewrite(mul(i, i)) is mul(i, i)


def test_parameters_are_matched_computed_and_default_when_left_out():
    @goal("iio")
    def composed(outer, inner):
        return tuple(d if d == "x" else inner[d] for d in outer)

    @ruleset()
    def axes(x, a: param, b: param, c: param, d: param):
        yield rule("twice", dimshuffle(dimshuffle(x, order=a), order=b), dimshuffle(x, order=c), composed(b, a, c))
        yield rule("widen", cast(cast(x, dtype="float64"), dtype=d), cast(x, dtype=d))

    rs = RuleSet(axes)
    t = dimshuffle(dimshuffle(x, order=(1, 0)), order=(1, "x", 0))
    assert rs.rewrite(t) is dimshuffle(x, order=(0, "x", 1))
    i = T.imatrix("i").term
    assert rs.rewrite(cast(cast(i, dtype="float64"), dtype="float32")) is cast(i, dtype="float32")
    assert rs.rewrite(cast(cast(i, dtype="int64"), dtype="float32")) is cast(cast(i, dtype="int64"), dtype="float32")


def test_head_of_listed_families_keeps_its_parameters():
    @ruleset()
    def heads(x, r: head[cast, dimshuffle]):
        yield rule("swap", r(-x), -r(x))

    rs = RuleSet(heads)
    assert rs.rewrite(dimshuffle(neg(x), order=(1, 0))) is neg(dimshuffle(x, order=(1, 0)))
    assert rs.rewrite(cast(neg(x), dtype="float32")) is neg(cast(x, dtype="float32"))
    assert rs.rewrite(exp(neg(x))) is exp(neg(x))


def test_this_is_the_whole_term_and_goals_may_give_several_values():
    @goal("ioo")
    def halves(t):
        return t.args

    @ruleset()
    def whole(x, y, p, q):
        yield rule("flip", x - (-y), p + y, halves(this, p, q))

    assert RuleSet(whole).rewrite(add(x, y)) is add(x, y)
    assert RuleSet(whole).rewrite(sub(x, neg(x))) is add(x, x)


def define(make, **kinds):
    def table(x, y, z, k, f: head, xs: seg, a: param):
        yield make(x=x, y=y, z=z, k=k, f=f, xs=xs, a=a)

    return ruleset("canonicalize")(table)


@goal("io")
def double(x):
    return x


BAD = {
    "binds": (lambda x, y, **_: rule("bad", -x, x + y), "uses y, which neither the left side nor a goal binds"),
    "function": (lambda x, **_: rule("bad", -x, lambda t: t), "the right side is a function"),
    "anything": (lambda x, **_: rule("bad", x, x + 1), "would match anything"),
    "mode": (lambda x, y, z, **_: rule("bad", -x, z, double(y, z)), "no usable mode"),
    "truth": (lambda x, **_: rule("bad", -x, x, True), "after the right side come goals"),
    "arity": (lambda x, y, f, **_: rule("bad", exp(x, y), x), "can never match: exp takes 1 operand"),
    "name": (lambda x, **_: rule("not a name", -x, x), "must be an identifier"),
    "same": (lambda x, **_: rule("bad", -x, -x), "both sides are the same"),
    "segs": (lambda x, xs, **_: rule("bad", add(*xs, *xs), x), "has no order"),
    "param": (lambda x, a, **_: rule("bad", x + a, x), "declared `param`"),
    "not a rule": (lambda x, **_: "bad", "yield rule"),
}


@pytest.mark.parametrize("case", BAD, ids=list(BAD))
def test_bad_rules_are_refused_with_name_file_and_line(case):
    make, message = BAD[case]
    with pytest.raises(RuleError) as caught:
        define(make)
    text = str(caught.value)
    assert message in text
    assert __file__ in text or "yield rule" in text


def test_a_left_side_that_folds_is_refused():
    with pytest.raises(RuleError, match="folded to a constant"):
        define(lambda x, **_: rule("bad", x + log1p(T.constant(2.0)), x))


def test_duplicate_names_are_refused_unless_overwritten():
    def again(x):
        yield rule("neg", neg(-x), x)

    ruleset()(again)
    with pytest.raises(RuleError, match=r"again\.neg.*already defined at"):
        ruleset()(again)
    assert len(ruleset(overwrite=True)(again)) == 1


def test_patterns_do_not_pretend_to_be_values():
    def used_as_bool(x):
        yield rule("bad", -x, x) if x else None

    with pytest.raises(RuleError, match="no truth value"):
        ruleset()(used_as_bool)


def test_heads_of_other_rules_do_not_multiply_this_one():
    @ruleset()
    def several(x, r: head[cast, dimshuffle]):
        yield rule("plain", log1p(-x), x)
        yield rule("heads", r(exp(x)), exp(r(x)))

    assert len(several["plain"].instances()) == 1
    assert len(several["heads"].instances()) == 2


def test_tests_of_the_operator_are_settled_when_compiled():
    @goal("i")
    def wanted(f):
        return f is exp

    @ruleset()
    def generic(x, f: head):
        yield rule("drop", f(f(x)), x, wanted(f))

    rs = RuleSet(generic)
    assert rs.rewrite(exp(exp(x))) is x and rs.rewrite(log(log(x))) is log(log(x))
    assert "wanted" not in rs.source(exp) and "no rule applies" in rs.source(log)


def test_misspelt_assumptions_and_stages_are_refused():
    with pytest.raises(RuleError, match="unknown assumption 'finit'; did you mean 'finite'?"):

        @ruleset()
        def typo(x):
            yield rule("one", x * 1, x, assumes=["finit"])

    with pytest.raises(RuleError, match="tag 'stabilise' is no stage, .* did you mean 'stabilize'?"):

        @ruleset("stabilise")
        def british(x):
            yield rule("one", x * 1, x)

    @ruleset("stable_ones")
    def own(x):
        yield rule("one", x * 1, x)

    assert own["one"].tags == {"stable_ones"}
