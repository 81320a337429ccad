"""What NumPy's, SciPy's and autograd's own tests ask for, and did not get: one test for each kind."""

import numpy as np
import pytest
from helpers import assert_same, check, quick
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

import termgraph as tg
import termgraph.tensor as T

MODES = ["None", "FAST_RUN", "STRICT", tg.Mode(linker="py")]
inf, nan = np.inf, np.nan


# ---------------------------------------------------------------------- infinite points
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_lines_between_points_that_are_not_all_finite(mode):
    x, xp, fp, zp = T.dvector(), T.dvector(), T.dvector(), T.zvector()
    real = tg.function([x, xp, fp], T.interp(x, xp, fp), mode=mode)
    parts = tg.function([x, xp, zp], T.interp(x, xp, zp), mode=mode)
    at, four = [0.5, 1, 2, 2.5, 3, 4], [1.0, 2, 3, 4]
    for points, values in (
        (four, [1, 2, inf, 4]), (four, [1, 2, nan, 4]), (four, [inf, inf, -inf, 4]), ([nan, 1], [0, 10]),
        ([0, inf], [-inf, 10]), ([0, inf], [inf, 10]), ([0, inf], [3, 10]), ([-inf, inf], [10, 10]),
        ([-inf, inf], [0, 10]), ([-inf, 1], [0, 10]), ([-inf, 1], [10, 10]), ([0, 5], [-inf, inf]),
        ([0, 5], [inf, inf]), ([1, 3, 3, 4], four),
    ):  # fmt: skip
        assert_same(real(at, points, values), np.interp(at, points, values))
        for z in ([complex(v, 1) for v in values], [complex(2, v) for v in values], [*values[:-1], complex(4, inf)]):
            assert_same(parts(at, points, z), np.interp(at, points, z))


def test_slopes_of_lines_at_their_points():
    xp, fp = np.array([0.0, 1, 3]), np.array([1.0, 3, 2])
    x = T.dvector()
    slope = tg.grad(T.interp(x, xp, fp).sum(), x)
    np.testing.assert_allclose(slope.eval({x: [0.0, 0.5, 1, 2]}), [2, 2, -0.5, -0.5])
    tg.verify_grad(lambda x, fp: T.interp(x, xp, fp), [np.array([0.4, 2.5]), fp], rng=np.random.RandomState(1))


# ---------------------------------------------------------------------- bounds that the dtype has anyway
@given(data=st.data())
@quick()
def test_python_bounds_beyond_what_a_dtype_holds(data):
    dtype = data.draw(st.sampled_from(["int8", "uint8", "int32", "uint64", "int64"]))
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    low = data.draw(st.sampled_from([None, least, least - 1, -(10**30), 3]))
    high = data.draw(st.sampled_from([None, most, most + 1, 10**30, 5]))
    a = np.array([least, 0, 1, 4, 100, most], dtype)
    check(lambda x: T.clip(x, low, high), lambda x: np.clip(x, low, high), a)
    check(lambda x: x.clip(min=low, max=high), lambda x: np.clip(x, low, high), a)
    with pytest.raises(OverflowError, match="does not fit"):
        T.clip(a, most + 1, None)


def test_closeness_to_a_python_number():
    a = np.array([1.0, 0.1, 3.0], "float32")
    for b in (0.1, 0.9999999999999998, 3):
        check(lambda x, b=b: T.isclose(x, b, 0, 0), lambda x, b=b: np.isclose(x, b, 0, 0), a)
        check(lambda x, b=b: T.isclose(b, x, 0, 0), lambda x, b=b: np.isclose(b, x, 0, 0), a)
    for b in (300, -1, 2):
        check(lambda x, b=b: T.isclose(x, b), lambda x, b=b: np.isclose(x, b), np.arange(3, dtype="uint8"))
        check(lambda x, b=b: T.isclose(b, x), lambda x, b=b: np.isclose(b, x), np.arange(3, dtype="uint8"))
    assert bool(T.allclose(a, [1, np.float32(0.1), 3], 0, 0).eval()) and bool(T.isclose(1, 1.0).eval())


# ---------------------------------------------------------------------- numbers in rows
def test_spirals():
    for start, stop, how in (
        (1j, 16j, {}), (1 + 1j, -3 + 2j, {}), (-1, 1, {"dtype": "complex128"}), (2, 8j, {"endpoint": False}),
        (np.array([1, 2j]), np.array([1j, 3]), {"axis": -1}),
    ):  # fmt: skip
        for num in (1, 2, 5):
            got, want = T.geomspace(start, stop, num, **how).eval(), np.geomspace(start, stop, num, **how)
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
            assert got.dtype == want.dtype
    assert_same(T.geomspace(-1, -1000, 5, dtype="int64").eval(), np.geomspace(-1, -1000, 5, dtype="int64"))
    x = T.zscalar()
    np.testing.assert_allclose(T.geomspace(1, x, 3).eval({x: -4}), np.geomspace(1 + 0j, -4 + 0j, 3), atol=1e-12)


