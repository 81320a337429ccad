"""Python's cycle collector, held back while graphs are worked on. Uses the standard library only."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Held(threading.local):
    """Whether this thread has stopped the collector."""

    here = False


_held = _Held()
resting = False  # whether it is certain that it is stopped: read for each new term, where a call costs a fortieth


@contextmanager
def paused_gc() -> Iterator[None]:
    """The cycle collector off: terms and modules hardly form cycles, and walking them again and again takes long.

    What was made meanwhile counts as old then: else the next allocation would have all of it walked.
    """
    if not gc.isenabled():
        yield
        return
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
    global resting
    if gc.get_count()[0] > gc.get_threshold()[0] and not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
    resting = False
    gc.enable()


__all__ = ["paused_gc", "running_gc"]
