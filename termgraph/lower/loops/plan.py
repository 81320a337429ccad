"""From statements to a loop tree: phases, shared loops, values kept for a row, and the shape each loop takes.

One small planner works at every depth. A term is computed in the loop of its deepest free variable.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import Any

from termgraph._records import record
from termgraph.lower.lengths.index import Poly, Var, largest, poly
from termgraph.lower.lengths.index import values as index_values
from termgraph.lower.loops.like_before import MANY_LOOPS, LikeBefore
from termgraph.lower.loops.phases import (
    collides,
    divided,
    join_later_readers,
    phases,
    runs_in_order,
    wait_for_readers,
    writers_of,
)
from termgraph.lower.loops.scopes import Scope
from termgraph.lower.loops.sums_in_rows import sums_in_rows
from termgraph.lower.loops.tree import (
    Accumulate,
    Branch,
    Call,
    Choice,
    Columns,
    Compound,
    Kernel,
    Let,
    Loop,
    Node,
    Reduce,
    Row,
    Sweep,
    Write,
)
from termgraph.lower.memory.strides import distance
from termgraph.lower.push.kernel import (
    ARG_FOLDS,
    FOLD,
    HEAVY,
    INDEX,
    LOAD,
    PICK,
    Buf,
    Needs,
    Scalars,
    kids,
    own_cost,
    scalars,
)
from termgraph.lower.schedule.loop_tiles import cut_into_tiles
from termgraph.lower.schedule.rows import computed_where_needed
from termgraph.lower.storage.policy import Store
from termgraph.terms.op import CONST
from termgraph.terms.term import AnyTerm

COLUMN_WIDTH = 1024  # memory is read in order, and the sums of that many columns stay in the first-level cache
FEW_COLUMNS = 8  # in fewer than a vector has, places of the largest are looked for column by column
# Partial results of a fold side by side, by the size of an element: enough that none waits for the one before it. Where
# a function is called for each element, the call is what takes time, and few fit registers better.
LANES = {8: 64, 4: 128, 2: 128, 16: 32}
LANES_HEAVY = {8: 16, 4: 32, 2: 32, 16: 16}
WIDEST = 64  # bytes of the widest vectors there are
# Folds of one loop at the top: more are divided among several loops. Their partial results fit no registers, and what a
# compiler needs for one function grows faster than its length.
MANY_FOLDS = 24
CHEAP = 6  # weight of a value that is computed in two loops rather than keep one of them from being vectors


@record(eq=False)
class Acc:
    """The statement that advances a fold."""

    fold: Any

    @property
    def value(self) -> Any:
        return self.fold.args[0]


@record(eq=False)
class Group:
    """Statements that run in one loop over `var` (None: no loop)."""

    var: Var | None
    folds: list[Any] = field(default_factory=list)
    stores: list[Any] = field(default_factory=list)


@record(eq=False)
class RowBuffer:
    """A value needed by two sibling loops: stored by group `first`, read by the groups `later`."""

    buf: Buf
    offset: Poly
    first: int
    later: list[int]
    write: bool  # whether a store of its own is needed


class Planner:
    """Makes the loop tree of a list of statements."""

    def __init__(self, scalars_: Scalars, whole: bool = False, apart: str = "") -> None:
        """`apart`: at the top a loop is shared by stores that read the same temporaries only ("reads"), or by no two
        that write parts of one result ("parts").
        """
        self.s, self.whole, self.apart = scalars_, whole, apart
        self.count = 0
        self.needed: dict[Any, Needs] = {}  # of each statement, which many look at
        self.like_before: LikeBefore | None = None  # for programs of many loops

    def plan(self, statements: Sequence[Any]) -> list[Node]:
        """The whole program."""
        top = Scope(None)
        self.body(computed_where_needed(self, [x for x in statements if not _never_runs(x)], top, self.whole), top)
        return top.nodes

    def in_turn(self, statements: Sequence[Any]) -> list[Any]:
        """The statements, each after those whose results it reads: choices stand before what only sides need."""
        top, wanted = Scope(None), set(statements)
        before = self.predecessors(self.placeable(list(statements), top), list(statements), top)
        return [x for x in phases(before) if x in wanted]

    # ------------------------------------------------------------------ values
    def emit(self, root: AnyTerm, scope: Scope) -> AnyTerm:
        """Compute a term, and all it needs, each in its place."""
        stack = [root]
        while stack:
            t = stack[-1]
            if t.op is CONST or scope.knows(t):
                stack.pop()
                continue
            assert t.op.family is not FOLD, f"a fold that no loop computes: {t!r:.200}"
            needs = t.args[:1] if t.op.family is PICK else t.args or kids(t)
            todo = [k for k in needs if k.op is not CONST and not scope.knows(k)]
            if todo:
                stack.extend(reversed(todo))
                continue
            stack.pop()
            home = scope.home(self.s.free(t))
            home.nodes.append(self.branch(t, home, scope) if t.op.family is PICK else Let(t))
            home.known.add(t)
        return root

    def branch(self, t: AnyTerm, home: Scope, scope: Scope) -> Branch:
        """Each arm is a scope of its own: what only it needs is computed there, or a load could be out of range."""
        arms = []
        for value in t.args[1:]:
            arm = Scope(home, guard=True)
            arm.bound, arm.carried = scope.bound, scope.carried
            self.emit(value, arm)
            arms.append(arm.nodes)
        return Branch(t, *arms)

    def leaf(self, x: Any, scope: Scope) -> None:
        """A statement without loops of its own."""
        if isinstance(x, Compound):
            if isinstance(x, Choice):
                self.emit(x.condition, scope)
            scope.nodes.append(x)
            return
        if isinstance(x, Call):
            if "alpha" in x.options:
                self.emit(x.options["alpha"], scope)
            scope.nodes.append(x)
            return
        if isinstance(x, Store):
            for value in index_values(x.offset):
                self.emit(value, scope)
        self.emit(x.value, scope)
        scope.nodes.append(
            Accumulate(x.fold) if isinstance(x, Acc) else Write(x.buf, x.offset, x.value, x.mode)
        )  # fmt: skip

    # ------------------------------------------------------------------ phases and groups
    def needs(self, x: Any) -> Needs:
        """Folds and written buffers a statement depends on."""
        found = self.needed.get(x)
        if found is None:
            found = self.needed[x] = self._looked_up(x)
        return found

    def _looked_up(self, x: Any) -> Needs:
        if isinstance(x, Compound):
            found: Needs = frozenset(b for b, _ in x.operands())
            return found | self.s.needs(x.condition) if isinstance(x, Choice) else found
        if isinstance(x, Call):
            found = frozenset(b for b, _, _ in x.operands)
            return found | self.s.needs(x.options["alpha"]) if "alpha" in x.options else found
        found = self.s.needs(x.value)
        return found | self.s.index_needs(x.offset) if isinstance(x, Store) else found

    def placeable(self, statements: Sequence[Any], scope: Scope) -> list[Any]:
        """Folds whose outer variables are all bound here, and that are not computed yet."""
        found = {
            f: None
            for x in statements
            for f in self.needs(x)
            if not isinstance(f, Buf) and self.s.free(f) <= scope.bound and not scope.knows(f)
        }
        if scope.parent is not None and any(map(self.s.free, found)):
            self._drop_parts_of_known(found, statements, scope)
        return sorted(found, key=self.s.fold_order.__getitem__)

    def _drop_parts_of_known(self, found: dict[Any, None], statements: Sequence[Any], scope: Scope) -> None:
        """Without folds that only a fold needs which is computed already, or a value that is kept for the row."""
        known = {f for x in statements for f in self.needs(x) if not isinstance(f, Buf) and f not in found}
        below = [*[g.args[0] for g in known if g in scope], *scope.kept()]
        parts = {f for t in below for f in self.s.needs(t) if f in found}
        if parts:
            roots = [t for x in statements for t in _computed(x)]
            parts.difference_update(scalars(roots, scope.__contains__))
        for f in parts:
            del found[f]

    def groups(self, statements: list[Any], scope: Scope) -> list[Group]:
        """Statements and folds of one depth by phase, then by loop variable: one loop per group."""
        folds = self.placeable(statements, scope)
        before = self.predecessors(folds, statements, scope)
        phase = phases(before)
        if not scope.depth:
            join_later_readers(statements, before, phase)
            wait_for_readers(statements, before, phase)
        out: dict[tuple[float, str, bool, int], Group] = {}
        sizes: dict[tuple[float, str, bool], int] = {}
        for f in folds:
            var = f.op.params["var"]
            key = phase[f], var.key, False
            sizes[key] = sizes.get(key, -1) + 1
            part = 0 if scope.depth else sizes[key] // MANY_FOLDS
            if f.op.params["kind"] in ARG_FOLDS and self.is_cheap(f.args[0]):
                part = -1  # where the largest lies is looked for in vectors, in a loop without other folds
            out.setdefault((*key, part), Group(var)).folds.append(f)
        for x in statements:
            var = x.vars[0] if isinstance(x, Store) and x.vars else None
            # what runs in order has a loop of its own: folds beside it take many steps at once
            key = (phase[x], var.key if var is not None else "~", runs_in_order(x, var) and var not in x.apart)
            out.setdefault((*key, 0), Group(var)).stores.append(x)
        found = [out[k] for k in sorted(out)]
        if not self.apart or scope.depth:
            return found
        parts = [[g.stores] if g.folds or g.var is None else divided(g.stores, self.apart, self.needs) for g in found]
        return [Group(g.var, g.folds, stores) for g, each in zip(found, parts) for stores in each]

    def is_cheap(self, value: Any) -> bool:
        """Whether what a fold looks at may be computed once more: it is loaded, chosen, compared."""
        inside = scalars([value], lambda t: bool(self.s.free(t)))
        return sum(own_cost(t) for t in inside) <= CHEAP

    def predecessors(self, folds: list[Any], statements: list[Any], scope: Scope) -> dict[Any, list[Any]]:
        """What each fold and statement of one depth waits for."""
        writers = writers_of(statements)
        here = set(folds)
        return {x: self.waits_for(x, here, writers, scope) for x in [*folds, *statements]}

    def waits_for(self, x: Any, folds: Collection[Any], writers: Mapping[Buf, list[Any]], scope: Scope) -> list[Any]:
        """The folds that a fold or statement needs, and the statements that write what it reads."""
        needs = self.s.needs(x.args[0]) if x in folds else self.needs(x)
        found: list[Any] = []
        for d in needs:
            if not isinstance(d, Buf):
                found += [d] if d in folds and d is not x else []
            elif d not in scope.carried:
                found += [w for w in writers.get(d, ()) if w is not x]
        rank = getattr(x, "rank", 0)
        return found + [w for w in writers[x.buf] if getattr(w, "rank", 0) < rank] if rank else found

    def body(self, statements: list[Any], scope: Scope) -> None:
        """Everything at one depth."""
        groups = self.groups(statements, scope)
        kept = self.keep(groups, scope) if scope.depth else {}
        if len(groups) >= MANY_LOOPS and not scope.depth:
            self.like_before = self.like_before or LikeBefore(self.s)
        for number, group in enumerate(groups):
            if group.var is None:
                for x in group.stores:
                    self.leaf(x, scope)
            elif scope.depth:
                scope.nodes.append(self.loop(group, scope, kept, number))
                scope.known.update(group.folds)
            else:
                scope.nodes.append(self.kernel(group, scope, number))
                scope.known.update(group.folds)

    # ------------------------------------------------------------------ values kept for a row
    def keep(self, groups: list[Group], scope: Scope) -> dict[Any, RowBuffer]:
        """Heavy values that two loops over the same variable need: computed once, kept for the row."""
        found: dict[Any, RowBuffer] = {}
        for a, first in enumerate(groups):
            for b in range(a + 1, len(groups)):
                if first.var is None or groups[b].var is not first.var:
                    continue
                for t in self.shared_by(first, groups[b], scope):
                    if t in found:
                        found[t].later.append(b)
                    else:
                        self.count += 1
                        buf = Buf(f"row{self.count}", t.type.dtype, (first.var.extent,), "row")
                        found[t] = RowBuffer(buf, poly(first.var), a, [b], True)
        self.use_result_rows(found, groups)
        for k in found.values():
            if k.buf.kind == "row":
                scope.nodes.append(Row(k.buf, largest(k.buf.shape[0])))
        return found

    def shared_by(self, first: Group, second: Group, scope: Scope) -> list[Any]:
        """The topmost values of the second loop that the first one computes as well, and that are worth keeping."""
        var = first.var
        stop = lambda t: var not in self.s.free(t)  # noqa: E731
        mine = set(scalars(self.values_of(first), stop))
        out, seen, stack = [], set(), self.values_of(second)
        while stack:
            t = stack.pop()
            if t in seen or var not in self.s.free(t):
                continue
            seen.add(t)
            own = t in mine and t.op.family is not LOAD and self.s.free(t) <= scope.bound | {var}
            if own and any(self.is_work(x) for x in scalars([t], stop) if var in self.s.free(x)):
                out.append(t)
            else:
                stack.extend(kids(t))
        return out

    def is_work(self, t: Any) -> bool:
        """Whether a term takes longer than a row takes to be read."""
        return t.op.family is FOLD or own_cost(t) >= HEAVY

    def values_of(self, g: Group) -> list[Any]:
        return [f.args[0] for f in g.folds] + [x.value for x in g.stores]

    def use_result_rows(self, found: dict[Any, RowBuffer], groups: list[Group]) -> None:
        """The row of the result is the cheapest place, if one store alone writes it, and reads the value to do so.

        A store that does not read it might overwrite it before others have read it. What it makes of other kept values
        it reads from their rows, not from what these are made of.
        """
        writers = [x.buf for g in groups for x in g.stores if isinstance(x, Store)]
        taken: set[Buf] = set()
        for t, k in found.items():
            if len(k.later) != 1:
                continue
            rest = found.keys() - {t}
            for x in groups[k.later[0]].stores:
                fits = isinstance(x, Store) and x.mode == "set" and x.buf.dtype == t.type.dtype and len(x.vars) == 1
                fits = fits and t in scalars([x.value], lambda u, rest=rest: u.op.family is FOLD or u in rest)
                if fits and x.buf not in taken and writers.count(x.buf) == 1 and x.vars[0] in x.offset.fv:
                    taken.add(x.buf)
                    k.buf, k.offset = x.buf, x.offset
                    break

    # ------------------------------------------------------------------ loops
    def loop(self, group: Group, scope: Scope, kept: dict[Any, RowBuffer], number: int) -> Node:
        """One loop, in the shape that suits it."""
        inner = self.inner_scope(group, scope, kept, number)
        statements = self.inner_statements(group, kept, number)
        return self.shape(group, scope, inner, statements)

    def kernel(self, group: Group, scope: Scope, number: int) -> Kernel:
        """An outermost loop: a copy of one that is alike, if there was one of which all is inside."""
        before = self.like_before
        like = before.read(group.folds, group.stores, scope.known) if before is not None else None
        node = before.copied(like) if before is not None and like is not None else None
        if node is None:
            outside = len(scope.nodes), self.count
            parallel = not self.is_serial(group) and not any(collides(x, group.var) for x in group.stores)
            meets = any(isinstance(x, Store) and x.meets for x in group.stores)
            node = Kernel(self.loop(group, scope, {}, number), parallel, meets=meets)
            if before is not None and like is not None and outside == (len(scope.nodes), self.count):
                before.keep(like, node)
        return node

    def inner_scope(self, group: Group, scope: Scope, kept: dict[Any, RowBuffer], number: int) -> Scope:
        inner = Scope(scope, group.var)
        inner.carried |= {x.buf for x in group.stores if x.buf in self.needs(x)}
        for t, k in kept.items():
            if number in k.later:
                inner.stored[t] = (k.buf, k.offset)
        return inner

    def inner_statements(self, group: Group, kept: dict[Any, RowBuffer], number: int) -> list[Any]:
        out: list[Any] = [Acc(f) for f in group.folds]
        out += [x.inside() for x in group.stores]
        out += [Store(k.buf, k.offset, t, []) for t, k in kept.items() if k.first == number]
        return out

    def shape(self, group: Group, scope: Scope, inner: Scope, statements: list[Any]) -> Node:
        var = group.var
        assert var is not None
        is_leaf = not any(isinstance(x, Store) and x.vars for x in statements) and not self.placeable(statements, inner)
        if group.folds and not is_leaf and not self.is_serial(group):
            is_leaf = sums_in_rows(self, var, scope, inner, statements)
        elif not is_leaf and not group.folds and not self.is_serial(group):
            columns = self.columns(var, scope, inner, statements)
            if columns is not None:
                return columns
        if is_leaf and not group.folds and scope.depth == 0 and not self.is_serial(group):
            tiles = cut_into_tiles(self, var, statements, scope)
            if tiles is not None:
                return tiles
        self.body(statements, inner)
        if group.folds:
            return Reduce(var, group.folds, inner.nodes, self.lanes(group) if is_leaf else 0)
        serial = self.is_serial(group)
        return Loop(var, inner.nodes, simd=is_leaf and not serial, serial=serial)

    def lanes(self, group: Group) -> int:
        """Partial results side by side: a matter of the folds only, so that results are the same everywhere."""
        kinds = {f.op.params["kind"] for f in group.folds}
        if kinds & set(ARG_FOLDS) or all(f.type.kind in "iub" for f in group.folds):
            return 0  # integers may be added in any order: compilers see to that themselves
        body = scalars(self.values_of(group), lambda t: group.var not in self.s.free(t))
        inside = [t for t in body if group.var in self.s.free(t)]
        heavy = kinds <= {"sum", "prod"} and any(own_cost(t) >= HEAVY for t in inside)
        found = (LANES_HEAVY if heavy else LANES)[max(f.type.np_dtype.itemsize for f in group.folds)]
        narrow = min((t.type.np_dtype.itemsize for t in inside if t.op.family is LOAD), default=8)
        return max(found, WIDEST // narrow)  # a vector of the narrowest elements, or the loop is none of vectors

    def is_serial(self, group: Group) -> bool:
        """Whether iterations must run one after the other."""
        return any(runs_in_order(x, group.var) for x in group.stores)

    # ------------------------------------------------------------------ columns
    def columns(self, var: Var, scope: Scope, inner: Scope, statements: list[Any]) -> Columns | None:
        """Vectorise over the outer variable, when the folds' loads are contiguous in it and not in their own."""
        if any(isinstance(x, Call) or (isinstance(x, Store) and x.vars) for x in statements):
            return None
        if inner.stored:  # what is kept for the row is read back in the loop itself, which sweeps do not have
            return None
        folds = self.placeable(statements, inner)
        if any(f.op.params["kind"] in ARG_FOLDS and not self.looks_in_lanes(f, var) for f in folds):
            return None
        for f in folds:  # what is computed already needs nothing more
            below = scalars([f.args[0]], lambda t: t.op.family is FOLD and t in inner)
            if any(t.op.family is FOLD and t not in folds and not inner.knows(t) for t in below):
                return None
        if self.votes(var, folds) <= 0:
            return None
        inner.guard = True
        known = var.extent.const
        width = COLUMN_WIDTH if known is None else min(COLUMN_WIDTH, -(-known // 16) * 16)
        return Columns(var, width, [self.sweep(g, inner, var) for g in self.groups(statements, inner)])

    def looks_in_lanes(self, f: Any, var: Var) -> bool:
        """Whether where the largest lies is looked for in several columns at a time: there must be whole vectors."""
        cheap, known = self.is_cheap(f.args[0]), var.extent.const
        return self.s.whole_vectors and (
            cheap if known is None else known >= (FEW_COLUMNS if cheap else 2 * FEW_COLUMNS)
        )

    def votes(self, var: Var, folds: list[Any]) -> int:
        """Loads that run along memory with the outer variable against those that do so with the inner one."""
        votes = 0
        for f in folds:
            for t in scalars([f.args[0]]):
                if t.op.family is LOAD:
                    offset = t.op.params["offset"]
                    outer, inner = (
                        distance(offset.coefficient(v), t.op.params["buf"].strides) for v in (var, f.op.params["var"])
                    )
                    votes += (outer < inner) - (inner < outer and var in offset.fv)
        return votes

    def sweep(self, group: Group, inner: Scope, lane: Var) -> Sweep:
        outer = Scope(inner, group.var)
        lanes = Scope(outer, guard=True)
        # What does not depend on the lane is computed in `outer`; the lane's variable is bound inside only.
        for x in [*[Acc(f) for f in group.folds], *group.stores]:
            self.leaf(x, lanes)
        inner.known.update(group.folds)
        once = [] if group.stores or group.var is None else self.indices_of_rows(lanes.nodes, lane)
        return Sweep(group.var, group.folds, [*outer.nodes, *once], [n for n in lanes.nodes if n not in once])

    def indices_of_rows(self, nodes: Sequence[Node], lane: Var) -> list[Node]:
        """Indices from data that all lanes share, and what they are made of: checked in each lane they take most of
        the time. Other values of a row stay where they are, so that several rows are added in one go."""
        free = [n for n in nodes if isinstance(n, Let) and lane not in self.s.free(n.term)]
        plain = not any(isinstance(n, Branch) for n in nodes) and all(n.stored is None for n in free)
        return list(free) if plain and any(n.term.op.family is INDEX for n in free) else []


def _computed(x: Any) -> list[Any]:
    """The scalars that a statement is made of."""
    if isinstance(x, Compound):
        return [x.condition] if isinstance(x, Choice) else []
    if isinstance(x, Call):
        return [x.options["alpha"]] if "alpha" in x.options else []
    return [x.value, *(index_values(x.offset) if isinstance(x, Store) else ())]


def _never_runs(x: object) -> bool:
    """Whether a loop of a store has no iterations: even what does not depend on its variable must not be read."""
    return isinstance(x, Store) and any(v.extent.const == 0 for v in x.vars)
