"""Signatures: what can be told of a term from its head and from the heads and types of its operands.

Terms with the same signature have the same type, and the rewriter decides once for all of them which rules may match.
Of integers it also tells whether more can be known of their range than the dtype says: few have one, and no other is
asked about it. An op keeps its signatures in tables, so a signature names no op and keeps none alive.
"""

from __future__ import annotations

from functools import reduce
from operator import and_, or_
from typing import Any

from termgraph.terms.interned import Interned
from termgraph.terms.types import TensorType, Type

# What may be known of the range of integers: its least number, its greatest, and that `T.assume` says something of it.
NOTHING, LEAST, GREATEST, STATED = 0, 1, 2, 4
TOLD = LEAST | GREATEST

_MOST = 20_000  # of one op; then its table starts again, since the operators that it was made for may be gone


class Kind:
    """One head with one type: what the signature of a term tells of an operand, its range included (`known`)."""

    __slots__ = ("known",)

    def __init__(self, known: int) -> None:
        self.known = known


class Signature:
    """The type of a term, the kind it is of as an operand, and what rules have found out about all terms like it.

    `verdict` is that of the rule sets that looked at it last, who are told by `judge`.
    """

    __slots__ = ("judge", "kind", "no_integers", "provable", "type", "verdict")
    judge: Any
    kind: Kind
    no_integers: bool | None  # whether neither such a term of up to two operands nor one of these computes integers
    provable: Any
    type: Any
    verdict: Any

    def __init__(self, kind: Kind, type_: Type) -> None:
        self.kind, self.type = kind, type_
        self.judge = self.verdict = self.provable = self.no_integers = None


class Signatures(Interned):
    """The terms of one op and their signatures.

    `table` has the kind of the operand as key, or two kinds; None: the same once more. Ops without operands whose terms
    no rule tells apart have them in common: those of one of them are `shared`.
    """

    __slots__ = ("kinds", "table")

    def __init__(self, shared: Signatures | None = None) -> None:
        super().__init__()
        self.table: dict[Any, Signature] = {} if shared is None else shared.table
        self.kinds: dict[Any, Kind] = {} if shared is None else shared.kinds

    def find(self, op: Any, type_: Type, args: tuple[Any, ...] = ()) -> Signature:
        """The signature of the op on these operands, whose result has this type."""
        key = _key(args)
        if op.by_value or key is None:
            key = (type_, key, known_range(op, type_, args))
        found = self.table.get(key)
        if found is None:
            if len(self.table) >= _MOST:
                self.table.clear()
            known = known_range(op, type_, args)
            kind = self.kinds.get((type_, known))
            if kind is None:
                kind = self.kinds.setdefault((type_, known), Kind(known))
            found = self.table[key] = Signature(kind, type_)
        return found


def known_range(op: Any, type_: Type, args: tuple[Any, ...]) -> int:
    """Whether a range may be known of the op on these operands, by `op.range_from`: an upper bound of what is."""
    if not op.range_from or type_.__class__ is not TensorType or type_.kind not in "iub":
        return NOTHING
    if op.range_from == "user":
        return STATED | TOLD
    known = [_known_of(a, type_.dtype) for a in args]
    some = reduce(or_, known, NOTHING)
    if op.range_from in _EXTREMES and not some & STATED:
        every = reduce(and_, known, TOLD)
        return some & LEAST | every & GREATEST if op.range_from == "largest" else some & GREATEST | every & LEAST
    if op.range_from == "itself":
        return some | TOLD
    silent = op.range_from == "every" and not some & STATED and NOTHING in known
    return NOTHING if silent or not some else some | TOLD


_EXTREMES = ("largest", "smallest")


def _known_of(operand: Any, dtype: str) -> int:
    """As far as an operand narrows the range of a dtype; all numbers of another dtype may be a part of it."""
    type_ = operand.type
    known: int = operand.sig.kind.known
    if type_.__class__ is TensorType and type_.kind in "iub" and type_.dtype != dtype:
        known |= TOLD
    return known


def _key(args: tuple[Any, ...]) -> Any:
    """What tells operands apart; nothing does if there are not one or two."""
    if len(args) == 1:
        return args[0].sig.kind
    if len(args) == 2:
        a, b = args
        return (a.sig.kind, b.sig.kind if a is not b else None)
    return None
