"""Rules about erf, roots, trigonometry, x log(x) and variances: fired, expected form, no digit lost."""

import numpy as np
import pytest
from accuracy import check_rule, quiet, rewritten

import termgraph.tensor as T
from termgraph.terms.evaluate import evaluate

TAILS = (0.0, -0.0, 1e-20, -1e-20, 0.3, -0.3, 0.5, 0.51, 1.0, -1.0, 2.5, -2.5, 5.0, -5.0, 12.0, -12.0, np.inf, -np.inf)
SLOW = TAILS[:-2] + (30.0, -30.0)
ANGLES = (0.0, -0.0, 1e-20, -1e-20, 1e-5, 0.3, -0.3, 1.0, 1.5707963, 3.0, -7.0, 30.0, 700.0, np.inf)


def log_erfc(x, scale=1.0):
    tail = T.erfcx(T.maximum(x, 0.5)) if scale == 1.0 else scale * T.erfcx(T.maximum(x, 0.5))
    near = T.log1p(-T.erf(x)) if scale == 1.0 else T.log1p(-scale * T.erfc(-x))
    return T.switch(x > 0.5, T.log(tail) - T.sqr(x), near)


def log_cosh(x):
    a = T.abs(x)
    near = T.log1p(2 * T.sqr(T.sinh(0.5 * T.minimum(a, 1))))
    return T.switch(a > 1, a + T.softplus(-2 * a) - 0.6931471805599453, near)


