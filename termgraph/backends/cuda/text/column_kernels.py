"""Sweeps over columns: one thread per column, blocks of 32 columns, and long columns in parts.

Where there are few columns, the rows are shared out among blocks as well: each sweep is a kernel, which keeps a result
per part, and what comes after it begins by folding these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from termgraph.backends.cuda.text.chains import is_straight
from termgraph.backends.cuda.text.folds import FoldWriter
from termgraph.backends.cuda.text.functions import BLOCK, LEAST_ROWS, SLOT, KernelText, is_light
from termgraph.backends.cuda.text.nests import grid_loop
from termgraph.backends.cuda.text.printer import ColumnPrinter, CudaPrinter
from termgraph.lower.lengths.index import ONE, product
from termgraph.lower.loops.tree import Columns, Let, Row, Sweep, walk
from termgraph.lower.push.kernel import ARG_FOLDS


class ColumnWriter(FoldWriter):
    """Writes the kernels of loops over columns."""

    def columns(self, nest: list[Any], loop: Columns) -> None:
        """One thread per column: neighbours read neighbouring elements."""
        lets = [n for outer in nest for n in outer.body if isinstance(n, Let)]
        vars_ = [*[outer.var for outer in nest], loop.var]
        p = self.printer([*lets, loop])
        with p.block(grid_loop("t", p.poly(product(v.extent for v in vars_)))):
            self.decompose(p, vars_, "t")
            p.body(lets)
            p.sweeps(loop)
        text = self.finish(p, "flat", count=product(v.extent for v in vars_))
        if not lets and not self.atomic:
            text.phases = self.phases(text.name, vars_, loop)

    def columns_of_blocks(self, loop: Columns) -> None:
        """Blocks of 32 columns, whose rows are shared out among the warps of a block."""
        p = self.in_step(ColumnPrinter(self.d, [loop], self.outside))
        n = p.poly(loop.var.extent)
        p.add("const int lane = threadIdx.y, team = blockDim.y;")
        with p.block(f"for (tg_int first = blockIdx.x * 32; first < {n}; first += gridDim.x * 32)"):
            p.add(f"const bool inside = first + (tg_int)threadIdx.x < {n};")
            p.add(f"const tg_int i{loop.var.level} = inside ? first + (tg_int)threadIdx.x : {n} - 1;")
            p.team = True
            p.statements(loop.body)
            p.team = False
        text = self.finish(p, "columns", count=loop.var.extent, most=1024 if is_light([loop]) else BLOCK)
        text.phases = self.phases(text.name, [loop.var], loop)

    # ------------------------------------------------------------------ in parts
    def phases(self, name: str, vars_: list[Any], loop: Columns) -> list[KernelText]:
        """The kernels that share out the rows of columns among blocks; none where they cannot."""
        sweeps = [s for s in loop.body if s.var is not None]
        if loop.body[: len(sweeps)] != sweeps or not all(_in_parts(s) for s in loop.body):
            return []
        if any((s.var.extent.const or LEAST_ROWS) < LEAST_ROWS for s in sweeps if s.var is not None):
            return []
        last = loop.body[len(sweeps) :]
        kernels = len(sweeps) + bool(last or sweeps[-1].folds)
        return [
            self.phase(f"{name}_phase{k}", vars_, loop, sweeps[:k], [*sweeps, None][k], last) for k in range(kernels)
        ]

    def phase(
        self, name: str, vars_: list[Any], loop: Columns, before: list[Sweep], own: Sweep | None, last: list[Sweep]
    ) -> KernelText:
        """A part of one sweep, or with `own` None what comes after all of them."""
        p = self.in_step(ColumnPrinter(self.d, [loop], self.outside))
        outer, count = vars_[:-1], p.poly(loop.var.extent)
        total = p.poly(product(v.extent for v in vars_))
        blocks = f"across * ({p.poly(product(v.extent for v in outer))})" if outer else "across"
        p.add("const int lane = threadIdx.y, team = blockDim.y;", f"const tg_int across = ({count} + 31) / 32;")
        with p.block(f"for (tg_int t = blockIdx.x; t < {blocks}; t += gridDim.x)"):
            p.add("const tg_int x = t % across * 32 + (tg_int)threadIdx.x;", f"const bool inside = x < {count};")
            p.add(f"const tg_int i{loop.var.level} = inside ? x : {count} - 1;")
            if outer:
                p.add("const tg_int plane = t / across;")
            self.decompose(p, outer, "plane")
            p.add(f"const tg_int column = {f'plane * ({count}) + ' if outer else ''}i{loop.var.level};")
            folds = [f for s in before for f in s.folds]
            places = {f: f"tg_partials + (int64_t){SLOT * k} * parts * ({total})" for k, f in enumerate(folds)}
            for f, place in places.items():
                self.whole(p, f, place, total)
            if own is None:
                p.team = True
                p.statements(last)
                p.team = False
            else:
                self.part_of(p, own, len(folds), total)
        rows = [] if own is None else [own.var.extent]  # type: ignore[union-attr]
        return self.finish(
            p, "phase", name=name, extra=("room", 0), count=product(v.extent for v in outer) if outer else ONE,
            inner=[loop.var.extent, *rows], team=len(folds) + len(own.folds if own is not None else ()),
        )  # fmt: skip

    def whole(self, p: CudaPrinter, f: Any, place: str, total: str) -> None:
        """The result of a fold: that of its parts."""
        acc, kind, dtype = p.names.new("a"), f.op.params["kind"], f.type.dtype
        p.declare_fold(f, acc)
        value = f"((const {self.d.ctype(dtype)} *)({place}))[part * (tg_int)({total}) + column]"
        with p.block("for (int part = lane; part < parts; part += team)"):
            p.add(self.d.fold_step(kind, dtype, acc, value))
        p.join(f, acc)
        p.call_it(f, acc)

    def part_of(self, p: CudaPrinter, s: Sweep, first: int, total: str) -> None:
        """One part of a sweep, and the results of its folds."""
        assert s.var is not None
        p.declare_folds(s.folds)
        self.part_bounds(p, p.poly(s.var.extent))
        self.batches(p, [s.var], ("from + lane", "to", "team"), [*s.outer, *s.body])
        self.keep_parts(p, s.folds, first, total, "lane == 0 && inside")

    def part_bounds(self, p: CudaPrinter, rows: str) -> None:
        """The rows of the part at hand."""
        p.add(f"const tg_int each = (({rows}) + (int)gridDim.y - 1) / (int)gridDim.y, from = blockIdx.y * each;")
        p.add(f"const tg_int to = from + each < {rows} ? from + each : {rows};")

    def keep_parts(self, p: CudaPrinter, folds: Sequence[Any], first: int, total: str, condition: str) -> None:
        """The results of a part, for those who fold them."""
        for k, f in enumerate(folds, first):
            acc = p.text["acc", f]
            p.join(f, acc)
            place = f"(({self.d.ctype(f.type.dtype)} *)(tg_partials + (int64_t){SLOT * k} * gridDim.y * ({total})))"
            p.add(f"if ({condition}) {place}[blockIdx.y * (tg_int)({total}) + column] = {acc};")


def _in_parts(s: Sweep) -> bool:
    """Whether the rows of a sweep may be shared out among blocks."""
    straight = is_straight([*s.outer, *s.body]) and not any(isinstance(n, Row) for n in walk([s]))
    return straight and not any(f.op.params["kind"] in ARG_FOLDS for f in s.folds)
