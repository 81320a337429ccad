"""Convolutions of arrays with scipy.signal's names, for T.signal: by sums of products, or by Fourier transforms."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from termgraph.tensor.checks import Assert
from termgraph.tensor.convolution import parameters
from termgraph.tensor.elemwise import cast
from termgraph.tensor.fft import fftn, ifft, ifftn, irfft, rfftn
from termgraph.tensor.joining import concatenate, flip
from termgraph.tensor.lengths import length, lengths, product
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import AxisLike, TensorLike
from termgraph.tensor.padding import pad
from termgraph.tensor.shaping import reshape
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.dtypes import HALVES, promote
from termgraph.terms.errors import ShapeError
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops import shaping as shape_ops
from termgraph.terms.ops.convolution import conv as conv_op
from termgraph.terms.ops.shapes import at_axis, normal_axis

MODES = ("full", "same", "valid")
BOUNDARIES = {"fill": "constant", "wrap": "wrap", "symm": "symmetric"}
FEW = 200  # elements of a filter whose products are summed one by one, where a transform may be taken


# ---------------------------------------------------------------------- convolutions
@on_terms
def convolve(in1: TensorLike, in2: TensorLike, mode: str = "full", method: str = "auto") -> TensorVariable:
    """The convolution of two arrays of as many dimensions, as scipy.signal.convolve.

    `mode`: all places where both overlap ("full"), as many as `in1` has, in the middle ("same"), or those where one
    lies in the other ("valid"). `method` is "direct", "fft", or "auto": a transform for long filters of floats.

    >>> import termgraph.tensor as T
    >>> T.signal.convolve([1.0, 2.0, 3.0], [0.0, 1.0, 0.5], "same").eval()
    array([1. , 2.5, 4. ])
    """
    x, w = _pair("convolve", in1, in2, mode)
    return _by_method("convolve", x, w, mode, method)


@on_terms
def correlate(in1: TensorLike, in2: TensorLike, mode: str = "full", method: str = "auto") -> TensorVariable:
    """`convolve` by `in2` read backwards, conjugated, as scipy.signal.correlate.

    >>> import termgraph.tensor as T
    >>> T.signal.correlate([1.0, 2.0, 3.0], [0.0, 1.0, 0.5], "valid").eval()
    array([3.5])
    """
    x, w = _pair("correlate", in1, in2, mode)
    return _by_method("correlate", x, flip(ew.conj(w)), mode, method)


@on_terms
def convolve2d(
    in1: TensorLike, in2: TensorLike, mode: str = "full", boundary: str = "fill", fillvalue: complex = 0
) -> TensorVariable:
    """`convolve` of two matrices; beyond its edges `in1` is `fillvalue`, begins anew ("wrap"), or is mirrored ("symm").

    >>> import numpy as np, termgraph.tensor as T
    >>> T.signal.convolve2d(np.eye(3), [[1.0, 1.0]], "same", "wrap").eval()
    array([[1., 1., 0.],
           [0., 1., 1.],
           [1., 0., 1.]])
    """
    x, w = _pair("convolve2d", in1, in2, mode)
    return _of_matrices("convolve2d", x, w, mode, boundary, fillvalue)


@on_terms
def correlate2d(
    in1: TensorLike, in2: TensorLike, mode: str = "full", boundary: str = "fill", fillvalue: complex = 0
) -> TensorVariable:
    """`convolve2d` by `in2` read backwards, conjugated.

    >>> import numpy as np, termgraph.tensor as T
    >>> T.signal.correlate2d(np.eye(3), np.eye(2), "valid").eval()
    array([[2., 0.],
           [0., 2.]])
    """
    x, w = _pair("correlate2d", in1, in2, mode)
    return _of_matrices("correlate2d", x, flip(ew.conj(w)), mode, boundary, fillvalue, late=1)


@on_terms
def fftconvolve(in1: TensorLike, in2: TensorLike, mode: str = "full", axes: AxisLike = None) -> TensorVariable:
    """`convolve` by Fourier transforms, along some axes or all of them: fast for long filters, of floats.

    Small results beside large ones have fewer exact digits than those of `convolve(method="direct")`.

    >>> import termgraph.tensor as T
    >>> T.signal.fftconvolve([1.0, 2.0, 3.0], [0.0, 1.0, 0.5]).eval().round(9) + 0.0
    array([0. , 1. , 2.5, 4. , 1.5])
    """
    x, w = _pair("fftconvolve", in1, in2, mode)
    return _by_transform(x, w, mode, _axes(axes, x.ndim))


@on_terms
def oaconvolve(in1: TensorLike, in2: TensorLike, mode: str = "full", axes: AxisLike = None) -> TensorVariable:
    """`fftconvolve` of the longer array part by part (overlap-add), which is faster where one is much the longer.

    >>> import termgraph.tensor as T
    >>> T.signal.oaconvolve([1.0, 2.0, 3.0], [0.0, 1.0, 0.5], "valid").eval().round(9)
    array([2.5])
    """
    x, w = _pair("oaconvolve", in1, in2, mode)
    chosen = _axes(axes, x.ndim)
    axis = _parted(x, w, chosen)
    if axis is None:
        return _by_transform(x, w, mode, chosen)
    n, k = length(x, axis), length(w, axis)
    known = isinstance(n, int) and isinstance(k, int)
    x, w, n, k, swapped = (w, x, k, n, True) if known and k > n else (x, w, n, k, False)
    # Of unknown lengths the second array may be the longer one: then all is one part.
    step = fast_points(8 * k if known else ew.maximum(2 * k, ew.minimum(8 * k, n + k - 1))) - k + 1
    count = -(-n // step)
    widths = [(0, count * step - n if d == axis else 0) for d in range(x.ndim)]
    shape = lengths(x)
    parts = reshape(pad(x, widths), (*shape[:axis], count, step, *shape[axis + 1 :]))
    one = reshape(w, (*lengths(w)[:axis], 1, *lengths(w)[axis:]))
    inner = tuple([d + (d >= axis) for d in chosen])
    each = _by_transform(parts, one, "full", inner)  # parts along `axis`, their places along the next one
    shape = lengths(each)
    first, rest = at_axis(axis + 1, slice(None, step)), at_axis(axis + 1, slice(step, None))
    before = pad(each[rest], [(int(d == axis), 0) for d in range(each.ndim)])[at_axis(axis, slice(None, count))]
    tail = pad(before, [(0, (step - k + 1) * (d == axis + 1)) for d in range(each.ndim)])
    whole = reshape(each[first] + tail, (*shape[:axis], count * step, *shape[axis + 2 :]))
    last = each[at_axis(axis, slice(count - 1, None))][rest]
    whole = concatenate([whole, reshape(last, (*shape[:axis], k - 1, *shape[axis + 2 :]))], axis=axis)
    whole = whole[at_axis(axis, slice(None, n + k - 1))]
    return _parts_of(whole, mode, (w, x) if swapped else (x, w), chosen)


def _parted(x: TensorVariable, w: TensorVariable, axes: tuple[int, ...]) -> int | None:
    """The axis along which one array is, or may be, much the longer; None where there is none, or several may be."""
    best, longest = None, 0
    if len(axes) == 1 and None in (x.type.shape[axes[0]], w.type.shape[axes[0]]):
        return axes[0]
    for d in axes:
        n, k = x.type.shape[d], w.type.shape[d]
        if n is not None and k is not None and min(n, k) > 1 and max(n, k) > max(longest, 16 * min(n, k)):
            best, longest = d, max(n, k)
    return best


def _pair(name: str, in1: TensorLike, in2: TensorLike, mode: str) -> tuple[TensorVariable, TensorVariable]:
    """Both arrays in one dtype, with a promise that they have elements."""
    x, w = as_tensor(in1), as_tensor(in2)
    if mode not in MODES:
        raise ValueError(f"{name}: mode must be one of {', '.join(MODES)}, got {mode!r}")
    if x.ndim != w.ndim or not x.ndim or name.endswith("2d") and x.ndim != 2:
        wanted = "two matrices" if name.endswith("2d") else "two arrays of as many dimensions, one at least"
        raise ValueError(f"{name} takes {wanted}, got {x} of type {x.type} and {w} of type {w.type}")
    for what, t in (("in1", x), ("in2", w)):
        if 0 in t.type.shape:
            raise ValueError(f"{name}: {what} has no elements: {t} is {t.type}")
    common = promote(x.type.np_dtype, w.type.np_dtype).name
    common = "int64" if common == "bool" else common
    x, w = _not_empty(name, "in1", cast(x, common)), _not_empty(name, "in2", cast(w, common))
    return _one_inside(name, x, w, name in ("fftconvolve", "oaconvolve")) if mode == "valid" else x, w


def _not_empty(name: str, what: str, x: TensorVariable) -> TensorVariable:
    known = tuple([n is None for n in x.type.shape])
    if not any(known):
        return x
    wanted = [ew.maximum(length(x, d), 1) for d, open_ in enumerate(known) if open_]
    return shape_ops.specify_shape(x, *wanted, known=known, told=f"{name}: {what} has no elements")


def _by_method(name: str, x: TensorVariable, w: TensorVariable, mode: str, method: str) -> TensorVariable:
    if method not in ("auto", "direct", "fft"):
        raise ValueError(f"{name}: method must be auto, direct or fft, got {method!r}")
    sizes = [product(lengths(t)) for t in (x, w)]
    large = all(isinstance(n, int) and n > FEW for n in sizes) and x.type.kind in "fc"
    if method == "fft" or method == "auto" and (large or x.ndim > 3):
        found = _by_transform(x, w, mode, tuple(range(x.ndim)))
        return cast(found, x.type.dtype) if x.type.dtype in HALVES else found
    return _directly(name, x, w, mode)


def _directly(name: str, x: TensorVariable, w: TensorVariable, mode: str, late: int = 0) -> TensorVariable:
    """Sums of products; of known lengths nothing is computed that the mode leaves out."""
    n = x.ndim
    if n > 3:
        raise ValueError(f"{name}: method='direct' takes up to 3 dimensions, {x} has {n}; method='fft' takes any")
    pairs = list(zip(x.type.shape, w.type.shape, strict=True))
    known = all(None not in pair for pair in pairs)
    border: Any = "full"
    if mode == "valid" and known:
        if any(k > m for m, k in pairs):
            x, w, pairs = w, x, [(k, m) for m, k in pairs]
        border = "valid"
    elif mode == "same" and None not in w.type.shape:
        border = tuple([(k - 1 - (k - 1 + late) // 2, (k - 1 + late) // 2) for _, k in pairs if k is not None])
    how = parameters(name, n, border, 1, True, 1, 1, None)
    found = conv_op(reshape(x, (1, 1, *lengths(x))), reshape(w, (1, 1, *lengths(w))), **how)[0, 0]
    return found if border != "full" or mode == "full" else _parts_of(found, mode, (x, w), tuple(range(n)), late)


def _all(conditions: list) -> TensorVariable:
    return functools.reduce(ew.logical_and, conditions)


def _one_inside(name: str, x: TensorVariable, w: TensorVariable, broadcast: bool) -> TensorVariable:
    """The first array, with a promise that one fits into the other, as "valid" wants (`broadcast`: 1 fits anywhere)."""
    pairs = list(zip(lengths(x), lengths(w), strict=True))
    if all(isinstance(n, int) for pair in pairs for n in pair):
        long = [p for p in pairs if not (broadcast and 1 in p)]
        if any(n > k for n, k in long) and any(k > n for n, k in long):
            shapes = [tuple(each) for each in zip(*pairs, strict=True)]
            raise ShapeError(f"{name}: mode='valid': neither fits into the other, of {shapes[0]} and {shapes[1]}")
        return x
    if len(pairs) == 1:
        return x
    over, under = (
        _all([f(n, k) | (broadcast & (ew.eq(n, 1) | ew.eq(k, 1))) for n, k in pairs]) for f in (ew.ge, ew.le)
    )
    return Assert(f"{name}: mode='valid': neither array fits into the other")(x, over | under)


def _parts_of(full: TensorVariable, mode: str, pair: tuple, axes: tuple[int, ...], late: int = 0) -> TensorVariable:
    """What a mode leaves of all places, along some axes."""
    if mode == "full":
        return full
    x, w = pair
    for d in axes:
        n, k = length(x, d), length(w, d)
        if mode == "same":
            start, stop = (k - 1 + late) // 2, (k - 1 + late) // 2 + n
        elif isinstance(n, int) and isinstance(k, int):
            start, stop = min(n, k) - 1, max(n, k)
        else:
            start, stop = ew.minimum(n, k) - 1, ew.maximum(n, k)
        full = full[at_axis(d, slice(start, stop))]
    return full


def _of_matrices(
    name: str, x: TensorVariable, w: TensorVariable, mode: str, boundary: str, fillvalue: complex, late: int = 0
) -> TensorVariable:
    """`late` is 1 where the second of two elements in the middle counts as the middle."""
    if boundary not in BOUNDARIES:
        raise ValueError(f"{name}: boundary must be one of {', '.join(BOUNDARIES)}, got {boundary!r}")
    if mode == "valid" or boundary == "fill" and isinstance(fillvalue, (int, float)) and fillvalue == 0:
        return _directly(name, x, w, mode, late)
    widths = []
    for d in range(2):
        less = length(w, d) - 1
        middle = (less + late) // 2
        widths.append((less, less) if mode == "full" else (less - middle, middle))
    values: dict[str, Any] = {"constant_values": fillvalue} if boundary == "fill" else {}
    how = parameters(name, 2, "valid", 1, True, 1, 1, None)
    around = pad(x, widths, BOUNDARIES[boundary], **values)
    return conv_op(reshape(around, (1, 1, *lengths(around))), reshape(w, (1, 1, *lengths(w))), **how)[0, 0]


def _axes(axes: AxisLike, ndim: int) -> tuple[int, ...]:
    if axes is None:
        return tuple(range(ndim))
    given = axes if isinstance(axes, Sequence) else [axes]
    if not given:
        raise ValueError("axes must name an axis at least, got none")
    return tuple(sorted({normal_axis(d, ndim) for d in given}))


def _by_transform(x: TensorVariable, w: TensorVariable, mode: str, axes: tuple[int, ...]) -> TensorVariable:
    if x.type.kind not in "fc" or x.type.dtype in HALVES:
        wide = "float32" if x.type.dtype in HALVES else "float64"
        x, w = cast(x, wide), cast(w, wide)
    whole = [length(x, d) + length(w, d) - 1 for d in axes]
    points = [fast_points(n) for n in whole]
    if x.type.kind == "f":
        points[-1] = 2 * fast_points((whole[-1] + 1) // 2)  # even, so that half of the frequencies say how many
        full = rfftn(x, points, axes) * rfftn(w, points, axes)
        for d, n in zip(axes[:-1], points):
            full = ifft(full, n, d)
        full = irfft(full, None, axes[-1])
    else:
        full = ifftn(fftn(x, points, axes) * fftn(w, points, axes), points, axes)
    for d, n in zip(axes, whole, strict=True):
        full = full[at_axis(d, slice(None, n))]
    return _parts_of(full, mode, (x, w), axes)


def fast_points(n: Any) -> Any:
    """A number of points from n on that a transform is fast for: a small odd number times a power of two."""
    if isinstance(n, int):
        return min(m << max(-(-n // m) - 1, 0).bit_length() for m in (1, 3, 5, 9, 15))
    found = None
    for m in (1, 3, 5, 9, 15):
        powers = cast(ew.exp2(ew.ceil(ew.log2(cast((n + m - 1) // m, "float64")))), "int64") * m
        found = powers if found is None else ew.minimum(found, powers)
    return found
