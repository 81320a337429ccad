"""The C dialect: how types, numbers and element-wise ops are written, with NumPy's meaning."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from termgraph.backends.c.run import numpy_loops
from termgraph.backends.c.text import prelude
from termgraph.backends.c.text.moved_bits import PAIRS, Moved, bits_of, constant_bits, moved
from termgraph.lower.push.kernel import Buf
from termgraph.terms.dtypes import can_cast, kind_of, numpy_dtype, working_dtype
from termgraph.terms.op import CONST, Op
from termgraph.terms.ops.elementwise import cast, maximum, minimum, mul, pow_
from termgraph.terms.term import AnyTerm, Const

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
_NUMBERS = {"pi/180": math.pi / 180, "180/pi": 180 / math.pi}  # what spellings may name
_CHAINS = "+*|&^"
_PLACES: dict[tuple, dict[str, str]] = {}  # see `_places`
_TEXTS: dict[tuple, str | None] = {}  # of the op table, by dialect, spelling and dtype


def filled(template: str, pieces: Mapping[str, str]) -> str:
    """A template with its words replaced, one after the other."""
    for word, piece in pieces.items():
        template = template.replace(word, piece)
    return template


class NotInC(Exception):
    """An op or a dtype that C text cannot express; the program runs it by its NumPy meaning."""


class _Rounded(str):
    """The text of a number of 16 bits; `exact` is that number before it is rounded."""

    exact: str


def rounded(text: str, dtype: str) -> str:
    """A number of type float, rounded to what the dtype holds if that is stored in 16 bits."""
    if dtype not in HALVES:
        return text
    found = _Rounded(f"tg_round_{HALVES[dtype]}({text})")
    found.exact = text
    return found


def single(given: str, to: str, a: str) -> str:
    """A real number as a float that is then rounded to 16 bits: double becomes float16 as if it were rounded once."""
    return f"tg_to_odd({a})" if to == "float16" and given in ("float64", "complex128") else f"(float){a}"


def _to_be_stored(text: str, dtype: str) -> str:
    """What to store of a number of 16 bits: storing a float16 rounds it, so that need not be done before."""
    return text.exact if dtype == "float16" and isinstance(text, _Rounded) else text


# ---------------------------------------------------------------------- the spellings of the op table, read
class _Operand(str):
    """An operand's text in a place of a spelling; `{0:truth}` asks whether it is not zero."""

    __slots__ = ("truth",)
    truth: str

    def __format__(self, asked: str) -> str:
        return self.truth if asked == "truth" else str(self)


class _Chain:
    """All operands with a sign between them: the place `{+}`."""

    def __init__(self, sign: str, operands: Sequence[str]) -> None:
        self.sign, self.operands = sign, operands

    def __format__(self, asked: str) -> str:
        parts = [format(a, asked) for a in self.operands]
        return parts[0] if len(parts) == 1 else "(" + f" {self.sign} ".join(parts) + ")"


@functools.cache
def _helpers(text: str, short: str) -> tuple[str, ...]:
    """The helpers of the prelude that a text calls for numbers of a type, by their full names."""
    if text.isidentifier():
        return (f"{text}_{short}",) if text.startswith("tg_") else ()
    return tuple([f"{stem}_{short}" for stem in re.findall(r"\b(tg_\w+)_\{n\}", text)])


@functools.cache
def _needs(helper: str) -> tuple[str, ...] | None:
    """The compiled functions of NumPy and SciPy that a helper calls, None if there is no such helper."""
    return tuple(numpy_loops.names_in(prelude.needed(helper))) if prelude.text_of(helper) else None


def _cast(given: str, to: str, a: str) -> str:
    kind = kind_of(given)
    if kind_of(to) == "b":
        return f"({a} != 0)"
    if kind == "c" and kind_of(to) != "c":
        a = f"__real__ {a}"
    if kind == "b" and kind_of(to) == "f":
        return f"({a} ? ({CTYPE[to]})1 : ({CTYPE[to]})0)"  # a mask, not a conversion
    if to in HALVES and given not in ("bool", "int8", "uint8", to):
        return rounded(single(given, to, a), to)
    return f"(({CTYPE[to]}){a})"


