"""Terms: interned, typed expression tuples. Equal ground terms are the same object; leaves share their interface.

A graph literally is an `etuples.ExpressionTuple`, so kanren, unification and cons work on it unmodified. Every term and
leaf has `op, args, type, lvars` (free logic variables), `_h` (structural hash) and the rewriter's memo `_st, _nf`.
"""

from __future__ import annotations

import functools
import gc
import itertools
import os
import weakref
from hashlib import blake2b
from typing import Any

import numpy as np
from etuples.core import ExpressionTuple
from unification import Var

from termgraph.terms.errors import GraphError
from termgraph.terms.hashing import bytes_hash, stable_hash
from termgraph.terms.op import ARG, CONST, INPUT, Lift, Op, is_var
from termgraph.terms.types import TensorType, TupleType, Type

EMPTY: frozenset = frozenset()
_new = object.__new__
_LARGE = 4096  # constants above this many bytes are interned by digest


# ---------------------------------------------------------------------- leaves
class Leaf:
    """What the leaves have in common: no arguments, no free logic variables."""

    __slots__ = ("__weakref__", "_h", "_nf", "_st", "args", "lvars", "op", "type")
    op: Any
    args: tuple
    type: Any
    lvars: frozenset
    _h: int
    _st: Any
    _nf: Any
    __array_ufunc__ = None
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    @property
    def params(self) -> dict:
        return {}


def _fill_leaf(leaf: Any, op: Any, type_: Any, h: int) -> None:
    leaf.op, leaf.args, leaf.type, leaf.lvars = op, (), type_, EMPTY
    leaf._h = h
    leaf._st = leaf._nf = None


_PROCESS = os.urandom(8)
_serials = itertools.count()
_INPUTS: weakref.WeakValueDictionary = weakref.WeakValueDictionary()


class Input(Leaf):
    """A named placeholder. Every `Input(name, type)` is a new leaf, even if another has the same name."""

    __slots__ = ("bound", "name", "shared", "uid")
    bound: Any
    shared: Any  # the shared variable this leaf stands for, if any
    name: str | None
    uid: tuple[bytes, int]

    def __new__(cls, name: str | None, type: Type, uid: tuple[bytes, int] | None = None) -> Input:
        if uid is not None and uid in _INPUTS:  # unpickled in the process that made it
            return _INPUTS[uid]
        leaf = _new(cls)
        serial = next(_serials)
        leaf.name, leaf.bound, leaf.shared = name, None, None
        leaf.uid = uid or (_PROCESS, serial)
        _fill_leaf(leaf, INPUT, type, stable_hash("input", name, type._h, serial))
        return _INPUTS.setdefault(leaf.uid, leaf)

    def __repr__(self) -> str:
        return self.name or f"<{self.type}>"

    def __reduce__(self) -> tuple:
        if self.shared is not None:
            return (_leaf_of, (self.shared,))
        return (Input, (self.name, self.type, self.uid))


def _leaf_of(variable: Any) -> Any:
    """The leaf of an unpickled shared variable."""
    return variable.term


_ARGS: dict[tuple[int, Type], Arg] = {}


class Arg(Leaf):
    """The i-th parameter of a closed body or of a captured graph; equal (index, type) is the same leaf."""

    __slots__ = ("index",)
    index: int

    def __new__(cls, index: int, type: Type) -> Arg:
        leaf = _ARGS.get((index, type))
        if leaf is None:
            leaf = _new(cls)
            leaf.index = index
            _fill_leaf(leaf, ARG, type, stable_hash("arg", index, type._h))
            leaf = _ARGS.setdefault((index, type), leaf)
        return leaf

    def __repr__(self) -> str:
        return f"${self.index}"

    def __reduce__(self) -> tuple:
        return (Arg, (self.index, self.type))


_CONSTS: weakref.WeakValueDictionary = weakref.WeakValueDictionary()


@functools.cache
def _name_of(dtype: np.dtype) -> str:
    return dtype.name  # NumPy puts it together each time


