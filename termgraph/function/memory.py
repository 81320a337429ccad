"""`f.memory()`: what a call of a compiled function holds, read off its plan for the lengths of present values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from termgraph.backends.c.text.timers import TimedPart
from termgraph.function.compiled import Function
from termgraph.lower.lengths.shapes import OF_ALL
from termgraph.lower.loops.tree import Call, Compound, Kernel
from termgraph.lower.lowering import Planned, targets_of
from termgraph.lower.memory.timeline import Array, MemoryPlan, in_bytes, memory_plan
from termgraph.terms.dtypes import numpy_dtype
from termgraph.terms.ops.barrier import stored_as
from termgraph.terms.text import one_line
from termgraph.terms.types import TensorType

# How far a number is from the one of 16 bits that is nearest, as a part of it (float16: from 6e-5 to 65504).
ROUNDED = {"bfloat16": "2**-8", "float16": "2**-11"}
WIDE = 60  # characters of what an array holds


def memory_of(f: Function, arguments: Sequence[int], cells: Sequence[int], values: Sequence[Any]) -> MemoryPlan:
    """The plan of a function's C program, with lengths of these values and of the present shared variables.

    `arguments` and `cells` are the numbers of its inputs in the order of the program.
    """
    work = f.maker.work
    why = "it runs on the GPU" if work.on_gpu else work.not_native or ("" if work.in_c else "it is not compiled to C")
    if why:
        raise ValueError(f"memory() tells of functions that are one C program; {f._title()} is not: {why}")
    plan = f.stage("memory")
    assert isinstance(plan, Planned), "one C program has one plan"
    scheduled, lowered = plan.scheduled, plan.lowered
    steps = [n for n in scheduled.nodes if isinstance(n, (Kernel, Call, Compound))]
    names = [TimedPart.of(n).expression for n in steps]
    targets = targets_of(lowered)
    inputs = [f.maker.inputs[i] for i in (*arguments, *cells)]
    spelled = {t: inputs[t.index].name for t in lowered.statements.inputs if inputs[t.index].name}
    what = {b: one_line(t, WIDE, spelled) for b, t in lowered.statements.stored.items()}
    what |= {b: one_line(lowered.outputs[k], WIDE, spelled) for k, b in targets.items()}
    results = [b for b in targets.values() if b not in scheduled.modes]  # others are written over old values
    numbers = lowered.lengths.values
    whole = {b.name: t.args[0].type for b, t in lowered.statements.stored.items() if t.op.family is stored_as}
    env = _lengths(f, arguments, cells, values, numbers)
    try:
        return memory_plan(f._title(), steps, names, plan.places, results, what, env, partial(_kept, f, whole))
    except KeyError as missing:
        symbol = str(missing.args[0])
        k = numbers[symbol][0].index if symbol in numbers else int(symbol[1:].partition("_")[0])
        name, what_is = inputs[k].name or f"argument {k}", "value of" if symbol in numbers else "lengths of"
        known = "is not known" if symbol in numbers else "are not known"
        raise ValueError(f"the {what_is} {name} {known} before a call: memory(...) takes arguments") from None


def _kept(f: Function, whole: Mapping[str, TensorType], arrays: Sequence[Array]) -> str:
    """What `storage=` has changed, with its error; why nothing, if it is asked for."""
    dtype, passes = f.maker.work.options.storage, f.maker.work.captured.passes
    if dtype is None or passes is None:
        return ""
    kept = [a for a in arrays if a.name in whole]
    if not kept:
        backward = any(k not in passes.forward for k in range(passes.count))
        why = "what its gradients read is small, or needed at once" if backward else "it has no gradients"
        return f"storage={dtype!r}: no array is kept in 16 bits: {why}"
    now = sum(a.nbytes for a in kept)
    before = sum(a.nbytes // numpy_dtype(a.dtype).itemsize * whole[a.name].np_dtype.itemsize for a in kept)
    masks = sum(a.dtype == "bool" for a in kept)
    also = f", and {masks} of truth values" if masks else ""
    return (
        f"for the gradients {len(kept) - masks} arrays are kept in {dtype}{also}: {in_bytes(now)}, where the arrays "
        f"themselves are {in_bytes(before)}; an element is off by at most {ROUNDED[dtype]} of its size"
    )


def _lengths(
    f: Function,
    arguments: Sequence[int],
    cells: Sequence[int],
    values: Sequence[Any],
    numbers: Mapping[str, tuple[Any, int | str]],
) -> dict[str, int]:
    """Lengths, and the integers that lengths depend on, by the symbols that programs have for them."""
    if len(values) > len(arguments):
        raise TypeError(f"{f._title()} takes {len(arguments)} arguments, memory() was given {len(values)}")
    present = [f.input_storage[i].storage[0] for i in cells]
    given = [*values, *[None] * (len(arguments) - len(values)), *present]
    env: dict[str, int] = {}
    for k, value in enumerate(given):
        if value is not None:
            env |= {f"n{k}_{d}": n for d, n in enumerate(np.shape(value))}
    for name, (leaf, place) in numbers.items():
        if given[leaf.index] is not None:
            all_of = np.ravel(given[leaf.index])
            env[name] = OF_ALL[place](all_of) if isinstance(place, str) else int(all_of[place])
    return env
