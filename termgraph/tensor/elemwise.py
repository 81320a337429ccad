"""Element-wise functions of the language. Most are the ops themselves; a few are composed.

Every op in the element-wise table is exported under its NumPy or Theano name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from termgraph.tensor.lifting import on_terms, pattern_form
from termgraph.tensor.variable import is_plain_number
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import finfo, promote
from termgraph.terms.op import OPS
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops import special  # noqa: F401  rows of the same table
from termgraph.terms.types import dtype_name

if TYPE_CHECKING:
    from termgraph.tensor.likes import DTypeLike, TensorLike
    from termgraph.tensor.variable import TensorVariable

# NumPy and Theano names for ops whose table name differs
ALIASES = {
    "absolute": ew.abs_, "abs": ew.abs_, "abs_": ew.abs_, "negative": ew.neg, "subtract": ew.sub,
    "multiply": ew.mul, "divide": ew.true_div, "true_divide": ew.true_div, "floor_divide": ew.floor_div,
    "int_div": ew.floor_div, "remainder": ew.mod, "power": ew.pow_, "pow": ew.pow_, "square": ew.sqr,
    "less": ew.lt, "greater": ew.gt, "less_equal": ew.le, "greater_equal": ew.ge, "equal": ew.eq, "not_equal": ew.neq,
    "sgn": ew.sign, "round_half_to_even": ew.round_, "psi": ew.digamma,
    "conjugate": ew.conj, "and_": ew.bitwise_and, "or_": ew.bitwise_or, "xor": ew.bitwise_xor,
    "bitwise_not": ew.invert, "bitwise_invert": ew.invert, "expit": ew.sigmoid, "degrees": ew.rad2deg,
    "radians": ew.deg2rad, "complex": ew.complex_, "acos": ew.arccos, "asin": ew.arcsin, "atan": ew.arctan,
    "atan2": ew.arctan2, "acosh": ew.arccosh, "asinh": ew.arcsinh, "atanh": ew.arctanh, "fix": ew.trunc,
    "real": ew.real, "imag": ew.imag,
}  # fmt: skip


def cast(x: Any, dtype: DTypeLike) -> TensorVariable:
    """The array converted to another dtype.

    >>> import termgraph.tensor as T
    >>> T.cast([1.5, -2.5], "int8").eval()
    array([ 1, -2], dtype=int8)
    """
    name = dtype_name(dtype)
    if getattr(getattr(x, "apply_op", None), "rank", 0) == 2 and x.dtype == name:
        return x
    return ew.cast(as_tensor(x) if not hasattr(x, "apply_op") else x, dtype=name)


def angle(z: Any, deg: bool = False) -> TensorVariable:
    """The argument of a complex number, in radians or degrees."""
    z = as_tensor(z)
    radians = ew.arctan2(ew.imag(z), ew.real(z)) if z.type.kind == "c" else ew.arctan2(0, z)
    return ew.rad2deg(radians) if deg else radians


def sinc(x: TensorLike) -> TensorVariable:
    """sin(pi x) / (pi x), and 1 at 0."""
    y = as_tensor(x) * 3.141592653589793
    return ew.switch(ew.eq(y, 0), 1, ew.sin(y) / ew.switch(ew.eq(y, 0), 1, y))


def frexp(x: TensorLike) -> list[TensorVariable]:
    """[m, n]: each number as m * 2**n, where m is from 0.5 to 1 (or 0) and n is a whole number.

    >>> import termgraph.tensor as T
    >>> mantissa, exponent = T.frexp([0.0, 3.0, -16.0])
    >>> mantissa.eval(), exponent.eval()
    (array([ 0.  ,  0.75, -0.5 ]), array([0, 2, 5], dtype=int32))
    """
    x = as_tensor(x)
    return [ew.frexp_mantissa(x), ew.frexp_exponent(x)]


def modf(x: TensorLike) -> list[TensorVariable]:
    """[part, whole]: the part of each number behind the point, and the whole number before it, both with its sign.

    >>> import termgraph.tensor as T
    >>> part, whole = T.modf([1.25, -2.5])
    >>> part.eval(), whole.eval()
    (array([ 0.25, -0.5 ]), array([ 1., -2.]))
    """
    x = _float_of(x, "modf")
    nothing = ew.copysign(np.zeros((), x.type.np_dtype), x)
    return [ew.switch(ew.isinf(x), nothing, ew.fmod(x, np.ones((), x.type.np_dtype))), ew.trunc(x)]


def isclose(
    a: TensorLike, b: TensorLike, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> TensorVariable:
    """Element by element: |a - b| <= atol + rtol |b|, infinities equal to themselves."""
    a, b = _weakly(*[float(v) if isinstance(v, int) else v for v in (a, b)])  # 300 may be beyond the other's dtype
    b = cast(b, "float64") if b.type.kind in "biu" else b
    close = ew.le(ew.abs_(a - b), atol + rtol * ew.abs_(b))
    result = ew.logical_or(ew.logical_and(close, ew.isfinite(b)), ew.eq(a, b))
    if equal_nan:
        result = ew.logical_or(result, ew.logical_and(ew.isnan(a), ew.isnan(b)))
    return result


def _weakly(*operands: TensorLike) -> list[TensorVariable]:
    """The operands as variables; Python numbers have the dtype that they take beside the others."""
    given: list[Any] = [v if is_plain_number(v) else as_tensor(v) for v in operands]
    common = promote(*[v if is_plain_number(v) else v.type.np_dtype for v in given])
    return [as_tensor(np.asarray(v, common)) if is_plain_number(v) else v for v in given]


@on_terms
def spacing(x: TensorLike) -> TensorVariable:
    """The distance to the next number away from 0 of the same dtype, negative for negative numbers.

    >>> import termgraph.tensor as T
    >>> float(T.spacing(1.0).eval()) == 2.0**-52
    True
    """
    x = _float_of(x, "spacing")
    size = ew.abs_(x)
    gap = ew.sub(ew.nextafter(size, np.asarray(np.inf, x.type.np_dtype)), size)
    return ew.switch(ew.lt(x, 0), ew.neg(gap), gap)


@on_terms
def fabs(x: TensorLike) -> TensorVariable:
    """The absolute value as a float, also of integers.

    >>> import termgraph.tensor as T
    >>> float(T.fabs(-2).eval())
    2.0
    """
    return ew.abs_(_float_of(x, "fabs"))


def _float_of(x: TensorLike, who: str) -> TensorVariable:
    """Real numbers as floats, those of few bits as NumPy's functions of floats take them."""
    x = as_tensor(x)
    if x.type.kind == "c":
        raise TypeError(f"{who} is defined for real numbers only, got {x.type}")
    return x if x.type.kind == "f" else cast(x, np.modf.resolve_dtypes((x.type.np_dtype, None, None))[0].name)


