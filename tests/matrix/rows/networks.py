"""Rows of T.nnet and T.signal: activations, losses, convolutions and pooling, against plain NumPy and SciPy."""

import itertools
import math

import numpy as np
import scipy.special as sps

import termgraph.tensor as T

from ..draw import FLOATING, INTEGERS
from ..table import one, row

nnet = T.nnet
CLOSE = {"scaled": True, "loose": 10}


def activation(name, numpys, draw=one, ours=None, **more):
    row(f"nnet.{name}", ours or getattr(nnet, name), numpys, draw, **{"dtypes": FLOATING, **CLOSE, **more})


def _like(x, value):
    return np.asarray(value).astype(x.dtype)


def in_double(f):
    return lambda x, *ys, **params: _like(x, f(x.astype("float64"), *[np.asarray(y).astype("float64") for y in ys], **params))


activation("relu", lambda x: np.maximum(x, 0))
activation("leaky_relu", in_double(lambda x: np.where(x > 0, x, 0.01 * x)))
activation("relu6", lambda x: np.clip(x, 0, 6))
activation("elu", in_double(lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0)))))
activation("selu", in_double(lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0)))))
activation("gelu", in_double(lambda x: x * sps.ndtr(x)), loose=40)
activation("gelu (tanh)", in_double(lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))),
           ours=lambda x: nnet.gelu(x, True), special=False)  # fmt: skip
activation("silu", in_double(lambda x: x * sps.expit(x)))
activation("softsign", in_double(lambda x: x / (1 + abs(x))), special=False)
activation("mish", in_double(lambda x: x * np.tanh(np.logaddexp(0, x))))
activation("hard_swish", in_double(lambda x: x * np.clip(x + 3, 0, 6) / 6), special=False)
activation("hard_tanh", in_double(lambda x: np.clip(x, -1, 1)))
activation("log_sigmoid", in_double(lambda x: -np.logaddexp(0, -x)))
activation("hard_sigmoid", in_double(lambda x: np.clip(0.2 * x + 0.5, 0, 1)))
activation("ultra_fast_sigmoid", in_double(sps.expit), loose=4e11, dtypes=("float64",), special=False, smooth=False)


def _soft(c):
    c.mild().x()
    return {"axis": c.axis()}


activation("softmax", in_double(lambda x, axis: sps.softmax(x, axis)), _soft, ranks=(1, 2, 3, 4))
activation("log_softmax", in_double(lambda x, axis: sps.log_softmax(x, axis)), _soft, ranks=(1, 2, 3, 4))
activation("softmax_with_bias", in_double(lambda x, b: sps.softmax(x + b, -1)),
           lambda c: [c.x(special=False), c.x(shape=c.shape()[-1:], special=False)], ranks=(2,), special=False)  # fmt: skip


def _probabilities(c):
    c.x(0.05, 0.95, special=False)
    c.x(0, 1, special=False)


def _binary(p, t):
    return -(t * np.log(p) + (1 - t) * np.log1p(-p))


activation("binary_crossentropy", in_double(_binary), _probabilities, special=False)
activation("sigmoid_binary_crossentropy", in_double(lambda x, t: t * np.logaddexp(0, -x) + (1 - t) * np.logaddexp(0, x)),
           lambda c: [c.x(special=False), c.x(0, 1, special=False)], special=False)  # fmt: skip
activation("categorical_crossentropy", in_double(lambda p, t: -(t * np.log(p)).sum(-1)), _probabilities, ranks=(1, 2, 3),
           special=False)  # fmt: skip


def _two(c):
    c.at_least(1, may_be_empty=False).x(special=False)
    c.x(special=False)


def _losses(name, loss, **more):
    activation(name, in_double(lambda x, y: np.mean(loss(x, y))), _two, special=False, **more)


_losses("mse_loss", lambda x, y: (x - y) ** 2, scaled=True)
_losses("l1_loss", lambda x, y: abs(x - y), scaled=True)
_losses("huber_loss", lambda x, y: sps.huber(1, x - y), scaled=True)
_losses("smooth_l1_loss", lambda x, y: sps.huber(0.5, x - y) / 0.5, ours=lambda x, y: nnet.smooth_l1_loss(x, y, "mean", 0.5), scaled=True)
_losses("kl_div", lambda x, y: np.exp(y) * (y - x), ours=lambda x, y: nnet.kl_div(x, y, "mean", True), scaled=True)
activation("kl_div (probabilities)", in_double(lambda x, y: sps.xlogy(y, y) - y * x), _probabilities, special=False, scaled=True,
           ours=lambda x, y: nnet.kl_div(x, y, "none"))  # fmt: skip
