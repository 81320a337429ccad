"""theano.printing and theano.d3viz: graphs as Theano's texts. May import viz."""

from __future__ import annotations

import hashlib
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np

import termgraph.tensor as T
from termgraph.function.compiled import Function
from termgraph.function.fgraph import FunctionGraph
from termgraph.tensor.display_names import short_repr, theano_op_name
from termgraph.tensor.graph import ancestors as native_ancestors
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.variable import Apply, Constant, TensorVariable, Variable
from termgraph.terms.op import Op
from termgraph.viz.graph_page import d3viz as native_d3viz
from termgraph.viz.picture import pydotprint as native_pydotprint
from termgraph.viz.picture import to_dot
from termgraph.viz.tree import dprint, graph_outputs

pydot_imported, pydot_imported_msg = True, ""
use_ascii = True
VALID_ASSOC = {"left", "right", "either"}
default_colorCodes = {"GpuFromHost": "red", "HostFromGpu": "red", "Scan": "yellow", "Shape": "brown",
                      "IfElse": "magenta", "Elemwise": "#FFAABB", "Subtensor": "#FFAAFF"}  # fmt: skip


# ---------------------------------------------------------------------- trees
def debugprint(
    obj: object, depth: int = -1, print_type: bool = False, file: TextIO | str | None = None, ids: str = "CHAR",
    stop_on_name: bool = False, done: Any = None, print_storage: bool = False, print_clients: bool = False,
    used_ids: dict | None = None, **more: Any,
) -> Any:  # fmt: skip
    """The graph as a tree, with Theano's names of ops.

    >>> x = T.dscalar("x")
    >>> debugprint(x + 1)
    Elemwise{add,no_inplace} [id A] ''
     |x [id B]
     |TensorConstant{1} [id C]
    """
    ids = more.get("id_type", ids)
    return dprint(obj, depth, print_type, file, ids, stop_on_name, style="theano")


def Print(message: str = "", attrs: Sequence[str] = ("__str__",), global_fn: Callable | None = None) -> T.Print:
    """`Print(message)(x)` is x, printed when it is computed."""
    return T.Print(message, tuple(attrs), global_fn)


# ---------------------------------------------------------------------- one line
_OPERATORS = {"add": "+", "mul": "*", "sub": "-", "true_div": "/", "floor_div": "//", "pow": "**", "mod": "%",
              "dot": "\\dot"}  # fmt: skip
_FUNCTIONS = {"sum": "Sum", "reciprocal": "inv", "max": "max", "round": "round_half_to_even", "alloc": "alloc"}


class PPrinter:
    """Writes an expression in one line, every operation in parentheses."""

    def __init__(self) -> None:
        self.printers: list[tuple[Any, Any]] = []

    def assign(self, condition: Any, printer: Any) -> None:
        """Write what satisfies a condition, or the results of an op, by a printer of one's own."""
        self.printers.insert(0, (condition, printer))

    def clone(self) -> PPrinter:
        """A copy, to be changed by itself."""
        new = PPrinter()
        new.printers = list(self.printers)
        return new

    def __call__(self, *args: Any) -> str:
        return self.process_graph(*args) if len(args) > 1 else self.process(args[0])

    def process_graph(
        self, inputs: Any, outputs: Any, updates: Mapping[Any, Any] | None = None, display_inputs: bool = False
    ) -> str:
        """Several outputs, and updates, one after the other."""
        outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        lines = [self.process(o) for o in outputs]
        lines += [f"{short_repr(v, 'theano')} <- {self.process(new)}" for v, new in dict(updates or {}).items()]
        head = f"inputs: {', '.join(map(str, inputs))}\n" if display_inputs else ""
        return head + ", ".join(lines)

    def process(self, r: Any, pstate: PrinterState | None = None) -> str:
        """One variable, or the first output of a compiled function."""
        root = r if isinstance(r, Variable) else graph_outputs(r)[0][0]
        made: dict[Any, str] = {}
        for v in native_ancestors([root]):
            made[v] = self._own(v, made) or _text(v, made)
        return made[root]

    def _own(self, v: Variable, made: dict) -> str | None:
        for condition, printer in self.printers:
            holds = _is_made_by(v, condition) if isinstance(condition, (Op, type)) else condition(None, v)
            if holds:
                return printer.process(v, PrinterState(pprinter=_Made(self, made)))
        return None


