"""Leaves: inputs, parameters of bodies, constants, and the numbers of patterns. They share the interface of terms.

Constants are interned by type and bytes, parameters by index and type; every input is a leaf of its own.
"""

from __future__ import annotations

import itertools
import os
import weakref
from typing import Any

import numpy as np

from termgraph._blake import blake2b
from termgraph.terms.dtypes import kind_of, name_of
from termgraph.terms.hashing import bytes_hash, stable_hash
from termgraph.terms.op import ARG, CONST, INPUT, HeadMark
from termgraph.terms.signature import Signature
from termgraph.terms.types import TensorType, Type

EMPTY: frozenset[Any] = frozenset()
_new = object.__new__
_LARGE = 4096  # constants above this many bytes are interned by digest


class Leaf:
    """What the leaves have in common: no arguments, no free logic variables."""

    __slots__ = ("__weakref__", "_facts", "_h", "_nf", "_notes", "_st", "args", "lvars", "op", "sig", "type")
    op: Any
    args: tuple[()]
    type: Any
    sig: Signature
    lvars: frozenset[Any]
    _h: int
    _st: Any
    _nf: Any
    _facts: int  # what was asked and proved, see `rules.facts`
    _notes: dict[Any, Any] | None  # what rules work out and want to know again
    __array_ufunc__ = None
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    @property
    def params(self) -> dict[str, Any]:
        return {}


def _fill_leaf(leaf: Any, op: HeadMark, type_: Type, h: int) -> None:
    leaf.op, leaf.args, leaf.type, leaf.lvars = op, (), type_, EMPTY
    leaf.sig = op.sigs.find(op, type_)
    leaf._h = h
    leaf._st = leaf._nf = leaf._notes = None
    leaf._facts = 0


_PROCESS = os.urandom(8)
_serials = itertools.count()
_INPUTS: weakref.WeakValueDictionary[tuple[bytes, int], Input] = weakref.WeakValueDictionary()


class Input(Leaf):
    """A named placeholder. Every `Input(name, type)` is a new leaf, even if another has the same name."""

    __slots__ = ("bound", "inner", "name", "shared", "uid")
    bound: Any
    inner: bool  # whether a function that is called with variables (a step, a mapped one) was given it
    shared: Any  # the shared variable this leaf stands for, if any
    name: str | None
    uid: tuple[bytes, int]

    def __new__(cls, name: str | None, type: Type, uid: tuple[bytes, int] | None = None) -> Input:
        if uid is not None and uid in _INPUTS:  # unpickled in the process that made it
            return _INPUTS[uid]
        leaf = _new(cls)
        serial = next(_serials)
        leaf.name, leaf.bound, leaf.shared, leaf.inner = name, None, None, False
        leaf.uid = uid or (_PROCESS, serial)
        _fill_leaf(leaf, INPUT, type, stable_hash("input", name, type._h, serial))
        return _INPUTS.setdefault(leaf.uid, leaf)

    def __repr__(self) -> str:
        return self.name or f"<{self.type}>"

    def __reduce__(self) -> tuple[Any, ...]:
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

    def __reduce__(self) -> tuple[Any, ...]:
        return (Arg, (self.index, self.type))


_CONSTS: weakref.WeakValueDictionary[tuple[Any, ...], Const] = weakref.WeakValueDictionary()


class Const(Leaf):
    """A value known when the graph is built. Interned by type and bytes: -0.0, 0.0, 0 and False all differ."""

    __slots__ = ("scalar", "value")
    value: np.ndarray
    scalar: Any

    def __new__(cls, value: object, dtype: str | None = None, type: Type | None = None) -> Const:
        if type is not None and not isinstance(type, TensorType):
            return _opaque_const(value, type)
        array = np.asarray(value, dtype=dtype)
        if kind_of(array.dtype) not in "biufc":
            raise TypeError(f"a constant must be numeric, got dtype {array.dtype} from {value!r:.60}")
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        raw = array.tobytes()
        key = (name_of(array.dtype), array.shape, raw if len(raw) <= _LARGE else blake2b(raw).digest())
        leaf = _CONSTS.get(key)
        if leaf is None:
            leaf = _new(cls)
            frozen = np.frombuffer(raw, dtype=array.dtype).reshape(array.shape)  # read-only by construction
            leaf.value, leaf.scalar = frozen, _uniform(frozen, raw)
            type_ = TensorType.of(name_of(array.dtype), array.shape)
            _fill_leaf(leaf, CONST, type_, stable_hash("const", type_._h, bytes_hash(raw)))
            leaf = _CONSTS.setdefault(key, leaf)
        return leaf

    def __repr__(self) -> str:
        if not isinstance(self.type, TensorType):
            return f"const({self.value!r})"
        if self.type.ndim != 0:
            return f"const({np.array2string(self.value, threshold=6, edgeitems=2)})".replace("\n", "")
        return repr(self.scalar)

    def __reduce__(self) -> tuple[Any, ...]:
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
    _table: dict[tuple[Any, ...], Lit] = {}
    value: Any
    _h: int
    op, args, lvars, type = CONST, (), EMPTY, None

    def __new__(cls, value: object) -> Lit:
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

    def __reduce__(self) -> tuple[Any, ...]:
        return (Lit, (self.value,))


def all_leaves() -> list[Any]:
    """The leaves that are interned."""
    return [*_INPUTS.values(), *_ARGS.values(), *_CONSTS.values()]
