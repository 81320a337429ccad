"""The worker process of one contender: sets up cases and times their statements when the harness asks.

Speaks JSON, one object per line, over the pipes it was started with. Imports nothing but the script it is told to load,
so that a contender's process holds the contender and NumPy.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import re
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

SAMPLES = 16


def main() -> None:
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever libraries print must not end up between the replies
    worker = Worker()
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            reply = getattr(worker, asked.pop("do"))(**asked)
        except BaseException as error:  # noqa: B036  (reported by name in the table)
            traceback.print_exc()
            reply = {"error": short(error)}
        replies.write(json.dumps(reply) + "\n")


def short(error: BaseException) -> str:
    text = (str(error).strip().splitlines() or [""])[0]
    return re.sub(r"/\S*/(?=[^/\s]+)", "", f"{type(error).__name__}: {text}")[:200]


class Worker:
    """The requests a worker answers."""

    def __init__(self) -> None:
        self.script: Any = None
        self.loop: Callable | None = None

    def load(self, script: str) -> dict:
        """Load the benchmark script."""
        self.script = load_script(script)
        return {}

    def setup(self, contender: str, case: dict) -> dict:
        """Build the case's statement, run it once, and return a sample of what it gave."""
        self.loop = None
        gc.collect()
        started = time.perf_counter()
        statement = self.script.suite.sides[contender](contender, **case)
        built = time.perf_counter()
        self.loop, once = compiled(statement)
        first = once()
        done = time.perf_counter()
        return {"setup": built - started, "first": done - built, "sample": sample(first),
                "result_bytes": size_of(first), "extra": statement.extra}  # fmt: skip

    def calibrate(self, seconds: float) -> dict:
        """How many executions last about `seconds`."""
        assert self.loop is not None
        number = 1
        while True:
            wall, _ = self.loop(number)
            if wall >= seconds or number >= 1e8:
                return {"number": number}
            number = max(number + 1, min(int(number * 1.1 * seconds / max(wall, 1e-7)), number * 100))

    def measure(self, number: int) -> dict:
        """Wall and CPU seconds per execution."""
        assert self.loop is not None
        gc.collect()
        gc.disable()
        try:
            wall, cpu = self.loop(number)
        finally:
            gc.enable()
        return {"wall": wall / number, "cpu": cpu / number}

    def once(self, contender: str, case: dict) -> dict:
        """Call the side itself: for figures that are no repeated statement (time to ready, memory)."""
        return self.script.suite.sides[contender](contender, **case)

    def clear(self) -> dict:
        """Let go of the case's arrays."""
        self.loop = None
        gc.collect()
        return {}


def load_script(path: str) -> Any:
    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location("bench_script", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compiled(statement: Any) -> tuple[Callable, Callable]:
    """The timing loop around a statement, written out so that nothing but the statement is timed."""
    names = "".join(f", {name}={name}" for name in statement.names)  # locals are faster than globals
    source = f"""
def loop(number{names}):
    from itertools import repeat
    wall, cpu = clock(), cpu_clock()
    for _ in repeat(None, number):
        {statement.text}
    return clock() - wall, cpu_clock() - cpu
def once():
    return {statement.text}
"""
    space = dict(statement.names) | {"clock": time.perf_counter, "cpu_clock": time.process_time}
    exec(source, space)
    return space["loop"], space["once"]


def sample(value: Any) -> list[list[float]]:
    """Some elements of every output, to see that all contenders compute the same."""
    import numpy as np

    outputs = value if isinstance(value, (list, tuple)) else [value]
    picked = []
    for output in outputs:
        if hasattr(output, "tocsr"):  # a sparse matrix
            output = output.sum(axis=1)
        if hasattr(output, "resolve_conj"):  # a tensor of PyTorch, which may be a view that NumPy does not know
            output = output.detach().resolve_conj()
        output = np.asarray(output)
        output = np.stack([output.real, output.imag]) if output.dtype.kind == "c" else output
        flat = np.asarray(output, dtype="float64").ravel()
        places = np.linspace(0, flat.size - 1, min(SAMPLES, flat.size)).astype(int)
        picked.append(flat[places].tolist())
    return picked


def size_of(value: Any) -> int:
    """Bytes of the results."""
    outputs = value if isinstance(value, (list, tuple)) else [value]
    parts = [part for o in outputs for part in ([o.data, o.indices, o.indptr] if hasattr(o, "indptr") else [o])]
    return sum(int(getattr(part, "nbytes", 8)) for part in parts)


def peak_memory() -> float:
    """Peak resident memory of this process in MB."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
