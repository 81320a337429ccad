"""What kind of loop nest a tree has, and the loops that blocks and teams share out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from termgraph.backends.cuda.text.chains import nested
from termgraph.backends.cuda.text.dialect import is_changed_atomically
from termgraph.backends.references import index_references, references
from termgraph.lower.lengths.index import Poly, largest
from termgraph.lower.loops.tree import (
    Accumulate,
    Call,
    Choice,
    Columns,
    Kernel,
    Let,
    Loop,
    Node,
    Reduce,
    Repeat,
    Routine,
    Write,
    walk,
)
from termgraph.lower.memory.plan import loads, writes
from termgraph.lower.push.kernel import ITEST, IVAL, LOAD, Buf, scalars
from termgraph.terms.op import CONST
from termgraph.terms.term import AnyTerm

INSIDE = 32  # elements of a fold inside of another one from which a team shares out the inner one


def grid_loop(i: str, end: str, begin: str = "0") -> str:
    """A loop that the threads of all blocks share out."""
    first = "blockIdx.x * (tg_int)blockDim.x + threadIdx.x"
    first = first if begin == "0" else f"{begin} + {first}"
    return f"for (tg_int {i} = {first}; {i} < {end}; {i} += gridDim.x * (tg_int)blockDim.x)"


def team_loop(i: str, end: str) -> str:
    """A loop that the teams of all blocks share out."""
    first = "(blockIdx.x * (tg_int)blockDim.x + threadIdx.x) / team"
    return f"for (tg_int {i} = {first}; {i} < {end}; {i} += gridDim.x * (tg_int)blockDim.x / team)"


def has_serial(body: Sequence[Node]) -> bool:
    """Whether iterations inside have to run in order: one thread then does it all."""
    return any(isinstance(n, Loop) and n.serial for n in walk(list(body)))


def of_lengths(t: AnyTerm) -> bool:
    """Whether a scalar is computed from lengths alone."""
    found = scalars([t])
    simple = all(x.op is CONST or x.op.kind == "elementwise" or x.op.family in (IVAL, ITEST) for x in found)
    return simple and len(found) <= 16


def used_elsewhere(nodes: Sequence[Node]) -> set[Any]:
    """Values that are used in another kernel than the one that computes them."""
    apart = (Kernel, Call, Repeat, Choice, Routine)
    part, where, used = 0, {}, []
    for n in nodes:
        part += isinstance(n, apart)
        inner = list(walk([n]))
        for m in inner:
            if isinstance(m, Call):
                used += [(part, m.options[k]) for k in ("alpha",) if k in m.options]
            elif isinstance(m, Choice):
                used.append((part, m.condition))
            used += [(part, t) for t in (*references(m), *index_references(m))]
        if not isinstance(n, apart) and getattr(n, "term", None) is not None:
            where[n.term] = part  # type: ignore[attr-defined]
        part += isinstance(n, apart)
    return {t for k, t in used if t in where and where[t] != k}


def scalars_early(nodes: Sequence[Node]) -> list[Node]:
    """The same statements, with scalars that follow from a fold right behind it; lengths and scalar arguments first."""
    given = [n for n in nodes if isinstance(n, Let) and (of_lengths(n.term) or is_argument(n.term))]
    out: list[Node] = list(given)
    first = set(map(id, given))
    for n in [n for n in nodes if id(n) not in first]:
        k = len(out)
        if _is_pure(n):
            needs = {t for t in (*references(n), *index_references(n)) if t.op is not CONST}
            written = {n.buf} if isinstance(n, Write) else set()
            while k and not _concerns(out[k - 1], needs, written):
                k -= 1
            if k and not any(isinstance(m, Kernel) and isinstance(m.node, Reduce) for m in _before(out, k)):
                k = len(out)
        out.insert(k if k else len(out), n)
    return out


def is_argument(t: AnyTerm) -> bool:
    """Whether a scalar is an argument without dimensions."""
    buf = t.op.params["buf"] if t.op.family is LOAD else None
    return buf is not None and buf.kind == "input" and not buf.shape


def _is_pure(n: Node) -> bool:
    """Whether a scalar reads no memory, and writes none that is used again."""
    if isinstance(n, Write):
        return n.buf.kind == "output" and n.mode == "set"
    return isinstance(n, Let) and n.term.op.kind == "elementwise" and n.stored is None


def _concerns(m: Node, needs: set[Any], written: set[Buf]) -> bool:
    """Whether a statement makes what another one needs, or touches what it writes."""
    if isinstance(m, (Repeat, Choice)):
        return True
    made = set(m.node.folds) if isinstance(m, Kernel) and isinstance(m.node, Reduce) else {getattr(m, "term", None)}
    return bool(made & needs) or bool(written and written & {*writes(m), *[b for b, _ in loads(m)]})


def _before(out: Sequence[Node], k: int) -> list[Node]:
    """The scalars that end at a place, and what stands before them."""
    first = k - 1
    while first and isinstance(out[first], (Let, Write)):
        first -= 1
    return list(out[first:k])


def must_precede(scalars: Sequence[Node], n: Node) -> bool:
    """Whether scalars have to be there before something: it needs them, or it may change what they read or write."""
    if not scalars or isinstance(n, (Repeat, Choice)) or getattr(n, "final", False):
        return bool(scalars)
    inner = list(walk([n]))
    used = {t for m in inner for t in (*references(m), *index_references(m))}
    used |= {n.options["alpha"]} if isinstance(n, Call) and "alpha" in n.options else set()
    made = {getattr(m, "term", None) for m in scalars}
    bufs = {b for b, _ in loads(n)} if not isinstance(n, Call) else {b for b, *_ in n.operands}
    stored = {w.buf for m in scalars for w in walk([m]) if isinstance(w, Write)}
    read = {b for m in scalars for b, _ in loads(m)}
    temporary = any(b.kind == "temp" for b in stored | read)  # rooms of temporary values are used again
    return bool(used & made or bufs & stored or set(writes(n)) & (stored | read) or temporary)


def nest_of(loop: Any) -> tuple[list[Any], Any]:
    """Loops that stand alone in each other, as one iteration space; the innermost may be a loop over columns."""
    nest = [loop]
    while isinstance(nest[-1], Loop):
        inner = [n for n in nest[-1].body if not isinstance(n, Let)]
        lone = inner[0] if len(inner) == 1 and isinstance(inner[0], (Loop, Columns)) else None
        if lone is None or getattr(lone, "serial", False) or lone.var.extent.fv:
            break
        nest.append(lone)
    return (nest[:-1], nest[-1]) if isinstance(nest[-1], Columns) else (nest, nest[-1])


def shared_inside(n: Node) -> bool:
    """Whether, of a fold with folds inside, a team shares out those: they are known to be long, and the longer ones."""
    inner = [m for m in n.body if isinstance(m, Reduce)] if isinstance(n, Reduce) else []
    if not inner or not all(isinstance(m, (Let, Accumulate, Reduce)) for m in n.body):  # type: ignore[attr-defined]
        return False
    outer, lengths = n.var.extent, [m.var.extent for m in inner]  # type: ignore[attr-defined]
    if any(length.fv for length in (outer, *lengths)):  # threads of other teams would wait for each other
        return False
    return all((length.const or 0) >= max(INSIDE, outer.const or 0) for length in lengths)


def shared_out(body: Sequence[Node]) -> list[Poly]:
    """The lengths that a team shares out."""
    found: list[Poly] = []
    for n in body:  # as deep as folds nest
        if (chain := nested(n)) is not None:
            found.append(chain.extent)
        elif shared_inside(n):
            found += shared_out(n.body)  # type: ignore[attr-defined]
        elif isinstance(n, (Loop, Reduce, Columns)):
            found.append(largest(n.var.extent))
    return list(dict.fromkeys(found))


def adds_only(n: Kernel) -> bool:
    """Whether all it does to memory is adding or joining numbers, which the device can do atomically."""
    writes = [w for w in walk([n]) if isinstance(w, Write)]
    bufs = {w.buf for w in writes}
    adds = all(w.mode != "set" and is_changed_atomically(w.buf.dtype) for w in writes)
    return adds and not any(b in bufs for b, _ in loads(n))