@on_terms
def float_power(x: TensorLike, y: TensorLike) -> TensorVariable:
    """x to the power y in float64 (complex128): integers may have negative powers.

    >>> import termgraph.tensor as T
    >>> float(T.float_power(2, -1).eval())
    0.5
    """
    x, y = as_tensor(x), as_tensor(y)
    wide = "complex128" if "c" in (x.type.kind, y.type.kind) else "float64"
    return ew.pow_(cast(x, wide), cast(y, wide))


@on_terms
def positive(x: TensorLike) -> TensorVariable:
    """The array itself: unary plus, which booleans do not have."""
    x = as_tensor(x)
    if x.type.dtype == "bool":
        raise TypeError("positive is not defined for (bool): cast to an integer first")
    return x


@on_terms
def divmod(x1: TensorLike, x2: TensorLike) -> tuple[TensorVariable, TensorVariable]:
    """(quotient rounded down, remainder): `x1 // x2` and `x1 % x2`.

    >>> import termgraph.tensor as T
    >>> [v.eval().tolist() for v in T.divmod([7, -7], 3)]
    [[2, -3], [1, 2]]
    """
    x1, x2 = as_tensor(x1), as_tensor(x2)
    return ew.floor_div(x1, x2), ew.mod(x1, x2)


@on_terms
@pattern_form(lambda x, a_min=None, a_max=None: ew.clip(x, a_min, a_max))
def clip(
    x: TensorLike,
    a_min: TensorLike | None = None,
    a_max: TensorLike | None = None,
    *,
    min: TensorLike | None = None,
    max: TensorLike | None = None,
) -> TensorVariable:
    """Elements limited to the interval from `a_min` to `a_max`, or `min` to `max`; None leaves that side open."""
    if (a_min is not None and min is not None) or (a_max is not None and max is not None):
        raise TypeError("clip() takes the ends of the interval once: as a_min and a_max or as min and max")
    a_min, a_max = min if a_min is None else a_min, max if a_max is None else a_max
    if isinstance(a_min, int) or isinstance(a_max, int):
        a_min, a_max = _inside(x, a_min, a_max)
    if a_min is None or a_max is None:
        bounded = x if a_min is None else ew.maximum(x, a_min)
        return as_tensor(bounded) if a_max is None else ew.minimum(bounded, a_max)
    return ew.clip(x, a_min, a_max)


