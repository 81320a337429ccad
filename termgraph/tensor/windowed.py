"""Folds of windows over any axes, with the name and arguments of jax.lax, for T.nnet: reduce_window."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from termgraph.tensor.constructors import tensor
from termgraph.tensor.creation import full
from termgraph.tensor.elemwise import cast
from termgraph.tensor.joining import concatenate
from termgraph.tensor.lengths import length, lengths
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import Length, TensorLike
from termgraph.tensor.shaping import expand_dims, moveaxis, reshape
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import highest, lowest
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.pooling import pool as pool_op
from termgraph.terms.ops.shapes import at_axis

FEW = 16  # elements of a window that are folded one by one
# What the functions are that have a name, and the number that changes nothing.
KINDS: dict[Any, tuple[str, Callable[[Any], Any]]] = {
    ew.maximum: ("max", lowest), ew.minimum: ("min", highest), ew.add: ("sum", lambda dtype: 0),
    ew.mul: ("product", lambda dtype: 1),
}  # fmt: skip
Widths = tuple[Length, Length]


@on_terms
def reduce_window(
    operand: TensorLike,
    init_value: TensorLike,
    computation: Callable[[Any, Any], Any],
    window_dimensions: int | Sequence[int],
    window_strides: int | Sequence[int] = 1,
    padding: str | Sequence[Sequence[int]] = "VALID",
    base_dilation: int | Sequence[int] | None = None,
    window_dilation: int | Sequence[int] | None = None,
) -> TensorVariable:
    """Each window of the array folded to one number by `computation(a, b)`, as jax.lax.reduce_window.

    `computation` works element by element and is associative (`T.maximum`, `T.add`, `lambda a, b: a * b`). Folds begin
    with `init_value`, which also stands beyond the ends and in the gaps of `base_dilation`. A number for each axis, or
    one for all, says how long windows are, how far apart (`window_strides`), and how far apart their elements are
    (`window_dilation`) and those of the array (`base_dilation`). `padding` is "VALID", "SAME" (as many windows as
    strides fit into the axis; "SAME_LOWER": an odd element more comes before), or a pair (before, after) for each axis.
    Windows that are maxima, minima or sums are pooled; others are made of slices. Of several elements that are the
    largest of a window each has the gradient.

    >>> import termgraph.tensor as T
    >>> T.nnet.reduce_window([1.0, 5.0, 2.0, 4.0, 3.0], 0.0, T.add, 3, 2).eval()
    array([8., 9.])
    """
    x, first = as_tensor(operand), as_tensor(init_value)
    if first.ndim:
        raise TypeError(f"reduce_window: init_value must be a number, got {first} of type {first.type}")
    sizes = _numbers("window_dimensions", window_dimensions, x.ndim)
    steps = _numbers("window_strides", window_strides, x.ndim)
    apart = _numbers("window_dilation", window_dilation, x.ndim)
    first = cast(first, x.type.dtype)
    for d, gap in enumerate(_numbers("base_dilation", base_dilation, x.ndim)):
        x = _spread(x, d, gap, first) if gap > 1 else x
    kind, neutral = _kind(computation, x.type.dtype, init_value)
    around = _widths(padding, x, [(k - 1) * a + 1 for k, a in zip(sizes, apart)], steps)
    long = [d for d, k in enumerate(sizes) if k > 1]
    pooled = kind in ("max", "min", "sum") and x.type.kind in "iuf" and 0 < len(long) <= 3
    if not pooled or any(apart[d] > 1 for d in long) or not _fits(x, sizes, around):
        found = _folded(_padded(x, around, first), computation, sizes, steps, apart)
    else:
        inside = neutral and all(_in_pooling(w, sizes[d]) for d, w in enumerate(around))
        zeros = [around[d][0] if inside else 0 for d in long]
        found = _pooled(x if inside else _padded(x, around, first), kind, long, sizes, steps, zeros)
    return found if neutral else as_tensor(computation(first, found))


def _numbers(what: str, given: Any, ndim: int) -> tuple[int, ...]:
    """A positive whole number for each axis."""
    many = (given,) * ndim if given is None or not isinstance(given, (tuple, list, np.ndarray)) else tuple(given)
    many = tuple([1 if n is None else n for n in many])
    if len(many) != ndim:
        raise ValueError(f"reduce_window: {what} must have a number for each of {ndim} axes, got {given!r}")
    for n in many:
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
            raise ValueError(f"reduce_window: {what} must be positive whole numbers, got {given!r}")
    return tuple([int(n) for n in many if n is not None])


def _kind(computation: Callable[[Any, Any], Any], dtype: str, init_value: Any) -> tuple[str, bool]:
    """Which function it is, if that has a name, and whether folds that begin with a number are as without it."""
    one, other = (tensor(name, dtype=dtype, shape=()) for name in ("one", "other"))
    made = as_tensor(computation(one, other))
    if made.type != one.type:
        raise TypeError(
            f"reduce_window: computation must give a number of the array's dtype, {dtype}, for two of them; it gave "
            f"{made.type}"
        )
    known = KINDS.get(made.term.op)
    if known is None or {*made.term.args} != {one.term, other.term}:
        return "", False
    value = np.asarray(init_value) if not hasattr(init_value, "term") else None
    return known[0], value is not None and bool(value == known[1](one.type.np_dtype))


def _spread(x: TensorVariable, d: int, gap: int, first: TensorVariable) -> TensorVariable:
    """The array with `gap - 1` elements more between those along an axis."""
    shape = lengths(x)
    wide = concatenate([expand_dims(x, d + 1), full((*shape[: d + 1], gap - 1, *shape[d + 1 :]), first)], axis=d + 1)
    wide = reshape(wide, (*shape[:d], shape[d] * gap, *shape[d + 1 :]))
    many = shape[d] * gap - gap + 1
    return wide[at_axis(d, slice(None, max(many, 0) if isinstance(many, int) else ew.maximum(many, 0)))]


def _widths(padding: Any, x: TensorVariable, reach: Sequence[int], steps: Sequence[int]) -> list[Widths]:
    """How many elements more there are before and after each axis."""
    if padding == "VALID":
        return [(0, 0)] * x.ndim
    if isinstance(padding, str):
        if padding not in ("SAME", "SAME_LOWER"):
            raise ValueError(f"reduce_window: padding must be VALID, SAME, SAME_LOWER or pairs, got {padding!r}")
        found: list[Widths] = []
        for d in range(x.ndim):
            n = length(x, d)
            more = (-(-n // steps[d]) - 1) * steps[d] + reach[d] - n
            more = max(more, 0) if isinstance(more, int) else ew.maximum(more, 0)
            less = more // 2
            found.append((less, more - less) if padding == "SAME" else (more - less, less))
        return found
    pairs = [tuple(pair) if isinstance(pair, (tuple, list, np.ndarray)) else pair for pair in padding]
    for pair in pairs:
        good = isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(n, (int, np.integer)) for n in pair)
        if len(pairs) != x.ndim or not good or min(pair) < 0:
            raise ValueError(
                f"reduce_window: padding must be VALID, SAME, SAME_LOWER or a pair (before, after) of numbers that are "
                f"not negative for each of {x.ndim} axes, got {padding!r}"
            )
    return [(int(before), int(after)) for before, after in pairs]


def _padded(x: TensorVariable, around: Sequence[Widths], first: TensorVariable) -> TensorVariable:
    for d, widths in enumerate(around):
        parts = [
            full((*lengths(x)[:d], w, *lengths(x)[d + 1 :]), first) if not isinstance(w, int) or w else None
            for w in widths
        ]
        if parts != [None, None]:
            x = concatenate([part for part in (parts[0], x, parts[1]) if part is not None], axis=d)
    return x


def _fits(x: TensorVariable, sizes: Sequence[int], around: Sequence[Widths]) -> bool:
    """Whether there are windows, as far as is known."""
    whole = [length(x, d) + before + after for d, (before, after) in enumerate(around)]
    return all(not isinstance(n, int) or n >= k for n, k in zip(whole, sizes))


def _in_pooling(widths: Widths, size: int) -> bool:
    """Whether pooling itself leaves room around, which is less than a window, and as wide on both sides."""
    before, after = widths
    return isinstance(before, int) and isinstance(after, int) and before == after and 2 * before <= size - (size == 1)


def _pooled(
    x: TensorVariable, kind: str, long: Sequence[int], sizes: Sequence[int], steps: Sequence[int], zeros: Sequence[Any]
) -> TensorVariable:
    """Maxima, minima or sums along up to three axes; along others only some elements are kept."""
    for d in range(x.ndim):
        x = x if d in long or steps[d] == 1 else x[at_axis(d, slice(None, None, steps[d]))]
    last = list(range(x.ndim - len(long), x.ndim))
    turned = (ew.neg if x.type.kind == "f" else ew.invert) if kind == "min" else None  # the order of all numbers
    x = x if turned is None else turned(x)
    x = moveaxis(x, long, last) if long != last else x
    found = pool_op(
        x, kind="sum" if kind == "sum" else "max", size=tuple([sizes[d] for d in long]),
        stride=tuple([steps[d] for d in long]), pad=tuple(zeros), short=True,
    )  # fmt: skip
    found = found if turned is None else turned(found)
    return moveaxis(found, last, long) if long != last else found


def _folded(
    x: TensorVariable, computation: Callable[[Any, Any], Any], sizes: Sequence[int], steps: Sequence[int],
    apart: Sequence[int],
) -> TensorVariable:  # fmt: skip
    """Any function, one axis after the other: of slices that hold the first element of each window, the second ..."""
    for d, (k, s, a) in enumerate(zip(sizes, steps, apart)):
        many: Any = (length(x, d) - ((k - 1) * a + 1)) // s + 1
        many = max(many, 0) if isinstance(many, int) else ew.maximum(many, 0)

        def part(v: TensorVariable, at: int, step: int, d: int = d, many: Any = many) -> TensorVariable:
            more = many * step - step + 1  # less than one where there is no window
            more = max(more, 0) if isinstance(more, int) else ew.maximum(more, 0)
            return v[at_axis(d, slice(at, at + more, step))]

        if k <= FEW:
            found = part(x, 0, s)
            for i in range(1, k):
                found = as_tensor(computation(found, part(x, i * a, s)))
        else:
            found = _by_halves(x, computation, d, k, a, functools.partial(part, step=s))
        x = found
    return x


def _by_halves(
    x: TensorVariable, computation: Callable[[Any, Any], Any], d: int, k: int, apart: int,
    part: Callable[[TensorVariable, int], TensorVariable],
) -> TensorVariable:  # fmt: skip
    """Folds of two elements, of four, ..., each of two of the one before; k is made of some of them, in order."""
    pieces, done, whole = [], 0, x
    for bit in range(k.bit_length()):
        if k >> bit & 1:
            pieces.append(part(whole, done * apart))
            done += 1 << bit
        if k >> bit + 1:
            far = apart << bit
            early, late = whole[at_axis(d, slice(None, -far))], whole[at_axis(d, slice(far, None))]
            whole = as_tensor(computation(early, late))
    found = pieces[0]
    for piece in pieces[1:]:
        found = as_tensor(computation(found, piece))
    return found
