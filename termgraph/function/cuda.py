"""Functions that run on the GPU: shared variables live there, arguments go up, results come down."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from termgraph import db
from termgraph._records import NamedTuple
from termgraph.backends.cuda.link import link
from termgraph.backends.cuda.run import device
from termgraph.backends.cuda.run.arrivals import arrived
from termgraph.backends.cuda.run.context import only
from termgraph.backends.cuda.run.device import numbered
from termgraph.backends.cuda.run.device_array import DeviceArray, as_device_array, interface_of
from termgraph.backends.cuda.run.updates import Commit, Pending
from termgraph.compile import road
from termgraph.compile.compilation import Compilation
from termgraph.compile.options import Options
from termgraph.compile.python_parts import PythonPart, PythonParts
from termgraph.function.compiled import _LATER, MachineFunction
from termgraph.function.inout import In
from termgraph.function.mode import Maker
from termgraph.tensor.sharedvar import Container, label, on_host
from termgraph.terms.errors import TypeMismatch
from termgraph.terms.op import Op
from termgraph.terms.ops.basic import nth
from termgraph.terms.ops.loop import loop
from termgraph.terms.ops.transfer import Judge, device_number, gpu_from_host, host_from_gpu, judging, resident
from termgraph.terms.term import AnyTerm, mk1
from termgraph.terms.traverse import substitute
from termgraph.terms.types import TensorType
from termgraph.vm.aliasing import Claims
from termgraph.vm.machine import Machine
from termgraph.vm.partition import Refusal, accepted
from termgraph.vm.program import Program


def can_live_there(type_: TensorType) -> bool:
    """Whether values of a type can be on the GPU."""
    return isinstance(type_, TensorType)


class Placed(NamedTuple):
    """A program for the GPU, and why some of its operations are not there.

    `turn` is held by one call at a time, where the last kernels run after all else.
    """

    program: Program
    on_cpu: dict[Any, str]
    turn: Any


def device_program(maker: Maker) -> Placed:
    """The program of a maker's graph for the GPU, made once for all copies of a function."""
    work, n = maker.work, len(maker.outputs)
    roots = work.linked_roots if maker.keeps_updates else work.linked_roots[:n]
    resident_ = tuple([bool(item.shared) and can_live_there(item.variable.type) for item in maker.inputs])
    there = tuple([_home(item) if here else None for item, here in zip(maker.inputs, resident_)])
    stay = tuple([o.device for o in maker.outputs])
    for o, root, place in zip(maker.outputs, roots, stay):
        if place is not None and not can_live_there(root.type):
            raise TypeError(f"{o}: values of type {root.type} cannot be on the GPU")
    updated = [i for i, item in enumerate(maker.inputs) if item.update is not None]
    homes = [_home(maker.inputs[i]) if can_live_there(r.type) else None for i, r in zip(updated, roots[n:])]
    stay += tuple(homes)
    key = (there, stay, device.current())
    if key not in work.on_device:
        updates = {k: i for k, i in zip(range(n, len(roots)), updated) if resident_[i]}
        with work.ledger.timed("gpu") as entry:
            entry.value = _placed(work, roots, there, stay, updates, maker.name or "function")
            work.on_device[key] = entry.value
    found: Placed = work.on_device[key]
    return found


def _placed(
    work: Compilation, roots: Sequence[Any], there: Sequence[int | None], stay: Sequence[int | None],
    updates: dict[int, int], name: str,
) -> Placed:  # fmt: skip
    """Place the operations by the rules with the tag `gpu`, as far as lowering can follow.

    `there` says on which device arguments are, `stay` on which one roots are wanted; None is the host.
    """
    refused: dict[Any, str] = {}
    alone: set[Any] = set()  # loops that are programs of their own

    def on(op: Op, k: int, t: AnyTerm) -> AnyTerm:
        return mk1(op.bind(device=k), t)

    marked = {a: on(host_from_gpu, k, on(resident, k, a)) for a, k in zip(work.args, there) if k is not None}
    marks = zip(substitute(list(roots), marked), stay)
    begun = [r if k is None else on(gpu_from_host, k, r) for r, k in marks]
    why_not = road.CUDA.why_not
    judge = Judge(why_not)
    trace: Any = None

    def attempt() -> Program | Refusal:
        nonlocal judge, trace
        judge = Judge(lambda t: refused.get(t.args[0] if t.op.family is nth else t) or why_not(t))
        with judging(judge):
            ends, trace = placement_rules(work.options).rewrite_terms(begun, strict=work.options.strict)
        how = work.options.in_place, work.options.fuse, work.multiply_add, work.ledger
        return link(work.args, ends, judge, device.numbered, name, updates, alone, *how)

    def note(refusal: Refusal) -> None:
        term = refusal.term.args[0] if refusal.term.op.family is nth else refusal.term
        assert term not in refused, f"lowering refuses {term!r:.200}, which is not on the GPU"
        if term.op.family is loop and term.op.stop is None and term not in alone:
            alone.add(term)
        else:
            refused[term] = refusal.why

    program = accepted(attempt, note)
    trace.stage = "gpu"
    work.add_trace(trace)
    here = [i.terms[0] for i in program.instructions if i.op.kind not in ("kernel", "transfer")]
    return Placed(program, {t: judge.why_not(t) or NOT_ASKED for t in here}, threading.RLock())


def _home(item: In) -> int:
    """The number of the device where a shared variable lives."""
    return device_number(getattr(item.value, "target", "cuda")) or 0


NOT_ASKED = "the rules with the tag gpu are left out"


def placement_rules(options: Options) -> Any:
    """The rules of a mode that say what runs on the GPU."""
    return db.query("+gpu", *[f"-{tag}" for tag in options.excluded])


