"""Training on many workers: what coming together costs, and how much faster many are.

    python benchmarks/dist.py exchange             ms per step for 0.4, 4 and 40 MB, beside shared memory by hand
    python benchmarks/dist.py sleep [--most 8]     steps that sleep: any number of workers on any number of cores
    python benchmarks/dist.py lstm [--rounds 3]    the LSTM of the Theano paper's figure 5, one worker and two
    python benchmarks/dist.py start                from calling train to the first step
    python benchmarks/dist.py ray                  ms per step of two workers on Ray, which has to be installed
    python benchmarks/dist.py centre               ms per exchange with a centre on Ray, whole and in slices

Steps that sleep keep no core busy, so they show what the workers wait for each other. The figures of the paper (words
per second beside one GPU) are 1.6-1.7 for 2 and about 3.2 for 4 devices that come together after each batch, 2 and
3.9-4 after each hundred.
"""

import argparse
import json
import multiprocessing
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import termgraph as tg
import termgraph.tensor as T
from termgraph import dist
from termgraph.dist.centre import Centre
from termgraph.dist.exchange import Exchange
from termgraph.dist.layout import Layout
from termgraph.dist.memory import SPIN, Shared

SIZES = {"0.4 MB": 100_000, "4 MB": 1_000_000, "40 MB": 10_000_000}


