"""Convolutions with filters in shared variables: rules know their lengths, and programs follow when these change."""

import pickle

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.terms.traverse import children_first

needs_c = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
RNG = np.random.default_rng(5)


def net(x, filters, stride=1):
    h = x
    for w in filters:
        h = T.tanh(T.nnet.conv2d(h, w, border_mode="half", subsample=(stride, stride)))
    return h


def filters_of(*sizes, channels=3):
    shapes = [(channels, channels, k, k) for k in sizes]
    return [tg.shared(RNG.standard_normal(s) / 4, name=f"w{k}") for k, s in enumerate(shapes)]


def ops_of(f):
    return {t.op.family.name for t in children_first(f.maker.work.roots) if t.args}


def gradients(filters, linker="c", stride=1, **options):
    x = T.tensor4("x")
    loss = (net(x, filters, stride) ** 2).sum()
    return tg.function([x], tg.grad(loss, [x, *filters]), mode=tg.Mode(linker=linker), **options)


def agree(got, want):
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)


@needs_c
@pytest.mark.parametrize("sizes", [(3, 3), (1, 3), (3, 1), (5, 1, 3)])
@pytest.mark.parametrize("stride", [1, 2])
def test_no_array_of_all_windows_for_filters_and_images_of_open_lengths(sizes, stride):
    filters = filters_of(*sizes)
    f, plain = gradients(filters, stride=stride), gradients(filters, "py", stride)
    assert not ops_of(f) & {"scatter_add", "windows", "conv", "conv_grad_inputs"}
    for shape in ((2, 3, 9, 8), (1, 3, 12, 12), (2, 3, 16, 17)):
        x = RNG.standard_normal(shape)
        agree(f(x), plain(x))


@needs_c
def test_a_program_follows_filters_of_other_lengths():
    filters = filters_of(3, 1)
    f, plain, x = gradients(filters), gradients(filters, "py"), RNG.standard_normal((2, 3, 8, 8))
    for sizes in (
        (3, 1),
        (1, 3),
        (5, 1),
        (3, 3),
        (1, 1),
        (5, 5),
        (3, 1),
        (7, 3),
    ):  # more than have programs of their own
        for w, k in zip(filters, sizes):
            w.set_value(RNG.standard_normal((3, 3, k, k)) / 4)
        agree(f(x), plain(x))


@needs_c
def test_channels_that_no_longer_fit_are_named():
    filters = filters_of(3, 3)
    f, x = gradients(filters), RNG.standard_normal((2, 3, 8, 8))
    f(x)
    filters[1].set_value(RNG.standard_normal((3, 4, 3, 3)))
    with pytest.raises(ValueError, match="channels"):
        f(x)
    filters[1].set_value(RNG.standard_normal((3, 3, 3, 3)))
    agree(f(x), gradients(filters, "py")(x))


@needs_c
def test_copies_have_filters_of_their_own():
    filters, others = filters_of(3, 1), filters_of(5, 3)
    f, x = gradients(filters), RNG.standard_normal((2, 3, 8, 8))
    g = f.copy(swap=dict(zip(filters, others)))
    agree(g(x), gradients(others, "py")(x))
    agree(f(x), gradients(filters, "py")(x))


@needs_c
@pytest.mark.parametrize("how", ["pickle", "file"])
def test_saved_functions_are_for_all_lengths(how, tmp_path):
    filters = filters_of(3, 1)
    f, x = gradients(filters), RNG.standard_normal((2, 3, 8, 8))
    if how == "pickle":
        g = pickle.loads(pickle.dumps(f))
    else:
        tg.save(f, tmp_path / "f.tg")
        g = tg.load(tmp_path / "f.tg")
    agree(g(x), f(x))
    assert "scatter_add" not in ops_of(g)
    for w, k in zip(g.get_shared(), (5, 3)):
        w.set_value(RNG.standard_normal((3, 3, k, k)) / 4)
    plain = gradients(g.get_shared(), "py")
    agree(g(x), plain(x))


@needs_c
def test_an_error_still_names_the_line():
    filters = filters_of(3)
    x = T.tensor4("x")
    y = T.nnet.conv2d(x, filters[0])  # this line
    f = tg.function([x], y, mode=tg.Mode(linker="c"))
    with pytest.raises(ValueError, match="test_filter_lengths") as error:
        f(RNG.standard_normal((1, 4, 8, 8)))
    assert "this line" in str(error.value) or "conv2d" in str(error.value)


@needs_c
def test_a_one_is_not_stretched_elsewhere():
    w, b = tg.shared(RNG.standard_normal((3, 3, 1, 1)), name="w"), T.tensor4("b")
    x = T.tensor4("x")
    f = tg.function([x, b], [T.nnet.conv2d(x, w), w + b], mode=tg.Mode(linker="c"))
    f(np.ones((1, 3, 4, 4)), np.ones((3, 3, 1, 1)))
    with pytest.raises(ValueError):
        f(np.ones((1, 3, 4, 4)), np.ones((3, 3, 2, 2)))


@needs_c
def test_what_is_not_one_c_program_is_for_all_lengths():
    """The virtual machine compares no lengths: its graph relies on none."""
    (w,) = filters_of(3)
    x = T.tensor4("x")
    y = T.nnet.conv2d(x, w)
    f = tg.function([x], [y, T.linalg.pinv(y[0, 0], hermitian=True)], mode=tg.Mode(linker="auto"))
    assert f.maker.work.not_native and not f.maker.work.captured.lengths
    image = RNG.standard_normal((1, 3, 8, 8))
    for k in (3, 5, 1):
        w.set_value(RNG.standard_normal((3, 3, k, k)))
        agree(f(image)[:1], tg.function([x], [y], mode=tg.Mode(linker="py"))(image))


@needs_c
def test_updates_in_training_keep_one_program():
    filters = filters_of(3, 1)
    x = T.tensor4("x")
    loss = (net(x, filters) ** 2).mean()
    updates = [(w, w - 0.1 * g) for w, g in zip(filters, tg.grad(loss, filters))]
    f = tg.function([x], loss, updates=updates, mode=tg.Mode(linker="c"))
    image = RNG.standard_normal((2, 3, 8, 8))
    losses = [float(f(image)) for _ in range(5)]
    assert losses == sorted(losses, reverse=True) and "_for_lengths" not in f.__dict__


@needs_c
def test_text_grows_by_the_same_for_each_layer_of_stride_two():
    """Lengths behind layers of stride 2 are divided once, and have a name in each function."""

    def length(layers):
        return len(gradients(filters_of(*[3] * layers), stride=2).source("c"))

    two, three, five = length(2), length(3), length(5)
    assert five - three < 2.4 * (three - two)
