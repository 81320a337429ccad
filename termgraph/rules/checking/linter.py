"""The checker of rule sets: what a rule author wants to be told before users find out.

    report = tg.rules.lint(rs);  report.ok;  print(report)

Errors: loops, rules that never fire, duplicates. Warnings: pairs of rules whose order matters, rules that no
termination order covers. Suggested completions are printed, never added.
"""

from __future__ import annotations

import itertools
import random
import zlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from unification import Var

from termgraph.rules.checking.examples import Example, examples, loose_examples
from termgraph.rules.checking.overlaps import Around, Pair, examine, overlaps
from termgraph.rules.checking.report import paragraph
from termgraph.rules.checking.termination import Order, find_order, weight_of
from termgraph.rules.checking.unifying import renamed
from termgraph.rules.compiled import RuleSet
from termgraph.rules.definition import Rule
from termgraph.rules.facts import FACTS
from termgraph.rules.interpret import Matcher
from termgraph.rules.pattern import this
from termgraph.rules.rewrite import LoopError, RuleFailure
from termgraph.rules.text import pattern_text
from termgraph.terms.errors import ShapeError
from termgraph.terms.term import is_term
from termgraph.terms.traverse import children_first, grouped

if TYPE_CHECKING:
    from termgraph.rules.kinds import PatternTerm

_EXAMPLES, _MOST_TRIES = 3, 2000
_SEEDS = 6  # which terms one seed draws changes with every op that is added: a rule may have bad luck with one
_MOST_SHOWN = 30
_ENOUGH = 5  # examples on which the same other rule came first: then it always does


class Finding(NamedTuple):
    """One thing to know about a rule: what kind, which rule, where, and the whole story."""

    kind: str  # "loop", "fails", "never fires", "duplicate", "not seen to fire", "does not join", "inner first", ...
    rule: str
    where: str
    text: str

    @property
    def is_error(self) -> bool:
        """Whether the rule set should not be used like this."""
        return self.kind in ("loop", "fails", "never fires", "duplicate")


class LintReport:
    """Findings about a rule set. `.ok` means no errors; warnings are for reading."""

    def __init__(self, findings: list[Finding], rules: int, pairs: int, order: Order, suggestions: list[str]) -> None:
        self.findings, self.rules, self.pairs = findings, rules, pairs
        self.order, self.suggestions = order, suggestions

    @property
    def errors(self) -> list[Finding]:
        """Findings that must be mended."""
        return [f for f in self.findings if f.is_error]

    @property
    def warnings(self) -> list[Finding]:
        """Findings to read and decide on."""
        return [f for f in self.findings if not f.is_error and f.kind != "inner first"]

    @property
    def notes(self) -> list[Finding]:
        """What follows from rewriting inner terms first."""
        return self.of("inner first")

    @property
    def ok(self) -> bool:
        """No loop, no rule that fails, never fires or repeats another."""
        return not self.errors

    def of(self, kind: str) -> list[Finding]:
        """Findings of one kind."""
        return [f for f in self.findings if f.kind == kind]

    def record(self) -> dict[str, Any]:
        """The report as plain data."""
        return {
            "ok": self.ok, "rules": self.rules, "overlaps": self.pairs,
            "findings": [f._asdict() | {"error": f.is_error} for f in self.findings], "suggestions": self.suggestions,
        }  # fmt: skip

    def __str__(self) -> str:
        parts = []
        for kind, title in _TITLES.items():
            found = self.of(kind)
            if found:
                shown = [_shown(f) for f in found[:_MOST_SHOWN]]
                if len(found) > _MOST_SHOWN:
                    shown.append(f"  ... and {len(found) - _MOST_SHOWN} more: report.of({kind!r})")
                parts.append("\n".join([f"{title} ({len(found)})", *shown]))
        if self.suggestions:
            parts.append(
                "\n".join(
                    ["Rules that would join some of these pairs (decide yourself)", *self.suggestions[:_MOST_SHOWN]]
                )
            )
        summary = (
            f"{self.rules} rules, {self.pairs} overlaps tried: {len(self.errors)} errors, {len(self.warnings)} warnings"
        )
        return "\n\n".join([*parts, summary])

    def __repr__(self) -> str:
        return f"<lint report: {self.rules} rules, {len(self.errors)} errors, {len(self.warnings)} warnings>"


def joined(reports: Sequence[LintReport]) -> LintReport:
    """Several reports as one."""
    orders = [r.order for r in reports]
    order = Order(
        {op: weight for o in orders for op, weight in o.weights.items()},
        [name for o in orders for name in o.unoriented],
        [name for o in orders for name in o.duplicating],
    )
    return LintReport(
        [f for r in reports for f in r.findings],
        sum(r.rules for r in reports),
        sum(r.pairs for r in reports),
        order,
        [text for r in reports for text in r.suggestions],
    )


