"""Folds of whole numbers, truth values and masks, of any length: what NumPy says."""

import platform
import re

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.config import config

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
LINKER = "auto"


@pytest.mark.parametrize("n", [0, 1, 7, 8191, 8192, 8193, 20000])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "int8", "uint8", "bool", "float16"])
def test_counts_and_truth_values_of_any_length(n, dtype):
    rng = np.random.default_rng(n)
    values = (rng.normal(size=n) * 3).astype(dtype)
    x, m = T.vector("x", dtype=dtype), T.vector("m", dtype="bool")
    mask = rng.random(n) < 0.5
    outputs = [(x > 0).sum(), T.any(x > 2), T.all(x <= 2), T.any(x), T.all(m | (x >= 0)), (x * m).sum(), m.sum()]
    f = tg.function([x, m], outputs)
    given = [(values > 0).sum(), (values > 2).any(), (values <= 2).all(), values.any(), (mask | (values >= 0)).all()]
    given += [(values * mask).sum(dtype=f(values, mask)[5].dtype), mask.sum()]
    for found, right in zip(f(values, mask), given, strict=True):
        assert found.dtype == right.dtype or dtype == "float16"
        np.testing.assert_allclose(found.astype("f8"), right.astype("f8"), rtol=1e-2 if dtype == "float16" else 1e-5)
    where = n // 2
    if n > 2 and dtype != "bool":
        only = np.zeros(n, dtype)
        only[where] = 5
        assert bool(f(only, mask)[1]) and not bool(f(only, mask)[2])


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "uint8", "int16"])
def test_where_extremes_are(dtype):
    """The first of equal ones, and the first NaN before all."""
    x = T.matrix("x", dtype=dtype)
    f = tg.function(
        [x],
        [
            x.argmax(axis=1),
            x.argmin(axis=1),
            x.argmax(),
            (x * x).argmin(axis=1),
            x.argmax(axis=0),
            x.max(axis=1),
            x.min(),
        ],
    )
    rng = np.random.default_rng(5)
    for n in (1, 2, 7, 8, 31, 32, 33, 64, 65, 255, 256, 511, 513, 1030, 9000):
        for top in (1, 2, 100):
            a = rng.integers(0, top, (3, n)).astype(dtype)
            if a.dtype.kind == "f":
                a -= 0.5
                a[1] = -np.inf if top == 2 else a[1]
                a[2, n // 2 :: 3] = np.nan if top == 100 else a[2, n // 2 :: 3]
            wanted = [a.argmax(1), a.argmin(1), a.argmax(), (a * a).argmin(1), a.argmax(0), a.max(1), a.min()]
            for found, right in zip(f(a), wanted, strict=True):
                np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize("cflags", ["", "-mno-avx512f", "-mno-avx2", "-mno-avx"])
@pytest.mark.parametrize("dtype", ["bool", *[f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]])
def test_where_extremes_of_whole_numbers_are(dtype, cflags, rng):
    """The first of equal ones, by vectors of whatever the processor has, from the least number to the largest."""
    if cflags and platform.machine() != "x86_64":
        pytest.skip("flags for x86")
    x = T.matrix("x", dtype=dtype)
    y = ~x
    terms = [x.argmax(), x.argmin(), x.argmax(axis=1), x.argmin(axis=1), x[:, ::-1].argmax(axis=1), x.argmin(axis=0)]
    with tg.config.change_flags(cflags=cflags):
        f = tg.function([x], [*terms, y.argmax(), y.argmin(axis=1), x[:, ::2].argmax(axis=1)])
    least, most = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    for n in (1, 2, 15, 16, 17, 31, 32, 33, 63, 65, 255, 256, 257, 511, 577, 1030, 8193, 16500):
        wide = rng.integers(least, most, (3, n), "uint8" if dtype == "bool" else dtype, endpoint=True).astype(dtype)
        alike = rng.integers(0, 2, (3, n)).astype(dtype)
        lone = np.full((3, n), least, dtype)
        lone[1, n // 2] = most
        for a in (wide, alike, lone, ~lone, np.full((3, n), least, dtype), np.full((3, n), most, dtype)):
            wanted = [a.argmax(), a.argmin(), a.argmax(1), a.argmin(1), a[:, ::-1].argmax(1), a.argmin(0)]
            wanted += [(~a).argmax(), (~a).argmin(1), a[:, ::2].argmax(1)]
            for found, right in zip(f(a), wanted, strict=True):
                np.testing.assert_array_equal(found, right)


def test_products_of_truth_values(rng):
    """Any byte but 0 is true, in products by rows and by columns of any length, and in folds along columns."""
    x, y = T.matrix("x", dtype="bool"), T.matrix("y", dtype="bool")
    f = tg.function([x, y], [T.dot(x, y), T.dot(x, y[:, 0]), T.dot(x[0], y), x.max(axis=0), (x & x).all(axis=0)])
    for rows, inner, columns in ((1, 1, 1), (3, 5, 7), (20, 33, 65), (9, 70, 1030), (4, 0, 6)):
        for likely in (0.05, 0.9):
            a, b = rng.random((rows, inner)) < likely, rng.random((inner, columns)) < likely
            wanted = [a @ b, a @ b[:, 0], a[0] @ b, a.max(0), a.all(0)]
            for found, right in zip(f(a, b), wanted, strict=True):
                np.testing.assert_array_equal(found, right)
            some = [(v * rng.choice([1, 2, 128, 255], v.shape)).astype(np.uint8).view(bool) for v in (a, b)]
            for found, right in zip(f(*some), wanted, strict=True):
                np.testing.assert_array_equal(found.view(np.uint8), right.view(np.uint8))


def test_places_of_extremes_beside_other_folds_and_of_what_is_computed():
    x = T.dmatrix("x")
    f = tg.function(
        [x], [x.argmax(axis=1), x.max(axis=1), T.exp(x).argmin(axis=1), x[:, ::2].argmax(axis=1), x.T.argmax(axis=1)]
    )
    a = np.random.default_rng(0).normal(size=(40, 700))
    wanted = [a.argmax(1), a.max(1), a.argmin(1), a[:, ::2].argmax(1), a.argmax(0)]
    for found, right in zip(f(a), wanted, strict=True):
        np.testing.assert_array_equal(found, right)


def test_what_replaces_nan_is_not_asked_whether_it_is_nan():
    x = T.dvector("x")
    f = tg.function([x], [T.nanmax(x), T.switch(T.isnan(x), np.nan, x).max(), T.switch(T.isnan(x * 2), 0.0, x).max()])
    text = f.source("c")
    assert len(re.findall(r"(v\d+) > (a\d+_lane\[u\]) \? \1 : \2", text)) > 0
    values = np.random.default_rng(0).normal(size=200)
    values[3:9] = np.nan
    np.testing.assert_array_equal(f(values), [np.nanmax(values), np.nan, np.nanmax(values)])
    np.testing.assert_array_equal(f([np.nan]), [np.nan, np.nan, 0])


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 130])
def test_short_rows_touch_no_more_lanes_than_they_need(n):
    """The same bits as with all lanes: those without an element hold what changes nothing."""
    x = T.dmatrix("x")
    values = np.random.default_rng(n).normal(size=(7, n))
    y = T.maximum(abs(x) - 0.7, 0) ** 2
    f = tg.function([x], [y.sum(axis=1), y.prod(axis=1), T.exp(x).sum(axis=1), (y > 0.1).any(axis=1)])
    assert "_lane[u] = " in f.source("c") and " /= 2;" in f.source("c")
    right = np.maximum(abs(values) - 0.7, 0) ** 2
    want = right.sum(axis=1), right.prod(axis=1), np.exp(values).sum(axis=1), (right > 0.1).any(axis=1)
    for got, expected in zip(f(values), want):
        np.testing.assert_allclose(got, expected, rtol=1e-13)
    longer = np.concatenate([values, np.zeros((7, 64 - n))], axis=1) if n < 64 else values
    np.testing.assert_array_equal(f(longer)[0], f(values)[0])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_places_of_what_is_chosen_first(dtype, axis, rng):
    """Places of extremes among chosen elements are looked for in vectors, whatever else is folded beside them."""
    x = T.matrix("x", dtype=dtype)
    f = tg.function([x], [T.nanargmax(x, axis), T.nanargmin(x, axis)])
    for shape in ((1, 1), (3, 5), (40, 67), (300, 9)):
        values = rng.normal(size=shape).astype(dtype)
        values[rng.random(shape) < 0.3] = np.nan
        values[0] = values[:, 0] = 1.0
        np.testing.assert_array_equal(f(values)[0], np.nanargmax(values, axis))
        np.testing.assert_array_equal(f(values)[1], np.nanargmin(values, axis))
    nothing = np.full((3, 4), np.nan, dtype)
    assert all((np.asarray(found) == -1).all() for found in f(nothing))
    if axis is None:
        text = tg.function([x], T.nanargmax(x)).source("c")
        assert "if (v" not in text and text.count("static void kernel") == 2


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_places_of_the_largest_of_values_that_are_made_of_each_other(dtype):
    """One loop finds both: what the second is made of is what the first compares."""
    x, v = T.tensor("x", dtype=dtype, shape=(5, 7)), T.tensor("v", dtype=dtype, shape=(7,))
    y = T.sort(x, axis=1)
    outs = [y.argmax(axis=1), (y * v).argmin(axis=1), (y * v - 1).argmax(axis=1), T.exp(x).argmax(axis=1)]
    a, b = np.random.default_rng(0).standard_normal((5, 7)).astype(dtype), (np.arange(7)[::-1] - 3).astype(dtype)
    s = np.sort(a, axis=1)
    wanted = [s.argmax(1), (s * b).argmin(1), (s * b - 1).argmax(1), a.argmax(1)]
    for got, want in zip(tg.function([x, v], outs, mode=tg.Mode(linker="c"))(a, b), wanted):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("n", [1, 9, 15, 16, 17, 63, 64, 65, 100, 127, 300])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_masked_rows_of_any_length(n, dtype, rng):
    x, m = T.matrix("x", dtype=dtype), T.matrix("m", dtype="bool")
    chosen = T.where(m, x, -3)
    outputs = [T.exp(chosen).sum(axis=1), chosen.max(axis=1), T.where(m, x * x, 0).sum(axis=1), m.sum(axis=1)]
    f = tg.function([x, m], [*outputs, T.softmax(chosen, axis=1)])
    values, mask = rng.normal(size=(5, n)).astype(dtype), rng.random((5, n)) < 0.6
    z = np.where(mask, values, np.dtype(dtype).type(-3))
    e = np.exp(z)
    right = [e.sum(1), z.max(1), np.where(mask, values**2, 0).sum(1), mask.sum(1), e / e.sum(1, keepdims=True)]
    for found, expected in zip(f(values, mask), right, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12 if dtype == "float64" else 1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_short_rows_are_folded_and_written_in_one_loop(dtype, rng):
    x, y = T.tensor3("x", dtype), T.matrix("y", dtype)
    f = tg.function([y, x], tg.grad((T.vecmat(y, x) ** 2).sum() / 2, [y, x]))
    assert "tg_vector_put_part_" in f.source("c")
    for m in range(1, 20):  # none to two whole vectors, and the lanes of longer rows
        a, b = rng.normal(size=(3, 5)).astype(dtype), rng.normal(size=(3, 5, m)).astype(dtype)
        g = np.einsum("bk,bkm->bm", a, b)
        found = f(a, b)
        np.testing.assert_allclose(found[0], np.einsum("bm,bkm->bk", g, b), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(found[1], a[:, :, None] * g[:, None], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_extremes_of_rows_beside_zeros_that_are_written(dtype, rng):
    x, i = T.matrix("x", dtype), T.lvector("i")
    loss = T.nnet.cross_entropy(x, i)
    f = tg.function([x, i], tg.grad(loss**2 / 2, x))
    assert re.search(r"\*\(tg_vector_f\d\d \*\)\(", f.source("c"))
    for m in [*range(1, 18), 63, 64, 65, 131]:
        a, at = rng.normal(size=(5, m)).astype(dtype), rng.integers(0, m, 5)
        p = np.exp(a - a.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        p[np.arange(5), at] -= 1
        mean = np.mean(np.log(np.exp(a).sum(1)) - a[np.arange(5), at])
        np.testing.assert_allclose(f(a, at), mean * p / 5, rtol=1e-3, atol=1e-5)
        a[2, m // 2] = np.nan
        assert np.isnan(f(a, at)[2]).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_negative_zero_that_is_written_beside_extremes_keeps_its_sign(dtype, rng):
    x, i = T.matrix("x", dtype), T.lvector("i")
    zeros = T.set_subtensor(T.full_like(x, np.array(-0.0, dtype))[T.arange(x.shape[0]), i], 5)
    f = tg.function([x, i], [x.max(axis=1), zeros, T.exp(x - x.max(axis=1, keepdims=True)).sum(axis=1)])
    assert re.search(r"\*\(tg_vector_f\d\d \*\)\(", f.source("c"))
    for m in (1, 3, 8, 17, 131):
        found = f(rng.normal(size=(4, m)).astype(dtype), np.zeros(4, int))[1]
        assert np.signbit(found[:, 1:]).all() and not found[:, 1:].any() and (found[:, 0] == 5).all()


def test_places_of_extremes_of_what_was_made_are_found_as_those_of_what_is_given(rng):
    """Kernels for both are one: which of them is printed must not matter."""
    x, w = T.tensor("x", dtype="float64", shape=(5, 33)), T.tensor("w", dtype="float64", shape=(33, 33))
    f = tg.function([x, w], [T.argmax(x @ w, axis=1), T.argmin(x @ w, axis=1)])
    assert "_some" not in f.source("c")
    a, b = rng.normal(size=(5, 33)), rng.normal(size=(33, 33))
    a[2, 3] = np.nan
    for found, want in zip(f(a, b), [np.argmax(a @ b, axis=1), np.argmin(a @ b, axis=1)], strict=True):
        np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize("dtype", ["int64", "int32", "float64"])
def test_extremes_over_all_of_rows_too_short_for_vectors(kind, dtype, rng):
    values = rng.integers(-9, 9, (17, 16, 2)).astype(dtype)
    x = T.tensor("x", dtype=dtype, shape=values.shape)
    for take in (lambda x: x[:, 4], lambda x: x[:, [4, 5]], lambda x: x.sum(axis=1)):
        np.testing.assert_array_equal(
            tg.function([x], getattr(T, kind)(take(x)))(values), getattr(take(values), kind)()
        )


@pytest.mark.parametrize("n", [3, 70, 131])
def test_masks_are_read_where_each_step_reads_them(n, rng):
    """Not behind the end of one that a choice reads, nor at a place that the loop finds first."""
    x, y, v = T.vector("x", dtype="bool"), T.vector("y", dtype="bool"), T.dvector("v")
    some, more, values = rng.random(1) < 0.5, rng.random(n) < 0.5, rng.normal(size=n + 1)
    f = tg.function([x, y, v], (T.concatenate([x, y]) * v * T.exp(v)).sum())
    assert not re.search(r"\bm0\[", f.source("c"))
    np.testing.assert_allclose(f(some, more, values), (np.concatenate([some, more]) * values * np.exp(values)).sum())
    g = tg.function([y, v], (T.tile(T.pad(y[::-1], [(1, 0)], mode="edge"), 2) * T.concatenate([v, v])).sum())
    want = np.tile(np.pad(more[::-1], [(1, 0)], mode="edge"), 2) * np.concatenate([values, values])
    np.testing.assert_allclose(g(more, values), want.sum())


@pytest.mark.parametrize("cflags", ["", "-mno-avx512f", "-mno-avx"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_places_with_vectors_of_every_length(dtype, cflags, monkeypatch, rng):
    monkeypatch.setattr(config, "cflags", cflags)
    x = T.matrix("x", dtype=dtype)
    results = [T.argmax(x, axis=1), T.argmin(x, axis=1), T.max(x, axis=1), T.min(x, axis=1), T.argmax(x), T.argmin(x)]
    f = tg.function([x], results)
    for n in (*range(1, 140), 300, 1000, 1024, 1025, 1100, 5000):
        a = rng.normal(size=(4, n)).astype(dtype)
        some = np.where(rng.random((4, n)) < 0.02, np.nan, a).astype(dtype)
        zeros = rng.choice([0.0, -0.0, np.inf, -np.inf], (4, n)).astype(dtype)
        for values in (a, np.round(a), some, zeros):
            wanted = [
                values.argmax(1),
                values.argmin(1),
                values.max(1),
                values.min(1),
                values.argmax(),
                values.argmin(),
            ]
            for got, want in zip(f(values), wanted, strict=True):
                np.testing.assert_array_equal(got, want)
