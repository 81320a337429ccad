"""Chains of neighbours: heat equations by rolls and slices, halves of halves, unrolled in Python.

Beside them a loop with a choice between complex numbers, the Mandelbrot set.
`--case 'rolled 6'` runs one; "gradient" is that of the sum of squares.
"""

from typing import Any

import numpy as np
from contenders import jax_arrays
from harness import Case, Statement, Suite, Target

STEPS = {"rolled": (1, 3, 6), "sliced": (1, 3, 6), "halves": (3, 6), "mandelbrot": (60,)}


def cases(quick: bool) -> list[Case]:
    n = 16 if quick else 300
    return [
        Case(
            f"{kind} {count}{what}",
            {"kind": kind, "count": count, "n": n, "slope": bool(what)},
            "us",
            0,
            [Target(1.15)],
            1e-8,
        )
        for kind, counts in STEPS.items()
        for count in counts
        for what in ("", " gradient")
        if not (what and kind == "mandelbrot")
    ]


suite = Suite("stencils", cases, doc=__doc__)


def data(kind: str, n: int) -> np.ndarray:
    if kind == "mandelbrot":
        y, x = np.mgrid[-1.5 : 1.5 : n * 1j, -2 : 1 : n * 1j]
        return x + 1j * y
    rng = np.random.default_rng(1)
    return rng.random(64 * n) if kind == "halves" else rng.random((n, n))


def laplacian(u: Any) -> Any:
    return u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]


def chain(lib: Any, kind: str, u: Any, count: int) -> Any:
    """The kinds as all libraries spell them."""
    roll, tanh = lib.roll, lib.tanh
    step = {
        "rolled": lambda u: u + 0.1 * (roll(u, 1, 0) + roll(u, -1, 0) + roll(u, 1, 1) + roll(u, -1, 1) - 4 * u),
        "sliced": lambda u: u[1:-1, 1:-1] + 0.1 * laplacian(u),
        "halves": lambda u: tanh((u[::2] + u[1::2]) / 2),
    }[kind]
    for _ in range(count):
        u = step(u)
    return u


def escape(lib: Any, z: Any, times: Any, c: Any) -> tuple[Any, Any]:
    """One step of the Mandelbrot set."""
    z = lib.where(lib.abs(z) <= 2, z * z + c, z)
    return z, times + (lib.abs(z) <= 2)


@suite.side("numpy")
def numpy_side(who: str, kind: str, count: int, n: int, slope: bool) -> Statement:
    if slope:
        raise NotImplementedError("NumPy has no gradients")

    def escaped(c: np.ndarray) -> np.ndarray:
        z, times = np.zeros_like(c), np.zeros(c.shape, "int64")
        for _ in range(count):
            z, times = escape(np, z, times, c)
        return times

    f = escaped if kind == "mandelbrot" else lambda u: chain(np, kind, u, count)
    return Statement("f(x)", f=f, x=data(kind, n))


@suite.side("jax")
def jax_side(who: str, kind: str, count: int, n: int, slope: bool) -> Statement:
    import jax
    import jax.numpy as jnp

    def escaped(c: Any) -> Any:
        start = jnp.zeros_like(c), jnp.zeros(c.shape, "int64")
        return jax.lax.fori_loop(0, count, lambda _, state: escape(jnp, *state, c), start)[1]

    f = escaped if kind == "mandelbrot" else lambda u: chain(jnp, kind, u, count)
    f = jax.grad(lambda u: (chain(jnp, kind, u, count) ** 2).sum()) if slope else f
    (x,) = jax_arrays(data(kind, n))
    return Statement("wait(f(x))", f=jax.jit(f), x=x, wait=jax.block_until_ready)


@suite.side("termgraph")
def termgraph_side(who: str, kind: str, count: int, n: int, slope: bool) -> Statement:
    import termgraph as tg
    import termgraph.tensor as T

    value = data(kind, n)
    x = T.tensor("x", dtype=str(value.dtype), shape=(None,) * value.ndim)
    if kind == "mandelbrot":
        start = [T.zeros_like(x), T.zeros(x.shape, "int64")]
        (_, times), _ = tg.scan(lambda z, t: list(escape(T, z, t, x)), outputs_info=start, n_steps=count)
        y = times[-1]
    else:
        y = chain(T, kind, x, count)
    return Statement("f(x)", f=tg.function([x], tg.grad((y**2).sum(), x) if slope else y), x=value)


if __name__ == "__main__":
    raise SystemExit(suite.main())
