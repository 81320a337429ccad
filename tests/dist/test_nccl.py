"""Means by NCCL: the library in threads, and workers with emulated GPUs. The emulation of NCCL is `emunccl.c`."""

import ctypes
import importlib
import os
import shutil
import subprocess
import threading
import time
from pathlib import Path

import distmodels
import numpy as np
import pytest
from distmodels import Build, OnEmulatedGPU, examples

import termgraph as tg
from termgraph import dist
from termgraph.dist import devices, nccl
from termgraph.dist.device_exchange import DeviceExchange, DeviceSums, can_add
from termgraph.dist.exchange import Closed, Exchange
from termgraph.dist.layout import Layout
from termgraph.dist.memory import Shared
from termgraph.dist.nccl import Communicator, Library, NcclError, Piece


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """The emulated library."""
    if shutil.which("gcc") is None:
        pytest.skip("the emulated NCCL needs gcc")
    made = str(tmp_path_factory.mktemp("nccl") / nccl.LIBRARY)
    source = str(Path(__file__).with_name("emunccl.c"))
    flags = ["-O1", "-Wall", "-Werror", "-shared", "-fPIC", f"-Wl,-soname,{nccl.LIBRARY}"]
    subprocess.run(["gcc", *flags, source, "-o", made, "-lrt"], check=True)
    yield made
    for left in Path("/dev/shm").glob(f"termgraph-emunccl-{os.getpid()}-*"):  # of groups that have not come together
        left.unlink()


@pytest.fixture
def library(path):
    return Library(ctypes.CDLL(path))


def members(library, count, action):
    """Threads that are the members of a group."""
    name, errors = library.unique_id(), []

    def run(rank):
        try:
            group = Communicator(library, count, rank, name, lambda: None)
            action(group, rank)
            group.abort()
        except BaseException as err:
            errors.append(err)

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert not errors and not any(t.is_alive() for t in threads)


def piece(array):
    return Piece(array.ctypes.data, array.size, str(array.dtype))


def test_arrays_are_added_in_their_place(library):
    own = [
        [np.full(5, rank, "float32"), np.array(10.0**rank), np.zeros(0, "float32"), np.arange(6.0) * rank]
        for rank in range(3)
    ]
    members(library, 3, lambda group, rank: [group.all_reduce(map(piece, own[rank]), 0) for _ in range(2)])
    for arrays in own:  # twice: the second time three equal ones
        assert [a.tolist() for a in arrays] == [[9.0] * 5, 333.0, [], [0.0, 9.0, 18.0, 27.0, 36.0, 45.0]]


def test_who_waits_for_one_that_is_gone_is_let_go(library):
    own = np.ones(3)

    def act(group, rank):
        if rank:  # never comes to the sum
            return
        threading.Timer(0.05, group.abort).start()
        group.all_reduce([piece(own)], 0)
        assert group.aborted

    members(library, 2, act)


def test_a_group_that_does_not_come_together_is_left(library):
    asked = []

    def check():
        asked.append(time.monotonic())
        if len(asked) > 3:
            raise Closed

    with pytest.raises(Closed):
        Communicator(library, 2, 0, library.unique_id(), check)


def test_failures_say_what_nccl_says(library):
    with pytest.raises(NcclError, match=r"ncclCommInitRankConfig: invalid argument \(4\)"):
        Communicator(library, 1, 3, library.unique_id(), lambda: None)
    group = Communicator(library, 1, 0, library.unique_id(), lambda: None)
    with pytest.raises(NcclError, match="ncclAllReduce: invalid argument"):
        group.all_reduce([Piece(0, 1, "int8")], 0)  # which the emulation does not add
    group.all_reduce([piece(np.ones(2))], 0)  # the failure has left no group of calls open
    assert can_add([("bfloat16", (2,))]) and not can_add([("complex64", ())])


