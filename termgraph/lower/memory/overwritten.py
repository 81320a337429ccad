"""Arrays that are written over an operand which their statement reads for the last time, element by element.

Both lie in one place then, and what a call holds is less by one of them while the statement runs. Read off the tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from termgraph._lazy import lazy
from termgraph._records import NamedTuple
from termgraph.lower.loops.tree import Kernel, Loop, Node, Write, walk
from termgraph.lower.memory.plan import Life
from termgraph.lower.push.kernel import Buf

memory_steps = lazy("termgraph.lower.memory.steps")
Lives = Mapping[Buf, Sequence[Life]]


class Over(NamedTuple):
    """`new` may be written over `old`."""

    old: Buf
    new: Buf


def may_be(node: Node, read: Sequence[Buf], written: Sequence[Buf], sizes: Mapping[Buf, int]) -> list[Over]:
    """Which of the arrays that a statement writes may lie where one lies that it reads; each of them once.

    Its innermost loops must take whole vectors: elsewhere they compute some elements of the last one again.
    """
    if not isinstance(node, Kernel) or not isinstance(node.node, Loop):
        return []
    found: list[Over] = []
    steps = memory_steps.steps_of(node)
    for new in written:
        if not steps.whole_vectors(new.dtype):
            continue
        stores = [n for n in walk([node]) if isinstance(n, Write) and n.buf is new]
        if len(stores) != 1 or stores[0].mode != "set" or new.strides is not None:
            continue
        for old in read:
            alike = old.dtype == new.dtype and sizes.get(old) == sizes.get(new) and old.strides is None
            if alike and old not in written and steps.in_place(old, new):
                found.append(Over(old, new))
    return found


def ends_there(over: Over, lives: Lives, at: int) -> bool:
    """Whether the old array is not needed after statement `at`, which fills the new one; so whenever it runs."""
    old, new = lives.get(over.old, ()), lives.get(over.new, ())
    ends = {x.last for x in old}
    return any(x.first == at for x in new) and all(x.first in ends for x in new) and not _meet(old, new, ends)


def _meet(old: Iterable[Life], new: Iterable[Life], ends: Iterable[int]) -> bool:
    """Whether two arrays are alive together, other than where one ends as the other begins."""
    return any(
        x.first <= y.last and y.first <= x.last and not (x.last == y.first and x.last in ends) for x in old for y in new
    )


def joined(lives: Lives, pairs: Iterable[Over]) -> tuple[dict[Buf, Buf], dict[Buf, list[Life]]]:
    """Arrays that lie where another one does, by these, which are in none themselves; and when each place is taken."""
    taken = {b: list(each) for b, each in lives.items()}
    place: dict[Buf, Buf] = {}
    for old, new in pairs:
        at = place.get(old, old)
        ends = {x.first for x in lives[new]}
        if new in place or new in place.values() or _meet(taken[at], lives[new], ends):
            continue
        place[new] = at
        both: list[Life] = []
        for life in sorted([*taken[at], *lives[new]]):
            if both and life.first <= both[-1].last:
                both[-1] = Life(both[-1].first, max(both[-1].last, life.last))
            else:
                both.append(life)
        taken[at] = both
    return place, taken
