"""Truth values from memory beside numbers of 64 bits: compared as numbers of 64 bits. Text of C kernels.

With AVX-512 gcc 12 compares bytes with 0 into bits of masks, and makes masks for wide vectors of these one by one: a
choice takes 4 ns. What a byte is made wide for, it narrows again, unless it cannot see what it is compared with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from termgraph._lazy import pattern

WIDE = ("float64", "int64", "uint64")
_NARROW = pattern(r"\s*(?:_Bool|float|u?int(?:8|16|32)_t) a\d+")  # partial results
_OF_64_BITS = pattern(r"\s*(?:double|u?int64_t) a\d+")


def compared_wide(lines: list[str], bufs: Iterable[Any], written: Iterable[Any], zero: str) -> list[str]:
    """The lines of a function that stores or folds numbers of 64 bits only; `zero` is a name for what is compared."""
    out = list(written)
    names = [b.name for b in bufs if b.dtype == "bool" and b not in out]
    if not names or any(b.dtype not in WIDE for b in out) or any(map(_NARROW.match, lines)):
        return lines
    if not out and not any(map(_OF_64_BITS.match, lines)):
        return lines
    truth = re.compile(rf"\((\b(?:{'|'.join(names)})\[(?:[^\[\]]|\[[^\[\]]*\])*\]) != 0\)")
    found = [truth.sub(rf"((int64_t)\1 != {zero})", line) for line in lines]
    return lines if found == lines else [f"    int64_t {zero} = 0;", f'    __asm__("" : "+r"({zero}));', *found]
