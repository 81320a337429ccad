"""`train`: the same step on one worker or many."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from termgraph._records import record
from termgraph.dist.async_driver import AsynchronousDriver
from termgraph.dist.crew import Crew, Event, LocalCrew, ending_cleanly
from termgraph.dist.data import Data, as_data
from termgraph.dist.devices import one_each
from termgraph.dist.driver import Progress, SynchronousDriver
from termgraph.dist.member import Job
from termgraph.dist.ray_crew import RayCrew, connect
from termgraph.dist.replica import Worker
from termgraph.dist.rules import Rule, Synchronous

WORKERS = "TERMGRAPH_DIST_WORKERS"  # set by `termgraph dist run --workers`


@record
class Result:
    """What came out: parameters by name, a row of the history per step, and what happened to workers."""

    params: dict[str, np.ndarray]
    history: dict[str, np.ndarray]
    events: list[Event]
    steps: int

    @property
    def cost(self) -> np.ndarray:
        """The cost of each step."""
        return self.history["cost"]


def train(
    build: Callable[[Worker], Any],
    data: Data,
    rule: Rule | Synchronous | None = None,
    workers: int | tuple[int, int] | None = None,
    shards: int | None = None,
    seed: int = 0,
    checkpoint: str | os.PathLike | None = None,
    every: int = 1000,
    timeout: float = 300.0,
    on_report: Callable[[Progress], Any] | None = None,
    address: str | None = None,
    progress: bool | None = None,
    owners: int | None = None,
) -> Result:
    """Train on `workers` processes of this machine; with 0 in this process, which is the default.

    `build(worker)` returns the `Step`, and runs in each worker. `workers=(2, 8)` begins with 8 and goes on while there
    are 2; lost workers are replaced. The rule is `Synchronous()` unless given. With `shards` each batch is always
    divided into so many parts, so that the result has the same bits for every number of workers; it is the number of
    workers unless given. Every `every` steps the state is written to the file `checkpoint`, from which a training that
    was interrupted goes on. A worker for which others wait for `timeout` seconds is replaced: it has to be longer than
    any step. `on_report` is called several times a second with a Progress, and may return `dist.STOP`. `progress` draws
    a table with a line for each worker on stderr; by default if that is a terminal and there are worker processes.

    With an `address` the workers run on Ray, on the machines of a cluster: "auto" or that of its head, or "local" for a
    small one of its own. That needs the extra `termgraph[dist]`. There the centre of an asynchronous rule lies in
    slices with `owners` processes; by default with one per machine, but none has less than 4 MB. If one of several is
    lost, the training goes back by up to about `every` batches, which is an event `gone back`.

    >>> import numpy as np, termgraph as tg, termgraph.tensor as T
    >>> from termgraph import dist
    >>> def build(worker):
    ...     x, w = T.dvector("x"), tg.shared(0.0, name="w")
    ...     return dist.Step([x], ((w - x) ** 2).mean(), [w], tg.optim.sgd(0.25))
    >>> result = dist.train(build, dist.Arrays(np.full(64, 3.0), batch=8), workers=0)
    >>> float(result.params["w"]), result.steps
    (2.98828125, 8)
    """
    rule = Synchronous() if rule is None else rule
    if not isinstance(rule, (Rule, Synchronous)):
        raise TypeError(f"train: rule must be Synchronous(), ASGD(), EASGD() or a dist.Rule of yours, got {rule!r}")
    least, most = _range_of(workers)
    on_device = shards is None and address is None and one_each(most)  # by NCCL, if there is one
    shards = (max(most, 1) if shards is None else int(shards)) if isinstance(rule, Synchronous) else 1
    if isinstance(rule, Synchronous) and shards < max(most, 1):
        raise ValueError(f"train: {most} workers need at least as many shards, got shards={shards}")
    if every < 1 or timeout <= 0:
        raise ValueError(f"train: every must be at least 1 and timeout above 0, got {every} and {timeout}")
    if seed < 0 or int(seed) != seed:
        raise ValueError(f"train: seed must be a whole number from 0, got {seed}")
    if owners is not None and (owners < 1 or address is None or isinstance(rule, Synchronous)):
        raise ValueError(
            f"train: owners={owners!r} must be at least 1, and is for rules with a centre on Ray (address=...) only"
        )
    data = as_data(data)
    facts = {"seed": int(seed), "shards": shards, "data": data.signature(), "rule": type(rule).__name__}
    path = None if checkpoint is None else os.path.abspath(os.fspath(checkpoint))
    if path is not None and not os.path.isdir(os.path.dirname(path)):
        raise FileNotFoundError(f"train: checkpoint={path!r}: there is no such folder")
    job = Job(
        build, data, rule, max(most, 1), shards, int(seed), data.steps, float(timeout), path, int(every), facts,
        on_device,
    )  # fmt: skip
    crew = _crew(most, address) if owners is None else partial(_crew(most, address), owners=owners)
    shown = progress if progress is not None or most else False
    with ending_cleanly():
        kind = SynchronousDriver if isinstance(rule, Synchronous) else AsynchronousDriver
        driver = kind(job, max(least, 1), on_report, crew, shown)
        arrays = driver.run()
    names = [name for name, _, _ in driver.description[: driver.params]]
    return _result(arrays, names, driver.outputs, driver.events)


def _crew(most: int, address: str | None) -> Callable[..., Crew]:
    """What makes the workers."""
    if address is None:
        return Crew if most else LocalCrew
    if not most:
        raise ValueError("train: address= is for worker processes; give workers=, or leave address out")
    connect(address)
    return partial(RayCrew, address=address)


def _range_of(workers: int | tuple[int, int] | None) -> tuple[int, int]:
    if workers is None:
        workers = workers_from_text(os.environ.get(WORKERS, "0"))
    least, most = workers if isinstance(workers, tuple) else (min(1, workers), workers)
    if not 0 <= least <= most or (isinstance(workers, tuple) and not least):
        raise ValueError(f"train: workers is a number from 0, or (least, most), got {workers!r}")
    return least, most


def workers_from_text(text: str) -> int | tuple[int, int]:
    """`workers` as written on a command line: a number, or two with a colon between."""
    try:
        numbers = tuple(int(part) for part in text.split(":"))
    except ValueError:
        numbers = ()
    if not 0 < len(numbers) < 3 or min(numbers) < 0:
        raise ValueError(f"workers is a number such as 4, or least:most such as 2:8, got {text!r}")
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])


def _result(arrays: dict[str, np.ndarray], names: list[str], outputs: list[str], events: list[Event]) -> Result:
    history = np.asarray(arrays["history"], dtype=np.float64).reshape(-1, len(outputs))
    params = {name: arrays[f"state{i}"] for i, name in enumerate(names)}
    return Result(params, {name: history[:, k] for k, name in enumerate(outputs)}, events, len(history))