_TITLES = {
    "loop": "Rewriting does not end",
    "fails": "A rule raises",
    "duplicate": "Duplicates",
    "never fires": "Rules that never fire: one other rule always comes first",
    "not seen to fire": "Rules that did not fire on any of their examples: others came first",
    "does not join": "Pairs of rules whose order matters",
    "inner first": "Pairs of rules of which only the inner one gets to fire, since rewriting starts inside",
    "not oriented": "No termination order: these rely on the growth budget",
}


def _shown(f: Finding) -> str:
    body = "\n".join(f"    {line}" for line in f.text.splitlines())
    return f"  {f.rule}  ({f.where})\n{body}"


def lint(rules: Any, seed: int = 0, pairs: int = 4000, around: Around | None = None) -> LintReport:
    """Check a rule set (or tables, or rules) for loops, dead rules, duplicates and order-dependent pairs.

    Rules that a query would not put together should not be checked together: pass the rules of one stage, and in
    `around` the rule sets of the stages before and after it. `pairs` bounds how many overlaps are tried.

    >>> from termgraph.rules import lint, rule, ruleset
    >>> from termgraph.terms.ops.elementwise import cos, sin
    >>> @ruleset()
    ... def games(x):
    ...     yield rule("ping", sin(x), cos(x))
    ...     yield rule("pong", cos(x), sin(x))
    >>> lint(games).ok
    False
    """
    rs = rules if isinstance(rules, RuleSet) else RuleSet(_listed(rules), FACTS)
    chosen = [r for r in rs if "grad" not in r.tags]
    rs = rs if len(chosen) == len(rs) else RuleSet(chosen, rs.assume, rs.name)
    findings = _duplicates(chosen)
    findings += _runs(rs, seed)
    looping = {f.rule for f in findings if f.kind == "loop"}
    order = find_order(chosen)
    found, tried = _critical_pairs(rs, seed, pairs, looping, around)
    findings += [Finding(_kind_of(p), p.first.name, p.first.where, p.text()) for p in found]
    findings += _unoriented(chosen, order)
    return LintReport(findings, len(chosen), tried, order, _suggestions(found, order))


def _listed(rules: Sequence[Any]) -> list[Rule]:
    if isinstance(rules, Rule):
        return [rules]
    return [r for item in rules for r in _listed(item)]


# ---------------------------------------------------------------------- duplicates
def _duplicates(rules: Iterable[Rule]) -> list[Finding]:
    """Rules that say the same up to the names of metavariables."""
    seen: dict[Any, Rule] = {}
    out = []
    for r in rules:
        key = _shape_of(r)
        other = seen.setdefault(key, r)
        if other is not r:
            text = f"says the same as {other.name} ({other.where}): {r.before} -> {r.after}"
            out.append(Finding("duplicate", r.name, r.where, text))
    return out


def copies_across(groups: Iterable[Iterable[Rule]]) -> LintReport:
    """Rules that say the same as one of another group: copies that no check of a single stage can see."""
    groups = [list(g) for g in groups]
    stages = {r.name: frozenset(i for i, g in enumerate(groups) if r in g) for g in groups for r in g}
    first: dict[Any, list[Rule]] = {}
    found = []
    for r in {r.name: r for g in groups for r in g}.values():
        for other in first.setdefault(_shape_of(r), []):
            if not stages[r.name] & stages[other.name]:
                text = f"says the same as {other.name} ({other.where}), in another stage: {r.before} -> {r.after}"
                found.append(Finding("duplicate", r.name, r.where, text))
                break
        first[_shape_of(r)].append(r)
    return LintReport(found, 0, 0, find_order([]), [])


def _shape_of(r: Rule) -> tuple[Any, ...]:
    names: dict[Any, Any] = {}
    numbered = _Numbered()
    sides = [pattern_text(renamed(p, "", numbered)) for p in (r.lhs, r.rhs)]
    names.update(numbered)
    goals = [(g.name, tuple([pattern_text(renamed(a, "", numbered)) for a in g.args])) for g in r.goals]
    guards = sorted((str(numbered[v].token), repr(g)) for v, g in r.guards.items() if v in numbered)
    heads = sorted((str(numbered[v].token), repr(k)) for v, k in r.kinds.items() if v in numbered)
    return (*sides, tuple(goals), tuple(guards), tuple(heads))


class _Numbered(dict[Any, Any]):
    """Metavariables by the order in which they are met."""

    def setdefault(self, v: PatternTerm, default: object = None) -> Any:
        if v not in self:
            self[v] = type(v)(f"v{len(self)}") if isinstance(v, Var) else default
        return self[v]


