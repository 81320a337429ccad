"""Small whole programs, one for each feature that a graph may have. Each call makes variables and values anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import termgraph as tg
import termgraph.tensor as T


@dataclass
class Program:
    """Inputs with their values, outputs, and what NumPy says of them."""

    inputs: list[Any]
    outputs: list[Any]
    values: list[np.ndarray]
    numpys: Callable[..., list] | None = None
    updates: dict[Any, Any] = field(default_factory=dict)
    digits: float = 1e-8  # how far off results may be


PROGRAMS: dict[str, Callable[[], Program]] = {}


def program(make: Callable[..., Program]) -> Callable[..., Program]:
    PROGRAMS[make.__name__] = lambda: make(lambda *shape: np.random.default_rng(len(shape)).normal(size=shape) * 0.7)
    return make


def variable(name: str, value: Any) -> Any:
    return T.tensor(name, dtype=np.asarray(value).dtype.name, shape=np.shape(value))


@program
def layers(drawn):
    x, w = drawn(5, 4), drawn(4, 6).T.reshape(4, 6)
    X, W = variable("x", x), variable("w", w)
    soft = lambda e: e / e.sum(1, keepdims=True)  # noqa: E731
    return Program(
        [X, W],
        [T.tanh(X @ W).sum(1), T.softmax(X @ W, axis=1).sum(0)],
        [x, w],
        lambda x, w: [np.tanh(x @ w).sum(1), soft(np.exp(x @ w)).sum(0)],
    )


@program
def until(drawn):
    x, c = drawn(3), np.array(1.3)
    X, C = variable("x", x), variable("c", c)
    (a, b), _ = tg.scan(
        lambda h, n: ([T.tanh(h * C) + X, n + (h**2).sum()], tg.until(n > 3.0)),
        outputs_info=[T.zeros(3), T.constant(0.0)],
        n_steps=20,
    )

    def numpys(x, c):
        h, n, total, stop = np.zeros(3), 0.0, 0.0, False
        for _ in range(20):
            h, n, stop = np.tanh(h * c) + x, n + (h**2).sum(), n > 3.0
            total = total + h
            if stop:
                break
        return [total, np.asarray(n), h]

    return Program([X, C], [a.sum(0), b[-1], a[-1]], [x, c], numpys)


@program
def taps_backwards(drawn):
    x, h = drawn(6, 2), drawn(2, 2)
    X, H = variable("x", x), variable("h", h)
    y, _ = tg.scan(
        lambda a, b, p, q: T.sin(a * p) + b * q,
        sequences=[{"input": X, "taps": [0, 1]}],
        outputs_info=[{"initial": H, "taps": [-2, -1]}],
        go_backwards=True,
    )

    def numpys(x, h):
        rows, back = list(h), x[::-1]
        for t in range(5):
            rows.append(np.sin(back[t + 1] * rows[-2]) + back[t] * rows[-1])
        return [np.array(rows[2:])]

    return Program([X, H], [y], [x, h], numpys)


@program
def many_until(drawn):
    x = np.abs(drawn(4)) + 0.2
    X = variable("x", x)

    def one(a):
        ys, _ = tg.scan(lambda h: (h * 1.5 + a, tg.until(h > 3.0)), outputs_info=a, n_steps=12)
        return ys[-1], ys.sum()

    def numpys(x):
        last, sums = x.copy(), np.zeros(4)
        for k, a in enumerate(x):
            stop = False
            while not stop:
                stop, last[k] = last[k] > 3.0, last[k] * 1.5 + a
                sums[k] += last[k]
        return [last, sums]

    return Program([X], list(tg.vmap(one)(X)), [x], numpys)


@program
def choice_in_steps(drawn):
    x = drawn(7)
    X = variable("x", x)
    last, ys = tg.loop(lambda c, r: (tg.ifelse(r > 0, T.tanh(c + r), c * 0.5), c * r), T.constant(0.3), X)

    def numpys(x):
        c, ys = np.asarray(0.3), []
        for r in x:
            ys.append(c * r)
            c = np.tanh(c + r) if r > 0 else c * 0.5
        return [c, np.array(ys)]

    return Program([X], [last, ys], [x], numpys)


@program
def checkpointed(drawn):
    x, w = drawn(4, 3), drawn(3, 3)
    X, W = variable("x", x), variable("w", w)
    steps = lambda X, W: tg.scan(lambda r, h: T.tanh(r + h @ W), sequences=X, outputs_info=T.zeros(3))[0]  # noqa: E731
    return Program([X, W], [tg.checkpoint(steps)(X, W)], [x, w])


@program
def complex_numbers(drawn):
    x, z = drawn(8), drawn(8) + 1j * drawn(8)[::-1]
    X, Z = variable("x", x), variable("z", z)
    return Program(
        [X, Z],
        [T.abs(T.fft.fft(X * Z)), T.real(T.conj(Z) * Z).sum(), Z * X],
        [x, z],
        lambda x, z: [np.abs(np.fft.fft(x * z)), (np.conj(z) * z).real.sum(), z * x],
    )


@program
def second_order(drawn):
    x, w = drawn(4), drawn(4, 4)
    X, W = variable("x", x), variable("w", w)
    curved = tg.hessian((T.tanh(W @ X) ** 2).sum(), X)
    along = tg.jvp(lambda a: T.sin(W @ a), (X,), (X * 2,))[1]
    k = T.exp(X)
    constant = tg.grad((k * X).sum(), X, consider_constant=[k])
    return Program([X, W], [curved, along, constant], [x, w], digits=1e-7)


@program
def orders(drawn):
    x, i = drawn(6, 3), np.array([4, 0, 4, -1])
    X, I = variable("x", x), variable("i", i)

    def numpys(x, i):
        added = x.copy()
        np.add.at(added, (i, 1), 2.0)
        return [x[i], added, np.sort(x, 0)[::-1], np.argsort(x, 0)]

    outputs = [X[I], T.inc_subtensor(X[I, 1], 2.0), T.sort(X, axis=0)[::-1], T.argsort(X, axis=0)]
    return Program([X, I], outputs, [x, i], numpys)


@program
def nothing(drawn):
    x, s = np.zeros((0, 3)), np.array(2.5)
    X, S = variable("x", x), variable("s", s)
    outputs = [X.sum(0) + S, X * S, T.concatenate([X, T.ones((1, 3)) * S])]
    return Program([X, S], outputs, [x, s], lambda x, s: [x.sum(0) + s, x * s, np.ones((1, 3)) * s])


@program
def halves(drawn):
    x = drawn(4, 5).astype("float16")
    X = variable("x", x)
    B = X.astype("bfloat16")
    return Program([X], [T.tanh(X).sum(axis=1), (B * B).sum(0).astype("float32")], [x], digits=2e-2)


@program
def folded(drawn):
    x, w = drawn(4, 3), drawn(3, 3)
    X, W = variable("x", x), variable("w", w)
    a, b = T.dvector("a"), T.dmatrix("b")
    op = tg.OpFromGraph([a, b], [T.tanh(b @ a), a.sum()])
    y = tg.vmap(lambda r: op(op(r, W)[0], W)[0])(X)
    z, _ = tg.scan(lambda r, h: op(h + r, W)[0], sequences=X, outputs_info=T.zeros(3))
    return Program([X, W], [y, z], [x, w])


@program
def training(drawn):
    x, t = drawn(6, 3), drawn(6)
    X, Y = variable("x", x), variable("t", t)
    w, b = tg.shared(np.array([0.1, -0.2, 0.3]), name="w"), tg.shared(0.05, name="b")
    cost = ((T.tanh(X @ w) + b - Y) ** 2).mean()
    updates = tg.optim.chain(tg.optim.clip_by_global_norm(0.3), tg.optim.adam(0.1))(cost, [w, b])
    return Program([X, Y], [cost], [x, t], updates=dict(updates))


@program
def random_draws(drawn):
    x = drawn(4)
    X = variable("x", x)
    stream = T.random.RandomStream(5)
    return Program([X], [stream.normal(size=(4,)) * X, stream.uniform(size=(4,)) + X.sum()], [x])
