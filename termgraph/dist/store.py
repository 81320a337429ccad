"""Checkpoints of training on many workers: a late writer never replaces what a newer one wrote."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from termgraph._files import read_facts, replacing, write_state


class Outdated(Exception):
    """The file is newer than what was to be written there."""


def save(path: str | Path, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Replace a file as a whole, unless the one that is there is of a later generation or step (then Outdated)."""
    path = Path(path)
    with contextlib.ExitStack() as held, replacing(path) as file:
        write_state(file, facts, arrays)
        file.flush()
        os.fsync(file.fileno())
        held.enter_context(_locked(path.parent))  # from looking to replacing, so that no late writer comes between
        if path.exists() and _age(read_facts(path)) > _age(facts):
            raise Outdated(f"{path} is newer than what generation {facts.get('generation')} wanted to write")


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """The folder is ours; its entries are on disk when it is not any more."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
        os.fsync(opened)
    finally:
        os.close(opened)


def _age(facts: Mapping[str, Any]) -> tuple[int, int]:
    return int(facts.get("generation", 0)), int(facts.get("step", 0))
