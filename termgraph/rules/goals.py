"""Goals: the conditions and computations of a rule, as data.

`@goal("i")` declares a Python test, `@goal("iio")` a computation of its last argument (i: known, o: computed); more
directions are added with `.mode(...)`. `@goal` alone declares a relation: a function that returns a kanren goal. What a
goal mentions decides when it runs; see `stage` and `emit`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any, overload

from unification import Var

from termgraph.rules.pattern import Pattern, free_variables
from termgraph.rules.text import pattern_text
from termgraph.terms.errors import RuleError
from termgraph.terms.facts import OpRelation

KINDS: dict[str, Goal] = {}  # facts about one term, by name: what parts of a pattern may be said to be; see `typed`
IN_PLACE: dict[Var, GoalCall] = {}  # what parts of rules stand for that are written in place; see `parts`


class GoalCall:
    """A goal applied to metavariables and values: one condition of a rule."""

    __slots__ = ("args", "goal")

    def __init__(self, goal: Any, args: tuple[Any, ...]) -> None:
        self.goal = goal
        self.args = tuple([a.term if isinstance(a, Pattern) else a for a in args])

    @property
    def name(self) -> str:
        """The goal's name."""
        name: str = self.goal.name
        return name

    @property
    def over_operators(self) -> bool:
        """Whether it is solved when the rule set is compiled: a relation over operators."""
        return isinstance(self.goal, OpRelation)

    @property
    def in_place(self) -> bool:
        """Whether it computes a part of the rule that is written where it stands: `dtype=x.dtype`."""
        last = self.args[-1] if self.args else None
        made = IN_PLACE.get(last) if isinstance(last, Var) else None
        return made is not None and made.goal is self.goal

    def variables(self) -> set[Var]:
        """The metavariables it mentions."""
        return {v for a in self.args for v in free_variables(a)}

    def pick_mode(self, bound: set[Any]) -> str | None:
        """A mode whose inputs are all bound: every call runs left to right. None if there is no such mode."""
        if not isinstance(self.goal, Goal):
            return "r"
        if self.goal.relation is not None:
            return "r"
        best = None
        for mode in self.goal.modes:
            ready = all(c == "o" or free_variables(a) <= bound for c, a in zip(mode, self.args, strict=True))
            if ready and (best is None or mode.count("o") < best.count("o")):
                best = mode
        return best

    def __repr__(self) -> str:
        if self.in_place:
            return f"the same as {pattern_text(self.args[-1])}"
        return f"{self.name}({', '.join(map(pattern_text, self.args))})"


def _as_goal(self: Pattern, relation: OpRelation, args: tuple[Any, ...]) -> GoalCall:
    """Called by a relation over operators that got a pattern: the goal, as data."""
    return GoalCall(relation, args)


Pattern.as_goal = _as_goal  # type: ignore[attr-defined]


class Goal:
    """A named goal. Applied to metavariables it is recorded in the rule; applied to terms it runs."""

    trusted = False  # whether a query may take it on trust (facts about terms)
    is_fact = False  # whether it is one of the engine's facts: about terms, types, ranges or use
    of_types = False  # whether it is a fact that looks at types alone
    inline: str | None = None  # Python text of the answer over {0}, {1}, ..., where there always is one

    def __init__(self, function: Callable[..., Any], mode: str | None, source: str | None = None) -> None:
        self.name, self.__doc__ = function.__name__, function.__doc__
        self.modes: dict[str, Callable[..., Any]] = {}
        self.relation: Callable[..., Any] | None = None
        self.source = source  # Python text of the test over {0}, {1}, ...
        self.counts_clients = False  # whether it asks how often terms are used
        self.each: str | None = None  # for a test that all operands of a segment pass: the text for one of them
        self.some: str | None = None  # what some operand must be for the goal to be worth calling: text for one
        self.after: Callable[..., Any] | None = None  # it cannot hold before a graph has a term that passes this test
        # on what is known: False where operators and types alone rule it out
        self.worth: Callable[..., Any] | None = None
        if mode is None:
            self.relation = function
            self.arity = len(inspect.signature(function).parameters)
        else:
            self.arity = len(mode)
            self.mode(mode)(function)

    @property
    def worth_of(self) -> int:
        """How many arguments `worth` takes."""
        assert self.worth is not None
        return len(inspect.signature(self.worth).parameters)

    def mode(self, mode: str) -> Callable[[Callable[..., Any]], Goal]:
        """Add a direction: a string of `i` (known) and `o` (computed), one per argument."""
        if not mode or set(mode) - {"i", "o"} or len(mode) != self.arity:
            raise RuleError(f"goal {self.name}: a mode is {self.arity} letters i or o, got {mode!r}")

        def add(function: Callable[..., Any]) -> Goal:
            self.modes[mode] = function
            return self

        return add

    def __call__(self, *args: Any) -> Any:
        if len(args) != self.arity:
            raise TypeError(f"goal {self.name} takes {self.arity} arguments, got {len(args)}")
        if any(isinstance(a, Pattern) for a in args):
            return GoalCall(self, args)
        if self.relation is not None:
            return self.relation(*args)
        return self.run("i" * self.arity, args)

    def run(self, mode: str, args: tuple[Any, ...]) -> Any:
        """Run one direction on known values."""
        function = self.modes.get(mode)
        if function is None:
            raise TypeError(f"goal {self.name} cannot be asked this way ({mode}); it has {sorted(self.modes)}")
        return function(*[a for a, c in zip(args, mode, strict=True) if c == "i"])

    def holds(self, mode: str, inputs: tuple[Any, ...], assume: frozenset[str]) -> bool:
        """Whether a test holds; unknown (None) does not."""
        return bool(self.modes[mode](*inputs))

    def __repr__(self) -> str:
        return f"<goal {self.name}>"


