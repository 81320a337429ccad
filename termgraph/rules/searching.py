"""kanren searches inside a match: a goal that is a relation, run on what the pattern has matched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from unification import Var, reify
from unification.core import isground

from termgraph.rules.goals import GoalCall
from termgraph.terms.op import Op
from termgraph.terms.term import Term, as_term

if TYPE_CHECKING:
    pass


def searcher(
    call: GoalCall, known: list[Var], outputs: list[Var], rule: Any
) -> Callable[..., Iterator[tuple[Any, ...]]]:
    """A function of the known values that runs a kanren goal and yields the values of the unknown variables."""

    def search(*values: Any) -> Iterator[tuple[Any, ...]]:
        given = dict(zip(known, values, strict=True))
        for state in call.goal(*[reify(a, given) for a in call.args])({}):
            answer = tuple([_value(reify(v, state)) for v in outputs])
            if all(isground(a, state) for a in answer):
                yield answer

    search.__name__ = call.name
    return search


def enumerated(call: GoalCall) -> Iterator[dict[Var, Any] | None]:
    """What a kanren goal says of metavariables of which nothing is known; None where an answer leaves some open."""
    variables = sorted(call.variables(), key=lambda v: str(v.token))
    for state in call.goal(*call.args)({}):
        answer = [_value(reify(v, state)) for v in variables]
        yield dict(zip(variables, answer, strict=True)) if all(isground(a, state) for a in answer) else None


def _value(found: Any) -> Any:
    """An answer as the engine holds it: expression tuples become terms; operators, numbers and tuples stay."""
    if isinstance(found, (Var, Op, tuple, str)) and found.__class__ is not Term:
        return found
    try:
        return as_term(found)
    except TypeError:
        return found
