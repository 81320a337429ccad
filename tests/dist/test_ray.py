"""Workers on Ray: the same bits as anywhere, also when one is killed. Skipped where Ray is not installed."""

import importlib.util
import os
import signal
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from distmodels import Build, Chaos, FaultyASGD, broken, examples, net, slow_counter, wait_for

from termgraph import dist
from termgraph.dist import ray_crew, ray_slices
from termgraph.dist.centre import DRIVER, Book
from termgraph.dist.exchange import Closed
from termgraph.dist.layout import Layout
from termgraph.dist.ray_centre import FIRST_OWNER, Keeper, RayCentre
from termgraph.dist.ray_crew import RayExchange, Shelf, connect
from termgraph.dist.ray_slices import NoAnswer, OwnerLost, Slice, Slices, cuts

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
    result = dist.train(
        build, data(), workers=2, address="local", timeout=60, checkpoint=tmp_path / "a.ckpt", **options
    )
    same(result, dist.train(net, data(), **options))
    assert [e.kind for e in result.events].count("lost") == 1 and (tmp_path / "once").exists()


def counted(rule, **options):
    """Batches that count themselves: each must be part of the centre once."""
    batches = dist.Arrays(np.arange(40), batch=1, shuffle=False)
    result = dist.train(slow_counter, batches, rule=rule, workers=2, address="local", timeout=60, **options)
    assert float(result.params["w"]) == 40 and (result.params["seen"] == 1).all() and not np.isnan(result.cost).any()
    return result


@needs_ray
def test_every_batch_counts_once_on_ray(ray, tmp_path):
    counted(dist.ASGD(4))
    result = counted(FaultyASGD(2, str(tmp_path / "once")))  # killed while it has the centre
    assert [e.kind for e in result.events].count("lost") == 1
    path = tmp_path / "a.ckpt"
    first = dist.train(
        slow_counter, dist.Arrays(np.arange(40), batch=1, shuffle=False), rule=dist.ASGD(4), workers=1, address="local",
        checkpoint=path, on_report=lambda progress: dist.STOP if progress.step >= 8 else None,
    )  # fmt: skip
    assert 8 <= float(first.params["w"]) < 40
    counted(dist.ASGD(4), checkpoint=path)


@needs_ray
def test_elastic_averaging_on_ray(ray):
    x, y = examples()
    result = dist.train(net, dist.Arrays(x, y, batch=10, epochs=20), rule=dist.EASGD(tau=2), workers=2, address="local")
    assert np.nanmean(result.cost[-8:]) < np.nanmean(result.cost[:8])


@needs_ray
@pytest.mark.parametrize("rule", [dist.ASGD(2), dist.EASGD(alpha=0.4, tau=3, momentum=0.5)])
def test_slices_of_the_centre_change_no_bit(ray, rule):
    whole, sliced = (dist.train(net, data(), rule=rule, workers=1, seed=5, address="local", owners=n) for n in (1, 3))
    same(whole, sliced)
    same(whole, dist.train(net, data(), rule=rule, workers=1, seed=5))  # shared memory


@needs_ray
def test_killed_workers_leave_no_half_of_an_exchange_in_slices(ray, tmp_path):
    folder, places = tmp_path / "kills", 120
    folder.mkdir()
    build = Chaos(partial(slow_counter, places=places), folder, 3, ["slice", "lock", "batch"], calls=9)
    batches = dist.Arrays(np.arange(places), batch=1, shuffle=False)
    result = dist.train(build, batches, rule=dist.ASGD(2), workers=2, address="local", timeout=60, every=8, owners=3)
    assert float(result.params["w"]) == places and (result.params["seen"] == 1).all()
    assert len(list(folder.iterdir())) > 0 and "gone back" not in {e.kind for e in result.events}


class Loses:
    """Ends or stops an owner of a slice, once some batches are done."""

    def __init__(self, number, after):
        self.number, self.after, self.pid = number, after, None

    def __call__(self, progress):
        if progress.step >= self.after and self.pid is None:
            self.pid = owners_there()[-1]
            os.kill(self.pid, self.number)


def owners_there():
    found = [p for p in Path("/proc").glob("[0-9]*/cmdline") if _read(p).startswith((b"ray::Slice", b"ray::SlowSlice"))]
    return sorted(int(p.parent.name) for p in found)


@needs_ray
@pytest.mark.parametrize(("number", "timeout"), [(signal.SIGKILL, 60), (signal.SIGSTOP, 3)])
def test_a_lost_owner_of_a_slice_takes_all_back_to_one_moment(ray, number, timeout, tmp_path):
    batches, lose = dist.Arrays(np.arange(120), batch=1, shuffle=False), Loses(number, 50)
    result = dist.train(
        partial(slow_counter, places=120), batches, rule=dist.ASGD(2), workers=2, address="local", timeout=timeout,
        owners=3, every=15, on_report=lose, checkpoint=tmp_path / "a.ckpt",
    )  # fmt: skip
    assert lose.pid and float(result.params["w"]) == 120 and (result.params["seen"] == 1).all()
    assert not np.isnan(result.cost).any()
    back, *again = [e for e in result.events if e.kind == "gone back"]
    assert not again or number == signal.SIGSTOP  # within 3 s the new owner may be late, too, where much else runs
    before, after = (int(back.detail.split()[k]) for k in (-4, -1))
    assert before >= 50 > before - after - 35 and after > 0, back  # one copy of every 15, and what was done meanwhile
    assert wait_for(lambda: not owners_there(), 10)


