"""What a process may have beside us: contexts and streams of other libraries, other devices, page-locked memory, forks.

The real packages above the emulated libcuda.so.1, which refuses what a real one refuses; each in a process of its own.
"""

import multiprocessing
import warnings

import numpy as np
import pytest
from backends.cuda.cudacases import inside, no_emulation, program
from backends.cuda.test_cuda_drivers import DRIVERS, core, emulated, run

import termgraph as tg
import termgraph.tensor as T
from emucuda.driver import emulated_device, emulation
from termgraph.backends.cuda.build import compile as compilers
from termgraph.backends.cuda.driver.base import CudaError
from termgraph.backends.cuda.run import launches
from termgraph.backends.cuda.run.device_array import DeviceArray, as_device_array
from termgraph.backends.cuda.run.executor import Executable

LINKER = "auto"
plain = pytest.mark.skipif(bool(no_emulation), reason=no_emulation or "g++")

START = """
import ctypes
import numpy as np
from emucuda.driver import packaged_device
from termgraph.backends.cuda.run import device
import termgraph as tg, termgraph.tensor as T
device.use(*[packaged_device("core", k) for k in range({devices})])
from cuda.bindings import driver as cu
tg.config.device = "cuda"
x = T.fvector("x")

def ask(function, *args):
    error, *found = function(*args)
    assert not int(error), (function.__name__, error)
    return found[0] if found else None

class Foreign:
    def __init__(self, address, n, stream):
        self.__cuda_array_interface__ = {{
            "data": (address, False), "shape": (n,), "typestr": "<f4", "stream": stream, "version": 3, "strides": None
        }}
"""


def outcome(text, devices=1, **environment):
    status, output = run("-c", START.format(devices=devices) + text, EMUCUDA_DEVICES=str(devices), **environment)
    assert status == 0, output[-3000:]
    return output.split("\n")[:-1]


@core
@emulated
def test_the_context_of_another_library_is_found_again():
    """Somebody works on the second device, in the thread that calls a function on the first."""
    lines = outcome(
        """
f = tg.function([x], x * 2, updates=[])
theirs = ask(cu.cuDevicePrimaryCtxRetain, 1)
ask(cu.cuCtxSetCurrent, theirs)
for _ in range(4):
    print(f([1, 2]), int(ask(cu.cuCtxGetCurrent)) == int(theirs))
mine = tg.function([x], tg.Out(x + 1, target="cuda"))([1, 2])
print(np.asarray(mine[::-1]), int(ask(cu.cuCtxGetCurrent)) == int(theirs))
""",
        devices=2,
    )
    assert lines == [*["[2. 4.] True"] * 4, "[3. 2.] True"]


@core
@emulated
def test_streams_of_other_libraries_are_waited_for():
    """We wait for the stream that an array names; what happens there next waits for us; what is given back, for it."""
    lines = outcome(
        """
ask(cu.cuCtxSetCurrent, ask(cu.cuDevicePrimaryCtxRetain, 0))
theirs = ask(cu.cuStreamCreate, 1)  # it waits for no other
room = ask(cu.cuMemAlloc, 8)
f = tg.function([x], tg.Out(x * 2, target="cuda"))
for value in (1.0, 2.0, 3.0):
    ask(cu.cuMemsetD32Async, room, np.float32(value).view("uint32").item(), 2, theirs)
    kept = f(Foreign(int(room), 2, int(theirs)))
    if value < 3:
        print(np.asarray(kept))  # our stream only: theirs has no reason to run, but for ours
    ask(cu.cuMemsetD32Async, room, 0, 2, theirs)  # after we have read it
    copy = ask(cu.cuMemAlloc, 8)
    capsule = kept.__dlpack__(stream=int(theirs))
    ask(cu.cuMemcpyDtoDAsync, copy, kept.address, 8, theirs)
    del kept, capsule  # the next call may write there
    np.asarray(f([7, 7]))
    there = np.zeros(2, "float32")
    ask(cu.cuMemcpyDtoHAsync, there.ctypes.data, copy, 8, theirs)
    ask(cu.cuStreamSynchronize, theirs)
    print(there)
"""
    )
    assert lines == ["[2. 2.]", "[2. 2.]", "[4. 4.]", "[4. 4.]", "[6. 6.]"]


@core
@emulated
def test_arrays_of_other_libraries_on_another_device_are_copied():
    """A kernel must not be given their address."""
    lines = outcome(
        """
ask(cu.cuCtxSetCurrent, ask(cu.cuDevicePrimaryCtxRetain, 1))
room = ask(cu.cuMemAlloc, 8)
ask(cu.cuMemsetD32Async, room, np.float32(3).view("uint32").item(), 2, 0)
print(tg.function([x], x * 2)(Foreign(int(room), 2, 1)))
""",
        devices=2,
    )
    assert lines == ["[6. 6.]"]


@core
@emulated
def test_page_locked_memory_may_change_after_a_call():
    """The device reads it late; pageable memory is copied aside by the driver."""
    lines = outcome(
        """
ask(cu.cuCtxSetCurrent, ask(cu.cuDevicePrimaryCtxRetain, 0))
address = ask(cu.cuMemHostAlloc, 8, 0)
locked = np.frombuffer((ctypes.c_float * 2).from_address(int(address)), "float32")
f = tg.function([x], tg.Out(x * 2, target="cuda"))
locked[:] = 5
result = f(locked)
locked[:] = 0
print(np.asarray(result))
"""
    )
    assert lines == ["[10. 10.]"]


