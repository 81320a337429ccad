"""Workers of one machine killed at any time: in a gradient, in the sum, holding the lock, in a checkpoint, by a clock.

KILLS=200 python -m pytest -q -s -m slow tests/dist/test_kills.py    says how many there were at each place
"""

import os
import time
from collections import Counter
from functools import partial
from multiprocessing import resource_tracker

import numpy as np
import pytest
from distmodels import Build, Chaos, examples, net, slow_counter, wait_for, workers_of

from termgraph import dist

pytestmark = pytest.mark.slow
KILLS = int(os.environ.get("KILLS", 12))
AT_ONCE = 25  # kills in one training
BATCHES = 2000


def until_enough(train, places, tmp_path):
    """Trainings one after the other until there were so many kills; none leaves a process, a descriptor or a file."""
    resource_tracker.ensure_running()  # it keeps a descriptor
    seen, descriptors = Counter(), len(os.listdir("/proc/self/fd"))
    while seen.total() < KILLS:
        folder = tmp_path / f"kills {seen.total()}"
        folder.mkdir()
        begun, checkpoint = time.monotonic(), tmp_path / "a.ckpt"
        train(partial(Chaos, folder=folder, kills=min(AT_ONCE, KILLS - seen.total()), places=places), checkpoint)
        there = Counter(f.read_text() for f in folder.iterdir())
        seen += there
        assert time.monotonic() - begun < 60 + 15 * there.total(), "it took too long"
        assert not workers_of(os.getpid())
        assert sorted(p.name for p in tmp_path.iterdir() if p.is_file()) == ["a.ckpt"]
        checkpoint.unlink()
    assert wait_for(lambda: len(os.listdir("/proc/self/fd")) <= descriptors, 5)
    print(f"{seen.total()} kills: {dict(seen)}")


def test_synchronous_training_has_the_same_bits(tmp_path):
    data = dist.Arrays(*examples(), batch=10, epochs=120)
    options = {"shards": 4, "seed": 5, "rule": dist.Synchronous(check=7)}
    whole = dist.train(net, data, **options)

    def train(chaos, checkpoint):
        build = chaos(Build("nothing", -1, pause=0.01))
        result = dist.train(build, data, workers=3, timeout=60, checkpoint=checkpoint, every=5, **options)
        assert result.cost.tobytes() == whole.cost.tobytes() and result.steps == whole.steps
        assert all(result.params[k].tobytes() == whole.params[k].tobytes() for k in whole.params)

    until_enough(train, ["gradient", "slots", "sum", "update", "checkpoint", "rename", "anywhere"], tmp_path)


def test_every_batch_counts_once(tmp_path):
    data = dist.Arrays(np.arange(BATCHES), batch=1, shuffle=False)

    def train(chaos, checkpoint):
        build = chaos(partial(slow_counter, places=BATCHES))
        result = dist.train(build, data, rule=dist.ASGD(3), workers=3, timeout=60, checkpoint=checkpoint, every=100)
        assert float(result.params["w"]) == BATCHES and (result.params["seen"] == 1).all()
        assert not np.isnan(result.cost).any()

    until_enough(train, ["batch", "lock", "book", "anywhere"], tmp_path)
