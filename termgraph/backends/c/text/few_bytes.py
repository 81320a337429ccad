"""Loops over rows of no more than sixteen bytes, side by side in memory: written out, so gcc takes vectors of rows.

The loop inside one row has at most half of a vector, and what a row says once (a byte, of which eight bits are made)
goes through a register of its own to get there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from termgraph.lower.lengths.index import poly, substitute
from termgraph.lower.loops.tree import Let, Loop, Node, Write
from termgraph.lower.push.kernel import HEAVY, IVAL, LOAD, own_cost

if TYPE_CHECKING:
    from termgraph.lower.lengths.index import Var

BYTES = 16
SIZES = {
    "bool": 1,
    "int8": 1,
    "uint8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "float32": 4,
    "float64": 8,
    "int64": 8,
}
COUNTS = (2, 3, 4, 8, 16)  # of which gcc puts elements of several rows side by side


def row(n: Loop) -> Loop | None:
    """The loop inside of each row, if rows are so short and all that happens in them is cheap arithmetic."""
    before, inner = n.body[:-1], n.body[-1] if n.body else None
    if not isinstance(inner, Loop) or not inner.simd or n.serial or inner.var.extent.const not in COUNTS:
        return None
    cheap = all(isinstance(x, Let) and _is_cheap(x) for x in before)
    if not cheap or not all(_is_in_place(x, n.var, inner.var) for x in inner.body):
        return None
    # Floats that are chosen by comparing whole numbers with a place, then a number, gcc makes one by one.
    places = any(isinstance(x, Let) and x.term.op.family is IVAL for x in inner.body)
    floats = any(isinstance(x, Write) and x.buf.dtype[0] == "f" for x in inner.body)
    return None if places and floats else inner


def write(p: Any, inner: Loop) -> None:
    """Each element of a row by itself; `p` is the printer."""
    for k in range(inner.var.extent.const or 0):
        with p.block(""):
            p.add(f"const int64_t i{inner.var.level} = {k};")
            p.body(inner.body)


def _is_cheap(x: Let) -> bool:
    t = x.term
    return x.stored is not None or t.op.family in (LOAD, IVAL) or (t.op.kind == "elementwise" and own_cost(t) < HEAVY)


def _is_in_place(x: Node, outer: Var, inner: Var) -> bool:
    """Whether a statement of a row is cheap, and stores elements that follow each other from row to row."""
    if isinstance(x, Let):
        return _is_cheap(x)
    if not isinstance(x, Write) or x.mode != "set":
        return False
    count = inner.extent.const or 0
    steps = [substitute(x.offset, {v: poly(v) + 1}) - x.offset for v in (outer, inner)]
    return SIZES.get(x.buf.dtype, BYTES) * count <= BYTES and steps == [poly(count), poly(1)]
