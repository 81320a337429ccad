"""Random updates of a few variables that copy, set and add to each other: in C and on the virtual machine the same."""

import random

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.c.build.compilers import find_compiler

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
PLACES = [
    lambda v, i, j, at: v[i], lambda v, i, j, at: v[j], lambda v, i, j, at: v[at], lambda v, i, j, at: v[1:],
    lambda v, i, j, at: v[::2], lambda v, i, j, at: v[i:], lambda v, i, j, at: v[0],
]  # fmt: skip
CALLS = [(0, 1, [1.0, 2.0], [0, 2]), (3, 7, [1.0, 2.0], [1]), (1, 2, [0.5, 3.0], [3, 3]), (-1, -2, [1.0, 1.0], [])]


def program(seed):
    """Variables, inputs, results and updates."""
    rnd = random.Random(seed)
    variables = [tg.shared(np.arange(4.0) + k) for k in range(rnd.randint(2, 3))]
    (i, j), x, at = T.lscalars("i", "j"), T.dvector("x"), T.lvector("at")

    def value(depth=0):
        kind, v = rnd.randint(0, 9), rnd.choice(variables)
        if kind < 4:
            return v * 1 if kind < 2 else v + rnd.choice([1.0, x[0]])
        if kind < 8:
            change = T.set_subtensor if kind < 6 else T.inc_subtensor
            return change(rnd.choice(PLACES)(v, i, j, at), rnd.choice([5.0, x[1], v.sum()]))
        if kind == 8 or depth > 1:
            return v[::-1]
        return value(depth + 1) + value(depth + 1)

    updates = [(v, value()) for v in variables]
    results = [
        lambda: rnd.choice(variables)[i],
        value,
        lambda: rnd.choice(updates)[1],
        lambda: rnd.choice(updates)[1][j],
    ]
    return variables, [i, j, x, at], [rnd.choice(results)() for _ in range(rnd.randint(0, 3))], updates


def history(seed, linker):
    """What calls return, and what they leave behind."""
    variables, inputs, results, updates = program(seed)
    f = tg.function(inputs, results, updates=updates, mode=tg.Mode(linker=linker), on_unused_input="ignore")
    seen = []
    for i, j, x, at in CALLS:
        try:
            seen.append([v.tolist() for v in f(i, j, np.array(x), np.array(at, "int64"))])
        except IndexError:
            seen.append("refused")
        seen.append([v.get_value().tolist() for v in variables])
    return seen


@pytest.mark.parametrize("seed", range(24))
def test_updates_are_those_of_the_virtual_machine(seed):
    assert history(seed, "auto") == history(seed, "py")
