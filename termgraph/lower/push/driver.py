"""The driver that pushes an index through a term: `at(t, i...)` becomes a scalar kernel term.

A rule (see `at_rules`) is a generator: it yields `(term, index)` for the elements it needs, is sent their scalars, and
returns its own. Iterative, and memoised: one visit per term and index.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from functools import partial
from typing import Any, TypeVar

import numpy as np

from termgraph.lower.lengths.checks import NotLowerable
from termgraph.lower.lengths.index import ZERO, Poly, Var, poly
from termgraph.lower.lengths.shapes import Lengths
from termgraph.lower.push.kernel import Buf, Scalars
from termgraph.terms.op import ARG, CONST
from termgraph.terms.term import AnyTerm, Const

R = TypeVar("R")
Index = tuple[Poly, ...]
Steps = Generator[tuple[Any, "Index"], Any, Any]  # asks for elements, returns the scalar
Asking = list[tuple[Any, Steps]]  # elements that are being made, each for the one before it, with their rules
Rule = Callable[["Push", Any, Index], Steps]
Goal = Callable[["Push", Any, Index], Index]  # where an element comes from
AT: dict[str, Rule] = {}  # family name -> rule; filled by at_rules


def declares(table: dict[str, R], *families: str) -> Callable[[R], R]:
    """Put a rule into a table, for the ops of these names."""

    def declare(rule: R) -> R:
        table.update(dict.fromkeys(families, rule))
        return rule

    return declare


pushes = partial(declares, AT)  # how an index goes through ops


def moves(family: str) -> Callable[[Goal], Goal]:
    """Declare an op that only moves elements: at(op(a, ...), *i) -> at(a, *goal(i))."""

    def declare(goal: Goal) -> Goal:
        def rule(p: Push, t: AnyTerm, i: Index) -> Steps:
            return (yield t.args[0], goal(p, t, i))

        AT[family] = rule
        return goal

    return declare


class Push:
    """Scalars of the elements of a graph's terms. `bufs` says which terms have storage: those are loaded.

    `judge` is asked of every new scalar with its term, its index and the elements it is made for, the nearest one last
    (with their rules; the first is nobody's), and gives the scalar to use for it from then on.
    """

    def __init__(
        self, lengths: Lengths, bufs: Mapping[Any, Buf], scalars: Scalars, base: int = 0,
        judge: Callable[[Any, Index, Any, Asking], Any] | None = None,
    ) -> None:  # fmt: skip
        self.lengths, self.scalars, self.base, self.judge = lengths, scalars, base, judge
        self.bufs = dict(bufs)
        self.memo: dict[Any, dict[Index, Any]] = {}  # of each term, the elements that are known
        self.origin: dict[Any, tuple[Any, Index]] = {}  # the tensor element a scalar stands for
        self.spaced: dict[Const, tuple[int, list[int]] | None] = {}  # of constants, where elements are evenly spaced
        self.pushes = 0  # how often a rule has run
        self.rows_in_loops = False  # whether short folds over rows are loops, see `small_folds.folds_rows`
        self.joins = True  # whether there may be joined arrays among the terms

    def at(self, t: AnyTerm, index: Index) -> AnyTerm:
        """The scalar kernel term of one element of t."""
        scalar: AnyTerm = self.drive(_just(t, index))
        return scalar

    def drive(self, steps: Steps) -> Any:
        """Run a rule, and the rules of all elements it asks for, on a stack of our own."""
        memo, origin = self.memo, self.origin
        stack: Asking = [(None, steps)]
        answer = None
        while True:
            try:
                wanted = stack[-1][1].send(answer)
            except StopIteration as end:
                wanted, _ = stack.pop()
                if not stack:
                    return end.value
                answer, (t, index) = end.value, wanted
                if answer not in origin:
                    origin[answer] = wanted
                    if self.judge is not None:
                        answer = self.judge(t, index, answer, stack)
                memo.setdefault(t, {})[index] = answer
                continue
            t, index = wanted
            known = memo.get(t)
            answer = known.get(index) if known is not None else None
            if answer is None:
                if len(index) != t.type.ndim:
                    raise AssertionError(f"{len(index)} indices for {t.type} in {t.op}")
                self.pushes += 1
                stack.append((wanted, self.rule(t)(self, t, index)))

    def rule(self, t: AnyTerm) -> Rule:
        """The rule for a term: a load if it has storage."""
        if t in self.bufs:
            return _load
        if t.op is CONST:
            return _const
        found = AT.get(t.op.family.name) or (AT["elementwise"] if t.op.kind == "elementwise" else None)
        if found is None:
            raise NotLowerable(t, "no rule pushes an index through it")
        return found

    def through(self, t: AnyTerm, index: Index) -> AnyTerm:
        """The scalar computed by t itself, even if t has storage."""
        if t.op is ARG or (t.__class__ is Const and t.scalar is None) or t not in self.bufs:
            return self.at(t, index)  # a uniform constant may have storage, for a library call: it is filled
        buf, known = self.bufs.pop(t), self.memo.pop(t, None)
        found = self.at(t, index)
        self.bufs[t] = buf
        self.memo.pop(t, None)
        if known is not None:
            self.memo[t] = known
        return found

    def passed(self, t: AnyTerm) -> None:
        """Note that a root was made of elements of t's operands, without one of t: it holds what they were, too."""
        self.memo.setdefault(t, {})

    # ------------------------------------------------------------------ for rules
    def level(self, index: Index) -> int:
        """The first loop level below the ones an index uses."""
        return 1 + max((v.level for p in index for v in p.fv), default=self.base - 1)

    def read_at(self, a: AnyTerm, index: Index) -> Index:
        """The index of an operand under broadcasting: a length of one is read at 0."""
        own = index[len(index) - a.type.ndim :]
        if 1 not in a.type.shape:
            return own
        return tuple([ZERO if n == 1 else i for n, i in zip(a.type.shape, own)])

    def constant(self, t: Const) -> Buf:
        """Where the elements of a constant lie."""
        buf = self.bufs[t] = Buf(f"c{t._h & 0xFFFFFFFF:08x}", t.type.dtype, self.lengths[t], "const")
        return buf

    def fresh(self, level: int, extent: Poly) -> Var:
        """A loop variable."""
        return Var(level, extent)


def _just(t: AnyTerm, index: Index) -> Steps:
    return (yield t, index)


def _load(p: Push, t: AnyTerm, i: Index) -> Steps:
    buf = p.bufs[t]
    return p.scalars.load(buf, buf.offset(i))
    yield


def _const(p: Push, t: Const, i: Index) -> Steps:
    if t.scalar is None:
        if t not in p.spaced:
            p.spaced[t] = _evenly_spaced(t.value) if t.type.dtype == "int64" else None
        if (spaced := p.spaced[t]) is not None:
            start, steps = spaced
            return p.scalars.number(sum((j * k for j, k in zip(i, steps)), poly(start)))
        buf = p.constant(t)
        return p.scalars.load(buf, buf.offset(i))
    return t if t.type.ndim == 0 else Const(np.asarray(t.scalar, dtype=t.type.dtype))
    yield


def _evenly_spaced(x: np.ndarray) -> tuple[int, list[int]] | None:
    """The first of integers that grow evenly along each axis, as those of `arange`, and by how much they do."""
    if not x.size:
        return None
    start = int(x.flat[0])
    steps = [int(np.moveaxis(x, d, 0)[int(n > 1)].flat[0]) - start for d, n in enumerate(x.shape)]
    if abs(start) + sum(abs(k) * n for k, n in zip(steps, x.shape)) >= 2**63:
        return None  # least and largest numbers that stand for something else: no such sums are numbers of 64 bits
    if int(x.flat[-1]) != start + sum(k * (n - 1) for k, n in zip(steps, x.shape)):
        return None  # as of most arrays: no other element is looked at
    counts = np.ogrid[tuple([slice(n) for n in x.shape])]
    return (start, steps) if (x == start + sum(k * n for k, n in zip(steps, counts))).all() else None
