"""T.stats: densities and chances of distributions with scipy.stats' names, a row of a table for each distribution.

A row says what is true of the standard form, at loc 0 and scale 1; what is true of all distributions is said once.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from termgraph.tensor.elemwise import betaln, log_ndtr, logit, ndtr, ndtri
from termgraph.tensor.protocols import refuse_in
from termgraph.tensor.reductions import to_dtype
from termgraph.tensor.variable import is_plain_number
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import kind_of, promote, working_name
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops import special as sp
from termgraph.terms.ops.gradmarks import disconnected_grad

Formula = Callable[..., Any]
INF = math.inf
log, exp, log1p, expm1, gammaln, xlogy, switch = ew.log, ew.exp, ew.log1p, ew.expm1, ew.gammaln, ew.xlogy, ew.switch
# From which other formula of a row one follows, if it is not in the row.
FOLLOWS = {
    "cdf": (("sf", lambda v: 1 - v), ("logcdf", exp)),
    "sf": (("cdf", lambda v: 1 - v), ("logsf", exp)),
    "logcdf": (("cdf", log),),
    "logsf": (("sf", log), ("cdf", lambda v: log1p(-v))),
}
ENDS = {"cdf": (0.0, 1.0), "sf": (1.0, 0.0), "logcdf": (-INF, 0.0), "logsf": (0.0, -INF)}  # before and past the support
WHAT = {
    "density": "The density{of}.", "log density": "The logarithm of the density{of}.",
    "cdf": "The chance of at most x{of}.", "logcdf": "The logarithm of the chance of at most x{of}.",
    "sf": "The chance of more than x{of}.", "logsf": "The logarithm of the chance of more than x{of}.",
    "ppf": "The x with `cdf` q{of}.", "isf": "The x with `sf` q{of}.",
}  # fmt: skip


class Distribution:
    """The functions of a distribution: those of `scipy.stats` that it has formulas for.

    They take numbers or arrays of them, the parameters by place or by name. What is outside the support has density 0,
    parameters that cannot be give NaN, as in SciPy. Gradients are by all of them, as far as their functions have some.

    >>> import termgraph.tensor as T
    >>> T.stats.norm.logpdf(0.0, scale=2.0).eval().round(6), T.stats.gamma.cdf([-1.0, 2.0], a=1.5).eval().round(6)
    (np.float64(-1.612086), array([0.      , 0.738536]))
    """

    pdf: Formula
    logpdf: Formula
    pmf: Formula
    logpmf: Formula
    cdf: Formula
    logcdf: Formula
    sf: Formula
    logsf: Formula
    ppf: Formula
    isf: Formula

    def __init__(
        self, name: str, shapes: str, density: Formula, support: Any = (-INF, INF), *, inside: float = 0.5,
        valid: Formula | None = None, whole: bool = False, open: bool = False, plain: bool = False,
        **formulas: Formula,
    ) -> None:  # fmt: skip
        self.name, self.whole, self.inside = name, whole, inside
        self.plain = plain  # the log density is arithmetic that gives NaN of NaN and -inf of infinity by itself
        self.below = ew.le if open else ew.lt  # the support is without its lower end
        self.support: Formula = support if callable(support) else lambda *_: support
        self.valid = valid or (lambda *given: _all(v > 0 for v in given))
        mass = "pmf" if whole else "pdf"
        for kind, what in (("log" + mass, "log density"), (mass, "density"), *((k, k) for k in ENDS)):
            f = density if "density" in what else _formula(formulas, kind)
            if f is not None:
                setattr(self, kind, self._function(kind, what, "x", shapes, f))
        for kind in ("ppf", "isf"):
            if kind in formulas:
                setattr(self, kind, self._function(kind, kind, "q", shapes, formulas[kind]))

    def __repr__(self) -> str:
        return f"T.stats.{self.name}"

    def __reduce__(self) -> str:
        return self.name  # the one of this module: copies are the same object

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "name" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        has = ", ".join(n for n in Distribution.__annotations__ if n in vars(self))
        raise AttributeError(f"{self!r} has no {name}, but {has}", name=name, obj=self)

    def _function(self, kind: str, what: str, first: str, shapes: str, formula: Formula) -> Formula:
        names = [first, *shapes.split()]
        usual = {"loc": 0} if self.whole else {"loc": 0, "scale": 1}
        place = inspect.Parameter.POSITIONAL_OR_KEYWORD
        signature = inspect.Signature(
            [inspect.Parameter(n, place) for n in names]
            + [inspect.Parameter(n, place, default=v) for n, v in usual.items()]
        )

        def function(*args: Any, **named: Any) -> Any:
            try:
                bound = signature.bind(*args, **named)
            except TypeError as err:
                raise TypeError(f"{self!r}.{kind}: {err}; it takes {signature}") from None
            bound.apply_defaults()
            return self._value(what, formula, list(bound.arguments.values()))

        function.__name__, function.__qualname__ = kind, f"{self.name}.{kind}"
        function.__signature__ = signature  # type: ignore[attr-defined]
        function.__doc__ = WHAT[what].format(of=f" of `scipy.stats.{self.name}`")
        return function

    def _value(self, what: str, formula: Formula, given: list) -> Any:
        dtype = promote(*[v if is_plain_number(v) else as_tensor(v).type.np_dtype for v in given])
        if kind_of(dtype) == "c":
            raise TypeError(f"{self!r} is of real numbers, got {', '.join(str(v) for v in given)}")
        dtype = dtype if kind_of(dtype) == "f" else np.dtype("float64")
        wide = working_name(dtype.name)
        x, *shapes = [as_tensor(np.asarray(v, wide)) if is_plain_number(v) else _in(v, wide) for v in given]
        scale = as_tensor(np.asarray(1, wide)) if self.whole else shapes.pop()
        loc, valid = shapes.pop(), self.valid(*shapes)
        valid = _all([scale > 0] if valid is None else [scale > 0, valid])
        if what in ("ppf", "isf"):
            within, (low, high) = _all([x > 0, x < 1]), self.support(*shapes)
            least, most = (low, high) if what == "ppf" else (high, low)
            ends = switch(ew.eq(x, 0), least, switch(ew.eq(x, 1), most, math.nan))
            found = switch(within, formula(switch(within, x, 0.5), *shapes), ends) * scale + loc
            return to_dtype(switch(valid, found, math.nan), dtype.name)
        of_number = self.whole or (is_plain_number(given[-1]) and 0 < given[-1] < math.inf)
        plain = self.plain and of_number and "density" in what
        valid, end = valid if plain else _all([valid, ew.logical_not(ew.isnan(x - loc))]), ew.isinf(x)
        y = ((x if of_number else switch(end, 0.0, x)) - loc) / scale  # at an end a scale has no slope, not one of NaN
        low, high = self.support(*shapes)
        if "density" in what:
            at = ew.floor(y) if self.whole else y
            outside = ew.logical_or(self.below(at, low), ew.gt(at, high))
            outside = outside if plain else ew.logical_or(outside, ew.isinf(at))
            outside = outside if of_number else ew.logical_or(end, outside)
            outside = ew.logical_or(outside, ew.lt(at, y)) if self.whole else outside
            found = switch(outside, -INF, formula(switch(outside, self.inside, at), *shapes) - log(scale))
            found = found if what == "log density" else exp(found)
        else:
            y = y if of_number else switch(end, x, y)
            at = ew.floor(y) if self.whole else y
            before, past = (ew.lt(at, low) if self.whole else ew.le(at, low)), ew.ge(at, high)
            found = formula(switch(ew.logical_or(before, past), self.inside, at), *shapes)
            found = switch(before, ENDS[what][0], switch(past, ENDS[what][1], found))
        return to_dtype(switch(valid, found, math.nan), dtype.name)


def _in(v: Any, dtype: str) -> Any:
    return to_dtype(as_tensor(v), dtype)


def _all(conditions: Any) -> Any:
    found = None
    for c in conditions:
        found = c if found is None else ew.logical_and(found, c)
    return found


def _formula(formulas: dict[str, Formula], kind: str) -> Formula | None:
    """The formula of a row, or what follows from another one."""
    if kind in formulas:
        return formulas[kind]
    if kind in ("logcdf", "logsf") and "cdf" in formulas and "sf" in formulas:  # by the one that is small
        f, g = formulas[kind[3:]], formulas["sf" if kind == "logcdf" else "cdf"]
        return lambda *given: _log_of_either(f(*given), g(*given))
    for other, then in FOLLOWS[kind]:
        if other in formulas:
            return lambda *given, f=formulas[other], then=then: then(f(*given))
    return None


# ---------------------------------------------------------------------- parts of formulas
def _log_of_either(chance: Any, rest: Any) -> Any:
    small = chance < 0.5
    return switch(small, log(switch(small, chance, 0.5)), log1p(-switch(small, 0.5, rest)))


def _log1p_of_square(x: Any) -> Any:
    large = abs(x) > 1e9
    return switch(large, 2 * log(abs(switch(large, x, 1.0))), log1p(ew.sqr(switch(large, 0.0, x))))


def _half_step(z: Any) -> Any:
    """log(gamma(z + 1/2) / gamma(z)), by Stirling's series where a difference of logarithms would lose digits."""
    far = z > 20
    w = 1 / switch(far, z, 20.0)
    series = w * (-1 / 8 + w * w * (1 / 192 + w * w * (-1 / 640 + w * w * (17 / 14336))))
    near = switch(far, 20.0, z)
    return switch(far, log(switch(far, z, 20.0)) / 2 + series, gammaln(near + 0.5) - gammaln(near))


