"""How loops grow: memory of the last step with the number of steps, and compile time of nested and many-output loops.

Memory is what a call adds to the process's peak. Compile rows include the first call and start with empty caches.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from contenders import pytensor_function
from grad import memory
from harness import Case, Suite, Target

WIDTH = 100


def cases(quick: bool) -> list[Case]:
    few, many = (10, 100) if quick else (1000, 1_000_000)
    outputs = 3 if quick else 50
    limit = [Target(5.0, "absolute")]
    made = [Case(f"memory of the last of {n} steps", {"what": "last", "n": n}, "MB") for n in (few, many)]
    made += [Case(f"compile, {n} steps", {"what": "compile", "n": n}, "s", caches="cold") for n in (few, many)]
    made += [
        Case("compile, 3-level nested with gradient", {"what": "nested", "n": 3}, "s", targets=limit, caches="cold"),
        Case(f"compile, {outputs} outputs", {"what": "outputs", "n": outputs}, "s", targets=limit, caches="cold"),
    ]
    return made


suite = Suite("scan_growth", cases, kind="once", doc=__doc__)


def symbolic(lib: Any, scan: Callable, grad: Callable, compiled: Callable, what: str, n: int) -> dict:
    """PyTensor and termgraph."""
    x, a = lib.dvector("x"), lib.dvector("a")
    v = np.linspace(0, 1, WIDTH), np.linspace(0.5, 1, WIDTH)
    start = time.process_time()
    if what in ("last", "compile"):
        out = scan(lambda h, a: lib.tanh(h * a), outputs_info=x, non_sequences=a, n_steps=n)[-1]
        wanted: Any = out
    elif what == "nested":

        def level(k: int, h: Any) -> Any:
            body = (lambda h, a: level(k - 1, h)) if k > 1 else (lambda h, a: lib.tanh(h * a))
            return scan(body, outputs_info=h, non_sequences=a, n_steps=3)[-1]

        wanted = grad(level(n, x).sum(), [x, a])
    else:
        many = scan(
            lambda *h: [lib.tanh(u * (k + 1.0) / n) for k, u in enumerate(h[:n])],
            outputs_info=[x * float(k) for k in range(n)], non_sequences=a, n_steps=5,
        )  # fmt: skip
        wanted = sum(h[-1] for h in many) + a
    f = compiled([x, a], wanted)
    if what == "last":
        return memory(lambda: f(*v))
    if what != "compile":  # a call's length is no matter of compiling
        f(*v)
    return {"seconds": seconds_since(start)}


def seconds_since(start: float) -> float:
    """CPU seconds, those of compilers that were started included."""
    import resource

    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() - start + children.ru_utime + children.ru_stime


@suite.side("pytensor", "pytensor-numba")
def pytensor_side(who: str, what: str, n: int) -> dict:
    import pytensor
    import pytensor.tensor as pt

    def scan(fn: Callable, **options: Any) -> Any:
        return pytensor.scan(fn, return_updates=False, **options)

    return symbolic(pt, scan, pytensor.grad, lambda i, o: pytensor_function(who, i, o), what, n)


@suite.side("jax")
def jax_side(who: str, what: str, n: int) -> dict:
    import jax
    import jax.numpy as jnp

    if what == "outputs":
        raise NotImplementedError("a loop has one carry here, of any structure")
    x, a = jnp.linspace(0, 1, WIDTH), jnp.linspace(0.5, 1, WIDTH)
    start = time.process_time()

    def level(k: int, h: Any, a: Any, steps: int) -> Any:
        body = (lambda h, _: (level(k - 1, h, a, steps), None)) if k > 1 else (lambda h, _: (jnp.tanh(h * a), None))
        return jax.lax.scan(body, h, None, length=steps)[0]

    if what == "nested":
        f = jax.jit(jax.grad(lambda x, a: level(n, x, a, 3).sum(), (0, 1)))
    else:
        f = jax.jit(lambda x, a: level(1, x, a, n))
    f = f.lower(x, a).compile()
    if what == "last":
        return memory(lambda: f(x, a).block_until_ready())
    if what != "compile":
        jax.block_until_ready(f(x, a))
    return {"seconds": seconds_since(start)}


@suite.side("termgraph")
def termgraph_side(who: str, what: str, n: int) -> dict:
    import termgraph as tg
    import termgraph.tensor as T

    def scan(fn: Callable, **options: Any) -> Any:
        return tg.scan(fn, **options)[0]

    return symbolic(T, scan, lambda *v: tg.grad(*v), tg.function, what, n)


if __name__ == "__main__":
    raise SystemExit(suite.main())