class Const(Leaf):
    """A value known when the graph is built. Interned by type and bytes: -0.0, 0.0, 0 and False all differ."""

    __slots__ = ("scalar", "value")
    value: np.ndarray
    scalar: Any

    def __new__(cls, value: Any, dtype: Any = None, type: Type | None = None) -> Const:
        if type is not None and not isinstance(type, TensorType):
            return _opaque_const(value, type)
        array = np.asarray(value, dtype=dtype)
        if array.dtype.kind not in "biufc":
            raise TypeError(f"a constant must be numeric, got dtype {array.dtype} from {value!r:.60}")
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        raw = array.tobytes()
        key = (_name_of(array.dtype), array.shape, raw if len(raw) <= _LARGE else blake2b(raw).digest())
        leaf = _CONSTS.get(key)
        if leaf is None:
            leaf = _new(cls)
            frozen = np.frombuffer(raw, dtype=array.dtype).reshape(array.shape)  # read-only by construction
            leaf.value, leaf.scalar = frozen, _uniform(frozen, raw)
            type_ = TensorType.of(_name_of(array.dtype), array.shape)
            _fill_leaf(leaf, CONST, type_, stable_hash("const", type_._h, bytes_hash(raw)))
            leaf = _CONSTS.setdefault(key, leaf)
        return leaf

    def __repr__(self) -> str:
        if not isinstance(self.type, TensorType):
            return f"const({self.value!r})"
        if self.type.ndim != 0:
            return f"const({np.array2string(self.value, threshold=6, edgeitems=2)})".replace("\n", "")
        return repr(self.scalar)

    def __reduce__(self) -> tuple:
        value = np.array(self.value) if isinstance(self.type, TensorType) else self.value
        return (Const, (value, None, self.type))


def _opaque_const(value: Any, type_: Type) -> Const:
    """A constant of a user's type: interned by identity, since nothing is known of its equality."""
    leaf = _new(Const)
    leaf.value, leaf.scalar = value, None
    _fill_leaf(leaf, CONST, type_, stable_hash("const", type_._h, next(_serials)))
    return leaf


def _uniform(array: np.ndarray, raw: bytes) -> Any:
    """The Python number all elements are (bit for bit), or None."""
    if array.ndim == 0:
        return array.item()
    if array.size == 0:
        return None
    item = array.dtype.itemsize
    if raw[:item] * min(array.size, 64) != raw[: item * min(array.size, 64)]:
        return None
    return array.flat[0].item() if raw == raw[:item] * array.size else None


class Lit:
    """A number in a pattern: stands for any constant that is uniformly that number, whatever its dtype."""

    __slots__ = ("_h", "value")
    _table: dict[tuple, Lit] = {}
    value: Any
    _h: int
    op, args, lvars, type = CONST, (), EMPTY, None

    def __new__(cls, value: Any) -> Lit:
        key = (type(value), repr(value))
        lit = cls._table.get(key)
        if lit is None:
            lit = _new(cls)
            lit.value, lit._h = value, stable_hash("lit", value)
            lit = cls._table.setdefault(key, lit)
        return lit

    def matches(self, const: Any) -> bool:
        """Whether a constant is uniformly this number."""
        return const.scalar is not None and const.scalar == self.value

    def __repr__(self) -> str:
        return repr(self.value)

    def __reduce__(self) -> tuple:
        return (Lit, (self.value,))


# ---------------------------------------------------------------------- interior terms
class _Ref(weakref.ref):
    __slots__ = ("key",)
    key: tuple


def _gc_untracker() -> Any:
    """`PyObject_GC_UnTrack` of CPython, or nothing where there is none.

    A term is immutable and points only to older terms, so it is never part of a reference cycle. Left tracked, graphs
    of 1e5 terms are walked again and again by the cycle collector, which then costs twice as much as building them.
    """
    try:
        import ctypes

        untrack = ctypes.pythonapi.PyObject_GC_UnTrack
        untrack.argtypes, untrack.restype = [ctypes.py_object], None
    except (ImportError, AttributeError, ValueError):
        return lambda obj: None
    return untrack