def _is_made_by(v: Variable, condition: Op | type) -> bool:
    """Whether a variable is the result of an op, or of an op of a class."""
    if v.owner is None:
        return False
    return isinstance(v.owner.op, condition) if isinstance(condition, type) else v.owner.op is condition


class _Made:
    """What printers of users ask for the texts of inputs."""

    def __init__(self, printer: PPrinter, made: dict) -> None:
        self.printer, self.made = printer, made

    def process(self, v: Variable, pstate: PrinterState | None = None) -> str:
        return self.made[v] if v in self.made else self.printer.process(v)


def _text(v: Variable, made: dict) -> str:
    """A variable from the texts of what it is computed from."""
    if v.owner is None or (v.name and not isinstance(v, Constant)):
        return v.name or short_repr(v, "theano")
    op, parts = v.owner.op, [made[i] for i in v.owner.inputs]
    if op.name in _OPERATORS:
        return f"({f' {_OPERATORS[op.name]} '.join(parts)})"
    if op.name == "neg":
        return f"(-{parts[0]})"
    if op.name == "abs":
        return f"|{parts[0]}|"
    if op.name == "dimshuffle":
        return _shuffled(op.params["order"], parts[0])
    if op.name in ("subtensor", "gather"):
        index = theano_op_name(op).partition("{")[2].rstrip("}")
        return f"{parts[0]}[{', '.join(parts[1:]) if op.name == 'gather' else index}]"
    if op.kind == "elementwise":
        return f"{_elementwise_name(op)}({', '.join(parts)})"
    name = _FUNCTIONS.get(op.name) or theano_op_name(op)
    axis = op.params.get("axis") if op.name in ("sum", "max", "prod") else None
    if op.name == "sum":
        name = theano_op_name(op, v.owner.inputs[0].ndim)
        axis = None
    return f"{name}({', '.join(parts)}{f', axis={axis}' if axis else ''})"


def _elementwise_name(op: Op) -> str:
    return theano_op_name(op).partition("{")[2].partition(",")[0].rstrip("}") if op.name != "cast" else (
        f"Cast{{{op.params['dtype']}}}")  # fmt: skip


def _shuffled(order: tuple, text: str) -> str:
    if order == (1, 0):
        return f"{text}.T"
    if order and all(d == "x" for d in order[:-1]) and order[-1] in (0, "x"):
        return text if all(d == "x" for d in order) else f"DimShuffle{{{','.join(map(str, order))}}}({text})"
    return f"DimShuffle{{{','.join(map(str, order))}}}({text})"


class PrinterState:
    """What a printer of a user gets beside the variable."""

    pprinter: Any

    def __init__(self, props: Any = None, **more: Any) -> None:
        self.memo: dict[Any, str] = {}
        self.__dict__.update(more)


class OperatorPrinter:
    """Writes operands with an operator between them."""

    def __init__(self, operator: str, precedence: float = 0, assoc: str = "left") -> None:
        self.operator, self.precedence, self.assoc = operator, precedence, assoc

    def process(self, output: TensorVariable, pstate: PrinterState) -> str:
        """The text of one variable."""
        parts = [pstate.pprinter.process(i, pstate) for i in output.owner.inputs]
        return f"({self.operator}{parts[0]})" if len(parts) == 1 else f"({f' {self.operator} '.join(parts)})"


