"""Writing updates into the memory they replace, without a copy and without risk.

The last instruction of an update is set aside; it runs when everything else has succeeded, straight into the old
buffer, if nobody else holds that buffer.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from termgraph.terms.dtypes import is_bfloat16
from termgraph.terms.term import AnyTerm
from termgraph.terms.types import TensorType
from termgraph.vm.aliasing import owner_of
from termgraph.vm.program import Instruction, Program


class Deferred:
    """The last instruction of one update: which update, its ufunc, and where the program leaves its operands."""

    __slots__ = ("instruction", "operands", "ufunc", "update")

    def __init__(self, update: int, instruction: Instruction, ufunc: np.ufunc, operands: Sequence[int]) -> None:
        self.update, self.instruction, self.ufunc, self.operands = update, instruction, ufunc, tuple(operands)


def defer_updates(program: Program, n_outputs: int, updated: Sequence[int]) -> tuple[Program, list[Deferred]]:
    """The program without the last instructions of updates that can be written in place.

    `updated[k]` is the slot of the variable that output `n_outputs + k` is the new value of. In the new program those
    outputs are replaced by the old value (as a placeholder), and the operands follow as further outputs.
    """
    reads = _reads(program)
    producer = program.producers()
    deferred: list[Deferred] = []
    outputs = list(program.outputs)
    removed = set()
    for k, cell in enumerate(updated):
        slot = program.outputs[n_outputs + k]
        instruction = program.instructions[producer[slot]] if slot in producer else None
        ufunc = instruction and plain_ufunc(instruction)
        if not ufunc or reads[slot] != 1 or not _same_array_type(program.term_of[slot], program.term_of[cell]):
            continue
        start = len(outputs)
        outputs += instruction.inputs  # type: ignore[union-attr]
        outputs[n_outputs + k] = cell
        deferred.append(Deferred(k, instruction, ufunc, range(start, len(outputs))))  # type: ignore[arg-type]
        removed.add(producer[slot])
    if not deferred:
        return program, []
    kept = [i for n, i in enumerate(program.instructions) if n not in removed]
    return Program(program.inputs, program.constants, kept, outputs, program.term_of), deferred


def _reads(program: Program) -> dict[int, int]:
    reads: dict[int, int] = {}
    for slots in (*[i.inputs for i in program.instructions], program.outputs):
        for s in slots:
            reads[s] = reads.get(s, 0) + 1
    return reads


def _same_array_type(a: AnyTerm, b: AnyTerm) -> bool:
    """The same rank and dtype, one that NumPy's own functions know."""
    if not isinstance(a.type, TensorType) or a.type.dtype != b.type.dtype or a.type.ndim != b.type.ndim:
        return False
    return not is_bfloat16(a.type.np_dtype)


def plain_ufunc(instruction: Instruction) -> np.ufunc | None:
    """The NumPy ufunc that the instruction is one call of, if it is."""
    meaning = getattr(instruction.op, "_meaning", None)
    if isinstance(meaning, functools.partial) and len(instruction.inputs) == 2:
        meaning = meaning.args[0]  # an n-ary op folds its ufunc over the operands; here there is one pair
    fits = isinstance(meaning, np.ufunc) and meaning.nin == len(instruction.inputs) and meaning.nout == 1
    return meaning if fits and not instruction.lazy else None


def in_place_writes(
    deferred: Sequence[Deferred], results: Sequence[Any], buffers: Sequence[np.ndarray], holders: int
) -> list[Callable | None]:
    """For each deferred update a call that writes into its buffer, or None where that would not be safe.

    `buffers[n]` is the present value of the variable of `deferred[n]`; `holders` is how many references to it the
    caller knows of. The calls cannot fail: lengths are right and the memory is there.
    """
    owners = [id(owner_of(b)) for b in buffers]
    writes: list[Callable | None] = []
    for n, d in enumerate(deferred):
        operands = [results[i] for i in d.operands]
        foreign = {o for m, o in enumerate(owners) if m != n}
        mine = sum(operand is buffers[n] for operand in operands)
        alone = sys.getrefcount(buffers[n]) <= holders + 2 * mine  # once in `results`, once in `operands`
        if alone and _fits(buffers[n], operands) and not any(id(owner_of(v)) in foreign for v in operands):
            writes.append(functools.partial(d.ufunc, *operands, out=buffers[n]))
        else:
            writes.append(None)
    return writes


def _fits(buffer: np.ndarray, operands: Sequence[np.ndarray]) -> bool:
    if buffer.base is not None or not buffer.flags.writeable or not buffer.flags.aligned:
        return False
    try:
        return np.broadcast_shapes(*[v.shape for v in operands]) == buffer.shape
    except ValueError:
        return False