_untrack = untrack = _gc_untracker()
_collecting = gc.isenabled


def track(obj: Any) -> None:
    """Give an untracked object back to the cycle collector, before it can become part of a cycle."""
    import ctypes
    import gc

    if not gc.is_tracked(obj):
        function = ctypes.pythonapi.PyObject_GC_Track
        function.argtypes, function.restype = [ctypes.py_object], None
        function(obj)


_TABLE: dict[tuple, _Ref] = {}
_get = _TABLE.get


def _drop(ref: _Ref, table: dict = _TABLE) -> None:
    key = ref.key
    if table.get(key) is ref:  # the slot may already belong to a newer term
        del table[key]


class Term(ExpressionTuple):
    """An operation applied to terms: the expression tuple `(op, *args)` with a type."""

    __slots__ = ("__weakref__", "_h", "_nf", "_st", "args", "lvars", "op", "type")
    op: Any
    args: tuple
    type: Any
    lvars: frozenset
    _h: int
    _st: Any
    _nf: Any

    def __new__(cls, seq: Any = None, **kwargs: Any) -> Any:
        # kanren and cons write type(x)(seq): they get a plain expression tuple; only an op makes a typed term.
        return ExpressionTuple(seq, **kwargs)

    __array_ufunc__ = None
    __hash__ = object.__hash__

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("a term is not an array; compile it with function(), or evaluate it with eval()")

    def __eq__(self, other: object) -> bool:
        return self is other

    @property
    def params(self) -> Any:
        """The parameters of the head."""
        return self.op.params

    @property
    def _tuple(self) -> tuple:
        # Made when etuples, kanren or a printer asks: a stored copy would cost every term 70 bytes.
        return (self.op, *self.args)

    def __getitem__(self, key: Any) -> Any:
        found = self._tuple[key]
        if key.__class__ is slice:
            rest = ExpressionTuple(found)
            if key == slice(1, None):
                rest._parent = self  # cons(car(t), cdr(t)) is t again
            return rest
        return found

    def __add__(self, other: Any) -> Any:
        return ExpressionTuple(self._tuple) + other

    def __reduce__(self) -> tuple:
        from termgraph.terms.serial import dumps_flat, loads_flat

        return (loads_flat, (dumps_flat([self]), 0))

    def __copy__(self) -> Term:
        return self

    def __deepcopy__(self, memo: Any) -> Term:
        return self

    def _eval_step(self) -> Any:
        yield self

    @property
    def evaled_obj(self) -> Term:
        """A term is its own value: plain expression tuples evaluate to terms."""
        return self

    _evaled_obj = evaled_obj  # these two are slots in an expression tuple; here they say the same of every term
    _parent = None

    def __repr__(self) -> str:
        from termgraph.terms.text import one_line

        return one_line(self)

    __str__ = __repr__


def mk(op: Any, args: tuple) -> Any:
    """The term `op(*args)`: found if it exists, else typed and interned."""
    # Keys hold ids only: a term keeps its op and arguments alive, and takes its entry with it when it goes.
    key = (id(op), *map(id, args))
    ref = _get(key)
    if ref is not None:
        term = ref()
        if term is not None:
            return term
    return _make(op, args, key)


def mk1(op: Any, a: Any) -> Any:
    """`mk` for one argument."""
    key = (id(op), id(a))
    ref = _get(key)
    if ref is not None:
        term = ref()
        if term is not None:
            return term
    try:
        type_ = op._tc[(a.type,)]  # only ground terms have a type, and only ops have a table: no other check is needed
    except (KeyError, AttributeError):
        return _make(op, (a,), key)
    return _intern(op, (a,), key, type_, EMPTY, hash((op._h, a._h)))


def mk2(op: Any, a: Any, b: Any) -> Any:
    """`mk` for two arguments."""
    key = (id(op), id(a), id(b))
    ref = _get(key)
    if ref is not None:
        term = ref()
        if term is not None:
            return term
    try:
        type_ = op._tc[a.type, b.type]
    except (KeyError, AttributeError):
        return _make(op, (a, b), key)
    return _intern(op, (a, b), key, type_, EMPTY, hash((op._h, a._h, b._h)))


