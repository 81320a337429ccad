"""Rop against finite differences and against Lop; jacobian, hessian, subgraph_grad; higher orders; random graphs."""

import numpy as np
import pytest
from gradcases import ELEMENTWISE, HOLOMORPHIC, INDICES, REDUCTIONS, SHAPES, arity, hermitian, operands, regular

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.evaluate import evaluate
from termgraph.terms.op import OPS
from termgraph.terms.traverse import subterms
from termgraph.terms.types import TensorType


def inputs_for(values):
    return [TensorType.of(v.dtype.name, v.shape).make_variable() for v in values]


def value_of(variables, xs, values):
    return evaluate(variables, dict(zip(xs, values)))


def check_rop(f, *values, rng, tolerance=1e-6):
    """Rop equals a finite difference along the direction, and sum(u * Rop(v)) equals sum(Lop(u) * v)."""
    values = [np.asarray(v) for v in values]
    xs = inputs_for(values)
    y = f(*xs)
    moving = [i for i, v in enumerate(values) if v.dtype.kind in "fc"]
    vs = [np.zeros_like(v) if i not in moving else random_like(v, rng) for i, v in enumerate(values)]
    wrt = [xs[i] for i in moving]
    points = [T.constant(vs[i]) for i in moving]
    (forward,) = value_of([tg.Rop(y, wrt, points)], xs, values)
    assert forward.dtype == y.type.dtype

    def at(h):
        moved = [v + h * d if i in moving else v for i, (v, d) in enumerate(zip(values, vs))]
        return value_of([y], xs, moved)[0]

    h = 1e-3
    numeric = (8 * (at(h / 2) - at(-h / 2)) - (at(h) - at(-h))) / (6 * h)
    np.testing.assert_allclose(forward, numeric, rtol=tolerance, atol=tolerance)
    u = random_like(forward, rng)
    backward = value_of(tg.Lop(y, wrt, T.constant(u)), xs, values)
    left = np.sum(np.conj(u) * forward).real
    right = sum(np.sum(np.conj(b) * vs[i]).real for b, i in zip(backward, moving))
    np.testing.assert_allclose(left, right, rtol=1e-8, atol=1e-10)


def random_like(v, rng):
    d = rng.normal(size=v.shape)
    return (d + 1j * rng.normal(size=v.shape) if v.dtype.kind == "c" else d).astype(v.dtype)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_rop_of_elementwise_ops(name, rng):
    n = arity(name)
    shapes = [(3,), (2, 1), (2, 3)][:n] if n > 1 else [(2, 3)]
    check_rop(OPS[name], *operands(rng, name, shapes), rng=rng)


@pytest.mark.parametrize("name", HOLOMORPHIC)
def test_rop_of_complex_numbers(name, rng):
    values = [rng.uniform(0.3, 0.8, (2,)) + 1j * rng.uniform(0.3, 0.8, (2,)) for _ in range(min(arity(name), 2))]
    check_rop(OPS[name], *values, rng=rng)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_rop_of_reductions(name, rng):
    check_rop(lambda x: REDUCTIONS[name](x, axis=1), rng.normal(size=(2, 3, 2)), rng=rng)


@pytest.mark.parametrize("name", SHAPES)
def test_rop_of_moves(name, rng):
    check_rop(SHAPES[name], rng.normal(size=(3, 4)), rng=rng)


@pytest.mark.parametrize("name", INDICES)
def test_rop_of_reading(name, rng):
    check_rop(lambda x: T.exp(INDICES[name](x)), rng.normal(size=(3, 4)), rng=rng)


@pytest.mark.parametrize("how", [T.set_subtensor, T.inc_subtensor])
@pytest.mark.parametrize("place", [np.s_[1:, ::2], np.s_[[2, 0]], np.s_[0]])
def test_rop_of_writing(how, place, rng):
    x = rng.normal(size=(3, 4))
    check_rop(lambda x, y: how(x[place], y), x, x[place] + 1, rng=rng)
    check_rop(lambda x: how(x[place], x[place] ** 2), x, rng=rng)


