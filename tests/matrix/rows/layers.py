"""Rows of T.nnet's layers and losses by margins, against plain NumPy."""

import numpy as np

from ..draw import FLOATING
from ..table import row
from .networks import CLOSE, _like, activation, in_double, nnet

WIDE = ("float32", "float64")

activation("celu", in_double(lambda x: np.where(x > 0, x, 1.5 * np.expm1(np.minimum(x, 0) / 1.5))), ours=lambda x: nnet.celu(x, 1.5))
activation("soft_shrink", in_double(lambda x: x - np.clip(x, -0.5, 0.5)), special=False)
activation("hard_shrink", lambda x: np.where(abs(x) > 0.5, x, np.zeros_like(x)), special=False)
activation("tanh_shrink", in_double(lambda x: x - np.tanh(x)), special=False, loose=1e3)
activation("threshold", lambda x: np.where(x > 0.25, x, _like(x, 2)), ours=lambda x: nnet.threshold(x, 0.25, 2), special=False)


def _weighted(c):
    c.x(special=False)
    c.x(shape=(c.n(1),), special=False)


activation("prelu", in_double(lambda x, w: np.where(x > 0, x, x * w.reshape(1, -1, *[1] * (x.ndim - 2)))), _weighted, ranks=(2, 3, 4),
           special=False)  # fmt: skip


# ---------------------------------------------------------------------- losses
def _two(c):
    c.x(-2, 2, special=False)
    c.x(0.1, 3, special=False)


def _three(c):
    _two(c)
    c.x(0.1, 3, special=False)


def _signed(c, first=_two):
    """The operands, and targets of 1 and -1."""
    first(c)
    value = c.operands[-1].value
    value[...] = np.where(c.values.random(value.shape) < 0.5, 1, -1)


def loss(name, numpys, draw=_two, **params):
    row(f"nnet.{name}", lambda *xs: getattr(nnet, name)(*xs, reduction="none", **params),
        lambda *xs: _like(xs[0], numpys(*[x.astype("float64") for x in xs])), draw,
        dtypes=WIDE, ranks=(1, 2, 3), special=False, smooth=draw in (_two, _three), scaled=True, loose=40)  # fmt: skip


def _writable(draw):
    def drawn(c):
        c.layout = "C" if c.layout == "0-stride" else c.layout
        draw(c)

    return drawn


loss("poisson_nll_loss", lambda x, t: np.exp(x) - t * x)
loss("gaussian_nll_loss", lambda x, t, v: 0.5 * (np.log(v) + (x - t) ** 2 / v), _three)
loss("soft_margin_loss", lambda x, t: np.logaddexp(0, -t * x))
loss("multilabel_soft_margin_loss", lambda x, t: (t * np.logaddexp(0, -x) + (1 - t) * np.logaddexp(0, x)).mean(-1))
loss("hinge_embedding_loss", lambda x, t: np.where(t == 1, x, np.maximum(0.5 - x, 0)), _writable(_signed), margin=0.5)
loss("margin_ranking_loss", lambda x, y, t: np.maximum(-t * (x - y) + 0.5, 0), _writable(lambda c: _signed(c, _three)), margin=0.5)


def _distance(x, y, eps=1e-6):
    return np.sqrt(((x - y + eps) ** 2).sum(-1))


loss("triplet_margin_loss", lambda a, p, n: np.maximum(_distance(a, p) - _distance(a, n) + 1, 0), _three)
row("nnet.pairwise_distance", lambda x, y: nnet.pairwise_distance(x, y), lambda x, y: _like(x, _distance(x.astype("float64"), y.astype("float64"))),
    _two, dtypes=WIDE, ranks=(1, 2, 3), special=False, **CLOSE)  # fmt: skip


def _angles(c):
    c.at_least(1, False).x(0.5, 2, special=False)
    c.x(0.5, 2, special=False)
    c.given(np.where(c.values.random(c.shape()[:-1]) < 0.5, 1, -1).astype(c.dtype))


def _cosines(x, y, t):
    cosine = (x * y).sum(-1) / np.sqrt((x * x).sum(-1) * (y * y).sum(-1))
    return np.where(t == 1, 1 - cosine, np.maximum(cosine - 0.2, 0))


loss("cosine_embedding_loss", _cosines, _angles, margin=0.2)


def _labelled(c):
    c.at_least(1, False).x(-2, 2, special=False)
    c.given(c.values.integers(0, c.n(c.rank - 1), c.shape()[:-1]))


def _margins(x, i):
    i = i.astype("int64")[..., None]
    over = np.maximum(1 - np.take_along_axis(x, i, -1) + x, 0) ** 2
    np.put_along_axis(over, i, 0, -1)
    return over.mean(-1)


loss("multi_margin_loss", _margins, _labelled, p=2)


# ---------------------------------------------------------------------- layers
def _images(channels):
    def draw(c):
        c.at_least(1, False)
        shape = (c.n("batch"), channels, *[2 * c.n(d) for d in range(c.rank - 2)])
        c.x(-2, 2, special=False, shape=shape)

    return draw


def _grouped(x, axes, shape=None):
    wide = x.astype("float64").reshape(shape or x.shape)
    apart = wide - wide.mean(axes, keepdims=True)
    return _like(x, (apart / np.sqrt((apart**2).mean(axes, keepdims=True) + 1e-5)).reshape(x.shape))


row("nnet.group_norm", lambda x: nnet.group_norm(x, 3), lambda x: _grouped(x, -1, (x.shape[0], 3, -1)), _images(6), dtypes=WIDE,
    ranks=(2, 3, 4), special=False, scaled=True, loose=1e3)  # fmt: skip
row("nnet.instance_norm", nnet.instance_norm, lambda x: _grouped(x, tuple(range(2, x.ndim))), _images(3), dtypes=WIDE, ranks=(3, 4),
    special=False, scaled=True, loose=1e3)  # fmt: skip
row("nnet.normalize", lambda x, p: nnet.normalize(x, p, -1),
    lambda x, p: _like(x, x / np.maximum(np.linalg.norm(x.astype("float64"), p, -1, keepdims=True), 1e-12)),
    lambda c: {**(c.x(0.5, 3, special=False) is None or {}), "p": c.pick(1, 2, 3)}, dtypes=WIDE, ranks=(1, 2, 3), special=False, **CLOSE)  # fmt: skip


def _shuffled(x, r):
    *lead, c, h, w = x.shape
    parts = x.reshape(*lead, c // r**2, r, r, h, w)
    n = len(lead)
    return np.transpose(parts, (*range(n), n, n + 3, n + 1, n + 4, n + 2)).reshape(*lead, c // r**2, h * r, w * r)


def _unshuffled(x, r):
    *lead, c, h, w = x.shape
    n = len(lead)
    parts = x.reshape(*lead, c, h // r, r, w // r, r)
    return np.transpose(parts, (*range(n), n, n + 2, n + 4, n + 1, n + 3)).reshape(*lead, c * r * r, h // r, w // r)


row("nnet.pixel_shuffle", lambda x: nnet.pixel_shuffle(x, 2), lambda x: _shuffled(x, 2), _images(8), dtypes=("int8", *FLOATING), ranks=(4,))
row("nnet.pixel_unshuffle", lambda x: nnet.pixel_unshuffle(x, 2), lambda x: _unshuffled(x, 2), _images(2), dtypes=("int8", *FLOATING), ranks=(4,))


def _rows(c):
    c.index(4, c.shape())
    c.x(shape=(4, 3))


row("nnet.embedding", nnet.embedding, lambda i, w: w[i], _rows, dtypes=FLOATING, ranks=(1, 2))
