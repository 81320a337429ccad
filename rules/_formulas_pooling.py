"""Pooling as reductions of windows, and its gradients, as formulas of the tensor language."""

from __future__ import annotations

from typing import Any

import termgraph.tensor as T
from termgraph.rulelib._formulas_convolutions import most
from termgraph.rules import seg
from termgraph.rules.formulas import formula
from termgraph.tensor.lengths import length_operands, lengths
from termgraph.tensor.padding import pad as with_margins
from termgraph.terms.ops.convolution import windows
from termgraph.terms.ops.pooling import window_places
from termgraph.terms.ops.shapes import at_axis


def _read(wide: Any, p: Any) -> Any:
    """The windows of an array."""
    return windows(wide, *length_operands(list(p["size"])), stride=p["stride"], dilation=(1,) * len(p["size"]))


def _reduced(found: Any, p: Any) -> Any:
    axes = tuple(range(found.ndim - len(p["size"]), found.ndim))
    return T.max(found, axis=axes) if p["kind"] == "max" else T.sum(found, axis=axes, dtype=found.dtype)


def _count(m: Any, k: int, s: int, b: int, p: Any) -> Any:
    return window_places(m, k, s, b, p["ignore_border"], most, lambda a, b: a // b)


def _widths(spatial: list, p: Any) -> list[tuple]:
    """How much goes before and after each dimension, so that all windows are whole."""
    out = []
    for m, k, s, b in zip(spatial, p["size"], p["stride"], p["pad"]):
        count = _count(m, k, s, b, p)
        count = most(count, 1) if p["short"] else count
        out.append((b, most((count - 1) * s + k - b - m, 0)))
    return out


def _windows(x: Any, p: Any, outside: Any) -> Any:
    lead = x.ndim - len(p["size"])
    widths = [(0, 0)] * lead + _widths(lengths(x)[lead:], p)
    found = _read(with_margins(x, widths, constant_values=outside), p)
    return _as_many(found, lengths(x)[lead:], p) if p["short"] else found


def _as_many(found: Any, spatial: list, p: Any) -> Any:
    """Without the window that there is for an axis that is too short for one."""
    n = len(spatial)
    for d, (m, k, s, b) in enumerate(zip(spatial, p["size"], p["stride"], p["pad"])):
        if not isinstance(m, int) or m + 2 * b < k:
            count = most(_count(m, k, s, b, p), 0)
            found = found[at_axis(found.ndim - 2 * n + d, slice(None, count))]
    return found


def _over_taps(y: Any, p: Any) -> Any:
    return y.dimshuffle(*range(y.ndim), *["x"] * len(p["size"]))


@formula
def whole_windows(f: Any, x: Any) -> Any:
    """The pooling as a reduction of windows, where all are whole."""
    return _reduced(_read(x, f.params), f.params)


@formula
def of_the_largest(
    x: Any, y: Any, t: Any, size: tuple, stride: tuple, pad: tuple, ignore_border: bool, short: bool
) -> Any:
    """The sum of `t` over the elements of each window of `x` that are equal to its maximum in `y`."""
    p = {"size": size, "stride": stride, "pad": pad, "ignore_border": ignore_border, "short": short}
    hits = T.eq(_windows(x, p, 0), _over_taps(y, p))
    found = T.switch(hits, _windows(t, p, 0), 0)
    return T.sum(found, axis=tuple(range(found.ndim - len(size), found.ndim)), dtype=t.dtype)


@formula(gives=seg)
def pooled_lengths(x: Any, size: tuple) -> Any:
    """The lengths of the dimensions of x that are pooled."""
    return length_operands(lengths(x)[x.ndim - len(size) :])
