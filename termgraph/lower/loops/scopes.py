"""Places in the tree of loops where terms are computed, and what a planner does for those who arrange them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from termgraph.lower.lengths.index import EMPTY, Poly, Var
from termgraph.lower.loops.tree import Columns, Let, Node
from termgraph.lower.push.kernel import Buf, Needs, Scalars
from termgraph.terms.term import AnyTerm


class Scope:
    """A place in the tree where terms are computed: a loop body, or a guarded arm that nothing leaves."""

    def __init__(self, parent: Scope | None, var: Var | None = None, guard: bool = False) -> None:
        self.parent, self.guard = parent, guard
        self.nodes: list[Node] = []
        self.known: set[Any] = set()
        self.stored: dict[Any, tuple[Buf, Poly]] = {}
        self.bound: frozenset[Var] = (parent.bound if parent else EMPTY) | ({var} if var is not None else EMPTY)
        self.carried: frozenset[Buf] = parent.carried if parent else EMPTY
        self.depth: int = parent.depth + (var is not None) if parent else 0

    def knows(self, t: AnyTerm) -> bool:
        """Whether t is computed here or further out (a value kept for the row is read back on first use)."""
        scope: Scope | None = self
        while scope is not None:
            if t in scope.known:
                return True
            if t in scope.stored:
                scope.nodes.append(Let(t, scope.stored[t]))
                scope.known.add(t)
                return True
            scope = scope.parent
        return False

    def __contains__(self, t: AnyTerm) -> bool:
        """The same, and nothing is read back for having asked."""
        scope: Scope | None = self
        while scope is not None and t not in scope.known and t not in scope.stored:
            scope = scope.parent
        return scope is not None

    def kept(self) -> list[AnyTerm]:
        """The values that are read from rows here."""
        found: list[AnyTerm] = []
        scope: Scope | None = self
        while scope is not None:
            found += scope.stored
            scope = scope.parent
        return found

    def home(self, free: frozenset[Var]) -> Scope:
        """The outermost scope in which all the variables are bound."""
        scope = self
        while scope.parent is not None and not scope.guard and free <= scope.parent.bound:
            scope = scope.parent
        return scope


class Plans(Protocol):
    """What those who arrange loops ask of a planner."""

    s: Scalars
    count: int  # of rows, which are numbered

    def emit(self, root: AnyTerm, scope: Scope) -> Any:
        """Compute a term, and all it needs, each in its place."""

    def leaf(self, x: object, scope: Scope) -> None:
        """A statement without loops of its own."""

    def needs(self, x: object) -> Needs:
        """Folds and written buffers a statement depends on."""

    def placeable(self, statements: Sequence[Any], scope: Scope) -> list[Any]:
        """Folds whose outer variables are all bound here, and that are not computed yet."""

    def votes(self, var: Var, folds: list[Any]) -> int:
        """Loads that run along memory with the outer variable against those that do so with the inner one."""

    def columns(self, var: Var, scope: Scope, inner: Scope, statements: list[Any]) -> Columns | None:
        """Whole vectors of an outer loop, with loops inside over rows, where loads are contiguous so."""

    def waits_for(self, x: object, folds: Collection[Any], writers: Mapping[Buf, list[Any]], scope: Scope) -> list[Any]:
        """The folds that a fold or statement needs, and the statements that write what it reads."""
