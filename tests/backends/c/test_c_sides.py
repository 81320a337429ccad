"""What a side of a choice demands of lengths is checked where the choice falls on that side, in one C program."""

import numpy as np
import pytest
import scipy.fft
import scipy.signal

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.terms.errors import ShapeError

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
x, y, n = T.dmatrix("x"), T.dmatrix("y"), T.lscalar("n")


def in_c(args, result, **more):
    return tg.function(args, result, mode=tg.Mode(linker="c"), **more)


def fails(f, *given):
    with pytest.raises(ShapeError) as caught:
        f(*given)
    return str(caught.value)


@pytest.mark.parametrize(
    "condition", [n > 0, n >= 1, T.eq(n, 1), T.neq(n, 0), ~(n < 1), T.eq(n % 2, 1), n.astype("bool")]
)
def test_a_product_is_checked_where_it_is_taken(condition, rng):
    f = in_c([x, y, n], tg.ifelse(condition, T.dot(x, y).sum(axis=1), T.sin(x).sum(axis=1)))
    a, b = rng.normal(size=(3, 4)), rng.normal(size=(4, 5))
    np.testing.assert_allclose(f(a, b, 1), (a @ b).sum(axis=1))
    np.testing.assert_allclose(f(a, b.T, 0), np.sin(a).sum(axis=1))
    assert "dot" in fails(f, a, b.T, 1)


def test_it_may_be_the_other_side(rng):
    f = in_c([x, y, n], tg.ifelse(n > 3, T.exp(x), x + T.dot(y, y.T)))
    a, b = rng.normal(size=(3, 3)), rng.normal(size=(3, 5))
    np.testing.assert_allclose(f(a, b, 3), a + b @ b.T)
    np.testing.assert_allclose(f(a[:2], b, 4), np.exp(a[:2]))
    fails(f, a[:2], b, 3)


@pytest.mark.parametrize("condition", [lambda u: u > 5, lambda u: u, lambda u: u.astype("bool")])
@pytest.mark.parametrize("dtype", ["uint64", "uint32", "uint8"])
def test_numbers_without_sign_choose_as_numpys_do(condition, dtype, rng):
    """Lengths are computed with a sign: a condition on 2**63 and more may not become one on negative numbers."""
    u, a = T.scalar("u", dtype=dtype), rng.normal(size=(3, 4))
    f = tg.function([x, y, u], tg.ifelse(condition(u), T.exp(x + y).sum(), x.sum()))
    np.testing.assert_allclose(f(a, a[:2], np.dtype(dtype).type(0)), a.sum())
    fails(f, a, a[:2], np.dtype(dtype).type(np.iinfo(dtype).max))


def test_what_both_sides_demand_is_checked_in_any_case(rng):
    z = x + y
    f = in_c([x, y, n], tg.ifelse(n > 0, T.exp(z), T.sin(z)))
    a = rng.normal(size=(2, 3))
    np.testing.assert_allclose(f(a, a, 0), np.sin(2 * a))
    for k in (0, 1):
        fails(f, a, a[:, :2], k)


def test_lengths_that_one_side_makes_equal_are_not_equal_on_the_other(rng):
    u, v = T.dvector("u"), T.dvector("v")
    f = in_c([u, v, n], tg.ifelse(n > 0, (u + v).sum() + u[-1], u.sum() * v.sum() + v[-1]))
    a, b = rng.normal(size=5), rng.normal(size=3)
    np.testing.assert_allclose(f(a, b, 0), a.sum() * b.sum() + b[-1])
    np.testing.assert_allclose(f(a, a, 1), 2 * a.sum() + a[-1])
    fails(f, a, b, 1)