def test_rop_of_the_rest(rng):
    a, b = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    check_rop(T.softmax, a, rng=rng)
    check_rop(T.cumprod, a, rng=rng)
    check_rop(T.dot, a, b[:, 0], rng=rng)
    check_rop(T.matmul, rng.normal(size=(2, 3, 3)), b, rng=rng)
    for f in (
        T.linalg.inv,
        T.linalg.det,
        T.linalg.svdvals,
        lambda a: T.linalg.qr(a)[0],
        lambda a: T.linalg.slogdet(a)[1],
    ):
        check_rop(f, regular(rng), rng=rng)
    check_rop(T.linalg.solve, regular(rng), b, rng=rng)
    check_rop(T.linalg.cholesky, hermitian(rng), rng=rng)
    check_rop(lambda a, b: T.linalg.lstsq(a, b)[0], a[:, :2], b, rng=rng)  # its other results have no derivative
    check_rop(lambda a: T.linalg.svd(a, full_matrices=True)[1], a[:, :2], rng=rng)
    check_rop(lambda a: T.linalg.eigh(a)[0], hermitian(rng), rng=rng)
    check_rop(lambda a: T.fft.irfft(T.fft.rfft(a) ** 2), a, rng=rng)
    check_rop(lambda a: T.clip(a, -0.5, 0.5) + T.switch(a > 0, a, 2 * a), a, rng=rng)


def test_rop_and_lop_take_lists():
    x, y, u, v = T.dvectors("x", "y", "u", "v")
    given = {x: [1.0, 2.0], y: [3.0, 4.0], u: [1.0, 0.0], v: [0.0, 1.0]}
    a, b = tg.Rop([x * y, x**2], [x, y], [u, v])
    np.testing.assert_array_equal(evaluate([a], given)[0], [3, 2])
    np.testing.assert_array_equal(evaluate([b], given)[0], [2, 0])
    a, b = tg.Lop([x * y, x**2], [x, y], [u, v])
    np.testing.assert_array_equal(evaluate([a], given)[0], [3, 4])
    np.testing.assert_array_equal(evaluate([b], given)[0], [1, 0])
    with pytest.raises(ValueError, match="2 variables, but 1 eval_points"):
        tg.Rop(x * y, [x, y], [u])
    with pytest.raises(ValueError, match="does not depend on y"):
        tg.Rop(x * 2, y, v)
    assert evaluate([tg.Rop(x * 2, y, v, disconnected_outputs="ignore")], given)[0].tolist() == [0, 0]


# ---------------------------------------------------------------------- matrices of derivatives
def test_jacobian(rng):
    x = T.tensor("x", dtype="float64", shape=(3,))
    w = T.tensor("w", dtype="float64", shape=(2, 3))
    vx, vw = rng.normal(size=3), rng.normal(size=(2, 3))
    y = T.tanh(T.dot(w, x))
    jx, jw = tg.jacobian(y, [x, w])
    slope = 1 - np.tanh(vw @ vx) ** 2
    got = evaluate([jx, jw], {x: vx, w: vw})
    np.testing.assert_allclose(got[0], slope[:, None] * vw)
    np.testing.assert_allclose(got[1], slope[:, None, None] * np.eye(2)[:, :, None] * vx)
    assert tg.jacobian(y.sum(), x).type.shape == (3,)
    outer = tg.jacobian(T.outer(x, x), x)
    assert evaluate([outer], {x: vx})[0].shape == (3, 3, 3)
    assert tg.jacobian(x[:0], x).type.shape[0] == 0


def test_jacobian_and_hessian_of_unknown_length(rng):
    v, m = T.dvector("v"), T.dmatrix("m")
    vv, vm = rng.normal(size=3), rng.normal(size=(2, 3))
    y = T.tanh(T.dot(m, v))
    fixed = T.tensor("x", dtype="float64", shape=(3,)), T.tensor("w", dtype="float64", shape=(2, 3))
    expected = tg.jacobian(T.tanh(T.dot(fixed[1], fixed[0])), fixed)
    for got, e in zip(tg.jacobian(y, [v, m]), expected):
        for mode in ("None", "FAST_RUN"):
            f = tg.function([v, m], got, mode=mode)
            np.testing.assert_allclose(f(vv, vm), evaluate([e], {fixed[0]: vv, fixed[1]: vm})[0], rtol=1e-9)
    outer = tg.jacobian(T.outer(v, v), v)
    np.testing.assert_allclose(
        tg.function([v], outer)(vv), evaluate([tg.jacobian(T.outer(*fixed[:1] * 2), fixed[0])], {fixed[0]: vv})[0]
    )
    h = tg.function([v], tg.hessian((v**3).sum() + v.prod(), v))(vv)
    np.testing.assert_allclose(np.diag(h), 6 * vv)
    np.testing.assert_allclose(h[0, 1], vv[2])
    assert tg.function([v], tg.jacobian(v**2, v))([]).shape == (0, 0)
    big = T.tensor("big", dtype="float64", shape=(400,))
    assert tg.function([big], tg.jacobian(big**2, big))(np.ones(400)).shape == (400, 400)


