"""What gets storage. One criterion, read off scalar terms: a value is stored if it would be computed again and again.

That is so if a level outside its deepest variable is missing in it (a *hole*), or it is needed twice (*images*).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Any

from termgraph._records import record, replace
from termgraph.lower.lengths.index import (
    EMPTY,
    ZERO,
    Poly,
    Var,
    _union,
    has_division,
    nest,
    poly,
    product,
    row_major,
    shifted,
    unravelled,
)
from termgraph.lower.lengths.polynomials import values
from termgraph.lower.lengths.shapes import Lengths
from termgraph.lower.loops.lazy import is_lazy, surely_needed
from termgraph.lower.loops.tree import Call, Choice, Compound
from termgraph.lower.memory.strides import Kinds, strides_of
from termgraph.lower.push.driver import Asking, Index, Push, declares
from termgraph.lower.push.kernel import LOAD, Buf, Scalars, operands_first
from termgraph.lower.push.small_folds import are_many
from termgraph.lower.push.split_loops import ATTEMPTS, SplitLoops
from termgraph.lower.storage import criterion, index_sets, places
from termgraph.lower.storage.joins import Parts, parts_of
from termgraph.lower.storage.repeated import repeated
from termgraph.lower.storage.repeats import Repeats
from termgraph.lower.storage.turned import turned
from termgraph.lower.storage.worklist import Worklist
from termgraph.terms.leaves import Arg, Const
from termgraph.terms.op import ARG, CONST
from termgraph.terms.ops.control import ifelse
from termgraph.terms.ops.shaping import reshape
from termgraph.terms.term import AnyTerm
from termgraph.terms.types import TensorType


@record(eq=False)
class Store:
    """A statement: for all `vars`, `buf[offset] = value` (or +=). Stores of one buffer run in the order of `rank`."""

    buf: Buf
    offset: Poly
    value: Any
    vars: list[Var]
    mode: str = "set"
    rank: int = 0
    ordered: frozenset[Var] = EMPTY  # variables whose iterations must run in order
    apart: frozenset[Var] = EMPTY  # variables whose iterations never meet at one place: a row each
    meets: bool = False  # iterations may write to one place
    kept: bool = False  # it is read much later, by statements that do not compute it again

    @property
    def splits(self) -> bool:
        """Whether its loops may be cut: their iterations write or add in any order."""
        return self.mode in ("set", "add") and not self.ordered and bool(self.vars)

    def moved(self, vars: list[Var], offset: Poly, value: Any) -> Store:
        """The statement with other loops."""
        return replace(self, vars=vars, offset=offset, value=value)

    def inside(self) -> Store:
        """The statement in its outermost loop."""
        return self.moved(self.vars[1:], self.offset, self.value)


@record
class Statements:
    """What a program does, before loops are shared: stores and library calls, and all its storage."""

    stores: list[Any]
    inputs: dict[Any, Buf]
    consts: dict[Any, Buf]
    outputs: list[Buf]
    temps: list[Buf]
    lengths: Lengths
    scalars: Scalars
    cuts: list[Any] = field(default_factory=list)
    rounds: int = 1  # how often all elements were looked at for what has to be stored
    pushes: int = 0  # how often a rule pushed an index through a term
    stored: dict[Buf, Any] = field(default_factory=dict)  # which term a buffer holds


Rule = Callable[["Storage", Any, Buf], None]  # stores a term in a buffer
CUTS: dict[str, Rule] = {}  # ops that need storage of their own; filled by `cuts`
CALLS: dict[str, Rule] = {}  # and those that are stored in another way where the backend has kernels for them


ROOTS: dict[str, Rule] = {}  # ops that are stored in parts, where they are stored at all
# How an op that could be fused is stored when it is a root: without a choice inside the loop.
root_rule = partial(declares, ROOTS)
# The library call for an op, made where the backend has one (`Lengths.calls`); then it is a cut.
call_rule = partial(declares, CALLS)
# How an op that cannot be fused is stored: `rule(storage, term, buf)` adds its statements.
cut_rule = partial(declares, CUTS)

SHOWN = ("dimshuffle", "reshape", "subtensor", "unbroadcast", "guarded")
# Ops whose result is a place in their first operand, or may be.
VIEWS = frozenset((*SHOWN, "specify_shape", "diagonal", "windows"))
# Ops that say where elements are, or pass results on: no storage even where nothing is fused.
MOVES = frozenset((*SHOWN, "alloc", "shape_i", "make_vector", "nth"))
FIRST, OTHERS, FOLDS = range(3)  # when the statements of a root are made, see `Storage._turn`


class Storage:
    """Chooses what gets storage and pushes indices through everything else."""

    def __init__(
        self, outputs: Sequence[Any], lengths: Lengths, strided: Mapping[Any, Kinds] | None = None,
        reciprocal: bool = True, leaves: Mapping[Any, Buf] | None = None, prefix: str = "",
        targets: Mapping[Any, Buf] | None = None, fuse: bool = True, rows_in_loops: bool = False,
        whole_vectors: bool = False,
    ):  # fmt: skip
        self.outputs, self.lengths, self.prefix, self.fuse = list(outputs), lengths, prefix, fuse
        self.given, self.strided, self.whole_vectors = leaves or {}, strided or {}, whole_vectors
        self.order = surely_needed(outputs, self.given)
        self.reciprocal = reciprocal and not any(criterion.asks_equality(t) for t in self.order)
        self.inputs = {t: self.leaf(t) for t in self.order if t.op is ARG or t in self.given}
        self.targets: dict[Any, Buf] = dict(targets or {})
        for k, t in enumerate(outputs):
            self.targets.setdefault(t, Buf(f"{prefix}out{k}", t.type.dtype, lengths[t], "output"))
        self.bodies: dict[Any, Any] = {}  # loops whose body is lowered already
        self.split: dict[Index, set[Any]] = {}  # roots of a shape that are left with a division in one loop
        self.rounds = 0
        self.late: list[Any] = []  # stored while a statement was made, after it had been pushed through
        self.dropped: set[Any] = set()  # forgotten while a statement is made: what is being pushed may still hold them
        self.cuts: dict[Any, None] = {t: None for t in self.order if t not in self.given and self.is_cut(t)}
        self.work = Worklist(self.order, self.given, lambda t: t in self.cuts, self._turn)
        self.scalars = Scalars(self.reciprocal, whole_vectors)
        self.repeats = Repeats(self.scalars)
        self.push = Push(lengths, self.inputs, self.scalars, judge=self._judged)
        self.push.rows_in_loops = rows_in_loops and are_many(lengths, self.order)
        self.push.joins = any(t.op.family.name == "join" for t in self.order)
        self.push.bufs.update((t, self._buf(t)) for t in self.cuts)
        for t in reversed(self.cuts):  # a product that is added to another one is added in its place
            if t.op.family.name == "gemm" and t.args[0].op is t.op:
                self.push.bufs[t.args[0]] = self.push.bufs[t]
        self.made: dict[Any, list[Any]] = {}  # the statements of each root
        self.cut_at: set[Poly] = set()  # indices along an axis of which each part has a statement of its own

    def is_cut(self, t: AnyTerm) -> bool:
        """Whether a term gets storage because its op needs it, or because nothing is to be fused."""
        name = t.op.family.name
        alone = not self.fuse and t.args and name not in MOVES and not _is_count(t)
        if not isinstance(t.type, TensorType) or not (alone or name in CUTS or name in self.lengths.calls):
            return False
        return t.op.family is not ifelse or is_lazy(t)

    def own_rule(self, t: AnyTerm) -> Any:
        """How a term is stored that has a rule of its own, or None; what is given is only copied."""
        if t in self.given:
            return None
        name = t.op.family.name
        if name in self.lengths.calls and name in CALLS:
            return CALLS[name]
        return None if t.op.family is ifelse and not is_lazy(t) else CUTS.get(name) or ROOTS.get(name)

    def leaf(self, t: Arg) -> Buf:
        """The buffer of a term that is read, not computed."""
        if t in self.given:
            return self.given[t]
        shape, kinds = self.lengths[t], self.strided.get(t)
        strides = None if kinds is None else strides_of(t.index, shape, kinds)
        return Buf(f"in{t.index}", t.type.dtype, shape, "input", strides)

    def run(self) -> Statements:
        """Decide what is stored; the statements are those made last."""
        self.settle()
        return self._result()

    # ------------------------------------------------------------------ deciding
    def settle(self) -> None:
        """Store terms until nothing more has to be: each time something is, so there is an end.

        Roots are written users first, folds after all others. What is to be stored is mostly seen while an index is
        pushed to it, and what was pushed is kept: only what lies between a newly stored term and the roots above it is
        pushed anew.
        """
        if not self.made:
            self.begin()
        while self.work.waiting or self.rounds == 0:
            self._work_off()
            self.rounds += 1
            new = self._unsettled()
            if not new:
                return
            again = [t for t in new if t in self.cuts]
            assert not again, f"stored already: {again[0]!r:.200}"
            for t in new:
                self.keep(t)

    def begin(self) -> None:
        """Write products, loops and routines: all that they read is known to be stored then."""
        for t in self.order:
            if t in self.cuts or t in self.targets:
                self.work.add(t)
        self._work_off(FIRST)

    def keep(self, t: Any) -> None:
        """Give a term storage, from now on; the elements of a constant lie somewhere as it is."""
        if t in self.cuts or (t.op is CONST and t.scalar is None):
            return
        self.cuts[t] = None
        self.push.bufs[t] = self._buf(t)
        self.work.add(t)
        if t in self.push.memo or t in self.dropped:
            self._forget(t)
            self.late.append(t)

    def _forget(self, t: Const | AnyTerm) -> None:
        """What was pushed through a term, and the statements it is part of."""
        memo, dropped = self.push.memo, self.dropped
        above = self.work.above(t, lambda u: u in memo or u in dropped)
        for u in (t, *above):
            if memo.pop(u, None) is not None:
                dropped.add(u)
        for u in above:
            if u in self.cuts or u in self.targets:
                self.work.add(u)

    def _judged(self, t: AnyTerm, index: Index, value: AnyTerm, asking: Asking) -> AnyTerm:
        """An element that has just been made, or what it is read from if it would be computed again and again."""
        s = self.scalars
        if t in self.cuts or t.op in (ARG, CONST):
            return value
        again = criterion.holes(s.free(value)) and (criterion.is_work(s, value) or self._is_row_of(value, asking))
        again = again or criterion.is_joined_for_many(self.lengths[t], asking[-1][0], index, value)
        if not again and not self.repeats.too_many(t, index, value):
            return value
        self.keep(t)
        buf = self.push.bufs[t]
        return s.load(buf, buf.offset(index))

    def _is_row_of(self, value: AnyTerm, asking: Asking) -> bool:
        """Whether all rows of the elementwise result that it is made for would compute it."""
        for wanted, _ in reversed(asking):
            if wanted is None or wanted[0].op.family.name in VIEWS:
                continue
            around = _union(p.fv for p in wanted[1])
            elementwise = wanted[0].op.kind == "elementwise" and not criterion.holes(around)
            return elementwise and criterion.is_long_in_every_row(self.scalars, value, around)
        return False

    def _work_off(self, last: int = FOLDS) -> None:
        while (t := self.work.pop(last)) is not None:
            self.dropped.clear()
            self._write(t)
            while self.late:  # while the statement was made, more was pushed through what is stored now
                self._forget(self.late.pop())

    def _unsettled(self) -> list[Any]:
        stores = [x for x in self.stores if isinstance(x, Store)]
        return criterion.unsettled(self.push, stores, self.cuts, self.cut_at)

    # ------------------------------------------------------------------ writing down
    def _buf(self, t: Const | AnyTerm) -> Buf:
        """Where a stored term lies; it has the number of the term."""
        name = f"{self.prefix}t{self.work.position[t]}"
        return self.targets.get(t) or Buf(name, t.type.dtype, self.lengths[t], "temp")

    def _result(self) -> Statements:
        """What was decided. Of constants only those are kept that are read: more was pushed than is."""
        bufs, s = self.push.bufs, self.scalars
        stores = places.checked_where_stored(s, self.stores)
        stores = places.checked_before(s, stores, self.prefix) if self.whole_vectors else stores
        stores = self._for_vectors(stores) if self.whole_vectors else stores
        computed = operands_first([t for x in stores for t in _scalars_of(x)])
        s.number_folds(computed)
        read = {t.op.params["buf"] for t in computed if t.op.family is LOAD}
        for x in stores:
            read |= {b for b, *_ in x.operands} if isinstance(x, Call) else set()
            read |= {b for b, _ in x.operands()} if isinstance(x, Compound) else set()
        consts = {t: b for t, b in bufs.items() if b.kind == "const" and b in read}
        written = [b for x in stores for b in _written(x)]
        temps = list(dict.fromkeys(b for b in written if b.kind == "temp"))
        for x in stores:
            consts |= x.consts if isinstance(x, Compound) else {}
        return Statements(
            stores, self.inputs, consts, list(self.targets.values()), temps, self.lengths, s,
            [t for t in self.order if t in self.cuts], self.rounds, self.push.pushes, {b: t for t, b in bufs.items()},
        )  # fmt: skip

    def _for_vectors(self, stores: list[Any]) -> list[Any]:
        """The statements with loops that take whole vectors."""
        pieces = self._split_by_index(stores)
        turns = turned(self.scalars, [x for x in pieces if isinstance(x, Store)], self.prefix) if self.fuse else {}
        return [y for x in pieces for y in turns.get(x, [x])]

    def _split_by_index(self, stores: list[Any]) -> list[Any]:
        plain = [x for x in stores if isinstance(x, Store)]
        fixed = [t for x in stores for t in (values(x.offset) if isinstance(x, Store) else _scalars_of(x))]
        written = Counter(b for x in stores for b in _written(x))
        pieces = index_sets.split(self.scalars, plain, set(operands_first(fixed)), written)
        return [y for x in stores for y in pieces.get(x, [x])]

    # ------------------------------------------------------------------ one statement
    @property
    def stores(self) -> list[Any]:
        """All statements made so far, in the order of the terms."""
        return [x for t in self.order for x in self.made.get(t, ())]

    def _write(self, t: Any) -> None:
        """The statements of one root."""
        self.made[t] = []
        self.root = t
        self.repeats.begin()
        buf = self.push.bufs[t] if t in self.cuts else self.targets[t]
        rule = self.own_rule(t)
        if rule is not None:
            rule(self, t, buf)
        else:
            self.store(t, buf, self.is_flat(t))

    def add(self, statement: Any) -> None:
        """One more statement of the root that is being written."""
        self.made[self.root].append(statement)

    def writes(self, t: AnyTerm) -> bool:
        """Whether this projection, the first, has the statement of all results of a loop, a choice or a routine."""
        return t is next(u for u in self.work.users[t.args[0]] if u.op.family is t.op.family)

    def _turn(self, t: AnyTerm) -> int:
        """When the statements of a root are made.

        What is made from arrays that have to lie somewhere comes first: these are stored before anything is pushed.
        Folds come last: what they are made of is mostly found to be stored where it is needed in every row.
        """
        name = t.op.family.name
        return FIRST if name in CUTS or name in self.lengths.calls else FOLDS if t.op.kind == "reduce" else OTHERS

    def is_computed(self, a: AnyTerm) -> bool:
        """Whether no view can show an operand: it is made element by element, and not stored."""
        while a.op.family.name in VIEWS and a not in self.push.bufs:
            a = a.args[0]
        return a.op.kind == "elementwise" and bool(a.args) and a not in self.push.bufs

    def is_flat(self, t: AnyTerm) -> bool:
        """Whether the loops over a shape are one: if no root of that shape is left with a division."""
        shape = self.lengths[t]
        if len([n for n in shape if n is not poly(1)]) < 2:
            return True
        split = self.split.setdefault(shape, set())
        before = bool(split)
        split.discard(t)
        if not split and not self._keeps_whole(t, shape):
            split.add(t)
        if bool(split) != before:
            for u in self.made:
                if u is not t and self.lengths[u] is shape and self.own_rule(u) is None:
                    self.work.add(u)
        return not split

    def _keeps_whole(self, t: AnyTerm, shape: Index) -> bool:
        value = self.value(t, unravelled(shape, poly(Var(0, product(shape)))))
        return value not in self.scalars.divides

    def store(self, t: AnyTerm, buf: Buf, flat: bool) -> None:
        """The ordinary statement: every element of t, in one loop or a nest; in several where arrays are joined."""
        shape = self.lengths[t]
        source = self._before_reshapes(t, buf)
        parts = parts_of(self, source) if self.push.joins else None
        if parts is not None:
            if source is not t or not self._store_whole_for_now(t, buf, parts):
                self.store_parts(source, buf, parts)
            return
        if flat and shape:
            var = Var(0, product(shape))
            whole = var.extent is not poly(1)
            index, vars = (unravelled(shape, poly(var)), [var]) if whole else ((ZERO,) * len(shape), [])
            place = poly(var) if whole else ZERO
        else:
            index, vars = nest(shape)
            fewer = self.whole_vectors and len(nest(self.lengths[source])[1]) < len(vars)
            if fewer and self._store_as_before(t, buf):
                return
            place = buf.offset(index)
        value = self.value(t, index)
        if value in self.scalars.divides:
            if self._store_as_before(t, buf):
                return
            if self._store_split(t, buf, shape, value):
                return
            self.keep_repeated(t, [value])
        self.add(Store(buf, place, value, vars))

    def keep_repeated(self, t: AnyTerm, values: Sequence[AnyTerm]) -> None:
        """Store reshaped arrays below a root whose statements take long to divide indices of theirs."""
        for u in repeated(self.push, self.cuts, t, values) if self.whole_vectors else ():
            if self.as_before(u, self._buf(u)) is not None:
                self.keep(u)

    def _store_whole_for_now(self, t: AnyTerm, buf: Buf, parts: Parts) -> bool:
        """One statement over the whole last axis, if that is cut in the end: others share its loops until then."""
        index, vars = nest(self.lengths[t])
        if not self.whole_vectors or parts.axis != len(index) - 1 or index[-1] is ZERO:
            return False
        value = self.value(t, index)
        if value in self.scalars.divides or not index_sets.boxes_of(self.scalars, value, vars):
            return False
        self.add(Store(buf, buf.offset(index), value, vars))
        return True

    def _store_split(self, t: AnyTerm, buf: Buf, shape: Index, value: Any) -> bool:
        """Stored by loops that are cut where an index of its value is divided; False if divisions are left."""
        index, vars, value = self._split(shape, value, lambda index: self.value(t, index))
        if value in self.scalars.divides:
            return False
        self.add(Store(buf, buf.offset(index), value, vars))
        return True

    def _split(self, shape: Index, value: Any, at: Callable[[Index], Any]) -> tuple[Index, list[Var], Any]:
        """Loops over a shape, cut until its element has no divisions if that can be: index, loops, element."""
        loops = SplitLoops(shape)
        for _ in range(ATTEMPTS):
            if value not in self.scalars.divides or not loops.cut(value, self.scalars.divides):
                break
            value = at(tuple(loops.index))
        return tuple(loops.index), loops.vars, value

    def _before_reshapes(self, t: AnyTerm, buf: Buf) -> AnyTerm:
        """What a reshaped array was, if the buffer holds it in the same order."""
        source = t
        while source.op.family is reshape and buf.strides is None and (source is t or source not in self.push.bufs):
            self.push.passed(source)
            source = source.args[0]
        return source

    def _store_as_before(self, t: AnyTerm, buf: Buf) -> bool:
        """Stored by the loops of the array that was reshaped, if that takes no division."""
        found = self.as_before(t, buf)
        if found is not None:
            self.add(Store(buf, *found))
        return found is not None

    def as_before(self, t: AnyTerm, buf: Buf) -> tuple[Poly, Any, list[Var]] | None:
        """How the loops of an array that was reshaped fill a buffer, which has the same order, without a division."""
        source = self._before_reshapes(t, buf)
        index, vars = nest(self.lengths[source])
        value = None if source is t else self.push.at(source, index)
        if value is None or value in self.scalars.divides:
            return None
        return row_major(self.lengths[source], index), value, vars

    def store_parts(self, t: AnyTerm, buf: Buf, parts: Parts) -> None:
        """A statement for each part of an axis of an array that lies in the buffer, reshaped there perhaps."""
        axis, ranges = parts
        whole = self.lengths[t]
        for start, length in ranges:
            shape = (*whole[:axis], length, *whole[axis + 1 :])
            place_at = partial(shifted, axis, start)
            flat = Var(0, product(shape))
            index, vars = unravelled(shape, poly(flat)), [flat]
            value = self.value(t, place_at(index))
            if value in self.scalars.divides or has_division(row_major(whole, place_at(index))):
                index, vars = nest(shape)
                value = self.value(t, place_at(index))
            if value in self.scalars.divides:
                split = self._split(shape, value, lambda index, at=place_at: self.value(t, at(index)))  # type: ignore[misc]
                index, vars, value = (index, vars, value) if split[2] in self.scalars.divides else split
            place = place_at(index)
            self.cut_at.add(place[axis])
            self.add(Store(buf, row_major(whole, place) if buf.strides is None else buf.offset(place), value, vars))

    def value(self, t: AnyTerm, index: Index) -> Any:
        """An element of a root, computed even if it has storage; what was given is only read, from where it lies."""
        given = self.inputs.get(t)
        return self.push.through(t, index) if given is None else self.scalars.load(given, given.offset(index))


def _scalars_of(x: Any) -> list[Any]:
    """What a statement computes."""
    if isinstance(x, Store):
        return [*values(x.offset), x.value]
    if isinstance(x, Call):
        return [x.options["alpha"]] if "alpha" in x.options else []
    return [x.condition] if isinstance(x, Choice) else []


def _written(x: Any) -> Sequence[Buf]:
    """The buffers that a statement writes."""
    return x.bufs if isinstance(x, Compound) else (x.buf,)


def _is_count(t: AnyTerm) -> bool:
    """Integers without axes: lengths are computed from them."""
    return isinstance(t.type, TensorType) and t.type.ndim == 0 and t.type.kind in "iub"
