"""Theano's name for the room of graph classes: `termgraph.gof.Apply` is `termgraph.Apply`."""

from termgraph.function import FunctionGraph
from termgraph.gof import graph
from termgraph.tensor.variable import Apply, Constant, Variable
from termgraph.terms.op import Op
from termgraph.terms.types import Type

__all__ = ["Apply", "Constant", "FunctionGraph", "Op", "Type", "Variable", "graph"]
