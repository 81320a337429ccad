"""Convolutional networks, forward and a training step: AlexNet, OverFeat, VGG-A, GoogLeNet, ResNets, in images/s.

Random images and labels in float32, softmax cross-entropy, plain SGD. The environment variable CONVNETS_BATCH is the
batch (default 2). The table of the Theano paper (arXiv:1605.02688) was measured on a GPU: its figures are no measure
for these.
"""

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from contenders import torch_arrays
from harness import Case, Statement, Suite, Target

RATE = np.float32(0.001)
BATCH = int(os.environ.get("CONVNETS_BATCH", "2"))
DENSE = [("dense", 4096), ("dense", 4096), ("dense", 1000)]
INCEPTION = [
    (64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64), None, (192, 96, 208, 16, 48, 64),
    (160, 112, 224, 24, 64, 64), (128, 128, 256, 24, 64, 64), (112, 144, 288, 32, 64, 64),
    (256, 160, 320, 32, 128, 128), None, (256, 160, 320, 32, 128, 128), (384, 192, 384, 48, 128, 128),
]  # fmt: skip


def vgg() -> list[tuple]:
    """Version A: eight convolutions."""
    out: list[tuple] = []
    for widths in ((64,), (128,), (256, 256), (512, 512), (512, 512)):
        out += [*[("conv", f, 3, 1, 1) for f in widths], ("pool", 2, 2, 0)]
    return out + DENSE


def resnet(kind: str, counts: tuple[int, ...]) -> list[tuple]:
    """So many blocks of each width, with batch normalization by the statistics of the batch."""
    blocks = []
    for stage, count in enumerate(counts):
        blocks += [(kind, 64 << stage, 2 if stage and not number else 1) for number in range(count)]
    return [("normed", 64, 7, 2, 3), ("pool", 3, 2, 1), *blocks, ("average",), ("dense", 1000)]


NETS: dict[str, tuple[int, list[tuple]]] = {
    "AlexNet": (224, [
        ("conv", 64, 11, 4, 2), ("pool", 3, 2, 0), ("conv", 192, 5, 1, 2), ("pool", 3, 2, 0), ("conv", 384, 3, 1, 1),
        ("conv", 256, 3, 1, 1), ("conv", 256, 3, 1, 1), ("pool", 3, 2, 0), *DENSE,
    ]),
    "OverFeat": (231, [
        ("conv", 96, 11, 4, 0), ("pool", 2, 2, 0), ("conv", 256, 5, 1, 0), ("pool", 2, 2, 0), ("conv", 512, 3, 1, 1),
        ("conv", 1024, 3, 1, 1), ("conv", 1024, 3, 1, 1), ("pool", 2, 2, 0), ("dense", 3072), *DENSE[1:],
    ]),
    "VGG-A": (224, vgg()),
    "GoogLeNet": (224, [
        ("conv", 64, 7, 2, 3), ("pool", 3, 2, 1), ("conv", 64, 1, 1, 0), ("conv", 192, 3, 1, 1), ("pool", 3, 2, 1),
        *[("pool", 3, 2, 1) if widths is None else ("inception", *widths) for widths in INCEPTION],
        ("average",), ("dense", 1000),
    ]),
    "ResNet-18": (224, resnet("block", (2, 2, 2, 2))),
    "ResNet-50": (224, resnet("neck", (3, 4, 6, 3))),
}  # fmt: skip


# ---------------------------------------------------------------------- a net in any library
def run(lib: Any, layers: list[tuple], x: Any, w: Iterator) -> Any:
    """The logits. `lib` has conv, relu, pool, average, dense, join and norm; `w` gives the weights in order."""

    def conv(x: Any, f: int, k: int, s: int, p: int) -> Any:
        return lib.relu(lib.conv(x, next(w), f, k, s, p, next(w)))

    def normed(x: Any, f: int, k: int, s: int, p: int) -> Any:
        return lib.norm(lib.conv(x, next(w), f, k, s, p, None), next(w), next(w), f)

    for number, (kind, *sizes) in enumerate(layers):
        if kind == "conv":
            x = conv(x, *sizes)
        elif kind == "normed":
            x = lib.relu(normed(x, *sizes))
        elif kind == "pool":
            x = lib.pool(x, *sizes)
        elif kind == "average":
            x = lib.average(x)
        elif kind == "dense":
            x = lib.dense(x, next(w), next(w), sizes[0])
            x = x if number == len(layers) - 1 else lib.relu(x)
        elif kind == "block":
            f, s = sizes
            short = normed(x, f, 1, s, 0) if s > 1 or lib.channels(x) != f else x
            x = lib.relu(normed(lib.relu(normed(x, f, 3, s, 1)), f, 3, 1, 1) + short)
        elif kind == "neck":
            f, s = sizes
            short = normed(x, 4 * f, 1, s, 0) if s > 1 or lib.channels(x) != 4 * f else x
            narrow = lib.relu(normed(lib.relu(normed(x, f, 1, 1, 0)), f, 3, s, 1))
            x = lib.relu(normed(narrow, 4 * f, 1, 1, 0) + short)
        else:
            a, b1, b, c1, c, d = sizes
            x = lib.join([
                conv(x, a, 1, 1, 0), conv(conv(x, b1, 1, 1, 0), b, 3, 1, 1), conv(conv(x, c1, 1, 1, 0), c, 5, 1, 2),
                conv(lib.pool(x, 3, 1, 1), d, 1, 1, 0),
            ])  # fmt: skip
    return x


