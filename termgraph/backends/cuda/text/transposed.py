"""Elements that are read along another axis than the result is written: by squares that are turned in shared memory.

A block reads a square of 32 x 32 elements along the axis in which they lie, and computes along the other one, so that
threads of a warp have neighbouring elements both times. Rows of a square are 33 apart: columns are spread over banks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from termgraph._records import record
from termgraph.backends.cuda.text.vector_access import Place
from termgraph.lower.lengths.index import ONE, Poly, Sym, Var, product
from termgraph.lower.loops.tree import Branch, Let, Node, Write
from termgraph.lower.push.kernel import LOAD, Buf

SIDE = 32  # of a square
ROWS = 8  # of threads: each has four elements of a column
SHORT = 16  # axes of fewer elements are not worth it
ROOM = 48 << 10  # bytes of shared memory that need no asking


@record
class Squares:
    """Loads that lie along `along`, where results lie along the innermost variable."""

    along: Var
    loads: list[Place]

    def write(self, p: Any, vars_: Sequence[Var], body: list[Node], decompose: Any) -> None:
        """The loop over all squares."""
        last, along = vars_[-1], self.along
        outer = [v for v in vars_[:-1] if v is not along]
        n, m = p.poly(last.extent), p.poly(along.extent)
        squares = f"across * down * ({p.poly(product(v.extent for v in outer))})" if outer else "across * down"
        for k, (b, _) in enumerate(self.loads):
            p.add(f"__shared__ {p.d.stored_type(b.dtype)} square{k}[{SIDE}][{SIDE + 1}];")
        p.add(f"const tg_int across = ({n} + {SIDE - 1}) / {SIDE}, down = ({m} + {SIDE - 1}) / {SIDE};")
        with p.block(f"for (tg_int t = blockIdx.x; t < {squares}; t += gridDim.x)"):
            p.add(f"const tg_int x = t % across * {SIDE}, y = t / across % down * {SIDE};")
            if outer:
                p.add("const tg_int plane = t / across / down;")
            decompose(p, outer, "plane")
            with self.elements(p, (along, "y"), (last, "x")):
                for k, (b, offset) in enumerate(self.loads):
                    p.bufs[b] = None
                    p.add(f"square{k}[u][threadIdx.x] = {b.name}[{p.poly(offset)}];")
            p.add("__syncthreads();")
            p.vectors = {place: f"square{k}[threadIdx.x][u]" for k, place in enumerate(self.loads)}
            with self.elements(p, (last, "x"), (along, "y")):
                p.body(body)
            p.vectors = {}
            p.add("__syncthreads();")

    @contextmanager
    def elements(self, p: Any, lane: tuple[Var, str], row: tuple[Var, str]) -> Iterator[None]:
        """What a thread does with its four elements: neighbouring threads are neighbours along the first variable."""
        (v, at), (w, begin) = lane, row
        p.add("#pragma unroll")
        with p.block(f"for (int q = 0; q < {SIDE // ROWS}; q++)"):
            p.add(f"const int u = threadIdx.y + q * {ROWS};")
            p.add(f"const tg_int i{v.level} = {at} + (tg_int)threadIdx.x, i{w.level} = {begin} + u;")
            with p.block(f"if (i{v.level} < {p.poly(v.extent)} && i{w.level} < {p.poly(w.extent)})"):
                yield


def squares_of(vars_: Sequence[Var], body: Sequence[Node], aliased: Collection[Buf]) -> Squares | None:
    """The loads of a straight-line body that are worth turning, or None."""
    if len(vars_) < 2 or any(isinstance(n, Branch) for n in body) or any(v.extent.fv for v in vars_):
        return None
    last = vars_[-1]
    stores = [n for n in body if isinstance(n, Write)]
    written = {n.buf for n in stores}
    loads = list(dict.fromkeys((n.term.op.params["buf"], n.term.op.params["offset"]) for n in body
                               if isinstance(n, Let) and n.term.op.family is LOAD))  # fmt: skip
    if any(n.mode != "set" or n.buf.kind == "tile" for n in stores) or any(b in written for b, _ in loads):
        return None
    if not any(_simple(n.offset, vars_) and n.offset.coefficient(last) is ONE for n in stores):
        return None
    best = max(
        (Squares(v, [x for x in loads if x[0] not in aliased and _along(x, v, vars_)]) for v in vars_[:-1]),
        key=lambda s: len(s.loads),
    )
    short = any(v.extent.const is not None and v.extent.const < SHORT for v in (best.along, last))
    room = sum(SIDE * (SIDE + 1) * np.dtype(b.dtype).itemsize for b, _ in best.loads)
    return None if short or not best.loads or room > ROOM else best


def _along(place: Place, v: Var, vars_: Sequence[Var]) -> bool:
    """Whether elements lie side by side along a variable, and not along the innermost one."""
    b, offset = place
    if b.kind == "tile" or not _simple(offset, vars_) or offset.coefficient(v) is not ONE:
        return False
    far = offset.coefficient(vars_[-1])
    return bool(far.terms) and abs(far.const or SHORT) >= SHORT


def _simple(offset: Poly, vars_: Sequence[Var]) -> bool:
    """Whether an offset is a sum of loop variables times lengths."""
    return all(isinstance(a, Sym) or a in vars_ for a in offset.atoms())
