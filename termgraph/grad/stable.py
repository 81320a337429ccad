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
from termgraph.terms.traverse import children_first_until, substitute


def backward(
    seeds: Mapping[Any, Any],
    wrt: Sequence[AnyTerm],
    constant: Sequence[AnyTerm],
    order: list[AnyTerm],
    known: Sequence[AnyTerm] = (),
) -> Backward:
    """The backward pass from the seeds through the graph in its stable form."""
    forms, places = stable_graph(order, {*wrt, *constant, *known})
    if forms:
        run = _through(forms, places, seeds, wrt, constant, known)
        if not run.refused:
            return run
    return Backward(seeds, wrt, constant, order, known).run()  # what is refused is told of the graph as it was written


def _through(
    forms: Mapping[Any, Any],
    places: Mapping[Any, Any],
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
    behind = {forms[t]: form for t, form in places.items()}
    run = Backward(moved, wanted, held, _order(moved, behind) if behind else None, settled, behind)
    run.sources.update({new: old for old, new in forms.items()})
    run.run()
    for t in wrt:
        if t in forms and id(forms[t]) in run.gradients:
            run.gradients[id(t)] = run.gradients[id(forms[t])]
    if places:
        _as_written(run, wrt, {forms[t]: t for t in places})
    return run


def _order(seeds: Mapping[Any, Any], behind: Mapping[Any, Any]) -> list[AnyTerm]:
    """The graph below the seeds, arguments first, and what a place stands for before it."""
    found: list[AnyTerm] = []
    done: dict[int, AnyTerm] = {}
    for place, form in behind.items():
        new = [*children_first_until([form], done), place]
        found += new
        done.update((id(t), t) for t in new)
    return found + list(children_first_until(seeds, done))


def _as_written(run: Backward, wrt: Sequence[AnyTerm], back: Mapping[Any, Any]) -> None:
    """Gradients of what was asked about: they may be differentiated by it again, or it may be replaced in them."""
    there = [id(t) for t in wrt if id(t) in run.gradients]
    made, sources = list(run.sources), list(run.sources.values())
    new = substitute([*[run.gradients[k] for k in there], *made, *sources], back)
    run.gradients.update(zip(there, new))
    run.sources = dict(zip(new[len(there) :], new[len(there) + len(made) :]))


def stable_graph(order: Sequence[AnyTerm], kept: Collection[AnyTerm]) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """What stands for terms of a graph, given arguments first, and what kept terms are computed from.

    Terms that are `kept` stay apart: an input stands for each, so that no function is made of a formula that one of
    them is inside of, and none becomes one with another term. Those that stay as they are, are left out.
    """
    stable_forms.refresh()
    new: dict[Any, Any] = {}
    places: dict[Any, Any] = {}
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
            new[t], places[t] = Input("kept", t.type), found
        elif found is not t:
            new[t] = found
    return (new, places) if fired else ({}, {})
