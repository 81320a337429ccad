"""Forward mode: tangents travel from inputs to results.

An op's tangent comes from a rule `pushforward(y, *tangents)`; else, for element-wise ops, from its pullback rule (their
Jacobian is diagonal); else from the pullback of the pullback, which is the same linear map.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from termgraph.grad.checks import can_move
from termgraph.grad.fit import fit_gradient
from termgraph.grad.reverse import Backward, contributions_of, cuts, data_of, refusal_of
from termgraph.grad.table import pullbacks, pushforwards
from termgraph.grad.user_defined import results_of, user_pushforward
from termgraph.terms.build import filled_like, summed
from termgraph.terms.op import INPUT
from termgraph.terms.ops.basic import nth
from termgraph.terms.ops.call import body_on
from termgraph.terms.ops.derivative import NOTHING, no_gradient
from termgraph.terms.ops.elementwise import add
from termgraph.terms.term import AnyTerm, Input, Term, mk
from termgraph.terms.traverse import children_first, substitute
from termgraph.terms.types import TupleType


def tangents_of(roots: Sequence[Any], given: Mapping[Any, Any]) -> list[Any]:
    """The tangents of the roots when terms have the `given` tangents; None where nothing arrives."""
    pullbacks.refresh()
    pushforwards.refresh()
    known: dict[int, Any] = {id(t): g for t, g in given.items()}
    order = children_first(roots)
    read = _results_read(order)
    for t in order:
        if id(t) in known or t.__class__ is not Term or cuts(t.op):
            continue
        if t.op.family is nth:
            whole = known.get(id(t.args[0]))
            found = None if whole is None else whole[t.op.params["i"]]
        elif not any(id(a) in known for a in t.args) or not _has_tangents(t):
            continue
        else:
            found = _tangent(t, [known.get(id(a)) for a in t.args], read.get(id(t), ()))
        if found is not None:
            known[id(t)] = found
    return [known.get(id(r)) for r in roots]


def _results_read(order: Sequence[Any]) -> dict[int, set[int]]:
    """Which results of ops with several are used, by the id of the application."""
    read: dict[int, set[int]] = {}
    for t in order:
        if t.__class__ is Term and t.op.family is nth:
            read.setdefault(id(t.args[0]), set()).add(t.op.params["i"])
    return read


def _has_tangents(t: AnyTerm) -> bool:
    return isinstance(t.type, TupleType) or can_move(t)


def _tangent(t: Any, tangents: Sequence[Any], read: Collection[int]) -> Any:
    """The tangent of one op application: a term, a list of them for several results, or None.

    Of several results only those in `read` need one: the others may have no derivative.
    """
    several = isinstance(t.type, TupleType)
    own = getattr(t.op, "pushforward_terms", None)
    if own is not None:
        return own(t, tangents)
    found = pushforwards.ask(t.op, (t, *[NOTHING if s is None else s for s in tangents]))
    if found is not None:
        if several:
            return [None if s is NOTHING else s for s in found.args]
        return None if found is NOTHING else fit_gradient(found, data_of(t))
    own = user_pushforward(t, tangents, body_tangents)
    if own is not None:
        fitted = [None if s is None else fit_gradient(s, y) for s, y in zip(own, results_of(t))]
        return fitted if several else fitted[0]
    if t.op.kind == "elementwise":
        return _diagonal(t, tangents)
    return _twice_reversed(t, tangents, several, read)


def _diagonal(t: Any, tangents: Sequence[Any]) -> Any:
    """The tangent of an element-wise op: each operand's tangent times the derivative the pullback rule gives."""
    parts = []
    for i, s in enumerate(tangents):
        if s is None:
            continue
        c = contributions_of(t, (s,))[i]
        if c.op.kind == "derivative":
            if c.op is not no_gradient:
                raise refusal_of(t, i, c)
            continue
        parts.append(c)
    if not parts:
        return None
    return fit_gradient(summed(parts), t)


def _twice_reversed(t: Term, tangents: Sequence[Any], several: bool, read: Collection[int]) -> Any:
    """The tangent as the pullback of the pullback, at cotangents that are then forgotten: it is linear in them."""
    results = results_of(t)
    cotangents = [
        Input("cotangent", y.type) if i in read or not several else filled_like(y, 0) for i, y in enumerate(results)
    ]
    seeds: dict[Any, Any] = {}
    for i, (a, s, c) in enumerate(zip(t.args, tangents, contributions_of(t, cotangents))):
        if s is None or c is NOTHING:
            continue
        if c.op.kind == "derivative":
            raise refusal_of(t, i, c)
        c = fit_gradient(c, a)
        seeds[c] = mk(add, (seeds[c], s)) if c in seeds else s
    if not seeds:
        return None
    free = [u for u in cotangents if u.op is INPUT]
    run = Backward(seeds, free).run()
    if run.refused:
        raise next(iter(run.refused.values()))
    found = [run.gradients.get(id(u)) if u.op is INPUT else None for u in cotangents]
    there = [g for g in found if g is not None]
    # zeros that stand for unread results stay: they may be numbers that the tangent is made of
    clean = iter(substitute(there, {u: y for u, y in zip(cotangents, results) if u.op is INPUT}))
    out = [None if g is None else next(clean) for g in found]
    return out if several else out[0]


def body_tangents(t: Term, tangents: Sequence[Any]) -> list[Any]:
    """The tangents of a call's results, from those of its operands."""
    return tangents_of(body_on(t.op, t.args), {a: s for a, s in zip(t.args, tangents) if s is not None})
