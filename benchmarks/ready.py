"""Time to ready: from starting Python to the first result of a graph of N mixed element-wise operations.

A third of the operations can be simplified away (graphs.py). Cold starts have empty caches, warm ones those of a run
before. The rows "one call" time the finished function on vectors of 1000 numbers.
"""

import os
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from contenders import jax_arrays, pytensor_function, torch_arrays, torch_compiled
from graphs import mixed
from harness import Also, Case, Suite, Target

JAX = {(1000, "cold"): 0.45, (1000, "warm"): 0.35, (10_000, "cold"): 0.3}


def cases(quick: bool) -> list[Case]:
    sizes = [100] if quick else [1000, 10_000]
    return [
        Case(
            f"N={n} {caches}", {"n": n}, "s",
            targets=[Target(JAX[n, caches], "jax")] if (n, caches) in JAX else [], caches=caches, rtol=1e-6,
            also=[Also("one call", "us", [Target(1.0)])] if caches == "cold" else [],
        )
        for n in sizes for caches in ("cold", "warm")
    ]  # fmt: skip


suite = Suite("ready", cases, kind="once", doc=__doc__)


def data() -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [rng.standard_normal(1000), rng.uniform(0.5, 1.5, 1000)]


def ready(call: Callable[[], Any]) -> dict:
    """The first call ends the time to ready; then the function is timed."""
    from worker import sample

    first = call()
    wall = time.time() - float(os.environ["BENCH_STARTED"])
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(u.ru_utime + u.ru_stime for u in usage)
    times = []
    for _ in range(20):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    found = {"ready_wall": wall, "ready_cpu": cpu, "also": {"one call": sorted(times)[10]}}
    threads = int(os.environ["OMP_NUM_THREADS"])
    return found | {"seconds": min(wall, cpu) if threads == 1 else wall, "sample": sample(first)}


@suite.side("numpy")
def numpy_side(who: str, n: int) -> dict:
    x, y = data()
    return ready(lambda: mixed(n)(np, x, y))


@suite.side("pytensor", "pytensor-numba")
def pytensor_side(who: str, n: int) -> dict:
    import pytensor.tensor as pt

    x, y = pt.dvector("x"), pt.dvector("y")
    f = pytensor_function(who, [x, y], mixed(n)(pt, x, y))
    v = data()
    return ready(lambda: f(*v))


@suite.side("jax")
def jax_side(who: str, n: int) -> dict:
    import jax
    import jax.numpy as jnp

    v = jax_arrays(*data())
    f = jax.jit(lambda x, y: mixed(n)(jnp, x, y))
    return ready(lambda: f(*v).block_until_ready())


@suite.side("torch", "torch-compile")
def torch_side(who: str, n: int) -> dict:
    import torch

    if who == "torch-compile" and n > 1000:
        raise NotImplementedError("takes tens of minutes at this size")
    torch.set_grad_enabled(False)
    v, graph = torch_arrays(*data()), mixed(n)
    f = torch_compiled(who, lambda x, y: graph(torch, x, y))
    return ready(lambda: f(*v))


@suite.side("termgraph")
def termgraph_side(who: str, n: int) -> dict:
    import termgraph as tg
    import termgraph.tensor as T

    x, y = T.dvector("x"), T.dvector("y")
    f = tg.function([x, y], mixed(n)(T, x, y))
    v = data()
    return ready(lambda: f(*v))


if __name__ == "__main__":
    raise SystemExit(suite.main())
