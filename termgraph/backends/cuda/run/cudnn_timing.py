"""Plans of cuDNN, and products by cuBLAS, timed: the fastest for a problem on this device, remembered on disk.

A record is kept by the problem, how its numbers are rounded, the device and the versions of the libraries: the same
record means the same plan, and the same bits. May touch: the libraries, the device, the cache.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, Protocol

from termgraph.backends.c.build.cache import default_cache
from termgraph.backends.cuda.driver.base import DeviceLost, OutOfDeviceMemory
from termgraph.backends.cuda.run.cudnn_engines import REFUSED, EnginePlan, Engines

KIND, FORMAT = "plan of cuDNN", 1
MOST = 8  # engines with their knobs that are timed, beside the algorithm that is recommended
SECONDS = 0.3  # for the calls that are timed of one problem; what comes later is not tried
ROUNDS, CALLS = 3, 4  # the least time of a round counts
FAR = 2  # times the best so far: what takes more in two rounds is not asked again


class Plan(Protocol):
    """Something that computes a convolution."""

    size: int  # of the workspace, in bytes
    room: int  # where it is

    def run(self, places: Mapping[str, int]) -> None:
        """Queue it, with arrays at these addresses."""


def fastest(
    dnn: Any, usual: Plan | None, engines: Callable[[], Engines], exact: bool, places: Mapping[str, int], of: Any,
    own: Sequence[Plan] = (),
) -> Plan | None:  # fmt: skip
    """The fastest of the usual plan, our own and what the heuristics recommend, computed with these very arrays.

    The result is written by each of them. `of` says what times depend on.
    """
    identity = json.dumps({"format": FORMAT, "usual": str(usual), "of": of}, sort_keys=True)
    known = default_cache().read(KIND, identity)
    if known is not None:
        return _remembered(dnn, usual, own, engines, json.loads(known.read("record.json")))
    try:
        tried: Iterable[Plan] = engines().plans(exact, MOST)
    except REFUSED:
        tried = ()
        if not own:
            return usual
    plans, seconds, whole = _timed(dnn, usual, chain(own, tried), places)
    if not seconds:
        return usual
    best = min(seconds, key=seconds.__getitem__)
    for name, plan in plans.items():
        if name != best and isinstance(plan, EnginePlan):
            plan.close()
    record = {**_words(plans[best]), "seconds": seconds, "of": identity}
    if whole:  # another process may have been the first: then it has chosen
        kept = default_cache().write(KIND, identity, {"record.json": json.dumps(record).encode()}, {"name": best})
        there = json.loads(kept.read("record.json"))
        if there["plan"] != best:
            return _remembered(dnn, usual, own, engines, there)
    return _housed(dnn, plans[best]) or usual


def _words(plan: Plan) -> dict[str, Any]:
    """A plan as data."""
    more = {"engine": plan.engine, "knobs": plan.knobs} if isinstance(plan, EnginePlan) else {}
    return {"plan": str(plan), **more}


def _remembered(
    dnn: Any, usual: Plan | None, own: Sequence[Plan], engines: Callable[[], Engines], record: Mapping[str, Any]
) -> Plan | None:
    """The plan that a record names; the usual one where that is not to be had."""
    if "engine" not in record:
        ours = next((plan for plan in own if str(plan) == record["plan"]), None)
        return ours and _housed(dnn, ours) or usual
    try:
        return _housed(dnn, engines().named(record["engine"], record["knobs"])) or usual
    except REFUSED:
        return usual


def _housed(dnn: Any, plan: Plan) -> Plan | None:
    """A plan with its workspace; None if there is no room for it."""
    if not plan.room:
        plan.room = dnn.room(plan.size) or 0
    return plan if plan.room else None


def _timed(
    dnn: Any, usual: Plan | None, tried: Iterable[Plan], places: Mapping[str, int]
) -> tuple[dict[str, Plan], dict[str, float], bool]:
    """Plans by their names, the seconds of those that ran, and whether none was left out for want of memory."""
    plans: dict[str, Plan] = {}
    seconds: dict[str, float] = {}
    spent, whole = 0.0, True
    for plan in chain([usual] if usual is not None else [], tried):
        if plan.size > dnn.most:
            continue
        plans[str(plan)] = plan
        try:
            with _lent(dnn, plan):
                least, took = _seconds(dnn, plan, places, min(seconds.values(), default=float("inf")))
            seconds[str(plan)] = least
            spent += took
        except OutOfDeviceMemory:
            whole = False
        except DeviceLost:
            raise
        except REFUSED:  # it is known when it is run that it cannot
            continue
        if spent > SECONDS:
            break
    return plans, seconds, whole


@contextmanager
def _lent(dnn: Any, plan: Plan) -> Iterator[None]:
    """Room for a plan while it is timed: losers leave nothing behind."""
    if plan.room:
        yield
        return
    there, size = dnn.rooms[-1] if dnn.rooms else (0, 0)
    own = 0 if 0 < plan.size <= size or (not plan.size and there) else dnn.device.allocate(plan.size, "timing of cuDNN")
    plan.room = own or there
    try:
        yield
    finally:
        plan.room = 0
        if own:
            dnn.device.free(own)


def _seconds(dnn: Any, plan: Plan, places: Mapping[str, int], best: float) -> tuple[float, float]:
    """The least time of a call in some rounds, and of all of them; the first call loads kernels, and does not count."""
    least, spent, wait = float("inf"), 0.0, dnn.device.driver.synchronize
    plan.run(places)
    wait()
    for k in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(CALLS):
            plan.run(places)
        wait()
        took = time.perf_counter() - start
        least, spent = min(least, took / CALLS), spent + took
        if k and least > FAR * best:
            break
    return least, spent
