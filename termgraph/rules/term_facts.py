"""Facts about terms: nonzero, positive, finite, sorted, ... Three-valued; unknown refuses to be a bool.

A fact speaks about every element of the array, NaN excepted. It follows from the dtype, the value of a constant, a
`T.assume`, or from facts about operands by the propagation rules in `propagation`. Iterative and memoised.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from termgraph.rules.goals import KINDS, Goal, GoalCall
from termgraph.rules.pattern import Pattern
from termgraph.terms import facts as operator_facts
from termgraph.terms.dtypes import kind_of
from termgraph.terms.op import CONST, Op
from termgraph.terms.ops.assume import assume
from termgraph.terms.term import AnyTerm, forget_facts
from termgraph.terms.types import TensorType

FACTS: dict[str, TermFact] = {}
_DEEPEST = 60  # nested questions, of three Python frames each
_propagations = 0  # how many rules of propagation were declared
Ask = Callable[["TermFact", Any], "bool | None"]


class Unknown:
    """The third truth value: neither known to hold nor known not to."""

    def __bool__(self) -> bool:
        raise TypeError("this fact is unknown, which is neither True nor False; compare with `is True` or `is False`")

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = Unknown()


class _Missing(Exception):
    """Raised inside a propagation rule that needs a fact not yet worked out."""

    def __init__(self, fact: TermFact, term: AnyTerm) -> None:
        self.fact, self.term = fact, term


class TermFact(Goal):
    """A property of a term. In a rule it is a goal; on a term it answers True, False or UNKNOWN."""

    trusted = is_fact = True

    def __init__(self, name: str, doc: str, of_value: Callable[[np.ndarray], Any], **dtypes: bool) -> None:
        self.name, self.__doc__ = name, doc
        self.modes, self.relation, self.source, self.each = {"i": self.known}, None, None, None
        self.some, self.after, self.worth = None, None, self.may_hold
        self.arity, self.counts_clients = 1, False
        self.of_value, self.by_kind = of_value, dtypes  # dtype kind letter -> what the dtype alone says
        self.rules: dict[Op, Callable[[Any, Ask], bool | None]] = {}
        self.implied_by: list[tuple[TermFact, ...]] = []
        self.excluded_by: list[TermFact] = []
        self._memo: weakref.WeakKeyDictionary[AnyTerm, bool | None] = weakref.WeakKeyDictionary()
        self.asked = 1 << 2 * len(FACTS)  # bits in the notes of a term: whether a proof was tried, and found
        self.holding = 2 * self.asked
        FACTS[name] = KINDS[name] = self

    def __call__(self, x: Any) -> Any:
        if isinstance(x, Pattern):
            return GoalCall(self, (x,))
        found = self.known(getattr(x, "term", x))
        return UNKNOWN if found is None else found

    def propagate(self, op: Op, rule: Callable[[Any, Ask], bool | None]) -> None:
        """Say when results of `op` have this property: `rule(term, ask)` gives True, False or None.

        `ask(fact, operand)` answers for operands. What is compiled from then on knows of it.
        """
        global _propagations
        self.rules[op] = rule
        _propagations += 1
        _forget_proofs()

    def known(self, term: AnyTerm) -> bool | None:
        """True, False, or None for unknown."""
        found = self._memo.get(term, _MISSING)
        return _work_out(self, term) if found is _MISSING else found

    def proved(self, term: AnyTerm) -> bool:
        """Whether the fact is known to hold: cheaper than asking whether it is known not to."""
        noted = term._facts
        if noted & self.asked:
            return noted & self.holding != 0
        return self.may_hold(term) and _prove(self, term)

    def may_hold(self, term: AnyTerm) -> bool:
        """Whether the fact could hold, to judge by the term's operator and dtype: False saves asking."""
        return (term.sig.provable or _provable(term)).facts & self.asked != 0

    def refuted(self, term: AnyTerm) -> bool:
        """Whether the fact is seen not to hold without looking far: what a query checks that takes it on trust."""
        family = term.op.family
        if not (family in self.rules or self.excluded_by or family is CONST or family is assume):
            type_ = term.type  # nothing but this can tell
            return type_.__class__ is TensorType and self.by_kind.get(type_.kind) is False
        found = _direct(self, term, _at_sight)
        if found is None and self.excluded_by:
            return any(_at_sight(f, term) is True for f in self.excluded_by)
        return found is False

    def holds(self, mode: str, inputs: tuple[Any, ...], assume: frozenset[str]) -> bool:
        """Proved, or taken on trust and not refuted."""
        return not self.refuted(*inputs) if self.name in assume else self.proved(*inputs)

    def __repr__(self) -> str:
        return f"<fact {self.name}>"


