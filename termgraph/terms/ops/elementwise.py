"""The element-wise op table: name, NumPy meaning, dtype rule, C spelling and facts, one row per op.

Result dtypes are NumPy 2's. A C spelling is a template over `{0} {1} ...`; a bare word is a libm-style function that a
dialect suffixes by precision.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from termgraph.terms import facts
from termgraph.terms.dtypes import is_bfloat16, kind_of, loaded, numpy_dtype, promote
from termgraph.terms.op import Op
from termgraph.terms.ops.descriptions import DESCRIPTIONS
from termgraph.terms.ops.shapes import broadcast_shapes, require_tensor
from termgraph.terms.types import TensorType, Type, dtype_name

DtypeRule = Callable[..., tuple]  # dtypes (or int/float/complex for weak numbers) -> loop dtypes, result last


# ---------------------------------------------------------------------- dtype rules
def ufunc_rule(ufunc: np.ufunc, out: str | None = None) -> DtypeRule:
    """The loop NumPy's ufunc would choose; `out` overrides the result dtype."""

    def rule(*dtypes: Any) -> tuple:
        chosen = _loop(ufunc, dtypes)
        return (*chosen[:-1], np.dtype(out)) if out else chosen

    return rule


def like_rule(ufunc: np.ufunc) -> DtypeRule:
    """For functions that are not ufuncs: as `ufunc` of the common dtype."""

    def rule(*dtypes: Any) -> tuple:
        chosen = _loop(ufunc, (_common(dtypes),))
        return (*(chosen[0],) * len(dtypes), chosen[1])

    return rule


def _loop(ufunc: np.ufunc, dtypes: tuple) -> tuple:
    """The dtypes of the ufunc's loop, results last. That of bfloat16 is the loop of float32 with rounded results."""
    common = _common(dtypes) if loaded else None
    if common is not None and is_bfloat16(common):
        loop = ufunc.resolve_dtypes((*(np.dtype("float32"),) * ufunc.nin, *(None,) * ufunc.nout))
        return tuple([common if d == np.float32 else d for d in loop])
    if common is not None:  # NumPy does not know what becomes of bfloat16 beside other dtypes
        dtypes = tuple([common if isinstance(d, np.dtype) and is_bfloat16(d) else d for d in dtypes])
    return tuple(ufunc.resolve_dtypes((*dtypes, *(None,) * ufunc.nout)))


def _common(dtypes: tuple) -> np.dtype:
    if any(not isinstance(d, np.dtype) for d in dtypes):
        return promote(*[d if isinstance(d, np.dtype) else d(0) for d in dtypes])
    return promote(*dtypes)


def same_rule(*dtypes: Any) -> tuple:
    """Operands and result share the common dtype."""
    common = _common(dtypes)
    return (common,) * (len(dtypes) + 1)


def _rounding_rule(dtype: Any) -> tuple:
    dtype = _common((dtype,))
    if kind_of(dtype) == "c":
        raise TypeError("complex numbers have no order to round by")
    return (dtype, dtype)


def _nearest_rule(dtype: Any) -> tuple:
    dtype = _common((dtype,))
    return (dtype, np.dtype("float16") if dtype.kind == "b" else dtype)


def _number_rule(*dtypes: Any) -> tuple:
    common = _common(dtypes)
    if common.kind == "b":
        raise TypeError("not defined for booleans; cast to an integer first")
    return (common,) * (len(dtypes) + 1)


def special_rule(*dtypes: Any) -> tuple:
    """Functions NumPy lacks: floats keep their precision, integers become float64; real numbers only."""
    common = _common(dtypes)
    if common.kind == "c":
        raise TypeError("defined for real numbers only")
    out = common if kind_of(common) == "f" else np.dtype("float64")
    return (out,) * (len(dtypes) + 1)


def _predicate_rule(*dtypes: Any) -> tuple:
    common = _common(dtypes)
    return (*(common,) * len(dtypes), np.dtype(bool))


def _real_part_rule(dtype: Any) -> tuple:
    dtype = _common((dtype,))
    return (dtype, np.dtype(f"float{dtype.itemsize * 4}") if dtype.kind == "c" else dtype)


def _switch_rule(cond: Any, a: Any, b: Any) -> tuple:
    common = _common((a, b))
    return (np.dtype(bool), common, common, common)


