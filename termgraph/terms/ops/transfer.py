"""Copies between the memories of the host and of devices: identities, and what is computed from one is computed there.

The rules with the tag `gpu` put them in; `judging` tells these rules what a device can compute.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from termgraph.terms.op import CONST, Op, define
from termgraph.terms.term import AnyTerm, mk
from termgraph.terms.traverse import ARGS, work_out
from termgraph.terms.types import TensorType


def _copy(name: str, doc: str, **params: Any) -> Op:
    return define(
        name, arity=1, infer=lambda x, **_: x, meaning=lambda x, **_: x, kind="transfer", params=params, view=0, doc=doc
    )


gpu_from_host = _copy("gpu_from_host", "x, copied from the host to a device.", device=0)
host_from_gpu = _copy("host_from_gpu", "x, copied from a device to the host.", device=0)
gpu_from_gpu = _copy("gpu_from_gpu", "x, copied from one device to another.", device=0, source=0)
resident = _copy("resident", "x, an array that is on a device already.", device=0)
to_device = _copy("to_device", "x, wanted on a device; what is computed from it is computed there.", device=0)
ON_DEVICE = (gpu_from_host, gpu_from_gpu, resident)
COPIES = (*ON_DEVICE, host_from_gpu)


def device_number(target: str) -> int | None:
    """The number of the device named by a target: None for "cpu", 0 for "cuda", 1 for "cuda:1"."""
    kind, colon, number = target.partition(":") if isinstance(target, str) else ("", "", "")
    if kind == "cpu" and not colon:
        return None
    if kind != "cuda" or (colon and not number.isdecimal()):
        raise ValueError(f"a target is 'cpu', 'cuda', or 'cuda:1' for the second device, got {target!r}")
    return int(number or 0)


class Judge:
    """What a device can compute, and where terms are. `why_not(term)` is asked about terms without copies."""

    def __init__(self, why_not: Callable[[Any], str | None]) -> None:
        self.why_not = why_not
        self._plain: dict[Any, Any] = {}
        self._device: dict[Any, int | None] = {}

    def plain(self, t: AnyTerm) -> Any:
        """The term without copies."""
        return work_out(self._plain, t, ARGS, self._plain_of)

    def device(self, t: AnyTerm) -> int | None:
        """The device that a term is on; None for the host, and for constants, which are everywhere."""
        return work_out(self._device, t, ARGS, self._device_of)

    def same(self, new: AnyTerm, old: AnyTerm) -> None:
        """A term stands for another, whose name and place it has."""
        self._plain[new] = self.plain(old)

    def _plain_of(self, t: AnyTerm) -> Any:
        if not t.args:
            return t
        if t.op.family in COPIES:
            return self._plain[t.args[0]]
        return mk(t.op, tuple([self._plain[a] for a in t.args]))

    def _device_of(self, t: AnyTerm) -> int | None:
        if not t.args or t.op.family is host_from_gpu:
            return None
        if t.op.family in ON_DEVICE:
            return int(t.op.params["device"])
        return next((d for a in t.args if (d := self._device[a]) is not None), None)

    def can(self, op: Op, args: tuple[Any, ...]) -> bool:
        """Whether an operation on the host might move to a device."""
        if not args or op.family in COPIES or any(self.device(a) is not None for a in args):
            return False
        if op.family is to_device:
            return isinstance(args[0].type, TensorType)
        return self.why_not(mk(op, tuple([self.plain(a) for a in args]))) is None

    def moved(self, op: Op, args: tuple[Any, ...]) -> Any:
        """The operation on the device where its first operand comes from, its result on the host."""
        comes = [a.op.params["device"] for a in args if a.args and a.op.family is host_from_gpu]
        if op.family is to_device:
            comes = [op.params["device"]]
        up = gpu_from_host.bind(device=comes[0] if comes else 0)
        alone = all(a.op is CONST for a in args)  # constants are everywhere; then one has to say where
        there = mk(op, tuple([a if a.op is CONST and not alone else mk(up, (a,)) for a in args]))
        return mk(host_from_gpu.bind(device=up.params["device"]), (there,))


def arrays_only(t: AnyTerm) -> str | None:
    """The judgement where no device is asked: element-wise operations on arrays."""
    fits = t.op.kind == "elementwise" and all(isinstance(x.type, TensorType) for x in (t, *t.args))
    return None if fits else "no device was asked"


_judges = threading.local()


def judge() -> Judge:
    """Who judges in this thread."""
    return getattr(_judges, "now", None) or Judge(arrays_only)


@contextmanager
def judging(one: Judge) -> Iterator[Judge]:
    """While this is entered, the rules ask `one`."""
    before, _judges.now = getattr(_judges, "now", None), one
    try:
        yield one
    finally:
        _judges.now = before
