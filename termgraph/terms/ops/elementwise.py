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
from termgraph.terms.dtypes import name_of
from termgraph.terms.op import OPS, Meaning, Op
from termgraph.terms.ops import meanings, ufunc_names
from termgraph.terms.ops.descriptions import DESCRIPTIONS
from termgraph.terms.ops.dtype_rules import (
    DtypeRule,
    LoopDtypes,
    OperandDtype,
    cast_rule,
    complex_rule,
    exponent_rule,
    like_rule,
    mantissa_rule,
    nary_loop,
    nearest_rule,
    real_part_rule,
    rounding_rule,
    same_rule,
    scaling_rule,
    special_rule,
    switch_rule,
    ufunc_rule,
)
from termgraph.terms.ops.shapes import broadcast_shapes, require_tensor
from termgraph.terms.spelling import Spelling, in_order
from termgraph.terms.types import TensorType, Type


# ---------------------------------------------------------------------- typing
def loop_dtypes(op: Op, dtypes: tuple[OperandDtype, ...]) -> LoopDtypes:
    """Dtypes the op computes in for these operands, the result's last. Weak numbers are `int`, `float`, `complex`."""
    rule: DtypeRule = op.dtype_rule  # type: ignore[attr-defined]
    try:
        if op.arity is None and len(dtypes) != 2:
            return nary_loop(rule, dtypes)
        return rule(*dtypes, **({"to": op.params["dtype"]} if "dtype" in op.params else {}))
    except TypeError as err:
        names = ", ".join(d.name if isinstance(d, np.dtype) else d.__name__ for d in dtypes)
        reason = "no loop for these types" if "did not contain a loop" in str(err) else str(err)
        if op.arity is not None and len(dtypes) != op.arity:
            reason = f"it takes {op.arity} operands, got {len(dtypes)}"
        elif "not supported for the input types" in reason:  # of bits
            reason = "it takes truth values and whole numbers; compare first, as in (x > 0) & (y > 0), or cast"
        raise TypeError(f"{op.name} is not defined for ({names}): {reason.splitlines()[0]}") from None


def infer_elementwise(op: Op, *types: Type) -> TensorType:
    """Result type of an element-wise op."""
    tensors = [require_tensor(t, f"operand {i} of {op.name}") for i, t in enumerate(types)]
    if not tensors:
        raise TypeError(f"{op.name} needs at least one operand")
    out = loop_dtypes(op, tuple([t.np_dtype for t in tensors]))[-1]
    return TensorType.of(name_of(out), broadcast_shapes([t.shape for t in tensors], f"operands of {op.name}"))


class ElementwiseOp(Op):
    """An op applied element by element, with broadcasting."""

    accumulate, at, outer, reduce, reduceat = (ufunc_names.NotHere() for _ in ufunc_names.METHODS)

    def no_parameter(self, name: str) -> str:
        text, written = super().no_parameter(name), ufunc_names.KEYWORDS.get(name)
        return f"{text}; write {written}" if written else text

    def infer(self, *types: Type) -> TensorType:
        return infer_elementwise(self, *types)

    def meaning(self, *values: object) -> Any:
        with np.errstate(all="ignore"):
            return super().meaning(*values)


def elementwise(
    name: str,
    arity: int | None,
    meaning: Meaning,
    rule: Callable[..., Any] | None = None,
    c: Spelling | str | None = None,
    **extra: Any,
) -> Op:
    """Define one row of the table. Without a rule, the meaning is a ufunc and decides."""
    if rule is None:
        rule = ufunc_rule(meaning)  # type: ignore[arg-type]
    elif isinstance(rule, np.ufunc):
        rule = like_rule(rule)
    if arity is None:
        meaning = functools.partial(meanings.fold, meaning, rule)
    if name in OPS:
        raise ValueError(f"op {name!r} is already defined")
    extra.setdefault("doc", DESCRIPTIONS.get(name, ""))
    op = OPS[name] = ElementwiseOp(
        name, arity=arity, infer=infer_elementwise, meaning=meaning, kind="elementwise", c=c, dtype_rule=rule, **extra
    )
    facts.declare_from_table(op)
    return op


