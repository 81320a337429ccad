"""In which precision linear algebra is computed: in that of the matrix where the table says so, else in double.

NumPy computes float32 in double and rounds; of most functions that takes no longer. Its library has loops in single
precision too, which its functions do not call, and LAPACK's functions (`qr`); SciPy, PyTorch and JAX call these so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from termgraph._records import NamedTuple

NO_EIGENVALUES, NO_SVD = "Eigenvalues did not converge", "SVD did not converge"  # what NumPy says
NOT_FINITE_EIG = "Array must not contain infs or NaNs"
LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}  # with which names of LAPACK's functions begin
UNITARY = {"f": "orgqr", "c": "ungqr"}  # what makes Q of what geqrf leaves
DOUBLE = {"float32": "float64", "complex64": "complex128"}


class Single(NamedTuple):
    """A decomposition in single precision: of which dtypes, by which loop of NumPy's, and the kinds of its results.

    These are "r" for real and "c" for complex numbers, "x" for such as the matrix has.
    """

    dtypes: tuple[str, ...]
    loop: Callable[[Mapping[str, Any]], str]
    results: str
    told: str


_REAL, _BOTH = ("float32",), ("float32", "complex64")  # for eigenvalues of complex64 there is no loop
SINGLE = {
    "eig": Single(_REAL, lambda params: "eig", "cc", NO_EIGENVALUES),
    "eigvals": Single(_REAL, lambda params: "eigvals", "c", NO_EIGENVALUES),
    "eigh": Single(_BOTH, lambda params: f"eigh_{'lo' if params['lower'] else 'up'}", "rx", NO_EIGENVALUES),
    "eigvalsh": Single(_BOTH, lambda params: f"eigvalsh_{'lo' if params['lower'] else 'up'}", "r", NO_EIGENVALUES),
    "svd": Single(_BOTH, lambda params: f"svd_{'f' if params['full_matrices'] else 's'}", "xrx", NO_SVD),
    "svdvals": Single(_BOTH, lambda params: "svd", "r", NO_SVD),
}


def computed_in(name: str, dtype: str) -> str:
    """The dtype in which a function of linear algebra is computed for matrices of a dtype."""
    single = SINGLE.get(name)
    own = name == "qr" or single and dtype in single.dtypes  # of `qr` NumPy has no such loop, LAPACK has
    return dtype if own else DOUBLE.get(dtype, dtype)


def in_single(name: str, a: np.ndarray, params: Mapping[str, Any]) -> tuple[np.ndarray, ...] | None:
    """Its results in single precision; None where it is computed in double, or this NumPy has no such loop."""
    single = SINGLE[name]
    if a.dtype.name not in single.dtypes:
        return None
    loop = getattr(np.linalg._umath_linalg, single.loop(params), None)
    made = "".join([{"r": "f", "c": "F", "x": a.dtype.char}[kind] for kind in single.results])
    if loop is None or f"{a.dtype.char}->{made}" not in loop.types:
        return None
    if single.told == NO_EIGENVALUES and a.shape[-1:] != a.shape[-2:-1]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    if "c" in single.results and not np.isfinite(a).all():
        raise np.linalg.LinAlgError(NOT_FINITE_EIG)

    def refuse(error: str, flag: int) -> None:
        raise np.linalg.LinAlgError(single.told)

    with np.errstate(call=refuse, invalid="call", over="ignore", divide="ignore", under="ignore"):
        found = loop(a, signature=f"{a.dtype.char}->{made}")
    return found if isinstance(found, tuple) else (found,)
