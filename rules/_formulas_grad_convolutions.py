"""Formulas of the derivatives of windows: laid back where they were read.
"""

from __future__ import annotations

from termgraph.rulelib._formulas_convolutions import integers, overlapped
from termgraph.rules.formulas import formula
from termgraph.tensor.lengths import lengths


@formula
def laid_back(x, g, ks, stride, dilation):
    """The cotangent of windows, added up where they were read."""
    return overlapped(g, lengths(x), integers(ks), {"stride": stride, "dilation": dilation})
