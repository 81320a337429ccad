"""Casts, comparisons, logic, choices, bounds, powers, signs, complex numbers: one example per rule."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.elementwise import isfinite, isinf, isnan
from tests.rulelib.support import becomes, rules, stays

x, y, z = T.dmatrix("x"), T.dmatrix("y"), T.dmatrix("z")
f, g = T.fmatrix("f"), T.fmatrix("g")
i, j, k = T.lmatrix("i"), T.lmatrix("j"), T.lmatrix("k")
b, u = T.bmatrix("b"), T.tensor("u", dtype="uint8", shape=(None, None))
p, q = T.tensor("p", dtype="bool", shape=(None, None)), T.tensor("q", dtype="bool", shape=(None, None))
c, d = T.zmatrix("c"), T.zmatrix("d")
pos, neg = T.assume(x, positive=True), T.assume(x, negative=True)
nonneg, nonpos = T.assume(x, nonnegative=True), T.assume(x, nonpositive=True)
inonneg, ipos, ineg, inonpos = (
    T.assume(i, **{n: True}) for n in ("nonnegative", "positive", "negative", "nonpositive")
)
no, yes = False, True
And, Or, Not, Xor = ew.logical_and, ew.logical_or, ew.logical_not, ew.logical_xor

CASTS = [
    ("casts.same", ew.cast(x.term, dtype="float64"), x),
    ("casts.twice", T.cast(T.cast(f, "float64"), "float32"), f),
    ("casts.twice", T.cast(T.cast(b, "int32"), "float64"), T.cast(b, "float64")),
    ("casts.constants", x * 2, x * 2.0),
    ("casts.constants", f + T.constant(np.int8(1)), f + 1.0),
    ("casts.condition", T.switch(T.cast(p, "int8"), x, y), T.switch(p, x, y)),
    ("casts.logical_not", Not(T.cast(p, "float64")), Not(p)),
    ("casts.equals_zero", T.neq(T.cast(i, "float64"), 0), None),
    ("casts.equals_zero", T.neq(T.cast(b, "float64"), 0), T.neq(b, 0)),
    ("casts.equals_zero", T.eq(T.cast(b, "float64"), 0), T.eq(b, 0)),
    ("casts.any_all", T.any(T.cast(b, "float64")), T.any(b)),
    ("casts.folded", T.sum(T.cast(f, "float64")), T.sum(f, dtype="float64")),
    ("casts.folded", T.prod(T.cast(f, "float64")), T.prod(f, dtype="float64")),
    ("casts.rounding", T.floor(i), i),
    ("casts.rounding", T.ceil(T.floor(x)), T.floor(x)),
]
COMPARISONS = [
    ("comparisons.below_self", x < x, no),
    ("comparisons.below_self", x > x, no),
    ("comparisons.at_most_self", i <= i, yes),
    ("comparisons.at_most_self", x >= x, Not(isnan(x))),
    ("comparisons.neq_self", T.neq(x, x), isnan(x)),
    ("comparisons.eq_self", T.eq(x, x), Not(isnan(x))),
    ("comparisons.special_integer", isnan(i), no),
    ("comparisons.special_bool", isnan(p), no),
    ("comparisons.special_integer", isinf(i), no),
    ("comparisons.special_bool", isinf(p), no),
    ("comparisons.isfinite_integer", isfinite(i), yes),
    ("comparisons.isfinite_bool", isfinite(p), yes),
    ("comparisons.special_sign", isnan(-x), isnan(x)),
    ("comparisons.isnan_total", isnan(T.sigmoid(x)), isnan(x)),
    ("comparisons.special_sign", isinf(abs(x)), isinf(x)),
    ("comparisons.special_sign", isfinite(-x), isfinite(x)),
    ("comparisons.constant_right", ew.lt(1.0, x), x > 1.0),
    ("comparisons.constant_right", T.eq(1.0, x), T.eq(x, 1.0)),
    ("comparisons.constant_last", T.hypot(1.0, x), T.hypot(x, 1.0)),
    ("comparisons.not", Not(T.eq(x, y)), T.neq(x, y)),
    ("comparisons.not_lt", Not(i < j), i >= j),
    ("comparisons.not_le", Not(i <= j), i > j),
    ("comparisons.not_gt", Not(i > j), i <= j),
    ("comparisons.not_ge", Not(i >= j), i < j),
    ("comparisons.min_lt", T.minimum(x, y) < x, y < x),
    ("comparisons.max_gt", T.maximum(x, y) > x, y > x),
    ("comparisons.max_gt", T.maximum(x, 1.0) > 1.0, x > 1.0),
    ("comparisons.max_lt", T.maximum(i, j) < i, no),
    ("comparisons.min_gt", T.minimum(x, y) > x, no),
    ("comparisons.lt_max", x < T.maximum(x, y), x < y),
    ("comparisons.gt_min", x > T.minimum(x, y), x > y),
    ("comparisons.lt_min", x < T.minimum(x, y), no),
    ("comparisons.gt_max", x > T.maximum(x, y), no),
    ("comparisons.signs", -x < -y, x > y),
    ("comparisons.lt_zero", T.exp(x) < 0, no),
    ("comparisons.gt_zero", nonpos > 0, no),
    ("comparisons.le_zero", pos <= 0, no),
    ("comparisons.ge_zero", neg >= 0, no),
    ("comparisons.le_zero_eq", abs(x) <= 0, T.eq(abs(x), 0)),
    ("comparisons.ge_zero_eq", nonpos >= 0, T.eq(nonpos, 0)),
    ("comparisons.ge_zero_number", abs(x) >= 0, Not(isnan(x))),
    ("comparisons.le_zero_number", nonpos <= 0, Not(isnan(nonpos))),
    ("comparisons.le_one_number", T.sigmoid(x) <= 1, Not(isnan(x))),
    ("comparisons.gt_one", T.tanh(x) > 1, no),
    ("comparisons.ge_zero_true", u >= 0, yes),
    ("comparisons.le_zero_true", inonpos <= 0, yes),
    ("comparisons.gt_zero_true", ipos > 0, yes),
    ("comparisons.lt_zero_true", ineg < 0, yes),
    ("comparisons.eq_true", T.eq(p, True), p),
    ("comparisons.eq_false", T.eq(p, False), Not(p)),
    ("comparisons.neq_true", T.neq(p, 1), Not(p)),
    ("comparisons.neq_false", T.neq(p, 0), p),
]
LOGIC = [
    ("logic.not_not", Not(Not(p)), p),
    ("logic.settled", And(x, False), no),
    ("logic.settled", Or(p, True), yes),
    ("logic.with_not", And(x, Not(x)), no),
    ("logic.with_not", Or(q, p, Not(p)), yes),
    ("logic.complement", And(T.eq(x, y), T.neq(x, y)), no),
    ("logic.complement", Or(T.eq(x, y), T.neq(x, y)), yes),
    ("logic.absorbs", And(p, Or(p, q)), p),
    ("logic.absorbs", Or(p, And(p, q)), p),
    ("logic.of_nots", And(Not(p), Not(q)), Not(Or(p, q))),
    ("logic.of_nots", Or(Not(p), Not(q)), Not(And(p, q))),
    ("logic.xor_self", Xor(x, x), no),
    ("logic.xor_false", Xor(p, False), p),
    ("logic.xor_true", Xor(p, True), Not(p)),
    ("logic.xor_not", Xor(Not(p), Not(q)), Xor(p, q)),
    ("logic.xor_one_not", Xor(Not(p), q), Not(Xor(p, q))),
    ("logic.bits_and_zero", i & 0, 0),
    ("logic.bits_or_all", i | -1, -1),
    ("logic.bits_xor_self", i ^ i, 0),
    ("logic.bits_xor_all", ew.bitwise_xor(i, -1), ~i),
    ("logic.bits_and_not", i & ~i, 0),
    ("logic.bits_absorb", i & (i | j), i),
    ("logic.bits_absorb", i | (i & j), i),
    ("logic.shift_zero", ew.left_shift(0, u), 0),
    ("logic.shift_zero", ew.right_shift(0, u), 0),
    ("logic.invert_bool", ew.invert(p), Not(p)),
    ("logic.and_bool", ew.bitwise_and(p, q), And(p, q)),
    ("logic.or_bool", ew.bitwise_or(p, q), Or(p, q)),
    ("logic.xor_twice", Xor(Xor(p, q), p), q),
    ("logic.or_xor", T.logical_or(Xor(p, q), p), T.logical_or(p, q)),
    ("logic.and_xor", T.logical_and(Xor(p, q), p), T.logical_and(p, Not(q))),
    ("logic.xor_and", Xor(T.logical_and(p, q), p), T.logical_and(p, Not(q))),
    ("logic.xor_or", Xor(T.logical_or(p, q), p), T.logical_and(Not(p), q)),
    ("logic.xor_bool", ew.bitwise_xor(p, q), Xor(p, q)),
    ("logic.mul_bool", p * q, And(p, q)),
    ("logic.add_bool", p + q, Or(p, q)),
    ("logic.minimum_bool", T.minimum(p, q), And(p, q)),
    ("logic.maximum_bool", T.maximum(p, q), Or(p, q)),
]
SWITCH = [
    ("switch.true", T.switch(True, x, y), x),
    ("switch.false", T.switch(0.0, x, f), T.cast(f, "float64")),
    ("switch.equal_arms", T.switch(p, x, x), None),
    ("switch.not", T.switch(Not(x), y, z), T.switch(x, z, y)),
    ("switch.neq_zero", T.switch(T.neq(x, 0), y, z), T.switch(x, y, z)),
    ("switch.eq_zero", T.switch(T.eq(x, 0), y, z), T.switch(x, z, y)),
    ("switch.of_itself", T.switch(p, p, Not(p)), yes),
    ("switch.of_not_itself", T.switch(p, Not(p), p), no),
    ("switch.is_condition", T.switch(p, 1.0, 0.0), T.cast(p, "float64")),
    ("switch.is_not_condition", T.switch(p, 0.0, 1.0), T.cast(Not(p), "float64")),
    ("switch.then_same", T.switch(p, T.switch(p, x, y), z), T.switch(p, x, z)),
    ("switch.else_same", T.switch(p, x, T.switch(p, y, z)), T.switch(p, x, z)),
    ("switch.then_and", T.switch(p, T.switch(q, x, y), y), T.switch(And(p, q), x, y)),
    ("switch.else_or", T.switch(p, x, T.switch(q, x, y)), T.switch(Or(p, q), x, y)),
    ("switch.then_and_not", T.switch(p, T.switch(q, y, x), y), T.switch(And(p, Not(q)), x, y)),
    ("switch.else_or_not", T.switch(p, x, T.switch(q, y, x)), T.switch(Or(p, Not(q)), x, y)),
    ("switch.larger", T.switch(x < y, y, x), T.maximum(x, y)),
    ("switch.larger_first", T.switch(x > 0.0, x, 0.0), T.maximum(x, 0.0)),
    ("switch.larger", T.switch(x <= y, y, x), T.maximum(x, y)),
    ("switch.larger_first", T.switch(x >= y, x, y), T.maximum(x, y)),
    ("switch.smaller_first", T.switch(x < y, x, y), T.minimum(x, y)),
    ("switch.smaller", T.switch(x > y, y, x), T.minimum(x, y)),
    ("switch.smaller_first", T.switch(x <= y, x, y), T.minimum(x, y)),
    ("switch.smaller", T.switch(x >= y, y, x), T.minimum(x, y)),
    ("switch.abs", T.switch(x < 0, -x, x), abs(x)),
    ("switch.abs", T.switch(x <= 0, -x, x), abs(x)),
    ("switch.abs_first", T.switch(x > 0, x, -x), abs(x)),
    ("switch.abs_first", T.switch(x >= 0, x, -x), abs(x)),
    ("switch.eq_arms", T.switch(T.eq(x, y), x, y), y),
    ("switch.neq_arms", T.switch(T.neq(x, y), x, y), x),
]
small = T.tanh(x)
BOUNDS = [
    ("bounds.max_nonnegative", T.maximum(T.exp(x), 0), T.exp(x)),
    ("bounds.max_nonpositive", T.maximum(-abs(x), 0), 0),
    ("bounds.min_nonpositive", T.minimum(-abs(x), 0), -abs(x)),
    ("bounds.min_nonnegative", T.minimum(abs(x), 0), 0),
    ("bounds.min_one", T.minimum(small, 1), small),
    ("bounds.max_one", T.maximum(small, 1), 1),
    ("bounds.max_minus_inf", T.maximum(x, -np.inf), x),
    ("bounds.min_inf", T.minimum(x, np.inf), x),
    ("bounds.absorbs", T.maximum(x, T.minimum(x, y)), x),
    ("bounds.absorbs", T.minimum(x, T.maximum(y, x)), x),
    ("bounds.of_negatives", T.maximum(-x, -y), -T.minimum(x, y)),
    ("bounds.of_negatives", T.minimum(-x, -y), -T.maximum(x, y)),
    ("bounds.abs", T.maximum(x, -x), abs(x)),
    ("bounds.minus_abs", T.minimum(x, -x), -abs(x)),
    ("bounds.max_abs", T.maximum(abs(x), x), abs(x)),
    ("bounds.max_abs_neg", T.maximum(abs(x), -x), abs(x)),
    ("bounds.min_abs", T.minimum(abs(x), x), x),
    ("bounds.min_abs_neg", T.minimum(abs(x), -x), -x),
    ("bounds.max_minus_abs", T.maximum(-abs(x), x), x),
    ("bounds.min_minus_abs", T.minimum(-abs(x), x), -abs(x)),
    ("bounds.max_abs_bound", T.maximum(abs(x), T.minimum(x, y)), abs(x)),
    ("bounds.plus", T.maximum(x + y, z + x), x + T.maximum(y, z)),
    ("bounds.plus", T.minimum(x + y, z + x), x + T.minimum(y, z)),
    ("bounds.increasing", T.maximum(T.exp(x), T.exp(y)), T.exp(T.maximum(x, y))),
    ("bounds.increasing", T.minimum(T.exp(x), T.exp(y)), T.exp(T.minimum(x, y))),
    ("bounds.max_plus_min", T.maximum(x, y) + T.minimum(x, y), x + y),
    ("bounds.max_minus_min", T.maximum(x, y) - T.minimum(x, y), abs(x - y)),
    ("bounds.max_minus_min", T.maximum(x, 0) - T.minimum(x, 0), abs(x)),
    ("bounds.min_minus_max", T.minimum(x, y) - T.maximum(x, y), -abs(x - y)),
    ("powers.hypot_zero", T.hypot(x, 0.0), abs(x)),
    ("bounds.clip_same", T.clip(x, y, y), y),
    ("bounds.clip_twice", T.clip(T.clip(x, y, z), y, z), T.clip(x, y, z)),
    ("bounds.clip_min_inf", T.clip(x, -np.inf, y), T.minimum(x, y)),
    ("bounds.clip_max_inf", T.clip(x, y, np.inf), T.maximum(x, y)),
    ("bounds.clip_nonnegative", T.clip(abs(x), 0, y), T.minimum(abs(x), y)),
    ("bounds.clip_at_most_one", T.clip(small, T.sin(y), 1), T.maximum(small, T.sin(y))),
    ("bounds.max_clip", T.maximum(T.clip(x, 0.0, 1.0), 0.0), T.clip(x, 0.0, 1.0)),
    ("bounds.min_clip", T.minimum(T.clip(x, 0.0, 1.0), 1.0), T.clip(x, 0.0, 1.0)),
]
POWERS = [
    ("powers.square", x * x, T.sqr(x)),
    ("powers.square", y * x * y, None),
    ("powers.pow_two", x**2, x * x),
    ("powers.pow_two", i**2, i * i),
    ("powers.pow_minus_one", x**-1.0, 1.0 / x),
    ("powers.reciprocal", T.reciprocal(x), 1.0 / x),
    ("powers.one_pow", T.pow(1.0, x), 1),
    ("powers.pow_pow", (x**3) ** 4, x**12),
    ("powers.sqr_pow", T.sqr(x**3), x**6),
    ("powers.pow_sqr", T.sqr(x) ** 3, x**6),
    ("powers.mul_pow", x * x**3, x**4),
    ("powers.pow_mul_pow", x**3 * x**4, x**7),
    ("powers.sqr_mul_pow", T.sqr(x) * x**3, x**5),
    ("powers.pow_div", x**4 / x, x**3),
    ("powers.pow_div_pow", x**7 / x**4, x**3),
    ("powers.sqr_div", T.sqr(x) / x, x),
    ("powers.div_sqr", x / T.sqr(x), 1.0 / x),
    ("powers.even", (-x) ** 4, x**4),
    ("powers.odd", (-x) ** 3, -(x**3)),
    ("powers.sqr_abs", T.sqr(abs(x)), T.sqr(x)),
    ("powers.even_abs", abs(x) ** 4, x**4),
    ("powers.abs_sqr", abs(T.sqr(x)), T.sqr(x)),
]
NEGATION = [
    ("negation.sub_constant", x - 2.0, x + (-2.0)),
    ("negation.add_neg", x + (-y), x - y),
    ("negation.mul_neg", (-x) * y, -(x * y)),
    ("negation.neg_over", (-x) / y, -(x / y)),
    ("negation.over_neg", x / (-y), -(x / y)),
    ("negation.neg_sub", -x - y, -(x + y)),
    ("negation.scaled", x * -2.0, -(2.0 * x)),
    ("negation.neg_scaled", -(i * -2), 2 * i),
    ("negation.over_scaled", x / -2.0, -(x / 2.0)),
    ("negation.number_over", -2.0 / x, -(2.0 / x)),
    ("negation.odd", T.sin(-x), -T.sin(x)),
    ("negation.even", T.cos(-x), T.cos(x)),
    ("negation.abs_nonnegative", abs(T.exp(x)), T.exp(x)),
    ("negation.abs_nonpositive", abs(nonpos), -nonpos),
    ("negation.sign_positive", T.sgn(pos), 1),
    ("negation.sign_negative", T.sgn(neg), -1),
    ("negation.abs_times_sign", abs(x) * T.sgn(x), x),
    ("negation.plus_minus", (i + j) - j, i),
    ("negation.minus_plus", (u - b) + b, T.cast(u, "int16")),
    ("negation.minus_minus", i - (i - j), j),
    ("negation.minus_sum", i - (i + j), -j),
    ("negation.sums", (i + j) - (i + k), j - k),
    ("negation.not_plus_one", ~i + 1, -i),
    ("negation.floor_div_one", i // 1, i),
    ("negation.mod_one", i % 1, 0),
    ("negation.mod_mod", (i % j) % j, i % j),
]
COMPLEXES = [
    ("complexes.real", T.real(x), x),
    ("complexes.imag_real", T.imag(x), 0),
    ("complexes.real", T.conj(x), x),
    ("complexes.real_complex", T.real(ew.complex_(x, y)), x),
    ("complexes.imag_complex", T.imag(ew.complex_(x, y)), y),
    ("complexes.conj_complex", T.conj(ew.complex_(x, y)), ew.complex_(x, -y)),
    ("complexes.of_conj", T.real(T.conj(c)), T.real(c)),
    ("complexes.imag_conj", T.imag(T.conj(c)), -T.imag(c)),
    ("complexes.of_conj", abs(T.conj(c)), abs(c)),
    ("complexes.parts", ew.complex_(T.real(c), T.imag(c)), c),
    ("complexes.real_cast", T.real(T.cast(f, "complex128")), T.cast(f, "float64")),
    ("complexes.imag_cast", T.imag(T.cast(x, "complex128")), 0),
    ("complexes.of_neg", T.real(-c), -T.real(c)),
    ("complexes.of_neg", T.imag(-c), -T.imag(c)),
    ("complexes.of_neg", T.conj(-c), -T.conj(c)),
    ("complexes.conj_mul_conj", T.conj(c) * T.conj(d), T.conj(c * d)),
]
ALL = [*CASTS, *COMPARISONS, *LOGIC, *SWITCH, *BOUNDS, *POWERS, *NEGATION, *COMPLEXES]


@pytest.mark.parametrize(("name", "before", "after"), [row for row in ALL if row[2] is not None])
def test_rule(name, before, after):
    values = np.abs(np.random.default_rng(1).normal(size=(3, 3))) + 0.5
    negative = ("negative", "nonpositive", "sign_negative", "ge_zero", "gt_zero", "ge_zero_eq", "le_zero_number")
    sign = -1 if name.split(".")[1] in negative or "nonpositive" in name else 1
    integers = {"i": np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]]), "j": np.full((3, 3), 3)}
    if name.split(".")[1] in ("le_zero_true", "lt_zero_true"):
        integers["i"] = -integers["i"]
    becomes(before, after, name, x=sign * values, **integers)


@pytest.mark.parametrize(
    "expr",
    [
        T.cast(T.cast(x, "float32"), "float64"),  # loses digits
        T.cast(T.cast(b, "float64"), "uint8"),  # a negative float has no uint8
        T.neq(T.cast(x, "int64"), 0),
        f * np.float64(0.1),  # 0.1 is another number in single precision
        Not(x < y),  # NaN
        x <= y,
        T.switch(x, y, z),
        T.maximum(x, 0),
        T.clip(x, 0.0, 1.0),
        x**3,
        x**0.3 * x**0.4,
        (-x) ** 2.5,
        T.log(-x),
        i - (i - b),
        T.real(c),
    ],
    ids=str,
)
def test_does_not_fire(expr):
    stays(expr)


def test_nothing_is_assumed_when_nothing_is_trusted():
    exact = [r for r in rules() if not r.assumes]
    from termgraph.rules import RuleSet

    rs = RuleSet(exact)
    for expr in (T.maximum(-abs(x), 0), T.maximum(x, T.minimum(x, y)), T.switch(x < y, y, x), x**2, x * 0, x / x):
        stays(expr, "bounds.max_nonpositive", "bounds.absorbs", "switch.larger", "powers.pow_two", rs=rs)


SPELLINGS = [
    (-(2 * x), -2 * x), (x * y * -2, -(2 * x * y)), (-(x / 2), x / -2), (x / -2, -0.5 * x), (-(2 / x), -2 / x),
    (-(3 * x / y), -3 * x / y), (-(x / (3 * y)), x / (-3 * y)), (x - 2 * y, x + -2 * y), (x - -2 * y, x + 2 * y),
    (-2 * x - y, -(2 * x) - y), (T.exp(-2 * x), T.exp(-(2 * x))), (T.sin(-2 * x), T.sin(-(2 * x))),
    (T.cos(-2 * x), T.cos(2 * x)), (abs(-3 * x), abs(3 * x)), (T.maximum(-2 * x, -3 * y), -T.minimum(2 * x, 3 * y)),
    ((T.exp(2 * x) - T.exp(-2 * x)) / 2, T.sinh(2 * x)), (1 / (1 + T.exp(-2 * x)), T.sigmoid(2 * x)),
    (-(2 * x * y + y), -2 * x * y - y), (-(2 * x / y + x), -2 * x / y - x), (-(3 * x + 2 * y), -3 * x - 2 * y),
    (-2 * i * j, -(2 * i * j)), (-(3 * i), -3 * i), (-2 * f, -(2 * f)), ((-2 * x).sum(), -(2 * x).sum()),
]  # fmt: skip


@pytest.mark.parametrize("pair", SPELLINGS)
def test_a_sign_is_written_in_one_place(pair):
    """Outside of a product while rules look for it, in its number at the end."""
    first, second = map(tg.rewrite, pair)
    assert first.term is second.term


def test_a_quotient_that_is_there_anyway_is_not_computed_again_with_the_other_sign():
    kept = tg.function([x], [3 / x, -(3 / x)]).stage("specialize")
    assert "neg(true_div(3.0, $0))" in str(kept)


@pytest.mark.parametrize("expr", [-(2 * x * y), -(x / (3 * y)), -(2 * x * y + y), -(2 * x / y + x), -2 * x, 3 - 2 * x])
@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_no_sign_is_left_beside_a_number(expr, mode):
    """In every mode that takes signs out of numbers they are put back."""
    assert "neg" not in str(tg.function([x, y], expr, mode=mode, on_unused_input="ignore").stage("specialize"))