def _log_density_of_t(x: Any, df: Any) -> Any:
    normal = ew.isinf(df)
    df = switch(normal, 1.0, df)
    found = _half_step(df / 2) - log(df * math.pi) / 2 - (df + 1) / 2 * _log1p_of_square(x / ew.sqrt(df))
    return switch(normal, -(x * x) / 2 - half_log_2pi, found)


def _tail_of_t(x: Any, df: Any) -> Any:
    """The chance to be beyond abs(x), each part of which keeps its digits; the gradient by x is of all parts, too."""
    given, x, df = x.dtype, _in(x, "float64"), _in(df, "float64")
    x = switch(x > 0, x, -x)  # with the slope at 0 of the side that is asked for
    normal, small = ew.isinf(df), x < 1e-8
    many = switch(normal, 1.0, df)
    line = 0.5 - x * exp(_log_density_of_t(as_tensor(np.zeros((), x.dtype)), df))  # betainc has no slope at 0
    far, near = many > 1e4, disconnected_grad(x) <= 1  # betainc has no gradient by its shapes, which this chooses
    huge = _all([x > 1e150, ew.isfinite(x)])  # whose square may not be: beyond 1e150 the chance falls as x**-n
    at = switch(ew.logical_or(ew.logical_or(small, far), ew.isinf(x)), 1.0, switch(huge, 1e150, x))
    n, beyond = switch(far, 1.0, many), switch(huge, x, 1e150) / 1e150
    part = sp.betainc(switch(near, 0.5, n / 2), switch(near, n / 2, 0.5), switch(near, at * at, n) / (n + at * at)) / 2
    part = part * exp(-n * log(beyond))
    series = ndtr(-_normal_of_t(switch(small, 1.0, switch(x > 1e100, 1e100, x)), switch(far, many, 1e4)))  # is 0 there
    found = switch(small, line, switch(far, series, switch(near, 0.5 - part, part)))
    return _in(switch(normal, ndtr(-x), found), given)


