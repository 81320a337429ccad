"""`dist.mean` and `dist.Step`: one function for one worker, two for several, and what cannot be cut."""

import numpy as np
import pytest
from distmodels import RULES, examples, net, sgd

import termgraph as tg
import termgraph.tensor as T
from termgraph import dist
from termgraph.dist.replica import SPACING, Worker, counters


def test_a_mean_is_nothing_for_one_worker():
    x = T.dvector("x")
    f = tg.function([x], dist.mean(x) * 2)
    assert "mean_over_workers" not in {n.op.name for n in f.maker.fgraph.toposort()}
    assert f([1.0, np.nan]).tolist()[0] == 2
    for mode in ("None", "FAST_COMPILE"):
        assert tg.function([x], dist.mean(x), mode=mode)([3.0]).tolist() == [3]


def test_means_are_of_floats():
    with pytest.raises(TypeError, match="has dtype int64; a mean is a float"):
        dist.mean(T.lvector("n"))


def test_the_mark_belongs_on_the_gradient():
    w, x = tg.shared(1.0, name="w"), T.dvector("x")
    with pytest.raises(Exception, match=r"dist.mean\(tg.grad\(cost, w\)\)"):
        tg.grad(dist.mean(((w - x) ** 2).mean()), w)


def test_a_mean_moves_with_its_tangent():
    x, v = T.dvectors("x", "v")
    assert tg.function([x, v], tg.Rop(dist.mean(x**2), x, v))([3.0], [1.0]).tolist() == [6]


@pytest.mark.parametrize("update", RULES)
def test_two_functions_do_what_one_does(update):
    x, y = examples()
    one, two = (net(Worker(0, 1, 1, 0), update, dropout=None) for _ in range(2))
    for _ in range(4):
        cost = one(x, y)["cost"]
        results = two.gradients(x, y)
        two.apply(*results[2:])
        assert float(results[0]) == pytest.approx(float(cost), rel=1e-6)
    for a, b in zip(one.state, two.state):
        np.testing.assert_allclose(a.get_value(), b.get_value(), rtol=1e-5, atol=1e-6)
    assert [v.name for v in one.state[:2]] == ["w", "out"]


def test_marks_in_plain_updates():
    w, count = tg.shared(np.zeros(2), name="w"), tg.shared(0, name="count")
    x = T.dmatrix("x")
    cost = (x @ w).mean()
    norm = dist.mean((x**2).mean())
    step = dist.Step([x], cost, [w], {w: w - dist.mean(tg.grad(cost, w)) / norm, count: count + 1})
    assert step.state == [w, count] and len(step.means) == 2
    step(np.ones((3, 2)))
    assert w.get_value().tolist() == [-1, -1] and int(count.get_value()) == 1


def test_one_mean_in_two_updates_is_one():
    w, v, x = tg.shared(1.0, name="w"), tg.shared(1.0, name="v"), T.dvector("x")
    g = dist.mean(x.mean())
    step = dist.Step([x], x.mean(), [w], [(w, w - g), (v, v + g * 2)])
    assert len(step.means) == 1
    step.apply(np.float64(3))
    assert (float(w.get_value()), float(v.get_value())) == (-2, 7)


def test_steps_that_cannot_be_cut_are_refused():
    w, x = tg.shared(np.zeros(2), name="w"), T.dmatrix("x")
    cost = (x @ w).mean()
    with pytest.raises(
        ValueError, match=r"the update of shared variable 'w' depends on the examples \(x\) without dist"
    ):
        dist.Step([x], cost, [w], {w: w - tg.grad(cost, w)})
    with pytest.raises(ValueError, match="a step comes together once"):
        dist.Step([x], cost, [w], {w: w - dist.mean(x.sum(0) * dist.mean(x.mean()))})
    sums, _ = tg.scan(lambda row, so_far: so_far + dist.mean(row), sequences=x, outputs_info=T.zeros(2))
    with pytest.raises(ValueError, match="inside of a loop"):
        dist.Step([x], sums[-1].sum() + (x @ w).mean(), [w], sgd)
    running = tg.shared(0.0, name="running")
    running.default_update = running * 0.9 + x.mean()
    with pytest.raises(ValueError, match="'running' has a default update"):
        dist.Step([x], cost + running * 0, [w], sgd)
    with pytest.raises(TypeError, match="cost must be a float without dimensions"):
        dist.Step([x], x @ w, [w], sgd)
    with pytest.raises(TypeError, match="params must be shared variables"):
        dist.Step([x], cost, [x], sgd)
    with pytest.raises(TypeError, match="Step: only shared variables can be updated, got x; make it with shared"):
        dist.Step([x], cost, [w], {x: w})
    with pytest.raises(ValueError, match="'w' is updated twice"):
        dist.Step([x], cost, [w], [(w, w + 1), (w, w + 2)])
    with pytest.raises(ValueError, match="two parameters are named 'w'"):
        dist.Step([x], cost, [w, tg.shared(1.0, name="w")], {})
    with pytest.raises(TypeError, match="must be a list of variables"):
        dist.Step(x, cost, [w], sgd)


def test_counters_of_all_steps_and_shards_are_apart():
    start = np.array([7, 3], np.uint64)
    found = [int(counters(start, step, j, 3, False)[1]) for step in range(4) for j in range(3)]
    assert np.diff(found).tolist() == [SPACING] * 11 and found[0] == 3
    assert counters(start, 5, 2, 3, True).tolist() == counters(start, 5, 0, 3, True).tolist()
    assert counters(np.array([7, 2**64 - 1], np.uint64), 1, 0, 1, False).tolist() == [7, SPACING - 1]


def test_draws_by_example_are_those_of_the_whole_batch():
    worker = Worker(0, 2, 2, 5)
    n = T.lscalar("n")
    draw = worker.stream().normal(size=(n, 3, 2))
    single = worker.stream().uniform(size=(n,))
    f = tg.function([n], [draw, single], no_default_updates=True)
    whole = f(10)
    worker.first.set_value(np.uint64(6))
    for a, b in zip(f(4), whole):
        assert (a == b[6:]).all()


def test_adam_counts_its_steps():
    step = net(Worker(0, 1, 1, 0), "adam")
    assert [v.name for v in step.state][:2] == ["w", "out"] and len(step.streams) == 1
    assert "adam.count" in {v.name for v in step.state}
