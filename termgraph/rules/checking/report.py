"""Plain-text tables that fit the terminal, for reports."""

from __future__ import annotations

import shutil
import textwrap
from collections import Counter
from collections.abc import Sequence

_NARROWEST = 60


class Table:
    """Columns of text; the last one takes what room is left and is cut, the others are as wide as they need."""

    def __init__(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self.head, self.rows = tuple(head), [tuple(map(str, row)) for row in rows]

    def text(self, width: int | None = None) -> str:
        """The table for a screen of this width (default: the terminal's, unlimited if there is none)."""
        width = width or shutil.get_terminal_size((200, 24)).columns
        width = max(width, _NARROWEST)
        columns = list(zip(self.head, *self.rows, strict=True))
        widths = [max(map(len, c)) for c in columns]
        widths[-1] = max(10, width - sum(widths[:-1]) - 2 * (len(widths) - 1))
        lines = [self.head, tuple("-" * min(w, max(map(len, c))) for w, c in zip(widths, columns, strict=True))]
        return "\n".join(_line(row, widths) for row in [*lines, *self.rows])


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [_cut(cell, w).ljust(w) for cell, w in zip(row, widths, strict=True)]
    return "  ".join(cells).rstrip()


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def counts_text(counts: Counter[str]) -> str:
    """`12 exact, 3 rounding`."""
    return ", ".join(f"{n} {what}" for what, n in sorted(counts.items(), key=lambda item: -item[1])) or "none"


def paragraph(text: str, indent: str = "  ") -> str:
    """Wrapped text."""
    return textwrap.fill(text, 110, initial_indent=indent, subsequent_indent=indent)
