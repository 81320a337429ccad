"""`Step`: one step of training, written once. It is one function for one worker, and two for several.

The graph is cut at the marked means before anything is compiled: `gradients` computes what is meant over, from a
worker's own examples; `apply` makes the updates of it, the same in every worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from termgraph.dist.mark import is_in_a_body, mean, means_in
from termgraph.function import function
from termgraph.function.inout import Out
from termgraph.grad.api import grad
from termgraph.tensor.graph import ancestors, clone
from termgraph.tensor.sharedvar import checked_updates, is_shared, label
from termgraph.tensor.variable import Variable
from termgraph.terms.types import TensorType

Updates = Mapping[Any, Any] | Iterable[tuple[Any, Any]]


class Step:
    """One step of training: a cost, what it depends on, and how the parameters change.

    `inputs` are the arrays of examples, which lie along their first dimension; `cost` is a mean over examples; `update`
    gives the updates: an optimizer of `tg.optim` or any function of the gradients (already means over all workers) and
    the parameters, or updates in which you marked the means yourself with `dist.mean`. `outputs` are further means over
    examples, by name, that you want to see beside the cost.

    >>> import numpy as np, termgraph as tg, termgraph.tensor as T
    >>> from termgraph import dist
    >>> x, y, w = T.dmatrix("x"), T.dvector("y"), tg.shared(np.zeros(2), name="w")
    >>> step = dist.Step([x, y], ((x @ w - y) ** 2).mean(), [w], tg.optim.sgd(0.1))
    >>> float(step(np.eye(2), np.ones(2))["cost"])
    1.0
    >>> w.get_value()
    array([0.1, 0.1])
    """

    def __init__(
        self,
        inputs: Sequence[Any],
        cost: Any,
        params: Sequence[Any],
        update: Updates | Callable[[Sequence[Any], Sequence[Any]], Updates],
        outputs: Mapping[str, Any] | None = None,
        mode: Any = None,
    ) -> None:
        self.inputs, self.params, self.mode = _variables(inputs), list(params), mode
        self.outputs = {"cost": cost, **(outputs or {})}
        _check_params(self.params)
        _check_outputs(self.outputs)
        if callable(update):
            update = update([mean(g) for g in grad(cost, self.params)], list(self.params))
        self.updates = checked_updates(update, "Step")
        self.means = means_in(self.updates.values())
        self._check_cut()

    # ------------------------------------------------------------------ one worker
    def __call__(self, *arrays: Any) -> dict[str, Any]:
        """Take the step in this process, on these examples alone; the answer is the cost and the outputs, by name."""
        return dict(zip(self.outputs, self._alone(*arrays)))

    @cached_property
    def _alone(self) -> Any:
        return function(self.inputs, list(self.outputs.values()), updates=self.updates, mode=self.mode, name="step")

    # ------------------------------------------------------------------ many
    @cached_property
    def gradients(self) -> Any:
        """The compiled function from examples to the cost, the outputs and everything that is meant over."""
        results = [*self.outputs.values(), *(m.owner.inputs[0] for m in self.means)]
        return function(self.inputs, results, no_default_updates=True, mode=self.mode, name="gradients")

    @cached_property
    def gradients_there(self) -> Any:
        """The same function, whose results stay on the GPU."""
        results = [*self.outputs.values(), *(m.owner.inputs[0] for m in self.means)]
        stay = [Out(r, target="cuda") for r in results]
        return function(self.inputs, stay, no_default_updates=True, mode=self.mode, name="gradients")

    @cached_property
    def apply(self) -> Any:
        """The compiled function from means to updates; without results."""
        return function(
            self._means_given, [], updates=self._updates_from_means, no_default_updates=True, mode=self.mode,
            on_unused_input="ignore", name="updates",
        )  # fmt: skip

    @cached_property
    def whole(self) -> Any:
        """The compiled function of a whole step on a worker's own copy; it leaves streams where they are."""
        changes = {v: self.updates[v] for v in self._updates_from_means}
        results = list(self.outputs.values())
        return function(
            self.inputs, results, updates=changes, no_default_updates=True, mode=self.mode, name="local_step"
        )

    @cached_property
    def state(self) -> list[Any]:
        """The shared variables that a step changes, parameters first. Streams of random numbers are not among them."""
        return list(dict.fromkeys([*self.params, *(v for v in self.updates if not is_stream(v))]))

    @cached_property
    def streams(self) -> list[Any]:
        """The states of the random draws of the step. What they hold in a step follows from its number alone."""
        used = ancestors([*self.outputs.values(), *self.updates.values(), *self.means])
        return [v for v in used if is_shared(v) and is_stream(v)]

    # ------------------------------------------------------------------ the cut
    def _check_cut(self) -> None:
        if inner := means_in([m.owner.inputs[0] for m in self.means]):
            raise ValueError(
                f"dist.mean of something that is computed from a dist.mean ({inner[0]}): a step comes together once; "
                "take both means of what each worker has computed alone"
            )
        if is_in_a_body([*self.outputs.values(), *self.updates.values()]):
            raise ValueError(
                "dist.mean inside of a loop or an OpFromGraph: a step comes together once, outside of these"
            )
        self._means_given = [TensorType(m.dtype, m.type.shape)(f"mean_{i}") for i, m in enumerate(self.means)]
        news = list(self.updates.values())
        replaced = clone(news, dict(zip(self.means, self._means_given)), strict=False) if self.means else news
        self._updates_from_means = {}
        for target, new in zip(self.updates, replaced):
            if is_stream(target):
                continue
            self._updates_from_means[target] = new
            if own := [v for v in ancestors([new]) if v in self.inputs]:
                raise ValueError(
                    f"the update of {label(target)} depends on the examples ({own[0]}) without dist.mean: each worker "
                    "would come to another value; put dist.mean(...) around what is computed from the examples"
                )
        used: list[Any] = ancestors([*self.outputs.values(), *news])
        for v in used:
            if is_shared(v) and v.default_update is not None and not is_stream(v) and v not in self.updates:
                raise ValueError(
                    f"{label(v)} has a default update, which each worker would do by itself; "
                    "put it into the updates of the step, with dist.mean(...) around what comes from the examples"
                )


def is_stream(v: Any) -> bool:
    """Whether a shared variable is the state of a random draw: a key and a counter."""
    return v.default_update is not None and v.type.dtype == "uint64" and v.type.shape == (2,)


def _variables(inputs: Sequence[Any]) -> list[Any]:
    if not isinstance(inputs, (list, tuple)) or not all(isinstance(v, Variable) for v in inputs):
        raise TypeError(f"Step: inputs must be a list of variables, got {inputs!r:.60}; write [x, y]")
    return list(inputs)


def _check_params(params: Sequence[Any]) -> None:
    wrong = next((p for p in params if not is_shared(p)), None)
    if wrong is not None or not params:
        raise TypeError(f"Step: params must be shared variables, got {wrong!r:.60}; make them with shared()")
    names = [p.name for p in params if p.name]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"Step: two parameters are named {twice!r}; results and checkpoints need a name for each")


def _check_outputs(outputs: Mapping[str, Any]) -> None:
    for name, v in outputs.items():
        if not isinstance(v, Variable) or v.type.ndim or not str(v.dtype).startswith(("float", "bfloat")):
            raise TypeError(
                f"Step: {name} must be a float without dimensions, a mean over examples, "
                f"got {getattr(v, 'type', None) or repr(v)}; write {name}.mean()"
            )
