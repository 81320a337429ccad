"""The loop around a compiled step: epochs, a line of progress on a terminal, checkpoints, and going on from one."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from termgraph._files import read_state, replacing, write_state
from termgraph._logs import Log
from termgraph.progress import Line, stream

log = Log("train")
Item = TypeVar("Item")


class Epoch(NamedTuple):
    """One pass over the data: its number, the mean of the costs, and its seconds."""

    number: int
    cost: float
    seconds: float


class History(list[Epoch]):
    """What `loop` returns: the epochs, those before a checkpoint included."""

    @property
    def costs(self) -> list[float]:
        return [epoch.cost for epoch in self]


def loop(
    step: Callable[..., Any],
    data: Iterable[tuple[Any, ...]],
    epochs: int = 1,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    on_epoch: Callable[[Epoch], Any] | None = None,
) -> History:
    """Call `step(*batch)` for every batch of `data`, `epochs` times over; the step's (first) result is the cost.

    With `checkpoint`, the step's shared variables (parameters, an optimizer's state, random streams) are written to
    that file after each epoch, and if the file is there at the start, training goes on from it. `progress` draws a
    line on stderr; by default as the flag `progress` says, on a terminal and in a notebook. `on_epoch(epoch)` is called
    after each epoch; if it returns True, training ends.
    A cost that is NaN is an error that names the epoch and the batch.

    >>> import numpy as np
    >>> import termgraph as tg
    >>> import termgraph.tensor as T
    >>> x, w = T.dvector("x"), tg.shared(0.0, name="w")
    >>> cost = ((w - x) ** 2).mean()
    >>> step = tg.function([x], cost, updates=tg.optim.sgd(0.25)(cost, [w]))
    >>> history = tg.train.loop(step, tg.train.batches(np.full(8, 3.0), size=4), epochs=3)
    >>> history.costs
    [5.625, 0.3515625, 0.02197265625]
    """
    history = History()
    if checkpoint is not None and Path(checkpoint).exists():
        history.extend(restore(step, checkpoint))
        log.info("%s: going on after %d epochs", checkpoint, len(history))
    out = stream(progress)
    line = Line(out) if out is not None else None
    for number in range(len(history), epochs):
        if hasattr(data, "epoch"):
            data.epoch = number  # the order of the data is that of an uninterrupted run
        history.append(one_epoch(step, data, number, epochs, line))
        log.info("epoch %d: cost %.6g, %.2f s", *history[-1])
        if checkpoint is not None:
            save(step, checkpoint, history)
        if on_epoch is not None and on_epoch(history[-1]) is True:
            break
    return history


def one_epoch(step: Callable[..., Any], data: Iterable[tuple], number: int, epochs: int, line: Line | None) -> Epoch:
    start, total, count = time.perf_counter(), 0.0, 0
    batches = len(data) if isinstance(data, Sized) else None
    for batch in data:
        result = step(*batch) if isinstance(batch, tuple) else step(batch)
        cost = float(np.asarray(result[0] if isinstance(result, (list, tuple)) else result))
        count += 1
        if math.isnan(cost):
            raise FloatingPointError(
                f"the cost of batch {count} of epoch {number} is NaN; compile the step with "
                "mode=tg.NanGuardMode(True, True, False) to see which operation made the first one"
            )
        total += cost
        if line is not None:
            line.draw(
                f"epoch {number + 1}/{epochs}  {count}{f'/{batches}' if batches else ''}  cost {total / count:.4g}"
            )
    if count == 0:
        raise ValueError("the data has no batches (an iterator that is used up? give a list, or tg.train.batches)")
    made = Epoch(number, total / count, time.perf_counter() - start)
    if line is not None:
        line.end(f"epoch {number + 1}/{epochs}  cost {made.cost:.4g}  {made.seconds:.1f} s")
    return made


def progress(items: Iterable[Item], what: str = "", *, wanted: bool | None = None) -> Iterator[Item]:
    """The items one after the other, with a line on stderr that says how many are done: for loops of your own.

    By default the line is drawn as the flag `progress` says, on a terminal and in a notebook; `wanted` decides it here.

    >>> import termgraph as tg
    >>> sum(tg.train.progress(range(5), "adding"))
    10
    """
    out = stream(wanted)
    if out is None:
        yield from items
        return
    line, begin, count = Line(out), time.perf_counter(), 0
    total = f"/{len(items)}" if isinstance(items, Sized) else ""
    front = f"{what}  " if what else ""
    try:
        for count, item in enumerate(items, 1):
            yield item
            line.draw(f"{front}{count}{total}  {time.perf_counter() - begin:.0f} s")
    finally:
        line.end(f"{front}{count}{total}  {time.perf_counter() - begin:.1f} s")


# ---------------------------------------------------------------------- checkpoints
def variables_of(step: Any) -> list[Any]:
    """The shared variables of a compiled function, in its own order."""
    if not hasattr(step, "get_shared"):
        raise TypeError(f"checkpoint= needs a compiled function (tg.function), got {type(step).__name__}")
    return list(step.get_shared())


def save(step: Any, path: str | os.PathLike[str], history: History) -> None:
    """Write a checkpoint: arrays and plain text. The old one is there until the new one is whole."""
    variables = variables_of(step)
    facts = {"names": [v.name for v in variables], "history": [list(epoch) for epoch in history]}
    with replacing(path) as file:
        write_state(file, facts, {f"v{k}": np.asarray(v.get_value()) for k, v in enumerate(variables)})


def restore(step: Any, path: str | os.PathLike[str]) -> list[Epoch]:
    """Set the shared variables of a step to what a checkpoint has, and give the epochs before it."""
    variables = variables_of(step)
    facts, arrays = read_state(path)
    names = [v.name for v in variables]
    if facts.get("names") != names:
        raise ValueError(
            f"{path} is of another step: it has {facts.get('names')}, this one {names}; give another file name"
        )
    values = [arrays[f"v{k}"] for k in range(len(names))]
    for variable, value in zip(variables, values, strict=True):
        if value.shape != np.shape(variable.get_value(borrow=True)):
            now = np.shape(variable.get_value(borrow=True))
            raise ValueError(f"{path}: {variable.name} has shape {value.shape} there and {now} here")
    for variable, value in zip(variables, values, strict=True):
        variable.set_value(value)
    return [Epoch(int(number), cost, seconds) for number, cost, seconds in facts["history"]]
