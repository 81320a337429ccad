"""Closed graphs as ops: `call` applies a body (terms over `Arg`s) to operands. Kept for display, or inlined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from termgraph.terms.errors import TypeMismatch
from termgraph.terms.evaluate import evaluate
from termgraph.terms.op import OPS, Op
from termgraph.terms.ops.basic import nth
from termgraph.terms.term import AnyTerm, Arg, mk
from termgraph.terms.traverse import children_first, rebuild, substitute
from termgraph.terms.types import TupleType, Type


class Call(Op):
    """`call(*operands)` with a `body` of terms over `Arg(0), Arg(1), ...` of the types `takes`."""

    def bind(self, **params: Any) -> Op:
        op = super().bind(**params)
        op.nout = max(len(op.params["body"]), 1)
        op.arity = len(op.params["takes"])
        return op

    def __repr__(self) -> str:
        return self.params["name"] if self.family is not self else self.name


def _infer_call(*types: Type, body: tuple[AnyTerm, ...], takes: tuple[Type, ...], **_: object) -> Type:
    for i, (want, got) in enumerate(zip(takes, types)):
        if not want.accepts(got):
            raise TypeMismatch(f"operand {i} must have type {want}, got {got}")
    return body[0].type if len(body) == 1 else TupleType([t.type for t in body])


def _call(*values: np.ndarray, body: tuple[AnyTerm, ...], takes: tuple[Type, ...], **_: object) -> Any:
    results = evaluate(body, {Arg(i, t): v for i, (t, v) in enumerate(zip(takes, values))})
    return results[0] if len(results) == 1 else tuple(results)


call = OPS["call"] = Call(
    "call",
    arity=None,
    infer=_infer_call,
    meaning=_call,
    kind="call",
    params={"body": (), "takes": (), "name": "call", "inline": False, "lop": None, "rop": None},
    doc="A closed graph applied to operands.",
)


def inline_calls(roots: Sequence[Any], chosen: Callable[[Op], bool] = lambda op: True) -> list[Any]:
    """The graph with the calls whose op is `chosen` replaced by their bodies, also inside bodies."""
    roots = list(roots)
    while any(_is_call(t, chosen) for t in children_first(roots)):
        whole: dict[Any, list[Any]] = {}

        def change(t: AnyTerm, args: tuple[AnyTerm, ...], whole: dict[Any, list[Any]] = whole) -> AnyTerm:
            if _is_call(t, chosen):
                whole[t] = body_on(t.op, args)
                result: AnyTerm = whole[t][0]
                return result
            if t.op.family is nth and t.args[0] in whole:
                one: AnyTerm = whole[t.args[0]][t.op.params["i"]]
                return one
            return t if all(a is b for a, b in zip(args, t.args)) else mk(t.op, args)

        roots = rebuild(roots, change)
    return roots


def body_on(op: Op, operands: Sequence[Any]) -> list[Any]:
    """The results of a call as terms over its operands."""
    takes = op.params["takes"]
    return substitute(op.params["body"], {Arg(i, t): a for i, (t, a) in enumerate(zip(takes, operands))})


def _is_call(t: AnyTerm, chosen: Callable[[Op], bool]) -> bool:
    return t.op.family is call and chosen(t.op)
