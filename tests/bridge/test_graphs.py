"""Graphs of PyTensor to termgraph and back; our rules on PyTensor's graphs; a model differentiated by our rules."""

import numpy as np
import pytest

pytensor = pytest.importorskip("pytensor", reason="PyTensor is not installed")
pt = pytest.importorskip("pytensor.tensor")

import termgraph as tg  # noqa: E402
import termgraph.pytensor as bridge  # noqa: E402

LINKER = "auto"
A = np.random.default_rng(0).normal(size=(2, 4))
I = np.array([1, 0, 1])


def test_inputs_names_and_lines_come_along():
    x, w = pt.dvector("x"), pytensor.shared(np.ones(3), name="w")
    names = {}
    y = bridge.from_pytensor((x * w).sum(), names)
    assert {v.name for v in names.values()} == {"x", "w"} and names[x].type.dtype == "float64"
    assert tg.function([names[x], names[w]], y)([1.0, 2.0, 3.0], np.ones(3)) == 6
    slope = tg.grad(y, names[x])
    assert bridge.to_pytensor(tg.rewrite(slope), names) is w


def test_rules_that_fired_name_the_users_line():
    x = pt.dvector("x")
    y = bridge.from_pytensor(pt.log(1 + pt.exp(x)))
    assert "test_graphs.py" in y.where


@pytest.mark.parametrize(
    "build",
    [
        lambda a, i: pt.dot(a, a.T)[i, 0].sum(),
        lambda a, i: pt.linalg.cholesky(pt.dot(a, a.T) + pt.eye(2)),
        lambda a, i: a.reshape((-1, 2)) + pt.concatenate([a, a], axis=1)[0, ::4],
        lambda a, i: pt.argmax(a, axis=1) + pt.sum(a > 0, axis=1),
        lambda a, i: pt.logsumexp(a, axis=1) + pt.special.softmax(a, axis=1)[:, 0],
        lambda a, i: pt.set_subtensor(a[1:], 0.0).mean(axis=0),
        lambda a, i: pt.inc_subtensor(a[i], 1.0) - pt.switch(a > 0, a, pt.sqr(a)),
        lambda a, i: pt.alloc(a[0], 3, 4) * pt.arange(4) + pt.diag(a[0])[:3],
        lambda a, i: pt.and_(a > 0, pt.isnan(a)) | pt.invert(a < 1),
        lambda a, i: pt.max(a, axis=0) + pt.cumsum(a, axis=0)[i[0]] + pt.sort(a, axis=1)[i[1]],
        lambda a, i: pt.linalg.slogdet(pt.dot(a, a.T))[1] + pt.linalg.inv(pt.dot(a, a.T)).sum(),
    ],
)
def test_there_and_back(build):
    a, i = pt.dmatrix("a"), pt.lvector("i")
    y = build(a, i)
    names = {}
    back = bridge.to_pytensor(bridge.from_pytensor([y], names), names)
    rewritten = bridge.rewrite([y])
    given = {"mode": "FAST_COMPILE", "on_unused_input": "ignore"}
    want, plain, new = (pytensor.function([a, i], v, **given)(A, I)[0] for v in ([y], back, rewritten))
    for got in (plain, new):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_what_pytensor_lacks_is_named():
    x = tg.tensor.dvector("x")
    with pytest.raises(bridge.BridgeError, match="no counterpart of termgraph's nextafter"):
        bridge.to_pytensor(tg.tensor.nextafter(x, x + 1))


def test_a_model_differentiated_by_our_rules():
    pm = pytest.importorskip("pymc", reason="PyMC is not installed")
    with pm.Model() as model:
        x = pm.Data("x", np.arange(3.0))
        mu, sigma = pm.Normal("mu", 0, 5, shape=2), pm.HalfNormal("sigma", 1)
        pm.Normal("y", mu[0] + mu[1] * x, sigma, observed=np.array([1.0, 2.0, 4.0]))
    f = bridge.logp_and_grad(model)
    g = model.logp_dlogp_function(ravel_inputs=True, mode="FAST_COMPILE")
    g.set_extra_values({})
    point = f.ravel(model.initial_point()) + 0.3
    for _ in range(2):
        for ours, theirs in zip(f(point), g(point)):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12)
        with model:
            pm.set_data({"x": np.array([2.0, 0.0, 1.0])})
    assert {n: v.shape for n, v in f.unravel(point).items()} == {"mu": (2,), "sigma_log__": ()}
    with pm.Model() as discrete:
        pm.Poisson("n", 3)
    with pytest.raises(bridge.BridgeError, match="n: discrete variables have no gradient"):
        bridge.logp_and_grad(discrete)