# ---------------------------------------------------------------------- the table
# Without a word on cost an op counts as 20 additions; `vector` says that whole vectors of it are computed as fast.
# arithmetic (add, mul, maximum, minimum, and the logical and bitwise pairs take any number of operands)
add = elementwise(
    "add", None, np.add, c=Spelling(b="{|}", iufc="{narrow}{+}"), cost=1, commutative=True, associative=True,
    range_from="every",
)  # fmt: skip
mul = elementwise(
    "mul", None, np.multiply, c=Spelling(b="{&}", iuf="{narrow}{*}", c="tg_mul"), cuda=Spelling(c="{*}"), cost=1,
    commutative=True, associative=True, range_from="any",  # any number times 1 or 0
)  # fmt: skip
sub = elementwise("sub", 2, np.subtract, c=Spelling(iufc="{narrow}({0} - {1})"), cost=1, range_from="every")
true_div = elementwise(
    "true_div", 2, np.true_divide, c=Spelling(f="({0} / {1})", c="tg_div"), cuda=Spelling(c="({0} / {1})"), cost=4
)
floor_div = elementwise("floor_div", 2, np.floor_divide, c=Spelling(iuf="tg_floordiv"), cost=6, range_from="any")
mod = elementwise("mod", 2, np.remainder, c=Spelling(iuf="tg_mod"), cost=6, range_from="itself")
gcd = elementwise("gcd", 2, np.gcd, c=Spelling(iu="tg_gcd"), cost=60, commutative=True)
lcm = elementwise("lcm", 2, np.lcm, c=Spelling(iu="tg_lcm"), cost=70, commutative=True)
fmod = elementwise("fmod", 2, np.fmod, c=Spelling(iuf="tg_fmod"), cost=6, range_from="itself")
# whole numbers to a negative power are an error that NumPy reports: the dialect takes only exponents that cannot be
pow_ = elementwise(
    "pow", 2, np.power, c=Spelling(iu="tg_ipow", f="pow", c="tg_pow"), cuda=Spelling(c="tg_cpow({0}, {1})"), vector=True
)
neg = elementwise("neg", 1, np.negative, c=Spelling(iufc="{narrow}(-{0})"), cost=1, exact=True, range_from="any")
abs_ = elementwise(
    "abs", 1, np.absolute, c=Spelling(bu="{0}", ic="tg_abs", f="fabs"), cuda=Spelling(c="tg_modulus({0})"), cost=1,
    exact=True, range_from="itself",
)  # fmt: skip
sign = elementwise(
    "sign", 1, np.sign, c=Spelling(iufc="tg_sign"), cuda=Spelling(c="tg_csign({0})"), cost=1, exact=True,
    range_from="itself",
)  # fmt: skip
sqr = elementwise(
    "sqr", 1, np.square, c=Spelling(iuf="{narrow}({0} * {0})", c="tg_mul_{n}({0}, {0})"),
    cuda=Spelling(iufc="{narrow}tg_sqr<{t}>({0})"), cost=1, range_from="any",
)  # fmt: skip
sqrt = elementwise("sqrt", 1, np.sqrt, c=Spelling(f="sqrt", c="csqrt"), cuda=Spelling(c="tg_csqrt({0})"), cost=5)
cbrt = elementwise("cbrt", 1, np.cbrt, c=Spelling(f="cbrt"), vector=True)
reciprocal = elementwise(
    "reciprocal", 1, np.reciprocal, c=Spelling(f="(1 / {0})", c="tg_div_{n}(1, {0})"),
    cuda=Spelling(c="({t}{{1, 0}} / {0})"), cost=4,
)  # fmt: skip
fma = elementwise(
    "fma", 3, meanings.fma, same_rule,
    Spelling(b="(({0} & {1}) | {2})", iuf="{narrow}({narrow}({0} * {1}) + {2})", c="(tg_mul_{n}({0}, {1}) + {2})"),
    cuda=Spelling(c="({0} * {1} + {2})"), cost=2,
)  # fmt: skip
# Of two zeros NumPy takes the first one in float16, the second one in wider floats.
maximum = elementwise(
    "maximum", None, np.maximum, c=Spelling(biuf="tg_maximum", float16="tg_first_maximum"), cost=1, exact=True,
    commutative=True, associative=True, range_from="largest",
)  # fmt: skip
minimum = elementwise(
    "minimum", None, np.minimum, c=Spelling(biuf="tg_minimum", float16="tg_first_minimum"), cost=1, exact=True,
    commutative=True, associative=True, range_from="smallest",
)  # fmt: skip
fmax = elementwise(
    "fmax", 2, np.fmax, c=Spelling(f="tg_fmax", biu="tg_maximum", float16="tg_first_fmax"), cost=1, exact=True,
    commutative=True,
)  # fmt: skip
fmin = elementwise(
    "fmin", 2, np.fmin, c=Spelling(f="tg_fmin", biu="tg_minimum", float16="tg_first_fmin"), cost=1, exact=True,
    commutative=True,
)  # fmt: skip
copysign = elementwise("copysign", 2, np.copysign, c="copysign", cost=1, exact=True)
nextafter = elementwise("nextafter", 2, np.nextafter, c=Spelling(f="tg_nextafter", float16=None, bfloat16=None))
hypot = elementwise("hypot", 2, np.hypot, c="tg_hypot", cost=12, commutative=True)
heaviside = elementwise("heaviside", 2, np.heaviside, c="tg_heaviside", cost=1)

