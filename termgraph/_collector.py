"""Python's cycle collector, held back while graphs are worked on. Uses the standard library only."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_MANY_YOUNG = 2000


@contextmanager
def paused_gc() -> Iterator[None]:
    """The cycle collector off: terms form no cycles, and walking them again and again would double the time.

    What was made meanwhile counts as old then: else the next allocation would have all of it walked.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if gc.get_count()[0] > _MANY_YOUNG and not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()


__all__ = ["paused_gc"]
