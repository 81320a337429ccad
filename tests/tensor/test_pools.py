"""T.nnet's pools with PyTorch's names and attention: places, edges, slopes, and what they refuse."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T

nnet = T.nnet
MODES = ["FAST_RUN", tg.Mode(linker="py")]


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_places_of_maxima(mode):
    x = T.dtensor3("x")
    f = tg.function([x], nnet.max_pool1d(x, 3, 2, 1, return_indices=True), mode=mode)
    rows = [[np.nan, 1, 1, np.nan, np.nan], [-np.inf] * 5, [2, 2, 1, 1, 0]]
    values, places = f(np.array([rows]))
    assert places.dtype == "int64" and places[0].tolist() == [[0, 3, 4], [0, 1, 3], [0, 1, 3]]
    assert np.isnan(values[0, 0]).all() and values[0, 1:].tolist() == [[-np.inf] * 3, [2, 2, 1]]


def test_lengths_may_be_unknown():
    known, unknown = np.arange(30.0).reshape(1, 5, 6), T.dtensor3("x")
    for f in (
        lambda v: nnet.max_pool2d(v, 3, 2, 1, ceil_mode=True), lambda v: nnet.max_pool2d(v, 2, 1, 1, 2),
        lambda v: nnet.avg_pool2d(v, 3, 2, 1, True), lambda v: nnet.avg_pool2d(v, 3, 2, 1, False, False),
        lambda v: nnet.lp_pool2d(v, 2, 2, 3, True), lambda v: nnet.avg_pool2d(v, 2, divisor_override=1),
    ):  # fmt: skip
        np.testing.assert_array_equal(f(unknown).eval({unknown: known}), f(T.constant(known)).eval())


def test_there_and_back():
    x = T.tensor4("x", dtype="float32")
    values, places = nnet.max_pool2d(x, 2, return_indices=True)
    back = nnet.max_unpool2d(values, places, 2, output_size=x.shape[2:])
    got, slope = tg.function([x], [back, tg.grad((back * x).sum(), x)])(np.arange(15, dtype="f4").reshape(1, 1, 3, 5))
    assert got[0, 0].tolist() == [[0] * 5, [0, 6, 0, 8, 0], [0] * 5] and slope[0, 0, 1].tolist() == [0, 12, 0, 16, 0]
    with pytest.raises(IndexError):
        nnet.max_unpool1d(x[0, 0], [[2]], 2).eval({x: [[[[1]]]]})
    for mode in MODES:
        with pytest.raises(IndexError, match="max_unpool1d: indices must not be negative"):
            tg.function([x], nnet.max_unpool1d(x[0, 0], [[-1]], 2), mode=mode)([[[[1]]]])


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("apart", [1, 2, 3])
@pytest.mark.parametrize("known", [True, False])
def test_each_of_several_maxima_has_the_gradient(mode, apart, known):
    x = T.tensor("x", dtype="float64", shape=(1, 1, 4 * apart, 4) if known else (None,) * 4)
    out = nnet.max_pool2d(x, (2, 1), 1, dilation=(apart, 1))
    rows = np.repeat(np.ones((4, 4)), apart, axis=0)[None, None]
    slope = tg.function([x], tg.grad(out.sum(), x), mode=mode)(rows)
    np.testing.assert_array_equal(slope[0, 0], np.repeat([[1.0], [2], [2], [1]] * np.ones(4), apart, axis=0))


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_elements_that_are_apart(rng, dtype):
    values = rng.integers(-100, 100, size=(2, 1, 9, 8)).astype(dtype)
    x = T.tensor4("x", dtype=dtype)
    for how in ((2, 1, 0, 2), (2, 2, 1, 3), (3, 3, 1, (1, 2)), (2, 3, 1, (3, 2), True)):
        out, places = nnet.max_pool2d(x, *how, return_indices=True)
        got, where = tg.function([x], [out, places])(values)
        flat = np.take_along_axis(values.reshape(2, 1, -1), where.reshape(2, 1, -1), 2)
        np.testing.assert_array_equal(got, flat.reshape(got.shape))
        if dtype == "float32":
            there = rng.permutation(np.arange(72.0)).reshape(1, 1, 9, 8)
            tg.verify_grad(lambda v, how=how: nnet.max_pool2d(v, *how), [there], rng=rng)
    assert nnet.max_pool2d(x, 2, dilation=2).eval({x: values[:0]}).shape == (0, 1, 4, 3)


def test_no_elements():
    x = T.tensor4("x", dtype="float32")
    values, places = nnet.max_pool2d(x, 2, return_indices=True)
    f = tg.function([x], [values, places, nnet.max_unpool2d(values, places, 2), nnet.avg_pool2d(x, 2)])
    assert [v.shape for v in f(np.zeros((0, 2, 4, 6), "f4"))] == [(0, 2, 2, 3)] * 2 + [(0, 2, 4, 6), (0, 2, 2, 3)]


def test_windows_of_zeros_have_no_slope():
    x = T.dtensor3("x")
    slope = tg.grad(nnet.lp_pool1d(x, 2, 2).sum() + nnet.lp_pool1d(x, 3, 2).sum(), x)
    np.testing.assert_allclose(slope.eval({x: [[[0.0, 0.0, 0.0, 2.0]]]}), [[[0, 0, 0, 2]]])


def test_windows_drawn_at_random():
    rng = T.random.RandomStream(seed=1)
    x = np.arange(100.0).reshape(1, 1, 10, 10)
    got = tg.function([], nnet.fractional_max_pool2d(x, 2, output_ratio=0.5, rng=rng))()
    assert got.shape == (1, 1, 5, 5) and got[0, 0, -1, -1] == 99 and (np.diff(got[0, 0]) >= 1).all()


def test_attention_in_training_drops_weights():
    x, w = np.ones((3, 1, 2)), np.ones((6, 2))
    layer = (x, x, x, 2, 1, w, None, None, None, False)
    f = tg.function(
        [], nnet.multi_head_attention_forward(*layer, 0.5, np.eye(2), None, rng=T.random.RandomStream(seed=1))
    )
    assert set(np.unique(f()[1].round(3))) == {0, 0.667}
    assert (
        nnet.multi_head_attention_forward(*layer, 0.5, np.eye(2), None, training=False, need_weights=False)[1] is None
    )
    with pytest.raises(TypeError, match="dropout: rng must be a random stream"):
        nnet.multi_head_attention_forward(*layer, 0.5, np.eye(2), None)


def test_no_batch():
    x = np.random.default_rng(1).normal(size=(3, 4))
    w, out = np.random.default_rng(2).normal(size=(12, 4)), np.eye(4)
    layer = (4, 2, w, None, None, None, True, 0.0, out, None)
    alone, weights = nnet.multi_head_attention_forward(x, x, x, *layer, key_padding_mask=[False, True, False])
    many, theirs = nnet.multi_head_attention_forward(*[x[:, None]] * 3, *layer, key_padding_mask=[[False, True, False]])
    np.testing.assert_allclose(alone.eval(), many.eval()[:, 0])
    np.testing.assert_allclose(weights.eval(), theirs.eval()[0])
    assert weights.eval().shape == (3, 4) and (weights.eval()[:, 1] == 0).all()


def test_logarithms_of_no_chance():
    x = T.dvector("x")
    loss = nnet.binary_cross_entropy(x, [1.0, 0.0, 1.0, 0.0], "none")
    got, slope = tg.function([x], [loss, tg.grad(loss.sum(), x)])([0.0, 1.0, 1.0, 0.0])
    assert got.tolist() == [100, 100, 0, 0] and slope.tolist() == [0, 0, -1, 1]


def test_what_is_refused():
    x, a = T.tensor("x", dtype="float32", shape=(1, 1, 4, 4)), np.ones((3, 1, 2))
    for make, text in (
        (lambda: nnet.max_pool2d(T.matrix("m"), 2), r"max_pool2d takes images \(batch, channels, 2 lengths\)"),
        (lambda: nnet.max_pool2d(x, 5), "max_pool2d: a window of 5 elements does not fit into 4 with 0 at each end"),
        (lambda: nnet.avg_pool2d(x, 2, padding=2), "padding=2 must be at most half of the windows, 2 elements"),
        (lambda: nnet.avg_pool2d(T.cast(x, "int32"), 2), "an average of int32 is not a whole number; cast"),
        (lambda: nnet.lp_pool2d(x, 0, 2), "lp_pool2d: norm_type must be a positive number, got 0"),
        (lambda: nnet.max_unpool2d(x, x, 2), "indices must be whole numbers of 4 dimensions, got Tensor"),
        (lambda: nnet.fractional_max_pool2d(x, 2, 4, samples=[[[0.5, 0.5]]]), "4 windows of 2 elements do not fit"),
        (lambda: nnet.fractional_max_pool2d(x, 2, 2), "give samples, or rng="),
        (lambda: nnet.fractional_max_pool2d(x, 2), "give either output_size or output_ratio"),
        (lambda: nnet.multi_head_attention_forward(a, a, a, 3, 2, a, *[None] * 3, False, 0.0, a, None), "2 heads of"),
        (lambda: nnet.dot_product_attention(x[0], x[0], x[0], mask=x), "mask must be truth values, got x"),
        (lambda: nnet.multilabel_margin_loss(x, x), "scores and integer labels"),
    ):  # fmt: skip
        with pytest.raises((ValueError, TypeError), match=text):
            make()


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("linker", ["FAST_RUN", "py"])
def test_queries_that_see_nothing(dtype, linker):
    x, n = T.tensor("x", dtype=dtype, shape=(2, 3, 1, 2)), T.lvector("n")
    values = np.arange(12).reshape(2, 3, 1, 2).astype(dtype) / 4
    mask = np.ones((1, 1, 3, 3), bool)
    mask[..., 0, 0] = mask[..., 2, :] = False
    mode = linker if linker == "FAST_RUN" else tg.Mode(linker=linker)
    for how, hidden in (
        ({"key_value_seq_lengths": n}, [(1, 0), (1, 1), (1, 2)]), ({"is_causal": True, "mask": mask}, [(0, 0), (1, 2)]),
        ({"local_window_size": 0, "mask": mask, "bias": np.ones((3, 3), dtype)}, [(0, 0), (0, 2), (1, 0)]),
    ):  # fmt: skip
        out = nnet.dot_product_attention(x, x, x, **how)
        f = tg.function([x, n], [out, tg.grad(T.sqr(out).sum(), x)], mode=mode, on_unused_input="ignore")
        got, slope = f(values, [3, 0])
        assert np.isfinite(slope).all()
        for b, i in hidden:
            np.testing.assert_allclose(got[b, i, 0], values[b, :, 0].mean(0), rtol=1e-2 if dtype == "float16" else 1e-6)
    out = nnet.dot_product_attention(x, x, x, query_seq_lengths=n, key_value_seq_lengths=n)
    got, slope = tg.function([x, n], [out, tg.grad(T.sqr(out).sum(), x)], mode=mode)(values, [3, 0])
    assert np.isfinite(got).all() and not got[1].any() and np.isfinite(slope).all() and not slope[1].any()


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("linker", ["FAST_RUN", "py"])
def test_queries_that_see_nothing_are_zero_as_in_pytorch(dtype, linker):
    x, mode = T.tensor("x", dtype=dtype, shape=(3, 1, 4)), linker if linker == "FAST_RUN" else tg.Mode(linker=linker)
    values = (np.arange(12).reshape(3, 1, 4) % 5 / 4).astype(dtype)
    seen = np.tri(3, dtype=bool)
    seen[1] = False
    added, hidden = np.where(seen, np.array(0, dtype), -np.inf).astype(dtype), T.constant(~seen)
    w, bias = np.concatenate([np.eye(4)] * 3).astype(dtype), np.arange(4).astype(dtype)
    layer = (x, x, x, 4, 2, w, None, None, None, False, 0.0, np.eye(4, dtype=dtype), bias)

    def alone(**how):
        return nnet.scaled_dot_product_attention(x[:, 0], x[:, 0], x[:, 0], **how)

    for out, none in (
        (alone(attn_mask=seen), 0), (alone(attn_mask=added), 0), (alone(attn_mask=seen, is_causal=True), 0),
        (nnet.multi_head_attention_forward(*layer, attn_mask=hidden, need_weights=False)[0][:, 0], bias),
        (nnet.multi_head_attention_forward(*layer, attn_mask=added, need_weights=False)[0][:, 0], bias),
    ):  # fmt: skip
        got, slope = tg.function([x], [out, tg.grad(T.sqr(out).sum(), x)], mode=mode)(values)
        assert got.dtype == slope.dtype == dtype and np.isfinite(slope).all() and slope.any()
        np.testing.assert_array_equal(got[1], np.broadcast_to(none, 4))
        assert got[[0, 2]].all(axis=1).any() and np.isfinite(got).all()
    out, weights = nnet.multi_head_attention_forward(*layer, attn_mask=hidden)
    for got in tg.function([x], [out[:, 0], weights[0]], mode=mode)(values):  # PyTorch's, too
        assert np.isnan(got).all(axis=1).tolist() == [False, True, False] and np.isfinite(got[[0, 2]]).all()
    nothing = np.ones((3, 1), bool)
    out = nnet.multi_head_attention_forward(*layer, key_padding_mask=nothing.T, is_causal=True, need_weights=False)[0]
    np.testing.assert_array_equal(tg.function([x], out, mode=mode)(values), np.broadcast_to(bias, (3, 1, 4)))
    none = T.tensor("none", dtype=dtype, shape=(None, 4))
    f = tg.function([x, none], nnet.scaled_dot_product_attention(x[:, 0], none, none), mode=mode)
    np.testing.assert_array_equal(f(values, np.zeros((0, 4), dtype)), np.zeros((3, 4)))


def test_unknown_numbers_of_heads(rng):
    q, k = T.dtensor4("q"), T.dtensor4("k")
    out = nnet.dot_product_attention(q, k, k)
    f = tg.function([q, k], [out, tg.grad(T.sqr(out).sum(), k)])
    for heads, groups in (2, 2), (4, 2), (3, 1):
        a, b = rng.normal(size=(2, 3, heads, 5)), rng.normal(size=(2, 4, groups, 5))
        known = T.constant(b)
        want = nnet.dot_product_attention(a, known, known)
        for x, y in zip(f(a, b), (want.eval(), tg.grad(T.sqr(want).sum(), known).eval()), strict=True):
            np.testing.assert_allclose(x, y, atol=1e-12)
    for heads, groups in (3, 2), (2, 4), (2, 0):
        with pytest.raises(ValueError, match="heads of queries is no multiple of that of keys"):
            f(np.ones((2, 3, heads, 5)), np.ones((2, 4, groups, 5)))


def test_more_keys_of_unknown_lengths(rng):
    x, w = rng.normal(size=(3, 2, 4)), rng.normal(size=(12, 4))
    bias_k, bias_v = T.dtensor3("k"), T.dtensor3("v")
    ones = np.ones((1, 1, 4))

    def layer(k, v):
        return nnet.multi_head_attention_forward(x, x, x, 4, 2, w, None, k, v, False, 0.0, np.eye(4), None)[0]

    np.testing.assert_array_equal(layer(bias_k, bias_v).eval({bias_k: ones, bias_v: -ones}), layer(ones, -ones).eval())
