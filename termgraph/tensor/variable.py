"""Variable: the user's handle on a term, with a name, a trace, and the bipartite view through `owner` and `Apply`.

Names and traces belong to the variable: two equal expressions made separately share their term and nothing else. Array
operators are attached in `methods`.
"""

from __future__ import annotations

import opcode
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from termgraph.tensor.display_names import apply_text, long_repr, short_repr
from termgraph.tensor.known import known_value
from termgraph.tensor.trace import frames_of, user_site, warn, where
from termgraph.terms import types as types_module
from termgraph.terms.build import unspread
from termgraph.terms.errors import GraphError
from termgraph.terms.op import Op
from termgraph.terms.ops.basic import nth
from termgraph.terms.term import Const, Input, mk, track
from termgraph.terms.traverse import depends_on
from termgraph.terms.types import TensorType, TupleType, Type
from termgraph.terms.userop import canonical, declare_types

if TYPE_CHECKING:
    from termgraph.tensor.typed import Arithmetic
    from termgraph.terms.term import AnyTerm
else:
    Arithmetic = object  # operators and methods are attached by the modules that have them (METHODS)

_new = object.__new__

_NUMBERS = (int, float, complex, np.number, np.ndarray)  # no variable is the same thing as one of these
# Who compares whatever there is, and knows what the answer means.
_AWARE = {"termgraph", "kanren", "unification", "etuples", "cons", "toolz"}


def is_value(x: Any, other: Any, depth: int) -> bool:
    """`x == 0` is a question about objects; who asks it of a number or an array means the values.

    The answer is that, where the value of `x` is known (`x.shape[0] == 3`); else False, and a warning.
    """
    asking = sys._getframe(depth).f_globals.get("__name__", "")
    if asking.partition(".")[0] in _AWARE:
        return False
    known = known_value(x)
    if known is not None and known.ndim == np.ndim(other) and not (isinstance(other, np.ndarray) and other.ndim):
        return bool(np.array_equal(known, other))
    warnings.warn(
        f"== and != ask whether both sides are the same variable, which {x} and {other!r:.40} are not; "
        f"write T.eq(x, y) or T.neq(x, y) to compare their values",
        stacklevel=depth + 1,
    )
    return False


def _note_question(same: bool, depth: int) -> None:
    """`T.mean(x == y)`, `1 - (x != y)`: who computes with the answer means the values, who branches on it does not.

    The instruction after the comparison says whether it goes into arithmetic. Where it goes into a call, this is known
    when a function of ours is given it (`warn_of_answer`). Lists and dictionaries compare by no instruction of theirs.
    """
    frame = sys._getframe(depth)
    if frame.f_globals.get("__name__", "").partition(".")[0] in _AWARE:
        return
    code, at = frame.f_code.co_code, frame.f_lasti
    if opcode.opname[code[at]] != "COMPARE_OP":
        return
    _asked.last = frame.f_code, at, same
    at += 2
    while opcode.opname[code[at]] == "CACHE":
        at += 2
    if opcode.opname[code[at]].startswith(_COMPUTES):
        warnings.warn(_told(same), stacklevel=depth + 1)


