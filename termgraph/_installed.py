"""What this installation consists of: a digest of its files, and the versions that matter.

Imports `_rulelib` and `_blake` only.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from struct import Struct

import numpy as np

from termgraph import _rulelib
from termgraph._blake import blake2b

_ENDS = (".py", ".pyc", ".c", ".h")  # modules without a source, which lie where that would be, too
# What stands on compiled functions, and no compiling enters: it decides no program.
_ABOVE = frozenset({"train", "dist", "debug", "viz", "sympy", "graph", "gof", "theano", "pytensor"})
_OF_RULES = "//"  # before the names of rule files, wherever these are


Listing = Callable[[str, str], "tuple[list[_File], list[str]]"]  # of a folder, and of what its files are called by

# Of a file: its name, size and time of the last change of its content, as bytes; and the system's own time of change,
# where it keeps one (no copying sets that back).
_File = tuple[bytes, int]
_TIMES = Struct("<qq")


@functools.cache
def files_digest(*rooms: str) -> str:
    """A digest of all files that a program may depend on, by size and time of change: no file is read.

    With `rooms`, of these folders of termgraph and of the rule files.
    """
    lines = sorted([line for line, _ in _files(rooms)])
    return blake2b(b"\n".join(lines), digest_size=20).hexdigest()


@functools.cache
def changed_since_import(*rooms: str) -> bool:
    """Whether one of these files was changed after termgraph was imported: this process may have read what it was."""
    times = [changed for _, changed in _files(rooms)]
    return max(times, default=0) > _rulelib.IMPORTED  # what was found stays, and so does the answer


@functools.cache
def _files(rooms: tuple[str, ...]) -> list[_File]:
    wanted = (_OF_RULES.encode(), *[f"{room}/".encode() for room in rooms])
    return [file for file in _every() if file[0].startswith(wanted)] if rooms else _every()


@functools.cache
def _every() -> list[_File]:
    """Looked up once, so that a digest and what is said about the times are of the same files."""
    found: list[_File] = []
    folders = [(os.path.dirname(os.path.abspath(_rulelib.__file__)), ""), (_rulelib.where(), _OF_RULES)]
    for folder, inside in folders:  # those in it follow as they are found
        files, more = _listing(folder, inside)
        found += files
        folders += [(os.path.join(folder, n), f"{inside}{n}/") for n in more if inside or n not in _ABOVE]
    return found


def look(folder: str, inside: str) -> tuple[list[_File], list[str]]:
    """The files of a folder, whose lines begin with `inside`, and the folders in it. `files.c` does the same."""
    files, folders = [], []
    for item in os.scandir(folder):
        name = item.name
        if name.endswith(_ENDS):
            try:
                status = item.stat()
            except FileNotFoundError:  # a link to nothing, as editors leave beside what is open: nobody imports it
                continue
            changed = _changed(status)
            if item.is_symlink():  # it may lead to another file than before, which is as old as it was
                changed = max(changed, _changed(item.stat(follow_symlinks=False)))
            numbers = _TIMES.pack(status.st_size, status.st_mtime_ns)
            files.append((os.fsencode(inside + name) + b"\0" + numbers, changed))
        elif not name.startswith((".", "__pycache__")) and item.is_dir():
            folders.append(name)
    return files, folders


_listing: Listing = look


def look_by(listing: Listing) -> None:
    """Look at folders from now on by a function that does the same in less time."""
    global _listing
    _listing = listing


def _changed(status: os.stat_result) -> int:
    return status.st_mtime_ns if os.name == "nt" else status.st_ctime_ns


@functools.cache
def versions() -> str:
    """Python and NumPy: constants are folded by NumPy's functions."""
    return f"Python {sys.version.split()[0]}, NumPy {np.__version__}"
