"""The worker processes of one training: starting them, hearing them, seeing that they are gone. In one thread."""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import Any, NamedTuple

from termgraph._records import record, replace
from termgraph.config import config
from termgraph.dist import member
from termgraph.dist.centre import Centre
from termgraph.dist.data import Arrays
from termgraph.dist.devices import own_gpu
from termgraph.dist.layout import Layout
from termgraph.dist.member import Job, Line, Member, one_thread
from termgraph.dist.memory import Shared
from termgraph.dist.messages import Failed, Finished, Halted, Join, Late, Ready, Stop, ToDriver, ToWorker
from termgraph.dist.places import place
from termgraph.dist.ray_centre import RayCentre

STARTING, IDLE, RUNNING, GONE = "starting", "idle", "running", "gone"
START_WITHIN = 900.0  # seconds that a worker may take to import, build and compile
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")  # for sums and products
LOSSES = 10  # workers lost one after the other without a step in between


class Event(NamedTuple):
    """Something that happened to a worker: when (seconds from the start), what, whom, and details."""

    seconds: float
    kind: str
    worker: int
    detail: str


class WorkerError(RuntimeError):
    """The user's code raised an exception in a worker; that exception is the cause of this one, if it could be sent."""


class WorkersLost(RuntimeError):
    """Workers kept dying, so that there was no progress."""


@record
class Hand:
    """One worker process, seen from the driver."""

    number: int
    process: BaseProcess
    line: Line
    status: str = STARTING
    ready: Ready | None = None
    step: int = -1  # steps done, when it has said so
    finished: bool = False
    rank: int = -1
    where: str = ""  # in words
    steps: int = 0  # reported
    joined: int = -1  # the step at which it has joined first
    since: float = field(default_factory=time.monotonic)
    killed: bool = False

    def kill(self) -> None:
        """End the process, whatever it does, also if it is stopped."""
        self.killed = True
        if self.status != GONE and self.process.is_alive():
            self.process.kill()

    def close(self) -> str:
        """Wait for its end, give its descriptors back, and say how it has ended."""
        self.process.join()
        how = ended(self.process.exitcode)
        self.status = GONE
        self.line.connection.close()
        self.process.close()
        return how


