"""Gradients: seconds to build them, what they cost beside the forward pass, memory with recomputation. CPU time.

Building rows time `grad` alone, on a graph that exists. "gradient / forward" is value and gradient over value of a sum
of 1e5 element-wise terms. Memory is what a call adds to the process's peak: 64 and 16 layers of 256 units, batch 4096.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from contenders import pytensor_function
from graphs import mixed
from harness import Case, Suite, Target

UNITS, ROWS = 256, 4096


def cases(quick: bool) -> list[Case]:
    chain, nodes, layers, depths = (200, 100, 3, (4,)) if quick else (100_000, 2000, 30, (16, 64))
    sums = 1000 if quick else 100_000
    made = [
        Case(f"build, chain of {chain}", {"what": "chain", "n": chain}, "s", targets=[Target(2.0, "absolute")]),
        Case(f"build, {layers}-layer MLP", {"what": "mlp", "n": layers}, "ms", targets=[Target(1 / 20, "pytensor")]),
        Case(f"build, {nodes}-node graph", {"what": "mixed", "n": nodes}, "ms", targets=[Target(1 / 20, "pytensor")]),
        Case("gradient / forward", {"what": "cost", "n": sums}, "x", targets=[Target(4.0, "absolute")]),
        Case("gradient / forward, sine", {"what": "cost sine", "n": sums}, "x", targets=[Target(4.0, "absolute")]),
    ]
    for depth in depths:
        for way in ("plain", "checkpointed"):
            made.append(Case(f"memory, {depth} layers, {way}", {"what": way, "n": depth}, "MB"))
    return made


suite = Suite("grad", cases, kind="once", doc=__doc__)


def cost(lib: Any, what: str, x: Any, y: Any, n: int, matrix: Callable[[str], Any]) -> tuple[Any, list]:
    """A scalar and what to differentiate it by."""
    if what == "chain":
        z = x
        for k in range(n // 2):
            z = z * y + x if k % 2 else lib.tanh(z) - y
        return z.sum(), [x, y]
    if what == "mlp":
        h = matrix("data")
        w = [matrix(f"w{k}") for k in range(n)]
        for v in w:
            h = lib.tanh(h @ v)
        return (h**2).sum(), w
    if what == "mixed":
        return mixed(n)(lib, x, y).sum(), [x, y]
    if what == "cost sine":
        return (lib.sin(x) + y).sum(), [x, y]
    return (lib.tanh(0.7 * x + 0.3) * lib.exp(-(x**2)) + lib.log1p(abs(y))).sum(), [x, y]


def best(action: Callable[[], Any], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.process_time()
        kept = action()
        times.append(time.process_time() - start)
        del kept
    return min(times)


def over_forward(forward: Callable, both: Callable, n: int) -> dict:
    rng = np.random.default_rng(1)
    v = rng.standard_normal(n), rng.standard_normal(n)
    forward(*v), both(*v)
    return {"seconds": best(lambda: both(*v), 50) / best(lambda: forward(*v), 50)}


def memory(call: Callable[[], Any]) -> dict:
    """MB that the first call of a compiled function needs beyond what the process held before it."""
    from pathlib import Path

    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    status = Path("/proc/self/status")

    def read(key: str) -> float:
        return int(next(line for line in status.read_text().splitlines() if line.startswith(key)).split()[1]) / 1024

    before = read("VmRSS:")
    call()
    return {"seconds": read("VmHWM:") - before}


def symbolic(
    lib: Any, grad: Callable, compiled: Callable, vector: Callable, matrix: Callable, what: str, n: int
) -> dict:
    """PyTensor and termgraph: the same graph, the same calls."""
    x, y = vector("x"), vector("y")
    value, wrt = cost(lib, what, x, y, n, matrix)
    if what.startswith("cost"):
        return over_forward(compiled([x, y], value), compiled([x, y], [value, *grad(value, wrt)]), n)
    grad((x * y).sum(), [x])  # whatever a first call loads
    return {"seconds": best(lambda: grad(value, wrt), 1 if n > 10_000 else 3)}


@suite.side("pytensor")
def pytensor_side(who: str, what: str, n: int) -> dict:
    import pytensor
    import pytensor.tensor as pt

    if what in ("plain", "checkpointed"):
        raise NotImplementedError("has no recomputation of a region")
    compiled = lambda i, o: pytensor_function(who, i, o)  # noqa: E731
    return symbolic(pt, pytensor.grad, compiled, pt.dvector, pt.dmatrix, what, n)


@suite.side("jax")
def jax_side(who: str, what: str, n: int) -> dict:
    import jax
    import jax.numpy as jnp

    if what.startswith("cost"):
        f = lambda x, y: cost(jnp, what, x, y, n, None)[0]  # type: ignore[arg-type]  # noqa: E731
        forward, both = jax.jit(f), jax.jit(jax.value_and_grad(f, (0, 1)))
        wait = jax.block_until_ready
        return over_forward(lambda *v: wait(forward(*v)), lambda *v: wait(both(*v)), n)
    if what not in ("plain", "checkpointed"):
        raise NotImplementedError("gradients are traced with the function, not built from a graph")
    data, weights = layers_data(n)
    size = segment(n)

    def run(h: Any, part: Any) -> Any:
        for v in part:
            h = jnp.tanh(h @ v)
        return h

    region = jax.checkpoint(run) if what == "checkpointed" else run

    def loss(weights: Any, h: Any) -> Any:
        for k in range(0, n, size):
            h = region(h, weights[k : k + size])
        return (h**2).sum()

    h, w = jnp.asarray(data), [jnp.asarray(v) for v in weights]
    f = jax.jit(jax.grad(loss)).lower(w, h).compile()
    return memory(lambda: jax.block_until_ready(f(w, h)))


def layers_data(n: int) -> tuple[np.ndarray, list[np.ndarray]]:
    rng = np.random.default_rng(1)
    data = rng.standard_normal((ROWS, UNITS), dtype="float32")
    return data, [rng.standard_normal((UNITS, UNITS), dtype="float32") / 16 for _ in range(n)]


def segment(n: int) -> int:
    """Layers of one recomputed region: the square root of the depth."""
    return max(1, round(n**0.5))


@suite.side("termgraph")
def termgraph_side(who: str, what: str, n: int) -> dict:
    import termgraph as tg
    import termgraph.tensor as T

    if what not in ("plain", "checkpointed"):
        return symbolic(T, tg.grad, tg.function, T.dvector, T.dmatrix, what, n)
    data, weights = layers_data(n)
    size = segment(n)

    def run(h: Any, *part: Any) -> Any:
        for v in part:
            h = T.tanh(h @ v)
        return h

    region = tg.checkpoint(run) if what == "checkpointed" else run
    h = start = T.fmatrix("h")
    w = [T.fmatrix(f"w{k}") for k in range(n)]
    for k in range(0, n, size):
        h = region(h, *w[k : k + size])
    f = tg.function([start, *w], tg.grad((h**2).sum(), w))
    return memory(lambda: f(data, *weights))


if __name__ == "__main__":
    raise SystemExit(suite.main())
