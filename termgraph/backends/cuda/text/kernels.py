"""The kernels of a program: one for each outermost loop, and for scalars between loops where no fold can do them.

A loop nest is run flat (one thread per element, 128-bit accesses where elements are contiguous), by rows (a team of one
thread, a warp or a block per row) or as a fold over everything in two phases.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from termgraph.backends.cuda.text import axis_kernels
from termgraph.backends.cuda.text.chains import is_straight
from termgraph.backends.cuda.text.distribution import distributed
from termgraph.backends.cuda.text.functions import (
    HELD,
    HELD_BY_WARP,
    SLOT,
    AxisCall,
    KernelText,
    Product,
    RoutineCall,
    Steps,
)
from termgraph.backends.cuda.text.nests import (
    adds_only,
    grid_loop,
    has_serial,
    must_precede,
    nest_of,
    of_lengths,
    scalars_early,
    shared_out,
    team_loop,
    used_elsewhere,
)  # fmt: skip
from termgraph.backends.cuda.text.printer import CudaPrinter, cached_row
from termgraph.backends.cuda.text.row_parts import RowPartWriter
from termgraph.backends.cuda.text.scatter import scatters_of, write_scatters
from termgraph.backends.cuda.text.transposed import Squares, squares_of
from termgraph.backends.cuda.text.vector_access import vectors_of
from termgraph.lower.lengths.index import Var, product
from termgraph.lower.loops.tree import Call, Choice, Columns, Kernel, Let, Loop, Node, Reduce, Repeat, Routine, Tiles
from termgraph.lower.push.kernel import Buf

MOST_WORDS = 100  # of a row, in the registers of a thread


class KernelWriter(RowPartWriter):
    """Writes the kernels of a loop tree in the order in which they run."""

    # ------------------------------------------------------------------ the program
    def write(self, nodes: Sequence[Node]) -> list[Any]:
        """Kernels and matrix products.

        Scalars wait until something needs them: then one kernel does them all, that of a fold if there is one. In a
        step of a loop they do not wait: its results may be where its operands are.
        """
        scalars: list[Node] = []
        nodes = scalars_early(nodes)
        self.shared = used_elsewhere(nodes)
        kept = {n.condition for n in nodes if isinstance(n, Choice)}
        for n in nodes:
            if isinstance(n, (Kernel, Call, Repeat, Choice, Routine)):
                if self.depth or self.open_fold is not None or must_precede(scalars, n):
                    self.scalars(scalars)
                    scalars = []
                write: Any = {
                    Kernel: self.kernel, Call: self.call, Repeat: self.repeat, Choice: self.choice,
                    Routine: self.routine,
                }[type(n)]  # fmt: skip
                before = len(self.steps)
                write(n)
                for step in self.steps[before:] if getattr(n, "final", False) else ():
                    step.final = True
            elif isinstance(n, Let) and n.term not in kept and (of_lengths(n.term) or self.is_readable(n.term)):
                self.outside.setdefault(n.term, f"g{len(self.outside)}")  # each kernel works it out for itself
            else:
                scalars.append(n)
        self.scalars(scalars)
        return self.steps

    def repeat(self, n: Repeat) -> None:
        """A loop over steps; its body is a program of its own."""
        kept, self.steps = (self.steps, self.shared), []
        self.depth += 1
        body = self.write(n.body)
        self.depth -= 1
        self.steps, self.shared = kept
        self.steps.append(Steps(n, body))

    def call(self, n: Call) -> None:
        """What has kernels of its own."""
        if n.name in axis_kernels.NAMES:
            self.steps.append(AxisCall(n, guard=self.guard))
        else:
            self.product(n)

    def routine(self, n: Routine) -> None:
        """What has kernels of its own, and reads its operands by strides."""
        self.steps.append(RoutineCall(n, self.guard))

    def choice(self, n: Choice) -> None:
        """The kernels of both sides; those of the side that is not taken return at once.

        A small kernel says which side that is, and that it is none where the choice itself is not reached.
        """
        shared, outer = self.shared, self.guard
        p = self.printer([])
        reached = "true" if outer is None else self.flag(outer)
        sides = [SLOT * (len(self.slots) + k) for k in range(2)]
        self.slots |= dict(zip(((n, True), (n, False)), sides))
        condition = self.flag(self.slots[n.condition])
        p.add(f"{self.flag(sides[0])} = {reached} && {condition};")
        p.add(f"{self.flag(sides[1])} = {reached} && !{condition};")
        self.guard = None
        self.finish(p, "single")
        for side, nodes in zip(sides, (n.then, n.orelse)):
            self.guard = side
            self.write(nodes)
        self.shared, self.guard = shared, outer

    def product(self, n: Call) -> None:
        alpha = n.options.get("alpha")
        if alpha is not None and alpha in self.slots and not of_lengths(alpha):
            alpha = ("slot", self.slots[alpha])
        self.steps.append(Product(n, alpha, self.guard))

    def scalars(self, nodes: list[Node]) -> None:
        """What stands between loops, done by one thread: by one that has just finished a fold, if there is one."""
        if self.open_fold is not None:
            loop, self.open_fold = self.open_fold, None
            self.fold(loop, nodes)
        elif nodes:
            p = self.printer(nodes)
            self.scalar_statements(p, nodes)
            self.finish(p, "single")

    # ------------------------------------------------------------------ loops
    def kernel(self, n: Kernel) -> None:
        """The kernel of one outermost loop."""
        loop = n.node
        if isinstance(loop, Reduce):
            self.open_fold = loop
        elif isinstance(loop, Tiles):
            body = [m for part in loop.parts for m in part]
            self.flat([], loop.var, body, loop.slots)
        elif not n.at_once and not adds_only(n):
            nests = scatters_of(n)
            if nests is None:
                self.serial(loop)
            else:
                write_scatters(self, nests)
        else:
            nest, innermost = nest_of(loop)
            apart = distributed(n, nest, self.aliased)
            if len(apart) > 1:
                for part in apart:
                    self.kernel(part)
                return
            self.atomic = not n.at_once
            if isinstance(innermost, Columns) and (nest or self.atomic):
                self.columns(nest, innermost)
            elif isinstance(innermost, Columns):
                self.columns_of_blocks(innermost)
            elif is_straight(innermost.body):
                self.flat(nest[:-1], innermost.var, innermost.body)
            else:
                self.rows(nest, innermost.body)

    def flat(self, outer: list[Any], var: Var, body: list[Node], slots: Sequence[Buf] = ()) -> None:
        """One thread per element, or per 16 bytes of elements."""
        lets = [n for loop in outer for n in loop.body if isinstance(n, Let)]
        vars_ = [loop.var for loop in outer] + [var]
        vectors = None if slots or lets or self.atomic or self.claim else vectors_of(vars_, body)
        p = self.printer([*lets, *body])
        p.atomic, p.claim = self.atomic, self.claim
        total = p.poly(product(v.extent for v in vars_))
        begin = "0"
        if vectors:
            p.add(f"const tg_int whole = vector ? ({total}) / {vectors.width} : 0;")
            with p.block(grid_loop("w", "whole")):
                vectors.write(p, vars_, body)
            begin = f"whole * {vectors.width}"
        with p.block(grid_loop("t", total, begin)):
            self.decompose(p, vars_, "t")
            p.add(*[f"{self.d.ctype(b.dtype)} {b.name};" for b in slots])
            p.body([*lets, *body])
        text = self.finish(p, "flat", count=product(v.extent for v in vars_), vectors=vectors)
        plain = not (slots or lets or self.atomic or self.claim)
        squares = squares_of(vars_, body, self.aliased) if plain else None
        if squares is not None:
            text.held = self.squares(squares, text.name, vars_, body)

    def squares(self, squares: Squares, name: str, vars_: list[Var], body: list[Node]) -> KernelText:
        """The kernel that turns squares of elements in shared memory."""
        p = self.printer(body)
        squares.write(p, vars_, body, self.decompose)
        others = product(v.extent for v in vars_[:-1] if v is not squares.along)
        sides = [vars_[-1].extent, squares.along.extent]
        return self.finish(p, "squares", name=f"{name}_squares", count=others, inner=sides)

    def rows(self, nest: list[Any], body: list[Node]) -> None:
        """A team of threads per row; a second kernel keeps the row in registers, if that saves reading it again."""
        count = product(loop.var.extent for loop in nest)
        alone = has_serial(body)
        streaming = self.row_kernel(nest, body, 0)
        text = self.finish(streaming, "rows", count=count, inner=shared_out(body), team=1 if alone else 0)
        text.phases = [] if alone else self.row_parts(text.name, nest, body)
        for k, name in ((HELD, "held"), (HELD_BY_WARP, "by_warps")):
            cached = None if alone else cached_row(body, k)
            if cached is not None and cached.words() <= MOST_WORDS and _may_fit(cached.var, k):
                p = self.row_kernel(nest, body, k)
                if p.rows and k != HELD:
                    continue
                kernel = self.finish(p, "rows", count=count, inner=shared_out(body), name=f"{text.name}_{name}")
                text.held, text.by_warps = (kernel, None) if k == HELD else (text.held, kernel)

    def row_kernel(self, nest: list[Any], body: list[Node], held: int) -> CudaPrinter:
        lets = [n for loop in nest[:-1] for n in loop.body if isinstance(n, Let)]
        vars_ = [loop.var for loop in nest]
        p = self.printer([*lets, *body])
        p.atomic = self.atomic
        p.cached = cached_row(body, held) if held else None
        if held == HELD_BY_WARP:
            p.add("constexpr int team = 32;", "const int lane = threadIdx.x & 31;")
        else:
            p.add("const int lane = threadIdx.x % team;")
        count = p.poly(product(v.extent for v in vars_))
        with p.block(team_loop("t", count)):
            self.decompose(p, vars_, "t")
            if p.cached:
                p.add(*p.cached.declarations(p))
                p.cached.fetch(p)
            p.team = True
            p.statements([*lets, *body])
            p.team = False
        return p

    def serial(self, loop: Any) -> None:
        """Iterations that have to run in order: one block, which shares out what is inside each."""
        self.atomic = False
        p = self.printer([loop])
        if (isinstance(loop, Loop) and is_straight(loop.body)) or has_serial(loop.body):
            p.node(loop)
            self.finish(p, "single")
            return
        p.add("const int lane = threadIdx.x % team;")
        with p.block(p.for_head(loop.var)):
            p.team = True
            p.statements(loop.body)
            p.team = False
            p.add("__syncthreads();")
        self.finish(p, "serial", inner=shared_out(loop.body))


def _may_fit(row: Var, held: int) -> bool:
    """Whether a row may have as many elements as the kernel for so many of a thread is for."""
    n = row.extent.const
    return n is None or held == HELD or 32 * HELD < n <= 32 * HELD_BY_WARP
