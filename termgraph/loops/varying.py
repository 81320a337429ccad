"""Which values inside a loop may have another shape in another step: they cannot be stacked.

A carry is taken to keep its lengths, as the virtual machine and compiled code demand where it is stacked; unless trying
a step with arrays of zeros shows that it does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from termgraph._lazy import lazy
from termgraph.terms.evaluate import evaluate
from termgraph.terms.ops.basic import nth
from termgraph.terms.ops.indexing import nonzero, subtensor
from termgraph.terms.ops.loop import loop
from termgraph.terms.ops.shaping import alloc, arange, eye, join, reshape
from termgraph.terms.ops.sorting import bincount, unique, unique_all, unique_counts, unique_inverse
from termgraph.terms.traverse import children_first
from termgraph.terms.types import TensorType

if TYPE_CHECKING:
    from termgraph.terms.op import Op
    from termgraph.terms.term import AnyTerm

_linear = lazy("termgraph.rules.linear")

_BY_VALUE = frozenset(
    (nonzero, unique, unique_all, unique_counts, unique_inverse, bincount)
)  # how many elements there are, the values say
_LENGTHS_FROM = {reshape: 1, alloc: 1, arange: 0, eye: 0}  # the first operand that is a length
_CHANGES = frozenset((join, subtensor, reshape, alloc))  # without one of these a step keeps all lengths, or fails


def varying(roots: Iterable[Any], moving: Iterable[Any], grown: Iterable[Any] = ()) -> set[Any]:
    """The terms under `roots` whose lengths may differ from step to step, where the leaves `moving` differ in value,
    and those of `grown` in length.
    """
    values, shapes = set(moving), set(grown)
    for t in children_first(list(roots)):
        if t.op.kind == "length" and not any(a in shapes for a in t.args):
            continue  # the length of something that keeps its shape
        if any(a in values for a in t.args):
            values.add(t)
            if not _is_known(t) and (any(a in shapes for a in t.args) or _asked_for(t, values)):
                shapes.add(t)
    return shapes


def growing(op: Any) -> list[Any]:
    """The carries of a loop whose lengths surely change from step to step, as far as trying two lengths shows."""
    carries = op.leaves[op.n_consts : op.n_consts + op.n_carry]
    if all(t.op.family not in _CHANGES for t in children_first(op.next_carries)):
        return []
    return [leaf for leaf, new in zip(carries, op.next_carries) if all(_changes(op, leaf, new, n) for n in (2, 3))]


def _changes(op: Any, leaf: AnyTerm, new: AnyTerm, n: int) -> bool:
    """Whether a step changes the lengths of a carry where those that are not known are n."""
    if not all(isinstance(t.type, TensorType) for t in op.leaves):
        return False
    zeros = {t: np.zeros([n if k is None else k for k in t.type.shape], t.type.np_dtype) for t in op.leaves}
    try:
        with np.errstate(all="ignore"):
            return bool(evaluate([new], zeros)[0].shape != zeros[leaf].shape)
    except Exception:
        return False  # these lengths do not fit: nothing is known


def _is_known(t: AnyTerm) -> bool:
    """Whether a shape is static, or that of a carry: where a loop ends does not show in it."""
    if t.op.family is nth and t.args[0].op.family is loop:
        inner = t.args[0].op
        if t.op.params["i"] < inner.n_carry:
            return True
    return isinstance(t.type, TensorType) and None not in t.type.shape


def _asked_for(t: AnyTerm, values: set[Any]) -> bool:
    """Whether the lengths of a result come from values that move."""
    family = t.op.family
    if family is bincount and _linear.are_places(t.args[0], t.args[1]):
        return t.args[1] in values
    if family in _BY_VALUE or (family is loop and t.op.params["until"]):
        return True
    return any(a in values for a in _lengths_given(t, family))


def _lengths_given(t: AnyTerm, family: Op) -> Iterator[Any]:
    """The operands that say how long the result is."""
    if family in _LENGTHS_FROM:
        yield from t.args[_LENGTHS_FROM[family] :]
    elif family is loop:
        yield t.args[0]
    elif family is subtensor:
        given = iter(t.args[1:])
        for entry in t.op.params["index"]:
            parts = entry if isinstance(entry, tuple) else (entry,)
            operands = [next(given) for part in parts if part == "?"]
            yield from operands if isinstance(entry, tuple) else ()
