"""What modes and profiles cost, on training steps of the MLP of models.py (784 -> 500 -> 10, batch 32, float32).

Compiling: FAST_COMPILE beside FAST_RUN, CPU seconds of function() and the compilers it started, nothing in the cache.
"first" is the first function of a process (rules are made ready too), "next" one that follows another network.
Running: FAST_COMPILE beside FAST_RUN, and `profile=True` beside nothing, on both linkers; the calls take turns.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

NETWORK, OTHER = [784, 500, 10], [784, 100, 100, 50, 10]
GOALS = {"compile first": 0.5, "compile next": 0.5, "run": 1.25, "profile c": 1.1, "profile py": 1.1}


def step(layers: list[int]) -> tuple[Callable, tuple]:
    """A function that compiles the training step, and the step's arguments."""
    from models import RATE, data, logits

    import termgraph as tg
    import termgraph.tensor as T

    xv, yv, start = data(layers)
    x, y, w = T.fmatrix("x"), T.lvector("y"), [tg.shared(v) for v in start]
    loss = -T.log_softmax(logits(T.tanh, x, w), axis=1)[T.arange(y.shape[0]), y].mean()
    updates = [(v, v - RATE * g) for v, g in zip(w, tg.grad(loss, w))]
    return lambda mode, **options: tg.function([x, y], loss, updates=updates, mode=mode, **options), (xv, yv)


def cpu() -> float:
    """CPU seconds of this process and of those it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def compile_times(mode: str) -> dict[str, float]:
    """What a fresh process reports of compiling in one mode, with a cache that holds only what every process uses."""
    import numpy as np

    import termgraph as tg
    import termgraph.tensor as T

    with tempfile.TemporaryDirectory() as folder:
        tg.config.cache.dir = folder
        v = T.dvector()
        tg.function([v], v + 1, mode=tg.Mode(optimizer="None"))(np.zeros(1))
        seconds = []
        for layers in (OTHER, NETWORK):
            compiled, _ = step(layers)
            before = cpu()
            compiled(mode)
            seconds.append(cpu() - before)
    return dict(zip(("compile first", "compile next"), seconds))


def in_turns(functions: dict[str, tuple[Callable, tuple]], calls: int) -> dict[str, float]:
    """Median seconds per call, of the smaller of wall and CPU time."""
    taken: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(calls):
        for name, (f, args) in functions.items():
            f(*args)
            wall, used = time.perf_counter(), time.process_time()
            f(*args)
            taken[name].append(min(time.perf_counter() - wall, time.process_time() - used))
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def run_times(calls: int) -> dict[str, tuple[float, float]]:
    """Pairs of seconds: the cheap variant and the plain one."""
    import termgraph as tg

    tg.config.blas.threads = tg.config.threads = 1
    variants: dict[str, dict[str, Any]] = {
        "FAST_RUN": {}, "FAST_COMPILE": {},
        "profile c": {"profile": True}, "py": {"linker": "py"}, "profile py": {"linker": "py", "profile": True},
    }  # fmt: skip
    made = {}
    for name, options in variants.items():
        compiled, args = step(NETWORK)
        mode = tg.get_mode(name if name == "FAST_COMPILE" else "FAST_RUN").clone(linker=options.pop("linker", "auto"))
        made[name] = (compiled(mode, **options), args)
    t = in_turns(made, calls)
    return {
        "run": (t["FAST_COMPILE"], t["FAST_RUN"]),
        "profile c": (t["profile c"], t["FAST_RUN"]),
        "profile py": (t["profile py"], t["py"]),
    }


def fresh(what: str) -> Any:
    """The JSON that this script prints when it is started anew for one measurement."""
    done = subprocess.run([sys.executable, __file__, "--only", what], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5, help="processes per mode for compile times")
    parser.add_argument("--calls", type=int, default=200, help="calls per function for run times")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only:
        print(json.dumps(run_times(given.calls) if given.only == "run" else compile_times(given.only)))
        return 0
    rounds = [{mode: fresh(mode) for mode in ("FAST_COMPILE", "FAST_RUN")} for _ in range(given.repeats)]
    rows: dict[str, tuple[float, float]] = {}
    for what in ("compile first", "compile next"):
        a, b = (statistics.median(r[mode][what] for r in rounds) for mode in ("FAST_COMPILE", "FAST_RUN"))
        rows[what] = (a, b)
    rows |= fresh("run")
    print(f"load {os.getloadavg()[0]:.1f}\n{'':15}{'ms':>10}{'plain ms':>10}{'ratio':>8}   goal")
    for what, (a, b) in rows.items():
        verdict = "reached" if a / b <= GOALS[what] else "NOT reached"
        print(f"{what:15}{a * 1e3:10.2f}{b * 1e3:10.2f}{a / b:8.2f}   at most {GOALS[what]}: {verdict}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