def _complex_rule(re: Any, im: Any) -> tuple:
    common = promote(_common((re, im)), np.float32)
    if kind_of(common) == "c":
        raise TypeError("complex(re, im) takes two real operands")
    return (common, common, np.dtype("complex64" if common == np.float32 else "complex128"))


def _cast_rule(dtype: Any, *, to: str) -> tuple:
    return (_common((dtype,)), numpy_dtype(to))


# ---------------------------------------------------------------------- typing
def loop_dtypes(op: Op, dtypes: tuple) -> tuple:
    """Dtypes the op computes in for these operands, the result's last. Weak numbers are `int`, `float`, `complex`."""
    rule = op.dtype_rule  # type: ignore[attr-defined]
    try:
        if op.arity is None and len(dtypes) != 2:
            return _nary_loop(rule, dtypes)
        return rule(*dtypes, **({"to": op.params["dtype"]} if "dtype" in op.params else {}))
    except TypeError as err:
        names = ", ".join(d.name if isinstance(d, np.dtype) else d.__name__ for d in dtypes)
        reason = "no loop for these types" if "did not contain a loop" in str(err) else str(err)
        raise TypeError(f"{op.name} is not defined for ({names}): {reason.splitlines()[0]}") from None


def _nary_loop(rule: DtypeRule, dtypes: tuple) -> tuple:
    out = dtypes[0]
    for d in dtypes[1:]:
        out = rule(out, d)[-1]
    if len(dtypes) == 1:
        out = rule(out, out)[-1]
    return (out,) * (len(dtypes) + 1)


def infer_elementwise(op: Op, *types: Type) -> TensorType:
    """Result type of an element-wise op."""
    tensors = [require_tensor(t, f"operand {i} of {op.name}") for i, t in enumerate(types)]
    if not tensors:
        raise TypeError(f"{op.name} needs at least one operand")
    out = loop_dtypes(op, tuple([t.np_dtype for t in tensors]))[-1]
    return TensorType.of(out.name, broadcast_shapes([t.shape for t in tensors], f"operands of {op.name}"))


class ElementwiseOp(Op):
    """An op applied element by element, with broadcasting."""

    def infer(self, *types: Type) -> TensorType:
        return infer_elementwise(self, *types)

    def meaning(self, *values: Any) -> Any:
        with np.errstate(all="ignore"):
            return super().meaning(*values)


def elementwise(
    name: str, arity: int | None, meaning: Callable, rule: Any = None, c: str | None = None, **extra: Any
) -> Op:
    """Define one row of the table. Without a rule, the meaning is a ufunc and decides."""
    from termgraph.terms.op import OPS

    if rule is None:
        rule = ufunc_rule(meaning)  # type: ignore[arg-type]
    elif isinstance(rule, np.ufunc):
        rule = like_rule(rule)
    if arity is None:
        meaning = functools.partial(_fold, meaning, rule)
    if name in OPS:
        raise ValueError(f"op {name!r} is already defined")
    extra.setdefault("doc", DESCRIPTIONS.get(name, ""))
    op = OPS[name] = ElementwiseOp(
        name, arity=arity, infer=infer_elementwise, meaning=meaning, kind="elementwise", c=c, dtype_rule=rule, **extra
    )
    facts.declare_from_table(op)
    return op


def _fold(function: Callable, rule: DtypeRule, *values: Any) -> Any:
    if len(values) == 2:
        return function(*values)
    # In the common dtype from the first step on, so that the order of operands does not decide what overflows.
    loop = _nary_loop(rule, tuple([np.asarray(v).dtype for v in values]))
    return functools.reduce(function, [np.asarray(v).astype(loop[0], copy=False) for v in values])


def _in_dtype(function: Callable) -> Callable:
    """Compute a function NumPy lacks in the dtype of `special_rule`, half precision by way of single."""

    @functools.wraps(function)
    def meaning(*values: Any) -> Any:
        loop = special_rule(*[np.asarray(v).dtype for v in values])
        wide = [np.asarray(v, dtype=np.promote_types(d, np.float32)) for v, d in zip(values, loop, strict=False)]
        return np.asarray(function(*wide)).astype(loop[-1], copy=False)

    return meaning


def _special(name: str) -> Callable:
    """A SciPy special function, imported when first used."""

    def meaning(*values: Any) -> Any:
        import scipy.special

        return getattr(scipy.special, name)(*values)

    meaning.__name__ = name
    return _in_dtype(meaning)


