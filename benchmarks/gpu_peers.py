"""What PyTorch and JAX are asked on a GPU by `gpu.py`: the same programs, each in its own words.

A peer that is not installed, or finds no GPU, takes no part.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

Call = Callable[[], Any]
WAITS: dict[str, Call] = {}


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    WAITS["torch"] = torch.cuda.synchronize
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    return torch


def _jax() -> Any:
    try:
        import jax
    except ImportError:
        return None
    if jax.default_backend() != "gpu":
        return None
    jax.config.update("jax_default_matmul_precision", "highest")
    WAITS["jax"] = lambda: jax.block_until_ready(_last)
    return jax


_last: Any = None  # what JAX computed last: its device works in order
torch, jax = _torch(), _jax()


def _kept(f: Callable, *values: Any) -> Call:
    """A call of a function of JAX whose result can be waited for."""

    def call() -> Any:
        global _last
        _last = f(*values)
        return _last

    return call


def in_torch(v: np.ndarray) -> Any:
    if v.dtype.name == "bfloat16":
        return torch.from_numpy(v.astype("float32")).cuda().bfloat16()
    return torch.from_numpy(np.ascontiguousarray(v)).cuda()


def calls(name: str, values: list[np.ndarray]) -> dict[str, Call]:
    """The function `name` by each peer, on the device with these values."""
    made: dict[str, Call] = {}
    if torch is not None:
        made["torch"] = partial(globals()[f"torch_{name}"], *map(in_torch, values))
    if jax is not None:
        made["jax"] = _kept(jax.jit(globals()[f"jax_{name}"]), *map(jax.device_put, values))
    return made


# ---------------------------------------------------------------------- kernels
def torch_increment(v):
    return v + 1


jax_increment = torch_increment


def torch_elementwise(x, b):
    return torch.tanh(x + b) * 2


def jax_elementwise(x, b):
    return jax.numpy.tanh(x + b) * 2


def torch_softmax(x):
    return torch.softmax(x, 1)


def jax_softmax(x):
    return jax.nn.softmax(x, axis=1)


def torch_layer_norm(x):
    return torch.nn.functional.layer_norm(x, x.shape[1:])


def jax_layer_norm(x):
    return (x - x.mean(1, keepdims=True)) / jax.numpy.sqrt(x.var(1, keepdims=True) + 1e-5)


def torch_row_sums(x):
    return x.sum(1)


def torch_column_sums(x):
    return x.sum(0)


def torch_total(x):
    return x.sum()


def torch_argmax(x):
    return x.argmax(1)


jax_row_sums, jax_column_sums, jax_total, jax_argmax = torch_row_sums, torch_column_sums, torch_total, torch_argmax


def torch_transposed(x):
    return torch.add(x.T, 1, out=torch.empty(x.shape[1], x.shape[0], device=x.device))


def jax_transposed(x):
    return x.T + 1


def torch_running(x):
    return x.cumsum(1)


def jax_running(x):
    return jax.numpy.cumsum(x, axis=1)


def torch_sort(x):
    return torch.sort(x, dim=1)[0]


def jax_sort(x):
    return jax.numpy.sort(x, axis=1)


# ---------------------------------------------------------------------- products
def torch_product(x, w):
    return x @ w


def torch_batched(x, y):
    return x @ y


jax_product, jax_batched = torch_product, torch_batched


def torch_layer(x, w, b):
    return torch.relu(torch.addmm(b, x, w))


def jax_layer(x, w, b):
    return jax.nn.relu(x @ w + b)


# ---------------------------------------------------------------------- convolutions
def torch_convolution(x, w):
    return torch.nn.functional.conv2d(x, w, padding=w.shape[2] // 2)


def jax_convolution(x, w):
    pad = w.shape[2] // 2
    return jax.lax.conv_general_dilated(x, w, (1, 1), [(pad, pad)] * 2)


def torch_convolution_gradients(x, w):
    y = torch_convolution(x, w)
    both = [True, True, False]
    pad = [w.shape[2] // 2] * 2
    return torch.ops.aten.convolution_backward(2 * y, x, w, None, [1, 1], pad, [1, 1], False, [0, 0], 1, both)[:2]


def jax_convolution_gradients(x, w):
    return jax.grad(lambda x, w: (jax_convolution(x, w) ** 2).sum(), (0, 1))(x, w)


def torch_pool(x):
    return torch.nn.functional.max_pool2d(x, 3, 2, 1)


def jax_pool(x):
    window, moves, pads = (1, 1, 3, 3), (1, 1, 2, 2), [(0, 0), (0, 0), (1, 1), (1, 1)]
    return jax.lax.reduce_window(x, -jax.numpy.inf, jax.lax.max, window, moves, pads)


def torch_pool_gradient(x):
    y, places = torch.nn.functional.max_pool2d(x, 3, 2, 1, return_indices=True)
    backward = torch.ops.aten.max_pool2d_with_indices_backward
    return backward(2 * y, x, [3, 3], [2, 2], [1, 1], [1, 1], False, places)


def jax_pool_gradient(x):
    return jax.grad(lambda x: (jax_pool(x) ** 2).sum())(x)


# ---------------------------------------------------------------------- training steps
RATE = 0.1


def training(name: str, params: list[np.ndarray], values: list[np.ndarray]) -> dict[str, Call]:
    """A step of gradient descent by each peer; the parameters stay on the device."""
    made: dict[str, Call] = {}
    if torch is not None:
        made["torch"] = _torch_step(globals()[f"torch_{name}"], params, values)
    if jax is not None:
        made["jax"] = _jax_step(globals()[f"jax_{name}"], params, values)
    return made


def _torch_step(cost: Callable, params: list[np.ndarray], values: list[np.ndarray]) -> Call:
    weights = [in_torch(p).requires_grad_() for p in params]
    there = [in_torch(v) for v in values]

    def step() -> Any:
        c = cost(weights, *there)
        gradients = torch.autograd.grad(c, weights)
        with torch.no_grad():
            torch._foreach_add_(weights, gradients, alpha=-RATE)
        return c

    return step


def _jax_step(cost: Callable, params: list[np.ndarray], values: list[np.ndarray]) -> Call:
    @jax.jit
    def moved(weights, *there):
        c, gradients = jax.value_and_grad(cost)(weights, *there)
        return c, [w - RATE * g for w, g in zip(weights, gradients)]

    return updating(moved, params, values)


def updating(moved: Callable, params: list[np.ndarray], values: list[np.ndarray]) -> Call:
    """A call of JAX's `moved(weights, *values)`, which gives the cost and the weights of the next call."""
    state = [[jax.device_put(p) for p in params]]
    there = [jax.device_put(v) for v in values]

    def step() -> Any:
        global _last
        c, state[0] = moved(state[0], *there)
        _last = c
        return c

    return step