activation("cosine_similarity", in_double(lambda x, y: (x * y).sum(-1) / np.sqrt((x * x).sum(-1) * (y * y).sum(-1))),
           lambda c: [c.at_least(1, may_be_empty=False).x(0.2, 3, special=False), c.x(0.2, 3, special=False)], special=False, ranks=(1, 2, 3), scaled=True,
           ours=lambda x, y: nnet.cosine_similarity(x, y, -1))  # fmt: skip


def _normal(c):
    c.at_least(2, may_be_empty=False).x(special=False)
    return {"axis": c.axis(), "eps": c.pick(1e-2, 0.5)}


def _layer_norm(x, axis, eps):
    return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + eps)


activation("layer_norm", in_double(_layer_norm), _normal, ranks=(1, 2, 3), special=False, scaled=True, loose=100)
activation("rms_norm", in_double(lambda x, axis, eps: x / np.sqrt((x * x).mean(axis, keepdims=True) + eps)), _normal, ranks=(1, 2, 3),
           special=False, scaled=True, loose=100)  # fmt: skip


def _even(c):
    c.x(shape=(*c.shape()[:-1], 2 * c.shape()[-1]), special=False)


def _glu(x):
    first, second = np.split(x, 2, -1)
    return first * sps.expit(second)


activation("glu", in_double(_glu), _even, ranks=(1, 2, 3), special=False)


def _attended(c):
    t, s, d, e = [c.at_least(1, may_be_empty=False).n(k) for k in "tsde"]
    batch = c.shape()[: c.rank - 2]
    for shape in ((t, d), (s, d), (s, e)):
        c.x(-2, 2, shape=(*batch, *shape), special=False)
    return {"is_causal": c.flip()}


def _attention(q, k, v, is_causal):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    return sps.softmax(scores, -1) @ v


activation("scaled_dot_product_attention", in_double(_attention), _attended, ranks=(2, 3, 4), special=False, scaled=True, loose=40,
           ours=lambda q, k, v, is_causal: nnet.scaled_dot_product_attention(q, k, v, is_causal=is_causal))  # fmt: skip


def _scores(bias=False):
    def draw(c):
        shape = c.shape()
        x = c.x(0.05, 3, special=False)
        if bias:
            c.x(shape=shape[-1:], special=False)
        labels = c.values.integers(0, max(shape[-1], 1), shape[:-1]) if shape[-1] else np.zeros(shape[:-1], int)
        if not shape[-1] and x.shape[:-1] != (0,):
            labels = np.full(shape[:-1], 99)  # no label fits: refused by both
        c.given(labels)

    return draw


def _at(x, labels):
    return np.take_along_axis(x, labels[..., None], -1)[..., 0]


LABELLED = {"special": False, "ranks": (2,)}
row("nnet.cross_entropy", lambda x, i: nnet.cross_entropy(x, i, "none", 0.1),
    lambda x, i: _like(x, -0.9 * _at(sps.log_softmax(x.astype("float64"), -1), i) - 0.1 * sps.log_softmax(x.astype("float64"), -1).mean(-1)),
    _scores(), dtypes=FLOATING, **{**LABELLED, **CLOSE, "ranks": (2, 3)})  # fmt: skip
row("nnet.crossentropy_categorical_1hot", nnet.crossentropy_categorical_1hot, lambda p, i: _like(p, -np.log(_at(p.astype("float64"), i))),
    _scores(), dtypes=FLOATING, **{**LABELLED, **CLOSE})  # fmt: skip


def _softmaxes(x, i, b=0.0, extra=""):
    s = x.astype("float64") + b
    p = sps.softmax(s, -1)
    more = {"": [], "argmax": [np.argmax(s, -1)], "both": [_like(x, p.max(-1)), np.argmax(s, -1)]}[extra]
    return [_like(x, -_at(sps.log_softmax(s, -1), i)), _like(x, p), *more]


