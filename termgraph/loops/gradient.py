"""Derivatives of the loop op: the gradient is one loop over reversed sequences, the tangent one loop in the same order.

The backward loop reads what the forward loop kept: rows it has anyway, results that are stacked already, and as few
other values as possible; cheap element-wise work is done again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from termgraph.grad.checks import can_move
from termgraph.grad.forward import tangents_of
from termgraph.grad.reverse import Backward
from termgraph.loops.residuals import choose_residuals
from termgraph.loops.varying import growing
from termgraph.terms.build import filled_like, in_dtype, is_zero, summed
from termgraph.terms.errors import NullTypeGradError
from termgraph.terms.invariants import outer_terms
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.derivative import NOTHING, missing, undefined
from termgraph.terms.ops.elementwise import add, eq, le, logical_and, minimum, mod, sub, switch
from termgraph.terms.ops.indexing import inc_subtensor, set_subtensor, subtensor
from termgraph.terms.ops.loop import Loop, Parts, inherit_places, make_loop, projections
from termgraph.terms.ops.shaping import arange, join, shape_i
from termgraph.terms.term import AnyTerm, Arg, Const, mk, mk1
from termgraph.terms.traverse import free_args, substitute

_flip = subtensor.bind(index=(("s", None, None, -1),))
_flip_but_last = subtensor.bind(index=(("s", -2, None, -1),))
_WRITES = frozenset((inc_subtensor, set_subtensor))  # into zeros: the cotangent of one row
_first = subtensor.bind(index=(("s", None, "?", None),))


def pullback_terms(t: AnyTerm, cotangents: Sequence[Any], wanted: Sequence[bool] | None = None) -> list[Any]:
    """What cotangents of a loop's results (None: nothing came back) contribute to each of its operands."""
    return _Reversal(t, cotangents, wanted).contributions()


