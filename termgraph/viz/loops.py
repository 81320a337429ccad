"""The graphs inside loops and graphs that are ops, for printouts: arguments with where they come from, and results."""

from __future__ import annotations

from typing import Any

from termgraph.tensor.bipartite import variables_of
from termgraph.tensor.variable import Apply, Variable
from termgraph.terms.op import Op
from termgraph.terms.ops.call import call
from termgraph.terms.ops.loop import loop, places_of
from termgraph.terms.term import AnyTerm, Arg

HAVE_GRAPHS = (loop, call)  # families of ops with a graph inside


def inner_graph(node: Apply) -> tuple[list[tuple[str, Variable]], list[tuple[str, Variable]]]:
    """(argument text, operand outside) for each argument of the body, and (what it is, variable) for each result."""
    op: Any = node.op
    if op.family is call:
        return _called(op, node)
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


def body_of(node: Apply) -> tuple[list[Variable], list[str], dict[Any, int]] | None:
    """Results of the graph inside an application, their names, and the operand that each argument stands for.

    None if there is no graph inside.
    """
    op: Any = node.op
    family = getattr(op, "family", None)
    if family is loop:
        labelled = inner_graph(node)[1]
        stops = {leaf: k for k, leaf in enumerate(op.leaves, 1)}
        return [v for _, v in labelled], [label for label, _ in labelled], stops
    if family is call:
        takes = [Arg(i, t) for i, t in enumerate(op.params["takes"])]
        names = {a: v.name or f"operand {i}" for i, (a, v) in enumerate(zip(takes, node.inputs))}
        body = op.params["body"]
        return variables_of(body, names=names), [""] * len(body), {a: i for i, a in enumerate(takes)}
    return None


def _called(op: Op, node: Apply) -> tuple[list[tuple[str, Variable]], list[tuple[str, Variable]]]:
    """Those of a graph that is an op: its arguments are the operands."""
    leaves = [Arg(i, type_) for i, type_ in enumerate(op.params["takes"])]
    roots = variables_of(
        op.params["body"], dict(zip(leaves, variables_of(leaves, names={leaf: repr(leaf) for leaf in leaves})))
    )
    return list(zip(map(repr, leaves), node.inputs)), [(f"result {k}", v) for k, v in enumerate(roots)]


def _argument(leaf: AnyTerm, name: str | None) -> str:
    return f"{name} {leaf!r}" if name else repr(leaf)
