"""The verifier: checks that a graph keeps the promises of the term language."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from termgraph.terms.errors import GraphError
from termgraph.terms.op import ARG, INPUT, Op
from termgraph.terms.term import Term, infer_type, is_term
from termgraph.terms.text import one_line
from termgraph.terms.traverse import children_first


def verify(roots: Iterable[Any], inputs: Sequence[Any] | None = None) -> None:
    """Raise GraphError on the first broken promise: a foreign node, a wrong arity or type, a leaf not in `inputs`."""
    allowed = None if inputs is None else {id(t) for t in inputs}
    for t in children_first(list(roots)):
        if not is_term(t):
            raise GraphError(f"not a ground term: {type(t).__name__} {t!r:.80}")
        if t.op in (INPUT, ARG) and allowed is not None and id(t) not in allowed:
            raise GraphError(f"the graph uses {t!r}, which is not among its inputs {list(inputs or ())}")
        if t.__class__ is Term:
            _verify_interior(t)


def _verify_interior(t: Term) -> None:
    if not isinstance(t.op, Op):
        raise GraphError(f"the head of {one_line(t, 80)} is not an op: {t.op!r}")
    t.op.check_arity(len(t.args))
    if t._tuple != (t.op, *t.args):
        raise GraphError(f"{one_line(t, 80)}: the tuple disagrees with op and arguments")
    expected = infer_type(t.op, t.args)
    if expected is not t.type:
        raise GraphError(f"{one_line(t, 80)} has type {t.type}, but its op gives {expected}")
    if t.op.nout > 1 and len(getattr(t.type, "types", ())) != t.op.nout:
        raise GraphError(f"{one_line(t, 80)} promises {t.op.nout} results, its type is {t.type}")
