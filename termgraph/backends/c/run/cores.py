"""How many cores compiled code may use. May touch: the flags, the process's CPU affinity and its container's quota."""

from __future__ import annotations

import os

from termgraph.config import config


def thread_count() -> int:
    """Threads that a compiled loop may use: the flag `threads`, or every core this process may run on."""
    return int(config.threads) or available_cores()


def blas_thread_count() -> int:
    """Threads that one BLAS call may use: the flag `blas.threads`, or every core this process may run on."""
    return int(config.blas.threads) or available_cores()


def available_cores() -> int:
    """Cores this process may really use: its CPU affinity, and the quota of its container if there is one."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        cores = os.cpu_count() or 1
    try:
        with open("/sys/fs/cgroup/cpu.max") as quota_file:
            quota, period = quota_file.read().split()[:2]
        if quota != "max":
            cores = min(cores, max(1, int(quota) // int(period)))
    except (OSError, ValueError):  # no cgroup v2 here: the affinity is all there is to know
        pass
    return max(1, cores)
