"""What `termgraph doctor` says about the GPU. May touch the driver, only when it is asked."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata

from termgraph.config import config

Finding = tuple[str, str, str]
PACKAGES = ("cuda-core", "cuda-bindings", "nvidia-cuda-nvrtc", "pycuda")


def gpu() -> Iterator[Finding]:
    """Packages, compiler and device; a problem only where the flags ask for a GPU."""
    from termgraph.backends.cuda import device
    from termgraph.backends.cuda.compile import NO_COMPILER, compiler

    wanted = config.device == "cuda" or config.linker == "cuda"
    missing = "problem" if wanted else "note"
    yield "packages", "ok", ", ".join(filter(None, map(_version, PACKAGES))) or "none is installed"
    found = compiler()
    yield "CUDA compiler", "ok" if found else missing, found or NO_COMPILER
    why = device.why_not()
    if why is not None:
        yield "device", missing, why
        return
    driver = device.current().driver
    free, total = driver.memory()
    room = f"{free / 2**30:.1f} of {total / 2**30:.1f} GiB free"
    yield "device", "ok", f"{driver.device_name} ({driver.arch}), {room}, through {driver.name}"
    yield "what runs on the CPU", "ok", "f.on_cpu() lists it for a function, with the reasons"


def _version(package: str) -> str:
    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:
        return ""
