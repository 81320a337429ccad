"""Few long rows in parts: each fold of a row is shared out among blocks, which leave a result per part.

A batch norm's channels are 64 rows of 400,000 elements: 64 blocks would leave most of a GPU idle. Each sweep is a
kernel, which begins by folding what the parts of those before it left; what is stored at the end is a kernel more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from termgraph.backends.cuda.text.chains import Chain, chain_of
from termgraph.backends.cuda.text.column_kernels import ColumnWriter
from termgraph.backends.cuda.text.functions import LEAST_ROW, SLOT, SPREAD, KernelText
from termgraph.backends.cuda.text.printer import CudaPrinter
from termgraph.lower.lengths.index import product
from termgraph.lower.loops.tree import Let, Loop, Node, Reduce, Row, Write, walk
from termgraph.lower.memory.plan import loads
from termgraph.lower.push.kernel import ARG_FOLDS


class RowPartWriter(ColumnWriter):
    """Writes the kernels that do rows in parts."""

    def row_parts(self, name: str, nest: list[Any], body: list[Node]) -> list[KernelText]:
        """A kernel for each sweep of a row, and one for what comes after them; none where they cannot be apart."""
        sweeps = {n: chain_of(n) for n in body if isinstance(n, (Reduce, Loop))}
        if self.atomic or self.claim is not None or not self.may_part(body, sweeps):
            return []
        rows, lengths = product(v.var.extent for v in nest).const, [c.extent.const for c in sweeps.values() if c]
        if (rows or 0) >= SPREAD or max(LEAST_ROW if n is None else n for n in lengths) < LEAST_ROW:
            return []
        lets = [n for loop in nest[:-1] for n in loop.body if isinstance(n, Let)]
        order = list(sweeps)
        ends = [*order, *([None] if any(isinstance(n, Write) for n in body) else [])]
        return [self.row_part(f"{name}_part{k}", nest, [*lets, *body], order[:k], n) for k, n in enumerate(ends)]

    def may_part(self, body: list[Node], sweeps: dict[Any, Chain | None]) -> bool:
        """Whether the sweeps of a row may be kernels: each begins with the scalars before it, and stores come last."""
        if not any(isinstance(n, Reduce) for n in sweeps) or not all(sweeps.values()):
            return False
        if not all(isinstance(n, (Let, Write, Reduce, Loop)) for n in body):
            return False
        if any(isinstance(n, Row) or isinstance(n, Let) and n.stored and n.stored[0].kind == "row" for n in walk(body)):
            return False
        if any(f.op.params["kind"] in ARG_FOLDS for n in sweeps if isinstance(n, Reduce) for f in n.folds):
            return False
        stores = {n for n in body if isinstance(n, Loop)}
        after = body[min(map(body.index, stores), default=len(body)) :]
        if any(isinstance(n, Reduce) for n in after):
            return False
        last = {n.buf for n in body if isinstance(n, Write)}
        if any(b in last for n in body for b, _ in loads(n)):
            return False
        stored = {w.buf for n in walk(list(stores)) for w in [n] if isinstance(w, Write)}
        given = {b for n in body if isinstance(n, Let) for b, _ in loads(n)}
        return not (given & stored or stored & set(self.aliased) and given & set(self.aliased))

    def row_part(
        self, name: str, nest: list[Any], body: list[Node], before: Sequence[Node], own: Node | None
    ) -> KernelText:
        """A part of one sweep, or with `own` None what is stored after all of them."""
        p, vars_ = self.printer(body), [loop.var for loop in nest]
        count = p.poly(product(v.extent for v in vars_))
        p.add("const int team = blockDim.x, lane = threadIdx.x;")
        here = body if own is None else [n for n in body[: body.index(own)] if not isinstance(n, Write)]
        p.once = p.used_once([n for n in (*here, own) if n is not None and n not in before])
        known = 0
        with p.block(f"for (tg_int column = blockIdx.x; column < {count}; column += gridDim.x)"):
            self.decompose(p, vars_, "column")
            p.team = own is None
            for n, scalars in _divided(here, before):
                p.chunk = scalars
                p.body(scalars)
                for f in n.folds if isinstance(n, Reduce) else ():
                    self.whole(p, f, f"tg_partials + (int64_t){SLOT * known} * parts * ({count})", count)
                    known += 1
            p.team = False
            mine = None if own is None else chain_of(own)
            if mine is not None:
                self.sweep_part(p, mine, known, count)
        return self.finish(
            p, "phase", name=name, extra=("room", 0), count=product(v.extent for v in vars_),
            inner=[] if mine is None else [mine.extent], team=known + len(mine.folds if mine else ()),
        )  # fmt: skip

    def sweep_part(self, p: CudaPrinter, chain: Chain, first: int, total: str) -> None:
        """One part of a sweep, and the results of its folds."""
        p.declare_chain(chain)
        self.part_bounds(p, p.poly(chain.extent))
        self.batches(p, chain.vars, ("from + lane", "to", "team"), chain.body)
        self.keep_parts(p, chain.folds, first, total, "lane == 0")


def _divided(nodes: Sequence[Node], at: Sequence[Node]) -> Iterator[tuple[Node | None, list[Node]]]:
    """Statements before each of some others; at the end those after all of them."""
    found: list[Node] = []
    for n in nodes:
        if n in at:
            yield n, found
            found = []
        else:
            found.append(n)
    yield None, found
