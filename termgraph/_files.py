"""Files that are there as a whole or not at all, and states in them: arrays and some facts, in NumPy's npz format."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from termgraph._lazy import lazy

if TYPE_CHECKING:
    from pathlib import Path

zipfile = lazy("zipfile")

FORMAT = 1
Facts = dict[str, Any]


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], mode: int = 0o666) -> Iterator[BinaryIO]:
    """A file to write in place of `path`: it takes that name when the block ends, and is gone if the block raises."""
    part = f"{os.fspath(path)}.{os.getpid()}-{os.urandom(4).hex()}.part"
    try:
        with open(part, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            yield file
        os.replace(part, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)


def sweep(path: Path) -> None:
    """Remove what writers that were killed have left beside a file."""
    for part in path.parent.glob(f"{_escaped(path.name)}.*.part"):
        with contextlib.suppress(OSError):
            part.unlink()


def _escaped(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


# ---------------------------------------------------------------------- states
def write_state(file: BinaryIO, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write facts (anything that JSON can hold) and arrays."""
    dtypes = {name: str(a.dtype) for name, a in arrays.items()}
    text = json.dumps({**facts, "format": FORMAT, "dtypes": dtypes}, ensure_ascii=False)
    plain = {name: np.ascontiguousarray(a).view(_stored(a.dtype)).reshape(np.shape(a)) for name, a in arrays.items()}
    np.savez(file, facts=np.frombuffer(text.encode(), np.uint8), **plain)  # type: ignore[arg-type]


def _stored(dtype: np.dtype) -> np.dtype:
    """The dtype in the file: the bits of those that NumPy does not have itself."""
    return dtype if dtype.isbuiltin == 1 else np.dtype(f"u{dtype.itemsize}")


def read_state(file: BinaryIO | str | os.PathLike[str]) -> tuple[Facts, dict[str, np.ndarray]]:
    """Facts and arrays of a file. A damaged one is a ValueError."""
    with _opened(file) as found:
        facts = _facts(found)
        if facts["format"] != FORMAT:
            raise ValueError(f"it has format {facts['format']}, this version reads format {FORMAT}")
        return facts, {name: found[name].view(np.dtype(d)) for name, d in facts["dtypes"].items()}


def read_facts(path: str | os.PathLike[str]) -> Facts:
    """The facts of a file alone."""
    with _opened(path) as found:
        return _facts(found)


@contextlib.contextmanager
def _opened(file: BinaryIO | str | os.PathLike[str]) -> Iterator[Mapping[str, np.ndarray]]:
    try:
        with np.load(file, allow_pickle=False) as found:
            yield found
    except (zipfile.BadZipFile, KeyError, EOFError, ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"{file} cannot be read as a checkpoint: {error}") from None


def _facts(found: Mapping[str, np.ndarray]) -> Facts:
    facts = json.loads(found["facts"].tobytes().decode())
    if not isinstance(facts, dict):
        raise ValueError("its facts are no JSON object")
    return facts
