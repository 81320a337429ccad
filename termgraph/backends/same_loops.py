"""What tells one kernel from another: its loop tree with buffers and values numbered in the order they are met.

Kernels of one shape are printed alike but for the names of buffers, so a shape is printed once. May import lowering.
"""

from __future__ import annotations

from collections.abc import Collection, Container
from typing import Any

from termgraph._records import NamedTuple
from termgraph.lower.lengths.index import Poly
from termgraph.lower.loops.like_before import alike
from termgraph.lower.loops.tree import Accumulate, Branch, Columns, Kernel, Let, Loop, Node, Reduce, Row, Sweep, Write
from termgraph.lower.push.kernel import FOLD, INDEX, ITEST, IVAL, LOAD, PICK, Buf
from termgraph.terms.op import CONST
from termgraph.terms.term import AnyTerm


class Shape(NamedTuple):
    """A kernel without the names of its buffers, and these in the order of their numbers."""

    key: tuple[Any, ...]
    bufs: list[Buf]


class _Own(Exception):
    """A kernel whose text holds more than buffers and values of its own."""


def shape_of(n: Kernel, aliased: Collection[Buf], outside: Container[Any]) -> Shape | None:
    """The shape of a kernel; None if it uses values from `outside`, or what belongs to one place of the program."""
    try:
        reader = _Reader(aliased, outside)
        reader.nodes([n.node])
    except _Own:
        return None
    return Shape((n.final, n.piecewise, *reader.key), list(reader.bufs))


class Shapes:
    """Shapes of kernels: of several that are copies of one loop the first is looked at."""

    def __init__(self) -> None:
        self.known: dict[tuple[Any, ...], tuple[Any, list[int]] | None] = {}

    def of(self, n: Kernel, aliased: Collection[Buf], outside: Container[Any]) -> Shape | None:
        """The shape of a kernel, or None, as by `shape_of`."""
        like = alike(n)
        if like is None:
            return shape_of(n, aliased, outside)
        which = like.first, n.final, n.piecewise, *[b in aliased for b in like.bufs if aliased]
        if which not in self.known:
            found = shape_of(n, aliased, outside)
            self.known[which] = None if found is None else (found.key, [like.bufs.index(b) for b in found.bufs])
            return found
        before = self.known[which]
        return None if before is None else Shape(before[0], [like.bufs[k] for k in before[1]])


class _Reader:
    def __init__(self, aliased: Collection[Buf], outside: Container[Any]) -> None:
        self.aliased, self.outside = aliased, outside
        self.key: list[Any] = []
        self.bufs: dict[Buf, int] = {}
        self.numbers: dict[Any, int] = {}  # of values and folds

    def nodes(self, nodes: list[Any]) -> None:
        """Statements in order, each with those inside it: as deep as loops are nested."""
        self.key.append(len(nodes))
        for n in nodes:
            self.key.append((n.__class__, *READ.get(n.__class__, _refused)(self, n)))
            if isinstance(n, NESTED):
                for inner in n.children():
                    self.nodes(inner)
            if n.__class__ is Branch:
                self.key.append(tuple([self.ref(a) for a in n.term.args[1:]]))

    def buf(self, b: Buf) -> int:
        """The number of a buffer; where it is met first the key says of which kind it is."""
        number = self.bufs.get(b)
        if number is None:
            number = self.bufs[b] = len(self.bufs)
            self.key.append((b.dtype, b.kind in ("tile", "row"), b in self.aliased))
        return number

    def new(self, t: AnyTerm) -> int:
        """The number of a value that is computed here."""
        if t in self.outside:
            raise _Own
        return self.numbers.setdefault(t, len(self.numbers))

    def ref(self, t: AnyTerm) -> Any:
        """A value that is used: its number, or the constant."""
        if t.op is CONST:
            return t
        number = self.numbers.get(t)
        if number is None:
            raise _Own
        return number

    def value(self, t: AnyTerm) -> tuple[Any, ...]:
        """How a value is computed."""
        family, p = t.op.family, t.op.params
        if family is LOAD:
            return self.buf(p["buf"]), _plain(p["offset"])
        if family is IVAL:
            return IVAL, _plain(p["index"])
        if family is ITEST:
            return ITEST, p["test"], _plain(p["a"]), _plain(p["b"])
        if family in (INDEX, FOLD, PICK):
            raise _Own
        return t.op, *[self.ref(a) for a in t.args]

    def fold(self, f: AnyTerm) -> tuple[Any, ...]:
        """A fold, whose body comes later."""
        return self.new(f), f.op.params["kind"], f.op.params["var"], f.type, f.args[0].type


def _plain(p: Poly) -> Poly:
    """An index, which must not be computed from values."""
    if p.values:
        raise _Own
    return p


def _refused(r: _Reader, n: Node) -> tuple[Any, ...]:
    raise _Own


def _let(r: _Reader, n: Let) -> tuple[Any, ...]:
    if n.stored is not None:
        return "stored", r.buf(n.stored[0]), _plain(n.stored[1]), n.term.type, r.new(n.term)
    return *r.value(n.term), r.new(n.term)


def _write(r: _Reader, n: Write) -> tuple[Any, ...]:
    return r.buf(n.buf), _plain(n.offset), r.ref(n.value), n.mode


def _sweep(r: _Reader, n: Sweep) -> tuple[Any, ...]:
    return n.var, *map(r.fold, n.folds)


def _reduce(r: _Reader, n: Reduce) -> tuple[Any, ...]:
    return n.var, n.lanes, *map(r.fold, n.folds)


READ: dict[type, Any] = {
    Let: _let,
    Write: _write,
    Accumulate: lambda r, n: (r.ref(n.fold), r.ref(n.fold.args[0])),
    Loop: lambda r, n: (n.var, n.simd, n.serial),
    Reduce: _reduce,
    Sweep: _sweep,
    Columns: lambda r, n: (n.var, n.width),
    Branch: lambda r, n: (r.ref(n.term.args[0]), n.term.type, r.new(n.term)),
    Row: lambda r, n: (r.buf(n.buf), _plain(n.length)),
}
NESTED = (Loop, Reduce, Sweep, Columns, Branch)
