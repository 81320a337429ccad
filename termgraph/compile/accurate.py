"""The stage of the mode ACCURATE: element-wise parts in the forms that lose fewest bits, before any rule is used."""

from __future__ import annotations

from termgraph._records import replace
from termgraph.accuracy.accurate import improved
from termgraph.compile.values import Rewritten


def accurate(value: Rewritten) -> Rewritten:
    """Each element-wise part in the form that loses fewest bits, for all operands that `T.assume` allows."""
    roots, traces, _ = improved(list(value.roots), {})
    return replace(value, roots=tuple(roots), traces=(*value.traces, *traces))
