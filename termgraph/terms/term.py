"""Terms: interned, typed expression tuples. Equal ground terms are the same object; leaves share their interface.

A graph literally is an `etuples.ExpressionTuple`, so kanren, unification and cons work on it unmodified. Every term and
leaf has `op, args, type, lvars` (free logic variables), `_h` (structural hash) and the rewriter's memo `_st, _nf`.
"""

from __future__ import annotations

import ctypes
import gc
from typing import Any, TypeAlias

import numpy as np

from termgraph import _collector
from termgraph.terms.dtypes import promote
from termgraph.terms.errors import GraphError, ShapeError
from termgraph.terms.interned import TABLES, Interned, Ref, settled
from termgraph.terms.leaves import EMPTY, Arg, Const, Input, Leaf, Lit, all_leaves
from termgraph.terms.logic import ExpressionTuple, Var
from termgraph.terms.op import Lift, Op, is_var, set_open_lifter
from termgraph.terms.signature import Signature
from termgraph.terms.text import one_line
from termgraph.terms.types import TensorType, TupleType, Type

_new: Any = object.__new__
_OPEN = Interned()  # the terms whose head is a metavariable


def _gc_untracker() -> Any:
    """`PyObject_GC_UnTrack` of CPython, or nothing where there is none.

    A term is immutable and points only to older terms, so it is never part of a reference cycle. Left tracked, graphs
    of 1e5 terms are walked again and again by the cycle collector, which then costs twice as much as building them.
    """
    try:
        untrack = ctypes.pythonapi.PyObject_GC_UnTrack
        untrack.argtypes, untrack.restype = [ctypes.py_object], None
    except (ImportError, AttributeError, ValueError):
        return lambda obj: None
    return untrack


_untrack = untrack = _gc_untracker()
_collecting = gc.isenabled


def track(obj: object) -> None:
    """Give an untracked object back to the cycle collector, before it can become part of a cycle."""
    if not gc.is_tracked(obj):
        function = ctypes.pythonapi.PyObject_GC_Track
        function.argtypes, function.restype = [ctypes.py_object], None
        function(obj)


class Rest(ExpressionTuple):  # type: ignore[misc]  # etuples has no types
    """What is left of a term without its operator, the cdr: with an operator in front of it, it is a term again.

    So `cons(car(t), cdr(t)) is t`, and `cons(op, cdr(t))` is the term of another operator, where there is such a term.
    """

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        parts = (*self._tuple, *other)
        head, operands = parts[0], parts[1:]
        if isinstance(head, Op) and operands and all(map(is_term, operands)):
            try:
                return mk(head, operands)
            except (TypeError, ValueError):  # no term: operands that do not fit the operator
                return ExpressionTuple(parts)
        return Rest(parts)


class _Walked(ExpressionTuple):  # type: ignore[misc]  # etuples has no types
    """The slots that a walk of the rewriter reads: with those of the expression tuple they fill one line of the cache.

    Python puts the slots of a class behind those of its base, in the order of their names. With `_hash` in front of
    these and `args` and `op` behind them a walk over terms read three lines for each (two of it, one of its operands)
    instead of two.
    """

    __slots__ = ("_nf", "_st", "args")
    args: tuple[Any, ...]  # terms; of a pattern also logic variables and numbers


