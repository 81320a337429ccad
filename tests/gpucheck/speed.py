"""Speed on a device: memory kernels against the copy rate, products, the cost of a launch and of a recorded program.

Times are medians over repeats of a batch of runs, in seconds, with the wait at the end inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import numpy as np

import termgraph
import termgraph.tensor
from gpucheck.checks import BRAIN
from gpucheck.convolutions import convolution_speed
from gpucheck.models import language_model, lstm, mlp
from termgraph.backends.cuda.build.compile import compile_text, usage_of
from termgraph.backends.cuda.generate import generate
from termgraph.backends.cuda.run.device import Device
from termgraph.backends.cuda.run.device_array import DeviceArray
from termgraph.backends.cuda.run.executor import Executable, Places

T: Any = termgraph.tensor
tg: Any = termgraph
Row = dict[str, Any]


def seconds(device: Device, run: Callable[[], Any], batch: int = 10, repeats: int = 7) -> float:
    """The median time of one run; on the emulation, whose times mean nothing, that of one after the first."""
    if device.driver.device_name.startswith("emulated"):
        batch = repeats = 1
    for _ in range(3):
        run()
    device.driver.synchronize()
    times = []
    for _ in range(repeats):
        start = perf_counter()
        for _ in range(batch):
            run()
        device.driver.synchronize()
        times.append((perf_counter() - start) / batch)
    return float(np.median(times))


def executable(device: Device, inputs: list, outputs: list) -> Executable:
    """The program of some variables, without the calling side of a function."""
    work = tg.function(inputs, outputs, mode=tg.Mode(linker="py")).maker.work
    return Executable(generate(work.args, work.linked_roots), device, "measured")


def measure(device: Device, scale: int) -> Iterator[Row]:
    """Rows of results. `scale` multiplies the sizes: 1 for the emulation, 64 and more for a real device."""
    copy = copy_rate(device, scale)
    yield {"what": "copy on the device", "GB/s": copy}
    yield from memory_kernels(device, scale, copy)
    yield from ordered(device, scale, copy)
    yield from products(device, scale)
    yield from convolution_speed(device, scale, seconds, copy)
    yield from launches(device)
    yield from models(device, scale)
    yield from registers(device)


def copy_rate(device: Device, scale: int) -> float:
    """Bytes read and written per second by a copy, in GB/s."""
    n = (4 << 20) * scale
    a, b = (DeviceArray.empty(device, (n,), "uint8") for _ in range(2))
    return 2 * n / seconds(device, lambda: device.driver.copy(a.address, b.address, n)) / 1e9


def memory_kernels(device: Device, scale: int, copy: float) -> Iterator[Row]:
    """Kernels that should run at the rate of memory."""
    x, b = T.fmatrix("x"), T.fvector("b")
    rows, columns = 64 if scale == 1 else 512 * scale, 1024  # many times what the device's cache holds
    v = DeviceArray.of(np.random.default_rng(0).standard_normal((rows, columns), dtype="float32"))
    w = DeviceArray.of(np.zeros(columns, "float32"))
    cases = {
        "element-wise, tanh(x + b) * 2": ([x, b], T.tanh(x + b) * 2, [v, w], 2),
        "x + 1": ([x], x + 1, [v], 2),
        "softmax of rows": ([x], T.nnet.softmax(x), [v], 2),
        "layer norm": ([x], (x - x.mean(1, keepdims=True)) / (x.std(1, keepdims=True) + 1e-5), [v], 2),
        "sum of rows": ([x], x.sum(1), [v], 1),
        "sum of columns": ([x], x.sum(0), [v], 1),
        "sum of everything": ([x], x.sum(), [v], 1),
    }
    for name, (inputs, out, values, passes) in cases.items():
        run = executable(device, inputs, [out])
        t = seconds(device, lambda run=run, values=values: run(*values))  # type: ignore[misc]
        rate = passes * v.nbytes / t / 1e9
        yield {"what": name, "us": t * 1e6, "GB/s": rate, "of copy": rate / copy}


def ordered(device: Device, scale: int, copy: float) -> Iterator[Row]:
    """Kernels of several passes: running sums, sorting, assignments at computed places."""
    x, i = T.fmatrix("x"), T.lvector("i")
    rows, columns = (4, 256) if scale == 1 else (scale, 1 << 18)
    rng = np.random.default_rng(0)
    v = DeviceArray.of(rng.standard_normal((rows, columns)).astype("float32"))
    places = DeviceArray.of(rng.permutation(columns))
    cases = {
        "running sum of rows": ([x], T.cumsum(x, 1), [v]),
        "running sum of columns": ([x], T.cumsum(x, 0), [v]),
        "sort of rows": ([x], T.sort(x, 1), [v]),
        "argsort of rows": ([x], T.argsort(x, 1), [v]),
        "a row to computed places": ([x, i], T.set_subtensor(x[0][i], x[1]), [v, places]),
    }
    for name, (inputs, out, values) in cases.items():
        run = executable(device, inputs, [out])
        t = seconds(device, lambda run=run, values=values: run(*values), batch=1, repeats=3)  # type: ignore[misc]
        rate = 2 * v.nbytes / t / 1e9
        yield {"what": f"{name}, {rows} x {columns}", "us": t * 1e6, "GB/s": rate, "of copy": rate / copy}


def products(device: Device, scale: int) -> Iterator[Row]:
    """Square products, by dtype and by what operands of float32 may be rounded to; one with a bias and relu."""
    n = 64 if scale == 1 else 8192
    for dtype, precision in PRODUCTS:
        x, b = T.matrix("x", dtype=dtype), T.vector("b", dtype=dtype)
        v = DeviceArray.of(np.random.default_rng(0).standard_normal((n, n)).astype(dtype))
        bias = DeviceArray.of(np.zeros(n, dtype))
        with tg.config.change_flags(cuda__products=precision):
            runs = {"product": (executable(device, [x], [T.dot(x, x)]), [v])}
            if dtype != "complex64":
                runs["relu(product + b)"] = executable(device, [x, b], [T.nnet.relu(T.dot(x, x) + b)]), [v, bias]
        for name, (run, values) in runs.items():
            t = seconds(device, lambda run=run, values=values: run(*values), batch=3)  # type: ignore[misc]
            how = dtype if precision == "float32" else f"{dtype} in {precision}"
            flops = (8 if dtype == "complex64" else 2) * n**3
            yield {"what": f"{name} of {n} x {n}, {how}", "us": t * 1e6, "TFLOP/s": flops / t / 1e12}


PRODUCTS = [
    ("float32", "float32"),
    ("float32", "tf32"),
    ("float32", "bfloat16"),
    ("float16", "float32"),
    *[(dtype, "float32") for dtype in BRAIN],
    ("float64", "float32"),
    ("complex64", "float32"),
]


def launches(device: Device) -> Iterator[Row]:
    """What a launch costs, what a recorded program does, and what a call costs that has next to nothing to compute."""
    x = T.fvector("x")
    small = DeviceArray.of(np.ones(64, "float32"))
    one = executable(device, [x], [x + 1])
    t = seconds(device, lambda: one(small), batch=200)
    yield {"what": "x + 1 of 64 numbers, one call", "us": t * 1e6}
    y = x
    for k in range(10):  # each pair is a fold and a kernel that needs it
        y = T.exp(y - y.max() * (k + 1))
    many = executable(device, [x], [y])
    plan = many.plan_for(((64,),), (None,))
    arrays = Places((small.address,), {b: a.address for b, a in many.outputs(plan).items()})
    at = many.addresses(plan, arrays)
    many.prepare(plan)
    count = len(plan.first.launches)
    t = seconds(device, lambda: many.queue(plan, plan.first, at), batch=20)
    yield {"what": f"{count} launches of the same function, each by itself", "us": t * 1e6, "us each": t / count * 1e6}
    if getattr(device.driver, "graphs", True):
        with device.lock:
            graph = device.record(lambda: many.queue(plan, plan.first, at))
        t = seconds(device, lambda: device.driver.replay(graph), batch=100)
        yield {"what": f"the {count} as one recorded graph", "us": t * 1e6, "us each": t / count * 1e6}
    before = many.replays
    t = seconds(device, lambda: many(small), batch=100)
    yield {
        "what": f"a call of the function of 20 ops, {count} kernels",
        "us": t * 1e6,
        "recorded": many.replays > before,
    }


def models(device: Device, scale: int) -> Iterator[Row]:
    """Training steps in float32, with values that are on the device: the whole call, up to its cost on the host."""
    small: list[tuple[str, Any, dict[str, Any], int, str]] = [
        (f"a small {make.__name__}", make, {}, 0, unit) for _, make, _, _, unit in MODELS[1:4]
    ]
    for name, make, sizes, samples, unit in MODELS if scale > 1 else small:
        _, f, values = make("cuda", "float32", **sizes)
        there = [DeviceArray.of(v, "a batch", device) for v in values]
        t = seconds(device, lambda f=f, there=there: f(*there), batch=5 if scale > 1 else 1)  # type: ignore[misc]
        yield {"what": f"{name}, a training step", "us": t * 1e6, f"{unit}/s": samples / t}


LARGE = {"rows": 20, "words": 10_000}
MODELS: list[tuple[str, Any, dict[str, Any], int, str]] = [
    ("MLP 784-500-10, batch 60", mlp, {"rows": 60, "layers": (784, 500, 10)}, 60, "rows"),
    ("MLP 784-1000-1000-1000-10, batch 60", mlp, {"rows": 60, "layers": (784, 1000, 1000, 1000, 10)}, 60, "rows"),
    ("LSTM 128 units, 100 steps, batch 64", lstm, {"steps": 100, "rows": 64, "n": 128}, 64, "sequences"),
    ("language model 1 x 200, 20 steps", language_model, {**LARGE, "layers": 1, "n": 200, "steps": 20}, 400, "words"),
    ("language model 1 x 600, 40 steps", language_model, {**LARGE, "layers": 1, "n": 600, "steps": 40}, 800, "words"),
    ("language model 2 x 650, 50 steps", language_model, {**LARGE, "layers": 2, "n": 650, "steps": 50}, 1000, "words"),
]


def registers(device: Device) -> Iterator[Row]:
    """Registers and spilled bytes of the kernels that are measured, where the compiler says so."""
    if device.compile is not compile_text:
        return
    x = T.fmatrix("x")
    for name, out in {"softmax of rows": T.nnet.softmax(x), "sum of columns": x.sum(0), "product": T.dot(x, x)}.items():
        found = usage_of(executable(device, [x], [out]).program.source, device.driver.arch)
        yield {
            "what": f"kernels of {name}",
            "registers": max(u.registers for u in found.values()),
            "spilled": sum(u.spilled for u in found.values()),
        }
