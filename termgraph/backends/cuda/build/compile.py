"""From CUDA text to a cubin: NVRTC, else nvcc; kept in the cache of compiled code, with what ptxas says of each kernel.

No device and no driver are needed. May touch: the cache directory, subprocesses, the package cuda-bindings.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from termgraph import progress
from termgraph._records import NamedTuple
from termgraph.backends.c.build.cache import default_cache
from termgraph.backends.c.build.cache_files import Entry, digest
from termgraph.backends.cuda.driver.base import NoDevice

IMAGE, TEXT, LOG = "kernels.cubin", "kernels.cu", "ptxas.txt"
STACK = 64  # bytes; the device's own sine needs as much for huge arguments
FLAGS = ("-std=c++17", "--ptxas-options=-v", "--disable-warnings")
BY_ALL_CORES = "--split-compile=0"  # of NVRTC: kernels are optimised beside each other; the machine code is the same


class CudaCompileError(RuntimeError):
    """The CUDA compiler refused generated text, or text of the user's."""


class Usage(NamedTuple):
    """What ptxas says of a kernel: registers per thread, bytes of stack, and bytes spilled to memory."""

    registers: int
    stack: int
    spilled: int


def compile_text(source: str, arch: str, options: Sequence[str] = (), name: str = "f") -> bytes:
    """The cubin for an architecture such as "sm_90"."""
    with open(compiled(source, arch, options, name).file(IMAGE), "rb") as image:
        return image.read()


def compiled(source: str, arch: str, options: Sequence[str] = (), name: str = "f") -> Entry:
    """The entry of the cache with cubin, text and log; made if it is not there."""
    which = compiler()
    if which is None:
        raise NoDevice(NO_COMPILER)
    if which.startswith("nvrtc"):
        arch = nvrtc_target(arch)
    parts = {"cuda": digest(source), "arch": arch, "compiler": which, "flags": " ".join([*FLAGS, *options])}

    def make(directory: str) -> Mapping[str, Any]:
        with open(os.path.join(directory, TEXT), "w", encoding="utf-8") as out:
            out.write(source)
        run = _nvcc if which.startswith("nvcc") else _nvrtc
        log = run(source, arch, tuple(options), directory, name)
        with open(os.path.join(directory, LOG), "w", encoding="utf-8") as out:
            out.write(log)
        return {"usage": json.dumps({k: list(u) for k, u in usage(log).items()})}

    return default_cache().get_or_make(parts, make, name=name, kind="cubin")[0]


NO_COMPILER = (
    "there is no CUDA compiler: install termgraph[cuda], which brings NVRTC (pip install 'termgraph[cuda]'), "
    "or put nvcc on the PATH"
)


@functools.cache
def compiler() -> str | None:
    """What compiles, with its version: "nvrtc 13.0", or a path of nvcc; None if there is nothing."""
    try:
        from cuda.bindings import nvrtc

        error, major, minor = nvrtc.nvrtcVersion()
        if not int(error):
            return f"nvrtc {major}.{minor}"
    except (ImportError, RuntimeError, OSError):  # the package, or the library it loads, is not there
        pass
    path = shutil.which("nvcc")
    if path is None:
        return None
    return "nvcc " + subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]


# ---------------------------------------------------------------------- the compilers
@functools.cache
def known_to_nvrtc() -> tuple[int, ...]:
    """The architectures that NVRTC compiles for, as numbers: 90 is sm_90."""
    from cuda.bindings import nvrtc

    error, found = nvrtc.nvrtcGetSupportedArchs()
    return () if int(error) else tuple(sorted(map(int, found)))


