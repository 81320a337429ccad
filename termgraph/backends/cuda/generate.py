"""From terms to a CUDA program: the loop tree that C gets as well, as kernels with what their launches need."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from termgraph._records import record
from termgraph.backends.cuda.text import axis_kernels, gemm, prelude, routine_kernels
from termgraph.backends.cuda.text.dialect import CudaDialect, brings_text
from termgraph.backends.cuda.text.epilogues import join_epilogues
from termgraph.backends.cuda.text.functions import AxisCall, KernelText, Product, RoutineCall, every_step, texts_of
from termgraph.backends.cuda.text.kernels import KernelWriter
from termgraph.backends.refused import refusal
from termgraph.config import config
from termgraph.lower.lengths.checks import NotLowerable, Site
from termgraph.lower.lengths.index import ZERO, Poly, maximum, product
from termgraph.lower.loops.tree import Let, Node, walk
from termgraph.lower.lowering import Lowered, Planned, Region, Target, plan, replaceable, targets_of
from termgraph.lower.memory.strides import any_strides
from termgraph.lower.push.kernel import Buf
from termgraph.stages import Ledger
from termgraph.terms.term import AnyTerm
from termgraph.terms.traverse import substitute
from termgraph.vm.partition import Refusal


@record
class CudaProgram:
    """Kernel text and launches. `inputs` are the buffers of the arguments that are read, by their numbers."""

    source: str
    steps: list[Any]
    inputs: dict[int, Buf]
    constants: dict[Buf, np.ndarray]
    outputs: list[Buf]  # one per root; equal roots share one
    rooms: list[list[Buf]]
    offsets: dict[Buf, int]  # bytes from where their room begins
    partials: list[int]
    scalars: int  # bytes
    lowered: Lowered
    in_place: dict[int, tuple[int, str]] = field(default_factory=dict)  # output -> (argument it may replace, how)
    leaves: dict[Any, Any] = field(default_factory=dict)
    again: Callable[[Sequence[int]], CudaProgram] | None = None  # the same for some arguments with strides of their own
    renamed: dict[Any, Any] = field(default_factory=dict)  # terms of its text -> those of the graph, where they differ
    precision: str = "float32"  # of products, as the flag cuda.products says
    given: list[str] = field(default_factory=list)  # ops that bring their own text
    multiply_add: bool = True  # whether a product and the sum after it may be rounded once

    def __str__(self) -> str:
        return self.source

    def sizes(self) -> dict[str, int]:
        """How much text it is, and how many kernels."""
        return {"kernels": len(self.kernels), "bytes": len(self.source)}

    @property
    def kernels(self) -> list[KernelText]:
        """All kernels, those for short rows included."""
        found = [s for s in every_step(self.steps) if isinstance(s, KernelText)]
        return [k for s in found for k in texts_of(s)]

    @property
    def apart(self) -> bool:
        """Whether a product is rounded before something is added to it: if that was asked for, or draws need it."""
        return not self.multiply_add or "tg_apart" in self.source

    @property
    def sites(self) -> list[Site]:
        """What a reported failure means."""
        return list(self.lowered.lengths.sites)

    @functools.cached_property
    def can_fail(self) -> bool:
        """Whether the device may report a failure."""
        return any(kind == "status" for k in self.kernels for kind, _ in k.params)

    def original(self, t: AnyTerm) -> Any:
        """The term of the graph this program was made from, for one that appears in `sites`."""
        found = self.lowered.origin.get(t, t)
        found = substitute([found], self.leaves)[0] if self.leaves else found
        return self.renamed.get(found, found)

    def environment(self, shapes: Sequence[tuple], strides: Sequence[tuple | None] = ()) -> dict[str, int]:
        """The symbols of lengths and strides, given those of the arguments."""
        out = {f"n{i}_{d}": n for i, shape in enumerate(shapes) for d, n in enumerate(shape)}
        return out | {f"s{i}_{d}": n for i, steps in enumerate(strides) for d, n in enumerate(steps or ())}

    def failed_check(self, env: Mapping[Any, int]) -> tuple[int, int, int, int] | None:
        """(code, site, a, b) of a condition on lengths that does not hold."""
        for check in self.lowered.lengths.checks.values():
            if found := check.failed(env):
                return (1 if check.test == "eq" else 2, check.site, *found)
        return None

    def bytes_of(self, room: Sequence[Buf]) -> Poly:
        """Size of a room: the largest of some buffers, or where the last one ends."""
        ends = [product(b.shape) * np.dtype(b.dtype).itemsize + self.offsets.get(b, 0) for b in room]
        return functools.reduce(maximum, ends, ZERO)  # what a choice leaves out may have no length at all


def generate(
    args: Sequence[Any],
    outputs: Sequence[Any],
    updates: Mapping[int, int] | None = None,
    strided: Sequence[int] = (),
    fuse: bool = True,
    ledger: Ledger | None = None,
) -> CudaProgram:
    """The program that computes the output terms from `args` (`Arg` leaves); NotLowerable if it cannot be had.

    `updates` says which output is the new value of which argument, for those that nothing else needs: where that is
    safe, the last kernels write them, and the old value may be what they write to. `strided` arguments are read by
    strides that are given when the program is called, the others are C-contiguous.
    """
    views = {a: any_strides(a.type.ndim) for a in args if a.index in strided}
    leaf = {a.index: a for a in args}
    replaced = tuple([(k, leaf[i]) for k, i in (updates or {}).items()])
    region = Region(tuple(outputs), TARGET, views, use_values=False, replaced=replaced, fuse=fuse)
    ledger = ledger or Ledger()
    again = functools.partial(generate, args, outputs, updates, fuse=fuse)
    return ledger.run("print", printed, plan(region, ledger), updates or {}, again)


def generated(args: Sequence[Any], roots: Sequence[Any], *given: Any, **options: Any) -> CudaProgram | Refusal:
    """As `generate`; if there cannot be such a program, the term of the graph that it cannot hold, and why."""
    try:
        return generate(args, roots, *given, **options)
    except NotLowerable as error:
        return refusal(error, roots, TARGET.products, TARGET.calls)


def printed(value: Planned, updates: Mapping[int, int], again: Callable[..., CudaProgram]) -> CudaProgram:
    """The CUDA text of a lowered region, and its launches."""
    nodes, modes, lowered = value.scheduled.nodes, value.scheduled.modes, value.lowered
    st, targets = lowered.statements, targets_of(lowered)
    written = [(k, updates[k], pair) for k, pair in replaceable(lowered) if pair[1] in modes]
    writer = KernelWriter(CudaDialect(), {b for *_, pair in written for b in pair})
    steps = writer.write(nodes)
    every = every_step(steps)
    bodies = list({k.name: k.source for s in every if isinstance(s, KernelText) for k in texts_of(s)}.values())
    bodies += gemm.kernels([s.call for s in every if isinstance(s, Product)], config.cuda.products)
    bodies += axis_kernels.kernels([s.call for s in every if isinstance(s, AxisCall)])
    bodies += routine_kernels.kernels([s.routine for s in every if isinstance(s, RoutineCall)], config.cuda.products)
    body = "\n\n".join(bodies)
    first: dict[Any, int] = {}
    for k, t in enumerate(lowered.outputs):
        first.setdefault(t, k)
    return CudaProgram(
        f"{prelude.needed(body)}\n{body}\n",
        steps,
        {t.index: b for t, b in st.inputs.items()},
        {b: np.ascontiguousarray(t.value) for t, b in st.consts.items()},
        [targets[first[t]] for t in lowered.outputs],
        [*value.places.rooms, *[[b] for b in writer.holders]],
        value.places.offsets,
        writer.partials,
        16 * len(writer.slots),
        lowered,
        {k: (i, modes[new]) for k, i, (_, new) in written},
        precision=config.cuda.products,
        given=sorted({n.term.op.name for n in walk(nodes) if isinstance(n, Let) and brings_text(n.term.op)}),
        again=again,
    )


def _epilogues(nodes: list[Node], temps: Collection[Buf], fixed: Collection[Buf]) -> tuple[list[Node], dict[Buf, Buf]]:
    """Products that finish their elements themselves; their results are in no other's room."""
    return join_epilogues(nodes), {}


CALLS = frozenset((*axis_kernels.NAMES, *routine_kernels.NAMES))
TARGET = Target(tuple(gemm.NUMBERS), CALLS, epilogues=_epilogues, whole_updates=True)
