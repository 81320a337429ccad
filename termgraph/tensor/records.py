"""Records of variables, shared variables and their memory, and of streams of random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from termgraph.tensor.random import RandomStream, RandomStreams
from termgraph.tensor.sharedvar import (
    SHARED_HANDLES,
    Container,
    Generic,
    SharedVariable,
    TensorSharedVariable,
    is_shared,
    on_container,
    on_host,
)
from termgraph.tensor.trace import frames_of
from termgraph.tensor.userop import FromFunctionOp
from termgraph.tensor.variable import (
    CONSTANTS,
    Apply,
    Constant,
    TensorConstant,
    Variable,
    bare,
    results,
    variable_class,
)
from termgraph.terms.graph_records import TERMS
from termgraph.terms.op import Op
from termgraph.terms.ops.transfer import device_number
from termgraph.terms.records import BadRecord, Kind, Reader, Writer, read_named
from termgraph.terms.traverse import parts_first
from termgraph.terms.types import TensorType, Type

if TYPE_CHECKING:
    from termgraph.terms.term import AnyTerm

NAME = (str, type(None))


# ---------------------------------------------------------------------- where things were made
class Site:
    """The user's lines for something, as a record that many variables share."""

    __slots__ = ("frames",)

    def __init__(self, frames: tuple) -> None:
        self.frames = frames


def write_site(w: Writer, site: tuple) -> Any:
    """A record of the user's lines, one for each place."""
    if not site:
        return None
    known: dict[int, Any] = w.__dict__.setdefault("sites", {})
    found = known.get(id(site))
    if found is None:
        found = known[id(site)] = (site, Site(tuple(frames_of(site))))
    return w.number(found[1])


def read_site(r: Reader, number: object) -> tuple:
    """The lines of such a record."""
    return () if number is None else r.at(number, Site).frames


def _read_site(r: Reader, frames: object) -> Site:
    made = []
    for file, line, function, text in r.plain(frames, list):
        texts = [r.plain(part, str) for part in (file, function, text)]
        made.append((texts[0], r.plain(line, int), texts[1], texts[2]))
    return Site(tuple(made))


# ---------------------------------------------------------------------- variables
def _variable(w: Writer, v: Variable) -> list:
    """An input or a constant as itself; of what an op makes, first the nodes above, without recursion."""
    if v._owner is None:
        _leaf(w, v)
        return []
    unknown = lambda node: [i.owner for i in node.inputs if i._owner is not None and not w.knows(i.owner)]  # noqa: E731
    for node in parts_first([v.owner], unknown):
        _node(w, node)
    return []


def _leaf(w: Writer, v: Variable) -> None:
    if type(v) is not _class_of(v.term):
        raise BadRecord(f"a variable of the class {type(v).__qualname__} cannot be saved: {v}")
    w.add(v, "variable", w.number(v.term), *_manner(w, v))


def _manner(w: Writer, v: Variable) -> list:
    """Name, notes and line."""
    tags = None if v._tag is None else {k: t for k, t in vars(v._tag).items() if k != "trace"}
    return [v.name, w.number(tags) if tags else None, write_site(w, v.site)]


def _node(w: Writer, node: Apply) -> None:
    w.add(node, "node", w.number(node.op), w.numbers(node.inputs))
    for i, v in enumerate(node.outputs):
        w.add(v, "output", w.number(node), i, *_manner(w, v))


def _class_of(term: AnyTerm) -> type:
    usual = variable_class(Variable, term.type)
    if not hasattr(term, "value"):
        return usual
    return TensorConstant if isinstance(term.type, TensorType) else CONSTANTS.get(type(term.type), Constant)


def _read_variable(r: Reader, term: AnyTerm, *manner: Any) -> Variable:
    of = r.at(term, *TERMS)
    if getattr(of, "shared", None) is not None:
        raise BadRecord("a shared variable written as another variable")
    return _with_manner(r, bare(_class_of(of), of, None, ()), *manner)


def _with_manner(r: Reader, v: Variable, name: str | None, tags: object, site: object) -> Variable:
    v.name, v.site = r.plain(name, *NAME), read_site(r, site)
    if tags is not None:
        notes = r.at(tags, dict)
        if not all(isinstance(k, str) for k in notes):
            raise BadRecord("the notes of a variable have names")
        vars(v.tag).update(notes)
    return v


def _read_node(r: Reader, op: Op, inputs: object) -> list[Variable]:
    """The variables that a node makes."""
    head, operands = r.at(op, Op), tuple([r.at(i, Variable) for i in r.plain(inputs, list)])
    head.check_arity(len(operands))
    return results(head, operands, ())


