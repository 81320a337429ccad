"""Pickling and deep copies of variables, flat: the depth of the graph does not matter.

Inputs and constants travel as themselves, so that one pickle keeps them shared; interior variables travel as records.
"""

from __future__ import annotations

import copy
from typing import Any

from termgraph.tensor.trace import frames_of
from termgraph.tensor.variable import TensorVariable, Variable, apply_terms, bare, bare_apply, result, variable_class
from termgraph.terms.op import Op
from termgraph.terms.traverse import parts_first


def state_of(v: Variable) -> tuple:
    """What `rebuild_variable` needs: a leaf's own state, or the records of the graph above an interior variable."""
    if v._owner is None:
        return ("leaf", type(v), v.term, v.name, _tags(v), tuple(frames_of(v.site)))
    order, number = _ancestors(v)
    leaves = [u for u in order if u._owner is None]
    slot = {id(u): i for i, u in enumerate(leaves)}
    records: list[Any] = []
    for node in _nodes(order):
        inputs = [(0, slot[id(i)]) if i._owner is None else (1, number[id(i)]) for i in node.inputs]
        outputs = [(number.get(id(o), -1), o.name, _tags(o), tuple(frames_of(o.site))) for o in node.outputs]
        records.append((node.op, inputs, outputs))
    return ("graph", leaves, records, number[id(v)])


def _tags(v: Variable) -> dict | None:
    return None if v._tag is None else {k: t for k, t in vars(v._tag).items() if k != "trace"}


def _ancestors(v: Variable) -> tuple[list[Variable], dict[int, int]]:
    """The variables above `v`, inputs before users, and a number for each."""
    order = parts_first([v], lambda u: () if u._owner is None else u.owner.inputs)
    return order, {id(u): i for i, u in enumerate(order)}


def _nodes(order: list[Variable]) -> list[Any]:
    """The Apply nodes that make these variables, each once, in order."""
    return list(dict.fromkeys(u.owner for u in order if u._owner is not None))


def rebuild_variable(kind: str, *state: Any) -> TensorVariable:
    """The inverse of `state_of`."""
    if kind == "leaf":
        cls, term, name, tags, site = state
        v = bare(cls, term, name, site)
        _restore_tags(v, tags)
        return v
    leaves, records, wanted = state
    made: dict[int, Any] = {}
    for op, inputs, outputs in records:
        operands = [leaves[i] if where == 0 else made[i] for where, i in inputs]
        for (number, name, tags, _), v in zip(outputs, _outputs(op, operands, outputs), strict=True):
            v.name = name
            _restore_tags(v, tags)
            made[number] = v
    return made[wanted]


def _outputs(op: Op, operands: list, outputs: list) -> list:
    terms = apply_terms(op, operands, None)
    if len(terms) == 1:
        return [result(terms[0], op, tuple(operands), outputs[0][3])]
    variables: list[Any] = []
    node = bare_apply(op, operands, variables)
    for i, (term, (_, _, _, site)) in enumerate(zip(terms, outputs, strict=True)):
        v = bare(variable_class(Variable, term.type), term, None, site)
        v._owner, v.index = node, i
        variables.append(v)
    return variables


def deep_copied(v: Variable, memo: dict) -> Variable:
    """`copy.deepcopy(v)`: what depends on shared variables depends on their copies; the rest stays as it is."""
    if v._owner is None:
        return v
    order, _ = _ancestors(v)
    made: dict[int, Variable] = {id(u): copy.deepcopy(u, memo) for u in order if u._owner is None}
    for node in _nodes(order):
        _copy_node(node, made, memo)
    return made[id(v)]


def _copy_node(node: Any, made: dict[int, Variable], memo: dict) -> None:
    operands = [made[id(i)] for i in node.inputs]
    if all(new is old for new, old in zip(operands, node.inputs, strict=True)):
        made.update({id(o): o for o in node.outputs})
    elif id(node) in memo:
        made.update({id(o): memo[id(o)] for o in node.outputs})
    else:
        memo[id(node)] = node
        records = [(i, o.name, None, o.site) for i, o in enumerate(node.outputs)]
        for old, new in zip(node.outputs, _outputs(node.op, operands, records), strict=True):
            new.name = old.name
            _restore_tags(new, _tags(old))
            made[id(old)] = memo[id(old)] = new


def _restore_tags(v: Variable, tags: dict | None) -> None:
    if tags:
        vars(v.tag).update(tags)


def _reduced(v: Variable) -> tuple:
    return rebuild_variable, state_of(v)


Variable.__reduce__ = _reduced  # type: ignore[assignment]
Variable.__deepcopy__ = deep_copied  # type: ignore[assignment]
