"""Rows of what T.nnet makes of images and of time: windows, upsampling, convolutions of others, CTC; against plain NumPy."""

import itertools

import numpy as np
import scipy.special as sps

import termgraph.tensor as T

from ..table import row
from .networks import CONV, ONE_SHAPE, _convolution, _like

nnet = T.nnet


# ---------------------------------------------------------------------- windows
def _windowed(x, size, step):
    counts = [(n - k) // s + 1 for n, k, s in zip(x.shape[2:], size, step)]
    found = [x[b, c, i * step[0] : i * step[0] + size[0], j * step[1] : j * step[1] + size[1]].ravel()
             for b, c, i, j in itertools.product(*map(range, (*x.shape[:2], *counts)))]  # fmt: skip
    return np.array(found, x.dtype).reshape(len(found), size[0] * size[1])


def _neibs(x, neib_shape, neib_step, mode):
    around = [0 if mode == "ignore_borders" else k - 1 if mode == "full" else k // 2 for k in neib_shape]
    how = {"mode": "wrap"} if mode == "wrap_centered" else {}
    return _windowed(np.pad(x, [(0, 0), (0, 0), *[(n, n) for n in around]], **how), neib_shape, neib_step)


def _draw_neibs(c):
    c.longest = 3
    mode = c.pick("ignore_borders", "half", "full", "wrap_centered")
    c.x(shape=(c.n("batch"), c.n("channels"), c.n("rows") + 3, c.n("columns") + 3), special=False)
    return {"neib_shape": (c.pick(1, 3), c.pick(1, 3)), "neib_step": (c.pick(1, 2), c.pick(1, 2)), "mode": mode}


def _whole_parts(c):
    size = (c.pick(1, 2), c.pick(1, 3))
    c.longest = 3
    shape = (c.n("batch"), c.n("channels"), c.structure.randint(1, 3) * size[0], c.structure.randint(1, 3) * size[1])
    c.x(shape=shape, known=(None, None, *shape[2:]), special=False)
    return {"neib_shape": size}


def _there_and_back(x, neib_shape):
    return nnet.neibs2images(nnet.images2neibs(x, neib_shape), neib_shape, x.shape)


IMAGES = {"ranks": (4,), "dtypes": ("float32", "float64", "float16", "int32", "complex64"), "special": False}
row("nnet.images2neibs", nnet.images2neibs, _neibs, _draw_neibs, **IMAGES)
row("nnet.images2neibs (side by side)", nnet.images2neibs, lambda x, neib_shape: _windowed(x, neib_shape, neib_shape), _whole_parts, **IMAGES)
row("nnet.neibs2images", _there_and_back, lambda x, neib_shape: x, _whole_parts, **IMAGES)


# ---------------------------------------------------------------------- upsampling
def _linear(x, ratios):
    """Each axis by np.interp: element i stands at `i * up + (up - 1) // 2`."""
    found = x.astype("float64")
    for axis, (up, down) in zip((2, 3), ratios):
        places = (np.arange(0, x.shape[axis] * up, down) - (up - 1) // 2) / up
        found = np.apply_along_axis(lambda v, at=places: np.interp(at, np.arange(len(v)), v), axis, found)
    return _like(x, found)


def _small_images(c):
    c.longest = 3
    c.x(shape=(c.n("batch") + 1, 1, c.n("rows") + 1, c.n("columns") + 1), special=False)


UP = {"ranks": (4,), "dtypes": ("float32", "float64"), **CONV}
row("nnet.bilinear_upsampling", nnet.bilinear_upsampling, lambda x, ratio: _linear(x, [(ratio, 1)] * 2),
    lambda c: [_small_images(c), {"ratio": c.structure.randint(1, 4)}][1], **UP)  # fmt: skip
row("nnet.frac_bilinear_upsampling", nnet.frac_bilinear_upsampling, lambda x, frac_ratio: _linear(x, frac_ratio),
    lambda c: [_small_images(c), {"frac_ratio": (c.pick((3, 2), (1, 2), (4, 3)), c.pick((5, 3), (2, 1), (2, 3)))}][1], **UP)  # fmt: skip


# ---------------------------------------------------------------------- convolutions made of others
def _along_time(c):
    c.longest = 3
    k = c.structure.randint(1, 3)
    c.x(shape=(c.n("batch"), 2, c.n("time") + 1), known=(None, 2, None), special=False)
    c.x(shape=(3, 2, k), known=(3, 2, k), special=False)
    return {"filter_dilation": c.pick(1, 2)}


def _causal(x, w, filter_dilation):
    spread = np.zeros((*w.shape[:2], (w.shape[2] - 1) * filter_dilation + 1), w.dtype)
    spread[:, :, ::filter_dilation] = w
    before = np.pad(x, [(0, 0), (0, 0), (spread.shape[2] - 1, 0)])
    return _convolution(before, spread, "valid", (1,), True)


def _separable(spatial):
    def draw(c):
        c.longest = 2
        c.x(shape=(c.n("batch"), 2, *[c.n(k) + 2 for k in range(spatial)]), known=(None, 2, *(None,) * spatial), special=False)
        c.x(shape=(4, 1, *(2,) * spatial), known=(4, 1, *(2,) * spatial), special=False)
        c.x(shape=(3, 4, *(1,) * spatial), known=(3, 4, *(1,) * spatial), special=False)

    def numpys(x, deep, point):
        parts = [_convolution(x[:, i // 2][:, None], deep[i][None], "valid", (1,) * spatial, True) for i in range(4)]
        return _convolution(np.concatenate(parts, axis=1), point, "valid", (1,) * spatial, True)

    return draw, numpys


row("nnet.causal_conv1d", nnet.causal_conv1d, _causal, _along_time, ranks=(3,), dtypes=("float32", "float64", "int32"), **CONV)
for name, spatial in [("separable_conv2d", 2), ("separable_conv3d", 3)]:
    draw, numpys = _separable(spatial)
    row(f"nnet.{name}", lambda x, d, p, f=getattr(nnet, name): f(x, d, p, 2), numpys, draw, **ONE_SHAPE)


def _volumes(of_result):
    """A result and filters of one stride, or volumes and a result."""

    def draw(c):
        k, m = c.structure.randint(1, 2), c.structure.randint(1, 2)
        n = m + k - 1
        first, second = ((2, 3, m, m, m), (3, 2, k, k, k)) if of_result else ((2, 3, n, n, n), (2, 4, m, m, m))
        c.x(shape=first, known=first, special=False)
        c.x(shape=second, known=second, special=False)
        return {"n": n if of_result else k}

    return draw


def _volumes_from(g, w, n):
    made = np.zeros((g.shape[0], w.shape[1], n, n, n), np.result_type(g, w))
    for i, j, l in itertools.product(*map(range, g.shape[2:])):
        made[:, :, i : i + w.shape[2], j : j + w.shape[3], l : l + w.shape[4]] += np.einsum(
            "bo,ocijl->bcijl", g[:, :, i, j, l], w[:, :, ::-1, ::-1, ::-1]
        )
    return made


def _filters_from(x, g, n):
    made = np.zeros((g.shape[1], x.shape[1], n, n, n), np.result_type(x, g))
    for i, j, l in itertools.product(*map(range, g.shape[2:])):
        made += np.einsum("bo,bcijl->ocijl", g[:, :, i, j, l], x[:, :, i : i + n, j : j + n, l : l + n])
    return made[:, :, ::-1, ::-1, ::-1]


row("nnet.conv3d_grad_wrt_inputs", lambda g, w, n: nnet.conv3d_grad_wrt_inputs(g, w, (2, 2, n, n, n)), _volumes_from, _volumes(True), **ONE_SHAPE)
row("nnet.conv3d_grad_wrt_weights", lambda x, g, n: nnet.conv3d_grad_wrt_weights(x, g, (4, 3, n, n, n)), _filters_from, _volumes(False), **ONE_SHAPE)


# ---------------------------------------------------------------------- labels in time
def _time_and_labels(c):
    c.x(-2, 2, shape=(4, 3, 3), special=False)
    most = c.structure.randint(1, 3)
    c.x(-1, 2, shape=(3, most), dtype="int64", special=False)
    c.x(1, 4, shape=(3,), dtype="int64", special=False)


def _all_paths(x, labels, lengths):
    """The sum over every way to say the labels."""
    chances = sps.log_softmax(x.astype("float64"), -1)
    found = []
    for i, steps in enumerate(lengths):
        wanted, total = [k for k in labels[i] if k >= 0], 0.0
        for path in itertools.product(range(3), repeat=int(steps)):
            if [k for k, _ in itertools.groupby(path) if k] == wanted:
                total += np.exp(sum(chances[t, i, k] for t, k in enumerate(path)))
        found.append(-np.log(total) if total else np.inf)
    return _like(x, found)


def _from_one(labels):
    """Labels that are no blanks, and what is negative at the end of each row."""
    return T.switch(T.ge(T.cumsum(T.lt(labels, 0), axis=1), 1), -1, T.maximum(labels, 1))


def _from_one_too(labels):
    return np.where(np.cumsum(labels < 0, axis=1) >= 1, -1, np.maximum(labels, 1))


row("nnet.ctc_loss", lambda x, labels, n: nnet.ctc_loss(x, _from_one(labels), n),
    lambda x, labels, n: _all_paths(x, _from_one_too(labels), n), _time_and_labels,
    ranks=(3,), dtypes=("float32", "float64"), special=False, scaled=True, loose=60, smooth=False)  # fmt: skip
