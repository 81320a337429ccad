"""Compiles the hand-written C of the ceilings (benchmarks/c) with gcc, cached by content, and loads it."""

from __future__ import annotations

import ctypes
import hashlib
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import peers

FLAGS = ["-O3", "-march=native", "-mprefer-vector-width=512", "-ffast-math", "-fopenmp", "-shared", "-fPIC"]


def library_file(name: str, *options: str) -> Path:
    """The compiled form of benchmarks/c/NAME.c."""
    source = Path(__file__).with_name("c") / f"{name}.c"
    key = hashlib.sha256(source.read_bytes() + " ".join(options).encode()).hexdigest()[:16]
    made = peers.home() / "native" / f"{name}-{key}.so"
    if not made.is_file():
        made.parent.mkdir(parents=True, exist_ok=True)
        fresh = made.with_suffix(".tmp.so")
        done = subprocess.run(
            ["gcc", *FLAGS, str(source), "-o", str(fresh), *options, "-lm"], capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(f"gcc could not compile {source.name}: {done.stderr.strip().splitlines()[0]}")
        fresh.replace(made)
    return made


def library(name: str, *options: str) -> ctypes.CDLL:
    return ctypes.CDLL(str(library_file(name, *options)))


def extension(name: str) -> Any:
    """The compiled form as a Python extension module `NAME`."""
    import importlib.util

    import numpy as np

    folders = [sysconfig.get_paths()["include"], np.get_include()]
    file = library_file(name, *[f"-I{folder}" for folder in folders])
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def blas() -> list[str]:
    """Options to link the OpenBLAS that termgraph uses too."""
    import scipy_openblas32 as openblas

    folder = openblas.get_lib_dir()
    return [f"-L{folder}", f"-l{openblas.get_library()}", f"-Wl,-rpath,{folder}"]


def pointer(array: Any) -> ctypes.c_void_p:
    """The array's data. The caller keeps the array alive."""
    return ctypes.c_void_p(array.ctypes.data)