def test_jacobian_in_a_loop_or_at_once(rng):
    v, m = T.dvector("v"), T.dmatrix("m")
    y = T.outer(T.tanh(T.dot(m, v)), v[:2])
    both = [tg.jacobian(y, [v, m], vectorize=at_once) for at_once in (True, False)]
    loops = [any(t.op.family.name == "loop" for t in subterms([j.term for j in js])) for js in both]
    assert loops == [False, True]
    values = evaluate([*both[0], *both[1]], {v: rng.normal(size=3), m: rng.normal(size=(4, 3))})
    for a, b in zip(values[:2], values[2:]):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_hessian(rng):
    x = T.tensor("x", dtype="float64", shape=(3,))
    v = rng.normal(size=3)
    cost = (T.sin(x) * x[::-1]).sum() * x[0]
    h = tg.hessian(cost, x)
    p = T.dvector("p")
    hv = tg.hessian_vector_product(cost, x, p)
    d = rng.normal(size=3)
    m, mv = evaluate([h, hv], {x: v, p: d})
    np.testing.assert_allclose(m, m.T)
    np.testing.assert_allclose(mv, m @ d)
    tg.verify_grad(lambda x: tg.grad((T.sin(x) * x[::-1]).sum() * x[0], x), [v])


def test_any_order():
    x = T.dscalar("x")
    y = x**5
    for expected in (80, 160, 240, 240, 120):
        y = tg.grad(y, x)
        assert float(tg.function([x], y, on_unused_input="ignore")(2.0)) == expected
    with pytest.raises(ValueError, match="does not depend on x"):
        tg.grad(y, x)
    y = x * x * x
    for expected in (12, 12, 6):
        y = tg.grad(y, x)
        assert float(tg.function([x], y, on_unused_input="ignore")(2.0)) == expected


# ---------------------------------------------------------------------- grad's options
def test_known_grads_and_consider_constant():
    x = T.dscalar("x")
    y = x**2
    z = T.exp(y)
    assert float(tg.grad(None, x, known_grads={y: 3.0}).eval({x: 2.0})) == 12
    assert float(tg.grad(z * y, x, consider_constant=[z]).eval({x: 0.5})) == pytest.approx(np.exp(0.25))
    assert float(tg.grad(x, x, known_grads={y: T.constant(1.0)}).eval({x: 2.0})) == 5
    with pytest.raises(TypeError, match="must have its 0 dimensions"):
        tg.grad(None, x, known_grads={y: T.dvector("g")})
    assert float(tg.grad(None, x, known_grads=[(y, 3.0)]).eval({x: 2.0})) == 12
    assert float(tg.grad(None, x, known_grads=zip([y], [3.0])).eval({x: 2.0})) == 12
    for wrong in ([y], 3, [(y, 1.0, 2.0)]):
        with pytest.raises(TypeError, match="known_grads: {variable: gradient}, or such pairs"):
            tg.grad(None, x, known_grads=wrong)
    with pytest.raises(ValueError, match="needs a cost"):
        tg.grad(None, x)
    with pytest.raises(ValueError, match="needs a cost"):
        tg.grad(None, x, known_grads=[])


def test_a_known_gradient_stands_for_what_would_flow_back():
    """It was added to it, as Theano and PyTensor do not."""
    x, at, g = T.dvector("x"), np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0])
    y = x**2
    z, cost = T.sin(y), y.sum() + x.sum()
    for cost_of, known, expected in [
        (cost, {y: g}, 2 * at * g + 1),
        (cost, {cost: T.constant(5.0)}, 10 * at + 5),
        (None, {y: g, cost: 1.0}, 2 * at * g + 1),
        (None, {y: g, z: g}, 2 * at * g),
        (None, {z: g}, 2 * at * np.cos(at**2) * g),
        (T.log(1 + T.exp(y)).sum(), {T.exp(y): g}, 2 * at * np.exp(at**2) * g),
    ]:
        found = tg.grad(cost_of, x, known_grads=known).eval({x: at}, on_unused_input="ignore")
        np.testing.assert_allclose(found, expected, rtol=1e-13)
    inner, outer = tg.grad(cost, [y, x], known_grads={y: g})
    np.testing.assert_array_equal(inner.eval({x: at}, on_unused_input="ignore"), g)
    np.testing.assert_allclose(tg.Lop([y, z], x, [T.constant(g)] * 2).eval({x: at}), 2 * at * g * (1 + np.cos(at**2)))


