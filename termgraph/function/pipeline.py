"""The pipeline: how `function()` gets from a captured graph to a program. One list of named stages, nothing else.

A stage takes the Compilation and changes its `roots` or makes its `program`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from time import perf_counter
from typing import Any, NamedTuple

from termgraph.config import config
from termgraph.function.capture import Captured
from termgraph.function.choose import wants_c, wants_gpu
from termgraph.function.convolutions import convolutions
from termgraph.function.mode import Mode
from termgraph.function.refused import in_users_words, react
from termgraph.tensor.trace import placed
from termgraph.terms.errors import RuleWarning
from termgraph.terms.moved import moved_from, rebuild_moved
from termgraph.terms.ops.basic import nth
from termgraph.terms.ops.call import call, inline_calls
from termgraph.terms.ops.loop import loop, note_places, places_of
from termgraph.terms.ops.transfer import to_device
from termgraph.terms.term import Arg, mk
from termgraph.terms.traverse import children_first, rebuild, subterms
from termgraph.terms.types import TupleType
from termgraph.vm.program import Program


class Compilation:
    """What the stages work on: the graph as it is rewritten, the mode, and notes on what was done."""

    body: Any = None  # the op whose body this is, if it is one

    def __init__(self, captured: Captured, mode: Mode) -> None:
        self.args: list[Any] = list(captured.args)
        self.roots: list[Any] = list(captured.roots)
        self.captured, self.mode = captured, mode
        self.seconds: dict[str, float] = {}
        self.traces: list[Any] = []  # one per rewriting stage, iterable over records; those of bodies too
        self.bodies: dict[Any, Any] = {}  # ops with a body -> the same with the body rewritten
        self.linked_roots: list[Any] = []
        self.program: Program | None = None  # one instruction per operation
        self.in_c = False
        self.on_gpu = False
        self.on_device: dict[Any, Any] = {}  # programs for the GPU, by what is on it already
        self.native: dict[Any, Any] = {}  # C programs of the whole graph, by what they update and return
        self.not_native: str | None = None
        self.place: Any = None  # where its program is kept for the next start; else `not_kept` says why it is not
        self.not_kept: str | None = None
        self.ready: dict[Any, Any] = {}  # C programs that were kept, by their form
        self.kept: Any = None  # how the program is divided into parts, where Python runs some of them
        self.in_parts = False  # whether that was kept from another process, so that one native call is impossible
        self._segmented: Program | None = None
        self._memo: Any = None

    def fastest_program(self) -> Program:
        """The program with C code for what C can express; the plain one where C is not wanted."""
        assert self.program is not None
        if not self.in_c:
            return self.program
        if self._segmented is None:
            from termgraph.backends.c.build.compiler_errors import CompileError
            from termgraph.backends.c.segments import Kept
            from termgraph.backends.c.segments import link as link_segments

            self.kept = self.kept or Kept()
            try:
                self._segmented = link_segments(self.args, self.linked_roots, quick=self.mode.quick, kept=self.kept)
            except CompileError as error:
                react(in_users_words(error, self.lookup), self.mode.linker)
                self.in_c = False
                return self.program
            self._refuse_slow_parts(self._segmented)
        return self._segmented

    def program_in_parts(self) -> tuple[Program, Callable[..., Program]]:
        """The program with loops as instructions of their own, and what makes the programs of their bodies."""
        assert self.program is not None
        if not self.in_c:
            return self.program, Program.from_terms
        from termgraph.backends.c.segments import link_apart

        return link_apart(self.args, self.linked_roots), link_apart

    def _refuse_slow_parts(self, program: Program) -> None:
        """linker="c" insists: nothing may run by its NumPy meaning unnoticed."""
        slow = [i for i in program.instructions if i.op.kind != "kernel"]
        if self.mode.linker != "c" or not slow:
            return
        places = []
        for i in slow[:5]:
            reason = getattr(i.run, "not_in_c", "")
            text = f"{i.op.name} has no C code" + (f": {reason}" if reason else "")
            places.append(placed(self.lookup(i.terms[0])[1], text))
        raise NotImplementedError(
            "linker='c' runs C code only, and this graph needs more:\n" + "\n".join(places) + "\nUse linker='auto'."
        )

    def c_source(self) -> str:
        """The generated C text, or an empty string."""
        if self.native:
            return "\n".join(dict.fromkeys(code.source for code, _ in self.native.values()))
        if not self.in_c:
            return ""
        kernels = [i.op for i in self.fastest_program().instructions if i.op.kind == "kernel"]
        return "\n".join(op.source for op in kernels)

    def lookup(self, term: Any) -> tuple[str | None, tuple]:
        """(name, site) of the user's variable that a term of the program came from, also through rewriting."""
        name, site = self.captured.lookup(term)
        if name is None:
            name = self.captured.lookup(self._back(term, "replaced"))[0]
        return (name, site) if site else (name, self._site(term))

    def _site(self, term: Any) -> tuple:
        """The line that a rewritten term came from; of what was taken out of a loop, the line in the step function."""
        for _ in range(MOST_MOVES):
            term = self.origin(term)
            several = isinstance(term.type, TupleType)
            candidates = [mk(nth.bind(i=i), (term,)) for i in range(len(term.type.types))] if several else [term]
            sites = [self.captured.lookup(t)[1] for t in (*candidates, *map(self.origin, candidates))]
            if any(sites):
                return next(filter(None, sites))
            op, term = moved_from(term) or (None, None)
            if term is None:
                break
            if op is not None:
                return places_of(op).get(term, (None, ()))[1]
        return ()

    def origin(self, term: Any) -> Any:
        """The term, as it was before rewriting, that a term of the rewritten graph came from."""
        return self._back(term, "origins")

    def _back(self, term: Any, links: str) -> Any:
        for trace in reversed([t for t in self.traces if t.body is self.body]):
            table: dict = getattr(trace, links, dict)()
            for _ in range(len(table)):  # a chain of replacements; never longer than there are any
                if term not in table:
                    break
                term = table[term]
        return term

    @property
    def trace(self) -> list[Any]:
        """All records of rewriting the graph, in order; those of bodies are in terms of their own arguments."""
        return [record for trace in self.traces if trace.body is self.body for record in trace]

    def rule_counts(self) -> dict[str, int]:
        """How often each rule was applied."""
        counts: dict[str, int] = {}
        for trace in self.traces:
            for rule, n in trace.counts.items():
                counts[rule] = counts.get(rule, 0) + n
        return counts

    def rule_seconds(self) -> dict[str, float]:
        """Seconds spent in each rule that was applied."""
        seconds: dict[str, float] = {}
        for trace in self.traces:
            for rule, s in trace.seconds.items():
                seconds[rule] = seconds.get(rule, 0.0) + s
        return seconds

    def memo(self) -> Any:
        """What the stages of `REWRITE_AGAIN` know in common of the terms they have seen."""
        if self._memo is None:
            from termgraph.rules.memo import Memo

            self._memo = Memo([rules_of(self.mode, tag) for tag in REPEATED])
        return self._memo

    def run(self, stages: Sequence[Stage]) -> Compilation:
        """Run the stages in order, timing each."""
        for stage in stages:
            start = perf_counter()
            stage.run(self)
            self.seconds[stage.name] = self.seconds.get(stage.name, 0.0) + perf_counter() - start
        return self


