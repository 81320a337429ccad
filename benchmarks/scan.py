"""Loops, per step: AR(1) on scalars, an Elman and an LSTM layer forward and with backpropagation through time.

AR(1): y = a*y + e[t], float64. Elman: 100 units, batch 20; LSTM: 200 units, batch 20; 100 steps, float32; the loss is
the mean square of all hidden states. The step is written as in a textbook: the products of the inputs are in the loop.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from contenders import jax_arrays, pytensor_function, torch_arrays, torch_compiled
from harness import Case, Statement, Suite, Target

A = 0.9


def cases(quick: bool) -> list[Case]:
    steps, units = (10, {"elman": 8, "lstm": 8}) if quick else (100, {"elman": 100, "lstm": 200})
    ar = 100 if quick else 100_000
    made = [
        Case(
            "AR(1)",
            {"kind": "ar1", "steps": ar, "units": 1, "grad": False},
            "ns",
            ar,
            both(0.75, "jax", 2.5, "handc"),
            every=True,
        )
    ]
    goals = {
        ("elman", False): [Target(1 / 0.9, "handc")], ("elman", True): [Target(1.0)],
        ("lstm", False): both(1.0, "torch-nn", 1 / 1.1, "jax"), ("lstm", True): both(1.0, "torch-nn", 1 / 1.1, "jax"),
    }  # fmt: skip
    for kind in ("elman", "lstm"):
        for grad in (False, True):
            name = f"{kind} {units[kind]} units, {'forward and BPTT' if grad else 'forward'}"
            params = {"kind": kind, "steps": steps, "units": units[kind], "grad": grad}
            made.append(Case(name, params, "us", steps, goals[kind, grad], 2e-3, every=True))
    return made


def both(r: float, of: str, s: float, also: str) -> list[Target]:
    return [Target(r, of), Target(s, also)]


suite = Suite("scan", cases, doc=__doc__)


def data(kind: str, steps: int, units: int) -> list[np.ndarray]:
    """Inputs, then weights w (input), u (recurrent), b."""
    rng = np.random.default_rng(1)
    if kind == "ar1":
        return [rng.standard_normal(steps)]
    width = units * (4 if kind == "lstm" else 1)
    scale = 1 / np.sqrt(units)
    shapes = [(steps, 20, units), (units, width), (units, width), (width,)]
    return [(rng.standard_normal(s) * (scale if k else 1)).astype("float32") for k, s in enumerate(shapes)]


def elman_step(tanh: Callable, x: Any, h: Any, w: Any, u: Any, b: Any) -> Any:
    return tanh(x @ w + h @ u + b)


def lstm_step(tanh: Callable, sigmoid: Callable, x: Any, h: Any, c: Any, w: Any, u: Any, b: Any, n: int) -> tuple:
    z = x @ w + h @ u + b
    i, f, g, o = (z[:, k * n : (k + 1) * n] for k in range(4))
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    return sigmoid(o) * tanh(c), c


def unrolled(tanh: Callable, sigmoid: Callable, stack: Callable, zeros: Any, kind: str, n: int, v: Any) -> Any:
    """The loop in Python, for eager libraries."""
    x, w, u, b = v
    h = c = zeros
    states = []
    for t in range(len(x)):
        if kind == "elman":
            h = elman_step(tanh, x[t], h, w, u, b)
        else:
            h, c = lstm_step(tanh, sigmoid, x[t], h, c, w, u, b, n)
        states.append(h)
    return stack(states)


@suite.side("python", "numpy")
def numpy_side(who: str, kind: str, steps: int, units: int, grad: bool) -> Statement:
    v = data(kind, steps, units)
    if grad or (who == "python" and kind != "ar1"):
        raise NotImplementedError("only the forward loop is written by hand" if grad else "plain floats: AR(1) only")
    if kind == "ar1":

        def loop(e: Any, y: Any) -> list:
            return [y := A * y + x for x in e]

        e, y = (v[0].tolist(), 0.0) if who == "python" else (v[0], np.float64(0))
        return Statement("f(e, y)", f=lambda e, y: [loop(e, y)], e=e, y=y)

    def sigmoid(z: Any) -> Any:
        return 1 / (1 + np.exp(-z))

    zeros = np.zeros((20, units), "float32")
    return Statement("f()", f=lambda: unrolled(np.tanh, sigmoid, np.stack, zeros, kind, units, v))


@suite.side("pytensor", "pytensor-numba")
def pytensor_side(who: str, kind: str, steps: int, units: int, grad: bool) -> Statement:
    import pytensor
    import pytensor.tensor as pt

    def scan(fn: Callable, **options: Any) -> Any:
        return pytensor.scan(fn, return_updates=False, **options)

    return scanned(pt, scan, pytensor.grad, lambda i, o: pytensor_function(who, i, o), kind, steps, units, grad)


@suite.side("termgraph")
def termgraph_side(who: str, kind: str, steps: int, units: int, grad: bool) -> Statement:
    import termgraph as tg
    import termgraph.tensor as T

    def scan(fn: Callable, **options: Any) -> Any:
        return tg.scan(fn, **options)[0]

    return scanned(T, scan, lambda *a: tg.grad(*a), tg.function, kind, steps, units, grad)


def scanned(
    lib: Any, scan: Callable, grad_of: Callable, compiled: Callable, kind: str, steps: int, units: int, grad: bool
) -> Statement:
    """PyTensor and termgraph: Theano's scan signature."""
    v = data(kind, steps, units)
    if kind == "ar1":
        e = lib.dvector("e")
        y = scan(lambda x, y: A * y + x, sequences=e, outputs_info=lib.constant(0.0, dtype="float64"))
        f = compiled([e], y)
    else:
        x, w, u, b = lib.ftensor3("x"), lib.fmatrix("w"), lib.fmatrix("u"), lib.fvector("b")
        zeros = lib.zeros((20, units), dtype="float32")
        if kind == "elman":
            h = scan(
                lambda x, h, w, u, b: elman_step(lib.tanh, x, h, w, u, b),
                sequences=x, outputs_info=zeros, non_sequences=[w, u, b],
            )  # fmt: skip
        else:
            h, _ = scan(
                lambda x, h, c, w, u, b: lstm_step(lib.tanh, lib.sigmoid, x, h, c, w, u, b, units),
                sequences=x, outputs_info=[zeros, zeros], non_sequences=[w, u, b],
            )  # fmt: skip
        loss = (h**2).mean()
        f = compiled([x, w, u, b], [loss, *grad_of(loss, [w, u, b])] if grad else h)
    f.trust_input = True
    return Statement("f(*v)", f=f, v=v)


