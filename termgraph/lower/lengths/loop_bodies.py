"""The lengths inside loops: the shapes of a body's terms are polynomials in the lengths of the graph around the loop.

What the body demands is checked once, when the program is entered.
"""

from __future__ import annotations

from typing import Any

from termgraph.lower.lengths.checks import NotLowerable, When, sides_of, when_chosen
from termgraph.lower.lengths.index import ZERO, Poly, evaluate, poly, symbols
from termgraph.lower.lengths.shapes import RESULTS, SHAPES, WHOLE, Lengths, Shape
from termgraph.terms.op import ARG
from termgraph.terms.ops.control import ifelse
from termgraph.terms.ops.loop import Parts, loop, negative_text, too_short_text
from termgraph.terms.term import AnyTerm
from termgraph.terms.traverse import children_first


class BodyLengths(Lengths):
    """The shapes of a loop's body. Checks, sites and equations are those of the graph around it."""

    def __init__(self, around: Lengths, t: AnyTerm) -> None:
        vars(self).update(vars(around))  # whatever is not the body's own, below, is shared
        self.around, self.term = around, t
        self.untrimmed, self.found_equal, self.indexings, self._numbers = False, None, {}, (-1, {})
        self.loops = (*around.loops, t)
        self.order = children_first([*t.op.leaves, *t.op.params["body"]])
        self.guarded = self.sometimes = self.not_surely_needed(t.op.params["body"])
        self.sides = sides_of(self.order, self.guarded)
        self.shapes, self.bodies = {}, {}
        self.given: dict[Any, Shape] = {}
        self.numbers: dict[Any, Any] = {}
        self.steps: Poly = ZERO

    def settle(self) -> None:
        """Compute all shapes from those of the operands as they are known now."""
        t, op, around = self.term, self.term.op, self.around
        parts, leaves = Parts(op, t.args), op.leaves
        self.steps = around.as_length(parts.n, t, negative_text(op))
        self.numbers = {leaf: a for leaf, a in zip(leaves, parts.consts) if a.type.ndim == 0}
        for leaf, a in zip(leaves, [*parts.consts, *parts.inits]):
            self.given[leaf] = self._declared(leaf, around[a])
        for leaf, x in zip(leaves[op.n_consts + op.n_carry :], parts.xs):
            around.require(t, "ge", around[x][0], self.steps, too_short_text(op, "{name}"), leaf)
            self.given[leaf] = self._declared(leaf, around[x][1:])
        self._pass()
        for leaf, new in zip(leaves[op.n_consts :], op.next_carries):
            for d, (a, b) in enumerate(zip(self.given[leaf], self.shapes[new])):
                self._keeps_length(leaf, d, self._norm(a), self._norm(b))

    def _declared(self, leaf: AnyTerm, shape: Shape) -> Shape:
        """The lengths of an operand, which must be those that the body was made for."""
        text = "a value has length {0} where the body of the loop was made for {1}"
        return tuple(
            [n if k is None else self.around.equal(self.term, n, poly(k), text) for k, n in zip(leaf.type.shape, shape)]
        )

    def _keeps_length(self, leaf: AnyTerm, d: int, a: Poly, b: Poly) -> None:
        if a is b:
            return
        if _surely_differ(a, b):
            raise NotLowerable(self.term, "a carry changes its length")
        text = f"the carry {{name}} begins with length {{0}} in dimension {d}, its next value has {{1}}; give it one "
        text += "shape, or use linker='py', which lets shapes change from step to step"
        self.equal(self.term, a, b, text, leaf)

    def is_guarded(self, t: AnyTerm) -> bool:
        """Where all steps choose alike; elsewhere lengths are checked for all of them, also if only some need it."""
        return t in self.guarded and self.when_needed(t) is not None

    def when_needed(self, t: AnyTerm) -> When | None:
        """The condition of the innermost choice around a term that is the same in all steps."""
        cases = self.sides.get(t, [])
        while len({choice for choice, _ in cases}) == 1:
            found = when_chosen(self.as_poly, *cases[0]) if len(cases) == 1 else None
            if found is not None:
                return found
            cases = self.sides.get(cases[0][0], [])
        return None

    def _shape(self, t: AnyTerm) -> Shape:
        return self.given[t] if t in self.given else super()._shape(t)

    def _scalar(self, t: AnyTerm, args: list[Poly], user: AnyTerm) -> Poly:
        if t in self.numbers:
            return self.around.as_poly(self.numbers[t], user)
        if t.op is ARG:
            return self._same_in_all_steps(t, user)
        try:
            return super()._scalar(t, args, user)
        except NotLowerable as why:  # what it wants is a value of the body, which nobody outside can give
            raise NotLowerable(why.term, why.why) from None

    def _same_in_all_steps(self, leaf: AnyTerm, user: AnyTerm) -> Poly:
        """The integer that each step reads, where another loop wrote the same length in each of its steps."""
        found = self.each_of_leaf(leaf, user)
        if found is None:
            raise NotLowerable(user, "a length that is computed in the loop")
        return found

    def each_of_leaf(self, leaf: AnyTerm, user: AnyTerm) -> Poly | None:
        """The one number in all elements of what a leaf reads in all steps: the rows of a sequence, or a constant."""
        op, parts = self.term.op, Parts(self.term.op, self.term.args)
        place = op.leaves.index(leaf) if leaf in op.leaves else op.n_consts
        if op.n_consts <= place < op.n_consts + op.n_carry:  # a carry, or a leaf of another body
            return None
        read = parts.consts[place] if place < op.n_consts else parts.xs[place - op.n_consts - op.n_carry]
        return self.around.each_element(read, user)


