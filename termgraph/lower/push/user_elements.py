"""Ops of users that give C text for one element: in compiled programs they are element-wise ops like all others.

Outside of lowering such an op is one of the user's, which only says how long its results are.
"""

from __future__ import annotations

from termgraph._lazy import pattern
from termgraph.terms.op import Op
from termgraph.terms.ops.elementwise import ElementwiseOp
from termgraph.terms.term import AnyTerm

_OPERAND = pattern(r"\bx(\d+)\b")
OPERAND_PLACE = r"({\1})"


def element_op(t: AnyTerm) -> Op | None:
    """The element-wise op that computes what a term of a user's op does, or None if its op says nothing of elements."""
    text = getattr(t.op, "c_element", None)
    if text is None or not t.args:
        return None
    dtypes = tuple([a.type.dtype for a in t.args])
    known: dict[tuple[str, ...], Op | None] = t.op.__dict__.setdefault("_elements", {})
    if dtypes not in known:
        known[dtypes] = _made(t, text)
    return known[dtypes]


def _made(t: AnyTerm, text: str) -> Op:
    rule = (*[a.type.np_dtype for a in t.args], t.type.np_dtype)
    return ElementwiseOp(
        t.op.name, arity=len(t.args), kind="elementwise", c=_template(text), meaning=t.op.meaning,
        cuda=_template(getattr(t.op, "cuda_element", None) or text), dtype_rule=lambda *_: rule,
    )  # fmt: skip


def _template(text: str) -> str:
    """The expression with places for its operands."""
    doubled = text.replace("{", "{{").replace("}", "}}")
    return f"({_OPERAND.sub(OPERAND_PLACE, doubled)})"
