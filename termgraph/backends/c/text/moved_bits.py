"""Elements that are only moved, as their bits. May import terms.

Of pairs of floats gcc makes poor vectors; floats of 16 bits would be made wide and rounded: what a NaN holds is lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from termgraph._lazy import pattern
from termgraph.terms.dtypes import HALVES, numpy_dtype
from termgraph.terms.ops.elementwise import abs_, neg, sign, switch
from termgraph.terms.term import AnyTerm

PAIRS = {"complex64": "tg_bits_c64", "complex128": "tg_bits_c128"}
ONES = {"float16": "0x3c00", "bfloat16": "0x3f80"}
# Of floats of 16 bits; what is above infinity without its sign is no number, and stays.
SIGNS = {
    neg: "(uint16_t)({0} ^ 0x8000)",
    abs_: "(uint16_t)({0} & 0x7fff)",
    sign: "tg_sign_bits({0}, {1}, {2})",
}
TYPES = {
    "tg_bits_c64": "typedef uint64_t tg_bits_c64 __attribute__((aligned(4), may_alias));",
    "tg_bits_c128": "typedef uint64_t tg_bits_c128 __attribute__((vector_size(16), aligned(8), may_alias));",
}
_INLINE = "static inline __attribute__((always_inline)) "
# Of `?:` between pairs gcc makes branches, or words of masks one by one.
CHOICES = {
    f"tg_choice_{n}": f"""{_INLINE}tg_bits_{n} tg_choice_{n}(_Bool first, tg_bits_{n} a, tg_bits_{n} b)
{{
    const uint64_t all = -(uint64_t)first;
    return (a & all) | (b & ~all);
}}"""
    for n in ("c64", "c128")
}

_PAIR, _NAME = pattern(r"\s*const \w+ _Complex (v\d+) = "), pattern(r"\bv\d+\b")


class Moved(str):
    """The text of a number; `bits` is that of its bits, as they are stored."""

    bits: str


def moved(text: str, bits: str) -> Moved:
    """A number's text with that of its bits."""
    found = Moved(text)
    found.bits = bits
    return found


def bits_of(t: AnyTerm, args: Sequence[str], truth: str) -> str | None:
    """The bits of what an op only chooses, or changes the sign of; None if it computes, or its operands are computed.

    `truth` is what a choice falls by.
    """
    dtype, op = t.type.dtype, t.op.family
    bits = [getattr(a, "bits", None) for a in args]
    if op is switch and None not in bits[1:]:
        if dtype in PAIRS:
            return f"{PAIRS[dtype].replace('bits', 'choice')}({truth}, {bits[1]}, {bits[2]})"
        return f"({truth} ? {bits[1]} : {bits[2]})" if dtype in HALVES else None
    if dtype not in HALVES:
        return None
    if op in SIGNS and bits[0] is not None and t.args[0].type.dtype == dtype:
        return SIGNS[op].format(bits[0], ONES[dtype], constant_bits(np.inf, dtype))
    return None


def moves_of(values: Iterable[AnyTerm]) -> set[AnyTerm]:
    """The values that are stored, and what they are chosen of or are but for the sign."""
    found: set[AnyTerm] = set()
    stack = list(values)
    while stack:
        t = stack.pop()
        if t not in found:
            found.add(t)
            stack += t.args[1:] if t.op.family is switch else t.args if t.op.family in SIGNS else ()
    return found


def constant_bits(value: Any, dtype: str) -> str:
    """The bits of a number that is known."""
    x = np.atleast_1d(np.asarray(value, numpy_dtype(dtype)))
    if dtype in HALVES:
        return f"(uint16_t){x.view('uint16')[0]:#x}"
    words = [f"{w:#x}ul" for w in x.view("uint64").tolist()]
    return words[0] if len(words) == 1 else f"(tg_bits_c128){{{', '.join(words)}}}"


def without_unread(lines: list[str]) -> list[str]:
    """Lines without numbers of which only the bits are read: a whole pair keeps its loop from being one of vectors."""
    if not any("tg_choice_c" in line for line in lines):
        return lines
    named = [_PAIR.match(line) for line in lines]
    counts = Counter(name for line in lines for name in _NAME.findall(line))
    return [line for line, name in zip(lines, named) if name is None or counts[name[1]] > 1]
