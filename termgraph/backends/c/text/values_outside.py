"""Numbers that tg_run makes and kernels use, which go through their context.

Most programs have none: then no kernel is looked at. May import lowering.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from termgraph.backends.cstyle import index_references, references
from termgraph.lower.loops.tree import Call, Compound, Kernel, Let, Node, Quiet, Reduce, Routine, walk
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
    kernels = [k for n in nodes for k in (n.then if isinstance(n, Routine) else [n]) if isinstance(k, Kernel)]
    found: set[Any] = set()
    for n in walk(list(kernels)):
        if n.__class__ is Let and n.stored is None:  # most of them
            found.update(n.term.args or kids(n.term))
        else:
            found.update(references(n))
            found.update(index_references(n))
    return found
