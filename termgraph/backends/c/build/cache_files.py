"""The files behind the cache: how an entry is laid out, checked, written, locked, evicted and swept.

May touch: the cache directory only. Every step expects other processes to create and remove things at the same time.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import field
from typing import Any

from termgraph._blake import blake2b
from termgraph._folders import make_private, why_not_trusted
from termgraph._records import record

LAYOUT = "v1"
WHY = "why.json"
SIZES = "sizes"  # beside the entries: how many bytes they take
_TOUCH_AFTER = 3600.0  # an entry's time of use is written at most this often
_SPARE_NEWER = 60.0  # entries this fresh are not evicted: their makers are about to load them
_MANY_SIZES = 1 << 16  # bytes of lines, after which all entries are looked at again
_ORPHAN_AFTER = 86400.0  # age at which another host's unfinished work is given up


def digest(data: bytes | str) -> str:
    """The hash used for keys and for checking files: 40 hex digits of blake2b."""
    raw = data.encode() if isinstance(data, str) else data
    return blake2b(raw, digest_size=20).hexdigest()


@record(frozen=True)
class Entry:
    """One finished entry: where it lies and what its `why.json` says."""

    key: str
    path: str
    why: dict[str, Any] = field(repr=False)

    def file(self, name: str) -> str:
        """Full path of one file of the entry."""
        return os.path.join(self.path, name)

    def read(self, name: str) -> bytes:
        """Content of one file of the entry."""
        with open(self.file(name), "rb") as source:
            return source.read()

    @property
    def size(self) -> int:
        """Bytes of its files, as recorded when it was made."""
        return sum(int(size) for size, _ in self.why["files"].values())


def distrust(root: str, path: str | None = None) -> str | None:
    """Why code from the cache (from the entry at `path`) may not be run: others could have put it there."""
    places = [root] if path is None else [root, *_between(root, path), path, os.path.join(path, WHY)]
    for at in places:
        why = why_not_trusted(at, follow=at == root)
        if why is not None:
            return why
    return None


def _between(root: str, path: str) -> list[str]:
    group = os.path.dirname(path)
    return [os.path.dirname(group), group]


def place(root: str, key: str) -> str:
    return os.path.join(root, LAYOUT, key[:2], key)


def inspect(key: str, path: str, deep: bool = True) -> tuple[Entry | None, str | None]:
    """The entry at `path`, or what is wrong with it (None, None: there is none).

    Another process may remove the entry and put a new one in its place while this one reads file after file: what does
    not fit together then is no fault.
    """
    for _ in range(5):
        before = _which(path)
        entry, fault = _inspect_once(key, path, deep)
        if fault is None or _which(path) == before:
            return entry, fault
    return None, None


def _which(path: str) -> tuple[int, int, int] | None:
    """Tells a directory from one that takes its place: even a new one with the same number has another time."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_ctime_ns


def _inspect_once(key: str, path: str, deep: bool) -> tuple[Entry | None, str | None]:
    try:
        with open(os.path.join(path, WHY), "rb") as source:
            why = json.loads(source.read())
        for name, (size, content_hash) in why["files"].items():
            with open(os.path.join(path, name), "rb") as source:
                why_not = why_not_trusted(os.path.join(path, name))
                if why_not is not None:
                    return None, why_not
                if not deep:
                    continue
                content = source.read()
            if len(content) != size:
                return None, f"{name} has {len(content)} bytes instead of {size}"
            if digest(content) != content_hash:
                return None, f"the content of {name} has changed"
        return Entry(key, path, why), None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return None, f"{WHY} is unreadable: {error}"
    except OSError as error:
        gone = not os.path.isdir(path)  # removed by another process while we looked
        return None, None if gone else f"{os.path.basename(error.filename or '')}: {error.strerror}"


def describe_files(directory: str) -> dict[str, tuple[int, str]]:
    found = {}
    for name in sorted(os.listdir(directory)):
        path = os.path.join(directory, name)
        with open(path, "rb") as source:
            content = source.read()
        found[name] = (len(content), digest(content))
    return found


def close_files(directory: str) -> None:
    """Let only the owner write the files of a directory, whatever the compiler was allowed to."""
    for name in os.listdir(directory):
        _close(os.path.join(directory, name))


def _close(path: str) -> None:
    os.chmod(path, os.stat(path).st_mode & 0o755)


