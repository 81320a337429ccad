"""Keyword arguments of NumPy's functions: those that are here mean what they mean there, the others have reasons."""

import inspect

import numpy as np
import pytest
from helpers import DTYPES, FLOATS, arrays, assert_same, check, quick
from hypothesis import given
from hypothesis import strategies as st

import termgraph as tg
import termgraph.tensor as T

ANYWHERE = {
    "results are new arrays": "out",
    "how an array lies in memory is not said": "order device like subok copy",
    "the first array has another name": "a m v ary arr array tup A N prototype x1 x2 start_or_stop x y ar",
    "changes its argument": "overwrite_input",
}
BY_NAME = {
    "argpartition kind": "partial sorts have one way", "partition kind": "partial sorts have one way",
    "concat out": "results are new arrays", "fill_diagonal val": "the word is `value`",
    "array ndmax": "lists are read to their end", "median weights": "not yet",
}  # fmt: skip


def keywords(function):
    try:
        named = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # ufuncs and what is written in C
        return None
    if any(p.kind == p.VAR_KEYWORD for p in named):
        return None
    return list(named)


@pytest.mark.parametrize("space, numpys", [(T, np), (T.linalg, np.linalg), (T.fft, np.fft)], ids=["", "linalg", "fft"])
def test_a_keyword_of_numpy_is_here_or_has_a_reason(space, numpys):
    excused = {word for words in ANYWHERE.values() for word in words.split()}
    missing, compared = [], 0
    for name in dir(space):
        theirs = getattr(numpys, name, None)
        if name[0] == "_" or not callable(theirs) or isinstance(theirs, (type, np.ufunc)):
            continue
        want, have = keywords(theirs), keywords(getattr(space, name))
        if want is None or have is None:
            continue
        compared += 1
        asked = [p.name for p in want if p.kind != p.VAR_POSITIONAL and p.name not in {h.name for h in have}]
        missing += [f"{name} {w}" for w in asked if w not in excused and f"{name} {w}" not in BY_NAME]
    assert missing == [] and compared > {T: 100, T.linalg: 15, T.fft: 10}[space]


# ---------------------------------------------------------------------- what is not NaN
NANS = [T.nansum, T.nanprod, T.nanmean, T.nanvar, T.nanstd]


@pytest.mark.parametrize("ours", NANS, ids=lambda f: f.__name__)
@given(data=st.data(), a=arrays(FLOATS, shape=(2, 3)))
@quick()
def test_masks_of_what_is_not_nan(ours, a, data):
    a[0, 0] = np.nan
    mask = data.draw(st.sampled_from([np.eye(2, 3) > 0, np.eye(2, 3) == 0, True, np.array([True, False, True])]))
    axis, keepdims = data.draw(st.sampled_from([None, 0, 1])), data.draw(st.booleans())
    theirs = getattr(np, ours.__name__)
    how = {"where": mask, "keepdims": keepdims}
    with np.errstate(all="ignore"):
        rtol = 1e-2 if a.dtype == np.float16 else None
        check(lambda x: ours(x, axis, **how), lambda x: theirs(x, axis, **how), a, rtol=rtol)


