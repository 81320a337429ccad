"""Sets of numbers with NumPy's names: union1d, intersect1d, setdiff1d, setxor1d. Arrays are flattened, results sorted.

All of them are composed of `unique`, `isin` and masks, so how long a result is becomes known when it is computed.
"""

from __future__ import annotations

from typing import Any, overload

from termgraph.tensor.elemwise import cast
from termgraph.tensor.joining import concatenate
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.shaping import ravel
from termgraph.tensor.sorting import argsort, isin, sort, unique
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import promote


@on_terms
def union1d(ar1: TensorLike, ar2: TensorLike) -> TensorVariable:
    """The distinct elements of both arrays.

    >>> import termgraph.tensor as T
    >>> T.union1d([3, 1, 3], [2, 1]).eval()
    array([1, 2, 3])
    """
    return unique(concatenate([ravel(as_tensor(ar1)), ravel(as_tensor(ar2))]))


@overload
def intersect1d(ar1: TensorLike, ar2: TensorLike, assume_unique: bool = False) -> TensorVariable: ...
@overload
def intersect1d(
    ar1: TensorLike, ar2: TensorLike, assume_unique: bool = False, return_indices: bool = False
) -> list[TensorVariable]: ...
@on_terms
def intersect1d(ar1: TensorLike, ar2: TensorLike, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """The distinct elements that both arrays have. With `return_indices` also where each first is in one and the other.

    `assume_unique` says that no array has an element twice, which saves time.

    >>> import termgraph.tensor as T
    >>> T.intersect1d([3, 1, 3, 5], [5, 2, 3]).eval()
    array([3, 5])
    """
    first, second = _alike(ar1, ar2)
    (first, place), (second, other) = [_distinct(x, assume_unique, return_indices) for x in (first, second)]
    common = isin(first, second)
    if not return_indices:
        return first[common]
    return [first[common], place[common], other[isin(second, first)]]


@on_terms
def setdiff1d(ar1: TensorLike, ar2: TensorLike, assume_unique: bool = False) -> TensorVariable:
    """The distinct elements of the first array that the second has not; in their order if they are `assume_unique`.

    >>> import termgraph.tensor as T
    >>> T.setdiff1d([3, 1, 3, 5], [5, 2]).eval()
    array([1, 3])
    """
    first = ravel(as_tensor(ar1))
    first = first if assume_unique else unique(first)
    return first[isin(first, ar2, invert=True)]


@on_terms
def setxor1d(ar1: TensorLike, ar2: TensorLike, assume_unique: bool = False) -> TensorVariable:
    """The distinct elements that only one of the arrays has.

    >>> import termgraph.tensor as T
    >>> T.setxor1d([3, 1, 3, 5], [5, 2]).eval()
    array([1, 2, 3])
    """
    first, second = [_distinct(x, assume_unique, False)[0] for x in _alike(ar1, ar2)]
    apart = [a[isin(a, b, invert=True)] for a, b in ((first, second), (second, first))]
    return sort(concatenate(apart))


def _alike(ar1: TensorLike, ar2: TensorLike) -> tuple[TensorVariable, TensorVariable]:
    """Both as vectors of one dtype."""
    first, second = ravel(as_tensor(ar1)), ravel(as_tensor(ar2))
    common = promote(first.type.np_dtype, second.type.np_dtype).name
    return cast(first, common), cast(second, common)


def _distinct(x: TensorVariable, assumed: bool, with_places: bool) -> tuple[TensorVariable, Any]:
    """The distinct elements in order, and where each is first if that is wanted."""
    if not with_places:
        return sort(x) if assumed else unique(x), None
    if assumed:
        places = argsort(x)
        return x[places], places
    values, places = unique(x, return_index=True)
    return values, places


__all__ = ["intersect1d", "setdiff1d", "setxor1d", "union1d"]
