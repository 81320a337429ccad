"""Special functions that are formulas of others. `scipy.special` and PyTensor have them under these names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from termgraph.tensor.elemwise import _float_of, _weakly
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import finfo
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops import special as ops

if TYPE_CHECKING:
    from termgraph.tensor.likes import TensorLike
    from termgraph.tensor.variable import TensorVariable


# ---------------------------------------------------------------------- gamma and its kin
@on_terms
def tri_gamma(x: TensorLike) -> TensorVariable:
    """The second derivative of gammaln.

    >>> import termgraph.tensor as T
    >>> float(T.tri_gamma(1.0).eval().round(6))
    1.644934
    """
    return ew.polygamma(1, x)


@on_terms
def chi2sf(x: TensorLike, k: TensorLike) -> TensorVariable:
    """The chance that a chi-squared number of k degrees of freedom is above x.

    >>> import termgraph.tensor as T
    >>> float(T.chi2sf(2.0, 2.0).eval().round(6))
    0.367879
    """
    return ew.gammaincc(ew.true_div(k, 2.0), ew.true_div(x, 2.0))


@on_terms
def gammau(k: TensorLike, x: TensorLike) -> TensorVariable:
    """The upper incomplete gamma function, not divided by gamma(k).

    >>> import termgraph.tensor as T
    >>> T.gammau(1.0, 0.0).eval()
    array(1.)
    """
    return ew.mul(ew.gammaincc(k, x), ew.gamma(k))


@on_terms
def gammal(k: TensorLike, x: TensorLike) -> TensorVariable:
    """The lower incomplete gamma function, not divided by gamma(k).

    >>> import termgraph.tensor as T
    >>> T.gammal(1.0, 0.0).eval()
    array(0.)
    """
    return ew.mul(ew.gammainc(k, x), ew.gamma(k))


@on_terms
def loggamma(x: TensorLike) -> TensorVariable:
    """log(gamma(x)): `gammaln`, but NaN below 0, where that has an absolute value in it.

    >>> import termgraph.tensor as T
    >>> T.loggamma([1.0, -0.5]).eval()
    array([ 0., nan])
    """
    x = _float_of(x, "loggamma")
    return ew.switch(ew.lt(x, 0.0), np.nan, ew.gammaln(x))


@on_terms
def factorial(n: TensorLike) -> TensorVariable:
    """gamma(n + 1), as a float; 0 below 0.

    >>> import termgraph.tensor as T
    >>> T.factorial([3, 5, -1]).eval()
    array([  6., 120.,   0.])
    """
    n = as_tensor(n)
    if n.type.kind != "f":
        n = ew.cast(n, dtype="float64")
    below = ew.lt(n, 0.0)
    return ew.switch(below, 0.0, ew.gamma(ew.switch(below, 1.0, ew.add(n, 1.0))))


@on_terms
def comb(N: TensorLike, k: TensorLike) -> TensorVariable:
    """How many ways there are to choose k of N, as a float: `binom`, but 0 where k or N is below 0 or k above N.

    >>> import termgraph.tensor as T
    >>> T.comb(5, [2, 5, 6]).eval()
    array([10.,  1.,  0.])
    """
    N, k = _weakly(N, k)
    possible = ew.bitwise_and(ew.le(k, N), ew.ge(N, 0), ew.ge(k, 0))
    return ew.switch(possible, ops.binom(N, k), 0.0)


# ---------------------------------------------------------------------- others
@on_terms
def kn(n: TensorLike, x: TensorLike) -> TensorVariable:
    """The modified Bessel function of the second kind of whole order: `kv`.

    >>> import termgraph.tensor as T
    >>> float(T.kn(1, 2.0).eval().round(6))
    0.139866
    """
    return ops.kv(n, x)


@on_terms
def lambertw(z: TensorLike, k: TensorLike = 0) -> TensorVariable:
    """The w with w * exp(w) = z, of real numbers: the w from -1 on with k = 0, that up to -1 with k = -1.

    NaN where w is not real: below -1/e (the float next to it counts as -1/e), above 0 with k = -1, and on other
    branches. Complex numbers are refused (SciPy's results are always complex).

    >>> import termgraph.tensor as T
    >>> T.lambertw([T.e, -0.1]).eval().round(6), T.lambertw(-0.1, -1).eval().round(6)
    (array([ 1.      , -0.111833]), np.float64(-3.577152))
    """
    return ops.lambertw(z, k)


@on_terms
def sici(x: TensorLike) -> list:
    """[sinint(x), cosint(x)]: the integrals of sine and cosine.

    >>> import termgraph.tensor as T
    >>> [float(v.eval().round(6)) for v in T.sici(1.0)]
    [0.946083, 0.337404]
    """
    x = as_tensor(x)
    return [ops.sinint(x), ops.cosint(x)]


@on_terms
def boxcox(x: TensorLike, lmbda: TensorLike) -> TensorVariable:
    """(x**lmbda - 1) / lmbda, and log(x) where lmbda is 0: the transformation of Box and Cox.

    >>> import termgraph.tensor as T
    >>> T.boxcox(3.0, [0.0, 1.0, 2.0]).eval().round(6)
    array([1.098612, 2.      , 4.      ])
    """
    x, lmbda = [_float_of(v, "boxcox") for v in _weakly(x, lmbda)]
    return _boxcox(ew.log(x), lmbda)


@on_terms
def boxcox1p(x: TensorLike, lmbda: TensorLike) -> TensorVariable:
    """`boxcox` of 1 + x, with all digits for small x.

    >>> import termgraph.tensor as T
    >>> T.boxcox1p(2.0, 1.0).eval()
    array(2.)
    """
    x, lmbda = [_float_of(v, "boxcox1p") for v in _weakly(x, lmbda)]
    return _boxcox(ew.log1p(x), lmbda)


def _boxcox(log: TensorVariable, lmbda: TensorVariable) -> Any:
    """By the logarithm. Near 0 its series, of which there are derivatives by lmbda, too."""
    t = ew.mul(log, lmbda)
    small = ew.lt(ew.abs_(t), as_tensor(np.sqrt(finfo(t.type.dtype).eps), dtype=t.type.dtype))
    near = ew.bitwise_or(small, ew.eq(lmbda, 0.0))  # also of infinite logarithms
    far = ew.true_div(ew.expm1(ew.switch(near, 1.0, t)), ew.switch(near, 1.0, lmbda))
    return ew.switch(near, ew.mul(log, ew.add(1.0, ew.mul(0.5, ew.switch(small, t, 0.0)))), far)


log1pexp = ew.softplus
__all__ = [
    "boxcox", "boxcox1p", "chi2sf", "comb", "factorial", "gammal", "gammau", "kn", "lambertw", "log1pexp", "loggamma",
    "sici", "tri_gamma",
]  # fmt: skip
