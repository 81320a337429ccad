"""Random graphs over everything that can be lowered: C computes what the NumPy meaning of the same terms says."""

import numpy as np
import pytest
from lower.randomgraphs import Graphs, agree

from termgraph.backends.c.build.compilers import find_compiler
from termgraph.backends.c.run.bind import compile_terms
from termgraph.terms.evaluate import evaluate

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")


def run(seed, steps):
    g = Graphs(seed).grow(steps)
    outs = g.outputs()
    with np.errstate(all="ignore"):
        want = evaluate(outs, dict(zip(g.args, g.values)))
    agree(compile_terms(g.args, outs)(*g.values), want, g, outs, seed)


@pytest.mark.parametrize("seed", [*range(30), 2030, 2164])
def test_random_graphs(seed):
    run(seed, 3 + seed % 8 if seed < 30 else 4 + seed % 11)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1600))
def test_many_random_graphs(seed):
    run(seed, 4 + seed % 11)
