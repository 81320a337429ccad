"""What repeats an array is stored where functions of it would divide each index, and nowhere else."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T

RNG = np.random.default_rng(7)
A, B, PLANES = RNG.normal(size=(5, 4)), RNG.normal(size=(5, 12)), RNG.normal(size=(2, 18, 3, 5))
x, y = T.dmatrices("x", "y")
planes = T.tensor4("planes", dtype="float64")


def thrice(m):
    return np.repeat(m, 3, axis=1)


def woven(v, r=3):
    n, c, h, w = v.shape
    parts = v.reshape(n, c // r**2, r, r, h, w).transpose(0, 1, 4, 2, 5, 3)
    return parts.reshape(n, c // r**2, h * r, w * r)


def up(v):
    return T.repeat(v, 3, axis=1)


def shuffled(v):
    return T.nnet.pixel_shuffle(v, 3)


STORED = {
    "function": (lambda: T.exp(up(x) + y), lambda a, b, p: np.exp(thrice(a) + b)),
    "function of it alone": (lambda: T.exp(up(x)) * y, lambda a, b, p: np.exp(thrice(a)) * b),
    "fold of rows": (lambda: T.exp(up(x) + y).sum(axis=1), lambda a, b, p: np.exp(thrice(a) + b).sum(axis=1)),
    "fold of all": (lambda: T.exp(up(x) + y).sum(), lambda a, b, p: np.exp(thrice(a) + b).sum()),
    "of something made": (lambda: T.log1p(T.exp(up(x * 2) + y)), lambda a, b, p: np.logaddexp(0, thrice(a * 2) + b)),
    "twice": (lambda: T.exp(up(x) + y) + T.cos(up(x)), lambda a, b, p: np.exp(thrice(a) + b) + np.cos(thrice(a))),
    "woven planes": (lambda: shuffled(planes) + 1, lambda a, b, p: woven(p) + 1),
    "woven planes, function": (lambda: T.tanh(shuffled(planes)), lambda a, b, p: np.tanh(woven(p))),
    "woven planes, fold": (lambda: shuffled(planes).sum(axis=(2, 3)), lambda a, b, p: woven(p).sum(axis=(2, 3))),
}
LEFT = {
    "cheap": (lambda: up(x) + y, lambda a, b, p: thrice(a) + b),
    "one row of it": (lambda: T.exp(up(x)[0] + y[1]), lambda a, b, p: np.exp(thrice(a)[0] + b[1])),
}


def loops(f):
    """The lines of the program's loops that call a function or read an argument."""
    text = f.source("c").split("/* ---- the program ---- */")[1].split("TG_EXPORT int tg_plan")[0]
    return [line for line in text.splitlines() if "c->env" not in line and ("exp(" in line or "in0[" in line)]


def stored(f):
    """How many arrays a call holds beside its results."""
    return len(f.stage("storage").statements.temps)


@pytest.mark.parametrize("case", [*STORED, *LEFT])
@pytest.mark.parametrize("mode", ["FAST_RUN", "STRICT", "FAST_COMPILE"])
def test_values(case, mode):
    make, reference = {**STORED, **LEFT}[case]
    f = tg.function([x, y, planes], make(), mode=tg.get_mode(mode), on_unused_input="ignore")
    np.testing.assert_allclose(f(A, B, PLANES), reference(A, B, PLANES), rtol=1e-12, atol=1e-12)
    if "woven" not in case and "row" not in case:
        np.testing.assert_allclose(f(A[:0], B[:0], PLANES), reference(A[:0], B[:0], PLANES))


@pytest.mark.parametrize("case", STORED)
def test_no_index_is_divided(case):
    f = tg.function([x, y, planes], STORED[case][0](), mode=tg.Mode(linker="c"), on_unused_input="ignore")
    assert not [line for line in loops(f) if "/ (" in line or "% (" in line], loops(f)


