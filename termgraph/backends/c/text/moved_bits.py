"""Elements that are only moved, as their bits. May import terms.

Of pairs of floats gcc makes poor vectors; floats of 16 bits would be made wide and rounded: what a NaN holds is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from termgraph.terms.dtypes import HALVES, numpy_dtype
from termgraph.terms.ops.elementwise import abs_, neg, switch
from termgraph.terms.term import AnyTerm

PAIRS = {"complex64": "tg_bits_c64", "complex128": "tg_bits_c128"}
SIGNS = {neg: "(uint16_t)({} ^ 0x8000)", abs_: "(uint16_t)({} & 0x7fff)"}  # of floats of 16 bits
TYPES = {
    "tg_bits_c64": "typedef uint64_t tg_bits_c64 __attribute__((aligned(4), may_alias));",
    "tg_bits_c128": "typedef uint64_t tg_bits_c128 __attribute__((vector_size(16), aligned(8), may_alias));",
}


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
    if dtype not in HALVES:  # of pairs gcc makes no vectors of choices
        return None
    if op is switch and None not in bits[1:]:
        return f"({truth} ? {bits[1]} : {bits[2]})"
    if op in SIGNS and bits[0] is not None and t.args[0].type.dtype == dtype:
        return SIGNS[op].format(bits[0])
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
