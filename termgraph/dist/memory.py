"""Memory that several processes map, and a lock on it that the kernel frees when its holder dies.

The memory is a file without a name (memfd): nothing is left behind, however the processes end, and no size of
/dev/shm limits it.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

PR_SET_PDEATHSIG = 1
# seconds of waiting for others: without a pause, then the first pause, which grows to the longest
SPIN, FIRST, GROWTH, LONGEST = 0.0005, 0.00005, 1.2, 0.002


class Shared:
    """A piece of memory by file descriptor: made here (`Shared(size)`), or handed over (`Shared(fd=...)`)."""

    def __init__(self, size: int = 0, fd: int | None = None) -> None:
        self.fd = _nameless() if fd is None else fd
        self._locking: int | None = None
        if fd is None and size:
            try:
                os.posix_fallocate(self.fd, 0, size)  # now, or the first write ends the process
            except OSError as err:
                os.close(self.fd)
                self.fd = -1
                if err.errno in (errno.ENOSPC, errno.ENOMEM):
                    raise MemoryError(f"no room for {size / 1e6:.0f} MB of shared memory") from None
                raise
        self.size = os.fstat(self.fd).st_size
        self.buffer = np.frombuffer(mmap.mmap(self.fd, self.size), np.uint8) if self.size else np.empty(0, np.uint8)

    def words(self, start: int, count: int) -> np.ndarray:
        """Whole numbers of 64 bits, each written and read as one."""
        return self.buffer[start : start + 8 * count].view(np.int64)

    @contextmanager
    def locked(self, timeout: float, late: Callable[[], None]) -> Iterator[None]:
        """Hold the lock. `late` is called after each `timeout` seconds of waiting, until the lock is free."""
        if self._locking is None:  # a description of its own: one that was handed over is shared, with its lock
            self._locking = os.open(f"/proc/self/fd/{self.fd}", os.O_RDWR | os.O_CLOEXEC)
        wait_until(lambda: self._try_lock(), timeout, late)
        try:
            yield
        finally:
            fcntl.flock(self._locking, fcntl.LOCK_UN)

    def _try_lock(self) -> bool:
        assert self._locking is not None
        try:
            fcntl.flock(self._locking, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def holder(self) -> int:
        """The process that holds the lock, as the kernel says; 0 if nobody does, or it cannot be known."""
        inode = os.fstat(self.fd).st_ino
        with open("/proc/locks") as table:  # number: FLOCK ADVISORY WRITE pid major:minor:inode start end
            rows = [line.split() for line in table]
        return next((int(r[4]) for r in rows if r[1] == "FLOCK" and int(r[5].rpartition(":")[2]) == inode), 0)

    def close(self) -> None:
        """Give the descriptors back. The memory goes when the last view of it does."""
        for fd in (self.fd, self._locking):
            if fd is not None and fd >= 0:
                os.close(fd)
        self.fd, self._locking = -1, None
        self.buffer = np.empty(0, np.uint8)


def _nameless() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("termgraph-dist", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def wait_until(done: Callable[[], bool], timeout: float, late: Callable[[], None]) -> None:
    """Wait for others: a moment by giving the processor away, then by short sleeps. `late` once per timeout."""
    begun = began = time.monotonic()
    pause = FIRST
    while not done():
        now = time.monotonic()
        if now - begun >= timeout:
            late()
            begun = now
        if now - began < SPIN:
            os.sched_yield() if hasattr(os, "sched_yield") else time.sleep(0)
        else:
            time.sleep(pause)
            pause = min(pause * GROWTH, LONGEST)


def end_with_parent(parent: int) -> None:
    """Ask the kernel to kill this process when its parent dies, whatever this process does then (also nothing)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before that
        os._exit(1)
