"""Copying and saving compiled functions. What is saved is the rewritten graph: loading rewrites nothing.

`state_of` takes a function apart, `restored` puts it together; pickles and files (`records`) hold the parts.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping
from typing import Any

from termgraph.compile import choose, warm
from termgraph.compile.capture import Captured, Passes, Sources
from termgraph.compile.compilation import Compilation
from termgraph.compile.values import Rewritten
from termgraph.config import config
from termgraph.function.compiled import Function
from termgraph.function.inout import In, Out
from termgraph.function.maker import FunctionMaker
from termgraph.function.mode import Mode
from termgraph.function.native import form_of, known_in_copy
from termgraph.tensor.sharedvar import Container, clone_shared, is_shared, label
from termgraph.tensor.trace import frames_of
from termgraph.tensor.variable import Variable
from termgraph.terms.errors import TermgraphError, TypeMismatch
from termgraph.terms.serial import flat_parts, from_flat_parts
from termgraph.terms.term import Arg
from termgraph.terms.types import TensorType, fits
from termgraph.vm.profile import Profile

VERSION = 1


class SavedFunctionError(TermgraphError, ValueError):
    """A saved function that this version cannot read."""


# ---------------------------------------------------------------------- copies
def copied(
    f: Function,
    share_memory: bool = False,
    swap: Mapping[Any, Any] | None = None,
    delete_updates: bool = False,
    name: str | None = None,
    profile: Profile | bool | None = None,
) -> Any:
    """What `Function.copy` returns."""
    new_of = _checked_swap(f, swap or {})
    maker = copy.copy(f.maker)
    maker.name = name or f.name
    maker.timed = f.maker.timed if profile is None else bool(profile)
    maker.profile = profile if isinstance(profile, Profile) else Profile(maker.name, f.maker.profile.stages)
    maker.profile.rules = dict(f.maker.profile.rules)
    maker.inputs = [_swapped(item, new_of) for item in f.maker.inputs]
    maker.keeps_updates = f.maker.keeps_updates and not delete_updates
    maker.known = known_in_copy(f.maker, maker)
    storage = [
        (item.value if item.shared else _fresh(item, c) if item.update is not None else _default(item, c))
        for item, c in zip(maker.inputs, f.input_storage)
    ]
    given = [item.value if s is None else s for item, s in zip(maker.inputs, storage)]
    g = maker.create(given)
    g.trust_input = f.trust_input
    if share_memory and "vm" in g.__dict__ and "vm" in f.__dict__:  # native functions keep no intermediate results
        g.vm.share_storage(f.vm)
    return g


def _checked_swap(f: Function, swap: Mapping[Any, Any]) -> dict[Any, Any]:
    used = f.get_shared()
    for old, new in swap.items():
        if not is_shared(old) or not is_shared(new):
            raise TypeError(f"copy(swap=...): keys and values must be shared variables, got {old!r:.40}: {new!r:.40}")
        if not any(old is v for v in used):
            raise ValueError(f"copy(swap=...): the function does not use {label(old)}")
        if not fits(old.type, new.type):
            raise TypeMismatch(f"copy(swap=...): {label(old)} has type {old.type}, {label(new)} has type {new.type}")
    after = [swap.get(v, v) for v in used]
    for i, v in enumerate(after):
        if any(v is w for w in after[:i]):
            raise ValueError(f"copy(swap=...): {label(v)} would stand for two of the function's shared variables")
    return dict(swap)


def _swapped(item: In, new_of: Mapping[Any, Any]) -> In:
    new = new_of.get(item.variable) if item.shared else None
    if new is None:
        return item
    changed = copy.copy(item)
    changed.variable, changed.value, changed.name = new, new.container, new.name
    return changed


def _default(item: In, container: Container) -> Any:
    """The default of an input as it is by now: a call gives it anew each time, so that copies may share it."""
    return item.value if item.value is None or isinstance(item.value, Container) else container.storage[0]


def _fresh(item: In, container: Container) -> Container:
    """The state of an updated input, as a container of its own."""
    return Container(container.type, copy.deepcopy(container.storage[0]), item.name, item.strict, item.allow_downcast)


def deep_copied(f: Function, memo: dict[int, Any]) -> Any:
    """`copy.deepcopy(f)`: shared variables are copied too, once for everything copied together."""
    swap = {v: clone_shared(v, memo) for v in f.get_shared()}
    return copied(f, swap=swap)


# ---------------------------------------------------------------------- saving
def state_of(f: Function) -> dict[str, Any]:
    """Everything that makes the function again: plain data, types, terms, containers."""
    maker, work = f.maker, f.maker.for_lengths(()).work  # what a file says of lengths would have to be believed
    known = dict(_known(work))
    return {
        "version": VERSION,
        "name": f.name,
        "trust_input": f.trust_input,
        "mode": maker.mode,
        "inputs": [_input_state(i) for i in maker.inputs],
        "outputs": [(o.variable.type, o.variable.name, o.borrow, o.target) for o in maker.outputs],
        "return": (maker.return_none, maker.unpack_single, maker.output_keys, maker.keeps_updates),
        "args": [(a.index, a.type) for a in work.args],
        "roots": [*work.captured.roots, *work.roots, *known],
        "n_roots": len(work.roots),
        "forward": None if work.captured.passes is None else list(work.captured.passes.forward),
        "known": list(known.values()),
        "values": [None if i.shared else c.storage[0] for i, c in zip(maker.inputs, f.input_storage)],
        "rules": dict(maker.profile.rules),
        "timed": maker.timed,
    }


def pickled(f: Function) -> tuple[Any, ...]:
    """What `pickle` keeps of a function: the call that makes it again. Its graph is flat, however deep it is."""
    state = state_of(f)
    state["graph"] = flat_parts(state.pop("roots"))
    return (restored, (state,))


def _known(work: Compilation) -> Any:
    """(term, (name, frames)) for the terms of the user's that the program or its captured graph still has."""
    sources = work.captured.sources
    for term, (name, site) in (sources.table() if sources is not None else {}).items():
        yield term, (name, tuple(frames_of(site)))


