"""What runs in a worker: build the step, then follow the driver from one generation to the next."""

from __future__ import annotations

import contextlib
import io
import multiprocessing.reduction
import os
import pickle
import signal
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from termgraph._files import read_state, write_state
from termgraph._logs import Log
from termgraph._records import record
from termgraph.config import config
from termgraph.dist import nccl, store
from termgraph.dist.centre import Centre
from termgraph.dist.data import Batch, Data
from termgraph.dist.device_exchange import DeviceExchange, DeviceSums, can_add
from termgraph.dist.exchange import Closed, Exchange
from termgraph.dist.layout import Layout
from termgraph.dist.memory import Shared, end_with_parent
from termgraph.dist.messages import (
    Failed,
    Finished,
    Give,
    Given,
    Halted,
    Join,
    Late,
    Ready,
    Report,
    Saved,
    Stop,
    ToDriver,
    ToWorker,
)
from termgraph.dist.places import Placed
from termgraph.dist.ray_centre import RayCentre
from termgraph.dist.replica import Replica, Worker
from termgraph.dist.rules import Rule, Synchronous
from termgraph.dist.step import Step

REPORT_EVERY = 0.2  # seconds

log = Log("dist")


@record
class Job:
    """What every worker is told about the training."""

    build: Callable[[Worker], Any]
    data: Data | Placed
    rule: Rule | Synchronous
    workers: int
    shards: int
    seed: int
    steps: int
    timeout: float
    checkpoint: str | None
    every: int
    facts: dict[str, Any]
    on_device: bool = False  # each worker has a GPU of its own, and the order of sums is free