def _read_output(r: Reader, node: object, i: Any, *manner: Any) -> Variable:
    outputs = r.at(node, list)
    if r.plain(i, int) not in range(len(outputs)) or not isinstance(outputs[i], Variable):
        raise BadRecord(f"a node has no output {i}")
    return _with_manner(r, outputs[i], *manner)


# ---------------------------------------------------------------------- shared variables
def _container(w: Writer, c: Container) -> list:
    manner = [c.name, c.strict, c.allow_downcast, c.readonly, c.target]
    return [w.number(c.type), w.value(on_host(c.storage[0])), *manner]


def _read_container(r: Reader, type_: object, value: object, *manner: Any) -> Container:
    name, strict, allow_downcast, readonly, target = manner
    of, held = r.at(type_, Type), r.value(value)
    made = Container(
        of, None, r.plain(name, *NAME), r.plain(strict, bool), r.plain(allow_downcast, bool, type(None)),
        r.plain(readonly, bool),
    )  # fmt: skip
    device_number(r.plain(target, str))  # refuses what is no target
    made.target = target
    if held is not None:
        made.storage[0] = made.filtered(held)
    return made


def _shared(w: Writer, v: Any) -> list:
    w.add(v, "shared", w.number(v.container), *_manner(w, v))
    if v.default_update is not None:  # an expression of the variable itself: written when it has its number

        def write_update(new: Any = v.default_update) -> None:
            w.add(object(), "default update", w.number(v), w.number(new))

        w.later.append(write_update)
    return []


def _read_shared(r: Reader, container: Any, *manner: Any) -> Any:
    return _with_manner(r, on_container(r.at(container, Container), r.plain(manner[0], *NAME), ()), *manner)


def _read_default_update(r: Reader, shared: object, new: object) -> None:
    v = r.at(shared)
    if not is_shared(v):
        raise BadRecord("a default update of something that is not a shared variable")
    v.default_update = r.at(new, Variable)


# ---------------------------------------------------------------------- ops made of functions, streams
def _function_op(w: Writer, op: FromFunctionOp) -> list:
    return [op.function.__module__, op.function.__qualname__, w.numbers(op.itypes), w.numbers(op.otypes)]


def _read_function_op(r: Reader, module: object, name: str | None, itypes: object, otypes: object) -> Any:
    found = read_named(r, module, name)
    if isinstance(found, FromFunctionOp):
        return found
    types = [[r.at(t, Type) for t in r.plain(ts, list)] for ts in (itypes, otypes)]
    return FromFunctionOp(found, *types)


def _stream(w: Writer, s: RandomStream) -> list:
    if type(s) not in (RandomStream, RandomStreams):
        raise BadRecord(f"a stream of the class {type(s).__qualname__} cannot be saved")
    seed, entropy, used = s.default_instance_seed, s._keys._entropy, s._keys._used
    return [isinstance(s, RandomStreams), seed, entropy, used, w.numbers(s._states)]


def _read_stream(
    r: Reader, theanos: object, seed: object, entropy: object, used: object, states: object
) -> RandomStream:
    made = (RandomStreams if r.plain(theanos, bool) else RandomStream)(r.plain(seed, int, type(None)))
    made._keys._entropy, made._keys._used = r.plain(entropy, int), r.plain(used, int)
    made._states = _shared_ones(r, states)
    return made


def _shared_ones(r: Reader, numbers: object) -> list:
    found: Sequence[Any] = [r.at(n) for n in r.plain(numbers, list)]
    if not all(is_shared(v) for v in found):
        raise BadRecord("the states of a stream are shared variables")
    return list(found)


def tensor_kinds() -> list[Kind]:
    """Variables, shared variables and what belongs to them."""
    shared = [SharedVariable, TensorSharedVariable, *SHARED_HANDLES.values()]
    return [
        Kind("site", (Site,), lambda w, site: [[list(frame) for frame in site.frames]], _read_site),
        Kind("variable", (Variable,), _variable, _read_variable),
        Kind("node", (), _variable, _read_node),
        Kind("output", (), _variable, _read_output),
        Kind("container", (Container,), _container, _read_container),
        Kind("shared", tuple(shared), _shared, _read_shared),
        Kind("default update", (), _shared, _read_default_update),
        Kind("generic type", (Generic,), lambda w, t: [], lambda r: Generic()),
        Kind("as_op", (FromFunctionOp,), _function_op, _read_function_op),
        Kind("random stream", (RandomStream,), _stream, _read_stream),
    ]
