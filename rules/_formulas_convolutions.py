"""How convolutions are computed, as formulas of the tensor language: routines, products, sums, Fourier transforms.

`f` is the placeholder that is replaced; its filters are not turned. Each formula is for any number of dimensions.
"""

from __future__ import annotations

import itertools
from typing import Any

import termgraph.tensor as T
from termgraph.rules import seg
from termgraph.rules.formulas import formula
from termgraph.tensor.lengths import length, length_operands, lengths, product
from termgraph.tensor.padding import pad
from termgraph.terms.dtypes import promote
from termgraph.terms.op import CONST
from termgraph.terms.ops.convolution import (
    conv, conv_grad_inputs, conv_grad_weights, conv_panels, conv_spread, conv_taps, conv_winograd, padding, reach,
    windows,
)
from termgraph.terms.ops.shaping import specify_shape


@formula(gives=seg)
def taps_of(w: Any) -> Any:
    """The spatial lengths of filters (or of images)."""
    return length_operands(lengths(w)[2:])


# ---------------------------------------------------------------------- lengths and padding
def integers(ns: list) -> list:
    """Length operands as integers where they are known."""
    return [int(n.term.scalar) if n.term.op is CONST else n for n in ns]


def most(a: Any, b: Any) -> Any:
    """The larger one of two lengths."""
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else T.maximum(a, b)


def part(n: Any, groups: int) -> Any:
    """How many channels (or filters) a group has."""
    return n // groups


def pads_of(f: Any, image: list, taps: list) -> list[tuple]:
    """How many zeros go before and after each spatial dimension."""
    p = f.params
    geometry = enumerate(zip(image, taps, p["stride"], p["dilation"]))
    return [padding(p["border"], d, *g, most=most) for d, g in geometry]


def padded(x: Any, pads: list) -> Any:
    """Zeros around the spatial dimensions."""
    return pad(x, [(0, 0), (0, 0), *pads])


def inside(x: Any, image: list, pads: list) -> Any:
    """The image without what lies around it. A known length stays known where the zeros before it are computed."""
    part = x[(..., *[slice(a, a + m) for m, (a, _) in zip(image, pads)])]
    told = [m if isinstance(m, int) else None for m in image]
    return T.specify_shape(part, (*[None] * (part.ndim - len(told)), *told))


def windows_of(f: Any, x: Any, taps: list) -> Any:
    """(batch, channels, *places, *taps) of an image with its padding."""
    p, wide = f.params, padded(x, pads_of(f, lengths(x)[2:], taps))
    return windows(wide, *length_operands(taps), stride=p["stride"], dilation=p["dilation"])


# ---------------------------------------------------------------------- filters
def turned(w: Any) -> Any:
    """Filters with all their spatial dimensions reversed."""
    return w[(slice(None), slice(None), *[slice(None, None, -1)] * (w.ndim - 2))]


def swapped_channels(w: Any, groups: int) -> Any:
    """Filters with filters and channels exchanged inside each group."""
    filters, channels, *taps = lengths(w)
    rest = range(2, w.ndim)
    if groups == 1:
        return w.dimshuffle(1, 0, *rest)
    apart = w.reshape([groups, part(filters, groups), channels, *taps])
    apart = apart.dimshuffle(0, 2, 1, *[d + 1 for d in rest])
    return apart.reshape([product([groups, channels]), part(filters, groups), *taps])


def fitting(w: Any, channels: Any, groups: int) -> Any:
    """Filters that read so many channels, which is checked where it is not known."""
    each = length(w, 1)
    if isinstance(channels, int) and isinstance(each, int):
        return w
    per = f" in each of {groups} groups" if groups > 1 else ""
    told = f"the filters read {{0}} channels{per}, the image has {{1}}{per}"
    flags = (False, True, *[False] * (w.ndim - 2))
    return specify_shape(w, *length_operands([part(channels, groups)]), known=flags, told=told)


# ---------------------------------------------------------------------- shares laid back
def images_of(f: Any, w: Any, g: Any) -> list:
    """How many images there are, and how many channels they have that filters read."""
    return [length(g, 0), product([length(w, 1), f.params["groups"]])]


