"""`function()`, the entry point of compiling, and `eval`."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

from termgraph import progress
from termgraph._arguments import named
from termgraph._collector import paused_gc
from termgraph._lazy import lazy
from termgraph._logs import INFO, Log
from termgraph.compile.capture import checked_givens
from termgraph.config import config
from termgraph.function.inout import In, Out, Outputs, convert_function_input, wrap_out
from termgraph.function.maker import FunctionMaker
from termgraph.function.mode import Mode, get_mode
from termgraph.tensor.bipartite import ancestors, variables_of
from termgraph.tensor.sharedvar import SharedVariable, checked_updates
from termgraph.tensor.streams import advanced, loops_in
from termgraph.tensor.variable import TensorVariable, Variable
from termgraph.terms.traverse import free_inputs, orders_kept, resolve_bound, substitute

if TYPE_CHECKING:
    import numpy as np

    from termgraph.function.compiled import Function, NamedResults, NoResult, OneResult, SeveralResults
    from termgraph.grad import waiting
    from termgraph.tensor.likes import Pairs
    from termgraph.vm.profile import Profile

    class FunctionOptions(TypedDict, total=False):
        """The arguments of `function` beside inputs and outputs."""

        mode: Mode | str | None
        updates: Pairs
        givens: Pairs
        no_default_updates: bool | Sequence[Variable]
        accept_inplace: bool
        name: str | None
        rebuild_strict: bool
        allow_input_downcast: bool | None
        profile: Profile | bool | None  # True, or a Profile to add to
        on_unused_input: str | None
        trust_input: bool
        memory_limit: int | float | None
        storage: str | None
else:
    waiting = lazy("termgraph.grad.waiting")  # loaded already where a variable waits


log = Log("compile")


# What a call gives follows from the outputs: an array, a list of arrays, a dictionary, nothing.
@overload
def function(inputs: Sequence[Any], outputs: TensorVariable, **options: Unpack[FunctionOptions]) -> OneResult: ...
@overload
def function(
    inputs: Sequence[Any],
    outputs: list[TensorVariable] | tuple[TensorVariable, ...],
    *,
    output_keys: None = None,
    **options: Unpack[FunctionOptions],
) -> SeveralResults: ...
@overload
def function(
    inputs: Sequence[Any], outputs: Mapping[str, TensorVariable], **options: Unpack[FunctionOptions]
) -> NamedResults: ...
@overload
def function(inputs: Sequence[Any], outputs: None = None, **options: Unpack[FunctionOptions]) -> NoResult: ...
@overload
def function(
    inputs: Sequence[Any],
    outputs: Any = None,
    mode: Mode | str | None = None,
    updates: Pairs = None,
    givens: Pairs = None,
    no_default_updates: bool | Sequence[Variable] = False,
    accept_inplace: bool = False,
    name: str | None = None,
    rebuild_strict: bool = True,
    allow_input_downcast: bool | None = None,
    profile: Profile | bool | None = None,
    on_unused_input: str | None = None,
    output_keys: Sequence[Any] | None = None,
    trust_input: bool = False,
    memory_limit: int | float | None = None,
    storage: str | None = None,
) -> Function: ...


@named
def function(
    inputs: Sequence[Any],
    outputs: Any = None,
    mode: Mode | str | None = None,
    updates: Pairs = None,
    givens: Pairs = None,
    no_default_updates: bool | Sequence[Variable] = False,
    accept_inplace: bool = False,
    name: str | None = None,
    rebuild_strict: bool = True,
    allow_input_downcast: bool | None = None,
    profile: Profile | bool | None = None,
    on_unused_input: str | None = None,
    output_keys: Sequence[Any] | None = None,
    trust_input: bool = False,
    memory_limit: int | float | None = None,
    storage: str | None = None,
) -> Any:
    """Compile a function from some variables to others.

    inputs: a list of variables, `In(...)` or pairs (variable, default). outputs: a variable, a list, a dictionary, or
    None. updates: new values of shared variables, as a dictionary or pairs. givens: variables to replace. mode: a Mode,
    its name, or tags such as `"-inplace"`. no_default_updates: True, or the shared variables whose `default_update` is
    left out. allow_input_downcast: True converts arguments even with loss, None (default) only Python floats.
    on_unused_input: "raise", "warn" or "ignore". profile: True times every instruction; see `f.profile`. memory_limit:
    the most bytes a call may hold beside its arguments, or a share of them (0.5: half); see `f.memory`. storage:
    "bfloat16" or "float16", in which arrays wait for the backward pass: less memory, rounded gradients.

    >>> import termgraph as tg, termgraph.tensor as T
    >>> x, y = T.dscalars("x", "y")
    >>> f = tg.function([x, y], x * y + 1)
    >>> float(f(2, 3))
    7.0
    """
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(f"inputs must be a list of variables, got {type(inputs).__name__} {inputs!r:.60}; write [x]")
    if name is not None and not isinstance(name, str):
        raise TypeError(f"name must be a string, got {name!r}")
    ins = [convert_function_input(i, allow_input_downcast) for i in inputs]
    outputs, output_keys = _with_keys(outputs, output_keys)
    outs = _wrapped(outputs)
    given = checked_givens(givens, [i.variable for i in ins], rebuild_strict)
    changes = _checked_updates(updates)
    roots = [o.variable for o in _listed(outs)] + [i.update for i in ins if i.update is not None]
    shared = collect_shared(roots, changes, given, no_default_updates, [i.variable for i in ins])
    ins += [_shared_in(v, changes) for v in shared]
    if memory_limit is not None:
        mode = get_mode(mode).clone(memory_limit=memory_limit)
    if storage is not None:
        mode = get_mode(mode).clone(storage=storage)
    with progress.task(name or "a function"), paused_gc(), orders_kept():
        maker = FunctionMaker(
            ins, outs, mode, accept_inplace, profile=profile, on_unused_input=on_unused_input, output_keys=output_keys,
            name=name, givens=given,
        )  # fmt: skip
        f = maker.create()
    if log.wanted(INFO):
        log.info("%s", maker.summary())
    f.trust_input = bool(trust_input)
    return f


def _searched(variables: Sequence[Any], inputs: Sequence[Variable]) -> list[Any]:
    """The variables in which to look for shared ones: gradients that wait have those of their costs."""
    named = waiting.named(variables, inputs) if any(v.waits for v in variables) else None
    return [*variables] if named is None else [*named.made, *named.formed]


def _shared_in(v: SharedVariable, changes: Mapping[Any, Any]) -> In:
    updated = v in changes
    return In(v, value=v.container, update=changes.get(v), mutable=updated, borrow=True, shared=True)


def _with_keys(outputs: Any, keys: Any) -> tuple[Any, Any]:
    """A dictionary of outputs as a list and its keys, sorted by name."""
    if not isinstance(outputs, dict):
        if keys is not None and not isinstance(outputs, (list, tuple)):
            raise TypeError("output_keys needs a list of outputs")
        return outputs, keys
    if keys is not None:
        raise TypeError("give a dictionary of outputs or output_keys, not both")
    for key in outputs:
        if not isinstance(key, str):
            raise TypeError(f"the keys of a dictionary of outputs must be strings, got {key!r}")
    ordered = sorted(outputs)
    return [outputs[k] for k in ordered], ordered


def _wrapped(outputs: Outputs) -> Out | list[Out] | None:
    if outputs is None:
        return None
    if isinstance(outputs, (list, tuple)):
        wrapped = []
        for i, o in enumerate(outputs):
            try:
                wrapped.append(wrap_out(o))
            except (TypeError, ValueError) as err:
                more = " (a list among the outputs is one stacked array; tg.jit returns nested results)"
                nested = isinstance(o, (list, tuple, dict))
                raise TypeError(f"outputs[{i}]: {err}{more if nested else ''}") from None
        return wrapped
    return wrap_out(outputs)


def _listed(outs: Out | list[Out] | None) -> list[Out]:
    return [] if outs is None else outs if isinstance(outs, list) else [outs]


def _checked_updates(updates: Pairs) -> dict[Any, Variable]:
    """`updates` as a dictionary from shared variables to variables of their types."""
    if updates is None:
        return {}
    if not isinstance(updates, (Mapping, list, tuple)) and not isinstance(updates, Iterable):
        hint = ", which gives updates when it is called: with a cost and parameters, say" if callable(updates) else ""
        raise TypeError(
            f"updates must be a dictionary or pairs (shared variable, new value), got {updates!r:.60}{hint}"
        )
    return checked_updates(updates, "updates")


def collect_shared(
    roots: Sequence[Any],
    updates: dict[Any, Any],
    givens: Mapping[Any, Any],
    no_default_updates: bool | Sequence[Variable] = False,
    inputs: Sequence[Variable] = (),
) -> list[Any]:
    """The shared variables that the graph uses, in order of use; adds default updates to `updates`.

    What is replaced by `givens` or computed above an input is not searched.
    """
    if not isinstance(no_default_updates, (bool, list, tuple, set)):
        raise TypeError(f"no_default_updates must be a bool or a list of shared variables, got {no_default_updates!r}")
    silent = no_default_updates if not isinstance(no_default_updates, bool) else ()
    searched: list[Any] = [*roots, *updates.values()]
    if not givens:
        searched = _searched(searched, inputs)
    found: dict[Any, None] = {}
    while searched:
        for v in _shared_leaves(searched, givens, inputs):
            found.setdefault(v)
        searched = []
        if no_default_updates is True:
            break
        moving = [v for v in found if v._default_update is not None and v not in updates]
        loops = loops_in([*roots, *updates.values()]) if moving else []
        for v in moving:
            if not any(v is s for s in silent):
                updates[v] = advanced(v, loops)
                searched.append(updates[v])
    for v in updates:
        found.setdefault(v)
    return list(found)


def _shared_leaves(variables: Sequence[Any], givens: Mapping[Any, Any], inputs: Sequence[Any]) -> list[Any]:
    """The shared variables under some variables, with inputs cut off and replacements made."""
    cut = [v.term for v in inputs if v.owner is not None]
    keys = resolve_bound([*[v.term for v in givens], *cut])
    values = [*resolve_bound([v.term for v in givens.values()]), *[v.term for v in _stubs(inputs)]]
    roots = substitute(resolve_bound([v.term for v in variables]), dict(zip(keys, values)))
    return [leaf.shared for leaf in free_inputs(roots) if leaf.shared is not None]


def _stubs(inputs: Sequence[Any]) -> list[Any]:
    return [v.type.make_variable() for v in inputs if v.owner is not None]


def rebuild_collect_shared(
    outputs: Any,
    inputs: Sequence[Any] | None = None,
    replace: Pairs = None,
    updates: Pairs = None,
    rebuild_strict: bool = True,
    copy_inputs_over: bool = True,
    no_default_updates: bool | Sequence[Variable] = False,
) -> tuple[list[Any], Any, list[Any]]:
    """Inputs, outputs with replacements made, and `[replaced, updates, new_values, shared]`: what a function needs.

    `replaced` has what stands for a variable, `updates` the new value of each shared variable, `new_values` those
    alone. Variables are immutable handles here, so inputs are never copied whatever `copy_inputs_over` says.
    """
    ins = list(inputs or [])
    given = checked_givens(replace, ins, rebuild_strict)
    changes = _checked_updates(updates)
    listed = list(outputs) if isinstance(outputs, (list, tuple)) else [] if outputs is None else [outputs]
    variables = [o.variable if isinstance(o, Out) else o for o in listed]
    shared = collect_shared(variables, changes, given, no_default_updates, ins)
    mapping = {k.term: v.term for k, v in given.items()}
    whole = [*variables, *changes.values()]
    if mapping:
        terms = substitute(resolve_bound([v.term for v in whole]), mapping)
        whole = variables_of(terms, {v.term: v for v in (*ins, *shared)})
    made, new_values = whole[: len(variables)], whole[len(variables) :]
    rebuilt = [Out(v, borrow=o.borrow) if isinstance(o, Out) else v for o, v in zip(listed, made)]
    new_outputs = rebuilt if isinstance(outputs, (list, tuple)) else rebuilt[0] if rebuilt else None
    return ins, new_outputs, [dict(given), dict(zip(changes, new_values)), new_values, shared]


def evaluate(variable: Variable, inputs_to_values: Mapping[Any, Any] | None = None, **kwargs: Any) -> np.ndarray:
    """The value of a variable for given values of its inputs (keys are variables, or names of inputs).

    The compiled function is kept with the variable for the next call with the same inputs.

    >>> import termgraph.tensor as T
    >>> x = T.dvector("x")
    >>> (x * 2).eval({x: [1.0, 2.0]})
    array([2., 4.])
    """
    values = dict(inputs_to_values or {})
    wrong = sorted(kwargs.keys() - inspect.signature(function).parameters.keys())
    if wrong:
        raise TypeError(
            f"eval has no option {wrong[0]!r}; values of inputs are given in a dictionary: .eval({{{wrong[0]}: value}})"
        )
    inputs = [_by_name(variable, key) if isinstance(key, str) else key for key in values]
    cache = variable.tag.__dict__.setdefault("_compiled", {})
    key = (tuple(id(v) for v in inputs), repr(kwargs))
    f = cache.get(key)
    if f is None:
        kwargs.setdefault("allow_input_downcast", None)
        if config.linker == "auto":
            kwargs.setdefault("mode", get_mode(None).clone(linker="py"))  # one value is not worth a compiler's time
        f = cache[key] = function(inputs, variable, **kwargs)
    value: np.ndarray = f(*values.values())
    return value


def _by_name(variable: Variable, name: str) -> Any:
    found = [v for v in ancestors([variable]) if v.name == name]
    if len(found) != 1:
        raise ValueError(f"eval: {len(found) or 'no'} variables named {name!r} in the graph; give the variable itself")
    return found[0]
