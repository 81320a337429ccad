"""Kummer's confluent hypergeometric function beside its series with many digits, in C and in NumPy."""

import mpmath
import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.terms.ops import confluent

LINKERS = ["py", pytest.param("c", marks=pytest.mark.skipif(find_compiler() is None, reason="no C compiler"))]


def exact(a, b, z):
    """Its series; mpmath's own function ends too early where b is negative: terms grow once more."""
    with mpmath.workdps(250):
        a, b, z = map(mpmath.mpf, (a, b, z))
        term = total = mpmath.mpf(1)
        size = abs(a) + abs(b) + 2 * abs(z)
        for k in range(5000):
            term *= (a + k) * z / ((b + k) * (k + 1))
            total += term
            if not term or k > size and abs(term) < abs(total) * mpmath.mpf(10) ** -30:
                break
        return float(total)


def compiled(linker, dtype="float64"):
    given = [T.vector(name, dtype=dtype) for name in "abz"]
    return tg.function(given, T.hyp1f1(*given), mode=tg.Mode(linker=linker))


@pytest.fixture(scope="module")
def points():
    """Parameters of all sizes and signs, whole and neighbouring ones among them."""
    rng = np.random.default_rng(3)
    a, b, z = rng.choice([-1, 1], (3, 200)) * 10 ** rng.uniform(-2, [[2.3]] * 3, (3, 200))
    a[::5] = np.rint(a[::5])
    b[::7] = np.rint(np.abs(b[::7])) + 1
    b[3::9] = a[3::9] + rng.integers(-3, 4, len(a[3::9]))
    b[b == np.rint(b)] = np.abs(b[b == np.rint(b)]) + 1
    known = [
        (46.0, 0.298, -0.05335),
        (0.12376506716349067, -2.8762349328365096, -62.34277589210067),
    ]  # SciPy's are wrong
    a, b, z = (np.append(v, [one[k] for one in known]) for k, v in enumerate((a, b, z)))
    wanted = np.array([exact(*point) for point in zip(a, b, z)])
    kept = np.isfinite(wanted) & (np.abs(wanted) > 1e-280)
    return a[kept], b[kept], z[kept], wanted[kept]


@pytest.mark.parametrize("linker", LINKERS)
def test_its_digits_are_those_of_the_series(linker, points):
    *given, wanted = points
    assert len(wanted) > 190
    np.testing.assert_allclose(compiled(linker)(*given), wanted, rtol=1e-11)
    single = [v.astype("float32") for v in given]
    near = np.array([exact(*map(float, point)) for point in zip(*single)])
    with np.errstate(over="ignore", under="ignore"):
        np.testing.assert_allclose(compiled(linker, "float32")(*single), near.astype("float32"), rtol=1e-6, atol=1e-44)


@pytest.mark.parametrize("linker", LINKERS)
def test_its_values_at_special_points(linker):
    f = compiled(linker)
    x = np.array([-30.0, -2.5, 0.0, 1.5, 40.0])
    np.testing.assert_allclose(f(x * 0, x * 0 + 2.5, x), 1, rtol=0)
    np.testing.assert_allclose(f(x * 0 + 2.5, x * 0 + 2.5, x), np.exp(x), rtol=1e-14)
    np.testing.assert_allclose(f(x * 0 - 2, x * 0 + 3, x), 1 - 2 * x / 3 + x**2 / 12, rtol=1e-14)
    np.testing.assert_allclose(f(x * 0 + 1, x * 0 + 2, x), np.where(x == 0, 1, np.expm1(x) / np.where(x == 0, 1, x)))
    odd = [
        (np.nan, 1, 1),
        (1, np.nan, 1),
        (1, 1, np.nan),
        (1, 2, np.inf),
        (1, 0.5, -np.inf),
        (2e6, 1, 1),
        (1, 0.5, 1e300),
    ]
    assert np.isnan(f(*np.array(odd).T)).all()
    far = np.array([(1.5, 2.5, 5000.0), (1.5, 2.5, -5000.0), (700.0, 0.5, -900.0), (2.0, -3.0, 1.0)])
    np.testing.assert_allclose(f(*far.T), confluent.special.hyp1f1(*far.T), rtol=1e-12)


@pytest.mark.parametrize("linker", LINKERS)
def test_polynomials_that_end_before_the_pole_of_their_series(linker):
    """Kummer's transformation does not hold for them."""
    f, z = compiled(linker), np.array([-40.0, -1.0, -0.3, 0.0, 0.7, 2.0, 30.0])
    for n, more in [(1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 4), (6, 2)]:
        term = wanted = np.ones_like(z)
        for k in range(n):
            term = term * (k - n) * z / ((k - n - more) * (k + 1))
            wanted = wanted + term
        np.testing.assert_allclose(f(z * 0 - n, z * 0 - n - more, z), wanted, rtol=1e-11)


def test_its_gradient_goes_to_the_argument(rng):
    tg.verify_grad(lambda x: T.hyp1f1(1.5, [[2.5], [-0.5]], x), [rng.normal(size=(2, 4)) * 3], rng=rng)
    a, x = T.dscalar("a"), T.dvector("x")
    with pytest.raises(NotImplementedError, match="differentiated by its last argument only"):
        tg.grad(T.hyp1f1(a, 2.5, x).sum(), a)
