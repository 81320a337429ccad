"""A graph as JSON and the bytes of its constants. Reading it builds terms of the library's ops, and runs nothing.

What only this process knows (ops written in Python, arbitrary objects as parameters) cannot be written; bodies of loops
neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from termgraph._lazy import lazy
from termgraph.terms.digest import NoName
from termgraph.terms.dtypes import dtype_text, numpy_dtype
from termgraph.terms.op import ARG, CONST, OPS, Op
from termgraph.terms.term import AnyTerm, Arg, Const, Leaf, Term, mk
from termgraph.terms.traverse import children_first
from termgraph.terms.types import TensorType

base64 = lazy("base64")


def to_plain(roots: Sequence[Any], most: int = 1 << 62) -> dict[str, Any]:
    """What `from_plain` makes the graph under the roots of, ready for JSON; NoName if that cannot be said.

    A graph with more than `most` bytes of constants is refused too.

    >>> from termgraph.terms.ops.elementwise import add, exp
    >>> x = Arg(0, TensorType("float64", (None,)))
    >>> from_plain(to_plain([exp(add(x, 1.0))]))[0] is exp(add(x, 1.0))
    True
    """
    order = children_first(roots)
    size = sum(t.value.nbytes for t in order if t.op is CONST and isinstance(t.type, TensorType))
    if size > most:
        raise NoName(f"it holds {size >> 20} MB of constants")
    number = {id(t): i for i, t in enumerate(order)}
    heads: dict[Any, int] = {}
    nodes: list[Any] = []
    for t in order:
        if t.__class__ is Term:
            nodes.append([heads.setdefault(t.op, len(heads)), *[number[id(a)] for a in t.args]])
        else:
            nodes.append(_leaf(t))
    return {"heads": list(map(_head, heads)), "nodes": nodes, "roots": [number[id(r)] for r in roots]}


def from_plain(graph: dict[str, Any]) -> list[Any]:
    """The roots of a graph. What is not one raises ValueError, KeyError, TypeError or IndexError."""
    heads = [OPS[name].bind(**{k: _read(v) for k, v in params}) for name, params in graph["heads"]]
    terms: list[Any] = []
    for node in graph["nodes"]:
        if isinstance(node, dict):
            terms.append(_read_leaf(node))
        else:
            terms.append(mk(heads[node[0]], tuple([terms[i] for i in node[1:]])))
    return [terms[r] for r in graph["roots"]]


def _leaf(t: Any) -> dict[str, Any]:
    if not isinstance(t.type, TensorType) or t.op not in (ARG, CONST):
        raise NoName(f"the leaf {t!r:.40} of type {t.type} exists in this process only")
    if t.op is ARG:
        return {"arg": t.index, "dtype": t.type.dtype, "shape": list(t.type.shape)}
    return {"const": _bytes(t.value.tobytes()), "dtype": dtype_text(t.value.dtype), "shape": list(t.value.shape)}


def _read_leaf(leaf: dict[str, Any]) -> AnyTerm:
    shape = tuple(leaf["shape"])
    if "arg" in leaf:
        return Arg(leaf["arg"], TensorType(leaf["dtype"], shape))
    return Const(np.frombuffer(base64.b64decode(leaf["const"]), numpy_dtype(leaf["dtype"])).reshape(shape))


def _head(op: Op) -> list[Any]:
    name = op.family.name
    if OPS.get(name) is not op.family:
        raise NoName(f"the op {name} is not one of the library's")
    return [name, [[k, _plain(v, op)] for k, v in op.params.items()]]


def _plain(value: object, op: Op) -> Any:
    """A parameter; what JSON does not tell apart is put in a list behind its kind."""
    if value is None or isinstance(value, (bool, str)) or value.__class__ is int:
        return value
    if isinstance(value, (tuple, list)) and not any(isinstance(v, (Term, Leaf)) for v in value):
        return [type(value).__name__, *[_plain(v, op) for v in value]]
    if isinstance(value, slice):
        return ["slice", *[_plain(v, op) for v in (value.start, value.stop, value.step)]]
    if isinstance(value, TensorType):
        return ["type", value.dtype, list(value.shape)]
    if isinstance(value, np.dtype):
        return ["dtype", dtype_text(value)]
    if isinstance(value, (float, complex, np.generic)):
        of = dtype_text(value.dtype) if isinstance(value, np.generic) else type(value).__name__
        return ["number", of, _bytes(np.asarray(value).tobytes())]
    raise NoName(f"a parameter of {op!r:.40} is a {type(value).__name__}")


def _read(value: object) -> Any:
    if not isinstance(value, list):
        return value
    kind, *parts = value
    if kind == "type":
        return TensorType(parts[0], tuple(parts[1]))
    if kind == "dtype":
        return numpy_dtype(parts[0])
    if kind == "number":
        return _number(*parts)
    values = [_read(p) for p in parts]
    if kind == "slice":
        return slice(*values)
    return values if kind == "list" else {"tuple": tuple}[kind](values)


def _number(of: str, content: str) -> Any:
    python = {"float": "f8", "complex": "c16"}.get(of)
    found = np.frombuffer(base64.b64decode(content), numpy_dtype(python or of))[0]
    return found.item() if python else found


def _bytes(content: bytes) -> str:
    return str(base64.b64encode(content), "ascii")