@emulated
@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("setting, message", [("EMUCUDA_INIT", "nvidia-fabricmanager"), ("EMUCUDA_BUSY", "nvidia-smi")])
def test_drivers_that_cannot_be_opened(driver, setting, message):
    text = f"""
from emucuda.driver import packaged_device
from termgraph.backends.cuda.driver.base import NoDevice
try:
    packaged_device({driver!r})
except NoDevice as why:
    print(why)
"""
    status, output = run("-c", text, **{setting: "802"})
    assert status == 0 and message in output and len(output.splitlines()) == 1, output


@core
@emulated
@pytest.mark.parametrize(
    "share, outcome", [("0.5", "2147483648"), ("64", "67108864"), ("99999", "of which 4096 are free")]
)
def test_memory_taken_at_the_start(share, outcome):
    text = f"""
import ctypes
import termgraph as tg
from termgraph.backends.cuda.driver.core import CoreDriver
from termgraph.backends.cuda.driver.base import NoDevice
from emucuda.driver import packaged_device
tg.config.gpu.pool_reserve = {share}
taken, allocate = [], CoreDriver.allocate
CoreDriver.allocate = lambda self, size: taken.append(size) or allocate(self, size)
try:
    packaged_device("core")
    print(*taken)
except NoDevice as why:
    print(why)
"""
    status, output = run("-c", text)
    assert status == 0 and outcome in output, output


@plain
def test_a_forked_process_is_told(monkeypatch):
    """Nothing hangs, and values of the host can still be used."""
    with emulation(), tg.config.change_flags(device="cuda"):
        w = tg.shared(np.ones(2, "float32"), name="w")
        f = tg.function([], w * 2)
        f()
        context = multiprocessing.get_context("fork")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # this process has threads
            queue = context.Queue()
            child = context.Process(target=_in_child, args=(queue, f, w))
            child.start()
        answers = [queue.get(timeout=60) for _ in range(4)]
        child.join()
        np.testing.assert_array_equal(f(), [2, 2])
    assert all("forked from one that has used it" in a for a in answers[:3]) and answers[3] == "[2. 2.]", answers


def _in_child(queue, f, w):
    x = T.fvector("x")
    for work in (f, w.get_value, lambda: tg.function([x], x * 2)):
        try:
            queue.put(str(work()))
        except RuntimeError as why:
            queue.put(str(why))
    queue.put(str(tg.function([x], x * 2, mode=tg.Mode(linker="py"))([1, 1])))


@inside
@plain
def test_what_cannot_be_recorded_is_queued():
    x = T.fvector("x")
    code = program([x], [x * 2])
    with emulation() as device:
        run_ = Executable(code, device, "mine")
        values = [np.ones(3, "float32")]

        def refuse():
            device.driver.recording = None
            raise CudaError("cuStreamEndCapture failed: STREAM_CAPTURE_INVALIDATED")

        run_(*values)
        device.driver.captured = refuse
        with pytest.warns(UserWarning, match="mine cannot be recorded as a CUDA graph.*INVALIDATED"):
            run_(*values)
        for _ in range(3):
            np.testing.assert_array_equal(np.asarray(run_(*values)[0]), [2, 2, 2])
        assert not run_.replays and not device.recording


@plain
def test_products_beyond_the_limits_of_a_grid(monkeypatch):
    """In several launches: rows in bands, layers of a batch in groups."""
    monkeypatch.setattr(launches, "GRID", 2)
    rng = np.random.default_rng(0)
    x, y, z, b, v = T.fmatrix("x"), T.fmatrix("y"), T.tensor3("z", dtype="float32"), T.fvector("b"), T.fmatrix("v")
    values = [rng.standard_normal(s).astype("float32") for s in ((300, 7), (7, 9), (5, 70, 70), 9, (5, 70))]
    outputs = [T.dot(x, y), T.nnet.relu(T.dot(x, y) + b), T.matmul(z, z), T.batched_dot(z, v), T.dot(x, y[:, 0])]
    want = tg.function([x, y, z, b, v], outputs)(*values)
    with emulation() as device:
        for got, expected in zip(Executable(program([x, y, z, b, v], outputs), device)(*values), want):
            np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-4, atol=1e-4)


def test_the_architecture_that_is_compiled_for():
    """The device's own, an older one of its generation, or PTX for a generation that is not known yet."""
    known = (75, 80, 86, 90, 100, 120)
    found = [compilers.nvrtc_target(f"sm_{k}", known) for k in (75, 86, 89, 90, 103, 121, 130)]
    assert found == ["sm_75", "sm_86", "sm_86", "sm_90", "sm_100", "sm_120", "compute_120"]
    with pytest.raises(compilers.CudaCompileError, match="sm_75 and later, and this GPU has sm_70"):
        compilers.nvrtc_target("sm_70", known)


@plain
def test_an_array_with_a_mask_is_refused():
    with emulation(emulated_device()):
        mine = DeviceArray.of(np.ones(3, "float32"))

        class Masked:
            __cuda_array_interface__ = {**mine.__cuda_array_interface__, "mask": mine}

        with pytest.raises(ValueError, match="mask"):
            as_device_array(Masked())
        with pytest.raises(BufferError, match="not on"):
            mine.__dlpack__(dl_device=(1, 0))
