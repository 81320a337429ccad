"""Gradients of loops whose carry has another length in each step."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.loops.varying import growing

pytestmark = pytest.mark.filterwarnings("ignore:.*runs in Python")
MODES = ("FAST_RUN", "FAST_COMPILE", "STRICT", None, tg.Mode(linker="py"))
X, W, ROWS = np.array([0.3, 0.7]), np.array(0.9), np.arange(8.0).reshape(4, 2) / 5


def appended(x, w, rows):
    return tg.loop(lambda c, r: (T.concatenate([c, T.tanh(c[-1:] * w) + r[:1]]), None), x, rows)[0]


def shortened(x, w, rows):
    return tg.loop(lambda c, _: (T.sin(c[1:]) * w, None), T.ravel(rows) * x[0], length=5)[0]


def doubled(x, w, rows):
    return tg.loop(lambda c, r: (T.concatenate([c, c * r[0]]), T.sum(c * w)), x, rows)[1]


def two_carries(x, w, rows):
    step = lambda c, r: ((T.concatenate([c[0], c[1][None]]), c[1] * w + r[0] * T.sum(c[0])), None)  # noqa: E731
    return tg.loop(step, (x, w), rows)[0][1]


def of_a_scan(x, w, rows):
    return tg.scan(lambda c: T.concatenate([c, c[-1:] * w]), outputs_info=x, n_steps=3)[0][-1] + T.sum(rows)


def with_sums(x, w, rows):
    grown, sums = tg.scan(lambda c: [T.concatenate([c, c[-1:] * w]), T.sum(c)], outputs_info=[x, None], n_steps=3)[0]
    return sums * T.sum(rows) + T.sum(T.sqr(grown[-1]))


def until(x, w, rows):
    step = lambda c, r: ((c2 := T.concatenate([c, r[:1] * w])), None, tg.until(T.sum(c2) > 1.4))  # noqa: E731
    return tg.loop(step, x, rows)[0]


@pytest.mark.parametrize("of", [appended, shortened, doubled, two_carries, of_a_scan, with_sums, until])
def test_f93_the_gradient_of_a_loop_that_grows(of):
    tg.verify_grad(lambda *given: T.sin(of(*given)), [X, W, ROWS])
    x, w, rows = T.dvector("x"), T.dscalar("w"), T.dmatrix("rows")
    slopes = tg.grad(T.sum(T.sin(of(x, w, rows))), [x, w, rows])
    found = [tg.function([x, w, rows], slopes, mode=mode)(X, W, ROWS) for mode in MODES]
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize(
    ("step", "grows"),
    [
        (lambda c: T.concatenate([c, c]), True),
        (lambda c: c[1:], True),
        (lambda c: T.concatenate([c[1:], c[:1]]), False),
        (lambda c: T.tanh(c) + T.sum(c), False),
        (lambda c: T.reshape(T.outer(c, c), (-1,))[: c.shape[0]], False),
    ],
)
def test_what_grows_is_seen_by_trying(step, grows):
    last, _ = tg.loop(lambda c, _: (step(c), None), T.dvector("x"), length=3)
    loop = last.term.args[0]
    assert bool(growing(loop.op)) == grows
