"""Who is a member of which generation: what all drivers have in common, and the driver of synchronous training.

The driver computes nothing and is asked about no step; it waits for workers to come and go.
"""

from __future__ import annotations

import io
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from termgraph._files import Facts, read_facts, read_state, sweep, write_state
from termgraph._logs import Log
from termgraph._records import record
from termgraph.dist import store
from termgraph.dist.board import Board
from termgraph.dist.crew import IDLE, RUNNING, STARTING, Crew, Event, Hand
from termgraph.dist.device_exchange import DeviceExchange
from termgraph.dist.exchange import GENERATION, Exchange
from termgraph.dist.layout import Layout
from termgraph.dist.member import Job
from termgraph.dist.memory import Shared
from termgraph.dist.messages import Give, Given, Join, Report, Saved, ToDriver

STOP = "stop"

log = Log("dist")


@record
class Progress:
    """What `on_report` is told from time to time."""

    step: int
    steps: int
    outputs: dict[str, float]  # cost and outputs of the latest step that is known
    workers: int
    seconds: float

    @property
    def cost(self) -> float:
        """The cost of that step."""
        return self.outputs["cost"]


class Driver:
    """What both kinds of training have in common."""

    def __init__(
        self, job: Job, least: int, on_report: Callable[[Progress], Any] | None, crew: Callable[..., Crew] = Crew,
        progress: bool | None = False,
    ) -> None:  # fmt: skip
        self.job, self.least, self.on_report = job, least, on_report
        self.board = Board(progress)
        self.events: list[Event] = []
        self._lost_by: dict[int, str] = {}  # how each worker's last life has ended
        self._known = 0  # steps
        self._latest = np.nan  # cost
        self.begun = time.monotonic()
        self.generation = -1
        self.rows: list[list[float]] = []
        self.outputs: list[str] = []
        self.description: list[tuple[str, str, tuple[int, ...]]] = []
        self.params = 0
        self.state: Shared | None = None  # the latest that was given or read, of step `state_step`
        self.state_step = -1
        self.stopping = False
        self._given = False
        self.resumed = self._resume()
        self.crew = crew(job, self.hear, self.lost, self.note)

    def run(self) -> dict[str, np.ndarray]:
        """Train; the answer is the state at the end."""
        try:
            for number in range(self.job.workers):
                self.crew.start(number)
            return self.train()
        finally:
            self.crew.stop()
            self.release()
            self.board.end(self._title())
            if self.job.checkpoint:
                sweep(Path(self.job.checkpoint))

    def train(self) -> dict[str, np.ndarray]:
        """Train; the answer is the state at the end."""
        raise NotImplementedError

    def release(self) -> None:
        """Give all memory back."""
        if self.state is not None:
            self.state.close()

    # ------------------------------------------------------------------ hearing
    def note(self, kind: str, hand: Hand, detail: str) -> None:
        """Remember an event."""
        log.info("worker %d: %s: %s", hand.number, kind, detail)
        self._remember(kind, hand.number, detail)
        if kind == "lost":
            self._lost_by[hand.number] = detail
        self.board.draw(self._content)

    def _remember(self, kind: str, worker: int, detail: str) -> None:
        self.events.append(Event(time.monotonic() - self.begun, kind, worker, detail))

    def hear(self, hand: Hand, message: ToDriver) -> None:
        """What both drivers do about a message."""
        if isinstance(message, Report):
            hand.steps += len(message.steps)
            self.report(message)
        elif isinstance(message, Given):
            self._given = True
        elif isinstance(message, Saved):
            self.note("refused" if message.refused else "saved", hand, message.refused or f"step {message.step}")
        if hand.ready is not None and not self.outputs:
            self.outputs, self.description, self.params = hand.ready.outputs, hand.ready.state, hand.ready.params
            self._check_resumed()

    def lost(self, hand: Hand) -> None:
        """A worker is gone."""

    def report(self, message: Report) -> None:
        """New rows of the history."""
        raise NotImplementedError

    def tell(self, step: int, row: list[float]) -> None:
        """Call the user's `on_report`."""
        self.crew.progress = max(self.crew.progress, step)
        self._known, self._latest = step, row[0]
        self.board.draw(self._content)
        if self.on_report is None:
            return
        outputs = dict(zip(self.outputs, row))
        running = len(self.crew.having(RUNNING))
        wish = self.on_report(Progress(step, self.job.steps, outputs, running, time.monotonic() - self.begun))
        if wish is not None and wish != STOP:
            raise ValueError(f"train: on_report must return dist.STOP or nothing, got {wish!r:.60}")
        if wish == STOP:
            self.stopping = True
            self.close()

    def close(self) -> None:
        """Let the workers leave off as soon as they notice."""

    # ------------------------------------------------------------------ the table on a terminal
    def _title(self) -> str:
        seconds = time.monotonic() - self.begun
        cost = "" if np.isnan(self._latest) else f"  cost {self._latest:.4g}"
        lost = sum(e.kind == "lost" for e in self.events)
        return f"step {self._known}/{self.job.steps}{cost}  {seconds:.0f} s{f'  {lost} lost' if lost else ''}"

    def _content(self) -> tuple[str, list[list[str]]]:
        starts = Counter(e.worker for e in self.events if e.kind == "started")
        rows = []
        for number, hand in sorted(self.crew.hands.items()):
            how = self._lost_by.get(number)
            state = f"{hand.status} after {how}" if how and hand.status == STARTING else hand.status
            rows.append([str(number), hand.where, state, str(self.steps_of(hand)), str(starts[number])])
        return self._title(), rows

    def steps_of(self, hand: Hand) -> int:
        """Steps or batches that this life of a worker has made, as far as is known."""
        return hand.steps

    # ------------------------------------------------------------------ states
    def ask(self, hand: Hand) -> bool:
        """Let a worker give its state; False if it is lost over it."""
        self._given = False
        memory = Shared()
        self.crew.send(hand, Give(len(self.rows)), memory.fd)
        mine = lambda: self._given or self.crew.hands.get(hand.number) is not hand  # noqa: E731
        self.crew.until(mine, self.job.timeout, hand.kill)
        if not self._given:
            memory.close()
            return False
        self._keep(memory, max(hand.step, 0))
        return True

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays of the latest state."""
        assert self.state is not None
        return read_state(io.BytesIO(self.state.buffer.data))[1]

    def save(self, step: int, arrays: Mapping[str, np.ndarray], **more: Any) -> None:
        """Write a checkpoint from here."""
        if self.job.checkpoint:
            facts = {"step": step, "generation": self.generation, "state": self.description}
            store.save(self.job.checkpoint, self.job.facts | facts | more, arrays)

    def _resume(self) -> Facts | None:
        """Read the checkpoint, if there is one, as the latest state."""
        if not self.job.checkpoint or not Path(self.job.checkpoint).exists():
            return None
        facts, arrays = self._read_checkpoint(self.job.checkpoint)
        self.generation = int(facts["generation"])
        self.rows = arrays["history"].tolist()
        return facts

    def _read_checkpoint(self, path: str) -> tuple[Facts, dict[str, np.ndarray]]:
        """Take a checkpoint for the latest state."""
        facts, arrays = read_state(path)
        for key, wanted in self.job.facts.items():
            if facts.get(key) != wanted:
                raise ValueError(
                    f"{path} is of another training: {key} was {facts.get(key)!r} and is {wanted!r} "
                    "now; remove the file, or give another name"
                )
        memory = Shared()
        with open(memory.fd, "wb", closefd=False) as file:
            write_state(file, facts, arrays)
        self._keep(memory, int(facts["step"]))
        return facts, arrays

    def _keep(self, memory: Shared, step: int) -> None:
        """This is the latest state now."""
        if self.state is not None:
            self.state.close()
        self.state, self.state_step = Shared(fd=memory.fd), step

    def _check_resumed(self) -> None:
        if self.resumed is not None:
            before = [(name, dtype, tuple(shape)) for name, dtype, shape in self.resumed["state"]]
            if before != self.description:
                raise ValueError(
                    f"{self.job.checkpoint} is of another model: it holds {before}, and the step has {self.description}"
                )


class SynchronousDriver(Driver):
    """Generations of members that make every step together."""

    exchange: Exchange | None = None

    def train(self) -> dict[str, np.ndarray]:
        """From one generation to the next until all steps are made, or `on_report` says stop."""
        self._await(self.job.workers)
        while True:
            if not self._form():
                continue
            self.crew.until(self._over, self.job.timeout, lambda: None)
            self._halt()
            if self._finished() or self.stopping:
                source = self._furthest()
                if source is not None and self.ask(source):
                    arrays = self.arrays()
                    self.save(self.state_step, arrays)
                    return arrays

    def report(self, message: Report) -> None:
        """Rows of a history that has no gaps; what is known already is skipped."""
        new = [row for step, row in zip(message.steps, message.rows) if step >= len(self.rows)]
        self.rows += new
        if new:
            self.tell(len(self.rows), self.rows[-1])

    def close(self) -> None:
        """End the generation."""
        if self.exchange is not None:
            self.exchange.close()
            self.crew.close(self.generation)

    def steps_of(self, hand: Hand) -> int:
        """All members make every step; only the first one reports them."""
        return max(0, self._known - hand.joined) if hand.joined >= 0 else 0

    def lost(self, hand: Hand) -> None:
        """The generation cannot go on."""
        self._broken = True

    def _await(self, count: int) -> None:
        """Wait until so many workers are ready."""
        self.crew.until(lambda: len(self.crew.having(IDLE)) >= count, self.job.timeout, lambda: None)

    def _furthest(self) -> Hand | None:
        idle = self.crew.having(IDLE)
        return max(idle, key=lambda h: h.step, default=None)

    def _finished(self) -> bool:
        return any(h.finished and h.step >= self.job.steps for h in self.crew.having(IDLE))

    def _form(self) -> bool:
        """Begin a generation with all who are there; False if a worker is lost over it."""
        self._await(self.least)
        members = self.crew.having(IDLE)
        self._broken = False
        self._check_alike(members)
        step = max(h.step for h in members)
        if step < 0:
            self._look_at_checkpoint()
        if step < 0 and self.state is None:
            if not self.ask(members[0]):
                return False
            step = 0
        elif step < 0 or self.state_step > step:
            step = self.state_step
        elif any(h.step != step for h in members) and not self.ask(max(members, key=lambda h: h.step)):
            return False
        on_device = all(h.ready.on_device for h in members)  # type: ignore[union-attr]
        layout = Layout([] if on_device else members[0].ready.specs)  # type: ignore[union-attr]
        size = DeviceExchange.size if on_device else Exchange.size
        memory = Shared(size(layout, self.job.shards, len(members)))
        self.generation += 1
        self.crew.generation = self.generation
        self.exchange = Exchange(memory, layout, self.job.shards, len(members), 0)
        memory.words(0, 2)[GENERATION] = self.generation
        for rank, hand in enumerate(members):
            behind = hand.step != step
            hand.joined = step if hand.joined < 0 else hand.joined
            fds = [memory.fd, *([self.state.fd] if behind and self.state is not None else [])]
            numbers = [h.number for h in members]
            self.crew.send(hand, Join(self.generation, rank, numbers, step, len(self.rows), behind, on_device), *fds)
            how = ", means by NCCL" if on_device else ""
            self.note("joined", hand, f"generation {self.generation}, rank {rank} of {len(members)}, step {step}{how}")
        memory.close()
        return True

    def _look_at_checkpoint(self) -> None:
        """All who had made steps are gone: what they have written may be later than what is known here."""
        path = self.job.checkpoint
        if path and self.generation >= 0 and Path(path).exists():
            if int(read_facts(path)["step"]) > self.state_step:
                self._read_checkpoint(path)

    def _check_alike(self, members: list[Hand]) -> None:
        first = members[0].ready
        assert first is not None
        for hand in members[1:]:
            other = hand.ready
            assert other is not None
            if (other.specs, other.state) != (first.specs, first.state):
                pairs = zip([*other.state, *other.specs], [*first.state, *first.specs])
                unlike = next(((a, b) for a, b in pairs if a != b), (len(other.state), len(first.state)))
                raise ValueError(
                    f"train: build made another step in worker {hand.number} than in worker {members[0].number}: "
                    f"{unlike[0]} instead of {unlike[1]}"
                )

    def _over(self) -> bool:
        """Whether this generation should end: a loss, somebody new, the end."""
        running = self.crew.having(RUNNING)
        return self._broken or self.stopping or not running or any(h.step < 0 for h in self.crew.having(IDLE))

    def _halt(self) -> None:
        """Close the generation and wait until all members have left it."""
        self.close()

        def kill() -> None:
            for hand in self.crew.having(RUNNING):
                self.crew.end_late(hand, f"has not left generation {self.generation} for {self.job.timeout:g} s")

        self.crew.until(lambda: not self.crew.having(RUNNING), self.job.timeout, kill)
        self.exchange = None