def _normal_of_t(x: Any, df: Any) -> Any:
    """The normal number of as large a chance, by Hill's series for many degrees of freedom."""
    a = df - 0.5
    b, y = 48 * a * a, a * log1p(x / df * x)
    inner = (((-0.4 * y - 3.3) * y - 24) * y - 85.5) / (0.8 * y * y + 100 + b)
    return ew.sqrt(y) * (1 + (inner + y + 3) / b)


def _log_chance_of_t(x: Any, df: Any) -> Any:
    normal, tail = ew.isinf(df), _tail_of_t(x, df)
    found = switch(x > 0, log1p(-tail), log(tail))
    return switch(normal, log_ndtr(x), found)


def _log_between(a: Any, b: Any) -> Any:
    """The logarithm of a standard normal number's chance to be between a and b, on the side where it keeps digits.

    What is not chosen is computed of other numbers, so that infinite ends have no gradient of NaN.
    """
    left = b <= 0
    u, v = switch(left, b, -a), switch(left, a, -b)  # both tails on the left
    aside, counts = ew.logical_or(b < -1, a > 1), _all([v < u, ew.isfinite(u * u)])
    u = switch(ew.logical_and(aside, counts), u, -1.0)
    two = _all([aside, counts, ew.isfinite(v * v)])
    more, less = log_ndtr(u), log_ndtr(switch(two, v, -2.0))
    tail = more + switch(two, ew.log1mexp(switch(two, less - more, -1.0)), 0.0)
    a, b = switch(aside, -1.0, a), switch(aside, 1.0, b)
    about_0 = _log_of_either((ew.erf(cut * b) - ew.erf(cut * a)) / 2, ndtr(a) + ndtr(-b))
    return switch(aside, switch(counts, tail, -INF), about_0)


