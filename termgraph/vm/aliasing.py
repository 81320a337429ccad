"""Who owns an array's memory, at run time. Results handed out must not share memory with anything else.

Arrays on a device are told apart by their addresses.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from termgraph.terms.sparse import with_arrays


def owner_of(array: np.ndarray) -> Any:
    """The object that holds an array's memory: the end of its chain of bases."""
    while isinstance(array, np.ndarray):
        base = array.base
        if base is None:
            break
        array = base
    return array


def _references(results: Sequence[Any]) -> int:
    """How many references there are to the first of some results, seen as `held_by_nobody` sees them."""
    for v in results:
        return sys.getrefcount(v)
    return 0


# To a new result: the list of results, a name and, before Python 3.14, the argument of getrefcount.
HELD = _references([np.empty(0)])


def held_by_nobody(results: Sequence[Any]) -> bool:
    """Whether all results are new arrays with memory of their own, which nobody else can have then."""
    for v in results:  # noqa: SIM110  a generator would hold them as well
        if v.__class__ is not np.ndarray or v.base is not None or sys.getrefcount(v) > HELD:
            return False
    return True


class Claims:
    """Memory that belongs to somebody: arguments, shared variables, constants, results already handed out."""

    def __init__(self, taken: Iterable[Any], known: Iterable[Any] = ()) -> None:
        self._ids: set[Any] = set(known)
        for v in taken:
            if v.__class__ is np.ndarray and v.base is None:
                self._ids.add(id(v))
            else:
                self._ids.update(keys_of(v))

    def own(self, value: np.ndarray) -> np.ndarray:
        """The value, copied if somebody has its memory already; from now on it is claimed too."""
        ids = self._ids
        if value.__class__ is np.ndarray and value.base is None:  # what most results are
            if id(value) in ids:
                return value.copy()
            ids.add(id(value))
            return value
        keys = keys_of(value)
        if not ids.isdisjoint(keys):
            return value.copy() if len(keys) < 2 else self._own_matrix(value, keys)
        ids.update(keys)
        return value

    def _own_matrix(self, value: Any, keys: tuple) -> Any:
        """A sparse matrix whose arrays are its own: of the pattern of an argument, mostly, with other elements."""
        ids, (data, indices, indptr) = self._ids, (value.data, value.indices, value.indptr)
        made = with_arrays(
            value,
            data.copy() if keys[0] in ids else data,
            indices.copy() if keys[1] in ids else indices,
            indptr.copy() if keys[2] in ids else indptr,
        )
        ids.update(keys)
        return made

    def __contains__(self, value: object) -> bool:
        """Whether somebody has the memory of the value."""
        return not self._ids.isdisjoint(keys_of(value))


def keys_of(value: Any) -> tuple:
    """What tells the memory of an array from others: nothing for what is no array, three for a sparse matrix."""
    if isinstance(value, np.ndarray):
        return (id(owner_of(value)),)
    if hasattr(value, "indptr"):
        return id(owner_of(value.data)), id(owner_of(value.indices)), id(owner_of(value.indptr))
    return (("address", value.address),) if hasattr(value, "address") else ()
