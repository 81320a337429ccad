"""Where the iterations of a statement read and write each array, and in which order.

Asked of a statement for each array that might be written in the place of another one; walked once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from termgraph.lower.lengths.index import ONE, ZERO, Poly, Var, product
from termgraph.lower.loops.tree import Call, Columns, Compound, Kernel, Let, Loop, Node, Write
from termgraph.lower.memory.plan import LINE
from termgraph.lower.push.kernel import LOAD, Buf


class Steps:
    """What an iteration reads and writes, by array: at which offsets, and when first or last."""

    def __init__(self, node: Kernel) -> None:
        self.written: dict[Buf, set[Poly]] = {}
        self.first_written: dict[Buf, int] = {}
        self.read: dict[Buf, set[Poly]] = {}
        self.last_read: dict[Buf, int] = {}
        self.again: set[Buf] = set()  # of which several iterations write the same element
        self.counts: dict[Buf, Poly] = {}  # how many elements are written, if none is written again
        self.added: set[Buf] = set()  # of which elements are added to
        self.vectors: list[int | None] = []  # how many elements each innermost loop takes
        self.plain = True  # there is nothing but loops and elements
        self._look(node)

    def _look(self, node: Node) -> None:
        stack: list[tuple[Node, frozenset[Var]]] = [(node, frozenset())]
        count = 0
        while stack:
            n, around = stack.pop()
            count += 1
            if isinstance(n, Let):
                self._reads(n, count)
            elif isinstance(n, Write):
                self.written.setdefault(n.buf, set()).add(n.offset)
                self.first_written.setdefault(n.buf, count)
                elements = product([v.extent for v in around])
                self.counts[n.buf] = self.counts.get(n.buf, ZERO) + elements
                if not around <= n.offset.fv:
                    self.again.add(n.buf)
                if n.mode != "set":
                    self.added.add(n.buf)
            else:
                self.plain &= not isinstance(n, (Call, Compound))
                if isinstance(n, Columns) or (isinstance(n, Loop) and n.simd):
                    self.vectors.append(n.var.extent.const)
                var = getattr(n, "var", None)
                inside = around if var is None or var.extent is ONE else around | {var}
                stack += [(x, inside) for body in reversed(n.children()) for x in reversed(body)]

    def _reads(self, n: Let, count: int) -> None:
        if n.stored is not None:
            buf, offset = n.stored
        elif n.term.op.family is LOAD:
            buf, offset = n.term.op.params["buf"], n.term.op.params["offset"]
        else:
            return
        self.read.setdefault(buf, set()).add(offset)
        self.last_read[buf] = count

    def in_place(self, old: Buf, new: Buf) -> bool:
        """Whether an iteration reads only that element of `old` that it writes in `new`, and before it is written."""
        at = self.written.get(new, set())
        if not self.plain or len(at) != 1 or new in self.again:
            return False
        return self.read.get(old, set()) <= at and self.last_read.get(old, 0) < self.first_written[new]

    def whole_vectors(self, dtype: str) -> bool:
        """Whether all innermost loops take a number of vectors of these elements, however long vectors are."""
        size = np.dtype(dtype).itemsize
        return all(count is not None and count * size % LINE == 0 for count in self.vectors)


def steps_of(node: Kernel) -> Steps:
    """Kernels keep their answer, until they are `changed`."""
    known: Steps | None = node.__dict__.get("_steps")
    if known is None:
        known = node.__dict__["_steps"] = Steps(node)
    return known


def in_parts(nodes: Sequence[Node], buf: Buf) -> bool:
    """Whether statements, all that write a buffer, write each element once: as many as there are, in all."""
    if not all(isinstance(n, Kernel) for n in nodes):
        return False
    steps = [steps_of(n) for n in nodes if isinstance(n, Kernel)]
    if any(buf in s.again or buf in s.added or not s.plain or buf not in s.counts for s in steps):
        return False
    return sum([s.counts[buf] for s in steps], ZERO) is product(buf.shape)


def in_step(node: Node, old: Buf, new: Buf) -> bool:
    """Whether a statement may write `new` in the place of `old`, as far as its own iterations go."""
    return isinstance(node, Kernel) and steps_of(node).in_place(old, new)
