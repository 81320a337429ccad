"""Function: the callable that `function()` returns. Checks arguments, runs the program, then commits the updates.

An exception anywhere leaves every shared variable as it was.
"""

from __future__ import annotations

import copy
import operator
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from termgraph.compile.python_parts import PythonParts, python_parts, tell
from termgraph.compile.warm import keep_parts
from termgraph.config import config
from termgraph.function.inout import In
from termgraph.function.mode import Default, Maker, Mode, Shapes
from termgraph.function.storages import Storages
from termgraph.stages import Table
from termgraph.tensor.sharedvar import Container, label, on_host
from termgraph.tensor.trace import placed
from termgraph.terms.dtypes import in_whole_elements
from termgraph.terms.errors import TypeMismatch
from termgraph.terms.ops.loop import places_of
from termgraph.terms.term import Arg, Input
from termgraph.terms.traverse import substitute
from termgraph.terms.types import TensorType
from termgraph.vm.aliasing import Claims, held_by_nobody, keys_of
from termgraph.vm.inplace import Deferred, defer_updates, in_place_writes
from termgraph.vm.machine import Machine
from termgraph.vm.program import Program

if TYPE_CHECKING:
    from termgraph.compile.capture import Captured
    from termgraph.compile.values import Placed, Rewritten
    from termgraph.lower.memory.timeline import MemoryPlan
    from termgraph.terms.op import Op
    from termgraph.vm.profile import Profile


