"""Whether arguments that do not lie in row-major order, and slices inside a graph, are read where they lie.

Every view has 1000x1000 elements of float64. `packed` is the same function of an array in row-major order.
"""

from typing import Any

import numpy as np
from contenders import jax_arrays
from harness import Case, Statement, Suite, Target

VIEWS = ("packed", "x[::2]", "x[:, :n]", "x[:, ::2]", "x[::-1]", "x[:, ::-1]", "x.T", "row", "column")
KINDS = ("2x+1", "exp(x)", "x+y", "sum axis 0", "sum axis 1", "x / row sums", "x @ w")
INSIDE = ("x[1:] - x[:-1]", "x[:, ::2] * 2", "x[:, ::-1] + x", "exp(x[:, 1:])", "x.T * 2", "exp(x.T)")
WARM = 60  # calls before the first one that counts: a program for a layout is made once copies have cost enough


def cases(quick: bool) -> list[Case]:
    n = 64 if quick else 1000
    given = [
        Case(f"{kind} of {view}", {"kind": kind, "view": view, "n": n}, "us", 0, [Target(1.1)], 1e-8)
        for kind in KINDS
        for view in VIEWS
    ]
    inside = [
        Case(f"inside {kind}", {"kind": kind, "view": "packed", "n": n}, "us", 0, [Target(1.1)], 1e-8)
        for kind in INSIDE
    ]
    return given + inside


suite = Suite("slices", cases, doc=__doc__)


def data(kind: str, view: str, n: int) -> list[np.ndarray]:
    x = np.random.default_rng(1).standard_normal((2 * n, 2 * n))
    views = {
        "packed": x[:n, :n].copy(),
        "x[::2]": x[:, :n].copy()[::2],
        "x[:, :n]": x[:n, :n],
        "x[:, ::2]": x[:n, ::2],
        "x[::-1]": x[:n, :n].copy()[::-1],
        "x[:, ::-1]": x[:n, :n].copy()[:, ::-1],
        "x.T": x[:n, :n].copy().T,
        "row": np.broadcast_to(x[0, :n], (n, n)),
        "column": np.broadcast_to(x[:n, :1], (n, n)),
    }
    v = [views[view]]
    if kind == "x+y":
        v.append(x[n:, n:].copy())
    if kind == "x @ w":
        v.append(x[n:, : n // 10].copy())
    return v


def write(lib: Any, kind: str, x: Any, y: Any = None) -> Any:
    """The kinds as all libraries spell them."""
    if kind.startswith("sum axis"):
        return x.sum(axis=int(kind[-1]))
    forms = {
        "2x+1": lambda: 2 * x + 1,
        "exp(x)": lambda: lib.exp(x),
        "x+y": lambda: x + y,
        "x / row sums": lambda: x / x.sum(axis=1, keepdims=True),
        "x @ w": lambda: x @ y,
        "x[1:] - x[:-1]": lambda: x[1:] - x[:-1],
        "x[:, ::2] * 2": lambda: x[:, ::2] * 2,
        "x[:, ::-1] + x": lambda: x[:, ::-1] + x,
        "exp(x[:, 1:])": lambda: lib.exp(x[:, 1:]),
        "x.T * 2": lambda: x.T * 2,
        "exp(x.T)": lambda: lib.exp(x.T),
    }
    return forms[kind]()


@suite.side("numpy")
def numpy_side(who: str, kind: str, view: str, n: int) -> Statement:
    v = data(kind, view, n)
    return Statement("f(*v)", f=lambda *v: write(np, kind, *v), v=v)


@suite.side("jax")
def jax_side(who: str, kind: str, view: str, n: int) -> Statement:
    import jax
    import jax.numpy as jnp

    if view != "packed":
        raise NotImplementedError("arrays of JAX are packed")
    f = jax.jit(lambda *v: write(jnp, kind, *v))
    return Statement("wait(f(*v))", f=f, v=jax_arrays(*data(kind, view, n)), wait=jax.block_until_ready)


@suite.side("termgraph")
def termgraph_side(who: str, kind: str, view: str, n: int) -> Statement:
    import termgraph as tg
    import termgraph.tensor as T

    v = data(kind, view, n)
    args = [T.dmatrix("x"), T.dmatrix("y")][: len(v)]
    f = tg.function(args, write(T, kind, *args))
    for _ in range(WARM):
        f(*v)
    return Statement("f(*v)", f=f, v=v)


if __name__ == "__main__":
    raise SystemExit(suite.main())
