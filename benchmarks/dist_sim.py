"""Training on thousands of workers, simulated: speed-up and useful work for each rule, network and rate of failures.

    python benchmarks/dist_sim.py                          a table for 2 to 4096 workers
    python benchmarks/dist_sim.py --plot speed.svg         and a picture of it
    python benchmarks/dist_sim.py --check sleep.json       beside what `dist.py sleep --json sleep.json` has measured

A worker computes for a normally distributed time (mean 1, the unit here), then meets the others. Synchronous workers
wait for the slowest, then for the sum over the network; a loss costs everybody the time until it is seen and the step
again. Asynchronous workers meet a centre for a time in which they hold its lock, or one slice of it after the other
where it is divided among several owners; a loss costs one worker its batches since it last met the centre, and the
time until it is replaced. Useful work is what became part of the result, beside what as many workers could have done.
"""

import argparse
import heapq
import json
import math
import random
import sys
from collections.abc import Callable
from typing import NamedTuple


class World(NamedTuple):
    """What is given; times in units of one batch's computation."""

    spread: float = 0.1  # standard deviation of a batch's time
    hold: float = 0.2  # how long an exchange holds the lock of the whole centre
    owners: int = 1  # slices of the centre
    sum_fixed: float = 0.0  # of a synchronous sum: a part that does not depend on the workers,
    ring: float = 0.0  # per worker (latency of a ring),
    tree: float = 0.0  # and per doubling of workers
    moved: float = 0.0  # time to move all parameters once
    failures: float = 0.0  # losses per worker and batch
    detect: float = 100.0  # until a loss is seen
    restart: float = 200.0  # until another worker is ready


def batch_time(rng: random.Random, world: World) -> float:
    """One batch's computation."""
    return max(0.05, rng.gauss(1.0, world.spread))


def asynchronous(workers: int, tau: int, world: World, batches: int = 0, seed: int = 0) -> float:
    """Batches that reach the centre per unit of time."""
    rng = random.Random(seed)
    each = batches or max(4 * tau, 40) * (1 if workers >= 64 else 10)
    slice_free = [0.0] * world.owners
    part = world.hold / world.owners
    done, begin, end = 0, each / 3, each * 1.0
    # (time, worker, stage): stage -1 computes, others are the slices still to be visited
    events = [(sum(batch_time(rng, world) for _ in range(tau)) * rng.random(), w, 0) for w in range(workers)]
    heapq.heapify(events)
    first = [rng.randrange(world.owners) for _ in range(workers)]
    while events:
        now, w, stage = heapq.heappop(events)
        if now > end:
            continue
        if stage < world.owners:
            k = (first[w] + stage) % world.owners
            begun = max(now, slice_free[k])
            slice_free[k] = begun + part
            heapq.heappush(events, (begun + part, w, stage + 1))
            continue
        done += tau * (now > begin)
        spent = sum(batch_time(rng, world) for _ in range(tau))
        if world.failures and rng.random() < 1 - math.exp(-world.failures * spent):
            spent = spent * rng.random() + world.detect + world.restart + spent  # lost, replaced, again
        heapq.heappush(events, (now + spent, w, 0))
    return done / (end - begin)


def synchronous(workers: int, world: World, batches: int = 60, seed: int = 0) -> float:
    """Batches of all workers per unit of time."""
    rng = random.Random(seed)
    time, done = 0.0, 0
    sums = world.sum_fixed + min(
        2 * (workers - 1) * world.ring + 2 * (workers - 1) / workers * world.moved,
        2 * math.ceil(math.log2(workers)) * world.tree + 2 * world.moved * (workers > 1),
    )
    present = workers
    back: list[float] = []  # when replacements are ready
    for _ in range(batches):
        while back and back[0] <= time:
            heapq.heappop(back)
            present += 1
        # a step is `workers` batches, divided among those present
        slowest = max(batch_time(rng, world) for _ in range(present)) * workers / present
        if world.failures and rng.random() < 1 - math.exp(-world.failures * present * slowest) and present > 1:
            time += slowest * rng.random() + world.detect
            present -= 1
            heapq.heappush(back, time + world.restart)
            continue
        time += slowest + sums
        done += workers
    return done / time if time else 0.0


