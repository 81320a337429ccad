"""`tg.loop`: a step function from (carry, x) to (carry, y), with nested tuples and dictionaries."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from termgraph.loops.carries import Carry, function_text
from termgraph.loops.close_body import Traced, close
from termgraph.loops.steps import Until, call_step, common_length, rows_of, scalar_condition, steps_variable
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.nested import described, flatten, in_order_of, unflatten
from termgraph.tensor.testvalues import stand_in
from termgraph.tensor.variable import TensorVariable, Variable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.errors import TypeMismatch
from termgraph.terms.ops.loop import plain_text
from termgraph.terms.ops.shaping import specify_shape


def loop(
    body: Callable,
    carry: Any,
    xs: TensorLike | None = None,
    consts: Sequence[Any] = (),
    length: Any = None,
    name: str | None = None,
    recompute: bool = False,
) -> tuple[Any, Any]:
    """Run `body(carry, x, *consts) -> (carry, y)` for each row `x` of `xs`; gives the last carry and all y, stacked.

    `carry`, `xs` and y may be nested tuples, lists and dictionaries of arrays, or None. `length` is the number of
    steps; needed when there are no `xs`. Variables from outside may be used in `body` without being in `consts`.
    `body` may return `(carry, y, tg.until(condition))` to end the loop after the step where the condition holds.
    With `recompute` the gradient keeps only the carry of each step and computes the rest of the step again.
    A carry keeps its dtype and number of dimensions; its lengths may change from step to step.

    >>> import termgraph as tg, termgraph.tensor as T
    >>> x = T.dvector("x")
    >>> last, sums = tg.loop(lambda total, item: (total + item, total + item), 0.0, x)
    >>> f = tg.function([x], [last, sums])
    >>> f([1.0, 2.0, 4.0])
    [array(7.), array([1., 3., 7.])]
    """
    starts, form = flatten(carry)
    sequences, x_form = flatten(xs)
    given = [v if isinstance(v, Variable) else as_tensor(v) for v in consts]
    rows = [(f"xs{path}", v if isinstance(v, Variable) else as_tensor(v)) for path, v in sequences]
    around = [x for _, x in rows]
    carries = [Carry(f"carry{path}", value, _name(value, path), around) for path, value in starts]
    n = steps_variable(length, common_length(rows, equal=length is None), "length")
    if length is None:
        rows = _equally_long(rows, n)
        around = [x for _, x in rows]
    leaves = [_row(label, x) for label, x in rows]
    for _ in range(1 + len(carries)):
        x_now = unflatten(x_form, leaves)
        returned = call_step(body, (unflatten(form, [c.leaf for c in carries]), x_now, *given), {}, "loop")
        news, ys, y_form, stop = _parts(body, returned, carries, form)
        for c, new in zip(carries, news):
            c.take(new)
        changed = [c.adapt() for c in carries]
        if not any(changed):
            break
    traced = Traced(carries, list(zip(leaves, around)), ys, stop)
    results = close(traced, n, body, name=name, recompute=bool(recompute))
    s = len(carries)
    return unflatten(form, results[:s]), unflatten(y_form, results[s : s + len(ys)])


def _equally_long(rows: list[tuple[str, Any]], n: Any) -> list[tuple[str, Any]]:
    """The sequences, checked at run time to have n rows where that is not known."""
    known = getattr(n, "data", None)
    checked = []
    for label, x in rows:
        same = rows_of(x).term is n.term if known is None else x.type.shape[0] == known
        known = (True, *[False] * (x.type.ndim - 1))
        told = (
            f"{plain_text(label)} has {{0}} rows where another sequence of the loop has {{1}}; to use the first rows "
        )
        told += "only, pass length="
        checked.append((label, x if same else specify_shape(x, n, known=known, told=told)))
    return checked


def _name(value: object, path: str) -> str:
    """What a part of the carry is called in the step: as where it starts, by its key, or by its place."""
    return getattr(value, "name", None) or re.sub(r"^carry\['(\w+)'\]$", r"\1", f"carry{path}")


def _row(label: str, x: Variable) -> TensorVariable:
    if x.type.ndim == 0:
        raise TypeMismatch(f"loop: {label} must have a dimension to step along, got {x} of type {x.type}")
    return stand_in(x.type.clone(shape=x.type.shape[1:]).make_variable(f"{x.name or label}[t]"), x, 0)


def _parts(body: Callable, returned: Any, carries: Sequence[Carry], form: Any) -> tuple[list, list, Any, Any]:
    """Next carries, results, the results' structure and the stopping condition out of what `body` returned."""
    stop = None
    if isinstance(returned, tuple) and len(returned) == 3 and isinstance(returned[2], Until):
        stop = scalar_condition(returned[2])
        returned = returned[:2]
    if not isinstance(returned, (tuple, list)) or len(returned) != 2 or isinstance(returned[1], Until):
        raise TypeError(
            f"loop: {function_text(body)} must return (carry, y) or (carry, y, tg.until(condition)), "
            f"got {returned!r:.80}. Return None for y if there is nothing to stack"
        )
    new, new_form = flatten(in_order_of(form, returned[0]))
    if described(new_form) != described(form):
        raise TypeMismatch(
            f"loop: {function_text(body)} must return a carry built like the first one, {described(form)}, "
            f"but it returned {described(new_form)}"
        )
    ys, y_form = flatten(returned[1])
    return [v for _, v in new], [v if isinstance(v, Variable) else as_tensor(v) for _, v in ys], y_form, stop
