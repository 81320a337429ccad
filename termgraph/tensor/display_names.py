"""Short names of variables, ops and applications, in termgraph's own style and in the seeds' ("theano") style.

`config.print.style` chooses; `style=` overrides.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from termgraph.config import config
from termgraph.terms.op import CONST, Op, index_text
from termgraph.terms.text import one_line
from termgraph.terms.types import TensorType, Type, short_name

_THEANO_ELEMENTWISE = {"abs": "abs_", "round": "round_half_to_even", "switch": "Switch", "reciprocal": "inv"}
_THEANO_NAMES = {
    "sum": "Sum", "prod": "Prod", "max": "MaxAndArgmax", "min": "Min", "any": "Any", "all": "All", "reshape": "Reshape",
    "alloc": "Alloc", "join": "Join", "subtensor": "Subtensor", "set_subtensor": "IncSubtensor", "shape_i": "Shape_i",
    "inc_subtensor": "IncSubtensor", "gather": "AdvancedSubtensor", "dot": "dot", "matmul": "BatchedDot",
    "softmax": "Softmax", "log_softmax": "LogSoftmax", "arange": "ARange", "eye": "Eye", "make_vector": "MakeVector",
}  # fmt: skip


def print_style(style: str | None = None) -> str:
    """The style asked for, or the configured one: "default" or "theano"."""
    style = style or config.print.style
    if style not in ("default", "theano"):
        raise ValueError(f"unknown print style {style!r}; choose 'default' or 'theano'")
    return style


def short_repr(v: Any, style: str | None = None) -> str:
    """A variable in a few characters: its name, its constant value, `op.0`, or its type."""
    if v.name:
        return v.name
    if v.term.op is CONST:
        return constant_text(v)
    if v._owner is not None:
        return f"{applied_name(v.owner, style)}.{v.index}"
    return f"<{type_name(v.type, style)}>"


def long_repr(v: Any) -> str:
    """What the prompt shows: the expression, cut where it gets long; names and constants as in `short_repr`."""
    if v.name or v._owner is None or print_style() == "theano":
        return short_repr(v)
    return one_line(v.term, limit=160, axes=False)


def type_name(type_: Type, style: str | None = None) -> str:
    """A type as printed: `TensorType(float64, (?, ?))`, or `TensorType(float64, matrix)` in the seeds' style."""
    return short_name(type_) if print_style(style) == "theano" else repr(type_)


def constant_text(v: Any, ndim: int | None = None) -> str:
    """`TensorConstant{2.0}`, `TensorConstant{(3,) of 1.0}`; `ndim` shows it broadcast to that rank."""
    if not isinstance(v.type, TensorType):
        return f"Constant{{{v.term.value!r}}}"
    value = v.term.value
    if ndim is not None and value.ndim < ndim:
        value = value.reshape((1,) * (ndim - value.ndim) + value.shape)
    if value.ndim == 0:
        return f"TensorConstant{{{value.item()}}}"
    if v.term.scalar is not None:
        return f"TensorConstant{{{value.shape} of {v.term.scalar}}}"
    text = np.array2string(value, threshold=6, edgeitems=2, separator=" ").replace("\n", "")
    return f"TensorConstant{{{text}}}"


def applied_name(node: Any, style: str | None = None) -> str:
    """The op of an Apply node as printed."""
    return op_name(node.op, style, node.inputs[0].type.ndim if node.inputs else None)


def op_name(op: Any, style: str | None = None, ndim: int | None = None) -> str:
    """The op as printed; `ndim` is the rank of its operand, if known: a reduction of all axes does not list them."""
    if print_style(style) == "theano":
        return theano_op_name(op, ndim)
    if op.name == "dimshuffle":
        return f"dimshuffle{{{_order_text(op)}}}"
    return repr(op)


def _order_text(op: Op) -> str:
    return ",".join(map(str, op.params["order"]))


def theano_op_name(op: Any, ndim: int | None = None) -> str:
    """The op's name in Theano's printouts: `Elemwise{mul,no_inplace}`, `Sum{acc_dtype=float64}`."""
    if op.kind == "elementwise" and op.name != "cast":
        return f"Elemwise{{{_THEANO_ELEMENTWISE.get(op.name, op.name)},no_inplace}}"
    if op.name == "cast":
        return f"Elemwise{{Cast{{{op.params['dtype']}}}}}"
    if op.name == "dimshuffle":
        return f"InplaceDimShuffle{{{_order_text(op)}}}"
    name = _THEANO_NAMES.get(op.name, op.name)
    if op.name in ("sum", "prod"):
        return f"{name}{{{_reduction_params(op, ndim)}}}"
    if op.name in ("set_subtensor", "inc_subtensor"):
        mode = "Set" if op.name == "set_subtensor" else "Inc"
        return f"{name}{{{mode};{index_text(op.params['index'])}}}"
    if op.name == "subtensor":
        return f"{name}{{{index_text(op.params['index'])}}}"
    shown = ", ".join(f"{k}={v!r}" for k, v in op.params.items() if v != op.defaults[k])
    return f"{name}{{{shown}}}" if shown else name


def _reduction_params(op: Op, ndim: int | None) -> str:
    axis, dtype = op.params.get("axis"), op.params.get("dtype")
    parts = [] if axis is None or len(axis) == ndim else [f"axis={list(axis)}"]
    return ", ".join([*parts, f"acc_dtype={dtype}"])


def apply_text(node: Any, style: str | None = None) -> str:
    """`add(x, y)`: an application with its inputs' short names; a constant is shown without its new dimensions."""
    names = [short_repr(_constant_inside(v) if print_style(style) != "theano" else v, style) for v in node.inputs]
    return f"{applied_name(node, style)}({', '.join(names)})"


def _constant_inside(v: Any) -> Any:
    spread = v.owner is not None and v.owner.op.name == "dimshuffle" and v.owner.inputs[0].term.op is CONST
    return v.owner.inputs[0] if spread else v