class SlowKeeper(Keeper):
    """A keeper in a process that takes its time to start."""

    def __init__(self, *args, **options):
        time.sleep(4)
        super().__init__(*args, **options)


class SlowSlice(Slice):
    """An owner in a process that takes its time to start."""

    def __init__(self, nbytes):
        time.sleep(4)
        super().__init__(nbytes)


@needs_ray
@pytest.mark.parametrize("end", [False, True], ids=["first owners", "new owner"])
def test_processes_of_the_centre_may_start_slowly(ray, end, monkeypatch):
    """What they import, beside other work, is no part of the second in which they have to answer."""
    if end:
        lose = Loses(signal.SIGKILL, 10)
    else:
        monkeypatch.setattr(ray_crew, "Keeper", SlowKeeper)
        lose = None
    monkeypatch.setattr(ray_slices, "Slice", SlowSlice)
    batches = dist.Arrays(np.arange(30), batch=1, shuffle=False)
    result = dist.train(
        partial(slow_counter, places=30), batches, rule=dist.ASGD(2), workers=1, address="local", timeout=1, owners=2,
        every=5, on_report=lose,
    )  # fmt: skip
    kinds = [e.kind for e in result.events]
    assert float(result.params["w"]) == 30 and kinds.count("gone back") == (1 if end else 0), kinds


@needs_ray
def test_errors_on_ray(ray):
    with pytest.raises(
        dist.WorkerError, match="building the step:\n(.*\n)*.*LookupError: no model for worker"
    ) as caught:
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
SPECS = [("float64", (3,)), ("float32", ())]


def centre(keeper, who, **options):
    """The centre as a member sees it whose keeper is in this process."""
    return RayCentre(
        lambda method, *args: getattr(keeper, method)(*args), Layout(SPECS), 2, keeper.admit(who), **options
    )


def test_a_change_of_the_centre_is_whole_or_nothing():
    keeper = Keeper(SPECS, 2)
    one, two = centre(keeper, 0), centre(keeper, 1)
    with one.change(0) as (old, new):
        new.arrays[0][:], new.arrays[1][...] = old.arrays[0] + 2, 5
        new.book.words[Book.TOTAL] = 9
    with pytest.raises(ArithmeticError), two.change(1) as (old, new):
        new.arrays[0][:] = 1e9
        raise ArithmeticError
    with two.reading(1) as now:
        assert now.arrays[0].tolist() == [2, 2, 2] and now.arrays[1] == 5 and now.book.words[Book.TOTAL] == 9
    with two.change_book(1) as book:
        book.take(1, 4)
    one.refresh()
    assert one.now.book.taken[1].tolist() == [0, 4]
    with one.reading(0) as now:
        assert now.arrays[0].tolist() == [2, 2, 2]


def test_what_a_member_returns_that_was_taken_for_dead_is_refused():
    keeper = Keeper(SPECS, 2)
    stopped, other = centre(keeper, 0), centre(keeper, 1)
    with pytest.raises(Closed), stopped.change(0) as (_, new):
        new.arrays[0][:] = 1e9
        keeper.dismiss(0)
        with other.change(1) as (old, theirs):  # it is free again at once
            theirs.arrays[0][:] = old.arrays[0] + 1
    with other.reading(1) as now:
        assert now.arrays[0].tolist() == [1, 1, 1]
    with pytest.raises(Closed), stopped.change(0):
        pass
    assert stopped.closed and not other.closed
    with centre(keeper, 0).reading(0) as now:  # who comes in its place
        assert now.arrays[0].tolist() == [1, 1, 1]


def test_who_waits_for_the_centre_says_for_whom(monkeypatch):
    monkeypatch.setattr("termgraph.dist.ray_centre.ANSWER_WITHIN", 0.01)
    keeper = Keeper(SPECS, 2)
    late = []

    def end(holder):
        late.append(holder)
        keeper.dismiss(holder)

    waiting = centre(keeper, 1, timeout=0.02, late=end)
    with pytest.raises(Closed), centre(keeper, 0).change(0), waiting.reading(1):
        pass
    assert late == [0]


def direct(actor):
    """Calls of an object of this process, as of an actor; those of None are never answered."""

    def call(method, *args):
        if actor is None:
            return lambda seconds: never()
        found = getattr(actor, method)(*args)
        return lambda seconds: found

    return call


def never():
    raise NoAnswer


