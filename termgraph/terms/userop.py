"""Ops written by users in Theano's way: a class with `make_node` and `perform`, told apart by `__props__`.

Instances with equal `__props__` are one op, so that equal applications are one term.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from termgraph.terms.errors import GraphError, TypeMismatch
from termgraph.terms.hashing import stable_hash
from termgraph.terms.types import TensorType, TupleType, Type, describe_value

_instances: weakref.WeakValueDictionary[tuple[Any, ...], Any] = weakref.WeakValueDictionary()


class UserOp(Protocol):
    """What is asked of an op here, below which this module stands."""

    name: str
    nout: int
    _h: int
    _tc: dict[tuple[Any, ...], Type]
    _canonical: Any  # a weak hold on the op that stands for all like it

    def make_node(self, *inputs: Any) -> Any:
        """The node of the op on variables."""


O = TypeVar("O", bound=UserOp)


def props_of(op: object) -> tuple[Any, ...] | None:
    """The values of `__props__`, or None for a class without them."""
    names = getattr(type(op), "__props__", None)
    if names is None:
        return None
    missing = [n for n in names if not hasattr(op, n)]
    if missing:
        raise TypeError(f"{type(op).__name__}.__props__ names {missing}, which __init__ did not set")
    return tuple([getattr(op, n) for n in names])


def canonical(op: O) -> O:
    """The one instance that stands for all with the same class and `__props__`; without them, the op itself."""
    if "_canonical" in op.__dict__:
        return op._canonical() or op
    props = props_of(op)
    found = op
    if props is not None:
        key = (type(op), props, tuple([type(p) for p in props]))
        try:
            found = _instances.setdefault(key, op)
        except TypeError:
            raise TypeError(f"the __props__ of {type(op).__name__} must be hashable, got {props}") from None
    op._h = found._h = stable_hash("user op", type(op).__module__, type(op).__qualname__, props or ())
    op._canonical = weakref.ref(found)
    return found


def text_of(op: UserOp) -> str:
    """`MyOp` or `MyOp{axis=1}`."""
    written: Any = type(op).__str__
    if written is not object.__str__:
        return str(op)
    names = [n for n in getattr(type(op), "__props__", None) or () if n != "name"]
    shown = ", ".join(f"{n}={getattr(op, n)!r}" for n in names)
    return f"{op.name}{{{shown}}}" if shown else op.name


def same_op(a: object, b: object) -> bool:
    """Equality of user ops: same class and `__props__`."""
    return a is b or (type(a) is type(b) and props_of(a) is not None and props_of(a) == props_of(b))


def hash_of(op: UserOp) -> int:
    """A hash that goes with `same_op`."""
    return hash((type(op), props_of(op) or id(op)))


# ---------------------------------------------------------------------- types
def declare_types(op: UserOp, inputs: Sequence[Type], outputs: Sequence[Type]) -> None:
    """Note what `make_node` promised: the result types for these input types."""
    declared = outputs[0] if len(outputs) == 1 else TupleType(outputs)
    known = op._tc.setdefault(tuple(inputs), declared)
    if known is not declared and known != declared:
        raise GraphError(
            f"{op}.make_node gave outputs of type {declared} and earlier {known} for inputs of the same types; what "
            "decides the output types besides the input types must be listed in __props__"
        )
    op.nout = len(outputs)


def infer_by_node(op: UserOp, types: Sequence[Type]) -> Type:
    """The result type for inputs of these types, by asking `make_node` with fresh variables."""
    node = op.make_node(*[t.make_variable() for t in types])
    outputs = [v.type for v in node.outputs]
    return outputs[0] if len(outputs) == 1 else TupleType(outputs)


# ---------------------------------------------------------------------- running
def perform_by_values(op: UserOp, values: Sequence[Any]) -> Any:
    """Run `perform` when only values are at hand: the node is made for the first types that accept them."""
    for types in op._tc:
        if len(types) == len(values) and all(t.is_valid_value(v) for t, v in zip(types, values)):
            return run_perform(op, node_for(op, types), values)
    types = tuple([TensorType(np.asarray(v).dtype, (None,) * np.ndim(v)) for v in values])
    return run_perform(op, node_for(op, types), values)


def node_for(op: UserOp, types: Sequence[Type]) -> Any:
    """An Apply of the op on fresh variables of these types, as `perform` wants one."""
    cache = op.__dict__.setdefault("_nodes", {})
    node = cache.get(tuple(types))
    if node is None:
        node = cache[tuple(types)] = op.make_node(*[t.make_variable() for t in types])
    return node


def run_perform(op: UserOp, node: Any, values: Sequence[Any]) -> Any:
    """Call `perform` and check what it put into its output storage."""
    if not hasattr(op, "perform"):
        raise TypeError(no_perform(op))
    storage: list[list[Any]] = [[None] for _ in node.outputs]
    op.perform(node, [_own(op, i, v) for i, v in enumerate(values)], storage)
    results = [_checked(op, i, cell[0], out.type) for i, (cell, out) in enumerate(zip(storage, node.outputs))]
    return results[0] if len(results) == 1 else tuple(results)


def no_perform(op: UserOp) -> str:
    """What is missing in an op that does not say how it is computed, for an error message."""
    code = ", or subclass tg.COp for C code, which reads otherwise than Theano's" if hasattr(op, "c_code") else ""
    return (
        f"{op} does not say how it is computed: define perform(self, node, inputs, output_storage) in "
        f"{type(op).__name__}{code}"
    )


def _own(op: UserOp, i: int, value: list[Any] | np.ndarray) -> Any:
    """The value, or a copy if the op says that it overwrites this input."""
    destroyed = getattr(op, "destroy_map", None)
    if destroyed and any(i in inputs for inputs in destroyed.values()) and isinstance(value, np.ndarray):
        return value.copy()
    return value


def _checked(op: UserOp, i: int, value: object, type_: Type) -> Any:
    if value is None:
        raise TypeMismatch(f"{op}.perform put nothing into output_storage[{i}][0]")
    if not isinstance(type_, TensorType):
        return type_.filter(value)
    array = np.asarray(value)
    if array.dtype != type_.np_dtype or array.ndim != type_.ndim:
        raise TypeMismatch(f"{op}.perform: output {i} should be {type_}, but it is {describe_value(array)}")
    return array


# ---------------------------------------------------------------------- pickling
_OWN_STATE = frozenset(("_tc", "sigs", "_bound", "_canonical", "_nodes", "_h", "family", "_called", "_elements"))


def state_of(op: UserOp) -> tuple[Any, ...]:
    """What makes the op again: class and attributes, without caches."""
    return (type(op), {k: v for k, v in op.__dict__.items() if k not in _OWN_STATE})


def rebuild(cls: Any, state: dict[str, Any]) -> Any:
    """The inverse of `state_of`: the canonical op of that class and state."""
    op = cls.__new__(cls)
    op.__dict__.update(state)
    return canonical(op)
