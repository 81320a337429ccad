"""Where each operation of a program runs: runs of operations on the GPU, the others on the CPU, copies between them.

A value is copied only where it crosses from one to the other, once in each direction. May import terms, lower, vm and
the C backend's way of dividing programs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from termgraph.backends.c.dialect import NotInC
from termgraph.backends.c.segments import Segment, _Divider, _ordered
from termgraph.backends.cuda.array import Spare, as_device_array, to_host
from termgraph.backends.cuda.device import Device
from termgraph.backends.cuda.dialect import CudaDialect
from termgraph.backends.cuda.executor import Executable
from termgraph.backends.cuda.gemm import NUMBERS
from termgraph.backends.cuda.generate import CudaProgram, generate
from termgraph.lower.expand import EXPANSIONS, expand
from termgraph.lower.index import ZERO, poly
from termgraph.lower.kernel import Buf, Scalars
from termgraph.lower.lazy import is_lazy
from termgraph.lower.lengths import NotLowerable
from termgraph.lower.policy import CUTS
from termgraph.lower.push import AT
from termgraph.terms.op import CONST
from termgraph.terms.ops.basic import nth
from termgraph.terms.ops.call import inline_calls
from termgraph.terms.ops.loop import loop
from termgraph.terms.term import Arg, Term
from termgraph.terms.traverse import children_first, substitute
from termgraph.terms.types import TensorType
from termgraph.vm.program import Instruction, Program

PRODUCTS = ("dot", "matmul", "gemm")
ORDERED = ("max", "min", "argmax", "argmin", "softmax", "log_softmax", "logsumexp")


# ---------------------------------------------------------------------- what CUDA can express
def why_on_cpu(t: Any) -> str | None:
    """Why a term cannot be part of a kernel, judged by itself; None if it can."""
    if t.__class__ is not Term:
        return None if isinstance(t.type, TensorType) else f"its type is {t.type}"
    if t.op.family is loop:
        return _loop_on_cpu(t)
    if t.op.family is nth and t.args[0].op.family is loop:
        return None
    if is_lazy(t):
        return "which side of a choice is computed is for the host to say"
    types = [t.type, *(a.type for a in t.args)]
    odd = next((x for x in types if not isinstance(x, TensorType)), None)
    if odd is not None:
        return f"{odd} is no array"
    name = t.op.family.name
    if name in ORDERED and types[-1].np_dtype.kind == "c":
        return "complex numbers have no order in kernels"
    if t.op.kind == "elementwise":
        constant = tuple([a if a.op is CONST and a.type.ndim == 0 else None for a in t.args])
        ok = _elementwise(t.op, tuple([a.type.dtype for a in t.args]), constant)
        return None if ok else f"CUDA has no {name} of {t.args[0].type.dtype}"
    if (
        name in PRODUCTS
        and not {x.dtype for x in types} <= set(NUMBERS)
        and (name == "matmul" or t.type.dtype in NUMBERS)
    ):
        return f"there is no product of matrices of {' and '.join(dict.fromkeys(x.dtype for x in types[1:]))}"
    return None if name in AT or name in CUTS or name in EXPANSIONS else f"there is no kernel for {name}"


def _loop_on_cpu(t: Any) -> str | None:
    """Why a loop cannot be on the GPU: it stops early, or its body has something that cannot be."""
    if t.op.stop is not None:
        return "a loop that stops early asks after each step"
    if "on_cpu" not in t.op.cache:
        body = children_first(inline_calls(list(t.op.params["body"])))
        reasons = [why for b in body if (why := why_on_cpu(b)) is not None]
        t.op.cache["on_cpu"] = f"in its body, {reasons[0]}" if reasons else None
    odd = next((a.type for a in t.args if not isinstance(a.type, TensorType)), None)
    return f"{odd} is no array" if odd is not None else t.op.cache["on_cpu"]


@functools.lru_cache(maxsize=4096)
def _elementwise(op: Any, dtypes: tuple[str, ...], constants: tuple) -> bool:
    """Whether the dialect has a text for an op on these dtypes, the casts of its loop included."""
    s, d = Scalars(), CudaDialect()
    args = [
        c if c is not None else s.load(Buf(f"x{i}", dtype, (poly(1),), "input"), ZERO)
        for i, (dtype, c) in enumerate(zip(dtypes, constants))
    ]
    try:
        t = s.elementwise(op, tuple(args))
        for node in (t, *t.args):
            if node.args:
                d.expression(node, ["x"] * len(node.args))
    except (NotInC, TypeError):
        return False
    return True


# ---------------------------------------------------------------------- programs
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
    """A copy between the memories; `gpu_from_host` leaves alone what is on the device already."""

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
    args: Sequence[Any], roots: Sequence[Any], device: Device, name: str, resident: Sequence[bool],
    stay: Sequence[bool], updates: Mapping[int, int],
) -> Program:  # fmt: skip
    """The program that computes the roots, on the GPU wherever it can.

    `resident` says of each argument whether it is on the device already, `stay` of each root whether it is wanted
    there. `updates` says which root is the new value of which argument.
    """
    plain = Program.from_terms(args, roots)
    found, _ = segments(plain, updates)
    merged: dict[int, Instruction] = {}
    gone: set[int] = set()
    slot_of = {t: s for s, t in enumerate(plain.term_of)}
    for k, (members, segment, code) in enumerate(found):
        title = f"{name}.{k}" if len(found) > 1 else name
        inputs, outputs = [slot_of[t] for t in segment.leaves], [slot_of[t] for t in segment.roots]
        run: Callable = Executable(code, device, title)
        several = len(outputs) > 1
        op = KernelsOp(title, code)
        merged[members[-1]] = Instruction(op, inputs, outputs, segment.roots, several, run if several else _one(run))
        gone.update(members)
    return _Transfers(_ordered(plain, merged, gone), device, resident, stay).program()


def _one(run: Callable) -> Callable:
    return lambda *values: run(*values)[0]


def segments(
    program: Program, updates: Mapping[int, int] | None = None
) -> tuple[list[tuple[list[int], Segment, CudaProgram]], dict[Any, str]]:
    """The runs of instructions for the GPU, and why each of the other terms is computed on the CPU."""
    refused: dict[Any, str] = {}
    while True:
        found = []
        try:
            runs = _Divider(program, set(refused), lambda t: why_on_cpu(t) is None).segments()
            last = _written_last(program, [segment for _, segment in runs], updates or {})
            for members, segment in runs:
                found.append((members, segment, _generated(segment, last)))
        except _Refused as error:
            if error.term in refused or not any(error.term in ins.terms for ins in program.instructions):
                raise AssertionError(f"lowering refuses {error.term!r:.200}, which is not an instruction") from error
            refused[error.term] = str(error)
            continue
        inside = {i for members, *_ in found for i in members}
        for i, ins in enumerate(program.instructions):
            if i not in inside:
                t = ins.terms[0]
                refused.setdefault(t, why_on_cpu(t) or f"{t.op.name} chooses what is computed at all")
        return found, refused


class _Refused(Exception):
    def __init__(self, term: Any, why: str) -> None:
        super().__init__(why)
        self.term = term


def _written_last(program: Program, runs: list[Segment], updates: Mapping[int, int]) -> dict[Any, Any]:
    """New values that only the variable itself needs -> its old value, if no other such run reads it."""
    read = [s for ins in program.instructions for s in ins.inputs] + list(program.outputs)
    terms = program.term_of
    ends = {program.outputs[k]: program.inputs[i] for k, i in updates.items()}
    found = {terms[new]: terms[old] for new, old in ends.items() if read.count(new) == 1}
    writing = [run for run in runs if any(t in found for t in run.roots)]
    return {new: old for new, old in found.items() if sum(old in run.leaves for run in writing) == 1}


def _generated(segment: Segment, last: Mapping[Any, Any]) -> CudaProgram:
    """The program of a run; _Refused names the term of the graph that it cannot hold."""
    args = [Arg(i, t.type) for i, t in enumerate(segment.leaves)]
    roots = substitute(segment.roots, dict(zip(segment.leaves, args)))
    try:
        ends = {k: last[t] for k, t in enumerate(segment.roots) if t in last}
        code = generate(args, roots, {k: segment.leaves.index(t) for k, t in ends.items() if t in segment.leaves})
    except NotLowerable as error:
        origin = expand(roots, tuple(NUMBERS))[1]
        (term,) = substitute([origin.get(error.term, error.term)], dict(zip(args, segment.leaves)))
        raise _Refused(term, error.why) from error
    code.leaves = dict(zip(args, segment.leaves))
    return code


class _Transfers:
    """Puts copies where a value crosses between the memories, and nowhere else."""

    def __init__(self, program: Program, device: Device, resident: Sequence[bool], stay: Sequence[bool]) -> None:
        self.plain, self.stay = program, stay
        self.term_of = list(program.term_of)
        self.order: list[Instruction] = []
        self.on_device = {s for s, here in zip(program.inputs, resident) if here}
        self.other: dict[int, int] = {}  # a slot -> the slot of its copy in the other memory
        self.device = device
        self.down = TransferOp("host_from_gpu", lambda value: to_host([value])[0])

    def up(self) -> TransferOp:
        """A copy to the device, to the same place in every call."""
        put = functools.partial(as_device_array, device=self.device, spare=Spare(self.device), name="copy")
        return TransferOp("gpu_from_host", put)

    def program(self) -> Program:
        """The program with its copies."""
        for ins in self.plain.instructions:
            there = ins.op.kind == "kernel"
            inputs = [self.wanted(s, there) for s in ins.inputs]
            self.order.append(Instruction(ins.op, inputs, ins.outputs, ins.terms, ins.several, ins.run))
            if there:
                self.on_device.update(ins.outputs)
        ends = list(zip(self.plain.outputs, self.stay))
        self.all_down([s for s, stays in ends if not stays and s in self.on_device and s not in self.other])
        outputs = [self.wanted(s, stays) for s, stays in ends]
        return Program(self.plain.inputs, self.plain.constants, self.order, outputs, self.term_of)

    def all_down(self, slots: list[int]) -> None:
        """One copy for all results: there is one wait."""
        slots = list(dict.fromkeys(slots))
        if len(slots) < 2:
            return
        first, count = len(self.term_of), len(slots)
        self.term_of += [self.term_of[s] for s in slots]
        self.other.update(zip(slots, range(first, first + count)))
        terms = self.term_of[first:]
        down = TransferOp("host_from_gpu", lambda *values: to_host(values))
        self.order.append(Instruction(down, slots, range(first, first + count), terms, True, down.meaning))

    def wanted(self, slot: int, there: bool) -> int:
        """The slot of the value in the memory where it is wanted."""
        if (slot in self.on_device) == there:
            return slot
        if slot not in self.other:
            self.other[slot] = len(self.term_of)
            self.term_of.append(self.term_of[slot])
            op = self.up() if there else self.down
            self.order.append(Instruction(op, [slot], [self.other[slot]], [self.term_of[slot]], False, op.meaning))
        return self.other[slot]


__all__ = ["KernelsOp", "TransferOp", "link", "segments", "why_on_cpu"]
