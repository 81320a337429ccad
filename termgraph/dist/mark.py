"""`mean`: the mark for the mean over all workers, in any update."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from termgraph.tensor.graph import ancestors
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import kind_of
from termgraph.terms.ops.workers import mean_over_workers
from termgraph.terms.term import AnyTerm
from termgraph.terms.traverse import children_first


def mean(x: object) -> Any:
    """The mean of x over all workers, weighted by their numbers of examples. With one worker it is x itself.

    Write it around what is computed from the examples of one worker, between gradient and update:

    >>> import termgraph as tg, termgraph.tensor as T
    >>> from termgraph import dist
    >>> x, w = T.dvector("x"), tg.shared(1.0, name="w")
    >>> cost = ((w - x) ** 2).mean()
    >>> f = tg.function([x], cost, updates=[(w, w - 0.5 * dist.mean(tg.grad(cost, w)))])
    >>> float(f([2.0, 4.0])), float(w.get_value())
    (5.0, 3.0)
    """
    v = as_tensor(x)
    if kind_of(v.dtype) not in "fc":
        raise TypeError(f"dist.mean: {v} has dtype {v.dtype}; a mean is a float: write dist.mean(x.astype('float64'))")
    return mean_over_workers(v)


def means_in(variables: Iterable[Any]) -> list[Any]:
    """The marked means from which these variables are computed, each once, in order of use."""
    found: dict[Any, Any] = {}
    for v in ancestors(variables):
        if v.owner is not None and v.term.op.family is mean_over_workers:
            found.setdefault(v.term, v)
    return list(found.values())


def is_in_a_body(variables: Iterable[Any]) -> bool:
    """Whether there is a marked mean in the body of a loop or of a graph that is called as one op."""
    pending: list[Any] = [body for t in children_first([v.term for v in variables]) for body in _bodies(t)]
    seen = set(pending)
    while pending:
        for t in children_first([pending.pop()]):
            if t.op.family is mean_over_workers:
                return True
            pending += [b for b in _bodies(t) if b not in seen]
            seen.update(_bodies(t))
    return False


def _bodies(t: AnyTerm) -> tuple:
    return t.op.params.get("body", ()) if t.args else ()
