"""Compiling generated CUDA text with g++ against cuda_on_cpu.h. The image of the library stands for a cubin.

May touch: subprocesses and the cache of compiled code.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from races.mode import linked
from termgraph.backends.c.build.cache import default_cache
from termgraph.backends.c.build.cache_files import digest
from termgraph.backends.c.build.compilers import processor_flags

HERE = os.path.dirname(os.path.abspath(__file__))
IMAGE, DRIVER, HEADER = "kernels.so", "libcuda.so.1", "cuda_on_cpu.h"
APART = "--fmad=false"
COMMON = [
    "-std=c++17",
    "-shared",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-strict-aliasing",
    "-fwrapv",
    "-w",
]
# What a run looks for. "plain" checks barriers and results; the others are the compiler's sanitizers.
_UNDEFINED = (
    "-O1 -g -fsanitize=alignment,shift,integer-divide-by-zero,bounds -fno-sanitize-recover=all -static-libubsan"
)
_ADDRESS = "-O1 -g -fsanitize=address,alignment -fno-sanitize-recover=alignment --param asan-stack=0 -DTG_ASAN"
MODES = {
    "plain": ["-O1"],  # -Og would join no products and sums, as the GPU does
    "undefined": _UNDEFINED.split(),
    "address": _ADDRESS.split(),
    "thread": ["-O1", "-g", "-fsanitize=thread", "-DTG_TSAN"],
    "races": ["-O1", "-g1", "-fsanitize=thread", "-DTG_RACES"],
}
_HEAD = re.compile(r'extern\s+"C"\s+__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s+)?(\w+)\s*\(')
_WAITS = re.compile(r"__sync\w+|__\w+_sync\b|tg_fold|tg_arg_fold|tg_column_fold|tg_running|tg_barrier")
PRELOAD = {"address": "libasan.so", "thread": "libtsan.so"}


class NoEmulation(RuntimeError):
    """The emulation needs g++, and there is none."""


def find_compiler() -> str | None:
    """The C++ compiler of the emulation."""
    return shutil.which(os.environ.get("CXX", "g++"))


def emulated_text(source: str) -> str:
    """CUDA text with the emulation in front, and one exported launch function per kernel behind."""
    heads = list(_HEAD.finditer(source))
    ends = [m.start() for m in heads[1:]] + [len(source)]
    lines = ['#include "cuda_on_cpu.h"', '#line 1 "kernels.cu"', source]
    for head, end in zip(heads, ends):
        waits = "true" if _WAITS.search(source, head.start(), end) else "false"
        lines.append(f"TG_KERNEL({head[1]}, {waits})")
    return "\n".join(lines) + "\n"


def build(source: str, options: Sequence[str] = (), mode: str = "") -> str:
    """The path of a library with the kernels of some CUDA text; from the cache if it was built before."""
    mode = mode or os.environ.get("TG_EMU_MODE", "plain")
    compiler = find_compiler()
    if compiler is None:
        raise NoEmulation("CUDA kernels are emulated by code that g++ compiles, and g++ was not found")
    text = emulated_text(source)
    flags = (*COMMON, *MODES[mode], *_rounding(options))
    watching = linked() if mode == "races" else []
    own = tuple(o for o in options if o != APART)
    parts = {"cuda": digest(text), **_headers(compiler, (*flags, *own, *watching))}

    def make(directory: str) -> None:
        path = os.path.join(directory, "kernels.cpp")
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        folders = ["-I", _precompiled(compiler, flags), "-I", HERE]
        _run([compiler, *flags, *own, *folders, path, "-o", os.path.join(directory, IMAGE), *watching])

    entry, _ = default_cache().get_or_make(parts, make, name="emulated", kind="emulated kernels")
    return entry.file(IMAGE)


def _headers(compiler: str, flags: Sequence[str]) -> dict[str, str]:
    """What the meaning of the emulation's headers depends on."""
    headers = "".join(Path(HERE, h).read_text() for h in (HEADER, "fibers.h", "builtins.h"))
    return {"headers": digest(headers), "flags": " ".join(flags), "compiler": _run([compiler, "--version"])}


@functools.cache
def _precompiled(compiler: str, flags: tuple[str, ...]) -> str:
    """The folder of the precompiled header: without it g++ reads the headers for a fifth of its time."""

    def make(directory: str) -> None:
        out = os.path.join(directory, f"{HEADER}.gch")
        _run([compiler, *flags, "-x", "c++-header", os.path.join(HERE, HEADER), "-o", out])

    parts = {"precompiled": HEADER, **_headers(compiler, flags)}
    return default_cache().get_or_make(parts, make, name="emulation", kind="emulated kernels")[0].path


