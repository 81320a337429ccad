"""Pooling with PyTorch's names, for T.nnet: maxima with their places and back, averages, p-norms, windows at random."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from termgraph.tensor.checks import CheckAndRaise
from termgraph.tensor.creation import arange, zeros
from termgraph.tensor.distributions import Distributions
from termgraph.tensor.elemwise import cast
from termgraph.tensor.indexing import set_subtensor
from termgraph.tensor.lengths import as_lengths, length, lengths, product
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import Length, ShapeLike, TensorLike
from termgraph.tensor.padding import pad
from termgraph.tensor.selecting import take_along_axis
from termgraph.tensor.shaping import broadcast_to, dimshuffle, expand_dims, reshape
from termgraph.tensor.signal import whole_numbers
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import lowest
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.pooling import pool as pool_op
from termgraph.terms.ops.shapes import at_axis

MAXIMA = """The maximum of each window over the last {axes}.

    Windows lie `stride` apart (side by side by default), their elements `dilation`; `padding` elements around count for
    nothing. With `ceil_mode` the last window may reach beyond the end. With `return_indices` it also gives where in its
    image each maximum is, counted row by row, for `max_unpool{n}d`. Of several elements that are the largest of a
    window each has the gradient, as in Theano; PyTorch gives it to the first.
    """
AVERAGES = """The average of each window over the last {axes}.

    Windows lie `stride` apart (side by side by default), with `padding` zeros around that count as elements unless
    `count_include_pad` is False. With `ceil_mode` the last window may reach beyond the end. Sums are divided by
    `divisor_override` instead, if that is given.
    """
NORMS = """The `norm_type`-th root of the sum of those powers of each window over the last {axes}.

    As in PyTorch no absolute values are taken. The gradient is 0 where all elements of a window are.
    """
BACK = """Maxima put back where they were, with zeros between them, over the last {axes}.

    `indices` are those of `max_pool{n}d(..., return_indices=True)`. The lengths are the least that such windows have,
    or `output_size`.
    """
FRACTIONS = """The maximum of each window over the last {axes}; the windows' distances are drawn at random.

    There are `output_size` windows, or `output_ratio` times the number of elements. `samples` are {n} numbers from 0 to
    1 for each image and channel, (batch, channels, {n}); without them the random stream `rng` draws some.
    """


class Windows(NamedTuple):
    """Windows over the last axes of images, one number for each axis."""

    name: str
    sizes: tuple[int, ...]
    steps: tuple[int, ...]
    zeros: tuple[int, ...]  # elements around
    apart: tuple[int, ...]  # the distance of a window's elements
    ceil: bool  # whether the last window may reach beyond the end

    def reach(self, d: int) -> int:
        return (self.sizes[d] - 1) * self.apart[d] + 1

    def places(self, d: int, n: Length) -> Any:
        """How many windows there are along n elements; none begins beyond the elements and those before them."""
        step, more = self.steps[d], self.steps[d] - 1 if self.ceil else 0
        m = (n + (2 * self.zeros[d] - self.reach(d) + more)) // step + 1
        if not self.ceil:
            return m
        return _less(m, (n + self.zeros[d] + step - 1) // step)


def _less(a: Length, b: Length) -> Any:
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else ew.minimum(a, b)


def _images(name: str, input: TensorLike, spatial: int) -> TensorVariable:
    x = as_tensor(input)
    if x.ndim not in (spatial + 1, spatial + 2):
        axes = "one length" if spatial == 1 else f"{spatial} lengths"
        raise TypeError(f"{name} takes images (batch, channels, {axes}), the batch may be missing; {x} is {x.type}")
    return x


def _windows(
    name: str,
    x: TensorVariable,
    kernel_size: ShapeLike,
    stride: ShapeLike,
    padding: ShapeLike,
    dilation: ShapeLike,
    ceil_mode: bool,
    n: int,
) -> Windows:
    sizes = whole_numbers(name, "kernel_size", kernel_size, n, 1)
    steps = sizes if stride is None else whole_numbers(name, "stride", stride, n, 1)
    zeros_around = whole_numbers(name, "padding", padding, n, 0)
    w = Windows(name, sizes, steps, zeros_around, whole_numbers(name, "dilation", dilation, n, 1), bool(ceil_mode))
    for d, around in enumerate(zeros_around):
        if 2 * around > w.reach(d):
            raise ValueError(f"{name}: padding={padding!r} must be at most half of the windows, {w.reach(d)} elements")
        known = x.type.shape[d - n]
        if known is not None and w.places(d, known) < 1:
            raise ValueError(
                f"{name}: a window of {w.reach(d)} elements does not fit into {known} with {around} at each end"
            )
    return w


def _pooled(x: TensorVariable, w: Windows, kind: str) -> TensorVariable:
    """The maximum or the sum of each window, without those elements around that do not fit in one op's words."""
    n = len(w.sizes)
    if any(a > 1 for a in w.apart):
        for d in range(n):
            x = _along(x, w, d)
        return x
    how = {"kind": kind, "size": w.sizes, "stride": w.steps}
    if not w.ceil:
        return pool_op(x, pad=w.zeros, ignore_border=True, **how)
    around = _around(x, w, 0 if kind == "sum" else lowest(x.type.np_dtype)) if any(w.zeros) else x
    found = pool_op(around, pad=(0,) * n, ignore_border=False, **how)
    return found[(..., *[slice(None, w.places(d, length(x, d - n))) for d in range(n)])]


