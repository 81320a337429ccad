"""The C dialect: how types, numbers and element-wise ops are written, with NumPy's meaning."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from termgraph.backends.c.run import numpy_loops
from termgraph.backends.c.text import prelude
from termgraph.lower.push.kernel import Buf
from termgraph.terms.dtypes import kind_of, numpy_dtype, working_dtype

CTYPE = {
    "bool": "_Bool",
    **{f"int{b}": f"int{b}_t" for b in (8, 16, 32, 64)},
    **{f"uint{b}": f"uint{b}_t" for b in (8, 16, 32, 64)},
    "float16": "float",
    "bfloat16": "float",
    "float32": "float",
    "float64": "double",
    "complex64": "float _Complex",
    "complex128": "double _Complex",
}
SHORT = {
    "bool": "b",
    **{f"int{b}": f"i{b}" for b in (8, 16, 32, 64)},
    **{f"uint{b}": f"u{b}" for b in (8, 16, 32, 64)},
    "float16": "f32",
    "bfloat16": "f32",
    "float32": "f32",
    "float64": "f64",
    "complex64": "c64",
    "complex128": "c128",
}
HALVES = {"float16": "half", "bfloat16": "bfloat"}  # stored in 16 bits, computed in float: names of the conversions
STORED = {"float16": "tg_to_half", "bfloat16": "tg_cut_bfloat"}  # of numbers that are rounded already
BY_SCIPY = ("gamma_quantile", "beta_quantile", "poisson_quantile", "binomial_quantile", "polygamma")
# The result is an operand, or has as few digits as one: nothing to round.
EXACT = frozenset(("abs", "ceil", "clip", "conj", "copysign", "floor", "fmax", "fmin", "maximum", "minimum", "neg"))
EXACT |= frozenset(("real", "round", "sign", "switch", "trunc"))
Rule = Callable[..., str]
RULES: dict[str, Rule] = {}


class NotInC(Exception):
    """An op or a dtype that C text cannot express; the program runs it by its NumPy meaning."""


def expression(t: Any, args: Sequence[str]) -> str:
    """An element-wise op applied to argument texts."""
    op = t.op.family
    dtypes = [a.type.dtype for a in t.args]
    rule = RULES.get(op.name)
    if rule is None:
        rule = functools.partial(_library, op.c)
    out = rule(Site(t.op, t, dtypes, t.type.dtype), *args)
    return out if op.name == "cast" or op.name in EXACT else rounded(out, t.type.dtype)


def rounded(text: str, dtype: str) -> str:
    """A number of type float, rounded to what the dtype holds if that is stored in 16 bits."""
    return f"tg_round_{HALVES[dtype]}({text})" if dtype in HALVES else text


class Site:
    """Where an op is written: its term, the dtype it computes in and the dtype of its result."""

    def __init__(self, op: Any, t: Any, dtypes: list[str], out: str) -> None:
        self.op, self.t, self.dtypes, self.out = op, t, dtypes, out
        self.dtype = dtypes[-1] if op.family.name == "switch" else dtypes[0]
        self.kind = kind_of(self.dtype)
        self.n = SHORT[self.dtype]
        self.ctype = CTYPE[self.dtype]

    def narrow(self, text: str) -> str:
        """Integers narrower than int are computed wider by C: back to their width."""
        return f"({self.ctype}){text}" if self.kind in "iu" and np.dtype(self.dtype).itemsize < 4 else text

    def refuse(self) -> NotInC:
        """There is no text for this."""
        return NotInC(f"{self.op.family.name} of {self.dtype}")

    def helper(self, name: str, *args: str) -> str:
        """A call of a helper of the prelude."""
        call = f"tg_{name}_{self.n}"
        if prelude._helper(call) is None:
            raise self.refuse()
        return f"{call}({', '.join(args)})"


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Declare how the ops of these names are written."""

    def declare(f: Rule) -> Rule:
        for name in names:
            RULES[name] = f
        return f

    return declare


def _library(c: str | None, s: Site, *args: str) -> str:
    """A function of libm, or the template of the op table."""
    if c is None:
        raise s.refuse()
    if not c.isidentifier():
        if s.kind == "c" or s.kind == "b":
            raise s.refuse()
        return s.narrow(c.format(*args))
    if s.kind == "c":
        if "c" + c not in prelude.COMPLEX:
            raise s.refuse()
        return f"c{c}{'f' if s.n == 'c64' else ''}({', '.join(args)})"
    if s.kind in "biu":
        raise s.refuse()
    return f"{c}{'f' if s.n == 'f32' else ''}({', '.join(args)})"