def test_more_of_what_is_not_nan(rng):
    a = rng.normal(size=(3, 4))
    a[0, 1] = a[2, 0] = np.nan
    check(lambda x: T.nansum(x, 0, initial=2.0), lambda x: np.nansum(x, 0, initial=2.0), a)
    check(lambda x: T.nanprod(x, 1, initial=2.0, dtype="float32"), lambda x: np.nanprod(x, 1, np.float32, initial=2), a)
    check(lambda x: T.nanmean(x, dtype="float32"), lambda x: np.nanmean(x, dtype="float32"), a, rtol=1e-6)
    check(lambda x: T.nanvar(x, 1, correction=1), lambda x: np.nanvar(x, 1, correction=1), a)
    centre = np.nanmean(a, 1, keepdims=True)
    check(lambda x: T.nanstd(x, 1, mean=centre), lambda x: np.nanstd(x, 1, mean=centre), a)
    for ours, theirs in ((T.nanmax, np.nanmax), (T.nanmin, np.nanmin)):
        for mask in (a > 0, np.zeros(4, bool), np.isnan(a)):
            check(lambda x: ours(x, 1, initial=0.5, where=mask), lambda x: theirs(x, 1, initial=0.5, where=mask), a)  # noqa: B023
        check(lambda x: ours(x, 0, initial=0.25), lambda x: theirs(x, 0, initial=0.25), np.zeros((0, 2)))  # noqa: B023
        check(lambda x: ours(x, initial=9), lambda x: theirs(x, initial=9), np.array([[1, 20]]))  # noqa: B023
        with pytest.raises(ValueError, match=f"{ours.__name__}: `where` may leave nothing, so it needs `initial`"):
            ours(a, where=a > 0)
    with pytest.raises(ValueError, match="nanvar: ddof=1 and correction=1 mean the same"):
        T.nanvar(a, ddof=1, correction=1)
    for ours in (T.nanmean, T.nanvar, T.nanstd):
        with pytest.raises(TypeError, match="dtype int32 has no NaN"):
            ours(a, dtype="int32")
        assert ours(a > 0, dtype="float32").dtype == "float32"
    tg.verify_grad(lambda x: T.nanvar(x, 1, where=np.eye(2, 3) == 0), [a[1:, 1:]], rng=np.random.RandomState(1))


# ---------------------------------------------------------------------- quantiles
METHODS = [
    "linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf", "averaged_inverted_cdf", "closest_observation",
    "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased", "normal_unbiased",
]  # fmt: skip
SHARES = [0.0, 0.1, 0.25, 0.3, 1 / 3, 0.5, 0.625, 0.75, 0.875, 1.0]


@pytest.mark.parametrize("method", METHODS)
def test_methods_of_quantiles(method, rng):
    for n in (1, 2, 3, 4, 5, 8, 11):
        for dtype in ("float64", "int64"):
            a = rng.permutation(n).astype(dtype)
            check(lambda x: T.quantile(x, SHARES, method=method), lambda x: np.quantile(x, SHARES, method=method), a)
    a = rng.normal(size=(3, 7))
    check(lambda x: T.percentile(x, 30, 1, method), lambda x: np.percentile(x, 30, 1, method=method), a)
    check(lambda x: T.quantile(x, 0.3, 0, method), lambda x: np.quantile(x, 0.3, 0, method=method), a.astype("float32"))
    a[0, 1] = a[2, 3] = a[2, 4] = np.nan
    check(lambda x: T.nanquantile(x, SHARES, 1, method), lambda x: np.nanquantile(x, SHARES, 1, method=method), a)
    check(lambda x: T.quantile(x, SHARES, 1, method), lambda x: np.quantile(x, SHARES, 1, method=method), a)


@pytest.mark.parametrize("name", ["quantile", "nanquantile", "percentile", "nanpercentile"])
@given(data=st.data(), a=arrays(("float64", "float32", "int64"), min_dims=1, min_side=1))
@quick(20)
def test_quantiles_of_weighted_elements(name, data, a):
    axes = [None, *range(-a.ndim, a.ndim), *([(1, 0)] if a.ndim > 2 else [])]
    axis = data.draw(st.sampled_from(axes))
    all_of_them = axis is None or name[:3] == "nan" or data.draw(st.booleans())  # NumPy's nanquantile fails by others
    some = a.shape if all_of_them else tuple(a.shape[d] for d in np.atleast_1d(axis))
    w = data.draw(arrays(("float64", "int64"), shape=some).map(lambda w: abs(np.nan_to_num(w, posinf=3, neginf=2)) % 7))
    w = w + 1 if name[:3] == "nan" else np.concatenate([w.ravel()[:-1], [1]]).reshape(some) if axis is None else w + 1
    q = np.asarray(data.draw(st.sampled_from([0.0, 0.3, 1.0, [0.1, 0.5, 0.9], [[0.25, 0.75]]])))
    q = (q * 100 if name[-10:] == "percentile" else q).tolist()
    ours, theirs = getattr(T, name), getattr(np, name)
    how = {"axis": axis, "method": "inverted_cdf", "keepdims": data.draw(st.booleans())}
    check(lambda x, w: ours(x, q, weights=w, **how), lambda x, w: theirs(x, q, weights=w, **how), a, w)


