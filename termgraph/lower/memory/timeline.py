"""The memory of one call as a table and as a picture over time: which array is alive when, and in which room it lies.

Read off a plan whose lengths have become numbers. May import this package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape

import numpy as np

from termgraph._records import NamedTuple, record
from termgraph.lower.lengths.index import Poly, evaluate, product
from termgraph.lower.loops.tree import Call, Compound, Kernel, Node
from termgraph.lower.memory.plan import Life, Rooms, lives_of, loads, writes
from termgraph.lower.push.kernel import Buf

WIDTH, HEIGHT = 640, 240  # of the picture
MOST_ROWS = 40
COLORS = {"temporary": "#7aa6da", "result": "#8cc084", "in a loop": "#d9b36c"}


class Array(NamedTuple):
    """One array that a call makes, alive from instruction `first` to `last`. Without a `room` it has its own memory.

    What is computed twice, for a `memory_limit`, is there twice.
    """

    name: str
    kind: str  # result, temporary, or "in a loop": what a step of a loop keeps for itself
    what: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    first: int
    last: int
    room: int | None
    host: str | None = None  # the result in whose memory it lies, before that is written
    offset: int = 0  # bytes from where its room begins


@record(frozen=True)
class MemoryPlan:
    """What a call of a function holds beside its arguments; `steps` are the instructions in their order.

    `print(plan)` shows a table, a notebook a picture over time.
    """

    title: str
    steps: tuple[str, ...]
    arrays: tuple[Array, ...]
    rooms: tuple[int, ...]  # bytes
    kept: str = ""  # what `storage=` keeps in 16 bits, in words

    @property
    def results(self) -> int:
        """The bytes of all results; there is room for them from the beginning."""
        return sum(a.nbytes for a in self.arrays if a.kind == "result")

    @property
    def temporaries(self) -> int:
        """The bytes of all rooms, in which the other arrays lie one after the other, or where there is a gap."""
        return sum(self.rooms)

    @property
    def peak(self) -> int:
        """The most bytes that a call holds."""
        return self.results + self.temporaries

    @property
    def alive(self) -> tuple[int, ...]:
        """For each instruction the bytes of the arrays that are alive: written, and still to be read."""
        change = np.zeros(len(self.steps) + 1, np.int64)
        for a in self.arrays:
            change[a.first] += a.nbytes
            change[a.last + 1] -= a.nbytes
        return tuple(np.cumsum(change[:-1]).tolist())

    @property
    def busiest(self) -> int:
        """The number of the instruction in which most is alive."""
        return int(np.argmax(self.alive)) if self.steps else 0

    def __str__(self) -> str:
        apart = sum(a.nbytes for a in self.arrays if a.kind != "result")
        lines = [
            f"{self.title}: a call holds {in_bytes(self.peak)} beside its arguments",
            f"results {in_bytes(self.results)}; temporaries {in_bytes(self.temporaries)} in {len(self.rooms)} rooms "
            f"and in results that are written later, {in_bytes(apart)} if each had its own",
        ]
        lines += [self.kept] if self.kept else []
        if not self.steps:
            return "\n".join(lines)
        lines.append(
            f"most is alive in instruction {self.busiest}, {self.steps[self.busiest]}: "
            f"{in_bytes(self.alive[self.busiest])} (marked *)"
        )
        shown = sorted(self.arrays, key=lambda a: (-a.nbytes, a.first, a.name))
        rooms = [
            a.host or ("-" if a.room is None else f"{a.room}+{a.offset}" if a.offset else str(a.room)) for a in shown
        ]
        wide = max(map(len, ["room ", *rooms[:MOST_ROWS]]))
        lines.append(f"  {'bytes':>12}  {'alive':>11}  {'room':>{wide}}  array")
        for a, room in zip(shown[:MOST_ROWS], rooms):
            mark = "*" if a.first <= self.busiest <= a.last else " "
            lengths = " x ".join(map(str, a.shape)) or "number"
            lines.append(
                f"{mark} {a.nbytes:>12}  {f'{a.first}-{a.last}':>11}  {room:>{wide}}  "
                f"{a.kind} {a.name}: {a.what} ({a.dtype}, {lengths})"
            )
        if len(shown) > MOST_ROWS:
            lines.append(f"  ... and {len(shown) - MOST_ROWS} smaller ones")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<memory of {self.title}: {in_bytes(self.peak)} in {len(self.steps)} instructions>"

    def svg(self) -> str:
        """A picture: time from left to right, a box for each array, as high as it is large; rooms lie on each other."""
        count, total = max(1, len(self.steps)), max(1, self.peak)
        at = dict(zip(range(len(self.rooms)), np.cumsum([0, *self.rooms]).tolist()))
        top, boxes, places = self.temporaries, [], {}
        for a in self.arrays:
            if a.kind == "result":
                places[a.name] = top
                top += a.nbytes
        for a in sorted(self.arrays, key=lambda a: a.host is not None):
            low = places[a.host or a.name] if a.room is None else at[a.room] + a.offset
            x, y = a.first / count * WIDTH, HEIGHT - (low + a.nbytes) / total * HEIGHT
            wide, high = (a.last + 1 - a.first) / count * WIDTH, a.nbytes / total * HEIGHT
            note = f"{a.kind} {a.name}: {a.what}, {in_bytes(a.nbytes)}, instructions {a.first} to {a.last}"
            boxes.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{high:.1f}" fill="{COLORS[a.kind]}" '
                f'stroke="#fff" stroke-width="0.5"><title>{escape(note)}</title></rect>'
            )
        points = " ".join(
            f"{x / count * WIDTH:.1f},{HEIGHT - n / total * HEIGHT:.1f}"
            for k, n in enumerate(self.alive) for x in (k, k + 1)
        )  # fmt: skip
        line = f'<polyline points="{points}" fill="none" stroke="#b33" stroke-width="1"/>'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
            f'style="max-width:100%;height:auto" role="img" aria-label="memory over time">{"".join(boxes)}{line}</svg>'
        )

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        legend = "boxes are arrays over time (blue: temporaries, green: results); red: what is alive in all"
        table = f"<pre style='overflow-x:auto'>{escape(str(self))}</pre>"
        return f"{self.svg()}<div style='opacity:.7;font-size:85%'>{legend}</div>{table}"


def memory_plan(
    title: str, nodes: Sequence[Node], names: Sequence[str], places: Rooms, results: Sequence[Buf],
    what: Mapping[Buf, str], env: Mapping[str, int], kept: Callable[[Sequence[Array]], str],
) -> MemoryPlan:  # fmt: skip
    """The plan of a scheduled tree. `names` are its instructions', `env` has the lengths of arguments by their symbols.

    `kept` says in words what of the arrays is kept in 16 bits. KeyError if a length is missing.
    """
    steps = [n for n in nodes if isinstance(n, (Kernel, Call, Compound))]
    inside: dict[Node, list[Buf]] = {n: [b for r in n.rooms for b in r] for n in steps if isinstance(n, Compound)}
    lives = lives_of(steps, lambda n: [*writes(n), *inside.get(n, ())], lambda n: [b for b, _ in loads(n)])
    filled_again = {place: b for b, each in places.later.items() for place in each}
    for b, each in places.later.items():
        first, *others = lives[b]
        lives |= {b: [first], **{place: [life] for place, life in zip(each, others)}}
    numbers: dict[Poly, int] = {}

    def number(p: Poly) -> int:
        if p not in numbers:
            numbers[p] = evaluate(p, env)
        return numbers[p]

    begins: dict[Buf, set[int]] = {}  # when something is written over what lies there
    for b, at in places.over.items():
        begins.setdefault(at, set()).update(life.first for life in lives.get(b, ()))

    def arrays(b: Buf, kind: str, room: int | None) -> list[Array]:
        each = lives.get(b, [Life(0, 0)])
        over = begins.get(places.over.get(b, b), ())
        each = [Life(x.first, x.last - 1) if x.first < x.last and x.last in over else x for x in each]
        each = [Life(each[0].first, max(len(steps) - 1, 0))] if kind == "result" else each
        shape = tuple([number(n) for n in b.shape])
        nbytes = number(product(b.shape)) * np.dtype(b.dtype).itemsize
        host = places.guests[b].name if b in places.guests else None
        apart = places.offsets.get(b, 0)
        it = filled_again.get(b, b)
        return [Array(it.name, kind, what.get(it, ""), b.dtype, shape, nbytes, *x, room, host, apart) for x in each]

    own = {r[0] for n in steps if isinstance(n, Compound) for r in n.rooms}
    found = [
        a
        for k, room in enumerate(places.rooms)
        for b in room
        for a in arrays(b, "in a loop" if filled_again.get(b, b) in own or b not in lives else "temporary", k)
    ]
    sizes = [max([a.offset + a.nbytes for a in found if a.room == k], default=0) for k in range(len(places.rooms))]
    found += [a for b in places.guests for a in arrays(b, "temporary", None)]
    found += [a for b in results for a in arrays(b, "result", None)]
    return MemoryPlan(title, tuple(names), tuple(found), tuple(sizes), kept(found))


def in_bytes(n: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if n >= size:
            return f"{n / size:.3g} {unit}"
    return f"{n} bytes"
