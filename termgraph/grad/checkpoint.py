"""checkpoint: parts of a graph that are computed again for the gradient, instead of being kept until then."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from termgraph.grad.user_defined import RECOMPUTE
from termgraph.tensor.lifting import handle
from termgraph.tensor.variable import Variable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.op import CONST
from termgraph.terms.ops.call import call
from termgraph.terms.term import Arg, Input
from termgraph.terms.traverse import children_first, resolve_bound, substitute

P = ParamSpec("P")
R = TypeVar("R")


def checkpoint(fn: Callable[P, R], *, name: str | None = None) -> Callable[P, R]:
    """A function like `fn`, whose intermediate results are not kept for the gradient but computed again.

    Wrap a group of layers: a chain of n layers in groups of sqrt(n) needs memory for about 2 sqrt(n) of them instead of
    n, at the price of one more forward pass. `fn` takes variables and returns a variable or a list of them.

    >>> import termgraph as tg, termgraph.tensor as T
    >>> block = tg.checkpoint(lambda x: T.tanh(T.sin(x) * x))
    >>> x = T.dscalar("x")
    >>> f = tg.function([x], tg.grad(block(x), x))
    >>> float(f(0.0))
    0.0
    """
    if not callable(fn):
        raise TypeError(f"checkpoint takes a function of variables, got {type(fn).__name__}")
    traced: Callable[..., Any] = fn
    label: str = name or getattr(fn, "__name__", None) or "checkpoint"

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        given = [a if isinstance(a, Variable) else as_tensor(a) for a in args]
        fresh = [Input(v.name, v.type) for v in given]
        made: Any = traced(*[handle(t) for t in fresh], **kwargs)
        several = isinstance(made, (list, tuple))
        outputs = list(made) if several else [made]
        for i, v in enumerate(outputs):
            if not isinstance(v, Variable):
                raise TypeError(f"checkpoint: {label} must return variables, result {i} is a {type(v).__name__}")
        results = _apply(label, resolve_bound([v.term for v in outputs]), fresh, given)
        return type(made)(results) if several else results[0]

    return wrapped


def _apply(label: str, roots: list[Any], fresh: Sequence[Any], given: Sequence[Variable]) -> list[Any]:
    """The call of a body made of the roots; what they use from outside becomes an operand, too."""
    outside = _outside(roots, set(fresh))
    leaves = [*fresh, *outside]
    args = [Arg(i, t.type) for i, t in enumerate(leaves)]
    body = substitute(roots, dict(zip(leaves, args)))
    op = call.bind(body=tuple(body), takes=tuple([a.type for a in args]), name=label, lop=RECOMPUTE)
    made = op(*given, *[handle(t) for t in outside])
    return made if isinstance(made, list) else [made]


def _outside(roots: Sequence[Any], inside: set) -> list[Any]:
    """The largest terms under the roots that do not depend on the inputs, constants left out."""
    depends: dict[Any, bool] = {}
    found: dict[Any, None] = {}
    order = children_first(roots)
    for t in order:
        depends[t] = t in inside or any(depends[a] for a in t.args)
    for t in order:
        if depends[t]:
            for a in t.args:
                if not depends[a] and a.op is not CONST:
                    found[a] = None
    for r in roots:
        if not depends[r] and r.op is not CONST:
            found[r] = None
    return list(found)
