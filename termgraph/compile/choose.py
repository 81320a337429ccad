"""Whether a linker means C code on this machine. Asked when a function is compiled, never at import."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING

from termgraph._lazy import lazy
from termgraph.config import config

if TYPE_CHECKING:
    from termgraph.backends.c.build import compilers
    from termgraph.backends.cuda.run import device
else:
    compilers = lazy("termgraph.backends.c.build.compilers")
    device = lazy("termgraph.backends.cuda.run.device")


def backend_of(linker: str) -> str:
    """What runs programs of a linker on this machine: "c", "cuda" or "vm"."""
    if wants_gpu(linker):
        return "cuda"
    return "c" if wants_c(linker) else "vm"


def available(linker: str) -> bool:
    """Whether programs of that kind can be made here."""
    if linker == "cuda":
        return device.why_not() is None
    return True


def wants_c(linker: str) -> bool:
    """Whether programs of this linker are compiled to C here; "c" insists, "auto" takes what there is."""
    if linker not in ("c", "auto"):
        return False
    if compilers.find_compiler() is not None:
        return True
    if linker == "c":
        raise RuntimeError(f"linker='c' needs a C compiler: {compilers.why_no_compiler()}; or use linker='py'")
    _warn_once(compilers.why_no_compiler())
    return False


def wants_gpu(linker: str) -> bool:
    """Whether programs of this linker run on the GPU; RuntimeError if they should and there is none."""
    if linker != "cuda" and (config.device != "cuda" or linker != "auto"):
        return False
    why = device.why_not()
    if why is not None:
        chosen = "linker='cuda'" if linker == "cuda" else "device=cuda"
        raise RuntimeError(f"{chosen} was chosen, but {why}")
    return True


def _was_named() -> bool:
    """Whether the user names a compiler: then the search for it has warned already that it cannot be used."""
    return config.cc != "none" and bool(config.cc or os.environ.get("CC"))


_warned: list[str] = []


def _warn_once(why: str) -> None:
    if not _warned and config.linker == "auto" and not _was_named():
        _warned.append(why)
        warnings.warn(
            f"no C compiler: functions run on the Python virtual machine, with the same results ({why}); "
            "`termgraph doctor` says more, linker=py silences this",
            stacklevel=2,
        )
