"""Nested tuples, lists and dictionaries of values: taken apart into a list, and put together again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from termgraph.tensor.likes import TensorLike

LEAF = object()


def flatten(value: object, path: str = "") -> tuple[list[tuple[str, Any]], Any]:
    """The leaves with where they are (`['h'][0]`), and the structure to put them back into. None holds no leaf."""
    if value is None:
        return [], None
    if isinstance(value, dict):
        leaves, parts = [], {}
        for key in value:
            below, parts[key] = flatten(value[key], f"{path}[{key!r}]")
            leaves += below
        return leaves, parts
    if isinstance(value, (list, tuple)):
        leaves, made = [], []
        for i, item in enumerate(value):
            below, part = flatten(item, f"{path}[{i}]")
            leaves += below
            made.append(part)
        return leaves, _like(value, made)
    return [(path, value)], LEAF


def unflatten(structure: Any, leaves: Sequence[Any]) -> Any:
    """The leaves in a structure that `flatten` gave."""
    return _filled(structure, iter(leaves))


def _filled(structure: Any, leaves: Iterator[Any]) -> Any:
    if structure is LEAF:
        return next(leaves)
    if structure is None:
        return None
    if isinstance(structure, dict):
        return {key: _filled(part, leaves) for key, part in structure.items()}
    return _like(structure, [_filled(part, leaves) for part in structure])


def _like(value: Any, items: list) -> tuple:
    """A list, tuple or named tuple of the items, as `value` is one."""
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)


def in_order_of(structure: Any, other: TensorLike) -> Any:
    """`other` with its dictionaries in the key order of `structure`, where the keys are the same."""
    if isinstance(structure, dict) and isinstance(other, dict) and structure.keys() == other.keys():
        return {key: in_order_of(structure[key], other[key]) for key in structure}
    if isinstance(structure, (list, tuple)) and isinstance(other, (list, tuple)) and len(structure) == len(other):
        return _like(other, [in_order_of(a, b) for a, b in zip(structure, other)])
    return other


def described(structure: Any) -> str:
    """The structure in words that show its shape: `(*, {'a': *})`."""
    if structure is LEAF:
        return "*"
    if isinstance(structure, dict):
        return "{" + ", ".join(f"{k!r}: {described(p)}" for k, p in structure.items()) + "}"
    if isinstance(structure, (list, tuple)):
        inner = ", ".join(described(p) for p in structure)
        if isinstance(structure, list):
            return f"[{inner}]"
        return f"({inner},)" if len(structure) == 1 else f"({inner})"
    return repr(structure)
