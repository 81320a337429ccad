"""Integers are what NumPy computes, in every mode: where they wrap, where signs differ, in batches of products."""

import itertools

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
MODES = [tg.Mode(optimizer="None"), "FAST_RUN", "STRICT", tg.Mode("py")]
COMPARISONS = {
    T.lt: np.less, T.le: np.less_equal, T.gt: np.greater, T.ge: np.greater_equal, T.eq: np.equal, T.neq: np.not_equal,
}  # fmt: skip


def edges(dtype):
    """The numbers where something happens."""
    info = np.iinfo(dtype)
    return np.unique(
        np.array([info.min, info.min + 1, 0, 1, 2, 100, info.max - 1, info.max, *([-1] * (info.min < 0))], dtype)
    )


@pytest.mark.parametrize("signed", ["int8", "int32", "int64"])
@pytest.mark.parametrize("unsigned", ["uint8", "uint32", "uint64"])
def test_comparisons_of_mixed_signs(signed, unsigned):
    for a, b in ((signed, unsigned), (unsigned, signed)):
        x, y = T.TensorType(a, (None, 1))("x"), T.TensorType(b, (1, None))("y")
        given = edges(a)[:, None], edges(b)[None]
        for mode in (MODES[0], "FAST_RUN"):
            found = tg.function([x, y], [f(x, y) for f in COMPARISONS], mode=mode)(*given)
            for got, (f, reference) in zip(found, COMPARISONS.items()):
                assert np.array_equal(got, reference(*given)), (f, a, b, mode)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_default_rules_count_on_no_limits(dtype):
    x, y = T.TensorType(dtype, (None,))("x"), T.TensorType(dtype, (None,))("y")
    a, b = map(np.ravel, np.meshgrid(edges(dtype), edges(dtype)))
    a, b = a[b != 0], b[b != 0]
    expressions = [
        (x * y) / y, (x + x) / x, (x + x) / 2, (x * 2) // 2, (x * y) // y, (x - y) + y, x * y + x * x, (x * y) * x / y,
        abs(x) >= 0, T.maximum(abs(x), 0), T.maximum(-x, x), T.eq(x + 1, y + 1), (x + 1) > x, T.sqr(x) >= 0, abs(-x),
        T.minimum(abs(x), 0), -x <= 0, T.maximum(-abs(x), 0), x**2, (x * y) % y, T.neg(-x), T.max(-x),
        T.switch(x > 0, -x, x), T.argmax(x * 3), T.abs(x) * T.sgn(x), T.sqrt(T.sqr(x)), T.log(abs(x) * 1.0),
    ]  # fmt: skip
    expected = tg.function([x, y], expressions, mode=tg.Mode("py", optimizer="None"))(a, b)
    for mode in ("FAST_RUN", "STRICT"):
        for e, want, got in zip(expressions, expected, tg.function([x, y], expressions, mode=mode)(a, b)):
            assert want.dtype == got.dtype, e
            assert np.allclose(want, got, rtol=1e-14, equal_nan=True), (
                str(e),
                mode,
                want[want != got],
                got[want != got],
            )


def test_where_no_integers_are_computed_the_assumption_is_not_needed():
    x, y = T.dvectors("x", "y")
    assert tg.rewrite((x * y) / y) is x
    i, j = T.lvectors("i", "j")
    assert tg.rewrite((i * j) / j) is not i
    unsafe = tg.function([i, j], (i * j) / j, mode="UNSAFE", on_unused_input="ignore")
    assert "algebra.mul_div" in unsafe.profile.rules


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "int64", "bool"])
@pytest.mark.parametrize("mode", MODES)
def test_batches_of_products(dtype, mode):
    rng = np.random.default_rng(3)
    x, y, w = (T.TensorType(dtype, (None,) * n)(name) for n, name in ((3, "x"), (3, "y"), (2, "w")))
    a, b, c = (
        rng.integers(0, 2 if dtype == "bool" else 100, shape).astype(dtype) for shape in ((4, 2, 3), (4, 3, 5), (3, 2))
    )
    e = [x @ y, w @ x, T.einsum("bij,bjk->bik", x, y), tg.vmap(T.dot)(x, y), x[None] @ y]
    got = tg.function([x, y, w], e, mode=mode)(a, b, c)
    for found, want in zip(got, [a @ b, c @ a, a @ b, a @ b, a[None] @ b], strict=True):
        assert found.dtype == want.dtype == dtype and np.array_equal(found, want)
    empty = tg.function([x, y], x @ y, mode=mode)(a[:, :, :0], b[:, :0])
    assert empty.shape == (4, 2, 5) and not empty.any()