# rounding
floor = elementwise(
    "floor", 1, meanings.exact_if_integer(np.floor), rounding_rule, Spelling(biu="{0}", f="floor"), cost=1, exact=True
)
ceil = elementwise(
    "ceil", 1, meanings.exact_if_integer(np.ceil), rounding_rule, Spelling(biu="{0}", f="ceil"), cost=1, exact=True
)
trunc = elementwise(
    "trunc", 1, meanings.exact_if_integer(np.trunc), rounding_rule, Spelling(biu="{0}", f="trunc"), cost=1, exact=True
)
round_ = elementwise(
    "round", 1, meanings.round, nearest_rule,
    Spelling(biu="{0}", f="rint", c="__builtin_complex(rint{f}(__real__ {0}), rint{f}(__imag__ {0}))"),
    cuda=Spelling(c="tg_cround({0})"), cost=1, exact=True,
)  # fmt: skip

# exponentials and logarithms
exp = elementwise("exp", 1, np.exp, c=Spelling(f="exp", c="tg_exp"), cuda=Spelling(c="tg_cexp({0})"), vector=True)
exp_below_zero = elementwise(
    "exp_below_zero", 1, np.exp, c="tg_exp_below_zero", cuda=Spelling(f="exp"), vector=True,
    doc="exp of what is not above zero, for sums with a term of 1: what is below 3.4e-308 is 0 in C.",
)  # fmt: skip
exp2 = elementwise("exp2", 1, np.exp2, c=Spelling(f="exp2", c="tg_exp2"), cuda=Spelling(c="tg_cexp2({0})"), vector=True)
expm1 = elementwise(
    "expm1", 1, np.expm1, c=Spelling(f="expm1", c="tg_expm1"), cuda=Spelling(c="tg_cexpm1({0})"), vector=True
)
log = elementwise("log", 1, np.log, c=Spelling(f="log", c="clog"), cuda=Spelling(c="tg_clog({0})"), vector=True)
log2 = elementwise("log2", 1, np.log2, c=Spelling(f="log2", c="tg_log2"), cuda=Spelling(c="tg_clog2({0})"), vector=True)
log10 = elementwise(
    "log10", 1, np.log10, c=Spelling(f="log10", c="tg_log10"), cuda=Spelling(c="tg_clog10({0})"), vector=True
)
log1p = elementwise(
    "log1p", 1, np.log1p, c=Spelling(f="log1p", c="tg_log1p"), cuda=Spelling(c="tg_clog1p({0})"), vector=True
)
logaddexp = elementwise("logaddexp", 2, np.logaddexp, c="tg_logaddexp", vector=True, commutative=True)
logaddexp2 = elementwise("logaddexp2", 2, np.logaddexp2, c="tg_logaddexp2", vector=True, commutative=True)
# Vectors of logarithms take ten times as long beside a 0, so none is asked for where x is 0.
xlogy = elementwise(
    "xlogy", 2, meanings.of_scipy("xlogy"), special_rule,
    Spelling(f="({0} == 0 & {1} == {1} ? 0 : {0} * log{f}({0} == 0 & {1} == {1} ? 1 : {1}))"), vector=True,
    doc="x * log(y), and 0 where x is 0, whatever log(y) is; NaN where y is NaN.",
)  # fmt: skip
xlog1py = elementwise(
    "xlog1py", 2, meanings.of_scipy("xlog1py"), special_rule,
    Spelling(f="({0} == 0 & {1} == {1} ? 0 : {0} * log1p{f}({0} == 0 & {1} == {1} ? 1 : {1}))"), vector=True,
    doc="x * log(1 + y) with all digits for small y, and 0 where x is 0; NaN where y is NaN.",
)  # fmt: skip
sigmoid = elementwise("sigmoid", 1, meanings.in_dtype(meanings.sigmoid), special_rule, "tg_sigmoid", vector=True)
softplus = elementwise(
    "softplus", 1, meanings.in_dtype(lambda x: np.logaddexp(0, x)), special_rule, "tg_softplus", vector=True
)
log1mexp = elementwise("log1mexp", 1, meanings.in_dtype(meanings.log1mexp), special_rule, "tg_log1mexp", vector=True)

