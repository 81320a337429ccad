"""Functions of theano.tensor.extra_ops that take more than NumPy's. May import the tensor language."""

from __future__ import annotations

from typing import Any

import termgraph.tensor as T
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.variable import Variable


def bincount(
    x: TensorLike, weights: TensorLike | None = None, minlength: int | None = None, assert_nonneg: bool = False
) -> Any:
    """How often each number occurs; negative ones are an error in any case."""
    return T.bincount(x, weights, minlength or 0)


def unravel_index(indices: TensorLike, dims: Any, order: str = "C", ndim: int | None = None) -> Any:
    """Places in an array of these lengths; `ndim` says how many there are where `dims` is a vector of unknown length.

    >>> lengths = T.lvector("lengths")
    >>> [int(i.eval({lengths: [3, 4]})) for i in unravel_index(5, lengths, ndim=2)]
    [1, 1]
    """
    return T.unravel_index(indices, _lengths(dims, ndim), order)


def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "raise", order: str = "C") -> Any:
    """The number of the element at these places: there are as many lengths as places."""
    ndim = len(multi_index) if isinstance(multi_index, (list, tuple)) else None
    return T.ravel_multi_index(multi_index, _lengths(dims, ndim), mode, order)


def _lengths(dims: Any, ndim: int | None) -> Any:
    unknown = isinstance(dims, Variable) and dims.ndim == 1 and dims.type.shape == (None,)
    return [dims[i] for i in range(ndim)] if unknown and ndim is not None else dims
