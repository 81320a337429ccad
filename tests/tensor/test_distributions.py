"""Distributions of random draws: their numbers against those of SciPy, parameters that they refuse."""

import numpy as np
import pytest
from scipy import stats

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.ops import draws

N = 20_000


def draw(make, seed=7):
    return tg.function([], make(T.random.RandomStream(seed)))()


@pytest.mark.parametrize(
    ("make", "cdf"),
    [
        (lambda r: r.uniform(size=N), stats.uniform.cdf),
        (lambda r: r.uniform(-2.0, 3.0, size=(N // 2, 2)).ravel(), stats.uniform(-2, 5).cdf),
        (lambda r: r.normal(size=N), stats.norm.cdf),
        (lambda r: r.normal(1.0, 2.0, size=N), stats.norm(1, 2).cdf),
        (lambda r: r.exponential(3.0, size=N), stats.expon(scale=3).cdf),
        (lambda r: r.gamma(2.5, 2.0, size=N), stats.gamma(2.5, scale=2).cdf),
        (lambda r: r.normal(size=N, dtype="float32"), stats.norm.cdf),
        (lambda r: r.standard_exponential(size=N), stats.expon.cdf),
        (lambda r: r.standard_gamma(0.3, size=N), stats.gamma(0.3).cdf),
        (lambda r: r.beta(0.5, 2.0, size=N), stats.beta(0.5, 2.0).cdf),
        (lambda r: r.chisquare(3, size=N), stats.chi2(3).cdf),
        (lambda r: r.standard_t(4, size=N), stats.t(4).cdf),
        (lambda r: r.lognormal(0.5, 0.7, size=N), stats.lognorm(0.7, scale=np.exp(0.5)).cdf),
        (lambda r: r.truncated_normal(1.0, 2.0, size=N), stats.truncnorm(-2, 2, 1, 2).cdf),
        (lambda r: r.laplace(1.0, 2.0, size=N), stats.laplace(1, 2).cdf),
        (lambda r: r.logistic(1.0, 2.0, size=N), stats.logistic(1, 2).cdf),
        (lambda r: r.gumbel(1.0, 2.0, size=N), stats.gumbel_r(1, 2).cdf),
        (lambda r: r.cauchy(1.0, 2.0, size=N), stats.cauchy(1, 2).cdf),
        (lambda r: r.weibull(1.5, 2.0, size=N), stats.weibull_min(1.5, scale=2).cdf),
        (lambda r: r.triangular(-1.0, 0.0, 3.0, size=N), stats.triang(0.25, -1, 4).cdf),
        (lambda r: r.dirichlet([1.0, 2.0, 3.0], size=N)[:, 1], stats.beta(2, 4).cdf),
        (
            lambda r: r.multivariate_normal([1.0, 2.0], [[2.0, 1.0], [1.0, 3.0]], size=N).sum(1),
            stats.norm(3, 7**0.5).cdf,
        ),
    ],
)
def test_continuous_distributions(make, cdf):
    values = draw(make)
    assert values.shape == (N,)
    assert stats.kstest(values, cdf).pvalue > 1e-3


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("alphas", [[1e-3, 2e-3], [0.01, 0.02, 0.3], [0.4, 0.2, 2.0], [0.0, 0.1]])
def test_shares_of_small_parameters(alphas, dtype):
    """Gammas of all of them are 0 in one draw of a few, and 0 / 0 is no share."""
    a, mean = T.dvector("a"), np.array(alphas) / sum(alphas)
    for given in (a, alphas):
        shares = tg.function(
            [a], T.random.RandomStream(3).dirichlet(given, size=N, dtype=dtype), on_unused_input="ignore"
        )
        found = shares(alphas)
        assert found.dtype == dtype and found.shape == (N, len(alphas))
        np.testing.assert_allclose(found.sum(1), 1, rtol=1e-5)
        wide, spread = found.astype("float64"), mean * (1 - mean) / (sum(alphas) + 1)
        np.testing.assert_allclose(wide.mean(0), mean, atol=5 * (spread.max() / N) ** 0.5)
        np.testing.assert_allclose(wide.var(0), spread, atol=0.01)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda r: r.poisson(4.0, size=N), stats.poisson(4).pmf(np.arange(20))),
        (lambda r: r.binomial(10, 0.3, size=N), stats.binom(10, 0.3).pmf(np.arange(11))),
        (lambda r: r.negative_binomial(3, 0.4, size=N), stats.nbinom(3, 0.4).pmf(np.arange(60))),
        (lambda r: r.geometric(0.3, size=N), stats.geom(0.3).pmf(np.arange(60))),
        (lambda r: r.multinomial(40, [0.1, 0.6, 0.3], size=N)[:, 1], stats.binom(40, 0.6).pmf(np.arange(41))),
        (lambda r: r.multinomial(5, [0.1, 0.6, 0.3], size=N)[:, 2], stats.binom(5, 0.3).pmf(np.arange(6))),
        (lambda r: r.bernoulli(0.2, size=N), [0.8, 0.2]),
        (lambda r: r.integers(6, size=N), np.full(6, 1 / 6)),
        (lambda r: r.choice(3, size=N, p=[0.5, 0.2, 0.3]), [0.5, 0.2, 0.3]),
        (lambda r: r.multinomial(1, [0.1, 0.9], size=N).argmax(axis=-1), [0.1, 0.9]),
    ],
)
def test_discrete_distributions(make, expected):
    values = draw(make)
    assert values.dtype == "int64" and values.shape == (N,)
    counts = np.bincount(values, minlength=len(expected))
    assert len(counts) <= len(expected)
    counts = np.pad(counts, (0, len(expected) - len(counts)))
    expected = np.asarray(expected) * N
    often = expected > 5
    chi2 = ((counts - expected)[often] ** 2 / expected[often]).sum()
    assert stats.chi2(often.sum() - 1).sf(chi2) > 1e-3