class Line:
    """The connection with the driver; descriptors of memory and files go over it, too."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def send(self, message: ToDriver | ToWorker, *fds: int) -> None:
        """Send a message, then descriptors."""
        self.connection.send(message)
        for fd in fds:
            multiprocessing.reduction.send_handle(self.connection, fd, None)

    def receive(self) -> ToDriver | ToWorker:
        """Wait for the next message."""
        return self.connection.recv()

    def receive_fd(self) -> int:
        """The descriptor that comes after a message."""
        return multiprocessing.reduction.recv_handle(self.connection)

    def exchange(self, join: Join, layout: Layout, *args: Any) -> Exchange:
        """The exchange of a generation, in the memory that comes with the message."""
        return Exchange(Shared(fd=self.receive_fd()), layout, *args)

    def centre(self, join: Join, layout: Layout, timeout: float, late: Callable[[int], None]) -> Centre | RayCentre:
        """The centre of an asynchronous training, in the memory that comes with the message."""
        return Centre(Shared(fd=self.receive_fd()), layout, len(join.numbers), timeout, late)


def main(connection: Connection, packed: bytes, number: int, parent: int) -> None:
    """The main function of a worker's process."""
    end_with_parent(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all processes of a terminal; the driver decides
    line = Line(connection)
    try:
        job: Job = pickle.loads(packed)
        if isinstance(job.data, Placed):
            job.data = job.data.arrays(line.receive_fd())
        member = Member(job, number, line)
        with config.change_flags(**one_thread()):
            member.prepare()
            member.follow()
    except (EOFError, BrokenPipeError, ConnectionResetError):
        os._exit(1)  # the driver is gone
    except Exception as err:
        with contextlib.suppress(OSError):
            line.send(failure(number, locals().get("member"), err))
        os._exit(1)


def one_thread() -> dict[str, int]:
    """Flags of a worker: the workers are what runs side by side, and sums of several threads would not be the same."""
    return {"threads": 1, "blas.threads": 1}


def failure(number: int, member: Member | None, err: Exception) -> Failed:
    """The message about an exception that is being handled."""
    return Failed(where(number, member), traceback.format_exc(), portable(err))


def where(number: int, member: Member | None) -> str:
    """Where a worker is, for messages."""
    if member is None or member.step < 0:
        return f"worker {number}, building the step"
    return f"worker {number}, step {member.step}"


def portable(err: Exception) -> Exception | None:
    """The exception, if it survives the way to the driver."""
    try:
        return pickle.loads(pickle.dumps(err))
    except Exception:
        return None


def built(build: Callable[[Worker], Any], worker: Worker) -> Step:
    """The step that the user's function makes."""
    step = build(worker)
    if not isinstance(step, Step):
        raise TypeError(f"train: build(worker) must return a dist.Step, got {type(step).__name__}")
    return step


class Member:
    """One worker, through all generations."""

    def __init__(self, job: Job, number: int, line: Line) -> None:
        self.job, self.number, self.line = job, number, line
        self.step = -1  # steps done, or batches begun
        self.generation = -1
        self.history: list[list[float]] = []
        self._writing: Future | None = None
        self._reader, self._writer = ThreadPoolExecutor(1), ThreadPoolExecutor(1)

    def prepare(self) -> None:
        """Build and compile, and say what came out."""
        job = self.job
        worker = Worker(self.number, job.workers, job.shards, job.seed)
        self.replica = Replica(built(job.build, worker), job.data, worker)  # type: ignore[arg-type]
        step = self.replica.step
        on_device = False
        if isinstance(job.rule, Synchronous):
            on_device = self.replica.on_device = job.on_device and self._has_nccl()
            step.apply  # noqa: B018  # compile now, while nobody waits
            self.layout = Layout(self.replica.specs())
            self.sums = DeviceSums(self.layout.specs)
            if on_device and not can_add(self.layout.specs):
                log.info("worker %d: NCCL does not know all types of the gradients", self.number)
                on_device = False
        else:
            self.replica.whole = True
            step.whole  # noqa: B018
            self.layout = Layout([(str(v.dtype), v.shape) for v in self.replica.params()])
        names = list(step.outputs)
        self.line.send(Ready(self.layout.specs, self.replica.describe(), len(step.params), names, on_device))

    def _has_nccl(self) -> bool:
        found = nccl.library()
        if isinstance(found, str):
            log.info("worker %d: gradients are added on the host: %s", self.number, found)
        return not isinstance(found, str)

    def follow(self) -> None:
        """Do what the driver says, until it says stop."""
        while not isinstance(message := self.line.receive(), Stop):
            self.obey(message)
        self.leave()

    def obey(self, message: ToDriver | ToWorker) -> None:
        """Do one thing that the driver says."""
        if isinstance(message, Give):
            self._give(message.known)
        elif isinstance(message, Join):
            self._join(message)

    def leave(self) -> None:
        """End the threads."""
        self._reader.shutdown()
        self._writer.shutdown()

    def _give(self, known: int) -> None:
        step = max(self.step, 0)
        with os.fdopen(self.line.receive_fd(), "wb") as file:
            write_state(file, {"step": step}, self.replica.state(copy=False) | {"history": np.array(self.history)})
        if rows := self.history[known:]:
            self.line.send(Report(self.generation, list(range(known, known + len(rows))), rows))
        self.line.send(Given(step))

    def _join(self, join: Join) -> None:
        part: SynchronousMember | AsynchronousMember
        if isinstance(self.job.rule, Synchronous):
            part = SynchronousMember(self, join)
        else:
            part = AsynchronousMember(self, join, self.job.rule)
        if join.state:
            given = Shared(fd=self.line.receive_fd())
            state = read_state(io.BytesIO(given.buffer.data))[1]
            given.close()
            self.history = state.pop("history").tolist()
            self.replica.set_state(state)
        self.generation, self.step = join.generation, join.step
        try:
            part.run()
        except Closed:
            self.line.send(Halted(self.generation, self.step))
        else:
            self.line.send(Finished(self.generation, self.step))
        finally:
            part.release()

    def late(self, members: list[int]) -> None:
        """Tell the driver for whom we wait."""
        self.line.send(Late(self.generation, members))

    def read_ahead(self, items: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int, Batch]]:
        """Shards (step, shard) in this order, each read while the one before is computed."""
        ahead: tuple[tuple[int, int], Future[Batch]] | None = None
        for item in items:
            now, ahead = ahead, (item, self._reader.submit(self.replica.read, *item))
            if now is not None:
                yield (*now[0], now[1].result())
        if ahead is not None:
            yield (*ahead[0], ahead[1].result())

    def save(self) -> None:
        """Write a checkpoint beside the computation, from a copy of the state as it is now."""
        assert self.job.checkpoint is not None
        self.wait_saved()
        facts = self.job.facts | {"step": self.step, "generation": self.generation, "state": self.replica.describe()}
        arrays = self.replica.state() | {"history": np.array(self.history)}
        self._writing = self._writer.submit(self._save, self.job.checkpoint, facts, arrays, self.step)

    def _save(self, path: str, facts: dict[str, Any], arrays: dict[str, np.ndarray], step: int) -> Saved:
        try:
            store.save(path, facts, arrays)
        except store.Outdated as err:
            return Saved(step, str(err))
        return Saved(step)

    def wait_saved(self) -> None:
        """Wait for the checkpoint that is being written, if any."""
        if self._writing is not None:
            writing, self._writing = self._writing, None
            self.line.send(writing.result())


