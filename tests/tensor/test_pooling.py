"""Pooling against loops over windows, T.convolve against NumPy."""

import itertools

import numpy as np
import pytest
from helpers import before_a_closed_page
from hypothesis import given, settings
from hypothesis import strategies as st

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import vector_bytes
from termgraph.terms.evaluate import evaluate
from termgraph.terms.ops.pooling import pool, pool_max_grad, pool_sum_grad

PLAIN = tg.Mode(linker="py", optimizer="None")
MODES = ("max", "sum", "average_inc_pad", "average_exc_pad")


def by_loops(x, ws, ignore_border, stride, pad, mode):
    """Each window cut out of the array, by the sentence that says what pooling is."""
    n = len(ws)
    spatial = x.shape[-n:]
    counts = []
    for m, k, s, p in zip(spatial, ws, stride, pad):
        starts = [i for i in range(-p, m + p, s) if (i + k <= m + p if ignore_border else True)]
        if not ignore_border:  # the last window is the first that reaches the end
            starts = starts[: 1 + next((j for j, i in enumerate(starts) if i + k >= m), len(starts) - 1)]
        counts.append(starts)
    out = np.zeros((*x.shape[:-n], *map(len, counts)), x.dtype)
    for place in np.ndindex(*map(len, counts)):
        corner = [c[i] for c, i in zip(counts, place)]
        part = x[(..., *[slice(max(c, 0), min(c + k, m)) for c, k, m in zip(corner, ws, spatial)])]
        axes = tuple(range(-n, 0))
        total = part.sum(axes)
        inside = np.prod(part.shape[-n:]) if mode == "average_exc_pad" or not ignore_border else np.prod(ws)
        out[(..., *place)] = {"max": part.max(axes), "sum": total}.get(mode, total / inside)
    return out


@st.composite
def poolings(draw):
    n = draw(st.sampled_from((2, 2, 3)))

    def each(low, high):
        return tuple([draw(st.integers(low, high)) for _ in range(n)])

    ws, ignore = each(1, 3), draw(st.booleans())
    pad = tuple([draw(st.integers(0, k - 1)) for k in ws]) if ignore else (0,) * n
    stride = draw(st.sampled_from((ws, each(1, 4))))
    spatial = tuple([max(k - 2 * p, 1) + draw(st.integers(0, 4)) for k, p in zip(ws, pad)])
    x = np.random.default_rng(draw(st.integers(0, 99))).normal(
        size=(*draw(st.sampled_from(((), (2,), (0, 2)))), *spatial)
    )
    return x, {"ws": ws, "ignore_border": ignore, "stride": stride, "pad": pad, "mode": draw(st.sampled_from(MODES))}


def pooled(x, how):
    return (T.signal.pool_2d if len(how["ws"]) == 2 else T.signal.pool_3d)(x, **how)


@settings(max_examples=80, deadline=None)
@given(poolings(), st.booleans())
def test_f66_pooling_is_a_loop_over_windows(pooling, known):
    x, how = pooling
    v = T.tensor("v", dtype="float64", shape=x.shape if known else (None,) * x.ndim)
    expected = by_loops(x, **how)
    y = pooled(v, how)
    np.testing.assert_allclose(tg.function([v], y, mode="FAST_COMPILE")(x), expected, atol=1e-12)
    assert not known or y.type.shape == expected.shape


CASES = [
    {"ws": (2, 2), "ignore_border": True, "stride": None, "pad": (0, 0)},
    {"ws": (3, 2), "ignore_border": True, "stride": (2, 1), "pad": (1, 1)},
    {"ws": (3, 3), "ignore_border": False, "stride": (2, 2), "pad": (0, 0)},
]


