"""Normal forms of sums: flat, like terms collected, constants folded. One linear pass over the operands.

A sum becomes `P - N`, where P and N are flat and no operand occurs in both. Operands keep the order in which they were
written; where nothing is collected, that in which they are added up too: `x + (y + z)` stays, but for whole numbers.
An inner sum that others use too stays whole, and no flat operation grows beyond `WIDEST` operands, so that a
chain of n additions costs n. Products are in `collecting_products.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from termgraph.rules.clients import used_once
from termgraph.rules.goals import goal
from termgraph.rules.magnitudes import keeps_digits
from termgraph.terms.op import CONST, Op
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.term import AnyTerm, Const, mk

WIDEST = 32
_SUMS = frozenset((ew.add, ew.sub, ew.neg))
_IN_SUMS = frozenset((ew.add, ew.sub, ew.neg, ew.mul, CONST))


def _opens_sum(t: AnyTerm) -> bool:
    """Whether there is something to collect: never so for truth values and unsigned integers, which have no signs."""
    args = t.args
    if t.type.kind not in "ifc":
        return False
    if len(args) == 1:
        return args[0].op in _SUMS
    for a in args:
        if a.op in _IN_SUMS:
            return True
    return args[0] is args[1] if len(args) == 2 else len({*map(id, args)}) < len(args)


@goal("io", worth=_opens_sum)
def collected_sum(t: AnyTerm) -> Any:
    """The sum `t` as P - N with like terms collected; no answer if it is in that form already."""
    if not _opens_sum(t) or _is_collected_sum(t):
        return None
    new = _Sum(t).result()
    return None if new is t else new


def _is_collected_sum(t: AnyTerm) -> bool:
    """A quick look that finds most sums to be in their normal form: nothing opens, no two constants, no like terms."""
    bases: set[Any] = set()
    constants = 0
    for a, negative in _operands(t):
        base: Any = id(a)
        if a.op is CONST:
            constants += 1
            if constants > 1 or negative or not a.scalar:
                return False
        elif a.op is ew.mul:
            base = _positive_base(a)
        elif a.op in _SUMS and used_once(a):
            return False
        if base is None or base in bases:
            return False
        bases.add(base)
    return True


def _operands(t: AnyTerm) -> list[Any]:
    """The operands of a sum `P - N`, and whether they are in N."""
    if t.op is ew.add:
        return [(a, False) for a in t.args]
    found = []
    for side, negative in ((t.args[0], t.op is ew.neg), (t.args[-1], True))[: len(t.args)]:
        inner = side.args if side.op is ew.add and used_once(side) else (side,)
        found += [(a, negative) for a in inner]
    return found


def _positive_base(t: AnyTerm) -> Any:
    """What tells the products of a sum apart, leaving a positive factor aside; None if the factor is not positive."""
    for i, a in enumerate(t.args):
        if a.op is CONST and a.scalar is not None and a.type.ndim == 0:
            if isinstance(a.scalar, complex) or not a.scalar > 0:
                return None
            rest = t.args[:i] + t.args[i + 1 :]
            return id(rest[0]) if len(rest) == 1 else tuple(map(id, rest))
    return tuple(map(id, t.args))


class _Sum:
    """Operands with coefficients: `order` as first met, `coefficient` and the term each came in as."""

    def __init__(self, t: AnyTerm, in_order: bool = False) -> None:
        self.t, self.dtype = t, t.type.np_dtype
        self.in_order = in_order  # only what is computed first is opened, so that no operand moves
        self.moves = False  # whether an inner sum is opened that is computed after others
        self.alike = False  # whether an operand is met twice
        self.coefficient: dict[Any, Any] = {}
        self.source: dict[Any, tuple[Any, int]] = {}  # an operand met once: the term it came as, and its sign
        self.constant = self.dtype.type(0)
        self.constants: list[tuple[Any, int]] = []
        self.constant_at = -1
        self.differences = 0  # opened inside the sum: what they leave may be small against their operands
        self.opened: set[int] = set()  # the sums whose operands these are
        self.operands: list[Any] = []
        self.expected = (
            1  # so many operands there will be: counted on the way down, or a long chain is walked to its end
        )
        self.fits = True

    def result(self) -> Any:
        """The collected sum."""
        with np.errstate(all="ignore"):
            self._walk(self.t, 1, True, True)
            if not self.fits:
                return self.t
            if (self.differences or self.moves) and self.t.type.kind != "i" and len(self.constants) < 2:
                if self.differences or 0 in self.coefficient.values():
                    return self._careful()
                if not self.alike:
                    return _Sum(self.t, in_order=True).result()  # x + (y + z), where y and z may nearly cancel
            return self._built()

    def _careful(self) -> AnyTerm:
        """The sum where differences stand in it: what cancels is left out in its place, and nothing else moves. Else
        digits of large numbers would be kept, and those of what is left of them lost.
        """
        gone = {id(base): 1 << 30 for base, c in self.coefficient.items() if c == 0}
        if not gone:
            return self.t
        left = self._without(self.t, gone)
        if left is None:
            return Const(np.asarray(0, dtype=self.dtype))
        return left if keeps_digits(self.t, left, self.operands) else self.t

    def _without(self, t: AnyTerm, gone: dict[int, int]) -> Any:
        """The sum without the operands whose bases cancel; None if nothing is left."""
        if id(t) not in self.opened:
            return None if t.op is not CONST and id(_split_coefficient(t)[0]) in gone else t
        kept = [self._without(a, gone) for a in t.args]
        if t.op is ew.add:
            rest = [a for a in kept if a is not None]
            return many(ew.add, rest) if rest else None
        if t.op is ew.neg or kept[0] is None:
            return None if kept[-1] is None else mk(ew.neg, (kept[-1],))
        return kept[0] if kept[1] is None else mk(ew.sub, tuple(kept))

    def _walk(self, t: AnyTerm, sign: int, root: bool, first: bool) -> None:
        opens = t.op in _SUMS and t.type.np_dtype == self.dtype and (root or used_once(t))
        later = t.op is ew.add and not first
        if not opens or (later and self.in_order) or (not root and self.expected + len(t.args) - 1 > WIDEST):
            self._operand(t, sign)
            return
        self.expected += len(t.args) - 1
        self.opened.add(id(t))
        self.moves |= later
        if t.op is ew.sub and not root and (self.t.op is not ew.neg or t is not self.t.args[0]):
            self.differences += 1
        for i, a in enumerate(t.args):
            below = t.op is ew.neg or (t.op is ew.sub and i == 1)
            self._walk(a, -sign if below else sign, False, first if i == 0 else root and t.op is ew.sub)

    def _operand(self, t: Any, sign: int) -> None:
        self.operands.append(t)
        if t.op is CONST and t.scalar is not None and t.type.ndim <= self.t.type.ndim:
            if self.constant_at < 0:
                self.constant_at = len(self.coefficient)
            self.constants.append((t, sign))
            number = self.dtype.type(t.scalar)  # -1 times an infinite complex number would be NaN in its other part
            self.constant = self.dtype.type(self.constant + number if sign > 0 else self.constant - number)
            return
        if t.type.np_dtype != self.dtype:
            self.fits = False  # it is converted first: like terms would be added up in the wrong dtype
            return
        base, c = _split_coefficient(t)
        c = self.dtype.type(c) if sign > 0 else -self.dtype.type(c)  # as NumPy's number: -(-128) is -128 in int8
        if base in self.coefficient:
            self.alike = True
            self.coefficient[base] = self.dtype.type(self.coefficient[base] + c)
            self.source.pop(base, None)
        else:
            self.coefficient[base] = c
            self.source[base] = (t, sign)

    def _built(self) -> AnyTerm:
        plus: list[Any] = []
        minus: list[Any] = []
        for i, (base, c) in enumerate(self.coefficient.items()):
            if i == self.constant_at:
                self._add_constant(plus)
            if c == 0:
                continue
            negative = (-c).real > 0 and c.imag == 0  # not so the least whole number, which is its own negative
            met = self.source.get(base)
            if met is not None and (met[1] < 0) == negative:
                (minus if negative else plus).append(met[0])
            else:
                (minus if negative else plus).append(_scaled(base, -c if negative else c, self.dtype))
        if self.constant_at >= len(self.coefficient):
            self._add_constant(plus)
        return self._joined(plus, minus)

    def _add_constant(self, plus: list[Any]) -> None:
        if len(self.constants) == 1 and self.constants[0][1] > 0 and self.constant != 0:
            plus.append(self.constants[0][0])
        elif self.constant != 0:
            plus.append(Const(np.asarray(self.constant, dtype=self.dtype)))

    def _joined(self, plus: list[Any], minus: list[Any]) -> AnyTerm:
        if not plus and not minus:
            return Const(np.asarray(0, dtype=self.dtype))
        if not minus:
            return many(ew.add, plus)
        if not plus:
            return mk(ew.neg, (many(ew.add, minus),))
        return mk(ew.sub, (many(ew.add, plus), many(ew.add, minus)))


def _split_coefficient(t: AnyTerm) -> tuple[Any, Any]:
    """`3 * x * y` as `x * y` and 3."""
    if t.op is ew.mul:
        for i, a in enumerate(t.args):
            if a.op is CONST and a.scalar is not None and a.type.ndim == 0:
                rest = t.args[:i] + t.args[i + 1 :]
                base = many(ew.mul, list(rest))
                if base.type.np_dtype == t.type.np_dtype:
                    return base, a.scalar
    return t, 1


def _scaled(base: AnyTerm, c: Any, dtype: np.dtype) -> AnyTerm:
    if c == 1:
        return base
    number = Const(np.asarray(c, dtype=dtype))
    if base.op is ew.mul and base.type.np_dtype == dtype:
        return mk(ew.mul, (number, *base.args))
    return mk(ew.mul, (number, base))


def many(op: Op, operands: list[Any]) -> AnyTerm:
    """The operation of the operands; a single one as it is."""
    return operands[0] if len(operands) == 1 else mk(op, tuple(operands))


collected_sum.counts_clients = True
