"""Compiled matchers as pieces of files: reading and running them needs no rule and nothing that compiles rules.

A file is as trustworthy as its folder, names what it was made from, and is made again when that has changed. Nothing
of it is looked at before that and its checksum fit. May touch: the folder it is told of.
"""

from __future__ import annotations

import marshal
import math
import threading
import zlib
from typing import TYPE_CHECKING, Any

from termgraph._lazy import lazy
from termgraph.rules import fit as fitting
from termgraph.rules.kinds import NAMES
from termgraph.rules.stored_names import found
from termgraph.terms.op import CONST
from termgraph.terms.term import Term, mk, mk1, mk2

if TYPE_CHECKING:
    from termgraph import _files
else:
    _files = lazy("termgraph._files")

# One thread rewrites at a time: rule sets fill their tables on the way. With the interpreter's lock that costs nothing.
# Who loads rules holds it too: rewriting may have to load some, and the making of an image prepares rule sets.
REWRITING = threading.RLock()

COMMON: dict[str, Any] = {  # what all matchers use
    "mk": mk, "mk1": mk1, "mk2": mk2, "CONST": CONST, "Term": Term, "num": fitting.num, "full": fitting.full,
    "rest_term": fitting.rest_term, "left_over": fitting.left_over, "carry": fitting.carry, "nary": fitting.nary,
    "fit": fitting.fit, "BAD": fitting.BAD_TYPES, "REFUSED": fitting.REFUSED, "inf": math.inf, **NAMES,
}  # fmt: skip

_ANY = b"termgraph rules "
MAGIC = _ANY + b"2\n"
_KEY = 20  # bytes of the key: what the file was made from
_START = len(MAGIC) + _KEY + 4

Piece = tuple[bytes, bytes]  # marshalled code, and the names of what it refers to
Span = tuple[int, int, int, int]  # where a piece is: from where to where its code, and its names


class Context:
    """What generated matchers share with the driver: the number of the rule being tried."""

    __slots__ = ("rule",)

    def __init__(self) -> None:
        self.rule = 0


class Damaged(Exception):
    """A file that says it is the wanted one and is not whole."""


class Shelf:
    """Pieces side by side in one string of bytes, equal parts once. What nobody asks for is not even copied."""

    def __init__(self, data: memoryview | None = None) -> None:
        self.data: Any = bytearray() if data is None else data
        self._places: dict[bytes, int] = {}  # of what was added

    def add(self, piece: Piece) -> Span:
        """Keep a piece; where it is."""
        return (*self._put(piece[0]), *self._put(piece[1]))

    def _put(self, part: bytes) -> tuple[int, int]:
        start = self._places.get(part)
        if start is None:
            start = self._places[part] = len(self.data)
            self.data += part
        return start, start + len(part)

    def piece(self, span: Span) -> Piece:
        """The piece at a place."""
        code_from, code_to, names_from, names_to = span
        return bytes(self.data[code_from:code_to]), bytes(self.data[names_from:names_to])

    def run(self, span: Span, context: Context) -> dict[str, Any]:
        """What the code of the piece at a place defines."""
        code, names = self.piece(span)
        env = {**COMMON, **found(names, context)}
        exec(marshal.loads(code), env)
        return env


def write_content(path: str, key: bytes, value: Any, shelf: Shelf) -> None:
    """Write plain data and the pieces of which it has the places in one step: other processes see the old file or the
    new one. OSError if that fails.
    """
    content = marshal.dumps((value, len(shelf.data))) + bytes(shelf.data)
    data = MAGIC + key + zlib.crc32(content).to_bytes(4, "little") + content
    with _files.replacing(path, mode=0o644) as out:  # one that others may write to would not be trusted
        out.write(data)


def read_content(path: str, key: bytes) -> tuple[Any, Shelf] | None:
    """What a file holds; None if there is none or it was made from something else. Damaged if it is not whole."""
    try:
        with open(path, "rb") as source:
            data = source.read()
    except OSError:  # none there, or none for us
        return None
    if not data.startswith(_ANY):
        raise Damaged("it does not begin as an image does")
    if not data.startswith(MAGIC + key):
        return None
    content = memoryview(data)[_START:]
    if zlib.crc32(content).to_bytes(4, "little") != data[_START - 4 : _START]:
        raise Damaged("its checksum does not fit")
    value, size = marshal.loads(content)
    return value, Shelf(content[len(content) - size :])
