"""PdbBreakpoint: stop in Python's debugger when a condition holds while a function runs."""

from __future__ import annotations

import pdb
import sys
from typing import Any

from termgraph.tensor.variable import Apply, Variable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.errors import TypeMismatch
from termgraph.terms.op import Op


class PdbBreakpoint(Op):
    """`PdbBreakpoint(name)(condition, *monitored)` gives the monitored variables; use them instead of the originals.

    While the condition is true the debugger starts each time they are computed, with their values in the list
    `monitored`. Elements of that list that you replace are what the function goes on with.
    """

    __props__ = ("name",)
    view_map = {0: [0]}

    def __init__(self, name: str = "breakpoint") -> None:
        self.name = name

    def make_node(self, condition: Any, *monitored: Any) -> Apply:
        """The node: one output per monitored variable."""
        condition = as_tensor(condition)
        if condition.type.ndim != 0:
            raise TypeMismatch(f"the condition of a breakpoint must be a scalar, got {condition} of {condition.type}")
        if not monitored:
            raise TypeError("PdbBreakpoint needs at least one variable to watch after the condition")
        watched = [v if isinstance(v, Variable) else as_tensor(v) for v in monitored]
        return Apply(self, [condition, *watched], [v.type.make_variable() for v in watched])

    def perform(self, node: Apply, inputs: list, output_storage: list) -> None:
        """Start the debugger if the condition holds, then pass the values on."""
        condition, *monitored = inputs
        if condition.item():
            sys.stdout.write(
                f"\nBreakpoint {self.name!r} was reached: its values are in the list `monitored`; `c` goes on.\n"
            )
            pdb.set_trace()
        for cell, value in zip(output_storage, monitored):
            cell[0] = value

    def grad(self, inputs: list, output_grads: list) -> list:
        """The gradient passes through."""
        return [inputs[0].zeros_like(), *output_grads]
