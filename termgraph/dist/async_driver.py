"""The driver of asynchronous training: one centre, which workers join and leave as they come and go."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from termgraph._logs import Log
from termgraph.dist.centre import DRIVER, Book, Centre
from termgraph.dist.crew import IDLE, RUNNING, Hand
from termgraph.dist.driver import Driver
from termgraph.dist.layout import Layout
from termgraph.dist.messages import Join, Late, Report, ToDriver
from termgraph.dist.ray_centre import FIRST_OWNER, RayCentre
from termgraph.dist.ray_slices import OwnerLost

log = Log("dist")


class Kept(NamedTuple):
    """All of a training at one moment: its arrays, how many batches are done, and which are begun."""

    arrays: dict[str, np.ndarray]
    done: int
    unfinished: list[list[int]]


class AsynchronousDriver(Driver):
    """One centre, which workers join and leave as they come and go."""

    centre: Centre | RayCentre  # from `_begin` on
    kept: Kept  # what the training goes back to if a part of the centre is lost

    def release(self) -> None:
        """Give all memory back."""
        super().release()
        if hasattr(self, "centre"):
            self.centre.release()
            del self.centre  # and with it the views of its memory, which keep that mapped

    def train(self) -> dict[str, np.ndarray]:
        """Let everyone who is ready join, until every batch is part of the centre."""
        self._lost_owners: set[int] = set()
        self._void: set[int] = set()  # workers that work on what was lost
        self.crew.until(lambda: self.crew.having(IDLE), self.job.timeout, lambda: None)
        while self.state is None:
            idle = self.crew.having(IDLE)
            if not idle or not self.ask(idle[0]):
                self.crew.pump(0.2)
        self._begin()
        while not self._ended():
            self._go_back()
        self.save(self.kept.done, self.kept.arrays, unfinished=self.kept.unfinished)
        return self.kept.arrays

    def _ended(self) -> bool:
        """Train to the end. False if a part of the centre is lost before that."""
        if self._lost_owners:
            return False
        try:
            while not self.centre.now.book.finished and not self.stopping:
                for hand in self.crew.having(IDLE):
                    self._join(hand)
                self.crew.pump(0.2)
                self.centre.refresh()
                self._lost_owners.update(self.centre.lost())
                if self._lost_owners:
                    return False
                self._save_sometimes()
            self.centre.close()
            self.crew.until(lambda: not self.crew.having(RUNNING), self.job.timeout, self._kill_running)
            self.kept = self._copy()
        except OwnerLost as err:
            self._lost_owners.add(err.serial)
            return False
        return True

    def _begin(self) -> None:
        ready = self.crew.having(IDLE)[0].ready if self.crew.having(IDLE) else None
        layout = Layout([(dtype, shape) for _, dtype, shape in self.description[: self.params]])
        assert ready is None or ready.specs == layout.specs
        unfinished = [[int(a), int(b)] for a, b in (self.resumed or {}).get("unfinished", [])]
        self.slots = max(self.job.workers, len(unfinished))
        self.centre = self.crew.centre(layout, self.slots, self._late)
        self.generation += 1
        self.crew.generation = self.generation
        self.rest = self.arrays()
        self.rows += [[np.nan] * len(self.outputs)] * (self.job.steps - len(self.rows))
        arrays = self.rest | {"history": np.array(self.rows)}
        self.kept = Kept(arrays, int((self.resumed or {}).get("step", 0)), unfinished)
        self._fill_or_find()

    def _fill_or_find(self) -> None:
        """Fill the centre, or find an owner that is lost."""
        try:
            self._fill()
        except OwnerLost as err:
            self._lost_owners.add(err.serial)

    def _fill(self) -> None:
        """Bring what is kept into the centre."""
        arrays, done, unfinished = self.kept
        with self.centre.replacing(DRIVER) as first:
            for i, array in enumerate(first.arrays):
                array[...] = arrays[f"state{i}"]
            words = first.book.words
            words[:] = 0
            words[Book.TOTAL], words[Book.DONE], words[Book.COUNT] = self.job.steps, done, len(unfinished)
            words[Book.CURSOR] = done + sum(b - a for a, b in unfinished)
            first.book.returned[: len(unfinished)] = np.array(unfinished, np.int64).reshape(-1, 2)
        self._saved = done

    def _go_back(self) -> None:
        """Slices of the centre are lost: all of it, and the book, are what was kept again."""
        self.centre.refresh()
        before = int(self.centre.now.book.words[Book.DONE])
        while self._lost_owners:
            which = self.centre.restart(self._lost_owners.pop())
            if which is None:  # it was replaced already
                continue
            self.crew.count_loss("owners of slices of the centre", f"that of slice {which}")
            self._void.update(h.number for h in self.crew.having(RUNNING))
            again = f"slice {which} of the centre; batches done go from {before} back to {self.kept.done}"
            log.warning("gone back: %s", again)
            self._remember("gone back", DRIVER, again)
            self._fill_or_find()

    def _join(self, hand: Hand) -> None:
        assert self.state is not None
        life = self.centre.admit(hand.number)
        self._give_back(hand.number, hand)
        self._void.discard(hand.number)
        join = Join(self.generation, hand.number, list(range(self.slots)), 0, 0, True, life=life)
        self.crew.send(hand, join, *self.centre.fds, self.state.fd)
        self.note("joined", hand, f"{int(self.centre.now.book.words[Book.DONE])} batches done")

    def hear(self, hand: Hand, message: ToDriver) -> None:
        """A late report on batches that may have been done again meanwhile changes nothing that is known of these."""
        if isinstance(message, Late):
            self._lost_owners.update(FIRST_OWNER - who for who in message.members if who <= FIRST_OWNER)
        if isinstance(message, Report) and hand.number in self._void:
            for step, row in zip(message.steps, message.rows):
                self.rows[step] = row if np.isnan(self.rows[step][0]) else self.rows[step]
        else:
            super().hear(hand, message)

    def report(self, message: Report) -> None:
        """Rows of any batches; a batch that is done again is reported again."""
        for step, row in zip(message.steps, message.rows):
            self.rows[step] = row
        self.tell(int(self.centre.now.book.words[Book.DONE]), message.rows[-1])

    def lost(self, hand: Hand) -> None:
        """What it had taken is given back."""
        self._void.discard(hand.number)
        if hand.rank >= 0:
            self.centre.dismiss(hand.rank)
            self._give_back(hand.rank, hand)

    def _give_back(self, rank: int, hand: Hand) -> None:
        with self.centre.change_book(DRIVER) as book:
            back = book.give_back(rank)
        if back:
            self.note("given back", hand, f"batches {back.start} to {back.stop - 1}")

    def _late(self, holder: int) -> None:
        """The lock is held for too long."""
        process = self.centre.holder_process() or None
        for hand in [h for h in self.crew.having(RUNNING) if h.rank == holder or h.process.pid == process]:
            self.crew.end_late(hand, f"it has held the centre for {self.job.timeout:g} s")
            self.centre.dismiss(hand.rank)

    def close(self) -> None:
        """Let the workers leave off at their next exchange."""
        self.centre.close()

    def _kill_running(self) -> None:
        for hand in self.crew.having(RUNNING):
            hand.kill()

    def _copy(self) -> Kept:
        with self.centre.reading(DRIVER) as now:
            arrays = self.rest | {f"state{i}": a.copy() for i, a in enumerate(now.arrays)}
            book = now.book
            open_ = [*book.returned[: int(book.words[Book.COUNT])].tolist(), *book.taken.tolist()]
            done = int(book.words[Book.DONE])
        arrays["history"] = np.array(self.rows)
        return Kept(arrays, done, [[a, b] for a, b in open_ if b > a])

    def _save_sometimes(self) -> None:
        done = int(self.centre.now.book.words[Book.DONE])
        if (self.job.checkpoint or self.centre.can_be_lost) and done - self._saved >= self.job.every:
            kept = self._copy()
            self.save(kept.done, kept.arrays, unfinished=kept.unfinished)
            self._saved = kept.done
            if self.centre.can_be_lost:
                self.kept = kept
