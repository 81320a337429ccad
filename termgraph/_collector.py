"""Python's cycle collector, held back while graphs are worked on. Uses the standard library only."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Held(threading.local):
    """Whether this thread has stopped the collector."""

    here = False


_held = _Held()
_MANY_OLD = 200_000  # objects, 30 MB of them
_unseen, _enough = 0, _MANY_OLD  # how many may have aged since all were looked at, and after how many that is done
_left = 0  # how many there were then
resting = False  # whether it is certain that it is stopped: read for each new term, where a call costs a fortieth


@contextmanager
def paused_gc() -> Iterator[None]:
    """The cycle collector off: terms and modules hardly form cycles, and walking them again and again takes long.

    What was made meanwhile counts as old then: else the next allocation would have all of it walked.
    """
    if not gc.isenabled():
        yield
        return
    if _unseen > _enough:
        _look_at_old()
    _stop()
    _held.here = True
    try:
        yield
    finally:
        _held.here = False
        _go_on()


@contextmanager
def running_gc() -> Iterator[None]:
    """The collector on again inside of `paused_gc`: other threads work while this one waits for a compiler."""
    if not _held.here:
        yield
        return
    _go_on()
    try:
        yield
    finally:
        _stop()


def _stop() -> None:
    global resting
    gc.disable()
    resting = True


def _go_on() -> None:
    global resting, _unseen
    counts, limits = gc.get_count(), gc.get_threshold()
    aged = counts[0] > limits[0] > 0 and not gc.get_freeze_count()  # who has set 0 wants no collections
    if aged:
        gc.freeze()
        gc.unfreeze()
    resting = False
    gc.enable()
    if aged:
        _unseen += counts[0] + limits[0] * (counts[1] + limits[1] * counts[2])


def _look_at_old() -> None:
    """Collects everything if enough has aged: to age it sets the counts to 0 that Python would do so by.

    It is asked when the next work begins: what a compile made and has dropped by then costs a count, not a collection.
    """
    global _unseen, _enough, _left
    if gc.get_freeze_count() or not gc.get_threshold()[0]:
        return
    _unseen = _objects() - _left
    if _unseen > _enough:
        gc.collect()
        _unseen, _left = 0, _objects()
        _enough = max(_MANY_OLD, _left // 4)  # a quarter, as Python: else time is quadratic


def _objects() -> int:
    """How many the collector knows."""
    gc.freeze()
    count = gc.get_freeze_count()
    gc.unfreeze()
    return count


def _after_fork() -> None:
    """In a child, which has none of the threads that would start the collector again but the one that forked."""
    global resting
    if resting and not _held.here:
        resting = False
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


__all__ = ["paused_gc", "running_gc"]