def _no_answer(f: TermFact, t: AnyTerm) -> None:
    return None


def _at_sight(f: TermFact, t: AnyTerm) -> bool | None:
    """What the term itself tells, without a look at what its operands are known to be."""
    return _direct(f, t, _no_answer)


class _Provable:
    """What rules may prove of terms with one operator and one kind of dtype: the bits of `asked`, and how."""

    __slots__ = ("_direct", "_family", "_kind", "_plans", "facts")

    def __init__(self, family: Any, kind: str) -> None:
        self._family, self._kind = family, kind
        anything = family is CONST or family is assume
        self._direct = 0
        for f in FACTS.values():
            if f.by_kind.get(kind, kind and (anything or family in f.rules)):
                self._direct |= f.asked
        self.facts = self._following(0)
        self._plans: dict[TermFact, tuple[Any, ...]] = {}

    def _following(self, barred: int) -> int:
        """All facts that may follow without the `barred` one."""
        facts, before = self._direct & ~barred, -1
        while facts != before:
            before = facts
            for f in FACTS.values():
                if f.implied_by and not f.asked & (facts | barred) and any(_within(facts, ps) for ps in f.implied_by):
                    facts |= f.asked
        return facts

    def plan(self, f: TermFact) -> tuple[Callable[..., Any], list[Any]]:
        """The rule to try, and then the premises from which the fact may follow that do not follow from it only."""
        found = self._plans.get(f)
        if found is None:
            found = self._plans[f] = self._rule(f), self._ways(f)
        return found

    def _rule(self, f: TermFact) -> Callable[..., Any]:
        if not self._kind or self._kind in f.by_kind:
            says = f.by_kind.get(self._kind)
            return lambda t, ask: says
        if self._family is CONST:
            return lambda t, ask: _of_constant(f, t.value)
        if self._family is assume:
            return lambda t, ask: _declared_or_known(f, t, ask)
        return f.rules.get(self._family, _unruled)

    def _ways(self, f: TermFact) -> list[Any]:
        if not self._kind or self._kind in f.by_kind or self._family is CONST:
            return []
        facts = self._following(f.asked)
        return [ps for ps in f.implied_by if _within(facts, ps)]

    def forget(self) -> None:
        """Rules have changed: any fact may follow now."""
        self.facts = self._direct = -1
        self._plans.clear()


def knowledge_version() -> int:
    """Moves with every new fact about operators, and every rule by which facts about terms follow from others."""
    return operator_facts.version() + _propagations


def _unruled(t: AnyTerm, ask: Ask) -> None:
    return None


def _declared(f: TermFact, t: AnyTerm) -> bool | None:
    """What `T.assume` says."""
    declared = t.op.params["facts"]
    if f.name in declared:
        return True
    return False if any(other.name in declared for other in f.excluded_by) else None


def _declared_or_known(f: TermFact, t: AnyTerm, ask: Ask) -> bool | None:
    """What `T.assume` says, or else what is proved of its operand."""
    found = _declared(f, t)
    return ask(f, t.args[0]) or None if found is None else found


def _within(facts: int, premises: tuple[Any, ...]) -> bool:
    return all(facts & p.asked for p in premises)


_MISSING: Any = object()
_kinds: dict[tuple[Any, str], _Provable] = {}
_proofs_noted = _answers_noted = False  # whether anything is to be forgotten


def _provable(t: AnyTerm) -> _Provable:
    """The facts that may be proved of a term; its signature knows them from then on."""
    key = (t.op.family, t.type.kind if t.type.__class__ is TensorType else "")
    found = _kinds.get(key)
    if found is None:
        found = _kinds[key] = _Provable(*key)
    t.sig.provable = found
    return found


