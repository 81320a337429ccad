"""Convolutions: every option against loops and SciPy, each way to compute them, gradients, errors."""

import itertools

import numpy as np
import pytest
import scipy.signal
from hypothesis import given, settings
from hypothesis import strategies as st

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.ops.convolution import padding
from termgraph.terms.traverse import subterms

PLAIN = tg.Mode(linker="py", optimizer="None")
PLACEHOLDERS = {"AbstractConv2d", "AbstractConv2d_gradInputs", "AbstractConv2d_gradWeights"}
CONV = {1: T.nnet.conv1d, 2: T.nnet.conv2d, 3: T.nnet.conv3d}


def by_loops(x, w, border="valid", stride=None, dilation=None, groups=1, flip=True):
    """The convolution as a sum over every filter tap, with nothing clever in it."""
    n = x.ndim - 2
    stride, dilation = stride or (1,) * n, dilation or (1,) * n
    w = w[(slice(None), slice(None), *[slice(None, None, -1)] * n)] if flip else w
    pads = [padding(border, d, x.shape[2 + d], w.shape[2 + d], stride[d], dilation[d]) for d in range(n)]
    x = np.pad(x, [(0, 0), (0, 0), *pads])
    places = [(m - (k - 1) * e - 1) // s + 1 for m, k, e, s in zip(x.shape[2:], w.shape[2:], dilation, stride)]
    out = np.zeros((x.shape[0], w.shape[0], *places), np.result_type(x, w))
    per_in, per_out = x.shape[1] // groups, w.shape[0] // groups
    if 0 in out.shape:
        return out
    for o, c in itertools.product(range(w.shape[0]), range(per_in)):
        for tap in np.ndindex(*w.shape[2:]):
            at = [slice(k * e, k * e + s * (m - 1) + 1, s) for m, s, k, e in zip(places, stride, tap, dilation)]
            out[:, o] += x[(slice(None), o // per_out * per_in + c, *at)] * w[(o, c, *tap)]
    return out


@st.composite
def forms(draw, ndims=(1, 2, 3)):
    """Arrays that fit, and how to convolve them."""
    n = draw(st.sampled_from(ndims))

    def each(low, high):
        return tuple([draw(st.integers(low, high)) for _ in range(n)])

    groups, stride, dilation, taps = draw(st.sampled_from((1, 1, 2, 3))), each(1, 3), each(1, 2), each(1, 3)
    border = draw(
        st.sampled_from(("valid", "full", "half", "same", tuple([(a, b) for a, b in zip(each(0, 2), each(0, 2))])))
    )
    image = tuple([(k - 1) * e + 1 + draw(st.integers(0, 3)) for k, e in zip(taps, dilation)])
    batch, channels, filters = draw(st.integers(0, 2)), draw(st.integers(1, 2)), draw(st.integers(1, 2))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    x = rng.normal(size=(batch, channels * groups, *image))
    w = rng.normal(size=(filters * groups, channels, *taps))
    how = {"border": border, "stride": stride, "dilation": dilation, "groups": groups, "flip": draw(st.booleans())}
    return x, w, how


def built(x, w, how, known):
    """Symbolic operands and their convolution."""
    vx, vw = [
        T.tensor(name, dtype=a.dtype.name, shape=a.shape if known else (None,) * a.ndim)
        for name, a in (("x", x), ("w", w))
    ]
    y = CONV[x.ndim - 2](
        vx, vw, border_mode=how["border"], subsample=how["stride"], filter_dilation=how["dilation"],
        num_groups=how["groups"], filter_flip=how["flip"], algo=how.get("algo"),
    )  # fmt: skip
    return vx, vw, y


def with_gradients(x, w, how, known):
    vx, vw, y = built(x, w, how, known)
    return [vx, vw], [y, *tg.grad((y * T.cos(y)).sum(), [vx, vw])]


# ---------------------------------------------------------------------- values
@settings(max_examples=60, deadline=None)
@given(forms())
def test_f66_the_meaning_is_the_sum_over_all_taps(form):
    x, w, how = form
    vx, vw, y = built(x, w, how, known=False)
    expected = by_loops(x, w, **how)
    np.testing.assert_allclose(tg.function([vx, vw], y, mode=PLAIN)(x, w), expected, atol=1e-12)
    known = built(x, w, how, known=True)[2].type.shape
    assert known == expected.shape


@settings(max_examples=80, deadline=None)
@given(forms(), st.booleans(), st.sampled_from(("gemm", "direct", "fft", "panels")))
def test_f66_each_way_agrees_with_the_meaning(form, known, algo):
    x, w, how = form
    inputs, outputs = with_gradients(x, w, {**how, "algo": algo}, known or algo in ("fft", "panels"))
    f = tg.function(inputs, outputs, mode=tg.Mode(linker="py"))
    left = {t.op.name for t in subterms([o.term for o in f.maker.fgraph.outputs])} & PLACEHOLDERS
    spread = any(s > 1 < e for s, e in zip(how["stride"], how["dilation"]))  # then panels do not know images' gradients
    assert left <= ({"AbstractConv2d_gradInputs"} if algo == "panels" and spread else set())
    for got, expected in zip(f(x, w), tg.function(inputs, outputs, mode=PLAIN)(x, w)):
        np.testing.assert_allclose(got, expected, atol=1e-11)


S3, O3 = (1, 2, 1), (1, 1, 1)
FORMS = [  # images, filters, how
    ((2, 4, 9, 8), (6, 2, 3, 2), {"border": "valid", "stride": (1, 1), "dilation": (1, 1), "groups": 2, "flip": True}),
    ((2, 3, 7, 6), (2, 3, 3, 3), {"border": "half", "stride": (2, 3), "dilation": (1, 1), "groups": 1, "flip": False}),
    ((1, 2, 6, 5), (3, 2, 2, 3), {"border": "full", "stride": (1, 2), "dilation": (2, 1), "groups": 1, "flip": True}),
    ((0, 2, 6, 5), (3, 2, 2, 3), {"border": "same", "stride": (2, 2), "dilation": (1, 1), "groups": 1, "flip": True}),
    ((2, 3, 12), (3, 1, 4), {"border": ((3, 0),), "stride": (1,), "dilation": (2,), "groups": 3, "flip": False}),
    ((2, 1, 4, 5, 3), (2, 1, 2, 3, 2), {"border": "full", "stride": S3, "dilation": O3, "groups": 1, "flip": True}),
    ((2, 3, 5, 5), (4, 3, 1, 1), {"border": "valid", "stride": (1, 1), "dilation": (1, 1), "groups": 1, "flip": True}),
]  # fmt: skip


@pytest.mark.parametrize("algo", ["gemm", "direct", "fft", "panels"])
def test_f66_compiled_code_agrees(rng, algo):
    inputs, outputs, values = [], [], []
    for image, filters, how in FORMS if algo in ("gemm", "panels") else FORMS[:3]:
        x, w = rng.normal(size=image), rng.normal(size=filters)
        more, results = with_gradients(x, w, {**how, "algo": algo}, known=True)
        inputs, outputs, values = [*inputs, *more], [*outputs, *results], [*values, x, w]
    got = tg.function(inputs, outputs, mode=tg.Mode(linker="c"))(*values)
    for a, b in zip(got, tg.function(inputs, outputs, mode=PLAIN)(*values)):
        np.testing.assert_allclose(a, b, atol=1e-11)


def test_f66_compiled_code_agrees_where_lengths_are_unknown(rng):
    x, w = rng.normal(size=(2, 2, 9)), rng.normal(size=(3, 2, 3))
    how = {"border": "valid", "stride": (2,), "dilation": (1,), "groups": 1, "flip": True}
    inputs, outputs = with_gradients(x, w, how, known=False)
    got = tg.function(inputs, outputs, mode=tg.Mode(linker="c"))(x, w)
    for a, b in zip(got, tg.function(inputs, outputs, mode=PLAIN)(x, w)):
        np.testing.assert_allclose(a, b, atol=1e-11)


@pytest.mark.parametrize("number", range(len(FORMS)))
@pytest.mark.parametrize("border", ["half", "full", "same", "valid", (1, 0)])
def test_zeros_of_computed_number_lie_in_a_copy_of_the_image(rng, number, border):
    """Panels compute what is left: there is no array of all windows, and no product of matrices."""
    image, filters, how = FORMS[number]
    x, w = rng.normal(size=image), rng.normal(size=filters)
    border = border if isinstance(border, str) else (border,) * len(how["stride"])
    inputs, outputs = with_gradients(x, w, {**how, "border": border}, known=False)
    f = tg.function(inputs, outputs, mode=tg.Mode(linker="c"))
    for a, b in zip(f(x, w), tg.function(inputs, outputs, mode=PLAIN)(x, w), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-11)
    ops = {t.op.name for t in subterms([o.term for o in f.maker.fgraph.outputs])}
    spread = any(s > 1 < e for s, e in zip(how["stride"], how["dilation"]))  # then panels do not know images' gradients
    assert "conv_panels" in ops and "conv_taps" in ops
    assert spread or not ops & {"windows", "dot", "matmul"}


@pytest.mark.parametrize("border", ["half", "full", "same"])
@pytest.mark.parametrize("steps", [(1, 1), (2, 1)])
@pytest.mark.parametrize("algo", [None, "gemm"])
def test_one_length_is_known_and_the_others_are_not(rng, border, steps, algo):
    """What is computed keeps the known lengths, and so its type: no placeholder is left."""
    x, w = rng.normal(size=(2, 2, 9, 7)), rng.normal(size=(3, 2, 3, 2))
    vx = T.tensor("x", dtype="float64", shape=(None, 2, 9, None))
    vw = T.tensor("w", dtype="float64", shape=(3, 2, None, None))
    y = T.nnet.conv2d(vx, vw, border_mode=border, subsample=steps, algo=algo)
    outputs = [y, *tg.grad((y * T.cos(y)).sum(), [vx, vw])]
    f = tg.function([vx, vw], outputs, mode=tg.Mode(linker="c"))
    for a, b in zip(f(x, w), tg.function([vx, vw], outputs, mode=PLAIN)(x, w), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-11)


def test_f66_scipy_agrees(rng):
    x, w = rng.normal(size=(1, 1, 7, 8)), rng.normal(size=(1, 1, 3, 4))
    vx, vw = T.dtensor4(), T.dtensor4()
    for border in ("valid", "full"):
        y = tg.function([vx, vw], T.nnet.conv2d(vx, vw, border_mode=border), mode="FAST_COMPILE")(x, w)
        np.testing.assert_allclose(y[0, 0], scipy.signal.convolve2d(x[0, 0], w[0, 0], mode=border), atol=1e-12)
        y = tg.function([vx, vw], T.nnet.conv2d(vx, vw, border_mode=border, filter_flip=False), mode="FAST_COMPILE")(
            x, w
        )
        np.testing.assert_allclose(y[0, 0], scipy.signal.correlate2d(x[0, 0], w[0, 0], mode=border), atol=1e-12)


def test_whole_numbers_and_mixed_dtypes(rng):
    x, w = rng.integers(-9, 9, (2, 2, 5, 6)), rng.integers(-9, 9, (3, 2, 2, 2)).astype("int8")
    vx, vw = T.ltensor4(), T.btensor4()
    y = T.nnet.conv2d(vx, vw, border_mode=1)
    assert y.dtype == "int64"
    got = tg.function([vx, vw], y, mode="FAST_COMPILE")(x, w)
    np.testing.assert_array_equal(got, by_loops(x, w, ((1, 1), (1, 1))))
    half = T.nnet.conv1d(np.full((1, 1, 3000), 1, "float16"), np.full((1, 1, 3000), 1, "float16"))
    assert half.dtype == "float16" and half.eval() == 3000


# ---------------------------------------------------------------------- the routine
LAYERS = [  # images, filters, how: more places, taps and filters than a tile has, ends of all kinds
    ((3, 70, 14, 14), (65, 70, 3, 3), {"border_mode": (1, 1)}),
    ((2, 3, 43, 50), (20, 3, 11, 11), {"border_mode": (2, 2), "subsample": (4, 4)}),
    ((2, 130, 9, 31), (9, 130, 5, 5), {"border_mode": "half"}),
    ((1, 48, 16, 16), (50, 48, 1, 1), {}),
    ((2, 40, 1, 1), (40, 40, 1, 1), {}),
    ((2, 24, 17, 15), (48, 1, 3, 3), {"num_groups": 24, "border_mode": "half"}),
    ((2, 12, 20, 9), (18, 4, 3, 2), {"num_groups": 3, "filter_dilation": (2, 3), "filter_flip": False}),
    ((2, 6, 13, 12), (7, 6, 4, 3), {"subsample": (3, 2), "border_mode": "full"}),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_panels_are_as_exact_as_sums_in_the_dtype(rng, dtype):
    """Errors against the same in float64: as large as those of sums of so many products are by chance."""
    inputs, outputs, values, exact = [], [], [], []
    for image, filters, how in LAYERS:
        x, w = (rng.normal(size=s).astype(dtype) for s in (image, filters))
        vx, vw = (T.tensor(n, dtype=dtype, shape=a.shape) for n, a in (("x", x), ("w", w)))
        y = T.nnet.conv2d(vx, vw, algo="panels", **how)
        g = rng.normal(size=y.type.shape).astype(dtype)
        vg = T.tensor("g", dtype=dtype, shape=g.shape)
        inputs, values = [*inputs, vx, vw, vg], [*values, x, w, g]
        outputs += [y, *tg.Lop(y, [vx, vw], vg)]
        wide = [T.tensor(n, dtype="float64", shape=a.shape) for n, a in (("x", x), ("w", w), ("g", g))]
        z = T.nnet.conv2d(wide[0], wide[1], algo="gemm", **how)
        f = tg.function(wide, [z, *tg.Lop(z, wide[:2], wide[2])], mode=tg.Mode(linker="py"))
        exact += f(*[a.astype("float64") for a in (x, w, g)])
    f = tg.function(inputs, outputs, mode=tg.Mode(linker="c"))
    assert ways(f) == {"conv_by_panels"}
    bound = {"float32": 3e-6, "float64": 1e-14, "float16": 2e-3}[dtype]
    for got, wanted in zip(f(*values), exact):
        assert abs(got - wanted).max() <= bound * abs(wanted).max()


def test_the_routine_reads_arrays_as_they_lie(rng):
    """Images and filters seen through views, of lengths that are not known, and two threads."""
    x, w = T.dtensor4("x"), T.dtensor4("w")
    y = T.nnet.conv2d(x.dimshuffle(0, 3, 1, 2)[:, ::2], w[:, :, ::-1], border_mode=(1, 2), filter_flip=False)
    a, b = rng.normal(size=(3, 40, 41, 8)), rng.normal(size=(30, 4, 3, 3))
    f = tg.function([x, w], y, mode=tg.Mode(linker="c"))
    assert "conv_by_panels.forward" in {r.rule for r in f.trace}
    expected = by_loops(a.transpose(0, 3, 1, 2)[:, ::2], b[:, :, ::-1], ((1, 1), (2, 2)), flip=False)
    np.testing.assert_allclose(f(a, b), expected, atol=1e-12)
    with tg.config.change_flags(threads=2):
        np.testing.assert_allclose(f(a, b), expected, atol=1e-12)


def test_channels_that_do_not_fit_are_named_when_it_runs():
    x, w = T.ftensor4("x"), T.ftensor4("w")
    y = T.nnet.conv2d(x, w)  # the line to name
    f = tg.function([x, w], y, mode=tg.Mode(linker="c"))
    with pytest.raises(ValueError, match="the image has 4 channels, the filters read 3") as caught:
        f(np.zeros((1, 4, 5, 5), "f"), np.zeros((2, 3, 3, 3), "f"))
    assert "T.nnet.conv2d(x, w)" in str(caught.value)


# ---------------------------------------------------------------------- placeholders
def test_f66_placeholders_appear_and_the_rules_replace_them():
    x, w = T.ftensor4("x"), T.ftensor4("w")
    y = T.nnet.conv2d(x, w)
    outputs = [y, *tg.grad((y**2).sum(), [x, w])]
    before = {t.op.name for t in subterms([o.term for o in outputs])}
    after = {t.op.name for t in subterms([tg.rewrite(o).term for o in outputs])}
    assert before >= PLACEHOLDERS and not after & PLACEHOLDERS and after >= {"conv_panels", "conv_taps"}


def ways(f):
    return {r.rule.split(".")[0] for r in f.trace if r.rule.startswith("conv_")}


def test_f66_excluded_ways_are_not_used(rng):
    x, w = (T.tensor(n, dtype="float64", shape=s) for n, s in (("x", (1, 2, 4, 4)), ("w", (3, 2, 2, 2))))
    y, mode = T.nnet.conv2d(x, w), tg.Mode(linker="py")
    a, b = rng.normal(size=(1, 2, 4, 4)), rng.normal(size=(3, 2, 2, 2))
    for excluded, used in (
        ((), {"conv_gemm"}),
        (("conv_gemm",), {"conv_sums"}),
        (("conv_gemm", "conv_direct"), {"conv_transforms"}),
        (("conv_gemm", "conv_direct", "conv_fft"), set()),
    ):
        f = tg.function([x, w], y, mode=mode.excluding(*excluded) if excluded else mode)
        assert ways(f) == used
        np.testing.assert_allclose(f(a, b), by_loops(a, b), atol=1e-12)
    assert f.maker.fgraph.outputs[0].owner.op.name == "AbstractConv2d"


def test_flags_choose_unless_the_convolution_does():
    x, w = (T.tensor(n, dtype="float64", shape=s) for n, s in (("x", (1, 2, 4, 4)), ("w", (3, 2, 2, 2))))
    mode = tg.Mode(linker="py")
    with tg.config.change_flags(**{"dnn.conv.algo_fwd": "fft", "dnn.conv.algo_bwd_filter": "direct"}):
        assert ways(tg.function([x, w], T.nnet.conv2d(x, w), mode=mode)) == {"conv_transforms"}
        assert ways(tg.function([x, w], T.nnet.conv2d(x, w, algo="gemm"), mode=mode)) == {"conv_gemm"}
        gradient = tg.grad(T.nnet.conv2d(x, w).sum(), w)
        assert ways(tg.function([x, w], gradient, mode=mode, on_unused_input="ignore")) == {"conv_sums"}
        with pytest.raises(ValueError, match="algo_fwd=fft needs lengths that are known") as caught:
            tg.function([u := T.dtensor4()], T.nnet.conv2d(u, u), mode=mode)
        assert "test_convolution.py" in str(caught.value)
    with tg.config.change_flags(**{"dnn.conv.algo_fwd": "time_once"}):
        assert ways(tg.function([x, w], T.nnet.conv2d(x, w, algo="direct"), mode=mode)) == {"conv_sums"}
    with pytest.raises(ValueError, match="algo='fft' needs lengths that are known"):
        T.nnet.conv2d(T.dtensor4(), w, algo="fft")


# ---------------------------------------------------------------------- gradients
@pytest.mark.parametrize("k", range(len(FORMS)))
def test_f66_gradients(rng, k):
    image, filters, how = FORMS[k]
    if 0 in image:
        return
    x, w = rng.normal(size=image), rng.normal(size=filters)
    n = len(image) - 2

    def f(a, b):
        return CONV[n](
            a, b, border_mode=how["border"], subsample=how["stride"], filter_dilation=how["dilation"],
            num_groups=how["groups"], filter_flip=how["flip"], input_shape=image, filter_shape=filters,
        )  # fmt: skip

    tg.verify_grad(f, [x, w], n_tests=1, mode="FAST_COMPILE")


def test_f66_second_derivatives(rng):
    image, filters = (1, 2, 5, 4), (2, 2, 2, 2)
    x, w = rng.normal(size=image), rng.normal(size=filters)

    def slopes(a, b):
        y = T.nnet.conv2d(a, b, border_mode="half", subsample=(2, 1), input_shape=image, filter_shape=filters)
        return [T.sqr(g) for g in tg.grad((y**3).sum(), [a, b])]

    for which in (0, 1):
        tg.verify_grad(lambda a, b, k=which: slopes(a, b)[k], [x, w], n_tests=1, mode="FAST_COMPILE", rel_tol=1e-3)


def test_f66_forward_derivatives_are_linear(rng):
    x, w, u, v = T.dtensor4("x"), T.dtensor4("w"), T.dtensor4("u"), T.dtensor4("v")
    y = T.nnet.conv2d(x, w, border_mode="full")
    g = tg.grad((y**2).sum(), x)
    a, b, c, d = (rng.normal(size=s) for s in ((1, 2, 3, 4), (2, 2, 2, 2), (1, 2, 3, 4), (2, 2, 2, 2)))
    outputs = [
        tg.Rop(y, [x, w], [u, v]),
        T.nnet.conv2d(u, w, border_mode="full") + T.nnet.conv2d(x, v, border_mode="full"),
    ]
    got, expected = tg.function([x, w, u, v], outputs, mode="FAST_COMPILE")(a, b, c, d)
    np.testing.assert_allclose(got, expected, atol=1e-12)
    forward = tg.function([x, w, u, v], tg.Rop(g, [x, w], [u, v]), mode="FAST_COMPILE")(a, b, c, d)
    step, at = 1e-6, tg.function([x, w], g, mode="FAST_COMPILE")
    np.testing.assert_allclose(
        forward, (at(a + step * c, b + step * d) - at(a - step * c, b - step * d)) / (2 * step), rtol=1e-5
    )


def test_a_transposed_convolution_is_the_gradient(rng):
    y, w = rng.normal(size=(2, 3, 4, 4)), rng.normal(size=(3, 2, 3, 3))
    vy, vw = T.dtensor4("y"), T.dtensor4("w")
    out = T.nnet.conv2d_transpose(vy, vw, (2, 2, 9, 9), input_dilation=(2, 2))
    got = tg.function([vy, vw], out, mode="FAST_COMPILE")(y, w)
    x = T.dtensor4("x")
    cost = (T.nnet.conv2d(x, vw, subsample=(2, 2)) * vy).sum()
    expected = tg.function([x, vy, vw], tg.grad(cost, x), mode="FAST_COMPILE")(np.zeros((2, 2, 9, 9)), y, w)
    np.testing.assert_allclose(got, expected, atol=1e-12)
    assert got.shape == (2, 2, 9, 9)


# ---------------------------------------------------------------------- errors
def test_lengths_that_do_not_fit_are_errors():
    x, w = T.tensor("x", dtype="float64", shape=(1, 2, 4, 4)), T.tensor("w", dtype="float64", shape=(3, 2, 5, 3))
    with pytest.raises(ValueError, match="window of length 5 does not fit into spatial dimension 0 of length 4"):
        T.nnet.conv2d(x, w)
    with pytest.raises(ValueError, match="read 2 channels in each of 2 groups, the image has 2"):
        T.nnet.conv2d(x, w, border_mode="full", num_groups=2)
    with pytest.raises(ValueError, match="3 filters do not divide into 2 groups"):
        T.nnet.conv2d(T.dtensor4(), w, num_groups=2)
    with pytest.raises(TypeError, match="input must have 4 dimensions"):
        T.nnet.conv2d(T.dmatrix("m"), w)


@pytest.mark.parametrize("linker", ["py", "c"])
def test_filters_larger_than_the_image_name_the_users_line(linker):
    x, w = T.dtensor4("x"), T.dtensor4("w")
    y = T.nnet.conv2d(x, w)  # the line to name
    f = tg.function([x, w], y, mode=tg.Mode(linker=linker))
    with pytest.raises(ValueError, match="does not fit into spatial dimension 1") as caught:
        f(np.zeros((1, 1, 4, 3)), np.zeros((1, 1, 2, 5)))
    assert "test_convolution.py" in str(caught.value) and "T.nnet.conv2d(x, w)" in str(caught.value)


@pytest.mark.parametrize(
    "how, message",
    [
        ({"border_mode": "wide"}, "border_mode must be one of valid, full, half, same"),
        ({"border_mode": (1, 2, 3)}, "is not 2 numbers"),
        ({"border_mode": -1}, "is not 2 numbers"),
        ({"subsample": (0, 1)}, "subsample must be 2 positive integers"),
        ({"filter_dilation": (1,)}, "filter_dilation must be 2 positive integers"),
        ({"num_groups": 0}, "num_groups must be a positive integer"),
        ({"algo": "magic"}, "algo must be one of winograd, panels, gemm, direct, fft, cudnn or None"),
    ],
)
def test_options_that_make_no_sense_are_errors(how, message):
    with pytest.raises(ValueError, match=message):
        T.nnet.conv2d(T.dtensor4(), T.dtensor4(), **how)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_correlate_is_numpys(rng, mode):
    for n, k in ((5, 2), (5, 3), (2, 5), (4, 6), (3, 6), (4, 4), (1, 1)):
        for dtype in ("float32", "complex128", "int16", "bool"):
            a, v = ((3 * rng.normal(size=m) + 1j * rng.normal(size=m)) for m in (n, k))
            a, v = [(x if dtype == "complex128" else x.real).astype(dtype) for x in (a, v)]
            want, tolerance = np.correlate(a, v, mode), 1e-5 if dtype == "float32" else 1e-12
            x, y = T.vector("x", dtype), T.vector("y", dtype)
            for got in (
                T.correlate(T.constant(a), T.constant(v), mode).eval(),
                np.correlate(x, y, mode).eval({x: a, y: v}),
            ):
                assert got.dtype == want.dtype
                np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)
    with pytest.raises(ValueError, match="correlate: v must be a vector"):
        T.correlate(T.dvector(), [])