@suite.side("jax")
def jax_side(who: str, kind: str, steps: int, units: int, grad: bool) -> Statement:
    import jax
    import jax.numpy as jnp

    v = jax_arrays(*data(kind, steps, units))

    def ar1(e: Any) -> Any:
        return jax.lax.scan(lambda y, x: (A * y + x,) * 2, jnp.zeros(()), e)[1]

    def states(w: Any, u: Any, b: Any, x: Any) -> Any:
        zeros = jnp.zeros((20, units), "float32")
        if kind == "elman":
            return jax.lax.scan(lambda h, x: (elman_step(jnp.tanh, x, h, w, u, b),) * 2, zeros, x)[1]

        def step(carry: Any, x: Any) -> Any:
            h, c = lstm_step(jnp.tanh, jax.nn.sigmoid, x, *carry, w, u, b, units)
            return (h, c), h

        return jax.lax.scan(step, (zeros, zeros), x)[1]

    if kind == "ar1":
        f = jax.jit(ar1)
    elif grad:
        both = jax.value_and_grad(lambda *v: (states(*v) ** 2).mean(), (0, 1, 2))

        def flat(x: Any, *w: Any) -> list:
            loss, grads = both(*w, x)
            return [loss, *grads]

        f = jax.jit(flat)
    else:
        f = jax.jit(lambda x, *w: states(*w, x))
    return Statement("wait(f(*v))", f=f, v=v, wait=jax.block_until_ready)


@suite.side("torch", "torch-compile", "torch-nn")
def torch_side(who: str, kind: str, steps: int, units: int, grad: bool) -> Statement:
    import torch

    torch.set_grad_enabled(grad)
    v = torch_arrays(*data(kind, steps, units))
    if kind == "ar1":
        if who != "torch":
            raise NotImplementedError("would unroll the loop" if who == "torch-compile" else "no such layer")

        def ar1() -> Any:
            y, out = torch.zeros((), dtype=torch.float64), []
            for x in v[0]:
                y = A * y + x
                out.append(y)
            return torch.stack(out)

        return Statement("f()", f=ar1)
    if who == "torch-compile" and kind == "lstm":
        raise NotImplementedError("unrolls the loop: compiles for many minutes")
    x, *weights = v
    zeros = torch.zeros(20, units)
    if who == "torch-nn":
        layer = (torch.nn.RNN if kind == "elman" else torch.nn.LSTM)(units, units)
        with torch.no_grad():
            layer.weight_ih_l0.copy_(weights[0].T), layer.weight_hh_l0.copy_(weights[1].T)
            layer.bias_ih_l0.copy_(weights[2]), layer.bias_hh_l0.zero_()
        weights = [layer.weight_ih_l0, layer.weight_hh_l0, layer.bias_ih_l0]
        states = lambda: layer(x)[0]  # noqa: E731
    else:
        f = torch_compiled(who, lambda *v: unrolled(torch.tanh, torch.sigmoid, torch.stack, zeros, kind, units, v))
        states = lambda: f(x, *weights)  # noqa: E731
    if not grad:
        return Statement("f()", f=lambda: states().detach())
    for w in weights:
        w.requires_grad_(True)

    def both() -> list:
        loss = (states() ** 2).mean()
        grads = torch.autograd.grad(loss, weights)
        return [loss.detach(), *(g.T if who == "torch-nn" and g.ndim == 2 else g for g in grads)]

    return Statement("f()", f=both)


@suite.side("handc")
def handc_side(who: str, kind: str, steps: int, units: int, grad: bool) -> Statement:
    import ctypes

    import native

    if grad:
        raise NotImplementedError("only the forward loops are written by hand")
    v = data(kind, steps, units)
    f = getattr(native.library("scan", *native.blas()), kind)
    if kind == "ar1":
        out = np.empty(steps)
        words = [
            native.pointer(out),
            native.pointer(v[0]),
            ctypes.c_double(A),
            ctypes.c_double(0),
            ctypes.c_int64(steps),
        ]
        return Statement("(f(*words), kept[0])[1]", f=f, words=words, kept=(out, v))
    out, zeros = np.empty((steps, 20, units), "float32"), np.zeros((20, units), "float32")
    scratch = [] if kind == "elman" else [np.empty((steps, 20, 4 * units), "float32"), np.empty_like(zeros)]
    arrays = [out, *scratch, *v, *([zeros] if kind == "elman" else [zeros, zeros])]
    words = [*map(native.pointer, arrays), steps, 20, units, units]
    return Statement("(f(*words), kept[0])[1]", f=f, words=words, kept=arrays)


if __name__ == "__main__":
    raise SystemExit(suite.main())
