"""Every element-wise op against finite differences, over broadcasting patterns and dtypes; kinks as documented."""

import numpy as np
import pytest
from gradcases import ELEMENTWISE, HOLOMORPHIC, MARKS, NONE, OWN, PLAIN, STEPS, arity, of_last, operands

import termgraph as tg
import termgraph.tensor as T
from termgraph.function.verify import GradientError, verify_grad
from termgraph.terms.op import OPS


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_every_op_agrees_with_finite_differences(name, rng):
    n = arity(name)
    shapes = [(3,), (2, 1), (2, 3)][:n] if n > 1 else [(2, 3)]
    verify_grad(OPS[name], operands(rng, name, shapes), rng=rng, n_tests=1, mode=PLAIN)


@pytest.mark.parametrize("name", ["add", "mul", "maximum", "minimum"])
@pytest.mark.parametrize("shapes", [[()], [(2,), ()], [(1, 3), (2, 1), (2, 3)], [(2, 1, 3), (1, 4, 1), (3,), ()]])
def test_any_number_of_operands_and_broadcasts(name, shapes, rng):
    if len(shapes) == 1 and name in ("maximum", "minimum"):  # of one array it would be T.max that is meant
        with pytest.raises(TypeError, match="takes two arrays"):
            OPS[name](*operands(rng, name, shapes))
        return
    verify_grad(OPS[name], operands(rng, name, shapes), rng=rng, n_tests=1, mode=PLAIN)


@pytest.mark.parametrize("name", ["sub", "true_div", "pow", "hypot", "arctan2", "logaddexp", "mod"])
@pytest.mark.parametrize("shapes", [[(), (3,)], [(2, 1), (1, 3)], [(1,), (1,)], [(0, 2), (2,)]])
def test_broadcasts_of_pairs_are_summed_back(name, shapes, rng):
    verify_grad(OPS[name], operands(rng, name, shapes), rng=rng, n_tests=1, mode=PLAIN)


@pytest.mark.parametrize("name", ["exp", "mul", "tanh", "true_div", "sigmoid", "sub", "log1p", "erf"])
def test_single_precision(name, rng):
    shapes = [(2, 3)] * (1 if arity(name) == 1 else 2)
    verify_grad(OPS[name], operands(rng, name, shapes, "float32"), rng=rng, n_tests=1, mode=PLAIN)


@pytest.mark.parametrize("name", HOLOMORPHIC)
def test_complex_numbers(name, rng):
    def number():
        return rng.uniform(0.3, 0.8, (2,)) + 1j * rng.uniform(0.3, 0.8, (2,))

    verify_grad(OPS[name], [number() for _ in range(min(arity(name), 2))], rng=rng, mode=PLAIN)


def test_real_and_complex_together(rng):
    x, z = rng.normal(size=(2, 3)), rng.normal(size=3) + 1j * rng.normal(size=3)
    verify_grad(lambda x, z: T.exp(x * z) + x, [x, z], rng=rng, mode=PLAIN)
    verify_grad(T.complex, [x, x + 1], rng=rng, mode=PLAIN)
    verify_grad(lambda z: T.angle(z) * abs(z), [z], rng=rng, mode=PLAIN)
    z1 = T.zscalar("z")
    g = tg.grad(abs(z1) ** 2, z1)  # d/dRe + i d/dIm
    assert complex(evaluated(g, {z1: 3 + 4j})) == pytest.approx(6 + 8j)


@pytest.mark.parametrize("base", [-2, 3.0, np.array([-0.5, 2.0, -3.0])], ids=str)
def test_powers_of_negative_numbers_by_complex_exponents(base, rng):
    z = rng.normal(size=3) + 1j * rng.normal(size=3)
    verify_grad(lambda z: base**z, [z], rng=rng, mode=PLAIN)
    if isinstance(base, np.ndarray):
        verify_grad(lambda x, z: x**z, [base, z], rng=rng, mode=PLAIN)


def evaluated(variable, given):
    from termgraph.terms.evaluate import evaluate

    return evaluate([variable], given)[0]


def slope(f, *values, wrt=0):
    inputs = [T.dscalar() for _ in values]
    g = tg.grad(f(*inputs), inputs[wrt])
    return float(evaluated(g, dict(zip(inputs, values))))


def test_special_cases(rng):
    x = rng.normal(size=(2, 3))
    c = rng.normal(size=3) > 0
    verify_grad(lambda c, x, y: T.switch(c, x, y), [c, x, x[0]], rng=rng, mode=PLAIN)
    verify_grad(lambda x: T.clip(x, -0.5, 0.5), [x], rng=rng, mode=PLAIN)
    verify_grad(T.clip, [x, x - 1, x - 0.5], rng=rng, mode=PLAIN)
    verify_grad(T.clip, [x, x + 1, x - 0.5], rng=rng, mode=PLAIN)
    for of_order in (T.polygamma, T.gammainc, T.gammaincc, T.jv, T.iv):
        verify_grad(lambda x, f=of_order: f(2, x), [abs(x) + 0.5], rng=rng, mode=PLAIN)
    share = rng.uniform(0.1, 0.9, 5)
    verify_grad(of_last, [share], rng=rng, mode=PLAIN)
    verify_grad(lambda x: T.expn(0, x) * T.boxcox(1.0 + x, x) * T.comb(3.0, x) * T.gammal(2, x), [share], mode=PLAIN)
    verify_grad(lambda l: T.boxcox(3.0, l) + T.boxcox1p(2.0, l), [np.array([0.0, 1e-10, 1.0])], rng=rng, mode=PLAIN)
    verify_grad(lambda x: T.cast(x, "float32") * 2, [x], rng=rng, mode=PLAIN)
    verify_grad(lambda x: T.cast(x, "float64") * 2, [x.astype("float32")], rng=rng, mode=PLAIN)
    verify_grad(lambda y: T.heaviside(np.array([-1.0, 0.0, 1.0]), y) * y, [x[0]], rng=rng, mode=PLAIN)
    verify_grad(lambda x: T.nextafter(x, 10.0), [x], rng=rng, mode=PLAIN)
    verify_grad(lambda x: T.assume(x, positive=True) ** 2, [abs(x)], rng=rng, mode=PLAIN)


