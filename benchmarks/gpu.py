"""What programs take on a GPU beside PyTorch and JAX, in one process by turns: kernels, products, training steps.

    python benchmarks/gpu.py [--json FILE] [--only WORDS] [--nets EXPRESSION] [--small]

Needs a GPU and termgraph[cuda]; peers that are installed take part. Values are on the device before and after; each
time is the median of rounds of calls with one wait at the end of a round. `--small` runs tiny sizes, `--emu` on the
emulated driver: a test of this script.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX would take three quarters of the memory
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import gpu_nets
import gpu_peers

import termgraph as tg
import termgraph.tensor as T
from gpucheck import models
from termgraph.backends.cuda.run import device as devices
from termgraph.backends.cuda.run.device_array import DeviceArray

Case = tuple[str, dict[str, Callable[[], Any]]]  # what, and a call by contender


def function(inputs: list, out: Any) -> Any:
    """A function whose results, one or several, stay on the device."""
    ends = [tg.Out(o, target="cuda") for o in out] if isinstance(out, list) else tg.Out(out, target="cuda")
    return tg.function(inputs, ends, mode=tg.Mode(linker="cuda"))


def plain(what: str, peer: str, inputs: list, out: Any, values: list[np.ndarray]) -> Case:
    """A function of arrays by all contenders."""
    f, there = function(inputs, out), [DeviceArray.of(v) for v in values]
    return what, {"termgraph": lambda: f(*there), **gpu_peers.calls(peer, values)}


def memory_cases(small: bool) -> Iterator[Case]:
    """Kernels at the rate of memory, and of several passes."""
    rows, columns = (64, 128) if small else (1 << 16, 1024)
    rng = np.random.default_rng(0)
    x, b, v = T.fmatrix("x"), T.fvector("b"), T.fvector("v")
    values, bias = (
        rng.standard_normal((rows, columns)).astype("float32"),
        rng.standard_normal(columns).astype("float32"),
    )
    yield plain("x + 1 of 64 numbers", "increment", [v], v + 1, [bias[:64]])
    yield plain("tanh(x + b) * 2", "elementwise", [x, b], T.tanh(x + b) * 2, [values, bias])
    yield plain("softmax of rows", "softmax", [x], T.nnet.softmax(x), [values])
    normal = (x - x.mean(1, keepdims=True)) / T.sqrt(x.var(1, keepdims=True) + 1e-5)
    yield plain("layer norm", "layer_norm", [x], normal, [values])
    yield plain("sum of rows", "row_sums", [x], x.sum(1), [values])
    yield plain("sum of columns", "column_sums", [x], x.sum(0), [values])
    yield plain("sum of everything", "total", [x], x.sum(), [values])
    yield plain("x.T + 1", "transposed", [x], T.as_tensor(x.T + 1), [values])
    part = values[: rows // 16]
    yield plain("running sum of rows", "running", [x], T.cumsum(x, 1), [part])
    yield plain("sort of rows", "sort", [x], T.sort(x, 1), [part])
    yield plain("argmax of rows", "argmax", [x], x.argmax(1), [values])


def product_cases(small: bool) -> Iterator[Case]:
    """Products by dtype; the exact ones of float32 are exact everywhere."""
    n = 64 if small else 4096
    rng = np.random.default_rng(0)
    for dtype in ("float32", "float16", "bfloat16"):
        x, w, b = T.matrix("x", dtype=dtype), T.matrix("w", dtype=dtype), T.vector("b", dtype=dtype)
        values = [rng.standard_normal(s).astype(x.type.np_dtype) for s in ((n, n), (n, n), (n,))]
        yield plain(f"product, {n}, {dtype}", "product", [x, w], T.dot(x, w), values[:2])
        yield plain(f"relu(product + b), {n}, {dtype}", "layer", [x, w, b], T.nnet.relu(T.dot(x, w) + b), values)
    x3, y3 = T.ftensor3("x"), T.ftensor3("y")
    stack = rng.standard_normal((64, n // 8, n // 8)).astype("float32")
    yield plain(f"64 products, {n // 8}, float32", "batched", [x3, y3], T.matmul(x3, y3), [stack, stack])


LAYERS = [(64, 64, 56, 3), (256, 256, 14, 3), (512, 512, 7, 3), (256, 64, 56, 1)]


def convolution_cases(small: bool) -> Iterator[Case]:
    """Layers of residual nets with a batch of 64, and pooling."""
    rng = np.random.default_rng(0)
    batch = 2 if small else 64
    for c, k, n, r in [(4, 8, 8, 3)] if small else LAYERS:
        for dtype in ("float32", "float16"):
            x = T.tensor("x", dtype=dtype, shape=(batch, c, n, n))
            w = T.tensor("w", dtype=dtype, shape=(k, c, r, r))
            y = T.nnet.conv2d(x, w, border_mode="half", filter_flip=False)
            values = [rng.standard_normal(v.type.shape).astype(dtype) for v in (x, w)]
            name = f"{c} to {k}, {r}x{r} at {n}, {dtype}"
            yield plain(name, "convolution", [x, w], y, values)
            if dtype == "float32":
                grads = tg.grad(T.sqr(y).sum(), [x, w])
                yield plain(f"{name}: both gradients", "convolution_gradients", [x, w], grads, values)
    x = T.tensor("x", dtype="float32", shape=(batch, 64, 112, 112) if not small else (1, 2, 12, 12))
    y = T.signal.pool_2d(x, (3, 3), stride=(2, 2), pad=(1, 1), ignore_border=True)
    values = [rng.standard_normal(x.type.shape).astype("float32")]
    yield plain("max-pooling 3x3/2", "pool", [x], y, values)
    yield plain("its gradient", "pool_gradient", [x], tg.grad(T.sqr(y).sum(), x), values)


def model_cases(small: bool) -> Iterator[Case]:
    """Training steps by gradient descent."""
    sizes: dict[str, Any] = {"rows": 8, "layers": (20, 30, 10)}
    for name, given in [
        ("MLP 784-1000-1000-10, batch 60", sizes if small else {"rows": 60, "layers": (784, 1000, 1000, 10)}),
        ("MLP 4 x 4096, batch 1024", sizes if small else {"rows": 1024, "layers": (4096,) * 4 + (1000,)}),
    ]:
        params, f, values = models.mlp("cuda", "float32", there=True, **given)
        start = [np.asarray(p.get_value()) for p in params]
        there = [DeviceArray.of(v) for v in values]
        yield name, {"termgraph": lambda f=f, there=there: f(*there), **gpu_peers.training("mlp", start, values)}
    given = {"steps": 5, "rows": 4, "n": 8} if small else {"steps": 100, "rows": 64, "n": 128}
    params, f, values = models.lstm("cuda", "float32", there=True, **given)
    start, there = [np.asarray(p.get_value()) for p in params], [DeviceArray.of(v) for v in values]
    peers = gpu_peers.training("lstm", start, values)
    yield "LSTM 128 units, 100 steps, batch 64", {"termgraph": lambda: f(*there), **peers}


GROUPS: dict[str, Callable[..., Iterator[Case]]] = {
    "memory": memory_cases,
    "products": product_cases,
    "convolutions": convolution_cases,
    "models": model_cases,
    "nets": gpu_nets.net_cases,
}


def measure(calls: dict[str, Callable[[], Any]], rounds: int, room: float) -> dict[str, float]:
    """Median seconds of a call by contender, which take turns. `room` is about how long a round is."""
    waits = {"termgraph": devices.current().driver.synchronize, **gpu_peers.WAITS}
    counts, times = {}, {name: [] for name in calls}
    for name, call in calls.items():
        for _ in range(4):
            call()
        waits[name]()
        start = time.perf_counter()
        for _ in range(3):
            call()
        waits[name]()
        counts[name] = max(1, int(room / ((time.perf_counter() - start) / 3)))
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(counts[name]):
                result = call()
            waits[name]()
            times[name].append((time.perf_counter() - start) / counts[name])
            del result
    return {name: float(np.median(found)) for name, found in times.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--only", default="", help="groups: " + ", ".join(GROUPS))
    parser.add_argument("--nets", default="", help="only nets whose name matches this regular expression")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--emu", action="store_true", help="on the emulated driver")
    given = parser.parse_args()
    if given.emu:
        from emucuda.driver import emulated_device

        devices.use(emulated_device())
    print(f"{devices.current().driver.device_name}; microseconds, and the time of termgraph over the best peer's")
    rows = []
    for group, make in GROUPS.items():
        if given.only and group not in given.only:
            continue
        try:
            for what, calls in make(given.small, given.nets) if group == "nets" else make(given.small):
                found = measure(calls, *((2, 1e-4) if given.small else (7, 0.02)))
                rows.append({"group": group, "what": what, **found})
                print(line(what, found), flush=True)
        except Exception as error:  # the other groups are still worth their time
            print(f"  {group}: {type(error).__name__}: {error}", flush=True)
            rows.append({"group": group, "what": "failed", "error": str(error)})
    if given.json:
        Path(given.json).write_text(json.dumps(rows, indent=1))
    return int(any("error" in row for row in rows))


def line(what: str, found: dict[str, float]) -> str:
    """A case as a line of the table."""
    best = min((t for name, t in found.items() if name != "termgraph"), default=0.0)
    times = "  ".join(f"{name} {t * 1e6:9.1f}" for name, t in found.items())
    return f"  {what:44} {times}" + (f"   {found['termgraph'] / best:5.2f}" if best else "")


if __name__ == "__main__":
    sys.exit(main())
