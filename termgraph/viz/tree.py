"""`dprint`: a graph as an indented tree, each shared part once, bounded in size.

Two styles: termgraph's own, and the seeds' ("theano"), which reproduces their printed graphs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TextIO

from termgraph.config import config
from termgraph.tensor.bipartite import variables_of
from termgraph.tensor.display_names import applied_name, constant_text, print_style, short_repr, type_name
from termgraph.tensor.variable import Apply, Constant, TensorVariable, Variable
from termgraph.terms.term import is_term
from termgraph.viz.loops import HAVE_GRAPHS, inner_graph

ID_TYPES = ("CHAR", "@", "int", "id", "auto", "")


def dprint(
    obj: object,
    depth: int = -1,
    print_type: bool = False,
    file: TextIO | str | None = None,
    id_type: str = "CHAR",
    stop_on_name: bool = False,
    style: str | None = None,
    limit: int | None = None,
) -> TextIO | str | None:
    """Print a variable, list of variables, term, Apply, function graph or compiled function as a tree.

    A part used twice is expanded once; later only its id is shown. `depth` bounds the nesting, `limit` the number of
    lines. `id_type`: "CHAR" `[id A]`, "@" `[@A]`, "int" `[id 0]`, "id" memory address, "auto" structural hash, "" none.
    `file="str"` returns the text instead; otherwise the text goes to `file` (default: standard output).

    >>> import termgraph.tensor as T
    >>> x = T.dmatrix("x")
    >>> dprint(T.exp(x) + x)
    add [id A]
     |- exp [id B]
     |  `- x [id C]
     `- x [id C]
    """
    if id_type not in ID_TYPES:
        raise ValueError(f"unknown id_type {id_type!r}; choose one of {', '.join(map(repr, ID_TYPES))}")
    printer = _Printer(print_style(style), id_type, print_type, depth, stop_on_name)
    roots, order = graph_outputs(obj)
    lines = printer.lines(roots, order, config.dprint.limit if limit is None else limit)
    text = "\n".join(lines) + "\n"
    if file == "str":
        return text
    (file or sys.stdout).write(text)  # type: ignore[union-attr]
    return None if file is None else file


debugprint = dprint


def graph_outputs(obj: object) -> tuple[list[Variable], list[Apply] | None]:
    """The variables to print for any printable object, and the execution order if it is compiled."""
    if isinstance(obj, Variable):
        return [obj], None
    if isinstance(obj, Apply):
        return list(obj.outputs[:1]), None
    if is_term(obj):
        return variables_of([obj]), None
    if isinstance(obj, (list, tuple, set)):
        parts = [graph_outputs(o) for o in obj]
        return [v for variables, _ in parts for v in variables], None
    graph = getattr(getattr(obj, "maker", obj), "fgraph", getattr(obj, "fgraph", obj))
    if hasattr(graph, "outputs") and hasattr(graph, "toposort"):
        return list(graph.outputs), graph.toposort()
    raise TypeError(
        f"cannot print {type(obj).__name__} {obj!r:.60}: expected a variable, a graph or a compiled function"
    )


class _Printer:
    """Walks the graph with an explicit stack and writes one line per visit."""

    def __init__(self, style: str, id_type: str, print_type: bool, depth: int, stop_on_name: bool) -> None:
        self.theano = style == "theano"
        self.style, self.id_type, self.print_type = style, id_type, print_type
        self.depth, self.stop_on_name = depth, stop_on_name
        self.ids: dict[Any, str] = {}
        self.position: dict[Any, int] = {}
        self.compiled = False
        self.inner: list[tuple[Apply, str]] = []  # loops whose bodies are still to be printed, with their ids
        self.shown: set[Any] = set()

    def lines(self, roots: Sequence[Variable], order: list[Apply] | None, limit: int) -> list[str]:
        self.compiled = order is not None
        self.position = {node: i for i, node in enumerate(order or ())}
        lines: list[str] = []
        for line in self._walk(roots):
            if limit and len(lines) >= limit:
                lines.append(f"... (stopped after {limit} lines; limit= shows more)")
                break
            lines.append(line)
        return lines

    def _walk(self, roots: Sequence[Variable]) -> Iterator[str]:
        # entries: (variable, text before it, text before its children, nesting, the node that shows it)
        stack: list[tuple] = [(r, "", "", 0, None) for r in reversed(roots)]
        while stack or self.inner:
            if not stack:  # the tree is done: the graphs inside its loops and calls follow
                yield from self._start_body(stack)
                continue
            v, before, below, level, parent = stack.pop()
            if isinstance(v, str):
                yield v
                continue
            node = v.owner
            key = v if node is None else node
            seen = key in self.ids
            yield before + self._describe(v, node, self._id(key), seen, parent)
            named = self.stop_on_name and v.name is not None and level > 0
            if node is None or seen or named or (self.depth >= 0 and level >= self.depth):
                continue
            if node.op.family in HAVE_GRAPHS and node.op not in self.shown:
                self.shown.add(node.op)
                self.inner.append((node, self._id(key)))
            inputs = self._inputs(node)
            for i, child in reversed(list(enumerate(inputs))):
                last = i == len(inputs) - 1
                stack.append((child, *self._indent(below, last), level + 1, node))

    def _start_body(self, stack: list[tuple]) -> Iterator[str]:
        """A heading for the body of the next loop; its results go on the stack, each under what it is."""
        node, id_ = self.inner.pop(0)
        arguments, results = inner_graph(node)
        for label, root in reversed(results):
            stack.append((root, "  ", "  ", 0, None))
            stack.append((f" {label}:", "", "", 0, None))
        yield ""
        yield f"Inner graph of {applied_name(node, self.style)} {id_}".rstrip() + ":"
        for text, operand in arguments:
            owner = operand.owner
            shown = self._label(operand, None, None) if owner is None else short_repr(operand, self.style)
            yield f" {text} <- {shown} {self.ids.get(operand if owner is None else owner, '')}".rstrip()

    def _indent(self, below: str, last: bool) -> tuple[str, str]:
        if self.theano:
            return below + " |", below + ("  " if last else " |")
        return below + (" `- " if last else " |- "), below + ("   " if last else " | ")

    def _inputs(self, node: Apply) -> list[Variable]:
        """The node's inputs; Theano shows compiled commutative ops with their constants first."""
        if self.theano and self.compiled and node.op.commutative:
            return sorted(node.inputs, key=lambda v: not isinstance(v, Constant))
        return node.inputs

    def _describe(self, v: Variable, node: Apply | None, id_: str, seen: bool, parent: Apply | None) -> str:
        parts = [self._label(v, node, parent)]
        if self.print_type:
            parts.append(f"<{type_name(v.type, self.style)}>")
        if id_:
            parts.append(id_)
        text = " ".join(parts)
        if node is None:
            return text
        if self.theano:
            text += f" '{v.name or ''}'"
            return text + (f"   {self.position[node]}" if node in self.position else "")
        if v.name:
            text += f" '{v.name}'"
        if node in self.position and not seen:
            text += f"  #{self.position[node]}"
        return text + (" ..." if seen else "")

    def _label(self, v: Variable, node: Apply | None, parent: Apply | None) -> str:
        if node is not None:
            name = applied_name(node, self.style)
            return f"{name}.{v.index}" if len(node.outputs) > 1 else name
        if isinstance(v, Constant) and v.name is None:
            if self.theano:
                ndim = parent.outputs[0].type.ndim if self._broadcasts(parent) else None  # type: ignore[union-attr]
                return constant_text(v, ndim)
            return repr(v.term)
        return short_repr(v, self.style)

    def _broadcasts(self, parent: Apply | None) -> bool:
        return self.compiled and parent is not None and parent.op.kind == "elementwise"

    def _id(self, key: Apply | TensorVariable) -> str:
        if not self.id_type:
            self.ids.setdefault(key, "")
            return ""
        if key not in self.ids:
            self.ids[key] = _ID_TEXT[self.id_type](len(self.ids), key)
        return self.ids[key]


def letters(n: int) -> str:
    """0, 1, ... as A, B, ..., Z, AA, AB, ..."""
    text = ""
    n += 1
    while n:
        n, digit = divmod(n - 1, 26)
        text = chr(65 + digit) + text
    return text


def _structural(key: Any) -> int:
    variable = key if isinstance(key, Variable) else key.outputs[0]
    return variable.term._h & 0xFFFFFFFF


_ID_TEXT: dict[str, Callable[[int, Any], str]] = {
    "CHAR": lambda n, key: f"[id {letters(n)}]",
    "@": lambda n, key: f"[@{letters(n)}]",
    "int": lambda n, key: f"[id {n}]",
    "id": lambda n, key: f"[id {id(key):#x}]",
    "auto": lambda n, key: f"[id {_structural(key):08x}]",
}
