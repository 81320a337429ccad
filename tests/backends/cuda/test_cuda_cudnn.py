"""Plans of cuDNN are timed once for a problem: on its stand-in, whose engines take the times that it says."""

from types import SimpleNamespace

import pytest
from backends.cuda.test_cuda_drivers import core, emulated, run

import termgraph as tg
from termgraph.backends.cuda.driver.base import CudaError, DeviceLost, OutOfDeviceMemory
from termgraph.backends.cuda.run import cudnn_timing
from termgraph.backends.cuda.run.cudnn_engines import EnginePlan, NotSupported

PROGRAM = """
import ctypes, sys
import numpy as np
from emucuda.build import dnn_library
from emucuda.driver import packaged_device
from termgraph.backends.cuda.run import cudnn_timing, device
import termgraph as tg, termgraph.tensor as T
device.use(packaged_device("core"))
ctypes.CDLL(dnn_library(), mode=ctypes.RTLD_GLOBAL)
timed, count = cudnn_timing._timed, []
cudnn_timing._timed = lambda *args: count.append(1) or timed(*args)
cudnn_timing.FORMAT = sys.argv[2]  # of no other test
cudnn_timing.CALLS, cudnn_timing.ROUNDS, cudnn_timing.SECONDS, cudnn_timing.FAR = 1, 8, 9, 99  # on a busy machine too
rng = np.random.default_rng(0)
image, filters = (2, 4, 7, 6), (6, 2, 3, 2)

def made(dtype, mode=None):
    x, w = T.tensor("x", dtype=dtype, shape=image), T.tensor("w", dtype=dtype, shape=filters)
    y = T.nnet.conv2d(x, w, border_mode="half", num_groups=2)
    twice = T.tanh(T.nnet.conv2d(T.tanh(x), w, border_mode="half", num_groups=2))  # an equal layer
    return [x, w], [y, *tg.grad((y * y).sum(), [x, w]), twice], mode

def plans(dtype, mode=None):
    inputs, outputs, mode = made(dtype, mode)
    dnn = device.current().dnn()
    before, values = set(dnn.plans), [rng.integers(-2, 3, s).astype(dtype) for s in (image, filters)]
    with tg.config.change_flags(device="cpu"):
        wanted = tg.function(inputs, outputs, mode=tg.Mode(linker="py", optimizer="None"))(*values)
    f = tg.function(inputs, outputs, mode=mode)
    calls, right = [], []
    for _ in range(3):  # run, record, replay
        start = dnn.calls
        right += [np.allclose(a, b, rtol=1e-2, atol=1e-2) for a, b in zip(f(*values), wanted)]
        calls.append(dnn.calls - start)
    found = [str(plan) for key, plan in dnn.plans.items() if key not in before]
    print(all(right), calls, len(count), found)
    count.clear()

with tg.config.change_flags(device="cuda"):
    exec(sys.argv[1])
"""
CHOSEN = "['engine 6 2=1', 'engine 6 2=1', 'engine 6 2=1']"
USUAL = "['algorithm 2', 'algorithm 2', 'algorithm 2']"


def lines(tmp_path, text, **environment):
    status, output = run("-c", PROGRAM, text, str(tmp_path), **environment)
    assert status == 0, output
    return output.splitlines()


@core
@emulated
def test_the_fastest_plan_is_found_once(tmp_path):
    """Of those that repeat their results, round as the program does, run and find room; a second process knows it.

    Equal layers are one problem. The slow way of an engine, by its knob, is not taken.
    """
    assert lines(tmp_path, "plans('float32')") == [f"True [4, 4, 0] 3 {CHOSEN}"]
    again = "plans('float32'); tg.config.cuda.time_convolutions = False; plans('float32')"
    assert lines(tmp_path, again, TG_DNN_SLOW="6") == [f"True [4, 4, 0] 0 {CHOSEN}", f"True [4, 4, 0] 0 {USUAL}"]


@core
@emulated
def test_times_decide(tmp_path):
    """What is recommended stays where it is the fastest; tensor cores only where they round no more."""
    text = "plans('float32', mode='FAST_COMPILE'); plans('float32'); plans('float16'); plans('float64')"
    cores = "['engine 1', 'engine 1', 'engine 1']"
    assert lines(tmp_path, text, TG_DNN_SLOW="6") == [
        f"True [4, 4, 0] 0 {USUAL}", f"True [4, 4, 0] 3 {USUAL}", f"True [4, 4, 0] 3 {cores}",
        f"True [4, 4, 0] 3 {cores}",
    ]  # fmt: skip


