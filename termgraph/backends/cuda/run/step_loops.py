"""Loops over steps on the device: the kernels of a body, queued once per step with other addresses.

Sequences, carries and stacked results are never copied: what a step reads and writes is a matter of where the kernels
are told to look. Recorded as a graph, a whole loop is one launch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from termgraph.lower.lengths.index import evaluate, product
from termgraph.lower.loops.tree import Repeat
from termgraph.lower.push.kernel import Buf

LARGEST = 2**32  # steps of one loop


class PlannedSteps:
    """A loop over steps for given lengths."""

    def __init__(self, repeat: Repeat, launches: list[Any], env: Mapping[str, int]) -> None:
        self.launches = launches
        number = lambda p: evaluate(p, env)  # noqa: E731
        place = lambda b, offset: (b, number(offset) * _item(b))  # noqa: E731
        self.steps = number(repeat.steps)
        self.leaves = [(leaf, place(b, at), number(step) * _item(b)) for leaf, b, at, step in repeat.leaves]
        self.carries = [(c.leaf, place(*c.init), c.next) for c in repeat.carries]
        self.kept = [(c.leaf, c.next, home, place(*c.init), self.size(home, env)) for c, home in repeat.kept]
        self.rows = [(r.target, r.buf, r.ring, self.size(r.target, env)) for r in repeat.rows]
        self.copies = [(source, to, number(n) * _item(to)) for source, to, n in repeat.copies]

    def size(self, b: Buf, env: Mapping[str, int]) -> int:
        """Bytes of a buffer."""
        return evaluate(product(b.shape), env) * _item(b)

    def run(self, program: Any, plan: Any, around: Mapping[Any, int]) -> None:
        """Queue all steps."""
        at: dict[Any, Any] = dict(around)
        outer = around.get("step", 0) % LARGEST * LARGEST
        copy = program.device.driver.copy
        self.enter(at, copy)
        for t in range(self.steps):
            for target, buf, ring, size in self.rows:
                if ring != 1:
                    at[target] = at[buf] + (t if ring is None else t % ring) * size
            at["step"] = outer + t + 1  # counted from one; that of the loop around it in the upper half
            program.queue_steps(plan, self.launches, at)
            for leaf, _, step in self.leaves:
                at[leaf] += step
            at.update({leaf: at[next_] for leaf, _, next_ in self.carries})
        for source, to, size in self.copies:
            if size:
                copy(at[to], at[source], size)

    def enter(self, at: dict[Any, int], copy: Any) -> None:
        """Where everything is in the first step."""
        for leaf, (b, offset), _ in self.leaves:
            at[leaf] = at[b] + offset
        for leaf, (b, offset), _ in self.carries:
            at[leaf] = at[b] + offset
        for leaf, next_, home, (b, offset), size in self.kept:
            if size:
                copy(at[home], at[b] + offset, size)
            at[leaf] = at[next_] = at[home]
        for target, buf, _, _ in self.rows:
            at[target] = at[buf]


def _item(b: Buf) -> int:
    return int(np.dtype(b.dtype).itemsize)