# ---------------------------------------------------------------------- meanings NumPy does not name
def _sigmoid(x: Any) -> Any:
    import scipy.special

    return scipy.special.expit(x)


def _log1mexp(x: Any) -> Any:
    return np.where(x > -0.6931471805599453, np.log(-np.expm1(x)), np.log1p(-np.exp(x)))


def _switch(cond: Any, a: Any, b: Any) -> Any:
    if loaded:  # NumPy does not know what becomes of bfloat16 beside some other dtypes
        common = _common((np.asarray(a).dtype, np.asarray(b).dtype))
        a, b = (np.asarray(v).astype(common, copy=False) for v in (a, b))
    return np.where(np.asarray(cond) != 0, a, b)


def _clip(x: Any, low: Any, high: Any) -> Any:
    common = _common(tuple([np.asarray(v).dtype for v in (x, low, high)]))
    return np.minimum(np.maximum(x, low, dtype=common), high, dtype=common)


def _cast(x: Any, *, dtype: str) -> Any:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # complex to real drops the imaginary part, as asked
        return np.asarray(x).astype(numpy_dtype(dtype))


def _infer_dtype_param(dtype: Any) -> str:
    return dtype_name(dtype)


def _complex(re: Any, im: Any) -> Any:
    out = np.empty(
        np.broadcast_shapes(np.shape(re), np.shape(im)), _complex_rule(np.asarray(re).dtype, np.asarray(im).dtype)[-1]
    )
    out.real, out.imag = re, im
    return out


def _round(x: Any) -> Any:
    x = np.asarray(x)
    return np.rint(x) if kind_of(x.dtype) in "bfc" else x


def _exact_if_integer(function: Callable) -> Callable:
    def meaning(x: Any) -> Any:
        x = np.asarray(x)
        return function(x) if kind_of(x.dtype) == "f" else x

    return meaning


def _real(x: Any) -> Any:
    return np.asarray(x).real.copy()


def _imag(x: Any) -> Any:
    return np.asarray(x).imag.copy()


# ---------------------------------------------------------------------- the table
# arithmetic (add, mul, maximum, minimum, and the logical and bitwise pairs take any number of operands)
add = elementwise("add", None, np.add, ufunc_rule(np.add), "({0} + {1})", commutative=True, associative=True)
mul = elementwise("mul", None, np.multiply, ufunc_rule(np.multiply), "({0} * {1})", commutative=True, associative=True)
sub = elementwise("sub", 2, np.subtract, c="({0} - {1})")
true_div = elementwise("true_div", 2, np.true_divide, c="({0} / {1})")
floor_div = elementwise("floor_div", 2, np.floor_divide)
mod = elementwise("mod", 2, np.remainder)
fmod = elementwise("fmod", 2, np.fmod)
pow_ = elementwise("pow", 2, np.power)
neg = elementwise("neg", 1, np.negative, c="(-{0})")
abs_ = elementwise("abs", 1, np.absolute)
sign = elementwise("sign", 1, np.sign)
sqr = elementwise("sqr", 1, np.square, c="({0} * {0})")
sqrt = elementwise("sqrt", 1, np.sqrt, c="sqrt")
cbrt = elementwise("cbrt", 1, np.cbrt, c="cbrt")
reciprocal = elementwise("reciprocal", 1, np.reciprocal, c="(1 / {0})")
fma = elementwise("fma", 3, lambda a, b, c: a * b + c, same_rule)
maximum = elementwise("maximum", None, np.maximum, ufunc_rule(np.maximum), commutative=True, associative=True)
minimum = elementwise("minimum", None, np.minimum, ufunc_rule(np.minimum), commutative=True, associative=True)
fmax = elementwise("fmax", 2, np.fmax, commutative=True)
fmin = elementwise("fmin", 2, np.fmin, commutative=True)
copysign = elementwise("copysign", 2, np.copysign, c="copysign")
nextafter = elementwise("nextafter", 2, np.nextafter, c="nextafter")
hypot = elementwise("hypot", 2, np.hypot, c="hypot", commutative=True)
heaviside = elementwise("heaviside", 2, np.heaviside)

