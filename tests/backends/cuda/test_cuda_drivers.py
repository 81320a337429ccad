"""The driver modules, unchanged, above an emulated libcuda.so.1: each in a process of its own."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from backends.cuda.cudacases import no_emulation

from emucuda.build import cuda_headers
from termgraph.backends.cuda.run.device import why_not
from termgraph.config import config

ROOT = Path(__file__).parents[3]
CORE = importlib.util.find_spec("cuda") is not None and importlib.util.find_spec("cuda.core") is not None
core = pytest.mark.skipif(not CORE, reason="cuda-core is not installed (extra cuda-test)")
emulated = pytest.mark.skipif(
    bool(no_emulation) or cuda_headers() is None, reason=no_emulation or "no cuda.h (package nvidia-cuda-runtime)"
)
pycuda = pytest.mark.skipif(importlib.util.find_spec("pycuda") is None, reason="pycuda is not installed")


def run(*command, **environment):
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    env = {**os.environ, "PYTHONPATH": path, "TERMGRAPH_FLAGS": f"cache.dir={config.cache.dir}", **environment}
    done = subprocess.run([sys.executable, *command], env=env, capture_output=True, text=True, timeout=400)
    return done.returncode, done.stdout + done.stderr


@emulated
@pytest.mark.parametrize("driver", [pytest.param("core", marks=core), pytest.param("pycuda", marks=pycuda), "none"])
def test_the_check_of_real_devices_passes_on_the_emulation(driver, tmp_path):
    """All ops, programs and models, then one measurement of each kind."""
    script = str(ROOT / "scripts" / "gpu_check.py")
    status, output = run(script, "--emu", driver, "--json", str(tmp_path / "report.json"))
    assert status == 0 and " 0 wrong" in output, output[-3000:]
    assert (tmp_path / "report.json").stat().st_size > 10_000
    assert driver != "core" or "recorded" in output
    own = driver == "none" or importlib.util.find_spec("nvmath") is None
    assert ("products by cuBLAS: no" in output) == own
    assert ("epilogues by cuBLASLt: 0\n" in output) == own


DRIVERS = [pytest.param("core", marks=core), pytest.param("pycuda", marks=pycuda)]
OPEN = """
import sys
from emucuda.driver import packaged_device
from termgraph.backends.cuda.run import device
import termgraph as tg, termgraph.tensor as T
if len(sys.argv) > 1:
    device.use(packaged_device(sys.argv[1]))
x = T.fvector("x")
with tg.config.change_flags(device="cuda"):
    f = tg.function([x], x * 2)
    print(f([1, 2, 3]))