def test_weights_of_quantiles_that_are_refused():
    a, method = np.arange(6.0).reshape(2, 3), "inverted_cdf"
    with pytest.raises(ValueError, match="weights need method='inverted_cdf', got 'linear'"):
        T.quantile(a, 0.5, weights=a)
    with pytest.raises(TypeError, match="weights have 1 dimensions; expected 2, or one per axis given"):
        T.quantile(a, 0.5, method=method, weights=a[0])
    with pytest.raises(ValueError, match="weights must not be negative"):
        T.quantile(a, 0.5, method=method, weights=-a).eval()
    for name in ("quantile", "nanquantile"):
        for weights in ([[1, 2, 3], [0, 0, 0]], [[1, 2, 3], [1, np.inf, 1]]):
            with pytest.raises(ValueError, match="weights must be finite, and not all zero"):
                getattr(T, name)(a, 0.5, 1, method, weights=weights).eval()
    tg.verify_grad(lambda x: T.quantile(x, 0.4, 1, method, weights=a + 1), [np.cos(a)], rng=np.random.RandomState(1))


# ---------------------------------------------------------------------- new arrays, and those put together
def test_shapes_and_dtypes_of_new_arrays():
    a, n = np.ones((2, 3), "float32"), T.lscalar("n")
    for ours, theirs in ((T.zeros_like, np.zeros_like), (T.ones_like, np.ones_like)):
        check(lambda x: ours(x, shape=(4, 1)), lambda x: theirs(x, shape=(4, 1)), a)  # noqa: B023
        assert ours(a, shape=(n,)).eval({n: 3}).shape == (3,)
    check(lambda x: T.full_like(x, 3, "int8", shape=2), lambda x: np.full_like(x, 3, "int8", shape=2), a)
    assert T.empty_like(a, shape=()).type.shape == ()
    assert_same(T.eye(2, M=3).eval(), np.eye(2, M=3))
    assert_same(T.tri(2, M=3).eval(), np.tri(2, M=3))
    for points, end in ((5, True), (5, False), (1, True), (1, False), (0, True)):
        ours, theirs = T.linspace(1, 3.0, points, end, retstep=True), np.linspace(1, 3.0, points, end, retstep=True)
        for got, want in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(got.eval(), want)
    np.testing.assert_array_equal(T.linspace(0, 1, n, retstep=True)[1].eval({n: 1}), np.nan)
    assert_same(T.linspace(0.0, [1.0, 3.0], 3, retstep=True)[1].eval(), np.array([0.5, 1.5]))


@given(a=arrays(DTYPES, shape=(2, 3)))
@quick()
def test_dtypes_of_what_is_put_together(a):
    for name in ("concatenate", "stack", "hstack", "vstack"):
        ours, theirs = getattr(T, name), getattr(np, name)
        check(lambda x: ours([x, x], dtype="complex128"), lambda x: theirs([x, x], dtype="complex128"), a)  # noqa: B023
        with np.errstate(invalid="ignore"):
            wanted = theirs([a, a], dtype="float32", casting="unsafe") if a.dtype.kind != "c" else None
        if wanted is not None:
            check(lambda x: ours([x, x], dtype="float32", casting="unsafe"), lambda x: wanted, a)  # noqa: B023
    with pytest.raises(TypeError, match="stack: casting='same_kind' makes no int8 of float64, the dtype of argument 0"):
        T.stack([T.dvector(), T.dvector()], dtype="int8")
    with pytest.raises(ValueError, match="concatenate: casting must be one of no, equiv, safe, same_kind, unsafe"):
        T.concatenate([a, a], casting="sure")