def _log_share(a: Any, x: Any, b: Any, below: bool) -> Any:
    """The logarithm of the chance to be below x (above it) of a normal number between a and b."""
    within, open_a, open_b = ew.logical_and(a < x, x < b), ew.isinf(a), ew.isinf(b)
    low, high = switch(open_a, switch(open_b, -1.0, b - 2), a), switch(open_b, switch(open_a, 1.0, a + 2), b)
    x = switch(within, x, low / 2 + high / 2)
    whole, under, over = _log_between(a, b), _log_between(a, x), _log_between(x, b)
    share, rest = (under, over) if below else (over, under)
    small = rest - whole < -math.log(2)
    chosen = switch(small, rest - whole, -1.0)
    return switch(small, ew.log1mexp(chosen), share - whole)


def _cotangent(q: Any) -> Any:
    """1 / tan(pi q) for q between 0 and 1, of differences that are exact."""
    middle = abs(q - 0.5) < 0.25
    aside = switch(middle, 0.25, switch(q > 0.5, 1 - q, q))
    tail = 1 / ew.tan(math.pi * aside)
    return switch(middle, -ew.tan(math.pi * switch(middle, q - 0.5, 0.0)), switch(q > 0.5, -tail, tail))


def _quantile_of_beta(q: Any, a: Any, b: Any) -> Any:
    """betaincinv, or the first term of its series where that is all, which betaincinv does not find."""
    first = exp((log(q) + log(a) + betaln(a, b)) / a)
    tiny = first * (b + 1) < 1e-17
    return switch(tiny, first, sp.betaincinv(a, b, switch(tiny, 0.5, q)))


def _upper_quantile_of_beta(q: Any, a: Any, b: Any) -> Any:
    low = disconnected_grad(q) > 0.5  # both differences are exact, or the quantile is not small
    found = _quantile_of_beta(switch(low, 1 - q, q), switch(low, a, b), switch(low, b, a))
    return switch(low, found, 1 - found)


def _chances(p: Any) -> Any:
    return ew.logical_and(p >= 0, p <= 1)


def _ways(n: Any, k: Any) -> Any:
    """The logarithm of the number of ways to choose k of n."""
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)


# ---------------------------------------------------------------------- the table
half_log_2pi, cut = math.log(2 * math.pi) / 2, math.sqrt(0.5)
POSITIVE = (0.0, INF)
# fmt: off
# on all numbers
norm = Distribution("norm", "", lambda x: -(x * x) / 2 - half_log_2pi, plain=True,
    cdf=ndtr, sf=lambda x: ndtr(-x), logcdf=log_ndtr, logsf=lambda x: log_ndtr(-x), ppf=ndtri, isf=lambda q: -ndtri(q))
cauchy = Distribution("cauchy", "",
    lambda x: -math.log(math.pi) - _log1p_of_square(x), cdf=lambda x: ew.arctan2(1.0, -x) / math.pi,
    sf=lambda x: ew.arctan2(1.0, x) / math.pi, ppf=lambda q: -_cotangent(q), isf=_cotangent)
