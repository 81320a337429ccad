"""Reverse mode: cotangents travel from results to arguments, one derivative rule per op. Linear in the graph's size.

The cotangent of a sparse matrix is that of its stored elements, a vector. The convention for complex numbers inside is
the holomorphic one (rules carry no conjugates); `api` conjugates at both ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from termgraph._lazy import lazy
from termgraph.grad.checks import can_move
from termgraph.grad.fit import fit_thin, spread
from termgraph.grad.gates import Arrived, Gate, Gates, whole
from termgraph.grad.table import pullbacks
from termgraph.terms.build import filled_like, summed
from termgraph.terms.errors import GradNotImplementedError, NullTypeGradError
from termgraph.terms.ops.barrier import later
from termgraph.terms.ops.basic import nth
from termgraph.terms.ops.derivative import NOTHING, missing, no_gradient, undefined, undefined_gradient
from termgraph.terms.ops.gradmarks import disconnected_grad
from termgraph.terms.ops.sparse import csm_data
from termgraph.terms.sparse import SparseType
from termgraph.terms.term import Arg, Term, mk
from termgraph.terms.traverse import children_first, grouped, substitute
from termgraph.terms.types import TensorType, TupleType

if TYPE_CHECKING:
    from termgraph.grad import user_defined
    from termgraph.terms.op import Op
    from termgraph.terms.term import AnyTerm
else:
    user_defined = lazy("termgraph.grad.user_defined")  # asked about ops that no rule is of


def cuts(op: Op) -> bool:
    """Whether results of the op count as independent of its operands."""
    return op.kind == "length" or op is disconnected_grad


class Refusal(Exception):
    """A derivative that is needed and does not exist, or that nobody wrote. `api` turns it into the user's error."""

    def __init__(self, kind: type, what: str, term: AnyTerm, argument: Any) -> None:
        super().__init__(what)
        self.kind, self.what, self.term, self.argument = kind, what, term, argument


class Backward:
    """One backward pass. `gradients[id(t)]` is what arrived at t; `reached` are the terms that depend on `wrt`."""

    def __init__(
        self,
        seeds: Mapping[Any, Any],
        wrt: Sequence[Any],
        constant: Iterable[Any] = (),
        order: list[Any] | None = None,
        known: Iterable[Any] = (),
        behind: Mapping[Any, Any] | None = None,
    ) -> None:
        """`behind` an input may be a term, with which it shares what arrives there."""
        pullbacks.refresh()
        self.order = children_first(seeds) if order is None else order
        self.stop = {id(t) for t in constant}
        self.wrt = {id(t) for t in wrt}
        self.behind = behind or {}
        self.reached = self._reached()
        self.gates = Gates()
        self.waiting: dict[int, list] = {
            id(t): [self.gates.opened(None, g)] for t, g in seeds.items() if id(t) in self.reached
        }
        self.reached.difference_update(id(t) for t in known)  # they have their cotangent: nothing is added to it
        self.gradients: dict[int, Any] = {}
        self.refused: dict[int, Refusal] = {}
        self.sources: dict[Any, Any] = {}  # gradient term -> the term whose derivative it is part of

    def _reached(self) -> set[int]:
        """The terms that depend on `wrt` other than through lengths."""
        found, stop = set(self.wrt), self.stop
        for t in self.order:
            if t.args and id(t) not in stop and not cuts(t.op):
                for a in t.args:
                    if id(a) in found:
                        found.add(id(t))
                        break
            elif id(t) not in stop and t in self.behind and id(self.behind[t]) in found:
                found.add(id(t))
        return found

    def run(self) -> Backward:
        """Push every cotangent down to `wrt`."""
        reached, waiting, stop = self.reached, self.waiting, self.stop
        for t in reversed(self.order):
            parts = waiting.pop(id(t), None)
            if parts is None:
                continue
            if t.type.__class__ is TupleType:
                self._push(t, *_every_result(self.gates, t, parts))
                continue
            gate, g = self.gates.total(parts, data_of(t))
            if len(parts) > 1:
                self.sources.setdefault(g, t)
            full = g
            if t.type.__class__ is not SparseType and g.type is not t.type:
                if t.op.kind != "elementwise":
                    g = full = spread(g, t)
                elif id(t) in self.wrt:
                    full = spread(g, t)
            self.gradients[id(t)] = whole(Arrived(gate, full), data_of(t)) if id(t) in self.wrt else full
            if t.__class__ is not Term or id(t) in stop:
                if id(t) not in stop and t in self.behind and id(self.behind[t]) in reached:
                    waiting.setdefault(id(self.behind[t]), []).append(Arrived(gate, g))
                continue
            if t.op.family is nth:
                if id(t.args[0]) in reached:
                    waiting.setdefault(id(t.args[0]), []).append((t.op.params["i"], Arrived(gate, g)))
            elif not cuts(t.op):
                self._push(t, gate, (g,))
        return self

    def _push(self, t: Term, gate: Gate | None, cotangents: Sequence[Any]) -> None:
        """Hand the contributions of one op application, whose cotangents came through a gate, to its arguments."""
        reached, waiting = self.reached, self.waiting
        for a in t.args:
            if id(a) in reached:
                break
        else:
            return
        contributions = contributions_of(t, cotangents, [id(a) in reached for a in t.args])
        result = t if t.op.kind == "elementwise" else None
        for i, (a, c) in enumerate(zip(t.args, contributions)):
            if id(a) not in reached or c is None:
                continue
            # Of the argument's type it needs no fitting, unless the argument was broadcast and c is thin.
            if c.type is not a.type or (result is not None and a.type is not t.type):
                if c.op.kind == "derivative":
                    if c.op is not no_gradient and can_move(a):
                        self._refuse(t, i, c)
                    continue
                if not can_move(a):
                    continue
                c = fit_thin(c, data_of(a), result)
            elif not can_move(a):  # zeros for a whole number among several results, which need no rule of its own
                continue
            arrived = self.gates.opened(gate, c)
            self.sources.setdefault(arrived.inner, t)
            found = waiting.get(id(a))
            if found is None:
                waiting[id(a)] = [arrived]
            else:
                found.append(arrived)

    def _refuse(self, t: Term, i: int, c: Term) -> None:
        self.refused.setdefault(id(t.args[i]), refusal_of(t, i, c))


