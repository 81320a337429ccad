"""The loop tree: what is computed in which loop, as small objects that backends walk and people can print.

Nodes name kernel terms; a `Let` fixes the place where a term is computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any, ClassVar

from termgraph._records import record
from termgraph.lower.lengths.checks import When
from termgraph.lower.lengths.index import ZERO, Poly, Var
from termgraph.lower.push.kernel import Buf


@record(eq=False)
class Node:
    """A statement of a loop tree. `inside` names the fields that are lists of statements."""

    inside: ClassVar[tuple[str, ...]] = ()

    def children(self) -> Sequence[list[Node]]:
        """The statement lists inside."""
        return [getattr(self, name) for name in self.inside]


@record(eq=False)
class Let(Node):
    """Compute a term here; or, with `stored`, read back the value that was kept there."""

    term: Any
    stored: tuple[Buf, Poly] | None = None


@record(eq=False)
class Write(Node):
    """Store a value, or join it with what is there: SIGNS has the modes."""

    buf: Buf
    offset: Poly
    value: Any
    mode: str = "set"


@record(eq=False)
class Accumulate(Node):
    """One step of a fold."""

    fold: Any


@record(eq=False)
class Loop(Node):
    """All iterations of a variable. `simd`: they are independent and straight-line. `serial`: they run in order."""

    inside = ("body",)
    var: Var
    body: list[Node]
    simd: bool = False
    serial: bool = False


@record(eq=False)
class Reduce(Node):
    """A loop whose results are its folds. With `lanes` the folds keep that many partial results side by side."""

    inside = ("body",)
    var: Var
    folds: list[Any]
    body: list[Node]
    lanes: int = 0


@record(eq=False)
class Sweep(Node):
    """Inside `Columns`: one inner loop (or none) over all lanes. `outer` is computed once per iteration."""

    inside = ("outer", "body")
    var: Var | None
    folds: list[Any]
    outer: list[Node]
    body: list[Node]


@record(eq=False)
class Columns(Node):
    """A loop in blocks of `width` lanes; inner loops run over rows with the lanes inside: loads are contiguous."""

    inside = ("body",)
    var: Var
    width: int
    body: list[Sweep]


@record(eq=False)
class Branch(Node):
    """A lazy choice: the term is one of two values, and only that one is computed."""

    inside = ("then", "orelse")
    term: Any
    then: list[Node]
    orelse: list[Node]


@record(eq=False)
class Row(Node):
    """Room that lives as long as the loop around it."""

    buf: Buf
    length: Poly


@record(eq=False)
class Tiles(Node):
    """A long straight-line loop, cut into parts that run one after the other over blocks of `width` elements.

    `slots` are the buffers that carry values from part to part.
    """

    var: Var
    width: int
    parts: list[list[Node]]
    slots: list[Buf]

    def children(self) -> Sequence[list[Node]]:
        return self.parts


class RowTiles(Tiles):
    """Rows in blocks: loops inside the rows first, then what follows from their results, for all rows of a block."""


@record(eq=False)
class Kernel(Node):
    """An outermost loop: a function over a range of its variable, whose parts may run on several threads."""

    node: Any
    parallel: bool = True
    final: bool = False  # writes in place: must not be interrupted
    piecewise: bool = False  # run by a routine, over one piece of its range at a time
    meets: bool = False  # iterations of its inner loops may write to one place

    @property
    def at_once(self) -> bool:
        """Whether iterations of all its loops may run at one time."""
        return self.parallel and not self.meets

    def children(self) -> Sequence[list[Node]]:
        return [[self.node]]


@record(eq=False)
class Call(Node):
    """A library call. `operands` are buffers with an offset and strides, `sizes` the lengths it needs."""

    name: str
    buf: Buf
    operands: list[tuple[Buf, Poly, tuple[Poly, ...]]]
    sizes: tuple[Poly, ...]
    rank: int = 0
    final: bool = False
    options: dict[str, Any] = field(default_factory=dict)


@record(eq=False)
class Quiet(Node):
    """From here on nothing is interrupted, because new values are written over old ones."""


@record(eq=False)
class Carried:
    """A value that goes from step to step: the body reads it as `leaf`, which begins as the operand `init`.

    After a step the leaf is where `next` is: a buffer the body has written, or another carry's leaf.
    """

    leaf: Buf
    init: tuple[Buf, Poly]
    next: Buf


@record(eq=False)
class Rows:
    """Where the body writes `target` in step t: row t of `buf`, or row t % `ring` of it."""

    target: Buf
    buf: Buf
    ring: int | None


@record(eq=False)
class Ahead:
    """A product made for `steps` steps at once: row t of `leaf` is row t % steps of `buf`.

    `product` is that of one step. Its left factor is where it says in the first step, and moves by `step` each time.
    """

    leaf: Buf
    buf: Buf
    steps: int
    product: Call
    step: Poly


class Compound(Node):
    """A statement with trees of its own: `bufs` are its results, `rooms` its temporaries by the room they share."""

    bufs: tuple[Buf, ...]
    rooms: list[list[Buf]]
    consts: dict[Any, Buf]

    def operands(self) -> list[tuple[Buf, Poly]]:
        """What is read of the rest of the program."""
        raise NotImplementedError


@record(eq=False)
class Choice(Compound):
    """One of two trees is run; both write the same results. `when` says on which conditions there are temporaries."""

    inside = ("then", "orelse")
    condition: Any
    then: list[Node]
    orelse: list[Node]
    reads: tuple[Buf, ...]
    bufs: tuple[Buf, ...]
    rooms: list[list[Buf]]
    consts: dict[Any, Buf]
    when: dict[Buf, When]
    rank: int = 0

    def operands(self) -> list[tuple[Buf, Poly]]:
        return [(b, ZERO) for b in self.reads]


@record(eq=False)
class Repeat(Compound):
    """The steps of a loop, one after the other. `leaves` are (leaf, operand, offset, distance from step to step).

    `copies` are made after the last step (what is read, to where, elements). `kept` are carries updated in place: leaf,
    what the body writes, and the buffer that is both. `stop` ends the loop, `made` counts the steps.
    """

    inside = ("body",)
    steps: Poly
    body: list[Node]
    leaves: list[tuple[Buf, Buf, Poly, Poly]]
    carries: list[Carried]
    rows: list[Rows]
    kept: list[tuple[Carried, Buf]]
    copies: list[tuple[Buf, Buf, Poly]]
    stop: Buf | None
    made: Buf | None
    rooms: list[list[Buf]]
    consts: dict[Any, Buf]
    bufs: tuple[Buf, ...] = ()  # what the rest of the program reads
    rank: int = 0
    title: str = ""  # what people call it
    ahead: list[Ahead] = field(default_factory=list)

    def operands(self) -> list[tuple[Buf, Poly]]:
        early = [(b, offset) for a in self.ahead for b, offset, _ in a.product.operands]
        return [(b, offset) for _, b, offset, _ in self.leaves] + [c.init for c in self.all_carries()] + early

    def all_carries(self) -> list[Carried]:
        """Those updated in place included."""
        return [*self.carries, *[c for c, _ in self.kept]]


@record(eq=False)
class Place:
    """Where an operand of a routine lies: its distances, in elements, over batches and over what is worked on."""

    buf: Buf
    base: Poly
    batch: tuple[Poly, ...]
    core: tuple[Poly, ...]


@record(eq=False)
class Routine(Compound):
    """A compiled routine, repeated over `batch`. `sizes` are the lengths it works on, by the names in its `spec`.

    `sites` are what is reported if it fails, and if an operand is not finite. Results that nobody reads are in `rooms`.
    `then` is a kernel that the routine runs over an item of the result as soon as that is there.
    """

    inside = ("then",)
    term: Any
    spec: Any
    batch: tuple[Poly, ...]
    sizes: dict[str, Poly]
    reads: list[Place]
    results: list[Place]
    bufs: tuple[Buf, ...]
    sites: list[int]
    rooms: list[list[Buf]]
    consts: dict[Any, Buf] = field(default_factory=dict)
    rank: int = 0
    then: list[Node] = field(default_factory=list)

    def operands(self) -> list[tuple[Buf, Poly]]:
        return [(x.buf, x.base) for x in self.reads]


SIGNS = {"set": "=", "add": "+=", "mul": "*=", "max": "max=", "min": "min="}  # how a store changes an element
LEAVES = frozenset((Let, Write, Accumulate, Call))  # statements without others inside: most of them


def walk(nodes: list[Node]) -> Iterator[Node]:
    """All nodes, outer ones first."""
    stack = list(reversed(nodes))
    while stack:
        n = stack.pop()
        yield n
        if n.__class__ not in LEAVES:
            for body in reversed(n.children()):
                stack.extend(reversed(body))


def count(nodes: Iterable[Node]) -> int:
    """How many nodes there are."""
    found, stack = 0, list(nodes)
    while stack:
        found += len(stack)
        stack = [m for n in stack if n.__class__ not in LEAVES for body in n.children() for m in body]
    return found


def loops_of(nodes: list[Node]) -> list[Node]:
    """The loops at the top of a tree: what the five row chains have exactly one of."""
    return [n for n in nodes if isinstance(n, Kernel)]


def show(nodes: list[Node], indent: str = "") -> str:
    """The tree as text."""
    lines: list[str] = []
    _show(nodes, indent, lines)
    return "\n".join(lines)


def moving_places(nodes: Sequence[Node]) -> list[Buf]:
    """The buffers inside loops, whose place differs from step to step."""
    out: dict[Buf, None] = {}
    for n in walk([n for n in nodes if not isinstance(n, Kernel)]):  # a loop over steps is in no kernel
        if isinstance(n, Repeat):
            out.update(dict.fromkeys(leaf for leaf, *_ in n.leaves))
            out.update(dict.fromkeys(c.leaf for c in n.all_carries()))
            out.update(dict.fromkeys(c.next for c, _ in n.kept))
            out.update(dict.fromkeys(r.target for r in n.rows))
            out.update(dict.fromkeys(a.leaf for a in n.ahead))
    return list(out)


def _show(nodes: list[Node], indent: str, lines: list[str]) -> None:
    for n in nodes:
        lines.append(indent + _headline(n))
        for body in n.children():
            _show(body, indent + "  ", lines)  # as deep as loops are nested


def _headline(n: Node) -> str:
    if isinstance(n, Let):
        return f"let {n.term!r:.100}" + (f" kept in {n.stored[0]}[{n.stored[1]!r}]" if n.stored else "")
    if isinstance(n, Write):
        return f"{n.buf}[{n.offset!r}] {SIGNS[n.mode]} {n.value!r:.100}"
    if isinstance(n, Accumulate):
        return f"accumulate {n.fold!r:.100}"
    if isinstance(n, Loop):
        return f"for {n.var!r} < {n.var.extent!r}{' simd' if n.simd else ''}"
    if isinstance(n, Reduce):
        return f"reduce {n.var!r} < {n.var.extent!r} {[f.op.params['kind'] for f in n.folds]} lanes={n.lanes}"
    if isinstance(n, Sweep):
        return f"sweep {n.var!r}" if n.var else "lanes"
    if isinstance(n, Columns):
        return f"columns {n.var!r} < {n.var.extent!r} by {n.width}"
    if isinstance(n, Row):
        return f"row {n.buf} of {n.length!r}"
    if isinstance(n, Kernel):
        return "kernel" + (" parallel" if n.parallel else "") + (" of rows" if n.parallel and n.meets else "")
    if isinstance(n, Tiles):
        return f"tiles {n.var!r} < {n.var.extent!r}: {len(n.parts)} parts, {len(n.slots)} slots"
    if isinstance(n, Call):
        return f"{n.name} -> {n.buf}"
    if isinstance(n, Routine):
        return f"{n.term.op.name} -> {', '.join(x.buf.name for x in n.results)}"
    if isinstance(n, Choice):
        return f"choose by {n.condition!r:.100}"
    if isinstance(n, Repeat):
        return f"repeat {n.steps!r} times" + (f" until {n.stop}" if n.stop else "")
    if isinstance(n, Quiet):
        return "from here on without interruption"
    return f"branch {getattr(n, 'term', n)!r:.100}"