def test_convolution_of_integers():
    x, w = T.itensor4("x"), T.itensor4("w")
    a, b = np.arange(2 * 3 * 25, dtype="i4").reshape(2, 3, 5, 5), np.arange(36, dtype="i4").reshape(3, 3, 2, 2)
    for mode in MODES:
        got = tg.function([x, w], T.nnet.conv2d(x, w), mode=mode)(a, b)
        z, k = T.dtensor4("z"), T.dtensor4("k")
        want = tg.function([z, k], T.nnet.conv2d(z, k))(a.astype(float), b.astype(float))
        assert got.dtype == "int32" and np.array_equal(got, want)


def test_triangles_keep_their_dtype():
    for dtype in ("bool", "int8", "uint64", "float32", "complex64"):
        x = T.TensorType(dtype, (None, None))("x")
        a = np.ones((2, 3), dtype)
        for got, want in zip(tg.function([x], [T.tril(x), T.triu(x, 1)])(a), [np.tril(a), np.triu(a, 1)]):
            assert got.dtype == want.dtype and np.array_equal(got, want)


@pytest.mark.parametrize("mode", MODES)
def test_lengths_below_zero_are_refused_also_where_only_a_sum_is_left(mode):
    n = T.lscalar("n")
    for e in [T.ones((n, n, n)).sum(), T.zeros((n,)).sum(), T.alloc(2.0, n).prod(), T.ones((n, 3)).mean()]:
        with pytest.raises(ValueError, match="negative|below zero|length"):
            tg.function([n], e, mode=mode)(-1)
    assert tg.function([n], T.ones((n, n)).sum(), mode=mode)(3) == 9


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_infinities_in_softmax_and_logsumexp(mode, dtype):
    x = T.TensorType(dtype, (None,))("x")
    e = [T.logsumexp(x), T.softmax(x, axis=0), T.log_softmax(x, axis=0)]
    f = tg.function([x], e, mode=mode)
    reference = tg.function([x], e, mode=tg.Mode("py", optimizer="None"))
    values = [-1.0, np.inf, -np.inf, np.nan]
    for row in [r for k in (1, 2, 3) for r in itertools.combinations_with_replacement(values, k)]:
        given = np.array(row, dtype)
        for got, want in zip(f(given), reference(given)):
            assert np.allclose(got, want, rtol=1e-3, equal_nan=True), (row, got, want)


def test_axes_and_indices_in_other_clothes():
    x, m = T.dvector("x"), T.dmatrix("m")
    assert tg.function([x], T.tensordot(x, x, axes=np.array([[0], [0]])))(np.ones(3)) == 3
    assert tg.function([x], T.tensordot(x, x, axes=np.array(1)))(np.ones(3)) == 3
    a = np.arange(9.0).reshape(3, 3)
    assert np.array_equal(tg.function([m], m[[slice(0, 2), slice(None, None, 2)]])(a), a[0:2, ::2])
    assert T.TensorType("float64", [np.False_, np.True_]) is T.TensorType("float64", (None, 1))
    assert T.TensorType("float64", np.array([False, True])).broadcastable == (False, True)


def test_python_numbers_beside_uint64():
    """They take its dtype, also where there is no loop for uint64 and int64: hashes and random bits are made so."""
    u, v = T.TensorType("uint64", (None,))("u"), edges("uint64")
    formulas = [
        lambda u: u & 1, lambda u: 7 | u, lambda u: u ^ (u >> 30), lambda u: (u << 3) ^ 5, lambda u: 1 << (u & 63),
        lambda u: (u ^ (u >> 27)) * 0x94D049BB133111EB, lambda u: ~u % 10,
    ]  # fmt: skip
    for mode in (MODES[0], "FAST_RUN"):
        for found, f in zip(tg.function([u], [f(u) for f in formulas], mode=mode)(v), formulas):
            assert found.dtype == "uint64" and np.array_equal(found, f(v))
    with pytest.raises(OverflowError, match="-1 does not fit uint64"):
        u & -1


def test_the_least_number_as_a_coefficient(recwarn):
    """`x - -128 * y` of int8: the coefficient has no negative of its own."""
    x, y = T.bvectors("x", "y")
    given = np.array([1, 2, -3, -128], "i1"), np.array([5, -6, 7, -128], "i1")
    formulas = [lambda x, y: x - y * -128, lambda x, y: -(x * -128) - (-128 * y), lambda x, y: (x - -128) - y * 2]
    found = tg.function([x, y], [f(x, y) for f in formulas], mode=tg.Mode("py"))(*given)
    for got, f in zip(found, formulas):
        np.testing.assert_array_equal(got, f(*given))
    assert not list(recwarn)