def nvrtc_target(arch: str, known: Sequence[int] | None = None) -> str:
    """What to compile for, so that a device of an architecture can run it.

    Itself; else an older one of the same generation, whose machine code it runs; for a later generation than NVRTC
    knows PTX, which the driver of such a device translates.
    """
    known = known_to_nvrtc() if known is None else known
    number = int(arch.removeprefix("sm_"))
    near = [k for k in known if k // 10 == number // 10 and k <= number]
    if near or not known:
        return f"sm_{max(near)}" if near else arch
    if number < known[0]:
        raise CudaCompileError(
            f"{compiler()} compiles for sm_{known[0]} and later, and this GPU has {arch}; an older CUDA compiler knows "
            "it: uninstall nvidia-cuda-nvrtc, and put the nvcc of CUDA 12 on the PATH"
        )
    return f"compute_{max(k for k in known if k < number)}"


def _nvrtc(source: str, arch: str, options: tuple[str, ...], directory: str, name: str) -> str:
    image, log = nvrtc_image(source, arch, options, name, ptx=arch.startswith("compute_"))
    with open(os.path.join(directory, IMAGE), "wb") as out:
        out.write(image)
    return log


def nvrtc_image(
    source: str, arch: str, options: Sequence[str] = (), name: str = "f", ptx: bool = False
) -> tuple[bytes, str]:
    """(cubin or PTX, log)."""
    from cuda.bindings import nvrtc

    def ask(function: Any, *args: Any) -> Any:
        error, *found = function(*args)
        if int(error):
            raise CudaCompileError(f"NVRTC: {function.__name__} failed with {error}")
        return found[0] if found else None

    program = ask(nvrtc.nvrtcCreateProgram, source.encode(), f"{name}.cu".encode(), 0, [], [])
    try:
        flags = [f"--gpu-architecture={arch}", *FLAGS, BY_ALL_CORES, *options]
        (error,) = nvrtc.nvrtcCompileProgram(program, len(flags), [f.encode() for f in flags])
        log = bytearray(ask(nvrtc.nvrtcGetProgramLogSize, program))
        ask(nvrtc.nvrtcGetProgramLog, program, log)
        text = bytes(log).rstrip(b"\0").decode(errors="replace")
        if int(error):
            raise CudaCompileError(f"NVRTC refuses the kernels of {name} for {arch}:\n{text}")
        size, get = (
            (nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX) if ptx else (nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN)
        )
        image = bytearray(ask(size, program))
        ask(get, program, image)
        return bytes(image), text
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _nvcc(source: str, arch: str, options: tuple[str, ...], directory: str, name: str) -> str:
    out = os.path.join(directory, IMAGE)
    command = ["nvcc", "-cubin", f"-arch={arch}", *FLAGS, *options, "-o", out, os.path.join(directory, TEXT)]
    with progress.compiler():
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise CudaCompileError(f"nvcc refuses the kernels of {name} for {arch}:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


# ---------------------------------------------------------------------- what ptxas says
_KERNEL = re.compile(r"Compiling entry function '(\w+)'")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")


def usage(log: str) -> dict[str, Usage]:
    """Registers, stack and spills of each kernel, read off the log of ptxas."""
    found: dict[str, Usage] = {}
    name, stack, spilled = "", 0, 0
    for line in log.splitlines():
        if match := _KERNEL.search(line):
            name, stack, spilled = match[1], 0, 0
        elif match := _STACK.search(line):
            stack, spilled = int(match[1]), int(match[2]) + int(match[3])
        elif (match := _REGISTERS.search(line)) and name:
            found[name] = Usage(int(match[1]), stack, spilled)
    return found


def usage_of(source: str, arch: str, options: Sequence[str] = (), name: str = "f") -> dict[str, Usage]:
    """The same for some text, compiled if need be."""
    with open(compiled(source, arch, options, name).file(LOG), encoding="utf-8") as log:
        return usage(log.read())


def warn_of_spills(source: str, arch: str, options: Sequence[str], name: str, ops: Sequence[str]) -> None:
    """Say so if kernels with text of the user's keep values in memory that should be in registers."""
    found = usage_of(source, arch, options, name)
    slow = [
        f"{k} ({u.registers} registers, {u.spilled or u.stack} bytes)"
        for k, u in found.items()
        if u.spilled or u.stack > STACK
    ]
    if slow:
        warnings.warn(
            f"in {name}, values that find no register are kept in memory, which is slow: {', '.join(slow)}. "
            f"The kernels contain the CUDA text of {', '.join(ops)}: give it fewer variables at a time, no arrays, "
            "and indices that are known when it is compiled",
            stacklevel=2,
        )
