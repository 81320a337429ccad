"""Arrays of examples on their way to workers: once in memory that all map, or as the file in which they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from termgraph._records import record
from termgraph.dist.data import Arrays
from termgraph.dist.layout import Layout
from termgraph.dist.memory import Shared


@record
class InFile:
    """An array in a file."""

    path: str
    offset: int
    dtype: str
    shape: tuple[int, ...]
    order: Any

    def open(self) -> np.ndarray:
        """The array, mapped for reading."""
        return np.memmap(self.path, self.dtype, "r", self.offset, self.shape, self.order)


@record
class Placed:
    """An `Arrays` whose arrays are elsewhere: in files, and the others in memory that is handed over."""

    batch: int
    epochs: int
    shuffle: bool
    files: dict[int, InFile]
    layout: Layout

    def arrays(self, fd: int) -> Arrays:
        """The data again, in the process that was handed the memory."""
        memory = Shared(fd=fd)
        views = iter(self.layout.arrays(memory.buffer))
        memory.close()
        count = len(self.files) + len(self.layout.specs)
        found = [self.files[i].open() if i in self.files else next(views) for i in range(count)]
        for array in found:
            array.flags.writeable = False  # all workers have the same
        return Arrays(*found, batch=self.batch, epochs=self.epochs, shuffle=self.shuffle)


def place(data: Arrays) -> tuple[Placed, Shared]:
    """The data as it goes to workers, and the memory that goes with it."""
    files = {i: found for i, a in enumerate(data.arrays) if (found := _in_file(a)) is not None}
    here = [a for i, a in enumerate(data.arrays) if i not in files]
    layout = Layout([(str(a.dtype), a.shape) for a in here])
    memory = Shared(max(layout.nbytes, 1))
    for view, a in zip(layout.arrays(memory.buffer), here):
        view[...] = a
    return Placed(data.batch, data.epochs, data.shuffle, files, layout), memory


def _in_file(a: np.ndarray) -> InFile | None:
    """The file of a memory-mapped array, if the array is all that was mapped and is what others see."""
    if not isinstance(a, np.memmap) or a.filename is None or a.mode == "c":
        return None
    if a.base is None or isinstance(a.base, np.memmap) or not (a.flags.c_contiguous or a.flags.f_contiguous):
        return None  # a part of a mapped file: as any other array
    return InFile(str(a.filename), a.offset, str(a.dtype), a.shape, "C" if a.flags.c_contiguous else "F")
