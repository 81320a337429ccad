"""FunctionMaker: everything that is decided once, when a function is compiled. `create()` makes the callable."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any
from weakref import ref

import numpy as np

from termgraph._records import replace
from termgraph.compile import warm
from termgraph.compile.capture import Captured, capture, describe, unmade, uses, with_lengths
from termgraph.compile.compilation import Compilation
from termgraph.compile.options import Options
from termgraph.compile.values import Rewritten
from termgraph.config import config
from termgraph.function.fgraph import FunctionGraph
from termgraph.function.inout import In, Out, wrap_in, wrap_out
from termgraph.function.mode import Mode, Shapes, get_mode
from termgraph.function.native import form_of, known_at_first, make_function, ordered
from termgraph.function.storages import DefaultContainer
from termgraph.stages import Ledger
from termgraph.tensor.origins import as_result, original_inputs
from termgraph.tensor.sharedvar import Container
from termgraph.tensor.trace import placed
from termgraph.tensor.variable import Variable
from termgraph.terms.errors import UnusedInputError
from termgraph.terms.traverse import children_first
from termgraph.terms.userop import no_perform
from termgraph.vm.machine import Machine
from termgraph.vm.profile import Profile

REACTIONS = ("raise", "warn", "ignore")


# ---------------------------------------------------------------------- thunks
class Linker:
    """Makes thunks: calls without arguments that read input containers and fill output containers.

    >>> import termgraph as tg, termgraph.tensor as T
    >>> x = T.dscalar("x")
    >>> run, (a,), (out,) = tg.function([x], x + 1).maker.linker.make_thunk()
    >>> a.value = 2.0
    >>> run(); float(out.value)
    3.0
    """

    def __init__(self, work: Compilation, allow_gc: bool = True) -> None:
        self.work, self.allow_gc = work, allow_gc
        self.fgraph: FunctionGraph | None = None

    def make_thunk(
        self, input_storage: Sequence[Container] | None = None
    ) -> tuple[Callable[[], None], list[Container], list[Container]]:
        """`(run, input containers, output containers)`."""
        machine = Machine(self.work.program, self.allow_gc, lookup=self.work.lookup)
        inputs = [Container(a.type) for a in self.work.args] if input_storage is None else list(input_storage)
        outputs = [Container(r.type) for r in self.work.roots]

        def run() -> None:
            for container, value in zip(outputs, machine([c.storage[0] for c in inputs])):
                container.storage[0] = value

        return run, inputs, outputs


class FunctionMaker:
    """Holds the inputs (`In`), outputs (`Out`), mode, graph and program of a function.

    `fgraph` may give a graph that was rewritten before: then nothing is rewritten again.
    """

    def __init__(
        self,
        inputs: Sequence[Any],
        outputs: Any,
        mode: str | Mode | None = None,
        accept_inplace: bool = False,
        function_builder: Callable[..., Any] = make_function,
        profile: Profile | bool | None = None,
        on_unused_input: str | None = None,
        fgraph: FunctionGraph | None = None,
        output_keys: Sequence[Any] | None = None,
        name: str | None = None,
        givens: Mapping[Variable, Variable] | None = None,
    ) -> None:
        self.mode = get_mode(mode)
        self.accept_inplace, self.function_builder = accept_inplace, function_builder
        self.name = name
        self.timed = bool(profile if profile is not None else config.profile)
        self.inputs: list[In] = [wrap_in(i) for i in inputs]
        self.return_none = outputs is None
        self.unpack_single = not isinstance(outputs, (list, tuple)) and outputs is not None
        listed = [] if outputs is None else [outputs] if self.unpack_single else list(outputs)
        self.outputs: list[Out] = [wrap_out(o) for o in listed]
        self.output_keys = None if output_keys is None else list(output_keys)
        self._check_names()
        self.keeps_updates = True
        self.known = known_at_first(self)
        ledger = Ledger()
        with ledger.timed("options"):  # finds the compiler, when that is the first time
            options = self.mode.options()
        in_c = options.backend == "c" and not self.watched()
        with ledger.timed("capture") as entry:
            captured = entry.value = self._capture(givens or {}, fgraph, self.known, in_c)
            self._check_unused(captured, reaction(on_unused_input))
            check_inplace(captured, accept_inplace)
            check_user_ops(captured)
        captured = entry.value = self._with_present_lengths(captured)
        if fgraph is None and in_c and givens:  # others were closed over these lengths at once
            captured = entry.value = self._narrowed(captured, self.known)
        given = None if fgraph is None else Rewritten(captured, options, tuple(captured.roots))
        self.work = Compilation(captured, options, ledger, given)
        self.work.name = name or self.work.name
        if given is None:
            warm.look_up(self.work, form_of(self), self.timed or self.watched())
        self.profile = profile if isinstance(profile, Profile) else Profile(name)
        self.profile.rules = self.work.rule_counts()
        self.profile.rule_seconds = self.work.rule_seconds()
        self._fgraph = fgraph

    def restore(
        self, state: dict[str, Any], inputs: list[In], outputs: list[Out], mode: Mode, work: Compilation
    ) -> None:
        """Set up from saved parts instead of compiling; what unpickling calls."""
        self.mode, self.accept_inplace, self.function_builder = mode, True, make_function
        self.name, self.timed, self.work, self._fgraph = state["name"], state["timed"], work, None
        self.inputs, self.outputs = inputs, outputs
        self.updated = [item for item in inputs if item.update is not None]
        self.return_none, self.unpack_single, self.output_keys, self.keeps_updates = state["return"]
        self.known = known_at_first(self)
        self.profile = Profile(self.name)
        self.profile.rules = state["rules"]
        work.captured = self._with_present_lengths(work.captured)
        if work.in_c and not self.watched():
            self.work = self.for_lengths(self.known).work
        else:
            self.leave_lengths_open()

    def watched(self) -> bool:
        """Whether the mode looks at every operation, or checks what goes in and out."""
        kind = type(self.mode)
        if kind is Mode and not self.mode.observers:
            return False
        hooks = (kind.watch, kind.check_inputs, kind.check_results)
        return bool(self.mode.observers) or hooks != (Mode.watch, Mode.check_inputs, Mode.check_results)

    # ------------------------------------------------------------------ lengths of shared variables
    def _narrowed(self, captured: Captured, known: Shapes) -> Captured:
        """A graph over shared variables of these lengths, if it gains by them; else over variables of their types."""
        return with_lengths(captured, [i.variable.type for i in self.inputs], dict(zip(ordered(self).cells, known)))

    def _with_present_lengths(self, captured: Captured) -> Captured:
        """Where it matters what arrays are large, what is known of the lengths of shared variables."""
        if captured.passes is None:
            return captured
        present = tuple(zip(ordered(self).cells, self.known))
        passes = replace(captured.passes, present=present)
        return Captured(captured.args, captured.roots, captured.sources, captured.lengths, passes)

    def for_lengths(self, known: Shapes) -> FunctionMaker:
        """A maker of the same function whose graph is for shared variables of these lengths; () is for all."""
        captured = self._narrowed(self.work.captured, known)
        if captured is self.work.captured and self.work.options.sparing is None:
            return self
        made = copy(self)
        made.known, made._fgraph = known, None
        made._compile_anew(captured, replace(self.work.options, sparing=None))
        return made

    def spare_memory(self, most: int) -> None:
        """Go on with loops over steps in chunks and with parts of arrays stored: a call holds no more than so much."""
        self._fgraph = None
        self._compile_anew(self.work.captured, replace(self.work.options, sparing=most))

    def _compile_anew(self, captured: Captured, options: Options) -> None:
        self.work = Compilation(captured, options, Ledger())
        self.work.name = self.name or self.work.name
        warm.look_up(self.work, form_of(self), self.timed or self.watched())

    def leave_lengths_open(self) -> None:
        """Go on with a graph for all lengths of shared variables: what is not one C program does not compare them."""
        self.work = self.for_lengths(()).work

    # ------------------------------------------------------------------ checks
    def _check_names(self) -> None:
        seen: dict[int, int] = {}
        for i, item in enumerate(self.inputs):
            j = seen.setdefault(id(item.variable.term), i)
            if j != i:
                raise ValueError(
                    f"inputs {j} and {i} are the same variable, {describe(item.variable)}: list each input once"
                )
        if self.output_keys is not None and len(self.output_keys) != len(self.outputs):
            raise ValueError(f"output_keys has {len(self.output_keys)} names for {len(self.outputs)} outputs")

    def _capture(
        self, givens: Mapping[Variable, Variable], fgraph: FunctionGraph | None, known: Shapes, in_c: bool
    ) -> Captured:
        """The closed graph: outputs first, then the updates. In C lengths of shared variables are `known`."""
        self.updated = [item for item in self.inputs if item.update is not None]
        if fgraph is None:
            results = [as_result(o.variable) if in_c else o.variable for o in self.outputs]
            roots: list[Any] = results + [item.update for item in self.updated]
            inputs, passes = [item.variable for item in self.inputs], self.mode.kept_dtype is not None
            lengths = dict(zip(ordered(self).cells, known if in_c else ()))
            waits = None if givens or passes else unmade(inputs, roots, lengths)
            return waits or capture(inputs, roots, givens, passes, lengths)
        if len(fgraph.inputs) != len(self.inputs) or len(fgraph.outputs) != len(self.outputs) + len(self.updated):
            raise ValueError(
                f"the given fgraph has {len(fgraph.inputs)} inputs and {len(fgraph.outputs)} outputs; the function has "
                f"{len(self.inputs)} inputs and {len(self.outputs)} outputs with {len(self.updated)} updates"
            )
        return Captured(fgraph.args, fgraph.roots, fgraph.sources)

    def _check_unused(self, captured: Captured, react: str) -> None:
        if react == "ignore":
            return
        used = uses(captured.made)
        unused = [i for i, a in enumerate(captured.args) if a not in used and not self.inputs[i].shared]
        unused = [i for i in unused if self.inputs[i].update is None]
        if unused:  # but a gradient that came out constant was made from its inputs, as in Theano, where they remain
            results: list[Any] = [*[o.variable for o in self.outputs], *[i.update for i in self.updated]]
            made_from = original_inputs(results)
            unused = [i for i in unused if self.inputs[i].variable not in made_from]
        if unused:
            report_unused([(i, self.inputs[i].variable) for i in unused], react)

    # ------------------------------------------------------------------ the function
    @property
    def fgraph(self) -> FunctionGraph:
        """The rewritten graph: inputs (shared variables included), outputs, then updates."""
        if self._fgraph is None:
            self._fgraph = graph_of(self.work)
        return self._fgraph

    @property
    def linker(self) -> Linker:
        """What makes the graph runnable, for those who want it as a thunk over containers."""
        return Linker(self.work, config.allow_gc if self.mode.allow_gc is None else self.mode.allow_gc)

    @property
    def indices(self) -> list[list[Any]]:
        """`[input, expanded inputs, positions]` for each input."""
        return [[item, [], [i]] for i, item in enumerate(self.inputs)]

    def create(
        self, input_storage: Sequence[Any] | None = None, trustme: bool = False, storage_map: object = None
    ) -> Any:
        """The callable, with `input_storage` (values or containers, one per input) instead of the Ins' defaults."""
        given = [item.value for item in self.inputs] if input_storage is None else list(input_storage)
        if len(given) != len(self.inputs):
            raise ValueError(f"input_storage has {len(given)} entries for {len(self.inputs)} inputs")
        containers, defaults = [], []
        for item, value in zip(self.inputs, given):
            kind = Container if item.shared or item.update is not None else DefaultContainer
            container = (
                value if isinstance(value, Container) else _new_container(kind, item, None if trustme else value)
            )
            if trustme and not isinstance(value, Container):
                container.storage[0] = value
            required = value is None
            refeed = not required and not item.shared and item.update is None
            containers.append(container)
            defaults.append((required, refeed, container.storage[0] if refeed else container))
        with self.work.ledger.timed("bind"):
            f = self.function_builder(self, containers, defaults, name=self.name)
        for container, (_, refeed, _) in zip(containers, defaults):
            if refeed and isinstance(container, DefaultContainer):
                container.followers.append(ref(f))
        self.profile.stages.update(self.work.ledger.seconds())
        return f

    def summary(self) -> str:
        """One line about the compile: how long it took, what it made, and why that is not one native call."""
        work, seconds = self.work, sum(self.work.ledger.seconds().values())
        source = "taken from the cache" if work.warm else f"compiled for {work.options.backend}"
        slow = f"; not one native call: {work.not_native}" if work.not_native else ""
        return f"{self.name or 'a function'}: {source} in {seconds:.3f} s{slow}"


