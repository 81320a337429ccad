"""`logp_and_grad`: a PyMC model's log-probability converted alone, and differentiated by our rules. Best for loops.

A Scan's gradient, as PyTensor makes it, is a Scan over all that the first one computed; here it is one of our loops.
PyMC's own sampler takes the function in place of the one it would make: `pm.NUTS(logp_dlogp_func=f)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import graph_inputs, toposort

import termgraph as tg
import termgraph.tensor as T
from termgraph.pytensor.conversion import BridgeError, Conversion, variable_for

if TYPE_CHECKING:
    from pytensor.graph.basic import Variable as PyTensorVariable

    from termgraph.function.mode import Mode


class LogpAndGrad:
    """A function of one flat vector of unconstrained values: `f(x)` gives the log-probability and its gradient."""

    # What PyMC's steps ask a `ValueGradFunction` for, beside the call.
    dtype = "float64"
    profile = None
    trust_input = True
    _raveled_inputs = True

    def __init__(self, model: Any, mode: str | Mode | None = "FAST_RUN", strict: bool = False) -> None:
        start = model.initial_point()
        values = list(model.value_vars)
        discrete = [v.name for v in values if not str(v.dtype).startswith("float")]
        if discrete:
            raise BridgeError(
                f"{', '.join(discrete)}: discrete variables have no gradient; leave them to another sampler"
            )
        self.names = [v.name for v in values]
        self.shapes = [np.shape(start[name]) for name in self.names]
        ends = np.cumsum([0, *(int(np.prod(shape)) for shape in self.shapes)]).tolist()
        self.size, self.slices = ends[-1], [slice(a, b) for a, b in zip(ends, ends[1:])]
        logp = model.logp()
        known = set(values)
        self.data = [v for v in graph_inputs([logp]) if v not in known and not isinstance(v, Constant)]
        self.conversion = Conversion(strict, checks="minus infinity" if model.check_bounds else "none")
        self._compile(logp, values, mode)

    def _compile(self, logp: PyTensorVariable, values: list[Any], mode: str | Mode | None) -> None:
        flat = T.tensor("values", dtype="float64", shape=(self.size,))
        parts = [T.reshape(flat[part], shape) for part, shape in zip(self.slices, self.shapes)]
        given = {v: T.cast(x, v.dtype) if v.dtype != "float64" else x for v, x in zip(values, parts)}
        inputs = [variable_for(v.type, v.name) for v in self.data]
        given |= dict(zip(self.data, inputs))
        (cost,) = self.conversion.graph(toposort([logp]), [logp], given)
        outputs = [cost, tg.grad(cost, flat, disconnected_inputs="ignore")]
        self.function = tg.function([flat, *inputs], outputs, mode=mode, on_unused_input="ignore", trust_input=True)

    @property
    def _pytensor_function(self) -> LogpAndGrad:
        return self

    @property
    def _extra_vars_shared(self) -> dict[str, Any]:
        return {}  # discrete variables, which are refused

    def set_extra_values(self, values: dict[str, Any]) -> None:
        """Nothing: there are no variables beside those of the vector."""

    def __call__(self, x: Any) -> tuple[Any, Any]:
        """The log-probability and its gradient at a flat vector of float64."""
        value, slope = self.function(x, *[v.get_value(borrow=True) for v in self.data])
        return value, slope

    def ravel(self, point: dict[str, Any]) -> Any:
        """The flat vector of a point as PyMC writes it: {name: value}."""
        return np.concatenate([np.ravel(point[name]) for name in self.names]).astype(np.float64)

    def unravel(self, x: Any) -> dict[str, Any]:
        """The point of a flat vector."""
        return {n: np.reshape(x[p], s) for n, s, p in zip(self.names, self.shapes, self.slices)}


def logp_and_grad(model: Any, mode: str | Mode | None = "FAST_RUN", strict: bool = False) -> LogpAndGrad:
    """A PyMC model's log-probability and gradient as a function of one flat vector, differentiated by our rules.

    `f.ravel(model.initial_point())` makes such a vector, `f.unravel` reads one, `f.names` says what lies in it. Data
    containers are read at each call. Samplers of such functions need nothing else of PyMC, whose own takes it, too:
    `pm.sample(step=pm.NUTS(logp_dlogp_func=f))`.
    """
    return LogpAndGrad(model, mode, strict)
