"""How facts about operands give facts about results: one line per op and fact.

Only what holds in floating point, with rounding, overflow and underflow, is stated: exp(x) can underflow to zero, so it
is nonnegative, not positive.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from termgraph.rules.intervals import COMPUTED, Range, range_of, stays_within
from termgraph.rules.term_facts import (
    Ask,
    TermFact,
    at_most_one,
    finite,
    integer,
    negative,
    no_minus_zero,
    no_overflow,
    nonnegative,
    nonpositive,
    nonzero,
    positive,
    real,
    sorted_,
    symmetric,
)
from termgraph.terms.dtypes import can_cast, kind_of
from termgraph.terms.op import Op
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.reduce import argmax, argmin
from termgraph.terms.ops.shaping import shape_i
from termgraph.terms.term import AnyTerm

Rule = Callable[[Any, Ask], "bool | None"]


def _yes(t: AnyTerm, ask: Ask) -> bool:
    return True


def _absolute(t: AnyTerm, ask: Ask) -> bool | None:
    """The absolute value of the least signed integer is that integer."""
    return True if t.args[0].type.kind in "ufcb" else ask(nonnegative, t.args[0])


def _signed(rule: Rule) -> Rule:
    """Negating unsigned numbers gives others above zero."""
    return lambda t, ask: rule(t, ask) if t.type.kind in "if" else None


def _not_complex(t: AnyTerm, ask: Ask) -> bool | None:
    return True if t.args[0].type.kind != "c" else None


def all_of(fact: TermFact) -> Rule:
    """The result has a property if every operand has this one."""

    def rule(t: AnyTerm, ask: Ask) -> bool | None:
        for a in t.args:
            if ask(fact, a) is not True:
                return None
        return True

    return rule


def any_of(fact: TermFact) -> Rule:
    """The result has a property if some operand has this one."""

    def rule(t: AnyTerm, ask: Ask) -> bool | None:
        for a in t.args:
            if ask(fact, a) is True:
                return True
        return None

    return rule


def same(fact: TermFact) -> Rule:
    """The result has a property exactly if the first operand has this one."""
    return lambda t, ask: ask(fact, t.args[0])


def _sum_positive(t: AnyTerm, ask: Ask) -> bool | None:
    if t.type.kind != "f":
        return None  # integers wrap around
    for a in t.args:
        if ask(nonnegative, a) is not True:
            return None
    for a in t.args:
        if ask(positive, a) is True:
            return True
    return None


def _float_only(rule: Rule) -> Rule:
    return lambda t, ask: rule(t, ask) if t.type.kind == "f" else None


def _product_sign(want: bool) -> Rule:
    """Nonnegative (want) or nonpositive product: an even or odd number of operands that are not above zero."""

    def rule(t: AnyTerm, ask: Ask) -> bool | None:
        if t.type.kind not in "f":
            return None
        flips = 0
        for a in t.args:
            if ask(nonnegative, a) is True:
                continue
            if ask(nonpositive, a) is not True:
                return None
            flips += 1
        return True if (flips % 2 == 0) == want else None

    return rule


def _square(t: AnyTerm, ask: Ask) -> bool | None:
    return True if t.type.kind == "f" else None


def _self_product(t: AnyTerm, ask: Ask) -> bool | None:
    if len(t.args) == 2 and t.args[0] is t.args[1] and t.type.kind == "f":
        return True
    return _product_sign(True)(t, ask)


def _product_plus_zero(t: AnyTerm, ask: Ask) -> bool | None:
    for a in t.args:
        if ask(nonnegative, a) is not True or ask(no_minus_zero, a) is not True:
            return None
    return True if t.type.kind == "f" else None


def _even_power(t: AnyTerm, ask: Ask) -> bool | None:
    exponent = getattr(t.args[1], "scalar", None)
    if isinstance(exponent, (int, float)) and exponent % 2 == 0 and t.type.kind == "f":
        return True
    return True if ask(nonnegative, t.args[0]) is True and t.type.kind == "f" else None


def _switch(fact: TermFact) -> Rule:
    return lambda t, ask: True if ask(fact, t.args[1]) is True and ask(fact, t.args[2]) is True else None


def _cast(fact: TermFact) -> Rule:
    """A cast that keeps every value (or rounds it without reaching zero) keeps the fact."""

    def rule(t: AnyTerm, ask: Ask) -> bool | None:
        have, want = t.args[0].type.np_dtype, t.type.np_dtype
        safe = kind_of(want) in "fc" and (kind_of(have) in "biu" or can_cast(have, want))
        return ask(fact, t.args[0]) if safe else None

    return rule


def _abs_nonzero(t: AnyTerm, ask: Ask) -> bool | None:
    return ask(nonzero, t.args[0])


def _quotient(t: AnyTerm, ask: Ask) -> bool | None:
    return True if ask(nonnegative, t.args[0]) is True and ask(positive, t.args[1]) is True else None  # 1 / -0.0


def _one_plus(t: AnyTerm, ask: Ask) -> bool | None:
    return True if ask(nonnegative, t.args[0]) is True else None


def _declare(fact: TermFact, table: dict[Rule, tuple[Op, ...]]) -> None:
    for rule, ops in table.items():
        for op in ops:
            fact.propagate(op, rule)


_BOUNDED = (ew.sin, ew.cos, ew.tanh, ew.sigmoid, ew.erf, ew.sign)

_declare(nonnegative, {
    _yes: (shape_i, argmax, argmin),
    _not_complex: (ew.exp, ew.exp2, ew.sqrt, ew.sigmoid, ew.softplus, ew.cosh, ew.hypot, ew.erfc, ew.erfcx),
    _absolute: (ew.abs_,),
    _square: (ew.sqr,),
    _self_product: (ew.mul,),
    _even_power: (ew.pow_,),
    _float_only(all_of(nonnegative)): (ew.add,),
    _quotient: (ew.true_div,),
    any_of(nonnegative): (ew.maximum,),
    all_of(nonnegative): (ew.minimum,),
    same(nonnegative): (ew.log1p, ew.expm1, ew.tanh, ew.sinh, ew.arctan, ew.arcsinh, ew.erf, ew.floor, ew.ceil,
                        ew.trunc, ew.round_, ew.sign, ew.cbrt, dimshuffle),
    _float_only(same(nonpositive)): (ew.neg,),  # minus the least integer is that integer
    _switch(nonnegative): (ew.switch,),
    _cast(nonnegative): (ew.cast,),
})  # fmt: skip
_declare(nonpositive, {
    _signed(same(nonnegative)): (ew.neg,),
    _float_only(all_of(nonpositive)): (ew.add,),
    _product_sign(False): (ew.mul,),
    any_of(nonpositive): (ew.minimum,),
    all_of(nonpositive): (ew.maximum,),
    same(nonpositive): (ew.tanh, ew.sinh, ew.arctan, ew.arcsinh, ew.erf, ew.expm1, ew.sign, ew.cbrt, dimshuffle),
    _yes: (ew.log1mexp,),
    _switch(nonpositive): (ew.switch,),
    _cast(nonpositive): (ew.cast,),
})  # fmt: skip
_declare(positive, {
    _sum_positive: (ew.add,),
    _not_complex: (ew.cosh,),
    same(positive): (ew.sqrt, ew.cbrt, dimshuffle, ew.ceil),
    any_of(positive): (ew.maximum,),
    all_of(positive): (ew.minimum,),
    _switch(positive): (ew.switch,),
    _cast(positive): (ew.cast,),
    _one_plus: (ew.exp, ew.exp2),
})  # fmt: skip
_declare(negative, {
    _signed(same(positive)): (ew.neg,),
    same(negative): (dimshuffle, ew.cbrt),
    any_of(negative): (ew.minimum,),
    all_of(negative): (ew.maximum,),
    _switch(negative): (ew.switch,),
    _cast(negative): (ew.cast,),
})  # fmt: skip
_declare(nonzero, {
    _abs_nonzero: (ew.abs_, ew.neg, ew.sqrt, ew.cbrt, ew.sign, ew.conj, dimshuffle),
    _switch(nonzero): (ew.switch,),
    _cast(nonzero): (ew.cast,),
})  # fmt: skip
_declare(no_minus_zero, {
    _not_complex: (ew.exp, ew.exp2, ew.log, ew.log2, ew.log10, ew.sigmoid, ew.softplus, ew.cosh, ew.hypot, ew.erfc,
                   ew.erfcx, ew.abs_, ew.sqr),
    _float_only(any_of(no_minus_zero)): (ew.add,),  # -0.0 is the sum of zeros only that are all negative
    _float_only(same(no_minus_zero)): (ew.sub, ew.log1p, ew.expm1, ew.sinh, ew.tanh, ew.arcsinh, ew.arctan, ew.erf,
                                       ew.sqrt, ew.cbrt, dimshuffle),
    _product_plus_zero: (ew.mul,),
    _switch(no_minus_zero): (ew.switch,),
    _cast(no_minus_zero): (ew.cast,),
})  # fmt: skip
_declare(finite, {
    same(finite): (ew.neg, ew.abs_, ew.floor, ew.ceil, ew.trunc, ew.round_, ew.conj, ew.real, ew.imag, dimshuffle,
                   ew.sin, ew.cos, ew.arctan, ew.tanh, ew.sigmoid, ew.erf, ew.cbrt, ew.arcsinh, ew.sign),
    all_of(finite): (ew.maximum, ew.minimum),
    _switch(finite): (ew.switch,),
    _cast(finite): (ew.cast,),
})  # fmt: skip
_declare(integer, {
    _not_complex: (ew.floor, ew.ceil, ew.trunc, ew.round_, ew.sign),
    same(integer): (ew.neg, ew.abs_, dimshuffle),
    all_of(integer): (ew.add, ew.sub, ew.mul, ew.maximum, ew.minimum),
    _switch(integer): (ew.switch,),
    _cast(integer): (ew.cast,),
})  # fmt: skip
_declare(real, {
    all_of(real): (ew.add, ew.sub, ew.mul, ew.true_div, ew.neg, ew.exp, ew.conj, dimshuffle),
})  # fmt: skip
_declare(at_most_one, {
    _not_complex: _BOUNDED,
    any_of(at_most_one): (ew.minimum,),
    all_of(at_most_one): (ew.maximum,),
    same(nonpositive): (ew.exp, ew.exp2),
    _switch(at_most_one): (ew.switch,),
})  # fmt: skip
_declare(symmetric, {
    all_of(symmetric): (ew.add, ew.sub, ew.mul, ew.true_div),
    same(symmetric): (ew.neg, ew.exp, ew.sqr, ew.abs_, ew.sqrt, ew.log, ew.tanh, ew.sigmoid),
})  # fmt: skip
_declare(sorted_, {
    same(sorted_): (ew.exp, ew.expm1, ew.log, ew.log1p, ew.sqrt, ew.cbrt, ew.tanh, ew.sinh, ew.arctan, ew.arcsinh,
                    ew.sigmoid, ew.softplus, ew.erf, ew.floor, ew.ceil, ew.round_),
})  # fmt: skip


# ---------------------------------------------------------------------- integers: what their ranges say
def _by_range(says: Callable[[Range], bool], otherwise: Rule | None) -> Rule:
    def rule(t: AnyTerm, ask: Ask) -> bool | None:
        if t.type.kind in "iu":
            found = range_of(t)
            if found is not None and says(found):
                return True
        return None if otherwise is None else otherwise(t, ask)

    return rule


_OF_RANGES: dict[TermFact, Callable[[Range], bool]] = {
    nonnegative: lambda r: r[0] >= 0,
    nonpositive: lambda r: r[1] <= 0,
    positive: lambda r: r[0] > 0,
    negative: lambda r: r[1] < 0,
    nonzero: lambda r: r[0] > 0 or r[1] < 0,
    at_most_one: lambda r: r[1] <= 1,
}
for _op in COMPUTED:
    for _fact, _says in _OF_RANGES.items():
        _fact.propagate(_op, _by_range(_says, _fact.rules.get(_op)))
    no_overflow.propagate(_op, lambda t, ask: stays_within(t) or None)
