"""Lasagne's MNIST example, as its package index has it, on termgraph: a training step beside PyTorch's.

The two nets of Lasagne's examples/mnist.py (an MLP of 800 units with dropout, a CNN with 32 filters of 5x5), batches of
500 synthetic digits in float32, Nesterov's momentum. Both sides start from the same weights and draw their own dropout.
Also `python benchmarks/digits.py --learn examples/mnist.py cnn 3` runs that script itself on synthetic digits.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import peers
from harness import Case, Statement, Suite, Target

BATCH = 500
NETS = {
    "MLP": [("drop", 0.2), ("dense", 800), ("drop", 0.5), ("dense", 800), ("drop", 0.5), ("out", 10)],
    "CNN": [("conv", 32), ("pool", 2), ("conv", 32), ("pool", 2), ("drop", 0.5), ("dense", 256), ("drop", 0.5),
            ("out", 10)],
}  # fmt: skip
SEGMENTS = (
    "1110111",
    "0010010",
    "1011101",
    "1011011",
    "0111010",
    "1101011",
    "1101111",
    "1010010",
    "1111111",
    "1111011",
)
PLACES = ((0, slice(2, 8)), (slice(1, 8), 1), (slice(1, 8), 8), (8, slice(2, 8)), (slice(9, 16), 1), (slice(9, 16), 8),
          (16, slice(2, 8)))  # fmt: skip


def cases(quick: bool) -> list[Case]:
    batch = 20 if quick else BATCH
    return [Case(f"{net}, a training step", {"net": net, "batch": batch}, "ms", 0, [Target(1.0)], 0.3) for net in NETS]


suite = Suite("digits", cases, doc=__doc__)


def digits(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Digits of seven segments, shifted, with noise: images (n, 1, 28, 28) and what they show."""
    rng = np.random.default_rng(seed)
    labels, images = rng.integers(0, 10, n), rng.normal(0, 0.2, (n, 1, 28, 28))
    for image, label in zip(images[:, 0], labels):
        down, right = rng.integers(4, 8), rng.integers(7, 12)
        for lit, (rows, columns) in zip(SEGMENTS[label], PLACES):
            image[down : down + 17, right : right + 10][rows, columns] += int(lit)
    return images.astype("float32"), labels.astype("int32")


def weights(net: str) -> list[np.ndarray]:
    """Glorot's uniform weights and zeros, layer by layer: (out, in) or (out, in, rows, columns)."""
    rng, made = np.random.default_rng(1), []
    channels, side = 1, 28
    for kind, n in NETS[net]:
        if kind == "conv":
            made += [glorot(rng, (n, channels, 5, 5)), np.zeros(n, "float32")]
            channels, side = n, side - 4
        elif kind == "pool":
            side //= n
        elif kind != "drop":
            made += [glorot(rng, (n, channels * side * side)), np.zeros(n, "float32")]
            channels, side = n, 1
    return made


def glorot(rng: Any, shape: tuple[int, ...]) -> np.ndarray:
    field = int(np.prod(shape[2:]))
    limit = np.sqrt(6 / ((shape[0] + shape[1]) * field))
    return rng.uniform(-limit, limit, shape).astype("float32")


def with_lasagne() -> Any:
    """Lasagne, which finds termgraph under Theano's name; from the environment of `peers.py lasagne`."""
    found = peers.manifest()["peers"].get("lasagne")
    if found is None:
        raise ModuleNotFoundError("Lasagne is missing: python benchmarks/peers.py lasagne")
    import termgraph.theano as theano

    theano.config.floatX = "float32"
    theano.install()
    sys.path += [str(p) for p in Path(found["python"]).parent.parent.glob("lib/python*/site-packages")]
    import lasagne

    return lasagne


@suite.side("termgraph")
def lasagne_side(who: str, net: str, batch: int) -> Statement:
    lasagne = with_lasagne()
    import theano
    import theano.tensor as T

    x, y = T.tensor4("inputs"), T.ivector("targets")
    layers, rest = lasagne.layers, iter(weights(net))
    layer = layers.InputLayer((None, 1, 28, 28), x)
    for kind, n in NETS[net]:
        if kind == "drop":
            layer = layers.DropoutLayer(layer, p=n)
        elif kind == "pool":
            layer = layers.MaxPool2DLayer(layer, pool_size=(n, n))
        elif kind == "conv":
            w, b = next(rest), next(rest)
            layer = layers.Conv2DLayer(layer, n, (5, 5), nonlinearity=lasagne.nonlinearities.rectify, W=flipped(w), b=b)
        else:
            w, b = next(rest), next(rest)
            end = lasagne.nonlinearities.softmax if kind == "out" else lasagne.nonlinearities.rectify
            layer = layers.DenseLayer(layer, n, W=w.T.copy(), b=b, nonlinearity=end)
    loss = lasagne.objectives.categorical_crossentropy(layers.get_output(layer), y).mean()
    parameters = layers.get_all_params(layer, trainable=True)
    updates = lasagne.updates.nesterov_momentum(loss, parameters, learning_rate=0.01, momentum=0.9)
    train = theano.function([x, y], loss, updates=updates)
    images, labels = digits(batch)
    return Statement("train(images, labels)", train=train, images=images, labels=labels)


def flipped(w: np.ndarray) -> np.ndarray:
    """Theano's convolutions turn the filters around, PyTorch's do not."""
    return w[:, :, ::-1, ::-1].copy()


@suite.side("torch", "torch-compile")
def torch_side(who: str, net: str, batch: int) -> Statement:
    import torch
    from contenders import torch_compiled

    torch.manual_seed(0)
    parts: list[Any] = []
    rest = iter(torch.from_numpy(w) for w in weights(net))
    for kind, n in NETS[net]:
        if kind == "drop":
            parts.append(torch.nn.Dropout(n))
        elif kind == "pool":
            parts.append(torch.nn.MaxPool2d(n))
        elif kind == "conv":
            parts += [with_weights(torch.nn.Conv2d(1 if not parts else 32, n, 5), rest), torch.nn.ReLU()]
        else:
            w, b = next(rest), next(rest)
            parts += [torch.nn.Flatten(), with_weights(torch.nn.Linear(w.shape[1], n), iter((w, b)))]
            parts += [] if kind == "out" else [torch.nn.ReLU()]
    model = torch.nn.Sequential(*parts)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True)
    forward: Callable = torch_compiled(who, lambda x, y: torch.nn.functional.cross_entropy(model(x), y))
    images, labels = (torch.from_numpy(a) for a in digits(batch))
    labels = labels.long()

    def train() -> Any:
        optimizer.zero_grad()
        loss = forward(images, labels)
        loss.backward()
        optimizer.step()
        return loss

    return Statement("train()", train=train)


def with_weights(layer: Any, rest: Any) -> Any:
    layer.weight.data, layer.bias.data = next(rest), next(rest)
    return layer


def learn(script: str, net: str, epochs: str) -> None:
    """Lasagne's own script on synthetic digits; only its `load_dataset`, which downloads MNIST, is replaced."""
    with_lasagne()
    program = runpy.run_path(script)
    x, y = digits(12_000)
    ends = ((0, 10_000), (10_000, 11_000), (11_000, 12_000))
    data = [part for a, b in ends for part in (x[a:b], y[a:b])]
    program["main"].__globals__["load_dataset"] = lambda: data
    program["main"](net, int(epochs))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--learn"]:
        learn(*sys.argv[2:])
    else:
        raise SystemExit(suite.main())
