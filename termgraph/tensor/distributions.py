"""The distributions of random streams: what becomes of random bits. Most are element-wise and may be fused.

Those that have no formula in elementary functions are drawn by rejection (`terms/ops/draws.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from termgraph._arguments import named
from termgraph.tensor import creation, elemwise, reductions, shaping, sorting
from termgraph.tensor.chances import refuse_too_many, weights
from termgraph.tensor.joining import concatenate
from termgraph.tensor.lengths import as_lengths
from termgraph.tensor.likes import DTypeLike, ShapeLike, TensorLike
from termgraph.tensor.linalg import cholesky
from termgraph.tensor.products import dot
from termgraph.tensor.selecting import take_along_axis
from termgraph.tensor.variable import TensorVariable, Variable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import finfo, kind_of
from termgraph.terms.ops import draws
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops import random as ops
from termgraph.terms.ops.assume import required
from termgraph.terms.term import Const
from termgraph.terms.types import dtype_name

_DIGITS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}
_RANGES = dict.fromkeys(("scale", "sigma", "shape", "a", "b", "lam", "n", "df", "alphas"), (0, np.inf)) | {"p": (0, 1)}
_NOT_ZERO = {"beta": "ab", "chisquare": ("df",), "geometric": "p", "negative_binomial": "np", "standard_t": ("df",)}
_REFUSED_BY_OPS = ("poisson", "binomial")  # these ask themselves, whoever makes them
_FEW_TRIALS = 16  # so many are drawn one by one, in native code


class Distributions:
    """The draws of a random stream. Parameters broadcast; without `size`, a draw has the shape of its parameters."""

    def _state(self) -> Any:
        raise NotImplementedError

    # ------------------------------------------------------------------ bits
    def _blocks(self, size: ShapeLike, params: Sequence[Any] = ()) -> tuple[Any, Any, Any]:
        """Key, step and index of each element of a draw: of the shape `size`, or that of the parameters together."""
        state = self._state()
        lengths = _lengths(size, params)
        index = shaping.reshape(creation.arange(_product(lengths), dtype="uint64"), lengths)
        return state[0], state[1], index

    def _unit(self, size: ShapeLike, params: Sequence[Any], dtype: str, open_: bool = False) -> TensorVariable:
        """Uniform numbers in [0, 1), or in (0, 1)."""
        return _to_unit(ops.philox_first(*self._blocks(size, params)), dtype, open_)

    # ------------------------------------------------------------------ draws
    def uniform(
        self, low: TensorLike = 0.0, high: TensorLike = 1.0, size: ShapeLike = None, dtype: DTypeLike = None
    ) -> TensorVariable:
        """Uniform numbers from low (included) to high (excluded)."""
        dtype, (low, high) = _float_dtype(dtype), _params("uniform", low=low, high=high)
        u = self._unit(size, (low, high), dtype)
        return elemwise.cast(u * (high - low) + low, dtype) if _is_scaled(low, high) else u

    def random(self, size: ShapeLike = None, dtype: DTypeLike = None) -> TensorVariable:
        """Uniform numbers in [0, 1)."""
        return Distributions.uniform(self, 0.0, 1.0, size, dtype)

    def normal(
        self, loc: TensorLike = 0.0, scale: TensorLike = 1.0, size: ShapeLike = None, dtype: DTypeLike = None
    ) -> TensorVariable:
        """Normally distributed numbers with mean `loc` and standard deviation `scale`."""
        dtype, (loc, scale) = _float_dtype(dtype), _params("normal", loc=loc, scale=scale)
        blocks = self._blocks(size, (loc, scale))
        radius = ew.sqrt(-2.0 * ew.log(_to_unit(ops.philox_first(*blocks), dtype, True)))
        angle = (2.0 * np.pi) * _to_unit(ops.philox_second(*blocks), dtype)
        return elemwise.cast(radius * ew.cos(angle) * scale + loc, dtype)

    def standard_normal(self, size: ShapeLike = None, dtype: DTypeLike = None) -> TensorVariable:
        """Normally distributed numbers with mean 0 and standard deviation 1."""
        return Distributions.normal(self, 0.0, 1.0, size, dtype)

    def exponential(self, scale: TensorLike = 1.0, size: ShapeLike = None, dtype: DTypeLike = None) -> TensorVariable:
        """Exponentially distributed numbers with mean `scale`."""
        dtype, (scale,) = _float_dtype(dtype), _params("exponential", scale=scale)
        u = self._unit(size, (scale,), dtype, open_=True)
        return elemwise.cast(-ew.log(u) * scale, dtype)

    def standard_exponential(self, size: ShapeLike = None, dtype: DTypeLike = None) -> TensorVariable:
        """Exponentially distributed numbers with mean 1."""
        return Distributions.exponential(self, 1.0, size, dtype)

    def lognormal(
        self, mean: TensorLike = 0.0, sigma: TensorLike = 1.0, size: ShapeLike = None, dtype: DTypeLike = None
    ) -> TensorVariable:
        """Numbers whose logarithm is normal with this mean and standard deviation."""
        mean, sigma = _params("lognormal", mean=mean, sigma=sigma)
        return ew.exp(Distributions.normal(self, mean, sigma, size, dtype))

    def truncated_normal(
        self, loc: TensorLike = 0.0, scale: TensorLike = 1.0, size: ShapeLike = None, dtype: DTypeLike = None
    ) -> TensorVariable:
        """Normal numbers no more than two standard deviations from the mean."""
        dtype, (loc, scale) = _float_dtype(dtype), _params("truncated_normal", loc=loc, scale=scale)
        u = self._unit(size, (loc, scale), dtype, open_=True)
        reach = np.asarray(0.9544997361036416, dtype)  # of the normal numbers lie there: erf(sqrt(2))
        wide = ew.erfinv(elemwise.cast((2.0 * u - 1.0) * reach, "float64"))  # the same bits, however float32 has it
        centred = elemwise.cast(wide, dtype) * np.asarray(np.sqrt(2.0), dtype)
        return elemwise.cast(centred * scale + loc, dtype)

    def laplace(
        self, loc: TensorLike = 0.0, scale: TensorLike = 1.0, size: ShapeLike = None, dtype: DTypeLike = None
    ) -> TensorVariable:
        """Numbers with density exp(-abs(x - loc) / scale) / (2 scale)."""
        dtype, (loc, scale) = _float_dtype(dtype), _params("laplace", loc=loc, scale=scale)
        off = self._unit(size, (loc, scale), dtype, open_=True) - 0.5
        return elemwise.cast(loc - scale * ew.sign(off) * ew.log1p(-2.0 * ew.abs_(off)), dtype)

    def logistic(
        self, loc: TensorLike = 0.0, scale: TensorLike = 1.0, size: ShapeLike = None, dtype: DTypeLike = None
    ) -> TensorVariable:
        """Numbers with cdf sigmoid((x - loc) / scale)."""
        dtype, (loc, scale) = _float_dtype(dtype), _params("logistic", loc=loc, scale=scale)
        u = self._unit(size, (loc, scale), dtype, open_=True)
        return elemwise.cast((ew.log(u) - ew.log1p(-u)) * scale + loc, dtype)

    def gumbel(
        self, loc: TensorLike = 0.0, scale: TensorLike = 1.0, size: ShapeLike = None, dtype: DTypeLike = None
    ) -> TensorVariable:
        """Numbers with cdf exp(-exp(-(x - loc) / scale)); the largest of many often is one."""
        dtype, (loc, scale) = _float_dtype(dtype), _params("gumbel", loc=loc, scale=scale)
        u = self._unit(size, (loc, scale), dtype, open_=True)
        return elemwise.cast(loc - scale * ew.log(-ew.log(u)), dtype)

    def cauchy(
        self, loc: TensorLike = 0.0, scale: TensorLike = 1.0, size: ShapeLike = None, dtype: DTypeLike = None
    ) -> TensorVariable:
        """Numbers with density 1 / (pi scale (1 + ((x - loc) / scale) ** 2))."""
        dtype, (loc, scale) = _float_dtype(dtype), _params("cauchy", loc=loc, scale=scale)
        u = self._unit(size, (loc, scale), dtype, open_=True)
        return elemwise.cast(ew.tan((u - 0.5) * np.asarray(np.pi, dtype)) * scale + loc, dtype)

    def weibull(
        self, shape: TensorLike, scale: TensorLike = 1.0, size: ShapeLike = None, dtype: DTypeLike = None
    ) -> TensorVariable:
        """Numbers with cdf 1 - exp(-(x / scale) ** shape)."""
        dtype, (shape, scale) = _float_dtype(dtype), _params("weibull", shape=shape, scale=scale)
        u = self._unit(size, (shape, scale), dtype, open_=True)
        return elemwise.cast((-ew.log(u)) ** (1.0 / shape) * scale, dtype)

    def triangular(
        self, left: TensorLike, mode: TensorLike, right: TensorLike, size: ShapeLike = None, dtype: DTypeLike = None
    ) -> TensorVariable:
        """Numbers whose density rises from `left` to `mode` and falls to `right`."""
        dtype, (left, mode, right) = _float_dtype(dtype), _params("triangular", left=left, mode=mode, right=right)
        u = self._unit(size, (left, mode, right), dtype)
        width = right - left
        rising = left + ew.sqrt(u * width * (mode - left))
        falling = right - ew.sqrt((1.0 - u) * width * (right - mode))
        return elemwise.cast(ew.switch(u * width < mode - left, rising, falling), dtype)

    def gamma(
        self, shape: TensorLike, scale: TensorLike = 1.0, size: ShapeLike = None, dtype: DTypeLike = None
    ) -> TensorVariable:
        """Gamma distributed numbers with mean `shape * scale`."""
        dtype, (shape, scale) = _float_dtype(dtype), _params("gamma", shape=shape, scale=scale)
        blocks = self._blocks(size, (shape, scale))
        return elemwise.cast(draws.gamma_draw(*blocks, elemwise.cast(shape, "float64")) * scale, dtype)

    def standard_gamma(self, shape: TensorLike, size: ShapeLike = None, dtype: DTypeLike = None) -> TensorVariable:
        """Gamma distributed numbers with scale 1."""
        return self.gamma(shape, 1.0, size, dtype)

    def chisquare(self, df: Any, size: ShapeLike = None, dtype: DTypeLike = None) -> TensorVariable:
        """Sums of the squares of `df` normal numbers."""
        (df,) = _params("chisquare", df=df)
        return self.gamma(df * 0.5, 2.0, size, dtype)

    def standard_t(self, df: TensorLike, size: ShapeLike = None, dtype: DTypeLike = None) -> TensorVariable:
        """Student's t with `df` degrees of freedom."""
        (df,) = _params("standard_t", df=df)
        size = _lengths(size, (df,))
        normal = Distributions.normal(self, 0.0, 1.0, size, dtype)
        return elemwise.cast(normal * ew.sqrt(df / self.chisquare(df, size, dtype)), _float_dtype(dtype))

    def beta(self, a: TensorLike, b: TensorLike, size: ShapeLike = None, dtype: DTypeLike = None) -> TensorVariable:
        """Beta distributed numbers: between 0 and 1, with mean a / (a + b)."""
        dtype, (a, b) = _float_dtype(dtype), _params("beta", a=a, b=b)
        blocks = self._blocks(size, (a, b))
        return elemwise.cast(draws.beta_draw(*blocks, elemwise.cast(a, "float64"), elemwise.cast(b, "float64")), dtype)

    def dirichlet(self, alphas: TensorLike, size: ShapeLike = None, dtype: DTypeLike = None) -> TensorVariable:
        """Vectors of positive numbers that sum to 1, with the parameters `alphas` along the last axis."""
        (alphas,) = _params("dirichlet", alphas=alphas)
        lengths = None if size is None else [*_lengths(size, ()), alphas.shape[-1]]
        if isinstance(alphas.term, Const) and np.all(alphas.term.value >= 0.5):
            shares = self.gamma(alphas, 1.0, lengths, dtype)
            return shares / reductions.sum(shares, axis=-1, keepdims=True)
        # Gammas of small parameters are too small for floats, all of a vector at once: their logarithms are not.
        alphas = elemwise.cast(alphas, "float64")
        u = self._unit(lengths, (alphas,), "float64", open_=True)
        logs = ew.log(self.gamma(alphas + 1.0, 1.0, lengths, "float64")) + ew.log(u) / alphas
        shares = ew.exp(logs - reductions.max(logs, axis=-1, keepdims=True))
        return elemwise.cast(shares / reductions.sum(shares, axis=-1, keepdims=True), _float_dtype(dtype))

    def multivariate_normal(
        self, mean: TensorLike, cov: TensorLike, size: ShapeLike = None, dtype: DTypeLike = None
    ) -> TensorVariable:
        """Normal vectors with a mean vector and a covariance matrix."""
        mean, cov = _params("multivariate_normal", mean=mean, cov=cov)
        z = Distributions.normal(self, 0.0, 1.0, [*_lengths(size, ()), mean.shape[-1]], dtype)
        return elemwise.cast(dot(z, cholesky(cov).T) + mean, _float_dtype(dtype))

    def poisson(self, lam: Any = 1.0, size: ShapeLike = None, dtype: DTypeLike = "int64") -> TensorVariable:
        """Poisson distributed integers with mean `lam`."""
        (lam,) = _params("poisson", lam=lam)
        blocks = self._blocks(size, (lam,))
        return elemwise.cast(draws.poisson_draw(*blocks, elemwise.cast(lam, "float64")), _dtype(dtype))

    def bernoulli(self, p: TensorLike = 0.5, size: ShapeLike = None, dtype: DTypeLike = "int64") -> TensorVariable:
        """1 with probability `p`, else 0."""
        (p,) = _params("bernoulli", p=p)
        return elemwise.cast(self._unit(size, (p,), "float64") < p, _dtype(dtype))

    def binomial(
        self, n: TensorLike = 1, p: TensorLike = 0.5, size: ShapeLike = None, dtype: DTypeLike = "int64"
    ) -> TensorVariable:
        """How many of `n` trials succeed, each with probability `p`."""
        if isinstance(n, int) and n == 1:
            return self.bernoulli(p, size, dtype)
        n, p = _params("binomial", n=n, p=p)
        blocks = self._blocks(size, (n, p))
        n, p = elemwise.cast(n, "float64"), elemwise.cast(p, "float64")
        return elemwise.cast(draws.binomial_draw(*blocks, n, p), _dtype(dtype))

    def negative_binomial(
        self, n: TensorLike, p: TensorLike, size: ShapeLike = None, dtype: DTypeLike = "int64"
    ) -> TensorVariable:
        """How many trials fail before `n` succeed, each with probability `p`."""
        n, p = _params("negative_binomial", n=n, p=p)
        return self.poisson(self.gamma(n, (1.0 - p) / p, size, "float64"), None, dtype)

    def geometric(self, p: TensorLike, size: ShapeLike = None, dtype: DTypeLike = "int64") -> TensorVariable:
        """The number of the first trial that succeeds, each with probability `p`."""
        (p,) = _params("geometric", p=p)
        u = self._unit(size, (p,), "float64", open_=True)
        return elemwise.cast(1.0 + ew.floor(ew.log(u) / ew.log1p(-p)), _dtype(dtype))

    def integers(
        self, low: TensorLike, high: TensorLike | None = None, size: ShapeLike = None, dtype: DTypeLike = "int64"
    ) -> TensorVariable:
        """Integers from low (included) to high (excluded); with one number, from 0 to it."""
        low, high = (0, low) if high is None else (low, high)
        low, high, dtype = as_tensor(low), as_tensor(high), _dtype(dtype)
        width = _checked_width(low, high, dtype)
        picked = self._below(width, _lengths(size, (low, high)))
        return elemwise.cast(picked + elemwise.cast(low, "int64"), dtype)

    def _below(self, width: TensorVariable, size: ShapeLike) -> TensorVariable:
        """Integers from 0 to a width, of type int64."""
        bits = ops.philox_first(*self._blocks(size))
        return elemwise.cast(ops.scale_bits(bits, elemwise.cast(width, "uint64")), "int64")

    def random_integers(
        self, low: TensorLike, high: TensorLike | None = None, size: ShapeLike = None, dtype: DTypeLike = "int64"
    ) -> TensorVariable:
        """As `integers`, with high included (Theano's name)."""
        low, high = (1, low) if high is None else (low, high)
        last: Any = high if isinstance(high, Variable) else np.asarray(high)
        return self.integers(low, last + 1, size, dtype)

    def permutation(self, x: TensorLike, size: ShapeLike = None) -> TensorVariable:
        """The numbers below `x`, or the rows of an array `x`, in random order; `size` draws that many permutations."""
        x = as_tensor(x)
        n = x if x.type.ndim == 0 else x.shape[0]
        keys = ops.philox_first(*self._blocks([*_lengths(size, ()), n]))
        order = sorting.argsort(keys, axis=-1)
        return order if x.type.ndim == 0 else x[order]

    def permuted(self, x: TensorLike, axis: int = -1) -> TensorVariable:
        """An array with the elements along one axis in random order, each row (or column) in an order of its own."""
        x = as_tensor(x)
        keys = ops.philox_first(*self._blocks([x.shape[d] for d in range(x.type.ndim)]))
        return take_along_axis(x, sorting.argsort(keys, axis=axis), axis=axis)

    def choice(
        self,
        a: TensorLike,
        size: ShapeLike = None,
        replace: bool = True,
        p: TensorLike | None = None,
        dtype: DTypeLike = None,
    ) -> TensorVariable:
        """Elements of `a` (or of range(a)), chosen with probabilities `p` (default: all equal)."""
        a = as_tensor(a)
        n = a if a.type.ndim == 0 else a.shape[0]
        count = _product(_lengths(size, ()))
        refuse_too_many(a, count, replace)
        p = None if p is None else weights(_probabilities("choice", "p", p), a, 0 if replace else count)
        if replace:
            picked = self._below(n, size) if p is None else self._by_probability(p, size)
        elif p is not None:
            # the k largest of u ** (1 / p): Efraimidis and Spirakis
            u = self._unit([n], (), "float64", open_=True)
            picked = _first_of(sorting.argsort(ew.log(u) / as_tensor(p) * -1.0), size)
        else:
            picked = _first_of(Distributions.permutation(self, n), size)
        chosen = picked if a.type.ndim == 0 else a[picked]
        return chosen if dtype is None else elemwise.cast(chosen, dtype)

    def _by_probability(self, p: TensorLike, size: ShapeLike) -> Any:
        u = self._unit(size, (), "float64")
        steps = reductions.cumsum(as_tensor(p), axis=0)
        return sorting.searchsorted(steps / steps[-1], u, side="right")

    def multinomial(
        self, n: TensorLike = 1, pvals: TensorLike | None = None, size: ShapeLike = None, dtype: DTypeLike = "int64"
    ) -> TensorVariable:
        """How often each outcome occurs in `n` trials with probabilities `pvals` (along the last axis)."""
        if pvals is None:
            raise TypeError("multinomial needs pvals: the probabilities of the outcomes, along the last axis")
        pvals = elemwise.cast(_probabilities("multinomial", "pvals", pvals), "float64")
        batch = _lengths(size, () if size is not None else (as_tensor(n), pvals[..., 0]))
        if not (type(n) is int and 0 < n <= _FEW_TRIALS):
            u = self._unit([*batch, pvals.shape[-1]], (), "float64", open_=True)
            return elemwise.cast(ops.multinomial_counts(u, as_tensor(n), pvals), _dtype(dtype))
        u = self._unit([*batch, n], (), "float64")
        steps = reductions.cumsum(pvals, axis=-1)
        last = shaping.expand_dims(steps[..., -1], -1)
        below = shaping.expand_dims(u, -1) >= shaping.expand_dims(steps / last, -2)[..., :-1]
        reached = reductions.sum(elemwise.cast(below, "int64"), axis=-2)  # how many trials lie beyond each step
        first = shaping.expand_dims(as_tensor(n) - reached[..., 0], -1)
        last_count = shaping.expand_dims(reached[..., -1], -1)
        return elemwise.cast(concatenate([first, reached[..., :-1] - reached[..., 1:], last_count], axis=-1), dtype)