# trigonometric and hyperbolic
sin = elementwise("sin", 1, np.sin, c=Spelling(f="sin", c="csin"), cuda=Spelling(c="tg_csin({0})"), vector=True)
cos = elementwise("cos", 1, np.cos, c=Spelling(f="cos", c="ccos"), cuda=Spelling(c="tg_ccos({0})"), vector=True)
tan = elementwise("tan", 1, np.tan, c=Spelling(f="tan", c="ctan"), cuda=Spelling(c="tg_ctan({0})"), vector=True)
arcsin = elementwise(
    "arcsin", 1, np.arcsin, c=Spelling(f="asin", c="casin"), cuda=Spelling(c="tg_casin({0})"), vector=True
)
arccos = elementwise(
    "arccos", 1, np.arccos, c=Spelling(f="acos", c="cacos"), cuda=Spelling(c="tg_cacos({0})"), vector=True
)
arctan = elementwise(
    "arctan", 1, np.arctan, c=Spelling(f="atan", c="catan"), cuda=Spelling(c="tg_catan({0})"), vector=True
)
arctan2 = elementwise("arctan2", 2, np.arctan2, c="atan2", vector=True)
sinh = elementwise("sinh", 1, np.sinh, c=Spelling(f="sinh", c="csinh"), cuda=Spelling(c="tg_csinh({0})"), vector=True)
cosh = elementwise("cosh", 1, np.cosh, c=Spelling(f="cosh", c="ccosh"), cuda=Spelling(c="tg_ccosh({0})"), vector=True)
# in double precision libmvec's tanh takes half as long again as the helper, which is off by 3.5 ulp at most
tanh = elementwise(
    "tanh",
    1,
    np.tanh,
    c=Spelling(float64="tg_tanh", f="tanh", c="ctanh"),
    cuda=Spelling(c="tg_ctanh({0})"),
    vector=True,
)
arcsinh = elementwise(
    "arcsinh", 1, np.arcsinh, c=Spelling(f="asinh", c="casinh"), cuda=Spelling(c="tg_casinh({0})"), vector=True
)
arccosh = elementwise(
    "arccosh", 1, np.arccosh, c=Spelling(f="acosh", c="cacosh"), cuda=Spelling(c="tg_cacosh({0})"), vector=True
)
arctanh = elementwise(
    "arctanh", 1, np.arctanh, c=Spelling(f="atanh", c="catanh"), cuda=Spelling(c="tg_catanh({0})"), vector=True
)
deg2rad = elementwise("deg2rad", 1, np.deg2rad, c=Spelling(f="({0} * {pi/180})"), cost=1)
rad2deg = elementwise("rad2deg", 1, np.rad2deg, c=Spelling(f="({0} * {180/pi})"), cost=1)

