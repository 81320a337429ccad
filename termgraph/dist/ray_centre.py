"""The centre of asynchronous training on Ray: it lives in an actor, the keeper, and is lent to one worker at a time.

Who borrows it gets a ticket, and returns the next centre with it. The ticket of a worker that is taken for dead is
void, so what comes from it later, from a stopped process or over a mended network, is refused.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from termgraph.dist.centre import DRIVER, Book, Centre, Copy
from termgraph.dist.exchange import Closed
from termgraph.dist.layout import Layout, aligned
from termgraph.dist.memory import Shared

ANSWER_WITHIN = 2.0  # seconds after which a question to an actor is answered, also with nothing


class Loan(NamedTuple):
    """The centre, lent: the ticket to return it with, its book, and its bytes."""

    ticket: int
    book: np.ndarray
    content: np.ndarray


class Keeper:
    """The actor that keeps the centre. Its methods run in threads; none takes long."""

    def __init__(self, specs: list[tuple[str, tuple[int, ...]]], slots: int) -> None:
        layout = Layout(specs)
        self._centre = Centre(Shared(Centre.size(layout, slots)), layout, slots)
        self._changed = threading.Condition()
        self._tickets = 0
        self._lent: tuple[int, int] | None = None  # the ticket, and who has it
        self._admitted = {DRIVER: 0}  # the latest life of each member
        self._closed = False

    def admit(self, who: int) -> int:
        """A member joins: the number of this life, which it has to show. Its former life ends."""
        with self._changed:
            self._end(who)
            self._admitted[who] = self._admitted.get(who, 0) + 1
            return self._admitted[who]

    def dismiss(self, who: int) -> None:
        """A member is taken for dead: what it has borrowed, it cannot return."""
        with self._changed:
            self._end(who)
            self._admitted[who] = self._admitted.get(who, 0) + 1

    def _end(self, who: int) -> None:
        if self._lent is not None and self._lent[1] == who:
            self._lent = None
            self._changed.notify_all()

    def borrow(self, who: int, life: int) -> Loan | None | str:
        """Lend the centre, as soon as it is free. None: not yet. Words: never, and why."""
        with self._changed:
            self._changed.wait_for(lambda: self._lent is None or self._refused(who, life), ANSWER_WITHIN)
            if refused := self._refused(who, life):
                return refused
            if self._lent is not None:
                return None
            self._tickets += 1
            self._lent = self._tickets, who
            now = self._centre.now
            return Loan(self._tickets, now.book.words.copy(), now.bytes.copy())

    def _refused(self, who: int, life: int) -> str:
        if self._closed and who != DRIVER:
            return "the training is over"
        return "" if self._admitted.get(who, 0) == life else "another has taken this worker's place"

    def give_back(self, ticket: int, book: np.ndarray | None, content: np.ndarray | None) -> bool:
        """Take the next book and centre (None: as they were). False if the ticket is void; then nothing has changed."""
        with self._changed:
            if self._lent is None or self._lent[0] != ticket:
                return False
            who = self._lent[1]
            if book is not None:
                with self._centre.change(who) as (old, new):
                    new.bytes[:] = old.bytes if content is None else content
                    new.book.words[:] = book
            self._lent = None
            self._changed.notify_all()
            return True

    def holder(self) -> int:
        """Who has the centre now; less than `DRIVER` if nobody does."""
        with self._changed:
            return DRIVER - 1 if self._lent is None else self._lent[1]

    def book(self) -> tuple[bool, np.ndarray]:
        """Whether the training is over, and the book as it is."""
        with self._changed:
            return self._closed, self._centre.now.book.words.copy()

    def close(self) -> None:
        """Lend it to nobody but the driver any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


class RayCentre:
    """The keeper's centre, as a worker or the driver sees it: the methods of a `Centre`."""

    fds: tuple[int, ...] = ()  # nothing of it goes from process to process by file descriptor
    pause = 0.05  # seconds between looks at a book that is not one's own

    def __init__(
        self, ask: Callable[..., Any], layout: Layout, slots: int, life: int = 0, timeout: float = 300.0,
        late: Callable[[int], None] = lambda holder: None,
    ) -> None:  # fmt: skip
        self._ask, self._life, self.timeout, self.late = ask, life, timeout, late
        words = aligned(8 * Book.size(slots))
        self._old, self._new = (Copy(np.zeros(words + layout.nbytes, np.uint8), layout, slots) for _ in range(2))
        self.closed = False

    @property
    def now(self) -> Copy:
        """The centre as it was known last; `refresh` asks for the book."""
        return self._old

    def refresh(self) -> None:
        """Ask for the book as it is now."""
        closed, self._old.book.words[:] = self._ask("book")
        self.closed = self.closed or closed

    @contextmanager
    def change(self, who: int) -> Iterator[tuple[Copy, Copy]]:
        """The present copy and the next, which has the same book. It is put in force unless an exception comes."""
        with self._lent(who) as ticket:
            yield self._old, self._new
            self._return(ticket, self._new.bytes)

    @contextmanager
    def change_book(self, who: int) -> Iterator[tuple[Copy, Book]]:
        """A change of the book alone."""
        with self._lent(who) as ticket:
            yield self._old, self._new.book
            self._return(ticket, None)

    @contextmanager
    def reading(self, who: int) -> Iterator[Copy]:
        """The present copy, while nobody changes it."""
        with self._lent(who) as ticket:
            yield self._old
            self._ask("give_back", ticket, None, None)

    @contextmanager
    def _lent(self, who: int) -> Iterator[int]:
        """The ticket of a loan; both books are as they were lent."""
        begun = time.monotonic()
        while (loan := self._ask("borrow", who, self._life)) is None:
            if time.monotonic() - begun > self.timeout:
                self.late(self._ask("holder"))
                begun = time.monotonic()
        if isinstance(loan, str):
            self.closed = True
            raise Closed
        self._old.book.words[:] = self._new.book.words[:] = loan.book
        self._old.bytes[:] = loan.content
        try:
            yield loan.ticket
        except BaseException:
            self._ask("give_back", loan.ticket, None, None)
            raise

    def _return(self, ticket: int, content: np.ndarray | None) -> None:
        """Give the next book back, and the next centre (None: as it was)."""
        if not self._ask("give_back", ticket, self._new.book.words, content):
            self.closed = True
            raise Closed
        self._old.book.words[:] = self._new.book.words

    def admit(self, who: int) -> int:
        """A member joins: the number of this life of it."""
        return int(self._ask("admit", who))

    def dismiss(self, who: int) -> None:
        """A member is taken for dead: what it has borrowed, it cannot return."""
        self._ask("dismiss", who)

    def holder_process(self) -> int:
        """Not known here: the keeper knows members by number."""
        return 0

    def close(self) -> None:
        """End the training at the next exchange of each worker."""
        self._ask("close")

    def release(self) -> None:
        """Give the memory back: it goes with this object."""
