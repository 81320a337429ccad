"""What is computed from gradients that wait waits as well: the arithmetic of optimizers, so that steps with updates do.

An expression is built over stand-ins for the gradients, and a function is named by that. When somebody looks at it, the
ops are applied to the gradients themselves.
"""

from __future__ import annotations

import threading
from typing import Any

from termgraph.config import config
from termgraph.grad.waiting import Held, become, held_by, wait_in
from termgraph.tensor.trace import user_site
from termgraph.tensor.variable import TensorVariable, Variable, apply_terms, bare, results
from termgraph.tensor.wrap import wrap_operands
from termgraph.terms.op import OPS, Op
from termgraph.terms.ops.reduce import sum_
from termgraph.terms.promises import apply_by
from termgraph.terms.term import untrack

_guard = threading.RLock()  # for all: an expression is made with what it is computed from


class Formed(TensorVariable, Held):
    """An op on operands some of which wait: what stands for the result, computed from stand-ins.

    `made_of` is the one of these whose lengths the result has, None for a single number.
    """

    __slots__ = ("made_of", "op", "operands")
    op: Op
    operands: tuple[Any, ...]
    made_of: Any

    def shadow(self, v: Any) -> Any:
        return self

    def settle(self, v: Any = None) -> None:
        """Make the variable one like any other, after what it is computed from, without recursion."""
        with _guard:
            stack = [v]
            while stack:
                u = stack[-1]
                held = held_by(u)
                below = [a for a in held.operands if a.waits] if isinstance(held, Formed) else ()
                if below:
                    stack += below
                    continue
                stack.pop()
                if isinstance(held, Formed):
                    become(u, results(held.op, wrap_operands(held.op, held.operands), u.site)[0])
                elif held is not None:
                    held.settle(u)


def applied(op: Op, args: tuple[Any, ...]) -> Any:
    """An op on operands some of which wait: a variable that waits as well, or None where their graphs have to be made.

    That is where it is not done element by element, or where lengths might be told apart that only the gradients know:
    such an error comes at once.
    """
    if not _waits_on(op) or config.compute_test_value != "off":
        return None
    shadows, waiting, lengths = list(args), [], None
    for i, a in enumerate(args):
        if isinstance(a, Variable) and a.waits:
            held = held_by(a)
            shadow = shadows[i] = None if held is None else held.shadow(a)
            if shadow is None:
                return None
            waiting.append(i)
            known = shadow.made_of if shadow.__class__ is Formed else shadow.term if shadow.term.type.ndim else None
            if known is not None:
                if lengths is not None and lengths is not known:
                    return None
                lengths = known
    try:
        operands: list[Any] = [*wrap_operands(op, shadows)]
        term = apply_terms(op, operands, None)[0]
    except (TypeError, ValueError, OverflowError):
        return None  # the gradients themselves are refused likewise
    if op.family is sum_:
        if term.type.ndim:
            return None
        lengths = None
    for i in waiting:
        operands[i] = args[i]
    if len(waiting) < len(operands):
        for v in operands:
            if not v.waits and v.term.type.ndim and [n for n in v.term.type.shape if n is not None and n != 1]:
                return None
    formed = bare(Formed, term, None, user_site())
    formed.op, formed.operands, formed.made_of = op, tuple(operands), lengths
    untrack(formed)  # it points only to older objects
    return wait_in(formed, formed.site)


def _waits_on(op: Op) -> bool:
    """Whether it is an op of the library, with one result, that is done element by element, or a sum."""
    return (op.kind == "elementwise" or op.family is sum_) and op.nout == 1 and OPS.get(op.family.name) is op.family


apply_by(applied)
