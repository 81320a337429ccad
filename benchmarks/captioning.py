"""Sentences for films by an LSTM with attention over frames (the paper's figure 4): ms per batch, forward and backward.

28 frames of 1024 numbers, sentences of 20 words out of 10,000, 512 units; batches of 16, 32 and 64 films, float32.
All contenders compute the same loss from the same weights; "gradient" includes its forward pass.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from contenders import jax_arrays, torch_arrays, torch_compiled
from harness import Case, Statement, Suite, Target

NAMES = ["embedding", "input", "state", "look", "bias", "of_frame", "of_state", "score", "out"]


def cases(quick: bool) -> list[Case]:
    sizes = {"frames": 28, "features": 1024, "units": 512, "attention": 256, "length": 20, "words": 10_000}
    if quick:
        sizes = {"frames": 3, "features": 8, "units": 8, "attention": 4, "length": 4, "words": 20}
    made = []
    for batch in (16, 32, 64):
        for what in ("forward", "gradient"):
            params = {"what": what, "batch": batch, **sizes}
            made.append(
                Case(f"{what}, batch {batch}", params, "ms", 0, [Target(1.0, "torch"), Target(1.0, "jax")], 1e-3)
            )
    return made


suite = Suite("captioning", cases, doc=__doc__)


def data(
    batch: int, frames: int, features: int, units: int, attention: int, length: int, words: int
) -> list[np.ndarray]:
    """Frames, words by time, following words, then the weights."""
    rng = np.random.default_rng(1)
    text = rng.integers(0, words, (length + 1, batch))
    shapes: list[tuple[int, ...]] = [
        (words, units), (units, 4 * units), (units, 4 * units), (features, 4 * units), (4 * units,),
        (features, attention), (units, attention), (attention,), (units, words),
    ]  # fmt: skip
    film = rng.normal(size=(batch, frames, features)).astype("float32")
    return [film, text[:-1], text[1:], *(rng.uniform(-0.05, 0.05, s).astype("float32") for s in shapes)]


def step(
    lib: Any, softmax: Callable, sigmoid: Callable, n: int, x: Any, h: Any, c: Any, film: Any, keys: Any, p: dict
) -> Any:
    """One word: attention, then the LSTM. `x` is the word's part of its gates."""
    share = softmax(lib.tanh(keys + (h @ p["of_state"])[:, None, :]) @ p["score"])
    context = (share[:, :, None] * film).sum(1)
    z = x + h @ p["state"] + context @ p["look"]
    i, f, g, o = (z[:, k * n : (k + 1) * n] for k in range(4))
    c = sigmoid(f) * c + sigmoid(i) * lib.tanh(g)
    return sigmoid(o) * lib.tanh(c), c


@suite.side("termgraph")
def termgraph_side(who: str, what: str, batch: int, units: int, length: int, **sizes: int) -> Statement:
    import termgraph as tg
    import termgraph.tensor as T

    film_, x_, y_, *start = data(batch, units=units, length=length, **sizes)
    p = {k: tg.shared(v, name=k) for k, v in zip(NAMES, start)}
    film, x, y = T.ftensor3("film"), T.lmatrix("x"), T.lmatrix("y")
    keys, zeros = film @ p["of_frame"], T.zeros((batch, units), dtype="float32")
    softmax = lambda s: T.softmax(s, axis=1)  # noqa: E731
    (h, _), _ = tg.scan(
        lambda x, h, c: step(T, softmax, T.sigmoid, units, x, h, c, film, keys, p),
        sequences=p["embedding"][x] @ p["input"] + p["bias"], outputs_info=[zeros, zeros],
    )  # fmt: skip
    scores = T.log_softmax(h @ p["out"], axis=2)
    loss = -T.take_along_axis(scores, y.dimshuffle(0, 1, "x"), axis=2).mean()
    f = tg.function([film, x, y], [loss, *tg.grad(loss, list(p.values()))] if what == "gradient" else [loss])
    f.trust_input = True
    return Statement("f(film, x, y)[0]", f=f, film=film_, x=x_, y=y_)


@suite.side("jax")
def jax_side(who: str, what: str, units: int, length: int, **sizes: int) -> Statement:
    import jax
    import jax.numpy as jnp

    film, x, y, *start = jax_arrays(*data(units=units, length=length, **sizes))
    softmax = lambda s: jax.nn.softmax(s, axis=1)  # noqa: E731

    def loss(weights: Any, film: Any, x: Any, y: Any) -> Any:
        p = dict(zip(NAMES, weights))
        keys = film @ p["of_frame"]

        def body(carry: Any, x: Any) -> Any:
            carry = step(jnp, softmax, jax.nn.sigmoid, units, x, *carry, film, keys, p)
            return carry, carry[0]

        zeros = jnp.zeros((film.shape[0], units), "float32")
        h = jax.lax.scan(body, (zeros, zeros), p["embedding"][x] @ p["input"] + p["bias"])[1]
        return -jnp.take_along_axis(jax.nn.log_softmax(h @ p["out"], axis=2), y[:, :, None], axis=2).mean()

    f = jax.jit(jax.value_and_grad(loss) if what == "gradient" else lambda *a: (loss(*a),))

    def run() -> Any:
        found = f(start, film, x, y)
        jax.block_until_ready(found)
        return found[0]

    return Statement("f()", f=run)


@suite.side("torch", "torch-compile")
def torch_side(who: str, what: str, units: int, length: int, **sizes: int) -> Statement:
    import torch

    film, x, y, *start = torch_arrays(*data(units=units, length=length, **sizes))
    torch.set_grad_enabled(what == "gradient")
    p = {k: v.requires_grad_(what == "gradient") for k, v in zip(NAMES, start)}
    softmax = lambda s: torch.softmax(s, dim=1)  # noqa: E731

    def loss() -> Any:
        gates = torch.nn.functional.embedding(x, p["embedding"]) @ p["input"] + p["bias"]
        keys = film @ p["of_frame"]
        h = c = torch.zeros(film.shape[0], units)
        states = []
        for t in range(length):
            h, c = step(torch, softmax, torch.sigmoid, units, gates[t], h, c, film, keys, p)
            states.append(h)
        scores = torch.stack(states) @ p["out"]
        return torch.nn.functional.cross_entropy(scores.reshape(-1, scores.shape[2]), y.reshape(-1))

    f = torch_compiled(who, loss)

    def run() -> Any:
        value = f()
        if what == "gradient":
            torch.autograd.grad(value, list(p.values()))
        return value.detach()

    return Statement("f()", f=run)


if __name__ == "__main__":
    raise SystemExit(suite.main())
