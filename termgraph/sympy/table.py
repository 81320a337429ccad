"""What corresponds to what: the operators of termgraph and the functions of SymPy, as data.

`SAME` is read in both directions. `OUTWARD` writes an operator by a formula of SymPy over its operands `a, b, c`,
`INWARD` a function of SymPy by a formula of termgraph's language. Formulas are the exact meaning: `log1p(x)` leaves as
`log(1 + x)` and comes back as that; the rules of stabilize find the form that keeps its digits.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import termgraph.tensor as T

# operator -> function of SymPy with the same operands
SAME = {
    "exp": "exp", "log": "log", "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos",
    "arctan": "atan", "arctan2": "atan2", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh",
    "arccosh": "acosh", "arctanh": "atanh", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "erfcinv": "erfcinv",
    "gamma": "gamma", "digamma": "digamma", "polygamma": "polygamma", "abs": "Abs", "sign": "sign", "floor": "floor",
    "ceil": "ceiling", "heaviside": "Heaviside", "maximum": "Max", "minimum": "Min", "real": "re", "imag": "im",
    "conj": "conjugate", "logical_and": "And", "logical_or": "Or", "logical_xor": "Xor", "logical_not": "Not",
    "lt": "Lt", "le": "Le", "gt": "Gt", "ge": "Ge", "eq": "Eq", "neq": "Ne", "add": "Add", "mul": "Mul", "pow": "Pow",
    "sqrt": "sqrt", "jv": "besselj", "iv": "besseli",
}  # fmt: skip

# operator -> formula of SymPy
OUTWARD = {
    "sub": "a - b", "true_div": "a / b", "neg": "-a", "floor_div": "floor(a / b)", "mod": "Mod(a, b)",
    "fmod": "sign(a) * Mod(Abs(a), Abs(b))", "sqr": "a**2", "cbrt": "sign(a) * Abs(a)**Rational(1, 3)",
    "reciprocal": "1 / a", "fma": "a * b + c", "fmax": "Max(a, b)", "fmin": "Min(a, b)", "hypot": "sqrt(a**2 + b**2)",
    "trunc": "sign(a) * floor(Abs(a))", "exp2": "2**a", "expm1": "exp(a) - 1", "log2": "log(a) / log(2)",
    "log10": "log(a) / log(10)", "log1p": "log(1 + a)", "logaddexp": "log(exp(a) + exp(b))",
    "logaddexp2": "log(2**a + 2**b) / log(2)", "sigmoid": "1 / (1 + exp(-a))", "softplus": "log(1 + exp(a))",
    "log1mexp": "log(1 - exp(a))", "deg2rad": "a * pi / 180", "rad2deg": "a * 180 / pi",
    "erfcx": "exp(a**2) * erfc(a)", "gammaln": "log(Abs(gamma(a)))", "switch": "Piecewise((b, a), (c, True))",
    "clip": "Min(Max(a, b), c)", "complex": "a + I * b", "j0": "besselj(0, a)", "j1": "besselj(1, a)",
    "i0": "besseli(0, a)", "i1": "besseli(1, a)", "gammainc": "lowergamma(a, b) / gamma(a)",
    "gammaincc": "uppergamma(a, b) / gamma(a)",
}  # fmt: skip

# function of SymPy -> formula of the language, where SAME has none
INWARD = {
    "log(a, b)": "log(a) / log(b)", "exp_polar(a)": "exp(a)", "sec(a)": "1 / cos(a)", "csc(a)": "1 / sin(a)",
    "cot(a)": "1 / tan(a)", "sech(a)": "1 / cosh(a)", "csch(a)": "1 / sinh(a)", "coth(a)": "1 / tanh(a)",
    "asec(a)": "arccos(1 / a)", "acsc(a)": "arcsin(1 / a)", "acot(a)": "arctan(1 / a)", "asech(a)": "arccosh(1 / a)",
    "acsch(a)": "arcsinh(1 / a)", "acoth(a)": "arctanh(1 / a)", "sinc(a)": "sinc(a / 3.141592653589793)",
    "lowergamma(a, b)": "gammainc(a, b) * gamma(a)", "uppergamma(a, b)": "gammaincc(a, b) * gamma(a)",
    "loggamma(a)": "gammaln(a)", "factorial(a)": "gamma(a + 1)",
    "beta(a, b)": "exp(gammaln(a) + gammaln(b) - gammaln(a + b))",
    "binomial(a, b)": "exp(gammaln(a + 1) - gammaln(b + 1) - gammaln(a - b + 1))", "Mod(a, b)": "a % b",
    "frac(a)": "a - floor(a)", "Heaviside(a)": "heaviside(a, 0.5)", "ITE(a, b, c)": "switch(a, b, c)",
    "Implies(a, b)": "logical_or(logical_not(a), b)", "Equivalent(a, b)": "eq(a, b)",
}  # fmt: skip

CONSTANTS = {
    "Pi": 3.141592653589793, "Exp1": 2.718281828459045, "EulerGamma": 0.5772156649015329,
    "GoldenRatio": 1.618033988749895, "Catalan": 0.915965594177219, "ImaginaryUnit": 1j, "Infinity": float("inf"),
    "NegativeInfinity": float("-inf"), "ComplexInfinity": float("inf"), "NaN": float("nan"),
    "BooleanTrue": True, "BooleanFalse": False,
}  # fmt: skip

# a fact about a term -> the question to a SymPy expression, and the answer that says yes
FACTS = {
    "positive": ("is_positive", True), "negative": ("is_negative", True), "nonnegative": ("is_nonnegative", True),
    "nonpositive": ("is_nonpositive", True), "nonzero": ("is_zero", False), "finite": ("is_finite", True),
    "integer": ("is_integer", True), "real": ("is_extended_real", True),
}  # fmt: skip

# a guard of a metavariable -> the same; None: nothing to ask, an expression of SymPy has neither shape nor precision
GUARDS: dict[str, tuple[str, bool] | None] = {
    "Float": ("is_extended_real", True), "Real": ("is_extended_real", True), "Integer": ("is_integer", True),
    "Complex": ("is_complex", True), "Constant": ("is_number", True), "NonConst": ("is_number", False),
    "Uniform": ("is_number", True), "Inexact": None, "Scalar": None, "SingleUse": None, "Static": None,
}  # fmt: skip

ALWAYS = frozenset(("same_dtype", "same_shape", "same_type"))  # goals that hold where there are no dtypes and shapes

TRUTHS = frozenset(
    ("lt", "le", "gt", "ge", "eq", "neq", "logical_and", "logical_or", "logical_xor", "logical_not", "isnan", "isinf",
     "isfinite", "signbit")
)  # fmt: skip
LOGIC = frozenset(("logical_and", "logical_or", "logical_xor", "logical_not", "eq", "neq"))  # operands may be truths

_NAMES = ("a", "b", "c")


def require_sympy() -> Any:
    """The package, or an ImportError that says how to get it."""
    try:
        import sympy
    except ImportError as err:
        raise ImportError(
            "termgraph.sympy exchanges expressions and rules with SymPy, which is not installed; "
            "install it with: pip install 'termgraph[sympy]'"
        ) from err
    return sympy


def formula(text: str, vocabulary: Mapping[str, Any], arity: int) -> Callable:
    """A function of `a, b, c` that computes the formula with the names of a vocabulary."""
    code = compile(text, f"<formula {text}>", "eval")
    return lambda *args: eval(code, dict(vocabulary), dict(zip(_NAMES[:arity], args)))


@functools.cache
def writers() -> dict[str, Callable]:
    """For each operator the function that makes the SymPy expression of its operands."""
    sympy = require_sympy()
    made = {op: getattr(sympy, name) for op, name in SAME.items()}
    return made | {op: formula(text, vars(sympy), len(_NAMES)) for op, text in OUTWARD.items()}


@functools.cache
def readers() -> dict[tuple[str, int | None], Callable]:
    """For each function of SymPy and number of operands (None: any) what makes the variable of its operands."""
    sympy = require_sympy()
    made: dict[tuple[str, int | None], Callable] = {
        (getattr(sympy, name).__name__, None): getattr(T, op) for op, name in SAME.items()
    }  # `sympy.Lt` is the class StrictLessThan
    for head, text in INWARD.items():
        name, _, operands = head.rstrip(")").partition("(")
        arity = len(operands.split(","))
        made[name, arity] = formula(text, vars(T), arity)
    return made
