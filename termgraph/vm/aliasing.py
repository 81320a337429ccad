"""Who owns an array's memory, at run time. Results handed out must not share memory with anything else.

Arrays on a device are told apart by their addresses.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


def owner_of(array: np.ndarray) -> Any:
    """The object that holds an array's memory: the end of its chain of bases."""
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return array


class Claims:
    """Memory that belongs to somebody: arguments, shared variables, constants, results already handed out."""

    def __init__(self, *taken: Iterable[Any]) -> None:
        self._ids = {key for values in taken for v in values for key in _keys(v)}

    def own(self, value: np.ndarray) -> np.ndarray:
        """The value, copied if somebody has its memory already; from now on it is claimed too."""
        keys = _keys(value)
        if not self._ids.isdisjoint(keys):
            return value.copy()
        self._ids.update(keys)
        return value

    def __contains__(self, value: object) -> bool:
        """Whether somebody has the memory of the value."""
        return not self._ids.isdisjoint(_keys(value))


def _keys(value: Any) -> tuple:
    """What tells the memory of an array from others: nothing for what is no array, three for a sparse matrix."""
    if isinstance(value, np.ndarray):
        return (id(owner_of(value)),)
    if hasattr(value, "indptr"):
        return tuple([id(owner_of(a)) for a in (value.data, value.indices, value.indptr)])
    return (("address", value.address),) if hasattr(value, "address") else ()