def _chain(sign: str, args: Sequence[str]) -> str:
    return args[0] if len(args) == 1 else "(" + f" {sign} ".join(args) + ")"


@rule("add")
def _add(s: Site, *args: str) -> str:
    return _chain("|", args) if s.kind == "b" else s.narrow(_chain("+", args))


@rule("mul")
def _mul(s: Site, *args: str) -> str:
    if s.kind == "c":
        return functools.reduce(lambda a, b: s.helper("mul", a, b), args)
    return _chain("&", args) if s.kind == "b" else s.narrow(_chain("*", args))


@rule("sub")
def _sub(s: Site, a: str, b: str) -> str:
    return s.narrow(f"({a} - {b})")


@rule("neg")
def _neg(s: Site, a: str) -> str:
    return s.narrow(f"(-{a})")


@rule("sqr")
def _sqr(s: Site, a: str) -> str:
    if a.isidentifier():
        return _mul(s, a, a)
    if s.kind == "c":
        return f"({{ const {s.ctype} q = {a}; {s.helper('mul', 'q', 'q')}; }})"
    return s.narrow(f"({{ const {s.ctype} q = {a}; q * q; }})")


@rule("true_div")
def _true_div(s: Site, a: str, b: str) -> str:
    return s.helper("div", a, b) if s.kind == "c" else f"({a} / {b})"


@rule("reciprocal")
def _reciprocal(s: Site, a: str) -> str:
    if s.kind == "c":
        return s.helper("div", "1", a)
    if s.kind != "f":
        raise s.refuse()
    return f"(1 / {a})"


@rule("floor_div")
def _floor_div(s: Site, a: str, b: str) -> str:
    return s.helper("floordiv", a, b)


@rule("mod", "maximum", "minimum", "fmax", "fmin", "sign", "sigmoid", "softplus", "logaddexp", "logaddexp2", "log1mexp",
      "heaviside", "gammaln")  # fmt: skip
def _by_helper(s: Site, *args: str) -> str:
    name = s.op.family.name
    if s.kind in "biu" and name in ("fmax", "fmin"):
        name = {"fmax": "maximum", "fmin": "minimum"}[name]
    if len(args) == 1:
        return s.helper(name, *args) if name not in ("maximum", "minimum") else args[0]
    if name in ("maximum", "minimum") and len(args) > 2 and s.kind in "fiu":
        return s.helper(f"{name}{len(args)}", *args)
    return functools.reduce(lambda a, b: s.helper(name, a, b), args)


@rule("digamma", "erfinv", "erfcinv", "erfcx")
def _special_function(s: Site, a: str) -> str:
    if s.kind != "f":
        raise s.refuse()
    return f"tg_{s.op.family.name}_{s.n}({a})"


@rule(*BY_SCIPY)
def _by_scipy(s: Site, *args: str) -> str:
    call = f"tg_{s.op.family.name}_{s.n}({', '.join(args)})"
    if s.kind != "f" or not numpy_loops.available(numpy_loops.names_in(prelude.needed(call))):
        raise s.refuse()
    return call


@rule("clip")
def _clip(s: Site, x: str, low: str, high: str) -> str:
    return s.helper("minimum", s.helper("maximum", x, low), high)


@rule("fmod")
def _fmod(s: Site, a: str, b: str) -> str:
    return _library("fmod", s, a, b) if s.kind == "f" else s.helper("fmod", a, b)


@rule("pow")
def _pow(s: Site, a: str, b: str) -> str:
    if s.kind in "iu":
        exponent = s.t.args[1].value if s.t.args[1].op.name == "CONST" else None
        if s.kind == "i" and (exponent is None or exponent < 0):
            raise s.refuse()  # a negative exponent is an error that NumPy reports
        return s.helper("ipow", a, b)
    if s.kind == "c":
        return f"cpow{'f' if s.n == 'c64' else ''}({a}, {b})"
    return _library("pow", s, a, b)


@rule("abs")
def _abs(s: Site, a: str) -> str:
    if s.kind == "f":
        return _library("fabs", s, a)
    if s.kind == "c":
        f = "f" if s.n == "c64" else ""
        return f"({{ const {s.ctype} q = {a}; hypot{f}(__real__ q, __imag__ q); }})"
    return s.helper("abs", a) if s.kind == "i" else a


@rule("nextafter")
def _nextafter(s: Site, a: str, b: str) -> str:
    if s.dtype in HALVES:
        raise s.refuse()
    return _library("nextafter", s, a, b)


