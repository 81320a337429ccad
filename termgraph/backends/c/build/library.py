"""From C text to a loaded library: cache, compilers side by side if needed, loading, binding of run-time services.

May touch: the cache directory, subprocesses, shared libraries. `build_library` is all that a code generator needs.
"""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from termgraph._records import record
from termgraph.backends.c.apart import flags_for_all, split
from termgraph.backends.c.build.cache import Cache, default_cache, installation_cache, key_of
from termgraph.backends.c.build.cache_files import Entry, digest
from termgraph.backends.c.build.compilers import (
    CompileError,
    Compiler,
    Linked,
    cpu_identity,
    find_compiler,
    has_libmvec,
    libc_identity,
    start_compiler,
    wait_for_compiler,
    why_no_compiler,
)
from termgraph.config import config

if TYPE_CHECKING:
    from collections.abc import Callable

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_SOURCES = os.path.join(_PACKAGE, "run")  # the glue in C and its headers
LIBRARY, OBJECT = "m.so", "m.o"


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


def package_text(name: str) -> str:
    """The text of a C file of this package."""
    with open(os.path.join(_SOURCES, name), encoding="utf-8") as source:
        return source.read()


def build_plain(
    texts: Sequence[str],
    name: str,
    *,
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

    Several texts are compiled by several compilers at the same time and linked into one library. `flags` are added to
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
    own_flags = shlex.split(str(config.cflags))  # they may need libraries of the compiler's: sanitizers, coverage
    every_flag = (*filter(compiler.suits, flags), *own_flags)
    there = [name for name in libraries if name != "-lmvec" or has_libmvec()]  # there is none but with glibc
    linked = Linked(tuple(there), defined, bare and not own_flags)
    why = library_parts(compiler, texts, header, every_flag, linked, parts)
    key = key_of(why)
    if key in _loaded:
        return _loaded[key]

    def make(directory: str) -> Mapping[str, Any]:
        made = _compile(compiler, directory, texts, header, every_flag, linked, name)
        return made | ({"no warm start": note} if note else {})

    try:
        entry, how, handle = _load_entry(cache or default_cache(), why, make, name, load)
    except CannotLoadError:
        if not linked.bare:
            raise
        return build_plain(  # the linker says what is missing, or finds it
            texts, name, header=header, flags=flags, libraries=libraries, parts=parts, note=note, cache=cache
        )
    library = Library(name, entry.file(LIBRARY), key, how, time.perf_counter() - begin, handle, tuple(texts))
    return _loaded.setdefault(key, library) if load else library  # another thread may have been as fast


def library_parts(
    compiler: Compiler,
    texts: Sequence[str],
    header: str,
    flags: Sequence[str],
    linked: Linked,
    parts: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Everything that decides the content of a library: the cache key is the hash of this."""
    return {
        "source": digest("\0".join(texts)),
        "header": digest(header),
        "flags": shlex.join([*compiler.flags, *flags]),
        "libraries": repr(tuple(linked)),
        "compiler": compiler.identity,
        "cpu": cpu_identity(),
        "libc": libc_identity(),
        **(parts or {}),
    }


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


# -- compiling ------------------------------------------------------------------------------


def _compile(
    compiler: Compiler,
    directory: str,
    texts: Sequence[str],
    header: str,
    flags: Sequence[str],
    linked: Linked,
    name: str,
) -> dict[str, Any]:
    """Write the sources into an empty directory and leave the library, the sources and the command there."""
    begin = time.perf_counter()
    names = [f"source{i}.c" for i in range(len(texts))]
    ready: list[str] = []  # objects that were compiled before, for other programs too
    _write(directory, "tg.h", header)
    for i, (file, text) in enumerate(zip(names, texts)):
        program, once = split(text, file)
        for part in once:
            ready.append(f"once{len(ready)}.o")
            shutil.copyfile(_object(compiler, part, header, flags), os.path.join(directory, ready[-1]))
        mark = "#define TG_MAIN 1\n" if i == 0 else ""
        _write(directory, file, f'{mark}#include "tg.h"\n#line 1 "{file}"\n{program}\n')
    if len(texts) == 1:
        commands = [compiler.link_command([*flags, names[0], *ready], LIBRARY, linked)]
        _run_all(compiler, commands, directory, texts, name)
    else:
        objects = [file[:-2] + ".o" for file in names]
        commands = [compiler.compile_command(file, out, flags) for file, out in zip(names, objects)]
        _run_all(compiler, commands, directory, texts, name)
        link = compiler.link_command([*flags, *objects, *ready], LIBRARY, linked)
        _run_all(compiler, [link], directory, ["\n".join(texts)], name)
        for out in objects:
            os.unlink(os.path.join(directory, out))
    for shared in ("tg.h", *ready):  # the same for all: not worth their room in every entry
        os.unlink(os.path.join(directory, shared))
    return {
        "command": [shlex.join(command) for command in commands],
        "version": compiler.version,
        "seconds": round(time.perf_counter() - begin, 3),
    }


def _object(compiler: Compiler, text: str, header: str, flags: Sequence[str]) -> str:
    """The file of an object that many programs share; compiled where it is not kept beside the bytecode yet."""
    kept = flags_for_all(tuple(flags))

    def make(directory: str) -> dict[str, Any]:
        command = compiler.compile_command("source.c", OBJECT, kept)
        _write(directory, "tg.h", header)
        _write(directory, "source.c", f'#include "tg.h"\n#line 1 "source.c"\n{text}')
        _run_all(compiler, [command], directory, [text], "what programs share")
        os.unlink(os.path.join(directory, "tg.h"))
        return {"command": [shlex.join(command)], "version": compiler.version}

    why = library_parts(compiler, [text], header, kept, Linked(), {"artefact": "object"})
    return installation_cache().get_or_make(why, make, name="shared by programs", kind="object")[0].file(OBJECT)


def _run_all(
    compiler: Compiler, commands: Sequence[list[str]], directory: str, texts: Sequence[str], name: str
) -> None:
    """Run the commands side by side; the first failure is raised when all have ended."""
    running = [start_compiler(compiler, c, directory, text, name) for c, text in zip(commands, texts)]
    failure: Exception | None = None
    for process, command, text in zip(running, commands, texts):
        try:
            wait_for_compiler(process, command, text, name)
        except (CompileError, OSError) as error:
            failure = failure or error
        except BaseException:
            for other in running:
                other.kill()
            raise
    if failure is not None:
        raise failure


def _write(directory: str, name: str, text: str) -> None:
    with open(os.path.join(directory, name), "w", encoding="utf-8") as out:
        out.write(text)
