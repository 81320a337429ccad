"""Scatters that overwrite, in many blocks: of several values for one place the last wins, whatever runs first.

Each iteration claims its place with its number, and the largest stays; then only those that hold their place write.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from termgraph._records import record, replace
from termgraph.backends.cuda.text.dialect import is_changed_atomically
from termgraph.backends.cuda.text.nests import grid_loop
from termgraph.lower.lengths.index import ONE, ZERO, Poly, Var, divide, poly, product
from termgraph.lower.loops.tree import Kernel, Let, Loop, Write, walk
from termgraph.lower.memory.plan import loads
from termgraph.lower.push.kernel import Buf


@record
class Claim:
    """Which iteration writes where: `holder[key]` is the number of the last one, from 1 on; 0 if there is none."""

    holder: Buf
    key: Poly
    number: Poly

    def holds(self, p: Any) -> str:
        """The test whether this iteration is the one."""
        p.bufs[self.holder] = None
        return f"{self.holder.name}[{p.poly(self.key)}] == (uint64_t)({p.poly(self.number)}) + 1"

    def take(self, p: Any) -> str:
        """The statement that claims a place."""
        p.bufs[self.holder] = None
        p.written.add(self.holder)
        place = f"(unsigned long long *)&{self.holder.name}[{p.poly(self.key)}]"
        return f"atomicMax({place}, (unsigned long long)({p.poly(self.number)}) + 1ull);"


def scatters_of(n: Kernel) -> list[list[Loop]] | None:
    """A nest of loops for each store, if all a kernel does is to store values that are computed without loops."""
    written = [m.buf for m in walk([n]) if isinstance(m, Write)]
    if not isinstance(n.node, Loop) or len(set(written)) < len(written) or any(b in written for b, _ in loads(n)):
        return None
    chains = _chains(n.node)
    nests = None if chains is None else [_nest(c) for c in chains]
    if not nests or any(loop.var.extent.fv for nest in nests for loop in nest):
        return None
    stores = [m for nest in nests for m in nest[-1].body if isinstance(m, Write)]
    return nests if all(m.mode == "set" or is_changed_atomically(m.buf.dtype) for m in stores) else None


def _chains(loop: Loop) -> list[Loop] | None:
    """The loop once for each statement in it: they do not depend on each other."""
    lets = [m for m in loop.body if isinstance(m, Let)]
    out: list[Loop] = []
    for m in loop.body:
        if isinstance(m, Let):
            continue
        inner = [m] if isinstance(m, Write) else _chains(m) if isinstance(m, Loop) else None  # as deep as loops nest
        if inner is None:
            return None
        out += [replace(loop, body=[*lets, one]) for one in inner]
    return out


def _nest(chain: Loop) -> list[Loop]:
    out = [chain]
    while isinstance(out[-1].body[-1], Loop):
        out.append(out[-1].body[-1])
    return out


def write_scatters(writer: Any, nests: Sequence[Sequence[Loop]]) -> None:
    """The kernels of all stores."""
    for nest in nests:
        (store,) = [n for n in nest[-1].body if isinstance(n, Write)]
        if store.mode == "set" and any(loop.serial for loop in nest):
            write_scatter(writer, nest)
        else:
            writer.atomic = store.mode != "set"
            writer.flat(list(nest[:-1]), nest[-1].var, nest[-1].body)


def write_scatter(writer: Any, nest: Sequence[Loop]) -> None:
    """Three kernels: nobody holds anything; places are claimed; values are written."""
    (store,) = [n for n in nest[-1].body if isinstance(n, Write)]
    ordered = max(k for k, loop in enumerate(nest) if loop.serial) + 1
    key, length, outer = _key(store, nest, ordered)
    writer.atomic = False
    holder = Buf(f"holder{len(writer.holders)}", "uint64", (length,), "temp")
    writer.holders.append(holder)
    claim = Claim(holder, key, _number([loop.var for loop in nest[:outer]]))
    _clear(writer, holder, length)
    _claim(writer, claim, nest[:outer])
    writer.claim = claim
    writer.flat(list(nest[:-1]), nest[-1].var, nest[-1].body)
    writer.claim = None


def _key(store: Write, nest: Sequence[Loop], ordered: int) -> tuple[Poly, Poly, int]:
    """What is claimed: whole rows, if the inner loops go along rows, else single elements; how many; by which loops."""
    size, inner = product(store.buf.shape), nest[ordered:]
    if inner:
        row = product(loop.var.extent for loop in inner)
        whole, rest = divide(store.offset, row)
        rows, over = divide(size + rest, row)
        vars_ = {loop.var for loop in inner}
        if over is rest and not whole.fv & vars_ and rest.fv <= vars_:
            return whole, rows, ordered
    return store.offset, size, len(nest)


def _number(vars_: Sequence[Var]) -> Poly:
    """The number of an iteration, in the order in which loops run."""
    out = ZERO
    for v in vars_:
        out = out * v.extent + poly(v)
    return out


def _clear(writer: Any, holder: Buf, length: Poly) -> None:
    p = writer.printer([])
    p.bufs[holder] = None
    p.written.add(holder)
    with p.block(grid_loop("t", p.poly(length))):
        p.add(f"{holder.name}[t] = 0;")
    writer.finish(p, "flat", count=length)


def _claim(writer: Any, claim: Claim, nest: Sequence[Loop]) -> None:
    lets = [n for loop in nest for n in loop.body if isinstance(n, Let)]
    vars_ = [loop.var for loop in nest]
    count = product([v.extent for v in vars_]) if vars_ else ONE
    p = writer.printer(lets)
    p.claim = claim
    with p.block(grid_loop("t", p.poly(count))):
        writer.decompose(p, vars_, "t")
        p.body(lets)
        p.add(claim.take(p))
    writer.finish(p, "flat", count=count)