# rounding
floor = elementwise("floor", 1, _exact_if_integer(np.floor), _rounding_rule, "floor")
ceil = elementwise("ceil", 1, _exact_if_integer(np.ceil), _rounding_rule, "ceil")
trunc = elementwise("trunc", 1, _exact_if_integer(np.trunc), _rounding_rule, "trunc")
round_ = elementwise("round", 1, _round, _nearest_rule, "rint")

# exponentials and logarithms
exp = elementwise("exp", 1, np.exp, c="exp")
exp2 = elementwise("exp2", 1, np.exp2, c="exp2")
expm1 = elementwise("expm1", 1, np.expm1, c="expm1")
log = elementwise("log", 1, np.log, c="log")
log2 = elementwise("log2", 1, np.log2, c="log2")
log10 = elementwise("log10", 1, np.log10, c="log10")
log1p = elementwise("log1p", 1, np.log1p, c="log1p")
logaddexp = elementwise("logaddexp", 2, np.logaddexp, commutative=True)
logaddexp2 = elementwise("logaddexp2", 2, np.logaddexp2, commutative=True)
sigmoid = elementwise("sigmoid", 1, _in_dtype(_sigmoid), special_rule)
softplus = elementwise("softplus", 1, _in_dtype(lambda x: np.logaddexp(0, x)), special_rule)
log1mexp = elementwise("log1mexp", 1, _in_dtype(_log1mexp), special_rule)

# trigonometric and hyperbolic
sin = elementwise("sin", 1, np.sin, c="sin")
cos = elementwise("cos", 1, np.cos, c="cos")
tan = elementwise("tan", 1, np.tan, c="tan")
arcsin = elementwise("arcsin", 1, np.arcsin, c="asin")
arccos = elementwise("arccos", 1, np.arccos, c="acos")
arctan = elementwise("arctan", 1, np.arctan, c="atan")
arctan2 = elementwise("arctan2", 2, np.arctan2, c="atan2")
sinh = elementwise("sinh", 1, np.sinh, c="sinh")
cosh = elementwise("cosh", 1, np.cosh, c="cosh")
tanh = elementwise("tanh", 1, np.tanh, c="tanh")
arcsinh = elementwise("arcsinh", 1, np.arcsinh, c="asinh")
arccosh = elementwise("arccosh", 1, np.arccosh, c="acosh")
arctanh = elementwise("arctanh", 1, np.arctanh, c="atanh")
deg2rad = elementwise("deg2rad", 1, np.deg2rad)
rad2deg = elementwise("rad2deg", 1, np.rad2deg)

# special functions
erf = elementwise("erf", 1, _special("erf"), special_rule, "erf")
erfc = elementwise("erfc", 1, _special("erfc"), special_rule, "erfc")
erfcx = elementwise("erfcx", 1, _special("erfcx"), special_rule)
erfinv = elementwise("erfinv", 1, _special("erfinv"), special_rule)
erfcinv = elementwise("erfcinv", 1, _special("erfcinv"), special_rule)
gamma = elementwise("gamma", 1, _special("gamma"), special_rule, "tgamma")
gammaln = elementwise("gammaln", 1, _special("gammaln"), special_rule, "lgamma")
digamma = elementwise("digamma", 1, _special("digamma"), special_rule)
polygamma = elementwise("polygamma", 2, _special("polygamma"), special_rule)

# comparison and logic
lt = elementwise("lt", 2, np.less, ufunc_rule(np.less), "({0} < {1})")
gt = elementwise("gt", 2, np.greater, ufunc_rule(np.greater), "({0} > {1})")
le = elementwise("le", 2, np.less_equal, ufunc_rule(np.less_equal), "({0} <= {1})")
ge = elementwise("ge", 2, np.greater_equal, ufunc_rule(np.greater_equal), "({0} >= {1})")
eq = elementwise("eq", 2, np.equal, ufunc_rule(np.equal), "({0} == {1})", commutative=True)
neq = elementwise("neq", 2, np.not_equal, ufunc_rule(np.not_equal), "({0} != {1})", commutative=True)
isnan = elementwise("isnan", 1, np.isnan)
isinf = elementwise("isinf", 1, np.isinf)
isfinite = elementwise("isfinite", 1, np.isfinite)
signbit = elementwise("signbit", 1, np.signbit)
logical_and = elementwise(
    "logical_and", None, np.logical_and, ufunc_rule(np.logical_and), commutative=True, associative=True
)
logical_or = elementwise(
    "logical_or", None, np.logical_or, ufunc_rule(np.logical_or), commutative=True, associative=True
)
logical_xor = elementwise("logical_xor", 2, np.logical_xor, commutative=True)
logical_not = elementwise("logical_not", 1, np.logical_not)
bitwise_and = elementwise(
    "bitwise_and", None, np.bitwise_and, ufunc_rule(np.bitwise_and), commutative=True, associative=True
)
bitwise_or = elementwise(
    "bitwise_or", None, np.bitwise_or, ufunc_rule(np.bitwise_or), commutative=True, associative=True
)
bitwise_xor = elementwise(
    "bitwise_xor", None, np.bitwise_xor, ufunc_rule(np.bitwise_xor), commutative=True, associative=True
)
invert = elementwise("invert", 1, np.invert)
left_shift = elementwise("left_shift", 2, np.left_shift)
right_shift = elementwise("right_shift", 2, np.right_shift)

