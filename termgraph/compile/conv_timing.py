"""Convolutions timed: the fastest way for some lengths on this machine, remembered in the cache on disk.

A record is kept by the operation with its parameters, lengths, dtypes, processor (or GPU), compiler, threads and
termgraph's files: the same record means the same choice, so results do not depend on a race. `termgraph cache clear`
forgets them.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from termgraph import _installed
from termgraph._lazy import lazy
from termgraph._records import NamedTuple, replace
from termgraph.backends.c.build.cache import default_cache
from termgraph.backends.c.build.compilers import cpu_identity, find_compiler
from termgraph.backends.c.run.cores import thread_count
from termgraph.compile.capture import Captured
from termgraph.compile.compilation import Compilation
from termgraph.compile.options import Options
from termgraph.config import config
from termgraph.terms.op import CONST
from termgraph.terms.ops.conv_prices import fits_winograd
from termgraph.terms.ops.convolution import FORWARD, INPUTS, WEIGHTS
from termgraph.terms.term import AnyTerm, Arg, mk
from termgraph.vm.machine import Machine

_cudnn: Any = lazy("termgraph.backends.cuda.run.cudnn")
_devices: Any = lazy("termgraph.backends.cuda.run.device")
_executor: Any = lazy("termgraph.backends.cuda.run.executor")
_generate: Any = lazy("termgraph.backends.cuda.generate")
_arrays: Any = lazy("termgraph.backends.cuda.run.device_array")

KIND, FORMAT = "convolution", 1
CALLS = 3  # of each way; the least time counts
MOST_WINDOWS = 1 << 28  # bytes of a matrix of all windows, up to which ways that make one are tried
LONG = 15  # elements of filters along each dimension from which transforms are tried


class Timed(NamedTuple):
    """What was found: the fastest way, and the seconds of each."""

    way: str
    seconds: dict[str, float]

    def __str__(self) -> str:
        return ", ".join(f"{way} {s * 1e3:.3g} ms" for way, s in sorted(self.seconds.items(), key=lambda item: item[1]))


def fastest(t: AnyTerm, options: Options) -> Timed | None:
    """The fastest way to compute a convolution (or a gradient of one); None where its lengths are not known."""
    ways = candidates(t, options)
    if len(ways) < 2:
        return Timed(ways[0], {}) if ways else None
    identity = _identity(t, options)
    known = default_cache().read(KIND, identity)
    if known is not None:
        record = json.loads(known.read("record.json"))
        return Timed(record["way"], record["seconds"])
    seconds = {way: _seconds(t, way, options) for way in ways}
    found = Timed(min(seconds, key=seconds.__getitem__), seconds)
    text = json.dumps({"way": found.way, "seconds": seconds, "of": identity}, sort_keys=True)
    default_cache().write(KIND, identity, {"record.json": text.encode()}, {"name": t.op.name})
    return found


def candidates(t: AnyTerm, options: Options) -> list[str]:
    """The ways that may be the fastest; none where a length is not known, or where each way would round otherwise."""
    lengths = [a for a in t.args if a.type.ndim == 0]
    if options.strict or any(None in a.type.shape for a in (t, *t.args)) or any(a.op is not CONST for a in lengths):
        return []
    if options.backend == "cuda":
        library = t.type.kind == "f" and "conv_dnn" not in options.excluded and _cudnn.why_not() is None
        return [*["cudnn"] * library, *["panels"] * ("conv_panels" not in options.excluded)]
    filters, result, taps = _parts(t)
    each = math.prod(taps)
    ways = []
    if options.backend == "c":
        fits = t.op.family.name != WEIGHTS and fits_winograd(t.op.params, result, filters)
        ways += [*["winograd"] * fits, "panels"]
    rows = result.type.shape[0] * math.prod(result.type.shape[2:])
    if rows * filters.type.shape[1] * t.op.params["groups"] * each * t.type.np_dtype.itemsize <= MOST_WINDOWS:
        ways.append("gemm")
    if taps and min(taps) >= LONG and t.type.kind == "f":
        ways.append("fft")
    return [way for way in ways if f"conv_{way}" not in options.excluded]


def _parts(t: AnyTerm) -> tuple[Any, Any, list[int]]:
    """Something with the type of the filters, of the result, and the lengths of the filters."""
    name = t.op.family.name
    filters = {FORWARD: t.args[-1], INPUTS: t.args[0], WEIGHTS: t}[name]
    return filters, t if name == FORWARD else t.args[1], list(filters.type.shape[2:])


def _identity(t: AnyTerm, options: Options) -> str:
    """Everything that the times depend on, as text."""
    compiler = find_compiler() if options.backend == "c" else None
    params = {k: repr(v) for k, v in t.op.params.items() if k != "algo"}
    return json.dumps(
        {
            "format": FORMAT, "op": t.op.family.name, "params": params, "excluded": sorted(options.excluded),
            "arrays": [f"{a.type.dtype}{list(a.type.shape)}" for a in (t, *t.args)],
            "backend": options.backend, "compiler": compiler.identity if compiler else "",
            "cpu": _gpu_identity() if options.backend == "cuda" else cpu_identity(),
            "threads": thread_count(), "termgraph": _installed.files_digest(),
        },
        sort_keys=True,
    )  # fmt: skip


def _seconds(t: AnyTerm, way: str, options: Options) -> float:
    """The least time of some calls, of the convolution alone, with zeros."""
    arrays = [a for a in t.args if a.type.ndim]
    args = [Arg(i, a.type) for i, a in enumerate(arrays)]
    root = mk(t.op.bind(algo=way), (*args, *t.args[len(arrays) :]))
    values = [np.zeros(a.type.shape, a.type.np_dtype) for a in args]
    if options.backend == "cuda":
        run = _on_gpu(Compilation(Captured(args, [root]), options), values)
    else:
        work = Compilation(Captured(args, [root]), replace(options, linker="auto" if options.backend == "c" else "py"))
        machine = Machine(work.fastest_program())
        run = lambda: machine(values)  # noqa: E731
    times = []
    for _ in range(CALLS + 1):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times[1:])


def _on_gpu(work: Compilation, values: list[np.ndarray]) -> Callable[[], Any]:
    """A call on the device, with arrays that are there, and the wait for it."""
    device = _devices.current()
    run = _executor.Executable(_generate.generate(work.args, work.linked_roots), device, "a convolution that is timed")
    there = [_arrays.DeviceArray.of(v, "a convolution that is timed", device) for v in values]

    def call() -> None:
        run(*there)
        device.driver.synchronize()

    return call


def _gpu_identity() -> str:
    """The device, the library and how products are rounded: what times on a GPU depend on."""
    driver = _devices.current().driver
    return f"{driver.device_name} {driver.arch} {config.cuda.products} {_cudnn.why_not() is None}"