class _Reversal:
    """The making of one backward loop."""

    def __init__(self, t: Any, cotangents: Sequence[Any], wanted: Sequence[bool] | None) -> None:
        self.t, self.op = t, t.op
        op = self.op
        self.parts = Parts(op, t.args)
        leaves = op.leaves
        c, s = op.n_consts, op.n_consts + op.n_carry
        self.consts, self.carries, self.rows = leaves[:c], leaves[c:s], leaves[s:]
        asked = [True] * len(t.args) if wanted is None else list(wanted)
        self.wanted = {leaf for leaf, want in zip(leaves, asked[1:]) if want and can_move(leaf)}
        self.finals = [g if can_move(leaf) else None for g, leaf in zip(cotangents, self.carries)]
        self.growing = growing(op)
        ys = self._of_last_rows(cotangents[op.n_carry : op.n_carry + op.n_ys])
        self.stacked = [g if can_move(y) else None for g, y in zip(ys, op.results)]
        base = len(leaves)
        self.carry_seeds = [Arg(base + j, leaf.type) for j, leaf in enumerate(self.carries)]
        base += op.n_carry
        self.row_seeds = [Arg(base + k, y.type) for k, y in enumerate(op.results)]
        self.next_index = base + op.n_ys

    def _of_last_rows(self, ys: Sequence[Any]) -> list[Any]:
        """The cotangents of stacked results without what the last value of a carry got: that goes to its final value.

        Stacked, it would be a row of each step, all but one of them zeros; and carries that grow have no stack.
        """
        left = list(ys)
        for j, new in enumerate(self.op.next_carries):
            if new not in self.op.results:
                continue
            k = self.op.results.index(new)
            parts = [] if left[k] is None else left[k].args if left[k].op is add else [left[k]]
            rows = [_of_last_row(g, self.value_of(j)) for g in parts]
            if any(row is not None for row in rows):
                others = [g if row is None else g.args[0] for g, row in zip(parts, rows)]  # zeros say how many rows
                left[k] = summed(others) if None in rows else None
                before = [] if self.finals[j] is None else [self.finals[j]]
                self.finals[j] = summed([*before, *(row for row in rows if row is not None)])
        return left

    # ------------------------------------------------------------------ the derivative of one step
    def step_gradient(self) -> Backward | None:
        """The derivative of the body; carries that influence nothing that has a cotangent stay out."""
        self.live = {j for j, g in enumerate(self.finals) if g is not None}
        wrt = [leaf for leaf in (*self.consts, *self.rows) if leaf in self.wanted]
        wrt += [leaf for leaf in self.carries if can_move(leaf)]
        while True:
            seeds: dict[Any, Any] = {}
            for j in sorted(self.live):
                _seed(seeds, self.op.next_carries[j], self.carry_seeds[j])
            for k, g in enumerate(self.stacked):
                if g is not None:
                    _seed(seeds, self.op.results[k], self.row_seeds[k])
            if not seeds:
                return None
            run = Backward({y: summed(parts) for y, parts in seeds.items()}, wrt).run()
            found = {j for j, leaf in enumerate(self.carries) if id(leaf) in run.gradients}
            if found <= self.live:
                return run
            self.live |= found

    def contributions(self) -> list[Any]:
        """One term per operand of the loop."""
        run = self.step_gradient()
        if run is None:
            return [NOTHING] * len(self.t.args)
        if run.refused:
            refusal = next(iter(run.refused.values()))
            lost = (undefined if issubclass(refusal.kind, NullTypeGradError) else missing)(
                f"inside {self.op}: {refusal.what}"
            )
            return [NOTHING, *[lost if can_move(leaf) else NOTHING for leaf in self.op.leaves]]
        self.gradients = run.gradients
        return self.collect(self.backward_loop())

    def backward_loop(self) -> list[Any]:
        """The results of the loop over the reversed sequences."""
        self.sums = [leaf for leaf in self.consts if leaf in self.wanted and id(leaf) in self.gradients]
        self.row_results = [leaf for leaf in self.rows if leaf in self.wanted and id(leaf) in self.gradients]
        self.order = sorted(self.live)
        roots = [self.gradients.get(id(self.carries[j])) for j in self.order]
        roots = [filled_like(self.carries[j], 0) if g is None else g for j, g in zip(self.order, roots)]
        sums = [Arg(self.fresh(), leaf.type) for leaf in self.sums]
        roots += [mk(add, (a, self.gradients[id(leaf)])) for a, leaf in zip(sums, self.sums)]
        roots += [self.gradients[id(leaf)] for leaf in self.row_results]
        cotangents = [*self.carry_seeds, *self.row_seeds]
        kept = choose_residuals(self.op, outer_terms(roots, [*cotangents, *sums]))
        grown = [r for r in kept if r in self.growing]
        kept = [r for r in kept if r not in self.growing]
        placeholders = {r: Arg(self.fresh(), r.type) for r in kept}
        roots = substitute(roots, placeholders)
        histories = self.histories(kept)
        roots, outside, step = self.made_again(roots, grown)
        used = set(free_args(roots))
        n_made = self.steps_made
        self.steps = n_made if self.op.params["truncate"] < 0 else mk(minimum, (n_made, self.limit))
        k = len(self.order)
        inits = [self.init_of(j) for j in self.order]
        starts = [filled_like(self.parts.consts[leaf.index], 0) for leaf in self.sums]
        carries = list(zip([self.carry_seeds[j] for j in self.order], inits, roots))
        carries += list(zip(sums, starts, roots[k:]))
        offset = self.op.n_consts + self.op.n_carry
        xs = [(leaf, self.reversed_rows(self.parts.xs[leaf.index - offset])) for leaf in self.rows if leaf in used]
        xs += [(a, mk1(_flip, g)) for a, g in zip(self.row_seeds, self.stacked) if g is not None and a in used]
        xs += [(placeholders[r], h) for r, h in zip(kept, histories) if placeholders[r] in used]
        xs += step
        consts = [(leaf, self.parts.consts[leaf.index]) for leaf in self.consts if leaf in used] + outside
        ys = roots[k + len(sums) :]
        name = self.op.params["name"]
        made = make_loop(
            self.steps, consts, carries, xs, ys, source=self.op, truncate=-1, recompute=False,
            name=f"grad of {name}" if name else None,
        )  # fmt: skip
        return projections(made)

    def made_again(self, roots: list[Any], grown: Sequence[Any]) -> tuple[list[Any], list, list]:
        """The step with carries that grow computed anew from the start, in a loop of its own, since they cannot be
        stacked; what that loop reads of the outside, and the number of the step.
        """
        if not grown:
            return roots, [], []
        outside = [(Arg(self.fresh(), a.type), a) for a in self.t.args[1:]]
        count = Arg(self.fresh(), self.steps_made.type)
        given = iter([leaf for leaf, _ in outside])
        consts = [(leaf, next(given)) for leaf in self.consts]
        carries = [(leaf, next(given), new) for leaf, new in zip(self.carries, self.op.next_carries)]
        rows = list(zip(self.rows, given))
        finals = projections(make_loop(count, consts, carries, rows, [], source=self.op, truncate=-1))
        roots = substitute(roots, {r: finals[self.carries.index(r)] for r in grown})
        zero, one = Const(np.int64(0)), Const(np.int64(1))
        numbers = mk(arange.bind(dtype="int64"), (zero, self.steps_made, one))
        return roots, outside, [(count, mk1(_flip, numbers))]

    def fresh(self) -> int:
        self.next_index += 1
        return self.next_index - 1

    @property
    def limit(self) -> Any:
        return Const(np.int64(self.op.params["truncate"]))

    # ------------------------------------------------------------------ what the forward loop keeps
    def histories(self, kept: Sequence[Any]) -> list[Any]:
        """What the body kept, last step first: from the forward loop, with further results where needed."""
        op, results = self.op, list(self.op.results)
        sources: list[Any] = []
        for r in kept:
            if r in self.carries:
                j = self.carries.index(r)
                if op.next_carries[j] in results:  # the value before each step: the start, then the results so far
                    sources.append((j, results.index(op.next_carries[j])))
                    continue
            if r not in results:
                results.append(r)
            sources.append(results.index(r))
        forward = self.t
        if len(results) > op.n_ys:
            stop = [] if op.stop is None else [op.stop]
            wider = op.bind(body=(*op.next_carries, *results, *stop))
            inherit_places(wider, op, {})
            forward = mk(wider, self.t.args)
        values = projections(forward)
        self.steps_made = values[-1] if op.params["until"] else in_dtype(self.parts.n, "int64")
        stacks = values[op.n_carry :]
        return [mk1(_flip, stacks[s]) if isinstance(s, int) else self.shifted(s[0], stacks[s[1]]) for s in sources]

    def shifted(self, j: int, stack: AnyTerm) -> Any:
        """The values of carry j before each step, last first, from those after each step."""
        init = self.parts.inits[j]
        first = mk1(dimshuffle.bind(order=("x", *range(init.type.ndim))), init)
        return mk1(_flip_but_last, mk(join.bind(axis=0), (first, stack)))

    def reversed_rows(self, x: Any) -> Any:
        """The rows that the loop has read, last first."""
        return mk1(_flip, x if self.is_whole(x) else mk(_first, (x, self.steps_made)))

    def is_whole(self, x: Any) -> bool:
        """Whether the loop is known to read all rows."""
        n, rows = self.steps_made, x.type.shape[0]
        if rows is not None:
            return getattr(n, "scalar", None) == rows
        return n.op.family is shape_i and n.args[0] is x

    def init_of(self, j: int) -> Any:
        g = self.finals[j]
        if g is not None:
            return g
        return filled_like(self.value_of(j), 0)

    def value_of(self, j: int) -> Any:
        """A value with the lengths that carry j has in the end."""
        return projections(self.t)[j] if self.carries[j] in self.growing else self.parts.inits[j]

    # ------------------------------------------------------------------ back to the operands
    def collect(self, results: Sequence[Any]) -> list[Any]:
        """The backward loop's results in the order of the operands."""
        found: dict[Any, Any] = {}
        k = len(self.order)
        for j, g in zip(self.order, results):
            for start, part in self.starts_of(j, g):
                leaf = self.carries[start]
                found[leaf] = mk(add, (found[leaf], part)) if leaf in found else part
        found.update(zip(self.sums, results[k:]))
        offset = self.op.n_consts + self.op.n_carry
        for leaf, g in zip(self.row_results, results[k + len(self.sums) :]):
            found[leaf] = self.spread(mk1(_flip, g), self.parts.xs[leaf.index - offset])
        return [NOTHING, *[found.get(leaf, NOTHING) for leaf in self.op.leaves]]

    def starts_of(self, j: int, g: Any) -> Iterator[tuple[int, Any]]:
        """Which start a carry still was before the first step that the gradient goes back through: its own if these are
        all steps, that of the carry it takes its value from if one is left out, and so on. Others got nothing of it.
        """
        if self.op.params["truncate"] < 0:
            yield j, g
            return
        path, following = [j], self.op.next_carries[j]
        while following in self.carries and (k := self.carries.index(following)) not in path:
            path.append(k)
            following = self.op.next_carries[k]
        around = path.index(self.carries.index(following)) if following in self.carries else len(path)
        left_out, nothing = mk(sub, (self.steps_made, self.steps)), Const(np.asarray(0, g.type.dtype))
        for k, start in enumerate(path):
            since = mk(sub, (left_out, Const(np.int64(k))))
            if k >= around:  # values that go round, or stay
                turn = mk(eq, (mk(mod, (since, Const(np.int64(len(path) - around)))), Const(np.int64(0))))
                there = mk(logical_and, (mk(le, (Const(np.int64(0)), since)), turn))
            else:
                there = mk(eq, (since, Const(np.int64(0))))
            yield start, mk(switch, (there, g, nothing))

    def spread(self, g: Any, x: Any) -> Any:
        """The gradient of a sequence: zeros for the rows that the backward loop has not visited."""
        truncated = self.op.params["truncate"] >= 0
        if self.is_whole(x) and not truncated:
            return g
        start = mk(sub, (self.steps_made, self.steps)) if truncated else Const(np.int64(0))
        index = (("s", "?", "?", None),)
        return mk(set_subtensor.bind(index=index), (filled_like(x, 0), g, start, self.steps_made))


