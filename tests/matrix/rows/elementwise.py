"""Rows of element-wise functions: names as in NumPy unless a reference stands beside them."""

import numpy as np
import scipy.special as sps

import termgraph.tensor as T

from ..draw import FLOATING, INTEGERS
from ..table import one, params, row, two

REAL = ("bool", *INTEGERS, *FLOATING)


def in_floats(function):
    """A function NumPy lacks: floats keep their precision, integers become float64."""

    def run(x):
        return np.asarray(function(x.astype("float64"))).astype(x.dtype if x.dtype.kind == "f" else "float64")

    return run


def within(low, high):
    def draw(c):
        c.x(low, high)

    return draw


def _named(names, draw, **more):
    for name in names.split():
        row(name, getattr(T, name), getattr(np, name, None), draw, **more)


_named("negative sign floor ceil trunc fix rint isnan isinf isfinite signbit logical_not invert positive real imag conj"
       " isposinf isneginf square exp expm1 sin cos sinh cosh arcsinh arctan deg2rad rad2deg", one)  # fmt: skip
_named("modf frexp", one, signs=False)
_named("tan tanh", one, differs=("complex special",))
_named("sqrt cbrt abs", within(0.1, 4))
row("reciprocal", T.reciprocal, np.reciprocal, within(0.1, 4), differs=("complex special",))
_named("log log2 log10", within(0.1, 9))
row("exp2", T.exp2, np.exp2, one, differs=("complex special",))
row("log1p", T.log1p, np.log1p, within(-0.9, 5))
_named("arcsin arccos arctanh", within(-0.95, 0.95))
row("arccosh", T.arccosh, np.arccosh, within(1.1, 6))
row("sinc", T.sinc, np.sinc, one, special=False, scaled=True)
row("angle", T.angle, np.angle, params(lambda c: c.x(), deg=lambda c: c.flip(0.3)))


def _rounded(c):
    c.x()
    return {"decimals": c.pick(0, 0, 1, 2, -1)}


row("round", T.round, np.round, _rounded, loose=4, differs=("round to tens",))
row("round_half_to_even", T.round_half_to_even, np.round, one)
row("iround", T.iround, lambda x: np.rint(x).astype("int64"), within(-90, 90), dtypes=REAL, special=False)


def _nan_to_num(c):
    c.x()
    return c.pick({}, {"nan": 2.0}, {"posinf": 3.0, "neginf": -4.0})


row("nan_to_num", T.nan_to_num, np.nan_to_num, _nan_to_num)

for name, low, high in [("erf", -3, 3), ("erfc", -3, 3), ("erfcx", -1, 3), ("erfinv", -0.9, 0.9),
                        ("erfcinv", 0.1, 1.9), ("gamma", 0.5, 6), ("gammaln", 0.5, 9), ("digamma", 0.5, 9)]:  # fmt: skip
    row(name, getattr(T, name), in_floats(getattr(sps, name)), within(low, high), dtypes=REAL, loose=20)


for name in ["j0", "j1", "i0", "i1", "i0e", "i1e"]:
    row(name, getattr(T, name), in_floats(getattr(sps, name)), within(-4, 4), dtypes=REAL, loose=40)


def _shape_and_argument(c):
    c.x(0.5, 4)
    c.partner(0.2, 5, dtype=c.dtype)


for name in ["gammainc", "gammaincc"]:
    row(name, getattr(T, name), getattr(sps, name), _shape_and_argument, dtypes=("float32", "float64"), special=False,
        loose=100, smooth=False)  # fmt: skip


def _order_and_argument(c):
    c.x(0, 4, integral=True)
    c.partner(0.2, 5, dtype=c.dtype)


for name in ["jv", "iv", "ive", "kv", "kve", "expn"]:
    row(name, getattr(T, name), getattr(sps, name), _order_and_argument, dtypes=("float32", "float64"), special=False,
        loose=100, smooth=False)  # fmt: skip


def _product_with_log(c):
    c.x()
    c.partner(0.1, 5, dtype=c.dtype)


row("xlogy", T.xlogy, lambda x, y: np.asarray(sps.xlogy(x.astype("float64"), y.astype("float64"))).astype(
    np.result_type(x, y) if np.result_type(x, y).kind == "f" else "float64"), _product_with_log, dtypes=REAL, loose=20)  # fmt: skip


def _polygamma(c):
    c.x(1, 3, integral=True)
    c.partner(0.5, 5, dtype=c.dtype, special=False)


row("polygamma", T.polygamma, sps.polygamma, _polygamma, dtypes=("float32", "float64"), special=False, loose=100,
    smooth=False)  # fmt: skip
