"""New values of variables in the memory of the old ones: which can be, and when they are written.

Read off the tree; no term is rewritten for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from termgraph._lazy import lazy
from termgraph._records import record, replace
from termgraph.lower.lengths.index import values
from termgraph.lower.loops.tree import (
    Call,
    Columns,
    Kernel,
    Let,
    Loop,
    Node,
    Quiet,
    Repeat,
    Routine,
    Row,
    Tiles,
    Write,
    walk,
)
from termgraph.lower.memory.plan import INSIDE, Uses, writes
from termgraph.lower.push.kernel import INDEX, LOAD, Buf
from termgraph.lower.push.kernel import kids as operands_of
from termgraph.lower.schedule.cost import work
from termgraph.lower.storage.routine_table import SURE

memory_steps = lazy("termgraph.lower.memory.steps")
# Work after the first early update, which cannot be interrupted: at most ten seconds, mostly less than one.
LONGEST = 3 * 10**10
MANY = 100  # statements that run for long at the end, if there are no more than that, take no longer together
PRODUCTS = ("gemm", "gemv")  # library calls that fail for nothing but their lengths


@record(eq=False)
class InPlace:
    """An update that could be written over the old value: after a copy that is then needless, by one statement, or by
    several that each write a part.
    """

    old: Buf
    new: Buf
    nodes: tuple[Node, ...]
    copy: Node | None  # a statement that does it, beside other things perhaps


def update_modes(
    nodes: list[Node], pairs: Sequence[tuple[Buf, Buf]], plain: bool = True
) -> tuple[list[Node], dict[Buf, str]]:
    """How the new value of a shared variable is stored, given (old, new) buffers, and the tree that does it.

    "overwrite": every element is read before it is written, so both may be one buffer. "accumulate": the same, and the
    copy of the old value that starts the new one is dropped, because the buffer holds it already. Others are "fresh".
    Statements that write in place come last and can neither fail nor be interrupted: all updates happen, or none.
    `plain`: only calls and loops over elements do; others than one processor at a time may go through sums again.
    """
    uses = Uses(nodes if pairs else ())
    found = [u for u in _Candidates(uses).of(pairs) if not plain or all(map(_is_plain, u.nodes))]
    while True:
        order = _in_place_last(nodes, found)
        place = {n: k for k, n in enumerate(order)}
        bad = [u for u in found if not _reads_in_time(place, uses, u)]
        if not bad:
            break
        found.remove(bad[-1])
    for n in (n for u in found for n in u.nodes):
        if isinstance(n, (Kernel, Call)):
            n.final = True
    return order, {u.new: "accumulate" if u.copy else "overwrite" for u in found}


class _Candidates:
    """New values that could be written over the old ones, as far as the statement that writes them goes.

    `alone`: the statement that copies the old value must do nothing else.
    """

    def __init__(self, uses: Uses, alone: bool = True) -> None:
        self.uses, self.alone = uses, alone
        self.known: dict[Node, bool] = {}

    def of(self, pairs: Sequence[tuple[Buf, Buf]]) -> list[InPlace]:
        """Those of some pairs of an old and a new value."""
        return [u for old, new in pairs if (u := self._one(old, new)) is not None]

    def _one(self, old: Buf, new: Buf) -> InPlace | None:
        writers = list(dict.fromkeys(self.uses.writers.get(new, ())))
        copy = writers[0] if len(writers) == 2 and _copies(writers[0], old, new, self.alone) else None
        nodes = tuple(writers[1:] if copy else writers)
        if not nodes or (len(nodes) > 1 and not memory_steps.in_parts(nodes, new)):
            return None
        for node in nodes:
            if node not in self.known:
                self.known[node] = self._fits(node)
        return InPlace(old, new, nodes, copy) if all(map(self.known.__getitem__, nodes)) else None

    def _fits(self, node: Node) -> bool:
        """Whether nobody else reads or writes later what a statement writes, of several variables where loops were
        joined, and it can neither fail nor take long.
        """
        written = [b for b in writes(node) if b.kind not in INSIDE]
        if any(n is not node for b in written for n in self.uses.readers.get(b, ())):
            return False
        for b in written:
            others = [n for n in self.uses.writers[b] if n is not node]
            if self.uses.writers[b][-1] is not node and not memory_steps.in_parts((node, *others), b):
                return False
        return _is_short(node) and not can_fail(node)


def _is_short(node: Node) -> bool:
    """Whether a statement may run without being interrupted: a call, plain loops, or what is known to take no time.

    Loops that are more than plain take whole vectors: of others some compute elements of the last vector again.
    """
    if _is_plain(node):
        return True
    if not isinstance(node, Kernel) or not isinstance(node.node, (Loop, Columns, Tiles)):
        return False
    cost = work([node]).const
    if cost is None or cost > LONGEST // MANY:
        return False
    return all(map(memory_steps.steps_of(node).whole_vectors, {b.dtype for b in writes(node) if b.kind not in INSIDE}))


def _is_plain(node: Node) -> bool:
    return isinstance(node, Call) or (isinstance(node, Kernel) and isinstance(node.node, Loop) and node.node.simd)


def _in_place_last(nodes: list[Node], found: list[InPlace]) -> list[Node]:
    last = {n for u in found for n in u.nodes}
    gone = {u.copy for u in found}
    return [n for n in nodes if n not in last and n not in gone] + [n for n in nodes if n in last]


def _reads_in_time(place: Mapping[Node, int], uses: Uses, u: InPlace) -> bool:
    """Whether the old value is read before it changes, or element by element where it changes."""
    readers = uses.readers.get(u.old, ())
    first = min(place[n] for n in u.nodes)
    if any(place[n] > first for n in readers if n in place and n not in u.nodes):  # a needless copy is in no place
        return False
    return _in_steps(u, readers)


def _in_steps(u: InPlace, readers: Collection[Node]) -> bool:
    """Whether what writes a new value reads only those elements of the old one that it writes over."""
    return all(memory_steps.in_step(n, u.old, u.new) for n in u.nodes if n in readers)


def _copies(node: Node, old: Buf, new: Buf, alone: bool) -> bool:
    """Whether a statement copies one buffer to the other, in plain loops (`alone`: and does nothing else)."""
    inner = [n for n in walk([node]) if not isinstance(n, (Kernel, Loop))]
    stores = [n for n in inner if isinstance(n, Write) and n.buf is new]
    if len(stores) != 1 or stores[0].mode != "set" or (alone and len(inner) != 2):
        return False
    if not isinstance(node, Kernel) or not all(isinstance(n, (Let, Write)) for n in inner):
        return False
    value = stores[0].value
    return value.op.family is LOAD and value.op.params["buf"] is old and value.op.params["offset"] is stores[0].offset


# ---------------------------------------------------------------------- early
@record(frozen=True)
class Early:
    """An order in which new values are written as soon as nothing reads the old ones, and how."""

    order: list[Node]
    modes: dict[Buf, str]
    finals: Collection[Node]  # what writes them


def early_updates(nodes: Sequence[Node], pairs: Sequence[tuple[Buf, Buf]]) -> Early | None:
    """New values written before the end: what they are computed from then dies. None: there are none.

    After the first of them nothing can fail, and nothing is interrupted (`Quiet`): all updates happen, or none.
    """
    uses = Uses(nodes if pairs else ())
    found = _Candidates(uses, alone=False).of(pairs)
    found = [u for u in found if _in_steps(u, uses.readers.get(u.old, ()))]
    finals = {n for u in found for n in u.nodes}
    found = [u for u in found if not any(n in finals and n not in u.nodes for n in uses.readers.get(u.old, ()))]
    if {n for u in found for n in u.nodes} != finals or not found:
        return None
    place = {n: k for k, n in enumerate(nodes)}
    first = _never_fails_from(nodes)
    at = {n: max(place[n], first) for n in finals}
    for u in found:
        read = max([place[n] for n in uses.readers.get(u.old, ()) if n not in u.nodes], default=-1)
        at |= {n: max(at[n], read) for n in u.nodes}
    needless: dict[Node, set[Buf]] = {}
    for u in found:
        if u.copy is not None:
            needless.setdefault(u.copy, set()).add(u.new)
    order: list[Node] = []
    for n in sorted(nodes, key=lambda n: (at.get(n, place[n]), n in finals, place[n])):
        left = _without(n, needless[n]) if n in needless else n
        order += [] if left is None else [left]
    quiet = min(order.index(n) for n in finals)
    order.insert(quiet, Quiet())
    return Early(order, {u.new: "accumulate" if u.copy else "overwrite" for u in found}, finals)


def _never_fails_from(nodes: Sequence[Node]) -> int:
    """The number of the first statement from which on none can fail, and all take little time."""
    left = LONGEST
    for k in range(len(nodes) - 1, -1, -1):
        cost = work([nodes[k]]).const
        if cost is None or cost > left or can_fail(nodes[k]):
            return k + 1
        left -= cost
    return 0


def can_fail(node: Node) -> bool:
    """Whether a statement checks an index, or needs memory that there may be too little of.

    Products do not: their lengths are compared when a call begins (`checked_products`). Nor do routines that find room
    or do without, or loops over such steps: the factors that they pack are read where they are if there is no room.
    """
    if isinstance(node, Repeat):
        return any(map(can_fail, node.body))
    if isinstance(node, Call):
        return node.name not in PRODUCTS
    if isinstance(node, Routine):
        return node.spec.text not in SURE or any(map(can_fail, node.then))
    if not isinstance(node, (Kernel, Let, Write, Quiet)):
        return True
    return any(isinstance(n, Row) or (isinstance(n, Let) and n.term.op.family is INDEX) for n in walk([node]))


def checked_products(nodes: Sequence[Node]) -> Iterator[Call]:
    """The products from the first statement on that writes in place.

    One of lengths that BLAS cannot count must fail before.
    """
    first = next((k for k, n in enumerate(nodes) if getattr(n, "final", False)), len(nodes))
    return (n for n in walk(list(nodes[first:])) if isinstance(n, Call) and n.name in PRODUCTS)


def _without(n: Node, gone: Collection[Buf]) -> Node | None:
    """A statement in plain loops without what it writes to some buffers; None if nothing is left."""
    if isinstance(n, Kernel):
        inner = _without(n.node, gone)
        return None if inner is None else replace(n, node=inner)
    if isinstance(n, Write):
        return None if n.buf in gone else n
    if not isinstance(n, Loop):
        return n
    body = [left for x in n.body if (left := _without(x, gone)) is not None]
    read = {t for x in walk(body) for t in _reads(x)}
    body = [x for x in body if not isinstance(x, Let) or x.term in read]
    return replace(n, body=body) if body else None


def _reads(n: Node) -> Sequence[object]:
    if isinstance(n, Let):
        offset = n.term.op.params["offset"] if n.term.op.family is LOAD else None
        return (*operands_of(n.term), *(values(offset) if offset is not None else ()))
    return (n.value, *values(n.offset)) if isinstance(n, Write) else ()
