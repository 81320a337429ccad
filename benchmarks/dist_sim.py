"""Training on thousands of workers, simulated: speed-up and useful work for each rule, network and rate of failures.

    python benchmarks/dist_sim.py                          a table for 2 to 4096 workers
    python benchmarks/dist_sim.py --plot speed.svg         and a picture of it
    python benchmarks/dist_sim.py --check sleep.json       beside what `dist.py sleep --json sleep.json` has measured

A worker computes for a normally distributed time (mean 1, the unit here), or for times that were measured, then meets
the others. Synchronous workers wait for the slowest, then for the sum over the network; a loss costs everybody the time
until it is seen and the step again. Asynchronous workers meet a centre for a time in which they hold its lock, or one
slice of it after the other where it is divided among several owners; a loss costs one worker its batches since it last
met the centre, and the time until it is replaced. Useful work is what became part of the result, beside what as many
workers could have done.

Where it is checked, two predictions stand beside a real run. One is made from what a single worker did: its sleep, and
its processor time, for which all workers take turns on the cores of the machine; who waits looks up at intervals that
grow, and each look takes processor time, too. The other is made from the parts of batches in the run itself, as other
programs have slowed them down: only who waits for whom is predicted.
"""

import argparse
import heapq
import json
import math
import random
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

# seconds of waiting as in termgraph.dist.memory: without a pause, then the first pause, which grows to the longest
SPIN, FIRST, GROWTH, LONGEST = 0.0005, 0.00005, 1.2, 0.002


class World(NamedTuple):
    """What is given; times in units of one batch's computation, or in seconds where they were measured."""

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
    # one machine
    cores: int = 0  # that all workers share; 0: each has its own
    batch: Sequence[float] = ()  # measured times of a batch beside the following,
    every: Sequence[float] = ()  # of a step, beside which `batch` are the parts of each worker,
    sums: Sequence[float] = ()  # of a sum once all are there,
    updates: Sequence[float] = ()  # of what comes after it,
    holds: Sequence[float] = ()  # and of an exchange with the centre
    fill: float = 0.0  # processor time of a batch before it comes to the others,
    add: float = 0.0  # in the sum,
    update: float = 0.0  # and after it
    poll: float = 0.0  # the longest time between two looks of one who waits
    spin: float = 0.0  # processor time of such a look, as long as there is no pause between them,
    look: float = 0.0  # and later
    starts: Sequence[float] = ()  # when each worker begins


def batch_time(rng: random.Random, world: World) -> float:
    """One batch's computation."""
    return rng.choice(world.batch) if world.batch else max(0.05, rng.gauss(1.0, world.spread))


def seen_after(rng: random.Random, world: World, waited: float) -> float:
    """How long after it happened one sees what one has waited for: intervals grow by a fifth of the time waited."""
    return rng.random() * min(world.poll, waited / 6)


class Cores:
    """The cores of one machine: who comes first is served first."""

    def __init__(self, count: int) -> None:
        self.free = [0.0] * count

    def after(self, now: float, work: float) -> float:
        """When work that is there now is done. To be asked in the order of time."""
        if not self.free or not work:
            return now + work
        end = max(now, self.free[0]) + work
        heapq.heapreplace(self.free, end)
        return end


class Lock:
    """One slice of the centre: held by one worker, wanted by others."""

    def __init__(self) -> None:
        self.held = False
        self.waiting: list[tuple[float, int, int]] = []  # since when, who, with how many slices behind it

    def next(self, rng: random.Random, world: World, now: float) -> tuple[float, int, int]:
        """Who has it next, and when: the first to look."""
        looks = [(now + seen_after(rng, world, now - since), k) for k, (since, _, _) in enumerate(self.waiting)]
        when, k = min(looks) if world.poll else (now, 0)
        _, w, stage = self.waiting.pop(k)
        return when, w, stage


BATCH, ASK, LENT, BACK = range(4)


