"""Facts about operators as kanren relations owned by termgraph (never kanren's process-wide ones).

`fact(inverse, my_op, my_inverse)` makes every generic rule apply to the new op. Answers come in a fixed order, and each
new fact moves `version()`, so that compiled rule sets notice.
"""

from __future__ import annotations

from typing import Any

from termgraph._lazy import lazy
from termgraph.terms.hashing import stable_text
from termgraph.terms.op import Op
from termgraph.terms.term import Lit

kanren = lazy("kanren")

_version = 0
_own = 0  # facts that came with the definition of an op
_shipped = 0  # the others that came with termgraph
FACTS: dict[str, OpRelation] = {}


class OpRelation:
    """A named relation over operators (and numbers). Calling it gives a kanren goal."""

    def __init__(self, name: str, columns: tuple[str, ...], doc: str) -> None:
        self.name, self.columns, self.__doc__ = name, columns, doc
        self._relation: Any = None  # the kanren relation, made when it is first asked
        self._rows: set[tuple[Any, ...]] = set()
        FACTS[name] = self

    def __call__(self, *args: Any) -> Any:
        for a in args:
            as_goal = getattr(a, "as_goal", None)
            if as_goal is not None:  # a rule's metavariable: the goal is recorded, not run
                return as_goal(self, args)
        return self._asked()(*map(_cell, args))

    def add(self, *row: Any) -> None:
        """Declare one fact."""
        global _version
        if len(row) != len(self.columns):
            raise TypeError(f"fact {self.name} takes {len(self.columns)} values {self.columns}, got {len(row)}: {row}")
        cells = tuple(map(_cell, row))
        if cells not in self._rows:
            self._rows.add(cells)
            self._relation = None
            _version += 1

    def remove(self, *row: Any) -> None:
        """Take a fact back (for tests and experiments)."""
        global _version
        self._rows.discard(tuple(map(_cell, row)))
        self._relation = None
        _version += 1

    def _asked(self) -> Any:
        if self._relation is None:
            relation = kanren.Relation(self.name)
            for cells in self._rows:
                relation.add_fact(*cells)
            self._relation = relation
        return self._relation

    def rows(self) -> list[tuple[Any, ...]]:
        """All facts, in an order that does not depend on the process."""
        return sorted(self._rows, key=stable_text)

    def known(self) -> frozenset[tuple[Any, ...]]:
        """All facts, in no order."""
        return frozenset(self._rows)

    def solve(self, *args: Any) -> list[tuple[Any, ...]]:
        """All answers of the relation for arguments that may be kanren variables, in a fixed order."""
        return sorted(kanren.run(0, tuple(args), self(*args)), key=stable_text)

    def holds(self, *args: Any) -> bool:
        """Whether the fact is declared."""
        return tuple(map(_cell, args)) in self._rows

    def __contains__(self, op: Op) -> bool:
        return (op,) in self._rows

    def __repr__(self) -> str:
        return f"<fact {self.name}({', '.join(self.columns)}), {len(self._rows)} rows>"


def _cell(value: object) -> Any:
    return Lit(value) if isinstance(value, (bool, int, float, complex)) else value


def fact(relation: OpRelation, *row: Any) -> None:
    """Declare a fact, for example `fact(inverse, my_op, my_inverse)`."""
    relation.add(*row)


def version() -> int:
    """Moves with every new fact."""
    return _version


def users_begin() -> None:
    """Called once when the language is complete: all facts from here on are the user's, or come with an op."""
    global _shipped
    _shipped = _version - _own


def changed() -> bool:
    """Whether facts were added or taken back that neither came with termgraph nor with the definition of an op."""
    return _version - _own != _shipped


def declared() -> set[str]:
    """The operators that have facts."""
    return {cell.name for r in FACTS.values() for row in r.known() for cell in row if hasattr(cell, "name")}


commutative = OpRelation("commutative", ("op",), "f(x, y) = f(y, x), exactly.")
associative = OpRelation("associative", ("op",), "f(f(x, y), z) = f(x, f(y, z)), up to rounding.")
idempotent = OpRelation("idempotent", ("op",), "f(x, x) = x for a binary f.")
projection = OpRelation("projection", ("op",), "f(f(x)) = f(x) for a unary f.")
identity = OpRelation("identity", ("op", "number"), "f(x, number) = x.")
left_identity = OpRelation("left_identity", ("op", "number"), "f(number, x) = x.")
right_identity = OpRelation("right_identity", ("op", "number"), "f(x, number) = x for a non-commutative f.")
absorbing = OpRelation("absorbing", ("op", "number"), "f(x, number) = number.")
inverse = OpRelation("inverse", ("op", "inverse"), "f(g(x)) = x wherever g(x) is defined.")
injective = OpRelation("injective", ("op",), "f(x) = f(y) only where x = y, of complex numbers too.")
odd = OpRelation("odd", ("op",), "f(-x) = -f(x).")
even = OpRelation("even", ("op",), "f(-x) = f(x).")
distributes = OpRelation("distributes", ("over", "sum"), "f(x, g(y, z)) = g(f(x, y), f(x, z)).")
monotone = OpRelation("monotone", ("op", "direction"), "f is monotone: direction 1 increasing, -1 decreasing.")
elementwise = OpRelation("elementwise", ("op",), "f works element by element, with broadcasting.")
complement = OpRelation("complement", ("op", "negated"), "not f(x, y) = g(x, y), exactly and for NaN too.")
dual = OpRelation("dual", ("op", "dual"), "f(x, g(x, y)) = x, and turning the order (or the truth) makes f of g.")
swapped = OpRelation("swapped", ("op", "mirror"), "f(x, y) = g(y, x).")
circular = OpRelation(
    "circular", ("sine", "cosine", "tangent", "sign"), "c(x)**2 + sign * s(x)**2 = 1 and t = s / c: sin; sinh with -1."
)
reduction = OpRelation("reduction", ("op", "binary"), "The reduction folds the binary op along axes.")


def declare_from_table(op: Op) -> None:
    """The facts that follow from an op's own entry."""
    global _own
    before = _version
    if op.commutative:
        commutative.add(op)
    if op.associative:
        associative.add(op)
    if op.kind == "elementwise":
        elementwise.add(op)
    _own += _version - before