@pytest.mark.parametrize("shape", [(4, 3), (7, 3), (8, 2), (2, 5), (9, 3)])
def test_diagonals_that_begin_again(shape):
    want = np.zeros(shape)
    np.fill_diagonal(want, 5, wrap=True)
    check(lambda x: T.fill_diagonal(x, 5, wrap=True), lambda x: want, np.zeros(shape))


def test_sums_of_weights(rng):
    a, w = rng.normal(size=(2, 3)), rng.uniform(size=(2, 3))
    for args in ((), (0,), (1, w), (0, w), (1, w[0])):
        ours, theirs = T.average(a, *args, returned=True), np.average(a, *args, returned=True)
        for got, want in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(got.eval(), want)
    assert T.average([1, 2], returned=True)[1].eval() == 2.0
    cube, w = (
        rng.normal(size=(3, 2, 3)),
        rng.uniform(size=(3, 3)),
    )  # of weights the first axis is the first that is given
    for axes in ((2, 0), (0, 2), [-1, 0]):  # the first axis of the weights goes along the first that is given
        check(lambda x: T.average(x, axes, w), lambda x: np.average(x, tuple(axes), w), cube)  # noqa: B023
    check(lambda x: T.trace(x, dtype="float32"), lambda x: np.trace(x, dtype="float32"), a)
    check(lambda x: T.corrcoef(x, dtype="float32"), lambda x: np.corrcoef(x, dtype="float32"), a, rtol=1e-5)


# ---------------------------------------------------------------------- order and points
@given(a=arrays([d for d in DTYPES if d not in ("complex64", "complex128")]), data=st.data())
@quick()
def test_descending_order(a, data):
    axis = data.draw(st.integers(-a.ndim, a.ndim - 1)) if a.ndim else -1
    if a.ndim:
        check(lambda x: T.sort(x, axis, descending=True), lambda x: np.flip(np.sort(x, axis), axis), a)
        back = np.flip(np.argsort(np.flip(a, axis), axis, stable=True), axis)
        check(lambda x: T.argsort(x, axis, descending=True, stable=True), lambda x: x.shape[axis] - 1 - back, a)


def test_points_of_a_period(rng):
    x, xp, fp = rng.uniform(-9, 9, 12), rng.uniform(0, 5, 6), rng.normal(size=6)
    check(lambda x: T.interp(x, xp, fp, period=5), lambda x: np.interp(x, xp, fp, period=5), x)
    check(lambda x: T.interp(x, xp, fp, period=-3.0), lambda x: np.interp(x, xp, fp, period=-3.0), x)
    xp = np.sort(xp)
    check(lambda x: T.interp(x, xp, fp + 1j), lambda x: np.interp(x, xp, fp + 1j), x)
    check(lambda x: T.interp(x, xp, fp * 1j, left=0, right=1j), lambda x: np.interp(x, xp, fp * 1j, 0, 1j), x)
    with pytest.raises(TypeError, match="interp: x and xp must be real numbers"):
        T.interp(x * 1j, xp, fp)
    with pytest.raises(ValueError, match="interp: a period must not be 0"):
        T.interp(x, xp, fp, period=0)


# ---------------------------------------------------------------------- linear algebra
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
def test_decompositions(rng, dtype):
    a = rng.normal(size=(2, 4, 4)) + (1j * rng.normal(size=(2, 4, 4)) if dtype == "complex128" else 0)
    a = (a + a.conj().swapaxes(-1, -2)).astype(dtype)
    rtol = 1e-4 if dtype == "float32" else 1e-10
    u, s, vh = [v.eval() for v in T.linalg.svd(T.as_tensor(a), hermitian=True)]
    np.testing.assert_allclose((u * s[..., None, :]) @ vh, a, rtol, rtol)
    np.testing.assert_allclose(s, np.linalg.svd(a, hermitian=True)[1], rtol, rtol)
    only = T.linalg.svd(T.as_tensor(a), compute_uv=False, hermitian=True).eval()
    np.testing.assert_allclose(only, s, rtol, rtol)
    full = a @ a.conj().swapaxes(-1, -2) + np.eye(4, dtype=dtype)
    check(lambda x: T.linalg.cholesky(x, upper=True), lambda x: np.linalg.cholesky(x, upper=True), full, rtol=rtol)
    check(lambda x: T.linalg.pinv(x, rtol=0.1), lambda x: np.linalg.pinv(x, rtol=0.1), a, rtol=rtol)
    with pytest.raises(ValueError, match=r"pinv: rcond=0\.1 and rtol=0\.2 mean the same"):
        T.linalg.pinv(a, 0.1, rtol=0.2)