class CudaFunction(MachineFunction):
    """A function whose program runs on the GPU as far as it can."""

    def _setup(self) -> None:
        super()._setup()
        self._deferred = []
        placed = device_program(self.maker)
        program, self._turn = placed.program, placed.turn
        self.vm = Machine(program, self.vm.allow_gc, self.vm.observers, self.maker.work.lookup)
        self._resident = [
            i for i, item in enumerate(self.maker.inputs) if item.shared and can_live_there(item.variable.type)
        ]
        self._all_there = all(i.op.kind in ("kernel", "transfer") for i in program.instructions)
        shapes = [getattr(self.maker.inputs[i].variable.type, "shape", ()) for i in self._updated]
        self._sized = [(i, k) for k, i in enumerate(self._updated) if any(n is not None for n in shapes[k])]

    def _values(self, given: list[Any]) -> list[Any]:
        """The arguments; values of shared variables go to the device on first use, and stay there."""
        for i in self._resident:
            cell = self.input_storage[i]
            if given[i] is _LATER and isinstance(cell.storage[0], np.ndarray) and type(cell.storage) is list:
                name = label(self.maker.inputs[i].variable)
                cell.storage[0] = DeviceArray.of(cell.storage[0], name, numbered(_home(self.maker.inputs[i])))
        return [c.storage[0] if v is _LATER else v for v, c in zip(given, self.input_storage)]

    def _checked(self, i: int, position: int, value: object) -> Any:
        """Arrays that are on a GPU already are taken as they are, if their type fits."""
        type_ = self.maker.inputs[i].variable.type
        if not isinstance(value, np.ndarray) and can_live_there(type_):
            if isinstance(value, DeviceArray) or interface_of(value) is not None:
                array = as_device_array(value)
                if array.dtype == type_.np_dtype and _fits(type_.shape, array.shape):
                    return array
        return super()._checked(i, position, value)

    def _run(self, values: list[Any]) -> list[Any]:
        if not self._updated:
            return super()._run(values)
        alone = only() if self._all_there else None  # its context is entered once, then
        with self._turn, alone.lock if alone else nullcontext():  # what the last kernels read must not be overwritten
            return arrived(super()._run(values))

    def _fresh(self, results: list[Any], values: list[Any]) -> bool:
        """Whether all results are arrays on a device with memory of their own, which is no argument's either; or all
        new arrays of the host."""
        if results and results[0].__class__ is np.ndarray:
            return super()._fresh(results, values)
        taken = {v.address for v in values if v.__class__ is DeviceArray}
        for r in results:
            if r.__class__ is not DeviceArray or r.keeps is not None or r.address in taken:
                return False
            taken.add(r.address)
        return True

    def _commit(self, results: list[Any], values: list[Any], claims: Claims) -> None:
        """Write all new values, in the memory of the old ones if nobody else has it.

        They stay on the device, unless a function that runs on the CPU has taken over the variable.
        """
        news = results[self._n_outputs : self._n_outputs + len(self._updated)]
        commit = Commit(news, [self.input_storage[i].storage[0] for i in self._updated])
        for i, k in self._sized:
            self._check_update(i, news[k])
        for i in self._updated:
            values[i] = None  # nor do we hold the old value ourselves
            if not self.vm.allow_gc:
                self.vm.storage[i] = None
        for i, new in zip(self._updated, news):
            self._prepare_update(commit, self.input_storage[i], new, claims)
        commit.run()

    def _prepare_update(self, commit: Commit, cell: Container, new: Any, claims: Claims) -> None:
        storage = cell.storage
        if isinstance(new, Pending):
            made = commit.pending(storage, new)
            if made is not None:
                commit.then(lambda: _put(storage, made))
        elif not isinstance(new, DeviceArray) or new in claims or not commit.copied(storage, new):
            owned = claims.own(new)
            commit.then(lambda: _put(storage, owned))

    def _check_update(self, i: int, new: Any) -> None:
        type_ = self.maker.inputs[i].variable.type
        if isinstance(new, np.ndarray) or not isinstance(type_, TensorType):
            super()._check_update(i, new)
        elif not _fits(type_.shape, new.shape):
            name = label(self.maker.inputs[i].variable)
            raise TypeMismatch(f"the update of {name}: shape {new.shape} is not {type_.shape}; nothing was changed")

    def source(self, language: str = "py") -> str:
        """The code that runs: "cuda" is the text of the kernels, headed by what stays on the CPU and why."""
        if language != "cuda":
            return super().source(language)
        kernels = [i.op for i in self.vm.program.instructions if i.op.kind == "kernel"]
        return "\n".join([f"// on the CPU: {line}" for line in self.on_cpu()] + [op.source for op in kernels])

    def why_not_native(self) -> PythonParts:
        """What stays on the CPU, where it runs in Python."""
        found, lookup = device_program(self.maker).on_cpu.items(), self.maker.work.lookup
        return PythonParts([PythonPart(t.op.name, why, lookup(t)[1], t.op.kind == "loop") for t, why in found])

    def on_cpu(self) -> list[str]:
        """The operations that stay on the CPU, each with the reason."""
        return [f"{t.op.name}: {why}" for t, why in device_program(self.maker).on_cpu.items()]


def _put(storage: list[Any], value: object) -> None:
    """The new value of a variable; those that functions on the CPU have taken over hold values of the host."""
    storage[0] = value if type(storage) is list else on_host(value)


def _fits(declared: Sequence[int | None], shape: Sequence[int]) -> bool:
    if len(declared) != len(shape):
        return False
    for n, m in zip(declared, shape):  # noqa: SIM110  a generator takes twice the time, in every call
        if n is not None and n != m:
            return False
    return True