def _new_container(kind: type[Container], item: In, value: np.ndarray | None) -> Container:
    return kind(item.variable.type, value, item.name, item.strict, item.allow_downcast)


def graph_of(work: Compilation) -> FunctionGraph:
    """The graph of a compilation as variables, with the names and places of the user's."""
    sources = work.captured.sources
    known = dict(sources.table()) if sources is not None else {}
    if work.rewritten.traces:
        made = [t for t in children_first(work.roots) if t not in known]
        known.update({t: work.lookup(t) for t in made})
    graph = FunctionGraph.from_terms(work.args, work.roots, known)
    graph.sources = sources
    return graph


def reaction(on_unused_input: str | None) -> str:
    """What to do about unused inputs: the argument, or the flag."""
    chosen = config.on_unused_input if on_unused_input is None else on_unused_input
    if chosen not in REACTIONS:
        raise ValueError(f"on_unused_input must be one of {', '.join(REACTIONS)}, got {on_unused_input!r}")
    return chosen


def report_unused(unused: Sequence[tuple[int, Variable]], react: str) -> None:
    """Raise or warn about inputs that no output needs."""
    i, v = unused[0]
    others = ", ".join(f"{describe(u)} (position {j})" for j, u in unused[1:])
    message = placed(
        v.site,
        f"input {describe(v)} of type {v.type} (position {i}) is not used by any output"
        + (f"; nor are {others}" if others else "")
        + ". Leave it out, or pass on_unused_input='ignore' or 'warn'.",
    )
    if react == "raise":
        raise UnusedInputError(message)
    warnings.warn(message, stacklevel=6)


def check_inplace(captured: Captured, accept: bool) -> None:
    """Refuse ops that overwrite their inputs in a user's graph, unless asked for."""
    if accept:
        return
    for t in uses(captured.made):
        if t.args and getattr(t.op, "destroy_map", None):
            raise TypeError(
                f"the graph contains {t.op}, which overwrites its input; pass accept_inplace=True if that is meant"
            )


def check_user_ops(captured: Captured) -> None:
    """Refuse ops that nothing can compute; warn of C code in Theano's form, which does not run here."""
    ops = {t.op: t for t in uses(captured.made) if t.args and getattr(t.op, "user_made", False)}
    for op, t in ops.items():
        if not hasattr(op, "perform"):
            raise TypeError(placed(captured.lookup(t)[1], no_perform(op)))
        python_only = callable(getattr(op, "c_code", None)) and not getattr(op.perform, "runs_c_code", False)
        if python_only and type(op) not in _told:
            _told.add(type(op))
            warnings.warn(
                f"{type(op).__name__}.c_code is not run, perform is: C code in Theano's form needs Theano's runtime. "
                "For C code of your own subclass tg.COp (docs: extending); termgraph.theano.Op runs this form",
                stacklevel=5,
            )


_told: set[type] = set()  # classes that were warned of
