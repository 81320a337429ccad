"""Folds over everything: partial results of many blocks, then their fold by one, where there are many.

What follows from their results, one thread does in the same kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from termgraph.backends.cuda.text.chains import is_straight
from termgraph.backends.cuda.text.functions import PARTS, SLOT, FunctionWriter
from termgraph.backends.cuda.text.nests import has_serial, shared_out, team_loop
from termgraph.backends.cuda.text.printer import CudaPrinter
from termgraph.lower.loops.tree import Node, Reduce
from termgraph.lower.push.kernel import ARG_FOLDS


class FoldWriter(FunctionWriter):
    """Writes the two kernels of such a fold, in an order that only the length decides."""

    def fold(self, loop: Reduce, scalars: Sequence[Node]) -> None:
        """Partial results of many blocks, then their fold by one: in an order that only the length decides.

        One block has no partial results, and its first thread goes on with the scalars.
        """
        self.atomic = False
        number = len(self.partials)
        names = [f"part{k}" for k in range(2 * len(loop.folds))]
        p = self.printer([loop, *scalars])
        straight = is_straight(loop.body)
        accs = self.elements(p, loop) if straight else self.rows_of_fold(p, loop)
        p.width = "(int)blockDim.x"
        for f, acc in accs:
            p.join(f, acc)
        with p.block("if (threadIdx.x == 0 && gridDim.x == 1)"):
            self.results(p, accs, scalars)
        with p.block("else if (threadIdx.x == 0)"):
            for k, (f, acc) in enumerate(accs):
                p.add(f"{self.part(f, names[k], 'blockIdx.x')} = {acc};")
                if f.op.params["kind"] in ARG_FOLDS:
                    p.add(f"{self.part(f, names[len(accs) + k], 'blockIdx.x', best=True)} = {acc}_best;")
        self.partials.append(2 * len(accs) * PARTS * SLOT)
        launch: dict[str, Any] = {"count": loop.var.extent, "extra": ("partials", number), "names": names}
        if not straight:
            launch |= {"inner": shared_out(loop.body), "team": int(has_serial(loop.body))}
        self.finish(p, "parts", **launch)
        self.second_phase(loop, number, names, scalars)

    def results(self, p: CudaPrinter, accs: Sequence[tuple[Any, str]], scalars: Sequence[Node]) -> None:
        """Keep what was folded, and do what follows from it."""
        for f, acc in accs:
            p.add(self.keep(f, acc))
            p.call_it(f, acc)
        self.scalar_statements(p, scalars)

    def elements(self, p: CudaPrinter, loop: Reduce) -> list[tuple[Any, str]]:
        """Each thread folds every so many elements."""
        accs = p.declare_folds(loop.folds)
        first = "blockIdx.x * (tg_int)blockDim.x + threadIdx.x"
        p.add("const tg_int step = gridDim.x * (tg_int)blockDim.x;")
        self.batches(p, [loop.var], (first, p.poly(loop.var.extent), "step"), loop.body)
        return accs

    def rows_of_fold(self, p: CudaPrinter, loop: Reduce) -> list[tuple[Any, str]]:
        """Each team folds the results of every so many rows; then only its first thread has something to add."""
        p.add("const int lane = threadIdx.x % team;")
        accs = p.declare_folds(loop.folds)
        i = f"i{loop.var.level}"
        with p.block(team_loop(i, p.poly(loop.var.extent))):
            p.team = True
            p.statements(loop.body)
            p.team = False
        for f, acc in accs:
            kind = f.op.params["kind"]
            name, dtype = (f"{acc}_best", f.args[0].type.dtype) if kind in ARG_FOLDS else (acc, f.type.dtype)
            zero = f", {acc} = 0" if kind in ARG_FOLDS else ""
            p.add(f"if (lane != 0) {name} = {self.d.fold_init(ARG_FOLDS.get(kind, kind), dtype)}{zero};")
        return accs

    def second_phase(self, loop: Reduce, number: int, names: list[str], scalars: Sequence[Node]) -> None:
        p = self.printer(scalars)
        p.add("const int team = blockDim.x, lane = threadIdx.x;")
        accs = p.declare_folds(loop.folds)
        with p.block("for (int part = lane; part < parts; part += team)"):
            for k, (f, acc) in enumerate(accs):
                kind, value = f.op.params["kind"], self.part(f, names[k], "part")
                if kind in ARG_FOLDS:
                    best, smallest = (
                        self.part(f, names[len(accs) + k], "part", best=True),
                        str(kind == "argmin").lower(),
                    )
                    p.add(f"if (tg_better({smallest}, {best}, {value}, {acc}_best, {acc}))")
                    p.add(f"    {acc}_best = {best}, {acc} = {value};")
                else:
                    p.add(self.d.fold_step(kind, f.type.dtype, acc, value))
        for f, acc in accs:
            p.join(f, acc)
        with p.block("if (lane == 0)"):
            self.results(p, accs, scalars)
        self.finish(p, "whole", extra=("partials", number), names=names)

    def part(self, f: Any, name: str, index: str, best: bool = False) -> str:
        """A partial result; those of a fold are as far apart as the largest type needs."""
        c = self.d.ctype(f.args[0].type.dtype if best else f.type.dtype)
        return f"(({c} *){name})[{index}]"
