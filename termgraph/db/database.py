"""The rule database: every rule and graph pass that is defined, and queries over them.

Rule sets are frozen and cached, so that the compiled matchers and the memo of a query live as long as its rules.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, overload

from unification import Var

from termgraph._lazy import lazy
from termgraph._records import NamedTuple
from termgraph.db import image_files, images
from termgraph.db.queries import EVERYTHING, FILES_OF, OVERFLOW, PLUS_ZERO, Query
from termgraph.rules.compiled import RuleSet, heads_of, rewrite_in_stages
from termgraph.rules.defined import DEFINED, changes
from termgraph.rules.facts import no_overflow
from termgraph.rules.image import Image
from termgraph.rules.pieces import REWRITING
from termgraph.rules.stdgoals import within_limits
from termgraph.rules.stored import StoredRuleSet
from termgraph.rules.tags import SET_TAGS, STAGE_SETS, all_tags
from termgraph.terms.errors import RuleError, RuleWarning
from termgraph.terms.op import Op
from termgraph.terms.ops.derivative import pullback, pushforward
from termgraph.terms.promises import keep_promises
from termgraph.terms.term import AnyTerm

if TYPE_CHECKING:
    from termgraph.rules.definition import Rule
    from termgraph.rules.kinds import PatternTerm
    from termgraph.rules.pattern import PatternHead
    from termgraph.tensor.variable import TensorVariable, Variable

kanren, difflib = lazy("kanren"), lazy("difflib")
# Most processes find images of rules and never read a rule file.
asked_for, definition = lazy("termgraph.db.asked"), lazy("termgraph.rules.definition")
loading, patterns = lazy("termgraph.db.loading"), lazy("termgraph.rules.pattern")


Goal = Callable[[Any], Iterator[Any]]  # of kanren: from a state to the states that hold


class GraphPass(NamedTuple):
    """A step that is not term rewriting (fusion, placement, ...), chosen by the same queries as rules."""

    name: str
    run: Callable[..., Any]
    tags: frozenset[str]
    order: float
    doc: str
    assumes: frozenset[str] = frozenset()  # what it takes on trust, as rules do


PASSES: dict[str, GraphPass] = {}
_cache: dict[tuple, RuleSet] = {}
_cached_at = -1
_loaded = _begun = False
_loading = REWRITING  # the thread that loads the library may ask for rules on the way; others wait for all


def all_rules() -> list[Rule]:
    """Every rule, sorted by topic and place in its file: the order in which files were loaded does not matter."""
    _ensure_library()
    return sorted(DEFINED.values(), key=lambda r: r.order)


def _ensure_library() -> None:
    global _loaded, _begun
    if _loaded:
        return
    with _loading:
        if not _begun:
            _begun = True
            try:
                loading.load_library()
                _loaded = True
            finally:
                _begun = _loaded


def load(path: str | PathLike) -> list[str]:
    """Load a rule file and return the names of its rules. Mistakes in it are warnings with file and line."""
    _ensure_library()
    keep_promises()
    return loading.load(path)


def query(
    *spec: str,
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    require: Iterable[str] = (),
    assume: Iterable[str] | None = None,
) -> RuleSet:
    """The rules with some of the included tags, none of the excluded and all of the required ones.

    Words carry their sign: `query("+fast_run", "-inplace", "&stabilize")`. A tag may also be the name of a rule or of
    a topic. `assume` lists what may be taken on trust (default: what Theano takes); `assume=[]` nothing.
    """
    global _cached_at
    asked = Query.parse(*spec, include=include, exclude=exclude, require=require, assume=assume)
    if _cached_at != changes():
        _cache.clear()
        _cached_at = changes()
    found = _cache.get(asked)
    if found is None:
        found = _stored(asked)
        found = _select(asked) if found is None else found
        _warn_of_unknown(asked, found)
        _refuse_unknown_removals(asked)
        found.passes = Passes(asked)
        if _cached_at == changes():  # the library's own files may have read others
            _cache[asked] = found
    return found


def _select(asked: Query) -> RuleSet:
    files = FILES_OF.get(asked.include)
    return selected(_rules_in(files) if files else all_rules(), asked)


def selected(rules: Iterable[Rule], asked: Query) -> RuleSet:
    """The rules that a query chooses of some."""
    chosen = [made for r in rules if asked.selects(names_of(r)) for made in _admitted(r, asked)]
    return RuleSet(chosen, _trusted(asked), asked.text)


def _admitted(r: Rule, asked: Query) -> list[Rule]:
    """The rule as the query may use it: as it is, where no integers are computed with, or not at all."""
    if asked.admits(r.assumes):
        return [r]
    if asked.admits_with_zeros(r.assumes):
        return [r.with_plus_zero(trusted=PLUS_ZERO)]
    return [r.with_goal(within_limits(patterns.this), trusted=OVERFLOW)] if asked.admits_on_floats(r.assumes) else []


_TAGS = frozenset((*STAGE_SETS, *SET_TAGS, "gpu", "grad", "lower", "saturate", "accurate", "None"))


def _warn_of_unknown(asked: Query, found: RuleSet) -> None:
    """A query that selects nothing because no rule or pass is called so: with what it may have meant."""
    names = asked.include | asked.require
    if len(found) or names <= _TAGS:  # compiling asks for stages that have passes only; no rule need be read for that
        return
    for tag, hint in _unknown(names):
        warnings.warn(f"no rule or graph pass has the tag or name {tag!r}{hint}", RuleWarning, stacklevel=3)


def _refuse_unknown_removals(asked: Query) -> None:
    """A rule that is to be left out by its name must exist: misspelt, it would stay without a word."""
    names = {name for name in asked.exclude if "." in name}
    for name, hint in _unknown(names) if names else ():
        raise RuleError(f"-{name} is to leave out a rule, but no rule has the name {name!r}{hint}")


def _unknown(names: Iterable[str]) -> list[tuple[str, str]]:
    """Tags and names that no rule or pass has, and what may have been meant."""
    loading.load_companions()
    known = set().union(*[names_of(r) for r in all_rules()], *[{*p.tags, p.name} for p in PASSES.values()])
    found = []
    for tag in sorted(set(names) - known - _TAGS):
        close = difflib.get_close_matches(tag, known, 3)
        found.append((tag, f"; did you mean {' or '.join(close)}?" if close else ""))
    return found


def _rules_in(files: tuple[str, ...]) -> list[Rule]:
    """The rules of some files of the library, among others: these alone are read if only the library counts."""
    if _loaded or image_files.changed():
        return all_rules()
    with _loading:
        loading.load_files(*files)
    return sorted(DEFINED.values(), key=lambda r: r.order)


def _stored(asked: Query) -> RuleSet | None:
    """The rule set of a usual query from its image, which is made if there is none; None for other queries."""
    if not images.usable(asked):
        return None
    with _loading:
        image = images.image_of(asked, lambda: _select(asked))
    if image is None:
        return None
    return StoredRuleSet(image, lambda: _library_rules(image, asked), _trusted(asked), asked.text)


def _library_rules(image: Image, asked: Query) -> list[Rule]:
    """The rules of an image as its query uses them: where no integers are computed with, if they need that."""
    _ensure_library()
    return [made for name, _, _ in image.rules for made in _admitted(loading.LIBRARY[name], asked)]


def _trusted(asked: Query) -> frozenset[str]:
    """Facts that rules may ask for and nobody has to prove. Whatever is admitted, what values an array has is not: that
    a number is at most one, or a matrix symmetric, somebody must have said.
    """
    return asked.assume | {no_overflow.name} if EVERYTHING in asked.assume else asked.assume


class Passes(Sequence):
    """The graph passes that a query selects, looked up when somebody asks: most graphs need none."""

    def __init__(self, asked: Query) -> None:
        self._asked = asked

    def __iter__(self) -> Iterator[GraphPass]:
        loading.load_companions()
        asked = self._asked
        chosen = [p for p in PASSES.values() if asked.selects({*p.tags, p.name}) and asked.admits(p.assumes)]
        return iter(sorted(chosen, key=lambda p: (p.order, p.name)))

    def __getitem__(self, i: Any) -> Any:
        return list(self)[i]

    def __len__(self) -> int:
        return sum(1 for _ in self)


def names_of(rule: Rule) -> set[str]:
    """Everything by which a query may name a rule."""
    return {*rule.tags, rule.name, rule.topic}


def named(what: Any) -> list[Rule]:
    """The rules that are meant by a name, a topic, a tag or words of a query; by a rule, a table or a rule set; or by
    several of these.
    """
    if isinstance(what, definition.Rule):
        return [what]
    if not isinstance(what, str):
        try:
            parts = list(what)
        except TypeError:
            raise TypeError(
                f"rules are asked for by name, tag or query, or given as they are, not as {what!r:.60}"
            ) from None
        return list({id(r): r for part in parts for r in named(part)}.values())
    query = Query.parse(what)
    for word, hint in _unknown(query.include | query.exclude | query.require):
        raise LookupError(f"no rule, topic or tag is called {word!r}{hint or '; `termgraph rules list` shows them'}")
    return [r for r in all_rules() if query.selects(names_of(r))]


@overload
def rewrite(
    expr: Variable, *spec: Any, strict: bool = False, assume: Iterable[str] | None = None
) -> TensorVariable: ...
@overload
def rewrite(
    expr: Sequence[Any], *spec: Any, strict: bool = False, assume: Iterable[str] | None = None
) -> list[Any]: ...
@overload  # a term
def rewrite(expr: Any, *spec: Any, strict: bool = False, assume: Iterable[str] | None = None) -> Any: ...
def rewrite(expr: Any, *spec: Any, strict: bool = False, assume: Iterable[str] | None = None) -> Any:
    """The expression (or list of expressions) rewritten by the rules of a query; nothing is compiled to code.

    Without a query, the rules of `fast_run` that rewrite expressions are used: canonicalize, stabilize, specialize.
    """
    if not spec:
        return rewrite_in_stages(expr, [query("+fast_run", f"&{s}", assume=assume) for s in STAGES], strict)
    return query(*spec, assume=assume).rewrite(expr, strict=strict)


def rewrite_traced(expr: Any) -> list[Any]:
    """The records of what `rewrite(expr)` does, in order."""
    records: list[Any] = []
    for stage in STAGES:
        expr, trace = query("+fast_run", f"&{stage}").rewrite_traced(expr)
        records += trace
    return records


STAGES = ("canonicalize", "stabilize", "canonicalize", "specialize")


# ---------------------------------------------------------------------- passes
def register_pass(
    name: str,
    run: Callable[..., Any],
    *tags: str,
    order: float = 0.0,
    overwrite: bool = False,
    assumes: Iterable[str] = (),
) -> GraphPass:
    """Register a graph pass beside the rules; `query(...).passes` lists those selected, by `order`, then name."""
    if name in PASSES and not overwrite:
        raise RuleError(f"a graph pass named {name!r} exists; choose another name or pass overwrite=True")
    made = PASSES[name] = GraphPass(name, run, all_tags(tags), order, (run.__doc__ or "").strip(), frozenset(assumes))
    return made


# ---------------------------------------------------------------------- questions
def rules(head: PatternHead | None = None, tag: str | None = None, makes: Any = None) -> list[Rule]:
    """Rules by the operator at the root of their left side, by tag (or name), by what their right side makes.

    An operator is named by what is at hand: `T.log`, `T.sum`, `T.linalg.det`, `np.exp`, `"log"`, `"@"`, or an
    expression whose root it is. Its rules include those that state its derivative; `tag="grad"` selects them alone.

    >>> import termgraph.tensor as T
    >>> rules(head=T.softmax) == rules(head="softmax") == rules(head=T.softmax(T.vector()))
    True
    """
    found = all_rules()
    if tag is not None:
        for name, hint in _unknown([tag]):
            warnings.warn(f"no rule has the tag or name {name!r}{hint}", RuleWarning, stacklevel=2)
        found = [r for r in found if tag in names_of(r)]
    if head is not None:
        family = asked_for.family_of(head)
        found = [r for r in found if not (heads := heads_of(r)) or family in heads or family in _differentiated(r)]
    if makes is not None:
        family = asked_for.family_of(makes)
        found = [r for r in found if family in made_by(r)]
    return found


def _differentiated(rule: Rule) -> list[Any]:
    """The operators whose derivative a rule states."""
    patterns = [i.lhs.args[0] for i in rule.instances() if getattr(i.lhs, "op", None) in (pullback, pushforward)]
    return [p.op.family for p in patterns if isinstance(getattr(p, "op", None), Op)]


@overload
def makes(op: Op, /) -> list[Rule]: ...
@overload
def makes(name: str | None, op: Op, /) -> Goal: ...
def makes(*asked: Any) -> Any:
    """`makes(op)`: the rules whose right side contains the op. `makes(rule_name, op)`: the same as a kanren goal."""
    if len(asked) == 1:
        return rules(makes=asked[0])
    name, op = asked

    def makes_goal(state: Any) -> Iterator[Any]:
        for r in all_rules():
            for family in made_by(r):
                yield from kanren.lall(kanren.eq(name, r.name), kanren.eq(op, family))(state)

    return makes_goal


def made_by(rule: Rule) -> list[Op]:
    """The op families on a rule's right side that are not on its left."""
    out: list[Op] = []
    for instance in rule.instances():
        before = _families(instance.lhs)
        out += [f for f in _families(instance.rhs) if f not in before and f not in out]
    return out


def _families(pattern: PatternTerm) -> list[Op]:
    heads = [p.op for p in patterns.inner_terms(pattern)]
    return list(dict.fromkeys(op.family for op in heads if not isinstance(op, (Var, patterns.HeadWith))))


def rewrites(rule: Rule, before: AnyTerm, after: AnyTerm) -> Goal:
    """A kanren goal: the named rule takes `before` to `after` at the root. Any of the three may be a logic variable."""

    def rewrites_goal(state: Any) -> Iterator[Any]:
        for r in all_rules():
            yield from kanren.lall(kanren.eq(rule, r.name), r.relation(before, after))(state)

    return rewrites_goal