def _surely_differ(a: Poly, b: Poly) -> bool:
    """Whether two lengths differ, as far as trying a few shows: where they may agree, that is checked at run time.

    Other lengths than those in `a` are tried as multiples of these, too: gates are cut from one wide array. Beside a
    known length those near it and near its double are tried, of which it may be half: spectra of real numbers.
    """
    if (a - b).const is not None:
        return True
    own = symbols(a)
    others = [n for n in symbols(b) if n not in own]
    known = [n for n in (a.const, b.const) if n is not None]
    near = [m for n in known for m in (n - 1, n, n + 1, 2 * n - 2, 2 * n - 1, 2 * n, n // 2)]
    for n in sorted({1, 2, 3, 8, *[m for m in near if m > 0]}):
        for times in (1, 2, 3, 4, 5, 6, 8) if others else (1,):
            env = {**dict.fromkeys(own, n), **dict.fromkeys(others, n * times)}
            if evaluate(a, env) == evaluate(b, env):
                return False
    return True


def _settle(s: Lengths, t: AnyTerm) -> None:
    """The lengths inside a loop, and of its results."""
    if t.op.family is not loop:
        return
    body = s.bodies.get(t)
    if body is None:
        body = s.bodies[t] = BodyLengths(s, t)
    try:
        body.settle()
    except NotLowerable as why:
        raise NotLowerable(t, f"in its body: {why}" if why.term is not t else why.why, why.wanted) from None


def _result(s: Lengths, t: AnyTerm) -> Shape:
    """One of the results of a loop."""
    (of,), i = t.args, t.op.params["i"]
    if of.op.family is ifelse:
        return chosen_shape(s, of, i)
    if of.op.family.name in RESULTS:
        return RESULTS[of.op.family.name](s, of, i)
    if of.op.family is not loop:
        raise NotLowerable(of, "no loops for an operation with several results")
    op, body = of.op, s.bodies[of]
    if i < op.n_carry:
        carried: Shape = body.given[op.leaves[op.n_consts + i]]
        return carried
    if i == op.n_carry + op.n_ys:
        return ()
    if op.params["until"] and not s.untrimmed:
        raise NotLowerable(of, "how many steps are made is not known beforehand")
    return (body.steps, *body.shapes[op.params["body"][i]])


def chosen_shape(s: Lengths, t: AnyTerm, i: int) -> Shape:
    """The lengths of a value of a choice: those that it has on both sides.

    Where they are not known to be the same, Python takes the choice. Inside a loop they are checked, since the whole
    loop would go to Python with it.
    """
    a, b = t.args[1 + i], t.args[1 + t.op.params["n"] + i]
    if s.found_equal is not None:
        s.found_equal += zip((t,) * a.type.ndim, s[a], s[b])
        return s[a]
    text = "the two values of a choice have lengths {0} and {1}; compiled code wants them equal, linker='py' does not"
    out = []
    for p, q in zip(s[a], s[b]):
        if p is not q and (p - q).const is not None:
            raise NotLowerable(t, "its values have different lengths")
        out.append(s.equal(t, p, q, text))
    return tuple(out)


SHAPES["nth"] = _result
SHAPES["ifelse"] = lambda s, t: chosen_shape(s, t, 0)
WHOLE["loop"] = _settle
