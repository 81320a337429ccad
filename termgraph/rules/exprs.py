"""Between what users hold (variables, terms, lists of them) and the terms the engine works on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from termgraph.tensor.bipartite import DeferredView
from termgraph.tensor.variable import TensorVariable, Variable
from termgraph.terms.term import AnyTerm, as_term, is_term

if TYPE_CHECKING:
    from termgraph.rules.trace import Trace, Traces


def unwrap(expr: Any) -> tuple[list[Any], Callable[[list[Any], Any], Any]]:
    """The terms of an expression or a list of them, and a function that puts results back into the same form."""
    single = not isinstance(expr, (list, tuple)) or is_term(expr)
    given = [expr] if single else list(expr)
    terms = [_ground(e) for e in given]

    def wrap(new: list[Any], trace: Trace | Traces) -> Any:
        made = _rewrapped(given, terms, new, trace)
        return made[0] if single else made

    return terms, wrap


def _ground(e: AnyTerm | TensorVariable) -> AnyTerm:
    term: AnyTerm = as_term(e)
    if not is_term(term) or term.lvars:
        raise TypeError(f"expected an expression (a variable or a term), got {type(e).__name__} {e!r:.60}")
    return term


class _Sites:
    """The user's line of a rewritten term: that of the term it comes from. Looked up when somebody asks."""

    def __init__(self, trace: Any) -> None:
        self.trace = trace
        self.view: DeferredView | None = None

    def get(self, t: Any, default: tuple[Any, ...] = ()) -> tuple[Any, ...]:
        """The place, or the default."""
        origin = t if self.trace is None else self.trace.origin(t)
        known = self.view.known.get(origin) if self.view is not None else None
        return default if known is None else known.site


def _rewrapped(given: list[Any], old: list[Any], new: list[Any], trace: Trace | Traces) -> list[Any]:
    variables = [e for e in given if isinstance(e, Variable)]
    if not variables:
        return new
    sites = _Sites(trace)
    view = sites.view = DeferredView(variables, sites)
    return [_rewrapped_one(view, e, t, n) for e, t, n in zip(given, old, new, strict=True)]


def _rewrapped_one(view: DeferredView, e: TensorVariable, t: AnyTerm, n: AnyTerm) -> Any:
    if not isinstance(e, Variable):
        return n
    if t is n:
        return e
    v = view.existing(n) if not n.args else view.variable(n, e.site)
    if v.name is None and e.name is not None and n.args:
        v.name = e.name
    return v