def write_file(path: str, content: bytes) -> None:
    """No fsync: after a power loss the recorded hashes tell a damaged file, which is then made again."""
    with open(path, "wb") as out:
        out.write(content)
    _close(path)


def new_work_directory(root: str) -> str:
    path = os.path.join(root, "tmp", f"{this_host()}-{os.getpid()}-{os.urandom(4).hex()}")
    make_private(path)
    return path


def this_host() -> str:
    """Process ids mean something only within one host and one container: a short name for that."""
    try:
        namespace = os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        namespace = 0
    node = os.uname().nodename if hasattr(os, "uname") else ""
    return digest(f"{node}:{namespace}")[:8]


def wait_for_lock(handle: int, deadline: float) -> None:
    try:
        import fcntl
    except ImportError:  # no such locks on this system: two processes may then build the same entry
        return
    pause = 0.002
    while time.monotonic() < deadline:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            time.sleep(pause)
            pause = min(pause * 1.5, 0.05)
        except OSError:  # a file system without locks: go on without
            return


def unlock(handle: int) -> None:
    with contextlib.suppress(
        ImportError, OSError
    ):  # closing it is what counts; unlocking frees copies in forked children
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_UN)
    os.close(handle)


def touch(path: str) -> None:
    try:
        if time.time() - os.stat(path).st_mtime > _TOUCH_AFTER:
            os.utime(path)
    except OSError:  # read-only, or just evicted: the time of use is only advice
        pass


def mtime(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:  # not there, or removed meanwhile
        return []


def entry_paths(root: str) -> Iterator[str]:
    top = os.path.join(root, LAYOUT)
    for group in names(top):
        for key in names(os.path.join(top, group)):
            yield os.path.join(top, group, key)


def rename_away(root: str, path: str) -> bool:
    """Take an entry out of sight in one step, then delete it at leisure. True if this call removed it."""
    try:
        work = os.path.join(root, "tmp", f"{this_host()}-{os.getpid()}-{os.urandom(4).hex()}")
        make_private(os.path.dirname(work))
        os.rename(path, work)
    except OSError:  # gone already, or this directory is read-only
        return False
    remove_tree(work)
    return True


def remove_tree(path: str) -> None:
    shutil.rmtree(path, ignore_errors=True)


def bytes_of(path: str) -> int:
    """What the files of an entry take."""
    return sum(item.stat().st_size for item in os.scandir(path))


def evict(root: str, limit: int, aim: int) -> int:
    """If entries take more than `limit` bytes, remove those unused for longest until they take `aim`."""
    known, most = [], limit
    for path in entry_paths(root):
        try:
            known.append((os.stat(path).st_mtime, bytes_of(path), path))
        except OSError:  # evicted by another process meanwhile
            continue
    total, gone = sum(size for _, size, _ in known), 0
    for used, size, path in sorted(known):
        if total <= most or used > time.time() - _SPARE_NEWER:
            break
        gone += rename_away(root, path)
        total, most = total - size, aim
    with contextlib.suppress(OSError), open(os.path.join(root, SIZES), "w") as file:  # read-only: only advice
        file.write(f"{total}\n")
    return gone


def noted(root: str, path: str) -> int | None:
    """Bytes that all entries take, with the one that was just written; None if they have to be looked at.

    Looking at thousands of entries takes seconds, so there is a file of sizes: a line that the last look wrote, and one
    for each entry since then, whoever wrote it.
    """
    try:
        size = bytes_of(path)
        with open(os.path.join(root, SIZES), "ab+") as file:
            file.seek(0)
            text = file.read(_MANY_SIZES)
            file.write(b"%d\n" % size)
        return sum(map(int, text.split())) + size if 0 < len(text) < _MANY_SIZES else None
    except (OSError, ValueError):  # none yet, or no numbers
        return None


def sweep_unfinished(root: str) -> None:
    """Remove what killed processes left in tmp: ours by process id, other hosts' (and lock files) by age."""
    here = this_host()
    top = os.path.join(root, "tmp")
    for name in names(top):
        path = os.path.join(top, name)
        age = time.time() - (mtime(path) or time.time())
        if name.endswith(".lock"):
            if age > _ORPHAN_AFTER:
                with contextlib.suppress(OSError):
                    os.unlink(path)
            continue
        host, _, rest = name.partition("-")
        pid = rest.partition("-")[0]
        dead = host == here and pid.isdigit() and not alive(int(pid))
        if age > _ORPHAN_AFTER or (dead and age > 2.0):
            remove_tree(path)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