CONTINUOUS = {
    "gamma": [(a,) for a in (0.02, 0.3, 0.999, 1.0, 2.5, 40.0, 1e6)],
    "beta": [(0.05, 0.5), (0.3, 4.0), (1.0, 1.0), (2.0, 3.0), (80.0, 0.5), (1e4, 2e4)],
}
DISCRETE = {
    "poisson": [(m,) for m in (1e-3, 0.7, 9.99, 10.0, 25.0, 400.0, 1e6)],
    "binomial": [(1, 0.3), (7, 0.2), (30, 0.9), (30, 0.34), (1000, 0.5), (1000, 0.01), (10**9, 0.3), (10**9, 1e-8)],
}


def of_op(name, params, n=20_000):
    """The numbers that a stream draws, without compiling a function for them."""
    index = np.arange(n, dtype=np.uint64)
    return getattr(draws, f"{name}_draw").meaning(np.uint64(2**60 + 7), np.uint64(3), index, *map(np.float64, params))


@pytest.mark.parametrize(("name", "params"), [(n, p) for n, some in CONTINUOUS.items() for p in some])
def test_continuous_draws_by_rejection(name, params):
    x = of_op(name, params)
    x = x[x > 0]  # small shapes: what is below all numbers
    law = getattr(stats, name)(*params)
    with np.errstate(all="ignore"):
        assert stats.kstest(np.log(x), lambda t: law.cdf(np.exp(t))).pvalue > 1e-3


@pytest.mark.parametrize(("name", "params"), [(n, p) for n, some in DISCRETE.items() for p in some])
def test_discrete_draws_by_rejection(name, params):
    """Jumps are spread evenly: cdf(k - 1) + u (cdf(k) - cdf(k - 1)) is uniform if the law is right."""
    k = of_op(name, params)
    law = getattr(stats, {"binomial": "binom"}.get(name, name))(*params)
    below, at = law.cdf(k - 1), law.cdf(k)
    spread = below + np.random.default_rng(3).random(k.shape) * (at - below)
    assert stats.kstest(spread, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("shape", [2.5, 1e6])
def test_the_tails_of_gamma_draws(shape):
    x, law = of_op("gamma", (shape,), 100_000), stats.gamma(shape)
    for share in (1e-3, 1e-4):
        for count in ((x < law.ppf(share)).sum(), (x > law.isf(share)).sum()):
            assert abs(count - share * x.size) < 5 * np.sqrt(share * x.size)


def test_extreme_parameters_of_draws():
    assert draw(lambda r: r.poisson(np.array([0.0, 0.0]))).tolist() == [0, 0]
    large = draw(lambda r: r.poisson(1e15, size=2000))
    assert abs(large.mean() - 1e15) < 5 * np.sqrt(1e15 / 2000) and abs(large.std() / np.sqrt(1e15) - 1) < 0.1
    n, p = np.array([0, 7, 7, 1]), np.array([0.5, 0.0, 1.0, 1.0])
    assert draw(lambda r: r.binomial(n, p)).tolist() == [0, 0, 7, 1]
    odd = draw(lambda r: r.gamma(tg.shared(np.array([0.0, np.inf, np.nan]))))
    assert odd[0] == 0 and odd[1] == np.inf and np.isnan(odd[2:]).all()
    beta = draw(lambda r: r.beta(1e-4, 1e-4, size=2000))
    assert np.isfinite(beta).all() and 0.4 < (beta > 0.5).mean() < 0.6


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda r: r.integers(5, 5), "low must be below high, got 5 and 5"),
        (lambda r: r.integers(0, 300, dtype="uint8"), "do not fit in uint8"),
        (lambda r: draw(lambda s: s.poisson(tg.shared(-1.0))), "mean must be at least 0"),
        (lambda r: draw(lambda s: s.binomial(3, tg.shared(1.5))), "p between 0 and 1"),
        (lambda r: draw(lambda s: s.multinomial(100, tg.shared(np.array([0.5, -0.5])))), "pvals must be from 0 to 1"),
        (lambda r: r.choice(3, size=4, replace=False), "4 different elements of 3"),
    ],
)
def test_values_without_meaning(make, text):
    with pytest.raises(ValueError, match=text):
        make(T.random.RandomStream(1))