def _run(command: Sequence[str]) -> str:
    """What g++ prints. A sanitizer that this process is loaded with would look for faults of g++."""
    own = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    done = subprocess.run(command, capture_output=True, text=True, env=own)
    if done.returncode:
        raise RuntimeError(f"g++ refuses the emulated kernels:\n{done.stderr[:4000]}")
    return done.stdout


def _rounding(options: Sequence[str]) -> list[str]:
    """Products and the sums they go into are rounded once, as a GPU's compiler does it, if that is not forbidden."""
    joined = APART not in options and "fma" in processor_flags()
    return ["-mfma", "-ffp-contract=fast", "-fexpensive-optimizations"] if joined else ["-ffp-contract=off"]


def cuda_headers() -> str | None:
    """The folder with cuda.h: of the package nvidia-cuda-runtime, or of a toolkit."""
    import sysconfig

    site = sysconfig.get_paths()["purelib"]
    folders = [*sorted(Path(site, "nvidia").glob("*/include")), *sorted(Path("/usr/local").glob("cuda*/include"))]
    return next((str(f) for f in folders if (f / "cuda.h").is_file()), None)


def driver_library() -> str:
    """The path of the emulated libcuda.so.1; from the cache if it was built before."""
    headers, compiler = cuda_headers(), shutil.which("gcc")
    if headers is None or compiler is None:
        raise NoEmulation("the emulated driver needs gcc and cuda.h (package nvidia-cuda-runtime)")
    files = [os.path.join(HERE, name) for name in ("emucuda.c", "missing.c")]
    source = "".join(Path(f).read_text() for f in (*files, os.path.join(HERE, "emuqueue.h")))
    version = Path(headers, "cuda.h").read_text().partition("#define CUDA_VERSION")[2].split()[0]
    parts = {"emucuda": digest(source), "cuda.h": version, "compiler": compiler}

    def make(directory: str) -> None:
        out = os.path.join(directory, DRIVER)
        flags = ["-O1", "-w", "-shared", "-fPIC", f"-I{headers}", f"-Wl,-soname,{DRIVER}"]
        subprocess.run([compiler, *flags, *files, "-o", out, "-ldl"], check=True)

    return default_cache().get_or_make(parts, make, name="emulated driver", kind="emulated driver")[0].file(DRIVER)


def blas_libraries() -> list[str]:
    """The paths of the emulated libcublasLt.so.13 and libcublas.so.13, to be loaded after the driver."""
    return _libraries({"libcublasLt.so.13": "emucublaslt.c", "libcublas.so.13": "emucublas.c"}, "cuBLAS")


def dnn_library() -> str:
    """The path of the emulated libcudnn.so.9, to be loaded after the driver by those who want it."""
    return _libraries({"libcudnn.so.9": "emucudnn.c"}, "cuDNN")[0]


def _libraries(files: dict[str, str], name: str) -> list[str]:
    """The paths of emulated libraries."""
    compiler = shutil.which("gcc")
    if compiler is None:
        raise NoEmulation(f"the emulated {name} needs gcc")

    def make(directory: str) -> None:
        for soname, text in files.items():
            out = os.path.join(directory, soname)
            flags = ["-O1", "-shared", "-fPIC", f"-Wl,-soname,{soname}", os.path.join(HERE, text), "-o", out, "-lm"]
            subprocess.run([compiler, *flags], check=True)

    headers = "emunumbers.h", "emuengines.h"
    source = "".join(Path(HERE, text).read_text() for text in (*files.values(), *headers))
    parts = {"emulated library": digest(source), "compiler": compiler}
    entry = default_cache().get_or_make(parts, make, name=f"emulated {name}", kind="emulated driver")[0]
    return [entry.file(soname) for soname in files]


def preload(mode: str) -> dict[str, str]:
    """Environment variables for a process that loads kernels built in this mode."""
    if mode not in PRELOAD:
        return {}
    found = subprocess.run(["gcc", f"-print-file-name={PRELOAD[mode]}"], capture_output=True, text=True, check=True)
    options = {"ASAN_OPTIONS": "detect_leaks=0", "TSAN_OPTIONS": "halt_on_error=1:exitcode=66"}
    return {"LD_PRELOAD": found.stdout.strip(), "TG_EMU_MODE": mode, **options}
