"""Building graphs: time per operation, a million terms deep, memory, import time, the same under every hash seed.

Prints one line per figure with its goal; exit code 1 if a goal is missed. NumPy is timed in the same process,
PyTensor in its own (if benchmarks/peers.py has installed it).
"""

import argparse
import gc
import json
import os
import pickle
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from harness import Gone, Process, Suite

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
clock, cpu_clock = time.perf_counter, time.process_time

suite = Suite("build", lambda quick: [], doc=__doc__)


@suite.side("pytensor")
def pytensor_side(who: str, n: int) -> dict:
    """Seconds per operation of the same chain in PyTensor."""
    import pytensor.tensor as pt

    x, y = pt.dscalar("x"), pt.dscalar("y")
    return {"seconds": min(chain_seconds(x, y, n) for _ in range(3))}


def chain(x: Any, y: Any, n: int) -> Any:
    """n binary operations, every one a new expression."""
    z = x
    for _ in range(n // 2):
        z = z * y + x
    return z


def chain_seconds(x: Any, y: Any, n: int) -> float:
    """CPU seconds per operation of a chain, freed after the clock stops."""
    start = cpu_clock()
    kept = chain(x, y, n)
    seconds = (cpu_clock() - start) / n
    del kept
    return seconds


class Report:
    """Prints figures as they come and remembers whether a goal was missed."""

    def __init__(self) -> None:
        self.figures: dict[str, Any] = {}
        self.missed: list[str] = []

    def add(self, name: str, value: Any, unit: str = "", goal: float | None = None) -> None:
        self.figures[name] = value
        shown = f"{value:.3g}" if isinstance(value, float) else str(value)
        text = f"{name:58} {shown:>10} {unit}"
        if goal is not None:
            reached = value <= goal
            text += f"   goal at most {goal:g}: {'reached' if reached else 'MISSED'}"
            self.missed += [] if reached else [name]
        print(text, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes: checks that everything runs")
    parser.add_argument("--json", metavar="FILE", help="also write the figures there")
    asked = parser.parse_args()
    print(f"# load {os.getloadavg()[0]:.1f}; times are CPU times of one core")
    found = Report()
    deep = 10_000 if asked.quick else 1_000_000
    per_operation(found, 2_000 if asked.quick else 100_000)
    peer_per_operation(found, 2_000 if asked.quick else 20_000)
    for kind in ("terms", "variables"):  # fresh processes: memory once used is not given back
        found_there = in_fresh_process("--deep", kind, str(deep))
        for name, value, unit, goal in found_there:
            found.add(name, value, unit, goal)
    imports(found)
    hash_seeds(found)
    if asked.json:
        Path(asked.json).write_text(json.dumps(found.figures, indent=1) + "\n")
    return int(bool(found.missed))


def per_operation(found: Report, n: int) -> None:
    """A chain of user-level operations, and NumPy's a + b on 0-d arrays in turns with it."""
    import numpy as np

    import termgraph.tensor as T

    x, y = T.dscalar("x"), T.dscalar("y")
    a, b = np.array(1.0), np.array(2.0)
    ours, numpys = [], []
    for _ in range(7):
        ours.append(chain_seconds(x, y, n))
        start = cpu_clock()
        for _ in range(n):
            a + b
        numpys.append((cpu_clock() - start) / n)
    found.add(f"chain of {n} operations, per operation (median)", statistics.median(ours) * 1e6, "us", 4.0)
    found.add(f"chain of {n} operations, per operation (best)", min(ours) * 1e6, "us")
    found.add("NumPy a + b on 0-d arrays, same process (median)", statistics.median(numpys) * 1e6, "us")


def peer_per_operation(found: Report, n: int) -> None:
    from contenders import interpreter

    if interpreter("pytensor") is None:
        print("pytensor: not installed (python benchmarks/peers.py pytensor)")
        return
    process = Process("pytensor", suite, threads=1)
    try:
        process.ask("load", 120, script=str(Path(__file__).resolve()))
        reply = process.ask("once", 600, contender="pytensor", case={"n": n})
        if "error" in reply:
            raise Gone(reply["error"])
        found.add(f"PyTensor, chain of {n} operations, per operation (best)", reply["seconds"] * 1e6, "us")
    except Gone as gone:
        print(f"pytensor: {gone}")
    finally:
        process.kill()


# ---------------------------------------------------------------------- a million deep
def in_fresh_process(*words: str) -> list:
    done = subprocess.run([sys.executable, __file__, *words], capture_output=True, text=True)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        raise SystemExit(f"build.py {' '.join(words)} ended with code {done.returncode}")
    return json.loads(done.stdout)


def deep_chain(kind: str, n: int) -> list:
    """Figures of a chain n deep: interned terms alone, or what a user builds (variables on terms)."""
    import termgraph.tensor as T
    from termgraph.terms import traverse
    from termgraph.terms.ops.elementwise import add, mul
    from termgraph.terms.term import mk2

    x, y, z = T.dscalar("x"), T.dscalar("y"), T.dscalar("z")
    chain(x, y, 100)
    label = f"{n} {kind} deep"
    figures: list = []

    def timed(what: str, action: Any) -> Any:
        start = cpu_clock()
        made = action()
        figures.append((f"{label}: {what}", cpu_clock() - start, "s", None))
        return made

    def terms_only() -> Any:
        t, by, plus = x.term, y.term, x.term
        for _ in range(n // 2):
            t = mk2(add, mk2(mul, t, by), plus)
        return t

    gc.collect()
    before = resident()
    held = [timed("build", terms_only if kind == "terms" else lambda: chain(x, y, n))]
    per_node = (resident() - before) / n
    if kind == "terms":
        figures.append((f"{label}: memory per interior term", per_node, "bytes", 700.0))
        assert timed("count nodes", lambda: traverse.count_nodes(held)) == n
        figures.append((f"{label}: structural hash (made while building)", f"{held[0]._h & 0xFFFFFFFF:08x}", "", None))
        timed("substitute an input", lambda: traverse.substitute(held, {y.term: z.term}))
        raw = timed("pickle", lambda: pickle.dumps(held[0]))
        figures.append((f"{label}: pickle size per term", len(raw) / n, "bytes", None))
        same = timed("unpickle", lambda: pickle.loads(raw)) is held[0]
        figures.append((f"{label}: unpickled is the same object", same, "", None))
        assert same, "a graph unpickled where it was made must be the same term"
    else:
        figures.append((f"{label}: memory per operation with its variable", per_node, "bytes", None))
    timed("free", held.clear)
    return figures


def resident() -> int:
    """Bytes of memory this process holds now."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("no VmRSS in /proc/self/status")


# ---------------------------------------------------------------------- fresh processes
def imports(found: Report) -> None:
    """What `import termgraph` adds to starting Python, and that it prints nothing."""

    def seconds(code: str) -> float:
        times = []
        for _ in range(7):
            start = clock()
            child = subprocess.Popen(
                [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT
            )
            assert child.stdout is not None
            printed = child.stdout.read()
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            times.append(min(clock() - start, usage.ru_utime + usage.ru_stime))
            assert not child.returncode and not printed, f"{code!r} ended with {child.returncode}, printed {printed!r}"
        return min(times)

    empty = seconds("pass")
    found.add("import termgraph (best of 7, Python's start taken off)", seconds("import termgraph") - empty, "s", 0.4)
    found.add("import numpy (the same)", seconds("import numpy") - empty, "s")


SEEDS = """
import termgraph.tensor as T
from termgraph.printing import debugprint
x, y = T.dmatrix("x"), T.dvector("y")
z = (T.exp(x + y) * 2 - x / y + T.tanh(x * y)) * (x < y)
print(debugprint(z, file="str", id_type="auto", print_type=True), z.term._h)
"""


def hash_seeds(found: Report) -> None:
    """The printed graph and the structural hash under three hash seeds."""
    texts = set()
    for seed in ("0", "1", "12345"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-c", SEEDS], capture_output=True, text=True, cwd=ROOT, env=environment)
        if done.returncode:
            raise SystemExit(done.stderr)
        texts.add(done.stdout)
    found.add("different prints and hashes under three hash seeds", len(texts), "", 1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--deep"]:
        print(json.dumps(deep_chain(sys.argv[2], int(sys.argv[3]))))
        raise SystemExit(0)
    raise SystemExit(main())
