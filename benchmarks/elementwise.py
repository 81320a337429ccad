"""Fused element-wise expressions, in GB/s of the traffic that cannot be avoided.

heavy = tanh(a*x+b)*exp(-x**2)+log1p(|y|) with scalars a, b (3 streams); cheap = 2a+3b-c (4 streams).
"""

from typing import Any

import numpy as np
from contenders import jax_arrays, pytensor_function, torch_arrays, torch_compiled
from harness import Case, Statement, Suite, Target

A, B = 0.7, 0.3
STREAMS = {"heavy": 3, "cheap": 4}


def cases(quick: bool) -> list[Case]:
    sizes = [("1e3", 10**3)] if quick else [("1e3", 10**3), ("1e5", 10**5), ("1e7", 10**7)]
    goals = [Target(1 / 1.3), Target(1 / 0.9, "handc")]
    return [
        Case(
            f"{expr} {dtype} {label}", {"expr": expr, "dtype": dtype, "n": n}, "GB/s",
            STREAMS[expr] * n * np.dtype(dtype).itemsize, goals, 1e-3 if dtype == "float32" else 1e-9,
        )
        for expr in STREAMS for dtype in ("float64", "float32") for label, n in sizes
    ]  # fmt: skip


suite = Suite("elementwise", cases, doc=__doc__)


def data(expr: str, dtype: str, n: int) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [rng.standard_normal(n).astype(dtype) for _ in range(STREAMS[expr] - 1)]


def write(lib: Any, expr: str, *v: Any) -> Any:
    """The expression in any library that has NumPy's names."""
    if expr == "cheap":
        return 2 * v[0] + 3 * v[1] - v[2]
    x, y = v
    return lib.tanh(A * x + B) * lib.exp(-(x**2)) + lib.log1p(abs(y))


@suite.side("numpy")
def numpy_side(who: str, expr: str, dtype: str, n: int) -> Statement:
    v = data(expr, dtype, n)
    return Statement("f(np, expr, *v)", f=write, np=np, expr=expr, v=v)


@suite.side("numexpr")
def numexpr_side(who: str, expr: str, dtype: str, n: int) -> Statement:
    import numexpr

    v = data(expr, dtype, n)
    real = np.dtype(dtype).type  # constants of the arrays' type: float64 ones would widen float32
    space: dict[str, Any] = dict(zip("xyz", v)) | {"A": real(A), "B": real(B), "p": real(2), "q": real(3)}
    text = "p*x + q*y - z" if expr == "cheap" else "tanh(A*x+B)*exp(-x*x)+log1p(abs(y))"
    numexpr.evaluate(text, space)
    return Statement("f(local_dict=space)", f=numexpr.re_evaluate, space=space)


@suite.side("pytensor", "pytensor-numba")
def pytensor_side(who: str, expr: str, dtype: str, n: int) -> Statement:
    import pytensor.tensor as pt

    v = data(expr, dtype, n)
    symbols = [pt.vector(dtype=dtype) for _ in v]
    f = pytensor_function(who, symbols, write(pt, expr, *symbols))
    f.trust_input = True
    return Statement("f(*v)", f=f, v=v)


@suite.side("jax")
def jax_side(who: str, expr: str, dtype: str, n: int) -> Statement:
    import jax
    import jax.numpy as jnp

    f = jax.jit(lambda *v: write(jnp, expr, *v))
    return Statement("f(*v).block_until_ready()", f=f, v=jax_arrays(*data(expr, dtype, n)))


@suite.side("torch", "torch-compile")
def torch_side(who: str, expr: str, dtype: str, n: int) -> Statement:
    import torch

    torch.set_grad_enabled(False)
    f = torch_compiled(who, lambda *v: write(torch, expr, *v))
    return Statement("f(*v)", f=f, v=torch_arrays(*data(expr, dtype, n)))


@suite.side("handc")
def handc_side(who: str, expr: str, dtype: str, n: int) -> Statement:
    import ctypes

    import native

    v = data(expr, dtype, n)
    out = np.empty_like(v[0])
    real = ctypes.c_double if dtype == "float64" else ctypes.c_float
    if expr == "heavy":
        scale = np.array(A, dtype)
        words: list = [*map(native.pointer, (out, scale, *v)), real(B), ctypes.c_int64(n)]
        kept = (out, scale, v)
    else:
        words, kept = [*map(native.pointer, (out, *v)), ctypes.c_int64(n)], (out, out, v)
    f = getattr(native.library("elementwise"), f"{expr}_{dtype}")
    return Statement("(f(*words), kept[0])[1]", f=f, words=words, kept=kept)


@suite.side("termgraph")
def termgraph_side(who: str, expr: str, dtype: str, n: int) -> Statement:
    import termgraph as tg
    import termgraph.tensor as T

    v = data(expr, dtype, n)
    symbols = [T.tensor(f"v{i}", dtype=dtype, shape=(None,)) for i in range(len(v))]
    f = tg.function(symbols, write(T, expr, *symbols))
    return Statement("f(*v)", f=f, v=v)


if __name__ == "__main__":
    raise SystemExit(suite.main())
