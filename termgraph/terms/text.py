"""One-line text of terms and patterns, bounded in size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from etuples.core import ExpressionTuple

from termgraph._lazy import lazy
from termgraph.terms.op import Op

html = lazy("html")
_INFIX = {"add": " + ", "sub": " - ", "mul": " * ", "true_div": " / ", "pow": " ** "}


def one_line(root: Any, limit: int = 600, names: Mapping[Any, str] | None = None, axes: bool = True) -> str:
    """The term written like a function call, cut with `...` after `limit` characters; `names` are those of leaves.

    Without `axes`, what only adds axes to an operand for broadcasting is left out.
    """
    out: list[str] = []
    size = 0
    stack: list[Any] = [root]
    while stack:
        x = stack.pop()
        if x.__class__ is str:
            piece = x
        elif isinstance(x, ExpressionTuple) and x.__class__ is not ExpressionTuple:  # an interned term
            if not axes and _only_adds_axes(x):
                stack.append(x.args[0])
                continue
            piece = head_text(x.op) + "("
            stack.append(")")
            for i, a in enumerate(reversed(x.args)):
                if i:
                    stack.append(", ")
                stack.append(a)
        else:
            piece = names[x] if names and x in names else repr(x)
        out.append(piece)
        size += len(piece)
        if size > limit:
            out.append(" ...")
            break
    return "".join(out)


def _only_adds_axes(t: Any) -> bool:
    order = t.op.params.get("order") if t.op.name == "dimshuffle" else None
    return order is not None and [k for k in order if k != "x"] == [*range(t.args[0].type.ndim)]


def html_table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table for notebooks: a float becomes a bar, numbers stand on the right of their columns."""
    rows = [*rows]
    right = [all(_is_number(row[i]) for row in rows) for i in range(len(head))]
    cells = "".join(f"<th style='{_cell_style(r)}'>{html.escape(h)}</th>" for h, r in zip(head, right))
    lines = "".join(f"<tr>{''.join(map(_html_cell, row, right))}</tr>" for row in rows)
    return f"<div style='overflow-x:auto'><table><tr>{cells}</tr>{lines}</table></div>"  # on narrow pages it scrolls


def _is_number(value: float | str) -> bool:
    return isinstance(value, int) or (isinstance(value, str) and value.replace(".", "", 1).isdigit())


def _cell_style(right: bool) -> str:
    return f"text-align:{'right' if right else 'left'};padding:1px 8px"


def _html_cell(value: float | str, right: bool) -> str:
    if isinstance(value, float):
        inner = f"<span style='display:inline-block;height:.8em;width:{120 * value:.0f}px;background:#d9604f'></span>"
    else:
        inner = f"<code>{html.escape(str(value))}</code>"
    return f"<td style='{_cell_style(right)}'>{inner}</td>"


def head_text(op: Op) -> str:
    """The head of a term with its non-default parameters."""
    return repr(op)