def test_several_bases():
    for start, stop, base in ((1, 2, [1, 2]), (1, [2, 3], [1.0, 2.0]), ([1, 2], [[3], [4]], [2, 3]), (1, 2, 3)):
        for axis in (0, -1):
            want = np.logspace(start, stop, 4, base=base, axis=axis)
            got = T.logspace(start, stop, 4, base=base, axis=axis).eval()
            np.testing.assert_allclose(got, want, rtol=1e-12)
            assert got.dtype == want.dtype


@pytest.mark.parametrize("count", [None, 0, 3, 16, 17, 20, -3, -16])
def test_more_bits_than_there_are(count):
    a = np.array([[131, 7], [0, 255]], "uint8")
    for axis in (None, 0, 1):
        if count is None or count >= -8:
            check(lambda x: T.unpackbits(x, axis, count), lambda x: np.unpackbits(x, axis, count), a)  # noqa: B023
    n = T.lscalar()
    if count is not None:
        assert_same(T.unpackbits(a, count=n).eval({n: count}), np.unpackbits(a, count=count))


def test_arrays_of_arrays_side_by_side():
    a = np.arange(24.0).reshape(2, 3, 4)
    for axis in (0, 1, -1):
        check(lambda x, axis=axis: T.stack(x, axis), lambda x, axis=axis: np.stack(x, axis), a)
    check(lambda x: T.stack(x, dtype="float32"), lambda x: np.stack(x, dtype="float32"), a)
    check(lambda x: T.stack(x, 1), lambda x: np.stack([x, 1.0]), np.array(2.0))  # Theano's stack(a, b)


# ---------------------------------------------------------------------- words that were missing
def test_lengths_and_orders_by_keyword():
    a = np.zeros((2, 3, 4))
    for axis in ((), (0,), (0, 2), (-1, 1, 0), 1, None):
        want = int(np.prod(np.array(a.shape)[list(axis)])) if isinstance(axis, tuple) else np.size(a, axis)
        x = T.dtensor3()
        sizes = tg.function([x], [T.size(a, axis), T.size(x, axis)], on_unused_input="ignore")(a)
        assert [int(n) for n in sizes] == [want, want]
    for axes in ((2, 0, 1), [0, 2, 1], None):
        check(lambda x, axes=axes: T.transpose(x, axes=axes), lambda x, axes=axes: np.transpose(x, axes=axes), a)
    with pytest.raises(TypeError, match="transpose: the order of dimensions is given twice"):
        T.transpose(a, 0, 1, 2, axes=(0, 1, 2))
    check(lambda z: z.conjugate(), np.conjugate, np.array([1 + 2j]))


def test_full_lengths_of_transforms(rng):
    a = rng.normal(size=(4, 6))
    for name in ("fftn", "ifftn", "fft2", "rfft2", "rfftn", "irfftn", "irfft2"):
        ours, theirs = getattr(T.fft, name), getattr(np.fft, name)
        for s in ((-1, 5), (3, -1), (-1, -1)):
            check(lambda x: ours(x, s, (0, 1)), lambda x: theirs(x, s, (0, 1)), a, rtol=1e-12)  # noqa: B023


def test_sums_of_exponentials_with_factors(rng):
    a, b = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    a[0, 1], b[0, 1] = inf, 0.0
    for axis in (None, 0, (0, 1)):
        for keepdims in (False, True):
            how = {"axis": axis, "keepdims": keepdims}
            want = special.logsumexp(a, b=b, return_sign=True, **how)
            got = tg.function([], T.logsumexp(a, b=b, return_sign=True, **how))()
            for ours, theirs in zip(got, want, strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-12)
            assert_same(T.logsumexp(a, b=b * b, **how).eval(), special.logsumexp(a, b=b * b, **how), rtol=1e-12)
    assert_same(T.logsumexp([1000.0, 999.0], b=[1, -1]).eval(), special.logsumexp([1000.0, 999.0], b=[1, -1]))
    assert np.isnan(T.logsumexp([0.0, 1.0], b=[1, -1]).eval())
    assert T.logsumexp(T.fvector(), b=2.0).dtype == "float32"
    rng = np.random.RandomState(1)
    tg.verify_grad(lambda a, b: T.logsumexp(a, 1, b=b * b + 1), [np.nan_to_num(a, posinf=0.5), b], rng=rng)


def test_arrays_as_they_lie(rng):
    x, y, m = rng.normal(size=3), rng.normal(size=3), rng.normal(size=(3, 2))
    few = np.float32([1, 2])
    keys = [
        (x, 0, y), (x,), 3.5, slice(1, 4), (slice(0, 1, 5j), x), (slice(3, 0, -1), 2), (few, 1.0, 2), (few, y),
        ([1, 2], 3), ("0,2", x, y), ("1,2,0", x, y), ("-1", m, m), ("0,3,1", m, m), ("1,3,-2", m, m),
        ("0,2,0", x, m[:, :1]), (m, m),
    ]  # fmt: skip
    for key in keys:
        assert_same(T.r_[key].eval(), np.r_[key])
    for key in ((x, y), (m, x), (x, m, slice(0, 3)), ([1, 2], [3, 4]), (m[None], m[None])):
        assert_same(T.c_[key].eval(), np.c_[key])
    v, w = T.dvector(), T.dvector()
    assert_same(tg.function([v, w], T.c_[v, w])(x, y), np.c_[x, y])
    tg.verify_grad(lambda v, w: T.r_[v, 1, w * 2], [x, y], rng=np.random.RandomState(1))
    for index, error, told in (
        ((), ValueError, "r_ needs at least one array"),
        (("r", x), ValueError, "up to three integers, such as '0,2,1'"),
        ((slice(3, None),), TypeError, "r_: a slice needs an end"),
        ((np.uint8([1]), 300), OverflowError, "300 out of bounds for uint8"),
        ((np.uint8([1]), -1), OverflowError, "-1 out of bounds for uint8"),
    ):  # fmt: skip
        with pytest.raises(error, match=told):
            T.r_[index]