@rule("tanh")
def _tanh(s: Site, a: str) -> str:
    """In double precision libmvec's tanh takes half as long again as this, which is off by 3.5 ulp at most."""
    return s.helper("tanh", a) if s.dtype == "float64" else _library("tanh", s, a)


@rule("floor", "ceil", "trunc", "round")
def _rounded(s: Site, a: str) -> str:
    if s.kind in "biu":
        return a
    return _library({"round": "rint"}.get(s.op.family.name, s.op.family.name), s, a)


@rule("deg2rad", "rad2deg")
def _degrees(s: Site, a: str) -> str:
    factor = math.pi / 180 if s.op.family.name == "deg2rad" else 180 / math.pi
    return f"({a} * {literal(np.asarray(factor), s.dtype)})"


@rule("fma")
def _fma(s: Site, a: str, b: str, c: str) -> str:
    return f"{_add(s, _mul(s, a, b), c)}"


@rule("lt", "gt", "le", "ge", "eq", "neq")
def _compare(s: Site, a: str, b: str) -> str:
    name = s.op.family.name
    if s.kind == "c" and name not in ("eq", "neq"):
        raise s.refuse()
    return f"({a} { {'lt': '<', 'gt': '>', 'le': '<=', 'ge': '>=', 'eq': '==', 'neq': '!='}[name] } {b})"


@rule("isnan", "isinf", "isfinite")
def _special(s: Site, a: str) -> str:
    name = s.op.family.name
    if s.kind in "biu":
        return "1" if name == "isfinite" else "0"
    if s.kind == "c":
        raise s.refuse()
    return s.helper(name, a)


@rule("signbit")
def _signbit(s: Site, a: str) -> str:
    if s.kind != "f":
        return f"({a} < 0)"
    return f"(__builtin_signbit{'f' if s.n == 'f32' else ''}({a}) != 0)"


def _truth(s: Site, dtype: str, a: str) -> str:
    return a if dtype == "bool" else f"({a} != 0)"


@rule("logical_and", "logical_or", "logical_xor")
def _logical(s: Site, *args: str) -> str:
    sign = {"logical_and": "&", "logical_or": "|", "logical_xor": "^"}[s.op.family.name]
    return _chain(sign, [_truth(s, d, a) for d, a in zip(s.dtypes, args)])


@rule("logical_not")
def _not(s: Site, a: str) -> str:
    return f"(!{a})"


