"""Windows of images as rows of a matrix, and back, for T.nnet."""

from __future__ import annotations

from itertools import product as product_of_ranges
from typing import Any

from termgraph.tensor.creation import arange, zeros
from termgraph.tensor.indexing import inc_subtensor, set_subtensor
from termgraph.tensor.lengths import as_lengths, length, product
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import ShapeLike, TensorLike
from termgraph.tensor.padding import pad
from termgraph.tensor.shaping import dimshuffle, reshape
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor

MODES = ("valid", "ignore_borders", "wrap_centered", "half", "full")


@on_terms
def images2neibs(
    ten4: TensorLike, neib_shape: ShapeLike, neib_step: ShapeLike = None, mode: str = "valid"
) -> TensorVariable:
    """Windows of images (batch, channels, rows, columns) as the rows of a matrix, image by image.

    `neib_shape` is (rows, columns) of a window, `neib_step` how far the next one lies (by default beside it). 'valid'
    refuses lengths of which something is left over, 'ignore_borders' leaves that out. Around the image, 'half' and
    'full' see zeros, as in `conv2d`; 'wrap_centered' sees the other side of the image.

    >>> import numpy as np, termgraph.tensor as T
    >>> T.nnet.images2neibs(np.arange(8.0).reshape(1, 1, 2, 4), (2, 2)).eval()
    array([[0., 1., 4., 5.],
           [2., 3., 6., 7.]])
    """
    x = _images("images2neibs", ten4)
    size = _pair("images2neibs", "neib_shape", neib_shape)
    step = size if neib_step is None else _pair("images2neibs", "neib_step", neib_step)
    if mode not in MODES:
        raise ValueError(f"images2neibs: mode must be one of {', '.join(MODES)}, got {mode!r}")
    if mode == "valid":
        _check_whole(x, size, step)
        if size == step:
            return _side_by_side(x, size)
    if mode in ("half", "full", "wrap_centered"):
        around = [k - 1 if mode == "full" else k // 2 for k in size]
        widths = [(0, 0), (0, 0), *[(n, n) for n in around]]
        x = pad(x, widths, mode="wrap") if mode == "wrap_centered" else pad(x, widths)
    return _windows(x, size, step)


def _images(name: str, value: TensorLike) -> TensorVariable:
    x = as_tensor(value)
    if x.ndim != 4:
        raise TypeError(f"{name} takes images (batch, channels, rows, columns), {x} has {x.ndim} dimensions")
    return x


def _pair(name: str, what: str, value: ShapeLike) -> tuple[int, int]:
    found = as_lengths(value, what, 2)
    if len(found) != 2 or any(not isinstance(n, int) or n < 1 for n in found):
        raise ValueError(f"{name}: {what} must be two positive integers, (rows, columns), got {value!r}")
    return found[0], found[1]


def _check_whole(x: TensorVariable, size: tuple[int, int], step: tuple[int, int]) -> None:
    for n, k, s in zip(x.type.shape[2:], size, step, strict=True):
        if n is not None and (n < k or (n - k) % s):
            raise ValueError(
                f"images2neibs: windows of {size}, {step} apart, leave something over of images of {x.type.shape[2:]}; "
                f"mode='ignore_borders' leaves that out"
            )


def _side_by_side(x: TensorVariable, size: tuple[int, int]) -> TensorVariable:
    """Windows that do not overlap are parts of the array; lengths that do not fit are refused by `reshape`."""
    batch, channels, rows, columns = [length(x, d) for d in range(4)]
    down, across = rows // size[0], columns // size[1]
    parts = dimshuffle(reshape(x, (batch, channels, down, size[0], across, size[1])), 0, 1, 2, 4, 3, 5)
    return reshape(parts, (product([batch, channels, down, across]), size[0] * size[1]))


def _windows(x: TensorVariable, size: tuple[int, int], step: tuple[int, int]) -> TensorVariable:
    counts = [(length(x, 2 + d) - size[d]) // step[d] + 1 for d in range(2)]
    rows, columns = (
        dimshuffle(arange(counts[d]) * step[d], 0, "x") + dimshuffle(arange(size[d]), "x", 0) for d in range(2)
    )
    found = x[:, :, dimshuffle(rows, 0, "x", 1, "x"), dimshuffle(columns, "x", 0, "x", 1)]
    return reshape(found, (product([length(x, 0), length(x, 1), *counts]), size[0] * size[1]))


@on_terms
def neibs2images(
    neibs: TensorLike, neib_shape: ShapeLike, original_shape: ShapeLike, mode: str = "valid"
) -> TensorVariable:
    """The images of which the rows are windows that lie side by side: `images2neibs` backwards.

    With 'ignore_borders', what no window saw is zero.

    >>> import numpy as np, termgraph.tensor as T
    >>> x = np.arange(8.0).reshape(1, 1, 2, 4)
    >>> T.nnet.neibs2images(T.nnet.images2neibs(x, (2, 2)), (2, 2), x.shape).eval()
    array([[[[0., 1., 2., 3.],
             [4., 5., 6., 7.]]]])
    """
    if mode not in ("valid", "ignore_borders"):
        raise ValueError(f"neibs2images: mode must be 'valid' or 'ignore_borders', got {mode!r}")
    height, width = _pair("neibs2images", "neib_shape", neib_shape)
    batch, channels, rows, columns = as_lengths(original_shape, "original_shape", 4)
    down, across = rows // height, columns // width
    parts = dimshuffle(reshape(neibs, (batch, channels, down, across, height, width)), 0, 1, 2, 4, 3, 5)
    images = reshape(parts, (batch, channels, down * height, across * width))
    if mode == "valid":
        return reshape(images, (batch, channels, rows, columns))
    whole = zeros((batch, channels, rows, columns), images.dtype)
    return set_subtensor(whole[:, :, : down * height, : across * width], images)


# ---------------------------------------------------------------------- columns of windows
@on_terms
def unfold(
    input: TensorLike, kernel_size: ShapeLike, dilation: ShapeLike = 1, padding: ShapeLike = 0, stride: ShapeLike = 1
) -> TensorVariable:
    """Windows of images (batch, channels, rows, columns) as columns: (batch, channels * window, number of windows).

    A convolution is a product of these and of its filters, flattened. `padding` is how many zeros lie around.

    >>> import numpy as np, termgraph.tensor as T
    >>> T.nnet.unfold(np.arange(6.0).reshape(1, 1, 2, 3), (2, 2)).eval()
    array([[[0., 1.],
            [1., 2.],
            [3., 4.],
            [4., 5.]]])
    """
    x = _images("unfold", input)
    size, apart, around, step = _window("unfold", kernel_size, dilation, padding, stride)
    x = pad(x, [(0, 0), (0, 0), *[(n, n) for n in around]]) if any(around) else x
    counts = _window_counts([length(x, 2), length(x, 3)], size, apart, step)
    rows, columns = (
        dimshuffle(arange(k) * a, 0, "x") + dimshuffle(arange(m) * s, "x", 0)
        for k, a, m, s in zip(size, apart, counts, step, strict=True)
    )
    return reshape(
        x[:, :, dimshuffle(rows, 0, "x", 1, "x"), dimshuffle(columns, "x", 0, "x", 1)],
        (length(x, 0), length(x, 1) * (size[0] * size[1]), product(counts)),
    )


@on_terms
def fold(
    input: TensorLike,
    output_size: ShapeLike,
    kernel_size: ShapeLike,
    dilation: ShapeLike = 1,
    padding: ShapeLike = 0,
    stride: ShapeLike = 1,
) -> TensorVariable:
    """Images of `output_size` (rows, columns) to which each column of windows is added where `unfold` read it.

    >>> import numpy as np, termgraph.tensor as T
    >>> T.nnet.fold(np.ones((1, 4, 2)), (2, 3), (2, 2)).eval()
    array([[[[1., 2., 1.],
             [1., 2., 1.]]]])
    """
    v = as_tensor(input)
    if v.ndim != 3:
        raise TypeError(f"fold takes columns (batch, channels * window, windows), {v} has {v.ndim} dimensions")
    size, apart, around, step = _window("fold", kernel_size, dilation, padding, stride)
    lengths = as_lengths(output_size, "output_size", 2)
    if len(lengths) != 2:
        raise ValueError(f"fold: output_size must be two lengths, (rows, columns), got {output_size!r}")
    whole = [n + 2 * p for n, p in zip(lengths, around, strict=True)]
    counts = _window_counts(whole, size, apart, step)
    in_window = size[0] * size[1]
    channels = length(v, 1)
    if isinstance(channels, int) and channels % in_window:
        raise ValueError(f"fold: {channels} rows of {v} are no multiple of the {in_window} elements of a window")
    channels = channels // in_window
    parts = reshape(v, (length(v, 0), channels, *size, *counts))
    made = zeros((length(v, 0), channels, *whole), v.dtype)
    for i, j in product_of_ranges(range(size[0]), range(size[1])):
        rows, columns = (_every(a * k, s, m) for a, k, s, m in zip(apart, (i, j), step, counts, strict=True))
        made = inc_subtensor(made[:, :, rows, columns], parts[:, :, i, j])
    return made[:, :, around[0] : around[0] + lengths[0], around[1] : around[1] + lengths[1]] if any(around) else made


def _every(start: int, step: int, n: Any) -> slice:
    """n places in steps."""
    return slice(start, start + (n - 1) * step + 1, step)


def _window(name: str, *given: Any) -> list[tuple[int, int]]:
    """Lengths, distances of elements, zeros around and distances of windows, each for rows and columns."""
    words = ("kernel_size", "dilation", "padding", "stride")
    found = []
    for what, value in zip(words, given, strict=True):
        pair = (value, value) if hasattr(value, "__index__") else tuple(value) if value is not None else ()
        least = 0 if what == "padding" else 1
        if len(pair) != 2 or any(not hasattr(n, "__index__") or isinstance(n, bool) or n < least for n in pair):
            raise ValueError(f"{name}: {what} must be one or two integers of at least {least}, got {value!r}")
        found.append((int(pair[0]), int(pair[1])))
    return found


def _window_counts(ns: list, size: tuple, apart: tuple, step: tuple) -> list:
    """How many windows there are, by rows and by columns."""
    counts = []
    for n, k, a, s, what in zip(ns, size, apart, step, ("rows", "columns"), strict=True):
        if isinstance(n, int) and n <= a * (k - 1):
            raise ValueError(f"windows of {k} elements, {a} apart, do not fit into {n} {what}")
        counts.append((n - a * (k - 1) - 1) // s + 1)
    return counts
