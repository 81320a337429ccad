"""States in files: arrays and some facts in one file of NumPy's npz format, written as a whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

FORMAT = 1
Facts = dict[str, Any]


class Outdated(Exception):
    """The file is newer than what was to be written there."""


def write(file: BinaryIO, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write facts (anything that JSON can hold) and arrays."""
    dtypes = {name: str(a.dtype) for name, a in arrays.items()}
    text = json.dumps({**facts, "format": FORMAT, "dtypes": dtypes}, ensure_ascii=False)
    plain = {name: np.ascontiguousarray(a).view(_stored(a.dtype)).reshape(np.shape(a)) for name, a in arrays.items()}
    np.savez(file, facts=np.frombuffer(text.encode(), np.uint8), **plain)  # type: ignore[arg-type]


def _stored(dtype: np.dtype) -> np.dtype:
    """The dtype in the file: the bits of those that NumPy does not have itself."""
    return dtype if dtype.isbuiltin == 1 else np.dtype(f"u{dtype.itemsize}")


def read(file: BinaryIO | str | Path) -> tuple[Facts, dict[str, np.ndarray]]:
    """Facts and arrays of a file. A damaged one is a ValueError."""
    try:
        with np.load(file, allow_pickle=False) as found:
            facts = json.loads(found["facts"].tobytes().decode())
            if facts["format"] != FORMAT:
                raise ValueError(f"it has format {facts['format']}, this version reads format {FORMAT}")
            return facts, {name: found[name].view(np.dtype(d)) for name, d in facts["dtypes"].items()}
    except (zipfile.BadZipFile, KeyError, EOFError, ValueError) as err:
        raise ValueError(f"{file} cannot be read as a checkpoint: {err}") from None


def save(path: str | Path, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Replace a file as a whole, unless the one that is there is of a later generation or step (then Outdated)."""
    path = Path(path)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with open(part, "wb") as file:
            write(file, facts, arrays)
            file.flush()
            os.fsync(file.fileno())
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)  # from looking to replacing, so that no late writer comes between
            if path.exists() and _age(read_facts(path)) > _age(facts):
                raise Outdated(f"{path} is newer than what generation {facts.get('generation')} wanted to write")
            os.replace(part, path)
            os.fsync(folder)
        finally:
            os.close(folder)
    finally:
        with contextlib.suppress(FileNotFoundError):
            part.unlink()


def _age(facts: Mapping[str, Any]) -> tuple[int, int]:
    return int(facts.get("generation", 0)), int(facts.get("step", 0))


def read_facts(path: Path) -> Facts:
    """The facts of a file alone."""
    try:
        with np.load(path, allow_pickle=False) as found:
            return json.loads(found["facts"].tobytes().decode())
    except (zipfile.BadZipFile, KeyError, EOFError, ValueError) as err:
        raise ValueError(f"{path} cannot be read as a checkpoint: {err}") from None


def sweep(path: Path) -> None:
    """Remove what writers that were killed have left beside a file."""
    for part in path.parent.glob(f"{_escaped(path.name)}.*.part"):
        with contextlib.suppress(OSError):
            part.unlink()


def _escaped(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)