@rule("bitwise_and", "bitwise_or", "bitwise_xor")
def _bitwise(s: Site, *args: str) -> str:
    return _chain({"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}[s.op.family.name], args)


@rule("invert")
def _invert(s: Site, a: str) -> str:
    return f"(!{a})" if s.kind == "b" else s.narrow(f"(~{a})")


@rule("left_shift")
def _left(s: Site, a: str, b: str) -> str:
    return s.helper("shl", a, b)


@rule("right_shift")
def _right(s: Site, a: str, b: str) -> str:
    return s.helper("shr", a, b)


@rule("philox_first", "philox_second")
def _philox(s: Site, key: str, step: str, index: str) -> str:
    return f"tg_philox({key}, {step}, {index}, {int(s.op.family.name == 'philox_second')})"


@rule("scale_bits")
def _scale_bits(s: Site, bits: str, width: str) -> str:
    return f"((uint64_t)(((unsigned __int128){bits} * {width}) >> 64))"


@rule("switch")
def _switch(s: Site, c: str, a: str, b: str) -> str:
    return f"({_truth(s, s.dtypes[0], c)} ? {a} : {b})"


@rule("complex")
def _complex(s: Site, re: str, im: str) -> str:
    real = "float" if s.out == "complex64" else "double"
    return f"__builtin_complex(({real}){re}, ({real}){im})"


@rule("real")
def _real(s: Site, a: str) -> str:
    return f"(__real__ {a})" if s.kind == "c" else a


@rule("imag")
def _imag(s: Site, a: str) -> str:
    return f"(__imag__ {a})" if s.kind == "c" else "0"


@rule("conj")
def _conj(s: Site, a: str) -> str:
    return f"(~{a})" if s.kind == "c" else a


@rule("cast")
def _cast(s: Site, a: str) -> str:
    to, kind = s.out, kind_of(s.out)
    if kind == "b":
        return f"({a} != 0)"
    if s.kind == "c" and kind != "c":
        a = f"__real__ {a}"
    if s.kind == "b" and kind == "f":
        return f"({a} ? ({CTYPE[to]})1 : ({CTYPE[to]})0)"  # a mask, not a conversion
    if to in HALVES and s.dtype not in ("bool", "int8", "uint8", to):
        return rounded(f"(float){a}", to)
    return f"(({CTYPE[to]}){a})"


# ---------------------------------------------------------------------- numbers, elements, folds
def literal(value: Any, dtype: str) -> str:
    """A number as C text."""
    x = np.asarray(value).item()
    kind = kind_of(dtype)
    if kind == "b":
        return "1" if x else "0"
    if kind == "c":
        real = "float32" if dtype == "complex64" else "float64"
        return f"__builtin_complex({literal(x.real, real)}, {literal(x.imag, real)})"
    if kind in "iu":
        return _integer(int(x), dtype)
    return _floating(float(x), "" if dtype == "float64" else "f", numpy_dtype(dtype))


def _integer(x: int, dtype: str) -> str:
    if x == -(2**63):
        return "(-9223372036854775807 - 1)"
    text = f"{x}u" if dtype in ("uint32", "uint64") else str(x)
    if dtype in ("int64", "uint64") and abs(x) >= 2**31:
        text += "l"
    return f"({text})" if x < 0 else text


def _floating(x: float, suffix: str, dtype: np.dtype) -> str:
    if math.isnan(x):
        return f'__builtin_nan{suffix}("")'
    if math.isinf(x):
        return f"{'(-' if x < 0 else ''}__builtin_inf{suffix}(){')' if x < 0 else ''}"
    text = repr(x) if dtype.itemsize == 8 else str(working_dtype(dtype).type(dtype.type(x)))
    if not any(c in text for c in ".e"):
        text += ".0"
    return f"({text}{suffix})" if text.startswith("-") else text + suffix


class CDialect:
    """C for gcc, clang and zig."""

    simd = "#pragma GCC ivdep"
    aligned = " __attribute__((aligned(64)))"
    expression = staticmethod(expression)
    literal = staticmethod(literal)

    def ctype(self, dtype: str) -> str:
        """The type in which elements are computed."""
        return CTYPE[dtype]

    def stored_type(self, dtype: str) -> str:
        """The type of elements in memory."""
        # gcc makes no vectors of loads of _Bool: a product with a mask takes 14 times as long
        return "uint16_t" if dtype in HALVES else "uint8_t" if dtype == "bool" else CTYPE[dtype]

    def load(self, buf: Buf, offset: str) -> str:
        """Read an element."""
        place = f"{buf.name}[{offset}]"
        return f"tg_from_{HALVES[buf.dtype]}({place})" if buf.dtype in HALVES else place

    def store(self, buf: Buf, offset: str, value: str, mode: str) -> str:
        """Write or add to an element."""
        if buf.dtype in HALVES:
            if mode == "add":
                value = rounded(f"{self.load(buf, offset)} + {value}", buf.dtype)
            return f"{buf.name}[{offset}] = {STORED[buf.dtype]}({value});"
        if mode == "add" and buf.dtype == "bool":
            return f"{buf.name}[{offset}] |= {value};"
        return f"{buf.name}[{offset}] {'+' if mode == 'add' else ''}= {value};"

    def fold_init(self, kind: str, dtype: str) -> str:
        """The value of a fold over nothing."""
        if kind in ("sum", "any"):
            return literal(0, dtype)
        if kind in ("prod", "all"):
            return literal(1, dtype)
        holds = kind_of(dtype)
        if holds == "c":
            raise NotInC(f"{kind} of complex numbers")
        if holds == "f":
            return literal(-math.inf if kind == "max" else math.inf, dtype)
        if holds == "b":
            return "0" if kind == "max" else "1"
        info = np.iinfo(dtype)
        return literal(info.min if kind == "max" else info.max, dtype)

    def fold_step(self, kind: str, dtype: str, acc: str, value: str) -> str:
        """The statement that folds a value in."""
        if kind in ("any", "all"):
            return f"{acc} {'|' if kind == 'any' else '&'}= {value};"
        if kind == "sum":
            return f"{acc} += {value};" if dtype != "bool" else f"{acc} |= {value};"
        if kind == "prod":
            if dtype.startswith("complex"):
                return f"{acc} = tg_mul_{SHORT[dtype]}({acc}, {value});"
            return f"{acc} *= {value};"
        sign = ">" if kind == "max" else "<"
        if kind_of(dtype) == "f":
            return f"{acc} = {value} {sign} {acc} || {value} != {value} ? {value} : {acc};"
        return f"{acc} = {value} {sign} {acc} ? {value} : {acc};"
