"""theano.function, modes, linkers and shared variables as Theano's programs use them. May import function and debug."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import termgraph.debug as debug
import termgraph.tensor as T
from termgraph.debug.monitor import MonitorMode as NativeMonitorMode
from termgraph.function import FunctionMaker as NativeFunctionMaker
from termgraph.function import function as native_function
from termgraph.function.fgraph import FunctionGraph
from termgraph.function.inout import In as NativeIn
from termgraph.function.inout import Out
from termgraph.function.mode import Mode as NativeMode
from termgraph.function.mode import get_mode as native_get_mode
from termgraph.function.mode import register_mode as native_register_mode
from termgraph.printing import debugprint
from termgraph.tensor import sharedvar
from termgraph.tensor.likes import Pairs, TensorLike
from termgraph.tensor.variable import Apply, TensorVariable, Variable
from termgraph.theano.flags import OPTIMIZERS, canonical_linker
from termgraph.theano.standins import stand_in
from termgraph.vm.profile import Profile


# ---------------------------------------------------------------------- inputs
def _in(
    variable: TensorVariable,
    name: str | None = None,
    value: TensorLike | None = None,
    update: Variable | None = None,
    **more: Any,
) -> NativeIn:
    """An input of a function."""
    more.pop("implicit", None)
    return NativeIn(variable, name=name, value=_value(value), update=update, **more)


def _value(value: Any) -> Any:
    return value.container if sharedvar.is_shared(value) else value


def _param(
    variable: TensorVariable, default: float | None = None, name: str | None = None, mutable: bool = False, **more: Any
) -> NativeIn:
    """Theano's old name for an input with a default."""
    return _in(variable, name, default, mutable=mutable, borrow=more.pop("borrow", None) or mutable or None, **more)


In = stand_in("In", lambda v: isinstance(v, NativeIn), _in)
Param = stand_in("Param", lambda v: isinstance(v, NativeIn), _param)
SymbolicInput, SymbolicOutput = In, Out


# ---------------------------------------------------------------------- functions
def function(
    inputs: Sequence[Any],
    outputs: Any = None,
    mode: NativeMode | str | None = None,
    updates: Pairs = None,
    givens: Pairs = None,
    no_default_updates: bool = False,
    accept_inplace: bool = False,
    name: str | None = None,
    rebuild_strict: bool = True,
    allow_input_downcast: bool | None = None,
    profile: Profile | bool | str | None = None,
    on_unused_input: str | None = None,
    output_keys: Sequence[Any] | None = None,
) -> Any:
    """A compiled function, with Theano's manners: without outputs it returns [], not None.

    >>> x = T.dscalar("x")
    >>> function([x], [x + 1, x * 2])(3.0)
    [array(4.), array(6.)]
    """
    outputs = [] if outputs is None else outputs
    options = {
        "mode": _mode(mode), "updates": _updates(updates), "givens": _givens(givens),
        "no_default_updates": no_default_updates, "accept_inplace": accept_inplace, "name": name,
        "rebuild_strict": rebuild_strict, "allow_input_downcast": allow_input_downcast, "profile": _profile(profile),
        "output_keys": output_keys,
    }  # fmt: skip
    return native_function(inputs, outputs, on_unused_input=on_unused_input, **options)


def _listed(outputs: Any) -> list:
    if isinstance(outputs, dict):
        return list(outputs.values())
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]


def _updates(updates: Pairs) -> Any:
    """Updates as pairs, new values in the variable's broadcast pattern."""
    if updates is None:
        return None
    return list(updates.items() if isinstance(updates, Mapping) else updates)


def _givens(givens: Pairs) -> Any:
    """Replacements whose values may be arrays, and shared variables for variables of the same type."""
    pairs = list(givens.items() if isinstance(givens, Mapping) else givens or ())
    return [(old, new if isinstance(new, T.Variable) else _like(old, new)) for old, new in pairs] or None


def _like(old: Any, new: Any) -> Any:
    return T.as_tensor(np.asarray(new, dtype=old.dtype)) if isinstance(old, T.TensorVariable) else new


