"""Signatures: what can be told of a term from its head and from the heads and types of its operands.

Terms with the same signature have the same type, and the rewriter decides once for all of them which rules may match.
An op keeps its signatures in tables, so a signature names no op and keeps none alive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from termgraph.terms.interned import Interned

if TYPE_CHECKING:
    from termgraph.terms.types import Type

_MOST = 20_000  # of one op; then its table starts again, since the operators that it was made for may be gone


class Kind:
    """One head with one type: what the signature of a term tells of an operand."""

    __slots__ = ()


class Signature:
    """The type of a term, the kind it is of as an operand, and what rules have found out about all terms like it.

    `verdict` is that of the rule sets that looked at it last, who are told by `judge`.
    """

    __slots__ = ("judge", "kind", "provable", "type", "verdict")
    judge: Any
    kind: Kind
    provable: Any
    type: Any
    verdict: Any

    def __init__(self, kind: Kind, type_: Type) -> None:
        self.kind, self.type = kind, type_
        self.judge = self.verdict = self.provable = None


class Signatures(Interned):
    """The terms of one op and their signatures.

    `table` has the kind of the operand as key, or two kinds; None: the same once more.
    """

    __slots__ = ("kinds", "table")

    def __init__(self) -> None:
        super().__init__()
        self.table: dict[Any, Signature] = {}
        self.kinds: dict[Any, Kind] = {}

    def find(self, type_: Type, args: tuple[Any, ...] = (), by_value: bool = False) -> Signature:
        """The signature of the op on these operands, whose result has this type."""
        key = _key(args)
        if by_value or key is None:
            key = (type_, key, None)
        found = self.table.get(key)
        if found is None:
            if len(self.table) >= _MOST:
                self.table.clear()
            kind = self.kinds.setdefault(type_, Kind())
            found = self.table[key] = Signature(kind, type_)
        return found


def _key(args: tuple[Any, ...]) -> Any:
    """What tells operands apart; nothing does if there are not one or two."""
    if len(args) == 1:
        return args[0].sig.kind
    if len(args) == 2:
        a, b = args
        return (a.sig.kind, b.sig.kind if a is not b else None)
    return None
