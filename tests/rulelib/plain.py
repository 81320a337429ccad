"""What the driver in `termgraph/rules/rewrite.py` computes, said plainly: innermost, operands in order, each term once.

The driver keeps its own stack and marks terms instead of looking them up: there is no other difference.
"""

from collections import Counter

from termgraph.rules.clients import USES
from termgraph.rules.memo import _may_swap
from termgraph.rules.trace import Trace
from termgraph.terms.term import Term, mk
from termgraph.terms.traverse import subterms


class Plain:
    """Normal forms of some roots under a rule set."""

    def __init__(self, roots, rs):
        self.rs, self.trace, self.normal, self.first = rs, Trace(roots, rs.named), {}, {}
        self.uses = Counter([*roots, *(a for t in subterms(roots) for a in t.args)])

    def form(self, t):
        """The normal form of a term: that of what its rule makes of it, once its operands are in normal form."""
        if t not in self.normal:
            args = [self.form(a) for a in t.args]
            self.trace.visited += 1
            u = t if args == list(t.args) else self.passed_on(t, mk(t.op, tuple(args)))
            if u not in self.normal:
                self.normal[u] = self.replaced(u, t) if u.__class__ is Term else u
            self.normal[t] = self.normal[u]
        return self.normal[t]

    def replaced(self, u, t):
        match = self.rs.candidate(u)
        found = match(u) if match else None
        if found is None:
            return self.in_first_order(u)
        made, rule = found
        self.trace.steps.append((rule, u, made))
        if made in self.normal:
            return self.normal[made]
        made = self.form(made)
        self.uses[made] += self.uses[t]
        return made

    def in_first_order(self, u):
        """The term with these operands, in any order, that came first: where that gives the same numbers."""
        if not (self.rs.merges_commuted and _may_swap(u, self.rs.assume)):
            return u
        first = self.first.setdefault((u.op, u.type, *sorted(map(id, u.args))), u)
        if first is not u:
            self.trace.moved += [u, first]
        return first

    def passed_on(self, t, u):
        self.trace.moved += [t, u]
        self.uses[u] += self.uses[t]
        return u


def plainly(roots, rs):
    """As `rs.rewrite_terms(roots)`: the normal forms, and the trace."""
    rs.prepare()
    rs.meet_all(roots)
    run = Plain(roots, rs)
    USES.start(roots, ())
    USES.counts = run.uses
    try:
        return [run.form(t) for t in roots], run.trace
    finally:
        USES.stop()