class Function(Storages):
    """A compiled function. Call it with one value per input, by position or by name.

    `maker` holds the graph and how it was made, `input_storage` the containers of all inputs (shared variables
    included), `trust_input=True` skips the checks of arguments where they cost anything.
    """

    name: str | None
    defaults: list[Default]
    known: Shapes  # of a native function: the lengths of shared variables that its program is for
    timers: object  # where its parts are timed
    trust_input = False

    # What modules above this one do; they enter themselves (`strided_variants`, `saving`, `native`).
    _call_in_order: ClassVar[Callable[..., Any]]
    _copied: ClassVar[Callable[..., Function]]
    _memory_plan: ClassVar[Callable[..., MemoryPlan]]
    _deep_copied: ClassVar[Callable[..., Function]]
    _pickled: ClassVar[Callable[..., tuple[Any, ...]]]

    if TYPE_CHECKING:  # the native type and the machine's function have it

        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

    def _describe(
        self, maker: Maker, storage: Sequence[Container], defaults: Sequence[Default], name: str | None
    ) -> None:
        """Remember how the function was made."""
        self.maker, self.name = maker, name
        self.input_storage, self.defaults = list(storage), list(defaults)
        self._explicit = [i for i, item in enumerate(maker.inputs) if not item.shared]

    def _checked(self, i: int, position: int, value: object) -> Any:
        item = self.maker.inputs[i]
        type_ = item.variable.type
        if value.__class__ is np.ndarray and type_.__class__ is TensorType and value.dtype is type_.np_dtype:
            if value.shape == type_.shape or (value.ndim == type_.ndim and type_.shape == (None,) * type_.ndim):
                return in_whole_elements(value)
        try:
            return in_whole_elements(type_.filter(value, strict=item.strict, allow_downcast=item.allow_downcast))
        except (TypeError, ValueError) as err:
            raise _bad_argument(self, item, position, err) from None

    def _title(self) -> str:
        return f"function {self.name!r}" if self.name else "the function"

    def _input_text(self, i: int) -> str:
        item = self.maker.inputs[i]
        return item.name or f"<{item.variable.type}>"

    def _signature(self) -> str:
        return ", ".join(f"{self._input_text(i)}: {self.maker.inputs[i].variable.type}" for i in self._explicit)

    def _with_subset(self, *args: Any, output_subset: Sequence[Any], **kwargs: Any) -> Any:
        """A call of which only some results are wanted: numbers of outputs, or their keys. All updates are made."""
        results = self(*args, **kwargs)
        if self.maker.return_none:
            results = []
        return self._subset([results] if self.maker.unpack_single else results, output_subset)

    def _with_layout(self, *args: Any, **kwargs: Any) -> Any:
        """A call for which C wants another program.

        Shared variables have other lengths, or copying arguments that are not in row-major order gets expensive.
        """
        return self._call_in_order(self, args, kwargs)

    def _subset(self, results: list[Any] | dict[Any, Any], subset: Sequence[Any]) -> Any:
        """The chosen results, in a list or a dictionary like the results themselves."""
        known = range(len(self.maker.outputs)) if self.maker.output_keys is None else self.maker.output_keys
        for key in subset:
            if key not in known:
                raise KeyError(f"{self._title()}: no output {key!r} for output_subset; there are {list(known)}")
        return {k: results[k] for k in subset} if isinstance(results, dict) else [results[i] for i in subset]

    # ------------------------------------------------------------------ looking
    @property
    def trace(self) -> list[Any]:
        """What was rewritten: records with `rule`, `where`, `before` and `after`, in terms of the user's inputs.

        >>> import termgraph as tg, termgraph.tensor as T
        >>> x = T.dscalar("x")
        >>> tg.function([x], T.log(1 + x), mode="FAST_COMPILE").trace[-1]
        logs.log1p: log(add(1.0, x)) -> log1p(x)
        """
        named: list[Any] = []
        names = {None: {a: item.variable.term for a, item in zip(self.maker.work.args, self.maker.inputs)}}
        for trace in self.maker.work.traces:
            if trace.body not in names:
                names[trace.body] = arguments_of(trace.body)
            records = [copy.copy(r) for r in trace]
            terms = iter(substitute([t for r in records for t in (r.before, r.after)], names[trace.body]))
            for r, before, after in zip(records, terms, terms):
                r.before, r.after = before, after
            named += records
        return named

    def in_users_terms(self, terms: Sequence[Any]) -> list[Any]:
        """Terms of the compiled graph over the variables that the function was made from."""
        maker = self.maker
        return substitute(terms, {a: item.variable.term for a, item in zip(maker.work.args, maker.inputs)})

    @property
    def profile(self) -> Profile:
        """Seconds per stage of compiling and, if profiling was asked for, per instruction."""
        return self.maker.profile

    def why_not_native(self) -> PythonParts:
        """The operations that Python runs, each with your line and the reason; empty if all is compiled code.

        >>> import termgraph as tg, termgraph.tensor as T
        >>> x = T.dvector("x")
        >>> parts = tg.function([x], T.unique(x) + 1, mode=tg.Mode(linker="py")).why_not_native()
        >>> [part.op for part in parts]
        ['unique', 'add']
        """
        return PythonParts()

    @property
    def stages(self) -> Table:
        """What each stage of compiling took and made: seconds, processor time, nodes, kernels, bytes of text.

        >>> import termgraph as tg, termgraph.tensor as T
        >>> x = T.dvector("x")
        >>> [row.stage for row in tg.function([x], x + 1, mode="FAST_COMPILE").stages][:3]
        ['capture', 'options', 'cache']
        """
        table: Table = self.maker.work.table()
        return table

    def stage(self, name: str) -> Captured | Rewritten | Placed | Any:
        """The value that a stage of compiling made: `print(f.stage("schedule"))`. What was skipped is made now.

        >>> import termgraph as tg, termgraph.tensor as T
        >>> x = T.dvector("x")
        >>> print(tg.function([x], T.log(1 + x)).stage("stabilize"))
        out0 = log1p($0)
        """
        return self.maker.work.stage(name)

    def memory(self, *values: Any) -> MemoryPlan:
        """What a call holds beside its arguments: arrays with their bytes, when each is alive, and the peak.

        `values` are arguments (or arrays as long) where lengths are not known without. A notebook shows a picture.

        >>> import numpy as np, termgraph as tg, termgraph.tensor as T
        >>> x = T.dmatrix("x")
        >>> f = tg.function([x], T.tanh(x @ x).sum(axis=0), mode=tg.Mode(linker="c"))
        >>> plan = f.memory(np.ones((100, 100)))
        >>> plan.results, plan.temporaries
        (800, 80000)
        """
        return self._memory_plan(values)

    @property
    def inputs(self) -> list[In]:
        """As `maker.inputs`: each input with its treatment, shared variables included."""
        return self.maker.inputs

    @property
    def outputs(self) -> list[Any]:
        """As `maker.outputs`: each output with its treatment."""
        return self.maker.outputs

    @property
    def indices(self) -> list[list[Any]]:
        """As `maker.indices`."""
        return self.maker.indices

    def get_shared(self) -> list[Any]:
        """The shared variables the function uses."""
        return [item.variable for item in self.maker.inputs if item.shared]

    def free(self) -> None:
        """Drop the intermediate results kept from the last call (`allow_gc=False`)."""
        if "vm" in self.__dict__:  # a native function keeps none, unless somebody looked at its machine
            self.vm.free()

    def source(self, language: str = "py") -> str:
        """The code that runs: `"c"` is the generated C text, `"py"` the program as the virtual machine would run it."""
        if language == "py":
            return str(self.maker.work.program)
        text = self.maker.work.c_source() if language == "c" else ""
        if not text:
            raise ValueError(f"{self._title()} was not compiled to {language!r}; its program is source('py')")
        return text

    @cached_property
    def vm(self) -> Machine:
        """The virtual machine with the function's program; a native function runs without it."""
        return Machine(self.maker.work.fastest_program(), lookup=self.maker.work.lookup)

    # ------------------------------------------------------------------ copying and saving
    def copy(
        self,
        share_memory: bool = False,
        swap: Mapping[Any, Any] | None = None,
        delete_updates: bool = False,
        name: str | None = None,
        profile: Profile | bool | None = None,
    ) -> Function:
        """A function with the same program, without compiling again.

        `swap` maps shared variables to others to use instead, `delete_updates` leaves all updates out, `share_memory`
        lets both keep intermediate results in the same place.
        """
        return self._copied(self, share_memory, swap, delete_updates, name, profile)

    def __copy__(self) -> Function:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Function:
        return self._deep_copied(self, memo)

    def __reduce__(self) -> tuple[Any, ...]:
        return self._pickled(self)

    def __repr__(self) -> str:
        return f"<{self._title()} of ({self._signature()})>"


