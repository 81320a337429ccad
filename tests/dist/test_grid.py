"""Every number of workers, optimizer, kind of dropout and size of the last batch: the same bits with `shards`.

Without `shards` it is the joined batch within rounding. Slow: 120 trainings in 300 processes.
"""

from functools import partial
from itertools import product

import numpy as np
import pytest
from distmodels import examples, net

from termgraph import dist

pytestmark = pytest.mark.slow
BATCH, SHARDS = 10, 4
COUNTS = {"even": 40, "uneven": 43}  # of 43 examples the last batch has 3: one of its 4 shards is empty


def train(update, dropout, data, workers, shards):
    arrays = dist.Arrays(*examples(COUNTS[data]), batch=BATCH, epochs=2)
    build = partial(net, update=update, dropout=dropout)
    return dist.train(
        build, arrays, workers=workers, shards=shards, seed=5, timeout=120, rule=dist.Synchronous(check=3)
    )


def bits(result):
    """All that has come out."""
    return [a.tobytes() for a in [*result.params.values(), *result.history.values()]]


@pytest.mark.parametrize("update", ["sgd", "momentum", "adam"])
@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_the_grid(workers, update):
    for dropout, data in product((None, "example", "shard"), COUNTS):
        case = update, dropout, data
        assert bits(train(*case, workers, SHARDS)) == bits(train(*case, 0, SHARDS)), case
        if dropout == "shard":  # other draws for another number of shards
            continue
        free, joined = train(*case, workers, None), train(*case, 0, 1)
        assert bits(free) == bits(train(*case, 0, workers)), case
        for name, value in joined.params.items():
            np.testing.assert_allclose(free.params[name], value, rtol=2e-4, atol=2e-5, err_msg=f"{case} {name}")
        np.testing.assert_allclose(free.cost, joined.cost, rtol=1e-4)
