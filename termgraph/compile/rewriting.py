"""The stages that rewrite: each takes a graph and gives the graph that the rules of the mode make of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from termgraph._lazy import lazy
from termgraph._records import replace
from termgraph.compile import road
from termgraph.compile.capture import Captured
from termgraph.compile.options import Options
from termgraph.compile.values import Memory, Rewritten
from termgraph.rules.memo import Memo
from termgraph.tensor.trace import placed
from termgraph.terms.errors import RuleWarning, ShapeError
from termgraph.terms.moved import rebuild_moved
from termgraph.terms.op import Op
from termgraph.terms.ops.call import call, inline_calls
from termgraph.terms.ops.linalg import solve
from termgraph.terms.ops.loop import loop, note_places, places_of
from termgraph.terms.term import AnyTerm, Arg, mk
from termgraph.terms.traverse import children_first

_chunks: Any = lazy("termgraph.loops.chunks")
_passes: Any = lazy("termgraph.loops.passes")
price, saturation = lazy("termgraph.rules.price"), lazy("termgraph.rules.saturation")

WITH_BODY = (call, loop)
WITH_PASSES = (loop, solve)  # what the passes with the tag `scan` are about
REPEATED = ("canonicalize", "stabilize", "canonicalize", "specialize")
_STAGE_TAGS = frozenset((*REPEATED, "saturate", "scan", "gpu", "grad", "lower"))


def inline(value: Rewritten) -> Rewritten:
    """Replace the calls of graphs that asked for it by their bodies."""
    return replace(value, roots=tuple(inline_calls(value.roots, lambda op: op.params["inline"])))


def chunks(value: Rewritten) -> Rewritten:
    """Cut loops that a gradient goes back through: each part can run again by itself, where memory is short."""
    if value.body is not None:
        return value
    return replace(value, roots=tuple(_chunks.in_chunks(value.roots)))


def _with_rules(tag: str) -> Callable[[Rewritten], Rewritten]:
    def run(value: Rewritten) -> Rewritten:
        options = value.options
        rules = rules_of(options, tag) if options.rewrites else None
        if rules is None:
            return value
        memo = _memo(value) if tag in REPEATED else None
        try:
            roots, trace = rules.rewrite_terms(value.roots, strict=options.strict, memo=memo)
        except (ShapeError, IndexError) as error:
            raise _with_line(error, value) from None
        trace.stage = tag
        return replace(value, roots=tuple(roots), traces=(*value.traces, trace))

    run.__doc__ = f"Rewrite with the rules of the mode that carry the tag {tag}."
    return run


def _with_line(error: ShapeError | IndexError, value: Rewritten) -> ShapeError | IndexError:
    """What does not fit, with the user's line: rewriting sees lengths that were not known when the graph was made."""
    t = getattr(error, "term", None)
    site = value.lookup(t)[1] if t is not None else ()
    return type(error)(placed(site, str(error)))


canonicalize = _with_rules("canonicalize")
stabilize = _with_rules("stabilize")
specialize = _with_rules("specialize")
_scan_rules = _with_rules("scan")


def bodies(value: Rewritten) -> Rewritten:
    """Rewrite the bodies of loops and of the calls that are kept, with the same stages."""
    memory, traces = value.memory, list(value.traces)

    def change(t: AnyTerm, args: tuple) -> AnyTerm:
        op = t.op
        if op.family in WITH_BODY:
            op = memory.bodies.get(op) or _rewritten_body(op, value, traces)
        return mk(op, args) if args and (op is not t.op or any(a is not b for a, b in zip(args, t.args))) else t

    if not value.options.rewrites or not any(t.op.family in WITH_BODY for t in children_first(value.roots)):
        return value
    roots = rebuild_moved(value.roots, change)
    return replace(value, roots=tuple(roots), traces=tuple(traces))


