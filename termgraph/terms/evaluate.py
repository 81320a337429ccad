"""The reference semantics: a graph of terms evaluated by the NumPy meaning of its ops, one node at a time.

Slow and plain on purpose: the prover, the tests and the fallback of the VM compare with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from termgraph.terms.errors import GraphError, MissingInputError, ShapeError
from termgraph.terms.op import CONST, Op
from termgraph.terms.term import Term
from termgraph.terms.text import one_line
from termgraph.terms.traverse import children_first_until
from termgraph.terms.types import TensorType, TupleType, Type


def evaluate(
    roots: Sequence[Any], given: Mapping[Any, Any] | None = None, apply: Callable[[Term, list[Any]], Any] | None = None
) -> list[Any]:
    """The values of the root terms when leaves (or any other terms) have the `given` values.

    `apply(term, values)` is what gives a term its value, if not the meaning of its op.

    >>> from termgraph.terms.ops.elementwise import add
    >>> from termgraph.terms.term import Input
    >>> x = Input("x", TensorType("float64", (None,)))
    >>> evaluate([add(x, 1.0)], {x: [1.0, 2.0]})
    [array([2., 3.])]
    """
    roots = [getattr(r, "term", r) for r in roots]
    values = {id(k): k.type.filter(v) for k, v in _terms_of(given or {})}
    apply = apply or apply_meaning
    order = list(children_first_until(roots, values))
    waiting = _use_counts(order, roots)
    for t in order:
        if t.__class__ is Term:
            values[id(t)] = apply(t, [values[id(a)] for a in t.args])
            for a in t.args:
                waiting[id(a)] -= 1
                if not waiting[id(a)]:
                    del values[id(a)]  # so that long chains of large arrays fit in memory
        elif t.op is CONST:
            values[id(t)] = t.value
        else:
            raise MissingInputError(f"no value was given for {t!r} of type {t.type}")
    return [values[id(r)] for r in roots]


def _terms_of(given: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    return [(getattr(k, "term", k), v) for k, v in given.items()]


def _use_counts(order: list[Any], roots: list[Any]) -> dict[int, int]:
    uses: dict[int, int] = {}
    for t in order:
        for a in t.args:
            uses[id(a)] = uses.get(id(a), 0) + 1
    for r in roots:
        uses[id(r)] = uses.get(id(r), 0) + 1
    return uses


def apply_meaning(t: Term, values: list[Any]) -> Any:
    """The value of one term from the values of its arguments, with every promise of its type checked."""
    try:
        check_arguments(t.op, [a.type for a in t.args], values)
        return conform(t, t.op.meaning(*values))
    except Exception as err:
        err.add_note(f"while evaluating {one_line(t, 120)} on {_describe(values)}")
        raise


def _describe(values: list[Any]) -> str:
    parts = [f"{v.dtype}{list(v.shape)}" if isinstance(v, np.ndarray) else type(v).__name__ for v in values]
    return ", ".join(parts) or "no arguments"


def check_arguments(op: Op, types: Sequence[Type], values: Sequence[Any]) -> None:
    """What static types leave to run time; an op with its own conditions has a `runtime_check(types, values)`."""
    own: Callable[..., Any] | None = getattr(op, "runtime_check", None)
    if own is not None:
        own(types, values)
    elif op.kind == "elementwise":
        check_broadcast(op.name, [t.shape for t in types], [v.shape for v in values])  # type: ignore[attr-defined]


def check_broadcast(what: str, static: Sequence[tuple[Any, ...]], shapes: Sequence[tuple[Any, ...]]) -> None:
    """Broadcasting at run time: a length that was not declared to be 1 does not stretch.

    `static` holds the lengths known from the types (None: unknown), `shapes` those of the values.
    """
    first = shapes[0]
    for s in shapes:
        if s != first:
            break
    else:
        return
    ndim = max(map(len, shapes))
    for axis in range(-ndim, 0):
        have = [(i, s[axis]) for i, s in enumerate(shapes) if len(s) >= -axis]
        long = [n for _, n in have if n != 1]
        if not long:
            continue
        for i, n in have:
            if n == 1 and static[i][axis] != 1:
                raise ShapeError(_hidden_one(what, i, len(shapes[i]) + axis, long[0]))
            if n != 1 and n != long[0]:
                raise ShapeError(
                    f"{what}: operands of shapes {' and '.join(map(str, shapes))} do not broadcast: "
                    f"{long[0]} against {n} in dimension {ndim + axis}"
                )


def _hidden_one(what: str, operand: int, axis: int, other: int) -> str:
    place = f"operand {operand} has length 1 in dimension {axis}, where another has length {other}"
    return f"{what}: {place}; {HOW_TO_BROADCAST}"


HOW_TO_BROADCAST = (
    "it was not declared to broadcast there when the graph was built. If it should, say so: give the input a static "
    "length (shape=(1, ...), or a row or col type), or use T.addbroadcast(x, axis) or T.specify_shape(x, ...)"
)


def conform(t: Term, value: np.ndarray) -> np.ndarray:
    """The value as the term's type promises it; an op that breaks its own promise is an error, not a conversion."""
    if isinstance(t.type, TupleType):
        if not isinstance(value, (tuple, list)) or len(value) != len(t.type.types):
            raise GraphError(f"{t.op} promises {len(t.type.types)} results, its meaning gave {value!r:.60}")
        return tuple([_conform_one(t, v, type_) for v, type_ in zip(value, t.type.types, strict=True)])
    return _conform_one(t, value, t.type)


def _conform_one(t: Term, value: np.ndarray, type_: Type) -> np.ndarray:
    if not isinstance(type_, TensorType):
        return value
    array = np.asarray(value)
    if array.dtype != type_.np_dtype or array.ndim != type_.ndim:
        raise GraphError(f"{t.op} promises {type_}, its meaning gave an array of {array.dtype}{list(array.shape)}")
    for axis, (want, got) in enumerate(zip(type_.shape, array.shape, strict=True)):
        if want is not None and want != got:
            raise ShapeError(f"{t.op} promises length {want} in dimension {axis}, its value has shape {array.shape}")
    return array
