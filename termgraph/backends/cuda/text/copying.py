"""Copies of arrays that are not C-contiguous, by a kernel."""

from __future__ import annotations

from termgraph.backends.cuda.generate import generate
from termgraph.backends.cuda.run.context import Device
from termgraph.backends.cuda.run.executor import Executable
from termgraph.terms.term import Arg
from termgraph.terms.types import TensorType


def copier(device: Device, dtype: str, ndim: int) -> Executable:
    """What copies a view with any strides to memory of its own."""
    key = (str(dtype), ndim)
    if key not in device.copiers:
        x = Arg(0, TensorType(dtype, (None,) * ndim))
        made = device.copiers[key] = Executable(generate([x], [x], strided=(0,)), device, "copy")
        made.views = (0,)
    return device.copiers[key]