def _forget_proofs() -> None:
    """Rules have changed: from now on any fact may hold for the signatures that were asked before."""
    global _proofs_noted, _answers_noted
    for known in _kinds.values():
        known.forget()
    _kinds.clear()
    if _proofs_noted:
        forget_facts()
        _proofs_noted = False
    if _answers_noted:
        for f in FACTS.values():
            f._memo.clear()
        _answers_noted = False


def _prove(fact: TermFact, term: AnyTerm) -> bool:
    """Whether a proof is found, which the terms note; nobody looks for what shows that the fact does not hold."""
    global _proofs_noted
    _proofs_noted = True
    asking: set[tuple[int, int]] = set()  # what was not proved by a rule, and now from premises about the same term
    depth = 0

    def ask(f: TermFact, t: AnyTerm) -> bool | None:
        nonlocal depth
        noted = t._facts
        if noted & f.asked:
            return True if noted & f.holding else None
        provable = t.sig.provable or _provable(t)
        if not provable.facts & f.asked or (asking and (f.asked, id(t)) in asking):
            return None  # cannot be, or was asked in a circle: nothing follows
        if depth >= _DEEPEST:
            raise _Missing(f, t)
        depth += 1
        rule, ways = provable.plan(f)
        found = rule(t, ask)
        if found is None and ways:
            asking.add((f.asked, id(t)))
            for premises in ways:
                for p in premises:
                    if ask(p, t) is not True:
                        break
                else:
                    found = True
                    break
            asking.discard((f.asked, id(t)))
        depth -= 1
        t._facts |= f.asked | f.holding if found else f.asked
        return found

    stack: list[tuple[TermFact, Any]] = [(fact, term)]
    while stack:
        f, t = stack[-1]
        asking.discard((f.asked, id(t)))
        try:
            found = ask(f, t)
        except _Missing as missing:
            depth = 0
            asking.clear()
            asking.update([(g.asked, id(u)) for g, u in stack])
            if missing.term is t and missing.fact is f:
                t._facts |= f.asked  # a rule that asks for what it says
            else:
                stack.append((missing.fact, missing.term))
            continue
        stack.pop()
    return found is True


def _work_out(fact: TermFact, term: AnyTerm) -> bool | None:
    """The whole truth: True, False, or None for unknown.

    Evaluates operands first: by recursion as far as that goes safely, from there on with an explicit stack. A rule that
    misses an operand's fact too deep down is asked again once that is known.
    """
    global _answers_noted
    _answers_noted = True
    asking: set[tuple[int, int]] = set()
    depth = 0

    def ask(f: TermFact, t: AnyTerm) -> bool | None:
        nonlocal depth
        found: bool | None = f._memo.get(t, _MISSING)
        if found is not _MISSING:
            return found
        place = (f.asked, id(t))
        if place in asking:
            return None  # asked in a circle: nothing follows
        if depth >= _DEEPEST:
            raise _Missing(f, t)
        asking.add(place)
        depth += 1
        try:
            found = f._memo[t] = _derive(f, t, ask)
        finally:
            depth -= 1
            asking.discard(place)
        return found

    stack: list[tuple[TermFact, Any]] = [(fact, term)]
    while stack:
        f, t = stack[-1]
        asking.discard((f.asked, id(t)))
        try:
            found = ask(f, t)
        except _Missing as missing:
            asking.add((f.asked, id(t)))
            stack.append((missing.fact, missing.term))
            continue
        stack.pop()
    return found


def _derive(f: TermFact, t: Any, ask: Ask) -> bool | None:
    found = _direct(f, t, ask)
    return _implied(f, t, ask) if found is None else found


def _direct(f: TermFact, t: Any, ask: Ask) -> bool | None:
    """What follows from the term's type, its value and its operands, without other facts about the same term."""
    type_ = t.type
    if not isinstance(type_, TensorType):
        return None
    kind = type_.kind
    if kind in f.by_kind:
        return f.by_kind[kind]
    family = t.op.family
    if family is CONST:
        return _of_constant(f, t.value)
    if family is assume:
        found = _declared(f, t)
        return ask(f, t.args[0]) if found is None else found
    return f.rules.get(family, _unruled)(t, ask)


def _of_constant(f: TermFact, value: np.ndarray) -> bool | None:
    try:
        return bool(f.of_value(value))
    except TypeError:
        return None


