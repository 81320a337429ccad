"""What lowering complains of, as a value, in terms of the graph that a backend was given."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from termgraph.lower.lengths.checks import NotLowerable
from termgraph.lower.push.expand import BLAS_DTYPES, expand
from termgraph.vm.partition import Refusal


def refusal(
    error: NotLowerable, roots: Sequence[Any], products: Sequence[str] = BLAS_DTYPES, calls: Collection[str] = ()
) -> Refusal:
    """The term of the graph that cannot be lowered, why, and which number would help if it were known before."""
    origin = expand(roots, products, calls)[1]
    wanted = () if error.wanted is None else (origin.get(error.wanted, error.wanted),)
    return Refusal(origin.get(error.term, error.term), error.why, wanted)