# ---------------------------------------------------------------------- the array API
def standardized(x):
    """A program in the array API's words, for any library."""
    xp = x.__array_namespace__()
    if not xp.isdtype(x.dtype, ("real floating", "complex floating")):
        x = xp.astype(x, xp.float64, copy=False)
    ones = xp.ones(x.shape[-1], dtype=x.dtype, device=x.device)
    first = xp.cumulative_sum(ones, include_initial=True)[:-1]
    order = xp.argsort(x, axis=-1, descending=True, stable=True)
    top = xp.take_along_axis(x, order, axis=-1) - xp.mean(x, axis=-1, keepdims=True) + xp.finfo(x.dtype).eps
    return xp.concat([top, xp.broadcast_to(first, x.shape), xp.reshape(x, x.shape, copy=True)], axis=-1)


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_a_program_of_the_array_api(dtype):
    a = np.array([[3, 1, 2], [1, 3, 3]], dtype)
    x = T.matrix("x", dtype=dtype)
    got = tg.function([x], standardized(x))(a)
    wide = a if dtype != "int32" else a.astype("float64")
    top = -np.sort(-wide, 1) - wide.mean(1, keepdims=True) + np.finfo(wide.dtype).eps
    np.testing.assert_allclose(got, np.concatenate([top, [[0, 1, 2]] * 2, wide], 1), 1e-6)
    assert got.dtype == wide.dtype


def test_dtypes_by_name():
    assert T.float32 == "float32" and T.zeros(2, T.int8).dtype == T.int8 and T.dvector().astype(T.bool).dtype == "bool"
    assert T.result_type(T.fvector(), T.dvector()) == "float64" and T.result_type("int8", 1.0) == "float64"
    assert T.can_cast("int8", "int16") and not T.can_cast(T.dvector(), "float32")
    assert T.can_cast("float64", "float32", "same_kind")
    kinds = {
        "bool": "bool", "signed integer": "int8 int64", "unsigned integer": "uint8", "integral": "int8 uint64",
        "real floating": "float16 float64", "complex floating": "complex64", "numeric": "int8 uint8 float32 complex128",
    }  # fmt: skip
    for kind, names in kinds.items():
        for dtype in DTYPES:
            numpys = np.isdtype(np.dtype(dtype), kind)
            assert T.isdtype(dtype, kind) == numpys and (dtype not in names.split() or numpys)
    assert T.isdtype("int8", ("bool", "int8")) and T.isdtype(np.float32, "float32")
    with pytest.raises(ValueError, match="isdtype: kind must be a dtype or one of bool"):
        T.isdtype("int8", "whole")
    assert T.finfo("float32").max == np.finfo("float32").max and T.iinfo(T.bvector()).max == 127
    assert T.dvector().device is None and (x := T.dvector()).to_device(None) is x
    with pytest.raises(ValueError, match="device must be None"):
        T.zeros(3, device="cuda:0")
    assert T.asarray([1, 2], "float32").dtype == "float32" and T.asarray(x, "int8").dtype == "int8"
    for axis in (None, 0, -1):
        want = np.cumulative_sum(3.0, axis=axis, include_initial=True)
        assert_same(T.cumulative_sum(3.0, axis, include_initial=True).eval(), want)
    with pytest.raises(ValueError, match="cumulative_sum: of 2 dimensions `axis` must name one"):
        T.cumulative_sum(T.dmatrix())


def test_star_imports_leave_the_dtype_bool_out():
    space = {}
    exec("from termgraph.tensor import *", space)
    assert "bool" not in space and space["float32"] == T.float32 and "bool" in dir(T)