def _along(x: TensorVariable, w: Windows, d: int) -> TensorVariable:
    """The maxima of windows along one axis: in rows as long as their elements are apart, these lie in a column."""
    axis = x.ndim - len(w.sizes) + d
    n, p, apart, step = length(x, axis), w.zeros[d], w.apart[d], w.steps[d]
    count, more = w.places(d, n), w.reach(d) + step if w.ceil else 0
    count = count if isinstance(count, int) else ew.maximum(count, 0)
    more = more + -(n + 2 * p + more) % apart  # to rows that are whole
    widths = [(p, p + more) if e == axis else (0, 0) for e in range(x.ndim)]
    around = pad(x, widths, constant_values=lowest(x.type.np_dtype))
    front, inner = lengths(x)[:axis], lengths(x)[axis + 1 :]
    rows = reshape(around, (*front, (n + 2 * p + more) // apart, product([apart, *inner])))
    found = pool_op(rows, kind="max", size=(w.sizes[d], 1), stride=(1, 1), pad=(0, 0), ignore_border=True)
    found = reshape(found, (*front, length(found, axis) * apart, *inner))
    return found[at_axis(axis, slice(None, count * step, step))]


def _around(x: TensorVariable, w: Windows, value: Any) -> TensorVariable:
    widths = [(0, 0)] * (x.ndim - len(w.sizes)) + [(p, p) for p in w.zeros]
    return pad(x, widths, constant_values=value)


def _taps(x: TensorVariable, w: Windows) -> list[TensorVariable]:
    """The first element of every window, the second, ...; beyond the ends there is the lowest number."""
    n = len(w.sizes)
    more = [w.reach(d) + w.steps[d] if w.ceil else 0 for d in range(n)]
    widths = [(0, 0)] * (x.ndim - n) + [(p, p + m) for p, m in zip(w.zeros, more)]
    around = pad(x, widths, constant_values=lowest(x.type.np_dtype)) if any(map(any, widths)) else x
    counts = [w.places(d, length(x, d - n)) for d in range(n)]
    found = []
    for tap in np.ndindex(w.sizes):
        starts = [int(t) * a for t, a in zip(tap, w.apart)]
        ends = [s + (m - 1) * step + 1 for s, m, step in zip(starts, counts, w.steps)]
        found.append(around[(..., *map(slice, starts, ends, w.steps))])
    return found


def _places(x: TensorVariable, w: Windows) -> TensorVariable:
    """Where each window's maximum is in its image, counted row by row: the first one, or the last NaN."""
    n, np_dtype = len(w.sizes), x.type.np_dtype
    counts = [w.places(d, length(x, d - n)) for d in range(n)]
    starts = [arange(m) * s - p for m, s, p in zip(counts, w.steps, w.zeros)]
    first = [ew.switch(ew.lt(s, 0), s + (-s + a - 1) // a * a, s) for s, a in zip(starts, w.apart)]
    taps = _taps(x, w)
    best: Any = np.asarray(lowest(np_dtype), np_dtype)
    place = _flat(x, first)
    for tap, value in zip(np.ndindex(w.sizes), taps):
        here = _flat(x, [s + int(t) * a for s, t, a in zip(starts, tap, w.apart)])
        better = ew.gt(value, best)
        if x.type.kind == "f":
            better = better | ew.isnan(value)
        best, place = ew.switch(better, value, best), ew.switch(better, here, place)
    return place


def _flat(x: TensorVariable, places: list) -> TensorVariable:
    """The number of an element of an image from its place along each axis."""
    n = len(places)
    total: Any = 0
    for d, place in enumerate(places):
        total = total * length(x, d - n) + dimshuffle(place, *[0 if e == d else "x" for e in range(n)])
    return total


def _max_pool(spatial: int) -> Callable:
    name = f"max_pool{spatial}d"

    def pool(
        input: TensorLike,
        kernel_size: ShapeLike,
        stride: ShapeLike = None,
        padding: ShapeLike = 0,
        dilation: ShapeLike = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> TensorVariable | tuple[TensorVariable, TensorVariable]:
        x = _images(name, input, spatial)
        w = _windows(name, x, kernel_size, stride, padding, dilation, ceil_mode, spatial)
        found = _pooled(x, w, "max")
        return (found, _places(x, w)) if return_indices else found

    return _named(pool, name, spatial, MAXIMA)


def _avg_pool(spatial: int) -> Callable:
    name = f"avg_pool{spatial}d"

    def pool(
        input: TensorLike,
        kernel_size: ShapeLike,
        stride: ShapeLike = None,
        padding: ShapeLike = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> TensorVariable:
        x = _images(name, input, spatial)
        if x.type.kind not in "fc":
            raise TypeError(f"{name}: an average of {x.type.dtype} is not a whole number; cast the array first")
        w = _windows(name, x, kernel_size, stride, padding, 1, ceil_mode, spatial)
        total = _pooled(x, w, "sum")
        if divisor_override is not None:
            return ew.true_div(total, divisor_override)
        return _averaged(x, total, w, bool(count_include_pad))

    return _named(pool, name, spatial, AVERAGES)


def _averaged(x: TensorVariable, total: TensorVariable, w: Windows, with_zeros: bool) -> TensorVariable:
    n = len(w.sizes)
    if not w.ceil and (with_zeros or not any(w.zeros)):
        return ew.true_div(total, np.asarray(np.prod(w.sizes), total.type.np_dtype))
    for d, (k, s, p) in enumerate(zip(w.sizes, w.steps, w.zeros)):
        long = length(x, d - n)
        start = arange(length(total, d - n)) * s - p
        end = ew.minimum(start + k, long + p if with_zeros else long)
        inside = end - (start if with_zeros else ew.maximum(start, 0))
        total = total / cast(dimshuffle(inside, *[0 if e == d else "x" for e in range(n)]), total.type.dtype)
    return total


def _lp_pool(spatial: int) -> Callable:
    name = f"lp_pool{spatial}d"

    def pool(
        input: TensorLike, norm_type: float, kernel_size: ShapeLike, stride: ShapeLike = None, ceil_mode: bool = False
    ) -> TensorVariable:
        x = _images(name, input, spatial)
        if isinstance(norm_type, bool) or not isinstance(norm_type, (int, float)) or not 0 < norm_type < np.inf:
            raise ValueError(f"{name}: norm_type must be a positive number, got {norm_type!r}")
        if x.type.kind != "f":
            raise TypeError(f"{name} takes floats, got {x} of type {x.type}; cast the array first")
        w = _windows(name, x, kernel_size, stride, 0, 1, ceil_mode, spatial)
        powers = x if norm_type == 1 else ew.sqr(x) if norm_type == 2 else x**norm_type
        total = _pooled(powers, w, "sum")
        if w.ceil:  # what a window that is not whole lacks counts as much as what it has
            total = _averaged(x, total, w, True) * np.asarray(np.prod(w.sizes), x.type.np_dtype)
        if norm_type == 1:
            return total
        none = ew.eq(total, 0)  # whose root has no slope
        kept = ew.switch(none, np.ones((), x.type.np_dtype), total)
        root = ew.sqrt(kept) if norm_type == 2 else kept ** (1 / norm_type)
        return ew.switch(none, np.zeros((), x.type.np_dtype), root)

    return _named(pool, name, spatial, NORMS)


# ---------------------------------------------------------------------- and back
def _max_unpool(spatial: int) -> Callable:
    name = f"max_unpool{spatial}d"

    def pool(
        input: TensorLike,
        indices: TensorLike,
        kernel_size: ShapeLike,
        stride: ShapeLike = None,
        padding: ShapeLike = 0,
        output_size: ShapeLike = None,
    ) -> TensorVariable:
        x, places = _images(name, input, spatial), as_tensor(indices)
        if places.type.kind not in "iu" or places.ndim != x.ndim:
            raise TypeError(f"{name}: indices must be whole numbers of {x.ndim} dimensions, got {places.type}")
        sizes = whole_numbers(name, "kernel_size", kernel_size, spatial, 1)
        steps = sizes if stride is None else whole_numbers(name, "stride", stride, spatial, 1)
        around = whole_numbers(name, "padding", padding, spatial, 0)
        front, inner = lengths(x)[:-spatial], lengths(x)[-spatial:]
        if output_size is None:
            wanted = [(n - 1) * s - 2 * p + k for n, s, p, k in zip(inner, steps, around, sizes)]
        else:
            wanted = as_lengths(output_size, "output_size")[-spatial:]
            if len(wanted) != spatial:
                raise ValueError(f"{name}: output_size must be {spatial} lengths, got {output_size!r}")
        planes, many, few = product(front), product(wanted), product(inner)
        image = expand_dims(arange(planes), 1)
        places = CheckAndRaise(IndexError, f"{name}: indices must not be negative")(places, ew.ge(places, 0))
        chosen = zeros((planes, many), dtype=x.type.dtype)[image, reshape(places, (planes, few))]
        return reshape(set_subtensor(chosen, reshape(x, (planes, few))), (*front, *wanted))

    return _named(pool, name, spatial, BACK)


# ---------------------------------------------------------------------- windows at random places
def _fractional(spatial: int) -> Callable:
    name = f"fractional_max_pool{spatial}d"

    def pool(
        input: TensorLike,
        kernel_size: ShapeLike,
        output_size: ShapeLike = None,
        output_ratio: float | Sequence[float] | None = None,
        return_indices: bool = False,
        samples: TensorLike | None = None,
        rng: Distributions | None = None,
    ) -> TensorVariable | tuple[TensorVariable, TensorVariable]:
        x = _images(name, input, spatial)
        if x.type.kind != "f":
            raise TypeError(f"{name} takes floats, got {x} of type {x.type}; cast the array first")
        sizes = whole_numbers(name, "kernel_size", kernel_size, spatial, 1)
        inner, wanted = lengths(x)[-spatial:], _fraction(name, x, spatial, output_size, output_ratio)
        for n, m, k in zip(inner, wanted, sizes):
            if isinstance(n, int) and isinstance(m, int) and not 1 <= m <= n - k + 1:
                raise ValueError(f"{name}: {m} windows of {k} elements do not fit into {n}")
        front = [1] * (spatial + 2 - x.ndim) + lengths(x)[:-spatial]
        drawn = _samples(name, x, spatial, front, samples, rng)
        batched = reshape(x, (*front, *inner))
        starts = [_starts(drawn[:, :, spatial - 1 - d] if spatial == 2 else drawn[:, :, d], n, m, k)
                  for d, (n, m, k) in enumerate(zip(inner, wanted, sizes))]  # fmt: skip
        flat = reshape(batched, (*front, product(inner)))
        best: Any = None
        for tap in np.ndindex(sizes):
            place: Any = 0
            for d, (start, n) in enumerate(zip(starts, inner)):
                order = [0, 1, *[2 if e == d else "x" for e in range(spatial)]]
                place = place * n + dimshuffle(start + int(tap[d]), *order)
            place = broadcast_to(place, (*front, *wanted))
            value = reshape(take_along_axis(flat, reshape(place, (*front, product(wanted))), 2), (*front, *wanted))
            if best is None:
                best, where = value, place
            else:
                better = ew.gt(value, best) | ew.isnan(value)
                best, where = ew.switch(better, value, best), ew.switch(better, place, where)
        shape = (*lengths(x)[:-spatial], *wanted)
        found = reshape(best, shape)
        return (found, reshape(where, shape)) if return_indices else found

    return _named(pool, name, spatial, FRACTIONS)


def _fraction(name: str, x: TensorVariable, spatial: int, output_size: ShapeLike, output_ratio: Any) -> list:
    if (output_size is None) == (output_ratio is None):
        raise ValueError(f"{name}: give either output_size or output_ratio")
    if output_ratio is None:
        items: Any = output_size if isinstance(output_size, (tuple, list)) else [output_size] * spatial
        wanted = as_lengths(items, "output_size")
        if len(wanted) != spatial:
            raise ValueError(f"{name}: output_size must be {spatial} lengths, got {output_size!r}")
        return wanted
    ratios = list(output_ratio) if isinstance(output_ratio, (tuple, list)) else [output_ratio] * spatial
    if len(ratios) != spatial or not all(isinstance(r, float) and 0 < r < 1 for r in ratios):
        raise ValueError(f"{name}: output_ratio must be {spatial} numbers between 0 and 1, got {output_ratio!r}")
    inner = [length(x, d - spatial) for d in range(spatial)]
    return [int(n * r) if isinstance(n, int) else cast(ew.floor(n * r), "int64") for n, r in zip(inner, ratios)]


def _samples(
    name: str, x: TensorVariable, spatial: int, front: list, samples: TensorLike | None, rng: Distributions | None
) -> TensorVariable:
    if samples is None:
        if rng is None or not hasattr(rng, "uniform"):
            raise TypeError(f"{name}: give samples, or rng=T.random.RandomStream(seed) to draw them; got rng={rng!r}")
        return rng.uniform(size=(*front, spatial), dtype=x.type.dtype)
    drawn = as_tensor(samples)
    if drawn.ndim != 3 or drawn.type.shape[2] not in (None, spatial):
        raise ValueError(f"{name}: samples must be (batch, channels, {spatial}), got {drawn} of type {drawn.type}")
    return drawn


def _starts(sample: TensorVariable, n: Length, m: Length, k: int) -> TensorVariable:
    """Where m windows of k elements begin along n: by steps of a fraction, rounded; the last one ends at the end."""
    i, sample = arange(m), expand_dims(sample, -1)
    step = cast(n - k, sample.type.dtype) / cast(ew.maximum(m - 1, 1), sample.type.dtype)
    found = ew.floor((cast(i, sample.type.dtype) + sample) * step) - ew.floor(sample * step)
    return ew.switch(ew.eq(i, m - 1), n - k, cast(found, "int64"))


def _named(pool: Callable, name: str, spatial: int, doc: str) -> Any:
    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = doc.format(axes="axis" if spatial == 1 else f"{spatial} axes", n=spatial)
    return on_terms(pool)


avg_pool1d, avg_pool2d, avg_pool3d = map(_avg_pool, (1, 2, 3))
fractional_max_pool2d, fractional_max_pool3d = map(_fractional, (2, 3))
lp_pool1d, lp_pool2d, lp_pool3d = map(_lp_pool, (1, 2, 3))
max_pool1d, max_pool2d, max_pool3d = map(_max_pool, (1, 2, 3))
max_unpool1d, max_unpool2d, max_unpool3d = map(_max_unpool, (1, 2, 3))