class Term(_Walked):
    """An operation applied to terms: the expression tuple `(op, *args)` with a type."""

    __slots__ = ("__weakref__", "_hash", "_notes", "lvars", "type")
    op: Any
    type: Any
    lvars: frozenset[Var]
    _hash: int | None
    _st: Any
    _nf: Any
    _facts: Any  # these two as in `Leaf`: numbers and notes
    _notes: Any
    sig: Any  # its signature; None if there are logic variables in it

    def __new__(cls, seq: tuple[Any, ...] | None = None, **kwargs: Any) -> Any:
        # kanren and cons write type(x)(seq): they get a plain expression tuple; only an op makes a typed term.
        return ExpressionTuple(seq, **kwargs)

    __array_ufunc__ = None
    __hash__ = object.__hash__

    def __array__(self, *_: object, **__: object) -> Any:
        raise TypeError("a term is not an array; compile it with function(), or evaluate it with eval()")

    def __eq__(self, other: object) -> bool:
        return self is other

    @property
    def params(self) -> Any:
        """The parameters of the head."""
        return self.op.params

    @property
    def _h(self) -> int:
        # Worked out when somebody asks: most terms are replaced before that.
        return _structural_hash(self) if self._hash is None else self._hash

    @property
    def _tuple(self) -> tuple[Any, ...]:
        # Made when etuples, kanren or a printer asks: a stored copy would cost every term 70 bytes.
        return (self.op, *self.args)

    def __getitem__(self, key: slice) -> Any:
        found = self._tuple[key]
        if key.__class__ is slice:
            return Rest(found) if key == slice(1, None) else ExpressionTuple(found)
        return found

    def __add__(self, other: object) -> Any:
        return ExpressionTuple(self._tuple) + other

    def __copy__(self) -> Term:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Term:
        return self

    def _eval_step(self) -> Any:
        yield self

    @property
    def evaled_obj(self) -> Term:
        """A term is its own value: plain expression tuples evaluate to terms."""
        return self

    # An expression tuple has slots for these two and for `_tuple`. A term needs none: they hold other things here,
    # which are read with those of `_Walked`.
    _facts, op, sig = ExpressionTuple._parent, ExpressionTuple._evaled_obj, ExpressionTuple.__dict__["_tuple"]
    _evaled_obj, _parent = evaled_obj, None

    def __repr__(self) -> str:
        return one_line(self)

    __str__ = __repr__


AnyTerm: TypeAlias = Term | Leaf  # what stands in a graph: a term, or one of the leaves, which have the same interface


def mk(op: Op | Var, args: tuple[Any, ...]) -> AnyTerm:
    """The term `op(*args)`: found if it exists, else typed and interned."""
    if len(args) == 2:
        return mk2(op, *args)
    if len(args) == 1:
        return mk1(op, args[0])
    found = _found(op, args)
    return _make(op, args) if found is None else found


def _found(op: Op, args: tuple[Any, ...]) -> AnyTerm | None:
    """The term if it exists, else None."""
    try:
        ref = op.sigs.terms.get(args)
    except AttributeError:
        ref = _OPEN.terms.get((op, *args))
    found: AnyTerm | None = None if ref is None else ref()
    return found


def mk0(op: Op, sig: Signature) -> AnyTerm:
    """`mk` for no arguments, of which the signature is known."""
    found = _found(op, ())
    return _intern(op, (), sig, EMPTY) if found is None else found


def mk1(op: Op | Var, a: Any) -> AnyTerm:
    """`mk` for one argument."""
    args = (a,)
    try:
        sigs = op.sigs
        ref = sigs.terms.get(args)
        if ref is not None:
            term: AnyTerm | None = ref()
            if term is not None:
                return term
        # only ground terms have a kind, and only ops have a table: nothing else to check
        sig = sigs.table[a.sig.kind]
    except (KeyError, AttributeError):
        return _make(op, args)
    t: Term = _new(Term)  # from here on `_intern`, written out: a call would cost a tenth of it
    t.op = op
    t.args = args
    t.sig = sig
    t.type = sig.type
    t.lvars = EMPTY
    t._st = t._nf = t._notes = t._hash = None
    t._facts = 0
    ref = Ref(t, sigs.drop)
    ref.key = args
    if sigs.terms.setdefault(args, ref) is not ref:
        return settled(sigs.terms, t, ref)
    if not _collector.resting and _collecting():
        _untrack(t)
        _untrack(ref)
    return t


