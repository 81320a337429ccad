"""The optimizers by name. Each is a chain: how the gradient is changed, then the learning rate.

The formulas are those of the papers that the docstrings name, with `eps` and defaults as PyTorch has them; `eps_root`,
inside the square root, is there where Optax has it.
"""

from __future__ import annotations

import termgraph.tensor as T
from termgraph._arguments import named
from termgraph.optim.transform import (
    Rate,
    State,
    Transform,
    add_decayed_weights,
    chain,
    elementwise,
    scale_by_learning_rate,
)
from termgraph.tensor.sharedvar import TensorSharedVariable
from termgraph.tensor.variable import TensorVariable


def _checked(name: str, **fractions: float) -> None:
    for what, value in fractions.items():
        if isinstance(value, (list, tuple, dict)):  # of parameters, as other libraries have them
            raise TypeError(f"{name}: {what} must be a number, got {value!r:.40}; write {name}(rate)(cost, parameters)")
        if isinstance(value, (int, float)) and not 0 <= value < 1:
            raise ValueError(f"{name}: {what} must be at least 0 and below 1, got {value}")


def _named(name: str, *parts: Transform) -> Transform:
    return chain(*parts, name=name)


def _trace(decay: float, ahead: bool) -> Transform:
    def change(g: TensorVariable, p: TensorSharedVariable, state: State) -> TensorVariable:
        speed = state.like(p, "speed")
        new = state.keep(speed, decay * speed + g)
        return g + decay * new if ahead else new

    return elementwise("trace", change)


@named
def sgd(learning_rate: Rate, momentum: float = 0.0, nesterov: bool = False) -> Transform:
    """Steps along the gradient, with momentum if asked: `speed = momentum * speed + g; p -= learning_rate * speed`.

    >>> sgd(0.1, momentum=0.9)
    <optimizer sgd>
    """
    _checked("sgd", momentum=momentum)
    if nesterov and not momentum:
        raise ValueError("sgd: nesterov=True looks ahead along the momentum, which is 0; give momentum=0.9, say")
    parts = [_trace(momentum, nesterov)] if momentum else []
    return _named("sgd", *parts, scale_by_learning_rate(learning_rate))


@named
def momentum(learning_rate: Rate, momentum: float = 0.9) -> Transform:
    """Stochastic gradient descent with momentum (Polyak).

    >>> momentum(0.1)
    <optimizer momentum>
    """
    _checked("momentum", momentum=momentum)
    return _named("momentum", _trace(momentum, False), scale_by_learning_rate(learning_rate))


@named
def nesterov(learning_rate: Rate, momentum: float = 0.9) -> Transform:
    """Stochastic gradient descent with Nesterov's momentum: the step looks ahead along the speed.

    >>> nesterov(0.1)
    <optimizer nesterov>
    """
    _checked("nesterov", momentum=momentum)
    return _named("nesterov", _trace(momentum, True), scale_by_learning_rate(learning_rate))


@named
def adagrad(
    learning_rate: Rate = 0.01, initial_accumulator: float = 0.0, eps: float = 1e-10, eps_root: float = 0.0
) -> Transform:
    """Steps divided by the root of the sum of all squared gradients (Duchi et al., 2011).

    >>> adagrad(0.01)
    <optimizer adagrad>
    """

    def change(g: TensorVariable, p: TensorSharedVariable, state: State) -> TensorVariable:
        total = state.like(p, "sum", initial_accumulator)
        return g / (T.sqrt(state.keep(total, total + g * g) + eps_root) + eps)

    return _named("adagrad", elementwise("scale_by_sum", change), scale_by_learning_rate(learning_rate))


@named
def rmsprop(
    learning_rate: Rate = 0.01, decay: float = 0.99, eps: float = 1e-8, eps_root: float = 0.0, centered: bool = False,
    momentum: float = 0.0,
) -> Transform:  # fmt: skip
    """Steps divided by the root of a running mean of squared gradients (Hinton, 2012); `centered` by their deviation.

    >>> rmsprop(0.01)
    <optimizer rmsprop>
    """
    _checked("rmsprop", decay=decay, momentum=momentum)

    def change(g: TensorVariable, p: TensorSharedVariable, state: State) -> TensorVariable:
        square = state.like(p, "square")
        spread = state.keep(square, decay * square + (1 - decay) * g * g)
        if centered:
            mean = state.like(p, "mean")
            spread = spread - T.sqr(state.keep(mean, decay * mean + (1 - decay) * g))
        return g / (T.sqrt(spread + eps_root) + eps)

    trace = [_trace(momentum, False)] if momentum else []
    return _named("rmsprop", elementwise("scale_by_rms", change), *trace, scale_by_learning_rate(learning_rate))