# ---------------------------------------------------------------------- coming together
def by_hand(rank: int, path: str, n: int, steps: int, barrier: Any, out: Any) -> None:
    """What one would write: a file in memory, a barrier, each adds half."""
    shared = np.memmap(path, "float32", "r+", shape=(3, n))
    own, half = np.full(n, rank, "float32"), slice(rank * n // 2, (rank + 1) * n // 2)
    times = []
    for _ in range(steps):
        barrier.wait()
        begun = time.perf_counter()
        np.multiply(own, 0.5, out=shared[rank])
        barrier.wait()
        np.add(shared[0, half], shared[1, half], out=shared[2, half])
        barrier.wait()
        times.append(time.perf_counter() - begun)
    if rank == 0:
        out.send(times)


def by_us(rank: int, fd: int, n: int, steps: int, barrier: Any, out: Any) -> None:
    """The same with an Exchange."""
    layout = Layout([("float32", (n,))])
    exchange = Exchange(Shared(fd=fd), layout, 2, 2, rank)
    own, times = [np.full(n, rank, "float32")], []
    for step in range(steps):
        barrier.wait()
        begun = time.perf_counter()
        exchange.put(step, rank, own, 0.5, 1)
        exchange.total(step)
        times.append(time.perf_counter() - begun)
    if rank == 0:
        out.send(times)


def exchange_times(n: int, steps: int) -> dict[str, list[float]]:
    """Seconds of steps, both ways in turn."""
    found: dict[str, list[float]] = {"by hand": [], "termgraph": []}
    context = multiprocessing.get_context("fork")
    for _ in range(3):
        for name in found:
            ours, theirs = context.Pipe()
            memory = Shared(Exchange.size(Layout([("float32", (n,))]), 2, 2) if name == "termgraph" else 12 * n)
            place = memory.fd if name == "termgraph" else f"/proc/self/fd/{memory.fd}"
            target, barrier = (by_us if name == "termgraph" else by_hand), context.Barrier(2)
            args = (place, n, steps, barrier, theirs)
            workers = [context.Process(target=target, args=(rank, *args), daemon=True) for rank in (0, 1)]
            for worker in workers:
                worker.start()
            found[name] += ours.recv()[2:]
            for worker in workers:
                worker.join()
            memory.close()
    return found


def exchange_table(quick: bool) -> dict:
    """Milliseconds per step: median and best."""
    rows = {}
    for name, n in SIZES.items():
        n = n // 100 if quick else n
        found = exchange_times(n, 6 if quick else max(10, min(200, 20_000_000 // n)))
        rows[name] = {who: [1e3 * statistics.median(t), 1e3 * min(t)] for who, t in found.items()}
        ratio = rows[name]["termgraph"][0] / rows[name]["by hand"][0]
        times = "".join(f"  {who}: {m:.2f} ({b:.2f}) ms" for who, (m, b) in rows[name].items())
        print(f"{name:8}{times}   {ratio:.2f}", flush=True)
    return rows


# ---------------------------------------------------------------------- rates
class Together:
    """A build whose workers wait for each other, so that all join at once: those of several trainings, too."""

    def __init__(self, build: Callable, folder: str, count: int) -> None:
        self.build, self.folder, self.count = build, Path(folder), count

    def __call__(self, worker: Any) -> dist.Step:
        step = self.build(worker)
        for function in ("gradients", "apply", "whole"):
            getattr(step, function)
        written = self.folder / f"{os.getpid()}.new"
        written.write_text(str(time.process_time()))  # of the processor, to import, build and compile
        written.rename(self.folder / str(os.getpid()))
        while len(list(self.folder.glob("*[0-9]"))) < self.count:
            time.sleep(0.01)
        return step


def rate(build: Callable, data: Any, workers: int, **options: Any) -> tuple[float, float]:
    """Steps per second from when all have joined to the end, and seconds of processor per step, without the start."""
    with tempfile.TemporaryDirectory() as folder:
        return rate_together(Together(build, folder, workers), data, workers, **options)


def rate_together(build: Together, data: Any, workers: int, **options: Any) -> tuple[float, float]:
    """The same of a training that begins together with others."""
    seen: list[float] = []
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = lambda progress: seen.append(progress.seconds)  # noqa: E731
    result = dist.train(build, data, workers=workers, timeout=600, on_report=told, **options)
    starts = sum(float(path.read_text()) for path in build.folder.glob("[0-9]*")) * workers / build.count
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    joined = max(e.seconds for e in result.events if e.kind == "joined")
    cpu = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime - starts
    return result.steps / (seen[-1] - joined), cpu / result.steps


def rate_apart(build: Callable, data: Any, count: int) -> float:
    """Steps per second of so many trainings of one worker each, side by side: what the machine itself allows."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(count, context) as pool:
        together = Together(build, folder, count)
        found = [pool.submit(rate_together, together, data, 1) for _ in range(count)]
        return sum(f.result()[0] for f in found)


# What a batch of a sleeping worker was made of: when each part began, and the processor time used until then.
BEGUN, WOKEN, FILLED, ADDED, ASKED, LENT, HELD = range(0, 14, 2)
CPU = 1  # behind each


class Log:
    """What a worker writes down, one row per batch, in a file that outlives it."""

    def __init__(self, folder: str, number: int, rows: int = 20_000) -> None:
        self.rows = np.memmap(f"{folder}/{number}.log", "float64", "w+", shape=(rows, 14))
        self.at = -1

    def write(self, column: int) -> None:
        """It is now."""
        self.rows[self.at, column : column + 2] = time.monotonic(), time.process_time()


def sleeping(worker: Any, seconds: float, numbers: int, folder: str = "") -> dist.Step:
    """A step that takes so long and no processor, with so many parameters."""
    w, x = tg.shared(np.zeros(numbers, "float32"), name="w"), T.fvector("x")
    step = dist.Step([x], (w * x.mean()).mean(), [w], tg.optim.sgd(0.01))
    log = Log(folder, worker.number) if folder else None
    for name in ("gradients", "whole"):
        step.__dict__[name] = Slow(getattr(step, name), seconds, log)
    if log is not None:
        watch(log)
    return step


class Slow:
    """A function that sleeps first, except where shapes are found out."""

    def __init__(self, function: Callable, seconds: float, log: Log | None = None) -> None:
        self.function, self.seconds, self.log = function, seconds, log

    def __call__(self, *args: Any) -> Any:
        if self.log is not None:
            self.log.at += 1
            self.log.write(BEGUN)
        time.sleep(self.seconds)
        if self.log is not None:
            self.log.write(WOKEN)
        return self.function(*args)


def watch(log: Log) -> None:
    """Write down when this process has filled its slots and has the sum, and how long it has the centre."""
    total, change = Exchange.total, Centre.change

    def logged_total(self: Exchange, step: int) -> Any:
        log.write(FILLED)
        found = total(self, step)
        log.write(ADDED)
        return found

    @contextmanager
    def logged_change(self: Centre, who: int) -> Iterator[Any]:
        log.write(ASKED)
        with change(self, who) as copies:
            log.write(LENT)
            yield copies
            log.write(HELD)

    Exchange.total, Centre.change = logged_total, logged_change  # type: ignore[method-assign]


def logs(folder: str) -> list[np.ndarray]:
    """The rows of all workers, without those that found out shapes."""
    found = []
    for path in sorted(Path(folder).glob("*.log")):
        rows = np.fromfile(path).reshape(-1, 14)
        rows = rows[rows[:, BEGUN] > 0]
        found.append(rows[1:] if len(rows) and rows[0, FILLED] == 0 and rows[-1, FILLED] > 0 else rows)
    return [rows for rows in found if len(rows)]


def waiting(fd: int, begin: float, rounds: int, out: Any) -> None:
    """Wait with others, again and again; the answer: looks without a pause and their processor time, later ones."""
    exchange = Exchange(Shared(fd=fd), Layout([]), 2, 2, 0)
    counts, used = [0, 0], [0.0, 0.0]
    for k in range(rounds):
        time.sleep(max(0.0, begin + 0.04 * k - time.monotonic()))
        since, cpu = time.monotonic(), time.process_time()
        spent, seen = [0.0, 0.0], [0, 0]

        def over(since: float = since, cpu: float = cpu, spent: list = spent, seen: list = seen) -> bool:
            waited = time.monotonic() - since
            seen[waited > SPIN] += 1
            spent[waited > SPIN] = time.process_time() - cpu
            return int(exchange._filled.min()) > 0 or waited > 0.02

        exchange._wait(over, list)
        counts = [c + n for c, n in zip(counts, seen)]
        used = [used[0] + spent[0], used[1] + spent[1] - spent[0]]
    out.put((counts, used))


def looks(workers: int, rounds: int) -> dict[str, float]:
    """Processor time of one look, where so many wait: at first it gives way only, later it sleeps."""
    context, memory = multiprocessing.get_context("fork"), Shared(Exchange.size(Layout([]), 2, 2))
    out: Any = context.Queue()
    arguments = (memory.fd, time.monotonic() + 0.2, rounds, out)
    processes = [context.Process(target=waiting, args=arguments, daemon=True) for _ in range(workers)]
    for process in processes:
        process.start()
    counts, used = (np.sum(each, axis=0) for each in zip(*(out.get() for _ in processes)))
    for process in processes:
        process.join()
    memory.close()
    return dict(zip(("spin cpu", "look cpu"), (used / counts).tolist()))


def adding(workers: int, numbers: int) -> float:
    """Processor time of one of so many workers for its piece of a sum, where others have used the caches before."""
    layout = Layout([("float32", ()), ("float32", (numbers,))])
    exchange = Exchange(Shared(Exchange.size(layout, workers, workers)), layout, workers, workers, 0)
    exchange._added[1:], times, other = 1 << 40, [], np.zeros(8_000_000)
    for step in range(40):
        exchange._filled[:] = step + 1
        other += 1
        begun = time.process_time()
        exchange.total(step)
        times.append(time.process_time() - begun)
    return statistics.mean(times)


def sample(values: np.ndarray, most: int = 2000) -> list[float]:
    """So many of the values at most, as they are distributed: the extremes no more often than they were."""
    values = np.sort(values.reshape(-1))
    count = min(most, len(values))
    return values[((np.arange(count) + 0.5) * len(values) / max(count, 1)).astype(int)].tolist()


def parts(rows: list[np.ndarray]) -> dict[str, Any]:
    """What batches were made of: times of the clock without waiting for others, and means of the processor's time."""
    begun, ended = min(r[0, BEGUN] for r in rows), max(r[-1, WOKEN] for r in rows)
    found: dict[str, Any] = {"seconds": float(ended - begun), "batches": sum(map(len, rows))}
    found["starts"] = [float(r[0, BEGUN] - begun) for r in rows]
    every, after = np.concatenate([r[:-1] for r in rows]), np.concatenate([r[1:, : BEGUN + 2] for r in rows])
    found["slept"] = sample(every[:, WOKEN] - every[:, BEGUN])
    if every[:, FILLED].any():
        count = min(map(len, rows))
        filled, added = (np.array([r[:count, what] for r in rows]) for what in (FILLED, ADDED))
        free = filled.copy()  # since when a worker could begin its step: since all had the last one's sum
        free[:, 0], free[:, 1:] = [r[0, BEGUN] for r in rows], added.max(0)[:-1]
        took = filled - free
        found |= {
            "all": sample(took.mean(0)),  # what slows all workers in a step is not drawn anew for each of them
            "batch": sample(took / took.mean(0)),
            "sum": sample(added.max(0) - filled.max(0)),  # both are moments for which all have waited
            "fill cpu": float((every[:, FILLED + CPU] - every[:, BEGUN + CPU]).mean()),
            "add cpu": float((every[:, ADDED + CPU] - every[:, FILLED + CPU]).mean()),
            "update cpu": float((after[:, CPU] - every[:, ADDED + CPU]).mean()),
        }
        return found
    met = every[:, HELD] > 0
    last = every[met]
    batch = (after - every[:, :2])[~met] if (~met).any() else last[:, ASKED : ASKED + 2] - last[:, :2]
    found |= {
        "batch": sample(batch[:, 0]),
        "hold": sample(last[:, HELD] - last[:, LENT]),
        "update": sample(after[met, BEGUN] - last[:, HELD]),
        "fill cpu": float(batch[:, CPU].mean()),
        "hold cpu": float((last[:, HELD + CPU] - last[:, LENT + CPU]).mean()),
        "update cpu": float((after[met, CPU] - last[:, HELD + CPU]).mean()),
    }  # fmt: skip
    return found


def sleep_table(most: int, quick: bool, seconds: float, numbers: int, only: str) -> dict:
    """Speed-up over one worker, for each rule, and what batches were made of."""
    table: dict[str, Any] = {"seconds": seconds, "cores": len(os.sched_getaffinity(0)), "rules": {}}
    seconds = 0.001 if quick else seconds
    counts = [n for n in (1, 2, 4, 8, 16, 32) if n <= most]
    for name, rule, tau, rounds in [
        ("Synchronous", dist.Synchronous(), 1, 60), ("ASGD every batch", dist.ASGD(1), 1, 60),
        ("ASGD every 100", dist.ASGD(100), 100, 3), ("EASGD every 10", dist.EASGD(tau=10), 10, 10),
    ]:  # fmt: skip
        if only not in name:
            continue
        row: dict[int, Any] = {}
        for workers in counts:
            parallel = 1 if name == "Synchronous" else workers
            steps = tau * parallel * (4 if quick else rounds)
            data = dist.Arrays(np.zeros(32, "float32"), batch=32, epochs=steps, shuffle=False)
            with tempfile.TemporaryDirectory() as folder:
                build = partial(sleeping, seconds=seconds, numbers=numbers, folder=folder)
                rate(build, data, workers, rule=rule)
                row[workers] = parts(logs(folder)) | {"add alone": adding(workers, numbers)}
                row[workers] |= looks(workers, 2 if quick else 20)
        for found in row.values():
            found["rate"] = found["batches"] / found["seconds"]
            found["speed-up"] = found["rate"] / row[counts[0]]["rate"]
        table["rules"][name] = {"tau": tau, "workers": row}
        print(f"{name:18}" + "".join(f"  {n}: {v['speed-up']:.2f}" for n, v in row.items()), flush=True)
    return table


# ---------------------------------------------------------------------- the paper's LSTM
def lstm(worker: Any, units: int, words: int) -> dist.Step:
    """A language model: embedding, one LSTM, softmax; plain descent."""
    rng = np.random.default_rng(1)
    shapes = {"e": (words, units), "w": (units, 4 * units), "u": (units, 4 * units), "b": (4 * units,)}
    shapes["o"] = (units, words)
    weights = {k: tg.shared(rng.uniform(-0.1, 0.1, s).astype("float32"), name=k) for k, s in shapes.items()}
    x, y = T.lmatrix("x"), T.lmatrix("y")  # one row per example
    zeros = T.zeros((x.shape[0], units), dtype="float32")

    def step(x: Any, h: Any, c: Any, w: Any, u: Any, b: Any) -> tuple:
        z = x @ w + h @ u + b
        i, f, g, o = (z[:, k * units : (k + 1) * units] for k in range(4))
        c = T.sigmoid(f) * c + T.sigmoid(i) * T.tanh(g)
        return T.sigmoid(o) * T.tanh(c), c

    recurrent = [weights[k] for k in "wub"]
    (h, _), _ = tg.scan(step, sequences=weights["e"][x.T], outputs_info=[zeros, zeros], non_sequences=recurrent)
    scores = T.log_softmax(h.reshape((-1, units)) @ weights["o"], axis=1)
    chosen = scores[T.arange(y.shape[0] * y.shape[1]), y.T.flatten()]
    return dist.Step([x, y], -chosen.mean(), list(weights.values()), tg.optim.sgd(0.1))


def lstm_table(quick: bool, only: str, rounds: int) -> dict:
    """Words per second of one worker and of two, each with one thread and batches of 20 sentences of 20 words.

    Beside them two workers that have nothing to do with each other: more than these nobody can reach, and on a machine
    that does other things too it is less than twice one. Medians of rounds in which each has its turn.
    """
    units, words, length, steps = (8, 50, 4, 8) if quick else (200, 10_000, 20, 50)
    rng, rows = np.random.default_rng(0), {}
    for name, rule, together in [
        ("Synchronous", dist.Synchronous(), True), ("ASGD every batch", dist.ASGD(1), False),
        ("ASGD every 100", dist.ASGD(100), False), ("EASGD every 100", dist.EASGD(tau=100), False),
    ]:  # fmt: skip
        if only not in name:
            continue
        build, many = partial(lstm, units=units, words=words), steps * (4 if "100" in name and not quick else 1)

        def data(batch: int, count: int) -> dist.Arrays:
            text = rng.integers(0, words, (batch * 4, length + 1))
            return dist.Arrays(text[:, :-1], text[:, 1:], batch=batch, epochs=-(-count // 4))

        found: dict[str, list[float]] = {"one": [], "two": [], "two apart": [], "cpu of one": [], "cpu of two": []}
        for _ in range(rounds):
            for workers, key in ((1, "one"), (2, "two")):
                batch = 20 * (workers if together else 1)
                per, cpu = rate(build, data(batch, many * (1 if together else workers)), workers, rule=rule)
                found[key].append(per * batch * length)
                found[f"cpu of {key}"].append(cpu / (batch * length))
            found["two apart"].append(rate_apart(build, data(20, many), 2) * 20 * length)
        rates = {key: statistics.median(values) for key, values in found.items()}
        rows[name] = {"words/s": {key: rates[key] for key in ("one", "two", "two apart")}} | {
            "speed-up": rates["two"] / rates["one"], "apart": rates["two apart"] / rates["one"],
            "by processor time": 2 * rates["cpu of one"] / rates["cpu of two"],
        }  # fmt: skip
        print(name, {k: v if isinstance(v, dict) else round(v, 2) for k, v in rows[name].items()}, flush=True)
    return rows


def start_table(quick: bool) -> dict:
    """Seconds from calling train until two workers are ready, and what the imports of this script take of it."""
    data = dist.Arrays(np.zeros(32, "float32"), batch=32, epochs=2)
    build = partial(sleeping, seconds=0.0, numbers=10)
    times = []
    for _ in range(1 if quick else 5):
        result = dist.train(build, data, workers=2)
        times.append(max(e.seconds for e in result.events if e.kind == "ready"))
    print(f"2 workers ready after {statistics.median(times):.2f} s ({min(times):.2f})")
    return {"seconds": times}


def ray_table(quick: bool) -> dict:
    """Milliseconds per step of two workers, gradients and update included: processes of this machine, and on Ray."""
    rows = {}
    for name, n in SIZES.items():
        steps = 4 if quick else min(300, max(20, 100_000_000 // n))
        data = dist.Arrays(np.zeros(32, "float32"), batch=32, epochs=steps)
        build = partial(sleeping, seconds=0.0, numbers=n)
        rows[name] = {place: 1e3 / rate(build, data, 2, address=place)[0] for place in (None, "local")}
        print(f"{name:8}  one machine: {rows[name][None]:.2f} ms  Ray: {rows[name]['local']:.2f} ms", flush=True)
    return {name: {"one machine": row[None], "Ray": row["local"]} for name, row in rows.items()}


def copied(worker: dist.Worker, numbers: int) -> dist.Step:
    """A step that takes next to no time, whatever its parameters."""
    x, w = T.fvector("x"), tg.shared(np.zeros(numbers, "float32"), name="w")
    return dist.Step([x], x.mean() + w[0] * 0, [w], [(w, w)])


def centre_table(quick: bool) -> dict:
    """Milliseconds per exchange of one worker with the centre of ASGD(1) on Ray, held by 1, 2 and 3 processes."""
    rows: dict[str, dict[str, float]] = {}
    for name, n in SIZES.items():
        steps, found = 4 if quick else min(300, max(20, 100_000_000 // n)), {k: [] for k in (1, 2, 3)}
        data = dist.Arrays(np.zeros(32, "float32"), batch=32, epochs=steps)
        for _ in range(1 if quick else 3):
            for owners, times in found.items():
                options = {"rule": dist.ASGD(1), "address": "local", "owners": owners}
                times.append(1e3 / rate(partial(copied, numbers=n), data, 1, **options)[0])
        rows[name] = {f"owners {k}": statistics.median(v) for k, v in found.items()}
        print(f"{name:8}", "  ".join(f"{k}: {v:.2f} ms" for k, v in rows[name].items()), flush=True)
    return rows


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "what", choices=["exchange", "sleep", "lstm", "start", "ray", "centre"], nargs="?", default="exchange"
    )
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that everything runs")
    parser.add_argument("--most", type=int, default=8, help="workers that sleep")
    parser.add_argument("--seconds", type=float, default=0.05, help="how long a step sleeps")
    parser.add_argument("--numbers", type=int, default=100_000, help="parameters of a step that sleeps")
    parser.add_argument("--rule", default="", help="only rules whose name has this in it, for sleep and lstm")
    parser.add_argument("--rounds", type=int, default=1, help="how often each training of lstm is made")
    parser.add_argument("--json", help="write the figures to this file (- for standard output)")
    given = parser.parse_args()
    tables = {
        "exchange": lambda: exchange_table(given.quick),
        "lstm": lambda: lstm_table(given.quick, given.rule, given.rounds),
        "start": lambda: start_table(given.quick), "ray": lambda: ray_table(given.quick),
        "centre": lambda: centre_table(given.quick),
        "sleep": lambda: sleep_table(given.most, given.quick, given.seconds, given.numbers, given.rule),
    }  # fmt: skip
    rows = tables[given.what]()
    if given.json:
        with open(given.json, "w") if given.json != "-" else sys.stdout as file:
            json.dump(rows, file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
