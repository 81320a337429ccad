"""Lowering in one call: terms in, loop tree out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from termgraph.lower.lengths import loop_bodies, op_shapes  # noqa: F401  they declare their rules
from termgraph.lower.lengths.shapes import Lengths
from termgraph.lower.loops import repeat  # noqa: F401  they declare their rules
from termgraph.lower.loops.plan import Planner
from termgraph.lower.loops.tree import Node, show
from termgraph.lower.memory.strides import Kinds
from termgraph.lower.push import at_rules, checked  # noqa: F401  they declare their rules
from termgraph.lower.push.expand import BLAS_DTYPES, expand
from termgraph.lower.storage import axis_calls, cut_rules, routines  # noqa: F401  they declare their rules
from termgraph.lower.storage.policy import Statements, Storage


@dataclass
class Lowered:
    """A loop tree with its storage, lengths and the failures it can report."""

    nodes: list[Node]
    statements: Statements
    outputs: list[Any]
    origin: dict[Any, Any]
    spaces: list[Any] = field(default_factory=list)  # per workspace of a program: the term that needs it, or None

    @property
    def lengths(self) -> Lengths:
        """Lengths, checks and sites."""
        return self.statements.lengths

    def __str__(self) -> str:
        return show(self.nodes)


def lower(
    outputs: Sequence[Any],
    strided: Mapping[Any, Kinds] | None = None,
    reciprocal: bool = True,
    use_values: bool = True,
    untrimmed: bool = False,
    products: Sequence[str] = BLAS_DTYPES,
    calls: Collection[str] = (),
) -> Lowered:
    """The loops that compute the output terms from their `Arg` leaves.

    `strided` arguments are read by strides of these kinds, the others are C-contiguous. `reciprocal` admits dividing
    once per row and multiplying, which may change the last bit. `use_values`: lengths may be computed from values of
    arguments, as symbols `v<argument>`. `untrimmed`: stacked results of loops that stop early keep rows that mean
    nothing. `products` are the dtypes of which the backend multiplies matrices, `calls` the ops it has kernels of its
    own for.
    """
    outputs, origin = expand(outputs, products)
    statements = Storage(outputs, Lengths(outputs, use_values, untrimmed, calls), strided, reciprocal).run()
    return Lowered(Planner(statements.scalars).plan(statements.stores), statements, outputs, origin)