# ---------------------------------------------------------------------- running each left side
def _runs(rs: RuleSet, seed: int) -> list[Finding]:
    """Rewrite examples of every rule with the whole set: loops, failures, and rules that others always precede."""
    out: list[Finding] = []
    loops: set[tuple[str, ...]] = set()
    for r in rs:
        culprits: dict[str, Example] = {}
        tried, elsewhere, settled = 0, False, False
        more = itertools.chain.from_iterable(loose_examples(r, _MOST_TRIES, seed + k) for k in range(_SEEDS))
        for e in itertools.chain(examples(r, _EXAMPLES, seed), more):
            tried += 1
            try:
                _, trace = rs.rewrite_terms([e.before], strict=True, budget=4000)
            except (ShapeError, IndexError):
                continue  # the term was drawn with lengths or places that do not fit, which its types do not tell
            except LoopError as err:
                settled = True
                if tuple(sorted(err.rules)) not in loops:
                    loops.add(tuple(sorted(err.rules)))
                    out.append(Finding("loop", ", ".join(err.rules), _places(rs, err.rules), f"{err}"))
                break
            except RuleFailure as err:
                settled = True
                out.append(Finding("fails", err.rule, _places(rs, [err.rule]), f"{err}"))
                break
            names = [record.rule for record in trace]
            if r.name not in names and names and _is_operand(e, next(iter(trace)).before):
                continue  # what stands for a metavariable was rewritten first: that says nothing of this rule
            elsewhere = elsewhere or not names or next(iter(trace)).before is not e.before
            if len(culprits) < 4:
                culprits.setdefault(names[0] if names else "nothing", e)
            settled = settled or r.name in names
            if settled and tried >= _EXAMPLES:
                break
        if tried and not settled:
            always = len(culprits) == 1 and tried >= _ENOUGH and not elsewhere
            kind = "never fires" if always else "not seen to fire"
            out.append(Finding(kind, r.name, r.where, _shadow_text(r, culprits)))
    return out


def _is_operand(e: Example, place: Any) -> bool:
    """Whether a place in an example is in what one of the rule's metavariables stands for."""
    env = next(Matcher({}).root(e.instance.lhs, e.before), {})
    bound = [
        t for v, value in env.items() if v is not this.term for t in (value if isinstance(value, tuple) else (value,))
    ]
    return place in children_first([t for t in bound if is_term(t)])


def _places(rs: RuleSet, names: Iterable[str]) -> str:
    return ", ".join(rs[n].where for n in names if n in rs)


def _shadow_text(r: Rule, culprits: dict[str, Example]) -> str:
    lines = [f"{r.before} -> {r.after} did not fire on terms made from its own left side; what fired first:"]
    lines += [f"{name} on {e.before!r:.160}" for name, e in culprits.items()]
    return "\n".join(lines)


# ---------------------------------------------------------------------- overlaps
def _kind_of(p: Pair) -> str:
    """At the root either rule may come first; further down rewriting, which is innermost, has only one way."""
    return "inner first" if p.path and not p.loop else "does not join"


def _critical_pairs(rs: RuleSet, seed: int, most: int, skip: set[str], around: Around | None) -> tuple[list[Pair], int]:
    seen: set[tuple[str, str]] = set()
    found: list[Pair] = []
    tried = 0
    rules = [r for r in rs if not any(r.name in names.split(", ") for names in skip)]
    checked = RuleSet(rules, rs.assume, rs.name) if skip else rs
    for overlap in overlaps(rules):
        key = (overlap.first.rule.name, overlap.second.rule.name)
        if key in seen:
            continue
        if tried >= most:
            break
        rng = random.Random(zlib.crc32(f"{key} {overlap.path} {seed}".encode()))  # whatever other rules there are
        answer = examine(overlap, checked, rng, around)
        tried += answer is not False
        if isinstance(answer, Pair):
            seen.add(key)
            found.append(answer)
    return found, tried


def _suggestions(pairs: list[Pair], order: Order) -> list[str]:
    out = []
    for p in pairs:
        if p.loop:
            continue
        one, other = sorted((p.one, p.other), key=lambda t: weight_of(t, order.weights), reverse=True)
        if weight_of(one, order.weights) > weight_of(other, order.weights):
            line = f"  {one!r:.90} -> {other!r:.90}"
            if line not in out:
                out.append(line)
    return out


def _unoriented(rules: list[Rule], order: Order) -> list[Finding]:
    by_name = grouped((label.partition("[")[0], "the right side is not lighter") for label in order.unoriented)
    for label in order.duplicating:
        by_name.setdefault(label.partition("[")[0], []).append("the right side repeats a metavariable")
    where = {r.name: r for r in rules}
    out = []
    for name, reasons in by_name.items():
        r = where[name]
        text = paragraph(f"{r.before} -> {r.after}: {', '.join(sorted(set(reasons)))}", "")
        out.append(Finding("not oriented", name, r.where, text))
    return out