def test_a_library_that_cannot_be_used_says_why(monkeypatch, path):
    monkeypatch.setattr(nccl, "_places", lambda: ["/nowhere/libnccl.so.2"])
    nccl.library.cache_clear()
    assert "/nowhere/libnccl.so.2" in nccl.library()
    monkeypatch.setattr(nccl, "_places", lambda: ["/nowhere/libnccl.so.2", path])
    monkeypatch.setattr(nccl, "OLDEST", 99999)
    nccl.library.cache_clear()
    assert nccl.library() == "NCCL is too old: version 22000, and 99999 is needed"
    monkeypatch.undo()
    monkeypatch.setattr(nccl, "_places", lambda: [path])
    nccl.library.cache_clear()
    assert nccl.library().version == 22000
    nccl.library.cache_clear()


# ---------------------------------------------------------------------- who takes part
def test_a_gpu_of_ones_own(tmp_path):
    seen = {devices.VISIBLE: "0,1"}
    assert not devices.one_each(2, seen, tmp_path)
    with tg.config.change_flags(device="cuda"):
        found = [devices.one_each(n, seen, tmp_path) for n in range(4)]
        assert found == [False, False, True, False]
        assert not devices.one_each(2, {devices.VISIBLE: "0,0"}, tmp_path)


@pytest.mark.parametrize(
    ("options", "wanted"), [({}, True), ({"shards": 2}, False), ({"workers": 3}, False), ({"address": "auto"}, False)]
)
def test_bits_that_were_promised_go_before_nccl(options, wanted, monkeypatch):
    def crew(most, address):
        def begin(job, *args):
            assert job.on_device == wanted
            raise InterruptedError

        return begin

    monkeypatch.setattr(importlib.import_module("termgraph.dist.train"), "_crew", crew)
    monkeypatch.setenv(devices.VISIBLE, "0,1")
    with tg.config.change_flags(device="cuda"), pytest.raises(InterruptedError):
        dist.train(distmodels.net, dist.Arrays(*examples(), batch=10), **{"workers": 2, **options})


def test_the_memory_has_no_slots():
    layout = Layout([("float32", (1_000_000,))])
    assert DeviceExchange.size(layout, 4, 4) < 1000 < Exchange.size(layout, 4, 4)


def test_who_has_not_come_to_a_sum_is_said_after_a_while():
    late, memory = [], Shared(DeviceExchange.size(Layout([]), 3, 3))
    waiting = DeviceExchange(memory, DeviceSums([]), 3, 3, 0, timeout=10.0, late=late.append)
    waiting._begun[:2] = 1
    waiting._complain()
    for begun in (0, 1):  # nobody knows who it is if all have begun
        waiting._begun[2], waiting._waiting_since = begun, time.monotonic() - 11
        waiting._complain()
        waiting._complain()
    assert late == [[2], [1, 2]]


# ---------------------------------------------------------------------- workers
def check_trained(path, monkeypatch, then=None):
    """Two workers with emulated GPUs come to what one process comes to on the host."""
    monkeypatch.setenv(devices.VISIBLE, "0,1")
    data = dist.Arrays(*examples(), batch=10, epochs=2)
    with tg.config.change_flags(device="cuda"):
        rule = dist.Synchronous(check=3)
        two = dist.train(OnEmulatedGPU(path, then), data, rule=rule, workers=2, seed=5, timeout=60)
    one = dist.train(lambda worker: distmodels.net(worker, "sgd"), data, seed=5)
    np.testing.assert_allclose(two.cost, one.cost, rtol=1e-4)
    for name in one.params:
        np.testing.assert_allclose(two.params[name], one.params[name], rtol=2e-4, atol=2e-5)
    joined = [e.detail for e in two.events if e.kind == "joined"]
    assert joined and all("means by NCCL" in detail for detail in joined)
    return [e.kind for e in two.events].count("lost")


def test_a_sum_on_the_devices_is_left_when_a_worker_is_killed(path, monkeypatch, tmp_path):
    killed = Build("nothing", once=str(tmp_path / "once"), step=6)
    assert check_trained(path, monkeypatch, killed.kill_before_reduce) == 1


@pytest.mark.slow
def test_workers_with_gpus_train_as_one(path, monkeypatch):
    assert check_trained(path, monkeypatch) == 0