# choice, conversion, complex numbers
switch = elementwise("switch", 3, _switch, _switch_rule)
clip = elementwise("clip", 3, _clip, same_rule)
cast = elementwise("cast", 1, _cast, _cast_rule, params={"dtype": "float64"})
complex_ = elementwise("complex", 2, _complex, _complex_rule)
real = elementwise("real", 1, _real, _real_part_rule)
imag = elementwise("imag", 1, _imag, _real_part_rule)
conj = elementwise("conj", 1, np.conjugate)


# ---------------------------------------------------------------------- facts
def _declare() -> None:
    for op, number in ((add, 0), (mul, 1), (logical_and, True), (logical_or, False)):
        facts.identity.add(op, number)
    for op in (bitwise_or, bitwise_xor):
        facts.identity.add(op, 0)
    facts.identity.add(bitwise_and, -1)
    for op, number in ((sub, 0), (true_div, 1), (pow_, 1), (left_shift, 0), (right_shift, 0)):
        facts.right_identity.add(op, number)
    for op, number in ((mul, 0), (logical_and, False), (logical_or, True), (bitwise_and, 0)):
        facts.absorbing.add(op, number)
    for op in (maximum, minimum, fmax, fmin, logical_and, logical_or, bitwise_and, bitwise_or):
        facts.idempotent.add(op)
    for op in (abs_, sign, floor, ceil, trunc, round_, real):
        facts.projection.add(op)
    pairs = ((exp, log), (expm1, log1p), (exp2, log2), (sinh, arcsinh), (cosh, arccosh), (tanh, arctanh))
    for f, g in (
        *pairs,
        (sin, arcsin),
        (cos, arccos),
        (tan, arctan),
        (erf, erfinv),
        (erfc, erfcinv),
        (deg2rad, rad2deg),
    ):
        facts.inverse.add(f, g)
    for f, g in (
        (log, exp),
        (log1p, expm1),
        (log2, exp2),
        (arcsinh, sinh),
        (arctanh, tanh),
        (erfinv, erf),
        (rad2deg, deg2rad),
    ):
        facts.inverse.add(f, g)
    for op in (neg, invert, conj):  # not reciprocal: it rounds, and of whole numbers it is 0
        facts.inverse.add(op, op)
    for op in (
        sin,
        tan,
        arcsin,
        arctan,
        sinh,
        tanh,
        arcsinh,
        arctanh,
        erf,
        erfinv,
        cbrt,
        sign,
        trunc,
        round_,
        deg2rad,
        rad2deg,
    ):
        facts.odd.add(op)
    for op in (cos, cosh, abs_, sqr):
        facts.even.add(op)
    for over, sum_ in ((mul, add), (mul, sub), (logical_and, logical_or), (logical_or, logical_and)):
        facts.distributes.add(over, sum_)
    increasing = (
        exp,
        exp2,
        expm1,
        log,
        log2,
        log10,
        log1p,
        sqrt,
        cbrt,
        tanh,
        sinh,
        arctan,
        arcsinh,
        sigmoid,
        softplus,
        erf,
    )
    for op in increasing:
        facts.monotone.add(op, 1)
    for op in (neg, erfc, arccos):
        facts.monotone.add(op, -1)
    for f, g in ((eq, neq), (neq, eq)):
        facts.complement.add(f, g)
    for f, g in ((lt, gt), (gt, lt), (le, ge), (ge, le), (eq, eq), (neq, neq)):
        facts.swapped.add(f, g)


_declare()
