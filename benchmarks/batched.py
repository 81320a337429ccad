"""Matrix products in GFLOP/s: one big, one small, a batch of 1000 64x64; plain and with bias and relu.

In the rows "gemm 1024 + bias + relu" `handc` is the plain BLAS product, so that its ratio says what the epilogue costs.
"""

from typing import Any

import numpy as np
from contenders import jax_arrays, pytensor_function, torch_arrays, torch_compiled
from harness import Case, Statement, Suite, Target


def cases(quick: bool) -> list[Case]:
    big, small, batch, side = (32, 16, 4, 8) if quick else (1024, 128, 1000, 64)
    shapes = [
        ("gemm 1024", (), big, False, []),
        ("gemm 1024 + bias + relu", (), big, True, [Target(1.03, "handc")]),
        ("gemm 128", (), small, False, []),
        ("1000 x 64x64", (batch,), side, False, []),
        ("1000 x 64x64 + bias + relu", (batch,), side, True, [Target(1.0, "pytensor")]),
    ]
    return [
        Case(
            f"{name} {dtype}", {"batch": list(lead), "n": n, "epilogue": epilogue, "dtype": dtype}, "GFLOP/s",
            2.0 * n**3 * int(np.prod(lead)), goals, rtol,
        )
        for name, lead, n, epilogue, goals in shapes for dtype, rtol in (("float32", 1e-3), ("float64", 1e-8))
    ]  # fmt: skip


suite = Suite("batched", cases, doc=__doc__)


def data(batch: list, n: int, epilogue: bool, dtype: str) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    shapes = [(*batch, n, n), (*batch, n, n), (n,)]
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes[: 3 if epilogue else 2]]


def write(maximum: Any, v: Any) -> Any:
    product = v[0] @ v[1]
    return maximum(product + v[2], 0) if len(v) == 3 else product


@suite.side("numpy")
def numpy_side(who: str, batch: list, n: int, epilogue: bool, dtype: str) -> Statement:
    v = data(batch, n, epilogue, dtype)
    out = np.empty_like(v[0])

    def f() -> np.ndarray:
        np.matmul(v[0], v[1], out=out)
        if epilogue:
            np.add(out, v[2], out=out)
            np.maximum(out, 0, out=out)
        return out

    return Statement("f()", f=f)


@suite.side("pytensor", "pytensor-numba")
def pytensor_side(who: str, batch: list, n: int, epilogue: bool, dtype: str) -> Statement:
    import pytensor.tensor as pt

    v = data(batch, n, epilogue, dtype)
    symbols = [pt.tensor(dtype=dtype, shape=(None,) * x.ndim) for x in v]
    f = pytensor_function(who, symbols, write(pt.maximum, symbols))
    f.trust_input = True
    return Statement("f(*v)", f=f, v=v)


@suite.side("jax")
def jax_side(who: str, batch: list, n: int, epilogue: bool, dtype: str) -> Statement:
    import jax
    import jax.numpy as jnp

    f = jax.jit(lambda *v: write(jnp.maximum, v))
    return Statement("f(*v).block_until_ready()", f=f, v=jax_arrays(*data(batch, n, epilogue, dtype)))


@suite.side("torch", "torch-compile")
def torch_side(who: str, batch: list, n: int, epilogue: bool, dtype: str) -> Statement:
    import torch

    torch.set_grad_enabled(False)
    f = torch_compiled(who, lambda *v: write(lambda a, low: torch.relu(a), v))
    return Statement("f(*v)", f=f, v=torch_arrays(*data(batch, n, epilogue, dtype)))


@suite.side("handc")
def handc_side(who: str, batch: list, n: int, epilogue: bool, dtype: str) -> Statement:
    import ctypes

    import native

    v = data(batch, n, epilogue, dtype)
    out, bias = np.empty_like(v[0]), v[2] if epilogue else v[0]
    plain = epilogue and not batch
    f = getattr(native.library("gemm", *native.blas()), f"gemm_{dtype}")
    words = [*map(native.pointer, (out, v[0], v[1], bias)), int(epilogue and not plain)]
    words += [ctypes.c_int64(int(np.prod(batch))), n]
    return Statement("(f(*words), kept[0])[1]", {"unchecked": plain}, f=f, words=words, kept=(out, v))


@suite.side("termgraph")
def termgraph_side(who: str, batch: list, n: int, epilogue: bool, dtype: str) -> Statement:
    import termgraph as tg
    import termgraph.tensor as T

    v = data(batch, n, epilogue, dtype)
    symbols = [T.tensor(f"v{k}", dtype=dtype, shape=(None,) * x.ndim) for k, x in enumerate(v)]
    return Statement("f(*v)", f=tg.function(symbols, write(T.maximum, symbols)), v=v)


if __name__ == "__main__":
    raise SystemExit(suite.main())
