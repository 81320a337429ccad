"""Wrapping Python functions as ops, and the default `make_node` of ops that declare `itypes` and `otypes`."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from importlib import import_module
from typing import Any

from termgraph.tensor.testvalues import note_test_value
from termgraph.tensor.trace import user_site
from termgraph.tensor.variable import Apply, Constant, TensorVariable, Variable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms import op as op_module
from termgraph.terms.errors import TypeMismatch
from termgraph.terms.op import Op
from termgraph.terms.types import TensorType, Type


class _Maker(op_module.NodeMaker):
    def build(self, op: Any, inputs: Sequence[Any]) -> Apply:
        return build_node(op, inputs)

    def call(self, op: Any, inputs: tuple, options: dict) -> Apply:
        node = op.make_node(*inputs, **options)
        if not isinstance(node, Apply):
            raise TypeError(f"{type(op).__name__}.make_node must return an Apply, got {node!r:.60}")
        site = user_site()
        for out in node.outputs:  # made in make_node, but meant where the op was applied
            out.site = site
        note_test_value(node.outputs)
        return node


def build_node(op: Any, inputs: Sequence[Any]) -> Apply:
    """The Apply of an op that says what it takes and gives by `itypes` and `otypes`."""
    itypes, otypes = getattr(op, "itypes", None), getattr(op, "otypes", None)
    if itypes is None or otypes is None:
        raise NotImplementedError(f"{type(op).__name__} must define make_node(*inputs), or itypes and otypes")
    if len(inputs) != len(itypes):
        raise TypeError(f"{op} takes {len(itypes)} inputs, got {len(inputs)}")
    variables = [_input(op, i, v, t) for i, (v, t) in enumerate(zip(inputs, itypes))]
    return Apply(op, variables, [t.make_variable() for t in otypes])


def _input(op: Any, i: int, value: TensorVariable, type_: Type) -> Variable:
    if not isinstance(value, Variable):
        value = as_tensor(value, dtype=type_.dtype) if isinstance(type_, TensorType) else Constant(type_, value)
    if not type_.accepts(value.type):
        raise TypeMismatch(f"input {i} of {op} must have type {type_}, got {value} of type {value.type}")
    return value


class FromFunctionOp(Op):
    """An op that calls a Python function; made by `as_op`."""

    __props__ = ("function", "itypes", "otypes")

    def __init__(
        self, function: Callable, itypes: Sequence[Type], otypes: Sequence[Type], infer_shape: Any = None
    ) -> None:
        self.function, self.itypes, self.otypes = function, tuple(itypes), tuple(otypes)
        self.name, self.__doc__ = function.__name__, function.__doc__
        if infer_shape is not None:
            self.infer_shape = infer_shape

    def perform(self, node: Apply, inputs: list, output_storage: list) -> None:
        """Call the function; one result, or one per output."""
        results = self.function(*inputs)
        if len(output_storage) == 1:
            results = (results,)
        if not isinstance(results, (tuple, list)) or len(results) != len(output_storage):
            raise TypeError(f"{self.name} should return {len(output_storage)} results, got {results!r:.60}")
        for cell, result in zip(output_storage, results):
            cell[0] = result

    def __repr__(self) -> str:
        return f"FromFunctionOp{{{self.name}}}"

    def __reduce__(self) -> Any:
        carried = _carried(self.function)
        if carried is not None:
            made = (self.itypes, self.otypes, getattr(self, "infer_shape", None))
            return (_find_or_make, (self.function.__module__, self.function.__qualname__, carried, *made))
        if _findable(self):  # the module holds the op under the function's own name: travel by that name
            return (_find, (self.function.__module__, self.function.__qualname__))
        return super().__reduce__()


def as_op(itypes: Any, otypes: Any, infer_shape: Callable | None = None) -> Callable[[Callable], FromFunctionOp]:
    """Decorator: make an op of a Python function on arrays.

    >>> import numpy as np, termgraph as tg, termgraph.tensor as T
    >>> @as_op(itypes=[T.dvector], otypes=[T.dscalar])
    ... def middle(a):
    ...     return np.asarray(np.median(a))
    >>> x = T.dvector("x")
    >>> float(tg.function([x], middle(x) * 2)([1.0, 2.0, 9.0]))
    4.0
    """
    itypes, otypes = _type_list(itypes, "itypes"), _type_list(otypes, "otypes")

    def wrap(function: Callable) -> FromFunctionOp:
        if not callable(function):
            raise TypeError(f"as_op wraps a function, got {function!r:.60}")
        return FromFunctionOp(function, itypes, otypes, infer_shape)

    return wrap


def _type_list(types: list, what: str) -> tuple[Type, ...]:
    listed = tuple(types) if isinstance(types, (list, tuple)) else (types,)
    for t in listed:
        if not isinstance(t, Type):
            raise TypeError(f"as_op: {what} must be types such as T.dvector, got {t!r:.60}")
    return listed


def _findable(op: FromFunctionOp) -> bool:
    try:
        return _find(op.function.__module__, op.function.__qualname__) is op
    except (ImportError, AttributeError):
        return False


def _carried(function: Any) -> bytes | None:
    """A function of `__main__` as bytes: other processes have another `__main__`. None where cloudpickle is missing."""
    if getattr(function, "__module__", None) != "__main__" or function in _carrying.get():
        return None
    try:
        import cloudpickle  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        return None
    token = _carrying.set((*_carrying.get(), function))  # a function may mention its own op
    try:
        return cloudpickle.dumps(function)
    finally:
        _carrying.reset(token)


_carrying: ContextVar[tuple] = ContextVar("functions that are being written", default=())


def _find_or_make(
    module: str, name: str, carried: bytes, itypes: tuple, otypes: tuple, infer_shape: Callable | None
) -> Any:
    """The op that this process has under that name, if it wraps the same code, or else a new one."""
    function = pickle.loads(carried)
    try:
        found = _find(module, name)
    except (ImportError, AttributeError):
        found = None
    if isinstance(found, FromFunctionOp) and getattr(found.function, "__code__", None) == function.__code__:
        return found
    return FromFunctionOp(function, itypes, otypes, infer_shape)


def _find(module: str, name: str) -> Any:
    """The op that a module keeps under the name of the function it wraps."""
    found: Any = sys.modules.get(module) or import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


op_module.set_node_maker(_Maker())

__all__ = ["as_op"]
