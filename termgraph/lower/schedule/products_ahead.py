"""Products before a loop that only its steps read, made in the loop for a few steps at a time.

What was one large array is then a small one that stays in the cache. Read off the loop tree after scheduling; no term
is rewritten for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from termgraph._records import replace
from termgraph.lower.lengths.index import ZERO, poly
from termgraph.lower.loops.tree import Ahead, Call, Node, Repeat
from termgraph.lower.memory.plan import Uses
from termgraph.lower.push.kernel import Buf

ROWS = 96  # of the left factor at once: the right one is read anew for every block of them


def products_ahead(
    nodes: Sequence[Node], temps: Collection[Buf], wanted: Callable[[Repeat, Call], bool]
) -> tuple[list[Node], set[Buf]]:
    """The tree with products moved into the loops that read them, and the temporaries that are no more.

    `wanted` tells of a loop and the product of one of its steps whether the backend likes it so.
    """
    out: dict[Node, Node | None] = {n: n for n in nodes}  # what has become of each
    gone: set[Buf] = set()
    uses: Uses | None = None
    for call in nodes:
        if not isinstance(call, Call) or call.name != "gemm" or call.buf not in temps:
            continue
        if call.options["beta"] or call.options["batch"]:
            continue
        uses = uses or Uses(nodes)
        users = uses.others(call.buf, call)
        loop = out[users[0]] if len(users) == 1 else None
        made = _ahead(loop, call) if isinstance(loop, Repeat) else None
        if isinstance(loop, Repeat) and made is not None and wanted(loop, made.product):
            out[call], out[users[0]] = None, _with(loop, made)
            gone.add(call.buf)
    return [n for n in out.values() if n is not None], gone


def _ahead(loop: Repeat, call: Call) -> Ahead | None:
    """How the loop could make a product it reads; None if it does not read it step by step, one after the other."""
    reads = [leaf for leaf in loop.leaves if leaf[1] is call.buf]
    if len(reads) != 1 or any(c.init[0] is call.buf for c in loop.all_carries()):
        return None
    leaf, _, offset, step = reads[0]
    (left, at, (row, column)), right = call.operands
    total, columns, inner = call.sizes
    if len(leaf.shape) != 2 or leaf.strides is not None or leaf.shape[1] is not columns:
        return None
    rows = leaf.shape[0]
    if not rows.const:
        return None
    if step is rows * columns and offset is ZERO:
        move = rows * row
    elif step is poly(0) - rows * columns and offset is (total - rows) * columns:  # the last step first
        at, move = at + (total - rows) * row, poly(0) - rows * row
    else:
        return None
    steps = -(-ROWS // rows.const)
    buf = Buf(f"{call.buf.name}_ahead", leaf.dtype, (poly(steps), rows, columns), "temp")
    product = replace(call, buf=leaf, operands=[(left, at, (row, column)), right], sizes=(rows, columns, inner))
    return Ahead(leaf, buf, steps, product, move)


def _with(loop: Repeat, made: Ahead) -> Repeat:
    leaves = [leaf for leaf in loop.leaves if leaf[0] is not made.leaf]
    return replace(loop, leaves=leaves, rooms=[*loop.rooms, [made.buf]], ahead=[*loop.ahead, made])
