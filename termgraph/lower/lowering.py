"""Lowering, stage by stage: a part of a graph becomes a loop tree with a plan of its memory.

`LOWERING` is the list. Each stage takes what the one before it made; the values are immutable and print themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from typing import Any

from termgraph._lazy import lazy
from termgraph._records import record, replace
from termgraph.lower.lengths import loop_bodies, op_shapes  # noqa: F401  they declare their rules
from termgraph.lower.lengths.index import Poly
from termgraph.lower.lengths.shapes import Lengths
from termgraph.lower.loops import repeat  # noqa: F401  they declare their rules
from termgraph.lower.loops.like_before import alike, note_alike
from termgraph.lower.loops.plan import Planner
from termgraph.lower.loops.tree import SIGNS, Call, Kernel, Loop, Node, Repeat, count, show
from termgraph.lower.memory.plan import Rooms, loads, rooms_of, writes
from termgraph.lower.memory.strides import Kinds
from termgraph.lower.memory.updates import Early, update_modes
from termgraph.lower.push import at_rules  # noqa: F401  they declare their rules
from termgraph.lower.push.expand import BLAS_DTYPES, expand
from termgraph.lower.push.kernel import Buf
from termgraph.lower.schedule.products_ahead import products_ahead
from termgraph.lower.schedule.row_tiles import tile_rows
from termgraph.lower.schedule.streams import with_streams
from termgraph.lower.storage import axis_calls, cut_rules, routines, triangles  # noqa: F401  they declare their rules
from termgraph.lower.storage.policy import Statements, Storage, Store
from termgraph.stages import Ledger, Stage
from termgraph.terms.text import one_line
from termgraph.terms.traverse import children_first

parts: Any = lazy("termgraph.lower.schedule.parts")
of_sizes: Any = lazy("termgraph.lower.memory.limit")
set_aside: Any = lazy("termgraph.lower.memory.set_aside")

MANY_TEMPS = 8  # from which on it is worth while to look for fewer bytes

# What finishes the elements of a product where it is made: (nodes, temporaries, outputs with a place of their own) to
# the new nodes and the outputs whose room products use.
Epilogues = Callable[[list[Node], Collection[Buf], Collection[Buf]], tuple[list[Node], dict[Buf, Buf]]]


@record(frozen=True)
class Target:
    """What lowering has to know of a backend.

    `products` are the dtypes of which it multiplies matrices, `calls` the ops it has kernels of its own for. `ahead`
    says of a loop and a product whether the loop shall make it, a few steps at once. `whole_updates`: a statement that
    writes a new value in place must not write anything else, and be a call or loops over its elements. `reuses_memory`:
    temporaries may lie in results that are written later. `rows_in_loops`: of many short sums over rows each is a loop.
    `whole_vectors`: loops shall take whole vectors, so what repeats an array is stored where functions of it would
    divide each index, and loops are cut where a choice by index changes.
    `early_updates`: new values of variables may be written before the end. `overwrites`: temporaries may be written
    over others of which the same statement reads the same elements for the last time.
    """

    products: tuple[str, ...] = tuple(BLAS_DTYPES)
    calls: frozenset[str] = frozenset()
    ahead: Callable[[Repeat, Call], bool] | None = None
    epilogues: Epilogues | None = None
    row_tiles: bool = False
    rows_in_loops: bool = False
    whole_vectors: bool = False
    whole_updates: bool = False
    reuses_memory: bool = False
    early_updates: bool = False
    overwrites: bool = False


@record(frozen=True)
class Region:
    """A part of a graph that is lowered by itself: the terms of its results over `Arg` leaves, and what is asked for.

    `strided` arguments are read by strides of these kinds, the others are C-contiguous. `reciprocal` admits dividing
    once per row and multiplying, which may change the last bit. `use_values`: lengths may be computed from values of
    arguments, as symbols `v<argument>`. `untrimmed`: stacked results of loops that stop early keep rows that mean
    nothing. `replaced` are pairs of a result's number and the argument whose new value it is; with `in_place` it may be
    written over the old one. Without `fuse` every operation's result is stored before another one uses it,
    and no loop fills two arrays. `known` are leaves with lengths that their types do not have (None: unknown).
    `memory_limit`: the most bytes of results and temporaries, or a share of what the plan without a limit has.
    `sparing`: parts of arrays that wait are stored by themselves, and sums are made one after the other. `apart`: a
    loop is shared by statements that read the same temporaries only: each can run when it is needed, and again.
    """

    roots: tuple[Any, ...]
    target: Target = Target()
    strided: Mapping[Any, Kinds] = field(default_factory=dict)
    reciprocal: bool = True
    use_values: bool = True
    untrimmed: bool = False
    replaced: tuple[tuple[int, Any], ...] = ()
    in_place: bool = True
    fuse: bool = True
    known: tuple[tuple[Any, tuple[int | None, ...]], ...] = ()
    memory_limit: int | float | None = None
    sparing: bool = False
    apart: bool = False

    def __str__(self) -> str:
        return _listed(self.roots)

    def sizes(self) -> dict[str, int]:
        """How many terms it has."""
        return {"nodes": len(children_first(self.roots))}


@record(frozen=True)
class Expanded:
    """A region with composite ops in terms of simpler ones. `origin` maps new terms to those they stand for."""

    region: Region
    outputs: list[Any]
    origin: dict[Any, Any]

    def __str__(self) -> str:
        return _listed(self.outputs)

    def sizes(self) -> dict[str, int]:
        """How many terms it has."""
        return {"nodes": len(children_first(self.outputs))}


@record(frozen=True)
class Measured:
    """The shape of every term as polynomials, and the conditions that a call checks."""

    expanded: Expanded
    lengths: Lengths

    def __str__(self) -> str:
        shapes = self.lengths.shapes.items()
        lines = [f"{_shape(shape)}  {one_line(t, 100)}" for t, shape in shapes if t.args]
        tests = {"eq": "==", "ge": ">="}
        checks = [f"check {c.a} {tests[c.test]} {c.b}" for c in self.lengths.checks.values()]
        return "\n".join([*lines, *checks])

    def sizes(self) -> dict[str, int]:
        """How many terms have a shape."""
        return {"nodes": len(self.lengths.shapes)}


@record(frozen=True)
class Stored:
    """Which arrays get storage, and the statements that fill them: stores of scalar terms and library calls."""

    expanded: Expanded
    statements: Statements

    def __str__(self) -> str:
        st = self.statements
        kept = [f"{b} keeps {one_line(t, 100)}" for b, t in st.stored.items() if b.kind == "temp"]
        return "\n".join([*kept, *map(_statement, st.stores)])

    def sizes(self) -> dict[str, int]:
        """How many statements there are."""
        return {"nodes": len(self.statements.stores)}


@record(frozen=True)
class Lowered:
    """A loop tree with its storage, lengths and the failures it can report."""

    region: Region
    nodes: list[Node]
    statements: Statements
    outputs: list[Any]
    origin: dict[Any, Any]

    @property
    def lengths(self) -> Lengths:
        """Lengths, checks and sites."""
        return self.statements.lengths

    def __str__(self) -> str:
        return show(self.nodes)

    def sizes(self) -> dict[str, int]:
        """How many statements the tree has, and how many kernels and calls at its top."""
        return _tree_sizes(self.nodes)


@record(frozen=True)
class Scheduled:
    """The tree in the order in which it runs: products in their loops, epilogues, rows in blocks, updates last.

    `modes` says of the new value of a variable how it is written over the old one, `finished` which product is made in
    the room of which output, `temps` what is left of the temporaries.
    """

    lowered: Lowered
    nodes: list[Node]
    modes: dict[Buf, str]
    finished: dict[Buf, Buf]
    temps: list[Buf]

    def __str__(self) -> str:
        notes = [f"{new.name} is written over the old value ({mode})" for new, mode in self.modes.items()]
        notes += [f"{product.name} is made in {out.name}" for product, out in self.finished.items()]
        return "\n".join([show(self.nodes).rstrip("\n"), *notes])

    def sizes(self) -> dict[str, int]:
        """As of the loop tree."""
        return _tree_sizes(self.nodes)


@record(frozen=True)
class Planned:
    """A scheduled tree with its memory: in which rooms temporaries lie, and where in them."""

    scheduled: Scheduled
    places: Rooms

    @property
    def lowered(self) -> Lowered:
        """The tree as it was before it was scheduled, with lengths and storage."""
        return self.scheduled.lowered

    def __str__(self) -> str:
        at = {b: f"{b.name} at {offset}" for b, offset in self.places.offsets.items()}
        rooms = [f"room {k}: {', '.join(at.get(b, b.name) for b in room)}" for k, room in enumerate(self.places.rooms)]
        rooms += [f"{b.name} in {host.name}" for b, host in self.places.guests.items()]
        return "\n".join(rooms) or "no room for temporaries"

    def sizes(self) -> dict[str, int]:
        """As of the loop tree."""
        return _tree_sizes(self.scheduled.nodes)


# ---------------------------------------------------------------------- the stages
def expanded(region: Region) -> Expanded:
    """Composite ops in terms of simpler ones."""
    outputs, origin = expand(region.roots, region.target.products, region.target.calls)
    if region.sparing:
        outputs = parts.sums_in_turn(outputs, region.target.calls, origin)
    return Expanded(region, outputs, origin)


def measured(value: Expanded) -> Measured:
    """The lengths of everything; NotLowerable names a term of which they are not known beforehand."""
    region = value.region
    calls, known = region.target.calls, dict(region.known)
    return Measured(value, Lengths(value.outputs, region.use_values, region.untrimmed, calls, known))


def stored(value: Measured) -> Stored:
    """What gets storage, with an index pushed through everything else."""
    region = value.expanded.region
    storage = Storage(
        value.expanded.outputs, value.lengths, region.strided, region.reciprocal,
        fuse=region.fuse, rows_in_loops=region.target.rows_in_loops, whole_vectors=region.target.whole_vectors,
    )  # fmt: skip
    return Stored(value.expanded, with_streams(storage, parts.of_stored if region.sparing else None))


def planted(value: Stored) -> Lowered:
    """The loop tree: which loops there are and what is computed where."""
    st, before, region = value.statements, value.expanded, value.expanded.region
    planner = Planner(st.scalars, whole=True, apart="reads" if region.apart else "parts" if region.sparing else "")
    together = [st.stores] if before.region.fuse else [[s] for s in planner.in_turn(st.stores)]
    nodes = [n for stores in together for n in planner.plan(stores)]
    return Lowered(before.region, nodes, st, before.outputs, before.origin)


def scheduled(value: Lowered, early: bool = False) -> Scheduled:
    """The order of things, as the target likes them; variables get new values `early`, or where that is best."""
    target, st = value.region.target, value.statements
    nodes, temps = [_copied(n) for n in value.nodes], list(st.temps)
    if target.ahead is not None and value.region.fuse:
        nodes, gone = products_ahead(nodes, temps, target.ahead)
        temps = [b for b in temps if b not in gone]
    nodes, modes, temps = _with_updates(value, nodes, temps, early)
    finished: dict[Buf, Buf] = {}
    if target.epilogues is not None and value.region.fuse:
        fixed = [b for k, b in targets_of(value).items() if k in dict(value.region.replaced)]
        nodes, finished = target.epilogues(nodes, temps, fixed)
    used = {b for n in nodes for b in (*writes(n), *[b for b, _ in loads(n)])}
    if target.row_tiles:
        nodes = tile_rows(nodes)
    return Scheduled(value, nodes, modes, finished, [b for b in temps if b in used])


def planned(value: Scheduled) -> Planned:
    """Room for the temporaries that need some of their own, within the limit if there is one."""
    plain, temps, hosts = _with_rooms(value)
    limit = value.lowered.region.memory_limit
    if limit is None:
        return plain
    region, tries = value.lowered.region, [(plain, temps, hosts)]
    if value.modes and (region.sparing or region.apart):
        other = scheduled(value.lowered, early=True)
        if other.modes != value.modes or len(other.nodes) != len(value.nodes):
            tries.insert(0 if region.apart else 1, _with_rooms(other))  # sums over chunks end with their updates
    found: list[of_sizes.LimitTooLow] = []
    for each in tries:
        try:
            return _limited(*each, limit)
        except of_sizes.LimitTooLow as low:
            found.append(low)
    raise min(found, key=lambda e: e.least) from None


def _with_rooms(value: Scheduled) -> tuple[Planned, list[Buf], list[Buf]]:
    """A plan without a limit; the temporaries, and the results that may lend them memory."""
    region, temps = value.lowered.region, [b for b in value.temps if b not in value.finished]
    may = region.target.reuses_memory and region.in_place
    taken = {*value.modes, *value.finished.values()}
    hosts = [b for b in targets_of(value.lowered).values() if may and b not in taken]
    plain = _by_size(value, temps, hosts) if len(temps) >= MANY_TEMPS else None
    return plain or Planned(value, rooms_of(value.nodes, temps, hosts)), temps, hosts


def _by_size(value: Scheduled, temps: list[Buf], hosts: list[Buf]) -> Planned | None:
    """One room, in which large arrays choose first, and the order that lowers it; None: sizes are not known."""
    try:
        st = of_sizes.Statements(value.nodes, temps, hosts, _overwritten(value), value.lowered.region.target.overwrites)
        found = of_sizes.ordered(st, _results(value))
        return Planned(value if found.order is st.all else replace(value, nodes=found.nodes), found.rooms)
    except of_sizes.UnknownLength:
        return None


def _overwritten(value: Scheduled) -> dict[Buf, Buf]:
    """Old values of variables with the new ones that are written over them."""
    return {old: new for _, (old, new) in replaceable(value.lowered) if new in value.modes} if value.modes else {}


def _results(value: Scheduled) -> int:
    """The bytes of results with memory of their own; UnknownLength if they are not known."""
    return sum(of_sizes.size_of(b) for b in targets_of(value.lowered).values() if b not in value.modes)


def _limited(plain: Planned, temps: list[Buf], hosts: list[Buf], limit: int | float) -> Planned:
    """The plan within its limit: statements in another order, some of them twice."""
    value = plain.scheduled
    try:
        results = _results(value)
        whole = results + of_sizes.bytes_of(plain.places)
        most = int(limit * whole) if isinstance(limit, float) else limit
        if whole <= most:
            return plain
        over = value.lowered.region.target.overwrites
        st = of_sizes.Statements(value.nodes, temps, hosts, _overwritten(value), over)
        found = of_sizes.within(st, most - results)
    except of_sizes.UnknownLength as unknown:
        t = value.lowered.statements.stored.get(unknown.args[0])
        what = "a result" if t is None else one_line(t, 60)
        raise ValueError(
            f"memory_limit needs lengths that are known before a call, and those of {what} are not: give the inputs "
            'shapes, as in T.tensor("x", dtype="float32", shape=(32, 10))'
        ) from None
    least = min(whole, results + found.nbytes)
    if least > most:
        raise of_sizes.LimitTooLow(most, least, results, whole)
    return Planned(replace(value, nodes=found.nodes), found.rooms)


LOWERING = (
    Stage("expand", expanded),
    Stage("lengths", measured),
    Stage("storage", stored),
    Stage("loop tree", planted),
    Stage("schedule", scheduled),
    Stage("memory", planned),
)


def plan(region: Region, ledger: Ledger | None = None) -> Planned:
    """A region through all stages."""
    made: Planned = (ledger or Ledger()).through(LOWERING, region)
    return made


def lower(
    outputs: Sequence[Any],
    strided: Mapping[Any, Kinds] | None = None,
    reciprocal: bool = True,
    use_values: bool = True,
    untrimmed: bool = False,
    products: Sequence[str] = BLAS_DTYPES,
    calls: Collection[str] = (),
) -> Lowered:
    """The loops that compute the output terms from their `Arg` leaves: the stages up to the loop tree."""
    target = Target(tuple(products), frozenset(calls))
    region = Region(tuple(outputs), target, strided or {}, reciprocal, use_values, untrimmed)
    made: Lowered = Ledger().through(LOWERING[:4], region)
    return made


# ---------------------------------------------------------------------- updates
def targets_of(value: Lowered) -> dict[int, Buf]:
    """The buffers of the results, by the number of the first root that each of them is."""
    return {int(b.name[3:]): b for b in value.statements.outputs}


def replaceable(value: Lowered) -> list[tuple[int, tuple[Buf, Buf]]]:
    """The numbers of new values that could be written over the old ones, with the buffers of the old and the new."""
    region, targets, found = value.region, targets_of(value), []
    for k, leaf in region.replaced if region.in_place else ():
        old, new = value.statements.inputs.get(leaf), targets.get(k)
        if old is None or new is None or region.roots.count(region.roots[k]) > 1:
            continue
        if (new.dtype, new.shape, new.strides) == (old.dtype, old.shape, old.strides):
            found.append((k, (old, new)))
    return found


def _with_updates(
    value: Lowered, nodes: list[Node], temps: list[Buf], early: bool
) -> tuple[list[Node], dict[Buf, str], list[Buf]]:
    """The tree with new values of variables written over the old ones, at its end or where that needs less memory.

    `early`: before the end wherever that can be.
    """
    target, pairs = value.region.target, [pair for _, pair in replaceable(value)]
    last, modes = _updates_last(nodes, pairs, target.whole_updates)
    plain = Early(last, modes, {n for n in last if getattr(n, "final", False)}), temps
    chosen = plain
    if target.early_updates and len(temps) >= MANY_TEMPS and pairs:
        try:
            least = _held(value, *plain)
            for order, more in set_aside.early_orders(nodes, pairs):
                tried = order, [*temps, *more]
                bytes_ = _held(value, *tried)
                if bytes_ < least - least // (set_aside if more else of_sizes).LOWER or (early and chosen is plain):
                    least, chosen = bytes_, tried
        except of_sizes.UnknownLength:
            chosen = plain
    order, temps = chosen
    _mark(order)
    return order.order, order.modes, temps


def _held(value: Lowered, order: Early, temps: list[Buf]) -> int:
    """The bytes that a call holds; UnknownLength if that is not known."""
    _mark(order)
    own = [b for b in targets_of(value).values() if b not in order.modes]
    replaced = {old: new for _, (old, new) in replaceable(value) if new in order.modes}
    results: int = sum(map(of_sizes.size_of, own))
    target = value.region.target
    st = of_sizes.Statements(order.order, temps, own if target.reuses_memory else (), replaced, target.overwrites)
    temporaries: int = of_sizes.ordered(st, results).nbytes
    return results + temporaries


def _mark(order: Early) -> None:
    """Tell the statements which of them write in place."""
    for n in order.order:
        if isinstance(n, (Kernel, Call)):
            n.final = n in order.finals


def _updates_last(nodes: list[Node], pairs: list[tuple[Buf, Buf]], whole: bool) -> tuple[list[Node], dict[Buf, str]]:
    """The tree with statements that write new values over old ones at its end, and how they write them.

    Where updates are `whole`, a statement that also has a result for the caller does not wait for the end.
    """
    while True:
        order, modes = update_modes(list(nodes), pairs, plain=whole)
        if not modes or not whole:
            return order, modes
        mixed = [set(writes(n)) for n in order if modes.keys() & set(writes(n)) and set(writes(n)) - modes.keys()]
        if not mixed:
            return order, modes
        for n in nodes:
            if isinstance(n, (Kernel, Call)):
                n.final = False
        pairs = [(old, new) for old, new in pairs if not any(new in bufs for bufs in mixed)]


def _copied(n: Node) -> Node:
    """A statement that scheduling may change without changing the tree it came from."""
    if isinstance(n, Kernel):
        made = replace(n, node=replace(n.node, body=list(n.node.body)) if isinstance(n.node, Loop) else n.node)
        return note_alike(made, alike(n))
    return replace(n) if isinstance(n, Call) else n


# ---------------------------------------------------------------------- showing
def _listed(terms: Sequence[Any]) -> str:
    return "\n".join(f"out{k} = {one_line(t, 200)}" for k, t in enumerate(terms))


def _statement(s: Any) -> str:
    if not isinstance(s, Store):
        return str(s)
    sign = SIGNS[s.mode]
    loops_ = f"  for {', '.join(f'{v} < {v.extent}' for v in s.vars)}" if s.vars else ""
    return f"{s.buf}[{s.offset}] {sign} {one_line(s.value, 200)}{loops_}"


def _shape(shape: Sequence[Poly]) -> str:
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def _tree_sizes(nodes: list[Node]) -> dict[str, int]:
    return {"nodes": count(nodes), "kernels": len(nodes)}