"""


@emulated
@pytest.mark.parametrize("driver", DRIVERS)
def test_a_machine_without_a_gpu(driver):
    status, output = run("-c", OPEN, driver, EMUCUDA_DEVICES="0")
    assert status and "the NVIDIA driver finds no GPU" in output and "CUDA_VISIBLE_DEVICES" in output


@emulated
@pytest.mark.parametrize("driver", DRIVERS)
def test_kernels_for_another_architecture(driver):
    image = "b'\\x7fELF' + bytes(14) + bytes([190, 0]) + bytes(100)"  # the head of a real cubin
    wrong = OPEN.replace("x = T", f"device.current().compile = lambda *_: {image}\nx = T")
    status, output = run("-c", wrong, driver)
    assert status and "cannot run the compiled kernels (" in output


@emulated
@pytest.mark.parametrize("driver", DRIVERS)
def test_a_kernel_that_fails_loses_the_device_and_nothing_else(driver):
    """A barrier that not all threads reach, planted into the text."""
    planted = (
        "lambda text, *more: right(text.replace('a0 = tg_fold(a0,', 'if (threadIdx.x & 1) a0 = tg_fold(a0,'), *more)"
    )
    lost = OPEN.replace("x = T", f"right = device.current().compile\ndevice.current().compile = {planted}\nx = T")
    status, output = run("-c", lost.replace("x * 2", "x.sum()"), driver)
    assert status and "DeviceLost" in output and "Values on the host are untouched" in output, output[-2000:]


@emulated
@pytest.mark.parametrize("driver", DRIVERS)
def test_a_small_device(driver):
    big = OPEN.replace("[1, 2, 3]", "[0] * 1000000")
    status, output = run("-c", big, driver, EMUCUDA_MEMORY="1000000")
    assert status and "the GPU has no room for 3.8 MiB" in output and "OutOfDeviceMemory" in output


@core
def test_a_machine_without_a_driver():
    """Unless there is one."""
    status, output = run("-c", OPEN)
    assert status == 0 or "device=cuda was chosen, but there is no NVIDIA driver" in output


@pytest.mark.parametrize("driver, package", [("core", "cuda-core"), ("pycuda", "pycuda")])
def test_a_machine_without_the_package(driver, package):
    hidden = "import sys\nsys.modules['cuda'] = sys.modules['pycuda'] = None\n"
    chosen = OPEN.replace("with tg", f"tg.config.cuda.driver = '{driver}'\nwith tg")
    status, output = run("-c", hidden + chosen)
    assert status and f"package {package}, which is not installed: pip install" in output, output[-2000:]


TWO = """
import sys, threading
import numpy as np
from emucuda.driver import packaged_device
from termgraph.backends.cuda.run import device
import termgraph as tg, termgraph.tensor as T
device.use(*[packaged_device(sys.argv[1], k) for k in range(2)])
tg.config.device = "cuda"
x, w = T.fvector("x"), tg.shared(np.zeros(3, "float32"), target="cuda:1")

def work():
    f = tg.function([x], [T.exp(x).sum() + x, w * 1], updates=[(w, w - T.exp(x))])
    for _ in range(4):
        print(*f(np.zeros(3, "float32")))

thread = threading.Thread(target=work)
thread.start(), thread.join()
work()
print(w.get_value(), w.container.storage[0].device.number)
"""


@emulated
@pytest.mark.parametrize("driver", DRIVERS)
def test_two_devices_and_two_threads(driver):
    """Contexts are entered as they have to be, and all is given back quietly at the end."""
    status, output = run("-c", TWO, driver, EMUCUDA_DEVICES="2")
    lines = [f"[3. 3. 3.] [{-k}. {-k}. {-k}.]".replace("-0.", "0.") for k in range(8)]
    assert status == 0 and output.split("\n") == [*lines, "[-8. -8. -8.] 1", ""], output


QUICK_START = """
import runpy, sys
from emucuda.driver import packaged_device
from termgraph.backends.cuda.run import device
import termgraph as tg
device.use(packaged_device(sys.argv[1]))
with tg.config.change_flags(device="cuda"):
    runpy.run_path(sys.argv[2])
"""


@emulated
@pytest.mark.parametrize("driver", DRIVERS)
def test_the_quick_start(driver):
    """The same script, by one flag."""
    status, output = run("-c", QUICK_START, driver, str(ROOT / "examples" / "quickstart.py"))
    assert status == 0, output[-3000:]
    assert "f([1, 2], [0, 800]) = [  1.69314718 802." in output and "its derivative at 0:  [0.5]" in output


RANDOMLY = str(Path(__file__).with_name("randomly.py"))


@emulated
@pytest.mark.parametrize("driver", DRIVERS)
def test_random_graphs(driver):
    """Not only kernels: placement, copies, the arena, recorded graphs."""
    status, output = run(RANDOMLY, driver, "300", "308")
    assert status == 0 and "8 graphs agree" in output, output[-3000:]


@pytest.mark.slow
@emulated
@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("first", [400, 420, 440])
def test_more_random_graphs(driver, first):
    status, output = run(RANDOMLY, driver, str(first), str(first + 20))
    assert status == 0 and "20 graphs agree" in output, output[-3000:]


ONE_LAUNCH = """
import ctypes
import numpy as np
from emucuda.build import driver_library
from emucuda.driver import packaged_device
from termgraph.backends.cuda.run import device
import termgraph as tg, termgraph.tensor as T
device.use(packaged_device("core"))
library = ctypes.CDLL(driver_library())
x, w = T.fmatrix("x"), T.fmatrix("w")
y = x
for k in range(4):  # five ops each: a product, a bias, a softmax, a sum, a quotient
    y = T.nnet.softmax(T.dot(y, w) + k) / (1 + y.sum())
