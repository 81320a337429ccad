"""What this installation consists of: a digest of its files, and the versions that matter. Imports `_rulelib` only."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator
from hashlib import blake2b

import numpy as np

from termgraph import _rulelib


@functools.cache
def files_digest(*rooms: str) -> str:
    """A digest of all files that termgraph consists of, by size and time of change: no file is read.

    With `rooms`, of these folders of termgraph and of the rule files.
    """
    here = os.path.dirname(os.path.abspath(_rulelib.__file__))
    places = [os.path.join(here, room) for room in rooms] or [here]
    found = sorted({line for place in (*places, str(_rulelib.folder())) for line in _listed(place, "")})
    return blake2b("\n".join(found).encode(), digest_size=20).hexdigest()


def _listed(folder: str, inside: str) -> Iterator[str]:
    for item in os.scandir(folder):
        if item.is_dir():
            if item.name != "__pycache__":
                yield from _listed(item.path, f"{inside}{item.name}/")
        elif item.name.endswith((".py", ".c", ".h")):
            status = item.stat()
            yield f"{inside}{item.name} {status.st_size} {status.st_mtime_ns}"


@functools.cache
def versions() -> str:
    """Python and NumPy: constants are folded by NumPy's functions."""
    return f"Python {sys.version.split()[0]}, NumPy {np.__version__}"


__all__ = ["files_digest", "versions"]