def sliced(keeper, who, owners, **options):
    layout = Layout(SPECS)
    slices = Slices({k: direct(a) for k, a in enumerate(owners)}, layout.nbytes, 1.0)
    return RayCentre(lambda m, *args: getattr(keeper, m)(*args), layout, 2, keeper.admit(who), slices=slices, **options)


def test_slices_are_put_in_force_together():
    keeper, owners = Keeper(SPECS, 2, whole=False), [Slice(64), Slice(64)]
    one, two = sliced(keeper, 0, owners), sliced(keeper, 1, owners)
    with one.change(0) as (old, new):
        new.arrays[0][:], new.arrays[1][...] = old.arrays[0] + 2, 5
    stopped = one.change(0)  # has written a slice of two when it is taken for dead
    _, new = stopped.__enter__()
    new.arrays[0][:], new.arrays[1][...] = 1e9, 1e9
    owners[0].write(2, 1, new.bytes[:64])
    keeper.dismiss(0)
    with two.change(1) as (old, new):
        assert old.arrays[0].tolist() == [2, 2, 2] and old.arrays[1] == 5
        new.arrays[0][:], new.arrays[1][...] = 3, 6
    with pytest.raises(Closed):
        stopped.__exit__(None, None, None)
    with two.reading(1) as now:
        assert now.arrays[0].tolist() == [3, 3, 3] and now.arrays[1] == 6
    assert [sorted(o._versions) for o in owners] == [[1, 3], [1, 3]]  # two of each, not more


def test_who_owns_a_slice_and_is_silent_is_named_and_the_centre_is_free_again():
    keeper, owners, late = Keeper(SPECS, 2, whole=False), [Slice(64), None], []
    with pytest.raises(OwnerLost), sliced(keeper, 0, owners, late=late.append).change(0):
        pass
    with pytest.raises(OwnerLost), sliced(keeper, 0, owners, late=late.append).replacing(0) as new:
        new.bytes[:] = 1
    assert late == [FIRST_OWNER - 1] * 2 and keeper.holder() == DRIVER - 1
    with sliced(keeper, 0, owners).change_book(0) as book:  # needs no slices
        book.take(0, 1)


def test_slices_are_about_equal():
    assert cuts(640, 3) == [slice(0, 256), slice(256, 448), slice(448, 640)]
    assert cuts(64, 5) == [slice(0, 64)] and cuts(0, 3) == []


def test_owners_are_for_centres_on_ray():
    for options in ({"rule": dist.ASGD(1), "owners": 2}, {"rule": dist.Synchronous(), "owners": 2, "address": "local"}):
        with pytest.raises(ValueError, match="owners=2 must be"):
            dist.train(net, data(), workers=1, **options)


def test_who_has_the_centre_and_is_dead_keeps_nobody_waiting(monkeypatch):
    monkeypatch.setattr("termgraph.dist.ray_centre.ANSWER_WITHIN", 0.01)
    keeper = Keeper(SPECS, 2)
    driver = RayCentre(
        lambda m, *args: getattr(keeper, m)(*args), Layout(SPECS), 2, late=pytest.fail, gone=lambda who: who == 0
    )
    with pytest.raises(Closed), centre(keeper, 0).change(0), driver.reading(DRIVER):
        pass


def test_a_centre_that_is_closed_is_lent_to_the_driver_only():
    keeper = Keeper(SPECS, 2)
    member, driver = (
        centre(keeper, 0),
        RayCentre(lambda method, *args: getattr(keeper, method)(*args), Layout(SPECS), 2),
    )
    driver.close()
    with pytest.raises(Closed), member.change(0):
        pass
    with driver.reading(DRIVER) as now:
        assert not now.arrays[0].any()


def test_what_is_not_on_ray_is_said():
    with pytest.raises(ValueError, match="address= is for worker processes"):
        dist.train(net, data(), workers=0, address="local")
    if importlib.util.find_spec("ray") is None:
        with pytest.raises(ImportError, match=r"pip install 'termgraph\[dist\]'"):
            dist.train(net, data(), workers=2, address="local")


def exchange(shelf, generation, rank=0):
    layout = Layout([("float64", ()), ("float32", (100,))])
    return RayExchange(shelf, {}, generation, layout, 2, 2, rank, 0.1, lambda ranks: None)


def test_a_worker_gives_only_what_is_there_and_of_this_generation(monkeypatch):
    monkeypatch.setattr("termgraph.dist.ray_crew.ANSWER_WITHIN", 0.01)
    shelf = Shelf()
    assert shelf.take(0, "slots", 0, 1) is None
    made = exchange(shelf, 0)
    assert shelf.take(0, "slots", 0, 1) is None
    made.put(0, 0, [np.float64(2), np.arange(100, dtype="float32")], 0.5, 1)
    made._offer("slots", 0)
    pieces = shelf.take(0, "slots", 0, 1)
    assert [a.dtype for a in pieces] == ["float64", "float32"]
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