class MachineFunction(Function):
    """A function run by the virtual machine."""

    def __init__(
        self, maker: Maker, input_storage: Sequence[Container], defaults: Sequence[Default], name: str | None = None
    ) -> None:
        self._describe(maker, input_storage, defaults, name)
        self._setup()

    def _setup(self) -> None:
        maker = self.maker
        mode = maker.mode
        allow_gc = config.allow_gc if mode.allow_gc is None else mode.allow_gc
        lookup = maker.work.lookup
        self._n_outputs = len(maker.outputs)
        self._updated = [i for i, item in enumerate(maker.inputs) if item.update is not None and maker.keeps_updates]
        observers = mode.watch(maker)
        watched = bool(observers)
        self._checks = (
            type(mode).check_inputs is not Mode.check_inputs or type(mode).check_results is not Mode.check_results
        )
        one_by_one = (watched or self._checks) and not mode.sees_kernels
        program = maker.work.program if one_by_one else maker.work.fastest_program()
        if not one_by_one and not maker.timed:
            keep_parts(maker.work, maker.name)
        if maker.timed:
            in_parts = (program, Program.from_terms) if program is maker.work.program else maker.work.program_in_parts()
            maker.profile.names = {a: item.name for a, item in zip(maker.work.args, maker.inputs) if item.name}
            program = maker.profile.watch(*in_parts)
            observers.append(maker.profile.observe)
        tell(maker.work, program, self.name)
        if not maker.keeps_updates:
            program = program.pruned(program.outputs[: self._n_outputs])
        self._deferred: list[Deferred] = []
        if not observers and not self._checks and "inplace" not in mode.exclude:
            program, self._deferred = defer_updates(program, self._n_outputs, self._updated)
        self.vm = Machine(program, allow_gc, observers, lookup)
        self._by_name = {maker.inputs[i].name: i for i in self._explicit if maker.inputs[i].name}
        self._kept = [i for i, (_, refeed, _c) in enumerate(self.defaults) if not refeed]
        cells = [i for i in self._kept if not self.defaults[i][0]]
        self._cells = [self.input_storage[i] for i in cells]
        self._only_read = {id(self.input_storage[i]) for i in cells if i not in set(self._updated)}
        self._borrow = [o.borrow for o in maker.outputs]
        self._constants = frozenset(k for v in self.vm.program.constants.values() for k in keys_of(v))

    def why_not_native(self) -> PythonParts:
        return python_parts(self.maker.work, self.vm.program)

    # ------------------------------------------------------------------ calling
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        subset = kwargs.pop("output_subset", None)
        given = self._arguments(args, kwargs)
        if self.maker.timed:
            start = perf_counter()
            outputs = self._call(given)
            self.maker.profile.add_call(perf_counter() - start)
        else:
            outputs = self._call(given)
        return self._packed(outputs, subset)

    def _call(self, given: list[Any]) -> list[Any]:
        """Run with the memory of updated variables held; that of others only while it is read."""
        if not self._cells:
            return self._run(given)
        held: list[tuple[Container, Any]] = []
        try:
            # In one order for all functions, compiled ones too, so that none waits for another in a circle.
            for cell in sorted(self._cells, key=lambda c: id(c.lock)):
                held.append((cell, _locked(cell)))
            values = self._values(given)
            for cell, lock in held:
                if id(cell) in self._only_read:
                    lock.release()
            held = [pair for pair in held if id(pair[0]) not in self._only_read]
            return self._run(values)
        finally:
            for _, lock in held:
                lock.release()

    def _values(self, given: list[Any]) -> list[Any]:
        return [on_host(c.storage[0]) if v is _LATER else v for v, c in zip(given, self.input_storage)]

    def _run(self, values: list[Any]) -> list[Any]:
        if self._checks:
            results = self._run_checked(values)
        else:
            results = self.vm(values)
        if not self._updated and len(results) == self._n_outputs and self._fresh(results, values):
            return results
        claims = Claims(values, self._constants)
        outputs = [v if borrow else claims.own(v) for v, borrow in zip(results[: self._n_outputs], self._borrow)]
        if self._updated:
            self._commit(results, values, claims)
        return outputs

    def _fresh(self, results: list[Any], values: list[Any]) -> bool:
        """Whether all results have memory that nobody else has, seen without asking whose each argument's is."""
        return held_by_nobody(results)

    def _run_checked(self, values: list[Any]) -> list[Any]:
        maker = self.maker
        maker.mode.check_inputs(maker, values)
        results = self.vm(values)
        maker.mode.check_results(maker, values, results)
        return results

    def _commit(self, results: list[Any], values: list[Any], claims: Claims) -> None:
        """Make the new values ready, then write them all in one step that nothing can interrupt.

        That step runs in C without executing Python bytecode, so neither a signal nor another thread sees half of it.
        """
        news = results[self._n_outputs : self._n_outputs + len(self._updated)]
        updated = self._updated
        buffers = [values[updated[d.update]] for d in self._deferred]
        for d in self._deferred:
            news[d.update] = results[self._n_outputs + d.update] = values[updated[d.update]] = None
        writes = in_place_writes(self._deferred, results, buffers, _HOLDERS)
        for d, write in zip(self._deferred, writes):
            if write is None:
                news[d.update] = self.vm.run_one(d.instruction, [results[i] for i in d.operands])
        calls: list[Any] = [write for write in writes if write is not None]
        for i, new in zip(updated, news):
            if new is not None:
                self._check_update(i, new)
                calls.append(partial(operator.setitem, self.input_storage[i].storage, 0, claims.own(new)))
        with np.errstate(all="ignore"):
            deque(map(operator.call, calls), maxlen=0)

    def _check_update(self, i: int, new: object) -> None:
        """A new value must fit the lengths that the variable declares."""
        item = self.maker.inputs[i]
        type_ = item.variable.type
        if isinstance(type_, TensorType) and any(n is not None for n in type_.shape):
            try:
                type_.filter(new, strict=True)
            except TypeError as err:
                raise TypeMismatch(f"the update of {label(item.variable)}: {err}; nothing was changed") from None

    def _packed(self, outputs: list[Any], subset: Any = None) -> Any:
        maker = self.maker
        results = outputs if maker.output_keys is None else dict(zip(maker.output_keys, outputs))
        if subset is not None:
            return self._subset(results, subset)
        if maker.return_none:
            return None
        return outputs[0] if maker.unpack_single else results

    # ------------------------------------------------------------------ arguments
    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """One entry per input: the argument in the form the input promises, or `_LATER` for what containers hold."""
        explicit = self._explicit
        if len(args) == len(explicit) == len(self.input_storage) and not kwargs:
            return list(args) if self.trust_input else [self._checked(i, i, v) for i, v in enumerate(args)]
        given: list[Any] = [_LATER] * len(self.input_storage)
        if len(args) > len(explicit):
            raise TypeError(f"{self._title()} takes {len(explicit)} arguments ({self._signature()}), got {len(args)}")
        for i, value in zip(explicit, args):
            given[i] = value
        for name, value in kwargs.items():
            i = self._by_name.get(name, -1)
            if i < 0:
                raise TypeError(f"{self._title()} has no input named {name!r}; its inputs are {self._signature()}")
            if given[i] is not _LATER:
                raise TypeError(f"{self._title()}: input {name!r} was given twice, by position and by name")
            given[i] = value
        for position, i in enumerate(explicit):
            if given[i] is _LATER:
                self._need_default(i, position)
                required, refeed, default = self.defaults[i]
                if refeed:
                    given[i] = default
            elif not self.trust_input:
                given[i] = self._checked(i, position, given[i])
        return given

    def _need_default(self, i: int, position: int) -> None:
        if self.defaults[i][0]:
            missing = [self._input_text(j) for j in self._explicit if self.defaults[j][0]]
            raise TypeError(
                f"{self._title()}: missing the argument for input {self._input_text(i)} (position {position}); "
                f"it needs {len(missing)}: {', '.join(missing)}"
            )


