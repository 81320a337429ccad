"""Parts of a rule that follow from others, written where they stand: `dtype=x.dtype`, `order=kept(x, a)`.

Each is a metavariable named by what is written, and the goal that computes it. On the left side it is compared with
what is matched there. Which parts there are is fixed here: of types, of axes, of numbers and segments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from unification import Var

from termgraph.rules.fit import length_of
from termgraph.rules.goals import IN_PLACE, Goal, GoalCall, goal
from termgraph.rules.kinds import Kind, PatternTerm, SegVar, param
from termgraph.rules.pattern import Pattern, free_variables
from termgraph.rules.stdgoals import dtype_of
from termgraph.rules.text import pattern_text
from termgraph.terms import build
from termgraph.terms.errors import RuleError
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.derivative import NOTHING
from termgraph.terms.ops.indexing import FULL, subtensor
from termgraph.terms.term import AnyTerm

Order = tuple[int | str, ...]  # of dimensions: places, and "x" for those of length 1 that are new


class Part(Goal):
    """A goal with one answer, written as a function: of metavariables it gives what stands for the answer."""

    without: Callable[..., GoalCall] | None = None  # the order of a dimshuffle: what must hold where that is missing

    def __init__(
        self, function: Callable[..., Any], kind: Kind | None, variable: type, arity: int | None = None
    ) -> None:
        super().__init__(function, "i" * (function.__code__.co_argcount if arity is None else arity) + "o")
        self.function, self.kind, self.variable = function, kind, variable

    def __call__(self, *args: Any) -> Any:
        if not any(isinstance(a, Pattern) for a in args):
            return self.function(*args)
        return _written(self, args, f"{self.name}({', '.join(map(_text, args))})", self.kind, self.variable)


def part_of(kind: Kind | None, variable: type = Var) -> Callable[[Callable[..., Any]], Part]:
    """Declare a part: a function of what is known. `kind` is `param` for parameters, None for terms."""
    return lambda function: Part(function, kind, variable)


def _text(a: object) -> str:
    return pattern_text(getattr(a, "term", a))


def _written(goal: Goal, args: tuple[Any, ...], text: str, kind: Kind | None, variable: type = Var) -> Pattern:
    """A metavariable for the answer of a goal, named by how it is written."""
    v = variable(text)
    call = GoalCall(goal, (*args, v))
    before = IN_PLACE.setdefault(v, call)
    if before.goal is not goal or before.args != call.args:
        raise RuleError(f"{text} means something else in another rule; give its metavariables other names")
    return Pattern(v, kind)


# ---------------------------------------------------------------------- of types
def _dtype(x: Pattern) -> Pattern:
    """The dtype of what `x` stands for, as a parameter: `cast(y, dtype=x.dtype)`."""
    text = _text(x)
    return _written(dtype_of, (x,), f"{text}.dtype" if isinstance(x.term, Var) else f"dtype({text})", param)


Pattern.dtype = property(_dtype)  # type: ignore[attr-defined]


@part_of(None)
def length(x: AnyTerm, axis: int) -> Any:
    """The length of `x` along an axis, as an operand."""
    found = length_of(x, axis)
    return build.length(x, axis) if found is None else found


@part_of(None, SegVar)
def lengths(x: AnyTerm) -> Any:
    """All lengths of `x`, as operands: `reshape(y, *lengths(x))`."""
    return tuple(build.lengths(x))


@part_of(None)
def zeros_like(x: AnyTerm) -> Any:
    """Zeros with the dtype and the lengths of `x`."""
    return build.filled_like(x, 0)


# ---------------------------------------------------------------------- of axes
@part_of(param)
def kept(x: AnyTerm, axes: tuple[int, ...]) -> Any:
    """The order that puts reduced axes of `x` back, with length 1: `dimshuffle(sum_(x, axis=a), order=kept(x, a))`."""
    left = iter(range(x.type.ndim))
    return tuple(["x" if d in axes else next(left) for d in range(x.type.ndim)])


@part_of(param)
def put_back(x: AnyTerm, axes: tuple[int, ...]) -> Any:
    """`kept(x, axes)` for a dimshuffle that may be missing if these are the first axes, where broadcasting does it."""
    return kept.function(x, axes)


@goal("i", fact=True)
def leading(axes: tuple[int, ...]) -> bool:
    """The axes are the first ones: what is left broadcasts against the array without a dimshuffle."""
    return axes == tuple(range(len(axes)))


put_back.without = lambda x, axes: GoalCall(leading, (axes,))


@part_of(param)
def merged(x: AnyTerm, first: tuple[int, ...], then: tuple[int, ...]) -> Any:
    """The axes of `x` that are reduced when the `first` are, and then those of the result that `then` says."""
    left = [d for d in range(x.type.ndim) if d not in first]
    return tuple(sorted((*first, *[left[d] for d in then])))


@part_of(param)
def after(second: Order, first: Order) -> Any:
    """One order of dimensions that does what the `first` and then the `second` does."""
    return tuple([first[d] if isinstance(d, int) else d for d in second])


@part_of(param)
def undone(x: AnyTerm, order: Order) -> Any:
    """The order of dimensions that leads from `dimshuffle(x, order=order)` back to `x`."""
    return tuple([order.index(d) if d in order else "x" for d in range(x.type.ndim)])


@part_of(param)
def unmoved(x: AnyTerm) -> Any:
    """The order of dimensions that leaves `x` as it is."""
    return tuple(range(x.type.ndim))


@part_of(param)
def last_swapped(x: AnyTerm) -> Any:
    """The order of dimensions that swaps the last two of `x`."""
    n = x.type.ndim
    return (*range(n - 2), n - 1, n - 2)


@part_of(param)
def backwards(x: AnyTerm, first: int) -> Any:
    """The index that reads the dimensions of `x` from the `first` on backwards."""
    return (FULL,) * first + (("s", None, None, -1),) * (x.type.ndim - first)


def turned(filters: Pattern, like: Pattern | None = None) -> Pattern:
    """Filters with all their spatial dimensions reversed; `like` has as many dimensions, if they are computed."""
    index = backwards(filters if like is None else like, 2).term
    return Pattern(subtensor.bind(index=index)(filters).term)


def transposed(x: Pattern) -> Pattern:
    """`x` with its last two axes swapped."""
    return Pattern(dimshuffle.bind(order=last_swapped(x).term)(x).term)


# ---------------------------------------------------------------------- of numbers and segments
@part_of(param)
def minus(a: int) -> Any:
    """The number of a parameter with the other sign."""
    return -a


@part_of(None, SegVar)
def each(xs: tuple[AnyTerm, ...], value: AnyTerm) -> Any:
    """The same thing for every operand of a segment."""
    return (value,) * len(xs)


def nothing_for(xs: Pattern) -> Pattern:
    """In a derivative: nothing flows to any operand of the segment."""
    made: Pattern = each(xs, NOTHING)
    return made


# ---------------------------------------------------------------------- in rules
def with_parts(lhs: PatternTerm, rhs: PatternTerm, goals: tuple[Any, ...]) -> tuple[Any, ...]:
    """The goals of a rule together with those of the parts that are written in it, in the order in which they run."""
    out: list[Any] = []
    done = {g.args[-1] for g in goals if isinstance(g, GoalCall) and g.in_place}

    def compute(variables: Iterable[Var]) -> None:
        for v in sorted(variables, key=lambda v: str(v.token)):
            if v in IN_PLACE and v not in done:
                done.add(v)
                compute(IN_PLACE[v].variables() - {v})
                out.append(IN_PLACE[v])

    compute(free_variables(lhs))
    for g in goals:
        if isinstance(g, GoalCall):
            compute(g.variables())
        out.append(g)
    compute(free_variables(rhs))
    return tuple(out)
