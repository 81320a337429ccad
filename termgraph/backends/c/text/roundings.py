"""Kernels whose products stay apart from the sums they go into, because gcc would join wrong ones.

A choice by a place between a sum and a product is one masked addition on processors with masks. Where the length is
known the mask may be a constant, and gcc 12 then takes the product that is not chosen for a part of the sum.
"""

from __future__ import annotations

from termgraph._lazy import pattern

TEXT = """
#if defined(__GNUC__) && !defined(__clang__)
#define TG_ROUNDED_TWICE __attribute__((optimize("fp-contract=off")))
#else
#define TG_ROUNDED_TWICE
#endif
"""
KNOWN_LENGTH = pattern(r"begin = 0, end = \d+;|; i\d+ < \d+;")
BY_PLACE = pattern(r"_Bool \w+ = [^\[\];]*\bi\d+\b[^\[\];]*;|\([^\[\]?;]*\bi\d+\b[^\[\]?;]*\) \? ")


def rounded_twice(function: str) -> str:
    """The text of a kernel, marked if it has products (those of places have no blanks) and such a choice."""
    if " * " in function and BY_PLACE.search(function) and KNOWN_LENGTH.search(function):
        return function.replace("static ", "static TG_ROUNDED_TWICE ", 1)
    return function
