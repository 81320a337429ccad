"""What `termgraph doctor` says about the GPU. May touch the driver, only when it is asked."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module, metadata

import termgraph.backends.cuda.generate  # noqa: F401  lowering registers what it can do
from termgraph.backends.cuda.build.compile import NO_COMPILER, compiler
from termgraph.backends.cuda.placement import has_kernel, why_not
from termgraph.backends.cuda.run import device
from termgraph.config import config
from termgraph.terms.op import Op
from termgraph.terms.ops import elementwise
from termgraph.terms.term import Arg, mk
from termgraph.terms.types import TensorType

Finding = tuple[str, str, str]
PACKAGES = (
    "cuda-core",
    "cuda-bindings",
    "nvidia-cuda-nvrtc",
    "nvidia-cublas",
    "nvidia-cudnn-cu13",
    "nvmath-python",
    "pycuda",
)
ROOMS = ("control", "fft", "indexing", "linalg", "random", "reduce", "shaping", "sorting")  # of ops on whole arrays
DTYPES = ("float32", "complex64", "int64")


def gpu() -> Iterator[Finding]:
    """Packages, compiler, device and what it cannot do; a problem only where the flags ask for a GPU."""
    wanted = config.device == "cuda" or config.linker == "cuda"
    missing = "problem" if wanted else "note"
    yield "packages", "ok", ", ".join(filter(None, map(_version, PACKAGES))) or "none is installed"
    found = compiler()
    yield "CUDA compiler", "ok" if found else missing, found or NO_COMPILER
    why = device.why_not()
    if why is not None:
        yield "device", missing, why
        if not wanted:
            return  # what a device would not compute says nothing where there is none
    else:
        driver = device.current().driver
        free, total = driver.memory()
        room = f"{free / 2**30:.1f} of {total / 2**30:.1f} GiB free"
        yield "device", "ok", f"{driver.device_name} ({driver.arch}), {room}, through {driver.name}"
    for reason, names in left_on_cpu().items():
        yield "stays on the CPU", "ok", f"{reason}: {', '.join(names)}"
    yield "stays on the CPU", "ok", "ops written in Python without CUDA text; ifelse outside of loops chooses there"
    yield "of one function", "ok", "f.on_cpu() lists what stays on the CPU, with the reasons"


def left_on_cpu() -> dict[str, list[str]]:
    """Ops that the GPU does not compute, by the reason."""
    rooms = [import_module(f"termgraph.terms.ops.{room}") for room in ROOMS]
    ops = {op.family.name: op.kind for room in rooms for op in vars(room).values() if isinstance(op, Op)}
    whole = [name for name, kind in ops.items() if kind not in ("elementwise", "control", "tuple")]
    found = {"no kernel": sorted(name for name in whole if not has_kernel(name))}
    for dtype in DTYPES:
        common = {name for names in found.values() for name in names}
        found[f"no kernel for {dtype}"] = [name for name in _elementwise_without(dtype) if name not in common]
    return {reason: names for reason, names in found.items() if names}


def _elementwise_without(dtype: str) -> list[str]:
    """The element-wise ops that take a dtype and have no kernel for it."""
    args = [Arg(k, TensorType(dtype, (None,))) for k in range(6)]
    found = []
    for op in vars(elementwise).values():
        if not isinstance(op, Op) or op.kind != "elementwise":
            continue
        try:
            t = mk(op, tuple(args[: op.arity or 2]))
        except TypeError:  # it does not take the dtype, or wants parameters
            continue
        if why_not(t) is not None:
            found.append(op.name)
    return sorted(found)


def _version(package: str) -> str:
    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:
        return ""