def _profile(profile: Profile | bool | str | None) -> Any:
    return True if isinstance(profile, str) else profile


def pfunc(params: Sequence[Any], outputs: Any = None, **options: Any) -> Any:
    """`function`, under the name of the part of Theano that made it."""
    return function(params, outputs, **options)


def orig_function(inputs: Sequence[Any], outputs: Any, mode: NativeMode | str | None = None, **options: Any) -> Any:
    """`function` of `In` and `Out`."""
    return function(inputs, outputs, mode=mode, **options)


def FunctionMaker(inputs: Sequence[Any], outputs: Any, mode: NativeMode | str | None = None, **options: Any) -> Any:
    """What compiles a function; `create()` makes the callable."""
    return NativeFunctionMaker(inputs, outputs, _mode(mode), **options)


def function_dump(filename: str, inputs: Sequence[Any], outputs: Any = None, **options: Any) -> None:
    """Write what `function` would be called with to a file, for somebody else to look into."""
    extra = options.pop("extra_tag_to_remove", None)
    call = {"inputs": inputs, "outputs": outputs, "extra_tag_to_remove": extra, **options}
    with open(filename, "wb") as file:
        pickle.dump({k: v for k, v in call.items() if v is not None}, file)


def get_info_on_inputs(named_inputs: Sequence[str], n_unnamed_inputs: int) -> str:
    """A sentence about the inputs of a function."""
    named = f"{len(named_inputs)} with a name ({', '.join(named_inputs)})"
    return f"The function has {named} and {n_unnamed_inputs} without."


def check_equal(x: Any, y: Any) -> bool:
    """Whether two values are equal, arrays element by element."""
    return np.array_equal(x, y) if isinstance(x, np.ndarray) or isinstance(y, np.ndarray) else bool(x == y)


def register_checker(checker: Callable) -> None:
    """Accepted: DEBUG_MODE compares by the type of each variable."""


def iter_over_pairs(pairs: Pairs) -> Any:
    """The pairs of a dictionary or a list of pairs."""
    return pairs.items() if isinstance(pairs, Mapping) else pairs


# ---------------------------------------------------------------------- shared variables
def shared(
    value: Any, name: str | None = None, strict: bool = False, allow_downcast: bool | None = None, **more: Any
) -> Any:
    """A variable with memory."""
    if isinstance(value, T.Variable):
        raise TypeError(f"shared() takes a value, not the symbolic variable {value}; use its value, or .clone()")
    more.pop("target", None)
    return sharedvar.shared(value, name=name, strict=strict, allow_downcast=allow_downcast, **more)


def shared_constructor(ctor: Callable, remove: bool = False) -> Callable:
    """Register (or remove) a maker of shared variables; Theano's take `(value, name, strict, allow_downcast)`."""
    if remove:
        sharedvar.CONSTRUCTORS[:] = [c for c in sharedvar.CONSTRUCTORS if c is not ctor]
        return ctor
    return sharedvar.shared_constructor(ctor)


def sparse_grad(var: TensorLike) -> Any:
    """The variable itself: gradients of a choice of rows are written into those rows in any case."""
    return var


# ---------------------------------------------------------------------- linkers
class _Linker:
    """A choice of what runs the program, for `Mode(linker=...)`."""

    runs = "auto"

    def __init__(self, *_: Any, **options: Any) -> None:
        self.allow_gc, self.schedule = options.get("allow_gc"), options.get("schedule")
        self._fgraph: Any = None

    def accept(self, fgraph: FunctionGraph, no_recycling: Any = None, profile: Any = None) -> _Linker:
        """This linker with a graph to run."""
        new = type(self)(allow_gc=self.allow_gc)
        new._fgraph = fgraph
        return new

    def _function(self, allow_downcast: bool | None = None) -> Any:
        graph = self._fgraph
        return native_function(
            list(graph.inputs), list(graph.outputs), mode=NativeMode(linker=self.runs, optimizer="None"),
            on_unused_input="ignore", allow_input_downcast=allow_downcast, accept_inplace=True,
        )  # fmt: skip

    def make_function(self, unpack_single: bool = True, **_: object) -> Any:
        """The graph as a function; with one output, its value is returned by itself."""
        run = self._function()

        def call(*args: object) -> Any:
            found = run(*args)
            return found[0] if unpack_single and len(found) == 1 else found

        return call

    def make_thunk(self, **_: object) -> tuple:
        """`(run, input containers, output containers)`."""
        return self._function().maker.linker.make_thunk()

    def clone(self, allow_gc: bool | None = None) -> _Linker:
        """Another one of this kind."""
        return type(self)(allow_gc=allow_gc)


