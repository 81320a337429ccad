"""Routines with kernels of their own: which there are, their text, and their launches for given lengths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from termgraph.backends.cuda.text import convolution, pooling
from termgraph.backends.cuda.text.functions import BLOCK, ByLibrary, Launch, RoutineCall
from termgraph.lower.lengths.index import evaluate
from termgraph.lower.loops.tree import Routine
from termgraph.lower.storage.routine_table import spec_of
from termgraph.terms.term import AnyTerm

NAMES = frozenset((*pooling.NAMES, *convolution.NAMES))


def why_not(t: AnyTerm) -> str | None:
    """Why the kernels of a routine do not know a term; None if they do."""
    if spec_of(t) is None:
        return f"{t.op.family.name} has kernels for real numbers, along one to three dimensions"
    return None


def kernels(routines: Sequence[Routine], precision: str = "float32") -> list[str]:
    """The kernels that some routines need; `precision` is the value of the flag cuda.products."""
    texts: dict[str, str] = {}
    for n in routines:
        convolves = is_convolution(n)
        name = n.results[0].buf.dtype if convolves else pooling.kernel_name(n)
        if name not in texts:
            texts[name] = convolution.text(n, precision) if convolves else pooling.text(n)
    return list(texts.values())


def is_convolution(n: Routine) -> bool:
    """Whether a routine is a convolution or a gradient of one; else it is about pooling."""
    return n.term.op.family.name in convolution.NAMES


def plan(step: RoutineCall, env: Mapping[str, int], processors: int) -> tuple[list[Any], int]:
    """The launches of a routine, and the bytes that they need besides."""
    n = step.routine
    number = lambda p: evaluate(p, env)  # noqa: E731
    out, most = [], 0
    if is_convolution(n):
        for name, grid, params, room in convolution.launches(n, number, processors):
            out.append(Launch(name, grid, (BLOCK, 1, 1), [*params, ("flag", step.guard)], {}))
            most = max(most, room)
    else:
        name = f"tg_{pooling.kernel_name(n)}"
        for params, count in pooling.launches(n, number):
            grid = (min(-(-count // BLOCK), processors * 16), 1, 1)
            out.append(Launch(name, grid, (BLOCK, 1, 1), [*params, ("flag", step.guard)], {}))
    call = convolution.library_call(n, number) if is_convolution(n) and step.guard is None else None
    return ([ByLibrary(call, out)] if call is not None else out), most