laplace = Distribution("laplace", "", lambda x: -abs(x) - math.log(2), plain=True,
    cdf=lambda x: switch(x > 0, 1 - exp(-abs(x)) / 2, exp(-abs(x)) / 2),
    sf=lambda x: switch(x > 0, exp(-abs(x)) / 2, 1 - exp(-abs(x)) / 2),
    logcdf=lambda x: switch(x > 0, log1p(-exp(-abs(x)) / 2), -abs(x) - math.log(2)),
    logsf=lambda x: switch(x > 0, -abs(x) - math.log(2), log1p(-exp(-abs(x)) / 2)),
    ppf=lambda q: switch(q > 0.5, -log(2 * (1 - q)), log(2 * q)),
    isf=lambda q: switch(q > 0.5, log(2 * (1 - q)), -log(2 * q)))
logistic = Distribution("logistic", "", lambda x: -abs(x) - 2 * log1p(exp(-abs(x))), cdf=ew.sigmoid,
    sf=lambda x: ew.sigmoid(-x), logcdf=lambda x: -ew.softplus(-x), logsf=lambda x: -ew.softplus(x),
    ppf=logit, isf=lambda q: -logit(q))
gumbel_r = Distribution("gumbel_r", "",
    lambda x: -x - exp(-x), logcdf=lambda x: -exp(-x), sf=lambda x: -expm1(-exp(-x)),
    cdf=lambda x: exp(-exp(-x)), ppf=lambda q: -log(-log(q)), isf=lambda q: -log(-log1p(-q)))
gumbel_l = Distribution("gumbel_l", "", lambda x: x - exp(x), logsf=lambda x: -exp(x), cdf=lambda x: -expm1(-exp(x)),
    sf=lambda x: exp(-exp(x)), ppf=lambda q: log(-log1p(-q)), isf=lambda q: log(-log(q)))
gennorm = Distribution("gennorm", "beta", lambda x, beta: log(beta / 2) - gammaln(1 / beta) - abs(x) ** beta,
    cdf=lambda x, beta: switch(x > 0, 2 - ew.gammaincc(1 / beta, abs(x) ** beta),
    ew.gammaincc(1 / beta, abs(x) ** beta)) / 2,
    sf=lambda x, beta: switch(x > 0, ew.gammaincc(1 / beta, abs(x) ** beta),
    2 - ew.gammaincc(1 / beta, abs(x) ** beta)) / 2)
t = Distribution("t", "df", _log_density_of_t,
    cdf=lambda x, df: switch(x > 0, 1 - _tail_of_t(x, df), _tail_of_t(x, df)),
    sf=lambda x, df: switch(x > 0, _tail_of_t(x, df), 1 - _tail_of_t(x, df)), logcdf=_log_chance_of_t,
    logsf=lambda x, df: _log_chance_of_t(-x, df))
vonmises = Distribution("vonmises", "kappa", lambda x, kappa: -2 * kappa * ew.sqr(ew.sin(x / 2)) - 2 * half_log_2pi
    - log(ew.i0e(kappa)), valid=lambda kappa: kappa >= 0)
# on positive numbers
expon = Distribution("expon", "",
    lambda x: -x, POSITIVE, plain=True, cdf=lambda x: -expm1(-x), sf=lambda x: exp(-x), logsf=lambda x: -x,
    logcdf=lambda x: ew.log1mexp(-x), ppf=lambda q: -log1p(-q), isf=lambda q: -log(q))
gamma = Distribution("gamma", "a",
    lambda x, a: xlogy(a - 1, x) - x - gammaln(a), POSITIVE, cdf=lambda x, a: ew.gammainc(a, x),
    sf=lambda x, a: ew.gammaincc(a, x), ppf=lambda q, a: sp.gammaincinv(a, q),
    isf=lambda q, a: sp.gammainccinv(a, q))
chi2 = Distribution("chi2", "df", lambda x, df: xlogy(df / 2 - 1, x) - x / 2 - df / 2 * math.log(2) - gammaln(df / 2),
    POSITIVE, cdf=lambda x, df: ew.gammainc(df / 2, x / 2), sf=lambda x, df: ew.gammaincc(df / 2, x / 2),
    ppf=lambda q, df: 2 * sp.gammaincinv(df / 2, q), isf=lambda q, df: 2 * sp.gammainccinv(df / 2, q))
