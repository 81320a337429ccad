"""The persistent cache of compiled code: content-addressed, shared by processes, without locks that can go stale.

May touch: the cache directory only. Layout: `<root>/v1/<kk>/<key>/{files..., why.json}`; an entry is made in
`<root>/tmp/<host>-<pid>-<random>/` and appears by renaming that directory, so it is whole or absent. Nothing is ever
pickled or executed from here except shared libraries that this package asked a compiler for.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import importlib.util
import json
import os
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from termgraph._folders import make_private
from termgraph._logs import Log
from termgraph.backends.c.build import cache_files
from termgraph.backends.c.build.cache_files import Entry, digest
from termgraph.config import config

_SWEEP_AFTER = 600.0  # what killed processes left is looked for at most this often
_FULL_OR_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENOTDIR, errno.EEXIST}


log = Log("cache")


class CacheWarning(UserWarning):
    """Something about the cache directory deserves attention; results are not affected."""


def key_of(parts: Mapping[str, Any]) -> str:
    """The key of an entry: the hash of everything that decides its content."""
    return digest(json.dumps(parts, sort_keys=True, separators=(",", ":")))


class Cache:
    """A cache directory. `Cache(path)` touches nothing until it is asked for something.

    Making an entry takes a function that writes files into a given empty directory:

    >>> cache = Cache("/tmp/somewhere")                                         # doctest: +SKIP
    >>> entry = cache.get_or_make({"source": "abc"}, write_files, name="f")     # doctest: +SKIP
    """

    def __init__(self, root: str, size_limit: int | None = None):
        self.root = root
        self.size_limit = size_limit
        self.counts = {"hit": 0, "built": 0, "lost race": 0, "corrupt": 0, "evicted": 0}
        self._spill: str | None = None  # a temporary directory, once the root has refused a write
        self._refused = False  # whether others could have put something into the root
        self._swept = -_SWEEP_AFTER  # when leftovers were looked for last
        self._guard = threading.Lock()
        self._warned: set[str] = set()

    # -- looking up ----------------------------------------------------------------------------

    def lookup(self, key: str) -> Entry | None:
        """The entry of `key`, or None. It is checked against its recorded hashes; a damaged one is removed."""
        for root in self._roots():
            path = cache_files.place(root, key)
            if not os.path.isdir(path):
                continue
            doubt = cache_files.distrust(root, path)
            if doubt is not None:
                self._refuse(doubt)
                return self.lookup(key)
            entry, fault = cache_files.inspect(key, path)
            if entry is not None:
                self.counts["hit"] += 1
                cache_files.touch(path)
                return entry
            if fault is not None:
                self.discard(key, fault)
        return None

    def get_or_make(
        self,
        parts: Mapping[str, Any],
        make: Callable[[str], Mapping[str, Any] | None],
        *,
        name: str = "",
        kind: str = "library",
    ) -> tuple[Entry, str]:
        """The entry for `parts`, and how it was had: "hit", "built" or "lost race".

        On a miss `make(directory)` writes the files into an empty directory; what it returns is added to `why.json`.
        """
        key = key_of(parts)
        for _ in range(5):  # more than once only if another process removes entries as fast as this one makes them
            entry = self.lookup(key)
            if entry is not None:
                log.debug("hit %s", name or key)
                return entry, "hit"
            with self._one_builder(key):
                entry = self.lookup(key)  # another process may have finished it while this one waited
                if entry is not None:
                    return entry, "hit"
                made, how = self._make(key, parts, make, name, kind)
            if made is not None:
                return made, how
        raise OSError(
            errno.EIO, "entries disappear as soon as they are made; is the cache being cleared all the time?", self.root
        )

    def write(
        self, kind: str, identity: str, content: Mapping[str, bytes], why: Mapping[str, Any] | None = None
    ) -> Entry:
        """Keep small named files under an identity given by the caller, for example a program that skips rewriting.

        >>> cache.write("program", graph_digest, {"program.json": text})   # doctest: +SKIP
        """

        def make(directory: str) -> Mapping[str, Any]:
            for name, data in content.items():
                with open(os.path.join(directory, name), "wb") as out:
                    out.write(data)
            return dict(why or {})

        return self.get_or_make(
            _artefact_parts(kind, identity), make, name=str((why or {}).get("name", "")), kind=kind
        )[0]

    def read(self, kind: str, identity: str) -> Entry | None:
        """What `write` kept under this kind and identity, or None."""
        return self.lookup(key_of(_artefact_parts(kind, identity)))

    # -- making --------------------------------------------------------------------------------

    def _make(
        self, key: str, parts: Mapping[str, Any], make: Callable, name: str, kind: str
    ) -> tuple[Entry | None, str]:
        try:
            return self._make_in(self.folder(), key, parts, make, name, kind)
        except OSError as error:
            if self._spill is not None or error.errno not in _FULL_OR_FORBIDDEN:
                raise
            self._use_spill(error)
            return self._make_in(self.folder(), key, parts, make, name, kind)

    def _make_in(
        self, root: str, key: str, parts: Mapping, make: Callable, name: str, kind: str
    ) -> tuple[Entry | None, str]:
        final = cache_files.place(root, key)
        work = cache_files.new_work_directory(root)
        try:
            extra = make(work) or {}
            cache_files.close_files(work)
            why = {"kind": kind, "name": name, "parts": dict(parts), **extra, "files": cache_files.describe_files(work)}
            cache_files.write_file(
                os.path.join(work, cache_files.WHY), json.dumps(why, indent=1, sort_keys=True).encode()
            )
            make_private(os.path.dirname(final))
            how = self._commit(work, final, key)
        finally:
            cache_files.remove_tree(work)
        entry, fault = cache_files.inspect(key, final)
        if entry is None:
            if fault is not None:
                raise OSError(errno.EIO, f"the cache entry that was just written is unusable: {fault}", final)
            return None, how  # somebody has cleared the cache in this very moment
        self.counts[how] += 1
        log.info("%s %s (%s, %d bytes) in %s", how, name or key, kind, entry.size, root)
        self._maybe_evict(root, entry.path)
        return entry, how

    def _commit(self, work: str, final: str, key: str) -> str:
        """Rename the finished directory to its place. If somebody else was faster, theirs is as good as ours."""
        for _ in range(3):
            try:
                os.rename(work, final)
                return "built"
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
                entry, fault = cache_files.inspect(key, final)
                if entry is not None:
                    return "lost race"
                self.discard(key, fault or "it vanished")
        raise OSError(errno.EEXIST, "cannot replace a damaged cache entry; remove it by hand", final)

    @contextlib.contextmanager
    def _one_builder(self, key: str) -> Iterator[None]:
        """Let one process at a time build a key, as far as the file system helps. It only saves work.

        The lock is the kernel's (`flock`): it ends with its process, so nothing can be left locked.
        """
        handle = self._open_lock(key)
        try:
            if handle is not None:
                cache_files.wait_for_lock(handle, time.monotonic() + 120.0)
            yield
        finally:
            if handle is not None:
                cache_files.unlock(handle)

    def _open_lock(self, key: str) -> int | None:
        try:
            directory = os.path.join(self.folder(), "tmp")
            make_private(directory)
            return os.open(os.path.join(directory, key + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:  # a directory that refuses this file will refuse the entry too, and is reported there
            return None

    # -- where ---------------------------------------------------------------------------------

    def _roots(self) -> list[str]:
        roots = [] if self._refused else [self.root]
        return roots if self._spill is None else [*roots, self._spill]

    def folder(self) -> str:
        """Where this process may put what it will run: the root, or a temporary folder if that is none to use."""
        if self._spill is None and not self._refused:
            doubt = cache_files.distrust(self.root)
            if doubt is not None:
                self._refuse(doubt)
            else:
                try:
                    make_private(self.root)
                except OSError as error:
                    self._use_spill(error)
        return self._spill or self.root

    def _refuse(self, doubt: str) -> None:
        """Neither read nor write the root from here on: who can write there could run code in this process."""
        self._refused = True
        self._spill_to(
            f"the cache directory {self.root} is not used: {doubt}, and what it holds would be run. If you "
            f"trust it, repair it with: chmod -R go-w {self.root}; else remove it, or set the flag cache.dir."
        )

    def _use_spill(self, error: OSError) -> None:
        what = "written" if os.path.isdir(self.root) else "made"
        self._spill_to(
            f"the cache directory {self.root} cannot be {what} ({error.strerror or error}). "
            "Set the flag cache.dir to a directory you can write."
        )

    def _spill_to(self, why: str) -> None:
        with self._guard:
            if self._spill is not None:
                return
            self._spill = tempfile.mkdtemp(prefix="termgraph-")
        owner, spill = os.getpid(), self._spill
        atexit.register(lambda: cache_files.remove_tree(spill) if os.getpid() == owner else None)
        self._warn("spill", f"{why} Compiled code is kept in {spill} and is lost when this process ends.")

    def _warn(self, topic: str, message: str) -> None:
        if topic not in self._warned:
            self._warned.add(topic)
            warnings.warn(message, CacheWarning, stacklevel=3)

    # -- removing ------------------------------------------------------------------------------

    def discard(self, key: str, fault: str | None = None) -> None:
        """Remove an entry. If a fault is named it is reported, once; the next request makes the entry again."""
        removed = [root for root in self._roots() if cache_files.rename_away(root, cache_files.place(root, key))]
        if removed and fault:
            self.counts["corrupt"] += 1
            self._warn(
                f"corrupt {key}", f"the cache entry {key[:12]} in {removed[0]} was damaged ({fault}); it is made again."
            )

    def entries(self) -> Iterator[Entry]:
        """Every readable entry, in no particular order."""
        for root in self._roots():
            for path in cache_files.entry_paths(root):
                entry, _ = cache_files.inspect(os.path.basename(path), path, deep=False)
                if entry is not None:
                    yield entry

    def clear(self) -> int:
        """Remove every entry of this layout; returns how many. Running programs keep what they have loaded."""
        return sum(
            cache_files.rename_away(root, path)
            for root in self._roots()
            for path in list(cache_files.entry_paths(root))
        )

    def purge(self) -> None:
        """Remove everything below the directory: entries, other versions' layouts, images of rules, unfinished work."""
        for root in self._roots():
            for name in cache_files.names(root):
                if name in ("tmp", "rules") or (name[:1] == "v" and name[1:].isdigit()):
                    cache_files.remove_tree(os.path.join(root, name))
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(root, cache_files.SIZES))

    def evict(self, limit: int | None = None) -> int:
        """Remove the entries unused for longest until the rest fits into `limit` bytes; returns how many went."""
        bound = self.limit() if limit is None else limit
        gone = 0
        for root in self._roots():
            gone += self._evicted(root, bound, bound)
            cache_files.sweep_unfinished(root)
        return gone

    def _evicted(self, root: str, limit: int, aim: int) -> int:
        gone = cache_files.evict(root, limit, aim)
        self.counts["evicted"] += gone
        if gone:
            log.info("%d entries removed: more than %d bytes were kept", gone, limit)
        return gone

    def limit(self) -> int:
        """Bytes it may hold: of this cache, else what the flag `cache.size_limit` says now."""
        chosen = config.cache.size_limit if self.size_limit is None else self.size_limit
        return int(chosen) or sys.maxsize  # 0 is no limit

    def _maybe_evict(self, root: str, path: str) -> None:
        """After an entry was written."""
        total, limit, now = cache_files.noted(root, path), self.limit(), time.monotonic()
        if total is None or total > limit:
            self._evicted(root, limit, limit - limit // 10)  # some room, else each further entry has all looked at
        if now - self._swept >= _SWEEP_AFTER:
            self._swept = now
            cache_files.sweep_unfinished(root)

    # -- explaining ----------------------------------------------------------------------------

    def explain(self, parts: Mapping[str, Any], name: str = "") -> str:
        """Why `parts` has no entry: what differs from the nearest entry (same name first, then fewest differences).

        >>> cache.explain(parts, "f")                       # doctest: +SKIP
        'nearest entry "f": flags: -O1 -> -O2'
        """
        best: tuple[bool, int, Entry, list[str]] | None = None
        for entry in self.entries():
            theirs = entry.why.get("parts", {})
            differing = sorted(part for part in {*parts, *theirs} if parts.get(part) != theirs.get(part))
            if not differing:
                return f"it is in the cache: {entry.path}"
            rank = (bool(name) and entry.why.get("name") != name, len(differing))
            if best is None or rank < best[:2]:
                best = (*rank, entry, differing)
        if best is None:
            return f"nothing is cached yet in {self.root}"
        _, _, entry, differing = best
        changes = ", ".join(
            f"{part}: {_brief(entry.why['parts'].get(part))} -> {_brief(parts.get(part))}" for part in differing
        )
        return f'nearest entry "{entry.why.get("name") or entry.key[:12]}": {changes}'


# -- one cache per directory in this process ---------------------------------------------------

_caches: dict[str, Cache] = {}


def default_cache() -> Cache:
    """The cache of the directory that the flags choose now."""
    root = str(config.cache.dir)
    cache = _caches.get(root)
    if cache is None:
        cache = _caches.setdefault(root, Cache(root))
    return cache


def installation_cache() -> Cache:
    """Where code is kept that is no program's: beside termgraph's bytecode, if this user may keep something there.

    It is to the C files of termgraph what bytecode is to its modules. Where Python keeps no bytecode, or the folder
    belongs to somebody else, it is the cache.
    """
    if sys.dont_write_bytecode or not hasattr(os, "geteuid"):
        return default_cache()
    try:
        folder = os.path.dirname(importlib.util.cache_from_source(os.path.abspath(__file__)))
        root = os.path.join(folder, "compiled")
        owner = os.stat(root if os.path.isdir(root) else folder).st_uid
    except (NotImplementedError, OSError):  # a Python without bytecode, or nothing was written there
        return default_cache()
    if owner != os.geteuid() or not os.access(folder, os.W_OK):
        return default_cache()
    return _caches.get(root) or _caches.setdefault(root, Cache(root))


def _artefact_parts(kind: str, identity: str) -> dict[str, str]:
    return {"artefact": kind, "identity": identity}


def _brief(value: object) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 60 else text[:28] + "..." + text[-28:]
