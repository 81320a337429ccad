"""New values of variables that are made in a temporary, and copied over the old ones when nothing reads these any more.

For those that no statement writes in place: a loop that also computes what is read later, sums, a batch norm's scale.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from termgraph._records import NamedTuple, replace
from termgraph.lower.lengths.index import Var, poly, product
from termgraph.lower.loops.tree import Call, Kernel, Let, Loop, Node, Tiles, Write
from termgraph.lower.memory.plan import Uses
from termgraph.lower.memory.updates import Early, early_updates
from termgraph.lower.push.kernel import LOAD, Buf
from termgraph.lower.schedule.cost import work
from termgraph.terms.term import mk

SHARE = 50  # copies are at most that part of all work
STEP = 100  # work of a copy beside its elements
LOWER = 10  # they are taken if a call holds less by more than a share of that: each is a step more


class SetAside(NamedTuple):
    """A tree that makes some new values in temporaries, with a copy of each behind it, and these temporaries."""

    nodes: list[Node]
    temps: list[Buf]


def early_orders(nodes: Sequence[Node], pairs: Sequence[tuple[Buf, Buf]]) -> Iterator[tuple[Early, list[Buf]]]:
    """Trees in which new values are written over the old ones before the end, with temporaries that are new."""
    early = early_updates(nodes, pairs)
    if early is not None:
        yield early, []
    if early is None or len(early.modes) < len(pairs):
        apart = set_aside(nodes, pairs, early.modes if early is not None else ())
        early = early_updates(apart.nodes, pairs) if apart is not None else None
        if apart is not None and early is not None:
            yield early, apart.temps


def set_aside(nodes: Sequence[Node], pairs: Sequence[tuple[Buf, Buf]], written: Collection[Buf]) -> SetAside | None:
    """The tree with all new values set aside but those that are `written` in place; None where copies cost too much."""
    uses = Uses(nodes)
    temps: dict[Buf, Buf] = {}
    for _, new in pairs:
        writers = uses.writers.get(new, ())
        plain = writers and all(isinstance(n, (Kernel, Call, Write)) for n in writers)
        if plain and new not in written and new.strides is None and new not in uses.readers:
            temps[new] = Buf(f"{new.name}_new", new.dtype, new.shape, "temp")
    copies: dict[Node, list[Kernel]] = {uses.writers[new][-1]: [] for new in temps}
    for new, to in temps.items():
        copies[uses.writers[new][-1]].append(_copy(to, new))
    share, whole = work([c for each in copies.values() for c in each]).const, work(nodes).const
    if not copies or share is None or whole is None or (share + STEP * len(temps)) * SHARE > whole:
        return None
    changed = {n for new in temps for n in uses.writers[new]}
    kept = [x for n in nodes for x in (_elsewhere(n, temps) if n in changed else n, *copies.get(n, ()))]
    return SetAside(kept, list(temps.values()))


def _copy(source: Buf, to: Buf) -> Kernel:
    var = Var(0, product(to.shape))
    element = mk(LOAD.bind(buf=source, offset=poly(var)), ())
    return Kernel(Loop(var, [Let(element), Write(to, poly(var), element)], simd=True))


def _elsewhere(n: Node, temps: Mapping[Buf, Buf]) -> Node:
    """A statement that writes to other buffers."""
    if isinstance(n, (Write, Call)):
        return replace(n, buf=temps.get(n.buf, n.buf))
    if isinstance(n, Kernel):
        return replace(n, node=_elsewhere(n.node, temps))
    if isinstance(n, Tiles):
        return replace(n, parts=[[_elsewhere(x, temps) for x in part] for part in n.parts])
    return (
        replace(n, **{name: [_elsewhere(x, temps) for x in getattr(n, name)] for name in n.inside}) if n.inside else n
    )
