"""Formulas: parts of right sides written in the tensor language, as users write it.

A formula is given its operands as variables and segments as lists of these, and parameters and operators as they are.
It sees types only, not how its operands came about: for operands of given types it is a term with holes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, overload

from unification import Var

from termgraph.rules.kinds import Kind, SegVar, seg
from termgraph.rules.parts import Part
from termgraph.tensor.lifting import handle
from termgraph.terms.term import is_term


class Formula(Part):
    """A part of a rule that is a formula of the tensor language: `rule("expm", pullback(expm(x), g), slope(x, g))`."""

    def __init__(self, written: Callable[..., Any], kind: Kind | None) -> None:
        @functools.wraps(written)
        def trace(*operands: object) -> Any:
            return _as_terms(written(*map(_as_variables, operands)))

        super().__init__(trace, None, SegVar if kind is seg else Var, written.__code__.co_argcount)
        self.function = written  # called in another formula, it is a piece of that: variables in, variables out


@overload
def formula(written: Callable[..., Any]) -> Formula: ...
@overload
def formula(*, gives: Kind) -> Callable[[Callable[..., Any]], Formula]: ...
def formula(written: Callable[..., Any] | None = None, *, gives: Kind | None = None) -> Any:
    """Declare a formula; `gives=seg` says that its value is a list, one item for each operand.

    >>> @formula
    ... def outer(x, y):
    ...     return x.dimshuffle(0, "x") * y
    """
    return Formula(written, None) if written is not None else lambda made: Formula(made, gives)


def _as_variables(value: object) -> Any:
    if isinstance(value, tuple) and value and all(map(is_term, value)):
        return [handle(v) for v in value]
    return handle(value) if is_term(value) else value


def _as_terms(value: object) -> Any:
    return tuple([_as_terms(v) for v in value]) if isinstance(value, (list, tuple)) else getattr(value, "term", value)
