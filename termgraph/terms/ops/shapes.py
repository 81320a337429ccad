"""Static shape arithmetic shared by the op tables. An unknown length is None."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from termgraph.terms.errors import ShapeError
from termgraph.terms.types import Shape, TensorType, Type, shape_text

if TYPE_CHECKING:
    from termgraph.terms.term import AnyTerm

# Where the length of an axis of a term comes from: an operand and its axis, or an operand that *is* the length. None if
# it is computed. Stands on the op as `length_from`.
Source = tuple[Any, int] | None
IS_GIVEN = -1


def as_first(t: AnyTerm, axis: int) -> Source:
    """The result is as long as the first operand."""
    return t.args[0], axis


def as_given(t: AnyTerm, axis: int) -> Source:
    """Lengths are the operands behind the first; one of -1 is computed."""
    n = t.args[1 + axis]
    return None if getattr(n, "scalar", None) == -1 else (n, IS_GIVEN)


def as_kept(t: AnyTerm, axis: int) -> Source:
    """Axes that are not reduced stay."""
    reduced = t.op.params["axis"]
    reduced = reduced if isinstance(reduced, tuple) else (reduced,)
    return t.args[0], [d for d in range(t.args[0].type.ndim) if d not in reduced][axis]


def broadcast_shapes(shapes: Sequence[Shape], what: str = "operands") -> Shape:
    """NumPy broadcasting of static shapes; an unknown length against n gives n (run time refuses a hidden 1)."""
    first = shapes[0]
    for s in shapes:
        if s != first:
            break
    else:
        return first
    ndim = max(map(len, shapes))
    return tuple([_broadcast_axis(shapes, ndim, axis, what) for axis in range(ndim)])


def _broadcast_axis(shapes: Sequence[Shape], ndim: int, axis: int, what: str) -> int | None:
    result: int | None = 1
    for s in shapes:
        i = axis - (ndim - len(s))
        n = s[i] if i >= 0 else 1
        if n == 1:
            continue
        if result == 1 or result is None:
            result = n if n is not None else result if result is None else None
        elif n is not None and n != result:
            shown = " and ".join(map(shape_text, shapes))
            raise ShapeError(f"{what} of shapes {shown} do not broadcast: {result} against {n} in dimension {axis}")
    return result


def require_tensor(type_: Type, what: str) -> TensorType:
    """The type, if it is an array type; else a TypeError that says which operand is not."""
    if not isinstance(type_, TensorType):
        raise TypeError(f"{what} must be an array, got {type_}")
    return type_


def with_axes(name: str, x: Type, *axes: object) -> TensorType:
    """The type of an op's operand, once it is known to have these axes."""
    tensor = require_tensor(x, f"operand of {name}")
    for axis in axes:
        if type(axis) is not int or not 0 <= axis < tensor.ndim:
            raise ValueError(f"{name}: axis {axis!r} is out of range for an array with {tensor.ndim} dimensions")
    return tensor


def normal_axis(axis: object, ndim: int, what: str = "axis") -> int:
    """An axis in 0..ndim-1."""
    if isinstance(axis, bool) or not hasattr(axis, "__index__"):
        raise TypeError(f"{what} must be an integer, got {axis!r}")
    i: int = axis.__index__()
    if not -ndim <= i < ndim:
        raise ValueError(f"{what} {i} is out of range for an array with {ndim} dimensions")
    return i % ndim


def at_axis(axis: int, part: object) -> tuple[object, ...]:
    """The index that reads a part of one axis, and all of those before and after it."""
    return (*[slice(None)] * axis, part)


def normal_axes(axis: object, ndim: int) -> tuple[int, ...]:
    """Sorted distinct axes; None means all of them."""
    if axis is None:
        return tuple(range(ndim))
    axes = [normal_axis(a, ndim) for a in (axis if isinstance(axis, (tuple, list, range)) else (axis,))]
    if len(set(axes)) != len(axes):
        raise ValueError(f"axis {axis} names a dimension twice (array with {ndim} dimensions)")
    return tuple(sorted(axes))


def same_length(a: int | None, b: int | None, what: str) -> int | None:
    """Two lengths that must agree; the known one wins."""
    if a is not None and b is not None and a != b:
        raise ShapeError(f"{what}: {a} against {b}")
    return b if a is None else a
