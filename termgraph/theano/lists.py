"""theano.typed_list: lists of values of one type, as variables. They run in Python. May import the tensor language."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import termgraph.tensor as T
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.variable import HANDLES, Apply, Constant, TensorVariable, Variable
from termgraph.terms.op import Op
from termgraph.terms.types import TensorType, Type


class TypedListType(Type):
    """Lists whose items are of one type; `depth` lists within each other."""

    def __init__(self, ttype: Type, depth: int = 0) -> None:
        if not isinstance(ttype, Type):
            raise TypeError(f"TypedListType takes a type, got {ttype!r}")
        if depth < 0:
            raise ValueError(f"TypedListType: depth must be >= 0, got {depth}")
        self.ttype = ttype if depth == 0 else TypedListType(ttype, depth - 1)

    def filter(self, value: object, strict: bool = False, allow_downcast: bool | None = None) -> list:
        """The list, its items in the form of their type."""
        if not isinstance(value, list):
            raise TypeError(f"expected a list of {self.ttype}, got {type(value).__name__}")
        return [self.ttype.filter(v, strict, allow_downcast) for v in value]

    def values_eq(self, a: list, b: list) -> bool:
        """Item by item."""
        return len(a) == len(b) and all(self.ttype.values_eq(x, y) for x, y in zip(a, b))

    def get_depth(self) -> int:
        """How many lists are within each other."""
        return self.ttype.get_depth() + 1 if isinstance(self.ttype, TypedListType) else 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedListType) and self.ttype == other.ttype

    def __hash__(self) -> int:
        return hash((TypedListType, self.ttype))

    def __repr__(self) -> str:
        return f"TypedList <{self.ttype}>"


class TypedListVariable(Variable):
    """A list."""

    __slots__ = ()

    def __getitem__(self, index: TensorLike) -> Any:
        return getitem(self, index)

    def append(self, item: Any) -> Any:
        """The list with an item more."""
        return append(self, item)

    def extend(self, other: TensorLike) -> Any:
        """The list with those of another."""
        return extend(self, other)

    def insert(self, index: TensorLike, item: TensorLike) -> Any:
        """The list with an item put in."""
        return insert(self, index, item)

    def remove(self, item: TensorLike) -> Any:
        """The list without the first item equal to this."""
        return remove(self, item)

    def reverse(self) -> Any:
        """The list from its end."""
        return reverse(self)

    def count(self, item: Any) -> TensorVariable:
        """How many items are equal to this."""
        return count(self, item)

    def ind(self, item: TensorLike) -> Any:
        """The place of the first item equal to this."""
        return index_(self, item)


HANDLES[TypedListType] = TypedListVariable
TypedListConstant = Constant


class _ListOp(Op):
    """An op on lists: types by `types`, values by `run`."""

    __props__: tuple = ()

    def make_node(self, *inputs: Any) -> Apply:
        """The Apply on a list and further operands."""
        variables: list[Any] = [v if isinstance(v, Variable) else T.as_tensor(v) for v in inputs]
        if not isinstance(variables[0].type, TypedListType):
            raise TypeError(f"{self} takes a list, got {variables[0].type}")
        return Apply(self, variables, [self.types(*[v.type for v in variables])()])

    def types(self, x: TypedListType, *others: Type) -> Any:
        """The type of the result."""
        return x

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: list) -> None:
        """Run it on values."""
        kind: Any = node.inputs[0].type
        output_storage[0][0] = self.run(kind, *inputs)

    def run(self, type_: TypedListType, x: list, *others: Any) -> Any:
        """The result on values."""
        raise NotImplementedError

    def __str__(self) -> str:
        return type(self).__name__


def _place(type_: TypedListType, x: list, item: object) -> int:
    for i, v in enumerate(x):
        if type_.ttype.values_eq(v, item):
            return i
    raise ValueError("the item is not in the list")


class GetItem(_ListOp):
    """An item, or a part as a list."""

    def make_node(self, x: TensorLike, index: TensorLike) -> Apply:
        """The Apply; slices are constants."""
        if isinstance(index, slice):
            return _Slice((index.start, index.stop, index.step)).make_node(x)
        return super().make_node(x, index)

    def types(self, x: TypedListType, *others: Type) -> Any:
        return x.ttype

    def run(self, type_: TypedListType, x: list, *others: Any) -> Any:
        return x[int(others[0])]


class _Slice(_ListOp):
    """A part of a list."""

    __props__ = ("parts",)

    def __init__(self, parts: tuple) -> None:
        self.parts = parts

    def run(self, type_: TypedListType, x: list, *others: Any) -> Any:
        return x[slice(*self.parts)]


class _InPlace(_ListOp):
    """Theano's ops on lists can be told to overwrite; termgraph's never do."""

    def __init__(self, inplace: bool = False) -> None:
        pass


class Append(_InPlace):
    """A list with an item more."""

    def run(self, type_: TypedListType, x: list, *others: Any) -> Any:
        return [*x, others[0]]


class Extend(_InPlace):
    """A list with the items of another."""

    def run(self, type_: TypedListType, x: list, *others: Any) -> Any:
        return [*x, *others[0]]


class Insert(_InPlace):
    """A list with an item put in."""

    def run(self, type_: TypedListType, x: list, *others: Any) -> Any:
        i = int(others[0])
        return [*x[:i], others[1], *x[i:]]


class Remove(_InPlace):
    """A list without an item."""

    def run(self, type_: TypedListType, x: list, *others: Any) -> Any:
        i = _place(type_, x, others[0])
        return x[:i] + x[i + 1 :]


class Reverse(_InPlace):
    """A list from its end."""

    def run(self, type_: TypedListType, x: list, *others: Any) -> Any:
        return x[::-1]


class _Number(_ListOp):
    def types(self, x: TypedListType, *others: Type) -> Any:
        return TensorType("int64", ())


class Index(_Number):
    """The place of an item."""

    def run(self, type_: TypedListType, x: list, *others: Any) -> Any:
        return np.asarray(_place(type_, x, others[0]))


class Count(_Number):
    """How often an item is there."""

    def run(self, type_: TypedListType, x: list, *others: Any) -> Any:
        return np.asarray(sum(type_.ttype.values_eq(v, others[0]) for v in x))


class Length(_Number):
    """The number of items."""

    def run(self, type_: TypedListType, x: list, *others: Any) -> Any:
        return np.asarray(len(x))


class MakeList(_ListOp):
    """A list of variables of one type."""

    def make_node(self, *items: Any) -> Apply:
        """The Apply on the items, or on one list of them."""
        if len(items) == 1 and isinstance(items[0], (list, tuple)):
            items = tuple(items[0])
        variables = [v if isinstance(v, Variable) else T.as_tensor(v) for v in items]
        if not variables or any(v.type != variables[0].type for v in variables):
            raise TypeError("make_list takes variables of one type, at least one")
        return Apply(self, variables, [TypedListType(variables[0].type)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: list) -> None:
        """The list itself."""
        output_storage[0][0] = list(inputs)


def _checked(op: Op, name: str) -> Callable[..., Any]:
    def apply(*args: object) -> Any:
        return op(*args)

    apply.__name__, apply.__doc__ = name, type(op).__doc__
    return apply


getitem, make_list = GetItem(), MakeList()
append, extend, insert, remove, reverse = Append(), Extend(), Insert(), Remove(), Reverse()
index_, count, length = Index(), Count(), Length()