class Crew:
    """The workers. `hear` is called with what they say, `lost` when one is gone."""

    def __init__(
        self, job: Job, hear: Callable[[Hand, ToDriver], None], lost: Callable[[Hand], None], note: Callable[..., None]
    ) -> None:
        self.job, self.note = job, note
        self._hear, self._lost = hear, lost
        self.hands: dict[int, Hand] = {}
        self.generation = -1
        self.progress = self._progress_at_loss = -1
        self._losses = 0
        self._data: Shared | None = None
        if isinstance(job.data, Arrays):
            placed, self._data = place(job.data)
            job = replace(job, data=placed)
        self._packed = packed(job)

    # ------------------------------------------------------------------ starting and ending
    def start(self, number: int) -> None:
        """Start a worker process."""
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        arguments = (theirs, self._packed, number, os.getpid())
        process = context.Process(target=member.main, args=arguments, name=f"dist-{number}", daemon=True)
        with changed_environment(ONE_THREAD | own_gpu(number)):
            process.start()
        theirs.close()
        hand = self.hands[number] = Hand(number, process, Line(ours), where=f"process {process.pid}")
        if self._data is not None:
            with contextlib.suppress(OSError):  # it is gone already: its exit code says more
                multiprocessing.reduction.send_handle(ours, self._data.fd, process.pid)
        self.note("started", hand, hand.where)

    def stop(self) -> None:
        """End all processes; none is left when this returns."""
        left = [hand for hand in self.hands.values() if hand.status != GONE]
        for hand in left:
            with contextlib.suppress(OSError):
                hand.line.send(Stop()) if hand.status == IDLE else hand.kill()
        deadline = time.monotonic() + 2.0
        for hand in left:
            hand.process.join(max(0.0, deadline - time.monotonic()))
            hand.kill()
            hand.close()
        if self._data is not None:
            self._data.close()

    # ------------------------------------------------------------------ talking
    def having(self, *statuses: str) -> list[Hand]:
        """The workers with one of these statuses, by number."""
        return [h for _, h in sorted(self.hands.items()) if h.status in statuses]

    def send(self, hand: Hand, message: ToWorker, *fds: int) -> None:
        """Say something to a worker. If it is gone, that will be seen."""
        with contextlib.suppress(OSError):
            hand.line.send(message, *fds)
        if isinstance(message, Join):
            hand.status, hand.rank, hand.since, hand.finished = RUNNING, message.rank, time.monotonic(), False

    def until(self, done: Callable[[], Any], timeout: float, late: Callable[[], None], pause: float = 0.2) -> None:
        """Hear the workers until something is so; `late` is called after each `timeout` seconds."""
        begun = time.monotonic()
        while not done():
            self.pump(pause)
            if time.monotonic() - begun > timeout:
                late()
                begun = time.monotonic()

    def pump(self, pause: float) -> None:
        """Hear what the workers have to say, for some seconds at most."""
        alive = [h for h in self.hands.values() if h.status != GONE]
        by_object: dict[Any, Hand] = {h.line.connection: h for h in alive} | {h.process.sentinel: h for h in alive}
        for found in multiprocessing.connection.wait(list(by_object), pause):
            hand = by_object[found]
            if hand.status != GONE and (found is not hand.line.connection or not self._receive(hand)):
                self._bury(hand)
        self.end_slow_starts()

    def end_slow_starts(self) -> None:
        """End workers that are not ready after a long time."""
        for hand in self.having(STARTING):
            if time.monotonic() - hand.since > START_WITHIN:
                self.end_late(hand, f"not ready after {START_WITHIN:.0f} s")

    def end_late(self, hand: Hand, why: str) -> None:
        """End a worker that keeps others waiting, once: it may take a moment until it is gone."""
        if not hand.killed:
            self.note("late", hand, why)
            hand.kill()

    def centre(self, layout: Layout, slots: int, late: Callable[[int], None]) -> Centre | RayCentre:
        """The centre of an asynchronous training, where the workers find it."""
        return Centre(Shared(Centre.size(layout, slots)), layout, slots, self.job.timeout, late)

    def close(self, generation: int) -> None:
        """Tell the workers that a generation is over, where its memory does not."""

    def _receive(self, hand: Hand) -> bool:
        try:
            message = hand.line.receive()
        except (EOFError, OSError):
            return False
        self._take(hand, message)  # type: ignore[arg-type]
        return True

    def _take(self, hand: Hand, message: ToDriver) -> None:
        if isinstance(message, Failed):
            raise WorkerError(f"{message.where}:\n{message.text.rstrip()}") from message.error
        if isinstance(message, (Halted, Finished, Late)) and message.generation != self.generation:
            self.note("refused", hand, f"{type(message).__name__} of generation {message.generation}")
            return
        if isinstance(message, Ready):
            hand.status, hand.ready = IDLE, message
            self.note("ready", hand, f"{time.monotonic() - hand.since:.1f} s after its start")
        elif isinstance(message, (Halted, Finished)):
            hand.status, hand.step, hand.finished = IDLE, message.step, isinstance(message, Finished)
        elif isinstance(message, Late):
            for other in [h for h in self.having(RUNNING) if h.rank in message.members and h is not hand]:
                self.end_late(other, f"others have waited for it for {self.job.timeout:g} s")
        self._hear(hand, message)

    def _bury(self, hand: Hand) -> None:
        """A worker is gone: hear its last words, and start another in its place."""
        hand.kill()
        hand.process.join()
        while hand.line.connection.poll():
            if not self._receive(hand):
                break
        was, code = hand.status, hand.process.exitcode
        how = hand.close()
        if was == STARTING and (code or 0) >= 0:
            raise WorkersLost(f"worker {hand.number} ended ({how}) before it was ready; {GUARD}")
        self.replace(hand, how)

    def replace(self, hand: Hand, how: str) -> None:
        """A worker was lost: another one in its place, unless this leads nowhere."""
        self.note("lost", hand, how)
        self.count_loss("workers", how)
        self._lost(hand)
        self.start(hand.number)

    def count_loss(self, what: str, how: str) -> None:
        """Something was lost: an error if that happens again and again without a step in between."""
        self._losses = self._losses + 1 if self.progress <= self._progress_at_loss else 1
        self._progress_at_loss = self.progress
        if self._losses > LOSSES:
            raise WorkersLost(f"{self._losses} {what} were lost at step {self.progress}, the last one by {how}")


