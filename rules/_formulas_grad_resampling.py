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