def asynchronous(workers: int, tau: int, world: World, total: int = 0, seed: int = 0) -> float:
    """Batches that reach the centre per unit of time: of `total` batches until the last one, or of many, later on."""
    rng, cores, locks = random.Random(seed), Cores(world.cores), [Lock() for _ in range(world.owners)]
    each = max(4 * tau, 40) * (1 if workers >= 64 else 10)
    begin, end, part = each / 3, each * 1.0, world.hold / world.owners
    first = [rng.randrange(world.owners) for _ in range(workers)]
    events: list[tuple[float, int, int, int]] = []  # time, what happens, to whom, how many batches or slices
    done = given = 0
    last = 0.0

    def go_on(now: float, w: int) -> None:
        """The next batches of a worker: one by one where cores are shared."""
        nonlocal given
        size = min(tau, total - given) if total else tau
        given += size
        if size and world.batch:
            heapq.heappush(events, (now + batch_time(rng, world), BATCH, w, size))
        elif size:
            spent = sum(batch_time(rng, world) for _ in range(size))
            if world.failures and rng.random() < 1 - math.exp(-world.failures * spent):
                spent = spent * rng.random() + world.detect + world.restart + spent  # lost, replaced, again
            heapq.heappush(events, (now + spent, ASK, w, 0))

    for w in range(workers):
        go_on(world.starts[w] if world.starts else -rng.random() * tau * (not total), w)
    while events:
        now, what, w, k = heapq.heappop(events)
        if not total and now > end:
            continue
        if what == BATCH:
            last = now
            after = cores.after(now, world.fill)
            heapq.heappush(events, (after + batch_time(rng, world), BATCH, w, k - 1) if k > 1 else (after, ASK, w, 0))
        elif what == ASK:
            lock = locks[(first[w] + k) % world.owners]
            if lock.held:
                lock.waiting.append((now, w, k))
            else:
                lock.held = True
                heapq.heappush(events, (now, LENT, w, k))
        elif what == LENT:
            held = rng.choice(world.holds) if world.holds else part
            heapq.heappush(events, (cores.after(now, held), BACK, w, k))
        else:
            lock = locks[(first[w] + k) % world.owners]
            lock.held = bool(lock.waiting)
            if lock.held:
                when, other, stage = lock.next(rng, world, now)
                heapq.heappush(events, (when, LENT, other, stage))
            if k + 1 < world.owners:
                heapq.heappush(events, (now, ASK, w, k + 1))
            else:
                done += tau * (now > begin)
                go_on(cores.after(now, rng.choice(world.updates) if world.updates else world.update), w)
    return total / last if total else done / (end - begin)


def synchronous(workers: int, world: World, batches: int = 60, seed: int = 0) -> float:
    """Batches of all workers per unit of time."""
    if world.cores:
        return taking_turns(workers, world, batches, seed)
    rng, time, done = random.Random(seed), 0.0, 0
    sums = world.sum_fixed + min(
        2 * (workers - 1) * world.ring + 2 * (workers - 1) / workers * world.moved,
        2 * math.ceil(math.log2(workers)) * world.tree + 2 * world.moved * (workers > 1),
    )
    free = [world.starts[w] if world.starts else 0.0 for w in range(workers)]  # when each begins its next batch
    back: list[float] = []  # when replacements are ready
    for _ in range(batches):
        while back and back[0] <= time:
            heapq.heappop(back)
            free.append(time)
        # a step is `workers` batches, divided among those present
        share = workers / len(free)
        common = rng.choice(world.every) if world.every else 1.0
        ready = [t + common * batch_time(rng, world) * share for t in free]
        slowest = max(ready) - time
        lost = world.failures and rng.random() < 1 - math.exp(-world.failures * len(free) * slowest)
        if lost and len(free) > 1:
            time += slowest * rng.random() + world.detect
            free = [time] * (len(free) - 1)
            heapq.heappush(back, time + world.restart)
            continue
        all_added = max(ready) + (rng.choice(world.sums) if world.sums else sums)
        free = [all_added + (rng.choice(world.updates) if world.updates else world.update)] * len(ready)
        time = max(ready) if world.batch else all_added  # what is measured ends with the last batch
        done += workers
    return done / time if time else 0.0


WOKEN, FILLED, LOOK, SEEN, ADDED, UPDATED = range(6)


