"""Reductions of a 1000x1000 matrix: sums, row log-sum-exp and shifted exponentials, cross-entropy with gradient.

`handc` reads the matrix and adds: where a peer is close to that, nobody can be 1.2 times as fast.
"""

from typing import Any

import numpy as np
from contenders import jax_arrays, pytensor_function, torch_arrays, torch_compiled
from harness import Case, Statement, Suite, Target

KINDS = ("sum all", "sum axis 0", "sum axis 1", "logsumexp rows", "sum exp(x-max) rows", "xent + gradient")


def cases(quick: bool) -> list[Case]:
    n = 20 if quick else 1000
    return [
        Case(f"{kind} {dtype}", {"kind": kind, "dtype": dtype, "n": n}, "us", 0, goals(kind), rtol)
        for kind in KINDS
        for dtype, rtol in (("float64", 1e-8), ("float32", 2e-3))
    ]


def goals(kind: str) -> list[Target]:
    return [Target(1 / 1.2), Target(1 / 0.9, "handc")] if kind.startswith("sum a") else [Target(1 / 1.2)]


suite = Suite("reductions", cases, doc=__doc__)


def data(kind: str, dtype: str, n: int) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((n, n)).astype(dtype)
    return [x, rng.integers(0, n, n)] if kind.startswith("xent") else [x]


def write(lib: Any, kind: str, x: Any) -> Any:
    """The kinds that all of NumPy, PyTensor, JAX and termgraph spell the same way."""
    if kind.startswith("sum axis"):
        return x.sum(axis=int(kind[-1]))
    if kind == "sum all":
        return x.sum()
    if kind == "sum exp(x-max) rows":
        return lib.exp(x - x.max(axis=1, keepdims=True)).sum(axis=1)
    raise KeyError(kind)


@suite.side("numpy")
def numpy_side(who: str, kind: str, dtype: str, n: int) -> Statement:
    v = data(kind, dtype, n)

    def logsumexp(x: np.ndarray) -> np.ndarray:
        top = x.max(axis=1)
        return np.log(np.exp(x - top[:, None]).sum(axis=1)) + top

    def xent(x: np.ndarray, y: np.ndarray) -> tuple:
        shifted = x - x.max(axis=1, keepdims=True)
        e = np.exp(shifted)
        total = e.sum(axis=1, keepdims=True)
        rows = np.arange(len(y))
        loss = (np.log(total[:, 0]) - shifted[rows, y]).mean()
        e /= total
        e[rows, y] -= 1
        e /= len(y)
        return loss, e

    f = {"logsumexp rows": logsumexp, "xent + gradient": xent}.get(kind, lambda x: write(np, kind, x))
    return Statement("f(*v)", f=f, v=v)


@suite.side("pytensor", "pytensor-numba")
def pytensor_side(who: str, kind: str, dtype: str, n: int) -> Statement:
    import pytensor
    import pytensor.tensor as pt
    from pytensor.tensor.special import log_softmax

    v = data(kind, dtype, n)
    x, y = pt.matrix("x", dtype=dtype), pt.lvector("y")
    if kind.startswith("xent"):
        loss = -log_softmax(x, axis=1)[pt.arange(y.shape[0]), y].mean()
        f = pytensor_function(who, [x, y], [loss, pytensor.grad(loss, x)])
    else:
        f = pytensor_function(who, [x], pt.logsumexp(x, axis=1) if kind.startswith("log") else write(pt, kind, x))
    f.trust_input = True
    return Statement("f(*v)", f=f, v=v)


@suite.side("jax")
def jax_side(who: str, kind: str, dtype: str, n: int) -> Statement:
    import jax
    import jax.numpy as jnp

    def xent(x: Any, y: Any) -> Any:
        return -jax.nn.log_softmax(x, axis=1)[jnp.arange(n), y].mean()

    if kind.startswith("xent"):
        f = jax.jit(jax.value_and_grad(xent))
    elif kind.startswith("log"):
        f = jax.jit(lambda x: jax.scipy.special.logsumexp(x, axis=1))
    else:
        f = jax.jit(lambda x: write(jnp, kind, x))
    return Statement("wait(f(*v))", f=f, v=jax_arrays(*data(kind, dtype, n)), wait=jax.block_until_ready)


@suite.side("torch", "torch-compile")
def torch_side(who: str, kind: str, dtype: str, n: int) -> Statement:
    import torch

    v = torch_arrays(*data(kind, dtype, n))

    def xent(x: Any, y: Any) -> Any:
        return torch.nn.functional.cross_entropy(x, y)

    forms = {
        "sum all": lambda x: x.sum(),
        "sum axis 0": lambda x: x.sum(0),
        "sum axis 1": lambda x: x.sum(1),
        "logsumexp rows": lambda x: torch.logsumexp(x, 1),
        "sum exp(x-max) rows": lambda x: torch.exp(x - x.amax(1, keepdim=True)).sum(1),
    }
    if kind in forms:
        torch.set_grad_enabled(False)
        return Statement("f(*v)", f=torch_compiled(who, forms[kind]), v=v)
    torch.set_grad_enabled(True)
    loss = torch_compiled(who, xent)
    v[0].requires_grad_(True)

    def both() -> tuple:
        value = loss(*v)
        return value.detach(), torch.autograd.grad(value, v[0])[0]

    return Statement("f()", f=both)


@suite.side("handc")
def handc_side(who: str, kind: str, dtype: str, n: int) -> Statement:
    import ctypes

    import native

    if not kind.startswith("sum a"):
        raise NotImplementedError("only plain sums have a ceiling")
    (x,) = data(kind, dtype, n)
    out = np.empty(() if kind == "sum all" else n, dtype)
    f = getattr(native.library("reductions"), f"{kind[4:].replace(' ', '')}_{dtype}")
    words = [native.pointer(out), native.pointer(x), ctypes.c_int64(n)]
    return Statement("(f(*words), kept[0])[1]", f=f, words=words, kept=(out, x))


@suite.side("termgraph")
def termgraph_side(who: str, kind: str, dtype: str, n: int) -> Statement:
    import termgraph as tg
    import termgraph.tensor as T

    v = data(kind, dtype, n)
    x, y = T.matrix("x", dtype=dtype), T.lvector("y")
    if kind.startswith("xent"):
        loss = -T.log_softmax(x, axis=1)[T.arange(y.shape[0]), y].mean()
        f = tg.function([x, y], [loss, tg.grad(loss, x)])
    else:
        f = tg.function([x], T.logsumexp(x, axis=1) if kind.startswith("log") else write(T, kind, x))
    return Statement("f(*v)", f=f, v=v)


if __name__ == "__main__":
    raise SystemExit(suite.main())
