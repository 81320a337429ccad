"""Compiling the texts of a library, and once for all programs what many of them hold. A warm start never gets here.

May touch: the folder that it is given, the cache of the installation, subprocesses.
"""

from __future__ import annotations

import os
import shlex
import shutil
import time
from collections.abc import Sequence
from typing import Any

from termgraph._lazy import lazy
from termgraph.backends.c.apart import flags_for_all, split
from termgraph.backends.c.build.cache import installation_cache
from termgraph.backends.c.build.calling import start_compiler, wait_for_compiler
from termgraph.backends.c.build.compilers import LIBRARY, Compiler, Linked, library_parts

compiler_errors = lazy("termgraph.backends.c.build.compiler_errors")
OBJECT = "m.o"


def compile_library(
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
    running = [start_compiler(compiler.environment(), c, directory, text, name) for c, text in zip(commands, texts)]
    failure: Exception | None = None
    for process, command, text in zip(running, commands, texts):
        try:
            wait_for_compiler(process, command, text, name)
        except (compiler_errors.CompileError, OSError) as error:
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