def test_steps_have_derivative_zero():
    for name in STEPS - {"floor_div"}:
        assert slope(lambda x, op=OPS[name]: op(x) * 2, 0.3) == 0
    assert slope(lambda x: x // 2, 3.3) == 0
    assert slope(lambda x: T.switch(x > 0, 1.0, 2.0), 3.3) == 0


def test_kinks():
    assert slope(abs, 0.0) == 0
    for f, at in ((T.sqrt, 0.0), (T.log, 0.0), (T.arcsin, 1.0), (T.arctanh, 1.0), (T.cbrt, 0.0), (T.arccosh, 1.0)):
        assert slope(f, at) == np.inf
    assert slope(T.arccos, 1.0) == slope(lambda x: 1 / x, 0.0) == -np.inf
    assert np.isnan(slope(T.logaddexp, -np.inf, -np.inf))
    assert slope(lambda x: T.maximum(x, 0), 0.0) == 0
    assert slope(T.nnet.relu, 0.0) == 0
    assert slope(T.nnet.relu, 2.0) == 1
    assert slope(lambda x: T.minimum(1.0, x), 1.0) == 0
    assert slope(T.maximum, 1.0, 1.0) == 0.5
    assert slope(T.maximum, 1.0, 1.0, wrt=1) == 0.5
    assert slope(lambda x, y: T.maximum(T.maximum(x, y), 0), 0.0, 0.0) == 0
    assert slope(lambda x: T.clip(x, 0, 1), 0.0) == 1
    assert slope(T.hypot, 0.0, 0.0) == 0
    assert slope(T.fmax, 1.0, np.nan) == 1
    assert slope(T.fmin, np.nan, 1.0) == 0


@pytest.mark.parametrize("x", [0.0, 2.0, -1.5])
def test_powers_at_zero(x):
    assert slope(lambda x: x**0, x) == 0
    assert slope(lambda x: x**1, x) == 1
    assert slope(lambda x: x**2, x) == 2 * x
    assert slope(lambda x: x**3, x) == pytest.approx(3 * x * x)
    assert slope(lambda x, n: x**n, x, 0.0) == 0
    assert slope(lambda x, n: x**n, x, 2.0) == 2 * x
    assert slope(lambda x: tg.grad(x**2, x), x) == 2
    assert slope(lambda x: tg.grad(tg.grad(x**3, x), x), x) == 6


def test_power_by_exponent_at_zero():
    assert slope(lambda x, n: x**n, 0.0, 2.0, wrt=1) == 0
    assert slope(lambda x, n: x**n, 0.0, 0.0, wrt=1) == 0
    assert slope(lambda x, n: x**n, 2.0, 3.0, wrt=1) == pytest.approx(8 * np.log(2))


@pytest.mark.parametrize(
    "name", ["exp", "log", "tanh", "sigmoid", "sqrt", "mul", "true_div", "pow", "gammaln", "erfinv"]
)
def test_second_derivatives(name, rng):
    def first(*xs):
        y = OPS[name](*xs)
        return tg.grad((y * y).sum(), xs[0])

    verify_grad(first, operands(rng, name, [(3,)] * min(2, arity(name))), rng=rng, n_tests=1, mode=PLAIN)


def test_verify_grad_catches_a_wrong_gradient(rng):
    def wrong(x):
        return T.exp(x) + tg.grad_scale(T.sin(x), 2.0)

    with pytest.raises(GradientError, match="input 0 differs"):
        verify_grad(wrong, [rng.normal(size=(2, 2))], rng=rng)


def test_every_op_is_covered():
    covered = {*ELEMENTWISE, *STEPS, *OWN, *NONE, *MARKS}
    assert {n for n, op in OPS.items() if op.kind == "elementwise"} <= covered


def test_marks_change_the_gradient_only():
    assert slope(lambda x: tg.grad_clip(x, -1, 1) ** 2, 3.0) == 1
    assert slope(lambda x: tg.grad_scale(x, 0.5) ** 2, 3.0) == 3
    assert slope(lambda x: tg.grad_reverse(x) ** 2, 3.0) == -6
    assert slope(lambda x: tg.zero_grad(x) ** 2, 3.0) == 0
    assert slope(lambda x: x * tg.consider_constant(x), 3.0) == 3
    assert slope(lambda x: x * tg.disconnected_grad(x), 3.0) == 3
    x = T.dscalar("x")
    with pytest.raises(ValueError, match="does not depend"):
        tg.grad(tg.disconnected_grad(x) * 2, x)
    with pytest.raises(TypeError, match="declared by undefined_grad"):
        tg.grad(tg.undefined_grad(x) * 2, x)
    f = tg.function([x], tg.grad_clip(x, 0, 1) + tg.zero_grad(x))
    assert f(3.0) == 6
    assert not any(op.name in MARKS for op in (n.op for n in f.maker.fgraph.toposort()))
