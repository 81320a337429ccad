"""Words for gradient errors: which path leads from the cost to the input, with the user's lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from termgraph.tensor.bipartite import ancestors
from termgraph.tensor.trace import where
from termgraph.tensor.variable import Constant, Variable
from termgraph.terms.op import INPUT
from termgraph.terms.term import AnyTerm
from termgraph.terms.text import one_line
from termgraph.terms.traverse import path_to, subterms

_MOST = 12  # steps of a path that are shown


def label(v: Variable) -> str:
    """A variable as the user knows it."""
    return v.name or one_line(v.term, 60)


class Names:
    """The user's names and lines for terms."""

    def __init__(self, variables: Sequence[Variable]) -> None:
        self.table: dict[Any, tuple[str | None, tuple]] = {}
        for v in ancestors(variables):
            name, site = self.table.get(v.term, (None, ()))
            if not isinstance(v, Constant) or v.name:
                self.table[v.term] = (name or v.name, site or v.site)

    def describe(self, t: AnyTerm) -> str:
        """Name or formula, and the line."""
        name, site = self.table.get(t, (None, ()))
        text = name or one_line(t, 60)
        return f"{text}   ({where(site)})" if site else text

    def path(self, chain: Sequence[Any]) -> str:
        """A chain of terms, one a line."""
        chain = [t for i, t in enumerate(chain) if t.op.name != "nth" and (i == 0 or t is not chain[i - 1])]
        if len(chain) > _MOST:
            half = _MOST // 2
            chain = [*chain[:half], None, *chain[-half:]]
        lines = ["    ..." if t is None else f"    {self.describe(t)}" for t in chain]
        return "\n".join(lines)


def path_text(roots: Sequence[Variable], v: Variable) -> str:
    """The path from the first root that depends on v, or nothing."""
    for root in roots:
        chain = path_to(root.term, v.term)
        if chain:
            return f"\n  The path from the cost to the input:\n{Names([*roots, v]).path(chain)}"
    return ""


def refusal_text(refusal: Any, roots: Sequence[Variable], wrt: Sequence[Variable]) -> str:
    """The error for a derivative that is not defined or not implemented."""
    names = Names([*roots, *wrt])
    chain: list[Any] = []
    for root in roots:
        chain = path_to(root.term, refusal.term)
        if chain:
            break
    for v in wrt:
        below = path_to(refusal.argument, v.term)
        if below:
            chain = [*chain, *below]
            break
    return f"{refusal.what}\n  The path from the cost to the input:\n{names.path(chain)}"


def disconnected_text(v: Variable, roots: Sequence[Variable]) -> str:
    """The error for an input that the cost does not depend on."""
    text = f"the cost does not depend on {label(v)}"
    for root in roots:
        chain = path_to(root.term, v.term)
        if chain:
            names = Names([*roots, v])
            text += (
                " other than through a length (a shape) or a part declared constant, so there is no gradient.\n"
                f"  The path from the cost to the input:\n{names.path(chain)}"
            )
            return text + _ADVICE
    leaves = [t for t in subterms([r.term for r in roots]) if t.op is INPUT]
    same = [t for t in leaves if v.name and t.name == v.name]
    if same:
        text += f"; the cost contains another variable named {v.name} (of type {same[0].type}), made separately"
    else:
        shown = ", ".join(sorted(repr(t) for t in leaves)[:8])
        text += f". It depends on: {shown}" if shown else ". It depends on constants only"
    return text + "." * (not same) + _ADVICE


_ADVICE = "\n  To get zeros for it, pass disconnected_inputs='ignore' (or 'warn')."
