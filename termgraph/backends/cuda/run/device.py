"""The devices of this process: chosen by the flags on first use, never at import.

The drivers, the compiler and the kernels that copy views are imported when a device is opened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from termgraph._lazy import lazy
from termgraph.backends.cuda.driver.base import Driver
from termgraph.backends.cuda.run.context import Device, Helpers, current, numbered, set_helpers, use, why_not
from termgraph.backends.cuda.run.cublas import Cublas
from termgraph.backends.cuda.run.cudnn import Cudnn
from termgraph.config import config

if TYPE_CHECKING:
    from termgraph.backends.cuda.build import compile as build
    from termgraph.backends.cuda.driver import core, pycuda
    from termgraph.backends.cuda.text import copying
else:
    build = lazy("termgraph.backends.cuda.build.compile")
    core, pycuda = lazy("termgraph.backends.cuda.driver.core"), lazy("termgraph.backends.cuda.driver.pycuda")
    copying = lazy("termgraph.backends.cuda.text.copying")


def _open(name: str, number: int = 0) -> Driver:
    return pycuda.PyCudaDriver(number) if name == "pycuda" else core.CoreDriver(number)


def _device(number: int) -> Device:
    return Device(_open(str(config.cuda.driver), number), build.compile_text, number)


def _copied(array: Any) -> Any:
    (made,) = copying.copier(array.device, array.dtype, array.ndim)(array)
    return made


set_helpers(Helpers(_device, Cublas.open, Cudnn.open, _copied))

__all__ = ["Device", "current", "numbered", "use", "why_not"]