@overload
def goal(mode: Callable[..., Any]) -> Goal: ...
@overload
def goal(
    mode: str | None = None, *, source: str | None = None, each: str | None = None, some: str | None = None,
    worth: Callable[..., Any] | bool | None = None, after: Callable[..., Any] | None = None, fact: bool = False,
    kind: bool = False,
) -> Callable[[Callable[..., Any]], Goal]: ...  # fmt: skip
def goal(
    mode: Callable[..., Any] | str | None = None, *, source: str | None = None, each: str | None = None,
    some: str | None = None, worth: Callable[..., Any] | bool | None = None, after: Callable[..., Any] | None = None,
    fact: bool = False, kind: bool = False,
) -> Any:  # fmt: skip
    """Declare a goal.

    `@goal("i")` is a test: the function returns True to hold; None means unknown, and unknown does not fire.
    `@goal("iio")` computes: the function gets the `i` arguments and returns the `o` value (a tuple for several),
    None for failure; a generator function may yield several answers. `@goal` returns a kanren goal.

    For goals on a segment that are asked of very many terms, `some="{0}.op is CONST"` is Python text that one of the
    operands must satisfy before the function is called at all. `worth=test` says the same of a goal on terms: a
    function of its leading arguments that returns False where the goal cannot hold (True: the goal itself is such a
    test). Both may look at the operators and types of the terms and of their operands, and at which operands are the
    same, and at nothing else: the answer is remembered for all terms that agree in these. `after=test` says that the
    goal holds nowhere until some graph has a term that passes the test, which looks at no more: rules sleep till then.
    `fact=True` marks the facts that the engine has by itself, `kind=True` those of them that say what one term is:
    `square(x)` may be written `x[square]` on the left side.

    A metavariable arrives as a term, a `seg` as a tuple of terms, a `head` as an op, a `param` as its value.

    >>> @goal("i")
    ... def square(x):
    ...     return x.type.ndim == 2 and x.type.shape[0] == x.type.shape[1]
    """
    if callable(mode):
        return Goal(mode, None)
    if mode is not None and not isinstance(mode, str):
        raise TypeError(f'goal takes a mode such as "i" or "iio", got {mode!r}')

    def declare(function: Callable[..., Any]) -> Goal:
        made = Goal(function, mode, source)
        made.each, made.some, made.after, made.is_fact = each, some, after, fact
        made.worth = function if worth is True else worth or None
        if kind:
            KINDS[made.name] = made
        return made

    return declare


def answers(function: Callable[..., Any], args: tuple[Any, ...], outputs: int) -> list[tuple[Any, ...]]:
    """All answers of a computing mode, as tuples of output values."""
    found = function(*args)
    if inspect.isgeneratorfunction(function):
        return [a if outputs != 1 else (a,) for a in found]
    if found is None:
        return []
    return [found if outputs != 1 else (found,)]


def call_site(depth: int = 2) -> str:
    """`file:line` of a caller."""
    frame = sys._getframe(depth)
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