def _implied(f: TermFact, t: AnyTerm, ask: Ask) -> bool | None:
    for premises in f.implied_by:
        for p in premises:
            if ask(p, t) is not True:
                break
        else:
            return True
    for other in f.excluded_by:
        if ask(other, t) is True:
            return False
    return None


def _every(test: Callable[..., Any]) -> Callable[[np.ndarray], Any]:
    def of_value(value: np.ndarray) -> Any:
        if kind_of(value.dtype) == "c":
            raise TypeError("complex numbers have no order")
        with np.errstate(invalid="ignore"):
            return np.all(test(value) | np.isnan(value) if kind_of(value.dtype) == "f" else test(value))

    return of_value


def _is_matrix(test: Callable[..., Any]) -> Callable[[np.ndarray], Any]:
    return lambda v: v.ndim >= 2 and v.shape[-1] == v.shape[-2] and test(v)


def _is_sorted(v: np.ndarray) -> Any:
    return v.ndim > 0 and np.all(v[..., 1:] >= v[..., :-1])


def _is_symmetric(v: np.ndarray) -> Any:
    return np.all(v == np.swapaxes(v, -1, -2))


def _is_lower(v: np.ndarray) -> Any:
    return v.ndim >= 2 and np.all(np.triu(v, 1) == 0)


def _is_upper(v: np.ndarray) -> Any:
    return v.ndim >= 2 and np.all(np.tril(v, -1) == 0)


nonzero = TermFact("nonzero", "No element is zero.", lambda v: np.all(v != 0))
positive = TermFact("positive", "Every element is greater than zero.", _every(lambda v: v > 0), b=False)
nonnegative = TermFact("nonnegative", "No element is less than zero.", _every(lambda v: v >= 0), b=True, u=True)
negative = TermFact("negative", "Every element is less than zero.", _every(lambda v: v < 0), b=False, u=False)
nonpositive = TermFact("nonpositive", "No element is greater than zero.", _every(lambda v: v <= 0))
no_minus_zero = TermFact(
    "no_minus_zero", "No element is -0.0.", _every(lambda v: (v != 0) | ~np.signbit(v)), b=True, i=True, u=True, c=False
)
finite = TermFact("finite", "No infinity and no NaN.", lambda v: np.all(np.isfinite(v)), b=True, i=True, u=True)
integer = TermFact(
    "integer", "Every element is a whole number.", _every(lambda v: v == np.floor(v)), b=True, i=True, u=True
)
real = TermFact(
    "real", "No element has an imaginary part.", lambda v: np.all(np.imag(v) == 0), b=True, i=True, u=True, f=True
)
at_most_one = TermFact("at_most_one", "No element exceeds one.", _every(lambda v: v <= 1), b=True)
sorted_ = TermFact("sorted", "Ascending along the last axis.", _is_sorted)
symmetric = TermFact("symmetric", "Equals its own transpose.", _is_matrix(_is_symmetric))
lower_triangular = TermFact("lower_triangular", "Zero above the diagonal.", _is_lower)
upper_triangular = TermFact("upper_triangular", "Zero below the diagonal.", _is_upper)
diagonal = TermFact("diagonal", "Zero off the diagonal.", lambda v: _is_lower(v) and _is_upper(v))
orthogonal = TermFact("orthogonal", "Its transpose is its inverse.", lambda v: _unknown())
positive_definite = TermFact("positive_definite", "Symmetric with positive eigenvalues.", lambda v: _unknown())
no_overflow = TermFact("no_overflow", "Whole numbers that are computed without wrapping around.", lambda v: True)


def _unknown() -> bool:
    raise TypeError("not decided from values: rounding would decide it")


positive.implied_by += [(nonnegative, nonzero)]
negative.implied_by += [(nonpositive, nonzero)]
nonnegative.implied_by += [(positive,)]
nonpositive.implied_by += [(negative,)]
nonzero.implied_by += [(positive,), (negative,)]
no_minus_zero.implied_by += [(nonzero,)]
lower_triangular.implied_by += [(diagonal,)]
upper_triangular.implied_by += [(diagonal,)]
diagonal.implied_by += [(lower_triangular, upper_triangular)]
symmetric.implied_by += [(diagonal,), (positive_definite,)]
positive.excluded_by += [negative, nonpositive]
negative.excluded_by += [positive, nonnegative]
nonnegative.excluded_by += [negative]
nonpositive.excluded_by += [positive]
