"""Convolutions and their gradients in compiled C against float64: sums are added up in parts, few numbers as many.

`benchmarks/conv_accuracy.py` sets the same errors beside PyTorch's.
"""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.ops.convolution import conv

HOW = {"stride": (1, 1), "border": ((1, 1), (1, 1)), "dilation": (1, 1), "flip": False, "algo": "panels"}
BOUNDS = [  # images, filters, groups; for the result and both gradients, in units of the last place
    ((2, 1, 28, 28), (16, 1, 3, 3), 1, (0.7, 1.6, 1.6)),  # one by one: -, 1.8, 4.1
    ((1, 3, 28, 14), (20, 3, 3, 3), 1, (1.1, 1.7, 2.3)),  # -, 1.8, 2.9
    ((4, 8, 20, 14), (1, 8, 3, 3), 1, (1.2, 0.7, 1.6)),  # 1.25, -, 4.9
    ((4, 16, 20, 20), (48, 1, 3, 3), 16, (0.7, 1.1, 1.6)),  # -, -, 3.0
    ((4, 1, 14, 14), (48, 1, 1, 1), 1, (0.4, 1.5, 1.7)),  # -, -, 2.3
    ((2, 12, 7, 9), (14, 12, 3, 3), 1, (1.35, 1.45, 1.4)),  # 1.5, 1.6, 1.6
]


def gradients(dtype, shapes, how):
    """A function of images, filters and a cotangent: the result and both gradients."""
    x, w = (T.tensor(name, dtype=dtype, shape=s) for name, s in zip("xw", shapes))
    y = conv(x, w, **how)
    g = T.tensor("g", dtype=dtype, shape=y.type.shape)
    return tg.function([x, w, g], [y, *tg.Lop(y, [x, w], g)], mode=tg.Mode(linker="c")), y.type.shape


@pytest.mark.parametrize(("image", "filters", "groups", "bounds"), BOUNDS)
def test_f66_sums_are_added_up_in_parts(rng, image, filters, groups, bounds):
    f, places = gradients("float32", (image, filters), {**HOW, "groups": groups})
    exact, _ = gradients("float64", (image, filters), {**HOW, "groups": groups})
    squares = np.zeros((2, 3))
    for _ in range(10):
        values = [rng.normal(size=s).astype("f") for s in (image, filters, places)]
        wanted = exact(*[v.astype("d") for v in values])
        squares += np.transpose([[np.square(a - b).sum(), np.square(b).sum()] for a, b in zip(f(*values), wanted)])
    errors = np.sqrt(squares[0] / squares[1]) / np.finfo("f").eps
    assert (errors < bounds).all(), errors
