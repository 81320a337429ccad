"""Each convolution of the networks of convnets.py by itself: forward, the gradient for images, that for filters.

Random numbers of float32, padding and strides as in the network; a layer that several networks have is there once. The
environment variable CONVNETS_BATCH is the batch (default 2).
"""

from typing import Any, NamedTuple

import numpy as np
from contenders import torch_arrays
from convnets import BATCH, NETS, Shape, Shapes, run
from harness import Case, Statement, Suite, Target

WHAT = ("forward", "images", "filters")


class Layer(NamedTuple):
    """Lengths of square images and filters, the stride, and the zeros around."""

    channels: int
    n: int
    filters: int
    k: int
    s: int
    p: int

    def shapes(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Of images, filters and the result."""
        places = (self.n + 2 * self.p - self.k) // self.s + 1
        image = (BATCH, self.channels, self.n, self.n)
        return image, (self.filters, self.channels, self.k, self.k), (BATCH, self.filters, places, places)

    def text(self) -> str:
        return f"{self.channels}->{self.filters} {self.n} {self.k}x{self.k}/{self.s}+{self.p}"


class Recorder(Shapes):
    """The library that computes shapes and writes convolutions down; `first`: they read the images of the data."""

    def __init__(self) -> None:
        super().__init__()
        self.layers: list[Layer] = []

    def conv(self, x: Any, w: int, f: int, k: int, s: int, p: int, b: int | None) -> Shape:
        self.layers.append(Layer(x[0], x[1], f, k, s, p))
        return super().conv(x, w, f, k, s, p, b)


def layers() -> dict[Layer, str]:
    """All layers, and the first network that has them."""
    out: dict[Layer, str] = {}
    for net, (size, listed) in NETS.items():
        recorder = Recorder()
        run(recorder, listed, Shape((3, size, size)), recorder.weights())
        for layer in recorder.layers:
            out.setdefault(layer, net)
    return out


def cases(quick: bool) -> list[Case]:
    listed = list(layers().items())
    if quick:
        listed = [(Layer(5, 9, 4, 3, 2, 1), "quick"), (Layer(3, 8, 2, 5, 1, 0), "quick")]
    return [
        Case(f"{net} {layer.text()}, {what}", {"layer": list(layer), "what": what}, "us", 0, [Target(1.15)], 1e-3)
        for layer, net in listed
        for what in WHAT
        if what != "images" or layer.channels > 3  # images that are data need no gradient
    ]


suite = Suite("convlayers", cases, doc=__doc__)


def data(layer: Layer) -> list[np.ndarray]:
    """Images, filters, an array like the result."""
    rng = np.random.default_rng(1)
    return [rng.standard_normal(shape).astype("float32") for shape in layer.shapes()]


@suite.side("torch")
def torch_side(who: str, layer: list[int], what: str) -> Statement:
    import torch

    one = Layer(*layer)
    x, w, g = torch_arrays(*data(one))
    s, p = [one.s] * 2, [one.p] * 2
    if what == "forward":
        return Statement("f()", f=lambda: torch.nn.functional.conv2d(x, w, stride=s, padding=p))
    mask = [what == "images", what == "filters", False]
    back = torch.ops.aten.convolution_backward
    which = mask.index(True)
    return Statement("f()", f=lambda: back(g, x, w, None, s, p, [1, 1], False, [0, 0], 1, mask)[which])


@suite.side("termgraph")
def termgraph_side(who: str, layer: list[int], what: str) -> Statement:
    import termgraph as tg
    import termgraph.tensor as T

    one = Layer(*layer)
    values = data(one)
    x, w, g = (T.tensor(name, dtype="float32", shape=v.shape) for name, v in zip("xwg", values))
    y = T.nnet.conv2d(x, w, border_mode=(one.p, one.p), subsample=(one.s, one.s), filter_flip=False)
    inputs, out = [x, w], y
    if what != "forward":
        wanted = x if what == "images" else w
        inputs, out = [g, w if what == "images" else x], tg.Lop(y, [wanted], g)[0]
    given = {"x": values[0], "w": values[1], "g": values[2]}
    return Statement("f(*v)", f=tg.function(inputs, out), v=[given[v.name] for v in inputs])


if __name__ == "__main__":
    raise SystemExit(suite.main())
