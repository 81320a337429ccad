"""Cells in Python: the counterpart of cells.c for the ctypes glue. A cell is the storage of a shared variable.

May touch: nothing but threads of this process. One lock guards the owners of all cells.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

gate = threading.Condition(threading.RLock())


def forked() -> None:
    global gate, _epoch
    gate = threading.Condition(threading.RLock())
    _epoch += 1


_epoch = 1


class Cell:
    """Storage of a shared variable: Cell(array). Reading and setting wait for a program that is changing it.

    It is also a list of one element and a re-entrant lock.
    """

    __slots__ = ("_depth", "_epoch", "_in_place", "_owner", "_running", "_value")

    def __init__(self, value: np.ndarray):
        self._owner: int | None = None
        self._epoch = self._depth = 0
        self._running = self._in_place = False
        self.value = value

    @property
    def value(self) -> np.ndarray:
        """The array."""
        with gate:
            while owned(self) and self._in_place:
                wait_for_owner(self)
            return self._value

    @value.setter
    def value(self, value: np.ndarray) -> None:
        if type(value) is not np.ndarray:
            raise TypeError("the value of a cell is a numpy.ndarray")
        with gate:
            while owned(self) and not (mine(self) and not self._running):
                wait_for_owner(self)
            self._value = value

    def __len__(self) -> int:
        return 1

    def __getitem__(self, i: int) -> np.ndarray:
        if i != 0:
            raise IndexError("a cell has one element")
        return self.value

    def __setitem__(self, i: int, value: np.ndarray) -> None:
        if i != 0:
            raise IndexError("a cell has one element")
        self.value = value

    def __enter__(self) -> Cell:
        own((self,))
        return self

    def __exit__(self, *_: object) -> None:
        disown((self,))

    acquire, release = __enter__, __exit__


def owned(cell: Cell) -> bool:
    return cell._owner is not None and cell._epoch == _epoch


def mine(cell: Cell) -> bool:
    return owned(cell) and cell._owner == threading.get_ident()


def wait_for_owner(cell: Cell) -> None:
    if cell._owner == threading.get_ident():
        raise RuntimeError(
            "a function that updates this shared variable is running in this very thread; "
            "a signal handler or callback cannot use the variable until it has finished"
        )
    gate.wait(0.05)


def own(cells: Sequence[Cell], running: bool = False) -> None:
    """Keep other threads from changing these cells; all or none."""
    with gate:
        while busy := next((c for c in cells if owned(c) and not (mine(c) and not c._running)), None):
            wait_for_owner(busy)
        for cell in cells:
            if not mine(cell):
                cell._owner, cell._epoch, cell._depth = threading.get_ident(), _epoch, 0
            cell._depth += 1
            cell._running, cell._in_place = running, False


def disown(cells: Sequence[Cell]) -> None:
    """The end of own()."""
    with gate:
        for cell in cells:
            if not mine(cell):
                continue
            cell._running = cell._in_place = False
            cell._depth -= 1
            if cell._depth == 0:
                cell._owner = None
        gate.notify_all()


def commit(cells: Sequence[Cell], values: Sequence[np.ndarray]) -> None:
    """Give owned cells new values, all at once."""
    if len(cells) != len(values):
        raise ValueError("as many values as cells are needed")
    with gate:
        if any(cell._owner != threading.get_ident() for cell in cells) or any(
            type(x) is not np.ndarray for x in values
        ):
            raise TypeError("commit needs arrays, and cells that this thread owns")
        for cell, value in zip(cells, values):
            cell._value = value
