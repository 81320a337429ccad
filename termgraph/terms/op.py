"""Op: the definition of an operation, and the one table that holds them all.

An op with parameters is a *bound head*: `sum_.bind(axis=(0,))` is itself an interned Op, so a term is always `(op,
*args)`. An op says how to type a result (`infer`) and what it means on NumPy arrays (`meaning`).
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Mapping
from inspect import CO_VARARGS
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from termgraph.terms import userop
from termgraph.terms.dtypes import loaded
from termgraph.terms.errors import GraphError
from termgraph.terms.hashing import stable_hash
from termgraph.terms.logic import Var
from termgraph.terms.signature import Signatures
from termgraph.terms.spelling import Spelling, spelling
from termgraph.terms.types import Type
from termgraph.terms.widening import may_widen, needs_widening, widened

Infer: TypeAlias = "Callable[..., Type]"  # from types of operands (or the operands) and parameters
Meaning: TypeAlias = "Callable[..., Any]"  # from arrays and parameters
OPS: dict[str, Op] = {}  # the op table: every named op of the library, in definition order
_NO_PARAMS: Mapping[str, Any] = MappingProxyType({})


def _no_lifter(op: Op, args: tuple[Any, ...]) -> Any:
    raise RuntimeError("calling an op on plain values needs the tensor language: import termgraph.tensor first")


# How an op applied to logic variables becomes a pattern: a kanren question. Set once by the module of terms.
open_lifter: Callable[[Op, tuple[Any, ...]], Any] = _no_lifter


def set_open_lifter(lifter: Callable[[Op, tuple[Any, ...]], Any]) -> None:
    """Called once by the module of terms."""
    global open_lifter
    open_lifter = lifter


# How an op applied to plain Python values becomes the user's variable; set once by the tensor layer.
plain_lifter: Callable[[Op, tuple[Any, ...]], Any] = _no_lifter


def set_plain_lifter(lifter: Callable[[Op, tuple[Any, ...]], Any]) -> None:
    """Called once by the tensor layer."""
    global plain_lifter
    plain_lifter = lifter


def is_var(value: object) -> bool:
    """Whether a value is a logic variable, as `isinstance(value, Var)`, which runs Python code for everything else."""
    return Var in value.__class__.__mro__


class NodeMaker:
    """How ops written by users make Apply nodes; the tensor layer puts its own in `node_maker`."""

    def build(self, op: Op, inputs: tuple[Any, ...]) -> Any:
        """The node of an op that declares `itypes` and `otypes`."""
        raise RuntimeError("making a node needs the tensor language: import termgraph.tensor first")

    def call(self, op: Op, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """What `op(*inputs)` makes: the node of `op.make_node`, marked with the caller's line."""
        return self.build(op, inputs)


node_maker = NodeMaker()


def set_node_maker(maker: NodeMaker) -> None:
    """Called once by the tensor layer."""
    global node_maker
    node_maker = maker


