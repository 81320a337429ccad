"""Training in this process and in others: the same bits, whoever computes, whoever dies; files, rules, errors."""

import os
import signal

import distmodels
import numpy as np
import pytest
from distmodels import Build, FaultyASGD, counter, examples, net, net_adam, slow_counter, wait_for

import termgraph as tg
from termgraph import dist
from termgraph.dist import crew

BATCH, SHARDS = 10, 4  # 43 examples: the last batch of an epoch has 3, so that a shard of it is empty


def train(build=net, workers=0, shards=SHARDS, epochs=3, **options):
    data = dist.Arrays(*examples(), batch=BATCH, epochs=epochs)
    options = {"timeout": 60, **options}
    return dist.train(build, data, workers=workers, shards=shards, seed=5, **options)


def same(a, b):
    assert list(a.params) == list(b.params) and a.steps == b.steps
    for name in a.params:
        assert a.params[name].tobytes() == b.params[name].tobytes(), name
    assert a.cost.tobytes() == b.cost.tobytes()


def gone(result):
    """The processes of a training, all gone."""
    started = [int(e.detail.split()[-1]) for e in result.events if e.kind == "started"]
    assert started and not [pid for pid in started if os.path.exists(f"/proc/{pid}")]
    return len(started)


@pytest.fixture(scope="module")
def alone():
    """What comes out without other processes, on what runs functions in those."""
    with tg.config.change_flags(linker="py"):
        return train()