# ---------------------------------------------------------------------- numbers, elements, folds
_SUFFIXES = {"uint32": "u", "int64": "l", "uint64": "ul"}


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
    """With the suffix of its type: `~0` in an unsigned type of 64 bits is not what it is in `unsigned`."""
    if x == -(2**63):
        return "(-9223372036854775807l - 1l)"
    text = f"{x}{_SUFFIXES.get(dtype, '')}"
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


def _single(dtype: str) -> str:
    """The letter of functions in single precision."""
    return "f" if SHORT[dtype] in ("f32", "c64") else ""


def _call(function: str, dtype: str, operands: Sequence[str], arity: int | None) -> str:
    """A function of libm, or a helper; of any number of operands at once if there is a helper for so many."""
    if not function.startswith("tg_"):
        return f"{function}{_single(dtype)}({', '.join(operands)})"
    name, at_once = f"{function}_{SHORT[dtype]}", f"{function}{len(operands)}_{SHORT[dtype]}"
    if arity is not None or (len(operands) > 2 and prelude.text_of(at_once)):
        return f"{name if arity is not None else at_once}({', '.join(operands)})"
    return functools.reduce(lambda a, b: f"{name}({a}, {b})", list(operands))


def _mixes_signs(a: str, b: str) -> bool:
    """Whether C compares two integers without their signs, because one of them, of 64 bits, has none."""
    return "uint64" in (a, b) and (a.startswith("int") or b.startswith("int"))


def _compare_mixed(name: str, write: Callable[..., str], text: str, a: str, b: str, unsigned_first: bool) -> str:
    """A comparison of such integers: a negative number is less than all that have no sign."""
    signed = b if unsigned_first else a
    whenever = name in ((("gt", "ge") if unsigned_first else ("lt", "le")) + ("neq",))  # what then holds, always
    test = write(text, "uint64", "bool", [_Operand(a), _Operand(b)], 2)
    return f"(({signed} < 0) | {test})" if whenever else f"(({signed} >= 0) & {test})"


def _places(dialect: CDialect, dtype: str, out: str) -> dict[str, str]:
    """What stands in the places of spellings that are not operands."""
    narrow = kind_of(dtype) in "iu" and np.dtype(dtype).itemsize < 4
    return {
        "t": dialect.ctype(dtype),
        "out": dialect.ctype(out),
        "part": "float" if out == "complex64" else "double",
        "n": SHORT[dtype],
        "f": _single(dtype),
        "narrow": f"({dialect.ctype(dtype)})" if narrow else "",
        **({name: dialect.literal(x, dtype) for name, x in _NUMBERS.items()} if kind_of(dtype) == "f" else {}),
    }


def _whole_exponent(exponent: Any) -> bool:
    """Whether an exponent is known not to be negative: powers of integers with others are for NumPy to refuse."""
    if exponent.op is CONST:
        return bool(exponent.value >= 0)
    if exponent.op.family is not cast:
        return False
    given = exponent.args[0].type.dtype  # truth values and naturals, which all integers that they become can hold
    return kind_of(given) in "bu" and can_cast(given, exponent.type.dtype)


# What the text of such a term begins with, and what it begins with where its bounds are known not to be NaN: one
# comparison each instead of two.
_BOUNDED = {
    f"{name}_{n}": tuple([text.replace("N(", f"{n}(") for text in texts])
    for name, *texts in (
        ("maximum", "tg_maximum_N(", "tg_at_least_N("),
        ("minimum", "tg_minimum_N(", "tg_at_most_N("),
        ("clip", "tg_minimum_N(tg_maximum_N(", "tg_at_most_N(tg_at_least_N("),
    )
    for n in ("f64", "f32")
}


def _is_number(a: AnyTerm) -> bool:
    return isinstance(a, Const) and a.type.kind == "f" and bool(np.all(a.value == a.value))


JOINED: dict[str, Op] = {"mul": mul, "max": maximum, "min": minimum}  # modes of stores that are no sums


