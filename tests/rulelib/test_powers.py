"""The rules of rules/small_powers.py: fired, expected form, same value; and where they stay quiet."""

import numpy as np
import pytest
from accuracy import form, optimized, quiet, rewritten

import termgraph.tensor as T
from termgraph.terms.evaluate import evaluate
from termgraph.terms.ops.elementwise import bitwise_and, right_shift

POINTS = (0.0, -0.0, 1e-20, -1e-20, 0.1, 0.3, -0.3, 1.0, -1.0, 2.5, -7.0, 30.0, -30.0, 700.0, -700.0)
POWERS = {
    "small_powers.three": (lambda x: x**3, lambda x: x * T.sqr(x)),
    "small_powers.four": (lambda x: x**4, lambda x: T.sqr(T.sqr(x))),
    "small_powers.five": (lambda x: x**5, lambda x: x * T.sqr(T.sqr(x))),
    "small_powers.six": (lambda x: x**6, lambda x: T.sqr(x * T.sqr(x))),
    "small_powers.eight": (lambda x: x**8, lambda x: T.sqr(T.sqr(T.sqr(x)))),
    "small_powers.three_halves": (lambda x: x**1.5, lambda x: x * T.sqrt(x)),
    "small_powers.five_halves": (lambda x: x**2.5, lambda x: T.sqr(x) * T.sqrt(x)),
    "small_powers.negative": (lambda x: x**-2, lambda x: 1 / T.sqr(x)),
    "small_powers.base_two": (lambda x: 2.0**x, T.exp2),
    "small_powers.base_e": (lambda x: np.e**x, T.exp),
    "divisions.exact": (lambda x: x / 4, lambda x: x * 0.25),
}


@pytest.mark.parametrize("name", POWERS)
def test_power(name):
    build, expected = POWERS[name]
    x = T.dvector("x")
    new, fired = rewritten(build(x), "canonicalize", "specialize")
    assert name in fired, f"{build(x).term} became {new.term} by {fired}"
    assert form(new) == form(rewritten(expected(x), "canonicalize", "specialize")[0])
    check_rule_values(build(x), new, x)


def check_rule_values(old, new, x):
    data = np.array(POINTS, dtype=x.dtype)
    with np.errstate(all="ignore"):
        was, now = evaluate([old, new], {x: data})
    np.testing.assert_allclose(now, was, rtol=200 * np.finfo(x.dtype).eps)


@pytest.mark.parametrize("n", [7, 9, 12, 31, -1, -3, -0.5, -1.5])
def test_other_exponents(n):
    x = T.dvector("x")
    new, fired = optimized(x**n)
    assert "pow" not in str(new.term), f"{new.term} by {fired}"
    if n == int(n):
        check_rule_values(x**n, new, x)
    assert any(r.startswith(("small_powers.", "powers.pow_minus")) for r in fired)


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint8"])
def test_integer_divisions(dtype):
    x = T.vector("x", dtype=dtype)
    data = np.arange(np.iinfo("int8").min, 127).astype(dtype)
    for name, old, op in (("floor_div", x // 8, right_shift), ("mod", x % 8, bitwise_and)):
        new, fired = optimized(old)
        assert f"divisions.{name}" in fired and new.owner.op is op, f"{new.term} by {fired}"
        was, now = evaluate([old, new], {x: data})
        assert np.array_equal(was, now) and was.dtype == now.dtype


def test_quiet():
    x, i = T.dvector("x"), T.lvector("i")
    assert all(quiet(e, "small_powers") for e in (x**x, x**0.3, x**100, 3.0**x))
    assert quiet(x / 3, "divisions") and quiet(i // 3, "divisions") and quiet(i // -2, "divisions")
    assert quiet(x // 2, "divisions") and quiet(i % i, "divisions")
