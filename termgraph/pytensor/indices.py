"""Indexing and writing. PyTensor's versions keep an index in different ways; here it is as Python writes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import termgraph.tensor as T
from termgraph.pytensor.conversion import OPAQUE, Conversion, cast, converts, is_constant

if TYPE_CHECKING:
    from pytensor.graph.basic import Apply

    from termgraph.tensor.variable import TensorVariable


def index_of(node: Apply, xs: Sequence[Any]) -> tuple:
    """The index, with numbers where PyTensor has constants: static lengths depend on them."""
    first = len(node.inputs) - len(xs)
    entries = [_entry(v, x) for v, x in zip(node.inputs[first:], xs)]
    listed = getattr(node.op, "idx_list", None)
    if listed is None:  # up to 2.x the advanced ops have only operands, slices among them
        return tuple(entries)
    given = iter(entries)

    def take(part: Any) -> Any:
        """A part of an index: a position among the operands (3.x), a type that stands for the next one (2.x)."""
        if part is None:
            return None
        if isinstance(part, int):
            return entries[part] if positions else part
        return next(given)

    positions = not any(_is_type(p) for e in listed for p in _parts(e))
    return tuple([slice(*map(take, _parts(e))) if isinstance(e, slice) else take(e) for e in listed])


def _parts(entry: object) -> tuple:
    return (entry.start, entry.stop, entry.step) if isinstance(entry, slice) else (entry,)


def _is_type(part: object) -> bool:
    return hasattr(part, "dtype")


def _entry(v: Any, x: object) -> Any:
    if is_constant(v) and getattr(v.type, "ndim", None) == 0 and v.type.dtype != "bool":
        return int(v.data)
    return x


def _has_unknown_slices(index: Sequence[object]) -> bool:
    """Whether a slice is an argument of the function, known in each call only."""
    return any(getattr(x, "type", None) is OPAQUE for x in index)


@converts("MakeSlice")
def _make_slice(c: Conversion, node: Apply, *parts: TensorVariable) -> Any:
    return slice(*[_entry(v, x) for v, x in zip(node.inputs, parts)])


@converts("Subtensor AdvancedSubtensor AdvancedSubtensor1", reads="idx_list sparse_grad")
def _read(c: Conversion, node: Apply, x: TensorVariable, *index: TensorVariable) -> Any:
    if _has_unknown_slices(index):
        return NotImplemented
    return x[index_of(node, index)]


@converts(
    "IncSubtensor AdvancedIncSubtensor AdvancedIncSubtensor1",
    reads="idx_list set_instead_of_inc ignore_duplicates destroyhandler_tolerate_aliased",
)
def _write(c: Conversion, node: Apply, x: TensorVariable, y: TensorVariable, *index: TensorVariable) -> Any:
    op = node.op
    if _has_unknown_slices(index) or (getattr(op, "ignore_duplicates", False) and not op.set_instead_of_inc):
        return NotImplemented
    write = T.set_subtensor if op.set_instead_of_inc else T.inc_subtensor
    return write(x[index_of(node, index)], cast(y, x.type.dtype))