def test_results_reuse_the_variables_of_the_cost():
    x = T.dvector("x")
    y = T.tanh(x)
    y.name = "y"
    cost = (y**2).sum()
    cost.name = "cost"
    g = tg.grad(cost, x)
    assert g.name == "(dcost/dx)"
    seen, stack = set(), [g]
    while stack:
        v = stack.pop()
        if v not in seen:
            seen.add(v)
            assert v.owner is None or v.owner.outputs[v.index] is v
            stack.extend(v.owner.inputs if v.owner else [])
    assert y in seen and x in seen
    assert any(v.where.endswith(y.where.rpartition(":")[2]) for v in seen if v is not y and v.where)


def test_with_respect_to_intermediate_variables_and_several():
    x, y = T.dscalars("x", "y")
    m = x * y
    cost = m**2 + x
    gm, gx, gy = tg.grad(cost, [m, x, y])
    given = {x: 3.0, y: 2.0}
    assert [float(v) for v in evaluate([gm, gx, gy], given)] == [12, 25, 36]
    assert isinstance(tg.grad(cost, (x, y)), tuple)
    assert isinstance(tg.grad(cost, [x]), list)


def test_subgraph_grad():
    x, w1, w2 = T.dvectors("x", "w1", "w2")
    a1 = T.tanh(w1 * x)
    a2 = T.tanh(w2 * a1)
    cost = (a2**2).sum()
    (g2,), (ga,) = tg.subgraph_grad([w2], [a1], cost=cost)
    (g1,), _ = tg.subgraph_grad([w1], [x], start={a1: ga})
    whole = tg.grad(cost, [w1, w2])
    given = {x: [0.3, 0.5], w1: [1.0, 2.0], w2: [0.5, -1.0]}
    for a, b in zip([g1, g2], whole):
        np.testing.assert_allclose(evaluate([a], given)[0], evaluate([b], given)[0])
    assert len(tg.subgraph_grad([w2], [a1], cost=cost, details=True)) == 4


def test_shared_variables():
    w = tg.shared(np.array([1.0, 2.0]), name="w")
    x = T.dvector("x")
    f = tg.function([x], tg.grad((w * x).sum() ** 2, w))
    np.testing.assert_array_equal(f([1.0, 1.0]), [6, 6])


def test_updates_and_givens():
    """A step of gradient descent: the gradient is an update, and the data come from a shared variable."""
    data = tg.shared(np.array([1.0, 2.0]), name="data")
    w = tg.shared(np.array([1.0, 1.0]), name="w")
    x = T.dvector("x")
    cost = ((w * x).sum() - 1) ** 2
    step = tg.function([], cost, updates=[(w, w - 0.1 * tg.grad(cost, w))], givens={x: data})
    assert float(step()) == 4
    np.testing.assert_allclose(w.get_value(), [0.6, 0.2])
    assert float(step()) == pytest.approx(0)
    by_data = tg.function([], tg.grad(tg.clone(cost, replace={x: data}), data))
    np.testing.assert_allclose(by_data(), 0, atol=1e-12)


# ---------------------------------------------------------------------- random graphs
UNARY = [T.sin, T.tanh, T.exp, T.sigmoid, T.sqr, T.neg, T.softmax, T.cumsum, lambda x: x.T, lambda x: x[::-1]]
BINARY = [
    T.add,
    T.mul,
    T.sub,
    T.maximum,
    T.dot,
    lambda a, b: T.switch(a > b, a, b * 2),
    lambda a, b: T.set_subtensor(a[1:], b[1:]),
]
SQUEEZE = [lambda x: x.sum(axis=0), lambda x: x.max(axis=1, keepdims=True), lambda x: x.mean(), lambda x: x[1]]


@pytest.mark.parametrize("seed", range(12))
def test_random_graphs(seed):
    rng = np.random.default_rng(seed)

    def build(x, y):
        pool = [x, y]
        for _ in range(12):
            a, b = (pool[i] for i in rng2.integers(0, len(pool), 2))
            kind = rng2.integers(4)
            if kind == 0:
                made = UNARY[rng2.integers(len(UNARY))](a)
            elif kind < 3:
                made = T.tanh(BINARY[rng2.integers(len(BINARY))](a, b))
            else:
                made = a * SQUEEZE[rng2.integers(len(SQUEEZE))](b)
            pool.append(T.tanh(made))
        return sum(pool[-4:])

    values = [rng.normal(size=(3, 3)) for _ in range(2)]
    rng2 = np.random.default_rng(seed + 100)
    check_rop(lambda x, y: build(x, y) + x * y, *values, rng=rng, tolerance=1e-4)


def test_functions_are_not_expressions():
    x = T.dvector("x")
    for matrix in (tg.jacobian, tg.hessian):
        with pytest.raises(TypeError, match=rf"write tg.{matrix.__name__}\(f\(x\), x\)"):
            matrix(lambda x: (x**2).sum(), x)