def _input_state(item: In) -> dict[str, Any]:
    plain = {k: getattr(item, k) for k in ("name", "mutable", "borrow", "strict", "allow_downcast", "autoname")}
    shared = item.variable if item.shared else None
    default = None if item.shared else item.value
    return {
        **plain,
        "shared": shared,
        "type": item.variable.type,
        "variable_name": item.variable.name,
        "frames": tuple(frames_of(item.variable.site)),
        "default": default,
        "updated": item.update is not None,
    }


def restored(state: dict[str, Any]) -> Any:
    """The inverse of `state_of`: links the saved graph, or rewrites it again if the flag asks for that."""
    if not isinstance(state, dict) or state.get("version") != VERSION:
        version = state.get("version") if isinstance(state, dict) else type(state).__name__
        raise SavedFunctionError(
            f"this saved function has format {version!r}, this version of termgraph reads format {VERSION}; "
            "compile it again from its expressions and save that"
        )
    maker = object.__new__(FunctionMaker)
    mode = _usable(state["mode"])
    ins, outs = [_restored_input(i) for i in state["inputs"]], _restored_outputs(state)
    maker.restore(state, ins, outs, mode, _linked(state, mode))
    if not config.reoptimize_unpickled_function:
        warm.look_up(maker.work, form_of(maker), maker.watched(), "linked program")
    values = state["values"]
    storage = [i.value if i.shared else _container(i, v) for i, v in zip(maker.inputs, values)]
    f = maker.create([s if i.shared or i.update is not None else _default(i, s) for i, s in zip(maker.inputs, storage)])
    f.trust_input = state["trust_input"]
    return f


def _container(item: In, value: object) -> Container:
    return Container(item.variable.type, value, item.name, item.strict, item.allow_downcast)


def _linked(state: dict[str, Any], mode: Mode) -> Compilation:
    roots = state["roots"] if "roots" in state else from_flat_parts(*state["graph"])
    n = state["n_roots"]
    c = len(roots) - n - len(state["known"])  # costs are behind the results
    captured_roots, rewritten, terms = roots[:c], roots[c : c + n], roots[c + n :]
    sources = Sources([], {}, [], [])
    sources.fill(dict(zip(terms, state["known"])))
    args = [Arg(index, type_) for index, type_ in state["args"]]
    forward = state.get("forward")
    passes = None if forward is None else Passes(tuple(forward), n)
    captured, options = Captured(args, captured_roots, sources, passes=passes), mode.options()
    if config.reoptimize_unpickled_function:
        return Compilation(captured, options)
    return Compilation(captured, options, rewritten=Rewritten(captured, options, tuple(rewritten)))


def _usable(mode: Mode) -> Mode:
    """The mode, or one that this machine can run, with a warning."""
    if choose.available(mode.linker):
        return mode
    warnings.warn(
        f"the saved function was made for linker {mode.linker!r}, which is not available here; it runs on the "
        "Python VM instead, with the same results",
        stacklevel=4,
    )
    return mode.clone(linker="py")


def _restored_input(state: dict[str, Any]) -> In:
    item = object.__new__(In)
    for key in ("name", "mutable", "borrow", "strict", "allow_downcast", "autoname"):
        setattr(item, key, state[key])
    shared = state["shared"]
    item.shared = item.implicit = shared is not None
    item.variable = shared if shared is not None else _variable(state["type"], state["variable_name"], state["frames"])
    item.value = shared.container if shared is not None else state["default"]
    item.update = _variable(state["type"], None) if state["updated"] else None
    return item


def _restored_outputs(state: dict[str, Any]) -> list[Out]:
    return [Out(_variable(type_, name), *more) for type_, name, *more in state["outputs"]]


def _variable(type_: TensorType, name: str | None, frames: tuple[Any, ...] = ()) -> Variable:
    v: Variable = type_.make_variable(name)
    v.site = frames
    return v


Function._copied, Function._deep_copied = staticmethod(copied), staticmethod(deep_copied)
Function._pickled = staticmethod(pickled)
