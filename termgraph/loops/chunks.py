"""Loops over steps in chunks, for a `memory_limit`: what a chunk keeps for the gradient can be computed again.

A loop whose stacked results a backward loop reads becomes a loop for each chunk of about the square root of its steps,
and so does the backward loop. Which of them run twice is for the plan of memory to say (`lower/memory/limit.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import Any

import numpy as np

from termgraph.loops.loop_term import change_loops, loops_of
from termgraph.loops.merge import merge
from termgraph.loops.simplify import clean
from termgraph.terms.ops.basic import dimshuffle, nth
from termgraph.terms.ops.indexing import subtensor
from termgraph.terms.ops.loop import Parts, loop, projections
from termgraph.terms.ops.shaping import join, static_scalar
from termgraph.terms.term import Const, mk, mk1

FEWEST = 4  # steps of a loop that is cut
MOST = 10  # chunks: each is a statement of its own, which takes time to compile
LAST_FIRST = (("s", None, None, -1),)  # all rows of a stack
LAST_FIRST_BEFORE = (("s", -2, None, -1),)  # of a start with a stack behind it, the values before each step
_joined = join.bind(axis=0)


def in_chunks(roots: Sequence[Any]) -> list[Any]:
    """The graph with loops cut whose steps a gradient goes back through."""
    roots, _ = clean(merge(roots)[0])
    forward, backward = set[Any](), set[Any]()  # ops
    for t in loops_of(roots):
        read = [f.op for x in Parts(t.op, t.args).xs if (f := _forward_of(x)) is not None]
        forward.update(read)
        backward.update([t.op] if read else [])
    return change_loops(roots, _Cut(forward, backward).change)[0]


def _forward_of(x: Any) -> Any:
    """The loop whose stacked result a sequence goes through from the last row to the first; or None."""
    if x.op.family is not subtensor or x.op.params["index"] not in (LAST_FIRST, LAST_FIRST_BEFORE):
        return None
    of = x.args[0]
    of = of.args[-1] if of.op.family is join else of
    return of.args[0] if of.op.family is nth and of.args[0].op.family is loop else None


class _Cut:
    """The cutting of loops. `pieces` has the parts of arrays that were stacked by one, by their last rows."""

    def __init__(self, forward: set[Any], backward: set[Any]) -> None:
        self.ops, self.backward = forward | backward, backward
        self.pieces: dict[Any, dict[tuple[int, int], Any]] = {}
        self.ends: dict[Any, dict[int, Any]] = {}  # a stack of values of a carry: the value after so many steps

    def change(self, t: Any, used: set[int]) -> Sequence[Any] | None:
        """The results of a loop, which runs in chunks."""
        n = static_scalar(Parts(t.op, t.args).n)
        if t.op not in self.ops or n is None or n < FEWEST or t.op.params["until"]:
            return None
        op, parts, borders = t.op, Parts(t.op, t.args), _borders(n)
        if op in self.backward:  # the same chunks, from the last one on
            borders = [(n - b, n - a) for a, b in reversed(borders)]
        inits, stacks, ends = parts.inits, [], {0: parts.inits}  # of carries
        for a, b in borders:
            xs = [self.rows(x, a, b) for x in parts.xs]
            made = projections(mk(op, (Const(np.int64(b - a)), *parts.consts, *inits, *xs)))
            inits = ends[b] = made[: op.n_carry]
            stacks.append(made[op.n_carry :])
        whole = []
        for k, y in enumerate(op.results):
            each = tuple([stack[k] for stack in stacks])
            whole.append(mk(_joined, each))
            self.pieces[whole[-1]] = dict(zip(borders, each))
            if y in op.next_carries:
                j = op.next_carries.index(y)
                self.ends[whole[-1]] = {b: values[j] for b, values in ends.items()}
        return [*inits, *whole]

    def rows(self, x: Any, a: int, b: int) -> Any:
        """Some rows of a sequence, from pieces where it was stacked by a loop in chunks."""
        turns = []
        while x.op.family is subtensor and x.op.params["index"] == LAST_FIRST and x.type.shape[0] is not None:
            a, b = x.type.shape[0] - b, x.type.shape[0] - a
            turns.append(x.op)
            x = x.args[0]
        found = self.shifted(x, a, b) or self.pieces.get(x, {}).get((a, b)) or _slice(x, a, b)
        for turn in reversed(turns):
            found = mk1(turn, found)
        return found

    def shifted(self, x: Any, a: int, b: int) -> Any:
        """The values of a carry before each of some steps, last first; None if a sequence is something else."""
        if x.op.family is not subtensor or x.op.params["index"] != LAST_FIRST_BEFORE or x.args[0].op is not _joined:
            return None
        start, *stacks = x.args[0].args
        n = x.type.shape[0]
        if len(stacks) != 1 or start.type.shape[0] != 1 or n is None:
            return None
        first, last = n - b, n - a
        before, rows = self.ends.get(stacks[0], {}).get(first), self.pieces.get(stacks[0], {}).get((first, last))
        if before is None or rows is None:
            return None
        if first:
            start = mk1(dimshuffle.bind(order=("x", *range(before.type.ndim))), before)
        return mk1(x.op, mk(_joined, (start, rows)))


def _slice(x: Any, a: int, b: int) -> Any:
    return mk1(subtensor.bind(index=(("s", a, b, None),)), x)


def _borders(n: int) -> list[tuple[int, int]]:
    """Where chunks begin and end."""
    each = max(isqrt(n - 1) + 1, -(-n // MOST))
    return [(k, min(k + each, n)) for k in range(0, n, each)]
