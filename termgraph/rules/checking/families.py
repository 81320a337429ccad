"""The families of ops that random expressions are made of, and the table of what draws the operands of each."""

from __future__ import annotations

import functools
import random
import zlib
from collections.abc import Callable, Iterable
from typing import Any

from termgraph.terms.op import OPS, Op
from termgraph.terms.ops.indexing import SCATTERS

Sampler = Callable[..., list[Any]]  # of a draw, a head, patterns of operands, and what is wanted
SAMPLERS: dict[str, Sampler] = {}
FALLBACKS: dict[str, Sampler] = {}  # for families nobody wrote a sampler for
# How many operands come before those that a family takes any number of.
LEADING = {"reshape": 1, "alloc": 1, "specify_shape": 1, "subtensor": 1, "gather": 1, "set_subtensor": 2,
           "inc_subtensor": 2, **dict.fromkeys(SCATTERS, 2), "check": 1, "ifelse": 1, "windows": 1,
           "AbstractConv2d_gradInputs": 2, "pool_sum_grad": 1, "AbstractConv2d_gradWeights": 2}  # fmt: skip
WRAPPERS: tuple[Op, ...] = tuple([
    OPS[name]
    for name in ("dimshuffle", "dimshuffle", "alloc", "neg", "add", "mul", "sub", "exp", "cast", "subtensor", "reshape",
                 "true_div", "sum", "abs", "join", "sqr", "switch", "sigmoid", "log", "lt")
])  # fmt: skip


def sampler(*names: str) -> Callable[[Sampler], Sampler]:
    """Register the sampler of some families."""

    def add(function: Sampler) -> Sampler:
        for name in names:
            SAMPLERS[name] = function
        return function

    return add


def fallback(kind: str) -> Callable[[Sampler], Sampler]:
    """Register the sampler of all families of a kind that have none of their own."""

    def add(function: Sampler) -> Sampler:
        FALLBACKS[kind] = function
        return function

    return add


def sampler_of(family: Op) -> Sampler:
    """The sampler of a family."""
    found = SAMPLERS.get(family.name)
    return found or FALLBACKS["elementwise" if family.kind == "elementwise" else "other"]


def one_of(choice: Iterable[Op], rng: random.Random) -> Op:
    """Any of some families, each as likely as the others. One that is new to the table changes only the draws that fall
    on it: what was found before is found again."""
    draw = rng.random()
    return max(choice, key=lambda family: zlib.crc32(f"{draw} {family.name}".encode()))


@functools.cache
def families() -> tuple[Op, ...]:
    """What small expressions are made of."""
    unfit = {"nth", "ifelse", "check", "print", "call", "nonzero", "bincount", "unique", "unique_all", "lstsq", "eig",
             "eigvals", "searchsorted", "nextafter", "erfcinv", "assume", "between", "required"}  # fmt: skip
    return tuple([
        op for op in OPS.values()
        if op.nout == 1 and op.name not in unfit and not op.user_made
        and op.kind not in ("control", "conv", "effect", "random")
        and (op.kind == "elementwise" or op.name in SAMPLERS)
    ])  # fmt: skip
