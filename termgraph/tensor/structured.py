"""Equations whose matrix has a structure, with scipy.linalg's names, for T.linalg: bands of diagonals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from termgraph.tensor.lifting import on_terms
from termgraph.tensor.shaping import expand_dims, squeeze
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.ops import structured as ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from termgraph.tensor.likes import TensorLike
    from termgraph.tensor.variable import TensorVariable
    from termgraph.terms.op import Op

ON_ERROR = ("raise", "nan")


def checked_on_error(name: str, on_error: str) -> str:
    if on_error not in ON_ERROR:
        raise ValueError(f"{name}: on_error must be 'raise' or 'nan', got {on_error!r}")
    return on_error


def _solved(op: Op, a: TensorLike, b: TensorLike, **params: object) -> TensorVariable:
    """The solution for b, a vector if it has one dimension, else (batches of) matrices."""
    b = as_tensor(b)
    found = op(a, expand_dims(b, -1) if b.ndim == 1 else b, **params)
    return squeeze(found, -1) if b.ndim == 1 else found


@on_terms
def solve_banded(l_and_u: Sequence[int], ab: TensorLike, b: TensorLike, on_error: str = "raise") -> TensorVariable:
    """The solution x of a @ x = b for a matrix a that is 0 but for l diagonals below and u above the main one.

    `ab` has a row for each diagonal, the highest first: `ab[u + i - j, j]` is `a[i, j]`, and what lies outside of a is
    not read. b is a vector if it has one dimension, else (a batch of) matrices. It is solved by Gauss's elimination
    with partial pivoting inside the bands, in n * (l + u + 1) numbers of memory and about n * l * (l + u) steps; the
    full matrix is never made. A singular matrix raises LinAlgError when the function runs; with `on_error="nan"` its
    solution is NaN.

    >>> import termgraph.tensor as T
    >>> T.linalg.solve_banded((1, 1), [[0.0, 1.0, 1.0], [4.0, 4.0, 4.0], [1.0, 1.0, 0.0]], [5.0, 6.0, 5.0]).eval()
    array([1., 1., 1.])
    """
    try:
        lower, upper = [n.__index__() for n in l_and_u]
    except (TypeError, ValueError, AttributeError):
        raise TypeError(
            f"solve_banded: l_and_u must be two integers, how many diagonals lie below and above the main one, got "
            f"{l_and_u!r}"
        ) from None
    if lower < 0 or upper < 0:
        raise ValueError(f"solve_banded: l_and_u must not be negative, got {(lower, upper)}")
    return _solved(
        ops.solve_banded, ab, b, lower=lower, upper=upper, on_error=checked_on_error("solve_banded", on_error)
    )


@on_terms
def solveh_banded(ab: TensorLike, b: TensorLike, lower: bool = False, on_error: str = "raise") -> TensorVariable:
    """The solution x of a @ x = b for a positive definite matrix a with some diagonals, of which one triangle is given.

    `ab` has a row for each diagonal: the main one is the last, and above it are those that lie above it
    (`ab[-1 + i - j, j]` is `a[i, j]`); with `lower` it is the first, and the others lie below (`ab[i - j, j]`). It is
    solved by Cholesky's factors inside the bands, in n numbers of memory for each diagonal; the full matrix is never
    made. A matrix that is not positive definite raises LinAlgError when the function runs; with `on_error="nan"` its
    solution is NaN.

    >>> import termgraph.tensor as T
    >>> T.linalg.solveh_banded([[0.0, 1.0, 1.0], [4.0, 4.0, 4.0]], [5.0, 6.0, 5.0]).eval()
    array([1., 1., 1.])
    """
    return _solved(ops.solveh_banded, ab, b, lower=bool(lower), on_error=checked_on_error("solveh_banded", on_error))
