"""Normal forms of sums and products: flat, like terms collected, constants folded. One linear pass over the operands.

A sum becomes `P - N`, a product `P / N`, where P and N are flat and no operand occurs in both. Operands keep the order
in which they were written. An inner sum that others use too stays whole, and no flat operation grows beyond `WIDEST`
operands, so that a chain of n additions costs n.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from termgraph.rules.clients import used_once
from termgraph.rules.goals import goal
from termgraph.terms.op import CONST
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.term import Const, mk

WIDEST = 32
_LOOKED_AT = 64  # terms below an operand that are looked through for inputs
_SUMS = frozenset((ew.add, ew.sub, ew.neg))
_IN_SUMS = frozenset((ew.add, ew.sub, ew.neg, ew.mul, CONST))
_PRODUCTS = frozenset((ew.mul, ew.true_div))
_IN_PRODUCTS = frozenset((ew.mul, ew.true_div, ew.neg, CONST))


def _opens_sum(t: Any) -> bool:
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
def collected_sum(t: Any) -> Any:
    """The sum `t` as P - N with like terms collected; no answer if it is in that form already."""
    if not _opens_sum(t) or _is_collected_sum(t):
        return None
    new = _Sum(t).result()
    return None if new is t else new


def _is_collected_sum(t: Any) -> bool:
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


def _operands(t: Any) -> Any:
    """The operands of a sum `P - N`, and whether they are in N."""
    if t.op is ew.add:
        return [(a, False) for a in t.args]
    found = []
    for side, negative in ((t.args[0], t.op is ew.neg), (t.args[-1], True))[: len(t.args)]:
        inner = side.args if side.op is ew.add and used_once(side) else (side,)
        found += [(a, negative) for a in inner]
    return found


def _positive_base(t: Any) -> Any:
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

    def __init__(self, t: Any) -> None:
        self.t, self.dtype = t, t.type.np_dtype
        self.coefficient: dict[Any, Any] = {}
        self.source: dict[Any, tuple[Any, int]] = {}  # an operand met once: the term it came as, and its sign
        self.constant = self.dtype.type(0)
        self.constants: list[tuple[Any, int]] = []
        self.constant_at = -1
        self.width = 0
        self.differences = 0  # opened inside the sum: what they leave may be small against their operands
        self.opened: set[int] = set()  # the sums whose operands these are
        self.fits = True

    def result(self) -> Any:
        """The collected sum."""
        with np.errstate(all="ignore"):
            self._walk(self.t, 1, True)
            if not self.fits:
                return self.t
            careful = self.differences and self.t.type.kind != "i" and len(self.constants) < 2
            return self._careful() if careful else self._built()

    def _careful(self) -> Any:
        """The sum where differences stand in it: what cancels is left out in its place, and nothing else moves. Else
        digits of large numbers would be kept, and those of what is left of them lost.
        """
        gone = {id(base): 1 << 30 for base, c in self.coefficient.items() if c == 0}
        if not gone:
            return self.t
        left = self._without(self.t, gone)
        return Const(np.asarray(0, dtype=self.dtype)) if left is None else left

    def _without(self, t: Any, gone: dict[int, int]) -> Any:
        """The sum without the operands whose bases cancel; None if nothing is left."""
        if id(t) not in self.opened:
            return None if t.op is not CONST and id(_split_coefficient(t)[0]) in gone else t
        kept = [self._without(a, gone) for a in t.args]
        if t.op is ew.add:
            rest = [a for a in kept if a is not None]
            return _many(ew.add, rest) if rest else None
        if t.op is ew.neg or kept[0] is None:
            return None if kept[-1] is None else mk(ew.neg, (kept[-1],))
        return kept[0] if kept[1] is None else mk(ew.sub, tuple(kept))

    def _walk(self, t: Any, sign: int, root: bool) -> None:
        opens = t.op in _SUMS and t.type.np_dtype == self.dtype and (root or used_once(t))
        if not opens or (not root and self.width + len(t.args) > WIDEST):
            self._operand(t, sign)
            return
        self.opened.add(id(t))
        if t.op is ew.sub and not root and self.t.op is not ew.neg:
            self.differences += 1
        for i, a in enumerate(t.args):
            self._walk(a, -sign if t.op is ew.neg or (t.op is ew.sub and i == 1) else sign, False)

    def _operand(self, t: Any, sign: int) -> None:
        self.width += 1
        if t.op is CONST and t.scalar is not None and t.type.ndim <= self.t.type.ndim:
            if self.constant_at < 0:
                self.constant_at = len(self.coefficient)
            self.constants.append((t, sign))
            self.constant = self.dtype.type(self.constant + sign * self.dtype.type(t.scalar))
            return
        if t.type.np_dtype != self.dtype:
            self.fits = False  # it is converted first: like terms would be added up in the wrong dtype
            return
        base, c = _split_coefficient(t)
        c = self.dtype.type(sign * c)
        if base in self.coefficient:
            self.coefficient[base] = self.dtype.type(self.coefficient[base] + c)
            self.source.pop(base, None)
        else:
            self.coefficient[base] = c
            self.source[base] = (t, sign)

    def _built(self) -> Any:
        plus: list[Any] = []
        minus: list[Any] = []
        for i, (base, c) in enumerate(self.coefficient.items()):
            if i == self.constant_at:
                self._add_constant(plus)
            if c == 0:
                continue
            negative = c.real < 0 and c.imag == 0
            met = self.source.get(base)
            if met is not None and (met[1] < 0) == negative:
                (minus if negative else plus).append(met[0])
            else:
                (minus if negative else plus).append(_scaled(base, -c if negative else c, self.dtype))
        if self.constant_at >= len(self.coefficient):
            self._add_constant(plus)
        return self._joined(plus, minus)

    def _add_constant(self, plus: list) -> None:
        if len(self.constants) == 1 and self.constants[0][1] > 0 and self.constant != 0:
            plus.append(self.constants[0][0])
        elif self.constant != 0:
            plus.append(Const(np.asarray(self.constant, dtype=self.dtype)))

    def _joined(self, plus: list, minus: list) -> Any:
        if not plus and not minus:
            return Const(np.asarray(0, dtype=self.dtype))
        if not minus:
            return _many(ew.add, plus)
        if not plus:
            return mk(ew.neg, (_many(ew.add, minus),))
        return mk(ew.sub, (_many(ew.add, plus), _many(ew.add, minus)))


def _split_coefficient(t: Any) -> tuple[Any, Any]:
    """`3 * x * y` as `x * y` and 3."""
    if t.op is ew.mul:
        for i, a in enumerate(t.args):
            if a.op is CONST and a.scalar is not None and a.type.ndim == 0:
                rest = t.args[:i] + t.args[i + 1 :]
                base = _many(ew.mul, list(rest))
                if base.type.np_dtype == t.type.np_dtype:
                    return base, a.scalar
    return t, 1


def _scaled(base: Any, c: Any, dtype: np.dtype) -> Any:
    if c == 1:
        return base
    number = Const(np.asarray(c, dtype=dtype))
    if base.op is ew.mul and base.type.np_dtype == dtype:
        return mk(ew.mul, (number, *base.args))
    return mk(ew.mul, (number, base))


def _many(op: Any, operands: list) -> Any:
    return operands[0] if len(operands) == 1 else mk(op, tuple(operands))


def _opens_product(t: Any) -> bool:
    """Whether there is something to collect."""
    args = t.args
    if t.type.kind not in "ifc":
        return False
    for a in args:
        if a.op in _IN_PRODUCTS:
            return True
    return len(args) == 2 and args[0] is args[1] and t.op is not ew.mul


@goal("io", worth=_opens_product)
def collected_product(t: Any) -> Any:
    """The product or quotient `t` as P / N, factors in both cancelled, constants folded, the sign outside."""
    if not _opens_product(t) or _is_collected_product(t):
        return None
    new = _Product(t).result()
    return None if new is t else new


def _is_collected_product(t: Any) -> bool:
    """A quick look that finds most products and quotients to be in their normal form."""
    constants = 0
    for a in t.args:
        if a.op is CONST:
            constants += 1
            if constants > 1 or a.scalar in (0, 1, -1):
                return False
        elif a.op in _PRODUCTS:
            if used_once(a):
                return False
        elif a.op is ew.neg and (used_once(a) or not a.args[0].args):
            return False
    return t.op is ew.mul or t.args[0] is not t.args[1]


class _Product:
    """Factors above and below the line, a sign, and constants."""

    def __init__(self, t: Any) -> None:
        self.t, self.dtype = t, t.type.np_dtype
        self.over: list[Any] = []
        self.under: list[Any] = []
        self.constants: tuple[list[Any], list[Any]] = ([], [])  # above, below
        self.sign = 1
        self.fits = True
        self.reciprocals = False  # whether leaving factors out would leave 1 / x
        self.moves = False  # whether a factor comes from within an inner quotient, or a later inner product
        self.inner = 0  # how many of them there are
        self.parts: list[tuple[Any, int]] = []  # the factors, and the number of the one that each is in
        self.opened: set[int] = set()  # the products whose factors these are
        self.cancelled: dict[tuple[int, bool], int] = {}  # how often a factor goes, above and below the line

    def result(self) -> Any:
        """The collected product."""
        with np.errstate(all="ignore"):
            self._walk(self.t, False, True)
            if not self.fits:
                return self.t
            self._cancel()
            careful = (self.moves or self._squares_late()) and self.t.type.kind != "i" and not any_share(self.parts)
            return self._careful() if careful else self._built()

    def _squares_late(self) -> bool:
        """Whether two equal factors, which would become a square, stand behind others."""
        if self.t.op is not ew.mul or not any(a.op is ew.mul for a in self.t.args):
            return False
        first = next((i for i, t in enumerate(self.over) if t in self.over[:i]), None)
        return first is not None and any(t is not self.over[first] for t in self.over[:first])

    def _careful(self) -> Any:
        """The product with what cancels left out in its place, constants as one in front and the sign outside.

        A product of large factors from several places might overflow, and one of small ones vanish.
        """
        above, below = self.constants
        several = len(above) + len(below) > 1 or bool(above and above[0].scalar in (0, 1, -1))
        gone = dict(self.cancelled)
        for side, constants in enumerate(self.constants):
            for c in constants if several else ():
                gone[id(c), bool(side)] = gone.get((id(c), bool(side)), 0) + 1
        number = self._number(above, below) if several else self.dtype.type(1)
        if not gone and self.sign > 0:
            return self.t
        if number == 0 or not np.isfinite(number):
            return self._built()
        left = self._without(self.t, False, gone)
        if self.reciprocals:  # of what is left nothing stands over a line: fewer divisions, and digits, with one line
            return self._built()
        number = self.dtype.type(number * self.sign)
        if left is None:
            return Const(np.asarray(number, dtype=self.dtype))
        if number == -1:
            return mk(ew.neg, (left,))
        return left if number == 1 else mk(ew.mul, (Const(np.asarray(number, dtype=self.dtype)), left))

    def _without(self, t: Any, below: bool, gone: dict[tuple[int, bool], int]) -> Any:
        """The product without some factors, above or below the line, and without signs; None if nothing is left."""
        if id(t) not in self.opened:
            if not gone.get((id(t), below)):
                return t
            gone[id(t), below] -= 1
            return None
        kept = [self._without(a, below ^ (t.op is ew.true_div and i == 1), gone) for i, a in enumerate(t.args)]
        if t.op is ew.neg:
            return kept[0]
        if t.op is ew.mul:
            rest = [a for a in kept if a is not None]
            return _many(ew.mul, rest) if rest else None
        if kept[1] is None:
            return kept[0]
        if kept[0] is None:
            self.reciprocals = True
            return kept[1]
        return mk(ew.true_div, (kept[0], kept[1]))

    def _walk(self, t: Any, below: bool, root: bool, part: int = 0, first: bool = True) -> None:
        if t.op is ew.neg and t.type.np_dtype == self.dtype and (root or used_once(t) or not t.args[0].args):
            self.sign = -self.sign
            self.opened.add(id(t))
            self._walk(t.args[0], below, False, part, first)
            return
        opens = t.op in _PRODUCTS and t.type.np_dtype == self.dtype and (root or used_once(t))
        wide = len(self.over) + len(self.under) + len(t.args) > WIDEST
        if not opens or (wide and not root):
            self._factor(t, below)
            self.parts.append((t, part))
            return
        self.opened.add(id(t))
        if not root and (t.op is ew.true_div or not first) and not _divides_by_count(t):
            self.moves = True
            self.inner += 1
            part = self.inner
        for i, a in enumerate(t.args):
            self._walk(a, below ^ (t.op is ew.true_div and i == 1), False, part, first=i == 0 or t.op is ew.true_div)

    def _factor(self, t: Any, below: bool) -> None:
        if t.op is CONST and t.scalar is not None and t.type.ndim <= self.t.type.ndim:
            self.constants[below].append(t)
        elif t.type.np_dtype != self.dtype:
            self.fits = False  # converted first: see _Sum
        else:
            (self.under if below else self.over).append(t)

    def _cancel(self) -> None:
        """Remove factors that are both above and below: takes on trust that they are finite and not zero."""
        if not self.under:
            return
        below: dict[Any, int] = {}
        for t in self.under:
            below[t] = below.get(t, 0) + 1
        kept = []
        for t in self.over:
            if below.get(t):
                below[t] -= 1
                self.under.remove(t)
                for side in (False, True):
                    self.cancelled[id(t), side] = self.cancelled.get((id(t), side), 0) + 1
            else:
                kept.append(t)
        self.over = kept

    def _built(self) -> Any:
        above, below = self.constants
        over, under = list(self.over), list(self.under)
        if len(above) + len(below) <= 1 and not (above and above[0].scalar in (0, 1, -1)):
            over, under = [*above, *over], [*under, *below]  # one constant: as it was, at the front or below
            if self.sign < 0 and above:
                over[0] = Const(np.asarray(-self.dtype.type(above[0].scalar), dtype=self.dtype))
                self.sign = 1
        else:
            number = self._number(above, below)
            if number == 0:
                return Const(np.asarray(0, dtype=self.dtype))
            if number == -1:
                number, self.sign = self.dtype.type(1), -self.sign
            if number != 1:
                over.insert(0, Const(np.asarray(number * self.sign, dtype=self.dtype)))
                self.sign = 1
        return self._joined(over, under, above)

    def _number(self, above: list, below: list) -> Any:
        number = self.dtype.type(1)
        for c in above:
            number = self.dtype.type(number * self.dtype.type(c.scalar))
        for c in below:
            number = self.dtype.type(number / self.dtype.type(c.scalar))
        return number

    def _joined(self, over: list, under: list, above: list) -> Any:
        if not over:
            over = [above[0] if above and above[0].scalar == 1 else Const(np.asarray(1, dtype=self.dtype))]
        t = self.t
        out = _many(ew.mul, _in_written_order(over, t if t.op is ew.mul else t.args[0]))
        if under:
            out = mk(ew.true_div, (out, _many(ew.mul, _in_written_order(under, t.args[-1]))))
        return mk(ew.neg, (out,)) if self.sign < 0 else out


def _in_written_order(factors: list, written: Any) -> list:
    """The factors as they stand in a product, if they are the same ones: nothing changes for the sake of order."""
    if written.op is ew.mul and len(written.args) == len(factors) and {*map(id, written.args)} == {*map(id, factors)}:
        return list(written.args)
    return factors


def any_share(parts: list[tuple[Any, int]]) -> bool:
    """Whether operands of two parts depend on the same input, as exp(x) and 1 + exp(x) do: rules may then find more."""
    inputs = {id(t): _inputs(t) for t, _ in parts}
    for t, part in parts:
        for u, other in parts:
            if part < other and t is not u and not (_is_power(t) and _is_power(u)):
                a, b = inputs[id(t)], inputs[id(u)]
                if a is None or b is None or a & b:
                    return True
    return False


def _divides_by_count(t: Any) -> bool:
    """Whether a quotient is by an integer, as a mean's is: that moves no number out of the range of its dtype."""
    if t.op is not ew.true_div:
        return False
    by = t.args[1]
    while by.op.family is dimshuffle:
        by = by.args[0]
    return by.op.family is ew.cast and by.args[0].type.kind in "bui"


def _is_power(t: Any) -> bool:
    """An input or a power of one: these meet in larger powers only."""
    return not t.args or (t.op in (ew.sqr, ew.pow_) and not any(a.args for a in t.args))


def _inputs(t: Any) -> set[int] | None:
    """The leaves below a term that are not constants; None for a large one."""
    found: set[int] = set()
    seen: set[int] = set()
    stack = [t]
    while stack:
        u = stack.pop()
        if id(u) in seen:
            continue
        seen.add(id(u))
        if len(seen) > _LOOKED_AT:
            return None
        if u.args:
            stack.extend(u.args)
        elif u.op is not CONST:
            found.add(id(u))
    return found


collected_sum.counts_clients = collected_product.counts_clients = True

__all__ = ["WIDEST", "collected_product", "collected_sum"]
