"""Windows of images as rows of a matrix, and back, for T.nnet."""

from __future__ import annotations

from termgraph.tensor.creation import arange, zeros
from termgraph.tensor.indexing import set_subtensor
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