def _rewritten_body(op: Op, value: Rewritten, traces: list[Any]) -> Op:
    """The op with its body rewritten; what is known of the body's lines in the user's program is kept."""
    sources: Any = BodySources(op) if op.family is loop else None
    args, known = [Arg(i, t) for i, t in enumerate(op.params["takes"])], value.memory.bodies
    roots = tuple(op.params["body"])
    inner = Rewritten(Captured(args, list(roots), sources), value.options, roots, body=op, memory=Memory(known))
    for stage in road.rewriting_of(value.options):
        inner = stage.function(inner)
    for trace in inner.traces:
        trace.body = trace.body or op
    traces.extend(inner.traces)
    new = op.bind(body=inner.roots)
    known[op] = known[new] = new
    if sources is not None and new is not op:
        note_places(new, lambda: {t: inner.lookup(t) for t in children_first(inner.roots)})
    return new


class BodySources:
    """The user's names and lines for the terms of a loop's body."""

    def __init__(self, op: Any) -> None:
        self.op = op

    def lookup(self, term: AnyTerm) -> tuple:
        """(name, site) of a term of the body."""
        return places_of(self.op).get(term, (None, ()))


def saturate(value: Rewritten) -> Rewritten:
    """Take the cheapest of all forms that the rules tagged `saturate` give, where the mode includes some."""
    options = value.options
    rules = rules_of(options, "saturate") if options.included and options.rewrites else None
    if not rules:
        return value
    found = saturation.saturate(list(value.roots), rules.rules, price.price, rules.assume)
    if not found.trace.steps:
        return value
    return _again(replace(value, roots=tuple(found.terms), traces=(*value.traces, found.trace)))


def loops(value: Rewritten) -> Rewritten:
    """Simplify loops as a whole, by the rules and the graph passes with the tag `scan`; then what that brought out."""
    for _ in range(2):
        value = _scan_rules(value)
        asked = value.options.rewrites and any(t.op.family in WITH_PASSES for t in children_first(value.roots))
        rules = rules_of(value.options, "scan") if asked else None
        if rules is None or not rules.passes:
            break
        cut = value.options.sparing is not None and value.body is None  # then chunks stay what may run again alone
        passes = [p for p in rules.passes if not (cut and p.name in ("scan.merge", "scan.unroll"))]
        roots, trace = _passes.run_passes(list(value.roots), passes)
        if not trace.counts:
            break
        value = _again(replace(value, roots=tuple(roots), traces=(*value.traces, trace)))
    return value


def _again(value: Rewritten) -> Rewritten:
    """What the rules make of a graph that a later stage has changed."""
    for stage in road.AGAIN:
        value = stage.function(value)
    return value


# ---------------------------------------------------------------------- rules
def rules_of(options: Options, tag: str) -> Any:
    """The rules of a mode for one stage, or None while there is no rule database."""
    if find_spec("termgraph.db") is None:
        return None
    chosen = import_module("termgraph.db").query(*options.tags, f"&{tag}", assume=() if options.strict else None)
    return import_module("termgraph.rules.relational").relational(chosen) if options.relational else chosen


def _memo(value: Rewritten) -> Memo:
    """What the stages of `road.AGAIN` know in common of the terms they have seen."""
    memory = value.memory
    if memory.seen is None:
        memory.seen = Memo([rules_of(value.options, tag) for tag in REPEATED])
    return memory.seen


def warn_of_idle_rules(options: Options) -> None:
    """Rules that the mode names, but that no stage asks for: they need the tag of one."""
    if not options.included:
        return
    chosen = import_module("termgraph.db").query(include=options.included)
    idle = [r.name for r in chosen if not r.tags & _STAGE_TAGS]
    if idle:
        more = f" and {len(idle) - 3} more" if len(idle) > 3 else ""
        warnings.warn(
            f"the mode includes {', '.join(idle[:3])}{more}, which no stage of compiling uses; give the rules the "
            'tag of one beside their own: @ruleset("canonicalize", "mine")',
            RuleWarning,
            stacklevel=2,
        )