def mk2(op: Op | Var, a: Any, b: Any) -> AnyTerm:
    """`mk` for two arguments."""
    args = (a, b)
    try:
        sigs = op.sigs
        ref = sigs.terms.get(args)
        if ref is not None:
            term: AnyTerm | None = ref()
            if term is not None:
                return term
        sig = sigs.table[a.sig.kind, b.sig.kind if a is not b else None]
    except (KeyError, AttributeError):
        return _make(op, args)
    t: Term = _new(Term)  # as in `mk1`
    t.op = op
    t.args = args
    t.sig = sig
    t.type = sig.type
    t.lvars = EMPTY
    t._st = t._nf = t._notes = t._hash = None
    t._facts = 0
    ref = Ref(t, sigs.drop)
    ref.key = args
    if sigs.terms.setdefault(args, ref) is not ref:
        return settled(sigs.terms, t, ref)
    if not _collector.resting and _collecting():
        _untrack(t)
        _untrack(ref)
    return t


_GROUND: frozenset[Var] = frozenset((Term, Input, Arg, Const))


def _make(op: Op, args: tuple[Any, ...]) -> AnyTerm:
    """The term, which may have come to exist meanwhile."""
    for a in args:
        if a.__class__ not in _GROUND or a.lvars:
            return _make_open(op, args)
    if op.__class__ is Var or op.lvars:
        return _intern(op, args, None, _free_lvars(op, ()))
    sig = op.sigs.find(op, infer_type(op, args), args)
    return _intern(op, args, sig, EMPTY)


def _make_open(op: Op, args: tuple[Any, ...]) -> AnyTerm:
    """A term with logic variables or pattern numbers in it."""
    free = _free_lvars(op, args)
    if free:
        return _found(op, args) or _intern(op, args, None, free)
    return mk(op, coerce_literals(op, args))


_free_sets: dict[frozenset[Var], frozenset[Var]] = {EMPTY: EMPTY}  # equal sets once


def _free_lvars(op: Op, args: tuple[Any, ...]) -> frozenset[Var]:
    free = frozenset((op,)) if is_var(op) else getattr(op, "lvars", EMPTY)
    for a in args:
        more = getattr(a, "lvars", None)
        if more is None:
            more = _lvar(op, a)
        if more:
            free = free | more if free else more
    known = _free_sets.get(free)
    if known is None:
        known = _free_sets[free] = free
        _untrack(free)  # there are hundreds, for good, and none refers to more than variables
    return known


def _lvar(op: Op, a: object) -> frozenset[Var]:
    if is_var(a):
        return frozenset((a,))
    raise TypeError(f"argument of {op} must be a term, got {type(a).__name__} {a!r:.60}")


def infer_type(op: Op, args: tuple[Any, ...]) -> Type:
    """The type of `op(*args)`; cached by argument types unless the op needs to see the arguments.

    An error about lengths or places brings the application along, for those who know the line that it came from.
    """
    try:
        if op.by_value:
            op.check_arity(len(args))
            by_value: Type = op._infer(*args, **op.params)
            return by_value
        types = tuple([a.type for a in args])
        found = op._tc.get(types)
        if found is None:
            op.check_arity(len(args))
            found = op._tc[types] = op.infer(*types)
        return found
    except (ShapeError, IndexError) as error:
        error.application = op, args  # type: ignore[union-attr]
        raise


def _intern(op: Op, args: tuple[Any, ...], sig: Signature | None, free: frozenset[Var]) -> AnyTerm:
    t: Term = _new(Term)
    t.op = op
    t.args = args
    t.sig = sig
    t.type = None if sig is None else sig.type
    t.lvars = free
    t._st = t._nf = t._notes = t._hash = None
    t._facts = 0
    table = getattr(op, "sigs", _OPEN)
    ref = Ref(t, table.drop)
    ref.key = args if table is not _OPEN else (op, *args)
    if table.terms.setdefault(ref.key, ref) is not ref:
        return settled(table.terms, t, ref)
    if free:  # a pattern's part: rules hold a few thousand for good, each with its operands
        _untrack(args)
    # While the collector rests, taking terms from it would cost as much as making them.
    elif _collector.resting or not _collecting():
        return t
    _untrack(t)
    _untrack(ref)
    return t


