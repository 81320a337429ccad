"""Errors of convolutions and of both their gradients against float64, beside PyTorch's, by random small shapes.

    python benchmarks/conv_accuracy.py [SHAPES] [SEED] [ABOVE]

Errors are roots of mean squares in float32, over so many draws that each kind has 2000 numbers or twenty draws. Shapes
whose quotient is larger than ABOVE (2) are listed, and then the quotients of each kind. Needs PyTorch, times nothing.
"""

import random
import sys
from typing import Any

import numpy as np

NAMES = ("forward", "images", "filters")


def shape(draw: random.Random) -> dict[str, Any]:
    """Images, filters and how these move; some of the groups are single channels."""
    while True:
        channels, filters = (
            draw.choice([1, 2, 3, 4, 8, 12, 16, 24, 32, 64]),
            draw.choice([1, 2, 6, 8, 14, 16, 20, 32, 64]),
        )
        k, stride, pad, apart = (draw.choice(c) for c in ([1, 2, 3, 3, 5, 7], [1, 1, 2], [0, 1, 2], [1, 1, 2]))
        size = [draw.choice([7, 9, 14, 20, 28]), draw.choice([7, 10, 14, 20, 28])]
        groups = draw.choice([1, 1, channels]) if filters % channels == 0 else 1
        if min(size) + 2 * pad >= apart * (k - 1) + 1:
            image = (draw.choice([1, 2, 4]), channels, *size)
            how = {"stride": stride, "padding": pad, "dilation": apart, "groups": groups}
            return {"image": image, "filters": (filters, channels // groups, k, k), **how}


def ours(one: dict[str, Any], places: tuple[int, ...]) -> Any:
    """A function of images, filters and a cotangent: the result and both gradients."""
    import termgraph as tg
    import termgraph.tensor as T

    lengths = {"x": one["image"], "w": one["filters"], "g": places}
    x, w, g = (T.tensor(name, dtype="float32", shape=s) for name, s in lengths.items())
    pairs = {"border_mode": "padding", "subsample": "stride", "filter_dilation": "dilation"}
    how = {name: (one[key], one[key]) for name, key in pairs.items()}
    y = T.nnet.conv2d(x, w, num_groups=one["groups"], filter_flip=False, **how)
    return tg.function([x, w, g], [y, *tg.Lop(y, [x, w], g)])


def theirs(one: dict[str, Any], values: list[np.ndarray], dtype: str) -> list[np.ndarray]:
    import torch

    x, w, g = (torch.tensor(v.astype(dtype), requires_grad=True) for v in values)
    how = {key: one[key] for key in ("stride", "padding", "dilation", "groups")}
    y = torch.nn.functional.conv2d(x, w, **how)
    y.backward(g)
    return [y.detach().numpy(), x.grad.numpy(), w.grad.numpy()]


def quotients(one: dict[str, Any], rng: np.random.Generator) -> list[float]:
    """Our error over PyTorch's of the result and of both gradients; NaN where PyTorch makes none."""
    move, pad, apart = one["stride"], one["padding"], one["dilation"]
    out = [(n + 2 * pad - apart * (k - 1) - 1) // move + 1 for n, k in zip(one["image"][2:], one["filters"][2:])]
    places = (one["image"][0], one["filters"][0], *out)
    f = ours(one, places)
    lengths = [one["image"], one["filters"], places]
    squares = np.zeros((2, 3))
    for _ in range(max(1, min(20, 2000 // min(int(np.prod(s)) for s in lengths)))):
        values = [rng.standard_normal(s).astype("float32") for s in lengths]
        exact = theirs(one, values, "float64")
        for who, got in enumerate((f(*values), theirs(one, values, "float32"))):
            squares[who] += [np.square(a - e).sum() for a, e in zip(got, exact)]
    return [float(np.sqrt(a / b)) if b else np.nan for a, b in squares.T]


def main(shapes: str = "110", seed: str = "5", above: str = "2") -> None:
    draw, rng = random.Random(int(seed)), np.random.default_rng(int(seed))
    all_: dict[tuple[str, str], list[float]] = {}
    for _ in range(int(shapes)):
        one = shape(draw)
        for name, q in zip(NAMES, quotients(one, rng)):
            if q > float(above):
                print(f"{q:.2f} {name} {one}", flush=True)
            if q == q:
                all_.setdefault(("groups" if one["groups"] > 1 else "one group", name), []).append(q)
    for (kind, name), qs in sorted(all_.items()):
        at = f"median {np.median(qs):.2f}, 95 % {np.quantile(qs, 0.95):.2f}, largest {max(qs):.2f}"
        print(f"{kind}, {name}: {len(qs)} shapes, {at}")


if __name__ == "__main__":
    main(*sys.argv[1:])
