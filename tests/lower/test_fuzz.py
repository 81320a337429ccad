"""Random graphs over everything that can be lowered: C computes what the NumPy meaning of the same terms says."""

import numpy as np
import pytest
from lower.randomgraphs import Graphs, agree

from termgraph.backends.c.build.compilers import find_compiler
from termgraph.backends.c.run.bind import compile_terms
from termgraph.lower import lowering
from termgraph.terms.evaluate import evaluate
from termgraph.terms.types import TensorType

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


@pytest.mark.parametrize("seed", range(16))
def test_any_terms_may_have_storage(seed, monkeypatch):
    """What is stored is a matter of speed: with more terms stored, any of them, the values are the same."""
    rng = np.random.default_rng(seed)

    def some_stored(storage, _):
        storage.settle()
        legal = [t for t in storage.order if t.args and t not in storage.cuts and isinstance(t.type, TensorType)]
        chosen = [t for t in legal if rng.random() < 0.4]
        for t in chosen:
            storage.keep(t)
        made = storage.run()
        assert set(chosen) <= set(made.cuts)
        return made

    monkeypatch.setattr(lowering, "with_streams", some_stored)
    run(3000 + seed, 5 + seed)