@named
def adadelta(learning_rate: Rate = 1.0, decay: float = 0.9, eps: float = 1e-6) -> Transform:
    """Steps in the units of the parameters, by running means of squared gradients and squared steps (Zeiler, 2012).

    >>> adadelta()
    <optimizer adadelta>
    """
    _checked("adadelta", decay=decay)

    def change(g: TensorVariable, p: TensorSharedVariable, state: State) -> TensorVariable:
        square, moved = state.like(p, "square"), state.like(p, "moved")
        step = T.sqrt(moved + eps) / T.sqrt(state.keep(square, decay * square + (1 - decay) * g * g) + eps) * g
        state.keep(moved, decay * moved + (1 - decay) * step * step)
        return step

    return _named("adadelta", elementwise("scale_by_adadelta", change), scale_by_learning_rate(learning_rate))


def _moments(
    g: TensorVariable, p: TensorSharedVariable, state: State, beta1: float, beta2: float
) -> tuple[TensorVariable, TensorVariable]:
    """Running means of the gradient and of its square, not yet corrected for their beginning at 0."""
    mean, square = state.like(p, "mean"), state.like(p, "square")
    first = state.keep(mean, beta1 * mean + (1 - beta1) * g)
    return first, state.keep(square, beta2 * square + (1 - beta2) * g * g)


def _correction(beta: float, count: TensorVariable, p: TensorSharedVariable) -> TensorVariable:
    return T.cast(1 - beta**count, p.dtype)


def _scale_by_adam(beta1: float, beta2: float, eps: float, eps_root: float, ahead: bool = False) -> Transform:
    def change(g: TensorVariable, p: TensorSharedVariable, state: State) -> TensorVariable:
        count = state.count()
        mean, square = _moments(g, p, state, beta1, beta2)
        if ahead:
            mean = beta1 * mean / _correction(beta1, count + 1, p) + (1 - beta1) * g / _correction(beta1, count, p)
        else:
            mean = mean / _correction(beta1, count, p)
        return mean / (T.sqrt(square / _correction(beta2, count, p) + eps_root) + eps)

    return elementwise("scale_by_adam", change)


@named
def adam(
    learning_rate: Rate = 0.001, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8, eps_root: float = 0.0
) -> Transform:
    """Steps along a running mean of gradients, divided by the root of one of their squares (Kingma and Ba, 2015).

    >>> adam(1e-3)
    <optimizer adam>
    """
    _checked("adam", beta1=beta1, beta2=beta2)
    return _named("adam", _scale_by_adam(beta1, beta2, eps, eps_root), scale_by_learning_rate(learning_rate))


@named
def nadam(
    learning_rate: Rate = 0.001, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8, eps_root: float = 0.0
) -> Transform:
    """Adam with Nesterov's momentum (Dozat, 2016), as Optax has it.

    >>> nadam(1e-3)
    <optimizer nadam>
    """
    _checked("nadam", beta1=beta1, beta2=beta2)
    return _named("nadam", _scale_by_adam(beta1, beta2, eps, eps_root, True), scale_by_learning_rate(learning_rate))


@named
def adamw(
    learning_rate: Rate = 0.001, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8, eps_root: float = 0.0,
    weight_decay: float = 0.01,
) -> Transform:  # fmt: skip
    """Adam with weight decay beside the gradient, not in it (Loshchilov and Hutter, 2019).

    >>> adamw(1e-3, weight_decay=0.1)
    <optimizer adamw>
    """
    _checked("adamw", beta1=beta1, beta2=beta2)
    parts = _scale_by_adam(beta1, beta2, eps, eps_root), add_decayed_weights(weight_decay)
    return _named("adamw", *parts, scale_by_learning_rate(learning_rate))


@named
def adamax(learning_rate: Rate = 0.002, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8) -> Transform:
    """Adam with the largest recent gradient in the place of the root of squares (Kingma and Ba, 2015).

    >>> adamax()
    <optimizer adamax>
    """
    _checked("adamax", beta1=beta1, beta2=beta2)

    def change(g: TensorVariable, p: TensorSharedVariable, state: State) -> TensorVariable:
        mean, largest = state.like(p, "mean"), state.like(p, "largest")
        first = state.keep(mean, beta1 * mean + (1 - beta1) * g)
        most = state.keep(largest, T.maximum(beta2 * largest, T.abs(g) + eps))
        return first / _correction(beta1, state.count(), p) / most

    return _named("adamax", elementwise("scale_by_largest", change), scale_by_learning_rate(learning_rate))


@named
def lion(learning_rate: Rate = 1e-4, beta1: float = 0.9, beta2: float = 0.99, weight_decay: float = 0.0) -> Transform:
    """Steps of one size, along the sign of a running mean (Chen et al., 2023): half the memory of Adam.

    >>> lion(1e-4, weight_decay=0.1)
    <optimizer lion>
    """
    _checked("lion", beta1=beta1, beta2=beta2)

    def change(g: TensorVariable, p: TensorSharedVariable, state: State) -> TensorVariable:
        mean = state.like(p, "mean")
        state.keep(mean, beta2 * mean + (1 - beta2) * g)
        return T.sign(beta1 * mean + (1 - beta1) * g)

    decay = [add_decayed_weights(weight_decay)] if weight_decay else []
    return _named("lion", elementwise("sign_of_mean", change), *decay, scale_by_learning_rate(learning_rate))
