"""Calling a compiler: a command is started, waited for, and what it complains of becomes an error.

May touch: subprocesses, and the folder that a command is run in. A warm start never gets here.
"""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Mapping

from termgraph import progress
from termgraph._collector import running_gc
from termgraph._lazy import lazy
from termgraph.config import config

subprocess = lazy("subprocess")
compiler_errors = lazy("termgraph.backends.c.build.compiler_errors")


def run_compiler(
    environment: Mapping[str, str], command: list[str], directory: str, source: str, name: str, keep: bool = True
) -> None:
    """Run one compiler command in a directory; raise CompileError if it fails."""
    wait_for_compiler(start_compiler(environment, command, directory, source, name), command, source, name, keep)


def start_compiler(environment: Mapping[str, str], command: list[str], directory: str, source: str, name: str):
    """Start one compiler command; give the process to `wait_for_compiler`. CompileError if it does not start."""
    try:
        return subprocess.Popen(
            command,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    except OSError as error:  # it was there when it was looked for
        raise compiler_errors.CompileError(command, str(error), source, name, status=127) from None


def wait_for_compiler(process, command: list[str], source: str, name: str, keep: bool = True) -> None:
    """Wait for a started compiler; raise CompileError, or OSError if the disk is full."""
    try:
        with progress.compiler(), running_gc():
            output = process.communicate()[0].decode("utf-8", "replace")
    except BaseException:  # Ctrl-C: do not leave a compiler behind
        process.kill()
        process.wait()
        raise
    if process.returncode == 0:
        return
    if "No space left on device" in output:
        raise OSError(errno.ENOSPC, f"no space left for the compiler's output{_where_it_writes()}")
    raise compiler_errors.CompileError(command, output, source, name, process.returncode, keep)


def _where_it_writes() -> str:
    places = dict.fromkeys((str(config.cache.dir), tempfile.gettempdir()))
    return (
        f" in {' or '.join(places)}: make room there, or set the flag cache.dir and $TMPDIR to folders that have some"
    )
