"""Sums of each element's neighbours with scipy.ndimage's names, for T.ndimage: by weights, Gaussian, differences."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from termgraph.tensor.elemwise import cast
from termgraph.tensor.lengths import length, lengths
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import AxisLike, TensorLike
from termgraph.tensor.padding import pad
from termgraph.tensor.reductions import axes_in_order, to_dtype, wide
from termgraph.tensor.shaping import reshape
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops.shapes import at_axis, normal_axis

# What lies beyond the ends, in the words of `T.pad`.
BEYOND = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "constant": "constant", "grid-constant": "constant",
    "nearest": "edge", "mirror": "reflect", "wrap": "wrap", "grid-wrap": "wrap",
}  # fmt: skip
Modes: TypeAlias = str | Sequence[str]
REAL = (int, float, np.integer, np.floating)
SHORT = 12  # elements of windows that are written out


# ---------------------------------------------------------------------- by weights
@on_terms
def correlate1d(
    input: TensorLike,
    weights: TensorLike,
    axis: int = -1,
    mode: str = "reflect",
    cval: TensorLike = 0.0,
    origin: int = 0,
) -> TensorVariable:
    """The sum of `weights`, a vector of known length, times the elements around each one along an axis.

    `mode` says what lies beyond the ends: the array mirrored about the edges of its elements ('reflect') or about their
    middles ('mirror'), its 'nearest' element, another copy of it ('wrap'), or `cval` ('constant'). `origin` moves the
    window to the left. Results have the dtype of the input; those of whole numbers are cut. Truth values count as 1 and
    0, and a result is true if what is left of it when it is cut is not 0: a mean only where all elements are true.

    >>> import termgraph.tensor as T
    >>> T.ndimage.correlate1d([2.0, 8.0, 0.0, 4.0], [1.0, 3.0]).eval()
    array([ 8., 26.,  8., 12.])
    """
    x, w = numbers("correlate1d", input), _weights("correlate1d", weights, 1)
    return _along("correlate1d", x, w, normal_axis(axis, x.ndim), mode, cval, origin)


@on_terms
def convolve1d(
    input: TensorLike,
    weights: TensorLike,
    axis: int = -1,
    mode: str = "reflect",
    cval: TensorLike = 0.0,
    origin: int = 0,
) -> TensorVariable:
    """`correlate1d` with the weights from the end.

    >>> import termgraph.tensor as T
    >>> T.ndimage.convolve1d([2.0, 8.0, 0.0, 4.0], [1.0, 3.0]).eval()
    array([14., 24.,  4., 16.])
    """
    x, w = numbers("convolve1d", input), _weights("convolve1d", weights, 1)
    origin = _turned("convolve1d", w.shape[0] if isinstance(w, np.ndarray) else w.type.shape[0], origin)
    return _along("convolve1d", x, w[::-1], normal_axis(axis, x.ndim), mode, cval, origin)


@on_terms
def correlate(
    input: TensorLike,
    weights: TensorLike,
    mode: Modes = "reflect",
    cval: TensorLike = 0.0,
    origin: int | Sequence[int] = 0,
) -> TensorVariable:
    """The sum of `weights`, of known lengths and as many dimensions, times the elements around each one.

    Modes and origins, one or one for each axis, are those of `correlate1d`.

    >>> import numpy as np, termgraph.tensor as T
    >>> T.ndimage.correlate(np.eye(3), [[0.0, 1.0], [1.0, 0.0]]).eval()
    array([[2., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    x = numbers("correlate", input)
    w = _weights("correlate", weights, x.ndim)
    return _around("correlate", x, w, mode, cval, _each("correlate", "origin", origin, x.ndim))


@on_terms
def convolve(
    input: TensorLike,
    weights: TensorLike,
    mode: Modes = "reflect",
    cval: TensorLike = 0.0,
    origin: int | Sequence[int] = 0,
) -> TensorVariable:
    """`correlate` with the weights from the end along all axes.

    >>> import numpy as np, termgraph.tensor as T
    >>> T.ndimage.convolve(np.eye(3), [[0.0, 1.0], [2.0, 0.0]]).eval()
    array([[0., 1., 0.],
           [2., 0., 1.],
           [0., 2., 3.]])
    """
    x = numbers("convolve", input)
    w = _weights("convolve", weights, x.ndim)
    sizes = w.shape if isinstance(w, np.ndarray) else w.type.shape
    origins = [
        _turned("convolve", k, o) for k, o in zip(sizes, _each("convolve", "origin", origin, x.ndim), strict=True)
    ]
    return _around("convolve", x, w[(slice(None, None, -1),) * x.ndim], mode, cval, origins)


@on_terms
def uniform_filter1d(
    input: TensorLike, size: int, axis: int = -1, mode: str = "reflect", cval: TensorLike = 0.0, origin: int = 0
) -> TensorVariable:
    """The mean of the `size` elements around each one along an axis; modes, origins and dtypes are `correlate1d`'s.

    >>> import termgraph.tensor as T
    >>> T.ndimage.uniform_filter1d([2.0, 8.0, 0.0, 4.0], 3).eval()
    array([4.        , 3.33333333, 4.        , 2.66666667])
    """
    x = numbers("uniform_filter1d", input)
    return _mean("uniform_filter1d", x, normal_axis(axis, x.ndim), size, mode, cval, origin)


@on_terms
def uniform_filter(
    input: TensorLike,
    size: int | Sequence[int] = 3,
    mode: Modes = "reflect",
    cval: TensorLike = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: AxisLike = None,
) -> TensorVariable:
    """The mean of the elements around each one, `size` along each axis (or along each of `axes`, in their order).

    >>> import numpy as np, termgraph.tensor as T
    >>> T.ndimage.uniform_filter(9 * np.eye(3)).eval()
    array([[5., 3., 1.],
           [3., 3., 3.],
           [1., 3., 5.]])
    """
    given = numbers("uniform_filter", input)
    x = _counts(given)
    for axis, n, how, at in by_axis("uniform_filter", x, axes, size=size, mode=mode, origin=origin):
        x = x if n == 1 else _mean("uniform_filter", x, axis, n, how, cval, at)
    return to_dtype(x, given.dtype)


# ---------------------------------------------------------------------- Gaussian
@on_terms
def gaussian_filter1d(
    input: TensorLike,
    sigma: float,
    axis: int = -1,
    order: int = 0,
    mode: str = "reflect",
    cval: TensorLike = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | None = None,
) -> TensorVariable:
    """Gaussian weights of the deviation `sigma` along an axis, cut after `truncate` of them or after `radius` elements.

    `order` 1, 2 ... takes that derivative. Modes and dtypes are those of `correlate1d`.

    >>> import termgraph.tensor as T
    >>> T.ndimage.gaussian_filter1d([0.0, 0.0, 1.0, 0.0, 0.0], 0.5).eval().round(3)
    array([0.   , 0.106, 0.787, 0.106, 0.   ])
    """
    x = numbers("gaussian_filter1d", input)
    w = _gaussian("gaussian_filter1d", sigma, order, truncate, radius)
    return _along("gaussian_filter1d", x, w, normal_axis(axis, x.ndim), mode, cval, 0)


@on_terms
def gaussian_filter(
    input: TensorLike,
    sigma: float | Sequence[float],
    order: int | Sequence[int] = 0,
    mode: Modes = "reflect",
    cval: TensorLike = 0.0,
    truncate: float = 4.0,
    *,
    radius: int | Sequence[int] | None = None,
    axes: AxisLike = None,
) -> TensorVariable:
    """`gaussian_filter1d` along all axes (or `axes`, in their order), with a deviation, order and mode for each or all.

    >>> import numpy as np, termgraph.tensor as T
    >>> T.ndimage.gaussian_filter(np.eye(3), 0.5).eval().round(3)
    array([[0.809, 0.179, 0.012],
           [0.179, 0.641, 0.179],
           [0.012, 0.179, 0.809]])
    """
    return _smooth(
        "gaussian_filter", numbers("gaussian_filter", input), sigma, order, mode, cval, truncate, radius, axes
    )


@on_terms
def gaussian_laplace(
    input: TensorLike,
    sigma: float | Sequence[float],
    mode: Modes = "reflect",
    cval: TensorLike = 0.0,
    truncate: float = 4.0,
) -> TensorVariable:
    """The sum of second derivatives of `gaussian_filter`.

    >>> import termgraph.tensor as T
    >>> T.ndimage.gaussian_laplace([0.0, 0.0, 1.0, 0.0, 0.0], 1.0).eval().round(3)
    array([ 0.197,  0.002, -0.399,  0.002,  0.197])
    """
    name, x = "gaussian_laplace", numbers("gaussian_laplace", input)
    return _total([_smooth(name, x, sigma, order, mode, cval, truncate, None, None) for order in _one_by_one(x, 2)], x)


@on_terms
def gaussian_gradient_magnitude(
    input: TensorLike,
    sigma: float | Sequence[float],
    mode: Modes = "reflect",
    cval: TensorLike = 0.0,
    truncate: float = 4.0,
) -> TensorVariable:
    """The root of the sum of squares of first derivatives of `gaussian_filter`.

    >>> import termgraph.tensor as T
    >>> T.ndimage.gaussian_gradient_magnitude([0.0, 0.0, 1.0, 0.0, 0.0], 1.0).eval().round(3)
    array([0.095, 0.241, 0.   , 0.241, 0.095])
    """
    name, x = "gaussian_gradient_magnitude", numbers("gaussian_gradient_magnitude", input)
    slopes = [_smooth(name, x, sigma, order, mode, cval, truncate, None, None) for order in _one_by_one(x, 1)]
    return to_dtype(ew.sqrt(working(_total([s * s for s in slopes], x))), x.dtype)


# ---------------------------------------------------------------------- differences
@on_terms
def prewitt(input: TensorLike, axis: int = -1, mode: Modes = "reflect", cval: TensorLike = 0.0) -> TensorVariable:
    """Differences of neighbours along an axis, added up over three elements along each other one.

    >>> import numpy as np, termgraph.tensor as T
    >>> T.ndimage.prewitt(np.eye(3), 0).eval()
    array([[-1.,  0.,  1.],
           [-2.,  0.,  2.],
           [-1.,  0.,  1.]])
    """
    return _differences("prewitt", input, axis, mode, cval, [1.0, 1.0, 1.0])


@on_terms
def sobel(input: TensorLike, axis: int = -1, mode: Modes = "reflect", cval: TensorLike = 0.0) -> TensorVariable:
    """Differences of neighbours along an axis, added up by weights 1, 2, 1 along each other one.

    >>> import numpy as np, termgraph.tensor as T
    >>> T.ndimage.sobel(np.eye(3)).eval()
    array([[-2., -3., -1.],
           [ 1.,  0., -1.],
           [ 1.,  3.,  2.]])
    """
    return _differences("sobel", input, axis, mode, cval, [1.0, 2.0, 1.0])


@on_terms
def laplace(
    input: TensorLike, mode: Modes = "reflect", cval: TensorLike = 0.0, *, axes: AxisLike = None
) -> TensorVariable:
    """The sum of second differences along all axes (or `axes`).

    >>> import termgraph.tensor as T
    >>> T.ndimage.laplace([0.0, 1.0, 4.0, 9.0]).eval()
    array([ 1.,  2.,  2., -5.])
    """
    x = numbers("laplace", input)
    ways = by_axis("laplace", x, axes, mode=mode)
    parts = [_along("laplace", x, np.array([1.0, -2.0, 1.0]), axis, how, cval, 0) for axis, how in ways]
    return _total(parts, x) if parts else x


def _differences(
    name: str, input: TensorLike, axis: int, mode: Any, cval: TensorLike, across: list[float]
) -> TensorVariable:
    x = numbers(name, input)
    axis, modes = normal_axis(axis, x.ndim), _each(name, "mode", mode, x.ndim)
    found = _along(name, _counts(x), np.array([-1.0, 0.0, 1.0]), axis, modes[axis], cval, 0)
    for other in range(x.ndim):
        if other != axis:
            found = _along(name, found, np.array(across), other, modes[other], cval, 0)
    return to_dtype(found, x.dtype)


# ---------------------------------------------------------------------- what they are told
def numbers(name: str, input: TensorLike) -> TensorVariable:
    x = as_tensor(input)
    if not x.ndim:
        raise ValueError(f"{name} takes arrays of one dimension at least, {x} has none")
    return x


def _weights(name: str, given: TensorLike, ndim: int) -> Any:
    """Real weights of known lengths: numbers where they are, else a variable."""
    w: Any = given if hasattr(given, "term") else np.asarray(given)
    kind, shape = (w.type.kind, w.type.shape) if hasattr(w, "term") else (w.dtype.kind, w.shape)
    if kind not in "iufb":
        raise TypeError(f"{name}: weights must be real numbers, got {given!r:.60}")
    if len(shape) != ndim or not all(shape):
        raise ValueError(f"{name}: weights must have {ndim} dimensions of known lengths, 1 or more, got {given!r:.60}")
    return w if hasattr(w, "term") else w.astype("float64")


def _turned(name: str, size: int, origin: int) -> int:
    """The origin of weights that are read from the end."""
    _check_origin(name, size, origin)
    return -origin - (size % 2 == 0)


def _check_origin(name: str, size: int, origin: int) -> None:
    if isinstance(origin, bool) or not hasattr(origin, "__index__"):
        raise TypeError(f"{name}: origin must be an integer, got {origin!r}")
    least, most = -(size // 2), (size - 1) // 2
    if not least <= origin <= most:
        raise ValueError(f"{name}: origin must be {least} to {most} for windows of {size} elements, got {origin}")


def _each(name: str, what: str, given: Any, count: int) -> list:
    """One value for each axis."""
    if not isinstance(given, (list, tuple, np.ndarray)):
        return [given] * count
    if len(given) != count:
        raise ValueError(f"{name}: {what} must be one value or {count} of them, got {given!r}")
    return list(given)


def by_axis(name: str, x: TensorVariable, axes: AxisLike, **told: Any) -> list[tuple]:
    places = axes_in_order(name, axes, x.ndim)
    return list(zip(places, *[_each(name, what, given, len(places)) for what, given in told.items()]))


def _one_by_one(x: TensorVariable, order: int) -> list[list[int]]:
    """That order along one axis, and none along the others."""
    return [[order * (d == axis) for d in range(x.ndim)] for axis in range(x.ndim)]


def _gaussian(name: str, sigma: Any, order: Any, truncate: float, radius: int | None) -> np.ndarray:
    """Weights of a Gaussian, or of its derivatives: the Gaussian times a polynomial that grows with each of them."""
    if not isinstance(sigma, REAL) or not sigma > 0:
        raise ValueError(f"{name}: sigma must be a positive number, got {sigma!r}")
    if isinstance(order, bool) or not hasattr(order, "__index__") or order < 0:
        raise ValueError(f"{name}: order must be an integer of at least 0, got {order!r}")
    radius = int(truncate * float(sigma) + 0.5) if radius is None else radius
    if not hasattr(radius, "__index__") or radius < 0:
        raise ValueError(f"{name}: radius must be an integer of at least 0, got {radius!r}")
    at = np.arange(-radius, radius + 1)
    weights = np.exp(-0.5 / float(sigma) ** 2 * at**2)
    weights /= weights.sum()
    polynomial = np.polynomial.Polynomial([1.0])
    for _ in range(order):
        polynomial = polynomial.deriv() - np.polynomial.Polynomial([0.0, 1 / float(sigma) ** 2]) * polynomial
    return (polynomial(at) * weights)[::-1] if order else weights


def _smooth(
    name: str,
    x: TensorVariable,
    sigma: Any,
    order: Any,
    mode: Any,
    cval: TensorLike,
    truncate: float,
    radius: Any,
    axes: Any,
) -> TensorVariable:  # fmt: skip
    given, x = x, _counts(x)
    for axis, s, o, how, r in by_axis(name, x, axes, sigma=sigma, order=order, mode=mode, radius=radius):
        if not (isinstance(s, REAL) and 0 <= s <= 1e-15):  # as wide as nothing
            x = _along(name, x, _gaussian(name, s, o, truncate, r), axis, how, cval, 0)
    return to_dtype(x, given.dtype)


# ---------------------------------------------------------------------- windows
def working(x: TensorVariable) -> TensorVariable:
    """Numbers in which sums are made: whole ones in double precision."""
    return wide(x) if x.type.kind in "fc" else cast(x, "float64")


def _counts(x: TensorVariable) -> TensorVariable:
    """Truth values as whole numbers of 8 bits, for filters that add along one axis after the other."""
    return cast(x, "uint8") if x.dtype == "bool" else x


def _cut(made: TensorVariable, x: TensorVariable) -> TensorVariable:
    """Results in the dtype of x: truth values, too, are those of whole numbers."""
    return to_dtype(cast(made, "int64") if x.dtype == "bool" and made.type.kind == "f" else made, x.dtype)


def reach(
    name: str, x: TensorVariable, axis: int, size: int, mode: str, cval: TensorLike, origin: int
) -> TensorVariable:
    """x with those elements before and after it along an axis that windows of `size` elements reach."""
    if mode not in BEYOND:
        raise ValueError(f"{name}: mode must be one of {', '.join(BEYOND)}, got {mode!r}")
    _check_origin(name, size, origin)
    before = size // 2 + origin
    widths = [(before, size - 1 - before) if d == axis else (0, 0) for d in range(x.ndim)]
    if BEYOND[mode] != "constant":
        return pad(x, widths, BEYOND[mode]) if x.type.shape[axis] != 0 else pad(x, widths)
    return pad(x, widths, "constant", constant_values=_cut(as_tensor(cval), x))  # type: ignore[arg-type]


def over_windows(op: Callable, x: TensorVariable, axis: int, n: Any, size: int, twice: bool) -> TensorVariable:
    """`op` over each of n windows of `size` elements; `twice`: it may take an element two times.

    Long windows are made of short ones, which several share: each is twice as long as the one before.
    """
    if size <= SHORT:
        return functools.reduce(op, [x[at_axis(axis, slice(k, k + n))] for k in range(size)])
    made, covered, at = None, 1, 0
    while True:
        if size & covered and not twice:
            part = x[at_axis(axis, slice(at, at + n))]
            made, at = part if made is None else op(made, part), at + covered
        if 2 * covered > size:
            break
        count = length(x, axis) - covered
        x = op(x[at_axis(axis, slice(0, count))], x[at_axis(axis, slice(covered, covered + count))])
        covered *= 2
    if twice:
        return op(x[at_axis(axis, slice(0, n))], x[at_axis(axis, slice(size - covered, size - covered + n))])
    assert made is not None
    return made


def check_size(name: str, size: Any) -> None:
    if isinstance(size, bool) or not hasattr(size, "__index__") or size < 1:
        raise ValueError(f"{name}: size must be an integer of at least 1, got {size!r}")


def _along(name: str, x: TensorVariable, w: Any, axis: int, mode: str, cval: TensorLike, origin: int) -> TensorVariable:
    """Weighted sums along one axis; equal weights at both sides of the middle are multiplied once."""
    size = w.shape[0] if isinstance(w, np.ndarray) else w.type.shape[0]
    around = reach(name, working(x), axis, size, mode, cval, origin)
    n, half = length(x, axis), size // 2
    parts = [around[at_axis(axis, slice(k, k + n))] for k in range(size)]
    if isinstance(w, np.ndarray) and size > 1 and np.array_equal(abs(w), abs(w[::-1])):
        same = [np.sign(w[k]) == np.sign(w[-1 - k]) for k in range(half)]
        pairs = [parts[k] + parts[-1 - k] if one else parts[k] - parts[-1 - k] for k, one in enumerate(same)]
        middle = slice(half, half + size % 2)  # added first, as SciPy does: equal sums of ones are the same number
        parts, w = parts[middle] + pairs, np.concatenate([w[middle], w[:half]])
    return _weighted(parts, w, x)


def _around(name: str, x: TensorVariable, w: Any, mode: Any, cval: TensorLike, origins: list) -> TensorVariable:
    """Weighted sums over all axes."""
    sizes = w.shape if isinstance(w, np.ndarray) else w.type.shape
    around = working(x)
    for axis, (size, how, origin) in enumerate(zip(sizes, _each(name, "mode", mode, x.ndim), origins, strict=True)):
        around = reach(name, around, axis, size, how, cval, origin)
    counts = lengths(x)
    parts = [around[tuple([slice(k, k + n) for k, n in zip(at, counts, strict=True)])] for at in np.ndindex(*sizes)]
    return _weighted(parts, reshape(w, (-1,)) if hasattr(w, "term") else w.ravel(), x)


def _weighted(parts: list[TensorVariable], w: Any, x: TensorVariable) -> TensorVariable:
    """The sum of arrays, each by its weight, in the dtype of x; weights of 0 and 1 are no products."""
    real = np.zeros(0, parts[0].type.np_dtype).real.dtype
    if hasattr(w, "term"):
        w = cast(w, real.name)
        return _total([p * w[k] for k, p in enumerate(parts)], x)
    kept = [(p, v) for p, v in zip(parts, w, strict=True) if v] or [(parts[0], w[0])]
    return _total([p if v == 1 else -p if v == -1 else p * np.asarray(v, real) for p, v in kept], x)


def _total(parts: list[TensorVariable], x: TensorVariable) -> TensorVariable:
    return _cut(functools.reduce(ew.add, parts), x)


def _mean(
    name: str, x: TensorVariable, axis: int, size: int, mode: str, cval: TensorLike, origin: int
) -> TensorVariable:
    check_size(name, size)
    around = reach(name, working(x), axis, size, mode, cval, origin)
    total = over_windows(ew.add, around, axis, length(x, axis), size, twice=False)
    return _cut(total / np.asarray(size, np.zeros(0, total.type.np_dtype).real.dtype), x)
