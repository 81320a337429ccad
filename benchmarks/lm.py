"""Training an LSTM language model, words per second: vocabulary 10,000, batch 20, float32, plain SGD.

small 1 layer of 200 units, 20 steps; medium 1 x 600, 40 steps; large 2 x 650, 50 steps; dropout one half on what is not
recurrent. Dropout masks differ between contenders, so the check is that all first losses are about the same. The
rows "compile + first" include whatever the caches of earlier runs save; --cold starts with empty ones.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from contenders import jax_arrays, pytensor_function, torch_arrays, torch_compiled
from harness import Also, Case, Statement, Suite, Target

BATCH, RATE, KEEP = 20, 0.1, 0.5


def cases(quick: bool) -> list[Case]:
    sizes = {"small 1x200": (1, 200, 20), "medium 1x600": (1, 600, 40), "large 2x650": (2, 650, 50)}
    made = []
    for name, (layers, units, steps) in sizes.items():
        params = {"layers": layers, "units": units, "steps": steps, "words": 10_000}
        if quick:
            params |= {"units": 8, "steps": 4, "words": 50}
        goals = [Target(1 / 1.2, "pytensor")] + ([] if name.startswith("large") else [Target(1.0, "torch-nn")])
        ready = [Also("compile + first", "s", [Target(5.0, "absolute")])]
        made.append(Case(name, params, "words/s", BATCH * params["steps"], goals, 0.1, also=ready, every=True))
    return made


suite = Suite("lm", cases, doc=__doc__)


def data(layers: int, units: int, steps: int, words: int) -> list[np.ndarray]:
    """Input words, next words, then embedding, (w, u, b) of every layer, and the output layer's matrix and bias."""
    rng = np.random.default_rng(1)
    text = rng.integers(0, words, (steps + 1, BATCH))
    shapes: list[tuple[int, ...]] = [(words, units)]
    shapes += [(units, 4 * units), (units, 4 * units), (4 * units,)] * layers + [(units, words), (words,)]
    return [text[:-1], text[1:], *(rng.uniform(-0.1, 0.1, shape).astype("float32") for shape in shapes)]


def step(tanh: Callable, sigmoid: Callable, n: int, x: Any, h: Any, c: Any, w: Any, u: Any, b: Any) -> tuple:
    z = x @ w + h @ u + b
    i, f, g, o = (z[:, k * n : (k + 1) * n] for k in range(4))
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    return sigmoid(o) * tanh(c), c


def network(dropout: Callable, layer: Callable, x: Any, weights: Any) -> Any:
    """Hidden states of the last layer, from embedded words; `layer(x, w, u, b)` runs the loop."""
    x = dropout(x)
    for k in range(0, len(weights), 3):
        x = dropout(layer(x, *weights[k : k + 3]))
    return x


@suite.side("pytensor", "pytensor-numba")
def pytensor_side(who: str, layers: int, units: int, steps: int, words: int) -> Statement:
    import pytensor
    import pytensor.tensor as pt
    from pytensor.tensor.special import log_softmax

    state = pytensor.shared(np.random.default_rng(2))
    after, random = [], [state]

    def dropout(x: Any) -> Any:
        random[0], mask = pt.random.bernoulli(KEEP, size=x.shape, rng=random[0], return_next_rng=True)
        after[:] = [(state, random[0])]
        return x * mask.astype("float32") / np.float32(KEEP)

    def scan(fn: Callable, **options: Any) -> Any:
        return pytensor.scan(fn, return_updates=False, **options)

    compiled = lambda i, o, updates: pytensor_function(who, i, o, updates=updates + after)  # noqa: E731
    model = data(layers, units, steps, words)
    return symbolic(pt, scan, log_softmax, pytensor.shared, pytensor.grad, compiled, dropout, model, units)


@suite.side("termgraph")
def termgraph_side(who: str, layers: int, units: int, steps: int, words: int) -> Statement:
    import termgraph as tg
    import termgraph.tensor as T

    streams = T.random.RandomStream(2)

    def dropout(x: Any) -> Any:
        return x * streams.bernoulli(KEEP, size=x.shape).astype("float32") / np.float32(KEEP)

    def scan(fn: Callable, **options: Any) -> Any:
        return tg.scan(fn, **options)[0]

    compiled = lambda i, o, updates: tg.function(i, o, updates=updates)  # noqa: E731
    model = data(layers, units, steps, words)
    return symbolic(T, scan, T.log_softmax, tg.shared, tg.grad, compiled, dropout, model, units)