for name, bias, extra in [("crossentropy_softmax_1hot", False, ""), ("crossentropy_softmax_1hot_with_bias", True, ""),
                          ("crossentropy_softmax_argmax_1hot_with_bias", True, "argmax"),
                          ("crossentropy_softmax_max_and_argmax_1hot", False, "both")]:  # fmt: skip
    row(f"nnet.{name}", getattr(nnet, name),
        (lambda x, b, i, e=extra: _softmaxes(x, i, b.astype("float64"), e)) if bias else (lambda x, i, e=extra: _softmaxes(x, i, extra=e)),
        _scores(bias), dtypes=FLOATING if not extra else FLOATING[2:], **{**LABELLED, **CLOSE})  # fmt: skip


def _confused(a, b):
    values = np.unique(np.concatenate([a, b]))
    counts = [[np.sum((a == v) & (b == w)) for w in values] for v in values]
    return [np.array(counts, "int64").reshape(len(values), len(values)), values]


def _two_of_a_length(c):
    c.x(0, 3, special=False)
    c.x(0, 3, shape=c.shape(), special=False)


row("nnet.confusion_matrix", nnet.confusion_matrix, _confused, _two_of_a_length, ranks=(1,), dtypes=INTEGERS, special=False, smooth=False)


def _levels(c):
    """Rows of features, weights and biases of two classes, and of four outputs for each of them."""
    c.x(special=False)
    n = c.shape()[-1]
    for shape in [(n, 2), (2,), (2, n, 4), (2, 4)]:
        c.x(shape=shape, special=False)


def _in_levels(x, W1, b1, W2, b2):
    x64, W1, b1, W2, b2 = (np.asarray(a).astype("float64") for a in (x, W1, b1, W2, b2))
    within = sps.softmax(np.einsum("ij,kjl->ikl", x64, W2) + b2, -1)
    return _like(x, (sps.softmax(x64 @ W1 + b1, -1)[:, :, None] * within).reshape(len(x), 8)[:, :7])


row("nnet.h_softmax", lambda x, *given: nnet.h_softmax(x, x.shape[0], 7, 2, 4, *given), _in_levels, _levels,
    ranks=(2,), dtypes=("float32", "float64"), special=False, **CLOSE)  # fmt: skip


# ---------------------------------------------------------------------- normalization
def _parameters(given):
    """An array, and numbers for each place of its last dimension: a scale, a shift and what else is given."""

    def draw(c):
        shape = c.at_least(1, may_be_empty=False).shape()  # nothing has no mean
        c.x(special=False)
        for low, high in given:
            c.x(low, high, shape=shape[1:], special=False)

    return draw


def _normalized(x, gamma, beta, mean, var):
    return _like(x, (x - mean) / np.sqrt(var + 1e-4) * gamma + beta)


def _by_the_batch(x, gamma, beta):
    x64 = x.astype("float64")
    return _like(x, (x64 - x64.mean(0)) / np.sqrt(x64.var(0) + 1e-4) * gamma + beta)


BATCHES = {"dtypes": ("float32", "float64"), "ranks": (2, 3), "scaled": True, "loose": 60, "special": False}
row("nnet.batch_normalization_train", lambda x, g, b: nnet.batch_normalization_train(x, g, b)[0], _by_the_batch,
    _parameters([(0.5, 2), (-1, 1)]), **BATCHES)  # fmt: skip
row("nnet.batch_normalization_test", nnet.batch_normalization_test, _normalized,
    _parameters([(0.5, 2), (-1, 1), (-1, 1), (0.5, 2)]), **BATCHES)  # fmt: skip
row("nnet.batch_normalization", nnet.batch_normalization, lambda x, g, b, m, s: _like(x, (x - m) * (g / s) + b),
    _parameters([(0.5, 2), (-1, 1), (-1, 1), (0.5, 2)]), **BATCHES)  # fmt: skip


