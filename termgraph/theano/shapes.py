"""Shapes of convolutions as numbers: theano.tensor.nnet.abstract_conv's helpers. Imports nothing but NumPy and T."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import termgraph.tensor as T
from termgraph.function.mode import Mode
from termgraph.tensor.likes import BorderMode, ShapeLike, TensorLike

Lengths = Sequence[Any]  # numbers; None where a length is unknown


def _pair(border: Any, d: int, k: Any, dilation: int) -> tuple[Any, Any]:
    """Zeros before and after, along one dimension."""
    reach = (k - 1) * dilation + 1
    if border == "half":
        return reach // 2, reach // 2
    if border == "full":
        return reach - 1, reach - 1
    if border == "valid":
        return 0, 0
    one = border if hasattr(border, "__index__") else border[d]
    return (one, one) if hasattr(one, "__index__") else tuple(one)


def border_mode_to_pad(mode: str | Mode | None, convdim: int, kshp: Sequence[Any]) -> tuple:
    """A border mode as pairs of zeros, one for each dimension."""
    if isinstance(mode, str) and mode not in ("valid", "full", "half"):
        raise ValueError(f"border mode must be 'valid', 'full', 'half' or numbers, got {mode!r}")
    pairs = tuple([_pair(mode, d, kshp[d], 1) for d in range(convdim)])
    if any(n < 0 for pair in pairs for n in pair):
        raise ValueError(f"border mode {mode!r}: numbers of zeros must be >= 0")
    return pairs


def get_conv_shape_1axis(
    image_shape: ShapeLike, kernel_shape: Any, border_mode: Any, subsample: ShapeLike, dilation: Any = 1
) -> Any:
    """The length of a convolution's result along one dimension; None where a length is unknown."""
    if None in (image_shape, kernel_shape, border_mode, subsample, dilation):
        return None
    before, after = _pair(border_mode if isinstance(border_mode, str) else [border_mode], 0, kernel_shape, dilation)
    return (image_shape + before + after - ((kernel_shape - 1) * dilation + 1)) // subsample + 1


def _each(value: Any, n: int) -> list:
    return [value] * n if isinstance(value, str) or hasattr(value, "__index__") else list(value)


def get_conv_output_shape(
    image_shape: Lengths,
    kernel_shape: Lengths,
    border_mode: BorderMode,
    subsample: Lengths,
    filter_dilation: Lengths | None = None,
) -> tuple:
    """The shape of a convolution's result."""
    n = len(subsample)
    dilation = filter_dilation or (1,) * n
    modes = _each(border_mode, n)
    spatial = [get_conv_shape_1axis(*v) for v in zip(image_shape[2:], kernel_shape[-n:], modes, subsample, dilation)]
    return (image_shape[0], kernel_shape[0], *spatial)


def get_conv_gradweights_shape_1axis(
    image_shape: ShapeLike, top_shape: Any, border_mode: Any, subsample: ShapeLike, dilation: Any
) -> Any:
    """The length of filters along one dimension, where images and results determine it."""
    if None in (image_shape, top_shape, border_mode, subsample, dilation) or subsample != 1 or border_mode == "half":
        return None
    if border_mode == "full":
        return (top_shape - image_shape) // dilation + 1
    before, after = _pair([border_mode] if border_mode != "valid" else "valid", 0, 1, 1)
    return (image_shape + before + after - top_shape) // dilation + 1


def get_conv_gradweights_shape(
    image_shape: Lengths, top_shape: Lengths, border_mode: BorderMode, subsample: Lengths,
    filter_dilation: Lengths | None = None, num_groups: int = 1, unshared: bool = False,
) -> tuple:  # fmt: skip
    """The shape of filters, where images and results determine it."""
    n = len(subsample)
    channels = image_shape[1] // num_groups if image_shape[1] is not None else None
    modes, dilation = _each(border_mode, n), filter_dilation or (1,) * n
    spatial = [
        get_conv_gradweights_shape_1axis(*v) for v in zip(image_shape[2:], top_shape[2:], modes, subsample, dilation)
    ]
    return (top_shape[1], channels, *spatial)


def get_conv_gradinputs_shape_1axis(
    kernel_shape: Any, top_shape: Any, border_mode: Any, subsample: ShapeLike, dilation: Any
) -> Any:
    """The length of images along one dimension, where filters and results determine it."""
    if None in (kernel_shape, top_shape, border_mode, subsample, dilation) or subsample != 1:
        return None
    before, after = _pair(border_mode if isinstance(border_mode, str) else [border_mode], 0, kernel_shape, dilation)
    return top_shape - 1 - before - after + (kernel_shape - 1) * dilation + 1


def get_conv_gradinputs_shape(
    kernel_shape: Lengths, top_shape: Lengths, border_mode: BorderMode, subsample: Lengths,
    filter_dilation: Lengths | None = None, num_groups: int = 1,
) -> tuple:  # fmt: skip
    """The shape of images, where filters and results determine it."""
    n = len(subsample)
    channels = kernel_shape[1] * num_groups if kernel_shape[1] is not None else None
    modes, dilation = _each(border_mode, n), filter_dilation or (1,) * n
    spatial = [
        get_conv_gradinputs_shape_1axis(*v) for v in zip(kernel_shape[-n:], top_shape[2:], modes, subsample, dilation)
    ]
    return (top_shape[0], channels, *spatial)


def check_conv_gradinputs_shape(
    image_shape: Lengths, kernel_shape: Lengths, output_shape: Lengths, border_mode: BorderMode, subsample: Lengths,
    filter_dilation: Lengths | None = None,
) -> bool:  # fmt: skip
    """Whether a convolution of images of this shape can have results of that shape."""
    if len(image_shape) != len(kernel_shape) or len(image_shape) != len(output_shape):
        return False
    made = get_conv_output_shape(image_shape, kernel_shape, border_mode, subsample, filter_dilation)
    return all(a is None or b is None or a == b for a, b in zip(made, output_shape, strict=True))


def assert_conv_shape(shape: Sequence[Any]) -> tuple:
    """The shape of a result, refused where a length is negative (or zero, of batch or channels)."""
    for d, n in enumerate(shape):
        if hasattr(n, "__index__") and int(n) < (0 if d < 2 else 1):
            raise ValueError(f"the result of the convolution would have length {n} in dimension {d}: {tuple(shape)}")
    return tuple(shape)


def assert_shape(x: TensorLike, expected_shape: Sequence[Any], msg: str = "Unexpected shape.") -> Any:
    """The array, with a check of those lengths that are not None."""
    return T.specify_shape(x, *expected_shape)
