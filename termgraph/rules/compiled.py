"""RuleSet: a frozen choice of rules, compiled head by head when a graph first needs it.

The same object rewrites graphs, answers relationally, and prints itself as a table.
"""

from __future__ import annotations

import functools
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from unification import Var

from termgraph._lazy import lazy
from termgraph.rules.facts import knowledge_version
from termgraph.rules.memo import MOST_SIGNATURES, Memo, Verdicts
from termgraph.rules.pieces import REWRITING, Context
from termgraph.rules.rewrite import LoopError, RuleFailure, normalize
from termgraph.rules.trace import Trace, Traces
from termgraph.terms.errors import RewriteError, RuleWarning
from termgraph.terms.op import OPS, HeadMark, Op
from termgraph.terms.text import html_table
from termgraph.terms.traverse import subterms

if TYPE_CHECKING:
    from termgraph.rules.definition import Rule
    from termgraph.rules.lazy_activation import Form
    from termgraph.terms.term import AnyTerm

difflib, html = lazy("difflib"), lazy("html")
relations = lazy("termgraph.rules.relation")  # brings kanren
# What makes matchers is not read where images have them.
activation, forms = lazy("termgraph.rules.lazy_activation"), lazy("termgraph.rules.forms")
patterns, stage, tree = lazy("termgraph.rules.pattern"), lazy("termgraph.rules.stage"), lazy("termgraph.rules.tree")
exprs = lazy("termgraph.rules.exprs")
_SHOWN = 50  # rules in a notebook