class Shape(tuple):
    """(channels, rows, columns), or (features,)."""

    def __add__(self, other: Any) -> "Shape":
        return self


class Shapes:
    """The library that computes shapes: it lists those of all weights."""

    def __init__(self) -> None:
        self.found: list[tuple] = []

    def weights(self) -> Iterator:
        while True:
            self.found.append(())
            yield len(self.found) - 1

    def conv(self, x: Any, w: int, f: int, k: int, s: int, p: int, b: int | None) -> Shape:
        self.found[w] = (f, x[0], k, k)
        if b is not None:
            self.found[b] = (f,)
        return Shape((f, *[(n + 2 * p - k) // s + 1 for n in x[1:]]))

    def norm(self, x: Any, g: int, b: int, f: int) -> Any:
        self.found[g] = self.found[b] = (f,)
        return x

    def dense(self, x: Any, w: int, b: int, n: int) -> Shape:
        self.found[w], self.found[b] = (int(np.prod(x)), n), (n,)
        return Shape((n,))

    def relu(self, x: Any) -> Any:
        return x

    def channels(self, x: Any) -> int:
        return x[0]

    def pool(self, x: Any, k: int, s: int, p: int) -> Shape:
        return Shape((x[0], *[(n + 2 * p - k) // s + 1 for n in x[1:]]))

    def average(self, x: Any) -> Shape:
        return Shape(x[:1])

    def join(self, xs: list) -> Shape:
        return Shape((sum(x[0] for x in xs), *xs[0][1:]))


def narrowed(layers: list[tuple], by: int) -> list[tuple]:
    """The net with fewer channels."""

    def less(kind: str, sizes: list) -> tuple:
        if kind == "inception":
            return (kind, *[max(n // by, 1) for n in sizes])
        return (kind, *sizes) if kind in ("pool", "average") else (kind, max(sizes[0] // by, 1), *sizes[1:])

    return [less(kind, sizes) for kind, *sizes in layers]


def data(net: str, by: int) -> tuple[np.ndarray, np.ndarray, list[np.ndarray], list[tuple]]:
    """Images, labels, weights and layers."""
    size, layers = NETS[net]
    layers, shapes, rng = narrowed(layers, by), Shapes(), np.random.default_rng(1)
    run(shapes, layers, Shape((3, size, size)), shapes.weights())
    weights = []
    for shape in shapes.found:
        scale = np.sqrt(2 / np.prod(shape[1:] if len(shape) > 2 else shape[:1])) if len(shape) > 1 else 0.1
        weights.append((rng.standard_normal(shape) * scale).astype("float32"))
    images = rng.standard_normal((BATCH, 3, size, size)).astype("float32")
    return images, rng.integers(0, layers[-1][1], BATCH), weights, layers


def cases(quick: bool) -> list[Case]:
    by = 16 if quick else 1
    return [
        Case(
            f"{net}, {what}, batch {BATCH}",
            {"net": net, "what": what, "by": by},
            "images/s",
            BATCH,
            [Target(0.95)],
            2e-2,
        )
        for net in NETS
        for what in ("forward", "training step")
    ]


suite = Suite("convnets", cases, doc=__doc__)


# ---------------------------------------------------------------------- the libraries
@suite.side("torch")
def torch_side(who: str, net: str, what: str, by: int, where: str = "cpu") -> Statement:
    import torch
    import torch.nn.functional as F

    class Torch:
        relu, channels = staticmethod(torch.relu), staticmethod(lambda x: x.shape[1])
        join = staticmethod(lambda xs: torch.cat(xs, 1))
        conv = staticmethod(lambda x, w, f, k, s, p, b: F.conv2d(x, w, b, stride=s, padding=p))
        pool = staticmethod(lambda x, k, s, p: F.max_pool2d(x, k, s, p))
        average = staticmethod(lambda x: x.mean((2, 3)))
        dense = staticmethod(lambda x, w, b, n: x.flatten(1) @ w + b)
        norm = staticmethod(lambda x, g, b, f: F.batch_norm(x, None, None, g, b, training=True))

    images, labels, start, layers = data(net, by)
    x, y = (v.to(where) for v in torch_arrays(images, labels))
    w = [torch.from_numpy(v).to(where).requires_grad_(what != "forward") for v in start]

    def forward() -> Any:
        with torch.no_grad():
            return run(Torch, layers, x, iter(w)).sum()

    def step() -> Any:
        value = F.cross_entropy(run(Torch, layers, x, iter(w)), y)
        grads = torch.autograd.grad(value, w)
        with torch.no_grad():
            torch._foreach_add_(w, grads, alpha=-float(RATE))
        return value.detach()

    torch.set_grad_enabled(True)
    return Statement("f()", f=forward if what == "forward" else step)


@suite.side("jax")
def jax_side(who: str, net: str, what: str, by: int) -> Statement:
    import jax
    import jax.numpy as jnp
    from jax import lax

    def conv(x: Any, w: Any, f: int, k: int, s: int, p: int, b: Any) -> Any:
        out = lax.conv_general_dilated(x, w, (s, s), [(p, p)] * 2)
        return out if b is None else out + b[:, None, None]

    def norm(x: Any, g: Any, b: Any, f: int) -> Any:
        mean, var = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
        return (x - mean) / jnp.sqrt(var + 1e-5) * g[:, None, None] + b[:, None, None]

    def pool(x: Any, k: int, s: int, p: int) -> Any:
        around = [(0, 0), (0, 0), (p, p), (p, p)]
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, k, k), (1, 1, s, s), around)

    class Jax:
        relu, channels = staticmethod(lambda x: jnp.maximum(x, 0)), staticmethod(lambda x: x.shape[1])
        join, average = staticmethod(lambda xs: jnp.concatenate(xs, 1)), staticmethod(lambda x: x.mean((2, 3)))
        dense = staticmethod(lambda x, w, b, n: x.reshape(x.shape[0], -1) @ w + b)

    Jax.conv, Jax.norm, Jax.pool = map(staticmethod, (conv, norm, pool))  # type: ignore[attr-defined]
    images, labels, start, layers = data(net, by)
    x, y, w = jnp.asarray(images), jnp.asarray(labels), [jnp.asarray(v) for v in start]
    forward = jax.jit(lambda w, x: run(Jax, layers, x, iter(w)).sum())

    def loss(w: Any, x: Any, y: Any) -> Any:
        return -jax.nn.log_softmax(run(Jax, layers, x, iter(w)), axis=1)[jnp.arange(BATCH), y].mean()

    def step(w: Any, x: Any, y: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(w, x, y)
        return value, [v - RATE * g for v, g in zip(w, grads)]

    compiled, state = jax.jit(step, donate_argnums=0), [w]

    def train() -> Any:
        value, state[0] = compiled(state[0], x, y)
        jax.block_until_ready(state[0])
        return value

    return Statement("f()", f=train if what != "forward" else lambda: jax.block_until_ready(forward(w, x)))


@suite.side("termgraph")
def termgraph_side(who: str, net: str, what: str, by: int, where: str = "cpu") -> Statement:
    import termgraph as tg
    import termgraph.tensor as T

    def conv(x: Any, w: Any, f: int, k: int, s: int, p: int, b: Any) -> Any:
        out = T.nnet.conv2d(x, w, border_mode=(p, p), subsample=(s, s), filter_flip=False)
        return out if b is None else out + b.dimshuffle("x", 0, "x", "x")

    def norm(x: Any, g: Any, b: Any, f: int) -> Any:
        return T.nnet.batch_normalization_train(x, g, b, axes="spatial", epsilon=1e-5)[0]

    class Termgraph:
        relu, channels = staticmethod(T.nnet.relu), staticmethod(lambda x: x.type.shape[1])
        join, average = staticmethod(lambda xs: T.concatenate(xs, 1)), staticmethod(lambda x: x.mean(axis=(2, 3)))
        dense = staticmethod(lambda x, w, b, n: T.dot(x.flatten(2), w) + b)
        pool = staticmethod(
            lambda x, k, s, p: T.signal.pool_2d(x, (k, k), ignore_border=True, stride=(s, s), pad=(p, p))
        )

    Termgraph.conv, Termgraph.norm = map(staticmethod, (conv, norm))  # type: ignore[attr-defined]
    images, labels, start, layers = data(net, by)
    x, y = T.tensor("x", dtype="float32", shape=images.shape), T.tensor("y", dtype="int64", shape=labels.shape)
    shared = [tg.shared(v, borrow=True) for v in start]
    out = run(Termgraph, layers, x, iter([T.specify_shape(s, v.shape) for s, v in zip(shared, start)]))
    mode = None if where == "cpu" else tg.Mode(linker=where)
    end = (lambda v: v) if where == "cpu" else lambda v: tg.Out(v, target=where)
    if what == "forward":
        f = tg.function([x], end(out.sum()), mode=mode)
        return Statement("f(x)", f=f, x=images)
    loss = -T.log_softmax(out, axis=1)[T.arange(BATCH), y].mean()
    updates = [(v, v - RATE * g) for v, g in zip(shared, tg.grad(loss, shared))]
    f = tg.function([x, y], end(loss), updates=updates, mode=mode)
    return Statement("f(x, y)", f=f, x=images, y=labels)


if __name__ == "__main__":
    raise SystemExit(suite.main())
