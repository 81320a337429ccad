"""Goals about convolutions by sums of products and by Fourier transforms."""

from __future__ import annotations

from typing import Any

import termgraph.tensor as T
from termgraph.rulelib._goals_convolutions import (
    computed_by,
    fitting,
    images_of,
    inside,
    laid_back,
    padded,
    pads_of,
    part,
    swapped_channels,
    turned,
    windows_of,
)
from termgraph.tensor.lengths import length, lengths, product
from termgraph.terms.dtypes import promote
from termgraph.terms.ops.convolution import conv, reach


# ---------------------------------------------------------------------- sums of products
def _split(x: Any, axis: int, groups: int) -> Any:
    """An array with its channels (or filters) by groups: one axis more."""
    shape = lengths(x)
    return x.reshape([*shape[:axis], groups, part(shape[axis], groups), *shape[axis + 1 :]])


def _summed(a: Any, b: Any, axes: tuple) -> Any:
    """The sum of products over some axes."""
    return (a * b).sum(axis=axes, dtype=(a * b).dtype)


def _places_and_taps(x: Any, taps: list, p: dict) -> Any:
    """The windows of an image: (batch, groups, 1, channels, *places, *taps)."""
    found = windows_of(padded(x, pads_of(p, lengths(x)[2:], taps)), taps, p)
    found = _split(found, 1, p["groups"])
    return found.dimshuffle(0, 1, "x", *range(2, found.ndim))


def _as_filters(w: Any, p: dict) -> Any:
    """Filters: (1, groups, filters, channels, *1, *taps)."""
    w = _split(w, 0, p["groups"])
    return w.dimshuffle("x", 0, 1, 2, *["x"] * (w.ndim - 3), *range(3, w.ndim))


def _as_maps(g: Any, p: dict) -> Any:
    """An array like the result: (batch, groups, filters, 1, *places, *1)."""
    g = _split(g, 1, p["groups"])
    return g.dimshuffle(0, 1, 2, "x", *range(3, g.ndim), *["x"] * (g.ndim - 3))


@computed_by("direct", "iiio")
def summed_forward(p: Any, x: Any, w: Any) -> Any:
    """The convolution as it is written: each place the sum of its window times the filter."""
    n, w = x.ndim - 2, fitting(w, length(x, 1), p["groups"])
    found = _places_and_taps(x, lengths(w)[2:], p)
    out = _summed(found, _as_filters(w, p), (3, *range(4 + n, 4 + 2 * n)))
    return out.reshape([length(x, 0), length(w, 0), *lengths(out)[3:]])


@computed_by("direct", "iiiio")
def summed_weights(p: Any, x: Any, g: Any, taps: list) -> Any:
    """The filters' gradient: each tap the sum of the cotangent times what the tap read."""
    out = _summed(_places_and_taps(x, taps, p), _as_maps(g, p), (0, *range(4, 2 + x.ndim)))
    return out.reshape([length(g, 1), part(length(x, 1), p["groups"]), *taps])


@computed_by("direct", "iiiio")
def summed_inputs(p: Any, w: Any, g: Any, image: list) -> Any:
    """The images' gradient: the share of each tap, added up where its windows lie."""
    shares, lead, taps = _summed(_as_filters(w, p), _as_maps(g, p), (2,)), images_of(w, g, p), lengths(w)[2:]
    return laid_back(shares.reshape([*lead, *lengths(shares)[3:]]), lead, image, taps, pads_of(p, image, taps), p)


# ---------------------------------------------------------------------- Fourier transforms
def _known(*lengths_: list) -> bool:
    return all(isinstance(n, int) for ns in lengths_ for n in ns)


@computed_by("fft", "iiio")
def transformed_forward(p: Any, x: Any, w: Any) -> Any:
    """The convolution as a product of Fourier transforms, of which the places are picked. Lengths must be known."""
    image, taps = lengths(x)[2:], lengths(w)[2:]
    if not _known(image, taps) or x.type.kind != "f" or w.type.kind != "f":
        return None
    n, axes = x.ndim - 2, list(range(2, x.ndim))
    x, w = padded(x, pads_of(p, image, taps)), _with_gaps(w, p["dilation"])
    points = lengths(x)[2:]
    left = _split(T.fft.rfftn(x, points, axes), 1, p["groups"])
    right = _split(T.conj(T.fft.rfftn(w, points, axes)), 0, p["groups"])
    order = range(3, 3 + n)
    out = T.matmul(left.dimshuffle(*order, 1, 0, 2), right.dimshuffle(*order, 0, 2, 1))
    out = out.dimshuffle(n + 1, n, n + 2, *range(n)).reshape([length(x, 0), length(w, 0), *lengths(left)[3:]])
    whole = T.fft.irfftn(out, points, axes)
    steps = zip(points, lengths(w)[2:], p["stride"])
    whole = whole[(slice(None), slice(None), *[slice(0, m - k + 1, s) for m, k, s in steps])]
    return T.cast(whole, promote(x.type.np_dtype, w.type.np_dtype).name)


def _with_gaps(w: Any, gaps: tuple, shape: list | None = None) -> Any:
    """An array with its elements `gaps` apart and zeros between them."""
    if all(e == 1 for e in gaps) and shape is None:
        return w
    shape = [reach(k, e) for k, e in zip(lengths(w)[2:], gaps)] if shape is None else shape
    wide = T.zeros([length(w, 0), length(w, 1), *shape], dtype=w.dtype)
    taken = [slice(0, reach(k, e) if k else 0, e) for k, e in zip(lengths(w)[2:], gaps)]
    return T.set_subtensor(wide[(slice(None), slice(None), *taken)], w)


@computed_by("fft", "iiiio")
def inputs_as_forward(p: Any, w: Any, g: Any, image: list) -> Any:
    """The images' gradient as a convolution of the cotangent, spread by the stride, with turned filters."""
    taps = lengths(w)[2:]
    if not _known(image, taps, lengths(g)[2:]) or w.type.kind != "f" or g.type.kind != "f":
        return None
    pads, around = pads_of(p, image, taps), [reach(k, e) - 1 for k, e in zip(taps, p["dilation"])]
    wide = _with_gaps(g, p["stride"], [m + a + b - r for m, (a, b), r in zip(image, pads, around)])
    how = {**p, "stride": (1,) * len(taps), "border": tuple([(r, r) for r in around])}
    return inside(conv(wide, swapped_channels(turned(w), p["groups"]), **how), image, pads)


@computed_by("fft", "iiiio")
def weights_as_forward(p: Any, x: Any, g: Any, taps: list) -> Any:
    """The filters' gradient as a convolution of the images with the cotangent, batch and channels exchanged."""
    image, places, n = lengths(x)[2:], lengths(g)[2:], x.ndim - 2
    if not _known(image, taps, places) or 0 in places or x.type.kind != "f" or g.type.kind != "f":
        return None
    batch, groups = length(x, 0), p["groups"]
    x = _split(x, 1, groups).dimshuffle(2, 1, 0, *range(3, 3 + n))
    x = x.reshape([length(x, 0), product([groups, batch]), *image])
    how = {**p, "stride": p["dilation"], "dilation": p["stride"], "border": tuple(pads_of(p, image, taps))}
    out = conv(x, g.dimshuffle(1, 0, *range(2, 2 + n)), **how)
    out = out[(slice(None), slice(None), *[slice(0, k) for k in taps])]
    return out.dimshuffle(1, 0, *range(2, 2 + n))
