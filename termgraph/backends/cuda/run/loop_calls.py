"""Loops that are programs of their own: they stop early, or how many steps they make is computed.

A loop that stops early is queued in blocks of steps. A flag on the device says whether it has stopped: then the steps
that are left of the block change nothing, and the host asks for it after each block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from termgraph.backends.cuda.generate import CudaProgram, generate
from termgraph.backends.cuda.run.context import Device
from termgraph.backends.cuda.run.device_array import DeviceArray, to_host
from termgraph.backends.cuda.run.executor import Executable
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.loop import Parts, checked_steps, inherit_places, projections
from termgraph.terms.ops.shaping import shape_i
from termgraph.terms.term import Arg, Const, mk, mk1
from termgraph.terms.traverse import substitute
from termgraph.terms.types import TensorType

FIRST_BLOCK = 64
_LENGTH = TensorType("int8", (None, 0))
_STOPPED, _MADE = TensorType("bool", ()), TensorType("int64", ())


class LoopProgram:
    """A loop with its kernels; called with the number of steps and the operands. NotLowerable if it cannot be had."""

    def __init__(self, t: Any, device: Device, title: str) -> None:
        self.op, self.device = t.op, device
        self.code = _generated(t)
        self.run = Executable(self.code, device, title)
        self.run.tolerant = t.op.stop is not None

    def __call__(self, n: Any, *operands: Any) -> list[DeviceArray]:
        (n,) = to_host([n])
        parts = Parts(self.op, (n, *operands))
        steps = checked_steps(self.op, n, parts.xs)
        if self.op.stop is None:
            return self.run(_steps(steps), *operands)
        return self.in_blocks(parts, steps)

    def in_blocks(self, parts: Parts, steps: int) -> list[DeviceArray]:
        """Steps until the flag is set, in blocks that grow."""
        carries = [*parts.inits, np.zeros((), "bool"), np.zeros((), "int64")]
        xs = [DeviceArray.of(x, device=self.device) if isinstance(x, np.ndarray) else x for x in parts.xs]
        at, size, blocks = 0, min(steps, FIRST_BLOCK), []
        while True:
            rows = [x.rows(at, at + size) for x in xs]
            out = self.run(_steps(size), *parts.consts, *carries, *rows)
            carries, ys = out[: self.op.n_carry + 2], out[self.op.n_carry + 2 :]
            stopped, made = to_host(carries[-2:])
            self.check(int(made) - at, at)
            blocks.append([y.rows(0, int(made) - at) for y in ys])
            at = int(made)
            if stopped or at == steps:
                break
            size = min(steps - at, at)
        return [*carries[:-2], *[_joined(y) for y in zip(*blocks)], carries[-1]]

    def check(self, made: int, at: int) -> None:
        """Raise a failure in a step that counts; what fails after the end does not."""
        error: Any = self.run.failed
        if error is not None and error.steps[-1] < made:
            error.steps[-1] += at
            raise error


def _generated(t: Any) -> CudaProgram:
    """The loop over an array that has as many rows as there are steps, and takes no room."""
    op = t.op if t.op.stop is None else _with_flag(t.op)
    types = [a.type for a in t.args[1:]]
    if op is not t.op:
        k = op.n_consts + t.op.n_carry
        types[k:k] = [_STOPPED, _MADE]
    args = [Arg(0, _LENGTH), *[Arg(i, type_) for i, type_ in enumerate(types, 1)]]
    term = mk(op, (mk1(shape_i.bind(axis=0), args[0]), *args[1:]))
    return generate(args, projections(term))


def _with_flag(op: Any) -> Any:
    """The loop without an end: two more carries say whether it has stopped and how many steps it has made.

    When it has stopped carries keep their values.
    """
    k = op.n_consts + op.n_carry
    shifted = {Arg(i, type_): Arg(i + (2 if i >= k else 0), type_) for i, type_ in enumerate(op.params["takes"])}
    *body, stop = substitute(list(op.params["body"]), shifted)
    stopped, made = Arg(k, _STOPPED), Arg(k + 1, _MADE)
    keep = lambda old, new: new if new is old else mk(ew.switch, (stopped, old, new))  # noqa: E731
    kept = {new: keep(old, new) for old, new in zip(op.leaves[op.n_consts : k], body[: op.n_carry])}
    ys = [kept.get(y, y) for y in body[op.n_carry :]]  # up to the end a history of a carry is the same
    carries = [keep(old, new) for old, new in zip(op.leaves[op.n_consts : k], body[: op.n_carry])]
    more = mk(ew.switch, (stopped, Const(np.int64(0)), Const(np.int64(1))))
    ends = [mk(ew.logical_or, (stopped, stop)), mk(ew.add, (made, more))]
    takes = op.params["takes"]
    new = op.bind(
        body=(*carries, *ends, *ys),
        takes=(*takes[:k], _STOPPED, _MADE, *takes[k:]),
        n_carry=op.n_carry + 2,
        until=False,
    )
    inherit_places(new, op, shifted)
    return new


def _steps(n: int) -> np.ndarray:
    """An array of that length which takes no room."""
    return np.empty((n, 0), "int8")


def _joined(blocks: Sequence[DeviceArray]) -> DeviceArray:
    """The rows of all blocks in an array of their own."""
    first = blocks[0]
    out = DeviceArray.empty(first.device, (sum(map(len, blocks)), *first.shape[1:]), first.dtype, "results of a loop")
    at = 0
    for block in blocks:
        out.rows(at, at + len(block)).assign(block)
        at += len(block)
    return out
