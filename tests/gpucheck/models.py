"""Models of the kind that the literature measures, with a training step each: small for checks, of any size for speed.

Each gives (parameters, function, values of its inputs); the function returns the cost, and makes a step of gradient
descent. With `there` the cost stays on the GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import termgraph
import termgraph.tensor

T: Any = termgraph.tensor
tg: Any = termgraph
Model = tuple[list, Any, list]


def logistic(linker: str, dtype: str, rows: int = 32, columns: int = 20) -> Model:
    """Logistic regression."""
    rng = np.random.default_rng(0)
    x, y = T.matrix("x", dtype=dtype), T.vector("y", dtype=dtype)
    w, b = tg.shared(rng.standard_normal(columns).astype(dtype)), tg.shared(np.asarray(0.0, dtype))
    p = T.nnet.sigmoid(T.dot(x, w) + b)
    cost = T.mean(T.nnet.binary_crossentropy(p, y))
    values = [rng.standard_normal((rows, columns)).astype(dtype), (rng.random(rows) > 0.5).astype(dtype)]
    return _training(linker, [x, y], cost, [w, b], values, [p])


def mlp(linker: str, dtype: str, rows: int = 16, layers: Sequence[int] = (30, 40, 10), there: bool = False) -> Model:
    """Layers with tanh, then softmax cross-entropy."""
    rng = np.random.default_rng(0)
    x, y = T.matrix("x", dtype=dtype), T.lvector("y")
    shapes = [s for n, m in zip(layers, layers[1:]) for s in ((n, m), (m,))]
    w = [tg.shared((rng.standard_normal(s) / np.sqrt(s[0])).astype(dtype)) for s in shapes]
    h = x
    for k in range(0, len(w), 2):
        h = T.dot(h, w[k]) + w[k + 1]
        h = T.tanh(h) if k + 2 < len(w) else h
    cost = T.mean(T.nnet.categorical_crossentropy(T.nnet.softmax(h), y))
    values = [rng.standard_normal((rows, layers[0])).astype(dtype), rng.integers(0, layers[-1], rows)]
    return _training(linker, [x, y], cost, w, values, there=there)


def cell(x: Any, h: Any, c: Any, w: Any, n: int) -> tuple:
    """A step of an LSTM with n units; w is for input and state side by side."""
    z = T.dot(T.concatenate([x, h], 1), w)
    i, f, g, o = (z[:, k * n : (k + 1) * n] for k in range(4))
    new = T.nnet.sigmoid(f) * c + T.nnet.sigmoid(i) * T.tanh(g)
    return T.nnet.sigmoid(o) * T.tanh(new), new


def lstm(linker: str, dtype: str, steps: int = 6, rows: int = 4, n: int = 8, there: bool = False) -> Model:
    """An LSTM, with the gradient of its last output."""
    rng = np.random.default_rng(0)
    x, y = T.tensor3("x", dtype=dtype), T.matrix("y", dtype=dtype)
    w = tg.shared((rng.standard_normal((2 * n, 4 * n)) / np.sqrt(2 * n)).astype(dtype))
    hs = _layer(x, w, n, dtype)
    values = [rng.standard_normal((steps, rows, n)).astype(dtype), rng.standard_normal((rows, n)).astype(dtype)]
    more = [] if there else [hs]
    return _training(linker, [x, y], T.mean((hs[-1] - y) ** 2), [w], values, more, there)


def language_model(
    linker: str, dtype: str, steps: int = 5, rows: int = 3, n: int = 8, layers: int = 2, words: int = 30
) -> Model:
    """Embedded words, layers of LSTMs, and the probabilities of the next words."""
    rng = np.random.default_rng(0)
    x, y = T.lmatrix("x"), T.lmatrix("y")
    draw = lambda *shape: tg.shared(np.asarray(rng.uniform(-0.1, 0.1, shape)).astype(dtype))  # noqa: E731
    embedding, *middle = draw(words, n), *[draw(2 * n, 4 * n) for _ in range(layers)]
    out, bias = draw(n, words), draw(words)
    h = embedding[x]
    for w in middle:
        h = _layer(h, w, n, dtype)
    p = T.nnet.softmax(T.dot(h.reshape((-1, n)), out) + bias)
    cost = T.mean(T.nnet.categorical_crossentropy(p, y.flatten()))
    text = rng.integers(0, words, (steps + 1, rows))
    return _training(linker, [x, y], cost, [embedding, *middle, out, bias], [text[:-1], text[1:]])


def _layer(x: Any, w: Any, n: int, dtype: str) -> Any:
    zero = T.zeros((x.shape[1], n), dtype=dtype)
    step = lambda x, h, c, w: cell(x, h, c, w, n)  # noqa: E731
    return tg.scan(step, sequences=[x], outputs_info=[zero, zero], non_sequences=[w])[0][0]


def _training(
    linker: str, inputs: list, cost: Any, params: list, values: list, more: Sequence[Any] = (), there: bool = False
) -> Model:
    updates = [(p, p - np.asarray(0.1, p.dtype) * g) for p, g in zip(params, tg.grad(cost, params))]
    end = tg.Out(cost, target="cuda") if there else cost
    return params, tg.function(inputs, [end, *more], updates=updates, mode=tg.Mode(linker=linker)), values


__all__ = ["language_model", "logistic", "lstm", "mlp"]