def test_what_a_choice_and_one_inside_of_another_demand_is_checked_for_both(rng):
    u, v, m = T.dvector("u"), T.dvector("v"), T.lscalar("m")
    both = T.exp(u + v)
    inner = tg.ifelse(m > 0, both, 2 * u)
    results = [tg.ifelse(n > 0, inner.sum(), u.sum()), tg.ifelse(n > 1, both.sum(), 3 * u.sum())]
    f = tg.function([u, v, n, m], results, mode=tg.Mode(linker="auto"))
    a = rng.normal(size=3)
    np.testing.assert_allclose(f(a, a, 1, 1), [np.exp(2 * a).sum(), 3 * a.sum()])
    np.testing.assert_allclose(f(a, a[:2], 1, 0), [2 * a.sum(), 3 * a.sum()])
    fails(f, a, a[:2], 1, 1)


# What is taken of a vector if its length is a certain one, and which; elsewhere it may demand what it likes.
SIDES = {
    "product": (lambda r: T.dot(r, np.arange(3.0)), 3, lambda r: r @ np.arange(3)),
    "sum": (lambda r: (r + np.arange(3.0)).sum(), 3, lambda r: (r + np.arange(3)).sum()),
    "factors": (
        lambda r: T.linalg.cholesky(r.reshape((2, 2)) + 9 * T.eye(2)).sum(), 4,
        lambda r: np.linalg.cholesky(r.reshape(2, 2) + 9 * np.eye(2)).sum(),
    ),
    "no points": (lambda r: T.fft.irfft(r[1:] + 0j).sum(), 4, lambda r: np.fft.irfft(r[1:]).sum()),
}  # fmt: skip


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("name", SIDES)
def test_in_steps_that_choose_alike_only_one_side_is_checked(name, nested, rng):
    side, length, wanted = SIDES[name]

    def step(r):
        found = tg.ifelse(T.eq(r.shape[0], length), side(r), r.sum())
        return tg.ifelse(r[0] > 2, r.prod(), found) if nested else found

    f = in_c([x], tg.scan(step, x)[0])
    for columns in (1, 2, 3, 4, 5):
        a = rng.random(size=(3, columns))
        a[1, 0] = 3 if nested else a[1, 0]
        expected = [wanted(r) if columns == length else r.sum() for r in a]
        expected[1] = a[1].prod() if nested else expected[1]
        np.testing.assert_allclose(f(a), expected)


def test_in_steps_that_choose_for_themselves_lengths_are_checked_for_all(rng):
    v = T.dvector("v")
    f = in_c([x, v], tg.scan(lambda r, v: tg.ifelse(r[0] > 0, T.exp(r + v).sum(), r.sum()), x, non_sequences=v)[0])
    a = np.abs(rng.normal(size=(3, 4)))
    np.testing.assert_allclose(f(a, a[0]), np.exp(a + a[0]).sum(axis=1))
    fails(f, a, a[0, :2])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_transforms_of_any_number_of_points_in_steps(dtype, rng):
    rows = T.matrix("rows", dtype=dtype)
    f = in_c([rows], tg.scan(lambda r: (T.signal.hilbert(r), T.fft.irfft(r + 0j, r.shape[0])), rows)[0])
    for points in (1, 2, 3, 4, 7):
        a = rng.normal(size=(2, points)).astype(dtype)
        found = f(a)
        np.testing.assert_allclose(found[0], scipy.signal.hilbert(a), atol=1e-5)
        np.testing.assert_allclose(found[1], scipy.fft.irfft(a, points), atol=1e-5)