# ---------------------------------------------------------------------- helpers
def _dtype(dtype: DTypeLike) -> str:
    return dtype_name("floatX" if dtype is None else dtype)


def _float_dtype(dtype: DTypeLike) -> str:
    name = _dtype(dtype)
    if name not in _DIGITS:
        allowed = ", ".join(sorted(_DIGITS))
        raise TypeError(f"this draw has one of the dtypes {allowed}; got {name}: use integers(), or cast it")
    return name


def _checked_width(low: TensorVariable, high: TensorVariable, dtype: str) -> TensorVariable:
    """high - low; ValueError unless it is positive: at once where the bounds are known, else when it runs."""
    if any(v.type.kind not in "iub" for v in (low, high)) or (high - low).type.kind not in "iu":
        raise TypeError(f"integers: the bounds must be integers (int64 at most), got {low.type} and {high.type}")
    message = "integers: low must be below high"
    known = [v.term.value for v in (low, high) if v.owner is None and isinstance(v.term, Const)]
    if len(known) == 2:
        if not (known[0] < known[1]).all():
            raise ValueError(f"{message}, got {known[0]} and {known[1]}")
        if kind_of(dtype) in "iu" and not _fits(known[0].min(), known[1].max() - 1, np.iinfo(dtype)):
            raise ValueError(f"integers from {known[0].min()} to {known[1].max() - 1} do not fit in {dtype}")
        return high - low
    return required(high - low, low < high, message=message)