def taking_turns(workers: int, world: World, batches: int, seed: int) -> float:
    """The same for workers that sleep on one machine: every moment of processor time is waited for, also that of looks.

    Who waits looks as `termgraph.dist.memory.wait_until` does: for a moment again and again, then after longer pauses.
    """
    rng, cores = random.Random(seed), Cores(world.cores)
    filled, added = [0] * (batches + 1), [0] * (batches + 1)  # by step
    step, phase = [0] * workers, [FILLED] * workers  # which counter each waits for
    since, pause = [0.0] * workers, [0.0] * workers
    last = 0.0
    events = [(world.starts[w] + batch_time(rng, world), WOKEN, w) for w in range(workers)]
    heapq.heapify(events)

    def wait(now: float, w: int, what: int) -> None:
        phase[w], since[w], pause[w] = what, now, FIRST
        look(now, w)

    def look(now: float, w: int) -> None:
        spins = now - since[w] < SPIN
        heapq.heappush(events, (cores.after(now, world.spin if spins else world.look), SEEN, w))

    while events:
        now, what, w = heapq.heappop(events)
        if what == WOKEN:
            last = now
            heapq.heappush(events, (cores.after(now, world.fill), FILLED, w))
        elif what in (FILLED, ADDED):
            (filled if what == FILLED else added)[step[w]] += 1
            wait(now, w, what)
        elif what == LOOK:
            look(now, w)
        elif what == UPDATED:
            step[w] += 1
            if step[w] < batches:
                heapq.heappush(events, (now + batch_time(rng, world), WOKEN, w))
        elif (filled if phase[w] == FILLED else added)[step[w]] == workers:
            work, then = (world.add, ADDED) if phase[w] == FILLED else (world.update, UPDATED)
            heapq.heappush(events, (cores.after(now, work), then, w))
        elif now - since[w] < SPIN:
            look(now, w)
        else:
            heapq.heappush(events, (now + pause[w], LOOK, w))
            pause[w] = min(pause[w] * GROWTH, world.poll)
    return workers * batches / last


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


def check(paths: Sequence[str]) -> int:
    """Beside measured runs: what the workers did is given, how long they wait for each other is predicted."""
    worst = [0.0, 0.0]
    print(f"{'batches per second':32}{'workers':>9}{'measured':>10}{'from its parts':>16}{'from one worker':>17}")
    for path in paths:
        with open(path) as file:
            measured = json.load(file)
        for name, row in measured["rules"].items():
            alone: dict[str, Any] = next(iter(row["workers"].values()))
            for n, found in row["workers"].items():
                worlds = from_parts(found), from_one(alone, found, measured["cores"])
                rates = [rate_of(name, row["tau"], int(n), world, found["batches"]) for world in worlds]
                worst = [max(w, abs(r / found["rate"] - 1)) for w, r in zip(worst, rates)]
                apart = [f"{r:.1f} ({r / found['rate'] - 1:+.1%})" for r in rates]
                print(f"{name:32}{n:>9}{found['rate']:>10.1f}{apart[0]:>16}{apart[1]:>17}")
    print(f"furthest apart: from its parts {worst[0]:.1%}, from one worker {worst[1]:.1%}")
    return int(worst[0] > 0.1)  # the other holds on a machine that does nothing else


def from_one(alone: dict[str, Any], found: dict[str, Any], cores: int) -> World:
    """Sleep and processor time of one worker; a look and a piece of the sum, each measured by itself; the cores."""
    return World(
        cores=cores, batch=alone["slept"], fill=alone["fill cpu"], add=found["add alone"],
        poll=LONGEST, spin=found["spin cpu"], look=found["look cpu"],
        update=alone["update cpu"], hold=alone.get("hold cpu", 0.0), starts=found["starts"],
    )  # fmt: skip


def from_parts(found: dict[str, Any]) -> World:
    """Times of the clock in the run itself, without those in which somebody waited for others."""
    return World(
        every=found.get("all", ()), batch=found["batch"], sums=found.get("sum", ()),
        updates=found.get("update", ()), holds=found.get("hold", ()),
        starts=found["starts"], poll=0.0 if "sum" in found else LONGEST,
    )  # fmt: skip


def rate_of(name: str, tau: int, workers: int, world: World, batches: int) -> float:
    """Batches per second, the mean of some simulations."""
    tries = [
        synchronous(workers, world, batches // workers, seed)
        if name == "Synchronous"
        else asynchronous(workers, tau, world, batches, seed)
        for seed in range(5)
    ]
    return sum(tries) / len(tries)


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
    parser.add_argument("--check", nargs="+", help="JSON files of `dist.py sleep`")
    given = parser.parse_args()
    if given.check:
        return check(given.check)
    found = table(COUNTS[:2] if given.quick else COUNTS)
    if given.plot:
        plot(found, given.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
