"""Schedules: learning rates as functions of the step's number, which begins with 0.

A schedule works on symbolic numbers, and on plain ones to look at it: `exponential_decay(0.1, 0.5, 10)(20)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import termgraph.tensor as T
from termgraph._arguments import named
from termgraph.tensor.variable import TensorVariable

Schedule = Callable[[TensorVariable | float], TensorVariable]


def _positive(name: str, **lengths: float) -> None:
    for what, value in lengths.items():
        if not value > 0:
            raise ValueError(f"{name}: {what} must be positive, got {value}")


def _part(step: TensorVariable | float, begin: float, steps: float) -> TensorVariable:
    """How much of the way from step `begin` on is done: 0 to 1."""
    return T.clip((T.as_tensor(step) - begin) / float(steps), 0.0, 1.0)


@named
def linear(start: float, end: float, steps: int, begin: int = 0) -> Schedule:
    """From `start` to `end` in `steps` steps after `begin`, then `end`.

    >>> [float(linear(1.0, 0.0, 4)(k).eval()) for k in (0, 1, 4, 9)]
    [1.0, 0.75, 0.0, 0.0]
    """
    _positive("linear", steps=steps)
    return lambda step: start + (end - start) * _part(step, begin, steps)


@named
def polynomial(start: float, end: float, steps: int, power: float = 1.0, begin: int = 0) -> Schedule:
    """The same along a power of what is left: `power=2` goes fast first.

    >>> [float(polynomial(1.0, 0.0, 4, power=2)(k).eval()) for k in (0, 2, 4)]
    [1.0, 0.25, 0.0]
    """
    _positive("polynomial", steps=steps)
    return lambda step: end + (start - end) * (1.0 - _part(step, begin, steps)) ** power


@named
def exponential_decay(start: float, rate: float, steps: int, staircase: bool = False) -> Schedule:
    """`start * rate ** (step / steps)`; `staircase` changes it every `steps` steps only.

    >>> [float(exponential_decay(1.0, 0.5, 10)(k).eval()) for k in (0, 10, 20)]
    [1.0, 0.5, 0.25]
    """
    _positive("exponential_decay", steps=steps, rate=rate)

    def schedule(step: TensorVariable | float) -> TensorVariable:
        exponent = T.as_tensor(step) / float(steps)
        return start * rate ** (T.floor(exponent) if staircase else exponent)

    return schedule


@named
def cosine_decay(start: float, steps: int, end: float = 0.0) -> Schedule:
    """Half a wave of a cosine from `start` down to `end` (Loshchilov and Hutter, 2017).

    >>> [round(float(cosine_decay(1.0, 4)(k).eval()), 3) for k in (0, 2, 4, 5)]
    [1.0, 0.5, 0.0, 0.0]
    """
    _positive("cosine_decay", steps=steps)
    return lambda step: end + (start - end) * 0.5 * (1.0 + T.cos(T.pi * _part(step, 0, steps)))


@named
def warmup_cosine_decay(start: float, peak: float, warmup: int, steps: int, end: float = 0.0) -> Schedule:
    """From `start` up to `peak` in `warmup` steps, then down along a cosine until step `steps`.

    >>> rate = warmup_cosine_decay(0.0, 1.0, warmup=2, steps=6)
    >>> [round(float(rate(k).eval()), 3) for k in (0, 1, 2, 4, 6)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    _positive("warmup_cosine_decay", warmup=warmup, steps=steps - warmup)
    up, down = linear(start, peak, warmup), cosine_decay(peak, steps - warmup, end)
    return lambda step: T.switch(T.as_tensor(step) < warmup, up(step), down(T.as_tensor(step) - warmup))


@named
def piecewise_constant(start: float, factors: Mapping[int, float]) -> Schedule:
    """A rate that is multiplied by a factor from each of these steps on.

    >>> [round(float(piecewise_constant(1.0, {10: 0.1, 20: 0.5})(k).eval()), 3) for k in (0, 10, 25)]
    [1.0, 0.1, 0.05]
    """

    def schedule(step: TensorVariable | float) -> TensorVariable:
        rate: TensorVariable = T.as_tensor(start)
        for begin, factor in sorted(factors.items()):
            rate = rate * T.switch(T.as_tensor(step) >= begin, factor, 1.0)
        return rate

    return schedule
