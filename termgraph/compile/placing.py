"""Placing: the graph without calls and marks of devices that are not there, as a program of plain instructions."""

from __future__ import annotations

from typing import Any

from termgraph.compile.values import Placed, Rewritten
from termgraph.terms.ops.call import inline_calls
from termgraph.terms.ops.transfer import to_device
from termgraph.terms.term import AnyTerm, mk
from termgraph.terms.traverse import children_first, rebuild


def place(value: Rewritten) -> Placed:
    """The program that the mode's backend starts from."""
    roots = inline_calls(value.roots)
    if value.options.backend != "cuda" and any(t.op.family is to_device for t in children_first(roots)):
        roots = rebuild(roots, _without_device)
    return Placed.of(value.captured.args, roots)


def _without_device(t: AnyTerm, args: tuple) -> Any:
    """The term where there is one place only."""
    return args[0] if t.op.family is to_device else mk(t.op, args) if args else t
