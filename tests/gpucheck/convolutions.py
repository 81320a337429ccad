"""Convolutions and pooling on a device: against the NumPy meaning, and timed beside cuDNN where it is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import numpy as np

import termgraph
import termgraph.tensor
from gpucheck.checks import BRAIN, TOLERANCE, Check, worst
from termgraph.backends.cuda.run.device import Device
from termgraph.backends.cuda.run.device_array import DeviceArray

T: Any = termgraph.tensor
tg: Any = termgraph
Row = dict[str, Any]
Clock = Callable[..., float]

# images, filters, and how they move
SHAPES: list[tuple[str, tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ("conv2d", (3, 20, 17, 15), (70, 20, 3, 3), {"border_mode": "half", "subsample": (2, 1)}),
    ("conv2d", (2, 6, 20, 21), (6, 1, 5, 3), {"border_mode": (2, 1), "num_groups": 6}),
    ("conv2d", (2, 140, 7, 7), (130, 140, 3, 3), {"border_mode": "half"}),
    ("conv2d", (4, 3, 31, 30), (24, 3, 7, 7), {"subsample": (4, 4), "filter_flip": False}),
    ("conv2d", (2, 8, 19, 18), (66, 4, 3, 3), {"filter_dilation": (2, 3), "subsample": (3, 2), "num_groups": 2}),
    ("conv1d", (3, 12, 90), (40, 12, 5), {"border_mode": "full"}),
    ("conv3d", (2, 4, 9, 8, 10), (33, 4, 3, 2, 3), {"subsample": (1, 2, 2), "border_mode": "half"}),
]


def ways() -> tuple[str, ...]:
    """The ways that are looked at: our kernels, and the library where it is installed."""
    from termgraph.backends.cuda.run.cudnn import library

    return ("panels", "cudnn") if library() is not None else ("panels",)


def convolution_checks() -> Iterator[Check]:
    """Convolutions with both gradients, and pooling with its own."""
    rng = np.random.default_rng(7)
    for way in ways():
        for dtype in ("float32", "float64", "float16", *BRAIN):
            for name, image, filters, how in SHAPES if dtype == "float32" else SHAPES[:1]:
                x, w = T.tensor("x", dtype=dtype, shape=image), T.tensor("w", dtype=dtype, shape=filters)
                y = getattr(T.nnet, name)(x, w, algo=way, **how)
                outs = [y, *tg.grad((y * 0.5).sum(), [x, w])]
                values = [rng.standard_normal(image), rng.standard_normal(filters) / prod(filters[1:]) ** 0.5]
                error = worst([x, w], outs, [v.astype(x.type.np_dtype) for v in values])
                yield f"{name} {image} {filters} by {way}, {dtype}", error, 10 * TOLERANCE[dtype]
    for dtype in ("float32", "float64", "float16", *BRAIN, "int32"):
        x = T.tensor("x", dtype=dtype, shape=(2, 3, 21, 18))
        value = (rng.standard_normal((2, 3, 21, 18)) * 4).astype(x.type.np_dtype)
        how = {"stride": (2, 1), "pad": (1, 2), "ignore_border": True}
        outs = [T.signal.pool_2d(x, (3, 5), mode=mode, **how) for mode in ("max", "sum")]
        outs += [T.signal.pool_3d(x, (2, 2, 3)), T.signal.pool_2d(x, (5, 5), stride=(5, 4))]
        if x.type.kind == "f":
            outs += [tg.grad((y * 0.5).sum(), x) for y in outs]
        yield f"pooling {dtype}", worst([x], outs, [value]), 4 * TOLERANCE.get(dtype, 0.0)


# ---------------------------------------------------------------------- speed
LAYERS = [  # channels, filters, the length of images, of filters, the stride
    (3, 64, 224, 7, 2),
    (64, 64, 56, 3, 1),
    (128, 128, 28, 3, 1),
    (256, 256, 14, 3, 1),
    (512, 512, 7, 3, 1),
    (256, 64, 56, 1, 1),
    (128, 256, 28, 3, 2),
]


def convolution_speed(device: Device, scale: int, clock: Clock, copy: float) -> Iterator[Row]:
    """Layers of residual nets by each way, and pooling against the rate of copies."""
    batch = 1 if scale == 1 else 64
    for dtype in ("float32", "float16", *BRAIN):
        for c, k, n, r, s in LAYERS if scale > 1 else [(4, 8, 8, 3, 1)]:
            x = T.tensor("x", dtype=dtype, shape=(batch, c, n, n))
            w = T.tensor("w", dtype=dtype, shape=(k, c, r, r))
            values = [DeviceArray.of(np.ones(v.type.shape, v.type.np_dtype)) for v in (x, w)]
            for way in ways():
                y = T.nnet.conv2d(x, w, border_mode="half", subsample=(s, s), filter_flip=False, algo=way)
                flops = 2 * batch * k * c * r * r * (-(-n // s)) ** 2
                given = DeviceArray.of(np.ones(y.type.shape, x.type.np_dtype))
                g = T.tensor("g", dtype=dtype, shape=y.type.shape)
                dx, dw = tg.grad((y * g).sum(), [x, w])
                for what, inputs, out, arrays in (
                    ("forward", [x, w], y, values),
                    ("images' gradient", [w, g], dx, [values[1], given]),
                    ("filters' gradient", [x, g], dw, [values[0], given]),
                ):
                    run = on_device(inputs, out)
                    t = clock(device, lambda run=run, arrays=arrays: run(*arrays), batch=10)
                    name = f"{c} to {k}, {r}x{r}/{s} at {n}, {dtype} by {way}: {what}"
                    yield {"what": name, "us": t * 1e6, "TFLOP/s": flops / t / 1e12}
    shape = (batch, 64, 112, 112) if scale > 1 else (1, 2, 12, 12)
    x = T.tensor("x", dtype="float32", shape=shape)
    v = DeviceArray.of(np.random.default_rng(0).standard_normal(shape).astype("float32"))
    y = T.signal.pool_2d(x, (3, 3), stride=(2, 2), pad=(1, 1), ignore_border=True)
    for what, out in (("max-pooling 3x3/2", y), ("with its gradient", tg.grad(T.sqr(y).sum(), x))):
        run = on_device([x], out)
        t = clock(device, lambda run=run: run(v), batch=10)
        rate = (1.25 if out is y else 3.0) * v.nbytes / t / 1e9
        yield {"what": f"{what} of {shape}", "us": t * 1e6, "GB/s": rate, "of copy": rate / copy}


def on_device(inputs: list, out: Any) -> Any:
    """A function for the GPU whose result stays there, so that a call returns before it is computed."""
    return tg.function(inputs, tg.Out(out, target="cuda"), mode=tg.Mode(linker="cuda"))