# References to the buffer of an updated variable that a call itself holds when it asks whether it is alone: the
# variable's storage, the list of buffers, the argument of getrefcount.
_HOLDERS = 3


def _locked(cell: Container) -> Any:
    """The lock of a container, held. A container that C code begins to use gets another lock: then ask again."""
    while True:
        lock = cell.lock
        lock.acquire()
        if cell.lock is lock:
            return lock
        lock.release()


if TYPE_CHECKING:  # what `function()` returns, by what it was given as outputs

    class OneResult(Function):
        def __call__(self, *args: Any, **kwargs: Any) -> np.ndarray: ...

    class SeveralResults(Function):
        def __call__(self, *args: Any, **kwargs: Any) -> list[np.ndarray]: ...

    class NamedResults(Function):
        def __call__(self, *args: Any, **kwargs: Any) -> dict[str, np.ndarray]: ...

    class NoResult(Function):
        def __call__(self, *args: Any, **kwargs: Any) -> None: ...


class _Later:
    """Marks an input whose value is taken from its container when the call runs."""


_LATER = _Later()


def _bad_argument(function: Function, item: In, position: int, error: Exception) -> TypeError:
    name = f" {item.name!r}" if item.name else ""
    text = f"bad argument{name} (position {position}) of {function._title()}: {error}"
    return TypeMismatch(placed(item.variable.site, text))


def arguments_of(op: Op) -> dict[Any, Any]:
    """The arguments of a body under the names that they have in the user's step function."""
    places = places_of(op)
    leaves = [Arg(i, type_) for i, type_ in enumerate(op.params["takes"])]
    named = {leaf: places.get(leaf, (None, ()))[0] for leaf in leaves}
    return {leaf: Input(name, leaf.type) for leaf, name in named.items() if name}
