"""Goals about convolutions: their parameters taken apart, and the ways to compute them with products of matrices.

All take a placeholder whose filters are not turned (`flip=False`).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import termgraph.tensor as T
from termgraph.rules import goal
from termgraph.tensor.lengths import length, length_operands, lengths, product
from termgraph.tensor.lifting import handle
from termgraph.tensor.padding import pad
from termgraph.terms.build import lengths as length_terms
from termgraph.terms.op import CONST
from termgraph.terms.ops.conv_prices import fits_winograd, prices
from termgraph.terms.ops.convolution import (
    conv,
    conv_panels,
    conv_spread,
    conv_taps,
    conv_winograd,
    padding,
    reach,
    windows,
)
from termgraph.terms.ops.shaping import specify_shape
from termgraph.terms.term import mk, mk2


@goal("io")
def taps_of(w: Any) -> Any:
    """The spatial lengths of filters (or of images), as a segment."""
    return tuple(length_terms(w)[2:])


# ---------------------------------------------------------------------- filters that are turned
def turned(w: Any) -> Any:
    """Filters with all their spatial dimensions reversed."""
    return w[(slice(None), slice(None), *[slice(None, None, -1)] * (w.ndim - 2))]


# ---------------------------------------------------------------------- small things
ROUTINES = ("panels", "winograd")  # ways that are routines of compiled code
PLAIN = ("plain", "host")  # there is none


def by(way: str, f: Any) -> Any:
    """The parameters of a placeholder that may be computed this way; None otherwise.

    Where there are no routines for convolutions, the algorithm of those that do not name one is "plain" or, on the
    host, "host". What Winograd's algorithm does not know, as the gradient of filters, is computed by panels.
    """
    named = f.params["algo"]
    fits = named in (None, way) or (named, way) == ("winograd", "panels") or (named in PLAIN and way not in ROUTINES)
    return f.params if fits and not f.params["flip"] else None


def computed_by(way: str, mode: str) -> Callable[[Callable[..., Any]], Any]:
    """A goal that computes a placeholder one way by a formula, written as a function of the parameters, of operands as
    users write them, and of lengths. It has no answer where the placeholder is not to be computed this way.
    """

    def declare(formula: Callable[..., Any]) -> Any:
        @functools.wraps(formula)
        def run(f: Any, *operands: Any) -> Any:
            p = by(way, f)
            if p is None:
                return None
            found = formula(p, *[integers(a) if isinstance(a, tuple) else handle(a) for a in operands])
            return None if found is None else found.term

        return goal(mode)(run)

    return declare


def integers(ns: tuple) -> list:
    """Length operands as integers where they are known."""
    return [int(n.scalar) if n.op is CONST else handle(n) for n in ns]


def pads_of(p: dict, image: list, taps: list) -> list[tuple]:
    """How many zeros go before and after each spatial dimension."""
    geometry = enumerate(zip(image, taps, p["stride"], p["dilation"]))
    return [padding(p["border"], d, *g, most=most) for d, g in geometry]


def most(a: Any, b: Any) -> Any:
    """The larger one of two lengths."""
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else T.maximum(a, b)


def padded(x: Any, pads: list) -> Any:
    """Zeros around the spatial dimensions."""
    return pad(x, [(0, 0), (0, 0), *pads])


def inside(x: Any, image: list, pads: list) -> Any:
    """The image without what lies around it."""
    return x[(..., *[slice(a, a + m) for m, (a, _) in zip(image, pads)])]


def windows_of(x: Any, taps: list, p: dict) -> Any:
    """(batch, channels, *places, *taps) of a padded image."""
    return windows(x, *length_operands(taps), stride=p["stride"], dilation=p["dilation"])


def _columns(x: Any, taps: list, p: dict) -> tuple[Any, list]:
    """The windows as matrices, one column a place: (batch, [groups,] channels * taps, places); and the places."""
    n = x.ndim - 2
    found = windows_of(padded(x, pads_of(p, lengths(x)[2:], taps)), taps, p)
    places = lengths(found)[2 : 2 + n]
    found = found.dimshuffle(0, 1, *range(2 + n, 2 + 2 * n), *range(2, 2 + n))
    channels = length(x, 1)
    rows = [product([channels, *taps])]
    if p["groups"] > 1:
        rows = [p["groups"], product([part(channels, p["groups"]), *taps])]
    return found.reshape([length(x, 0), *rows, product(places)]), places


def part(n: Any, groups: int) -> Any:
    """How many channels (or filters) a group has."""
    return n // groups


def _by_group(w: Any, p: dict) -> Any:
    """Filters as one matrix per group: ([groups,] filters, channels * taps)."""
    filters, *rest = lengths(w)
    rows = [filters] if p["groups"] == 1 else [p["groups"], part(filters, p["groups"])]
    return w.reshape([*rows, product(rest)])


def _maps(g: Any, p: dict) -> Any:
    """An array like the result as matrices: (batch, [groups,] filters, places)."""
    batch, filters, *places = lengths(g)
    rows = [filters] if p["groups"] == 1 else [p["groups"], part(filters, p["groups"])]
    return g.reshape([batch, *rows, product(places)])


# ---------------------------------------------------------------------- routines of compiled code
def _with_numbers(p: Any, image: list, taps: list) -> dict | None:
    """The parameters with the padding as numbers; None where it follows from lengths that are not known."""
    lengths_ = zip(image, taps, p["stride"], p["dilation"])
    border = p["border"]
    needed = {"same": image + taps, "half": taps, "full": taps}.get(border, []) if isinstance(border, str) else []
    if len(taps) > 3 or not all(isinstance(n, int) for n in needed):
        return None
    pads = tuple([padding(p["border"], d, *g, most=most) for d, g in enumerate(lengths_)])
    return {**p, "border": pads, "algo": None}


def _of_reals(*xs: Any) -> bool:
    return all(x.type.kind in "fiu" for x in xs)


@goal("iiio")
def panels_forward(f: Any, x: Any, w: Any) -> Any:
    """The convolution by the routine that packs panels."""
    p = by("panels", f)
    if p is None or not _of_reals(x, w):
        return None
    how = _with_numbers(p, lengths(handle(x))[2:], lengths(handle(w))[2:])
    return None if how is None else mk(conv_panels.bind(**how), (x, w))


@goal("iiio")
def winograd_forward(f: Any, x: Any, w: Any) -> Any:
    """The convolution by Winograd's algorithm, for filters of 3x3 and 5x5, where expected to be faster or asked for."""
    p = by("winograd", f)
    if p is None or not fits_winograd(f.params, x, w):
        return None
    price = prices(f.params, x.type.shape, w.type.shape, mk2(f, x, w).type.shape)
    if p["algo"] is None and min(price, key=price.__getitem__, default=None) != "winograd":
        return None
    how = _with_numbers(p, lengths(handle(x))[2:], list(w.type.shape[2:]))
    return None if how is None else mk(conv_winograd.bind(**how), (x, w))


