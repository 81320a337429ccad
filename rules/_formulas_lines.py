"""Convolutions of one line with one filter, at all places where they overlap, as formulas of the tensor language."""

from __future__ import annotations

from typing import Any

import termgraph.tensor as T
from termgraph.rules.formulas import formula
from termgraph.tensor.lengths import length
from termgraph.terms.dtypes import HALVES, promote
from termgraph.terms.op import CONST
from termgraph.terms.ops.convolution import convolve_lines, correlate_lines
from termgraph.terms.ops.shaping import specify_shape


def _of_lines(op: Any, x: Any, w: Any) -> Any:
    """A bilinear op of two vectors that knows real numbers of 32 bits and more, of others."""
    dtype = promote(x.type.np_dtype, w.type.np_dtype).name
    if dtype in HALVES:
        return T.cast(_of_lines(op, T.cast(x, "float32"), T.cast(w, "float32")), dtype)
    if "c" not in (x.type.kind, w.type.kind):
        return op(x, w)
    (a, b), (c, d) = [(T.real(v), T.imag(v)) for v in (x, w)]
    real = _of_lines(op, a, c) - _of_lines(op, b, d)
    return T.cast(T.complex(real, _of_lines(op, a, d) + _of_lines(op, b, c)), dtype)


def _as_image(line: Any, n: Any = None) -> Any:
    """A vector as an image, of the length that was asked for."""
    if n is not None:
        told = "a convolution gives a gradient of {1} elements for a vector of {0}"
        line = specify_shape(line, int(n.term.scalar) if n.term.op is CONST else n, known=(True,), told=told)
    return line.dimshuffle("x", "x", 0)


@formula
def lines_forward(x: Any, w: Any) -> Any:
    """The convolution of a line with a filter."""
    return _as_image(_of_lines(convolve_lines, x[0, 0], w[0, 0, ::-1]))


@formula
def lines_inputs(w: Any, g: Any, ns: list) -> Any:
    """The gradient of a line: the filter moved along the cotangent."""
    return _as_image(_of_lines(correlate_lines, g[0, 0], w[0, 0, ::-1]), ns[0])


@formula
def lines_weights(x: Any, g: Any, ks: list) -> Any:
    """The gradient of a filter: the line moved along the cotangent."""
    return _as_image(_of_lines(correlate_lines, g[0, 0], x[0, 0])[::-1], ks[0])


@formula
def as_rows(x: Any) -> Any:
    """The rows of all matrices of a batch, one below the other."""
    return x.reshape([length(x, 0) * length(x, 1), length(x, 2)])
