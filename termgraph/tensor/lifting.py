"""Functions written for variables, made to work on terms as well: variables in, variables out; terms in, terms out.

Rule authors write right sides with the same functions as users.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from termgraph._arguments import meant
from termgraph.tensor.variable import Constant, TensorConstant, Variable, bare, variable_class
from termgraph.terms.op import CONST
from termgraph.terms.types import TensorType

if TYPE_CHECKING:
    pass

F = TypeVar("F", bound=Callable)
TERM, VARIABLE, PATTERN = 1, 2, 3


def rank_of(value: Any) -> int:
    """0 for plain values, 1 for terms, 2 for variables, 3 for patterns; for a list the highest of its items."""
    lift = getattr(value, "apply_op", None)
    if lift is not None:
        return lift.rank
    if value.__class__ is list or value.__class__ is tuple:
        return max([rank_of(item) for item in value], default=0)
    return 0


def on_terms(function: F) -> F:
    """Let a function of variables take terms too (then it gives terms), and refuse patterns with a sentence."""

    @functools.wraps(function)
    def lifted(*args: Any, **kwargs: Any) -> Any:
        rank = max([rank_of(a) for a in (*args, *kwargs.values())], default=0)
        if rank == VARIABLE or rank == 0:
            try:  # not `named`: what warns counts frames
                return function(*args, **kwargs)
            except TypeError as error:
                if (found := meant(function, error, kwargs)) is not error:
                    raise found from None
                raise
        if rank == PATTERN:
            return _pattern(function, args, kwargs)
        return _to_terms(function(*map(_handle, args), **{k: _handle(v) for k, v in kwargs.items()}))

    return lifted  # type: ignore[return-value]


def pattern_form(build: Callable) -> Callable[[F], F]:
    """Say how a function reads on a pattern, where it is one op: `build` takes the same arguments."""

    def mark(function: F) -> F:
        function.pattern = build  # type: ignore[attr-defined]
        return function

    return mark


def _pattern(function: Callable, args: tuple, kwargs: dict) -> Any:
    build = getattr(function, "pattern", None)
    if build is None:
        raise TypeError(
            f"T.{function.__name__} composes its result from the rank or lengths of its operand, which a pattern does "
            "not have; write the pattern with the ops themselves"
        )
    return build(*args, **kwargs)


def _handle(value: object) -> Any:
    if rank_of(value) != TERM:
        return value
    if isinstance(value, (list, tuple)):
        return type(value)(map(_handle, value))
    return handle(value)


def handle(term: Any) -> Variable:
    """A variable on a term, without its history: enough to build further."""
    tensor = isinstance(term.type, TensorType)
    if term.op is CONST:
        return bare(TensorConstant if tensor else Constant, term, None, ())
    return bare(variable_class(Variable, term.type), term, None, ())


def _to_terms(result: Any) -> Any:
    if isinstance(result, (list, tuple)):
        return type(result)(map(_to_terms, result))
    return getattr(result, "term", result)
