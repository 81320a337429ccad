"""What this installation consists of: a digest of its files, and the versions that matter.

Imports `_rulelib` and `_blake` only.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator

import numpy as np

from termgraph import _rulelib
from termgraph._blake import blake2b

_OF_RULES = "//"  # before the names of rule files, wherever these are


@functools.cache
def files_digest(*rooms: str) -> str:
    """A digest of all files that termgraph consists of, by size and time of change: no file is read.

    With `rooms`, of these folders of termgraph and of the rule files.
    """
    found = sorted({f"{name} {status.st_size} {status.st_mtime_ns}" for name, status in _files(rooms)})
    return blake2b("\n".join(found).encode(), digest_size=20).hexdigest()


@functools.cache
def changed_since_import(*rooms: str) -> bool:
    """Whether one of these files was changed after termgraph was imported: this process may have read what it was.

    The system's own time of change counts, where it keeps one: no copying sets it back.
    """
    times = (status.st_mtime_ns if os.name == "nt" else status.st_ctime_ns for _, status in _files(rooms))
    return max(times, default=0) > _rulelib.IMPORTED  # what was found stays, and so does the answer


def _files(rooms: tuple[str, ...]) -> list[tuple[str, os.stat_result]]:
    wanted = (_OF_RULES, *[f"{room}/" for room in rooms])
    return [(name, status) for name, status in _every() if not rooms or name.startswith(wanted)]


@functools.cache
def _every() -> list[tuple[str, os.stat_result]]:
    """Looked up once, so that a digest and what is said about the times are of the same files."""
    here = os.path.dirname(os.path.abspath(_rulelib.__file__))
    return [*_listed(here, ""), *_listed(str(_rulelib.folder()), _OF_RULES)]


def _listed(folder: str, inside: str) -> Iterator[tuple[str, os.stat_result]]:
    for item in os.scandir(folder):
        if item.is_dir():
            if item.name != "__pycache__":
                yield from _listed(item.path, f"{inside}{item.name}/")
        elif item.name.endswith((".py", ".c", ".h")):
            yield f"{inside}{item.name}", item.stat()


@functools.cache
def versions() -> str:
    """Python and NumPy: constants are folded by NumPy's functions."""
    return f"Python {sys.version.split()[0]}, NumPy {np.__version__}"


__all__ = ["changed_since_import", "files_digest", "versions"]