invgamma = Distribution("invgamma", "a", lambda x, a: -(a + 1) * log(x) - gammaln(a) - 1 / x, POSITIVE, open=True,
    cdf=lambda x, a: ew.gammaincc(a, 1 / x), sf=lambda x, a: ew.gammainc(a, 1 / x),
    ppf=lambda q, a: 1 / sp.gammainccinv(a, q), isf=lambda q, a: 1 / sp.gammaincinv(a, q))
lognorm = Distribution("lognorm", "s",
    lambda x, s: -ew.sqr(log(x) / s) / 2 - log(s * x) - half_log_2pi, POSITIVE, open=True,
    cdf=lambda x, s: ndtr(log(x) / s), sf=lambda x, s: ndtr(-log(x) / s),
    logcdf=lambda x, s: log_ndtr(log(x) / s), logsf=lambda x, s: log_ndtr(-log(x) / s),
    ppf=lambda q, s: exp(s * ndtri(q)), isf=lambda q, s: exp(-s * ndtri(q)))
halfnorm = Distribution("halfnorm", "", lambda x: math.log(2) - x * x / 2 - half_log_2pi, POSITIVE, plain=True,
    cdf=lambda x: ew.erf(cut * x), sf=lambda x: ew.erfc(cut * x),
    ppf=lambda q: ew.erfinv(q) / cut, isf=lambda q: ew.erfcinv(q) / cut)
halfcauchy = Distribution("halfcauchy", "", lambda x: math.log(2 / math.pi) - _log1p_of_square(x), POSITIVE,
    cdf=lambda x: 2 / math.pi * ew.arctan(x), sf=lambda x: 2 / math.pi * ew.arctan2(1.0, x),
    ppf=lambda q: switch(q > 0.5, _cotangent(switch(q > 0.5, (1 - q) / 2, 0.25)),
    ew.tan(math.pi / 2 * switch(q > 0.5, 0.5, q))), isf=lambda q: _cotangent(q / 2))
rayleigh = Distribution("rayleigh", "", lambda x: log(x) - x * x / 2, POSITIVE, cdf=lambda x: -expm1(-x * x / 2),
    sf=lambda x: exp(-x * x / 2), logsf=lambda x: -x * x / 2, ppf=lambda q: ew.sqrt(-2 * log1p(-q)),
    isf=lambda q: ew.sqrt(-2 * log(q)))
weibull_min = Distribution("weibull_min", "c", lambda x, c: log(c) + xlogy(c - 1, x) - x**c, POSITIVE,
    cdf=lambda x, c: -expm1(-(x**c)), sf=lambda x, c: exp(-(x**c)), logsf=lambda x, c: -(x**c),
    ppf=lambda q, c: (-log1p(-q)) ** (1 / c), isf=lambda q, c: (-log(q)) ** (1 / c))
f = Distribution("f", "dfn dfd", lambda x, n, m: xlogy(n / 2, n) + xlogy(m / 2, m) + xlogy(n / 2 - 1, x)
    - (n + m) / 2 * log(m + n * x) - betaln(n / 2, m / 2), POSITIVE,
    cdf=lambda x, n, m: sp.betainc(n / 2, m / 2, n * x / (m + n * x)),
    sf=lambda x, n, m: sp.betainc(m / 2, n / 2, m / (m + n * x)))
# within bounds
pareto = Distribution("pareto", "b", lambda x, b: log(b) - (b + 1) * log(x), (1.0, INF), inside=2.0,
    cdf=lambda x, b: -expm1(-b * log(x)), sf=lambda x, b: x**-b, logsf=lambda x, b: -b * log(x),
    ppf=lambda q, b: exp(-log1p(-q) / b), isf=lambda q, b: q ** (-1 / b))
uniform = Distribution("uniform", "", lambda x: 0 * x, (0.0, 1.0), cdf=lambda x: x, sf=lambda x: 1 - x, ppf=lambda q: q,
    isf=lambda q: 1 - q)
