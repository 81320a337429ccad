"""Members that Theano's ops, types, variables and profiles have and termgraph's have under other names, or not at all.

Attached when `termgraph.theano` is first used. They are looked up after an object's own attributes, so that ops written
by users keep theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import termgraph.tensor as T
from termgraph.function import FunctionGraph
from termgraph.tensor.likes import TensorLike
from termgraph.terms.op import Op
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.types import TensorType
from termgraph.theano.language import get_scalar_constant_value
from termgraph.vm.profile import Profile


class View:
    """An attribute that is worked out where an object has none of its own; AttributeError where it makes no sense."""

    def __init__(self, work_out: Callable[[Any], Any]) -> None:
        self.work_out = work_out

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, obj: object, cls: Any = None) -> Any:
        if obj is None:
            return self
        found = self.work_out(obj)
        if found is NotImplemented:
            raise AttributeError(f"{type(obj).__name__} object has no attribute {getattr(self, 'name', '')!r}")
        return found


def _parameter(name: str, *ops: str) -> Callable[[Any], Any]:
    def work_out(op: Op) -> Any:
        return op.params[name] if name in op.params and (not ops or op.family.name in ops) else NotImplemented

    return work_out


def _scalar_op(op: Op) -> Any:
    """An op element by element is its own op for numbers; a reduction has the one it adds up by."""
    if op.kind == "elementwise":
        return op.family if op.name != "cast" else op
    folded = {"sum": ew.add, "prod": ew.mul, "max": ew.maximum, "min": ew.minimum, "all": ew.bitwise_and,
              "any": ew.bitwise_or}  # fmt: skip
    return folded.get(op.family.name, NotImplemented)


def _convolution(name: str) -> Callable[[Any], Any]:
    return lambda op: op.params[name] if op.kind == "conv" else NotImplemented


OPS: dict[str, Callable[[Any], Any]] = {
    "scalar_op": _scalar_op,
    "new_order": _parameter("order", "dimshuffle"),
    "axis": _parameter("axis"),
    "idx_list": _parameter("index"),
    "acc_dtype": _parameter("dtype", "sum", "prod"),
    "subsample": _convolution("stride"),
    "border_mode": _convolution("border"),
    "filter_flip": _convolution("flip"),
    "filter_dilation": _convolution("dilation"),
    "num_groups": _convolution("groups"),
    "set_instead_of_inc": lambda op: {
        "set_subtensor": True,
        "scatter_set": True,
        "inc_subtensor": False,
        "scatter_add": False,
    }.get(op.family.name, NotImplemented),  # fmt: skip
}


def _dtype_specs(type_: TensorType) -> Callable[[], tuple]:
    """Type of Python, of C, and the name of NumPy's number, as C code of ops asks for them."""
    letters = {"float32": "NPY_FLOAT32", "float64": "NPY_FLOAT64", "bool": "NPY_BOOL", "complex64": "NPY_COMPLEX64"}
    kinds = {"f": float, "i": int, "u": int, "b": bool, "c": complex}
    number = letters.get(type_.dtype, f"NPY_{type_.dtype.upper()}")
    return lambda: (kinds[type_.kind], f"npy_{type_.dtype}", number)


TYPES: dict[str, Callable[[Any], Any]] = {
    "dtype_specs": _dtype_specs,
    "name": lambda type_: None,
    "sparse_grad": lambda type_: False,
    "numpy_dtype": lambda type_: type_.np_dtype,
    "c_element_type": lambda type_: lambda: f"npy_{type_.dtype}",
    "values_eq_enc": lambda type_: type_.values_eq,
    "filter_variable": lambda type_: lambda other, allow_convert=True: _as_type(type_, other),
    "convert_variable": lambda type_: lambda v: v if type_.accepts(v.type) else None,
    "is_super": lambda type_: type_.accepts,
    "make_constant": lambda type_: lambda value, name=None: T.Constant(type_, value, name),
    "Variable": lambda type_: T.TensorVariable,
    "Constant": lambda type_: T.TensorConstant,
}


def _as_type(type_: TensorType, other: object) -> Any:
    found = other if isinstance(other, T.Variable) else T.Constant(type_, type_.filter(other, allow_downcast=True))
    if not type_.accepts(found.type):
        if found.ndim == type_.ndim and found.dtype == type_.dtype:
            return T.patternbroadcast(found, type_.broadcastable)
        raise TypeError(f"{found} of type {found.type} cannot be made {type_}")
    return found


PROFILES: dict[str, Callable[[Any], Any]] = {
    "fct_callcount": lambda p: p.calls,
    "fct_call_time": lambda p: p.seconds,
    "vm_call_time": lambda p: p.seconds,
    "compile_time": lambda p: sum(p.stages.values()),
    "optimizer_time": lambda p: sum(v for k, v in p.stages.items() if k in ("canonicalize", "stabilize", "specialize")),
    "linker_time": lambda p: p.stages.get("link", 0.0),
    "message": lambda p: p.name,
}


def zero(self: Any, borrow: bool = False) -> None:
    """Make the elements of a shared variable zero."""
    self.set_value(0 * self.get_value(borrow=True), borrow=True)


def _replace_all(graph: Any, pairs: Any, reason: Any = None) -> None:
    for old, new in pairs:
        graph.replace(old, new, reason)


METHODS: dict[Any, dict[str, Any]] = {
    T.TensorVariable: {
        "copy": lambda self, name=None: T.specify_shape(self, *self.type.shape),
        "inv": lambda self: T.reciprocal(self),
        "get_scalar_constant_value": lambda self: _constant(self),
        "diff": lambda self, n=1, axis=-1: T.diff(self, n, axis),
        "trace": lambda self: T.diagonal(self).sum(),
        "nonzero_values": lambda self: T.nonzero_values(self),
        "conjugate": lambda self: T.conj(self),
        "as_type": lambda self, dtype: T.cast(self, dtype),
    },
    T.SharedVariable: {"zero": zero},
    FunctionGraph: {
        "replace_all": _replace_all,
        "replace_all_validate": _replace_all,
        "replace_validate": lambda self, old, new, reason=None: self.replace(old, new, reason),
        "attach_feature": lambda self, feature: None,
        "remove_feature": lambda self, feature: None,
        "validate": lambda self: None,
        "check_integrity": lambda self: None,
        "disown": lambda self: None,
        "collect_callbacks": lambda self, name, *args: {},
    },
}


def _constant(v: TensorLike) -> Any:
    return get_scalar_constant_value(v)


def attach() -> None:
    """Give the classes these members, where they have none of that name."""
    for cls, table in ((Op, OPS), (TensorType, TYPES), (Profile, PROFILES)):
        for name, work_out in table.items():
            if not hasattr(cls, name):
                view = View(work_out)
                view.name = name
                setattr(cls, name, view)
    for cls, methods in METHODS.items():
        for name, method in methods.items():
            if not hasattr(cls, name):
                setattr(cls, name, method)


attach()
