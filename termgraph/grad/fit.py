"""Fitting a gradient to the argument it belongs to: broadcasts are summed back, lost axes put back, dtype kept.

On its way through element-wise ops a gradient may stay *thin*: length 1 where the values are the same all along an
axis. It is spread to full shape only where an op looks at more than one element.
"""

from __future__ import annotations

from typing import Any

from termgraph.terms.build import in_dtype, lengths
from termgraph.terms.dtypes import kind_of
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.elementwise import real
from termgraph.terms.ops.reduce import sum_
from termgraph.terms.ops.shaping import alloc
from termgraph.terms.term import AnyTerm, mk, mk1


def fit_gradient(g: Any, arg: AnyTerm) -> Any:
    """The contribution `g` with dtype and shape of `arg`."""
    return spread(fit_thin(g, arg), arg)


def fit_thin(g: AnyTerm, arg: Any, result: AnyTerm | None = None) -> Any:
    """The contribution `g` with dtype and rank of `arg`, broadcasts summed back, but not spread to its lengths.

    For an element-wise op, `result` is the term whose shape `g` stands for.
    """
    broadcast = result is not None and _was_broadcast(arg, result)
    if g.type is arg.type and not broadcast:
        return g
    g = _same_dtype(g, arg.type.dtype)
    if broadcast:
        g = spread(g, result)  # so that the sum counts every element
    return _same_rank(_sum_broadcasts(g, arg), arg.type.ndim)


def spread(g: Any, t: Any) -> Any:
    """`g` in the full shape of `t`."""
    if g.type is t.type:
        return g
    g = _same_rank(g, t.type.ndim)
    if any(n == 1 and m != 1 for n, m in zip(g.type.shape, t.type.shape, strict=True)):
        return mk(alloc, (g, *lengths(t)))
    return g


def _was_broadcast(arg: AnyTerm, result: AnyTerm) -> bool:
    start = result.type.ndim - arg.type.ndim
    return start > 0 or any(a == 1 and n != 1 for a, n in zip(arg.type.shape, result.type.shape[start:], strict=True))


def _same_dtype(g: AnyTerm, dtype: str) -> AnyTerm:
    if g.type.kind == "c" and kind_of(dtype) != "c":
        g = mk1(real, g)
    return in_dtype(g, dtype)


def _sum_broadcasts(g: AnyTerm, arg: AnyTerm) -> AnyTerm:
    extra = g.type.ndim - arg.type.ndim
    if extra > 0:
        g = mk1(sum_.bind(axis=tuple(range(extra)), dtype=g.type.dtype), g)
    start = arg.type.ndim - g.type.ndim
    axes = tuple(i for i, n in enumerate(g.type.shape) if n != 1 and arg.type.shape[start + i] == 1)
    if axes:
        order = _with_ones(g.type.ndim, axes)
        g = mk1(dimshuffle.bind(order=order), mk1(sum_.bind(axis=axes, dtype=g.type.dtype), g))
    return g


def _with_ones(ndim: int, axes: tuple[int, ...]) -> tuple:
    """The dimshuffle order that puts length-1 dimensions back where `axes` were reduced."""
    kept = iter(range(ndim - len(axes)))
    return tuple("x" if i in axes else next(kept) for i in range(ndim))


def _same_rank(g: AnyTerm, ndim: int) -> AnyTerm:
    missing = ndim - g.type.ndim
    return mk1(dimshuffle.bind(order=("x",) * missing + tuple(range(g.type.ndim))), g) if missing > 0 else g
