"""Rule:
one object for a simplification (name, left side, right side, goals), and the checks made when it is defined.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from unification import Var

from termgraph._lazy import lazy
from termgraph.rules.bare import as_call
from termgraph.rules.forms import flat_pattern, is_nary, refuse_other_kind
from termgraph.rules.goals import Goal, GoalCall, call_site
from termgraph.rules.kinds import Guard, Kind, SegVar
from termgraph.rules.optional import parts_left_out
from termgraph.rules.parts import with_parts
from termgraph.rules.pattern import Captured, Pattern, free_variables, inner_terms, operand, this
from termgraph.rules.stage import stage
from termgraph.rules.tags import WORDS, all_tags
from termgraph.rules.text import pattern_text
from termgraph.rules.typed import kind_texts, refuse_kinds, without_kinds
from termgraph.rules.words import refuse_misspelt_tags, refuse_unknown_assumptions
from termgraph.terms.errors import RuleError
from termgraph.terms.facts import version
from termgraph.terms.op import Op, is_var
from termgraph.terms.ops.elementwise import neg
from termgraph.terms.term import Lit, Term, is_term
from termgraph.terms.text import html_table

if TYPE_CHECKING:
    pass

relations = lazy("termgraph.rules.relation")  # brings kanren
_sets: dict[frozenset[str], frozenset[str]] = {}


def _one_set(words: Iterable[str]) -> frozenset[str]:
    """The one set of these words: a thousand rules have a few dozen different sets."""
    words = frozenset(words)
    return _sets.setdefault(words, words)


class Rule:
    """`lhs` may be replaced by `rhs` where the goals hold.

    `name` is `topic.rule`; `tags` select it; `assumes` says what it takes on trust; `where` is its `file:line`.
    """

    __slots__ = (
        "_staged", "_staged_version", "assumes", "doc", "goals", "guards", "kinds", "lhs", "name", "order", "rhs",
        "tags", "typed", "where",
    )  # fmt: skip

    def __init__(
        self, name: str, lhs: Any, rhs: Any, goals: tuple[GoalCall, ...], assumes: Iterable[str], where: str, doc: str
    ):
        self.name, self.goals, self.where, self.doc = name, goals, where, doc
        self.lhs, self.rhs = lhs, rhs
        self.assumes = _one_set(assumes)
        self.tags = _one_set(())
        self.kinds: dict[Var, Kind] = {}
        self.guards: dict[Var, Guard] = {}
        self.typed: tuple[GoalCall, ...] = ()  # those of its goals that stand in the left side: `x[positive]`
        self.order: tuple[Any, ...] = ()
        self._staged: Any = None
        self._staged_version = -1

    def with_goal(self, goal: GoalCall, trusted: str) -> Rule:
        """This rule under a further goal, which makes one of its assumptions needless."""
        return self._with((*self.goals, goal), self.rhs, trusted)

    def with_plus_zero(self, trusted: str) -> Rule:
        """This rule with 0.0 added to its right side, so that a zero is 0.0; that makes an assumption needless."""
        negative = self.rhs.__class__ is Term and self.rhs.op is neg
        part: Any = Pattern(self.rhs.args[0] if negative else self.rhs)
        made = 0 - part if negative else part + 0
        return self._with(self.goals, operand(made), trusted)

    def _with(self, goals: tuple[GoalCall, ...], rhs: Any, trusted: str) -> Rule:
        new: Rule = object.__new__(Rule)
        for slot in Rule.__slots__:
            setattr(new, slot, getattr(self, slot))
        new.goals, new.rhs, new.assumes = goals, rhs, _one_set(self.assumes - {trusted})
        new._staged, new._staged_version = None, -1
        return new

    # ------------------------------------------------------------------ uses
    def relation(self, a: object, b: object) -> Any:
        """A kanren goal: `a` becomes `b` by this rule, applied at the root. Either side may be unknown."""
        return relations.rule_relation(self, a, b)

    def instances(self) -> list[Any]:
        """The rule with its goals over operators solved: one instance per answer, in a fixed order."""
        if self._staged_version != version():
            self._staged, self._staged_version = stage(self), version()
        instances: list[Any] = self._staged
        return instances

    @property
    def topic(self) -> str:
        """The rule set's name."""
        return self.name.partition(".")[0]

    @property
    def before(self) -> str:
        """The left side, printed."""
        return pattern_text(self.lhs)

    @property
    def after(self) -> str:
        """The right side, printed."""
        return pattern_text(self.rhs)

    def conditions(self) -> list[str]:
        """Kinds and goals, printed; what is written in the sides themselves is not said again."""
        kinds = {str(v.token): [repr(g)] for v, g in self.guards.items()}
        for part, kind in map(kind_texts, self.typed):
            kinds.setdefault(part, []).append(kind)
        others = [repr(g) for g in self.goals if not g.in_place and g not in self.typed]
        return [f"{part}: {' & '.join(names)}" for part, names in kinds.items()] + others

    def _repr_html_(self) -> str:
        """What notebooks show."""
        row = (self.name, self.before, "→", self.after, ", ".join(self.conditions()), self.where)
        return html_table(("rule", "before", "", "after", "if", "where"), [row])

    def __repr__(self) -> str:
        conditions = ", ".join(self.conditions())
        return f"{self.name}: {self.before} -> {self.after}" + (f"  if {conditions}" if conditions else "")


