"""Whether a CUDA compiler takes the text of units: nothing runs, and NVRTC needs no GPU.

The emulation compiles the same text with g++, which knows functions, conversions and places that NVRTC does not.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator, Sequence

import termgraph as tg
from emucuda.driver import emulation
from termgraph.backends.cuda.build.compile import CudaCompileError, nvrtc_image
from termgraph.function.cuda import CudaFunction

from . import rows  # noqa: F401  entered in the table
from .cells import Built, Unit, all_units, build, mode
from .runner import in_rounds

TOGETHER = 24
ARCHITECTURES = ("compute_75", "compute_90")
QUICKLY = ("--Ofast-compile=max",)  # whether the text is refused does not depend on it


def refusal(source: str, architectures: Sequence[str] = ARCHITECTURES) -> str | None:
    """What NVRTC says against a text, for the first device that it says it of."""
    for arch in architectures:
        try:
            nvrtc_image(source, arch, QUICKLY, ptx=True)
        except CudaCompileError as error:
            return f"{arch}: " + " | ".join(re.findall(r"error: (.*)", str(error))[:3])
    return None


def order(seed: int, only: str = "") -> list[Unit]:
    """The units on a device: each function and gradient in some dtype, then in each, then in every rank."""
    units = [u for u in all_units(only) if u.linker == "cuda"]
    random.Random(seed).shuffle(units)
    first = list({(u.row, u.gradient): u for u in units}.values())
    taken = set(first)
    return first + [u for u in in_rounds(units) if u not in taken]


def refused(seconds: float, seed: int, only: str = "", limit: int = 10**9) -> tuple[int, list[str]]:
    """(how many units were looked at, what is refused of them), in the order above until the time is up."""
    end, waiting, found, count = time.monotonic() + seconds, order(seed, only)[:limit], [], 0
    with emulation():
        for k in range(0, len(waiting), TOGETHER):
            if time.monotonic() > end:
                break
            units = waiting[k : k + TOGETHER]
            found += list(divided(list(built(units, seed))))
            count += len(units)
    return count, found


def built(units: Sequence[Unit], seed: int) -> Iterator[Built]:
    """Those of which a program can be made; what is wrong with others the matrix itself says."""
    for unit in units:
        try:
            yield build(unit, seed)
        except Exception:
            continue


def divided(units: list[Built]) -> Iterator[str]:
    """What is refused of units in one program; if that is refused, of its halves."""
    if not units:
        return
    wrong = judged(units)
    if wrong and len(units) > 1:
        yield from divided(units[: len(units) // 2])
        yield from divided(units[len(units) // 2 :])
    elif wrong:
        yield f"{units[0].unit}: {wrong}"


def judged(units: Sequence[Built]) -> str | None:
    """What is said against the texts of one program."""
    inputs = [v for b in units for v in b.inputs]
    outputs = [v for b in units for v in b.outputs]
    try:
        f = tg.function(inputs, outputs, mode=mode("FAST_RUN", "cuda"), on_unused_input="ignore")
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return next((wrong for text in texts(f) if (wrong := refusal(text))), None)


def texts(f: object) -> list[str]:
    """The texts of a function's kernels, as they are compiled."""
    if not isinstance(f, CudaFunction):
        return []
    found = [i.op.source for i in f.vm.program.instructions if i.op.kind == "kernel"]
    return [text for text in found if "__global__" in text]
