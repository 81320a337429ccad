"""Loops like one that was planned before: equal layers have the same loops over other buffers, and share one plan.

What tells loops apart is read off their statements, before they are planned. Knows statements and trees, no planner.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from termgraph._records import NamedTuple, replace
from termgraph.lower.loops.tree import Accumulate, Branch, Columns, Kernel, Let, Loop, Node, Reduce, Sweep, Write
from termgraph.lower.push.kernel import FOLD, IVAL, LOAD, Buf, Scalars, kids
from termgraph.lower.storage.policy import Store
from termgraph.terms.op import CONST
from termgraph.terms.term import AnyTerm

MANY_LOOPS = 12  # of a program: in shorter ones few are alike


class Like(NamedTuple):
    """What loops that are alike have in common, and what each has of its own: its terms and buffers, in their order."""

    key: tuple[Any, ...]
    terms: list[Any]
    bufs: list[Buf]


class Alike(NamedTuple):
    """Which loop another one is like, and the buffers of the other one in the order of their numbers."""

    first: Kernel
    bufs: list[Buf]


def alike(kernel: Kernel) -> Alike | None:
    """The first loop like this one; None: nothing is known, or it was changed since (`plan.changed`)."""
    found: Alike | None = kernel.__dict__.get("_alike")
    return found


def note_alike(kernel: Kernel, known: Alike | None) -> Kernel:
    """The kernel, of which it is known now which one it is like."""
    if known is not None:
        kernel.__dict__["_alike"] = known
    return kernel


class _Unlike(Exception):
    """A loop that uses what is computed elsewhere, or an index that is computed from values."""


class LikeBefore:
    """The loops that were planned, by what tells them apart."""

    def __init__(self, scalars: Scalars) -> None:
        self.scalars = scalars
        self.planned: dict[tuple[Any, ...], tuple[Kernel, Like]] = {}

    def read(self, folds: Sequence[Any], stores: Sequence[Store], outside: Collection[Any]) -> Like | None:
        """What tells the loop of these folds and statements from others; None if it needs terms from `outside`."""
        try:
            reader = _Reader(outside)
            for f in folds:
                reader.fold(f)
            for x in stores:
                reader.store(x)
        except _Unlike:
            return None
        reader.key.append(tuple(sorted(reader.folds, key=lambda n: self.scalars.fold_order[reader.terms[n]])))
        return Like(tuple(reader.key), reader.terms, list(reader.bufs))

    def keep(self, like: Like, kernel: Kernel) -> None:
        """A loop that was planned; it may be copied if it has no terms and buffers but those of its statements."""
        try:
            _Copy(like, like).nodes([kernel.node])
        except _Unlike:
            return
        self.planned[like.key] = kernel, like
        note_alike(kernel, Alike(kernel, like.bufs))

    def copied(self, like: Like) -> Kernel | None:
        """The tree of a loop that is like one planned before, or None."""
        found = self.planned.get(like.key)
        if found is None:
            return None
        kernel, first = found
        made = replace(kernel, node=_Copy(first, like).nodes([kernel.node])[0])
        return note_alike(made, Alike(kernel, like.bufs))


# ---------------------------------------------------------------------- reading statements
class _Reader:
    """Terms and buffers numbered in the order in which they are met, operands first."""

    def __init__(self, outside: Collection[Any]) -> None:
        self.outside = outside
        self.key: list[Any] = []
        self.terms: list[Any] = []
        self.numbers: dict[Any, int] = {}
        self.bufs: dict[Buf, int] = {}
        self.folds: list[int] = []

    def store(self, x: Store) -> None:
        """A statement; where it writes does not depend on values."""
        if x.offset.values:
            raise _Unlike
        value, buf = self.value(x.value), self.buf(x.buf)
        self.key.append((value, buf, x.offset, tuple(x.vars), x.mode, x.rank, x.ordered, x.apart, x.meets))

    def fold(self, f: AnyTerm) -> None:
        """A fold that has this loop."""
        self.value(f.args[0])
        if f not in self.numbers:
            self.number(f)
        self.key.append(self.numbers[f])

    def value(self, root: AnyTerm) -> int:
        """The number of a term, when all it is computed from have theirs."""
        numbers, stack = self.numbers, list[Any]((root,))
        while stack:
            t = stack.pop()
            if t is None:
                t = stack.pop()
                if t not in numbers:
                    self.number(t)
            elif t not in numbers:
                if t.args:
                    stack.append(t)
                    stack.append(None)
                    stack.extend(t.args)
                else:
                    self.number(t)
        return numbers[root]

    def number(self, t: AnyTerm) -> None:
        """The next number for a term: the key says how it is computed."""
        if t in self.outside:
            raise _Unlike
        op = t.op
        if op is CONST:
            self.key.append(t)
        elif op.family is LOAD:
            offset = op.params["offset"]
            if offset.values:
                raise _Unlike
            buf = self.buf(op.params["buf"])
            self.key.append((buf, offset))
        elif t.args:
            self.key.append((op, *[self.numbers[a] for a in t.args]))
            if op.family is FOLD:
                self.folds.append(len(self.terms))
        elif op.family is IVAL and not kids(t):
            self.key.append(op)
        else:
            raise _Unlike
        self.numbers[t] = len(self.terms)
        self.terms.append(t)

    def buf(self, b: Buf) -> int:
        """The number of a buffer; where it is met first the key says what planners ask of it."""
        number = self.bufs.get(b)
        if number is None:
            number = self.bufs[b] = len(self.bufs)
            self.key.append((b.dtype, b.kind in ("input", "const"), b.kind == "row", b.strides))
        return number


# ---------------------------------------------------------------------- copying trees
class _Copy:
    """A tree with other terms and buffers in the places of those it has."""

    def __init__(self, old: Like, new: Like) -> None:
        self.terms, self.bufs = dict(zip(old.terms, new.terms)), dict(zip(old.bufs, new.bufs))

    def nodes(self, nodes: Sequence[Node]) -> list[Any]:
        """Statements with those inside them: as deep as loops are nested."""
        return [COPIES.get(n.__class__, _refused)(self, n) for n in nodes]

    def term(self, t: AnyTerm) -> Any:
        found = self.terms.get(t)
        if found is None:
            raise _Unlike
        return found

    def buf(self, b: Buf) -> Buf:
        found = self.bufs.get(b)
        if found is None:
            raise _Unlike
        return found


def _refused(c: _Copy, n: Node) -> Node:
    raise _Unlike


def _let(c: _Copy, n: Let) -> Let:
    if n.stored is not None:
        raise _Unlike
    return Let(c.term(n.term))


def _write(c: _Copy, n: Write) -> Write:
    return Write(c.buf(n.buf), n.offset, c.term(n.value), n.mode)


def _reduce(c: _Copy, n: Reduce) -> Reduce:
    return Reduce(n.var, [c.term(f) for f in n.folds], c.nodes(n.body), n.lanes)


def _sweep(c: _Copy, n: Sweep) -> Sweep:
    return Sweep(n.var, [c.term(f) for f in n.folds], c.nodes(n.outer), c.nodes(n.body))


COPIES: dict[type, Any] = {
    Let: _let,
    Write: _write,
    Accumulate: lambda c, n: Accumulate(c.term(n.fold)),
    Loop: lambda c, n: Loop(n.var, c.nodes(n.body), n.simd, n.serial),
    Reduce: _reduce,
    Sweep: _sweep,
    Columns: lambda c, n: Columns(n.var, n.width, c.nodes(n.body)),
    Branch: lambda c, n: Branch(c.term(n.term), c.nodes(n.then), c.nodes(n.orelse)),
}
