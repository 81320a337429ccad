"""What the machine can do at most: bytes over the copy rate and floating-point operations over the peak of a product.

Both are measured in this process with NumPy, one thread, before the first row; the copy rate for four sizes, since what
fits a cache moves faster.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from typing import Any

for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import numpy as np  # noqa: E402  after its threads are set
from op_rows.operations import OPERATIONS, UNCOUNTED  # noqa: E402
from op_rows.table import Row  # noqa: E402

COPIED = (1 << 15, 1 << 19, 1 << 23, 1 << 26)  # bytes read and written in all: first cache, second, third, memory


def best(f: Callable[[], Any], seconds: float = 0.05) -> float:
    """The least CPU time of a call."""
    found, started = float("inf"), time.perf_counter()
    while time.perf_counter() - started < seconds:
        begin = time.process_time()
        f()
        f()
        f()
        f()
        found = min(found, (time.process_time() - begin) / 4)
    return max(found, 1e-9)


def nbytes(value: Any) -> int:
    """Bytes of an operand, sparse ones included."""
    parts = [value.data, value.indices, value.indptr] if hasattr(value, "indptr") else [value]
    return sum(int(part.nbytes) for part in parts)


def operations(row: Row, size: str) -> float:
    """How many floating-point operations a row needs at least, as far as there is a count."""
    text = row.flops or OPERATIONS.get(row.name)
    return eval(text, {"log2": math.log2}, row.lengths(size)) if text else 0


def counted(row: Row) -> bool:
    """Whether the limit is one: of draws, sorts and special functions it has the bytes only."""
    return bool(row.flops) or not UNCOUNTED.match(row.name)


class Machine:
    """The rates of this machine."""

    def __init__(self) -> None:
        self.copy = {size: self._copy_rate(size) for size in COPIED}
        self.peak = {}
        for dtype in ("float64", "float32"):
            a = np.ones((600, 600), dtype)
            self.peak[dtype] = 2 * 600**3 / best(lambda a=a: a @ a, 0.2)

    def _copy_rate(self, size: int) -> float:
        source, target = np.ones(size // 16), np.zeros(size // 16)
        repeats = max(1, (1 << 22) // size)  # so that a clock of a microsecond will do

        def run() -> None:
            for _ in range(repeats):
                np.copyto(target, source)

        run()  # pages that nobody has touched are no matter of copying
        return size * repeats / best(run, 0.3)

    def limit(self, row: Row, size: str, dtype: str, moved: int) -> float:
        """Seconds that a row needs at least: what it must move, what it must compute."""
        rate = next((self.copy[s] for s in COPIED if moved <= s), self.copy[COPIED[-1]])
        return max(moved / rate, operations(row, size) / self.peak.get(dtype, self.peak["float64"]))

    def figures(self) -> dict[str, Any]:
        return {"copy_rate": {str(size): rate for size, rate in self.copy.items()}, "peak": self.peak}
