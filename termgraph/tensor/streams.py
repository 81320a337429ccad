"""How far shared variables with default updates, as random streams have them, are when a graph has been computed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from termgraph.tensor.bipartite import variables_of
from termgraph.terms.ops.basic import nth
from termgraph.terms.ops.loop import Parts, loop
from termgraph.terms.term import AnyTerm, mk
from termgraph.terms.traverse import children_first, resolve_bound, substitute

if TYPE_CHECKING:
    from termgraph.tensor.variable import Variable


def loops_in(variables: Iterable[Variable]) -> list[Any]:
    """The loops that variables are computed by."""
    terms = children_first(resolve_bound([v.term for v in variables]))
    return [t for t in terms if t.args and t.op.family is loop]


def advanced(v: Any, loops: Iterable[Any]) -> Any:
    """The default update of a shared variable, or what a loop leaves of it whose steps make that update, each of them.

    A loop that draws in every step would otherwise begin one draw later the next time, and repeat all others.
    """
    new = v._default_update
    for t in loops:
        for i, init in enumerate(Parts(t.op, t.args).inits):
            if init is v.term and _updates(t, i, v.term, new.term):
                return variables_of([mk(nth.bind(i=i), (t,))])[0]
    return new


def _updates(t: AnyTerm, i: int, state: AnyTerm, new: AnyTerm) -> bool:
    """Whether carry i of a loop becomes what `new` makes of `state`, in each step or in each of a loop in the step."""
    leaf, after = t.op.leaves[t.op.n_consts + i], t.op.next_carries[i]
    if after is substitute([new], {state: leaf})[0]:
        return True
    inner = after.args[0] if after.args and after.op.family is nth else None
    if inner is None or inner.op.family is not loop:
        return False
    k, inits = after.op.params["i"], Parts(inner.op, inner.args).inits
    return k < len(inits) and inits[k] is leaf and _updates(inner, k, state, new)
