"""Programs of which parts run on devices: runs of operations become kernels, copies what they say, the rest stays.

The graph says where everything is (`terms.ops.transfer`).
"""

from __future__ import annotations

import functools
import heapq
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from termgraph.backends.cuda.generate import CudaProgram, generated
from termgraph.backends.cuda.run.arrivals import departed
from termgraph.backends.cuda.run.context import Device
from termgraph.backends.cuda.run.device_array import Spare, as_device_array, to_host
from termgraph.backends.cuda.run.executor import Executable
from termgraph.backends.cuda.run.loop_calls import LoopProgram
from termgraph.backends.cuda.text.user_kernels import UserProgram, brings_a_kernel
from termgraph.lower.lengths.checks import NotLowerable
from termgraph.stages import Ledger
from termgraph.terms.ops.loop import loop
from termgraph.terms.ops.transfer import COPIES, Judge, gpu_from_gpu, gpu_from_host, host_from_gpu, resident, to_device
from termgraph.terms.term import AnyTerm, Arg, mk
from termgraph.terms.traverse import rebuild, substitute, subterms
from termgraph.vm.partition import Part, Refusal, divided
from termgraph.vm.program import Instruction, Program


class KernelsOp:
    """Stands where an instruction has its op: a run of terms compiled to kernels."""

    lazy = False
    nout = 1
    kind = "kernel"
    on_device = True
    params: dict = {}
    meaning = None  # it is run by its code only

    def __init__(self, name: str, code: CudaProgram) -> None:
        self.name, self.code, self.family = f"cuda:{name}", code, self

    @property
    def source(self) -> str:
        """Its CUDA text."""
        return self.code.source

    def __repr__(self) -> str:
        return self.name


class TransferOp:
    """A copy between the memories; one to a device leaves alone what is there already."""

    lazy = False
    nout = 1
    kind = "transfer"
    on_device = True
    params: dict = {}

    def __init__(self, name: str, meaning: Callable) -> None:
        self.name, self.meaning, self.family = name, meaning, self

    def __repr__(self) -> str:
        return self.name


def link(
    args: Sequence[Any], roots: Sequence[Any], judge: Judge, devices: Callable[[int], Device], name: str,
    updates: Mapping[int, int], alone: Collection[Any] = (), in_place: bool = True, fuse: bool = True,
    multiply_add: bool = True, ledger: Ledger | None = None,
) -> Program | Refusal:  # fmt: skip
    """The program that computes the roots, of which the graph says where each term is; or why there is none.

    `updates` says which root is the new value of which argument. `devices(number)` gives a device. `alone` are loops
    that cannot be part of a larger program, beside those that stop early. Without `multiply_add` each product is
    rounded before something is added to it.
    """
    there, renamed = _without_wishes(roots, judge)
    plain = _without_marks(Program.from_terms(args, there))
    runs = _runs(plain, judge, alone)
    ends = _written_last(plain, runs, updates) if in_place else {}
    order: list[Instruction] = []
    gone: set[int] = set()
    for k, run in enumerate(runs):
        title = f"{name}.{k}" if len(runs) > 1 else name
        given = plain, run, judge, devices(run.place), title
        ins = _loop(*given) if run.alone else _kernels(*given, ends, fuse, ledger or Ledger())
        if isinstance(ins, Refusal):
            return ins
        ins.op.code.renamed, ins.op.code.multiply_add = renamed, multiply_add
        order.append(ins)
        gone.update(run.members)
    for i, ins in enumerate(plain.instructions):
        if i not in gone:
            order.append(_copy(ins, devices) if ins.op.family in COPIES else ins)
    terms = [judge.plain(t) for t in plain.term_of]
    order = _ordered(_together(order, departed if updates else to_host), {*plain.inputs, *plain.constants})
    return Program(plain.inputs, plain.constants, order, plain.outputs, terms)


