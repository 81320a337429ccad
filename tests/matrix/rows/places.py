"""Rows of images at other places and of pairs of points: interpolation, grids, adaptive pools, windows; plain NumPy."""

import itertools
from fractions import Fraction
from math import ceil, floor

import numpy as np
import scipy.ndimage
import scipy.spatial.distance as spd
import scipy.special as sps

import termgraph.tensor as T

from ..draw import FLOATING
from ..table import row
from .networks import CLOSE, _like, activation, in_double, nnet

WIDE = ("float32", "float64")
PLACES = {"dtypes": WIDE, "special": False, **CLOSE}


def _small(c, channels=2):
    c.longest, c.may_be_empty = 4, c.may_be_empty and c.flip(0.3)
    shape = (c.n("batch"), channels, *[c.n(d) + 1 for d in range(c.rank - 2)])
    c.x(-2, 2, shape=shape, known=(None, channels, *[None] * (c.rank - 2)), special=False)


# ---------------------------------------------------------------------- taps of an axis
def _cubic(d, a=-0.75):
    d = abs(d)
    return ((a + 2) * d - a - 3) * d * d + 1 if d <= 1 else ((a * d - 5 * a) * d + 8 * a) * d - 4 * a if d < 2 else 0.0


def _weights(n, at, kind):
    """What each of n elements counts for at a place; elements beyond the ends are the last ones."""
    found = np.zeros(n)
    for i in range(floor(at) - 2, floor(at) + 4):
        found[min(max(i, 0), n - 1)] += max(0.0, 1 - abs(at - i)) if kind == "linear" else _cubic(at - i)
    return found


def _matrix(n, m, step, mode, corners):
    made = np.zeros((m, n))
    for i in range(m):
        if mode.startswith("nearest"):
            made[i, min(floor(i * step if mode == "nearest" else (i + Fraction(1, 2)) * step), n - 1)] = 1
        elif mode == "area":
            window = slice(floor(Fraction(i * n, m)), ceil(Fraction((i + 1) * n, m)))
            made[i, window] = 1 / (window.stop - window.start)
        else:
            at = i * (n - 1) / max(m - 1, 1) if corners else float((i + Fraction(1, 2)) * step - Fraction(1, 2))
            made[i] = _weights(n, at, "cubic" if mode == "bicubic" else "linear")
    return made


def _interpolated(x, mode, size=None, scale_factor=None, align_corners=False):
    for axis in range(2, x.ndim):
        n = x.shape[axis]
        step = Fraction(n, size) if size else 1 / Fraction(scale_factor)
        m = size or floor(n * Fraction(scale_factor))
        x = np.moveaxis(np.moveaxis(x, axis, -1) @ _matrix(n, m, step, mode, align_corners).T, -1, axis)
    return x


def _sizes(c):
    _small(c)
    by = c.pick({"size": 1}, {"size": 3}, {"size": 5}, {"scale_factor": 2.0}, {"scale_factor": 1.5})
    mode = c.pick("nearest", "nearest-exact", "area", {3: "linear", 4: "bilinear", 5: "trilinear"}[c.rank], *["bicubic"] * (c.rank == 4))
    return {"mode": mode, **by, "align_corners": not mode.startswith(("nearest", "area")) and c.flip()}


row("nnet.interpolate", nnet.interpolate, in_double(_interpolated), _sizes, ranks=(3, 4, 5), **PLACES)


