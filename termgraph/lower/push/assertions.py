"""`check` as a view of its operand, and a truth value apart that is stored even though nothing reads it.

So a failed condition ends the call also where no element of the operand is needed, and no loop over it asks.
"""

from __future__ import annotations

from typing import Any

from termgraph.lower.push.driver import Index, Push, moves
from termgraph.terms.build import in_dtype
from termgraph.terms.op import Op
from termgraph.terms.ops.reduce import all_
from termgraph.terms.term import AnyTerm, mk


def _no_meaning(*_: object, **__: object) -> Any:
    raise NotImplementedError("a part of a check has no meaning outside of a compiled program")


holds = Op(
    "holds", arity=1, infer=lambda c, *, error, text: c, meaning=_no_meaning, kind="kernel",
    params={"error": AssertionError, "text": ""}, doc="A truth value; if it is false the call ends with `error(text)`.",
)  # fmt: skip
guarded = Op(
    "guarded", arity=2, infer=lambda x, holds: x, meaning=_no_meaning, kind="kernel",
    doc="The first operand, worth nothing unless the second holds.",
)  # fmt: skip


def asserted(t: AnyTerm, args: tuple[AnyTerm, ...]) -> AnyTerm:
    """The operand of a check, guarded by each of its conditions in turn."""
    x, *conditions = args
    message = t.op.params["message"]
    for k, c in enumerate(conditions):
        text = f"{message} (condition {k})" if len(conditions) > 1 else message
        text = text.replace("{", "{{").replace("}", "}}")  # texts of what can go wrong have places for numbers
        everywhere = mk(all_.bind(axis=tuple(range(c.type.ndim))), (c,)) if c.type.ndim else in_dtype(c, "bool")
        x = mk(guarded, (x, mk(holds.bind(error=t.op.params["error"], text=text), (everywhere,))))
    return x


@moves("guarded")
def _guarded(p: Push, t: AnyTerm, i: Index) -> Index:
    return i