class Stage(NamedTuple):
    """One named step of compiling."""

    name: str
    run: Callable[[Compilation], None]


def rewriting(tag: str) -> Stage:
    """The stage that rewrites with the rules of the mode that carry `tag`."""

    def run(work: Compilation) -> None:
        rules = rules_of(work.mode, tag) if work.mode.rewrites else None
        if rules is not None:
            memo = work.memo() if tag in REPEATED else None
            work.roots, trace = rules.rewrite_terms(work.roots, strict=work.mode.strict, memo=memo)
            trace.stage = tag
            work.traces.append(trace)

    return Stage(tag, run)


def rules_of(mode: Mode, tag: str) -> Any:
    """The rules of a mode for one stage, or None while there is no rule database."""
    if find_spec("termgraph.db") is None:
        return None
    from importlib import import_module

    return import_module("termgraph.db").query(*mode.tags, f"&{tag}", assume=() if mode.strict else None)


def warn_of_idle_rules(mode: Mode) -> None:
    """Rules that the mode names, but that no stage asks for: they need the tag of one."""
    if not mode.include:
        return
    from importlib import import_module

    chosen = import_module("termgraph.db").query(include=mode.include)
    idle = [r.name for r in chosen if not r.tags & _STAGE_TAGS]
    if idle:
        more = f" and {len(idle) - 3} more" if len(idle) > 3 else ""
        warnings.warn(
            f"the mode includes {', '.join(idle[:3])}{more}, which no stage of compiling uses; give the rules the "
            'tag of one beside their own: @ruleset("canonicalize", "mine")',
            RuleWarning,
            stacklevel=2,
        )


def available(linker: str) -> bool:
    """Whether programs of that kind can be made here."""
    if linker == "cuda":
        from termgraph.backends.cuda.run.device import why_not

        return why_not() is None
    return True


def inline(work: Compilation) -> None:
    """Replace the calls of graphs that asked for it by their bodies."""
    work.roots = inline_calls(work.roots, lambda op: op.params["inline"])


def bodies(work: Compilation) -> None:
    """Rewrite the bodies of loops and of the calls that are kept, with the same stages."""

    def change(t: Any, args: tuple) -> Any:
        op = t.op
        if op.family in WITH_BODY:
            op = work.bodies.get(op) or _rewritten_body(op, work)
        return mk(op, args) if args and (op is not t.op or any(a is not b for a, b in zip(args, t.args))) else t

    if work.mode.rewrites and any(t.op.family in WITH_BODY for t in subterms(work.roots)):
        work.roots = rebuild_moved(work.roots, change)