class SynchronousMember:
    """A member of one generation of synchronous training."""

    def __init__(self, member: Member, join: Join) -> None:
        self.member, self.join, self.job, self.replica = member, join, member.job, member.replica
        group = (self.job.shards, len(join.numbers), join.rank, self.job.timeout, member.late)
        self.exchange: Exchange
        if join.on_device:
            self.exchange = DeviceExchange(Shared(fd=member.line.receive_fd()), member.sums, *group)
        else:
            self.exchange = member.line.exchange(join, member.layout, *group)
        self.replica.on_device = join.on_device
        self._sent, self._when = join.known, time.monotonic()

    def release(self) -> None:
        """Give the memory of this generation back."""
        self.exchange.release()

    def run(self) -> None:
        """Steps until the last one, or until the driver closes the generation (Closed)."""
        rule, member = self.job.rule, self.member
        assert isinstance(rule, Synchronous)
        mine = self.exchange.mine
        items = ((step, j) for step in range(member.step, self.job.steps) for j in mine)
        try:
            for step, j, batch in member.read_ahead(items):
                self._fill(step, j, batch)
                if j == mine[-1]:
                    self._apply(self.exchange.total(step))
                    if rule.check and member.step % rule.check == 0:
                        self.exchange.check(step, self.replica.digest())
                        self.exchange.compare(step)
                    self._after()
        except Closed:
            if self.exchange.is_added(member.step):  # others may have made this step: make it, too
                self._apply(self.exchange.means())
            raise
        finally:
            self._report()
            member.wait_saved()

    def _fill(self, step: int, shard: int, batch: Batch) -> None:
        if self.exchange.closed:
            raise Closed
        results = self.replica.compute(step, shard, batch) if batch.examples else []
        self.exchange.put(step, shard, results, batch.share, batch.examples)

    def _apply(self, means: list[np.ndarray]) -> None:
        outputs = len(self.replica.step.outputs)
        self.replica.apply(means[outputs:], self.member.step)
        self.member.history.append([float(np.asarray(v)) for v in means[:outputs]])
        self.member.step += 1

    def _after(self) -> None:
        lead = self.join.rank == 0
        if lead and self.job.checkpoint and self.member.step % self.job.every == 0:
            self.member.save()
        if lead and time.monotonic() - self._when > REPORT_EVERY:
            self._report()

    def _report(self) -> None:
        rows = self.member.history[self._sent :]
        if self.join.rank == 0 and rows:
            steps = list(range(self._sent, self._sent + len(rows)))
            self.member.line.send(Report(self.member.generation, steps, rows))
            self._sent, self._when = len(self.member.history), time.monotonic()


class AsynchronousMember:
    """A member of asynchronous training: takes batches, trains its own copy on them, meets the centre."""

    def __init__(self, member: Member, join: Join, rule: Rule) -> None:
        self.member, self.rank, self.job, self.replica, self.rule = member, join.rank, member.job, member.replica, rule
        self.centre = member.line.centre(join, member.layout, self.job.timeout, lambda holder: member.late([holder]))

    def release(self) -> None:
        """Give the memory of the centre back."""
        self.centre.release()

    def run(self) -> None:
        """Batches until all are part of the centre."""
        with self.centre.reading(self.rank) as now:
            for own, value in zip(self.replica.params(), now.arrays):
                own[...] = value
        with self.centre.change_book(self.rank) as book:
            batches = book.take(self.rank, self.rule.tau)
        self.rule.start(self.replica.params(), self.job.workers)
        while not self.centre.now.book.finished:
            if self.centre.closed:
                raise Closed
            if batches:
                self._train(batches)
                with self.centre.change(self.rank) as (old, new):
                    self.rule.exchange(self.replica.params(), old.arrays, new.arrays)
                    new.book.release(self.rank)
                    batches = new.book.take(self.rank, self.rule.tau)
            else:  # the last ones are being done by others, who may still be lost
                time.sleep(self.centre.pause)
                self.centre.refresh()
                if self.centre.now.book.available:
                    with self.centre.change_book(self.rank) as book:
                        batches = book.take(self.rank, self.rule.tau)

    def _train(self, batches: range) -> None:
        rows = []
        for step, _, batch in self.member.read_ahead((b, 0) for b in batches):
            self.member.step = step
            self.rule.before_step(self.replica.params())
            rows.append([float(v) for v in self.replica.take_step(step, batch)])
            self.rule.after_step(self.replica.params())
        self.member.line.send(Report(self.member.generation, list(batches), rows))
