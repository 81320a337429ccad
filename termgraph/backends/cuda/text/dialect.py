"""The CUDA dialect: the C dialect's table, and what CUDA C++ spells differently."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from termgraph.backends.c.text import dialect as c
from termgraph.backends.c.text.moved_bits import Moved, moved
from termgraph.backends.cuda.text import complexes
from termgraph.backends.cuda.text.complexes import is_complex
from termgraph.backends.cuda.text.from_c import device_spelling
from termgraph.lower.push.kernel import Buf
from termgraph.terms.dtypes import kind_of
from termgraph.terms.op import Op
from termgraph.terms.term import AnyTerm

COMPUTED = {**c.CTYPE, "bool": "bool", **complexes.CTYPES}
STORED = {**COMPUTED, **dict.fromkeys(c.HALVES, "uint16_t")}
ATOMIC = {"float32": "float", "float64": "double", "int32": "int", "uint32": "unsigned"}
ATOMIC |= {"int64": "unsigned long long", "uint64": "unsigned long long"}
FOLDS = {"sum": "tg_sum", "prod": "tg_prod", "max": "tg_max", "min": "tg_min", "any": "tg_any", "all": "tg_all"}


def brings_text(op: Op) -> bool:
    """Whether an op is a user's that comes with CUDA text."""
    return isinstance(op.family.cuda, str)


def _given(t: Any, args: Sequence[str]) -> str:
    """The text that the op itself brings: a function, with f for single precision, or a template."""
    text, dtype = t.op.family.cuda, t.args[0].type.dtype
    if not text.isidentifier():
        return f"(({STORED[t.type.dtype]}){text.format(*args)})" if t.type.dtype not in c.HALVES else text.format(*args)
    return f"{text}{'f' if c.SHORT[dtype] == 'f32' else ''}({', '.join(args)})"


def reader(dtype: str) -> str:
    """The function that makes a number of an element in memory, or nothing if elements are numbers."""
    return f"tg_from_{c.HALVES[dtype]}" if dtype in c.HALVES else ""


def writer(dtype: str) -> str:
    """The function that makes an element in memory of a number, or nothing."""
    return f"tg_to_{c.HALVES[dtype]}" if dtype in c.HALVES else ""


def literal(value: Any, dtype: str) -> str:
    """A number as CUDA text."""
    if is_complex(dtype):
        return complexes.literal(value, dtype, literal)
    x = np.asarray(value).item()
    if kind_of(dtype) != "f" or math.isfinite(x):
        return c.literal(value, dtype)
    name = "NAN" if math.isnan(x) else "INF"
    text = f"TG_{name}" if dtype == "float64" else f"TG_{name}F"
    return f"(-{text})" if x < 0 else text


class CudaDialect(c.CDialect):
    """CUDA C++ as NVRTC, nvcc and the emulation on the CPU take it."""

    simd = ""
    aligned = ""
    on_host = has_blocks = False
    moved = frozenset(c.HALVES)
    literal = staticmethod(literal)

    def expression(self, t: AnyTerm, args: Sequence[str]) -> str:
        """An element-wise op applied to argument texts."""
        return _given(t, args) if brings_text(t.op) else super().expression(t, args)

    def spelling(self, op: Any, dtype: str) -> str | None:
        """The text of the op table for CUDA where it has one, else C's; C's complex numbers are others."""
        text = op.cuda.of(dtype) if op.cuda is not None else None
        if text is None:
            text = super().spelling(op, dtype)
            text = text and device_spelling(text)
        return None if text is not None and is_complex(dtype) and (text.isidentifier() or "tg_mul" in text) else text

    def truth(self, dtype: str, a: str) -> str:
        """Whether a number is not zero."""
        return f"tg_nonzero({a})" if is_complex(dtype) else super().truth(dtype, a)

    def cast(self, given: str, to: str, a: str) -> str:
        """A number of one dtype as one of another."""
        if is_complex(to):
            return f"tg_to_complex<{COMPUTED[to]}>({a})"
        if is_complex(given):
            real = c.single(given, to, f"({a}).re") if to in c.HALVES else f"(({COMPUTED[to]})({a}).re)"
            return self.truth(given, a) if to == "bool" else c.rounded(real, to)
        return super().cast(given, to, a)

    def ctype(self, dtype: str) -> str:
        """The type in which elements are computed."""
        return COMPUTED[dtype]

    def stored_type(self, dtype: str) -> str:
        """The type of elements in memory."""
        return STORED[dtype]

    def read(self, dtype: str, place: str) -> str:
        """An element in memory as a number."""
        return moved(f"{reader(dtype)}({place})", place) if dtype in c.HALVES else place

    def written(self, dtype: str, value: str) -> str:
        """A number, rounded already, as it is stored."""
        if dtype in c.HALVES and isinstance(value, Moved):
            return value.bits
        return f"{c.STORED[dtype]}({value})" if dtype in c.HALVES else value

    def load(self, buf: Buf, offset: str) -> str:
        """Read an element."""
        return self.read(buf.dtype, f"{buf.name}[{offset}]")

    def atomic(self, buf: Buf, offset: str, value: str, mode: str) -> str:
        """Add to an element, or join with it, that other threads change as well."""
        kind = ATOMIC[buf.dtype]
        if mode == "add":
            return f"atomicAdd(({kind} *)&{buf.name}[{offset}], ({kind}){value});"
        fold = FOLDS["prod" if mode == "mul" else mode]
        return f"tg_atomic_fold(&{buf.name}[{offset}], ({STORED[buf.dtype]}){value}, {fold}());"

    def fold_init(self, kind: str, dtype: str) -> str:
        """The value of a fold over nothing."""
        if kind in ("max", "min") and kind_of(dtype) == "f":
            return literal(-math.inf if kind == "max" else math.inf, dtype)
        if is_complex(dtype) and kind in ("sum", "prod"):
            return literal(int(kind == "prod"), dtype)
        return super().fold_init(kind, dtype)

    def fold_step(self, kind: str, dtype: str, acc: str, value: str, compares: bool = False) -> str:
        """The statement that folds a value in; `compares` if that is known not to be NaN."""
        if is_complex(dtype) and kind == "prod":
            return f"{acc} *= {value};"
        return super().fold_step(kind, dtype, acc, value, compares)

    def fold_op(self, kind: str, dtype: str) -> str:
        """The function object that folds two partial results."""
        return "tg_any()" if kind == "sum" and dtype == "bool" else f"{FOLDS[kind]}()"


def is_changed_atomically(dtype: str) -> bool:
    """Whether elements can be added to, or joined with others, by many threads at once."""
    return dtype in ATOMIC
