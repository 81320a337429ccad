"""Records of compiled functions and modes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from termgraph.function.compiled import Function
from termgraph.function.mode import Mode, get_mode
from termgraph.function.saving import VERSION, restored, state_of
from termgraph.tensor.records import read_site, tensor_kinds, write_site
from termgraph.tensor.sharedvar import Container, is_shared
from termgraph.terms.graph_records import TERMS, check_arguments, graph_kinds
from termgraph.terms.leaves import Arg
from termgraph.terms.records import BadRecord, Kind, Reader, Writer, plain_kinds
from termgraph.terms.types import Type

if TYPE_CHECKING:
    pass

NAME, TRUTH = (str, type(None)), (bool, type(None))
# The modes that exist, by the names of their classes and those that `get_mode` knows them by.
_MODES = {"Mode": "MODE", "DebugMode": "DEBUG_MODE", "NanGuardMode": "NanGuardMode"}
_TREATMENT = {"mutable": (bool,), "borrow": (bool,), "strict": (bool,), "allow_downcast": TRUTH, "autoname": (bool,)}


# ---------------------------------------------------------------------- modes
def _mode(w: Writer, mode: Mode) -> list[Any]:
    if type(mode).__name__ not in _MODES or type(get_mode(_MODES[type(mode).__name__])) is not type(mode):
        raise BadRecord(f"a mode of the class {type(mode).__qualname__} cannot be saved")
    if mode.observers:
        raise BadRecord("a mode with observers cannot be saved: they are functions of this program")
    state = {k: v for k, v in vars(mode).items() if k != "observers"}
    return [type(mode).__name__, w.number(state)]


def _read_mode(r: Reader, name: str | None, state: int) -> Mode:
    usual, changes = get_mode(_MODES[r.plain(name, str)]), r.at(state, dict)
    for key, value in changes.items():
        parts = value if isinstance(value, tuple) else (value,)
        if key == "observers" or not all(isinstance(p, (str, bool, int, float, type(None))) for p in parts):
            raise BadRecord(f"the attribute {key!r:.40} of a mode is {value!r:.60}")
        if type(vars(usual).get(key)) in (bool, tuple) and type(value) is not type(vars(usual)[key]):
            raise BadRecord(f"the attribute {key!r:.40} of a mode is {value!r:.60}")
    return usual.clone(**changes)


# ---------------------------------------------------------------------- functions
def _function(w: Writer, f: Function) -> list[Any]:
    state = state_of(f)
    roots = state.pop("roots")
    fields: dict[str, Any] = {
        "inputs": [_input(w, item) for item in state["inputs"]],
        "outputs": [[w.number(type_), *more] for type_, *more in state["outputs"]],
        "args": w.numbers([Arg(index, type_) for index, type_ in state["args"]]),
        "roots": w.numbers(roots),
        "known": [[name, write_site(w, frames)] for name, frames in state["known"]],
        "rules": state["rules"],
        "n_roots": state["n_roots"],
        "forward": state["forward"],
    }
    for key in ("name", "trust_input", "timed", "mode", "return", "values"):
        fields[key] = w.value(state[key])
    return [fields]


def _input(w: Writer, item: dict[str, Any]) -> dict[str, Any]:
    default = item["default"]
    return {
        **{key: item[key] for key in ("name", "variable_name", "updated", *_TREATMENT)},
        "shared": None if item["shared"] is None else w.number(item["shared"]),
        "type": w.number(item["type"]),
        "frames": write_site(w, item["frames"]),
        "default": w.value(default),
    }


def _read_function(r: Reader, fields: object) -> Function:
    state = dict(r.plain(fields, dict))
    for key in ("name", "trust_input", "timed", "mode", "return", "values"):
        state[key] = r.value(state[key])
    _check_manners(r, state)
    state["inputs"] = [_read_input(r, item) for item in r.plain(state["inputs"], list)]
    state["outputs"] = [_read_output(r, *fields) for fields in r.plain(state["outputs"], list)]
    args = [r.at(n, Arg) for n in r.plain(state["args"], list)]
    state["args"] = [(a.index, a.type) for a in args]
    state["roots"] = [r.at(n, *TERMS) for n in r.plain(state["roots"], list)]
    state["known"] = [(r.plain(name, *NAME), read_site(r, site)) for name, site in r.plain(state["known"], list)]
    _check_graph(state, args)
    state["version"] = VERSION
    made: Function = restored(state)
    return made


def _check_manners(r: Reader, state: dict[str, Any]) -> None:
    expected = {"name": NAME, "trust_input": (bool,), "timed": (bool,), "values": (list,), "return": (tuple,)}
    for key, classes in expected.items():
        r.plain(state[key], *classes)
    none, single, keys, keeps = state["return"]
    if not all(isinstance(flag, bool) for flag in (none, single, keeps)) or not isinstance(keys, (list, type(None))):
        raise BadRecord("a function does not say how it returns its results")
    if not isinstance(state["mode"], Mode):
        raise BadRecord("a function without a mode")
    for rule, count in r.plain(state["rules"], dict).items():
        r.plain(rule, str), r.plain(count, int)


def _read_input(r: Reader, fields: object) -> dict[str, Any]:
    item: dict[str, Any] = r.plain(fields, dict)
    made = {key: r.plain(item[key], *classes) for key, classes in _TREATMENT.items()}
    for key in ("name", "variable_name"):
        made[key] = r.plain(item[key], *NAME)
    made["updated"] = r.plain(item["updated"], bool)
    made["shared"] = None if item["shared"] is None else r.at(item["shared"])
    if made["shared"] is not None and not is_shared(made["shared"]):
        raise BadRecord("an input is said to be a shared variable and is none")
    made["type"], made["frames"] = r.at(item["type"], Type), read_site(r, item["frames"])
    made["default"] = r.value(item["default"])
    if isinstance(made["default"], Container):
        if made["default"].type != made["type"]:
            raise BadRecord("the default of an input has another type than the input")
    elif made["default"] is not None:
        made["default"] = made["type"].filter(made["default"], allow_downcast=made["allow_downcast"])
    return made


def _read_output(r: Reader, type_: object, name: object, borrow: object, target: object) -> tuple[Any, ...]:
    return r.at(type_, Type), r.plain(name, *NAME), r.plain(borrow, bool), r.plain(target, *NAME)


def _check_graph(state: dict[str, Any], args: list[Arg]) -> None:
    """The graph mentions only its arguments, which have the types of the inputs; its results are what was declared."""
    inputs, roots, n = state["inputs"], state["roots"], state["n_roots"]
    updated = [item for item in inputs if item["updated"]]
    declared = [type_ for type_, *_ in state["outputs"]] + [item["type"] for item in updated]
    costs = len(roots) - 2 * len(declared) - len(state["known"])
    forward = state.setdefault("forward", None)
    if type(n) is not int or n != len(declared) or costs < 0 or (costs and forward is None):
        raise BadRecord("a function with another number of results than it declares")
    if forward is not None and (state["mode"].kept_dtype is None or not _are_numbers(forward, n + costs)):
        raise BadRecord(f"a function says that its results {forward!r:.60} are made without gradients")
    if len(args) != len(inputs) or len(state["values"]) != len(inputs):
        raise BadRecord(f"a function of {len(inputs)} inputs has {len(args)} arguments")
    for i, (a, item) in enumerate(zip(args, inputs)):
        variable = item["shared"]
        if a.index != i or not a.type.accepts(item["type"]) or (variable and variable.type != item["type"]):
            raise BadRecord(f"input {i} of a function has another type than its argument")
    for t, of in zip((*roots[:n], *roots[n + costs : 2 * n + costs]), declared * 2):
        if not (of.accepts(t.type) or t.type.accepts(of)):
            raise BadRecord(f"a result of a function is declared as {of} and is {t.type}")
    check_arguments(roots[: 2 * n + costs], [a.type for a in args])


def _are_numbers(given: object, below: int) -> bool:
    return isinstance(given, list) and all(type(k) is int and 0 <= k < below for k in given)


def kinds() -> list[Kind]:
    """Everything that a file may hold."""
    return [
        *plain_kinds(),
        *graph_kinds(),
        *tensor_kinds(),
        Kind("mode", (Mode,), _mode, _read_mode),
        Kind("function", (Function,), _function, _read_function),
    ]
