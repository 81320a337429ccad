"""Goals of the derivatives of lazy choice: what branches get, and what comes of their tangents."""

from __future__ import annotations

from termgraph.rules import goal
from termgraph.terms.build import filled_like
from termgraph.terms.ops.control import ifelse
from termgraph.terms.ops.derivative import NOTHING, tup
from termgraph.terms.term import mk


@goal("iiio")
def choice_of_tangents(c, xs, ts):
    """The choice between the tangents of the branches."""
    n = len(xs) // 2
    full = [filled_like(x, 0) if t is NOTHING and x.type.kind in "fc" else t for x, t in zip(xs, ts)]
    out = [NOTHING if a is NOTHING else mk(ifelse.bind(n=1), (c, a, b)) for a, b in zip(full[:n], full[n:])]
    return out[0] if n == 1 else mk(tup, tuple(out))