row("sigmoid", T.sigmoid, in_floats(sps.expit), one, dtypes=REAL, loose=4)
row("softplus", T.softplus, in_floats(lambda x: np.logaddexp(0.0, x)), one, dtypes=REAL, loose=4)
row("log1mexp", T.log1mexp, lambda x: np.where(x > -0.69, np.log(-np.expm1(x)), np.log1p(-np.exp(x))),
    within(-4, -0.1), dtypes=FLOATING, loose=4)  # fmt: skip

_named("maximum minimum fmax fmin", two, signs=False)


def _zeros_of_both_signs(c):
    for _ in range(3):
        c.x(-0.4, 0.4)


# Of two zeros that are equal but for their signs NumPy takes the first one; in wider floats that differs by processor.
for _name in ("maximum", "minimum", "fmax", "fmin"):
    row(f"{_name} (which zero)", lambda x, y, z, f=getattr(T, _name): f(f(T.round(x), T.round(y)), T.round(z)),
        lambda x, y, z, f=getattr(np, _name): f(f(np.rint(x), np.rint(y)), np.rint(z)), _zeros_of_both_signs, dtypes=("float16",),
        smooth=False)  # fmt: skip
row("clip (which zero)", lambda x, y, z: T.clip(T.round(x), T.round(y), T.round(z)),
    lambda x, y, z: np.minimum(np.maximum(np.rint(x), np.rint(y)), np.rint(z)), _zeros_of_both_signs, dtypes=("float16",),
    smooth=False)  # fmt: skip
_named("add subtract multiply hypot arctan2 less greater less_equal greater_equal equal not_equal logical_and"
       " logical_or logical_xor bitwise_and bitwise_or bitwise_xor copysign", two)  # fmt: skip
_named("logaddexp logaddexp2", two, scaled=True)  # near 0 the larger operand and the logarithm cancel


row("nextafter", T.nextafter, np.nextafter, lambda c: [c.x(), c.partner(dtype=c.dtype)], smooth=False,
    dtypes=("float16", "float32", "float64"))  # fmt: skip


def _apart_from_zero(c):
    c.x()
    c.partner(0.3, 4)


_named("floor_divide mod fmod heaviside", _apart_from_zero)
row("true_divide", T.true_divide, np.true_divide, _apart_from_zero, differs=("complex special",))


def _power(c):
    c.x(0.2, 3)
    c.partner(0, 3)


row("power", T.power, lambda x, y: np.power(x, y), _power, loose=4, differs=("complex special",))


def _shift(c):
    c.x()
    c.partner(0, 7)


_named("left_shift right_shift", _shift)


def _fma(c):
    c.x()
    c.partner(dtype=c.dtype)
    c.partner(dtype=c.dtype)


row("fma", T.fma, lambda x, y, z: x * y + z, _fma, dtypes=("float32", "float64", *INTEGERS), special=False, scaled=True)


def _isclose(c):
    x = c.x()
    near = x + np.asarray(c.values.choice([0, 0, 1], x.shape)).astype(x.dtype)
    c.given(np.asarray(near, dtype=x.dtype))
    return {"equal_nan": c.flip()}


row("isclose", T.isclose, np.isclose, _isclose)
row("allclose", T.allclose, np.allclose, _isclose)


def _switch(c):
    c.partner(dtype="bool")
    c.x()
    c.partner()


row("switch", T.switch, np.where, _switch)
row("where", T.where, np.where, _switch)


def _clip(c):
    c.x()
    c.partner(-2, 0, dtype=c.dtype)
    c.partner(1, 2, dtype=c.dtype)


row("clip", T.clip, np.clip, _clip, differs=("complex clip",), signs=False)


def _cast(c):
    """NumPy defines casts from floats to integers only where the number fits."""
    kind = "c" if c.dtype in ("complex64", "complex128") else "f" if c.dtype in FLOATING else "i"
    to = c.pick("complex64", "complex128") if kind == "c" else c.pick(*FLOATING, "complex64", "bool", *INTEGERS)
    risky = kind == "f" and to in INTEGERS
    c.x(0 if risky else None, 100 if risky else None, special=not risky)
    return {"dtype": to}


def _as_dtype(x, dtype):
    with np.errstate(all="ignore"):
        return x.astype("float32").astype(dtype) if dtype == "bfloat16" and x.dtype != "float64" else x.astype(dtype)


row("cast", T.cast, _as_dtype, _cast, smooth=False)


def _complex(c):
    c.x()
    c.partner(dtype=c.dtype)


def _complex_of(x, y):
    """Real and imaginary parts, NaN and infinities left as they are."""
    wide = np.result_type(x.dtype, y.dtype, np.float32)
    made = np.empty(np.broadcast_shapes(x.shape, y.shape), "complex64" if wide == np.float32 else "complex128")
    made.real, made.imag = x, y
    return made


row("complex", T.complex, _complex_of, _complex, dtypes=REAL)