def laid_back(shares: Any, lead: list, image: list, taps: list, pads: list, p: Any) -> Any:
    """Images from the shares of all taps, (*lead, *places, *taps), which are added up where windows were read."""
    wide = [m + a + b for m, (a, b) in zip(image, pads)]
    return inside(overlapped(shares, [*lead, *wide], taps, p), image, pads)


def overlapped(g: Any, shape: list, taps: list, p: Any) -> Any:
    """Windows laid back where they were read, elements that several of them have added up."""
    out = T.zeros(shape, dtype=g.dtype)
    lead, n = len(shape) - len(taps), len(taps)
    places = lengths(g)[lead : lead + n]
    if all(isinstance(k, int) for k in taps):
        return _added_up(out, g, taps, places, p)
    index = [
        T.arange(m).dimshuffle(0, "x") * s + T.arange(k) * e
        for m, k, s, e in zip(places, taps, p["stride"], p["dilation"])
    ]
    spread = [i.dimshuffle(*_crossing(d, n)) for d, i in enumerate(index)]
    return T.inc_subtensor(out[(*[slice(None)] * lead, *spread)], g)


def _crossing(d: int, n: int) -> list:
    """The order by which axis d of n has its place and its tap among those of all."""
    return [0 if k == d else 1 if k == n + d else "x" for k in range(2 * n)]


def _added_up(out: Any, g: Any, taps: list, places: list, p: Any) -> Any:
    lead = out.ndim - len(taps)
    for tap in itertools.product(*map(range, taps)):
        steps = zip(tap, p["dilation"], p["stride"], places)
        where = [slice(k * e, k * e + (n - 1) * s + 1, s) for k, e, s, n in steps]
        out = T.inc_subtensor(out[(*[slice(None)] * lead, *where)], g[(..., *tap)])
    return out


# ---------------------------------------------------------------------- routines of compiled code
def _in_numbers(f: Any, image: list, taps: list) -> dict:
    """The parameters of a routine: the padding as numbers."""
    return {**f.params, "border": tuple(pads_of(f, image, taps)), "algo": None, "vectors": None}


@formula
def panels_forward(f: Any, x: Any, w: Any) -> Any:
    """The convolution by the routine that packs panels."""
    return conv_panels.bind(**_in_numbers(f, lengths(x)[2:], lengths(w)[2:]))(x, w)


@formula
def dnn_forward(f: Any, x: Any, w: Any) -> Any:
    """The convolution by cuDNN; what it does not know, by panels."""
    return conv_panels.bind(**_in_library(f, lengths(x)[2:], lengths(w)[2:]))(x, w)


@formula
def dnn_inputs(f: Any, w: Any, g: Any, ns: list) -> Any:
    """The images' gradient by cuDNN."""
    return conv_spread.bind(**_in_library(f, integers(ns), lengths(w)[2:]))(w, g, *ns)


@formula
def dnn_weights(f: Any, x: Any, g: Any, ks: list) -> Any:
    """The filters' gradient by cuDNN."""
    return conv_taps.bind(**_in_library(f, lengths(x)[2:], integers(ks)))(x, g, *ks)


def _in_library(f: Any, image: list, taps: list) -> dict:
    """The parameters of a routine that a library is asked for first."""
    return {**_in_numbers(f, image, taps), "algo": "cudnn"}


@formula
def winograd_forward(f: Any, x: Any, w: Any) -> Any:
    """The convolution by Winograd's algorithm."""
    return conv_winograd.bind(**_in_numbers(f, lengths(x)[2:], lengths(w)[2:]))(x, w)


@formula
def panels_weights(f: Any, x: Any, g: Any, ks: list) -> Any:
    """The filters' gradient by the routine that goes from tap to tap."""
    return conv_taps.bind(**_in_numbers(f, lengths(x)[2:], integers(ks)))(x, g, *ks)


@formula
def panels_spread(f: Any, w: Any, g: Any, ns: list) -> Any:
    """The images' gradient where filters move by more than one: several convolutions."""
    return conv_spread.bind(**_in_numbers(f, integers(ns), lengths(w)[2:]))(w, g, *ns)


