"""What one call costs: x + 1 on a scalar and on three numbers, and 20 inputs with one and with 20 outputs.

The 20-input functions do 20 operations. `handc` is a hand-written extension module: arrays checked, results allocated.
"""

from typing import Any

import numpy as np
from contenders import jax_arrays, pytensor_function, torch_arrays, torch_compiled
from harness import Case, Statement, Suite, Target

SHAPES = {"0-d": (), "vec3": (3,)}


def cases(quick: bool) -> list[Case]:
    made = [
        Case(f"x + 1, {shape}", {"what": "one", "shape": shape}, "us", targets=[Target(0.25, "numpy")])
        for shape in SHAPES
    ]
    made += [
        Case(
            f"20 in, 20 ops, 1 out, {shape}",
            {"what": "chain", "shape": shape},
            targets=[Target(0.15, "pytensor-trusted")],
        )
        for shape in SHAPES
    ]
    return made + [Case(f"20 in, 20 ops, 20 out, {shape}", {"what": "many", "shape": shape}) for shape in SHAPES]


suite = Suite("calls", cases, doc=__doc__)


def data(what: str, shape: str) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [np.asarray(rng.uniform(0.5, 1.5, SHAPES[shape])) for _ in range(1 if what == "one" else 20)]


def write(what: str, v: Any) -> Any:
    """The outputs, in any library."""
    if what == "one":
        return v[0] + 1
    if what == "many":
        return [x + k for k, x in enumerate(v, 1)]
    z = v[0]
    for k in range(1, 20):
        z = z + v[k] if k % 2 else z * v[k]
    return z + 1


def call(f: Any, v: list, after: str = "{}", **names: Any) -> Statement:
    """`f(a0, a1, ...)` written out, as a user writes it."""
    arguments = {f"a{k}": x for k, x in enumerate(v)}
    return Statement(after.format(f"f({', '.join(arguments)})"), f=f, **arguments, **names)


@suite.side("numpy")
def numpy_side(who: str, what: str, shape: str) -> Statement:
    v = data(what, shape)
    return Statement("a + 1", a=v[0]) if what == "one" else call(lambda *v: write(what, v), v)


@suite.side("numexpr")
def numexpr_side(who: str, what: str, shape: str) -> Statement:
    import numexpr

    v = data(what, shape)
    if what == "many":
        raise NotImplementedError("numexpr has one output")
    space = {f"a{k}": x for k, x in enumerate(v)}
    text = "a0 + 1"
    if what == "chain":
        text = "a0"
        for k in range(1, 20):
            text = f"({text}) {'+' if k % 2 else '*'} a{k}"
        text += " + 1"
    numexpr.evaluate(text, space)
    return Statement("f(local_dict=space)", f=numexpr.re_evaluate, space=space)


@suite.side("pytensor", "pytensor-trusted", "pytensor-numba", "pytensor-numba-trusted")
def pytensor_side(who: str, what: str, shape: str) -> Statement:
    import pytensor.tensor as pt

    v = data(what, shape)
    symbols = [pt.tensor(dtype="float64", shape=(None,) * x.ndim) for x in v]
    return call(pytensor_function(who, symbols, write(what, symbols)), v)


@suite.side("jax")
def jax_side(who: str, what: str, shape: str) -> Statement:
    import jax

    f = jax.jit(lambda *v: write(what, v))
    return call(f, jax_arrays(*data(what, shape)), "wait({})", wait=jax.block_until_ready)


@suite.side("torch", "torch-compile")
def torch_side(who: str, what: str, shape: str) -> Statement:
    import torch

    torch.set_grad_enabled(False)
    return call(torch_compiled(who, lambda *v: write(what, v)), torch_arrays(*data(what, shape)))


@suite.side("handc")
def handc_side(who: str, what: str, shape: str) -> Statement:
    import native

    return call(getattr(native.extension("calls"), what), data(what, shape))


@suite.side("termgraph")
def termgraph_side(who: str, what: str, shape: str) -> Statement:
    import termgraph as tg
    import termgraph.tensor as T

    v = data(what, shape)
    symbols = [T.tensor(f"x{k}", dtype="float64", shape=(None,) * x.ndim) for k, x in enumerate(v)]
    return call(tg.function(symbols, write(what, symbols)), v)


if __name__ == "__main__":
    raise SystemExit(suite.main())