def test_conditions_of_a_number_and_counts_of_nothing():
    for x, conditions, values in ((5, [True, False], [1, 0]), (3, [True, False, False], [4, 2, 0]), (3, [False], [1])):
        assert int(T.piecewise(x, conditions, values).eval()) == np.piecewise(x, conditions, values)
    assert_same(T.bincount([], minlength=2).eval(), np.bincount([], minlength=2))


# ---------------------------------------------------------------------- how many intervals
RULES = ["auto", "doane", "fd", "rice", "scott", "sqrt", "sturges"]


@pytest.mark.parametrize("rule", RULES)
def test_rules_for_the_number_of_intervals(rule, rng):
    normal, skewed = rng.normal(size=200), rng.exponential(size=500)
    whole = np.arange(-20, 21)
    for a in (normal, skewed, whole, (whole % 7).astype("uint8"), normal[:1], normal[:2], np.full(5, 2.0)):
        if rule != "auto" or a.size > 9:  # another rule before NumPy 2.4 where quartiles are equal
            check(lambda x: T.histogram_bin_edges(x, rule), lambda x: np.histogram_bin_edges(x, rule), a, rtol=1e-12)
            check(lambda x: T.histogram(x, rule)[0], lambda x: np.histogram(x, rule)[0], a)
        for limits in ((-1, 1.5), (50, 60)):
            ours, theirs = (lambda x: T.histogram(x, rule, limits)), (lambda x: np.histogram(x, rule, limits))  # noqa: B023
            for k in (0, 1) if rule != "auto" or a.size > 9 else ():
                check(lambda x: ours(x)[k], lambda x: theirs(x)[k], a, rtol=1e-12)  # noqa: B023


def test_numbers_of_intervals_that_are_computed_or_refused(rng):
    a, n = rng.normal(size=20), T.lscalar()
    counts, edges = tg.function([n], T.histogram(a, n))(4)
    assert_same(counts, np.histogram(a, 4)[0])
    np.testing.assert_allclose(edges, np.histogram(a, 4)[1])
    few = np.array([1.0], "float16")
    for limits in (np.float32([1.0000001, 2]), (1, 2), (0.5, np.float32(2))):
        got, want = T.histogram(few, 2, limits), np.histogram(few, 2, limits)
        assert_same(got[0].eval(), want[0])
        assert got[1].dtype == want[1].dtype
    with pytest.raises(ValueError, match="bins must be a number, edges, or one of auto, doane, .*, got 'stone'"):
        T.histogram(a, "stone")
    with pytest.raises(TypeError, match="bins='fd' takes no weights; give the number of bins, or edges"):
        T.histogram(a, "fd", weights=a)


# ---------------------------------------------------------------------- errors
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_whole_numbers_on_the_edges_of_intervals(mode, rng):
    x = T.lvector("x")
    a = rng.integers(-30, 40, 300)
    a[:2] = -30, 39
    counts, edges = tg.function([x], T.histogram(x, 18), mode=mode)(a)
    wanted, places = np.histogram(a, 18)
    np.testing.assert_array_equal(edges, places)  # -7 and 16 are edges
    np.testing.assert_array_equal(counts, wanted)


def test_what_to_write_in_the_place_of_a_ufuncs_words():
    x = T.dvector("x")
    for call, error, told in (
        (lambda: T.add(x, 1, dtype="float32"), TypeError, "add has no parameter 'dtype'; .*write x.astype"),
        (lambda: T.exp(x, where=x > 0), TypeError, r"exp has no parameter 'where'; .*write T.where\("),
        (lambda: T.exp(x, out=None), TypeError, "'out'; .*results are new arrays"),
        (lambda: T.exp(x, loop=3), TypeError, "exp has no parameter 'loop'; it has none$"),
        (lambda: T.add.reduce(x), AttributeError, r"add is no ufunc and has no 'reduce'; write T.sum\(x, axis\)"),
        (lambda: T.maximum.accumulate(x), AttributeError, "maximum is no ufunc and has no 'accumulate'; write "),
        (lambda: T.add.at(x, 0, 1), AttributeError, "T.inc_subtensor"),
        (lambda: T.mul.outer(x, x), AttributeError, "operands x"),
    ):  # fmt: skip
        with pytest.raises(error, match=told):
            call()
    assert not hasattr(T.add, "reduceat")
