"""Bare kanren goals in rules: `membero(k, (2., 3.))` stands among the goals of a rule as it does in a kanren program.

A goal of kanren's is a function that remembers what it is about. Where that are metavariables of a rule, a copy is made
that remembers their logic variables, and the rule learns which they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from types import CellType, FunctionType
from typing import Any

from unification import Var

from termgraph._lazy import lazy
from termgraph.rules.goals import GoalCall
from termgraph.rules.pattern import Pattern, free_variables

kanren = lazy("kanren")


class BareGoal:
    """A kanren goal over metavariables, as the goal of a `GoalCall` whose arguments are these."""

    counts_clients = False

    def __init__(self, function: Callable[..., Any], variables: tuple[Var, ...]) -> None:
        self.function, self.variables = function, variables
        self.name = _name(function)
        self.__doc__ = function.__doc__

    def __call__(self, *values: Any) -> Any:
        """The kanren goal, with what is known of the metavariables."""
        known = [kanren.eq(v, value) for v, value in zip(self.variables, values, strict=True) if v is not value]
        return kanren.lall(*known, self.function)

    def __repr__(self) -> str:
        return f"<kanren goal {self.name}>"


def as_call(found: Any) -> Any:
    """A bare kanren goal as the goal of a rule; anything else as it is."""
    if found.__class__ not in (FunctionType, partial):
        return found
    variables: dict[Var, None] = {}
    function = _copied(found, variables, {})
    if not variables:
        return found
    names = tuple(sorted(variables, key=lambda v: str(v.token)))
    return GoalCall(BareGoal(function, names), names)


def _copied(value: Any, variables: dict[Var, None], made: dict[int, Any]) -> Any:
    """The same with logic variables in place of metavariables, which are noted."""
    if isinstance(value, Pattern):
        variables.update(dict.fromkeys(free_variables(value.term)))
        return value.term
    if value.__class__ in (tuple, list):
        return value.__class__([_copied(v, variables, made) for v in value])
    if value.__class__ is dict:
        return {k: _copied(v, variables, made) for k, v in value.items()}
    if value.__class__ is partial:
        return partial(
            _copied(value.func, variables, made),
            *_copied(value.args, variables, made),
            **_copied(value.keywords, variables, made),
        )
    return _copied_function(value, variables, made) if value.__class__ is FunctionType else value


def _copied_function(f: FunctionType, variables: dict[Var, None], made: dict[int, Any]) -> Any:
    if not f.__closure__:
        return f
    if id(f) not in made:
        cells = tuple([CellType() for _ in f.__closure__])
        new = made[id(f)] = FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, cells)
        new.__kwdefaults__, new.__qualname__, new.__doc__ = f.__kwdefaults__, f.__qualname__, f.__doc__
        for old, cell in zip(f.__closure__, cells, strict=True):
            if isinstance(old.cell_contents, Iterator):  # such as the branches of `conde`
                old.cell_contents = tuple(old.cell_contents)
            cell.cell_contents = _copied(old.cell_contents, variables, made)
    return made[id(f)]


def _name(function: Any) -> str:
    """What the author called: the function around the goal that it returned."""
    function = function.func if function.__class__ is partial else function
    outer, _, inner = function.__qualname__.rpartition(".<locals>.")
    name = outer.rpartition(".")[2] or inner
    return _SPOKEN.get(name, name) if name.isidentifier() else "goal"


_SPOKEN = {"ldisj_seq": "any_of", "lconj_seq": "all_of"}  # what conde and lall are made of
