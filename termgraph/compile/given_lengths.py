"""Lengths of shared variables as facts for the rules: a graph is closed over the lengths that they have at present.

A program of such a graph compares lengths when it is called, and is made anew for others. Only graphs that gain by it
are closed like that: of convolutions, whose ways depend on the lengths of filters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from termgraph.compile.capture import Captured, MovedSources
from termgraph.terms.term import AnyTerm, Arg
from termgraph.terms.traverse import children_first, substitute
from termgraph.terms.types import TensorType


def _gains_by_lengths(captured: Captured) -> bool:
    """Whether the rules can do more with a graph whose shared variables have known lengths."""
    return any(_open(t) for t in children_first(captured.roots) if t.args and t.op.kind == "conv")


def _open(t: AnyTerm) -> bool:
    return any(None in a.type.shape for a in t.args)


def _narrowed(type_: Any, lengths: Sequence[int | None]) -> Any:
    """A type with lengths that it left open, but for a 1: one that is promised would be stretched."""
    if not isinstance(type_, TensorType) or len(lengths) != type_.ndim:
        return type_
    shape = tuple([m if m is not None or n is None or n < 2 else n for m, n in zip(type_.shape, lengths)])
    return type_ if shape == type_.shape else TensorType(type_.dtype, shape)


def with_lengths(captured: Captured, types: Sequence[Any], known: Mapping[int, Sequence[int | None]]) -> Captured:
    """A graph over arguments of these types, some of which have known lengths; itself, if it is that already.

    Lengths that contradict each other are an error of the call that meets them, not of compiling.
    """
    if known and (captured.lengths or _gains_by_lengths(captured)):
        lengths = {i: tuple(n) for i, n in known.items() if len(n) == getattr(types[i], "ndim", -1)}
        with suppress(TypeError, ValueError):
            return _over(captured, [_narrowed(type_, lengths.get(i, ())) for i, type_ in enumerate(types)], lengths)
    return _over(captured, types, {})


def _over(captured: Captured, types: Sequence[Any], lengths: Mapping[int, Sequence[int | None]]) -> Captured:
    """The graph over arguments of these types."""
    args = [a if a.type == type_ else Arg(a.index, type_) for a, type_ in zip(captured.args, types, strict=True)]
    replace = {old: new for old, new in zip(captured.args, args) if new is not old}
    told = {args[i]: n for i, n in lengths.items()}
    if not replace and told == captured.lengths:
        return captured
    sources = None if captured.sources is None else MovedSources(captured.sources, replace)
    return Captured(args, substitute(captured.roots, replace), sources, told, captured.passes)
