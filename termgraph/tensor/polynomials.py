"""Polynomials as vectors of coefficients, the highest power first, with NumPy's names: polyval, polyfit, roots.

All of them are composed of other functions, so their gradients, loops and kernels are those of what they are made of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from termgraph.tensor.arranging import vander
from termgraph.tensor.convolution import convolve
from termgraph.tensor.creation import arange, eye, zeros
from termgraph.tensor.elemwise import cast
from termgraph.tensor.inserting import zeros_in_front
from termgraph.tensor.joining import concatenate
from termgraph.tensor.lengths import length, lengths
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.linalg import eigvals, inv, lstsq, pinv
from termgraph.tensor.products import dot, outer
from termgraph.tensor.reductions import sum as sum_over
from termgraph.tensor.running import ABOVE
from termgraph.tensor.shaping import broadcast_to, dimshuffle, ravel, reshape
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import finfo, promote
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.assume import required

if TYPE_CHECKING:
    from termgraph.tensor.likes import TensorLike
    from termgraph.tensor.variable import TensorVariable

HORNER = 64  # coefficients up to which the text of a kernel is one line for each


def _coefficients(p: TensorLike, who: str) -> TensorVariable:
    p = as_tensor(p)
    if p.ndim > 1:
        raise ValueError(f"{who} takes a vector of coefficients, {p} has {p.ndim} dimensions")
    return ravel(p)


@on_terms
def polyval(p: TensorLike, x: TensorLike) -> TensorVariable:
    """The values at `x` of the polynomial with coefficients `p`, by Horner's scheme where their number is known.

    >>> import termgraph.tensor as T
    >>> T.polyval([1.0, 0.0, -2.0], [0.0, 1.0, 2.0]).eval()
    array([-2., -1.,  2.])
    """
    p, x = _coefficients(p, "polyval"), as_tensor(x)
    (n,) = p.type.shape
    dtype = promote(p.type.np_dtype, x.type.np_dtype).name
    p, x = cast(p, dtype), cast(x, dtype)
    if n is None or n > HORNER:
        return cast(reshape(dot(vander(ravel(x), length(p, 0)), p), lengths(x)), dtype)  # powers are wide
    if n == 0:
        return zeros(lengths(x), dtype)
    value = broadcast_to(p[0], lengths(x))
    for k in range(1, n):
        value = value * x + p[k]
    return value


@overload
def polyfit(
    x: TensorLike, y: TensorLike, deg: int, rcond: float | None = None, *, w: TensorLike | None = None
) -> TensorVariable: ...
@overload
def polyfit(
    x: TensorLike,
    y: TensorLike,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: TensorLike | None = None,
    cov: bool | str = False,
) -> list[Any]: ...
@on_terms
def polyfit(
    x: TensorLike,
    y: TensorLike,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: TensorLike | None = None,
    cov: bool | str = False,
) -> Any:
    """The coefficients of the polynomial of degree `deg` that fits points best by least squares, each weighted by `w`.

    `y` may be a matrix with a set of points in each column. Where the points leave coefficients open, the smallest ones
    are given. With `full` a list of them, the residuals, the rank, the singular values and `rcond`; with `cov` of them
    and of their covariance, which with "unscaled" takes the weights for one over the standard deviations.

    >>> import termgraph.tensor as T
    >>> T.polyfit([0.0, 1.0, 2.0, 3.0], [1.0, 3.0, 5.0, 7.0], 1).eval().round(9)
    array([2., 1.])
    """
    x, y = [cast(v, "float64") if v.type.kind in "biu" else v for v in (as_tensor(x), as_tensor(y))]
    if x.ndim != 1 or y.ndim not in (1, 2):
        raise ValueError(f"polyfit takes places in a vector, values in a vector or matrix, got {x.type} and {y.type}")
    if isinstance(deg, bool) or not isinstance(deg, (int, np.integer)) or deg < 0:
        raise ValueError(f"polyfit: deg must be an integer of at least 0, got {deg!r}")
    if not isinstance(full, (int, np.bool_)):
        raise TypeError(f"polyfit: full must be True or False, got {full}; weights are given as w=")
    powers = vander(x, int(deg) + 1)
    if w is not None:
        w = as_tensor(w)
        powers, y = powers * dimshuffle(w, 0, "x"), y * (w if y.ndim == 1 else dimshuffle(w, 0, "x"))
    norms = ew.sqrt(sum_over(ew.real(powers * ew.conj(powers)), 0))  # columns of one size: fewer digits are lost
    each = norms if y.ndim == 1 else dimshuffle(norms, 0, "x")
    if full:
        if rcond is None:
            n = length(x, 0)
            if not isinstance(n, int):
                raise ValueError(
                    f"polyfit: full=True needs rcond= or a known number of points, got {x} of type {x.type}"
                )
            rcond = n * float(finfo(x.dtype).eps)
        found, *rest = lstsq(powers / norms, y, rcond)
        return [found / each, *rest, as_tensor(rcond)]
    found = dot(pinv(powers / norms, rcond), y) / each
    return [found, _covariance(powers, y, found, norms, cov)] if cov else found


def _covariance(powers: Any, y: Any, found: Any, norms: Any, cov: bool | str) -> TensorVariable:
    """The covariance of coefficients, of those of each column in a last dimension."""
    columns = powers / norms
    base = inv(dot(ew.conj(columns.T), columns)) / outer(norms, norms)
    n, free = length(powers, 0), powers.type.shape[1]
    told = f"polyfit: the covariance of {free} coefficients needs more than {free} points; cov='unscaled' does not"
    if cov != "unscaled" and isinstance(n, int) and n <= free:
        raise ValueError(told)
    base = base if y.ndim == 1 else dimshuffle(base, 0, 1, "x")
    if cov == "unscaled":
        return base
    off = y - dot(powers, found)
    if not isinstance(n, int):
        n = required(n, ew.gt(n, free), message=told)
    return base * (sum_over(ew.real(off * ew.conj(off)), 0) / (n - free))


@on_terms
def polyder(p: TensorLike, m: int = 1) -> TensorVariable:
    """The coefficients of the derivative of a polynomial, taken `m` times.

    >>> import termgraph.tensor as T
    >>> T.polyder([1.0, 4.0, 5.0]).eval()
    array([2., 4.])
    """
    p = _coefficients(p, "polyder")
    _check_times(m, "polyder")
    for _ in range(m):
        p = p[:-1] * arange(length(p, 0) - 1, 0, -1)
    return p


@on_terms
def polyint(p: TensorLike, m: int = 1, k: TensorLike | None = None) -> TensorVariable:
    """The coefficients of the integral of a polynomial, taken `m` times; `k` are the constants of integration, or 0.

    >>> import termgraph.tensor as T
    >>> T.polyint([2.0, 4.0], k=5).eval()
    array([1., 4., 5.])
    """
    p = _coefficients(p, "polyint")
    _check_times(m, "polyint")
    constants = as_tensor(0.0 if k is None else k)
    for time in range(m):
        constant = constants if constants.ndim == 0 else constants[time if constants.type.shape != (1,) else 0]
        parts = [ew.true_div(p, arange(length(p, 0), 0, -1)), dimshuffle(constant, "x")]
        p = concatenate(parts)
    return p


def _check_times(m: int, who: str) -> None:
    if isinstance(m, bool) or not isinstance(m, (int, np.integer)) or m < 0:
        raise ValueError(f"{who}: m must be an integer of at least 0, got {m!r}")


@on_terms
def polyadd(a1: TensorLike, a2: TensorLike) -> TensorVariable:
    """The coefficients of the sum of two polynomials.

    >>> import termgraph.tensor as T
    >>> T.polyadd([1.0, 2.0], [9.0, 5.0, 4.0]).eval()
    array([9., 6., 6.])
    """
    first, second = _as_long(a1, a2, "polyadd")
    return first + second


@on_terms
def polysub(a1: TensorLike, a2: TensorLike) -> TensorVariable:
    """The coefficients of the difference of two polynomials.

    >>> import termgraph.tensor as T
    >>> T.polysub([2.0, 10.0, -2.0], [3.0, 10.0, -4.0]).eval()
    array([-1.,  0.,  2.])
    """
    first, second = _as_long(a1, a2, "polysub")
    return first - second


def _as_long(a1: TensorLike, a2: TensorLike, who: str) -> list[TensorVariable]:
    """Both with zeros in front, as many as the other one has more."""
    pair = [_coefficients(a, who) for a in (a1, a2)]
    n, m = [length(p, 0) for p in pair]
    missing = [ew.maximum(as_tensor(other - own), 0) for own, other in ((n, m), (m, n))]
    return [concatenate([zeros((k,), p.dtype), p]) for k, p in zip(missing, pair, strict=True)]


@on_terms
def polymul(a1: TensorLike, a2: TensorLike, trim_leading_zeros: bool = False) -> TensorVariable:
    """The coefficients of the product of two polynomials. Zeros in front stay, unless `trim_leading_zeros` drops those
    of the factors, as NumPy does: how many coefficients there are is then said by their values.

    >>> import termgraph.tensor as T
    >>> T.polymul([1.0, 2.0], [1.0, -2.0]).eval()
    array([ 1.,  0., -4.])
    """
    first, second = [_coefficients(a, "polymul") for a in (a1, a2)]
    return convolve(_trimmed(first), _trimmed(second)) if trim_leading_zeros else convolve(first, second)


def _trimmed(p: TensorVariable) -> TensorVariable:
    """From the first coefficient that is not 0 on; the last one stays."""
    return p[ew.minimum(zeros_in_front(p), ew.maximum(length(p, 0) - 1, 0)) :]


@on_terms
def poly(seq_of_zeros: TensorLike) -> TensorVariable:
    """The coefficients of the polynomial with these roots, the first one 1; of a square matrix its characteristic one.

    Those of complex roots are complex, also where every root has its conjugate.

    >>> import termgraph.tensor as T
    >>> T.poly([1.0, 2.0]).eval()
    array([ 1., -3.,  2.])
    """
    z = as_tensor(seq_of_zeros)
    if z.ndim > 2 or (z.ndim == 2 and len({n for n in z.type.shape if n is not None}) > 1):
        raise ValueError(f"poly takes a vector of roots or a square matrix, got {z.type}")
    z = cast(z, "float64") if z.type.kind in "biu" else z
    real = z.ndim < 2 or z.type.kind == "c"
    found = _from_roots(z if z.ndim == 1 else eigvals(z) if z.ndim == 2 else ravel(z))
    return found if real else ew.real(found)


def _from_roots(z: TensorVariable) -> TensorVariable:
    """The product of x - z over all roots: one more coefficient for each."""
    (n,) = z.type.shape
    first = eye(1, length(z, 0) + 1, dtype=z.dtype)[0]
    by_root = lambda p, root: p - root * concatenate([p[:1] * 0, p[:-1]])  # noqa: E731  all but the first moves one place on
    if n is None or n > HORNER:
        found, _ = ABOVE["loop"]()(lambda p, root: (by_root(p, root), None), first, z)
        return cast(found, z.dtype)
    for k in range(n):
        first = by_root(first, z[k])
    return first


@on_terms
def polydiv(u: TensorLike, v: TensorLike) -> tuple[TensorVariable, TensorVariable]:
    """(quotient, remainder) of two polynomials. The remainder has a coefficient less than `v`, at least one.

    Zeros in front of `v` are refused as a division by zero is: by infinities. NumPy leaves the remainder's out.

    >>> import termgraph.tensor as T
    >>> [p.eval().tolist() for p in T.polydiv([3.0, 5.0, 2.0], [2.0, 1.0])]
    [[1.5, 1.75], [0.25]]
    """
    pair = [_coefficients(p, "polydiv") for p in (u, v)]
    if (0,) in [p.type.shape for p in pair]:
        raise ValueError("polydiv: a polynomial must have a coefficient")
    dtype = promote(
        *[p.type.np_dtype for p in pair], np.float64 if pair[0].type.kind in "biu" else pair[0].type.np_dtype
    )
    first, second = [cast(p, dtype.name) for p in pair]
    n, m = length(first, 0), length(second, 0)
    steps = _at_least(as_tensor(n) - m + 1, 0)
    wide = concatenate([second, zeros((n,), first.dtype)])[:n]  # as long as what it is taken from

    def step(rest: TensorVariable, _: TensorVariable) -> tuple:
        by = rest[0] / second[0]
        return concatenate([(rest - by * wide)[1:], zeros((1,), rest.dtype)]), by

    rest, found = ABOVE["loop"]()(step, first, arange(steps))
    none = zeros((_at_least(1 - steps, 0),), first.dtype)  # of a longer `v` the quotient is 0
    return concatenate([none, found]), rest[: _at_least(ew.minimum(as_tensor(m) - 1, n), 1)]


def _at_least(n: Any, least: int) -> Any:
    n = ew.maximum(as_tensor(n), least)
    return int(n.data) if hasattr(n, "data") else n


@on_terms
def roots(p: TensorLike) -> TensorVariable:
    """The roots of a polynomial: the eigenvalues of its companion matrix, in no order, always complex.

    The first coefficient must not be 0: how many roots there are is said by the number of coefficients.

    >>> import numpy as np, termgraph.tensor as T
    >>> np.sort(T.roots([1.0, -3.0, 2.0]).eval().real).round(9)
    array([1., 2.])
    """
    p = _coefficients(p, "roots")
    p = p if p.type.kind in "fc" else cast(p, "float64")
    n = length(p, 0) - 1
    if isinstance(n, int) and n < 1:
        return zeros((0,), "complex64" if p.type.dtype in ("float32", "complex64") else "complex128")
    first = dimshuffle(ew.neg(p[1:]) / p[0], "x", 0)
    if isinstance(n, int):
        return eigvals(concatenate([first, eye(n - 1, n, dtype=first.dtype)]))
    below = eye(ew.maximum(n - 1, 0), n, dtype=first.dtype)
    return eigvals(concatenate([first, below])[:n])  # of one coefficient nothing is left: it has no roots


__all__ = ["poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "polyval", "roots"]