# ---------------------------------------------------------------------- exact
@pytest.mark.parametrize("update", ["sgd", "momentum", "adam"])
def test_shards_are_the_joined_batch_within_rounding(update):
    one, four = (train(lambda worker: net(worker, update), shards=s) for s in (1, 4))
    for name in one.params:
        np.testing.assert_allclose(one.params[name], four.params[name], rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(one.cost, four.cost, rtol=1e-4)


def test_one_shard_is_the_plain_function():
    result = train(lambda worker: net(worker, "momentum", dropout=None), shards=1)
    plain, data = net(dist.Worker(0, 1, 1, 5), "momentum", dropout=None), dist.Arrays(*examples(), batch=BATCH)
    costs = [plain(*data.read(k, 0, 1, 5).arrays)["cost"] for k in range(data.steps)]
    assert result.cost[: data.steps].tobytes() == np.array(costs, dtype="float64").tobytes()


@pytest.mark.parametrize("workers", [2, 3])
def test_any_number_of_workers_gives_the_same_bits(workers):
    result = train(net_adam, workers)
    same(result, train(net_adam))
    assert gone(result) == workers and np.isfinite(result.history["bias"]).all()


def test_each_worker_has_a_gpu_of_its_own(monkeypatch):
    """Emulated: the flag says cuda here, and the workers, which have no flag, say what they see."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    with tg.config.change_flags(device="cuda"):
        result = dist.train(distmodels.says_gpu, dist.Arrays(np.zeros(8), batch=4), workers=2)
    assert result.cost.tolist() == [4, 4]  # the mean of both
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "3,5"


def test_ordinary_streams_belong_to_step_and_shard():
    build = distmodels.Build("nothing", worker=-1)
    same(train(build), train())
    assert (
        train(lambda w: net(w, dropout="shard")).cost.tobytes()
        == train(lambda w: net(w, dropout="shard")).cost.tobytes()
    )


def test_trainings_leave_no_descriptors():
    train(), batches(dist.ASGD(2))
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        train(), batches(dist.ASGD(2))
    assert wait_for(lambda: len(os.listdir("/proc/self/fd")) <= before, 5)  # threads of others open files, too


def test_less_than_one_step(alone):
    nothing = train(epochs=0)
    assert nothing.steps == 0 and nothing.cost.shape == (0,) and alone.steps == 15


# ---------------------------------------------------------------------- losses
@pytest.mark.parametrize("fault", ["kill_in_gradient", "kill_in_sum"])
def test_a_killed_worker_changes_no_bit(fault, alone, tmp_path, capfd, monkeypatch):
    monkeypatch.setattr("termgraph.dist.board.REDRAW", 0)
    result = train(Build(fault, once=str(tmp_path / "once"), step=9), workers=2, progress=True)
    table = capfd.readouterr().err
    assert "starting after SIGKILL" in table and table.rstrip().splitlines()[-1].startswith(
        "\x1b[4A\x1b[Jstep 15/15  cost "
    )
    assert table.rstrip().endswith("  1 lost")
    same(result, alone)
    assert gone(result) == 3 and [e.worker for e in result.events if e.kind == "lost"] == [1]


def test_a_writer_killed_over_a_checkpoint_changes_no_bit(alone, tmp_path):
    build = Build("kill_in_checkpoint", worker=0, step=3, once=str(tmp_path / "once"), pause=0.005)
    result = train(build, workers=2, checkpoint=tmp_path / "a.ckpt", every=2)
    same(result, alone)
    assert "lost" in {e.kind for e in result.events}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.ckpt", "once"]


def test_when_all_are_killed_the_checkpoint_is_what_is_left(alone, tmp_path):
    path, killed = tmp_path / "a.ckpt", []

    def kill_all(progress):
        if path.exists() and not killed:
            killed.extend(distmodels.workers_of(os.getpid()))
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    build = Build("nothing", worker=-1, pause=0.05)
    result = train(build, workers=2, checkpoint=path, every=2, on_report=kill_all)
    same(result, alone)
    assert len(killed) == 2 and gone(result) == 4
    again = [e.detail for e in result.events if e.kind == "joined"][2]
    assert int(again.split()[-1]) >= 2


def test_a_stopped_worker_is_replaced(alone, tmp_path):
    build = Build("stop_in_gradient", once=str(tmp_path / "once"))
    result = train(build, workers=2, timeout=1)
    same(result, alone)
    assert gone(result) == 3 and [e.kind for e in result.events if e.kind in ("late", "lost")] == ["late", "lost"]


def test_a_worker_that_always_dies_ends_the_training(monkeypatch):
    monkeypatch.setattr(crew, "LOSSES", 1)
    with pytest.raises(dist.WorkersLost, match="workers were lost at step .* SIGKILL"):
        train(AlwaysKilled(), workers=1)


class AlwaysKilled:
    def __call__(self, worker):
        distmodels.replica.Replica.apply = lambda *args: distmodels.kill()
        return net(worker)


# ---------------------------------------------------------------------- errors of the user
def test_errors_come_from_where_they_were_made(tmp_path):
    with pytest.raises(dist.WorkerError, match="worker 1, step 1:\n(.*\n)*.*ArithmeticError: of the user") as caught:
        train(Build("error", once=str(tmp_path / "once")), workers=2)
    assert isinstance(caught.value.__cause__, ArithmeticError)


def test_errors_while_building():
    with pytest.raises(
        dist.WorkerError, match="worker 0, building the step:\n(.*\n)*.*LookupError: no model for worker 0"
    ):
        train(distmodels.broken, workers=1)
    with pytest.raises(LookupError):
        train(distmodels.broken, workers=0)
    with pytest.raises(TypeError, match=r"build\(worker\) must return a dist.Step, got int"):
        train(lambda worker: 3, workers=0)


def test_copies_that_drift_apart_are_found(tmp_path):
    with pytest.raises(dist.WorkerError, match="after 8 steps the copies differ"):
        train(Build("drift", step=6, once=str(tmp_path / "once")), workers=2, rule=dist.Synchronous(check=4))


def test_steps_that_differ_are_refused():
    data = dist.Arrays(np.zeros(8), batch=4)
    with pytest.raises(ValueError, match=r"another step in worker 1 than in worker 0: .*\(4,\)\) instead of .*\(3,\)"):
        dist.train(distmodels.other_step, data, workers=2)


def test_arguments_are_checked(tmp_path):
    data = dist.Arrays(np.zeros(8), batch=4)
    for options, message in [
        ({"workers": -1}, "number from 0"), ({"workers": (3, 2)}, "least, most"),
        ({"workers": 3, "shards": 2}, "at least as many"),
        ({"every": 0}, "every must be"), ({"timeout": 0}, "timeout above 0"), ({"seed": -1}, "seed must be"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=message):
            dist.train(net, data, **options)
    with pytest.raises(TypeError, match=r"data must be dist.Arrays\(x, y, batch=...\)"):
        dist.train(net, np.zeros(3))
    with pytest.raises(TypeError, match="rule must be"):
        dist.train(net, data, rule="sgd")
    with pytest.raises(FileNotFoundError, match="no such folder"):
        dist.train(net, data, checkpoint=tmp_path / "no" / "a.ckpt")
    with pytest.raises(ValueError, match="the step has 2 inputs, but the data give 1"):
        dist.train(net, data)


# ---------------------------------------------------------------------- checkpoints
def test_a_resumed_training_is_the_uninterrupted_one(alone, tmp_path):
    path = tmp_path / "zustand ü.ckpt"

    def stop(progress):
        assert 0 < progress.step <= progress.steps and np.isfinite(progress.cost)
        return dist.STOP if progress.step >= 4 else None

    first = train(checkpoint=path, every=2, on_report=stop, build=Build("nothing", -1, pause=0.02))
    assert 4 <= first.steps < 15
    same(train(checkpoint=path, every=4, workers=2), alone)
    same(train(checkpoint=path), alone)  # there is nothing left to do


def test_checkpoints_of_other_trainings_are_refused(tmp_path):
    path = tmp_path / "a.ckpt"
    train(checkpoint=path)
    with pytest.raises(ValueError, match="is of another training: shards was 4 and is 2"):
        train(checkpoint=path, shards=2)
    with pytest.raises(ValueError, match="is of another model"):
        train(net_adam, checkpoint=path)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(ValueError, match="cannot be read as a checkpoint"):
        train(checkpoint=path)


# ---------------------------------------------------------------------- other rules
def counted(result, batches=40):
    assert float(result.params["w"]) == batches
    assert result.params["seen"].tolist() == [1] * batches
    return result


def batches(rule, build=counter, **options):
    return dist.train(
        build, dist.Arrays(np.arange(40), batch=1, shuffle=False), rule=rule, **{"timeout": 30, **options}
    )


@pytest.mark.parametrize("tau", [1, 3, 100])
def test_asgd_counts_every_batch_once(tau):
    assert not np.isnan(counted(batches(dist.ASGD(tau))).cost).any()


@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGSTOP])
def test_who_dies_or_stops_with_the_lock_changes_nothing(fault, tmp_path):
    result = counted(batches(FaultyASGD(2, str(tmp_path / "once"), fault), slow_counter, workers=2, timeout=1))
    kinds = [e.kind for e in result.events]
    assert (
        kinds.count("lost") == 1 and kinds.count("given back") == 1 and kinds.count("late") == (fault == signal.SIGSTOP)
    )
    assert gone(result) == 3


def test_an_asynchronous_training_goes_on_from_its_checkpoint(tmp_path):
    path = tmp_path / "a.ckpt"
    stop = lambda progress: dist.STOP if progress.step > 10 else None  # noqa: E731
    batches(dist.ASGD(4), on_report=stop, checkpoint=path)
    counted(batches(dist.ASGD(4), checkpoint=path))


def quadratic(worker):
    import termgraph as tg
    import termgraph.tensor as T

    w, x = tg.shared(np.full(3, 5.0), name="w"), T.dmatrix("x")
    return dist.Step([x], ((w - x) ** 2).sum(1).mean(), [w], tg.optim.sgd(0.1))


class Middle(dist.Rule):
    """A user's own: both go to the middle."""

    def exchange(self, local, centre, new):
        for own, old, out in zip(local, centre, new):
            out[...] = own[...] = (own + old) / 2


@pytest.mark.parametrize(
    "rule",
    [dist.ASGD(2), dist.EASGD(tau=2), dist.EASGD(0.5, 1), dist.EASGD(0.3, 3, momentum=0.5), Middle()],
    ids=["asgd", "easgd", "half", "momentum", "own"],
)
def test_rules_converge(rule):
    x = np.random.default_rng(0).normal(loc=2, size=(400, 3))
    result = dist.train(quadratic, dist.Arrays(x, batch=8, epochs=3), rule=rule)
    assert np.abs(result.params["w"] - x.mean(0)).max() < 0.4 and result.cost[-1] < result.cost[0]


def test_easgd_converges_with_two_workers():
    x = np.random.default_rng(0).normal(loc=2, size=(400, 3))
    result = dist.train(quadratic, dist.Arrays(x, batch=8, epochs=3), rule=dist.EASGD(tau=4), workers=2)
    # It began at a distance of 3. A worker that the machine has kept waiting since then may pull the centre back once.
    assert np.abs(result.params["w"] - x.mean(0)).max() < 1.5 and not np.isnan(result.cost).any()


def test_an_elastic_rate_of_nothing_leaves_the_centre():
    result = dist.train(quadratic, dist.Arrays(np.zeros((20, 3)), batch=4), rule=dist.EASGD(0.0, 1))
    assert result.params["w"].tolist() == [5] * 3


def test_asgd_alone_is_plain_descent_within_rounding():
    x = np.random.default_rng(0).normal(size=(40, 3))
    plain, one = (dist.train(quadratic, dist.Arrays(x, batch=4), rule=r) for r in (dist.Synchronous(), dist.ASGD(3)))
    np.testing.assert_allclose(plain.params["w"], one.params["w"], rtol=1e-12)


@pytest.mark.parametrize("eta", [0.2, 1.0, 1.8])
def test_elastic_averaging_is_stable_within_its_bound(eta):
    """Two workers in turn on a quadratic: stable for alpha up to (4 - 2 eta) / (4 - eta)."""
    bound = (4 - 2 * eta) / (4 - eta)
    for alpha in (0.95 * bound, min(1.0, 1.2 * bound)):
        centre, own = np.array([1.0]), [np.array([1.0]), np.array([-0.5])]
        rules = [dist.EASGD(alpha, 1) for _ in own]
        for r, w in zip(rules, own):
            r.start([w], 2)
        for k in range(4000):
            w, new = own[k % 2], np.empty(1)
            grad = eta * w.copy()
            rules[k % 2].exchange([w], [centre], [new])
            w -= grad
            centre = new
        assert abs(centre[0]) < 1 if alpha < bound else abs(centre[0]) > 1


def test_rules_check_their_numbers():
    wrong = [(dist.EASGD, {"alpha": 1.5}), (dist.EASGD, {"tau": 0.5}), (dist.EASGD, {"momentum": 1})]
    for make, options in [(dist.ASGD, {"tau": 0}), (dist.Synchronous, {"check": -1}), *wrong]:
        with pytest.raises(ValueError):
            make(**options)
    with pytest.raises(NotImplementedError, match="must define exchange"):
        dist.Rule().exchange([], [], [])
