"""`db.saturate`: the cheapest of all forms that rules give an expression."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, overload

from termgraph.db.database import query
from termgraph.rules.exprs import unwrap
from termgraph.rules.price import price
from termgraph.rules.saturation import Saturated
from termgraph.rules.saturation import saturate as search
from termgraph.rules.trace import Traces

if TYPE_CHECKING:
    from termgraph.tensor.variable import TensorVariable, Variable

ROUNDS, LIMIT = 8, 5000


@overload
def saturate(
    expr: Variable,
    *spec: Any,
    assume: Iterable[str] | None = ...,
    cost: Callable[[Any], float] = ...,
    rounds: int = ...,
    limit: int = ...,
    report: Literal[False] = ...,
) -> TensorVariable: ...
@overload  # a list, a term, or with the report
def saturate(
    expr: Any,
    *spec: Any,
    assume: Iterable[str] | None = ...,
    cost: Callable[[Any], float] = ...,
    rounds: int = ...,
    limit: int = ...,
    report: bool = ...,
) -> Any: ...
def saturate(
    expr: Any,
    *spec: Any,
    assume: Iterable[str] | None = None,
    cost: Callable[[Any], float] = price,
    rounds: int = ROUNDS,
    limit: int = LIMIT,
    report: bool = False,
) -> Any:
    """The expression (or list of expressions) in the cheapest form that rules give it, used in both directions.

    Rewriting applies one rule after the other, each from left to right, and never goes back. Here all forms are kept
    until no rule finds another (or after `rounds` rounds, or with `limit` forms), so that no step stands in the way of
    another; it takes a hundred times as long. Without a query, the rules tagged `saturate` are used: products in
    another order, logarithms and exponentials of sums and products, and the like. `cost(term)` is what the root of a
    term costs, in any unit, by default a rough count of arithmetic from the lengths that types know. `report=True` also
    gives what was done.

    >>> import termgraph as tg, termgraph.tensor as T
    >>> sizes = {"a": (9, 99), "b": (99, 5), "c": (5, 80), "d": (80, 4)}
    >>> a, b, c, d = [T.tensor(name, dtype="float64", shape=shape) for name, shape in sizes.items()]
    >>> tg.db.saturate(a @ b @ c @ d).term
    dot(dot(a, b), dot(c, d))
    """
    rs = query(*(spec or ("+saturate",)), assume=assume)
    canonical = query("+fast_run", "&canonicalize", assume=assume)
    terms, wrap = unwrap(expr)
    traces = Traces()
    found = terms
    for tidy in (True, False, True):
        if tidy:
            found, trace = canonical.rewrite_terms(found)
        else:
            best: Saturated = search(found, rs.rules, cost, rs.assume, rounds, limit)
            found, trace = best.terms, best.trace
        traces.append(trace)
    new = wrap(found, traces)
    return (new, best) if report else new
