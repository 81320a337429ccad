"""`rules_from_sympy`: identities of SymPy as rules of the database.

Symbols become metavariables, what SymPy assumes of them goals.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from unification import Var

from termgraph.rules.authoring import RuleTable, fill
from termgraph.rules.definition import Rule, rule
from termgraph.rules.facts import FACTS
from termgraph.rules.pattern import Pattern
from termgraph.sympy.inward import read
from termgraph.sympy.table import require_sympy
from termgraph.terms.errors import RuleError

if TYPE_CHECKING:
    from sympy import Basic

# What is asked of a metavariable, the strongest first: of each group the first that SymPy assumes of the symbol.
_GROUPS = (("positive", "negative", "nonnegative", "nonpositive", "nonzero", "real"), ("integer",))
_COMPARED = {
    "StrictGreaterThan": "positive", "StrictLessThan": "negative", "GreaterThan": "nonnegative",
    "LessThan": "nonpositive", "Unequality": "nonzero",
}  # fmt: skip


def rules_from_sympy(
    identities: Mapping[str, Any],
    topic: str,
    *,
    tags: Iterable[str] = ("canonicalize",),
    assumes: Iterable[str] = ("domain", "finite", "overflow", "reassoc", "signed_zero"),
    overwrite: bool = False,
) -> RuleTable:
    """Rules from SymPy identities: `{name: (left, right)}`, `{name: Eq(left, right)}` or `{name: (left, right, if)}`.

    Symbols and wildcards stand for any expression; what SymPy assumes of a symbol (`positive=True`) and conditions
    (`x > 0`, `Ne(x, 0)`, `Q.positive(x)`) become goals. The rules belong to the database from then on: `function` uses
    those whose `tags` its mode selects. SymPy calculates exactly, with finite numbers, so rules assume all that this
    leaves out unless told otherwise (strict mode has none of them); `tg.rules.prove(table)` tries whether they hold.

    >>> import sympy, termgraph as tg, termgraph.tensor as T
    >>> a, b = sympy.symbols("a b")
    >>> table = tg.sympy.rules_from_sympy(
    ...     {"twice": (sympy.sin(a) * sympy.cos(a), sympy.sin(2 * a) / 2)}, "from_sympy", tags=["mine"], overwrite=True
    ... )
    >>> print(table["twice"])
    from_sympy.twice: cos(a) * sin(a) -> sin(2 * a) / 2
    >>> x = T.dvector("x")
    >>> tg.rewrite(T.cos(x) * T.sin(x), "+mine").term
    true_div(sin(mul(2.0, x)), 2.0)
    """
    require_sympy()
    if not isinstance(identities, Mapping):
        raise TypeError(
            f"rules_from_sympy takes a dictionary name -> (left, right), got {type(identities).__name__}; "
            "names are what traces and queries show"
        )
    caller = sys._getframe(1)
    table = RuleTable(topic, tuple(tags), f"{caller.f_code.co_filename}:{caller.f_lineno}", "From SymPy.")
    made = list(_rules(identities, table, tuple(assumes)))
    return fill(table, made, {}, overwrite)


def _rules(identities: Mapping, table: RuleTable, assumes: tuple) -> Iterator[Rule]:
    for name, identity in identities.items():
        lhs, rhs, *conditions = _sides(name, identity)
        leaf = _Metavariables()
        try:
            left, right = read(lhs, leaf), read(rhs, leaf)
            goals = leaf.goals() + [_goal(c, leaf) for c in conditions]
        except TypeError as err:
            raise RuleError(f"rule {table.topic}.{name} from SymPy: {err}") from None
        yield _placed(rule(name, left, right, *goals, assumes=assumes), table.where)


def _placed(made: Rule, where: str) -> Rule:
    made.where = where
    return made


def _sides(name: str, identity: Basic) -> tuple:
    sympy = require_sympy()
    if isinstance(identity, sympy.Eq):
        return identity.lhs, identity.rhs
    if isinstance(identity, (bool, type(sympy.true))):
        raise RuleError(f"rule {name} from SymPy: SymPy has already found the equation to be {identity}; give a pair")
    if not isinstance(identity, (tuple, list)) or len(identity) < 2:
        raise RuleError(f"rule {name} from SymPy: expected (left, right) or Eq(left, right), got {identity!r:.80}")
    return tuple(map(sympy.sympify, identity))


class _Metavariables:
    """One metavariable for each symbol of a rule."""

    def __init__(self) -> None:
        self.seen: dict[Any, Pattern] = {}

    def __call__(self, symbol: Any) -> Pattern:
        return self.seen.setdefault(symbol, Pattern(Var(symbol.name)))

    def goals(self) -> list:
        """What SymPy assumes of the symbols."""
        found = []
        for symbol, pattern in self.seen.items():
            for group in _GROUPS:
                found += [FACTS[name](pattern) for name in group if symbol.assumptions0.get(name)][:1]
        return found


def _goal(condition: Basic, leaf: _Metavariables) -> Any:
    name = _COMPARED.get(type(condition).__name__)
    if name is not None and condition.rhs == 0:
        return FACTS[name](read(condition.lhs, leaf))
    asked = getattr(getattr(condition, "function", None), "name", None)
    if type(condition).__name__ == "AppliedPredicate" and asked in FACTS:
        return FACTS[asked](read(condition.arg, leaf))
    raise TypeError(f"the condition {condition} is no comparison with 0 and no fact; known are {', '.join(FACTS)}")
