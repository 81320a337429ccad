"""128-bit accesses: which elements of a flat loop lie side by side, and the loop that takes 16 bytes of them at once.

Whether a vector access is allowed is decided when a kernel is launched: lengths and addresses must be multiples.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from termgraph._records import record
from termgraph.lower.lengths.index import ONE, Poly, Var, product
from termgraph.lower.loops.tree import Branch, Let, Node, Write
from termgraph.lower.push.kernel import LOAD, Buf

Place = tuple[Buf, Poly]


@record
class Vectors:
    """`width` elements at once; `inner` must be a multiple of it (None: one loop, which may have a rest)."""

    width: int
    loads: list[Place]
    stores: list[Place]
    inner: Poly | None

    @property
    def bufs(self) -> list[Buf]:
        """The buffers whose addresses must be multiples of 16."""
        return list(dict.fromkeys(b for b, _ in [*self.loads, *self.stores]))

    def write(self, p: Any, vars_: Sequence[Var], body: list[Node]) -> None:
        """The body for `width` neighbouring elements, starting at element `w * width`."""
        n, last = self.width, vars_[-1]
        base = f"i{last.level}"
        outer = [f"i{v.level}" for v in vars_[:-1]]
        rest = f"w * {n}"
        lines = []
        for k in range(len(vars_) - 1, 0, -1):
            name = base if k == len(vars_) - 1 else outer[k]
            extent = p.poly(vars_[k].extent)
            lines.append(f"const tg_int {name}{'_0' if name == base else ''} = ({rest}) % ({extent});")
            rest = f"({rest}) / ({extent})"
        first = outer[0] if outer else f"{base}_0"
        p.add(*lines, f"const tg_int {first} = {rest};")
        self.fetch(p, base)
        p.add("#pragma unroll")
        with p.block(f"for (int u = 0; u < {n}; u++)"):
            p.add(f"const tg_int {base} = {base}_0 + u;")
            p.body(body)
        p.vectors = {}
        for k, (b, offset) in enumerate(self.stores):
            p.add(f"*({self.type_of(p, b)} *)({b.name} + {at_start(p, offset, base)}) = y{k};")

    def fetch(self, p: Any, base: str) -> None:
        """The vector loads, and room for what is stored as a vector."""
        p.vectors = {}
        for k, (b, offset) in enumerate(self.loads):
            p.bufs[b] = None
            kind = self.type_of(p, b)
            p.add(f"const {kind} x{k} = *(const {kind} *)({b.name} + {at_start(p, offset, base)});")
            p.vectors[b, offset] = f"x{k}.v[u]"
        for k, (b, offset) in enumerate(self.stores):
            p.bufs[b] = None
            p.add(f"{self.type_of(p, b)} y{k};")
            p.vectors[b, offset] = f"y{k}.v[u]"

    def type_of(self, p: Any, b: Buf) -> str:
        """The vector type of a buffer's elements."""
        return f"tg_vec<{p.d.stored_type(b.dtype)}, {self.width}>"


def at_start(p: Any, offset: Poly, base: str) -> str:
    """An offset with the first of the elements in the place of the innermost variable."""
    return re.sub(rf"\b{base}\b", f"{base}_0", p.poly(offset))


def vectors_of(vars_: Sequence[Var], body: Sequence[Node]) -> Vectors | None:
    """How a straight-line body can be vectorised over the innermost variable, or None."""
    if any(isinstance(n, Branch) for n in body) or any(v.extent.fv for v in vars_):
        return None
    last = vars_[-1]
    inner = last.extent if len(vars_) > 1 else None
    stores = [n for n in body if isinstance(n, Write)]
    read = [n.term.op.params for n in body if isinstance(n, Let) and n.term.op.family is LOAD]
    loads = [(q["buf"], q["offset"]) for q in read]
    written = {n.buf for n in stores}
    if any(n.mode != "set" for n in stores) or any(b in written for b, _ in loads):
        return None
    sizes = [np.dtype(b.dtype).itemsize for b, o in [*loads, *[(n.buf, n.offset) for n in stores]] if last in o.fv]
    width = max(2, 16 // max(sizes, default=16))
    fits = lambda b, o: b.kind != "tile" and _contiguous(o, last, vars_, width)  # noqa: E731
    out = Vectors(
        width,
        list(dict.fromkeys(x for x in loads if fits(*x))),
        [(n.buf, n.offset) for n in stores if fits(n.buf, n.offset)],
        inner,
    )
    whole = product(v.extent for v in vars_).const
    if not out.stores or len(set(out.stores)) < len(out.stores) or (whole is not None and whole < width):
        return None
    return out if inner is None or inner.const is None or inner.const % width == 0 else None


def _contiguous(offset: Poly, last: Var, vars_: Sequence[Var], width: int) -> bool:
    """Whether the elements lie side by side, starting at a multiple of the width if the inner length is one."""
    if offset.coefficient(last) is not ONE or any(last in a.fv for a in offset.atoms() if a is not last):
        return False
    rest = offset.without([last])
    extent = set(last.extent.terms[0][0]) if len(vars_) > 1 and len(last.extent.terms) == 1 else None
    for m, c in rest.terms:
        whole_rows = extent is not None and extent and extent <= set(m)
        if c % width and not whole_rows and not (last.extent.const and len(vars_) > 1 and c % last.extent.const == 0):
            return False
    return True
