"""Kernel terms: the scalar elements that loops compute, as ordinary interned 0-d terms.

Element-wise ops are those of the op table; this module adds the few ops that only kernels have (load, fold, pick, index
numbers and tests) and what the planner asks of a term: free variables, dependencies, cost.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np

from termgraph.lower.lengths.index import (
    EMPTY,
    ONE,
    ZERO,
    Poly,
    Value,
    Var,
    _union,
    has_division,
    less,
    nonneg,
    plus,
    poly,
    substitute,
    times,
    values,
)
from termgraph.lower.push.within import bounds
from termgraph.terms.hashing import stable_hash
from termgraph.terms.op import Op, cost_of
from termgraph.terms.ops.elementwise import add, cast, loop_dtypes, sub, true_div
from termgraph.terms.ops.elementwise import mul as mul_op
from termgraph.terms.ops.elementwise import reciprocal as reciprocal_op
from termgraph.terms.term import AnyTerm, Const, mk, mk0
from termgraph.terms.types import TensorType

Needs: TypeAlias = "frozenset[AnyTerm | Buf]"  # the folds and the buffers that must be there before a term


# ---------------------------------------------------------------------- storage
class Buf:
    """Storage that kernels read or write. Interned: same name, dtype, shape and layout is the same object.

    `kind` is input, const, output, temp (lives through a call) or row (lives inside one loop). `strides` None means
    C-contiguous.
    """

    __slots__ = ("__weakref__", "dtype", "kind", "name", "shape", "strides")
    _table: weakref.WeakValueDictionary[tuple[Any, ...], Buf] = weakref.WeakValueDictionary()
    name: str
    dtype: str
    shape: tuple[Poly, ...]
    kind: str
    strides: tuple[Poly, ...] | None

    def __new__(
        cls, name: str, dtype: str, shape: tuple[Poly, ...], kind: str, strides: tuple[Poly, ...] | None = None
    ) -> Buf:
        key = cls._key(name, dtype, shape, kind, strides)
        found = cls._table.get(key)
        if found is None:
            found = object.__new__(cls)
            found.name, found.dtype, found.shape, found.kind, found.strides = name, dtype, tuple(shape), kind, strides
            found = cls._table.setdefault(key, found)
        return found

    @staticmethod
    def _key(
        name: str, dtype: str, shape: Iterable[Poly], kind: str, strides: Iterable[Poly] | None
    ) -> tuple[Any, ...]:
        layout = None if strides is None else tuple([s.key for s in strides])
        return name, dtype, tuple([s.key for s in shape]), kind, layout

    @property
    def _h(self) -> int:
        """For the hash of what has it as a parameter; few of these are asked for theirs."""
        return stable_hash(*self._key(self.name, self.dtype, self.shape, self.kind, self.strides))

    def offset(self, index: Iterable[Poly]) -> Poly:
        """Position of an element, in elements."""
        out, step = ZERO, ONE
        index = list(index)
        for d in reversed(range(len(index))):
            out = plus(out, times(index[d], step if self.strides is None else self.strides[d]))
            step = times(step, self.shape[d])
        return out

    def __repr__(self) -> str:
        return self.name


# ---------------------------------------------------------------------- the ops that only kernels have
def _scalar(dtype: str) -> TensorType:
    return TensorType.of(dtype, ())


def _no_meaning(*_: object, **__: object) -> Any:
    raise NotImplementedError("a kernel term has no meaning outside its loop")


def _kernel_op(name: str, arity: int, infer: Callable[..., Any], **params: Any) -> Op:
    return Op(name, arity=arity, infer=infer, meaning=_no_meaning, kind="kernel", cost=0, params=params)


COUNTING = (add, sub, mul_op)  # integers that indices are made of
ARG_FOLDS = {"argmax": "max", "argmin": "min"}
LOAD = _kernel_op("load", 0, lambda *, buf, offset: _scalar(buf.dtype), buf=None, offset=None)
FOLD = _kernel_op("fold", 1, lambda t, *, kind, var: _scalar("int64") if kind in ARG_FOLDS else t, kind="", var=None)
PICK = _kernel_op("pick", 3, lambda c, a, b: a)
IVAL = _kernel_op("ival", 0, lambda *, index: _scalar("int64"), index=None)
ITEST = _kernel_op("itest", 0, lambda *, test, a, b: _scalar("bool"), test="", a=None, b=None)
INDEX = _kernel_op("index", 1, lambda t, *, length, site: _scalar("int64"), length=None, site=0)
PLACE = _kernel_op("place", 1, lambda t, *, length: t, length=None)  # an index that needs no check, or none any more
TRUE, FALSE = Const(True), Const(False)

HEAVY = 15


def own_cost(t: AnyTerm) -> int:
    """Rough weight of computing one element of a term, its arguments not counted. A multiplication is 1."""
    return cost_of(t.op, len(t.args)) if t.args else 0


# ---------------------------------------------------------------------- making them
class Scalars:
    """Makes kernel terms and remembers of each which loop variables are free in it and what it depends on."""

    def __init__(self, reciprocal: bool = True, whole_vectors: bool = False) -> None:
        self.reciprocal, self.whole_vectors = reciprocal, whole_vectors
        self.fv: dict[Any, frozenset[Var]] = {}
        self.loads: dict[tuple[Buf, Poly], Any] = {}  # by buffer and offset
        self.loaded: dict[str, Any] = {}  # what all loads of a dtype have as their signature
        self.deps: dict[Any, Needs] = {}
        self.divides: set[Any] = set()  # terms below which an index is divided
        self.costly: set[Any] = set()  # folds that are written out, and are worth keeping
        self.fold_order: dict[Any, int] = {}  # folds in the order they were made: alike where graphs are alike

    # what is known of a term
    def free(self, t: AnyTerm) -> frozenset[Var]:
        """Free loop variables."""
        found = self.fv.get(t)
        return found if found is not None else EMPTY

    def needs(self, t: AnyTerm) -> Needs:
        """The folds and the buffers written by this program that are read below t."""
        found = self.deps.get(t)
        return found if found is not None else EMPTY

    def index_needs(self, p: Poly) -> Needs:
        """The same for an index."""
        return _union(self.needs(v) for v in values(p))

    def number_folds(self, terms: Iterable[Any]) -> None:
        """Put folds in the order in which a finished program has them, whatever was made on the way to it."""
        order = dict.fromkeys([*[t for t in terms if t.op.family is FOLD], *self.fold_order])
        self.fold_order = {t: k for k, t in enumerate(order)}

    # making
    def make(self, op: Op, args: tuple[AnyTerm, ...]) -> AnyTerm:
        """The term op(*args), simplified where that is free of rounding."""
        if op.family is cast and args[0].__class__ is Const:
            return Const(op.meaning(args[0].value))
        if op is true_div and self.reciprocal and self._per_row(args):
            inverse = self._note(mk(reciprocal_op, (args[1],)))
            return self._note(mk(mul_op, (args[0], inverse)))
        counted = self._counted(op, args)
        return self._note(mk(op, args)) if counted is None else self.number(counted)

    def _counted(self, op: Op, args: tuple[AnyTerm, ...]) -> Poly | None:
        """What is added up of counts of loops, as an index: bounds of it are known."""
        if op.family not in COUNTING or not any(a.op.family is IVAL for a in args):
            return None
        found = [p for a in args if (p := _as_index(a)) is not None]
        if len(found) < len(args):
            return None
        first, *others = found
        for q in others:
            if op.family is mul_op and first.fv and q.fv:
                return None
            first = first + q if op.family is add else first - q if op.family is sub else times(first, q)
        return first

    def again(self, op: Op, args: tuple[AnyTerm, ...]) -> AnyTerm:
        """The term op(*args) as it is: what was made once is made of other operands."""
        return self._note(mk(op, args))

    def _per_row(self, args: tuple[AnyTerm, ...]) -> bool:
        """Whether the divisor is a fold's result shared by many elements: then divide once and multiply."""
        x, y = args
        return x.type.kind == "f" and self.free(y) < self.free(x) and bool(self.needs(y))

    def _note(self, t: AnyTerm) -> AnyTerm:
        if t not in self.fv and t.args:
            fv, deps = self.fv.get, self.deps.get
            self.fv[t] = _union([fv(a, EMPTY) for a in t.args])
            self.deps[t] = _union([deps(a, EMPTY) for a in t.args])
            if not self.divides.isdisjoint(t.args):
                self.divides.add(t)
        return t

    def _note_index(self, t: AnyTerm, *index: Poly) -> AnyTerm:
        if t not in self.fv:
            self.fv[t] = index[0].fv if len(index) == 1 else _union(p.fv for p in index)
            below = [v for p in index for v in p.values]
            self.deps[t] = _union([self.needs(v) for v in below])
            if any(map(has_division, index)) or not self.divides.isdisjoint(below):
                self.divides.add(t)
        return t

    def elementwise(self, op: Op, args: tuple[AnyTerm, ...]) -> AnyTerm:
        """op(*args) with the casts to its loop's dtypes made explicit."""
        loop = _loop(op, tuple([a.type for a in args]))
        return self.make(op, tuple([self.cast(a, d) for a, d in zip(args, loop)]))

    def cast(self, t: AnyTerm, dtype: str) -> AnyTerm:
        """t in another dtype."""
        return t if t.type.dtype == dtype else self.make(cast.bind(dtype=dtype), (t,))

    def load(self, buf: Buf, offset: Poly) -> AnyTerm:
        """The element of a buffer."""
        t = self.loads.get((buf, offset))
        if t is None:
            op, sig = LOAD.bound((buf, offset)), self.loaded.get(buf.dtype)
            t = self.loads[buf, offset] = self._note_index(mk(op, ()) if sig is None else mk0(op, sig), offset)
            self.loaded[buf.dtype] = t.sig
            if buf.kind not in ("input", "const"):
                self.deps[t] = self.deps[t] | {buf}
        return t

    def fold(self, kind: str, var: Var, body: AnyTerm) -> AnyTerm:
        """The reduction of body over a loop variable."""
        t = mk(FOLD.bound((kind, var)), (body,))
        if t not in self.fv:
            self.fv[t] = (self.free(body) | var.extent.fv) - {var}
            assert all(v.level < var.level for v in self.fv[t]), f"a fold at level {var.level} inside its own body"
            self.deps[t] = self.needs(body) | {t}
            self.fold_order[t] = len(self.fold_order)
            if body in self.divides:
                self.divides.add(t)
        return t

    def pick(self, cond: AnyTerm, a: AnyTerm, b: AnyTerm) -> AnyTerm:
        """Lazy choice: the arm not chosen is never computed, so its loads may be out of range."""
        if cond.__class__ is Const:
            return a if cond.scalar else b
        return a if a is b else self._one_load(cond, a, b) or self._note(mk(PICK, (cond, a, b)))

    def _one_load(self, cond: AnyTerm, a: AnyTerm, b: AnyTerm) -> AnyTerm | None:
        """The same of two places of an array, as a load from a chosen place: no branch in a loop, no masked loads."""
        made: dict[tuple[AnyTerm, AnyTerm], AnyTerm] = {}
        todo = [(a, b)]  # a stack of our own: arms are as deep as what is not stored
        while todo:
            x, y = pair = todo[-1]
            both: AnyTerm | None = x if x is y else made.get(pair)
            if both is None and x.op.family is LOAD and y.op.family is LOAD:
                both = self._load_chosen(cond, x, y) if x.op.params["buf"] is y.op.params["buf"] else None
            elif both is None and x.op is y.op and x.args and len(x.args) == len(y.args) and x.op.kind == "elementwise":
                pairs = list(zip(x.args, y.args))
                if missing := [p for p in pairs if p not in made]:
                    todo += missing
                    continue
                both = self.make(x.op, tuple([made[p] for p in pairs]))
            if both is None:
                return None
            made[pair] = both
            todo.pop()
        return made[a, b]

    def _load_chosen(self, cond: AnyTerm, a: AnyTerm, b: AnyTerm) -> AnyTerm | None:
        """A load from one of two places that are a fixed number apart: from the lower one, and that number or 0 on."""
        p, q = a.op.params["offset"], b.op.params["offset"]
        away = p - q
        at_one, fixed = (None, away) if not away.fv else _in_one_arm(cond, away)
        if values(fixed) or fixed.fv:
            return None
        zero, positive = Const(np.zeros((), "int64")), nonneg(fixed)
        if not positive and not nonneg(-fixed):
            return None
        arms = (self.number(fixed), zero) if positive else (zero, self.number(-fixed))
        more = self._note(mk(PICK, (cond, *arms)))
        if at_one is None:
            base = q if positive else p
        elif at_one:  # the first arm is at a known number only, where its place is this far from that of the second
            base = q if positive else q + fixed
        else:
            base = p - fixed if positive else p
        return self.load(
            a.op.params["buf"], base + poly(Value(more, self.free(more), (fixed if positive else -fixed) + 1))
        )

    def number(self, index: Poly, dtype: str = "int64") -> AnyTerm:
        """An index as a number."""
        if index.const is not None:
            return Const(np.asarray(index.const, dtype=dtype))
        return self.cast(self._note_index(mk(IVAL.bind(index=index), ()), index), dtype)

    def test(self, test: str, a: Poly, b: Poly) -> AnyTerm:
        """a < b (lt), a <= b (le), a == b (eq), decided by bounds where possible."""
        if test == "le":
            test, b = "lt", b + 1
        if test == "lt":
            if less(a, b):
                return TRUE
            if nonneg(a - b):
                return FALSE
        elif a is b:
            return TRUE
        elif less(a, b) or less(b, a):
            return FALSE
        return self._note_index(mk(ITEST.bind(test=test, a=a, b=b), ()), a, b)

    def index(self, value: AnyTerm, length: Poly, site: int) -> Poly:
        """An integer value as an index into `length` elements: checked, negative ones count from the end."""
        if value.__class__ is Const and length.const is not None and -length.const <= value.scalar < length.const:
            return poly(value.scalar % length.const)
        if value.__class__ is Const and value.scalar >= 0 and less(value.scalar, length):
            return poly(value.scalar)
        if value.op.family is IVAL and nonneg(value.op.params["index"]) and less(value.op.params["index"], length):
            number: Poly = value.op.params["index"]
            return number
        if length.const is not None and (within := bounds(value))[0] >= 0 and within[1] < length.const:
            t = self._note(mk(PLACE.bind(length=length), (self.cast(value, "int64"),)))
        else:
            t = self._note(mk(INDEX.bind(length=length, site=site), (self.cast(value, "int64"),)))
        return poly(Value(t, self.free(t), length))