def torch_mlp(w, x, y):
    h = x
    for k in range(0, len(w), 2):
        h = torch.addmm(w[k + 1], h, w[k])
        h = torch.tanh(h) if k + 2 < len(w) else h
    return torch.nn.functional.cross_entropy(h, y)


def jax_mlp(w, x, y):
    h = x
    for k in range(0, len(w), 2):
        h = h @ w[k] + w[k + 1]
        h = jax.numpy.tanh(h) if k + 2 < len(w) else h
    return -jax.nn.log_softmax(h)[jax.numpy.arange(len(y)), y].mean()


def torch_lstm(w, x, y):
    (weights,), n = w, x.shape[2]
    h = c = torch.zeros(x.shape[1], n, device=x.device)
    for k in range(x.shape[0]):
        i, f, g, o = (torch.cat([x[k], h], 1) @ weights).split(n, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
    return ((h - y) ** 2).mean()


def jax_lstm(w, x, y):
    (weights,), n = w, x.shape[2]

    def step(state, now):
        h, c = state
        i, f, g, o = jax.numpy.split(jax.numpy.concatenate([now, h], 1) @ weights, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jax.numpy.tanh(g)
        h = jax.nn.sigmoid(o) * jax.numpy.tanh(c)
        return (h, c), None

    zero = jax.numpy.zeros((x.shape[1], n), x.dtype)
    (h, _), _ = jax.lax.scan(step, (zero, zero), x)
    return ((h - y) ** 2).mean()
