"""Numbers that tg_run makes and kernels use, which go through their context.

Most programs have none: then no kernel is looked at. May import lowering.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from termgraph.backends.references import index_references, references
from termgraph.lower.loops.tree import Call, Compound, Kernel, Let, Node, Quiet, Reduce, Routine
from termgraph.lower.push.kernel import kids


def makes_values(nodes: Sequence[Node]) -> bool:
    """Whether a statement may make a number, not elements of arrays."""
    return any(
        n.node.__class__ is Reduce if n.__class__ is Kernel else not isinstance(n, (Call, Compound, Quiet))
        for n in nodes
    )


def used_in_kernels(nodes: Sequence[Node]) -> set[Any]:
    """The values that kernels use, of which those that statements beside them make go through the context."""
    if not makes_values(nodes):
        return set()
    found: set[Any] = set()
    stack = [k for n in nodes for k in _kernels_of(n)]
    while stack:
        n = stack.pop()
        if n.__class__ is Let and n.stored is None:  # most of them
            found.update(n.term.args or kids(n.term))
            continue
        found.update(references(n))
        found.update(index_references(n))
        for body in n.children():
            stack += body
    return found


def beside_kernels(nodes: Sequence[Node]) -> list[Node]:
    """The statements that are not kernels, and do not run any."""
    return [n for n in nodes if not _kernels_of(n)]


def _kernels_of(n: Node) -> list[Node]:
    """A kernel, or that which a routine runs."""
    return [k for k in (n.then if isinstance(n, Routine) else [n]) if isinstance(k, Kernel)]
