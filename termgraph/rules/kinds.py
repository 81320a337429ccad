"""Kinds of metavariables: what an annotation in a rule set's signature means.

`seg` stands for any number of operands, `head` for an operator, `param` for an operator's parameter; a `Guard` such as
`Float` restricts an ordinary metavariable to terms that pass a test.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from unification import Var

from termgraph.terms import dtypes
from termgraph.terms.op import CONST, Op
from termgraph.terms.term import AnyTerm
from termgraph.terms.types import TensorType

PatternTerm: TypeAlias = "AnyTerm | Var"  # one side of a rule, or a part of it: a term with holes, or a hole


class SegVar(Var):  # type: ignore[misc]  # unification has no types
    """The logic variable of a `seg`: stands for a tuple of operands."""

    __slots__ = ()
    _refs: dict[Any, Any] = {}  # a table of its own: `xs: seg` and a plain `xs` are different variables


class Kind:
    """What a metavariable may stand for."""

    def __init__(self, name: str, doc: str) -> None:
        self.name, self.__doc__ = name, doc

    def __or__(self, other: Any) -> Kind:
        if other is None and self is param:
            return order
        raise TypeError(f"only an order of dimensions can be None: `o: param | None`; not {self.name} | {other!r}")

    def __repr__(self) -> str:
        return self.name


class HeadKind(Kind):
    """An operator; `head[sum_, max_]` is one of these, with whatever parameters."""

    families: tuple[Op, ...] = ()

    def __getitem__(self, ops: Op | tuple[Op, ...]) -> HeadKind:
        families = ops if isinstance(ops, tuple) else (ops,)
        for op in families:
            if not isinstance(op, Op):
                raise TypeError(f"head[...] lists ops, got {op!r}")
        kind = HeadKind(f"head[{', '.join(op.family.name for op in families)}]", self.__doc__ or "")
        kind.families = tuple(op.family for op in families)
        return kind


seg = Kind("seg", "Any number of operands, used with a star: `f(*xs)`.")
head = HeadKind("head", "An operator, together with its parameters.")
param = Kind("param", "The value of an operator's parameter, such as an axis.")
order = Kind("param", "`param | None`: an order of dimensions; the dimshuffle that has it may be missing.")


class Guard(Kind):
    """A test on the matched term. `source` is the same test as Python text over `{x}`, inlined in the matcher.

    Guards combine: `Float & Matrix`, `Integer | Bool`, `~Constant`. A rule file makes its own with `Guard(name, test)`.
    `Float | 1` may also be left out of a product it is a factor or divisor of, `Float | 0` of a sum: the rule stands
    for the forms with and without it. `shallow` says that `source` looks at nothing but the term's operator and type.
    """

    def __init__(
        self,
        name: str,
        test: Callable[[Any], Any],
        source: str | None = None,
        doc: str = "",
        single: bool = False,
        shallow: bool = False,
    ) -> None:
        super().__init__(name, doc)
        self.test, self.source, self.single = test, source, single
        self.shallow = shallow and source is not None
        self.left_out: int | None = None  # the number it counts as where it is not there

    def __call__(self, term: Any) -> bool:
        """Whether the term passes."""
        return bool(self.test(getattr(term, "term", term)))

    def __and__(self, other: Guard) -> Guard:
        source = f"({self.source} and {other.source})" if self.source and other.source else None
        name = f"{self.name} & {other.name}"
        single, shallow = self.single or other.single, self.shallow and other.shallow
        both = Guard(name, lambda t: self.test(t) and other.test(t), source, single=single, shallow=shallow)
        both.left_out = self.left_out if other.left_out is None else other.left_out
        return both

    def __or__(self, other: Any) -> Guard:
        self._refuse_optional(other)
        if isinstance(other, int):
            return self._or_left_out(other)
        if self.single or other.single:
            raise TypeError("SingleUse can be combined with & only")
        source = f"({self.source} or {other.source})" if self.source and other.source else None
        shallow = self.shallow and other.shallow
        return Guard(f"{self.name} | {other.name}", lambda t: self.test(t) or other.test(t), source, shallow=shallow)

    def _or_left_out(self, number: int) -> Guard:
        if number not in (0, 1) or isinstance(number, bool):
            raise TypeError(f"a factor may be left out as `{self.name} | 1`, a summand as `| 0`; not as {number!r}")
        new = Guard(f"{self.name} | {number}", self.test, self.source, self.__doc__ or "", self.single, self.shallow)
        new.left_out = number
        return new

    def _refuse_optional(self, *others: Any) -> None:
        if any(getattr(g, "left_out", None) is not None for g in (self, *others)):
            raise TypeError("`| 1` and `| 0` come last: write (Float | Integer) | 1")

    def __invert__(self) -> Guard:
        self._refuse_optional()
        if self.single:
            raise TypeError("~SingleUse is not a guard")
        source = f"(not {self.source})" if self.source else None
        return Guard(f"~{self.name}", lambda t: not self.test(t), source, shallow=self.shallow)


INEXACT = frozenset((*dtypes.FLOATS, *dtypes.COMPLEX))
FLOATS = frozenset(dtypes.FLOATS)
COMPLEXES = frozenset(("complex64", "complex128"))
INTEGERS = frozenset(("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"))
UNSIGNED = frozenset(("uint8", "uint16", "uint32", "uint64"))
HALVES = frozenset(dtypes.HALVES)
NAMES = {
    "HALVES": HALVES,
    "FLOATS": FLOATS,
    "COMPLEXES": COMPLEXES,
    "INTEGERS": INTEGERS,
    "INEXACT": INEXACT,
    "UNSIGNED": UNSIGNED,
}


def _dtypes(name: str, table: str, doc: str) -> Guard:
    members = NAMES[table]
    return Guard(name, lambda t: t.type.dtype in members, f"{{x}}.type.dtype in {table}", doc, shallow=True)


def _rank(name: str, n: int) -> Guard:
    doc = f"An array with {n} dimensions."
    return Guard(name, lambda t: t.type.ndim == n, f"{{x}}.type.ndim == {n}", doc, shallow=True)


Float = _dtypes("Float", "FLOATS", "Real floating point.")
Half = _dtypes("Half", "HALVES", "Floats of 16 bits.")
Complex = _dtypes("Complex", "COMPLEXES", "Complex numbers.")
Inexact = _dtypes("Inexact", "INEXACT", "Floating point, real or complex.")
Integer = _dtypes("Integer", "INTEGERS", "Integers, signed or not.")
Unsigned = _dtypes("Unsigned", "UNSIGNED", "Unsigned integers.")
Bool = Guard("Bool", lambda t: t.type.dtype == "bool", "{x}.type.dtype == 'bool'", "Truth values.", shallow=True)
Real = Guard(
    "Real",
    lambda t: t.type.dtype is not None and t.type.dtype not in COMPLEXES,
    "({x}.type.dtype is not None and {x}.type.dtype not in COMPLEXES)",
    "Anything but complex numbers.",
    shallow=True,
)
Scalar = _rank("Scalar", 0)
Vector = _rank("Vector", 1)
Matrix = _rank("Matrix", 2)
Constant = Guard(
    "Constant", lambda t: t.op is CONST, "{x}.op is CONST", "A value known when the graph is built.", shallow=True
)
NonConst = Guard("NonConst", lambda t: t.op is not CONST, "{x}.op is not CONST", "Not a constant.", shallow=True)
Uniform = Guard(
    "Uniform",
    lambda t: t.op is CONST and t.scalar is not None,
    "({x}.op is CONST and {x}.scalar is not None)",
    "A constant all of whose elements are one number.",
)
Static = Guard(
    "Static",
    lambda t: isinstance(t.type, TensorType) and None not in t.type.shape,
    None,
    "An array all of whose lengths are known.",
)
SingleUse = Guard("SingleUse", lambda t: True, None, "Used in one place of the graph only.", single=True)

GUARDS = {
    g.name: g
    for g in (
        Float, Half, Complex, Inexact, Integer, Unsigned, Bool, Real, Scalar, Vector, Matrix, Constant, NonConst,
        Uniform, Static, SingleUse,
    )
}  # fmt: skip
