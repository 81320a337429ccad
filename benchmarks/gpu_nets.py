"""Whole nets for `gpu.py`, a training step of gradient descent each: those of convnets.py, a transformer, a deep MLP.

Time to ready, compilers included, is printed beside the time of a step; the sides are those of the CPU's benchmarks.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

os.environ.setdefault("CONVNETS_BATCH", "32")

import convnets
import deep
import gpu_peers
import numpy as np
from deep_models import Model, Net, data, mlp, transformer
from gpu_peers import Call

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.cuda.run.device_array import DeviceArray

RATE = np.float32(1e-3)
NETS = ("AlexNet", "VGG-A", "GoogLeNet", "ResNet-18", "ResNet-50")
Made = dict[str, Callable[[], Call]]


def net_cases(small: bool, wanted: str = "") -> Iterator[tuple[str, dict[str, Call]]]:
    """What, and a call by contender, which is ready; of those nets whose name matches an expression."""
    wide = {
        "transformer 6 x 512, batch 8, 256 steps": Model(
            transformer, (8, 256, 512), {"layers": 6, "width": 512, "heads": 8}
        ),
        "MLP 20 x 1024, batch 256": Model(mlp, (256, 1024), {"layers": 20, "width": 1024}),
    }
    if small:
        wide = {"transformer 2 x 8": Model(transformer, (2, 4, 8), {"layers": 2, "width": 8, "heads": 2})}
    made = {what: deep_step(model) for what, model in wide.items()}
    for net in ("ResNet-18",) if small else NETS:
        made[f"{net}, batch {convnets.BATCH}"] = convolutional(net, 32 if small else 1)
    for what, contenders in made.items():
        if re.search(wanted, what):
            yield what, ready(what, contenders)


def ready(what: str, made: Made) -> dict[str, Call]:
    """Each contender's step; the seconds until its first result are printed."""
    calls, seconds = {}, {}
    for who, make in made.items():
        start = time.perf_counter()
        calls[who] = make()
        np.asarray(host(calls[who]()))
        seconds[who] = time.perf_counter() - start
    print(f"  {what}: seconds to ready: " + ", ".join(f"{who} {s:.1f}" for who, s in seconds.items()), flush=True)
    return calls


def host(value: Any) -> Any:
    """The loss, waited for."""
    return value.cpu() if hasattr(value, "cpu") else value


def convolutional(net: str, by: int) -> Made:
    """A net of convnets.py."""

    def ours() -> Call:
        said = convnets.termgraph_side("termgraph", net, "training step", by, "cuda").names
        f, x, y = said["f"], DeviceArray.of(said["x"]), DeviceArray.of(said["y"])
        return lambda: f(x, y)

    made: Made = {"termgraph": ours}
    if gpu_peers.torch is not None:
        made["torch"] = lambda: convnets.torch_side("torch", net, "training step", by, "cuda").names["f"]
    if gpu_peers.jax is not None:
        made["jax"] = lambda: convnets.jax_side("jax", net, "training step", by).names["f"]
    return made


def deep_step(model: Model) -> Made:
    """A model of deep_models.py whose weights are updated."""
    made: Made = {"termgraph": lambda: our_step(model)}
    if gpu_peers.torch is not None:
        made["torch"] = lambda: torch_step(model)
    if gpu_peers.jax is not None:
        made["jax"] = lambda: jax_step(model)
    return made


def our_step(model: Model) -> Call:
    x, net = T.tensor("x", dtype="float32", shape=model.shape), Net(deep.termgraph_operations(), tg.shared)
    loss = model.build(net, x, **model.sizes)
    updates = [(w, w - RATE * g) for w, g in zip(net.weights, tg.grad(loss, net.weights))]
    f = tg.function([x], tg.Out(loss, target="cuda"), updates=updates, mode=tg.Mode(linker="cuda"))
    value = DeviceArray.of(data(model))
    return lambda: f(value)


def torch_step(model: Model) -> Call:
    torch, ops = gpu_peers.torch, deep.torch_operations()
    x = deep.torch_views(gpu_peers.in_torch(data(model)))
    net = Net(ops, lambda v: gpu_peers.in_torch(np.asarray(v)).requires_grad_())
    model.build(net, x, **model.sizes)
    weights = net.weights

    def step() -> Any:
        loss = model.build(Net(ops, None, weights), x, **model.sizes)
        gradients = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            torch._foreach_add_(weights, gradients, alpha=-float(RATE))
        return loss.detach()

    return step


def jax_step(model: Model) -> Call:
    jax, ops, weights = gpu_peers.jax, deep.jax_operations(), []
    own = lambda v: weights.append(v) or jax.numpy.asarray(v)  # noqa: E731
    jax.eval_shape(lambda x: model.build(Net(ops, own), x, **model.sizes), data(model))

    def moved(w: Any, x: Any) -> Any:
        loss, gradients = jax.value_and_grad(lambda w: model.build(Net(ops, None, w), x, **model.sizes))(w)
        return loss, [v - RATE * g for v, g in zip(w, gradients)]

    return gpu_peers.updating(jax.jit(moved, donate_argnums=0), weights, [data(model)])
