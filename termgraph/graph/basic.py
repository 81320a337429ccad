"""The graph classes and walks under PyTensor's module name."""

from termgraph.tensor.graph import (
    ancestors,
    applies_between,
    clone_replace,
    equal_computations,
    explicit_graph_inputs,
    graph_inputs,
)
from termgraph.tensor.variable import Apply, Constant, Variable

__all__ = [
    "Apply", "Constant", "Variable", "ancestors", "applies_between", "clone_replace", "equal_computations",
    "explicit_graph_inputs", "graph_inputs",
]  # fmt: skip