def _fits(least: int, greatest: Any, info: Any) -> bool:
    return info.min <= int(least) and int(greatest) <= info.max


def _params(draw: str, **values: TensorLike) -> list[Any]:
    """The parameters of a draw as tensors; ValueError where they cannot be parameters of it: at once where they are
    known, else when it runs."""
    found = {name: as_tensor(value) for name, value in values.items()}
    return [_checked(draw, name, v) if name in _RANGES else v for name, v in found.items()]


def _checked(draw: str, name: str, v: TensorVariable) -> TensorVariable:
    (least, most), open_ = _RANGES[name], name in _NOT_ZERO.get(draw, ())
    if v.type.kind not in "if" and (most > 1 or v.type.kind != "u") and not open_:
        return v  # what has no sign is not negative
    known = v.term.value if isinstance(v.term, Const) else None
    value: Any = v if known is None else known
    if most == 1:
        fits = (value >= least) & (value <= most)  # NaN is no probability
        within = f"must be from {least} to {most}"
    else:
        fits, within = ~(value < least), "must not be negative"
    if open_:
        fits, within = fits & _nonzero(value), "must be above 0, and at most 1" if most == 1 else "must be positive"
    if known is None:
        return v if draw in _REFUSED_BY_OPS else required(v, fits, message=f"{draw}: {name} {within}")
    if not np.all(fits):
        raise ValueError(f"{draw}: {name} {within}, got {known}")
    return v


