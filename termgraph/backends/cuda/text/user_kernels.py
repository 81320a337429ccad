"""Ops of users that bring a CUDA kernel for whole arrays: the function around their text, and its launch."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import field
from math import prod
from typing import Any

from termgraph._records import record
from termgraph.backends.cuda.run.context import Device
from termgraph.backends.cuda.run.device_array import DeviceArray, Spare, as_device_array
from termgraph.backends.cuda.text import prelude
from termgraph.backends.cuda.text.dialect import STORED
from termgraph.backends.cuda.text.functions import BLOCK
from termgraph.terms.term import AnyTerm
from termgraph.terms.types import TensorType

KERNEL = "user_kernel"


@record
class UserCode:
    """The text of such a program, and what instructions are asked for."""

    source: str
    renamed: dict[Any, Any] = field(default_factory=dict)
    leaves: dict[Any, Any] = field(default_factory=dict)


def brings_a_kernel(t: AnyTerm) -> bool:
    """Whether the op of a term has CUDA text for whole arrays."""
    return getattr(t.op, "cuda_sections", None) is not None and bool(t.op.cuda_sections())


def why_not_here(t: AnyTerm) -> str | None:
    """Why the text of a user's op cannot be a kernel, or None."""
    types = [t.type, *[a.type for a in t.args]]
    odd = next((x for x in types if not isinstance(x, TensorType) or x.dtype not in STORED), None)
    return None if odd is None else f"the text of an op takes and gives arrays of numbers, not {odd}"


def source_of(t: AnyTerm) -> str:
    """The CUDA file with the kernel of a term."""
    parts: Mapping[str, str] = t.op.cuda_sections()
    takes, head = [], []
    for names, const, types in (("x", "const ", [a.type for a in t.args]), ("y", "", [t.type])):
        for k, type_ in enumerate(types):
            lengths = [f"{names}{k}_{d}" for d in range(type_.ndim)]
            takes.append(f"{const}{STORED[type_.dtype]} *__restrict__ {names}{k}")
            takes += [f"int64_t {n}" for n in lengths]
            head.append(f"    const int64_t {names}{k}_shape[] = {{{', '.join(lengths) or '1'}}};")
    size = " * ".join(f"y0_{d}" for d in range(t.type.ndim)) or "1"
    body = [f'extern "C" __global__ void {KERNEL}({", ".join(takes)})', "{", *head, f"    const int64_t size = {size};"]
    if "__sync" in parts.get("support_code", ""):
        body.append("    /* __syncthreads() is called by functions above */")
    text = "\n".join([parts.get("support_code", ""), *body, parts["code"], "}"])
    return f"{prelude.needed(text)}\n{text}\n"


class UserProgram:
    """A term of such an op on a device; called with the values of its operands, it gives a list of one array."""

    def __init__(self, t: Any, device: Device, title: str) -> None:
        self.term, self.device, self.title = t, device, title
        self.code = UserCode(source_of(t))
        self.spare = Spare(device)
        self.kernel: Any = None

    def __call__(self, *operands: Any) -> list[DeviceArray]:
        op, type_ = self.term.op, self.term.type
        with self.device.lock:
            given = [as_device_array(v, self.device, self.spare, ("argument", k)) for k, v in enumerate(operands)]
            arrays = [a.contiguous() for a in given]
            (shape,) = op.out_shapes(*[a.shape for a in arrays])
            made = self.spare.take("result", tuple(shape), type_.np_dtype, f"a result of {self.title}")
            if made.size:
                self.launch([*arrays, made], op.cuda_launch(*[a.shape for a in (*arrays, made)]))
            self.device.release([a.stream for a in given if a.is_foreign])
            return [made]

    def launch(self, arrays: Sequence[DeviceArray], wanted: Any) -> None:
        """Queue the kernel, in the grid and blocks that the op wants."""
        driver = self.device.driver
        if self.kernel is None:
            image = self.device.compile(self.code.source, driver.arch, (), self.title)
            self.kernel = driver.kernel(driver.load(image), KERNEL)
        arguments: list[Any] = []
        for a in arrays:
            arguments += [ctypes.c_void_p(a.address), *map(ctypes.c_int64, a.shape)]
        size = prod(arrays[-1].shape)
        grid, block = wanted or (min(-(-size // BLOCK), driver.multiprocessors * 16), BLOCK)
        driver.launch(self.kernel, _three(grid), _three(block), arguments)


def _three(n: int | Sequence[int]) -> tuple[int, int, int]:
    sizes = [n] if isinstance(n, int) else list(n)
    x, y, z = [*sizes, 1, 1][:3]
    return int(x), int(y), int(z)
