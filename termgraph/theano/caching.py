"""theano.gof.compiledir and compilelock: the folder of compiled code needs no lock. May import the C backend."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def _nothing(*_: object, **__: object) -> None:
    """Accepted: entries of the cache are made and renamed in one step, so there is no lock."""


force_unlock = get_lock = release_lock = set_lock_status = _nothing


@contextmanager
def lock_ctx(*_: object, **__: object) -> Iterator[None]:
    """A block in which nothing has to be locked."""
    yield


class Unlocker:
    """What holds a lock: none is held."""

    def __init__(self, tmp_dir: Any = None) -> None:
        pass

    def unlock(self, force: bool = False) -> None:
        """Nothing to be done."""


def _refuse(*_: object, **__: object) -> None:
    raise NotImplementedError("look after the folder of compiled code with the command `termgraph cache`")


cleanup = print_compiledir_content = compiledir_purge = basecompiledir_ls = basecompiledir_purge = _refuse