@goal("iiiio")
def panels_weights(f: Any, x: Any, g: Any, ks: tuple) -> Any:
    """The filters' gradient by the routine that goes from tap to tap."""
    p = by("panels", f)
    how = _with_numbers(p, lengths(handle(x))[2:], integers(ks)) if p is not None and _of_reals(x, g) else None
    return None if how is None else mk(conv_taps.bind(**how), (x, g, *ks))


@goal("iiiio")
def panels_inputs(f: Any, w: Any, g: Any, ns: tuple) -> Any:
    """The images' gradient: a convolution with turned filters, or, where filters move by more than one, several."""
    p = by("panels", f)
    w, g, image = handle(w), handle(g), integers(ns)
    taps, places = lengths(w)[2:], lengths(g)[2:]
    how = _with_numbers(p, image, taps) if p is not None and _of_reals(w, g) else None
    if how is None or any(e != 1 and s != 1 for e, s in zip(p["dilation"], p["stride"])):
        return None
    if any(s != 1 for s in p["stride"]):
        return mk(conv_spread.bind(**how), (w.term, g.term, *ns))
    if not all(isinstance(k, int) for k in taps):
        return None
    borders = [_turned_border(*one) for one in zip(image, taps, places, p["dilation"], how["border"])]
    if any(min(pair) < 0 for pair in borders):
        g = g[(slice(None), slice(None), *[slice(max(-a, 0), min(b, 0) or None) for a, b in borders])]
    border = tuple([(max(a, 0), max(b, 0)) for a, b in borders])
    return conv(g, swapped_channels(turned(w), p["groups"]), **{**p, "border": border}).term


