"""Where the arrays of a step lie in one flat buffer of bytes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Spec = tuple[str, tuple[int, ...]]  # dtype and shape
ALIGNMENT = 64


def aligned(size: int) -> int:
    """The next multiple of the alignment."""
    return -(-size // ALIGNMENT) * ALIGNMENT


class Layout:
    """Arrays of given dtypes and shapes one after the other, those of one dtype together, each aligned to 64 bytes."""

    def __init__(self, specs: Sequence[Spec]) -> None:
        self.specs = [(str(dtype), tuple(int(n) for n in shape)) for dtype, shape in specs]
        self._starts = [0] * len(self.specs)
        self._groups: list[tuple[str, int, int]] = []  # dtype, first byte, byte after the last
        end = 0
        for dtype in dict.fromkeys(dtype for dtype, _ in self.specs):
            start = end
            for i, (own, shape) in enumerate(self.specs):
                if own == dtype:
                    self._starts[i] = end
                    end += aligned(np.dtype(dtype).itemsize * int(np.prod(shape, dtype=np.int64)))
            self._groups.append((dtype, start, end))
        self.nbytes = end

    def arrays(self, buffer: np.ndarray) -> list[np.ndarray]:
        """The arrays as views of a buffer of bytes, in the order in which they were given."""
        found = []
        for start, (dtype, shape) in zip(self._starts, self.specs):
            size = np.dtype(dtype).itemsize * int(np.prod(shape, dtype=np.int64))
            found.append(buffer[start : start + size].view(dtype).reshape(shape))
        return found

    def flat(self, buffer: np.ndarray) -> list[np.ndarray]:
        """One flat view per dtype, gaps between arrays included."""
        return [buffer[start:end].view(dtype) for dtype, start, end in self._groups if end > start]
