"""Loops after products of matrices: their result takes the place of the product, and a batch is finished item by item.

Read off the loop tree after scheduling; no term is rewritten for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from termgraph._records import replace
from termgraph.lower.lengths.index import less, nonneg
from termgraph.lower.loops.tree import Call, Kernel, Let, Loop, Node, Write, walk
from termgraph.lower.memory.plan import Uses, changed, loads
from termgraph.lower.push.kernel import Buf


def finish_products(
    nodes: Sequence[Node], temps: Collection[Buf], fixed: Collection[Buf]
) -> tuple[list[Node], dict[Buf, Buf]]:
    """The tree with batches finished item by item, and the outputs whose room products use (product -> output).

    `fixed` are outputs that have a place of their own already, such as new values of shared variables.
    """
    out = dict.fromkeys(nodes)
    uses = Uses(nodes)
    shared: dict[Buf, Buf] = {}
    temps, taken = set(temps), set(fixed)
    place = {n: k for k, n in enumerate(nodes)}

    def between(call: Node, kernel: Node) -> Iterator[bool]:
        """Which statements write a new value over an old one, which the product may read."""
        return (getattr(n, "final", False) for n in nodes[place[call] : place[kernel]])

    for call in nodes:
        if not isinstance(call, Call) or call.buf not in temps or call.options["beta"]:
            continue
        users = uses.others(call.buf, call)
        kernel = users[0] if len(users) == 1 else None
        if not isinstance(kernel, Kernel) or not isinstance(kernel.node, Loop) or kernel.final:
            continue
        room = place_of_result(kernel, call.buf, uses, taken)
        if room is not None:
            shared[call.buf] = room
            taken.add(room)
        if _item_by_item(kernel, call) and not any(between(call, kernel)):
            inner = replace(call, options={**call.options, "around": 1})
            kernel.node.body.insert(0, inner)
            changed(kernel)
            del out[call]
    return list(out), shared


def place_of_result(
    kernel: Kernel, product: Buf, uses: Uses, taken: Collection[Buf], kinds: Collection[str] = ("output",)
) -> Buf | None:
    """A buffer of these kinds that is written element by element where the product is read for the last time."""
    for write in [n for n in walk([kernel]) if isinstance(n, Write)]:
        new = write.buf
        alike = new.kind in kinds and (new.dtype, new.shape) == (product.dtype, product.shape)
        if not alike or new in taken or write.mode != "set" or len(uses.writers[new]) != 1:
            continue
        if new in uses.readers and (new.kind == "output" or any(b is new for b, _ in loads(kernel))):
            continue
        if all(p is write.offset for b, p in loads(kernel) if b is product) and _read_before(kernel, product, write):
            return new
    return None


def _read_before(kernel: Kernel, product: Buf, write: Write) -> bool:
    """Whether no statement after the write, in the order of the text, reads the product."""
    order = list(walk([kernel]))
    return not any(b is product for n in order[order.index(write) :] if isinstance(n, Let) for b, _ in loads(n))


def _item_by_item(kernel: Kernel, call: Call) -> bool:
    """Whether each iteration of the loop reads one item of the batch, its own."""
    if not call.options["batch"]:
        return False
    var, step = call.options["batch"][0]
    if kernel.node.var is not var or kernel.node.simd:
        return False
    offsets = [p for b, p in loads(kernel) if b is call.buf]
    rests = [p - step * var for p in offsets]
    return all(var not in r.fv and nonneg(r) and less(r, step) for r in rests)
