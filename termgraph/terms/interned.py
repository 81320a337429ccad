"""The terms that exist, in one table for each head: the key is the tuple of operands that the term has anyway.

Imports nothing of the package.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")  # a term, in the module of terms


class Ref(weakref.ref[Any]):
    """A table's weak hold on a term. Its key keeps the operands alive, as the term does, and goes with it."""

    __slots__ = ("key",)
    key: tuple[Any, ...]


class Interned:
    """The terms of one head by their operands, and what takes the entry of a term that goes."""

    __slots__ = ("__weakref__", "drop", "terms")

    def __init__(self) -> None:
        self.terms: dict[tuple[Any, ...], Ref] = {}
        self.drop = _dropper(self.terms)
        TABLES.add(self)


TABLES: weakref.WeakSet[Interned] = weakref.WeakSet()


def _dropper(terms: dict[tuple[Any, ...], Ref]) -> Callable[[Ref], None]:
    def drop(ref: Ref) -> None:
        key = ref.key
        if terms.get(key) is ref:  # the slot may already belong to a newer term
            del terms[key]

    return drop


def settled(terms: dict[tuple[Any, ...], Ref], term: T, ref: Ref) -> T:
    """The term for an entry that is taken: another thread was first, or a dead entry waits for its callback."""
    held = terms.get(ref.key)
    other: T | None = None if held is None else held()
    if other is not None:
        return other
    terms[ref.key] = ref
    return term