def _turned_border(m: Any, k: int, places: Any, e: int, pad: tuple) -> tuple[int, int]:
    """The zeros around a cotangent along one dimension, of which the convolution with turned filters has m places."""
    around = reach(k, e) - 1
    known = isinstance(m, int) and isinstance(places, int)
    return around - pad[0], m + pad[0] - places if known else around - pad[1]


# ---------------------------------------------------------------------- products of matrices
def fitting(w: Any, channels: Any, groups: int) -> Any:
    """Filters that read so many channels, which is checked where it is not known."""
    each = length(w, 1)
    if isinstance(channels, int) and isinstance(each, int):
        return w
    per = f" in each of {groups} groups" if groups > 1 else ""
    told = f"the filters read {{0}} channels{per}, the image has {{1}}{per}"
    flags = (False, True, *[False] * (w.ndim - 2))
    return specify_shape(w, *length_operands([part(channels, groups)]), known=flags, told=told)


@computed_by("gemm", "iiio")
def product_forward(p: Any, x: Any, w: Any) -> Any:
    """The convolution as a product of the filters with the windows as columns."""
    w = fitting(w, length(x, 1), p["groups"])
    columns, places = _columns(x, lengths(w)[2:], p)
    return T.matmul(_by_group(w, p), columns).reshape([length(x, 0), length(w, 0), *places])


@computed_by("gemm", "iiiio")
def product_weights(p: Any, x: Any, g: Any, taps: list) -> Any:
    """The filters' gradient as a product of the cotangent with the windows, added up over the batch."""
    columns, _ = _columns(x, taps, p)
    parts = T.matmul(_maps(g, p), T.matrix_transpose(columns)).sum(axis=0, dtype=columns.dtype)
    return parts.reshape([length(g, 1), part(length(x, 1), p["groups"]), *taps])


@computed_by("gemm", "iiiio")
def product_inputs(p: Any, w: Any, g: Any, image: list) -> Any:
    """The images' gradient: the share of each tap by a product, added up where its windows lie."""
    taps, places, n = lengths(w)[2:], lengths(g)[2:], g.ndim - 2
    shares = T.matmul(T.matrix_transpose(_by_group(w, p)), _maps(g, p))
    lead = images_of(w, g, p)
    shares = shares.reshape([*lead, *taps, *places])
    shares = shares.dimshuffle(0, 1, *range(2 + n, 2 + 2 * n), *range(2, 2 + n))
    return laid_back(shares, lead, image, taps, pads_of(p, image, taps), p)


def images_of(w: Any, g: Any, p: Any) -> list:
    """How many images there are, and how many channels they have that filters read."""
    return [length(g, 0), product([length(w, 1), p["groups"]])]


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


# ---------------------------------------------------------------------- one placeholder as another
@computed_by("gemm", "iiio")
def spread_forward(p: Any, w: Any, g: Any) -> Any:
    """The images' gradient of a convolution with stride 1 as a convolution with turned filters, its channels swapped.

    The zeros around are what of each window lies beyond the padding; no answer where the padding is wider.
    """
    taps = lengths(w)[2:]
    if any(s != 1 for s in p["stride"]) or p["border"] == "same" or not all(isinstance(k, int) for k in taps):
        return None
    around = [reach(k, e) - 1 for k, e in zip(taps, p["dilation"])]
    pads = [(m - a, m - b) for m, (a, b) in zip(around, pads_of(p, [None] * len(taps), taps))]
    if min(min(pair) for pair in pads) < 0:
        return None
    return conv(g, swapped_channels(turned(w), p["groups"]), **{**p, "border": tuple(pads)})


def swapped_channels(w: Any, groups: int) -> Any:
    """Filters with filters and channels exchanged inside each group."""
    filters, channels, *taps = lengths(w)
    rest = range(2, w.ndim)
    if groups == 1:
        return w.dimshuffle(1, 0, *rest)
    apart = w.reshape([groups, part(filters, groups), channels, *taps])
    apart = apart.dimshuffle(0, 2, 1, *[d + 1 for d in rest])
    return apart.reshape([product([groups, channels]), part(filters, groups), *taps])
