"""What variables were made from, where their graphs do not show it: the gradient of 3 * x is 3, whatever x is."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence

from termgraph.tensor.bipartite import ancestors
from termgraph.tensor.variable import Variable

_origins: weakref.WeakKeyDictionary[Variable, Sequence[Variable]] = weakref.WeakKeyDictionary()


def note_origins(made: Variable, sources: Sequence[Variable]) -> None:
    """Remember that a variable was made from others."""
    if not any(made is s for s in sources):
        _origins[made] = sources


def original_inputs(variables: Iterable[Variable]) -> set[Variable]:
    """The variables that these were made from, whether it shows in their graphs or not."""
    found: dict[Variable, None] = {}
    waiting = list(variables)
    while waiting:
        new = [v for v in ancestors(waiting) if v not in found]
        found.update(dict.fromkeys(new))
        waiting = [s for v in new for s in _origins.get(v, ())]
    return set(found)


__all__ = ["note_origins", "original_inputs"]