def _without_wishes(roots: Sequence[Any], judge: Judge) -> tuple[list[Any], dict[Any, Any]]:
    """The graph without what only said where something is wanted: by now it is there.

    And the terms of that graph, without copies, that are not those of the user's graph -> those.
    """

    def change(t: AnyTerm, args: tuple) -> Any:
        if t.op.family is to_device:
            return args[0]
        new = mk(t.op, args) if args else t
        if new is not t:
            judge.same(new, t)
        return new

    if not any(t.op.family is to_device for t in subterms(roots)):
        return list(roots), {}
    there, bare = rebuild(roots, change), Judge(judge.why_not)
    return there, {bare.plain(t): judge.plain(t) for t in subterms(there) if bare.plain(t) is not judge.plain(t)}


def _without_marks(p: Program) -> Program:
    """The program without instructions that say where an array is, and without copies of constants."""
    same: dict[int, int] = {}
    kept = []
    for ins in p.instructions:
        inputs = [same.get(s, s) for s in ins.inputs]
        constant = ins.op.family is gpu_from_host and inputs[0] in p.constants
        if ins.op.family is resident or (constant and not {*ins.outputs} & {*p.outputs}):
            same[ins.outputs[0]] = inputs[0]
        else:
            kept.append(Instruction(ins.op, inputs, ins.outputs, ins.terms, ins.several, ins.run))
    return Program(p.inputs, p.constants, kept, [same.get(s, s) for s in p.outputs], p.term_of)


# ---------------------------------------------------------------------- runs of operations
def _runs(p: Program, judge: Judge, alone: Collection[Any]) -> list[Part]:
    """Operations on one device that can run together: none waits for another by way of another place."""
    producer = p.producers()
    places = [None if ins.op.family in COPIES else judge.device(ins.terms[0]) for ins in p.instructions]
    waits, single = set(), set()
    for i, ins in enumerate(p.instructions):
        computed = ins.op.family is gpu_from_host and ins.inputs[0] in producer  # what needs it waits, not the rest
        if computed or ins.op.family is gpu_from_gpu:
            waits.add(i)
        stops = ins.op.family is loop and (ins.op.stop or judge.plain(ins.terms[0]) in alone)
        if places[i] is not None and (stops or brings_a_kernel(ins.terms[0])):
            single.add(i)
    return divided(p, places, waits, single)


def _written_last(p: Program, runs: list[Part], updates: Mapping[int, int]) -> dict[int, int]:
    """Slots of new values that only the variable needs -> that of the old value, if no other such run reads it."""
    read = [s for ins in p.instructions for s in ins.inputs] + list(p.outputs)
    found = {p.outputs[k]: p.inputs[i] for k, i in updates.items() if read.count(p.outputs[k]) == 1}
    writing = [run for run in runs if any(s in found for s in run.roots)]
    return {new: old for new, old in found.items() if sum(old in run.leaves for run in writing) == 1}


def _kernels(
    p: Program, run: Part, judge: Judge, device: Device, title: str, ends: Mapping[int, int], fuse: bool, ledger: Ledger
) -> Instruction | Refusal:
    """The instruction of a run; or the term that it cannot hold."""
    terms = p.term_of
    args = [Arg(k, terms[s].type) for k, s in enumerate(run.leaves)]
    place = {**dict(zip(run.leaves, args)), **{s: terms[s] for s in p.constants}}
    inside = {t: place[s] for i in run.members for t, s in _operands(p, i) if s in place}
    roots = substitute([terms[s] for s in run.roots], inside)
    leaves = {a: judge.plain(terms[s]) for a, s in zip(args, run.leaves)}
    updates = {k: run.leaves.index(ends[s]) for k, s in enumerate(run.roots) if ends.get(s) in run.leaves}
    code = generated(args, roots, updates, fuse=fuse, ledger=ledger)
    if isinstance(code, Refusal):
        (term,) = substitute([code.term], leaves)
        return Refusal(judge.plain(term), code.why)
    code.leaves = leaves
    several, run_ = len(roots) > 1, Executable(code, device, title)
    plain = [judge.plain(terms[s]) for s in run.roots]
    return Instruction(KernelsOp(title, code), run.leaves, run.roots, plain, several, run_ if several else _one(run_))


