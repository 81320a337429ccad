"""DEBUG_MODE where rounding is felt: what a nearly singular matrix makes of a last place is no disagreement."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.debug import BadOutput, checked
from termgraph.debug.rounding import rounding
from termgraph.terms.evaluate import evaluate

x, z = T.dmatrix("x"), T.dmatrix("z")


def kernel(a, b):
    return T.exp(-((a[:, None] - b[None]) ** 2).sum(axis=-1) / 2)


def bound(jitter=1e-7):
    """The bound of a Gaussian process with few inducing points, up to its constants."""
    factor = T.linalg.cholesky(kernel(z, z) + jitter * T.eye(6))
    half = T.slinalg.solve_triangular(factor, kernel(z, x), lower=True)
    return T.linalg.slogdet(T.eye(6) + half @ half.T)[1] + (half**2).sum()


@pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
def test_gradients_of_a_nearly_singular_matrix(rng):
    f = tg.function([x, z], [bound(), *tg.grad(bound(), [x, z])], mode=checked.DebugMode(linker="auto"))
    for _ in range(5):
        f(rng.uniform(size=(12, 1)), np.linspace(0, 1, 6)[:, None] + 0.01 * rng.normal(size=(6, 1)))


def test_what_rounding_moves():
    a, b = T.dvector("a"), T.dvector("b")
    given = {a.term: np.array([1e8, 1.0, -1e8]), b.term: np.array([0.1, 0.2, 0.3])}
    moved = lambda v: rounding(v.term, given, evaluate([v.term], given)[0])  # noqa: E731
    assert 1e-9 < moved(a.sum()) < 1e-7  # a sum of large numbers that cancel
    assert 0 < moved((b * 3).sum()) < 1e-15
    assert moved(T.floor(b * 10)) == 1.0  # 0.1 * 10 may be just below 1
    assert moved(T.maximum(a, b)) == 0 == moved(T.argmax(b)) == moved(T.floor(a))


@pytest.mark.filterwarnings("error")
def test_infinite_values_and_conditions_that_just_hold():
    a = T.dvector("a")
    given = {a.term: np.array([1.0, 1000.0])}
    assert 0 < rounding(T.exp(a).term, given, np.array([np.e, np.inf])) < 1e-15
    equal = tg.Assert("equal")(a, T.all(T.eq(T.sin(a), np.sin([1.0, 1000.0]))))
    assert rounding(equal.term, given, given[a.term]) == 0


@pytest.mark.parametrize("off", [1e-3, 1e-6])
def test_a_wrong_result_is_still_seen(monkeypatch, rng, off):
    f = tg.function([x, z], bound(), mode=checked.DebugMode(linker="py"))
    agree = checked.DebugMode.agree
    monkeypatch.setattr(
        checked.DebugMode, "agree", lambda self, t, a, b, *how: agree(self, t, a, np.asarray(b) * (1 + off), *how)
    )
    with pytest.raises((BadOutput, checked.BadRewrite)):
        f(rng.uniform(size=(12, 1)), np.linspace(0, 1, 6)[:, None])
