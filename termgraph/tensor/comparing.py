"""Whether arrays are the same, lengths included (array_equal, array_equiv), and whether numbers are real."""

from __future__ import annotations

from typing import Any

import numpy as np

from termgraph.tensor.creation import arange, zeros
from termgraph.tensor.lengths import length, same
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.reductions import all as all_over
from termgraph.tensor.shaping import shape_padleft
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.shapes import at_axis


@on_terms
def array_equal(a1: TensorLike, a2: TensorLike, equal_nan: bool = False) -> TensorVariable:
    """Whether two arrays have the same lengths and equal elements: one truth value. Lengths may differ.

    >>> import termgraph.tensor as T
    >>> T.array_equal([1, 2], [1, 2, 3]).eval()
    array(False)
    """
    a, b = as_tensor(a1), as_tensor(a2)
    if a.ndim != b.ndim:
        return as_tensor(np.asarray(False))
    fit = []
    for d in range(a.ndim):
        n, m = length(a, d), length(b, d)
        if isinstance(n, int) and isinstance(m, int) and n != m:
            return as_tensor(np.asarray(False))
        if not same(n, m):
            fit.append(ew.eq(as_tensor(n), m))
            part = at_axis(d, slice(None, ew.minimum(n, m)))
            a, b = a[part], b[part]
    alike = ew.eq(a, b)
    if equal_nan:
        alike = ew.logical_or(alike, ew.logical_and(ew.isnan(a), ew.isnan(b)))
    return _all_of([*fit, all_over(alike)])


@on_terms
def array_equiv(a1: TensorLike, a2: TensorLike) -> TensorVariable:
    """Whether two arrays broadcast to one shape and have equal elements there: one truth value.

    >>> import termgraph.tensor as T
    >>> T.array_equiv([1, 1], [[1], [1]]).eval(), T.array_equiv([1, 2], [1, 2, 3]).eval()
    (array(True), array(False))
    """
    a, b = as_tensor(a1), as_tensor(a2)
    rank = max(a.ndim, b.ndim)
    a, b = (shape_padleft(v, rank - v.ndim) for v in (a, b))
    beside, unsure = (a, b), []
    for d in range(rank):
        n, m = length(a, d), length(b, d)
        if same(n, m) or 1 in (n, m):
            continue
        if isinstance(n, int) and isinstance(m, int):
            return as_tensor(np.asarray(False))
        unsure.append(d)
        beside = tuple(v[at_axis(d, slice(None, ew.minimum(n, m)))] for v in beside)
    alike = all_over(ew.eq(*beside))
    return _equivalent(a, b, unsure, alike) if unsure else alike


def _equivalent(a: Any, b: Any, unsure: list[int], alike: Any) -> Any:
    """Whether arrays are equivalent of which the call says some lengths; `alike`: whether they are, side by side.

    Lengths that differ are lengths of 1 and are read by index, which of arrays of one shape is done for no element.
    """
    pairs = [(as_tensor(length(a, d)), as_tensor(length(b, d))) for d in unsure]
    equal = _all_of([ew.eq(n, m) for n, m in pairs])
    fit = []
    for d, (n, m) in zip(unsure, pairs):
        one, other, alike_here = ew.eq(n, 1), ew.eq(m, 1), ew.eq(n, m)
        fit.append(ew.logical_or(alike_here, ew.logical_or(one, other)))
        together = ew.switch(one, m, ew.switch(ew.logical_or(other, alike_here), n, 0))
        together = ew.switch(equal, 0, together)
        a, b = (v[at_axis(d, ew.switch(k, 0, arange(together)))] for v, k in ((a, one), (b, other)))
    return _all_of([*fit, ew.switch(equal, alike, all_over(ew.eq(a, b)))])


def _all_of(conditions: list[Any]) -> Any:
    found = conditions[0]
    for condition in conditions[1:]:
        found = ew.logical_and(found, condition)
    return found


@on_terms
def iscomplex(x: TensorLike) -> TensorVariable:
    """Where the imaginary part is not 0.

    >>> import termgraph.tensor as T
    >>> T.iscomplex([1j, 2]).eval()
    array([ True, False])
    """
    return ew.neq(_imaginary(x), 0)


@on_terms
def isreal(x: TensorLike) -> TensorVariable:
    """Where the imaginary part is 0.

    >>> import termgraph.tensor as T
    >>> T.isreal([1j, 2]).eval()
    array([False,  True])
    """
    return ew.eq(_imaginary(x), 0)


def _imaginary(x: TensorLike) -> TensorVariable:
    x = as_tensor(x)
    return ew.imag(x) if x.type.kind == "c" else zeros([length(x, d) for d in range(x.ndim)], "bool")


def iscomplexobj(x: Any) -> bool:
    """Whether the dtype is complex: True or False, always known."""
    return as_tensor(x).type.kind == "c"


def isrealobj(x: Any) -> bool:
    """Whether the dtype is not complex: True or False, always known."""
    return not iscomplexobj(x)


__all__ = ["array_equal", "array_equiv", "iscomplex", "iscomplexobj", "isreal", "isrealobj"]
