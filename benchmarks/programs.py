"""Programs of many fields beside JAX: CPU seconds from the first line to the first result, and of a call.

Statistics, physics, learning, algorithms and signals, 20 to 40 lines each, most with loops and gradients, written once
for both (program_texts.py). Results are compared. Starts are cold; "with imports" counts `import` of either, too.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import program_texts_fields  # noqa: F401  (each adds to the programs)
import program_texts_models  # noqa: F401
import program_texts_more  # noqa: F401
import program_texts_steps  # noqa: F401
from deep import cpu, measured
from harness import Also, Case, Suite, Target
from program_texts import PROGRAMS


def cases(quick: bool) -> list[Case]:
    names = list(PROGRAMS)[:: 6 if quick else 1]
    also = [Also("with imports", "s", [Target(1.0, "jax")]), Also("step", "us", [Target(1.0, "jax")])]
    return [Case(n, {"name": n}, "s", targets=[Target(0.5, "jax")], caches="cold", rtol=PROGRAMS[n].rtol, also=also)
            for n in names]  # fmt: skip


LOADED = cpu()
suite = Suite("programs", cases, kind="once", doc=__doc__)


def arrays(name: str) -> list[np.ndarray]:
    return PROGRAMS[name].inputs(np.random.default_rng(1))


def flat(results: Any) -> list:
    """The results one after another, whatever they were nested in."""
    if isinstance(results, tuple | list):
        return [leaf for part in results for leaf in flat(part)]
    return [results]


def all_of(results: Any) -> np.ndarray:
    """All results in one vector, which is what is compared."""
    return np.concatenate([np.ravel(np.asarray(r)).astype(np.complex128) for r in results]).view(np.float64)


def started(made: Callable) -> dict:
    """What `measured` finds, and the CPU seconds of the same first result since this script was read."""
    imports = cpu() - LOADED
    found = measured(made, sampled=all_of)
    found["also"]["with imports"] = imports + found["seconds"]
    return found


@suite.side("termgraph")
def termgraph_side(who: str, name: str) -> dict:
    import termgraph as tg
    import termgraph.tensor as T

    def scan(step: Callable, init: Any, xs: Any, length: int | None = None) -> Any:
        many = isinstance(init, tuple)
        start = [T.as_tensor(v) for v in (init if many else (init,))]
        n = len(start)

        def one(*row: Any) -> Any:
            carry = row[-n:]
            after, y = step(tuple(carry) if many else carry[0], row[0] if xs is not None else None)
            return [*(after if many else (after,)), y]

        out, _ = tg.scan(one, sequences=xs, outputs_info=[*start, None], n_steps=length)
        last = tuple(o[-1] for o in out[:n])
        return (last if many else last[0]), out[n]

    B = SimpleNamespace(
        name="termgraph", np=T, scan=scan, vmap=tg.vmap, eq=T.eq,
        solve_triangular=lambda a, b: T.linalg.solve_triangular(a, b, lower=True),
        logsumexp=lambda x, axis, keep: T.logsumexp(x, axis=axis, keepdims=keep),
        add_at=lambda shape, i, x: T.inc_subtensor(T.zeros(shape)[i], x),
        take_along=lambda x, i, axis: T.take_along_axis(x, i, axis=axis),
    )  # fmt: skip
    program, given = PROGRAMS[name], arrays(name)

    def made() -> Callable:
        inputs = [T.tensor(dtype=str(a.dtype), shape=a.shape) for a in given]
        results = flat(program.run(B, *inputs))
        if program.wrt:
            results += tg.grad(results[0], [inputs[i] for i in program.wrt])
        f = tg.function(inputs, results)
        return lambda: f(*given)

    return started(made)


@suite.side("jax")
def jax_side(who: str, name: str) -> dict:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def scan(step: Callable, init: Any, xs: Any, length: int | None = None) -> Any:
        return jax.lax.scan(step, init, xs, length=length)

    B = SimpleNamespace(
        name="jax", np=jnp, scan=scan, vmap=jax.vmap, eq=jnp.equal,
        solve_triangular=lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True),
        logsumexp=lambda x, axis, keep: jax.scipy.special.logsumexp(x, axis=axis, keepdims=keep),
        add_at=lambda shape, i, x: jnp.zeros(shape).at[i].add(x),
        take_along=lambda x, i, axis: jnp.take_along_axis(x, i, axis=axis),
    )  # fmt: skip
    program, given = PROGRAMS[name], [jnp.asarray(a) for a in arrays(name)]

    def made() -> Callable:
        def run(*given: Any) -> Any:
            return flat(program.run(B, *given))

        def first(*given: Any) -> Any:
            results = run(*given)
            return results[0], results

        def both(*given: Any) -> Any:
            (_, results), grads = jax.value_and_grad(first, program.wrt, has_aux=True)(*given)
            return [*results, *grads]

        f = jax.jit(both if program.wrt else run)

        def call() -> Any:
            return jax.block_until_ready(f(*given))

        return call

    return started(made)


if __name__ == "__main__":
    raise SystemExit(suite.main())