class Linker(_Linker):
    """Theano's base class of linkers."""


class LocalLinker(Linker):
    """A linker that runs op by op; termgraph joins ops all the same."""


class CLinker(Linker):
    """Everything in C; what has no C text runs in Python here."""


class OpWiseCLinker(LocalLinker):
    """Each op in C where it can be."""


class DualLinker(Linker):
    """Compares C with Python; mode DEBUG_MODE does that here."""


class VM_Linker(LocalLinker):
    """Theano's virtual machine."""

    def __init__(self, *args: Any, use_cloop: bool = False, c_thunks: bool | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self.runs = "py" if c_thunks is False else "auto"


class PerformLinker(LocalLinker):
    """By the Python meaning of every op."""

    runs = "py"


class WrapLinker(Linker):
    """Linkers around others, which termgraph has as modes that watch: MonitorMode, NanGuardMode."""

    def __init__(self, linkers: Sequence[_Linker] = (), wrapper: Callable[..., Any] | None = None) -> None:
        super().__init__()
        if wrapper is not None:
            raise NotImplementedError("WrapLinker: use theano.compile.MonitorMode(pre_func, post_func)")


WrapLinkerMany, HideC = WrapLinker, PerformLinker
predefined_linkers: dict[Any, Any] = {
    "py": PerformLinker(), "c": CLinker(), "c|py": OpWiseCLinker(), "vm": VM_Linker(), "cvm": VM_Linker(use_cloop=True),
    "c|py_nogc": OpWiseCLinker(allow_gc=False), "vm_nogc": VM_Linker(allow_gc=False),
    "cvm_nogc": VM_Linker(allow_gc=False),
}  # fmt: skip


def register_linker(name: str, linker: _Linker) -> None:
    """Make a linker known by a name."""
    if name in predefined_linkers:
        raise ValueError(f"there is a linker named {name!r} already")
    predefined_linkers[name] = linker


# ---------------------------------------------------------------------- modes
predefined_optimizers = dict.fromkeys((None, "None", *OPTIMIZERS), "")
OPT_NONE, OPT_MERGE, OPT_FAST_COMPILE = "None", "None", "fast_compile"
OPT_FAST_RUN = OPT_O2 = OPT_O3 = OPT_STABILIZE = OPT_FAST_RUN_STABLE = "fast_run"
OPT_UNSAFE = "unsafe"
exclude: list[str] = []


def _make_mode(linker: OpWiseCLinker | str | None = None, optimizer: str = "default", **_: object) -> NativeMode:
    """A mode from Theano's names of linkers and optimizers, or from linkers as objects."""
    allow_gc: Any = None
    if isinstance(linker, _Linker):
        allow_gc, linker = linker.allow_gc, linker.runs
    elif isinstance(linker, str):
        linker, allow_gc = canonical_linker(linker), False if linker.endswith("_nogc") else None
    return NativeMode(linker=linker, optimizer=_rules(optimizer), allow_gc=allow_gc)


def _rules(optimizer: str) -> str | None:
    """termgraph's set of rules for one of Theano's optimizers; None is the one that `config.optimizer` names."""
    if optimizer is None:
        return "None"
    if not isinstance(optimizer, str):
        warnings.warn("Mode: an optimizer that is an object is not used; fast_run takes its place", stacklevel=5)
        return "fast_run"
    return None if optimizer == "default" else OPTIMIZERS.get(optimizer, optimizer)


Mode = stand_in("Mode", lambda m: isinstance(m, NativeMode), _make_mode)


def _mode(mode: NativeMode | str | None) -> Any:
    if isinstance(mode, str):
        return get_mode(mode)
    return mode


_NAMES = {"DebugMode": "DEBUG_MODE", "ProfileMode": "FAST_RUN", "PROFILE_MODE": "FAST_RUN", "FAST_RUN_NOGC": "FAST_RUN"}


def get_mode(orig_string: str | None = None) -> Any:
    """The mode of a name; None is the one that `config.mode` names."""
    if isinstance(orig_string, str):
        orig_string = _NAMES.get(orig_string, orig_string)
        if orig_string in _registered:
            return _registered[orig_string]
    return native_get_mode(orig_string)


_registered: dict[str, Any] = {}


def register_mode(name: str, mode: NativeMode) -> None:
    """Make a mode known by a name."""
    native_register_mode(name, mode)
    _registered[name] = mode


def get_default_mode() -> Any:
    """The mode of functions that name none."""
    return native_get_mode(None)


def register_optimizer(name: str, opt: Any) -> None:
    """Accepted without effect: sets of rules are named by tags here."""
    warnings.warn(f"register_optimizer({name!r}): Theano's optimizers are not used", stacklevel=2)


class _Modes(Mapping):
    """Theano's dictionary of modes by name."""

    def __getitem__(self, name: str) -> Any:
        try:
            return get_mode(name)
        except ValueError:
            raise KeyError(name) from None

    def __iter__(self) -> Any:
        return iter(("FAST_COMPILE", "FAST_RUN", "DebugMode", "NanGuardMode", *_registered))

    def __len__(self) -> int:
        return 4 + len(_registered)


predefined_modes = _Modes()
instantiated_default_mode = None


def __getattr__(name: str) -> Any:
    if name in ("FAST_RUN", "FAST_COMPILE"):
        return get_mode(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# ---------------------------------------------------------------------- modes that watch
def _debug_mode(**options: Any) -> Any:
    """DEBUG_MODE; what Theano's DebugMode checks beyond it is accepted and makes no difference."""
    return debug.DebugMode()


DebugMode = stand_in("DebugMode", lambda m: isinstance(m, debug.DebugMode), _debug_mode)


def _nan_guard(
    nan_is_error: bool | None = None, inf_is_error: bool | None = None, big_is_error: bool | None = None,
    optimizer: Any = None, linker: Any = None,
) -> Any:  # fmt: skip
    given: dict[str, Any] = {"nan_is_error": nan_is_error, "inf_is_error": inf_is_error, "big_is_error": big_is_error}
    return debug.NanGuardMode(**{k: v for k, v in given.items() if v is not None})


NanGuardMode = stand_in("NanGuardMode", lambda m: isinstance(m, debug.NanGuardMode), _nan_guard)


def _monitor(
    pre_func: Callable[..., Any] | None = None,
    post_func: Callable[..., Any] | None = None,
    optimizer: Any = None,
    linker: Any = None,
) -> Any:
    """Calls functions around every node."""
    options = {} if optimizer in (None, "default") else {"optimizer": OPTIMIZERS.get(optimizer, optimizer)}
    return NativeMonitorMode(pre_func, post_func, **options)


MonitorMode = stand_in("MonitorMode", lambda m: isinstance(m, NativeMonitorMode), _monitor)


def detect_nan(i: int, node: Apply, fn: Any) -> None:
    """For MonitorMode's post_func: print the node whose result holds a NaN."""
    for output in fn.outputs:
        value = np.asarray(output[0])
        if value.dtype.kind in "fc" and np.isnan(value).any():
            debugprint(node)
            print(f"Inputs : {[v[0] for v in fn.inputs]}")  # noqa: T201
            print(f"Outputs: {[v[0] for v in fn.outputs]}")  # noqa: T201
            return


# ---------------------------------------------------------------------- profiles
ProfileStats = Profile
ScanProfileStats = Profile


def register_profiler_printer(printer: Callable) -> Callable:
    """Accepted: a profile's text is `f.profile.table()`."""
    return printer


def print_global_stats() -> None:
    """Accepted: each function keeps its own times, `f.profile`."""
