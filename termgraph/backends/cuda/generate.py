"""From terms to a CUDA program: the loop tree that C gets as well, as kernels with what their launches need."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from termgraph.backends.cuda.text import axis_kernels, gemm, prelude
from termgraph.backends.cuda.text.dialect import CudaDialect
from termgraph.backends.cuda.text.epilogues import join_epilogues
from termgraph.backends.cuda.text.functions import AxisCall, KernelText, Product, every_step
from termgraph.backends.cuda.text.kernels import KernelWriter
from termgraph.config import config
from termgraph.lower.lengths.index import Poly, evaluate, maximum, product
from termgraph.lower.lengths.shapes import Site
from termgraph.lower.loops.tree import Call, Kernel, Let, Node, walk
from termgraph.lower.lowering import Lowered, lower
from termgraph.lower.memory.plan import loads, share_room, update_modes, writes
from termgraph.lower.memory.strides import any_strides
from termgraph.lower.push.kernel import Buf
from termgraph.terms.traverse import substitute


@dataclass
class CudaProgram:
    """Kernel text and launches. `inputs` are the buffers of the arguments that are read, by their numbers."""

    source: str
    steps: list[Any]
    inputs: dict[int, Buf]
    constants: dict[Buf, np.ndarray]
    outputs: list[Buf]  # one per root; equal roots share one
    rooms: list[list[Buf]]
    partials: list[int]
    scalars: int  # bytes
    lowered: Lowered
    in_place: dict[int, tuple[int, str]] = field(default_factory=dict)  # output -> (argument it may replace, how)
    leaves: dict[Any, Any] = field(default_factory=dict)
    again: Callable[[Sequence[int]], CudaProgram] | None = None  # the same for some arguments with strides of their own
    renamed: dict[Any, Any] = field(default_factory=dict)  # terms of its text -> those of the graph, where they differ
    precision: str = "float32"  # of products, as the flag cuda.products says
    given: list[str] = field(default_factory=list)  # ops that bring their own text

    @property
    def kernels(self) -> list[KernelText]:
        """All kernels, those for short rows included."""
        found = [s for s in every_step(self.steps) if isinstance(s, KernelText)]
        return [k for s in found for k in (s, s.held) if k is not None]

    @property
    def sites(self) -> list[Site]:
        """What a reported failure means."""
        return list(self.lowered.lengths.sites)

    @property
    def can_fail(self) -> bool:
        """Whether the device may report a failure."""
        return any(kind == "status" for k in self.kernels for kind, _ in k.params)

    def original(self, t: Any) -> Any:
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
            a, b = evaluate(check.a, env), evaluate(check.b, env)
            if (a != b) if check.test == "eq" else (a < b):
                return (1 if check.test == "eq" else 2, check.site, a, b)
        return None

    def bytes_of(self, room: Sequence[Buf]) -> Poly:
        """Size of the largest of some buffers."""
        sizes = [product(b.shape) * np.dtype(b.dtype).itemsize for b in room]
        return functools.reduce(maximum, sizes)


def generate(
    args: Sequence[Any], outputs: Sequence[Any], updates: Mapping[int, int] | None = None, strided: Sequence[int] = ()
) -> CudaProgram:
    """The program that computes the output terms from `args` (`Arg` leaves); NotLowerable if it cannot be had.

    `updates` says which output is the new value of which argument, for those that nothing else needs: where that is
    safe, the last kernels write them, and the old value may be what they write to. `strided` arguments are read by
    strides that are given when the program is called, the others are C-contiguous.
    """
    views = {a: any_strides(a.type.ndim) for a in args if a.index in strided}
    lowered = lower(list(outputs), views, use_values=False, products=tuple(gemm.NUMBERS), calls=axis_kernels.NAMES)
    st = lowered.statements
    targets = {int(b.name[3:]): b for b in st.outputs}
    pairs = _replaceable(lowered, targets, updates or {})
    nodes, modes = _written_last(lowered.nodes, [(old, new) for _, _, old, new in pairs])
    nodes = join_epilogues(nodes)
    used = {b for n in nodes for b in (*writes(n), *[b for b, _ in loads(n)])}
    writer = KernelWriter(CudaDialect(), {b for *_, old, new in pairs if new in modes for b in (old, new)})
    steps = writer.write(nodes)
    every = every_step(steps)
    bodies = [text for s in every if isinstance(s, KernelText) for text in _texts(s)]
    bodies += gemm.kernels([s.call for s in every if isinstance(s, Product)], config.cuda.products)
    bodies += axis_kernels.kernels([s.call for s in every if isinstance(s, AxisCall)])
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
        [*share_room(nodes, [b for b in st.temps if b in used]), *[[b] for b in writer.holders]],
        writer.partials,
        16 * len(writer.slots),
        lowered,
        {k: (i, modes[new]) for k, i, _, new in pairs if new in modes},
        precision=config.cuda.products,
        given=sorted({n.term.op.name for n in walk(nodes) if isinstance(n, Let) and n.term.op.family.cuda}),
        again=functools.partial(generate, args, outputs, updates),
    )


def _replaceable(
    lowered: Lowered, targets: Mapping[int, Buf], updates: Mapping[int, int]
) -> list[tuple[int, int, Buf, Buf]]:
    """(output, argument, their buffers) of new values that might be written over old ones."""
    read = {t.index: b for t, b in lowered.statements.inputs.items()}
    found = []
    for k, i in updates.items():
        old, new = read.get(i), targets.get(k)
        if old is None or new is None or lowered.outputs.count(lowered.outputs[k]) > 1:
            continue
        if (old.dtype, old.shape, old.strides) == (new.dtype, new.shape, new.strides):
            found.append((k, i, old, new))
    return found


def _written_last(nodes: list[Node], pairs: list[tuple[Buf, Buf]]) -> tuple[list[Node], dict[Buf, str]]:
    """The tree with statements that only write new values of variables at its end, and how they write them.

    A statement with a result for the caller cannot wait: that is needed before the values are written.
    """
    while True:
        order, modes = update_modes(list(nodes), pairs)
        mixed = [set(writes(n)) for n in order if modes.keys() & set(writes(n)) and set(writes(n)) - modes.keys()]
        if not mixed:
            return order, modes
        for n in nodes:
            if isinstance(n, (Kernel, Call)):
                n.final = False
        pairs = [(old, new) for old, new in pairs if not any(new in bufs for bufs in mixed)]


def _texts(s: KernelText) -> list[str]:
    return [s.source] if s.held is None else [s.source, s.held.source]


__all__ = ["CudaProgram", "generate"]