def test_f66_compiled_pooling_and_its_gradients(rng):
    value = rng.normal(size=(2, 3, 7, 6))
    x = T.tensor("x", dtype="float64", shape=value.shape)
    ys = [pooled(x, {**how, "mode": mode}) for how, mode in itertools.product(CASES, MODES)]
    outputs = [*ys, *[tg.grad(T.sin(y).sum(), x) for y in ys]]
    expected = tg.function([x], outputs, mode=tg.Mode(linker="py", optimizer="None"))(value)
    for got, wanted in zip(tg.function([x], outputs, mode=tg.Mode(linker="c"))(value), expected):
        np.testing.assert_allclose(got, wanted, atol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_f66_gradients_of_pooling(rng, mode):
    x = rng.permutation(84).reshape(2, 7, 6) / 10.0  # no two elements alike, so that maxima have a derivative
    for how in CASES:
        tg.verify_grad(lambda v, h=how: pooled(v, {**h, "mode": mode}), [x], n_tests=1, mode="FAST_COMPILE")


def test_maxima_of_whole_numbers_and_of_negative_numbers():
    x = -1 - np.arange(16).reshape(4, 4)
    v = T.lmatrix("v")
    f = tg.function([v], T.signal.pool_2d(v, 3, ignore_border=True, stride=1, pad=1), mode="FAST_COMPILE")
    np.testing.assert_array_equal(f(x), by_loops(x, (3, 3), True, (1, 1), (1, 1), "max"))


@pytest.mark.parametrize(
    "how, message",
    [
        ({"ws": (2, 2), "mode": "median"}, "mode must be one of max, sum"),
        ({"ws": (2,)}, "ws must be 2 integers of at least 1"),
        ({"ws": (2, 2), "pad": 1}, "needs ignore_border=True"),
        ({"ws": (2, 2), "pad": 2, "ignore_border": True}, "must be smaller than the windows"),
        ({"ws": (9, 2), "ignore_border": True}, "does not fit into pooled dimension 0 of length 5"),
    ],
)
def test_options_that_make_no_sense_are_errors(how, message):
    x = T.tensor("x", dtype="float64", shape=(5, 5))
    with pytest.raises(ValueError, match=message):
        T.signal.pool_2d(x, **how)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolve_as_numpy(rng, mode):
    for n, k in ((5, 3), (5, 2), (4, 4), (2, 7), (3, 8), (1, 1)):
        a, v = rng.normal(size=n), rng.normal(size=k)
        np.testing.assert_allclose(
            T.convolve(a, v, mode).eval(mode="FAST_COMPILE"), np.convolve(a, v, mode), atol=1e-12
        )
        x, y = T.dvector("x"), T.dvector("y")
        got = tg.function([x, y], T.convolve(x, y, mode), mode="FAST_COMPILE")(a, v)
        np.testing.assert_allclose(got, np.convolve(a, v, mode), atol=1e-12)
    with pytest.raises(ValueError, match="mode must be full, same or valid"):
        T.convolve(a, v, "most")


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int8", "bool", "complex64"])
def test_long_vectors_are_convolved_as_numpy_does(rng, dtype):
    """The routine takes many places at once: vectors that end inside such a block, short ones, and ones with steps."""
    x, y = (T.tensor(n, dtype=dtype, shape=(None,)) for n in "xy")
    f = tg.function([x, y], [T.convolve(x, y, mode) for mode in ("full", "same", "valid")], mode=tg.Mode(linker="c"))
    if dtype[0] in "fi":
        assert "tg_convolve_" in f.source("c")
    for n, k in ((1, 1), (5, 3), (3, 5), (64, 64), (300, 33), (129, 700), (2000, 600)):
        a, v = ((rng.standard_normal(m) * 9).astype(dtype) for m in (n, k))
        for b, w in ((a, v), (a[::-1], v[::2])):
            for got, mode in zip(f(b, w), ("full", "same", "valid")):
                wide = [z.astype("float32") for z in (b, w)] if dtype == "float16" else [b, w]
                expected = np.convolve(*wide, mode)
                close = {"float64": 1e-13, "float16": 2e-3}.get(dtype, 1e-5)
                size = 0 if dtype[0] in "ib" else np.abs(expected).max() * close
                np.testing.assert_allclose(got, expected.astype(dtype), rtol=0, atol=size)
    if dtype in ("float64", "int8"):
        with pytest.raises(ValueError, match="convolve: the first vector has no elements"):
            f(a[:0], v)


@pytest.mark.parametrize("linker", ["c", "py"])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_vectors_without_elements_are_refused_everywhere(linker, mode):
    x, y = T.dvectors("x", "y")
    f = tg.function([x, y], T.convolve(x, y, mode), mode=tg.Mode(linker=linker))
    some, none = np.ones(2), np.ones(0)
    for a, b, which in ((none, some, "first"), (some, none, "second")):
        with pytest.raises(ValueError, match=f"convolve: the {which} vector has no elements"):
            f(a, b)
    with pytest.raises(ValueError, match="vector has no elements"):
        f(none, none)


# ---------------------------------------------------------------------- routines, rules
@settings(max_examples=15, deadline=None)
@given(poolings())
def test_compiled_pooling_and_its_gradient_are_what_the_ops_mean(pooling):
    x, how = pooling
    v = T.tensor("v", dtype="float64", shape=x.shape)
    y = pooled(v, how)
    outputs = [y, tg.grad((y * T.cos(y)).sum(), v)]
    expected = tg.function([v], outputs, mode=PLAIN)(x)
    for got, wanted in zip(tg.function([v], outputs, mode=tg.Mode(linker="c"))(x), expected):
        np.testing.assert_allclose(got, wanted, atol=1e-12)


def test_many_sizes_dtypes_and_layouts_in_one_program(rng):
    """Long windows, whole numbers, truth values, halves, arrays that lie otherwise, NaN."""
    inputs, outputs, values = [], [], []
    for dtype, ws, stride in (
        ("float32", (1, 20), (1, 3)), ("int16", (3, 3), (1, 1)), ("bool", (2, 3), (2, 1)), ("float16", (3, 5), (1, 2)),
        ("float32", (5, 5), (5, 5)), ("float64", (20, 20), (2, 2)),
    ):  # fmt: skip
        value = rng.normal(size=(2, 24, 23)).astype("float32") * 9
        value[0, 3, 4:6] = 0 if dtype[0] in "ib" else np.nan
        value = np.moveaxis(value.astype(dtype), 1, 2)
        x = T.tensor("x", dtype=dtype, shape=value.shape)
        modes = ("max", "sum") if dtype[0] == "f" else ("max",)
        ys = [T.signal.pool_2d(x, ws, stride=stride, ignore_border=k, mode=m) for k in (True, False) for m in modes]
        inputs, values, outputs = [*inputs, x], [*values, value], [*outputs, *ys]
        if dtype in ("float32", "float64"):
            outputs += [tg.grad((y * 2).sum(), x) for y in ys]
    found = tg.function(inputs, outputs, mode=tg.Mode(linker="c"))(*values)
    for got, wanted in zip(found, tg.function(inputs, outputs, mode=PLAIN)(*values)):
        np.testing.assert_allclose(got, wanted, rtol=2e-3 if got.dtype == "float16" else 1e-5, atol=1e-3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_of_many_small_planes(rng, dtype):
    """Vectors go on from row to row and from plane to plane: planes shorter than one, ties, steps between elements."""
    inputs, outputs, values = [], [], []
    sizes = ((40, 1, 1), (12, 2, 3), (10, 3, 1), (40, 7, 7), (44, 4, 9), (9, 14, 14), (9, 5, 17), (3, 28, 28))
    for planes, h, w in sizes:
        for lies in (False, True):
            value = rng.integers(0, 4, (2, planes, h, w)).astype(dtype)
            value = value[:, ::2] if lies else value
            x = T.tensor("x", dtype=dtype, shape=value.shape)
            inputs, values = [*inputs, x], [*values, value]
            for k, s, p in ((3, 1, 1), (2, 2, 0), (3, 2, 1), (2, 1, 1), (3, 3, 0), (4, 1, 2), (5, 2, 2)):
                if min(h, w) + 2 * p >= k:
                    for mode in ("max", "average_exc_pad"):
                        y = T.signal.pool_2d(x, k, ignore_border=True, stride=s, pad=p, mode=mode)
                        outputs.append(tg.grad((y * (y + 1)).sum(), x))
    found = tg.function(inputs, outputs, mode=tg.Mode(linker="c"))(*values)
    expected = tg.function(inputs, outputs, mode=PLAIN)(*values)
    assert len(found) > 100
    for got, wanted in zip(found, expected):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_of_pooling_go_down_planes_in_strips(rng, dtype):
    """Strips that are whole, cut, one or many; small planes; NaN, infinities; a last plane, behind which is nothing."""
    x, y, g = (T.tensor3(name, dtype=dtype) for name in "xyg")
    texts = set()
    for k, s, p in ((2, 2, 0), (3, 2, 0), (3, 2, 1), (3, 1, 1), (5, 2, 2), (2, 4, 1), (3, 1, 0), (9, 4, 3)):
        how = {"size": (k, k), "stride": (s, s), "pad": (p, p), "ignore_border": True}
        back = pool_sum_grad(g, *T.shape(x)[1:], **how)
        outputs = [pool(x, kind="max", **how), pool_max_grad(x, y, g, **how), back]
        f = tg.function([x, y, g], outputs, mode=tg.Mode(linker="c"))
        texts |= {f"tg_pool_{kind}_grad_f{dtype[5:]}_{k}_{s}_strips(" in f.source("c") for kind in ("max", "sum")}
        assert "_beside(" not in f.source("c") or (dtype, k, s) == ("float32", 3, 1)
        plain = tg.function([x, y, g], outputs, mode=PLAIN)
        sizes = ((1, 7, 7), (4, 7, 7), (3, 9, 6), (33, 7, 7), (3, 16, 16), (2, 9, 37), (1, 5, 64), (2, 40, 3))
        for planes, h, w in (*sizes, (5, 8, 8), (1, 6, 8), (9, 5, 4), (19, 3, 3), (1, 3, 3), (2, 3, 4)):
            value = rng.integers(0, 9, (planes, h, w)).astype(dtype)
            value[-1, 2, 1] = np.nan
            value[0, -1], value[0, :, 0], value[-1, 0, -1] = -np.inf, -np.inf, np.inf
            shape = [planes, *[(n + 2 * p - k) // s + 1 for n in (h, w)]]
            most = f(value, np.zeros(shape, dtype), np.zeros(shape, dtype))[0]
            cotangent = rng.integers(1, 99, shape).astype(dtype)
            for got, wanted in zip(f(value, most, cotangent), plain(value, most, cotangent)):
                np.testing.assert_array_equal(got, wanted)
    assert texts == {vector_bytes() == 64}


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
@pytest.mark.parametrize("whole", [True, False])
def test_gradients_of_windows_beside_each_other_go_along_rows(rng, dtype, whole):
    """Whole vectors of windows and cut ones, windows that are cut, what is in no window; ties, NaN, infinities."""
    x, y, g = (T.tensor3(name, dtype=dtype) for name in "xyg")
    how = {"size": (2, 2), "stride": (2, 2), "pad": (0, 0), "ignore_border": whole}
    f = tg.function([tg.In(v, borrow=True) for v in (x, y, g)], pool_max_grad(x, y, g, **how), mode=tg.Mode(linker="c"))
    text = f"tg_pool_max_grad_f{dtype[5:]}_2_2_apart(" in f.source("c")
    assert text == (vector_bytes() == 64 and dtype in ("float32", "float64"))
    for planes, h, w in itertools.product((0, 1, 3), (2, 3, 5, 6), (8, 9, 17, 18, 31, 32, 33, 34, 50, 64, 65, 97)):
        value = rng.integers(0, 4, (planes, h, w)).astype(dtype)
        if dtype != "int32":
            value[-1:, -1, 3], value[:1, 0, -1], value[:, :, 4:6] = np.nan, np.inf, -np.inf
        most = pool.bind(kind="max", **how).meaning(value)
        cotangent = rng.integers(1, 99, most.shape).astype(dtype)
        got = f(*map(before_a_closed_page, (value, most, cotangent)))
        np.testing.assert_array_equal(got, pool_max_grad.bind(**how).meaning(value, most, cotangent))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_of_windows_that_move_by_one_go_along_pairs_of_rows(rng, dtype):
    """Odd and even numbers of rows, cut vectors, as many windows as elements and others; ties, NaN, infinities."""
    x, y, g = (T.tensor3(name, dtype=dtype) for name in "xyg")
    for pad in ((1, 1), (0, 1), (1, 2)):
        how = {"size": (3, 3), "stride": (1, 1), "pad": pad, "ignore_border": True}
        borrowed = [tg.In(v, borrow=True) for v in (x, y, g)]
        f = tg.function(borrowed, pool_max_grad(x, y, g, **how), mode=tg.Mode(linker="c"))
        text = f"tg_pool_max_grad_f{dtype[5:]}_3_1_pairs(" in f.source("c")
        assert text == (vector_bytes() == 64)
        for planes, h, w in itertools.product((0, 1, 3), (1, 2, 3, 6, 7), (16, 17, 24, 25, 48, 49, 63, 64, 65)):
            if h + 2 * pad[0] < 3:
                continue
            value = rng.integers(0, 4, (planes, h, w)).astype(dtype)
            value[-1:, -1, 3], value[:1, 0, -1], value[:, :, 4:8] = np.nan, np.inf, -np.inf
            most = pool.bind(kind="max", **how).meaning(value)
            cotangent = rng.integers(1, 99, most.shape).astype(dtype)
            got = f(*map(before_a_closed_page, (value, most, cotangent)))
            np.testing.assert_array_equal(got, pool_max_grad.bind(**how).meaning(value, most, cotangent))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nothing_is_read_behind_planes_whose_gradient_is_made_in_vectors(rng, dtype):
    x, y, g = (T.tensor3(name, dtype=dtype) for name in "xyg")
    for k, s, p in ((2, 2, 0), (3, 2, 0), (3, 2, 1), (3, 1, 1), (5, 2, 2), (7, 7, 0)):
        how = {"size": (k, k), "stride": (s, s), "pad": (p, p), "ignore_border": True}
        borrowed = [tg.In(v, borrow=True) for v in (x, y, g)]
        f = tg.function(borrowed, pool_max_grad(x, y, g, **how), mode=tg.Mode(linker="c"))
        for planes, n in ((1, 7), (2, 7), (3, 7), (20, 8), (5, 5), (30, 3), (2, 4), (2, 16), (2, 35)):
            if n + 2 * p >= k:
                value = rng.integers(0, 5, (planes, n, n)).astype(dtype)
                most = pool.bind(kind="max", **how).meaning(value)
                cotangent = rng.integers(1, 99, most.shape).astype(dtype)
                got = f(*map(before_a_closed_page, (value, most, cotangent)))
                np.testing.assert_array_equal(got, pool_max_grad.bind(**how).meaning(value, most, cotangent))


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
def test_windows_of_rows_of_any_length_keep_nan_and_infinity(rng, dtype):
    """Vectors go on behind a row, into the next one and into what lies around; rows are folded a few at a time."""
    x = T.tensor4("x", dtype=dtype)
    how = [(3, 1, 1), (3, 2, 1), (2, 2, 1), (5, 2, 2), (4, 3, 2), (17, 1, 8)]
    ys = [
        T.signal.pool_2d(x, (k, k), ignore_border=True, stride=(s, s), pad=(p, p), mode=mode)
        for k, s, p in how
        for mode in ("max", "sum")
    ]
    f, plain = tg.function([x], ys, mode=tg.Mode(linker="c")), tg.function([x], ys, mode=PLAIN)
    for h, w in ((1, 1), (2, 9), (7, 7), (14, 14), (10, 16), (5, 33), (28, 28)):
        value = rng.integers(0, 50, (2, 6, h, w)).astype(dtype)
        if dtype != "uint8":
            value[0, 1, 0, 0], value[1, :, -1, -1], value[0, 2] = np.nan, np.inf, -np.inf
        for view in (value, value[:, ::2], value.transpose(1, 0, 3, 2)):
            for got, wanted in zip(f(view), plain(view)):
                np.testing.assert_allclose(got, wanted, rtol=1e-5)


def test_compiled_pooling_of_lengths_that_are_not_known(rng):
    x = T.tensor3("x")
    ys = [pooled(x, {**how, "mode": mode}) for how in CASES for mode in ("max", "average_exc_pad")]
    outputs = [*ys, *[tg.grad(T.sin(y).sum(), x) for y in ys]]
    f, plain = tg.function([x], outputs, mode=tg.Mode(linker="c")), tg.function([x], outputs, mode=PLAIN)
    for shape in ((2, 7, 6), (1, 4, 3)):
        value = rng.normal(size=shape).astype(x.dtype)
        for got, wanted in zip(f(value), plain(value)):
            np.testing.assert_allclose(got, wanted, atol=1e-12)
    with pytest.raises(ValueError, match="does not fit into .* dimension 1 of length 1") as caught:
        f(np.zeros((1, 4, 1)))
    assert "test_pooling.py" in str(caught.value)


@pytest.mark.parametrize("length", [2, 9])
def test_gradients_of_sums_refuse_lengths_that_do_not_fit(length):
    g, how = T.dvector("g"), {"size": (2,), "stride": (2,), "pad": (0,)}
    with pytest.raises(ValueError, match="pooling . elements gives . windows, not the 3 of"):
        pool_sum_grad.bind(**how)(T.tensor("g", dtype="float64", shape=(3,)).term, T.constant(length).term)
    loose = pool_sum_grad.bind(**how)(g.term, T.constant(length).term)
    with pytest.raises(ValueError, match="gives the lengths"):
        evaluate([loose], {g: np.ones(3)})


def test_each_of_equal_largest_elements_gets_the_cotangent():
    x = T.dmatrix("x")
    y = T.signal.pool_2d(x, (2, 2))
    value = np.array([[1.0, 1.0, 0.0, 5.0], [0.0, 1.0, 5.0, 2.0]])
    for mode in (PLAIN, tg.Mode(linker="c")):
        g = tg.function([x], tg.grad((y * np.array([3.0, 7.0])).sum(), x), mode=mode)(value)
        np.testing.assert_array_equal(g, [[3, 3, 0, 7], [0, 3, 7, 0]])


def test_a_bias_and_a_relu_come_after_the_maximum(rng):
    x, b = T.tensor("x", dtype="float32", shape=(2, 3, 8, 9)), T.fvector("b")
    y = T.signal.pool_2d(T.maximum(x + b.dimshuffle("x", 0, "x", "x"), 0), (3, 3), stride=(2, 2))
    f = tg.function([x, b], y)
    assert [r.rule for r in f.trace].count("pooling.after_maximum") == 2
    values = rng.normal(size=(2, 3, 8, 9)).astype("f"), rng.normal(size=3).astype("f")
    np.testing.assert_array_equal(f(*values), tg.function([x, b], y, mode=PLAIN)(*values))
    g = tg.function([x, b], tg.grad(y.sum(), x))  # what the gradient compares is computed anyway: it is not moved
    np.testing.assert_array_equal(g(*values), tg.function([x, b], tg.grad(y.sum(), x), mode=PLAIN)(*values))


@pytest.mark.parametrize("mode", ["max", "sum", "average_exc_pad"])
def test_gradients_of_pooling_by_differences(rng, mode):
    how = {"ws": (3, 2), "ignore_border": True, "stride": (2, 1), "pad": (1, 1), "mode": mode}
    tg.verify_grad(lambda x: pooled(x, how), [rng.normal(size=(2, 6, 5))], rng=rng)
    tg.verify_grad(lambda x: tg.grad((pooled(x, how) ** 3).sum(), x), [rng.normal(size=(6, 5))], rng=rng)
