"""Pattern: the facade through which rule authors write terms with holes, with ordinary operators and functions.

A pattern wraps an interned term that contains logic variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from unification import Var

from termgraph.rules.kinds import Kind, PatternTerm, SegVar
from termgraph.rules.text import pattern_text
from termgraph.terms.leaves import EMPTY
from termgraph.terms.op import Lift, Op, is_var
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.derivative import NOTHING, tup
from termgraph.terms.term import Const, Lit, Term, as_term, mk
from termgraph.terms.traverse import users_first


class HeadWith:
    """A head metavariable applied with parameters, `r(x, axis=a)`; becomes a bound op once `r` is known."""

    def __init__(self, var: Var, params: tuple[tuple[str, Any], ...]) -> None:
        self.var, self.params = var, params
        self.lvars = frozenset((var, *(v for _, v in params if is_var(v))))

    _table: dict[tuple[Any, ...], HeadWith] = {}

    @classmethod
    def of(cls, var: Var, params: dict[str, Any]) -> HeadWith:
        key = (var, tuple(sorted(params.items())))
        return cls._table.setdefault(key, cls(*key))

    def __repr__(self) -> str:
        return f"{self.var}{{{', '.join(f'{k}={v!r}' for k, v in self.params)}}}"


class Captured:
    """Any bound op of one family, remembered in a head metavariable: how `head[sum_]` looks inside a pattern."""

    _table: dict[tuple[Any, ...], Captured] = {}

    def __init__(self, var: Var, family: Op) -> None:
        self.var, self.family = var, family
        self.lvars = frozenset((var,))

    @classmethod
    def of(cls, var: Var, family: Op) -> Captured:
        return cls._table.setdefault((var, family), cls(var, family))

    def __repr__(self) -> str:
        return f"{self.var}:{self.family.name}"


PatternHead: TypeAlias = Op | Var | HeadWith | Captured  # what stands in front of a term with holes


class Pattern:
    """A term with holes. Operators, ops and language functions on patterns give patterns."""

    __slots__ = ("kind", "term")
    __array_ufunc__ = None
    term: Any
    kind: Kind | None

    def __init__(self, term: Any, kind: Kind | None = None) -> None:
        self.term, self.kind = term, kind

    @property
    def metavariable(self) -> Any:
        """What stands for this pattern inside an operator's parameters: its logic variable."""
        if not is_var(self.term):
            raise TypeError(f"an operator's parameter must be a value or a metavariable, not the pattern {self!r}")
        return self.term

    def __call__(self, *args: Any, **params: Any) -> Pattern:
        """Apply a head metavariable."""
        if not is_var(self.term) or self.kind is None or not hasattr(self.kind, "families"):
            raise TypeError(f"{self!r} is applied like an operator; declare it so: `{self!r}: head`")
        values = {k: _parameter(v) for k, v in params.items()}
        op = HeadWith.of(self.term, values) if values else self.term
        return Pattern(mk(op, tuple([operand(a) for a in args])))

    def __iter__(self) -> Iterator[Pattern]:
        if self.term.__class__ is not SegVar:
            raise TypeError(f"{self!r} is one operand; to stand for any number of them declare it `{self!r}: seg`")
        return iter((self,))

    def __bool__(self) -> bool:
        raise TypeError("a pattern has no truth value; conditions of a rule are goals, written after the right side")

    def __getitem__(self, kinds: Any) -> Pattern:
        """This part of a left side, and what it is: `x[positive]`; see `typed`."""
        made: Pattern = self.of_kinds(kinds)  # type: ignore[attr-defined]
        return made

    def __len__(self) -> int:
        raise TypeError("the length of a pattern is not known when the rule is written")

    def __hash__(self) -> int:
        return hash(self.term)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pattern) and other.term is self.term

    def __repr__(self) -> str:
        return pattern_text(self.term)


def _parameter(value: object) -> Any:
    return value.term if isinstance(value, Pattern) else value


def operand(value: Any) -> Any:
    """The term (with holes) for whatever may stand in a pattern: patterns, numbers, arrays, variables, terms."""
    if isinstance(value, Pattern):
        if value.kind is not None and value.kind.name == "param":
            raise TypeError(f"{value!r} is declared `param`: it stands for a parameter, not for an operand")
        return value.term
    if isinstance(value, tuple):  # one gradient per argument; None: nothing flows there
        return mk(tup, tuple([NOTHING if v is None else operand(v) for v in value]))
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        return Const(value) if value.ndim else Lit(value.item())
    return as_term(value)


def _apply(op: Op, args: tuple[Any, ...]) -> Pattern:
    return Pattern(mk(op, tuple([operand(a) for a in args])))


Pattern.apply_op = Lift(3, _apply)  # type: ignore[attr-defined]


def _binary(op: Op) -> tuple[Callable[..., Any], Callable[..., Any]]:
    return (lambda self, other: op(self, other)), (lambda self, other: op(other, self))


def _unary(op: Op) -> Callable[..., Any]:
    return lambda self: op(self)


def _install() -> None:
    both = {
        "add": ew.add, "sub": ew.sub, "mul": ew.mul, "truediv": ew.true_div, "floordiv": ew.floor_div, "mod": ew.mod,
        "pow": ew.pow_, "and": ew.bitwise_and, "or": ew.bitwise_or, "xor": ew.bitwise_xor,
        "lshift": ew.left_shift, "rshift": ew.right_shift,
    }  # fmt: skip
    for name, op in both.items():
        forward, backward = _binary(op)
        setattr(Pattern, f"__{name}__", forward)
        setattr(Pattern, f"__r{name}__", backward)
    for name, op in {"lt": ew.lt, "le": ew.le, "gt": ew.gt, "ge": ew.ge}.items():
        setattr(Pattern, f"__{name}__", _binary(op)[0])
    for name, op in {"neg": ew.neg, "abs": ew.abs_, "invert": ew.invert}.items():
        setattr(Pattern, f"__{name}__", _unary(op))


_install()


def free_variables(term: Any) -> frozenset[Any]:
    """The logic variables of a pattern term (operands, heads and parameters)."""
    if is_var(term):
        return frozenset((term,))
    return getattr(term, "lvars", EMPTY)


def inner_terms(pattern: PatternTerm) -> list[Term]:
    """What a pattern consists of, without metavariables and literals."""
    below = lambda p: [a for a in p.args if a.__class__ is Term]  # noqa: E731
    return users_first([pattern] if pattern.__class__ is Term else [], below)


def nested_vars(value: object) -> list[Var]:
    """The logic variables inside a parameter value."""
    if is_var(value):
        return [value]
    if isinstance(value, tuple):
        return [v for item in value for v in nested_vars(item)]
    return []


# The whole matched term, for goals that need it: `rule(..., collect_sum(this, y))`.
this = Pattern(Var("this"))
