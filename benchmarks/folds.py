"""Folds that hold more than arithmetic on floats: counts, masks, truth values, arguments of extremes, complex numbers.

All of a matrix of 1000x1000, or along its rows or columns.
"""

from typing import Any

import numpy as np
from contenders import jax_arrays
from harness import Case, Statement, Suite, Target

# name: dtype of x, how it is written, and how closely it has to agree
KINDS: dict[str, tuple[str, Any, float]] = {
    "(x > 0).sum()": ("float64", lambda lib, x, m: (x > 0).sum(), 0),
    "(x > 0).sum(1)": ("float64", lambda lib, x, m: (x > 0).sum(axis=1), 0),
    "(x > 0).sum(0)": ("float64", lambda lib, x, m: (x > 0).sum(axis=0), 0),
    "(x > 0).mean()": ("float32", lambda lib, x, m: (x > 0).mean(), 1e-6),
    "(x >= 3).sum()": ("int64", lambda lib, x, m: (x >= 3).sum(), 0),
    "x.mean() int64": ("int64", lambda lib, x, m: x.mean(), 1e-12),
    "x.mean() int32": ("int32", lambda lib, x, m: x.mean(), 1e-5),
    "x.mean(1) int64": ("int64", lambda lib, x, m: x.mean(axis=1), 1e-12),
    "x.sum() int64": ("int64", lambda lib, x, m: x.sum(), 0),
    "x.sum(0) int64": ("int64", lambda lib, x, m: x.sum(axis=0), 0),
    "x.sum() uint8": ("uint8", lambda lib, x, m: x.sum(), 0),
    "x.sum() bool": ("bool", lambda lib, x, m: x.sum(), 0),
    "x.max() int32": ("int32", lambda lib, x, m: x.max(), 0),
    "x.max(1) int64": ("int64", lambda lib, x, m: x.max(axis=1), 0),
    "x.max(0) float64": ("float64", lambda lib, x, m: x.max(axis=0), 0),
    "any(x > 9)": ("float64", lambda lib, x, m: lib.any(x > 9), 0),
    "all(x < 9, 1)": ("float64", lambda lib, x, m: lib.all(x < 9, axis=1), 0),
    "any(isnan(x))": ("float64", lambda lib, x, m: lib.any(lib.isnan(x)), 0),
    "any(x, 0) bool": ("bool", lambda lib, x, m: lib.any(x, axis=0), 0),
    "argmax(x)": ("float64", lambda lib, x, m: lib.argmax(x), 0),
    "argmax(x, 1)": ("float64", lambda lib, x, m: lib.argmax(x, axis=1), 0),
    "argmax(x, 0)": ("float64", lambda lib, x, m: lib.argmax(x, axis=0), 0),
    "argmax(x, 1) float32": ("float32", lambda lib, x, m: lib.argmax(x, axis=1), 0),
    "argmin(x, 1) int64": ("int64", lambda lib, x, m: lib.argmin(x, axis=1), 0),
    "(x * mask).sum()": ("float64", lambda lib, x, m: (x * m).sum(), 1e-9),
    "(x * mask).sum(1)": ("float64", lambda lib, x, m: (x * m).sum(axis=1), 1e-9),
    "(x * mask).sum(0)": ("float64", lambda lib, x, m: (x * m).sum(axis=0), 1e-9),
    "where(x > 0, x, 0).sum()": ("float64", lambda lib, x, m: lib.where(x > 0, x, 0).sum(), 1e-9),
    "where(x > 0, x, 0).sum(1)": ("float32", lambda lib, x, m: lib.where(x > 0, x, 0).sum(axis=1), 1e-4),
    "maximum(x, 0).sum(1)": ("float64", lambda lib, x, m: lib.maximum(x, 0).sum(axis=1), 1e-9),
    "clip(x, -1, 1).sum()": ("float64", lambda lib, x, m: lib.clip(x, -1, 1).sum(), 1e-9),
    "x.sum() of float32 in float64": ("float32", lambda lib, x, m: x.astype("float64").sum(), 1e-9),
    "x.var(1)": ("float64", lambda lib, x, m: x.var(axis=1), 1e-9),
    "sqrt(|x|).sum()": ("float64", lambda lib, x, m: lib.sqrt(abs(x)).sum(), 1e-9),
    "x.sum() complex128": ("complex128", lambda lib, x, m: x.sum(), 1e-9),
    "x.sum(1) complex128": ("complex128", lambda lib, x, m: x.sum(axis=1), 1e-9),
    "(x * conj(x)).real.sum(1)": ("complex64", lambda lib, x, m: (x * lib.conj(x)).real.sum(axis=1), 1e-3),
    "x.sum(1) float16": ("float16", lambda lib, x, m: x.sum(axis=1), 1e-1),
    "x.max(1) float16": ("float16", lambda lib, x, m: x.max(axis=1), 0),
}


def cases(quick: bool) -> list[Case]:
    n = 40 if quick else 1000
    return [Case(name, {"kind": name, "n": n}, "us", 0, [Target(1.3)], rtol) for name, (_, _, rtol) in KINDS.items()]


suite = Suite("folds", cases, doc=__doc__)


def data(kind: str, n: int) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    x, mask = rng.standard_normal((n, n)), rng.random((n, n)) < 0.5
    dtype = KINDS[kind][0]
    if dtype == "bool":
        return [x > 2.5, mask]
    x = x + 1j * rng.standard_normal((n, n)) if dtype.startswith("complex") else x * 5 if dtype.startswith("int") else x
    return [(abs(x) * 20 if dtype == "uint8" else x).astype(dtype), mask]


@suite.side("numpy")
def numpy_side(who: str, kind: str, n: int) -> Statement:
    return Statement("f(np, *v)", f=KINDS[kind][1], np=np, v=data(kind, n))


@suite.side("jax")
def jax_side(who: str, kind: str, n: int) -> Statement:
    import jax
    import jax.numpy as jnp

    f = jax.jit(lambda x, m: KINDS[kind][1](jnp, x, m))
    return Statement("wait(f(*v))", f=f, v=jax_arrays(*data(kind, n)), wait=jax.block_until_ready)


@suite.side("termgraph")
def termgraph_side(who: str, kind: str, n: int) -> Statement:
    import termgraph as tg
    import termgraph.tensor as T

    v = data(kind, n)
    x, m = T.matrix("x", dtype=KINDS[kind][0]), T.matrix("m", dtype="bool")
    f = tg.function([x, m], KINDS[kind][1](T, x, m), on_unused_input="ignore")
    return Statement("f(*v)", f=f, v=v)


if __name__ == "__main__":
    raise SystemExit(suite.main())
