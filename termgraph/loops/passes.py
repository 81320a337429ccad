"""The graph passes over loops, registered in the rule database with the tag `scan`, in the order they are run.

They see who reads a loop's results, which term rules cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from termgraph import db
from termgraph.loops.hoist_elementwise import costly_before, elementwise_after
from termgraph.loops.hoist_products import products_after, products_before
from termgraph.loops.keep_last import last_step, last_steps
from termgraph.loops.loop_term import loops_of
from termgraph.loops.merge import merge
from termgraph.loops.simplify import clean, hoist, unroll

MOST_ROUNDS = 8

Pass = Callable[[Sequence[Any]], tuple[list[Any], int]]  # the changed roots, and in how many places they were changed
BOTH = ("fast_run", "fast_compile")
PASSES: list[tuple[str, Pass, tuple[str, ...]]] = [
    ("scan.last_step", last_step, BOTH),
    ("scan.clean", clean, BOTH),
    ("scan.merge", merge, BOTH),
    ("scan.unroll", unroll, ("fast_run",)),
    ("scan.hoist", hoist, BOTH),
    ("scan.products_before", products_before, ("fast_run",)),
    ("scan.products_after", products_after, ("fast_run",)),
    ("scan.costly_before", costly_before, ("fast_run",)),
    ("scan.elementwise_after", elementwise_after, ("fast_run",)),
    ("scan.last_steps", last_steps, ("fast_run",)),
]


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


def run_passes(roots: Sequence[Any], passes: Sequence[Any]) -> tuple[list[Any], PassTrace]:
    """Run the passes in turn until none changes anything."""
    trace = PassTrace()
    roots = list(roots)
    for _ in range(MOST_ROUNDS):
        changed = 0
        for p in passes:
            if not loops_of(roots):
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
    db.register_pass(_name, _run, "scan", *_tags, order=float(_order), overwrite=True)