def test_arguments_of_the_wrong_type():
    r = T.random.RandomStream(1)
    with pytest.raises(TypeError, match="got int64"):
        r.uniform(size=2, dtype="int64")
    with pytest.raises(TypeError, match="bounds must be integers"):
        r.integers(0.0, 5.0)


def test_symbolic_bounds_of_integers_are_checked_when_it_runs():
    a, b = T.lscalars("a", "b")
    f = tg.function([a, b], T.random.RandomStream(1).integers(a, b, size=9))
    assert set(f(3, 5)) == {3, 4}
    with pytest.raises(ValueError, match="low must be below high"):
        f(5, 3)


def test_gradients_go_through_location_and_scale():
    loc, scale = T.dscalars("loc", "scale")
    z = T.random.RandomStream(3).normal(loc, scale, size=5)
    value, *slopes = tg.function([loc, scale], [z, *tg.grad(z.sum(), [loc, scale])])(1.0, 2.0)
    np.testing.assert_allclose(slopes, [5.0, ((value - 1) / 2).sum()])
    u = T.random.RandomStream(3).uniform(loc, scale, size=5)
    value, *slopes = tg.function([loc, scale], [u, *tg.grad(u.sum(), [loc, scale])])(1.0, 2.0)
    np.testing.assert_allclose(slopes, [(1 - (value - 1)).sum(), (value - 1).sum()])


def test_probabilities_of_choice_are_as_many_as_elements():
    p, n, a = T.dvector("p"), T.lscalar("n"), T.dvector("a")
    rng = T.random.RandomStream(1)
    for mode in (None, tg.Mode(linker="py")):
        f = tg.function([p, n, a], [rng.choice(n, 20, p=p), rng.choice(a, 20, p=p)], mode=mode)
        places, elements = f([0.5, 0.5], 2, [7.0, 8.0])
        assert set(places.tolist()) == {0, 1} and set(elements.tolist()) == {7, 8}
        for wrong in ((3, [7.0, 8.0]), (2, [7.0, 8.0, 9.0])):
            with pytest.raises(ValueError, match="promised"):
                f([0.5, 0.5], *wrong)


