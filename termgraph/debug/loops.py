"""Looking into a loop that gave a bad value: its steps are run again, one operation at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from termgraph.terms.evaluate import apply_meaning
from termgraph.terms.op import CONST
from termgraph.terms.ops.call import inline_calls
from termgraph.terms.ops.loop import Parts, checked_steps, places_of
from termgraph.terms.term import AnyTerm, Term
from termgraph.terms.traverse import children_first


class Found(NamedTuple):
    """The first bad value in a loop: the term of its body, value, operands, and the loops with their steps."""

    term: Any
    value: Any
    operands: list[Any]
    loops: list[tuple[Any, int]]  # innermost first

    def lookup(self, term: AnyTerm) -> tuple:
        """(name, site) of a term of the innermost body."""
        return places_of(self.loops[0][0]).get(term, (None, ()))

    def steps(self) -> list[str]:
        """In which steps it arose."""
        return [f"  in step {step} of {op.title}" for op, step in self.loops]


def first_bad_step(op: Any, values: Sequence[Any], kind_of: Callable[[Any], str | None]) -> Found | None:
    """The first bad value that arises in the steps of a loop on these operands, or None."""
    parts = Parts(op, values)
    body = inline_calls(list(op.params["body"]))
    order, carries = children_first(body), parts.inits
    for step in range(checked_steps(op, parts.n, parts.xs)):
        known = dict(zip(op.leaves, [*parts.consts, *carries, *[x[step, ...] for x in parts.xs]]))
        for t in order:
            if t.op is CONST:
                known[t] = t.value
            elif t.__class__ is Term:
                operands = [known[a] for a in t.args]
                known[t] = result = apply_meaning(t, operands)
                found = _look(t, result, operands, kind_of)
                if found is not None:
                    return found._replace(loops=[*found.loops, (op, step)])
        carries = [known[t] for t in body[: op.n_carry]]
        if op.params["until"] and known[body[-1]]:
            break
    return None


def _look(t: AnyTerm, result: Any, operands: list[Any], kind_of: Callable[[Any], str | None]) -> Found | None:
    bad = next((v for v in (result if isinstance(result, tuple) else (result,)) if kind_of(v)), None)
    if bad is None:
        return None
    inside = first_bad_step(t.op, operands, kind_of) if t.op.kind == "loop" else None  # as deep as loops are nested
    return inside or Found(t, bad, operands, [])
