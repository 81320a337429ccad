"""Operands of narrower dtypes than the result: no rule computes with them by themselves, where they may wrap around."""

import itertools

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph import db
from termgraph.rules import RuleSet
from termgraph.rules.relation import results
from termgraph.terms.evaluate import evaluate
from termgraph.terms.ops.elementwise import fma, mul
from termgraph.terms.term import Const

EXPRESSIONS = {
    "common factor": lambda x, m, n, c: x * m + x * n,
    "common factor first": lambda x, m, n, c: m * x + n * x,
    "common factor, difference": lambda x, m, n, c: x * m - x * n,
    "common factor, numbers": lambda x, m, n, c: 3 * (x * m) + 2 * (x * n),
    "common factor, three": lambda x, m, n, c: x * m + x * n + x * m,
    "divided": lambda x, m, n, c: m / (x + 9) + n / (x + 9),
    "factors": lambda x, m, n, c: (x * m) * (x * n),
    "squared": lambda x, m, n, c: (x * m) * m * n,
    "sum of terms": lambda x, m, n, c: (x + m) + n,
    "difference of terms": lambda x, m, n, c: (x - m) - n,
    "taken away": lambda x, m, n, c: (x + m) - (x + n) + m,
    "sum of products": lambda x, m, n, c: (x * m).sum() + (x * n).sum(),
    "products of sums": lambda x, m, n, c: (x * m).sum() * n,
    "chosen": lambda x, m, n, c: T.switch(c, x * m, x * n),
    "chosen, second negated": lambda x, m, n, c: T.switch(c, x * m, -(x * n)),
    "chosen, first negated": lambda x, m, n, c: T.switch(c, -(x * m), x * n),
    "chosen sums": lambda x, m, n, c: T.switch(c, x + m, x + n),
    "chosen differences": lambda x, m, n, c: T.switch(c, x - m, x - n),
    "negated": lambda x, m, n, c: -(x * m) - (x * n),
    "larger": lambda x, m, n, c: T.maximum(x + m, x + n),
    "smaller": lambda x, m, n, c: T.minimum(x * m, x * n),
    "compared": lambda x, m, n, c: (x + m) < (x + n),
    "compared products": lambda x, m, n, c: (x * m) * 2 > (x * n) * 2,
    "equal": lambda x, m, n, c: T.eq(x - m, x - n),
    "power": lambda x, m, n, c: (x * 1.0) ** m * (x * 1.0) ** n,
    "exponentials": lambda x, m, n, c: T.exp(x * 0.01) * T.exp(m * 0.01) * T.exp(n * 0.01),
    "logarithms": lambda x, m, n, c: T.log(abs(x) + 1.0) + T.log(m + 300.0),
    "powers by wider exponents": lambda x, m, n, c: [m ** T.constant(np.array(k, "int64")) for k in (2, 3, 4, 7)],
    "scaled means": lambda x, m, n, c: (x * m).mean() - (x * n).mean(),
}
WIDE, NARROW = ("float64", "float32", "int64"), ("bool", "uint8", "int8", "int16")
VALUES = {
    "bool": ([True, True, False, True], [True, False, True, True]),
    "uint8": ([200, 0, 255, 7], [100, 3, 255, 0]),
    "int8": ([-128, 100, 3, -1], [-128, 90, -3, 127]),
    "int16": ([-32768, 32000, 3, -1], [-32768, 900, -3, 32767]),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_what_is_narrower_than_the_result_does_not_wrap_around(name):
    x_values, c_values = np.array([1, -2, 3, 5]), np.array([True, False, True, False])
    for wide, first, second in itertools.product(WIDE, NARROW, NARROW):
        inputs = [T.vector(n, dtype=d) for n, d in zip("xmnc", (wide, first, second, "bool"))]
        made = EXPRESSIONS[name](*inputs)
        given = [
            x_values.astype(wide),
            np.array(VALUES[first][0], first),
            np.array(VALUES[second][1], second),
            c_values,
        ]
        found, plain = (
            tg.function(inputs, made, mode=mode, on_unused_input="ignore")(*given)
            for mode in (tg.Mode(linker="py"), tg.Mode(linker="py", optimizer="None"))
        )
        found, plain = np.asarray(found), np.asarray(plain)
        assert found.dtype == plain.dtype, (wide, first, second)
        np.testing.assert_allclose(found, plain, rtol=1e-4, err_msg=f"{wide} {first} {second}")


def both_ways(inputs, made, *given):
    """The values with all rules, and with none."""
    modes = tg.Mode(linker="py"), tg.Mode(linker="py", optimizer="None")
    return [tg.function(inputs, made, mode=mode)(*given) for mode in modes]


MIXED_INTEGERS = {
    "taken away again": lambda i, j: (i + j) - j,
    "added again": lambda i, j: (i - j) + j,
    "rest of rest": lambda i, j: i % j % j,
    "rest, by the quotient": lambda i, j: i - i // j * j,
    "recomposed": lambda i, j: i // j * j + i % j,
    "multiple": lambda i, j: (i * j) // j,
}


@pytest.mark.parametrize("name", MIXED_INTEGERS)
@pytest.mark.parametrize("dtypes", [("uint64", "int64"), ("int64", "uint64"), ("uint64", "int8"), ("int32", "uint64")])
def test_integers_that_meet_in_floats_are_rounded_as_floats_are(name, dtypes):
    """Sums of uint64 and int64 are float64: nothing wraps around there, and digits are lost."""
    i, j = (T.vector(n, dtype=d) for n, d in zip("ij", dtypes))
    given = [np.array([2**40 + 1, 97, 2**53 + 1, 5], "int64").clip(0, np.iinfo(dtypes[0]).max).astype(dtypes[0]),
             np.array([3, 11, 7, 2], dtypes[1])]  # fmt: skip
    found, plain = both_ways([i, j], MIXED_INTEGERS[name](i, j), *given)
    assert found.dtype == plain.dtype
    np.testing.assert_array_equal(found, plain)


@pytest.mark.parametrize("pair", [("arcsinh", "sinh"), ("arctanh", "tanh"), ("log", "exp"), ("log1p", "expm1")])
def test_functions_with_a_period_are_not_undone_for_complex_numbers(pair):
    z = T.zvector("z")
    outer, inner = (getattr(T, n) for n in pair)
    found, plain = both_ways([z], outer(inner(z)), np.array([0.5 + 4j, 0.2 - 5j, 0.1 + 0.2j]))
    np.testing.assert_allclose(found, plain, rtol=1e-12)
    back, _ = both_ways([z], inner(outer(z)), np.array([0.5 + 4j, 0.2 - 5j, 0.1 + 0.2j]))
    np.testing.assert_allclose(back, [0.5 + 4j, 0.2 - 5j, 0.1 + 0.2j], rtol=1e-12)


def test_the_cosine_of_twice_a_number_that_float16_cannot_double():
    x = T.vector("x", dtype="float16")
    found, plain = both_ways([x], T.cos(x) ** 2 - T.sin(x) ** 2, np.array([40000, -50000, 1], "float16"))
    np.testing.assert_allclose(found.astype("float64"), plain.astype("float64"), atol=2e-3)


def test_a_sign_is_taken_of_factors_in_the_dtype_of_the_product():
    """Of constants that no rule has folded yet."""
    small, minus = Const(np.array([1, 1, 1], "uint8")), Const(np.asarray(-1, "float32"))
    made = RuleSet([r for r in db.query("+canonicalize") if r.name == "collect.product"])
    found = made.rewrite(mul(small, minus, Const(np.asarray(1, "int8"))))
    np.testing.assert_array_equal(evaluate([found])[0], np.array([-1, -1, -1], "float32"))


def test_a_variance_whose_count_has_dimensions_of_its_own():
    x = T.tensor("x", dtype="float64", shape=(4, None))
    given = np.arange(8.0).reshape(4, 2)
    made = T.sum(T.sqr(x), axis=0) - T.sqr(T.sum(x, axis=0)) / T.constant(np.array([[4]]))
    rule = next(r for r in db.query("+stabilize") if r.name == "moments.squared_deviations")
    assert not set(results(rule, made.term))
    np.testing.assert_allclose(both_ways([x], made, given)[0], [4 * given.var(axis=0)])


def test_the_difference_of_hyperbolic_tangents_has_a_value_everywhere():
    rule = next(r for r in db.query("+accurate") if r.name == "differences_of_functions.tanh")
    x, y = T.dvector("x"), T.dvector("y")
    (made,) = set(results(rule, (T.tanh(x) - T.tanh(y)).term))
    given = np.array([900.0, 1e-9, 3.0, -800.0, 20.0, 2.0]), np.array([0.0, 0.0, -2.5, 750.0, 19.0, 2.0])
    found = evaluate([made], {x: given[0], y: given[1]})[0]
    exact = np.tanh(given[0]) - np.tanh(given[1])
    exact[4] = 2 * np.exp(-38) * -np.expm1(-2) / ((1 + np.exp(-40.0)) * (1 + np.exp(-38.0)))
    np.testing.assert_allclose(found, exact, rtol=1e-13)


@pytest.mark.parametrize("exponent", (-2.0, -1.0, -0.5, 0.5, 1.5, 2.0, 2.5, 3.0, 5.0, 7.0))
def test_powers_by_a_float64_are_as_precise_as_that(exponent):
    x = T.fvector("x")
    given = np.array([1.1, 2.3, 3.7, 5.9], "float32")
    found, plain = both_ways([x], x ** T.constant(np.array(exponent, "float64")), given)
    assert found.dtype == plain.dtype == "float64"
    np.testing.assert_allclose(found, plain, rtol=1e-14)


@pytest.mark.parametrize("base", (2.0, np.e))
def test_powers_of_a_float64_are_as_precise_as_that(base):
    x = T.fvector("x")
    found, plain = both_ways([x], T.constant(np.array(base, "float64")) ** x, np.array([0.1, 2.3, 3.7], "float32"))
    assert found.dtype == plain.dtype == "float64"
    np.testing.assert_allclose(found, plain, rtol=1e-14)


PRODUCTS = {
    "vector last": lambda x, y, v, w: x @ y @ v,
    "vector first": lambda x, y, v, w: v @ (x @ y),
    "three": lambda x, y, v, w: x @ y @ x,
    "outer by a vector": lambda x, y, v, w: (v[:, None] * w) @ v,
    "outer by a matrix": lambda x, y, v, w: (v[:, None] * w) @ x,
    "a matrix by an outer": lambda x, y, v, w: x @ (v[:, None] * w),
    "a vector by an outer": lambda x, y, v, w: w @ (v[:, None] * w),
    "a sum of rows": lambda x, y, v, w: (x @ y).sum(axis=0),
    "a sum of all": lambda x, y, v, w: (x @ y).sum(),
    "a common factor": lambda x, y, v, w: x @ v + x @ w,
    "signs": lambda x, y, v, w: (-x) @ (-y) if "bool" not in (x.dtype, y.dtype) else x @ y,
}
KINDS = ("bool", "int8", "uint8", "int64", "uint64", "float32", "float64", "complex128")


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_matrices_in_another_order_keep_their_dtypes(name, rng):
    """A product of truth values is one, one of int8 wraps around, and one of float32 loses digits."""
    for first, second, third in itertools.product(KINDS, repeat=3):
        values = {
            "x": rng.integers(0, 90, (3, 3)), "y": rng.integers(0, 90, (3, 3)), "v": rng.integers(0, 90, 3),
            "w": rng.integers(0, 90, 3),
        }  # fmt: skip
        inputs = [
            T.tensor(k, dtype=d, shape=a.shape) for (k, a), d in zip(values.items(), (first, second, third, second))
        ]
        written = PRODUCTS[name](*inputs)
        given = {t.term: a.astype(t.dtype) for t, a in zip(inputs, values.values())}
        saturated = db.saturate(written) if first == "bool" else written
        with np.errstate(all="ignore"):
            want, *found = evaluate([written, tg.rewrite(written), saturated], given)
        for got in found:
            np.testing.assert_allclose(got, want, rtol=1e-5, err_msg=f"{written.term!r} {first} {second} {third}")


def test_a_cast_on_the_way_that_leaves_the_limits_of_integers_stays():
    """What float32 makes of 2**32 - 1 is no int8: the processor's own answer is another one."""
    x = T.vector("x", dtype="uint32")
    assert str(tg.rewrite(T.cast(T.cast(x, "float64"), "int8")).term) == "cast{dtype='int8'}(cast(x))"
    assert str(tg.rewrite(T.cast(T.cast(x, "float64"), "int64")).term) == "cast{dtype='int64'}(x)"


def test_multiply_add_computes_in_the_dtype_of_all_three():
    a, b, c = T.vector("a", dtype="int64"), T.vector("b", dtype="int64"), T.vector("c", dtype="float16")
    given = np.array([2**62, 3]), np.array([4, 5]), np.array([1, 2], dtype="float16")
    for linker in ("py", "auto"):
        found = tg.function([a, b, c], fma(a, b, c), mode=tg.Mode(linker=linker))(*given)
        np.testing.assert_array_equal(found, [2.0**64 + 1, 17.0])
