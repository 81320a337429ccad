"""The Python virtual machine: runs a Program by the NumPy meaning of its ops, eagerly or on demand.

All state of a call lives in the call, so one machine may run in many threads at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NoReturn

import numpy as np

from termgraph.terms.evaluate import check_broadcast
from termgraph.terms.term import AnyTerm
from termgraph.terms.types import TensorType
from termgraph.vm.failures import explain
from termgraph.vm.program import Instruction, Program

# of Theano's machine, and what to look at here instead
_ELSEWHERE = {
    "thunks": "`program.instructions`: one list of instructions is run, there is no call of its own for each",
    "nodes": "`program.instructions`, in the order in which they run",
    "storage_map": "`storage`, by the numbers that an instruction names as `inputs` and `outputs`",
    "compute_map": "`computed`: which places the last call filled",
}


MOST_IN_LINES = 100  # instructions of a program that is worth writing as a function of Python

# observer(index, instruction, slots, seconds): called after each instruction, while its results are in `slots`
Observer = Callable[[int, Instruction, list, float], None]


def why_not(t: AnyTerm) -> None:
    """Why the machine cannot run a term: it runs all of them, by their meanings."""


class Machine:
    """Runs a program: `machine(values)` takes one value per input and returns one per output.

    `allow_gc` drops intermediate results after their last use; otherwise those of the last call stay in `storage`.
    `observers` see every instruction (their `before(index, instruction, slots)`, if any, is called first);
    `lookup(term)` gives a user's name and place for error messages.
    """

    def __init__(
        self,
        program: Program,
        allow_gc: bool = True,
        observers: Sequence[Observer] = (),
        lookup: Callable[[Any], tuple] | None = None,
    ) -> None:
        self.program, self.allow_gc, self.lookup = program, allow_gc, lookup
        self.observers: list[Observer] = list(observers)
        self._before = [o.before for o in self.observers if hasattr(o, "before")]
        self.storage: list[Any] = []
        self._template: list[Any] = [None] * program.n_slots
        for slot, value in program.constants.items():
            self._template[slot] = value
        self._producer = program.producers() if program.lazy else {}
        frees = program.frees if allow_gc else [()] * len(program.instructions)
        self._steps = [(runner_of(i), i.inputs, i.outputs, f) for i, f in zip(program.instructions, frees)]
        plain = allow_gc and not program.lazy and not self.observers and len(self._steps) <= MOST_IN_LINES
        self._lines = in_lines(program, self._steps) if plain else None

    @property
    def computed(self) -> list[bool]:
        """Which places of `storage` the last call filled: not those of a branch that was not taken."""
        return [value is not None for value in self.storage]

    def __getattr__(self, name: str) -> Any:
        if name in _ELSEWHERE:
            raise AttributeError(f"this machine has no {name}; look at {_ELSEWHERE[name]}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """Run once. An exception names the instruction and the user's line that made it."""
        if self._lines is not None:
            try:
                return self._lines(*values)
            except Exception as error:
                self._raise(*self._stopped(error), error)
        slots = self._template[:]
        slots[: len(values)] = values
        if self.program.lazy:
            self._run_on_demand(slots)
        elif self.observers:
            self._run_observed(slots)
        else:
            self._run(slots)
        if not self.allow_gc:
            self.storage[:] = slots
        return [slots[i] for i in self.program.outputs]

    def run_one(self, instruction: Instruction, values: Sequence[Any]) -> np.ndarray:
        """The result of one instruction that is not part of the program, with errors told as for the others."""
        try:
            return runner_of(instruction)(*values)
        except Exception as error:
            terms = [self.program.term_of[s] for s in instruction.inputs]
            raise explain(error, instruction, list(zip(terms, values)), self.lookup) from None

    def free(self) -> None:
        """Drop the intermediate results that `allow_gc=False` keeps."""
        self.storage.clear()

    def share_storage(self, other: Machine) -> None:
        """Keep the results of the last call where `other` keeps them."""
        self.storage = other.storage

    def _run(self, slots: list[Any]) -> None:
        i = 0
        try:
            for run, inputs, outputs, free in self._steps:
                result = run(*[slots[s] for s in inputs])
                if len(outputs) == 1:
                    slots[outputs[0]] = result
                else:
                    for s, value in zip(outputs, result):
                        slots[s] = value
                for s in free:
                    slots[s] = None
                i += 1
        except Exception as error:
            self._raise(i, slots, error)

    def _run_observed(self, slots: list[Any]) -> None:
        for i in range(len(self._steps)):
            self._step(i, slots)
            for s in self._steps[i][3]:
                slots[s] = None

    def _step(self, i: int, slots: list[Any]) -> None:
        """One instruction, timed and shown to the observers."""
        run, inputs, outputs, _ = self._steps[i]
        for before in self._before:
            before(i, self.program.instructions[i], slots)
        start = perf_counter()
        try:
            result = run(*[slots[s] for s in inputs])
        except Exception as error:
            self._raise(i, slots, error)
        seconds = perf_counter() - start
        for s, value in zip(outputs, (result,) if len(outputs) == 1 else result):
            slots[s] = value
        for observer in self.observers:
            try:
                observer(i, self.program.instructions[i], slots, seconds)
            except Exception as error:
                self._raise(i, slots, error)

    # ------------------------------------------------------------------ on demand
    def _run_on_demand(self, slots: list[Any]) -> None:
        """Compute only the slots that the outputs need, given which inputs the lazy instructions pick."""
        producer = self._producer
        reads = _count_reads(self.program) if self.allow_gc else {}
        have = bytearray(len(slots))
        for s in range(len(slots)):
            have[s] = s not in producer
        stack = list(reversed(self.program.outputs))
        while stack:
            s = stack[-1]
            if have[s]:
                stack.pop()
                continue
            i = producer[s]
            instruction = self.program.instructions[i]
            needed = self._needed_for(i, instruction, s, slots, have)
            missing = [n for n in needed if not have[n]]
            if missing:
                stack.extend(reversed(missing))
                continue
            stack.pop()
            if instruction.lazy:
                slots[s] = slots[needed[-1]]
                have[s] = 1
                self._observe(i, instruction, slots)
            else:
                self._step(i, slots)
                for out in instruction.outputs:
                    have[out] = 1
            self._release(needed[-1:] if instruction.lazy else needed, slots, reads)

    def _needed_for(self, i: int, instruction: Instruction, s: int, slots: list[Any], have: bytearray) -> Sequence[int]:
        """The slots that must be there before slot `s` of instruction `i` can be filled, as far as is known yet."""
        if not instruction.lazy:
            return instruction.inputs
        condition = instruction.inputs[0]
        if not have[condition]:
            return (condition,)
        try:
            picked = instruction.op.choose(slots[condition], len(instruction.inputs))
        except Exception as error:
            self._raise(i, slots, error)
        return (condition, instruction.inputs[picked[instruction.outputs.index(s)]])

    def _observe(self, i: int, instruction: Instruction, slots: list[Any]) -> None:
        for observer in self.observers:
            observer(i, instruction, slots, 0.0)

    def _release(self, read: Sequence[int], slots: list[Any], reads: dict[int, int]) -> None:
        for s in read:
            if s in reads:
                reads[s] -= 1
                if not reads[s]:
                    slots[s] = None

    def _stopped(self, error: Exception) -> tuple[int, list[Any]]:
        """Which instruction of the lines raised an error, and the values there were."""
        inside = error.__traceback__.tb_next if error.__traceback__ is not None else None
        if inside is None:
            raise error  # it was not given as many values as it has inputs
        slots = self._template[:]
        for name, value in inside.tb_frame.f_locals.items():
            if name[0] == "s":
                slots[int(name[1:])] = value
        return inside.tb_lineno - 2, slots

    def _raise(self, i: int, slots: list[Any], error: Exception) -> NoReturn:
        instruction = self.program.instructions[i]
        operands = [(self.program.term_of[s], slots[s]) for s in instruction.inputs]
        try:
            raise explain(error, instruction, operands, self.lookup, self.program)
        finally:
            del error  # which holds its traceback, that this frame, and that all values until they are collected


