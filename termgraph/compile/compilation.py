"""Compilation: one graph on its road. It gives the value of every stage, and runs stages only when they are needed.

A warm start is a compilation that was given a program from the cache: its stages run if somebody asks what they make.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from termgraph._lazy import lazy
from termgraph._logs import Log
from termgraph._records import replace
from termgraph.compile import road
from termgraph.compile.capture import Captured
from termgraph.compile.options import Options
from termgraph.compile.refused import in_users_words, react
from termgraph.compile.values import Placed, Rewritten, Several
from termgraph.config import config
from termgraph.stages import Entry, Ledger, Table, row
from termgraph.tensor.trace import placed as at_line
from termgraph.vm.program import Program

if TYPE_CHECKING:
    from termgraph.backends.c import segments
    from termgraph.backends.c.build import compiler_errors
    from termgraph.compile import rewriting
    from termgraph.lower.storage import criterion
    from termgraph.terms.term import AnyTerm
else:
    compiler_errors = lazy("termgraph.backends.c.build.compiler_errors")
    segments = lazy("termgraph.backends.c.segments")
    rewriting = lazy("termgraph.compile.rewriting")
criterion = lazy("termgraph.lower.storage.criterion")

rules_log = Log("rules")


class Compilation:
    """The values of the stages of one graph, with what runs it.

    `rewritten` gives a graph that needs no rewriting; `key` says where the program is kept for the next start, else
    `not_kept` says why it is not.
    """

    def __init__(
        self, captured: Captured, options: Options, ledger: Ledger | None = None, rewritten: Rewritten | None = None
    ) -> None:
        self.captured, self.options = captured, options
        self.args: list[Any] = list(captured.args)
        self.ledger = ledger or Ledger()
        self._flags = {"floatX": config.floatX, "traceback.limit": 0}  # variables made meanwhile are not the user's
        self._guard = threading.RLock()
        self._rewritten: Rewritten | None = rewritten
        self._placed: Placed | None = None
        self.name = "function"  # what messages call it
        self.in_c = options.backend == "c"
        self.on_gpu = options.backend == "cuda"
        self.on_device: dict[Any, Any] = {}  # programs for the GPU, by what is on it already
        self.native: dict[Any, Any] = {}  # C programs of the whole graph, by what they update and return
        self.not_native: str | None = None
        self.key: Any = None
        self.not_kept: str | None = None
        self.ready: dict[Any, Any] = {}  # C programs that were kept, by their form
        self.kept: Any = None  # how the program is divided into parts, where Python runs some of them
        self.in_parts = False  # whether that was kept from another process, so that one native call is impossible
        self.warm = False  # whether its program was found in the cache
        self.rules: dict[str, int] | None = None  # how often each rule was applied, as the cache has it
        self.told = False  # whether the user was warned of parts that Python runs
        self.again: Callable[[], Any] | None = None  # runs the stages after `place`, where they were skipped
        self._segmented: Program | None = None
        self._let_go: list[tuple[list[Entry], Callable[[], Any]]] = []  # stages without values, and what runs them

    # ------------------------------------------------------------------ values of stages
    @property
    def rewritten(self) -> Rewritten:
        """The graph after all rewriting."""
        with self._guard:
            if self._rewritten is None:
                with config.change_flags(self._flags):
                    rewriting.warn_of_idle_rules(self.options)
                    begun = Rewritten(self.captured, self.options, tuple(self.captured.roots))
                    self._rewritten = self.ledger.through(road.rewriting_of(self.options), begun)
                    if rules_log.wanted():
                        rules_log.debug("applied %s", self._rewritten.rule_counts())
            return self._rewritten

    @property
    def placed(self) -> Placed:
        """The program of one instruction per operation."""
        with self._guard:
            if self._placed is None:
                rewritten = self.rewritten
                with config.change_flags(self._flags):
                    self._placed = self.ledger.through((road.PLACE,), rewritten)
            return self._placed

    @functools.cached_property
    def multiply_add(self) -> bool:
        """Whether a product and its sum may be one instruction: not where floats are looked for by equality.

        The loop that finds an extreme and the one that asks where it is may see different products, of which one is
        rounded before. It is asked of the whole graph, which may run in several parts.
        """
        return self.options.multiply_add and not criterion.looks_for_numbers(self.placed.roots)

    def give_placed(self, placed: Placed) -> None:
        """Take a placed graph that was kept, instead of making it."""
        self._placed = placed

    @property
    def roots(self) -> list[Any]:
        """The rewritten graph."""
        return list(self.rewritten.roots)

    @property
    def traces(self) -> tuple[Any, ...]:
        """What was rewritten: one trace per stage, iterable over records."""
        return self.rewritten.traces

    def add_trace(self, trace: Any) -> None:
        """Note what placing on devices rewrote."""
        with self._guard:
            self._rewritten = replace(self.rewritten, traces=(*self.rewritten.traces, trace))

    @property
    def trace(self) -> list[Any]:
        """All records of rewriting the graph, in order."""
        return self.rewritten.trace

    @property
    def linked_roots(self) -> list[Any]:
        """The graph that programs are made of: without calls."""
        return list(self.placed.roots)

    @property
    def program(self) -> Program:
        """The program of one instruction per operation."""
        return self.placed.program

    def lookup(self, term: AnyTerm) -> tuple[str | None, tuple]:
        """(name, site) of the user's variable that a term of the program came from, also through rewriting."""
        return self.rewritten.lookup(term)

    def origin(self, term: AnyTerm) -> Any:
        """The term, as it was before rewriting, that a term of the rewritten graph came from."""
        return self.rewritten.origin(term)

    def rule_counts(self) -> dict[str, int]:
        """How often each rule was applied when the program was made."""
        return dict(self.rules) if self.rules is not None else self.rewritten.rule_counts()

    def rule_seconds(self) -> dict[str, float]:
        """Seconds spent in each rule that was applied; none at a warm start."""
        return {} if self.rules is not None else self.rewritten.rule_seconds()

    # ------------------------------------------------------------------ looking at stages
    def let_go(self, since: int, again: Callable[[], Any]) -> None:
        """Drop what lowering and printing made since an entry of the ledger; `again` makes it when somebody asks."""
        names = {stage.name for stage in road.C.stages} - {"build", "bind"}
        entries = [e for e in self.ledger.entries[since:] if e.stage in names and e.value is not None]
        for e in entries:
            e.drop()
        self._let_go.append((entries, again))

    def _fetch(self) -> None:
        """Make anew what was dropped: the same values, and no further lines in the ledger."""
        with self._guard:
            waiting, self._let_go = self._let_go, []
            for entries, again in waiting:
                begin = len(self.ledger.entries)
                again()
                made = self.ledger.entries[begin:]
                dropped = {e.stage for e in entries}  # after a warm start the graph was rewritten now, too: that stays
                self.ledger.entries[begin:] = stay = [m for m in made if m.stage not in dropped]
                for m in stay:
                    m.late = True
                for e in entries:
                    e.value = next((m.value for m in made if m.stage == e.stage), None)

    def table(self) -> Table:
        """What each stage took and made."""
        seen: dict[str, int] = {}
        found = Table()
        stages = road.road_of(self.options)
        for stage in stages:
            runs = self.ledger.of(stage.name)
            k = seen[stage.name] = seen.get(stage.name, -1) + 1
            if sum(s.name == stage.name for s in stages) > 1:  # one run for each time that the list names it
                runs = runs[k : k + 1]
            note = "" if runs else "skipped" if not self.warm else "skipped: the program was in the cache"
            found.append(row(stage.name, runs, "when asked for" if any(e.late for e in runs) else note))
            if stage.name == "capture":
                cached = "the program was found there" if self.warm else ""
                found += [row(s, self.ledger.of(s), n) for s, n in (("options", ""), ("cache", cached))]
        return found

    def stage(self, name: str) -> Any:
        """What a stage made. One that a warm start has skipped runs now."""
        names = [stage.name for stage in road.road_of(self.options)]
        if name not in names:
            raise ValueError(f"no stage {name!r}; the stages of this function are {', '.join(dict.fromkeys(names))}")
        if names.index(name) > names.index("place"):
            self._fetch()
        if not self.ledger.of(name):
            with self._guard:
                self.ledger.late = True
                if names.index(name) <= names.index("place"):
                    _ = self.placed
                elif self.again is not None:
                    self.again()
        values = [e.value for e in self.ledger.of(name) if e.value is not None]
        if not values:
            raise ValueError(f"the stage {name!r} made nothing: no part of the function was compiled by it")
        several = names.index(name) > names.index("place") and len(values) > 1
        return Several(values) if several else values[-1]

    # ------------------------------------------------------------------ programs in parts
    def fastest_program(self) -> Program:
        """The program with C code for what C can express; the plain one where C is not wanted."""
        if not self.in_c:
            return self.program
        if self._segmented is None:
            self.kept = self.kept or segments.Kept()
            how = segments.How(self.options.quick, self.options.fuse, self.multiply_add)
            given = self.args, self.placed.roots, self.name, how
            self.again = lambda: segments.link(*given, segments.Kept(), self.ledger)
            try:
                self._segmented = segments.link(*given, self.kept, self.ledger)
            except compiler_errors.CompileError as error:
                react(in_users_words(error, self.lookup), self.options.insists)
                self.in_c = False
                return self.program
            self._refuse_slow_parts(self._segmented)
        return self._segmented

    def program_in_parts(self) -> tuple[Program, Callable[..., Program]]:
        """The program with loops as instructions of their own, and what makes the programs of their bodies."""
        if not self.in_c:
            return self.program, Program.from_terms
        return segments.link_apart(self.args, self.linked_roots), segments.link_apart

    def _refuse_slow_parts(self, program: Program) -> None:
        """linker="c" insists: nothing may run by its NumPy meaning unnoticed."""
        slow = [i for i in program.instructions if i.op.kind != "kernel"]
        if not self.options.insists or not slow:
            return
        places: dict[str, None] = {}  # a step that was written out stands in one line
        for i in slow:
            reason = getattr(i.run, "not_in_c", "")
            text = f"{i.op.name} has no C code" + (f": {reason}" if reason else "")
            places[at_line(self.lookup(i.terms[0])[1], text)] = None
        shown = "\n".join([*places][:5])
        raise NotImplementedError(
            f"linker='c' runs C code only, and this graph needs more:\n{shown}\nUse linker='auto'."
        )

    def c_source(self) -> str:
        """The generated C text, or an empty string."""
        if self.native:
            return "\n".join(dict.fromkeys(code.source for code, _ in self.native.values()))
        if not self.in_c:
            return ""
        kernels = [i.op for i in self.fastest_program().instructions if i.op.kind == "kernel"]
        return "\n".join(op.source for op in kernels)