def _rewritten_body(op: Any, work: Compilation) -> Any:
    """The op with its body rewritten; what is known of the body's lines in the user's program is kept."""
    sources: Any = BodySources(op) if op.family is loop else None
    takes, body = op.params["takes"], list(op.params["body"])
    inner = Compilation(Captured([Arg(i, t) for i, t in enumerate(takes)], body, sources), work.mode)
    inner.bodies, inner.body = work.bodies, op
    inner.run(REWRITING)
    for trace in inner.traces:
        trace.body = trace.body or op
    work.traces.extend(inner.traces)
    new = op.bind(body=tuple(inner.roots))
    work.bodies[op] = work.bodies[new] = new
    if sources is not None and new is not op:
        note_places(new, lambda: {t: inner.lookup(t) for t in children_first(inner.roots)})
    return new


WITH_BODY = (call, loop)
MOST_MOVES = 64  # changes of one loop that are followed back, at most


class BodySources:
    """The user's names and lines for the terms of a loop's body."""

    def __init__(self, op: Any) -> None:
        self.op = op

    def lookup(self, term: Any) -> tuple:
        """(name, site) of a term of the body."""
        return places_of(self.op).get(term, (None, ()))


def saturated(work: Compilation) -> None:
    """Take the cheapest of all forms that the rules tagged `saturate` give, where the mode includes some."""
    rules = rules_of(work.mode, "saturate") if work.mode.include and work.mode.rewrites else None
    if not rules:
        return
    from termgraph.rules.price import price
    from termgraph.rules.saturation import saturate

    found = saturate(work.roots, rules.rules, price, rules.assume)
    if found.trace.steps:
        work.roots = found.terms
        work.traces.append(found.trace)
        work.run(REWRITE_AGAIN)


def loops(work: Compilation) -> None:
    """Simplify loops as a whole, by the rules and the graph passes with the tag `scan`; then what that brought out."""
    for _ in range(2):
        SCAN_RULES.run(work)
        looping = work.mode.rewrites and any(t.op.family is loop for t in subterms(work.roots))
        rules = rules_of(work.mode, "scan") if looping else None
        if rules is None or not rules.passes:
            return
        from termgraph.loops.passes import run_passes

        work.roots, trace = run_passes(work.roots, rules.passes)
        if not trace.counts:
            return
        work.traces.append(trace)
        work.run(REWRITE_AGAIN)


def without_routines(work: Compilation) -> None:
    """On a GPU, what routines of compiled C compute elsewhere as simpler operations."""
    if not any(t.args and t.op.kind == "pool" for t in subterms(work.roots)) or not wants_gpu(work.mode.linker):
        return
    from importlib import import_module

    rules = import_module("termgraph.db").query("+without_routines")
    work.roots, trace = rules.rewrite_terms(work.roots, strict=work.mode.strict)
    trace.stage = "without_routines"
    work.traces.append(trace)
    if work.mode.rewrites:
        work.run(REWRITE_AGAIN)


def link(work: Compilation) -> None:
    """Make the program that the mode's linker runs."""
    work.on_gpu = wants_gpu(work.mode.linker)
    work.linked_roots = inline_calls(work.roots)
    if not work.on_gpu and any(t.op.family is to_device for t in subterms(work.linked_roots)):
        work.linked_roots = rebuild(work.linked_roots, _without_device)
    work.program = Program.from_terms(work.args, work.linked_roots)
    work.in_c = not work.on_gpu and wants_c(work.mode.linker)


def _without_device(t: Any, args: tuple) -> Any:
    """The term where there is one place only."""
    return args[0] if t.op.family is to_device else mk(t.op, args) if args else t


SCAN_RULES = rewriting("scan")
REPEATED = ("canonicalize", "stabilize", "canonicalize", "specialize")
_STAGE_TAGS = frozenset((*REPEATED, "saturate", "scan", "gpu", "grad", "lower", "fuse", "inplace", "without_routines"))
REWRITE_AGAIN: list[Stage] = [*map(rewriting, REPEATED), Stage("bodies", bodies)]
REWRITING: list[Stage] = [
    Stage("inline", inline), Stage("convolutions", convolutions), *REWRITE_AGAIN, Stage("saturate", saturated),
    Stage("scan", loops), Stage("without_routines", without_routines),
]  # fmt: skip

# From the captured graph to a program.
STAGES: list[Stage] = [*REWRITING, Stage("link", link)]


def compile_graph(captured: Captured, mode: Mode) -> Compilation:
    """Rewrite and link a captured graph as the mode says."""
    warn_of_idle_rules(mode)
    with config.change_flags({"traceback.limit": 0}):  # variables made meanwhile are not the user's
        return Compilation(captured, mode).run(STAGES)


def link_graph(captured: Captured, mode: Mode) -> Compilation:
    """Link a graph that needs no rewriting any more."""
    with config.change_flags({"traceback.limit": 0}):
        return Compilation(captured, mode).run(STAGES[-1:])
