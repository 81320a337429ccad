"""Workers on Ray: the same bits as anywhere, also when one is killed. Skipped where Ray is not installed."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from distmodels import Build, broken, examples, net, wait_for

from termgraph import dist
from termgraph.dist.layout import Layout
from termgraph.dist.ray_crew import RayExchange, Shelf, connect

needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")


@pytest.fixture(scope="module")
def ray():
    """One small cluster for all tests."""
    made = connect("local")
    yield made
    made.shutdown()


def data():
    return dist.Arrays(*examples(), batch=10, epochs=3)


def same(a, b):
    assert a.cost.tobytes() == b.cost.tobytes()
    assert all(a.params[k].tobytes() == b.params[k].tobytes() for k in b.params)


@needs_ray
def test_the_same_bits_on_ray(ray, tmp_path):
    build = Build("kill_in_gradient", once=str(tmp_path / "once"), step=9)
    options = {"shards": 4, "seed": 5, "rule": dist.Synchronous(check=5)}
    result = dist.train(build, data(), workers=2, address="local", timeout=60, checkpoint=tmp_path / "a.ckpt", **options)
    same(result, dist.train(net, data(), **options))
    assert [e.kind for e in result.events].count("lost") == 1 and (tmp_path / "once").exists()


@needs_ray
def test_errors_on_ray(ray):
    with pytest.raises(dist.WorkerError, match="building the step:\n(.*\n)*.*LookupError: no model for worker") as caught:
        dist.train(broken, data(), workers=1, address="local")
    assert isinstance(caught.value.__cause__, LookupError)


@needs_ray
def test_actors_end_with_the_training(ray):
    def left():
        return [p for p in Path("/proc").glob("[0-9]*/cmdline") if b"ray::Host" in _read(p)]

    seen = []
    dist.train(net, data(), workers=1, address="local", on_report=lambda progress: seen.append(left()))
    assert seen and seen[-1] and wait_for(lambda: not left(), 10)


def _read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


# ---------------------------------------------------------------------- without Ray
def test_what_is_not_on_ray_is_said():
    with pytest.raises(NotImplementedError, match="ASGD is for one machine"):
        dist.train(net, data(), workers=2, address="local", rule=dist.ASGD())
    with pytest.raises(ValueError, match="address= is for worker processes"):
        dist.train(net, data(), workers=0, address="local")
    if importlib.util.find_spec("ray") is None:
        with pytest.raises(ImportError, match=r"pip install 'termgraph\[dist\]'"):
            dist.train(net, data(), workers=2, address="local")


def exchange(shelf, generation, rank=0):
    layout = Layout([("float64", ()), ("float32", (100,))])
    return RayExchange(shelf, [None, None], generation, layout, 2, 2, rank, 0.1, lambda ranks: None)


def test_a_worker_gives_only_what_is_there_and_of_this_generation(monkeypatch):
    monkeypatch.setattr("termgraph.dist.ray_crew.ANSWER_WITHIN", 0.01)
    shelf = Shelf()
    assert shelf.take(0, "slots", 0, 1) is None
    made = exchange(shelf, 0)
    assert shelf.take(0, "slots", 0, 1) is None
    made.put(0, 0, [np.float64(2), np.arange(100, dtype="float32")], 0.5, 1)
    made._offer("slots", 0)
    pieces = shelf.take(0, "slots", 0, 1)
    assert len(pieces) == 1 and [a.dtype for a in pieces[0]] == ["float64", "float32"]
    assert shelf.take(1, "slots", 0, 1) is None and shelf.take(0, "slots", 1, 1) is None
    exchange(shelf, 1)
    assert shelf.take(0, "slots", 0, 1) is None


def test_a_generation_that_was_over_before_it_began_is_closed():
    shelf = Shelf()
    shelf.close(3)
    assert exchange(shelf, 3).closed and not exchange(shelf, 4).closed
    made = exchange(shelf, 5)
    shelf.close(5)
    assert made.closed
