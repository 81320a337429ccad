"""A loop term taken apart, to be changed and put together again; the driver that replaces loops in a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from termgraph.terms.moved import note_moved, rebuild_moved
from termgraph.terms.ops.basic import nth
from termgraph.terms.ops.loop import Parts, loop, make_loop, note_stand_ins, projections
from termgraph.terms.term import AnyTerm, Arg, mk
from termgraph.terms.traverse import children_first, substitute
from termgraph.terms.types import TensorType


class LoopView:
    """The parts of a loop by name: `consts` and `xs` map leaves to operands, carries are [leaf, init, next]."""

    def __init__(self, t: Any, offset: int = 0) -> None:
        op = self.source = t.op
        self.term = t
        parts = Parts(op, t.args)
        leaves = [Arg(i + offset, type_) for i, type_ in enumerate(op.params["takes"])]
        body = list(op.params["body"])
        self.renamed = dict(zip(op.leaves, leaves)) if offset else {}
        if offset:
            body = substitute(body, self.renamed)
        c, s = op.n_consts, op.n_consts + op.n_carry
        self.n = parts.n
        self.consts: dict[Any, Any] = dict(zip(leaves[:c], parts.consts))
        self.carries: list[list] = [list(x) for x in zip(leaves[c:s], parts.inits, body)]
        self.xs: dict[Any, Any] = dict(zip(leaves[s:], parts.xs))
        self.ys: list[Any] = body[op.n_carry : op.n_carry + op.n_ys]
        self.stop = body[-1] if op.params["until"] else None
        self.stand_ins: dict[Any, Any] = {}  # terms of the new body, and those of the old one whose lines they have
        self._next = offset + len(leaves)

    @property
    def roots(self) -> list[Any]:
        """All that the body computes."""
        return [*[c[2] for c in self.carries], *self.ys, *([] if self.stop is None else [self.stop])]

    def leaf(self, type_: TensorType) -> Arg:
        """A leaf that is not used yet."""
        self._next += 1
        return Arg(self._next - 1, type_)

    def replace(self, mapping: dict[Any, Any]) -> None:
        """Replace terms everywhere in the body."""
        new = substitute(self.roots, mapping)
        for carry, value in zip(self.carries, new):
            carry[2] = value
        k = len(self.carries)
        self.ys = new[k : k + len(self.ys)]
        if self.stop is not None:
            self.stop = new[-1]

    def moved(self, new: Any, old: Any) -> Any:
        """A term outside that takes the place of one of the body, or of the loop: errors name the lines of that."""
        note_moved(new, None if old is self.term else self.source, old)
        return new

    def used_leaves(self) -> set:
        """The leaves that the body reads."""
        return {t for t in children_first(self.roots) if t.__class__ is Arg}

    def build(self) -> Any:
        """The loop term, without constants and sequences that nobody reads."""
        used = self.used_leaves()
        consts = [(leaf, v) for leaf, v in self.consts.items() if leaf in used]
        xs = [(leaf, v) for leaf, v in self.xs.items() if leaf in used]
        made = make_loop(self.n, consts, [tuple(c) for c in self.carries], xs, self.ys, self.stop, self.source)
        if self.stand_ins:
            leaves = [*[leaf for leaf, _ in consts], *[c[0] for c in self.carries], *[leaf for leaf, _ in xs]]
            renumbered = dict(zip(leaves, made.op.leaves, strict=True))
            new = substitute(list(self.stand_ins), renumbered)
            note_stand_ins(made.op, self.source, dict(zip(new, self.stand_ins.values(), strict=True)))
        return self.moved(made, self.term)

    def results(self) -> list[Any]:
        """The results of the loop that `build` makes: finals, ys, number of steps."""
        if not self.carries and not self.ys and self.stop is None:
            return []
        return projections(self.build())


def loops_of(roots: Iterable[Any]) -> list[Any]:
    """The loop terms of a graph, operands first."""
    return [t for t in children_first(roots) if t.op.family is loop]


def used_results(roots: Sequence[Any]) -> dict[Any, set[int]]:
    """For each loop the results that something reads."""
    used: dict[Any, set[int]] = {}
    for t in children_first(roots):
        if t.op.family is nth and t.args[0].op.family is loop:
            used.setdefault(t.args[0], set()).add(t.op.params["i"])
    return used


# given a loop term and which results are read: its results as new terms (None for those not read), or None to keep it
Change = Callable[[Any, set[int]], Sequence[Any] | None]


def change_loops(roots: Sequence[Any], change: Change) -> tuple[list[Any], int]:
    """The graph with loops replaced as `change` says, and how many were."""
    used = used_results(roots)
    if not used:
        return list(roots), 0
    replaced: dict[Any, Sequence[Any]] = {}
    count = 0

    def visit(t: AnyTerm, args: tuple) -> Any:
        nonlocal count
        if t.op.family is nth and t.args[0] in replaced:
            return replaced[t.args[0]][t.op.params["i"]]
        new = t if all(a is b for a, b in zip(args, t.args)) else mk(t.op, args)
        if t.op.family is loop:
            results = change(new, used.get(t, set()))
            if results is not None:
                replaced[t] = results
                count += 1
        return new

    return rebuild_moved(roots, visit), count
