"""Formulas of the derivatives of filters between rates."""

from __future__ import annotations

import termgraph.tensor as T
from termgraph.rules.formulas import formula
from termgraph.tensor.lengths import length, lengths
from termgraph.terms.ops.resampling import upfirdn


@formula
def samples_slope(x, h, g, up, down):
    """The gradient of the samples: the filter turned, and the rates exchanged."""
    n, k = length(x, -1), length(h, -1)
    early = (1 - k) % up  # so that the first sample's place is a result
    zeros = [T.zeros((*lengths(h)[:-1], m), h.dtype) for m in (early, down)]
    turned = T.concatenate([zeros[0], T.flip(h, -1), zeros[1]], -1)
    first = (k - 1 + early) // up
    return upfirdn(g, turned, up=down, down=up)[..., first : first + n]


@formula
def filter_slope(x, h, g, up, down):
    """The gradient of the filter: each of its numbers meets every sample, `up` places apart."""
    spread = T.pad(T.expand_dims(g, -1), [(0, 0)] * g.ndim + [(0, down - 1)])
    spread = T.reshape(spread, (*lengths(g)[:-1], length(g, -1) * down))
    met = T.expand_dims(T.arange(length(h, -1)), 1) + up * T.arange(length(x, -1))
    return T.sum(spread[..., met] * T.expand_dims(x, -2), axis=-1)