class LocalLine(Line):
    """A connection within one process: what is sent is heard at once."""

    def __init__(self, heard: Callable[[ToDriver], None]) -> None:
        self._heard = heard
        self.fds: list[int] = []

    def send(self, message: ToDriver | ToWorker, *fds: int) -> None:
        """Let the driver hear a message."""
        self._heard(message)  # type: ignore[arg-type]

    def receive_fd(self) -> int:
        """The next descriptor, as one of one's own."""
        return os.dup(self.fds.pop(0))


class LocalCrew(Crew):
    """One worker, in this process: it does what it is told before the driver goes on."""

    def __init__(
        self, job: Job, hear: Callable[[Hand, ToDriver], None], lost: Callable[[Hand], None], note: Callable[..., None]
    ) -> None:
        self.job, self.note, self._hear = job, note, hear
        self.hands, self.generation, self.progress = {}, -1, -1

    def start(self, number: int) -> None:
        """Build the step."""
        line = LocalLine(lambda message: self._take(self.hands[number], message))
        self.hands[number] = Hand(number, multiprocessing.current_process(), line, where="this process")
        self.member = Member(self.job, number, line)
        with config.change_flags(**one_thread()):
            self.member.prepare()

    def send(self, hand: Hand, message: ToWorker, *fds: int) -> None:
        """Do what is said."""
        assert isinstance(hand.line, LocalLine)
        if isinstance(message, Join):
            hand.status, hand.rank, hand.finished = RUNNING, message.rank, False
        hand.line.fds += fds
        self.member.obey(message)

    def pump(self, pause: float) -> None:
        """All has been heard."""

    def stop(self) -> None:
        """Nothing is left to end."""
        self.member.leave()


GUARD = 'if its script starts training when it is imported, put that below `if __name__ == "__main__":`'


def ended(code: int | None) -> str:
    """An exit code in words."""
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            return signal.Signals(-code).name
    return f"exit code {code}"


def packed(job: Job) -> bytes:
    """The job as bytes. Functions go by name; those without one need cloudpickle."""
    try:
        return pickle.dumps(job)
    except Exception as err:
        try:
            import cloudpickle
        except ImportError:
            raise TypeError(
                f"train: what is given to the workers cannot be sent ({err}); define build (and a loader, and a rule's "
                "class) at the top level of a module, or install cloudpickle"
            ) from None
        return cloudpickle.dumps(job)


@contextmanager
def changed_environment(variables: Mapping[str, str]) -> Iterator[None]:
    """While this is entered, processes are started with these variables."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def ending_cleanly() -> Iterator[None]:
    """SIGTERM ends the process by an exception, so that everything is put away; unless the user handles it.

    Ray's own handler would end it with code 1, as an error does.
    """
    before = signal.getsignal(signal.SIGTERM)
    free = before == signal.SIG_DFL or getattr(before, "__module__", "").startswith("ray.")
    mine = free and threading.current_thread() is threading.main_thread()
    received: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        received.append(number)
        sys.exit(128 + number)

    if mine:
        signal.signal(signal.SIGTERM, end)
    try:
        yield
    except BaseException:
        if received:  # what waits in Ray makes another exception of it
            raise SystemExit(128 + received[0]) from None
        raise
    finally:
        if mine:
            signal.signal(signal.SIGTERM, before)
