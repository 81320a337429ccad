"""Models of PyMC under mode="TERMGRAPH": log-probability, gradient, checks of parameters, sampling."""

import warnings

import numpy as np
import pytest

pm = pytest.importorskip("pymc", reason="PyMC is not installed")

import pytensor  # noqa: E402
import pytensor.tensor as pt  # noqa: E402

import termgraph.pytensor as bridge  # noqa: E402

LINKER = "auto"


def hierarchy():
    y = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    with pm.Model() as model:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
        z = pm.Normal("z", 0, 1, shape=8)
        pm.Normal("y", mu + tau * z, 10.0, observed=y)
    return model


def process():
    x = np.linspace(0, 1, 12)[:, None]
    with pm.Model() as model:
        length, eta = pm.Gamma("length", 2, 1), pm.HalfNormal("eta", 1)
        gp = pm.gp.Marginal(cov_func=eta**2 * pm.gp.cov.ExpQuad(1, length))
        gp.marginal_likelihood("y", X=x, y=np.sin(6 * x[:, 0]), sigma=0.1)
    return model


def recurrence():
    with pm.Model() as model:
        rho, sigma = pm.Uniform("rho", -1, 1), pm.HalfNormal("sigma", 1)
        steps = pm.Normal("steps", 0, 1, shape=20)
        states = pytensor.scan(
            lambda e, s, r, scale: r * s + scale * e,
            sequences=steps,
            outputs_info=pt.zeros(()),
            non_sequences=[rho, sigma],
            strict=True,
            return_updates=False,
        )
        pm.Normal("y", states, 0.5, observed=np.sin(np.arange(20.0)))
    return model


def series():
    """Random walks join steps along an axis that is an expression of constants."""
    y = np.sin(np.arange(10.0))
    with pm.Model() as model:
        rho, sigma = pm.Normal("rho", 0, 0.3, shape=2), pm.HalfNormal("sigma", 1)
        level = pm.GaussianRandomWalk("level", sigma=sigma, init_dist=pm.Normal.dist(0, 1), steps=9)
        pm.AR("ar", rho=rho, sigma=sigma, init_dist=pm.Normal.dist(0, 1, shape=2), steps=8, observed=y)
        pm.Normal("y", level, 0.5, observed=y)
    return model


MODELS = {f.__name__: f for f in (hierarchy, process, recurrence, series)}


def points(n, size):
    rng = np.random.default_rng(0)
    return [rng.normal(size=size) * 0.3 for _ in range(n)]


def both(model, mode, **more):
    """Value and gradient at some points, as the sampler asks for them."""
    f = model.logp_dlogp_function(ravel_inputs=True, mode=mode, **more)
    f.set_extra_values({})
    size = sum(np.size(v) for v in model.initial_point().values())
    return [f(x) for x in points(3, size)]


@pytest.mark.parametrize("name", MODELS)
def test_what_the_sampler_calls(name):
    model = MODELS[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # nothing is called
        got = both(model, "TERMGRAPH")
    for (value, slope), (right, slopes) in zip(got, both(model, "FAST_COMPILE")):
        np.testing.assert_allclose(value, right, rtol=1e-10)
        np.testing.assert_allclose(slope, slopes, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("mode", ["TERMGRAPH", "TERMGRAPH_FAST_RUN"])
def test_bad_parameters_are_minus_infinity_or_unchecked(mode):
    x = pt.dscalar("x")
    logp = pm.logp(pm.Normal.dist(0.0, x), 1.0)
    assert pm.compile([x], logp, mode=mode)(-1.0) == -np.inf
    with pm.Model(check_bounds=False):
        assert not np.isneginf(pm.compile([x], logp, mode=mode)(-1.0))


def test_checks_are_converted_and_not_rewritten_first():
    f = hierarchy().logp_dlogp_function(ravel_inputs=True, mode="TERMGRAPH")
    linker = f._pytensor_function.maker.linker
    assert linker.conversion.checks == "minus infinity" and linker.conversion.converted["CheckParameterValue"]


def test_a_matrix_that_is_not_positive_definite_rejects_the_step():
    a = pt.dmatrix("a")
    logp = pm.logp(pm.MvNormal.dist(np.zeros(2), cov=a), np.ones(2))
    f = pm.compile([a], logp, mode="TERMGRAPH")
    assert not np.isfinite(f(-np.eye(2)))
    np.testing.assert_allclose(f(np.eye(2)), -1 - np.log(2 * np.pi))


def test_sampling_and_predicting():
    with hierarchy() as model:
        assert model.compile_logp(mode="TERMGRAPH")(model.initial_point()) < 0
        assert isinstance(model.compile_dlogp(mode="TERMGRAPH").f.maker.linker, bridge.TermgraphLinker)
        given = {
            "draws": 60,
            "tune": 60,
            "chains": 1,
            "cores": 1,
            "progressbar": False,
            "random_seed": 1,
            "nuts_sampler": "pymc",
        }
        trace = pm.sample(**given, compile_kwargs={"mode": "TERMGRAPH"}, compute_convergence_checks=False)
        assert np.isfinite(trace.posterior["mu"].values).all() and trace.posterior["mu"].shape == (1, 60)
        later = pm.sample_posterior_predictive(
            trace, progressbar=False, compile_kwargs={"mode": "TERMGRAPH"}, random_seed=1
        )
    assert later.posterior_predictive["y"].shape == (1, 60, 8)
    a, b = (pm.draw(pm.Normal.dist(size=4), draws=2, random_seed=3, mode=m) for m in ("TERMGRAPH", "FAST_COMPILE"))
    np.testing.assert_array_equal(a, b)


def test_the_sampler_takes_a_function_that_our_rules_differentiated():
    given = {"draws": 6, "tune": 6, "chains": 1, "cores": 1, "progressbar": False, "random_seed": 1}
    given |= {"compute_convergence_checks": False}
    with hierarchy() as model:
        ours = pm.sample(**given, step=pm.NUTS(logp_dlogp_func=bridge.logp_and_grad(model)))
        its_own = pm.sample(**given, step=pm.NUTS(compile_kwargs={"mode": "FAST_COMPILE"}))
    for name in ("mu", "tau", "z"):  # the same steps from the same seed, until rounding parts them
        np.testing.assert_allclose(ours.posterior[name], its_own.posterior[name], rtol=1e-6)
