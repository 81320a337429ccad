"""The graph passes over loops and systems of equations, registered in the rule database with the tag `scan`, in the
order they are run.

They see who reads a result, which term rules cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from termgraph import db
from termgraph.loops.factors import (
    cholesky_factors,
    equal_factors,
    equal_factors_before,
    shared_factors,
    shared_factors_before,
)
from termgraph.loops.hoist_elementwise import costly_before, elementwise_after
from termgraph.loops.hoist_products import products_after, products_before
from termgraph.loops.keep_last import last_step, last_steps
from termgraph.loops.merge import merge
from termgraph.loops.simplify import clean, hoist, unroll
from termgraph.terms.ops.linalg import solve
from termgraph.terms.ops.loop import loop
from termgraph.terms.traverse import children_first

MOST_ROUNDS = 8

Pass = Callable[[Sequence[Any]], tuple[list[Any], int]]  # the changed roots, and in how many places they were changed
BOTH = ("fast_run", "fast_compile")
PASSES: list[tuple[str, Pass, tuple[str, ...]]] = [
    ("scan.last_step", last_step, BOTH),
    ("scan.clean", clean, BOTH),
    ("scan.merge", merge, BOTH),
    ("scan.unroll", unroll, ("fast_run",)),
    ("scan.cholesky_factors", cholesky_factors, ("fast_run",)),
    ("scan.hoist", hoist, BOTH),
    ("scan.shared_factors_before", shared_factors_before, ("fast_run",)),
    ("scan.equal_factors_before", equal_factors_before, ("fast_run",)),
    ("scan.products_before", products_before, ("fast_run",)),
    ("scan.products_after", products_after, ("fast_run",)),
    ("scan.costly_before", costly_before, ("fast_run",)),
    ("scan.elementwise_after", elementwise_after, ("fast_run",)),
    ("scan.last_steps", last_steps, ("fast_run",)),
    ("scan.shared_factors", shared_factors, ("fast_run",)),
    ("scan.equal_factors", equal_factors, ("fast_run",)),
]
ASSUMES: dict[Pass, tuple[str, ...]] = {
    cholesky_factors: ("reassoc", "domain"),
    shared_factors: ("reassoc",),
    shared_factors_before: ("reassoc",),
}


class PassTrace:
    """How often each pass changed something and how long it took; looks like the trace of rewriting rules."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.seconds: dict[str, float] = {}
        self.stage = "scan"
        self.body: Any = None

    def __iter__(self) -> Any:
        return iter(())

    def origins(self) -> dict:
        """Passes over loops keep the lines of bodies themselves."""
        return {}


def concerns(roots: Sequence[Any]) -> bool:
    """Whether a graph has what the passes are about."""
    return any(t.op.family is loop or t.op.family is solve for t in children_first(roots))


def run_passes(roots: Sequence[Any], passes: Sequence[Any]) -> tuple[list[Any], PassTrace]:
    """Run the passes in turn until none changes anything."""
    trace = PassTrace()
    roots = list(roots)
    for _ in range(MOST_ROUNDS):
        changed = 0
        for p in passes:
            if not concerns(roots):
                return roots, trace
            start = perf_counter()
            roots, count = p.run(roots)
            changed += count
            if count:
                trace.counts[p.name] = trace.counts.get(p.name, 0) + count
                trace.seconds[p.name] = trace.seconds.get(p.name, 0.0) + perf_counter() - start
        if not changed:
            break
    return roots, trace


for _order, (_name, _run, _tags) in enumerate(PASSES):
    db.register_pass(_name, _run, "scan", *_tags, order=float(_order), overwrite=True, assumes=ASSUMES.get(_run, ()))