def _inside(x: TensorLike, low: Any, high: Any) -> tuple[Any, Any]:
    """The bounds without Python numbers that no integer of the dtype is beyond, as in `clip(x, -1, 300)` of uint8."""
    x = as_tensor(x)
    if x.type.kind not in "iu":
        return low, high
    limits = np.iinfo(x.type.dtype)
    low = None if type(low) is int and low <= limits.min else low
    return low, None if type(high) is int and high >= limits.max else high


@on_terms
@pattern_form(lambda x: ew.round_(x))
def round(x: TensorLike, decimals: int = 0) -> TensorVariable:
    """Elements rounded to the nearest number with that many decimals, halves to even."""
    x = as_tensor(x)
    if not isinstance(decimals, (int, np.integer)):
        raise TypeError(f"round: decimals must be a known whole number, got {decimals!r:.60}")
    if decimals == 0 or (decimals > 0 and x.type.kind in "iu"):
        return ew.round_(x)
    if x.type.dtype == "bfloat16":  # with 8 bits the product with 10 decides which side of a half a number is on
        return cast(round(cast(x, "float32"), decimals), "bfloat16")
    if x.type.kind == "c":  # each part, as in NumPy: a product with a complex scale is NaN where one part is infinite
        return ew.complex_(round(ew.real(x), decimals), round(ew.imag(x), decimals))
    scale = 10.0 ** max(decimals, -decimals)  # `abs` is the symbolic function here
    if decimals > 0:
        return ew.true_div(ew.round_(ew.mul(x, scale)), scale)
    if x.type.kind in "iu":
        return _round_whole(x, 10**-decimals)
    return ew.mul(ew.round_(ew.true_div(x, scale)), scale)


def _round_whole(x: TensorVariable, step: int) -> Any:
    """The nearest multiple of a whole number, exactly: on the way through floats digits would be lost, and those beyond
    the largest whole number become anything.
    """
    if step > np.iinfo(x.type.np_dtype).max:
        return cast(ew.mul(ew.round_(ew.true_div(x, float(step))), float(step)), x.type.dtype)
    whole = as_tensor(step, dtype=x.type.dtype)
    times = ew.floor_div(x, whole)
    above = ew.sub(x, ew.mul(times, whole))
    below = ew.sub(whole, above)
    tie = ew.logical_and(ew.eq(above, below), ew.neq(ew.mod(times, as_tensor(2, dtype=x.type.dtype)), 0))
    up = ew.logical_or(ew.gt(above, below), tie)
    return ew.mul(ew.add(times, cast(up, x.type.dtype)), whole)


@on_terms
def iround(x: TensorLike, decimals: int = 0) -> TensorVariable:
    """`round`, as int64.

    >>> import termgraph.tensor as T
    >>> T.iround(T.constant([0.5, 1.7])).eval()
    array([0, 2])
    """
    return cast(round(x, decimals), "int64")