class Op:
    """An operation. `op(*args, **params)` applies it to variables, terms or rule patterns alike.

    To write one in Python, subclass it: `__props__` names the attributes that tell two instances apart,
    `make_node(*inputs)` returns an `Apply` (or give `itypes` and `otypes`), and `perform(node, inputs,
    output_storage)` computes. See docs/extending.md.
    """

    name: str
    family: Op  # the definition without parameters; itself if there are none
    params: Mapping[str, Any] = _NO_PARAMS
    defaults: Mapping[str, Any] = _NO_PARAMS
    arity: int | None = None  # None: any number of arguments
    nout: int = 1
    default_output: int | None = None  # which of several results a call gives; None: all, in a list
    kind: str = "other"
    commutative = False
    associative = False
    by_value = False  # whether `infer` looks at the argument terms, not only at their types
    c: Spelling | None = None
    cuda: Spelling | str | None = None  # where it is not C's; a user's text is a plain string
    cost: int = 20  # rough work of computing one element, in multiplications
    exact = False  # whether the result has no more digits than the operands: nothing is rounded
    vector = False  # whether C computes whole vectors of it at a fraction of the cost
    length_from: Callable[[Any, int], tuple[Any, int] | None] | None = None  # see `ops/shapes.py`
    # Whether integers that it gives may have a narrower range than their dtype: if "any" or "every" operand has one, by
    # "itself", or as the "user" says; the "largest" and "smallest" of some are bounded from one side by any, from the
    # other by every operand. Empty: none has. See `rules.intervals`.
    range_from: str = ""
    doc: str = ""
    lvars: frozenset[Var] = frozenset()  # logic variables among the parameters: only in rule patterns
    _h: int
    _tc: dict[tuple[Any, ...], Type]  # result type by argument types
    sigs: Signatures
    _infer: Any = None
    _meaning: Any = None
    _canonical: Any  # a weak hold, of a user's op: the one that stands for all like it
    user_made = False  # whether the class says what it is by methods: `make_node`, `perform`
    _bound: weakref.WeakValueDictionary[tuple[Any, ...], Op] | None

    def __new__(cls, *_: object, **__: object) -> Op:
        self = object.__new__(cls)
        self._tc = {}
        self.sigs = Signatures()
        self._bound = None
        self.family = self
        if cls.user_made:
            self.name = getattr(cls, "name", None) or cls.__name__
        return self

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.user_made = hasattr(cls, "perform") or cls.make_node is not Op.make_node
        if cls.user_made and cls.__hash__ is object.__hash__:  # the library's own ops keep the fast identity
            cls.__eq__, cls.__hash__ = userop.same_op, userop.hash_of  # type: ignore[assignment]

    def __init__(
        self,
        name: str = "",
        *,
        arity: int | None = None,
        infer: Callable[..., Type] | None = None,
        meaning: Callable[..., Any] | None = None,
        kind: str = "other",
        nout: int = 1,
        params: Mapping[str, Any] | None = None,
        by_value: bool = False,
        commutative: bool = False,
        associative: bool = False,
        c: Spelling | str | None = None,
        cuda: Spelling | str | None = None,
        doc: str = "",
        **extra: Any,
    ) -> None:
        if self.user_made:
            return  # a user's class says all this by its methods
        self.name, self.arity, self.kind, self.nout = name, arity, kind, nout
        self._infer, self._meaning = infer, meaning
        self.defaults = MappingProxyType(dict(params or {}))
        self.by_value, self.commutative, self.associative = by_value, commutative, associative
        self.c, self.cuda, self.doc = spelling(c), cuda, doc
        self.__doc__ = doc or None
        self._h = stable_hash("op", name)
        self.__dict__.update(extra)
        if self.defaults:
            self.params = self.defaults

    # ------------------------------------------------------------------ parameters
    def bind(self, **params: Any) -> Op:
        """This op with the given parameters; unnamed ones keep their default. Equal parameters give the same object."""
        family = self.family
        if not params.keys() <= family.defaults.keys():
            unknown = params.keys() - family.defaults.keys()
            raise TypeError(family.no_parameter(min(unknown)))
        full = {**self.params, **params} if self.params else params
        return family.bound(tuple([full[k] for k in family.defaults])) if full else family

    def no_parameter(self, name: str) -> str:
        """What to say of a parameter that this op does not have."""
        return f"{self.name} has no parameter {name!r}; it has {', '.join(sorted(self.defaults)) or 'none'}"

    def bound(self, values: tuple[Any, ...]) -> Op:
        """The same by the values of all parameters, in the order of their names in the table of ops."""
        family = self.family
        in_kernels = family.kind == "kernel"  # where are neither rules nor logic variables, nor numbers of two types
        key = (values, None if in_kernels else _types_of(values))
        table = family._bound
        if table is None:
            table = family._bound = weakref.WeakValueDictionary()
            standard = tuple(family.defaults.values())
            table[standard, None if in_kernels else _types_of(standard)] = family  # the defaults, spelled out
        try:
            found: Op | None = table.get(key)
        except TypeError:
            shown = dict(zip(family.defaults, values, strict=True))
            raise TypeError(f"parameters of {family.name} must be hashable, got {shown}") from None
        if found is None:
            free: frozenset[Var] = frozenset()
            if not in_kernels:
                free, values = _open_parameters(values)
                if free and values != key[0]:
                    return family.bound(values)
            found = family.__copy__()
            found.lvars = free
            alike = in_kernels and family.arity == 0  # as operands they differ in type only
            found._tc, found.sigs, found._bound = {}, Signatures(family.sigs if alike else None), None
            found.family = family
            found.params = MappingProxyType(dict(zip(family.defaults, values, strict=True)))
            found.__dict__.pop("_h", None)
            found = table.setdefault(key, found)
        return found

    if not TYPE_CHECKING:

        @functools.cached_property  # no `__getattr__`: with one, every look at an attribute of an op takes longer
        def _h(self) -> int:
            if self.family is self:  # a user's op, of which nobody has asked for the one that stands for all like it
                raise AttributeError(f"{type(self).__name__!r} object has no attribute '_h'")
            return stable_hash("op", self.family.name, tuple(self.params.values()))

    def __copy__(self) -> Op:
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        return new

    # ------------------------------------------------------------------ what it means
    def infer(self, *types: Type) -> Type:
        """The type of the result for arguments of these types; TypeError or ShapeError if they do not fit."""
        if self._infer is None:
            if not self.user_made and type(self).make_node is Op.make_node:
                raise TypeError(
                    f"{type(self).__name__} does not say what it computes: define perform(self, node, inputs, "
                    "output_storage), with make_node or itypes and otypes for the types"
                )
            return userop.infer_by_node(self, types)
        found: Type = self._infer(*types, **self.params)
        return found

    def meaning(self, *values: object) -> Any:
        """The result on NumPy arrays: the reference of every backend. A tuple when there are several results."""
        if self._meaning is None:
            return userop.perform_by_values(self, values)
        if loaded and needs_widening(self, values):
            return widened(self, self._meaning, values)
        return self._meaning(*values, **self.params)

    def direct_meaning(self) -> Callable[..., Any]:
        """The same for many calls: what holds for all of them is asked once."""
        if self._meaning is None or may_widen(self):
            return self.meaning
        return functools.partial(self._meaning, **self.params) if self.params else self._meaning

    def check_arity(self, n: int) -> None:
        """Refuse a wrong number of arguments."""
        if self.arity is not None and n != self.arity:
            raise GraphError(f"{self.name} takes {self.arity} argument{'s' * (self.arity != 1)}, got {n}")

    # ------------------------------------------------------------------ use
    def __call__(self, *args: Any, **params: Any) -> Any:
        if self.user_made:
            return self._call_user_made(args, params)
        op = self.bind(**params) if params or (self.defaults and self.family is self) else self
        best = None
        for a in args:
            lift = getattr(a, "apply_op", None)
            if lift is not None and (best is None or lift.rank > best.rank):
                best = lift
        if best is not None:
            return best.run(op, args)
        if any(is_var(a) for a in args):  # a kanren question: log(q)
            return open_lifter(op, args)
        return plain_lifter(op, args)

    def _call_user_made(self, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Apply an op that has `perform`: through `make_node` on variables and values, directly on terms."""
        op = userop.canonical(self)
        lifts = [lift for lift in (getattr(a, "apply_op", None) for a in args) if lift is not None]
        best = max(lifts, key=lambda lift: lift.rank, default=None)
        if best is not None and best.rank != 2:
            return best.run(op, args)
        as_list = params.pop("return_list", False)
        outputs = node_maker.call(op, args, params).outputs
        if op.default_output is not None and not as_list:
            return outputs[op.default_output]
        return list(outputs) if as_list or len(outputs) > 1 else outputs[0]

    def make_node(self, *inputs: Any) -> Any:
        """The Apply node of this op on variables (numbers and arrays are wrapped in constants)."""
        if self.user_made:
            return node_maker.build(self, inputs)
        result = self(*inputs)
        return (result[0] if isinstance(result, (list, tuple)) else result).owner

    def __repr__(self) -> str:
        if self.user_made:
            return userop.text_of(self)
        if self.family is self:
            return self.name
        shown = [_parameter_text(k, v) for k, v in self.params.items() if v != self.defaults[k]]
        return f"{self.name}{{{', '.join(shown)}}}" if shown else self.name

    def __reduce__(self) -> Any:
        if OPS.get(self.name) is not self.family:
            return (userop.rebuild, userop.state_of(self))  # a user's op travels by its class and state
        return (find_op, (self.name, tuple(self.params.items())))


def _parameter_text(name: str, value: object) -> str:
    return index_text(value) if name == "index" and isinstance(value, tuple) else f"{name}={value!r}"


def index_text(index: tuple[Any, ...]) -> str:
    """An index specification as Python writes it: `0, 1:, ::-1`."""
    parts = []
    for entry in index:
        if isinstance(entry, tuple):
            start, stop, step = ("" if p is None else str(p) for p in entry[1:])
            parts.append(f"{start}:{stop}" + (f":{step}" if step else ""))
        else:
            parts.append(str(entry))
    return ", ".join(parts)


class Lift:
    """How one class of operand applies an op; the operand with the highest rank decides (pattern > variable > term)."""

    __slots__ = ("rank", "run")

    def __init__(self, rank: int, run: Callable[[Op, tuple[Any, ...]], Any]) -> None:
        self.rank, self.run = rank, run


def _open_parameters(value: object) -> tuple[frozenset[Var], Any]:
    """The logic variables in a parameter value, and the value with rule metavariables replaced by them."""
    if isinstance(value, tuple):
        parts = [_open_parameters(v) for v in value]
        free = frozenset().union(*[f for f, _ in parts])
        return free, tuple([v for _, v in parts]) if free else value
    value = getattr(value, "metavariable", value)
    return (frozenset((value,)) if is_var(value) else frozenset()), value


def _types_of(value: object) -> Any:
    """Distinguishes 1, True and 1.0 in a parameter key."""
    if isinstance(value, tuple):
        return tuple([_types_of(v) if isinstance(v, tuple) else v.__class__ for v in value])
    return type(value)


def cost_of(op: Op, operands: int) -> int:
    """Rough work of computing one element from so many operands, in multiplications."""
    return op.cost * max(1, operands - 1) if op.arity is None else op.cost


def define(name: str, **spec: Any) -> Op:
    """Add an op to the table: of as many operands as `infer` takes, unless `arity` says it."""
    if name in OPS:
        raise ValueError(f"op {name!r} is already defined")
    if "arity" not in spec:
        takes = spec["infer"].__code__
        spec["arity"] = None if takes.co_flags & CO_VARARGS else takes.co_argcount
    op = OPS[name] = Op(name, **spec)
    return op


def find_op(name: str, params: tuple[Any, ...] = ()) -> Op:
    """The op of that name, bound to the parameters."""
    try:
        op = OPS[name]
    except KeyError:
        raise GraphError(f"no op named {name!r}; is the module that defines it imported?") from None
    return op.bind(**dict(params)) if params else op


class HeadMark:
    """The head of a leaf, so that matchers can test `t.op` uniformly."""

    params: Mapping[str, Any] = _NO_PARAMS
    commutative = associative = False
    nout = 1
    kind = "leaf"
    length_from = None
    by_value = True

    def __init__(self, name: str, range_from: str = "") -> None:
        self.name, self.range_from = name, range_from
        self.family = self
        self._h = stable_hash("head", name)
        self.sigs = Signatures()

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str:
        return self.name


CONST = HeadMark("CONST", range_from="itself")
INPUT = HeadMark("INPUT")
ARG = HeadMark("ARG")
