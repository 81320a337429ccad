"""theano.tensor.subtensor: indexing as functions. May import the tensor language."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import termgraph.tensor as T
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.variable import TensorVariable


class AdvancedIndexingError(TypeError):
    """An index that an op for plain slices does not take."""


class AdvancedBooleanIndexingError(TypeError):
    """A mask where none is possible."""


def advanced_subtensor(x: TensorLike, *index: TensorLike) -> Any:
    """x[index], of arrays of positions."""
    return T.as_tensor(x)[index]


def _put(function: Callable[..., Any], x: object, y: TensorLike, index: tuple) -> Any:
    return function(T.as_tensor(x)[index], y)


def advanced_inc_subtensor(x: TensorLike, y: TensorLike, *index: TensorLike) -> Any:
    """x with y added at the index."""
    return _put(T.inc_subtensor, x, y, index)


def advanced_set_subtensor(x: TensorLike, y: TensorLike, *index: TensorLike) -> Any:
    """x with y at the index."""
    return _put(T.set_subtensor, x, y, index)


advanced_subtensor1 = advanced_boolean_subtensor = advanced_subtensor
advanced_inc_subtensor1 = advanced_boolean_inc_subtensor = advanced_inc_subtensor
advanced_set_subtensor1 = advanced_boolean_set_subtensor = advanced_set_subtensor


def as_index_variable(idx: TensorLike) -> Any:
    """An index as a variable; slices and None stay what they are."""
    return idx if idx is None or isinstance(idx, slice) else T.as_tensor(idx)


def make_constant(args: Sequence[Any]) -> tuple:
    """Indices as constants."""
    return tuple([a if a is None or isinstance(a, slice) else T.as_tensor(a) for a in args])


def get_idx_list(inputs: Sequence[Any], idx_list: Sequence[Any], get_count: bool = False) -> Any:
    """An index whose entries that are types are filled by the inputs, in order."""
    given = list(inputs)[1:]
    n = len(given)

    def fill(entry: Any) -> Any:
        if isinstance(entry, slice):
            return slice(*[fill(p) for p in (entry.start, entry.stop, entry.step)])
        return given.pop(0) if hasattr(entry, "make_variable") else entry

    found = tuple([fill(e) for e in idx_list])
    return n - len(given) if get_count else found


def get_canonical_form_slice(theslice: TensorLike, length: Any) -> tuple:
    """A slice with bounds from 0 and a step of 1 or more, and 1 or -1 for the direction; or an index from 0."""
    if not isinstance(theslice, slice):
        i = T.as_tensor(theslice)
        return T.switch(T.lt(i, 0), i + length, i), 1
    step = 1 if theslice.step is None else theslice.step
    n = T.as_tensor(length)
    places = T.arange(n)[theslice.start : theslice.stop : step]
    count = places.shape[0]
    first = T.switch(T.gt(count, 0), places[0] if False else _first(theslice.start, n, step), 0)
    forward = T.gt(T.as_tensor(step), 0)
    last = first + (count - 1) * step
    low = T.switch(forward, first, last)
    size = T.abs_(T.as_tensor(step))
    return slice(low, low + (count - 1) * size + 1, size), T.switch(forward, 1, -1)


def _first(start: Any, n: TensorVariable, step: TensorLike) -> Any:
    if start is None:
        return T.switch(T.gt(T.as_tensor(step), 0), 0, n - 1)
    start = T.as_tensor(start)
    return T.clip(T.switch(T.lt(start, 0), start + n, start), 0, n - 1)