@on_terms
@pattern_form(lambda x: ew.round_(x))
def rint(x: TensorLike) -> TensorVariable:
    """The nearest whole number, halves to even, as a float (integers become floats as in NumPy)."""
    x = as_tensor(x)
    return ew.round_(cast(x, np.rint.resolve_dtypes((x.type.np_dtype, None))[1]))


@on_terms
def logit(x: TensorLike) -> TensorVariable:
    """log(x / (1 - x)), the inverse of sigmoid.

    >>> import termgraph.tensor as T
    >>> T.logit(0.5).eval()
    array(0.)
    """
    return ew.sub(ew.log(x), ew.log1p(ew.neg(x)))


@on_terms
def betaln(a: TensorLike, b: TensorLike) -> TensorVariable:
    """The logarithm of the absolute value of the beta function.

    >>> import termgraph.tensor as T
    >>> T.betaln(1.0, 1.0).eval()
    array(0.)
    """
    return ew.sub(ew.add(ew.gammaln(a), ew.gammaln(b)), ew.gammaln(ew.add(a, b)))


@on_terms
def multigammaln(a: TensorLike, d: int) -> TensorVariable:
    """The logarithm of the gamma function of d dimensions, for a > (d - 1) / 2.

    >>> import termgraph.tensor as T
    >>> T.multigammaln([3.0], 2).eval().round(6)
    array([1.550195])
    """
    if isinstance(d, bool) or not isinstance(d, (int, np.integer)) or d < 1:
        raise ValueError(f"multigammaln: d must be an integer of at least 1, got {d!r}")
    a = _float_of(a, "multigammaln")
    found: Any = ew.gammaln(a)
    for j in range(1, int(d)):
        found = ew.add(found, ew.gammaln(ew.sub(a, j / 2)))
    return ew.add(found, d * (d - 1) / 4 * float(np.log(np.pi))) if d > 1 else found


# ---------------------------------------------------------------------- the normal distribution, entropies
@on_terms
def ndtr(x: TensorLike) -> TensorVariable:
    """The chance that a standard normal number is at most x.

    >>> import termgraph.tensor as T
    >>> T.ndtr(0.0).eval()
    array(0.5)
    """
    return ew.mul(0.5, ew.erfc(ew.mul(_float_of(x, "ndtr"), -(0.5**0.5))))


@on_terms
def log_ndtr(x: TensorLike) -> TensorVariable:
    """The logarithm of `ndtr`, also where that is too small for a number.

    >>> import termgraph.tensor as T
    >>> T.log_ndtr([-40.0, 0.0]).eval().round(6)
    array([-8.04608442e+02, -6.93147000e-01])
    """
    x = _float_of(x, "log_ndtr")
    t = ew.mul(x, 0.5**0.5)
    low = ew.lt(x, -1.0)  # where a form is not asked it gets an argument of which it has a slope
    below = ew.minimum(t, 0.0)
    tail = ew.sub(ew.log(ew.mul(0.5, ew.erfcx(ew.neg(below)))), ew.sqr(below))
    return ew.switch(low, tail, ew.log1p(ew.mul(-0.5, ew.erfc(ew.maximum(t, -1.0)))))


@on_terms
def ndtri(p: TensorLike) -> TensorVariable:
    """The inverse of `ndtr`: where a standard normal number is with chance p.

    >>> import termgraph.tensor as T
    >>> T.ndtri([0.025, 0.5]).eval().round(6)
    array([-1.959964,  0.      ])
    """
    return ew.mul(-(2.0**0.5), ew.erfcinv(ew.mul(2.0, _float_of(p, "ndtri"))))


@on_terms
def entr(x: TensorLike) -> TensorVariable:
    """-x log(x), of which entropies are sums: 0 at 0, -infinity below it.

    >>> import termgraph.tensor as T
    >>> T.entr([0.0, 1.0]).eval()
    array([0., 0.])
    """
    x = _float_of(x, "entr")
    return ew.switch(ew.lt(x, 0.0), -np.inf, ew.sub(0.0, ew.xlogy(x, x)))


