"""Costs in the form that is differentiated: `log(1 + exp(x))` as softplus, `exp(x) / exp(x).sum()` as softmax.

Derivatives of such formulas, taken operator by operator, are quotients of what overflows; the second ones are
beyond what rewriting can put together again. Those of the functions are products of numbers between 0 and 1.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from termgraph.grad.reverse import Backward
from termgraph.grad.table import stable_forms
from termgraph.terms.ops.elementwise import add
from termgraph.terms.term import AnyTerm, Input, Term, mk
from termgraph.terms.traverse import substitute


def backward(
    seeds: Mapping[Any, Any],
    wrt: Sequence[AnyTerm],
    constant: Sequence[AnyTerm],
    order: list[AnyTerm],
    known: Sequence[AnyTerm] = (),
) -> Backward:
    """The backward pass from the seeds through the graph in its stable form."""
    forms = stable_graph(order, {*wrt, *constant, *known})
    if forms:
        run = _through(forms, seeds, wrt, constant, known)
        if not run.refused:
            return run
    return Backward(seeds, wrt, constant, order, known).run()  # what is refused is told of the graph as it was written


def _through(
    forms: Mapping[Any, Any],
    seeds: Mapping[Any, Any],
    wrt: Sequence[AnyTerm],
    constant: Sequence[AnyTerm],
    known: Sequence[AnyTerm],
) -> Backward:
    moved: dict[Any, Any] = {}
    for t, g in seeds.items():
        t = forms.get(t, t)
        moved[t] = mk(add, (moved[t], g)) if t in moved else g
    wanted, held, settled = [[forms.get(t, t) for t in terms] for terms in (wrt, constant, known)]
    run = Backward(moved, wanted, held, known=settled)
    run.sources.update({new: old for old, new in forms.items()})
    run.run()
    for t in wrt:
        if t in forms and id(forms[t]) in run.gradients:
            run.gradients[id(t)] = run.gradients[id(forms[t])]
    return run


def stable_graph(order: Sequence[AnyTerm], kept: Collection[AnyTerm]) -> dict[Any, Any]:
    """What stands for terms of a graph, given arguments first; those that stay as they are, are left out.

    Terms that are `kept` stay apart: no function is made of a formula that one of them is inside of.
    """
    stable_forms.refresh()
    new: dict[Any, Any] = {}
    inside: dict[Any, Any] = {}  # what stands for kept terms while formulas are looked at
    fired = False
    for t in order:
        if t.__class__ is not Term:
            continue
        moved = t
        if new and any(a in new for a in t.args):
            moved = mk(t.op, tuple([new.get(a, a) for a in t.args]))
        found = stable_forms.of(moved)
        fired = fired or found is not moved
        if t in kept:
            place = Input("kept", t.type)
            (inside[place],) = substitute([found], inside)
            new[t] = place
        elif found is not t:
            new[t] = found
    if not fired:
        return {}
    whole = dict(zip(new, substitute(list(new.values()), inside)))
    return {t: form for t, form in whole.items() if form is not t}
