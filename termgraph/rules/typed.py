"""Typed patterns, `x[positive]`, `(i * k)[no_overflow]`, `y[x.dtype]`: what a part of a left side is, where it stands.

A kind is a name in one table (`goals.KINDS`: facts that the engine has about one term), or the dtype of another part. A
rule keeps its kinds as the goals they are, so that they are proved, trusted, compiled and asked backwards like others.
"""

from __future__ import annotations

from typing import Any

from unification import Var

from termgraph.rules.goals import IN_PLACE, KINDS, Goal, GoalCall
from termgraph.rules.kinds import Guard, PatternTerm, SegVar
from termgraph.rules.pattern import Pattern, this
from termgraph.rules.stdgoals import dtype_of
from termgraph.rules.text import pattern_text
from termgraph.rules.type_facts import same_dtype
from termgraph.terms.errors import RuleError
from termgraph.terms.term import Term, mk


class _Kinds:
    """The head of a part whose kinds are said; it is gone once the rule is defined."""

    _table: dict[Any, _Kinds] = {}

    def __init__(self, kinds: tuple[tuple[Goal, Any], ...]) -> None:
        self.kinds = kinds
        self.name = f"[{', '.join(goal.name for goal, _ in kinds)}]"
        self.lvars = frozenset(v for _, v in kinds if v is not None)

    @classmethod
    def of(cls, kinds: tuple[tuple[Goal, Any], ...]) -> _Kinds:
        return cls._table.setdefault(kinds, cls(kinds))


def _typed(self: Pattern, kinds: Any) -> Pattern:
    """This part of a left side, which is of all these kinds."""
    if self.term.__class__ is SegVar or (self.kind is not None and not isinstance(self.kind, Guard)):
        raise RuleError(f"{self!r} is no operand; what it is follows the right side as a goal")
    found = tuple([_kind(self, k) for k in (kinds if isinstance(kinds, tuple) else (kinds,))])
    return Pattern(mk(_Kinds.of(found), (self.term,)), self.kind)


def _kind(part: Pattern, kind: Any) -> tuple[Goal, Any]:
    made = IN_PLACE.get(kind.term) if isinstance(kind, Pattern) and isinstance(kind.term, Var) else None
    if made is not None and made.goal is dtype_of and isinstance(made.args[0], Var):
        return same_dtype, made.args[0]
    if isinstance(kind, Goal) and KINDS.get(kind.name) is kind:
        return kind, None
    if isinstance(kind, Guard):
        raise RuleError(f"{kind.name} is said where the metavariable is declared: `x: {kind.name}`")
    raise RuleError(
        f"{part!r}[{kind!r:.60}]: patterns have no elements (write subtensor(x, ..., index=i)), and this is no kind; "
        f"there are x.dtype, this.dtype, {', '.join(sorted(KINDS))}"
    )


Pattern.of_kinds = _typed  # type: ignore[attr-defined]


def without_kinds(lhs: PatternTerm) -> tuple[Any, tuple[GoalCall, ...]]:
    """A left side as a term with holes, and what it says of its parts: what types tell first, for that is cheap."""
    calls: list[tuple[Goal, Any, Any]] = []
    plain = _bare(lhs, calls)
    made = [(g, this.term if part is plain else part, other) for g, part, other in calls]
    made.sort(key=lambda call: not call[0].of_types)
    return plain, tuple([GoalCall(g, (part,) if other is None else (part, other)) for g, part, other in made])


def _bare(p: PatternTerm, calls: list[tuple[Goal, Any, Any]]) -> Any:
    if p.__class__ is not Term or not p.lvars:
        return p
    args = tuple([_bare(a, calls) for a in p.args])
    if isinstance(p.op, _Kinds):
        calls += [(goal, args[0], other) for goal, other in p.op.kinds]
        return args[0]
    return p if args == p.args else mk(p.op, args)


def refuse_kinds(*others: Any) -> None:
    """RuleError if kinds are said anywhere but on the left side."""
    for p in others:
        if p.__class__ is Term:
            if isinstance(p.op, _Kinds):
                raise RuleError(f"{pattern_text(p.args[0])}{p.op.name}: kinds stand on the left side, not elsewhere")
            refuse_kinds(*p.args)


def kind_texts(call: GoalCall) -> tuple[str, str]:
    """A part and its kind, printed."""
    part, *other = map(pattern_text, call.args)
    return part, f"{other[0]}.dtype" if other else call.name