def _averaged(x, m, fold):
    for axis in range(2, x.ndim):
        n = x.shape[axis]
        parts = [x[(slice(None),) * axis + (slice(i * n // m, ceil(Fraction((i + 1) * n, m))),)] for i in range(m)]
        x = np.stack([fold(p, axis=axis) for p in parts], axis)
    return x


def _windows(c):
    _small(c)
    return {"m": c.pick(1, 2, 3)}


for spatial, (word, fold) in itertools.product((1, 2, 3), [("avg", np.mean), ("max", np.max)]):
    name = f"adaptive_{word}_pool{spatial}d"
    row(f"nnet.{name}", lambda x, m, f=getattr(nnet, name): f(x, m), lambda x, m, fold=fold: _like(x, _averaged(x.astype("float64"), m, fold)),
        _windows, ranks=(spatial + 2,), smooth=word == "avg", **PLACES)  # fmt: skip


# ---------------------------------------------------------------------- grids
def _grid(x, grid, padding_mode):
    """Linear interpolation between points, one place after the other."""
    sizes, made = x.shape[2:], np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    for place in itertools.product(*map(range, (x.shape[0], *grid.shape[1:-1]))):
        at = [(g + 1) / 2 * (n - 1) for g, n in zip(grid[place][::-1], sizes)]
        for corner in itertools.product((0, 1), repeat=len(sizes)):
            index = [floor(a) + k for a, k in zip(at, corner)]
            weight = np.prod([1 - abs(a - i) for a, i in zip(at, index)])
            inside = all(0 <= i < n for i, n in zip(index, sizes))
            if inside or padding_mode == "border":
                kept = tuple(min(max(i, 0), n - 1) for i, n in zip(index, sizes))
                made[(place[0], slice(None), *place[1:])] += weight * x[(place[0], slice(None), *kept)]
    return made


def _images_and_grid(c):
    c.may_be_empty = False
    _small(c)
    spatial = c.rank - 2
    c.x(-1.3, 1.3, shape=(c.n("batch"), *[c.n(f"places {d}") for d in range(spatial)], spatial), known=(*[None] * (spatial + 1), spatial), special=False)
    return {"padding_mode": c.pick("zeros", "border")}


row("nnet.grid_sample", lambda x, g, padding_mode: nnet.grid_sample(x, g, padding_mode=padding_mode, align_corners=True), in_double(_grid),
    _images_and_grid, ranks=(4, 5), smooth=False, **{**PLACES, "loose": 1e3})  # fmt: skip


def _array_and_places(c):
    c.x(-2, 2, shape=(3, 4), special=False)
    c.x(-2, 5, "float64", shape=(2, c.n("places")), special=False)
    return {"order": int(c.flip()), "mode": c.pick("reflect", "constant", "grid-constant", "nearest", "mirror", "grid-wrap", "wrap")}


row("ndimage.map_coordinates", lambda x, c, order, mode: T.ndimage.map_coordinates(x, c, order, mode),
    lambda x, c, order, mode: scipy.ndimage.map_coordinates(x.astype("float64"), c, order=order, mode=mode).astype(x.dtype),
    _array_and_places, ranks=(2,), smooth=False, **{**PLACES, "loose": 1e3})  # fmt: skip


def _moved(name, **hows):
    def draw(c):
        c.x(-2, 2, shape=(3, 4), special=False)
        return {k: c.pick(*v) for k, v in hows.items()} | {"order": int(c.flip()), "mode": c.pick("reflect", "constant", "nearest", "mirror", "wrap")}

    row(f"ndimage.{name}", getattr(T.ndimage, name),
        lambda x, **how: getattr(scipy.ndimage, name)(x.astype("float64"), **how).astype(x.dtype), draw, ranks=(2,), smooth=False, **{**PLACES, "loose": 1e3})  # fmt: skip


_moved("shift", shift=(0.3, [1.2, -0.7]))
_moved("zoom", zoom=(1.7, [0.6, 2.3]))
_moved("rotate", angle=(33.0, 90, -120.0), reshape=(True, False))
_moved("affine_transform", matrix=([0.7, 1.3], [[0.9, -0.4], [0.35, 1.1]]), offset=(0.2, [1.1, -0.3]))


NEIGHBOURS = {"dtypes": ("float32", "float64"), "scaled": True, "loose": 100, "special": False}
BEYOND = ("reflect", "constant", "nearest", "mirror", "wrap")


def _neighbours(first, **more):
    def draw(c):
        c.at_least(1, may_be_empty=False).x(special=False)
        return {first[0]: c.pick(*first[1]), "mode": c.pick(*BEYOND), "cval": 2.0, **more}

    return draw


def _neighbour_row(name, first, remark="", **how):
    row(f"ndimage.{name}{remark}", getattr(T.ndimage, name), getattr(scipy.ndimage, name), _neighbours(first),
        ranks=(1, 2, 3), **{**NEIGHBOURS, **how})  # fmt: skip


LINES = ("weights", ([1.0, -2.0, 0.5], [0.25, 1.0], [1.0, 2.0, 2.0, 1.0]))
for name in ("correlate1d", "convolve1d"):
    _neighbour_row(name, LINES)
    _neighbour_row(name, LINES, " (integers)", dtypes=("int64",), smooth=False)
for name in ("gaussian_filter1d", "gaussian_filter", "gaussian_laplace"):
    _neighbour_row(name, ("sigma", (0.5, 0.8)))
_neighbour_row("gaussian_gradient_magnitude", ("sigma", (0.5, 0.8)), smooth=False)
for name in ("uniform_filter1d", "uniform_filter"):
    _neighbour_row(name, ("size", (1, 2, 3, 13)))
for name in ("prewitt", "sobel"):
    _neighbour_row(name, ("axis", (0, -1)))
_neighbour_row("laplace", ("axes", (None, (0,))))
for name in ("maximum_filter1d", "minimum_filter1d", "maximum_filter", "minimum_filter"):
    _neighbour_row(name, ("size", (1, 2, 3, 14)), dtypes=("float32", "float64", "int32", "bool"), smooth=False)
SQUARE = np.array([[1.0, 2.0, -1.0], [0.0, 0.5, 1.0]])
for name in ("correlate", "convolve"):
    row(f"ndimage.{name}", lambda x, f=getattr(T.ndimage, name), **how: f(x, SQUARE, **how),
        lambda x, f=getattr(scipy.ndimage, name), **how: f(x, SQUARE, **how),
        _neighbours(("origin", (0, (0, 1), (-1, -1)))), ranks=(2,), **NEIGHBOURS)  # fmt: skip


def _maps(c):
    c.x(-2, 2, shape=(c.n("batch"), 2, 3), known=(None, 2, 3), special=False)


def _affine(theta):
    x, y = np.meshgrid((np.arange(4) * 2 - 3) / 4, (np.arange(3) * 2 - 2) / 3)
    return np.einsum("hwk,bik->bhwi", np.stack([x, y, np.ones_like(x)], -1), theta)


row("nnet.affine_grid", lambda t: nnet.affine_grid(t, (t.shape[0], 1, 3, 4)), in_double(_affine), _maps, ranks=(3,), **PLACES)


# ---------------------------------------------------------------------- windows as columns
HOW = {"kernel_size": (2, 3), "dilation": (2, 1), "padding": (1, 0), "stride": (1, 2)}


def _columns(x, back=None):
    """Each window as a column; with `back`, what is added where windows lie."""
    around = np.pad(x, [(0, 0), (0, 0), (1, 1), (0, 0)])
    places = [[(i + 2 * a, j + b) for a in range(2) for b in range(3)]
              for i in range(around.shape[2] - 2) for j in range(0, around.shape[3] - 2, 2)]  # fmt: skip
    if back is None:
        return np.stack([np.stack([around[:, :, i, j] for i, j in w], -1).reshape(len(x), -1) for w in places], -1)
    parts = back.reshape(*x.shape[:2], 6, len(places))
    for k, window in enumerate(places):
        for e, (i, j) in enumerate(window):
            around[:, :, i, j] += parts[:, :, e, k]
    return around[:, :, 1:-1]


def _for_windows(c):
    c.longest = 3
    c.x(shape=(c.n("batch"), 2, c.n("rows") + 2, c.n("columns") + 3), special=False)


def _for_columns(c):
    c.longest = 3
    rows, columns = c.structure.randint(2, 4), c.structure.randint(3, 6)
    c.x(shape=(c.n("batch"), 12, rows * ((columns - 3) // 2 + 1)), special=False)
    return {"size": (rows, columns)}


row("nnet.unfold", lambda x: nnet.unfold(x, **HOW), _columns, _for_windows, ranks=(4,), dtypes=("int32", *WIDE), special=False)
row("nnet.fold", lambda v, size: nnet.fold(v, size, **HOW), lambda v, size: _columns(np.zeros((len(v), 2, *size), v.dtype), v), _for_columns,
    ranks=(3,), dtypes=("int32", *WIDE), special=False, **CLOSE)  # fmt: skip


# ---------------------------------------------------------------------- points
NORMS = {1: "cityblock", 2: "euclidean", 3: "minkowski"}


def _distances(x, y, p):
    return spd.cdist(x, y, NORMS[p], **({"p": 3} if p == 3 else {}))


def _two_clouds(c):
    c.x(-2, 2, shape=(c.n(0), c.n(1)), special=False)
    c.x(3, 5, shape=(c.n(2), c.n(1)), special=False)
    return {"p": c.pick(*NORMS)}


def _cloud(c):
    c.at_least(2, may_be_empty=False).x(-2, 2, special=False)
    return {"p": c.pick(*NORMS)}


row("nnet.cdist", nnet.cdist, in_double(lambda x, y, p: _distances(x, y, p)), _two_clouds, ranks=(2,), **PLACES)
row("nnet.pdist", nnet.pdist, in_double(lambda x, p: _distances(x, x, p)[np.triu_indices(len(x), 1)]), _cloud, ranks=(2,), **PLACES)


# ---------------------------------------------------------------------- layers
def _for_linear(c):
    c.x(special=False)
    c.x(shape=(c.n("results"), c.shape()[-1]), special=False)
    c.x(shape=(c.n("results"),), special=False)


def _for_bilinear(c):
    c.x(shape=(*c.shape()[:-1], c.n("x")), special=False)
    c.x(shape=(*c.shape()[:-1], c.n("y")), special=False)
    c.x(shape=(c.n("results"), c.n("x"), c.n("y")), special=False)
    c.x(shape=(c.n("results"),), special=False)


row("nnet.linear", nnet.linear, in_double(lambda x, w, b: x @ w.T + b), _for_linear, ranks=(1, 2, 3), **PLACES)
row("nnet.bilinear", nnet.bilinear, in_double(lambda x, y, w, b: np.einsum("...i,oij,...j->...o", x, w, y) + b), _for_bilinear, ranks=(1, 2, 3),
    **PLACES)  # fmt: skip


def _bags(c):
    c.may_be_empty = False
    c.index(4, c.shape())
    c.x(-2, 2, shape=(4, 3), special=False)
    return {"mode": c.pick("mean", "sum", "max")}


row("nnet.embedding_bag", nnet.embedding_bag, lambda i, w, mode: _like(w, getattr(np, mode)(w[i].astype("float64"), -2)), _bags, ranks=(1, 2),
    smooth=False, **PLACES)  # fmt: skip
row("nnet.channel_shuffle", lambda x: nnet.channel_shuffle(x, 2),
    lambda x: x.reshape(len(x), 2, 3, *x.shape[2:]).swapaxes(1, 2).reshape(x.shape),
    lambda c: [c.x(shape=(c.n(0), 6, *[c.n(d) for d in range(2, c.rank)])), None][1], ranks=(2, 3, 4), dtypes=("int8", *FLOATING))  # fmt: skip
activation("softmin", in_double(lambda x, axis: sps.softmax(-x, axis)), lambda c: [c.x(special=False), {"axis": c.axis()}][1],
           ranks=(1, 2, 3), special=False)  # fmt: skip
activation("rrelu", lambda x: np.where(x > 0, x, x * _like(x, 11 / 48)), special=False)


def _log_probabilities(c):
    c.x(-2, 0, shape=(c.n("rows"), 4), special=False)
    c.given(c.values.integers(0, 4, c.n("rows")))
    c.x(0.5, 2, shape=(4,), special=False)


row("nnet.nll_loss", lambda x, t, w: nnet.nll_loss(x, t, "none", weight=w), in_double(lambda x, t, w: -(x * w)[np.arange(len(x)), t.astype(int)]),
    _log_probabilities, ranks=(1,), **PLACES)  # fmt: skip
