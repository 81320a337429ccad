"""What gets storage. One criterion, read off scalar terms: a value is stored if it would be computed again and again.

That is so if a loop level outside its deepest variable is missing from its free variables (a *hole*), or if it is
needed at two different indices (*images*).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from termgraph.lower.lengths.index import EMPTY, ZERO, Poly, Var, divide, has_division, poly, product
from termgraph.lower.lengths.shapes import Lengths, NotLowerable
from termgraph.lower.loops.lazy import is_lazy, surely_needed
from termgraph.lower.loops.tree import Call, Compound
from termgraph.lower.memory.strides import Kinds, strides_of
from termgraph.lower.push.driver import Index, Push
from termgraph.lower.push.kernel import FOLD, HEAVY, INDEX, PICK, Buf, Scalars, kids, operands_first, own_cost, scalars
from termgraph.lower.storage.joins import Parts, parts_of
from termgraph.terms.op import ARG, CONST
from termgraph.terms.ops.control import ifelse
from termgraph.terms.ops.shaping import reshape
from termgraph.terms.traverse import children_first_until
from termgraph.terms.types import TensorType

DEEPEST_CHOICE = 3


@dataclass(eq=False)
class Store:
    """A statement: for all `vars`, `buf[offset] = value` (or +=). Stores of one buffer run in the order of `rank`."""

    buf: Buf
    offset: Poly
    value: Any
    vars: list[Var]
    mode: str = "set"
    rank: int = 0
    ordered: frozenset[Var] = EMPTY  # variables whose iterations must run in order
    apart: frozenset[Var] = EMPTY  # those of them whose iterations never meet at one place: a row each


@dataclass
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
    rounds: int = 1
    stored: dict[Buf, Any] = field(default_factory=dict)  # which term a buffer holds


CUTS: dict[str, Callable[[Storage, Any, Buf], None]] = {}  # ops that need storage of their own; filled by `cuts`
CALLS: dict[str, Callable[[Storage, Any, Buf], None]] = {}  # and those that are calls where the backend has them


ROOTS: dict[str, Callable[[Storage, Any, Buf], None]] = {}  # ops that are stored in parts, where they are stored at all


def root_rule(*families: str) -> Callable:
    """Declare how an op that could be fused is stored when it is a root: without a choice inside the loop."""

    def declare(rule: Callable) -> Callable:
        for name in families:
            ROOTS[name] = rule
        return rule

    return declare


def call_rule(*families: str) -> Callable:
    """Declare the library call for an op, made where the backend has one (`Lengths.calls`); then it is a cut."""

    def declare(rule: Callable) -> Callable:
        for name in families:
            CALLS[name] = rule
        return rule

    return declare


def cut_rule(*families: str) -> Callable:
    """Declare how an op that cannot be fused is stored: `rule(storage, term, buf)` adds its statements."""

    def declare(rule: Callable) -> Callable:
        for name in families:
            CUTS[name] = rule
        return rule

    return declare


# Ops that say where elements are, or pass results on: no storage even where nothing is fused.
MOVES = frozenset(("dimshuffle", "reshape", "subtensor", "alloc", "shape_i", "make_vector", "unbroadcast", "nth"))


class Storage:
    """Chooses what gets storage and pushes indices through everything else."""

    def __init__(
        self, outputs: Sequence[Any], lengths: Lengths, strided: Mapping[Any, Kinds] | None = None,
        reciprocal: bool = True, leaves: Mapping[Any, Buf] | None = None, prefix: str = "",
        targets: Mapping[Any, Buf] | None = None, fuse: bool = True,
    ):  # fmt: skip
        self.outputs, self.lengths, self.prefix, self.fuse = list(outputs), lengths, prefix, fuse
        self.given, self.strided = leaves or {}, strided or {}
        self.order = surely_needed(outputs, self.given)
        self.reciprocal = reciprocal and not any(_asks_equality(t) for t in self.order)
        self.inputs = {t: self.leaf(t) for t in self.order if t.op is ARG or t in self.given}
        self.targets: dict[Any, Buf] = dict(targets or {})
        for k, t in enumerate(outputs):
            self.targets.setdefault(t, Buf(f"{prefix}out{k}", t.type.dtype, lengths[t], "output"))
        self.bodies: dict[Any, Any] = {}  # loops whose body is lowered already
        self.cuts: dict[Any, None] = {t: None for t in self.order if t not in self.given and self.is_cut(t)}

    def is_cut(self, t: Any) -> bool:
        """Whether a term gets storage because its op needs it, or because nothing is to be fused."""
        name = t.op.family.name
        alone = not self.fuse and t.args and name not in MOVES and not _is_count(t)
        if not isinstance(t.type, TensorType) or not (alone or name in CUTS or name in self.lengths.calls):
            return False
        return t.op.family is not ifelse or is_lazy(t)

    def own_rule(self, t: Any) -> Any:
        """How a term is stored that has a rule of its own, or None; what is given is only copied."""
        if t in self.given:
            return None
        name = t.op.family.name
        if name in self.lengths.calls:
            return CALLS[name]
        return None if t.op.family is ifelse and not is_lazy(t) else CUTS.get(name) or ROOTS.get(name)

    def leaf(self, t: Any) -> Buf:
        """The buffer of a term that is read, not computed."""
        if t in self.given:
            return self.given[t]
        shape, kinds = self.lengths[t], self.strided.get(t)
        strides = None if kinds is None else strides_of(t.index, shape, kinds)
        return Buf(f"in{t.index}", t.type.dtype, shape, "input", strides)

    def run(self) -> Statements:
        """Repeat until nothing more has to be stored: each time something is, so there is an end."""
        rounds = 1
        while new := self._round():
            again = [t for t in new if t in self.cuts]
            assert not again, f"stored already: {again[0]!r:.200}"
            self.cuts.update(dict.fromkeys(new))
            rounds += 1
        return self._result(rounds)

    def _result(self, rounds: int) -> Statements:
        bufs = self.push.bufs
        consts = {t: b for t, b in bufs.items() if b.kind == "const"}
        written = [b for s in self.stores for b in (s.bufs if isinstance(s, Compound) else (s.buf,))]
        temps = list(dict.fromkeys(b for b in written if b.kind == "temp"))
        for s in self.stores:
            consts |= s.consts if isinstance(s, Compound) else {}
        return Statements(
            self.stores, self.inputs, consts, list(self.targets.values()), temps, self.lengths, self.scalars,
            list(self.cuts), rounds, {b: t for t, b in bufs.items()},
        )  # fmt: skip

    # ------------------------------------------------------------------ one round
    def _round(self) -> list[Any]:
        self.scalars = Scalars(self.reciprocal)
        bufs: dict[Any, Buf] = dict(self.inputs)
        for n, t in enumerate([t for t in self.order if t in self.cuts]):
            bufs[t] = self.targets.get(t) or Buf(f"{self.prefix}t{n}", t.type.dtype, self.lengths[t], "temp")
        self.push = Push(self.lengths, bufs, self.scalars)
        self.stores: list[Any] = []
        self.wanted: list[Any] = []
        self.cut_at: set[Poly] = set()  # indices along an axis of which each part has a statement of its own
        self.repeated: set[Any] = set()  # loops whose statement is made
        roots = [t for t in self.order if t in self.cuts or t in self.targets]
        flat = self._flat_shapes(roots)
        for t in roots:
            buf = bufs.get(t) if t in self.cuts else self.targets[t]
            assert buf is not None
            rule = self.own_rule(t)
            if rule is not None:
                rule(self, t, buf)
            else:
                self.store(t, buf, flat[self.lengths[t]])
        return list(dict.fromkeys(self.wanted)) or self._choose()

    def _flat_shapes(self, roots: list[Any]) -> dict[Index, bool]:
        """Which shapes become one flat loop: those where no root of that shape is left with a division."""
        flat: dict[Index, bool] = {}
        for t in roots:
            shape = self.lengths[t]
            if self.own_rule(t) is not None:
                continue
            if flat.get(shape, True):
                flat[shape] = len([n for n in shape if n is not poly(1)]) < 2 or self._keeps_whole(t, shape)
        return flat

    def _keeps_whole(self, t: Any, shape: Index) -> bool:
        value = self.value(t, unravelled(shape, poly(Var(0, product(shape)))))
        return value not in self.scalars.divides

    def store(self, t: Any, buf: Buf, flat: bool) -> None:
        """The ordinary statement: every element of t, in one loop or a nest; in several where arrays are joined."""
        shape = self.lengths[t]
        parts = parts_of(self, t)
        if parts is not None:
            self.store_parts(t, buf, parts)
            return
        if flat and shape:
            var = Var(0, product(shape))
            self.stores.append(
                Store(buf, poly(var), self.value(t, unravelled(shape, poly(var))), [var])
                if var.extent is not poly(1)
                else Store(buf, ZERO, self.value(t, (ZERO,) * len(shape)), [])
            )
            return
        index, vars = nest(shape)
        value = self.value(t, index)
        if value in self.scalars.divides and self._store_as_before(t, buf):
            return
        self.stores.append(Store(buf, buf.offset(index), value, vars))

    def _store_as_before(self, t: Any, buf: Buf) -> bool:
        """A reshaped array, stored by the loops of the array it was: it lies in the same order, without divisions."""
        source = t
        while source.op.family is reshape and (source is t or source not in self.push.bufs):
            source = source.args[0]
        if source is t or buf.strides is not None:
            return False
        index, vars = nest(self.lengths[source])
        value = self.value(source, index)
        if value in self.scalars.divides:
            return False
        self.stores.append(Store(buf, _row_major(self.lengths[source], index), value, vars))
        return True

    def store_parts(self, t: Any, buf: Buf, parts: Parts) -> None:
        """A statement for each part of an axis."""
        axis, ranges = parts
        for start, length in ranges:
            shape = (*self.lengths[t][:axis], length, *self.lengths[t][axis + 1 :])
            flat = Var(0, product(shape))
            index, vars = unravelled(shape, poly(flat)), [flat]
            place, value = self._moved(t, index, axis, start)
            if value in self.scalars.divides or has_division(buf.offset(place)):
                index, vars = nest(shape)
                place, value = self._moved(t, index, axis, start)
            self.cut_at.add(place[axis])
            self.stores.append(Store(buf, buf.offset(place), value, vars))

    def _moved(self, t: Any, index: Index, axis: int, start: Poly) -> tuple[Index, Any]:
        """The place of an element of a part, and the element."""
        place = (*index[:axis], index[axis] + start, *index[axis + 1 :])
        return place, self.value(t, place)

    def value(self, t: Any, index: Index) -> Any:
        """An element of a root, computed even if it has storage; what was given is only read, from where it lies."""
        given = self.inputs.get(t)
        return self.push.through(t, index) if given is None else self.scalars.load(given, given.offset(index))

    # ------------------------------------------------------------------ the criterion
    def _choose(self) -> list[Any]:
        """Terms to store in the next round; of two, one above the other, only the inner one."""
        s, origin = self.scalars, self.push.origin
        new: dict[Any, None] = {}
        images: dict[Any, set] = {}
        for t in scalars([x.value for x in self.stores if isinstance(x, Store)]):
            if t.op.family is PICK:
                self._folds_in_arms(t, new)
            heavy = own_cost(t) >= HEAVY or t in s.costly
            if not (heavy or t.op.family in (FOLD, INDEX)) or t not in origin:
                continue
            source = origin[t][0]
            if source in self.cuts or source.op in (ARG, CONST):
                continue
            if heavy or t.op.family is FOLD:
                images.setdefault(source, set()).add(self._image(t))
                if holes(s.free(t)):
                    new[source] = None
        new.update((t, None) for t, found in images.items() if len(found) > 1)
        self._deep_choices(new)
        return self._inner(list(new))

    def _image(self, t: Any) -> Any:
        """What is the same for elements that are computed once: the parts of an axis have different ones."""
        index = self.push.origin[t][1]
        return t if self.cut_at.isdisjoint(index) else tuple([None if p in self.cut_at else p for p in index])

    def _folds_in_arms(self, pick: Any, new: dict[Any, None]) -> None:
        """A fold cannot run inside a choice: store it (unless it is the same for all elements)."""
        s, origin = self.scalars, self.push.origin
        for arm in pick.args[1:]:
            for f in sorted((f for f in s.needs(arm) if not isinstance(f, Buf)), key=lambda f: f._h):
                if s.free(f) and f in origin and origin[f][0] not in self.cuts:
                    new[origin[f][0]] = None

    def _deep_choices(self, new: dict[Any, None]) -> None:
        """Choices within choices: each arm repeats what is inside, so a few levels are the most."""
        depth: dict[Any, int] = {}
        for t in operands_first([x.value for x in self.stores if isinstance(x, Store)]):
            inner = max([depth[a] for a in kids(t)], default=0)
            depth[t] = inner + (t.op.family is PICK)
        if max(depth.values(), default=0) <= DEEPEST_CHOICE:
            return
        for t, d in depth.items():
            if d == DEEPEST_CHOICE and t.op.family is PICK and t in self.push.origin:
                source = self.push.origin[t][0]
                if source not in self.cuts and source.args:
                    new[source] = None

    def _inner(self, new: list[Any]) -> list[Any]:
        """Storing an inner term may make the outer one needless, unless something stored lies between them."""
        if len(new) < 2:
            return new
        among = set(new)
        has_inner: dict[Any, bool] = {}
        for t in children_first_until(new, {id(t): t for t in self.cuts}):
            has_inner[t] = any(has_inner[a] or a in among for a in t.args if a not in self.cuts)
        return [t for t in new if not has_inner[t]]


def _is_count(t: Any) -> bool:
    """Integers without axes: lengths are computed from them."""
    return isinstance(t.type, TensorType) and t.type.ndim == 0 and t.type.kind in "iub"


def _asks_equality(t: Any) -> bool:
    """Whether floats are compared for equality, as gradients of extremes do: they must be rounded alike everywhere."""
    return t.op.kind == "elementwise" and t.op.family.name in ("eq", "neq") and t.args[0].type.kind in "fc"


def holes(free: frozenset[Var]) -> list[int]:
    """Loop levels outside the deepest variable that are missing."""
    levels = {v.level for v in free}
    return [k for k in range(max(levels, default=0)) if k not in levels]


def _row_major(shape: Index, index: Index) -> Poly:
    """The flat position of an index."""
    flat = ZERO
    for n, i in zip(shape, index):
        flat = flat * n + i
    return flat


def unravelled(shape: Index, flat: Poly) -> Index:
    """The index whose flat position is given."""
    out: list[Poly] = []
    for n in reversed(shape[1:]):
        flat, rest = divide(flat, n)
        out.append(rest)
    return (flat, *reversed(out)) if shape else ()


def nest(shape: Index, level: int = 0) -> tuple[Index, list[Var]]:
    """One loop variable per dimension that is not of length one."""
    index: list[Poly] = []
    vars: list[Var] = []
    for n in shape:
        if n is poly(1):
            index.append(ZERO)
        else:
            vars.append(Var(level + len(vars), n))
            index.append(poly(vars[-1]))
    return tuple(index), vars


__all__ = [
    "CALLS",
    "CUTS",
    "Call",
    "NotLowerable",
    "Statements",
    "Storage",
    "Store",
    "call_rule",
    "cut_rule",
    "holes",
    "nest",
    "root_rule",
    "unravelled",
]