def test_parameters_that_no_distribution_has_are_refused():
    rng = T.random.RandomStream(1)
    for draw, message in {
        lambda: rng.normal(0.0, -1.0): "normal: scale must not be negative, got -1.0",
        lambda: rng.lognormal(sigma=[1.0, -2.0]): "lognormal: sigma must not be negative",
        lambda: rng.gamma(-1.0): "gamma: shape must not be negative",
        lambda: rng.beta(1.0, np.array([-1])): "beta: b must be positive",
        lambda: rng.beta(0.0, 2.0): "beta: a must be positive, got 0.0",
        lambda: rng.chisquare(-1.0): "chisquare: df must be positive",
        lambda: rng.standard_t([1.0, 0.0]): "standard_t: df must be positive",
        lambda: rng.geometric(0.0): "geometric: p must be above 0, and at most 1, got 0.0",
        lambda: rng.negative_binomial(3, 0.0): "negative_binomial: p must be above 0",
        lambda: rng.negative_binomial(0, 0.5): "negative_binomial: n must be positive",
        lambda: rng.dirichlet([-1.0, 1.0]): "dirichlet: alphas must not be negative",
        lambda: rng.poisson(-3): "poisson: lam must not be negative",
        lambda: rng.bernoulli(1.5): "bernoulli: p must be from 0 to 1, got 1.5",
        lambda: rng.binomial(5, -0.1): "binomial: p must be from 0 to 1",
        lambda: rng.binomial(5, np.nan): "binomial: p must be from 0 to 1, got nan",
        lambda: rng.bernoulli([0.5, np.nan]): "bernoulli: p must be from 0 to 1",
        lambda: rng.choice(3, p=[0.5, np.nan, 0.5]): "choice: p must be from 0 to 1",
        lambda: rng.choice(3, p=[0.5, 0.1, 0.1]): r"choice: p must sum to 1, but sums to 0.7; write p / p.sum\(\)",
        lambda: rng.choice(3, p=[0.5, 0.9, 0.1], replace=False): "choice: p must sum to 1, but sums to 1.5",
        lambda: rng.choice(3, p=[0.5, 0.5]): "choice: p has 2 probabilities, but there are 3 elements",
        lambda: rng.choice([1.0, 2.0], p=[0.2, 0.3, 0.5]): "choice: p has 3 probabilities, but there are 2 elements",
        lambda: rng.choice(2, p=[[0.5, 0.5]]): "choice: p must have one dimension, got 2",
        lambda: rng.choice(
            4, 3, False, [0, 0.5, 0.5, 0]
        ): "3 different elements were asked for, but p is above 0 for 2 only",
        lambda: rng.normal(size=(2, -1)): "size: a length must not be negative",
        lambda: rng.multinomial(5, [0.5, 0.1, 0.1]): "multinomial: pvals must sum to 1",
        lambda: rng.multinomial(50, [[0.5, 0.5], [1.5, -0.5]]): "multinomial: pvals must be from 0 to 1",
        lambda: T.random.RandomStreams(1).normal((2,), 0.0, -1.0): "normal: scale must not be negative",
    }.items():
        with pytest.raises(ValueError, match=message):
            draw()
    assert rng.normal(0.0, 0.0).eval() == 0.0
    assert rng.geometric(1.0).eval() == 1
    tenths = np.full(10, 0.1, "float32")  # which do not sum to 1 to the last digit of float64
    assert rng.choice(10, p=tenths).eval() in range(10)
    assert rng.multinomial(5, tenths).eval().sum() == 5
    assert np.isnan(rng.normal(0.0, T.constant(np.nan)).eval())


@pytest.mark.parametrize("mode", ["auto", "py"])
def test_parameters_are_refused_by_the_call_that_gives_them(mode):
    x = T.dvector("x")
    draws = {
        "normal: scale must not be negative": (lambda r: r.normal(0.0, x), [0.0, 1.0, np.nan], [1.0, -1.0]),
        "beta: a must be positive": (lambda r: r.beta(x, 2.0), [1.0, 0.5], [1.0, 0.0]),
        "gamma: shape must not be negative": (lambda r: r.gamma(x), [0.0, 2.0], [2.0, -2.0]),
        "chisquare: df must be positive": (lambda r: r.chisquare(x, size=(3, 2)), [1.0, 2.0], [1.0, 0.0]),
        "bernoulli: p must be from 0 to 1": (lambda r: r.bernoulli(x), [0.0, 1.0], [0.5, np.nan]),
        "geometric: p must be above 0, and at most 1": (lambda r: r.geometric(x), [1.0, 0.1], [0.0, 0.5]),
        "choice: p must be from 0 to 1": (lambda r: r.choice(3, p=x, size=4), [0.5, 0.5, 0.0], [0.5, 1.0, -0.5]),
        "choice: p must sum to 1": (lambda r: r.choice(3, p=x), np.full(3, 1 / 3), [0.5, 0.5, 0.5]),
        "multinomial: pvals must sum to 1": (lambda r: r.multinomial(5, x), [0.25, 0.75], [0.25, 0.7]),
        "multinomial: pvals must be from 0": (lambda r: r.multinomial(50, x), [0.25, 0.75], [-0.25, 1.25]),
        "poisson: the mean must be at least 0": (lambda r: r.poisson(x), [0.0, 3.0], [-1.0]),
        "integers: low must be below high": (lambda r: r.integers(0, T.cast(x, "int64")), [1.0, 9.0], [3.0, 0.0]),
    }
    for message, (make, fine, wrong) in draws.items():
        stream = T.random.RandomStream(3)
        f = tg.function([x], make(stream), mode=tg.Mode(linker=mode))
        f(fine)
        before = [state.get_value().tolist() for state in stream._states]
        with pytest.raises(ValueError, match=message):
            f(wrong)
        assert [state.get_value().tolist() for state in stream._states] == before
        f(fine)


def test_a_parameter_that_cannot_be_wrong_is_not_asked():
    s = T.dscalar("s")
    rng = T.random.RandomStream(3)
    f = tg.function([s], [rng.normal(0.0, T.exp(s), size=3), rng.gamma(T.softplus(s)), rng.laplace(0.0, s**2)])
    assert "required" not in str(f.stage("place"))
    scaled = rng.normal(0.0, s, size=5)
    f = tg.function([s], [scaled, tg.grad(scaled.sum(), s)])
    values, slope = f(2.0)
    np.testing.assert_allclose(slope, values.sum() / 2)