def _loop(p: Program, run: Part, judge: Judge, device: Device, title: str) -> Instruction | Refusal:
    """The instruction of a loop, or of an op of a user's, that is a program of its own."""
    (ins,) = [p.instructions[i] for i in run.members]
    t = judge.plain(ins.terms[0])
    try:
        program: Any = UserProgram(t, device, title) if brings_a_kernel(t) else LoopProgram(t, device, title)
    except NotLowerable as error:
        return Refusal(t, error.why)
    plain = [judge.plain(p.term_of[s]) for s in ins.outputs]
    run_ = program if len(plain) > 1 else _one(program)
    return Instruction(KernelsOp(title, program.code), ins.inputs, ins.outputs, plain, len(plain) > 1, run_)


def _operands(p: Program, i: int) -> list[tuple[Any, int]]:
    """The operand terms of an instruction with their slots."""
    ins = p.instructions[i]
    return list(zip(ins.terms[0].args, ins.inputs))


def _one(run: Callable) -> Callable:
    return lambda *values: run(*values)[0]


# ---------------------------------------------------------------------- copies
def _copy(ins: Instruction, devices: Callable[[int], Device]) -> Instruction:
    """The instruction of a copy."""
    if ins.op.family is host_from_gpu:
        op = TransferOp("host_from_gpu", lambda value: to_host([value])[0])
    else:  # to the same place in every call
        device = devices(ins.op.params["device"])
        put = functools.partial(as_device_array, device=device, spare=Spare(device), name="copy")
        op = TransferOp(ins.op.family.name, put)
    return Instruction(op, ins.inputs, ins.outputs, ins.terms, False, op.meaning)


def _together(order: list[Instruction], to_caller: Callable[[Sequence[Any]], list[Any]]) -> list[Instruction]:
    """One copy for all results that only the caller wants: there is one wait, after the updates if there are any."""
    read = {s for ins in order for s in ins.inputs}
    last = [ins for ins in order if ins.op.name == "host_from_gpu" and ins.outputs[0] not in read]
    if not last:
        return order
    if len(last) == 1:
        (ins,) = last
        op = TransferOp("host_from_gpu", lambda value: to_caller([value])[0])
        one = Instruction(op, ins.inputs, ins.outputs, ins.terms, False, op.meaning)
        return [one if i is ins else i for i in order]
    op = TransferOp("host_from_gpu", lambda *values: to_caller(values))
    inputs, outputs = [i.inputs[0] for i in last], [i.outputs[0] for i in last]
    whole = Instruction(op, inputs, outputs, [i.terms[0] for i in last], True, op.meaning)
    return [ins for ins in order if ins not in last] + [whole]


def _ordered(instructions: list[Instruction], have: set[int]) -> list[Instruction]:
    """Each after what it needs; work for devices as early as can be, waiting for them as late.

    So a device computes while the host is busy.
    """
    rank = {"kernel": 0, "transfer": 0}
    waiting: dict[int, list[int]] = {}
    missing = []
    ready: list[tuple[int, int]] = []

    def put(i: int) -> None:
        op = instructions[i].op
        heapq.heappush(ready, (2 if op.name == "host_from_gpu" else rank.get(op.kind, 1), i))

    for i, ins in enumerate(instructions):
        needed = set(ins.inputs) - have
        missing.append(len(needed))
        for s in needed:
            waiting.setdefault(s, []).append(i)
        if not needed:
            put(i)
    out = []
    while ready:
        ins = instructions[heapq.heappop(ready)[1]]
        out.append(ins)
        for s in ins.outputs:
            for i in waiting.get(s, ()):
                missing[i] -= 1
                if not missing[i]:
                    put(i)
    assert len(out) == len(instructions), "runs of operations that wait for each other"
    return out