@core
@emulated
def test_nothing_is_timed_while_work_is_recorded(tmp_path):
    """The first call may be part of a recording of others; the next one times."""
    text = """
p = dict(name="conv_panels", dtype="float32", key=1, x=image, w=filters, y=(2, 6, 7, 7), pad=(1, 1), stride=(1, 1),
         dilation=(1, 1), groups=2, turned=False, places=[("x", 0), ("w", 0), ("y", 0)])
gpu = device.current()
at = {name: gpu.allocate(4096, name) for name in "xwy"}
for gpu.recording in (True, False):
    print(gpu.dnn().convolve(p, at, "float32", True), len(count))
print([str(plan) for plan in gpu.dnn().plans.values()])
at["x"] += 4  # kernels that ask for 16 bytes must not be taken
print(gpu.dnn().convolve(p, at, "float32", True), len(count))
"""
    assert lines(tmp_path, text) == ["True 0", "True 1", "['algorithm 2', 'engine 6 2=1']", "True 2"]


# ---------------------------------------------------------------------- choosing, without a library
class Clock:
    """What `time` is to the module, and a device whose work takes as long as plans say."""

    def __init__(self):
        self.now, self.asked, self.freed = 0.0, [], 0

    def perf_counter(self):
        return self.now


class Planned(EnginePlan):
    """An engine that takes some seconds, wants some room, or fails."""

    def __init__(self, clock, engine, seconds, size=64, error=None):
        self.clock, self.seconds, self.error = clock, seconds, error
        self.engine, self.knobs, self.size, self.room, self.calls, self.closed = engine, (), size, 0, 0, False

    def run(self, places):
        assert self.room or not self.size
        self.calls += 1
        if self.error:
            raise self.error
        self.clock.now += self.seconds

    def close(self):
        self.closed = True


def chosen(clock, plans, monkeypatch, of, free=1 << 20, usual=None):
    """The engine that is chosen of these, on a device with so many bytes free."""

    def allocate(size, purpose):
        if size > free:
            raise OutOfDeviceMemory(purpose)
        clock.asked.append(size)
        return 4096

    monkeypatch.setattr(cudnn_timing, "time", clock)
    driver = SimpleNamespace(synchronize=lambda: None)
    device = SimpleNamespace(driver=driver, allocate=allocate, free=lambda address: clock.asked.pop())
    dnn = SimpleNamespace(device=device, rooms=[], most=1 << 30, room=lambda size: 8192 if size <= free else None)
    by_number = {p.engine: p for p in plans}
    engines = SimpleNamespace(plans=lambda exact, most: iter(plans), named=lambda engine, knobs: by_number[engine])
    return cudnn_timing.fastest(dnn, usual, lambda: engines, True, {"x": 16, "w": 32, "y": 48}, of)


@pytest.fixture
def clock(tmp_path):
    with tg.config.change_flags(cache__dir=str(tmp_path)):
        yield Clock()


def test_what_fails_or_finds_no_room_is_left_out(clock, monkeypatch):
    """A choice that the memory of the moment made is not kept for other processes."""
    plans = [
        Planned(clock, 1, 1e-6, size=2 << 20),  # the fastest, for which there is no room
        Planned(clock, 2, 1e-6, size=1 << 40),  # more than an algorithm may keep
        Planned(clock, 3, 1e-6, error=NotSupported("cudnnBackendExecute")),
        Planned(clock, 4, 1e-6, error=CudaError("status 5000")),
        Planned(clock, 5, 3e-3),
        Planned(clock, 6, 2e-3),
    ]
    best = chosen(clock, plans, monkeypatch, "full")
    assert best is plans[5] and best.room == 8192 and not clock.asked
    assert [p.calls for p in plans[:4]] == [0, 0, 1, 1] and plans[4].closed and not best.closed
    calls = best.calls
    assert chosen(clock, plans, monkeypatch, "full", free=4 << 20) is plans[0]  # timed again
    assert best.calls > calls
    calls = best.calls
    assert chosen(clock, plans, monkeypatch, "full", free=4 << 20) is plans[0] and best.calls == calls  # not again


def test_timing_ends_after_some_time(clock, monkeypatch):
    """Slow problems are tried with what comes first; what is far slower than the best is asked less often."""
    plans = [Planned(clock, k, 0.02) for k in range(8)]
    chosen(clock, plans, monkeypatch, "slow")
    assert sum(p.calls > 0 for p in plans) == 2 and clock.now < 2 * cudnn_timing.SECONDS
    plans = [Planned(clock, 0, 1e-3), Planned(clock, 1, 5e-3)]
    assert chosen(clock, plans, monkeypatch, "far") is plans[0] and plans[1].calls < plans[0].calls


def test_a_lost_device_is_an_error(clock, monkeypatch):
    with pytest.raises(DeviceLost):
        chosen(clock, [Planned(clock, 1, 1e-3, error=DeviceLost("gone"))], monkeypatch, "lost")


def test_no_engines_leave_what_is_recommended(clock, monkeypatch):
    """The usual plan is there also where the library refuses the graph; without one our kernels compute."""
    usual = Planned(clock, 7, 1e-3)

    def refused():
        raise NotSupported("cudnnBackendFinalize")

    assert cudnn_timing.fastest(SimpleNamespace(), usual, refused, True, {}, "refused") is usual
    assert chosen(clock, [], monkeypatch, "none") is None
