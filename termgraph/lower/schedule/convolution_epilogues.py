"""Element-wise loops after convolutions: the routine runs them over each image as soon as that is there.

What it has computed is read while it is in a cache, and the loop's result takes its place where nothing else reads it.
Read off the loop tree after scheduling; no term is rewritten for it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from termgraph._records import replace
from termgraph.lower.lengths.index import ONE, ZERO, Poly, Var, divide, less, nonneg, product
from termgraph.lower.loops.tree import Branch, Kernel, Let, Loop, Node, Quiet, Routine, Write, walk
from termgraph.lower.memory.plan import Uses, loads, writes
from termgraph.lower.push.kernel import Buf
from termgraph.lower.schedule.product_epilogues import place_of_result
from termgraph.terms.traverse import grouped

WITH_KERNEL = ("conv_panels", "conv_spread", "conv_winograd")


def finish_convolutions(
    nodes: Sequence[Node], temps: Collection[Buf], fixed: Collection[Buf]
) -> tuple[list[Node], dict[Buf, Buf]]:
    """The tree with loops inside of the convolutions before them, and which results these have room in.

    `fixed` are outputs that have a place of their own already.
    """
    results = {n.bufs[0] for n in nodes if isinstance(n, Routine) and _fits(n, temps)}
    order = [part for n in nodes for part in _apart(n, results)] if results else list(nodes)
    uses, taken = Uses(order), set(fixed)
    shared: dict[Buf, Buf] = {}
    for k in reversed(range(len(order))):  # a loop that reads several convolutions follows on the last one
        conv = order[k]
        if not isinstance(conv, Routine) or not _fits(conv, temps):
            continue
        found = _follower(order, k, uses)
        if found is None:
            continue
        at, kernel = found
        kernel.piecewise = True
        result, alone = conv.bufs[0], len(uses.readers[conv.bufs[0]]) == 1
        room = place_of_result(kernel, result, uses, taken, ("output", "temp")) if alone else None
        if room is not None:
            shared[result] = room
            taken.add(room)
        order[at] = replace(conv, then=[kernel], bufs=conv.bufs if room is None else ())
        del order[k]
    return order, shared


def _fits(n: Routine, temps: Collection[Buf]) -> bool:
    """Whether a routine is a convolution that may run a loop."""
    return n.spec.text in WITH_KERNEL and n.bufs[0] in temps


def _apart(n: Node, results: Collection[Buf]) -> list[Node]:
    """A loop whose parts read several convolutions as a loop for each of these."""
    if not isinstance(n, Kernel) or not isinstance(n.node, Loop) or not all(isinstance(m, Loop) for m in n.node.body):
        return [n]
    groups = grouped((frozenset([b for b, _ in loads(part) if b in results]), part) for part in n.node.body)
    if len(groups) < 2:
        return [n]
    made = [replace(n, node=replace(n.node, body=parts)) for parts in groups.values()]
    read = [{b for b, _ in loads(k)} for k in made]
    apart = all(not {*writes(k)} & read[j] for i, k in enumerate(made) for j in range(len(made)) if i != j)
    return list(made) if apart and _only_sets(n) else [n]


def _only_sets(n: Node) -> bool:
    """Whether no element is added to."""
    return all(m.mode == "set" for m in walk([n]) if isinstance(m, Write))


def _follower(order: Sequence[Node], k: int, uses: Uses) -> tuple[int, Kernel] | None:
    """The loop that the convolution at place k may run, and its place."""
    conv = order[k]
    assert isinstance(conv, Routine)
    result = conv.bufs[0]
    for at in range(k + 1, len(order)):
        n = order[at]
        if isinstance(n, Quiet) or getattr(n, "final", False):
            return None
        if any(b is result for b, _ in loads(n)):
            fits = isinstance(n, Kernel) and len(uses.writers[result]) == 1 and _by_images(n, conv)
            return (at, n) if fits and isinstance(n, Kernel) else None
        if result in writes(n) or {*writes(n)} & {b for b, _ in loads(conv)}:
            return None
    return None


def _by_images(kernel: Kernel, conv: Routine) -> bool:
    """Whether a loop is element-wise, and each image of the result is read by iterations of its own."""
    loop = kernel.node
    if not isinstance(loop, Loop) or not kernel.at_once or loop.serial:
        return False
    if not all(isinstance(n, (Loop, Let, Write, Branch)) for n in walk([loop])) or not _only_sets(loop):
        return False
    items, image = items_of(kernel, conv), product(conv.bufs[0].shape[1:])
    step, left = (None, None) if items is None else divide(image, items)
    if step is None or left is not ZERO:
        return False
    return all(_own(p, step, loop, conv.bufs[0]) for b, p in loads(kernel) if b is conv.bufs[0])


def items_of(kernel: Kernel, conv: Routine) -> Poly | None:
    """How many iterations of a loop are those of an image; None: it is not known that they are equally many."""
    extent, images = kernel.node.var.extent, conv.sizes["batch"]
    if extent is images or not images.const:
        return ONE if extent is images else None
    items, rest = divide(extent, images)
    return items if rest is ZERO and items is not ZERO else None


def _own(offset: Poly, step: Poly, loop: Loop, result: Buf) -> bool:
    """Whether each iteration reads its own item."""
    rest = offset - step * loop.var
    if loop.var in rest.fv:
        return False
    if nonneg(rest) and less(rest, step):
        return True
    for d in range(1, len(result.shape)):  # an index for each dimension: proofs do not know how such lengths multiply
        each = product(result.shape[d + 1 :])
        fits = [v for v in rest.fv if isinstance(v, Var) and v.extent is result.shape[d]]
        rest = next((r for v in fits if v not in (r := rest - each * v).fv), rest)
    return rest is ZERO and step is product(result.shape[1:])