# special functions
erf = elementwise("erf", 1, meanings.of_scipy("erf"), special_rule, "erf", vector=True)
erfc = elementwise("erfc", 1, meanings.of_scipy("erfc"), special_rule, "erfc", vector=True)
erfcx = elementwise("erfcx", 1, meanings.of_scipy("erfcx"), special_rule, "tg_erfcx", vector=True)
erfinv = elementwise("erfinv", 1, meanings.of_scipy("erfinv"), special_rule, "tg_erfinv", vector=True)
erfcinv = elementwise("erfcinv", 1, meanings.of_scipy("erfcinv"), special_rule, "tg_erfcinv", vector=True)
gamma = elementwise(
    "gamma", 1, meanings.of_scipy("gamma"), special_rule, "tg_gamma", cuda=Spelling(f="tgamma"), vector=True
)
gammaln = elementwise("gammaln", 1, meanings.of_scipy("gammaln"), special_rule, "tg_gammaln", vector=True)
digamma = elementwise("digamma", 1, meanings.of_scipy("digamma"), special_rule, "tg_digamma", vector=True)
polygamma = elementwise("polygamma", 2, meanings.of_scipy("polygamma"), special_rule, "tg_polygamma", cost=2000)
gammainc = elementwise("gammainc", 2, meanings.of_scipy("gammainc"), special_rule, "tg_gammainc", cost=150, vector=True)
gammaincc = elementwise(
    "gammaincc", 2, meanings.of_scipy("gammaincc"), special_rule, "tg_gammaincc", cost=150, vector=True
)
j0 = elementwise("j0", 1, meanings.of_scipy("j0"), special_rule, "tg_j0", cost=40)
j1 = elementwise("j1", 1, meanings.of_scipy("j1"), special_rule, "tg_j1", cost=40)
i0 = elementwise("i0", 1, meanings.of_scipy("i0"), special_rule, "tg_i0", cost=60, vector=True)
i1 = elementwise("i1", 1, meanings.of_scipy("i1"), special_rule, "tg_i1", cost=60, vector=True)
i0e = elementwise("i0e", 1, meanings.of_scipy("i0e"), special_rule, "tg_i0e", cost=60, vector=True)
i1e = elementwise("i1e", 1, meanings.of_scipy("i1e"), special_rule, "tg_i1e", cost=60, vector=True)

# comparison and logic
lt = elementwise("lt", 2, np.less, c=in_order("<", "tg_lt"), cuda=in_order("<"), cost=1)
gt = elementwise("gt", 2, np.greater, c=in_order(">", "tg_gt"), cuda=in_order(">"), cost=1)
le = elementwise("le", 2, np.less_equal, c=in_order("<=", "tg_le"), cuda=in_order("<="), cost=1)
ge = elementwise("ge", 2, np.greater_equal, c=in_order(">=", "tg_ge"), cuda=in_order(">="), cost=1)
eq = elementwise("eq", 2, np.equal, c=Spelling(biufc="({0} == {1})"), cost=1, commutative=True)
neq = elementwise(
    "neq",
    2,
    np.not_equal,
    c=Spelling(biufc="({0} != {1})"),
    cuda=Spelling(c="(!({0} == {1}))"),
    cost=1,
    commutative=True,
)
isnan = elementwise("isnan", 1, np.isnan, c=Spelling(biu="0", fc="tg_isnan"), cuda=Spelling(c="tg_cisnan({0})"), cost=1)
isinf = elementwise("isinf", 1, np.isinf, c=Spelling(biu="0", fc="tg_isinf"), cuda=Spelling(c="tg_cisinf({0})"), cost=1)
isfinite = elementwise(
    "isfinite", 1, np.isfinite, c=Spelling(biu="1", fc="tg_isfinite"),
    cuda=Spelling(c="(!tg_cisnan({0}) & !tg_cisinf({0}))"), cost=1,
)  # fmt: skip
signbit = elementwise(
    "signbit", 1, np.signbit, c=Spelling(f="tg_signbit", biu="({0} < 0)"),
    cuda=Spelling(f="(__float_as_int({0}) < 0)", float64="(__double_as_longlong({0}) < 0)"), cost=1,
)  # fmt: skip
logical_and = elementwise(
    "logical_and", None, np.logical_and, c=Spelling(biufc="{&:truth}"), cost=1, commutative=True, associative=True
)
logical_or = elementwise(
    "logical_or", None, np.logical_or, c=Spelling(biufc="{|:truth}"), cost=1, commutative=True, associative=True
)
logical_xor = elementwise("logical_xor", 2, np.logical_xor, c=Spelling(biufc="{^:truth}"), cost=1, commutative=True)
logical_not = elementwise(
    "logical_not", 1, np.logical_not, c=Spelling(biufc="(!{0})"), cuda=Spelling(c="(!tg_nonzero({0}))"), cost=1
)
bitwise_and = elementwise(
    "bitwise_and", None, np.bitwise_and, c=Spelling(biu="{&}"), cost=1, commutative=True, associative=True,
    range_from="any",
)  # fmt: skip
bitwise_or = elementwise(
    "bitwise_or", None, np.bitwise_or, c=Spelling(biu="{|}"), cost=1, commutative=True, associative=True,
    range_from="every",
)  # fmt: skip
bitwise_xor = elementwise(
    "bitwise_xor", None, np.bitwise_xor, c=Spelling(biu="{^}"), cost=1, commutative=True, associative=True,
    range_from="every",
)  # fmt: skip
invert = elementwise("invert", 1, np.invert, c=Spelling(b="(!{0})", iu="{narrow}(~{0})"), cost=1, range_from="any")
left_shift = elementwise("left_shift", 2, np.left_shift, c=Spelling(iu="tg_shl"), cost=1, range_from="any")
right_shift = elementwise("right_shift", 2, np.right_shift, c=Spelling(iu="tg_shr"), cost=1, range_from="any")
bitwise_count = elementwise(
    "bitwise_count", 1, np.bitwise_count, c=Spelling(iu="tg_popcount"),
    cuda=Spelling(i="((uint8_t)__popcll({0} < 0 ? -(uint64_t){0} : (uint64_t){0}))", u="((uint8_t)__popcll({0}))"),
    cost=3, doc="How many bits of a whole number's absolute value are 1.",
)  # fmt: skip

