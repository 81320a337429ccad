"""Training steps on a batch of 32 in float32: logistic regression 784 -> 10, and 784 -> 500 (tanh) -> 10; plain SGD."""

from typing import Any

import numpy as np
from contenders import pytensor_function, torch_arrays, torch_compiled
from harness import Case, Statement, Suite, Target

RATE = np.float32(0.01)
BATCH = 32


def cases(quick: bool) -> list[Case]:
    sizes = {"logistic regression": [784, 10], "MLP": [784, 500, 10]}
    goals = {"logistic regression": 0.65, "MLP": 0.9}
    return [
        Case(
            f"{name} {'-'.join(map(str, layers))}", {"layers": [min(n, 20) for n in layers] if quick else layers},
            "us", 0, [Target(goals[name])], 1e-3,
        )
        for name, layers in sizes.items()
    ]  # fmt: skip


suite = Suite("models", cases, doc=__doc__)


def data(layers: list[int]) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Inputs, labels, and the weights and biases of every layer in turn."""
    rng = np.random.default_rng(1)
    x = rng.random((BATCH, layers[0]), dtype="float32")
    y = rng.integers(0, layers[-1], BATCH)
    weights = []
    for n, m in zip(layers, layers[1:]):
        weights += [(rng.standard_normal((n, m)) / np.sqrt(n)).astype("float32"), np.zeros(m, "float32")]
    return x, y, weights


def logits(tanh: Any, x: Any, w: Any) -> Any:
    """The network, in any library."""
    for k in range(0, len(w), 2):
        x = x @ w[k] + w[k + 1]
        if k + 2 < len(w):
            x = tanh(x)
    return x


@suite.side("numpy")
def numpy_side(who: str, layers: list[int]) -> Statement:
    x, y, w = data(layers)
    rows = np.arange(BATCH)

    def step() -> Any:
        h = [x]
        for k in range(0, len(w), 2):
            h.append(h[-1] @ w[k] + w[k + 1])
            if k + 2 < len(w):
                np.tanh(h[-1], out=h[-1])
        d = h[-1] - h[-1].max(axis=1, keepdims=True)
        chosen = d[rows, y]
        np.exp(d, out=d)
        total = d.sum(axis=1, keepdims=True)
        loss = (np.log(total[:, 0]) - chosen).mean()
        d /= total
        d[rows, y] -= 1
        d /= BATCH
        for k in range(len(w) - 2, -1, -2):
            below = h[k // 2]
            dw, db = below.T @ d, d.sum(axis=0)
            if k:
                d = (d @ w[k].T) * (1 - below * below)
            w[k] -= RATE * dw
            w[k + 1] -= RATE * db
        return loss

    return Statement("f()", f=step)


@suite.side("pytensor", "pytensor-numba")
def pytensor_side(who: str, layers: list[int]) -> Statement:
    import pytensor
    import pytensor.tensor as pt
    from pytensor.tensor.special import log_softmax

    x, y, start = data(layers)
    sx, sy, w = pt.fmatrix("x"), pt.lvector("y"), [pytensor.shared(v) for v in start]
    loss = -log_softmax(logits(pt.tanh, sx, w), axis=1)[pt.arange(sy.shape[0]), sy].mean()
    f = pytensor_function(who, [sx, sy], loss, updates=[(v, v - RATE * g) for v, g in zip(w, pytensor.grad(loss, w))])
    f.trust_input = True
    return Statement("f(x, y)", f=f, x=x, y=y)


@suite.side("jax")
def jax_side(who: str, layers: list[int]) -> Statement:
    import jax
    import jax.numpy as jnp

    x, y, w = jax.tree.map(jnp.asarray, data(layers))

    def loss(w: Any, x: Any, y: Any) -> Any:
        return -jax.nn.log_softmax(logits(jnp.tanh, x, w), axis=1)[jnp.arange(BATCH), y].mean()

    def step(w: Any, x: Any, y: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(w, x, y)
        return value, [v - RATE * g for v, g in zip(w, grads)]

    compiled = jax.jit(step, donate_argnums=0)
    state = [w]

    def run() -> Any:
        value, state[0] = compiled(state[0], x, y)
        jax.block_until_ready(state[0])
        return value

    return Statement("f()", f=run)


@suite.side("torch", "torch-compile")
def torch_side(who: str, layers: list[int]) -> Statement:
    import torch

    torch.set_grad_enabled(True)
    x, y, start = data(layers)
    x, y = torch_arrays(x, y)
    w = [torch.from_numpy(v).requires_grad_(True) for v in start]
    rate = float(RATE)
    loss = torch_compiled(who, lambda x, y, *w: torch.nn.functional.cross_entropy(logits(torch.tanh, x, w), y))

    def step() -> Any:
        value = loss(x, y, *w)
        grads = torch.autograd.grad(value, w)
        with torch.no_grad():
            torch._foreach_add_(w, grads, alpha=-rate)
        return value.detach()

    return Statement("f()", f=step)


@suite.side("termgraph")
def termgraph_side(who: str, layers: list[int]) -> Statement:
    import termgraph as tg
    import termgraph.tensor as T

    x, y, start = data(layers)
    sx, sy, w = T.fmatrix("x"), T.lvector("y"), [tg.shared(v) for v in start]
    loss = -T.log_softmax(logits(T.tanh, sx, w), axis=1)[T.arange(sy.shape[0]), sy].mean()
    f = tg.function([sx, sy], loss, updates=[(v, v - RATE * g) for v, g in zip(w, tg.grad(loss, w))])
    return Statement("f(x, y)", f=f, x=x, y=y)


if __name__ == "__main__":
    raise SystemExit(suite.main())