def refusal_of(t: Term, i: int, c: Term) -> Refusal:
    """The refusal for a rule's answer `c` (undefined or missing) about argument i of t."""
    reason = c.op.params["reason"]
    undefined = c.op.family is undefined_gradient
    kind: type = NullTypeGradError if undefined else GradNotImplementedError
    state = "is not defined" if undefined else "is not implemented"
    what = f"the gradient of {t.op} with respect to its argument {i} {state}{': ' + reason if reason else ''}"
    return Refusal(kind, what, t, t.args[i])


def data_of(t: AnyTerm) -> Any:
    """What a gradient with respect to `t` looks like: `t` itself, or the stored elements of a sparse matrix."""
    return mk(csm_data, (t,)) if t.type.__class__ is SparseType else t


def _every_result(gates: Gates, t: Term, parts: list) -> tuple[Gate | None, list]:
    """One cotangent per result of an op with several, and their gate; zeros for those nothing came back from.

    An op that brings its own `pullback_terms` gets None there: zeros would have it compute lengths it need not know.
    """
    own = hasattr(t.op, "pullback_terms")
    by_index = grouped((i, arrived) for i, arrived in parts)
    results = [mk(nth.bind(i=i), (t,)) for i in range(len(t.type.types))]
    totals = [gates.total(by_index[i], y) if i in by_index else None for i, y in enumerate(results)]
    gate, found = gates.together(totals, results)
    return gate, [filled_like(y, 0) if g is None and not own else g for g, y in zip(found, results)]


def contributions_of(t: Term, cotangents: Sequence[Any], wanted: Sequence[bool] | None = None) -> Sequence[Any]:
    """What the cotangents of one op application contribute to each of its arguments (at least to the `wanted` ones)."""
    own = getattr(t.op, "pullback_terms", None)
    if own is not None:
        return own(t, cotangents, wanted)
    found = pullbacks.ask(t.op, (t, *cotangents))
    if found is not None:
        return found.args
    own = user_defined.user_pullback(t, cotangents, body_pullback)
    if own is not None:
        return own
    lost = missing(f"there is no rule pullback({t.op.name}(...), g); write one as in rules/grad.py")
    return (lost,) * len(t.args)


# ---------------------------------------------------------------------- bodies of calls
def body_pullback(t: Term, cotangents: Sequence[Any]) -> Sequence[Any]:
    """The gradient of the body, with the operands put in."""
    body, takes = t.op.params["body"], t.op.params["takes"]
    args = [Arg(i, type_) for i, type_ in enumerate(takes)]
    seeds: dict[Any, Any] = {}
    places: dict[Any, Any] = {}
    for j, (y, g) in enumerate(zip(body, cotangents)):
        if not can_move(y):
            continue
        seed = Arg(len(args) + j, y.type)
        places[seed] = g
        seeds[y] = seeds[y] + [seed] if y in seeds else [seed]
    run = Backward({y: summed(parts) for y, parts in seeds.items()}, [a for a in args if can_move(a)]).run()
    operands = list(t.args)
    if t.op.params["lop"] == user_defined.RECOMPUTE:
        operands = [mk(later, (a, *places.values())) if isinstance(a.type, TensorType) else a for a in operands]
    places.update(zip(args, operands))
    out = []
    for a in args:
        if id(a) in run.refused:
            refusal = run.refused[id(a)]
            out.append((undefined if refusal.kind is NullTypeGradError else missing)(refusal.what))
        else:
            out.append(run.gradients.get(id(a), NOTHING))
    inner = next(iter(run.refused.values()), None)
    if inner is not None:
        out = [
            missing(f"inside {t.op}: {inner.what}") if c is NOTHING and can_move(a) else c for a, c in zip(args, out)
        ]
    return substitute(out, places)