# 40 MB of gradients, 50 ms of computation: a network of 10 Gbit moves them in 32 ms, one of 100 Gbit in 3.2 ms
SLOW, FAST = {"moved": 0.64, "ring": 0.0004, "tree": 0.001}, {"moved": 0.064, "ring": 0.0004, "tree": 0.001}
RARE = {"failures": 50e-3 / 3600 / 24 * 10}  # ten losses a day and worker
COLOURS = ["#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#17becf", "#bcbd22"]
COUNTS = (2, 8, 32, 64, 256, 1024, 4096)
ROWS: dict[str, Callable[[int], float]] = {
    "Synchronous, 10 Gbit": lambda n: synchronous(n, World(**SLOW)),
    "Synchronous, 100 Gbit": lambda n: synchronous(n, World(**FAST)),
    "Synchronous, 100 Gbit, 10 losses a day each": lambda n: synchronous(n, World(**FAST, **RARE), 100_000 // n + 300),
    "ASGD every batch": lambda n: asynchronous(n, 1, World()),
    "ASGD every batch, centre in 64": lambda n: asynchronous(n, 1, World(owners=64)),
    "ASGD every 10": lambda n: asynchronous(n, 10, World()),
    "ASGD every 100": lambda n: asynchronous(n, 100, World()),
    "ASGD every 100, 10 losses a day each": lambda n: asynchronous(n, 100, World(**RARE)),
    "EASGD every 100, centre in 64": lambda n: asynchronous(n, 100, World(owners=64)),
}  # fmt: skip


def table(counts: tuple[int, ...]) -> dict[str, dict[int, float]]:
    """Speed-up over one worker that meets nobody."""
    found = {}
    print(f"{'speed-up (useful work)':45}" + "".join(f"{n:>15}" for n in counts))
    for name, speed in ROWS.items():
        found[name] = {n: speed(n) for n in counts}
        print(f"{name:45}" + "".join(f"{f'{v:.1f} ({v / n:.2f})':>15}" for n, v in found[name].items()), flush=True)
    return found


def check(path: str, seconds: float) -> int:
    """Beside measured runs: `hold` and `sum` are found from two workers, everything else is predicted."""
    with open(path) as file:
        measured = {k: {int(n): v for n, v in row.items()} for k, row in json.load(file).items()}
    print(f"{'measured / predicted':20}" + "".join(f"{n:>15}" for n in measured["Synchronous"]))
    worst = 0.0
    for name, row in measured.items():
        tau = int(name.split()[-1]) if name.split()[-1].isdecimal() else 1
        wide = World(spread=0.002, hold=0.001 / seconds)
        if name == "Synchronous":
            speed = lambda n: synchronous(n, World(spread=0.002, sum_fixed=0.001 / seconds))  # noqa: E731
        else:
            speed = lambda n, tau=tau, wide=wide: asynchronous(n, tau, wide)  # noqa: E731
        alone = speed(1)
        pairs = {n: (v, speed(n) / alone) for n, v in row.items()}
        worst = max(worst, *(abs(p / m - 1) for m, p in pairs.values()))
        print(f"{name:20}" + "".join(f"{f'{m:.2f} / {p:.2f}':>15}" for m, p in pairs.values()))
    print(f"furthest apart: {worst:.1%}")
    return int(worst > 0.1)


def plot(found: dict[str, dict[int, float]], path: str) -> None:
    """Speed-up and useful work against workers as an SVG file; workers and speed-up by powers of two."""
    powers = [(str(m), math.log2(m) / 12) for m in (1, 8, 64, 512, 4096)]
    panels = [
        ("speed-up", lambda v, n: math.log2(max(v, 1)) / 12, powers),
        ("useful work", lambda v, n: v / n, [(f"{m:g}", m) for m in (0.0, 0.25, 0.5, 0.75, 1.0)]),
    ]  # fmt: skip
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" width="960" height="570" font-family="sans-serif" font-size="11">'
    ]
    for left, (title, height_of, marks) in zip((40, 520), panels):
        across = {n: left + math.log2(n) / 12 * 400 for n in COUNTS}
        parts.append(f'<text x="{left}" y="20" font-size="14">{title}</text>')
        parts.append(f'<path d="M{left} 30V360H{left + 400}" fill="none" stroke="#888"/>')
        parts += [f'<text x="{x:.0f}" y="375" text-anchor="middle">{n}</text>' for n, x in across.items()]
        parts += [f'<text x="{left - 4}" y="{364 - h * 320:.0f}" text-anchor="end">{m}</text>' for m, h in marks]
        for colour, row in zip(COLOURS, found.values()):
            points = " ".join(f"{across[n]:.1f},{360 - height_of(v, n) * 320:.1f}" for n, v in row.items())
            parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
    for k, (colour, name) in enumerate(zip(COLOURS, found)):
        parts.append(f'<text x="60" y="{405 + 17 * k}" fill="{colour}">{name}</text>')
    with open(path, "w") as file:
        file.write("\n".join([*parts, "</svg>\n"]))


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few workers: shows that everything runs")
    parser.add_argument("--plot", help="write a picture to this SVG file")
    parser.add_argument("--check", help="the JSON file of `dist.py sleep`")
    parser.add_argument("--seconds", type=float, default=0.05, help="how long those steps slept")
    given = parser.parse_args()
    if given.check:
        return check(given.check, given.seconds)
    found = table(COUNTS[:2] if given.quick else COUNTS)
    if given.plot:
        plot(found, given.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