def _as_index(t: AnyTerm) -> Poly | None:
    """A number of 64 bits that is an index, or a constant."""
    if t.op.family is IVAL:
        index: Poly = t.op.params["index"]
        return index
    return poly(int(t.scalar)) if t.__class__ is Const and t.type.dtype == "int64" else None


def _in_one_arm(cond: AnyTerm, away: Poly) -> tuple[bool | None, Poly]:
    """A polynomial where a condition holds (True) or does not (False), if a loop has its first or last number there."""
    if cond.op.family is ITEST and cond.op.params["test"] == "lt" and len(away.fv) == 1:
        (v,) = away.fv
        least = cond.op.params["b"] - cond.op.params["a"] + poly(v)  # the condition is that v is below
        if least.const == 1:
            return True, substitute(away, {v: ZERO})
        if v not in least.fv and (last := v.extent - 1) is least:
            return False, substitute(away, {v: last})
    return None, away


@functools.lru_cache(maxsize=4096)
def _loop(op: Op, types: tuple[TensorType, ...]) -> tuple[str, ...]:
    return tuple([d.name for d in loop_dtypes(op, tuple([t.np_dtype for t in types]))])


# ---------------------------------------------------------------------- looking at them
def kids(t: AnyTerm) -> tuple[AnyTerm, ...]:
    """The scalar terms a term is computed from: its arguments, and values used in its indices."""
    family = t.op.family
    if family is LOAD:
        offset: Poly = t.op.params["offset"]
        return offset.values
    if family is IVAL:
        index: Poly = t.op.params["index"]
        return index.values
    if family is ITEST:
        return (*t.op.params["a"].values, *t.op.params["b"].values)
    return t.args


def scalars(roots: Iterable[Any], stop: Callable[..., Any] | None = None) -> list[Any]:
    """Every scalar term below the roots, users first; `stop(t)` keeps from going below t."""
    seen: dict[Any, None] = {}
    stack = list(roots)
    while stack:
        t = stack.pop()
        if t in seen:
            continue
        seen[t] = None
        if stop is None or not stop(t):
            stack += t.args or kids(t)  # few have operands in an index, and those have no others
    return list(seen)


def operands_first(roots: Iterable[Any], stop: Callable[..., Any] | None = None) -> list[Any]:
    """Every scalar term below the roots, what it is computed from first; `stop(t)` keeps from going below t."""
    seen: set[Any] = set()
    out: list[Any] = []
    stack = list(roots)
    while stack:
        t = stack.pop()
        if t is None:
            out.append(stack.pop())
        elif t not in seen:
            seen.add(t)
            below = (t.args or kids(t)) if stop is None or not stop(t) else ()
            if below:
                stack.append(t)
                stack.append(None)
                stack.extend(below)
            else:
                out.append(t)
    return out