def in_lines(program: Program, steps: Sequence[tuple]) -> Callable[..., list[Any]]:
    """A program as a function of Python, an instruction to a line: half the time of going through a small one."""
    names: dict[str, Any] = {f"s{slot}": value for slot, value in program.constants.items()}
    lines = [f"def run({', '.join([f's{slot}' for slot in program.inputs])}):"]
    for i, (run, inputs, outputs, free) in enumerate(steps):
        names[f"run{i}"] = run
        call = f"run{i}({', '.join([f's{slot}' for slot in inputs])})"
        if len(outputs) == 1:
            line = f" s{outputs[0]} = {call}"
        else:
            line = "; ".join([f" results = {call}", *[f"s{slot} = results[{k}]" for k, slot in enumerate(outputs)]])
            line += "; results = None"
        lines.append(line + "".join([f"; s{slot} = None" for slot in free]))
    lines.append(f" return [{', '.join([f's{slot}' for slot in program.outputs])}]")
    exec(compile("\n".join(lines), "<program>", "exec"), names)
    return names["run"]


def runner_of(instruction: Instruction) -> Callable:
    """What to call for an instruction: its meaning, made to give arrays, with the run-time broadcasting check."""
    term = instruction.terms[0]
    run = instruction.run
    if getattr(instruction.op, "on_device", False):
        return run  # arrays on another device stay what they are
    if run == instruction.op.meaning:
        run = guarded(instruction.op, [a.type for a in term.args])
    if instruction.several:
        types = [getattr(t, "type", None) for t in getattr(term.type, "types", ())]
        return _unwrap_single(run) if len(types) == 1 else run
    if not isinstance(term.type, TensorType) or instruction.op.kind == "sparse":  # these give arrays
        return run

    def run_array(*values: np.ndarray) -> Any:
        result = run(*values)
        return result if result.__class__ is np.ndarray else np.asarray(result)

    return run_array


