"""Transform: one step from gradients to what is added to the parameters; optimizers are chains of them.

A transform gets a list of directions (at first the gradients), one for each parameter, and gives a list like it. What
it remembers between steps it keeps in shared variables of its State; the last transform of an optimizer turns the
directions downhill and scales them by the learning rate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn

import numpy as np

import termgraph.tensor as T
from termgraph.grad.api import grad
from termgraph.tensor.sharedvar import TensorSharedVariable, is_shared, label, shared
from termgraph.tensor.updates import OrderedUpdates
from termgraph.tensor.variable import TensorVariable

Rate = (
    float | TensorVariable | Callable[[TensorVariable], TensorVariable]
)  # a number, an expression, or a schedule (of the step)
Directions = list[TensorVariable]
Parameters = Sequence[TensorSharedVariable]
Cost = TensorVariable | Sequence[TensorVariable]
Change = Callable[[Directions, Parameters, "State"], Directions]


class State:
    """What an optimizer keeps between steps, as shared variables, and their new values.

    >>> import numpy as np, termgraph as tg
    >>> state = State("mine")
    >>> v = state.like(tg.shared(np.zeros(3, "float32"), name="w"), "speed")
    >>> v.name, v.dtype, v.get_value()
    ('mine.speed(w)', 'float32', array([0., 0., 0.], dtype=float32))
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.updates = OrderedUpdates()
        self._count: TensorSharedVariable | None = None

    def like(self, param: TensorSharedVariable, what: str, fill: float = 0.0) -> TensorSharedVariable:
        """A new shared variable with the parameter's shape and dtype; its name says whose it is."""
        value = param.get_value(borrow=True)
        return shared(np.full(value.shape, fill, value.dtype), name=f"{self.name}.{what}({param.name or ''})")

    def keep(self, variable: TensorSharedVariable, new: TensorVariable) -> TensorVariable:
        """Note the value that a variable has after this step; the same value is returned."""
        self.updates[variable] = T.cast(new, variable.dtype)
        return self.updates[variable]

    def count(self) -> TensorVariable:
        """The number of this step, as float64, beginning with 1: float32 would lose digits of `beta ** count`."""
        if self._count is None:
            self._count = shared(np.int64(0), name=f"{self.name}.count")
            self.keep(self._count, self._count + 1)
        return T.cast(self.updates[self._count], "float64")


class Transform:
    """A named step from directions to directions: `change(directions, params, state)`.

    Called with a cost (or gradients) and parameters it gives the updates that `tg.function` takes.

    >>> import numpy as np, termgraph as tg
    >>> sign = Transform("sign", lambda g, params, state: [-0.5 * tg.tensor.sign(d) for d in g])
    >>> w = tg.shared(np.array([3.0, -1.0]), name="w")
    >>> step = tg.function([], updates=sign((w ** 2).sum(), [w]))
    >>> step()
    >>> w.get_value()
    array([ 2.5, -0.5])
    """

    def __init__(self, name: str, change: Change) -> None:
        self.name, self.change = name, change

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        own = self.__dict__.get("name", "step")
        hint = f"updates = {own}(...)(cost, params); tg.function(inputs, cost, updates=updates)"
        raise AttributeError(f"optimizers have no {name!r}: they are called, and give updates: {hint}")

    def __call__(self, cost: TensorVariable | Sequence[TensorVariable], params: Parameters) -> OrderedUpdates:
        """The updates of one step: new values of the parameters, then of what the optimizer keeps."""
        params = checked_parameters(params, self.name)
        state = State(self.name)
        steps = self.change(gradients(cost, params, self.name), params, state)
        updates = OrderedUpdates()
        for p, step in zip(params, steps, strict=True):
            updates[p] = T.cast(p + step, p.dtype)
        return updates + state.updates

    def __repr__(self) -> str:
        return f"<optimizer {self.name}>"


def checked_parameters(params: Parameters, name: str) -> list[TensorSharedVariable]:
    """The parameters as a list; TypeError or ValueError for what no optimizer can change."""
    if isinstance(params, TensorVariable):
        params = [params]
    if isinstance(params, dict):
        params = list(params.values())
    for i, p in enumerate(params):
        if not is_shared(p):
            given = label(p) if isinstance(p, TensorVariable) else f"{p!r:.60}"
            raise TypeError(
                f"{name}: parameter {i} is {given}, which is not a shared variable; make it with tg.shared(value)"
            )
        if p.type.kind != "f":
            raise TypeError(
                f"{name}: parameter {label(p)} has dtype {p.dtype}; only real floating-point parameters can follow a "
                "gradient, so make it with tg.shared(value.astype('float32'))"
            )
    names = [id(p) for p in params]
    for i, p in enumerate(params):
        if names.index(id(p)) != i:
            raise ValueError(f"{name}: parameter {label(p)} is listed twice (positions {names.index(id(p))} and {i})")
    return list(params)


def gradients(cost: TensorVariable | Sequence[TensorVariable], params: Parameters, name: str) -> Directions:
    """The gradients of a cost, or those given, one for each parameter."""
    if isinstance(cost, TensorVariable):
        return list(grad(cost, list(params)))
    given = [T.as_tensor(g) for g in cost]
    if len(given) != len(params):
        raise ValueError(f"{name}: {len(given)} gradients for {len(params)} parameters; give one for each, in order")
    return given


def rate_of(rate: Rate, state: State) -> TensorVariable:
    """A learning rate as a number of this step."""
    if callable(rate) and not isinstance(rate, TensorVariable):
        return T.as_tensor(rate(state.count() - 1))
    return T.as_tensor(rate)


def chain(*transforms: Transform, name: str | None = None) -> Transform:
    """One transform that applies several in order, each to what the one before gave.

    >>> chain(scale(0.5), scale_by_learning_rate(0.1))
    <optimizer scale+scale_by_learning_rate>
    """

    def change(directions: Directions, params: Parameters, state: State) -> Directions:
        for transform in transforms:
            directions = transform.change(directions, params, state)
        return directions

    return Transform(name or "+".join(t.name for t in transforms), change)


def elementwise(
    name: str, change: Callable[[TensorVariable, TensorSharedVariable, State], TensorVariable]
) -> Transform:
    """A transform that treats each parameter by itself: `change(direction, parameter, state)`."""
    return Transform(
        name, lambda directions, params, state: [change(g, p, state) for g, p in zip(directions, params, strict=True)]
    )


def scale(factor: Rate) -> Transform:
    """Directions times a number or a schedule."""

    def change(directions: Directions, params: Parameters, state: State) -> Directions:
        by = rate_of(factor, state)
        return [g * T.cast(by, p.dtype) for g, p in zip(directions, params, strict=True)]

    return Transform("scale", change)


def scale_by_learning_rate(rate: Rate) -> Transform:
    """Downhill, as far as the learning rate says: the last part of an optimizer."""

    def change(directions: Directions, params: Parameters, state: State) -> Directions:
        by = rate_of(rate, state)
        return [-(g * T.cast(by, p.dtype)) for g, p in zip(directions, params, strict=True)]

    return Transform("scale_by_learning_rate", change)


def add_decayed_weights(decay: float) -> Transform:
    """Directions plus `decay` times the parameters; after an optimizer's own scaling this is decoupled weight decay.

    >>> add_decayed_weights(1e-4)
    <optimizer add_decayed_weights>
    """
    return elementwise("add_decayed_weights", lambda g, p, state: g + decay * p)
