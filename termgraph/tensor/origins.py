"""What variables were made from, where their graphs do not show it: the gradient of 3 * x is 3, whatever x is."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence

from termgraph.tensor.bipartite import ancestors
from termgraph.tensor.variable import Variable

_origins: weakref.WeakKeyDictionary[Variable, Sequence[Variable]] = weakref.WeakKeyDictionary()


def note_origins(made: Iterable[Variable], sources: Sequence[Variable]) -> None:
    """Remember that variables were made from others: the gradients of a cost by a thousand weights have one list."""
    given = {id(v) for v in sources}
    for v in made:
        if id(v) not in given:
            _origins[v] = sources


def original_inputs(variables: Iterable[Variable]) -> set[Variable]:
    """The variables that these were made from, whether it shows in their graphs or not."""
    found: dict[Variable, None] = {}
    waiting = list(variables)
    while waiting:
        new = [v for v in ancestors(waiting) if v not in found]
        found.update(dict.fromkeys(new))
        lists = {id(sources): sources for v in new if (sources := _origins.get(v))}
        waiting = [s for sources in lists.values() for s in sources]
    return set(found)


__all__ = ["note_origins", "original_inputs"]
