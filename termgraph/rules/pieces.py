"""Compiled matchers as pieces of files: reading and running them needs no rule and nothing that compiles rules.

A file is as trustworthy as its folder, names what it was made from, and is made again when that has changed. Nothing
of it is looked at before that and its checksum fit. May touch: the folder it is told of.
"""

from __future__ import annotations

import marshal
import math
import threading
import zlib
from typing import Any

from termgraph._files import replacing
from termgraph.rules import fit as fitting
from termgraph.rules.kinds import NAMES
from termgraph.rules.stored_names import found
from termgraph.terms.op import CONST
from termgraph.terms.term import Term, mk, mk1, mk2

# One thread rewrites at a time: rule sets fill their tables on the way. With the interpreter's lock that costs nothing.
# Who loads rules holds it too: rewriting may have to load some, and the making of an image prepares rule sets.
REWRITING = threading.RLock()

COMMON: dict[str, Any] = {  # what all matchers use
    "mk": mk, "mk1": mk1, "mk2": mk2, "CONST": CONST, "Term": Term, "num": fitting.num, "full": fitting.full,
    "rest_term": fitting.rest_term, "left_over": fitting.left_over, "carry": fitting.carry, "nary": fitting.nary,
    "fit": fitting.fit, "BAD": fitting.BAD_TYPES, "REFUSED": fitting.REFUSED, "inf": math.inf, **NAMES,
}  # fmt: skip

_ANY = b"termgraph rules "
MAGIC = _ANY + b"1\n"
_KEY = 20  # bytes of the key: what the file was made from
_START = len(MAGIC) + _KEY + 4

Piece = tuple[bytes, bytes]  # marshalled code, and the names of what it refers to


class Context:
    """What generated matchers share with the driver: the number of the rule being tried."""

    __slots__ = ("rule",)

    def __init__(self) -> None:
        self.rule = 0


class Damaged(Exception):
    """A file that says it is the wanted one and is not whole."""


def run_piece(piece: Piece, context: Context) -> dict[str, Any]:
    """What the code of a piece defines."""
    code, names = piece
    env = {**COMMON, **found(names, context)}
    exec(marshal.loads(code), env)
    return env


def write_content(path: str, key: bytes, value: Any) -> None:
    """Write plain data in one step: other processes see the old file or the new one. OSError if that fails."""
    content = marshal.dumps(value)
    data = MAGIC + key + zlib.crc32(content).to_bytes(4, "little") + content
    with replacing(path, mode=0o644) as out:  # one that others may write to would not be trusted
        out.write(data)


def read_content(path: str, key: bytes) -> Any:
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
    if zlib.crc32(data[_START:]).to_bytes(4, "little") != data[_START - 4 : _START]:
        raise Damaged("its checksum does not fit")
    return marshal.loads(data[_START:])


__all__ = ["COMMON", "REWRITING", "Context", "Damaged", "Piece", "read_content", "run_piece", "write_content"]
