"""Linear maps between arrays of several dimensions for T.linalg: tensorinv and tensorsolve."""

from __future__ import annotations

from typing import TYPE_CHECKING

from termgraph.tensor.lengths import lengths, product
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.shaping import dimshuffle, ravel, reshape
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.ops import linalg as ops
from termgraph.terms.ops.shapes import normal_axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from termgraph.tensor.likes import TensorLike
    from termgraph.tensor.variable import TensorVariable


@on_terms
def tensorinv(a: TensorLike, ind: int = 2) -> TensorVariable:
    """The inverse of `a` as a map between the first `ind` dimensions and the others, for `tensordot`."""
    a = as_tensor(a)
    if not 0 < ind < a.ndim:
        raise ValueError(f"tensorinv: ind must be between 1 and {a.ndim - 1}, got {ind}")
    sizes = lengths(a)
    return reshape(ops.inv(reshape(a, (product(sizes[:ind]), -1))), (*sizes[ind:], *sizes[:ind]))


@on_terms
def tensorsolve(a: TensorLike, b: TensorLike, axes: Sequence[int] | None = None) -> TensorVariable:
    """The x with `tensordot(a, x, x.ndim) = b`; dimensions `axes` of `a` are moved to its end before.

    >>> import numpy as np, termgraph.tensor as T
    >>> a = np.arange(1.0, 17.0).reshape(2, 2, 2, 2) + np.eye(4).reshape(2, 2, 2, 2)
    >>> T.linalg.tensorsolve(a, T.tensordot(a, np.ones((2, 2)), 2)).eval().round(6)
    array([[1., 1.],
           [1., 1.]])
    """
    a, b = as_tensor(a), as_tensor(b)
    if axes is not None:
        last = [normal_axis(k, a.ndim) for k in axes]
        a = dimshuffle(a, *[d for d in range(a.ndim) if d not in last], *last)
    if not b.ndim < a.ndim:
        raise ValueError(f"tensorsolve: {a} must have more dimensions than {b}, got {a.ndim} and {b.ndim}")
    of_x = lengths(a)[b.ndim :]
    rows = reshape(a, (-1, product(of_x)))
    return reshape(ops.solve(rows, dimshuffle(ravel(b), 0, "x"), assume_a="gen", on_error="raise"), of_x)
