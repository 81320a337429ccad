"""T.nnet's layers and losses by margins: slopes, what they refuse, and the names of PyTorch that are here."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T

nnet = T.nnet

TORCH = """adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d
adaptive_max_pool3d affine_grid alpha_dropout bilinear channel_shuffle embedding_bag fold grid_sample gumbel_softmax
interpolate linear nll_loss pdist rrelu softmin unfold
celu cosine_embedding_loss cosine_similarity cross_entropy ctc_loss dropout elu embedding gaussian_nll_loss
gelu glu group_norm hardshrink hardswish hardtanh hinge_embedding_loss huber_loss instance_norm kl_div l1_loss
layer_norm leaky_relu log_softmax logsigmoid margin_ranking_loss mish mse_loss multi_margin_loss
multilabel_soft_margin_loss normalize pairwise_distance pixel_shuffle pixel_unshuffle poisson_nll_loss prelu relu
relu6 rms_norm
scaled_dot_product_attention selu sigmoid silu smooth_l1_loss soft_margin_loss softmax softplus softshrink softsign tanh
tanhshrink threshold triplet_margin_loss"""


def test_names_of_pytorch():
    assert [n for n in TORCH.split() if n not in dir(nnet)] == []


def test_reductions_of_losses(rng):
    x, y = rng.normal(size=(2, 3, 4))
    each = nnet.poisson_nll_loss(x, y, "none").eval()
    np.testing.assert_allclose(nnet.poisson_nll_loss(x, y).eval(), each.mean())
    np.testing.assert_allclose(nnet.poisson_nll_loss(x, y, "sum").eval(), each.sum())
    with pytest.raises(ValueError, match="gaussian_nll_loss: reduction must be 'mean', 'sum' or 'none', got 'all'"):
        nnet.gaussian_nll_loss(x, y, 1.0, "all")


def test_full_likelihoods_are_densities():
    k, x = np.arange(2.0, 30), np.full(28, 1.5)
    exact = -(k * x - np.exp(x) - np.array([sum(np.log(np.arange(1, n + 1))) for n in k]))
    np.testing.assert_allclose(nnet.poisson_nll_loss(x, k, "none", full=True).eval(), exact, atol=0.05)
    got = nnet.gaussian_nll_loss(0.0, [1.0], 4.0, full=True).eval()
    np.testing.assert_allclose(got, 0.5 * np.log(2 * np.pi * 4) + 1 / 8)


def test_slopes(rng):
    x, y = rng.normal(size=(2, 3, 4))
    signs, images = np.sign(rng.normal(size=(3, 4))), rng.normal(size=(2, 4, 2, 2))
    for f in (
        lambda a: nnet.soft_margin_loss(a, signs), lambda a: nnet.hinge_embedding_loss(a, signs),
        lambda a: nnet.cosine_embedding_loss(a, y, signs[:, 0]),
        lambda a: nnet.triplet_margin_loss(a, y, -y, margin=9.0),
        lambda a: nnet.multi_margin_loss(a, [0, 3, 1], p=2), lambda a: nnet.normalize(a, axis=-1),
        lambda a: nnet.celu(a, 0.7), lambda a: nnet.tanh_shrink(a),
    ):  # fmt: skip
        tg.verify_grad(f, [x], rng=np.random.RandomState(1))
    for f in (lambda a: nnet.group_norm(a, 2), nnet.instance_norm, lambda a: nnet.pixel_shuffle(a, 2)):
        tg.verify_grad(f, [images], rng=np.random.RandomState(1))


def test_no_length_has_a_slope_of_nan():
    v = T.dmatrix()
    slope = tg.grad(nnet.normalize(v).sum(), v).eval({v: np.zeros((2, 3))})
    assert np.isfinite(slope).all()


def test_what_is_refused():
    x = T.matrix("x")
    for make, text in (
        (lambda: nnet.group_norm(np.ones((2, 5, 3)), 2), "group_norm: 5 channels do not make num_groups=2 groups"),
        (lambda: nnet.instance_norm(x), r"instance_norm takes images \(batch, channels, ...\), got x"),
        (lambda: nnet.pixel_shuffle(np.ones((3, 2, 2)), 2), "3 channels do not divide by 2"),
        (lambda: nnet.pixel_unshuffle(np.ones((3, 3, 2)), 2), "3 rows and 2 columns do not divide by 2"),
        (lambda: nnet.multi_margin_loss(x, x), "the target must be integer labels of 1 dimensions, got x"),
        (lambda: nnet.multi_margin_loss(x, [0], p=3), "p must be 1 or 2, got 3"),
        (lambda: nnet.soft_margin_loss(x, T.vector("t")), "x has 2 dimensions and the target 1"),
    ):
        with pytest.raises((ValueError, TypeError), match=text):
            make()


def test_exponential_units_are_smooth_at_zero():
    x = T.dvector("x")
    for f, slope in (
        (nnet.celu, 1),
        (nnet.elu, 1),
        (lambda v: nnet.elu(v, 0.5), 0.5),
        (lambda v: nnet.celu(v, 3.0), 1),
    ):
        got = tg.function([x], [f(x), tg.grad(f(x).sum(), x)])([0.0, -0.0, 1e-9, 800.0, -800.0])
        np.testing.assert_allclose(got[1], [slope, slope, 1, 1, 0], atol=1e-100)
        assert np.isfinite(got[0]).all()


def test_nan_is_not_lost():
    x = np.array([np.nan, 0.0, 1.0, -1.0])
    for got in (
        nnet.threshold(x, 0.5, 7.0),
        nnet.hard_shrink(x),
        nnet.soft_shrink(x),
        nnet.celu(x),
        nnet.prelu(x, 0.1),
    ):
        assert np.isnan(got.eval()).tolist() == [True, False, False, False]


def test_infinities_leave_the_slope_of_prelu():
    x, w = T.dvector("x"), T.dscalar("w")
    slopes = tg.grad(nnet.prelu(x, w).sum(), [x, w])
    got = tg.function([x, w], slopes)([np.inf, 1.0, -2.0], 0.25)
    np.testing.assert_array_equal(got[0], [1, 1, 0.25])
    assert got[1] == -2


def test_the_label_adds_nothing_to_multi_margin_loss():
    x = np.array([[1e9, -1e9, 0.0], [3e8, -5e8, -7e8]], "float32")
    np.testing.assert_array_equal(nnet.multi_margin_loss(x, [0, 0], "none").eval(), [0, 0])
    np.testing.assert_array_equal(nnet.multi_margin_loss(x, [0, -3], "none", p=2).eval(), [0, 0])
    np.testing.assert_array_equal(nnet.multi_margin_loss([[np.inf, 0.0]], [0], "none").eval(), [0])


def test_channels_unknown_while_building_are_not_mixed():
    x = T.dtensor4("x")
    with pytest.raises(ValueError, match=r"cannot reshape an array of .*10 elements"):
        tg.function([x], nnet.group_norm(x, 2))(np.ones((1, 5, 2, 1)))
    with pytest.raises(ValueError, match="a number for each channel, in a vector; got w"):
        nnet.group_norm(x, 2, T.dmatrix("w"))


def test_variances_of_rows(rng):
    x, y, v = rng.normal(size=(3, 3)), rng.normal(size=(3, 3)), np.array([1.0, 2.0, 3.0])
    by_row = nnet.gaussian_nll_loss(x, y, v, "none").eval()
    np.testing.assert_allclose(by_row, 0.5 * (np.log(v) + ((x - y) ** 2).T / v).T)
    with pytest.raises(ValueError, match="no variance of each element or row of x"):
        nnet.gaussian_nll_loss(T.dtensor3("x"), T.dtensor3("y"), v)


def test_numbers_of_16_bits_are_normalized():
    x = np.array([[300.0, -400.0], [0.0, 0.0]], "float16")
    got = nnet.normalize(x).eval()
    assert got.dtype == "float16"
    np.testing.assert_allclose(got, [[0.6, -0.8], [0, 0]], rtol=1e-3)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0, np.inf])
def test_slopes_of_vectors_without_length(p):
    v = T.dmatrix()
    slope = tg.grad(nnet.normalize(v, p, eps=1e-3).sum(), v).eval({v: np.array([[0.0, 0.0], [3.0, 4.0]])})
    np.testing.assert_allclose(slope[0], [1e3, 1e3])
    assert np.isfinite(slope[1]).all()


def test_embedding_takes_integers():
    w = np.arange(8.0).reshape(4, 2)
    np.testing.assert_array_equal(nnet.embedding((0, 1), w).eval(), w[:2])
    np.testing.assert_array_equal(nnet.embedding([[0, 1], [2, 0]], w).eval(), w[[[0, 1], [2, 0]]])
    for wrong in (True, [True, False, True, True], 1.0):
        with pytest.raises(TypeError, match="embedding: rows are named by integers"):
            nnet.embedding(wrong, w)