class CDialect:
    """C for gcc, clang and zig."""

    simd = "#pragma GCC ivdep"
    aligned = " __attribute__((aligned(64)))"
    on_host = True  # whether compiled functions of NumPy and SciPy can be called
    has_blocks = True  # whether a block of statements is an expression
    moved = frozenset((*HALVES, *PAIRS))  # dtypes whose elements are moved as their bits
    literal = staticmethod(literal)

    def kept_ctype(self, dtype: str) -> str:
        """The type of a value that is made outside of a loop: of choices by a _Bool from there gcc makes no vectors."""
        return "int32_t" if dtype == "bool" else self.ctype(dtype)

    def constant(self, value: Any, dtype: str) -> str:
        """A number as an operand, or to be stored."""
        text = self.literal(value, dtype)
        return moved(text, constant_bits(value, dtype)) if dtype in self.moved else text

    def expression(self, t: AnyTerm, args: Sequence[str]) -> str:
        """An element-wise op applied to argument texts; NotInC if the op table has no text for its dtypes."""
        op, given, out = t.op.family, t.args[0].type.dtype, t.type.dtype
        if op is cast:
            return self.cast(given, out, args[0])
        key = (self.__class__, op.c, op.cuda, given)
        text = _TEXTS[key] if key in _TEXTS else _TEXTS.setdefault(key, self.spelling(op, given))
        if text is None or (op is pow_ and kind_of(given) == "i" and not _whole_exponent(t.args[1])):
            raise NotInC(f"{op.name} of {given}")
        if op.arity == 2 and out == "bool" and _mixes_signs(*[a.type.dtype for a in t.args]):
            return _compare_mixed(op.name, self.written_out, text, args[0], args[1], given == "uint64")
        written = self.written_out(
            text, given, out, [self._operand(a, x) for a, x in zip(t.args, args)] if ":" in text else args, op.arity
        )
        general, known = _BOUNDED.get(f"{op.name}_{SHORT[given]}", ("", ""))
        if general and written.startswith(general) and all(_is_number(a) for a in t.args[1:]):
            written = known + written.removeprefix(general)
        if not op.exact:
            return rounded(written, out)
        bits = bits_of(t, args, self.truth(given, args[0])) if out in self.moved else None
        return written if bits is None else moved(written, bits)

    def spelling(self, op: Op, dtype: str) -> str | None:
        """The text of the op table for operands of a dtype, if what it calls is there."""
        text = op.c.of(dtype) if op.c is not None else None
        for helper in () if text is None else _helpers(text, SHORT[dtype]):
            natives = _needs(helper)
            if natives is None or (natives and not (self.on_host and numpy_loops.available(natives))):
                return None
        return text

    def written_out(self, text: str, dtype: str, out: str, operands: Sequence[str], arity: int | None = None) -> str:
        """A text of the op table with operands in its places."""
        if text.isidentifier():
            return _call(text, dtype, operands, arity)
        several = [k for k, a in enumerate(operands) if text.count(f"{{{k}") > 1 and not a.isidentifier()]
        if several and self.has_blocks:  # computed once, in a block
            names = {k: f"q{k or ''}" for k in several}
            inner = self.written_out(text, dtype, out, [names.get(k, a) for k, a in enumerate(operands)])
            inner = inner[1:-1] if inner.startswith("(q") else inner
            given = ", ".join(f"{names[k]} = {operands[k]}" for k in several)
            return f"({{ const {self.ctype(dtype)} {given}; {inner}; }})"
        key = (self.__class__, dtype, out)
        places = _PLACES.get(key) or _PLACES.setdefault(key, _places(self, dtype, out))
        return text.format(
            *operands, **places, **{sign: _Chain(sign, operands) for sign in _CHAINS if "{" + sign in text}
        )

    def _operand(self, a: AnyTerm, text: str) -> _Operand:
        out = _Operand(text)
        out.truth = self.truth(a.type.dtype, text)
        return out

    def truth(self, dtype: str, a: str) -> str:
        """Whether a number is not zero."""
        return a if dtype == "bool" else f"({a} != 0)"

    def cast(self, given: str, to: str, a: str) -> str:
        """A number of one dtype as one of another."""
        if to == "float64" and given in ("int64", "uint64") and self.on_host:
            return f"tg_double_{SHORT[given]}({a})"
        if self.on_host and kind_of(given) in "fc" and kind_of(to) in "iu":
            n = "f64" if given in ("float64", "complex128") else "f32"
            return f"tg_whole_{SHORT[to]}_{n}({'__real__ ' if kind_of(given) == 'c' else ''}{a})"
        return _cast(given, to, a)

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
        if buf.dtype == "bool" and buf.kind == "input":  # any byte but 0 is true there, as in NumPy
            return f"({place} != 0)"
        if buf.dtype in HALVES:
            return moved(f"tg_from_{HALVES[buf.dtype]}({place})", place)
        return moved(place, f"*(const {PAIRS[buf.dtype]} *)({buf.name} + {offset})") if buf.dtype in PAIRS else place

    def bits_type(self, dtype: str) -> str:
        """The type of an element's bits."""
        return PAIRS.get(dtype) or self.stored_type(dtype)

    def store(self, buf: Buf, offset: str, value: str, mode: str) -> str:
        """Write or add to an element."""
        if mode in ("max", "min") and kind_of(buf.dtype) in "iuf":  # most are no new extremes: nothing waits for these
            sign = ">" if mode == "max" else "<"
            return self.store_if(buf, offset, value, sign)
        if mode in JOINED:
            value, mode = self.joined(JOINED[mode], buf.dtype, self.load(buf, offset), value), "set"
        if mode == "set" and isinstance(value, Moved):
            if buf.dtype in PAIRS:
                return f"*({PAIRS[buf.dtype]} *)({buf.name} + {offset}) = {value.bits};"
            return f"{buf.name}[{offset}] = {value.bits};"
        if buf.dtype in HALVES:
            if mode == "add":
                value = rounded(f"{self.load(buf, offset)} + {value}", buf.dtype)
            return f"{buf.name}[{offset}] = {STORED[buf.dtype]}({_to_be_stored(value, buf.dtype)});"
        if mode == "add" and buf.dtype == "bool":
            return f"{buf.name}[{offset}] |= {value};"
        return f"{buf.name}[{offset}] {'+' if mode == 'add' else ''}= {value};"

    def store_if(self, buf: Buf, offset: str, value: str, sign: str) -> str:
        """Write what is beyond an element, or the first NaN: of numbers that are neither, one comparison says so."""
        there = self.load(buf, offset)
        beyond = f"v {sign} {there}"
        if kind_of(buf.dtype) == "f":
            beyond = f"__builtin_expect(!(v {'<=' if sign == '>' else '>='} {there}), 0) && {there} == {there}"
        stored = self.store(buf, offset, "v", "set")
        return f"{{ const {self.ctype(buf.dtype)} v = {value}; if ({beyond}) {stored} }}"

    def joined(self, op: Op, dtype: str, there: str, value: str) -> str:
        """What is there joined with a value by an op of two operands."""
        text = self.spelling(op, dtype)
        if text is None:
            raise NotInC(f"{op.name} of {dtype}")
        return rounded(self.written_out(text, dtype, dtype, [there, value], op.arity), dtype)

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

    def fold_step(self, kind: str, dtype: str, acc: str, value: str, compares: bool = False) -> str:
        """The statement that folds a value in; `compares` if that is known not to be NaN."""
        if kind in ("any", "all"):
            return f"{acc} {'|' if kind == 'any' else '&'}= {value};"
        if kind == "sum":
            return f"{acc} += {value};" if dtype != "bool" else f"{acc} |= {value};"
        if kind == "prod":
            if dtype.startswith("complex"):
                return f"{acc} = tg_mul_{SHORT[dtype]}({acc}, {value});"
            return f"{acc} *= {value};"
        sign = ">" if kind == "max" else "<"
        if kind_of(dtype) == "f" and not compares:
            return f"{acc} = {value} {sign} {acc} || {value} != {value} ? {value} : {acc};"
        return f"{acc} = {value} {sign} {acc} ? {value} : {acc};"
