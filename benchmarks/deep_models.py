"""Whole models written once for every library: layers are functions of a `Net`, which hands out weights and operations.

A model is `model(net, x, **sizes)` and returns a number, its loss. Weights are small: what is of interest is the
number of layers. Libraries differ in five operations only (see `Operations`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.random


class Operations(NamedTuple):
    """What libraries spell differently. `lib` is a module in the manner of NumPy."""

    lib: Any
    relu: Callable
    conv: Callable  # (x, w, stride, pad): images by channels first, filters not turned round
    max_pool: Callable  # (x, size, stride, pad)
    mean: Callable  # (x, axes, keep)
    softmax: Callable  # over the last axis
    scan: Callable  # (step, sequence, start) -> outputs of all steps; step(x, h, c) -> h, c
    join: Callable  # (list, axis)
    repeat: Callable  # (x): each row and column of images twice


class Net:
    """Hands out weights in the order they are asked for: new ones, or those that are given."""

    def __init__(self, ops: Operations, own: Callable[[np.ndarray], Any], given: Sequence[Any] | None = None) -> None:
        self.ops, self.own = ops, own
        self.given = iter(given) if given is not None else None
        self.weights: list[Any] = []
        self.rng = np.random.default_rng(1)

    def weight(self, *shape: int, value: float | None = None) -> Any:
        """The next weight: a constant, or random numbers scaled for the number of inputs."""
        if self.given is not None:
            return next(self.given)
        inputs = int(np.prod(shape[1:])) if len(shape) == 4 else shape[0]
        start = self.rng.standard_normal(shape) / np.sqrt(inputs) if value is None else np.full(shape, value)
        self.weights.append(self.own(start.astype("float32")))
        return self.weights[-1]

    # ------------------------------------------------------------------ layers
    def dense(self, x: Any, n: int, m: int) -> Any:
        return x @ self.weight(n, m) + self.weight(m, value=0)

    def batch_norm(self, x: Any, channels: int, axes: tuple = (0,)) -> Any:
        fit = lambda w: w[None, :, None, None] if len(axes) == 3 else w  # noqa: E731
        mean = self.ops.mean(x, axes, True)
        away = x - mean
        spread = self.ops.mean(away * away, axes, True)
        scaled = away / self.ops.lib.sqrt(spread + 1e-5)
        return scaled * fit(self.weight(channels, value=1)) + fit(self.weight(channels, value=0))

    def layer_norm(self, x: Any, n: int) -> Any:
        away = x - self.ops.mean(x, (-1,), True)
        spread = self.ops.mean(away * away, (-1,), True)
        return away / self.ops.lib.sqrt(spread + 1e-5) * self.weight(n, value=1) + self.weight(n, value=0)

    def conv(self, x: Any, n: int, m: int, size: int = 3, stride: int = 1, pad: int | None = None) -> Any:
        return self.ops.conv(x, self.weight(m, n, size, size), stride, size // 2 if pad is None else pad)

    def conv_bn(self, x: Any, n: int, m: int, size: int = 3, stride: int = 1) -> Any:
        return self.batch_norm(self.conv(x, n, m, size, stride), m, (0, 2, 3))


# ---------------------------------------------------------------------- layers side by side or one after the other
def mlp(net: Net, x: Any, layers: int, width: int) -> Any:
    for _ in range(layers):
        x = net.ops.lib.tanh(net.dense(x, width, width))
    return (x * x).mean()


def residual_mlp(net: Net, x: Any, layers: int, width: int) -> Any:
    """x + relu(batch norm(dense(x)))."""
    for _ in range(layers):
        x = x + net.ops.relu(net.batch_norm(net.dense(x, width, width), width))
    return (x * x).mean()


def growing_mlp(net: Net, x: Any, layers: int, width: int) -> Any:
    """The same with layers that all differ: each is wider than the one before."""
    for k in range(layers):
        x = net.ops.relu(net.batch_norm(net.dense(x, width + k, width + k + 1), width + k + 1))
    return (x * x).mean()


def residual_blocks(net: Net, x: Any, layers: int, width: int) -> Any:
    """conv, batch norm, relu, conv, batch norm, and the input added."""
    x = net.conv_bn(x, 3, width)
    for _ in range(layers):
        y = net.ops.relu(net.conv_bn(x, width, width))
        x = net.ops.relu(net.conv_bn(y, width, width) + x)
    return (x * x).mean()


def resnet(net: Net, x: Any, blocks: Sequence[int], width: int, deep: bool) -> Any:
    """ResNet-18, -34 and -50 by their numbers of blocks; `deep`: three convolutions a block instead of two."""
    relu = net.ops.relu
    x = net.ops.max_pool(relu(net.conv_bn(x, 3, width, 7, 2)), 3, 2, 1)
    n = width
    for stage, count in enumerate(blocks):
        m = width * 2**stage
        out = 4 * m if deep else m
        for k in range(count):
            stride = 2 if stage and not k else 1
            if deep:
                y = relu(net.conv_bn(x, n, m, 1))
                y = net.conv_bn(relu(net.conv_bn(y, m, m, 3, stride)), m, out, 1)
            else:
                y = net.conv_bn(relu(net.conv_bn(x, n, m, 3, stride)), m, m)
            if n != out or stride != 1:
                x = net.conv_bn(x, n, out, 1, stride)
            x, n = relu(x + y), out
    return (net.dense(net.ops.mean(x, (2, 3), False), n, 10) ** 2).mean()


def inception(net: Net, x: Any, n: int, w: int) -> Any:
    """One module: four branches side by side, each of w channels."""
    relu, conv = net.ops.relu, net.conv
    a = relu(conv(x, n, w, 1))
    b = relu(conv(relu(conv(x, n, w, 1)), w, w, 3))
    c = relu(conv(relu(conv(x, n, w, 1)), w, w, 5))
    d = relu(conv(net.ops.max_pool(x, 3, 1, 1), n, w, 1))
    return net.ops.join([a, b, c, d], 1)


def googlenet(net: Net, x: Any, modules: int, width: int) -> Any:
    """A first convolution, then modules with a pooling layer after every third."""
    x, n = net.ops.relu(net.conv(x, 3, width, 3)), width
    for k in range(modules):
        x, n = inception(net, x, n, width), 4 * width
        if k % 3 == 1 and k < modules - 1:
            x = net.ops.max_pool(x, 3, 2, 1)
    return (net.dense(net.ops.mean(x, (2, 3), False), n, 10) ** 2).mean()


def joins(net: Net, x: Any, layers: int, width: int) -> Any:
    """Dense layers of two halves that are joined."""
    for _ in range(layers):
        x = net.ops.join([net.ops.lib.tanh(net.dense(x, width, width // 2)), net.ops.relu(x[:, : width // 2])], 1)
    return (x * x).mean()


def transformer(net: Net, x: Any, layers: int, width: int, heads: int = 2) -> Any:
    """Blocks of attention and a dense net, each added to the stream behind a layer norm."""
    (batch, steps), size = x.shape[:2], width // heads
    apart = lambda v: v.reshape((batch, steps, heads, size)).transpose(0, 2, 1, 3)  # noqa: E731
    for _ in range(layers):
        h = net.layer_norm(x, width)
        q, k, v = (apart(h @ net.weight(width, width)) for _ in range(3))
        weights = net.ops.softmax(q @ k.transpose(0, 1, 3, 2) / size**0.5)
        x = x + (weights @ v).transpose(0, 2, 1, 3).reshape((batch, steps, width)) @ net.weight(width, width)
        h = net.layer_norm(x, width)
        x = x + net.dense(net.ops.relu(net.dense(h, width, 4 * width)), 4 * width, width)
    return (x * x).mean()


def stacked_lstm(net: Net, x: Any, layers: int, width: int) -> Any:
    """Recurrent layers one above the other; x is steps, batch, width."""
    lib, batch = net.ops.lib, 4
    start = np.zeros((batch, width), "float32")
    for _ in range(layers):
        w, u, b = net.weight(width, 4 * width), net.weight(width, 4 * width), net.weight(4 * width, value=0)

        def step(x: Any, h: Any, c: Any, w: Any = w, u: Any = u, b: Any = b) -> tuple:
            z = x @ w + h @ u + b
            i, f, g, o = (z[:, k * width : (k + 1) * width] for k in range(4))
            sigmoid = lambda v: 1 / (1 + lib.exp(-v))  # noqa: E731
            c = sigmoid(f) * c + sigmoid(i) * lib.tanh(g)
            return sigmoid(o) * lib.tanh(c), c

        x = net.ops.scan(step, x, (start, start), (w, u, b))
    return (x * x).mean()


def u_net(net: Net, x: Any, layers: int, width: int) -> Any:
    """Down by pooling, up by repeating, with what was there on the way down joined on the way up."""
    relu = net.ops.relu
    x, n, kept = relu(net.conv_bn(x, 3, width)), width, []
    for _ in range(layers):
        kept.append((x, n))
        x, n = relu(net.conv_bn(net.ops.max_pool(x, 2, 2, 0), n, 2 * n)), 2 * n
    for below, m in reversed(kept):
        x = net.ops.join([net.ops.repeat(x), below], 1)
        x, n = relu(net.conv_bn(x, n + m, m)), m
    return (net.conv(x, n, 1, 1) ** 2).mean()


def likelihood(net: Net, x: Any, terms: int) -> Any:
    """A sum of many small terms over slices of one vector of parameters, as a hierarchy in PyMC gives."""
    lib = net.ops.lib
    theta, total = net.weight(terms, value=0.5), 0.0
    for k in range(terms):
        mu, y = theta[k], x[k % 7]
        if k % 3 == 0:
            term = -0.5 * ((y - mu) ** 2).sum()
        elif k % 3 == 1:
            term = -lib.log(1 + ((y - mu) / 2) ** 2).sum()
        else:
            term = mu * 1.5 - lib.exp(mu) * (1 + k / terms)
        total = total + term
    return -total


# ---------------------------------------------------------------------- cases
class Model(NamedTuple):
    """A model with its sizes and the shape of its input."""

    build: Callable
    shape: tuple[int, ...]
    sizes: dict[str, Any]


IMAGES = (2, 3, 32, 32)


def models() -> dict[str, Model]:
    """By name: all cases."""
    out = {}
    for n in (4, 16, 64):
        out[f"residual MLP {n}"] = Model(residual_mlp, (16, 32), {"layers": n, "width": 32})
        out[f"growing MLP {n}"] = Model(growing_mlp, (16, 32), {"layers": n, "width": 32})
    for n in (3, 60, 1000):
        out[f"MLP {n}"] = Model(mlp, (16, 32), {"layers": n, "width": 32})
    for n in (1, 2, 4, 8, 16, 64):
        out[f"residual blocks {n}"] = Model(residual_blocks, (2, 3, 8, 8), {"layers": n, "width": 8})
    for name, blocks, deep in ((18, (2, 2, 2, 2), False), (34, (3, 4, 6, 3), False), (50, (3, 4, 6, 3), True)):
        out[f"ResNet-{name}"] = Model(resnet, IMAGES, {"blocks": blocks, "width": 8, "deep": deep})
    for n in (1, 2, 3, 9):
        out["GoogLeNet" if n == 9 else f"inception {n}"] = Model(googlenet, IMAGES, {"modules": n, "width": 8})
    for n in (10, 300):
        out[f"joins {n}"] = Model(joins, (8, 16), {"layers": n, "width": 16})
    for n in (2, 6, 12, 24):
        out[f"transformer {n}"] = Model(transformer, (2, 8, 32), {"layers": n, "width": 32})
    for n in (1, 3):
        out[f"LSTM {n}"] = Model(stacked_lstm, (10, 4, 16), {"layers": n, "width": 16})
    out["U-Net"] = Model(u_net, IMAGES, {"layers": 3, "width": 8})
    out["likelihood 2000"] = Model(likelihood, (7, 20), {"terms": 2000})
    return out | wide()


def wide() -> dict[str, Model]:
    """Of widths at which a step's arrays are most of its memory."""
    return {
        "wide MLP 20": Model(mlp, (2048, 256), {"layers": 20, "width": 256}),
        "wide residual MLP 16": Model(residual_mlp, (2048, 256), {"layers": 16, "width": 256}),
        "wide ResNet-18": Model(resnet, (32, 3, 64, 64), {"blocks": (2, 2, 2, 2), "width": 16, "deep": False}),
        "wide GoogLeNet": Model(googlenet, (16, 3, 32, 32), {"modules": 9, "width": 16}),
        "wide transformer 6": Model(transformer, (8, 128, 128), {"layers": 6, "width": 128, "heads": 4}),
        "wide U-Net": Model(u_net, (16, 3, 64, 64), {"layers": 3, "width": 16}),
    }


def data(model: Model) -> np.ndarray:
    """The input."""
    return np.random.default_rng(2).standard_normal(model.shape).astype("float32")
