"""The body of a loop for printouts: its arguments with where they come from, and its results as variables."""

from __future__ import annotations

from typing import Any

from termgraph.tensor.bipartite import variables_of
from termgraph.tensor.variable import Apply, Variable
from termgraph.terms.ops.loop import places_of


def inner_graph(node: Apply) -> tuple[list[tuple[str, Variable]], list[tuple[str, Variable]]]:
    """(argument text, operand outside) for each argument of the body, and (what it is, variable) for each result."""
    op: Any = node.op
    known = places_of(op)
    shown = {leaf: _argument(leaf, known.get(leaf, (None,))[0]) for leaf in op.leaves}
    c, s = op.n_consts, op.n_consts + op.n_carry
    groups = ["constant"] * c + ["carry"] * op.n_carry + ["row of"] * op.n_xs
    arguments = [
        (f"{group} {shown[leaf]}", v) for group, leaf, v in zip(groups, op.leaves, node.inputs[1:])
    ]  # constants, carries, sequences: in the order of the operands
    leaves = variables_of(op.leaves, names=shown)
    roots = variables_of(op.params["body"], dict(zip(op.leaves, leaves)))
    labels = [f"next {shown[leaf]}" for leaf in op.leaves[c:s]] + [f"result {k}" for k in range(op.n_ys)]
    labels += ["stop if"] * (op.stop is not None)
    return arguments, list(zip(labels, roots))


def _argument(leaf: Any, name: str | None) -> str:
    return f"{name} {leaf!r}" if name else repr(leaf)


__all__ = ["inner_graph"]
