"""Exact values of element-wise expressions: mpmath with as many digits as it takes, rounded once at the end.

With each number goes a bound of its error; where that leaves a digit of the result in doubt, more bits are taken.
That two precisions agree would say nothing: `exp(x) - 1 - x` is -x for x = 1e-300 with a hundred digits and with two.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from termgraph.terms.op import CONST
from termgraph.terms.traverse import children_first_until

if TYPE_CHECKING:
    from mpmath import mpf
    from mpmath.ctx_mp import MPContext

    from termgraph.terms.term import AnyTerm

BITS = (140, 600, 2400, 6400)  # of precision, tried one after the other
_LARGEST = 4000  # exponentials of numbers of more bits are infinity or zero


def functions(mp: MPContext) -> dict[str, Callable]:
    """The meaning of operators on numbers of an mpmath context, by name; ValueError and kin where undefined."""
    inf, zero = mp.inf, mp.mpf(0)

    def exp(x: mpf) -> Any:
        if x and mp.isfinite(x) and mp.mag(x) > _LARGEST:
            return inf if x > 0 else zero
        return mp.exp(x)

    def expm1(x: mpf) -> Any:
        return exp(x) - 1 if mp.isinf(x) or mp.mag(x) > 20 else mp.expm1(x)

    def log(x: mpf) -> Any:
        return -inf if x == 0 else mp.log(x)

    def power(x: mpf, y: mpf) -> Any:
        if x == 0:
            return zero if y > 0 else mp.mpf(1) if y == 0 else inf
        if y == int(y) and abs(y) < 2**20:
            return mp.power(x, int(y))
        return exp(y * log(x))

    def softplus(x: mpf) -> Any:
        return x + mp.log1p(exp(-x)) if x > 0 else mp.log1p(exp(x))

    def logaddexp(x: mpf, y: mpf) -> Any:
        return max(x, y) if mp.isinf(x) or mp.isinf(y) else max(x, y) + mp.log1p(exp(-abs(x - y)))

    def trigonometric(f: Callable) -> Callable:
        def value(x: mpf) -> Any:
            if mp.mag(x) > _LARGEST:
                raise ValueError(x)
            return f(x)

        return value

    ln2, ln10 = mp.ln2, mp.ln10
    return {
        "add": lambda x, y: x + y, "mul": lambda x, y: x * y, "sub": lambda x, y: x - y,
        "true_div": lambda x, y: x / y, "pow": power, "neg": lambda x: -x, "abs": abs, "sign": mp.sign,
        "sqr": lambda x: x * x, "sqrt": mp.sqrt, "reciprocal": lambda x: 1 / x, "fma": lambda x, y, z: x * y + z,
        "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)), "maximum": max, "minimum": min,
        "hypot": lambda x, y: mp.sqrt(x * x + y * y), "exp": exp, "exp2": lambda x: exp(x * ln2), "expm1": expm1,
        "log": log, "log2": lambda x: log(x) / ln2, "log10": lambda x: log(x) / ln10,
        "log1p": lambda x: -inf if x == -1 else mp.log1p(x), "logaddexp": logaddexp,
        "logaddexp2": lambda x, y: logaddexp(x * ln2, y * ln2) / ln2,
        "xlogy": lambda x, y: zero if x == 0 else x * log(y), "sigmoid": lambda x: 1 / (1 + exp(-x)),
        "softplus": softplus, "log1mexp": lambda x: log(-expm1(x)) if x > -1 else mp.log1p(-exp(x)),
        "sin": trigonometric(mp.sin), "cos": trigonometric(mp.cos), "tan": trigonometric(mp.tan),
        "arcsin": mp.asin, "arccos": mp.acos, "arctan": mp.atan, "arctan2": mp.atan2,
        "sinh": lambda x: x if not x else mp.sinh(x) if mp.mag(x) < 20 else mp.sign(x) * exp(abs(x)) / 2,
        "cosh": lambda x: mp.cosh(x) if mp.mag(x) < 20 else exp(abs(x)) / 2,
        "tanh": lambda x: mp.tanh(x) if mp.mag(x) < 20 else mp.sign(x) * (1 - 2 * exp(-2 * abs(x))),
        "arcsinh": mp.asinh, "arccosh": mp.acosh, "arctanh": mp.atanh, "deg2rad": lambda x: x * mp.pi / 180,
        "rad2deg": lambda x: x * 180 / mp.pi, "erf": mp.erf, "erfc": mp.erfc,
        "lt": lambda x, y: x < y, "gt": lambda x, y: x > y, "le": lambda x, y: x <= y, "ge": lambda x, y: x >= y,
        "eq": lambda x, y: x == y, "neq": lambda x, y: x != y, "logical_and": lambda x, y: x and y,
        "logical_or": lambda x, y: x or y, "logical_not": lambda x: not x, "switch": lambda c, x, y: x if c else y,
        "clip": lambda x, low, high: min(max(x, low), high), "assume": lambda x: x,
    }  # fmt: skip


@functools.cache
def _context(bits: int) -> tuple[Any, dict[str, Callable]]:
    mp = library().mp.clone()
    mp.prec = bits
    return mp, functions(mp)


def library() -> Any:
    """mpmath, or an ImportError that says how to get it."""
    try:
        import mpmath
    except ImportError as err:
        raise ImportError(
            "accurate forms are found with mpmath, which computes with many digits: pip install 'termgraph[accuracy]'"
        ) from err
    return mpmath


@functools.cache
def known() -> frozenset[str]:
    """The names of the operators whose exact values can be had."""
    return frozenset(_context(BITS[0])[1])


def below(root: AnyTerm, leaves: Iterable[Any]) -> list[Any]:
    """The terms of which a term is made, operands first, not looking into the leaves."""
    return list(children_first_until([root], {id(t): t for t in leaves}))


class Unsure(Exception):
    """More bits are needed to tell."""


class Number(NamedTuple):
    """A number and the binary exponent of a bound of its error; None for no error."""

    value: Any
    error: int | None


_EXACT_OPS = frozenset(("neg", "abs", "maximum", "minimum", "switch", "clip", "sign"))
_COMPARISONS = frozenset(("lt", "gt", "le", "ge", "eq", "neq", "switch", "maximum", "minimum", "clip", "sign"))
_UNDEFINED = (ValueError, ZeroDivisionError, OverflowError, TypeError, ArithmeticError)
_SPARE = 60  # bits below the first one that must be sure
_TINY = -1084  # errors below this exponent do not matter


def value_at(root: AnyTerm, leaves: Mapping[Any, Any], bits: int) -> Any:
    """The value of a term at a point with this many bits; None where it has none. Unsure where these do not suffice."""
    mp, meaning = _context(bits)
    values = {leaf: Number(mp.mpf(v), None) for leaf, v in leaves.items()}
    try:
        for t in below(root, values):
            if t not in values:
                args = [values[a] for a in t.args]
                values[t] = _constant(mp, t) if t.op is CONST else _apply(mp, meaning[t.op.name], t, args)
    except _UNDEFINED:
        return None
    found = values[root]
    if found.error is not None and found.error > max(_magnitude(mp, found.value) - _SPARE, _TINY):
        raise Unsure
    return found.value


def _constant(mp: Any, t: Any) -> Number:
    return Number(bool(t.scalar) if t.type.kind == "b" else mp.mpf(t.scalar), None)


def _magnitude(mp: MPContext, x: mpf) -> int:
    return int(mp.mag(x)) if x and mp.isfinite(x) else -(10**9)


def _apply(mp: MPContext, function: Callable, t: AnyTerm, args: list[Number]) -> Number:
    f = function if t.op.arity is not None else lambda *xs: functools.reduce(function, xs)
    plain = [a.value for a in args]
    found = f(*plain)
    if t.op.name in _COMPARISONS:
        _decided(mp, t, args)
    if isinstance(found, bool):
        return Number(found, None)
    if isinstance(found, mp.mpc) or mp.isnan(found):
        if any(a.error is not None for a in args):
            raise Unsure
        raise ValueError(t)
    errors = [] if t.op.name in _EXACT_OPS or not found else [_magnitude(mp, found) - mp.prec + 2]
    for i, a in enumerate(args):
        if a.error is not None and mp.isfinite(found):
            errors += _moved(mp, f, plain, i, a.error, found)
    return Number(found, max(errors) + 1 if errors else None)


def _moved(mp: MPContext, f: Callable, plain: list, i: int, error: int, found: Any) -> list[int]:
    """How far the result moves with one operand, which may be wrong by so much."""
    try:
        there = f(*plain[:i], plain[i] + mp.ldexp(1, error), *plain[i + 1 :])
    except _UNDEFINED:
        raise Unsure from None
    if isinstance(there, mp.mpc) or not mp.isfinite(there):
        raise Unsure
    return [_magnitude(mp, there - found)] if there != found else []


def _decided(mp: MPContext, t: AnyTerm, args: list[Number]) -> None:
    """Errors of operands must not decide a comparison."""
    numbers = [a for a in args if not isinstance(a.value, bool)] if t.op.name != "switch" else []
    for i, a in enumerate(numbers):
        for b in numbers[i + 1 :] or ([Number(mp.mpf(0), None)] if len(numbers) == 1 else []):
            bound = max([e for e in (a.error, b.error) if e is not None], default=None)
            if bound is not None and _magnitude(mp, a.value - b.value) <= bound + 1:
                raise Unsure


def exact(root: AnyTerm, points: Mapping[Any, np.ndarray]) -> np.ndarray:
    """The value of a term at many points, correctly rounded to its dtype; NaN where it has none or is too hard."""
    dtype = root.type.np_dtype
    count = len(next(iter(points.values())))
    out = np.full(count, np.nan, dtype=dtype)
    columns = {leaf: [float(v) for v in column] for leaf, column in points.items()}
    hard = 0
    for i in range(count):
        leaves = {leaf: column[i] for leaf, column in columns.items()}
        try:
            found = _settled(root, leaves, BITS if hard < _HARD else BITS[:2])
        except Unsure:
            hard += 1
        else:
            out[i] = np.nan if found is None else rounded(found, dtype)
    return out


_HARD = 12  # points that all bits do not suffice for, before others get fewer


def _settled(root: AnyTerm, leaves: Mapping[Any, float], precisions: Sequence[int]) -> Any:
    for bits in precisions[:-1]:
        try:
            return value_at(root, leaves, bits)
        except Unsure:
            continue
    return value_at(root, leaves, precisions[-1])


def rounded(x: mpf, dtype: Any) -> Any:
    """An exact number in a floating-point dtype; what is too large is infinite."""
    try:
        wide = float(x)
    except OverflowError:
        wide = np.inf if x > 0 else -np.inf
    with np.errstate(over="ignore", under="ignore"):
        return np.dtype(dtype).type(wide)
