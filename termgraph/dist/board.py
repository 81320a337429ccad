"""A table of the workers on a terminal, drawn over itself: a line for the training, then one for each worker.

Whether somebody looks is decided where all progress is. A notebook, in which the cursor goes back within a line only,
gets the line for the training.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

from termgraph import progress

REDRAW = 0.25  # seconds between two drawings
UP, CLEAR = "\x1b[{}A", "\x1b[J"
HEAD = ("worker", "where", "state", "steps", "starts")

Rows = Sequence[Sequence[str]]


class Board:
    """The table; `wanted` as in `progress.stream`: None leaves it to the flag `progress`."""

    def __init__(self, wanted: bool | None) -> None:
        self.stream = progress.stream(wanted)
        self._line = progress.Line(self.stream) if self.stream and progress.is_notebook(self.stream) else None
        self._drawn, self._lines = 0.0, 0

    def draw(self, content: Callable[[], tuple[str, Rows]]) -> None:
        """Draw what `content` says, a title and rows, unless that was done just now."""
        if self.stream is None or time.monotonic() - self._drawn < REDRAW:
            return
        title, rows = content()
        if self._line is not None:
            self._line.draw(title)
        else:
            self._write(title, rows)
        self._drawn = time.monotonic()

    def end(self, title: str) -> None:
        """Leave a line in place of the table."""
        if self._line is not None:
            self._line.end(title)
        elif self.stream is not None:
            self._write(title, [])
            self._lines = 0

    def _write(self, title: str, rows: Rows) -> None:
        assert self.stream is not None
        columns, height = self._size()
        lines = [title, *table(rows, height - 3)]
        text = "".join(line[: columns - 1] + "\n" for line in lines)  # a line that is broken would be two
        self.stream.write((UP.format(self._lines) + CLEAR if self._lines else "") + text)
        self.stream.flush()
        self._lines = len(lines)

    def _size(self) -> tuple[int, int]:
        assert self.stream is not None
        try:
            found = os.get_terminal_size(self.stream.fileno())
        except (OSError, ValueError, AttributeError):  # no terminal, but wanted
            return 80, 24
        return found.columns or 80, found.lines or 24


def table(rows: Rows, most: int) -> list[str]:
    """Rows below their head, in columns. Of more rows than `most` the last lines say how many there are.

    >>> table([["0", "process 71", "running", "12", "1"], ["1", "process 72", "starting", "0", "2"]], 10)
    ['worker  where       state     steps  starts', '0       process 71  running   12     1', '1       process 72  starting  0      2']
    """  # noqa: E501
    if not rows:
        return []
    shown = rows if len(rows) <= max(most, 1) else rows[: max(most - 1, 1)]
    widths = [max(map(len, column)) for column in zip(HEAD, *shown)]
    lines = ["  ".join(text.ljust(n) for text, n in zip(row, widths)).rstrip() for row in (HEAD, *shown)]
    return lines if len(shown) == len(rows) else [*lines, f"and {len(rows) - len(shown)} more workers"]
