"""From C text to a loaded library: cache, compiling if needed, loading, binding of run-time services.

May touch: the cache directory, subprocesses, shared libraries. Code generators call `program_library.build_library`.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from termgraph._lazy import lazy
from termgraph._records import record
from termgraph.backends.c.build.cache import Cache, default_cache, key_of
from termgraph.backends.c.build.cache_files import Entry
from termgraph.backends.c.build.compilers import (
    LIBRARY,
    Linked,
    find_compiler,
    has_libmvec,
    library_parts,
    why_no_compiler,
    words,
)
from termgraph.config import config

if TYPE_CHECKING:
    from collections.abc import Callable

    from termgraph.backends.c.build import compiling
else:  # what is in the cache needs no compiling
    compiling = lazy("termgraph.backends.c.build.compiling")

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_SOURCES = os.path.join(_PACKAGE, "run")  # the glue in C and its headers


class NoCompilerError(RuntimeError):
    """C code has to be built and there is no C compiler."""


class CannotLoadError(OSError):
    """The system refuses to load a compiled library."""


@record
class Library:
    """A loaded library. `how` says how the cache had it when it was first loaded: "hit", "built" or "lost race"."""

    name: str
    path: str
    key: str
    how: str
    seconds: float
    handle: ctypes.CDLL = field(repr=False)
    sources: tuple[str, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        return f"{self.name}: {self.path} ({self.how}, {self.seconds:.3f} s)"

    def address(self, symbol: str) -> int:
        """The address of an exported function; AttributeError if there is none."""
        return ctypes.cast(getattr(self.handle, symbol), ctypes.c_void_p).value or 0


_loaded: dict[str, Library] = {}


def package_times(names: Sequence[str]) -> str:
    """What tells C files of this package from others without reading them: place, sizes and times, as of bytecode."""
    found = [os.stat(os.path.join(_SOURCES, name)) for name in names]
    return f"{_SOURCES}: {[(name, s.st_size, s.st_mtime_ns) for name, s in zip(names, found)]}"


def package_text(name: str) -> str:
    """The text of a C file of this package."""
    with open(os.path.join(_SOURCES, name), encoding="utf-8") as source:
        return source.read()


def build_plain(
    texts: Sequence[str] | Callable[[], Sequence[str]],
    name: str,
    *,
    known_by: str | None = None,
    header: str = "",
    flags: Sequence[str] = (),
    libraries: Sequence[str] = (),
    parts: Mapping[str, Any] | None = None,
    defined: bool = True,
    bare: bool = False,
    load: bool = True,
    note: str | None = None,
    cache: Cache | None = None,
) -> Library:
    """Compile C text, or take it from the cache, and load it: for the glue itself, and for what needs no services.

    Several texts are compiled by several compilers at the same time and linked into one library. With `known_by`, which
    stands for them in the key of the cache, they may be a function that is called only to compile. `flags` are added to
    those of the compiler, `libraries` come last (`-lmvec` before `-lm`). `parts` is what else the result depends on,
    such as the hash of a header file of the user. `defined` and `bare` are those of `Linked`; a bare library needs
    nothing but the C library and `libraries`. `note` says why the next start will not be warm, `cache` where it is kept
    if not in the cache of programs.
    Errors: CompileError, NoCompilerError, NativesError.
    """
    begin = time.perf_counter()
    compiler = find_compiler()
    if compiler is None:
        raise NoCompilerError(f"there is no C compiler:\n{why_no_compiler()}")
    own_flags = words(str(config.cflags))  # they may need libraries of the compiler's: sanitizers, coverage
    every_flag = (*filter(compiler.suits, flags), *own_flags)
    there = [name for name in libraries if name != "-lmvec" or has_libmvec()]  # there is none but with glibc
    linked = Linked(tuple(there), defined, bare and not own_flags)
    sources = () if callable(texts) else tuple(texts)
    why = library_parts(compiler, sources if known_by is None else [known_by], header, every_flag, linked, parts)
    key = key_of(why)
    if key in _loaded:
        return _loaded[key]

    def make(directory: str) -> Mapping[str, Any]:
        read = texts() if callable(texts) else sources
        made = compiling.compile_library(compiler, directory, read, header, every_flag, linked, name)
        return made | ({"no warm start": note} if note else {})

    try:
        entry, how, handle = _load_entry(cache or default_cache(), why, make, name, load)
    except CannotLoadError:
        if not linked.bare:
            raise
        more: dict[str, Any] = {"header": header, "flags": flags, "libraries": libraries, "parts": parts}
        # the linker says what is missing, or finds it
        return build_plain(texts, name, known_by=known_by, note=note, cache=cache, **more)
    library = Library(name, entry.file(LIBRARY), key, how, time.perf_counter() - begin, handle, sources)
    return _loaded.setdefault(key, library) if load else library  # another thread may have been as fast


def _load_entry(cache: Cache, why: Mapping, make: Callable[..., Any], name: str, load: bool) -> tuple[Entry, str, Any]:
    """Get the entry and load it; once more if another process has just evicted it."""
    for attempt in range(3):
        entry, how = cache.get_or_make(why, make, name=name)
        if not load:
            return entry, how, None
        try:
            return entry, how, ctypes.CDLL(entry.file(LIBRARY))
        except OSError as error:
            if os.path.exists(entry.file(LIBRARY)) or attempt == 2:
                raise CannotLoadError(f"{name}: the compiled library cannot be loaded: {error}") from error
    raise AssertionError("unreachable")
