"""A name for a closed graph: equal graphs have equal digests in every process, whatever their inputs are called.

Leaves count by position and type, constants by content. What is only known to this process (ops written in Python,
parameters that are arbitrary objects) has no name.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from termgraph._blake import blake2b
from termgraph.terms.op import ARG, CONST, OPS, Op
from termgraph.terms.serial import flat_parts
from termgraph.terms.term import AnyTerm, Leaf, Term
from termgraph.terms.types import TensorType, TupleType, Type


class NoName(Exception):
    """Why a graph cannot be told from others by a text, in words that end a sentence."""


def graph_digest(roots: Sequence[Any]) -> str:
    """40 hex digits for what the roots compute from the `Arg` leaves; NoName if that cannot be said.

    >>> from termgraph.terms.ops.elementwise import add, exp
    >>> from termgraph.terms.term import Arg
    >>> x, y = Arg(0, TensorType("float64", (None,))), Arg(1, TensorType("float64", (None,)))
    >>> graph_digest([add(x, y)]) == graph_digest([add(x, y)]) != graph_digest([add(y, x)])
    True
    """
    heads, leaves, numbers, _, stream = flat_parts(roots)
    text = "\n".join(["graph", *map(_op_text, heads), "leaves", *map(_leaf_text, leaves)])
    return blake2b(text.encode() + b"\0" + stream + array("q", numbers).tobytes(), digest_size=20).hexdigest()


def _leaf_text(t: Any) -> str:
    if t.op is ARG:
        return f"arg {t.index} {_text(t.type, t)}"
    if t.op is CONST and isinstance(t.type, TensorType):
        content = t.value.tobytes()
        return f"const {_text(t.type, t)} {blake2b(content, digest_size=20).hexdigest()}"
    raise NoName(f"the leaf {t!r:.40} of type {t.type} exists in this process only")


def _op_text(op: Op) -> str:
    """An op of the library with its parameters."""
    name: str = op.family.name
    if OPS.get(name) is not op.family:
        raise NoName(f"the op {name} is not one of the library's")
    return " ".join([name, *(f"{k}={_text(v, op)}" for k, v in op.params.items())])


def _text(value: object, where: AnyTerm | Op) -> str:
    """A parameter as text that no other value shares."""
    if value is None or isinstance(value, (bool, int, str, bytes, slice)):
        return repr(value)
    if isinstance(value, (float, complex)):
        return f"{type(value).__name__}:{np.asarray(value).tobytes().hex()}"
    if isinstance(value, np.generic):
        return f"{value.dtype.name}:{value.tobytes().hex()}"
    if isinstance(value, TensorType):
        return f"{value.dtype}{value.shape}"
    if isinstance(value, (tuple, list, TupleType)):
        parts = value.types if isinstance(value, TupleType) else value
        if any(isinstance(p, (Term, Leaf)) for p in parts):  # the body of a loop or call
            return f"graph:{graph_digest(parts)}"
        return f"({', '.join([_text(p, where) for p in parts])})"
    if isinstance(value, np.dtype):
        return value.str
    if isinstance(value, Op):
        return f"op:{_op_text(value)}"
    kind = "a type written in Python" if isinstance(value, Type) else f"a {type(value).__name__}"
    raise NoName(f"a parameter of {where!r:.40} is {kind}")
