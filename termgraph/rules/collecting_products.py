"""Normal forms of products and quotients: flat, factors in both cancelled, constants folded, the sign outside.

A product becomes `P / N`. Factors keep their places where the numbers on the way might otherwise leave the range of
their dtype (`magnitudes.py`): `x / y / z` is not `x / (y * z)`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from termgraph.rules.clients import used_once
from termgraph.rules.collecting import WIDEST, many
from termgraph.rules.goals import goal
from termgraph.rules.magnitudes import far, keeps_range, worth_moving
from termgraph.terms.build import in_dtype
from termgraph.terms.dtypes import finfo
from termgraph.terms.op import CONST
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.term import AnyTerm, Const, mk

_PRODUCTS = frozenset((ew.mul, ew.true_div))
_IN_PRODUCTS = frozenset((ew.mul, ew.true_div, ew.neg, CONST))


def _opens_product(t: AnyTerm) -> bool:
    """Whether there is something to collect."""
    args = t.args
    if t.type.kind not in "ifc":
        return False
    for a in args:
        if a.op in _IN_PRODUCTS:
            return True
    return len(args) == 2 and args[0] is args[1] and t.op is not ew.mul


@goal("io", worth=_opens_product)
def collected_product(t: AnyTerm) -> Any:
    """The product or quotient `t` as P / N, factors in both cancelled, constants folded, the sign outside."""
    if not _opens_product(t) or _is_collected_product(t):
        return None
    new = _Product(t).result()
    return None if new is t else new


def _is_collected_product(t: AnyTerm) -> bool:
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

    def __init__(self, t: AnyTerm, opens_scalars: bool = True) -> None:
        self.t, self.dtype = t, t.type.np_dtype
        self.opens_scalars = opens_scalars  # whether a quotient of scalars among arrays is opened
        self.scalars = False  # whether there is one
        self.over: list[Any] = []
        self.under: list[Any] = []
        self.constants: tuple[list[Any], list[Any]] = ([], [])  # above, below
        self.sign = 1
        self.fits = True
        self.moves = False  # whether a factor comes from within an inner quotient, or a later inner product
        self.factors: list[Any] = []  # all of them, constants too
        self.opened: set[int] = set()  # the products whose factors these are
        self.expected = 1  # factors there will be, counted on the way down as in `_Sum`

    def result(self) -> Any:
        """The collected product."""
        with np.errstate(all="ignore"):
            self._walk(self.t, False, True)
            if not self.fits:
                return self.t
            if not self._can_be_one():
                return self.t  # one after the other, the constants may be in range with what they multiply
            gone = self._in_both()
            if self.scalars and self.opens_scalars and not gone and not self._folds():
                return _Product(self.t, opens_scalars=False).result()  # one division, not one for each element
            moved = self.moves or any(map(far, [*self.constants[0], *self.constants[1]]))
            if self.t.type.kind == "i" or not (moved or gone) or worth_moving(self.factors, gone):
                return self._built(gone)
            return self._in_range(gone)

    def _in_range(self, gone: list[Any]) -> AnyTerm:
        """The simplest form on whose way no number is that was not on the way of the old one: a product of large
        factors from several places might overflow, and one of small ones vanish.
        """
        for new in (self._built(gone), self._in_place(gone), self._in_place([])):
            if keeps_range(self.t, new, self.factors):
                return new
        return self.t

    def _in_place(self, cancelled: list[Any]) -> AnyTerm:
        """The product with what cancels left out in its place, constants as one in front and the sign outside."""
        several = self._folds()
        gone: dict[tuple[int, bool], int] = {}
        for side, constants in enumerate(self.constants):
            for t in [*cancelled, *constants] if several else cancelled:
                gone[id(t), bool(side)] = gone.get((id(t), bool(side)), 0) + 1
        number = self._number() if several else self.dtype.type(1)
        if number == 0:
            return Const(np.asarray(0, dtype=self.dtype))
        if not gone and self.sign > 0:
            return self.t
        kept, below = self._without(self.t, False, gone)
        if kept is None:
            return Const(np.asarray(number * self.sign, dtype=self.dtype))
        number, sign = self._signed(number, self.sign)
        if below and self.t.type.kind == "c":
            number, sign = number * sign, 1
        front = Const(np.asarray(number, dtype=self.dtype))
        made = mk(ew.true_div, (front, kept)) if below else kept if number == 1 else mk(ew.mul, (front, kept))
        return mk(ew.neg, (in_dtype(made, self.dtype.name),)) if sign < 0 else made

    def _without(self, t: AnyTerm, below: bool, gone: dict[tuple[int, bool], int]) -> tuple[Any, bool]:
        """The product without some factors, above or below the line, and without signs; None if nothing is left.
        And whether what is left is divided by.
        """
        if id(t) not in self.opened:
            if not gone.get((id(t), below)):
                return t, False
            gone[id(t), below] -= 1
            return None, False
        kept = [self._without(a, below ^ (t.op is ew.true_div and i == 1), gone) for i, a in enumerate(t.args)]
        if t.op is ew.true_div:
            kept[1] = kept[1][0], not kept[1][1]
        left: tuple[Any, bool] = (None, False)
        for part in kept:
            left = _times(*left, *part)
        return left

    def _walk(self, t: AnyTerm, below: bool, root: bool, first: bool = True) -> None:
        if t.op is ew.neg and t.type.np_dtype == self.dtype and (root or used_once(t) or not t.args[0].args):
            self.sign = -self.sign
            self.opened.add(id(t))
            self._walk(t.args[0], below, False, first)
            return
        opens = t.op in _PRODUCTS and t.type.np_dtype == self.dtype and (root or used_once(t))
        if opens and t.op is ew.true_div and t.type.ndim == 0 < self.t.type.ndim:
            self.scalars, opens = True, self.opens_scalars
        if not opens or (not root and self.expected + len(t.args) - 1 > WIDEST):
            self._factor(t, below)
            self.factors.append(t)
            return
        self.expected += len(t.args) - 1
        self.opened.add(id(t))
        self.moves |= not root and (t.op is ew.true_div or not first)
        for i, a in enumerate(t.args):
            self._walk(a, below ^ (t.op is ew.true_div and i == 1), False, first=i == 0 or t.op is ew.true_div)

    def _factor(self, t: Any, below: bool) -> None:
        if t.op is CONST and t.scalar is not None and t.type.ndim <= self.t.type.ndim:
            self.constants[below].append(t)
        elif t.type.np_dtype != self.dtype:
            self.fits = False  # converted first: see _Sum
        else:
            (self.under if below else self.over).append(t)

    def _in_both(self) -> list[Any]:
        """The factors that are both above and below: takes on trust that they are finite and not zero."""
        below = Counter(self.under)
        found = []
        for t in self.over if below else ():
            if below[t] > 0:
                below[t] -= 1
                found.append(t)
        return found

    def _folds(self) -> bool:
        """Whether there are constants to fold: a single one stays where it is."""
        above, below = self.constants
        return len(above) + len(below) > 1 or bool(above and above[0].scalar in (0, 1, -1))

    def _built(self, gone: list[Any]) -> AnyTerm:
        """One product over another, without the factors that are gone from both."""
        above, below = self.constants
        over, under, sign = _less(self.over, gone), _less(self.under, gone), self.sign
        if not self._folds():
            over, under = [*above, *over], [*under, *below]  # one constant: as it was, at the front or below
            if above and sign < 0 and self.t.type.kind != "f":
                over[0] = Const(np.asarray(-self.dtype.type(above[0].scalar), dtype=self.dtype))
                sign = 1
        else:
            number = self._number()
            if number == 0:
                return Const(np.asarray(0, dtype=self.dtype))
            number, sign = self._signed(number, sign)
            if number != 1:
                over.insert(0, Const(np.asarray(number, dtype=self.dtype)))
        return self._joined(over, under, sign)

    def _can_be_one(self) -> bool:
        """Whether the constants are one number, neither infinite nor zero nor so small that it has lost digits."""
        number = self._number()
        if number == 0:
            return any(c.scalar == 0 for c in self.constants[0])
        small = self.t.type.kind in "fc" and self._folds() and abs(number) < finfo(self.dtype).tiny
        return bool(np.isfinite(number)) and not small

    def _signed(self, number: Any, sign: int) -> tuple[Any, int]:
        """A constant, and the sign outside: that of floats is outside, others are in the constant if there is one."""
        if self.t.type.kind == "f":
            return (self.dtype.type(-number), -sign) if number < 0 else (number, sign)
        if number == -1:
            return self.dtype.type(1), -sign
        return (self.dtype.type(-number), 1) if sign < 0 and number != 1 else (number, sign)

    def _number(self) -> Any:
        """All constants as one."""
        number = self.dtype.type(1)
        for c in self.constants[0]:
            number = self.dtype.type(number * self.dtype.type(c.scalar))
        for c in self.constants[1]:
            number = self.dtype.type(number / self.dtype.type(c.scalar))
        return number

    def _joined(self, over: list[Any], under: list[Any], sign: int) -> AnyTerm:
        if not over:
            ones = self.constants[0]
            over = [ones[0] if ones and ones[0].scalar == 1 else Const(np.asarray(1, dtype=self.dtype))]
        t = self.t
        out = many(ew.mul, _in_written_order(over, t if t.op is ew.mul else t.args[0]))
        if under:
            out = mk(ew.true_div, (out, many(ew.mul, _in_written_order(under, t.args[-1]))))
        return mk(ew.neg, (in_dtype(out, self.dtype.name),)) if sign < 0 else out


def _times(left: AnyTerm | None, under: bool, right: AnyTerm | None, below: bool) -> tuple[Any, bool]:
    """The product of two parts, each divided by or not: a term, and whether it is divided by."""
    if left is None or right is None:
        return (right, below) if left is None else (left, under)
    if under == below:
        factors = left.args if left.op is ew.mul else (left,)
        return mk(ew.mul, (*factors, right)), under
    return mk(ew.true_div, (right, left) if under else (left, right)), False


def _less(factors: list[Any], gone: list[Any]) -> list[Any]:
    """The factors without those that are gone, the first ones first."""
    left = Counter(gone)
    kept = []
    for t in factors:
        if left[t] > 0:
            left[t] -= 1
        else:
            kept.append(t)
    return kept


def _in_written_order(factors: list[Any], written: AnyTerm) -> list[Any]:
    """The factors as they stand in a product, if they are the same ones: nothing changes for the sake of order."""
    if written.op is ew.mul and Counter(written.args) == Counter(factors):
        return list(written.args)
    return factors


collected_product.counts_clients = True