CASES = {
    "error_functions.one_minus_erf": (lambda x: 1 - T.erf(x), T.erfc, {"at": TAILS}),
    "error_functions.one_plus_erf": (lambda x: 1 + T.erf(x), lambda x: T.erfc(-x), {"at": TAILS}),
    "error_functions.erf_minus_one": (lambda x: T.erf(x) - 1, lambda x: -T.erfc(x), {"at": TAILS}),
    "error_functions.one_minus_erfc": (lambda x: 1 - T.erfc(x), T.erf, {"at": TAILS}),
    "error_functions.erfc_minus_one": (lambda x: T.erfc(x) - 1, lambda x: -T.erf(x), {"at": TAILS}),
    "error_functions.two_minus_erfc": (lambda x: 2 - T.erfc(x), lambda x: T.erfc(-x), {"at": TAILS}),
    "error_functions.log_erfc": (lambda x: T.log(T.erfc(x)), log_erfc, {"at": TAILS}),
    "error_functions.log_half_erfc": (lambda x: T.log(0.5 * T.erfc(x)), lambda x: log_erfc(x, 0.5), {"at": TAILS}),
    "error_functions.log_erfc_half": (lambda x: T.log(T.erfc(x) / 2), lambda x: log_erfc(x, 0.5), {"at": TAILS}),
    "error_functions.erfcx": (lambda x: T.exp(x**2) * T.erfc(x), T.erfcx, {"at": TAILS, "ulps": 8}),
    "error_functions.tail_slope": (
        lambda x: T.exp(-x * x) / T.erfc(x),
        lambda x: 1 / T.erfcx(x),
        {"at": SLOW, "ulps": 8},
    ),
    "error_functions.tail_slope_mul": (
        lambda x, y: y * T.exp(-(x**2)) / T.erfc(x),
        lambda x, y: y / T.erfcx(x),
        {"at": SLOW, "ulps": 8},
    ),
    "bessel.i1_slope": (
        lambda x: T.i0(x) + T.iv(2, x),
        lambda x: T.switch(
            T.isinf(T.i0(x)), T.i0(x), 2 * (T.i0(x) - T.switch(T.abs(x) <= 1e-30, 0.5, T.i1(x) / x))
        ),
        {"at": SLOW[:-2] + (1e-35, 5e-324, 9.0, 300.0), "ulps": 8, "specialize": True},
    ),
    "bessel.i1e_slope": (
        lambda x: T.i0e(x) + T.ive(2, x),
        lambda x: 2 * (T.i0e(x) - T.switch(T.abs(x) <= 1e-30, 0.5, T.i1e(x) / x)),
        {"at": SLOW[:-2] + (1e-35, 5e-324, 9.0, 300.0, 1e8), "ulps": 8, "specialize": True},
    ),
    "bessel.j1_slope": (
        lambda x: T.j0(x) - T.jv(2, x),
        lambda x: 2 * (T.j0(x) - T.switch(T.abs(x) <= 1e-30, 0.5, T.j1(x) / x)),
        {"at": TAILS[:-4] + (1e-35, 5e-324, 7.0), "ulps": 8, "specialize": True},
    ),
    "error_functions.gamma_step": (lambda x: T.gamma(1 + x) / T.gamma(x), lambda x: x, {}),
    "roots.sqrt_sqr": (lambda x: T.sqrt(x * x), T.abs, {}),
    "roots.sqr_sqrt": (lambda x: T.sqrt(x) ** 2, lambda x: x, {}),
    "roots.hypot": (lambda x, y: T.sqrt(x**2 + y**2), T.hypot, {}),
    "roots.hypot_one": (lambda x: T.sqrt(x**2 + 1), lambda x: T.hypot(x, 1), {}),
    "roots.div_sqrt": (lambda x: x / T.sqrt(x), T.sqrt, {}),
    "roots.sqrt_div": (lambda x: T.sqrt(x) / x, lambda x: 1 / T.sqrt(x), {}),
    "inverse_hyperbolic.arcsinh": (lambda x: T.log(x + T.sqrt(x**2 + 1)), T.arcsinh, {}),
    "inverse_hyperbolic.arccosh": (lambda x: T.log(x + T.sqrt(x**2 - 1)), T.arccosh, {}),
    "inverse_hyperbolic.arctanh": (lambda x: T.log((1 + x) / (1 - x)), lambda x: 2 * T.arctanh(x), {}),
    "inverse_hyperbolic.arctanh_log1p": (lambda x: T.log(1 + x) - T.log(1 - x), lambda x: 2 * T.arctanh(x), {}),
    "inverse_hyperbolic.log_cosh": (lambda x: T.log(T.cosh(x)), log_cosh, {}),
    "trigonometry.one": (lambda x: T.sin(x) ** 2 + T.cos(x) ** 2, lambda x: T.ones_like(x), {"at": ANGLES}),
    "trigonometry.one_minus_cos2": (lambda x: 1 - T.cos(x) ** 2, lambda x: T.sqr(T.sin(x)), {"at": ANGLES}),
    "trigonometry.one_minus_sin2": (lambda x: 1 - T.sin(x) ** 2, lambda x: T.sqr(T.cos(x)), {"at": ANGLES}),
    "trigonometry.one_minus_cos": (lambda x: 1 - T.cos(x), lambda x: 2 * T.sqr(T.sin(0.5 * x)), {"at": ANGLES}),
    "trigonometry.cos_minus_one": (lambda x: T.cos(x) - 1, lambda x: -2 * T.sqr(T.sin(0.5 * x)), {"at": ANGLES}),
    "trigonometry.double_cos": (lambda x: T.cos(x) ** 2 - T.sin(x) ** 2, lambda x: T.cos(2 * x), {"at": ANGLES}),
    "trigonometry.twice_minus_two": (
        lambda x: 2 * T.cos(x) - 2,
        lambda x: -T.sqr(2 * T.sin(0.5 * x)),
        {"at": ANGLES},
    ),
    "trigonometry.twice_minus_two of cosh": (
        lambda x: T.exp(x) - 2 + T.exp(-x),
        lambda x: T.sqr(2 * T.sinh(0.5 * x)),
        {},
    ),
    "trigonometry.cos_minus_one of cosh": (lambda x: T.cosh(x) - 1, lambda x: 2 * T.sqr(T.sinh(0.5 * x)), {}),
    "trigonometry.one_minus_cos of cosh": (lambda x: 1 - T.cosh(x), lambda x: -2 * T.sqr(T.sinh(0.5 * x)), {}),
    "trigonometry.sin2_minus_one of sinh": (lambda x: -(T.sinh(x) ** 2) - 1, lambda x: -T.sqr(T.cosh(x)), {}),
    "trigonometry.double_cos of cosh": (lambda x: T.cosh(x) ** 2 + T.sinh(x) ** 2, lambda x: T.cosh(2 * x), {}),
    "trigonometry.tan": (lambda x: T.sin(x) / T.cos(x), T.tan, {"at": ANGLES}),
    "trigonometry.tan_cos": (lambda x: T.tan(x) * T.cos(x), T.sin, {"at": ANGLES}),
    "entropies.log": (lambda x: x * T.log(x), lambda x: x * T.log(T.switch(T.eq(x, 0), 1, x)), {}),
    "entropies.log log2": (lambda x: x * T.log2(x), lambda x: x * T.log2(T.switch(T.eq(x, 0), 1, x)), {}),
    "entropies.log1p_neg": (
        lambda x: (1 - x) * T.log(1 - x),
        lambda x: (1 - x) * T.log1p(-T.switch(T.eq(x, 1), 0, x)),
        {},
    ),
    "entropies.log1p": (lambda x: (1 + x) * T.log(1 + x), lambda x: (1 + x) * T.log1p(T.switch(T.eq(x, -1), 0, x)), {}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_rule(name):
    build, expected, options = CASES[name]
    check_rule(name.split()[0], build, expected, **options)


@pytest.mark.parametrize("shape", [(None, None), (3, 4)])
def test_variances_keep_their_digits(shape):
    x = T.tensor("x", dtype="float64", shape=shape)
    data = 1e8 + np.arange(12.0).reshape(3, 4)
    for name, old, want in (
        ("moments.variance", T.mean(x * x, axis=1) - T.mean(x, axis=1) ** 2, data.var(axis=1)),
        ("moments.variance", T.mean(x**2) - T.sqr(T.mean(x)), data.var()),
        ("moments.squared_deviations", T.sum(x**2, axis=0) - T.sum(x, axis=0) ** 2 / x.shape[0], 3 * data.var(axis=0)),
    ):
        new, fired = rewritten(old)
        assert name in fired, f"{old.term} became {new.term} by {fired}"
        np.testing.assert_allclose(evaluate([new], {x: data})[0], want, rtol=1e-13)


def test_quiet():
    x, y = T.dvector("x"), T.dvector("y")
    assert quiet(1 - T.erf(x) * y, "error_functions") and quiet(T.log(2.0 * T.erfc(x)), "error_functions")
    assert quiet(T.sqrt(x * y), "roots") and quiet(T.sqrt(x**2 + y), "roots") and quiet(y / T.sqrt(x), "roots")
    assert quiet(T.sqrt(x**2 + y**2 + 1.5 * x), "roots") and quiet(T.log(x + T.sqrt(y**2 + 1)), "inverse_hyperbolic")
    assert quiet(T.sin(x) ** 2 + T.cos(y) ** 2, "trigonometry") and quiet(2 - T.cos(x), "trigonometry")
    assert quiet(x * T.log(y), "entropies"), "0 log(0) has a limit only if both are the same number"
    assert quiet(T.mean(x * x) - T.mean(y) ** 2, "moments") and quiet(T.sum(x * x) / 3 - T.mean(x) ** 2, "moments")