def test_lengths_of_steps_may_be_counted_down(rng):
    """`-k - 1` of a whole number is `~k`, which is a length like any other."""
    f = in_c([x], tg.scan(lambda r: T.zeros((2 * -(-r.shape[0] // 2) + 1 - r.shape[0],)) + r.sum(), x)[0])
    for columns in (4, 5):
        a = rng.normal(size=(3, columns))
        np.testing.assert_allclose(f(a), np.tile(a.sum(axis=1)[:, None], 1 + columns % 2))


def test_choices_within_choices_are_pythons_still(rng):
    inner = tg.ifelse(n > 1, T.dot(x, y), y)
    f = tg.function([x, y, n], tg.ifelse(n > 0, inner, x))
    a, b = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    for k, want in ((0, a), (1, b), (2, a @ b)):
        np.testing.assert_allclose(f(a, b, k), want)


def test_gradients_and_updates(rng):
    count = tg.shared(np.zeros(3))
    loss = tg.ifelse(n > 0, (T.dot(x, y) ** 2).sum(), (x**3).sum())
    f = in_c([x, y, n], loss, updates=[(count, count + x[0, 0])])
    g = tg.function([x, y, n], tg.grad(loss, x))  # whose sides have equal lengths by that condition only
    a, b = rng.normal(size=(3, 4)), rng.normal(size=(4, 2))
    np.testing.assert_allclose((f(a, b, 1), f(a, b.T, 0)), (((a @ b) ** 2).sum(), (a**3).sum()))
    np.testing.assert_allclose(g(a, b, 1), 2 * a @ b @ b.T)
    np.testing.assert_allclose(g(a, b.T, 0), 3 * a**2)
    before = count.get_value()
    fails(f, a, b.T, 1)
    np.testing.assert_array_equal(count.get_value(), before)


def test_transforms_of_nothing_where_nobody_asks_for_them():
    f = in_c([x, n], tg.ifelse(n > 0, T.fft.irfft(T.fft.rfft(x)).sum(axis=0), T.zeros(x.shape[1] // 2 * 2)))
    np.testing.assert_array_equal(f(np.zeros((0, 4)), 0), np.zeros(4))
    np.testing.assert_array_equal(f(np.zeros((2, 0)), 0), np.zeros(0))
    a = np.arange(8.0).reshape(2, 4)
    np.testing.assert_allclose(f(a, 1), a.sum(axis=0))


@pytest.mark.parametrize("name", ["dct", "idct", "dst", "idst"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
def test_the_fourth_type_of_any_length_is_one_program(name, dtype, rng):
    a = T.tensor("a", dtype=dtype, shape=(None, None))
    for axis, norm in ((1, None), (0, "ortho")):
        f = in_c([a], getattr(T.fft, name)(a, 4, axis=axis, norm=norm))
        for k in (1, 2, 3, 4, 7, 8, 30, 31):
            value = rng.normal(size=(3, k)) + 1j * rng.normal(size=(3, k))
            value = (value if dtype[0] == "c" else value.real).astype(dtype)
            value = value.T if axis == 0 else value
            want = getattr(scipy.fft, name)(value, 4, axis=axis, norm=norm)
            np.testing.assert_allclose(f(value), want, atol=2e-5 if dtype == "float32" else 1e-12, rtol=0)
    fails(in_c([a], getattr(T.fft, name)(a, 4)), np.zeros((2, 0), dtype))


def test_inverse_transforms_of_numbers_of_points_that_a_call_says(rng):
    z = T.tensor("z", dtype="complex128", shape=(None, None))
    for axis in (0, 1):
        f = in_c([z, n], T.fft.irfft(z, n, axis=axis))
        for k in (1, 2, 3, 6, 7):
            a = rng.normal(size=(4, 4)) + 1j * rng.normal(size=(4, 4))
            np.testing.assert_allclose(f(a, k), np.fft.irfft(a, k, axis=axis), atol=1e-14)
        for k in (0, -1, -(10**12)):
            with pytest.raises(ValueError, match=r"Invalid number of FFT|negative|promised"):
                f(a, k)


def test_what_is_not_taken_has_no_room():
    f = in_c([x], tg.ifelse(x.shape[0] < 1000, T.exp(T.dot(x, x.T)).sum(), x.sum()))
    assert f(np.ones((3_000_000, 1))) == 3_000_000  # the product would have 72 TB
    np.testing.assert_allclose(f(np.ones((10, 1))), 100 * np.e)
    g = in_c([n], tg.ifelse(n > 0, T.exp(T.cumsum(T.arange(n) * 1.0)).sum(), T.constant(0.0)))
    assert g(-(10**12)) == 0
    np.testing.assert_allclose(g(3), np.exp([0, 1, 3]).sum())