def warn_of_answer(site: tuple) -> None:
    """Where the user's call gives True or False: says so if that is what `x == y` within it was."""
    if _asked.last is None or not site or site[0] is not _asked.last[0] or not hasattr(site[0], "co_positions"):
        return
    code, at, same = _asked.last
    places = list(code.co_positions())
    line, last, column, end = places[site[1] // 2]
    asked, asked_last, asked_column, asked_end = places[at // 2]
    known = None not in (line, last, column, end, asked, asked_last, asked_column, asked_end)
    if known and (line, column) < (asked, asked_column) and (asked_last, asked_end) < (last, end):
        _asked.last = None
        warn(_told(same))


def _told(same: bool) -> str:
    answer = "the answer to x == x is True" if same else "two others are never equal"
    return (
        f"== and != ask whether both sides are the same variable, whatever their values: {answer}; "
        f"write T.eq(x, y) or T.neq(x, y) to compare their values"
    )


class _Asked(threading.local):
    """Where this thread compared two variables last, code and instruction, and the answer."""

    last: tuple | None = None


_asked = _Asked()
_COMPUTES = ("BINARY_", "UNARY_INVERT", "UNARY_NEGATIVE")


class Variable:
    """A value in a computation, known by how it is made: an input, a constant, or the result of an op.

    `type` says what it may hold, `owner` is the Apply that makes it (None for inputs), `index` its place among the
    owner's outputs, `name` is for printing and errors, `term` is the expression tuple it stands for.
    """

    __slots__ = ("__weakref__", "_a", "_b", "_owner", "_tag", "clients", "index", "name", "site", "term")
    __array_ufunc__: Any = None  # arrays have one, see numpys.py
    __array_priority__ = 1000
    __pandas_priority__ = 5000  # above a DataFrame's: `series + x` is for this variable to answer
    own_operators = False  # whether `x + this` is for this variable to decide, where x is an array
    waits = False  # whether its graph is made when it is looked at: a gradient's
    __hash__ = object.__hash__
    term: Any
    name: str | None
    index: int | None
    site: tuple
    clients: Any
    _owner: Any
    _a: Any
    _b: Any
    _tag: Any

    def __new__(
        cls, type: Any = None, owner: Apply | None = None, index: int | None = None, name: str | None = None
    ) -> Any:
        if not isinstance(type, Type):
            raise TypeError(f"Variable needs type= (a Type such as TensorType), got {type!r}")
        return bare(variable_class(cls, type), Input(_checked_name(name), type), name, user_site())

    def __init__(self, *_: Any, **__: object) -> None:
        pass

    @property
    def type(self) -> TensorType | Any:  # of few variables another type
        """What the variable may hold."""
        return self.term.type

    @property
    def owner(self) -> Apply | Any:  # None for inputs; nobody wants to ask each time
        """The Apply node that makes this variable, or None for an input."""
        owner = self._owner
        if owner.__class__ is Apply or owner is None:
            return owner
        if self._a is None:  # a view of a term: its Apply is worked out from the term
            owner.fill(self)
            return self._owner
        inputs = list(self._a) if self._b is None else [self._a, self._b]
        track(self)  # from here on it is in a cycle with its Apply
        self._owner = bare_apply(owner, inputs, [self])
        self._a = self._b = None
        return self._owner

    @property
    def tag(self) -> SimpleNamespace:
        """A place for the user's own notes (test values, breakpoints...)."""
        if self._tag is None:
            track(self)  # users keep what they like in a tag
            self._tag = SimpleNamespace(trace=self.frames)
        return self._tag

    @property
    def frames(self) -> list[tuple[str, int, str, str]]:
        """(file, line, function, text) of the user's frames that made this variable, innermost first."""
        return frames_of(self.site)

    @property
    def where(self) -> str:
        """`file:line` that made this variable."""
        return where(self.site)

    @property
    def ndim(self) -> int:
        return self.type.ndim

    @property
    def dtype(self) -> str:
        return self.type.dtype

    @property
    def broadcastable(self) -> tuple[bool, ...]:
        return self.type.broadcastable

    def clone(self, name: str | None = None) -> Variable:
        """A fresh input of the same type (a constant stays the same constant)."""
        return bare(type(self), Input(name or self.name, self.type), name or self.name, user_site())

    def get_parents(self) -> list:
        """[owner], or [] for an input."""
        return [] if self._owner is None else [self.owner]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, _NUMBERS) or (isinstance(other, (tuple, list)) and all(map(is_plain_number, other))):
            return is_value(self, other, 2)
        if isinstance(other, Variable):
            _note_question(self is other, 2)
        return self is other

    def __bool__(self) -> bool:
        return True  # `if not var:` in old programs asks for None-ness; comparisons refuse, see `truth`

    def __repr__(self) -> str:
        return long_repr(self)

    def __str__(self) -> str:
        return short_repr(self)

    def __copy__(self) -> Variable:
        return self

    def __deepcopy__(self, memo: dict) -> Variable:
        return self


class TensorVariable(Variable, Arithmetic):
    """A variable that holds an array: has NumPy's operators and methods."""

    __slots__ = ()


class Constant(Variable):
    """A variable whose value is known while building. `data` is set once; a Constant cannot be a function's input."""

    __slots__ = ()

    def __new__(cls, type: Any, data: Any, name: str | None = None) -> Any:
        if not isinstance(type, Type):
            raise TypeError(f"Constant(type, data): type must be a Type, got {type!r}")
        value = type.filter(data)
        made = TensorConstant if isinstance(type, TensorType) else cls
        return bare(made, Const(value, None, type), name, user_site())

    @property
    def data(self) -> np.ndarray:
        """The value; arrays are read-only."""
        return self.term.value

    @property
    def value(self) -> Any:
        return self.term.value

    def clone(self, name: str | None = None) -> Variable:
        return bare(type(self), self.term, name or self.name, self.site)

    @property
    def owner(self) -> None:
        return None


class TensorConstant(Constant, TensorVariable):
    """A constant array."""

    __slots__ = ()

    def equals(self, other: Any) -> bool:
        """Whether the other variable is the same constant."""
        return isinstance(other, Constant) and other.term is self.term


class Apply:
    """The application of an op to variables: Theano's version of a function call.

    `Apply(op, inputs, outputs)` binds fresh output variables: it sets their `owner` and `index`.
    """

    __slots__ = ("__weakref__", "inputs", "op", "outputs", "tag")
    op: Op
    inputs: list[Variable]
    outputs: list[Variable]

    def __init__(self, op: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        if not isinstance(op, Op):
            raise TypeError(f"Apply(op, inputs, outputs): op must be an Op, got {op!r}")
        for what, variables in (("inputs", inputs), ("outputs", outputs)):
            if not isinstance(variables, (list, tuple)):
                raise TypeError(f"Apply: {what} must be a list of variables, got {variables!r}")
            for i, v in enumerate(variables):
                if not isinstance(v, Variable):
                    raise TypeError(f"Apply: {what}[{i}] must be a Variable, got {type(v).__name__} {v!r:.60}")
        op = canonical(op) if op.user_made else op
        self.op, self.inputs, self.outputs, self.tag = op, list(inputs), list(outputs), SimpleNamespace()
        self._bind()

    def _bind(self) -> None:
        for i, out in enumerate(self.outputs):
            if out._owner is not None or not isinstance(out.term, Input):
                raise GraphError(f"Apply: outputs[{i}] ({out}) already has an owner; a variable is made once")
            if any(depends_on(v.term, out.term) for v in self.inputs):
                raise GraphError(f"Apply: outputs[{i}] ({out}) is needed by its own inputs: a graph has no cycles")
        results = apply_terms(self.op, self.inputs, [o.type for o in self.outputs])
        if len(results) != len(self.outputs):
            raise GraphError(f"Apply: {self.op} has {len(results)} outputs, {len(self.outputs)} were given")
        for i, (out, term) in enumerate(zip(self.outputs, results, strict=True)):
            if not out.type.accepts(term.type):
                raise TypeError(f"Apply: outputs[{i}] has type {out.type}, but {self.op} gives {term.type}")
        for i, (out, term) in enumerate(zip(self.outputs, results, strict=True)):
            out.term.bound = term  # graphs built on the placeholder before now find their way
            out.term, out._owner, out.index = term, self, i

    @property
    def nin(self) -> int:
        return len(self.inputs)

    @property
    def nout(self) -> int:
        return len(self.outputs)

    @property
    def out(self) -> Variable:
        """The default output."""
        return self.outputs[getattr(self.op, "default_output", None) or 0]

    def default_output(self) -> Variable:
        return self.out

    def get_parents(self) -> list:
        return list(self.inputs)

    def __repr__(self) -> str:
        return apply_text(self)


# ---------------------------------------------------------------------- making variables
def variable_class(cls: type, type_: Type) -> type:
    """TensorVariable for array types, what is registered for other types, unless a subclass was asked for."""
    if cls is not Variable:
        return cls
    return TensorVariable if isinstance(type_, TensorType) else HANDLES.get(type_.__class__, cls)


# The variables of types that have operators of their own; filled by the packages that have these types.
HANDLES: dict[type, type[Variable]] = {}
CONSTANTS: dict[type, type[Constant]] = {}  # and their constants


def _checked_name(name: str | None) -> str | None:
    if name is not None and not isinstance(name, str):
        raise TypeError(f"a variable's name must be a string or None, got {name!r}")
    return name


def bare(cls: type, term: Any, name: str | None, site: tuple) -> Any:
    """A variable without an owner."""
    v: Any = _new(cls)
    v.term, v.name, v.site = term, name, site
    v._owner = v._tag = v.index = None
    return v


def bare_apply(op: Op, inputs: list, outputs: list) -> Apply:
    """An Apply whose parts are known to fit."""
    node = _new(Apply)
    node.op, node.inputs, node.outputs, node.tag = op, inputs, outputs, SimpleNamespace()
    return node


def result(term: AnyTerm, op: Op, inputs: tuple, site: tuple) -> Variable:
    """The variable for an op's single result; its Apply is made when `owner` is read.

    Until then `_owner` is the op and `_a` the tuple of inputs (or `_a` and `_b` the two inputs: one object less).
    """
    v: Any = _new(TensorVariable if term.type.__class__ is TensorType else variable_class(Variable, term.type))
    v.term, v._owner, v._a, v.site = term, op, inputs, site
    v.index = 0
    v.name = v._tag = v._b = None
    return v


def results(op: Op, inputs: Sequence[Any], site: tuple) -> list:
    """The variables for all results of an op."""
    terms = apply_terms(op, inputs, None)
    if len(terms) == 1 and op.nout == 1:
        return [result(terms[0], op, tuple(inputs), site)]
    outputs: list[Any] = []
    node = bare_apply(op, list(inputs), outputs)
    for i, term in enumerate(terms):
        v = bare(variable_class(Variable, term.type), term, None, site)
        v._owner, v.index = node, i
        outputs.append(v)
    return outputs


def apply_terms(op: Op, inputs: Sequence[Any], types: list | None) -> list:
    """The terms of an op's results on variables."""
    if types is not None and op.user_made:
        declare_types(op, [v.type for v in inputs], types)
    terms = tuple([v.term for v in inputs])
    term = mk(op, unspread(terms) if op.kind == "elementwise" and not op.user_made else terms)
    if isinstance(term.type, TupleType):
        return [mk(nth.bind(i=i), (term,)) for i in range(len(term.type.types))]
    return [term]


def _nobody() -> None:
    """There are no guests before somebody says who they are."""


_meet_guests: Callable[[], None] = _nobody


def meet_guests() -> None:
    """Called when an input or shared variable is made: libraries that ask for classes may have been imported."""
    _meet_guests()


def set_meeting(meet: Callable[[], None]) -> None:
    """Called once, by who knows such libraries."""
    global _meet_guests
    _meet_guests = meet


def make_input(type_: Type, name: str | None = None) -> Any:
    """A fresh input variable of a type: what `T.dmatrix("x")` calls."""
    name = _checked_name(name)
    meet_guests()
    return bare(variable_class(Variable, type_), Input(name, type_), name, user_site())


types_module.set_variable_factory(make_input)


def is_plain_number(value: Any) -> bool:
    """A Python number, whose dtype adapts to the operands around it (NumPy 2's weak scalars)."""
    return isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic)


__all__ = ["Apply", "Constant", "TensorConstant", "TensorVariable", "Variable"]
