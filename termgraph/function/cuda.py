"""Functions that run on the GPU: shared variables live there, arguments go up, results come down.

May import the CUDA backend and this room.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from termgraph.function.compiled import _LATER, MachineFunction
from termgraph.tensor.sharedvar import label, on_host
from termgraph.terms.errors import TypeMismatch
from termgraph.terms.types import TensorType
from termgraph.vm.machine import Machine
from termgraph.vm.program import Program


def can_live_there(type_: Any) -> bool:
    """Whether values of a type can be on the GPU."""
    return isinstance(type_, TensorType)


def device_program(maker: Any) -> Program:
    """The program of a maker's graph for the GPU, made once for all copies of a function."""
    from termgraph.backends.cuda import device, placement

    work = maker.work
    roots = work.linked_roots if maker.keeps_updates else work.linked_roots[: len(maker.outputs)]
    resident = tuple(bool(item.shared) and can_live_there(item.variable.type) for item in maker.inputs)
    key = (resident, len(roots), device.current())
    if key not in work.on_device:
        name = maker.name or "function"
        work.on_device[key] = placement.link(work.args, roots, key[2], name, resident, len(maker.outputs))
    return work.on_device[key]


class CudaFunction(MachineFunction):
    """A function whose program runs on the GPU as far as it can."""

    def _setup(self) -> None:
        super()._setup()
        self._deferred = []
        self.vm = Machine(device_program(self.maker), self.vm.allow_gc, self.vm.observers, self.maker.work.lookup)
        self._resident = [
            i for i, item in enumerate(self.maker.inputs) if item.shared and can_live_there(item.variable.type)
        ]

    def _values(self, given: list[Any]) -> list[Any]:
        """The arguments; values of shared variables go to the device on first use, and stay there."""
        from termgraph.backends.cuda.array import DeviceArray

        for i in self._resident:
            cell = self.input_storage[i]
            if given[i] is _LATER and isinstance(cell.storage[0], np.ndarray) and type(cell.storage) is list:
                name = label(self.maker.inputs[i].variable)
                cell.storage[0] = DeviceArray.of(cell.storage[0], name)
        return [c.storage[0] if v is _LATER else v for v, c in zip(given, self.input_storage)]

    def _checked(self, i: int, position: int, value: Any) -> Any:
        """Arrays that are on a GPU already are taken as they are, if their type fits."""
        from termgraph.backends.cuda.array import DeviceArray, as_device_array, interface_of

        type_ = self.maker.inputs[i].variable.type
        if not isinstance(value, np.ndarray) and can_live_there(type_):
            if isinstance(value, DeviceArray) or interface_of(value) is not None:
                array = as_device_array(value)
                if array.dtype == type_.np_dtype and _fits(type_.shape, array.shape):
                    return array
        return super()._checked(i, position, value)

    def _commit(self, results: list[Any], values: list[Any], claims: Any) -> None:
        """New values stay on the device, unless a function that runs on the CPU has taken over the variable."""
        for k, i in enumerate(self._updated, self._n_outputs):
            if type(self.input_storage[i].storage) is not list:
                results[k] = on_host(results[k])
        super()._commit(results, values, claims)

    def _check_update(self, i: int, new: Any) -> None:
        type_ = self.maker.inputs[i].variable.type
        if isinstance(new, np.ndarray) or not isinstance(type_, TensorType):
            super()._check_update(i, new)
        elif not _fits(type_.shape, new.shape):
            name = label(self.maker.inputs[i].variable)
            raise TypeMismatch(f"the update of {name}: shape {new.shape} is not {type_.shape}; nothing was changed")

    def source(self, language: str = "py") -> str:
        """The code that runs: "cuda" is the text of the kernels, headed by what stays on the CPU and why."""
        if language != "cuda":
            return super().source(language)
        kernels = [i.op for i in self.vm.program.instructions if i.op.kind == "kernel"]
        return "\n".join([f"// on the CPU: {line}" for line in self.on_cpu()] + [op.source for op in kernels])

    def on_cpu(self) -> list[str]:
        """The operations that stay on the CPU, each with the reason."""
        from termgraph.backends.cuda.placement import segments

        return [f"{t.op.name}: {why}" for t, why in segments(self.maker.work.program)[1].items()]


def _fits(declared: Sequence[int | None], shape: Sequence[int]) -> bool:
    return len(declared) == len(shape) and all(n is None or n == m for n, m in zip(declared, shape))
