"""Which values inside a loop may have another shape in another step: they cannot be stacked.

A carry is taken to keep its lengths, as the virtual machine and compiled code demand where it is stacked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from termgraph.terms.ops.basic import nth
from termgraph.terms.ops.indexing import nonzero, subtensor
from termgraph.terms.ops.loop import loop
from termgraph.terms.ops.shaping import alloc, arange, eye, reshape
from termgraph.terms.ops.sorting import bincount, unique, unique_all
from termgraph.terms.traverse import children_first
from termgraph.terms.types import TensorType

_BY_VALUE = frozenset((nonzero, unique, unique_all, bincount))  # how many elements there are, the values say
_LENGTHS_FROM = {reshape: 1, alloc: 1, arange: 0, eye: 0}  # the first operand that is a length


def varying(roots: Iterable[Any], moving: Iterable[Any]) -> set[Any]:
    """The terms under `roots` whose lengths may differ from step to step, where the leaves `moving` differ in value."""
    values, shapes = set(moving), set()
    for t in children_first(list(roots)):
        if t.op.kind == "length" and not any(a in shapes for a in t.args):
            continue  # the length of something that keeps its shape
        if any(a in values for a in t.args):
            values.add(t)
            if not _is_known(t) and (any(a in shapes for a in t.args) or _asked_for(t, values)):
                shapes.add(t)
    return shapes


def _is_known(t: Any) -> bool:
    """Whether a shape is static, or that of a carry: where a loop ends does not show in it."""
    if t.op.family is nth and t.args[0].op.family is loop:
        inner = t.args[0].op
        if t.op.params["i"] < inner.n_carry:
            return True
    return isinstance(t.type, TensorType) and None not in t.type.shape


def _asked_for(t: Any, values: set[Any]) -> bool:
    """Whether the lengths of a result come from values that move."""
    family = t.op.family
    if family in _BY_VALUE or (family is loop and t.op.params["until"]):
        return True
    return any(a in values for a in _lengths_given(t, family))


def _lengths_given(t: Any, family: Any) -> Iterator[Any]:
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


__all__ = ["varying"]
