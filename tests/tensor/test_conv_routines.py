"""Routines of convolutions in compiled C: many shapes through each program, accuracy, whole numbers, the choice."""

import warnings

import numpy as np
import pytest
from helpers import before_a_closed_page

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build import compilers
from termgraph.terms.errors import ShapeError
from termgraph.terms.ops.convolution import conv, conv_grad_inputs, conv_grad_weights

PLAIN = tg.Mode(linker="py", optimizer="None")
C = tg.Mode(linker="c")
HOW = [  # how images are convolved with filters of which sizes
    {"stride": (1, 1), "border": ((1, 1), (1, 1)), "dilation": (1, 1), "groups": 1},
    {"stride": (2, 3), "border": ((2, 0), (0, 1)), "dilation": (1, 1), "groups": 1},
    {"stride": (1, 1), "border": ((0, 0), (3, 3)), "dilation": (2, 3), "groups": 1},
    {"stride": (2, 1), "border": ((1, 0), (1, 2)), "dilation": (1, 1), "groups": 3},
]


def shapes(rng, how, count, taps=None):
    """Images and filters that fit: empty batches, one pixel, one channel, and lengths around those of tiles."""
    for _ in range(count):
        k = taps or tuple(rng.integers(1, 5, 2))
        room = [max((n - 1) * e + 1 - sum(b), 1) for n, e, b in zip(k, how["dilation"], how["border"])]
        image = [int(m) + int(rng.choice((0, 1, 2, 13, 40))) for m in room]
        groups = how["groups"]
        batch, channels, filters = (int(rng.choice(c)) for c in ((0, 1, 2, 3), (1, 2, 5, 140), (1, 3, 8, 70)))
        if channels * filters * np.prod(image) > 3e6:
            channels = 1
        yield (batch, channels * groups, *image), (filters * groups, channels, *map(int, k))


