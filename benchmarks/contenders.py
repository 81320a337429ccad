"""Who takes part: where each contender runs, with which environment, and how its functions are compiled.

The first half is read by the harness, the second by the worker processes; a peer's library is imported only where a
worker asks for it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import peers

ROOT = Path(__file__).resolve().parent.parent


class Contender(NamedTuple):
    """A contender: its name, the peer it needs (None: our own interpreter), and what kind it is.

    A "ceiling" (hand-written C) is no peer: it takes no part in "best peer", but a target may name it.
    """

    name: str
    peer: str | None
    kind: str = "peer"


CONTENDERS = {
    c.name: c
    for c in (
        Contender("termgraph", None, "ours"),
        Contender("numpy", None),
        Contender("numexpr", "numexpr"),
        Contender("pytensor", "pytensor"),  # its C backend, mode CVM
        Contender("pytensor-trusted", "pytensor"),  # the same with trust_input=True
        Contender("pytensor-numba", "pytensor"),
        Contender("pytensor-numba-trusted", "pytensor"),
        Contender("jax", "jax"),
        Contender("torch", "torch"),
        Contender("torch-nn", "torch"),  # torch's own layers (oneDNN) instead of the written-out formulas
        Contender("torch-compile", "torch"),
        Contender("egglog", "egglog"),
        Contender("python", None),
        Contender("handc", None, "ceiling"),
    )
}


def interpreter(name: str) -> str | None:
    """The Python that runs a contender; None if its peer is not installed."""
    contender = CONTENDERS[name]
    if contender.peer is None:
        return sys.executable
    found = peers.manifest()["peers"].get(contender.peer)
    return found["python"] if found and Path(found["python"]).is_file() else None


# What holds each library to AVX2 on a processor with more: see `ops.py --avx2`.
AVX2 = {
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    "OPENBLAS_CORETYPE": "Haswell",
    "ATEN_CPU_CAPABILITY": "avx2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
}


def environment(name: str, threads: int, caches: Path | None = None) -> dict[str, str]:
    """The environment variables of a contender's worker; everything it compiles is cached below `caches`."""
    n = str(threads)
    folder = (caches or peers.home() / "caches") / CONTENDERS[name].name.partition("-")[0]
    folder.mkdir(parents=True, exist_ok=True)
    own = {f"{library}_NUM_THREADS": n for library in ("OMP", "OPENBLAS", "MKL", "NUMBA", "NUMEXPR")}
    own |= {
        "NUMEXPR_MAX_THREADS": n,
        "PYTENSOR_FLAGS": f"base_compiledir={folder},blas__ldflags={peers.manifest()['blas']}",
        "NUMBA_CACHE_DIR": str(folder / "numba"),
        "JAX_PLATFORMS": "cpu",
        "JAX_ENABLE_X64": "1",
        "JAX_COMPILATION_CACHE_DIR": str(folder),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "0",
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "TERMGRAPH_FLAGS": f"cache.dir={folder},threads={n},blas.threads={n}",
    }
    if threads == 1:
        own["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    if os.environ.get("BENCH_AVX2"):
        own |= AVX2
        own["XLA_FLAGS"] = f"{own.get('XLA_FLAGS', '')} --xla_cpu_max_isa=AVX2".strip()
        own["TERMGRAPH_FLAGS"] += ",cflags=-mno-avx512f"
    # Installed packages come with compiled bytecode; a checkout gets it with the first import, unless this forbids it.
    kept = {k: v for k, v in os.environ.items() if k not in ("TERMGRAPH_FLAGS", "PYTHONDONTWRITEBYTECODE")}
    kept["PYTHONPATH"] = str(ROOT) if CONTENDERS[name].peer is None else ""
    return kept | own


# ---------------------------------------------------------------------- inside the worker
def pytensor_function(who: str, inputs: Any, outputs: Any, **options: Any) -> Callable:
    """A PyTensor function in the mode the contender's name says."""
    import pytensor

    f = pytensor.function(inputs, outputs, mode="NUMBA" if "numba" in who else "CVM", **options)
    f.trust_input = who.endswith("trusted")
    return f


def torch_compiled(who: str, f: Callable) -> Callable:
    """`f` itself, or compiled where the contender is torch-compile. Turn gradients off or on before calling it."""
    import torch

    torch._dynamo.reset()  # else its limit on recompilations counts the cases before this one
    return torch.compile(f, dynamic=False, fullgraph=True) if who == "torch-compile" else f


def jax_arrays(*values: Any) -> list:
    import jax.numpy as jnp

    return [jnp.asarray(v) for v in values]


def torch_arrays(*values: Any) -> list:
    import torch

    return [torch.from_numpy(v) for v in values]
