"""Gradients of filters in parts, for a `memory_limit`: new filters are written over the old ones, some at a time."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from termgraph._records import replace
from termgraph.compile.values import Rewritten
from termgraph.terms.ops.convolution import conv_taps
from termgraph.terms.ops.indexing import subtensor
from termgraph.terms.ops.shaping import join
from termgraph.terms.term import mk, mk1
from termgraph.terms.traverse import children_first, rebuild

ALL = ("s", None, None, None)


def in_parts(value: Rewritten) -> Rewritten:
    """The graph with gradients in parts that are two thirds of the limit at most, where each element is read alone."""
    most = value.options.sparing
    return value if most is None or value.body is not None else replace(value, roots=tuple(_cut_in(value.roots, most)))


def _cut_in(roots: Sequence[Any], most: int) -> list[Any]:
    readers: dict[Any, list[Any]] = {}
    for t in children_first(roots):
        for a in t.args:
            readers.setdefault(a, []).append(t)
    ends = set(roots)

    def by_element(t: Any) -> bool:
        return all(r.op.kind == "elementwise" and (r in ends or by_element(r)) for r in readers.get(t, ()))

    def change(t: Any, args: tuple[Any, ...]) -> Any:
        n = _parts(t, most)
        if n > 1 and t not in ends and by_element(t):
            return _cut(t, args, n)
        return t if all(a is b for a, b in zip(args, t.args)) else mk(t.op, args)

    return rebuild(roots, change)


def _parts(t: Any, most: int) -> int:
    """In how many parts a gradient is made."""
    if t.op.family is not conv_taps or t.op.params["groups"] != 1 or None in t.type.shape:
        return 1
    nbytes = prod(t.type.shape) * np.dtype(t.type.dtype).itemsize
    return min(-(-3 * nbytes // (2 * most)), t.type.shape[0])


def _cut(t: Any, args: tuple[Any, ...], n: int) -> Any:
    """The gradients of some filters each, joined."""
    x, g, *lengths = args
    filters = t.type.shape[0]
    borders = [filters * k // n for k in range(n + 1)]
    given = [mk1(subtensor.bind(index=(ALL, ("s", a, b, None))), g) for a, b in zip(borders, borders[1:])]
    return mk(join.bind(axis=0), tuple([mk(t.op, (x, each, *lengths)) for each in given]))