def _one_at_a_time(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def alone(*args: Any, **options: Any) -> Any:
        with REWRITING:
            return method(*args, **options)

    return alone


class RuleSet:
    """A frozen set of rules. Iterate it, look rules up by name, rewrite with it, ask it relationally."""

    def __init__(self, rules: Iterable[Rule], assume: Iterable[str] = (), name: str = "") -> None:
        self._rules: tuple[Rule, ...] = tuple(sorted(rules, key=lambda r: r.order))
        single = any(g.single for r in self._rules for g in r.guards.values())
        asking = any(getattr(g.goal, "counts_clients", False) for r in self._rules for g in r.goals)
        self.counts_clients = single or asking
        self.merges_commuted = any("canonicalize" in r.tags for r in self._rules)  # see Verdicts
        self._begin(assume, name)

    def _begin(self, assume: Iterable[str], name: str) -> None:
        self.assume, self.name = frozenset(assume), name
        self.context = Context()
        self.counts: Counter[str] = Counter()  # how often each rule fired, over all rewritings
        self.seconds: Counter[str] = Counter()
        self.compile_seconds = 0.0
        self.matchers: dict[Any, Any] = {}
        self._sources: dict[Any, str] = {}
        self._verdicts: dict[tuple[Any, ...], Verdicts] = {}  # by the sets beside this one
        self._judges: list[Verdicts] = []  # all that ask this set
        self._candidates: dict[Any, Any] = {}  # by signature: the matcher, or False
        self.passes: Sequence[Any] = ()  # graph passes selected by the same query
        self.stamp: Any = None
        self._version = -1
        self._without: dict[frozenset[Any], RuleSet] = {}

    # ------------------------------------------------------------------ looking
    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules; a rule's number is its place here."""
        return self._rules

    @property
    def named(self) -> Sequence[Any]:
        """What has the name and the place in a file of each rule, by number."""
        return self._rules

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def __contains__(self, rule: object) -> bool:
        return any(r is rule or r.name == rule for r in self.rules)

    def __getitem__(self, name: str) -> Rule:
        for r in self.rules:
            if r.name == name:
                return r
        close = difflib.get_close_matches(name, [r.name for r in self.rules], 3)
        hint = f"; did you mean {', '.join(close)}?" if close else ""
        raise KeyError(f"no rule {name!r} in this set of {len(self.rules)}{hint}")

    def __repr__(self) -> str:
        return f"<rule set {self.name or 'unnamed'}: {len(self)} rules>"

    def __str__(self) -> str:
        return self.table()

    def table(self) -> str:
        """The rules as aligned columns: name, before, after, conditions."""
        rows = [(r.name, r.before, "->", r.after, ", ".join(r.conditions())) for r in self.rules]
        widths = [min(60, max((len(row[i]) for row in rows), default=0)) for i in range(4)]
        lines = ["  ".join(c.ljust(w) for c, w in zip(row, [*widths, 0], strict=True)).rstrip() for row in rows]
        return "\n".join([repr(self).strip("<>"), *lines])

    def _repr_html_(self) -> str:
        """What notebooks show: the first rules as a table."""
        rows = [(r.name, r.before, "→", r.after, ", ".join(r.conditions())) for r in self.rules[:_SHOWN]]
        more = f"and {len(self) - _SHOWN} more" if len(self) > _SHOWN else ""
        return f"{html.escape(repr(self))}{html_table(('rule', 'before', '', 'after', 'if'), rows)}{more}"

    def without(self, names: Iterable[str]) -> RuleSet:
        """The same set without some rules."""
        dropped = frozenset(names) & {r.name for r in self.rules}
        if not dropped:
            return self
        if dropped not in self._without:
            kept = [r for r in self.rules if r.name not in dropped]
            self._without[dropped] = RuleSet(kept, self.assume, f"{self.name} -{' -'.join(sorted(dropped))}")
        return self._without[dropped]

    # ------------------------------------------------------------------ compiling
    @_one_at_a_time
    def prepare(self) -> None:
        """Forget matchers made before the newest fact about operators."""
        if self._version == knowledge_version():
            return
        started = time.perf_counter()
        self._version, self.stamp = knowledge_version(), object()
        self.matchers.clear()
        self._verdicts.clear()
        self._candidates.clear()
        self._by_family: dict[Any, list[Form]] = {}
        self._generic: list[Form] = []
        self._sources.clear()
        self._activation = activation.LazyActivation(self.rules)
        self.compile_seconds += time.perf_counter() - started

    def meet(self, new: Iterable[Any]) -> None:
        """Activate the rules that may match now that these operators are there; recompile what they join."""
        active = self._activation.meet(new)
        if not active:
            return
        joined, everywhere = set(), False
        for form in active:
            head = form[0].lhs.op
            if isinstance(head, (Op, patterns.Captured)):
                self._by_family.setdefault(head.family, []).append(form)
                joined.add(head.family)
            else:
                self._generic.append(form)
                everywhere = True
        for op in [op for op in self.matchers if everywhere or op.family in joined]:
            del self.matchers[op]
        self._candidates.clear()
        for judge in self._judges:
            judge.forget()

    def meet_everything(self, families: Iterable[Any]) -> None:
        """Activate all rules that may match in graphs of these operators."""
        self.meet([*self._activation.awaited, *families])

    @property
    def is_new(self) -> bool:
        """Whether no graph was rewritten yet."""
        self.prepare()
        return not self._activation.met

    def meet_all(self, terms: Iterable[Any]) -> None:
        """Activate the rules that may match in these graphs."""
        self.prepare()
        found = list(subterms(terms))
        awaited = [test for test in self._activation.awaited if any(map(test, found))]
        self.meet({*awaited, *[t.op.family for t in found]})

    def find_matcher(self, op: Op) -> Any:
        """The matcher of a bound op, compiled with its family when first asked for; False if no rule has this head.

        It holds the rules that may match as far as operators were met: see `meet_all`.
        """
        family = op.family
        if family not in self._activation.met:
            self.meet((family,))
        found = self.matchers.get(family)
        if found is None:
            rows = self.rows(family)
            found = self.matchers[family] = self._compile(family, rows) if rows else False
        self.matchers[op] = found
        return found

    def rows(self, family: Op) -> list[Form]:
        """What is active of the rules for one family, in their order."""
        rows = list(self._by_family.get(family, ()))
        for instance, number in self._generic:
            settled = stage.for_family(instance, family)
            if settled is not None:
                rows.append((settled, number))
        return sorted(rows, key=lambda row: (row[1], row[0].place))

    def candidate(self, t: AnyTerm) -> Any:
        """The matcher to call on terms with this one's signature; False if it shows that no rule can match."""
        found = self._candidates.get(t.sig)
        if found is None:
            self._wake(t)
            op = t.op
            found = self.matchers.get(op)
            if found is None:
                found = self.find_matcher(op)
            if found and found.screen is not None and not op.by_value and len(t.args) == (op.arity or 2):
                found = found.screen(t) and found
            if len(self._candidates) >= MOST_SIGNATURES:
                self._candidates.clear()
            self._candidates[t.sig] = found
        return found

    def _wake(self, t: AnyTerm) -> None:
        """Activate the rules whose goals wait for such a term."""
        if passed := [test for test in self._activation.awaited if test(t)]:
            self.meet(passed)

    def verdicts(self, soon: tuple[Any, ...] = (), last: tuple[Any, ...] = ()) -> Verdicts:
        """What is known about signatures when the sets of later stages are asked too."""
        found = self._verdicts.get((soon, last))
        if found is None:
            found = self._verdicts[soon, last] = Verdicts(self, soon, last)
            for o in (self, *soon, *last):
                o.prepare()
                o._judges.append(found)
        return found

    def _compile(self, family: Any, rows: list[Any]) -> Callable[..., Any]:
        started = time.perf_counter()
        made: tuple[Callable[..., Any], str] = tree.matcher(family, rows, self.assume, self.context)
        self._sources[family] = made[1]
        self.compile_seconds += time.perf_counter() - started
        return made[0]

    def source(self, op: Op) -> str:
        """The Python source of the matcher for an op, for reading: all rules are active from then on."""
        self.prepare()
        self.meet_everything(OPS.values())
        self.find_matcher(op)
        text = self._sources.get(op.family, f"# no rule applies to {op.name}\n")
        return (
            text + tree.matcher_of_many(op.family, self.rows(op.family), self.assume, self.context)[1]
            if forms.is_nary(op)
            else text
        )

    # ------------------------------------------------------------------ rewriting
    def rewrite(self, expr: Any, *, strict: bool = False, budget: int | None = None) -> Any:
        """The normal form of a variable or term, or of a list of them.

        A rule that raises, or rules that loop, are set aside with one warning and the rewriting starts again without
        them; `strict=True` raises instead.
        """
        return self.rewrite_traced(expr, strict=strict, budget=budget)[0]

    def rewrite_traced(self, expr: Any, *, strict: bool = False, budget: int | None = None) -> tuple[Any, Trace]:
        """As `rewrite`, with the trace of what was done."""
        terms, wrap = exprs.unwrap(expr)
        new, trace = self.rewrite_terms(terms, strict=strict, budget=budget)
        return wrap(new, trace), trace

    @_one_at_a_time
    def rewrite_terms(
        self, terms: Sequence[Any], *, strict: bool = False, budget: int | None = None, memo: Memo | None = None
    ) -> tuple[list[Any], Trace]:
        """Normal forms of terms, and the trace. Stages that rewrite the same graph in turn share a `memo`."""
        current = self
        while True:
            try:
                current.prepare()
                new, trace = normalize(terms, current, budget, memo if current is self else None)
                break
            except (LoopError, RuleFailure) as err:
                if strict:
                    raise
                names = err.rules if isinstance(err, LoopError) else [err.rule]
                smaller = current.without(names)
                if smaller is current:
                    raise RewriteError(f"{err}\nand no rule could be set aside") from err
                _warn_once(err, names)
                current = smaller
        self.counts.update(trace.counts)
        self.seconds.update(trace.seconds)
        return new, trace

    # ------------------------------------------------------------------ relational
    def relation(self, a: object, b: object) -> Any:
        """A kanren goal: one rule of the set takes `a` to `b` at the root. Either side may be unknown."""
        return relations.ruleset_relation(self.rules, a, b, self.assume)


def rewrite_in_stages(expr: Any, sets: Sequence[RuleSet], strict: bool = False) -> Any:
    """A variable or term, or a list of them, rewritten by one rule set after the other."""
    terms, wrap = exprs.unwrap(expr)
    memo, traces = Memo(sets), Traces()
    for rs in sets:
        terms, trace = rs.rewrite_terms(terms, strict=strict, memo=memo)
        traces.append(trace)
    return wrap(terms, traces)


_warned: set[tuple[Any, ...]] = set()


def _warn_once(err: Exception, names: list[str]) -> None:
    key = (type(err), *names)
    if key not in _warned:
        _warned.add(key)
        warnings.warn(RuleWarning(f"set aside {', '.join(names)}: {err}"), stacklevel=4)


def heads_of(rule: Rule) -> list[Any]:
    """The op families a rule's left side can have at its root; [] for any."""
    out: list[Any] = []
    for instance in rule.instances():
        head = instance.lhs.op
        if isinstance(head, (Var, HeadMark)):
            return []
        if getattr(head, "family", None) not in out:
            out.append(head.family)
    return out