with tg.config.change_flags(device="cuda"):
    f = tg.function([x, w], tg.Out(y, target="cuda"))
v = np.ones((5, 5), "float32")
def counts():
    found = (ctypes.c_ulonglong * 4)()
    library.emucuda_counts(found)
    return found[0], found[1], found[3]
for _ in range(5):
    before = counts()
    f(v, v)
    print(*[b - a for a, b in zip(before, counts())])
"""


@core
@emulated
def test_a_function_of_twenty_ops_is_one_launch():
    """From the third call on: kernels launched, arrays made, recorded graphs launched."""
    status, output = run("-c", ONE_LAUNCH)
    calls = [list(map(int, line.split())) for line in output.splitlines()]
    assert status == 0 and calls[0][0] >= 4 and calls[2:] == [[0, 0, 1]] * 3, output


FACTORS = """
import numpy as np
from emucuda.driver import packaged_device
from termgraph.backends.cuda.run import device
import termgraph as tg, termgraph.tensor as T
device.use(packaged_device("core"))
v = np.random.default_rng(0).standard_normal((5, 5))
for dtype in ("float32", "float64"):
    x, rate = T.matrix("x", dtype=dtype), T.scalar("rate", dtype=dtype)
    for factor, value in ((0.5, 0.5), (rate, 0.25), (1 / x.shape[0], 0.2), (rate * x.sum(), 0.25 * v.sum())):
        w = tg.shared(np.ones((5, 5), dtype))
        with tg.config.change_flags(device="cuda", floatX=dtype):
            f = tg.function([x, rate], [], updates=[(w, w - T.cast(factor, dtype) * T.dot(x.T, x))],
                            on_unused_input="ignore")
        before = device.current().blas().calls
        for _ in range(3):
            f(v.astype(dtype), 0.25)
        calls = device.current().blas().calls - before
        print(calls > 0, np.allclose(w.get_value(), 1 - 3 * value * v.T @ v, rtol=1e-4, atol=1e-4))
"""


@core
@emulated
@pytest.mark.skipif(importlib.util.find_spec("nvmath") is None, reason="nvmath-python is not installed")
def test_products_with_factors_are_left_to_the_library():
    """Whether the factor is a constant, of lengths, an argument or computed on the device."""
    status, output = run("-c", FACTORS)
    assert status == 0 and output.split("\n") == ["True True"] * 8 + [""], output


CUDNN = """
import ctypes, time
import numpy as np
from emucuda.build import dnn_library
from emucuda.driver import packaged_device
from termgraph.backends.cuda.run import device
import termgraph as tg, termgraph.tensor as T
from termgraph.compile import conv_timing
device.use(packaged_device("core"))
ctypes.CDLL(dnn_library(), mode=ctypes.RTLD_GLOBAL)
rng, plain = np.random.default_rng(0), tg.Mode(linker="py", optimizer="None")
CASES = {
    "2 dimensions": ("conv2d", (2, 4, 7, 6), (6, 2, 3, 2), dict(border_mode="half", subsample=(2, 1), num_groups=2)),
    "not turned": ("conv2d", (2, 3, 8, 7), (5, 3, 3, 3), dict(filter_dilation=(2, 1), filter_flip=False)),
    "1 dimension": ("conv1d", (3, 4, 9), (5, 4, 3), dict(border_mode=(2,), subsample=(2,))),
    "3 dimensions": ("conv3d", (2, 2, 5, 4, 6), (3, 2, 2, 3, 2), dict(border_mode="full", filter_dilation=(1, 2, 1))),
    "uneven zeros": ("conv2d", (2, 3, 8, 7), (5, 3, 3, 3), dict(border_mode=((1, 0), (0, 2)))),
    "refused": ("conv3d", (2, 2, 5, 4, 6), (3, 2, 2, 3, 2), dict(filter_dilation=(2, 1, 1))),
    "no images": ("conv2d", (0, 3, 8, 7), (5, 3, 3, 3), dict()),
}
for name, (function, image, filters, how) in CASES.items():
    for dtype in ("float32", "float64", "float16") if name == "2 dimensions" else ("float32",):
        x = T.tensor("x", dtype=dtype, shape=image if dtype == "float32" else (None,) * len(image))
        w = T.tensor("w", dtype=dtype, shape=filters)
        y = getattr(T.nnet, function)(x, w, **how)
        g = rng.integers(-2, 3, y.eval({x: np.zeros(image, dtype), w: np.zeros(filters, dtype)}).shape).astype(dtype)
        outputs = [y, *tg.grad((y * g).sum(), [x, w])]
        values = [rng.integers(-2, 3, s).astype(dtype) for s in (image, filters)]
        wanted = tg.function([x, w], outputs, mode=plain)(*values)
        with tg.config.change_flags(device="cuda"):
            f = tg.function([x, w], outputs)
        counts = []
        for _ in range(3):  # run, record, replay
            before = device.current().dnn().calls
            got = f(*values)
            counts.append(device.current().dnn().calls - before)
        right = all(np.array_equal(a, b) for a, b in zip(got, wanted))
        print(name, dtype, right, *counts, sorted({r.rule for r in f.trace if r.rule.startswith("conv_")})[0])
