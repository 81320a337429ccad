"""Records of types, ops and terms. Reading checks what an op's parameters could do: see `_checked_parameter`."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any

import numpy as np

from termgraph._lazy import lazy, pattern
from termgraph.terms import userop
from termgraph.terms.errors import CheckError
from termgraph.terms.leaves import Arg, Const, Input, Leaf
from termgraph.terms.op import ARG, INPUT, OPS, Op, find_op
from termgraph.terms.records import BadRecord, Kind, Reader, Writer
from termgraph.terms.sparse import FORMATS, SparseType, is_sparse_value, matrix_of
from termgraph.terms.term import AnyTerm, Term, mk
from termgraph.terms.traverse import children_first, parts_first
from termgraph.terms.types import TensorType, TupleType, Type

sparse = lazy("scipy.sparse")

TERMS = (Term, Leaf)
# Texts that only people read; every other text among parameters is a word, such as a dtype or a name of a method.
_FREE_TEXT = ("message", "name")
_OTHER_WORDS = {
    "index": pattern(r"[a-z?]\Z"),  # "?" stands for an operand
    "told": pattern(r"[^{}]*(\{[01]\}[^{}]*)*\Z"),  # filled in with two numbers, as they are
}
_SHOWN = ("__str__", "__repr__")
_WORD = pattern(r"[A-Za-z0-9_|.]*\Z")


def library_names() -> dict[tuple[str, str], Any]:
    """What every file may name: the exceptions that checks raise."""
    found = {
        ("builtins", name): e
        for name, e in vars(builtins).items()
        if isinstance(e, type) and issubclass(e, Exception) and e.__name__ == name
    }
    return found | {(e.__module__, e.__name__): e for e in (CheckError, np.linalg.LinAlgError)}


# ---------------------------------------------------------------------- types


def _read_tensor_type(r: Reader, dtype: str, shape: list[Any]) -> TensorType:
    return TensorType(r.plain(dtype, str), shape=_lengths(r, shape))


def _lengths(r: Reader, shape: list[Any]) -> tuple[Any, ...]:
    return tuple([r.plain(n, int, type(None)) for n in r.plain(shape, list)])


def _read_sparse_type(r: Reader, format: Any, dtype: np.dtype | str, shape: Any) -> SparseType:
    return SparseType(r.plain(format, str), r.plain(dtype, str), _lengths(r, shape))


def _read_tuple_type(r: Reader, types: object) -> TupleType:
    return TupleType([r.at(n, Type) for n in r.plain(types, list)])


def _other_type(w: Writer, t: Type) -> list[Any]:
    """A type of the user's: its class and attributes."""
    return [w.number(type(t)), w.number(dict(getattr(t, "__dict__", {})))]


def _read_other_type(r: Reader, cls: object, state: object) -> Type:
    found, attributes = r.at(cls, type), r.at(state, dict)
    if not issubclass(found, Type):
        raise BadRecord(f"{found.__qualname__} is no Type")
    made: Type = object.__new__(found)
    _set_attributes(made, attributes)
    return made


def _set_attributes(made: object, attributes: dict[str, Any]) -> None:
    """Give a new object attributes from a file, none of which its class defines: no method is replaced."""
    for key in attributes:
        if not isinstance(key, str) or not key.isidentifier() or hasattr(type(made), key):
            raise BadRecord(f"{type(made).__qualname__} may not get an attribute {key!r:.40} from a file")
    made.__dict__.update(attributes)


# ---------------------------------------------------------------------- ops
def _op(w: Writer, op: Op) -> list[Any]:
    if OPS.get(op.family.name) is not op.family:
        return _user_op(w, op)
    defaults = op.family.defaults
    return [op.family.name, [[k, w.value(v)] for k, v in op.params.items() if v is not defaults[k]]]


def _user_op(w: Writer, op: Op) -> list[Any]:
    names = getattr(type(op), "__props__", None)
    if names is None:
        raise BadRecord(
            f"the op {op} cannot be saved: files keep ops of yours by the values of __props__, which "
            f"{type(op).__qualname__} does not declare"
        )
    props = {name: getattr(op, name) for name in names}
    if not _same(op, props):
        raise BadRecord(
            f"the op {op} cannot be saved: {type(op).__qualname__}({', '.join(f'{n}=...' for n in names)}) must make "
            "an equal op, as reading the file does; give the constructor the names in __props__"
        )
    one = userop.canonical(op)
    if not w.knows(one):
        w.add(one, "user op", w.number(type(op)), w.number(props))
    if one is not op:
        w.same(op, one)
    return []


def _same(op: Op, props: dict[str, Any]) -> bool:
    try:
        return bool(type(op)(**props) == op)
    except Exception:  # the constructor is the user's: whatever it objects to, it cannot be used
        return False


def _read_op(r: Reader, name: str | None, parameters: object) -> Op:
    params = {}
    for key, field in r.plain(parameters, list):
        params[r.plain(key, str)] = _checked_parameter(key, r.value(field))
    op = find_op(r.plain(name, str), tuple(params.items()))
    if op.lvars:
        raise BadRecord(f"{name} has logic variables among its parameters")
    if "body" in params:
        _check_closed(op.params)
    return op


def _read_user_op(r: Reader, cls: object, props: object) -> Op:
    found, values = r.at(cls, type), r.at(props, dict)
    if not issubclass(found, Op) or set(values) != set(getattr(found, "__props__", ())):
        raise BadRecord(f"{found.__qualname__} is no op with the properties {list(values)}")
    op: Op = found(**values)
    return userop.canonical(op)