@formula
def panels_turned(f: Any, w: Any, g: Any, ns: list) -> Any:
    """The images' gradient where filters move by one: a convolution with turned filters."""
    image, taps, places = integers(ns), lengths(w)[2:], lengths(g)[2:]
    if not all(isinstance(k, int) for k in taps):
        return _full_turned(f, w, g, image)
    how = _in_numbers(f, image, taps)
    borders = [_turned_border(*one) for one in zip(image, taps, places, how["dilation"], how["border"])]
    if any(min(pair) < 0 for pair in borders):
        g = g[(slice(None), slice(None), *[slice(max(-a, 0), min(b, 0) or None) for a, b in borders])]
    border = tuple([(max(a, 0), max(b, 0)) for a, b in borders])
    return conv(g, swapped_channels(turned(w), how["groups"]), **{**f.params, "border": border})


def _unpadded(f: Any) -> dict:
    """The parameters without padding."""
    return {**f.params, "border": ((0, 0),) * len(f.params["stride"])}


def _places_known(f: Any, image: list) -> list:
    """How many places there are where the padding keeps so many whatever the filters are; None elsewhere."""
    stays = f.params["border"] == "same"
    return [-(-n // s) if stays and isinstance(n, int) else None for n, s in zip(image, f.params["stride"])]


@formula
def padded_forward(f: Any, x: Any, w: Any) -> Any:
    """The convolution of an image that has its zeros: how many there are is computed."""
    image, taps = lengths(x)[2:], lengths(w)[2:]
    made = conv(padded(x, pads_of(f, image, taps)), w, **_unpadded(f))
    return T.specify_shape(made, (None, None, *_places_known(f, image)))


@formula
def padded_weights(f: Any, x: Any, g: Any, ks: list) -> Any:
    """The filters' gradient from an image that has its zeros."""
    wide = padded(x, pads_of(f, lengths(x)[2:], integers(ks)))
    return conv_grad_weights(wide, g, *ks, **_unpadded(f))


@formula
def padded_inputs(f: Any, w: Any, g: Any, ns: list) -> Any:
    """The gradient of an image with its zeros, which are left out."""
    image = integers(ns)
    pads = pads_of(f, image, lengths(w)[2:])
    wide = length_operands([m + a + b for m, (a, b) in zip(image, pads)])
    return inside(conv_grad_inputs(w, g, *wide, **_unpadded(f)), image, pads)


def _full_turned(f: Any, w: Any, g: Any, image: list) -> Any:
    """The same for filters of unknown lengths: turned filters at all places, of which the padding is left out."""
    pads = pads_of(f, image, lengths(w)[2:])
    whole = conv(g, swapped_channels(turned(w), f.params["groups"]), **{**f.params, "border": "full"})
    told = "the places and taps of a convolution make an image of {0} elements, {1} were asked for"
    wide = length_operands([m + a + b for m, (a, b) in zip(image, pads)])
    return inside(specify_shape(whole, *wide, known=(False, False, *[True] * len(wide)), told=told), image, pads)


def _turned_border(m: Any, k: int, places: Any, e: int, pad: tuple) -> tuple[int, int]:
    """The zeros around a cotangent along one dimension, of which the convolution with turned filters has m places."""
    around = reach(k, e) - 1
    known = isinstance(m, int) and isinstance(places, int)
    return around - pad[0], m + pad[0] - places if known else around - pad[1]


# ---------------------------------------------------------------------- products of matrices
def _columns(f: Any, x: Any, taps: list) -> tuple[Any, list]:
    """The windows as matrices, one column a place: (batch, [groups,] channels * taps, places); and the places."""
    n, groups, channels = x.ndim - 2, f.params["groups"], length(x, 1)
    found = windows_of(f, x, taps)
    places = lengths(found)[2 : 2 + n]
    found = found.dimshuffle(0, 1, *range(2 + n, 2 + 2 * n), *range(2, 2 + n))
    rows = [groups, product([part(channels, groups), *taps])] if groups > 1 else [product([channels, *taps])]
    return found.reshape([length(x, 0), *rows, product(places)]), places


def _by_group(f: Any, w: Any) -> Any:
    """Filters as one matrix per group: ([groups,] filters, channels * taps)."""
    filters, *rest = lengths(w)
    return w.reshape([*_rows(f, filters), product(rest)])


def _maps(f: Any, g: Any) -> Any:
    """An array like the result as matrices: (batch, [groups,] filters, places)."""
    batch, filters, *places = lengths(g)
    return g.reshape([batch, *_rows(f, filters), product(places)])


def _rows(f: Any, filters: Any) -> list:
    groups = f.params["groups"]
    return [filters] if groups == 1 else [groups, part(filters, groups)]


@formula
def product_forward(f: Any, x: Any, w: Any) -> Any:
    """The convolution as a product of the filters with the windows as columns."""
    w = fitting(w, length(x, 1), f.params["groups"])
    columns, places = _columns(f, x, lengths(w)[2:])
    made = T.matmul(_by_group(f, w), columns).reshape([length(x, 0), length(w, 0), *places])
    return T.specify_shape(made, (None, None, *_places_known(f, lengths(x)[2:])))


@formula
def product_weights(f: Any, x: Any, g: Any, ks: list) -> Any:
    """The filters' gradient as a product of the cotangent with the windows, added up over the batch."""
    taps = integers(ks)
    columns, _ = _columns(f, x, taps)
    parts = T.matmul(_maps(f, g), T.matrix_transpose(columns)).sum(axis=0, dtype=columns.dtype)
    return parts.reshape([length(g, 1), part(length(x, 1), f.params["groups"]), *taps])


@formula
def product_inputs(f: Any, w: Any, g: Any, ns: list) -> Any:
    """The images' gradient: the share of each tap by a product, added up where its windows lie."""
    taps, places, n, image = lengths(w)[2:], lengths(g)[2:], g.ndim - 2, integers(ns)
    shares = T.matmul(T.matrix_transpose(_by_group(f, w)), _maps(f, g))
    lead = images_of(f, w, g)
    shares = shares.reshape([*lead, *taps, *places])
    shares = shares.dimshuffle(0, 1, *range(2 + n, 2 + 2 * n), *range(2, 2 + n))
    return laid_back(shares, lead, image, taps, pads_of(f, image, taps), f.params)


@formula
def spread_forward(f: Any, w: Any, g: Any) -> Any:
    """The images' gradient of a convolution with stride 1 as a convolution with turned filters, its channels swapped.

    The zeros around are what of each window lies beyond the padding.
    """
    taps = lengths(w)[2:]
    around = [reach(k, e) - 1 for k, e in zip(taps, f.params["dilation"])]
    pads = [(m - a, m - b) for m, (a, b) in zip(around, pads_of(f, [None] * len(taps), taps))]
    return conv(g, swapped_channels(turned(w), f.params["groups"]), **{**f.params, "border": tuple(pads)})


# ---------------------------------------------------------------------- sums of products
def _split(x: Any, axis: int, f: Any) -> Any:
    """An array with its channels (or filters) by groups: one axis more."""
    shape, groups = lengths(x), f.params["groups"]
    return x.reshape([*shape[:axis], groups, part(shape[axis], groups), *shape[axis + 1 :]])


def _summed(a: Any, b: Any, axes: tuple) -> Any:
    """The sum of products over some axes."""
    return (a * b).sum(axis=axes, dtype=(a * b).dtype)


def _places_and_taps(f: Any, x: Any, taps: list) -> Any:
    """The windows of an image: (batch, groups, 1, channels, *places, *taps)."""
    found = _split(windows_of(f, x, taps), 1, f)
    return found.dimshuffle(0, 1, "x", *range(2, found.ndim))


def _as_filters(f: Any, w: Any) -> Any:
    """Filters: (1, groups, filters, channels, *1, *taps)."""
    w = _split(w, 0, f)
    return w.dimshuffle("x", 0, 1, 2, *["x"] * (w.ndim - 3), *range(3, w.ndim))


def _as_maps(f: Any, g: Any) -> Any:
    """An array like the result: (batch, groups, filters, 1, *places, *1)."""
    g = _split(g, 1, f)
    return g.dimshuffle(0, 1, 2, "x", *range(3, g.ndim), *["x"] * (g.ndim - 3))


@formula
def summed_forward(f: Any, x: Any, w: Any) -> Any:
    """The convolution as it is written: each place the sum of its window times the filter."""
    n, w = x.ndim - 2, fitting(w, length(x, 1), f.params["groups"])
    found = _places_and_taps(f, x, lengths(w)[2:])
    out = _summed(found, _as_filters(f, w), (3, *range(4 + n, 4 + 2 * n)))
    return out.reshape([length(x, 0), length(w, 0), *lengths(out)[3:]])


@formula
def summed_weights(f: Any, x: Any, g: Any, ks: list) -> Any:
    """The filters' gradient: each tap the sum of the cotangent times what the tap read."""
    taps = integers(ks)
    out = _summed(_places_and_taps(f, x, taps), _as_maps(f, g), (0, *range(4, 2 + x.ndim)))
    return out.reshape([length(g, 1), part(length(x, 1), f.params["groups"]), *taps])


@formula
def summed_inputs(f: Any, w: Any, g: Any, ns: list) -> Any:
    """The images' gradient: the share of each tap, added up where its windows lie."""
    shares, lead = _summed(_as_filters(f, w), _as_maps(f, g), (2,)), images_of(f, w, g)
    taps, image = lengths(w)[2:], integers(ns)
    shares = shares.reshape([*lead, *lengths(shares)[3:]])
    return laid_back(shares, lead, image, taps, pads_of(f, image, taps), f.params)


# ---------------------------------------------------------------------- Fourier transforms
@formula
def transformed_forward(f: Any, x: Any, w: Any) -> Any:
    """The convolution as a product of Fourier transforms, of which the places are picked."""
    image, taps, n, axes = lengths(x)[2:], lengths(w)[2:], x.ndim - 2, list(range(2, x.ndim))
    dtype, order = promote(x.type.np_dtype, w.type.np_dtype).name, range(3, 3 + n)
    x, w = padded(x, pads_of(f, image, taps)), _with_gaps(w, f.params["dilation"])
    points = lengths(x)[2:]
    left = _split(T.fft.rfftn(x, points, axes), 1, f)
    right = _split(T.conj(T.fft.rfftn(w, points, axes)), 0, f)
    out = T.matmul(left.dimshuffle(*order, 1, 0, 2), right.dimshuffle(*order, 0, 2, 1))
    out = out.dimshuffle(n + 1, n, n + 2, *range(n)).reshape([length(x, 0), length(w, 0), *lengths(left)[3:]])
    whole = T.fft.irfftn(out, points, axes)
    steps = zip(points, lengths(w)[2:], f.params["stride"])
    return T.cast(whole[(slice(None), slice(None), *[slice(0, m - k + 1, s) for m, k, s in steps])], dtype)


def _with_gaps(w: Any, gaps: tuple, shape: list | None = None) -> Any:
    """An array with its elements `gaps` apart and zeros between them."""
    if all(e == 1 for e in gaps) and shape is None:
        return w
    shape = [reach(k, e) for k, e in zip(lengths(w)[2:], gaps)] if shape is None else shape
    wide = T.zeros([length(w, 0), length(w, 1), *shape], dtype=w.dtype)
    taken = [slice(0, reach(k, e) if k else 0, e) for k, e in zip(lengths(w)[2:], gaps)]
    return T.set_subtensor(wide[(slice(None), slice(None), *taken)], w)


@formula
def inputs_as_forward(f: Any, w: Any, g: Any, ns: list) -> Any:
    """The images' gradient as a convolution of the cotangent, spread by the stride, with turned filters."""
    p, taps, image = f.params, lengths(w)[2:], integers(ns)
    pads, around = pads_of(f, image, taps), [reach(k, e) - 1 for k, e in zip(taps, p["dilation"])]
    wide = _with_gaps(g, p["stride"], [m + a + b - r for m, (a, b), r in zip(image, pads, around)])
    how = {**p, "stride": (1,) * len(taps), "border": tuple([(r, r) for r in around])}
    return inside(conv(wide, swapped_channels(turned(w), p["groups"]), **how), image, pads)


@formula
def weights_as_forward(f: Any, x: Any, g: Any, ks: list) -> Any:
    """The filters' gradient as a convolution of the images with the cotangent, batch and channels exchanged."""
    p, taps, image, n = f.params, integers(ks), lengths(x)[2:], g.ndim - 2
    batch, groups = length(x, 0), p["groups"]
    x = _split(x, 1, f).dimshuffle(2, 1, 0, *range(3, 3 + n))
    x = x.reshape([length(x, 0), product([groups, batch]), *image])
    how = {**p, "stride": p["dilation"], "dilation": p["stride"], "border": tuple(pads_of(f, image, taps))}
    out = conv(x, g.dimshuffle(1, 0, *range(2, 2 + n)), **how)
    out = out[(slice(None), slice(None), *[slice(0, k) for k in taps])]
    return out.dimshuffle(1, 0, *range(2, 2 + n))
