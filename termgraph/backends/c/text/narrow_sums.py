"""Sums of narrow numbers in wide ones, as counts of what is true: those of a block of steps are added up in fewer bits.

Vectors hold more of these, and what is added need not be widened. Text of C printers; may import lowering.
"""

from __future__ import annotations

from typing import Any

from termgraph.backends.c.text.vector_bodies import width_of
from termgraph.backends.cstyle import BLOCK
from termgraph.lower.loops.tree import Accumulate, Let, Reduce
from termgraph.lower.push.kernel import INDEX
from termgraph.terms.ops.elementwise import cast
from termgraph.terms.term import AnyTerm

TRUTH = "? (double)1 : (double)0);"
FEW = 32  # steps, of which the vectors of wide numbers are no more
WIDE = ("int64", "uint64", "float64")  # in which counts are exact
COUNTS = {1: "uint16_t", 2: "uint16_t", 4: "int32_t"}  # by the bytes of what is compared


def types(n: Reduce) -> dict[Any, str]:
    """In which type the sums of a block of steps are made; none if this is not so of all folds of a loop.

    Of counts it does not matter that they are floats: they are whole numbers, which every order of adding gives.
    """
    known = n.var.extent.const
    flat = all(isinstance(x, (Let, Accumulate)) for x in n.body) and not any(
        isinstance(x, Let) and x.term.op.family is INDEX for x in n.body
    )
    found = {f: _type(f) for f in n.folds}
    return {} if None in found.values() or not flat or (known is not None and known < FEW) else found  # type: ignore


def _type(f: AnyTerm) -> str | None:
    """A type that holds the sum of a block of these numbers."""
    element = f.args[0]
    if f.op.params["kind"] != "sum" or f.type.dtype not in WIDE or element.op.family is not cast:
        return None
    narrow = element.args[0]
    if narrow.type.dtype == "bool":
        return COUNTS.get(width_of(narrow))
    if f.type.dtype == "float64":
        return None  # whose sums have an order
    return "int32_t" if narrow.type.kind in "iu" and narrow.type.np_dtype.itemsize <= 2 else None


def write(p: Any, n: Reduce, sums: dict[Any, str], begin: str, end: str, between: str) -> None:
    """The loop of a fold: the sums of each block are added to those of all."""
    wide = {f: p.text["acc", f] for f in n.folds}
    with p.block_of_steps(begin, end, between, BLOCK) as (base, stop):
        for f, ctype in sums.items():
            p.text["acc", f] = p.names.new("a")
            p.add(f"{ctype} {p.text['acc', f]} = 0;")
        at = len(p.lines)
        with p.block(p.for_head(n.var, base, stop)):
            p.body(n.body)
        counts = tuple(f"{p.text['acc', f]} += " for f in sums)
        for k in range(at, len(p.lines)):  # of truths only, not of what these are computed from, which may be divided
            line = p.lines[k]
            if line.lstrip().startswith(counts) and line.endswith(TRUTH):
                p.lines[k] = line.removesuffix(TRUTH) + "? 1 : 0);"
        for f, acc in wide.items():
            p.add(f"{acc} += {p.text['acc', f]};")
            p.text["acc", f] = acc