with tg.config.change_flags(device="cuda"):
    for options in ({"mode": tg.Mode().excluding("conv_dnn")}, {}):
        f = tg.function([x, w], T.nnet.conv2d(x, w, algo=None if options else "panels"), **options)
        print({r.rule for r in f.trace if r.rule.startswith("conv_")})
with tg.config.change_flags(device="cuda", cuda__products="tf32"):
    x = T.ftensor4("x")
    f = tg.function([x, w], T.nnet.conv2d(x, w))
    before = device.current().dnn().calls
    f(np.ones((1, 3, 8, 7), "float32"), np.ones((5, 3, 3, 3), "float32"))
    print(device.current().dnn().calls - before)
x = T.tensor("x", dtype="float32", shape=(1, 3, 8, 7))
y, seconds, name = T.nnet.conv2d(x, w), conv_timing._seconds, f"a GPU of {time.time_ns()}"
conv_timing._gpu_identity = lambda: name
with tg.config.change_flags(device="cuda", dnn__conv__algo_fwd="time_once"):
    for _ in range(2):  # the second time the record is there
        ways = []
        conv_timing._seconds = lambda t, way, options: ways.append(way) or (seconds(t, way, options), way != "cudnn")[1]
        f = tg.function([x, w], y)
        print(*ways, {r.rule for r in f.trace if r.rule.startswith("conv_")})
"""


@core
@emulated
def test_f67_convolutions_are_left_to_cudnn_where_it_is_installed():
    """The library gets descriptors that it would take; what it does not know, or refuses, our kernels compute.

    A flag times both, and remembers which was the faster.
    """
    status, output = run("-c", CUDNN)
    wanted = [
        *[f"2 dimensions {dtype} True 3 3 0 conv_by_dnn.forward" for dtype in ("float32", "float64", "float16")],
        *[f"{name} float32 True 3 3 0 conv_by_dnn.forward" for name in ("not turned", "1 dimension", "3 dimensions")],
        *[f"{name} float32 True 0 0 0 conv_by_dnn.forward" for name in ("uneven zeros", "refused", "no images")],
        *["{'conv_by_panels.forward'}"] * 2,
        "1",
        "cudnn panels {'conv_by_dnn.forward'}",
        "{'conv_by_dnn.forward'}",
    ]
    assert status == 0 and output.splitlines() == wanted, output


@pytest.mark.gpu
def test_a_real_device():
    if why_not() is not None:
        pytest.skip(f"no GPU: {why_not()}")
    status, output = run(str(ROOT / "scripts" / "gpu_check.py"), "--quick")
    assert status == 0 and " 0 wrong" in output, output[-3000:]