def _checked_parameter(key: str, value: object) -> Any:
    """A parameter from a file. Texts that could reach generated code, or name attributes, must be plain words."""
    if isinstance(value, str) and key not in _FREE_TEXT and not _OTHER_WORDS.get(key, _WORD).match(value):
        raise BadRecord(f"the parameter {key} is {value!r:.60}, which is no word")
    if isinstance(value, (tuple, list)):
        for part in value:
            _checked_parameter(key, part)
    if key == "attributes" and isinstance(value, str) and value.startswith("_") and value not in _SHOWN:
        raise BadRecord(f"an attribute to print is private: {value!r:.60}")
    return value


def _check_closed(params: Mapping[str, Any]) -> None:
    """A body may mention the arguments it declares, of the types it declares, and nothing else from outside."""
    check_arguments(params["body"], params["takes"])


def check_arguments(roots: list[Any], types: list[Any]) -> None:
    """Refuse a graph that has other arguments than those of these types, or inputs."""
    for t in children_first(list(roots)):
        if t.op is INPUT or (t.op is ARG and not (t.index < len(types) and types[t.index] is t.type)):
            raise BadRecord(f"a closed graph has the leaf {t!r:.40}, which is not among its arguments")


# ---------------------------------------------------------------------- terms
def _term(w: Writer, root: Term) -> list[Any]:
    """All terms below that have no record yet, arguments first, without recursion; then this one."""
    for t in parts_first([root], lambda t: [a for a in t.args if a.__class__ is Term and not w.knows(a)]):
        if t.lvars:
            raise BadRecord(f"a pattern cannot be saved: {t!r:.60}")
        w.add(t, "term", w.number(t.op), *w.numbers(t.args))
    return []


def _read_term(r: Reader, op: object, *args: object) -> AnyTerm:
    head = r.at(op, Op)
    operands = tuple([r.at(a, *TERMS) for a in args])
    head.check_arity(len(operands))
    return mk(head, operands)


def _input(w: Writer, leaf: Input) -> list[Any]:
    if leaf.bound is not None:
        w.same(leaf, leaf.bound)
        return []
    if leaf.shared is not None:
        w.add(leaf, "leaf", w.number(leaf.shared))
        return []
    return [leaf.name, w.number(leaf.type), leaf.uid[0].hex(), leaf.uid[1]]


def _read_input(r: Reader, name: str | None, type_: Type, process: object, serial: object) -> Input:
    uid = (bytes.fromhex(r.plain(process, str)), r.plain(serial, int))
    leaf = Input(r.plain(name, str, type(None)), r.at(type_, Type), uid)
    if leaf.shared is not None or leaf.type != r.at(type_):  # it exists in this process
        raise BadRecord(f"the input {name!r:.40} is another one in this process")
    return leaf


def _read_leaf(r: Reader, shared: object) -> Any:
    leaf = r.at(shared).term
    if leaf.op is not INPUT or leaf.shared is not r.at(shared):
        raise BadRecord("no shared variable")
    return leaf


def _read_arg(r: Reader, index: Any, type_: TensorType) -> Arg:
    if r.plain(index, int) < 0:
        raise BadRecord(f"an argument has number {index}")
    return Arg(index, r.at(type_, Type))


def _const(w: Writer, leaf: Const) -> list[Any]:
    return [w.value(leaf.value), None if isinstance(leaf.type, TensorType) else w.number(leaf.type)]


def _read_const(r: Reader, value: list[Any], type_: Type | None) -> Const:
    if type_ is None:
        return Const(r.value(value))
    of = r.at(type_, Type)
    return Const(of.filter(r.value(value)), None, of)


# ---------------------------------------------------------------------- sparse matrices
def _sparse(w: Writer, m: Any) -> list[Any]:
    if m.format not in FORMATS or m.ndim != 2:
        raise BadRecord(f"a sparse matrix of format {m.format!r} cannot be saved; the formats are csr and csc")
    is_array = type(m).__name__.endswith("_array")
    return [m.format, is_array, list(map(int, m.shape)), *w.numbers([m.data, m.indices, m.indptr])]


def _three(r: Reader, *arrays: object) -> tuple[Any, Any, Any]:
    data, indices, indptr = [r.at(a, np.ndarray) for a in arrays]
    return data, indices, indptr


def _read_sparse(
    r: Reader, format: object, is_array: object, shape: Any, data: object, indices: object, indptr: object
) -> Any:
    if format not in FORMATS:
        raise BadRecord(f"no sparse matrix: {format!r:.40}")
    rows, columns = _lengths(r, shape)
    made = matrix_of(format, *_three(r, data, indices, indptr), (rows, columns))
    made.check_format(full_check=True)  # indices beyond the shape would be followed without a check
    if not is_array:
        return made
    return sparse.csr_array(made) if format == "csr" else sparse.csc_array(made)


def graph_kinds() -> list[Kind]:
    """Types, ops, terms and sparse matrices."""
    return [
        Kind("type", (TensorType,), lambda w, t: [t.dtype, list(t.shape)], _read_tensor_type),
        Kind("sparse type", (SparseType,), lambda w, t: [t.format, t.dtype, list(t.shape)], _read_sparse_type),
        Kind("tuple type", (TupleType,), lambda w, t: [w.numbers(t.types)], _read_tuple_type),
        Kind("user type", (Type,), _other_type, _read_other_type),
        Kind("op", (Op,), _op, _read_op),
        Kind("user op", (), _user_op, _read_user_op),
        Kind("term", (Term,), _term, _read_term),
        Kind("input", (Input,), _input, _read_input),
        Kind("leaf", (), _input, _read_leaf),
        Kind("arg", (Arg,), lambda w, leaf: [leaf.index, w.number(leaf.type)], _read_arg),
        Kind("const", (Const,), _const, _read_const),
        Kind("sparse", (), _sparse, _read_sparse, suits=is_sparse_value),
    ]
