"""A graph of PyTensor becomes a graph of termgraph: the driver, and the registry of converters.

A converter is found by the name of the op's class, because PyTensor moves its classes between modules from one version
to the next. It says which of the op's properties it reads; an op with others is not guessed at, but called.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.evaluate import evaluate
from termgraph.terms.op import CONST
from termgraph.terms.traverse import children_first

if TYPE_CHECKING:
    from pytensor.graph.basic import Apply
    from pytensor.graph.basic import Variable as PyTensorVariable
    from pytensor.graph.fg import FunctionGraph
    from pytensor.graph.op import Op
    from pytensor.graph.type import Type

    from termgraph.tensor.likes import TensorLike
    from termgraph.tensor.variable import TensorVariable

Converter = Callable[..., Any]  # (conversion, node, *variables) -> a variable, a list of them, or NotImplemented

ANYTHING = "*"  # the row for ops that no other row takes
CONVERTERS: dict[str, tuple[Converter, frozenset[str]]] = {}  # by class: the converter, and the properties it reads
_WITHOUT_MEANING = frozenset(  # how and where, not what
    ("inplace", "inplace_pattern", "inplace_on_inputs", "view", "as_view", "name", "destroy_map", "view_map")
    + ("overwrite_a", "overwrite_b", "overwrite_c")
)
_OTHER_LANGUAGES = ("pytensor.sparse", "pytensor.typed_list", "pytensor.xtensor")  # with classes of the same names


class BridgeError(TypeError):
    """A graph of PyTensor that cannot be had in termgraph."""


def converts(names: str, reads: str = "") -> Callable[[Converter], Converter]:
    """Decorator: this function converts ops of these classes, and reads these of their properties."""

    def add(converter: Converter) -> Converter:
        for name in names.split():
            CONVERTERS[name] = (converter, frozenset(reads.split()))
        return converter

    return add


def row_of(op: Op) -> tuple[Converter, frozenset[str]] | None:
    """The row of the table for an op: that of its class, or of a base class whose `perform` it keeps."""
    for cls in type(op).__mro__:
        module = cls.__module__
        if module.startswith(_OTHER_LANGUAGES):
            return None
        if cls.__name__ in CONVERTERS and module.partition(".")[0].startswith(("pytensor", "pymc")):
            return CONVERTERS[cls.__name__]
        if "perform" in vars(cls):
            return None
    return None


def unread(op: Op, reads: frozenset[str]) -> list[str]:
    """Properties of an op that its converter does not know."""
    props = getattr(op, "__props__", None) or ()
    return [name for name in props if name not in reads and name not in _WITHOUT_MEANING]


class Opaque(tg.Type):
    """Values that only PyTensor's own ops read and write, such as generators of random numbers."""

    def filter(self, value: object, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Any value is one of these."""
        return value

    def values_eq(self, a: Any, b: Any) -> bool:
        """The same object."""
        return a is b


OPAQUE = Opaque()


def is_array(type_: Type) -> bool:
    """Whether values of a type of PyTensor are dense arrays or numbers."""
    return hasattr(type_, "dtype") and hasattr(type_, "shape") and getattr(type_, "format", None) is None


def variable_for(type_: Type, name: str | None = None) -> Any:
    """An input of termgraph for a type of PyTensor."""
    return T.tensor(name, dtype=type_.dtype, shape=tuple(type_.shape)) if is_array(type_) else OPAQUE(name)


def constant_value(v: TensorLike) -> Any:
    """The value of a constant of PyTensor, or None for a variable."""
    return getattr(v, "data", None)


def is_constant(v: PyTensorVariable) -> bool:
    """Whether a variable of PyTensor is a constant."""
    return v.owner is None and hasattr(v, "data")


def known_value(v: PyTensorVariable, x: Any) -> Any:
    """The value of a variable, which became x, that is known now: a constant, or computed of constants; else None.

    Where PyTensor does not rewrite first, an axis may be such an expression: `minimum(switch(0 >= 0, 0, 1), 0)`.
    """
    if is_constant(v):
        return v.data
    made_of_constants = all(t.args or t.op is CONST for t in children_first([x.term]))
    return evaluate([x.term])[0] if made_of_constants else None


def site_of(v: TensorLike) -> tuple:
    """Where the user made a variable of PyTensor, as termgraph keeps places; empty if PyTensor does not know."""
    trace = getattr(getattr(v, "tag", None), "trace", None)
    frames = trace[0] if trace else ()
    return tuple([(f[0], f[1], f[2], "") for f in reversed(list(frames)[-2:])])


class Conversion:
    """One conversion: what became of which variable, and which ops had to be called."""

    def __init__(self, strict: bool = False, checks: str = "errors") -> None:
        self.strict, self.checks = strict, checks  # what PyMC's checks of parameters become, see `arrays.py`
        self.called: Counter[str] = Counter()  # ops without a counterpart, run by PyTensor's own code
        self.converted: Counter[str] = Counter()

    def graph(self, nodes: Iterable[Any], outputs: Sequence[Any], given: dict[Any, Any]) -> list[Any]:
        """The outputs of a graph whose nodes come in order; `given` says what its inputs are and takes the rest."""
        for node in nodes:
            results = self.apply(node, [self.value(v, given) for v in node.inputs])
            for v, r in zip(node.outputs, results):
                given[v] = named_as(v, r)
        return [self.value(v, given) for v in outputs]

    def inner(self, fgraph: FunctionGraph, inputs: Sequence[Any]) -> list[Any]:
        """The outputs of a function graph on these inputs."""
        return self.graph(fgraph.toposort(), fgraph.outputs, dict(zip(fgraph.inputs, inputs)))

    def value(self, v: PyTensorVariable, given: dict[Any, Any]) -> Any:
        """What a variable of PyTensor is here. Slices and None stand for themselves."""
        if v not in given:
            if not is_constant(v):
                raise BridgeError(f"{v} is neither an input of the graph nor computed in it")
            given[v] = self.constant(v)
        return given[v]

    def constant(self, v: PyTensorVariable) -> Any:
        """A constant: an array, or the value as it is where it is none."""
        if is_array(v.type):
            return named_as(v, T.constant(np.asarray(v.data, dtype=v.type.dtype)))
        return v.data if v.data is None or isinstance(v.data, slice) else tg.Constant(OPAQUE, v.data)

    def apply(self, node: Apply, xs: list[Any]) -> list[Any]:
        """The outputs of one node, by its row of the table or else by a call of its own code."""
        row, results = row_of(node.op), NotImplemented
        if row is not None and not unread(node.op, row[1]):
            results = row[0](self, node, *xs)
        kind = kind_of(node.op)
        if results is NotImplemented:
            results = self.call(node, xs)
        else:
            self.converted[kind] += 1
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        return [fitting(node, v, r) for v, r in zip(node.outputs, results, strict=True)]

    def call(self, node: Apply, xs: list[Any]) -> list[Any]:
        """The node as a call of PyTensor's own code."""
        return CONVERTERS[ANYTHING][0](self, node, *xs)


def kind_of(op: Op) -> str:
    """How an op is counted: the class, and what an element-wise op or a Blockwise does."""
    name = type(op).__name__
    inner = getattr(op, "scalar_op", None) if name == "Elemwise" else getattr(op, "core_op", None)
    return name if inner is None else f"{name}({type(inner).__name__})"


def named_as(v: PyTensorVariable, r: TensorVariable) -> Any:
    """The variable under PyTensor's name and place, so that messages name the user's."""
    if v.name and getattr(r, "name", "") is None:
        r.name = v.name
    site = site_of(v)
    if site and hasattr(r, "site"):
        r.site = site
    return r


def fitting(node: Apply, v: PyTensorVariable, r: TensorVariable) -> Any:
    """The result, which must be of the type that PyTensor promises; lengths that only PyTensor knows are kept."""
    if not is_array(v.type) or not isinstance(getattr(r, "type", None), tg.TensorType):
        return r
    wanted, found = tuple(v.type.shape), r.type.shape
    clash = any(a is not None and b is not None and a != b for a, b in zip(wanted, found))
    if r.type.dtype != v.type.dtype or len(wanted) != len(found) or clash:
        raise BridgeError(f"{node} became {r.type}, but PyTensor says {v.type}")
    if all(a is None or b is not None for a, b in zip(wanted, found)):
        return r
    return T.specify_shape(r, tuple([a if b is None else None for a, b in zip(wanted, found)]))


def cast(x: Any, dtype: str) -> Any:
    """The array in another dtype; constants at once."""
    if x.type.dtype == dtype:
        return x
    if isinstance(x, tg.Constant):
        return T.constant(x.data.astype(dtype))
    return T.cast(x, dtype)


def out_type(node: Apply, i: int = 0) -> Any:
    """The type of an output, as PyTensor says it."""
    return node.outputs[i].type
