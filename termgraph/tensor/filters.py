"""Filters of signals with scipy.signal's names, for T.signal: recursive ones, in sections, and back and forth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

import numpy as np

from termgraph.tensor.convolution import parameters
from termgraph.tensor.creation import zeros
from termgraph.tensor.elemwise import cast
from termgraph.tensor.joining import concatenate, flip
from termgraph.tensor.lengths import at_least, length, lengths, of_length, product
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import TensorLike
from termgraph.tensor.padding import pad
from termgraph.tensor.running import ABOVE
from termgraph.tensor.shaping import expand_dims, moveaxis, reshape
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import promote
from termgraph.terms.errors import ShapeError
from termgraph.terms.ops.convolution import conv as conv_op
from termgraph.terms.ops.shapes import at_axis, normal_axis

EXTENSIONS = {"odd": ("reflect", "odd"), "even": ("reflect", "even"), "constant": ("edge", "even")}


@overload
def lfilter(b: TensorLike, a: TensorLike, x: TensorLike, axis: int = -1, zi: None = None) -> TensorVariable: ...
@overload
def lfilter(
    b: TensorLike, a: TensorLike, x: TensorLike, axis: int, zi: TensorLike
) -> tuple[TensorVariable, TensorVariable]: ...
@on_terms
def lfilter(
    b: TensorLike, a: TensorLike, x: TensorLike, axis: int = -1, zi: TensorLike | None = None
) -> TensorVariable | tuple[TensorVariable, TensorVariable]:
    """x through the filter of numerator `b` and denominator `a`, two vectors of known lengths, along an axis.

    With `zi`, what the filter holds at the beginning (one number less than the longer vector has, along the axis), it
    also gives what it holds at the end.

    >>> import termgraph.tensor as T
    >>> T.signal.lfilter([1.0], [1.0, -0.5], [1.0, 0.0, 0.0]).eval()
    array([1.  , 0.5 , 0.25])
    """
    b, a, x = _coefficients("lfilter", b), _coefficients("lfilter", a), as_tensor(x)
    dtype = promote(*[t.type.np_dtype for t in (b, a, x)])
    dtype = dtype if dtype.kind in "fc" else np.dtype("float64")
    b, a, x = (cast(t, dtype.name) for t in (b, a, x))
    if not x.ndim:
        raise ValueError("lfilter takes arrays of one dimension at least, x has none")
    axis = normal_axis(axis, x.ndim)
    if zi is None and a.type.shape == (1,) and dtype.kind == "f":
        return _by_products(b / a[0], x, axis)
    order: int = max(b.type.shape[0], a.type.shape[0]) - 1  # type: ignore[type-var, operator]
    rows = moveaxis(x, axis, 0)
    if zi is None:
        held = [zeros(lengths(rows)[1:], dtype.name) for _ in range(order)]
    else:
        start = as_tensor(zi)
        if start.ndim != x.ndim or start.type.shape[axis] not in (None, order):
            raise ValueError(f"lfilter: zi must be x's shape with {order} elements along axis {axis}, is {start.type}")
        start = of_length(start, axis, order, f"lfilter: zi must have {order} elements along axis {axis}")
        start = moveaxis(cast(start, dtype.name), axis, 0)
        held = [start[k] for k in range(order)]
    found, held = _recursive([(b, a)], [held], rows)
    y = moveaxis(found, 0, axis)
    if zi is None:
        return y
    end = [reshape(h, (1, *lengths(rows)[1:])) for h in held[0]]
    return y, moveaxis(concatenate(end, axis=0) if end else start, 0, axis)


@overload
def sosfilt(sos: TensorLike, x: TensorLike, axis: int = -1, zi: None = None) -> TensorVariable: ...
@overload
def sosfilt(sos: TensorLike, x: TensorLike, axis: int, zi: TensorLike) -> tuple[TensorVariable, TensorVariable]: ...
@on_terms
def sosfilt(
    sos: TensorLike, x: TensorLike, axis: int = -1, zi: TensorLike | None = None
) -> TensorVariable | tuple[TensorVariable, TensorVariable]:
    """x through filters of order two, one after the other: rows b0, b1, b2, a0, a1, a2 of a matrix, along an axis.

    With `zi`, what each holds at the beginning (sections, ..., 2, ...), it also gives what they hold at the end.

    >>> import termgraph.tensor as T
    >>> T.signal.sosfilt([[1.0, 0.0, 0.0, 1.0, -0.5, 0.0]], [1.0, 0.0, 0.0]).eval()
    array([1.  , 0.5 , 0.25])
    """
    x = as_tensor(x)
    sections, dtype = _sections("sosfilt", sos, x)
    axis = normal_axis(axis, x.ndim)
    rows = moveaxis(cast(x, dtype), axis, 0)
    if zi is None:
        held = [[zeros(lengths(rows)[1:], dtype)] * 2 for _ in sections]
    else:
        start = as_tensor(zi)
        if start.ndim != x.ndim + 1 or start.type.shape[0] not in (None, len(sections)):
            raise ValueError(
                f"sosfilt: zi must be ({len(sections)}, and x's shape with 2 along axis {axis}), is {start.type}"
            )
        start = of_length(start, 0, len(sections), f"sosfilt: zi must have {len(sections)} sections along axis 0")
        start = of_length(start, axis + 1, 2, f"sosfilt: zi must have 2 elements along axis {axis + 1}")
        start = moveaxis(cast(start, dtype), axis + 1, 1)
        held = [[start[s, k] for k in range(2)] for s in range(len(sections))]
    found, held = _recursive(sections, held, rows)
    y = moveaxis(found, 0, axis)
    if zi is None:
        return y
    ends = [concatenate([reshape(h, (1, 1, *lengths(rows)[1:])) for h in each], axis=1) for each in held]
    return y, moveaxis(concatenate(ends, axis=0), 1, axis + 1)


@on_terms
def filtfilt(
    b: TensorLike, a: TensorLike, x: TensorLike, axis: int = -1, padtype: str | None = "odd", padlen: int | None = None
) -> TensorVariable:
    """x through a filter forwards and then backwards, which moves no phases; it begins in a steady state.

    `padtype` is how x is extended at both ends by `padlen` elements (three times the filter's length): "odd", "even",
    "constant" or None.

    >>> import numpy as np, termgraph.tensor as T
    >>> T.signal.filtfilt([0.5, 0.5], [1.0], [0.0, 0.0, 4.0, 0.0, 0.0], padlen=1).eval()
    array([0., 1., 2., 1., 0.])
    """
    b, a, x = _coefficients("filtfilt", b), _coefficients("filtfilt", a), as_tensor(x)
    longest = max(b.type.shape[0], a.type.shape[0])  # type: ignore[type-var]
    start = _steady(b, a)

    def through(rows: TensorVariable) -> TensorVariable:
        first = expand_dims(rows[at_axis(axis, 0)], axis)
        state = reshape(start, [length(start, 0) if d == axis else 1 for d in range(x.ndim)])
        return lfilter(b, a, rows, axis, state * first)[0]

    axis = normal_axis(axis, x.ndim)
    return _both_ways("filtfilt", x, axis, padtype, 3 * longest if padlen is None else padlen, through)  # type: ignore[operator]


@on_terms
def sosfiltfilt(
    sos: TensorLike, x: TensorLike, axis: int = -1, padtype: str | None = "odd", padlen: int | None = None
) -> TensorVariable:
    """`filtfilt` by the sections of `sosfilt`. `padlen` has to be given where these are not numbers.

    >>> import termgraph.tensor as T
    >>> T.signal.sosfiltfilt([[0.5, 0.5, 0.0, 1.0, 0.0, 0.0]], [0.0, 0.0, 4.0, 0.0, 0.0], padlen=1).eval()
    array([0., 1., 2., 1., 0.])
    """
    x = as_tensor(x)
    sections, _ = _sections("sosfiltfilt", sos, x)
    axis = normal_axis(axis, x.ndim)
    if padlen is None:
        if hasattr(sos, "term"):
            raise ValueError("sosfiltfilt: give padlen, the length of the extensions, where sos is computed")
        table = np.asarray(sos)
        padlen = 3 * (2 * len(sections) + 1 - min(int((table[:, k] == 0).sum()) for k in (2, 5)))
    states, scale = [], None
    for b, a in sections:
        state = _steady(b, a)
        states.append(state if scale is None else state * scale)
        gain = sum(b[k] for k in range(3)) / sum(a[k] for k in range(3))
        scale = gain if scale is None else scale * gain

    def through(rows: TensorVariable) -> TensorVariable:
        first = expand_dims(rows[at_axis(axis, 0)], axis)
        shape = [2 if d == axis else 1 for d in range(x.ndim)]
        zi = [reshape(reshape(s, shape) * first, (1, *[2 if d == axis else length(first, d) for d in range(x.ndim)]))
              for s in states]  # fmt: skip
        return sosfilt(sos, rows, axis, concatenate(zi, axis=0))[0]

    return _both_ways("sosfiltfilt", x, axis, padtype, padlen, through)


def _both_ways(
    name: str, x: TensorVariable, axis: int, padtype: str | None, padlen: int, through: Callable
) -> TensorVariable:
    if padtype is not None and padtype not in EXTENSIONS:
        raise ValueError(f"{name}: padtype must be one of {', '.join(EXTENSIONS)} or None, got {padtype!r}")
    padlen = 0 if padtype is None else padlen
    n = x.type.shape[axis]
    if n is not None and n <= padlen:
        raise ShapeError(f"{name}: x has {n} elements along axis {axis}, its extensions need more than padlen={padlen}")
    x = at_least(x, axis, padlen + 1, f"{name}: x must have more than padlen={padlen} elements along axis {axis}")
    if padlen:
        how, kind = EXTENSIONS[padtype]  # type: ignore[index]
        widths = [(padlen, padlen) if d == axis else (0, 0) for d in range(x.ndim)]
        x = pad(x, widths, how, reflect_type=kind)
    y = flip(through(flip(through(x), axis=axis)), axis=axis)
    return y[at_axis(axis, slice(padlen, length(y, axis) - padlen))] if padlen else y


def _coefficients(name: str, given: TensorLike) -> TensorVariable:
    v = as_tensor(given)
    v = reshape(v, (1,)) if not v.ndim else v
    if v.ndim != 1 or not v.type.shape[0]:
        raise ValueError(f"{name}: the filter's coefficients must be a vector of known length, {v} is {v.type}")
    return v


def _sections(name: str, sos: TensorLike, x: TensorVariable) -> tuple[list, str]:
    table = as_tensor(sos)
    if table.ndim != 2 or table.type.shape[1] != 6 or not table.type.shape[0] or not x.ndim:
        raise ValueError(
            f"{name}: sos must be a matrix of 6 columns and a known number of rows, {table} is {table.type}"
        )
    dtype = promote(table.type.np_dtype, x.type.np_dtype)
    table = cast(table, dtype.name if dtype.kind in "fc" else "float64")
    return [(table[k, :3], table[k, 3:]) for k in range(table.type.shape[0] or 0)], table.type.dtype


def _by_products(b: TensorVariable, x: TensorVariable, axis: int) -> TensorVariable:
    """A filter that looks at the past of x only: a convolution."""
    k = b.type.shape[0]
    rows = moveaxis(x, axis, -1)
    shape = lengths(rows)
    how = parameters("lfilter", 1, ((k - 1, 0),), 1, True, 1, 1, None)  # type: ignore[operator]
    found = conv_op(reshape(rows, (product(shape[:-1]), 1, shape[-1])), reshape(b, (1, 1, k)), **how)
    return moveaxis(reshape(found, shape), -1, axis)


def _recursive(sections: list, held: list[list], rows: TensorVariable) -> tuple[TensorVariable, list[list]]:
    """Rows one after the other through sections; what these hold is carried along (the transposed second form)."""
    sizes = [(b.type.shape[0], a.type.shape[0]) for b, a in sections]
    scaled = [([b[k] / a[0] for k in range(n)], [a[k] / a[0] for k in range(1, m)])
              for (b, a), (n, m) in zip(sections, sizes, strict=True)]  # fmt: skip

    def step(state: Any, x: Any) -> Any:
        new = []
        for (b, a), (n, m), z in zip(scaled, sizes, state, strict=True):
            y = b[0] * x + z[0] if z else b[0] * x
            after = []
            for k in range(len(z)):
                parts = [z[k + 1]] if k + 1 < len(z) else []
                parts += [b[k + 1] * x] if k + 1 < n else []
                parts += [-a[k] * y] if k + 1 < m else []
                after.append(sum(parts[1:], parts[0]))
            new.append(tuple(after))
            x = y
        return tuple(new), x

    end, found = ABOVE["loop"]()(step, tuple(map(tuple, held)), rows)
    return found, end


def _steady(b: TensorVariable, a: TensorVariable) -> TensorVariable:
    """What a filter holds that has seen 1 for ever."""
    n: int = max(b.type.shape[0], a.type.shape[0])  # type: ignore[type-var, assignment]
    dtype = promote(b.type.np_dtype, a.type.np_dtype)
    dtype = dtype if dtype.kind in "fc" else np.dtype("float64")
    b, a = (pad(cast(v, dtype.name), (0, n - v.type.shape[0])) / cast(a, dtype.name)[0] for v in (b, a))  # type: ignore[operator]
    if n == 1:
        return b[:0]
    rest = b[1:] - a[1:] * b[0]
    first = rest.sum() / a.sum()
    states, up, down = [first], a[0], None
    for k in range(1, n - 1):
        up = up + a[k]
        down = rest[k - 1] if down is None else down + rest[k - 1]
        states.append(up * first - down)
    return concatenate([reshape(s, (1,)) for s in states], axis=0)