def _unwrap_single(run: Callable) -> Callable:
    return lambda *values: run(*values)[0]


def _count_reads(program: Program) -> dict[int, int]:
    """How often each slot that may be freed is read."""
    reads: dict[int, int] = {}
    for instruction in program.instructions:
        for s in instruction.inputs:
            reads[s] = reads.get(s, 0) + 1
    for s in (*program.outputs, *program.inputs, *program.constants):
        reads.pop(s, None)
    return reads


# ---------------------------------------------------------------------- broadcasting
# Checks that static types leave to run time; a length that was unknown may not turn out to be a hidden 1.
def guarded(op: Any, types: Sequence[Any]) -> Callable:
    """The op's meaning, checking its arguments first where their types do not settle everything."""
    meaning = op.direct_meaning()
    own = getattr(op, "runtime_check", None)
    if own is not None:

        def run_checked(*values: np.ndarray) -> np.ndarray:
            own(types, values)
            return meaning(*values)

        return run_checked
    if op.kind != "elementwise" or not undecided(types):
        return meaning
    static = [t.shape for t in types]

    def run(*values: np.ndarray) -> np.ndarray:
        shape = values[0].shape
        for v in values:
            if v.shape != shape:
                check_broadcast(op.name, static, [v.shape for v in values])
                break
        return meaning(*values)

    return run


def undecided(types: Sequence[Any]) -> bool:
    """Whether operands of these types may disagree about a length that is not known before run time."""
    if len(types) < 2 or not all(isinstance(t, TensorType) for t in types):
        return False
    for axis in range(-1, -1 - max(t.ndim for t in types), -1):
        lengths = [t.shape[axis] for t in types if t.ndim >= -axis and t.shape[axis] != 1]
        if len(lengths) > 1 and None in lengths:
            return True
    return False
