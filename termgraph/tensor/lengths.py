"""Lengths and shapes as users write them: integers where known, int64 scalar variables elsewhere.

Everything here keeps known lengths as Python integers for as long as possible, so that types stay precise.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakSet

import numpy as np

from termgraph.tensor.lifting import handle
from termgraph.tensor.likes import ShapeLike
from termgraph.tensor.variable import TensorVariable, Variable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import kind_of
from termgraph.terms.errors import ShapeError
from termgraph.terms.op import CONST
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops import shaping as ops

_shapes: WeakSet = WeakSet()  # the vectors made by `x.shape`: indexing looks through these, and through no others


def length(x: Any, axis: int) -> Any:
    """The length of one dimension (-1 is the last): an integer if the type knows it, else a variable."""
    n = x.type.shape[axis]
    return ops.shape_i(x, axis=axis % x.type.ndim) if n is None else n


def of_length(x: Any, axis: int, n: Any, told: str) -> Any:
    """x, that is n long along an axis; where that is seen when the function is called, `told` says what is wrong."""
    axis %= x.type.ndim
    if same(length(x, axis), n):
        return x
    known = tuple([d == axis for d in range(x.type.ndim)])
    return ops.specify_shape(x, *length_operands([n]), known=known, told=told)


def at_least(x: Any, axis: int, n: int, told: str) -> Any:
    """x, whose length along an axis is n or more if its type does not know it, else there is an error as `told`."""
    found = length(x, axis)
    return x if isinstance(found, int) else of_length(x, axis, ew.maximum(found, n), told)


def lengths(x: Any) -> list:
    """The length of every dimension."""
    return [length(x, d) for d in range(x.type.ndim)]


def product(factors: list) -> Any:
    """The product of lengths; the known ones are multiplied now."""
    known, unknown = 1, []
    for f in factors:
        if isinstance(f, int):
            known *= f
        else:
            unknown.append(f)
    if not unknown or known == 0:
        return known
    total = unknown[0]
    for f in unknown[1:]:
        total = ew.mul(total, f)
    return total if known == 1 else ew.mul(total, known)


def same(a: Any, b: Any) -> bool:
    """Whether two lengths are the same integer, or the same expression."""
    if isinstance(a, int) or isinstance(b, int):
        return isinstance(a, int) and isinstance(b, int) and a == b
    return a.term is b.term


def as_length(value: Any, what: str = "length") -> Any:
    """A length as users write it: an integer, or a symbolic integer scalar (made int64)."""
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{what} must be an integer, got {value!r}")
    if hasattr(value, "__index__") and not isinstance(value, Variable):
        return value.__index__()
    if not hasattr(value, "apply_op"):
        raise TypeError(
            f"{what} must be an integer or a symbolic integer scalar, got {type(value).__name__} {value!r:.60}"
        )
    v = as_tensor(value)
    if v.type.ndim != 0 or v.type.kind not in "iu":
        raise TypeError(f"{what} must be an integer scalar, got {v} of type {v.type}")
    if v.term.op is CONST:
        return int(v.term.scalar)
    return v if v.type.dtype == "int64" else ew.cast(v, dtype="int64")


def as_lengths(shape: ShapeLike, what: str = "shape", ndim: int | None = None) -> list:
    """A shape as users write it: an integer, a sequence of lengths, or a vector (variable or array)."""
    if isinstance(shape, Variable) or hasattr(shape, "apply_op"):
        v = as_tensor(shape)
        if v.type.ndim == 0:
            return [as_length(v, what)]
        return vector_items(v, what, ndim)
    if isinstance(shape, np.ndarray):
        if shape.ndim > 1 or kind_of(shape.dtype) not in "iu" and shape.size:
            raise TypeError(f"{what} must be integers, got an array of {shape.dtype}{list(shape.shape)}")
        return [int(n) for n in np.atleast_1d(shape)]
    if isinstance(shape, (list, tuple)):
        return [as_length(n, f"{what}[{i}]") for i, n in enumerate(shape)]
    return [as_length(shape, what)]


def vector_items(v: Any, what: str = "shape", ndim: int | None = None) -> list:
    """The items of an integer vector of known length, as lengths."""
    if v.type.ndim != 1 or v.type.kind not in "iu":
        raise TypeError(f"{what} must be a vector of integers, got {v} of type {v.type}")
    n = v.type.shape[0] if v.type.shape[0] is not None else ndim
    if n is None:
        raise TypeError(
            f"{what}: the vector {v} has unknown length, so the number of dimensions of the result is unknown; "
            f"give it a static length (T.specify_shape(v, (n,))) or pass ndim="
        )
    return [vector_item(v, i) for i in range(n)]


def vector_item(v: Any, i: int) -> Any:
    """Item `i` of a vector, read through the expression where it can be seen."""
    t = v.term
    if t.op is CONST:
        return int(t.value[i])
    if t.op.name == "make_vector" and t.args[i].type.dtype == t.op.params["dtype"]:
        inputs = v.owner.inputs if v._owner is not None else None
        return as_length(handle(t.args[i]) if inputs is None else inputs[i])
    return as_length(v[i])


def item_of_shape(v: Any, key: Any) -> Any:
    """`x.shape[0]` and `x.shape[1:]` read through the vector of lengths; None if `v` is something else."""
    if v not in _shapes or not _is_static(key):
        return None
    n = v.type.shape[0]
    if isinstance(key, slice):
        return lengths_vector([vector_item(v, i) for i in range(*key.indices(n))])
    if not -n <= key < n:
        raise IndexError(f"index {key} is out of range: the array has {n} dimensions")
    return length_operands([vector_item(v, key % n)])[0]


def _is_static(key: int) -> bool:
    if isinstance(key, slice):
        return not [k for k in (key.start, key.stop, key.step) if k is not None and not isinstance(k, int)]
    return isinstance(key, int) and not isinstance(key, bool)


def length_operands(values: list) -> list:
    """Lengths as operands of an op: int64 constants and variables."""
    for n in values:
        if isinstance(n, int) and n < 0:
            raise ShapeError(f"a length must not be negative, got {n}")
    return [as_tensor(np.int64(n)) if isinstance(n, int) else n for n in values]


def lengths_vector(values: list) -> TensorVariable:
    """A shape as an int64 vector variable: a constant if all of it is known."""
    if not [n for n in values if not isinstance(n, int)]:
        v = as_tensor(np.array(values, dtype="int64"))
    else:
        v = ops.make_vector(*length_operands(values), dtype="int64")
    _shapes.add(v)
    return v
