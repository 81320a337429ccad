"""The value of every variable of a graph for given inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from termgraph.function.api import function
from termgraph.function.mode import Mode
from termgraph.tensor.bipartite import ancestors, inputs_of
from termgraph.tensor.variable import Constant, Variable
from termgraph.terms.traverse import parts_first


def eval_intermediate_values(outputs: Any, inputs: Mapping[Any, Any]) -> dict[Variable, Any]:
    """A dictionary from each variable under `outputs` (inputs first) to its value, computed without any rewriting.

    >>> import termgraph.tensor as T
    >>> x = T.dscalar("x")
    >>> y = T.exp(x) + 1
    >>> [(str(v), float(value)) for v, value in eval_intermediate_values(y, {x: 0.0}).items()]
    [('x', 0.0), ('exp.0', 1.0), ('add.0', 2.0)]
    """
    outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    wanted = [v for v in reversed(ancestors(outputs)) if not isinstance(v, Constant)]
    wanted = _inputs_first(wanted)
    f = function(
        list(inputs),
        wanted,
        mode=Mode(optimizer="None", linker="py"),
        no_default_updates=True,
        on_unused_input="ignore",
        allow_input_downcast=None,
    )
    return dict(zip(wanted, f(*inputs.values())))


def _inputs_first(variables: list[Variable]) -> list[Variable]:
    """The variables so that each stands after those it is computed from."""
    wanted = set(variables)
    return parts_first(variables, lambda v: [u for u in inputs_of(v) if u in wanted])
