"""From what a step function built to a closed loop: which outer values it uses, the carries' types, the loop op.

A value that does not depend on the loop is computed outside, once, unless computing it may be skipped inside (under
`ifelse`) or shows (printing, checks).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from termgraph.loops.carries import Carry, settle_types
from termgraph.tensor.bipartite import inputs_of, variables_of
from termgraph.tensor.variable import Variable
from termgraph.terms.invariants import outer_terms
from termgraph.terms.op import CONST, INPUT
from termgraph.terms.ops.loop import loop, note_places
from termgraph.terms.term import Arg
from termgraph.terms.traverse import substitute, users_first


class Traced:
    """What a step function made: carries with their next values, row leaves with sequences, results, stop."""

    def __init__(
        self, carries: list[Carry], rows: list[tuple[Variable, Variable]], ys: list[Variable], stop: Any = None
    ) -> None:
        self.carries, self.rows, self.ys, self.stop = carries, rows, ys, stop

    @property
    def leaves(self) -> list[Variable]:
        return [*[c.leaf for c in self.carries], *[leaf for leaf, _ in self.rows]]

    @property
    def roots(self) -> list[Variable]:
        stop = [] if self.stop is None else [self.stop]
        return [*[c.new for c in self.carries], *self.ys, *stop]


def close(traced: Traced, n_steps: Variable, function: Callable[..., Any], **params: Any) -> list[Variable]:
    """The results of the loop as variables: final carries, ys, and the number of steps made if it may stop early."""
    settle_types(traced.carries, function)
    leaves = [v.term for v in traced.leaves]
    roots = [v.term for v in traced.roots]
    cuts = outer_terms(roots, leaves)
    outer = _variables_for(cuts, traced.roots)
    pairs = [(v.term, v.term.type) for v in outer]
    pairs += [(c.leaf.term, c.type) for c in traced.carries] + [(leaf.term, leaf.type) for leaf, _ in traced.rows]
    replace = {term: Arg(i, type_) for i, (term, type_) in enumerate(pairs)}
    body = tuple(substitute(roots, replace))
    op = loop.bind(
        body=body, takes=tuple([t for _, t in pairs]), n_consts=len(outer), n_carry=len(traced.carries),
        until=traced.stop is not None, **params,
    )  # fmt: skip
    note_places(op, Places([*traced.roots, *outer, *traced.leaves], replace))
    made = op(n_steps, *outer, *[c.init for c in traced.carries], *[x for _, x in traced.rows])
    return list(made) if isinstance(made, list) else [made]


# ---------------------------------------------------------------------- what lies outside
def _variables_for(terms: Sequence[Any], roots: Sequence[Variable]) -> list[Variable]:
    """The user's own variables for outer terms, found by walking down from the results of the step."""
    wanted = set(terms)
    found: dict[Any, Variable] = {}
    for v in walk(roots, lambda v: v.term in wanted):
        if v.term in wanted and v.term not in found:
            found[v.term] = v
    for t in terms:
        if t not in found and t.op is INPUT and t.shared is not None:
            found[t] = t.shared
    missing = [t for t in terms if t not in found]
    found.update(zip(missing, variables_of(missing)))
    return [found[t] for t in terms]


def walk(roots: Iterable[Variable], stop: Callable[[Variable], bool] = lambda v: False) -> list[Variable]:
    """Variables and what they are computed from, each once, not below those where `stop` holds."""
    return users_first(roots, lambda v: () if stop(v) else inputs_of(v))


class Places:
    """The user's names and lines for the terms of a body, worked out when an error or a printout asks."""

    def __init__(self, variables: Sequence[Variable], replace: Mapping[Any, Any]) -> None:
        self._variables, self._replace = list(variables), dict(replace)
        self._table: dict[Any, tuple] | None = None

    def __call__(self) -> dict[Any, tuple]:
        if self._table is None:
            table: dict[Any, tuple] = {}
            variables = walk(self._variables, lambda v: v.term in self._replace)
            for v, t in zip(variables, substitute([v.term for v in variables], self._replace)):
                name, site = table.get(t, (None, ()))
                if t.op is not CONST or v.name:
                    table[t] = (name or v.name, site or v.site)
            self._table = table
        return self._table
