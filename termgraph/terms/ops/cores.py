"""Functions of short matrices in one thread: the number of cores is not to be seen in the last bits of a decomposition.

Generated C does the same (`take_cores`), and so the two have equal bits. May touch: the threads of NumPy's LAPACK.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from termgraph._lazy import lazy

lapack = lazy("termgraph.terms.lapack")
SHORT = 512  # rows; threads of one decomposition wait for each other hundreds of times, which pays for long ones


def steady(meaning: Callable[..., Any]) -> Callable[..., Any]:
    """The function of matrices, in one thread where the first one is short."""

    @functools.wraps(meaning)
    def computed(a: np.ndarray, *more: np.ndarray, **params: Any) -> Any:
        is_short = np.shape(a)[-2:-1] < (SHORT,)
        with lapack.one_thread() if is_short else contextlib.nullcontext():
            return meaning(a, *more, **params)

    return computed