@on_terms
def rel_entr(x: TensorLike, y: TensorLike) -> TensorVariable:
    """x log(x / y), of which divergences of Kullback and Leibler are sums: 0 where x is 0, infinity below it.

    >>> import termgraph.tensor as T
    >>> T.rel_entr([0.0, 1.0], [0.5, 1.0]).eval()
    array([0., 0.])
    """
    x, y = _float_of(x, "rel_entr"), _float_of(y, "rel_entr")
    inside = ew.bitwise_and(ew.gt(x, 0.0), ew.gt(y, 0.0))
    nothing = ew.bitwise_and(ew.eq(x, 0.0), ew.ge(y, 0.0))
    p, q = ew.switch(inside, x, 1.0), ew.switch(inside, y, 1.0)  # elsewhere it gets arguments of which it has a slope
    ratio = ew.log1p(ew.switch(ew.ge(p, q), ew.true_div(ew.sub(p, q), q), ew.true_div(ew.sub(q, p), p)))
    value = ew.mul(p, ew.switch(ew.ge(p, q), ratio, ew.neg(ratio)))  # all digits, also where p and q are nearly equal
    found = ew.switch(inside, value, ew.switch(nothing, 0.0, ew.add(np.inf, ew.abs_(x))))
    return ew.switch(ew.isnan(y), y, found)


@on_terms
def isposinf(x: TensorLike) -> TensorVariable:
    """Where elements are +infinity."""
    return _infinite(x, np.inf)


@on_terms
def isneginf(x: TensorLike) -> TensorVariable:
    """Where elements are -infinity."""
    return _infinite(x, -np.inf)


def _infinite(x: TensorLike, which: float) -> TensorVariable:
    """Where elements are this infinity: one comparison."""
    x = as_tensor(x)
    if x.type.kind == "c":
        raise TypeError(f"complex numbers have no sign; isposinf and isneginf take real ones, got {x.type}")
    return ew.eq(x, np.asarray(which, x.type.dtype)) if x.type.kind == "f" else ew.isinf(x)


@on_terms
def nan_to_num(
    x: TensorLike, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None, *, copy: bool = True
) -> TensorVariable:
    """NaN replaced by `nan`, infinities by the largest and smallest finite numbers (or `posinf` and `neginf`).

    `copy` makes no difference: the result is a new array.
    """
    x = as_tensor(x)
    dtype = x.type.np_dtype
    if dtype.kind == "c":
        return ew.complex_(*[nan_to_num(part, nan, posinf, neginf) for part in (ew.real(x), ew.imag(x))])
    if x.type.kind != "f":
        return x
    limits = finfo(dtype)
    found = ew.switch(ew.isnan(x), np.asarray(nan, dtype), x)
    found = ew.switch(isposinf(x), np.asarray(limits.max if posinf is None else posinf, dtype), found)
    return ew.switch(isneginf(x), np.asarray(limits.min if neginf is None else neginf, dtype), found)


def table() -> dict[str, Any]:
    """Every element-wise op by its table name and aliases."""
    internal = {*globals(), "exp_below_zero"}  # what the C backend makes of exp is no name for users
    named = {name: op for name, op in OPS.items() if op.kind == "elementwise" and name not in internal}
    return {**named, **ALIASES}


around = round
_TABLE = table()
globals().update(_TABLE)
EXPORTS = [
    "angle", "around", "betaln", "cast", "clip", "divmod", "entr", "fabs", "float_power", "frexp", "iround", "isclose",
    "isneginf", "isposinf", "log_ndtr", "logit", "modf", "multigammaln", "nan_to_num", "ndtr", "ndtri", "positive",
    "rel_entr", "rint", "round", "sinc", "spacing", *_TABLE,
]  # fmt: skip

METHODS = {
    "astype": cast,
    "clip": clip,
    "conj": lambda self: ew.conj(self),
    "conjugate": lambda self: ew.conj(self),
    "round": round,
    "real": property(lambda self: ew.real(self)),
    "imag": property(lambda self: ew.imag(self)),
}
