"""Compiled loops with one thread and with two: do they scale, or stay out of the way where that does not pay.

The expressions of elementwise.py, with `--rows` those of ops.py whose case matches, or with `--steps` steps of training
of MLPs 784-N-N-10. Calls with one and with two
threads alternate in one process, NumPy's of elementwise.py between them, so that all meet the same load. Times are
medians of the wall clock in us, with the best beside them: a busy machine has no core to spare for a second thread most
of the time. Run it with two cores or more.
"""

import argparse
import os
import re
import statistics
import time
from collections.abc import Callable

import numpy as np
from elementwise import STREAMS, data, write

SIZES = {"1e3": 10**3, "1e5": 10**5, "1e7": 10**7}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the smallest size only")
    parser.add_argument("--repeats", type=int, default=11, help="rounds, each of calls that take 20 ms or one call")
    parser.add_argument("--rows", metavar="REGEX", help="the rows of ops.py whose case (`dot | large float64`) matches")
    parser.add_argument("--steps", action="store_true", help="steps of training of MLPs")
    asked = parser.parse_args()
    print(f"# {len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}; us per call, median (best)")
    if asked.rows or asked.steps:
        steps(asked.repeats) if asked.steps else rows_of_ops(asked.rows, asked.repeats)
        return 0
    print(f"{'case':<20} {'1 thread':>18} {'2 threads':>18} {'numpy':>18}   1/2 median   1/2 best")
    for expr in STREAMS:
        for dtype in ("float64", "float32"):
            for label in list(SIZES)[: 1 if asked.quick else None]:
                show(f"{expr} {dtype} {label}", *measured(expr, dtype, SIZES[label], asked.repeats))
    return 0


def rows_of_ops(pattern: str, repeats: int) -> None:
    """The rows of ops.py, one thread beside two."""
    from ops import cases, side

    chosen = [case for case in cases(False) if re.search(pattern, case.name) and not case.params["grad"]]
    if not chosen:
        raise SystemExit(f"no case of ops.py matches {pattern!r}")
    print(f"{'case':<44} {'1 thread':>20} {'2 threads':>20}   1/2 median   1/2 best")
    ratios = []
    for case in chosen:
        names = side("termgraph", **case.params).names
        ratios.append((beside(case.name, names["f"], names["v"], repeats), case.name))
    least = ", ".join(f"{name} {ratio:.2f}" for ratio, name in sorted(ratios)[:5])
    print(f"# {len(ratios)} rows, median {statistics.median(r for r, _ in ratios):.2f}; least: {least}")


def steps(repeats: int) -> None:
    """Steps of training of MLPs, of batches and of widths of the hidden layers."""
    for dtype in ("float32", "float64"):
        for batch, width in ((64, 500), (64, 2000), (512, 2000)):
            f, v = step(dtype, batch, width)
            beside(f"MLP 784-{width}-{width}-10, batch {batch}, {dtype}", f, v, repeats)


def step(dtype: str, batch: int, width: int) -> tuple[Callable, list[np.ndarray]]:
    """A step of gradient descent, and a batch of numbers for it."""
    import termgraph as tg
    import termgraph.tensor as T

    rng, sizes = np.random.default_rng(0), (784, width, width, 10)
    layers = list(zip(sizes, sizes[1:]))
    weights = [tg.shared((rng.standard_normal(s) / s[0] ** 0.5).astype(dtype)) for s in layers]
    biases = [tg.shared(np.zeros(n, dtype)) for _, n in layers]
    x, y = T.tensor("x", dtype=dtype, shape=(None, 784)), T.lvector("y")
    h = x
    for w, b in zip(weights[:-1], biases):
        h = T.nnet.relu(T.dot(h, w) + b)
    out = T.nnet.log_softmax(T.dot(h, weights[-1]) + biases[-1])
    cost, params = -out[T.arange(y.shape[0]), y].mean(), [*weights, *biases]
    updates = [(p, p - np.asarray(1e-4, dtype) * g) for p, g in zip(params, tg.grad(cost, params))]
    given = [rng.standard_normal((batch, 784)).astype(dtype), rng.integers(0, 10, batch)]
    return tg.function([x, y], cost, updates=updates), given


def beside(name: str, f: Callable, v: list, repeats: int) -> float:
    """One row: a function with one thread and with two. How many times faster two are, by medians."""
    one, two = alternating([with_threads(1, f), with_threads(2, f)], v, repeats)
    ratio = statistics.median(one) / statistics.median(two)
    columns = " ".join(f"{statistics.median(t):>10.1f} {f'({min(t):.1f})':>10}" for t in (one, two))
    print(f"{name:<44} {columns}   {ratio:>10.2f} {min(one) / min(two):>10.2f}", flush=True)
    return ratio


def show(name: str, one: list[float], two: list[float], plain: list[float]) -> None:
    """One row: the times of one thread, two threads and NumPy, and how many times faster two threads are."""
    columns = " ".join(f"{statistics.median(t):>9.1f} {f'({min(t):.1f})':>8}" for t in (one, two, plain))
    faster = statistics.median(one) / statistics.median(two), min(one) / min(two)
    print(f"{name:<20} {columns}   {faster[0]:>10.2f} {faster[1]:>10.2f}", flush=True)


def measured(expr: str, dtype: str, n: int, repeats: int) -> list[list[float]]:
    """Times of one call in us: with one thread, with two, and of NumPy."""
    import termgraph as tg
    import termgraph.tensor as T

    v = data(expr, dtype, n)
    symbols = [T.tensor(f"v{i}", dtype=dtype, shape=(None,)) for i in range(len(v))]
    f = tg.function(symbols, write(T, expr, *symbols))
    plain = (lambda: None, lambda *v: write(np, expr, *v))
    return alternating([with_threads(1, f), with_threads(2, f), plain], v, repeats)


def alternating(calls: list[tuple[Callable, Callable]], v: list, repeats: int) -> list[list[float]]:
    """Times of one call of each in us, in rounds; each is called once before, so that all is ready."""
    found: list[list[float]] = [[] for _ in calls]
    for begin, call in calls:
        begin()
        call(*v)
    for _ in range(repeats):
        for times, (begin, call) in zip(found, calls):
            begin()
            times.append(timed(call, v))
    return found


def with_threads(count: int, f: Callable) -> tuple[Callable, Callable]:
    """What sets the team's size, and the function."""
    import termgraph as tg
    from termgraph.backends.c.run import glue

    def begin() -> None:
        tg.config.threads = count
        glue.use_threads()

    return begin, f


def timed(call: Callable, v: list[np.ndarray]) -> float:
    """Microseconds of a call, of as many as take about 20 ms; the first, which wakes threads, counts if it is long."""
    begin = time.perf_counter()
    call(*v)
    once = time.perf_counter() - begin
    count = min(2000, int(0.02 / once))
    begin = time.perf_counter()
    for _ in range(count):
        call(*v)
    return ((time.perf_counter() - begin) / count if count else once) * 1e6


if __name__ == "__main__":
    raise SystemExit(main())