_GROUND: frozenset[Any] = frozenset((Term, Input, Arg, Const))


def _make(op: Any, args: tuple, key: tuple) -> Any:
    for a in args:
        if a.__class__ not in _GROUND or a.lvars:
            return _make_open(op, args, key)
    if op.__class__ is Var or op.lvars:
        return _intern(op, args, key, None, frozenset((op,)) if op.__class__ is Var else op.lvars, 0)
    return _intern(op, args, key, infer_type(op, args), EMPTY, hash((op._h, *[a._h for a in args])))


def _make_open(op: Any, args: tuple, key: tuple) -> Any:
    """A term with logic variables or pattern numbers in it."""
    free = _free_lvars(op, args)
    if free:
        return _intern(op, args, key, None, free, 0)
    return mk(op, coerce_literals(op, args))


def _free_lvars(op: Any, args: tuple) -> frozenset:
    free = frozenset((op,)) if is_var(op) else getattr(op, "lvars", EMPTY)
    for a in args:
        more = getattr(a, "lvars", None)
        if more is None:
            more = _lvar(op, a)
        if more:
            free = free | more if free else more
    return free


def _lvar(op: Any, a: Any) -> frozenset:
    if is_var(a):
        return frozenset((a,))
    raise TypeError(f"argument of {op} must be a term, got {type(a).__name__} {a!r:.60}")


def infer_type(op: Op, args: tuple) -> Type:
    """The type of `op(*args)`; cached by argument types unless the op needs to see the arguments."""
    if op.by_value:
        op.check_arity(len(args))
        return op._infer(*args, **op.params)
    types = tuple([a.type for a in args])
    found = op._tc.get(types)
    if found is None:
        op.check_arity(len(args))
        found = op._tc[types] = op.infer(*types)
    return found


def _intern(op: Any, args: tuple, key: tuple, type_: Any, free: frozenset, h: int) -> Any:
    t = _new(Term)
    t.op = op
    t.args = args
    t.type = type_
    t.lvars = free
    t._h = h
    t._st = t._nf = None
    ref = _Ref(t, _drop)
    ref.key = key
    held = _TABLE.setdefault(key, ref)
    if held is not ref:  # another thread was first, or a dead entry waits for its callback
        other = held()
        if other is not None:
            return other
        _TABLE[key] = ref
    if _collecting():  # while the collector rests, taking terms from it would cost as much as making them
        _untrack(t)
        _untrack(ref)
    return t


def coerce_literals(op: Op, args: tuple) -> tuple:
    """Replace pattern numbers by constants of the dtype the other arguments ask for (numbers are weak)."""
    dtypes = [a.type.np_dtype for a in args if a.__class__ is not Lit and isinstance(a.type, TensorType)]
    numbers = [a.value for a in args if a.__class__ is Lit]
    if dtypes:
        dtype = np.result_type(*dtypes, *[type(v)(0) for v in numbers])
    else:
        dtype = np.result_type(*[np.asarray(v).dtype for v in numbers])
    return tuple([Const(np.asarray(a.value, dtype=dtype)) if a.__class__ is Lit else a for a in args])


def as_term(value: Any) -> Any:
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


def apply_term(op: Op, args: tuple) -> Any:
    """`op(*args)` on terms, numbers and variables, giving a term."""
    return mk(op, tuple([as_term(a) for a in args]))


_term_lift = Lift(1, apply_term)
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


def is_term(value: Any) -> bool:
    """Whether the value is a ground term or leaf (not a pattern)."""
    return value.__class__ in _GROUND


def live_terms() -> int:
    """How many interior terms exist in this process; for tests and memory reports."""
    return len(_TABLE)


__all__ = [
    "Arg", "Const", "Input", "Leaf", "Lit", "Term", "TupleType", "apply_term", "as_term", "from_etuple",
    "infer_type", "is_term", "live_terms", "mk", "mk1", "mk2",
]  # fmt: skip
