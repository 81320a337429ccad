"""The same program inside another feature: functions from a program to outputs that mean the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import termgraph as tg
import termgraph.tensor as T

from .programs import Program


def called(p: Program) -> Callable[..., list]:
    """The program as a function of variables."""
    return lambda *inputs: list(tg.clone(p.outputs, replace=dict(zip(p.inputs, inputs, strict=True)), strict=False))


def twice(p: Program) -> list:
    return [T.stack([x, x]) for x in p.inputs]


def mapped(f: Callable[..., Any], p: Program) -> list:
    return [o[1] for o in tg.vmap(f)(*twice(p))]


def mapped_along_the_last_axis(p: Program) -> list:
    inputs = [T.stack([x, x, x], axis=-1) for x in p.inputs]
    return [o[..., 2] for o in tg.vmap(called(p), in_axes=-1, out_axes=-1)(*inputs)]


def mapped_twice(p: Program) -> list:
    inputs = [T.stack([T.stack([x, x])] * 2) for x in p.inputs]
    return [o[1, 0] for o in tg.vmap(tg.vmap(called(p)))(*inputs)]


def stepped(f: Callable[..., Any], inputs: list, which: int, **how: Any) -> list:
    return [y[which] for y in tg.scan(f, sequences=inputs, return_list=True, **how)[0]]


def until_steps(p: Program) -> list:
    inputs = [T.arange(4), *[T.stack([x] * 4) for x in p.inputs]]
    return stepped(lambda i, *r: (called(p)(*r), tg.until(i >= 1)), inputs, -1)


def steps_in_a_map(p: Program) -> list:
    return mapped(lambda *a: stepped(called(p), [T.stack([x, x]) for x in a], 0), p)


def chosen(condition: Any, outputs: list) -> list:
    return list(tg.ifelse(condition, outputs, [o * 0 for o in outputs]))


def chosen_in_steps(p: Program) -> list:
    step = lambda i, *r: chosen(T.eq(i, 1), called(p)(*r))  # noqa: E731
    return [y[1] for y in tg.scan(step, sequences=[T.arange(3)], non_sequences=p.inputs, return_list=True)[0]]


def folded(p: Program) -> Callable[..., list]:
    op = tg.OpFromGraph(p.inputs, p.outputs)
    return lambda *a: made if isinstance(made := op(*a), list) else [made]


WRAPS: dict[str, Callable[[Program], list]] = {
    "map": lambda p: mapped(called(p), p),
    "map along the last axis": mapped_along_the_last_axis,
    "map of a map": mapped_twice,
    "map of a checkpoint": lambda p: mapped(tg.checkpoint(called(p)), p),
    "map of a folded graph": lambda p: mapped(folded(p), p),
    "map of steps": steps_in_a_map,
    "checkpoint": lambda p: list(tg.checkpoint(called(p))(*p.inputs)),
    "folded graph": lambda p: folded(p)(*p.inputs),
    "steps": lambda p: stepped(called(p), twice(p), 1),
    "steps backwards": lambda p: stepped(called(p), twice(p), 1, go_backwards=True),
    "steps that stop": until_steps,
    "steps of a checkpoint": lambda p: stepped(tg.checkpoint(called(p)), twice(p), 1),
    "choice": lambda p: chosen(T.neq(T.as_tensor(p.inputs[-1].ndim) + T.size(p.inputs[-1]), 77), p.outputs),
    "choice in steps": chosen_in_steps,
    "stable": lambda p: list(tg.rewrite(p.outputs, "+canonicalize +stabilize")),
    "accurate": lambda p: [tg.accurate(o) if o.dtype in ("float32", "float64") else o for o in p.outputs],
}