beta = Distribution("beta", "a b", lambda x, a, b: xlogy(a - 1, x) + ew.xlog1py(b - 1, -x) - betaln(a, b), (0.0, 1.0),
    cdf=lambda x, a, b: sp.betainc(a, b, x), sf=lambda x, a, b: sp.betainc(b, a, 1 - x),
    ppf=_quantile_of_beta, isf=_upper_quantile_of_beta)
truncnorm = Distribution("truncnorm", "a b", lambda x, a, b: -(x * x) / 2 - half_log_2pi - _log_between(a, b),
    lambda a, b: (a, b), valid=lambda a, b: a < b, plain=True,
    logcdf=lambda x, a, b: _log_share(a, x, b, below=True), logsf=lambda x, a, b: _log_share(a, x, b, below=False))
wrapcauchy = Distribution("wrapcauchy", "c",
    lambda x, c: log(1 - c * c) - 2 * half_log_2pi - log(1 + c * c - 2 * c * ew.cos(x)),
    (0.0, 2 * math.pi), valid=lambda c: ew.logical_and(c > 0, c < 1))
# of whole numbers
bernoulli = Distribution("bernoulli", "p",
    lambda k, p: xlogy(k, p) + ew.xlog1py(1 - k, -p), (0.0, 1.0), whole=True, inside=0.0,
    valid=_chances, cdf=lambda k, p: 1 - p + 0 * k, sf=lambda k, p: p + 0 * k)
binom = Distribution("binom", "n p", lambda k, n, p: _ways(n, k) + xlogy(k, p) + ew.xlog1py(n - k, -p),
    lambda n, p: (0.0, n), whole=True, inside=0.0,
    valid=lambda n, p: _all([n >= 0, ew.eq(n, ew.floor(n)), _chances(p)]),
    cdf=lambda k, n, p: sp.betainc(ew.maximum(n - k, 1), k + 1, 1 - p),
    sf=lambda k, n, p: sp.betainc(k + 1, ew.maximum(n - k, 1), p))
betabinom = Distribution("betabinom", "n a b",
    lambda k, n, a, b: _ways(n, k) + betaln(k + a, n - k + b) - betaln(a, b),
    lambda n, a, b: (0.0, n), whole=True, inside=0.0,
    valid=lambda n, a, b: _all([n >= 0, ew.eq(n, ew.floor(n)), a > 0, b > 0]))
geom = Distribution("geom", "p", lambda k, p: ew.xlog1py(k - 1, -p) + log(p), (1.0, INF), whole=True, inside=1.0,
    valid=lambda p: ew.logical_and(p > 0, p <= 1), cdf=lambda k, p: -expm1(ew.xlog1py(k, -p)),
    sf=lambda k, p: exp(ew.xlog1py(k, -p)), logsf=lambda k, p: ew.xlog1py(k, -p))
nbinom = Distribution("nbinom", "n p", lambda k, n, p: gammaln(n + k) - gammaln(k + 1) - gammaln(n) + xlogy(n, p)
    + ew.xlog1py(k, -p), POSITIVE, whole=True, inside=0.0,
    valid=lambda n, p: _all([n > 0, p > 0, p <= 1]),
    cdf=lambda k, n, p: sp.betainc(n, k + 1, p), sf=lambda k, n, p: sp.betainc(k + 1, n, 1 - p))
poisson = Distribution("poisson", "mu",
    lambda k, mu: xlogy(k, mu) - mu - gammaln(k + 1), POSITIVE, whole=True, inside=0.0,
    valid=lambda mu: mu >= 0, cdf=lambda k, mu: ew.gammaincc(k + 1, mu),
    sf=lambda k, mu: ew.gammainc(k + 1, mu))
# fmt: on

__all__ = [
    "bernoulli", "beta", "betabinom", "binom", "cauchy", "chi2", "expon", "f", "gamma", "gennorm", "geom",
    "gumbel_l", "gumbel_r", "halfcauchy", "halfnorm", "invgamma", "laplace", "logistic", "lognorm", "nbinom",
    "norm", "pareto", "poisson", "rayleigh", "t", "truncnorm", "uniform", "vonmises", "weibull_min", "wrapcauchy",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__


globals()["__getattr__"] = refuse_in(".stats")  # type checkers shall not believe that any name is there
