"""Loops that stand alone in each other, as one loop over all their elements: what a team, or many blocks, share out.

A sum of sums of rows is one sum; a store in two loops is one sweep. Their variables follow from one number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from termgraph._records import NamedTuple
from termgraph.lower.lengths.index import Poly, Var, product
from termgraph.lower.loops.tree import Accumulate, Columns, Let, Loop, Node, Reduce, Row, walk
from termgraph.lower.push.kernel import ARG_FOLDS


class Chain(NamedTuple):
    """The loop that nested loops are. `same` is the outermost fold of each fold inside; a store has none."""

    vars: tuple[Var, ...]
    folds: tuple[Any, ...]
    same: dict[Any, Any]
    body: list[Node]

    @property
    def extent(self) -> Poly:
        return product(v.extent for v in self.vars)


def is_straight(body: Sequence[Node]) -> bool:
    """Whether one thread does it without loops."""
    return not any(isinstance(n, (Loop, Reduce, Columns, Row)) for n in walk(list(body)))


def chain_of(n: Node) -> Chain | None:
    """The chain that begins with a loop, down to straight-line code; None where there is none."""
    found = _folds(n) if isinstance(n, Reduce) else _stores(n) if isinstance(n, Loop) else None
    return found if found is not None and is_straight(found.body) else None


def nested(n: Node) -> Chain | None:
    """The chain of several folds that a fold begins, if it does."""
    chain = chain_of(n) if isinstance(n, Reduce) else None
    return chain if chain is not None and len(chain.vars) > 1 else None


def _folds(n: Reduce) -> Chain:
    vars_, lets, body, same = [n.var], [], n.body, {f: f for f in n.folds}
    while (inner := _only_fold(body, same)) is not None:
        lets += [m for m in body if isinstance(m, Let)]
        same |= {m.fold.args[0]: same[m.fold] for m in body if isinstance(m, Accumulate)}
        vars_, body = [*vars_, inner.var], inner.body
    return Chain(tuple(vars_), tuple(n.folds), same, [*lets, *body])


def _only_fold(body: Sequence[Node], same: dict[Any, Any]) -> Reduce | None:
    """The fold whose results, and nothing else, the folds around it fold in the same manner."""
    inner = [m for m in body if isinstance(m, Reduce)]
    steps = [m.fold for m in body if isinstance(m, Accumulate)]
    if len(inner) != 1 or len(steps) != len(inner[0].folds) or inner[0].var.extent.fv:
        return None
    if not all(isinstance(m, (Let, Reduce, Accumulate)) for m in body):
        return None
    if {f.args[0] for f in steps} != set(inner[0].folds) or any(f not in same for f in steps):
        return None
    return inner[0] if all(_alike(f, f.args[0]) for f in steps) else None


def _alike(f: Any, g: Any) -> bool:
    kind = f.op.params["kind"]
    return kind not in ARG_FOLDS and kind == g.op.params["kind"] and f.type.dtype == g.type.dtype


def _stores(n: Loop) -> Chain | None:
    vars_: list[Var] = []
    lets: list[Node] = []
    loop: Any = n
    while not loop.serial:
        vars_.append(loop.var)
        inner = [m for m in loop.body if not isinstance(m, Let)]
        if len(inner) != 1 or not isinstance(inner[0], Loop) or inner[0].var.extent.fv:
            return Chain(tuple(vars_), (), {}, [*lets, *loop.body])
        lets += [m for m in loop.body if isinstance(m, Let)]
        loop = inner[0]
    return None