class FunctionPrinter:
    """Writes a name and the operands in parentheses."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def process(self, output: TensorVariable, pstate: PrinterState) -> str:
        """The text of one variable."""
        parts = [pstate.pprinter.process(i, pstate) for i in output.owner.inputs]
        return f"{self.names[output.owner.outputs.index(output)]}({', '.join(parts)})"


class PatternPrinter:
    """Writes a pattern such as `|%(0)s|` with the operands put in."""

    def __init__(self, *patterns: str | Sequence[Any]) -> None:
        self.patterns = [p if isinstance(p, str) else p[0] for p in patterns]

    def process(self, output: TensorVariable, pstate: PrinterState) -> str:
        """The text of one variable."""
        parts = {str(k): pstate.pprinter.process(i, pstate) for k, i in enumerate(output.owner.inputs)}
        return self.patterns[output.owner.outputs.index(output)] % parts


class IgnorePrinter:
    """Writes the operand alone."""

    def process(self, output: TensorVariable, pstate: PrinterState) -> str:
        """The text of one variable."""
        return pstate.pprinter.process(output.owner.inputs[0], pstate)


class DefaultPrinter:
    """Writes the op and its operands."""

    def process(self, output: TensorVariable, pstate: PrinterState) -> str:
        """The text of one variable."""
        if output.owner is None:
            return str(output)
        return f"{output.owner.op}({', '.join(pstate.pprinter.process(i, pstate) for i in output.owner.inputs)})"


LeafPrinter = DefaultPrinter
default_printer = leaf_printer = DefaultPrinter()
pp = pprint = PPrinter()


# ---------------------------------------------------------------------- pictures
def pydotprint(
    fct: Function, outfile: str | None = None, compact: bool = True, format: str = "png", with_ids: bool = False,
    high_contrast: bool = True, cond_highlight: Any = None, colorCodes: Any = None, max_label_size: int = 70,
    scan_graphs: bool = False, var_with_name_simple: bool = False, print_output_file: bool = True,
    return_image: bool = False,
) -> Any:  # fmt: skip
    """A picture of a graph, of the kind that its ending says.

    A .png or .pdf needs Graphviz, Chromium or Chrome. Where none is, an .svg of the same name is written instead, and a
    warning says so; an image that is to be returned is an error then.
    """
    path = Path(outfile) if outfile is not None else Path(f"theano.pydotprint.{format}")
    path = path if path.suffix else path.with_name(f"{path.name}.{format}")
    try:
        written = native_pydotprint(fct, path, var_with_name_simple=var_with_name_simple, say=print_output_file)
    except ValueError as error:
        if return_image:
            raise
        instead = path.with_suffix(".svg")
        warnings.warn(f"{error}; {instead} is written instead", stacklevel=2)
        written = native_pydotprint(fct, instead, var_with_name_simple=var_with_name_simple, say=print_output_file)
    return written.read_bytes() if return_image else None


def d3viz(fct: Function, outfile: str, copy_deps: bool = True, *args: object, **kwargs: Any) -> None:
    """A page with the graph, to move about in."""
    native_d3viz(fct, outfile)


def d3write(fct: FunctionGraph, path: str, *args: object, **kwargs: Any) -> None:
    """The graph as text for Graphviz."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(to_dot(fct))


class PyDotFormatter:
    """Makes Graphviz texts of graphs."""

    def __init__(self, compact: bool = True) -> None:
        self.compact = compact

    def __call__(self, fct: Any, graph: Any = None) -> str:
        return to_dot(fct)


def var_label(var: TensorLike, precision: int = 3) -> str:
    """The label of a variable."""
    return short_repr(var, "theano")


def apply_label(node: Apply) -> str:
    """The label of an application."""
    return theano_op_name(node.op).partition("{")[0]


# ---------------------------------------------------------------------- descriptions
def min_informative_str(obj: Variable, indent_level: int = 0, **_: object) -> str:
    """A variable and what it is computed from, as far as named variables and constants.

    >>> print(min_informative_str(T.dscalar("x") + 1))
    A. Elemwise{add,no_inplace}
     B. x
     C. TensorConstant{1}
    """
    lines: list[str] = []
    seen: dict[Any, str] = {}
    stack = [(obj, indent_level)]
    while stack:
        v, depth = stack.pop()
        known = seen.get(v)
        if known is not None:
            lines.append(f"{' ' * depth}<{known}>")
            continue
        seen[v] = tag = chr(ord("A") + len(seen)) if len(seen) < 26 else f"A{len(seen)}"
        shown = v.owner is None or v.name
        lines.append(f"{' ' * depth}{tag}. {short_repr(v, 'theano') if shown else theano_op_name(v.owner.op)}")
        if not shown:
            stack += [(i, depth + 1) for i in reversed(v.owner.inputs)]
    return "\n".join(lines)


def var_descriptor(obj: Any, **_: object) -> str:
    """A value or variable as text that is the same in every process."""
    if hasattr(obj, "__array__"):
        return f"<ndarray:{obj.dtype};{hex_digest(obj)}>"
    return position_independent_str(obj) if isinstance(obj, Variable) else str(obj)


def position_independent_str(obj: object) -> str:
    """A variable as text without its place in memory."""
    if isinstance(obj, Variable):
        return f"theano_var{{type={obj.type},name={obj.name}}}"
    raise NotImplementedError(f"there is no such text for {obj!r:.60}")


def hex_digest(x: np.ndarray) -> str:
    """A hash of an array: its bytes, strides and shape."""
    text = hashlib.md5(x.tobytes(), usedforsecurity=False).hexdigest()
    return f"{text}|strides=[{','.join(map(str, x.strides))}]|shape=[{','.join(map(str, x.shape))}]"


__all__ = ["re", "sys"]
