"""How a loop is stored: its body becomes a tree of its own over buffers whose place changes from step to step.

Constants and rows of sequences are read where they are, through any view. A stacked result is written row by row; a
carry alternates between the rows of a small ring, or is updated in place.
"""

from __future__ import annotations

from typing import Any

from termgraph._records import record
from termgraph.lower.lengths.checks import NotLowerable
from termgraph.lower.lengths.index import ONE, ZERO, Poly, poly, product
from termgraph.lower.loops.choices import choose
from termgraph.lower.loops.plan import Planner
from termgraph.lower.loops.tree import Carried, Node, Repeat, Rows
from termgraph.lower.memory.operand_places import View, is_dense, place_of, view_of
from termgraph.lower.memory.plan import share_room, writes
from termgraph.lower.memory.updates import update_modes
from termgraph.lower.push.kernel import Buf
from termgraph.lower.storage.cut_rules import is_matrix, shuffled
from termgraph.lower.storage.policy import Statements, Storage, cut_rule
from termgraph.lower.storage.routines import call_routine
from termgraph.terms.ops.basic import nth
from termgraph.terms.ops.control import ifelse
from termgraph.terms.ops.linalg import dot
from termgraph.terms.ops.loop import Parts, loop
from termgraph.terms.term import AnyTerm

FEW_STEPS = 16  # too few to pay for copying a matrix
PRODUCTS = ("dot", "matmul", "gemm")


@cut_rule("nth")
def _result(s: Storage, t: AnyTerm, buf: Buf) -> None:
    """All results of a loop, a choice or a routine are made by one statement."""
    (of,) = t.args
    if not s.writes(t):
        return
    if of.op.family is ifelse:
        choose(s, of)
    elif of.op.family is loop:
        s.add(_Builder(s, of).statement())
    else:
        call_routine(s, of)


@record
class Body:
    """A lowered body: its tree, and the buffers it reads and writes."""

    leaves: dict[Any, Buf]
    statements: Statements
    nodes: list[Node]
    targets: dict[Any, Buf]


