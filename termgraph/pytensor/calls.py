"""Ops that are called as they are: those that draw random numbers, search for roots, or have no counterpart here.

PyTensor makes the call (`make_thunk`), so that an op which has C code only, or prepares itself, works as well.
"""

from __future__ import annotations

import itertools
import os
import warnings
from typing import TYPE_CHECKING, Any

import termgraph as tg
from termgraph.pytensor.conversion import (
    ANYTHING,
    BridgeError,
    Conversion,
    constant_value,
    converts,
    is_constant,
    kind_of,
    variable_for,
)

if TYPE_CHECKING:
    from pytensor.graph.basic import Apply

    from termgraph.tensor.variable import TensorVariable

# Calls by design, not for want of a converter: their values are NumPy's or SciPy's own, or they call functions.
CALLED_BY_DESIGN = frozenset(
    ("RNGConsumerOp", "RandomVariable", "DefaultGeneratorMakerOp", "ScipyWrapperOp", "Print", "FromFunctionOp", "Scan")
)

_warned: set[str] = set()
_numbers = itertools.count()


class CalledOp(tg.Op):
    """One node of PyTensor, run by PyTensor."""

    __props__ = ("key",)

    def __init__(self, node: Any) -> None:
        self.node = node
        self.key = f"{kind_of(node.op)}-{os.getpid()}-{next(_numbers)}"  # no other node is ever taken for it
        self.thunk: Any = None

    def make_node(self, *xs: TensorVariable) -> Any:
        """Outputs of the types that PyTensor promises."""
        return tg.Apply(self, list(xs), [variable_for(v.type) for v in self.node.outputs])

    def perform(self, node: Apply, inputs: list, output_storage: list) -> None:
        """Fill the inputs in, call, take the outputs."""
        if self.thunk is None:
            self._prepare()
        given = iter(inputs)
        for v, cell in zip(self.node.inputs, self.cells):
            cell[0] = v.data if is_constant(v) else next(given)
        self.thunk()
        for cell, out in zip(self.results, output_storage):
            out[0], cell[0] = cell[0], None

    def _prepare(self) -> None:
        """PyTensor's own way of running this node; in Python, or in C where it has nothing else."""
        node = self.node
        storage = {v: [constant_value(v)] for v in (*node.inputs, *node.outputs)}
        computed = {v: [False] for v in storage}
        self.cells = [storage[v] for v in node.inputs]
        self.results = [storage[v] for v in node.outputs]
        try:
            self.thunk = node.op.make_thunk(node, storage, computed, [], impl="py")
        except NotImplementedError:
            self.thunk = node.op.make_thunk(node, storage, computed, [])

    def __repr__(self) -> str:
        return f"CalledOp{{{self.node.op}}}"


@converts(ANYTHING)
def called(c: Conversion, node: Apply, *xs: TensorVariable) -> list[Any]:
    """The outputs of a node that PyTensor runs; one warning for each kind of op that has no counterpart."""
    kind = kind_of(node.op)
    designed = any(cls.__name__ in CALLED_BY_DESIGN for cls in type(node.op).__mro__)
    if not designed:
        if c.strict:
            raise BridgeError(f"termgraph has no counterpart of PyTensor's {kind} ({node.op}); leave out strict=True")
        c.called[kind] += 1
        if kind not in _warned:
            _warned.add(kind)
            warnings.warn(
                f"termgraph has no counterpart of PyTensor's {kind}; it runs by PyTensor's own code, and what is "
                "around it is compiled",
                stacklevel=2,
            )
    made = CalledOp(node)(*[x for v, x in zip(node.inputs, xs) if not is_constant(v)], return_list=True)
    return list(made)
