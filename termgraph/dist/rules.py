"""How the workers' copies come together: `Synchronous`, `ASGD`, `EASGD`, and the base class for your own rule."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Arrays = Sequence[np.ndarray]


class Rule:
    """Base of the rules in which every worker trains a copy of its own and meets a common centre now and then.

    A rule of your own overrides `exchange`, and the others if it needs them. There is one object per worker, so it may
    keep what it needs. After every `tau` batches of a worker, `exchange` is called while no other worker's is.

    >>> class Average(Rule):  # half of the way to the middle, for both
    ...     def exchange(self, local, centre, new):
    ...         for own, old, out in zip(local, centre, new):
    ...             np.add(own, old, out=out)
    ...             out /= 2
    ...             own[...] = out
    """

    tau = 1

    def start(self, params: Arrays, workers: int) -> None:
        """Called once, when this worker's parameters are those of the centre."""

    def before_step(self, params: Arrays) -> None:
        """Called before each batch. Parameters may be changed in place."""

    def after_step(self, params: Arrays) -> None:
        """Called after each batch. Parameters may be changed in place."""

    def exchange(self, local: Arrays, centre: Arrays, new: Arrays) -> None:
        """Fill all of `new`, the next centre, and change this worker's `local` parameters in place.

        `centre` is the present one; it must not be changed.
        """
        raise NotImplementedError(f"{type(self).__name__} must define exchange(local, centre, new)")


class Synchronous:
    """Every step is one step of all workers together, on the mean of their gradients. This is the exact rule.

    The copies are compared every `check` steps; a difference ends the training with an error. 0 never compares.
    """

    def __init__(self, check: int = 100) -> None:
        if check < 0:
            raise ValueError(f"Synchronous: check must be a number of steps, or 0, got {check}")
        self.check = int(check)


class ASGD(Rule):
    """Asynchronous descent: every `tau` batches a worker adds its change to the centre, and goes on from there."""

    def __init__(self, tau: int = 1) -> None:
        self.tau = _checked_tau(tau)

    def start(self, params: Arrays, workers: int) -> None:
        self._last = [p.copy() for p in params]

    def exchange(self, local: Arrays, centre: Arrays, new: Arrays) -> None:
        for own, last, old, out in zip(local, self._last, centre, new):
            np.subtract(own, last, out=last)
            np.add(old, last, out=out)
            last[...] = out
            own[...] = out


class EASGD(Rule):
    """Elastic averaging: every `tau` batches a worker and the centre are pulled towards each other, by `alpha`.

    `alpha` is 0.9 divided by the number of workers unless given. With `momentum` each worker moves by Nesterov's
    momentum on its own (EAMSGD); the update should then be plain descent. The result is the centre.
    """

    def __init__(self, alpha: float | None = None, tau: int = 10, momentum: float = 0.0) -> None:
        if alpha is not None and not 0 <= alpha <= 1:
            raise ValueError(f"EASGD: alpha must be between 0 and 1, got {alpha}")
        if not 0 <= momentum < 1:
            raise ValueError(f"EASGD: momentum must be at least 0 and below 1, got {momentum}")
        self.alpha, self.tau, self.momentum = alpha, _checked_tau(tau), float(momentum)

    def start(self, params: Arrays, workers: int) -> None:
        self._rate = 0.9 / workers if self.alpha is None else self.alpha
        self._speed = [np.zeros_like(p) for p in params] if self.momentum else []
        self._before = [p.copy() for p in params] if self.momentum else []

    def before_step(self, params: Arrays) -> None:
        for p, before, speed in zip(params, self._before, self._speed):
            before[...] = p
            p += self.momentum * speed

    def after_step(self, params: Arrays) -> None:
        for p, before, speed in zip(params, self._before, self._speed):
            np.subtract(p, before, out=speed)

    def exchange(self, local: Arrays, centre: Arrays, new: Arrays) -> None:
        for own, old, out in zip(local, centre, new):
            np.subtract(own, old, out=out)
            out *= self._rate
            own -= out
            out += old


def _checked_tau(tau: int) -> int:
    if int(tau) != tau or tau < 1:
        raise ValueError(f"tau is a number of batches, at least 1, got {tau}")
    return int(tau)