def _neighbours(x, n):
    squares = np.pad(x.astype("float64") ** 2, [(0, 0), (n // 2, n // 2)] + [(0, 0)] * (x.ndim - 2))
    return _like(x, x / (2 + 1e-4 * sum(squares[:, i : i + x.shape[1]] for i in range(n))) ** 0.75)


def _some_channels(c):
    c.at_least(1, may_be_empty=False).x(special=False)
    return {"n": c.pick(1, 3, 4, 5)}


row("nnet.local_response_normalization", nnet.local_response_normalization, _neighbours, _some_channels,
    **{**BATCHES, "ranks": (2, 3, 4)})  # fmt: skip


# ---------------------------------------------------------------------- convolutions
CONV = {"scaled": True, "loose": 60, "special": False}
CONV_DTYPES = ("int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64")


def _images(c, spatial):
    """Images and filters of a 1, 2 or 3-d convolution."""
    c.longest = 3
    sizes = [c.structure.randint(1, 3) for _ in range(spatial)]
    batch, channels = c.n("batch"), c.pick(1, 2)
    image = tuple(c.n(("image", k)) + 3 for k in range(spatial))
    c.x(shape=(batch, channels, *image), known=(None, channels, *(None,) * spatial), special=False)
    filters = c.pick(1, 3)
    c.x(shape=(filters, channels, *sizes), known=(filters, channels, *sizes), special=False)
    stride = tuple(c.structure.randint(1, 2) for _ in range(spatial))
    mode = c.pick("valid", "full", "half", tuple(c.structure.randint(0, 2) for _ in range(spatial)))
    return {"border_mode": mode, "subsample": stride, "filter_flip": c.flip(0.7)}


def _padding(mode, filters):
    return [(k - 1, k - 1) if mode == "full" else (k // 2, k // 2) if mode == "half" else (0, 0) if mode == "valid" else (mode[i],) * 2
            for i, k in enumerate(filters.shape[2:])]  # fmt: skip


def _convolution(x, w, border_mode, subsample, filter_flip):
    """Window by window."""
    spatial = x.ndim - 2
    if filter_flip:
        w = w[(slice(None), slice(None), *[slice(None, None, -1)] * spatial)]
    x = np.pad(x, [(0, 0), (0, 0), *_padding(border_mode, w)])
    out = [(n - k) // s + 1 for n, k, s in zip(x.shape[2:], w.shape[2:], subsample)]
    made = np.zeros((x.shape[0], w.shape[0], *out), np.result_type(x, w))
    for at in itertools.product(*map(range, out)):
        window = x[(slice(None), slice(None), *[slice(i * s, i * s + k) for i, s, k in zip(at, subsample, w.shape[2:])])]
        made[(slice(None), slice(None), *at)] = np.tensordot(window, w, (list(range(1, spatial + 2)), list(range(1, spatial + 2))))
    return made


def _conv1d(c):
    params = _images(c, 1)
    mode = params["border_mode"]
    return {**params, "subsample": params["subsample"][0], "border_mode": mode[0] if isinstance(mode, tuple) else mode}


def _convolution_1d(x, w, border_mode, subsample, filter_flip):
    mode = (border_mode,) if isinstance(border_mode, int) else border_mode
    return _convolution(x, w, mode, (subsample,), filter_flip)


row("nnet.conv1d", nnet.conv1d, _convolution_1d, _conv1d, ranks=(3,), dtypes=CONV_DTYPES, **CONV)
row("nnet.conv2d", nnet.conv2d, _convolution, lambda c: _images(c, 2), ranks=(4,), dtypes=CONV_DTYPES, **CONV)
row("nnet.conv3d", nnet.conv3d, _convolution, lambda c: _images(c, 3), ranks=(4,), dtypes=("float32", "float64", "int32"), **CONV)


def _transposed(c):
    c.longest = 3
    stride, k = c.pick(1, 2), c.structure.randint(1, 3)
    n = c.structure.randint(1, 3)
    c.x(shape=(2, 3, n, n), known=(2, 3, n, n), special=False)
    c.x(shape=(3, 2, k, k), known=(3, 2, k, k), special=False)
    return {"n": (n - 1) * stride + k, "stride": stride}


def _scattered(y, w, n, stride):
    """Each element of y adds its filter, flipped as a convolution of it would have been."""
    made = np.zeros((y.shape[0], w.shape[1], n, n), np.result_type(y, w))
    flipped = w[:, :, ::-1, ::-1]
    for i, j in itertools.product(range(y.shape[2]), range(y.shape[3])):
        part = np.einsum("bo,ocij->bcij", y[:, :, i, j], flipped)
        made[:, :, i * stride : i * stride + w.shape[2], j * stride : j * stride + w.shape[3]] += part
    return made


ONE_SHAPE = {"ranks": (4,), "dtypes": ("float32", "float64", "int32"), **CONV}
row("nnet.conv2d_transpose", lambda y, w, n, stride: nnet.conv2d_transpose(y, w, (2, 2, n, n), input_dilation=(stride, stride)),
    _scattered, _transposed, **ONE_SHAPE)  # fmt: skip
row("nnet.conv2d_grad_wrt_inputs", lambda y, w, n, stride: nnet.conv2d_grad_wrt_inputs(y, w, (2, 2, n, n), subsample=(stride, stride)),
    _scattered, _transposed, **ONE_SHAPE)  # fmt: skip


def _for_weights(c):
    n, k, stride = c.structure.randint(3, 5), c.structure.randint(1, 3), c.pick(1, 2)
    m = (n - k) // stride + 1
    c.x(shape=(2, 3, n, n), known=(2, 3, n, n), special=False)
    c.x(shape=(2, 4, m, m), known=(2, 4, m, m), special=False)
    return {"k": k, "stride": stride}


def _correlated(x, g, k, stride):
    made = np.zeros((g.shape[1], x.shape[1], k, k), np.result_type(x, g))
    for i, j in itertools.product(range(g.shape[2]), range(g.shape[3])):
        window = x[:, :, i * stride : i * stride + k, j * stride : j * stride + k]
        made += np.einsum("bo,bcij->ocij", g[:, :, i, j], window)
    return made[:, :, ::-1, ::-1]


row("nnet.conv2d_grad_wrt_weights", lambda x, g, k, stride: nnet.conv2d_grad_wrt_weights(x, g, (4, 3, k, k), subsample=(stride, stride)),
    _correlated, _for_weights, **ONE_SHAPE)  # fmt: skip


# ---------------------------------------------------------------------- pooling
def _pooled(spatial):
    def draw(c):
        shape = tuple(c.n(k) for k in range(max(c.rank - spatial, 0))) + tuple(c.n(("image", k)) + 3 for k in range(spatial))
        c.x(shape=shape, special=False)
        ws = tuple(c.structure.randint(1, 3) for _ in range(spatial))
        stride = tuple(c.structure.randint(1, 3) for _ in range(spatial))
        pad = tuple(c.structure.randint(0, w - 1) for w in ws)
        mode = c.pick("max", "sum", "average_inc_pad", "average_exc_pad")
        return {"ws": ws, "stride": stride, "pad": pad, "mode": mode, "ignore_border": True}

    return draw


def _pooling(x, ws, stride, pad, mode, ignore_border):
    """Window by window; what pads is no number for max, 0 for sums."""
    spatial, front = len(ws), x.ndim - len(ws)
    widths = [(0, 0)] * front + [(p, p) for p in pad]
    fill = (-np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min) if mode == "max" else 0
    inside = np.pad(np.ones(x.shape, bool), widths)
    x = np.pad(x, widths, constant_values=fill)
    out = [(n - w) // s + 1 for n, w, s in zip(x.shape[front:], ws, stride)]
    parts = []
    for at in itertools.product(*map(range, out)):
        where = (Ellipsis, *[slice(i * s, i * s + w) for i, s, w in zip(at, stride, ws)])
        axes = tuple(range(front, front + spatial))
        if mode == "max":
            parts.append(x[where].max(axis=axes))
        else:
            count = {"sum": 1, "average_inc_pad": math.prod(ws), "average_exc_pad": inside[where].sum(axis=axes)}[mode]
            total = x[where].sum(axis=axes)
            parts.append(total if mode == "sum" else total / count)
    stacked = np.stack(parts, -1) if parts else np.zeros((*x.shape[:front], 0))
    return stacked.reshape(*x.shape[:front], *out).astype(x.dtype)


for name, spatial, ranks in [("pool_2d", 2, (2, 3, 4)), ("pool_3d", 3, (3, 4))]:
    row(f"signal.{name}", getattr(T.signal, name), _pooling, _pooled(spatial), ranks=ranks, dtypes=("float32", "float64", "float16"), **CONV)
