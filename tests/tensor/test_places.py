"""T.nnet's images at other places, windows as columns, pairs of points and draws: slopes, edges, what is refused."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T

nnet = T.nnet


def unknown(x, known=None):
    return T.tensor("x", dtype=x.dtype.name, shape=known or (None,) * x.ndim)


def test_known_and_unknown_lengths_give_the_same(rng):
    x = rng.normal(size=(2, 3, 7, 5))
    for f in (
        lambda v: nnet.interpolate(v, size=(4, 9), mode="bilinear"),
        lambda v: nnet.interpolate(v, size=(4, 9), mode="area"),
        lambda v: nnet.interpolate(v, scale_factor=(1.7, 0.6), mode="nearest"),
        lambda v: nnet.interpolate(v, scale_factor=2, mode="bicubic", align_corners=True),
        lambda v: nnet.adaptive_max_pool2d(v, (3, None)), lambda v: nnet.unfold(v, 3, 2, (1, 0)),
    ):  # fmt: skip
        v = unknown(x)
        np.testing.assert_array_equal(tg.function([v], f(v))(x), f(T.constant(x)).eval())


def test_lengths_may_be_computed():
    x, n = T.dtensor4("x"), T.lscalar("n")
    f = tg.function([x, n], [nnet.interpolate(x, size=(n, 2 * n)), nnet.adaptive_avg_pool2d(x, (n, n))])
    larger, pooled = f(np.arange(16.0).reshape(1, 1, 4, 4), 2)
    assert larger.shape == (1, 1, 2, 4) and pooled[0, 0].tolist() == [[2.5, 4.5], [10.5, 12.5]]


def test_slopes_by_images_grids_and_points(rng):
    x, grid = rng.normal(size=(1, 2, 3, 4)), rng.uniform(-1.2, 1.2, size=(1, 2, 2, 2))
    for padding in ("zeros", "border", "reflection"):
        tg.verify_grad(lambda a, g, p=padding: nnet.grid_sample(a, g, "bicubic", p), [x, grid], rng=rng)
    for f in (
        lambda a: nnet.interpolate(a, size=(5, 2), mode="bicubic"), lambda a: nnet.adaptive_avg_pool2d(a, (2, 3)),
        lambda a: nnet.adaptive_max_pool2d(a, (2, 3)), lambda a: nnet.unfold(a, 2, 1, 1),
    ):  # fmt: skip
        tg.verify_grad(f, [x], rng=rng)
    tg.verify_grad(lambda v: nnet.fold(v, (3, 4), 2), [rng.normal(size=(1, 4, 6))], rng=rng)
    tg.verify_grad(nnet.cdist, [rng.normal(size=(3, 2)), rng.normal(size=(2, 2))], rng=rng)


def test_a_maximum_that_two_windows_share_counts_for_both():
    x = T.dtensor4("x")
    slope = tg.grad(nnet.adaptive_max_pool2d(x, (1, 2)).sum(), x)
    assert slope.eval({x: [[[[0.0, 5.0, 1.0]]]]}).tolist() == [[[[0, 2, 0]]]]


def test_points_that_are_the_same_have_the_slope_0():
    x = T.dmatrix("x")
    slope = tg.function([x], tg.grad(nnet.cdist(x, x).sum() + nnet.pdist(x).sum(), x))
    np.testing.assert_allclose(slope([[0.0, 0.0], [3.0, 4.0], [3.0, 4.0]]), [[-3.6, -4.8], [1.8, 2.4], [1.8, 2.4]])


def test_near_points_keep_their_distance():
    x = T.constant([[1e8, 0.0], [1e8 + 1, 0.0]])
    assert nnet.cdist(x, x).eval().tolist() == [[0, 1], [1, 0]]


def test_a_grid_may_lie_anywhere():
    x = np.arange(6.0).reshape(1, 1, 2, 3)
    grid = np.array([[[[np.inf, 0.0], [-np.inf, 0.0], [1e300, -1e300], [0.0, 0.0]]]])
    for mode, padding in [("nearest", "zeros"), ("nearest", "border"), ("nearest", "reflection")]:
        found = nnet.grid_sample(x, T.constant(grid), mode, padding).eval()
        assert np.isfinite(found).all()
    assert nnet.grid_sample(x, T.constant(grid), "nearest").eval()[0, 0, 0, :3].tolist() == [0, 0, 0]


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_what_lies_outside_counts_for_nothing_whatever_is_at_the_edge(mode):
    x = np.full((1, 1, 4, 4), np.nan)
    grid = T.constant([[[[-9.0, -9.0], [np.inf, 0.0], [0.1, -np.inf], [1e300, 0.0]]]])
    assert nnet.grid_sample(x, grid, mode).eval().tolist() == [[[[0, 0, 0, 0]]]]


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("align_corners", [False, True])
def test_nothing_on_a_grid_but_numbers_is_the_edge(mode, align_corners, rng):
    x, far = rng.normal(size=(1, 1, 3, 5)), np.array([[[[np.nan, 0.0], [-np.inf, 0.0], [np.inf, 0.0]]]])
    near = np.clip(np.where(np.isnan(far), -1, far), -9, 9)
    found, wanted = (nnet.grid_sample(x, T.constant(g), mode, "border", align_corners).eval() for g in (far, near))
    np.testing.assert_allclose(found, wanted)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_floats_of_16_bits_have_places_of_32(dtype, rng):
    x = T.constant(rng.normal(size=(1, 1, 2, 20_000)).astype("float32")).astype(dtype)
    wide, grid = x.astype("float32"), T.constant(rng.uniform(-1, 1, (1, 4, 5, 2)).astype("float32")).astype(dtype)
    for f in (
        lambda v, g: nnet.interpolate(v[:, :, 0], size=40_001, mode="linear"),
        lambda v, g: nnet.interpolate(v[:, :, 0], size=70_000, mode="linear", align_corners=True),
        lambda v, g: nnet.interpolate(v[..., :9], size=(5, 12), mode="bicubic"),
        lambda v, g: nnet.grid_sample(v[..., :300], g, "bicubic"),
        lambda v, g: nnet.adaptive_avg_pool1d(v[:, :, 0] * 0 + 2000, 19),
    ):
        found, wanted = f(x, grid), f(wide, grid.astype("float32")).astype(dtype)
        assert found.dtype == dtype
        found, wanted = (v.astype("float32").eval() for v in (found, wanted))
        assert np.isfinite(wanted).all()
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("p", [0.25, 0.5, 1])
def test_powers_below_1_have_the_slope_0_where_points_share_a_coordinate(p):
    x = T.dmatrix("x")
    slope = tg.function([x], tg.grad(nnet.cdist(x, x, p).sum(), x))([[0.0, 1.0], [0.0, 3.0]])
    np.testing.assert_allclose(slope, [[0, -2], [0, 2]])


def test_the_identity_reads_every_element(rng):
    x = rng.normal(size=(2, 1, 3, 4))
    same = nnet.affine_grid(np.tile(np.eye(2, 3), (2, 1, 1)), x.shape)
    np.testing.assert_allclose(nnet.grid_sample(x, same).eval(), x, atol=1e-12)


def test_draws_have_the_moments_they_promise(rng):
    stream = T.random.RandomStream(seed=3)
    x = rng.normal(size=100_000)
    kept = nnet.alpha_dropout(nnet.selu(x), 0.3, stream).eval()
    np.testing.assert_allclose([kept.mean(), kept.var()], [0, 1], atol=0.03)
    slopes = nnet.rrelu(-np.ones(10_000), 0.1, 0.5, rng=stream).eval()
    assert -0.5 <= slopes.min() < -0.49 and -0.11 < slopes.max() <= -0.1


def test_a_hard_draw_has_the_slope_of_the_soft_one(rng):
    v, weights = T.dmatrix("v"), rng.normal(size=(5, 3))
    for axis in (0, 1):
        hard = nnet.gumbel_softmax(v, T.random.RandomStream(seed=5), tau=0.7, hard=True, axis=axis)
        soft = nnet.gumbel_softmax(v, T.random.RandomStream(seed=5), tau=0.7, axis=axis)
        f = tg.function([v], [hard, tg.grad((hard * weights).sum(), v), tg.grad((soft * weights).sum(), v)])
        drawn, one, other = f(rng.normal(size=(5, 3)))
        assert sorted({*drawn.ravel().round(12).tolist()}) == [0, 1] and (drawn.sum(axis).round(12) == 1).all()
        np.testing.assert_allclose(one, other)


def test_what_is_refused():
    x, m = T.dtensor4("x"), T.dmatrix("m")
    for make, text in (
        (lambda: nnet.interpolate(x), "give either size or scale_factor"),
        (lambda: nnet.interpolate(x, 2, mode="linear"), "mode='linear' is for images of 3 dimensions, x has 4"),
        (lambda: nnet.interpolate(x, 2, mode="cubic"), "mode must be one of nearest, nearest-exact, area"),
        (lambda: nnet.interpolate(x, (2, 0)), r"size must be 2 positive lengths, got \(2, 0\)"),
        (lambda: nnet.interpolate(x, scale_factor=-1), "scale_factor must be 2 positive numbers, got -1"),
        (lambda: nnet.interpolate(x, 2, align_corners=True), "align_corners is for modes that interpolate"),
        (lambda: nnet.interpolate(m, 2), "of 3 or 4 or 5 dimensions, m has 2"),
        (lambda: nnet.grid_sample(x, m), "the grid must hold 2 floats for each place"),
        (lambda: nnet.grid_sample(x, x, "linear"), "mode must be 'bilinear', 'nearest' or, for images, 'bicubic'"),
        (lambda: nnet.grid_sample(x, x, padding_mode="wrap"), "padding_mode must be one of zeros, border, reflection"),
        (lambda: nnet.affine_grid(m, (1, 1, 2, 2)), r"theta must be of type \(batch, 2, 3\)"),
        (lambda: nnet.adaptive_avg_pool2d(x, (1, 2, 3)), "output_size must be 2 lengths"),
        (lambda: nnet.adaptive_avg_pool2d(x, 0), "output_size must be positive, got 0"),
        (lambda: nnet.adaptive_avg_pool2d(T.ltensor4("i"), 1), "an average of int64 is not a whole number"),
        (lambda: nnet.unfold(x, (2, 0)), r"kernel_size must be one or two integers of at least 1, got \(2, 0\)"),
        (lambda: nnet.unfold(np.ones((1, 1, 2, 2)), 3), "windows of 3 elements, 1 apart, do not fit into 2 rows"),
        (lambda: nnet.fold(np.ones((1, 5, 1)), (2, 2), 2), "no multiple of the 4 elements of a window"),
        (lambda: nnet.cdist([1.0], m), "cdist takes points as rows"),
        (lambda: nnet.pdist(m, -1), "p must be a number from 0 to inf, got -1"),
        (lambda: nnet.channel_shuffle(np.ones((1, 3, 2)), 2), "3 channels do not make groups=2 groups"),
        (lambda: nnet.embedding_bag([[0]], m, "min"), "mode must be 'mean', 'sum' or 'max', got 'min'"),
        (lambda: nnet.embedding_bag([[0]], m, per_sample_weights=[[1.0]]), "per_sample_weights are for mode='sum'"),
        (lambda: nnet.bilinear(m, m, m), r"weight must be \(results, features, features\)"),
        (lambda: nnet.nll_loss(m, m[:, :, None]), "nll_loss: the target must be integer labels of 1 dimensions"),
        (lambda: nnet.gumbel_softmax(m, None), "gumbel_softmax: rng must be a random stream"),
        (lambda: nnet.gumbel_softmax(m, T.random.RandomStream(1), tau=0), "tau must be above 0, got 0"),
        (lambda: nnet.alpha_dropout(m, 2, T.random.RandomStream(1)), "a number from 0 to 1, got 2"),
        (lambda: nnet.rrelu(m, 2, 1), "lower must not be above upper, got 2 and 1"),
    ):
        with pytest.raises((ValueError, TypeError), match=text):
            make()
