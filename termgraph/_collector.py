"""Python's cycle collector, held back while graphs are worked on. Uses the standard library only."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]


class _Held(threading.local):
    """Whether this thread has stopped the collector."""

    here = False


_held = _Held()
_blocks = getattr(sys, "getallocatedblocks", int)  # of CPython; else 0, as where memory is another library's
_MANY_AGED = 200_000  # objects, after which those that are left are counted
_MANY_BLOCKS = 300_000  # of memory, 20 MB of them
_aged = 0  # how many objects have aged since they were counted
_MUCH = 256 << 20  # bytes, after which all is collected: a collection takes less than the pages of as much memory
_ROUNDS = 2  # arrays of a function are found when it has gone
_memory_left = 0  # bytes, when all was collected for their sake last
_left, _enough = 0, _MANY_BLOCKS  # how many blocks there were when all was looked at, and how many more may come
resting = False  # whether it is certain that it is stopped: read for each new term, where a call costs a fortieth


@contextmanager
def paused_gc() -> Iterator[None]:
    """The cycle collector off: terms and modules hardly form cycles, and walking them again and again takes long.

    What was made meanwhile counts as old then: else the next allocation would have all of it walked.
    """
    if not gc.isenabled():
        yield
        return
    _collect_if_grown()
    if _aged > _MANY_AGED:
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
    global resting, _aged
    counts, limits = gc.get_count(), gc.get_threshold()
    aged = counts[0] > limits[0] > 0 and not gc.get_freeze_count()  # who has set 0 wants no collections
    if aged:
        gc.freeze()
        gc.unfreeze()
    resting = False
    gc.enable()
    if aged:
        _aged += counts[0] + limits[0] * (counts[1] + limits[1] * counts[2])


def _memory() -> int:
    """Bytes that the process has in memory: now on Linux, the most it ever had elsewhere, 0 where nobody says."""
    if resource is None:
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    if most - _memory_left <= _MUCH or sys.platform != "linux":
        return most  # a microsecond, the file takes ten
    try:
        with open("/proc/self/statm", "rb", buffering=0) as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return most


def _collect_if_grown() -> None:
    """Collects everything if the process has much more memory than when that was done last.

    Python counts objects. A function, its shared variables and the memory of its calls are few of them, in cycles:
    who makes such functions again and again, in a notebook, would keep them all.
    """
    global _memory_left
    memory = _memory()
    if not _memory_left:
        _memory_left = memory  # what there was before is not ours
    if memory - _memory_left <= max(_MUCH, _memory_left // 4) or gc.get_freeze_count() or not gc.get_threshold()[0]:
        return
    for _ in range(_ROUNDS):
        if not gc.collect():
            break
    _memory_left = _memory()


def _look_at_old() -> None:
    """Collects everything if enough is left of what has aged: that sets to 0 the counts by which Python would.

    It is asked when the next work begins: what a compile made and has dropped by then costs a count, not a collection.
    """
    global _aged, _enough, _left
    if gc.get_freeze_count() or not gc.get_threshold()[0]:
        return
    _aged = 0
    blocks = _blocks()  # a look at each pool of them: counting objects is a walk through all, 5 ms
    if not blocks or blocks - _left > _enough:
        gc.collect()
        _left = _blocks()
        _enough = max(_MANY_BLOCKS, _left // 4)  # a quarter, as Python: else time is quadratic


def _after_fork() -> None:
    """In a child, which has none of the threads that would start the collector again but the one that forked."""
    global resting
    if resting and not _held.here:
        resting = False
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
