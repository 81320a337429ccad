"""Which of PyTensor's ops its own documentation's examples use, and which of them termgraph converts.

    python benchmarks/peers.py pymc                # once: an environment with PyTensor
    python benchmarks/pytensor_examples.py         # in that environment, by itself

The examples of each of PyTensor's docstrings run in order with `pytensor.config.mode = "TERMGRAPH"`; what an example
prints is not compared, but an error ends its docstring and is named.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import os
import pkgutil
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent


def docstrings():
    """Every docstring of PyTensor that has examples, once."""
    import pytensor

    seen = set()
    finder = doctest.DocTestFinder(exclude_empty=True)
    for info in pkgutil.walk_packages(pytensor.__path__, "pytensor."):
        if any(part in info.name for part in (".jax", ".mlx", ".pytorch", ".numba", "_version", "__main__", ".bin")):
            continue
        with contextlib.suppress(Exception):
            module = importlib.import_module(info.name)
            for test in finder.find(module, info.name):
                key = tuple(e.source for e in test.examples)
                if key and key not in seen:
                    seen.add(key)
                    yield test


def work() -> None:
    """Run the examples and print the table."""
    sys.path[:] = [p for p in sys.path if Path(p or ".").resolve() != HERE]
    sys.path.insert(0, str(HERE.parent))
    warnings.simplefilter("ignore")
    import numpy as np
    import pytensor
    import pytensor.tensor as pt

    from termgraph.pytensor.linker import TermgraphLinker

    converted: Counter[str] = Counter()
    called: Counter[str] = Counter()
    convert = TermgraphLinker.fgraph_convert

    def counted(self, *given, **more):
        found = convert(self, *given, **more)
        converted.update(self.conversion.converted)
        called.update(self.conversion.called)
        return found

    TermgraphLinker.fgraph_convert = counted
    found = list(docstrings())
    pytensor.config.mode = "TERMGRAPH"
    run, failed = 0, []
    for test in found:
        space = {**test.globs, "np": np, "numpy": np, "pytensor": pytensor, "pt": pt}
        try:
            for example in test.examples:
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(example.source, test.name, "single"), space)
                run += 1
        except Exception as error:
            failed.append(
                f"{test.name}: {type(error).__name__}: {str(error).splitlines()[0][:100] if str(error) else ''}"
            )
    print("| op | converted | called |\n|---|---|---|")
    for op in sorted({*converted, *called}, key=lambda op: (-converted[op] - called[op], op)):
        print(f"| {op} | {converted[op] or ''} | {called[op] or ''} |")
    total, others = sum(converted.values()), sum(called.values())
    print(
        f"{run} examples of {len(found)} docstrings; {total} nodes of {len(converted)} kinds converted, {others} called"
    )
    print("ended by an error:", *failed, sep="\n  ")


def main() -> int:
    if sys.argv[1:] == ["--worker"]:
        work()
        return 0
    import peers

    known = peers.manifest()["peers"].get("pymc")
    python = known["python"] if known else sys.executable
    return subprocess.run([python, __file__, "--worker"], env={**os.environ, "OMP_NUM_THREADS": "1"}).returncode


if __name__ == "__main__":
    raise SystemExit(main())
