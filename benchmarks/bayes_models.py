"""Fourteen models of PyMC, of the kinds that its users write; data are made, so that nothing is downloaded.

Each function returns a model. `MODELS` is the table that `bayes.py` goes through.
"""

from __future__ import annotations

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt


def rng() -> np.random.Generator:
    return np.random.default_rng(20)


def loop(step, **given):
    """The trace of a recurrence."""
    return pytensor.scan(step, strict=True, return_updates=False, **given)


def eight_schools():
    y = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    sigma = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
    with pm.Model() as model:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
        z = pm.Normal("z", 0, 1, shape=8)
        pm.Normal("y", mu + tau * z, sigma, observed=y)
    return model


def radon():
    """919 houses in 85 counties: intercepts and slopes that vary."""
    r = rng()
    county, floor = np.sort(r.integers(0, 85, 919)), r.integers(0, 2, 919).astype(float)
    y = 1.5 - 0.7 * floor + r.normal(size=85)[county] * 0.3 + r.normal(size=919) * 0.7
    with pm.Model() as model:
        mu_a, sigma_a = pm.Normal("mu_a", 0, 10), pm.HalfNormal("sigma_a", 1)
        mu_b, sigma_b = pm.Normal("mu_b", 0, 10), pm.HalfNormal("sigma_b", 1)
        a, b = pm.Normal("a", mu_a, sigma_a, shape=85), pm.Normal("b", mu_b, sigma_b, shape=85)
        pm.Normal("y", a[county] + b[county] * floor, pm.HalfNormal("sigma", 1), observed=y)
    return model


def regression():
    """Logistic regression of 10,000 rows on 20 columns."""
    r = rng()
    x, w = r.normal(size=(10_000, 20)), r.normal(size=20)
    y = (r.uniform(size=10_000) < 1 / (1 + np.exp(-x @ w))).astype("int64")
    with pm.Model() as model:
        b, a = pm.Normal("b", 0, 1, shape=20), pm.Normal("a", 0, 1)
        pm.Bernoulli("y", logit_p=a + pt.dot(x, b), observed=y)
    return model


def gp_marginal():
    r = rng()
    x = np.linspace(0, 5, 100)[:, None]
    with pm.Model() as model:
        length, eta = pm.Gamma("length", 2, 1), pm.HalfNormal("eta", 2)
        gp = pm.gp.Marginal(cov_func=eta**2 * pm.gp.cov.Matern52(1, length))
        gp.marginal_likelihood("y", X=x, y=np.sin(2 * x[:, 0]) + r.normal(size=100) * 0.2, sigma=pm.HalfNormal("s", 1))
    return model


def gp_latent():
    x = np.linspace(0, 5, 60)[:, None]
    with pm.Model() as model:
        length, eta = pm.Gamma("length", 2, 1), pm.HalfNormal("eta", 2)
        f = pm.gp.Latent(cov_func=eta**2 * pm.gp.cov.ExpQuad(1, length)).prior("f", X=x)
        pm.Bernoulli("y", logit_p=f, observed=(np.sin(2 * x[:, 0]) > 0).astype("int64"))
    return model


def state_space():
    """An autoregression of 200 steps, by scan, seen with noise."""
    y = np.sin(np.arange(200) / 9) + rng().normal(size=200) * 0.3
    with pm.Model() as model:
        rho, sigma = pm.Uniform("rho", -1, 1), pm.HalfNormal("sigma", 1)
        steps = pm.Normal("steps", 0, 1, shape=200)
        states = loop(
            lambda e, s, r, k: r * s + k * e, sequences=steps, outputs_info=pt.zeros(()), non_sequences=[rho, sigma]
        )
        pm.Normal("y", states, 0.3, observed=y)
    return model


def mixture():
    r = rng()
    y = np.concatenate([r.normal(-2, 0.7, 150), r.normal(0, 0.5, 100), r.normal(3, 1, 250)])
    with pm.Model() as model:
        w = pm.Dirichlet("w", np.ones(3))
        mu = pm.Normal("mu", 0, 5, shape=3, transform=pm.distributions.transforms.ordered, initval=[-1.0, 0.0, 1.0])
        pm.NormalMixture("y", w, mu, pm.HalfNormal("sigma", 1, shape=3), observed=y)
    return model


