"""Python's cycle collector, held back while graphs are worked on. Uses the standard library only."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_MANY_YOUNG = 2000


class _Held(threading.local):
    """Whether this thread has stopped the collector."""

    here = False


_held = _Held()


@contextmanager
def paused_gc() -> Iterator[None]:
    """The cycle collector off: terms and modules hardly form cycles, and walking them again and again takes long.

    What was made meanwhile counts as old then: else the next allocation would have all of it walked.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
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
        gc.disable()


def _go_on() -> None:
    if gc.get_count()[0] > _MANY_YOUNG and not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
    gc.enable()


__all__ = ["paused_gc", "running_gc"]