def _nonzero(value: Any) -> Any:
    return ew.neq(value, 0) if isinstance(value, Variable) else value != 0


def _probabilities(draw: str, name: str, p: TensorLike) -> TensorVariable:
    """The probabilities of all outcomes as a tensor; ValueError where they are none, as `_params` does."""
    made = as_tensor(p)
    if made.type.kind not in "biuf":
        return made
    digits = finfo(made.type.dtype).eps if made.type.kind == "f" else 0
    near = float(max(digits, 2.0**-52)) ** 0.5
    if isinstance(made.term, Const):
        known = np.asarray(made.term.value, "float64")
        if not np.all((known >= 0) & (known <= 1)):
            raise ValueError(f"{draw}: {name} must be from 0 to 1, got {known}")
        total = known.sum(axis=-1)
        if np.any(abs(total - 1) > near):
            raise ValueError(f"{draw}: {name} must sum to 1, but sums to {total}; write p / p.sum()")
        return made
    made = required(made, ew.logical_and(made >= 0, made <= 1), message=f"{draw}: {name} must be from 0 to 1")
    off = ew.abs_(reductions.sum(made, axis=-1, dtype="float64", keepdims=True) - 1)
    return required(made, off <= near, message=f"{draw}: {name} must sum to 1; write p / p.sum()")


