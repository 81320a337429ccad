"""Who owns an array's memory, at run time. Results handed out must not share memory with anything else.

May import NumPy only.
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
        self._ids = {id(owner_of(v)) for values in taken for v in values if isinstance(v, np.ndarray)}

    def own(self, value: Any) -> Any:
        """The value, copied if somebody has its memory already; from now on it is claimed too."""
        if not isinstance(value, np.ndarray):
            return value
        key = id(owner_of(value))
        if key in self._ids:
            return value.copy()
        self._ids.add(key)
        return value