# ---------------------------------------------------------------------- definition
def rule(
    name: str,
    lhs: Any,
    rhs: Any,
    *goals: GoalCall,
    assumes: Iterable[str] = (),
    tags: Iterable[str] = (),
    doc: str = "",
) -> Rule:
    """A rewrite rule: `lhs` becomes `rhs` where all `goals` hold. Both sides are data: terms with metavariables.

    Use it inside a `@ruleset` function:

        yield rule("mul_div", (x * y) / y, x, nonzero(y))

    `assumes` names what the rule takes on trust beyond its goals ("finite", "reassoc", ...), `tags` are extra tags.
    Operators on the left whose parameters are not written have the op's default parameters.
    """
    where = call_site()
    if callable(rhs) and not isinstance(rhs, (Pattern, Term)) and not is_term(rhs) and not hasattr(rhs, "term"):
        raise RuleError(
            f"rule {name!r} at {where}: the right side is a function; write it as a term, and put the computation "
            "in a goal: @goal('io') def compute(x): ..., then rule(name, left, y, compute(x, y))"
        )
    made = Rule(name, lhs, rhs, goals, (assumes,) if isinstance(assumes, str) else assumes, where, doc)
    made.tags = frozenset((tags,) if isinstance(tags, str) else tags)
    return made


def finish(made: Any, topic: str, tags: Iterable[str], kinds: dict[Var, Kind], order: tuple[Any, ...]) -> Rule:
    """Complete and check a rule that a `@ruleset` function yielded; RuleError says what is wrong and where."""
    if not isinstance(made, Rule):
        raise RuleError(f"rule set {topic!r} yielded {type(made).__name__} {made!r:.60}; yield rule(name, left, right)")
    if not isinstance(made.name, str) or not made.name.isidentifier():
        raise RuleError(f"rule {made.name!r} at {made.where}: a rule's name must be an identifier such as 'mul_one'")
    short, made.name = made.name, f"{topic}.{made.name}"
    try:
        made.lhs, made.rhs = operand(made.lhs), operand(made.rhs)
    except TypeError as err:
        raise RuleError(f"rule {made.name!r} at {made.where}: {err}") from None
    made.tags = _one_set(all_tags({*tags, *made.tags}))
    made.kinds = kinds
    used = free_variables(made.lhs) | free_variables(made.rhs)
    made.guards = {v: k for v, k in kinds.items() if isinstance(k, Guard) and v in used}
    made.order = order
    bare, made.typed = without_kinds(made.lhs)
    made.lhs = flat_pattern(bare)
    made.goals = with_parts(made.lhs, made.rhs, (*made.typed, *map(as_call, made.goals)))
    try:
        refuse_kinds(made.rhs, *[a for g in made.goals if isinstance(g, GoalCall) for a in g.args])
        _check(made, short)
    except RuleError as err:
        raise RuleError(f"rule {made.name!r} at {made.where}: {err}") from None
    return made


def _check(r: Rule, short: str) -> None:
    refuse_unknown_assumptions(r.assumes)
    refuse_misspelt_tags(r.tags, WORDS)
    _check_left(r)
    bound = set(free_variables(r.lhs)) | {this.term}
    for g in r.goals:
        _check_goal(r, g, bound)
        bound |= g.variables()
    free = sorted((v.token for v in free_variables(r.rhs) if v not in bound), key=str)
    if free:
        raise RuleError(
            f"the right side {pattern_text(r.rhs)} uses {', '.join(free)}, which neither the left side nor a goal binds"
        )
    if r.lhs is r.rhs:
        raise RuleError("both sides are the same")
    refuse_other_kind(r.lhs, r.rhs, r.guards)
    tuple(parts_left_out(r, (r.lhs, r.rhs, r.goals)))  # all of them can be had


def _check_left(r: Rule) -> None:
    if r.lhs.__class__ is not Term:
        raise RuleError(f"the left side is {pattern_text(r.lhs)}; without an operator it would match anything")
    if not r.lhs.lvars:
        raise RuleError(f"the left side {pattern_text(r.lhs)} has no metavariable; constants are folded, not matched")
    for p in inner_terms(r.lhs):
        _check_node(r, p)


def _check_node(r: Rule, p: Term) -> None:
    if (
        p.args
        and all(a.__class__ is Lit or a.op is Lit.op for a in p.args if not is_var(a))
        and not any(is_var(a) for a in p.args)
    ):
        raise RuleError(f"{pattern_text(p)} can never match: it is folded to a constant before; write the number")
    if isinstance(p.op, (Op, Captured)):
        family = p.op.family
        segments = sum(a.__class__ is SegVar for a in p.args)
        if family.arity is not None and not segments and len(p.args) != family.arity:
            raise RuleError(f"{pattern_text(p)} can never match: {family.name} takes {family.arity} operands")
        if segments > 1 and is_nary(p.op):
            raise RuleError(f"{pattern_text(p)}: {family.name} has no order, so one `seg` takes the rest")
    for a in p.args:
        kind = r.kinds.get(a) if is_var(a) else None
        if kind is not None and kind.name == "param":
            raise RuleError(f"{a.token} is declared `param` but stands for an operand in {pattern_text(p)}")


def _check_goal(r: Rule, g: GoalCall, bound: set[Any]) -> None:
    if not isinstance(g, GoalCall):
        what = "a Python truth value" if isinstance(g, bool) else f"{type(g).__name__} {g!r:.60}"
        raise RuleError(
            f"after the right side come goals, got {what}; "
            "declare a test with @goal('i') and apply it to metavariables, for example nonzero(y), "
            "or write a kanren goal about metavariables, for example membero(k, (2, 3))"
        )
    if g.over_operators:
        return
    if isinstance(g.goal, Goal) and g.pick_mode(bound) is None:
        names = sorted(str(v.token) for v in bound if v is not this.term)
        raise RuleError(
            f"goal {g!r} has no usable mode: it can be asked as {sorted(g.goal.modes)} (i: known, o: computed), "
            f"but only {', '.join(names)} are known here"
        )
