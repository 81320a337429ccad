"""Gradients of convolutions of vectors: the cotangent correlated with the other vector, and no windows in memory."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.traverse import subterms

LINKERS = ("py", "c")
LENGTHS = ((5, 3), (3, 5), (1, 1), (40, 20), (200, 170), (1, 9), (300, 300), (700, 5), (1030, 260))
TOLERANCE = {"float64": 1e-11, "float32": 2e-4, "float16": 5e-2, "int64": 0}


def _vectors(dtype, n=None, k=None):
    return T.tensor("x", dtype=dtype, shape=(n,)), T.tensor("y", dtype=dtype, shape=(k,))


def _expected(g, a, b):
    wide = [v.astype("float64") for v in (g, a, b)]
    return np.correlate(wide[0], wide[2], "valid"), np.correlate(wide[0], wide[1], "valid")


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_gradients_of_two_vectors(rng, linker, dtype):
    """Blocks that end inside, few places and many, vectors that lie backwards or apart."""
    x, y = _vectors(dtype)
    g = T.tensor("g", dtype=dtype, shape=(None,))
    f = tg.function([x, y, g], tg.grad((T.convolve(x, y) * g).sum(), [x, y]), mode=tg.Mode(linker=linker))
    for n, k in LENGTHS:
        a, b, c = [rng.standard_normal(m).astype(dtype) for m in (n, 2 * k, n + k - 1)]
        for one, other, given in ((a, b[:k], c), (a[::-1], b[::2], c[::-1])):
            for found, want in zip(f(one, other, given), _expected(given, one, other)):
                assert found.dtype == dtype
                np.testing.assert_allclose(found, want, rtol=TOLERANCE[dtype], atol=20 * TOLERANCE[dtype])


@pytest.mark.parametrize("linker", LINKERS)
def test_of_known_lengths(rng, linker):
    for n, k in LENGTHS:
        x, y = _vectors("float64", n, k)
        g = rng.standard_normal(n + k - 1)
        f = tg.function([x, y], tg.grad((T.convolve(x, y) * g).sum(), [x, y]), mode=tg.Mode(linker=linker))
        a, b = rng.standard_normal(n), rng.standard_normal(k)
        for found, want in zip(f(a, b), _expected(g, a, b)):
            np.testing.assert_allclose(found, want, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("linker", LINKERS)
def test_complex_numbers_are_four_products_of_vectors(rng, linker):
    x, y = _vectors("complex128")
    out = T.convolve(x, y)
    f = tg.function(
        [x, y], [out, *tg.grad((T.real(out) ** 2 + T.imag(out)).sum(), [x, y])], mode=tg.Mode(linker=linker)
    )
    a, b = [rng.standard_normal(n) + 1j * rng.standard_normal(n) for n in (60, 45)]
    value, ga, gb = f(a, b)
    np.testing.assert_allclose(value, np.convolve(a, b), rtol=1e-12, atol=1e-12)

    def cost(a, b):
        z = np.convolve(a, b)
        return (z.real**2 + z.imag).sum()

    step = 1e-6
    for found, moved in ((ga, lambda e: (a + e, b)), (gb, lambda e: (a, b + e))):
        at = np.zeros(found.shape)
        at[7] = step
        slopes = [(cost(*moved(w * at)) - cost(*moved(-w * at))) / (2 * step) for w in (1, 1j)]
        np.testing.assert_allclose([found[7].real, abs(found[7].imag)], [slopes[0], abs(slopes[1])], rtol=1e-6)


@pytest.mark.parametrize("linker", LINKERS)
def test_second_derivatives_are_of_vectors_too(linker):
    x, y = _vectors("float64")
    cost = (T.convolve(x, y) ** 3).sum()
    gx, gy = tg.grad(cost, [x, y])
    f = tg.function([x, y], tg.grad((gx**2).sum() + (gy**2).sum(), [x, y]), mode=tg.Mode(linker=linker))
    names = {t.op.family.name for t in subterms([out.variable.term for out in f.maker.outputs]) if t.args}
    assert "windows" not in names
    tg.verify_grad(lambda x, y: sum((g**2).sum() for g in tg.grad((T.convolve(x, y) ** 3).sum(), [x, y])),
                   [np.array([0.5, -1.0, 0.3]), np.array([0.2, 0.7])])  # fmt: skip


@pytest.mark.parametrize("linker", LINKERS)
def test_long_vectors_need_no_windows(rng, linker):
    """All windows of these would be 29 GB."""
    x, y = _vectors("float64")
    f = tg.function([x, y], tg.grad((T.polymul(x, y) ** 2).sum(), [x, y]), mode=tg.Mode(linker=linker))
    a, b = rng.standard_normal(600_000), rng.standard_normal(6)
    for one, other in ((a, b), (b, a)):
        g = 2 * np.convolve(one, other)
        for found, want in zip(f(one, other), _expected(g, one, other)):
            np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("linker", LINKERS)
def test_an_empty_vector_is_refused(linker):
    x, y = _vectors("float64")
    f = tg.function([x, y], tg.grad(T.convolve(x, y).sum(), [x, y]), mode=tg.Mode(linker=linker))
    with pytest.raises((ValueError, AssertionError), match="has no elements"):
        f(np.zeros(0), np.ones(3))


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("shape", [(None, None), (None, 4), (4, None), (4, 30_000), (30_000, 4)])
def test_the_gradient_of_a_pseudo_inverse_squares_the_shorter_side(rng, linker, shape):
    """A square of the longer side would be 7 GB."""
    m, n = 30_000, 4
    wide = shape[0] == 4
    x, g = T.tensor("x", dtype="float64", shape=shape), T.dmatrix("g")
    f = tg.function(
        [x, g], tg.grad((T.linalg.pinv(x) * g).sum(), x), mode=tg.Mode(linker="auto" if linker == "c" else linker)
    )
    a, c = rng.standard_normal((m, n)), rng.standard_normal((n, m))
    got = f(a.T, c.T).T if wide else f(a, c)
    y = np.linalg.pinv(a)
    want = -y.T @ (c @ y.T) + (c.T - a @ (y @ c.T)) @ (y @ y.T)
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


def test_polyfit_of_many_points(rng):
    x, y = T.dvectors("xy")
    f = tg.function([x, y], tg.grad((T.polyfit(x, y, 3) ** 2).sum(), [x, y]))
    a, b = np.sort(rng.uniform(size=30_000)), rng.standard_normal(30_000)
    gx, gy = f(a, b)
    powers = np.vander(a, 4)
    np.testing.assert_allclose(gy, 2 * np.linalg.pinv(powers).T @ np.polyfit(a, b, 3), rtol=1e-6, atol=1e-12)
    assert np.isfinite(gx).all()


@pytest.mark.parametrize("linker", LINKERS)
def test_in_the_steps_of_a_loop(rng, linker):
    """Lengths that are known there, of a carry and of a row."""
    w, rows, start = T.tensor("w", shape=(3,)), T.dmatrix("rows"), T.dvector("start")
    step = lambda row, c: T.convolve(c, w, mode="same") + row + np.ones(16)  # noqa: E731
    (steps, _), last = tg.scan(step, sequences=rows, outputs_info=start), T.tensor("last", shape=(2, 16))
    kept = tg.vmap(lambda c: T.convolve(c, w))(last)
    a, b, c, d = (rng.standard_normal(shape) for shape in ((4, 16), 16, 3, (2, 16)))
    slopes = tg.grad((steps**2).sum(), [w, start])
    got = tg.function([rows, start, w, last], [steps, kept, *slopes], mode=tg.Mode(linker=linker))(a, b, c, d)

    def by_hand(b, c):
        wanted = [b]
        for row in a:
            wanted.append(np.convolve(wanted[-1], c, "same") + row + 1)
        return np.array(wanted[1:])

    np.testing.assert_allclose(got[0], by_hand(b, c), rtol=1e-10)
    np.testing.assert_allclose(got[1], [np.convolve(row, c) for row in d], rtol=1e-10)
    cost = lambda b, c: (by_hand(b, c) ** 2).sum()  # noqa: E731
    for slope, along, moved in ((got[2], c, lambda e: (b, (1 + e) * c)), (got[3], b, lambda e: ((1 + e) * b, c))):
        np.testing.assert_allclose(slope @ along, (cost(*moved(1e-6)) - cost(*moved(-1e-6))) / 2e-6, rtol=1e-6)
