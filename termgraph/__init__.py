"""termgraph: a compiler for mathematical expressions over arrays, built as a term-rewriting engine.

This file holds the public names and nothing else. Most of them are looked up when they are first used (`_LATER`), so
that a program that only builds and calls functions does not wait for the rule library, gradients or debuggers.
"""

import functools as _functools
import sys as _sys
from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

# The object, not the module of the same name: `tg.config.floatX` and `from termgraph import config` are the flags.
# Likewise `tg.function` and `tg.grad` are the functions.
from termgraph._collector import paused_gc as _paused_gc

with _paused_gc():  # modules are no cycles to be found: a twentieth of the import was looking for them
    # the room itself, so that a later import of it cannot put it in the function's place
    import termgraph.grad as _grad
    from termgraph import _rulelib, sparse
    from termgraph.config import config
    from termgraph.function import (
        Function,
        FunctionGraph,
        FunctionMaker,
        In,
        Mode,
        OpFromGraph,
        Out,
        evaluate,
        function,
        get_mode,
        rebuild_collect_shared,
        register_mode,
    )
    from termgraph.tensor import running as _running
    from termgraph.tensor.checks import Assert, CheckAndRaise
    from termgraph.tensor.graph import clone, equal_computations
    from termgraph.tensor.protocols import ABOVE as _ABOVE
    from termgraph.tensor.sharedvar import SharedVariable, shared
    from termgraph.tensor.userop import as_op
    from termgraph.tensor.variable import Apply, Constant, Variable
    from termgraph.terms.errors import MissingInputError, UnusedInputError
    from termgraph.terms.op import Op
    from termgraph.terms.term import Term as _Term
    from termgraph.terms.types import TensorType, Type

if _TYPE_CHECKING:
    from termgraph import db, dist, optim, printing, rules, train
    from termgraph.accuracy.accurate import accurate
    from termgraph.db import rewrite
    from termgraph.debug import DebugMode, MonitorMode, NanGuardMode, PdbBreakpoint, eval_intermediate_values
    from termgraph.function.cop import COp
    from termgraph.function.files import load, save
    from termgraph.function.jit import jit
    from termgraph.function.verify import verify_grad
    from termgraph.grad.api import grad
    from termgraph.grad.checkpoint import checkpoint
    from termgraph.grad.functions import eval_shape, jvp, linearize, vjp
    from termgraph.grad.marks import (
        consider_constant,
        disconnected_grad,
        grad_clip,
        grad_reverse,
        grad_scale,
        undefined_grad,
        zero_grad,
    )
    from termgraph.grad.products import Lop, Rop, hessian, hessian_vector_product, jacobian, subgraph_grad
    from termgraph.grad.user_defined import DisconnectedType, grad_not_implemented, grad_undefined
    from termgraph.grad.values import value_and_grad
    from termgraph.loops import scan_module
    from termgraph.loops.ifelse import ifelse
    from termgraph.loops.loop import loop
    from termgraph.loops.scan import scan
    from termgraph.loops.simple_loops import foldl, foldr, map, reduce, scan_checkpoints
    from termgraph.loops.steps import until
    from termgraph.loops.vmap import vmap
    from termgraph.printing import debugprint, dprint, pp

_LATER = {
    "termgraph.accuracy.accurate": "accurate",
    "termgraph.db": "rewrite",
    "termgraph.debug": "DebugMode MonitorMode NanGuardMode PdbBreakpoint eval_intermediate_values",
    "termgraph.function.cop": "COp",
    "termgraph.function.files": "load save",
    "termgraph.function.jit": "jit",
    "termgraph.function.verify": "verify_grad",
    "termgraph.grad.api": "grad",
    "termgraph.grad.checkpoint": "checkpoint",
    "termgraph.grad.functions": "eval_shape jvp linearize vjp",
    "termgraph.grad.marks": "consider_constant disconnected_grad grad_clip grad_reverse grad_scale undefined_grad "
    "zero_grad",
    "termgraph.grad.user_defined": "DisconnectedType grad_not_implemented grad_undefined",
    "termgraph.grad.values": "value_and_grad",
    "termgraph.grad.products": "Lop Rop hessian hessian_vector_product jacobian subgraph_grad",
    "termgraph.loops": "scan_module",
    "termgraph.loops.ifelse": "ifelse",
    "termgraph.loops.loop": "loop",
    "termgraph.loops.scan": "scan",
    "termgraph.loops.steps": "until",
    "termgraph.loops.simple_loops": "foldl foldr map reduce scan_checkpoints",
    "termgraph.loops.vmap": "vmap",
    "termgraph.printing": "debugprint dprint pp",
}
_MODULE_OF = {name: module for module, names in _LATER.items() for name in names.split()}
_ROOMS = (
    "backends", "db", "debug", "dist", "gof", "graph", "loops", "lower", "optim", "printing", "rules", "sympy",
    "theano", "train", "viz", "vm",
)  # fmt: skip