def accurate(got, exact, terms):
    """Whether the error (its root mean square) is what sums of so many terms lose that are rounded one by one."""
    if not exact.any():
        return not got.any()
    error, scale = np.sqrt(np.mean(np.square(got - exact))), np.sqrt(np.mean(np.square(exact)))
    return got.shape == exact.shape and error < (4 + 0.1 * np.sqrt(terms)) * scale * np.finfo(got.dtype).eps


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_f66_nothing_is_read_behind_images_that_are_not_copied(rng, dtype):
    x, w, g = (T.tensor4(name, dtype=dtype) for name in "xwg")
    for groups, k in ((1, 1), (1, 2), (2, 1), (4, 1)):
        how = {**HOW[0], "border": ((0, 0), (0, 0)), "groups": groups, "flip": False, "algo": "panels"}
        outputs = [conv(x, w, **how), conv_grad_weights(x, g, w.shape[2], w.shape[3], **how)]
        f = tg.function([tg.In(v, borrow=True) for v in (x, w, g)], outputs, mode=C)
        for n, batch in ((7, 2), (5, 1), (k, 3)):
            shapes_ = (batch, 4, n, n), (8, 4 // groups, k, k), (batch, 8, n - k + 1, n - k + 1)
            a, b, c = (before_a_closed_page(rng.integers(-9, 9, s).astype(dtype)) for s in shapes_)
            y, h = f(a, b, c)
            np.testing.assert_array_equal(y, conv.bind(**how).meaning(a, b))
            np.testing.assert_array_equal(h, conv_grad_weights.bind(**how).meaning(a, c, k, k))


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("k", range(len(HOW)))
def test_f66_routines_are_accurate_for_any_shape(rng, k, flip):
    how = {**HOW[k], "flip": flip, "algo": "panels"}
    x, w, g = T.ftensor4("x"), T.ftensor4("w"), T.ftensor4("g")
    f = tg.function([x, w], conv(x, w, **how), mode=C)
    h = tg.function([x, g, w], conv_grad_weights(x, g, w.shape[2], w.shape[3], **how), mode=C, on_unused_input="ignore")
    for image, filters in shapes(rng, how, 12):
        a, b = rng.normal(size=image).astype("f"), rng.normal(size=filters).astype("f")
        y = f(a, b)
        exact = conv.bind(**how).meaning(a.astype("d"), b.astype("d"))
        assert accurate(y, exact, np.prod(filters[1:]))
        c = rng.normal(size=y.shape).astype("f")
        exact = conv_grad_weights.bind(**how).meaning(a.astype("d"), c.astype("d"), *filters[2:])
        assert accurate(h(a, c, b), exact, y[:, 0].size)


MOVED = [  # padding beyond the reach, strides above it, a dimension that is dilated, groups
    {"stride": (2, 2), "border": ((1, 1), (1, 1)), "dilation": (1, 1), "groups": 1},
    {"stride": (3, 4), "border": ((5, 0), (0, 6)), "dilation": (1, 1), "groups": 1},
    {"stride": (5, 1), "border": ((0, 2), (4, 1)), "dilation": (1, 3), "groups": 1},
    {"stride": (1, 2), "border": ((0, 1), (2, 3)), "dilation": (2, 1), "groups": 3},
]


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("k", range(len(MOVED)))
def test_f66_images_gradients_of_moving_filters_are_one_routine_for_any_shape(rng, k, flip):
    how = {**MOVED[k], "flip": flip, "algo": "panels"}
    w, g, like = T.ftensor4("w"), T.ftensor4("g"), T.ftensor4("like")
    out = conv_grad_inputs(w, g, like.shape[2], like.shape[3], **how)
    f = tg.function([w, g, like], out, mode=C)
    assert {r.rule for r in f.trace if r.rule.startswith("conv_")} == {"conv_by_panels.inputs"}
    for image, filters in shapes(rng, how, 14):
        b, a = rng.normal(size=filters).astype("f"), np.zeros(image, "f")
        c = rng.normal(size=conv.bind(**how).meaning(a, b).shape).astype("f")
        exact = conv_grad_inputs.bind(**how).meaning(b.astype("d"), c.astype("d"), *image[2:])
        for threads in (1, 2):
            with tg.config.change_flags(threads=threads):
                assert accurate(f(b, c, a), exact, filters[0] * np.prod(filters[2:]))


def test_images_of_open_lengths_have_no_quotients_behind_strides(rng):
    x, w = T.ftensor4("x"), T.tensor("w", dtype="float32", shape=(4, 3, 3, 3))
    y = T.nnet.conv2d(x, w, border_mode=(1, 1), subsample=(2, 2))
    f = tg.function([x, w], tg.grad(T.sqr(y).sum(), x), mode=C)
    assert f.source("c").count("tg_conv_spread_f32(") == 2  # the function and one call: parts are laid out in there
    a, b = rng.normal(size=(2, 3, 9, 12)).astype("f"), rng.normal(size=(4, 3, 3, 3)).astype("f")
    wanted = tg.function([x, w], tg.grad(T.sqr(y).sum(), x), mode=PLAIN)(a, b)
    np.testing.assert_allclose(f(a, b), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("stride", [(1, 1), (2, 2), (3, 4)])
def test_f66_few_filters_of_many_taps_are_right_for_images_of_any_width(rng, dtype, groups, stride):
    """These read images where they lie, vectors of places that may go over the ends of rows."""
    how = {**HOW[0], "border": ((2, 2), (2, 1)), "groups": groups, "flip": False, "algo": "panels", "stride": stride}
    x, w = T.tensor4("x", dtype=dtype), T.tensor4("w", dtype=dtype)
    f = tg.function([x, w], conv(x, w, **how), mode=C)
    for n, m, each, filters in ((3, 2, 16, 4), (9, 7, 13, 2), (4, 14, 9, 10), (5, 31, 12, 16), (17, 65, 8, 6)):
        a, b = rng.integers(-9, 9, (3, each * groups, n, m)), rng.integers(-9, 9, (filters, each, 5, 5))
        wanted = conv.bind(**how).meaning(a.astype(dtype), b.astype(dtype))
        for threads in (1, 2):
            with tg.config.change_flags(threads=threads):
                np.testing.assert_array_equal(f(a.astype(dtype), b.astype(dtype)), wanted)


@pytest.mark.parametrize("cflags", ["", "-mno-avx512f"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_few_filters_read_small_images_where_they_lie(rng, dtype, cflags):
    """Rows that end within vectors, padded or not, moving, of one group or two; the last image ends its memory."""
    x, w = (T.tensor4(name, dtype=dtype) for name in "xw")
    if cflags and not compilers.usable("avx512f"):
        pytest.skip("that is what it is without")
    for pad, stride, groups in ((0, 1, 1), (1, 1, 1), (2, 1, 2), (1, 2, 1)):
        how = {"stride": (stride, stride), "border": ((pad, pad),) * 2, "dilation": (1, 1), "groups": groups}
        with tg.config.change_flags(cflags=cflags):
            f = tg.function(
                [tg.In(v, borrow=True) for v in (x, w)], conv(x, w, **how, flip=False, algo="panels"), mode=C
            )
            for width, filters in ((3, 1), (6, 8), (13, 4), (16, 5), (33, 8), (34, 31)):
                a = rng.integers(-9, 9, (2, 16, 7, width)).astype(dtype)
                b = rng.integers(-9, 9, (filters * groups, 16 // groups, 3, 3)).astype(dtype)
                y = f(before_a_closed_page(a), before_a_closed_page(b))
                np.testing.assert_array_equal(y, conv.bind(**how, flip=False, algo="panels").meaning(a, b))


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_f66_many_channels_of_small_images_are_right_for_filters_that_lie_in_any_way(rng, dtype):
    """Filters are read where they lie; tiles of more than one image are added up apart, some taps at a time."""
    x, w = T.tensor4("x", dtype=dtype), T.tensor4("w", dtype=dtype)
    f = tg.function([x, w], [conv(x, w, **{**HOW[k], "flip": k == 1, "algo": "panels"}) for k in (0, 1)], mode=C)
    for n, channels, filters in ((7, 150, 16), (5, 390, 24), (4, 130, 12), (2, 1000, 8)):
        a, b = rng.integers(-9, 9, (9, channels, n, n)), rng.integers(-9, 9, (filters, channels, 3, 2))
        views = (b, np.concatenate([b, b], 1)[:, ::2], b[::-1], b.transpose(1, 0, 2, 3).copy().transpose(1, 0, 2, 3))
        for view in [v.astype(dtype, order="K") if v is not b else b.astype(dtype) for v in views]:
            for threads in (1, 2):
                with tg.config.change_flags(threads=threads):
                    for k, got in enumerate(f(a.astype(dtype), view)):
                        wanted = conv.bind(**{**HOW[k], "flip": k == 1}).meaning(a.astype(dtype), view)
                        np.testing.assert_array_equal(got, wanted)


def test_f66_long_sums_are_added_up_in_parts(rng):
    how = {**HOW[0], "flip": False, "algo": "panels"}
    values = [rng.normal(size=s).astype("f") for s in ((8, 40, 40, 40), (8, 40, 3, 3), (8, 8, 40, 40))]
    x, w, g = (T.tensor(n, dtype="float32", shape=v.shape) for n, v in zip("xwg", values))
    f = tg.function([x, w, g], [conv(x, w, **how), conv_grad_weights(x, g, 3, 3, **how)], mode=C)
    a, b, c = (v.astype("d") for v in values)
    exact = conv.bind(**how).meaning(a, b), conv_grad_weights.bind(**how).meaning(a, c, 3, 3)
    errors = [np.std(got - wanted) / np.std(wanted) / np.finfo("f").eps for got, wanted in zip(f(*values), exact)]
    assert errors[0] < 2.3 and errors[1] < 9  # one by one: 2.8 and 16, in units of the last place


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("k", [3, 5])
def test_f66_winograd_is_accurate_for_any_shape(rng, dtype, k):
    for border in (((1, 1), (1, 1)), ((0, 2), (3, 0)), ((0, 0), (0, 0))):
        how = {**HOW[0], "border": border, "flip": False, "algo": "winograd"}
        x, w = T.tensor4("x", dtype=dtype), T.tensor("w", dtype=dtype, shape=(None, None, k, k))
        f = tg.function([x, w], conv(x, w, **how), mode=C)
        assert "conv_as_winograd.forward" in {r.rule for r in f.trace}
        for image, filters in shapes(rng, how, 14, (k, k)):
            a, b = rng.normal(size=image).astype(dtype), rng.normal(size=filters).astype(dtype)
            exact = conv.bind(**how).meaning(a.astype("d"), b.astype("d"))
            y = f(a, b)
            assert accurate(y, exact, np.prod(filters[1:]))


@pytest.mark.parametrize("k", [3, 5])
@pytest.mark.parametrize("channels, filters", [(600, 150), (600, 24)])  # filters, or channels, some at a time
def test_f66_winograd_takes_filters_or_channels_some_at_a_time(rng, k, channels, filters):
    image, taps = (1, channels, 6, 7), (filters, channels, k, k)
    x, w = (T.tensor(n, dtype="float64", shape=s) for n, s in (("x", image), ("w", taps)))
    f = tg.function([x, w], T.nnet.conv2d(x, w, border_mode="half", algo="winograd"), mode=C)
    a, b = rng.normal(size=image), rng.normal(size=taps)
    exact = tg.function([x, w], T.nnet.conv2d(x, w, border_mode="half"), mode=PLAIN)(a, b)
    np.testing.assert_allclose(f(a, b), exact, atol=1e-10)


def test_f66_winograd_in_two_threads_and_of_views(rng):
    x, w = T.dtensor4("x"), T.tensor("w", dtype="float64", shape=(None, None, 3, 3))
    y = T.nnet.conv2d(x.dimshuffle(0, 3, 1, 2)[:, ::2], w[:, :, ::-1], border_mode=(1, 2), algo="winograd")
    a, b = rng.normal(size=(3, 40, 41, 8)), rng.normal(size=(30, 4, 3, 3))
    f, expected = tg.function([x, w], y, mode=C), tg.function([x, w], y, mode=PLAIN)(a, b)
    np.testing.assert_allclose(f(a, b), expected, atol=1e-12)
    with tg.config.change_flags(threads=2):
        np.testing.assert_allclose(f(a, b), expected, atol=1e-12)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint64"])
def test_whole_numbers_have_no_stored_windows_and_wrap_around(rng, dtype):
    x, w = T.tensor("x", dtype=dtype, shape=(2, 4, 9, 8)), T.tensor("w", dtype=dtype, shape=(6, 2, 3, 2))
    y = T.nnet.conv2d(x, w, num_groups=2, subsample=(2, 1), border_mode=(1, 1))
    outputs = [y, conv_grad_inputs(w, y, 9, 8, **y.owner.op.params), conv_grad_weights(x, y, 3, 2, **y.owner.op.params)]
    values = [rng.integers(0, 127, s).astype(dtype) for s in ((2, 4, 9, 8), (6, 2, 3, 2))]
    f = tg.function([x, w], outputs, mode=C)
    assert {r.rule.partition(".")[0] for r in f.trace if r.rule.startswith("conv_")} == {"conv_by_panels"}
    for got, wanted in zip(f(*values), tg.function([x, w], outputs, mode=PLAIN)(*values)):
        np.testing.assert_array_equal(got, wanted)
        assert got.dtype == wanted.dtype == dtype


def assert_near(got, wanted, dtype):
    """Equal whole numbers, or numbers as near as sums in another order are."""
    if dtype == "int32":
        np.testing.assert_array_equal(got, wanted)
    else:
        most = np.abs(wanted).max(initial=1.0)
        np.testing.assert_allclose(got, wanted, atol={"float32": 4e-6, "float64": 1e-14}[dtype] * most)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_f66_taps_outside_of_small_images_are_left_out(rng, dtype):
    """Small images, large filters, many channels: the way of `conv_across.py`, also where filters lie otherwise."""
    cases = [
        ((8, 32, 7, 7), (17, 5, 5), (2, 2), (1, 1), (1, 1), 1), ((5, 40, 6, 9), (48, 3, 5), (1, 2), (1, 1), (1, 1), 1),
        ((9, 64, 5, 4), (50, 3, 3), (2, 2), (1, 2), (2, 1), 1), ((4, 96, 3, 3), (8, 3, 3), (1, 1), (1, 1), (1, 1), 2),
        ((16, 128, 1, 1), (33, 3, 3), (1, 1), (1, 1), (1, 1), 1), ((8, 99, 4, 4), (1, 1, 3), (0, 1), (1, 1), (1, 1), 1),
        ((8, 40, 2, 2), (16, 5, 5), (4, 4), (1, 1), (1, 1), 1), ((0, 64, 3, 3), (8, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ]  # fmt: skip
    for image, (filters, *taps), border, stride, dilation, groups in cases:
        x = (4 * rng.normal(size=image)).astype(dtype)
        w = (4 * rng.normal(size=(filters, image[1] // groups, *taps))).astype(dtype)
        how = {"border_mode": border, "subsample": stride, "filter_dilation": dilation, "num_groups": groups}
        for a, b in ((x, w), (x[:, ::-1], w[:, :, ::-1, ::-1]), (x[:, :, ::-1], np.asfortranarray(w))):
            v, u = T.tensor("v", dtype=dtype, shape=(None,) * 4), T.tensor("u", dtype=dtype, shape=b.shape)
            y = T.nnet.conv2d(v, u, algo="panels", **how)
            got, wanted = (tg.function([v, u], y, mode=m)(a, b) for m in (C, PLAIN))
            assert_near(got, wanted, dtype)


@pytest.mark.parametrize("cflags", ["", "-mno-avx512f"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_f66_few_padded_places_are_accurate_for_any_shape(rng, dtype, cflags):
    """Tiles of two, four and eight places, rests of vectors of filters, blocks of channels, more taps than a block.

    Filters lie as they are, channels first as in images' gradients, and backwards.
    """
    if cflags and compilers.vector_bytes() != 64:
        pytest.skip("there is no other length of vectors")
    x, w = T.tensor4("x", dtype=dtype), T.tensor4("w", dtype=dtype)
    for k, some in ((3, 3), (5, 3), (15, 1)):
        how = {**HOW[0], "border": ((k // 2, k // 2),) * 2, "flip": False}
        with tg.config.change_flags(cflags=cflags):
            f = tg.function([x, w], conv(x, w, **how, algo="panels"), mode=C)
        for channels in (24, 32, 47)[:some]:
            batch, n, filters = (int(rng.choice(c)) for c in ((1, 2, 3, 7), (3, 7, 8, 14), (3, 16, 24, 40, 97)))
            a = rng.normal(size=(batch, channels, n, n)).astype(dtype)
            b = rng.normal(size=(filters, channels, k, k)).astype(dtype)
            first = np.ascontiguousarray(b.transpose(1, 0, 2, 3)).transpose(1, 0, 2, 3)
            for taps in (b, first, first[:, :, ::-1, ::-1], b[::-1, :, :, ::-1]):
                exact = conv.bind(**how).meaning(a.astype("d"), taps.astype("d"))
                for threads in (1, 2):
                    with tg.config.change_flags(threads=threads):
                        assert accurate(f(a, taps), exact, channels * k * k)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_f66_shares_of_small_images_are_added_up(rng, dtype):
    """Filters that lie tap after tap, few places: the way of `conv_shares.py`, with infinities beside what is read."""
    cases = [
        ((2, 40, 7, 7), (17, 3, 3), (1, 1), (1, 1), 1), ((3, 33, 5, 18), (20, 2, 5), (1, 4), (1, 1), 1),
        ((1, 170, 4, 35), (9, 5, 1), (2, 0), (1, 1), 1), ((2, 64, 9, 6), (6, 3, 2), (3, 1), (2, 3), 1),
        ((40, 32, 13, 14), (24, 3, 3), (2, 2), (1, 1), 1), ((2, 32, 1, 1), (16, 3, 3), (5, 4), (1, 1), 1),
        ((2, 80, 6, 7), (8, 3, 3), (1, 0), (1, 1), 2), ((2, 64, 14, 14), (3, 5, 5), (2, 2), (1, 1), 1),
    ]  # fmt: skip
    for image, (filters, *taps), border, dilation, groups in cases:
        x = (4 * rng.normal(size=image)).astype(dtype)
        if dtype != "int32":
            x[0, -1, -1, -1], x[-1, 0, 0, 0] = np.inf, np.nan
        w = (4 * rng.normal(size=(image[1] // groups, filters, *taps))).astype(dtype)
        how = {"border_mode": border, "filter_dilation": dilation, "num_groups": groups, "algo": "panels"}
        v, u = T.tensor("v", dtype=dtype, shape=(None,) * 4), T.tensor("u", dtype=dtype, shape=w.shape)
        ways = [T.nnet.conv2d(v, u.dimshuffle(1, 0, 2, 3), filter_flip=flip, **how) for flip in (False, True)]
        for a in (x, np.asfortranarray(x), x[:, ::-1, :, ::-1]):
            for got, wanted in zip(*[tg.function([v, u], ways, mode=m)(a, w) for m in (C, PLAIN)]):
                for ok in (np.isnan, np.isposinf, np.isneginf) if dtype != "int32" else ():
                    np.testing.assert_array_equal(ok(got), ok(wanted))
                inside = np.isfinite(wanted)
                assert_near(np.where(inside, got, 0).astype(dtype), np.where(inside, wanted, 0), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_f66_shares_of_elements_that_are_apart_are_added_up(rng, dtype):
    """Images' gradients of filters that move by two: shares again, with infinities beside what is read."""
    cases = [  # the image, filters and taps, border, stride, dilation, groups
        ((2, 16, 14, 14), (64, 3, 3), ((1, 1), (1, 1)), (2, 2), (1, 1), 1),
        ((3, 17, 9, 35), (40, 4, 5), ((2, 0), (0, 3)), (2, 2), (1, 1), 1),
        ((1, 3, 21, 64), (64, 5, 4), ((4, 9), (9, 2)), (2, 2), (1, 1), 1),
        ((2, 9, 10, 7), (33, 2, 2), ((0, 1), (3, 0)), (2, 1), (1, 2), 1),
        ((2, 8, 6, 19), (70, 3, 1), ((3, 1), (0, 0)), (1, 2), (2, 1), 1),
        ((40, 6, 12, 13), (64, 3, 3), ((1, 0), (2, 1)), (2, 2), (1, 1), 2),
        ((2, 5, 2, 40), (32, 1, 3), ((0, 0), (30, 40)), (2, 2), (1, 1), 1),
        ((0, 8, 6, 6), (40, 3, 3), ((1, 1), (1, 1)), (2, 2), (1, 1), 1),
    ]  # fmt: skip
    for image, (filters, *taps), border, stride, dilation, groups in cases:
        how = {"stride": stride, "border": border, "dilation": dilation, "groups": groups, "algo": "panels"}
        places = [
            (n + sum(b) - (k - 1) * e - 1) // s + 1 for n, b, k, e, s in zip(image[2:], border, taps, dilation, stride)
        ]
        g = (4 * rng.normal(size=(image[0], filters, *places))).astype(dtype)
        if dtype != "int32" and g.size:
            g[0, -1, -1, -1], g[-1, 0, 0, 0] = np.inf, np.nan
        w = (4 * rng.normal(size=(filters, image[1] // groups, *taps))).astype(dtype)
        v, u = T.tensor("v", dtype=dtype, shape=(None,) * 4), T.tensor("u", dtype=dtype, shape=w.shape)
        ways = [conv_grad_inputs(u, v, *image[2:], **how, flip=flip) for flip in (False, True)]
        for a in (g, np.asfortranarray(g), g[:, ::-1, :, ::-1]):
            for got, wanted in zip(*[tg.function([v, u], ways, mode=m)(a, w) for m in (C, PLAIN)]):
                for ok in (np.isnan, np.isposinf, np.isneginf) if dtype != "int32" else ():
                    np.testing.assert_array_equal(ok(got), ok(wanted))
                inside = np.isfinite(wanted)
                assert_near(np.where(inside, got, 0).astype(dtype), np.where(inside, wanted, 0), dtype)


def test_f66_gradients_of_small_images_are_those_of_the_meaning(rng):
    x, w = T.ftensor4("x"), T.tensor("w", dtype="float32", shape=(32, 24, 5, 5))
    y = T.nnet.conv2d(x, w, border_mode="half", algo="panels")
    slopes = tg.grad(T.sqr(y).sum(), [x, w])
    a, b = rng.normal(size=(8, 24, 7, 7)).astype("f"), rng.normal(size=(32, 24, 5, 5)).astype("f")
    for got, wanted in zip(*[tg.function([x, w], slopes, mode=m)(a, b) for m in (C, PLAIN)]):
        np.testing.assert_allclose(got, wanted, atol=1e-5 * np.abs(wanted).max())


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_f66_filters_gradients_where_images_are_read_at_places_that_are_inside(rng, dtype):
    """Padded small images: many of a call, rows without gaps and with them, taps that read nothing, rests of tiles."""
    cases = [
        ((9, 24, 7, 7), (3, 33, 5, 5), ((2, 2), (2, 2)), (1, 1), (1, 1), 1),
        ((3, 13, 14, 12), (2, 70, 3, 3), ((1, 1), (1, 1)), (1, 1), (1, 1), 1),
        ((40, 16, 3, 5), (2, 9, 3, 3), ((3, 1), (2, 4)), (2, 1), (1, 2), 1),
        ((2, 32, 6, 6), (2, 8, 5, 3), ((2, 2), (1, 1)), (1, 1), (1, 1), 2),
        ((2, 8, 1, 1), (1, 17, 3, 3), ((1, 1), (1, 1)), (1, 1), (1, 1), 1),
        ((1, 16, 40, 4), (1, 20, 3, 5), ((1, 1), (4, 4)), (1, 1), (1, 1), 1),
    ]  # fmt: skip
    for image, (step, filters, *taps), border, stride, dilation, groups in cases:
        how = {"stride": stride, "border": border, "dilation": dilation, "groups": groups, "flip": False}
        places = [
            (n + sum(b) - (k - 1) * e - 1) // s + 1 for n, b, k, e, s in zip(image[2:], border, taps, dilation, stride)
        ]
        x = (4 * rng.normal(size=(step * image[0], *image[1:]))).astype(dtype)[::step]
        g = (4 * rng.normal(size=(image[0], filters, *places))).astype(dtype)
        for a, b in ((x, g), (x[:, ::-1, ::-1], g[..., ::-1]), (x[..., ::-1], g[:, ::-1])):
            v, u = (T.tensor(name, dtype=dtype, shape=(None,) * 4) for name in "vu")
            y = conv_grad_weights(v, u, *taps, **how, algo="panels")
            got, wanted = (tg.function([v, u], y, mode=m)(a, b) for m in (C, PLAIN))
            assert_near(got, wanted, dtype)


def test_filters_that_no_group_divides_are_refused(rng):
    x, w = T.tensor4("x"), T.tensor4("w")
    y = T.nnet.conv2d(x, w, num_groups=2)
    f, g = (tg.function([x, w], t, mode=C) for t in (y, tg.grad(y.sum(), [x, w])))
    image = rng.normal(size=(1, 4, 3, 3)).astype(x.dtype)
    for filters in (1, 3):
        for h in (f, g):
            with pytest.raises(ShapeError, match=f"{filters} filters cannot be divided into 2 groups"):
                h(image, np.ones((filters, 2, 2, 2), x.dtype))
    assert f(image, np.ones((2, 2, 2, 2), x.dtype)).shape == (1, 2, 2, 2)


# ---------------------------------------------------------------------- which
def chosen(batch, channels, n, filters, k=3, **how):
    """The routine that is used, and the prices."""
    x = T.tensor("x", dtype="float32", shape=(batch, channels, n, n))
    w = T.tensor("w", dtype="float32", shape=(filters, channels, k, k))
    y = T.nnet.conv2d(x, w, border_mode="half", **how)
    routine = tg.function([x, w], y, mode=C).maker.fgraph.outputs[0].owner.op.name
    return routine.removeprefix("conv_"), T.nnet.conv_prices(y, compilers.vector_bytes())


def test_f66_the_cheaper_routine_is_chosen_and_prices_can_be_asked_for():
    for case in ((8, 256, 28, 512), (1, 64, 56, 64), (1, 512, 7, 512), (2, 3, 20, 4, 5)):
        way, prices = chosen(*case)
        assert way == min(prices, key=prices.get)
    assert chosen(8, 256, 28, 512)[0] == "winograd" and chosen(1, 512, 7, 512)[0] == "panels"
    assert chosen(8, 512, 7, 512)[0] == "panels" and chosen(8, 512, 14, 512)[0] == "winograd"  # as measured
    assert chosen(8, 128, 7, 48, 5)[0] == "panels" and chosen(8, 32, 14, 128, 5)[0] == "winograd"
    packed = 8 * 49 * 25 * 128 * (48 + 6)  # with the taps outside of the images
    assert chosen(8, 128, 7, 48, 5)[1]["panels"] < packed
    assert chosen(8, 256, 28, 512, algo="panels")[0] == "panels"
    assert chosen(1, 512, 7, 512, algo="winograd")[0] == "winograd"
    assert set(chosen(2, 3, 20, 4, subsample=(2, 2))[1]) == {"panels"}
    with tg.config.change_flags(**{"dnn.conv.algo_fwd": "panels"}):
        assert chosen(8, 256, 28, 512)[0] == "panels"
    x, w = T.ftensor4("x"), T.tensor("w", dtype="float32", shape=(8, 8, 3, 3))
    assert T.nnet.conv_prices(T.nnet.conv2d(x, w)) == {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no rule fails where lengths are not known
        assert "conv_by_panels.forward" in {r.rule for r in tg.function([x, w], T.nnet.conv2d(x, w), mode=C).trace}
    with pytest.raises(TypeError, match="conv_prices takes the result of a convolution"):
        T.nnet.conv_prices(x)


@pytest.mark.parametrize(("vectors", "way"), [(64, "panels"), (32, "winograd")])
def test_f66_prices_depend_on_the_length_of_vectors(monkeypatch, vectors, way):
    """Rows of seven windows fill half of long vectors: as measured for both."""
    monkeypatch.setattr(compilers, "vector_bytes", lambda: vectors)
    with tg.config.change_flags(**{"cache.programs": False}):
        routine, prices = chosen(8, 128, 14, 32, 5)
    assert routine == way == min(prices, key=prices.get)


def test_f66_vectors_are_those_of_the_processor_and_may_be_forbidden(monkeypatch):
    native = compilers.find_compiler()
    if native is None or "-march=native" not in native.flags:
        pytest.skip("the compiler does not know this processor")
    for flags, forbidden, size in (
        ({"avx", "avx512f"}, "", 64), ({"avx", "avx512f"}, "-O2 -mno-avx512f", 32), ({"avx"}, "", 32),
        ({"avx", "avx512f"}, "-mno-avx", 16), (set(), "", 16),
    ):  # fmt: skip
        monkeypatch.setattr(compilers, "processor_flags", lambda flags=flags: frozenset(flags))
        with tg.config.change_flags(cflags=forbidden):
            assert compilers.vector_bytes() == size


def test_f66_images_gradients_by_winograd(rng):
    x = T.tensor("x", dtype="float32", shape=(2, 64, 20, 20))
    w = T.tensor("w", dtype="float32", shape=(48, 64, 3, 3))
    f = tg.function([x, w], tg.grad(T.sqr(T.nnet.conv2d(x, w, border_mode="half")).sum(), [x, w]), mode=C)
    assert [r.rule for r in f.trace].count("conv_as_winograd.forward") == 2
    a, b = rng.normal(size=(2, 64, 20, 20)).astype("f"), rng.normal(size=(48, 64, 3, 3)).astype("f")
    y = T.nnet.conv2d(x, w, border_mode="half")
    for got, wanted in zip(f(a, b), tg.function([x, w], tg.grad(T.sqr(y).sum(), [x, w]), mode=PLAIN)(a, b)):
        np.testing.assert_allclose(got, wanted, atol=2e-5 * np.abs(wanted).max())


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda x: T.nnet.conv2d(x, np.ones((2, 3, 5, 3), "f"), algo="winograd"), "takes filters of 3x3"),
        (lambda x: T.nnet.conv2d(x, np.ones((2, 3, 3, 3), "f"), subsample=2, algo="winograd"), "takes filters of 3x3"),
        (lambda x: T.nnet.conv2d(x, T.ftensor4(), algo="winograd"), "give filter_shape"),
    ],
)  # fmt: skip
def test_f66_winograd_says_what_it_takes(build, message):
    with pytest.raises(ValueError, match=message):
        build(T.tensor("x", dtype="float32", shape=(2, 3, 9, 9)))


# ---------------------------------------------------------------------- channels
@pytest.mark.parametrize("linker", ["c", "py"])
@pytest.mark.parametrize("algo", ["panels", "gemm", "direct", "winograd"])
def test_channels_that_do_not_fit_are_named_by_every_way(linker, algo):
    x, w = T.ftensor4("x"), T.tensor("w", dtype="float32", shape=(None, None, 3, 3))
    f = tg.function([x, w], T.nnet.conv2d(x, w, algo=algo), mode=tg.Mode(linker=linker))  # the line to name
    with pytest.raises(
        ValueError, match="the image has 4 channels, the filters read 5|read 5 channels.* has 4"
    ) as caught:
        f(np.ones((2, 4, 6, 6), "f"), np.ones((3, 5, 3, 3), "f"))
    assert "T.nnet.conv2d(x, w, algo=algo)" in str(caught.value)


def test_the_text_of_routines_is_short_and_says_how_much_room_they_need():
    x, w = (T.tensor(n, dtype="float32", shape=s) for n, s in (("x", (2, 64, 20, 20)), ("w", (48, 64, 3, 3))))
    y = T.nnet.conv2d(x, w, border_mode="half")
    text = tg.function([x, w], tg.grad(T.sqr(y).sum(), [x, w]), mode=C).source("c")
    assert len(text) < 70_000  # every program with convolutions has it
    assert f"TG_NOMEM, -1, {4 * 2 * 64 * 20 * 20}, " in text  # the images with zeros around them, not all lengths


@pytest.mark.parametrize(
    "shape, pad, x", [((3, 1, 120, 16), (1, 0), (2, 120, 3, 3)), ((5, 1, 120, 64), (2, 0), (2, 120, 5, 5))]
)
def test_filters_one_column_wide_that_lie_in_another_order(shape, pad, x):
    """Rows first in memory, turned in the graph: their steps are no step along memory."""
    images, filters = T.ftensor4("images"), T.ftensor4("filters")
    y = T.nnet.conv2d(images, filters.dimshuffle(3, 2, 0, 1), border_mode=pad)
    rng = np.random.default_rng(3)
    values = [rng.integers(-4, 5, s).astype("float32") for s in (x, shape)]
    given, wanted = (tg.function([images, filters], y, mode=tg.Mode(linker=way))(*values) for way in ("c", "py"))
    np.testing.assert_array_equal(given, wanted)


def test_a_plane_of_filters_that_only_meets_padding_gives_zeros():
    images, filters = T.TensorType("float32", (None,) * 5)("images"), T.TensorType("float32", (None,) * 5)("filters")
    y = T.nnet.conv3d(images, filters, border_mode=((1, 0), (2, 2), (2, 2)), subsample=(2, 1, 1))
    f = tg.function([images, filters], y, mode=tg.Mode(linker="c"))
    assert not f(np.ones((8, 64, 1, 7, 7), "float32"), np.ones((64, 64, 1, 5, 5), "float32")).any()