@pytest.mark.parametrize("case", LEFT)
def test_nothing_more_is_stored(case):
    f = tg.function([x, y, planes], LEFT[case][0](), mode=tg.Mode(linker="c"), on_unused_input="ignore")
    assert "double *t" not in f.source("c").replace("restrict ", "")


def test_in_loops_choices_and_with_known_lengths():
    def step(row, total):
        return total + T.tanh(T.repeat(row, 3) + total)

    totals = tg.scan(step, sequences=[x], outputs_info=[T.zeros_like(y[0])])[0]
    f = tg.function([x, y], totals, mode=tg.Mode(linker="c"))
    expected, total = [], np.zeros(12)
    for row in A:
        total = total + np.tanh(np.repeat(row, 3) + total)
        expected.append(total)
    np.testing.assert_allclose(f(A, B), expected, rtol=1e-12)
    sign, of_known = T.dscalar("sign"), T.TensorType("float64", B.shape)("of_known")
    w = tg.shared(A, "w", shape=A.shape)
    sides = T.exp(up(w) + of_known).cumsum(axis=0), up(w) - of_known
    g = tg.function([of_known, sign], tg.ifelse(sign > 0, *sides), mode=tg.Mode(linker="c"))
    np.testing.assert_allclose(g(B, 1.0), np.exp(thrice(A) + B).cumsum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(g(B, -1.0), thrice(A) - B, rtol=1e-12)
    h = tg.function([y], T.exp(up(w) + y), mode=tg.Mode(linker="c"))
    np.testing.assert_allclose(h(B), np.exp(thrice(A) + B), rtol=1e-12)


def test_gradients_and_threads():
    f = tg.function([x, y], tg.grad(T.exp(up(x) * y).sum(), [x, y]))
    by_x, by_y = f(A, B)
    slope = np.exp(thrice(A) * B)
    np.testing.assert_allclose(by_x, (slope * B).reshape(5, 4, 3).sum(axis=2), rtol=1e-12)
    np.testing.assert_allclose(by_y, slope * thrice(A), rtol=1e-12)
    a, b = RNG.normal(size=(400, 300)), RNG.normal(size=(400, 900))
    g = tg.function([x, y], T.exp(up(x) + y))
    with tg.config.change_flags(threads=4):
        np.testing.assert_allclose(g(a, b), np.exp(thrice(a) + b), rtol=1e-12)


def test_windows_that_are_added_up_again_are_stored(rng):
    """Each of the statements that add a part would divide to find a window, in which it looks up two places."""
    v = T.tensor4("v", dtype="float64")
    f = tg.function([v], T.nnet.fold(T.nnet.unfold(v, 2), (6, 7), 2), mode=tg.Mode(linker="c"))
    assert stored(f) == 1 and all("/" not in line and "floordiv" not in line for line in loops(f))
    a = rng.normal(size=(2, 3, 6, 7))
    counts = np.multiply.outer([1, 2, 2, 2, 2, 1], [1, 2, 2, 2, 2, 2, 1])
    np.testing.assert_allclose(f(a), a * counts)


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_sums_of_rows_that_are_reshaped_are_made_once(rng, mode):
    """Each element of the result finds its row by a division: the sum is the same in all steps of a row."""
    v = T.tensor4("v", dtype="float64")
    rows = T.reshape(v, (6, 4, 8))
    scaled = T.reshape(rows / T.sqrt((rows**2).sum(2, keepdims=True)), v.shape) * 2
    f = tg.function([v], scaled, mode=tg.get_mode(mode))
    a = rng.normal(size=(2, 3, 4, 8))
    np.testing.assert_allclose(f(a), 2 * a / np.sqrt((a**2).sum(3, keepdims=True)), rtol=1e-12)
    g = tg.function([v], scaled, mode=tg.Mode(linker="c"))
    assert stored(g) == 1
    np.testing.assert_allclose(g(a), f(a), rtol=1e-12)
