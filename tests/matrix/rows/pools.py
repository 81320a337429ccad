"""Rows of pools with PyTorch's names and of attention: window by window, query by query, in plain NumPy."""

import itertools

import numpy as np
import scipy.special as sps

import termgraph.tensor as T

from ..table import row
from .layers import loss
from .networks import CLOSE, _like, activation, in_double, nnet

WIDE = ("float32", "float64")
POOLS = {"dtypes": WIDE, "special": False, **CLOSE}


def _images(c, spatial, low=-3, high=3):
    shape = (*[c.n(k) for k in range(c.rank - spatial)], *[c.n(("image", k)) + 3 for k in range(spatial)])
    c.x(low, high, shape=shape, special=False)


def _drawn(spatial, dilated=True, padded=True, low=-3):
    def draw(c):
        _images(c, spatial, low)
        sizes = tuple(c.structure.randint(1, 3) for _ in range(spatial))
        return {
            "kernel_size": sizes, "stride": tuple(c.structure.randint(1, 3) for _ in sizes), "ceil_mode": c.flip(),
            **({"padding": tuple(c.structure.randint(0, k // 2) for k in sizes)} if padded else {}),
            **({"dilation": tuple(c.structure.randint(1, 2) if k < 3 else 1 for k in sizes)} if dilated and c.flip() else {}),
        }  # fmt: skip

    return draw


def _windows(x, kernel_size, stride, ceil_mode=False, padding=None, dilation=None):
    """(place of the window, the windows' elements and their places in the image, how many count with zeros around)."""
    spatial = len(kernel_size)
    padding, dilation = padding or (0,) * spatial, dilation or (1,) * spatial
    lines = []
    for n, k, s, p, a in zip(x.shape[x.ndim - spatial :], kernel_size, stride, padding, dilation):
        reach, line = (k - 1) * a + 1, []
        for start in range(-p, n + p, s):
            if start + reach > n + p and not (ceil_mode and start < n and start - s + reach < n + p):
                break
            all_of = [start + a * t for t in range(k)]
            line.append(([i for i in all_of if 0 <= i < n], sum(i < n + p for i in all_of)))
        lines.append(line)
    return [len(line) for line in lines], lines


def _each(x, of, spatial, **how):
    """`of(elements, places, how many)` for each window; elements lie along the last axis."""
    shape, lines = _windows(x, **how)
    inner = x.shape[x.ndim - spatial :]
    front = x.shape[: x.ndim - spatial]
    results = []
    for at in itertools.product(*map(range, shape)):
        chosen = [line[i] for line, i in zip(lines, at)]
        places = np.ravel_multi_index(np.meshgrid(*[c[0] for c in chosen], indexing="ij"), inner).ravel()
        results.append(of(x.reshape(*front, -1)[..., places], places, np.prod([c[1] for c in chosen])))
    count = len(results[0]) if results and isinstance(results[0], tuple) else None
    if count is None:
        return np.stack(results, -1).reshape(*front, *shape)
    return [np.stack([r[k] for r in results], -1).reshape(*front, *shape) for k in range(count)]


def _largest(v, places, _):
    return v.max(-1), places[v.argmax(-1)]


for n in (1, 2, 3):
    ranks = (n + 1, n + 2)
    maximum, average, norm = (getattr(nnet, f"{kind}_pool{n}d") for kind in ("max", "avg", "lp"))
    row(f"nnet.max_pool{n}d", lambda x, f=maximum, **how: f(x, return_indices=True, **how),
        lambda x, n=n, **how: _each(x, _largest, n, **how), _drawn(n), ranks=ranks, **POOLS)  # fmt: skip
    row(f"nnet.avg_pool{n}d", average, lambda x, n=n, **how: _like(x, _each(x.astype("float64"), lambda v, _, all_of: v.sum(-1) / all_of, n, **how)),
        _drawn(n, dilated=False), ranks=ranks, **POOLS)  # fmt: skip
    row(f"nnet.avg_pool{n}d (elements)", lambda x, f=average, **how: f(x, count_include_pad=False, **how),
        lambda x, n=n, **how: _like(x, _each(x.astype("float64"), lambda v, *_: v.mean(-1), n, **how)),
        _drawn(n, dilated=False), ranks=ranks, **POOLS)  # fmt: skip
    row(f"nnet.lp_pool{n}d", lambda x, f=norm, **how: f(x, 3, **how),
        lambda x, n=n, **how: _like(x, _each(x.astype("float64"), lambda v, _, all_of, k=how["kernel_size"]: ((v**3).sum(-1) * np.prod(k) / all_of) ** (1 / 3), n, **how)),
        _drawn(n, dilated=False, padded=False, low=0.1), ranks=ranks, **POOLS)  # fmt: skip


def _maxima(spatial):
    def draw(c):
        c.longest = 3
        sizes = [c.n(k) for k in range(c.rank)]
        c.x(shape=sizes, special=False)
        inner = [2 * m for m in sizes[c.rank - spatial :]]
        corners = np.meshgrid(*[np.arange(0, m, 2) for m in inner], indexing="ij")
        starts = np.ravel_multi_index(corners, inner) if all(inner) else 0
        c.given(starts + c.values.integers(0, 2, sizes))

    return draw


def _put_back(x, places, n):
    front, inner = x.shape[: x.ndim - n], [2 * m for m in x.shape[x.ndim - n :]]
    made = np.zeros((*front, int(np.prod(inner))), x.dtype)
    np.put_along_axis(made, places.reshape(*front, int(np.prod(x.shape[x.ndim - n :]))), x.reshape(*front, int(np.prod(x.shape[x.ndim - n :]))), -1)
    return made.reshape(*front, *inner)


for n in (1, 2, 3):
    row(f"nnet.max_unpool{n}d", lambda x, i, f=getattr(nnet, f"max_unpool{n}d"): f(x, i, 2), lambda x, i, n=n: _put_back(x, i, n),
        _maxima(n), ranks=(n + 1, n + 2), dtypes=("int32", *WIDE), special=False)  # fmt: skip


def _with_samples(spatial):
    def draw(c):
        c.may_be_empty = False
        _images(c, spatial)
        c.x(0.01, 0.99, shape=(c.n(0), c.n(1), spatial), dtype="float64", special=False)
        return {"kernel_size": c.structure.randint(1, 2), "output_size": c.structure.randint(1, 3)}

    return draw


def _fractions(x, u, kernel_size, output_size):
    spatial, k, m = u.shape[-1], kernel_size, output_size
    made = np.zeros((*x.shape[:2], *[m] * spatial), x.dtype)
    for b, f in np.ndindex(*x.shape[:2]):
        order = range(spatial)[::-1] if spatial == 2 else range(spatial)
        starts = []
        for d, e in enumerate(order):
            n, s = x.shape[2 + d], u[b, f, e]
            step = (n - k) / max(m - 1, 1)
            starts.append([int((i + s) * step) - int(s * step) for i in range(m - 1)] + [n - k])
        for at in np.ndindex(*[m] * spatial):
            made[(b, f, *at)] = x[(b, f, *[slice(line[i], line[i] + k) for line, i in zip(starts, at)])].max()
    return made


for n in (2, 3):
    row(f"nnet.fractional_max_pool{n}d", lambda x, u, f=getattr(nnet, f"fractional_max_pool{n}d"), **how: f(x, samples=u, **how), _fractions,
        _with_samples(n), ranks=(n + 2,), smooth=False, **POOLS)  # fmt: skip


# ---------------------------------------------------------------------- attention
def _attended(q, k, v, seen=True):
    scores = np.where(seen, q @ k.swapaxes(-1, -2) / np.sqrt(max(q.shape[-1], 1)), -np.inf)
    return sps.softmax(scores, -1) @ v


def _heads(x, w, number, heads):
    width = x.shape[-1]
    x = x @ w[number * width : (number + 1) * width].T
    return x.reshape(*x.shape[:2], heads, width // heads).transpose(1, 2, 0, 3)


def _of_heads(q, kv, w, out, causal):
    x = _attended(_heads(q, w, 0, 2), _heads(kv, w, 1, 2), _heads(kv, w, 2, 2), np.tri(len(q), len(kv), dtype=bool) | (not causal))
    return x.transpose(2, 0, 1, 3).reshape(q.shape) @ out.T


def _layer(c):
    c.may_be_empty = False
    for shape in ((c.n("queries"), c.n("batch"), 4), (c.n("keys"), c.n("batch"), 4), (12, 4), (4, 4)):
        c.x(-1, 1, shape=shape, special=False)
    return {"causal": c.flip()}


row("nnet.multi_head_attention_forward",
    lambda q, kv, w, out, causal: nnet.multi_head_attention_forward(q, kv, kv, 4, 2, w, None, None, None, False, 0.0, out, None, is_causal=causal)[0],
    in_double(_of_heads), _layer, ranks=(3,), **{**POOLS, "loose": 100})  # fmt: skip


def _jaxs(q, k, v, is_causal):
    k, v = (np.repeat(x, 2, axis=2) for x in (k, v))
    seen = np.tri(q.shape[1], k.shape[1], dtype=bool) | (not is_causal)
    return _attended(*[x.swapaxes(1, 2) for x in (q, k, v)], seen).swapaxes(1, 2)


def _grouped(c):
    c.may_be_empty = False
    for places, heads in (("queries", 4), ("keys", 2), ("keys", 2)):
        c.x(-1, 1, shape=(c.n("batch"), c.n(places), heads, 3), known=(None, None, heads, None), special=False)
    return {"is_causal": c.flip()}


row("nnet.dot_product_attention", nnet.dot_product_attention, in_double(_jaxs), _grouped, ranks=(4,), **{**POOLS, "loose": 40})


# ---------------------------------------------------------------------- activations and losses
activation("hardsigmoid", in_double(lambda x: np.clip((x + 3) / 6, 0, 1)))
activation("squareplus", in_double(lambda x: (x + np.sqrt(x * x + 4)) / 2), special=False)
activation("sparse_plus", in_double(lambda x: np.where(x > 1, x, (np.clip(x, -1, 1) + 1) ** 2 / 4)))
activation("sparse_sigmoid", in_double(lambda x: np.clip((x + 1) / 2, 0, 1)))


def _rows(c):
    c.at_least(1, may_be_empty=False).x(special=False)
    return {"axis": c.axis()}


activation("standardize", in_double(lambda x, axis: (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-5)), _rows,
           ranks=(1, 2, 3), special=False, loose=1e3)  # fmt: skip
activation("logmeanexp", in_double(lambda x, axis: sps.logsumexp(x, axis) - np.log(x.shape[axis])), _rows, ranks=(1, 2, 3), special=False)


def _chances(c):
    c.x(0.05, 0.95, special=False)
    c.x(0, 1, special=False)


loss("binary_cross_entropy", lambda p, t: -(t * np.log(p) + (1 - t) * np.log1p(-p)), _chances)
loss("binary_cross_entropy_with_logits", lambda x, t: t * np.logaddexp(0, -x) + (1 - t) * np.logaddexp(0, x), _chances)
loss("triplet_margin_with_distance_loss", lambda a, p, q: np.maximum(abs(a - p).sum(-1) - abs(a - q).sum(-1) + 1, 0),
     lambda c: [c.x(-2, 2, special=False) for _ in range(3)] and None, distance_function=lambda a, b: abs(a - b).sum(axis=-1))  # fmt: skip


def _labelled(c):
    c.may_be_empty = False
    c.x(-2, 2, shape=(c.n("rows"), 4), special=False)
    c.given(c.values.integers(-1, 4, (c.n("rows"), 4)))


def _labels(x, target):
    made = np.zeros(len(x))
    for k, (line, labels) in enumerate(zip(x, target.astype(int))):
        labels = labels[: list(labels).index(-1)] if -1 in labels else labels
        made[k] = sum(max(0, 1 - line[j] + line[i]) for j in labels for i in range(4) if i not in labels) / 4
    return made


row("nnet.multilabel_margin_loss", lambda x, t: nnet.multilabel_margin_loss(x, t, "none"), in_double(_labels), _labelled, ranks=(2,), smooth=False,
    **POOLS)  # fmt: skip


# ---------------------------------------------------------------------- folds of any windows
def _any_windows(c):
    c.at_least(3, may_be_empty=False).x(-3, 3, special=False)
    return {"sizes": tuple(c.structure.randint(1, 3) for _ in range(c.rank)),
            "steps": tuple(c.structure.randint(1, 3) for _ in range(c.rank)), "more": c.structure.randint(0, 1)}  # fmt: skip


def _each_window(x, sizes, steps, more):
    wide = np.pad(x.astype("float64"), more, constant_values=1)
    found = np.lib.stride_tricks.sliding_window_view(wide, sizes)[tuple(slice(None, None, s) for s in steps)]
    return found.prod(tuple(range(x.ndim, 2 * x.ndim))).astype(x.dtype)


row("nnet.reduce_window", lambda x, sizes, steps, more: T.nnet.reduce_window(x, 1.0, T.mul, sizes, steps, [(more, more)] * x.ndim),
    _each_window, _any_windows, ranks=(1, 2, 3), **POOLS)  # fmt: skip