def _of_last_row(g: Any, value: AnyTerm) -> Any:
    """What a cotangent of stacked values is for the last `value`, if it is nothing for all others; else None."""
    if g.op.family not in _WRITES or not is_zero(g.args[0]):
        return None
    index = g.op.params["index"]  # () where all rows are written: `ys[...]`
    if not index or index[0].__class__ is not int or index[0] not in (-1, (g.type.shape[0] or 0) - 1):
        return None
    rest = index[1:]
    if not rest and g.args[1].type.broadcastable != value.type.broadcastable:
        return None
    if not rest:
        return g.args[1]
    return mk(g.op.family.bind(index=rest), (filled_like(value, 0), *g.args[1:]))


def _seed(seeds: dict[Any, list], y: AnyTerm, g: AnyTerm) -> None:
    seeds.setdefault(y, []).append(g)


# ---------------------------------------------------------------------- forward mode
def pushforward_terms(t: AnyTerm, tangents: Sequence[Any]) -> list[Any]:
    """The tangents of a loop's results (None: none) from those of its operands: one loop that carries both."""
    op = t.op
    parts = Parts(op, t.args)
    leaves = op.leaves
    seeds = {leaf: Arg(len(leaves) + i, leaf.type) for i, leaf in enumerate(leaves) if can_move(leaf)}
    carries = leaves[op.n_consts : op.n_consts + op.n_carry]
    moving = {leaf for leaf, s in zip(leaves, tangents[1:]) if s is not None and leaf in seeds}
    while True:
        found = tangents_of(list(op.params["body"]), {leaf: seeds[leaf] for leaf in leaves if leaf in moving})
        more = {leaf for leaf, s in zip(carries, found) if s is not None and leaf in seeds} - moving
        if not more:
            break
        moving |= more
    given = dict(zip(leaves, tangents[1:]))
    consts = list(zip(leaves, parts.consts))
    rows = leaves[op.n_consts + op.n_carry :]
    xs = list(zip(rows, parts.xs))
    consts += [(seeds[leaf], given[leaf]) for leaf, _ in list(consts) if leaf in moving]
    xs += [(seeds[leaf], given[leaf]) for leaf, _ in list(xs) if leaf in moving]
    triples = list(zip(carries, parts.inits, op.next_carries))
    moved = [(j, leaf) for j, leaf in enumerate(carries) if leaf in moving]
    for j, leaf in moved:
        start = given[leaf] if given[leaf] is not None else filled_like(parts.inits[j], 0)
        triples.append((seeds[leaf], start, found[j] if found[j] is not None else filled_like(leaf, 0)))
    ys = [(k, s) for k, s in enumerate(found[op.n_carry : op.n_carry + op.n_ys]) if s is not None]
    made = make_loop(parts.n, consts, triples, xs, [*op.results, *[s for _, s in ys]], op.stop, source=op)
    values = projections(made)
    out: list[Any] = [None] * len(t.type.types)
    for i, (j, _) in enumerate(moved):
        out[j] = values[op.n_carry + i]
    for i, (k, _) in enumerate(ys):
        out[op.n_carry + k] = values[op.n_carry + len(moved) + op.n_ys + i]
    return out


Loop.pullback_terms = staticmethod(pullback_terms)  # type: ignore[attr-defined]
Loop.pushforward_terms = staticmethod(pushforward_terms)  # type: ignore[attr-defined]