def ordered():
    r = rng()
    x = r.normal(size=(400, 3))
    y = np.digitize(x @ np.array([1.0, -0.5, 0.2]) + r.logistic(size=400), [-1.0, 0.5, 2.0])
    with pm.Model() as model:
        cuts = pm.Normal("cuts", 0, 3, shape=3, transform=pm.distributions.transforms.ordered, initval=[-1.0, 0.0, 1.0])
        b = pm.Normal("b", 0, 1, shape=3)
        pm.OrderedLogistic("y", eta=pt.dot(x, b), cutpoints=cuts, observed=y, compute_p=False)
    return model


def lkj():
    y = rng().multivariate_normal(np.zeros(4), np.eye(4) + 0.5, size=80)
    with pm.Model() as model:
        chol, _, _ = pm.LKJCholeskyCov("chol", n=4, eta=2.0, sd_dist=pm.Exponential.dist(1.0))
        pm.MvNormal("y", pm.Normal("mu", 0, 1, shape=4), chol=chol, observed=y)
    return model


def dirichlet_multinomial():
    r = rng()
    y = np.stack([r.multinomial(50, r.dirichlet([8.0, 4.0, 2.0, 1.0, 1.0])) for _ in range(30)])
    with pm.Model() as model:
        share, weight = pm.Dirichlet("share", np.ones(5)), pm.LogNormal("weight", 1, 1)
        pm.DirichletMultinomial("y", n=50, a=share * weight, observed=y)
    return model


def survival():
    """Weibull lifetimes, a third of them cut off, on three columns."""
    r = rng()
    x = r.normal(size=(300, 3))
    life = np.exp(x @ np.array([0.5, -0.3, 0.0])) * r.weibull(1.5, size=300)
    end = np.full(300, 1.2)
    with pm.Model() as model:
        b, alpha = pm.Normal("b", 0, 1, shape=3), pm.HalfNormal("alpha", 2)
        lifetime = pm.Weibull.dist(alpha=alpha, beta=pt.exp(pt.dot(x, b)))
        pm.Censored("y", lifetime, lower=None, upper=end, observed=np.minimum(life, end))
    return model


def zero_inflated():
    r = rng()
    group = r.integers(0, 12, 500)
    y = r.poisson(3, 500) * (r.uniform(size=500) < 0.7)
    with pm.Model() as model:
        psi, mu = pm.Beta("psi", 2, 2), pm.Normal("mu", 0, 1)
        a = pm.Normal("a", mu, pm.HalfNormal("s", 1), shape=12)
        pm.ZeroInflatedNegativeBinomial("y", psi, pt.exp(a[group]), pm.Exponential("alpha", 1), observed=y)
    return model


def ode():
    """Predators and prey: 100 Euler steps, by scan, of which every tenth is seen."""
    seen = np.exp(rng().normal(size=(10, 2)) * 0.2)
    with pm.Model() as model:
        rates = pm.LogNormal("rates", -1, 0.5, shape=4)
        start = pm.LogNormal("start", 0, 0.3, shape=2)

        def step(s, k):
            prey, hunters = s[0], s[1]
            change = pt.stack([k[0] * prey - k[1] * prey * hunters, k[2] * prey * hunters - k[3] * hunters])
            return s + 0.05 * change

        path = loop(step, outputs_info=start, non_sequences=[rates], n_steps=100)
        pm.LogNormal("y", pt.log(path[9::10]), pm.HalfNormal("sigma", 0.5), observed=seen)
    return model


def bnn():
    """A network of two hidden layers with priors on all weights."""
    r = rng()
    x = r.normal(size=(500, 5))
    y = (np.sin(x[:, 0] * 2) + x[:, 1] > 0).astype("int64")
    with pm.Model() as model:
        w0, b0 = pm.Normal("w0", 0, 1, shape=(5, 10)), pm.Normal("b0", 0, 1, shape=10)
        w1, b1 = pm.Normal("w1", 0, 1, shape=(10, 10)), pm.Normal("b1", 0, 1, shape=10)
        w2 = pm.Normal("w2", 0, 1, shape=10)
        hidden = pt.tanh(pt.dot(pt.tanh(pt.dot(x, w0) + b0), w1) + b1)
        pm.Bernoulli("y", logit_p=pt.dot(hidden, w2), observed=y)
    return model


MODELS = {
    f.__name__: f
    for f in (
        eight_schools, radon, regression, gp_marginal, gp_latent, state_space, mixture, ordered, lkj,
        dirichlet_multinomial, survival, zero_inflated, ode, bnn,
    )
}  # fmt: skip
