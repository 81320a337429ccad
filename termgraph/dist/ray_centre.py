"""The centre of asynchronous training on Ray: an actor, the keeper, lends it to one worker at a time.

Who borrows it gets a ticket, and returns the next centre with it. Its bytes are with the keeper or, in slices, with
their owners. The ticket of a worker that is taken for dead is
void, so what comes from it later, from a stopped process or over a mended network, is refused.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from termgraph.dist.centre import DRIVER, Book, Copy
from termgraph.dist.exchange import Closed
from termgraph.dist.layout import Layout, aligned
from termgraph.dist.ray_slices import OwnerLost, Owners, Slice, Slices

ANSWER_WITHIN = 2.0  # seconds after which a question to an actor is answered, also with nothing
FIRST_OWNER = DRIVER - 2  # who is late: members from 0, the driver, nobody, then owners of slices by serial number


class Loan(NamedTuple):
    """The centre, lent: the ticket to return it with, the version it is, its book, and its bytes if they are here."""

    ticket: int
    version: int
    book: np.ndarray
    content: np.ndarray | None


class Keeper:
    """The actor that keeps the book and lends the centre. Its methods run in threads; none takes long.

    A version of the centre has the number of the ticket that has brought it. Which one is in force is said here and
    nowhere else. With `whole` its bytes are here, too; otherwise those who own its slices have them.
    """

    def __init__(self, specs: list[tuple[str, tuple[int, ...]]], slots: int, whole: bool = True) -> None:
        self._slice = Slice(Layout(specs).nbytes) if whole else None
        self._book = Book(np.zeros(Book.size(slots), np.int64), slots)
        self._version = 0
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

    def restart(self) -> None:
        """All members have to join again: what they have seen of the centre is lost. Void is whatever is lent."""
        with self._changed:
            self._lent, self._closed = None, False
            self._admitted = {who: life + (who != DRIVER) for who, life in self._admitted.items()}
            self._changed.notify_all()

    def _end(self, who: int) -> None:
        if self._lent is not None and self._lent[1] == who:
            self._lent = None
            self._changed.notify_all()

    def borrow(self, who: int, life: int, read: bool = True) -> Loan | None | str:
        """Lend the centre, as soon as it is free. None: not yet. Words: never, and why."""
        with self._changed:
            self._changed.wait_for(lambda: self._lent is None or self._refused(who, life), ANSWER_WITHIN)
            if refused := self._refused(who, life):
                return refused
            if self._lent is not None:
                return None
            self._tickets += 1
            self._lent = self._tickets, who
            content = self._slice.read(self._version) if read and self._slice is not None else None
            return Loan(self._tickets, self._version, self._book.words.copy(), content)

    def _refused(self, who: int, life: int) -> str:
        if self._closed and who != DRIVER:
            return "the training is over"
        return "" if self._admitted.get(who, 0) == life else "another has taken this worker's place"

    def give_back(self, ticket: int, book: np.ndarray | None, bytes_too: bool, content: np.ndarray | None) -> bool:
        """Take the next book (None: as it was); with `bytes_too` what this ticket has brought is in force from now on.

        False if the ticket is void; then nothing has changed.
        """
        with self._changed:
            if self._lent is None or self._lent[0] != ticket:
                return False
            if bytes_too and self._slice is not None and content is not None:
                self._slice.write(ticket, self._version, content)
            if bytes_too:
                self._version = ticket
            if book is not None:
                self._book.words[:] = book
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
            return self._closed, self._book.words.copy()

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
        late: Callable[[int], None] = lambda holder: None, slices: Slices | None = None,
        gone: Callable[[int], bool] | None = None,
    ) -> None:  # fmt: skip
        self._slices = slices  # None: the keeper has all
        self._gone = gone  # whether a member is dead, which the driver can find out while it waits for the centre
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
        with self._lent(who) as loan:
            yield self._old, self._new
            self._return(loan, bytes_too=True)

    @contextmanager
    def replacing(self, who: int) -> Iterator[Copy]:
        """The next copy, all of which is to be filled. The present one is not looked at: it may be lost."""
        with self._lent(who, read=False) as loan:
            yield self._new
            self._return(loan, bytes_too=True)

    @contextmanager
    def change_book(self, who: int) -> Iterator[Book]:
        """A change of the book alone."""
        with self._lent(who, read=False) as loan:
            yield self._new.book
            self._return(loan, bytes_too=False)

    @contextmanager
    def reading(self, who: int) -> Iterator[Copy]:
        """The present copy, while nobody changes it."""
        with self._lent(who) as loan:
            yield self._old
            self._ask("give_back", loan.ticket, None, False, None)

    @contextmanager
    def _lent(self, who: int, read: bool = True) -> Iterator[Loan]:
        """A loan; both books are as they were lent, and so are the bytes if they are to be read."""
        begun = time.monotonic()
        while (loan := self._ask("borrow", who, self._life, read)) is None:
            if self._gone is not None and self._gone(holder := self._ask("holder")):
                self._ask("dismiss", holder)
            if time.monotonic() - begun > self.timeout:
                self.late(self._ask("holder"))
                begun = time.monotonic()
        if isinstance(loan, str):
            self.closed = True
            raise Closed
        self._old.book.words[:] = self._new.book.words[:] = loan.book
        try:
            if loan.content is not None:
                self._old.bytes[:] = loan.content
            elif read and self._slices is not None:
                self._slices.read(loan.version, self._old.bytes)
            yield loan
        except BaseException as err:
            if isinstance(err, OwnerLost):
                self.late(FIRST_OWNER - err.serial)
            self._ask("give_back", loan.ticket, None, False, None)
            raise

    def _return(self, loan: Loan, bytes_too: bool) -> None:
        """Give the next book back, and the next centre if that was changed, too."""
        content = self._new.bytes if bytes_too and self._slices is None else None
        if bytes_too and self._slices is not None:
            self._slices.write(loan.ticket, loan.version, self._new.bytes)
        if not self._ask("give_back", loan.ticket, self._new.book.words, bytes_too, content):
            self.closed = True
            raise Closed
        self._old.book.words[:] = self._new.book.words

    # ------------------------------------------------------------------ slices
    @property
    def can_be_lost(self) -> bool:
        """Whether there are owners that may be lost while the driver is not."""
        return self._slices is not None

    def lost(self) -> list[int]:
        """Owners of slices that are gone."""
        return self._slices.lost() if isinstance(self._slices, Owners) else []

    def restart(self, serial: int) -> int | None:
        """Let another own the slice of a lost one, empty as yet, and end the lives of all members: which slice it is.

        None if that one was replaced already.
        """
        if not isinstance(self._slices, Owners) or serial not in self._slices.handles:
            return None
        self._ask("restart")
        self.closed = False
        return self._slices.replace(serial)

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