def symbolic(
    lib: Any, scan: Callable, log_softmax: Callable, shared: Callable, grad: Callable, compiled: Callable,
    dropout: Callable, model: list, units: int,
) -> Statement:  # fmt: skip
    """PyTensor and termgraph."""
    words, following, *start = model
    weights = [shared(v) for v in start]
    embedding, *middle, out, bias = weights
    x, y = lib.lmatrix("x"), lib.lmatrix("y")
    zeros = lib.zeros((BATCH, units), dtype="float32")

    def layer(x: Any, *v: Any) -> Any:
        return scan(
            lambda x, h, c, *v: step(lib.tanh, lib.sigmoid, units, x, h, c, *v),
            sequences=x, outputs_info=[zeros, zeros], non_sequences=list(v),
        )[0]  # fmt: skip

    h = network(dropout, layer, embedding[x], middle).reshape((-1, units))
    chosen = log_softmax(h @ out + bias, axis=1)[lib.arange(y.shape[0] * y.shape[1]), y.flatten()]
    loss = -chosen.mean()
    updates = [(v, v - np.float32(RATE) * g) for v, g in zip(weights, grad(loss, weights))]
    f = compiled([x, y], loss, updates)
    f.trust_input = True
    return Statement("f(x, y)", f=f, x=words, y=following)


@suite.side("jax")
def jax_side(who: str, layers: int, units: int, steps: int, words: int) -> Statement:
    import jax
    import jax.numpy as jnp

    x, y, *start = jax_arrays(*data(layers, units, steps, words))

    def loss(weights: Any, key: Any, x: Any, y: Any) -> Any:
        embedding, *middle, out, bias = weights
        keys = iter(jax.random.split(key, layers + 1))

        def dropout(x: Any) -> Any:
            return jnp.where(jax.random.bernoulli(next(keys), KEEP, x.shape), x / KEEP, jnp.zeros((), x.dtype))

        def layer(x: Any, *v: Any) -> Any:
            def body(carry: Any, x: Any) -> Any:
                carry = step(jnp.tanh, jax.nn.sigmoid, units, x, *carry, *v)
                return carry, carry[0]

            zeros = jnp.zeros((BATCH, units), "float32")
            return jax.lax.scan(body, (zeros, zeros), x)[1]

        h = network(dropout, layer, embedding[x], middle).reshape(-1, units)
        return -jax.nn.log_softmax(h @ out + bias, axis=1)[jnp.arange(y.size), y.ravel()].mean()

    def train(weights: Any, key: Any, x: Any, y: Any) -> Any:
        key, own = jax.random.split(key)
        value, grads = jax.value_and_grad(loss)(weights, own, x, y)
        return value, [v - RATE * g for v, g in zip(weights, grads)], key

    compiled = jax.jit(train, donate_argnums=(0, 1))
    state = [start, jax.random.key(2)]

    def run() -> Any:
        value, *state[:] = compiled(*state, x, y)
        jax.block_until_ready(state[0])
        return value

    return Statement("f()", f=run)


@suite.side("torch-nn", "torch-compile")
def torch_side(who: str, layers: int, units: int, steps: int, words: int) -> Statement:
    import torch

    if who == "torch-compile" and steps > 20:
        raise NotImplementedError("unrolls the loop: compiles for many minutes")
    torch.set_grad_enabled(True)
    x, y, *start = torch_arrays(*data(layers, units, steps, words))
    embedding, *middle, out, bias = (v.requires_grad_(True) for v in start)
    functional = torch.nn.functional
    weights = [embedding, *middle, out, bias]
    if who == "torch-nn":
        lstms = []
        for k in range(0, len(middle), 3):
            lstm = torch.nn.LSTM(units, units)
            with torch.no_grad():
                lstm.weight_ih_l0.copy_(middle[k].T), lstm.weight_hh_l0.copy_(middle[k + 1].T)
                lstm.bias_ih_l0.copy_(middle[k + 2]), lstm.bias_hh_l0.zero_()
            lstms.append(lstm)
        weights = [embedding, *(p for lstm in lstms for p in lstm.parameters()), out, bias]
        by_weight = {id(middle[3 * k]): lstm for k, lstm in enumerate(lstms)}
        layer = lambda x, w, u, b: by_weight[id(w)](x)[0]  # noqa: E731
    else:

        def layer(x: Any, *v: Any) -> Any:
            h = c = torch.zeros(BATCH, units)
            states = []
            for t in range(steps):
                h, c = step(torch.tanh, torch.sigmoid, units, x[t], h, c, *v)
                states.append(h)
            return torch.stack(states)

    def loss(x: Any, y: Any) -> Any:
        h = network(lambda v: functional.dropout(v, 1 - KEEP), layer, functional.embedding(x, embedding), middle)
        return functional.cross_entropy(h.reshape(-1, units) @ out + bias, y.reshape(-1))

    f = torch_compiled(who, loss)

    def run() -> Any:
        value = f(x, y)
        grads = torch.autograd.grad(value, weights)
        with torch.no_grad():
            torch._foreach_add_(weights, grads, alpha=-RATE)
        return value.detach()

    return Statement("f()", f=run)


if __name__ == "__main__":
    raise SystemExit(suite.main())