def _is_scaled(low: TensorVariable, high: TensorVariable) -> bool:
    plain = all(v.term.args == () and getattr(v.term, "scalar", None) is not None for v in (low, high))
    return not (plain and low.type.ndim == high.type.ndim == 0 and low.term.scalar == 0 and high.term.scalar == 1)


def _lengths(size: ShapeLike, params: Sequence[Any]) -> list[Any]:
    """The lengths of a draw as a list of integers and symbolic scalars."""
    if size is None:
        wide = [p for p in params if p.type.ndim]
        if not wide:
            return []
        first = wide[0] if len(wide) == 1 else shaping.broadcast_arrays(*wide)[0]
        return [first.shape[d] for d in range(first.type.ndim)]
    if isinstance(size, Variable):
        if size.type.ndim == 0:
            return [size]
        n = size.type.shape[0]
        if n is None:
            raise TypeError("size as a symbolic vector needs a known length; give a tuple of lengths instead")
        vector: Any = size
        return [vector[i] for i in range(n)]
    given = as_lengths(size, "size")
    if any(isinstance(n, int) and n < 0 for n in given):
        raise ValueError(f"size: a length must not be negative, got {size}")
    return given


def _to_unit(bits: TensorVariable, dtype: str, open_: bool = False) -> TensorVariable:
    """Numbers in [0, 1) from the highest bits; in (0, 1) if `open_`: odd multiples of half a step. Never rounded."""
    digits = _DIGITS[dtype]
    if open_:
        digits -= 1
    whole = elemwise.cast(ew.right_shift(bits, np.uint64(64 - digits)), "int64" if digits > 31 else "int32")
    high = elemwise.cast(whole, dtype)
    if open_:
        high = high + np.asarray(0.5, dtype)
    return high * np.asarray(2.0**-digits, dtype)


def _first_of(order: TensorVariable, size: ShapeLike) -> Any:
    lengths = _lengths(size, ())
    if not lengths:
        return order[0]
    return shaping.reshape(order[: _product(lengths)], lengths)


def _product(lengths: Sequence[Any]) -> Any:
    """The product of lengths, which may be symbolic."""
    count: Any = 1
    for n in lengths:
        count = count * n
    return count


for _name, _draw in list(vars(Distributions).items()):
    if not _name.startswith("_"):
        setattr(Distributions, _name, named(_draw))