class _Builder:
    """Makes the statement of one loop term."""

    def __init__(self, s: Storage, t: AnyTerm) -> None:
        self.s, self.t, self.op = s, t, t.op
        self.parts = Parts(t.op, t.args)
        self.lengths = s.lengths.bodies[t]
        self.prefix = f"{s.prefix}L{s.order.index(t)}_"
        self.results = {
            r.op.params["i"]: s.push.bufs[r] for r in s.order if r.args and r.op.family is nth and r.args[0] is t
        }
        self.leaves = self.op.leaves
        self.first_carry, self.first_x = self.op.n_consts, self.op.n_consts + self.op.n_carry

    def statement(self) -> Repeat:
        views = self.operands()
        return self.assembled(self.body(views), views)

    def operands(self) -> list[View]:
        """Where all operands lie; those that have to be stored are, from now on."""
        s, views = self.s, []
        for i, a in enumerate([*self.parts.consts, *self.parts.inits, *self.parts.xs]):
            view = view_of(s, a)
            is_init = self.first_carry <= i < self.first_x
            copied = a not in s.cuts and self.better_copied(i, view)
            if view is None or copied or (is_init and not is_dense(s.lengths[a], view[2])):
                assert a not in s.cuts, f"a stored operand that a loop cannot read: {a!r:.200}"
                s.keep(a)
                view = place_of(s, a)
            views.append(view)
        return views

    def better_copied(self, i: int, view: View | None) -> bool:
        """Whether a constant that is multiplied by in every step is read from a copy that is made once.

        Where BLAS cannot read it, each step would copy it; one seen transposed makes products slower. A single row or
        column has but one order.
        """
        if i >= self.first_carry or view is None or len(view[2]) not in (1, 2):
            return False
        leaf, strides, steps = self.leaves[i], view[2], self.lengths.steps.const
        if not is_matrix(strides, self.lengths[leaf]):
            return any(shuffled(a) is leaf for p in self.lengths.order if p.op.name in PRODUCTS for a in p.args)
        if ONE in self.lengths[leaf]:
            return False
        right = any(p.op is dot and p.args[1] is leaf and p.args[0].type.ndim == 2 for p in self.lengths.order)
        return right and strides[0] is ONE and strides[-1] is not ONE and (steps is None or steps >= FEW_STEPS)

    # ------------------------------------------------------------------ the body
    def roots(self) -> list[Any]:
        """What the body has to write: next carries that are not just other carries, results, the condition."""
        op = self.op
        used = [op.params["body"][i] for i in self.results if op.n_carry <= i < op.n_carry + op.n_ys]
        moving = [r for r in op.next_carries if r not in self.carry_leaves()]
        return list(dict.fromkeys([*moving, *used, *([op.stop] if op.stop is not None else [])]))

    def carry_leaves(self) -> list[Any]:
        leaves: list[Any] = self.leaves
        return leaves[self.first_carry : self.first_x]

    def body(self, views: list[View]) -> Body:
        """The lowered body; the same for all rounds in which the operands lie alike."""
        leaves = {leaf: self.leaf(i, leaf, views[i]) for i, leaf in enumerate(self.leaves)}
        key = (self.t, *leaves.values())
        found: Body | None = self.s.bodies.get(key)
        if found is None:
            roots = self.roots()
            storage = Storage(
                roots, self.lengths, None, self.s.reciprocal, leaves, self.prefix, fuse=self.s.fuse,
                whole_vectors=self.s.whole_vectors,
            )  # fmt: skip
            try:
                statements = storage.run()
            except NotLowerable as why:  # the loop as a whole is what the program cannot hold
                raise NotLowerable(self.t, f"in its body: {why.why}") from None
            nodes = Planner(statements.scalars).plan(statements.stores)
            found = self.s.bodies[key] = Body(leaves, statements, nodes, dict(storage.targets))
        return found

    def leaf(self, i: int, leaf: AnyTerm, view: View) -> Buf:
        """What the body reads: a buffer with the strides of the operand."""
        shape = self.lengths[leaf]
        strides = view[2][1:] if i >= self.first_x else view[2]
        layout = None if is_dense(shape, strides) else strides
        return Buf(f"{self.prefix}a{i}", leaf.type.dtype, shape, "input", layout)

    # ------------------------------------------------------------------ putting it together
    def assembled(self, body: Body, views: list[View]) -> Repeat:
        op = self.op
        nodes, in_place = self.in_place(body)
        fixed = [(body.leaves[x], b, at, ZERO) for x, (b, at, _) in zip(self.leaves, views[: self.first_carry])]
        moving = [
            (body.leaves[x], b, at, strides[0])
            for x, (b, at, strides) in zip(self.leaves[self.first_x :], views[self.first_x :])
        ]
        carries = [
            Carried(body.leaves[x], views[self.first_carry + k][:2], body.targets.get(new) or body.leaves[new])
            for k, (x, new) in enumerate(zip(self.carry_leaves(), op.next_carries))
        ]
        kept = [(c, self.home(k, c)) for k, c in enumerate(carries) if c.next in in_place]
        history = self.history(body)
        free = [c for c in carries if c.next not in in_place]
        rows = [*history.values(), *self.rings(body, free, set(history) | in_place)]
        own = {r.buf for r in rows if r.ring} | {home for _, home in kept} - set(self.results.values())
        stop = body.targets[op.stop] if op.stop is not None else None
        return Repeat(
            self.lengths.steps, nodes, fixed + moving, free, rows, kept, self.copies(body, carries, kept, history),
            stop, self.results.get(op.n_carry + op.n_ys), self.rooms(body, nodes, own), dict(body.statements.consts),
            tuple(self.results.values()), title=op.title,
        )  # fmt: skip

    def in_place(self, body: Body) -> tuple[list[Node], set[Buf]]:
        """Carries to which something is added: no copy, and no second buffer."""
        op, leaves = self.op, self.carry_leaves()
        read = [*op.next_carries, *op.results, op.stop]
        pairs = []
        for leaf, new in zip(leaves, op.next_carries):
            target = body.targets.get(new)
            alone = read.count(new) == 1 and leaf not in read
            if target is not None and alone and sum(target in writes(n) for n in body.nodes) > 1:
                pairs.append((body.leaves[leaf], target))
        nodes, modes = update_modes(list(body.nodes), pairs)
        if set(modes.values()) - {"accumulate"}:
            pairs = [(old, new) for old, new in pairs if modes.get(new) == "accumulate"]
            nodes, modes = update_modes(list(body.nodes), pairs)
        return nodes, set(modes)

    def home(self, k: int, c: Carried) -> Buf:
        """Where a carry that is updated in place lies: in the final result, if that is wanted."""
        return self.results.get(k) or Buf(f"{self.prefix}k{k}", c.leaf.dtype, c.leaf.shape, "temp")

    def history(self, body: Body) -> dict[Buf, Rows]:
        """Results stacked where they are written."""
        op = self.op
        out: dict[Buf, Rows] = {}
        for i, r in enumerate(op.results, op.n_carry):
            if i in self.results:
                target = body.targets[r]
                out.setdefault(target, Rows(target, self.results[i], None))
        return out

    def rings(self, body: Body, carries: list[Carried], done: set[Buf]) -> list[Rows]:
        """Room for values that later steps read, and for those only this step needs."""
        age: dict[Buf, int] = {}  # leaf -> how many steps old its value is, counted from the step that wrote it
        source: dict[Buf, Buf] = {}
        todo = list(carries)
        while todo:
            rest = []
            for c in todo:
                if c.next in age or c.next not in body.leaves.values():
                    source[c.leaf] = source.get(c.next, c.next)
                    age[c.leaf] = age.get(c.next, 0) + 1
                else:
                    rest.append(c)
            if len(rest) == len(todo):
                break  # carries that only change places
            todo = rest
        out = []
        for target in body.targets.values():
            if target not in done:
                oldest = max([n for leaf, n in age.items() if source[leaf] is target], default=0)
                ring = Buf(f"{target.name}_ring", target.dtype, (poly(oldest + 1), *target.shape), "temp")
                out.append(Rows(target, ring, oldest + 1))
        return out

    def rooms(self, body: Body, nodes: list[Node], own: set[Buf]) -> list[list[Buf]]:
        """The body's temporaries by the room they share, and the loop's own."""
        return [*share_room(nodes, body.statements.temps), *[[b] for b in sorted(own, key=lambda b: b.name)]]

    def copies(
        self, body: Body, carries: list[Carried], kept: list[tuple[Carried, Buf]], history: dict[Buf, Rows]
    ) -> list[tuple[Buf, Buf, Poly]]:
        """Final carries, and results that are stacked twice."""
        op = self.op
        in_place = {c for c, _ in kept}
        out = [
            (carries[k].leaf, b, product(b.shape))
            for k, b in self.results.items()
            if k < op.n_carry and carries[k] not in in_place
        ]
        for i, r in enumerate(op.results, op.n_carry):
            first = history.get(body.targets[r]) if i in self.results else None
            if first is not None and first.buf is not self.results[i]:
                out.append((first.buf, self.results[i], product(first.buf.shape)))
        return out