def __getattr__(name: str) -> _Any:
    if name in _ROOMS:
        return _import_module(f"termgraph.{name}")
    if name not in _MODULE_OF:
        # with the name and the module Python adds "Did you mean ...?"
        text = f"module 'termgraph' has no attribute {name!r}"
        written = _import_module("termgraph.tensor.elsewhere").at_the_top(name)
        text += f"; write {written}" if written else ""
        raise AttributeError(text, name=name, obj=_sys.modules[__name__])
    module = _import_module(_MODULE_OF[name])
    found = globals()[name] = getattr(module, name, None) or _import_module(f"{_MODULE_OF[name]}.{name}")
    return found


def __dir__() -> list[str]:
    return sorted({*__all__, *_ROOMS, "tensor"})


def _debug_mode(name: str) -> _Any:
    return lambda: __getattr__(name)()


def _mapping(name: str) -> _Any:
    return getattr(_import_module("termgraph.loops.mapping"), name)


def _notebook(kind: str) -> _Any:
    """What notebooks show for an object; the pictures are imported when one does."""

    def shown(self: _Any) -> _Any:
        return getattr(_import_module("termgraph.viz.notebook"), kind)(self)

    return shown


def _show_in_notebooks(*classes: _Any) -> None:
    for made in classes:
        made._repr_html_ = _notebook("html")
        made._repr_svg_ = _notebook("svg")


_show_in_notebooks(Variable, Apply, Function, FunctionGraph, _Term)
Variable._repr_latex_ = _Term._repr_latex_ = _notebook("latex")  # type: ignore[attr-defined]
del _grad, grad
_ABOVE.update({name: _functools.partial(__getattr__, name) for name in ("grad", "hessian", "jacobian")})
_ABOVE.update({name: _functools.partial(_mapping, name) for name in ("apply_along_axis", "vectorize")})
_running.ABOVE["loop"] = lambda: __getattr__("loop")
_rulelib.COMPANIONS.append("termgraph.loops.passes")
register_mode("DEBUG_MODE", _debug_mode("DebugMode"))
register_mode("NanGuardMode", _debug_mode("NanGuardMode"))

__version__ = "0.2.0"

__all__ = [
    "Apply", "Assert", "COp", "CheckAndRaise", "Constant", "DebugMode", "DisconnectedType", "Function", "FunctionGraph",
    "FunctionMaker", "In", "Lop", "MissingInputError", "Mode", "MonitorMode", "NanGuardMode", "Op", "OpFromGraph",
    "Out", "PdbBreakpoint", "Rop", "SharedVariable", "TensorType", "Type", "UnusedInputError", "Variable",
    "__version__", "accurate", "as_op", "checkpoint", "clone", "config", "consider_constant", "db", "debugprint",
    "disconnected_grad", "dist", "dprint", "equal_computations", "eval_intermediate_values", "eval_shape", "evaluate",
    "foldl", "foldr", "function", "get_mode", "grad", "grad_clip", "grad_not_implemented", "grad_reverse", "grad_scale",
    "grad_undefined", "hessian", "hessian_vector_product", "ifelse", "jacobian", "jit", "jvp", "linearize", "load",
    "loop", "map", "optim", "pp", "printing", "rebuild_collect_shared", "reduce", "register_mode", "rewrite", "rules",
    "save", "scan", "scan_checkpoints", "scan_module", "shared", "sparse", "subgraph_grad", "train", "undefined_grad",
    "until", "value_and_grad", "verify_grad", "vjp", "vmap", "zero_grad",
]  # fmt: skip
