"""What graphs do not show: what variables were made from (the gradient of 3 * x is 3, whatever x is), and which zeros
were asked for as an array whose elements do not matter.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import Any

from termgraph._lazy import lazy
from termgraph.tensor.bipartite import ancestors, inputs_of
from termgraph.tensor.variable import Variable
from termgraph.terms.traverse import work_out

shaping: Any = lazy("termgraph.terms.ops.shaping")
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


def differentiated(variables: Sequence[Variable]) -> tuple[list[bool], list[Variable]]:
    """Of each variable whether gradients are in it, and what was differentiated to make these: costs and parameters."""
    waiting, within = list(variables), dict[Variable, bool]()
    made_from: dict[int, Sequence[Variable]] = {}
    while waiting:
        _note_gradients(waiting, within)
        lists = {id(s): s for v in within if (s := _origins.get(v)) and id(s) not in made_from}
        made_from |= lists
        waiting = [v for s in lists.values() for v in s]
    return [within[v] for v in variables], list(dict.fromkeys(v for s in made_from.values() for v in s))


def _note_gradients(variables: Sequence[Variable], within: dict[Variable, bool]) -> None:
    """Note of all that variables are computed from whether gradients are in it; what these are made of is not asked."""
    operands = lambda v: () if v in _origins else inputs_of(v)  # noqa: E731
    for v in variables:
        work_out(within, v, operands, lambda u: u in _origins or any(within[w] for w in operands(u)))


# ---------------------------------------------------------------------- elements that do not matter
_unset: weakref.WeakSet[Variable] = weakref.WeakSet()


def unset(zeros: Any) -> Any:
    """Zeros as a variable whose elements do not matter; other variables of the same term stay zeros."""
    _unset.add(zeros)
    return zeros


def as_result(v: Any) -> Any:
    """What a function in C shall return for a variable: if its elements do not matter, they are not written."""
    if not _unset or v not in _unset or v.term.op.family is not shaping.alloc:
        return v
    made = shaping.empty(*v.owner.inputs[1:], dtype=v.type.dtype)
    made.name, made.site = v.name, v.site
    return made