def _structural_hash(term: Term) -> int:
    """A hash of the structure that is the same in every process; 0 where there are logic variables."""
    stack = [term]
    while stack:
        t = stack[-1]
        if t.lvars:
            t._hash = 0
            stack.pop()
            continue
        waiting = [a for a in t.args if a.__class__ is Term and a._hash is None]
        if waiting:
            stack.extend(waiting)
        else:
            t._hash = hash((t.op._h, *[a._h for a in t.args]))
            stack.pop()
    return term._h


def coerce_literals(op: Op, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Replace pattern numbers by constants of the dtype the other arguments ask for (numbers are weak)."""
    dtypes = [a.type.np_dtype for a in args if a.__class__ is not Lit and isinstance(a.type, TensorType)]
    numbers = [a.value for a in args if a.__class__ is Lit]
    if dtypes:
        dtype = promote(*dtypes, *[type(v)(0) for v in numbers])
    else:
        dtype = promote(*[np.asarray(v).dtype for v in numbers])
    return tuple([Const(np.asarray(a.value, dtype=dtype)) if a.__class__ is Lit else a for a in args])


def as_term(value: object) -> Any:
    """A term for whatever may stand for one: term, variable, number (a pattern literal), array, expression tuple."""
    if value.__class__ in _GROUND or value.__class__ is Lit or is_var(value):
        return value
    term = getattr(value, "term", None)
    if term is not None:
        return term
    if isinstance(value, (bool, int, float, complex)):
        return Lit(value)
    if isinstance(value, ExpressionTuple):
        return from_etuple(value)
    if isinstance(value, (np.ndarray, np.generic, list, tuple)):
        return Const(value)
    raise TypeError(f"expected a term, a number or an array, got {type(value).__name__} {value!r:.60}")


def apply_term(op: Op, args: tuple[Any, ...]) -> Any:
    """`op(*args)` on terms, numbers and variables, giving a term."""
    return mk(op, tuple([as_term(a) for a in args]))


_term_lift = Lift(1, apply_term)
set_open_lifter(apply_term)
Term.apply_op = Leaf.apply_op = Lit.apply_op = _term_lift  # type: ignore[attr-defined]


def from_etuple(etuple: ExpressionTuple) -> Any:
    """The interned term of a plain (nested) expression tuple, without recursion."""
    done: dict[int, Any] = {}
    stack = [etuple]
    while stack:
        e = stack[-1]
        if id(e) in done:
            stack.pop()
            continue
        waiting = [a for a in e._tuple[1:] if a.__class__ is ExpressionTuple and id(a) not in done]
        if waiting:
            stack.extend(waiting)
            continue
        stack.pop()
        args = [done[id(a)] if a.__class__ is ExpressionTuple else as_term(a) for a in e._tuple[1:]]
        head = e._tuple[0]
        if not isinstance(head, (Op, Var)):
            raise GraphError(f"the head of an expression tuple must be an op, got {head!r}")
        done[id(e)] = mk(head, tuple(args))
    return done[id(etuple)]


def forget_facts() -> None:
    """Take the facts noted in terms and leaves back: what they follow from has changed."""
    for table in list(TABLES):
        for ref in list(table.terms.values()):
            term: AnyTerm | None = ref()
            if term is not None:
                term._facts = 0
    for leaf in all_leaves():
        leaf._facts = 0


def is_term(value: object) -> bool:
    """Whether the value is a ground term or leaf (not a pattern)."""
    return value.__class__ in _GROUND


def live_terms() -> int:
    """How many interior terms exist in this process; for tests and memory reports."""
    return sum(len(table.terms) for table in list(TABLES))


__all__ = [
    "AnyTerm", "Arg", "Const", "Input", "Leaf", "Lit", "Term", "TupleType", "apply_term", "as_term", "from_etuple",
    "infer_type", "is_term", "live_terms", "mk", "mk1", "mk2",
]  # fmt: skip
