"""Who owns an array's memory, at run time. Results handed out must not share memory with anything else.

Arrays on a device are told apart by their addresses. May import NumPy only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


def owner_of(array: Any) -> Any:
    """The object that holds an array's memory: the end of its chain of bases."""
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return array


class Claims:
    """Memory that belongs to somebody: arguments, shared variables, constants, results already handed out."""

    def __init__(self, *taken: Iterable[Any]) -> None:
        self._ids = {key for values in taken for v in values if (key := _key(v)) is not None}

    def own(self, value: Any) -> Any:
        """The value, copied if somebody has its memory already; from now on it is claimed too."""
        key = _key(value)
        if key is None:
            return value
        if key in self._ids:
            return value.copy()
        self._ids.add(key)
        return value

    def __contains__(self, value: Any) -> bool:
        """Whether somebody has the memory of the value."""
        return _key(value) in self._ids


def _key(value: Any) -> Any:
    """What tells the memory of an array from that of others; None for what is no array."""
    if isinstance(value, np.ndarray):
        return id(owner_of(value))
    return ("address", value.address) if hasattr(value, "address") else None
