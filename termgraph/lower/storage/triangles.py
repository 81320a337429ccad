"""Packed triangles of matrices: a loop over rows, and one over what a row has of the triangle.

So no place is found from its number by a root, and nothing on the other side of the diagonal is read.
"""

from __future__ import annotations

import numpy as np

from termgraph.lower.lengths.index import Poly, divide, nest, poly
from termgraph.lower.lengths.shapes import SHAPES, Lengths, Shape
from termgraph.lower.push.driver import Index, Push, Steps, pushes
from termgraph.lower.push.kernel import FALSE, TRUE, Buf
from termgraph.lower.storage.policy import Storage, Store, cut_rule
from termgraph.terms.ops.triangles import NOT_ALL, NOT_SQUARE
from termgraph.terms.term import AnyTerm, Const


def _before(t: AnyTerm, n: Poly, row: Poly) -> Poly:
    """How many elements of the triangle are in the rows above one."""
    half, strict = divide(row * row + row, 2)[0], int(t.op.params["strict"])
    return half - row * strict if t.op.params["lower"] else row * (n + 1 - strict) - half


def _first(t: AnyTerm, row: Poly) -> Poly:
    """The first column of a row that is in the triangle."""
    return poly(0) if t.op.params["lower"] else row + int(t.op.params["strict"])


def _size(t: AnyTerm, n: Poly) -> Poly:
    return divide(n * n + n, 2)[0] - n * int(t.op.params["strict"])


def _packed_shape(s: Lengths, t: AnyTerm) -> Shape:
    *batch, n, m = s[t.args[0]]
    return (*batch, _size(t, s.equal(t, n, m, NOT_SQUARE)))


def _unpacked_shape(s: Lengths, t: AnyTerm) -> Shape:
    *batch, size = s[t.args[0]]
    n = s.as_length(t.args[1], t)
    if size is not _size(t, n):
        s.require(t, "eq", size, _size(t, n), NOT_ALL)
    return (*batch, n, n)


SHAPES.update(pack_triangle=_packed_shape, unpack_triangle=_unpacked_shape)


@cut_rule("pack_triangle")
def _pack(s: Storage, t: AnyTerm, buf: Buf) -> None:
    (x,) = t.args
    *batch, n, _ = s.lengths[x]
    index, vars = nest((*batch, n))
    *outer, row = index
    columns = row + 1 - int(t.op.params["strict"]) if t.op.params["lower"] else n - _first(t, row)
    (column,), lanes = nest((columns,), len(vars))
    offset = buf.offset((*outer, _before(t, n, row) + column))
    value = s.push.at(x, (*outer, row, _first(t, row) + column))
    s.add(Store(buf, offset, value, [*vars, *lanes]))


@pushes("unpack_triangle")
def _unpack(p: Push, t: AnyTerm, i: Index) -> Steps:
    *outer, row, column = i
    n = p.lengths[t][-1]
    first = _first(t, row)
    if t.op.params["lower"]:
        here = p.scalars.test("le", column, row - int(t.op.params["strict"]))
    else:
        here = p.scalars.test("le", first, column)
    zero = Const(np.zeros((), t.type.dtype))
    if here is FALSE:
        return zero
    element = yield t.args[0], (*outer, _before(t, n, row) + column - first)
    return element if here is TRUE else p.scalars.pick(here, element, zero)