# the parts of floats
ldexp = elementwise(
    "ldexp", 2, np.ldexp, scaling_rule, Spelling(f="tg_ldexp"), exact=True,
    doc="x * 2**n for whole numbers n, also where the power of two is no number itself.",
)  # fmt: skip
frexp_exponent = elementwise(
    "frexp_exponent", 1, meanings.exponent, exponent_rule, "tg_frexp_exponent", cost=8, exact=True,
    doc="n, where x is m * 2**n and m from 0.5 to 1: the second result of frexp. 0 where x is 0 or not finite.",
)  # fmt: skip

frexp_mantissa = elementwise(
    "frexp_mantissa", 1, meanings.mantissa, mantissa_rule, "tg_frexp_mantissa", cost=6, exact=True,
    doc="m, where x is m * 2**n and m from 0.5 to 1: the first result of frexp. x where that is 0 or not finite.",
)  # fmt: skip

# choice, conversion, complex numbers
switch = elementwise(
    "switch", 3, meanings.switch, switch_rule, Spelling(biufc="({0:truth} ? {1} : {2})"), cost=2, exact=True,
    range_from="any",
)  # fmt: skip
clip = elementwise(
    "clip", 3, meanings.clip, same_rule,
    Spelling(biuf="tg_minimum_{n}(tg_maximum_{n}({0}, {1}), {2})",
             float16="tg_first_minimum_{n}(tg_first_maximum_{n}({0}, {1}), {2})"),
    cost=2, exact=True, range_from="any",
)  # fmt: skip
cast = elementwise(
    "cast", 1, meanings.cast, cast_rule, cost=0, params={"dtype": "float64"}, range_from="any"
)  # C texts: by both dtypes, `dialect`
complex_ = elementwise(
    "complex", 2, meanings.complex_of, complex_rule, Spelling(f="__builtin_complex(({part}){0}, ({part}){1})"),
    cuda=Spelling(f="{out}{{{0}, {1}}}"), cost=1,
)  # fmt: skip
real = elementwise(
    "real", 1, meanings.real, real_part_rule, Spelling(biuf="{0}", c="(__real__ {0})"),
    cuda=Spelling(c="(({0}).re)"), cost=0, exact=True,
)  # fmt: skip
imag = elementwise(
    "imag", 1, meanings.imag, real_part_rule, Spelling(biuf="0", c="(__imag__ {0})"),
    cuda=Spelling(c="(({0}).im)"), cost=0,
)  # fmt: skip
conj = elementwise(
    "conj", 1, np.conjugate, c=Spelling(biuf="{0}", c="(~{0})"), cuda=Spelling(c="tg_conj({0})"), cost=0, exact=True
)


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
    facts.circular.add(sin, cos, tan, 1)
    facts.circular.add(sinh, cosh, tanh, -1)
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
    # exp, sinh and their kin have periods: log(exp(z)) is z in a strip of the plane only
    for op in (log, log1p, log2, arcsinh, arccosh, arctanh, arcsin, arccos, arctan, neg, conj):
        facts.injective.add(op)
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
        j1,
        i1,
        i1e,
    ):
        facts.odd.add(op)
    for op in (cos, cosh, abs_, sqr, j0, i0, i0e):
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
    for f, g in ((maximum, minimum), (logical_and, logical_or), (bitwise_and, bitwise_or)):
        facts.dual.add(f, g)
        facts.dual.add(g, f)
    for f, g in ((eq, neq), (neq, eq)):
        facts.complement.add(f, g)
    for f, g in ((lt, gt), (gt, lt), (le, ge), (ge, le), (eq, eq), (neq, neq)):
        facts.swapped.add(f, g)


_declare()
