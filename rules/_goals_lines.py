"""Goals about convolutions of one line with one filter, at all places where they overlap.

Windows of two long vectors would be more memory than there is: these are routines that know vectors only.
"""

from __future__ import annotations

from typing import Any

import termgraph.tensor as T
from termgraph.rulelib._goals_convolutions import by
from termgraph.rules import goal
from termgraph.tensor.lifting import handle
from termgraph.terms.dtypes import HALVES, promote
from termgraph.terms.op import CONST
from termgraph.terms.ops.convolution import convolve_lines, correlate_lines
from termgraph.terms.ops.shaping import specify_shape
from termgraph.terms.term import mk, mk2

FEW = 16  # taps, if so many are known, whose gradient has a routine of its own


def _is_line(f: Any, *operands: Any) -> bool:
    """Whether a placeholder is about one line and one filter at all places, and may be computed here."""
    p, named = f.params, f.params["algo"]
    fits = named == "host" or by("panels", f) is not None
    whole = p["border"] == "full" and p["stride"] == p["dilation"] == (1,) and not p["flip"]
    return fits and whole and all(a.type.shape[:2] == (1, 1) and a.type.kind in "fiuc" for a in operands)


def _of_lines(op: Any, x: Any, w: Any) -> Any:
    """A bilinear op of two vectors that knows real numbers of 32 bits and more, of others."""
    dtype = promote(x.type.np_dtype, w.type.np_dtype).name
    if dtype in HALVES:
        return T.cast(_of_lines(op, T.cast(x, "float32"), T.cast(w, "float32")), dtype)
    if "c" not in (x.type.kind, w.type.kind):
        return handle(mk2(op, x.term, w.term))
    (a, b), (c, d) = [(T.real(v), T.imag(v)) for v in (x, w)]
    real = _of_lines(op, a, c) - _of_lines(op, b, d)
    return T.cast(T.complex(real, _of_lines(op, a, d) + _of_lines(op, b, c)), dtype)


def _as_image(line: Any, n: Any = None) -> Any:
    """A vector as an image, of the length that was asked for."""
    if n is not None:
        told = "a convolution gives a gradient of {1} elements for a vector of {0}"
        line = specify_shape(line, int(n.scalar) if n.op is CONST else handle(n), known=(True,), told=told)
    return line.dimshuffle("x", "x", 0).term


@goal("iiio")
def lines_forward(f: Any, x: Any, w: Any) -> Any:
    """The convolution of a line with a filter."""
    if not _is_line(f, x, w):
        return None
    return _as_image(_of_lines(convolve_lines, handle(x)[0, 0], handle(w)[0, 0, ::-1]))


@goal("iiiio")
def lines_inputs(f: Any, w: Any, g: Any, ns: tuple) -> Any:
    """The gradient of a line: the filter moved along the cotangent."""
    if not _is_line(f, w, g):
        return None
    return _as_image(_of_lines(correlate_lines, handle(g)[0, 0], handle(w)[0, 0, ::-1]), ns[0])


@goal("iiiio")
def lines_weights(f: Any, x: Any, g: Any, ks: tuple) -> Any:
    """The gradient of a filter: the line moved along the cotangent."""
    known = mk(f, (x, g, *ks)).type.shape[2]
    if not _is_line(f, x, g) or (known is not None and known <= FEW and f.params["algo"] != "host"):
        return None
    return _as_image(_of_lines(correlate_lines, handle(g)[0, 0], handle(x)[0, 0])[::-1], ks[0])
